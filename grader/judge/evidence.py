"""Evidence of a wrong answer: enough to recognise the same mistake, and small to store.

For each mistake the kit stores a hash of the structure of its answer and of which numbers are wrong. It stores a few weighted
sums of these numbers instead of a hash, because rounding would change a hash.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from grader.answers import DIGITS, UNPREDICTABLE
from grader.judge.compare import KINDS, Tolerance, difference, is_integer, is_number
from grader.sandbox.wire import TensorArray

MANY, KEPT = 256, 64
SUMS, BLOCK = 2, 8  # at most so many sums, each of at least so many numbers
STORED = 10.0 ** (1 - DIGITS)  # sums are stored to this relative precision, however fine a check compares
NEAR = 10.0  # what is within so many tolerances of right is too near to be taken for a mistake
UNSURE = 3.0  # within this factor of a tolerance, rounding may decide whether a number differs
MISSING = object()


class Evidence:
    """The evidence that a check saw of a wrong answer; by default, data that must be equal.

    Attributes:
        shown: What it saw, as plain data.
    """

    def __init__(self, shown: Any) -> None:
        self.shown = shown

    def record(self) -> Any:
        """Return the data to store, by which other answers are recognised; UNPREDICTABLE if nothing should be stored."""
        return self.shown

    def fits(self, recorded: Any) -> bool:
        """Return whether this evidence matches the recorded evidence of a mistake."""
        same: bool = recorded == self.shown
        return same


class WrongAnswerEvidence(Evidence):
    """An answer that a check has compared with the right one.

    Args:
        case: The name of the case.
        expected: The right answer.
        got: The wrong one.
        also: Converts an answer into another accepted form (see `SubmissionUnderTest.require`).
        how: The tolerance of the check.
    """

    def __init__(self, case: str, expected: Any, got: Any, also: Callable[[Any], Any] | None, how: Tolerance) -> None:
        self.case, self.expected, self.got, self.also = case, subsample_arrays(expected), subsample_arrays(got), also
        self.how = replace(how, rtol=max(how.rtol, STORED))
        super().__init__({"case": case, "got": self.got})

    def record(self) -> Any:
        if any(self._close(form, self.got) for form in self._forms(self.expected)):
            return UNPREDICTABLE
        return [self._outline(form).record() for form in self._forms(self.got)]

    def fits(self, recorded: Any) -> bool:
        return isinstance(recorded, list) and any(map(self._outlined.fits, recorded))

    @cached_property
    def _outlined(self) -> AnswerStructure:
        return self._outline(self.got)

    def _outline(self, answer: Any) -> AnswerStructure:
        outline = AnswerStructure(self.how)
        outline.add(self.case, MISSING)
        outline.add(answer, self.expected)
        return outline

    def _forms(self, answer: Any) -> list[Any]:
        forms = [answer]
        if self.also:
            # What mistakes show need not have the form that `also` can read.
            with contextlib.suppress(Exception):
                forms.append(self.also(answer))
        return forms

    def _close(self, one: Any, other: Any) -> bool:
        how = self.how
        return difference(one, other, how.rtol * NEAR, how.atol * NEAR, how.exact_dtype, equal_nan=True) is None


def count_sums(recorded: Any) -> int:
    """Return the number of stored sums that identify a recorded mistake; 0 for exceptions and random answers."""
    forms = recorded if isinstance(recorded, list) else []
    return max((sum(isinstance(one, float) and one != 0 for one in form[1:]) for form in forms), default=0)


class AnswerStructure:
    """The structure of an answer, and its numbers next to the expected ones.

    Attributes:
        made_of: A description of each part, without the numbers.
        numbers: All finite numbers of the answer.
        expected: The right number for each of them; NaN where there is none.
    """

    def __init__(self, how: Tolerance) -> None:
        self.how = how
        self.made_of: list[str] = []
        self.numbers: list[float] = []
        self.expected: list[float] = []

    def add(self, got: Any, expected: Any) -> None:
        """Add a part of the answer, and what is expected in its place (MISSING if nothing is)."""
        if isinstance(got, dict):
            self.made_of.append(f"dict {sorted(got, key=str)}")
            for key in sorted(got, key=str):
                self.add(got[key], expected.get(key, MISSING) if isinstance(expected, dict) else MISSING)
        elif isinstance(got, (list, tuple)):
            self.made_of.append(f"list {len(got)}")
            paired = isinstance(expected, (list, tuple)) and len(expected) == len(got)
            for index, item in enumerate(got):
                self.add(item, expected[index] if paired else MISSING)
        elif isinstance(got, np.ndarray):
            kind = str(got.dtype) if self.how.exact_dtype else KINDS[got.dtype.kind]
            self.made_of.append(f"{'tensor' if isinstance(got, TensorArray) else 'array'} {kind} {got.shape}")
            paired = isinstance(expected, np.ndarray) and expected.shape == got.shape
            others = expected.ravel().tolist() if paired else [math.nan] * got.size
            self._add_numbers(np.asarray(got).ravel().tolist(), others)
        elif is_number(got):
            self.made_of.append("integer" if self.how.exact_dtype and is_integer(got) else "number")
            self._add_numbers([got], [expected if is_number(expected) else math.nan])
        else:
            self.made_of.append(f"{type(got).__name__} {got}")

    def _add_numbers(self, numbers: Iterable[float], expected: Iterable[float]) -> None:
        for number, other in zip(map(float, numbers), expected, strict=True):
            if math.isfinite(number):
                self.numbers.append(number)
                self.expected.append(float(other))
            else:
                self.made_of.append(str(number))

    def record(self) -> list[Any]:
        """Return a hash, the indices of numbers that are too close to call (if any), and some sums."""
        gaps, allowed = self._gaps()
        unsure = np.flatnonzero((gaps > allowed / UNSURE) & (gaps < allowed * UNSURE)).tolist()
        differs = self._differs(unsure)
        return [self._hash(differs, unsure), *([unsure] if unsure else []), *_sums(np.array(self.numbers)[differs])]

    def fits(self, recorded: list[Any]) -> bool:
        """Return whether this equals the recorded data up to rounding."""
        hashed, *others = recorded
        unsure = others.pop(0) if others and isinstance(others[0], list) else []
        differs = self._differs(unsure)
        if hashed not in (self._hash(differs, unsure), self._hash(differs, unsure, tensor="array")):
            return False
        numbers = np.array(self.numbers)[differs]
        sums = _sums(numbers)
        # As far apart as the numbers of a block may be in all.
        allowed = _sums(self.how.rtol * np.abs(numbers) + self.how.atol, signed=False)
        if len(others) != len(sums):  # another answer with the same hash
            return False
        return all(abs(one - other) <= most for one, other, most in zip(others, sums, allowed, strict=True))

    def _gaps(self) -> tuple[np.ndarray, np.ndarray]:
        """Return each number's distance from the right one (infinite if there is none) and its tolerance."""
        expected = np.array(self.expected)
        with np.errstate(over="ignore"):
            gaps = np.abs(np.array(self.numbers) - expected)
        allowed = self.how.atol + self.how.rtol * np.nan_to_num(np.abs(expected), posinf=0.0)
        return np.where(np.isnan(gaps), np.inf, gaps), allowed

    def _differs(self, unsure: list[int]) -> np.ndarray:
        gaps, allowed = self._gaps()
        differs = gaps > allowed
        differs[[place for place in unsure if place < differs.size]] = False
        return differs

    def _hash(self, differs: np.ndarray, unsure: list[int], tensor: str = "tensor") -> str:
        """Return a hash.

        Args:
            tensor: The type that tensors count as, since one may stand where a mistake has an
                array.
        """
        whole = hashlib.sha256(repr(unsure).encode() + np.packbits(differs).tobytes())
        for part in self.made_of:
            kind, _, rest = part.partition(" ")
            whole.update(f"{tensor if kind == 'tensor' else kind} {rest}\n".encode("utf-8", "surrogatepass"))
        return whole.hexdigest()[:8]


def _sums(numbers: np.ndarray, signed: bool = True) -> list[float]:
    """Return weighted sums of the numbers, one for each block of successive numbers."""
    if not numbers.size:
        return []
    places = np.arange(numbers.size)
    weights = _spread(places) * (np.where(places % 2, -1.0, 1.0) if signed else 1.0)
    with np.errstate(over="ignore", invalid="ignore"):  # sums of numbers near the largest of float64 are infinite
        blocks = np.array_split(weights * numbers, min(SUMS, -(-numbers.size // BLOCK)))
        return [float(np.nan_to_num(block.sum())) for block in blocks]


def _spread(places: np.ndarray) -> np.ndarray:
    """Return weights from 1 to 2 without a pattern: no shift or exchange leaves a sum as it is, nor do small integers.

    They are the same on every machine, which no library's random numbers promise. The mixing is that of MurmurHash3.
    """
    mixed = (places + 1).astype(np.uint64)
    for factor in (0x85EBCA6B, 0xC2B2AE35):
        mixed = ((mixed ^ (mixed >> np.uint64(16))) * np.uint64(factor)) & np.uint64(0xFFFFFFFF)
    return 1 + (mixed ^ (mixed >> np.uint64(16))).astype(np.float64) / 2**32


def subsample_arrays(tree: Any) -> Any:
    """Return facts with every array of more than 256 numbers replaced by its shape and 64 of them, evenly spaced.

    Enough to recognise a mistake by, and little to store.
    """
    if isinstance(tree, np.ndarray) and tree.size > MANY:
        some = np.asarray(tree).ravel()[np.linspace(0, tree.size - 1, KEPT).astype(int)]
        return {"shape": list(tree.shape), "some": some.view(type(tree))}
    if isinstance(tree, dict):
        return {key: subsample_arrays(value) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return type(tree)(subsample_arrays(value) for value in tree)
    return tree


MOST_HASHED = 2_000  # parts of what a check saw: a hostile reply may have as many as the wire lets through


def hash_evidence(shown: Any) -> str:
    """Return a short hash of plain data that ignores differences by rounding.

    Only the first MOST_HASHED parts count, in a fixed order, and only the subsampled numbers of arrays.
    """
    whole, waiting, left = hashlib.sha256(), [shown], MOST_HASHED
    while waiting and left:
        value, left = waiting.pop(), left - 1
        if isinstance(value, dict):
            keys = sorted(value, key=str)
            text, more = f"dict {keys[:MOST_HASHED]!r:.4000}", [value[key] for key in keys[:left]]
        elif isinstance(value, (list, tuple)):
            text, more = f"list {len(value)}", list(value[:left])
        elif isinstance(value, np.ndarray) and value.size > MANY:
            text, more = "array", [subsample_arrays(value)]
        elif isinstance(value, np.ndarray):
            text, more = f"{value.dtype.kind} {value.shape} {[f'{number:.4g}' for number in value.ravel().tolist()]}", []
        else:
            text, more = f"{value:.4g}" if isinstance(value, float) else f"{type(value).__name__} {value!s:.4000}", []
        whole.update(f"{text}\n".encode("utf-8", "surrogatepass"))
        waiting += more
    return whole.hexdigest()[:12]
