"""Compare a result with the expected one and describe the first difference: shape, then dtype, then value."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.sandbox.wire import TensorArray

SHOWN_NUMBERS = 24
SHOWN_INPUTS = 14
SHOWN_PLACES = 8
SHORT = 60  # characters of two lists that are shown on one line
NOTHING = ("none: ", "nothing: ")  # how the text of a driver begins that says why there is nothing, such as no gradient
KINDS = {"f": "floating-point", "i": "integer", "u": "integer", "b": "boolean"}


@dataclass(frozen=True)
class Tolerance:
    """How closely two values must agree.

    Attributes:
        rtol: Relative tolerance.
        atol: Absolute tolerance.
        exact_dtype: Whether to distinguish float32 from float64 and the like, and 2.0 from the integer 2; otherwise only
            floating-point, integer and boolean arrays differ.
        equal_nan: Whether two NaN agree.
    """

    rtol: float
    atol: float
    exact_dtype: bool = False
    equal_nan: bool = False


def difference(
    expected: Any,
    got: Any,
    rtol: float = 1e-4,
    atol: float = 1e-5,
    exact_dtype: bool = False,
    equal_nan: bool = False,
) -> str | None:
    """Return the first difference between two trees of plain data as text for a student, or None when there is none.

    Numbers and arrays agree when |got - expected| <= atol + rtol · |expected|. Infinities agree only with equal infinities.

    Args:
        expected: The stored answer.
        got: The tree that is compared with it.
        rtol, atol, exact_dtype, equal_nan: See `Tolerance`.
    """
    return _difference(expected, got, Tolerance(rtol, atol, exact_dtype, equal_nan), "result")


def _difference(expected: Any, got: Any, how: Tolerance, where: str) -> str | None:
    """Return the first difference; `where` is the name of the value in the text."""
    if isinstance(expected, dict) and isinstance(got, dict):
        return _dict_difference(expected, got, how, where)
    if isinstance(expected, (list, tuple)) and isinstance(got, (list, tuple)):
        return _list_difference(expected, got, how, where)
    if isinstance(expected, np.ndarray):
        return _array_difference(expected, got, how, where)
    if is_number(expected) and is_number(got):
        if how.exact_dtype and is_integer(expected) != is_integer(got):
            return f"{where}: expected {_with_kind(expected)}, got {_with_kind(got)}"
        if _close(float(expected), float(got), how):
            return None
    elif type(expected) is type(got) and expected == got:
        return None
    found = got if isinstance(got, str) and got.startswith(NOTHING) else format_value(got)
    return f"{where}: expected {format_value(expected)}, got {found}"


def _name_item(where: str, index: int) -> str:
    """Return the name of an item of a list; behind a name of several words, the index would look like that of the last one."""
    return f"{where}[{index}]" if where.endswith("]") or " " not in where else f"{where}, at [{index}]"


def _dict_difference(expected: dict[Any, Any], got: dict[Any, Any], how: Tolerance, where: str) -> str | None:
    for key in expected:
        if key not in got:
            return f"{where}: {key!r} is missing"
        if text := _difference(expected[key], got[key], how, str(key)):
            return text
    extra = [key for key in got if key not in expected]
    return f"{where}: {extra[0]!r} is not expected" if extra else None


def _list_difference(expected: Sequence[Any], got: Sequence[Any], how: Tolerance, where: str) -> str | None:
    if len(expected) != len(got):
        one, other = format_value(expected), format_value(got)
        if len(one) + len(other) <= SHORT:
            return f"{where}: expected {one}, got {other}"
        many = f"{len(expected)} entr{'y' if len(expected) == 1 else 'ies'}"
        return f"{where}: expected {many}, got {len(got)}:\n  expected {one}\n  got      {other}"
    pairs = enumerate(zip(expected, got, strict=True))
    return next((text for index, pair in pairs if (text := _difference(*pair, how, _name_item(where, index)))), None)


def _array_difference(expected: np.ndarray, got: Any, how: Tolerance, where: str) -> str | None:
    if not isinstance(got, np.ndarray) or (isinstance(expected, TensorArray) and not isinstance(got, TensorArray)):
        return f"{where}: expected {name_kind(expected)} of shape {list(expected.shape)}, got {_describe_other(got)}"
    if expected.shape != got.shape:
        return f"{where}: expected shape {list(expected.shape)}, got shape {list(got.shape)}"
    kinds = KINDS[expected.dtype.kind], KINDS[got.dtype.kind]
    if kinds[0] != kinds[1] or (how.exact_dtype and expected.dtype != got.dtype):
        return f"{where}: expected dtype {expected.dtype}, got {got.dtype}"
    with np.errstate(invalid="ignore", over="ignore"):
        close = np.isclose(got, expected, rtol=how.rtol, atol=how.atol, equal_nan=how.equal_nan)
        if close.all():
            return None
        distance = np.abs(np.asarray(got, dtype=np.float64) - np.asarray(expected, dtype=np.float64))
    distance = np.where(close, -1.0, np.where(np.isnan(distance), np.inf, distance))
    index = np.unravel_index(int(distance.argmax()), distance.shape)
    place = list(map(int, index))
    lines = [f"{where}:", f"  expected {format_value(expected)}", f"  got      {format_value(got)}"]
    if place:
        lines.append(
            f"  {(~close).sum()} of {close.size} differ; largest difference at {place}: "
            f"expected {format_number(expected[index])}, got {format_number(got[index])}"
        )
    return "\n".join(lines)


def _describe_other(got: Any) -> str:
    """Return what was found in place of an array."""
    if got is None:
        return "None: is a `return` missing?"
    if isinstance(got, str):
        return got if got.startswith(NOTHING) else format_value(got)
    return f"{name_kind(got)}, {format_value(got)}"


def _close(expected: float, got: float, how: Tolerance) -> bool:
    """Return `np.isclose` of two numbers, fifty times faster than NumPy: facts hold many single numbers."""
    if expected == got:
        return True
    if math.isfinite(expected) and math.isfinite(got):
        return abs(got - expected) <= how.atol + how.rtol * abs(expected)
    return how.equal_nan and math.isnan(expected) and math.isnan(got)


def is_number(value: Any) -> bool:
    return isinstance(value, (numbers.Real, np.number)) and not isinstance(value, (bool, np.bool_))


def is_integer(value: Any) -> bool:
    """Return whether a number has the type of an integer, whatever its value."""
    return isinstance(value, (numbers.Integral, np.integer))


def _with_kind(value: Any) -> str:
    """Return a number with its type, so that 2 and 2.0 look different."""
    return f"the int {int(value)}" if is_integer(value) else f"the float {float(value)!r}"


MAX_KEPT = 1 << 16  # numbers of an array that are kept for a closer look


def drop_large_arrays(tree: Any) -> Any:
    """Return facts with every array of more than 65,536 numbers replaced by a text that says so.

    The wire already limits everything else.
    """
    if isinstance(tree, np.ndarray) and tree.size > MAX_KEPT:
        return f"{name_kind(tree)} of shape {list(tree.shape)}, too large to be kept"
    if isinstance(tree, dict):
        return {key: drop_large_arrays(value) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return type(tree)(drop_large_arrays(value) for value in tree)
    return tree


def name_kind(value: Any) -> str:
    """Return the kind of a value with its article, such as "a tensor"."""
    if isinstance(value, TensorArray):
        return "a torch.Tensor"
    if isinstance(value, np.ndarray):
        return "a NumPy array"
    return "None" if value is None else f"a {type(value).__name__}"


def format_number(value: Any) -> str:
    """Return a number with six significant digits."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    return f"{float(value) + 0.0:.6g}"  # 0, not -0


def format_value(value: Any, limit: int = SHOWN_NUMBERS) -> str:
    """Return a value on one line: arrays up to `limit` numbers in full, larger ones by shape and first numbers."""
    if isinstance(value, np.ndarray):
        if value.size == 0 and value.ndim > 1:
            return f"{value.dtype}{list(value.shape)} []"  # its first axis may be as long as it likes
        if value.dtype == bool and value.size > limit // 2 and value.ndim and (rare := _rare(value)):
            return rare
        if value.size > limit:
            if (value == value.flat[0]).all():
                return f"{value.dtype}{list(value.shape)} {format_number(value.flat[0])} everywhere"
            first = ", ".join(format_number(item) for item in value.ravel()[:6])
            return f"{value.dtype}{list(value.shape)} [{first}, ...]"
        return _nested(value)
    if isinstance(value, (list, tuple)):
        if value and all(isinstance(item, np.ndarray) for item in value) and sum(item.size for item in value) > limit:
            return f"{len(value)} arrays of shapes {', '.join(str(list(item.shape)) for item in value[:limit])}"
        items = ", ".join(format_value(item, limit) for item in value[:limit])
        return f"[{items}{', ...' if len(value) > limit else ''}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {format_value(item)}" for key, item in list(value.items())[:SHOWN_NUMBERS]) + "}"
    if is_number(value):
        return format_number(value)
    return repr(value)[:200]


def _rare(value: np.ndarray) -> str:
    """Return the few indices at which a boolean array differs from its usual value; empty if there are none or many."""
    usual = bool(value.mean() > 0.5)
    places = np.argwhere(value != usual).tolist()
    where = f", but {not usual} at {', '.join(map(str, places))}" if places else ""
    return f"bool{list(value.shape)} {usual}{where or ' everywhere'}" if len(places) <= SHOWN_PLACES else ""


def _nested(value: np.ndarray) -> str:
    if value.ndim == 0:
        return format_number(value[()])
    return "[" + ", ".join(_nested(item) if isinstance(item, np.ndarray) else format_number(item) for item in value) + "]"
