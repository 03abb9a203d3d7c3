"""Compare two versions of a file by the code that a check can reach. A driver for a sandbox, because it parses student code.

A unit is a function or a method; everything else in a file runs when it is imported, and every check
reaches it. Units are reached by name: the check, or a unit that it reaches, has the name as an
attribute, a variable, a parameter or a word in a text. A method is reached if the name of its class is
there, too; one that may be called without being named, such as `__init__` or `forward`, is reached with
its class. So a unit counts as reached too often rather than too seldom. Files that compute names are
not compared.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
WORD = re.compile(r"\w+")
# By these, code can use names that its text does not contain.
COMPUTES_NAMES = frozenset(
    (
        *("vars", "dir", "globals", "locals", "eval", "exec", "attrgetter", "methodcaller", "getmembers", "getsource"),
        *("__dict__", "__getattr__", "__getattribute__", "__subclasses__", "__mro__", "__builtins__", "__doc__", "__code__"),
        *("__import__", "import_module", "importlib", "inspect", "gc", "submitted", "__main__", "__file__"),
    )
)
BY_TEXT = ("getattr", "setattr", "hasattr", "delattr")  # which do so unless the name is a literal text
# Decorators that give a function to nobody else; where there is another one, who calls the function is not known.
KEEPS = re.compile(r"staticmethod|classmethod|property|\w+\.(setter|getter)|torch\.(no_grad|inference_mode|enable_grad)(\(\))?")


def find_unchanged(_submitted: None, earlier: np.ndarray, now: np.ndarray, checks: dict[str, list[str]]) -> list[str]:
    """Return those of the checks that reach only code which is the same in both versions.

    Args:
        earlier, now: The two versions of the file, uint8 [size].
        checks: By check, the names that it uses.
    """
    try:
        before, after = CodeVersion(earlier.tobytes()), CodeVersion(now.tobytes())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    if before.computes_names or after.computes_names or before.import_code != after.import_code:
        return []
    return [check for check, names in checks.items() if before.reach(names) == after.reach(names)]


class Unit(NamedTuple):
    """A part of a file that runs only if it is called.

    Attributes:
        names: The names by which it is reached, all of them: its own, or for a method that of its class and, unless it may be
            called without being named, its own.
        code: Its code, without comments, layout and docstrings.
        words: All words in its code.
    """

    names: frozenset[str]
    code: str
    words: frozenset[str]


class CodeVersion:
    """One version of a file, parsed but not run.

    Attributes:
        units: Its units, in their order.
        import_code: Everything that runs when it is imported.
        computes_names: Whether it may use names that its text does not contain.
    """

    def __init__(self, content: bytes) -> None:
        compile(content, "submission", "exec", dont_inherit=True)  # refuses more than the parser does
        tree = _drop_docstrings(ast.parse(content))
        self.computes_names = any(map(_computes_names, ast.walk(tree)))
        self.units = [unit for node in tree.body for unit in _take_units(node)]
        self.import_code = ast.unparse(tree)
        for node in ast.walk(tree):
            if isinstance(node, FUNCTIONS):
                _drop_mentions(node)
        self._import_words = {word for node in ast.walk(tree) for word in _list_used(node)}

    def reach(self, names: Iterable[str]) -> list[Unit]:
        """Return the units that code with these names can reach, in the order of the file."""
        known = {*names, *self._import_words}
        reached: set[Unit] = set()
        while more := {unit for unit in self.units if unit.names <= known} - reached:
            reached |= more
            known = known.union(*(unit.words for unit in more))
        return [unit for unit in self.units if unit in reached]


def _take_units(node: ast.stmt) -> Iterator[Unit]:
    """Yield the units of a statement, and remove their bodies, which do not run at import, from it."""
    if isinstance(node, FUNCTIONS):
        yield from _take_unit(node, {node.name})
    elif isinstance(node, ast.ClassDef):
        methods = [part for part in node.body if isinstance(part, FUNCTIONS)]
        plain = not (node.bases or node.keywords or node.decorator_list)
        for method in methods:
            # Python itself calls special methods; code elsewhere calls those of a derived class, such as `forward` of a module.
            named = plain and not (method.name.startswith("__") and method.name.endswith("__"))
            yield from _take_unit(method, {node.name, method.name} if named else {node.name})


def _take_unit(node: ast.FunctionDef | ast.AsyncFunctionDef, names: set[str]) -> Iterator[Unit]:
    if all(KEEPS.fullmatch(ast.unparse(decorator)) for decorator in node.decorator_list):
        code = ast.unparse(node)
        node.body = [ast.Pass()]
        yield Unit(frozenset(names), code, frozenset(WORD.findall(code)))


def _drop_mentions(node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    """Remove annotations, and defaults that are only a name, from a function: import runs nothing of what these name."""
    for part in ast.walk(node.args):
        if isinstance(part, ast.arg):
            part.annotation = None
    node.returns = None
    named = (ast.Name, ast.Constant)
    node.args.defaults = [value for value in node.args.defaults if not isinstance(value, named)]
    node.args.kw_defaults = [value for value in node.args.kw_defaults if not isinstance(value, named)]


def _list_used(node: ast.AST) -> list[str]:
    """Return the words by which a part of a file uses something; a definition does not use its own name."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name) | ast.Constant(value=str(name)):
            return WORD.findall(name)
    return []


def _computes_names(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=name), args=[_, ast.Constant(value=str()), *_]) if name in BY_TEXT:
            return False
        case ast.Call(func=ast.Name(id=name)) if name in BY_TEXT:
            return True
        case ast.Attribute(value=ast.Name(id="sys"), attr="modules"):
            return True
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.FunctionDef(name=name) | ast.keyword(arg=str(name)):
            return name in COMPUTES_NAMES
        case ast.alias(name=name):
            return not COMPUTES_NAMES.isdisjoint(WORD.findall(name))
    return False


def _drop_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS)) and ast.get_docstring(node, clean=False) is not None:
            node.body[:1] = [] if len(node.body) > 1 else [ast.Pass()]
    return tree
