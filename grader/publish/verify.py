"""Proving a suite: the solution gets everything, the stub nothing and says so, and nothing generated is stale."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from grader.assignment import SUITES, Home
from grader.judge.run import grade
from grader.publish.build import build
from grader.publish.stub import make_stub
from grader.report.model import Outcome


def verify(root: Path, name: str) -> Iterator[tuple[str, bool]]:
    """Yield (what was found, whether it is a fault), one line after another."""
    home = Home(root, name)
    stale = build(root, name, check=True)
    yield "generated files " + (f"are stale: {', '.join(map(str, stale))}" if stale else "are up to date"), bool(stale)

    report = grade(home, home.solution, SUITES)
    lost = [check for check in report.checks if check.outcome is not Outcome.PASSED]
    yield f"the solution gets {report.points:g}/{report.max_points:g}", bool(lost) or not report.final
    for check in lost:
        why = f"{check.message} {check.detail}".strip().partition("\n")[0]
        yield f"the solution does not pass {check.id} ({check.outcome.value}): {why}", True
    if report.note:
        yield report.note, True
        return

    with tempfile.TemporaryDirectory() as folder:
        # Made anew: at the stub's own place there may be somebody's work.
        stub = Path(folder) / home.assignment.submission
        source = (home.solution / home.assignment.submission).read_text(encoding="utf-8")
        stub.write_text(make_stub(source, home.assignment), encoding="utf-8")
        report = grade(home, stub, SUITES)
    yield f"the stub gets {report.points:g}/{report.max_points:g}", report.points != 0 or not report.final
    for question in report.questions:
        if question.outcome is not Outcome.NOT_STARTED:
            yield f"{question.id} of the stub is {question.outcome.value!r}, not 'not started'", True
