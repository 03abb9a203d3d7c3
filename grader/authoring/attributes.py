"""Find attributes that a module does not have, such as `np.emtpy`, by reading an author's file.

A mistake with such a slip fails every check, so it would count as caught, and its hint would be told for nothing.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

from grader.authoring.slips import Slip
from grader.course.handwritten import suggest

CHAIN = re.compile(r"(?<![\w.\"'])([A-Za-z_]\w*)((?:\.[A-Za-z_]\w*)+)")  # in the text of an edit
# The files of a package in which its names stand; to read them takes a tenth of the time that importing torch takes.
NAMED_IN = ("*.py", "*.pyi", "*/__init__.py", "_C/*.pyi", "nn/*.py", "nn/*/__init__.py")


def list_unknown_attributes(path: Path, tree: ast.Module, given: dict[str, str]) -> Iterator[Slip]:
    """Yield each attribute that a module does not have once, where it is used first; also in the edits of mistakes.

    Args:
        given: The modules by the names that the file has them by without importing them; see `list_modules`.
    """
    modules, seen = given | list_modules(tree), set()
    for line, name, attributes in _list_chains(tree):
        if name not in modules or (name, attributes) in seen:
            continue
        seen.add((name, attributes))
        if fault := _find_fault(modules[name], attributes):
            yield Slip(path, line, fault)


def list_modules(tree: ast.Module) -> dict[str, str]:
    """Return the modules that a file imports at its top level, by the names that it gives them, unless these are set again."""
    found: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                found[name] = alias.name if alias.asname else name
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    stored |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    return {name: module for name, module in found.items() if name not in stored and _is_library(module)}


def _is_library(module: str) -> bool:
    """Return whether this is of the standard library, NumPy or torch: other modules may be the author's own."""
    first = module.partition(".")[0]
    return first in ("numpy", "torch") or (first in sys.stdlib_module_names and first in sys.modules)


def _list_chains(tree: ast.Module) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Yield (line, name, attributes) of each `name.a.b`, in code and in the new texts of edits."""
    inner: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and id(node) not in inner:
            attributes, value = [node.attr], node.value
            while isinstance(value, ast.Attribute):
                inner.add(id(value))
                attributes.append(value.attr)
                value = value.value
            if isinstance(value, ast.Name):
                yield node.lineno, value.id, tuple(reversed(attributes))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "altered":
            for edits in (each for each in ast.walk(node) if isinstance(each, ast.Dict)):
                for text in (each for each in edits.values if isinstance(each, ast.Constant) and isinstance(each.value, str)):
                    for found in CHAIN.finditer(str(text.value)):
                        yield text.lineno, found[1], tuple(found[2][1:].split("."))


def _find_fault(name: str, attributes: tuple[str, ...]) -> str:
    """Return what is wrong with the attributes of this module; "" if nothing is, or if that cannot be known."""
    package, *parts = name.split(".")
    if package not in sys.modules and all(part in _list_words(package) for part in (*parts, *attributes)):
        return ""
    value: object = importlib.import_module(package)
    for part in (*parts, *attributes):
        if not isinstance(value, ModuleType):
            return ""  # attributes of classes and objects are the sandbox's matter
        if not hasattr(value, part):
            with_part = f"{value.__name__}.{part}"
            if hasattr(value, "__path__") and importlib.util.find_spec(with_part):
                value = importlib.import_module(with_part)
                continue
            if part in getattr(value, "__expired_attributes__", ()):
                return ""  # students still write those that NumPy has removed
            return f"{value.__name__} has no {part!r}; {suggest(part, dir(value))}"
        value = getattr(value, part)
    return ""


@cache
def _list_words(package: str) -> frozenset[str]:
    """Return all words in the files in which a package that is not loaded names its functions and classes."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.origin:
        return frozenset()
    files = {file for pattern in NAMED_IN for file in Path(spec.origin).parent.glob(pattern)}
    return frozenset(word for file in files for word in re.findall(r"\w+", file.read_text(encoding="utf-8", errors="replace")))
