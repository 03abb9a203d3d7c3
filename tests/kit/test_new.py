"""A new assignment: it is complete and proven, its proof can fail, and where it cannot be made nothing is left behind."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import grader.__main__
from grader.assignment import UsageError
from grader.authoring import new as module
from grader.authoring.build import BuildOptions, build
from grader.authoring.new import new, remove
from grader.proof.verify import ProofOptions, verify
from grader.report.model import write_atomically

pytestmark = pytest.mark.recorded

INPUTS = ("docs/authoring.md", "grader/authoring/example/**", "grader/sandbox/facts.py", "command:new", "command:remove")

ROOT = Path(__file__).resolve().parents[2]
NAME, TITLE = "smoothing_of_long_curves", "Smoothing " * 8  # as long as they may be, for the length of lines


OTHER = '{\n "other": {"seed": 1, "stub": {"f": "0"}, "cases": {}}\n}\n'


@pytest.fixture
def kit(tmp_path: Path) -> Path:
    """A kit with the answers of another assignment."""
    return with_another(tmp_path / "kit")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Such a kit with a new assignment, and what the command said; to be copied, not changed."""
    root = with_another(tmp_path_factory.mktemp("new") / "kit")
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(said):
        patch.setattr(sys, "argv", ["grader", "new", NAME, "--title", TITLE])
        assert grader.__main__.main(root) == 0
    return root, said.getvalue()


def with_another(root: Path) -> Path:
    for folder in ("assignments", "solutions", "tests/drivers", "tests/visible", "tests/hidden"):
        (root / folder).mkdir(parents=True)
    for path in ("solution.json", "tests/visible/answers/other.json", "tests/hidden/answers/other.json"):
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(OTHER)
    (root / "assignments" / "other").mkdir()
    (root / "assignments" / "other" / "assignment.toml").touch()
    return root


def content(root: Path) -> dict[str, bytes]:
    """Return all files below a folder, and its folders."""
    paths = [path for path in sorted(root.rglob("*")) if "__pycache__" not in path.parts]
    return {str(path.relative_to(root)): path.read_bytes() if path.is_file() else b"" for path in paths}


def faults(root: Path, **options) -> list[str]:
    return [line for line, fault in verify(root, NAME, ProofOptions(**options)) if fault]


def test_says_what_it_wrote_and_what_is_next(made: tuple[Path, str]) -> None:
    """Catches: a file that is not told, or told and not there; a command that does not name the assignment."""
    root, said = made
    changed = {path for path in content(root) if (root / path).is_file() and "other" not in path}
    assert {line.removeprefix("wrote ") for line in said.splitlines() if line.startswith("wrote ")} == changed
    assert len(changed) == 17
    for command in ("grader verify", "grade.py", "grader build"):
        assert f"python {'-m ' if 'grader' in command else ''}{command} {NAME}" in said


def test_is_up_to_date_and_proven_with_mutants(made: tuple[Path, str]) -> None:
    """Catches: an example that does not hold what the page about writing assignments promises of it."""
    root, _ = made
    assert build(root, NAME, BuildOptions(check=True)) == []
    assert faults(root) == []


def test_other_assignments_keep_their_answers(made: tuple[Path, str]) -> None:
    """Catches: answers of others lost or changed, in their own files or in the one where all can be read."""
    for suite in ("visible", "hidden"):
        assert (made[0] / "tests" / suite / "answers" / "other.json").read_text() == OTHER
    found = json.loads((made[0] / "solution.json").read_text(encoding="utf-8"))
    assert found.keys() == {"other", NAME}
    assert found["other"] == json.loads(OTHER)["other"]


def test_comes_and_goes_without_a_trace(kit: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    """Catches: a file that an assignment shares with another, or that is left when it is removed."""
    before = {path: data for path, data in content(kit).items() if (kit / path).is_file()}
    new(kit, "fine")
    assert before.items() - content(kit).items() == {("solution.json", before["solution.json"])}
    (kit / "solutions" / "fine" / "__pycache__").mkdir()
    (kit / "solutions" / "fine" / "__pycache__" / "cases.pyc").touch()
    for arguments, code, words in (
        (["fine"], 2, "pass --yes"),
        (["fines", "--yes"], 2, "there is no assignment 'fines'; there are: fine, other"),
        (["../other", "--yes"], 2, "there is no assignment"),
        (["fine", "--yes"], 0, "deleted 16 files"),
    ):
        monkeypatch.setattr(sys, "argv", ["grader", "remove", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
        assert grader.__main__.main(kit) == code
        said = capsys.readouterr()
        assert words in said.out + said.err
    assert {path: data for path, data in content(kit).items() if (kit / path).is_file()} == before


def test_files_that_name_a_removed_assignment_are_listed(
    kit: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Catches: a test of the solution and a measurement left behind without a word, one of which fails from then on."""
    (kit / "assignments" / "fine").mkdir()
    (kit / "assignments" / "fine" / "assignment.toml").touch()
    for file, text in (
        ("tests/kit/test_fine_solution.py", ""),
        ("tests/kit/test_finer.py", "finer"),
        ("benchmarks/results/fine_flake.json", "{}"),
        ("docs/page.md", "See `fine`."),
    ):
        write_atomically(kit / file, text)
    monkeypatch.setattr(sys, "argv", ["grader", "remove", "fine", "--yes"])
    assert grader.__main__.main(kit) == 0
    told = "fine is still named in these files; delete or change them by hand:\n  tests/kit/test_fine_solution.py\n"
    assert f"{told}  benchmarks/results/fine_flake.json\n  docs/page.md\n" in capsys.readouterr().out


@pytest.mark.parametrize(("said", "left"), [("y", False), ("", True), ("no", True)])
def test_asks_before_it_removes(kit: Path, said: str, left: bool) -> None:
    """Catches: work of an afternoon deleted by a slip; files deleted that were not shown."""
    (kit / "assignments" / "fine").mkdir()
    (kit / "assignments" / "fine" / "assignment.toml").write_text("unreadable")
    shown: list[Path] = []

    def agreed(files: list[Path]) -> bool:
        shown.extend(files)
        return said == "y"

    remove(kit, "fine", agreed)
    assert [path.name for path in shown] == ["assignment.toml"]
    assert (kit / "assignments" / "fine").exists() == left


def test_what_was_interrupted_can_be_finished(kit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: files that stay because their assignment is gone, in the way of a new one of the name."""
    before = {path: data for path, data in content(kit).items() if (kit / path).is_file()}
    new(kit, "fine")
    (kit / "tests" / "drivers").chmod(0o500)

    def full(path: Path, *_: object) -> None:
        raise OSError("a disk that fails")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", full)
        with pytest.raises(OSError, match="fails"):
            remove(kit, "fine", lambda _: True)
    (kit / "tests" / "drivers").chmod(0o700)
    assert remove(kit, "fine", lambda _: True)
    assert {path: data for path, data in content(kit).items() if (kit / path).is_file()} == before


def test_what_is_written_during_the_build_is_kept(kit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: somebody's file overwritten, or deleted with the rest when something fails."""
    notes = kit / "solutions" / "fine" / "notes.md"

    def slow(root: Path, name: str) -> None:
        notes.parent.mkdir()
        notes.write_text("mine")

    with monkeypatch.context() as patch:
        patch.setattr(module, "build", slow)
        with pytest.raises(UsageError, match="these files already exist: solutions/fine"):
            new(kit, "fine")
    assert notes.read_text() == "mine"


def test_an_overview_of_files_edited_by_hand_is_json(kit: Path) -> None:
    """Catches: a last newline that is missing, and a file of no assignment."""
    path = kit / "tests" / "visible" / "answers" / "other.json"
    path.write_text(OTHER.rstrip())
    path.with_name("other.old.json").write_text(OTHER)
    new(kit, "fine")
    found = json.loads((kit / "solution.json").read_text(), object_pairs_hook=lambda pairs: [key for key, _ in pairs])
    assert found == ["fine", "other"]


def test_what_python_has_compiled_is_in_nobodys_way(kit: Path) -> None:
    """Catches: a name that stays taken after `git clean`, which leaves ignored files."""
    (kit / "solutions" / "fine" / "__pycache__").mkdir(parents=True)
    assert len(new(kit, "fine")) == 17


def test_is_as_the_house_writes(made: tuple[Path, str], tmp_path: Path) -> None:
    """Catches: an author whose first `make test` fails because of lines that are not theirs."""
    root = shutil.copytree(made[0], tmp_path / "kit")
    shutil.copy(ROOT / "pyproject.toml", root)
    (root / "grader").symlink_to(ROOT / "grader")  # so that its imports are told from those of libraries
    for command in (["check"], ["format", "--check"]):
        places = ["assignments", f"solutions/{NAME}", f"tests/drivers/{NAME}.py", "tests/visible", "tests/hidden"]
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, *places, "--exclude", "test_toy.py"],
            cwd=root,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout


def test_notebook_runs_on_the_solution(made: tuple[Path, str]) -> None:
    """Catches: a cell that fails; the source of a notebook is a script, and `submitted` lies beside it."""
    folder = made[0] / "solutions" / NAME
    done = subprocess.run([sys.executable, "-B", "notebook.py"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "the last five averages" in done.stdout


@pytest.mark.parametrize(
    ("file", "old", "new", "told"),
    [
        (
            f"solutions/{NAME}/mistakes.py",
            "average = np.empty(len(values)), 0.0",
            "average = np.empty(len(values)), values[0]",
            "begins_with_zero passes every check",
        ),
        (
            f"tests/visible/test_{NAME}.py",
            "averages, rtol=1e-9, atol=1e-12",
            "lambda facts: len(facts)",
            "test_many_values is vacuous",
        ),
        (
            f"tests/visible/test_{NAME}.py",
            'only("values afterwards")',
            'only("averages")',
            "overwrites_values passes every check",
        ),
    ],
)
def test_its_proof_can_fail(made: tuple[Path, str], tmp_path: Path, file: str, old: str, new: str, told: str) -> None:
    """Catches: a proof that holds whatever an author does."""
    root = Path(shutil.copytree(made[0], tmp_path / "kit"))
    text = (root / file).read_text(encoding="utf-8")
    assert text.count(old) == 1
    (root / file).write_text(text.replace(old, new), encoding="utf-8")
    assert [line for line in faults(root, quick=True) if told in line]


def test_the_page_for_authors_is_true(made: tuple[Path, str], tmp_path: Path) -> None:
    """Catches: a worked example that an author cannot follow. Its blocks are added to the files in the order of the page."""
    root = Path(shutil.copytree(made[0], tmp_path / "kit"))
    page = (ROOT / "docs" / "authoring.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(?:toml|python)\n(.*?)```", page.partition("## From a module")[0], re.DOTALL)
    files = (
        f"assignments/{NAME}/assignment.toml",
        f"solutions/{NAME}/submitted.py",
        f"tests/drivers/{NAME}.py",
        f"solutions/{NAME}/cases.py",
        f"tests/visible/test_{NAME}.py",
        f"tests/hidden/test_{NAME}.py",
        f"solutions/{NAME}/mistakes.py",
        f"solutions/{NAME}/alternatives.py",
        f"solutions/{NAME}/mistakes.py",
    )
    for file, block in zip(files, blocks, strict=True):
        with open(root / file, "a", encoding="utf-8") as text:
            text.write(f"\n\n{block}")
    build(root, NAME)
    found = list(verify(root, NAME))
    assert [line for line, fault in found if fault] == []
    shown = re.findall(r"^ok    signals: (.*(?:mistakes|mutants).*)$", page, re.MULTILINE)
    assert len(shown) == 4
    assert set(shown) <= {line for line, _ in found}


@pytest.mark.parametrize(
    ("name", "title", "words"),
    [
        ("Smoothing", None, "use a letter"),
        ("2nd", None, "use a letter"),
        ("two-words", None, "use a letter"),
        ("../toy2", None, "use a letter"),
        ("", None, "use a letter"),
        ("x" * 25, None, "at most 24"),
        ("lambda", None, "a Python keyword"),
        ("random", None, "a module"),
        ("torch", None, "a module"),
        ("utils", None, "a module"),
        ("submitted", None, "a module"),
        ("fine", 'say "x"', "the title"),
        ("fine", "two\nlines", "the title"),
        ("fine", " ", "the title"),
    ],
)
def test_refuses_what_cannot_be(kit: Path, name: str, title: str | None, words: str) -> None:
    """Catches: a name that Python or another assignment has, which something would trip over later; anything written."""
    before = content(kit)
    with pytest.raises(UsageError, match=r"is not a valid name|the title|nothing was written") as refused:
        new(kit, name, title)
    assert words in str(refused.value)
    assert content(kit) == before


@pytest.mark.parametrize(
    "place",
    ["solutions/fine/notes.txt", "tests/hidden/test_fine.py", "tests/visible/answers/fine.json", "tests/drivers/fine.py"],
)
def test_overwrites_nothing(kit: Path, place: str) -> None:
    """Catches: somebody's notes, checks or answers replaced."""
    (kit / place).parent.mkdir(parents=True, exist_ok=True)
    (kit / place).write_text("mine")
    before = content(kit)
    with pytest.raises(UsageError, match="these files already exist") as refused:
        new(kit, "fine")
    assert place.removesuffix("/notes.txt") in str(refused.value)
    assert content(kit) == before


def test_a_second_one_of_the_name_is_refused(made: tuple[Path, str]) -> None:
    """Catches: a message that does not say what is in the way."""
    with pytest.raises(
        UsageError,
        match=f"already exist: assignments/{NAME}, solutions/{NAME}, tests/drivers/{NAME}.py, .*/answers/{NAME}.json",
    ):
        new(made[0], NAME)


def test_leaves_nothing_behind_where_it_cannot_be_built(kit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: half an assignment, which the next try would refuse to replace."""
    example = Path(shutil.copytree(module.EXAMPLE, tmp_path / "example"))
    (example / "solutions" / "NAME" / "submitted.py").write_text("# BEGIN SOLUTION get_moving_average\n")
    monkeypatch.setattr(module, "EXAMPLE", example)
    before = content(kit)
    with pytest.raises(UsageError, match=r"nothing was written, because .*has no closing"):
        new(kit, "fine")
    assert content(kit) == before


def test_leaves_nothing_behind_where_it_cannot_be_written(kit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: a full disk that leaves some of the files."""
    before = content(kit)
    count = 0

    def full(path: Path, text: str) -> None:
        nonlocal count
        count += kit in path.parents
        if count == 9:  # the last of them
            raise OSError("no space left")
        write_atomically(path, text)

    monkeypatch.setattr(module, "write_atomically", full)
    monkeypatch.setattr(module, "build", lambda root, name: [])
    with pytest.raises(OSError, match="no space left"):
        new(kit, "fine")
    assert content(kit) == before
