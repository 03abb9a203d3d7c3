"""The visible checks of one assignment, graded question by question on demand."""

from __future__ import annotations

import contextlib
import sys
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from grader.assignment import AssignmentFiles, UsageError
from grader.console import explain_missing_module
from grader.desk.breakpoints import has_breakpoints, ignore_breakpoints
from grader.desk.look import FailureInspection
from grader.desk.untouched import find_untouched, mark_untouched
from grader.judge.run import Grader, GradingOptions, PreparedSubmission
from grader.judge.student import LastCall
from grader.report import terminal
from grader.report.model import Cause, CheckResult, Outcome, Report
from grader.report.text import sanitize
from grader.sandbox.reply import SandboxFault

SUITE = "visible"


class NotGraded(Exception):
    """Nothing can be graded, for the reason that the message gives."""


def find_assignment(path: Path) -> AssignmentFiles | None:
    """Return the assignment whose visible checks are in this file, in a student's folder or the kit's repository.

    Raises:
        UsageError: If its assignment.toml is not valid.
    """
    name = path.stem.removeprefix("test_")
    if path.parent.name != SUITE or len(path.parents) < 3:
        return None
    root = path.parents[2]
    if not any(file.is_file() for file in (root / "assignment.toml", root / "assignments" / name / "assignment.toml")):
        return None
    home = AssignmentFiles(root, name)
    return home if home.checks[SUITE] == path else None


class VisibleChecks:
    """The results of an assignment's visible checks, made on demand.

    The checks of one question are graded together, so that each has the same text as in the report of `grade.py`: the hint for
    a known mistake depends on all of them. Checks that pytest did not select are not run, and count as passed for questions
    that need them, as with `grade.py -k`.

    Attributes:
        known: The question of each check in the file, by the check's name.
        asked: The names of the selected checks.
        ignores_breakpoints: Whether the submission has breakpoints, which were ignored.
    """

    def __init__(self, home: AssignmentFiles, for_debugger: bool = False) -> None:
        """Take an assignment. for_debugger: Whether to ignore breakpoints, because a debugger follows that stops there."""
        self.home = home
        self._for_debugger = for_debugger
        self.known: dict[str, str] = {}
        self.asked: set[str] = set()
        self._results: dict[str, CheckResult] = {}
        self._tried: dict[str, LastCall] = {}
        self._grader: Grader | None = None
        self._staged: PreparedSubmission | None = None
        self._source = b""
        self._refused = ""
        self.ignores_breakpoints = False

    def result(self, name: str) -> CheckResult:
        """Return the result of a check, as a student may see it.

        Raises:
            NotGraded: If the submission or the grader is missing.
        """
        if name not in self._results:
            self._grade(self.known[name])
        return self._results[name]

    def grade_all(self) -> None:
        """Grade all selected checks."""
        for name in self.known:
            if name in self.asked:
                self.result(name)

    def look(self, name: str) -> FailureInspection | None:
        """Return a check whose result is known, with its last call of the submission; None if it called nothing."""
        result, staged = self._results[name], self._staged
        if result.id not in self._tried or staged is None:
            return None
        file = None if staged.handed.notebook else self.home.stub if self.ignores_breakpoints else staged.handed.path
        question = self.home.assignment.question(result.question)
        return FailureInspection(question, result, self._tried[result.id], file, self._source)

    def explain(self, result: CheckResult) -> str:
        """Return the text of reports on a check that was not passed.

        What a function received is known for the first failure of a question alone, the only one that a report shows in full.
        """
        tried, said = self._tried.get(result.id), self.said(result)
        if said != result.message and tried is not None and tried.received is None and self._knows_received(result.question):
            function = self.home.assignment.question(result.question).function
            alone = f"Run this check alone to see what {function} received: -k {terminal.make_selection_keyword(result)}"
            result = result.model_copy(update={"message": f"{said}\n{alone}"})
        report = self.make_report([result])
        lines = [line for question in report.questions for line in terminal.explain_question(report, question)]
        return textwrap.dedent("\n".join(lines))

    def said(self, result: CheckResult) -> str:
        """Return how a check failed, without the values with which the function was called."""
        tried = self._tried.get(result.id)
        said = sanitize(tried.said) if tried else ""
        return said if said and result.message.startswith(said) else result.message

    def _knows_received(self, question: str) -> bool:
        """Return whether a check of this question has shown what the function received."""
        results = (check for check in self._results.values() if check.question == question and check.id in self._tried)
        return any(self._tried[check.id].received is not None for check in results)

    def make_report(self, results: Iterable[CheckResult]) -> Report:
        """Return a report with only these checks."""
        assignment = self.home.assignment
        order = {question.id: number for number, question in enumerate(assignment.questions)}
        report = Report(
            assignment=assignment.name,
            title=assignment.title,
            suite_version=assignment.version,
            suites=(SUITE,),
            hints=assignment.hints,
            isolation="none",
            isolation_layers=(),
            checks=sorted(results, key=lambda check: order.get(check.question, len(order))),
        )
        report.final = all(check.outcome is not Outcome.GRADER_ERROR for check in report.checks)
        report.summarize(assignment)
        return report

    def close(self) -> None:
        """Stop the sandbox; it starts again if further results are needed."""
        if self._grader is not None:
            self._grader.__exit__()
        self._grader = None

    def _grade(self, name: str) -> None:
        """Grade the selected checks of a question, after those of the questions that it needs."""
        questions = {question.id: question for question in self.home.assignment.questions}
        needs = questions[name].needs if name in questions else ()
        for need in needs:
            if any(check not in self._results for check in self._asked(need)):
                self._grade(need)
        again = {f"{SUITE}/{check}": check for check in self._asked(name)}
        before = {}
        for check, question in self.known.items():
            if question in (name, *needs) and f"{SUITE}/{check}" not in again:
                before[f"{SUITE}/{check}"] = self._results.get(check) or _assume_passed(check, question)
        report = self._run(GradingOptions({name, *needs}, before=before, again=again.keys()))
        untouched = find_untouched(self._source, self.home.assignment)
        found = {check.id: check for check in mark_untouched(terminal.make_student_view(report), untouched).checks}
        for key, check in again.items():
            result = found.get(key) or CheckResult(id=key, question=name, suite=SUITE, title=check, max_points=0)
            if result.cause is Cause.NOT_REACHED:
                result.outcome, result.cause, result.message = Outcome.GRADER_ERROR, Cause.GRADER, report.explain_stop()
            result.message = terminal.name_debugger(result)
            self._results[check] = result

    def _asked(self, question: str) -> list[str]:
        return [check for check, of in self.known.items() if of == question and check in self.asked]

    def _run(self, options: GradingOptions) -> Report:
        if self._refused:
            raise NotGraded(self._refused)
        try:
            with _followed_by_no_debugger():
                self._grader = self._grader or Grader(self.home)
                if self._staged is None:
                    path = self.home.stub
                    self.ignores_breakpoints = self._for_debugger and has_breakpoints(path)
                    with ignore_breakpoints(path, self.home.assignment) if self._for_debugger else nullcontext(path) as graded:
                        self._staged = self._grader.take(graded)
                    self._source = self._staged.path.read_bytes()
                report = self._grader.grade(self._staged, options)
        except ModuleNotFoundError as error:
            self._refused = explain_missing_module(error)
        except (UsageError, SandboxFault, OSError) as error:
            self._refused = sanitize(str(error))
        else:
            self._tried |= self._grader.tried
            return report
        raise NotGraded(self._refused)


def _assume_passed(check: str, question: str) -> CheckResult:
    """Return a passed result for a check that is not selected, so that no question waits for it."""
    return CheckResult(
        id=f"{SUITE}/{check}",
        question=question,
        suite=SUITE,
        title=check,
        max_points=0,
        outcome=Outcome.PASSED,
        cause=Cause.NONE,
    )


@contextlib.contextmanager
def _followed_by_no_debugger() -> Iterator[None]:
    """Keep pydevd, the debugger of VS Code and PyCharm, out of processes that are started here.

    It would load itself into their Python, and its connection is what a sandbox must not have.
    """
    monkey: Any = sys.modules.get("_pydev_bundle.pydev_monkey")
    if monkey is None:
        yield
    elif hasattr(monkey, "skip_subprocess_arg_patch"):
        with monkey.skip_subprocess_arg_patch():
            yield
    else:  # PyCharm's debugger has no such switch
        before, monkey.patch_args = monkey.patch_args, lambda args, *_, **__: args
        try:
            yield
        finally:
            monkey.patch_args = before
