"""Find built files that are out of date, without running the solution or a mistake.

One kind of staleness cannot be found this way: only running the solution shows whether it still returns the stored answers
(`build --check`). A proof covers the answers and the solution together, so an up-to-date proof closes this gap.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from grader import answers
from grader.assignment import SUITES, AssignmentFiles, UsageError
from grader.authoring.build import render_notebook
from grader.authoring.recipes import cook_case, load_recipes, same_inputs
from grader.authoring.stub import make_stub
from grader.proof.catalogue import Variant, load_catalogue
from grader.proof.trials import list_end_to_end_questions
from grader.sandbox.definitions import hash_functions


class StaleFile(NamedTuple):
    """A stale built file, and the reason."""

    path: Path
    why: str


def list_stale_files(home: AssignmentFiles) -> Iterator[StaleFile]:
    """Yield the built files of an assignment that do not match their sources.

    Raises:
        UsageError: If a source cannot be read; `build` would raise the same error.
    """
    solution = home.solution / home.assignment.submission
    if not solution.is_file():
        raise UsageError(f"there is no {_name(home, solution)}: it is the source of stub and answers, for instructors only")
    stub = make_stub(solution.read_text(encoding="utf-8"), home.assignment)
    if _text(home.stub) != stub:
        yield StaleFile(home.stub, f"{_name(home, solution)} makes a different stub")
    notebook = render_notebook(home)
    if notebook is not None and _text(home.notebook) != notebook:
        yield StaleFile(home.notebook, f"{_name(home, home.solution / 'notebook.py')} makes a different notebook")
    functions = hash_functions(stub)
    for suite in SUITES:
        if why := _find_stale_answers(home, suite, functions):
            yield StaleFile(home.answers[suite], why)
    yield from _list_stale_mistakes(home, load_catalogue(home, "mistakes"))


def is_stale(home: AssignmentFiles) -> bool:
    """Return whether a built file is out of date, or cannot be compared because a source cannot be read."""
    try:
        return any(list_stale_files(home))
    except UsageError:
        return True


def _find_stale_answers(home: AssignmentFiles, suite: str, stub: dict[str, str]) -> str:
    """Return the reason why the answers of a suite are stale; "" if they are not."""
    try:
        stored = answers.read_answers(home.answers[suite], home.assignment.name)
    except FileNotFoundError:
        return "it is not there"
    except (KeyError, TypeError, ValueError):
        return "it cannot be read"
    made = {recipe.name: cook_case(recipe, stored.seed) for recipe in load_recipes(home) if recipe.suite == suite}
    if lost := [*(made.keys() - stored.cases.keys()), *(stored.cases.keys() - made.keys())]:
        return f"it and cases.py do not have the same cases: {', '.join(sorted(lost))}"
    if other := [name for name, case in made.items() if not same_inputs(stored.cases[name], case)]:
        return f"cases.py makes different inputs for {', '.join(other)}"
    if list(made) != list(stored.cases):
        return "cases.py has the cases in a different order"
    return "" if stored.stub == stub else "it was built with a different stub"


def _list_stale_mistakes(home: AssignmentFiles, catalogue: list[Variant]) -> Iterator[StaleFile]:
    """Yield the files of evidence whose mistakes, questions or hints differ from the catalogue."""
    declared = {variant.id: (variant.question, variant.hint) for variant in catalogue}
    whole = list_end_to_end_questions(home.assignment)  # of what their checks see, nothing is recorded
    unseen = {variant.id for variant in catalogue if variant.question not in whole}
    for suite in SUITES:
        try:
            recorded = answers.read_mistakes(home.mistakes[suite], home.assignment.name)
        except (KeyError, TypeError, ValueError):
            yield StaleFile(home.mistakes[suite], "it cannot be read")
            return
        unseen -= recorded.keys()
        if other := [key for key, was in recorded.items() if declared.get(key) != (was.question, was.hint)]:
            yield StaleFile(
                home.mistakes[suite], f"mistakes.py has a different question or hint for {', '.join(other)}, or none"
            )
    if unseen:
        why = f"it lacks {', '.join(sorted(unseen))} of mistakes.py (`verify` reports mistakes that no check sees)"
        yield StaleFile(home.mistakes["visible"], why)


def _text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def _name(home: AssignmentFiles, path: Path) -> str:
    return path.relative_to(home.root).as_posix()
