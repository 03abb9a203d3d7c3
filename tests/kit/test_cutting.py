"""Texts between the solution and what a student wrote: edits make exactly what they say, and other forms do the same."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from grader.assignment import AssignmentFiles
from grader.proof import cutting
from grader.proof.alignment import DifferenceFilter, dump
from grader.proof.mutants import make_mutants
from grader.proof.naming import rename_like
from grader.proof.rewriting import rewrite
from grader.proof.textedits import apply_edits, drop_docstrings, find_edits
from tests.kit.examples import examples

pytestmark = pytest.mark.recorded

INPUTS = ("solutions/ddpg/submitted.py", "assignments/ddpg/assignment.toml", "utils.py", "assignments/ddpg/*")

ROOT = Path(__file__).resolve().parents[2]

SOLUTION = '''\
def total(values, scale=1.0):
    """Return the sum of all values."""
    # from left to right
    result = 0.0
    for value in values:
        result = result + value
    return result * scale
'''


def parse(text: str) -> ast.stmt:
    (definition,) = ast.parse(text).body
    return drop_docstrings(definition)


@pytest.mark.sampled
def test_edits_make_every_mutant_of_a_solution() -> None:
    """Catches: an edit at another place, a lost bracket, a wrong indentation, a text that stands there twice."""
    home = AssignmentFiles(ROOT, "ddpg")
    source = (home.solution / "submitted.py").read_text(encoding="utf-8")
    found = lines = 0
    every = list(make_mutants(home))
    mutants = every[:: max(len(every) // examples(25), 1)]
    for mutant in mutants:
        text = cutting.find_definition(source, mutant.function)
        wanted = parse(cutting.find_definition(mutant.submission, mutant.function))
        edits = find_edits(text, wanted)
        found += bool(edits)
        lines += sum(old.count("\n") for old, _ in edits)
        if edits:
            assert dump(parse(apply_edits(text, edits))) == dump(wanted), mutant.change
    assert found > 0.95 * len(mutants)
    assert lines < 0.5 * found  # most are within a line


@pytest.mark.parametrize(
    ("old", "new", "edits"),
    [
        ("result * scale", "result", [["result * scale", "result"]]),
        ("result + value", "result + value * 2", [["result + value", "result + value * 2"]]),
        ("result * scale", "(result - 1) * scale", [["result * scale", "(result - 1) * scale"]]),
        ("    result = 0.0\n", "    result = 1.0\n", [["result = 0.0", "result = 1.0"]]),
        (
            "    return",
            "    result = abs(result)\n    return",
            [["return result * scale", "result = abs(result)\nreturn result * scale"]],
        ),
        (
            "    for",
            "    values = values[1:]\n    for",
            [["for value in values:", "values = values[1:]\nfor value in values:"]],
        ),
        (
            "        result = result + value",
            "        if value > 0:\n            result = result + value",
            [["result = result + value", "if value > 0:\n    result = result + value"]],
        ),
        ("scale=1.0", "scale=2.0", [["def total(values, scale=1.0):", "def total(values, scale=2.0):"]]),
    ],
)
def test_edits_are_short_and_leave_comments_alone(old: str, new: str, edits: list[list[str]]) -> None:
    """Catches: a whole function as the old text; a comment that is lost; a statement without its further lines."""
    changed = SOLUTION.replace(old, new)
    assert changed != SOLUTION
    found = find_edits(SOLUTION, parse(changed))
    assert dump(parse(apply_edits(SOLUTION, found))) == dump(parse(changed))
    assert "# from left to right" in apply_edits(SOLUTION, found)
    assert found == edits


def test_a_statement_behind_a_block_stays_outside_of_it() -> None:
    """Catches: further lines that get the indentation of the block's last line, in which the old text begins."""
    text = "def show(values):\n    for value in values:\n        print(value)\n"
    changed = f"{text}    print(len(values))\n"
    found = find_edits(text, parse(changed))
    assert dump(parse(apply_edits(text, found))) == dump(parse(changed))
    assert found


def test_what_is_not_there_makes_no_edit() -> None:
    """Catches: an edit that changes nothing, for a form that is the solution's."""
    assert find_edits(SOLUTION, parse(SOLUTION)) == []


def test_a_filter_takes_each_difference_from_one_side() -> None:
    """Catches: a tree that is neither side's where all differences are one side's; a difference that is not counted."""
    other = (
        "def total(values, scale=1.0):\n    result = 1.0\n    for v in values[1:]:\n        result -= v\n    return -result\n"
    )
    base, changed = parse(SOLUTION), parse(other)
    counted = DifferenceFilter()
    assert dump(counted.mix(base, changed)) == dump(changed)
    assert dump(DifferenceFilter(lambda _: False).mix(base, changed)) == dump(base)
    made = {dump(DifferenceFilter({number}.__contains__).mix(base, changed)) for number in range(len(counted.sizes))}
    assert len(made) == len(counted.sizes) > 3
    assert dump(parse(SOLUTION)) == dump(base)  # and neither is changed by that


def test_names_become_those_of_the_solution() -> None:
    """Catches: two variables with one name, a global that is renamed, a parameter by another one's name."""
    other = "def total(xs, k=1.0):\n    value = 0.0\n    for x in xs:\n        value = value + x\n    return value * k\n"
    assert dump(rename_like(parse(SOLUTION), parse(other))) == dump(parse(SOLUTION))
    unlike = parse("def total(xs, k=1.0):\n    scale = utils.scale\n    return sum(xs) * k * scale\n")
    renamed = ast.unparse(rename_like(parse(SOLUTION), unlike))
    namespace = {"utils": type("Utils", (), {"scale": 3.0})}
    exec(renamed, namespace)
    assert namespace["total"]([1.0, 2.0], 2.0) == 18.0


def test_attributes_of_self_become_those_of_the_solution() -> None:
    """Catches: a class whose methods do not agree any more on what its attributes are called."""
    text = "class A:\n\n    def __init__(self, n):\n        self.{0} = n\n\n    def get(self):\n        return self.{0} + 1\n"
    assert dump(rename_like(parse(text.format("size")), parse(text.format("count")))) == dump(parse(text.format("size")))


FORMS = [
    "def f(xs):\n    a = xs\n    n = 2\n    return sum(a) * n + len(a) - n\n",
    "def f(xs):\n    i = 0\n    s = 0\n    while i < len(xs):\n        s += xs[i]\n        i += 1\n    return s\n",
    "def f(xs):\n    i = len(xs) - 1\n    s = 0\n    while i >= 0:\n        s = 2 * s + xs[i]\n        i -= 1\n    return s\n",
    "def f(xs):\n    s = 0\n    for i in range(len(xs) - 1, -1, -1):\n        s = 2 * s + xs[i]\n    return s\n",
    "def f(xs):\n    s = 0\n    for i in range(len(xs)):\n        s += xs[i] * i\n    return s\n",
    "def f(xs):\n    a = sum(xs)\n    a = a * 2\n    b = a + 1\n    return b\n",
    "def f(xs):\n\n    def twice(x):\n        return x * 2\n    return twice(sum(xs)) - twice(xs[0])\n",
]


@pytest.mark.parametrize("text", FORMS)
def test_other_forms_do_the_same(text: str) -> None:
    """Catches: a rewriting that costs trials and can never be believed."""

    def run(code: str) -> float:
        namespace: dict[str, object] = {}
        exec(code, namespace)
        return namespace["f"]([3, 1, 4, 1, 5])  # type: ignore[operator]

    forms = [ast.unparse(ast.fix_missing_locations(form)) for form in rewrite(parse(text))]
    assert forms
    assert {run(form) for form in forms} == {run(text)}
    assert ast.unparse(parse(text)) not in forms


def test_what_a_function_needs_of_its_file_goes_along() -> None:
    """Catches: a helper, a constant or an import left behind; one of the solution's own functions replaced."""
    source = (
        "import math\nfrom __future__ import annotations\nLIMIT = 3\n\n\ndef helper(x):\n    return math.floor(x) + LIMIT\n\n\n"
        "def spread(v):\n    return 0\n\n\n"
        'def total(v):\n    """Mine."""\n    kept: list = []\n    return helper(sum(v)) + spread(v)\n'
    )
    begun = cutting.begin(None, SOLUTION, source, "total", ["total", "spread"])["text"]
    namespace: dict[str, object] = {"spread": lambda v: 100}
    exec(begun, namespace)
    assert namespace["total"]([1.5]) == 104  # type: ignore[operator]
    assert "Mine" not in begun
    assert "kept = []" in begun
    assert cutting.begin(None, SOLUTION, "x = 1", "total", []) == {"missing": "total"}


def test_cuts_come_nearer_and_end() -> None:
    """Catches: a search that never ends, or a step that offers what it was given."""
    current = "def total(xs, scale=1.0):\n    s = 0.0\n    for i in range(len(xs)):\n        s += xs[i]\n    return s / scale\n"
    seen = set()
    while cuts := cutting.list_cuts(None, SOLUTION, current)["cuts"]:
        assert current not in cuts
        assert len(cuts) == len(set(cuts))
        current = next((cut for cut in cuts if "/ scale" in cut and cut not in seen), "")
        if not current:
            break
        seen.add(current)
    assert SOLUTION.partition("from left to right\n")[2].replace("result * scale", "result / scale") in "".join(seen)
