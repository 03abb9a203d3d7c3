"""What a statement of a module reads, binds and changes, as far as its text shows it. Nothing of it runs."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterator

from grader.sandbox.cells import CHANGING, SCOPES

# Calls that change how all code computes.
SETTINGS = frozenset(
    (
        *("set_default_device", "set_default_dtype", "set_default_tensor_type", "set_float32_matmul_precision"),
        *("seterr", "setrecursionlimit", "use_deterministic_algorithms"),
    )
)


def list_read(node: ast.stmt) -> set[str]:
    """Return the global names that a statement reads, also those that its functions read when they are called."""
    table = _make_table(node)
    if table is None:
        return {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)}
    names = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_referenced()}
    if isinstance(node, ast.AugAssign):  # of which the table says nothing
        names |= list_bound(node)
    return names | {name for child in table.get_children() for name in _list_global(child)}


def list_bound(node: ast.stmt) -> set[str]:
    """Return the names that a statement may give a value; none of an import, a definition, or a program (`if __name__ ...`)."""
    binds = not (_is_definition(node) or is_import(node) or is_program(node) or isinstance(node, ast.Delete))
    table = _make_table(node) if binds else None
    return {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned()} if table else set()


def list_changed(node: ast.stmt) -> set[str]:
    """Return the names whose objects a statement changes: it stores into a part of them, or calls a method that does."""
    if _is_definition(node) or is_program(node):
        return set()
    found: set[str] = set()
    for part in _walk_at_once(node):
        match part:
            case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
                found |= _find_root(part)
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name), args=[first, *_])) if name.endswith("_"):
                found |= _find_root(first)  # nn.init.zeros_(layer.weight)
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name) as called)) if name in CHANGING:
                found |= _find_root(called)
    return found


def list_called_at_once(node: ast.stmt) -> set[str]:
    """Return the names that a statement calls as the module is imported; none of a definition, except its decorators'."""
    return {part.func.id for part in _walk_at_once(node) if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)}


def changes_setting(node: ast.stmt) -> bool:
    """Return whether a statement changes how all code computes, as `torch.set_default_dtype(...)` does."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name))):
            return name in SETTINGS
    return False


def is_import(node: ast.stmt) -> bool:
    """Return whether a statement is an import."""
    return isinstance(node, (ast.Import, ast.ImportFrom))


def is_program(node: ast.stmt) -> bool:
    """Return whether a statement is run only if the file is run as a program."""
    return isinstance(node, ast.If) and "__name__" in {part.id for part in ast.walk(node.test) if isinstance(part, ast.Name)}


def list_imported(node: ast.stmt) -> Iterator[str]:
    """Yield the names that an import binds; what it is for if that cannot be seen, a text that stands in every file."""
    assert isinstance(node, (ast.Import, ast.ImportFrom))
    for alias in node.names:
        if alias.name == "*" or (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            yield "def"
        yield alias.asname or alias.name.partition(".")[0]


def _make_table(node: ast.stmt) -> symtable.SymbolTable | None:
    """Return the symbol table of a statement as a module of its own; None if it cannot be made."""
    try:
        return symtable.symtable(ast.unparse(node), "statement", "exec")
    except (SyntaxError, ValueError):  # such as an f-string with a backslash, which cannot be written again
        return None


def _list_global(table: symtable.SymbolTable) -> Iterator[str]:
    """Yield the global names that a scope inside a module reads or declares."""
    in_class = table.get_type() == "class"
    for symbol in table.get_symbols():
        # `gamma = gamma` in a class reads the global one, and makes its own of it.
        if symbol.is_global() or (in_class and symbol.is_referenced()):
            yield symbol.get_name()
    for child in table.get_children():
        yield from _list_global(child)


def _is_definition(node: ast.stmt) -> bool:
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))


def _walk_at_once(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a statement that run with it, which those of functions and classes do not."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        yield part
        if not isinstance(part, SCOPES):
            waiting += ast.iter_child_nodes(part)


def _find_root(part: ast.expr) -> set[str]:
    """Return the name that an expression such as `a.b[c]` begins with."""
    while isinstance(part, (ast.Attribute, ast.Subscript)):
        part = part.value
    return {part.id} if isinstance(part, ast.Name) else set()
