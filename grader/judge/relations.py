"""How a wrong answer is related to the right one, where that can be put into words: a factor, a sign, another order."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.judge.compare import format_number
from grader.judge.evidence import MANY
from grader.judge.influence import format_times, list_outputs


def explain_relation(expected: Any, got: Any) -> str | None:
    """Return a question about the first numbers of two answers that are related in a way that can be put into words, or None.

    Factors, signs, an offset, rows that were moved, turned round or in another order: none of it needs the function again.
    """
    right = list_outputs(expected, MANY, nested=True)
    for name, found in list_outputs(got, MANY, nested=True).items():
        if name in right and (said := _relate(right[name], found)):
            return f"Why {said.format(name=name)}?"
    return None


def _relate(expected: np.ndarray, got: np.ndarray) -> str | None:
    if expected.shape != got.shape or not (np.isfinite(expected).all() and np.isfinite(got).all()) or not _apart(expected, got):
        return None
    right, found = expected.ravel(), got.ravel()
    if not found.any() and right.any():
        return "is {name} 0" if right.size == 1 else "is {name} 0 everywhere"
    if not _apart(found, -right):
        return "does {name} have the opposite sign"
    if right.size < 3 or np.ptp(right) < 1e-3 * np.abs(right).max():
        return None
    if np.ptp(found) < 1e-6 * max(np.abs(found).max(), 1e-6):
        return "is {name} the same everywhere"
    factor = float((right @ found) / (right @ right))
    if not _apart(factor * right, found):
        return f"is {{name}} {format_times(factor)} what it should be, everywhere"
    offset = float((found - right).mean())
    if not _apart(right + offset, found):
        return f"is {{name}} off by the same {format_number(float(f'{offset:.3g}'))} everywhere"
    return _relate_order(expected, got)


def _relate_order(expected: np.ndarray, got: np.ndarray) -> str | None:
    if not _apart(expected[::-1], got):
        return "does {name} stand in reverse order"
    if expected.shape[0] > 3:
        if not _apart(expected[1:], got[:-1]):
            return "does {name}[t] hold what belongs to step t + 1"
        if not _apart(expected[:-1], got[1:]):
            return "does {name}[t] hold what belongs to step t - 1"
    if not _apart(np.sort(expected, axis=None), np.sort(got, axis=None)):
        return "does {name} hold the right numbers in another order"
    return None


def _apart(one: np.ndarray, other: np.ndarray) -> bool:
    return not np.allclose(one, other, rtol=1e-3, atol=1e-4 * max(float(np.abs(one).max(initial=0.0)), 1e-6))
