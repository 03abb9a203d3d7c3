"""A new assignment: the example of grader/publish/example, small, but with everything that a proven one has."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import keyword
import re
import shutil
import tempfile
from pathlib import Path

from grader.assignment import UsageError
from grader.publish.build import build
from grader.report.model import write

EXAMPLE = Path(__file__).with_name("example")
TAKEN = ("drivers", "submitted")  # what a run calls the modules of an assignment
SHARED = ("solution.json", "tests/hidden/solution.json", "tests/visible/mistakes.json", "tests/hidden/mistakes.json")


def new(root: Path, name: str, title: str | None = None) -> list[Path]:
    """Write a new assignment, build it, and return the files that are new or have a new entry.

    title: by default, the name in words. It is written and built in another place first: nothing is written here before all
    is there. Raises UsageError for a name or title that cannot be used, or if something of that name is there already.
    """
    title = name.replace("_", " ").capitalize() if title is None else title.strip()
    _require_usable(name, title)
    _require_free(root, name)
    shared = [path for path in SHARED if (root / path).is_file()]
    with tempfile.TemporaryDirectory(prefix="grader-") as folder:
        elsewhere = Path(folder)
        for path in shared:
            (elsewhere / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / path, elsewhere / path)
        for target, text in _texts(name, title).items():
            write(elsewhere / target, text)
        try:
            build(elsewhere, name)
        except UsageError as error:
            raise UsageError(f"nothing was written, because the example cannot be built here: {error}") from error
        return _brought(elsewhere, root, name)


def _require_usable(name: str, title: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,23}", name):
        raise UsageError(f"{name!r} cannot be the name: it begins with a letter, and is of a to z, 0 to 9 and _, at most 24")
    if keyword.iskeyword(name):
        raise UsageError(f"{name!r} cannot be the name: it is a word of Python")
    if name in TAKEN or importlib.util.find_spec(name) is not None:
        raise UsageError(f"{name!r} cannot be the name: it is that of a module which can be imported here")
    if not title or len(title) > 80 or not title.isprintable() or set(title) & set('"\\'):
        raise UsageError(f'the title {title!r} must be one line of at most 80 characters, without " and \\')


def _require_free(root: Path, name: str) -> None:
    folders = [f"assignments/{name}", f"solutions/{name}"]
    files = [path for path in _texts(name, "") if path.startswith("tests/")]
    found = [path for path in (*folders, *files) if (root / path).exists()]
    for shared in SHARED:
        path = root / shared
        if path.is_file() and name in json.loads(path.read_text(encoding="utf-8")):
            found.append(f"an entry in {shared}")
    if found:
        raise UsageError(f"nothing was written, because there is something of that name already: {', '.join(found)}")


def _texts(name: str, title: str) -> dict[str, str]:
    """Return the files of the example by where they belong, with name and title in their places."""
    return {
        path.relative_to(EXAMPLE).as_posix().replace("NAME", name): path.read_text(encoding="utf-8")
        .replace("NAME", name)
        .replace("TITLE", title)
        for path in sorted(EXAMPLE.rglob("*"))
        if path.suffix in (".py", ".toml")
    }


def _brought(source: Path, root: Path, name: str) -> list[Path]:
    """Write the files of one place to the other, all or none, those that were there before last; return them."""
    paths = [
        path.relative_to(source) for path in sorted(source.rglob("*")) if path.suffix in (".py", ".toml", ".ipynb", ".json")
    ]
    paths.sort(key=lambda path: path.as_posix() in SHARED)
    before = {path: (root / path).read_text(encoding="utf-8") if (root / path).is_file() else None for path in paths}
    try:
        for path in paths:
            write(root / path, (source / path).read_text(encoding="utf-8"))
    except BaseException:
        for path, text in before.items():
            if text is None:
                (root / path).unlink(missing_ok=True)
            else:
                write(root / path, text)
        for folder in ("assignments", "solutions"):
            with contextlib.suppress(OSError):
                (root / folder / name).rmdir()
        raise
    return [root / path for path in paths]
