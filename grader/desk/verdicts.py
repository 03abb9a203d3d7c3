"""The child process of a kernel that grades for `%grade` (desk/magic.py), with visible checks only.

Requests and answers are lines of JSON. The child ends with the kernel, however the kernel ends: then its input is closed, or,
if a fork of the kernel keeps it open, its parent changes. It also ends after some minutes without a request. It grades source
code, which is parsed and run in the sandbox, as always.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import queue
import re
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from grader.assignment import AssignmentFiles, Question, UsageError, list_assignments
from grader.desk.asked import find_questions
from grader.desk.missing import explain_missing
from grader.desk.session_cells import (
    describe_replaced,
    find_bare_methods,
    find_redefined,
    name_cells,
    name_classes,
    refuse_subclasses,
)
from grader.judge.run import Grader, GradingOptions, PreparedSubmission, select_questions
from grader.report import layout, page, terminal
from grader.report.model import Outcome, Report
from grader.report.text import sanitize
from grader.submission import read_submission

IDLE_SECONDS = 600.0
LOOK_SECONDS = 1.0  # between two looks at who the parent is
FROM_FILE = "--file"  # a word of `%grade`: grade the saved file, whatever cells define
GIVEN_UP = "stopped: unfinished checks do not count"


@dataclass(frozen=True)
class Request:
    """What to grade.

    Attributes:
        number: Repeated in the answers.
        words: Questions, perhaps after the assignment's name.
        cells: Number and source of each cell that was run, in this order.
        replaced: The definitions left out of the cells because the saved file has newer ones, each
            with the last cell that had it.
        since: When the session began, in seconds.
    """

    number: int
    words: list[str]
    cells: list[tuple[int, str]]
    replaced: dict[str, int] = field(default_factory=dict)
    since: float = 0.0


class VerdictServer:
    """The warm grader of one assignment, and its last result.

    Args:
        root, folder: See `main`.
        changed: Called with the report after each check.
    """

    def __init__(self, root: Path, folder: Path, changed: Callable[[Report], None]) -> None:
        self._root, self._folder, self._changed = root, folder, changed
        self._home: AssignmentFiles | None = None
        self._grader: Grader | None = None
        self._state: dict[str, tuple[int, int]] = {}
        self._given_up = 0.0
        self._kept = Path(tempfile.mkdtemp(prefix="verdicts-"))

    def close(self) -> None:
        if self._grader is not None:
            self._grader.__exit__()
        shutil.rmtree(self._kept, ignore_errors=True)

    def interrupt(self, number: float) -> None:
        """Cancel all requests up to this number, including the one that is being graded."""
        self._given_up = number
        if self._grader is not None:
            self._grader.interrupted.set()

    def warm_up(self) -> None:
        """Start the grader that the first request will need, if the assignment is known."""
        name = None if self._folder == self._root else self._folder.name
        if (self._folder / "assignment.toml").is_file():
            self._open(name)

    @property
    def stale(self) -> bool:
        """Whether files of the kit or of the checks have changed since this process read them."""
        return self._home is not None and self._state != _read_state(self._home)

    def answer(self, request: Request) -> dict[str, str]:
        """Return the verdict as an HTML fragment and as text.

        Raises:
            UsageError: If there is nothing to grade.
        """
        known = list_assignments(self._root)
        words = list(request.words)
        session = replace(request, cells=[], replaced={}) if FROM_FILE in words else request
        words = [word for word in words if word != FROM_FILE]
        name = words.pop(0) if words and words[0] in known else None
        grader = self._open(name or (self._folder.name if self._folder.name in known else None))
        home = grader.home
        grader.interrupted.clear()
        if request.number <= self._given_up:
            raise UsageError(GIVEN_UP)
        named = find_questions(home.assignment, words)
        chosen = select_questions(home, named)
        asked = [entry for entry in home.assignment.questions if not named or entry.id in named]
        staged, sources = self._take(grader, session, asked)
        report = terminal.make_student_view(grader.grade(staged, GradingOptions(chosen, changed=self._changed)))
        if grader.interrupted.is_set():
            raise UsageError(GIVEN_UP)
        grader.warm_up()
        name_classes(report, staged.cells)
        return self._render(report, asked, sources)

    def _render(self, report: Report, asked: list[Question], sources: list[str]) -> dict[str, str]:
        names = {question.id for question in asked}
        # A question that another one needs is shown if it prevents that one from being run.
        shown = {entry.id for entry in report.questions if entry.id in names or entry.outcome is not Outcome.PASSED}
        if needed := [entry.id for entry in report.questions if entry.id not in shown]:
            sources = [*sources, f"Graded first, and passed: {', '.join(needed)}."]
        return {"html": page.render_verdict(report, shown, sources), "text": render_text(report, shown, sources)}

    def _open(self, name: str | None) -> Grader:
        """Return the warm grader of an assignment; None stands for the only one."""
        if self._grader is not None and (name is None or self._grader.home.assignment.name == name):
            return self._grader
        if self._grader is not None:
            self._grader.__exit__()
            self._grader = None
        known = list_assignments(self._root)
        self._home = AssignmentFiles(self._root, name or (known[0] if len(known) == 1 else None))
        self._state = _read_state(self._home)
        self._grader = Grader(self._home)
        self._grader.start()
        self._grader.read_suites()
        self._grader.warm_up()
        return self._grader

    def _take(self, grader: Grader, request: Request, asked: list[Question]) -> tuple[PreparedSubmission, list[str]]:
        """Return the source to grade, and lines that describe it: definitions in cells replace those of the saved file."""
        assignment, cells = grader.home.assignment, request.cells
        functions = list(dict.fromkeys(question.function for question in assignment.questions))
        wanted = {question.function for question in asked}
        file = self._folder / assignment.submission
        there = file.is_file()
        newer = describe_replaced({name: cell for name, cell in request.replaced.items() if name in wanted}, file.name)
        defines = re.compile(rf"^(?:async\s+def|def|class)\s+(?:{'|'.join(map(re.escape, functions))})\b", re.MULTILINE)
        # Only a text search: the sandbox decides whether it is Python, and what it means.
        if not any(defines.search(text) for _, text in cells):
            if not there:
                raise UsageError(
                    f"no cell that you ran defines any of {', '.join(functions)}, and there is no {file.name} in "
                    f"{self._folder}; run the cell that defines the function, then grade it"
                )
            saved = grader.take(file)
            helpers = {name: mark for name, mark in saved.fingerprints.items() if name not in functions}
            file_graded = newer or [_name_file(file, request.since)]
            return saved, [*file_graded, *find_bare_methods(cells, asked), *find_redefined(cells, helpers, file.name)]
        refuse_subclasses(cells, functions, file.name)
        numbers: list[int | None] = [number for number, _ in cells]
        texts = [text for _, text in cells]
        saved_own: dict[str, str] = {}
        if there:
            saved = grader.take(file)
            if saved.looked.status == "syntax":
                return saved, [_name_file(file, request.since)]  # the report says where
            saved_own = saved.fingerprints
            texts = [read_submission(file, file.name)[0].content.decode("utf-8", "replace"), *texts]
            numbers = [None, *numbers]
        staged = name_cells(grader.take(self._write(texts, numbers, assignment.attachments)), numbers, file.name)
        own = {name: place for name, place in staged.cells.items() if name in wanted and place != file.name}
        said = [f"{name} from {place}" for name, place in own.items()]
        rest = f"the rest from {file.name}" if there else "the rest from other cells"
        if said or not there:
            sources = [f"Graded: {', '.join([*said, rest])}.", *newer]
        else:
            sources = newer or [_name_file(file, request.since)]
        sources += find_bare_methods(cells, asked)
        others = sorted(staged.fingerprints.keys() - {*functions})
        differs = [name for name in (*own, *others) if saved_own.get(name) != staged.fingerprints.get(name)]
        if there and differs:
            sources.append(
                f"The graded code of {', '.join(differs)} is not in {file.name}. Copy the cells there before you submit "
                f"that file, or save the notebook and submit it. To grade the file in place of your cells, add {FROM_FILE}; to "
                f"drop the definitions in cells for good, run `del {', '.join(differs)}`."
            )
        return staged, sources

    def _write(self, texts: Iterable[str], numbers: Iterable[int | None], attachments: Iterable[str]) -> Path:
        """Write a notebook of these cells, next to copies of the attachments."""
        cells = [
            {"cell_type": "code", "source": text, "execution_count": number}
            for text, number in zip(texts, numbers, strict=True)
        ]
        path = self._kept / "session.ipynb"
        path.write_text(json.dumps({"cells": cells}), encoding="utf-8")
        for name in attachments:
            (self._kept / name).unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                shutil.copyfile(self._folder / name, self._kept / name)
        return path


def _name_file(file: Path, since: float) -> str:
    """Return a line about the saved file; `since` is the beginning of the session."""
    saved = file.stat().st_mtime
    if saved < since:  # perhaps never by the student, but by whoever made the zip
        return f"Graded: {file.name}, which was not saved in this session."
    return f"Graded: {file.name}, as it was saved at {time.strftime('%H:%M:%S', time.localtime(saved))}."


def _read_state(home: AssignmentFiles) -> dict[str, tuple[int, int]]:
    """Return the modification time and size of each file that this process has read or will read."""
    parts = [*Path(__file__).resolve().parents[1].glob("**/*.*"), home.folder / "assignment.toml", home.drivers, home.views]
    parts += [folder / name for folder in (home.folder, home.root) for name in home.assignment.support]
    parts += [home.checks["visible"], home.answers["visible"], home.mistakes["visible"]]
    state = {}
    for path in parts:
        if path.suffix in (".py", ".html", ".ini", ".toml", ".json"):
            with contextlib.suppress(OSError):
                found = path.stat()
                state[str(path)] = found.st_mtime_ns, found.st_size
    return state


def render_text(report: Report, shown: set[str], sources: Iterable[str]) -> str:
    """Return the verdict on some questions as text, for front ends without HTML."""
    lines = [*sources, *report.remarks]
    untouched = {question.id: task for question, task in terminal.list_untouched(report)}
    begun = [question for question in terminal.list_unfinished(report) if question.id in shown]
    for question in report.questions:
        if question.id not in shown:
            continue
        task = f": {untouched[question.id]}" if question.id in untouched else ""
        mark, word = terminal.describe_outcome(report, question)
        lines += [f"{mark} {question.id}  {terminal.describe_score(question)}  {word}{task}"]
        lines += [] if question in begun else terminal.explain_question(report, question)
    if unfinished := terminal.describe_unfinished(report, begun):
        lines += [terminal.TO_WRITE, *unfinished]
    lines += [*terminal.explain_common_failure(report), *terminal.describe_total(report)]
    return layout.wrap_lines("\n".join(lines), 100)


class _Input:
    """Reads requests in a separate thread; `get` returns the next one, or None when the process should end."""

    def __init__(self, lines: Iterable[str], interrupt: Callable[[float], None]) -> None:
        self._lines, self._interrupt = lines, interrupt
        self._requests: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        self._parent = os.getppid()
        for action in (self._read, self._look):
            threading.Thread(target=action, daemon=True).start()

    def get(self) -> Request | None:
        try:
            return self._requests.get(timeout=IDLE_SECONDS)
        except queue.Empty:
            return None

    def _read(self) -> None:
        for line in self._lines:
            message = json.loads(line)
            if "interrupt" in message:
                self._interrupt(message["interrupt"])
            else:
                cells = [(int(number), str(text)) for number, text in message["cells"]]
                self._requests.put(Request(message["id"], message["words"], cells, message["replaced"], message["since"]))
        self._end()

    def _look(self) -> None:
        while os.getppid() == self._parent:
            time.sleep(LOOK_SECONDS)
        self._end()

    def _end(self) -> None:
        self._requests.put(None)
        self._interrupt(math.inf)


def main(root: str, folder: str) -> None:
    """Answer requests from standard input until the kernel ends, or sends none for ten minutes.

    Args:
        root: The kit's repository, or the folder that a student has unzipped.
        folder: The folder of the notebook and the submission.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # output of other code must not be taken for an answer
    number = 0

    def send(**fields: Any) -> None:
        with contextlib.suppress(OSError):  # the kernel is gone, and the input ends, too
            print(json.dumps({"id": number, **fields}), file=answers, flush=True)

    def tell(report: Report) -> None:
        done, count, question = report.progress()
        send(progress=f"{done} of {count} checks  {question}")

    server = VerdictServer(Path(root), Path(folder), tell)
    requests = _Input(sys.stdin, server.interrupt)
    try:
        with contextlib.suppress(Exception):  # the first request raises it again, and reports it
            server.warm_up()
        while (request := requests.get()) is not None:
            number = request.number
            if server.stale:
                send(stale=True)
                return
            try:
                send(**server.answer(request))
            except UsageError as error:
                send(text=sanitize(str(error)))
            except ModuleNotFoundError as error:
                send(text=explain_missing(root, error.name))
            except Exception as error:  # the next request may succeed
                send(text=sanitize(f"The grader failed, not your code: {type(error).__name__}: {error}"))
    finally:
        server.close()
