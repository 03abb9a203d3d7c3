"""Which code of a Python file runs when a name is used, or when the file is imported: the file is parsed, never run."""

from __future__ import annotations

import ast
import contextlib
import re
import symtable
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from grader.hashing import drop_docstrings
from grader.sandbox.definitions import DEFINITIONS, hash_definition

# Decorators and calls without side effects.
HARMLESS = re.compile(
    r"(pytest|dataclasses|itertools|math)\.[\w.]+|functools\.(cache|lru_cache|cached_property|partial|total_ordering|wraps)|np\.(array|float32|float64|linspace|arange|zeros|ones|full)"
    r"|contextlib\.contextmanager|torch\.no_grad|dataclass|staticmethod|classmethod|property|TypeVar"
    r"|range|len|min|max|sum|sorted|zip|enumerate|tuple|list|dict|set|frozenset|int|float|str|bool|slice"
)
# Ways in which a driver or a submission can use names that its own text does not contain. A method __getattr__ is asked for
# names in other texts; a module's __getattr__ may answer for any name.
READS_ALL = re.compile(
    r"\b(vars|dir|globals|locals|getmembers|eval|exec|attrgetter|methodcaller|import_module)\("
    r"|\b(__dict__|__subclasses__|__init_subclass__|__import__)\b|^def __getattr__\b|\b(import|from) submitted\b"
    r"|attr\((\w+\.)?(submitted|submission|module|student), (?!(['\"])\w+\6[,)])"
    r"|\bsys\.modules(\[(?!'(?!submitted|__main__)\w+'\])|\.(get|values|items)\b)",
    re.MULTILINE,
)
# Names that pytest uses by itself.
PYTEST_USES = re.compile(r"pytest_\w+|pytestmark|(setup|teardown)_?\w*")


class ParsedStatement(NamedTuple):
    """A statement at the top level of a file.

    Attributes:
        line: Its first line, which gives the order of execution at import.
        text: Its code, without comments, layout and docstrings; only a check keeps its docstring.
        words: All names that it uses or imports, including local variables, and its texts.
        names: The names that it may look up in its file.
        attributes: The names that it looks up as attributes.
        computes_case: Whether it computes the name of a case.
    """

    line: int
    text: str
    words: frozenset[str]
    names: frozenset[str]
    attributes: frozenset[str]
    computes_case: bool

    @property
    def untitled(self) -> str:
        """Its code, also of a check without a docstring."""
        return _untitled(self.text)


def parse_file(path: Path) -> ParsedModule:
    """Return a Python file as parsed; see `parse_code`."""
    return parse_code(path.read_text(encoding="utf-8"))


class ParsedModule:
    """A Python file that was parsed, but not run.

    Attributes:
        statements: The statements that define each name.
        effects: Statements that do more than define names when the file is imported, or that pytest uses by itself.
        imports: The modules that it imports.
        at_import: The code that each statement runs at import, and that could fail, whether reached or not.
        fingerprints: Those of its functions and classes, as `hash_functions` finds them.
    """

    def __init__(self, text: str) -> None:
        self.at_import: list[str] = []
        self.fingerprints: dict[str, str] = {}
        self.statements: dict[str, list[ParsedStatement]] = {}
        self.effects: list[ParsedStatement] = []
        self.imports: list[str] = []
        ours: frozenset[str] = frozenset()  # names imported from the kit, whose imports have no effects
        lines = text.split("\n")
        for node in ast.parse(text).body:
            first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
            part = _part("\n".join(lines[first - 1 : node.end_lineno]), ours) or _part(ast.unparse(node), ours)
            assert part is not None  # ast.unparse makes one statement from one statement
            ours |= part.ours
            self.imports += part.imports
            self.at_import += part.at_import
            for name, code in part.defined:
                self.statements.setdefault(name, []).append(parse_statement(node.lineno, code))
            if part.has_effect:
                self.effects.append(parse_statement(node.lineno, part.code))
            if isinstance(node, DEFINITIONS):
                self.fingerprints[node.name] = _fingerprint("\n".join(lines[node.lineno - 1 : node.end_lineno]))

    def all_statements(self) -> list[ParsedStatement]:
        """Return every statement that defines a name or has an effect."""
        return [*(statement for group in self.statements.values() for statement in group), *self.effects]

    def reach(self, names: Iterable[str], imports: bool = False, fixtures: bool = False) -> list[ParsedStatement]:
        """Return the statements that define these names, those with effects, and everything that they use.

        They are in the order of the file. Names that the file does not define are ignored.

        Args:
            imports: Whether to include the name of each imported module, because it runs, too.
            fixtures: Whether a parameter or a text may refer to a definition with that name, as in pytest.
        """

        def used(statements: Iterable[ParsedStatement]) -> set[str]:
            found = (statement.words if fixtures else statement.names for statement in statements)
            return set().union(*found) & self.statements.keys()

        reached: set[str] = set()
        waiting = set(names) & self.statements.keys() | used(self.effects)
        while waiting:
            name = waiting.pop()
            reached.add(name)
            waiting |= used(self.statements[name]) - reached
        own = [statement for name in sorted(reached) for statement in self.statements[name]]
        modules = [parse_statement(0, f"import {name or 'itself'}") for name in self.imports] if imports else []
        return [*modules, *sorted({*self.effects, *own}, key=lambda statement: (statement.line, statement.text))]


@lru_cache(16)
def parse_code(text: str) -> ParsedModule:
    """Return the code of a Python file as parsed. The last ones are kept."""
    return ParsedModule(text)


def list_words(statements: Iterable[ParsedStatement]) -> set[str]:
    """Return all names and texts in these statements."""
    return {word for statement in statements for word in statement.words | statement.attributes}


def list_users(path: Path) -> dict[str, frozenset[str]]:
    """Return, for each name that a file defines, all names in the file whose code uses it."""
    module = parse_file(path)
    reached = {name: {statement.text for statement in module.reach({name})} for name in module.statements}
    return {
        name: frozenset(user for user, code in reached.items() if any(one.text in code for one in own))
        for name, own in module.statements.items()
    }


def is_check(name: str) -> bool:
    """Return whether pytest collects a function or class of this name."""
    return name.startswith(("test", "Test"))


@cache
def _untitled(code: str) -> str:
    (node,) = ast.parse(code).body
    return ast.unparse(drop_docstrings(node)) if is_check(getattr(node, "name", "")) else code


@cache
def _fingerprint(text: str) -> str:
    return hash_definition(text.split("\n"))


class StatementCode(NamedTuple):
    """Facts about a statement at the top level of a file, independent of its place.

    Attributes:
        code: Its code, without comments, layout and docstrings; only a check keeps its docstring.
        defined: Each name that it defines, with the defining code.
        imports: The modules that it imports.
        ours: The names that it imports from the kit.
        has_effect: Whether it may do more than define names.
        at_import: Its code without function bodies; empty for a literal value.
    """

    code: str
    defined: tuple[tuple[str, str], ...]
    imports: tuple[str, ...]
    ours: frozenset[str]
    has_effect: bool
    at_import: tuple[str, ...]


@cache
def _part(text: str, ours: frozenset[str]) -> StatementCode | None:
    """Return the facts about a statement; None if the text is not exactly one statement.

    They are cached: the variants of a file share all statements except one or two.

    Args:
        ours: The names that were imported from the kit before.
    """
    try:
        (node,) = ast.parse(text).body
    except (SyntaxError, ValueError):
        return None
    if not is_check(getattr(node, "name", "")):  # the docstring of a check is its title
        node = drop_docstrings(node)
    parts = list(_run_at_import(node))
    imports: list[str] = []
    own: set[str] = set()
    for part in parts:
        if isinstance(part, ast.Import):
            imports += [alias.name for alias in part.names]
        elif isinstance(part, ast.ImportFrom):
            imports.append(part.module or "")
            own |= {alias.asname or alias.name for alias in part.names if (part.module or "").startswith("grader")}
    effect = _has_effect(node, parts, {*ours, *own})
    code, defined = ast.unparse(node), tuple(_defined(node))
    return StatementCode(code, defined, tuple(imports), frozenset(own), effect, _run_text(node))


def _run_text(node: ast.stmt) -> tuple[str, ...]:
    """Return the code of a statement that runs at import, unless it is only a literal. Changes the node."""
    if isinstance(node, ast.Assign):
        with contextlib.suppress(ValueError):
            ast.literal_eval(node.value)
            return ()
    for part in ast.walk(node):
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)):
            part.body = [ast.Pass()]
        elif isinstance(part, ast.Lambda):
            part.body = ast.Constant(None)
    return (ast.unparse(node),)


def _defined(node: ast.stmt) -> Iterator[tuple[str, str]]:
    """Yield each name that a statement defines, with the defining code."""
    if isinstance(node, DEFINITIONS):
        yield node.name, ast.unparse(node)
    elif isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0], ast.unparse(ast.Import([alias]))
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name, ast.unparse(ast.ImportFrom(node.module, [alias], node.level))
    else:
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                yield part.id, ast.unparse(node)
            elif isinstance(part, (ast.MatchAs, ast.MatchStar, ast.ExceptHandler)) and part.name:
                yield part.name, ast.unparse(node)
            elif isinstance(part, ast.MatchMapping) and part.rest:
                yield part.rest, ast.unparse(node)


@cache
def parse_statement(line: int, text: str) -> ParsedStatement:
    """Return a statement as parsed.

    Args:
        line: Its first line in its file.
        text: Its code; it is exactly one statement.
    """
    nodes = list(ast.walk(ast.parse(text)))
    words = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    words |= {node.arg for node in nodes if isinstance(node, ast.arg)}  # a fixture is used by its name
    words |= {node.id for node in nodes if isinstance(node, ast.Name)}
    words |= {node.name for node in nodes if isinstance(node, ast.alias)}
    names = {node.name for node in nodes if isinstance(node, ast.alias)} | set(
        _list_globals(symtable.symtable(text, "", "exec"))
    )
    if READS_ALL.search(text):
        names |= words
    attributes = frozenset(node.attr for node in nodes if isinstance(node, ast.Attribute))
    calls = [node for node in nodes if isinstance(node, ast.Call) and node.args]
    asked = [node.args[0] for node in calls if isinstance(node.func, ast.Attribute) and node.func.attr == "expect"]
    computed = any(not isinstance(first, (ast.Constant, ast.Name)) for first in asked)
    return ParsedStatement(line, text, frozenset(words), frozenset(names), attributes, computed)


def _list_globals(table: symtable.SymbolTable) -> Iterator[str]:
    """Yield the names that code looks up in its file, that is, all except local variables."""
    for symbol in table.get_symbols():
        if symbol.is_global() or (symbol.is_referenced() and table.get_type() in ("module", "class")):
            yield symbol.get_name()
    for child in table.get_children():
        yield from _list_globals(child)


def _run_at_import(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a statement that run at import, without function bodies."""
    yield node
    for field, value in ast.iter_fields(node):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) and field in ("body", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and field != "annotation":
                yield from _run_at_import(child)


def _has_effect(node: ast.stmt, parts: list[ast.AST], ours: set[str]) -> bool:
    """Return whether a statement may do more than define the names that `_defined` finds.

    Args:
        parts: The parts of it that run.
    """
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return False
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return True  # otherwise it would be useless
    if any(PYTEST_USES.match(name) for name, _ in _defined(node)):
        return True
    parts_define = any(isinstance(part, (*DEFINITIONS, ast.Import, ast.ImportFrom)) for part in parts)
    if parts_define and not isinstance(node, DEFINITIONS):
        return True  # defined under a condition
    return any(_acts(part, ours) for part in parts)


def _acts(node: ast.AST, ours: set[str]) -> bool:
    """Return whether running this part may do more than make a value: call something, or change something else."""
    if isinstance(node, DEFINITIONS):
        return not all(_harmless(decorator, ours) for decorator in node.decorator_list)
    if isinstance(node, ast.Call):
        return not _harmless(node, ours)
    changed = isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)) and not isinstance(node, (ast.Name, ast.Tuple))
    return changed or isinstance(node, (ast.Delete, ast.AugAssign, ast.Raise, ast.Assert))


def _harmless(called: ast.expr, ours: set[str]) -> bool:
    """Return whether a call or decorator has no side effects."""
    name, text = ast.unparse(called.func if isinstance(called, ast.Call) else called), ast.unparse(called)
    implicit = "fixture" in name and ("autouse" in text or "name=" in text)
    return (name in ours or HARMLESS.fullmatch(name) is not None) and not implicit
