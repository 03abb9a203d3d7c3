"""What an answer depends on, and how strongly: measured on the submission, and compared with the solution.

A wrong answer that no known mistake explains still has properties. If one number of an input is nudged, some numbers of the
answer move, by so much for each unit: finite differences of the function itself, whatever its code looks like. `build` stores
those of the solution for the cases that ask for it (`case(..., nudges=...)`). After a failure, the judge measures those of the
submission, and asks about the first difference: a return that does not depend on a later reward, one that depends on a reward
beyond the end of the episode, a loss that weighs every row as often as there are rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isclose
from typing import Any

import numpy as np

from grader.judge.compare import format_number

STEP = 0.01  # of a nudge: of float32 numbers around 1, differences keep two digits and more
MAX_NUDGES, MAX_OUTPUT = 48, 64  # of a case, and numbers of an output
WEAK = 0.02  # of the strongest influence: what is weaker is taken for none, or left out of consideration
NOISE = 0.002  # of the largest number of an output: what rounding may look like, after the division by a step
NONE = 0.1  # of what is weak: above this there may be an influence, and in between nobody can tell
NEVER = 1e-4  # of the strongest influence: below this there is never any; a square at its least has a little
STILL = 0.01  # of the largest movement of an output: an input that moves it less has no direction that others could share
ENOUGH_ROWS, UNLIKE = 3, 0.3  # equal influences of so many rows say something, if the right ones differ by this share
CLOSE = 0.03  # two influences agree to within this share: float32 leaves two digits of a difference
TOLD = 0.005  # a factor has a name if it is this close to it: 1.1 is not 1/0.9
PARALLEL = 0.1  # of how far an output moves: if it leaves the right direction further than this, no factor says how strongly
SMALL = 10  # whole numbers up to this one, and parts by them, say something as they are

NAMELESS = (", everywhere?", ", unlike other rows?")  # how a question ends about a factor that nothing in the case explains

Influences = dict[str, dict[str, np.ndarray]]
"""By input and output: what a unit of each row of the input adds to each number of the output, [output, input]."""


def list_outputs(facts: Any, most: int = MAX_OUTPUT, nested: bool = False) -> dict[str, np.ndarray]:
    """Return the numbers of an answer by name: arrays that are small enough, lists of floats, and single floats.

    Args:
        most: Numbers of an array.
        nested: Whether to list those of dictionaries in it as well, as in `{"gradient": {"mean": array}}`.
    """
    named = facts if isinstance(facts, dict) else {"result": facts}
    found: dict[str, np.ndarray] = {}
    for name, value in named.items():
        if nested and isinstance(value, dict):
            inner = list_outputs(value, most)
            found |= {part if part.startswith("gradient") else f"{name} for {part}": array for part, array in inner.items()}
        if isinstance(value, list) and value and all(isinstance(item, float) for item in value):
            value = np.array(value)
        if isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f" and 0 < value.size <= most):
            found[str(name)] = np.asarray(value, np.float64)
    return found


def list_nudges(inputs: Mapping[str, Any], nudges: Mapping[str, int]) -> Iterator[tuple[str, int, float, dict[str, Any]]]:
    """Yield `(input, row, step, inputs)` for each row of these inputs: the inputs of a case with one number of the row nudged.

    Args:
        nudges: By the name of an input, how many of its leading axes count its rows. The first number of a row is
            nudged.
    """
    for name, axes in nudges.items():
        array = np.asarray(inputs[name])
        rows = int(np.prod(array.shape[:axes], dtype=int))
        for row in range(rows):
            nudged = array.copy()
            first = nudged.reshape(rows, -1)[row]
            before = float(first[0])
            first[0] += STEP
            yield name, row, float(first[0]) - before, {**inputs, name: nudged.view(type(inputs[name]))}


def measure_influences(
    base: Mapping[str, np.ndarray],
    call: Callable[[dict[str, Any]], Any],
    inputs: Mapping[str, Any],
    nudges: Mapping[str, int],
) -> Influences | None:
    """Return the influences of these inputs on an answer; None if a call fails, or returns something of another form.

    Args:
        base: The outputs for the inputs as they are (see `list_outputs`).
        call: Returns the answer to some inputs, or None if there is none.
        nudges: See `list_nudges`.
    """
    columns: dict[str, dict[str, list[np.ndarray]]] = {name: {output: [] for output in base} for name in nudges}
    for name, _, step, nudged in list_nudges(inputs, nudges):
        moved = list_outputs(call(nudged))
        if {output: value.shape for output, value in moved.items()} != {output: value.shape for output, value in base.items()}:
            return None
        for output, value in moved.items():
            with np.errstate(invalid="ignore", over="ignore"):  # of a submission, any number may come
                columns[name][output].append((value - base[output]).ravel() / step)
    return {name: {output: np.stack(column, axis=1) for output, column in of.items()} for name, of in columns.items() if base}


def explain_influences(
    inputs: Mapping[str, Any],
    answer: Any,
    nudges: Mapping[str, int],
    expected: Influences,
    got: Influences,
    open_to: Collection[str] = (),
) -> str | None:
    """Return a question about the first output whose influences differ from the expected ones, or None.

    Args:
        inputs, answer: Of the case; the answer is the solution's.
        nudges: See `list_nudges`.
        open_to: Outputs that may have another form, which depends on something else, or by another factor.
    """
    outputs, measured = list_outputs(answer), []
    for name in nudges:
        for output, stored in expected.get(name, {}).items():
            right = stored.astype(np.float64)  # squares of what is stored may be beyond half precision
            found = got.get(name, {}).get(output)
            if found is None or output not in outputs or found.shape != right.shape or not np.isfinite(found).all():
                continue
            weak = max(WEAK * float(np.abs(right).max()), NOISE * float(np.abs(outputs[output]).max()))
            pair = _Pair.of(inputs, nudges, name, output, outputs[output].shape, right)
            measured.append((output, pair, _Compared.of(right, found, weak, by_number=bool(pair.shape))))
    other = {output for output, _, compared in measured if compared.extra.any() and output in open_to}
    asked = (pair.explain(compared, output in open_to) for output, pair, compared in measured if output not in other)
    return next((said for said in asked if said), None)


@dataclass(frozen=True)
class _Compared:
    """Influences of an input on an output, [number of the output, row of the input]; all numbers as one have one row.

    Attributes:
        aside: How far each row of the input moves the output aside from the right direction.
        weak: An influence below this is too weak to tell.
        there, none, missing, extra: Where an influence is right, where none is, and where the submission differs.
    """

    expected: np.ndarray
    got: np.ndarray
    aside: np.ndarray
    weak: float
    there: np.ndarray
    none: np.ndarray
    missing: np.ndarray
    extra: np.ndarray

    @classmethod
    def of(cls, expected: np.ndarray, got: np.ndarray, weak: float, by_number: bool) -> _Compared:
        """Compare the solution's influences with the submission's, number by number or all numbers of the output as one."""
        aside = np.zeros(expected.shape[1])
        if not by_number:
            expected, got, aside = _as_one(expected, got)
        there, never = np.abs(expected) > weak, min(NONE * weak, NEVER * float(np.abs(expected).max()))
        none = np.abs(expected) <= never
        missing = there & (np.abs(got) <= never) & (aside <= never)
        return cls(expected, got, aside, weak, there, none, missing, none & (np.abs(got) > weak))


Place = tuple[int, ...]


@dataclass(frozen=True)
class _Pair:
    """An input and an output.

    Attributes:
        source, target: Their names.
        rows: The axes by which the rows of the input are counted.
        shape: Those by which the numbers of the output are; without any, it is looked at as a whole.
        time: The axis that both have in common, and along which one depends on the other; None if there is no such axis.
        flags: The boolean inputs of the case that say something about each row, by name.
        factors: The inputs that are single numbers, such as a discount factor, by name.
    """

    source: str
    rows: Place
    target: str
    shape: Place
    time: int | None
    flags: Mapping[str, np.ndarray]
    factors: Mapping[str, float]

    @classmethod
    def of(
        cls, inputs: Mapping[str, Any], nudges: Mapping[str, int], source: str, target: str, shape: Place, expected: np.ndarray
    ) -> _Pair:
        """Return the pair of an input of a case and an output of this shape."""
        rows = np.asarray(inputs[source]).shape[: nudges[source]]
        arrays = {name: value for name, value in inputs.items() if isinstance(value, np.ndarray)}
        flags = {name: value for name, value in arrays.items() if value.dtype == bool and value.shape == rows}
        factors = {name: value for name, value in inputs.items() if isinstance(value, float) and value > 0}
        while len(shape) > len(rows) and shape[-1] == 1:
            shape = shape[:-1]
        if not rows or shape != rows:
            return cls(source, rows, quote_words(target), (), None, flags, factors)
        # Environments, say, do not depend on each other; what is left is time.
        where = [np.unravel_index(index, rows) for index in np.nonzero(expected)]
        mixed = [axis for axis in range(len(rows)) if (where[0][axis] != where[1][axis]).any()]
        return cls(source, rows, quote_words(target), shape, mixed[0] if mixed else 0, flags, factors)

    def explain(self, seen: _Compared, is_open: bool) -> str | None:
        """Return the question about what differs first: what is missing, what is too much, then how strong it is.

        Args:
            is_open: Whether how strong it is may be right.
        """
        there, expected, got = self._list(seen.there), seen.expected, seen.got
        if missing := self._list(seen.missing):
            return self._ask_missing(missing, there, alone=not self._list(seen.extra))
        if extra := self._list(seen.extra):
            return self._ask_extra(extra, self._list(seen.none), there)
        if is_open or not there or any(seen.aside[row] > PARALLEL * abs(got[target, row]) for target, row in there):
            return None
        spread, right_spread = (np.ptp(moves[0]) / max(np.abs(moves[0]).min(), seen.weak) for moves in (got, expected))
        if not self.shape and len(there) >= ENOUGH_ROWS and spread <= CLOSE and right_spread > UNLIKE:
            return f"Why does each row of {self.source} move {self.target} equally?"
        return self._ask_strength(there, [float(got[pair] / expected[pair]) for pair in there])

    def _list(self, where: np.ndarray) -> list[tuple[int, int]]:
        """Return the pairs (number of the output, row of the input) that a mask has, the closest in time first."""
        pairs = [(int(target), int(row)) for target, row in np.argwhere(where)]
        return sorted(pairs, key=lambda pair: (abs(self._lag(pair) or 0), pair))

    def _lag(self, pair: tuple[int, int]) -> int | None:
        """Return by how many steps the row of the input is later than the number of the output; None without common steps."""
        if self.time is None:
            return None
        target, row = (list(np.unravel_index(place, self.rows)) for place in pair)
        lag = int(row.pop(self.time)) - int(target.pop(self.time))
        return lag if row == target else None

    def _whole_lags(self, pairs: Sequence[tuple[int, int]], of: Sequence[tuple[int, int]]) -> list[int]:
        """Return the lags of which all pairs of the second list are in the first, if there are two and more."""
        chosen, found = set(pairs), []
        for lag in sorted({lag for pair in of if (lag := self._lag(pair)) is not None}, key=abs):
            same = [pair for pair in of if self._lag(pair) == lag]
            found += [lag] if len(same) > 1 and chosen.issuperset(same) else []
        return found

    def _ask_missing(self, missing: Sequence[tuple[int, int]], there: Sequence[tuple[int, int]], alone: bool) -> str:
        if alone and len(missing) == len(there):
            return f"Why does nothing change in {self.target} after a small change of {self.source}?"
        lags, kept = self._whole_lags(missing, there), {*there} - {*missing}
        if alone and len(lags) > 1 and kept and {self._lag(pair) for pair in kept} == {0}:
            others = "later" if min(lags) > 0 else "earlier" if max(lags) < 0 else "other"
            return (
                f"Why does {self._at_t()} depend on {self._at_lag(0)} alone, although it should depend on {others} rows, too?"
            )
        if lags:
            return f"Why does {self._at_t()} not depend on {self._at_lag(lags[0])}, although it should?"
        (target, row), others = missing[0], ", although it should" if self.shape else ", as it does on other rows"
        return f"Why does {self._number(target)} not depend on {self._row(row)}{others}?"

    def _ask_extra(
        self, extra: Sequence[tuple[int, int]], nothing: Sequence[tuple[int, int]], there: Sequence[tuple[int, int]]
    ) -> str:
        if not there:
            return f"Why does {self.target} depend on {self.source}, although it should not?"
        target, row = extra[0]
        remark, expected = self._remark_on_flags(target, row), set(map(self._lag, there))
        lags = [lag for lag in self._whole_lags(extra, nothing) if lag not in expected]
        if lags and not remark:
            return f"Why does {self._at_t()} depend on {self._at_lag(lags[0])}, although it should not?"
        return f"Why does {self._number(target)} depend on {self._row(row)}{remark or ', although it should not'}?"

    def _ask_strength(self, pairs: Sequence[tuple[int, int]], ratios: Sequence[float]) -> str | None:
        wrong = [(pair, ratio) for pair, ratio in zip(pairs, ratios, strict=True) if abs(ratio - 1) > CLOSE]
        if not wrong:
            return None
        middle = float(np.median(ratios))
        if all(abs(ratio - middle) <= CLOSE * abs(middle) for ratio in ratios):
            if abs(middle + 1) <= CLOSE:
                return f"Why does {self.target} fall where {self.source} should make it grow, and the other way round?"
            return self._ask(self.source, self.target, middle, NAMELESS[0])
        for lag, ratio in self._ratios_by_lag(pairs, ratios).items():
            if abs(ratio - 1) > CLOSE:
                return self._ask(self._at_lag(lag), self._at_t(), ratio, NAMELESS[0])
        (target, row), ratio = wrong[0]
        nearly = any(TOLD < abs(other - 1) <= CLOSE for other in ratios)
        if ratio > 0 and (nearly or any(abs(other - ratio) > CLOSE * ratio for _, other in wrong)):
            return None  # the factor of one row among others with factors of their own is made of this row's numbers
        return self._ask(self._row(row), self._number(target), ratio, NAMELESS[1])

    def _ratios_by_lag(self, pairs: Sequence[tuple[int, int]], ratios: Sequence[float]) -> dict[int, float]:
        """Return by lag how strong the influence is, nothing if that does not depend on the lag alone."""
        found: dict[int, list[float]] = {}
        for pair, ratio in zip(pairs, ratios, strict=True):
            lag = self._lag(pair)
            if lag is None:
                return {}
            found.setdefault(lag, []).append(ratio)
        middle = {lag: float(np.median(group)) for lag, group in found.items()}
        for lag, group in found.items():
            if any(abs(ratio - middle[lag]) > CLOSE * max(1, abs(middle[lag])) for ratio in group):
                return {}
        return middle

    def _ask(self, source: str, target: str, ratio: float, nameless: str) -> str:
        """Ask why one moves the other by a wrong factor."""
        if (name := self._name_factor(ratio)) is not None:
            return f"Why does {source} move {target} {format_times(ratio)}{name} as strongly as it should?"
        if ratio < 0:
            return f"Why does {source} move {target} in the wrong direction?"
        return f"Why does {source} move {target} {format_times(ratio)} as strongly as it should{nameless}"

    def _name_factor(self, ratio: float) -> str | None:
        """Return a remark on what a factor is: None without a name, "" for two names, or for a whole number or part."""
        rows, of_formula = self.rows[0] if self.rows else 1, self._name_part(ratio)
        for value, said in ((rows, f" (there are {rows} rows)"), (1 / rows, f" (1/{rows}, and there are {rows} rows)")):
            if rows > 2 and isclose(ratio, value, rel_tol=TOLD):
                return said if of_formula is None else ""
        if any(isclose(abs(ratio), value, rel_tol=TOLD) for number in range(2, SMALL + 1) for value in (number, 1 / number)):
            return ""
        return of_formula

    def _name_part(self, ratio: float) -> str | None:
        """Return which part of the formula a factor is, as a remark."""
        for name, value in self.factors.items():
            whole = {name: value, f"{name}²": value**2, f"1/{name}": 1 / value, f"1 - {name}": 1 - value, f"-{name}": -value}
            close = {said: known for said, known in whole.items() if isclose(ratio, known, rel_tol=TOLD)}
            part = {f"half of {name}": value / 2, f"twice {name}": 2 * value}
            close |= {said: known for said, known in part.items() if isclose(ratio, known, rel_tol=TOLD)}
            for said, known in close.items():
                if all(abs(known - plain) > CLOSE for plain in (1.0, 0.5, 2.0)):
                    return f" ({said})"
        return None

    def _remark_on_flags(self, target: int, row: int) -> str:
        """Return what a boolean input says of the row, or of the step at which an episode ends before it, if any does."""
        place = tuple(int(index) for index in np.unravel_index(row, self.rows)) if self.rows else ()
        if self.time is None:
            found = [name for name, flags in self.flags.items() if flags[place]]
            return f", where {found[0]}{_index(place)} is True" if found else ""
        if self._lag((target, row)) is None:
            return ""
        first, last = sorted(int(np.unravel_index(one, self.rows)[self.time]) for one in (target, row))
        for name, flags in self.flags.items():
            for step in range(first, last):
                between = (*place[: self.time], step, *place[self.time + 1 :])
                if flags[between]:
                    return f", though {name}{_index(between)} is True"
        return ""

    def _at_t(self) -> str:
        return f"{self.target}{self._step('t')}"

    def _at_lag(self, lag: int) -> str:
        step = "t" if lag == 0 else f"t {'+' if lag > 0 else '-'} {abs(lag)}"
        return f"{self.source}{self._step(step)}"

    def _step(self, step: str) -> str:
        """Return the index of a step: other axes have letters."""
        names = [step if axis == self.time else letter for axis, letter in zip(range(len(self.rows)), "ijk", strict=False)]
        return f"[{', '.join(names)}]"

    def _row(self, row: int) -> str:
        return f"{self.source}{_index(np.unravel_index(row, self.rows)) if self.rows else ''}"

    def _number(self, target: int) -> str:
        return f"{self.target}{_index(np.unravel_index(target, self.shape)) if self.shape else ''}"


def _as_one(expected: np.ndarray, got: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return two matrices with one row each: how far each input moves all numbers of the output, in the expected direction.

    Then return how far each input moves them aside from this direction.
    """
    size = np.linalg.norm(expected, axis=0)
    unit = expected / np.where(size > 0, size, 1)
    along = (unit * got).sum(axis=0)
    moves = np.where(size > STILL * size.max(), along, np.linalg.norm(got, axis=0))
    return size[None], moves[None], np.linalg.norm(got - unit * along, axis=0)


def _index(place: Sequence[Any]) -> str:
    return f"[{', '.join(str(int(index)) for index in place)}]"


def quote_words(name: str) -> str:
    """Return the name of a fact, in quotes if it is more than a word."""
    return f"'{name}'" if " " in name else name


def format_times(ratio: float) -> str:
    """Return a factor in words, with three digits, or four where these could be those of a discount factor."""
    digits = 4 if 0.95 < ratio < 1.05 else 3
    return f"{format_number(float(f'{ratio:.{digits}g}'))} times"
