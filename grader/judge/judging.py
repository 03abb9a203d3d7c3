"""Run the checks of one submission in order and keep its report up to date."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import pytest

from grader.assignment import SUITES, Assignment, Question
from grader.judge.budgets import ReadingBudget, ReplyCache, TimeBudget
from grader.judge.compare import format_value
from grader.judge.diagnosis import Suspicion, diagnose
from grader.judge.evidence import hash_evidence
from grader.judge.failure import CheckFailed, CheckNotRun
from grader.judge.patterns import find_pattern
from grader.judge.student import LastCall, LoadedSubmission, RunContext, SubmissionUnderTest
from grader.judge.tables import make_tables
from grader.judge.variables import describe_globals
from grader.report.model import Cause, CheckResult, Outcome, Report
from grader.report.text import sanitize
from grader.sandbox.reply import MachineFault, SandboxFault

if TYPE_CHECKING:
    from grader.judge.ahead import CallsAhead
    from grader.judge.checks import CollectedChecks
    from grader.judge.options import GradingOptions, SuiteData
    from grader.sandbox import Sandbox
    from grader.sandbox.forked import ForkedSandbox


OF_A_RUN = tuple(CheckResult.model_fields.keys() - {"id", "question", "suite", "title", "max_points"})
"""Fields of a check's result that come from running it, not from the suite."""
NO_BLANK = "nothing to write: "  # how the task of a question begins for which the stub has no blank
MAX_REFUSED_CALLS = 16  # in a report: a submission may try every number there is


@dataclass(frozen=True)
class Setting:
    """The checks and data by which every submission to an assignment is judged.

    Attributes:
        checks: The collected checks.
        material: The data that the checks need.
    """

    assignment: Assignment
    checks: CollectedChecks
    sandbox: Sandbox
    material: SuiteData


def select_checks(checks: CollectedChecks, options: GradingOptions) -> list[tuple[pytest.Function, CheckResult]]:
    """Return the selected checks, each with a fresh result that has not run yet."""
    return [
        (item, result.model_copy())
        for item, result in checks.declared
        if (options.select is None or result.question in options.select)
        and (options.suites is None or result.suite in options.suites)
    ]


class CheckRunner:
    """Runs checks against one submission and keeps the report."""

    def __init__(self, setting: Setting, submission: LoadedSubmission, report: Report, options: GradingOptions) -> None:
        self.assignment, self.checks, self.sandbox = setting.assignment, setting.checks, setting.sandbox
        self.material = setting.material
        self.submission = submission
        self.report = report
        self.options = options
        self.stopped = False
        self.retried: list[str] = []  # checks that were run twice, because the grader failed at first
        self.shared = RunContext(self.sandbox, TimeBudget(self.assignment), ReadingBudget(), options.seed, options.margin)
        chosen = select_checks(self.checks, options)
        self.results = {item.nodeid: result for item, result in chosen}
        report.checks = list(self.results.values())
        self.items = [item for item, _ in chosen]
        self.seen: dict[str, dict[str, CheckFailed | None]] = {}  # by question and check: how it failed, or None if not
        self.replies = {suite: ReplyCache() for suite in SUITES}  # of the submission
        self.tried: dict[str, LastCall] = {}  # by check: its last call of the submission
        self.patterns: dict[str, str] = {}  # by check: a question about the pattern of its failure
        self.ahead: CallsAhead | None = None  # while copies of this process make calls of later checks

    def run(self) -> None:
        """Run the checks one after another; a fault of a check or of the judge goes into the report's note."""
        self.shared.refused_calls.update(self.submission.refused_calls)
        try:
            self._publish()
            if self.checks.errors:
                self.report.stop(Cause.SUITE, "; ".join(self.checks.errors))
                return
            # Visible checks run first: after the hidden ones, a submission could reveal them in the output of a visible check.
            visible, others = ([item for item in self.items if self._is_visible(item) is shown] for shown in (True, False))
            with self._side_by_side():
                self._judge_all(visible)
                self._find_patterns()
                self._judge_all(others)
        except Exception as error:
            self.report.stop(Cause.GRADER, f"{type(error).__name__}: {error}")
        finally:
            self.report.refused_calls = tuple(sorted(self.shared.refused_calls)[:MAX_REFUSED_CALLS])

    def _judge_all(self, items: list[pytest.Function]) -> None:
        """Run these checks one after another, until one is enough or the run is interrupted."""
        if self.ahead is not None and not self.stopped:
            self.ahead.plan(self._group(items))
        for item in items:
            if self.stopped:
                return
            with self.ahead.turn(item) if self.ahead is not None else contextlib.nullcontext():
                self._judge(item, self.results[item.nodeid])

    @contextlib.contextmanager
    def _side_by_side(self) -> Iterator[None]:
        """Where it is asked for, and possible, let copies of this process make the calls of later checks."""
        alone = threading.active_count() == 1  # a copy of a process has only the thread that makes it
        if not (self.options.jobs > 1 and self.options.thorough and not self.options.before and self.sandbox.copies and alone):
            yield
            return
        from grader.judge.ahead import CallsAhead

        forked = cast("ForkedSandbox", self.sandbox)
        self.ahead = CallsAhead(forked, self._run_ahead, self.options.jobs, self._starts)
        try:
            yield
        finally:
            self.ahead.close()
            self.ahead = None

    def _group(self, items: list[pytest.Function]) -> list[list[pytest.Function]]:
        """Return the checks in groups: those of a question share calls, but where it needs others each makes its own."""
        groups: dict[str, list[pytest.Function]] = {}
        for item in items:
            question = self.assignment.question(self.results[item.nodeid].question)
            groups.setdefault(item.nodeid if question.needs else question.id, []).append(item)
        return list(groups.values())

    def _starts(self, item: pytest.Function) -> bool:
        """Return whether a check would run now."""
        question = self.assignment.question(self.results[item.nodeid].question)
        return self.submission.broken is None and self._find_obstacle(question) is None

    def _run_ahead(self, name: str, sandbox: ForkedSandbox) -> None:
        """Run a check in a copy of this process, which has a sandbox of its own, for its calls alone."""
        if self.sandbox is not sandbox:
            self.sandbox, self.options = sandbox, replace(self.options, explains=False, changed=None)
            self.shared = replace(self.shared, sandbox=sandbox, clock=TimeBudget(self.assignment), patience=ReadingBudget())
        self.checks.run(next(item for item in self.items if item.nodeid == name), self)

    def _judge(self, item: pytest.Function, result: CheckResult) -> None:
        kept = None if result.id in self.options.again else self.options.before.get(result.id)
        if kept is not None and not self._needs_moved(result):
            for field in OF_A_RUN:
                setattr(result, field, getattr(kept, field))
            if result.outcome is Outcome.PASSED:
                result.points = result.max_points
            self._publish()
            return
        began = time.monotonic()
        for attempt in (1, 2):
            self._run(item, result)
            # What the machine could not carry out has been repeated already.
            if result.outcome is not Outcome.GRADER_ERROR or result.cause is Cause.MACHINE or attempt == 2:
                break
            self.retried.append(result.id)
            with contextlib.suppress(SandboxFault):
                self.sandbox.restart()
        self._diagnose(result)
        # A check that did not run, of an optional attachment, says nothing about the submission.
        one_is_enough = not self.options.thorough and result.outcome not in (Outcome.PASSED, Outcome.NOT_RUN)
        self.stopped = one_is_enough or self.sandbox.interrupted.is_set()
        result.points = result.max_points if result.outcome is Outcome.PASSED else 0.0
        result.seconds = max(round(time.monotonic() - began, 4), 0.0001)  # 0 would mean that it is still to come
        self._publish()

    def _run(self, item: pytest.Function, result: CheckResult) -> None:
        question = self.assignment.question(result.question)
        if self.submission.broken is not None:
            self._failed(result, self.submission.broken)
        elif obstacle := self._find_obstacle(question):
            result.outcome, (result.cause, result.message) = Outcome.NOT_RUN, obstacle
            result.unwritten = result.cause is Cause.STUB
        else:
            # Fail closed: the outcome stays GRADER_ERROR until `ended` records one.
            result.outcome, result.cause, result.message = Outcome.GRADER_ERROR, Cause.GRADER, "the check did not run"
            self.checks.run(item, self)

    def _find_obstacle(self, question: Question) -> tuple[Cause, str] | None:
        """Return why the checks of a question do not run, as the report says it, or None if they do."""
        if question.function in self.submission.unwritten:
            task = question.task.removeprefix(NO_BLANK)
            return Cause.STUB, f"not written yet: {task}" if task == question.task else f"needs your code: {task}"
        if missing := _missing_needs(question, self.report.checks):
            return Cause.NEEDS, f"not run: first {', '.join(missing)} must pass"
        if unwritten := self._unwritten_pieces(question):
            return Cause.NEEDS, f"not run: first {', '.join(unwritten)} must be written"
        return None

    def _unwritten_pieces(self, question: Question) -> list[str]:
        functions = [self.assignment.question(piece).function for piece in question.pieces]
        return sorted(set(functions) & self.submission.unwritten, key=functions.index)

    def _diagnose(self, result: CheckResult) -> None:
        """Update the mistakes, and their hints, that explain the failures of the question so far."""
        seen = self.seen.get(result.question, {})
        checks = [check for check in self.results.values() if check.question == result.question and seen.get(check.id)]
        for suite in self.report.suites if checks else ():  # right work is not searched for mistakes
            # Only visible checks explain the failure of a visible check, so that its hint reveals nothing about hidden ones.
            known = {check: failure for check, failure in seen.items() if suite != "visible" or check.startswith("visible/")}
            suspicions = diagnose(self.material.mistakes, known, self.material.pairs, result.question)
            for check in checks:
                if check.suite == suite:
                    _suspect(check, suspicions.get(check.id), self.patterns.get(check.id, ""))

    def _is_visible(self, item: pytest.Function) -> bool:
        return self.results[item.nodeid].suite == "visible"

    def _find_patterns(self) -> None:
        """Ask about the pattern of one visible failure of each question that no mistake explains, if it has a pattern."""
        if not self.options.explains or self.sandbox.interrupted.is_set():
            return
        visible = [check for check in self.report.checks if check.suite == "visible" and not check.hint]
        for question in dict.fromkeys(check.question for check in visible):
            failures = [
                (check.id, failure, self.tried.get(check.id))
                for check in visible
                if check.question == question and (failure := self.seen.get(question, {}).get(check.id))
            ]
            if found := find_pattern(failures, self.shared, self.submission.path, self.assignment.question(question)):
                self.patterns |= [found]
                self._diagnose(next(check for check in visible if check.id == found[0]))
        self._publish()

    def _needs_moved(self, result: CheckResult) -> bool:
        """Return whether a question that this one needs passed before and fails now, or the reverse."""
        question = self.assignment.question(result.question)
        return _missing_needs(question, self.options.before.values()) != _missing_needs(question, self.report.checks)

    def ended(self, item: pytest.Item, call: pytest.CallInfo[Any]) -> None:
        """Record how the setup, the call or the teardown of a check ended."""
        result = self.results[item.nodeid]
        fault = call.excinfo
        error = None if fault is None else fault.value
        used = getattr(item, "funcargs", {}).get("student")
        student = used if isinstance(used, SubmissionUnderTest) else None
        printed, facts = (student.printed, student.facts) if student else ("", [])
        if student and call.when == "call":
            result.curves, result.thresholds, result.entries = student.curves, student.thresholds, tuple(student.entries)
            if student.tried:
                self.tried[result.id] = student.tried
            compared = student.tried.compared if student.tried and isinstance(error, CheckFailed) else None
            result.tables = make_tables(compared) if compared and self.options.explains else ()
        if fault is None:
            if call.when == "call":
                result.outcome, result.cause, result.message = Outcome.PASSED, Cause.NONE, ""
                self._saw(result, None)
        elif call.when != "call":
            self._faulty(result, fault)
        elif isinstance(error, CheckFailed):
            self._failed(result, error)
            if not error.unwritten:
                self._saw(result, error)
                self._name_globals(result)
        elif isinstance(error, CheckNotRun):
            result.outcome, result.cause = Outcome.NOT_RUN, error.cause
            result.message = sanitize(f"not run: {error}")
        elif isinstance(error, AssertionError):
            failure = CheckFailed(Outcome.FAILED, str(error), printed)
            self._failed(result, failure)
            self._saw(result, failure)
            self._name_globals(result)
        elif facts and not isinstance(error, SandboxFault):
            # The check can read what right work returns, which its proof shows: so it is these facts that cannot be read.
            said = f"the result cannot be read: {format_value(facts[-1]):.300}"
            failure = CheckFailed(Outcome.FAILED, said, printed, Cause.UNREADABLE_RESULT)
            self._failed(result, failure)
            self._saw(result, failure)
            result.detail = sanitize(f"{type(error).__name__}: {error}\n{fault.traceback[-1]}")
        else:
            self._faulty(result, fault)

    def _name_globals(self, result: CheckResult) -> None:
        """Add to a failure message the module variables that the function reads instead of its own arguments."""
        function = self.assignment.question(result.question).function
        if said := describe_globals(function, self.submission.globals.get(function, [])):
            result.message = sanitize(f"{result.message}\n{said}")

    def _saw(self, result: CheckResult, failure: CheckFailed | None) -> None:
        if failure is not None:
            # The frames of a check hold all replies that it received, which may take much memory.
            failure.__traceback__ = failure.__context__ = None
        self.seen.setdefault(result.question, {})[result.id] = failure

    @staticmethod
    def _faulty(result: CheckResult, fault: pytest.ExceptionInfo[BaseException]) -> None:
        result.outcome, result.cause = Outcome.GRADER_ERROR, Cause.GRADER
        result.message = (
            "the grader failed here, not your code: please run it again, and tell the course staff if that fails too"
        )
        if isinstance(fault.value, MachineFault):
            result.cause = Cause.MACHINE
            result.message = f"not graded, through no fault of yours: {fault.value}; please run it again on an idle machine"
        result.detail = sanitize(f"{type(fault.value).__name__}: {fault.value}\n{fault.traceback[-1]}")

    @staticmethod
    def _failed(result: CheckResult, error: CheckFailed) -> None:
        result.outcome, result.cause, result.unwritten, result.detail = error.outcome, error.cause, error.unwritten, ""
        result.message, result.printed = sanitize(error.message), sanitize(error.printed)
        result.signature = "" if error.unwritten else hash_evidence(error.evidence.shown)

    def _publish(self) -> None:
        if self.options.changed is None:
            return  # nobody looks before the end
        self.report.summarize(self.assignment)
        self.options.changed(self.report)

    def caller(self, item: pytest.Function, loaded: bool) -> SubmissionUnderTest:
        """Return the object through which a check uses the submission.

        Args:
            loaded: Whether its calls load the submission, or run without student code.
        """
        result = self.results[item.nodeid]
        question = self.assignment.question(result.question)
        self.shared.patience.code = item.function.__code__
        cases = self.material.cases[result.suite]
        submission = self.submission if loaded else replace(self.submission, path=None)
        replies = self.replies[result.suite] if loaded else ReplyCache()
        explains = self.options.explains and result.suite == "visible"
        return SubmissionUnderTest(self.shared, submission, question, cases, replies, explains)


def _suspect(check: CheckResult, suspicion: Suspicion | None, pattern: str) -> None:
    """Set the mistakes and hints that a result shows, or the pattern of its failure, or clear them."""
    ids = tuple(mistake.id for mistake in suspicion.mistakes) if suspicion else ()
    check.partial = suspicion is not None and not suspicion.certain
    check.mistakes, check.suspects = ((), ids) if check.partial else (ids, ())
    check.hint = "\n".join(suspicion.hints) if suspicion else pattern
    check.measured = suspicion is None and bool(pattern)


def _missing_needs(question: Question, checks: Iterable[CheckResult]) -> list[str]:
    """Return the questions that this one needs and that have a visible check, among these, which has not passed."""
    failed = {check.question for check in checks if check.suite == "visible" and check.outcome is not Outcome.PASSED}
    return [need for need in question.needs if need in failed]
