"""Try variants of the solution: grade each mistake, alternative or mutant."""

from __future__ import annotations

import contextlib
import os
import pickle
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from grader.answers import UNPREDICTABLE, Mistake
from grader.assignment import SUITES, Assignment, UsageError
from grader.judge.compare import difference
from grader.judge.evidence import settle
from grader.judge.run import Grader, GradingOptions
from grader.proof.catalogue import Variant
from grader.proof.coverage import Coverage, read_coverage
from grader.proof.loss import begin_text, explain_loss, find_check
from grader.proof.pool import TrialPool
from grader.proof.reply_cache import ReplyCache, ReplyStore
from grader.report.model import CheckResult, Outcome, Report
from grader.sandbox.entered import IMPORTED
from grader.sandbox.reply import Reply, hash_request

Facts = dict[str, Any]
"""Facts of calls, by a digest of the driver, its inputs and the seed."""

FAILS, RAISES = "fails", "raises"
NOT_FINAL = (Outcome.TIMEOUT, Outcome.GRADER_ERROR)
SEEDS = (0, 1)  # with which a mistake's evidence is recorded
MARGIN = 0.25  # share of every tolerance that rounding on another processor may use up


@dataclass(frozen=True)
class Trial:
    """The result of grading a variant.

    Attributes:
        report: The report of grading it.
        seen: By check that ran, what the check saw when it failed (`Evidence.shown`), or None if it passed.
    """

    report: Report
    seen: dict[str, Any]

    @property
    def failed(self) -> dict[str, Any]:
        """The checks that failed, and what they saw."""
        return {check: shown for check, shown in self.seen.items() if shown is not None}

    def lost(self) -> list[CheckResult]:
        """Return the checks that were run and have not passed."""
        return [check for check in self.report.checks if check.outcome not in (Outcome.PASSED, Outcome.NOT_RUN)]

    def settled(self, thorough: bool = True) -> bool:
        """Return whether neither a time limit nor a fault of the grader had a part in it.

        Args:
            thorough: See `TrialTask`.
        """
        late = any("status" in shown and shown["status"] == "timeout" for shown in self.failed.values())
        stopped = not thorough and bool(self.lost())
        left = any(check.outcome is Outcome.NOT_RUN and check.max_points for check in self.report.checks) and not stopped
        return self.report.final and not (late or left or any(check.outcome in NOT_FINAL for check in self.report.checks))

    def losses(self) -> list[str]:
        """Return in words which checks were not passed."""
        why = {check.id: begin_text(f"{check.message} {check.detail}") for check in self.lost()}
        return [f"{check.id} ({check.outcome.value}): {why[check.id]}" for check in self.lost()]

    def verdict(self, mistake: tuple[str, str, str] = ("", "", "")) -> Verdict:
        """Return the trial's result in short.

        Args:
            mistake: See `TrialTask`.
        """
        name, _, hint = mistake
        checks = self.report.checks
        lost: dict[str, list[str]] = {}
        for check in self.lost():
            lost.setdefault(self._ending(check), []).append(check.id)
        looks = {check.mistakes for check in checks if check.suite == "hidden" and name in check.mistakes}
        idea = name.partition(", ")[0]
        groups = {mistakes for mistakes in looks if any(mistake.partition(", ")[0] != idea for mistake in mistakes)}
        recognized = {check.suite for check in checks if hint and not check.partial and hint in check.hint.splitlines()}
        return Verdict(
            lost={ending: tuple(ids) for ending, ids in lost.items()},
            recognized=tuple(sorted(recognized)),
            confused=tuple(sorted(groups)),
        )

    def _ending(self, check: CheckResult) -> str:
        shown = self.failed.get(check.id)
        return check.outcome.value if shown is None else RAISES if "status" in shown else FAILS


class Verdict(BaseModel):
    """The short result of a trial.

    Attributes:
        lost: Ids of the checks that did not pass, by how they ended: `FAILS`, `RAISES` if a call ended in an exception, or
            another outcome of the report.
        recognized: The suites whose checks give a mistake's own hint.
        confused: Groups of mistakes that look like this one to a hidden check.
        alike: Whether an alternative returned in every call what the solution returns.
        survives: Whether no check caught a mutant. That is all that a trial shows which ends at the first such check.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    lost: dict[str, tuple[str, ...]] = {}
    recognized: tuple[str, ...] = ()
    confused: tuple[tuple[str, ...], ...] = ()
    alike: bool = False
    survives: bool = False

    @property
    def failed(self) -> set[str]:
        """The checks that caught the variant; a fault of the grader shows nothing of it."""
        return {*self.lost.get(FAILS, ()), *self.lost.get(RAISES, ())}


@dataclass(frozen=True)
class TrialTask:
    """A variant to be tried.

    Attributes:
        id: Its kind and name.
        submission: Its whole text.
        questions: Those whose checks it meets.
        whole: Those whose checks it meets if it passes the others.
        thorough: Whether it meets all checks; otherwise the first that it does not pass is the last.
        mistake: Of a mistake, its id, question and hint.
        entries: By suite, what is recorded that it shows to the checks of these questions.
        observed: Whether to return what its calls returned.
        processor: One of `grader.sandbox.reply.PROCESSORS`: the variant runs with its arithmetic, and must pass with a
            quarter of every tolerance (MARGIN).
    """

    id: str
    submission: str
    questions: frozenset[str]
    whole: frozenset[str] = frozenset()
    thorough: bool = True
    mistake: tuple[str, str, str] = ("", "", "")
    entries: dict[str, Mistake | None] = field(default_factory=dict)
    observed: bool = False
    processor: str = ""


@dataclass(frozen=True)
class TrialResult:
    """The result of a task.

    Attributes:
        verdict: In short.
        met_whole: Whether it met the checks of `TrialTask.whole`, which decide nothing otherwise.
        entered: The functions of the submission that its calls entered; nothing where that was not seen of each.
        settled: Whether neither a time limit nor a fault of the grader had a part in it.
        losses: What the report says of each check that did not pass.
        note: What the report says of the whole, if the grader failed.
        stale: Where what is recorded is not what the mistake shows.
        facts: What its calls returned, if that was asked for.
        recalled: How many calls were not repeated (see `grader.proof.coverage`).
    """

    verdict: Verdict
    met_whole: bool = False
    entered: frozenset[str] = frozenset()
    settled: bool = True
    losses: tuple[str, ...] = ()
    note: str = ""
    stale: tuple[str, ...] = ()
    facts: Facts = field(default_factory=dict)
    recalled: int = 0


def run_task(grader: Grader, task: TrialTask, coverage: Path, anew: bool = False) -> TrialResult:
    """Return what becomes of a task; a function for `TrialPool.submit`.

    Args:
        grader, task: What is tried, and where.
        coverage: Where the coverage of the solution is written, if that has been done.
        anew: Whether calls are made of which this machine has kept the replies.
    """
    with (
        _on_processor(grader, task.processor) as grader,
        trace_calls(grader) as entered,
        keep_replies(grader, finds=not anew),
    ):
        known = {} if task.processor else replies_to_variant(coverage, task.submission)  # those of another one would differ
        margin = MARGIN if task.processor else 1.0
        with observe_facts(grader) as facts, recall_calls(grader, known) as recalled:
            trial = try_variant(grader, task.submission, set(task.questions), thorough=task.thorough, margin=margin)
        stale = tuple(_unlike_the_record(grader, task)) if task.entries else ()
        trials, verdict = [trial], trial.verdict(task.mistake)
        if task.whole and not verdict.lost:
            trials.append(try_variant(grader, task.submission, set(task.whole), thorough=task.thorough))
            verdict = verdict.model_copy(update={"lost": trials[-1].verdict().lost})
    return TrialResult(
        verdict if task.thorough else Verdict(survives=not verdict.lost),
        met_whole=len(trials) > 1,
        entered=frozenset().union(*entered) if all(IMPORTED in call for call in entered) else frozenset(),
        settled=all(trial.settled(task.thorough) for trial in trials),
        losses=tuple(loss for trial in trials for loss in trial.losses()),
        note=" ".join(filter(None, (trial.report.explain_stop() for trial in trials))),
        stale=stale,
        facts=facts if task.observed else {},
        recalled=len(recalled),
    )


def try_variant(grader: Grader, submission: str, select: set[str] | None, **options: Any) -> Trial:
    """Return the trial of a submission's text by the checks of these questions.

    Args:
        select: Ids of the questions; None for all.
        options: Of `GradingOptions`.
    """
    with tempfile.TemporaryDirectory(prefix="grader-") as folder:
        path = Path(folder) / grader.home.assignment.submission
        path.write_text(submission, encoding="utf-8")
        report = grader.grade(path, GradingOptions(select, explains=False, **options))
    return Trial(report, {check: failure and failure.evidence.shown for check, failure in grader.seen.items()})


@contextlib.contextmanager
def _on_processor(grader: Grader, processor: str) -> Iterator[Grader]:
    """Yield the grader, or, where a processor is named, one of the same checks whose sandbox has the arithmetic of that one."""
    if not processor:
        yield grader
        return
    before = os.environ.get("GRADER_PROCESSOR", "")
    os.environ["GRADER_PROCESSOR"] = processor
    try:
        with Grader(grader.home, grader.suites) as other:
            yield other
    finally:
        os.environ["GRADER_PROCESSOR"] = before


@contextlib.contextmanager
def observe_calls(grader: Grader, observer: Callable[[dict[str, Any], Reply], None]) -> Iterator[None]:
    """Pass every call, and its reply, to an observer, beside those that there are."""
    sandbox = grader.harness.sandbox
    before = sandbox.observer

    def note(request: dict[str, Any], seconds: float, reply: Reply) -> None:
        observer(request, reply)
        if before is not None:
            before(request, seconds, reply)

    sandbox.observer = note
    try:
        yield
    finally:
        sandbox.observer = before


@contextlib.contextmanager
def observe_facts(grader: Grader) -> Iterator[Facts]:
    """Yield a dictionary that fills with what the grader's calls return."""
    found: Facts = {}

    def note(request: dict[str, Any], reply: Reply) -> None:
        found[hash_call(request)] = [reply.status, reply.facts]

    with observe_calls(grader, note):
        yield found


@contextlib.contextmanager
def trace_calls(grader: Grader) -> Iterator[list[frozenset[str]]]:
    """Yield a list that fills with what of a submission each call enters; see `Reply.entered`."""
    found: list[frozenset[str]] = []
    sandbox = grader.harness.sandbox

    def note(request: dict[str, Any], reply: Reply) -> None:
        if request["submission"] is not None:
            found.append(reply.entered)

    sandbox.traced = True
    try:
        with observe_calls(grader, note):
            yield found
    finally:
        sandbox.traced = False


@contextlib.contextmanager
def keep_replies(grader: Grader, finds: bool) -> Iterator[None]:
    """Let the replies to the grader's calls be kept on this machine; with `finds`, take those that were kept before."""
    sandbox, home = grader.harness.sandbox, grader.home
    before, limits = sandbox.cache, [home.assignment.limits.memory_mb]
    sandbox.cache = ReplyCache(ReplyStore(), home.drivers, home.support(), limits, finds)
    try:
        yield
    finally:
        sandbox.cache = before


@contextlib.contextmanager
def recall_calls(grader: Grader, known: Mapping[str, bytes]) -> Iterator[list[str]]:
    """Yield a list that fills with the calls that are not made, because their replies are known.

    Args:
        known: Pickled replies, by the digest of their calls; see `replies_to_variant`.
    """
    recalled: list[str] = []
    sandbox = grader.harness.sandbox

    def recall(request: dict[str, Any], _seconds: float) -> Reply | None:
        pickled = known.get(call := hash_call(request))
        if pickled is None:
            return None
        recalled.append(call)
        reply: Reply = pickle.loads(pickled)
        return reply

    sandbox.recall = recall if known else None
    try:
        yield recalled
    finally:
        sandbox.recall = None


def replies_to_variant(coverage: Path, submission: str) -> Mapping[str, bytes]:
    """Return the solution's replies that a variant of it cannot change; none if there is no such file."""
    try:
        return read_coverage(coverage).replies_to(submission)
    except FileNotFoundError:
        return {}


def write_coverage(
    grader: Grader, submission: str, questions: frozenset[str], path: Path, seeds: Sequence[int] = (0,)
) -> list[str]:
    """Write the coverage of the solution by these questions, with these seeds; a function for `TrialPool.submit`.

    Return the file and the line of each check that the solution failed.
    """
    failed: list[str] = []
    coverage = Coverage(submission, grader.home.drivers)

    def note(request: dict[str, Any], reply: Reply) -> None:
        coverage.add(hash_call(request), request["driver"], reply)

    with trace_calls(grader), observe_calls(grader, note):
        for seed in seeds:
            trial = try_variant(grader, submission, set(questions), seed=seed)
            failed += [find_check(grader.home, check) for check in trial.failed]
    coverage.write(path)
    return failed


def hash_call(request: dict[str, Any]) -> str:
    """Return the digest of a driver call: its driver, its inputs and the seed, and whether there is a submission."""
    return hash_request(request | {"submission": request["submission"] is not None})


def facts_agree(known: Facts, facts: Facts) -> bool:
    """Return whether all calls returned what is known of the same calls, as closely as checks compare."""
    return all(
        call in known and difference(known[call], returned, exact_dtype=True, equal_nan=True) is None
        for call, returned in facts.items()
    )


def list_unit_questions(assignment: Assignment, function: str) -> set[str]:
    """Return the questions that a function decides alone."""
    return {question.id for question in assignment.questions if question.function == function and not question.together}


def list_end_to_end_questions(assignment: Assignment) -> set[str]:
    """Return the questions that run the functions of other questions together; these cost most."""
    return {question.id for question in assignment.questions if question.together}


def _unlike_the_record(grader: Grader, task: TrialTask) -> Iterator[str]:
    """Yield where the record of what the mistake shows is not what the checks have just seen of it."""
    name, question, hint = task.mistake
    for suite, entry in task.entries.items():
        where = f"{grader.home.mistakes[suite].relative_to(grader.home.root)} is stale: {name}"
        stored = entry.shows if entry else {}
        if entry and (entry.hint, entry.question) != (hint, question):
            yield f"{where} has a different hint or question"
        for check in (key for key in grader.seen if key.startswith(f"{suite}/")):
            saw, failure = stored.get(check.partition("/")[2]), grader.seen[check]
            if failure is None and saw is not None:
                yield f"{where} passes {check} now"
            elif failure is not None and saw is None:
                yield f"{where} fails {check} now"
            elif failure is not None and saw != UNPREDICTABLE and not failure.evidence.fits(saw):
                yield f"{where} shows different evidence in {check} now"


def record_mistakes(pool: TrialPool, solution: str, mistakes: Sequence[Variant]) -> dict[str, dict[str, Mistake]]:
    """Return, by suite and id, what each mistake shows to the checks of its function.

    A mistake that shows nothing is left out. Each is tried with two seeds: evidence that differs
    between them is decided by chance, and is recorded as UNPREDICTABLE. Calls that a mistake cannot
    change are made of the solution alone.

    Raises:
        UsageError: If the solution does not pass, since then nothing can be concluded.
    """
    passes = pool.submit(_require_solution_passes)
    functions = {mistake.function for mistake in mistakes}
    questions = frozenset().union(*(list_unit_questions(pool.assignment, function) for function in functions))
    covered = pool.submit(write_coverage, solution, questions, pool.coverage, seeds=SEEDS)
    passes.result()
    if failed := covered.result():
        what = "its answer is random; make the generator in the driver, from a seed among the inputs"
        raise UsageError(f"{failed[0]}: the solution passes this check with one seed and fails it with another: {what}")
    pending = [pool.submit(_record, mistake, pool.coverage) for mistake in mistakes]
    found: dict[str, dict[str, Mistake]] = {suite: {} for suite in SUITES}
    for mistake, shows in zip(mistakes, pending, strict=True):
        for check, saw in shows.result().items():
            suite, _, name = check.partition("/")
            entry = found[suite].setdefault(mistake.id, Mistake(mistake.id, mistake.question, mistake.hint, {}))
            entry.shows[name] = saw
    return found


def _require_solution_passes(grader: Grader) -> None:
    """Raise UsageError that says which checks of single functions the solution does not pass."""
    assignment = grader.home.assignment
    report = grader.grade(
        grader.home.solution, {question.id for question in assignment.questions} - list_end_to_end_questions(assignment)
    )
    if why := explain_loss(grader.home, report):
        raise UsageError(f"{why} (the evidence of mistakes was not updated)")


def _record(grader: Grader, mistake: Variant, coverage: Path) -> dict[str, Any]:
    """Return what a mistake shows, by check as reports name it."""
    select = list_unit_questions(grader.home.assignment, mistake.function)
    seen = []
    with recall_calls(grader, replies_to_variant(coverage, mistake.submission)):
        for seed in SEEDS:
            try_variant(grader, mistake.submission, select, seed=seed)
            seen.append({check: failure.evidence for check, failure in grader.seen.items() if failure is not None})
    first, second = seen[0], {check: evidence.record() for check, evidence in seen[1].items()}
    return {check: settle(saw, second[check]) if check in second else UNPREDICTABLE for check, saw in first.items()}
