"""What fuzz.py has found stays found; and a few hundred blind mutations of each kind find nothing."""

from __future__ import annotations

import contextlib
import json
import random
import time

import pytest

from tests.kit.fuzz import SECONDS, TARGETS, Target, mutate

pytestmark = pytest.mark.filterwarnings("ignore")  # of what is made to be odd

INPUTS = ("docs/policy.md", "assignments/policy_gradient/assignment.toml")

REPORT = {
    "schema_version": 2,
    "assignment": "a",
    "title": "A",
    "suite_version": "1",
    "suites": ["visible"],
    "isolation": "full",
    "isolation_layers": [],
}
CHECK = {"id": "visible/a", "question": "a", "suite": "visible", "title": "A", "max_points": 1}


def report(**fields: object) -> bytes:
    return b"r" + json.dumps(REPORT | fields).encode()


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Target]:
    return {name: make(tmp_path_factory.mktemp(name)) for name, make in TARGETS.items()}


@pytest.mark.parametrize(
    ("target", "data"),
    [
        # A number whose digits pydantic counts one by one; and one that Decimal cannot hold.
        ("policy", b"[attempts]\nat_most = 1e-999999999\nbeyond = 'cost'\ncost = 2\n"),
        ("policy", b"at_most = 9e-99999999999999999999999\n"),
        # What is written as null, and cannot be read again.
        ("stored", report(checks=[CHECK | {"curves": {"a": [1.0, float("nan")]}}])),
        ("stored", report(seconds=float("inf"))),
        # The suite of a check that has no hints.
        ("stored", report(checks=[CHECK | {"suite": "visitrueble"}])),
        # Of an older format, and not what it was in that one.
        ("stored", report(schema_version=1, note=3)),
        ("stored", report(schema_version=1, checks=[1])),
        ("stored", report(schema_version=1, checks=[CHECK | {"message": None}])),
        ("stored", report(schema_version=1, checks=[CHECK | {"outcome": []}])),
    ],
)
def test_what_was_found_is_an_error_in_a_sentence(targets: dict[str, Target], target: str, data: bytes) -> None:
    """Catches: a traceback, or minutes of silence, where a damaged file should be named."""
    began = time.process_time()
    if "visitrueble" in data.decode():
        targets[target].run(data)
    else:
        with pytest.raises(targets[target].expected):
            targets[target].run(data)
    assert time.process_time() - began < SECONDS


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_blind_mutations_find_nothing(targets: dict[str, Target], name: str) -> None:
    """Whatever is read ends as it promises; `python -m tests.kit.fuzz` tries millions."""
    target, chance = targets[name], random.Random(0)
    for data in (*target.corpus, *(mutate(chance, target.corpus, target.words) for _ in range(200))):
        with contextlib.suppress(*target.expected):
            target.run(data)
