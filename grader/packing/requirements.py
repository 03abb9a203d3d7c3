"""requirements.txt: the packages that grading an assignment needs."""

from __future__ import annotations

import re
import sys

from grader.assignment import AssignmentFiles

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# Packages that an assignment may do without, by what its files import where it needs them.
OPTIONAL = {"torch": r"(torch|grader\.sandbox\.facts)", "gymnasium": "gym(nasium)?"}
CPU_INDEX = "https://download.pytorch.org/whl/cpu"  # the index with CPU builds of PyTorch, without gigabytes of CUDA


def render_requirements(home: AssignmentFiles, desk: bool) -> str:
    """Return requirements.txt: what pyproject.toml and the assignment say that grading needs, with `desk` a student's desk.

    At a desk pip is also given the index of PyTorch's CPU builds, which it then prefers: 2.13.0+cpu is later than 2.13.0, and
    within the same range. torch and gymnasium are left out if no file of the assignment imports them.
    """
    project = tomllib.loads((home.root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    desks = project["optional-dependencies"]["desk"] if desk else []
    unused = [name for name, pattern in OPTIONAL.items() if not imports_package(home, pattern)]
    options = [f"--extra-index-url {CPU_INDEX}"] if desk and "torch" not in unused else []
    needed = [each for each in project["dependencies"] if not each.startswith(tuple(unused))]
    return "\n".join([*options, *needed, *home.assignment.requirements, *desks]) + "\n"


def needs_torch(home: AssignmentFiles) -> bool:
    """Return whether grading the assignment needs torch."""
    return imports_package(home, OPTIONAL["torch"])


def imports_package(home: AssignmentFiles, pattern: str) -> bool:
    """Return whether a Python file of the assignment, or its solution, imports a package.

    Args:
        pattern: A regular expression for its name.
    """
    paths = [home.drivers, home.views, *home.checks.values(), *home.support(), *home.solution.glob("*.py"), home.stub]
    texts = (path.read_text(encoding="utf-8") for path in paths if path.is_file() and path.suffix == ".py")
    return any(re.search(rf"^\s*(from|import)\b.*\b{pattern}\b", text, re.MULTILINE) for text in texts)
