"""`propose`: mistakes, what checks are there for, and cases; printed with names, and written only if they are accepted."""

from __future__ import annotations

import ast
import io
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.assignment import AssignmentFiles
from grader.authoring.newcheck import render_check
from grader.judge.compare import difference
from grader.proof.candidates import make_candidates, name_mutant
from grader.proof.catalogue import load_catalogue
from grader.proof.habits import list_habits
from grader.proof.variations import Variation, list_variations

pytestmark = pytest.mark.recorded

INPUTS = {
    "*": (
        "command:propose",
        "command:build",
        "command:verify",
        "command:course",
        "command:catalogue",
        "tests/kit/toy/**",
    ),
    "test_a_habit_is_an_edit": (),
}
SOURCES = ("mistakes.py", "cases.py", "catches.toml")
SPREAD = "\n\ndef spread(values, scale=1.0):\n    return (max(values) - min(values)) * scale\n"
MARK = """
try:
    open({path!r}, "w").write("ran")
except Exception:
    pass
"""
Propose = Callable[..., tuple[int, str]]


@pytest.fixture
def toy(built_toy: Path, tmp_path: Path) -> Path:
    """A built toy of the test's own."""
    return Path(shutil.copytree(built_toy, tmp_path / "toy"))


@pytest.fixture
def run(toy: Path, command_line: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> Propose:
    """Run a command on the toy: `run("propose", "--most", "9")`; return exit code and what was printed."""

    def run(command: str, *options: str) -> tuple[int, str]:
        capsys.readouterr()
        code = command_line(command, "toy", *options, "--workers", "1", root=toy)
        said = capsys.readouterr()
        return code, said.out + said.err

    return run


def sources(toy: Path) -> dict[str, str]:
    """Return the files that `propose` may write."""
    paths = [toy / "solutions/toy" / name for name in SOURCES]
    return {path.name: path.read_text(encoding="utf-8") for path in paths if path.is_file()}


def edit(toy: Path, name: str, old: str, new: str) -> None:
    path = toy / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_what_the_catalogue_lacks_is_proposed_and_nothing_is_written(toy: Path, run: Propose) -> None:
    """Catches: a mistake that there is already, one mistake proposed twice, a solution that runs in this process."""
    mark = toy.parent / "ran"
    edit(toy, "solutions/toy/submitted.py", '"""The solution', MARK.format(path=str(mark)).lstrip() + '\n"""The solution')
    before = sources(toy)
    code, said = run("propose", "--most", "20")
    assert code == 0, said
    assert sources(toy) == before
    assert not mark.exists()
    names = re.findall(r"^(\w+)  costs", said, re.MULTILINE)
    assert {"total_first_left_out", "total_minus_for_plus", "spread_negative"} <= set(names)
    known = {"total_last_left_out", "spread_without_min_values", "spread_without_scale", "spread_other_default_of_scale"}
    assert not known & set(names)  # the toy's own mistakes, by other names
    assert "spread_exchanged" not in names  # it shows the same as the negative one
    assert "total_first_left_out  costs 2 of 3 points; visible/test_three, visible/test_many\n" in said
    assert "    - for value in values:\n    + for value in values[1:]:\n    DRAFT: Where does your loop begin?\n" in said
    assert "hidden/test_default_scale  other_default\n" in said
    assert re.search(r"no mistake shows what these are for.*\n    visible/test_three\n    visible/test_many\n", said)
    assert "\x1b" not in said


def test_the_decorators_of_a_solution_stay_as_they_are(toy: Path) -> None:
    """Catches: a context manager inside a context manager: every habit of a decorated function ends in an exception."""
    edit(toy, "solutions/toy/submitted.py", "\n\ndef spread", "\n\n@functools.cache\ndef spread")
    habits = [one for one in make_candidates(AssignmentFiles(toy, "toy")) if one.habit and one.question == "spread"]
    assert habits
    for one in habits:
        assert one.submission.count("@functools.cache\ndef spread") == one.submission.count("@") == 1
        assert one.definition.startswith("def spread(")


def test_a_line_accepts(toy: Path, run: Propose) -> None:
    """Catches: a draft that reaches students, an entry that cannot be built, a check that is not held to its mistake."""
    code, said = run("propose", "--accept", "total_minus_for_plus,spread_negative, hidden/test_default_scale")
    assert code == 0, said
    for command in ("build toy", "verify toy"):
        assert f"python -m grader {command}" in said
    mistakes = {one.id: one for one in load_catalogue(AssignmentFiles(toy, "toy"), "mistakes")}
    assert "result = result - value" in mistakes["total_minus_for_plus"].submission
    assert sources(toy)["catches.toml"].endswith('\n[hidden]\ntest_default_scale = ["other_default"]\n')
    code, said = run("build")
    assert code == 0, said
    draft = "the hint of total_minus_for_plus is a draft: ask what a good tutor would ask, and remove DRAFT"
    assert re.search(rf"note: solutions/toy/mistakes.py:\d+: {draft}\n", said)
    code, said = run("verify", "--quick")
    assert code == 1
    assert f"FAULT toy: {draft}" in said
    edit(toy, "solutions/toy/mistakes.py", "DRAFT: ", "")
    assert run("build")[0] == 0
    code, said = run("verify", "--quick")
    assert code == 0, said
    assert "1 of 5 checks catch the mistakes listed for them in catches.toml" in said


def test_the_check_of_a_case_is_that_of_the_case_it_varies(toy: Path, run: Propose) -> None:
    """Catches: a check that compares what the old one leaves out; points that do not add up; half of three files."""
    edit(toy, "tests/visible/test_toy.py", 'expect("spread_of_three")', 'expect("spread_of_three", only("spread"), rtol=0.01)')
    edit(toy, "tests/visible/test_toy.py", "import points", "import points\nfrom grader.judge.views import only")
    names = "reversed_rows_of_spread_of_three", "two_rows_of_both_of_four"
    code, said = run("propose", "--accept", ",".join(names))
    assert code == 0, said
    text = (toy / "tests/visible/test_toy.py").read_text(encoding="utf-8")
    first, second = (
        f'@points(1, question="{question}")\ndef test_{name}(student):\n'
        f'    """DRAFT: What does a student learn from this case?"""\n    student.expect("{name}"{how})\n'
        for name, question, how in zip(names, ("spread", "both"), (', only("spread"), rtol=0.01', ""), strict=True)
    )
    assert f"{first}\n\n@points" in text
    assert text.endswith(second)
    points = [question.points.visible for question in AssignmentFiles(toy, "toy").assignment.questions]
    assert points == [2, 2, 2]
    edit(toy, "tests/visible/test_toy.py", '"""DRAFT: What does a student learn from this case?"""', '"""Another order."""')
    assert run("build")[0] == 0
    code, said = run("verify", "--quick")
    assert code == 0, said
    edit(
        toy, "assignments/toy/assignment.toml", "points = { visible = 2, hidden = 1 }", 'points = { "visible" = 2, hidden = 1 }'
    )
    changed = {path: path.read_bytes() for path in toy.rglob("*.*") if path.is_file()}
    code, said = run("propose", "--accept", "reversed_rows_of_three_values,hidden/test_default_scale")
    assert code == 2, said
    assert "nothing was written: assignment.toml has no visible points of total that can be raised by 1" in said
    assert {path: path.read_bytes() for path in changed} == changed


def test_the_check_of_a_case_compares_what_the_case_is_there_for(toy: Path) -> None:
    """Catches: a case that shows another shape, with a check that compares the numbers alone and passes it."""
    path = toy / "tests/visible/test_toy.py"
    check = """

@points(1, question="total")
def test_form(student):
    'Form.'
    student.expect("three_values", only("form"))
"""
    edit(toy, "tests/visible/test_toy.py", 'student.expect("three_values")', 'student.expect("three_values", only("total"))')
    path.write_text(path.read_text() + check)
    home = AssignmentFiles(toy, "toy")
    case = Variation("fewer", "three_values", "total", "total", {"values": [1.0]}, "")
    shown = {facts: render_check(home, replace(case, facts=facts)) for facts in ((), ("total",), ("form",), ("dtype",))}
    expected = {
        (): 'student.expect("fewer", only("total"))',
        ("total",): 'student.expect("fewer", only("total"))',
        ("form",): 'student.expect("fewer", only("form"))',
        ("dtype",): 'student.expect("fewer")',
    }
    assert {facts: check.splitlines()[-1].strip() for facts, check in shown.items()} == expected


@pytest.mark.parametrize(
    ("after", "name"),
    [
        ("spread(high, low)", "arguments_exchanged"),
        ("spread(low, low)", "other_argument"),
        ("high - low", "exchanged"),
        ("low - 1", "other_operand"),
    ],
)
def test_only_what_changes_places_is_called_exchanged(after: str, name: str) -> None:
    """Catches: `len(x)` that became `len(x) - 1`, with the hint to look at an order."""
    before = "spread(low, high)" if "(" in after else "low - high"
    assert name_mutant(f"{before} -> {after}") == name


def test_an_entry_that_there_is_is_not_proposed(toy: Path, run: Propose) -> None:
    """Catches: a check twice in catches.toml, which no command reads from then on."""
    path = toy / "solutions/toy/catches.toml"
    path.write_text("[hidden]\ntest_default_scale = []\n", encoding="utf-8")
    code, said = run("propose", "--accept", "hidden/test_default_scale")
    assert code == 2
    assert "there is no proposal 'hidden/test_default_scale'" in said
    path.write_text("hidden = { test_nothing_to_add = [] }\n", encoding="utf-8")
    code, said = run("propose", "--accept", "hidden/test_default_scale")
    assert code == 2
    assert (
        "catches.toml cannot take an entry for hidden/test_default_scale; write by hand in [hidden]: test_default_scale" in said
    )
    assert path.read_text(encoding="utf-8") == "hidden = { test_nothing_to_add = [] }\n"
    path.unlink()
    code, said = run("propose", "--accept", "hidden/test_default_scale,hidden/test_default_scale")
    assert code == 0, said
    assert sources(toy)["catches.toml"].endswith('\n[hidden]\ntest_default_scale = ["other_default"]\n')


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("total_minus_for_plus,nothing_like_it", "there is no proposal 'nothing_like_it'"),
        ("spread_without_min_values", "it shows the same as smallest_forgotten"),
        ("spread_negative,spread_exchanged", "it shows the same as spread_negative"),
        ("total_overwrites", "no check catches it"),
        ("total_reversed", "it only raises exceptions"),
        ("visible/test_three", "there is no proposal 'visible/test_three'"),
        ("no_rows_of_spread_of_three", "the solution has no answer to it that a check can compare"),
    ],
)
def test_what_is_not_proposed_cannot_be_accepted(toy: Path, run: Propose, asked: str, words: str) -> None:
    """Catches: a mistake of the catalogue under a second name; half of a list that is written."""
    before = sources(toy)
    code, said = run("propose", "--accept", asked)
    assert (code, words in said) == (2, True), said
    assert "nothing was written" in said
    assert sources(toy) == before


def test_keys_accept_in_a_terminal(
    toy: Path, command_line: Callable[..., int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Catches: a proposal that is written because the next one was accepted."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal("s\nwhat?\na\nq\n"))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert command_line("propose", "toy", "--question", "spread", "--workers", "1", root=toy) == 0
    said = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)
    shown = re.findall(r"(\w+)  costs", said)
    assert len(shown) == 3
    mistakes = load_catalogue(AssignmentFiles(toy, "toy"), "mistakes")
    assert [one.id for one in mistakes if one.id in shown] == [shown[1]]


def test_a_case_is_proposed_for_what_is_not_told_apart(toy: Path, run: Propose) -> None:
    """Catches: a case that shows nothing, or one that `build` cannot read."""
    edit(toy, "solutions/toy/cases.py", '{"values": [1.5, -2.0, 4.0]}\n\n\n@case("total", question="total")', "XX")
    edit(toy, "solutions/toy/cases.py", "XX", '{"values": [0.0, 3.0]}\n\n\n@case("total", question="total")')
    edit(toy, "solutions/toy/cases.py", '{"values": rng.normal(size=9).tolist()}', '{"values": [0.0, 3.0]}')
    mistakes = toy / "solutions/toy/mistakes.py"
    alike = '\n\n@mistake("total", hint="How many do you add?")\ndef smallest(values):\n    return min(values, default=0.0)\n'
    mistakes.write_text(mistakes.read_text(encoding="utf-8") + alike, encoding="utf-8")
    assert run("build")[0] == 0
    code, said = run("propose", "--question", "total")
    assert code == 0, said
    cases = said.partition("\nCases\n")[2]
    told = re.findall(r"^    (.*(?: and | -> ).*)$", cases.partition("  in solutions")[0], re.MULTILINE)
    assert "total: for value in values: -> for value in values[1:]:" in told
    assert "last_value_left_out and smallest" in told
    (name,) = re.findall(r"^(\w+)  shows a difference", cases, re.MULTILINE)
    assert f'    @case("total", question="total")\n    def {name}(rng):\n' in cases
    assert f"    def test_{name}(student):\n" in cases
    code, said = run("propose", "--accept", name)
    assert code == 0, said
    files = "solutions/toy/cases.py, tests/visible/test_toy.py, assignments/toy/assignment.toml"
    assert f"wrote {files}: {name}; now rewrite the title of its check\n" in said
    code, said = run("build")
    assert code == 0, said
    draft = f"the title of test_{name} is a draft: write the line that a student reads, and remove DRAFT"
    (place,) = re.findall(rf"note: (tests/visible/test_toy.py:\d+): {draft}\n", said)
    code, said = run("verify", "--quick")
    assert code == 1
    assert f"FAULT toy: {place}: {draft}\n" in said
    edit(toy, "tests/visible/test_toy.py", '"""DRAFT: What does a student learn from this case?"""', '"""The first of them."""')
    assert run("build")[0] == 0
    code, said = run("propose", "--question", "total", "--accept", "total_first_left_out")
    assert code == 0, said  # now a check catches it
    assert "not distinguished" not in run("verify", "--quick")[1]


def test_names_of_cases_say_how_they_were_made(toy: Path) -> None:
    """Catches: a name that means another case in the next run."""
    found = {one.name: one for one in list_variations(AssignmentFiles(toy, "toy"), "spread")}
    assert found["one_row_of_spread_of_three"].inputs == {"values": [1.5], "scale": 3.0}
    assert found["reversed_rows_of_spread_of_three"].inputs == {"values": [4.0, -2.0, 1.5], "scale": 3.0}
    assert found["no_scale_of_spread_of_three"].inputs == {"values": [1.5, -2.0, 4.0]}
    assert found["scale_negative_of_spread_of_three"].code == (
        '@case("spread", question="spread")\ndef scale_negative_of_spread_of_three(rng):\n'
        "    return dict(values=[1.5, -2.0, 4.0], scale=-3.0)\n"
    )


def test_no_variation_shows_a_hidden_input(toy: Path) -> None:
    """Catches: a visible case made of the inputs of a hidden one, which students read in solution.json."""
    names = [one.name for one in list_variations(AssignmentFiles(toy, "toy"))]
    assert any(name.endswith("_of_many_values") for name in names)
    assert not [name for name in names if name.endswith(("_of_no_values", "_of_default_scale"))]


def test_a_number_in_an_array_has_variations(toy: Path, run: Propose) -> None:
    """Catches: a traceback of every `propose` and `--accept`, because an array without axes cannot be sorted."""
    edit(toy, "solutions/toy/cases.py", '"scale": 3.0}', '"scale": np.array(3.0)}')
    edit(toy, "solutions/toy/cases.py", "from grader", "import numpy as np\n\nfrom grader")
    assert run("build")[0] == 0
    names = [one.name for one in list_variations(AssignmentFiles(toy, "toy"), "spread")]
    assert "no_scale_of_spread_of_three" in names
    assert "scale_sorted_of_spread_of_three" not in names


def test_the_code_of_a_case_makes_what_was_tried(toy: Path, run: Propose) -> None:
    """Catches: a case that shows something else once it stands in the file."""
    edit(toy, "solutions/toy/cases.py", "rng.normal(size=9).tolist()", "rng.normal(size=90)")
    assert run("build")[0] == 0
    text = "import numpy as np\n" + (toy / "solutions/toy/cases.py").read_text(encoding="utf-8")
    found = list(list_variations(AssignmentFiles(toy, "toy")))
    assert sum("many_values.cook(1)" in one.code for one in found) > 5
    for one in found:
        scope: dict[str, Any] = {}
        exec(f"{text}\n\n{one.code}", scope)
        assert difference(one.inputs, scope[one.name].cook(5).inputs, rtol=1e-12, atol=0.0) is None, one.code


def test_a_class_says_what_its_students_do(toy: Path, tmp_path: Path, run: Propose, command_line: Callable[..., int]) -> None:
    """Catches: a group that no small change explains and that is lost, half written, or without a free name."""
    export, folder = tmp_path / "export", tmp_path / "out"
    export.mkdir()
    first = "def total(numbers):\n    return sum(numbers[1:])\n"
    halved = "def total(values):\n    return sum(values) / 2\n"
    broken = "def total(values):\n    return summ(values)\n"
    for name, text in {"a": first, "b": first.replace("numbers", "n"), "c": halved, "d": broken}.items():
        (export / f"{name}.py").write_text(text + SPREAD, encoding="utf-8")
    assert command_line("course", "toy", str(export), "-o", str(folder), "--workers", "1", root=toy) == 0
    code, said = run("propose", "--class", str(folder), "--question", "total", "--most", "1")
    assert code == 0, said
    assert "\ntotal_first_left_out  2 submissions of the class do this; costs 2 of 3 points" in said
    (group,) = re.findall(r"^(group_\d)  1 submissions, wrong in total$", said, re.MULTILINE)
    taken = f'\n\n{group} = "of the class before this one"\n'
    mistakes, catches = toy / "solutions/toy/mistakes.py", toy / "solutions/toy/catches.toml"
    mistakes.write_text(mistakes.read_text(encoding="utf-8") + taken, encoding="utf-8")
    catches.write_text("hidden = { test_nothing_to_add = [] }\n", encoding="utf-8")
    before = sources(toy)
    code, said = run("propose", "--class", str(folder), "--accept", f"{group},hidden/test_default_scale")
    assert code == 2, said
    assert "error: nothing was written: catches.toml cannot take an entry" in said
    assert sources(toy) == before
    catches.unlink()
    code, said = run("propose", "--class", str(folder), "--accept", f"total_first_left_out,{group}")
    assert code == 0, said
    own = {one.id: one for one in load_catalogue(AssignmentFiles(toy, "toy"), "mistakes")}
    assert own["total_first_left_out"].source == own[f"{group}_2"].source == "student code"
    assert "/ 2" in own[f"{group}_2"].submission
    assert own[f"{group}_2"].hint.startswith("DRAFT:")


def test_a_solution_that_does_not_pass_proves_nothing(toy: Path, run: Propose) -> None:
    edit(toy, "solutions/toy/submitted.py", "result = 0.0", "result = 2.0")
    code, said = run("propose")
    assert code == 2
    assert "the solution does not pass visible/test_three" in said
    assert "build toy" in said


def test_checks_that_contradict_the_points_are_the_reason(toy: Path, run: Propose) -> None:
    """Catches: "a call runs into a limit" of a check that was removed without its points."""
    edit(toy, "tests/visible/test_toy.py", '@points(1, question="spread")', '@points(2, question="spread")')
    code, said = run("propose")
    assert code == 2
    assert "assignment.toml:14: spread: its visible checks are worth 2 points, but `points` says 1" in said


def test_names_depend_on_the_solution_alone(toy: Path) -> None:
    """Catches: a name that means another change after a mistake was accepted, or when one question is asked for."""
    home = AssignmentFiles(toy, "toy")
    every = {one.name: one.submission for one in make_candidates(home)}
    assert len(every) == len(set(every.values()))
    (toy / "solutions/toy/mistakes.py").unlink()
    spread = {one.name: one.submission for one in make_candidates(home, "spread")}
    assert spread
    assert spread.items() <= every.items()
    assert all("?" in one.hint and one.hint.startswith("DRAFT: ") for one in make_candidates(home))


@pytest.mark.parametrize(
    ("habit", "line", "edited"),
    [
        ("first_left_out", "for i in range(n):\n    pass", "for i in range(1, n):\n    pass"),
        ("one_too_many", "for i in range(2, n):\n    pass", "for i in range(2, n + 1):\n    pass"),
        ("last_left_out", "x = [a for a in values]", "x = [a for a in values[:-1]]"),
        ("next_element", "x = values[i]", "x = values[i + 1]"),
        ("slice_ends_early", "x = values[:n]", "x = values[:n - 1]"),
        ("boundary", "if x < n:\n    pass", "if x <= n:\n    pass"),
        ("wrong_axis", "x = values.sum(axis=-1)", "x = values.sum(axis=0)"),
        ("sign", "x = f(n)", "x = -f(n)"),
        ("detached", "x = f(n)", "x = f(n).detach()"),
        ("replaced_not_added", "x += n", "x = n"),
        ("whole_division", "x = n / 2", "x = n // 2"),
        ("exchanged_lines", "x = 1\nn = 2", "n = 2\nx = 1"),
        ("returns_in_the_loop", "for i in n:\n    x = 1\nreturn x", "for i in n:\n    x = 1\n    return x"),
        ("exchanged_results", "return x, n", "return (n, x)"),
        ("reversed", "return x", "return x[::-1]"),
        ("first_row_only", "x = f(values)", "x = f(values[:1])"),
        ("squeezed", "x = values.squeeze(1)", "x = values.squeeze()"),
        ("overwrites", "return x", "result = x\nvalues *= 0\nreturn result"),
        ("as_list", "return x", "return x.tolist()"),
    ],
)
def test_a_habit_is_an_edit(habit: str, line: str, edited: str) -> None:
    """Catches: a row of the table that changes nothing, or something else."""

    def write(body: str) -> ast.stmt:
        indented = "\n".join(f"    {each}" for each in body.splitlines())
        return ast.parse(f"def question(values, n: int):\n{indented}\n").body[0]

    definition = write(line)
    first = definition.body[0].lineno  # type: ignore[attr-defined]
    found = list_habits(
        definition, lambda node: getattr(node, "lineno", 0) >= first or isinstance(node, ast.comprehension), True
    )
    texts = [ast.unparse(ast.fix_missing_locations(one.definition)) for one in found if one.habit == habit]
    assert ast.unparse(write(edited)) in texts
    assert ast.unparse(definition) not in texts
