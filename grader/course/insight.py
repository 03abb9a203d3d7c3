"""What a class shows: its points, its questions, its mistakes, and the runs that somebody should look at."""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from grader.assignment import Question
from grader.course.behavior import Behavior, choose_telling_check, list_failed_checks
from grader.course.results import Course, SubmissionResult
from grader.course.worklist import WorklistEntry
from grader.report.model import SUSPICIOUS, CheckResult, Outcome, QuestionResult
from grader.report.terminal import find_common_failure

STATES = ("full", "part", "none", "not started", "not run")
OPEN = (Outcome.NOT_RUN, Outcome.GRADER_ERROR)  # says nothing about the submission
MAX_BINS = 25
MAX_REFUSED = 16  # names of system calls
MAX_COLUMNS = 300  # of the heatmap: more could not be distinguished on a screen
ENOUGH = 10  # submissions, below which a correlation is chance
ODD = 3.0  # standard errors below 0, from which a correlation says that a check is faulty
SLOWEST = 10
NEAR = 1e-9  # points are sums of decimals


@dataclass(frozen=True)
class HistogramBin:
    """One bin of a histogram of points; the last bin is for full marks alone.

    Attributes:
        low: The fewest points of a submission in this bin.
        high: The points that all submissions in this bin stay below.
        count: The number of submissions in this bin.
    """

    low: float
    high: float
    count: int


@dataclass(frozen=True)
class QuestionInsight:
    """The results of a class in one question.

    Attributes:
        counts: How many submissions are in each state.
        mean: The mean of the points.
        discrimination: The correlation of its points with those of all other questions; None where
            there is none to speak of.
    """

    question: Question
    counts: Mapping[str, int]
    mean: float
    max_points: float
    discrimination: float | None = None

    @property
    def tried(self) -> int:
        """Return how many submissions hold work on it that was graded."""
        return sum(self.counts[state] for state in ("full", "part", "none"))


@dataclass(frozen=True)
class CommonMistake:
    """Submissions in which the same mistake was recognized.

    Attributes:
        ids: More than one where several mistakes explain the submissions equally well.
    """

    question: str
    ids: tuple[str, ...]
    hint: str
    submissions: tuple[WorklistEntry, ...]
    tried: int

    @property
    def share(self) -> float:
        """Return which part it is of those who tried the question."""
        return len(self.submissions) / self.tried


@dataclass(frozen=True)
class CommonFailure:
    """Submissions with the same uncatalogued wrong answers.

    Attributes:
        number: Its place among them, by which `catalogue add` finds it; the largest group is 1.
        checks: The failed checks of the first submission.
        telling: The one of them whose message says most.
    """

    number: int
    question: str
    checks: tuple[CheckResult, ...]
    telling: CheckResult
    submissions: tuple[WorklistEntry, ...]


@dataclass(frozen=True)
class CheckInsight:
    """The results of a class in one check.

    Attributes:
        failed: How many submissions fail it.
        run: In how many submissions it was run.
        discrimination: The correlation of passing it with the points of all other checks; None where there is none to speak of.
    """

    check: CheckResult
    failed: int
    run: int
    discrimination: float | None = None

    @property
    def is_odd(self) -> bool:
        """Return whether students with more points fail it more often, by more than chance."""
        return (self.discrimination or 0.0) * math.sqrt(self.run) < -ODD


@dataclass(frozen=True)
class SubmissionRemark:
    """One submission, and a remark about it."""

    entry: WorklistEntry
    reason: str


@dataclass(frozen=True)
class UnusualRuns:
    """Runs that ended in the same unusual way.

    Attributes:
        id: For links.
        kind: The way, in words.
    """

    id: str
    kind: str
    cases: tuple[SubmissionRemark, ...]


@dataclass(frozen=True)
class GradingTime:
    """How long one submission took.

    Attributes:
        seconds: Wall-clock time.
        cpu_seconds: Processor time.
        check: Its slowest check.
    """

    entry: WorklistEntry
    seconds: float
    cpu_seconds: float
    check: CheckResult | None


@dataclass(frozen=True)
class Flake:
    """Submissions with the same content, but different outcomes.

    Attributes:
        checks: The title of each check that decided differently, and how often it had which
            outcome.
    """

    submissions: tuple[WorklistEntry, ...]
    checks: tuple[tuple[str, Mapping[str, int]], ...]


@dataclass(frozen=True)
class IdenticalSubmissions:
    """Submissions with the same content.

    Attributes:
        blank: Whether nobody has written anything in them.
    """

    submissions: tuple[WorklistEntry, ...]
    blank: bool


@dataclass(frozen=True)
class HeatmapColumn:
    """Some neighbors in the order of their points.

    Attributes:
        points: The mean of their points.
        states: The most frequent state of each question.
    """

    points: float
    states: tuple[str, ...]


@dataclass(frozen=True)
class ClassHeatmap:
    """All graded submissions by their points, the most first.

    Attributes:
        each: How many submissions make one column.
    """

    columns: tuple[HeatmapColumn, ...]
    each: int


@dataclass(frozen=True)
class ClassInsight:
    """The findings about a class.

    Attributes:
        points: Of each graded submission, in the order of the work list.
        checks: All that were run, those that most submissions fail first.
        levels: How many submissions were graded at each isolation level.
        open: How many were graded where a submission could do a forbidden thing, by that thing.
        refused: The system calls that submissions were refused because they are not listed, by the number of submissions.
        environments: How many submissions were graded in each environment.
    """

    course: Course
    max_points: float
    points: Mapping[str, float]
    to_come: tuple[WorklistEntry, ...]
    bins: tuple[HistogramBin, ...]
    questions: tuple[QuestionInsight, ...]
    mistakes: tuple[CommonMistake, ...]
    unknown: tuple[CommonFailure, ...]
    checks: tuple[CheckInsight, ...]
    troubles: tuple[UnusualRuns, ...]
    slowest: tuple[GradingTime, ...]
    flakes: tuple[Flake, ...]
    retried: tuple[SubmissionRemark, ...]
    same: tuple[IdenticalSubmissions, ...]
    heatmap: ClassHeatmap
    levels: Mapping[str, int]
    open: Mapping[str, int]
    refused: Mapping[str, int]
    environments: Mapping[str, int]

    @property
    def median(self) -> float:
        """Return the median of the points; 0 where nothing is graded."""
        return statistics.median(self.points.values()) if self.points else 0.0

    @property
    def mean(self) -> float:
        """Return the mean of the points; 0 where nothing is graded."""
        return statistics.fmean(self.points.values()) if self.points else 0.0

    @property
    def full(self) -> int:
        """Return how many submissions have full marks."""
        return self.bins[-1].count if self.bins else 0

    @property
    def failing(self) -> list[CheckInsight]:
        """Return the checks that at least one submission fails."""
        return [one for one in self.checks if one.failed]

    def trouble(self, name: str) -> UnusualRuns | None:
        """Return the trouble with this id, if there is any."""
        return next((trouble for trouble in self.troubles if trouble.id == name), None)


@dataclass(frozen=True)
class GradedEntry:
    """A graded submission.

    Attributes:
        reason: Why nothing in it could be graded, if so.
        states: By question.
    """

    entry: WorklistEntry
    result: SubmissionResult
    reason: str
    states: dict[str, str]
    checks: dict[str, list[CheckResult]] = field(default_factory=lambda: defaultdict(list))


def analyze_results(course: Course, results: Mapping[str, SubmissionResult | None]) -> ClassInsight:
    """Return the findings about the class.

    Where the grader has failed, the submission counts neither in the points nor in the questions.

    Args:
        results: By entry; None or missing for an entry that is still to come.
    """
    present = {entry.id: result for entry in course.entries if (result := results.get(entry.id)) is not None}
    graded = [
        _graded(entry, result) for entry in course.entries if (result := present.get(entry.id)) and result.status != "failed"
    ]
    most = sum(course.assignment.total(suite) for suite in course.suites)
    questions = _questions(course, graded)
    tried = {one.question.id: one.tried for one in questions}
    entries = {entry.id: entry for entry in course.entries}
    run = [one.result for one in graded if one.result.status == "graded"]  # what is refused never met a sandbox
    return ClassInsight(
        course=course,
        max_points=most,
        points={one.entry.id: one.result.report.points for one in graded},
        to_come=tuple(entry for entry in course.entries if entry.id not in present),
        bins=tuple(make_histogram_bins([one.result.report.points for one in graded], most)),
        questions=tuple(questions),
        mistakes=tuple(_mistakes(course, graded, tried)),
        unknown=tuple(_unknown(graded)),
        checks=tuple(_checks(graded)),
        troubles=tuple(_troubles(entries, present, graded)),
        slowest=tuple(_slowest(entries, present)),
        flakes=tuple(_flakes(graded)),
        retried=tuple(
            SubmissionRemark(entries[name], ", ".join(result.retried)) for name, result in present.items() if result.retried
        ),
        same=tuple(_same(course, graded)),
        heatmap=_make_heatmap(course, graded),
        levels=Counter(result.report.isolation for result in run),
        open=Counter(could for result in run for could in result.report.isolation_open),
        refused=dict(Counter(name for result in run for name in result.report.refused_calls).most_common(MAX_REFUSED)),
        environments=Counter(result.key.environment for result in run),
    )


def make_histogram_bins(points: Sequence[float], most: float) -> list[HistogramBin]:
    """Return the bins of a histogram from 0 to `most` points, which are round and not too many for so few submissions."""
    if most <= 0:
        return []
    allowed = min(MAX_BINS, max(6, round(2 * math.sqrt(len(points)))))
    finest = 1.0 if all(_whole(number) for number in (*points, most)) else 0.1
    step = next(
        width for power in range(9) for times in (1, 2, 5) if most / (width := times * finest * 10**power) <= allowed + NEAR
    )
    number = math.ceil(most / step - NEAR)
    counts = Counter(number if each >= most - NEAR else min(int(each / step + NEAR), number - 1) for each in points)
    edges = [round(index * step, 6) for index in range(number)] + [most, most]
    return [HistogramBin(low, high, counts[index]) for index, (low, high) in enumerate(pairwise(edges))]


def _whole(number: float) -> bool:
    return abs(number - round(number)) < NEAR


def _graded(entry: WorklistEntry, result: SubmissionResult) -> GradedEntry:
    report = result.report
    shown = find_common_failure(report) or (report.checks[0] if result.status == "refused" and report.checks else None)
    reason = shown.message if shown else report.explain_stop() if result.status == "refused" else ""
    states = {question.id: "not run" if reason else _state(question) for question in report.questions}
    graded = GradedEntry(entry, result, reason, states)
    for check in report.checks:
        graded.checks[check.question].append(check)
    return graded


def _state(question: QuestionResult) -> str:
    known = {Outcome.PASSED: "full", Outcome.PARTIAL: "part", Outcome.NOT_STARTED: "not started"}
    return known.get(question.outcome, "not run" if question.outcome in OPEN else "none")


def _questions(course: Course, graded: Sequence[GradedEntry]) -> list[QuestionInsight]:
    found = []
    by_question = [{question.id: question for question in one.result.report.questions} for one in graded]
    for question in course.assignment.questions:
        points = [own[question.id].points if question.id in own else 0.0 for own in by_question]
        rest = [one.result.report.points - number for one, number in zip(graded, points, strict=True)]
        found.append(
            QuestionInsight(
                question=question,
                counts=Counter(one.states.get(question.id, "not run") for one in graded),
                mean=statistics.fmean(points) if points else 0.0,
                max_points=sum(getattr(question.points, suite) for suite in course.suites),
                discrimination=_correlation(points, rest),
            )
        )
    return found


def _correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    if len(first) < ENOUGH:
        return None
    try:
        return statistics.correlation(first, second)
    except statistics.StatisticsError:  # one of the two is constant
        return None


def find_recognizing_check(checks: Iterable[CheckResult]) -> CheckResult | None:
    """Return the check of a question that names its mistakes, or None.

    Visible checks are explained by what is visible, so a hidden one knows more: where both name mistakes, it counts.
    """
    named = [check for check in checks if check.mistakes]
    return next((check for check in named if check.suite == "hidden"), named[0] if named else None)


def _mistakes(course: Course, graded: Sequence[GradedEntry], tried: Mapping[str, int]) -> list[CommonMistake]:
    groups: dict[tuple[str, tuple[str, ...]], list[WorklistEntry]] = defaultdict(list)
    hints: dict[tuple[str, tuple[str, ...]], str] = {}
    for one in graded:
        for question, checks in one.checks.items() if not one.reason else ():
            if found := find_recognizing_check(checks):
                groups[question, found.mistakes].append(one.entry)
                hints.setdefault((question, found.mistakes), found.hint)
    order = {question.id: index for index, question in enumerate(course.assignment.questions)}
    ranked = sorted(groups.items(), key=lambda group: (-len(group[1]), order.get(group[0][0], len(order)), group[0]))
    return [CommonMistake(*key, hints[key], tuple(entries), tried[key[0]]) for key, entries in ranked]


def _unknown(graded: Sequence[GradedEntry]) -> list[CommonFailure]:
    groups: dict[tuple[str, frozenset[tuple[str, str]]], list[_Group]] = defaultdict(list)
    for one in graded:
        for question, checks in one.checks.items() if not one.reason else ():
            failed = list_failed_checks(checks)
            # What was only stopped has not answered: it stands among the troubles.
            answered = any(check.outcome is Outcome.FAILED and check.signature for check in failed)
            if answered and not find_recognizing_check(checks):
                behavior = Behavior(failed, one.result.shows)
                near = groups[question, behavior.outline]
                group = next((known for known in near if behavior.agrees(known.behavior)), None)
                if group is None:
                    near.append(group := _Group(question, behavior, failed))
                group.entries.append(one.entry)
    found = sorted((group for near in groups.values() for group in near), key=lambda group: -len(group.entries))
    return [
        CommonFailure(number, group.question, group.checks, choose_telling_check(group.checks), tuple(group.entries))
        for number, group in enumerate(found, 1)
    ]


@dataclass(frozen=True)
class _Group:
    """Submissions that behave like the first of them."""

    question: str
    behavior: Behavior
    checks: tuple[CheckResult, ...]
    entries: list[WorklistEntry] = field(default_factory=list)


def _checks(graded: Sequence[GradedEntry]) -> list[CheckInsight]:
    known: dict[str, CheckResult] = {}
    passed: dict[str, list[bool]] = defaultdict(list)
    rest: dict[str, list[float]] = defaultdict(list)
    for one in graded:
        for check in one.result.report.checks if not one.reason else ():
            if check.outcome not in OPEN and not check.unwritten:
                known.setdefault(check.id, check)
                passed[check.id].append(check.outcome is Outcome.PASSED)
                rest[check.id].append(one.result.report.points - check.points)
    found = [
        CheckInsight(known[name], own.count(False), len(own), _correlation(own, rest[name])) for name, own in passed.items()
    ]
    return sorted(found, key=lambda one: (-one.failed, -one.failed / one.run, one.check.id))


def _troubles(
    entries: Mapping[str, WorklistEntry], present: Mapping[str, SubmissionResult], graded: Sequence[GradedEntry]
) -> list[UnusualRuns]:
    kinds: dict[tuple[str, str], list[SubmissionRemark]] = {
        ("failed", "the grader failed"): [
            SubmissionRemark(entries[name], _fault(result)) for name, result in present.items() if result.status == "failed"
        ],
        ("refused", "nothing could be graded"): [SubmissionRemark(one.entry, one.reason) for one in graded if one.reason],
    }
    # A file that does not finish loading is listed above with its one reason, and here too.
    for outcome, words in ((Outcome.TIMEOUT, "timed out"), (Outcome.MEMORY, "out of memory"), (Outcome.CRASHED, "crashed")):
        kinds[outcome.value, words] = [
            SubmissionRemark(one.entry, ", ".join(where))
            for one in graded
            if (where := dict.fromkeys(check.question for check in one.result.report.checks if check.outcome is outcome))
        ]
    kinds["suspicious", "did something forbidden"] = [
        SubmissionRemark(one.entry, signs) for one in graded if (signs := _find_suspicious(one.result))
    ]
    return [UnusualRuns(*names, tuple(cases)) for names, cases in kinds.items() if cases]


def _fault(result: SubmissionResult) -> str:
    checks = [check for check in result.report.checks if check.outcome is Outcome.GRADER_ERROR]
    return result.report.explain_stop() or next((check.detail or check.message for check in checks), "no reason given")


def _find_suspicious(result: SubmissionResult) -> str:
    """Return what makes a submission look as if it worked against the grader, or nothing."""
    reasons = [f"a worker died grading it, {result.attempts - 1} times"] if result.attempts > 1 else []
    for check in result.report.checks:
        if check.cause in SUSPICIOUS:
            reasons.append(f"{check.question}: {check.message}")
            break
    return "; ".join(reasons)


def _slowest(entries: Mapping[str, WorklistEntry], present: Mapping[str, SubmissionResult]) -> list[GradingTime]:
    ranked = sorted(present.items(), key=lambda item: -item[1].seconds)[:SLOWEST]
    return [
        GradingTime(
            entry=entries[name],
            seconds=result.seconds,
            cpu_seconds=result.cpu_seconds,
            check=max(result.report.checks, key=lambda check: check.seconds, default=None),
        )
        for name, result in ranked
        if result.seconds > 0
    ]


def _flakes(graded: Sequence[GradedEntry]) -> list[Flake]:
    groups: dict[tuple[str, str], list[GradedEntry]] = defaultdict(list)
    for one in graded:
        groups[one.result.key.submission, one.result.key.suite].append(one)
    flakes = []
    for ones in groups.values():
        outcomes: dict[str, Counter[str]] = defaultdict(Counter)
        titles = {}
        for check in (check for one in ones for check in one.result.report.checks) if len(ones) > 1 else ():
            outcomes[check.id][check.outcome.value] += 1
            titles[check.id] = f"{check.question}: {check.title}"
        if differing := tuple((titles[name], counts) for name, counts in outcomes.items() if len(counts) > 1):
            flakes.append(Flake(tuple(one.entry for one in ones), differing))
    return sorted(flakes, key=lambda flake: -len(flake.submissions))


def _same(course: Course, graded: Sequence[GradedEntry]) -> list[IdenticalSubmissions]:
    groups: dict[str, list[WorklistEntry]] = defaultdict(list)
    for entry in course.entries:
        if entry.id in course.submissions:
            groups[course.submissions[entry.id]].append(entry)
    blank = {
        one.entry.id
        for one in graded
        if one.states and set(one.states.values()) <= {"not started", "not run"} and not one.reason
    }
    found = [
        IdenticalSubmissions(tuple(ones), any(one.id in blank for one in ones)) for ones in groups.values() if len(ones) > 1
    ]
    return sorted(found, key=lambda group: (group.blank, -len(group.submissions)))


def _make_heatmap(course: Course, graded: Sequence[GradedEntry]) -> ClassHeatmap:
    names = [question.id for question in course.assignment.questions]
    rows = [(one.result.report.points, tuple(one.states.get(name, "not run") for name in names)) for one in graded]
    # Those with the same points are put next to those who are right and wrong in the same questions.
    rows.sort(key=lambda row: (-row[0], [STATES.index(state) for state in row[1]]))
    each = math.ceil(len(rows) / MAX_COLUMNS) or 1
    columns = []
    for start in range(0, len(rows), each):
        near = rows[start : start + each]
        most = (Counter(states).most_common(1)[0][0] for states in zip(*(row[1] for row in near), strict=True))
        columns.append(HeatmapColumn(statistics.fmean(row[0] for row in near), tuple(most)))
    return ClassHeatmap(tuple(columns), each)
