"""A question gets another name in all files at once: nothing is forgotten, nothing else touched, and all or nothing happens."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.assignment import AssignmentFiles, UsageError
from grader.authoring import rename as module
from grader.authoring.build import build
from grader.authoring.inspection import inspect_assignment
from grader.authoring.rename import plan_renaming, write_all
from grader.console import GRADED, USAGE
from grader.proof.catalogue import load_catalogue
from grader.proof.mutants import make_mutants
from grader.proof.verify import ProofOptions, verify
from grader.report.model import write_atomically

pytestmark = pytest.mark.recorded

INPUTS = {
    "*": ("tests/kit/toy/**", "command:rename"),
}
ROOT = Path(__file__).resolve().parents[2]
DISTINCT = "sum_of_all"


@pytest.fixture
def toy(built_toy: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built_toy, tmp_path / "toy"))


@pytest.fixture
def distinct(toy: Path) -> Path:
    """The toy with the question `sum_of_all` in place of `total`, which is also a driver, a fact and a word."""
    write_all(plan_renaming(AssignmentFiles(toy, "toy"), "total", DISTINCT).texts)
    return toy


def read(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def plan(root: Path, old: str, new: str) -> dict[str, str]:
    changed = plan_renaming(AssignmentFiles(root, "toy"), old, new).texts
    return {path.relative_to(root).as_posix(): text for path, text in changed.items()}


def add(root: Path, file: str, text: str) -> None:
    with open(root / file, "a", encoding="utf-8") as end:
        end.write(text)


def test_what_was_renamed_is_built_and_proven(toy: Path, command_line: Callable[..., int], capfd) -> None:
    """Catches: one of the places that a person forgets, each of which costs a round of errors."""
    assert command_line("rename", "toy", "total", DISTINCT, "--apply", root=toy) == GRADED
    assert "Next: `python -m grader build toy`" in capfd.readouterr().out
    build(toy, "toy")
    assert not [line for line, fault in verify(toy, "toy", ProofOptions(quick=True)) if fault]
    assert [question.id for question in AssignmentFiles(toy, "toy").assignment.questions] == [DISTINCT, "spread", "both"]
    assert AssignmentFiles(toy, "toy").assignment.questions[2].needs == (DISTINCT, "spread")
    assert f"def {DISTINCT}(" in (toy / "assignments" / "toy" / "submitted.py").read_text()


def test_nothing_is_changed_without_apply(toy: Path, command_line: Callable[..., int], capfd) -> None:
    """Catches: a look that changes files."""
    before = read(toy)
    assert command_line("rename", "toy", "total", DISTINCT, root=toy) == GRADED
    said = capfd.readouterr().out
    assert "files; nothing is changed yet: add --apply" in said
    assert 'assignments/toy/assignment.toml:7\n  - id = "total"\n  + id = "sum_of_all"\n' in said
    assert "total stays in these lines, where it means something else:" in said
    assert read(toy) == before


def test_files_outside_the_assignment_are_named(toy: Path, command_line: Callable[..., int], capfd) -> None:
    """Catches: a test of the solution that keeps the old name, without a word."""
    (toy / "tests" / "kit").mkdir()
    (toy / "tests" / "kit" / "test_toy_solution.py").write_text("def test():\n    assert load().total([]) == 0\n")
    (toy / "tests" / "kit" / "test_other.py").write_text("total = 1\n")
    assert command_line("rename", "toy", "total", DISTINCT, root=toy) == GRADED
    told = "total also occurs in these files, which name toy; change them by hand:\n  tests/kit/test_toy_solution.py (1 line)\n"
    said = capfd.readouterr().out
    assert told in said
    assert "test_other" not in said


def test_a_word_is_renamed_only_where_it_is_the_question(toy: Path) -> None:
    """Catches: a driver, a fact, a variable, a library's attribute or an English word that is taken for the question."""
    add(toy, "solutions/toy/submitted.py", "\n\ndef helper(values):\n    total = values.total()\n    return total\n")
    add(toy, "tests/drivers/toy.py", "\n\ndef other(submitted):\n    return {'total': getattr(submitted, 'total')([1])}\n")
    texts = plan(toy, "total", "aggregate")
    assert "    total = values.total()\n    return total\n" in texts["solutions/toy/submitted.py"]
    assert "def aggregate(" in texts["solutions/toy/submitted.py"]
    assert 'def total(submitted, values):\n    return {"total": submitted.aggregate(values)}' in texts["tests/drivers/toy.py"]
    assert "{'total': getattr(submitted, 'aggregate')([1])}" in texts["tests/drivers/toy.py"]
    assert '@case("total", question="aggregate")' in texts["solutions/toy/cases.py"]
    assert "tests/views/toy.py" not in texts


def test_a_name_of_one_meaning_is_renamed_everywhere(distinct: Path) -> None:
    """Catches: prose, an edit of a mistake, a mutant that may survive or a cell of the notebook that keeps the old name."""
    add(
        distinct,
        "solutions/toy/notebook.py",
        '# %%\nprint(f"{submitted.sum_of_all([1])}")\n\n# %% [markdown]\n# Call `sum_of_all`.\n',
    )
    add(
        distinct,
        "solutions/toy/survivors.toml",
        '[[survivor]]\nquestion = "sum_of_all"\nchange = "sum_of_all(x) -> 0"\nreason = "as sum_of_all"\nequivalent = true\n',
    )
    add(distinct, "solutions/toy/submitted.py", "\n\ndef twice(values):\n    return 2 * sum_of_all(values)  # see sum_of_all\n")
    texts = plan(distinct, DISTINCT, "add_up")
    for file, text in texts.items():
        assert DISTINCT not in text, file
    assert {Path(file).name for file in texts} >= {"notebook.py", "survivors.toml", "submitted.py", "assignment.toml", "toy.py"}


def test_other_words_that_hold_the_name_stay(distinct: Path) -> None:
    """Catches: a search and replace that does not know where a name ends."""
    more = "\n\ndef sum_of_all_squares(values):\n    not_sum_of_all = 1\n    return not_sum_of_all\n"
    add(distinct, "solutions/toy/submitted.py", more)
    assert plan(distinct, DISTINCT, "add_up")["solutions/toy/submitted.py"].endswith(more)


def test_an_id_that_is_no_function_leaves_code_alone(toy: Path) -> None:
    """Catches: a driver of the id's name renamed with it, so that its cases are no longer found."""
    texts = plan(toy, "both", "both_at_work")
    assert '@case("together", question="both_at_work")' in texts["solutions/toy/cases.py"]
    assert 'function = "total"' in texts["assignments/toy/assignment.toml"]
    assert set(texts) == {"assignments/toy/assignment.toml", "solutions/toy/cases.py", "tests/visible/test_toy.py"}


def test_ids_that_begin_with_the_function_go_along(toy: Path) -> None:
    """Catches: `Model.forward` without a Model, when the class is renamed."""
    for path in (*toy.rglob("*.py"), toy / "assignments" / "toy" / "assignment.toml"):
        text = path.read_text(encoding="utf-8")
        for before, after in (('id = "total"', 'id = "total.all"'), ('needs = ["total"', 'needs = ["total.all"')):
            text = text.replace(before, after)
        for before in ('question="total"', 'mistake("total"', 'alternative("total"'):
            text = text.replace(before, before[:-1] + '.all"')
        path.write_text(text.replace("BEGIN SOLUTION total", "BEGIN SOLUTION total.all"), encoding="utf-8")
    write_all(plan_renaming(AssignmentFiles(toy, "toy"), "total", DISTINCT).texts)
    build(toy, "toy")
    assert AssignmentFiles(toy, "toy").assignment.questions[0].id == f"{DISTINCT}.all"


def test_line_ends_stay(toy: Path) -> None:
    """Catches: every line of a file changed on Windows, for one name."""
    path = toy / "solutions" / "toy" / "cases.py"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    text = plan(toy, "total", DISTINCT)["solutions/toy/cases.py"]
    assert text.count("\r\n") == text.count("\n") > 20


@pytest.mark.parametrize("odd", ["\f", "# pasted\u2028", "# old\x85"])
def test_characters_that_end_no_line_of_python_shift_nothing(toy: Path, odd: str) -> None:
    """Catches: the letters before a name replaced, after a form feed or a pasted line separator; mistakes cut out elsewhere."""
    for name in ("submitted.py", "mistakes.py", "cases.py"):
        path = toy / "solutions" / "toy" / name
        path.write_text(f"{odd}\n{path.read_text()}", encoding="utf-8")
    before = plan_renaming(AssignmentFiles(toy, "toy"), "total", DISTINCT)
    assert "def sum_of_all(values: list[float]) -> float:" in before.texts[toy / "solutions" / "toy" / "submitted.py"]
    assert '\n@case("total", question="sum_of_all")\n' in before.texts[toy / "solutions" / "toy" / "cases.py"]
    write_all(before.texts)
    assert inspect_assignment(toy, "toy", stale=False) == []
    home = AssignmentFiles(toy, "toy")
    changed = [mistake.submission for mistake in load_catalogue(home, "mistakes")]
    for submission in [*changed, *(mutant.submission for mutant in make_mutants(home))]:
        assert "\ndef spread(" in submission
        compile(submission, "submitted.py", "exec")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("totl", "x", "there is no question or function 'totl'; did you mean 'total'?"),
        ("total", "spread", "there is a question 'spread' already"),
        ("total", "values", "the name 'values' is taken in"),
        ("total", "two words", "cannot be the name of a function"),
        ("total", "lambda", "cannot be the name of a function"),
        ("total", "", "cannot be the name of a function"),
        ("total", "a.b", "cannot be the name of a function"),
        ("both", "2", "cannot be an id"),
        ("both", "total", "there is a question 'total' already"),
    ],
)
def test_names_that_cannot_be_are_refused(toy: Path, old: str, new: str, words: str) -> None:
    """Catches: an assignment in which two things have one name, or a name that Python does not take."""
    before = read(toy)
    with pytest.raises(UsageError, match="nothing was changed") as refused:
        plan(toy, old, new)
    assert words in str(refused.value)
    assert read(toy) == before


def test_what_could_not_be_built_is_not_written(toy: Path, command_line: Callable[..., int], capfd) -> None:
    """Catches: half of a renaming, on top of a slip that was there before."""
    path = toy / "solutions" / "toy" / "mistakes.py"
    path.write_text(path.read_text().replace('@mistake("total", hint="Which', '@mistake("totals", hint="Which'))
    before = read(toy)
    assert command_line("rename", "toy", "total", DISTINCT, "--apply", root=toy) == USAGE
    assert (
        "renamed files cannot be built: mistakes.py: last_value_left_out: there is no question 'totals'"
        in capfd.readouterr().err
    )
    path.write_text("def (:\n")
    before = read(toy)
    assert command_line("rename", "toy", "total", DISTINCT, "--apply", root=toy) == USAGE
    assert "solutions/toy/mistakes.py is not valid Python" in capfd.readouterr().err
    assert read(toy) == before


def test_a_disk_that_fails_leaves_all_as_it_was(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: three of seven files renamed."""
    before, count = read(toy), 0

    def failing(path: Path, text: str) -> None:
        nonlocal count
        count += 1
        if count == 4:
            raise OSError("no space left")
        write_atomically(path, text)

    monkeypatch.setattr(module, "write_atomically", failing)
    with pytest.raises(OSError, match="no space left"):
        write_all(plan_renaming(AssignmentFiles(toy, "toy"), "total", DISTINCT).texts)
    assert count > 4
    assert read(toy) == before
