"""Watch mode in a real terminal: every save is graded, what changed first, and nothing that is saved can hang it."""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.desk.watchscreen import GradingProgress, GradingResult, WatchScreen
from grader.report import terminal
from grader.report.model import CheckResult, Outcome, QuestionResult, Report
from tests.kit.patience import PATIENCE
from tests.kit.test_submissions import notebook

INPUTS = ("grade.py", "grading:policy_gradient")

pty = pytest.importorskip("pty", reason="no pseudo-terminals here")

ROOT = Path(__file__).resolve().parents[2]
READY = "waiting for the next save"
GRADE_TOY = f"""
import pathlib, sys
sys.path.insert(0, {str(ROOT)!r})
from grader import student
student.ROOT = pathlib.Path(__file__).parent
sys.exit(student.main())
"""


class Desk:
    """`grade.py --watch` in a pseudo-terminal.

    Attributes:
        screen: The text that it has written since the last key or save.
        written: All that it has written, as it is.
    """

    def __init__(self, submission: Path, *more: str, toy: Path | None = None, **environment: str) -> None:
        grade = ["grade.py", "policy_gradient"] if toy is None else [str(toy / "grade.py")]
        self.submission = submission
        self.screen = ""
        self.written = b""
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # which a shell's background jobs ignore
            os.chdir(ROOT)
            os.environ.update({"TERM": "xterm", "COLUMNS": "120", "LINES": "50"} | environment)
            command = [sys.executable, *grade, "--watch", "--submission", str(submission), *more]
            os.execv(sys.executable, command)

    def until(self, words: str) -> str:
        """Return the screen when `words` are on it."""
        end = time.monotonic() + PATIENCE
        while words not in self.screen:
            assert time.monotonic() < end, f"{words!r} never came: {self.screen[:1500]}"
            assert self.read(0.1) is not None, f"it ended before {words!r}: {self.screen[-2000:]}"
        return self.screen

    def read(self, seconds: float) -> str | None:
        """Read for a while; None when it has ended."""
        if not select.select([self.terminal], [], [], seconds)[0]:
            return ""
        try:
            data = os.read(self.terminal, 1 << 16)
        except OSError:
            return None
        self.written += data
        self.screen += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", data.decode("utf-8", "replace")).replace("\r", "")
        return self.screen if data else None

    def save(self, text: str | bytes) -> None:
        """Save as many editors do: a new file in the old one's place."""
        self.screen = ""
        other = self.submission.with_name("being-saved")
        other.write_bytes(text.encode() if isinstance(text, str) else text)
        other.replace(self.submission)

    def press(self, key: str) -> None:
        self.screen = ""
        os.write(self.terminal, key.encode())

    def ended(self) -> int:
        """Return the exit code."""
        end = time.monotonic() + PATIENCE
        while self.read(0.1) is not None:
            assert time.monotonic() < end, f"it did not end: {self.screen[-2000:]}"
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.fixture
def source(replaced) -> str:
    """The solution, with a loss of the wrong sign."""
    path = replaced(get_value_net_loss="return -nn.functional.mse_loss(value_net(observation), returns)")
    return path.read_text(encoding="utf-8")


HALF = """

def collect_rollouts(env, *rest, **more):
    env.reset()
    raise NotImplementedError("collect_rollouts: play")
"""
SPREAD = "\n\ndef spread(values, scale=1.0):\n    return (max(values) - min(values)) * scale\n"
SUMS = f"def total(values):\n    return sum(values){SPREAD}"
ENDLESS = f"def total(values):\n    while True:\n        pass{SPREAD}"
RIGHT = """

def get_value_net_loss(value_net, observation, returns, **kwargs):
    return ((value_net(observation) - returns) ** 2).mean()
"""


@pytest.fixture
def toy(built_toy: Path, tmp_path: Path) -> Path:
    """A kit of its own, with the toy, whose calls end after two seconds."""
    root = Path(shutil.copytree(built_toy, tmp_path / "toy"))
    settings = root / "assignments" / "toy" / "assignment.toml"
    settings.write_text(settings.read_text() + "\n[limits]\nseconds = 2\n")
    (root / "grade.py").write_text(GRADE_TOY)
    return root


@pytest.fixture
def desk(tmp_path: Path, source: str) -> Iterator[Desk]:
    """Watch mode on that file, when everything is graded."""
    path = tmp_path / "work" / "submitted.py"
    path.parent.mkdir()
    path.write_text(source)
    desk = Desk(path, "--json", str(tmp_path / "report.json"))
    desk.until(READY)
    yield desk
    try:
        os.kill(desk.pid, 9)
        os.waitpid(desk.pid, 0)
    except (ProcessLookupError, ChildProcessError):
        pass
    os.close(desk.terminal)


def test_a_session(desk: Desk, source: str, tmp_path: Path) -> None:
    """The start, a hint on request, a repair, another break, all, and the way out: what to do next is always there."""
    assert "8 of 12 questions" in desk.screen
    assert "get_value_net_loss: Value loss (partial)" in desk.screen
    assert "There is a hint: press h" in desk.screen
    assert "Ask yourself" not in desk.screen
    assert "h hint · d debug · a all · q quit" in desk.screen
    desk.press("h")
    desk.until("This looks like a known mistake. Ask yourself:")

    desk.save(source + RIGHT)
    first = desk.until("s after the save")
    assert "✓ get_value_net_loss: passed" in first
    desk.until("12 of 12 questions · 63/63 points")
    assert "37 more points are graded after submission" in desk.until(READY)

    desk.save(
        source + RIGHT + "\n\ndef get_returns(rollout_buffer, discount_factor=0.95):\n    return rollout_buffer.rewards\n"
    )
    assert "get_returns: Discounted returns (failed)" in desk.until("s after the save")
    desk.until(READY)
    desk.press("a")
    assert "Fix first: get_returns" in desk.until("visible checks: 53/63 points")
    desk.until(READY)
    assert '"points": 53.0' in (tmp_path / "report.json").read_text()
    desk.press("q")
    assert desk.ended() == 0


def test_endless_loop_and_syntax_error(toy: Path) -> None:
    """A save that never ends is left behind by the next; one that is no Python is told like any mistake, and costs nothing."""
    path = toy / "mine.py"
    path.write_text(SUMS.replace("sum(values)", "values"))
    desk = Desk(path, toy=toy)
    desk.until(READY)
    desk.save(ENDLESS)
    desk.until("grading total")
    desk.save(SUMS)
    assert "✓ total: passed" in desk.until("s after the save")
    assert "(timeout)" not in desk.screen, "the loop was left behind, not waited for"
    desk.until("3 of 3 questions")
    desk.until(READY)
    desk.save(SUMS + "\ndef half(:\n")
    assert "your file is not valid Python" in desk.until("Nothing could be graded, for one reason")
    desk.until(READY)
    desk.save(ENDLESS)
    desk.until("total: Total (timeout)")
    desk.until("stopped at the time limit of 2 seconds")
    desk.press("q")
    assert desk.ended() == 0


def test_debugger_and_back(desk: Desk) -> None:
    """`d` stops in the function that fails first; `q` there leads back, with the keyboard as it was."""
    desk.press("d")
    desk.until("(Pdb)")
    assert "get_value_net_loss" in desk.screen
    desk.press("p 40 + 2\n")
    desk.until("42")
    desk.press("q\n")
    assert "get_value_net_loss: Value loss (partial)" in desk.until("There is a hint: press h")
    desk.until(READY)
    desk.press("q")
    assert desk.ended() == 0


def test_ctrl_c_in_the_debugger_reaches_the_debugger_alone(toy: Path) -> None:
    """Catches: Ctrl-C, which the debugger names to stop in a loop, ends watch mode as well, and the debugger with it."""
    path = toy / "mine.py"
    path.write_text(ENDLESS)
    desk = Desk(path, "total", toy=toy)
    desk.until(READY)
    desk.press("d")
    desk.until("(Pdb) ")
    desk.press("c\n")
    time.sleep(1)
    desk.press("\x03")
    desk.until("(Pdb) ")
    desk.press("p 40 + 2\n")
    desk.until("42")
    desk.press("q\n")
    desk.until(READY)
    desk.press("\x03")
    assert desk.ended() == 130, "after the debugger, Ctrl-C ends watch mode again"


def test_file_goes_and_comes(desk: Desk, source: str) -> None:
    """A file that is deleted, or saved through another one, is a save like any other."""
    desk.screen = ""
    desk.submission.unlink()
    desk.until("there is no ")
    desk.save(source + RIGHT)
    desk.until("12 of 12 questions")


def test_ctrl_c(desk: Desk) -> None:
    """Whoever stops it gets the terminal back as it was, and nothing runs on."""
    import termios

    assert not termios.tcgetattr(desk.terminal)[3] & termios.ICANON
    desk.press("\x03")
    assert desk.ended() == 130


def test_notebook(tmp_path: Path, home, source: str) -> None:
    """A notebook is watched like a file: each save of a cell is a verdict."""
    path = tmp_path / "homework.ipynb"
    path.write_bytes(notebook(source))
    desk = Desk(path, "get_value_net_loss")
    desk.until(READY)
    assert "get_value_net_loss: Value loss (partial)" in desk.screen
    desk.save(notebook(source, RIGHT))
    desk.until("1 of 1 questions · 5/5 points")
    desk.press("q")
    assert desk.ended() == 0


def test_what_is_begun_is_shown_first_and_plainly(tmp_path: Path, source: str) -> None:
    """Catches: the line of a half-written question that only the whole report shows; escapes in spite of NO_COLOR."""
    path = tmp_path / "submitted.py"
    path.write_text(source + HALF)
    line = len((source + HALF).splitlines())
    desk = Desk(path, "collect_rollouts", "get_value_net_loss", NO_COLOR="1", COLUMNS="60")
    first = desk.until("[h]int [d]ebug [a]ll [q]uit    waiting for the next save")
    begun = f"collect_rollouts: Collecting rollouts (unfinished) {terminal.TO_WRITE} line {line} (collect_rollouts): play "
    assert begun in " ".join(first.split())  # the sentence is longer than a line
    assert "~ ✗" in first
    assert "Value loss" not in first
    desk.press("h")
    desk.until("collect_rollouts: play one episode to its end")
    desk.until(READY)
    desk.save(source)
    assert "✓ collect_rollouts: passed" in desk.until("s after the save")
    assert "get_value_net_loss: Value loss (partial)" in desk.until(READY)
    desk.press("q")
    assert desk.ended() == 0
    assert not [byte for byte in desk.written.replace(b"\r\n", b"\n") if byte < 32 and byte != ord("\n")]


def test_the_number_of_questions_stays(tmp_path: Path, home, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches: "3 of 13 questions", and at the next save of 12, because a question without points was not run."""
    screen = WatchScreen(home, tmp_path / "submitted.py")
    for optional in (Outcome.NOT_STARTED, Outcome.NOT_RUN, Outcome.FAILED, Outcome.PASSED):
        questions = [
            QuestionResult(id=name, title="T", task="t", outcome=outcome, points=0, max_points=points, seconds=0)
            for name, outcome, points in (("one", Outcome.PASSED, 3), ("two", Outcome.FAILED, 3), ("optional", optional, 0))
        ]
        checks = [
            CheckResult(id=each.id, question=each.id, suite="visible", title=optional.value, max_points=0, outcome=each.outcome)
            for each in questions
        ]
        report = Report(
            assignment="a", title="T", suite_version="1", suites=("visible",), isolation="full", isolation_layers=(),
            questions=questions, checks=checks,
        )  # fmt: skip
        screen.show(GradingResult(report, frozenset(), True, 0.1))
    assert re.findall(r"\d+ of \d+ questions", capsys.readouterr().out) == ["1 of 2 questions"] * 4


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_the_keys_stay_while_a_long_name_is_graded(
    tmp_path: Path, home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    """Catches: a line without keys as long as a question with a long name is graded."""
    monkeypatch.setattr("grader.report.layout.has_controls", lambda _: True)
    monkeypatch.setenv("COLUMNS", str(width))
    screen = WatchScreen(home, tmp_path / "submitted.py")
    capsys.readouterr()
    screen.show(GradingProgress(38, 63, "DDPGAgent.update_model.critic, and more"))
    line = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().out).strip()
    assert line.startswith("[h]int [d]ebug [a]ll [q]uit")
    assert len(line) < width
    assert "38 of 63" in line or width < 60
    assert ("grading DDPGAgent" in line) == (width >= 80), line


def test_a_hint_stays_when_the_rest_is_graded(tmp_path: Path, home, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches: `h` that is lost if it is pressed just before the rest of the questions is graded."""
    screen = WatchScreen(home, tmp_path / "submitted.py")
    question = QuestionResult(id="one", title="T", task="t", outcome=Outcome.FAILED, points=0, max_points=3, seconds=0)
    for whole, hint in ((False, "Which sign?"), (True, "Which sign?"), (True, "Which axis?")):
        check = CheckResult(
            id="visible/test_one", question="one", suite="visible", title=f"It {whole}.", max_points=3, outcome=Outcome.FAILED,
            message=f"{hint} {whole}", hint=hint,
        )  # fmt: skip
        report = Report(
            assignment="a", title="T", suite_version="1", suites=("visible",), isolation="full", isolation_layers=(),
            questions=[question], checks=[check],
        )  # fmt: skip
        screen.show(GradingResult(report, frozenset(), whole, 0.1))
        if not whole:
            screen.hint()
            capsys.readouterr()
        else:
            shown = capsys.readouterr().out
            assert ("There is a hint: press h" in shown) == (hint == "Which axis?"), shown
            assert (report.checks[0].advice() in shown) == (hint == "Which sign?"), shown


def test_the_page_follows_every_save(tmp_path: Path, home, source: str) -> None:
    """A page of the save before is believed; one that still reloads after the end, or is there in part, worries."""
    path, page = tmp_path / "submitted.py", tmp_path / "report.html"
    path.write_text(source)
    desk = Desk(path, "get_value_net_loss", "--html", str(page))
    desk.until(READY)
    first = page.read_text(encoding="utf-8")
    assert "<mark>" in first
    assert "location.reload()" in first
    desk.save(source + RIGHT)
    desk.until("1 of 1 questions · 5/5 points")
    desk.until(READY)
    assert "5/5 points" in page.read_text(encoding="utf-8")
    desk.press("q")
    assert desk.ended() == 0
    last = page.read_text(encoding="utf-8")
    assert "5/5 points" in last
    assert "<script" not in last


def test_without_a_terminal(tmp_path: Path) -> None:
    """In a pipe there are no keys: it says so, and grades once. Git Bash is a pipe, unless winpty makes a terminal of it."""
    command = [sys.executable, "grade.py", "policy_gradient", "get_returns", "--watch"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "MSYSTEM": "MINGW64"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0
    assert done.stderr.endswith("graded once instead; in Git Bash, write `winpty` before the command\n")
    assert "0/6 points" in done.stdout
