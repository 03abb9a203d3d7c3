"""Regenerate everything that is made from solutions/: stub, notebook, cases with answers, and the evidence of mistakes."""

from __future__ import annotations

import ast
import contextlib
import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict

from grader import answers
from grader.answers import UNPREDICTABLE, Case, CaseRecipe, Mistake, SuiteAnswers
from grader.assignment import SUITES, AssignmentFiles, UsageError
from grader.authoring.facts_read import list_unknown_facts
from grader.authoring.moves import describe_moves
from grader.authoring.notebook import make_notebook
from grader.authoring.overview import write_overview
from grader.authoring.recipes import cook_case, load_recipes, same_inputs
from grader.authoring.solving import solve_cases
from grader.authoring.stub import make_stub
from grader.judge.compare import difference
from grader.judge.harness import Harness
from grader.proof.cached_pool import CachedPool
from grader.proof.catalogue import load_catalogue
from grader.proof.pairs import record_pairs
from grader.proof.trials import record_mistakes
from grader.report.model import write_atomically
from grader.sandbox.definitions import hash_functions

WORTH_A_WORKER = 8  # mistakes per worker: starting a copy of the grader costs as much as trying some mistakes
DEFAULT_SEED = 1


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
    notebook, recipes = render_notebook(home), load_recipes(home)
    with contextlib.ExitStack() as stack:
        harness = harness or stack.enter_context(Harness(home))
        if not check:
            _keep_work(home, stub)
        _remove_damaged(home, options)
        try:
            seeds, solved = _solve_suites(harness, recipes, options)  # first, so that nothing is written if this fails
        except UsageError as error:
            raise UsageError(f"nothing was {'compared' if check else 'built'}: {error}") from error
        stale = _write_sources(home, stub, notebook, options)
        return stale + _from_trials(harness, seeds, solved, hash_functions(stub), options)


def _remove_damaged(home: AssignmentFiles, options: BuildOptions) -> None:
    """Remove generated files that cannot be read, so that they are made anew: only `build` writes them."""
    for path in list_damaged(home):
        where = path.relative_to(home.root)
        if options.check:
            raise UsageError(f"{where} is damaged; run `python -m grader build {home.assignment.name}`, which makes it anew")
        path.unlink()
        options.report(f"{where} was damaged: it is made anew")


def _write_sources(home: AssignmentFiles, stub: str, notebook: str | None, options: BuildOptions) -> list[Path]:
    """Update the stub and the notebook, which are made without running anything; see `build`."""
    stale, check = [], options.check
    if not home.stub.is_file() or home.stub.read_text(encoding="utf-8") != stub:
        stale.append(home.stub)
        if not check:
            source = home.solution / home.assignment.submission
            if home.stub.is_file() and home.stub.stat().st_mtime > source.stat().st_mtime:
                where = home.stub.relative_to(home.root)
                options.report(
                    f"{where} was newer than its source: if you edited it, edit {source.relative_to(home.root)} instead"
                )
            write_atomically(home.stub, stub)
    if notebook is not None and (not home.notebook.is_file() or home.notebook.read_text(encoding="utf-8") != notebook):
        stale.append(home.notebook)
        if not check:
            write_atomically(home.notebook, notebook)
    return stale


def _solve_suites(
    harness: Harness, recipes: list[CaseRecipe], options: BuildOptions
) -> tuple[dict[str, int], dict[str, dict[str, Case]]]:
    """Return, by suite, the seed of its cases and the cases with the answers of the solution."""
    seeds, solved = {}, {}
    for suite in SUITES:
        old = _old(harness.home.answers[suite], harness.home.assignment.name)
        hidden = options.seed if suite == "hidden" else None
        seeds[suite] = hidden if hidden is not None else old.seed if old else DEFAULT_SEED
        cooked = {recipe.name: cook_case(recipe, seeds[suite]) for recipe in recipes if recipe.suite == suite}
        solved[suite] = solve_cases(harness, cooked, options.report, twice=not options.check)
    if slips := list(list_unknown_facts(harness.home, {key: case for of in solved.values() for key, case in of.items()})):
        raise UsageError("; ".join(slip.describe(harness.home.root) for slip in slips))
    return seeds, solved


def _from_trials(
    harness: Harness,
    seeds: dict[str, int],
    all_solved: dict[str, dict[str, Case]],
    stub: dict[str, str],
    options: BuildOptions,
) -> list[Path]:
    """Update the files that depend on running the solution and the mistakes; see `build`."""
    home, check = harness.home, options.check
    name, stale = home.assignment.name, []
    for suite in SUITES:
        path = home.answers[suite]
        old, chosen = _old(path, name), seeds[suite]
        solved = all_solved[suite]
        before, allowed = old.cases if old else {}, _tolerances(home, suite)
        both = {key: (before[key], case) for key, case in solved.items() if key in before}
        moved = {key: pair for key, pair in both.items() if not _same(*pair, allowed.get(key, {}))}
        same_cases = list(before) == list(solved) and not moved
        if old is None or (old.seed, old.stub) != (chosen, stub) or not same_cases:
            stale.append(path)
            for line in [*describe_moves(home, suite, moved), *_list_hand_edits(home, path, moved)]:
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
        with CachedPool(harness, min(options.workers, 1 + len(catalogue) // WORTH_A_WORKER), "mistakes") as pool:
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


def _list_hand_edits(home: AssignmentFiles, path: Path, moved: Collection[str]) -> Iterator[str]:
    """Yield a remark if a file of answers is newer than all of its sources: somebody may have edited it."""
    sources = [home.solution / "cases.py", home.solution / home.assignment.submission, home.drivers]
    if moved and path.is_file() and all(path.stat().st_mtime > source.stat().st_mtime for source in sources):
        where, first = (each.relative_to(home.root) for each in (path, sources[0]))
        yield f"{where} was newer than its sources: if you edited it, edit {first} or the solution instead"


def list_damaged(home: AssignmentFiles) -> list[Path]:
    """Return the generated files of answers and mistakes that are there and cannot be read."""
    damaged = []
    for read, paths in ((answers.read_answers, home.answers), (answers.read_mistakes, home.mistakes)):
        for path in filter(Path.is_file, paths.values()):
            try:
                read(path, home.assignment.name)
            except (ValueError, KeyError, TypeError, AttributeError):
                damaged.append(path)
    return damaged


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
