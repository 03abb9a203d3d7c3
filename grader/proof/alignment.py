"""Align the parts of two syntax trees, and make trees in which some of their differences are undone.

Only the standard library is needed: workers of a sandbox use this module on a student's code.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

PAIRED = 0.25  # minimum similarity of two statements to be aligned
INSIDE = 0.6  # minimum similarity of an expression to a part of another
WITHIN = 0.9  # times the similarity that counts for a statement within another
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
COUPLED = (ast.Dict, ast.Compare, ast.arguments, ast.MatchMapping)  # lists of theirs belong together, item by item


def dump(part: Any) -> str:
    """Return a text for a part of a tree, the same for equal parts."""
    if isinstance(part, list):
        return f"[{', '.join(map(dump, part))}]"
    return ast.dump(part) if isinstance(part, ast.AST) else repr(part)


class DifferenceFilter:
    """Makes a tree between two trees: for each of their differences, numbered from 0, it takes one side.

    Args:
        keep: Returns whether the difference with a number stays; otherwise `base` is used there.

    Attributes:
        sizes: The number of nodes of each difference.
        statements: For each difference, the number of the outermost statement that it lies in.
        expressions: Pairs of expressions, of `base` and of `other`, that differ as a whole.
    """

    def __init__(self, keep: Callable[[int], bool] = lambda _: True) -> None:
        self._keep = keep
        self._depth = self._statement = 0
        self.sizes: list[int] = []
        self.statements: list[int] = []
        self.expressions: list[tuple[ast.expr, ast.expr]] = []

    def mix(self, base: Any, other: Any) -> Any:
        """Return the tree between `base` and `other`; it shares nodes with both."""
        if dump(base) == dump(other):
            return base
        if isinstance(base, list) and isinstance(other, list):
            return self._mix_lists(base, other)
        how, inner = find_correspondence(base, other)
        if how == "same":
            return type(base)(**{name: self.mix(getattr(base, name), getattr(other, name)) for name in base._fields})
        if isinstance(base, ast.expr) and isinstance(other, ast.expr):
            self.expressions.append((base, other))
        if how == "wraps":
            keeps = self._decide([], [other])
            mixed = self.mix(base, inner)
            return replace_part(other, inner, mixed) if keeps else mixed
        if how == "unwraps":
            keeps = self._decide([base], [])
            mixed = self.mix(inner, other)
            return mixed if keeps else replace_part(base, inner, mixed)
        return other if self._decide([base], [other]) else base

    def _decide(self, base: Collection[Any], other: Collection[Any]) -> bool:
        self.sizes.append(sum(map(count_nodes, (*base, *other))))
        self.statements.append(self._statement)
        return self._keep(len(self.sizes) - 1)

    def _mix_lists(self, base: list[Any], other: list[Any]) -> list[Any]:
        made: list[Any] = []
        are_statements = is_block(base) and is_block(other)
        self._depth += are_statements
        for was, now in align(base, other):
            if self._depth == 1:
                self._statement += 1
            if was is not None and now is not None:
                made.append(self.mix(was, now))
            elif self._decide(*([] if one is None else [one] for one in (was, now))):
                made += [] if now is None else [now]
            else:
                made += [] if was is None else [was]
        self._depth -= are_statements
        return made or ([ast.Pass()] if are_statements and base else [])


def is_block(items: list[Any]) -> bool:
    """Return whether a list contains statements, or nothing."""
    return all(isinstance(item, ast.stmt) for item in items)


def count_nodes(part: Any) -> int:
    """Return the number of nodes in a part of a tree."""
    return sum(1 for _ in ast.walk(part)) if isinstance(part, ast.AST) else 1


def measure_distance(base: ast.AST, other: ast.AST) -> int:
    """Return the number of nodes in the differences of two trees."""
    found = DifferenceFilter()
    found.mix(base, other)
    return sum(found.sizes)


def find_correspondence(base: Any, other: Any) -> tuple[str, Any]:
    """Return how two parts that differ correspond.

    That is "same" if their fields do, "wraps" if a part of `other` corresponds to `base`, "unwraps" if `other` corresponds to a
    part of `base`, each with this part; or "".
    """
    if not isinstance(base, ast.AST) or not isinstance(other, ast.AST):
        return "", None
    alike = have_same_fields(base, other)
    direct = measure_similarity(base, other) if alike else 0.0
    if _may_hold(base, other) and direct < INSIDE:
        around = _find_inside(base, other, max(direct, INSIDE))
        within = _find_inside(other, base, max(direct, INSIDE))
        if around[0] or within[0]:
            return ("wraps", around[1]) if around[0] >= within[0] else ("unwraps", within[1])
    return ("same", None) if alike else ("", None)


def _may_hold(base: Any, other: Any) -> bool:
    """Return whether one of the two may be found within the other: both are expressions, or statements of functions."""
    if isinstance(base, ast.stmt) and isinstance(other, ast.stmt):
        return not isinstance(base, DEFINITIONS) and not isinstance(other, DEFINITIONS)
    return isinstance(base, ast.expr) and isinstance(other, ast.expr)


def have_same_fields(base: ast.AST, other: ast.AST) -> bool:
    """Return whether two nodes can be compared field by field."""
    if type(base) is not type(other) or not base._fields or isinstance(base, (ast.Name, ast.Constant)):
        return False
    lists = [name for name in base._fields if isinstance(getattr(base, name), list)]
    return not isinstance(base, COUPLED) or all(len(getattr(base, name)) == len(getattr(other, name)) for name in lists)


def _find_inside(part: ast.AST, whole: ast.AST, least: float) -> tuple[float, ast.AST | None]:
    """Return the expression or statement within another that is most similar to a part, and how similar that is."""
    best: tuple[float, ast.AST | None] = (0.0, None)
    for node in ast.walk(whole):
        if node is whole or type(node) is not type(part):
            continue
        similarity = measure_similarity(part, node) if isinstance(getattr(node, "ctx", ast.Load()), ast.Load) else 0.0
        if similarity >= least and similarity > best[0]:
            best = similarity, node
    return best


def replace_part(whole: ast.AST, part: ast.AST, new: ast.AST) -> ast.AST:
    """Return a copy of an expression or statement in which a part is replaced."""

    class Exchange(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return new if node is part else self.generic_visit(node)

    # The part must be found by its identity, so that nothing but the copy's own nodes may be copied.
    twin = copy.deepcopy(whole, {id(part): part})
    made: ast.AST = Exchange().visit(twin)
    return made


def measure_similarity(one: ast.AST, other: ast.AST) -> float:
    """Return how similar two parts are, from 0 to 1: the share of nodes and of whole expressions that both have."""
    first, second = _list_features(one), _list_features(other)
    return 2 * (first & second).total() / (first.total() + second.total())


def _list_features(node: ast.AST) -> Counter[str]:
    found: Counter[str] | None = getattr(node, "features", None)
    if found is None:
        nodes = [part for part in ast.walk(node) if not isinstance(part, ast.expr_context)]
        found = Counter(type(part).__name__ for part in nodes) + Counter(map(ast.dump, nodes))
        node.features = found  # type: ignore[attr-defined]  # trees are not changed once they are compared
    return found


def align(base: Sequence[Any], other: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield pairs of corresponding items of two lists in both orders; None stands where an item has no counterpart."""
    statements = is_block([*base, *other])
    if len(base) == len(other) and not statements:
        yield from zip(base, other, strict=True)
        return

    scores = [[_score(was, now, statements) for now in other] for was in base]
    best = [[0.0] * (len(other) + 1) for _ in range(len(base) + 1)]
    for row in reversed(range(len(base))):
        for column in reversed(range(len(other))):
            paired = scores[row][column] + best[row + 1][column + 1] if scores[row][column] else 0.0
            best[row][column] = max(paired, best[row + 1][column], best[row][column + 1])
    row = column = 0
    while row < len(base) or column < len(other):
        both = row < len(base) and column < len(other)
        if both and scores[row][column] and best[row][column] == scores[row][column] + best[row + 1][column + 1]:
            yield base[row], other[column]
            row, column = row + 1, column + 1
        elif row < len(base) and best[row][column] == best[row + 1][column]:
            yield base[row], None
            row += 1
        else:
            yield None, other[column]
            column += 1


def _score(was: Any, now: Any, statements: bool) -> float:
    """Return the approximate number of nodes that two items have in common; 0 if they do not correspond."""
    if not isinstance(was, ast.AST) or not isinstance(now, ast.AST):
        return float(dump(was) == dump(now))
    if isinstance(was, DEFINITIONS) and isinstance(now, DEFINITIONS):
        return float(was.name == now.name) * count_nodes(was)
    if type(was) is type(now):
        similarity = measure_similarity(was, now)
        return similarity * (count_nodes(was) + count_nodes(now)) / 2 if similarity >= PAIRED or not statements else 0.0
    if statements and _may_hold(was, now):
        inside = (_find_inside(one, other, INSIDE)[0] * count_nodes(one) for one, other in ((was, now), (now, was)))
        return max(inside) * WITHIN
    return 0.0
