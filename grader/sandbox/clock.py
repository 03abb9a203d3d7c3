"""Count the seconds that a call is charged for: it computes or sleeps. Time spent waiting for the machine is free.

A process that is ready to run may wait: for a processor that others use, or for the next period of a container that has used up
its share. Linux counts this time for every thread. Nor is a call charged while the judge itself stands still, as in a virtual
machine that is paused. Where nothing is counted, a call is charged for all the time that passes.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass

LOOK_SECONDS = 0.1  # between two looks at a call
AWAY_SECONDS = 0.5  # of a look that takes longer, nobody is charged for the rest
ALARM_SHARE = 0.9  # of its limit, after which a call is asked where it is
ANSWER_SECONDS = 0.5  # that it has for its answer, beyond its limit if need be: between two looks it may have had no other
PATIENCE, LEAST_PATIENCE = 20.0, 60.0  # times its limit, and seconds: after the longer of both a call ends, whatever its charge
NANO = 1e-9


@dataclass(frozen=True)
class ProcessTimes:
    """What the kernel has counted of a process.

    Attributes:
        cpu: Seconds of processor time, of all threads together.
        waited: Seconds for which its longest waiting thread was ready to run and did not; None where nobody counts them.
    """

    cpu: float = 0.0
    waited: float | None = None


def read_times(pid: int) -> ProcessTimes | None:
    """Return the times of a process since it began; None if it is gone, or on another system than Linux."""
    try:
        cpu = time.clock_gettime(~pid << 3 | 2)  # the CPU clock of another process: see clock_getcpuclockid(3)
    except (OSError, AttributeError, OverflowError):
        return None
    waits = []
    with contextlib.suppress(OSError):  # threads end
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/task/{thread}/schedstat") as found:
                waits.append(int(found.read().split()[1]) * NANO)
    return ProcessTimes(cpu, max(waits) if waits else None)


def is_stopped(pid: int) -> bool:
    """Return whether a signal has stopped a process until another one lets it go on."""
    with contextlib.suppress(OSError, IndexError), open(f"/proc/{pid}/stat", errors="replace") as found:
        return found.read().rpartition(")")[2].split()[0] in "Tt"  # the name before it may hold anything
    return False


class CallClock:
    """The clock of one call; the two sides of a dialogue share one.

    Args:
        limit: The seconds that it may be charged for.

    Attributes:
        measured: Whether the system has counted how long the call waited, so far.
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.began = self._looked = time.monotonic()
        self.measured = True
        self._away = 0.0
        self._asked: float | None = None  # its charge when it was first asked where it is
        self._began: dict[int, ProcessTimes] = {}
        self._now: dict[int, ProcessTimes] = {}

    def watch(self, pid: int) -> None:
        """Charge the call for what this process does from now on."""
        self._began[pid] = self._now[pid] = read_times(pid) or ProcessTimes()

    def share(self, other: CallClock) -> None:
        """Charge the call for what the processes of another one do as well."""
        self._began |= other._began
        self._now |= other._now

    def look(self) -> None:
        """Note that the judge is running; a long gap since the last note is not charged to the call."""
        now = time.monotonic()
        if now - self._looked > LOOK_SECONDS + AWAY_SECONDS:
            self._away += now - self._looked
        self._looked = now

    @property
    def passed(self) -> float:
        """Seconds since the start in which the judge was running."""
        return time.monotonic() - self.began - self._away

    @property
    def cpu_seconds(self) -> float:
        """Seconds of processor time, as they were read last."""
        return sum(now.cpu - self._began[pid].cpu for pid, now in self._now.items())

    def charge(self) -> float:
        """Return the seconds that the call is charged for until now; a short call for all that passed, which costs nothing."""
        passed = self.passed
        if passed < LOOK_SECONDS:
            return passed
        for pid in self._now:
            self._now[pid] = read_times(pid) or self._now[pid]
        waits = [(now.waited, self._began[pid].waited) for pid, now in self._now.items()]
        self.measured = all(wait is not None for wait, _ in waits)
        waited = sum(max((now or 0.0) - (before or 0.0), 0.0) for now, before in waits)
        return min(max(self.cpu_seconds, passed - waited), passed)

    def is_stopped(self) -> bool:
        """Return whether one of its processes is stopped, which no process can do to itself."""
        return any(map(is_stopped, self._now))

    def is_late(self) -> bool:
        """Return whether the limit is near, so that the call should be asked where it is."""
        return self.passed >= ALARM_SHARE * self.limit and self.charge() >= ALARM_SHARE * self.limit

    def ask(self) -> None:
        """Note that the call has been asked where it is."""
        if self._asked is None:
            self._asked = self.charge()

    def is_spent(self) -> bool:
        """Return whether the call has used up its limit."""
        return self.passed >= self.limit and self.charge() >= self.limit

    def is_over(self) -> bool:
        """Return whether the call has used up its limit and the extra time to report its line."""
        if self._asked is None or self.passed < self.limit:
            return False
        return self.charge() >= max(self.limit, self._asked + ANSWER_SECONDS)

    def is_starved(self) -> bool:
        """Return whether the machine has starved the call for too long."""
        return self.passed >= max(PATIENCE * self.limit, LEAST_PATIENCE)
