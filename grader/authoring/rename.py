"""Rename a question in all files of its assignment at once."""

from __future__ import annotations

import ast
import contextlib
import difflib
import keyword
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.assignment import SUITES, AssignmentFiles, UsageError
from grader.authoring.elsewhere import list_elsewhere, read_text
from grader.authoring.mentions import Naming, find_in_python, find_in_toml, means_only_one_thing, replace_spans
from grader.authoring.recipes import load_recipes
from grader.authoring.stub import make_stub
from grader.proof.catalogue import load_catalogue
from grader.proof.lines import split_lines
from grader.report.model import write_atomically

SPLICED = ("mistakes.py", "alternatives.py")  # files of solutions/NAME whose code is spliced into the submission


@dataclass(frozen=True)
class Renaming:
    """The changes for a new name.

    Attributes:
        texts: The new text of each file that changes.
        places: The number of places with the old name.
        left: Other lines with the old name as a word, which keep it: "file:line: text".
        elsewhere: Python files outside the assignment that name it and have the old name as a word, with the number of
            these lines.
    """

    texts: dict[Path, str]
    places: int
    left: list[str]
    elsewhere: dict[Path, int]

    def describe(self, root: Path) -> Iterator[str]:
        """Yield each line that changes: its place, its old text and its new text."""
        for path, text in self.texts.items():
            name, before, after = path.relative_to(root).as_posix(), _read(path).splitlines(), text.splitlines()
            for number, (old, new) in enumerate(zip(before, after, strict=True), 1):
                if old != new:
                    yield from (f"{name}:{number}", f"  - {old.strip()}", f"  + {new.strip()}")


def plan_renaming(home: AssignmentFiles, old: str, new: str) -> Renaming:
    """Return the changes of the files of an assignment when a question is renamed.

    If its function has the same name, the function is renamed, too.

    Args:
        home: The assignment.
        old: The id of a question, or the name of a function or class that questions are about.
        new: The new name.

    Raises:
        UsageError: If there is no such name, if the new one is taken or not valid, if a file cannot be read, or if the
            result could not be built.
    """
    questions = home.assignment.questions
    is_id, is_function = old in {each.id for each in questions}, old in {each.function for each in questions}
    if not (is_id or is_function):
        known = dict.fromkeys(name for each in questions for name in (each.id, each.function))
        close = difflib.get_close_matches(old, known, 1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(known)}"
        raise UsageError(f"nothing was changed: there is no question or function {old!r}; {hint}")
    files = {path: _read(path) for path in list_sources(home)}
    _require_usable(home, new, is_function)
    try:
        distinct = means_only_one_thing(old, [text for path, text in files.items() if path.suffix == ".py"])
        naming = Naming(old, is_id, is_function, distinct)
        _require_free(home, new, files, is_function)
        solution = home.solution / home.assignment.submission
        own = replace_spans(files[solution], find_in_python(files[solution], naming, holds_function=True), new)
        spans = {path: _find(home, path, text, naming, own) for path, text in files.items()}
    except SyntaxError as error:
        raise UsageError(f"nothing was changed: {_damaged(home, files)} is not valid Python: {error}") from error
    texts = {path: replace_spans(files[path], found, new) for path, found in spans.items() if found}
    _require_buildable(home, texts)
    kept = {path: texts.get(path, text) for path, text in files.items()}
    places = sum(map(len, spans.values()))
    return Renaming(texts, places, list(_list_left(home.root, kept, naming)), _count_elsewhere(home, naming))


def list_sources(home: AssignmentFiles) -> list[Path]:
    """Return the files that the author of an assignment writes, without files shared with other assignments."""
    paths = [home.folder / "assignment.toml", home.drivers, home.views, *(home.checks[suite] for suite in SUITES)]
    paths += [path for path in sorted(home.solution.glob("*")) if path.suffix in (".py", ".toml")]
    paths += [path for path in home.support() if path.suffix == ".py" and path.parent == home.folder]
    return [path for path in dict.fromkeys(paths) if path.is_file()]


def write_all(texts: dict[Path, str]) -> None:
    """Write all of these files or none."""
    with restore_after_failure(texts):
        for path, text in texts.items():
            write_atomically(path, text)


@contextlib.contextmanager
def restore_after_failure(paths: Iterable[Path]) -> Iterator[None]:
    """Give these files their old texts again, or delete the new ones, if what is done meanwhile raises an exception."""
    before = {path: _read(path) if path.is_file() else None for path in paths}
    try:
        yield
    except BaseException:
        for path, was in before.items():
            with contextlib.suppress(OSError):
                if was is None:
                    path.unlink(missing_ok=True)
                elif _read(path) != was:
                    write_atomically(path, was)
        raise


def _find(home: AssignmentFiles, path: Path, text: str, naming: Naming, solution: str) -> list[tuple[int, int]]:
    if path.suffix == ".toml":
        return find_in_toml(text, naming)
    spliced = path.parent == home.solution and path.name in (home.assignment.submission, *SPLICED)
    return find_in_python(text, naming, spliced or path.parent == home.folder, solution)


def _require_usable(home: AssignmentFiles, new: str, is_function: bool) -> None:
    if new in {each.id for each in home.assignment.questions}:
        raise UsageError(f"nothing was changed: there is a question {new!r} already")
    if is_function and (not new.isidentifier() or keyword.iskeyword(new)):
        raise UsageError(f"nothing was changed: {new!r} cannot be the name of a function in Python")
    if not re.fullmatch(r"[A-Za-z_][\w.]*", new):
        raise UsageError(f"nothing was changed: {new!r} cannot be an id; use letters, digits, _ and dots")


def _require_free(home: AssignmentFiles, new: str, files: dict[Path, str], is_function: bool) -> None:
    """Raise UsageError if a file already contains the new name, which would be confused with the renamed one."""
    for path, text in files.items():
        for node in ast.walk(ast.parse(text)) if is_function and path.suffix == ".py" else ():
            names = [getattr(node, field, None) for field in ("id", "attr", "arg", "name")]
            if new in names:
                line = getattr(node, "lineno", 1)
                raise UsageError(f"nothing was changed: the name {new!r} is taken in {_name(home.root, path)}:{line}")


def _require_buildable(home: AssignmentFiles, texts: dict[Path, str]) -> None:
    """Raise UsageError if the changed files would not be a valid assignment."""
    with tempfile.TemporaryDirectory(prefix="grader-") as folder:
        root = Path(folder)
        for path in (*list_sources(home), *home.support()):
            target = root / path.relative_to(home.root)
            target.parent.mkdir(parents=True, exist_ok=True)
            if path in texts:
                target.write_bytes(texts[path].encode())
            else:
                shutil.copyfile(path, target)
        try:
            after = AssignmentFiles(root, home.assignment.name)
            make_stub(_read(after.solution / after.assignment.submission), after.assignment)
            load_recipes(after)
            for kind in ("alternatives", "mistakes"):
                load_catalogue(after, kind)
        except (UsageError, OSError) as error:
            said = str(error).replace(f"{root}/", "")
            raise UsageError(f"nothing was changed, because the renamed files cannot be built: {said}") from error


def _list_left(root: Path, texts: dict[Path, str], naming: Naming) -> Iterator[str]:
    for path, text in texts.items():
        for number, line in enumerate(text.splitlines(), 1):
            if naming.word.search(line):
                yield f"{_name(root, path)}:{number}: {line.strip()[:100]}"


def _count_elsewhere(home: AssignmentFiles, naming: Naming) -> dict[Path, int]:
    paths = [path for path in list_elsewhere(home.root, home.assignment.name) if path.suffix == ".py"]
    counts = {path: sum(bool(naming.word.search(line)) for line in split_lines(read_text(path))) for path in paths}
    return {path: count for path, count in counts.items() if count}


def _damaged(home: AssignmentFiles, files: dict[Path, str]) -> str:
    for path, text in files.items():
        if path.suffix == ".py":
            try:
                ast.parse(text)
            except SyntaxError:
                return _name(home.root, path)
    return "a file"


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")  # with its own line endings
    except UnicodeDecodeError as error:
        raise UsageError(f"nothing was changed: {path} is not UTF-8: {error}") from error


def _name(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix()
