"""Rewrite a student's code in ways that may be more similar to the solution; a trial must confirm each result.

Only the standard library is needed: workers of a sandbox use this module on a student's code.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

Tree = TypeVar("Tree", bound=ast.AST)
ITEM = "item_of_loop"  # the variable of a loop that had an index


def rewrite(definition: ast.stmt) -> Iterator[ast.stmt]:
    """Yield copies of a definition, each with one part rewritten.

    A value that is read once is inlined, and so is the result of a helper; `x += 1` becomes `x = x + 1`, and a loop over
    indices becomes a loop over items.
    """
    for block in list_blocks(definition):
        for place, statement in enumerate(block):
            yield from _inline(definition, block, place)
            if isinstance(statement, ast.AugAssign):
                yield _exchange(definition, {id(statement): _spell_out(statement)})
            elif isinstance(statement, ast.While):
                yield from _count_by_range(definition, block, place, statement)
            elif isinstance(statement, ast.For):
                yield from _loop_over_items(definition, statement)
            elif isinstance(statement, ast.FunctionDef):
                yield from _inline_helper(definition, statement)


def list_blocks(definition: ast.AST) -> Iterator[list[ast.stmt]]:
    """Yield all lists of statements in a definition."""
    for node in ast.walk(definition):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                yield block


def _inline(definition: ast.stmt, block: list[ast.stmt], place: int) -> Iterator[ast.stmt]:
    """Yield the definition with one value of a variable inlined, if it is read once or is only a name."""
    match block[place]:
        case ast.Assign(targets=[ast.Name(id=name) as target], value=value) as statement:
            following = block[place + 1 :]
            again = next((number for number, one in enumerate(following, 1) if _assigns(one, name)), None)
            scope = [definition] if again is None else following[:again]
            uses = [part for one in scope for part in ast.walk(one) if isinstance(part, ast.Name) and part.id == name]
            later = {id(part) for one in following for part in ast.walk(one)}
            reads = [part for part in uses if isinstance(part.ctx, ast.Load) and id(part) in later]
            others = len([part for part in uses if part is not target]) - (again is not None)
            if len(reads) == others and (others == 1 or (others and isinstance(value, (ast.Name, ast.Constant)))):
                yield _exchange(definition, {id(statement): None} | {id(read): value for read in reads})


def _inline_helper(definition: ast.stmt, helper: ast.FunctionDef) -> Iterator[ast.stmt]:
    """Yield the definition with the calls of an inner function replaced by its result, if it only returns something."""
    match helper:
        case ast.FunctionDef(name=name, body=[ast.Return(value=ast.expr() as value)], decorator_list=[]):
            parameters = [argument.arg for argument in helper.args.args]
            changes: dict[int, ast.AST | None] = {id(helper): None}
            for call in (node for node in ast.walk(definition) if isinstance(node, ast.Call)):
                if isinstance(call.func, ast.Name) and call.func.id == name:
                    if call.keywords or len(call.args) != len(parameters):
                        return
                    given = dict(zip(parameters, call.args, strict=True))
                    read = [node for node in ast.walk(value) if isinstance(node, ast.Name) and node.id in given]
                    changes[id(call)] = _exchange(value, {id(node): given[node.id] for node in read})
            yield _exchange(definition, changes)


def _spell_out(statement: ast.AugAssign) -> ast.stmt:
    target: Any = type(statement.target)(**dict(ast.iter_fields(statement.target)) | {"ctx": ast.Load()})
    return ast.Assign([statement.target], ast.BinOp(target, statement.op, statement.value), lineno=0)


def _count_by_range(definition: ast.stmt, block: list[ast.stmt], place: int, loop: ast.While) -> Iterator[ast.stmt]:
    """Yield the definition with a for loop over a range instead of a while loop that counts by one at its end."""
    match loop:
        case ast.While(
            test=ast.Compare(left=ast.Name(id=name), ops=[comparison], comparators=[end]),
            body=[*body, ast.AugAssign(target=ast.Name(id=counted), op=step, value=ast.Constant(value=1))],
            orelse=[],
        ) if name == counted and body:
            starts = [one for one in block[:place] if _assigns(one, name)]
            if len(starts) != 1 or not isinstance(starts[0], ast.Assign):
                return
            numbers = _count(starts[0].value, comparison, end, step)
            if numbers is not None:
                counting = ast.For(ast.Name(name, ast.Store()), numbers, body, [], lineno=0)
                changes: dict[int, ast.AST | None] = {id(starts[0]): None, id(loop): counting}
                yield _exchange(definition, changes)
                yield from (_exchange(definition, changes | {id(loop): one}) for one in _loop_over_items(counting, counting))


def _count(start: ast.expr, comparison: ast.cmpop, end: ast.expr, step: ast.operator) -> ast.expr | None:
    """Return the range of a counting loop: upward to just before `end`, or downward to 0; None for other loops."""
    match comparison, step, ast.unparse(end):
        case ast.Lt(), ast.Add(), _:
            return _call("range", *([] if ast.unparse(start) == "0" else [start]), end)
        case (ast.GtE(), ast.Sub(), "0") | (ast.Gt(), ast.Sub(), "-1"):
            return _count_down(start)
    return None


def _count_down(start: ast.expr) -> ast.expr:
    """Return the numbers from `start` to 0."""
    match start:
        case ast.BinOp(left=count, op=ast.Sub(), right=ast.Constant(value=1)):
            return _call("reversed", _call("range", count))
    return _call("reversed", _call("range", ast.BinOp(start, ast.Add(), ast.Constant(1))))


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _assigns(statement: ast.stmt, name: str) -> bool:
    match statement:
        case ast.Assign(targets=[ast.Name(id=found)]):
            return found == name
    return False


def _loop_over_items(definition: ast.stmt, loop: ast.For) -> Iterator[ast.stmt]:
    """Yield the definition with `for item in items` instead of `for i in range(len(items))`, if i occurs only in `items[i]`.

    A range that counts down is first reversed.
    """
    match loop.iter:
        case ast.Call(func=ast.Name(id="range"), args=[start, end, step]) if _unparse(end, step) == ["-1", "-1"]:
            yield _exchange(definition, {id(loop.iter): _count_down(start)})
        case ast.Call(func=ast.Name(id="range"), args=[ast.Call(func=ast.Name(id="len"), args=[items])], keywords=[]):
            item = f"{ast.unparse(items)}[{ast.unparse(loop.target)}]"
            inside = [node for statement in loop.body for node in ast.walk(statement) if isinstance(node, ast.expr)]
            found = [node for node in inside if isinstance(node, ast.Subscript) and _unparse(node) == [item]]
            uses = [node for node in inside if isinstance(node, ast.Name) and _unparse(node) == _unparse(loop.target)]
            if len(found) == len(uses) and all(isinstance(node.ctx, ast.Load) for node in found):
                changes: dict[int, ast.AST | None] = {id(node): ast.Name(ITEM, ast.Load()) for node in found}
                yield _exchange(definition, changes | {id(loop.target): ast.Name(ITEM, ast.Store()), id(loop.iter): items})


def _unparse(*nodes: ast.expr) -> list[str]:
    return [ast.unparse(node) for node in nodes]


def _exchange(tree: Tree, changes: Mapping[int, ast.AST | None]) -> Tree:
    """Return a copy of a tree in which some nodes, by id, are replaced; None removes a node."""

    def copy(node: Any) -> Any:
        if isinstance(node, list):
            return [made for item in node if (made := copy(item)) is not None or item is None]
        if not isinstance(node, ast.AST):
            return node
        if id(node) in changes:
            return changes[id(node)]
        return type(node)(**{name: copy(value) for name, value in ast.iter_fields(node)})

    made: Tree = copy(tree)
    return made
