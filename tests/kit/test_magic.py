"""`%grade` in a real kernel: what is graded, what is shown, and that the process behind it never outlives the kernel."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager

from grader.assignment import AssignmentFiles, Question, QuestionPoints, UsageError
from grader.authoring.notebook import make_notebook
from grader.desk.session_cells import find_bare_methods, name_classes, refuse_subclasses
from grader.report.model import CheckResult
from tests.kit.patience import PATIENCE
from tests.kit.test_page import HOSTILE, Parsed, every_outcome

pytestmark = pytest.mark.slow(60)

INPUTS = ("released:grader",)
ROOT = Path(__file__).resolve().parents[2]
RIGHT = "def total(values):\n    return sum(values)\n"
LOOPS = re.compile("grading: 0 of").search  # shown of a check that takes a second or more
WRONG = "def total(values):\n    return sum(values) + 1\n"


class _ThisPython(KernelManager):
    @property
    def kernel_spec(self) -> KernelSpec:
        argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=argv, display_name="Python 3", language="python")


class Session:
    """A kernel in the folder of an assignment. messages: all that it has sent, as text."""

    def __init__(self, folder: Path, path: str = str(ROOT)) -> None:
        self.folder = folder
        self.messages: list[str] = []
        self.manager = _ThisPython()
        environment = {**os.environ, "PYTHONPATH": path, "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
        self.manager.start_kernel(cwd=str(folder), env=environment, stderr=subprocess.DEVNULL)
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=PATIENCE)

    def run(self, code: str, until: Callable[[str], object] | None = None) -> Cell:
        """Run a cell to its end, or until a message comes that this wants."""
        asked = self.client.execute(code)
        cell = Cell()
        while True:
            message = self.client.get_iopub_msg(timeout=PATIENCE)
            if message["parent_header"].get("msg_id") != asked:
                continue
            kind, content = message["msg_type"], message["content"]
            self.messages.append(json.dumps(content))
            if kind in ("display_data", "update_display_data") and "text/html" in content["data"]:
                cell.text, cell.html = content["data"]["text/plain"], content["data"]["text/html"]
            elif kind == "stream":
                cell.printed += content["text"]
            elif kind == "error":
                cell.error = content["ename"]
                cell.trace = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(content["traceback"]))
            if (kind == "status" and content["execution_state"] == "idle") or (until and until(self.messages[-1])):
                return cell

    def child(self) -> int:
        """Return the process id of the one that grades."""
        found = self.run("import grader.desk.magic as _m; print(_m.GradeMagics.current._child.pid)").printed
        return int(found)

    def end(self) -> None:
        self.client.stop_channels()
        with contextlib.suppress(RuntimeError):
            self.manager.shutdown_kernel(now=True)


class Cell:
    """What a cell has shown: its last verdict, what it printed, the name of its exception, and the traceback without colors."""

    text = html = printed = error = trace = ""


def ended(pid: int) -> bool:
    """Wait until a process has ended; whoever was its parent, nobody may have taken note of its end."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            if "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text():
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


@pytest.fixture(scope="module")
def folder(built_toy: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy's folder, in a kit whose hidden checks cannot be read."""
    root = tmp_path_factory.mktemp("kit") / "kit"
    shutil.copytree(built_toy, root)
    with (root / "assignments" / "toy" / "assignment.toml").open("a") as file:
        file.write("\n[limits]\nseconds = 300\nbudget = 600\n")  # a loop that is not interrupted outlasts a test
    for path in (root / "tests" / "hidden").rglob("*.*"):
        path.write_text("raise RuntimeError('hidden checks were read')")
    return root / "assignments" / "toy"


@pytest.fixture(scope="module")
def kernel(folder: Path) -> Iterator[Session]:
    session = Session(folder)
    session.run("%load_ext grader")
    yield session
    session.end()


@pytest.fixture
def session(kernel: Session, folder: Path, built_toy: Path) -> Session:
    """A session in which nothing has been run, beside the untouched stub."""
    shutil.copy(built_toy / "assignments" / "toy" / "submitted.py", folder)
    kernel.run("%reset -f in out")
    kernel.messages.clear()
    return kernel


def test_a_cell_is_run_and_graded(session: Session) -> None:
    """The verdict names what was graded and what differs, its hint waits for a click, and the cell counts in the kernel."""
    cell = session.run(f"%%grade total\n{WRONG}total([1, 2])")
    for told in (cell.text, Parsed(cell.html).text):
        assert re.search(r"Graded: total from In \[\d+\], the rest from submitted.py", told)
        assert "expected 3.5, got 4.5" in told
        assert "values = [1.5, -2, 4]" in told
        assert "spread" not in told.replace("Sums and spreads", "")
    assert "<mark>4.5</mark>" in cell.html
    assert re.search(r'<details class="hint">\s*<summary>Hint</summary>', cell.html)
    assert '"text/plain": "4"' in "".join(session.messages)
    assert session.run("print(total([1, 2]))").printed == "4\n"


def test_the_last_definition_counts(session: Session) -> None:
    """An older cell, or the kernel's own object, must not decide: source is graded, with the helpers that it needs."""
    session.run(f"%%grade total\n{WRONG}")
    session.run("ADDED = 0\n%time pass\ndef added(values):\n    return sum(values) + ADDED")
    session.run("def total(values):\n    return added(values)")
    session.run("total = None")
    session.run(RIGHT)
    assert "✓ total  2/2  passed" in session.run("%grade total").text
    session.run("def total(values):\n    return added(values) + 1")
    assert "got 4.5" in session.run("%grade total").text
    session.run(RIGHT)  # the same text as before, and run again
    assert "✓ total" in session.run("%grade total").text


def test_the_saved_file_is_graded_and_overridden(session: Session) -> None:
    """Whoever writes into the file must get its verdict; whoever does both must learn that the file would grade otherwise."""
    path = session.folder / "submitted.py"
    path.write_text(f"{WRONG}\n\ndef spread(values, scale=1.0):\n    return (max(values) - min(values)) * scale\n")
    session.run("values = [1, 2]")
    cell = session.run("%grade")
    assert "Graded: submitted.py, as it was saved at" in cell.text
    assert "✗ total" in cell.text
    assert "✓ spread" in cell.text
    session.run(RIGHT)
    cell = session.run("%grade")
    assert "visible checks: 4/4 points" in cell.text
    told = " ".join(cell.text.split())
    assert "The graded code of total is not in submitted.py." in told
    assert (
        "To grade the file in place of your cells, add --file; to drop the definitions in cells for good, run `del total`."
        in told
    )
    assert "✗ total" in session.run("%grade total --file").text
    assert re.search(r"Graded: submitted\.py, as it was saved at [\d:]+\.", session.run("%grade spread").text)
    written = path.read_text()
    path.write_text(f"{written}\ndef later(:\n    pass\n")
    told = session.run("%grade spread").text
    assert "your file is not valid Python" in told
    assert "keep the name that the stub has" not in told
    path.write_text(written)
    path.write_text(path.read_text().replace(WRONG, RIGHT))
    assert "is not in submitted.py" not in " ".join(session.run("%grade").text.split())
    path.unlink()
    cell = session.run("%grade total")
    assert "the rest from other cells" in cell.text
    assert "✓ total" in cell.text


def test_the_latest_edit_is_graded(session: Session) -> None:
    """Catches: a cell that was run once and is graded for ever, whatever its author then writes into the file and saves."""
    path = session.folder / "submitted.py"
    stub = path.read_text()
    session.run(f"%%grade total\n@staticmethod\n{WRONG}")
    number = int(session.run("print(len(In) - 1)").printed) - 1
    path.write_text(f"{stub}\n# another place is changed\n")
    assert f"Graded: total from In [{number}]" in session.run("%grade total").text
    path.write_text(RIGHT)
    cell = session.run("%grade total")
    newer = (
        f"Graded: total from submitted.py, which you saved after running In [{number}]; run that cell again to grade its "
        "definition."
    )
    for told in (cell.text, Parsed(cell.html).text):
        assert newer in " ".join(told.split())
    assert "✓ total" in cell.text
    path.write_text(path.read_text().replace("sum(values)", "sum(values) + 2"))
    cell = session.run("def spread(values, scale=1.0):\n    return 0\n%grade total spread")
    assert newer in " ".join(cell.text.split())
    assert "got 5.5" in cell.text
    path.write_text(stub)  # back to what it was when the cell ran: this is an edit, too
    assert "· total" in session.run("%grade total").text
    cell = session.run(f"%%grade total\n@staticmethod\n{WRONG}")  # run again
    assert "got 4.5" in cell.text
    assert "which you saved after" not in cell.text


def test_a_definition_that_was_deleted_in_the_kernel_is_not_graded(session: Session) -> None:
    """Catches: `del total`, which leaves nothing to call, and a verdict on it all the same."""
    session.run(f"%%grade total\n{WRONG}\ndef spread(values, scale=1.0):\n    return 0")
    session.run("del total")
    cell = session.run("%grade total")
    assert cell.text.startswith("Graded: submitted.py")
    assert "· total" in cell.text
    assert re.search(r"Graded: spread from In \[\d+\]", session.run("%grade spread").text)


def test_a_file_that_was_not_saved_in_this_session_has_no_time(session: Session) -> None:
    """Catches: "saved at 00:00:00" of the file that came with the zip."""
    os.utime(session.folder / "submitted.py", (0, 0))
    assert session.run("%grade total").text.startswith("Graded: submitted.py, which was not saved in this session.\n")


def test_a_traceback_names_the_cell_and_its_lines(session: Session) -> None:
    """Catches: "Cell In[8], line 2" for line 3 of the cell that is labelled [7]."""
    number = int(session.run("print(len(In) - 1)").printed)
    cell = session.run(f"%%grade total\n{RIGHT}1 / 0")
    assert f"In[{number + 1}], line 4" in cell.trace
    cell = session.run("%%grade total\nx = 1\ndef total(:")
    assert f"In[{number + 2}], line 3" in cell.trace
    assert not session.run(f"%%grade total\n%%time\n{RIGHT}").error
    cell = session.run("%%grade total\n1 + 1")
    shown = [content for content in map(json.loads, session.messages) if content.get("data", {}).get("text/plain") == "2"]
    assert [content["execution_count"] for content in shown] == [number + 4]


def test_a_class_is_looked_for_where_it_was_graded_from() -> None:
    """Catches: a student who looks for a missing method in the saved file, where it is, because an old cell was graded."""
    missing = "Is `count` set before this line, spelled in the same way, and, if it is a method, indented inside the class "
    checks = [
        CheckResult(id="", question="", suite="visible", title="", max_points=0, message=f"{missing}{name}?") for name in "AB"
    ]
    report = every_outcome()
    report.checks = checks
    name_classes(report, {"A": "In [25]"})
    assert [check.message for check in checks] == [f"{missing}A of In [25]?", f"{missing}B?"]


@pytest.mark.parametrize(
    "cell",
    [
        "import submitted\nclass Counter(submitted.Counter):\n    pass",
        "from submitted import Counter as Base\nclass Counter(object, Base):\n    def count(self):\n        return 1",
        "class Counter:\n    pass\nclass Counter(Counter):\n    pass",
    ],
)
def test_a_subclass_of_what_is_graded_is_refused(cell: str) -> None:
    """Catches: the verdict on the method in the saved file, under a cell that overrides it."""
    with pytest.raises(UsageError, match=r"In \[2\] defines Counter as a subclass of another Counter"):
        refuse_subclasses([(1, "class Counter:\n    pass"), (2, cell)], ["total", "Counter"], "submitted.py")


@pytest.mark.parametrize(
    "cell", ["class Counter:\n    pass", "class Counter(nn.Module):\n    pass", "class Other(Counter): pass"]
)
def test_a_whole_class_is_graded(cell: str) -> None:
    """Catches: a class refused because of an earlier cell, or because it has a base at all."""
    earlier = "class Counter(submitted.Counter):\n    pass" if "Other" not in cell else "class Counter:\n    pass"
    refuse_subclasses([(1, earlier), (2, cell)], ["total", "Counter"], "submitted.py")


def test_a_method_without_its_class_is_named() -> None:
    """Catches: the verdict on the saved file, and no word of a cell that defines only the method."""
    points = QuestionPoints(visible=1, hidden=0)
    question = Question(id="Counter.count", title="t", function="Counter.count", task="t", points=points)
    for cell, said in (("def count(self):\n    return 1", 1), ("def count(values):\n    return 1", 0), ("x = 1", 0)):
        found = find_bare_methods([(1, "y = 1"), (7, cell)], [question])
        assert len(found) == said
        assert all("In [7] defines count outside a class" in remark for remark in found)


def test_a_helper_that_only_a_cell_redefines_is_named(session: Session) -> None:
    """Catches: the verdict on the file's own helper, and no word of the one that the student has just run."""
    path = session.folder / "submitted.py"
    helper = "def added(values):\n    # a sum\n    return sum(values)\n"
    path.write_text(f"{helper}\n\ndef total(values):\n    return added(values) + 1\n")
    session.run(f"{helper}\nadded([1])")
    assert "redefines" not in session.run("%grade total").text
    number = session.run("print(len(In) - 1)").printed.strip()
    session.run("x = 1\ndef added(\n    values,\n):\n\n    return sum(values) - 1\n")
    told = " ".join(session.run("%grade total").text.split())
    assert f"In [{int(number) + 1}] redefines added, but the one in submitted.py was graded" in told
    assert "got 4.5" in told
    session.run("def total(values):\n    return added(values) + 1")
    cell = session.run("%grade total")
    assert "redefines" not in cell.text
    assert "✓ total" in cell.text


def test_a_function_in_progress_is_called_unfinished(session: Session) -> None:
    """Catches: "not started" under a function that somebody is writing, and its task told twice."""
    path = session.folder / "submitted.py"
    path.write_text(
        path.read_text().replace("    raise NotImplementedError", "    begun = 1\n    raise NotImplementedError", 1)
    )
    cell = session.run("%grade total")
    assert "~ total  0/2  unfinished" in cell.text
    assert cell.text.count("NotImplementedError") == 1
    assert "~ unfinished" in Parsed(cell.html).text


def test_what_is_needed_is_named(session: Session) -> None:
    """Catches: 4 of 4 points under a question of one point, and nothing that says where they come from."""
    cell = session.run(f"{RIGHT}\ndef spread(values, scale=1.0):\n    return (max(values) - min(values)) * scale\n%grade both")
    assert "Graded first, and passed: total, spread." in cell.text


def test_where_an_exception_was_raised(session: Session) -> None:
    """A line of the file that the grader has made is a line that the student cannot find."""
    path = session.folder / "submitted.py"
    path.write_text("\n\ndef spread(values, scale=1.0):\n    return [][1]\n")
    number = session.run("print(len(In) - 1)").printed.strip()
    session.run("def total(values):\n    return {}[values[0]]")
    text = session.run("%grade").text
    assert f"cell {int(number) + 1}, line 2, in total" in text
    assert re.search(r"^ *line 4, in spread", text, re.MULTILINE)


def test_an_exception_in_the_cell_breaks_nothing(session: Session) -> None:
    """What a cell has defined before it failed is defined; of one that is not Python nothing is, and nothing is graded."""
    cell = session.run(f"%%grade total\n{RIGHT}1 / 0")
    assert cell.error == "ZeroDivisionError"
    assert "✓ total" in cell.text
    assert "The cell raised ZeroDivisionError, as shown above." in cell.printed  # the verdict is not on what it left undone
    cell = session.run("%%grade total\ndef total(:\n")
    assert (cell.error, cell.text) == ("SyntaxError", "")
    cell = session.run("%grade")
    assert "✓ total" in cell.text
    assert "not valid Python" not in cell.text
    assert "there is no question 'nothing'" in session.run("%grade nothing").text
    assert "-k is an option, not a question; there are: total" in session.run("%grade -k total").text


def test_a_missing_name_of_the_file_is_found(session: Session) -> None:
    """Catches: a function copied from the file, whose default argument the cell does not know, and no word about the import."""
    (session.folder / "submitted.py").write_text(f"SCALE = 1.0\n{RIGHT}")
    copied = "%%grade total\ndef total(values, scale=SCALE):\n    return sum(values)"
    assert "is defined in" not in session.run(copied).printed  # the file has not been imported
    session.run("import submitted")
    assert (
        "`SCALE` is defined in submitted.py. To use it in this cell, begin with: from submitted import SCALE"
        in session.run(copied).printed
    )
    for cell in ("%%grade total\nanother", "%%grade total\n[].total"):
        assert "is defined in" not in session.run(cell).printed


def test_nothing_hidden_reaches_the_kernel(session: Session) -> None:
    """The kernel runs the student's code: what it never gets, it cannot show. Hidden checks cannot even be read here."""
    session.run(f"{RIGHT}\ndef spread(values, scale):\n    return 1")
    cell = session.run("%grade")
    assert "2 more points are graded after submission" in cell.text
    for word in ("no_values", "sum of nothing", "default_scale", "hidden checks were read"):
        assert word not in "".join(session.messages)
    loaded = session.run("import sys; print(sorted(name for name in sys.modules if name.split('.')[0] == 'grader'))").printed
    assert "grader.judge" not in loaded
    assert "grader.report" not in loaded


def test_what_a_student_prints_is_no_markup(session: Session) -> None:
    """A notebook trusts what its own cells show: what a submission prints must not become a script in it."""
    cell = session.run(f"%%grade total\ndef total(values):\n    print({HOSTILE!r})\n    raise ValueError({HOSTILE!r})")
    assert not {"script", "img"} & {tag for tag, _ in Parsed(cell.html).elements}
    assert "49" not in Parsed(cell.html).text


def test_an_interrupted_cell_leaves_a_grader_that_works(session: Session) -> None:
    """An endless loop that is interrupted must not hold up the next verdict, nor give it its own answer."""
    session.run("%%grade total\ndef total(values):\n    while True: pass", until=LOOPS)
    os.kill(session.manager.provisioner.process.pid, signal.SIGINT)  # type: ignore[union-attr]
    while (message := session.client.get_iopub_msg(timeout=PATIENCE))["msg_type"] != "error":
        pass
    assert message["content"]["traceback"] == ["Grading was interrupted. Run the cell again to grade."]
    while not session.run("print(1)").printed:  # what was sent before it has ended is given up with it
        time.sleep(0.1)
    assert "✓ total" in session.run(f"%%grade total\n{RIGHT}").text


def test_changed_checks_are_read_anew(session: Session, folder: Path) -> None:
    """A verdict by checks that were corrected meanwhile would send a student after a mistake that is none."""
    before = session.child()
    checks = folder.parents[1] / "tests" / "visible" / "test_toy.py"
    text = checks.read_text()
    try:
        checks.write_text(text.replace("1.5 - 2 + 4 is 3.5.", "A new title."))
        assert "A new title." in session.run(f"%%grade total\n{WRONG}").text
    finally:
        checks.write_text(text)
    assert ended(before)


def test_a_grader_that_ended_is_started_again(session: Session) -> None:
    """After ten idle minutes it is gone; the next cell must not hear of that."""
    before = session.child()
    os.kill(before, signal.SIGKILL)
    assert "✓ total" in session.run(f"%%grade total\n{RIGHT}").text
    assert session.child() != before


def test_a_missing_package_is_installed_by_one_line(tmp_path: Path) -> None:
    """Catches: a traceback of the kit under the cell, and a `pip` that installs for another Python than the kernel's."""
    for name in ("assignment.toml", "requirements.txt"):
        (tmp_path / name).touch()
    missing = tmp_path / "without"
    missing.mkdir()
    (missing / "pydantic.py").write_text("raise ModuleNotFoundError(\"No module named 'pydantic'\", name='pydantic')")
    session = Session(tmp_path, path=os.pathsep.join([str(missing), str(ROOT)]))
    try:
        session.run("%load_ext grader")
        said = session.run("%grade").text
    finally:
        session.end()
    assert said.startswith(f"{sys.executable} has no module 'pydantic'; run `%pip install -r requirements.txt` in a cell")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("forked", [False, True], ids=["alone", "a fork stays"])
def test_the_grader_dies_with_a_killed_kernel(folder: Path, forked: bool) -> None:
    """A kernel that is killed can end nothing itself; a fork of it, as of a data loader, keeps the pipe open."""
    session = Session(folder)
    try:
        session.run("%load_ext grader")
        child = session.child()
        fork = "import os, time\nfork = os.fork()\nif not fork:\n    time.sleep(1000)\n    os._exit(0)\nprint(fork)"
        left = int(session.run(fork).printed) if forked else None
        session.run("%%grade total\ndef total(values):\n    while True: pass", until=LOOPS)
        os.kill(session.manager.provisioner.process.pid, signal.SIGKILL)  # type: ignore[union-attr]
        assert ended(child)
        if left is not None:
            os.kill(left, signal.SIGKILL)
    finally:
        session.end()


def test_it_ends_when_nothing_is_asked(folder: Path) -> None:
    """A kernel that is left open over night must not hold 300 MB of a grader."""
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from grader.desk import verdicts\n"
        "verdicts.IDLE_SECONDS = 0.2\n"
        "verdicts.main(*sys.argv[2:])\n"
    )
    command = [sys.executable, "-c", script, str(ROOT), str(folder.parents[1]), str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        assert process.wait(PATIENCE) == 0


def test_a_notebook_that_was_made_for_it(session: Session, tmp_path: Path) -> None:
    """A notebook that somebody opens elsewhere, or a cell for which no magic is there, must run all the same."""
    questions = AssignmentFiles(session.folder.parents[1], "toy").assignment.questions
    made = make_notebook("# %% setup\n# %load_ext grader\n# %% one\nimport submitted\nsubmitted.total([1])\n", questions)
    texts = [cell.source for cell in nbformat.reads(made, as_version=4).cells]
    (session.folder / "submitted.py").write_text(WRONG)
    assert [session.run(text).error for text in texts] == [""] * 3
    assert "got 4.5" in session.run(texts[2]).text
    alone = Session(tmp_path, path="")
    (tmp_path / "submitted.py").write_text(WRONG)
    try:
        assert not alone.run(texts[0]).error
        alone.run(texts[1])
        assert "run `python grade.py total`" in alone.run(texts[2]).printed
        (tmp_path / "submitted.py").write_text(f"{RIGHT}# longer\n")
        assert alone.run("print(submitted.total([1]))").printed == "1\n"
        cell = alone.run("%%grade total\nprint(40 + 2)")
        assert cell.error == ""
        assert re.match(r"42\nnot graded: .*`python grade.py total`", cell.printed)
    finally:
        alone.end()


AUTORELOADS = {
    "alone": "%reload_ext grader",
    "autoreload before": "%load_ext autoreload\n%autoreload 2\n%reload_ext grader",
    "autoreload after": "%reload_ext grader\n%load_ext autoreload\n%autoreload 2",
    "autoreload of it": "%reload_ext grader\n%load_ext autoreload\n%autoreload 2\n%aimport submitted",
}
MODULE = """import functools


def traced(function):
    @functools.wraps(function)
    def call(*args):
        return function(*args)

    return call


def total(values):
    return 1


class Counter:
    @traced
    def count(self):
        return 1

    def fail(self):
        raise KeyError
"""


@pytest.fixture(params=AUTORELOADS)
def reloads(request: pytest.FixtureRequest, folder: Path, built_toy: Path) -> Iterator[Session]:
    """A kernel that has loaded the grader, and perhaps autoreload, and has imported MODULE."""
    session = Session(folder)
    (folder / "submitted.py").write_text(MODULE)
    session.run(AUTORELOADS[request.param])
    session.run("import submitted\nfrom submitted import Counter, total as t\ncounter = Counter(); kept = [submitted.total]")
    session.run("class Mine(Counter): pass")
    yield session
    session.end()
    shutil.copy(built_toy / "assignments" / "toy" / "submitted.py", folder)


def test_a_saved_file_is_loaded_again(reloads: Session) -> None:
    """Catches: a decorated method that keeps its old body, tracebacks to lines of the old file, and names from old modules."""
    path = reloads.folder / "submitted.py"
    path.write_text(f"# one more line\n{MODULE.replace('return 1', 'return 2')}")
    for call in ("submitted.total(0)", "t(0)", "kept[0](0)", "Counter().count()", "counter.count()", "Mine().count()"):
        assert (call, reloads.run(f"print({call})").printed) == (call, "2\n")
    assert reloads.run("print(isinstance(counter, submitted.Counter), Counter is submitted.Counter)").printed == "True True\n"
    for call in ("submitted.Counter().fail()", "counter.fail()"):
        trace = reloads.run(call).trace
        assert re.search(r"submitted\.py:23, in|submitted\.py in fail", trace)  # the second form is that of IPython 7
        assert re.search(r"^-+> 23 +raise KeyError$", trace, re.MULTILINE)
    path.write_text(f"{MODULE.replace('return 1', 'return 3')}")
    assert reloads.run("print(t(0), counter.count(), Mine().count())").printed == "3 3 3\n"
    assert re.search(r"^-+> 22 +raise KeyError$", reloads.run("counter.fail()").trace, re.MULTILINE)


def test_a_file_that_cannot_be_loaded_is_named(session: Session) -> None:
    """Catches: a page of the reloader's own traceback, or a module that is half the old one after an error."""
    path = session.folder / "submitted.py"
    path.write_text(MODULE)
    session.run("%reload_ext grader\nimport submitted, sys, importlib; importlib.reload(submitted)")
    for text, said in (
        (f"{MODULE}\ndef later(:\n", r"submitted\.py was not loaded again: SyntaxError in line 24: .+\n"),
        (f"\nlater = 1\n{MODULE}\nundefined\n", r"submitted\.py was not loaded again: NameError in line 26: name 'unde.+\n"),
        (f"{MODULE}\nraise SystemExit\n", r"submitted\.py was not loaded again: SystemExit in line 24\n"),
    ):
        path.write_text(text)
        for _ in range(2):  # as long as it is so
            printed = session.run("print(submitted.total(0), hasattr(submitted, 'later'))").printed
            assert re.search(f"{said}The cells use the version that was loaded before", printed)
            assert "1 False\n" in printed
            assert len(printed.splitlines()) == 3
    printed = session.run("%%grade total\nx = 1").printed
    assert printed.count("was not loaded again") == 1
    path.write_text(MODULE.replace("def total", "def renamed"))
    assert session.run("print(hasattr(submitted, 'total'), submitted.renamed(0))").printed == "False 1\n"
    session.run("del sys.modules['submitted'], submitted")


def test_loading_costs_nothing_that_a_kernel_has_not() -> None:
    """A notebook that cannot import pydantic or pytest in its first cell would stop there, before anything is graded."""
    script = (
        "import sys, IPython; before = set(sys.modules); import grader.desk.magic; print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {"pydantic", "pytest", "numpy", "torch", "rich"} & {*done.stdout.split()}
