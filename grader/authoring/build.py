"""Regenerate everything that is made from solutions/: stub, notebook, cases with answers, and the evidence of mistakes."""

from __future__ import annotations

import ast
import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from grader import answers
from grader.answers import UNPREDICTABLE, Case, CaseRecipe, Mistake, SuiteAnswers
from grader.assignment import SUITES, AssignmentFiles, UsageError
from grader.authoring.moves import describe_moves
from grader.authoring.notebook import make_notebook
from grader.authoring.overview import write_overview
from grader.authoring.recipes import MAX_CASE, check_size, cook_case, holds_nan, list_unstorable, load_recipes, same_inputs
from grader.authoring.stub import make_stub
from grader.judge.compare import difference
from grader.judge.failure import explain_failure
from grader.judge.harness import Harness
from grader.judge.influence import MAX_NUDGES, MAX_OUTPUT, Influences, list_nudges, list_outputs, measure_influences
from grader.proof.catalogue import load_catalogue
from grader.proof.pairs import record_pairs
from grader.proof.pool import TrialPool
from grader.proof.trials import record_mistakes
from grader.report.model import write_atomically
from grader.sandbox.definitions import hash_functions
from grader.sandbox.wire import ValueRefused

WORTH_A_WORKER = 8  # mistakes per worker: starting a copy of the grader costs as much as trying some mistakes
DEFAULT_SEED = 1
SECONDS = 60  # seconds (wall clock) for one case on the solution


@dataclass(frozen=True)
class BuildOptions:
    """How an assignment is built.

    Attributes:
        check: Whether to write nothing.
        seed: The seed of the hidden cases; by default, the one in the file.
        mistakes: Whether to update the files of mistakes, which takes longest.
        workers: How many mistakes to try at the same time.
        report: Called with a line for each case whose inputs or answer have changed (by how much, and for which checks),
            and with a line about the tried pairs of mistakes.
    """

    check: bool = False
    seed: int | None = None
    mistakes: bool = True
    workers: int = 1
    report: Callable[[str], object] = lambda _: None


def build(root: Path, name: str, options: BuildOptions | None = None, harness: Harness | None = None) -> list[Path]:
    """Update stub, notebook, answers and the evidence of mistakes of an assignment; return the files that were stale.

    A stored number stays if the new one agrees within the tolerance of the checks: last digits differ between machines.

    Args:
        root: The kit's folder.
        name: The assignment.
        options: How it is built.
        harness: An open harness; by default, a new one is opened.

    Raises:
        UsageError: If an author has to correct something first.
    """
    options = options or BuildOptions()
    check = options.check
    home = AssignmentFiles(root, name)
    if not home.solution.is_dir():
        raise UsageError(
            f"there is no {home.solution}: stubs and answers are built from solutions, which only instructors have"
        )
    solution = home.solution / home.assignment.submission
    try:
        stub = make_stub(solution.read_text(encoding="utf-8"), home.assignment)
    except UsageError as error:
        raise UsageError(f"{solution.relative_to(root)}: {error}") from error
    stale = []
    if not home.stub.is_file() or home.stub.read_text(encoding="utf-8") != stub:
        stale.append(home.stub)
        if not check:
            _keep_work(home, stub)
            write_atomically(home.stub, stub)
    notebook = render_notebook(home)
    if notebook is not None and (not home.notebook.is_file() or home.notebook.read_text(encoding="utf-8") != notebook):
        stale.append(home.notebook)
        if not check:
            write_atomically(home.notebook, notebook)
    recipes = load_recipes(home)
    with contextlib.ExitStack() as stack:
        harness = harness or stack.enter_context(Harness(home))
        return stale + _from_trials(harness, recipes, hash_functions(stub), options)


def _from_trials(harness: Harness, recipes: list[CaseRecipe], stub: dict[str, str], options: BuildOptions) -> list[Path]:
    """Update the files that depend on running the solution and the mistakes; see `build`."""
    home, check, seed = harness.home, options.check, options.seed
    name, stale = home.assignment.name, []
    for suite in SUITES:
        path = home.answers[suite]
        old = _old(path, name)
        chosen = seed if seed is not None and suite == "hidden" else old.seed if old else DEFAULT_SEED
        cooked = {recipe.name: cook_case(recipe, chosen) for recipe in recipes if recipe.suite == suite}
        solved = solve_cases(harness, cooked)
        for key in (key for key, case in solved.items() if holds_nan(case.answer)):
            options.report(f"case {key}: the solution answers with NaN, with which no answer agrees; choose other inputs")
        before, allowed = old.cases if old else {}, _tolerances(home, suite)
        both = {key: (before[key], case) for key, case in solved.items() if key in before}
        moved = {key: pair for key, pair in both.items() if not _same(*pair, allowed.get(key, {}))}
        same_cases = list(before) == list(solved) and not moved
        if old is None or (old.seed, old.stub) != (chosen, stub) or not same_cases:
            stale.append(path)
            for line in describe_moves(home, suite, moved):
                options.report(line)
            if not check:
                released = old.replaced_by(stub) if old else {}
                kept = {key: before[key] for key in both.keys() - moved.keys()}
                write_atomically(
                    path,
                    answers.render_answers(name, SuiteAnswers(chosen, solved | kept, stub, released), packed=suite == "hidden"),
                )
    stale += write_overview(home.root, check)
    if options.mistakes:
        catalogue = load_catalogue(home, "mistakes")
        with TrialPool(harness, min(options.workers, 1 + len(catalogue) // WORTH_A_WORKER), "mistakes") as pool:
            text = (home.solution / home.assignment.submission).read_text(encoding="utf-8")
            recorded = record_mistakes(pool, text, catalogue)
            recorded["visible"], counts = record_pairs(pool, text, catalogue, recorded["visible"])
            options.report(counts.describe())
        for suite, found in recorded.items():
            path, known = home.mistakes[suite], answers.read_mistakes(home.mistakes[suite], name)
            if not mistakes_agree(known, found):
                stale.append(path)
                if not check:
                    write_atomically(
                        path, answers.render_mistakes(name, {key: _kept(known.get(key), now) for key, now in found.items()})
                    )
    return stale


def mistakes_agree(old: dict[str, Mistake], new: dict[str, Mistake]) -> bool:
    """Return whether two records of mistakes agree; if one says that chance decides, only the failure must agree."""
    if [(was.id, was.question, was.hint) for was in old.values()] != [(now.id, now.question, now.hint) for now in new.values()]:
        return False
    return all(
        _shows_agree(was.shows, now.shows)
        and was.pairs.keys() == now.pairs.keys()
        and all(_shows_agree(was.pairs[other], shown) for other, shown in now.pairs.items())
        for was, now in zip(old.values(), new.values(), strict=True)
    )


def _shows_agree(was: dict[str, Any], now: dict[str, Any]) -> bool:
    return was.keys() == now.keys() and all(_alike(was[check], saw) for check, saw in now.items())


def _alike(was: Any, now: Any) -> bool:
    # The default tolerance, 1e-5, is as large as all that a small gradient shows.
    return UNPREDICTABLE in (was, now) or difference(now, was, atol=1e-9, equal_nan=True) is None


def _kept(was: Mistake | None, now: Mistake) -> Mistake:
    """Return a record of a mistake, with the old values wherever both agree."""
    before = was.shows if was else {}
    random = {check for check, saw in now.shows.items() if UNPREDICTABLE in (saw, before.get(check))}
    kept = {check for check in (now.shows.keys() & before.keys()) - random if _alike(before[check], now.shows[check])}
    shows = {check: before[check] if check in kept else saw for check, saw in now.shows.items()}
    pairs = {
        other: known if (known := was and was.pairs.get(other)) and _shows_agree(known, shown) else shown
        for other, shown in now.pairs.items()
    }
    return replace(now, shows=shows, pairs=pairs)


def solve_cases(harness: Harness, cases: dict[str, Case]) -> dict[str, Case]:
    """Return the cases with the answers of the solution, computed in the sandbox."""
    solved, home = {}, harness.home
    harness.warm_up()
    submission = harness.place((home.solution / home.assignment.submission).read_bytes())
    for key, case in cases.items():
        try:
            reply = harness.sandbox.call(case.driver, case.inputs, submission, SECONDS)
        except ValueRefused as refused:
            raise UsageError(f"case {key} cannot be passed to its driver: {refused}") from refused
        if reply.status != "ok":
            question = home.assignment.question(case.question)
            why = explain_failure(reply, question, SECONDS, home.assignment.limits.memory_mb, reply.output)
            raise UsageError(f"case {key}: its driver {case.driver!r} fails on the solution: {why}\n{reply.output}".strip())
        if reply.facts is None:
            raise UsageError(f"case {key}: its driver {case.driver!r} returns None; let it return its facts, in a dict by name")
        check_size(key, reply.facts)
        solved[key] = replace(case, answer=reply.facts, influences=_measure(harness, submission, case))
        try:
            size = len(answers.render_answers("", SuiteAnswers(0, {key: solved[key]}, {})))
        except ValueError as error:  # names of facts with NaN or infinity, which JSON cannot hold and no answer can equal
            bad = ", ".join(map(str, list_unstorable(reply.facts))) or "its inputs"
            raise UsageError(
                f"case {key}: the solution answers with NaN or infinity in {bad}, which cannot be stored; "
                "choose other inputs, or let the driver report whether the number is finite"
            ) from error
        if size > MAX_CASE:
            raise UsageError(f"case {key} takes {size / 1e3:.0f} kB of text, at most {MAX_CASE / 1e3:.0f}: use fewer numbers")
    return solved


def _measure(harness: Harness, submission: Path, case: Case) -> Influences:
    """Return how the solution's answer depends on the inputs that the case nudges."""
    if not case.nudges:
        return {}
    if unknown := case.nudges.keys() - case.inputs.keys():
        raise UsageError(f"case {case.name}: nudges names {min(unknown)!r}, which is not one of its inputs")
    if (count := sum(1 for _ in list_nudges(case.inputs, case.nudges))) > MAX_NUDGES:
        raise UsageError(f"case {case.name}: nudges {count} rows, at most {MAX_NUDGES}; use a smaller case")

    def call(inputs: dict[str, Any], seed: int = 0) -> Any:
        return harness.sandbox.call(case.driver, inputs, submission, SECONDS, seed).facts

    facts = call(case.inputs)
    if difference(facts, call(case.inputs, seed=1), equal_nan=True) is not None:
        raise UsageError(f"case {case.name}: its answer depends on chance, so nudges would show nothing")
    found = measure_influences(list_outputs(facts), call, case.inputs, case.nudges)
    if not found:
        raise UsageError(f"case {case.name}: nudges change no number of its answer (in arrays of at most {MAX_OUTPUT} numbers)")
    return {name: {output: shorten(matrix) for output, matrix in of.items()} for name, of in found.items()}


def shorten(matrix: np.ndarray) -> np.ndarray:
    """Return influences in half precision, if it holds them: they are compared within a few percent; else in float32."""
    with np.errstate(over="ignore"):
        short = matrix.astype(np.float16)
    size = float(np.abs(matrix).max(initial=0.0))
    return short if np.allclose(short, matrix, rtol=1e-3, atol=1e-4 * size) else matrix.astype(np.float32)


def render_notebook(home: AssignmentFiles) -> str | None:
    """Return the text of the notebook, if the assignment has one."""
    source = home.solution / "notebook.py"
    return make_notebook(source.read_text(encoding="utf-8"), home.assignment.questions) if source.is_file() else None


def _keep_work(home: AssignmentFiles, stub: str) -> None:
    """Raise UsageError if the stub's file has been edited.

    Then it is somebody's work, which must not be lost.
    """
    old = _old(home.answers["visible"], home.assignment.name)
    if old is None or not home.stub.is_file():
        return
    known = {*hash_functions(stub).values(), *(own for every in old.unwritten().values() for own in every)}
    try:
        now = hash_functions(home.stub.read_bytes())
    except (SyntaxError, ValueError):
        now = {"the file": ""}
    if work := [name for name, fingerprint in now.items() if fingerprint not in known]:
        raise UsageError(f"{home.stub} contains your own changes ({', '.join(work[:3])}); move it away, then build again")


def _old(path: Path, name: str) -> SuiteAnswers | None:
    try:
        return answers.read_answers(path, name)
    except (FileNotFoundError, KeyError, ValueError):
        return None


class _Tolerances(TypedDict, total=False):
    """The tolerances of a check; see `difference`."""

    rtol: float
    atol: float


def _tolerances(home: AssignmentFiles, suite: str) -> dict[str, _Tolerances]:
    """Return, for each case, the smallest tolerances among the checks that name it, or the defaults."""
    found: dict[str, _Tolerances] = {}
    with contextlib.suppress(SyntaxError, OSError):  # running the checks will report these
        tree = ast.parse(home.checks[suite].read_text(encoding="utf-8"))
        for check in (node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))):
            nodes = list(ast.walk(check))
            keywords = ((node.arg, node.value) for node in nodes if isinstance(node, ast.keyword))
            constants = ((name, node.value) for name, node in keywords if isinstance(node, ast.Constant))
            numbers = [(name, value) for name, value in constants if isinstance(value, (int, float))]  # None is the default
            for case in {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}:
                closest = found.setdefault(case, {})
                for name, value in numbers:
                    if name == "rtol":
                        closest["rtol"] = min(value, closest.get("rtol", math.inf))
                    elif name == "atol":
                        closest["atol"] = min(value, closest.get("atol", math.inf))
    return found


def _same(was: Case, now: Case, tolerance: _Tolerances) -> bool:
    """Return whether a stored case can stay unchanged.

    Args:
        was: The stored case.
        now: The new version of the same case.
        tolerance: The tolerance of its checks, if it is not the default.
    """
    return (
        (was.driver, was.question) == (now.driver, now.question)
        and same_inputs(was, now)
        and difference(now.answer, was.answer, **tolerance, exact_dtype=True) is None
        and difference(was.answer, now.answer, **tolerance, exact_dtype=True) is None  # a tensor is an array, not the reverse
        and difference(was.influences, now.influences, rtol=0.02, atol=0.005) is None
    )
