"""Compare two versions of a file by the code that a check can reach.

This is a driver for a sandbox, because it parses student code. A unit is a function or a method;
everything else in a file runs when it is imported, and every check reaches it. Units are reached by
name: the check, or a unit that it reaches, has the name as a variable, an attribute, a keyword or a
word in a text. A method is reached if the name of its class is there, too; one that may be called
without being named, such as `__init__` or `forward`, is reached with its class. So a unit counts as
reached too often rather than too seldom. Files that compute names are not compared.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from grader.sandbox.cells import HEADER
from grader.sandbox.substitutes import names_accelerator

# `resubmission.py` writes those of an assignment at the end of its copy of this file.
CHECKS: dict[str, str] = {}
"""By check, the words that it uses; a word may begin or end with a star."""
SUPPORT: dict[str, str] = {}
"""By name that a support file defines, all words of the code that it reaches there."""

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
PLAIN = (ast.Name, ast.Attribute, ast.Constant)
"""Expressions that import evaluates without running code of the file."""
WORD = re.compile(r"\w+")
# Decorators that pass their function on to nobody else.
HARMLESS_DECORATOR = re.compile(r"staticmethod|classmethod|property|torch\.(no_grad|inference_mode|enable_grad)(\(\))?")
BUILT_IN_DECORATORS = ("staticmethod", "classmethod", "property")
# Methods that libraries and Python call without naming them in the file.
UNNAMED_METHODS = frozenset(
    ("forward", "keys", "items", "values", "get", "write", "flush", "read", "readline", "close", "send", "throw", "run")
)
# Names by which code can use names that its text does not contain.
COMPUTING = frozenset(
    (
        *("vars", "dir", "globals", "locals", "eval", "exec", "attrgetter", "methodcaller", "getmembers", "getsource"),
        *("__import__", "import_module", "importlib", "inspect", "gc", "submitted", "__main__", "__file__", "__doc__"),
        *("__builtins__", "builtins", "pickle", "marshal", "ctypes", "types", "settrace", "setprofile", "_getframe"),
        *("__init_subclass__", "__set_name__", "__class_getitem__", "__prepare__", "__getattr__", "__getattribute__"),
    )
)
BY_TEXT = frozenset(("getattr", "setattr", "hasattr", "delattr"))  # which do so unless the name is a literal text
HARMLESS_ATTRIBUTES = re.compile(
    r"__(init|class|name|qualname|len|call|getitem|setitem|iter|next|enter|exit|eq|hash|repr|str|float|int|bool|contains"
    r"|array|version|new)__"
)


def find_unchanged(_submitted: None, earlier: np.ndarray, now: np.ndarray) -> list[str]:
    """Return the checks that reach only code which is the same in both versions.

    Args:
        earlier, now: The two versions of the file, uint8 [size].
    """
    old, new = earlier.tobytes(), now.tobytes()
    # These decide how the whole file is run.
    if names_accelerator(old) != names_accelerator(new) or any(text.startswith(HEADER.encode()) for text in (old, new)):
        return []
    try:
        before, after = CodeVersion(old), CodeVersion(new)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    if before.computes_names or after.computes_names or before.import_code != after.import_code:
        return []
    words = {check: text.split() for check, text in CHECKS.items()}
    return [check for check, used in words.items() if before.reach(used) == after.reach(used)]


class Unit(NamedTuple):
    """A part of a file that runs only if it is called.

    Attributes:
        names: The names by which it is reached; all of them are needed.
        code: Its code, without comments, layout and docstrings.
        words: All words by which it uses something.
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
        self.computes_names = _computes_names(tree)
        self.units: list[Unit] = []
        self._import_words: set[str] = set()
        classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        self._bases = {word for node in classes for base in node.bases for word in _list_words(base)}
        for node in tree.body:
            if isinstance(node, FUNCTIONS):
                self._take_function(node, {node.name})
            elif isinstance(node, ast.ClassDef):
                self._take_class(node)
            else:
                self._import_words |= _list_words(node)
        self.import_code = ast.unparse(tree)
        self._names = frozenset().union(*(unit.names for unit in self.units))
        self._uses_of_import = self._find_uses(_add_support(self._import_words))
        self._uses = [self._find_uses(_add_support(unit.words)) for unit in self.units]

    def reach(self, words: Iterable[str]) -> list[Unit]:
        """Return the units that code with these words can reach, in the order of the file."""
        known = self._uses_of_import | self._find_uses(words)
        reached: set[int] = set()
        while more := {place for place, unit in enumerate(self.units) if unit.names <= known} - reached:
            reached |= more
            known = known.union(*(self._uses[place] for place in more))
        return [self.units[place] for place in sorted(reached)]

    def _find_uses(self, words: Iterable[str]) -> frozenset[str]:
        """Return the names of units that code with these words may use."""
        known = {*words}
        # Of a name that a driver puts together, a part is known: "*_loss", "weight*".
        ends = tuple(word[1:] for word in known if word.startswith("*"))
        beginnings = tuple(word[:-1] for word in known if word.endswith("*"))
        return frozenset(name for name in self._names if name in known or name.endswith(ends) or name.startswith(beginnings))

    def _take_class(self, node: ast.ClassDef) -> None:
        """Add the methods of a class to the units; what else is in it runs at import."""
        others = [part for part in node.body if not isinstance(part, FUNCTIONS)]
        is_simple = all(isinstance(part, ast.Pass) or isinstance(getattr(part, "value", 0), ast.Constant) for part in others)
        if node.decorator_list or node.keywords or not is_simple:
            self._import_words.add(node.name)  # others may get it, or its methods, without its name
        for part in (*node.decorator_list, *node.bases, *node.keywords, *others):
            self._import_words |= _list_words(part)
        is_plain = is_simple and node.name not in self._bases and not (node.bases or node.keywords or node.decorator_list)
        for part in node.body:
            if isinstance(part, FUNCTIONS):
                named = is_plain and not part.name.startswith("__") and part.name not in UNNAMED_METHODS
                self._take_function(part, {node.name, part.name} if named else {node.name})

    def _take_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, names: set[str]) -> None:
        """Add a function to the units, and remove its body from the tree; keep it if a decorator may pass it on."""
        if not all(HARMLESS_DECORATOR.fullmatch(ast.unparse(decorator)) for decorator in node.decorator_list):
            self._import_words |= _list_words(node)
            return
        self.units.append(Unit(frozenset(names), ast.unparse(node), frozenset(_list_words(node))))
        node.body = [ast.Pass()]
        arguments = (part.annotation for part in ast.walk(node.args) if isinstance(part, ast.arg))
        for part in (*arguments, node.returns, *node.args.defaults, *node.args.kw_defaults):
            if part is not None and not isinstance(part, PLAIN):
                self._import_words |= _list_words(part)


def _add_support(words: Iterable[str]) -> set[str]:
    """Return these words, and those of the code that they reach in support files."""
    return {*words}.union(*(SUPPORT[name].split() for name in SUPPORT.keys() & {*words}))


def _list_words(tree: ast.AST) -> set[str]:
    """Return the words by which code uses something; a definition does not use its own name."""
    return {word for node in ast.walk(tree) for word in _list_own_words(node)}


def _list_own_words(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=word) | ast.Attribute(attr=word) | ast.keyword(arg=str(word)):
            yield word
        case ast.alias(name=name, asname=other):
            yield from (*name.split("."), other or "")
        case ast.Constant(value=str(text)):
            yield from (text, *WORD.findall(text))
        case ast.ImportFrom(module=str(name)):
            yield from name.split(".")
        case ast.MatchClass(kwd_attrs=names) | ast.Global(names=names) | ast.Nonlocal(names=names):
            yield from names


def _computes_names(tree: ast.Module) -> bool:
    nodes = list(ast.walk(tree))
    literal = {id(node.func) for node in nodes if isinstance(node, ast.Call) and _names_by_literal(node)}
    return any(_computes(node) for node in nodes if id(node) not in literal)


def _names_by_literal(call: ast.Call) -> bool:
    """Return whether a call such as getattr(env, "spec") contains the name."""
    match call:
        case ast.Call(func=ast.Name(id=name), args=[_, ast.Constant(value=str()), *_]):
            return name in BY_TEXT
    return False


def _computes(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(value=value, attr=name):
            if name in ("format", "format_map"):
                return not isinstance(value, ast.Constant)
            if name == "modules" and isinstance(value, ast.Name) and value.id == "sys":
                return True
            special = name.startswith("__") and name.endswith("__")
            inner = name.startswith(("f_", "tb_", "gi_", "cr_", "co_"))  # of frames, tracebacks, generators and code
            return name in BY_TEXT | COMPUTING or inner or (special and not HARMLESS_ATTRIBUTES.fullmatch(name))
        case ast.Name(id=name, ctx=ast.Store()) if name in BUILT_IN_DECORATORS:
            return True
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name in COMPUTING or name in BUILT_IN_DECORATORS
        case ast.Name(id=name) | ast.keyword(arg=str(name)):
            return name in BY_TEXT | COMPUTING or name == "metaclass"
        case ast.alias(name=name) | ast.ImportFrom(module=str(name)):
            return name == "*" or not (BY_TEXT | COMPUTING).isdisjoint(name.split("."))
    return False


def _drop_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS)) and ast.get_docstring(node, clean=False) is not None:
            node.body[:1] = [] if len(node.body) > 1 else [ast.Pass()]
    return tree
