"""Describe the values in the line that raised an exception: types, shapes and dtypes."""

from __future__ import annotations

import ast
import contextlib
import linecache
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

MAX_OPERANDS = 6
MAX_TEXT = 80
PLAIN = (int, float, bool, type(None))
SEQUENCES = (list, tuple)
INLINE = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<lambda>")  # code that uses the variables around it


def describe_operands(frame: FrameType, line: int) -> list[list[str]]:
    """Return `[expression, what it is]` for the values that a line of a submission uses, outermost names first.

    Expressions are names, attributes that an object itself holds, and elements of tensors, arrays and lists. Nothing of the
    submission runs for this: what a class of its own would compute is left out.
    """
    found: dict[str, str] = {}
    for node in _list_expressions(frame.f_code.co_filename, line):
        text = ast.unparse(node)
        if isinstance(node, ast.Constant) or text in found or len(text) > MAX_TEXT:
            continue
        known, value = _look_up(node, frame)
        described = describe_value(value) if known else ""
        if described:
            found[text] = described
    return [[text, described] for text, described in list(found.items())[:MAX_OPERANDS]]


def _list_expressions(path: str, line: int) -> Iterator[ast.expr]:
    """Yield the expressions of the statement at a line, without the body that may belong to it."""
    try:
        tree = ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError, RecursionError):
        return
    statement = None
    for node in ast.walk(tree):
        # Walked from the outside in: the last one is the innermost.
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
            statement = node
    if statement is None:
        return
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop(0)
        # A name that the statement only sets still has the value of an earlier turn.
        only_set = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and not isinstance(statement, ast.AugAssign)
        if isinstance(node, ast.expr) and not only_set:
            yield node
        children = list(ast.iter_child_nodes(node))
        waiting += [child for child in children if not isinstance(child, (ast.stmt, ast.Lambda, ast.excepthandler))]


def _look_up(node: ast.expr, frame: FrameType) -> tuple[bool, Any]:
    """Return (whether the value of an expression is known, the value)."""
    if isinstance(node, ast.Constant):
        return True, node.value
    if isinstance(node, ast.Name):
        within = [frame, frame.f_back] if frame.f_code.co_name in INLINE and frame.f_back else [frame]
        for names in (*(one.f_locals for one in within), frame.f_globals):
            if node.id in names:
                return True, names[node.id]
    elif isinstance(node, ast.Attribute):
        known, value = _look_up(node.value, frame)
        return _look_into(value, node.attr) if known else (False, None)
    elif isinstance(node, ast.Subscript):
        (known, value), (placed, index) = _look_up(node.value, frame), _look_up(node.slice, frame)
        if known and placed and type(index) is int and (type(value) in SEQUENCES or is_array(value)):
            with contextlib.suppress(IndexError):
                return True, value[index]
    return False, None


def _look_into(value: Any, name: str) -> tuple[bool, Any]:
    """Return (whether an object itself holds an attribute, its value), as torch's modules hold parameters, too."""
    try:
        held = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return False, None
    for place in (held, held.get("_parameters"), held.get("_buffers")) if type(held) is dict else ():
        if type(place) is dict and name in place:
            return True, place[name]
    return False, None


def is_array(value: Any) -> bool:
    """Return whether a value is a tensor or an array of the libraries' own types, which run nothing of a submission."""
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    kinds = [torch.Tensor, torch.nn.Parameter] if torch else []
    return type(value) in (*kinds, *([numpy.ndarray] if numpy else []))


def describe_value(value: Any) -> str:
    """Return what a value is, in a few words; nothing for functions, classes and modules."""
    kind = type(value)
    if is_array(value):
        dtype, shape = str(value.dtype).removeprefix("torch."), list(value.shape)
        name = {"ndarray": "NumPy array", "Tensor": "tensor", "Parameter": "parameter"}[kind.__name__]
        article = "an" if dtype[0] in "aeiou" and not dtype.startswith("uint") else "a"
        return f"{article} {dtype} {name} of shape {shape}"
    if kind in PLAIN:
        return repr(value)[:MAX_TEXT]
    if kind is str:
        return "a string"
    if kind in SEQUENCES:
        kinds = {type(item).__name__[:40] for item in value[:100]}
        if not value:
            return f"an empty {kind.__name__}"
        return f"a {kind.__name__} of {len(value)}" + (f" ({kinds.pop()})" if len(kinds) == 1 else "")
    if kind is dict:
        return f"a dict with {len(value)} entr{'y' if len(value) == 1 else 'ies'}" if value else "an empty dict"
    numpy = sys.modules.get("numpy")
    if numpy and issubclass(kind, (numpy.number, numpy.bool_)) and kind.__module__ == "numpy":
        return f"the {kind.__name__} {value}"[:MAX_TEXT]
    return ""
