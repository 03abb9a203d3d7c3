"""Run trials in parallel without repeating the calls of an earlier build."""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from grader.judge.run import Grader
from grader.proof.pool import PendingResult, TrialPool
from grader.proof.trials import keep_replies

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result", covariant=True)


class CachedPool(TrialPool):
    """A pool whose tasks use the replies that this machine has cached (reply_cache.py), and cache new ones.

    After a change of one mistake or one check, only the calls that it changes are made.
    """

    def submit(
        self, task: Callable[Concatenate[Grader, Arguments], Result], *arguments: Arguments.args, **options: Arguments.kwargs
    ) -> PendingResult[Result]:
        """Return the pending result of the task; see `TrialPool.submit`."""
        return super().submit(_run_cached, task, arguments, options)


def _run_cached(
    grader: Grader, task: Callable[..., Result], arguments: tuple[object, ...], options: dict[str, object]
) -> Result:
    with keep_replies(grader, finds=True):
        return task(grader, *arguments, **options)
