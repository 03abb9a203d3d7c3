"""Find the names in a function that its author chose, and rename them like those of another function.

Only the standard library is needed: workers of a sandbox use this module on a student's code.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from grader.proof.alignment import align, find_correspondence

Node = TypeVar("Node", bound=ast.AST)
Function = (ast.FunctionDef, ast.AsyncFunctionDef)
MASK = "_"


def rename_like(base: ast.stmt, other: ast.stmt) -> ast.stmt:
    """Return a definition with the names of another one, as far as their parts correspond.

    Variables and parameters of functions are renamed and, in a class, the attributes of self that methods assign.

    Args:
        base: The definition whose names are wanted.
        other: The definition to be renamed.
    """
    renamed = copy.deepcopy(other)
    for was, now in _pair_functions(base, renamed):
        found = _choose_names(was, now, list_local_names(was), list_local_names(now))
        _rename(now, found, variables=True)
    if isinstance(base, ast.ClassDef):
        found = _choose_names(base, renamed, list_own_attributes(base), list_own_attributes(renamed))
        _rename(renamed, found, variables=False)
    return renamed


def _pair_functions(base: ast.stmt, other: ast.stmt) -> Iterator[tuple[ast.stmt, ast.stmt]]:
    """Yield the functions that correspond: these two, or the methods of the same name."""
    if isinstance(base, ast.ClassDef) and isinstance(other, ast.ClassDef):
        methods = {node.name: node for node in base.body if isinstance(node, Function)}
        yield from ((methods[node.name], node) for node in other.body if isinstance(node, Function) and node.name in methods)
    elif isinstance(base, Function) and isinstance(other, Function):
        yield base, other


def list_local_names(function: ast.stmt) -> set[str]:
    """Return the names of a function's parameters and variables, those of functions in it included."""
    names = {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    names |= {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    declared = {name for node in ast.walk(function) if isinstance(node, ast.Global) for name in node.names}
    return names - declared - {"self", "cls"}


def list_own_attributes(definition: ast.stmt) -> set[str]:
    """Return the attributes of self that are assigned."""
    return {node.attr for node in _list_attributes(definition) if isinstance(node.ctx, ast.Store)}


def _list_attributes(definition: ast.AST) -> Iterator[ast.Attribute]:
    for node in ast.walk(definition):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            yield node


def _choose_names(base: ast.stmt, other: ast.stmt, wanted: set[str], own: set[str]) -> dict[str, str]:
    """Return, for each name of `other`, the name of `base` that is most often in its place; no two get the same name."""
    votes: Counter[tuple[str, str]] = Counter()
    _vote(_mask(base, wanted), _mask(other, own), votes)
    if isinstance(base, Function) and isinstance(other, Function):
        pairs = zip(_list_parameters(base), _list_parameters(other), strict=False)
        votes.update({(now, was): 1_000 for was, now in pairs})  # a parameter's place says which it is
    found: dict[str, str] = {}
    for (name, better), _ in votes.most_common():
        if name in own and better in wanted and name not in found and better not in found.values():
            found[name] = better
    kept = _list_all_names(other) - found.keys()
    while blocked := {name for name, better in found.items() if better in kept}:
        kept |= blocked
        found = {name: better for name, better in found.items() if name not in blocked}
    return {name: better for name, better in found.items() if name != better}


def _list_parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    parameters = function.args
    return [one.arg for one in (*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs)]


def _list_all_names(node: ast.AST) -> set[str]:
    """Return all names and attributes of self that occur in a part."""
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return names | {part.arg for part in ast.walk(node) if isinstance(part, ast.arg)} | {a.attr for a in _list_attributes(node)}


def _mask(node: Node, names: set[str]) -> Node:
    """Return a copy in which all of the names are equal; the original names are stored in the nodes."""
    masked = copy.deepcopy(node)
    for part in ast.walk(masked):
        for field in ("id", "arg", "attr"):
            name = getattr(part, field, None)
            if isinstance(part, (ast.Name, ast.arg, ast.Attribute)) and name in names:
                part.was = name  # type: ignore[union-attr]
                setattr(part, field, MASK)
    return masked


def _vote(base: Any, other: Any, votes: Counter[tuple[str, str]]) -> None:
    """Count which names are in the same place of two masked trees."""
    if isinstance(base, list) and isinstance(other, list):
        for was, now in align(base, other):
            if was is not None and now is not None:
                _vote(was, now, votes)
    elif isinstance(base, ast.AST) and isinstance(other, ast.AST):
        if hasattr(base, "was") and hasattr(other, "was"):
            votes[other.was, base.was] += 1
        same = ast.dump(base) == ast.dump(other)
        how, inner = ("same", None) if same else find_correspondence(base, other)
        if how == "same":
            for name in base._fields:
                _vote(getattr(base, name), getattr(other, name, None), votes)
        elif how == "wraps":
            _vote(base, inner, votes)
        elif how == "unwraps":
            _vote(inner, other, votes)


def _rename(node: ast.AST, names: Mapping[str, str], variables: bool) -> None:
    """Give variables, or attributes of self, their new names, in place."""
    if not variables:
        for attribute in _list_attributes(node):
            attribute.attr = names.get(attribute.attr, attribute.attr)
        return
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            part.id = names.get(part.id, part.id)
        elif isinstance(part, ast.arg):
            part.arg = names.get(part.arg, part.arg)
        elif isinstance(part, ast.Nonlocal):
            part.names = [names.get(name, name) for name in part.names]
