"""An assignment made from a solution that exists: it is built at once, and gaps are said."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import grader.__main__
from grader.assignment import AssignmentFiles
from grader.authoring.build import BuildOptions, build
from grader.authoring.inspection import inspect_assignment
from grader.judge.run import grade
from grader.proof.verify import verify
from grader.report.model import Outcome
from tests.kit.made_kits import make_kit, run

pytestmark = pytest.mark.recorded

INPUTS = (
    "grader/authoring/observing.py",
    "grader/sandbox/facts.py",
    "tests/kit/drafts/**",
    "command:new",
    "command:build",
    "command:verify",
)
ROOT = Path(__file__).resolve().parents[2]
DRAFTS = Path(__file__).with_name("drafts")

# What an author has that is no plain function of numbers.
MIXED = '''\
# %matplotlib inline
from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

import numpy as np

try:
    import not_installed_anywhere
except ImportError:
    not_installed_anywhere = None

SCALE = 2.0


def minimize(f: Callable, start: float, rate: float = 0.1) -> float:
    """Return where f is smaller."""
    return start - rate * f(start)


def roll(sides: int) -> int:
    """Return a random number."""
    return int(np.random.randint(sides))


def norm(x): return np.sqrt((x**2).sum())


def fill(x: np.ndarray, value: float) -> None:
    """Fill x with a value, in place.

    Args:
        x: float64 `[n]`.
    """
    x[:] = SCALE * value


def pixels(image: Float[np.ndarray, "?n c=3"], codes: Float[np.ndarray, "*batch 2**c"]) -> float:
    """Return a sum, with the module that need not be installed or without it."""
    add = not_installed_anywhere.sum if not_installed_anywhere else np.sum
    return float(add(image) * add(codes))


class Factory:
    """A factory, one of whose methods is called as drivers call the constructor."""

    def __init__(self, size: int) -> None:
        self.size = size

    def create(self, value: float) -> float:
        """Return a value, scaled."""
        return self.size * value


def _helper():
    return 1


@dataclass
class Running:
    """A running mean."""

    keep: float
    value: float = 0.0

    def add(self, x: float) -> float:
        """Return the mean with one more number."""
        self.value = self.keep * self.value + (1 - self.keep) * x
        return self.value


for epoch in range(3):
    print(norm(np.ones(3)))
raise SystemExit("a file that is imported where it is only to be parsed")
'''
NOTEBOOK = [
    ("code", "%matplotlib inline\nimport numpy as np\nimport otter\ngrader = otter.Notebook()", {}),
    ("raw", "# BEGIN QUESTION\nname: q1", {}),
    (
        "code",
        "def center(x):\n"
        '    """Return x minus its mean.\n\n    Parameters\n    ----------\n    x : ndarray of shape (n, d)\n    """\n'
        "    mean = np.mean(x, axis=0)\n    # BEGIN SOLUTION\n    return x - mean\n    # END SOLUTION",
        {},
    ),
    ("raw", "# BEGIN TESTS", {}),
    ("code", "def check_center():\n    assert center(np.eye(2)).sum() == 0", {}),
    ("raw", "# END TESTS", {}),
    (
        "code",
        "def double(x: float) -> float:\n    ### BEGIN SOLUTION\n    return 2 * x\n    ### END SOLUTION",
        {"nbgrader": {"solution": True, "grade": False}},
    ),
    ("code", "def check_double():\n    assert double(1) == 2", {"nbgrader": {"solution": False, "grade": True}}),
    ("code", "for epoch in range(1000):\n    center(np.eye(2))", {}),
]


# Marks of solutions, in all places where they may stand.
MARKED = '''\
# BEGIN SOLUTION
RATE = 0.5
# END SOLUTION


def scaled(n: float) -> float:
    """Return n times the rate, doubled and less one."""
    # BEGIN SOLUTION
    result = n * RATE
    # END SOLUTION
    result = result * (
        2)  # SOLUTION
    result = result - 1  # SOLUTION NO PROMPT
    given = result
    return given


def _halve(n: float) -> float:
    """Return half of n."""
    # BEGIN SOLUTION
    return n / 2
    # END SOLUTION


def _given(n: float) -> float:
    return n / 3


class Square:
    """A square."""

    def __init__(self, side: float):
        self.side = side
        self.area = side * side  # SOLUTION

    @property
    def around(self) -> float:
        # BEGIN SOLUTION
        return 4 * self.side
        # END SOLUTION

    def grow(self, by: float) -> float:
        """Return the side, grown."""
        self.side += by
        return self.side
'''
# Statements that functions need, and statements that only look so.
TABLES = '''\
import numpy as np

np.seterr(divide="ignore")
TABLE = {}
for i in range(4):
    TABLE[i] = i * i
TABLE.update({4: 17})
COUNT = 1
COUNT += 1
SMALL = [2]
x = open("no such file")
y = square(x)


def square(x: int) -> int:
    """Return the square of the last digit."""
    y = TABLE[abs(x) % 5]
    return y * COUNT


def doubled(y: float, square: float = 1.0) -> float:
    """Return twice y."""
    return 2 * y * square


def least(k: int) -> int:
    """Return the least."""
    return min(k, SMALL[0])


for x in range(3):
    print(square(x))
if __name__ == "__main__":
    TABLE = {}
'''


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A kit with a draft of MIXED, and what the command said; to be read, not changed."""
    root = make_kit(tmp_path_factory.mktemp("mixed"))
    (root / "mixed_solution.py").write_text(MIXED)
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", said)
        patch.setattr(sys, "argv", ["grader", "new", "mixed", "--from", str(root / "mixed_solution.py")])
        assert grader.__main__.main(root) == 0
    return root, said.getvalue().splitlines()


def test_a_module_of_torch_is_proven_with_mistakes_alone(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Catches: gradients, dtypes and arguments that no check sees; a question that pays for the mistakes of another."""
    root = make_kit(tmp_path / "kit")
    code, said = run(root, capsys, "new", "attention", "--from", str(DRAFTS / "attention" / "solution.py"))
    assert code == 0, said
    assert "fill in" not in said
    found = [line for line, fault in verify(root, "attention") if fault]
    assert "solutions/ has no mistakes: nothing shows that the checks catch any" in found
    assert not [line for line in found if "stub" in line or "solution gets" in line or "stale" in line]
    for name in ("mistakes.py", "alternatives.py", "survivors.toml"):
        shutil.copy(DRAFTS / "attention" / name, root / "solutions" / "attention")
    build(root, "attention")
    assert [line for line, fault in verify(root, "attention") if fault] == []


MODULE = '''\
import torch
from torch import Tensor, nn


class Scale(nn.Module):
    """Multiplies features by weights."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x: Tensor) -> Tensor:
        """Return x, scaled.

        Args:
            x: float32 `[n, size]`.
        """
        return self.weight * x
'''


def test_the_gradients_of_a_class_are_checked(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Catches: a module that cuts its input from the graph, and gets full marks."""
    root = make_kit(tmp_path / "kit")
    (tmp_path / "scale.py").write_text(MODULE)
    code, said = run(root, capsys, "new", "scaling", "--from", str(tmp_path / "scale.py"))
    assert code == 0, said
    assert "fill in" not in said
    wrong = tmp_path / "submitted.py"
    solution = (root / "solutions" / "scaling" / "submitted.py").read_text()
    wrong.write_text(solution.replace("self.weight * x", "self.weight * x.detach()"))
    checks = grade(AssignmentFiles(root, "scaling"), wrong, ("visible", "hidden")).checks
    lost = {check.id for check in checks if check.outcome is not Outcome.PASSED}
    assert lost == {"visible/test_scale_gradient", "hidden/test_scale_gradient"}


def test_what_cannot_be_guessed_is_said_and_left_as_comments(mixed: tuple[Path, list[str]]) -> None:
    """Catches: an unknown parameter, or a random result, without a line to fill in, or with one elsewhere than said."""
    root, said = mixed
    gaps = {}
    for line in said:
        if found := re.match(r"fill in: (solutions/mixed/cases.py):(\d+): (\w+) \(mixed_solution.py:(\d+)\): (.*)", line):
            there = (root / found[1]).read_text().splitlines()[int(found[2]) - 1]
            assert there.startswith(f"# FILL IN: {found[3]}: {found[5][:40]}")
            assert f"def {found[3]}(" in MIXED.splitlines()[int(found[4]) - 1]
            gaps[found[3]] = found[5]
    assert gaps == {
        "minimize": "nothing says what `f` is",
        "norm": "nothing says what `x` is",
        "roll": "its result is random; pass it a NumPy generator, or the random numbers, as an argument",
    }
    assert not [slip for slip in inspect_assignment(root, "mixed") if slip.stops]


def test_a_gap_that_is_filled_in_becomes_a_question(mixed: tuple[Path, list[str]], tmp_path: Path) -> None:
    """Catches: comments that are not the code which is missing."""
    root = Path(shutil.copytree(mixed[0], tmp_path / "kit"))
    for place in ("solutions/mixed/cases.py", "tests/visible/test_mixed.py", "tests/hidden/test_mixed.py"):
        blocks = (root / place).read_text().split("\n\n\n")
        ours = [block for block in blocks if '"norm"' in block]
        assert ours
        text = "\n\n\n".join(
            re.sub(r"^# ?", "", re.sub(r"^# FILL IN.*\n", "", block), flags=re.MULTILINE) if block in ours else block
            for block in blocks
        )
        (root / place).write_text(text.replace("x=...", "x=rng.normal(size=4)"))
    settings = root / "assignments" / "mixed" / "assignment.toml"
    head, _, rest = settings.read_text().partition('id = "norm"')
    settings.write_text(head + 'id = "norm"' + re.sub(r"points = .* # FILL IN: (\{.*?\}).*", r"points = \1", rest, count=1))
    build(root, "mixed")
    assert "norm_1" in json.loads((root / "solution.json").read_text())["mixed"]["cases"]
    assert not [slip.text for slip in inspect_assignment(root, "mixed") if "norm: its" in slip.text]


def test_shapes_of_jaxtyping_are_drawn(mixed: tuple[Path, list[str]]) -> None:
    """Catches: a traceback for a dimension with a size or a mark, and a power that is drawn as a product."""
    cases = (mixed[0] / "solutions" / "mixed" / "cases.py").read_text()
    for drawn in ("image=rng.normal(size=(6, 3)), codes=rng.normal(size=(2, 16))", "codes=rng.normal(size=(2, 4))"):
        assert drawn in cases


def test_a_constructor_and_a_method_called_create_get_their_own_inputs(mixed: tuple[Path, list[str]]) -> None:
    """Catches: the arguments of `create` given to the constructor, so that no case of the class can be answered."""
    cases = (mixed[0] / "solutions" / "mixed" / "cases.py").read_text()
    assert re.search(r"\n    return dict\(create_object=dict\(size=\d\), create=dict\(value=0.\d+\)\)", cases)
    assert not [line for line in mixed[1] if line.startswith("fill in") and "Factory" in line]


def test_nothing_of_training_is_kept_and_all_is_named(mixed: tuple[Path, list[str]]) -> None:
    """Catches: training that runs in every call; statements or given functions that go without a word; a file that is run."""
    root, said = mixed
    text = (root / "solutions" / "mixed" / "submitted.py").read_text()
    assert "epoch" not in text
    assert "SystemExit" not in text
    assert "SCALE = 2.0" in text
    for line in (
        f"left out: mixed_solution.py:{MIXED[: MIXED.index('for epoch')].count(chr(10)) + 1}: for epoch in range(3):",
        f"given to students as it is: mixed_solution.py:{MIXED[: MIXED.index('def _helper')].count(chr(10)) + 1}: _helper",
    ):
        assert line in said
    stub = (root / "assignments" / "mixed" / "submitted.py").read_text()
    assert "np.sqrt" not in stub
    assert "SCALE * value" not in stub
    assert '"""Return the mean with one more number."""' in stub


def test_marks_decide_what_is_cut(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Catches: marked solutions that students read: at the end of a line, in a helper, a property or `__init__`."""
    root = make_kit(tmp_path / "kit")
    (tmp_path / "marked.py").write_text(MARKED)
    code, said = run(root, capsys, "new", "marked", "--from", str(tmp_path / "marked.py"))
    assert code == 0, said
    stub = (root / "assignments" / "marked" / "submitted.py").read_text()
    for solution in ("n * RATE", "result * (", "result - 1", "n / 2", "side * side", "4 * self.side", "self.side += by"):
        assert solution in MARKED
        assert solution not in stub
    for given in ("    given = result\n    return given\n", "    return n / 3\n", "        self.side = side\n", "SOLUTION"):
        assert (given in stub) == (given != "SOLUTION")
    assert [question.id for question in AssignmentFiles(root, "marked").assignment.questions] == ["scaled", "_halve", "Square"]
    why = "it is marked as a solution, but only code in functions can be cut"
    assert f"given to students as it is: marked.py:2: RATE = 0.5 ({why})\n" in said
    assert build(root, "marked", BuildOptions(check=True)) == []


def test_marks_of_a_notebook_decide_what_is_cut(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Catches: marks around statements and at their ends, of which a notebook's extract says nothing."""
    root = make_kit(tmp_path / "kit")
    parts = re.split(r"\n\n\n(?=\S)", MARKED.replace("    return given\n", "    return 3 * given  # SOLUTION\n"))
    parts.append("# BEGIN SOLUTION\ndef _enclosed(n: float) -> float:\n    return n / 5\n# END SOLUTION")
    cells: list[dict[str, object]] = [{"cell_type": "code", "source": text, "metadata": {}} for text in parts]
    (tmp_path / "hw.ipynb").write_text(json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5, "metadata": {}}))
    code, said = run(root, capsys, "new", "hw", "--from", str(tmp_path / "hw.ipynb"))
    assert code == 0, said
    stub = (root / "assignments" / "hw" / "submitted.py").read_text()
    for solution in ("n * RATE", "result * (", "result - 1", "3 * given", "n / 2", "side * side", "4 * self.side", "n / 5"):
        assert solution not in stub
    assert "    given = result\n" in stub
    assert "given to students as it is: hw.ipynb, cell 1, line 2: RATE = 0.5 (it is marked" in said
    assert build(root, "hw", BuildOptions(check=True)) == []


def test_what_functions_need_is_kept_and_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Catches: a table that stays empty, so that answers are wrong; training that is kept for the name of a parameter."""
    root = make_kit(tmp_path / "kit")
    (tmp_path / "tables.py").write_text(TABLES)
    code, said = run(root, capsys, "new", "tables", "--from", str(tmp_path / "tables.py"))
    assert code == 0, said
    text = (root / "solutions" / "tables" / "submitted.py").read_text()
    for line in ('np.seterr(divide="ignore")', "    TABLE[i] = i * i", "TABLE.update({4: 17})", "COUNT += 1"):
        assert f"\n{line}\n" in text
    for shown in ('x = open("no such file")', "y = square(x)", "for x in range(3):"):
        number = TABLES[: TABLES.index(shown)].count("\n") + 1
        assert f"left out: tables.py:{number}: {shown}\n" in said
        assert shown not in text
    assert "given to students as it is: tables.py:5: for i in range(4):\n" in said
    assert "def call_doubled(" in (drivers := (root / "tests" / "drivers" / "tables.py").read_text())
    assert "alone(" not in drivers  # a parameter called `square` does not use the function
    assert "this calls" not in said


def test_a_statement_that_calls_what_the_stub_lacks_is_said(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Catches: a stub that nobody can import, without a word about the line."""
    root = make_kit(tmp_path / "kit")
    (tmp_path / "tables.py").write_text(f"{TABLES}SMALL[0] = square(1)\n")
    code, said = run(root, capsys, "new", "tables", "--from", str(tmp_path / "tables.py"))
    assert code == 0, said
    why = "this calls square as the file is imported, which the stub cannot do; move it into a function"
    assert f"note: tables.py:{TABLES.count(chr(10)) + 1}: SMALL[0] = square(1) ({why})\n" in said


def test_a_notebook_becomes_an_assignment(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Catches: tests that become questions; marks of Otter and nbgrader that are lost, or cut at another place; magics."""
    root = make_kit(tmp_path / "kit")
    cells = [{"cell_type": kind, "source": text.splitlines(True), "metadata": about} for kind, text, about in NOTEBOOK]
    (tmp_path / "hw.ipynb").write_text(json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5, "metadata": {}}))
    code, said = run(root, capsys, "new", "hw", "--from", str(tmp_path / "hw.ipynb"))
    assert code == 0, said
    assert [question.id for question in AssignmentFiles(root, "hw").assignment.questions] == ["center", "double"]
    for line in (
        "cell 1: %matplotlib inline",
        "cell 1: grader = otter.Notebook()",
        "cells 5, 8: tests",
        "cell 9: no definition",
    ):
        assert f"left out: hw.ipynb, {line}" in said
    stub = (root / "assignments" / "hw" / "submitted.py").read_text()
    assert "    mean = np.mean(x, axis=0)\n    # YOUR CODE HERE" in stub
    assert "2 * x" not in stub
    assert build(root, "hw", BuildOptions(check=True)) == []


PROMPTED = '''\
PART = 0.5  # SOLUTION


def triple(x: float) -> float:
    """ # BEGIN PROMPT
    y = ...
    """ # END PROMPT
    factor = 3  # SOLUTION
    # BEGIN SOLUTION NO PROMPT
    y = factor * x
    # END SOLUTION
    return y  # SOLUTION


def half(x: float) -> float:
    return PART * x  # SOLUTION
'''
PLAIN: list[tuple[str, str, dict]] = [
    ("markdown", "# Numbers", {}),
    ("code", "!pip install numpy\nimport numpy as np\nrng = np.random.default_rng(0)", {}),
    ("code", "def square(x: float) -> float:\n    return x * x", {}),
    ("code", "square(rng.normal())", {}),
]


@pytest.mark.parametrize(
    ("cells", "questions", "lost", "kept"),
    [
        (
            [("code", PROMPTED, {})],
            ["triple", "half"],
            ("y = ...", "factor", "return y", "PART * x", "SOLUTION"),
            ("PART = 0.5\n",),
        ),
        (PLAIN, ["square"], ("x * x", "pip", "square(rng"), ("def square(x: float) -> float:\n    # YOUR CODE HERE",)),
    ],
)
def test_prompts_suffixes_and_plain_cells_are_read(
    tmp_path: Path,
    capsys: pytest.CaptureFixture,
    cells: list[tuple[str, str, dict]],
    questions: list[str],
    lost: tuple[str, ...],
    kept: tuple[str, ...],
) -> None:
    """Catches: a prompt of Otter or a line of the solution in the stub; a notebook without marks that has no question."""
    root = make_kit(tmp_path / "kit")
    made = [{"cell_type": kind, "source": text, "metadata": about} for kind, text, about in cells]
    (tmp_path / "hw.ipynb").write_text(json.dumps({"cells": made, "nbformat": 4, "nbformat_minor": 5, "metadata": {}}))
    code, said = run(root, capsys, "new", "hw", "--from", str(tmp_path / "hw.ipynb"))
    assert code == 0, said
    assert "fill in" not in said
    assert [question.id for question in AssignmentFiles(root, "hw").assignment.questions] == questions
    stub = (root / "assignments" / "hw" / "submitted.py").read_text()
    assert not [text for text in lost if text in stub], stub
    assert not [text for text in kept if text not in stub], stub


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.py", "x = 1\n", "has no public function"),
        ("a.py", "def f(:\n", "a.py:1: not valid Python"),
        ("a.py", "from .other import x\n\n\ndef f(): return x\n", "a.py:1: a relative import"),
        (
            "a.py",
            "import nowhere_at_all\n\n\ndef f(): return nowhere_at_all\n",
            "a.py:1: 'nowhere_at_all' is neither installed",
        ),
        ("a.txt", "def f(): return 1\n", "neither a Python file (.py) nor a notebook"),
        ("a.ipynb", "{", "not valid JSON"),
        (
            "a.py",
            "A = []\nfor x in (1, 0):\n    A.append(f(x))\n\n\ndef f(x): return 1 / x\n\n\ndef last(): return A[-1]\n",
            "cannot be imported in the sandbox: name 'f' is not defined; a.py:2: for x in (1, 0): (this calls f as the file",
        ),
        ("a.py", "import math\nX = math.sqrt(-1)\n\n\ndef f(): return X\n", "cannot be imported in the sandbox: "),
    ],
)
def test_a_solution_that_cannot_be_used_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture, name: str, text: str, words: str
) -> None:
    """Catches: a traceback, a message without a place, or files of half an assignment."""
    root = make_kit(tmp_path / "kit")
    (tmp_path / name).write_text(text)
    before = sorted(root.rglob("*"))
    code, said = run(root, capsys, "new", "fine", "--from", str(tmp_path / name))
    assert code == 2
    assert words in said
    assert len(said.strip().splitlines()) == 1
    assert sorted(root.rglob("*")) == before
    code, said = run(root, capsys, "new", "fine", "--from", str(tmp_path / "missing.py"))
    assert code == 2
    assert "cannot be read" in said


def test_a_draft_is_as_the_house_writes(mixed: tuple[Path, list[str]], tmp_path: Path) -> None:
    """Catches: generated files that a formatter would change, or whose imports nothing uses."""
    root = Path(shutil.copytree(mixed[0], tmp_path / "kit"))
    shutil.copy(ROOT / "pyproject.toml", root)
    (root / "grader").symlink_to(ROOT / "grader")
    places = ["solutions/mixed/cases.py", "tests", "solutions/mixed/mistakes.py", "solutions/mixed/alternatives.py"]
    for command in (["check"], ["format", "--check"]):
        done = subprocess.run([sys.executable, "-m", "ruff", *command, *places], cwd=root, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout
