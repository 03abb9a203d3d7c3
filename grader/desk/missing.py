"""What to do if a package is missing where a notebook is graded. This module needs no package itself."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def explain_missing(root: str, module: str | None) -> str:
    """Return a line that names the missing module, this Python, and a command that installs the module for it.

    Args:
        root: The kit's repository, or the folder that a student has unzipped.
    """
    path = Path(root, "requirements.txt")
    how = "run `make setup`, and choose the Python in .venv as the notebook's kernel"
    if path.is_file():
        name = path.name if os.path.samefile(root, os.getcwd()) else str(path)
        quoted = f'"{name}"' if " " in name else name
        how = f"run `%pip install -r {quoted}` in a cell, then restart the kernel"
    return f"{sys.executable} has no module {module!r}; {how}"
