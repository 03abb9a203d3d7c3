"""Let pytest, and the test panels of VS Code and PyCharm, run these checks through the grader."""

import sys
from pathlib import Path

if (root := str(Path(__file__).resolve().parents[2])) not in sys.path:  # wherever pytest was started
    sys.path.insert(0, root)

from grader.desk.pytest_plugin import kit, pytest_configure, student

__all__ = ["kit", "pytest_configure", "student"]
