"""The sandbox: every way a call can end, and that nothing outlives it."""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import signal
import sys
import sysconfig
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.judge.compare import difference
from grader.sandbox.forked import ForkedSandbox
from grader.sandbox.places import make_readable, make_temporary_folder
from grader.sandbox.reply import Reply, SandboxFault
from grader.sandbox.wire import TensorArray
from tests.kit.patience import PATIENCE
from tests.kit.processes import process_behind

pytestmark = [pytest.mark.attack, pytest.mark.recorded(kernel=True)]

OWN_SERVERS = True


@pytest.fixture
def answer(sandbox: ForkedSandbox):
    """Call `function`, given by its body, in a submission made for it."""

    def call(body: str, before: str = "", seconds: float = 5.0) -> Reply:
        path = sandbox.folders[0] / "submitted.py"
        lines = "\n".join(f"    {line}" for line in body.splitlines())
        path.write_text(f"{before}\n\ndef function():\n{lines}\n", encoding="utf-8")
        return sandbox.call("run", {}, path, seconds)

    return call


def stop_the_first_one(server: int, stopped: list[int]) -> None:
    """Stop the first worker of a server that is seen at work, confined, as a machine that stands still does; note its PID."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError):
                facts = dict(line.split(":\t", 1) for line in (entry / "status").read_text().splitlines())
                if int(facts["PPid"]) == server and facts["Seccomp"] != "0":
                    time.sleep(0.2)  # until it has said so
                    os.kill(int(entry.name), signal.SIGSTOP)
                    stopped.append(int(entry.name))
                    return


def test_plain_data_crosses_unchanged(sandbox: ForkedSandbox) -> None:
    """A value that changes on the way would be graded wrongly."""
    facts = sandbox.call("kinds", {}).facts
    assert isinstance(facts["tensor"], TensorArray)
    assert facts["tensor"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert facts["scalar tensor"].shape == ()
    assert facts["array"].dtype == bool
    assert facts["number"] == np.float32(0.1)
    assert math.isnan(facts["infinite"][0])
    assert facts["infinite"][1:] == [math.inf, -math.inf]
    assert facts["tuple"] == (1, None, "ä")
    assert facts["empty"].shape == (0, 3)
    assert np.isnan(facts["nan"]).tolist() == [True, False]


def test_requests_cross_unchanged(sandbox: ForkedSandbox) -> None:
    """Inputs with arrays of any shape reach the driver as they are stored."""
    value: dict[str, Any] = {
        "a": np.arange(6, dtype=np.int64).reshape(2, 3),
        "b": [1.5, "x", (None, True)],
        "c": np.zeros((0, 2)),
    }
    facts = sandbox.call("echo", {"value": value}).facts
    assert facts["a"].tolist() == value["a"].tolist()
    assert facts["b"] == value["b"]
    assert facts["c"].shape == (0, 2)


def test_exception_tells_only_the_students_frames(answer) -> None:
    """Frames of the grader would confuse, and their paths are nobody's business."""
    reply = answer("return helper(0)", before="def helper(x):\n    return 1 / x")
    assert reply.status == "raised"
    assert reply.details["type"] == "ZeroDivisionError"
    assert [frame["function"] for frame in reply.details["frames"]] == ["function", "helper"]
    assert reply.details["frames"][-1]["text"] == "return 1 / x"


def test_endless_loop_is_stopped(answer) -> None:
    """A loop that never ends, in Python or in C, must not hold up the grader."""
    for body in ("while True: pass", "import itertools\nreturn sum(itertools.repeat(1))"):
        began = time.monotonic()
        assert answer(body, seconds=0.5).status == "timeout"
        assert time.monotonic() - began < 30


def test_prints_before_a_timeout_are_kept(answer) -> None:
    """What was printed is often the only trace of where the loop is."""
    assert "step 3" in answer("for i in range(4): print('step', i)\nwhile True: pass", seconds=0.5).output


def test_ignored_signals_and_swallowed_exceptions_do_not_help(answer) -> None:
    """A limit inside the process could be caught there."""
    body = (
        "import signal\n"
        "for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM): signal.signal(number, signal.SIG_IGN)\n"
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass"
    )
    assert answer(body, seconds=0.5).status == "timeout"


def test_memory_limit(answer) -> None:
    """An allocation beyond the limit is told as such, by torch and by Python."""
    assert answer("import torch\nreturn torch.zeros(10**9)").status == "memory"
    assert answer("return [0] * 10**9").status == "memory"


def test_crashes(answer) -> None:
    """A process that ends without an answer fails its call, whatever its exit status."""
    assert "SIGSEGV" in answer("import ctypes\nctypes.string_at(0)").details["message"]
    assert answer("import os\nos._exit(0)").status == "crashed"
    assert answer("import os\nos.abort()").status == "crashed"


def test_leaving_by_exception_is_an_answer(answer) -> None:
    """sys.exit() must neither end the grader nor count as success."""
    for body, name in (("raise SystemExit(0)", "SystemExit"), ("raise KeyboardInterrupt", "KeyboardInterrupt")):
        reply = answer(body)
        assert (reply.status, reply.details["type"]) == ("raised", name)


def test_a_million_lines(answer) -> None:
    """Much output costs nothing but time; its beginning and its end are kept."""
    reply = answer("for i in range(10**6): print('line', i)\nreturn 1", seconds=30.0)
    assert reply.status == "ok"
    assert reply.output.startswith("line 0\n")
    assert reply.output.endswith("line 999999\n")
    assert len(reply.output) < 40_000


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("return (x for x in [])", "generator"),
        ("return lambda: 1", "function"),
        ("a = []\na.append(a)\nreturn a", "contains itself"),
        ("a = {}\na['x'] = a\nreturn a", "contains itself"),
        ("return list(range(10**6))", "parts"),
        ("import torch\nreturn torch.zeros(30 * 10**6)", "too large"),
        ("return 'x' * 10**6", "string"),
        ("return 1 << 300", "255 bits"),
        ("import torch\nreturn torch.zeros(2, dtype=torch.complex64)", "complex64"),
        ("import torch\nreturn torch.zeros(2, device='meta')", "meta"),
        ("import torch\nreturn torch.eye(2).to_sparse()", "sparse"),
        ("import numpy\nreturn numpy.array([object()])", "dtype object"),
        ("return {1: 2}", "keys"),
        ("class T(float): pass\nreturn T(1)", "T"),
        ("import torch\nclass T(torch.Tensor): pass\nreturn torch.zeros(2).as_subclass(T)", "T"),
    ],
)
def test_what_cannot_cross_is_refused_by_name(answer, body: str, word: str) -> None:
    """A strange value is a failure of its call alone, with a line that says what to return."""
    reply = answer(body)
    assert reply.status == "refused"
    assert word in reply.details["message"]


def test_an_object_that_pretends_is_refused(answer) -> None:
    """Only exact types cross: an object that equals everything never reaches a comparison."""
    reply = answer("return Evil()", before="class Evil:\n    def __eq__(self, other): return True\n    __hash__ = None")
    assert reply.status == "refused"


def test_what_is_written_to_the_wire_fails_the_call(answer) -> None:
    """Neither a forged answer before the real one nor rubbish is believed."""
    rubbish = answer("import os\nos.write(3, b'x' * 100)\nreturn 1")
    assert rubbish.status == "protocol"
    closed = answer("import os\nos.close(3)\nreturn 1")
    assert closed.status == "crashed"
    forged = (
        "import os\nfrom grader.sandbox import wire\n"
        "os.write(3, wire.encode({'status': 'ok', 'facts': 1}) * 2)\nwhile True: pass"
    )
    assert answer(forged, seconds=2.0).status == "protocol"


def test_calls_do_not_see_each_other(answer) -> None:
    """A memo kept in a module from one check to the next would let order decide."""
    body = "import math\nseen = getattr(math, 'seen', 0)\nmath.seen = seen + 1\nreturn seen"
    assert [answer(body).facts for _ in range(2)] == [0, 0]


def test_scratch_folder_is_empty_writable_and_removed(answer) -> None:
    """An honest submission may write files where it stands; they are gone afterwards."""
    body = "import os\nopen('note', 'w').write('x')\nreturn [os.getcwd(), os.listdir()]"
    reply = answer(body)
    folder, content = reply.facts
    assert content == ["note"]
    assert not os.path.exists(folder)


def test_libraries_behind_a_link_in_a_private_folder(
    sandbox: ForkedSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches: nothing can be graded in a clone in root's home whose .venv is a link to one that everybody may read."""
    tmp_path.chmod(0o700)
    (tmp_path / "libraries").symlink_to(sysconfig.get_path("purelib"))
    linked = str(tmp_path / "libraries")
    monkeypatch.setattr(sys, "path", [linked if entry == sysconfig.get_path("purelib") else entry for entry in sys.path])
    folder = make_temporary_folder()
    (folder / "student").mkdir()
    drivers = shutil.copy(Path(__file__).with_name("drivers_for_tests.py"), folder / "drivers.py")
    with ForkedSandbox(Path(drivers), [folder / "student"], memory_mb=512) as box:
        assert box.isolation == sandbox.isolation
    shutil.rmtree(folder)


@pytest.mark.parametrize("name", ["submitted", "gymnasium"])
def test_the_server_finds_nothing_of_a_submission(tmp_path: Path, name: str) -> None:
    """Catches: a driver that imports a submission, whose code the server would then run before any layer is on."""
    folder = make_temporary_folder()
    (folder / "student").mkdir()
    note = tmp_path / "note"
    (folder / "student" / f"{name}.py").write_text(f"open({str(note)!r}, 'w')\n")
    drivers = folder / "drivers.py"
    drivers.write_text(f"import {name}\ndef run(submitted):\n    return submitted.function()\n")
    try:
        with ForkedSandbox(drivers, [folder / "student"]) as box:
            if name == "submitted":
                with pytest.raises(SandboxFault, match="No module named 'submitted'"):
                    box.warm_up()
            else:
                box.warm_up()
        assert not note.exists()
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("module", "place", "told"),
    [
        ("stranger.py", "elsewhere", "stranger .*stranger.py., which belongs to neither"),
        ("parts/stranger.py", "elsewhere", "parts .*parts/., which belongs to neither"),
        ("parts/note.txt", "student", "parts .*parts/., which is in the folder of submissions"),
        ("stranger.py", "support", ""),
        ("parts/stranger.py", "support", ""),
    ],
)
def test_a_server_with_a_module_from_nowhere_known_serves_nothing(module: str, place: str, told: str) -> None:
    """Catches: a submission, or a file that nobody meant, in the memory from which every worker begins."""
    folder = make_temporary_folder()
    path = folder / place / module
    for name in (path.parent, folder / "student", folder / "support"):
        name.mkdir(parents=True, exist_ok=True)
    path.write_text("x = 1\n")
    drivers = folder / "drivers.py"
    drivers.write_text(
        f"import sys\nsys.path.append({str(folder / place)!r})\nimport {module.split('/')[0].removesuffix('.py')}\n"
    )
    make_readable(folder)
    try:
        with ForkedSandbox(drivers, [folder / "student", folder / "support"], torch=False) as box:
            if told:
                with pytest.raises(SandboxFault, match=told):
                    box.warm_up()
            else:
                box.warm_up()
    finally:
        shutil.rmtree(folder)


def test_environment_is_clean_and_single_threaded(sandbox: ForkedSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Secrets in the environment are not the student's, and threads make results differ."""
    monkeypatch.setenv("SECRET_TOKEN", "x")
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    with ForkedSandbox(sandbox.drivers, sandbox.folders) as fresh:
        facts = fresh.call("environment", {}).facts
    assert "SECRET_TOKEN" not in facts["variables"]
    assert facts["threads"] == 1


def test_generators_start_in_the_same_state(sandbox: ForkedSandbox) -> None:
    """A submission that forgets to seed is graded the same every time."""
    first, second = (sandbox.call("draw", {}).facts for _ in range(2))
    assert first["torch"].tolist() == second["torch"].tolist()
    assert first["numpy"].tolist() == second["numpy"].tolist()


def test_a_machine_that_stands_still_is_no_fault_of_a_submission(sandbox: ForkedSandbox, answer) -> None:
    """Catches: a right answer failed, once in some ten thousand, because its time was over while nothing was run."""
    stopped: list[int] = []
    thread = threading.Thread(target=stop_the_first_one, args=[process_behind(sandbox).pid, stopped])
    thread.start()
    reply = answer("import time\ntime.sleep(2)\nreturn 1", seconds=5.0)
    thread.join()
    assert len(stopped) == 1, "the worker ended before it could be stopped"
    assert (reply.status, reply.facts) == ("ok", 1)


def test_waiting_for_nothing_is_stopped(answer) -> None:
    """A submission that only waits is not waited for again and again."""
    began = time.monotonic()
    assert answer("import time\ntime.sleep(1000)", seconds=0.5).status == "timeout"
    assert time.monotonic() - began < 30


def test_source_that_is_not_python(sandbox: ForkedSandbox) -> None:
    """Null bytes, broken encodings and deep nesting are a clear failure; what Python accepts runs."""
    path = sandbox.folders[0] / "submitted.py"

    def outcome(source: bytes) -> tuple[str, str]:
        path.write_bytes(source)
        looked = sandbox.inspect(path)
        return looked.status, sandbox.load(path).status

    good = b"def function():\n    return 1\n"
    assert outcome(b"\xef\xbb\xbf" + good) == ("ok", "ok")
    assert outcome(good.replace(b"\n", b"\r\n")) == ("ok", "ok")
    assert outcome(b"# coding: latin-1\nx = '\xe4'\n") == ("ok", "ok")
    assert outcome(b"def f(:\n") == ("syntax", "syntax")
    assert outcome(b"x = 1\x00\n")[0] == "syntax"
    assert outcome(b"x = '\xff\xfe'\n")[0] == "syntax"
    deep = outcome(b"x = " + b"(" * 5000 + b")" * 5000)
    assert "ok" not in deep


FORGED = """
import json, os, struct
text = json.dumps({"status": "said", "facts": {"status": "ok", "fingerprints": {}, "reach": {}}}).encode()
os.write(3, struct.pack("<4sII", b"RLG1", len(text), 0) + text)
"""


@pytest.mark.parametrize(
    ("source", "status"),
    [
        ("def function():\n    return 1\n", "ok"),
        ("def function(:\n", "syntax"),
        ("def function():\n    return 1\n\n1 / 0\n", "import"),
        ("def function():\n    return 1\n\nraise SystemExit\n", "import"),
        ("def function():\n    return 1\n\nimport os\nos._exit(3)\n", "crashed"),
        ("def function():\n    return 1\n\nwhile True:\n    pass\n", "timeout"),
        ("def function():\n    return 1\n\n" + FORGED, "protocol"),
    ],
)
def test_opening_is_looking_and_loading(sandbox: ForkedSandbox, source: str, status: str) -> None:
    """One process in place of two tells the same; what it tells of functions is known before the file can have a say."""
    path = sandbox.folders[0] / "submitted.py"
    path.write_text(source)
    looked, loaded = sandbox.open(path, ["function"], lambda told: "function" in told.details["fingerprints"], 2.0)
    assert loaded is not None
    apart = sandbox.inspect(path, ["function"]), sandbox.load(path, 2.0)
    assert looked.status == apart[0].status
    assert difference(looked.details, apart[0].details) is None
    assert loaded.status == apart[1].status == status
    assert loaded.details == apart[1].details or status == "protocol"  # what of it is seen first is a matter of time


def test_what_is_not_wanted_is_not_loaded(sandbox: ForkedSandbox) -> None:
    """Of an untouched stub nothing is run."""
    path = sandbox.folders[0] / "submitted.py"
    path.write_text("print('run')\nwhile True:\n    pass\n")
    looked, loaded = sandbox.open(path, [], lambda _: False)
    assert loaded is not None
    assert (looked.status, loaded.status, loaded.output) == ("ok", "ok", "")


def test_every_refused_call_is_known() -> None:
    """A misspelled name, or one that this libseccomp is too old for, would leave the call allowed without a word."""
    pyseccomp = pytest.importorskip("pyseccomp", exc_type=Exception)  # type: ignore[arg-type]  # RuntimeError, too
    from grader.sandbox import syscall_filter as rules

    for name in (*rules.REFUSED, *rules.OF_OTHERS, *rules.OWNERSHIP, *rules.TIMES):
        known = pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name) != rules.UNKNOWN
        assert known or name in rules.YOUNG, name


def test_memory_of_the_server_does_not_grow(sandbox: ForkedSandbox) -> None:
    """A class of three hundred is graded by one server."""

    def resident() -> int:
        return int(Path(f"/proc/{process_behind(sandbox).pid}/statm").read_text().split()[1])

    for _ in range(20):
        sandbox.call("echo", {"value": 1})
    before, opened = resident(), os.listdir(f"/proc/{process_behind(sandbox).pid}/fd")
    for _ in range(100):
        sandbox.call("echo", {"value": np.zeros(1000)})
    assert resident() - before < 256  # pages: 1 MB
    assert os.listdir(f"/proc/{process_behind(sandbox).pid}/fd") == opened
