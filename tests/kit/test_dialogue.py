"""Two drivers that talk in turns: what students' code answers to a game that it cannot reach."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from grader.assignment import AssignmentFiles
from grader.authoring.build import build
from grader.judge.run import Grader
from grader.proof.verify import ProofOptions, verify
from grader.report.model import CheckResult, Outcome, Report
from grader.sandbox import open_sandbox
from grader.sandbox.forked import ForkedSandbox
from grader.sandbox.places import make_temporary_folder
from grader.sandbox.reply import Reply, SandboxCalls
from grader.sandbox.spawned import SpawnedSandbox
from tests.kit.processes import process_behind

pytestmark = pytest.mark.recorded(kernel=True)

INPUTS = ("tests/kit/toy/**",)

Sandbox = ForkedSandbox | SpawnedSandbox
HERE = Path(__file__).parent
LEFT_OUT = {"full": "", "by user alone": "landlock,seccomp,mount namespace,network namespace", "without user": "own user"}
RIGHT = "return observations[:, 0].astype('int64')"


def opened(folder: Path) -> Sandbox:
    (folder / "student").mkdir()
    drivers = shutil.copy(HERE / "dialogue_drivers.py", folder / "drivers.py")
    return open_sandbox(Path(drivers), [folder / "student"], memory_mb=512, torch=False)


@pytest.fixture(scope="module", params=["full", "basic"])
def box(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """A sandbox of each kind."""
    folder = make_temporary_folder()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADER_LEVEL", request.param)
        box = opened(folder)
    with box:
        yield box
    shutil.rmtree(folder)


WITHSTANDS = pytest.mark.parametrize("box", ["full"], indirect=True)
"""What the other kind does not promise: it guards against accidents only."""


def other_half(box: Sandbox) -> SandboxCalls:
    """Return the sandbox of the side that asks, which is there from the first dialogue on."""
    assert box._other is not None
    return box._other


def talk(box: Sandbox, body: str, asks: str = "play", answers: str = "act", seconds: float = 5.0, **inputs: object) -> Reply:
    """Return what comes of a dialogue with this function of a student's."""
    path = box.folders[0] / "submitted.py"
    name = "reach(where)" if answers == "reach" else "act(weights, observations)"
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    path.write_text(f"import os, time\nTURNS = []\n\ndef {name}:\n{lines}\n")
    return box.dialogue((asks, inputs or {"turns": 3} if asks == "play" else inputs), (answers, {}), path, seconds)


def gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


# How it goes


def test_the_facts_are_of_the_side_that_asks(box: Sandbox) -> None:
    """Catches: turns mixed up, a first word that is taken for an answer, lost prints, arrays that change on the way."""
    reply = talk(box, f"print('turn', observations.dtype, observations.shape)\n{RIGHT}", turns=30)
    assert (reply.status, reply.facts["score"]) == ("ok", 600)
    assert reply.output == "turn uint8 (20, 8)\n" * 30
    assert talk(box, "return 1 + 0 * observations[:, 0].astype('int64')", turns=30).facts["score"] == 100


def test_calls_before_and_after(box: Sandbox) -> None:
    """Catches: a dialogue that leaves the sandbox in another state than it found it."""
    assert talk(box, RIGHT).status == "ok"
    assert box.load(box.folders[0] / "submitted.py").status == "ok"
    assert talk(box, RIGHT).facts["score"] == 60


def test_a_long_game(box: Sandbox) -> None:
    """Catches: whatever adds up from turn to turn; and says what a turn costs: 40 kB there, twenty numbers back."""
    talk(box, RIGHT)
    turns = 500
    reply = talk(box, RIGHT, seconds=60, turns=turns, size=2000)
    assert reply.facts["score"] == 20 * turns
    print(f"{1000 * reply.seconds / turns:.2f} ms a turn")
    assert reply.seconds / turns < 0.05


def test_a_side_that_asks_nothing(box: Sandbox) -> None:
    """Catches: a game that cannot be played here, and says so at once, which must not wait for anybody."""
    assert talk(box, RIGHT, turns=0).facts["score"] == 0


# What a student's side may do, and what becomes of it


def test_raised_in_the_middle(box: Sandbox) -> None:
    """Catches: an error without the student's line; one of the grader's."""
    body = f"TURNS.append(1)\nif len(TURNS) == 2:\n    return 1 / 0\n{RIGHT}"
    reply = talk(box, body)
    assert (reply.status, reply.details["type"]) == ("raised", "ZeroDivisionError")
    assert [frame["text"] for frame in reply.details["frames"]] == ["return 1 / 0"]


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ("import sys\nsys.exit(0)", "raised", "SystemExit"),
        ("os._exit(0)", "crashed", "exit status 0"),
        ("import ctypes\nctypes.string_at(0)", "crashed", "SIGSEGV"),
        ("raise NotImplementedError('act: choose')", "raised", "NotImplementedError"),
        ("import numpy\nreturn numpy.zeros(10**14)", "memory", ""),
        ("return lambda: 1", "refused", "cannot be transferred"),
        ("raise StopIteration", "raised", "StopIteration"),
    ],
)
def test_ends_like_any_other_call(box: Sandbox, body: str, status: str, says: str) -> None:
    """Catches: another account of a failure than a plain call gives, and a side that is waited for when it is gone."""
    reply = talk(box, body)
    assert reply.status == status
    assert says in str(reply.details)
    assert talk(box, RIGHT).status == "ok"


def test_what_is_not_there(box: Sandbox) -> None:
    """Catches: a name that is missing, and a file that cannot be loaded, told as an error of the driver."""
    path = box.folders[0] / "submitted.py"
    for source, status in (("def akt(): pass", "missing"), ("import nothing", "import"), ("def f(:", "syntax")):
        path.write_text(source)
        assert box.dialogue(("play", {"turns": 1}), ("act", {}), path).status == status
    path.write_text("def akt(): pass")
    assert box.dialogue(("play", {"turns": 1}), ("act", {}), path).details["closest"] == "akt"


@pytest.mark.parametrize("body", ["while True: pass", "time.sleep(100)", "signal.pause()"])
def test_never_answers(box: Sandbox, body: str) -> None:
    """Catches: a judge that hangs; a limit that begins anew with each turn."""
    began = time.monotonic()
    later = "\n".join(f"    {line}" for line in body.splitlines())
    reply = talk(box, f"import signal\nTURNS.append(1)\nif len(TURNS) == 3:\n{later}\n{RIGHT}", seconds=1.0)
    assert (reply.status, reply.details["turns"]) == ("timeout", 2)
    assert time.monotonic() - began < 60
    if isinstance(box, ForkedSandbox):
        assert reply.details["frames"][-1]["text"] == body


def test_many_slow_turns(box: Sandbox) -> None:
    """Catches: a limit that a dialogue of short turns never meets."""
    reply = talk(box, f"time.sleep(0.05)\n{RIGHT}", seconds=1.0, turns=10**6)
    assert reply.status == "timeout"
    assert reply.seconds < 20
    assert 0 < reply.details["turns"] <= 20


def test_the_other_side_takes_too_long(box: Sandbox) -> None:
    """Catches: an alarm that goes off while the other side thinks, and answers out of turn."""
    assert talk(box, "return 1", "dawdle", seconds=2.0, wait=1.0).facts == {"waited": 1.0}
    reply = talk(box, "return 1", "dawdle", seconds=1.0, wait=100.0)
    assert (reply.status, reply.details.get("frames")) == ("timeout", [])


def test_interrupted(box: Sandbox) -> None:
    """Catches: watch mode that waits for a game to end before it grades the next save."""
    timer = threading.Timer(0.5, box.interrupted.set)
    timer.start()
    try:
        assert talk(box, f"time.sleep(0.01)\n{RIGHT}", seconds=30, turns=10**6).seconds < 20
    finally:
        timer.join()
        box.interrupted.clear()


def test_a_refusal_of_the_side_that_asks(box: Sandbox) -> None:
    """Catches: a nonsensical action that is no failure with words."""
    reply = talk(box, "print('here')\nreturn observations")
    assert (reply.status, reply.details["type"]) == ("raised", "ValueError")
    assert reply.details["message"] == "actions must be int64 [20], found uint8 [20, 8]"
    assert (reply.details["frames"], reply.output) == ([], "here\n")


def test_drivers_that_keep_to_no_rules(box: Sandbox) -> None:
    """Catches: a side that answers and is gone when it is asked again; what the asking side says cannot cross."""
    assert talk(box, RIGHT, answers="once").status == "protocol"
    assert talk(box, RIGHT, "strange").status == "refused"


# What an attacker may do

FRAME = "from grader.sandbox import wire\nframe = wire.encode({'status': %r, 'facts': %s})\n"
ATTACKS = {
    "another answer beside the right one": FRAME % ("said", "[1]") + f"os.write(3, frame)\n{RIGHT}",
    "two answers at once": FRAME % ("said", "[1]") + "os.write(3, frame * 2)\ntime.sleep(100)",
    "facts of its own": FRAME % ("ok", "{'score': 10**6}") + "os.write(3, frame)\ntime.sleep(100)",
    "facts, and gone": FRAME % ("ok", "{'score': 10**6}") + "os.write(3, frame)\nos._exit(0)",
    "no frame": "os.write(3, b'x' * 100)\ntime.sleep(100)",
    "a frame without an end": "import struct\nos.write(3, struct.pack('<4sII', b'RLG1', 9, 9))\ntime.sleep(100)",
    "a frame too large": "import struct\nos.write(3, struct.pack('<4sII', b'RLG1', 9, 1 << 31))\ntime.sleep(100)",
    "no status": "from grader.sandbox import wire\nos.write(3, wire.encode({'facts': 1}))\ntime.sleep(100)",
    "an unknown status": FRAME % ("played", "1") + "os.write(3, frame)\ntime.sleep(100)",
    "a list": "from grader.sandbox import wire\nos.write(3, wire.encode([1]))\ntime.sleep(100)",
    "nested too deeply to be handed on": (
        "import struct\ntext = b'{\"status\": \"said\", \"facts\": ' + b'[' * 50 + b']' * 50 + b'}'\n"
        "os.write(3, struct.pack('<4sII', b'RLG1', len(text), 0) + text)\ntime.sleep(100)"
    ),
    "half of a frame, and gone": "os.write(3, b'RLG1')\nos._exit(0)",
    "a closed wire": f"os.close(3)\n{RIGHT}",
    "an answer before it is asked": (
        FRAME % ("said", "[1]") + "import threading\n"
        "threading.Thread(target=lambda: [time.sleep(0.1), os.write(3, frame)], daemon=True).start()\nreturn 1"
    ),
}


@WITHSTANDS
@pytest.mark.parametrize("body", ATTACKS.values(), ids=ATTACKS)
def test_whatever_it_writes_earns_nothing(box: ForkedSandbox, body: str) -> None:
    """Catches: facts that a student's process has made; bytes of its that reach the game; a judge that waits for the rest."""
    asks, inputs = ("dawdle", {"wait": 0.5}) if "threading" in body else ("play", {"turns": 3})
    reply = talk(box, body, asks, seconds=2.0, **inputs)
    assert reply.status in ("protocol", "crashed", "timeout")
    assert reply.facts is None
    assert not box.interrupted.is_set()
    assert talk(box, RIGHT).facts["score"] == 60


REACHES = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
process, folder = where["process"], where["folder"]
place = ctypes.create_string_buffer(8)
vector = (ctypes.c_void_p * 2)(ctypes.addressof(place), 8)
def succeeded(call):
    if call() < 0:
        raise OSError(ctypes.get_errno(), "refused")
attempts = {
    "kill": lambda: os.kill(process, 0),
    "kill group": lambda: os.killpg(process, 0),
    "ptrace": lambda: succeeded(lambda: libc.ptrace(16, process, 0, 0)),
    "memory": lambda: open(f"/proc/{process}/mem", "rb").close(),
    "other memory": lambda: succeeded(lambda: libc.process_vm_readv(process, vector, 1, vector, 1, 0)),
    "descriptors": lambda: os.listdir(f"/proc/{process}/fd"),
    "wire": lambda: os.open(f"/proc/{process}/fd/3", os.O_RDWR),
    "environment": lambda: open(f"/proc/{process}/environ").close(),
    "folder": lambda: os.listdir(folder),
    "folder of it": lambda: os.listdir(f"/proc/{process}/cwd"),
    "file": lambda: open(f"{folder}/note", "w").close(),
    "limits": lambda: __import__("resource").prlimit(process, 0),
    "priority": lambda: os.setpriority(os.PRIO_PROCESS, process, 19),
}
done = []
for name, attempt in attempts.items():
    try:
        attempt()
        done.append(name)
    except OSError:
        pass
return {"done": done, "tried": len(attempts), "user": os.getuid(), "process": os.getpid(), "folder": os.getcwd()}
"""


@pytest.mark.parametrize("without", LEFT_OUT.values(), ids=LEFT_OUT)
def test_the_side_that_asks_is_out_of_reach(monkeypatch: pytest.MonkeyPatch, without: str) -> None:
    """Catches: a user, a folder or a process that the two sides share, with all layers, and with some of them alone."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    monkeypatch.setenv("GRADER_WITHOUT", without)
    folder = make_temporary_folder()
    with opened(folder) as box:
        assert ("own user" in box.isolation.layers) == ("own user" not in without)
        for _ in range(3):
            reply = talk(box, REACHES, "tell", "reach")
            assert reply.status == "ok", reply
            assert (reply.facts["heard"]["done"], reply.facts["heard"]["tried"]) == ([], 13)
        assert other_half(box).isolation == box.isolation
    shutil.rmtree(folder)


def test_the_attempts_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: attempts that fail for another reason than the layers."""
    monkeypatch.setenv("GRADER_WITHOUT", "own user,landlock,seccomp,mount namespace")
    folder = make_temporary_folder()
    with opened(folder) as box:
        assert {"kill", "folder", "file"} <= set(talk(box, REACHES, "tell", "reach").facts["heard"]["done"])
    shutil.rmtree(folder)


@WITHSTANDS
def test_users_alternate(box: ForkedSandbox) -> None:
    """Catches: two servers that come upon the same user by chance."""
    users = [talk(box, "return os.getuid()", "tell", "reach").facts["heard"] for _ in range(3)]
    others = [talk(box, RIGHT).facts["user"] for _ in range(3)]
    assert {user % 2 for user in users} == {0}
    assert {user % 2 for user in others} == {1}


def test_nobody_is_left_alive(box: Sandbox) -> None:
    """Catches: a worker that waits for its next turn for ever, and what it has started; a scratch folder that is left."""
    for body in ("return os.getpid()", "print(os.getpid(), flush=True)\ntime.sleep(100)", "print(os.getpid())\nos._exit(1)"):
        reply = talk(box, body, "tell", "reach", seconds=1.0)
        process = reply.facts["heard"] if reply.status == "ok" else int(reply.output)
        # One that is reused is not gone, but waits for the next call.
        assert gone(process) or (isinstance(box, SpawnedSandbox) and process == process_behind(box).pid)
    reply = talk(box, RIGHT)
    assert gone(reply.facts["process"]) == isinstance(box, ForkedSandbox)
    assert not os.path.exists(reply.facts["folder"])
    for home in (box._home, other_half(box)._home):
        assert [path.name for path in home.iterdir() if path.is_dir()] == []


def test_close_ends_both(box: Sandbox) -> None:
    """Catches: a second server that outlives the run."""
    folder = make_temporary_folder()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADER_LEVEL", box.isolation.level)
        other = opened(folder)
    with other:
        assert other.call("once", {}).status == "refused"
        assert other._other is None  # nobody pays for it who does not need it
        talk(other, RIGHT)
        inner = other_half(other)
        servers = [process_behind(part) for part in (other, inner)]
    assert all(server.poll() is not None for server in servers)
    assert not other._home.exists()
    assert not inner._home.exists()
    shutil.rmtree(folder)


@WITHSTANDS
def test_a_server_that_is_gone_is_replaced(box: ForkedSandbox) -> None:
    """Catches: bad luck that costs an honest submission its check."""
    assert talk(box, RIGHT).status == "ok"  # from here on the other half has its server too
    for part in (box, other_half(box)):
        process_behind(part).send_signal(signal.SIGKILL)
        assert talk(box, RIGHT).facts["score"] == 60


# In a check

QUESTION = """
[[questions]]
id = "agent"
title = "An agent"
function = "act"
task = "return the actions"
seconds = 3
points = { visible = 0, hidden = 0 }
"""
SOLUTION = '''

def act(weights, observations):
    """Return an action for each observation."""
    # BEGIN SOLUTION agent
    return (observations[:, 0] * weights[0]).astype("int64")
    # END SOLUTION
'''
CHECK = '''

@points(0, question="agent")
def test_agent(student):
    """The agent plays better than chance."""
    answers = ("act", {"parameters": student.attachment("agent.safetensors")})
    facts = student.dialogue(asks=("play", {"turns": 10}), answers=answers)
    student.leaderboard("score", facts["score"])
    assert facts["score"] > 100, f"only {facts['score']} actions of 200 are right"
'''


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy assignment with an agent that is handed in."""
    root = tmp_path_factory.mktemp("dialogue") / "toy"
    shutil.copytree(HERE / "toy", root, ignore=shutil.ignore_patterns("__pycache__"))
    settings, drivers = root / "assignments/toy/assignment.toml", root / "tests/drivers/toy.py"
    settings.write_text('attachments = ["agent.safetensors"]\n' + settings.read_text() + QUESTION)
    drivers.write_text((HERE / "dialogue_drivers.py").read_text() + drivers.read_text())
    for path, more in ((root / "solutions/toy/submitted.py", SOLUTION), (root / "tests/visible/test_toy.py", CHECK)):
        path.write_text(path.read_text() + more)
    build(root, "toy")
    return root


@pytest.fixture(scope="module", params=["full", "basic"])
def grader(request: pytest.FixtureRequest, toy: Path) -> Iterator[Grader]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADER_LEVEL", request.param)
        grader = Grader(AssignmentFiles(toy, "toy"))
    with grader:
        yield grader


@pytest.fixture
def graded(toy: Path, grader: Grader, tmp_path: Path) -> Callable[..., tuple[Report, CheckResult]]:
    """Grade an agent with this body, or the solution's, and a file of these weights."""

    def run(body: str = "", weights: np.ndarray | None = None) -> tuple[Report, CheckResult]:
        source = (toy / "solutions/toy/submitted.py").read_text()
        (tmp_path / "submitted.py").write_text(source + (f"\n\ndef act(weights, observations):\n    {body}\n" if body else ""))
        content = save({"weights": np.ones(1, np.float32) if weights is None else weights})
        (tmp_path / "agent.safetensors").write_bytes(content)
        report = grader.grade(tmp_path)
        return report, next(check for check in report.checks if check.question == "agent")

    return run


def test_is_on_the_leaderboard(graded: Callable) -> None:
    """Catches: an agent that cannot be scored; a score that is another than the game's."""
    report, check = graded()
    assert (check.outcome, check.message, report.final) == (Outcome.PASSED, "", True)
    assert [(entry.name, entry.value) for entry in report.leaderboard()] == [("score", 200)]
    report, check = graded(weights=np.zeros(1, np.float32))
    assert (check.outcome, check.message.splitlines()[0]) == (Outcome.FAILED, "only 40 actions of 200 are right")


@pytest.mark.parametrize(
    ("body", "outcome", "says"),
    [
        ("return 1 / 0", Outcome.FAILED, "ZeroDivisionError: division by zero\n  line "),
        ("return observations", Outcome.FAILED, "ValueError: actions must be int64 [20], found uint8 [20, 8]"),
        ("return [1] * 20", Outcome.FAILED, "ValueError: actions must be int64 [20], found list"),
        ("import os; os._exit(0)", Outcome.CRASHED, "ended with exit status 0"),
        (
            "import time; time.sleep(100)",
            Outcome.TIMEOUT,
            "stopped at the time limit of 3 seconds: it was still running after 0 turns",
        ),
    ],
)
def test_is_told_like_any_other_failure(graded: Callable, body: str, outcome: Outcome, says: str) -> None:
    """Catches: a failure of the student's that is called the grader's, or costs other questions."""
    report, check = graded(body)
    assert check.outcome is outcome
    assert says in check.message
    assert (report.points, report.final, report.leaderboard()) == (4, True, [])


def test_unwritten(graded: Callable) -> None:
    """Catches: a blank of the stub that is told as an error."""
    _, check = graded("x = 1; raise NotImplementedError('act: return the actions')")
    assert check.unwritten


def test_prints_stand_beside_the_failure(graded: Callable) -> None:
    """Catches: prints of the wrong side, or of none."""
    _, check = graded("print('I am here', flush=True); return 1 / 0")
    assert check.printed == "I am here\n"


def test_the_suite_is_proven_without_it(toy: Path) -> None:
    """Catches: a proof that trips over generators, or plays where nothing is handed in."""
    found = list(verify(toy, "toy", ProofOptions(quick=True)))
    assert [line for line, fault in found if fault] == []


def test_nothing_to_debug(toy: Path, tmp_path: Path) -> None:
    """Catches: a debugger that calls one half of a dialogue, and waits for the other."""
    from grader.desk.look import NothingToInspect, find_failing_checks

    shutil.copy(toy / "solutions/toy/submitted.py", tmp_path / "submitted.py")
    (tmp_path / "agent.safetensors").write_bytes(save({"weights": np.zeros(1)}))
    with pytest.raises(NothingToInspect, match="only 40 actions"):
        find_failing_checks(AssignmentFiles(toy, "toy"), tmp_path, "agent")
