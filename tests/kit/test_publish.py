"""What is made from solutions/: the stub and the answers; and that staleness is seen."""

from __future__ import annotations

import ast
import re
import shutil
from pathlib import Path

import pytest

from grader import answers
from grader.assignment import AssignmentFiles, UsageError
from grader.authoring.build import BuildOptions, build
from grader.authoring.recipes import load_recipes
from grader.authoring.stub import make_stub
from grader.judge.run import grade
from grader.proof import trials
from grader.proof.loss import explain_loss
from grader.proof.reply_cache import ReplyStore
from grader.report.model import Cause, Outcome
from grader.sandbox.reply import Reply
from tests.kit.copies import copy_assignment

pytestmark = pytest.mark.recorded

INPUTS = {
    "test_build_is_up_to_date": ("grading:policy_gradient", "assignments/policy_gradient/**", "solutions/policy_gradient/**"),
    "test_stub_contains_no_solution_and_is_python": ("assignments/policy_gradient/**",),
    "test_every_blank_names_its_question": ("assignments/policy_gradient/**",),
    "test_cases_depend_on_seed_and_name_alone": ("solutions/policy_gradient/cases.py",),
}

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of one of the kit's assignments, to be broken."""
    return copy_assignment("policy_gradient", tmp_path / "kit")


@pytest.fixture
def toy(built_toy: Path, tmp_path: Path) -> Path:
    """A copy of the toy, to be broken."""
    return Path(shutil.copytree(built_toy, tmp_path / "toy"))


def test_stub_contains_no_solution_and_is_python(home: AssignmentFiles) -> None:
    """A line of the solution in the stub would be a gift; a stub that does not parse a bad start."""
    stub = home.stub.read_text(encoding="utf-8")
    ast.parse(stub)
    assert "SOLUTION" not in stub
    for line in ("gather(1, action)", "torch.randperm", "mse_loss", "future_return", "loss.backward()", ".clamp("):
        assert line in (home.solution / "submitted.py").read_text(encoding="utf-8")
        assert line not in stub


def test_stubs_of_earlier_releases_are_not_started_either(built_toy: Path, tmp_path: Path) -> None:
    """Catches: a corrected docstring by which all students who unpacked the assignment before it read that they have failed."""
    root = Path(shutil.copytree(built_toy, tmp_path / "toy"))
    solution, stubs = root / "solutions/toy/submitted.py", []
    for words in ("of all values", "of all these values", "of every value"):
        solution.write_text(re.sub("of (all|all these|every) values?", words, solution.read_text()))
        build(root, "toy")
        stubs.append(AssignmentFiles(root, "toy").stub.read_text().replace('NotImplementedError("', 'ValueError("'))
    home = AssignmentFiles(root, "toy")
    assert len(set(stubs)) == 3
    for index, text in enumerate(stubs):
        path = tmp_path / f"submitted_{index}.py"
        path.write_text(text.replace("ValueError", "NotImplementedError"))
        assert {check.outcome.value for check in grade(home, path).checks} == {"not run"}


def test_every_blank_names_its_question(home: AssignmentFiles) -> None:
    """The stub's errors say which question they belong to and what to return."""
    stub = home.stub.read_text(encoding="utf-8")
    for question in home.assignment.questions:
        if not question.together and question.id != "train_policy_gradient.with_critic":
            assert f'"{question.id}: {question.task[:20]}' in stub
    assert stub.count("raise NotImplementedError") == stub.count("# YOUR CODE HERE") == 8


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("# BEGIN SOLUTION get_returns\n", "no closing line"),
        ("# END SOLUTION\n", "without a line # BEGIN SOLUTION"),
        ("# BEGIN SOLUTION nothing\n# END SOLUTION\n", "no question 'nothing'"),
        ("# BEGIN SOLUTION get_returns\n# BEGIN SOLUTION get_returns\n", "has no line # END SOLUTION before line 2"),
        (
            "# BEGIN SOLUTION get_returns\n# DRAFT\n# x = 1\ny = 2\n# END SOLUTION\n",
            "line 4: expected a comment in the draft",
        ),
    ],
)
def test_broken_markers_are_told(home: AssignmentFiles, source: str, words: str) -> None:
    """A marker that is forgotten would publish the solution, or cut too much."""
    with pytest.raises(UsageError, match=words):
        make_stub(source, home.assignment)


def test_build_is_up_to_date(copy: Path) -> None:
    """What is committed is what the solutions make; the proof of each assignment says so of solution.json as well."""
    assert build(copy, "policy_gradient", BuildOptions(check=True, mistakes=False)) == []


def test_stale_files_are_seen_and_repaired(toy: Path) -> None:
    """A changed solution with old answers would grade against the past."""
    home = AssignmentFiles(toy, "toy")
    solution, answers_file = home.solution / "submitted.py", home.answers["visible"]
    solution.write_text(solution.read_text().replace("def total(", "def total(  # changed\n    "))
    before = answers_file.read_text()
    answers_file.write_text(before.replace("3.5", "4.5", 1))
    assert answers_file.read_text() != before
    stale = build(toy, "toy", BuildOptions(check=True, mistakes=False))
    assert home.stub in stale
    assert answers_file in stale
    build(toy, "toy", BuildOptions(mistakes=False))
    assert build(toy, "toy", BuildOptions(check=True, mistakes=False)) == []


def test_new_seed_makes_new_hidden_cases_only(toy: Path) -> None:
    """A new semester gets new hidden numbers, and the students' file stays."""
    home = AssignmentFiles(toy, "toy")
    visible = (toy / "solution.json").read_text()
    path = home.answers["hidden"]
    hidden = answers.read_answers(path, "toy")
    assert build(toy, "toy", BuildOptions(seed=77, mistakes=False)) == [path]
    assert (toy / "solution.json").read_text() == visible
    renewed = answers.read_answers(path, "toy")
    name = "default_scale"
    assert renewed.cases[name].inputs != hidden.cases[name].inputs
    assert renewed.seed == 77
    report = grade(home, home.solution, ("hidden",))
    assert report.points == report.max_points


def test_cases_depend_on_seed_and_name_alone(home: AssignmentFiles) -> None:
    """A case added in the middle must not change the others."""
    recipes = {recipe.name: recipe for recipe in load_recipes(home)}
    alone = recipes["vanilla_batch"].cook(5).inputs["observation"]
    assert (alone == recipes["vanilla_batch"].cook(5).inputs["observation"]).all()
    assert not (alone == recipes["vanilla_batch"].cook(6).inputs["observation"]).any()


def test_every_case_is_used_by_a_check(home: AssignmentFiles) -> None:
    """A case that no check looks at costs time and proves nothing."""
    for suite, path in home.checks.items():
        text = path.read_text(encoding="utf-8")
        for name in answers.read_answers(home.answers[suite], "policy_gradient").cases:
            assert f'"{name}"' in text, f"{name} is not used in {path.name}"


@pytest.mark.parametrize(
    ("file", "old", "new", "told"),
    [
        (
            "solutions/toy/submitted.py",
            "BEGIN SOLUTION total",
            "BEGIN SOLUTION all",
            "submitted.py: line 6: there is no question 'all'",
        ),
        ("solutions/toy/submitted.py", "in values:", "in values", "toy/submitted.py(:.*)?: the solution is not valid Python"),
        ("solutions/toy/cases.py", "4.0]}", "4.0]", "cases.py cannot be imported: SyntaxError: .* line 6"),
        ("solutions/toy/cases.py", "rng.normal", "rgn.normal", "case many_values cannot be made: NameError: name 'rgn'"),
        ("solutions/toy/cases.py", '{"values": []}', "None", "case no_values must return a dict"),
        (
            "solutions/toy/cases.py",
            '{"values": []}',
            '{"values": {1}}',
            "case no_values cannot be passed to its driver: .* is a set",
        ),
        (
            "solutions/toy/cases.py",
            '@case("total", ',
            '@case("totl", ',
            "the driver 'totl' fails on the solution in case .* no attribute 'totl'",
        ),
        (
            "solutions/toy/cases.py",
            '{"values": []}',
            '{"values": [0.12345678901234567] * 15000}',
            "case no_values takes 3[0-9][0-9] kB of text, at most 250",
        ),
        ("tests/drivers/toy.py", "(submitted, values):", "(submitted, values)", "toy.py cannot be run: .*SyntaxError"),
        ("tests/views/toy.py", 'only("', 'onl("', "tests/views/toy.py cannot be imported: NameError: name 'onl'"),
        ("tests/visible/test_toy.py", '"many_values"', '"many_value"', "test_many cannot be run: .*did you mean 'many_values'"),
    ],
)
def test_an_authors_slip_is_told_in_a_line(built_toy: Path, tmp_path: Path, file: str, old: str, new: str, told: str) -> None:
    """A traceback through the kit's own code does not say which case, or which file."""
    root = Path(shutil.copytree(built_toy, tmp_path / "toy"))
    text = (root / file).read_text(encoding="utf-8")
    assert old in text
    (root / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(UsageError, match=told):
        build(root, "toy")


def nudged(path: Path) -> str:
    """Change the sixth digit of each number with many in a file, as another processor may; return its text."""
    text = re.sub(r"-?\d+\.\d{3,}", lambda number: f"{float(number[0]) * (1 + 4e-6):.6g}", path.read_text(encoding="utf-8"))
    path.write_text(text, encoding="utf-8")
    return text


def test_last_digits_of_another_machine_stay(toy: Path) -> None:
    """Catches: a diff of thousands of lines, and checks taken for corrected, because a build ran elsewhere."""
    spread = toy / "tests" / "visible" / "answers" / "toy.json"
    spread.write_text(spread.read_text().replace('"spread": 18.0', '"spread": 18.0000001'))
    before = {path: path.read_bytes() for path in toy.glob("tests/*/*/*.json")}
    # Something else has changed, so that both files are written.
    solution = toy / "solutions" / "toy" / "submitted.py"
    solution.write_text(solution.read_text().replace("result = 0.0", "result = 0.5"))
    moved: list[str] = []
    build(toy, "toy", BuildOptions(mistakes=False, report=moved.append))
    after = {path: path.read_bytes() for path in before}

    changed = {path.relative_to(toy).as_posix() for path in before if before[path] != after[path]}
    assert changed == {"tests/visible/answers/toy.json", "tests/hidden/answers/toy.json"}
    assert '"spread": 18.0000001' in spread.read_text()
    assert "case three_values: the answer changed in 1 of 1 numbers, by at most 0.5; used by visible/test_three" in moved
    assert not any("spread" in line for line in moved)


@pytest.mark.parametrize(
    ("tolerance", "stays"), [("", True), (", rtol=1e-3", True), (", rtol=1e-9", False), (", atol=1.0", True)]
)
def test_what_a_check_allows_stays(toy: Path, tolerance: str, stays: bool) -> None:
    """Catches: an answer rewritten within what its check allows, and one kept that its check would refuse."""
    spread = toy / "tests" / "visible" / "answers" / "toy.json"
    spread.write_text(spread.read_text().replace('"spread": 18.0', '"spread": 18.0005'))
    checks = toy / "tests" / "visible" / "test_toy.py"
    checks.write_text(
        checks.read_text().replace('student.expect("spread_of_three")', f'student.expect("spread_of_three"{tolerance})')
    )
    moved: list[str] = []
    assert (spread in build(toy, "toy", BuildOptions(mistakes=False, check=True))) == (not stays)
    build(toy, "toy", BuildOptions(mistakes=False, report=moved.append))
    assert ('"spread": 18.0005' in spread.read_text()) == stays
    assert any("case spread_of_three: the answer changed in" in line for line in moved) == (not stays)


def first_hint(catalogue: Path) -> str:
    found = re.search(r'hint="(.+?)"', catalogue.read_text())
    assert found is not None
    return found[1]


def test_what_a_mistake_shows_is_written_where_it_differs(toy: Path) -> None:
    """Catches: all numbers of the file rewritten because one mistake has another hint."""
    path = toy / "tests" / "visible" / "mistakes" / "toy.json"
    before = nudged(path)
    catalogue = toy / "solutions" / "toy" / "mistakes.py"
    hint = first_hint(catalogue)
    catalogue.write_text(catalogue.read_text().replace(hint, "Another one?", 1))
    build(toy, "toy")
    assert path.read_text() == before.replace(hint, "Another one?", 1)


def test_an_answer_that_a_check_compares_closely_is_renewed(toy: Path) -> None:
    """Catches: a number kept that agrees by default, while its own check wants more digits, at every further build."""
    checks = toy / "tests" / "visible" / "test_toy.py"
    checks.write_text(checks.read_text().replace('expect("three_values")', 'expect("three_values", rtol=1e-7)'))
    solution = toy / "solutions" / "toy" / "submitted.py"
    solution.write_text(
        solution.read_text().replace("return result", "return result * 1.00005").replace("* scale", "* scale + 1")
    )
    build(toy, "toy", BuildOptions(mistakes=False))
    home = AssignmentFiles(toy, "toy")
    assert {check.outcome.value for check in grade(home, home.solution, ("visible",)).checks} == {"passed"}


def test_what_chance_decides_about_is_renewed(toy: Path) -> None:
    """Catches: a number kept of a mistake that has become random, or a mistake that stays without evidence."""
    path = toy / "tests" / "visible" / "mistakes" / "toy.json"
    text = path.read_text()
    fixed = re.search(r'"test_three": \[\[.*?\]\]', text)
    assert fixed is not None
    path.write_text(text.replace(fixed[0], f'"test_three": "{answers.UNPREDICTABLE}"'))
    catalogue = toy / "solutions" / "toy" / "mistakes.py"
    hint = first_hint(catalogue)
    catalogue.write_text(catalogue.read_text().replace(hint, "Another one?", 1))
    build(toy, "toy")
    assert path.read_text() == text.replace(hint, "Another one?", 1)


def test_other_inputs_are_said(toy: Path) -> None:
    """Catches: a case that was changed without the author's knowledge."""
    cases = toy / "solutions" / "toy" / "cases.py"
    cases.write_text(cases.read_text().replace("[1.5, -2.0, 4.0]}", "[1.5, -2.0, 5.0]}", 1))
    moved: list[str] = []
    stale = build(toy, "toy", BuildOptions(check=True, mistakes=False, report=moved.append))
    assert stale == [toy / "tests/visible/answers/toy.json"]
    assert moved == ["case three_values has new inputs; used by visible/test_three"]


def test_a_second_build_repeats_no_call(toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: a build that tries every mistake again after a change of one hint, which takes minutes."""
    found: list[bool] = []

    class CountingStore(ReplyStore):
        def __init__(self) -> None:
            super().__init__(tmp_path / "replies.sqlite")

        def find(self, key: bytes) -> tuple[Reply, ...] | None:
            replies = super().find(key)
            found.append(replies is not None)
            return replies

    monkeypatch.setattr(trials, "ReplyStore", CountingStore)
    build(toy, "toy")
    assert found[0] is False
    found.clear()
    assert build(toy, "toy") == []
    assert found
    assert all(found)


def test_a_run_that_uses_up_its_budget_is_no_success(toy: Path) -> None:
    """Catches: a build that takes checks which were never run for passed, and overwrites all evidence with nothing."""
    home = AssignmentFiles(toy, "toy")
    report = grade(home, home.solution)
    assert explain_loss(home, report) == ""
    late, words = report.checks[-1], "the time for the whole run (5 s) was used up"
    late.outcome, late.cause, late.message = Outcome.NOT_RUN, Cause.RUN_BUDGET, words
    where = "raise limits.budget in assignments/toy/assignment.toml"
    assert explain_loss(home, report) == f"the solution does not finish: {words}; {where}"
