"""Cases, drawn from the kinds of parameters: sizes for names of dimensions, and an expression that makes each value."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.authoring.kinds import Kind, Parameter, list_symbols

# Sizes of the dimensions, in the order in which they are named, for each case of a question. Different ones show mistakes
# of axes; even ones can be split into heads and the like; equal ones are for shapes that nothing names.
DIFFERENT = ((6, 4, 3, 5, 2, 7), (5, 2, 4, 3, 7, 6), (7, 3, 2, 4, 6, 5))
EVEN = ((4, 6, 8, 2, 10, 12), (2, 4, 6, 8, 12, 10), (6, 2, 4, 8, 10, 12))
EQUAL = ((4,) * 6, (3,) * 6, (5,) * 6)
INTEGERS, FLOATS = (3, 5, 4), (0.3, 0.7, 0.45)
AXES = ("axis", "dim")
LENGTH = 12  # characters of a text
MOST_POWER = 8  # in a dimension such as 2**d: enough for the sizes above, and no array fills the memory


@dataclass(frozen=True)
class Plan:
    """One way to draw the cases of a question, to be tried.

    Attributes:
        sizes: For each case, the sizes of the dimensions.
        rank: How many dimensions an array has of which nothing says it.
        varied: Whether cases behind the first give parameters that have a default.
    """

    sizes: tuple[tuple[int, ...], ...]
    rank: int
    varied: bool


def list_plans(parameters: Sequence[Parameter]) -> list[Plan]:
    """Return the plans to try, the best one first."""
    kinds = [parameter.kind for parameter in parameters if parameter.kind]
    ranks = (2, 1, 3) if any(has_unknown_shape(kind) for kind in kinds) else (1,)
    choices = (True, False) if any(parameter.default is not None for parameter in parameters) else (False,)
    return [Plan(sizes, rank, varied) for varied in choices for rank in ranks for sizes in (DIFFERENT, EVEN, EQUAL)]


def has_unknown_shape(kind: Kind) -> bool:
    """Return whether nothing says the shape of an array."""
    return kind.type in ("array", "tensor") and kind.shape is None


class Draw:
    """One case of a question.

    Args:
        plan: How it is drawn.
        number: Which case of the question it is, from 0.
        parameters: All parameters of the question, of all its calls.
    """

    def __init__(self, plan: Plan, number: int, parameters: Sequence[Parameter]) -> None:
        self._plan, self._number = plan, number
        self._table = plan.sizes[number]
        kinds = [parameter.kind for parameter in parameters if parameter.kind]
        symbols = list_symbols(kinds)
        self.sizes = {name: self._table[index % len(self._table)] for index, name in enumerate(symbols)}
        self._integers: dict[str, int] = {}
        by_lower = {name.lower(): name for name in symbols}
        for parameter in parameters:
            if parameter.kind and parameter.kind.type == "int":
                symbol = by_lower.get(parameter.name.lower())
                if symbol is not None and (not self.gives(parameter) or parameter.value):
                    self.sizes[symbol] = self._choose_integer(parameter)
                self._integers[parameter.name] = self.sizes[symbol] if symbol else self._choose_integer(parameter)

    def gives(self, parameter: Parameter) -> bool:
        """Return whether the case gives a value for a parameter, and does not leave it at its default."""
        return parameter.default is None or (
            self._plan.varied and self._number > 0 and parameter.kind is not None and self._differs(parameter)
        )

    def write(self, parameters: Sequence[Parameter]) -> dict[str, str]:
        """Return the arguments of a call, each as the text of an expression in which `rng` is a generator."""
        return {
            parameter.name: self._write(parameter, parameter.kind)
            for parameter in parameters
            if parameter.kind and self.gives(parameter)
        }

    def _differs(self, parameter: Parameter) -> bool:
        """Return whether there is another value than the default."""
        assert parameter.kind is not None
        return parameter.value is None or parameter.kind.type in ("int", "float", "bool", "choice")

    def _write(self, parameter: Parameter, kind: Kind) -> str:
        if kind.type in ("array", "tensor"):
            return self._write_array(kind)
        if kind.type == "list":
            size = self._measure(kind.shape or ())[:1] or (self._table[0],)
            made = self._write_numbers(kind, str(size[0]), size[0])
            if kind.numbers == "float":
                return f"{made}.round(3).tolist()"
            return f"({made}).tolist()" if kind.numbers == "bool" else f"{made}.tolist()"
        if kind.type == "str":
            return f'"".join(rng.choice(list("abc "), size={LENGTH}))'
        value = self._choose(parameter, kind)
        return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)

    def _choose(self, parameter: Parameter, kind: Kind) -> Any:
        """Return a single value that is not the default."""
        if kind.type == "int":
            return self._integers[parameter.name]
        if kind.type == "bool":
            return self._number % 2 == 0 if parameter.value is None else not parameter.value
        if kind.type == "choice":
            others = [choice for choice in kind.choices if choice != parameter.value] or list(kind.choices)
            return others[self._number % len(others)]
        if kind.type == "generator":
            return self._number + 1  # the seed
        value = parameter.value
        if not isinstance(value, (int, float)) or value == 0:
            return FLOATS[self._number]
        # A small one, as of eps, has to be much larger to be seen.
        return float(f"{value * (1000 if abs(value) < 0.01 else FLOATS[self._number] * 2):.3g}")

    def _choose_integer(self, parameter: Parameter) -> int:
        value = parameter.value
        if isinstance(value, int) and (not self.gives(parameter) or value < 0):
            return 0 if self.gives(parameter) else value
        if isinstance(value, int):
            # Of a large one, as of steps, a small number shows more.
            step = self._number * (2 if self._plan.sizes is EVEN else 1)
            return value + step if value < 5 else max(value // (6 - self._number * 2), 2)
        if self._plan.sizes is EVEN:
            return 2  # by which all sizes can be divided
        return -1 if parameter.name in AXES else INTEGERS[self._number]

    def _write_array(self, kind: Kind) -> str:
        sizes = self._table[: self._plan.rank] if kind.shape is None else self._measure(kind.shape)
        size = repr(sizes) if len(sizes) != 1 else str(sizes[0])
        made = self._write_numbers(kind, size, sizes[-1] if sizes else 1, sizes[:-1])
        if kind.numbers in ("int", "bool") or kind.dtype != "float32":
            return made
        return f"{made}.astype(np.float32)"

    def _write_numbers(self, kind: Kind, size: str, last: int, before: tuple[int, ...] = ()) -> str:
        if kind.numbers == "int":
            return f"rng.integers({self._bound(kind)}, size={size})"
        if kind.numbers == "bool":
            return f"rng.random(size={size}) < 0.7"
        if kind.numbers == "str":
            return f'rng.choice(list("abc"), size={size})'
        if kind.numbers == "positive":
            return f"rng.uniform(0.5, 2.0, size={size})"
        if kind.numbers == "probabilities":
            rows = f", size={before[0] if len(before) == 1 else before}" if before else ""
            return f"rng.dirichlet(np.ones({last}){rows})"
        return f"rng.normal(size={size})"

    def _bound(self, kind: Kind) -> int:
        """Return what indices must be smaller than: what is said, or else the smallest size, within which any index is."""
        if kind.below.isdigit():
            return int(kind.below)
        named = {**self.sizes, **self._integers}
        found = named.get(kind.below) or named.get(kind.below.lower()) or min(self.sizes.values(), default=3)
        return max(found, 2)

    def _measure(self, shape: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(max(_evaluate(dimension, self.sizes), 1) for dimension in shape)


def _evaluate(dimension: str, sizes: Mapping[str, int]) -> int:
    """Return the size of a dimension such as "d", "3", "2*d" or "T+1"; "..." stands for one more axis.

    One that is not arithmetic has size 1.
    """
    if dimension.startswith("..."):
        return 2
    text = re.sub(r"[A-Za-z_]\w*", lambda name: str(sizes[name[0]]), re.sub(r"/+", "//", dimension))
    try:
        return _compute(ast.parse(text, mode="eval").body)
    except SyntaxError:
        return 1


def _compute(node: ast.expr) -> int:
    if isinstance(node, ast.BinOp):
        left, right = _compute(node.left), _compute(node.right)
        if isinstance(node.op, ast.FloorDiv):
            return left // (right or 1)
        if isinstance(node.op, ast.Pow):
            return int(left ** min(max(right, 0), MOST_POWER))
        return left + right if isinstance(node.op, ast.Add) else left - right if isinstance(node.op, ast.Sub) else left * right
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else 1
