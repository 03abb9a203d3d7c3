"""The result of a call, and code that both kinds of sandbox share on the judge's side. Trusted.

Whatever goes wrong beyond this line comes back as a `Reply` that is not "ok"; only `SandboxFault` says that the grader itself
is at fault.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Protocol, TypeVar

from grader.sandbox.libraries import IMPORTED_LATE
from grader.sandbox.scratch import remove_folder

if TYPE_CHECKING:
    from typing_extensions import Self

    from grader.sandbox.clock import CallClock

MAX_OUTPUT = 16 << 10  # bytes kept of what a call prints, from its beginning and again from its end
LEFT_OUT = "bytes left out"
START_SECONDS = 120.0
LOOKING_SHARE = 0.1  # of the seconds for loading a file that looking at it may take: its last word keeps as much free
STATUSES = frozenset(("ok", "raised", "syntax", "import", "missing", "refused", "memory", "timeout", "unreadable"))
RUNNING = ("open", "load", "call", "converse")
"""Requests that run drivers or student code; all others only read."""
ATTEMPTS = 3
"""The number of attempts for a call that the machine may have disturbed."""
PAUSES = (0.5, 2.0)  # seconds before each repetition, in which others may give memory back
NOT_AN_ANSWER = "the worker's reply is not a valid answer"
TWICE = "the worker sent more than one answer"


class SandboxFault(Exception):
    """The sandbox itself failed: the student is not to blame."""


class ServerGone(SandboxFault):
    """The server is gone or does not answer, by its own fault or because of the student's code."""


class MachineFault(SandboxFault):
    """The machine could not carry out a call, not even when it was repeated: it is too busy, or has too little memory."""


LEVELS = ("basic", "process", "full")
"""The isolation levels, weakest first; see `Isolation`."""
LAYERS = ("own user", "seccomp", "landlock", "network namespace", "mount namespace")
"""Layers that a system may lack, by the names that GRADER_WITHOUT accepts."""

PROCESSORS = {
    "sse4": {
        "ATEN_CPU_CAPABILITY": "default",
        "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "OPENBLAS_CORETYPE": "Nehalem",
    },
    "avx2": {
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "OPENBLAS_CORETYPE": "Haswell",
    },
    "other-vendor": {"MKL_CBWR": "COMPATIBLE", "OPENBLAS_CORETYPE": "Zen"},
}
"""By the names that GRADER_PROCESSOR accepts, variables that let libraries round as on another processor: what PyTorch, MKL,
oneDNN and OpenBLAS may use of this one. MKL takes its compatible code on processors that are not Intel's."""


@dataclass(frozen=True)
class Isolation:
    """The protection of a call.

    Attributes:
        level: "full": every call has a user to itself, and nothing that was tried succeeded.
            "process": processes of their own, with all layers that the system offers. "basic": one
            process, reused.
        layers: The layers in use.
        missing: The layers not in use, and why.
        open: The attempts, of all that were tried, that succeeded for a worker.
    """

    level: str
    layers: tuple[str, ...]
    missing: dict[str, str] = field(default_factory=dict)
    open: tuple[str, ...] = ()

    @classmethod
    def of(cls, layers: Sequence[str], missing: dict[str, str], succeeded: Sequence[str]) -> Isolation:
        """Return the isolation of a fork server that has these layers, and whose worker succeeded at these attempts."""
        names = {layer.partition(" (")[0] for layer in layers}  # some say in parentheses how they work here
        full = {"own user", "seccomp"} <= names and not succeeded
        return cls("full" if full else "process", tuple(layers), missing, tuple(succeeded))

    def lacks(self) -> str:
        """Return the missing layers, and what a submission could do without them, on one line."""
        missing = "; ".join(f"no {layer} ({why})" for layer, why in self.missing.items())
        could = f"; a submission could {', '.join(self.open)}" if self.open else ""
        return f"{missing or 'no layer is missing'}{could}"


@dataclass(frozen=True)
class Reply:
    """The outcome of one call.

    Attributes:
        status: "ok"; or "raised", "syntax", "import", "missing", "refused", "memory" or
            "unreadable", the worker's own account, in `details`; or "timeout", "disk", "crashed" or
            "protocol", observed by the judge.
        facts: The driver's return value, when "ok".
        output: The printed text, shortened.
        seconds: The seconds that the call is charged for; see clock.py.
        cpu_seconds: Those of them in which it computed, as far as that was measured.
        spent: What this and earlier tries of the same call were charged for, where it was made again.
        imported: Libraries that the call had to import, which takes long; the process says so itself.
        entered: The functions of the submission that it entered, if it was traced; the process says so itself.
        refused_calls: The system calls that it was refused because they are not on the list of
            allowed ones, by name.
        disturbed: Whether the machine may have ended the call, or kept it from ending, so that another try is worth it.
    """

    status: str
    facts: Any = None
    details: dict[str, Any] = field(default_factory=dict)
    output: str = ""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    spent: float = 0.0
    imported: tuple[str, ...] = ()
    entered: frozenset[str] = frozenset()
    refused_calls: tuple[str, ...] = ()
    disturbed: bool = False


class CallExplanation(NamedTuple):
    """More about a failed call; it changes no verdict.

    Attributes:
        arguments: What functions of the submission were called with, in this order: a function in its first call, a method
            in its last.
        alone: The driver's facts, in a list, without the calls that it makes beforehand; nothing if it makes none.
    """

    arguments: list[tuple[str, dict[str, Any]]]
    alone: list[Any]


Result = TypeVar("Result")
Part = tuple[str, dict[str, Any]]
"""A driver, and its inputs."""


class Exchange(Protocol):
    """A request that a worker has been given, and what it says to that: of a dialogue, one turn after another."""

    fault: str  # how it broke the protocol, if it did
    output: str  # what was printed, once the worker has ended
    clock: CallClock  # from the start of it until the last word so far

    def run(self) -> None:
        """Send what is to be sent and receive what is said to it, as far as it goes."""

    def turn(self, frame: bytes | None = None) -> bytes | None:
        """Return what is said to a frame, or first to the request, as a frame for the other side; None if that was the last."""

    def reply(self) -> Reply:
        """Return the Reply, once the worker has ended."""


class CallCache(Protocol):
    """Knows the replies to earlier requests, so that nothing is run twice; the kit's own proofs and tests use one."""

    def find(self, request: dict[str, Any], seconds: float) -> tuple[Reply, ...] | None:
        """Return the replies to a request with this limit; None if they are not known."""

    def keep(self, request: dict[str, Any], seconds: float, replies: tuple[Reply, ...]) -> None:
        """Take note of the replies to a request, if they would be the same another time."""


class SandboxCalls:
    """What a sandbox can be asked.

    How it gives a worker a request (`_exchange`), and has everything imported for what it runs (`_ready`), is its own business.
    """

    _home: Path
    cpu_seconds: float  # of all workers so far, where that can be measured
    interrupted: threading.Event  # while it is set, a call that runs student code ends as if its time were over
    traced = False  # whether to ask which functions of a submission each call enters; before the submission is taken
    driver_code = ""  # functions that calls have in place of those of the drivers; where each call has a process of its own
    # Is passed every call and dialogue, its limit and its reply.
    observer: Callable[[dict[str, Any], float, Reply], None] | None = None
    # Is asked first for the reply to a call or dialogue, with its limit.
    recall: Callable[[dict[str, Any], float], Reply | None] | None = None
    cache: CallCache | None = None  # is asked next, for the replies to all requests but dialogues
    _hopeless = False  # whether the machine was at fault at the last call: then it gets no second chance at the next one
    _other: SandboxCalls | None = None  # for the side of a dialogue that asks; started when there is the first one

    # What each kind of sandbox does in its own way

    @property
    def warm(self) -> bool:
        """Whether a process is ready that has imported what calls need."""
        return False

    @property
    def isolation(self) -> Isolation:
        """What protects a call here."""
        raise NotImplementedError

    @property
    def home(self) -> Path:
        """The folder in which each call has its own; no call may write there itself where layers confine it."""
        return self._home

    def start(self) -> None:
        """Start the process behind it, unless it runs."""
        raise NotImplementedError

    def warm_up(self, wait: bool = True) -> None:
        """Let the process behind it import what calls need; with `wait=False` return at once, while it does so."""
        raise NotImplementedError

    @property
    def copies(self) -> bool:
        """Whether `copy` is possible."""
        return False

    def _another(self) -> SandboxCalls:
        """Return a sandbox of the same kind, with the same files and limits, for the side of a dialogue that asks."""
        raise NotImplementedError

    def _ready(self, run: Callable[[], Reply]) -> Reply:
        """Return what `run` returns, once everything is imported that it needs; see `_repeat`."""
        raise NotImplementedError

    def _restarting(self, run: Callable[[], Result]) -> Result:
        """Return what `run` returns, with a new server each time the old one is gone.

        Raises:
            ServerGone: If it is gone every time.
        """
        for _ in range(ATTEMPTS - 1):
            try:
                return run()
            except ServerGone:
                self.restart()
        return run()

    def _repeat(self, run: Callable[[], Reply]) -> Reply:
        """Return what `run` returns, once it was not disturbed; as it is when it was disturbed every time.

        Raises:
            MachineFault: If the call is not at fault.
        """
        short, spent = count_memory_kills(), 0.0
        for attempt in range(1, ATTEMPTS + 1):
            reply = run()
            spent += reply.seconds
            reply = replace(reply, spent=spent)
            if not reply.disturbed or self.interrupted.is_set():
                self._hopeless = False
                if reply.imported:
                    self._learn(reply.imported)
                return reply
            if attempt == ATTEMPTS or self._hopeless:
                break
            time.sleep(PAUSES[attempt - 1])
        why = ""
        if reply.status == "starved":
            why = f"this machine was too busy: the call did not get its processor time within {reply.seconds:.0f} s"
        elif reply.status == "crashed" and count_memory_kills() > short:
            why = "this machine ran out of memory, and its kernel ended the call"
        if why:
            self._hopeless = True
            raise MachineFault(f"{why}, {attempt} times" if attempt > 1 else f"{why}, again")
        return reply

    def _tracing(self, request: dict[str, Any]) -> dict[str, Any]:
        return request | {"trace": True} if self.traced else request

    def _changing(self, request: dict[str, Any]) -> dict[str, Any]:
        from grader.sandbox.wire import MAX_STRING

        code = [self.driver_code[start : start + MAX_STRING] for start in range(0, len(self.driver_code), MAX_STRING)]
        return request | {"driver_code": code} if code else request

    def _once(self, request: dict[str, Any], seconds: float, run: Callable[[], tuple[Reply, ...]]) -> tuple[Reply, ...]:
        """Return the replies to a request: those that the cache knows, or what `run` returns, which it takes note of."""
        known = self.cache.find(request, seconds) if self.cache is not None else None
        if known is not None:
            return known
        replies = run()
        if self.cache is not None:
            self.cache.keep(request, seconds, replies)
        return replies

    def _exchange(self, request: dict[str, Any], seconds: float) -> contextlib.AbstractContextManager[Exchange]:
        """Give a worker this request; afterwards the exchange with it can return its reply."""
        raise NotImplementedError

    def _learn(self, imported: Sequence[str]) -> None:
        """Let the calls to come find these libraries imported, where each begins in a copy of one process."""

    def _stop(self) -> None:
        """Stop the process behind it, if it runs."""
        raise NotImplementedError

    # What can be asked of every kind

    def inspect(self, path: Path, names: Sequence[str] = (), seconds: float = 10.0) -> Reply:
        """Return fingerprints of the functions in the file, or its syntax error. Runs and imports nothing of it.

        Args:
            path: The file.
            names: Names whose `reach` is returned too: a hash of all code in the file that the name uses.
            seconds: Limit of what the call is charged for.
        """
        self.start()
        return self._look(self._tracing({"do": "inspect", "path": str(path), "names": list(names)}), seconds)

    def extract(self, path: Path, names: Sequence[str], own: str, seconds: float = 10.0) -> Reply:
        """Return what the notebook defines of `names`, as a file that stands for the module `own`. Runs nothing of it."""
        self.start()
        return self._look({"do": "extract", "path": str(path), "names": list(names), "own": own}, seconds)

    def parse(self, do: str, path: Path, seconds: float = 20.0, **about: int) -> Reply:
        """Return what a worker reads in a file that a student made. Runs nothing of it; see parsing.py.

        Args:
            do: "list_code" of a notebook, "list_zip" or "read_zip".
            path: The file.
            seconds: Limit of what the call is charged for.
            about: What else the request says.
        """
        self.start()
        return self._look({"do": do, "path": str(path)} | about, seconds)

    def _run(self, request: dict[str, Any], seconds: float) -> Reply:
        with self._exchange(request, seconds) as exchange:
            exchange.run()
        return exchange.reply()

    def _look(self, request: dict[str, Any], seconds: float) -> Reply:
        def look() -> Reply:
            return self._repeat(lambda: self._run(request, seconds))

        def run() -> tuple[Reply]:
            reply = self._restarting(look)
            # Nothing of this submission has been run: where one process answers several requests, an earlier one has ruined it.
            return (self._restarting(look) if reply.status in ("crashed", "protocol") else reply,)

        return self._once(request, seconds, run)[0]

    def load(self, path: Path, seconds: float = 10.0) -> Reply:
        """Return how importing the submission goes, without calling anything in it."""
        request = self._tracing({"do": "load", "submission": str(path)})
        return self._once(request, seconds, lambda: (self._ready(lambda: self._run(request, seconds)),))[0]

    def open(
        self, path: Path, names: Sequence[str], wanted: Callable[[Reply], bool], seconds: float = 10.0
    ) -> tuple[Reply, Reply | None]:
        """Return the replies of `inspect` and `load`, from one process instead of two.

        The first reply arrives before any code of the file runs. The second one is None if the caller must still call `load`:
        the file could not be inspected, or inspection took too much of the seconds, which are meant for loading alone.

        Args:
            path: The file.
            names: See `inspect`.
            wanted: Predicate on the inspection; if false, the file is not loaded and the second reply is empty.
            seconds: Limit of what the call is charged for.
        """
        from grader.sandbox import wire

        request = self._tracing({"do": "open", "path": str(path), "submission": str(path), "names": list(names)})
        if self.cache is not None and (known := self.cache.find(request, seconds)) is not None:
            looked_before, loaded_before = known
            return looked_before, loaded_before if wanted(looked_before) else Reply("ok")
        looked: list[Reply] = []

        def run() -> Reply:
            looked.clear()
            with self._exchange(request, seconds) as exchange:
                said = exchange.turn()
                if said is not None:
                    text, _ = wire.read_lengths(said[: wire.HEADER.size])
                    body = said[wire.HEADER.size :]
                    said = wire.decode(body[:text], body[text:])["said"]
                    looked.append(Reply(said.pop("status"), details=said, seconds=exchange.clock.charge()))
                    exchange.turn(wire.encode({"said": wanted(looked[0])}))
            return exchange.reply()

        loaded = self._ready(run)
        if loaded.status == "syntax":
            return loaded, loaded
        if not looked:
            return self.inspect(path, names), None
        if self.cache is not None and wanted(looked[0]):
            self.cache.keep(request, seconds, (looked[0], loaded))
        late = loaded.status == "timeout" and looked[0].seconds > LOOKING_SHARE * seconds
        return looked[0], None if late else loaded

    def call(
        self, driver: str, inputs: dict[str, Any], submission: Path | None = None, seconds: float = 10.0, seed: int = 0
    ) -> Reply:
        """Return the reply of `driver(submitted, **inputs)`.

        Where the system can fork, no process of the call is left when this returns.

        Args:
            submission: The staged file that is loaded first; None runs the driver without student
                code.
            seconds: Limit of what the call is charged for.
            seed: The seed of every global generator.
        """
        request = _request("call", driver, inputs, submission, seed)
        reply = self.recall(request, seconds) if self.recall is not None else None
        if reply is None:
            traced = self._changing(self._tracing(request))
            (reply,) = self._once(traced, seconds, lambda: (self._ready(lambda: self._run(traced, seconds)),))
        if self.observer is not None:
            self.observer(request, seconds, reply)
        return reply

    def explain(
        self, driver: str, inputs: dict[str, Any], submission: Path, seconds: float = 10.0, seed: int = 0
    ) -> CallExplanation:
        """Return what a driver's call gives functions of a submission, and what its facts are without calls made beforehand.

        It changes no verdict, and is empty if the call does not end well.

        Args:
            driver, inputs, submission, seconds, seed: See `call`.

        Raises:
            SandboxFault: If the sandbox is at fault.
        """
        request = _request("call", driver, inputs, submission, seed) | {"arguments": True}
        reply = self._ready(lambda: self._run(request, seconds))
        # It comes from a process that runs student code.
        match reply.facts if reply.status == "ok" else None:
            case [list(listed), list(alone)]:
                pairs = [tuple(entry) for entry in listed if isinstance(entry, list) and len(entry) == 2]
                named = [(name, values) for name, values in pairs if isinstance(name, str) and isinstance(values, dict)]
                return CallExplanation(named, alone[:1])
        return CallExplanation([], [])

    def dialogue(
        self, asks: Part, answers: Part, submission: Path | None = None, seconds: float = 10.0, seed: int = 0
    ) -> Reply:
        """Return the reply of a driver that talks with another, which runs beside the submission.

        Each value that the first driver yields, without student code, is sent to the second one.
        Each value that the second one yields goes back, until the first one returns the facts. The
        value that the second one yields first, before it has received anything, is dropped. If one
        of them fails, the dialogue ends and the reply is of that one. The output is that of the
        second one.

        Args:
            asks, answers: The first and the second driver, which are generator functions, each with
                its inputs.
            seconds: Limit of what it all is charged for.
        """
        request = _request("converse", *answers, submission, seed)
        asked, answered = self._changing(_request("converse", *asks, None, seed)), self._changing(self._tracing(request))
        whole = request | {"asks": {"driver": asks[0], "inputs": asks[1]}}

        def run() -> Reply:
            # Nothing is shared that one side could reach the other by: each has a server, or spawned worker, of its own.
            other = self._other = self._other or self._another()
            other.warm_up()
            with self._exchange(answered, seconds) as answering, other._exchange(asked, seconds) as asking:
                answering.clock.share(asking.clock)
                asking.clock = answering.clock
                turns, last = _relay(asking, answering)
            reply = (answering if answering.fault else last).reply()
            if last is answering and reply.status == "ok":  # whatever it calls facts
                reply = Reply("protocol", details={"message": "it ended too early"}, seconds=reply.seconds)
            if reply.status == "timeout":
                reply = replace(reply, details=reply.details | {"turns": turns})
            return replace(reply, output=answering.output)

        reply = self.recall(whole, seconds) if self.recall is not None else None
        if reply is None:
            reply = self._ready(run)
        if self.observer is not None:
            self.observer(whole, seconds, reply)
        return reply

    def restart(self) -> None:
        """Replace the process behind it by a new one; the second one is started again when it is needed."""
        self._stop()
        if self._other is not None:
            self._other._stop()
        self.start()

    def close(self) -> None:
        """Stop the processes behind it and remove every scratch folder."""
        if self._other is not None:
            self._other.close()
        self._stop()
        with contextlib.suppress(OSError):
            remove_folder(self._home)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _request(do: str, driver: str, inputs: dict[str, Any], submission: Path | None, seed: int) -> dict[str, Any]:
    path = None if submission is None else str(submission)
    return {"do": do, "driver": driver, "inputs": inputs, "submission": path, "seed": seed}


def hash_request(request: dict[str, Any]) -> str:
    """Return the digest of a request."""
    from grader.sandbox import wire

    return hashlib.sha256(wire.encode(request)).hexdigest()


def _relay(asking: Exchange, answering: Exchange) -> tuple[int, Exchange]:
    """Carry what each side says to the other until one has had its last word; return the number of turns, and that side."""
    if answering.turn() is None:  # it says that it is ready
        return 0, answering
    side, other, frame, turns = asking, answering, None, 0
    while (frame := side.turn(frame)) is not None:
        side, other, turns = other, side, turns + 1
    return turns // 2, side


def count_memory_kills() -> int:
    """Return how many processes the kernel has ended for want of memory, in any container, since the machine started."""
    try:
        with open("/proc/vmstat") as counters:
            return next((int(line.split()[1]) for line in counters if line.startswith("oom_kill ")), 0)
    except (OSError, ValueError, IndexError):
        return 0


def describe_crash(code: int, alive: bool = False, cpu_limit: float = math.inf, **common: Any) -> Reply:
    """Return the Reply for a worker that ended without an answer.

    Args:
        code: Its exit status; a negative one is the signal that ended it.
        alive: Whether it was still there, so that the signal is the sandbox's own.
        cpu_limit: The seconds of processor time after which the kernel ends it.
    """
    if code < 0 and alive:
        message = "the process closed its connection before it answered"
    elif code >= 0:
        message = f"the process ended with exit status {code} before it answered"
    elif -code == getattr(signal, "SIGXCPU", None) or common["cpu_seconds"] >= cpu_limit:
        return Reply("timeout", **common)
    else:
        # It cannot send SIGKILL to itself, so somebody else did: an operator, or a kernel that is short of memory.
        common["disturbed"] = -code == getattr(signal, "SIGKILL", None)
        known = {int(number): number.name for number in signal.Signals}
        message = f"the process was ended by signal {known.get(-code, -code)}"
    return Reply("crashed", details={"message": message, "exited": code >= 0}, **common)


def read_reply(text: bytes, blob: bytes, number: int | None = None, **common: Any) -> Reply:
    """Return the Reply that a frame holds.

    Args:
        number: The number of the call that it must answer, where one process answers several.
    """
    from grader.sandbox import wire

    try:
        answer = wire.decode(text, blob)
        if answer["status"] not in STATUSES or answer.pop("number", None) != number:
            raise wire.ProtocolError(NOT_AN_ANSWER)
    except (wire.ProtocolError, TypeError, KeyError, AttributeError):
        return Reply("protocol", details={"message": NOT_AN_ANSWER}, **common)
    names = answer.pop("imported", None)
    claimed = {name for name in names if isinstance(name, str)} if isinstance(names, list) else set()
    imported = tuple(name for name in IMPORTED_LATE if name in claimed)
    said = answer.pop("entered", None)
    entered = frozenset(name for name in said if isinstance(name, str)) if isinstance(said, list) else frozenset()
    return Reply(answer.pop("status"), answer.pop("facts", None), answer, imported=imported, entered=entered, **common)


def relay_frame(text: bytes, blob: bytes, number: int | None = None) -> bytes | None:
    """Return the message of one side of a dialogue as a frame for the other.

    It is None if the side sends none, or none that may cross. The frame is made anew, so that no
    bytes that one worker has sent reach another.

    Args:
        number: See `read_reply`.
    """
    from grader.sandbox import wire

    try:
        answer = wire.decode(text, blob)
        if answer["status"] == "said" and answer.get("number") == number:
            return wire.encode({"said": answer["facts"]})
    except Exception:  # the side's last reply, or a malformed frame: `read_reply` distinguishes them
        pass
    return None


def shorten_output(printed: BinaryIO) -> str:
    """Return the beginning and the end of what was printed."""
    size = printed.seek(0, os.SEEK_END)
    printed.seek(0)
    if size <= 2 * MAX_OUTPUT:
        return printed.read(2 * MAX_OUTPUT).decode("utf-8", "replace")
    head = printed.read(MAX_OUTPUT)
    printed.seek(size - MAX_OUTPUT)
    left_out = f"\n[... {size - 2 * MAX_OUTPUT:,} {LEFT_OUT} ...]\n"
    return head.decode("utf-8", "replace") + left_out + printed.read(MAX_OUTPUT).decode("utf-8", "replace")


def make_environment(home: Path, python_home: str | None = None) -> dict[str, str]:
    """Return the whole environment of the server: nothing inherited, one thread, fixed hashes.

    GRADER_PROCESSOR is not passed on: it names one of PROCESSORS, whose variables are.
    """
    moved = {"PYTHONHOME": python_home} if python_home else {}
    # Without these Windows starts no process and finds no temporary folder.
    needed = ("SYSTEMROOT", "WINDIR", "TEMP", "TMP", "PATHEXT") if sys.platform == "win32" else ()
    return (
        {name: os.environ[name] for name in needed if name in os.environ}
        | moved
        | {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(home),
            "TMPDIR": str(home),
            "LANG": "C.UTF-8",
            "LC_ALL": "C.UTF-8",
            "LOGNAME": "student",
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "MKL_NUM_THREADS": "1",
            "CUDA_VISIBLE_DEVICES": "",
            "MPLBACKEND": "Agg",
            "SDL_VIDEODRIVER": "dummy",
        }
        | PROCESSORS.get(os.environ.get("GRADER_PROCESSOR", ""), {})
    )
