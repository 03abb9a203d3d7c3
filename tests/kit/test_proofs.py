"""The quick proof of every assignment; `make verify` runs the whole one, with mutants and every alternative trained."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.assignment import list_assignments
from tests.kit import prove

ROOT = Path(__file__).resolve().parents[2]
INPUTS = ("grading:{name}", "tests/proof/{name}.jsonl", "assignments/{name}/**", "solutions/{name}/**", "utils.py")


@pytest.mark.slow(200)
@pytest.mark.parametrize("name", list_assignments(ROOT))
def test_suite_is_proven(name: str, request: pytest.FixtureRequest, record_property: Callable[[str, str], None]) -> None:
    """Catches: a check that right work fails, or that a catalogued mistake passes, and a hint that is not found any more."""
    proofs = [item for item in request.session.items if item.path == request.node.path]
    # There are as many processes of pytest as cores. A proof that is the only one does not leave them to end alone.
    workers = max(int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")) // len(proofs), 1)
    command = [sys.executable, "-m", prove.__name__, name, str(workers)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    for line in done.stdout.splitlines():
        if re.match(r"\d+ trials are|tried: |no record fits|git shows |took ", line):
            record_property("said", f"{name}: {line}")
    assert done.returncode == 0, "\n".join([line for line in done.stdout.splitlines() if "FAULT" in line] + [done.stderr])
