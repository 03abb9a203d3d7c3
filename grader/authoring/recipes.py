"""Read, check and make the cases that an author declares in cases.py."""

from __future__ import annotations

import importlib.util
import math
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from grader import answers
from grader.answers import Case, CaseRecipe
from grader.assignment import AssignmentFiles, UsageError
from grader.judge.compare import difference, format_value

MAX_CASE = 250_000  # characters of a case with its answer: people read it, and every clone contains it
MAX_NUMBERS = MAX_CASE // 2  # a number takes at least a digit and a comma


class RecipeError(UsageError):
    """The cases in cases.py cannot be used.

    Attributes:
        faults: What is wrong, one fault for each case.
        line: The line of cases.py that raised an exception; 0 if none did.
    """

    def __init__(self, *faults: str, line: int = 0) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults
        self.line = line


def load_recipes(home: AssignmentFiles) -> list[CaseRecipe]:
    """Return the cases declared in the assignment's cases.py, checked.

    Raises:
        RecipeError: If it cannot be imported, or if cases are about unknown questions.
    """
    path = home.solution / "cases.py"
    try:
        module = _import(path)
    except Exception as error:
        said = f"{path.relative_to(home.root)} cannot be imported: {type(error).__name__}: {error}"
        lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == str(path)]
        raise RecipeError(said, line=lines[-1] if lines else 0) from error
    recipes = [value for value in vars(module).values() if isinstance(value, CaseRecipe)]
    ids = {question.id for question in home.assignment.questions}
    there_are = ", ".join(sorted(ids))
    lost: dict[str, list[str]] = {}
    for recipe in recipes:
        if recipe.question not in ids:
            lost.setdefault(recipe.question, []).append(recipe.name)
    if lost:
        raise RecipeError(
            *(
                f"case {first}: there is no question {question!r}; there are: {there_are}"
                + (f" ({len(more)} more cases name it)" if more else "")
                for question, (first, *more) in lost.items()
            )
        )
    return recipes


def cook_case(recipe: CaseRecipe, seed: int) -> Case:
    """Return a case without its answer.

    Raises:
        UsageError: If its function raises, or returns anything but the driver's arguments by name.
    """
    try:
        case = recipe.cook(seed)
    except Exception as error:
        raise UsageError(f"case {recipe.name} cannot be made: {type(error).__name__}: {error}") from error
    if not isinstance(case.inputs, dict):
        raise UsageError(
            f"case {recipe.name} must return a dict, the driver's arguments by name; found {format_value(case.inputs)}"
        )
    return case


def check_size(name: str, facts: Any) -> None:
    """Raise UsageError if the inputs or the answer of a case hold so many numbers that nobody could read them.

    Rendering them first would take minutes.
    """
    if (count := count_numbers(facts)) > MAX_NUMBERS:
        raise UsageError(f"case {name} holds {count:,} numbers, at most {MAX_NUMBERS:,}: use smaller arrays")


def count_numbers(facts: Any) -> int:
    """Return how many numbers and texts plain data holds."""
    if isinstance(facts, dict):
        return sum(map(count_numbers, facts.values()))
    if isinstance(facts, (list, tuple)):
        return sum(map(count_numbers, facts))
    return int(facts.size) if isinstance(facts, np.ndarray) else 1


def list_unstorable(facts: Any) -> list[str]:
    """Return the names of inputs or facts that contain NaN or infinity, which JSON cannot represent."""
    found = []
    for key, value in facts.items() if isinstance(facts, dict) else ():
        try:
            answers.hash_content(value)
        except ValueError:
            found.append(str(key))
    return found


def holds_nan(facts: Any) -> bool:
    """Return whether a number among these facts is NaN, which equals no answer."""
    if isinstance(facts, dict):
        return any(map(holds_nan, facts.values()))
    if isinstance(facts, (list, tuple)):
        return any(map(holds_nan, facts))
    return isinstance(facts, float) and math.isnan(facts)


def same_inputs(was: Case, now: Case) -> bool:
    """Return whether two cases have and nudge the same inputs, except for last digits, which differ between machines."""
    return was.nudges == now.nudges and difference(now.inputs, was.inputs, rtol=1e-12, atol=0.0, exact_dtype=True) is None


def _import(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    assert spec is not None  # as of every path that ends in .py
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
