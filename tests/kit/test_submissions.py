"""What is handed in, in every shape: notebooks of many habits, folders, zips, exports; and clear words when it is none."""

from __future__ import annotations

import codecs
import io
import json
import os
import re
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.assignment import AssignmentFiles, UsageError
from grader.authoring.stub import BEGIN, END
from grader.judge.run import Grader, GradingOptions, grade
from grader.platforms.gradescope import report as gradescope
from grader.report import terminal
from grader.report.model import Report
from grader.submission import MAX_BYTES, read_submission
from tests.kit.patience import PATIENCE

pytestmark = pytest.mark.recorded

INPUTS = {"*": ("grading:policy_gradient",), "test_export_of_a_class": ("command:grade",)}

ROOT = Path(__file__).resolve().parents[2]
QUESTIONS = {"get_returns", "get_vanilla_policy_gradient_loss", "get_value_net_loss", "get_PPO_policy_gradient_loss"}


@pytest.fixture(scope="session")
def parts(home: AssignmentFiles) -> dict[str, str]:
    """The solution in pieces: "imports", and each function by its name."""
    source = (home.solution / "submitted.py").read_text(encoding="utf-8")
    source = "\n".join(line for line in source.splitlines() if not BEGIN.match(line) and not END.match(line))
    head, *functions = re.split(r"\n(?=def )", source)
    return {"imports": head.partition('"""\n\n')[2].strip()} | {text[4:].partition("(")[0]: text.strip() for text in functions}


@pytest.fixture(scope="module")
def grader(home: AssignmentFiles) -> Iterator[Grader]:
    """A warm grader of the visible checks."""
    with Grader(home) as grader:
        yield grader


@pytest.fixture
def graded_cells(grader: Grader, tmp_path: Path) -> Callable[..., Report]:
    """Grade a notebook with these cells: text is code, `("markdown", text)` is not."""

    def run(*cells: str | tuple[str, str], **changes: object) -> Report:
        path = tmp_path / "homework.ipynb"
        path.write_bytes(notebook(*cells, **changes))
        return grader.grade(path, QUESTIONS)

    return run


def notebook(*cells: str | tuple[str, str], **changes: object) -> bytes:
    content: dict[str, Any] = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 4} | changes
    for count, cell in enumerate(cells, 1):
        kind, text = ("code", cell) if isinstance(cell, str) else cell
        more = {"execution_count": count, "outputs": []} if kind == "code" else {}
        content["cells"].append({"cell_type": kind, "metadata": {}, "source": text.splitlines(keepends=True)} | more)
    return json.dumps(content).encode()


def points(report: Report) -> dict[str, float]:
    return {question.id: question.points for question in report.questions}


def four(parts: dict[str, str], **instead: str) -> list[str]:
    """The four questions that these tests grade, a cell each."""
    return [instead.get(name, parts[name]) for name in sorted(QUESTIONS)]


FULL = {"get_returns": 6, "get_vanilla_policy_gradient_loss": 6, "get_value_net_loss": 5, "get_PPO_policy_gradient_loss": 6}


# Ten habits, each of which must grade rightly.


def test_definitions_out_of_order(graded_cells, parts) -> None:
    """A helper, a constant, a base class below what uses them: a kernel that ran the cells in another order knew them."""
    returns = (
        "def get_returns(rollout_buffer, discount_factor=GAMMA):\n    return Backwards().over(rollout_buffer, discount_factor)"
    )
    body = parts["get_returns"].replace("def get_returns(rollout_buffer: utils.RolloutBuffer,", "def backwards(rollout_buffer,")
    after = [
        "class Backwards(Base):\n    pass",
        "class Base:\n    def over(self, *of):\n        return backwards(*of)",
        "GAMMA = 0.95",
    ]
    report = graded_cells(*four(parts, get_returns=returns), *after, body, parts["imports"])
    assert points(report) == FULL


def test_classes_across_cells(graded_cells, parts) -> None:
    """A class that a later cell extends under its own name, patches, or gives a method from outside."""
    cells = [
        "class Loss:\n    def __call__(self, net, seen, returns):\n        return self.of(net(seen) - returns)",
        "class Loss(Loss):\n    scale = 2.0",
        "def of(self, difference):\n    return self.scale * (difference**2).mean()",
        "Loss.of = of",
        "Loss.scale = 1.0",
    ]
    loss = (
        "def get_value_net_loss(value_net, observation, returns, **kwargs):\n    return Loss()(value_net, observation, returns)"
    )
    assert points(graded_cells(parts["imports"], *cells, *four(parts, get_value_net_loss=loss))) == FULL


def test_shell_lines_and_magics(graded_cells, parts) -> None:
    """Lines for the kernel or the shell, alone, inside a block, over several lines, and what only looks like one."""
    cells = [
        "!pip install torch \\\n    numpy\n%matplotlib inline\n%load_ext autoreload\n%autoreload 2\n" + parts["imports"],
        "if True:\n    !ls\n    files = !ls -l\nelse:\n    %cd somewhere\nutils.RolloutBuffer?\n?print\n%time x = 3",
        "%%time\n" + parts["get_returns"],
        "%%bash\necho 'def get_returns(): pass'\n",
        '%%html\n<script>alert("hello")</script>',
        "%%capture output\n" + parts["get_value_net_loss"].replace('"""Return', '"""\n%not a magic\nreally?\n!\nReturn', 1),
        "%%writefile submitted.py\n" + parts["get_vanilla_policy_gradient_loss"],
        "%%writefile other.py\ndef get_returns(): pass",
        parts["get_PPO_policy_gradient_loss"],
    ]
    assert points(graded_cells(*cells)) == FULL


def test_colab_preamble(graded_cells, parts) -> None:
    """Modules that exist nowhere else, forms, secrets, mounted drives: none of it is needed."""
    preamble = (
        "#@title Setup { display-mode: 'form' }\nfrom google.colab import drive, files\ndrive.mount('/content/drive')\n"
        "import wandb\nwandb.login()\n%cd /content/drive/MyDrive\nuploaded = files.upload()\n"
    )
    cells = [preamble, "try:\n    import google.colab\n    IN_COLAB = True\nexcept ImportError:\n    IN_COLAB = False"]
    device = "device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')"
    loss = parts["get_value_net_loss"].replace("value_net(observation)", "value_net(observation.to(device))")
    assert points(graded_cells(*cells, parts["imports"], device, *four(parts, get_value_net_loss=loss))) == FULL


def test_globals_inside_functions(graded_cells, parts) -> None:
    """Constants, settings that later cells change, and objects that functions find around them; and names that only look so."""
    cells = [
        "config = {'clip': 0.9, 'scale': 3}",
        "config['clip'] = 0.2",
        "LOW, HIGH = 1 - config['clip'], 1 + config['clip']\nscale: float = 2.0\nscale /= 2",
        "loss_function = nn.MSELoss()\nreturns = train_for_hours()",
        "if torch.cuda.is_available():\n    factor = 1\nelse:\n    factor = 1.0",
    ]
    loss = (
        "def get_value_net_loss(value_net, observation, returns, **kwargs):\n"
        "    assert (LOW, HIGH) == (0.8, 1.2)\n"
        "    return scale * factor * loss_function(value_net(observation), returns)"
    )
    assert points(graded_cells(parts["imports"], *cells, *four(parts, get_value_net_loss=loss))) == FULL


def test_redefinitions(graded_cells, parts) -> None:
    """The last definition counts, right or wrong, and so does the constant that it finds."""
    wrong = parts["get_returns"].replace("reward + discount_factor", "discount_factor * reward + discount_factor")
    cells = [parts["imports"], "clip = 5", *four(parts, get_returns=wrong), "clip = 0.2", parts["get_returns"]]
    assert points(graded_cells(*cells)) == FULL
    report = graded_cells(parts["imports"], *four(parts), wrong)
    assert points(report) == FULL | {"get_returns": 1}
    assert next(question.cell for question in report.questions if question.id == "get_returns") == "cell 6 (In [6])"


def test_failing_demonstrations_cost_nothing(graded_cells, parts) -> None:
    """Cells that show, train, break, never end, or are only half written."""
    cells = [
        "1 / 0",
        "get_returns(None)",
        "while True:\n    pass",
        "env = make_env('nothing')\nagent = Agent(env)\nlosses, rewards = train(agent)",
        "for epoch in range(10**9):\n    losses.append(train())",
        "plt.plot(losses)\nplt.show()",
        "def plot(x):\n    import seaborn\n    ...",
        "class Demo(NotThere):\n    pass",
        "def half_written(x:",
        "assert False",
        "exit()",
        "import submitted\nfrom submitted import get_returns\nimportlib.reload(submitted)",
        "del everything",
        "await something()",
        "return 3",
    ]
    report = graded_cells(parts["imports"], *cells, *four(parts), *cells)
    assert points(report) == FULL
    assert report.remarks[0].startswith("cell 10 (In [10]), line 1 is not valid Python")
    assert "it would define half_written" in report.remarks[0]


def test_thirty_megabytes_of_outputs(grader: Grader, tmp_path: Path, parts) -> None:
    """Pictures and logs that a notebook carries along are no reason to refuse it."""
    content = json.loads(notebook(parts["imports"], *four(parts)))
    content["cells"][1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["x" * 1000] * 30_000}]
    path = tmp_path / "homework.ipynb"
    path.write_text(json.dumps(content))
    assert path.stat().st_size > 30_000_000
    assert points(grader.grade(path, QUESTIONS)) == FULL


def test_what_schemas_refuse(graded_cells, parts) -> None:
    """Twice the same cell id, none, wrong counts, a byte order mark, cells that are none: editors make such notebooks."""
    odd = [None, 3, {}, {"cell_type": "code"}, {"cell_type": "code", "source": 3}, {"cell_type": "raw", "source": "x"}]
    cells = json.loads(notebook(parts["imports"], *four(parts)))["cells"]
    for cell in cells:
        cell |= {"id": "same", "execution_count": "many", "outputs": None}
    assert points(graded_cells(cells=odd + cells)) == FULL


def test_format_3(graded_cells, parts) -> None:
    """Notebooks from before 2015 keep their code elsewhere."""
    cells = [{"cell_type": "code", "input": text, "prompt_number": 1} for text in (parts["imports"], *four(parts))]
    assert points(graded_cells(cells=None, worksheets=[{"cells": cells}], nbformat=3)) == FULL


FACTOR = """
def get_value_net_loss(value_net, observation, returns, **kwargs):
    return factor * ((value_net(observation) - returns) ** 2).mean()
"""


@pytest.mark.parametrize(
    "cells",
    [
        ["factor = 1.0\nif torch.cuda.is_available() and False:\n    factor = 2.0"],
        ["factor = 1.0", "try:\n    factor = float(os.environ['NOPE'])\nexcept KeyError:\n    pass", "import os"],
        ["factor = 1.0", "factor: float"],
        ["factor = 1.0", "factor = open('nowhere.txt').read()"],
        ["factor = 0.0\nfor _ in range(4):\n    factor += 0.25"],
        ["parts = []\nfor _ in range(4):\n    parts.append(0.25)\nfactor = sum(parts)"],
        ["config = {}\nconfig.update(factor=1.0)\nfactor = config['factor']"],
        ["config = {}\nif True:\n    config['factor'] = 1.0", "factor = config['factor']"],
        ["a, config = 3, {}\na, config['factor'] = 1, 1.0\nfactor = config['factor']"],
        [
            "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--factor', default=1.0)",
            "factor = parser.parse_args([]).factor",
        ],
        ["base = 1.0\ndef make():\n    return base\nfactor = make()", "base = 7.0", "def make():\n    return 9.0"],
        [
            "factor = first()",
            "def first():\n    return second()",
            "def second():\n    return third()",
            "def third():\n    return 1.0",
        ],
        ["%time factor = 1.0"],
        ["%run utils.py", "factor = float(issubclass(RolloutBuffer, object))"],
        ["parts = [1.0, 2.0]\nparts.sort(key=lambda part: sign * part)\nfactor = parts[0]", "sign = 1"],
        ["class Settings:\n    factor = factor", "factor = 1.0"],
        [
            "from __future__ import annotations\nclass Node:\n    def next(self: Node, other: Missing) -> Node: ...",
            "factor = float(bool(Node))",
        ],
        [
            "registry = {}\ndef put(into):\n    return lambda f: into.setdefault(f.__name__, f)",
            "@put(registry)\ndef one():\n    return 1.0",
            "factor = registry['one']()",
        ],
        ["factor = 1.0", "factor = exit()"],
        ["factor = 1.0", "while True:\n    factor = 1.0"],
        ["factor = 1.0\nloss = 3", "loss = get_value_net_loss(None, None, None)"],
        ["factor = 1.0", "for factor in train():\n    pass"],
    ],
)
def test_what_a_kernel_would_know(graded_cells, parts, cells: list[str]) -> None:
    """Values that come about in blocks, loops, calls, or in spite of a later statement that fails."""
    assert points(graded_cells(parts["imports"], *cells, *four(parts, get_value_net_loss=FACTOR))) == FULL


def test_functions_that_come_about_in_other_ways(graded_cells, parts) -> None:
    """Behind a condition that does not hold, wrapped, by another name, from a module that is not there, in a shared import."""
    imports = parts["imports"].replace("import utils", "import submitted, utils")
    cells = [
        parts["get_returns"],
        "if False:\n    def get_returns(*_):\n        return 1",
        "from solution import get_returns",
        parts["get_value_net_loss"].replace("def get_value_net_loss", "def my_loss"),
        "import functools\nget_value_net_loss = functools.partial(my_loss)",
        parts["get_PPO_policy_gradient_loss"],
        "def timed(f):\n    return lambda *a, **k: f(*a, **k)",
        "get_PPO_policy_gradient_loss = timed(get_PPO_policy_gradient_loss)",
        '%%writefile "submitted.py"\n' + parts["get_vanilla_policy_gradient_loss"],
        "%%writefile old_submitted.py\ndef get_returns(*_): pass",
        "%%python3\ndef get_returns(*_): pass",
        "*int*?\nutils.Roll*?\n[1][0]?  # what is it",
    ]
    assert points(graded_cells(imports, *cells)) == FULL


def test_a_notebook_under_another_name(grader: Grader, tmp_path: Path, parts) -> None:
    """Renamed to what was asked for, or exported as a script: the first is read as what it is, the second is told."""
    path = tmp_path / "submitted.py"
    path.write_bytes(notebook(parts["imports"], *four(parts)))
    assert points(grader.grade(path, QUESTIONS)) == FULL
    path.write_text("# In[1]:\nget_ipython().run_line_magic('matplotlib', 'inline')\n")
    assert "exported from a notebook" in terminal.render_plain(grader.grade(path, QUESTIONS))


# What cannot be graded says why.


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{ broken", "it is not valid JSON"),
        (b"", "it is not valid JSON"),
        (b"[]", "it is JSON but has no cells"),
        (b'{"cells": 3}', "it is JSON but has no cells"),
        (b"PK\x03\x04\xff\xfe", "it is not UTF-8 text"),
        (b"[" * 100_000, "it is nested too deeply"),
        (notebook(("markdown", "def get_returns(): pass")), "your notebook defines none of get_returns"),
        (notebook("x = 1", "def other(): pass"), "it defines other"),
        (b'{"worksheets": [3, {"cells": 3}]}', "your notebook defines none of"),
        (notebook("!ls\n" * 20_000), "your notebook defines none of"),
        (notebook("".join(f"c{n} = c{n + 1}\n" for n in range(3000)) + "get_returns = c0"), "your file has no 'get_vanilla"),
        (notebook("x = '" + "a" * (1 << 20) + "'"), "more than 1 MB of code"),
        (notebook("x = " + "(" * 10_000 + ")" * 10_000, "y = " + "-" * 300_000 + "1"), "your notebook defines none of"),
        (notebook("import submitted\nsubmitted.get_returns(buffer)"), "your notebook defines none of"),
    ],
    ids=[
        *("broken", "empty", "list", "no cells", "bytes", "deep", "markdown only", "others", "old and strange", "magics"),
        *("a long chain", "large", "deep code", "uses a module"),
    ],
)
def test_notebooks_that_are_none(grader: Grader, tmp_path: Path, content: bytes, words: str) -> None:
    """One reason, told once, and no fault of the grader."""
    path = tmp_path / "homework.ipynb"
    path.write_bytes(content)
    report = grader.grade(path)
    assert (report.points, report.final) == (0, True)
    text = terminal.render_plain(report)
    assert words in text
    assert text.count(words) == 1


def test_broken_cell_of_a_question(graded_cells, parts) -> None:
    """A question whose cell cannot be read is missing, and the report says where it would be."""
    report = graded_cells(
        parts["imports"], *four(parts, get_returns="def get_returns(rollout_buffer, discount_factor=0.95)\n    x")
    )
    assert points(report) == FULL | {"get_returns": 0}
    assert "cell 3 (In [3]), line 1 is not valid Python" in report.remarks[0]
    assert "it would define get_returns" in report.remarks[0]


def test_misnamed_function_in_a_notebook(graded_cells, parts) -> None:
    """The closest name is told, as for a file."""
    report = graded_cells(parts["imports"], *four(parts, get_returns=parts["get_returns"].replace("get_returns", "get_retuns")))
    assert points(report) == FULL | {"get_returns": 0}
    assert "Did you mean to rename 'get_retuns'?" in terminal.render_plain(report)


def test_what_a_question_needs_fails(graded_cells, parts) -> None:
    """The error of a statement that gives a name its value is told where the name is missed, with its cell."""
    loss = "def get_value_net_loss(value_net, observation, returns, **kwargs):\n    return factor"
    report = graded_cells(parts["imports"], "factor = open('nowhere.txt').read()", *four(parts, get_value_net_loss=loss))
    assert points(report) == FULL | {"get_value_net_loss": 0}
    assert "factor has no value because of FileNotFoundError" in terminal.render_plain(report)
    report = graded_cells(parts["imports"], *four(parts, get_value_net_loss="@nothing\n" + loss))
    assert "NameError: name 'nothing' is not defined\n        cell 4, line 1" in terminal.render_plain(report)


def test_errors_name_cell_and_line(graded_cells, parts) -> None:
    """Lines of a file that the student has never seen would help nobody."""
    loss = "# a comment\n\ndef helper(x):\n    return x.no_such_thing\n\n\n" + parts["get_value_net_loss"].replace(
        "nn.functional", "helper(observation); nn.functional"
    )
    report = graded_cells(("markdown", "# Hello"), parts["imports"], *four(parts, get_value_net_loss=loss))
    assert "cell 5, line 4, in helper\n          return x.no_such_thing" in terminal.render_plain(report)


def test_stub_in_a_notebook_is_not_started(graded_cells, home: AssignmentFiles, parts) -> None:
    """The stub's own functions in cells are as untouched there as in the file."""
    stub = home.stub.read_text(encoding="utf-8")
    blank = next(text.strip() for text in re.split(r"\n(?=def )", stub) if text.startswith("def get_returns"))
    report = graded_cells(parts["imports"], *four(parts, get_returns=blank))
    outcomes = {question.id: question.outcome.value for question in report.questions}
    assert outcomes["get_returns"] == "not started"
    assert outcomes["get_value_net_loss"] == "passed"


def test_report_and_gradescope_name_the_cells(graded_cells, home: AssignmentFiles, parts) -> None:
    """Whoever reads the report finds the code that it is about."""
    report = graded_cells(parts["imports"], *four(parts), "x = (")
    assert re.search(r"get_returns .* passed  cell 3 \(In \[3\]\)", terminal.render_plain(report))
    output = json.loads(gradescope.render(report, home.assignment))["output"]
    assert "cell 6 (In [6]), line 1 is not valid Python" in output


# Folders, zips, exports.


@pytest.fixture
def solution(home: AssignmentFiles) -> bytes:
    return (home.solution / "submitted.py").read_bytes()


def zipped(path: Path, **files: bytes | str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def test_zip_and_nested_folders(tmp_path: Path, solution: bytes) -> None:
    """As systems make them: the folder inside, their own files beside."""
    files = {"hw/submitted.py": solution, "__MACOSX/hw/._submitted.py": b"?", "hw/.ipynb_checkpoints/a.ipynb": b"?"}
    (handed,) = read_submission(zipped(tmp_path / "work.zip", **files, **{"hw/old/submitted.py": b"?"}), "submitted.py")
    assert (handed.content, handed.name, handed.notebook) == (solution, "hw/submitted.py in work.zip", False)
    folder = tmp_path / "assignment_7_export" / "submission_12345"
    folder.mkdir(parents=True)
    (folder / "submitted.py").write_bytes(solution)
    (folder.parent / "submission_metadata.yml").write_text("submission_12345: {}\n")
    (handed,) = read_submission(folder.parent, "submitted.py")
    assert handed.name == "submission_12345/submitted.py in assignment_7_export"
    (tmp_path / "Ada_9_file").mkdir()
    zipped(tmp_path / "Ada_9_file" / "hw.zip", **{"hw/submitted.py": solution})  # nobody has unpacked it
    (tmp_path / "Ada_9_file" / "notes.txt").write_text("see hw.zip")
    (handed,) = read_submission(tmp_path / "Ada_9_file", "submitted.py")
    assert (handed.content, handed.name) == (solution, "hw/submitted.py in hw.zip")


def test_stub_beside_a_notebook(home: AssignmentFiles, tmp_path: Path, parts) -> None:
    """Who worked in the notebook, and handed in the untouched file as well, gets the points of the notebook."""
    files = {"submitted.py": home.stub.read_bytes(), "hw.ipynb": notebook(parts["imports"], *four(parts))}
    report = grade(home, zipped(tmp_path / "work.zip", **files), options=GradingOptions(["get_returns"]))
    assert report.points == 6
    assert report.remarks == ("Graded: hw.ipynb in work.zip; submitted.py in work.zip is still the stub.",)
    report = grade(
        home,
        zipped(tmp_path / "both.zip", **(files | {"hw.ipynb": notebook("x = 1")})),
        options=GradingOptions(["get_returns"]),
    )
    assert (report.points, report.remarks, report.submission) == (0, (), "submitted.py in both.zip")


def test_several_could_be_meant(tmp_path: Path, solution: bytes) -> None:
    """A class's export for one student's: which one must be said, not guessed."""
    for number in (1, 2):
        folder = tmp_path / f"submission_{number}"
        folder.mkdir()
        (folder / "submitted.py").write_bytes(solution)
    with pytest.raises(UsageError, match=r"holds 2 possible submissions \(submission_1/submitted.py, submission_2"):
        read_submission(tmp_path, "submitted.py")
    with pytest.raises(UsageError, match="2 possible submissions"):
        read_submission(zipped(tmp_path / "two.zip", **{"a.ipynb": b"{}", "b.ipynb": b"{}"}), "submitted.py")


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (
            {"submited.py": b""},
            r"expected submitted.py or a notebook in .*, found submited.py; did you mean submited.py\? Rename",
        ),
        ({"notes.txt": b"", "deep/a.png": b""}, "found notes.txt, deep/a.png"),
        ({}, "found nothing"),
    ],
)
def test_nothing_to_grade(tmp_path: Path, files: dict[str, bytes], words: str) -> None:
    """Expected, found, and the closest name, of folders and zips alike."""
    with pytest.raises(UsageError, match=words):
        read_submission(zipped(tmp_path / "work.zip", **files), "submitted.py")
    folder = tmp_path / "folder"
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    folder.mkdir(exist_ok=True)
    with pytest.raises(UsageError, match=words):
        read_submission(folder, "submitted.py")


def test_hostile_zips(tmp_path: Path) -> None:
    """A bomb, a zip that is none, one with a password, names that lead out of the folder: refused, or harmless."""
    with pytest.raises(UsageError, match="larger than 1 MB"):
        read_submission(zipped(tmp_path / "bomb.zip", **{"submitted.py": b"#" * (200 << 20)}), "submitted.py")
    (tmp_path / "none.zip").write_bytes(b"not a zip")
    with pytest.raises(UsageError, match=r"none\.zip cannot be read as a zip"):
        read_submission(tmp_path / "none.zip", "submitted.py")
    data = bytearray(zipped(tmp_path / "locked.zip", **{"submitted.py": b"x = 1"}).read_bytes())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + offset] |= 1
    (tmp_path / "locked.zip").write_bytes(data)
    with pytest.raises(UsageError, match=r"locked\.zip cannot be read as a zip"):
        read_submission(tmp_path / "locked.zip", "submitted.py")
    with pytest.raises(UsageError, match=r"out\.zip, found nothing"):
        read_submission(zipped(tmp_path / "out.zip", **{"../../submitted.py": b"x = 1"}), "submitted.py")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bomb.zip", "locked.zip", "none.zip", "out.zip"]
    many = io.BytesIO()
    with zipfile.ZipFile(many, "w") as archive:
        for number in range(10_001):
            archive.writestr(str(number), b"")
    (tmp_path / "many.zip").write_bytes(many.getvalue())
    with pytest.raises(UsageError, match="more than 10,000 files"):
        read_submission(tmp_path / "many.zip", "submitted.py")


def test_a_zip_whose_list_of_files_fills_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: a minute and gigabytes of the trusted process, for a list that is refused once it has been read."""
    listed = struct.pack("<4s4B4HL2L5H2L", b"PK\1\2", 20, 3, 20, 0, 0, 0, 0, 33, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + b"a"
    for count in (100, 100_000):
        end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count & 0xFFFF, count & 0xFFFF, count * len(listed), 0, 0)
        (tmp_path / "long.zip").write_bytes(listed * count + end)
        with pytest.raises(UsageError, match="more than 10,000 files" if count > 10_000 else "found a"):
            read_submission(tmp_path / "long.zip", "submitted.py")
    monkeypatch.setitem(MAX_BYTES, ".zip", 4)
    with pytest.raises(UsageError, match=r"long\.zip is larger than 0 MB; submit only what you wrote"):
        read_submission(tmp_path / "long.zip", "submitted.py")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_zip_with_two_of_one_name(tmp_path: Path) -> None:
    """Catches: the last one is graded in silence, while another tool shows the first. It does not matter for other files."""
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        for text in (b"x = 1", b"x = 2"):
            archive.writestr("submitted.py", text)
    with pytest.raises(UsageError, match=r"submitted\.py is in the zip more than once"):
        read_submission(tmp_path / "two.zip", "submitted.py")
    with zipfile.ZipFile(tmp_path / "notes.zip", "w") as archive:
        for name in ("notes.txt", "notes.txt", "submitted.py"):
            archive.writestr(name, b"x = 1")
    assert read_submission(tmp_path / "notes.zip", "submitted.py")[0].content == b"x = 1"


@pytest.mark.parametrize(
    ("content", "read"),
    [
        (b"\xef\xbb\xbfx = '\xc3\xa9'\n", "x = 'é'\n"),
        (b"# -*- coding: latin-1 -*-\nx = '\xe9'\n", "# -*- coding: utf-8 -*-\nx = 'é'\n"),
        (b"#!python\n# vim: set fileencoding=cp1252 :\nx = '\x80'\n", "#!python\n# vim: set fileencoding=utf-8 :\nx = '€'\n"),
        (b"\r\n# coding: koi8-r\r\nx = '\xc1'\r\n", "\r\n# coding: utf-8\r\nx = 'а'\r\n"),
        (b"# coding: us-ascii\nx = 1\n", "# coding: utf-8\nx = 1\n"),
        (b"x = 1\n\n# coding: utf-7\n", "x = 1\n\n# coding: utf-7\n"),
        (b"# Ren\xe9\n# -*- coding: latin-1 -*-\nx = 1\n", "# René\n# -*- coding: utf-8 -*-\nx = 1\n"),
        (b"# Ren\xe9, coding: latin-1\nx = '\xe9'\n", "# René, coding: utf-8\nx = 'é'\n"),
        (
            b"# coding: cp1252\n# vim: set fileencoding=latin-1 :\nx = '\xe9'\n",
            "# coding: utf-8\n# vim: set fileencoding=latin-1 :\nx = 'é'\n",
        ),
        (
            b"# coding: latin-1\rx = '\xe9'\r# a\rdef f(encoding=None): 0\r",
            "# coding: utf-8\rx = 'é'\r# a\rdef f(encoding=None): 0\r",
        ),
    ],
)
def test_all_read_the_same_text(tmp_path: Path, content: bytes, read: str) -> None:
    """Whatever a file of Python is written in, what is graded is UTF-8, line by line the same."""
    (tmp_path / "submitted.py").write_bytes(content)
    (handed,) = read_submission(tmp_path, "submitted.py")
    assert handed.content == read.encode()
    spoken: dict[str, object] = {}
    other: dict[str, object] = {}
    for source, names in ((content, spoken), (handed.content, other)):
        exec(compile(source, "submitted.py", "exec"), names)
    assert spoken["x"] == other["x"]


@pytest.mark.parametrize("begin", [b"", b"\r", b"# a\r", b"\n", b"#!python\r\n", b"# \xe9\n"])
@pytest.mark.parametrize("charset", ["utf-7", "unicode_escape", "raw_unicode_escape", "utf-16", "rot13", "cp037"])
def test_no_encoding_hides_a_text(tmp_path: Path, begin: bytes, charset: str) -> None:
    """Catches: a copy in unicode_escape, which Python runs and nobody who compares texts can read."""
    (tmp_path / "submitted.py").write_bytes(begin + f"# coding: {charset}\nx = 1\n".encode())
    with pytest.raises(UsageError, match=r"declares the encoding [\w-]+; save it as UTF-8"):
        read_submission(tmp_path, "submitted.py")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"x = 1\r# \xdcbung\r", "is not UTF-8 in line 2; save it as UTF-8"),
        ("x = 1".encode("utf-16"), "is UTF-16; save it as UTF-8"),
    ],
)
def test_other_text_is_refused_in_words_for_an_editor(tmp_path: Path, content: bytes, words: str) -> None:
    """Catches: bytes in a comment that are graded here and refused by Python, and `null bytes` for a file of an editor."""
    (tmp_path / "submitted.py").write_bytes(content)
    with pytest.raises(UsageError, match=words):
        read_submission(tmp_path, "submitted.py")


def test_what_python_refuses_is_told_by_python(tmp_path: Path) -> None:
    """No encoding, and bytes that are none: a report says where, as for every other syntax error."""
    for content in (b"# coding: klingon\n", b"# coding: cp1252\nx = '\x81'\n", codecs.BOM_UTF8 * 2 + b"x = 1\n"):
        (tmp_path / "submitted.py").write_bytes(content)
        assert read_submission(tmp_path, "submitted.py")[0].content == content


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="no links here")
def test_links_are_not_followed(tmp_path: Path, solution: bytes) -> None:
    """A folder or notebook that is a link could lead anywhere."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "submitted.py").write_bytes(solution)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match=r"expected submitted\.py or a notebook"):
        read_submission(folder, "submitted.py")
    (folder / "hw.ipynb").symlink_to(tmp_path / "elsewhere" / "submitted.py")
    with pytest.raises(UsageError, match="it is a link; submit the file itself"):
        read_submission(folder, "submitted.py")


def test_too_large_a_notebook(tmp_path: Path) -> None:
    """What cannot be read in bounded memory is refused, and how to make it smaller is told."""
    path = tmp_path / "hw.ipynb"
    with open(path, "wb") as file:
        file.truncate(MAX_BYTES[".ipynb"] + 1)
    with pytest.raises(UsageError, match="larger than 64 MB; clear its outputs"):
        read_submission(path, "submitted.py")


def test_export_of_a_class(tmp_path: Path, solution: bytes) -> None:
    """Gradescope's "export all": every submission is graded by one command, and a bad one stops nothing."""
    for number in range(3):
        folder = tmp_path / "export" / f"submission_{number}"
        folder.mkdir(parents=True)
        if number:
            (folder / "submitted.py").write_bytes(solution)
    (tmp_path / "export" / "submission_metadata.yml").write_text("submission_0: {}\n")
    command = [sys.executable, "-m", "grader", "grade", "policy_gradient", str(tmp_path / "export"), "--suite", "visible"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout.count("63/63 points") == 2
    assert "graded 2 of 3; not graded:" in done.stdout
    assert "submission_0" in done.stderr
