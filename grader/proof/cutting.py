"""Cut a student's code down toward the solution, as text. These are drivers of a sandbox: only workers parse submissions.

A driver gets texts instead of a submission: `solution` and `current` are the definition of one function or class, `source` is a
whole file. `reduction.py` decides which text still fails like the submission, and is cut further.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import Any

from grader.proof.alignment import DifferenceFilter, count_nodes, dump, measure_distance, replace_part
from grader.proof.lines import split_lines
from grader.proof.naming import rename_like
from grader.proof.rewriting import list_blocks, rewrite
from grader.proof.textedits import drop_docstrings, find_edits

Definition = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
MOST_CUTS = 400  # differences in one step: with more, a function is cut by halves first


def begin(_submitted: object, solution: str, source: str, function: str, asked: list[str]) -> dict[str, Any]:
    """Return the student's definition, with everything that it needs from their file inside, for the solution's file.

    Args:
        _submitted: Nothing.
        solution: The whole file of the solution.
        source: The whole file of the student.
        function: The name of the definition.
        asked: The functions that the assignment asks for; the other ones stay the solution's.
    """
    own, there = _list_definitions(ast.parse(source)), _list_definitions(ast.parse(solution))
    definition = own.get(function)
    if not isinstance(definition, Definition):
        return {"missing": function}
    _clean(definition)
    without = {name for name, node in own.items() if name in asked or (name in there and dump(node) == dump(there[name]))}
    carried = {name: node for name, node in own.items() if name not in without}
    for node in carried.values():
        _clean(node)
    functions = [definition]
    if isinstance(definition, ast.ClassDef):
        around = ast.ClassDef(**{**dict(ast.iter_fields(definition)), "body": []})
        functions = [node for node in definition.body if isinstance(node, Definition)]
        definition.body[:0] = _list_needed(around, carried)
    for one in functions:
        one.body[:0] = _list_needed(one, carried)
    return {"text": _unparse(definition)}


def _list_definitions(tree: ast.Module) -> dict[str, ast.stmt]:
    """Return the definition of each name at the top level of a file; the last one counts, as in Python."""
    found: dict[str, ast.stmt] = {}
    for node in tree.body:
        if isinstance(node, Definition):
            found[node.name] = node
        elif isinstance(node, (ast.Import, ast.ImportFrom)) and getattr(node, "module", "") != "__future__":
            found |= {(alias.asname or alias.name).partition(".")[0]: node for alias in node.names if alias.name != "*"}
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = (part for target in targets for part in ast.walk(target) if isinstance(part, ast.Name))
            found |= {name.id: node for name in names}
    return found


def _list_needed(node: ast.AST, carried: dict[str, ast.stmt]) -> list[ast.stmt]:
    """Return everything from a file that a part needs, directly or not, in the order of the file."""
    needed: dict[int, ast.stmt] = {}
    open_ends = [node]
    while open_ends:
        for name in {part.id for part in ast.walk(open_ends.pop()) if isinstance(part, ast.Name)}:
            definition = carried.get(name)
            if definition is not None and definition is not node and definition.lineno not in needed:
                needed[definition.lineno] = definition
                open_ends.append(definition)
    return [needed[line] for line in sorted(needed)]


def _clean(definition: ast.stmt) -> None:
    """Remove docstrings and the types of variables, which decide nothing, in place."""
    drop_docstrings(definition)
    for block in list_blocks(definition):
        block[:] = [_without_type(statement) for statement in block]


def _without_type(node: ast.stmt) -> ast.stmt:
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        return ast.Assign([node.target], node.value, lineno=node.lineno)
    return node


def _unparse(node: ast.AST) -> str:
    return ast.unparse(ast.fix_missing_locations(node)) + "\n"


def _read_both(solution: str, current: str) -> tuple[ast.stmt, ast.stmt]:
    """Return two definitions; if their parameters are the same, the second one gets the types and decorators of the first."""
    (base,), (other,) = ast.parse(solution).body, ast.parse(current).body
    drop_docstrings(base)
    drop_docstrings(other)
    functions = dict(_walk_functions(base))
    for path, node in _walk_functions(other):
        twin = functions.get(path)
        if twin is None:
            continue
        node.returns = twin.returns
        annotations = {argument.arg: argument.annotation for argument in _list_arguments(twin)}
        for argument in _list_arguments(node):
            argument.annotation = annotations.get(argument.arg)
    return base, other


def _walk_functions(node: ast.stmt, path: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        yield f"{path}.{node.name}", node
    elif isinstance(node, ast.ClassDef):
        for item in node.body:
            yield from _walk_functions(item, f"{path}.{node.name}")


def _list_arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    every = function.args
    found = [*every.posonlyargs, *every.args, every.vararg, *every.kwonlyargs, every.kwarg]
    return [argument for argument in found if argument is not None]


def list_cuts(_submitted: object, solution: str, current: str) -> dict[str, Any]:
    """Return texts that are nearer to the solution than `current`, those with the largest change first."""
    base, other = _read_both(solution, current)
    found: dict[str, None] = {}
    for changed in _rewrite(base, other):
        if _weigh(base, changed) < _weigh(base, other):
            found[_unparse(changed)] = None
    differences = DifferenceFilter()
    differences.mix(base, other)
    for kept in _choose_kept(differences.statements):
        if len(found) == MOST_CUTS:
            break
        made = _unparse(DifferenceFilter(kept.__contains__).mix(base, other))
        found[made] = None
    same = {_unparse(base), _unparse(other)}
    return {"cuts": [text for text in found if text not in same]}


def _weigh(base: ast.stmt, other: ast.stmt) -> int:
    """Return the distance of a definition from the solution; at equal distance, the shorter one is nearer."""
    return measure_distance(base, other) + count_nodes(other)


def list_grafts(_submitted: object, solution: str, current: str) -> dict[str, Any]:
    """Return the solution with one expression each as in `current`, a part of which is the solution's expression.

    If the student has min(1, r[t]) and the solution has reward, these are min(1, reward), min(reward, r[t]), and so on: they
    keep what the student does to a value, but not how the student computes it.
    """
    base, other = _read_both(solution, current)
    differences = DifferenceFilter()
    differences.mix(base, other)
    found: dict[str, None] = {}
    for was, now in differences.expressions:
        for part in ast.walk(now):
            is_value = isinstance(part, ast.expr) and isinstance(getattr(part, "ctx", ast.Load()), ast.Load)
            if is_value and part is not now and len(found) < MOST_CUTS:
                made = replace_part(base, was, replace_part(now, part, was))
                found[_unparse(made)] = None
    return {"cuts": list(found)}


def _rewrite(base: ast.stmt, other: ast.stmt) -> Iterator[ast.stmt]:
    """Yield equivalent definitions, which may be more similar to the solution."""
    renamed = rename_like(base, other)
    yield renamed
    yield from (rename_like(base, changed) for changed in [*rewrite(renamed), *_put_into_context(base, renamed)])


def _put_into_context(base: ast.stmt, other: ast.stmt) -> Iterator[ast.stmt]:
    """Yield a function whose whole body is put into the `with` statement that contains the whole body of the solution."""
    match base, other:
        case ast.FunctionDef(body=[ast.With(items=items)]), ast.FunctionDef(body=body) if not isinstance(body[0], ast.With):
            fields = dict(ast.iter_fields(other)) | {"body": [ast.With(items, body, lineno=0)]}
            yield ast.FunctionDef(**fields)


def _choose_kept(statements: list[int]) -> Iterator[frozenset[int]]:
    """Yield the differences to keep, as in delta debugging: one part of them alone, then all but one part.

    Args:
        statements: The statement of each difference.
    """
    count = len(statements)
    every = frozenset(range(count))
    parts = 2
    while parts < count:
        yield from _split(every, parts)
        parts *= 2
    groups = [frozenset(index for index in every if statements[index] == number) for number in dict.fromkeys(statements)]
    for chosen in (groups, [frozenset([index]) for index in range(count)]):
        if count > 1:
            yield from chosen
        yield from (every - part for part in chosen)


def _split(every: Collection[int], parts: int) -> Iterator[frozenset[int]]:
    """Yield each part alone, then all but each part; parts are of neighbors."""
    size = -(-len(every) // parts)
    chunks = [frozenset(range(start, min(start + size, len(every)))) for start in range(0, len(every), size)]
    yield from chunks
    if parts > 2:
        yield from (frozenset(every) - chunk for chunk in chunks)


def describe(_submitted: object, solution: str, current: str) -> dict[str, Any]:
    """Return how the solution becomes the final definition: by edits of its text, if possible, or as a whole definition.

    The whole definition has no types and docstrings, and comes with the names that it reads.

    Args:
        solution: The definition in the file, with its comments and its layout.
        current: The final definition.
    """
    _, other = _read_both(solution, current)
    text = _unparse(_without_types(other))
    names = sorted({node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)})
    return {"edits": find_edits(solution, other), "text": text, "names": names}


def _without_types(definition: ast.stmt) -> ast.stmt:
    (made,) = ast.parse(_unparse(definition)).body
    for _, function in _walk_functions(made):
        function.returns = None
        for argument in _list_arguments(function):
            argument.annotation = None
    return made


def find_definition(source: str, name: str) -> str:
    """Return the text of a function or class at the top level of the solution or of a mutant of it.

    Raises:
        LookupError: If there is none of this name.
    """
    for node in ast.parse(source).body:
        if isinstance(node, Definition) and node.name == name:
            return "".join(split_lines(source, keepends=True)[node.lineno - 1 : node.end_lineno])
    raise LookupError(name)
