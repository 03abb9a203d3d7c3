"""`grade.py --debug`: pdb stands where the student's code begins, case after case, and lets go cleanly."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.assignment import Question, QuestionPoints
from grader.desk.code_places import find_code_places
from grader.judge.received import INPUTS_OF_CASE
from tests.kit.patience import PATIENCE
from tests.kit.terminals import run_in_terminal

pytestmark = pytest.mark.recorded

INPUTS = ("grade.py", "grading:policy_gradient")

ROOT = Path(__file__).resolve().parents[2]
SOLUTION = ROOT / "solutions" / "policy_gradient" / "submitted.py"
STUB = ROOT / "assignments" / "policy_gradient" / "submitted.py"

RIGHT = "def total(values):\n    first = sum(values)\n    return first\n"
TOY = """
import sys
from pathlib import Path
from grader import student
student.ROOT = Path(sys.argv.pop(1))
sys.exit(student.main(sys.argv[1:]))
"""


def debug(question: str, path: Path, keys: str = "", *more: str) -> subprocess.CompletedProcess[str]:
    """Run --debug with the keys coming from a pipe."""
    command = [sys.executable, "grade.py", "policy_gradient", "--debug", question, "--submission", str(path), *more]
    return subprocess.run(command, cwd=ROOT, input=keys, capture_output=True, text=True, timeout=PATIENCE)


@pytest.fixture
def toy(built_toy: Path, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Debug a question of the toy with this text as the submission. It needs no torch, whose import takes longest."""
    root = Path(shutil.copytree(built_toy, tmp_path / "toy"))
    settings = root / "assignments" / "toy" / "assignment.toml"
    settings.write_text(settings.read_text() + "\n[limits]\nseconds = 2\n")  # of an endless loop

    def run(question: str, text: str, keys: str, *more: str, shows: bool = False) -> subprocess.CompletedProcess[str]:
        path, option = root / "mine.py", "--show" if shows else "--debug"
        path.write_text(text)
        command = [sys.executable, "-c", TOY, str(root), option, question, "--submission", str(path), *more]
        return subprocess.run(command, cwd=ROOT, input=keys, capture_output=True, text=True, timeout=PATIENCE)

    return run


class Terminal:
    """A program that runs in a terminal of its own. screen: all that it has printed."""

    def __init__(self, *command: str) -> None:
        def hear_ctrl_c() -> None:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # which a shell's background jobs ignore

        self.master, slave = pty.openpty()
        environment = {**os.environ, "TERM": "xterm", "PYTHON_BASIC_REPL": "1"}
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            start_new_session=True,
            preexec_fn=hear_ctrl_c,
        )
        os.close(slave)
        self.screen, self.read = "", 0  # all that was printed, and how much of it `until` has returned

    def until(self, text: str, seconds: float = PATIENCE) -> str:
        """Return what follows the text that came last, up to the end of this one; fails if it does not come."""
        end = time.monotonic() + seconds
        while (place := self.screen.find(text, self.read)) < 0:
            assert time.monotonic() < end, f"{text!r} did not come:\n{self.screen}"
            if select.select([self.master], [], [], 0.2)[0]:
                try:
                    data = os.read(self.master, 4096)
                except OSError:  # the program has ended
                    data = b""
                assert data, f"it ended without {text!r}:\n{self.screen}"
                self.screen += data.decode("utf-8", "replace")
        began, self.read = self.read, place + len(text)
        return self.screen[began : self.read]

    def send(self, keys: str) -> None:
        os.write(self.master, f"{keys}\n".encode())

    def end(self) -> int:
        """Return the exit code, once it has ended."""
        return self.process.wait(60)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.master)


@pytest.fixture
def terminal() -> Iterator[Callable[..., Terminal]]:
    """Debug a question in a terminal; it is closed in the end, whatever happens."""
    opened = []

    def run(question: str, path: Path) -> Terminal:
        command = [sys.executable, "grade.py", "policy_gradient", "--debug", question, "--submission", str(path)]
        opened.append(Terminal(*command))
        return opened[-1]

    yield run
    for each in opened:
        each.close()


def test_in_a_terminal(replaced, terminal) -> None:
    """Pdb that is captured, without prompt, or that does not stop in the student's own code helps nobody."""
    path = replaced(get_returns="wrong = discount_factor * 2\nreturn rollout_buffer.rewards[:, None] * wrong")
    window = terminal("get_returns", path)
    shown = window.until("(Pdb) ")
    assert "11.625" in shown  # what was expected
    assert "case returns_table" in shown
    assert "discount_factor = 0.5" in shown
    assert "->\t    wrong = discount_factor * 2" in shown
    window.send("p discount_factor")
    assert "0.5" in window.until("(Pdb) ")
    window.send("n")
    window.until("(Pdb) ")
    window.send("p wrong")
    assert "1.0" in window.until("(Pdb) ")
    window.send("c")
    assert "returns = [[0], [1], [2]" in window.until("changed by the call")
    again = window.until("(Pdb) ")
    assert "Next failing case" in again
    assert "case returns_several_episodes" in again
    assert "->\t    wrong = discount_factor * 2" in again
    window.send("q")
    assert window.end() == 0


def test_an_endless_loop_can_be_interrupted(replaced, terminal) -> None:
    """Where the grader only says that it took too long, Ctrl-C has to stop in the loop, not end the session."""
    path = replaced(get_value_net_loss="count = 0\nwhile True:\n    count += 1")
    window = terminal("get_value_net_loss", path)
    assert "is there an infinite loop?" in window.until("(Pdb) ")
    window.send("c")
    time.sleep(0.5)
    os.write(window.master, b"\x03")
    window.until("(Pdb) ")
    window.send("p count > 5")
    assert "True" in window.until("(Pdb) ")
    window.send("w")
    assert "grader/desk" not in window.until("(Pdb) ")
    window.send("q")
    assert window.end() == 0


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_broken_by_the_terminal(built_toy: Path, tmp_path: Path, width: int) -> None:
    """Catches: text that goes on in column 0, such as the message of an exception, or keys of the debugger cut in two."""
    root = Path(shutil.copytree(built_toy, tmp_path / "toy"))
    path = root / "mine.py"
    path.write_text(
        "def total(values):\n    raise ValueError('one of many words ' * 9)\n\n\ndef spread(values, scale=1):\n    return 0\n"
    )
    command = [sys.executable, "-c", TOY, str(root), "--debug"]
    for question, keys in (("total", "c\nc\nc\nq\n"), ("spread", "c\n")):
        lines = run_in_terminal([*command, question, "--submission", str(path)], width, ROOT, keys)
        own = [line for line in lines if "mine.py" not in line]
        assert max(map(len, own)) <= width, "\n".join(lines)
        assert "q  quit" in [line.strip() for line in lines] or width >= 80
        if question == "total":
            going_on = [line for line in lines if line.lstrip().startswith(("of many", "many words", "words", "one of"))]
            assert going_on, "\n".join(lines)
            assert all(line.startswith("  ") for line in going_on), "\n".join(lines)
            assert "did not return" in "".join(lines)
        else:
            assert "What the grader sees of this call (driver spread):" in lines


def test_q_leaves_without_a_traceback(toy) -> None:
    """Leaving is no error: not of the student's, not of the grader's. The end of a pipe, and Ctrl-D, leave as well."""
    for keys in ("q\n", "n\nn\nq\n", ""):
        done = toy("total", RIGHT, keys)
        assert (done.returncode, done.stderr) == (0, "")
        assert "Traceback" not in done.stdout
        assert "What the grader sees" not in done.stdout


def test_what_passes_can_be_looked_at() -> None:
    """Nothing wrong is no reason to refuse: the first case of the question is taken, and it is said that it passes."""
    done = debug("get_advantages", SOLUTION, "c\n")
    assert "All checks that ran pass" in done.stdout
    assert "case advantages_hand_table" in done.stdout
    assert "advantages = [[0.387298]" in done.stdout.partition("What the grader sees")[2]


def test_the_case_that_fails_is_taken(toy) -> None:
    """A function that is right on the first case has to be looked at on the one where it is wrong; -k chooses another."""
    text = "def total(values):\n    return sum(values[:3])\n"
    assert "case many_values" in toy("total", text, "q\n").stdout
    done = toy("total", text, "q\n", "-k", "three")
    assert "case three_values" in done.stdout


def test_decorated_function(toy) -> None:
    """A decorator's wrapper is called first, but it is not what the student wants to see."""
    text = (
        "def loud(function):\n    def inner(*given):\n        return function(*given)\n\n    return inner\n"
        "\n\n@loud\n@loud\ndef total(values):\n    first = 17\n    return first\n"
    )
    done = toy("total", text, "n\np first\nq\n")
    assert "->\t    first = 17" in done.stdout
    assert "(Pdb) 17" in done.stdout


def test_a_function_by_another_name(toy) -> None:
    """`total = mine` has no `def total`; it is found all the same."""
    text = "def mine(values):\n    return 1\n\n\ntotal = mine\n"
    assert "->\t    return 1" in toy("total", text, "q\n").stdout


def test_c_goes_through_the_failing_cases(toy) -> None:
    """After `c` the next case that fails is to be looked at, once for all checks that look at it, and then it is over."""
    done = toy(
        "total", "def total(values):\n    first = 17\n    return first\n", "n\np first + len(values)\nc\np len(values)\nc\n"
    )
    first, second = done.stdout.split("Next failing case")
    assert "1 more failing case after it" in first
    assert "(Pdb) 20" in first
    assert "case many_values" in second
    assert "(Pdb) 9" in second
    assert "total = 17" in second.partition("What the grader sees")[2]
    assert (done.returncode, done.stderr) == (0, "")


def test_c_after_an_exception_goes_on(toy) -> None:
    """The moment of an exception is one more stop of its case, not the end of the session."""
    done = toy("total", "def total(values):\n    return values[17]\n", "c\np len(values)\nc\nc\np len(values)\nq\n")
    first, second = done.stdout.split("Next failing case")
    assert "total did not return.\nIndexError" in first
    assert "(Pdb) 3" in first
    assert "(Pdb) 9" in second
    assert (done.returncode, done.stderr) == (0, "")


SILENT = """import contextlib
import io


def total(submitted, values):
    with contextlib.redirect_stdout(io.StringIO()):
        submitted.total(values[::-1]){counts}
"""


def change_driver(folder: Path, text: str) -> None:
    """Replace the driver of `total` in the toy that lies in this folder."""
    drivers = folder / "toy" / "tests" / "drivers" / "toy.py"
    _, spread, others = drivers.read_text().partition("\n\ndef spread")
    drivers.write_text(text + spread + others)


@pytest.mark.parametrize(
    ("counts", "first"),
    [
        ('\n    return {"total": submitted.total(values)}', "1.5"),
        ('\n        return {"total": submitted.total(values[1:])}', "4.0"),
    ],
    ids=["then one that is heard", "no other"],
)
def test_it_stops_in_the_call_that_counts(toy, tmp_path: Path, counts: str, first: str) -> None:
    """Catches: the values of a call made beforehand, and a prompt that goes where the driver sends all output."""
    change_driver(tmp_path, SILENT.format(counts=counts))
    done = toy("total", "def total(values):\n    return 17\n", "p values[0]\nq\n")
    assert f"(Pdb) {first}" in done.stdout


def test_a_call_that_raises_is_stopped_in_before(toy, tmp_path: Path) -> None:
    """Catches: keys to step with, and then only the exception, where a driver suppresses the output of the call."""
    change_driver(tmp_path, SILENT.format(counts='\n        return {"total": submitted.total(values[1:])}'))
    done = toy("total", "def total(values):\n    first = 17\n    raise ValueError(first)\n", "n\np first\nq\n")
    assert "->\t    first = 17" in done.stdout
    assert "(Pdb) 17" in done.stdout


def test_several_calls_are_told_from_the_one_that_is_stopped_in(toy, tmp_path: Path) -> None:
    """Catches: the arguments of one call, under the name of the one in which the debugger stops."""
    change_driver(
        tmp_path, 'def total(submitted, values):\n    submitted.total([9])\n    return {"total": submitted.total(values)}'
    )
    done = toy("total", "def total(values):\n    return 17\n", "a\nq\n")
    said, _, stopped = done.stdout.partition("Stopping in total")
    called = "total was called 2 times (case three_values); `a` prints what this call received."
    assert f"{called}\n  {INPUTS_OF_CASE}" in said
    assert "received:" not in said
    assert "values = [9]" in stopped
    shown = toy("total", "def total(values):\n    return 17\n", "", shows=True).stdout
    often = "total was called 2 times (case three_values)."
    assert f"{often} The mistake may be in a later call. The first call received:" in shown


def test_what_earlier_calls_print_is_not_shown(toy, tmp_path: Path) -> None:
    """Catches: a warning between "Stopping in" and the first line, of a call on other data that nobody sees."""
    change_driver(tmp_path, SILENT.format(counts='\n    return {"total": submitted.total(values)}'))
    text = "import warnings\n\n\ndef total(values):\n    first = 17\n    warnings.warn('careful')\n    return first\n"
    done = toy("total", text, "n\nq\n")
    assert "careful" not in done.stderr
    done = toy("total", text, "n\nn\nq\n")
    assert done.stderr.count("UserWarning: careful") == 1, "the call that is stepped through prints its own"


WRAPPING = """import functools


def total(submitted, values):
    own = submitted.total

    @functools.wraps(own)
    def wrapped(*given):
        return own(*given)

    submitted.total = wrapped
    return {"total": submitted.total(values)}
"""


def test_a_breakpoint_by_name_is_set_in_the_students_file(toy, tmp_path: Path) -> None:
    """Catches: `b total` that stops in the driver, which has wrapped the function."""
    change_driver(tmp_path, WRAPPING)
    text = """
def total(values):
    \"\"\"Return the sum.\"\"\"
    return helper(values)


def helper(values):
    made = Made()
    made.go()
    return 17


class Made:
    def go(self):
        again = 1
"""
    done = toy("total", text, "b total\nb helper, len(values) > 2\nb Made.go\nb made.other\nc\nc\np again\nn\np again\nq\n")
    lines = [int(line.rpartition(":")[2]) for line in done.stdout.splitlines() if "Breakpoint " in line]
    assert lines == [4, 8, 15]
    assert "drivers" not in done.stdout
    assert "(Pdb) 1\n" in done.stdout


def test_all_checks_of_a_case_are_named(toy, tmp_path: Path) -> None:
    """Catches: one of two failing checks, and an end that says nothing of the other: they look at the same case."""
    checks = tmp_path / "toy" / "tests" / "visible" / "test_toy.py"
    more = (
        '\n\n@points(0, question="total")\ndef test_again(student):\n    """Once more."""\n    student.expect("three_values")\n'
    )
    checks.write_text(checks.read_text() + more)
    done = toy("total", "def total(values):\n    return 17\n", "c\nq\n")
    first, second = done.stdout.split("Next failing case")
    assert "✗ Once more. (-k again also fails on this case)\n    total: expected 3.5, got 17" in first
    assert "Once more" not in second


def test_q_leaves_a_call_whose_exceptions_are_suppressed(toy, tmp_path: Path) -> None:
    """Catches: `q` in an endless loop that the driver calls once more, this time without the debugger."""
    silent = SILENT.replace("with contextlib", "with contextlib.suppress(Exception), contextlib")
    change_driver(tmp_path, silent.format(counts='\n    return {"total": submitted.total(values)}'))
    done = toy("total", "def total(values):\n    while True:\n        pass\n", "p values[0]\nq\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert "(Pdb) 4.0" in done.stdout, "the loop is in the call that is made beforehand"


def test_n_steps_over_the_driver(toy) -> None:
    """After its last line a function returns into a driver, in whose lines nobody looks for a mistake."""
    text = (
        "def total(values):\n    return 1\n\n\ndef spread(values, scale=1.0):\n    return (max(values) - min(values)) * scale\n"
    )
    done = toy("total", text.replace("return 1", "return sum(values)"), "n\nn\nn\nn\nn\nq\n")
    assert "drivers/toy.py" not in done.stdout
    assert "What the grader sees" in done.stdout
    text = text.replace("return 1", "return sum(values)").replace(") * scale", ") * scale if len(values) < 4 else 0")
    done = toy("both", text, "n\nn\nn\np scale\nq\n")  # the driver of `both` calls one function after the other
    assert "drivers/toy.py" not in done.stdout
    assert "(Pdb) 1.0" in done.stdout


GIVEN = """
class total:
    def __new__(cls, values):
        made = super().__new__(cls)
        made.__init__(values)
        return made()

    def __init__(self, values):
        self.values = values

    def helper(self):
        return 1

    def __call__(self):
        # YOUR CODE HERE
        return self.helper()
"""


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (("", ""), "return self.helper()"),
        (("        self.values =", "        # YOUR CODE HERE\n        self.values ="), "self.values = values"),
    ],
)
def test_a_class_begins_with_what_the_student_writes(toy, change: tuple[str, str], line: str) -> None:
    """In a constructor that was given there is nothing to find; in one that the student writes there is."""
    assert f"->\t        {line}" in toy("total", GIVEN.replace(*change), "q\n").stdout


def test_where_nothing_marks_the_students_part(toy) -> None:
    """A class whose marks are gone, and of which a driver only calls the constructor, is stopped in there."""
    text = """
class Base:
    def __init__(self, values):
        self.values = values


class total(Base):
    def __init__(self, values):
        wrong = 3
        super().__init__(values)

    def other(self):
        return 1
"""
    done = toy("total", text, "q\n")
    assert "->\t        wrong = 3" in done.stdout, done.stdout


def test_a_class_begins_with_its_first_method(toy) -> None:
    """A question about a class stops in whichever method is called first, one of its base as well, not where it is defined."""
    text = """
class Base:
    def __new__(cls, values):
        helper = lambda value: value
        return cls.add(values)

    @staticmethod
    def add(values):
        return sum(values) + 1


class total(Base):
    def unused(self):
        pass
"""
    done = toy("total", text, "n\ns\nn\np values\nq\n")
    assert "->\t        helper = lambda value: value" in done.stdout, done.stdout + done.stderr
    assert "[1.5, -2.0, 4.0]" in done.stdout.partition("return sum(values) + 1")[2]


def test_an_exception_stops_where_it_was_raised(replaced) -> None:
    """After `c` the variables of the moment must still be there to be printed; in torch's code nobody wants to stand."""
    path = replaced(get_advantages="values = value_net(observations)\nreturn torch.stack([values, returns[:2]])")
    done = debug("get_advantages", path, "c\np tuple(values.shape)\nq\n")
    assert done.returncode == 0
    assert "get_advantages did not return.\nRuntimeError: stack expects each tensor to be equal size" in done.stdout
    assert "(Pdb) (4, 1)" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_exit_in_the_function_is_told(toy) -> None:
    """A student's exit() must not end the session without a word."""
    done = toy("total", "def total(values):\n    exit(3)\n", "c\nq\n")
    assert done.returncode == 0
    assert "total did not return.\nSystemExit: your code ended the program; remove exit(), quit() or sys.exit()" in done.stdout


def test_code_that_catches_everything_cannot_keep_the_user(toy) -> None:
    """`q` works by an exception, which an `except:` of the student's would swallow."""
    text = """
def total(values):
    while True:
        try:
            one = 1
            return one
        except BaseException:
            return 2
"""
    done = toy("total", text, "n\nn\nq\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert "What the grader sees" not in done.stdout


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def total(:\n    pass\n", "your file is not valid Python"),
        ("import no_such_library\n", "your file cannot be imported: ModuleNotFoundError"),
        ("x = 1\n", "your file has no 'total'"),
    ],
)
def test_a_file_that_cannot_be_run_is_told(toy, text: str, words: str) -> None:
    """There is nothing to debug in a file that does not load: its line and error, as in a report, and no pdb."""
    done = toy("total", text, "q\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert words in done.stdout
    assert "(Pdb)" not in done.stdout


def test_a_stub_is_told() -> None:
    """Stepping to the stub's NotImplementedError teaches nothing: what is to be written does."""
    done = debug("get_returns", STUB, "q\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert "get_returns: not written yet: return R_t for every row" in done.stdout
    assert "(Pdb)" not in done.stdout


def test_what_waits_for_another_question_names_it(replaced) -> None:
    """A learning run without right parts is no case to debug; the part is."""
    done = debug("learning_ppo", replaced(get_advantages="return returns"), "q\n")
    assert done.returncode == 0
    assert "learning_ppo runs only after get_advantages passes" in done.stdout


def test_a_check_without_a_stored_case() -> None:
    """A check that calls its driver directly is debugged with that very call."""
    done = debug("learning_ppo", SOLUTION, "p training_epochs_per_rollout\nq\n")
    assert "Called with (driver learn):" in done.stdout
    assert "(Pdb) 4" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--debug", "no_such"], "there is no question 'no_such'; there are: get_returns"),
        (["--debug", "get_returns", "--show", "get_returns"], "leave out: --show"),
        (["get_advantages", "--debug", "get_returns"], "leave out: get_advantages"),
        (["--show", "get_returns", "--json", "report.json"], "leave out: --json"),
        (["--debug", "get_returns", "-k", "no_check_has_this_name"], "no check matches"),
        (["--debug", "learning_ppo", "-k", "returns_by_hand"], "no check of learning_ppo matches"),
    ],
)
def test_usage_errors(arguments: list[str], words: str) -> None:
    """What makes no sense is told in a line that says what to do, not half done."""
    command = [sys.executable, "grade.py", "policy_gradient", *arguments]
    done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_no_file_is_left_beside_the_submission(toy, tmp_path: Path) -> None:
    """Looking closer must not litter a student's folder, or the next import could take a stale copy."""
    before = set(tmp_path.rglob("*"))
    toy("total", RIGHT, "c\n")
    suites = tmp_path / "toy" / "tests"  # Python keeps the bytecode of the kit's own files, where it may
    new = {path for path in set(tmp_path.rglob("*")) - before if suites not in path.parents}
    assert new == {tmp_path / "toy" / "mine.py"}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f():\n    def g(): pass\n", {("f", 1)}),
        ("@a\n@b\ndef f(): pass\n", {("f", 1)}),
        ("if x:\n    def f(): pass\nelse:\n    def f(): pass\n", {("f", 2), ("f", 4)}),
        ("class f:\n    def a(self): pass\n    @property\n    def b(self): pass\n", {("a", 2), ("b", 3)}),
        ("class f(f): pass\n", set()),
        ("def g():\n    def f(): pass\n", set()),
        ("f = g\n", set()),
    ],
)
def test_where_a_function_begins(source: str, expected: set[tuple[str, int]]) -> None:
    """First lines count decorators, as code objects do; what is defined inside another function is not the question's."""
    assert find_code_places(source.encode(), make_question("f")) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("f.a", {("a", 4)}),
        ("f.a.second", {("a", 4)}),
        ("b", {("b", 5)}),
        ("f.else", {("__init__", 2)}),
        ("f", {("__init__", 2)}),
    ],
)
def test_a_question_names_its_method(question: str, expected: set[tuple[str, int]]) -> None:
    """`PPO.policy_loss` is about that method, whichever others hold marks; `Model.layers` names none."""
    source = """class f:
    def __init__(self):
        pass  # YOUR CODE HERE
    def a(self): pass
    def b(self): pass
"""
    assert find_code_places(source.encode(), make_question(question)) == expected


@pytest.mark.parametrize(
    ("marks", "expected"),
    [
        (("__init__", "act", "test"), {("__init__", 2)}),
        (("act", "test"), {("__init__", 2), ("plot", 8)}),
        ((), {("plot", 8)}),
    ],
    ids=["all marks", "its own is gone", "all are gone"],
)
def test_a_mark_may_be_gone(marks: tuple[str, ...], expected: set[tuple[str, int]]) -> None:
    """Catches: `Agent.networks` stops in `act`, which is another question's, once the mark in `__init__` is deleted."""
    methods = [
        f"    def {name}(self):\n        pass{'  # YOUR CODE HERE' if name in marks else ''}\n"
        for name in ("__init__", "act", "test", "plot")
    ]
    source = "class f:\n" + "".join(methods)
    others = [make_question("f.act"), make_question("f.test.greedy")]
    assert find_code_places(source.encode(), make_question("f.networks"), others) == expected


def make_question(name: str) -> Question:
    """Return a question of this id, about `f` unless it is about itself."""
    points = QuestionPoints(visible=1, hidden=0)
    return Question(id=name, title=name, function="f" if name != "total" else name, task="", points=points)


@pytest.mark.parametrize("stop", ["breakpoint()", "import pdb; pdb.set_trace()"])
def test_a_breakpoint_in_the_code_stops_the_same_debugger(
    toy: Callable[..., subprocess.CompletedProcess[str]], stop: str
) -> None:
    """Catches: a second debugger behind the first one, whose prompt nobody sees."""
    text = f"def total(values):\n    first = sum(values)\n    {stop}\n    return first + 1\n"
    done = toy("total", text, "c\np first\nq\n")
    assert "(Pdb) 3.5" in done.stdout
    assert "total: expected 3.5, got 4.5" in done.stdout, "not that the sandbox has no keyboard"
    assert "mine.py(4)total()" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
