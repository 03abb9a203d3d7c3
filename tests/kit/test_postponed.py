"""What most submissions import only by name is imported when it is used: nothing may notice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit.patience import PATIENCE

pytestmark = pytest.mark.recorded

INPUTS = ("grader/__init__.py", "grader/sandbox/__init__.py", "grader/sandbox/lazy.py")

ROOT = Path(__file__).resolve().parents[2]
BEFORE = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
os.environ["MPLBACKEND"] = "Agg"
import numpy
from grader.sandbox import lazy
lazy.import_matplotlib_lazily()
"""
DYNAMO = """
import torch
lazy.import_dynamo_lazily()
weights = torch.nn.Parameter(torch.ones(3))


def train(kind, **options):
    with torch.no_grad():
        weights.fill_(1.0)
    optimizer = kind([weights], lr=0.1, **options)
    for _ in range(3):
        optimizer.zero_grad()
        (weights ** 2).sum().backward()
        optimizer.step()
    optimizer.load_state_dict(optimizer.state_dict())
    optimizer.add_param_group({"params": [torch.nn.Parameter(torch.zeros(1))]})
    return weights.tolist()


adam = train(torch.optim.Adam)
assert "torch._dynamo.config" not in sys.modules
"""


def run(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", BEFORE + code], capture_output=True, text=True, timeout=PATIENCE)
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


@pytest.mark.parametrize(
    "code",
    [
        "",
        "assert torch.compile(lambda x: 2 * x, backend='eager')(weights).shape == (3,)",
        "import torch._dynamo.config as settings\nimport torch._dynamo as it\nassert it.config is settings",
        "from torch import _dynamo\nassert not _dynamo.is_compiling()",
        "import torch._dynamo\n@torch._dynamo.disable\ndef twice(x):\n    return 2 * x\n\nassert twice(2) == 4",
        "import inspect\ninspect.getmodule(inspect.currentframe())\nassert 'torch._dynamo.config' not in sys.modules",
        "assert not hasattr(torch._dynamo, 'no_such_thing')",
        "torch.use_deterministic_algorithms(True)",
    ],
)
def test_an_optimizer_needs_no_compiler(code: str) -> None:
    """Catches: a second of CPU time for the first optimizer of a grade; numbers or modules that differ where it is needed."""
    run(DYNAMO + code + "\nassert train(torch.optim.Adam) == adam\n")


def test_all_optimizers_give_the_same_numbers() -> None:
    """Catches: an optimizer that asks more of torch._dynamo than is answered."""
    run(
        DYNAMO + "kinds = [getattr(torch.optim, name) for name in ('Adam', 'AdamW', 'SGD', 'RMSprop', 'Adagrad', 'NAdam')]\n"
        "lazily = [train(kind) for kind in kinds]\n"
        "sys.modules['torch._dynamo'].load()\n"
        "import torch._dynamo\n"
        "assert 'torch._dynamo.config' in sys.modules and not isinstance(torch._dynamo, lazy.LazyModule)\n"
        "assert [train(kind) for kind in kinds] == lazily\n"
    )
