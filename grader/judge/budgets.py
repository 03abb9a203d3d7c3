"""Budgets of a run: seconds for its calls, time and memory for reading results, and memory for cached replies."""

from __future__ import annotations

import contextlib
import copy
import signal
import sys
import threading
from types import CodeType, FrameType
from typing import Any

import numpy as np

from grader.answers import Case
from grader.assignment import Assignment, Question
from grader.judge.failure import CheckNotRun
from grader.report.model import Cause
from grader.sandbox.reply import Reply

LEAST_SECONDS = 1.0
MAX_KEPT, MAX_KEPT_BYTES = 200, 1 << 18  # replies of a run, and of facts in one


class ReadingTimeout(Exception):
    """The judge took too long to read the result of a call."""


class ReadingBudget:
    """A limit on the time and memory that the judge spends on reading results.

    A hostile result may keep the judge busy. The seconds are the judge's processor time, which a busy machine does not shorten.
    The limit requires Linux and the main thread.

    Attributes:
        code: The code of the check that reads; the limit applies only while this code runs.
    """

    def __init__(self, seconds: float = 10.0, memory_mb: int = 512) -> None:
        self.seconds = seconds
        self.memory_mb = memory_mb
        self.code: CodeType | None = None
        self.before: tuple[int, int] | None = None  # the limits of memory that `end` brings back
        self.works = sys.platform == "linux" and threading.current_thread() is threading.main_thread()

    def begin(self) -> None:
        """Start the limit: from now on the check gets ReadingTimeout after its time, and MemoryError above its memory."""
        if self.works and self.before is None:
            import resource

            with open("/proc/self/statm") as statm:
                mapped = int(statm.read().split()[0]) * resource.getpagesize()
            soft, hard = self.before = resource.getrlimit(resource.RLIMIT_AS)
            most = mapped + (self.memory_mb << 20)
            resource.setrlimit(resource.RLIMIT_AS, (most if soft == resource.RLIM_INFINITY else min(most, soft), hard))
            signal.signal(signal.SIGPROF, self._over)
            signal.setitimer(signal.ITIMER_PROF, self.seconds)

    def end(self) -> None:
        """Lift the limit."""
        if self.before is not None:
            import resource

            signal.setitimer(signal.ITIMER_PROF, 0)
            resource.setrlimit(resource.RLIMIT_AS, self.before)
            self.before = None

    def _over(self, _: int, frame: FrameType | None) -> None:
        while frame is not None:
            if frame.f_code is self.code:
                raise ReadingTimeout("reading it takes too long")
            frame = frame.f_back


class TimeBudget:
    """The budget of a run and the limit of each call; after a timeout, a question gets less time per call.

    Both count the charged seconds of calls (`grader.sandbox.clock`), not the work of the judge or of other programs.
    """

    def __init__(self, assignment: Assignment) -> None:
        self.limits = assignment.limits
        self.left = assignment.limits.budget
        self.slow: set[str] = set()

    def spend(self, seconds: float) -> None:
        """Subtract the charged seconds of a call from the budget."""
        self.left -= seconds

    def limit(self, question: Question) -> float:
        """Return the time limit of the next call in seconds.

        Raises:
            CheckNotRun: If none are left.
        """
        if self.left < LEAST_SECONDS:
            raise CheckNotRun(f"the time for the whole run ({self.limits.budget:.0f} s) was used up", Cause.RUN_BUDGET)
        seconds = question.seconds or self.limits.seconds
        if question.id in self.slow:
            seconds = max(seconds / 4, LEAST_SECONDS)
        return min(seconds, self.left)


class ReplyCache:
    """The submission's replies to stored cases in this run, so that checks of the same case share one call.

    Each call would begin in the same state, with the same seed. Large facts and replies that depend on timing are not kept.
    """

    def __init__(self) -> None:
        self._kept: dict[str, Reply] = {}

    def of(self, case: Case | None) -> Reply | None:
        """Return the cached reply to a case, or None."""
        return copy.deepcopy(self._kept.get(case.name)) if case else None

    def keep(self, case: Case | None, reply: Reply) -> None:
        """Cache a reply for later checks."""
        if case and reply.status in ("ok", "raised", "import", "missing") and len(self._kept) < MAX_KEPT:
            with contextlib.suppress(Exception):  # of a form that cannot be copied or is too large to be worth it
                if estimate_size(reply.facts) <= MAX_KEPT_BYTES:
                    self._kept[case.name] = copy.deepcopy(reply)


def estimate_size(facts: Any) -> int:
    """Return the approximate size of plain data in bytes."""
    if isinstance(facts, (dict, list, tuple)):
        return 64 + sum(map(estimate_size, facts.values() if isinstance(facts, dict) else facts))
    return facts.nbytes if isinstance(facts, np.ndarray) else sys.getsizeof(facts)
