"""Proving a suite: the solution and right alternatives get everything, the stub nothing; mistakes and mutants are caught."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from grader import answers
from grader.answers import UNPREDICTABLE, Mistake
from grader.assignment import SUITES, Home
from grader.judge.harness import Harness
from grader.judge.run import Grader
from grader.publish import flake as flakiness
from grader.publish.build import build
from grader.publish.catalogue import CatalogueError, Variant, load
from grader.publish.matrix import Matrix
from grader.publish.mutants import Mutant, Survivor, known_survivors, mutants
from grader.publish.pool import Pending, TrialPool
from grader.publish.stub import make_stub
from grader.publish.trials import Facts, Trial, observed_facts, same_facts, try_out, unit_questions, whole_agent
from grader.report.model import CheckResult, Outcome, Report, write

TOLD = 0.9  # of the mistakes, at least so many must be told by their own hint
MUTANTS_CAUGHT = 0.95

Finding = tuple[str, bool | None]  # what was found, and whether it is a fault; None for what is only told


def verify(
    root: Path,
    name: str,
    quick: bool = False,
    everything: bool = False,
    html: Path | None = None,
    seeds: int = 0,
    workers: int = 1,
) -> Iterator[Finding]:
    """Yield (what was found, whether it is a fault), one line after another; None is neither fault nor proof.

    quick: no mutants, and an alternative that returns what the solution returns in every call is not trained. everything: try
    each mistake on every question, not on its own ones alone. html: write the matrix of mistakes and checks there. seeds: how
    often to repeat what chance decides (see `flake`). workers: how many trials run at a time.
    """
    began = _cpu_seconds()
    home = Home(root, name)
    proof = Proof(home, everything, quick)
    with Harness(home) as harness:
        with TrialPool(harness, workers, name) as pool:
            yield from proof.run(pool)
        if not proof.usable:
            return
        if html is not None:
            write(html, proof.matrix().html())
            yield f"wrote {html}", False
        if seeds:
            with TrialPool(harness, workers, f"{name}, with many seeds") as pool:
                yield from flakiness.measure(pool, home, seeds, proof.right, proof.wrong)
    yield f"took {_cpu_seconds() - began:.0f} CPU seconds", False


@dataclass
class Proof:
    """The parts of the proof of one assignment.

    Attributes:
        everything, quick: See `verify`.
        usable: Whether the solution passes, without which nothing else means anything.
        right, wrong: The alternatives and mistakes of the catalogue.
        checks: Those that the solution was graded by.
        trials: By id, each mistake and what became of it.
    """

    home: Home
    everything: bool
    quick: bool
    usable: bool = False
    right: list[Variant] = field(default_factory=list)
    wrong: list[Variant] = field(default_factory=list)
    checks: list[CheckResult] = field(default_factory=list)
    trials: dict[str, tuple[Variant, Trial]] = field(default_factory=dict)

    def run(self, pool: TrialPool) -> Iterator[Finding]:
        """Yield what is found, part by part. Trials are submitted first, those that train agents before the others."""
        stale = pool.submit(_stale)
        solution = pool.submit(_try_observed, self._text(), None)
        faults = list(self.read_catalogue())
        right = [pool.submit(_try_observed, variant.submission, self._asked_of(variant)[0]) for variant in self.right]
        trained: dict[str, Pending[Trial]] = {}
        for variant in [] if self.quick else self.right:
            if learning := self._asked_of(variant)[1]:
                trained[variant.id] = pool.submit(_try, variant.submission, learning)
        whole = pool.submit(_try_whole_agent, self._hopeless(), sorted(self._proven_by_mistakes()))
        stub = pool.submit(_try_stub, make_stub(self._text(), self.home.assignment))
        known = self._recorded_mistakes()
        wrong = [self._submit_mistake(pool, variant, known) for variant in self.wrong]
        changed = [] if self.quick else self._submit_mutants(pool)

        yield from _generated(self.home, stale.result())
        yield from faults
        trial, facts = solution.result()
        yield from self.solution(trial)
        if not self.usable:
            return
        units = [pending.result() for pending in right]
        for variant, (_, own) in zip(self.right, units, strict=True):
            unit, learning = self._asked_of(variant)
            if learning and self.quick and not (unit and same_facts(facts, own)):
                trained[variant.id] = pool.submit(_try, variant.submission, learning)
        yield from self.stub(stub.result())
        yield from self.alternatives([trial for trial, _ in units], trained)
        yield from self.mistakes([pending.result() for pending in wrong], known)
        yield from self.whole_agent(*whole.result())
        if not self.quick:
            yield from self.mutants(changed)

    def matrix(self) -> Matrix:
        """Return which check catches which mistake."""
        whole = whole_agent(self.home.assignment)
        return Matrix(self.home.assignment, [check for check in self.checks if check.question not in whole], self.trials)

    def solution(self, trial: Trial) -> Iterator[Finding]:
        report = trial.report
        self.usable = not report.note
        # What looks at an attachment alone needs one, and no solution in code makes one; it can give no points.
        idle = [check for check in report.checks if check.outcome is Outcome.NOT_RUN and not check.max_points]
        self.checks = [check for check in report.checks if check not in idle]
        yield f"the solution gets {_points(report)}", not _perfect(report)
        yield from (_loss("the solution", check) for check in trial.lost())
        yield from ((f"{check.id} is proven by nothing here: {check.message}", None) for check in idle)
        if report.note:
            yield report.note, True

    def read_catalogue(self) -> Iterator[Finding]:
        """Read mistakes and alternatives first, so that what is wrong with them is told at once."""
        for kind, found in (("alternatives", self.right), ("mistakes", self.wrong)):
            try:
                found += load(self.home, kind)
            except CatalogueError as error:
                yield from ((fault, True) for fault in error.faults)
            else:
                if kind == "mistakes" and not found:
                    yield "there are no mistakes in solutions/: nothing shows that the checks catch any", True

    def stub(self, report: Report) -> Iterator[Finding]:
        yield f"the stub gets {_points(report)}", report.points != 0 or not report.final
        for question in report.questions:
            if question.outcome is not Outcome.NOT_STARTED:
                yield f"{question.id} of the stub is {question.outcome.value!r}, not 'not started'", True
        for check in report.checks:
            task = self.home.assignment.question(check.question).task
            if check.unwritten and task not in check.message:
                yield f"the stub's {check.id} says {check.message!r}, not what to write: {task}", True

    def alternatives(self, units: list[Trial], trained: dict[str, Pending[Trial]]) -> Iterator[Finding]:
        """Yield what became of the alternatives. trained: of some, by id, the trial of what they need to learn."""
        passed = spared = 0
        for variant, unit in zip(self.right, units, strict=True):
            trials = [unit, *([trained[variant.id].result()] if variant.id in trained else [])]
            spared += bool(self._asked_of(variant)[1]) and variant.id not in trained
            passed += all(_perfect(trial.report) for trial in trials)
            for trial in trials:
                yield from (_loss(f"the alternative {variant.id}", check) for check in trial.lost())
                if trial.report.note:
                    yield f"the alternative {variant.id}: {trial.report.note}", True
        yield f"{passed} of {len(self.right)} alternatives get everything", passed < len(self.right)
        if spared:
            yield f"{spared} of these return what the solution returns in every call, and were not trained (--quick)", None

    def mistakes(
        self, found: list[tuple[Trial, list[str], list[str]]], known: dict[str, dict[str, Mistake]]
    ) -> Iterator[Finding]:
        if not self.wrong:
            return
        for variant, (trial, caught_by, stale) in zip(self.wrong, found, strict=True):
            self.trials[variant.id] = variant, trial
            yield from self._caught(variant, trial, caught_by)
            yield from ((line, True) for line in stale)
        for suite, entries in known.items():
            for gone in sorted(entries.keys() - self.trials.keys()):
                yield f"tests/{suite}/mistakes.json is stale: it has {gone}, which is not in the catalogue", True

        matrix = self.matrix()
        yield from ((line, None) for line in matrix.lines())
        for check in matrix.vacuous():
            only = " but by an exception, which any check would show" if matrix.caught_by[check.id] else ""
            yield f"{check.id} is vacuous: no mistake fails it{only}", True
        yield from ((line, None) for line in ["", *matrix.remarks()])
        caught = sum(bool(trial.failed) for _, trial in self.trials.values())
        yield f"{caught} of {len(self.wrong)} mistakes are caught", caught < len(self.wrong)
        told = matrix.told()
        share = f"mistakes are told by their own hint (at least {TOLD:.0%} must be)"
        yield f"{len(told)} of {len(self.wrong)} {share}", len(told) < TOLD * len(self.wrong)
        yield from ((f"not told by its own hint: {name}", None) for name in self.trials if name not in told)
        visible = matrix.caught_in("visible")
        yield f"{len(matrix.told('visible'))} of the {len(visible)} that visible checks catch are told by these", None

    def _caught(self, variant: Variant, trial: Trial, caught_by: list[str]) -> Iterator[Finding]:
        assignment = self.home.assignment
        lost = {check.question for check in trial.lost()}
        if variant.question not in lost:
            yield f"the mistake {variant.id} passes every check of {variant.question}", True
        if not lost:
            yield f"the mistake {variant.id} is caught by {', '.join(caught_by) or 'nothing at all'}", not caught_by
        for question in sorted(lost - whole_agent(assignment)):
            if assignment.question(question).function != variant.function:
                yield f"the mistake {variant.id} costs points on {question} as well, which does not use it", True
        if trial.report.note:
            yield f"the mistake {variant.id}: {trial.report.note}", True

    def whole_agent(self, catches: list[tuple[str, str]], unproven: list[str]) -> Iterator[Finding]:
        yield from ((f"{check} catches {mistake}", False) for check, mistake in catches)
        for question in unproven:
            yield f"the checks of {question} are vacuous: no mistake that cannot learn fails them", True

    def mutants(self, found: list[tuple[Mutant, Survivor | None, Pending[bool]]]) -> Iterator[Finding]:
        caught, equivalent, met = 0, 0, set()
        for mutant, entry, pending in found:
            survives = pending.result()
            caught += not survives
            if survives and entry is not None:
                met.add(entry)
                equivalent += entry.equivalent
                kind = "equivalent" if entry.equivalent else "accepted"
                yield f"mutant survives ({kind}: {entry.reason}): {mutant.question}: {mutant.change}", None
            elif survives:
                yield f"mutant survives, and survivors.toml does not say why: {mutant.question}: {mutant.change}", None
        counted = len(found) - equivalent
        score = caught / counted if counted else 1.0
        share = f"({score:.1%}; at least {MUTANTS_CAUGHT:.0%} must be)"
        yield f"{caught} of {counted} mutants that are not equivalent are caught {share}", score < MUTANTS_CAUGHT
        for entry in known_survivors(self.home):
            if entry not in met:
                yield f"survivors.toml is stale: {entry.question}: {entry.change} is caught, or no mutant any more", True

    def _asked_of(self, variant: Variant) -> tuple[set[str], set[str]]:
        """Return the questions that an alternative is tried on: those about single functions, and those that train."""
        # Of the whole agent, what does not need the question has something else in its place.
        needing = {question.id for question in self.home.assignment.questions if variant.question in question.needs}
        asked, whole = self._concerned(variant) | needing, whole_agent(self.home.assignment)
        return asked - whole, asked & whole

    def _submit_mistake(
        self, pool: TrialPool, variant: Variant, known: dict[str, dict[str, Mistake]]
    ) -> Pending[tuple[Trial, list[str], list[str]]]:
        entries = {suite: known[suite].get(variant.id) for suite in SUITES}
        return pool.submit(_try_mistake, variant, self._concerned(variant), entries)

    def _submit_mutants(self, pool: TrialPool) -> list[tuple[Mutant, Survivor | None, Pending[bool]]]:
        known = known_survivors(self.home)
        found = [(mutant, next((entry for entry in known if entry.means(mutant)), None)) for mutant in mutants(self.home)]
        return [(mutant, entry, pool.submit(_survives, mutant, entry is not None)) for mutant, entry in found]

    def _recorded_mistakes(self) -> dict[str, dict[str, Mistake]]:
        name = self.home.assignment.name
        return {suite: answers.read_mistakes(self.home.mistakes[suite], name) if self.wrong else {} for suite in SUITES}

    def _hopeless(self) -> list[Variant]:
        """Return the mistakes that cannot learn, those in functions of the whole agent first."""
        assignment = self.home.assignment
        functions = {assignment.question(question).function for question in whole_agent(assignment)}
        return sorted(
            (variant for variant in self.wrong if not variant.learns), key=lambda variant: variant.function not in functions
        )

    def _proven_by_mistakes(self) -> set[str]:
        """Return the questions about the whole agent, if there are mistakes to try them on."""
        return whole_agent(self.home.assignment) if self.wrong else set()

    def _concerned(self, variant: Variant) -> set[str]:
        """Return the questions to try a variant on; those of the whole agent are a matter of their own."""
        assignment = self.home.assignment
        if self.everything:
            return {question.id for question in assignment.questions} - whole_agent(assignment) | {variant.question}
        return unit_questions(assignment, variant.function) | {variant.question}

    def _text(self) -> str:
        return (self.home.solution / self.home.assignment.submission).read_text(encoding="utf-8")


def _stale(grader: Grader) -> list[Path]:
    home = grader.home
    return build(home.root, home.assignment.name, check=True, mistakes=False, harness=grader.harness)


def _generated(home: Home, stale: list[Path]) -> Iterator[Finding]:
    for path in stale:
        yield f"{path.relative_to(home.root)} is stale: run `python -m grader build {home.assignment.name}`", True
    if not stale:
        yield "stub, cases and answers are up to date", False


def _try(grader: Grader, submission: str, select: set[str]) -> Trial:
    return try_out(grader, submission, select)


def _try_observed(grader: Grader, submission: str, select: set[str] | None) -> tuple[Trial, Facts]:
    """Return the trial of a submission, and what its calls returned."""
    with observed_facts(grader) as facts:
        return try_out(grader, submission, select), facts


def _try_stub(grader: Grader, submission: str) -> Report:
    # Made anew: at the stub's own place there may be somebody's work.
    return try_out(grader, submission, None).report


def _try_mistake(
    grader: Grader, variant: Variant, select: set[str], known: dict[str, Mistake | None]
) -> tuple[Trial, list[str], list[str]]:
    """Return a mistake's trial, checks of the whole agent that catch it if no other does, and what is stale about it."""
    trial = try_out(grader, variant.submission, select)
    stale = list(_unlike_the_record(grader, variant, known))
    caught_by = []
    if not trial.lost():
        caught_by = [check.id for check in try_out(grader, variant.submission, whole_agent(grader.home.assignment)).lost()]
    return trial, caught_by, stale


def _unlike_the_record(grader: Grader, variant: Variant, known: dict[str, Mistake | None]) -> Iterator[str]:
    """Yield where tests/*/mistakes.json does not say what the checks have just seen of the mistake."""
    for suite in SUITES:
        where = f"tests/{suite}/mistakes.json is stale: {variant.id}"
        entry = known[suite]
        stored = entry.shows if entry else {}
        if entry and (entry.hint, entry.question) != (variant.hint, variant.question):
            yield f"{where} has another hint or question"
        for check in (key for key in grader.seen if key.startswith(f"{suite}/")):
            saw, failure = stored.get(check.partition("/")[2]), grader.seen[check]
            if failure is None and saw is not None:
                yield f"{where} passes {check} now"
            elif failure is not None and saw is None:
                yield f"{where} fails {check} now"
            elif failure is not None and saw != UNPREDICTABLE and not failure.alike(saw):
                yield f"{where} shows something else in {check} now"


def _try_whole_agent(
    grader: Grader, candidates: list[Variant], questions: list[str]
) -> tuple[list[tuple[str, str]], list[str]]:
    """Try what cannot learn on the checks of the whole agent, until each question has caught one.

    Return (check, mistake) for each that was caught, and the questions that caught none.
    """
    catches, unproven = [], set(questions)
    for variant in candidates:
        if not unproven:
            break
        for check in try_out(grader, variant.submission, unproven).lost():
            catches.append((check.id, variant.id))
            unproven = unproven - {check.question}
    return catches, sorted(unproven)


def _survives(grader: Grader, mutant: Mutant, explained: bool) -> bool:
    """Return whether no check catches a mutant. explained: survivors.toml has it, so the whole agent need not be trained."""
    assignment = grader.home.assignment
    survives = not try_out(grader, mutant.submission, unit_questions(assignment, mutant.function), thorough=False).lost()
    if survives and not explained:
        survives = not try_out(grader, mutant.submission, whole_agent(assignment), thorough=False).lost()
    return survives


def _points(report: Report) -> str:
    return f"{report.points:g}/{report.max_points:g}"


def _perfect(report: Report) -> bool:
    return report.final and report.points == report.max_points


def _loss(who: str, check) -> Finding:
    why = f"{check.message} {check.detail}".strip().partition("\n")[0]
    return f"{who} does not pass {check.id} ({check.outcome.value}): {why}", True


def _cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
