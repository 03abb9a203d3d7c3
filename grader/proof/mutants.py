"""Mutants: the solution with one small automatic change each, as a second source of wrong answers.

Only code that students write is changed: the code between `# BEGIN SOLUTION` and `# END SOLUTION`, and the default arguments of
its functions. The changes are those of mutation testing (operators, constants, conditions, deleted statements), and typical
mistakes of this kind of code: a missing `no_grad`, `detach`, `zero_grad` or `step`, a swapped axis or argument, a missing
index.
"""

from __future__ import annotations

import ast
import copy
import re
from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from grader.assignment import Assignment, AssignmentFiles
from grader.authoring.stub import BEGIN, END
from grader.proof.entries import read_entries
from grader.proof.lines import split_lines

Replacement = ast.AST | list[ast.stmt] | None  # the replacement of a node; None to delete it


@dataclass(frozen=True)
class Mutant:
    """One change of the solution.

    Attributes:
        question: The question whose code is changed.
        change: The first lines of the statement, before and after.
    """

    question: str
    function: str
    change: str
    submission: str


class Survivor(BaseModel):
    """Mutants that no check catches.

    Attributes:
        change: The change as it is printed; * matches anything.
        reason: The reason why no check catches them.
        equivalent: Whether they behave like the solution.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: str
    change: str
    reason: str
    equivalent: bool

    def means(self, mutant: Mutant) -> bool:
        """Return whether this entry is about the mutant."""
        return self.covers(mutant.question, mutant.change)

    def covers(self, question: str, change: str) -> bool:
        """Return whether this entry is about the change."""
        pattern = ".*".join(re.escape(part) for part in self.change.split("*"))
        return self.question == question and re.fullmatch(pattern, change) is not None


def read_survivors(home: AssignmentFiles) -> list[Survivor]:
    """Return the entries of solutions/NAME/survivors.toml."""
    return read_entries(home.solution / "survivors.toml", "survivor", Survivor)


def make_mutants(home: AssignmentFiles) -> Iterator[Mutant]:
    """Yield every mutant of the solution. Equal changes in one question are numbered, except the first."""
    source = (home.solution / home.assignment.submission).read_text(encoding="utf-8")
    seen: Counter[tuple[str, str]] = Counter()
    for question, change, submission in _mutate(source, home.assignment):
        seen[question, change] += 1
        times = seen[question, change]
        function = home.assignment.question(question).function
        yield Mutant(question, function, change + (f" (#{times})" if times > 1 else ""), submission)


def _mutate(source: str, assignment: Assignment) -> Iterator[tuple[str, str, str]]:
    """Yield (question, change, the whole changed source) for every change."""
    for question, statement in list_solved_statements(source, assignment):
        for change, new in _changes(statement):
            yield question, change, _with(source, statement, new)
    for question, argument, default in _defaults(source, assignment):
        for changed in _other_values(default):
            new_text = ast.unparse(ast.fix_missing_locations(changed))
            change = f"{argument}={ast.unparse(default)} -> {argument}={new_text}"
            yield question, change, _with_expression(source, default, new_text)


def _defaults(source: str, assignment: Assignment) -> Iterator[tuple[str, str, ast.expr]]:
    """Yield (question, argument, its default) for the functions that students write."""
    ranges = list_solution_ranges(source, assignment)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            questions = [
                question for question, first, last in ranges if node.lineno <= first and last <= (node.end_lineno or 0) + 1
            ]
            every = [*node.args.posonlyargs, *node.args.args]
            pairs = [*zip(every[len(every) - len(node.args.defaults) :], node.args.defaults, strict=True)]
            pairs += [
                (one, default) for one, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if default
            ]
            for argument, default in pairs if questions else ():
                yield questions[0], argument.arg, default


def _other_values(default: ast.expr) -> Iterator[ast.expr]:
    """Yield an expression with one small change each."""
    for index, part in enumerate(ast.walk(default)):
        for _, after in _alternatives(part):
            new = copy.deepcopy(default)
            twin = next(node for number, node in enumerate(ast.walk(new)) if number == index)
            (changed,) = exchange_part(ast.Expr(new), twin, after)
            if isinstance(changed, ast.Expr):
                yield changed.value


def list_solved_statements(source: str, assignment: Assignment) -> Iterator[tuple[str, ast.stmt]]:
    """Yield (question, statement) for every outermost statement inside a solution."""
    ranges = list_solution_ranges(source, assignment)
    for node in ast.walk(ast.parse(source)):
        for field in ("body", "orelse", "finalbody"):
            statements = getattr(node, field, None)
            for statement in statements if isinstance(statements, list) else ():  # a lambda's body is an expression
                for question, first, last in ranges:
                    inside = first < statement.lineno and statement.end_lineno < last
                    if inside and not (isinstance(node, ast.stmt) and first < node.lineno):
                        yield question, statement


def list_solution_ranges(source: str, assignment: Assignment) -> list[tuple[str, int, int]]:
    """Return (question, first line, last line) of each solution; these lines are its marks."""
    ranges, begun = [], None
    for number, line in enumerate(split_lines(source), 1):
        if begin := BEGIN.match(line):
            begun = (assignment.question(begin["question"]).id, number)
        elif END.match(line) and begun:
            ranges.append((*begun, number))
    return ranges


def _with_expression(source: str, old: ast.expr, new: str) -> str:
    """Return the source with an expression replaced by a text."""
    lines = split_lines(source, keepends=True)
    first, last = old.lineno - 1, (old.end_lineno or old.lineno) - 1
    # Columns are counted in bytes.
    before, after = lines[first].encode()[: old.col_offset].decode(), lines[last].encode()[old.end_col_offset :].decode()
    lines[first : last + 1] = [before + new + after]
    return "".join(lines)


def _with(source: str, statement: ast.stmt, new: list[ast.stmt]) -> str:
    lines = split_lines(source)
    indent = " " * statement.col_offset
    body = "\n".join(ast.unparse(ast.fix_missing_locations(item)) for item in new) or "pass"
    lines[statement.lineno - 1 : statement.end_lineno] = [indent + line for line in split_lines(body)]
    return "\n".join(lines) + "\n"


def change_statement(statement: ast.stmt) -> Iterator[tuple[str, list[ast.stmt]]]:
    """Yield (description, replacement) for every change of a statement, except those inside its blocks."""
    blocks = [node for node in ast.walk(statement) if isinstance(node, ast.stmt) and node is not statement]
    yield from _changes(statement, {id(node) for block in blocks for node in ast.walk(block)})


def _changes(statement: ast.stmt, without: Set[int] = frozenset()) -> Iterator[tuple[str, list[ast.stmt]]]:
    """Yield (description, replacement) for every change of a statement or of a part of it.

    Args:
        without: Ids of nodes that are not changed.
    """
    names = _variables(statement)
    for index, part in enumerate(ast.walk(statement)):
        if id(part) in without:
            continue
        variable = part.id if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and part.id in names else None
        others = [(part, ast.Name(name, ast.Load())) for name in names if variable is not None and name != variable]
        for before, after in [*_alternatives(part), *others]:
            new = copy.deepcopy(statement)
            twin = next(node for number, node in enumerate(ast.walk(new)) if number == index)
            yield f"{describe_part(before)} -> {describe_part(after)}", exchange_part(new, twin, after)


def _variables(statement: ast.stmt) -> list[str]:
    """Return the names that a simple statement reads as values, and that could be confused with each other."""
    if not isinstance(statement, (ast.Assign, ast.AugAssign, ast.Expr, ast.Return)):
        return []
    called = {id(node.func) for node in ast.walk(statement) if isinstance(node, ast.Call)}
    read = [node for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    return sorted({node.id for node in read if id(node) not in called and not _is_module(node)})


def describe_part(node: Replacement) -> str:
    if node is None:
        return "(nothing)"
    if isinstance(node, list):
        return "; ".join(describe_part(item) for item in node)
    if isinstance(node, ast.stmt):
        return ast.unparse(node).splitlines()[0]
    return ast.unparse(node)


def exchange_part(root: ast.stmt, old: ast.AST, new: Replacement) -> list[ast.stmt]:
    """Return `root` as a list of statements, with `old` replaced by `new`.

    Args:
        root: The statement to change.
        old: The node to replace.
        new: A node, several statements, or None for nothing.
    """

    class Exchange(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST | list[ast.stmt]:
            if node is not old:
                return self.generic_visit(node)
            return ast.Pass() if new is None else copy.deepcopy(new)

    result = Exchange().visit(root)
    if isinstance(result, list):
        return result
    assert isinstance(result, ast.stmt)  # no change replaces a statement by an expression
    return [result]


OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Div,
}
COMPARISONS = {
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
}
OTHER_FUNCTIONS = {
    "min": "max",
    "max": "min",
    "mean": "sum",
    "sum": "mean",
    "exp": "log",
    "log": "exp",
    "randperm": "arange",
    "reversed": "list",
    "mse_loss": "l1_loss",
    "std": "var",
    "argmax": "argmin",
}
# By the name of a function, how many arguments it has if the last two can be exchanged; of a method, its object counts.
SYMMETRIC = {"minimum": 2, "maximum": 2, "transpose": 3, "swapaxes": 3}


# A table; each row has one or two lines.
def _alternatives(node: ast.AST) -> Iterator[tuple[ast.AST, Replacement]]:  # noqa: C901
    """Yield (node, replacement) for every small change of this node itself."""
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            if type(op) in OPERATORS:
                yield node, ast.BinOp(left, OPERATORS[type(op)](), right)
            if isinstance(op, (ast.Sub, ast.Div, ast.Pow)):
                yield node, ast.BinOp(right, op, left)
            yield node, left
            yield node, right
        case ast.UnaryOp(op=ast.USub() | ast.Not(), operand=operand):
            yield node, operand
        case ast.BoolOp(op=op, values=values):
            yield node, ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.Compare(left=left, ops=[op], comparators=comparators) if type(op) in COMPARISONS:
            yield node, ast.Compare(left, [COMPARISONS[type(op)]()], comparators)
        case ast.IfExp(body=body, orelse=orelse):
            yield node, body
            yield node, orelse
        case ast.Constant(value=bool(value)):
            yield node, ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield node, ast.Constant(1 - value if value in (0, 1) else value + 1)
        case ast.Constant(value=float(value)):
            yield node, ast.Constant(value + 1)
        case ast.Subscript(value=value):
            yield node, value
        case ast.Tuple(elts=[first, second, *rest]) if isinstance(node.ctx, ast.Store):
            yield node, ast.Tuple([second, first, *rest], node.ctx)
        case ast.Dict(keys=keys, values=values):
            for index in range(len(keys)):
                yield node, ast.Dict(keys[:index] + keys[index + 1 :], values[:index] + values[index + 1 :])
        case ast.Call():
            yield from _other_calls(node)
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.UnaryOp):
            yield node, ast.Return(ast.UnaryOp(ast.USub(), value))
        case ast.With(body=body):
            yield node, body
        case ast.If(test=test, body=body, orelse=orelse):
            yield node, body
            yield node, orelse or None
        case ast.While(test=test, body=body, orelse=orelse) if not isinstance(test, ast.UnaryOp):
            yield node, ast.While(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.AugAssign(target=target, op=op, value=value) if type(op) in OPERATORS:
            yield node, ast.AugAssign(target, OPERATORS[type(op)](), value)
    if isinstance(node, (ast.Expr, ast.Assign, ast.AugAssign)):
        yield node, None


def _other_calls(node: ast.Call) -> Iterator[tuple[ast.AST, ast.AST]]:
    function, arguments, keywords = node.func, node.args, node.keywords
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name in OTHER_FUNCTIONS:
        other = copy.deepcopy(function)
        setattr(other, "attr" if isinstance(function, ast.Attribute) else "id", OTHER_FUNCTIONS[name])
        yield node, ast.Call(other, arguments, keywords)
    if isinstance(function, ast.Attribute) and not _is_module(function.value):
        yield node, function.value
    elif len(arguments) == 1 and not keywords:
        yield node, arguments[0]
    if name == "range" and arguments:
        shorter = [*arguments[:1], *arguments[1:]]
        where = 0 if len(arguments) == 1 else 1
        shorter[where] = ast.BinOp(arguments[where], ast.Sub(), ast.Constant(1))
        yield node, ast.Call(function, shorter, keywords)
    for index in range(len(arguments) - 1 - _ends_symmetric(node, name)):
        swapped = [*arguments[:index], arguments[index + 1], arguments[index], *arguments[index + 2 :]]
        yield node, ast.Call(function, swapped, keywords)
    for index in range(len(keywords)):
        yield node, ast.Call(function, arguments, keywords[:index] + keywords[index + 1 :])


def _ends_symmetric(node: ast.Call, name: str) -> bool:
    """Return whether the last two arguments of a call can be exchanged without effect."""
    is_method = isinstance(node.func, ast.Attribute) and not _is_module(node.func.value)
    return SYMMETRIC.get(name) == len(node.args) + is_method


def _is_module(node: ast.expr) -> bool:
    """Return whether this is a module such as `torch` or `nn.functional`, which cannot stand without the call."""
    return (isinstance(node, ast.Name) and node.id in ("torch", "nn", "np", "utils", "math", "functional", "F")) or (
        isinstance(node, ast.Attribute) and _is_module(node.value)
    )
