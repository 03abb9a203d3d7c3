"""Record the arguments of a submission's functions: of each, one call from outside its file."""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

from grader.sandbox.operands import PLAIN, SEQUENCES, describe_value, is_array

MOST_CALLS = 16  # of different functions
MOST_ITEMS = 64  # of a list
MOST_PARTS = 12  # of an object
MOST_NUMBERS = 1 << 14  # of an array
MOST_TEXT = 200
DEEPEST = 2
IS, HOLDS = "<is>", "<holds>"  # the keys of what replaces a value that is not plain data; no parameter has such a name
DRIVERS = "drivers"  # the module that calls the submission
TIMES = "<times>"  # beside the arguments: how often the function was called; left out for once

Arguments = dict[str, Any]


@contextlib.contextmanager
def note_arguments(path: str) -> Iterator[dict[str, Arguments]]:
    """Yield a dictionary that fills with the arguments that functions of the file are called with from elsewhere.

    Its keys are names like `get_returns` and `GAE.__call__`, that of the last call last. Values are copies, so what a function
    changes later is as it was; what is too large, or no plain data, is `{IS: what it is}`, an object that holds some numbers
    and arrays `{IS: what it is, HOLDS: these by name}`. If there were several calls, TIMES says how many.

    Of a method, the last call counts: earlier ones have led to it. Of a function, the first one does: drivers call it again
    with other numbers, to see what its result depends on. Calls among the functions of the file are not noted. Nor are calls
    whose output a driver suppresses, if there is another one: they only prepare the call that counts, or are compared with it.

    Args:
        path: The file of the submission, as its code names it.
    """
    found: dict[str, Arguments] = {}
    counted: dict[str, int] = {}  # by function, how many calls were heard
    screen = sys.stdout
    within = 0

    def note(frame: FrameType, event: str, _: Any) -> None:
        nonlocal within
        if frame.f_code.co_filename != path or event not in ("call", "return"):
            return
        if event == "call" and within == 0:
            with contextlib.suppress(Exception):
                function, heard = _name_function(frame), sys.stdout is screen
                if heard:
                    counted[function] = counted.get(function, 0) + 1
                times = counted.get(function, 1)
                if function in found and times > 1 and not shows_last(function):
                    found[function] = found.pop(function) | {TIMES: times}
                elif heard or function not in counted:
                    _note_call(function, frame, found, times)
        within = max(within + (1 if event == "call" else -1), 0)

    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)


def shows_last(function: str) -> bool:
    """Return whether the last of several calls is noted, not the first."""
    return "." in function


def _name_function(frame: FrameType) -> str:
    name = frame.f_code.co_name
    return f"{type(frame.f_locals['self']).__name__}.{name}" if _list_parameters(frame.f_code)[:1] == ["self"] else name


def _note_call(function: str, frame: FrameType, found: dict[str, Arguments], times: int) -> None:
    names = [name for name in _list_parameters(frame.f_code) if name != "self"]
    values = frame.f_locals
    found.pop(function, None)
    if len(found) < MOST_CALLS:
        arguments = {name: _copy(values[name]) for name in names if name in values}
        found[function] = arguments | ({TIMES: times} if times > 1 else {})


def _list_parameters(code: CodeType) -> list[str]:
    more = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + more])


def _copy(value: Any, depth: int = 0) -> Any:
    """Return a copy of plain data, or what else the value is."""
    kind = type(value)
    if is_array(value):
        size = value.size if kind.__name__ == "ndarray" else value.numel()
        if size > MOST_NUMBERS:
            return {IS: describe_value(value)}
        return value.copy() if kind.__name__ == "ndarray" else sys.modules["torch"].Tensor.detach(value).clone()
    if kind in PLAIN:
        return value if kind is not int or abs(value) < 1 << 200 else {IS: "a very large int"}
    if kind is str:
        return value[:MOST_TEXT]
    if depth < DEEPEST and kind in SEQUENCES and len(value) <= MOST_ITEMS:
        return [_copy(item, depth + 1) for item in value]
    if depth < DEEPEST and kind is dict and len(value) <= MOST_PARTS and all(type(key) is str for key in value):
        return {key.lstrip("$"): _copy(item, depth + 1) for key, item in value.items()}
    numpy = sys.modules.get("numpy")
    if numpy and isinstance(value, numpy.generic) and kind.__module__ == "numpy":
        return value
    return {IS: describe_value(value) or _describe_object(value)} | _copy_parts(value)


def _describe_object(value: Any) -> str:
    """Return the type of an object in words, and whether it is the grader's: students search their own file for its name."""
    kind = type(value).__name__
    if type(value).__module__ == DRIVERS:
        return f"the grader's {kind}"
    if callable(value) and getattr(value, "__module__", None) == DRIVERS and hasattr(value, "__qualname__"):
        return "a function of the grader"
    return f"{'an' if kind[:1] in 'AEIOUaeiou' else 'a'} {kind}"


def _copy_parts(value: Any) -> dict[str, Any]:
    """Return `{HOLDS: the numbers and arrays that an object of few parts holds}`; nothing of a network or an environment."""
    held = getattr(value, "__dict__", None)
    if type(held) is not dict or any(hasattr(type(value), name) for name in ("parameters", "step")):
        return {}
    public = {name: part for name, part in held.items() if not name.startswith("_")}
    shown = {name: part for name, part in public.items() if is_array(part) or type(part) in (*PLAIN, *SEQUENCES)}
    return {HOLDS: {name: _copy(part, DEEPEST - 1) for name, part in shown.items()}} if 0 < len(shown) <= MOST_PARTS else {}
