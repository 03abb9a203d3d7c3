"""The student's command line, `python grade.py`."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from grader.console import (
    GRADED,
    GRADER_ERROR,
    STOPPED,
    USAGE,
    ProgressLine,
    ReportWriter,
    add_jobs,
    choose_jobs,
    name_python,
    quote,
    refuse_output,
    run_guarded,
)
from grader.report import layout

if TYPE_CHECKING:
    from grader.assignment import AssignmentFiles
    from grader.report.model import Report

ROOT = Path(__file__).resolve().parents[1]
OLDEST_PYTHON = (3, 10)  # an older one cannot even read the modules below


def main(arguments: Sequence[str] | None = None) -> int:
    """Grade with the visible checks and print the report; return the exit code."""
    flat = (ROOT / "assignment.toml").is_file()
    parser = argparse.ArgumentParser(prog="grade.py", description="Grade your work with the visible checks.")
    words = "QUESTION" if flat else "NAME, QUESTION"
    about = "only these questions and those that they need" + (
        "" if flat else "; with several assignments, name the assignment first"
    )
    parser.add_argument("words", nargs="*", metavar=words, help=about)
    parser.add_argument(
        "--submission",
        type=Path,
        metavar="PATH",
        help="file, notebook, zip or folder (default: the stub's folder)",
    )
    parser.add_argument(
        "-k", dest="keyword", default="", metavar="PATTERN", help="only checks whose name (shown in the report) matches"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the report to this file, updated while grading")
    parser.add_argument("--watch", action="store_true", help="grade now and after every save, and show what to do next")
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="also write the report to this file as a page, with the learning curves"
    )
    add_jobs(parser)
    parser.add_argument("--show", metavar="QUESTION", help="show the values that a failing check compares, as tables")
    parser.add_argument(
        "--debug", metavar="QUESTION", help="step through the failing cases of a question in pdb, without limits"
    )
    about = "list missing packages, and the commands that install them, within a second; grades nothing"
    parser.add_argument("--check-install", action="store_true", help=about)
    layout.make_legible(sys.stdout)
    layout.make_legible(sys.stderr)
    options = parser.parse_intermixed_args(arguments)
    if options.check_install:
        return _check_install()
    if sys.version_info < OLDEST_PYTHON:
        python, how = ".".join(map(str, sys.version_info[:2])), f"{name_python()} grade.py --check-install"
        print(f"error: Python {python} is too old; `{how}` says how to get a newer one", file=sys.stderr)
        return USAGE
    return run_guarded(lambda: _look_closer(options) if options.show or options.debug else _grade_student(options))


def _check_install() -> int:
    from grader.desk.install import check_install

    lines, complete = check_install(ROOT)
    print("\n".join(lines))
    return GRADED if complete else USAGE


def _grade_student(options: argparse.Namespace) -> int:
    from grader.assignment import OVERVIEW, UsageError
    from grader.desk.untouched import find_untouched, mark_untouched
    from grader.judge.run import GradingOptions, grade
    from grader.report import screen
    from grader.report.terminal import make_student_view
    from grader.report.text import sanitize
    from grader.submission import list_remarks

    home, questions = _asked(options.words)
    submission = options.submission or home.stub
    refuse_output(options.json, submission, home.root / OVERVIEW, *home.root.glob("tests/**/*.json"))
    refuse_output(options.html, submission)
    if options.watch and sys.stdin.isatty() and sys.stdout.isatty():
        return _watch(home, submission, questions, options)
    if options.watch:
        how = "; in Git Bash, write `winpty` before the command" if os.environ.get("MSYSTEM") else ""
        print(f"--watch needs an interactive terminal; graded once instead{how}", file=sys.stderr)
    is_python = submission.suffix == ".py" and submission.is_file()
    untouched = find_untouched(submission.read_bytes(), home.assignment) if is_python else set()
    with ProgressLine() as progress:
        kept = ReportWriter(options.json, _for_student, progress.show)
        pages = ReportWriter(options.html, lambda report: _page_for_student(mark_untouched(report, untouched)), kept)
        jobs = choose_jobs(options, home.assignment)
        report = grade(home, submission, options=GradingOptions(questions, options.keyword, pages, jobs=jobs))
    if options.keyword and not report.checks:
        raise UsageError(f"no check of {', '.join(questions)} matches -k {options.keyword!r}; leave out the question or -k")
    report = mark_untouched(make_student_view(report), untouched)
    screen.render(report)
    for remark in list_remarks(submission, home.assignment.submission):
        print(f"note: {sanitize(remark)}", file=sys.stderr)
    for file in (kept, pages):
        file.check()
        if file.path:
            print(f"wrote {file.path}")
    _tell_closer(report, home, options)
    return GRADED if report.final else GRADER_ERROR


def _watch(home: AssignmentFiles, submission: Path, questions: Sequence[str], options: argparse.Namespace) -> int:
    from grader.assignment import UsageError
    from grader.desk.watch import watch
    from grader.judge.run import select_questions

    if options.keyword:
        raise UsageError("--watch grades whole questions; leave out -k, or name questions")
    kept = ReportWriter(options.json, _for_student, lambda _: None)
    page = ReportWriter(options.html, _live_page_for_student, kept)
    last: list[Report] = []

    def finished(report: Report) -> None:
        last[:] = [report]
        page(report)

    try:
        watch(home, submission, select_questions(home, questions), finished)
    except KeyboardInterrupt:
        return STOPPED
    finally:
        page.rendered = _page_for_student  # a page that does not wait for further saves
        for report in last:
            page(report)
    for file in (kept, page):
        file.check()
    return GRADED


def _tell_closer(report: Report, home: AssignmentFiles, options: argparse.Namespace) -> None:
    """Print the commands that look closer at the question to fix first, if there is something to see."""
    from grader.report import terminal

    _, first = terminal.find_next_step(report)
    if first is None or first.outcome.value == "not started":
        return
    name = "" if home.folder == home.root else f" {home.assignment.name}"
    path = f" --submission {quote(str(options.submission))}" if options.submission else ""
    command = f"{name_python()} grade.py{name}{path} --show {first.id}"
    print(layout.fit_lines(f"Look closer: {command}  (or --debug {first.id}, step by step)", sys.stdout))


def _asked(words: Sequence[str]) -> tuple[AssignmentFiles, list[str]]:
    """Return the assignment and the questions that the command line names; a single assignment need not be named."""
    from grader.assignment import AssignmentFiles, list_assignments
    from grader.desk.asked import find_questions

    known = list_assignments(ROOT)
    questions = list(words)
    name = known[0] if len(known) == 1 else None
    if known and questions and (questions[0] in known or len(known) > 1):
        name = questions.pop(0)
    home = AssignmentFiles(ROOT, name)
    return home, find_questions(home.assignment, questions)


def _look_closer(options: argparse.Namespace) -> int:
    """Show or debug one question of the submission; return the exit code."""
    from grader.assignment import UsageError
    from grader.desk.look import NothingToInspect, find_failing_checks, make_console, print_lines

    home, questions = _asked(options.words)
    used, name = ("--debug", options.debug) if options.debug else ("--show", options.show)
    others = {
        "--show": options.show and options.debug,
        "--watch": options.watch,
        "--json": options.json,
        "--html": options.html,
    }
    if refused := [*questions, *(other for other, value in others.items() if value)]:
        raise UsageError(f"{used} shows one question; leave out: {', '.join(refused)}")
    submission = options.submission or home.stub
    try:
        with ProgressLine() as progress:
            looks = find_failing_checks(home, submission, name, options.keyword, progress.show, patient=not options.debug)
        if options.debug:
            from grader.desk.debug import debug

            debug(home, looks)
        else:
            from grader.desk.show import show_failure

            show_failure(looks)
    except NothingToInspect as nothing:
        print_lines(make_console(), str(nothing))
        return GRADER_ERROR if nothing.fault else GRADED
    return GRADED


def _for_student(report: Report) -> str:
    from grader.report.terminal import make_student_view

    return make_student_view(report).model_dump_json(indent=1) + "\n"


def _page_for_student(report: Report) -> str:
    from grader.report import page
    from grader.report.terminal import make_student_view

    return page.render(make_student_view(report))


def _live_page_for_student(report: Report) -> str:
    from grader.report import page
    from grader.report.terminal import make_student_view

    return page.render(make_student_view(report), live=time.strftime("%H:%M:%S"))
