"""Where a wrong answer is wrong, if that can be put into words: at the flags of an input, in its first row, in one column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from grader.judge.compare import Tolerance
from grader.judge.influence import quote_words
from grader.judge.relations import find_right_places, is_sample, list_wrong_outputs

ENOUGH = 5  # rows, so that a place says something
ENOUGH_SIGNS = 8  # fewer signs agree with any other marks by chance


def explain_marked_rows(expected: Any, got: Any, how: Tolerance, inputs: Mapping[str, Any], signs: bool = False) -> str | None:
    """Return a question about the first numbers of an answer that are wrong in exactly the rows that an input marks, or None.

    Args:
        how: How closely numbers must agree.
        inputs: The inputs of the case. Those with as many rows as the answer may mark its rows.
        signs: Whether negative numbers are the marks, not flags.
    """
    for name, wrong in _list_wrong_places(expected, got, how):
        for words, marks in _list_marks(inputs, signs):
            if marks.shape != wrong.shape[: marks.ndim]:
                continue
            rows = np.count_nonzero(wrong.reshape(*marks.shape, -1), axis=-1) > 0
            if rows.ndim == 1 and rows.sum() == 1 and (rows[0] or rows[-1]):
                continue  # it may be wrong because it is the first or last row
            if np.array_equal(rows, marks):
                return f"Why is {name} wrong exactly where {words}?"
            if np.array_equal(rows, ~marks):
                return f"Why is {name} right exactly where {words}?"
    return None


def explain_position(expected: Any, got: Any, how: Tolerance) -> str | None:
    """Return a question about the first numbers of an answer of which the first or last alone is wrong, or right, or None.

    Args:
        how: How closely numbers must agree.
    """
    for name, wrong in _list_wrong_places(expected, got, how):
        for axis, kind in enumerate(("row", "column")[: wrong.ndim]):
            lines = np.count_nonzero(np.moveaxis(wrong, axis, 0).reshape(wrong.shape[axis], -1), axis=1) > 0
            for marked, said in ((lines, "wrong"), (~lines, "right")):
                if len(lines) >= ENOUGH and marked.sum() == 1 and (marked[0] or marked[-1]):
                    part = "number" if wrong.ndim == 1 else kind
                    return f"Why is only the {'first' if marked[0] else 'last'} {part} of {name} {said}?"
    return None


def _list_wrong_places(expected: Any, got: Any, how: Tolerance) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the name of each output of which some numbers are wrong and others right, and which numbers are wrong."""
    for name, right, found in list_wrong_outputs(expected, got, how):
        if right.shape == found.shape and not is_sample(name):
            wrong = ~find_right_places(right, found, how)
            if not wrong.all():
                yield quote_words(name), wrong


def _list_marks(inputs: Mapping[str, Any], signs: bool, prefix: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """Yield, for each input that marks some rows and not others, words for that and which rows it marks."""
    for name, value in inputs.items():
        whole = f"{prefix}['{name}']" if prefix else str(name)
        if isinstance(value, Mapping):
            yield from _list_marks(value, signs, whole)
        array = _as_array(value)
        if array is None:
            continue
        flags = bool(np.isin(array, (0, 1)).all())
        if signs and array.dtype.kind == "f" and not flags and array.size >= ENOUGH_SIGNS:
            marks, words = array < 0, f"{whole} is negative"
        elif not signs and flags and array.size >= ENOUGH:
            marks, words = array.astype(bool), f"{whole} is {'True' if array.dtype.kind == 'b' else 1}"
        else:
            continue
        if min(marks.sum(), (~marks).sum()) >= (2 if signs else 1):
            yield words, marks


def _as_array(value: Any) -> np.ndarray | None:
    """Return numbers or flags as an array; None for anything else."""
    if not isinstance(value, (list, tuple, np.ndarray)):
        return None
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        return None
    return array if array.ndim and array.dtype.kind in "biuf" else None
