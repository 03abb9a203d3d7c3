"""The report as text: a line for each question, its failures, what to fix first, and the totals."""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Iterable, Iterator

from grader.report.model import HIDDEN_CHECKS, Cause, CheckResult, Outcome, QuestionResult, Report

MARKS = {Outcome.PASSED: "✓", Outcome.NOT_STARTED: "·", Outcome.NOT_RUN: "-", Outcome.GRADER_ERROR: "!"}
UNFINISHED = ("~", "unfinished")
STYLES = {
    Outcome.PASSED: "green",
    Outcome.PARTIAL: "yellow",
    Outcome.NOT_STARTED: "dim",
    Outcome.NOT_RUN: "dim",
    Outcome.GRADER_ERROR: "magenta",
}
PRINTED_LINES = 12
ONE_REASON = "Nothing could be graded, for one reason:"
TO_WRITE = "These lines still raise the stub's NotImplementedError; when you have written a part, delete its line:"
NOT_STARTED = "Not started:"
DEBUG = "python grade.py --debug"  # in messages that do not know the question (judge/failure.py)
# As Python prints a warning: its place, its text, and the line of code, if it can be read.
DRIVER_WARNING = re.compile(r"^\S*[/\\]drivers\.py:\d+: \w*Warning: .*\n?(?:^  \S.*\n?)?", re.MULTILINE)
STUB = re.compile(r"(?P<place>.+?) still raises the stub's NotImplementedError.*? \((?P<task>.*)\)", re.DOTALL)


def make_student_view(report: Report) -> Report:
    """Return `report.for_student()` without the warnings that the kit's drivers cause: their code is not the student's."""
    shown = report.for_student()
    for check in shown.checks:
        check.printed = DRIVER_WARNING.sub("", check.printed)
    return shown


def render_plain(report: Report) -> str:
    """Return the report as plain text."""
    lines = [f"{report.title} ({report.assignment} {report.suite_version})", *report.remarks, ""]
    width = max((len(question.id) for question in report.questions), default=0)
    for question in list_rows(report):
        cell = f"  {question.cell}" if question.cell else ""
        worth = f"{describe_score(question):>7} {question.seconds:6.2f} s"
        mark, word = describe_outcome(report, question)
        lines.append(f"{mark} {question.id:<{width}} {worth}  {word}{cell}")
    for heading, body, _ in list_sections(report):
        lines += ["", heading, *body] if lines[-1] else [heading, *body]
    return "\n".join([*lines, "", *make_closing_lines(report)]) + "\n"


def list_rows(report: Report) -> list[QuestionResult]:
    """Return the questions for the table; none if one reason explains all failures."""
    return [] if find_common_failure(report) else report.questions


def list_sections(report: Report) -> Iterator[tuple[str, list[str], Outcome | None]]:
    """Yield the sections below the table: heading, lines, and the outcome of the heading."""
    if common := find_common_failure(report):
        yield ONE_REASON, _body(common), None
        return
    if unfinished := describe_unfinished(report):
        yield TO_WRITE, unfinished, None
    waiting: dict[str, list[str]] = {}
    for questions in group_failures(report):
        first, checks = questions[0], list_checks_to_explain(report, questions[0])
        if len(questions) > 1:
            names = ", ".join(question.id for question in questions)
            yield f"{names} ({first.outcome.value}, all for one reason)", _body(checks[0]), first.outcome
        elif _waits(first, checks):
            waiting.setdefault(checks[0].message.removeprefix("not run: "), []).append(first.id)
        elif not all(map(_meets_stub, checks)):
            yield _heading(first), explain_question(report, first), first.outcome
    if waiting:
        yield "Not run:", [f"  {', '.join(names)}: {reason}" for reason, names in waiting.items()], None
    if untouched := describe_untouched(report):
        yield NOT_STARTED, untouched, None


def describe_unfinished(report: Report, questions: Iterable[QuestionResult] | None = None) -> list[str]:
    """Return a line for each place where code in progress still raises the stub's NotImplementedError, with its questions.

    Args:
        questions: Those to look at; None for all.
    """
    met: dict[str, list[str]] = {}
    for question in report.questions if questions is None else questions:
        checks = [check for check in report.checks if check.question == question.id and _meets_stub(check)]
        for message in dict.fromkeys(check.message for check in checks):
            met.setdefault(message, []).append(question.id)
    places: dict[tuple[str, str], list[str]] = {}  # by questions and task: the same task may have several places
    for message in sorted(met, key=_find_numbers):
        names, found = met[message], STUB.fullmatch(message)
        place, task = (found["place"], found["task"]) if found else ("somewhere", message)
        blank, _, rest = task.partition(": ")
        places.setdefault((", ".join(names), rest if blank in names else task), []).append(place)
    return [f"  {' and '.join(found)} ({names}): {task}" for (names, task), found in places.items()]


def _find_numbers(message: str) -> list[int]:
    """Return the numbers of the place that a message begins with: the line, in a notebook after the cell."""
    found = STUB.fullmatch(message)
    return [int(number) for number in re.findall(r"\d+", found["place"])] if found else []


def explain_question(report: Report, question: QuestionResult) -> list[str]:
    """Return the explanation of a question that was run and has not passed: its first failure in full, the others by title."""
    failed = list_checks_to_explain(report, question)
    if all(map(_meets_stub, failed)):
        return describe_unfinished(report, [question])
    lines, given = _failure(failed[0]), {*failed[0].hint.splitlines()}
    for check in failed[1:]:
        same = _find_reason(check) == _find_reason(failed[0])
        lines.append(f"  {_headline(check)}{' (for the same reason)' if same else ''}")
        explained = same and check.cause is Cause.EXCEPTION  # a known mistake may raise the same for another reason
        if not explained and {*check.hint.splitlines()} - given:
            lines.append(textwrap.indent(check.advice(), "      "))
            given |= {*check.hint.splitlines()}
    return lines


def _find_reason(check: CheckResult) -> str:
    """Return the message of a failed check; of an exception, its first line without numbers, and where it was raised.

    Of a call that was stopped at the time limit, it is the first line without seconds: a loop may be anywhere at that moment.
    """
    if check.cause not in (Cause.EXCEPTION, Cause.TIMEOUT):
        return check.message
    first, *lines = check.message.splitlines()
    trace = itertools.takewhile(lambda line: line.startswith("  "), lines if check.cause is Cause.EXCEPTION else [])
    return "\n".join([re.sub(r"\d[\d.,]*( seconds?)?", "#", first), *trace])


def list_checks_to_explain(report: Report, question: QuestionResult) -> list[CheckResult]:
    """Return the failed checks of a question that was run, those not run last; none if one reason explains all failures."""
    if question.outcome in (Outcome.PASSED, Outcome.NOT_STARTED) or find_common_failure(report):
        return []
    checks = [check for check in report.checks if check.question == question.id and check.outcome is not Outcome.PASSED]
    return sorted(checks, key=lambda check: check.outcome is Outcome.NOT_RUN)


def group_failures(report: Report) -> list[list[QuestionResult]]:
    """Return the questions with failures to explain, grouped if all of their checks failed for the same reason."""
    groups: dict[object, list[QuestionResult]] = {}
    for question in report.questions:
        if checks := list_checks_to_explain(report, question):
            reasons = {(check.message, check.hint) for check in checks}
            # Wrong answers with the same text may have different reasons, and hidden checks must not be revealed.
            alike = all(check.cause not in (Cause.NONE, Cause.WRONG_ANSWER) for check in checks)
            alike &= len(reasons) == 1 and question.outcome not in (Outcome.PARTIAL, Outcome.NOT_RUN)
            groups.setdefault(reasons.pop() if alike else question.id, []).append(question)
    return list(groups.values())


def explain_common_failure(report: Report) -> list[str]:
    """Return the explanation if everything failed for one reason, such as a file that cannot be loaded; otherwise nothing."""
    check = find_common_failure(report)
    return ["", ONE_REASON, *_body(check)] if check else []


def find_common_failure(report: Report) -> CheckResult | None:
    """Return one check that stands for all if everything failed for one reason, otherwise None."""
    checks = report.checks
    tried = all(check.outcome not in (Outcome.PASSED, Outcome.NOT_RUN, Outcome.GRADER_ERROR) for check in checks)
    if len(report.questions) < 2 or not tried or len({check.message for check in checks}) > 1 or checks[0].unwritten:
        return None
    return checks[0]


def is_unfinished(report: Report, question: QuestionResult) -> bool:
    """Return whether a question is in progress: begun, but its code still raises an error of the stub."""
    return any(check.question == question.id and _meets_stub(check) for check in report.checks)


def _meets_stub(check: CheckResult) -> bool:
    return check.unwritten and check.outcome is not Outcome.NOT_RUN  # that is, not begun


def list_unfinished(report: Report) -> list[QuestionResult]:
    """Return the questions that are called unfinished."""
    return [question for question in report.questions if describe_outcome(report, question) is UNFINISHED]


def list_untouched(report: Report) -> list[tuple[QuestionResult, str]]:
    """Return the questions that nobody has begun, each with its task."""
    return [entry for entry in list_unwritten(report) if not is_unfinished(report, entry[0])]


def describe_untouched(report: Report) -> list[str]:
    """Return a line for each question that nobody has begun, with its task."""
    return [f"  {question.id}: {task}" for question, task in list_untouched(report)]


def list_unwritten(report: Report) -> list[tuple[QuestionResult, str]]:
    """Return the questions that are still the stub, or that still raise its error, each with its task."""
    found = []
    for question in report.questions:
        if question.outcome is Outcome.NOT_STARTED:
            check = next(check for check in report.checks if check.question == question.id)
            found.append((question, check.message.removeprefix("not written yet: ") or question.task))
    return found


def _heading(question: QuestionResult) -> str:
    cell = f", {question.cell}" if question.cell else ""
    return f"{question.id}: {question.title} ({question.outcome.value}, {describe_score(question)}{cell})"


def _headline(check: CheckResult) -> str:
    hidden = " [hidden]" if check.suite == "hidden" else ""
    run = "" if check.question == HIDDEN_CHECKS else f"; -k {make_selection_keyword(check)}"
    return f"{choose_outcome_mark(check.outcome)} {check.title} ({check.outcome.value}, {describe_points(check)}{run}){hidden}"


def describe_outcome(report: Report, question: QuestionResult) -> tuple[str, str]:
    """Return the mark and the word for the outcome of a question; an unfinished one is neither failed nor not started."""
    if question.outcome is Outcome.NOT_STARTED and is_unfinished(report, question):
        return UNFINISHED
    return choose_outcome_mark(question.outcome), question.outcome.value


def choose_outcome_mark(outcome: Outcome) -> str:
    """Return the mark for an outcome, one character."""
    return MARKS.get(outcome, "✗")


def _waits(question: QuestionResult, checks: list[CheckResult]) -> bool:
    """Return whether a question was not run, for a single reason that may be shown."""
    known = all(check.cause is not Cause.NONE for check in checks)
    return known and question.outcome is Outcome.NOT_RUN and len({check.message for check in checks}) == 1


def describe_points(check: CheckResult) -> str:
    """Return the points of a check in words."""
    if not check.max_points:
        return "no points"
    return f"{check.points:g} of {check.max_points:g} {'point' if check.max_points == 1 else 'points'}"


def make_selection_keyword(check: CheckResult) -> str:
    """Return the pattern with which `-k` runs this check."""
    return check.id.rpartition("/")[2].removeprefix("test_")


def _failure(check: CheckResult) -> list[str]:
    return [f"  {_headline(check)}", *_body(check)]


def _body(check: CheckResult) -> list[str]:
    lines = []
    if check.message:
        lines.append(textwrap.indent(name_debugger(check), "      "))
    if check.hint:
        lines.append(textwrap.indent(check.advice(), "      "))
    if check.mistakes:
        lines.append(f"      looks like: {', '.join(check.mistakes)}")
    if check.suspects:
        lines.append(f"      looks in part like: {', '.join(check.suspects)}")
    if check.detail:
        lines.append(textwrap.indent(check.detail, "      "))
    printed = check.printed.strip().splitlines()
    if printed:
        lines.append("      Your code printed:")
        if len(printed) > PRINTED_LINES:
            half = PRINTED_LINES // 2
            printed = [*printed[:half], f"[... {len(printed) - PRINTED_LINES} lines ...]", *printed[-half:]]
        lines += [f"      | {line}" for line in printed]
    return lines


def name_debugger(check: CheckResult) -> str:
    """Return the message of a check, with the question that the command of the debugger needs."""
    return check.message.replace(f"`{DEBUG}`", f"`{DEBUG} {check.question}`")


def make_closing_lines(report: Report) -> list[str]:
    """Return the last lines: what to fix first, the points, and what they do not include."""
    verb, question = find_next_step(report)
    return [*([f"{verb}: {question.id} ({question.title})"] if question else []), *describe_total(report)]


def find_next_step(report: Report) -> tuple[str, QuestionResult | None]:
    """Return how to go on ("Fix first"), and with which question.

    The question is None if nothing is left to do, or if one reason explains all failures.
    """
    first = next(iter(list_open_questions(report)), None)
    if first is None or find_common_failure(report):
        return "", None
    if not first.max_points:
        return "Optional", first
    if first.outcome is Outcome.NOT_STARTED:
        return ("Finish first" if is_unfinished(report, first) else "Start with"), first
    return "Fix first", first


def list_open_questions(report: Report) -> list[QuestionResult]:
    """Return the questions that are not finished or that fail, in the order in which to work on them.

    Questions in progress come first: a student must not be sent away from them. Questions without points come last.
    """
    closed = (Outcome.PASSED, Outcome.NOT_RUN, Outcome.GRADER_ERROR)
    wrong = {check.question for check in report.checks if check.outcome not in closed or check.unwritten}
    left = [
        question
        for question in report.questions
        if question.id in wrong and question.outcome not in closed and question.id != HIDDEN_CHECKS
    ]
    failing = {_owner(question) for question in left if question.outcome is not Outcome.NOT_STARTED}

    def place(question: QuestionResult) -> tuple[bool, int]:
        if question.outcome is not Outcome.NOT_STARTED:
            return not question.max_points, 1
        # If another method of the class fails, it is unknown which blanks are begun, so failures come first.
        return not question.max_points, 0 if is_unfinished(report, question) and _owner(question) not in failing else 2

    return sorted(left, key=place)


def _owner(question: QuestionResult) -> str:
    return question.id.partition(".")[0]


def describe_total(report: Report) -> list[str]:
    """Return the points, what they do not include, and remarks on this run."""
    kind = " + ".join(report.suites)
    lines = [f"{kind} checks: {report.points:g}/{report.max_points:g} points"]
    if entries := report.leaderboard():
        lines.append(f"leaderboard: {', '.join(f'{entry.name} {entry.value:g}' for entry in entries)}")
    if report.points_elsewhere:
        by = "by the visible checks" if "hidden" in report.suites else "after submission, by hidden checks"
        lines.append(f"{report.points_elsewhere:g} more points are graded {by}")
    if "hidden" in report.suites:
        could = f", a submission could {', '.join(report.isolation_open)}" if report.isolation_open else ""
        lines.append(f"isolation: {report.isolation}{could}")
        if report.refused_calls:
            lines.append(f"refused system calls (no honest code is known to use them): {', '.join(report.refused_calls)}")
    if report.cause:
        lines.append(report.explain_stop())
    if not report.final:
        again = "" if report.cause is Cause.SUITE else " Please run the grader again."
        lines.append(f"This report is not final; nothing is held against the student.{again}")
    return lines


def describe_score(question: QuestionResult) -> str:
    """Return the earned and the maximum points of a question."""
    return f"{question.points:g}/{question.max_points:g}"
