"""Nothing starves the grader: each resource is bounded, and the student reads which bound it was."""

from __future__ import annotations

from .catalogue import attack


@attack("loops for ever", sees=("timeout",), says="is there an infinite loop", safe=True)
def loops(values, scale, known):
    while True:
        pass


@attack("loops for ever in C, where no exception reaches it", sees=("timeout",), says="is there an infinite loop")
def loops_in_c(values, scale, known):
    import itertools

    return sum(itertools.repeat(1))


@attack("computes one number with a billion digits", sees=("timeout", "memory"))
def computes_a_huge_number(values, scale, known):
    return 9 ** (9**10)


@attack("matches an expression that takes exponential time", sees=("timeout",), safe=True)
def matches_for_ever(values, scale, known):
    import re

    return re.match(r"(a+)+$", "a" * 60 + "b")


@attack("allocates all memory in one piece", sees=("memory",), says="out of memory")
def allocates_at_once(values, scale, known):
    return bytearray(10**11)


@attack("allocates memory in small pieces", sees=("memory", "timeout", "crashed"))
def allocates_bit_by_bit(values, scale, known):
    kept = []
    while True:
        kept.append(bytearray(10**6))


@attack("maps memory that no limit counts: shared, anonymous, of a file in memory")
def maps_shared_memory(values, scale, known):
    import mmap
    import os

    mmap.mmap(-1, 2 << 30)[:10] = b"x" * 10
    descriptor = os.memfd_create("loot")
    os.ftruncate(descriptor, 8 << 30)
    return [mmap.mmap(descriptor, 8 << 30)]


@attack("keeps memory in System V segments, which outlive processes")
def keeps_segments(values, scale, known):
    import ctypes

    made = [ctypes.CDLL(None).shmget(0x10070 + index, 1 << 20, 0o1666) for index in range(10)]
    print("LEAKED" if max(made) >= 0 else "refused")


@attack("recurses without end", says="RecursionError", safe=True)
def recurses(values, scale, known):
    return attack(values, scale, known)


@attack("recurses without end, the limit raised", sees=("crashed", "memory", "failed", "timeout"))
def recurses_beyond_the_limit(values, scale, known):
    import sys

    sys.setrecursionlimit(10**9)

    def down(x):
        return [down(x)]

    return down(1)


@attack("forks as fast as it can")
def forks_without_end(values, scale, known):
    import os

    while True:
        os.fork()


@attack("starts threads as fast as it can", sees=("failed", "memory", "crashed", "timeout"))
def starts_threads_without_end(values, scale, known):
    import threading
    import time

    threading.stack_size(32768)
    while True:
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()


@attack("opens files until none can be opened", says="open files")
def opens_files_without_end(values, scale, known):
    kept = []
    while True:
        kept.append(open(f"file-{len(kept)}", "w"))


@attack("writes one endless file", says="32 MB", sees=("failed", "timeout"))
def writes_a_huge_file(values, scale, known):
    with open("big", "wb") as file:
        while True:
            file.write(b"x" * (1 << 20))


@attack("writes many large files", sees=("failed", "timeout"))
def fills_the_disk(values, scale, known):
    number = 0
    while True:
        number += 1
        with open(f"big-{number}", "wb") as file:
            file.write(b"x" * (30 << 20))


@attack("writes many large files and removes their names", sees=("failed", "timeout", "memory"))
def fills_the_disk_without_names(values, scale, known):
    import os

    kept = []
    while True:
        kept.append(open("big", "wb"))
        kept[-1].write(b"x" * (30 << 20))
        os.unlink("big")


@attack("makes endlessly many small files", sees=("failed", "timeout"))
def makes_files_without_end(values, scale, known):
    number = 0
    while True:
        number += 1
        open(f"small-{number}", "w").close()


@attack("nests folders deeper than any path can be", sees=("failed", "timeout"))
def nests_folders(values, scale, known):
    import os

    for _ in range(20_000):
        os.mkdir("d")
        os.chdir("d")
    raise ValueError("deep enough")


@attack("leaves locked folders, links, pipes and odd names to be removed", safe=True)
def leaves_what_resists(values, scale, known):
    import os

    os.mkdir("locked")
    open("locked/file", "w").close()
    os.symlink("/", "root")
    os.symlink("loop", "loop")
    if hasattr(os, "mkfifo"):
        os.mkfifo("pipe")
    open("new\nline \x01 \udcff", "w").close()
    for act in (lambda: os.chmod("locked", 0), lambda: os.chmod(".", 0)):
        try:
            act()
        except OSError:
            continue


@attack("prints without end", sees=("failed", "timeout"))
def prints_without_end(values, scale, known):
    while True:
        print("x" * 10_000)


@attack("prints a gigabyte on both streams, unbuffered", sees=("failed", "timeout"))
def prints_a_gigabyte(values, scale, known):
    import os

    for _ in range(1000):
        os.write(1, b"o" * (1 << 20))
        os.write(2, b"e" * (1 << 20))


@attack("raises an exception with a message of a hundred megabytes", sees=("failed", "memory"))
def raises_a_huge_message(values, scale, known):
    raise ValueError("x" * 10**8)


@attack("raises an exception whose message never ends", sees=("timeout",))
def raises_an_endless_message(values, scale, known):
    class Endless(Exception):
        def __str__(self):
            while True:
                pass

    raise Endless


@attack("raises an exception whose message raises", safe=True)
def raises_in_its_message(values, scale, known):
    class Broken(Exception):
        def __str__(self):
            raise SystemExit(0)

        __repr__ = __str__

    raise Broken


@attack("raises a chain of exceptions that contains itself", safe=True)
def raises_a_loop_of_causes(values, scale, known):
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    raise one


@attack("returns a list of ten million parts", says="parts", sees=("failed", "timeout", "memory"))
def returns_too_many_parts(values, scale, known):
    return [0.0] * 10**7


@attack("returns an array of a gigabyte made of one number", sees=("failed", "memory"))
def returns_a_huge_view(values, scale, known):
    import numpy

    return numpy.broadcast_to(numpy.float32(6.0), (10**9,))


# On a busy machine, taking the nest apart takes longer than a call may.
@attack("returns what is nested a hundred thousand deep", safe=True, sees=("failed", "crashed", "timeout"))
def returns_a_deep_nest(values, scale, known):
    nest = []
    for _ in range(100_000):
        nest = [nest]
    return nest


@attack("crashes with a segmentation fault", sees=("crashed",), says="SIGSEGV")
def crashes(values, scale, known):
    import ctypes

    ctypes.string_at(0)


@attack("loads for ever", sees=("timeout",), at_import=True)
def loads_for_ever(values, scale, known):
    while True:
        pass


@attack("ends the process when it is loaded", sees=("crashed",), at_import=True)
def exits_at_import(values, scale, known):
    import os

    os._exit(0)


@attack("keeps the grader busy with system calls that it must be asked about", sees=("timeout",))
def floods_the_ear(values, scale, known):
    import ctypes
    import threading

    libc = ctypes.CDLL(None)
    threading.stack_size(1 << 16)

    def ask():
        while True:
            libc.syscall(ctypes.c_long(1000))

    for _ in range(20):
        threading.Thread(target=ask, daemon=True).start()
    ask()


@attack("interrupts such a call by signals, so that it is asked about again and again", sees=("timeout", "failed"))
def withdraws_what_it_asks(values, scale, known):
    import ctypes
    import signal

    libc = ctypes.CDLL(None)
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 1e-5, 1e-5)
    while True:
        libc.syscall(ctypes.c_long(1000))


@attack("lets event loops wait for each other in rings, and for the wire", sees=("timeout", "failed"))
def nests_event_loops(values, scale, known):
    import select

    loops = [select.epoll() for _ in range(60)]
    for one in loops:
        for descriptor in (3, *(other.fileno() for other in loops)):
            try:
                one.register(descriptor, select.EPOLLIN | select.EPOLLOUT)
            except (OSError, ValueError):
                continue
    while True:
        for one in loops:
            one.poll(0)


@attack("arms timers that ring without pause, and opens events until none can be opened", says="open files")
def opens_events_without_end(values, scale, known):
    import ctypes
    import os

    libc = ctypes.CDLL(None)
    for _ in range(50):
        timer = libc.timerfd_create(1, 0)
        libc.timerfd_settime(timer, 0, (ctypes.c_long * 4)(0, 1, 0, 1), None)
    kept = []
    while True:
        kept.append(os.eventfd(0))


@attack("is interrupted by its own timers as often as the kernel can", sees=("timeout", "failed"))
def rings_timers(values, scale, known):
    import signal

    kinds = (
        (signal.ITIMER_REAL, signal.SIGALRM),
        (signal.ITIMER_VIRTUAL, signal.SIGVTALRM),
        (signal.ITIMER_PROF, signal.SIGPROF),
    )
    for kind, number in kinds:
        signal.signal(number, lambda *_: None)
        signal.setitimer(kind, 1e-6, 1e-6)
    while True:
        pass


@attack("fills the disk through memory that files are mapped to", sees=("failed", "timeout", "crashed", "memory"))
def fills_the_disk_by_mapping(values, scale, known):
    import mmap

    number = 0
    while True:
        number += 1
        with open(f"mapped-{number}", "w+b") as file:
            file.truncate(30 << 20)
            with mmap.mmap(file.fileno(), 30 << 20) as mapped:
                for place in range(0, 30 << 20, 4096):
                    mapped[place] = 1


@attack("says where memory must lie: its own, the grader's and the server's")
def places_memory(values, scale, known):
    import ctypes
    import os

    libc = ctypes.CDLL(None)
    nodes = ctypes.byref(ctypes.c_ulong(1))
    print("for itself", libc.syscall(ctypes.c_long(238), 2, nodes, ctypes.c_ulong(64)))  # set_mempolicy: only these
    for process in (os.getppid(), known["judge"]):
        moved = [
            libc.syscall(ctypes.c_long(256), process, ctypes.c_ulong(64), nodes, nodes),  # migrate_pages
            libc.syscall(ctypes.c_long(279), process, ctypes.c_ulong(0), None, None, None, 0),  # move_pages
        ]
        print("LEAKED" if max(moved) >= 0 else "refused")
    print("LEAKED" if libc.syscall(ctypes.c_long(450), 0, ctypes.c_ulong(4096), 0, 0) >= 0 else "refused")


@attack("interrupts all processors by barriers, again and again", sees=("timeout",))
def interrupts_processors(values, scale, known):
    import ctypes

    libc = ctypes.CDLL(None)
    while True:
        for command in (1, 2, 8, 16, 32, 64):  # of membarrier
            libc.syscall(ctypes.c_long(324), command, 0, 0)
