"""Watch mode: grade at every save, changed questions first, and always show what to do next.

There are three threads: the loop in this file draws and reads keys, one waits for saves, one grades. A save interrupts the
current grading, so the next save ends an endless loop.
"""

from __future__ import annotations

import contextlib
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from grader.assignment import Assignment, AssignmentFiles, UsageError
from grader.desk.keyboard import Keyboard
from grader.desk.untouched import find_untouched, mark_untouched
from grader.desk.watchscreen import Event, GradingFailure, GradingProgress, GradingResult, WatchScreen
from grader.judge.run import Grader, GradingOptions, PreparedSubmission
from grader.report import terminal
from grader.report.model import QuestionResult, Report
from grader.report.text import sanitize
from grader.submission import NOTEBOOK

SETTLED_MS = 20  # after the last write: an editor may write a file several times per save
LOOK_SECONDS = 0.05  # between two looks at the keyboard


def watch(home: AssignmentFiles, submission: Path, select: set[str] | None, finished: Callable[[Report], None]) -> None:
    """Grade now and after every save, until `q` is pressed.

    Args:
        submission: See `submission.read_submission`.
        select: Ids of the questions to grade; None for all.
        finished: Called with each report; an early one has the previous results of questions that are still being graded.
    """
    with Grader(home) as grader, Keyboard() as keyboard:
        events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        grading = _Grading(grader, submission, select, events)
        saves = _Saves(submission, home.assignment, grading.begin)
        screen = WatchScreen(home, submission)
        disturbed = threading.Event()  # the terminal was resized, or another program used it
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
    """Step through a question in a separate process: torch and student code stay out of this one."""
    name = [] if (home.root / "assignment.toml").is_file() else [home.assignment.name]
    script = str(home.root / "grade.py")
    print(flush=True)
    # Ctrl-C is for the debugger, but the terminal also sends it to this process. SIG_IGN would be inherited by the debugger.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        subprocess.run([sys.executable, script, *name, "--debug", question.id, "--submission", str(submission)], check=False)
    finally:
        signal.signal(signal.SIGINT, before)


class _Saves:
    """Calls `saved` whenever the submission, a candidate for it in its folder, or an attachment is written."""

    def __init__(self, submission: Path, assignment: Assignment, saved: Callable[[], None]) -> None:
        import watchfiles  # in this thread, which reports if the package is missing

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
        # The folder, because an editor may save by replacing the file.
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
    """Grades in a separate thread: after `begin`, first the questions that have changed, then all."""

    def __init__(self, grader: Grader, submission: Path, select: set[str] | None, events: queue.SimpleQueue[Event]) -> None:
        self._grader = grader
        self._submission = submission
        self._select = select
        self._events = events
        self._orders: queue.SimpleQueue[float | None] = queue.SimpleQueue()
        self._lock = threading.Lock()  # an interruption belongs to the order that caused it
        self._last: Report | None = None
        self._reach: dict[str, str] = {}
        self._own: dict[str, str] = {}
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def begin(self) -> None:
        """Grade the current files, and interrupt the grading in progress."""
        self._order(time.monotonic())

    def end(self) -> None:
        """Stop, and wait until no code of the submission runs any more."""
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
            except Exception as error:  # the next save may succeed
                self._events.put(GradingFailure(sanitize(f"The grader failed, not your code: {type(error).__name__}: {error}")))

    def _grade(self, began: float) -> None:
        staged = self._grader.take(self._submission)
        changed = self._changed(staged) if self._last is not None else frozenset()
        untouched = find_untouched(staged.path.read_bytes(), self._grader.home.assignment)
        functions = sorted({self._grader.home.assignment.question(question).function for question in changed})
        self._events.put(GradingProgress(0, 0, ", ".join(functions) or "everything"))
        if changed and self._last is not None:
            report = self._grader.grade(staged, GradingOptions(set(changed), changed=self._step))
            if self._grader.interrupted.is_set():
                return
            self._reach |= {name: staged.reach[name] for name in functions}
            self._own |= {name: own for name, own in staged.fingerprints.items() if name in functions}
            self._last = mark_untouched(self._together(self._last, report, changed), untouched)
            self._events.put(GradingResult(self._last, changed, False, time.monotonic() - began))
        report = self._grader.grade(staged, GradingOptions(self._select, changed=self._step))
        if self._grader.interrupted.is_set():
            return
        report = mark_untouched(terminal.make_student_view(report), untouched)
        # Results of questions are kept while the file cannot be loaded.
        if not terminal.explain_common_failure(report):
            self._reach, self._own, self._last = staged.reach, staged.fingerprints, report
        self._grader.warm_up()
        self._events.put(GradingResult(report, changed, True, time.monotonic() - began))

    def _step(self, report: Report) -> None:
        self._events.put(GradingProgress(*report.progress()))

    def _changed(self, staged: PreparedSubmission) -> frozenset[str]:
        """Return the questions whose function, or code that it uses, has changed since the last grading."""
        now, own = staged.reach, staged.fingerprints
        changed = {name for name in now if now[name] != self._reach.get(name)}
        # Edited functions come before functions that only use them.
        changed = {name for name in changed if own.get(name) != self._own.get(name)} or changed
        assignment = self._grader.home.assignment
        found = set()
        for question in assignment.questions:
            used = {question.function, *(assignment.question(piece).function for piece in question.pieces)}
            if used & changed and not question.needs and (self._select is None or question.id in self._select):
                found.add(question.id)
        return frozenset(found)

    def _together(self, old: Report, new: Report, changed: frozenset[str]) -> Report:
        """Return the new report, with the old results of questions that were not graded again."""
        report = terminal.make_student_view(new)
        fresh = {check.id: check for check in report.checks}
        kept = (check for check in old.checks if check.id in fresh or check.question not in changed)
        report.checks = [fresh.get(check.id, check) for check in kept]
        report.summarize(self._grader.home.assignment)
        return report
