"""Run trials in parallel: each core has a copy of one warm grader."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar

from grader.assignment import SUITES, AssignmentFiles
from grader.judge.harness import Harness
from grader.judge.run import Grader
from grader.sandbox.places import make_temporary_folder

FORKS = sys.platform == "linux"  # on other systems, a grader with threads cannot be copied

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result", covariant=True)
Counted = TypeVar("Counted")


class PendingResult(Protocol[Result]):
    """The result of a task that may still be running."""

    def result(self) -> Result: ...


class TrialPool:
    """Runs tasks on copies of a grader with all checks, and shows on a terminal how many are done.

    A task is a function at the top level of a module. It gets a grader and plain arguments, and its result must be picklable.
    With one worker, a task runs when its result is requested, on the pool's own grader.

    Args:
        harness: Runs the assignment's calls. Until the pool is closed, nothing else may use it.
        workers: How many tasks run at the same time.
        label: The label of the progress bar.

    Attributes:
        assignment: The assignment of the harness.
        folder: For files that tasks share; removed when the pool is closed.
        coverage: Where tasks find the coverage of the solution (`grader.proof.trials.write_coverage`), if it is written.
    """

    def __init__(self, harness: Harness, workers: int, label: str) -> None:
        from rich.console import Console
        from rich.progress import Progress

        harness.warm_up()
        self.assignment = harness.home.assignment
        self.folder = make_temporary_folder()
        self.coverage = self.folder / "coverage.pickle"
        self._grader = Grader(harness.home, SUITES, harness=harness)
        self._executor = _executor(self._grader, workers) if workers > 1 else None
        console = Console(stderr=True)
        self._progress = Progress(console=console, transient=True, disable=not console.is_terminal)
        self._bar = self._progress.add_task(label, total=0)

    def __enter__(self) -> TrialPool:
        self._progress.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)
        self._progress.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def submit(
        self, task: Callable[Concatenate[Grader, Arguments], Result], *arguments: Arguments.args, **options: Arguments.kwargs
    ) -> PendingResult[Result]:
        """Return the pending result of `task(grader, *arguments, **options)`; tasks start in the order of submission."""
        self._progress.update(self._bar, total=(self._progress.tasks[0].total or 0) + 1)
        if self._executor is None:
            return _Deferred(lambda: self._counted(task(self._grader, *arguments, **options)))
        future = self._executor.submit(_run, task, arguments, options)
        future.add_done_callback(self._counted)
        return future

    def _counted(self, result: Counted) -> Counted:
        self._progress.advance(self._bar)
        return result


class _Deferred(Generic[Result]):
    """A task that runs when its result is requested."""

    def __init__(self, run: Callable[[], Result]) -> None:
        self.result = run


def _executor(grader: Grader, workers: int) -> ProcessPoolExecutor:
    if not FORKS:
        home = grader.home
        arguments = (home.root, home.assignment.name)
        return ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _start_anew, arguments)
    # Read what all copies share before they are made: checks, cases, evidence of mistakes.
    grader.read_suites()
    context = multiprocessing.get_context("fork")
    executor = ProcessPoolExecutor(workers, context, _start_copy, (grader, context.Value("i", 0), os.getpid()))
    executor.submit(_run, _nothing, (), {}).result()  # fork the processes now, while there is only one thread
    return executor


_own: Grader  # of a process of the pool


def _start_copy(template: Grader, started: Synchronized[int], parent: int) -> None:
    """Make this process a worker whose sandbox is a copy of the template's."""
    from grader.sandbox import kernel

    global _own
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C also reaches the parent, which ends the pool
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    with started.get_lock():
        number, started.value = started.value, started.value + 1
    _own = Grader(template.home, template.suites, template=(template, number))


def _start_anew(root: Path, name: str) -> None:
    """Make this process a worker with a separate sandbox."""
    global _own
    _own = Grader(AssignmentFiles(root, name), SUITES)


def _run(task: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    return task(_own, *arguments, **options)


def _nothing(_grader: Grader) -> None:
    pass
