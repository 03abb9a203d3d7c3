"""Damaged and dangerous files for every command that reads one, and outputs that must not be written: a sentence each."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import unicodedata
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.console import GRADED, GRADER_ERROR, USAGE

pytestmark = pytest.mark.recorded

INPUTS = {
    "*": ("tests/kit/toy/**", "assignments/*/assignment.toml"),
    "test_what_is_read_may_be_anything": ("command:{command}",),
    "test_what_is_read_of_a_class_may_be_anything": ("command:course", "command:regrade"),
    "test_a_zip_may_hold_anything": ("command:{command}",),
    "test_what_must_not_be_overwritten_is_refused_at_once": ("command:grade", "command:verify"),
    "test_results_are_not_written_into_what_is_no_folder": ("command:{command}",),
    "test_an_assignment_names_files_of_its_own_folder": ("command:build",),
    "test_a_given_file_is_no_link_to_elsewhere": ("command:grade",),
    "test_names_of_students_stay_text_on_the_terminal": ("command:course", "command:regrade"),
}
SECONDS = 60
SOLUTION = "solutions/toy/submitted.py"


def link_to(target: str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(target)


def write(content: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(content)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": write(b""),
    "null bytes": write(bytes(64)),
    "not UTF-8": write(b'a = "\xff\xfe"\n'),
    "UTF-16": write("a = 1\n".encode("utf-16")),
    "a lone surrogate": write(rb'{"a": "\ud800"}'),
    "deep lists": write(b"[" * 100_000),
    "deep objects": write(b'{"a":' * 100_000),
    "deep TOML": write(b"a = " + b"[" * 100_000),
    "words": write(b"this is no data\n"),
    "a number": write(b"7"),
    "a list": write(b"[]"),
    "null": write(b"null"),
    "an object of nothing": write(b"{}"),
    "an object of much": write(json.dumps({str(key): key for key in range(10_000)}).encode()),
    "a huge number": write(b'{"schema_version": 1' + b"0" * 5000 + b"}"),
    "a later format": write(b'{"schema_version": 999, "format": 999}'),
    "not a number": write(b'{"a": NaN, "b": Infinity}'),
    "keys twice": write(b"a = 1\na = 2\n"),
    "control characters": write(b'{"a": "\x1b[2J\x07"}'),
    "a folder": lambda path: path.mkdir(),
    "a pipe": os.mkfifo,
    "a device without end": link_to("/dev/zero"),
    "a link to nothing": link_to("nothing"),
    "a link to itself": lambda path: path.symlink_to(path.name),
}
ZIP = {
    "a zip of nothing": {},
    "a zip of a path above": {"../submitted.py": "x = 1"},
    "a zip of a path from the root": {"/etc/submitted.py": "x = 1"},
    "a zip of two": {"a/submitted.py": "x = 1", "b/submitted.py": "x = 2"},
    "a zip in a zip": {"a.zip": "PK"},
    "a zip of words": {"readme.txt": "x"},
}


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """Fail where something waits for ever, as for the other end of a pipe."""

    def hang(*_: object) -> None:
        raise AssertionError(f"it hangs: nothing came of it in {SECONDS} s")

    before = signal.signal(signal.SIGALRM, hang)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture
def toy(built_toy: Path, tmp_path: Path) -> Path:
    """A copy of the built toy that a test may damage, with the export of a class of one in `export`."""
    root = Path(shutil.copytree(built_toy, tmp_path / "toy"))
    (root / "export").mkdir()
    shutil.copy(root / SOLUTION, root / "export" / "ada.py")
    (root / "late.toml").write_text('[late]\nextensions_file = "extensions.csv"\n')
    return root


@pytest.fixture(scope="module")
def folder_of_the_class(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("graded") / "class"


@pytest.fixture
def graded_toy(toy: Path, folder_of_the_class: Path, command_line: Callable[..., int]) -> Path:
    """Such a copy with the results of that class in `class`; it is graded when the first test needs it."""
    if not folder_of_the_class.exists():
        assert command_line("course", "toy", str(toy / "export"), "-o", str(folder_of_the_class), root=toy) == 0
    shutil.copytree(folder_of_the_class, toy / "class")
    return toy


def replace(path: Path, damage: str) -> None:
    path.unlink(missing_ok=True)
    DAMAGES[damage](path)


def ends_well(run: Callable[[], int], capfd: pytest.CaptureFixture[str], *allowed: int) -> None:
    """Require that a command ends with one of these exit codes, and one sentence that says why it did nothing."""
    with limited():
        code = run()
    output = capfd.readouterr()
    assert code in allowed
    assert "Traceback" not in output.out + output.err
    if code == USAGE:
        said = [line for line in output.err.splitlines() if line.startswith("error: ")]
        assert len(said) == 1
        assert len(said[0]) > len("error: ") + 10
        assert "\x1b[2J" not in said[0]


CLASS_READERS = {
    "a policy that only scores": ("policy.toml", ("regrade", "{toy}/class", "--policy", "{toy}/policy.toml")),
    "a table of extensions": ("extensions.csv", ("regrade", "{toy}/class", "--policy", "{toy}/late.toml")),
    "the course": ("class/course.json", ("regrade", "{toy}/class")),
    "a result": ("class/results/{result}", ("regrade", "{toy}/class")),
}
READERS = {
    "a policy": ("policy.toml", ("course", "toy", "{toy}/export", "-o", "{toy}/new", "--policy", "{toy}/policy.toml")),
    "the description of an assignment": ("assignments/toy/assignment.toml", ("grade", "toy", "{toy}/" + SOLUTION)),
    "stored answers": ("tests/visible/answers/toy.json", ("grade", "toy", "{toy}/" + SOLUTION)),
    "stored mistakes": ("tests/hidden/mistakes/toy.json", ("grade", "toy", "{toy}/" + SOLUTION)),
    "a class description": ("export/submission_metadata.yml", ("course", "toy", "{toy}/export", "-o", "{toy}/new")),
    "an export": ("one.zip", ("course", "toy", "{toy}/one.zip", "-o", "{toy}/new")),
    "a submission in a zip": ("one.zip", ("grade", "toy", "{toy}/one.zip")),
    "a notebook": ("one.ipynb", ("grade", "toy", "{toy}/one.ipynb")),
    "a submission": ("one.py", ("grade", "toy", "{toy}/one.py")),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize(("command", "reader"), [(words[0], reader) for reader, (_, words) in READERS.items()])
def test_what_is_read_may_be_anything(
    toy: Path, command_line: Callable[..., int], capfd: pytest.CaptureFixture[str], command: str, reader: str, damage: str
) -> None:
    """Catches: a traceback, a hang, or the exit code of something else, for a file that is damaged or not even a file."""
    file, words = READERS[reader]
    replace(toy / file, damage)
    ends_well(lambda: command_line(*(word.format(toy=toy) for word in words), root=toy), capfd, GRADED, USAGE, GRADER_ERROR)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("reader", CLASS_READERS)
def test_what_is_read_of_a_class_may_be_anything(
    graded_toy: Path, command_line: Callable[..., int], capfd: pytest.CaptureFixture[str], reader: str, damage: str
) -> None:
    """Catches the same of what `course` wrote, and of what is read beside it."""
    file, words = CLASS_READERS[reader]
    names = {"toy": str(graded_toy), "result": next(path.name for path in (graded_toy / "class/results").glob("*.json"))}
    replace(graded_toy / file.format(**names), damage)
    ends_well(
        lambda: command_line(*(word.format(**names) for word in words), root=graded_toy), capfd, GRADED, USAGE, GRADER_ERROR
    )


ESCAPES = "Eve \x1b[2J\x07\x9b1m\u202egnp\nwrote all.json"


def test_names_of_students_stay_text_on_the_terminal(
    toy: Path, command_line: Callable[..., int], capfd: pytest.CaptureFixture[str]
) -> None:
    """Catches: a name, an id or a file's name that clears the screen, turns the text round or adds a line of its own."""
    shutil.rmtree(toy / "export")
    folder = toy / "export" / "submission_1"
    folder.mkdir(parents=True)
    (toy / "export" / ESCAPES).write_text("x")
    people = [{":name": ESCAPES, ":sid": ESCAPES, ":email": ESCAPES}]
    (toy / "export" / "submission_metadata.yml").write_text(json.dumps({"submission_1": {":submitters": people}}))
    said = []
    for text in ("wrong = 1\n", (toy / SOLUTION).read_text()):
        (folder / "submitted.py").write_text(text)
        assert command_line("course", "toy", str(toy / "export"), "-o", str(toy / "new"), root=toy) == GRADED
        output = capfd.readouterr()
        said += (output.out + output.err).splitlines()
    assert any("Eve \\x1b[2J" in line and "->" in line for line in said), "nobody was named"
    assert not [line for line in said if line.startswith("wrote all")]
    assert not [sign for line in said for sign in line if unicodedata.category(sign) in ("Cc", "Cf")]


@pytest.mark.parametrize("content", ZIP)
@pytest.mark.parametrize(("command", "words"), [("grade", ("toy",)), ("course", ("toy", "-o", "{toy}/new"))])
def test_a_zip_may_hold_anything(
    toy: Path,
    command_line: Callable[..., int],
    capfd: pytest.CaptureFixture[str],
    content: str,
    command: str,
    words: tuple[str, ...],
) -> None:
    """Catches: a file outside of the archive's own place, and a traceback."""
    with zipfile.ZipFile(toy / "one.zip", "w") as archive:
        for name, text in ZIP[content].items():
            archive.writestr(name, text)
    arguments = [word.format(toy=toy) for word in words]
    ends_well(lambda: command_line(command, *arguments, str(toy / "one.zip"), root=toy), capfd, USAGE, GRADED)


OUTPUTS: dict[str, Callable[[Path], Path]] = {
    "a folder": lambda toy: toy,
    "a device": lambda _: Path("/dev/full"),
    "a link to a device": lambda toy: _made(toy / "link", link_to("/dev/null")),
    "a pipe": lambda toy: _made(toy / "pipe", os.mkfifo),
    "below a file": lambda toy: toy / SOLUTION / "report",
    "a name that is too long": lambda toy: toy / ("a" * 300),
    "a link to itself": lambda toy: _made(toy / "loop", lambda path: path.symlink_to("loop")),
    "where nothing can be written": lambda _: Path("/proc/report.json"),
    "the submission": lambda toy: toy / SOLUTION,
    "the submission by another name": lambda toy: _made(toy / "other", link_to(SOLUTION)),
    "a file of the kit": lambda toy: toy / "assignments/toy/assignment.toml",
    "somebody's notebook": lambda toy: _made(toy / "work.ipynb", write(b"{}")),
}
WRITERS = {
    "grade": ("grader", "grade", "toy", "{toy}/" + SOLUTION, "-o", "{output}"),
    "grade as a page": ("grader", "grade", "toy", "{toy}/" + SOLUTION, "--format", "html", "-o", "{output}"),
    "verify": ("grader", "verify", "toy", "--html", "{output}"),
    "grade.py --json": ("grade.py", "--submission", "{toy}/" + SOLUTION, "--json", "{output}"),
    "grade.py --html": ("grade.py", "--submission", "{toy}/" + SOLUTION, "--html", "{output}"),
}
FOLDER_WRITERS = {
    "course": ("course", "toy", "{toy}/export", "-o", "{output}"),
    "release": ("release", "toy", "-o", "{output}"),
    "gradescope": ("gradescope", "toy", "-o", "{output}"),
    "prairielearn": ("prairielearn", "toy", "-o", "{output}"),
    "autolab": ("autolab", "toy", "-o", "{output}"),
    "classroom": ("classroom", "toy", "-o", "{output}"),
}
NO_FOLDERS = (
    "a device",
    "a link to a device",
    "a pipe",
    "a name that is too long",
    "the submission",
    "a file of the kit",
)


def _made(path: Path, make: Callable[[Path], object]) -> Path:
    make(path)
    return path


def read_all(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts}


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("writer", WRITERS)
def test_what_must_not_be_overwritten_is_refused_at_once(
    toy: Path,
    command_line: Callable[..., int],
    grade_py: Callable[..., int],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    writer: str,
    output: str,
) -> None:
    """Catches: a student's work, or a device, replaced by a report; a minute of grading whose report nobody can read."""
    path = OUTPUTS[output](toy)
    before = read_all(toy)
    program, *words = (word.format(toy=toy, output=path) for word in WRITERS[writer])
    monkeypatch.setattr("grader.judge.run.Grader.take", lambda *_, **__: pytest.fail("it began to grade"))
    run = {"grade.py": grade_py, "grader": command_line}[program]
    ends_well(lambda: run(*words, root=toy), capfd, USAGE)
    assert read_all(toy) == before
    assert not Path("/dev/full").is_file()


@pytest.mark.parametrize("output", NO_FOLDERS)
@pytest.mark.parametrize("command", FOLDER_WRITERS)
def test_results_are_not_written_into_what_is_no_folder(
    toy: Path, command_line: Callable[..., int], capfd: pytest.CaptureFixture[str], command: str, output: str
) -> None:
    """Catches: a traceback after minutes, for a name that could have been looked at before."""
    path = OUTPUTS[output](toy)
    before = read_all(toy)
    words = [word.format(toy=toy, output=path) for word in FOLDER_WRITERS[command]]
    ends_well(lambda: command_line(*words, root=toy), capfd, USAGE)
    assert read_all(toy) == before


@pytest.mark.parametrize(
    ("field", "name"),
    [("submission", "../../x.py"), ("submission", "/tmp/x.py"), ("submission", "x.txt"), ("support", "../other/x.py")],
)
def test_an_assignment_names_files_of_its_own_folder(
    toy: Path, command_line: Callable[..., int], capfd: pytest.CaptureFixture[str], field: str, name: str
) -> None:
    """Catches: `build` writes, and `package` takes along, whatever file of the machine an assignment.toml names."""
    toml, line = toy / "assignments" / "toy" / "assignment.toml", 'submission = "submitted.py"\n'
    other = f'submission = "{name}"\n' if field == "submission" else f'{line}support = ["{name}"]\n'
    toml.write_text(toml.read_text().replace(line, other))
    ends_well(lambda: command_line("build", "toy", root=toy), capfd, USAGE)
    assert list(toy.parent.glob("*.py")) == []


@pytest.mark.parametrize("name", ["helper.py", "submitted.py"])
def test_a_given_file_is_no_link_to_elsewhere(
    toy: Path, command_line: Callable[..., int], capfd: pytest.CaptureFixture[str], name: str
) -> None:
    """Catches: a file of the machine that `release` takes along, and submissions can read, because a link leads to it."""
    (toy.parent / "secret.py").write_text("KEY = 1\n")
    path = toy / "assignments" / "toy" / name
    path.unlink(missing_ok=True)
    path.symlink_to(toy.parent / "secret.py")
    toml, line = toy / "assignments" / "toy" / "assignment.toml", 'submission = "submitted.py"\n'
    toml.write_text(toml.read_text().replace(line, f'{line}support = ["helper.py"]\n'))
    ends_well(lambda: command_line("grade", "toy", str(toy / SOLUTION), root=toy), capfd, USAGE)
