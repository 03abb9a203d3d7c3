"""A pdb that starts in the student's code, and hides the code around it."""

from __future__ import annotations

import bdb
import contextlib
import inspect
import pdb
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Set
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any, TextIO

from grader.desk.code_places import Place, find_bodies
from grader.desk.look import make_console, print_lines

# Code that `n` and `s` step over: libraries, the kit, and the callers of the student's code.
SKIPPED = ("torch", "torch.*", "numpy", "numpy.*", "contextlib", "bdb", "grader.*", "drivers")


class LeftDebugger(BaseException):
    """The user has quit. Drivers suppress exceptions of some calls, but not this one."""


class OutputGate:
    """A stream that drops what is written before its debugger first stops."""

    def __init__(self, debugger: Debugger, stream: TextIO) -> None:
        self._debugger = debugger
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(text) if self._debugger.arrived else len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


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
        self.heard, self.warned = OutputGate(self, sys.stdout), OutputGate(self, sys.stderr)
        self.places: Set[Place] = frozenset()
        self.silent = False
        self.driver: CodeType | None = None
        self.shown: BaseException | None = None  # the last exception at which it stopped
        self.arrived = self.left = self.used = False

    def follow(
        self, driver: Callable[..., Any], submitted: Any, inputs: dict[str, Any], places: Set[Place], silent: bool = False
    ) -> Any:
        """Return the result of the driver, or raise its exception.

        Output is shown from the first stop on: the user does not see the calls before it.

        Args:
            places: Code at which to stop, whichever is entered first; by default, the first line of the student's file.
            silent: Whether to stop even in calls whose output the driver suppresses.

        Raises:
            LeftDebugger: If the user quits.
        """
        self.driver, self.places, self.silent = driver.__code__, places, silent
        self.arrived, self.used = False, True
        self.reset()
        with (
            _interruptible(),
            self._taking_breakpoints(),
            contextlib.redirect_stdout(self.heard),
            contextlib.redirect_stderr(self.warned),
        ):
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
        if sys.stdout is self.heard or self.silent:  # not in a call that only prepares
            self._arrive()
            self.set_trace(sys._getframe(1))

    def _arrive(self) -> None:
        """Show output from now on, also the warnings that were printed, but not shown, before."""
        if not self.arrived:
            self.arrived = True
            warnings.simplefilter("default", append=True)  # changes nothing, but Python forgets what it has warned of

    def do_break(self, arg: str, temporary: Any = False) -> bool | None:
        """Set a breakpoint; that of a function of the student's stops in their code, even if a driver has wrapped it."""
        name, comma, condition = arg.partition(",")
        line = self._find_line(name.strip())
        return super().do_break(f"{self.path}:{line}{comma}{condition}" if line else arg, temporary)

    do_b = do_break

    def _find_line(self, name: str) -> int | None:
        """Return the first line of a function's body in the student's file; None if the name is not of one."""
        if not all(part.isidentifier() for part in name.split(".")):
            return None
        bodies = find_bodies(Path(self.path).read_bytes())
        with contextlib.suppress(Exception):  # a name that is not known here
            frame: Any = self.curframe
            code = inspect.unwrap(eval(name, frame.f_globals, frame.f_locals)).__code__
            if code.co_filename == self.path:
                return next(body.line for body in bodies if body.first == code.co_firstlineno)
        found = [body.line for body in bodies if f".{body.name}".endswith(f".{name}")]
        return found[0] if len(found) == 1 else None

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
        if sys.stdout is not self.heard and not self.silent:
            return None
        self._arrive()
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
