"""Variables of a module that are read in place of an argument or `self`: what is found in the text, and what a report says."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from grader.assignment import AssignmentFiles
from grader.judge.run import Grader
from grader.judge.variables import describe_globals, select_globals
from grader.report.model import Report
from grader.sandbox.variables import find_globals

pytestmark = pytest.mark.recorded

INPUTS = ("grader/judge/**", "grader/sandbox/**")

METHOD = """
class Agent:
    def __init__(self, policy, size):
        self.policy, self.size = policy, size
        self.steps = 0

    def act(self, state):
        return BODY
"""
FUNCTION = """
def loss(policy, states):
    return helper(states)


def helper(states):
    return BODY
"""


@pytest.mark.parametrize(
    ("text", "body", "top", "own", "objects"),
    [
        (METHOD, "policy(state)", "policy = make()", ["policy"], []),
        (METHOD, "self.policy(state)", "policy = make()", [], []),
        (METHOD, "steps + size", "steps = 0\nsize = 3", ["size", "steps"], []),
        (METHOD, "net(state)", "net = make()", [], ["net"]),
        (METHOD, "[policy(one) for one in state]", "policy = make()", ["policy"], []),
        (METHOD, "(lambda policy: policy(state))(None)", "policy = make()", [], []),
        (METHOD, "state * scale", "scale = 0.5", [], []),
        (METHOD, "POLICY(state)", "POLICY = make()", [], []),
        (METHOD, "policy(state)", "def policy(state):\n    return state", [], []),
        (METHOD, "policy(state)", "import torch as policy", [], []),
        (METHOD, "policy(state)", "from torch import relu as policy", [], []),
        (METHOD, "policy(state)", "", [], []),
        (METHOD, "policy(state)", "if __name__ == '__main__':\n    policy = make()\n    train(policy)", ["policy"], []),
        (METHOD, "policy(state)", "with open('x') as policy:\n    pass", ["policy"], []),
        (METHOD, "policy(state)", "for policy in (1, 2):\n    pass", ["policy"], []),
        (METHOD, "policy(state)", "try:\n    policy = make()\nexcept OSError:\n    policy = None", ["policy"], []),
        (FUNCTION, "policy(states)", "policy = make()", ["policy"], []),
        (FUNCTION, "states", "policy = make()", [], []),
    ],
)
def test_what_is_found(text: str, body: str, top: str, own: list[str], objects: list[str]) -> None:
    """Catches: a global that nobody sees, and a helper, a module, a constant or a name of its own that is taken for one."""
    found = find_globals(f"{top}\n{text.replace('BODY', body)}", ["Agent", "loss", "missing"])
    (name,) = {"Agent", "loss"} & set(text.replace("(", " ").replace(":", " ").split())
    assert found == ({name: {"own": own, "objects": objects}} if own or objects else {})


def test_only_objects_of_drivers_count_and_nothing_that_these_use(tmp_path: Path) -> None:
    """Catches: a constant of a student's own that is blamed, and a variable that the stub has and a driver sets."""
    drivers = tmp_path / "drivers.py"
    drivers.write_text("def run(submitted, net):\n    submitted.agent = other = net\n")
    claimed = {"f": {"own": ["agent", "x"], "objects": ["net", "other", "mine"]}, "g": {"own": ["agent"]}}
    assert select_globals(claimed, drivers) == {"f": ["x", "net", "other"]}


@pytest.mark.parametrize(
    "claimed",
    [None, [], "f", {"f": None}, {"f": {"own": "abc"}}, {"f": {"own": [1, "no name", "x" * 100, "a\nb"], "objects": {}}}],
)
def test_a_claim_of_another_form_says_nothing(tmp_path: Path, claimed: object) -> None:
    """Catches: a worker's answer, which a hostile file may have made, that stops the judge or writes into the report."""
    drivers = tmp_path / "drivers.py"
    drivers.write_text("")
    assert select_globals(claimed, drivers) == {}


def test_the_sentence() -> None:
    assert describe_globals("GAE", ["policy"]) == "GAE uses the global `policy`: do you mean an argument, or self?"
    assert describe_globals("GAE", ["a", "b", "c", "d"]).startswith("GAE uses the globals `a`, `b`, `c`: ")
    assert describe_globals("GAE", []) == ""


def graded(toy: Path, tmp_path: Path, total: str, top: str = "values = [1.0]") -> Report:
    path = tmp_path / "submitted.py"
    text = f"{top}\n\n\ndef total(values):\n    return add()\n\n\ndef add():\n    return {total}\n"
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    with Grader(AssignmentFiles(toy, "toy")) as grader:
        return grader.grade(path, {"total"})


@pytest.mark.parametrize(
    ("total", "top", "first"),
    [
        ("sum(values)", "values = [1.0]", "total: expected 3.5, got 1"),
        ("sum(values)", "if __name__ == '__main__':\n    values = [1.0]", "NameError: name 'values' is not defined"),
    ],
)
def test_a_failure_names_it_beside_its_message(built_toy: Path, tmp_path: Path, total: str, top: str, first: str) -> None:
    """A student who tried the function out beside a variable of its argument's name reads which one it is."""
    check = graded(built_toy, tmp_path, total, top).checks[0]
    assert first in check.message.splitlines()[0]
    assert check.message.splitlines()[-1] == "total uses the global `values`: do you mean an argument, or self?"


def test_what_passes_names_nothing(built_toy: Path, tmp_path: Path) -> None:
    """Catches: advice for right work."""
    checks = graded(built_toy, tmp_path, "values[0] + 2.5").checks
    assert [check.outcome.value for check in checks] == ["passed", "failed"]
    assert checks[0].message == ""
