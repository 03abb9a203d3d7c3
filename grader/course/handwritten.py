"""Words for faults in files that people write by hand: keys that do not exist, and values that a model refuses."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Any, get_args

from pydantic import BaseModel
from pydantic_core import ErrorDetails

MOST_NAMED = 16  # names that are listed where none is close
KINDS = {"model_type": "expected a table", "dict_type": "expected a table", "tuple_type": "expected a list"}
# The beginnings of pydantic's messages, in the words of the kit.
BEGINNINGS = (
    (r"^Value error, ", ""),
    (r"^Input should be (?=greater|less)", "expected a number "),
    (r"^Input should be ", "expected "),
    (r"^(Decimal input|String) should have ", "expected "),
    (r"^String should match ", "expected a text that matches "),
)


def suggest(name: str, known: Iterable[str]) -> str:
    """Return a suggestion of known names that may be meant."""
    names = list(known)
    close = difflib.get_close_matches(name, names, 1)
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(names[:MOST_NAMED]) or 'none'}{more}"


def _list_keys(model: type[BaseModel], place: Sequence[int | str]) -> list[str]:
    """Return the keys that a file may have at a place, such as ("questions", 0, "points"); none if that is not a table."""
    table: type[BaseModel] | None = model
    for part in place:
        if isinstance(part, str) and table is not None:
            table = _find_model(table.model_fields[part].annotation) if part in table.model_fields else None
    return list(table.model_fields) if table is not None else []


def _find_model(annotation: Any) -> type[BaseModel] | None:
    """Return the model in an annotation such as `tuple[Extension, ...]`; None if there is none."""
    if parts := get_args(annotation):
        return next(filter(None, map(_find_model, parts)), None)
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def explain_fault(model: type[BaseModel], fault: ErrorDetails) -> str:
    """Return what is wrong at the place of a fault: what was expected, what was found, which name may be meant.

    Args:
        model: The model of the whole file.
    """
    kind, place, found = fault["type"], fault["loc"], fault["input"]
    if kind == "extra_forbidden":
        key, known = str(place[-1]), _list_keys(model, place[:-1])
        if len(place) > 1 and key in model.model_fields and key not in known:
            return f"there is no key {key!r} here; it belongs at the top of the file, above the first [section]"
        return f"there is no key {key!r} here; {suggest(key, known)}"
    if kind == "missing":
        return f"expected a value, found none; add a line `{place[-1]} = ...`"
    if kind == "tuple_type" and isinstance(found, dict):
        return f"expected a list; write [[{place[-1]}]] in double brackets"
    what = re.sub(", (got|unable to) .*", "", KINDS.get(kind, fault["msg"]))
    for beginning, words in BEGINNINGS:
        what = re.sub(beginning, words, what)
    if kind == "value_error" or not what.startswith("expected "):
        return what
    return f"{what}, found {_name_value(found)}"


def _name_value(value: object) -> str:
    if isinstance(value, (dict, list)):
        return "a table" if isinstance(value, dict) else "a list"
    return repr(value)[:80] if isinstance(value, str) else str(value)[:80]


def describe_faults(model: type[BaseModel], faults: Iterable[ErrorDetails]) -> str:
    """Return all faults of a file on one line, each with its place."""
    said = ((".".join(map(str, fault["loc"])).removesuffix(".[key]"), explain_fault(model, fault)) for fault in faults)
    return "; ".join(f"{where}: {what}" if where else what for where, what in said)
