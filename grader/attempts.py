"""The submissions with which `doctor` attacks the sandbox of a machine.

Each is the body of `function(secret, folder, victim)`: a file that it must not read, a folder and a file that it must not
change. The judge decides by the reply, and by what it finds itself, whether an attack was stopped. If a body returns a list, it
names the ways that succeeded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from grader.sandbox.reply import Reply

SECRET = "what only the grader may read"


@dataclass(frozen=True)
class Attack:
    """One attack.

    Attributes:
        tries: What it tries, in words.
        body: The body of the student's function.
        held: Whether a reply shows that the attack was stopped.
        safe: Whether it is tried at `basic` too.
    """

    tries: str
    body: str
    held: Callable[[Reply], bool]
    safe: bool = False


def status_is_one_of(*statuses: str) -> Callable[[Reply], bool]:
    """Return a test whether a reply has one of these statuses."""
    return lambda reply: reply.status in statuses


def nothing_succeeded(reply: Reply) -> bool:
    """Return whether the call ended normally and names no way that succeeded."""
    return reply.status == "ok" and reply.facts == []


def output_is_whole(reply: Reply) -> bool:
    """Return whether the judge could read the reply and all of the output."""
    return nothing_succeeded(reply) and reply.output.endswith("the end\n")


TRUNCATE = """
import ctypes, os
libc, done = ctypes.CDLL(None), []
for path in (victim, secret, os.path.join(os.pardir, "server.log")):
    if libc.truncate(os.fsencode(path), ctypes.c_long(0)) == 0:
        done.append("truncate " + path)
    if libc.truncate64(os.fsencode(path), ctypes.c_long(0)) == 0:
        done.append("truncate64 " + path)
return done
"""

LOCKS = """
import fcntl, os, struct
def lock(kind):
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, 0, 0, 0)
done = []
for path in (os.devnull, os.__file__, victim):
    try:
        one, other = os.open(path, os.O_RDONLY), os.open(path, os.O_RDONLY)
    except OSError:
        continue
    try:
        fcntl.flock(one, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        done.append("flock " + path)
    except OSError:
        pass
    for name, command in (("fcntl", fcntl.F_SETLK), ("an OFD lock", 37)):
        try:
            fcntl.fcntl(one, command, lock(fcntl.F_RDLCK))
            if struct.unpack("hhqqi4x", fcntl.fcntl(other, 36, lock(fcntl.F_WRLCK)))[0] != fcntl.F_UNLCK:
                done.append(name + " " + path)
        except OSError:
            pass
return done
"""

# Signals go to the attacker alone, if it is allowed to ask for them.
FLAGS = """
import fcntl, os, signal
signal.signal(signal.SIGIO, signal.SIG_IGN)
done = []
for number in range(4):
    for flag in (os.O_NONBLOCK, os.O_DIRECT, os.O_ASYNC, 0):
        try:
            fcntl.fcntl(number, fcntl.F_SETFL, flag)
        except OSError:
            pass
    for command, value in ((fcntl.F_SETOWN, os.getpid()), (fcntl.F_SETSIG, signal.SIGIO)):
        try:
            fcntl.fcntl(number, command, value)
            if f"signals about descriptor {number}" not in done:
                done.append(f"signals about descriptor {number}")
        except OSError:
            pass
    for flag in (os.O_NONBLOCK | os.O_DIRECT, os.O_NONBLOCK):
        try:
            fcntl.fcntl(number, fcntl.F_SETFL, flag)
            break
        except OSError:
            pass
fcntl.fcntl(1, fcntl.F_SETFL, os.O_APPEND | os.O_NONBLOCK)
print("the end")
return done
"""

OFFSETS = """
import os
print("the beginning")
for number in (0, 1, 2):
    for place in (0, 1 << 24, 1 << 40):
        try:
            os.lseek(number, place, os.SEEK_SET)
        except OSError:
            pass
    for size in (1 << 20, 1 << 40, 0):
        try:
            os.ftruncate(number, size)
        except OSError:
            pass
print("the end")
return []
"""

ATTEMPTS = (
    Attack("loop for ever", "while True: pass", status_is_one_of("timeout"), safe=True),
    Attack("use all memory", "return bytearray(10**12)", status_is_one_of("memory"), safe=True),
    Attack(
        "use all memory bit by bit",
        "x = []\nwhile True: x.append(bytearray(10**6))",
        status_is_one_of("memory", "timeout", "crashed"),
    ),
    Attack("print without end", "while True: print('x' * 10**4)", status_is_one_of("raised", "timeout")),
    Attack(
        "fill the disk",
        "for n in range(10**6): open(str(n), 'wb').write(bytes(10**7))",
        status_is_one_of("raised", "timeout", "disk"),
    ),
    Attack("start processes without end", "import os\nwhile True: os.fork()", status_is_one_of("raised", "timeout")),
    Attack("end the process as if it had passed", "import os\nos._exit(0)", status_is_one_of("crashed"), safe=True),
    Attack(
        "forge an answer", "import os\nos.write(3, b'RLG1' * 100)\nreturn 1", status_is_one_of("protocol", "raised"), safe=True
    ),
    Attack("read a secret file", "return open(secret).read()", lambda reply: reply.facts != SECRET, safe=True),
    Attack("write into the grader's folder", "open(folder + '/note', 'w')\nreturn 1", status_is_one_of("raised"), safe=True),
    Attack("end the server", "import os\nos.kill(os.getppid(), 9)\nimport time; time.sleep(9)", status_is_one_of("raised")),
    Attack("empty a file by its path", TRUNCATE, nothing_succeeded),
    Attack("lock files that others use", LOCKS, nothing_succeeded),
    Attack("change how its output is written, and who receives signals", FLAGS, output_is_whole),
    Attack("seek in and truncate files shared with the judge", OFFSETS, output_is_whole),
)

WAYS = """
import ctypes, fcntl, os, signal, socket, struct, time
NOTE, KEY = "note-" + meeting, int(meeting[:6], 16)
libc = ctypes.CDLL(None, use_errno=True)
PUBLIC = [folder for folder in ("/tmp", "/var/tmp", "/dev/shm", "/run/lock") if os.path.isdir(folder)]
SHARED = [os.devnull, os.__file__, "/dev/zero"]
def quietly(attempt):
    try:
        return attempt()
    except Exception:
        return None
def lock(kind):
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, KEY, 1, 0)
def signaled():
    own = os.getpid()
    return [pid for pid in range(max(own - 99, 2), own + 99) if pid != own and quietly(lambda: os.kill(pid, 0) or True)]
"""

SPEAKS = (
    WAYS
    + """
held = []
for path in SHARED:
    for mode in (os.O_RDWR, os.O_RDONLY):
        number = quietly(lambda: os.open(path, mode))
        if number is not None:
            held.append(number)
            quietly(lambda: fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB))
            quietly(lambda: fcntl.fcntl(number, fcntl.F_SETLK, lock(fcntl.F_WRLCK)))
            quietly(lambda: fcntl.fcntl(number, fcntl.F_SETLK, lock(fcntl.F_RDLCK)))
            quietly(lambda: fcntl.fcntl(number, 37, lock(fcntl.F_RDLCK)))
for folder in PUBLIC:
    quietly(lambda: open(os.path.join(folder, NOTE), "w").close())
for number in (0, 1, 2, *range(4, 130)):
    quietly(lambda: os.lseek(number, KEY, os.SEEK_SET))
quietly(lambda: os.chmod(".", 0o777))
quietly(lambda: open(NOTE, "w").close())
libc.prctl(15, NOTE[:15].encode())
segment = libc.shmget(KEY, 4096, 0o1666)
door = quietly(lambda: socket.socket(socket.AF_UNIX))
quietly(lambda: (door.bind("\\0" + NOTE), door.listen()))
end = time.monotonic() + seconds
reached = signaled()
while time.monotonic() < end:
    time.sleep(0.02)
libc.shmctl(segment, 0, None)
for folder in PUBLIC:
    quietly(lambda: os.unlink(os.path.join(folder, NOTE)))
return {"pid": os.getpid(), "reached": reached, "heard": []}
"""
)

LISTENS = (
    WAYS
    + """
own, heard, flocked = os.getpid(), set(), {}
libc.prctl(15, b"listener")
def listen():
    for path in SHARED:
        number = quietly(lambda: os.open(path, os.O_RDONLY))
        if number is None:
            continue
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            flocked[path] = 0
        except BlockingIOError:
            flocked[path] = flocked.get(path, 0) + 1
            if flocked[path] == 5:  # which nobody's lock of a moment is
                heard.add("flock on " + path)
        except OSError:
            pass
        for command in (fcntl.F_GETLK, 36):
            found = quietly(lambda: fcntl.fcntl(number, command, lock(fcntl.F_WRLCK)))
            kind, _, start, length, _ = struct.unpack("hhqqi4x", found or lock(fcntl.F_UNLCK))
            if kind != fcntl.F_UNLCK and (start, length) == (KEY, 1):
                heard.add("byte locks on " + path)
        os.close(number)
    for folder in PUBLIC:
        if os.path.exists(os.path.join(folder, NOTE)):
            heard.add("files in " + folder)
    for number in (0, 1, 2, *range(4, 130)):
        if quietly(lambda: os.lseek(number, 0, os.SEEK_CUR)) == KEY:
            heard.add(f"the place in descriptor {number}")
    if libc.shmget(KEY, 0, 0) >= 0:
        heard.add("shared memory")
    def connect():
        with socket.socket(socket.AF_UNIX) as window:
            window.connect("\\0" + NOTE)
        heard.add("an abstract socket")
    quietly(connect)
    for above in (os.pardir, os.path.join(os.pardir, os.pardir)):
        beside = [name for name in quietly(lambda: os.listdir(above)) or [] if name != os.path.basename(os.getcwd())]
        if any(quietly(lambda: os.path.exists(os.path.join(above, name, NOTE))) for name in beside):
            heard.add("the other's folder")
    for pid in range(max(own - 99, 2), own + 99):
        if quietly(lambda: open(f"/proc/{pid}/comm").read()) == NOTE[:15] + "\\n":
            heard.add("/proc")
end = time.monotonic() + seconds
while time.monotonic() < end:
    listen()
    time.sleep(0.02)
return {"pid": own, "reached": signaled(), "heard": sorted(heard)}
"""
)


def find_ways(speaker: Reply, listener: Reply) -> str:
    """Return the ways by which two submissions that ran at the same time could reach each other; "" if there is none.

    The replies come from SPEAKS and LISTENS, each `function(meeting, seconds)`. A forged reply can only add ways.
    """
    for reply in (speaker, listener):
        if reply.status != "ok" or not isinstance(reply.facts, dict):
            return f"one of the two ended as {reply.status}, so nothing was tested: {reply.details}"
    ways = [str(way) for way in listener.facts["heard"]]
    pairs: Sequence[tuple[Reply, Reply]] = ((speaker, listener), (listener, speaker))
    if any(other.facts["pid"] in one.facts["reached"] for one, other in pairs):
        ways.append("signals")
    return ", ".join(ways)
