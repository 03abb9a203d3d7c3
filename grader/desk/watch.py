"""Watch mode: grades at every save, what changed first, and always shows what to do next.

Three threads: this file's loop draws and reads keys, one waits for saves, one grades. A save interrupts a grading that is
going on, so that a loop that never ends is left behind by the next save.
"""

from __future__ import annotations

import contextlib
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.assignment import Assignment, AssignmentFiles, UsageError
from grader.judge.run import Grader, GradingOptions, PreparedSubmission
from grader.report import terminal
from grader.report.model import Outcome, QuestionResult, Report
from grader.report.text import sanitize
from grader.submission import NOTEBOOK

if TYPE_CHECKING:
    from rich.text import Text

KEYS = "h hint · d debug · a all · q quit"
SETTLED_MS = 20  # of silence after the last write of a save, which an editor may make in several
LOOK_SECONDS = 0.05  # between two looks at the keyboard
WIDE = 80  # columns of a terminal on which the names of all questions have room
ROOM = 13  # lines of the terminal for all but the explanation


@dataclass(frozen=True)
class GradingResult:
    """A report from the grading thread.

    Attributes:
        changed: The questions that a save was about.
        whole: Whether everything is graded.
    """

    report: Report
    changed: frozenset[str]
    whole: bool
    seconds: float


@dataclass(frozen=True)
class GradingFailure:
    """Why nothing could be graded."""

    message: str


@dataclass(frozen=True)
class GradingProgress:
    """The progress of a grading.

    Attributes:
        done: How many checks are done.
        count: How many there are; 0 while that is not known.
        question: The name of the part that is being graded.
    """

    done: int
    count: int
    question: str


Event = GradingResult | GradingFailure | GradingProgress


def watch(home: AssignmentFiles, submission: Path, select: set[str] | None, finished: Callable[[Report], None]) -> None:
    """Grade now and after every save, until `q` is pressed.

    Args:
        submission: See `submission.read_submission`.
        select: Ids of the questions to grade; None for all.
        finished: Called with each report; one that comes early holds the last results of what is not graded again yet.
    """
    with Grader(home) as grader, _Keyboard() as keyboard:
        events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        grading = _Grading(grader, submission, select, events)
        saves = _Saves(submission, home.assignment, grading.begin)
        screen = _Screen(home, submission)
        disturbed = threading.Event()  # the terminal has another size, or has been somebody else's meanwhile
        for name in ("SIGCONT", "SIGWINCH"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), lambda *_: disturbed.set())
        try:
            grading.begin()
            while True:
                with contextlib.suppress(queue.Empty):
                    event = events.get(timeout=LOOK_SECONDS)
                    if isinstance(event, GradingResult):
                        finished(event.report)
                    screen.show(event)
                if disturbed.is_set():
                    disturbed.clear()
                    keyboard.take()
                    screen.again()
                match keyboard.pressed():
                    case "q" | "\x04":
                        return
                    case "h":
                        screen.hint()
                    case "a":
                        screen.everything()
                        grading.begin()
                    case "d":
                        if question := screen.to_debug():
                            with keyboard.released():
                                _debug(home, submission, question)
                            screen.forget()
                            grading.begin()
        finally:
            saves.end()
            grading.end()
            screen.end()


def _debug(home: AssignmentFiles, submission: Path, question: QuestionResult) -> None:
    """Step through a question in a process of its own: torch and student code stay out of this one."""
    name = [] if (home.root / "assignment.toml").is_file() else [home.assignment.name]
    script = str(home.root / "grade.py")
    print(flush=True)
    subprocess.run([sys.executable, script, *name, "--debug", question.id, "--submission", str(submission)], check=False)


class _Saves:
    """Calls `saved` whenever the submission, or what may be it in its folder or belong to it, is written."""

    def __init__(self, submission: Path, assignment: Assignment, saved: Callable[[], None]) -> None:
        import watchfiles  # here, where its absence is reported

        self._watch = watchfiles.watch
        self._submission = submission
        self._name = assignment.submission
        self._attachments = assignment.attachments
        self._saved = saved
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        # The folder, because an editor may save by putting a new file in the old one's place.
        folder = self._submission if self._submission.is_dir() else self._submission.parent
        changes = self._watch(
            folder,
            watch_filter=lambda _, path: self._is_about(Path(path)),
            debounce=10 * SETTLED_MS,
            step=SETTLED_MS,
            stop_event=self._ended,
            rust_timeout=500,
            recursive=False,
            raise_interrupt=False,
        )
        last = self._state()
        for _ in changes:
            now = self._state()
            if now is None or now != last:  # one save may be reported twice
                self._saved()
            last = now

    def _state(self) -> tuple[int, ...] | None:
        """Return a value that changes with every save, or None if unknown."""
        if self._submission.is_dir():
            return None
        state = []
        for path in (self._submission, *map(self._submission.with_name, self._attachments)):
            with contextlib.suppress(OSError):
                found = path.stat()
                state += [found.st_mtime_ns, found.st_size, found.st_ino]
        return tuple(state)

    def _is_about(self, path: Path) -> bool:
        if path.name in self._attachments:
            return True
        if self._submission.is_dir():
            return path.name == self._name or path.suffix == NOTEBOOK
        return path.name == self._submission.name


class _Grading:
    """Grades in a thread of its own: after `begin`, first the questions that have changed since the last time, then all."""

    def __init__(self, grader: Grader, submission: Path, select: set[str] | None, events: queue.SimpleQueue[Event]) -> None:
        self._grader = grader
        self._submission = submission
        self._select = select
        self._events = events
        self._orders: queue.SimpleQueue[float | None] = queue.SimpleQueue()
        self._lock = threading.Lock()  # an interruption belongs to the order that comes with it
        self._last: Report | None = None
        self._reach: dict[str, str] = {}
        self._own: dict[str, str] = {}
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def begin(self) -> None:
        """Grade what is there now; leave what is being graded."""
        self._order(time.monotonic())

    def end(self) -> None:
        """Stop, and wait until nothing of the submission runs any more."""
        self._order(None)
        self._thread.join()

    def _order(self, order: float | None) -> None:
        with self._lock:
            self._grader.interrupted.set()
            self._orders.put(order)

    def _run(self) -> None:
        while True:
            order = self._orders.get()
            with self._lock:
                while not self._orders.empty():
                    order = self._orders.get()
                self._grader.interrupted.clear()
            if order is None:
                return
            try:
                self._grade(order)
            except UsageError as error:
                self._events.put(GradingFailure(sanitize(str(error))))
            except Exception as error:  # the next save may go better
                self._events.put(GradingFailure(sanitize(f"The grader failed, not you: {type(error).__name__}: {error}")))

    def _grade(self, began: float) -> None:
        staged = self._grader.take(self._submission)
        changed = self._changed(staged) if self._last is not None else frozenset()
        functions = sorted({self._grader.home.assignment.question(question).function for question in changed})
        self._events.put(GradingProgress(0, 0, ", ".join(functions) or "everything"))
        if changed and self._last is not None:
            report = self._grader.grade(staged, GradingOptions(set(changed), changed=self._step))
            if self._grader.interrupted.is_set():
                return
            self._reach |= {name: staged.reach[name] for name in functions}
            self._own |= {name: own for name, own in staged.fingerprints.items() if name in functions}
            self._last = self._together(self._last, report, changed)
            self._events.put(GradingResult(self._last, changed, False, time.monotonic() - began))
        report = self._grader.grade(staged, GradingOptions(self._select, changed=self._step))
        if self._grader.interrupted.is_set():
            return
        report = report.for_student()
        # What is known of each question outlives a file that cannot be loaded for a while.
        if not terminal.explain_common_failure(report):
            self._reach, self._own, self._last = staged.reach, staged.fingerprints, report
        self._grader.warm_up()
        self._events.put(GradingResult(report, changed, True, time.monotonic() - began))

    def _step(self, report: Report) -> None:
        self._events.put(GradingProgress(*report.progress()))

    def _changed(self, staged: PreparedSubmission) -> frozenset[str]:
        """Return the questions whose function, or something that it uses, is not what was graded last."""
        now, own = staged.reach, staged.fingerprints
        changed = {name for name in now if now[name] != self._reach.get(name)}
        # What was itself edited comes before what only uses it.
        changed = {name for name in changed if own.get(name) != self._own.get(name)} or changed
        assignment = self._grader.home.assignment
        found = set()
        for question in assignment.questions:
            used = {question.function, *(assignment.question(piece).function for piece in question.pieces)}
            if used & changed and not question.needs and (self._select is None or question.id in self._select):
                found.add(question.id)
        return frozenset(found)

    def _together(self, old: Report, new: Report, changed: frozenset[str]) -> Report:
        """Return the new report, with what the old one says of questions that were not graded again."""
        report = new.for_student()
        fresh = {check.id: check for check in report.checks}
        kept = (check for check in old.checks if check.id in fresh or check.question not in changed)
        report.checks = [fresh.get(check.id, check) for check in kept]
        report.summarise(self._grader.home.assignment)
        return report


class _Screen:
    """What is on the terminal: a bar of the questions done, each one's mark, what to do next, and the keys."""

    def __init__(self, home: AssignmentFiles, submission: Path) -> None:
        from rich.console import Console

        self._console = Console(highlight=False)
        self._submission = submission
        self._command = "python grade.py" + ("" if (home.root / "assignment.toml").is_file() else f" {home.assignment.name}")
        self._report: Report | None = None
        self._changed: frozenset[str] = frozenset()
        self._all = False  # the next report of everything is to be shown whole
        self._last: GradingResult | None = None
        self._text = "starting"
        self._status()

    def show(self, event: Event) -> None:
        """Show what has happened."""
        if isinstance(event, GradingFailure):
            self._begin_line()
            self._console.print(event.message, markup=False)
            self._status("waiting for the next save")
        elif isinstance(event, GradingProgress):
            what = f"grading {event.question}".strip()
            self._status(f"{what}, {event.done} of {event.count} checks" if event.count else what)
        else:
            again = self._report
            self._report, self._changed, self._last = event.report, event.changed or self._changed, event
            if event.whole and self._all:
                self._all = False
                self._clear()
                terminal.render(event.report)
            elif again is None or not event.whole or _said(again) != _said(event.report):
                self._draw(event)
            self._status("waiting for the next save" if event.whole else "checking the rest")

    def first(self) -> QuestionResult | None:
        """Return the question to work on: of those just changed the first that fails, else the first that fails at all."""
        questions = self._report.questions if self._report else []
        tried = [question for question in questions if question.outcome in TRIED]
        return next((question for question in tried if question.id in self._changed), tried[0] if tried else None)

    def hint(self) -> None:
        """Show the hint for the question to work on."""
        if self._report is None or self._last is None:
            return
        question, following = self.first(), _not_started(self._report)
        if terminal.explain_common_failure(self._report):
            text = "First the file must load: the message above names the line."
        elif question is not None and find_advice(self._report, question):
            self._draw(self._last, hints=True)
            text = ""
        elif question is not None:
            text = f"No known mistake looks like this. Look closer: {self._command} --show {question.id}"
        else:
            text = f"{following.id}: {following.task}" if following else "Nothing is left that a hint could help with."
        if text:
            self._begin_line()
            self._console.print(text, markup=False, style="cyan")
        self._status()

    def everything(self) -> None:
        """Show the whole report, as soon as everything is graded."""
        self._all = True
        self._status("grading everything for the whole report")

    def again(self) -> None:
        """Draw what was there."""
        if self._last is not None:
            self._draw(self._last)
        self._status()

    def to_debug(self) -> QuestionResult | None:
        """Return the question to debug, and say that it takes a moment; or say why there is none."""
        question = self.first()
        if self._report is not None and terminal.explain_common_failure(self._report):
            question = None
            self._status("nothing to debug: the file cannot be loaded")
        elif question is None:
            self._status("nothing to debug: no question that is written fails")
        else:
            self._status(f"starting the debugger for {question.id}")
        return question

    def end(self) -> None:
        """Leave the cursor at the beginning of a line."""
        self._begin_line()

    def forget(self) -> None:
        """Draw again whatever comes next: something else has been on the terminal."""
        self._report = None

    def _draw(self, event: GradingResult, hints: bool = False) -> None:
        self._clear()
        for line in self._lines(event, hints):
            self._console.print(line)

    def _lines(self, event: GradingResult, hints: bool) -> Iterator[object]:
        from rich.columns import Columns
        from rich.text import Text

        report = hide_hints(event.report)
        reason, question = terminal.explain_common_failure(report), self.first()
        yield Text(f"{report.title} · {self._submission.name}", "bold")
        if not reason:  # which says nothing of what has been done
            counted = [question for question in report.questions if not question.left_out]
            passed = sum(question.outcome is Outcome.PASSED for question in counted)
            yield _bar(passed, len(counted), f"{report.points:g}/{report.max_points:g} points")
            marks = [_mark(question, self._changed, self._console.width >= WIDE) for question in report.questions]
            yield Columns(marks, padding=(0, 2 if self._console.width >= WIDE else 1))
        for remark in report.remarks:
            yield Text(remark)
        yield Text("")
        for done in (entry for entry in report.questions if entry.id in event.changed and entry.outcome is Outcome.PASSED):
            yield Text(f"✓ {done.id}: passed", "green")
        if reason:
            yield self._fitting(reason[1:])
        elif question is not None:
            style = terminal.STYLES.get(question.outcome, "red")
            yield Text(f"{question.id}: {question.title} ({question.outcome.value})", style)
            yield self._fitting(terminal.explain_question(report, question))
            if advice := find_advice(event.report, question):
                yield Text(advice if hints else "There is a hint: press h", "cyan")
        else:
            following = _not_started(report)
            yield Text("\n".join(terminal.make_closing_lines(report)))
            if following is not None:
                yield Text(f"{following.id}: {following.task}", "bold")
            elif report.points == report.max_points:
                yield Text(f"Everything passes here. Hand in {self._submission.name}.", "bold green")
        if not event.whole:
            yield Text(f"{event.seconds:.2f} s after the save", "dim")

    def _fitting(self, lines: list[str]) -> Text:
        """Return the lines, cut so that what is above them stays on the screen; a difference comes first, inputs last."""
        from rich.text import Text

        wrapped = terminal.wrap_lines("\n".join(lines), self._console.width).split("\n")
        room = max(self._console.height - ROOM, 8)
        if len(wrapped) > room:
            return Text("\n".join(wrapped[: room - 1])).append("\n  [... press a for the whole report]", "dim")
        return Text("\n".join(wrapped))

    def _clear(self) -> None:
        self._begin_line()
        self._console.clear()

    def _begin_line(self) -> None:
        from rich.control import Control
        from rich.segment import ControlType

        self._console.control(Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2)))

    def _status(self, text: str | None = None) -> None:
        """Say what is going on, or that again, beside the keys."""
        self._text = self._text if text is None else text
        if not self._console.is_dumb_terminal:  # which cannot take a line back
            self._begin_line()
            line = f"{KEYS}    {self._text}"
            if len(line) >= self._console.width:
                line = self._text
            self._console.print(line[: self._console.width - 1], end="", markup=False, style="dim")


TRIED = (Outcome.FAILED, Outcome.PARTIAL, Outcome.TIMEOUT, Outcome.MEMORY, Outcome.CRASHED)


def _not_started(report: Report) -> QuestionResult | None:
    return next((question for question in report.questions if question.outcome is Outcome.NOT_STARTED), None)


def _said(report: Report) -> list[tuple[str, ...]]:
    """Return all that a report says but how long it took."""
    return [(check.id, check.outcome.value, check.message, check.hint) for check in report.checks]


def hide_hints(report: Report) -> Report:
    """Return a copy that keeps its hints to itself: first one thinks."""
    copy = report.model_copy(deep=True)
    for check in copy.checks:
        check.hint, check.mistakes, check.suspects = "", (), ()
    return copy


def find_advice(report: Report, question: QuestionResult) -> str:
    """Return the hint for this question, or nothing."""
    return next((check.advice() for check in report.checks if check.question == question.id and check.hint), "")


def _bar(done: int, count: int, words: str) -> Text:
    from rich.text import Text

    width = 40
    full = width * done // max(count, 1)
    return Text.assemble(("━" * full, "green"), ("━" * (width - full), "dim"), f" {done} of {count} questions · {words}")


def _mark(question: QuestionResult, changed: frozenset[str], named: bool) -> Text:
    from rich.text import Text

    mark = terminal.choose_outcome_mark(question.outcome)
    style = terminal.STYLES.get(question.outcome, "red") + (" bold" if question.id in changed else "")
    return Text(f"{mark} {question.id}" if named else mark, style)


class _Keyboard:
    """Keys as they are pressed, without Enter; the terminal is put back in the end, whatever happens."""

    def __enter__(self) -> _Keyboard:
        self._before: list[Any] = []
        self.take()
        return self

    def __exit__(self, *exception: object) -> None:
        self._give_back()

    def pressed(self) -> str:
        """Return a key that was pressed, or nothing."""
        if sys.platform == "win32":
            import msvcrt

            return msvcrt.getwch() if msvcrt.kbhit() else ""
        import os
        import select

        ready, _, _ = select.select([sys.stdin], [], [], 0)
        return os.read(sys.stdin.fileno(), 1).decode("latin-1") or "\x04" if ready else ""

    @contextlib.contextmanager
    def released(self) -> Iterator[None]:
        """Give the terminal back for a while."""
        self._give_back()
        try:
            yield
        finally:
            self.take()

    def take(self) -> None:
        """Have each key at once, also where somebody else has changed that meanwhile."""
        if sys.platform != "win32":
            import termios
            import tty

            self._before = self._before or termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin)

    def _give_back(self) -> None:
        if sys.platform != "win32":
            import termios

            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._before)
