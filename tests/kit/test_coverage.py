"""Calls that a trial need not make: those that enter nothing of what the variant changes."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.assignment import SUITES, AssignmentFiles
from grader.judge.run import Grader
from grader.proof.coverage import find_changed_functions
from grader.proof.trials import TrialTask, run_task, write_coverage
from grader.proof.verify import ProofOptions, verify
from grader.sandbox.entered import ENTER, IMPORTED, begin_trace, entered, trace_functions

pytestmark = pytest.mark.recorded

SOLUTION = '''\
"""A module."""

from __future__ import annotations

import math

SCALE = 2.0


def total(values: list[float], start=0.0) -> float:
    """Return the sum."""
    return helper(values) + start


def helper(values):
    return math.fsum(values)


class Agent:
    """Counts."""

    rate = 0.5

    def __init__(self):
        self.count = 0

    @property
    def twice(self):
        return 2 * self.count

    def act(self):
        def inner():
            return SCALE

        self.count += 1
        return inner()


def spread(values, scale=1.0):
    return (max(values) - min(values)) * scale
'''


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("return helper(values) + start", "return start", {"total"}),
        ('"""Return the sum."""', '"""Return it."""', {"total"}),
        ("math.fsum(values)", "sum(values)  # not as exact", {"helper"}),
        ("            return SCALE", "            return 1.0", {"Agent.act"}),
        ("2 * self.count", "3 * self.count", {"Agent.twice"}),
        ("        self.count = 0", "        self.count = 1", {"Agent.__init__"}),
        ("math.fsum(values)\n", "math.fsum(values)  # only a comment\n", set()),
        ("start=0.0", "start=1.0", None),
        ("SCALE = 2.0", "SCALE = 3.0", None),
        ("rate = 0.5", "rate = 0.6", None),
        ("    @property\n", "", None),
        ("class Agent:", "class Agent(dict):", None),
        ("def helper", "def total2", None),
        ("import math\n", "import math\nmath.fsum = sum\n", None),
        ("class Agent:", "if SCALE:\n    def helper(values): return 0\n\n\nclass Agent:", None),
    ],
)
def test_what_a_variant_changes(old: str, new: str, changed: set[str] | None) -> None:
    """Catches: a change that runs when the file is imported, or that is a default, taken for one of a function alone."""
    assert SOLUTION.count(old) == 1
    assert find_changed_functions(SOLUTION, SOLUTION.replace(old, new)) == changed


def test_functions_note_that_they_are_entered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: a method, an inner call or the import itself that is not noted, so that a changed reply would be recalled."""
    monkeypatch.setattr(builtins, ENTER, None, raising=False)  # so that it is taken away again
    names: dict = {}
    begin_trace()
    exec(trace_functions(SOLUTION.encode(), "traced.py"), names)
    assert entered == {IMPORTED}
    assert names["total"]([1.0, 2.0]) == 3.0
    assert entered == {IMPORTED, "total", "helper"}
    agent = names["Agent"]()
    assert (agent.act(), agent.act(), agent.twice) == (2.0, 2.0, 4)
    assert entered == {IMPORTED, "total", "helper", "Agent.__init__", "Agent.act", "Agent.twice"}
    begin_trace()
    assert entered == set()


def test_a_traced_function_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: a lost docstring, or lines that are others, which messages name."""
    monkeypatch.setattr(builtins, ENTER, None, raising=False)
    names: dict = {}
    begin_trace()
    exec(trace_functions(SOLUTION.encode(), "traced.py"), names)
    assert names["total"].__doc__ == "Return the sum."
    with pytest.raises(TypeError) as raised:
        names["total"](["no number"])
    lines = [entry.lineno + 1 for entry in raised.traceback if str(entry.path).endswith("traced.py")]
    assert [SOLUTION.splitlines()[line - 1].strip() for line in lines] == [
        "return helper(values) + start",
        "return math.fsum(values)",
    ]


def test_a_generator_stands_for_itself() -> None:
    """Catches: a function made a generator, which returns something else without being entered."""
    rows = "def rows(values):\n    {}\n\n\ndef total(values):\n    return type(rows(values)).__name__\n"
    assert find_changed_functions(rows.format("return values"), rows.format("yield values")) is None
    assert find_changed_functions(rows.format("yield values"), rows.format("yield 1")) is None
    inner = "def f():\n    def g():\n        yield 1\n    return {}\n"
    assert find_changed_functions(inner.format(1), inner.format(2)) == {"f"}


@pytest.fixture
def calls(built_toy: Path, tmp_path: Path) -> Iterator[Callable[[str, str], tuple[int, set[str]]]]:
    """Try a variant of the toy's solution: `calls(old, new)` -> (number of recalled calls, checks that did not pass)."""
    home = AssignmentFiles(built_toy, "toy")
    grader = Grader(home, SUITES)
    solution = (home.solution / "submitted.py").read_text(encoding="utf-8")
    questions = frozenset(question.id for question in home.assignment.questions)
    coverage = tmp_path / "coverage"
    with grader:
        write_coverage(grader, solution, questions, coverage)

        def run(old: str, new: str) -> tuple[int, set[str]]:
            assert solution.count(old) == 1
            task = TrialTask("mistake m", solution.replace(old, new), questions)
            tried, made = run_task(grader, task, coverage), run_task(grader, task, tmp_path / "none")
            assert (tried.verdict, tried.losses) == (made.verdict, made.losses)
            assert not made.recalled
            return tried.recalled, {check for checks in tried.verdict.lost.values() for check in checks}

        yield run


def test_only_what_enters_the_change_is_called(calls: Callable) -> None:
    """Catches: a verdict that depends on whether replies are recalled, and one that recalls none."""
    total, failed = calls("result + value", "result - value")
    assert total > 0
    assert {"visible/test_three", "visible/test_many"} <= failed
    spread, failed = calls("* scale\n", "* 2 * scale\n")
    assert spread > 0
    assert "visible/test_spread" in failed
    assert calls("    result = 0.0", "    result = 0.0  # nothing yet")[0] > total + spread - 1


def test_a_change_outside_of_functions_is_called_for(calls: Callable) -> None:
    """Catches: replies recalled for a file that cannot even be imported."""
    recalled, failed = calls("def total(", "raise ValueError('no')\n\n\ndef total(")
    assert (recalled, bool(failed)) == (0, True)


@pytest.mark.parametrize(
    ("driver", "why"),
    [
        ('{"total": submitted.total(values), "text": open(submitted.__file__).read()}', "reads the text"),
        ('{"total": submitted.total(values), "said": print("hello")}', "prints"),
    ],
)
def test_what_is_never_recalled(built_toy: Path, tmp_path: Path, driver: str, why: str) -> None:
    """Catches: the reply of a driver that sees more of a submission than what its functions do."""
    drivers = tmp_path / "drivers.py"
    drivers.write_text(f"def total(submitted, values):\n    return {driver}\n", encoding="utf-8")
    home = AssignmentFiles(built_toy, "toy")
    home.drivers = drivers
    solution = (home.solution / "submitted.py").read_text(encoding="utf-8")
    coverage = tmp_path / "coverage"
    with Grader(home, SUITES) as grader:
        write_coverage(grader, solution, frozenset({"total"}), coverage)
        tried = run_task(grader, TrialTask("mistake m", solution.replace("* scale", ""), frozenset({"total"})), coverage)
    assert tried.recalled == 0, why


def test_the_proof_says_what_it_did_not_call(built_toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: a proof that finds something else, or says nothing, where it makes fewer calls."""
    plain = list(verify(built_toy, "toy", ProofOptions(sample=1)))
    monkeypatch.setattr("grader.proof.verify.MANY", 1)
    found = list(verify(built_toy, "toy", ProofOptions(sample=1)))
    own = [line for line, _ in found if line.endswith("enter no function that the variant changes")]
    assert len(own) == 1
    assert int(own[0].split()[0]) > 5
    timeless = lambda lines: [line for line, _ in lines if not line.startswith("took") and line not in own]  # noqa: E731
    assert timeless(found) == timeless(plain)
