"""Run failing cases again in this process: in pdb, which stops in the student's code, or in another debugger.

There is no sandbox here: the code runs with the student's own rights and without limits, as when they run it themselves.
"""

from __future__ import annotations

import bdb
import contextlib
import os
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from grader.assignment import AssignmentFiles
from grader.desk.code_places import Place, find_code_places, find_methods
from grader.desk.debugger import Debugger, LeftDebugger
from grader.desk.look import FailureInspection, NothingToInspect, make_console, print_lines
from grader.judge.compare import format_value
from grader.judge.failure import explain_failure
from grader.judge.received import INPUTS_OF_CASE
from grader.report import screen
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


@dataclass(frozen=True)
class SharedCall:
    """A call of the submission, and the checks that look at it.

    Attributes:
        checks: These checks; the first one explains the call.
        left: The number of failing calls after this one.
    """

    checks: list[FailureInspection]
    left: int


def debug(home: AssignmentFiles, looks: Sequence[FailureInspection]) -> bool:
    """Run the calls of some checks again in pdb, each once; return whether the user quit before the last one ended.

    Raises:
        NothingToInspect: If the submission cannot be loaded here.
    """
    calls = list_calls(looks)
    with _find_file(home, looks[0]) as path:
        debugger = Debugger(path)
        for call in calls:
            _debug(home, call, debugger)
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


def list_calls(looks: Sequence[FailureInspection]) -> list[SharedCall]:
    """Return the calls of these checks: a case that several checks use is run once."""
    found: dict[object, list[FailureInspection]] = {}
    for number, seen in enumerate(looks):
        case = seen.tried.case
        found.setdefault((seen.question.id, case.name) if case else number, []).append(seen)
    return [SharedCall(checks, len(found) - number) for number, checks in enumerate(found.values(), 1)]


@contextlib.contextmanager
def _find_file(home: AssignmentFiles, seen: FailureInspection) -> Iterator[Path]:
    """Yield the path of the student's own file, or of a file with the definitions of their notebook."""
    with tempfile.TemporaryDirectory(prefix="debug-") as folder:
        path = seen.file or stage_submission(seen.source, Path(folder, home.assignment.submission))
        yield Path(os.path.abspath(path))


def _find_driver(seen: FailureInspection) -> Callable[..., Any]:
    driver: Callable[..., Any] = getattr(sys.modules["drivers"], seen.tried.driver)
    return driver


def _debug(home: AssignmentFiles, call: SharedCall, debugger: Debugger) -> None:
    """Debug one call."""
    seen, path = call.checks[0], Path(debugger.path)
    function, submitted = seen.question.function, _load(home, seen, path)
    if not hasattr(submitted, function):
        raise NothingToInspect(f"{seen.question.id}: {seen.check.message}")
    others = [question for question in home.assignment.questions if question.id != seen.question.id]
    places = find_code_places(path.read_bytes(), seen.question, others)
    _introduce(call, path, places, again=debugger.used)
    try:
        facts = _follow(home, seen, debugger, submitted, places)
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


def _follow(home: AssignmentFiles, seen: FailureInspection, debugger: Debugger, submitted: Any, places: Set[Place]) -> Any:
    """Return the result of a call that stops in one of the places, or raise its exception."""
    # Calls whose output is suppressed are usually preparation, but one of them may never end, or be the only one. And possibly
    # only other code of the class is called here, and none of the places to stop at.
    wider = places | find_methods(Path(debugger.path).read_bytes(), seen.question.function).keys()
    wanted = [(places, False)] if seen.check.outcome is not Outcome.TIMEOUT else []
    *tries, last = dict.fromkeys((frozenset(where), silent) for where, silent in [*wanted, (places, True), (wider, True)])
    for where, silent in tries:
        try:
            facts = debugger.follow(_find_driver(seen), submitted, seen.tried.inputs, where, silent)
        except (bdb.BdbQuit, LeftDebugger, KeyboardInterrupt):
            raise
        except BaseException:  # SystemExit as well
            if debugger.arrived or debugger.left:
                raise
        else:
            if debugger.arrived:
                return facts
        submitted = _load(home, seen, Path(debugger.path))
    return debugger.follow(_find_driver(seen), submitted, seen.tried.inputs, *last)


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


def _introduce(call: SharedCall, path: Path, places: Set[Place], again: bool) -> None:
    """Print the case, the expected result and what the grader found; the first time, also pdb's keys."""
    (seen, *others), left = call.checks, call.left
    console = make_console()
    if again:
        print_lines(console, "\nNext failing case", "bold underline")
    seen.print_headline(console)
    if seen.passed:
        print_lines(console, "All checks that ran pass; this is the first one.", "green")
    print_lines(console, textwrap.indent(seen.found(), "    "))
    for other in others:
        same = other.check.message == seen.check.message
        said = f"✗ {other.check.title} (-k {other.name} also fails on this case{', for the same reason' if same else ''})"
        print_lines(console, said, screen.choose_style(other.check.outcome))
        if not same:
            print_lines(console, textwrap.indent(sanitize(other.tried.said or other.check.message), "    "))
    _print_call(seen, console, places)
    more = f"; {left} more failing {'case' if left == 1 else 'cases'} after it" if left else ""
    keys = "" if again else " Keys:"
    print_lines(console, f"\nStopping in {seen.question.function} in {path.name}{more}.{keys}", "bold")
    if not again:
        continue_to = "continue to the next failing case" if left else "continue to the end"
        lines = "  {:<40}  {}" if console.soft_wrap or console.width >= WIDE else "  {}\n  {}"
        for pair in KEYS:
            print_lines(console, lines.format(*(key.format(continue_to=continue_to) for key in pair)))
        print_lines(console, "")


def _print_call(seen: FailureInspection, console: Console, places: Set[Place]) -> None:
    """Print the call in the words of the report; of several calls, only what also holds for the one that is stopped in."""
    called, (arguments, rest), received = seen.called(), seen.inputs(), seen.tried.received
    if received and received.times > 1 and received.function.rpartition(".")[2] in {name for name, _ in places}:
        case = f" (case {seen.tried.case.name})" if seen.tried.case else ""
        called = f"{received.function} was called {received.times:,} times{case}; `a` prints what this call received."
        arguments, rest = {}, seen.tried.inputs
    print_lines(console, f"\n{called}", "bold")
    for heading, values in (("", arguments), (INPUTS_OF_CASE, rest)):
        if heading and values:
            print_lines(console, f"  {heading}")
        for name, value in values.items():
            print_lines(console, f"    {name} = {format_value(value)}")


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
