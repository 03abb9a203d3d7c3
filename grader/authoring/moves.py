"""Describe by how much the answers of cases have changed since the last build."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from grader.answers import Case
from grader.assignment import AssignmentFiles
from grader.authoring.recipes import same_inputs
from grader.fingerprints import list_check_ingredients
from grader.judge.compare import is_number


def describe_moves(home: AssignmentFiles, suite: str, cases: dict[str, tuple[Case, Case]]) -> Iterator[str]:
    """Yield a line for each case whose inputs or answer changed: by how much, and which checks use it."""
    about = {}
    with contextlib.suppress(SyntaxError, OSError, ValueError):  # running the checks will report these
        about = list_check_ingredients(home, (suite,)) if cases else {}
    for key, (was, now) in cases.items():
        checks = ", ".join(sorted(check for check in about if key in about[check].cases)) or "no check"
        if not same_inputs(was, now):
            yield f"case {key} has new inputs; used by {checks}"
        elif (was.driver, was.question) != (now.driver, now.question):
            yield f"case {key} has a new driver or question; used by {checks}"
        else:
            yield f"case {key}: the answer {_distance(was.answer, now.answer)}; used by {checks}"


def _distance(was: Any, now: Any) -> str:
    """Return a description of the difference of two trees of plain data."""
    old, new = (np.array(list(_numbers(value)), np.float64) for value in (was, now))
    if len(old) != len(new) or not len(old) or np.array_equal(old, new) or not np.isfinite([*old, *new]).all():
        return "has a new form"
    apart = np.abs(new - old)
    return f"changed in {np.count_nonzero(apart)} of {len(apart)} numbers, by at most {apart.max():.3g}"


def _numbers(value: Any) -> Iterator[float]:
    """Yield all numbers in plain data."""
    if isinstance(value, (dict, list, tuple)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _numbers(item)
    elif isinstance(value, np.ndarray):
        yield from value.ravel().astype(np.float64).tolist()
    elif is_number(value):
        yield float(value)
