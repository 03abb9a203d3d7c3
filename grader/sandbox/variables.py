"""Find module variables that a submission's functions read although an argument or attribute has the same name.

The source is analyzed in a worker and never run.
"""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterable, Iterator, Sequence

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
OWN, OBJECTS = "own", "objects"


def find_globals(source: str, names: Sequence[str]) -> dict[str, dict[str, list[str]]]:
    """Return, for each of these functions and classes that reads a variable of its module, the names of such variables.

    What it uses of the file counts too. Under OWN stand those that are also a parameter, or an attribute that the class sets
    on itself; under OBJECTS others that are not plain numbers or text. It leaves out constants, which are written in capitals.
    """
    tree = ast.parse(source)
    variables = _list_variables(tree)
    if not variables:
        return {}
    definitions = {node.name: node for node in tree.body if isinstance(node, SCOPES)}
    reads = _list_reads(symtable.symtable(source, "submitted.py", "exec"), definitions)
    found: dict[str, dict[str, list[str]]] = {}
    for name in (name for name in names if name in definitions):
        own: set[str] = set()
        objects: set[str] = set()
        for part in _reach(name, reads):
            given = _list_given(definitions[name]) | _list_given(definitions[part])
            for variable in reads[part] & variables.keys():
                if variable in given:
                    own.add(variable)
                elif not variables[variable]:
                    objects.add(variable)
        if own or objects:
            found[name] = {OWN: sorted(own), OBJECTS: sorted(objects - own)}
    return found


def _list_variables(tree: ast.Module) -> dict[str, bool]:
    """Return the variables that are assigned at the top level, and of each whether it is only ever a plain number or text."""
    variables: dict[str, bool] = {}
    others: set[str] = set()
    for node in _walk_top_level(tree.body):
        if isinstance(node, SCOPES):
            others.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            others |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        else:
            plain = isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Constant)
            for name in _list_stored(node):
                variables[name] = plain and variables.get(name, True)
    return {name: plain for name, plain in variables.items() if name not in others and not name.isupper() and name != "_"}


def _walk_top_level(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements outside functions and classes, also those in blocks: a training below `if __name__ ...` is one."""
    for node in body:
        yield node
        if not isinstance(node, SCOPES):
            for child in ast.iter_child_nodes(node):
                inner = getattr(child, "body", None)  # of `except` and `case`
                if isinstance(child, ast.stmt):
                    yield from _walk_top_level([child])
                elif isinstance(inner, list):
                    yield from _walk_top_level(inner)


def _list_stored(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement itself assigns to, without its blocks."""
    targets: list[ast.AST] = []
    if isinstance(node, ast.Assign):
        targets = list(node.targets)
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.For, ast.AsyncFor)):
        targets = [node.target]
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        targets = [item.optional_vars for item in node.items if item.optional_vars is not None]
    for target in targets:
        yield from (part.id for part in ast.walk(target) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store))


def _list_reads(table: symtable.SymbolTable, definitions: Iterable[str]) -> dict[str, set[str]]:
    """Return for each definition the names that it looks up in the module, and does not assign there itself."""
    reads: dict[str, set[str]] = {name: set() for name in definitions}
    for child in table.get_children():
        if child.get_name() in reads:
            reads[child.get_name()] |= _list_global_reads(child)
    return reads


def _list_global_reads(table: symtable.SymbolTable) -> set[str]:
    own = {
        symbol.get_name()
        for symbol in table.get_symbols()
        if symbol.is_global() and symbol.is_referenced() and not symbol.is_assigned()
    }
    return own.union(*map(_list_global_reads, table.get_children()))


def _reach(name: str, reads: dict[str, set[str]]) -> set[str]:
    """Return a definition and all others of the file that it uses."""
    found, waiting = {name}, [name]
    while waiting:
        more = (reads[waiting.pop()] & reads.keys()) - found
        found |= more
        waiting += more
    return found


def _list_given(node: ast.AST) -> set[str]:
    """Return the names of parameters, of a class of those of its methods, and of attributes that a class sets on itself."""
    methods = [node] if not isinstance(node, ast.ClassDef) else node.body
    given: set[str] = set()
    for method in methods:
        if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)):
            every = [*method.args.posonlyargs, *method.args.args, *method.args.kwonlyargs]
            given |= {argument.arg for argument in every}
            if isinstance(node, ast.ClassDef) and every:
                given |= {
                    part.attr
                    for part in ast.walk(method)
                    if isinstance(part, ast.Attribute)
                    and isinstance(part.ctx, ast.Store)
                    and isinstance(part.value, ast.Name)
                    and part.value.id == every[0].arg
                }
    return given
