"""Create and remove assignments.

A new assignment is the example, which is small but complete and proven, or a first draft from a solution that exists.
"""

from __future__ import annotations

import contextlib
import importlib.util
import keyword
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from grader.assignment import SUITES, UsageError, list_assignments
from grader.authoring.build import build
from grader.authoring.firstdraft import write_draft
from grader.authoring.overview import write_overview
from grader.report.model import write_atomically

EXAMPLE = Path(__file__).with_name("example")
TAKEN = ("drivers", "submitted", "views")  # what a run calls the modules of an assignment
PLACES = (
    "solutions/{name}",
    "tests/drivers/{name}.py",
    "tests/views/{name}.py",
    *(f"tests/{suite}/test_{{name}}.py" for suite in SUITES),
    *(f"tests/{suite}/{kind}/{{name}}.json" for suite in SUITES for kind in ("answers", "mistakes")),
    "tests/proof/{name}.jsonl",
    "assignments/{name}",  # the last to be deleted, so that the rest can be deleted later
)
"""Where the files of an assignment lie, which are its own."""


def new(
    root: Path,
    name: str,
    title: str | None = None,
    source: Path | None = None,
    report: Callable[[str], object] = lambda _: None,
) -> list[Path]:
    """Write a new assignment, build it, and return its files.

    It is written and built in a temporary folder first: nothing is written here before everything is complete.

    Args:
        root: The kit's folder.
        name: What files and commands call it.
        title: What students call it; by default, the name in words.
        source: A solution to make it from; without one, it is the example.
        report: Is passed what an author has to know of a draft, a line each.

    Raises:
        UsageError: For a name, title or solution that cannot be used, or if something of that name is there already.
    """
    title = name.replace("_", " ").capitalize() if title is None else title.strip()
    _require_usable(name, title, source)
    _require_free(root, name)
    with tempfile.TemporaryDirectory(prefix="grader-") as folder:
        elsewhere = Path(folder)
        try:
            if source is not None:
                write_draft(elsewhere, name, title, source, report)
            else:
                for target, text in _texts(name, title).items():
                    write_atomically(elsewhere / target, text)
            build(elsewhere, name)
        except UsageError as error:
            what = "the example cannot be built here" if source is None else "no assignment can be made of it"
            raise UsageError(f"nothing was written, because {what}: {error}") from error
        files = _files(_places(elsewhere, name))
        paths = [root / file.relative_to(elsewhere) for file in files]
        _require_free(root, name)  # what was written here during the build is somebody's
        try:
            for file, path in zip(files, paths, strict=True):
                write_atomically(path, file.read_text(encoding="utf-8"))
            return paths + write_overview(root)
        except BaseException:
            for path in paths:
                path.unlink(missing_ok=True)
            for folder in ("assignments", "solutions"):
                with contextlib.suppress(OSError):  # it is not there, or holds something else
                    (root / folder / name).rmdir()
            raise


def remove(root: Path, name: str, agreed: Callable[[list[Path]], bool]) -> list[Path]:
    """Delete all files of an assignment and return them; none if that is not agreed to.

    Args:
        root: The kit's folder.
        name: The assignment.
        agreed: Is passed the files that would be deleted.

    Raises:
        UsageError: If there is no such assignment.
    """
    if name not in list_assignments(root):
        raise UsageError(f"there is no assignment {name!r}; there are: {', '.join(list_assignments(root)) or '(none found)'}")
    files = _files(_places(root, name))
    if not agreed(files):
        return []
    _delete(root, name)
    (root / ".cache" / "proofs" / f"{name}.json").unlink(missing_ok=True)  # what `verify` noted (proof/standing.py)
    write_overview(root)
    return files


def _require_free(root: Path, name: str) -> None:
    if found := [path.relative_to(root).as_posix() for path in _places(root, name) if _files([path])]:
        names = ", ".join(sorted(found))
        removes = f", or run `python -m grader remove {name}`" if name in list_assignments(root) else ""
        raise UsageError(f"nothing was written: these files already exist: {names}; choose another name{removes}")


def _places(root: Path, name: str) -> list[Path]:
    """Return those files and folders of an assignment that are there."""
    return [path for path in (root / place.format(name=name) for place in PLACES) if path.exists()]


def _files(places: list[Path]) -> list[Path]:
    """Return these files, and those in these folders but what Python has compiled."""
    found = [path for place in places for path in ([place] if place.is_file() else sorted(place.rglob("*")))]
    return [path for path in found if path.is_file() and "__pycache__" not in path.parts]


def _delete(root: Path, name: str) -> None:
    for path in _places(root, name):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _require_usable(name: str, title: str, source: Path | None) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,23}", name):
        raise UsageError(f"{name!r} is not a valid name: use a letter, then a to z, 0 to 9 or _, at most 24 characters")
    if keyword.iskeyword(name):
        raise UsageError(f"{name!r} is not a valid name: it is a Python keyword")
    found = importlib.util.find_spec(name)
    own = found is not None and found.origin and source is not None and Path(found.origin).resolve() == source.resolve()
    if name in TAKEN or (found is not None and not own):
        raise UsageError(f"{name!r} is not a valid name: a module with this name can be imported here")
    if not title or len(title) > 80 or not title.isprintable() or set(title) & set('"\\'):
        raise UsageError(f'the title {title!r} must be one line of at most 80 characters, without " and \\')


def _texts(name: str, title: str) -> dict[str, str]:
    """Return the files of the example by where they belong, with name and title in their places."""
    return {
        path.relative_to(EXAMPLE).as_posix().replace("NAME", name): path.read_text(encoding="utf-8")
        .replace("NAME", name)
        .replace("TITLE", title)
        for path in sorted(EXAMPLE.rglob("*"))
        if path.suffix in (".py", ".toml")
    }
