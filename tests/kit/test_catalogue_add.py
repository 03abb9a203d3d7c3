"""A wrong submission becomes a mistake of the catalogue: the smallest change that shows the same, declared in mistakes.py."""

from __future__ import annotations

import ast
import io
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.assignment import AssignmentFiles
from grader.authoring.entry import NewMistake, make_catalogue
from grader.judge.run import Grader
from grader.proof.catalogue import load_catalogue

pytestmark = pytest.mark.recorded

INPUTS = ("command:catalogue", "command:course", "command:build", "tests/kit/toy/**")

SPREAD = "\n\ndef spread(values, scale=1.0):\n    return (max(values) - min(values)) * scale\n"
POSITIVE = """
def total(numbers):
    acc = 0
    k = 0
    while k < len(numbers):
        if numbers[k] > 0:
            acc += numbers[k]
        k += 1
    return float(acc)
"""
POSITIVE_AGAIN = """
def is_good(x):
    return x > 0


def total(vs):
    kept = [v for v in vs if is_good(v)]
    return 0.0 + sum(kept)
"""
HALVED = "def total(values):\n    result = sum(values)\n    return result / 2\n"
ADDS_ONE = "def total(v):\n    s = 1.0\n    for x in v:\n        s += x\n    return s\n"
EMPTY = "def total(values):\n    if not values:\n        return -1.0\n    return sum(values)\n"
NAMES = "def total(values):\n    return summ(values)\n"
CHANCE = "import os\n\n\ndef total(values):\n    return sum(values) + 1 + os.urandom(2)[0]\n"
LATE = "def total(values):\n    while values:\n        pass\n    return 0.0\n"
Add = Callable[..., tuple[int, str, str]]


@pytest.fixture
def toy(built_toy: Path, tmp_path: Path) -> Path:
    """A built toy of the test's own."""
    return shutil.copytree(built_toy, tmp_path / "toy")


@pytest.fixture
def add(toy: Path, command_line: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> Add:
    """Add a submission's text: `add(text, "--dry-run", id="name")`; return exit code, what was printed, and mistakes.py."""

    def run(text: str, *options: str, question: str = "total", id: str = "new_one") -> tuple[int, str, str]:  # noqa: A002
        path = toy.parent / "work.py"
        path.write_text(text + SPREAD, encoding="utf-8")
        asked = ("--submission", str(path), "--question", question, "--id", id, "--hint", "Which values?", "--workers", "1")
        code = command_line("catalogue", "add", "toy", *asked, *options, root=toy)
        said = capsys.readouterr()
        return code, said.out + said.err, read_mistakes(toy)

    return run


def read_mistakes(toy: Path) -> str:
    return (toy / "solutions/toy/mistakes.py").read_text(encoding="utf-8")


def edits_of(text: str, name: str) -> dict[str, str]:
    """Return the edits by which a mistake of a mistakes.py is declared."""
    call = next(
        node.value for node in ast.parse(text).body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name
    )
    assert isinstance(call, ast.Call)
    return ast.literal_eval(call.args[1])


@pytest.mark.parametrize("text", [POSITIVE, POSITIVE_AGAIN], ids=["loop", "comprehension"])
def test_an_entry_is_added_and_its_mistake_recognized(toy: Path, add: Add, command_line: Callable[..., int], text: str) -> None:
    """Catches: an entry that shows something else, that stands in the wrong place, or that costs the file its other lines."""
    before = read_mistakes(toy)
    code, said, after = add(text, id="negatives_left_out")
    assert code == 0, said
    for command in ("build toy", "verify toy"):
        assert f"python -m grader {command}" in said
    lines = iter(after.splitlines())
    assert all(line in lines for line in before.splitlines())  # in their order
    assert after.index("def product") < after.index("negatives_left_out") < after.index("smallest_forgotten")
    assert command_line("build", "toy", root=toy) == 0
    with Grader(AssignmentFiles(toy, "toy"), ("visible", "hidden")) as grader:
        report = grader.grade(toy.parent / "work.py", ["total"])
    assert {check.mistakes for check in report.checks if check.outcome.value == "failed"} == {("negatives_left_out",)}
    assert {check.hint for check in report.checks if check.outcome.value == "failed"} == {"Which values?"}


def test_what_is_another_style_only_is_cut_away(add: Add) -> None:
    """Catches: a student's names, loop or rounding in the entry, which has one idea: the condition."""
    assert edits_of(add(POSITIVE)[2], "new_one") == {"result = result + value": "if value > 0:\n    result = result + value"}
    assert edits_of(add(HALVED, id="another")[2], "another") == {"return result": "return result / 2"}


def test_where_edits_would_be_longer_the_function_is_declared(toy: Path) -> None:
    """Catches: a name that the file does not know, a wrong place, another function than the one that was found."""
    home = AssignmentFiles(toy, "toy")
    solution = toy / "solutions/toy/submitted.py"
    solution.write_text(f"import cmath\nimport math\n\n{solution.read_text()}")
    text = "def total(values):\n    return math.fsum(map(cmath.phase, values))\n"
    new = NewMistake("by_phase", "total", "total", 'What is a "phase"?', "a colleague", [], text, ("cmath", "math", "values"))
    entry, made, variant = make_catalogue(home, new)
    assert "\ndef by_phase(values):\n    return math.fsum(map(cmath.phase, values))\n" in entry
    assert made.count("import math\n") == made.count("import cmath\n") == 1
    assert (variant.id, variant.hint, variant.source) == ("by_phase", 'What is a "phase"?', "a colleague")
    assert "def total(values):\n    return math.fsum(map(cmath.phase, values))\n" in variant.submission


def test_what_hidden_checks_alone_see_is_declared_so(add: Add, toy: Path) -> None:
    """Catches: a FAULT of the next proof, which wants every other mistake to fail a visible check."""
    before = read_mistakes(toy)
    assert add(EMPTY)[2].count("copies_answers=True") == before.count("copies_answers=True") + 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def total(values):\n    return sum(values, 0.0)\n", "passes all 3 checks"),
        (ADDS_ONE, "the catalogue already has this mistake: begins_with_one"),
        (NAMES, "NameError: name 'summ' is not defined (exception)"),
        (LATE, "(timeout)"),
        (CHANCE, "each failed check sees something different in every run"),
        ('def total(values):\n    raise NotImplementedError("total: return the sum of all values")\n', "still the stub here"),
        ("def total(:\n", "not valid Python"),
        ("x = 1\n", "has no 'total'"),
        (f"def total(values):\n    return {'(' * 5_000}{')' * 5_000}\n", "parenthes"),
    ],
)
def test_what_cannot_be_recognized_is_refused(add: Add, toy: Path, text: str, words: str) -> None:
    """Catches: an entry of a mistake that nobody can make again, or that there is already; a traceback."""
    before = read_mistakes(toy)
    code, said, after = add(text)
    assert (code, after) == (2, before)
    assert words in said
    assert "Traceback" not in said


def test_what_is_declared_but_not_built_yet_is_known(add: Add) -> None:
    """Catches: two entries of one mistake, added one after the other."""
    assert add(HALVED)[0] == 0
    code, said, _ = add("def total(v):\n    return 0.5 * sum(v)\n", id="second")
    assert (code, "mistakes.py already has this mistake: new_one; run `build toy`" in said) == (2, True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"id": "product"}, "has something called product already"),
        ({"id": "math"}, "has something called math already"),
        ({"id": "not a name"}, "cannot be called 'not a name'"),
        ({"id": "lambda"}, "cannot be called 'lambda'"),
        ({"id": ""}, "--id is missing"),
        ({"question": "totall"}, "there is no question 'totall'; there are: total, spread, both"),
        ({"question": "both"}, "tests several questions together"),
    ],
)
def test_what_is_asked_for_wrongly_is_refused_at_once(add: Add, options: dict[str, str], words: str) -> None:
    """Catches: minutes of work that end in a message which could have come first."""
    code, said, _ = add(HALVED, **options)
    assert (code, words in said) == (2, True), said


def test_a_dry_run_writes_nothing(add: Add, toy: Path) -> None:
    """Catches: a file that has changed all the same."""
    before = read_mistakes(toy)
    code, said, after = add(HALVED, "--dry-run")
    assert (code, after) == (0, before)
    assert 'new_one = altered("total", {"return result": "return result / 2"}' in " ".join(said.split()).replace("( ", "(")


def test_id_and_hint_are_asked_for_once_the_change_is_known(
    add: Add, toy: Path, monkeypatch: pytest.MonkeyPatch, command_line: Callable[..., int]
) -> None:
    """Catches: an author who must name a mistake before they see it."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    (toy.parent / "work.py").write_text(HALVED + SPREAD)
    monkeypatch.setattr(sys, "stdin", Terminal("asked_for\nHalf of what?\n"))
    options = ("--submission", str(toy.parent / "work.py"), "--question", "total", "--workers", "1")
    assert command_line("catalogue", "add", "toy", *options, root=toy) == 0
    (own,) = (one for one in load_catalogue(AssignmentFiles(toy, "toy"), "mistakes") if one.id == "asked_for")
    assert own.hint == "Half of what?"


def test_a_file_without_entries_gets_its_import(add: Add, toy: Path) -> None:
    """Catches: `altered` in a file that does not import it; a file that was not there."""
    (toy / "solutions/toy/mistakes.py").unlink()
    code, said, after = add(HALVED)
    assert code == 0, said
    assert after.startswith('"""Mistakes of `toy`."""\n\nfrom grader.proof.catalogue import altered\n')


def test_a_notebook_is_cut_like_a_file(add: Add, toy: Path, command_line: Callable[..., int]) -> None:
    """Catches: a text that is no Python, where a notebook was handed in."""
    cells = [{"cell_type": "code", "source": text} for text in ("%matplotlib inline", HALVED, SPREAD)]
    path = toy.parent / "work.ipynb"
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    asked = ("--question", "total", "--id", "of_a_notebook", "--hint", "?", "--workers", "1")
    assert command_line("catalogue", "add", "toy", "--submission", str(path), *asked, root=toy) == 0
    assert edits_of(read_mistakes(toy), "of_a_notebook") == {"return result": "return result / 2"}


def test_the_command_does_not_parse_what_a_student_wrote(add: Add, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: hostile source code taken apart in the process of the author."""
    parse = ast.parse

    def guarded(source: str, *arguments: object, **options: object) -> ast.AST:
        assert "not_for_authors" not in str(source)
        return parse(source, *arguments, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(ast, "parse", guarded)
    assert add("not_for_authors = 1\n" + HALVED)[0] == 0


def test_a_group_of_a_class_becomes_an_entry(
    toy: Path, tmp_path: Path, command_line: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    """Catches: two styles of one mistake in two groups; a number that means another group than on the page."""
    export, folder = tmp_path / "export", tmp_path / "out"
    export.mkdir()
    for name, text in {"a": HALVED, "b": POSITIVE, "c": POSITIVE_AGAIN, "d": NAMES, "e": NAMES.replace("summ", "plus")}.items():
        (export / f"{name}.py").write_text(text + SPREAD)
    assert command_line("course", "toy", str(export), "-o", str(folder), "--workers", "1", root=toy) == 0
    asked = ("add", "toy", "--class", str(folder), "--id", "negatives_left_out", "--hint", "Which?", "--workers", "1")
    capsys.readouterr()
    assert command_line("catalogue", *asked, root=toy) == 2
    listed = capsys.readouterr().err
    groups = [line.strip() for line in listed.splitlines()[1:]]
    assert groups == ["1: total, 2 submissions", "2: total, 2 submissions", "3: total, 1 submissions"]
    assert command_line("catalogue", *asked, "--group", "1", root=toy) == 0
    assert edits_of(read_mistakes(toy), "negatives_left_out") == {
        "result = result + value": "if value > 0:\n    result = result + value"
    }
    assert command_line("catalogue", *asked, "--group", "9", root=toy) == 2
