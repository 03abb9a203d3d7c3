"""Merge two changes of one source, to simulate a student who makes two mistakes."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any

from grader.hashing import drop_docstrings


class MergeConflict(Exception):
    """Both texts change the same expression in different ways."""


def merge_changes(text: str, one: str, other: str) -> str:
    """Return the code of a text with the changes of two others, even within one statement.

    Raises:
        MergeConflict: If the changes exclude each other.
    """
    merged = _merge(*map(_parse, (text, one, other)))
    code = ast.unparse(ast.fix_missing_locations(merged))
    try:
        ast.parse(code)
    except SyntaxError as error:
        raise MergeConflict(str(error)) from error
    return code


@lru_cache(256)
def _parse(text: str) -> ast.Module:
    """Return the tree of a text without docstrings, because a rewritten function has none."""
    return drop_docstrings(ast.parse(text))


def _merge(base: Any, one: Any, other: Any) -> Any:
    """Return a part of a tree with the changes of both."""
    dumped, first, second = _dump(base), _dump(one), _dump(other)
    if first in (dumped, second):
        return other
    if second == dumped:
        return one
    for outer, inner in ((one, other), (other, one)):
        if (made := _wrap(base, outer, inner)) is not None or (made := _unwrap(base, outer, inner)) is not None:
            return made
    if type(base) is type(one) is type(other):
        if isinstance(base, list):
            return _merge_lists(base, one, other)
        if isinstance(base, ast.AST):
            fields = {name: _merge(*(getattr(node, name, None) for node in (base, one, other))) for name in base._fields}
            return type(base)(**fields)
    raise MergeConflict(f"both change {dumped:.80}")


def _wrap(base: Any, outer: Any, inner: Any) -> Any:
    """Return `outer` with the expression inside it replaced by `inner`, if `outer` contains it unchanged; else None."""
    if not isinstance(base, ast.expr) or not isinstance(outer, ast.expr):
        return None
    for name, value in ast.iter_fields(outer):
        for place, part in enumerate(value if isinstance(value, list) else [value]):
            if not isinstance(part, ast.expr):
                continue
            made = inner if _dump(part) == _dump(base) else _wrap(base, part, inner)
            if made is not None:
                parts = [*value[:place], made, *value[place + 1 :]] if isinstance(value, list) else made
                return type(outer)(**dict(ast.iter_fields(outer)) | {name: parts})
    return None


def _unwrap(base: Any, outer: Any, inner: Any) -> Any:
    """Return the part of the expression that `outer` keeps, with the changes of `inner`; None if there is none."""
    if not isinstance(base, ast.expr) or type(base) is not type(inner):
        return None
    fields = dict(ast.iter_fields(base))
    alike = type(outer) if type(outer) is not type(base) else None
    left = [
        name
        for name, value in fields.items()
        if isinstance(value, ast.expr) and (type(value) is alike or _dump(value) == _dump(outer))
    ]
    if len(left) != 1 or any(_dump(fields[name]) != _dump(getattr(inner, name)) for name in fields.keys() - {left[0]}):
        return None
    return _merge(fields[left[0]], outer, getattr(inner, left[0]))


def _merge_lists(base: list[Any], one: list[Any], other: list[Any]) -> list[Any]:
    """Return the items of both lists: an item that one list changes, moves or removes must be unchanged in the other."""
    changed = [_align(base, each) for each in (one, other)]
    made: list[Any] = []
    for place in range(len(base) + 1):
        (before_one, now_one), (before_other, now_other) = (each[place] for each in changed)
        if before_one and before_other and _dump(before_one) != _dump(before_other) and not _are_statements(before_one):
            raise MergeConflict("both add something at the same place")
        made += before_one or before_other if _dump(before_one) == _dump(before_other) else [*before_one, *before_other]
        if place == len(base):
            break
        kept = [base[place]]
        if _dump(now_one) == _dump(kept):
            made += now_other
        elif _dump(now_other) in (_dump(kept), _dump(now_one)):
            made += now_one
        elif len(now_one) == len(now_other) == 1:
            made.append(_merge(base[place], now_one[0], now_other[0]))
        else:
            raise MergeConflict("one changes what the other leaves out")
    return made


def _align(base: Sequence[Any], changed: Sequence[Any]) -> list[tuple[list[Any], list[Any]]]:
    """Return, for each item of a list and for its end, the items inserted before it and the items that replace it."""
    aligned: list[tuple[list[Any], list[Any]]] = [([], [item]) for item in base] + [([], [])]
    before, after = [_dump(item) for item in base], [_dump(item) for item in changed]
    for kind, start, end, first, last in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        new = list(changed[first:last])
        if kind == "insert":
            aligned[start] = (new, aligned[start][1])
            continue
        paired = len(new) == end - start
        for place in range(start, end):
            aligned[place] = (aligned[place][0], [new[place - start]] if paired else new if place == start else [])
    return aligned


def _are_statements(items: list[Any]) -> bool:
    return all(isinstance(item, ast.stmt) for item in items)


def _dump(part: Any) -> str:
    if isinstance(part, list):
        return f"[{', '.join(map(_dump, part))}]"
    if not isinstance(part, ast.AST):
        return repr(part)
    if not hasattr(part, "dumped"):
        part.dumped = ast.dump(part)  # type: ignore[attr-defined]
    dumped: str = part.dumped  # type: ignore[attr-defined]  # of trees that are compared many times, and never changed
    return dumped
