"""The list of allowed system calls: what is on it works, what is not fails without a trace, but for its name in the report."""

from __future__ import annotations

import errno
import os
import platform
import random
import shutil
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from grader.assignment import AssignmentFiles
from grader.judge.run import Grader
from grader.report.model import Report
from grader.sandbox import open_sandbox
from grader.sandbox.forked import ForkedSandbox
from grader.sandbox.places import make_temporary_folder
from grader.sandbox.refusals import MAX_ASKED
from grader.sandbox.reply import Isolation, Reply
from tests.kit.attacks.catalogue import load
from tests.kit.attacks.families import OPEN

if TYPE_CHECKING:
    from grader.sandbox import Sandbox

pyseccomp = pytest.importorskip("pyseccomp")

from grader.sandbox import syscall_filter  # noqa: E402 - they need libseccomp
from grader.sandbox.allowed_calls import ALLOWED, AUDIT_ARCH_X86_64, FAMILIES  # noqa: E402

pytestmark = [
    pytest.mark.attack,
    pytest.mark.recorded(kernel=True),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the list is about x86_64"),
]

OWN_SERVERS = True
INPUTS = ("tests/kit/attacks/**",)

NO_CALL, FORBIDDEN = pyseccomp.ERRNO(errno.ENOSYS), pyseccomp.ERRNO(errno.EPERM)
MQ_NOTIFY, FORK, SETSID = 244, 57, 112
SITUATIONS = ((True, 7), (True, 0), (False, 7), (False, 0))  # whether a worker has a user of its own; Landlock's version
CALL = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments))
    return ctypes.get_errno() if result < 0 else 0
"""


def run_program(program: bytes, number: int, arguments: tuple[int, ...] = (0,) * 6, arch: int = AUDIT_ARCH_X86_64) -> int:
    """Return what a program for seccomp decides about a call, as the kernel would find out."""
    data = struct.pack("=IIQ6Q", number, arch, 0, *arguments)
    held, place = 0, 0
    while True:
        kind, yes, no, value = struct.unpack_from("=HBBI", program, 8 * place)
        place += 1
        if kind == 0x20:
            (held,) = struct.unpack_from("=I", data, value)
        elif kind == 0x54:
            held &= value
        elif kind == 0x06:
            return value
        elif kind == 0x05:
            place += value
        else:
            place += yes if {0x15: held == value, 0x25: held > value, 0x35: held >= value, 0x45: held & value}[kind] else no


def join(parts: list[bytes], process: int = syscall_filter.OWN_PROCESS) -> bytes:
    return struct.pack("=I", process).join(parts)


@pytest.fixture
def answer(sandbox: ForkedSandbox):
    """Call `function`, given by its body, in a submission made for it."""
    return lambda body, seconds=5.0: ask(sandbox, body, seconds)


def ask(box: Sandbox, body: str, seconds: float = 5.0) -> Reply:
    path = box.folders[0] / "submitted.py"
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    path.write_text(f"{CALL}\n\ndef function():\n{lines}\n", encoding="utf-8")
    return box.call("run", {}, path, seconds)


@pytest.fixture(params=["full", "process", "basic"])
def box(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandbox]:
    """A sandbox at each level."""
    monkeypatch.setenv("GRADER_LEVEL", request.param)
    folder = make_temporary_folder()
    (folder / "student").mkdir()
    drivers = shutil.copy(Path(__file__).with_name("drivers_for_tests.py"), folder / "drivers.py")
    with open_sandbox(Path(drivers), [folder / "student"], memory_mb=4096) as opened:
        if request.param != "full" or os.geteuid() == 0:
            assert opened.isolation.level == request.param
        yield opened
    shutil.rmtree(folder)


def test_every_open_family_has_a_reason_and_attacks() -> None:
    """Catches: a family of calls that is opened, and that no attack goes through."""
    assert set(OPEN) == set(FAMILIES)
    attacks = {attack.name for attack in load()}
    for family, (reason, names) in OPEN.items():
        assert reason, family
        assert names, family
        assert set(names) <= attacks, family


def test_the_list_and_the_named_dangers_are_apart() -> None:
    """Each name is on one list, once, and a system call of this machine."""
    assert len(set(ALLOWED)) == len(ALLOWED)
    assert not set(ALLOWED) & set(syscall_filter.REFUSED)
    assert [name for name in ALLOWED if syscall_filter._resolve(name) < 0] == []


@pytest.mark.parametrize(("own_user", "landlock"), SITUATIONS)
def test_the_program_decides_as_the_lists_say(own_user: bool, landlock: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: a mistake in the tree of numbers, by comparing it with the deny-list for each number and odd arguments."""
    made = syscall_filter.WorkerFilter(own_user, landlock)
    monkeypatch.setattr(syscall_filter, "RECORDED", False)
    deny = join(syscall_filter.WorkerFilter(own_user, landlock)._silent)
    silent, notifying = join(made._silent), join(made._notifying)
    allowed = {syscall_filter._resolve(name) for name in ALLOWED}
    rng = random.Random(3)
    odd = [*range(12), 19, 20, 21, 22, 0x5401, 0x6602, 1025, 1036, syscall_filter.OWN_PROCESS, 1 << 32, (1 << 64) - 1]
    for number in [*range(700), 1000, 0x3FFFFFFF, 0x40000000, 0x40000029, 0xFFFFFFFF]:
        for arguments in [(0,) * 6, *(tuple(rng.choices(odd, k=6)) for _ in range(20))]:
            denied, heard = run_program(deny, number, arguments), run_program(notifying, number, arguments)
            unheard = run_program(silent, number, arguments)
            if number < 0x40000000 and denied == pyseccomp.ALLOW and number not in allowed:
                assert (heard, unheard) == (pyseccomp.NOTIFY, NO_CALL), number
            else:
                assert heard == unheard == denied, (number, arguments)
        assert run_program(notifying, number, arch=0x40000003) == run_program(deny, number, arch=0x40000003)
    for name in syscall_filter.REFUSED:
        if (number := syscall_filter._resolve(name)) >= 0:
            assert run_program(notifying, number) == FORBIDDEN, name


def test_a_machine_that_was_not_recorded_has_the_deny_list_and_says_so() -> None:
    """Where only dangers are refused, the level is the same, and the layer has another name."""
    found = Isolation.of(["own user", "seccomp (deny-list)"], {}, [])
    assert found.level == "full"
    assert Isolation.of(["own user"], {}, []).level == "process"


@pytest.mark.parametrize("number", [SETSID, MQ_NOTIFY, 999, 100_000])
def test_an_unlisted_call_fails_as_if_it_were_not_there_and_is_named(answer, number: int) -> None:
    """Today's kernels and those to come: what nothing recorded uses cannot be used."""
    reply = answer(f"return call({number})")
    assert (reply.status, reply.facts) == ("ok", errno.ENOSYS)
    name = {SETSID: "setsid", MQ_NOTIFY: "mq_notify"}.get(number, f"call {number}")
    assert reply.refused_calls == (name,)


def test_a_named_danger_is_forbidden_and_not_named(answer) -> None:
    """A student reads of a limit, and the instructor of nothing unknown."""
    reply = answer(f"import os\nassert call({FORK}) == {errno.EPERM}\nos.fork()")
    assert (reply.status, reply.details["limit"]) == ("raised", "forbidden")
    assert reply.refused_calls == ()


def test_a_student_reads_of_a_limit_too(answer) -> None:
    """Catches: "Function not implemented", of which nobody would guess that the grader does not allow it."""
    reply = answer("import os\nos.setsid()")
    assert (reply.status, reply.details["limit"], reply.refused_calls) == ("raised", "forbidden", ("setsid",))


def test_the_judge_answers_a_few_times_and_then_the_kernel(answer) -> None:
    """Catches: a submission that keeps the judge busy, or waits for it, with calls that are refused."""
    reply = answer(f"return {{call(1000 + number) for number in range(5000)}} == {{{errno.ENOSYS}}}")
    assert (reply.status, reply.facts) == ("ok", True)
    assert len(reply.refused_calls) == MAX_ASKED


def test_calls_of_threads_are_refused_and_named(answer) -> None:
    """A thread that waits for the judge's answer must not hold up the others, nor the end of the process."""
    reply = answer(
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(3) as pool:\n"
        "    return list(pool.map(call, range(1000, 1008)))"
    )
    assert (reply.status, reply.facts) == ("ok", [errno.ENOSYS] * 8)
    assert set(reply.refused_calls) == {f"call {number}" for number in range(1000, 1008)}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (f"import signal\nsignal.setitimer(signal.ITIMER_REAL, 0.05)\nwhile True: call({SETSID})", "crashed"),
        (f"import os\ncall({SETSID})\nos._exit(1)", "crashed"),
        (f"while True: call({SETSID})", "timeout"),
    ],
)
def test_however_a_call_ends_the_names_are_known(answer, body: str, status: str) -> None:
    """A worker that is gone, or is ended, leaves nobody waiting."""
    if "setitimer" in body:
        body = "import signal\nsignal.signal(signal.SIGALRM, signal.SIG_DFL)\n" + body
    reply = answer(body, 1.0)
    assert reply.status == status
    assert reply.refused_calls == ("setsid",)


def test_nothing_of_the_filter_is_left_open(sandbox: ForkedSandbox, answer) -> None:
    """Catches: a submission that answers its own calls, and a judge that keeps a descriptor for each call."""
    body = (
        "import os\n"
        "links = [f'/proc/self/fd/{name}' for name in os.listdir('/proc/self/fd')]\n"
        "return [os.readlink(link) for link in links if os.path.islink(link)]"
    )
    assert not any("seccomp" in target for target in answer(body).facts)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        answer(f"return call({SETSID})")
    assert len(os.listdir("/proc/self/fd")) == before


def test_where_nobody_can_be_asked_the_call_fails_unheard(monkeypatch: pytest.MonkeyPatch) -> None:
    """gVisor, an old kernel, an engine that listens itself: the list holds there too."""

    def unknown(program: bytes) -> int:
        raise OSError(errno.EINVAL, "seccomp")

    monkeypatch.setattr(syscall_filter, "load_notifying_filter", unknown)
    made = syscall_filter.WorkerFilter(False, 0)
    child = os.fork()
    if child == 0:
        try:
            import ctypes

            from grader.sandbox import kernel

            libc = ctypes.CDLL(None, use_errno=True)
            kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
            heard = made.load()
            failed = libc.syscall(ctypes.c_long(SETSID)) == -1 and ctypes.get_errno() == errno.ENOSYS
            os._exit(0 if failed and heard is None else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


STEPS = {
    "mujoco": """
import sys, types
sys.modules.setdefault("glfw", types.ModuleType("glfw"))  # it would start a process, to look for a screen
import gymnasium
environment = gymnasium.make("HalfCheetah-v5")
environment.reset(seed=1)
return len(environment.step(environment.action_space.sample())[0])
""",
    "ale_py": """
import ale_py, gymnasium
gymnasium.register_envs(ale_py)
environment = gymnasium.make("ALE/Pong-v5")
environment.reset(seed=1)
return len(environment.step(0)[0])
""",
    "cv2": """
import cv2, numpy
cv2.setNumThreads(4)
picture = numpy.arange(3 << 20, dtype=numpy.uint8).reshape(1024, 1024, 3)
small = cv2.resize(cv2.GaussianBlur(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), (9, 9), 0), (84, 84))
assert cv2.imwrite("picture.png", small) and (cv2.imread("picture.png", 0) == small).all()
return len(small)
""",
    "matplotlib": """
import matplotlib.pyplot as plt
plt.plot([1, 2])
for ending in ("png", "pdf", "svg"):
    plt.savefig(f"figure.{ending}")
return 1
""",
    "torch": """
import torch
torch.set_num_threads(4)
network = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.Flatten(), torch.nn.LazyLinear(1))
loss = network(torch.randn(64, 3, 32, 32)).sum()
loss.backward()
torch.optim.Adam(network.parameters()).step()
torch.linalg.svd(torch.randn(100, 100))
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(32, 3)), 8, shuffle=True)
torch.save(network.state_dict(), "network.pt")
torch.load("network.pt", mmap=True)
return len(list(data))
""",
    "scipy": """
import numpy, scipy.fft, scipy.optimize, scipy.signal
scipy.optimize.minimize(lambda x: (x**2).sum(), numpy.ones(3))
scipy.fft.fft(numpy.ones(1 << 16), workers=2)
return len(scipy.signal.lfilter([1], [1, -0.9], numpy.ones(100)))
""",
}


@pytest.mark.slow(40)
def test_libraries_work_at_every_level(box: Sandbox) -> None:
    """MuJoCo and ale-py take a step, OpenCV and torch start threads, and nothing that they use is refused."""
    for library, body in STEPS.items():
        pytest.importorskip(library)
        reply = ask(box, body.strip(), 60.0)
        assert reply.status == "ok", (library, reply)
        assert reply.facts
        assert reply.refused_calls == (), library


@pytest.fixture
def refused(built_toy: Path, tmp_path: Path) -> Report:
    """The report of a submission that makes an unlisted call when it is loaded, and two in a function."""
    path = tmp_path / "submitted.py"
    source = (built_toy / "solutions/toy/submitted.py").read_text()
    call = "import ctypes\nctypes.CDLL(None).syscall(ctypes.c_long({}))\n"
    head, _, body = source.partition("def total(")
    signature, _, rest = body.partition("\n")
    inside = "".join(f"    {line}\n" for number in (MQ_NOTIFY, 999) for line in call.format(number).splitlines())
    path.write_text(f"{head}{call.format(SETSID)}\n\ndef total({signature}\n{inside}{rest}")
    with Grader(AssignmentFiles(built_toy, "toy"), ("visible", "hidden")) as grader:
        return grader.grade(path)


def test_an_instructor_sees_the_names_and_a_student_does_not(refused: Report) -> None:
    """A refusal that no list explains may be an attack, or honest work on a system that was not recorded."""
    from grader.report.shared import fold_hidden_checks
    from grader.report.terminal import describe_total

    assert refused.points == refused.max_points
    assert refused.refused_calls == ("call 999", "mq_notify", "setsid")
    assert any("call 999, mq_notify, setsid" in line for line in describe_total(refused))
    assert refused.for_student().refused_calls == fold_hidden_checks(refused).refused_calls == ()
