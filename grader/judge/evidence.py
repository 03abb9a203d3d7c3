"""Evidence of a wrong answer: enough to recognize the same mistake, and small to store.

For each mistake the kit stores a hash of the structure of its answer and of which numbers are wrong. It stores a few weighted
sums of these numbers instead of a hash, because rounding would change a hash.

An answer that consists of several named facts is stored by part: only the wrong facts, each with its own hash and sums. Two
mistakes in one submission are recognized by this even if one check sees both, as long as they change different facts.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from grader.answers import DIGITS, UNPREDICTABLE
from grader.judge.compare import Tolerance, difference
from grader.judge.structure import MISSING, UNSURE, AnswerStructure

MANY, KEPT = 256, 64
STORED = 10.0 ** (1 - DIGITS)  # sums are stored to this relative precision, however fine a check compares
NEAR = 10.0  # what is within so many tolerances of right is too near to be taken for a mistake
WHOLE = ""  # the name of the only part of an answer that is not stored by part

Part = tuple[Any, Any]
"""A part of an answer: what was expected, and what the submission returned."""


class Evidence:
    """The evidence that a check saw of a wrong answer; by default, data that must be equal.

    Attributes:
        shown: What it saw, as plain data.
    """

    def __init__(self, shown: Any) -> None:
        self.shown = shown

    def record(self) -> Any:
        """Return the data to store, by which other answers are recognized; UNPREDICTABLE if nothing should be stored."""
        return self.shown

    def fits(self, recorded: Any) -> bool:
        """Return whether this evidence matches the recorded evidence of a mistake."""
        same: bool = recorded == self.shown
        return same

    @property
    def wrong_parts(self) -> frozenset[str]:
        """The names of the parts of the answer that are wrong."""
        return frozenset({WHOLE})

    def compare(self, recorded: Any) -> dict[str, bool | None]:
        """Return, for each part that a recorded mistake makes wrong, whether it shows the same; None if chance decides."""
        same = None if recorded == UNPREDICTABLE else self.fits(recorded)
        return dict.fromkeys(self.wrong_parts, same)


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
        right = self._forms(self.expected)
        if self._is_near(self.got, right):
            return UNPREDICTABLE
        # Where `also` makes the form from the inputs alone, it makes a right answer of a wrong one.
        others = [form for form in self._forms(self.got)[1:] if not self._is_near(form, right)]
        return [self._record_form(form, right) for form in (self.got, *others)]

    def fits(self, recorded: Any) -> bool:
        return isinstance(recorded, list) and any(map(self._fits_form, recorded))

    @property
    def wrong_parts(self) -> frozenset[str]:
        return frozenset(self._wrong)

    def compare(self, recorded: Any) -> dict[str, bool | None]:
        forms = recorded if isinstance(recorded, list) else []
        compared = [self._compare_parts(form[self.case]) for form in forms if isinstance(form, dict) and self.case in form]
        if WHOLE in self._wrong or not compared:
            return super().compare(recorded)
        return max(compared, key=lambda found: sum(same is not False for same in found.values()) / max(len(found), 1))

    @cached_property
    def _wrong(self) -> dict[str, AnswerStructure]:
        """The structure of each wrong part."""
        parts = self._find_wrong_parts(self.got, UNSURE)
        return {name: self._outline(*part) for name, part in parts.items()} or {WHOLE: self._outlined}

    @cached_property
    def _outlined(self) -> AnswerStructure:
        return self._outline(self.expected, self.got, self.case)

    def _outline(self, expected: Any, got: Any, *label: str) -> AnswerStructure:
        outline = AnswerStructure(self.how)
        for text in label:
            outline.add(text, MISSING)
        outline.add(got, expected)
        return outline

    def _find_wrong_parts(self, answer: Any, near: float = 1.0) -> dict[str, Part]:
        """Return the parts of an answer that are off by more than so many tolerances; none if there is only one part."""
        if len(split_answer(self.expected, self.expected)) < 2:
            return {}
        return {name: part for name, part in split_answer(self.expected, answer).items() if not self._close(*part, near)}

    def _is_near(self, answer: Any, right: list[Any]) -> bool:
        """Return whether an answer is so near to a right one that it may be one."""
        return any(self._close(form, answer, NEAR) for form in right)

    def _record_form(self, answer: Any, right: list[Any]) -> Any:
        parts = self._find_wrong_parts(answer)
        if not parts:
            return self._outline(self.expected, answer, self.case).record()
        forms = [split_answer(form, form) for form in right]
        recorded = {
            name: UNPREDICTABLE
            if any(name in form and self._close(form[name][0], part[1], NEAR) for form in forms)
            else self._outline(*part).record()
            for name, part in parts.items()
        }
        return {self.case: recorded}

    def _fits_form(self, form: Any) -> bool:
        if isinstance(form, list):
            return self._outlined.fits(form)
        if not isinstance(form, dict) or self.case not in form or WHOLE in self._wrong:
            return False
        compared = self._compare_parts(form[self.case])
        return compared.keys() == self._wrong.keys() and False not in compared.values() and True in compared.values()

    def _compare_parts(self, recorded: dict[str, Any]) -> dict[str, bool | None]:
        return {
            name: None if part == UNPREDICTABLE else name in self._wrong and self._wrong[name].fits(part)
            for name, part in recorded.items()
            if part != UNPREDICTABLE or name in self._wrong  # what chance decides may be right
        }

    def _forms(self, answer: Any) -> list[Any]:
        forms = [answer]
        if self.also:
            # What mistakes show need not have the form that `also` can read.
            with contextlib.suppress(Exception):
                forms.append(self.also(answer))
        return forms

    def _close(self, one: Any, other: Any, near: float) -> bool:
        how = self.how
        return difference(one, other, how.rtol * near, how.atol * near, how.exact_dtype, equal_nan=True) is None


def split_answer(expected: Any, got: Any, name: str = WHOLE) -> dict[str, Part]:
    """Return the parts of an answer by name: its facts, and theirs if they have any.

    A dict of arrays below another one is a single part, such as the gradients of all weights; so is a subsampled array.
    """
    nested = isinstance(expected, dict) and isinstance(got, dict)
    if not nested or (name and (all(isinstance(value, np.ndarray) for value in expected.values()) or "some" in expected)):
        return {name: (expected, got)}
    parts: dict[str, Part] = {}
    for key in dict.fromkeys([*expected, *got]):
        inner = f"{name}.{key}" if name else str(key)
        parts |= split_answer(expected.get(key, MISSING), got.get(key, MISSING), inner)
    return parts


def settle(first: Evidence, second: Any) -> Any:
    """Return what to store of a mistake of which two runs are known: UNPREDICTABLE where they differ.

    Args:
        first: What a check saw in the first run.
        second: What is recorded of the second run.
    """
    if first.fits(second):
        return second
    recorded = first.record()
    if not (isinstance(recorded, list) and isinstance(second, list) and len(recorded) == len(second) == 1):
        return UNPREDICTABLE
    (form,), (other,) = recorded, second
    if not (isinstance(form, dict) and isinstance(other, dict) and form.keys() == other.keys()):
        return UNPREDICTABLE
    ((case, parts),) = form.items()
    same = first.compare(second)
    settled = {name: other[case][name] if same.get(name) else UNPREDICTABLE for name in parts}
    return UNPREDICTABLE if all(part == UNPREDICTABLE for part in settled.values()) else [{case: settled}]


def count_sums(recorded: Any, parts: Collection[str] | None = None) -> int:
    """Return the number of stored sums that identify a recorded mistake; 0 for exceptions and random answers.

    Args:
        parts: The names of the parts that count; None for all.
    """
    forms = recorded if isinstance(recorded, list) else []
    return max((_count_sums(form, parts) for form in forms), default=0)


def _count_sums(form: Any, parts: Collection[str] | None) -> int:
    records = [record for (_, name), record in list_parts([form]) if parts is None or name in parts]
    return sum(isinstance(one, float) and one != 0 for record in records if isinstance(record, list) for one in record)


def list_parts(recorded: Any) -> list[tuple[tuple[str, str], Any]]:
    """Return the stored parts of a recorded answer, each with its place: the case and the name, if it is stored by part."""
    found: list[tuple[tuple[str, str], Any]] = []
    for form in recorded if isinstance(recorded, list) else []:
        if isinstance(form, dict):
            found += [((case, name), record) for case, parts in form.items() for name, record in parts.items()]
        else:
            found.append((("", WHOLE), form))
    return found


def subsample_arrays(tree: Any) -> Any:
    """Return facts with every array of more than 256 numbers replaced by its shape and 64 of them, evenly spaced.

    Enough to recognize a mistake by, and little to store.
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
