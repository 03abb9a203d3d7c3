"""The case that a check fails, once more in this process and under pdb, stopped at the first line of the student's function.

Here is no sandbox: the code runs as the student who wrote it, without limits, as it does when they run it themselves.
"""

from __future__ import annotations

import ast
import bdb
import contextlib
import os
import pdb
import signal
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any

from rich.text import Text

from grader.assignment import AssignmentFiles
from grader.desk.look import FailureInspection, NothingToInspect, make_console
from grader.judge.compare import format_value
from grader.judge.failure import explain_failure
from grader.report.text import sanitize
from grader.sandbox import wire, worker
from grader.sandbox.reply import Reply
from grader.submission import stage_submission

KEYS = """\
  n  next line             l  list the code here       c  continue to the end (Ctrl-C stops again)
  s  step into a call      u  up to the caller, d down  q  quit
  p NAME  print a value (p NAME.shape of a tensor)      h  help"""
LIBRARIES = ("torch", "torch.*", "numpy", "numpy.*", "contextlib", "bdb", "grader.*")  # which `s` steps over


def debug(home: AssignmentFiles, seen: FailureInspection) -> None:
    """Run the call of a check again, under pdb.

    Raises:
        NothingToInspect: If the submission cannot be loaded here.
    """
    with tempfile.TemporaryDirectory(prefix="debug-") as folder:
        path = seen.file or stage_submission(seen.source, Path(folder, home.assignment.submission))
        _debug(home, seen, Path(os.path.abspath(path)))


def _debug(home: AssignmentFiles, seen: FailureInspection, path: Path) -> None:
    function = seen.question.function
    submitted = _load(home, seen, path)
    if not hasattr(submitted, function):
        raise NothingToInspect(f"{seen.question.id}: {seen.check.message}")
    _introduce(seen, path)
    debugger = Debugger(path, function)
    try:
        facts = debugger.follow(getattr(sys.modules["drivers"], seen.tried.driver), submitted, seen.tried.inputs)
    except bdb.BdbQuit:
        return
    except BaseException as error:  # SystemExit as well: the student's code may call exit()
        if debugger.left:
            return
        if isinstance(error, KeyboardInterrupt):
            raise
        print(f"\n{function} did not return.\n{_describe(seen, 'raised', error, path)}")
        debugger.look_back(error)
    else:
        if not debugger.left:
            _conclude(seen, facts, debugger.arrived)


def _load(home: AssignmentFiles, seen: FailureInspection, path: Path) -> Any:
    """Return the submission as a worker loads it, with what a driver finds there.

    Raises:
        NothingToInspect: If the submission cannot be loaded.
    """
    os.environ["MPLBACKEND"] = "Agg"
    os.environ["OMP_NUM_THREADS"] = "1"  # torch reads it when it is imported; sums in another order differ in their last digits
    sys.dont_write_bytecode = True  # no __pycache__ beside the student's file
    sys.path[:0] = list(dict.fromkeys(str(file.parent) for file in home.support()))
    worker.load_module("drivers", home.drivers)
    worker.seed_everything(seen.tried.seed)
    try:
        submitted = worker.load_module("submitted", path)
    except Exception as error:
        raise NothingToInspect(_describe(seen, "import", error, path)) from error
    worker.seed_everything(seen.tried.seed)
    return submitted


def _introduce(seen: FailureInspection, path: Path) -> None:
    """Print what is run, what was expected of it, what the grader found, and pdb's keys."""
    console = make_console()
    seen.print_headline(console)
    if seen.passed:
        console.print(Text("Every check that was run passes; this is the first of them.", "green"))
    console.print(Text(textwrap.indent(seen.found(), "    ")))
    console.print(Text(f"\n{seen.called()}", "bold"))
    for name, value in seen.tried.inputs.items():
        console.print(Text(f"    {name} = {format_value(value)}"))
    console.print(Text(f"\nStopping at the first line of {seen.question.function} in {path.name}. Keys:", "bold"))
    console.print(Text(f"{KEYS}\n"))


def _conclude(seen: FailureInspection, facts: Any, arrived: bool) -> None:
    """Print what the call returned, as a judge would read it."""
    if not arrived:
        print(f"The driver {seen.tried.driver} did not call {seen.question.function}.")
    try:
        frame = wire.encode(facts)
        text, blob = wire.read_lengths(frame[: wire.HEADER.size])
        body = frame[wire.HEADER.size :]
        facts = wire.decode(body[:text], body[text : text + blob])
    except wire.ValueRefused as error:
        print(f"\nThe grader cannot accept the returned value: {sanitize(str(error))}")
        return
    print(f"\nWhat the grader sees of this call (driver {seen.tried.driver}):")
    for name, value in facts.items():
        print(sanitize(f"    {name} = {format_value(value)}"))


def _describe(seen: FailureInspection, status: str, error: BaseException, path: Path) -> str:
    """Return an exception as reports show it, with the student's own lines."""
    details = worker.describe_safely(status, error, {"submission": str(path)})
    return sanitize(explain_failure(Reply(status, details=details), seen.question, 0, 0, "").message)


class Debugger(pdb.Pdb):
    """A pdb that begins when the student's function is called, and hides all code around the driver.

    Attributes:
        left: Whether the user has quit.
        arrived: Whether the function was called.
    """

    def __init__(self, path: Path, function: str) -> None:
        super().__init__(skip=LIBRARIES)
        self.path = str(path)
        self.places = find_code_places(path.read_bytes(), function)
        self.driver: CodeType | None = None
        self.shown: BaseException | None = None  # the exception at which the user was stopped last
        self.arrived = self.left = False

    def follow(self, driver: Callable[..., Any], submitted: Any, inputs: dict[str, Any]) -> Any:
        """Return what the driver returns; an exception of the driver is passed on.

        Raises:
            BdbQuit: If the user quits.
        """
        self.driver = driver.__code__
        self.reset()
        with _interruptible():
            sys.settrace(self.trace_dispatch)
            try:
                return driver(submitted, **inputs)
            finally:
                sys.settrace(None)

    def look_back(self, error: BaseException) -> None:
        """Stop at the student's line that raised, unless the user has seen it there already."""
        if error is self.shown or not any(frame.f_code.co_filename == self.path for frame in _frames(error)):
            return
        if sys.stdin.closed:  # as exit() leaves it
            return
        print("\nStopped where it was raised: p NAME prints a value, u and d go up and down, q quits.", flush=True)
        self.reset()
        with _interruptible():
            self.interaction(None, error.__traceback__)

    def dispatch_call(self, frame: FrameType, arg: Any) -> Any:
        if self.arrived:
            return super().dispatch_call(frame, arg)
        code = frame.f_code
        if code.co_filename != self.path or (self.places and (code.co_name, code.co_firstlineno) not in self.places):
            return None
        self.arrived = True
        self.cmdqueue.append("list")  # more than the one line, at the first stop
        caller = frame.f_back
        while caller is not None:  # so that `n` after the last line goes on in the caller
            caller.f_trace = self.trace_dispatch
            self.botframe = caller
            if caller.f_code is self.driver:
                break
            caller = caller.f_back
        self.set_step()
        return self.trace_dispatch

    def user_exception(self, frame: FrameType, exc_info: Any) -> None:
        self.shown = exc_info[1]
        super().user_exception(frame, exc_info)

    def get_stack(self, f: FrameType | None, t: TracebackType | None) -> tuple[list[tuple[FrameType, int]], int]:
        """Return the calls from the driver on; after an exception, stand on the last one that is the student's."""
        stack, index = super().get_stack(f, t)
        if f is None:
            index = max(at for at, (frame, _) in enumerate(stack) if frame.f_code.co_filename == self.path)
        first = next((at for at, (frame, _) in enumerate(stack) if frame.f_code is self.driver), 0)
        return stack[first:], max(index - first, 0)

    def set_quit(self) -> None:
        self.left = True  # whatever the code that is left does with BdbQuit
        super().set_quit()


def find_code_places(source: bytes, function: str) -> set[tuple[str, int]]:
    """Return name and first line, as a code object has them, of each code that `function` may begin with.

    That is the function of this name, or any method of the class of this name and of its bases in the same file; nothing when
    neither is defined, as when the name is given to something else.
    """
    top = list(_defined(ast.parse(source)))
    found, names = set(), [function]
    for name in names:  # bases are added on the way
        for node in top:
            if node.name != name:
                continue
            methods = [node]
            if isinstance(node, ast.ClassDef):
                methods = [child for child in _defined(node) if not isinstance(child, ast.ClassDef)]
                names += [base.id for base in node.bases if isinstance(base, ast.Name) and base.id not in names]
            # The first line of a code object is that of its first decorator.
            found |= {(each.name, min(line.lineno for line in [each, *each.decorator_list])) for each in methods}
    return found


def _defined(body: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Yield the functions and classes that a module or class defines, in branches as well, but not inside one another."""
    for child in ast.iter_child_nodes(body):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield child
        else:
            yield from _defined(child)


def _frames(error: BaseException) -> Iterator[FrameType]:
    step = error.__traceback__
    while step is not None:
        yield step.tb_frame
        step = step.tb_next


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Let pdb take Ctrl-C for itself, and give it back."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
