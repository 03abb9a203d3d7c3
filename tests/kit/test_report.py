"""The report: always there, always valid, honest about what is hidden, and fit to be shown."""

from __future__ import annotations

import io
import json
import os
import random
import signal
import subprocess
import sys
import time
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.assignment import AssignmentFiles
from grader.judge.run import GradingOptions, grade
from grader.platforms.gradescope import report as gradescope
from grader.report import layout, model, page, screen, terminal
from grader.report.model import CheckResult, Outcome, Report
from grader.report.text import sanitize
from tests.kit.examples import examples

INPUTS = {
    "*": ("grading:policy_gradient",),
    "test_survives_kill_9_of_the_judge": ("command:grade",),
    "test_survives_a_file_that_kills_worker_and_judge": ("command:grade",),
}

ROOT = Path(__file__).resolve().parents[2]
RECORDED = pytest.mark.recorded(kernel=True)  # all but the test of moments


@RECORDED
def test_valid_from_before_the_first_check_to_the_last(home: AssignmentFiles, replaced) -> None:
    """Whoever looks at any moment sees every declared check, and points only for what has passed by then."""
    seen: list[Report] = []
    path = replaced(get_returns="return None")
    final = grade(
        home,
        path,
        options=GradingOptions(
            ["get_returns", "get_value_net_loss"],
            changed=lambda r: seen.append(r.model_copy(deep=True)),
        ),
    )
    assert [check.outcome for check in seen[0].checks] == [Outcome.NOT_RUN] * len(final.checks)
    assert not seen[0].final
    assert seen[-1].final
    totals = [report.points for report in seen]
    assert totals == sorted(totals)
    for report in seen:
        assert len(report.checks) == len(final.checks)
        assert report.points == sum(check.points for check in report.checks)


def runs(process: int) -> bool:
    """Return whether a process has not ended; one that nobody has asked for its end is still listed."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_survives_kill_9_of_the_judge(tmp_path: Path, replaced) -> None:
    """A judge killed at any moment leaves a valid report that claims nothing unearned, and no process behind."""

    def below(process: int) -> set[int]:
        """Return the process and all that it has started."""
        children = subprocess.run(["pgrep", "-P", str(process)], capture_output=True, text=True).stdout.split()
        return {process}.union(*(below(int(child)) for child in children))

    submission = replaced(get_value_net_loss="import time\ntime.sleep(0.4)")
    output = tmp_path / "report.json"
    earned: float | None = None
    started: set[int] = set()
    for delay in [None, *(random.Random(1).uniform(0.0, 2.5) for _ in range(6))]:
        output.unlink(missing_ok=True)
        command = [sys.executable, "-m", "grader", "grade", "policy_gradient", str(submission), "--suite", "visible"]
        judge = subprocess.Popen([*command, "--format", "json", "-o", str(output)], cwd=ROOT, stdout=subprocess.DEVNULL)
        if delay is None:
            assert judge.wait(120) == 0
            earned = json.loads(output.read_text())["points"]
            continue
        until = time.monotonic() + 60
        while not output.exists() and time.monotonic() < until:
            time.sleep(0.005)
        time.sleep(delay)
        judge.send_signal(signal.SIGSTOP)  # so that nothing starts between the list and the end
        started |= below(judge.pid) - {judge.pid}
        judge.send_signal(signal.SIGKILL)
        judge.wait()
        report = Report.model_validate_json(output.read_text())
        assert earned is not None
        assert report.points <= earned
        assert len(report.checks) > 30
    assert started, "no judge was killed while it had a server"
    until = time.monotonic() + 30
    while (left := set(filter(runs, started))) and time.monotonic() < until:
        time.sleep(0.1)
    assert not left


@RECORDED
def test_survives_a_file_that_kills_worker_and_judge(tmp_path: Path, replaced) -> None:
    """Catches: no result at all where nothing keeps a submission from the grader's process, as on a student's machine."""
    killing = "import os, signal\n\nfor process in (os.getppid(), os.getpid()):\n    os.kill(process, signal.SIGKILL)\n"
    path, output = replaced(prelude=killing), tmp_path / "report.json"
    command = [sys.executable, "-m", "grader", "grade", "policy_gradient", str(path), "--format", "json", "-o", str(output)]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "GRADER_LEVEL": "basic"}, capture_output=True, timeout=120)
    assert done.returncode == -signal.SIGKILL
    report = Report.model_validate_json(output.read_text())
    assert (report.final, report.points, report.isolation) == (False, 0, "basic")
    assert len(report.checks) > 60


@RECORDED
def test_a_full_disk_or_a_fault_keeps_the_old_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A report that cannot be written whole must leave the one before."""
    path = tmp_path / "report.json"
    model.write_atomically(path, "old")

    def fails(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError, match="No space left"):
        model.write_atomically(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@RECORDED
def test_a_student_sees_nothing_of_hidden_checks_but_title_and_points(home: AssignmentFiles, replaced) -> None:
    """Inputs, values and prints of hidden checks must not reach a student's copy."""
    path = replaced(get_returns="print('secret', rollout_buffer.rewards)\nreturn None")
    report = grade(home, path, ("hidden",), GradingOptions(["get_returns"]))
    full, redacted = report.model_dump_json(), report.for_student().model_dump_json()
    assert "returns_unfinished_tail" in full
    assert "secret" in full
    for word in ("returns_unfinished_tail", "secret", "expected"):
        assert word not in redacted
    assert [check.points for check in report.for_student().checks] == [check.points for check in report.checks]


@RECORDED
def test_a_student_cannot_read_hidden_inputs_off_the_clock(home: AssignmentFiles, replaced, own_servers: None) -> None:
    """A submission that sleeps as long as what it is asked tells of hidden cases by every duration that a student sees."""
    path = replaced(get_returns="import time\ntime.sleep(0.3)\nreturn rollout_buffer.rewards")
    report = grade(home, path, ("hidden",), GradingOptions(["get_returns"]))
    shown = report.for_student()
    assert report.seconds > 0.3 * len(report.checks)
    assert {check.seconds for check in shown.checks} == {question.seconds for question in shown.questions} == {0}
    assert json.loads(gradescope.render(report, home.assignment))["execution_time"] == shown.seconds < report.seconds - 1


def example(**changes: Any) -> Report:
    checks = [
        CheckResult(
            id="visible/a",
            question="q",
            suite="visible",
            title="A holds.",
            max_points=2,
            points=2,
            outcome=Outcome.PASSED,
        ),
        CheckResult(
            id="visible/b",
            question="q",
            suite="visible",
            title="B holds.",
            max_points=3,
            outcome=Outcome.FAILED,
            message="got 1",
            printed="hi",
        ),
    ]
    questions = [
        model.QuestionResult(id="q", title="Q", task="write it", outcome=Outcome.PARTIAL, points=2, max_points=5, seconds=0.1)
    ]
    fields: dict[str, Any] = {
        "assignment": "a",
        "title": "T",
        "suite_version": "1",
        "suites": ("visible",),
        "isolation": "process",
        "isolation_layers": (),
        "final": True,
        "points": 2,
        "max_points": 5,
        "points_elsewhere": 5,
        "checks": checks,
        "questions": questions,
    }
    return Report(**(fields | changes))


@RECORDED
def test_plain_text_says_what_matters() -> None:
    """Outcome, points, first difference, prints, what to fix first, and that more is graded elsewhere."""
    text = terminal.render_plain(example())
    for part in ("q", "2/5", "partial", "B holds.", "got 1", "| hi", "Fix first: q", "2/5 points", "5 more points"):
        assert part in text
    assert "all passed" not in text.lower()


@RECORDED
def test_not_final_is_said() -> None:
    """A report with a fault of the grader asks for a rerun."""
    assert "not final" in terminal.render_plain(example(final=False))


@RECORDED
def test_no_colour_in_a_pipe() -> None:
    """Escape sequences in a file or pipe are noise."""
    stream = io.StringIO()
    screen.render(example(), stream)
    assert "\x1b" not in stream.getvalue()


WIDE = """\
  ✗ A return never contains rewards of the next episode, and always its own terminal reward. (failed; -k several_episodes)
        expected [[1.98828], [3.97656], [5.95312], [7.90625], [9.8125], [11.625], [13.25], [14.5]]
Look closer: python grade.py policy_gradient --submission some/very/long/path/submitted.py --show get_returns  (or --debug)"""
NARROW = """\
  ✗ A return never contains rewards of the next
    episode, and always its own terminal reward.
    (failed; -k several_episodes)
        expected [[1.98828], [3.97656], [5.95312],
                 [7.90625], [9.8125], [11.625],
                 [13.25], [14.5]]
Look closer:
python grade.py policy_gradient --submission some/very/long/path/submitted.py --show get_returns
(or --debug)"""


@RECORDED
def test_lines_go_on_below_where_they_began() -> None:
    """Catches: arrays that wrap to the first column; a command or a pattern that is copied in two pieces."""
    assert layout.wrap_lines(WIDE, 50) == NARROW
    assert layout.wrap_lines(WIDE, 200) == WIDE


@RECORDED
@given(st.text("ab  \n-k✗=[", max_size=300), st.integers(1, 100))
def test_wrapping_loses_nothing(text: str, width: int) -> None:
    """Catches: words that are dropped or joined, and a line that is broken though it fits."""
    wrapped = layout.wrap_lines(text, width)
    assert wrapped.split() == text.split()
    if all(len(line) <= max(width, layout.LEAST_WIDTH) for line in text.split("\n")):
        assert wrapped == text


@RECORDED
def test_an_encoding_without_marks_does_not_crash() -> None:
    """A console that cannot show a check mark still shows the report."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    screen.render(example(), stream)
    assert b"2/5" in raw.getvalue()


@RECORDED
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[2Jb", "a\\x1b[2Jb"),
        ("progress 1/9\rprogress 9/9\ndone", "progress 9/9\ndone"),
        ("windows\r\nlines\r\n", "windows\nlines\n"),
        ("\u202eevil\u200b", "\\u202eevil\\u200b"),
        ("null\x00byte", "null\\x00byte"),
        ("lone \ud800", "lone \\ud800"),
        ("ä γ 漢 ✓\t|", "ä γ 漢 ✓\t|"),
    ],
)
def test_clean(text: str, shown: str) -> None:
    """Control characters in a student's text could rewrite the terminal, or forge a line of the report."""
    assert sanitize(text) == shown


@RECORDED
def test_clean_is_bounded() -> None:
    """A million characters are cut in the middle."""
    text = sanitize("a" * 10**6 + "end")
    assert len(text) < 5000
    assert text.endswith("end")


@RECORDED
@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.text(max_size=200), min_size=3, max_size=3), st.integers(1, 3000))
def test_no_renderer_falls_over_text(home: AssignmentFiles, texts: list[str], times: int) -> None:
    """What a submission prints, raises and is called, of any kind and length, in every place where it is shown."""
    message, printed, note = (sanitize(text * times) for text in texts)
    report = example(note=note)
    report.checks[1] = report.checks[1].model_copy(update={"message": message, "printed": printed, "question": "get_returns"})
    report.checks[0].question = report.questions[0].id = "get_returns"
    stream = io.StringIO()
    screen.render(report, stream)
    shown = [
        stream.getvalue(),
        terminal.render_plain(report),
        report.model_dump_json(),
        gradescope.render(report, home.assignment),
    ]
    for text in [*shown, page.render(report)]:
        assert not [character for character in text if character not in "\n\t" and unicodedata.category(character)[0] == "C"]
        assert len(text.encode()) < 200_000
    json.loads(shown[2])
    assert json.loads(shown[3])["tests"][1]["score"] == 0
