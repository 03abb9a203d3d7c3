"""Calls of one submission side by side: the report stays the same, and what must wait waits."""

from __future__ import annotations

import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from grader.assignment import SUITES, AssignmentFiles
from grader.judge.judging import CheckRunner
from grader.judge.run import Grader, GradingOptions
from grader.report.model import CheckResult, Outcome, QuestionResult, Report

pytestmark = pytest.mark.recorded(kernel=True)

OWN_SERVERS = True
WRONG = (
    "def total(values):\n    print('adding')\n    return 1.0\n\ndef spread(values, scale=1.0):\n    raise KeyError('scale')\n"
)
WHEN = """
import time


def when(submitted):
    began = time.monotonic()
    time.sleep(3.5)
    return {"values": [began, time.monotonic()]}
"""
CHECK = '''

@points(1, question="{question}")
def test_when_{name}(student):
    """When it is called."""
    student.curve("when", student.call("when")["values"])
'''


@pytest.fixture
def toy(built_toy: Path, tmp_path: Path) -> AssignmentFiles:
    """A copy of it, to be changed."""
    return AssignmentFiles(Path(shutil.copytree(built_toy, tmp_path / "toy")), "toy")


def forget_times(report: Report) -> Report:
    parts: list[Report | QuestionResult | CheckResult] = [report, *report.questions, *report.checks]
    for part in parts:
        part.seconds = 0.0
    return report


def grade_side_by_side(home: AssignmentFiles, submission: Path, jobs: int) -> Report:
    with Grader(home, SUITES) as grader:
        return forget_times(grader.grade(submission, GradingOptions(jobs=jobs)))


def add_timed_checks(home: AssignmentFiles, *checks: tuple[str, str]) -> None:
    """Add a check that notes when it was called, for each of these (suite, question)."""
    drivers = home.root / "tests/drivers/toy.py"
    drivers.write_text(WHEN + drivers.read_text())
    about = home.root / "assignments/toy/assignment.toml"
    lines = about.read_text()
    for number, (suite, question) in enumerate(checks):
        file = home.root / f"tests/{suite}/test_toy.py"
        file.write_text(file.read_text() + CHECK.format(question=question, name=number))
        head, body = lines.split(f'id = "{question}"')
        before, after = body.split(f"{suite} = ", 1)
        lines = f'{head}id = "{question}"{before}{suite} = {int(after[0]) + 1}{after[1:]}'
    about.write_text(lines)


def read_times(report: Report) -> dict[str, list[float]]:
    """Return when each call of `when` began and ended, by suite and question."""
    return {f"{check.suite} {check.question}": check.curves["when"] for check in report.checks if "when" in check.curves}


@pytest.mark.parametrize("text", [None, WRONG, "def total(:\n", "import time\n\ndef total(values):\n    time.sleep(60)\n"])
def test_the_report_is_the_same(toy: AssignmentFiles, tmp_path: Path, text: str | None) -> None:
    """Catches: outcomes, messages, prints or hints that depend on the number of processes."""
    submission = toy.solution
    if text is not None:
        submission = tmp_path / "submitted.py"
        submission.write_text(text)
        about = toy.root / "assignments/toy/assignment.toml"
        about.write_text(about.read_text() + "\n[limits]\nseconds = 1\n")
        toy = AssignmentFiles(toy.root, "toy")
    alone, together = (grade_side_by_side(toy, submission, jobs) for jobs in (1, 3))
    assert together.model_dump_json() == alone.model_dump_json()
    assert (alone.points == alone.max_points) is (text is None)


def test_visible_checks_overlap_and_hidden_ones_wait(toy: AssignmentFiles) -> None:
    """Catches: calls one after another, and a hidden one beside a visible one, whose output could then show it."""
    add_timed_checks(toy, ("visible", "total"), ("visible", "spread"), ("hidden", "total"), ("hidden", "spread"))
    home = AssignmentFiles(toy.root, "toy")
    times = read_times(grade_side_by_side(home, home.solution, 2))
    assert len(times) == 4
    for suite in SUITES:
        assert times[f"{suite} total"][0] < times[f"{suite} spread"][1]
        assert times[f"{suite} spread"][0] < times[f"{suite} total"][1]
    assert max(end for name, (_, end) in times.items() if name.startswith("visible")) <= min(
        began for name, (began, _) in times.items() if name.startswith("hidden")
    )


def test_what_needs_others_waits_for_them(toy: AssignmentFiles, tmp_path: Path) -> None:
    """Catches: an agent that is trained although a function that it needs is wrong, or before that is known."""
    add_timed_checks(toy, ("visible", "spread"), ("visible", "both"))
    home = AssignmentFiles(toy.root, "toy")
    times = read_times(grade_side_by_side(home, home.solution, 2))
    assert times["visible both"][0] >= times["visible spread"][1]
    submission = tmp_path / "submitted.py"
    source = (home.solution / "submitted.py").read_text()
    submission.write_text(source.replace("result = 0.0", "result = 7.5"))
    report = grade_side_by_side(home, submission, 2)
    assert "visible both" not in read_times(report)
    assert [check.outcome for check in report.checks if check.question == "both"] == [Outcome.NOT_RUN] * 2


def test_a_copy_that_dies_costs_nobody_points(toy: AssignmentFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: points that are lost with a process of the judge."""
    alone = grade_side_by_side(toy, toy.solution, 1)
    monkeypatch.setattr(CheckRunner, "_run_ahead", lambda *_: os._exit(9))
    assert grade_side_by_side(toy, toy.solution, 3) == alone


def test_an_interrupted_run_leaves_no_process(toy: AssignmentFiles, tmp_path: Path) -> None:
    """Catches: copies, or their workers, that go on computing when a watched file was saved again."""
    submission = tmp_path / "submitted.py"
    submission.write_text("import time\n\ndef total(values):\n    time.sleep(60)\n\nspread = total\n")
    before = set(list_processes())
    with Grader(toy, SUITES) as grader:
        grader.warm_up(wait=True)
        before_this = signal.signal(signal.SIGALRM, lambda *_: grader.interrupted.set())  # a thread would forbid copies
        signal.setitimer(signal.ITIMER_REAL, 1.5)
        began = time.monotonic()
        grader.grade(submission, GradingOptions(jobs=2))
        assert time.monotonic() - began < 10
        signal.signal(signal.SIGALRM, before_this)
    assert set(list_processes()) <= before


def list_processes() -> list[int]:
    """Return the ids of all processes below this one."""
    found, new = [], [os.getpid()]
    while new:
        pid = new.pop()
        try:
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        except OSError:
            continue
        found += [int(child) for child in children]
        new += [int(child) for child in children]
    return found
