"""Shared by all command lines: exit codes, one-line errors, progress, and reports that are written while grading.

Exit codes: 0 graded, 2 usage or missing file, 3 grader error or a report that is not final, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from grader.report.layout import has_controls

if TYPE_CHECKING:
    import argparse

    from grader.assignment import Assignment
    from grader.course.run import RunProgress
    from grader.report.model import Report

ROOT = Path(__file__).resolve().parents[1]
NO_REPORTS = (".py", ".ipynb", ".zip", ".toml", ".csv", ".pt", ".npz", ".safetensors")  # people write them, or train for hours
MAX_LINE = 100_000  # characters
GRADED, USAGE, GRADER_ERROR, STOPPED = 0, 2, 3, 130


def run_guarded(action: Callable[[], int]) -> int:
    """Return the action's exit code; report usage errors and missing packages on one line."""
    for name in ("SIGTERM", "SIGHUP"):  # so that folders and processes are removed
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:  # as `nohup` sets it
            signal.signal(number, signal.default_int_handler)
    for descriptor in range(3):  # if one was closed, a socket would get its number, and the sandbox would close it
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - until the process ends
    try:
        return _reported(action)
    except KeyboardInterrupt:
        try:
            _stop_hearing()
        except KeyboardInterrupt:  # a second signal, which arrived at the same time
            _stop_hearing()
        print("stopped: unfinished work does not count", file=sys.stderr)
        return STOPPED


def _stop_hearing() -> None:
    """Ignore further signals: this process is stopping already."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    else:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _reported(action: Callable[[], int]) -> int:
    try:
        from grader.assignment import UsageError
    except ModuleNotFoundError as error:
        return _lacks(error)
    try:
        return action()
    except ModuleNotFoundError as error:
        return _lacks(error)
    except UsageError as error:
        _tell(error)
        return USAGE
    except ReportNotWritten as error:
        _tell(error)
        return GRADER_ERROR
    except BrokenPipeError:
        # Whoever read our output has seen enough; the interpreter must not try to flush the rest.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return GRADED
    except OSError as error:
        _tell(f"the grader cannot work here: {error}")
        return GRADER_ERROR
    except Exception as error:
        from grader.sandbox.reply import SandboxFault

        if not isinstance(error, SandboxFault):
            raise
        _tell(f"the grader cannot work here: {error}")
        return GRADER_ERROR


def _tell(error: object) -> None:
    from grader.report.text import sanitize

    print(f"error: {sanitize(str(error))}", file=sys.stderr)  # students choose the names of files


def _lacks(error: ModuleNotFoundError) -> int:
    print(f"error: {explain_missing_module(error)}", file=sys.stderr)
    return USAGE


def explain_missing_module(error: ModuleNotFoundError) -> str:
    """Return what this Python lacks, and how to install it."""
    how = "run `make setup`, then use .venv/bin/python"
    if (ROOT / "requirements.txt").is_file():
        how = f"`{name_python()} grade.py --check-install` says how to install what is missing"
    return f"{sys.executable} has no module {error.name!r}; {how}"


def name_python() -> str:
    """Return the command that starts this Python in a shell: its name, if the shell finds this Python by it; or its path."""
    for name in ("python", "python3"):
        found = shutil.which(name)
        if found and os.path.abspath(found) == os.path.abspath(sys.executable):
            return name
    return quote(shorten(Path(sys.executable)))


def shorten(path: Path) -> str:
    """Return a path relative to the current folder, if it is inside."""
    for full in (Path(os.path.abspath(path)), path.parent.resolve() / path.name):  # a venv's Python is a link out of it
        with contextlib.suppress(ValueError, OSError):
            return str(full.relative_to(Path.cwd().resolve()))
    return str(path)


def name_some(names: Sequence[str]) -> str:
    """Return the first five names, and how many more there are."""
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def quote(path: str) -> str:
    """Return a path quoted for the shell of this system."""
    return subprocess.list2cmdline([path]) if sys.platform == "win32" else shlex.quote(path)


def print_line(text: str) -> None:
    """Print the text as one line, even if a student's name or message in it contains line breaks or control characters."""
    from grader.report.text import sanitize

    print(sanitize(text, MAX_LINE).replace("\n", "\\n"), flush=True)


def add_level(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the lowest accepted isolation level."""
    from grader.sandbox.reply import LEVELS

    about = "refuse to grade below this isolation level (default: basic)"
    parser.add_argument("--require-level", default="basic", choices=LEVELS, help=about)


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """Add the option that sets how many calls of a submission are made in parallel."""
    about = "calls of a submission to make in parallel (default: one for each core, at most 4, as far as memory allows)"
    parser.add_argument("--jobs", type=int, metavar="N", help=about)


def choose_jobs(options: argparse.Namespace, assignment: Assignment) -> int:
    """Return how many calls to make in parallel: --jobs, or what this machine allows."""
    from grader import machine
    from grader.assignment import UsageError

    jobs: int = machine.choose_jobs(assignment.limits.memory_mb) if options.jobs is None else options.jobs
    if jobs < 1:
        raise UsageError(f"--jobs {jobs}: expected at least 1")
    return jobs


def add_output(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the assignment, the option that names the folder where a package is written, and --unproven."""
    parser.add_argument("name", metavar="NAME", help="the assignment")
    parser.add_argument("-o", dest="output", type=Path, required=True, metavar="DIR", help=f"write {what} here")
    about = "pack a suite that is stale or not proven; its title then says that it is a draft"
    parser.add_argument("--unproven", action="store_true", help=about)
    parser.set_defaults(draft=False)


def refuse_output(path: Path | None, *inputs: Path) -> None:
    """Raise UsageError if a report cannot, or must not, be written at `path`. Called before grading, which may take a minute.

    Args:
        inputs: Files that are read and must not be overwritten.
    """
    from grader.assignment import UsageError

    if path is None:
        return
    try:
        there = path.exists() or path.is_symlink()
        if path.is_dir():
            raise UsageError(f"{path} is a folder; name a file in it")
        if there and not path.is_file():
            raise UsageError(f"{path} is not a regular file; name another file")
        if there and (path.resolve().suffix in NO_REPORTS or any(one.exists() and path.samefile(one) for one in inputs)):
            raise UsageError(f"{path} is not a report and would be overwritten; name another file")
        above = next(folder for folder in path.absolute().parents if folder.exists())
        if not above.is_dir():
            raise UsageError(f"{above} is a file, so {path.name} cannot be written below it")
        with tempfile.TemporaryFile(dir=above):  # tried, because the mode does not bind root on every system
            pass
    except (OSError, ValueError) as error:  # a name that is too long, a null byte, somebody else's folder
        raise UsageError(f"{str(path)!r} cannot be written: {getattr(error, 'strerror', None) or error}") from error


def refuse_file(folder: Path) -> None:
    """Raise UsageError if `folder`, where results will be written, exists and is not a folder."""
    from grader.assignment import UsageError

    try:
        if not folder.is_dir() and (folder.exists() or folder.is_symlink()):
            raise UsageError(f"{folder} is a file; name a folder")
    except (OSError, ValueError) as error:
        raise UsageError(f"{str(folder)!r} cannot be used: {getattr(error, 'strerror', None) or error}") from error


class ReportNotWritten(Exception):
    """A report could not be written; the file still has its old content."""


def write_report(path: Path, text: str) -> None:
    """Replace the file by `text` in one step; a new file is readable by its owner only.

    Raises:
        ReportNotWritten: If the file cannot be written.
    """
    from grader.report.model import write_atomically

    try:
        write_atomically(path, text, private=True)
    except OSError as error:
        raise ReportNotWritten(f"{path} cannot be written ({error.strerror}); it does not contain the latest report") from error


class ReportWriter:
    """Called whenever the report changes: replaces the file, if there is one, and shows the progress.

    A disk that is full at one moment must not end the grading: the next change is written again, and `check` reports it.
    """

    def __init__(self, path: Path | None, rendered: Callable[[Report], str], show: Callable[[Report], None]) -> None:
        self.path = path
        self.rendered = rendered
        self.show = show
        self.error: ReportNotWritten | None = None

    def __call__(self, report: Report) -> None:
        self.show(report)
        if self.path is not None:
            try:
                write_report(self.path, self.rendered(report))
                self.error = None
            except ReportNotWritten as error:
                self.error = error

    def check(self) -> None:
        """Raise ReportNotWritten if the last report is not in the file."""
        if self.error is not None:
            raise self.error


class ProgressLine:
    """One line on a terminal with the number of checks that are done. Silent elsewhere, and if NO_COLOR is set."""

    def __init__(self) -> None:
        self.visible = sys.stderr is not None and has_controls(sys.stderr)
        self.length = 0  # of the text on the line

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *exception: object) -> None:
        self.say("")

    def show(self, report: Report) -> None:
        """Show the number of checks that have an outcome."""
        done, count, following = report.progress()
        self.say(f"{done} of {count} checks  {following}")

    def say(self, text: str) -> None:
        """Replace the line, by overwriting it with spaces, which every terminal understands."""
        if self.visible:
            text = text[: shutil.get_terminal_size().columns - 1]
            print(f"\r{text:<{self.length}}\r{text}", end="", file=sys.stderr, flush=True)
            self.length = len(text)


class ClassProgress:
    """The progress of grading a class: one line on a terminal; elsewhere, as in the log of a cluster, a line now and then."""

    EVERY = 30.0  # seconds

    def __init__(self) -> None:
        self.remarked = False
        self.line = ProgressLine()
        self.reported = time.monotonic()

    def __enter__(self) -> ClassProgress:
        return self

    def __exit__(self, *exception: object) -> None:
        self.line.__exit__()

    def show(self, standing: RunProgress) -> None:
        """Show how many submissions are graded, how fast, and how long the rest will take."""
        if standing.remark and not self.remarked:
            self.remarked = True
            self.line.say("")
            print(standing.remark, flush=True)
        if self.line.visible:
            self.line.say(standing.line())
        elif time.monotonic() - self.reported > self.EVERY or standing.done == standing.count:
            self.reported = time.monotonic()
            print(standing.line(), flush=True)
