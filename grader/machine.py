"""Memory and cores of this machine, or of the container around the grader."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator
from pathlib import Path

MOST_JOBS = 4  # calls of one submission at the same time; more would seldom find work
JUDGE_MB = 260  # memory of a copied judge and its copied sandbox server, with everything that they may import
UNLIMITED = 1 << 40  # bytes; cgroups v1 reports "no limit" as a number above this
FIRST_ROOT, SECOND_ROOTS = "/sys/fs/cgroup", ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")  # by version
# Files of a cgroup (v2, then v1): its limit, its use, and the part of its use that is only a cache.
FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def count_cores() -> int:
    """Return how many cores this process may use: those of its affinity, and no more than its container pays for."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(min([cores, *map(math.ceil, _find_quotas())]), 1)


def read_memory_limit_mb() -> int | None:
    """Return the memory limit of the container in MB; None if it sets no limit."""
    limits = [limit for limit, _ in _find_limits()]
    return min(limits) >> 20 if limits else None


def read_free_memory_mb() -> int | None:
    """Return how many MB are still free on the machine and in the container; None if unknown."""
    free = [limit - used for limit, used in _find_limits()]
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/meminfo") as lines:
        free += [int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")]
    return max(min(free), 0) >> 20 if free else None


def count_fitting_workers(memory_mb: int) -> int | None:
    """Return how many submissions can be graded at the same time if each call uses `memory_mb`; None if unknown.

    At least one. The judge and the server that the workers are copied from exist already.
    """
    free = read_free_memory_mb()
    return None if free is None else max(free // (memory_mb + JUDGE_MB), 1)


def choose_jobs(memory_mb: int) -> int:
    """Return how many calls of one submission to make side by side: one for each core, as far as memory allows."""
    return min(MOST_JOBS, count_cores(), count_fitting_workers(memory_mb) or 1)


def describe_lack(memory_mb: int) -> str:
    """Return a sentence if less memory is free than one call may use, or nothing."""
    free = read_free_memory_mb()
    if free is None or free >= memory_mb:
        return ""
    return f"Only {free} MB of memory are free here, but a call may use {memory_mb} MB. It is killed above {free} MB."


def _find_limits() -> Iterator[tuple[int, int]]:
    """Yield (limit, use) in bytes of every cgroup around this process that limits memory."""
    for folder in _list_cgroups("memory"):
        for limit_file, use_file, cache in FILES:
            with contextlib.suppress(OSError, ValueError):
                limit = int((folder / limit_file).read_text())  # "max" means unlimited
                if limit < UNLIMITED:
                    fields = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
                    yield limit, max(int((folder / use_file).read_text()) - int(fields.get(cache, 0)), 0)


def _find_quotas() -> Iterator[float]:
    """Yield how many cores each cgroup around this process may use, where it limits them."""
    for folder in _list_cgroups("cpu"):
        with contextlib.suppress(OSError, ValueError):
            if (folder / "cpu.max").exists():
                quota, period = map(int, (folder / "cpu.max").read_text().split())  # "max" means unlimited
            else:
                quota, period = (int((folder / f"cpu.cfs_{name}_us").read_text()) for name in ("quota", "period"))
            if quota > 0 and period > 0:  # version 1 writes -1 for no limit
                yield quota / period


def _list_cgroups(controller: str) -> Iterator[Path]:
    """Yield the folders that may limit this process: its own group's, those above it, and a container's root.

    Args:
        controller: "memory" or "cpu", which version 1 keeps apart.
    """
    lines: list[str] = []
    with contextlib.suppress(OSError):
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    seen = set()
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        for root in map(Path, (f"{FIRST_ROOT}/{controller}",) if controllers else SECOND_ROOTS):
            own = root / path.lstrip("/")
            for folder in (own, *own.parents):
                if folder.is_relative_to(root) and folder not in seen:
                    seen.add(folder)
                    yield folder
