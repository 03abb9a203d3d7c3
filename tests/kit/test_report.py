"""The report: always there, always valid, honest about what is hidden, and fit to be shown."""

from __future__ import annotations

import html
import io
import json
import os
import random
import re
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
from rich.cells import cell_len

from grader.assignment import AssignmentFiles
from grader.console import ProgressLine
from grader.desk.untouched import find_untouched, mark_untouched
from grader.judge.run import GradingOptions, grade
from grader.platforms.gradescope import report as gradescope
from grader.report import layout, model, page, screen, terminal
from grader.report.model import Cause, CheckResult, Outcome, Report
from grader.report.text import sanitize
from tests.kit.examples import examples
from tests.kit.patience import PATIENCE

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


@pytest.mark.skipif(sys.platform != "linux", reason="processes are listed by pgrep, and looked for in /proc")
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
        until = time.monotonic() + PATIENCE
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
@pytest.mark.skipif(sys.platform == "win32", reason="no signal kills there")
def test_survives_a_file_that_kills_worker_and_judge(tmp_path: Path, replaced) -> None:
    """Catches: no result at all where nothing keeps a submission from the grader's process, as on a student's machine."""
    killing = "import os, signal\n\nfor process in (os.getppid(), os.getpid()):\n    os.kill(process, signal.SIGKILL)\n"
    path, output = replaced(prelude=killing), tmp_path / "report.json"
    command = [sys.executable, "-m", "grader", "grade", "policy_gradient", str(path), "--format", "json", "-o", str(output)]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "GRADER_LEVEL": "basic"}, capture_output=True, timeout=PATIENCE)
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


def test_a_warning_of_a_driver_is_not_shown_as_the_students() -> None:
    """Catches: "it printed:" above a line of the kit, in which a student looks for a fault of their own."""
    report = example()
    own = "submitted.py:3: UserWarning: mine\n  total = 1\n"
    theirs = "/tmp/grader-x/drivers.py:729: UserWarning: a tensor (Triggered at /pytorch/a.h:1.)\n  return float(it)\n"
    report.checks[1].printed = f"a\n{theirs}{own}C:\\x\\drivers.py:7: RuntimeWarning: nan\n{theirs}b\n"
    assert terminal.make_student_view(report).checks[1].printed == f"a\n{own}b\n"
    report.checks[1].printed = theirs
    assert "it printed" not in terminal.render_plain(terminal.make_student_view(report))
    assert report.checks[1].printed == theirs, "staff see everything"


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
def test_no_color_in_a_pipe() -> None:
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
@given(st.text("ab  \n-k✗=[漢/", max_size=300), st.integers(1, 100))
def test_wrapping_loses_nothing(text: str, width: int) -> None:
    """Catches: words that are dropped or joined, a line that is broken though it fits, and one that is left too long."""
    wrapped, most = layout.wrap_lines(text, width), max(width, layout.LEAST_WIDTH)
    assert "".join(wrapped.split()) == "".join(text.split())
    if all(cell_len(line) <= most for line in text.split("\n")):
        assert wrapped == text
    assert all(cell_len(line) <= most or "-k" in line or "/" in line for line in wrapped.split("\n"))


def question_of(number: int, became: Outcome, **changes: Any) -> tuple[model.QuestionResult, list[CheckResult]]:
    """Return a question with two checks alike."""
    name = f"Agent.method_{number}"
    fields = {"question": name, "suite": "visible", "max_points": 2, "outcome": Outcome.FAILED, **changes}
    checks = [CheckResult(id=f"visible/test_{number}_{which}", title=f"Check {number} {which}.", **fields) for which in "ab"]
    task = f"write method {number}"
    return model.QuestionResult(id=name, title="T", task=task, outcome=became, points=0, max_points=4, seconds=0.1), checks


def report_of(*parts: tuple[model.QuestionResult, list[CheckResult]]) -> Report:
    return example(questions=[part[0] for part in parts], checks=[check for part in parts for check in part[1]])


MISSING: dict[str, Any] = {"cause": Cause.MISSING_NAME, "message": "your file has no 'Agent'"}
WRONG: dict[str, Any] = {"cause": Cause.WRONG_ANSWER, "message": "expected 1\ngot 2"}
UNTOUCHED: dict[str, Any] = {
    "outcome": Outcome.NOT_RUN,
    "cause": Cause.STUB,
    "unwritten": True,
    "message": "not written yet: write it",
}


def begun(line: int, task: str) -> dict[str, Any]:
    """Return what the judge says of code that meets the stub's exception (tests/kit/test_outcomes.py)."""
    message = f"line {line} still raises the stub's NotImplementedError; delete it when your code is there ({task})"
    return {"cause": Cause.STUB, "unwritten": True, "message": message}


@RECORDED
def test_one_reason_is_said_once() -> None:
    """Catches: thirty checks that say alike that a class is missing, and wrong answers that are thrown together."""
    missing = (question_of(number, Outcome.FAILED, **MISSING) for number in range(5))
    text = terminal.render_plain(report_of(*missing, question_of(5, Outcome.FAILED, **WRONG), question_of(6, Outcome.PASSED)))
    assert text.count("your file has no 'Agent'") == 1
    assert "Agent.method_0, Agent.method_1, Agent.method_2, Agent.method_3, Agent.method_4 (failed, all for one reason)" in text
    assert "Agent.method_5: T (failed, 0/4)" in text

    alike = [question_of(number, Outcome.FAILED, **WRONG) for number in range(2)]
    text = terminal.render_plain(report_of(*alike, question_of(2, Outcome.PASSED)))
    assert text.count("got 2") == 2

    needing = {"outcome": Outcome.NOT_RUN, "cause": Cause.NEEDS, "message": "not run: first other must pass"}
    text = terminal.render_plain(report_of(*(question_of(number, Outcome.NOT_RUN, **needing) for number in range(2))))
    assert text.partition("Not run:\n")[2].startswith("  Agent.method_0, Agent.method_1: first other must pass\n")
    assert "Check 0 a." not in text


@RECORDED
def test_checks_of_a_question_that_fail_for_the_same_reason_are_marked() -> None:
    """Catches: a hint about a known mistake under an exception that is explained above, and timeouts told apart by seconds."""
    question, checks = question_of(0, Outcome.FAILED, cause=Cause.EXCEPTION, message="IndexError: index 22\n  line 3: x[n]")
    checks[1].message, checks[1].hint = "IndexError: index 7\n  line 3: x[n]", "Where does your loop end?"
    text = terminal.render_plain(report_of((question, checks)))
    assert "Check 0 b. (failed, 0 of 2 points" in text
    assert text.count("(for the same reason)") == 1
    assert "Where does your loop end?" not in text

    checks[1].message = "IndexError: index 7\n  line 9: y[n]"
    text = terminal.render_plain(report_of((question, checks)))
    assert "Where does your loop end?" in text
    assert "(for the same reason)" not in text

    stopped = "stopped at the time limit of {}: is there an infinite loop? The call used {} s of CPU time.\n  line 3: while"
    question, checks = question_of(0, Outcome.TIMEOUT, outcome=Outcome.TIMEOUT, cause=Cause.TIMEOUT)
    checks[0].message, checks[1].message = stopped.format("5 seconds", 4.9), stopped.format("1 second", 0.9)
    assert terminal.render_plain(report_of((question, checks))).count("(for the same reason)") == 1


@RECORDED
def test_hidden_checks_are_not_said_to_have_one_reason() -> None:
    """Catches: a student's report, in which all hidden checks read alike, that claims to know why they failed."""
    parts = [question_of(number, Outcome.FAILED, **(WRONG | {"suite": "hidden"})) for number in range(2)]
    text = terminal.render_plain(report_of(*parts, question_of(2, Outcome.PASSED)).for_student())
    assert "one reason" not in text


@RECORDED
def test_what_is_begun_comes_first() -> None:
    """Catches: a student in the middle of a question who is sent to another one, or told that it is not started."""
    parts = [
        question_of(0, Outcome.FAILED, **WRONG),
        question_of(1, Outcome.NOT_STARTED, **UNTOUCHED),
        question_of(2, Outcome.NOT_STARTED, **begun(71, "Other.method_2: write it")),
        question_of(3, Outcome.NOT_STARTED, **begun(71, "Other.method_2: write it")),
        question_of(4, Outcome.NOT_STARTED, **begun(80, "Other.method_4: write that")),
    ]
    for question, checks in parts[2:]:
        question.id = question.id.replace("Agent", "Other")
        for check in checks:
            check.question = question.id
    report = report_of(*parts)
    text = terminal.render_plain(report)
    assert text.count("NotImplementedError") == 1
    assert (
        f"{terminal.TO_WRITE}\n  line 71 (Other.method_2, Other.method_3): write it\n  line 80 (Other.method_4): write that\n"
        in text
    )
    assert text.index(terminal.TO_WRITE) < text.index("Agent.method_0: T")
    assert "~ Other.method_2     0/4   0.10 s  unfinished" in text
    assert "Not started:\n  Agent.method_1: write it\n\n" in text
    assert "Finish first: Other.method_2" in text
    assert [question.id[-1] for question in terminal.list_open_questions(report)] == ["2", "3", "4", "0", "1"]
    for shown in (page.render(report), page.render_verdict(report)):
        told = " ".join(html.unescape(re.sub(r"<style>.*?</style>|<[^>]+>", "", shown, flags=re.DOTALL)).split())
        assert (told.count("~ unfinished"), told.count("· not started")) == (3, 1)
        assert f"{terminal.TO_WRITE} line 71 (Other.method_2, Other.method_3): write it line 80 (Other.method_4)" in told


UNTOUCHED_METHODS = """class Agent:
    def method_0(self):
        \"\"\"Given.\"\"\"
        # YOUR CODE HERE
        raise NotImplementedError("Agent.method_0: t")

    def method_1(self):
        begun = 1
        raise NotImplementedError("Agent.method_1: t")

    def method_2(self):
        raise NotImplementedError("Agent.method_2: t")
        begun = 1

    def other(self):
        raise NotImplementedError("Agent.method_3: t")

    def method_4(self):
        return 1

    def method_5(self):
        given = 1
        # YOUR CODE HERE
        raise NotImplementedError("Agent.method_5: t")
        # YOUR CODE HERE (about 3 lines)
        raise NotImplementedError("Agent.method_5.second: t")

    def method_6(self):
        given = 1
        begun = 2
        # YOUR CODE HERE
        raise NotImplementedError("Agent.method_6: t")
"""


@RECORDED
def test_a_method_is_not_begun_by_its_sibling(home: AssignmentFiles) -> None:
    """Catches: `~ unfinished`, and a line to delete, for methods that nobody has touched, once another one is written."""
    parts = [question_of(number, Outcome.NOT_STARTED, **begun(9, f"Agent.method_{number}: t")) for number in (*range(4), 5, 6)]
    questions = [
        home.assignment.questions[0].model_copy(update={"id": question.id, "function": "Agent"}) for question, _ in parts
    ]
    source = UNTOUCHED_METHODS.encode()
    untouched = find_untouched(source, home.assignment.model_copy(update={"questions": questions}))
    assert untouched == {"Agent.method_0", "Agent.method_5"}, "1, 2 and 6 are begun; 3 may be: no method has its name"
    report = report_of(*parts, question_of(4, Outcome.PASSED))
    text = terminal.render_plain(mark_untouched(report, untouched))
    assert "· Agent.method_0     0/4   0.10 s  not started" in text
    assert "~ Agent.method_1     0/4   0.10 s  unfinished" in text
    assert "Not started:\n  Agent.method_0: write method 0\n" in text
    assert "~ Agent.method_0" in terminal.render_plain(report), "the report itself is kept"


@RECORDED
def test_places_of_one_task_are_listed_in_order() -> None:
    """Catches: line 106 before line 79, and the same long text for each of them."""
    entry = question_of(0, Outcome.NOT_STARTED, **begun(106, "Agent.method_0: store it"))
    question, (first, *others) = entry
    (other,) = question_of(0, Outcome.NOT_STARTED, **begun(79, "Agent.method_0: store it"))[1][:1]
    report = report_of((question, [first, *others, other]))
    assert terminal.describe_unfinished(report) == ["  line 79 and line 106 (Agent.method_0): store it"]


@RECORDED
def test_what_fails_in_a_class_comes_before_its_blanks() -> None:
    """Catches: untouched methods that hide the one that is being written, since a class is begun as a whole."""
    parts = [question_of(0, Outcome.NOT_STARTED, **begun(7, "t")), question_of(1, Outcome.FAILED, **WRONG)]
    assert terminal.find_next_step(report_of(*parts))[0] == "Fix first"


@RECORDED
@pytest.mark.parametrize("width", [60, 73, 100])
def test_nothing_goes_back_to_the_first_column(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: a terminal that breaks a long line by itself, and names that are cut until nobody can tell them apart."""
    monkeypatch.setenv("COLUMNS", str(width))
    long = f"expected {list(range(60))}\nweights['some_layer'] = {'1234567890' * 20}"
    parts = [question_of(number, Outcome.FAILED, **(WRONG | {"message": f"{long}{number}"})) for number in range(2)]
    for number, (question, checks) in enumerate(parts):
        question.id = f"GeneralizedAdvantageEstimator.bootstrapped_{number}"
        for check in checks:
            check.question, check.title = question.id, "A title that says at some length what must hold, and where. " * 2
    text = shown_on_a_terminal(report_of(*parts), monkeypatch)
    assert max(map(len, text.split("\n"))) <= width
    assert [line[:13] for line in text.split("\n") if line[:1].isdigit()] == ["5 more points"]
    assert all(f"bootstrapped_{number}" in text for number in range(2))


class Screen(io.TextIOWrapper):
    """A terminal that keeps what is written."""

    def isatty(self) -> bool:
        return True


def shown_on_a_terminal(report: Report, monkeypatch: pytest.MonkeyPatch, encoding: str = "utf-8") -> str:
    """Return what a terminal shows, without its colors."""
    monkeypatch.setenv("TERM", "xterm-256color")
    stream = Screen(io.BytesIO(), encoding=encoding)
    screen.render(report, stream)
    return re.sub(r"\x1b\[[0-9;]*m", "", stream.buffer.getvalue().decode(encoding))  # type: ignore[attr-defined]


@RECORDED
@pytest.mark.parametrize("setting", [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_no_control_characters_where_they_are_unwelcome(setting: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: bold letters, or a progress line that goes back, on a terminal whose owner has asked for plain text."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv(*setting)
    stream, errors = Screen(io.BytesIO(), encoding="utf-8"), Screen(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr(sys, "stderr", errors)
    screen.render(example(), stream)
    with ProgressLine() as progress:
        progress.show(example())
    shown = stream.buffer.getvalue() + errors.buffer.getvalue()  # type: ignore[attr-defined]
    assert b"B holds." in shown
    assert not [character for character in shown.decode() if unicodedata.category(character) == "Cc" and character != "\n"]


@RECORDED
@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp437"])
def test_marks_differ_in_every_encoding(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: a console on which passed and failed are both a question mark, or formulas are."""
    report = report_of(question_of(1, Outcome.PASSED), question_of(2, Outcome.FAILED, **WRONG))
    report.checks[2].title = "γλ · σ² ≤ ½ − “π”"
    text = shown_on_a_terminal(report, monkeypatch, encoding)
    monkeypatch.setenv("NO_COLOR", "1")
    for shown in (text, shown_on_a_terminal(report, monkeypatch, encoding)):
        assert "+ " in shown
        assert "x " in shown
        assert "?" not in shown
    assert 'gammalambda . sigma^2 <= 1/2 - "pi"' in shown_on_a_terminal(report, monkeypatch, "ascii")


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
        ("two\u2028lines\u2029", "two\\u2028lines\\u2029"),
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
