"""The structure of an answer and its wrong numbers, in the form in which a mistake is stored and found again."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.judge.compare import KINDS, Tolerance, is_integer, is_number
from grader.sandbox.wire import TensorArray

SUMS, BLOCK = 2, 8  # at most so many sums, each of at least so many numbers
UNSURE = 3.0  # within this factor of a tolerance, rounding may decide whether a number differs
MISSING = object()


@dataclass(frozen=True)
class _Digest:
    """What a recorded answer is compared with: the hashes that it may have, its sums, and how far each may be off."""

    hashes: tuple[str, str]
    sums: list[float]
    allowed: list[float]


class AnswerStructure:
    """The structure of an answer, and its numbers next to the expected ones.

    Attributes:
        made_of: A description of each part, without the numbers.
        numbers: All finite numbers of the answer.
        expected: The right number for each of them; NaN where there is none.
    """

    def __init__(self, how: Tolerance) -> None:
        self.how = how
        self._digests: dict[tuple[int, ...], _Digest] = {}
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
        elif got is MISSING:
            self.made_of.append("nothing")
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
        known = self._digests.get(tuple(unsure)) or self._digests.setdefault(tuple(unsure), self._digest(unsure))
        if hashed not in known.hashes or len(others) != len(known.sums):  # of another length: another answer with the same hash
            return False
        return all(abs(one - other) <= most for one, other, most in zip(others, known.sums, known.allowed, strict=True))

    def _digest(self, unsure: list[int]) -> _Digest:
        differs = self._differs(unsure)
        numbers = np.array(self.numbers)[differs]
        # Sums may be as far apart as the numbers of a block in all.
        allowed = _sums(self.how.rtol * np.abs(numbers) + self.how.atol, signed=False)
        hashes = self._hash(differs, unsure), self._hash(differs, unsure, tensor="array")
        return _Digest(hashes, _sums(numbers), allowed)

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
