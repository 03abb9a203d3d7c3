"""Plain pytest in a released folder: the judge's results under pytest's names, for terminals, test panels and debuggers."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.assignment import AssignmentFiles
from grader.desk import visible
from grader.desk.pytest_plugin import is_debugger_attached
from grader.packing.release import FOR_EDITORS, collect_student_files
from tests.kit.patience import PATIENCE
from tests.kit.terminals import run_in_terminal

pytestmark = pytest.mark.recorded

INPUTS = {
    "*": ("grade.py", "grader/desk/pytest_plugin.py", "tests/visible/conftest.py"),
    "test_a_failure_reads_as_in_the_report": ("released:grader",),
    "test_wherever_pytest_is_started": ("released:grader",),
    "test_pdb_stands_in_the_students_function": ("released:grader",),
    "test_a_breakpoint_in_the_students_file_is_hit": ("released:grader",),
    "test_checks_of_a_real_assignment": (
        "released:grader",
        "grading:policy_gradient",
        "assignments/policy_gradient/notebook.ipynb",
        "utils.py",
    ),
    "test_checks_of_this_repository": ("tests/visible/test_policy_gradient.py", "tests/views/*.py"),
}

ROOT = Path(__file__).resolve().parents[2]
SUITE = "tests/visible/test_toy.py"
SPREAD = "\n\ndef spread(values, scale=1.0):\n    return (max(values) - min(values)) * scale\n"
RIGHT = f"def total(values):\n    return sum(values){SPREAD}"
WRONG = f"def total(values):\n    print('so many:', len(values))\n    first = 17\n    return first{SPREAD}"

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def released(built_toy: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that students of the toy unpack, but with the grader of this repository; to be copied, not changed."""
    folder = tmp_path_factory.mktemp("released") / "toy"
    write_released(built_toy, tmp_path_factory.mktemp("kit") / "kit", folder, ("grade.py", "pyproject.toml"))
    (folder / "grader").symlink_to(ROOT / "grader")
    return folder


def write_released(built_toy: Path, root: Path, folder: Path, links: tuple[str, ...]) -> None:
    """Write what students unpack to `folder`; the kit that it is taken from is made in `root`, with links to these files."""
    shutil.copytree(built_toy, root)
    for name in links:
        (root / name).symlink_to(ROOT / name)
    for name, content in collect_student_files(AssignmentFiles(root, "toy")).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


@pytest.fixture
def folder(released: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(released, tmp_path / "toy", symlinks=True))


@pytest.fixture
def unpacked(built_toy: Path, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same folder with the grader that students get: files that it lacks are missed."""
    shutil.rmtree(folder)
    write_released(built_toy, tmp_path_factory.mktemp("kit") / "kit", folder, ("grader", "grade.py", "pyproject.toml"))
    return folder


def environment(**more: str) -> dict[str, str]:
    """Return an environment that says nothing about pytest, with a wide terminal."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_", "CI", "BUILD_NUMBER"))}
    return kept | {"COLUMNS": "160", "NO_COLOR": "1", **more}


@pytest.fixture
def run(folder: Path) -> Run:
    """Run pytest in a student's folder, with this text as the submission, or the stub."""

    def start(text: str | None, *arguments: str, keys: str = "", module: bool = True, **more: str) -> Any:
        if text is not None:
            (folder / "submitted.py").write_text(text)
        command = [sys.executable, "-m", "pytest"] if module else [str(Path(sys.executable).with_name("pytest"))]
        return subprocess.run(
            [*command, *arguments],
            cwd=folder,
            env=environment(**more),
            input=keys,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )

    return start


def test_a_stub_is_skipped_and_says_what_to_write(run: Run) -> None:
    """A student who has not begun must not read 4 errors about fixtures; `pytest` finds the grader without `python -m`."""
    done = run(None, "-rs", module=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "4 skipped" in done.stdout
    assert f"SKIPPED [2] {SUITE}: total is not started: return the sum of all values" in done.stdout
    assert "Start with: total (Total)\nvisible checks: 0/4 points" in done.stdout
    assert "· spread     0/1  not started" in done.stdout


def test_a_failure_reads_as_in_the_report(run: Run, unpacked: Path) -> None:
    """The student's words come from one place; a traceback of the kit's own code would hide them."""
    done = run(WRONG, "-v")
    graded = subprocess.run([sys.executable, "grade.py"], cwd=unpacked, capture_output=True, text=True, check=True).stdout
    body = textwrap.dedent(graded.partition("total: Total (")[2].partition("\n")[2].partition("\n  ✗ The sum of nine")[0])
    assert body.startswith("✗ 1.5 - 2 + 4 is 3.5. (failed, 0 of 1 point; -k three)\n    total: expected 3.5, got 17")
    assert "    | so many: 3" in body
    assert body.rstrip() in done.stdout
    assert "pytest_plugin" not in done.stdout
    assert "AssertionError" not in done.stdout
    assert f"\nFAILED {SUITE}::test_three - total: expected 3.5, got 17" in done.stdout
    assert f"{SUITE}::test_spread PASSED (1 of 1 point)" in done.stdout
    assert f"{SUITE}::test_both SKIPPED (not run: first total must pass)" in done.stdout
    assert "Fix first: total (Total)\nvisible checks: 1/4 points" in done.stdout
    assert done.returncode == 1


def test_values_that_a_case_was_made_from_are_not_shown(run: Run) -> None:
    """Only the first failure of a question is traced. The others must not show inputs that the function never received."""
    done = run(WRONG)
    assert "    total received (case three_values):\n      values = [1.5, -2, 4]" in done.stdout
    assert ", got 17\n    Run this check alone to see what total received: -k many\n" in done.stdout
    assert "Input of" not in done.stdout
    done = run(WRONG, "-k", "many")
    assert "total received (case many_values):\n" in done.stdout
    assert "Run this check alone" not in done.stdout


def test_an_encoding_without_the_marks(run: Run) -> None:
    """Catches: a summary on one line, in which pytest has replaced line breaks and marks by escapes, as for cp1252."""
    done = run(WRONG, PYTHONIOENCODING="cp1252", PYTHONUTF8="0")
    assert "\nx total  " in done.stdout
    assert "\n+ spread " in done.stdout
    assert "\\u2717" not in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals there")
def test_failures_are_wrapped_to_the_terminal(folder: Path) -> None:
    """Catches: lines that the terminal breaks in column 0, because pytest prints a failure as it is."""
    (folder / "submitted.py").write_text(f"def total(values):\n    raise ValueError('one of many words ' * 9){SPREAD}")
    lines = run_in_terminal([sys.executable, "-m", "pytest", "--color=no", "-rN"], 60, folder)
    failures = lines[next(number for number, line in enumerate(lines) if "= FAILURES =" in line) :]
    assert max(map(len, failures)) <= 60, "\n".join(lines)
    assert [line for line in failures if line.startswith("      ") and line.endswith("one of many")], "\n".join(lines)


def test_a_missing_package_is_one_line(folder: Path) -> None:
    """Catches: fifty lines of pytest's own code where a package is missing, which --check-install can install."""
    script = "import sys, pytest; sys.modules['pydantic'] = None; sys.exit(pytest.main([]))"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=PATIENCE)
    said = done.stdout + done.stderr
    assert done.returncode == pytest.ExitCode.USAGE_ERROR, said
    assert f"{sys.executable} has no module 'pydantic'; " in said
    assert "Traceback" not in said
    assert "INTERNALERROR" not in said


def test_an_older_pytest_is_named(run: Run) -> None:
    """Catches: a TypeError of a pytest that lacks what the plugin needs; pytest compares its own version with pytest.ini."""
    done = run(None, "-o", "minversion=99.0")
    assert "requires pytest-99.0" in done.stderr, "pytest reads the setting before the plugin"
    assert "minversion = 8.0" in FOR_EDITORS["pytest.ini"]


def test_hints_are_those_of_the_whole_question(run: Run) -> None:
    """What a mistake is taken for depends on all checks of its question, also on those that pytest reports later."""
    done = run(f"def total(values):\n    return 1.0 + sum(values){SPREAD}", "-x")
    assert "Ask yourself: What is the sum before the first value was added?" in done.stdout
    assert "1 failed" in done.stdout


def test_selection_is_that_of_pytest(run: Run) -> None:
    """One check is run by its id or a word, alone: what it would need in a whole run counts as there, as with grade.py -k."""
    assert "1 failed" in run(WRONG, f"{SUITE}::test_many").stdout
    assert "1 passed" in run(WRONG, f"{SUITE}::test_spread").stdout
    done = run(WRONG, f"{SUITE}::test_both")
    assert "1 failed" in done.stdout
    assert "visible checks: 0/1 points" in done.stdout
    assert "1 failed, 3 deselected" in run(WRONG, "-k", "three").stdout
    assert "1 failed" in run(WRONG, "-x").stdout
    assert "2 failed, 2 deselected" in run(WRONG, "-k", "total").stdout, "a question's id stands for its checks"


def test_parametrized_checks(run: Run, folder: Path) -> None:
    """Each value is a check of its own, whose id runs it."""
    path = folder / SUITE
    begin, end = '@points(1, question="total")\ndef test_three', '@points(1, question="total")\ndef test_many'
    new = '''import pytest


@pytest.mark.parametrize("name", ["three_values", "many_values"])
@points(0.5, question="total")
def test_three(student, name):
    """Sums."""
    student.expect(name)


'''
    before, _, rest = path.read_text().partition(begin)
    path.write_text(before + new + end + rest.partition(end)[2])
    text = f"def total(values):\n    return sum(values[:3]){SPREAD}"
    done = run(text, f"{SUITE}::test_three[many_values]", f"{SUITE}::test_three[three_values]", "-v")
    assert "test_three[many_values] FAILED" in done.stdout
    assert "test_three[three_values] PASSED (0.5 of 0.5 points)" in done.stdout


def test_last_failed(run: Run) -> None:
    """--lf goes by what pytest has seen, so a check that is right now is not run again."""
    assert "2 failed, 1 passed, 1 skipped" in run(WRONG).stdout
    assert "2 passed" in run(RIGHT, "--lf").stdout
    assert "4 passed" in run(RIGHT, "--lf").stdout


def test_in_several_processes(run: Run) -> None:
    """pytest-xdist deals checks of one question to several processes; the results are the same, and so is the summary."""
    pytest.importorskip("xdist")
    done = run(WRONG, "-n", "2")
    assert "2 failed, 1 passed, 1 skipped" in done.stdout
    assert f"FAILED {SUITE}::test_three - total: expected 3.5, got 17" in done.stdout
    assert "visible checks: 1/4 points" in done.stdout


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def total(:\n", "your file is not valid Python"),
        ("import no_such_library\n", "your file cannot be imported: ModuleNotFoundError"),
    ],
)
def test_a_file_that_does_not_load_is_explained_once(run: Run, text: str, words: str) -> None:
    """Four times the same lines would hide that there is one thing to mend."""
    done = run(text, "-rN")
    assert "4 failed" in done.stdout
    assert done.stdout.count(f"    as test_three: {words}") == 3
    done = run(text, f"{SUITE}::test_spread", "-rN")
    assert "as test_three" not in done.stdout
    assert words in done.stdout


def test_what_cannot_be_graded_is_one_line(run: Run, folder: Path) -> None:
    """A missing file is no internal error."""
    (folder / "submitted.py").unlink()
    done = run(None)
    assert "4 failed" in done.stdout
    assert "submitted.py" in done.stdout.partition("FAILURES")[2]
    assert "Traceback" not in done.stdout + done.stderr


def test_an_endless_loop_ends(run: Run, folder: Path) -> None:
    """The limits of the sandbox hold here as well."""
    toml = folder / "assignment.toml"
    toml.write_text(toml.read_text().replace("\n[[questions]]", "\n[limits]\nseconds = 1.0\n\n[[questions]]", 1))
    done = run("def total(values):\n    while True:\n        pass\n", f"{SUITE}::test_three")
    assert "stopped at the time limit of 1 second: is there an infinite loop?" in done.stdout


def test_collecting_is_cheap_and_shows_titles(folder: Path) -> None:
    """A test panel collects at every save: without torch, without a sandbox, without the student's file."""
    (folder / "submitted.py").write_text("raise SystemExit('imported')\n")
    script = (
        "import pytest, sys\n"
        "code = pytest.main(['--collect-only', '-v'])\n"
        "print(code, {'torch', 'submitted', 'drivers', 'grader.sandbox.forked', 'grader.desk.debug'} & sys.modules.keys())\n"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout.endswith("0 set()\n")
    assert "<Function test_three>\n          1.5 - 2 + 4 is 3.5." in done.stdout


def test_wherever_pytest_is_started(unpacked: Path) -> None:
    """An editor may have opened the folder above, or run a file from its own folder."""
    (unpacked / "submitted.py").write_text(RIGHT)
    for place, path in ((unpacked.parent, "toy"), (unpacked.parent, "."), (unpacked / "tests" / "visible", ".")):
        command = [str(Path(sys.executable).with_name("pytest")), path, "-p", "no:cacheprovider"]
        done = subprocess.run(command, cwd=place, env=environment(), capture_output=True, text=True, timeout=PATIENCE)
        assert "4 passed" in done.stdout, done.stdout + done.stderr


def test_checks_of_this_repository() -> None:
    """The files of checks are found here as well, beside pytest's settings for the kit's own tests."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "tests/visible/test_policy_gradient.py",
        "-k",
        "tail or clipped_value",
        "--collect-only",
    ]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=PATIENCE)
    assert "2/53 tests collected" in done.stdout, done.stdout + done.stderr


COUNTING = """
import os, pathlib, sys

servers, started = (os.path.join("sandbox", "server.py"), os.path.join("sandbox", "loop.py")), []

def hear(event, details):
    if event == "subprocess.Popen":
        started.extend(word for word in map(str, details[1]) if word.endswith(servers))

sys.addaudithook(hear)

def pytest_unconfigure(config):
    pathlib.Path(os.environ["SEEN"]).write_text(str(len(started)))
"""


def test_checks_of_a_real_assignment(tmp_path: Path) -> None:
    """Catches: what the toy lacks, such as torch, views and support files; and a sandbox that starts anew for each question."""
    folder = tmp_path / "policy_gradient"
    for name, content in collect_student_files(AssignmentFiles(ROOT, "policy_gradient")).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    text = (ROOT / "solutions" / "policy_gradient" / "submitted.py").read_text(encoding="utf-8")
    wrong = "\n\ndef get_value_net_loss(value_net, observation, returns, **kwargs):\n    return value_net(observation).mean()\n"
    (folder / "submitted.py").write_text(text + wrong, encoding="utf-8")
    (tmp_path / "counting.py").write_text(COUNTING)
    more = {"PYTHONPATH": str(tmp_path), "SEEN": str(tmp_path / "seen.txt")}
    command = [sys.executable, "-m", "pytest", "-p", "counting", "-k", "get_returns or get_value_net_loss"]
    done = subprocess.run(command, cwd=folder, env=environment(**more), capture_output=True, text=True, timeout=PATIENCE)
    assert "✓ get_returns            6/6  passed" in done.stdout, done.stdout + done.stderr
    assert "3 failed, 7 passed, 43 deselected" in done.stdout
    assert "get_value_net_loss received (case " in done.stdout
    assert done.stdout.count("weights = ") == 1, "below what the function received, of the first failure alone"
    assert done.stdout.count("Run this check alone to see what get_value_net_loss received: -k ") == 2
    assert (tmp_path / "seen.txt").read_text() == "1"


# How VS Code's adapter (vscode_pytest) listens: its hooks, without its pipe.
ADAPTER = """
import json, os, pathlib, pytest

seen = {"tree": [], "outcomes": {}}

def pytest_collection_finish(session):
    for item in session.items:
        chain, node = [], item.parent
        while node is not None:
            chain.append(type(node).__name__)
            node = node.parent
        seen["tree"].append([item.nodeid, item.name, str(item.path), item.location[1] + 1, chain, hasattr(item, "callspec")])

@pytest.hookimpl(hookwrapper=True, trylast=True)
def pytest_runtest_protocol(item, nextitem):
    seen["outcomes"].setdefault(item.nodeid, ["started"])
    yield

def pytest_exception_interact(node, call, report):
    kind = "failure" if call.excinfo.typename == "AssertionError" else "error"
    seen["outcomes"][node.nodeid].append([kind, report.longreprtext])

def pytest_report_teststatus(report, config):
    if report.when == "call":
        value = "success" if report.passed else "failure" if report.failed else "skipped"
        seen["outcomes"][report.nodeid].append([value, report.longreprtext if report.failed else None])

def pytest_sessionfinish(session):
    pathlib.Path(os.environ["SEEN"]).write_text(json.dumps(seen))
"""


def test_as_the_adapter_of_vs_code_sees_it(run: Run, folder: Path, tmp_path: Path) -> None:
    """Its hook for outcomes is one that the first answer ends: a plugin that answers leaves the panel without any result."""
    (tmp_path / "adapter.py").write_text(ADAPTER)
    listen = ("-p", "adapter", f"--rootdir={folder}")
    run(WRONG, *listen, SEEN=str(tmp_path / "seen.json"), PYTHONPATH=str(tmp_path))
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert [entry[1] for entry in seen["tree"]] == ["test_three", "test_many", "test_spread", "test_both"]
    for nodeid, name, path, line, chain, has_parameters in seen["tree"]:
        assert nodeid == f"{SUITE}::{name}"
        assert Path(path) == folder / SUITE
        assert f"def {name}" in "".join(Path(path).read_text().splitlines(keepends=True)[line - 1 : line + 1])
        assert (chain[0], chain[-1], has_parameters) == ("Module", "Session", False)
    outcomes = seen["outcomes"]
    assert [entry[0] for entry in outcomes[f"{SUITE}::test_three"][1:]] == ["failure", "failure"]
    assert outcomes[f"{SUITE}::test_three"][1][1].startswith("✗ 1.5 - 2 + 4 is 3.5. (failed")
    assert outcomes[f"{SUITE}::test_spread"] == ["started", ["success", None]]
    assert outcomes[f"{SUITE}::test_both"] == ["started", ["skipped", None]]


@pytest.mark.usefixtures("unpacked")
def test_pdb_stands_in_the_students_function(run: Run) -> None:
    """`pytest --pdb` after a failure would stand in the plugin's own code, where nothing of the student's is."""
    done = run(WRONG, "--pdb", "--tb=no", keys="n\np first + len(values)\nc\np len(values)\nc\n")
    first, second = done.stdout.partition("case many_values")[::2]
    assert "->\t    print('so many:', len(values))" in first
    assert "case three_values" in first
    assert "(Pdb) 9" in second
    assert "2 failed, 1 passed, 1 skipped" in second
    assert "pytest_plugin" not in done.stdout
    done = run(WRONG, "--pdb", keys="q\n")
    assert "left the debugger" in done.stdout
    assert "case many_values" not in done.stdout
    assert "visible checks: 0/1 points" in done.stdout, "the check that was left counts in the summary as what it is"


@pytest.mark.parametrize("stop", ["breakpoint()", "import pdb; pdb.set_trace()"])
def test_a_breakpoint_does_not_hide_the_failure(run: Run, stop: str) -> None:
    """Catches: "no keyboard is connected here" of the sandbox, just before a debugger with a keyboard starts."""
    text = WRONG.replace("first = 17\n", f"first = 17\n    {stop}\n")
    done = run(text, "--pdb", "-k", "three or spread", keys="c\np first + len(values)\nc\n")
    assert "(Pdb) 20" in done.stdout
    assert "total: expected 3.5, got 17" in done.stdout
    assert "BdbQuit" not in done.stdout
    assert "to stop in others as well: pytest --trace -k NAME" in done.stdout
    done = run(text, "-k", "three")
    assert "step through with `python grade.py --debug total`" in done.stdout, "a command that works when it is typed"


def test_trace_looks_at_what_passes(run: Run) -> None:
    """`pytest --trace` stops in every test."""
    done = run(RIGHT, "--trace", "-k", "spread", keys="p scale\nc\n")
    assert "(Pdb) 3.0" in done.stdout
    assert "1 passed" in done.stdout


class DebugAdapter:
    """The end of VS Code: what it says to debugpy, in the debug adapter protocol."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [
            sys.executable,
            "-Xfrozen_modules=off",
            "-m",
            "debugpy",
            "--listen",
            f"127.0.0.1:{port}",
            "--wait-for-client",
        ]
        self.output = folder.parent / "output.txt"  # no pipe: processes of debugpy would hold it open
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [*command, "-m", "pytest", *arguments], cwd=folder, env=environment(), stdout=output, stderr=subprocess.STDOUT
            )
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self.connection = socket.create_connection(("127.0.0.1", port), 60)
                break
            except OSError:
                assert time.monotonic() < end, "debugpy does not listen"
                time.sleep(0.1)
        self.stream = self.connection.makefile("rwb")
        self.sent = 0

    def send(self, command: str, **arguments: Any) -> None:
        self.sent += 1
        body = json.dumps({"seq": self.sent, "type": "request", "command": command, "arguments": arguments}).encode()
        self.stream.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.stream.flush()

    def until(self, kind: str, name: str) -> dict[str, Any]:
        """Return the body of the next event, or response, of this name."""
        while True:
            headers = iter(lambda: self.stream.readline().strip(), b"")
            size = next(int(line.split(b":")[1]) for line in list(headers) if line.lower().startswith(b"content-length"))
            message = json.loads(self.stream.read(size))
            if message["type"] == kind and message.get("event", message.get("command")) == name:
                body: dict[str, Any] = message.get("body", {})
                return body

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        self.send(command, **arguments)
        return self.until("response", command)

    def end(self) -> str:
        """Return what pytest has printed, once it has ended."""
        self.process.wait(60)
        return self.output.read_text()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self.stream.close()
        self.connection.close()  # then debugpy's adapter ends as well


@pytest.fixture
def debugged(folder: Path) -> Iterator[Callable[..., DebugAdapter]]:
    """Debug pytest in the student's folder, as Debug Test does with the settings that the folder brings."""
    pytest.importorskip("debugpy")
    opened = []

    def start(text: str, line: int, *arguments: str, **settings: Any) -> DebugAdapter:
        (folder / "submitted.py").write_text(text)
        adapter = DebugAdapter(folder, *arguments)
        opened.append(adapter)
        adapter.ask("initialize", adapterID="test", linesStartAt1=True, pathFormat="path")
        adapter.send("attach", **settings)
        adapter.until("event", "initialized")
        adapter.ask("setBreakpoints", source={"path": str(folder / "submitted.py")}, breakpoints=[{"line": line}])
        adapter.send("configurationDone")
        return adapter

    yield start
    for adapter in opened:
        adapter.close()


@pytest.mark.usefixtures("unpacked")
@pytest.mark.parametrize("ours", [True, False], ids=["settings of the folder", "settings of the editor"])
def test_a_breakpoint_in_the_students_file_is_hit(debugged, folder: Path, ours: bool) -> None:
    """Debug Test is of no use while the code runs in a sandbox alone; and with debugpy on board, the sandbox itself hangs."""
    settings = {"justMyCode": True, "subProcess": True}
    if ours:
        (launch,) = json.loads((folder / ".vscode" / "launch.json").read_text())["configurations"]
        settings = {name: launch[name] for name in ("justMyCode", "subProcess", "rules")}
    adapter = debugged(WRONG, 4, f"{SUITE}::test_three", "-p", "no:cacheprovider", **settings)
    thread = adapter.until("event", "stopped")["threadId"]
    frames = adapter.ask("stackTrace", threadId=thread)["stackFrames"]
    assert (frames[0]["name"], frames[0]["line"], Path(frames[0]["source"]["path"]).name) == ("total", 4, "submitted.py")
    assert len(frames) == 1 or not ours  # nothing of the kit, and of the drivers, is stepped into
    assert adapter.ask("evaluate", expression="(first, values)", frameId=frames[0]["id"])["result"] == "(17, [1.5, -2.0, 4.0])"
    adapter.send("continue", threadId=thread)
    said = adapter.end()
    assert "1 failed" in said
    assert "total: expected 3.5, got 17" in said


def test_what_counts_as_a_debugger() -> None:
    """Whoever measures coverage also traces; the student's code must not run in the test's process for that."""

    class Tracer:
        def __call__(self, *_: object) -> None:
            return None

    class CoverageTracer(Tracer):
        pass

    CoverageTracer.__module__ = "coverage.pytracer"
    before = sys.gettrace()
    found = []
    for trace in (None, CoverageTracer(), Tracer(), lambda *_: None):
        sys.settrace(trace)
        found.append(is_debugger_attached())
    sys.settrace(before)
    assert found == [False, False, True, True]


def test_processes_are_hidden_from_the_debugger_of_pycharm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its pydevd has no switch for the command lines that it changes, so that is done here, and undone."""

    class Monkey:
        @staticmethod
        def patch_args(args: list[str], is_exec: bool = False) -> list[str]:  # noqa: ARG004 - as pydevd has it
            return ["pydevd", *args]

    monkeypatch.setitem(sys.modules, "_pydev_bundle.pydev_monkey", Monkey)
    with visible._followed_by_no_debugger():
        assert Monkey.patch_args(["python"], is_exec=True) == ["python"]
    assert Monkey.patch_args(["python"]) == ["pydevd", "python"]
