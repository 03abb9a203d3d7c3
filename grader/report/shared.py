"""Reduce a report to what students may see, for platforms that cannot hide single checks."""

from __future__ import annotations

from grader.report import picture
from grader.report.model import HIDDEN_CHECKS, CheckResult, Outcome, QuestionResult, Report, combine_outcomes
from grader.report.terminal import find_common_failure


def remove_hidden_checks(report: Report) -> Report:
    """Return a copy without hidden checks and without their points."""
    part = report.model_copy(deep=True)
    part.checks = [check for check in part.checks if check.suite == "visible"]
    part.suites = tuple(suite for suite in report.suites if suite == "visible")
    part.points = sum(check.points for check in part.checks)
    part.max_points = sum(check.max_points for check in part.checks)
    part.points_elsewhere = 0.0
    part.questions = [question for one in part.questions if (question := _of(one, part.checks))]
    return part


def fold_hidden_checks(report: Report) -> Report:
    """Return `report.for_student()` with all hidden checks folded into one line with their points.

    The total stays the same, so every format adds up to it. Nothing else about hidden checks is left, not even their questions:
    a title can reveal what is asked, and the points of a question can reveal whether its only hidden check passed.
    """
    shown = report.for_student()
    hidden = [check for check in shown.checks if check.suite == "hidden"]
    if not hidden:
        return shown
    part = remove_hidden_checks(shown)
    fold = _fold(hidden, find_common_failure(part))
    together = QuestionResult(
        id=HIDDEN_CHECKS,
        title=fold.title,
        task="",
        outcome=fold.outcome,
        points=fold.points,
        max_points=fold.max_points,
        seconds=0.0,
    )
    return shown.model_copy(
        update={"checks": [*part.checks, fold], "questions": [*part.questions, together], "isolation_open": ()},
    )


def describe_check(check: CheckResult) -> str:
    """Return everything about a check as text: its message, the hint, a line for each curve, and what it printed."""
    parts = [check.message] if check.message else []
    if check.hint:
        parts.append(check.advice())
    parts += picture.describe_curves(check.curves)
    if check.printed:
        parts.append(f"Your code printed:\n{check.printed}")
    return "\n".join(parts)


def explain_not_final(report: Report) -> str:
    """Return the text above a report that is not final; "" if it is final."""
    if report.final:
        return ""
    again = (
        "The grader did not finish, through no fault of the student: these points do not count; please have it graded again."
    )
    return f"{again} {report.explain_stop()}".strip()


def _of(question: QuestionResult, checks: list[CheckResult]) -> QuestionResult | None:
    """Return the result of the question from these checks only; None if none of them belongs to it."""
    own = [check for check in checks if check.question == question.id]
    if not own:
        return None
    points, worth = sum(check.points for check in own), sum(check.max_points for check in own)
    return question.model_copy(update={"outcome": combine_outcomes(own), "points": points, "max_points": worth})


def _fold(hidden: list[CheckResult], reason: CheckResult | None) -> CheckResult:
    points, worth = sum(check.points for check in hidden), sum(check.max_points for check in hidden)
    title = f"{len(hidden)} hidden {'check' if len(hidden) == 1 else 'checks'}"
    fold = CheckResult(
        id="hidden/checks",
        question=HIDDEN_CHECKS,
        suite="hidden",
        title=title,
        points=points,
        max_points=worth,
        outcome=Outcome.PASSED if points == worth else Outcome.PARTIAL if points else Outcome.FAILED,
        message=f"{title}: {points:g}/{worth:g} points",
        entries=tuple(entry for check in hidden for entry in check.entries),
    )
    if any(check.outcome is Outcome.GRADER_ERROR for check in hidden):
        fold.outcome = Outcome.GRADER_ERROR
    elif reason and not points:
        # Nothing could be graded. The visible checks already say so; this adds no failure.
        fold.outcome, fold.message = reason.outcome, reason.message
    return fold
