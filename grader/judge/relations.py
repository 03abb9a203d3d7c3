"""How a wrong answer is related to the right one, where that can be put into words: a factor, a sign, another order."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.judge.compare import format_number
from grader.judge.evidence import MANY
from grader.judge.influence import format_times, list_outputs, quote_words

MOST_COUNTED = 64
SAMPLED = "some"  # the key of `evidence.subsample_arrays` under which some numbers stand for all
# Ten times coarser than checks compare: a relation to the right numbers survives the rounding of float32 sums, and three
# wrong numbers or more do not meet one by chance.
RTOL, ATOL = 1e-3, 1e-4  # the latter as a share of the largest number
ROUNDING = 0.005  # how far from 1 a factor may be, and from 0 an offset as a share of the largest number, by rounding alone
ON_A_LINE = 5  # different numbers, unevenly spaced, that only a linear function brings so close to a line
BENT = 0.1  # of the largest number: within less, a function of the right numbers looks like a line
SMALL = 1e-5  # of the largest right number: what a gradient is where it should be 0, by rounding alone
FUNCTIONS = (
    ("the absolute value of", np.abs),
    ("the square of", np.square),
    ("the square root of", np.sqrt),
    ("1 divided by", np.reciprocal),
    ("the exponential of", np.exp),
    ("the logarithm of", np.log),
    ("the logarithm of 1 plus", np.log1p),
    ("tanh of", np.tanh),
)
ROUNDINGS = (("towards 0", np.trunc), ("down", np.floor), ("to whole numbers", np.round), ("up", np.ceil))


def explain_relation(expected: Any, got: Any, loosely: bool = False) -> str | None:
    """Return a question about the first numbers of two answers that are related in a way that can be put into words, or None.

    Factors, signs, an offset, functions such as the square, limits, rows that were moved or turned round: none of it needs the
    function again.

    Args:
        loosely: Whether less will do: any factor and offset, numbers that are all 0 or all the same, or the right ones in any
            order or with some wrong signs.
    """
    right = list_outputs(expected, MANY, nested=True)
    for name, found in list_outputs(got, MANY, nested=True).items():
        if name in right and (said := _relate(right[name], found, loosely)):
            whole = name.removesuffix(f" for {SAMPLED}")
            return f"Why {said.format(name='the answer' if whole == SAMPLED else quote_words(whole))}?"
    return None


def _relate(expected: np.ndarray, got: np.ndarray, loosely: bool) -> str | None:
    if expected.size != got.size or not expected.size or not (np.isfinite(expected).all() and np.isfinite(got).all()):
        return None
    if expected.shape != got.shape:
        return None if loosely else _relate_shape(expected, got)
    if not _apart(expected, got):
        return None
    relations = (_relate_loosely,) if loosely else (_relate_size, _relate_place, _relate_limits, _relate_function)
    return next((said for relate in relations if (said := relate(expected, got))), None)


def _relate_shape(expected: np.ndarray, got: np.ndarray) -> str | None:
    turned = expected.ndim == 2 and expected.shape == got.shape[::-1] and 1 not in expected.shape
    return "is {name} transposed" if turned and not _apart(expected.T, got) and _count_values(expected) >= 3 else None


def _relate_loosely(expected: np.ndarray, got: np.ndarray) -> str | None:
    if np.abs(got).max() <= SMALL * np.abs(expected).max() and not _is_rare_flag(expected):
        return f"is {{name}} 0{' everywhere' if expected.size > 1 else ''}"
    if expected.size < 3:
        return None
    if said := _relate_linearly(expected, got):
        return said
    if np.ptp(got) < 1e-6 * np.abs(got).max() and np.ptp(expected) > RTOL * np.abs(expected).max():
        return "is {name} the same everywhere"
    if not _apart(np.sort(expected, axis=None), np.sort(got, axis=None)):
        return "does {name} hold the right numbers in another order"
    if not _apart(np.abs(expected), np.abs(got)) and _count_values(np.abs(expected)) >= 3:
        return "does {name} have the wrong sign in some places"
    return None


def _relate_size(expected: np.ndarray, got: np.ndarray) -> str | None:
    if not _apart(got, -expected):
        return "does {name} have the opposite sign"
    if expected.size < 3 or np.ptp(expected) <= RTOL * np.abs(expected).max():
        return None  # any number is a multiple of any other
    factor = float((expected * got).sum() / (expected * expected).sum())
    if _is_count(factor) and not _apart(factor * expected, got):
        return f"is {{name}} {format_times(factor)} what it should be, everywhere{_remark_on_shape(factor, expected.shape)}"
    offset = float((got - expected).mean())
    if not _apart(expected + offset, got):
        return f"is {{name}} off by the same {format_number(float(f'{offset:.3g}'))} everywhere"
    return None


def _relate_linearly(expected: np.ndarray, got: np.ndarray) -> str | None:
    if _count_values(expected) < ON_A_LINE or np.ptp(got) <= RTOL * np.abs(got).max():
        return None
    about = expected - expected.mean()
    slope = float((about * got).sum() / (about * about).sum())
    if _apart(slope * about, got - got.mean()):
        return None
    if abs(slope - 1) < ROUNDING:
        return None  # for an offset alone, there is a stricter question
    factor = float((expected * got).sum() / (expected * expected).sum())
    if not _apart(factor * expected, got):
        return f"is {{name}} {format_times(factor)} what it should be, everywhere"
    if np.ptp(np.diff(np.unique(expected))) <= RTOL * np.ptp(expected):
        return None  # many functions map numbers that are evenly spaced to such numbers, for example in reverse order
    if abs(got.mean()) < RTOL and any(abs(got.std(ddof=ddof) - 1) < RTOL for ddof in (0, 1)):
        return "does {name} have a mean of 0 and a standard deviation of 1"
    offset = float(f"{got.mean() - slope * expected.mean():.3g}")
    sign = "minus" if offset < 0 else "plus"
    return f"is {{name}} {format_times(slope)} what it should be, {sign} {format_number(abs(offset))}, everywhere"


def _is_count(factor: float) -> bool:
    """Return whether a factor is a whole number, or one part of a whole number: in a batch of one row, any may be found."""
    size = abs(factor)
    return size > 1 / MOST_COUNTED and any(
        abs(one - round(one)) < RTOL and 1 < round(one) <= MOST_COUNTED for one in (size, 1 / size)
    )


def _remark_on_shape(factor: float, shape: tuple[int, ...]) -> str:
    """Return which axis has as many numbers as a factor says: somewhere, a sum stands for a mean, or a mean for a sum."""
    for axis, size in enumerate(shape):
        for part, said in ((size, f"{size}"), (1 / size, f"1/{size}")):
            if size > 2 and abs(factor / part - 1) < RTOL:  # a factor of 2 may have other reasons
                return f" ({said}, and axis {axis} has {size} entries)"
    return ""


def _relate_place(expected: np.ndarray, got: np.ndarray) -> str | None:
    if expected.ndim == 0 or expected.shape[0] < 4 or _count_values(expected) < 3:  # of two values, an order says little
        return None
    if not _apart(expected[::-1], got):
        return "is {name} in reverse order"
    if not _apart(expected[1:], got[:-1]):
        return "does {name}[t] hold what belongs to step t + 1"
    if not _apart(expected[:-1], got[1:]):
        return "does {name}[t] hold what belongs to step t - 1"
    return None


def _relate_limits(expected: np.ndarray, got: np.ndarray) -> str | None:
    """Return within which limits the right numbers were cut off, or that they lost what is after the decimal point."""
    if _count_values(expected) < 3 or _count_values(got) < 2:
        return None
    low, high = float(got.min()), float(got.max())
    if not _apart(np.clip(expected, low, high), got):
        cut = [("below", low, expected < low), ("above", high, expected > high)]
        limits = [f"{word} {format_number(limit)}" for word, limit, beyond in cut if _is_limit(limit, expected[beyond])]
        if limits:
            return f"is {{name}} never {' or '.join(limits)}"
    if not np.array_equal(got, np.round(got)):
        return None
    return next((f"is {{name}} rounded {how}" for how, function in ROUNDINGS if np.array_equal(function(expected), got)), None)


def _is_limit(limit: float, beyond: np.ndarray) -> bool:
    """Return whether numbers were cut off at this limit: a usual one, or one that two different numbers have become."""
    return beyond.size > 0 and (limit in (-1, 0, 1) or _count_values(beyond) > 1)


def _relate_function(expected: np.ndarray, got: np.ndarray) -> str | None:
    if _count_values(expected) < 3 or np.ptp(expected) < BENT * np.abs(expected).max():
        return None
    with np.errstate(all="ignore"):
        for words, function in FUNCTIONS:
            applied = function(expected)
            if np.isfinite(applied).all() and np.ptp(applied) > 0 and not _apart(applied, got):
                return f"is {{name}} {words} what it should be"
    return None


def _is_rare_flag(numbers: np.ndarray) -> bool:
    """Return whether these are flags of which most are 0: others may all be 0 for any reason."""
    flags = numbers.ndim == 1 and np.isin(numbers, (0, 1)).all()
    return bool(flags and 2 * np.count_nonzero(numbers) < numbers.size)


def _count_values(numbers: np.ndarray) -> int:
    """Return how many values there are that differ by more than rounding does."""
    apart, count, last = RTOL * np.abs(numbers).max(), 0, -np.inf
    for number in np.sort(numbers, axis=None):
        if number - last > apart:
            count, last = count + 1, number
    return count


def _apart(one: np.ndarray, other: np.ndarray) -> bool:
    return not np.allclose(one, other, rtol=RTOL, atol=ATOL * max(float(np.abs(one).max(initial=0.0)), 1e-6))
