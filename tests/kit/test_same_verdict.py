"""Right work gets its points on a machine that is busy, stands still, or kills processes; loops and sleeps still end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.judge.run import Grader, GradingOptions, grade
from grader.report.model import Cause, Outcome
from grader.sandbox import clock, reply
from grader.sandbox.clock import CallClock
from grader.sandbox.forked import ForkedSandbox
from grader.sandbox.reply import MachineFault, Reply
from grader.sandbox.spawned import SpawnedSandbox
from tests.kit.processes import process_behind

OWN_SERVERS = True
TIMER = """import ctypes, os
class Event(ctypes.Structure):
    _fields_ = [("value", ctypes.c_void_p), ("signal", ctypes.c_int), ("notify", ctypes.c_int), ("pad", ctypes.c_char * 48)]
library, event, timer = ctypes.CDLL(None, use_errno=True), Event(None, 9, 0), ctypes.c_int()
if library.timer_create(1, ctypes.byref(event), ctypes.byref(timer)):
    raise OSError(ctypes.get_errno(), "timer_create")"""
COMPUTE = "import time\nend = time.process_time() + {seconds}\nwhile time.process_time() < end: pass\nreturn 1"


@pytest.fixture
def answer(sandbox: ForkedSandbox) -> Callable[..., Reply]:
    """Call `function`, given by its body, in a submission made for it."""

    def call(body: str, seconds: float = 5.0) -> Reply:
        path = sandbox.folders[0] / "submitted.py"
        lines = "\n".join(f"    {line}" for line in body.splitlines())
        path.write_text(f"def function():\n{lines}\n", encoding="utf-8")
        sandbox._hopeless = False
        return sandbox.call("run", {}, path, seconds)

    return call


@pytest.fixture
def busy_machine() -> Iterator[None]:
    """Four processes for each core that this process may use compute all the time."""
    # Each in a session of its own: the kernel may share the processors between sessions, not processes.
    loop, count = [sys.executable, "-c", "while True: pass"], 4 * len(os.sched_getaffinity(0))
    loops = [subprocess.Popen(loop, start_new_session=True) for _ in range(count)]
    yield
    for process in loops:
        process.kill()
        process.wait()


def list_workers(sandbox: ForkedSandbox) -> list[int]:
    """Return the confined workers of a sandbox's server."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            facts = dict(line.split(":\t", 1) for line in (entry / "status").read_text().splitlines())
            if int(facts["PPid"]) == process_behind(sandbox).pid and facts["Seccomp"] != "0":
                found.append(int(entry.name))
    return found


@contextlib.contextmanager
def killing(sandbox: ForkedSandbox, times: int) -> Iterator[list[int]]:
    """Send SIGKILL to so many workers, one after another, each when it has been at work for a moment; yield those sent."""
    killed: list[int] = []
    over = threading.Event()

    def look() -> None:
        while len(killed) < times and not over.wait(0.02):
            for pid in set(list_workers(sandbox)) - set(killed):
                time.sleep(0.2)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


# A machine that is busy with something else


@pytest.mark.usefixtures("busy_machine")
class TestBusy:
    def test_what_a_call_computes_is_what_it_is_charged_for(self, answer: Callable[..., Reply]) -> None:
        """Catches: a limit of the time that passes, of which this call gets a fifth."""
        began = time.monotonic()
        found = answer(COMPUTE.format(seconds=0.8), seconds=1.2)
        assert (found.status, found.facts) == ("ok", 1)
        assert time.monotonic() - began > 1.2, "the machine was not busy enough to show anything"

    def test_a_loop_ends_at_its_limit(self, answer: Callable[..., Reply]) -> None:
        """Catches: a loop that is given the time that others have used; a place where it was that is no longer told."""
        found = answer("while True:\n    pass", seconds=1.0)
        assert found.status == "timeout"
        assert [frame["function"] for frame in found.details["frames"]] == ["function"]
        assert 0.8 <= found.cpu_seconds <= 2.5

    def test_sleep_is_not_waiting(self, answer: Callable[..., Reply]) -> None:
        """Catches: a sleeping call that is waited for as long as one that a busy machine holds up."""
        began = time.monotonic()
        found = answer("import time\ntime.sleep(1000)", seconds=1.0)
        assert found.status == "timeout"
        assert time.monotonic() - began < 10
        assert found.cpu_seconds < 0.5

    def test_sleep_in_threads_is_not_waiting(self, answer: Callable[..., Reply]) -> None:
        """Catches: the waiting of many threads added up, so that together they may sleep for minutes."""
        body = (
            "import threading, time\nthreading.stack_size(1 << 16)\ndef doze():\n    while True: time.sleep(0.001)\n"
            "for _ in range(40): threading.Thread(target=doze, daemon=True).start()\ntime.sleep(1000)"
        )
        began = time.monotonic()
        assert answer(body, seconds=1.0).status == "timeout"
        assert time.monotonic() - began < 30


def test_a_judge_that_stood_still_blames_nobody(answer: Callable[..., Reply], monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: a call charged for the minutes in which a virtual machine was paused."""
    look = CallClock.look
    slept: list[bool] = []

    def late_look(self: CallClock) -> None:
        if not slept and self.passed > 0.3:
            slept.append(True)
            time.sleep(3)
        look(self)

    monkeypatch.setattr(CallClock, "look", late_look)
    found = answer("import time\ntime.sleep(0.8)\nreturn 1", seconds=1.5)
    assert slept
    assert (found.status, found.facts) == ("ok", 1)


def test_a_system_that_counts_no_waiting(answer: Callable[..., Reply], monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: a call without end, or a single chance for one that was held up, where nobody counts how long it waited."""
    calls: list[Reply] = []
    run = ForkedSandbox._run

    def note(self: ForkedSandbox, request: dict, seconds: float) -> Reply:
        calls.append(run(self, request, seconds))
        return calls[-1]

    read = clock.read_times
    monkeypatch.setattr(ForkedSandbox, "_run", note)
    monkeypatch.setattr(clock, "read_times", lambda pid: (times := read(pid)) and clock.ProcessTimes(times.cpu, None))
    assert answer("import time\ntime.sleep(1000)", seconds=0.5).status == "timeout"
    assert len(calls) == reply.ATTEMPTS
    calls.clear()
    assert answer("while True: pass", seconds=0.5).status == "timeout"
    held_up = [call.cpu_seconds < call.seconds / 2 for call in calls]  # as far as a busy machine did
    assert all(held_up[:-1]), "it computed all the time, and was called again"
    assert not held_up[-1] or len(calls) == reply.ATTEMPTS, "it was held up, and not called again"


def test_a_loop_runs_once_where_nothing_can_be_measured(sandbox: ForkedSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: a loop of a student's, on macOS or Windows, that is waited for three times."""
    monkeypatch.setattr(clock, "read_times", lambda _: None)
    path = sandbox.folders[0] / "submitted.py"
    path.write_text("def function():\n    while True: pass\n")
    with SpawnedSandbox(sandbox.drivers, sandbox.folders) as box:
        box.warm_up()
        found = box.call("run", {}, path, 1.0)
    assert (found.status, found.disturbed) == ("timeout", False)
    assert found.spent == found.seconds


# Processes that end by somebody else's hand


@pytest.mark.parametrize("times", [1, 2])
def test_a_call_that_was_killed_is_made_again(sandbox: ForkedSandbox, answer: Callable[..., Reply], times: int) -> None:
    """Catches: points lost, for good, to an operator's kill or to a kernel that is short of memory."""
    with killing(sandbox, times) as killed:
        found = answer("import time\ntime.sleep(2)\nreturn 1")
    assert len(killed) == times
    assert (found.status, found.facts) == ("ok", 1)


def test_what_is_killed_every_time_fails(sandbox: ForkedSandbox, answer: Callable[..., Reply]) -> None:
    """Catches: a call that is repeated for ever."""
    with killing(sandbox, 10) as killed:
        found = answer("import time\ntime.sleep(2)\nreturn 1")
    assert len(killed) == reply.ATTEMPTS
    assert (found.status, found.details["message"]) == ("crashed", "the process was ended by signal SIGKILL")


def test_a_machine_without_memory_is_named(
    sandbox: ForkedSandbox, answer: Callable[..., Reply], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches: a student's crash, where the kernel has counted that it killed for want of memory."""
    counts = iter(range(100))
    monkeypatch.setattr(reply, "count_memory_kills", lambda: next(counts))
    with killing(sandbox, 10), pytest.raises(MachineFault, match="ran out of memory, and its kernel ended the call, 3 times"):
        answer("import time\ntime.sleep(2)\nreturn 1")


@pytest.mark.parametrize(
    "body",
    [
        "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
        "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
        "import signal\nsignal.raise_signal(signal.SIGKILL)",
        "import resource\nresource.setrlimit(resource.RLIMIT_CPU, (0, 0))\nwhile True: pass",
        TIMER,
    ],
    ids=["kill", "stop", "raise", "limit", "timer"],
)
def test_nobody_can_look_killed(sandbox: ForkedSandbox, answer: Callable[..., Reply], body: str) -> None:
    """Catches: a submission that ends itself so that it is called again, or its report is not final."""
    if "seccomp" not in sandbox.isolation.layers:
        pytest.skip("seccomp is not available here")
    began = time.monotonic()
    found = answer(body)
    assert found.status == "raised"
    assert found.details["type"] in ("PermissionError", "ValueError", "OSError")
    assert time.monotonic() - began < 5


def test_a_first_thread_that_ends_is_not_a_process_that_was_killed(answer: Callable[..., Reply]) -> None:
    """Catches: a process whose first thread has ended, and that the sandbox itself ends, called three times."""
    body = (
        "import ctypes, os, threading, time\n"
        "def hang_up():\n    time.sleep(0.3)\n    os.close(3)\n    time.sleep(100)\n"
        "threading.Thread(target=hang_up, daemon=True).start()\n"
        "import platform\nctypes.CDLL(None).syscall(60 if platform.machine() == 'x86_64' else 93, 0)"
    )
    found = answer(body)
    assert (found.status, found.disturbed) == ("crashed", False)


def test_what_a_reply_says_of_libraries_is_not_believed(sandbox: ForkedSandbox, answer: Callable[..., Reply]) -> None:
    """Catches: a claim so long that it ends the server to which it is passed on; other names than the known ones."""
    lie = "['sympy', 7, None, 'antigravity', *(letter * 60_000 for letter in 'abcdefghij')]"
    body = (
        "import os, sys\nwire = sys.modules['grader.sandbox.wire']\n"
        f"os.write(3, wire.encode({{'status': 'ok', 'facts': 1, 'imported': {lie}}}))\nos._exit(0)"
    )
    before = process_behind(sandbox).pid
    found = answer(body)
    assert (found.status, found.imported) == ("ok", ("sympy",))
    assert answer("return 2").facts == 2
    assert process_behind(sandbox).pid == before


def test_giving_way_to_others_gains_nothing(answer: Callable[..., Reply]) -> None:
    """Catches: a call that lets every other process go first, so that it waits, uncharged, for minutes."""
    body = "import os\nos.nice(19)\nos.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))\n"
    found = answer(body + "return [os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0)]")
    assert (found.status, found.facts) == ("ok", [os.getpriority(os.PRIO_PROCESS, 0), os.SCHED_OTHER])


def test_every_try_counts_for_the_run(sandbox: ForkedSandbox, answer: Callable[..., Reply]) -> None:
    """Catches: a budget that a call which is made again and again does not use up."""
    with killing(sandbox, 1):
        found = answer("import time\ntime.sleep(2)\nreturn 1")
    assert found.spent > found.seconds


def test_hanging_up_is_not_being_killed(answer: Callable[..., Reply]) -> None:
    """Catches: a process that closes its channel and waits, taken for one that was killed, and called three times."""
    began = time.monotonic()
    found = answer("import os, time\nos.close(3)\ntime.sleep(1000)")
    assert (found.status, found.details["message"]) == ("crashed", "the process closed its connection before it answered")
    assert not found.disturbed
    assert time.monotonic() - began < 3


# The report


def test_a_machine_that_is_too_busy_makes_no_report_final(home, replaced, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: a right answer lost for good on a machine that lets nothing run; hours spent on each check of it."""
    monkeypatch.setattr(CallClock, "charge", lambda _: 0.0)
    monkeypatch.setattr(clock, "PATIENCE", 0.0)
    monkeypatch.setattr(clock, "LEAST_PATIENCE", 0.7)
    path = replaced(get_returns="import time\ntime.sleep(100)")
    began = time.monotonic()
    with Grader(home) as grader:
        grader.warm_up(wait=True)
        report = grader.grade(path, {"get_returns"})
    checks = [check for check in report.checks if check.question == "get_returns"]
    assert {(check.outcome, check.cause) for check in checks} == {(Outcome.GRADER_ERROR, Cause.MACHINE)}
    assert not report.final
    assert "through no fault of yours" in checks[0].message
    assert "did not get its processor time" in checks[0].message
    assert time.monotonic() - began < 60


@pytest.mark.recorded
def test_libraries_that_take_a_second_are_imported_once(home, replaced) -> None:
    """Catches: SciPy inside a function, or a first optimizer, that costs a second in every call."""
    # What the process had before its first call: a driver calls a function once before the call that counts.
    body = (
        "import builtins\nimport sys\nif not hasattr(builtins, 'found'):\n    builtins.found = 'sympy' in sys.modules\n"
        "import os\nimport sympy\nprint('there' if builtins.found else 'not yet', os.urandom(8).hex())\n"
    )
    report = grade(home, replaced(get_returns=body + "return []"), options=GradingOptions({"get_returns"}))
    # A line for each call: checks of one case share theirs.
    printed = list(dict.fromkeys(check.printed for check in report.checks if check.question == "get_returns"))
    assert printed[0].startswith("not yet")
    assert len(printed) > 2
    assert all("not yet" not in text for text in printed[1:])


@pytest.mark.recorded
def test_nothing_of_a_submission_is_imported_by_the_server(home, replaced) -> None:
    """Catches: a name that a worker says, and that the server, which is root, then imports."""
    lie = (
        "import sys\nfrom grader.sandbox import worker\n"
        "for held in list(sys.modules.values()):\n"
        "    if hasattr(held, 'IMPORTED_LATE'): held.IMPORTED_LATE = ('antigravity', 'submitted')\n"
    )
    body = "import sys\nprint(sorted({'antigravity', 'submitted'} & set(before)))\nimport antigravity\nreturn []"
    prelude = (
        f"import sys\nbefore = set(sys.modules) - {{'submitted'}}\ntry:\n    exec({lie!r})\nexcept ImportError:\n    pass\n"
    )
    report = grade(home, replaced(prelude, get_returns=body), options=GradingOptions({"get_returns"}))
    printed = {check.printed for check in report.checks if check.question == "get_returns"}
    assert printed == {"[]\n"}
