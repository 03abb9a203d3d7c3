"""Limits that a worker puts on itself before it touches student code (Linux)."""

from __future__ import annotations

import os
from pathlib import Path

MAX_FILE_BYTES = 32 << 20
MAX_OPEN_FILES = 128
MAX_SCRATCH_BYTES = 256 << 20  # of all files in the working folder of a call
MAX_SCRATCH_FILES = 4_000
MAX_THREADS = 64  # of a worker that has a user id to itself
MAX_MORE_THREADS = 512  # of one that shares the judge's, beyond what that user ran when the server began


def limit_process(memory_mb: int, cpu_seconds: int, threads: int) -> None:
    """Limit memory, CPU time, threads and files of this process for good; and leave no core dump.

    The memory limit does not count the memory that the process has now.

    Args:
        threads: Of all processes of its user together, because that is how the kernel counts; root
            is exempt.
    """
    import resource  # not on Windows, where the numbers above are read all the same

    with open("/proc/self/statm") as statm:
        mapped = int(statm.read().split()[0]) * resource.getpagesize()
    # At the soft limit the kernel sends SIGXCPU, by which the judge recognizes the reason; at the hard limit it sends SIGKILL.
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    for name, most in (
        (resource.RLIMIT_AS, mapped + (memory_mb << 20)),
        (resource.RLIMIT_FSIZE, MAX_FILE_BYTES),
        (resource.RLIMIT_NOFILE, MAX_OPEN_FILES),
        (resource.RLIMIT_NPROC, threads),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(name)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(name, (most, most))


def count_threads(user: int) -> int:
    """Return how many threads this user runs."""
    count = 0
    for entry in os.scandir("/proc"):
        try:
            if entry.name.isdigit() and entry.stat().st_uid == user:
                count += len(os.listdir(Path(entry.path, "task")))
        except OSError:
            continue  # it has ended
    return count
