"""Prove a suite: the solution and alternatives get full marks, the stub none; mistakes and mutants are caught."""

from __future__ import annotations

import contextlib
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from grader import answers
from grader.answers import Mistake
from grader.assignment import SUITES, AssignmentFiles
from grader.authoring.build import BuildOptions, build
from grader.authoring.checks_read import list_draft_titles
from grader.authoring.stub import make_stub
from grader.judge.harness import Harness
from grader.judge.judging import NO_BLANK
from grader.judge.run import Grader
from grader.proof import flake as flakiness
from grader.proof.boundary import Finding, find_leaks, prove_confinement
from grader.proof.catalogue import REWRITE, CatalogueError, Variant, is_draft, load_catalogue
from grader.proof.collateral import MistakeCost, judge_costs, judge_visibility, measure_cost, read_exceptions
from grader.proof.ideas import judge_ideas, read_ideas
from grader.proof.loss import find_check, locate_entry
from grader.proof.matrix import KillMatrix
from grader.proof.mutants import Mutant, Survivor, make_mutants, read_survivors
from grader.proof.pairs import measure_hints
from grader.proof.pool import PendingResult, TrialPool
from grader.proof.records import TrialRunner, shorten_name
from grader.proof.testside import TRIED, prove_test_side
from grader.proof.trials import (
    MARGIN,
    Facts,
    Trial,
    TrialResult,
    TrialTask,
    Verdict,
    list_end_to_end_questions,
    list_unit_questions,
    observe_facts,
    try_variant,
    write_coverage,
)
from grader.report.model import CheckResult, Outcome, Report, write_atomically
from grader.sandbox.reply import PROCESSORS

RECOGNIZED = 0.9  # minimum share of mistakes that are recognized by their own hint
MUTANTS_CAUGHT = 0.95
MOST_OF_A_MESSAGE = 300  # characters of a failed check's message in a line about it
MANY = 30  # minimum number of trials for which recording the coverage of the solution first saves time


@dataclass(frozen=True)
class ProofOptions:
    """Options of a proof.

    Attributes:
        quick: Whether to skip mutants, mistakes on other questions than their own, and the training of alternatives that
            return the same as the solution in every call.
        html: The file for the matrix of mistakes and checks.
        seeds: How often to repeat random checks (see `flake`).
        workers: How many trials run at the same time.
        anew: Whether to trust neither records of trials nor kept replies, and to write new records if there is no fault.
        sample: The seed that selects the records to recheck; by default, a different one at each run.
    """

    quick: bool = False
    html: Path | None = None
    seeds: int = 0
    workers: int = 1
    anew: bool = False
    sample: int | None = None


def verify(root: Path, name: str, options: ProofOptions | None = None) -> Iterator[Finding]:
    """Yield the lines of a proof, each with whether it is a fault; None is a remark."""
    began, faults = _cpu_seconds(), 0
    options = options or ProofOptions()
    home = AssignmentFiles(root, name)
    if leaks := list(find_leaks(home)):
        yield from ((leak, True) for leak in leaks)
        return
    proof = Proof(home, options)
    with Harness(home) as harness:
        for finding in prove_confinement(harness):  # before the pool's server has imported anything
            faults += bool(finding[1])
            yield finding
        if faults:
            return
        with TrialPool(harness, options.workers, name) as pool:
            for finding in proof.run(pool):
                faults += bool(finding[1])
                yield finding
        if not proof.usable:
            return
        if options.anew and not faults:
            yield proof.trials.write(), False
        if options.html is not None:
            write_atomically(options.html, proof.matrix().html())
            yield f"wrote {options.html}", False
        if options.seeds:
            with TrialPool(harness, options.workers, f"{name}, with many seeds") as pool:
                yield from flakiness.measure_flakes(pool, home, options.seeds, proof.right, proof.wrong)
    yield f"took {_cpu_seconds() - began:.0f} CPU seconds", False


@dataclass
class Proof:
    """The parts of the proof of one assignment.

    Attributes:
        usable: Whether the solution passes; otherwise nothing else is meaningful.
        right, wrong: The alternatives and mistakes of the catalogue.
        checks: The checks that graded the solution.
        tried: By id, each mistake with its task and result.
        trials: All trials except those of the solution, the stub and agents that cannot learn, which have no records.
    """

    home: AssignmentFiles
    options: ProofOptions
    usable: bool = False
    right: list[Variant] = field(default_factory=list)
    wrong: list[Variant] = field(default_factory=list)
    checks: list[CheckResult] = field(default_factory=list)
    tried: dict[str, tuple[Variant, TrialTask, Verdict]] = field(default_factory=dict)
    trials: TrialRunner = field(init=False)

    def run(self, pool: TrialPool) -> Iterator[Finding]:
        """Yield the findings, part by part.

        All trials are submitted first, the longest before the others: those that train agents. The quick proof knows only after
        the trial of an alternative whether to train it.
        """
        stale = pool.submit(_stale)
        solution = pool.submit(_try_solution, self._text())
        faults = list(self.read_catalogue())
        known = self._recorded_mistakes()
        units = [self._unit_task(variant) for variant in self.right]
        training = [self._training_task(variant) for variant in self.right]
        wrong = [self._mistake_task(variant, known) for variant in self.wrong]
        beside = [None if self.options.quick else self._beside_task(variant) for variant in self.wrong]
        changed = [] if self.options.quick else self._mutant_tasks()
        rounded = self._processor_tasks()
        all_tasks = [
            *rounded,
            *units,
            *filter(None, training),
            *wrong,
            *filter(None, beside),
            *(task for _, _, task in changed),
        ]
        sample = random.randrange(10**6) if self.options.sample is None else self.options.sample
        self.trials = TrialRunner(pool, self.home, all_tasks, known, sample, self.options.anew)
        covered = self._cover(pool, [*units, *wrong, *filter(None, beside), *(task for _, _, task in changed)])
        for task in [*([] if self.options.quick else filter(None, training)), *rounded, *units]:
            self.trials.start(task)
        whole = pool.submit(_try_whole_agent, self._hopeless(), sorted(self._proven_by_mistakes()))
        stub = pool.submit(_try_stub, make_stub(self._text(), self.home.assignment))
        for task in [*wrong, *filter(None, beside), *(task for _, _, task in changed)]:
            self.trials.start(task)

        yield from _generated(self.home, stale.result())
        yield from faults
        if stale.result():  # whatever else fails, fails because of this
            return
        if covered is not None:
            covered.result()
        trial, self.trials.solution = solution.result()
        yield from self.solution(trial)
        if not self.usable:
            return
        needed = [task if task and self._must_train(unit, task) else None for unit, task in zip(units, training, strict=True)]
        for task in filter(None, needed):
            self.trials.start(task)
        yield from self.processors(rounded)
        yield from self.stub(stub.result())
        yield from self.alternatives(units, needed, spared=len(list(filter(None, training))) - len(list(filter(None, needed))))
        yield from self.mistakes(wrong, beside, known)
        yield from self.end_to_end(*whole.result())
        if not self.options.quick:
            yield from self.mutants(changed)
            lost = [(variant, verdict.failed) for variant, _, verdict in self.tried.values()]
            yield from prove_test_side(pool, self.home, self.right, lost, sample, finds=not self.options.anew)
            yield from measure_hints(pool, self.home, self.right, self.wrong, sample)
        yield from self.trials.findings()

    def _cover(self, pool: TrialPool, tasks: list[TrialTask]) -> PendingResult[list[str]] | None:
        """Write the coverage of the solution, if there are enough trials for it."""
        if sum(not self.trials.believes(task) for task in tasks) < MANY:
            return None
        return pool.submit(write_coverage, self._text(), frozenset(self._units()), self.trials.coverage)

    def _must_train(self, unit: TrialTask, training: TrialTask) -> bool:
        """Return whether the quick proof trains an alternative: only if it returned something else than the solution."""
        if not self.options.quick or self.trials.has_record(training):
            return True
        return not (unit.questions and self.trials.result(unit).verdict.alike)

    def matrix(self) -> KillMatrix:
        """Return which check catches which mistake."""
        whole = list_end_to_end_questions(self.home.assignment)
        return KillMatrix(self.home.assignment, [check for check in self.checks if check.question not in whole], self.tried)

    def solution(self, trial: Trial) -> Iterator[Finding]:
        report = trial.report
        self.usable = not report.cause
        # A check that only looks at an attachment cannot run: no solution has an attachment. It must have 0 points.
        idle = [check for check in report.checks if check.outcome is Outcome.NOT_RUN and not check.max_points]
        self.checks = [check for check in report.checks if check not in idle]
        yield f"the solution gets {_points(report)}", not _perfect(report)
        yield from (_loss("the solution", check) for check in trial.lost())
        yield from ((f"{check.id} is not proven here: {check.message}", None) for check in idle)
        if report.cause:
            yield report.explain_stop(), True

    def processors(self, tasks: list[TrialTask]) -> Iterator[Finding]:
        """Yield whether the solution passes, with less than every tolerance, where libraries round as on other processors.

        Args:
            tasks: Its trials with their arithmetic.
        """
        faults = 0
        for task in tasks:
            tried = self.trials.result(task)
            for loss in (*tried.losses, *filter(None, [tried.note])):
                faults += 1
                yield (
                    f"with the arithmetic of {task.processor} and {MARGIN:.0%} of every tolerance, the solution loses {loss}",
                    True,
                )
        names = ", ".join(task.processor for task in tasks)
        passes = "does not pass" if faults else "passes"
        yield f"with {names} arithmetic, the solution {passes} with {MARGIN:.0%} of every tolerance", faults > 0

    def read_catalogue(self) -> Iterator[Finding]:
        """Read mistakes and alternatives first, so that faults in them are reported at once."""
        for kind, found in (("alternatives", self.right), ("mistakes", self.wrong)):
            try:
                found += load_catalogue(self.home, kind)
            except CatalogueError as error:
                yield from ((fault, True) for fault in error.faults)
            else:
                if kind == "mistakes" and not found:
                    yield "solutions/ has no mistakes: nothing shows that the checks catch any", True

    def stub(self, report: Report) -> Iterator[Finding]:
        yield f"the stub gets {_points(report)}", report.points != 0 or not report.final
        for question in report.questions:
            if question.outcome is not Outcome.NOT_STARTED:
                yield f"{question.id} of the stub is {question.outcome.value!r}, not 'not started'", True
        for check in report.checks:
            task = self.home.assignment.question(check.question).task
            if check.unwritten and task.removeprefix(NO_BLANK) not in check.message:
                yield f"the stub's {check.id} says {check.message!r}, but must say what to write: {task}", True

    def alternatives(self, units: list[TrialTask], training: list[TrialTask | None], spared: int) -> Iterator[Finding]:
        """Yield the findings about the alternatives.

        Args:
            training: Their tasks that train.
            spared: How many training tasks were left out.
        """
        passed = 0
        for variant, *tasks in zip(self.right, units, training, strict=True):
            found = [self.trials.result(task) for task in tasks if task]
            passed += not any(tried.verdict.lost or tried.note for tried in found)
            for tried in found:
                more = f" (and {len(tried.losses) - 1} more checks)" if len(tried.losses) > 1 else ""
                where = locate_entry(self.home, "alternatives", variant.id)
                yield from (
                    (f"{where}: the alternative {variant.id} does not pass {loss}{more}; correct it, or the check", True)
                    for loss in tried.losses[:1]
                )
                if tried.note:
                    yield f"the alternative {variant.id}: {tried.note}", True
        yield f"{passed} of {len(self.right)} alternatives get full marks", None if passed < len(self.right) else False
        if spared:
            yield f"{spared} of these return the same as the solution in every call and were not trained (--quick)", None

    def mistakes(
        self, tasks: list[TrialTask], beside: list[TrialTask | None], known: dict[str, dict[str, Mistake]]
    ) -> Iterator[Finding]:
        """Yield the findings about the mistakes.

        Args:
            tasks: Trials on the questions of their own functions.
            beside: Trials on the questions of other functions, if there are any.
            known: Their recorded evidence.
        """
        if not self.wrong:
            return
        build, stale = f"run `python -m grader build {self.home.assignment.name}`", False
        for variant, task in zip(self.wrong, tasks, strict=True):
            tried = self.trials.result(task)
            self.tried[variant.id] = variant, task, tried.verdict
            stale |= bool(tried.stale)
            yield from self._caught(variant, task, tried)
            if is_draft(variant.hint):
                yield f"the hint of {variant.id} {REWRITE}", True
            yield from ((f"{line}; {build}", True) for line in tried.stale)
        for suite, entries in known.items():
            where = self.home.mistakes[suite].relative_to(self.home.root)
            for gone in sorted(entries.keys() - self.tried.keys()):
                yield f"{where} is stale: it has {gone}, which is not in the catalogue; {build}", True

        matrix = self.matrix()
        yield from ((line, None) for line in matrix.lines())
        for check in matrix.vacuous():
            only = " except by an exception, which any check would show" if matrix.caught_by[check.id] else ""
            advice = "let it compare more, add the mistake that it is for, or delete it"
            name = check.id.partition("/")[2]
            yield f"{find_check(self.home, check.id)}: {name} is vacuous: no mistake fails it{only}; {advice}", True
        yield from ((line, None) for line in ["", *matrix.remarks()])
        caught = sum(bool(verdict.failed) for _, _, verdict in self.tried.values())
        yield f"{caught} of {len(self.wrong)} mistakes are caught", None if caught < len(self.wrong) else False
        if placed := [variant for variant in self.wrong if variant.place]:
            yield f"{len(placed)} of these are placements of {len({variant.idea for variant in placed})} mistakes", None
        whole = list_end_to_end_questions(self.home.assignment)  # their checks give no hints
        hinted = [each.id for each in self.wrong if each.question not in whole and self.tried[each.id][2].failed]
        recognized = matrix.recognized()
        share = f"mistakes are recognized by their own hint (at least {RECOGNIZED:.0%} must be)"
        few = len(recognized) < RECOGNIZED * len(hinted)
        yield f"{len(recognized)} of {len(hinted)} {share}", None if few and stale else few
        yield from ((f"not recognized by its own hint: {name}", None) for name in hinted if name not in recognized)
        seen, explained = {*matrix.caught_in("visible")} & {*hinted}, matrix.recognized("visible")
        yield f"visible checks recognize {len(explained)} of the {len(seen)} mistakes that they catch", None
        failed = {name: verdict.failed for name, (_, _, verdict) in self.tried.items()}
        yield from judge_ideas(read_ideas(self.home), matrix.checks, failed)
        if self.options.quick:
            return
        costs = [self._cost(variant, task) for variant, task in zip(self.wrong, beside, strict=True)]
        yield from judge_costs(costs, read_exceptions(self.home))
        yield from judge_visibility(costs)

    def _cost(self, variant: Variant, beside: TrialTask | None) -> MistakeCost:
        """Return the cost of a mistake, without end-to-end questions."""
        _, _, verdict = self.tried[variant.id]
        verdicts = [verdict, *([self.trials.result(beside).verdict] if beside else [])]
        lost = {check for each in verdicts for ended in each.lost.values() for check in ended}
        counting = self._units() | {variant.question}
        checks = [check for check in self.checks if check.question in counting]
        return measure_cost(self.home.assignment, checks, variant, lost)

    def _caught(self, variant: Variant, task: TrialTask, tried: TrialResult) -> Iterator[Finding]:
        question_of = {check.id: check.question for check in self.checks}
        checks = [check for ended in tried.verdict.lost.values() for check in ended]
        lost = {question_of[check] for check in checks if check in question_of}
        own = lost & (task.questions | {variant.question})
        if variant.question not in own:
            where = locate_entry(self.home, "mistakes", variant.idea)
            yield f"{where}: {self._uncaught(variant, checks, sorted(own))}", True
        if not own and checks:
            yield f"the mistake {variant.id} is caught by {', '.join(checks)}", False
        if tried.note:
            yield f"the mistake {variant.id}: {tried.note}", True

    def _uncaught(self, variant: Variant, checks: list[str], others: list[str]) -> str:
        """Return why no check of its question catches a mistake.

        Args:
            checks: The checks that catch it.
            others: Their questions.
        """
        if others and variant.question in list_end_to_end_questions(self.home.assignment):
            caught = f"is caught by checks of {', '.join(others)} ({', '.join(checks)}) before those of {variant.question}"
            return f"the mistake {variant.id} {caught}: declare it for {others[0]}"
        what = f"the mistake {variant.id} passes every check of {variant.question}"
        return f"{what}; add a case whose inputs reveal it, or delete it if it is right"

    def end_to_end(self, catches: list[tuple[str, str]], unproven: list[str]) -> Iterator[Finding]:
        yield from ((f"{check} catches {mistake}", False) for check, mistake in catches)
        for question in unproven:
            yield f"the checks of {question} are vacuous: no mistake that cannot learn fails them", True

    def mutants(self, found: list[tuple[Mutant, Survivor | None, TrialTask]]) -> Iterator[Finding]:
        caught, equivalent, met = 0, 0, set()
        for mutant, entry, task in found:
            survives = self.trials.result(task).verdict.survives
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
        for entry in read_survivors(self.home):
            if entry not in met and entry.question not in TRIED:
                yield f"survivors.toml is stale: {entry.question}: {entry.change} is caught, or is no longer a mutant", True

    def _processor_tasks(self) -> list[TrialTask]:
        """Return the trials of the solution with the arithmetic of other processors; what is trained there is not compared."""
        asked = frozenset(self._units())
        return [TrialTask(f"processor {name}", self._text(), asked, processor=name) for name in PROCESSORS]

    def _unit_task(self, variant: Variant) -> TrialTask:
        """Return the trial of an alternative on the questions about single functions."""
        asked = frozenset(self._concerned(variant) | self._needing(variant)) - list_end_to_end_questions(self.home.assignment)
        return TrialTask(f"alternative {variant.id}", variant.submission, asked, observed=True)

    def _training_task(self, variant: Variant) -> TrialTask | None:
        """Return the trial of an alternative on the questions that train, if one of them depends on it."""
        asked = frozenset(self._concerned(variant) | self._needing(variant)) & list_end_to_end_questions(self.home.assignment)
        return TrialTask(f"training {variant.id}", variant.submission, asked) if asked else None

    def _needing(self, variant: Variant) -> set[str]:
        # An end-to-end question that does not need this question replaces its function.
        return {question.id for question in self.home.assignment.questions if variant.question in question.together}

    def _mistake_task(self, variant: Variant, known: dict[str, dict[str, Mistake]]) -> TrialTask:
        return TrialTask(
            f"mistake {variant.id}",
            variant.submission,
            frozenset(list_unit_questions(self.home.assignment, variant.function)),  # those of which evidence is recorded
            whole=frozenset(list_end_to_end_questions(self.home.assignment)),
            mistake=(variant.id, variant.question, variant.hint),
            entries={suite: known[suite].get(variant.id) for suite in SUITES},
        )

    def _beside_task(self, variant: Variant) -> TrialTask | None:
        """Return the trial of a mistake on the questions of other functions, if there are any."""
        other = self._units() - self._concerned(variant)
        return TrialTask(f"beside {variant.id}", variant.submission, frozenset(other)) if other else None

    def _mutant_tasks(self) -> list[tuple[Mutant, Survivor | None, TrialTask]]:
        """Return the trials of mutants. Those listed in survivors.toml need no training of an agent."""
        known, found, assignment = read_survivors(self.home), [], self.home.assignment
        for mutant in make_mutants(self.home):
            entry = next((entry for entry in known if entry.means(mutant)), None)
            whole = frozenset() if entry else frozenset(list_end_to_end_questions(assignment))
            asked = frozenset(list_unit_questions(assignment, mutant.function))
            name = shorten_name(f"mutant {mutant.question}: {mutant.change}")
            found.append((mutant, entry, TrialTask(name, mutant.submission, asked, whole, thorough=False)))
        return found

    def _recorded_mistakes(self) -> dict[str, dict[str, Mistake]]:
        name = self.home.assignment.name
        return {suite: answers.read_mistakes(self.home.mistakes[suite], name) if self.wrong else {} for suite in SUITES}

    def _hopeless(self) -> list[Variant]:
        """Return the mistakes that cannot learn, those in functions of end-to-end questions first."""
        assignment = self.home.assignment
        functions = {assignment.question(question).function for question in list_end_to_end_questions(assignment)}
        return sorted(
            (variant for variant in self.wrong if not variant.learns), key=lambda variant: variant.function not in functions
        )

    def _proven_by_mistakes(self) -> set[str]:
        """Return the end-to-end questions, if there are mistakes to try them on."""
        return list_end_to_end_questions(self.home.assignment) if self.wrong else set()

    def _concerned(self, variant: Variant) -> set[str]:
        """Return the questions on which to try a variant; end-to-end questions are tried separately."""
        return list_unit_questions(self.home.assignment, variant.function) | {variant.question}

    def _units(self) -> set[str]:
        """Return the questions about single functions."""
        assignment = self.home.assignment
        return {question.id for question in assignment.questions} - list_end_to_end_questions(assignment)

    def _text(self) -> str:
        return (self.home.solution / self.home.assignment.submission).read_text(encoding="utf-8")


def _stale(grader: Grader) -> list[Path]:
    home = grader.home
    stale = build(home.root, home.assignment.name, BuildOptions(check=True, mistakes=False), harness=grader.harness)
    missing = [path for path in home.mistakes.values() if not path.is_file()]
    # Without the evidence, every check of every mistake would be a fault.
    return stale + missing if missing and _has_mistakes(home) else stale


def _has_mistakes(home: AssignmentFiles) -> bool:
    with contextlib.suppress(CatalogueError):  # which is reported where the catalogue is read
        return bool(load_catalogue(home, "mistakes"))
    return False


def _generated(home: AssignmentFiles, stale: list[Path]) -> Iterator[Finding]:
    yield from ((slip.describe(home.root), True) for slip in list_draft_titles(home))
    if stale:
        names = ", ".join(path.relative_to(home.root).as_posix() for path in stale)
        kind = "is stale" if len(stale) == 1 else "are stale"
        yield f"{names} {kind}: run `python -m grader build {home.assignment.name}`", True
    if not stale:
        yield "stub, cases and answers are up to date", False


def _try_solution(grader: Grader, submission: str) -> tuple[Trial, Facts]:
    """Return the trial of the solution, and the facts of its calls."""
    with observe_facts(grader) as facts:
        return try_variant(grader, submission, None), facts


def _try_stub(grader: Grader, submission: str) -> Report:
    # Made again, because the stub's file may contain somebody's work.
    return try_variant(grader, submission, None).report


def _try_whole_agent(
    grader: Grader, candidates: list[Variant], questions: list[str]
) -> tuple[list[tuple[str, str]], list[str]]:
    """Try mistakes that cannot learn on the end-to-end checks, until each question has caught one.

    Return (check, mistake) for each catch, and the questions that caught none.
    """
    catches, unproven = [], set(questions)
    for variant in candidates:
        if not unproven:
            break
        for check in try_variant(grader, variant.submission, unproven).lost():
            catches.append((check.id, variant.id))
            unproven = unproven - {check.question}
    return catches, sorted(unproven)


def _points(report: Report) -> str:
    return f"{report.points:g}/{report.max_points:g}"


def _perfect(report: Report) -> bool:
    return report.final and report.points == report.max_points


def _loss(who: str, check: CheckResult) -> Finding:
    why = " ".join(f"{check.message} {check.detail}".split())[:MOST_OF_A_MESSAGE]
    return f"{who} does not pass {check.id} ({check.outcome.value}): {why}", True


def _cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
