"""How a wrong answer is related to the right one, where that can be put into words: a factor, a sign, another order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from grader.judge.compare import Tolerance, format_number
from grader.judge.evidence import MANY
from grader.judge.influence import format_times, list_outputs, quote_words

MOST_COUNTED = 64
SAMPLED = "some"  # the key of `evidence.subsample_arrays` under which some numbers stand for all
HUGE = 1e100  # beyond this, sums and squares overflow
# Ten times coarser than checks compare: a relation to the right numbers survives the rounding of float32 sums, and three
# wrong numbers or more do not meet one by chance.
RTOL, ATOL = 1e-3, 2e-6  # the latter as a share of the largest number
ROUNDING = 0.005  # how far from 1 a factor may be, and from 0 an offset as a share of the largest number, by rounding alone
ON_A_LINE = 5  # different numbers, unevenly spaced, that only a linear function brings so close to a line
NONE = 1e-5  # of the smallest right number that is not 0: below this, a gradient is 0 but for rounding
BENT = 5 * RTOL  # of the largest number, how far a function must be from a line, and from the right numbers themselves
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
ROUNDINGS = (("towards 0", np.trunc), ("down", np.floor), ("up", np.ceil), ("to whole numbers", np.round))

Relation = Callable[[np.ndarray, np.ndarray], str | None]
"""Says how the second array is related to the first one, as the rest of a question with {name} for its name."""


def list_wrong_outputs(expected: Any, got: Any, how: Tolerance) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield the name of each output with a wrong number, the right numbers and those that were found.

    Args:
        how: How closely numbers must agree.
    """
    right = list_outputs(expected, MANY, nested=True)
    for name, found in list_outputs(got, MANY, nested=True).items():
        if name not in right or not right[name].size:
            continue
        numbers = right[name]
        if numbers.shape != found.shape or not find_right_places(numbers, found, how).all():
            yield name, numbers, found


def find_right_places(expected: np.ndarray, got: np.ndarray, how: Tolerance) -> np.ndarray:
    """Return which numbers agree, as `compare.difference` compares them."""
    with np.errstate(all="ignore"):
        return np.asarray(np.isclose(got, expected, how.rtol, how.atol, how.equal_nan))


def is_sample(name: str) -> bool:
    """Return whether the numbers of this name stand for those of a larger array."""
    return name == SAMPLED or name.endswith(f" for {SAMPLED}")


def explain_relation(expected: Any, got: Any, how: Tolerance, relations: tuple[Relation, ...]) -> str | None:
    """Return a question about the first numbers of two answers that are related in one of these ways, or None.

    None of them needs the function again.

    Args:
        how: How closely numbers must agree.
        relations: `STRICT`, `CUT`, `BENDING` or `LOOSE`.
    """
    for name, right, found in list_wrong_outputs(expected, got, how):
        if found.size and all((np.abs(numbers) < HUGE).all() for numbers in (right, found)):  # neither NaN nor infinite
            whole = name.removesuffix(f" for {SAMPLED}")
            for relate in _choose(relations, is_sample(name), right, found):
                if said := relate(right, found):
                    return f"Why {said.format(name='the answer' if whole == SAMPLED else quote_words(whole))}?"
    return None


def _choose(relations: tuple[Relation, ...], sample: bool, right: np.ndarray, found: np.ndarray) -> list[Relation]:
    """Return the relations that can be recognized in a sample, in other shapes, and in numbers so near that any line fits."""
    fitting = relations
    if sample:
        fitting = tuple(one for one in fitting if one in OF_SAMPLES)
    if right.shape != found.shape:
        return [one for one in fitting if one in OF_OTHER_SHAPES]
    return [one for one in fitting if one in OF_NEAR or not _equal(right, found)]


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
    if expected.ndim == 2 and _count_values(expected) >= 3 and 1 not in expected.shape and _equal(expected.T, got):
        return "is {name} transposed"
    if expected.ndim == 0 or expected.shape != got.shape or len(expected) < 4 or _count_values(expected) < 3:
        return None  # of two values, an order says little
    if not _apart(expected[::-1], got):
        return "is {name} in reverse order"
    if not _apart(expected[1:], expected[:-1]):
        return None  # neighbors are the same
    if not _apart(expected[1:], got[:-1]):
        return "does {name}[t] hold what belongs to step t + 1"
    if not _apart(expected[:-1], got[1:]):
        return "does {name}[t] hold what belongs to step t - 1"
    return None


def _relate_limits(expected: np.ndarray, got: np.ndarray) -> str | None:
    """Return within which limits the right numbers were cut off, or that they lost what is after the decimal point."""
    if _count_values(expected) < 3 or _count_values(got) < 2:
        return None
    low, high, scale = float(got.min()), float(got.max()), RTOL * np.abs(expected).max()
    cut = [("below", low, expected[expected < low - scale]), ("above", high, expected[expected > high + scale])]
    limits = [f"{word} {format_number(limit)}" for word, limit, beyond in cut if beyond.size]
    usual = all(limit in (-1, 0, 1) or _count_values(beyond) > 1 for _, limit, beyond in cut if beyond.size)
    several = sum(_count_values(beyond) for *_, beyond in cut if beyond.size) > 1
    if limits and usual and several and not _apart(np.clip(expected, low, high), got):
        return f"is {{name}} never {' or '.join(limits)}"
    if _count_values(got) < 3 or (got % 1).any() or np.count_nonzero(expected % 1) < 2:
        return None
    return next((f"is {{name}} rounded {how}" for how, function in ROUNDINGS if np.array_equal(function(expected), got)), None)


def _relate_precision(expected: np.ndarray, got: np.ndarray) -> str | None:
    with np.errstate(over="ignore"):
        half = expected.astype(np.float16)
    return "does {name} have only half precision" if np.array_equal(half, got) and _count_values(expected) >= 3 else None


def _relate_function(expected: np.ndarray, got: np.ndarray) -> str | None:
    if _count_values(expected) < 3:
        return None
    with np.errstate(all="ignore"):
        for words, function in FUNCTIONS:
            applied = function(expected)
            if (np.abs(applied) < HUGE).all() and not _apart(applied, got) and _is_bent(expected, applied):
                return f"is {{name}} {words} what it should be"
    return None


def _is_bent(expected: np.ndarray, applied: np.ndarray) -> bool:
    """Return whether the values of a function lie far from every line through these numbers, and from the numbers themselves.

    Only then does an answer that is close to the values show that it is this function, and not a factor or an offset.
    """
    about = expected - expected.mean()
    slope = float((about * applied).sum() / (about * about).sum())
    line = applied.mean() + slope * about
    enough = BENT * np.abs(applied).max()
    return bool(min(np.abs(applied - line).max(), np.abs(applied - expected).max()) > enough)


def _relate_loosely(expected: np.ndarray, got: np.ndarray) -> str | None:
    nonzero = np.abs(expected[expected != 0])
    if nonzero.size and np.abs(got).max() <= NONE * nonzero.min() and not _is_rare_flag(expected):
        return f"is {{name}} 0{' everywhere' if expected.size > 1 else ''}"
    if expected.size < 3:
        return None
    if np.ptp(got) < 1e-6 * np.abs(got).max() and np.ptp(expected) > RTOL * np.abs(expected).max():
        return "is {name} the same everywhere"
    if _count_values(expected) < 3:
        return None
    if _equal(np.sort(expected, axis=None), np.sort(got, axis=None)):
        return "does {name} have the right numbers in another order"
    if _count_values(np.abs(expected)) >= 3 and _equal(np.abs(expected), np.abs(got)):
        return "does {name} have the wrong sign in some places"
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


def _equal(one: np.ndarray, other: np.ndarray) -> bool:
    return one.shape == other.shape and not _apart(one, other)


def _apart(one: np.ndarray, other: np.ndarray) -> bool:
    return not np.allclose(one, other, rtol=RTOL, atol=ATOL * max(float(np.abs(one).max(initial=0.0)), 1e-6))


STRICT: tuple[Relation, ...] = (_relate_size, _relate_place)
"""A sign, a factor that counts something, an offset, rows that were moved or turned round: these say much."""
CUT: tuple[Relation, ...] = (_relate_limits,)
"""Limits, and what is lost after the decimal point: where these cut, the answer depends on nothing."""
BENDING: tuple[Relation, ...] = (_relate_precision, _relate_function)
"""Half precision, a function such as the square."""
LOOSE: tuple[Relation, ...] = (_relate_linearly, _relate_loosely)
"""Any factor and offset, numbers that are all 0 or all the same, the right ones in any order or with some wrong signs."""
OF_SAMPLES = (_relate_size, _relate_precision, _relate_function, _relate_linearly)
"""Those that hold of all numbers, if they hold of a sample."""
OF_OTHER_SHAPES = (_relate_place,)
"""Those that hold of a matrix that was turned round; all others compare number by number."""
OF_NEAR = (_relate_precision,)
"""Those that hold of numbers which are right but for rounding, and of no others."""
