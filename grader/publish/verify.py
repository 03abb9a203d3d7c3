"""Proving a suite: the solution and right alternatives get everything, the stub nothing; mistakes and mutants are caught."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from grader import answers
from grader.answers import UNPREDICTABLE, Mistake
from grader.assignment import SUITES, Home
from grader.judge.run import Grader
from grader.publish import flake as flakiness
from grader.publish.build import build
from grader.publish.catalogue import CatalogueError, Variant, load
from grader.publish.matrix import Matrix
from grader.publish.mutants import known_survivors, mutants
from grader.publish.stub import make_stub
from grader.publish.trials import Trial, questions_about, tracked, try_out, whole_agent
from grader.report.model import Outcome, Report, write

TOLD = 0.9  # of the mistakes, at least so many must be told by their own hint
MUTANTS_CAUGHT = 0.95

Finding = tuple[str, bool | None]  # what was found, and whether it is a fault; None for what is only told


@dataclass(frozen=True)
class Whole:
    """A whole file to be tried."""

    submission: str


def verify(
    root: Path, name: str, quick: bool = False, everything: bool = False, html: Path | None = None, seeds: int = 0
) -> Iterator[Finding]:
    """Yield (what was found, whether it is a fault), one line after another; None is neither fault nor proof.

    quick: no mutants. everything: try each mistake on every question, not on its own ones alone. html: write the matrix of
    mistakes and checks there. seeds: how often to repeat what chance decides (see `flake`).
    """
    began = _cpu_seconds()
    home = Home(root, name)
    yield from _generated(root, name)
    proof = Proof(home, everything)
    yield from proof.read_catalogue()
    with Grader(home, SUITES) as grader:
        yield from proof.solution(grader)
        if not proof.usable:
            return
        yield from proof.stub(grader)
        yield from proof.alternatives(grader)
        yield from proof.mistakes(grader)
        yield from proof.whole_agent(grader)
        if not quick:
            yield from proof.mutants(grader)
    if html is not None:
        write(html, proof.matrix().html())
        yield f"wrote {html}", False
    yield f"took {_cpu_seconds() - began:.0f} CPU seconds", False
    if seeds:
        yield from flakiness.measure(home, seeds, proof.right, proof.wrong)


def _generated(root: Path, name: str) -> Iterator[Finding]:
    stale = build(root, name, check=True, mistakes=False)
    for path in stale:
        yield f"{path.relative_to(root)} is stale: run `python -m grader build {name}`", True
    if not stale:
        yield "stub, cases and answers are up to date", False


@dataclass
class Proof:
    """The parts of the proof of one assignment, in their order; each yields what it finds.

    everything: see `verify`. usable: whether the solution passes, without which nothing else means anything.
    """

    home: Home
    everything: bool
    usable: bool = False
    right: list[Variant] = field(default_factory=list)
    wrong: list[Variant] = field(default_factory=list)
    checks: list = field(default_factory=list)
    trials: dict[str, tuple[Variant, Trial]] = field(default_factory=dict)

    def matrix(self) -> Matrix:
        """Return which check catches which mistake."""
        whole = whole_agent(self.home.assignment)
        return Matrix(self.home.assignment, [check for check in self.checks if check.question not in whole], self.trials)

    def solution(self, grader: Grader) -> Iterator[Finding]:
        trial = try_out(grader, Whole(self._text()), None)
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

    def stub(self, grader: Grader) -> Iterator[Finding]:
        # Made anew: at the stub's own place there may be somebody's work.
        trial = try_out(grader, Whole(make_stub(self._text(), self.home.assignment)), None)
        report = trial.report
        yield f"the stub gets {_points(report)}", report.points != 0 or not report.final
        for question in report.questions:
            if question.outcome is not Outcome.NOT_STARTED:
                yield f"{question.id} of the stub is {question.outcome.value!r}, not 'not started'", True
        for check in report.checks:
            task = self.home.assignment.question(check.question).task
            if check.unwritten and task not in check.message:
                yield f"the stub's {check.id} says {check.message!r}, not what to write: {task}", True

    def alternatives(self, grader: Grader) -> Iterator[Finding]:
        passed = 0
        for variant in tracked(self.right, "alternatives"):
            # Of the whole agent, what does not need the question has something else in its place.
            whole = {question.id for question in self.home.assignment.questions if variant.question in question.needs}
            trial = try_out(grader, variant, self._concerned(variant) | whole)
            passed += _perfect(trial.report)
            yield from (_loss(f"the alternative {variant.id}", check) for check in trial.lost())
            if trial.report.note:
                yield f"the alternative {variant.id}: {trial.report.note}", True
        yield f"{passed} of {len(self.right)} alternatives get everything", passed < len(self.right)

    def mistakes(self, grader: Grader) -> Iterator[Finding]:
        if not self.wrong:
            return
        known = {suite: answers.read_mistakes(self.home.mistakes[suite], self.home.assignment.name) for suite in SUITES}
        for variant in tracked(self.wrong, "mistakes"):
            trial = try_out(grader, variant, self._concerned(variant))
            self.trials[variant.id] = variant, trial
            yield from self._caught(grader, variant, trial)
            yield from _recorded(variant, trial, known)
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

    def _caught(self, grader: Grader, variant: Variant, trial: Trial) -> Iterator[Finding]:
        assignment = self.home.assignment
        lost = {check.question for check in trial.lost()}
        if variant.question not in lost:
            yield f"the mistake {variant.id} passes every check of {variant.question}", True
        if not lost:
            checks = [check.id for check in try_out(grader, variant, whole_agent(assignment)).lost()]
            yield f"the mistake {variant.id} is caught by {', '.join(checks) or 'nothing at all'}", not checks
        for question in sorted(lost - whole_agent(assignment)):
            if assignment.question(question).function != variant.function:
                yield f"the mistake {variant.id} costs points on {question} as well, which does not use it", True
        if trial.report.note:
            yield f"the mistake {variant.id}: {trial.report.note}", True

    def whole_agent(self, grader: Grader) -> Iterator[Finding]:
        """Try those that cannot learn on the checks of the whole agent, until each of these has caught one."""
        assignment = self.home.assignment
        unproven = whole_agent(assignment) & {check.question for check in self.checks} if self.wrong else set()
        functions = {assignment.question(question).function for question in unproven}
        for variant in sorted((v for v in self.wrong if not v.learns), key=lambda variant: variant.function not in functions):
            if not unproven:
                break
            for check in try_out(grader, variant, unproven).lost():
                yield f"{check.id} catches {variant.id}", False
                unproven = unproven - {check.question}
        for question in sorted(unproven):
            yield f"the checks of {question} are vacuous: no mistake that cannot learn fails them", True

    def mutants(self, grader: Grader) -> Iterator[Finding]:
        known = known_survivors(self.home)
        found = [(mutant, next((entry for entry in known if entry.means(mutant)), None)) for mutant in mutants(self.home)]
        caught, equivalent, met = 0, 0, set()
        for mutant, entry in tracked(found, "mutants"):
            select = questions_about(self.home.assignment, mutant.function)
            survives = not try_out(grader, mutant, select, thorough=False).lost()
            if survives and entry is None:
                survives = not try_out(grader, mutant, whole_agent(self.home.assignment), thorough=False).lost()
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
        for entry in known:
            if entry not in met:
                yield f"survivors.toml is stale: {entry.question}: {entry.change} is caught, or no mutant any more", True

    def _concerned(self, variant: Variant) -> set[str]:
        """Return the questions to try a variant on; those of the whole agent are a matter of their own."""
        assignment = self.home.assignment
        if self.everything:
            return {question.id for question in assignment.questions} - whole_agent(assignment) | {variant.question}
        return questions_about(assignment, variant.function) | {variant.question}

    def _text(self) -> str:
        return (self.home.solution / self.home.assignment.submission).read_text(encoding="utf-8")


def _recorded(variant: Variant, trial: Trial, known: dict[str, dict[str, Mistake]]) -> Iterator[Finding]:
    """Yield where tests/*/mistakes.json does not say what the mistake shows."""
    for suite in SUITES:
        where = f"tests/{suite}/mistakes.json is stale: {variant.id}"
        entry = known[suite].get(variant.id)
        stored = entry.shows if entry else {}
        if entry and (entry.hint, entry.question) != (variant.hint, variant.question):
            yield f"{where} has another hint or question", True
        for check in (key for key in trial.seen if key.startswith(f"{suite}/")):
            saw, failure = stored.get(check.partition("/")[2]), trial.seen[check]
            if failure is None and saw is not None:
                yield f"{where} passes {check} now", True
            elif failure is not None and saw is None:
                yield f"{where} fails {check} now", True
            elif failure is not None and saw != UNPREDICTABLE and not failure.alike(saw):
                yield f"{where} shows something else in {check} now", True


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
