"""What students do: a table of edits that turn a solution into a typical mistake, where mutants lack them.

Off by one, the wrong axis, a value cut from the graph, a sign, an order, ends, one row in place of a batch, another form. Each
row of the table has a name, from which a proposed mistake gets its name and the draft of its hint.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from typing import NamedTuple

from grader.proof.mutants import Replacement, describe_part, exchange_part

PLAIN = ("int", "float", "bool", "str", "int | None", "float | None")  # annotations of arguments that nothing can overwrite
BOUNDARIES = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
AXES = (0, 1, -1)

# By the name of a habit, what a tutor could ask: the draft of a hint.
HINTS = {
    "last_left_out": "Which value does your loop never reach?",
    "first_left_out": "Where does your loop begin?",
    "one_too_many": "How often does your loop run?",
    "next_element": "Which element does this index mean?",
    "element_before": "Which element does this index mean?",
    "slice_starts_late": "Which is the first element of this slice?",
    "slice_ends_early": "Which is the last element of this slice?",
    "boundary": "What should happen if both sides are equal?",
    "wrong_axis": "What does this axis count, and which one should it be?",
    "sign": "Which sign does this value have in the formula?",
    "replaced_not_added": "Do you add to this value, or replace it?",
    "whole_division": "Which division do you use?",
    "exchanged_lines": "Which of these two lines comes first?",
    "exchanged_results": "Which of the results is returned first?",
    "end_left_out": "Do your results include the last value?",
    "reversed": "In which order are your results?",
    "returns_in_the_loop": "When does your function return: in the loop, or after it?",
    "first_row_only": "Do you use all rows of the batch, or only the first?",
    "squeezed": "Which shape does your result have if the batch has only one row?",
    "detached": "Does the gradient still reach the parameters through this value?",
    "overwrites": "Do the arguments of your function stay as they were?",
    "as_list": "Is your result a list, or what the docstring says?",
    "single_precision": "Which dtype should your result have?",
    "double_precision": "Which dtype should your result have?",
}
OF_FORM = ("as_list", "single_precision", "double_precision", "squeezed", "detached", "overwrites")


class Edit(NamedTuple):
    """An edit of a definition.

    Attributes:
        habit: Its row in the table.
        change: The changed part, before and after.
        definition: The definition after the edit.
    """

    habit: str
    change: str
    definition: ast.stmt


def list_habits(definition: ast.stmt, inside: Callable[[ast.AST], bool], uses_torch: bool) -> Iterator[Edit]:
    """Yield every edit of a definition by a habit.

    Args:
        definition: A function or class of the solution.
        inside: Whether a node stands in the code that students write; other nodes are not changed.
        uses_torch: Whether values may be tensors.
    """
    arguments = _find_arguments(definition)
    nodes: list[ast.AST] = list(ast.walk(definition))
    for index, node in enumerate(nodes):
        if inside(node):
            for habit, after in _change(node, arguments.get(id(node), []), uses_torch):
                copied = copy.deepcopy(definition)
                (changed,) = exchange_part(copied, _find_twin(copied, index), after)
                yield Edit(habit, f"{describe_part(node)} -> {describe_part(after)}", changed)
        for field in ("body", "orelse"):
            block: object = getattr(node, field, None)
            if not isinstance(block, list):
                continue  # a lambda's body is an expression
            for habit, first, last, new in _change_block(block):
                if all(map(inside, block[first:last])):
                    copied = copy.deepcopy(definition)
                    getattr(_find_twin(copied, index), field)[first:last] = copy.deepcopy(new)
                    yield Edit(habit, f"{describe_part(block[first:last])} -> {describe_part(new)}", copied)


def _find_twin(copied: ast.stmt, index: int) -> ast.AST:
    return next(node for number, node in enumerate(ast.walk(copied)) if number == index)


def _find_arguments(definition: ast.stmt) -> dict[int, list[str]]:
    """Return, for every node, the arguments of its function that may be arrays, lists or tensors."""
    found: dict[int, list[str]] = {}
    for function in ast.walk(definition):
        if isinstance(function, ast.FunctionDef):
            every = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
            names = [
                one.arg
                for one in every
                if one.arg not in ("self", "cls") and not (one.annotation and ast.unparse(one.annotation) in PLAIN)
            ]
            found |= {id(node): names for node in ast.walk(function)}
    return found


def _change_block(block: list[ast.stmt]) -> Iterator[tuple[str, int, int, list[ast.stmt]]]:
    """Yield (habit, first, last, replacement) for statements of a block."""
    for index in range(len(block) - 1):
        one, other = block[index : index + 2]
        simple = (ast.Assign, ast.AugAssign, ast.Expr)
        if isinstance(one, simple) and isinstance(other, simple) and ast.dump(one) != ast.dump(other):
            yield "exchanged_lines", index, index + 2, [other, one]
        if isinstance(one, (ast.For, ast.While)) and isinstance(other, ast.Return):
            loop = copy.deepcopy(one)
            loop.body.append(copy.deepcopy(other))
            yield "returns_in_the_loop", index, index + 2, [loop]


# A table; each row has one or two lines.
def _change(  # noqa: C901
    node: ast.AST, arguments: list[str], uses_torch: bool
) -> Iterator[tuple[str, Replacement]]:
    """Yield (habit, replacement) for a node itself."""
    match node:
        case ast.For(target=target, iter=iterated, body=body, orelse=orelse):
            for habit, other in _other_loops(iterated):
                yield habit, ast.For(target, other, body, orelse, lineno=0)
        case ast.comprehension(target=target, iter=iterated, ifs=ifs, is_async=is_async):
            for habit, other in _other_loops(iterated):
                yield habit, ast.comprehension(target, other, ifs, is_async)
        case ast.Subscript(value=value, slice=ast.Slice(lower=lower, upper=upper, step=None), ctx=context):
            late = _plus(lower, 1) if lower else ast.Constant(1)
            early = _plus(upper, -1) if upper else _number(-1)
            yield "slice_starts_late", ast.Subscript(value, ast.Slice(late, upper), context)
            yield "slice_ends_early", ast.Subscript(value, ast.Slice(lower, early), context)
        case ast.Subscript(value=value, slice=ast.Name() | ast.BinOp() as place, ctx=ast.Load() as context):
            yield "next_element", ast.Subscript(value, _plus(place, 1), context)
            yield "element_before", ast.Subscript(value, _plus(place, -1), context)
        case ast.Compare(left=left, ops=[op], comparators=others) if type(op) in BOUNDARIES:
            yield "boundary", ast.Compare(left, [BOUNDARIES[type(op)]()], others)
        case ast.keyword(arg="axis" | "dim" as name, value=value):
            for axis in AXES:
                if ast.unparse(value) != str(axis):
                    yield "wrong_axis", ast.keyword(name, _number(axis))
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            yield "whole_division", ast.BinOp(left, ast.FloorDiv(), right)
        case ast.Assign(targets=targets, value=value) if not isinstance(value, (ast.UnaryOp, ast.Constant, ast.List, ast.Dict)):
            yield "sign", ast.Assign(targets, ast.UnaryOp(ast.USub(), value), lineno=0)
            if uses_torch:
                yield "detached", ast.Assign(targets, _method(value, "detach"), lineno=0)
        case ast.AugAssign(target=target, value=value):
            yield "replaced_not_added", ast.Assign([target], value, lineno=0)
        case ast.Name(id=name, ctx=ast.Load()) if name in arguments:
            yield "first_row_only", ast.Subscript(node, ast.Slice(None, ast.Constant(1)), ast.Load())
        case ast.Call(func=ast.Attribute(attr="squeeze"), args=[_, *_]):
            yield "squeezed", ast.Call(node.func, [], [])
        case ast.Return(value=ast.expr() as value):
            for habit, other in _other_results(value, uses_torch):
                yield habit, ast.Return(other)
            for name in arguments:
                kept = ast.Name("result", ast.Load())
                yield (
                    "overwrites",
                    [
                        ast.Assign([ast.Name("result", ast.Store())], value, lineno=0),
                        ast.AugAssign(ast.Name(name, ast.Store()), ast.Mult(), ast.Constant(0)),
                        ast.Return(kept),
                    ],
                )


def _other_loops(iterated: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match iterated:
        case ast.Call(func=ast.Name(id="range"), args=[end]):
            yield "one_too_many", ast.Call(iterated.func, [_plus(end, 1)], [])
            yield "first_left_out", ast.Call(iterated.func, [ast.Constant(1), end], [])
        case ast.Call(func=ast.Name(id="range"), args=[start, end, *rest]):
            yield "one_too_many", ast.Call(iterated.func, [start, _plus(end, 1), *rest], [])
            yield "first_left_out", ast.Call(iterated.func, [_plus(start, 1), end, *rest], [])
        case ast.Call(func=ast.Name(id="enumerate" | "reversed" as name), args=[values, *rest]):
            for habit, other in _other_loops(values):
                yield habit, ast.Call(ast.Name(name, ast.Load()), [other, *rest], iterated.keywords)
        case ast.Name() | ast.Attribute() | ast.Subscript():
            yield "last_left_out", ast.Subscript(iterated, ast.Slice(None, _number(-1)), ast.Load())
            yield "first_left_out", ast.Subscript(iterated, ast.Slice(ast.Constant(1), None), ast.Load())


def _other_results(value: ast.expr, uses_torch: bool) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(value, ast.Tuple):
        yield "exchanged_results", ast.Tuple(value.elts[::-1], ast.Load())
        return
    yield "reversed", ast.Subscript(value, ast.Slice(None, None, _number(-1)), ast.Load())
    yield "end_left_out", ast.Subscript(value, ast.Slice(None, _number(-1)), ast.Load())
    yield "squeezed", _method(value, "squeeze")
    yield "as_list", _method(value, "tolist")
    if uses_torch:
        yield "detached", _method(value, "detach")
        yield "double_precision", _method(value, "double")
    else:
        yield "single_precision", _method(value, "astype", ast.Constant("float32"))


def _method(value: ast.expr, name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Attribute(value, name, ast.Load()), list(arguments), [])


def _plus(value: ast.expr, number: int) -> ast.expr:
    if isinstance(value, ast.Constant) and isinstance(value.value, int):
        return _number(value.value + number)
    return ast.BinOp(value, ast.Add() if number > 0 else ast.Sub(), ast.Constant(abs(number)))


def _number(value: int) -> ast.expr:
    return ast.Constant(value) if value >= 0 else ast.UnaryOp(ast.USub(), ast.Constant(-value))
