"""Copies of one assignment, to be broken."""

from __future__ import annotations

import shutil
from pathlib import Path

from grader.authoring.overview import write_overview

ROOT = Path(__file__).resolve().parents[2]


def copy_assignment(name: str, root: Path, *more: str) -> Path:
    """Copy an assignment of the kit, without its records, to a folder that need not exist; return this folder.

    Args:
        name: The assignment.
        root: Where the copy becomes a kit of its own, whose solution.json has this assignment alone.
        more: Other files and folders of the kit that are copied as well.
    """
    for path in (f"assignments/{name}", f"solutions/{name}", *more):
        if (ROOT / path).is_dir():
            shutil.copytree(ROOT / path, root / path, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / path, root)
    for kind in ("drivers", "views", "visible", "hidden"):
        for file in ROOT.glob(f"tests/{kind}/**/*{name}.*"):
            if file.suffix in (".py", ".json"):
                (root / file.relative_to(ROOT)).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, root / file.relative_to(ROOT))
    shutil.copy(ROOT / "utils.py", root)
    write_overview(root)
    return root
