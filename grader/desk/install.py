"""Check quickly whether the packages of an assignment are installed: none of them is imported.

An older Python must be able to run this module, and those that `grade.py` imports before it, to report that it is too old.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from grader.console import name_python, quote, shorten

PYTHONS = ((3, 10), (3, 13))
DOWNLOADS = "https://www.python.org/downloads/"
NAME = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True)
class Finding:
    """One line of the result.

    Attributes:
        lacks: What is missing: "python", "packages", "processor", "folder" or "" (nothing).
    """

    text: str
    lacks: str = ""

    def __str__(self) -> str:
        return f"{'MISSING' if self.lacks else 'ok     '} {self.text}"


def check_install(root: Path) -> tuple[list[str], bool]:
    """Return the lines to print about a released folder, or the kit's repository, and whether nothing is missing.

    The lines end with the commands that install what is missing.
    """
    packages = [*map(_check_requirement, _read_requirements(root))]
    found = [_check_python(), *packages, *_check_processor(packages), *_check_folders(root), _name_isolation()]
    lacks = {finding.lacks for finding in found}
    lines = dict.fromkeys(map(str, found))  # requirements with and without extras are of one package
    return [*lines, *_say_what_to_do(root, lacks)], lacks == {""}


def _check_python() -> Finding:
    first, last = PYTHONS
    said = f"Python {platform.python_version()} ({sys.executable})"
    if not first <= sys.version_info[:2] <= last:
        return Finding(f"{said}, and {first[0]}.{first[1]} to {last[0]}.{last[1]} is needed", "python")
    if sys.maxsize < 2**32:
        return Finding(f"{said} is a 32-bit Python, and PyTorch needs a 64-bit one", "python")
    return Finding(said)


def _check_processor(found: Sequence[Finding]) -> Iterator[Finding]:
    """Yield a finding if PyTorch is missing, as the other findings say, and pip has none for this processor."""
    if sys.platform != "darwin" or platform.machine() != "x86_64":
        return
    if any(finding.lacks and finding.text.startswith("torch ") for finding in found):
        yield Finding("this is a Python for Intel Macs, for which there is no PyTorch after 2.2", "processor")


def _read_requirements(root: Path) -> Iterator[str]:
    released = root / "requirements.txt"
    if released.is_file():
        lines = map(str.strip, released.read_text(encoding="utf-8").splitlines())
        yield from (line for line in lines if line and not line.startswith(("-", "#")))  # an option of pip, a comment
        return
    found = re.search(
        r"^dependencies = \[\n(.*?)^\]", (root / "pyproject.toml").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    yield from re.findall(r'^ *"([^"]+)"', found[1] if found else "", re.MULTILINE)


def _check_requirement(requirement: str) -> Finding:
    """Return whether the installed packages satisfy a line like "numpy>=1.26; python_version < '3.11'"."""
    try:
        from packaging.requirements import Requirement
    except ImportError:  # it comes with pytest, whose absence has its own line
        name = NAME.match(requirement)
        return _find(name[0] if name else requirement, requirement)
    wanted = Requirement(requirement)
    if wanted.marker is not None and not wanted.marker.evaluate():
        return Finding(f"{wanted.name}: not needed on this system")
    found = _find(wanted.name, str(wanted.specifier) or "any version")
    if found.lacks or wanted.specifier.contains(metadata.version(wanted.name), prereleases=True):
        return found
    return Finding(f"{found.text}, and {wanted.specifier} is needed", "packages")


def _find(name: str, wanted: str) -> Finding:
    try:
        return Finding(f"{name} {metadata.version(name)}")
    except metadata.PackageNotFoundError:
        return Finding(f"{name} is not installed: {wanted}", "packages")


def _check_folders(root: Path) -> Iterator[Finding]:
    for what, folder in (("this folder", str(root)), ("the folder for temporary files", tempfile.gettempdir())):
        try:
            with tempfile.TemporaryFile(dir=folder):  # tried, because a full disk or a lock shows in no mode
                pass
        except OSError as error:
            yield Finding(f"{what} is not writable ({error.strerror}): {folder}", "folder")
        else:
            yield Finding(f"{what} is writable")


def _name_isolation() -> Finding:
    """Return the highest isolation level that is possible here; grading tests which one is reached."""
    if sys.platform != "linux":
        return Finding("isolation basic: your code runs in a separate process, with the rights of any program that you run")
    if os.geteuid():
        return Finding("isolation process: your code can only use its own folder, and cannot start processes")
    return Finding("isolation full, as root")


def _say_what_to_do(root: Path, lacks: set[str]) -> Iterator[str]:
    """Yield the commands that install what is missing, one per line, to be copied."""
    if "folder" in lacks:
        yield "\nUnpack the zip in a folder in which you may write, or free some disk space."
    if "processor" in lacks:  # where no command helps
        yield "\npip cannot install PyTorch into this Python. On a Mac with an Apple processor, install Python for Apple"
        yield f"silicon from {DOWNLOADS}; on an Intel Mac, you cannot grade your work: use another computer."
        return
    if not lacks & {"python", "packages"}:
        return
    if not (root / "requirements.txt").is_file():
        yield "\nTo install what is missing, run:"
        yield "  make setup"
        return
    wanted = "{}.{}".format(*PYTHONS[1])
    python, folder = name_python(), ""
    if "python" in lacks:
        yield f"\nInstall Python {wanted}, 64-bit, from {DOWNLOADS}. Then run:"
        python, folder = f"py -{wanted}" if sys.platform == "win32" else f"python{wanted}", ".venv"
    elif _is_managed():
        yield "\nThis is the system's Python, and pip must not install into it. To create an environment of your own, run:"
        folder = ".venv"
    else:
        yield "\nTo install what is missing, run:"
    if folder:
        yield f"  {python} -m venv {folder}"
        python = str(Path(folder, "Scripts" if sys.platform == "win32" else "bin", "python"))
    elif importlib.util.find_spec("pip") is None:
        yield f"  {python} -m ensurepip"
    yield f"  {python} -m pip install -r {quote(shorten(root / 'requirements.txt'))}"
    if folder:
        yield f"and grade with it: {python} {quote(shorten(root / 'grade.py'))}"


def _is_managed() -> bool:
    """Return whether this Python belongs to the system, and refuses `pip install` (PEP 668)."""
    return sys.prefix == sys.base_prefix and Path(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED").is_file()
