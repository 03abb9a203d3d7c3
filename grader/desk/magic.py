"""`%grade` in a notebook: show the verdict on the cells that were run, under the cell.

The kernel grades nothing and reads no check. It sends the source of the cells to a child process (desk/verdicts.py), and
receives an HTML fragment and text.
"""

# Some functions of IPython have no types.
# mypy: allow-untyped-calls

from __future__ import annotations

import ast
import contextlib
import html
import json
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from IPython.core.interactiveshell import ExecutionInfo, InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.display import DisplayHandle, display

from grader.desk import reloading
from grader.desk.latest_edits import LatestEdits, RunCell

ROOT = Path(__file__).resolve().parents[2]
LACKS = 2  # exit code of a child that lacks a package
ENTRY = f"""
import sys
sys.path.insert(0, sys.argv[1])
try:
    from grader.desk.verdicts import main
except ModuleNotFoundError as error:
    from grader.desk.missing import explain_missing
    print(explain_missing(sys.argv[2], error.name), file=sys.stderr)
    sys.exit({LACKS})
main(*sys.argv[2:])
"""
LOOK_SECONDS = 0.05  # between two looks for an answer, so that an interruption is noticed on each system
QUIET_SECONDS = 1.0  # without a line on how far it is
MAX_ERROR = 2000  # characters of what a child printed before it ended


class Verdict:
    """The output under a cell: an HTML fragment, or text for front ends without HTML."""

    def __init__(self, text: str, page: str = "") -> None:
        self._text = text
        self._page = page or f'<pre style="word-break: normal; overflow-wrap: anywhere">{html.escape(text)}</pre>'

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": self._text, "text/html": self._page}


class Child:
    """The process that grades. It lives until it ends itself, or until the kernel does."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the child lives
        self._process = subprocess.Popen(
            [sys.executable, "-c", ENTRY, str(ROOT), str(root), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            encoding="utf-8",
            start_new_session=True,  # interrupting a cell must not send Ctrl-C to the grader, too
        )
        self._answers: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def send(self, **message: Any) -> None:
        """Send a message; if the child has ended, `receive` reports it."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            print(json.dumps(message), file=self._process.stdin, flush=True)

    def receive(self, number: int) -> dict[str, Any]:
        """Return the next answer to a request, or an empty one after a short wait.

        Raises:
            ChildEnded: If there will be no answer.
        """
        try:
            answer = self._answers.get(timeout=LOOK_SECONDS)
        except queue.Empty:
            return {}
        if answer is None:
            self._answers.put(None)
            raise ChildEnded(self._last_words())
        return answer if answer["id"] == number else {}  # the others were canceled

    def close(self) -> None:
        """Let the child end, without waiting for it."""
        with contextlib.suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(json.loads(line))
        self._answers.put(None)

    def _last_words(self) -> str:
        self._process.wait()
        self._errors.seek(0)
        said = self._errors.read().decode("utf-8", "replace").strip()[-MAX_ERROR:]
        if self._process.returncode == LACKS:
            return said
        return f"The grader ended (exit code {self._process.returncode}); grade again to restart it.\n{said}".strip()


class Stopped(KeyboardInterrupt):
    """The user has interrupted the cell. IPython shows one line in place of a traceback of the kit."""

    def _render_traceback_(self) -> list[str]:
        return ["Grading was interrupted. Run the cell again to grade."]


class ChildEnded(Exception):
    """The child has ended; the message says how."""


@magics_class
class GradeMagics(Magics):
    """The magics of the kit, for one session of a kernel; `current` is the last one."""

    current: ClassVar[GradeMagics | None] = None

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self._shell = shell
        self._folder = Path.cwd()  # the folder of the notebook, before a cell changes it
        self._since = time.time()
        self._number = 0
        self._edits = LatestEdits(self._folder / find_submission(self._folder))
        self._child = self._start()
        shell.events.register("pre_run_cell", self._before_cell)

    def close(self) -> None:
        self._shell.events.unregister("pre_run_cell", self._before_cell)
        self._child.close()

    @line_cell_magic
    def grade(self, line: str, cell: str | None = None) -> None:
        """Grade what you wrote: of each function the latest edit, in a cell that you ran or in the saved file.

        %grade              all questions
        %grade NAME ...     some questions, and what they need
        %%grade [NAME ...]  above a cell: run it, then grade
        """
        extra = ""
        if cell is not None:
            result = self._run(cell)
            if isinstance(result.error_before_exec, SyntaxError):
                return  # nothing of this cell is defined, and Python has said why
            if isinstance(result.error_in_exec, KeyboardInterrupt):
                return
            if result.error_in_exec is not None:
                raised = type(result.error_in_exec).__name__
                print(f"The cell raised {raised}, as shown above. Its definitions are graded nevertheless.")
                if isinstance(result.error_in_exec, NameError) and result.error_in_exec.name:
                    self._explain_missing(result.error_in_exec.name)
            extra = cell
        cells, replaced = self._edits.select(self._list_cells(extra), self._shell.user_ns.keys())
        self._show(line.split(), {"cells": cells, "replaced": replaced, "since": self._since})

    def _explain_missing(self, name: str) -> None:
        """If the name that a cell lacks is one of the student's file, say how to import it."""
        module = find_submission(self._folder).removesuffix(".py")
        if hasattr(sys.modules.get(module), name):
            print(f"`{name}` is defined in {module}.py. To use it in this cell, begin with: from {module} import {name}")

    def _before_cell(self, info: ExecutionInfo) -> None:
        if info.store_history:  # a cell that `%%grade` runs has no number of its own
            self._edits.look(len(self._read_history()), self._shell.user_ns)

    def _read_history(self) -> list[str]:
        """Return the cells of this session by their numbers, including the one that runs."""
        manager = self._shell.history_manager
        return [*manager.input_hist_raw] if manager else []

    def _run(self, cell: str) -> Any:
        """Run the rest of a cell below its first line, and return IPython's result.

        Tracebacks name the number and the lines of the whole cell.
        """
        compiler: Any = self._shell.compile
        history = self._read_history()
        if not (cell.strip() and history and cell.strip() in history[-1]):  # this front end keeps no history
            return self._shell.run_cell(cell)
        cache, number = compiler.cache, len(history) - 1

        def cache_with_number(code: str, _number: int = 0, **others: Any) -> Any:
            return cache(code, number, **others)

        # IPython 9 has counted this cell already, so it would name the number of the next one.
        compiler.cache = cache_with_number
        try:
            # IPython removes empty lines at the beginning. The magic of a cell must be its first line.
            return self._shell.run_cell(cell if cell.lstrip().startswith("%%") else f"# %%grade\n{cell}")
        finally:
            del compiler.cache

    def _list_cells(self, extra: str) -> list[RunCell]:
        """Return the cells of this session that are valid Python; of equal cells, the last one.

        Args:
            extra: The text of the cell that is being run, for front ends that keep no history of it.
        """
        known: dict[str, RunCell] = {}
        history = self._read_history()
        if extra.strip() and not any(extra.strip() in text for text in history[-1:]):
            history.append(extra)
        for number, text in enumerate(history):
            if text.strip() and (python := self._make_python(text)) is not None:
                known.pop(text, None)
                known[text] = RunCell(number, text, python)
        return [*known.values()]

    def _make_python(self, text: str) -> str | None:
        """Return what the kernel ran of a cell, or None if it could not: a cell with a syntax error has defined nothing."""
        lines = text.lstrip("\n")
        body = lines.partition("\n")[2] if lines.startswith("%%grade") else lines
        try:
            python: str = self._shell.transform_cell(body)
            ast.parse(python)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        return python

    def _start(self) -> Child:
        if (self._folder / "assignment.toml").is_file() and self._folder.parent.name == "assignments":
            return Child(self._folder.parents[1], self._folder)
        return Child(self._folder if (self._folder / "assignment.toml").is_file() else ROOT, self._folder)

    def _show(self, words: list[str], session: dict[str, Any]) -> None:
        """Show the progress, then the verdict.

        Args:
            session: The other fields of a request (desk/verdicts.py).
        """
        shown: DisplayHandle | None = None
        quiet, said = time.monotonic() + QUIET_SECONDS, ""
        try:
            for reply in self._ask(words, session):
                if "text" in reply:
                    verdict = Verdict(reply["text"], reply.get("html", ""))
                elif time.monotonic() > quiet and reply["progress"] != said:
                    said = reply["progress"]
                    shown = shown or display(Verdict(""), display_id=True)
                    shown.update(Verdict(f"grading: {said}"))
        except ChildEnded as ended:
            verdict = Verdict(str(ended))
        except KeyboardInterrupt:
            self._child.send(interrupt=self._number)
            if shown is not None:
                shown.update(Verdict(f"interrupted: {said}"))
            raise Stopped from None
        if shown is None:
            display(verdict)
        else:
            shown.update(verdict)

    def _ask(self, words: list[str], session: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the progress, repeatedly, and then the verdict.

        Raises:
            ChildEnded: If the child has ended twice.
        """
        for attempt in (1, 2):
            if not self._child.alive:  # it has not been asked for a while
                self._child = self._start()
            self._number += 1
            self._child.send(id=self._number, words=words, **session)
            try:
                progress = "the grader starts"
                while "text" not in (reply := self._child.receive(self._number)):
                    if "stale" in reply:
                        raise ChildEnded("files of the kit or of the checks have changed")
                    progress = reply.get("progress", progress)
                    yield {"progress": progress}
            except ChildEnded:
                if attempt == 2:
                    raise
                self._child.close()
                self._child = self._start()
            else:
                yield reply
                return


def find_submission(folder: Path) -> str:
    """Return the name of the file that students submit, which assignment.toml names."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        text = (folder / "assignment.toml").read_text(encoding="utf-8")
        if found := re.search(r"""^submission\s*=\s*["'](\w+\.py)["']""", text, re.MULTILINE):
            return found[1]
    return "submitted.py"


def register(shell: InteractiveShell) -> None:
    """Add the magics to a session, start the process that grades, and reload the submission when it is saved."""
    unregister()
    GradeMagics.current = GradeMagics(shell)
    shell.register_magics(GradeMagics.current)
    reloading.register(shell, find_submission(Path.cwd()).removesuffix(".py"))


def unregister() -> None:
    """Let the process that grades end, and the submission as it is loaded."""
    reloading.unregister()
    if GradeMagics.current is not None:
        GradeMagics.current.close()
        GradeMagics.current = None
