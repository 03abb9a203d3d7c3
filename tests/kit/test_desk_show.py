"""`grade.py --show`: the difference as tables and a map, whatever the submission returns."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from grader.answers import Case
from grader.assignment import AssignmentFiles
from grader.console import name_python
from grader.desk import show as module
from grader.desk.look import FailureInspection, find_failing_checks
from grader.judge.compare import drop_large_arrays
from grader.judge.received import ReceivedCall
from grader.judge.student import Comparison, LastCall
from grader.report.model import CheckResult, Outcome
from grader.sandbox.wire import TensorArray
from tests.kit.patience import PATIENCE
from tests.kit.terminals import run_in_terminal

pytestmark = pytest.mark.recorded

INPUTS = ("grade.py", "grading:policy_gradient")

ROOT = Path(__file__).resolve().parents[2]
SOLUTION = ROOT / "solutions" / "policy_gradient" / "submitted.py"


def run(question: str, path: Path, *more: str) -> str:
    command = [sys.executable, "grade.py", "policy_gradient", "--show", question, "--submission", str(path), *more]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture
def shown(home: AssignmentFiles, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Return what is printed where a check compared these two values: `shown(expected, got, color_system="truecolor")`."""

    def render(expected: Any, got: Any, inputs: dict[str, Any] | None = None, width: int = 100, **options: Any) -> str:
        said, received = options.pop("said", "it differs"), options.pop("received", None)
        output = io.StringIO()
        console = Console(file=output, highlight=False, soft_wrap=True, width=width, **options)
        monkeypatch.setattr(module, "make_console", lambda: console)
        compared = Comparison((expected,), got, 1e-4, 1e-5, False)
        case = Case("some_case", "driver", "get_returns", inputs or {}, expected)
        check = CheckResult(id="visible/test_it", question="get_returns", suite="visible", title="It holds.", max_points=1)
        check.outcome = Outcome.FAILED
        tried = LastCall("driver", case.inputs, 0, case, compared, said, received)
        module.show_failure([FailureInspection(home.assignment.question("get_returns"), check, tried)])
        return output.getvalue()

    return render


def tensor(values: Any) -> np.ndarray:
    return np.array(values, dtype=np.float32).view(TensorArray)


def test_one_element_differs(shown) -> None:
    """Its place, size and neighbors are what a student looks for; the map shows it where it is, and nothing else."""
    expected = np.arange(12.0).reshape(4, 3)
    got = expected.copy()
    got[2, 1] += 0.5
    text = shown({"values": tensor(expected)}, {"values": tensor(got)})
    assert "1 of 12 differ; largest difference at [2, 1]: expected 7, got 7.5, difference 0.5" in text
    assert "|      |\n  |      |\n  |  @@  |\n  |      |" in text
    assert "agrees |  ..::--==++**##%%@@| 0.5" in text


def test_in_a_long_column_the_difference_is_not_cut_away(shown) -> None:
    """The rows that are left out must be those that agree."""
    expected = np.arange(500.0)[:, None]
    got = expected.copy()
    got[321] = -1
    text = shown({"values": tensor(expected)}, {"values": tensor(got)})
    assert "largest difference at [321, 0]" in text
    row = next(line.split() for line in text.splitlines() if line.strip().startswith("321 "))
    assert row == ["321", "321", "-1", "322"]
    assert text.count("[...]") == 2
    assert len(text.splitlines()) < 50
    assert "each cell shows the largest of 1 x 16 differences" in text


def test_wide_arrays_show_the_columns_that_differ(shown) -> None:
    """A table that is wider than the terminal breaks; one that shows the first columns alone hides the reason."""
    expected = np.zeros((3, 90))
    got = expected.copy()
    got[1, 77] = 3
    text = shown({"values": tensor(expected)}, {"values": tensor(got)}, width=80)
    assert "[:, 77]" in text
    assert "those that differ most" in text
    assert max(map(len, text.splitlines())) <= 100


def test_shapes_that_differ(shown) -> None:
    """Numbers of another shape cannot be set against each other: both shapes, and no map."""
    text = shown({"values": tensor(np.zeros((5, 1)))}, {"values": tensor(np.zeros((5, 5)))})
    assert "float32 [5, 1]" in text
    assert "float32 [5, 5]" in text
    assert "map:" not in text


@pytest.mark.parametrize(
    ("got", "words"),
    [
        (None, "None: is a `return` missing?"),
        ([1.0, 2.0], "[1, 2]"),
        (np.zeros((2, 1), dtype=np.float32), "a NumPy array, float32 [2, 1]"),
        (np.zeros((2, 1), dtype=np.int64).view(TensorArray), "int64 [2, 1]"),
        ("text", "text"),
        ({"a": 1}, "{a: 1}"),
    ],
)
def test_other_kinds(shown, got: Any, words: str) -> None:
    """Whatever comes instead of a tensor is told by its kind, and nothing breaks."""
    text = shown({"values": tensor([[0.0], [0.0]])}, {"values": got})
    assert words in text
    assert "map:" not in text


def test_flags_are_compared_as_well(shown) -> None:
    """Booleans cannot be subtracted, but they differ."""
    text = shown({"ends": np.array([True, False, True])}, {"ends": np.array([True, True, True])})
    assert "1 of 3 differ; largest difference at [1]: expected False, got True" in text


def test_a_dtype_that_differs_is_named(shown) -> None:
    """Where every number agrees, a table of numbers would hide what is wrong."""
    pair = {"v": np.zeros(3, dtype=np.float32)}, {"v": np.zeros(3, dtype=np.float64)}
    output = io.StringIO()
    console = Console(file=output, width=100)
    module._print_compared(console, Comparison(pair[:1], pair[1], 1e-4, 1e-5, True), False)
    assert "a NumPy array, float64 [3]" in output.getvalue()
    assert "of 3 differ" not in output.getvalue()


def test_parts_that_agree_are_only_named(shown) -> None:
    """In a large answer the part that is wrong comes first, by its path."""
    expected = {"one": 1.0, "steps": [{"policy": tensor([1.0, 2.0])}, {"policy": tensor([3.0, 4.0])}], "text": "same"}
    got = {"one": 1.0, "steps": [{"policy": tensor([1.0, 2.0])}, {"policy": tensor([3.0, 9.0])}], "text": "same"}
    text = shown(expected, got)
    assert "steps[1], policy, float32 [2]\n  1 of 2 differ; largest difference at [1]: expected 4, got 9" in text
    assert "Agree: one, steps[0], policy, text" in text


def test_missing_and_unexpected_keys(shown) -> None:
    """A fact that is not there differs from any value."""
    text = shown({"a": 1, "b": 2}, {"b": 2, "c": 3})
    lines = [line.split() for line in text.splitlines()]
    assert ["a", "1", "(nothing)"] in lines
    assert ["c", "(nothing)", "3"] in lines


def test_numbers_behind_a_right_or_wrong_are_shown(shown) -> None:
    """Catches: "the mean is μ: True, False", without the mean that the report prints."""
    said = "the mean is μ: expected True, got False\nmean: [796.2, 3]\nvariance:\n  first: 2"
    text = shown({"the mean is μ": True}, {"the mean is μ": False}, said=said)
    assert "mean: [796.2, 3]\nvariance:\n  first: 2" in text
    assert "expected True" not in text, "that is in the table"


def test_arguments_are_separated_from_the_case(shown) -> None:
    """Catches: arguments of the last call in one list with inputs of the case, and the same array twice."""
    states = np.arange(6.0).reshape(2, 3)
    received = ReceivedCall("Actor.forward", {"state": states}, times=3)
    text = shown({"a": 1}, {"a": 2}, {"states": states.copy(), "sizes": [3, 2]}, received=received)
    said, _, case = text.partition("The grader prepared this call with:\n")
    often = "Actor.forward was called 3 times (case some_case)."
    assert f"{often} The mistake may be in an earlier call. The last call received:" in said
    assert "state" in said
    assert "sizes = [3, 2]" in case
    assert "states" not in text
    nothing = shown({"a": 1}, {"a": 2}, {"size": 2}, received=ReceivedCall("OUNoise.sample", {}))
    assert (
        "OUNoise.sample was called without arguments (case some_case).\n\nThe grader prepared this call with:\n  size = 2"
        in nothing
    )


def test_nan_and_infinity(shown) -> None:
    """NaN has no size, so it must not vanish from the map, nor make the rest of it pale."""
    expected = tensor([1.0, 2.0, 3.0, np.inf])
    text = shown({"values": expected}, {"values": tensor([np.nan, 2.0, 4.0, np.inf])})
    assert "2 of 4 differ; largest difference at [0]: expected 1, got nan" in text
    assert "|??  @@  |" in text
    assert "NaN or infinite" in text
    assert "nan" in shown({"loss": 1.0}, {"loss": float("nan")})
    assert "|????|" in shown({"values": expected[:2]}, {"values": expected[:2] * np.nan})


def test_colors(shown, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a terminal, the map has colors. With NO_COLOR, or without a terminal, it consists of characters."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    pair = {"values": tensor([1.0, 2.0])}, {"values": tensor([1.0, 3.0])}
    colored = shown(*pair, color_system="truecolor", force_terminal=True)
    assert "\x1b[48;5;160m" in colored
    assert "@@" not in colored
    monkeypatch.setenv("NO_COLOR", "1")
    assert "|  @@|" in shown(*pair, color_system="truecolor", force_terminal=True)
    assert "48;5" not in shown(*pair, color_system="truecolor", force_terminal=True)


def test_text_of_the_student_stays_text(shown) -> None:
    """Markup is not interpreted, and control characters do not reach the terminal."""
    text = shown({"a": "[bold]fine[/bold]", "b": 1}, {"a": "[red]no[/red] \x1b[31m[/]", "b\x1b[2J[/bold]": 1})
    assert "[bold]fine[/bold]" in text
    assert "[red]no[/red]" in text
    assert "\x1b" not in text
    assert "b\\x1b[2J[/bold]" in text


def test_a_right_form_of_its_own(home: AssignmentFiles) -> None:
    """Where two forms are right, differences are those from the nearer one."""
    compared = Comparison(({"a": 1.0, "b": 1.0}, {"a": 2.0, "b": 2.0}), {"a": 2.0, "b": 5.0}, 1e-4, 1e-5, False)
    output = io.StringIO()
    console = Console(file=output, width=100)
    module._print_compared(console, compared, False)
    assert "Agree: a" in output.getvalue()
    assert "3" in output.getvalue()


def test_inputs_are_cut_sensibly(shown) -> None:
    """Arrays with as many rows share a table; what is long or wide is cut, and says so."""
    inputs = {
        "rewards": np.arange(100.0),
        "observations": np.zeros((100, 9)),
        "weights": [np.ones((8, 3)), np.ones(2)],
        "ppo_clip": 0.2,
        "nothing": np.zeros((0, 3)),
    }
    text = shown({"a": 1}, {"a": 2}, inputs)
    assert "weights[0], float64 [8, 3]: 1, 1, 1, 1, 1, 1, [...]" in text
    assert "ppo_clip = 0.2" in text
    assert "rewards" in text
    assert "[...]" in text
    assert "nothing = float64[0, 3] []" in text


def test_end_to_end_wrong(replaced) -> None:
    """The whole way: the case's rows, expected beside got, the map, and the other checks that fail."""
    text = run("get_returns", replaced(get_returns="return rollout_buffer.rewards[:, None].float()"))
    assert "✗ Two episodes with rewards 0 to 10" in text
    assert "case returns_table" in text
    row = next(line.split() for line in text.splitlines() if line.strip().startswith("7 ") and "14.5" in line)
    assert row == ["7", "14.5", "7", "7.5"]
    assert "map: rows 0 to 21 from left to right" in text
    assert "(-k several_episodes)" in text
    other = run("get_returns", replaced(get_returns="return rollout_buffer.rewards[:, None].float()"), "-k", "several")
    assert "case returns_several_episodes" in other


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals there")
@pytest.mark.parametrize("width", [60, 80])
def test_no_line_is_broken_by_the_terminal(replaced, width: int) -> None:
    """Catches: tables and titles that are wider than the terminal, and a -k that is apart from its name."""
    path = replaced(get_returns="return rollout_buffer.rewards[:, None].float()")
    command = [sys.executable, "grade.py", "policy_gradient", "--show", "get_returns", "--submission", str(path)]
    lines = run_in_terminal(command, width, ROOT)
    assert max(map(len, lines)) <= width, "\n".join(lines)
    assert "map: rows 0 to 21 from left to right" in "".join(lines)
    assert sum("(-k default_discount)" in line for line in lines) == 1, "\n".join(lines)


def test_end_to_end_right() -> None:
    """Nothing wrong: the first case and its answer, and the news that they agree."""
    text = run("get_returns", SOLUTION)
    assert "✓ Two episodes with rewards 0 to 10" in text
    assert "expected and got agree" in text
    assert "map:" not in text


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise ValueError('[bold]mine[/bold]')", "ValueError: [bold]mine[/bold]"),
        ("return lambda: 1", "a torch.Tensor"),
    ],
)
def test_what_raises_shows_the_case_and_what_was_expected(replaced, body: str, words: str) -> None:
    """Where nothing came back, there is still a case to look at, and an answer to aim for."""
    text = run("get_returns", replaced(get_returns=body))
    assert words in text
    assert "case returns_table" in text


def test_a_check_without_a_stored_case() -> None:
    """A learning run compares no stored answer: its call is shown, and what the check says of it."""
    text = run("learning_ppo", SOLUTION)
    assert "Called with (driver learn):" in text
    assert "rollouts = 320" in text


def test_what_is_kept_is_bounded_and_stays_out_of_reports(home: AssignmentFiles, replaced) -> None:
    """A giant answer is not kept for a look that may never come, and no report tells of what is kept."""
    giant = np.zeros((300, 300), dtype=np.float32)
    assert drop_large_arrays({"a": [giant.view(TensorArray)], "b": giant[:2]})["a"] == [
        "a torch.Tensor of shape [300, 300], too large to be kept"
    ]
    (first, *_) = find_failing_checks(home, replaced(get_returns="return torch.zeros(300, 300)"), "get_returns")
    compared = first.tried.compared
    assert compared is not None
    assert isinstance(compared.got["returns"], str)
    assert '"tried"' not in first.check.model_dump_json()


def test_the_report_tells_of_both(replaced) -> None:
    """A command nobody knows of helps nobody; the line works as it stands, and comes only where there is something to see."""
    path = replaced(get_advantages="return returns")
    command = [sys.executable, "grade.py", "policy_gradient", "--submission", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    last = done.stdout.splitlines()[-1]
    assert last.startswith(f"Look closer: {name_python()} grade.py policy_gradient --submission {path} --show get_advantages ")
    stub = subprocess.run(command[:3], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert "Look closer" not in stub.stdout
