"""Limits that a worker puts on itself before it touches student code (Linux). Confinement has its place here too."""

from __future__ import annotations

import ctypes
import resource
import signal

PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

MAX_FILE_BYTES = 64 << 20
MAX_OPEN_FILES = 256

LAYERS = ("separate process", "no_new_privs", "rlimits", "process-tree kill")
"""What protects a call at this level, as the report lists it."""


def _prctl(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}, {value})")


def adopt_orphans() -> None:
    """Make this process the parent of every orphan below it, so that none can slip away by forking twice."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def confine(memory_mb: int, cpu_seconds: int) -> None:
    """Limit this process for good: memory beyond what it has now, CPU time, files, no core dump, no new privileges."""
    _prctl(PR_SET_NO_NEW_PRIVS, 1)
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    with open("/proc/self/statm") as statm:
        mapped = int(statm.read().split()[0]) * resource.getpagesize()
    # At the soft limit the kernel sends SIGXCPU, which tells the judge why; at the hard one SIGKILL.
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    for name, limit in (
        (resource.RLIMIT_AS, mapped + (memory_mb << 20)),
        (resource.RLIMIT_FSIZE, MAX_FILE_BYTES),
        (resource.RLIMIT_NOFILE, MAX_OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(name, (limit, limit))
