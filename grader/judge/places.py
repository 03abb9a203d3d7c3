"""Where a wrong answer is wrong, if that can be put into words: at the flags of an input, in its first row, in one column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from grader.judge.evidence import MANY
from grader.judge.influence import list_outputs, quote_words
from grader.judge.relations import SAMPLED

ENOUGH = 5  # rows, so that a place says something
RTOL, ATOL = 1e-4, 1e-5  # of numbers that are right; the latter as a share of the largest one


def explain_place(expected: Any, got: Any, inputs: Mapping[str, Any]) -> str | None:
    """Return a question about the first numbers of an answer that are wrong only in a place that has a name, or None.

    Args:
        inputs: The inputs of the case. Places are named by those that have as many rows as the answer.
    """
    right = list_outputs(expected, MANY, nested=True)
    for name, found in list_outputs(got, MANY, nested=True).items():
        if name not in right or right[name].shape != found.shape or not found.ndim or name.endswith(SAMPLED):
            continue
        wrong = _find_wrong(right[name], found)
        if 0 < wrong.sum() < wrong.size and (said := _explain_rows(wrong, inputs) or _explain_position(wrong)):
            return f"Why is {said.format(name=quote_words(name))}?"
    return None


def _find_wrong(expected: np.ndarray, got: np.ndarray) -> np.ndarray:
    """Return which numbers are wrong, beyond rounding."""
    scale = float(np.abs(expected[np.isfinite(expected)]).max(initial=0.0))
    return np.asarray(~np.isclose(got, expected, rtol=RTOL, atol=ATOL * scale, equal_nan=True))


def _explain_rows(wrong: np.ndarray, inputs: Mapping[str, Any]) -> str | None:
    """Return which input marks the rows that are wrong."""
    for name, marks in _list_marks(inputs):
        if marks.ndim > wrong.ndim or marks.shape != wrong.shape[: marks.ndim] or marks.size < ENOUGH:
            continue
        rows = wrong.reshape(*marks.shape, -1).any(axis=-1)
        if np.array_equal(rows, marks):
            return f"{{name}} wrong exactly where {name}"
        if np.array_equal(rows, ~marks):
            return f"{{name}} right exactly where {name}"
    return None


def _list_marks(inputs: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """Yield where each flag among the inputs is set, and where each number is negative, each with words for it."""
    for name, value in inputs.items():
        whole = f"{prefix}['{name}']" if prefix else name
        if isinstance(value, Mapping):
            yield from _list_marks(value, whole)
        if isinstance(value, (list, np.ndarray)) and (array := _as_array(value)) is not None:
            if np.isin(array, (0, 1)).all():
                yield f"{whole} is True" if array.dtype.kind == "b" else f"{whole} is 1", array.astype(bool)
            elif array.dtype.kind == "f":
                yield f"{whole} is negative", array < 0


def _as_array(value: Any) -> np.ndarray | None:
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        return None
    return array if array.ndim and array.dtype.kind in "bif" else None


def _explain_position(wrong: np.ndarray) -> str | None:
    """Return which row or column alone is wrong, or right."""
    for axis, kind in enumerate(("row", "column")[: wrong.ndim]):
        if wrong.shape[axis] < ENOUGH:
            continue
        lines = np.count_nonzero(np.moveaxis(wrong, axis, 0).reshape(wrong.shape[axis], -1), axis=1) > 0
        for marked, said in ((lines, "wrong"), (~lines, "right")):
            if marked.sum() == 1 and (marked[0] or marked[-1]):
                part = "number" if wrong.ndim == 1 else kind
                return f"only the {'first' if marked[0] else 'last'} {part} of {{name}} {said}"
    return None
