"""What a run may use: seconds for its calls, time and memory for reading their results, memory for replies."""

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
    """The judge has looked at what a call returned for too long."""


class ReadingBudget:
    """Limits the time and memory with which the judge reads the results of calls.

    These may be made to keep the judge busy. The seconds are the judge's processor time, which a busy machine does not shorten.
    The limit requires Linux and the main thread.

    Attributes:
        code: The code of the check that reads; nothing is raised while it is not running.
    """

    def __init__(self, seconds: float = 10.0, memory_mb: int = 512) -> None:
        self.seconds = seconds
        self.memory_mb = memory_mb
        self.code: CodeType | None = None
        self.before: tuple[int, int] | None = None  # the limits of memory that `end` brings back
        self.works = sys.platform == "linux" and threading.current_thread() is threading.main_thread()

    def begin(self) -> None:
        """From now on, the check gets Unreadable when its time is over, and MemoryError when it uses too much."""
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
        """Let nothing be raised any more."""
        if self.before is not None:
            import resource

            signal.setitimer(signal.ITIMER_PROF, 0)
            resource.setrlimit(resource.RLIMIT_AS, self.before)
            self.before = None

    def _over(self, _: int, frame: FrameType | None) -> None:
        while frame is not None:
            if frame.f_code is self.code:
                raise ReadingTimeout("it takes too long to read")
            frame = frame.f_back


class TimeBudget:
    """The budget of a run, and the limit of each call; a question that ran out of time once gets less the next time.

    Both count what calls are charged for (`grader.sandbox.clock`), not what the judge or other programs do meanwhile.
    """

    def __init__(self, assignment: Assignment) -> None:
        self.limits = assignment.limits
        self.left = assignment.limits.budget
        self.slow: set[str] = set()

    def spend(self, seconds: float) -> None:
        """Take note of what a call was charged for."""
        self.left -= seconds

    def limit(self, question: Question) -> float:
        """Return the seconds that the next call may take.

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
    """What the submission has replied to stored cases in this run: checks that look at the same case share one call.

    Each call would begin in the same state, with the same seed. Large facts are not kept, nor what depends on the time it took.
    """

    def __init__(self) -> None:
        self._kept: dict[str, Reply] = {}

    def of(self, case: Case | None) -> Reply | None:
        """Return the reply to a case as it came, or None."""
        return copy.deepcopy(self._kept.get(case.name)) if case else None

    def keep(self, case: Case | None, reply: Reply) -> None:
        """Keep a reply for the checks to come."""
        if case and reply.status in ("ok", "raised", "import", "missing") and len(self._kept) < MAX_KEPT:
            with contextlib.suppress(Exception):  # of a form that cannot be copied or is too large to be worth it
                if estimate_size(reply.facts) <= MAX_KEPT_BYTES:
                    self._kept[case.name] = copy.deepcopy(reply)


def estimate_size(facts: Any) -> int:
    """Return about how many bytes plain data takes."""
    if isinstance(facts, (dict, list, tuple)):
        return 64 + sum(map(estimate_size, facts.values() if isinstance(facts, dict) else facts))
    return facts.nbytes if isinstance(facts, np.ndarray) else sys.getsizeof(facts)
