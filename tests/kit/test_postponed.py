"""What most submissions import for pictures is imported only when they draw: nothing may notice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

INPUTS = ("grader/sandbox/worker.py",)

ROOT = Path(__file__).resolve().parents[2]
BEFORE = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
os.environ["MPLBACKEND"] = "Agg"
import numpy
from grader.sandbox import worker
worker.import_matplotlib_lazily()
"""


def run(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", BEFORE + code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_nothing_is_imported_for_nothing() -> None:
    """Catches: half a second for each call of a file that never draws; modules that answer what no module is asked."""
    run(
        "import matplotlib.pyplot as plt, inspect\n"
        "inspect.getmodule(inspect.currentframe())\n"
        "assert not any(name.startswith('matplotlib.') and name != 'matplotlib.pyplot' for name in sys.modules)\n"
    )


@pytest.mark.parametrize(
    "code",
    [
        "import matplotlib.pyplot as plt\nfigure, two = plt.subplots(1, 2)\ntwo[1].plot([1, 2])\nplt.rcParams['font.size'] = 3",
        "from matplotlib import animation, pyplot as plt\nanimation.FuncAnimation\nplt.plot([1])",
        "import matplotlib\nmatplotlib.use('Agg')\nimport matplotlib.animation as film\nfilm.FuncAnimation",
        "from matplotlib.pyplot import figure\nfigure()",
        "import matplotlib.pyplot as plt\nfrom matplotlib.figure import Figure\nassert isinstance(plt.figure(), Figure)",
    ],
)
def test_drawing_works(code: str) -> None:
    """Catches: a way to import that a module which comes later cannot take."""
    run(code)


@pytest.mark.parametrize(
    ("code", "error"), [("plt.no_such_thing", "AttributeError"), ("from matplotlib import no_such_thing", "ImportError")]
)
def test_names_that_are_not_there(code: str, error: str) -> None:
    """Catches: an error that is another one than matplotlib's."""
    run(
        "import matplotlib.pyplot as plt\n"
        f"try:\n    {code}\nexcept {error} as found:\n    assert 'no_such_thing' in str(found)\nelse:\n    sys.exit(1)\n"
    )
