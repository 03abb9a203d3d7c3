"""Regenerating what is made from solutions/: stub and notebook, the cases with their answers, and what mistakes show."""

from __future__ import annotations

import contextlib
import importlib.util
from pathlib import Path
from types import ModuleType

from grader import answers
from grader.answers import UNPREDICTABLE, Answers, Case, Mistake, Recipe
from grader.assignment import OVERVIEW, SUITES, Home, UsageError
from grader.judge.compare import difference, show
from grader.judge.harness import Harness
from grader.judge.student import failure
from grader.publish.catalogue import load
from grader.publish.notebook import make_notebook
from grader.publish.pool import TrialPool
from grader.publish.stub import make_stub
from grader.publish.trials import record_mistakes
from grader.report.model import write
from grader.sandbox.wire import Refused
from grader.sandbox.worker import fingerprints

DEFAULT_SEED = 1
SECONDS = 60  # wall clock of one case on the solution


def build(
    root: Path,
    name: str,
    check: bool = False,
    seed: int | None = None,
    mistakes: bool = True,
    harness: Harness | None = None,
    workers: int = 1,
) -> list[Path]:
    """Bring stub, notebook, answers and the record of mistakes of an assignment up to date; return the files that were not.

    check: write nothing. seed: make the hidden cases from a new seed; otherwise the one in the file is kept. mistakes: False
    leaves out the files of mistakes, which take longest. harness: one that is open already; by default, build opens one of its
    own. workers: how many mistakes to try at a time. Numbers count as up to date when they agree within the checks' tolerance,
    because the last digits differ from machine to machine.
    """
    home = Home(root, name)
    if not home.solution.is_dir():
        raise UsageError(f"there is no {home.solution}: stubs and answers are made from solutions, which only instructors have")
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
            write(home.stub, stub)
    notebook = _notebook(home)
    if notebook is not None and (not home.notebook.is_file() or home.notebook.read_text(encoding="utf-8") != notebook):
        stale.append(home.notebook)
        if not check:
            write(home.notebook, notebook)
    recipes = load_recipes(home)
    with contextlib.ExitStack() as stack:
        harness = harness or stack.enter_context(Harness(home))
        return stale + _from_trials(home, recipes, fingerprints(stub), harness, check, seed, mistakes, workers)


def _from_trials(
    home: Home,
    recipes: list[Recipe],
    stub: dict[str, str],
    harness: Harness,
    check: bool,
    seed: int | None,
    mistakes: bool,
    workers: int,
) -> list[Path]:
    """Bring up to date what only running the solution and the mistakes can tell; see `build`."""
    name, stale = home.assignment.name, []
    for suite in SUITES:
        path = home.answers[suite]
        old = _old(path, name)
        chosen = seed if seed is not None and suite == "hidden" else old.seed if old else DEFAULT_SEED
        cooked = {recipe.name: _cook(recipe, chosen) for recipe in recipes if recipe.suite == suite}
        new = Answers(chosen, solve(harness, cooked), stub)
        if old is None or not _same(old, new):
            stale.append(path)
            if not check:
                write(path, answers.render(name, new))
    stale += write_overview(home.root, check)
    if mistakes:
        with TrialPool(harness, workers, "mistakes") as pool:
            recorded = record_mistakes(pool, load(home, "mistakes"))
        for suite, found in recorded.items():
            path = home.mistakes[suite]
            if not same_mistakes(answers.read_mistakes(path, name), found):
                stale.append(path)
                if not check:
                    write(path, answers.render_mistakes(name, found))
    return stale


def write_overview(root: Path, check: bool = False) -> list[Path]:
    """Bring solution.json, with the visible cases and answers of all assignments, up to date; return it if it was not.

    Args:
        root: The kit's folder.
        check: Whether to write nothing.
    """
    path = root / OVERVIEW
    text = answers.render_overview((root / "tests" / "visible" / "answers").glob("*.json"))
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return []
    if not check:
        write(path, text)
    return [path]


def same_mistakes(old: dict[str, Mistake], new: dict[str, Mistake]) -> bool:
    """Return whether two records of mistakes agree; where either says that chance decides, in failing alone."""
    if [(was.id, was.question, was.hint) for was in old.values()] != [(now.id, now.question, now.hint) for now in new.values()]:
        return False
    return all(
        set(was.shows) == set(now.shows)
        and all(
            UNPREDICTABLE in (was.shows[check], saw) or difference(saw, was.shows[check], equal_nan=True) is None
            for check, saw in now.shows.items()
        )
        for was, now in zip(old.values(), new.values(), strict=True)
    )


def load_recipes(home: Home) -> list[Recipe]:
    """Return the cases declared in the assignment's cases.py, checked."""
    path = home.solution / "cases.py"
    try:
        module = _import(path)
    except Exception as error:
        raise UsageError(f"{path.relative_to(home.root)} cannot be imported: {type(error).__name__}: {error}") from error
    recipes = [value for value in vars(module).values() if isinstance(value, Recipe)]
    ids = {question.id for question in home.assignment.questions}
    for recipe in recipes:
        if recipe.question not in ids:
            raise UsageError(
                f"case {recipe.name}: there is no question {recipe.question!r}; there are: {', '.join(sorted(ids))}"
            )
    return recipes


def _cook(recipe: Recipe, seed: int) -> Case:
    try:
        case = recipe.cook(seed)
    except Exception as error:
        raise UsageError(f"case {recipe.name} cannot be made: {type(error).__name__}: {error}") from error
    if not isinstance(case.inputs, dict):
        raise UsageError(f"case {recipe.name} must return a dict, the driver's arguments by name; found {show(case.inputs)}")
    return case


def solve(harness: Harness, cases: dict[str, Case]) -> dict[str, Case]:
    """Return the cases with the answers that the solution's drivers give, computed in the sandbox."""
    solved, home = {}, harness.home
    harness.warm_up()
    submission = harness.place((home.solution / home.assignment.submission).read_bytes())
    for key, case in cases.items():
        try:
            reply = harness.sandbox.call(case.driver, case.inputs, submission, SECONDS)
        except Refused as refused:
            raise UsageError(f"case {key} cannot be handed to its driver: {refused}") from refused
        if reply.status != "ok":
            question = home.assignment.question(case.question)
            why = failure(reply, question, SECONDS, home.assignment.limits.memory_mb, reply.output)
            raise UsageError(f"case {key}: its driver {case.driver!r} fails on the solution: {why}\n{reply.output}".strip())
        solved[key] = Case(key, case.driver, case.question, case.inputs, reply.facts)
    return solved


def _notebook(home: Home) -> str | None:
    """Return the text of the notebook, if the assignment has one."""
    source = home.solution / "notebook.py"
    return make_notebook(source.read_text(encoding="utf-8")) if source.is_file() else None


def _keep_work(home: Home, stub: str) -> None:
    """Raise UsageError if the file at the stub's place holds more than a stub: somebody's work, which must not be lost."""
    old = _old(home.answers["visible"], home.assignment.name)
    if old is None or not home.stub.is_file():
        return
    known = set(old.stub.values()) | set(fingerprints(stub).values())
    try:
        now = fingerprints(home.stub.read_bytes())
    except (SyntaxError, ValueError):
        now = {"the file": ""}
    if work := [name for name, fingerprint in now.items() if fingerprint not in known]:
        raise UsageError(f"{home.stub} holds work of its own ({', '.join(work[:3])}); move it away, then build again")


def _old(path: Path, name: str) -> Answers | None:
    try:
        return answers.read(path, name)
    except (FileNotFoundError, KeyError, ValueError):
        return None


def _same(old: Answers, new: Answers) -> bool:
    if (old.seed, old.stub, list(old.cases)) != (new.seed, new.stub, list(new.cases)):
        return False
    return all(
        (was.driver, was.question) == (case.driver, case.question)
        and difference(case.inputs, was.inputs, rtol=1e-12, atol=0.0, exact_dtype=True) is None
        and difference(case.answer, was.answer, exact_dtype=True) is None
        for was, case in ((old.cases[key], new.cases[key]) for key in new.cases)
    )


def _import(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
