"""Whether what an assignment needs is installed here: in a moment, since nothing of it is imported."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

PYTHONS = ((3, 10), (3, 13))
NAME = re.compile(r"[A-Za-z0-9._-]+")


def check_install(root: Path) -> tuple[list[str], bool]:
    """Return what to print about the requirements of a released folder, or of the kit's repository, and whether all are met."""
    lines, complete = [], True
    for line, fits in (_check_python(), *map(_check_requirement, _read_requirements(root))):
        lines.append(f"{'ok     ' if fits else 'MISSING'} {line}")
        complete &= fits
    if not complete:
        lines.append(_say_what_to_do(root))
    return lines, complete


def _check_python() -> tuple[str, bool]:
    first, last = PYTHONS
    fits = first <= sys.version_info[:2] <= last
    wanted = "" if fits else f"; {first[0]}.{first[1]} to {last[0]}.{last[1]} is needed"
    return f"Python {platform.python_version()} ({sys.executable}){wanted}", fits


def _read_requirements(root: Path) -> Iterator[str]:
    released = root / "requirements.txt"
    if released.is_file():
        yield from filter(None, map(str.strip, released.read_text(encoding="utf-8").splitlines()))
        return
    found = re.search(
        r"^dependencies = \[\n(.*?)^\]", (root / "pyproject.toml").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    yield from re.findall(r'^ *"([^"]+)"', found[1] if found else "", re.MULTILINE)


def _check_requirement(requirement: str) -> tuple[str, bool]:
    """Return whether what is installed fits a line like "numpy>=1.26; python_version < '3.11'"."""
    try:
        from packaging.requirements import Requirement
    except ImportError:  # it comes with pytest, which is missing then, and is a line of its own
        name = NAME.match(requirement)
        return _find(name[0] if name else requirement, requirement)
    wanted = Requirement(requirement)
    if wanted.marker is not None and not wanted.marker.evaluate():
        return f"{wanted.name}: not needed on this system", True
    line, found = _find(wanted.name, str(wanted.specifier) or "any version")
    fits = found and wanted.specifier.contains(metadata.version(wanted.name), prereleases=True)
    return line if fits or not found else f"{line}, and {wanted.specifier} is needed", fits


def _find(name: str, wanted: str) -> tuple[str, bool]:
    try:
        return f"{name} {metadata.version(name)}", True
    except metadata.PackageNotFoundError:
        return f"{name} is not installed: {wanted}", False


def _say_what_to_do(root: Path) -> str:
    if not (root / "requirements.txt").is_file():
        return "To install what is missing: make setup"
    return f"To install what is missing: {sys.executable} -m pip install -r requirements.txt"
