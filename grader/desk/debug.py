"""Run failing cases again in this process: in pdb, which stops in the student's code, or in another debugger.

There is no sandbox here: the code runs with the student's own rights and without limits, as when they run it themselves.
"""

from __future__ import annotations

import bdb
import contextlib
import os
import pdb
import signal
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Sequence, Set
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any

from grader.assignment import AssignmentFiles
from grader.desk.code_places import Place, find_code_places, find_methods
from grader.desk.look import FailureInspection, NothingToInspect, make_console, print_lines
from grader.judge.compare import format_value
from grader.judge.failure import explain_failure
from grader.report.model import Outcome
from grader.report.text import sanitize
from grader.sandbox import wire, worker
from grader.sandbox.reply import Reply
from grader.submission import stage_submission

KEYS = (
    ("n  next line", "s  step into a call"),
    ("u  up to the caller, d down", "l  list the code here"),
    ("p NAME  print a value, or p NAME.shape", "h  help"),
    ("c  {continue_to}; Ctrl-C stops again", "q  quit"),
)
WIDE = 80  # columns that fit two keys in a line
# Code that `n` and `s` step over: libraries, the kit, and the callers of the student's code.
SKIPPED = ("torch", "torch.*", "numpy", "numpy.*", "contextlib", "bdb", "grader.*", "drivers")


class LeftDebugger(BaseException):
    """The user has quit. Drivers suppress exceptions of some calls, but not this one."""


def debug(home: AssignmentFiles, looks: Sequence[FailureInspection]) -> bool:
    """Run the calls of some checks again in pdb, each once; return whether the user quit before the last one ended.

    Raises:
        NothingToInspect: If the submission cannot be loaded here.
    """
    calls = list_calls(looks)
    with _find_file(home, calls[0]) as path:
        debugger = Debugger(path)
        for number, seen in enumerate(calls, 1):
            _debug(home, seen, debugger, left=len(calls) - number)
            if debugger.left:
                break
    return debugger.left


def run_here(home: AssignmentFiles, seen: FailureInspection) -> None:
    """Run the call of a check again, for a debugger that is attached to this process.

    Raises:
        NothingToInspect: If the submission cannot be loaded here.
    """
    with _find_file(home, seen) as path:
        submitted = _load(home, seen, path)
        try:
            facts = _find_driver(seen)(submitted, **seen.tried.inputs)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit as well: the student's code may call exit()
            text = f"{seen.question.function} did not return.\n{_describe(seen, 'raised', error, path)}"
            print_lines(make_console(), text)
        else:
            _conclude(seen, facts)


def list_calls(looks: Sequence[FailureInspection]) -> list[FailureInspection]:
    """Return these checks, only the first of those that share a call: a case that several checks use is run once."""
    found: dict[object, FailureInspection] = {}
    for number, seen in enumerate(looks):
        case = seen.tried.case
        found.setdefault((seen.question.id, case.name) if case else number, seen)
    return list(found.values())


@contextlib.contextmanager
def _find_file(home: AssignmentFiles, seen: FailureInspection) -> Iterator[Path]:
    """Yield the path of the student's own file, or of a file with the definitions of their notebook."""
    with tempfile.TemporaryDirectory(prefix="debug-") as folder:
        path = seen.file or stage_submission(seen.source, Path(folder, home.assignment.submission))
        yield Path(os.path.abspath(path))


def _find_driver(seen: FailureInspection) -> Callable[..., Any]:
    driver: Callable[..., Any] = getattr(sys.modules["drivers"], seen.tried.driver)
    return driver


def _debug(home: AssignmentFiles, seen: FailureInspection, debugger: Debugger, left: int) -> None:
    """Debug one call. left: the number of calls after it."""
    function, path = seen.question.function, Path(debugger.path)
    submitted = _load(home, seen, path)
    if not hasattr(submitted, function):
        raise NothingToInspect(f"{seen.question.id}: {seen.check.message}")
    source = path.read_bytes()
    others = [question for question in home.assignment.questions if question.id != seen.question.id]
    places = find_code_places(source, seen.question, others)
    _introduce(seen, path, left, again=debugger.used)
    # Calls whose output is suppressed are usually preparation, but one of them may never end. And possibly only other code of
    # the class is called here, and none of the places to stop at.
    wider = places | find_methods(source, function).keys()
    tries = [(places, False)] if seen.check.outcome is not Outcome.TIMEOUT else []
    tries += [(places, True), (wider, True)]
    try:
        for where, silent in dict.fromkeys((frozenset(where), silent) for where, silent in tries):
            facts = debugger.follow(_find_driver(seen), submitted, seen.tried.inputs, where, silent)
            if debugger.arrived:
                break
            submitted = _load(home, seen, path)
    except (bdb.BdbQuit, LeftDebugger):
        return
    except BaseException as error:  # SystemExit as well: the student's code may call exit()
        if debugger.left:
            return
        if isinstance(error, KeyboardInterrupt):
            raise
        print_lines(make_console(), f"\n{function} did not return.\n{_describe(seen, 'raised', error, path)}")
        debugger.look_back(error)
    else:
        if not debugger.left:
            if not debugger.arrived:
                print_lines(make_console(), f"The driver {seen.tried.driver} did not call {function}.")
            _conclude(seen, facts)


def _load(home: AssignmentFiles, seen: FailureInspection, path: Path) -> Any:
    """Return the submission, loaded as in a worker, with everything that a driver expects.

    Raises:
        NothingToInspect: If the submission cannot be loaded.
    """
    os.environ["MPLBACKEND"] = "Agg"
    os.environ["OMP_NUM_THREADS"] = "1"  # torch reads it at import; sums in another order differ in the last digits
    sys.dont_write_bytecode = True  # no __pycache__ next to the student's file
    sys.path[:0] = [folder for folder in dict.fromkeys(str(file.parent) for file in home.support()) if folder not in sys.path]
    worker.load_module("drivers", home.drivers)
    worker.seed_everything(seen.tried.seed)
    try:
        submitted = worker.load_module("submitted", path)
        worker.use_single_precision(submitted)
    except Exception as error:
        raise NothingToInspect(_describe(seen, "import", error, path)) from error
    worker.seed_everything(seen.tried.seed)
    return submitted


def _introduce(seen: FailureInspection, path: Path, left: int, again: bool) -> None:
    """Print the case, the expected result and what the grader found; the first time, also pdb's keys."""
    console = make_console()
    if again:
        print_lines(console, "\nNext failing case", "bold underline")
    seen.print_headline(console)
    if seen.passed:
        print_lines(console, "All checks that ran pass; this is the first one.", "green")
    print_lines(console, textwrap.indent(seen.found(), "    "))
    print_lines(console, f"\n{seen.called()}", "bold")
    for name, value in seen.inputs().items():
        print_lines(console, f"    {name} = {format_value(value)}")
    more = f"; {left} more failing {'case' if left == 1 else 'cases'} after it" if left else ""
    keys = "" if again else " Keys:"
    print_lines(console, f"\nStopping in {seen.question.function} in {path.name}{more}.{keys}", "bold")
    if not again:
        continue_to = "continue to the next failing case" if left else "continue to the end"
        lines = "  {:<40}  {}" if console.soft_wrap or console.width >= WIDE else "  {}\n  {}"
        for pair in KEYS:
            print_lines(console, lines.format(*(key.format(continue_to=continue_to) for key in pair)))
        print_lines(console, "")


def _conclude(seen: FailureInspection, facts: Any) -> None:
    """Print the result of the call as the judge would read it."""
    console = make_console()
    try:
        frame = wire.encode(facts)
        text, blob = wire.read_lengths(frame[: wire.HEADER.size])
        body = frame[wire.HEADER.size :]
        facts = wire.decode(body[:text], body[text : text + blob])
    except wire.ValueRefused as error:
        print_lines(console, f"\nThe grader cannot accept the returned value: {sanitize(str(error))}")
        return
    print_lines(console, f"\nWhat the grader sees of this call (driver {seen.tried.driver}):")
    for name, value in facts.items():
        print_lines(console, sanitize(f"    {name} = {format_value(value)}"))


def _describe(seen: FailureInspection, status: str, error: BaseException, path: Path) -> str:
    """Return an exception in the form of a report, with the student's own lines."""
    details = worker.describe_safely(status, error, {"submission": str(path)})
    return sanitize(explain_failure(Reply(status, details=details), seen.question, 0, 0, "").message)


class Debugger(pdb.Pdb):
    """A pdb that starts in the student's code, and hides all code around the driver.

    Breakpoints that the user sets stay for all calls that it follows.

    Attributes:
        left: Whether the user has quit.
        used: Whether it has followed a call.
        arrived: Whether the last call that it followed reached one of the places to stop at.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(skip=SKIPPED)
        self.path = str(path)
        self.screen = sys.stdout
        self.places: Set[Place] = frozenset()
        self.silent = False
        self.driver: CodeType | None = None
        self.shown: BaseException | None = None  # the last exception at which it stopped
        self.arrived = self.left = self.used = False

    def follow(
        self, driver: Callable[..., Any], submitted: Any, inputs: dict[str, Any], places: Set[Place], silent: bool = False
    ) -> Any:
        """Return the result of the driver, or raise its exception.

        Args:
            places: Code at which to stop, whichever is entered first; by default, the first line of the student's file.
            silent: Whether to stop even in calls whose output the driver suppresses.

        Raises:
            LeftDebugger: If the user quits.
        """
        self.driver, self.places, self.silent = driver.__code__, places, silent
        self.arrived, self.used = False, True
        self.reset()
        with _interruptible(), self._taking_breakpoints():
            sys.settrace(self.trace_dispatch)
            try:
                return driver(submitted, **inputs)
            finally:
                sys.settrace(None)

    @contextlib.contextmanager
    def _taking_breakpoints(self) -> Iterator[None]:
        """Let breakpoint() and pdb.set_trace() stop this debugger: a second one would fight with it for the terminal."""
        before = sys.breakpointhook, pdb.set_trace
        sys.breakpointhook = pdb.set_trace = self._stop_at_breakpoint
        try:
            yield
        finally:
            sys.breakpointhook, pdb.set_trace = before

    def _stop_at_breakpoint(self, *_given: Any, **_named: Any) -> None:
        if sys.stdout is self.screen or self.silent:  # not in a call that only prepares
            self.arrived = True
            self.set_trace(sys._getframe(1))

    def look_back(self, error: BaseException) -> None:
        """Stop at the student's line that raised, unless it stopped there already."""
        if error is self.shown or not any(frame.f_code.co_filename == self.path for frame in _frames(error)):
            return
        if sys.stdin.closed:  # exit() closes it
            return
        text = "\nStopped where it was raised: p NAME prints a value, u and d move along the call stack, q quits."
        print_lines(make_console(), text)
        self.reset()
        with _interruptible():
            self.interaction(None, error.__traceback__)

    def trace_dispatch(self, frame: FrameType, event: str, arg: Any) -> Any:
        try:
            return super().trace_dispatch(frame, event, arg)
        except bdb.BdbQuit:
            raise LeftDebugger from None

    def dispatch_call(self, frame: FrameType, arg: Any) -> Any:
        if self.arrived:
            return super().dispatch_call(frame, arg)
        code = frame.f_code
        if code.co_filename != self.path or (self.places and (code.co_name, code.co_firstlineno) not in self.places):
            return None
        if sys.stdout is not self.screen and not self.silent:
            return None
        self.arrived = True
        self.cmdqueue.append("list")  # more than one line of code, at the first stop
        caller = frame.f_back
        while caller is not None:  # so that `n` after the last line continues in the caller
            caller.f_trace = self.trace_dispatch
            self.botframe = caller
            if caller.f_code is self.driver:
                break
            caller = caller.f_back
        self.set_step()
        return self.trace_dispatch

    def interaction(self, *given: Any) -> None:
        with contextlib.redirect_stdout(self.screen):  # the prompt must be seen also where the driver suppresses output
            super().interaction(*given)

    def user_exception(self, frame: FrameType, exc_info: Any) -> None:
        self.shown = exc_info[1]
        super().user_exception(frame, exc_info)

    def get_stack(self, f: FrameType | None, t: TracebackType | None) -> tuple[list[tuple[FrameType, int]], int]:
        """Return the calls from the driver on; after an exception, select the last one in the student's code."""
        stack, index = super().get_stack(f, t)
        if f is None:
            index = max(at for at, (frame, _) in enumerate(stack) if frame.f_code.co_filename == self.path)
        first = next((at for at, (frame, _) in enumerate(stack) if frame.f_code is self.driver), 0)
        return stack[first:], max(index - first, 0)

    def set_quit(self) -> None:
        self.left = True  # even if the code that is left catches BdbQuit
        super().set_quit()


def _frames(error: BaseException) -> Iterator[FrameType]:
    step = error.__traceback__
    while step is not None:
        yield step.tb_frame
        step = step.tb_next


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Let pdb handle Ctrl-C, and restore the handler afterwards."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
