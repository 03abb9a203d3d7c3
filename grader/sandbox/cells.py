"""Convert a notebook to a Python file with the requested definitions and whatever they need. Nothing is run here.

A kernel remembers what was defined last, whatever failed before or after. So of every name that is needed all statements are
kept that give it a value or change it, in the notebook's order, and each stands for itself. Magics, shell lines, output,
displays and training are left out unless something needs them, and then they get little time. nbformat would refuse notebooks
that a kernel has run, so the JSON is read as it is.
"""

from __future__ import annotations
import __future__

import ast
import contextlib
import difflib
import hashlib
import json
import re
import signal
import symtable
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

MAX_CODE = 1 << 20  # bytes of all cells together, as for a file
MAX_MAGICS = 200  # in one cell; each costs a look at all of it
MAX_NAME = 100  # characters of a name, or of an error, that is reported
MAX_SECONDS = 1.5  # of processor time for all statements but imports
HEADER = "# Made by the grader from the cells of a notebook.\n"
# Magics whose cell is not Python, or is run apart from everything else.
FOREIGN = frozenset(
    (
        *("!", "HTML", "SVG", "R", "bash", "cmd", "cython", "file"),
        *("html", "javascript", "js", "latex", "markdown", "perl", "pypy", "python", "python2"),
        *("python3", "ruby", "script", "sh", "svg", "sx", "system", "timeit", "writefile"),
    )
)
MAGIC = re.compile(r"^\s*([!%?]|[^\s#]+\?{1,2}\s*(#.*)?$|[\w., ]+=\s*[!%])")
MEANT = {  # what magics that run something mean
    re.compile(r"^(\s*)%time\s+(?!-)(?=\S)"): r"\1",
    re.compile(r"^(\s*)%run\s+(?:-i\s+)?(\w+)\.py\s*$"): r"\1from \2 import *",
}
# Methods that change what they belong to; of others it is not known, and most show or train.
CHANGING = frozenset(
    (
        *("add", "add_argument", "add_module", "append", "clear", "copy_", "discard", "extend", "fill_", "insert"),
        *("load_state_dict", "pop", "register_buffer", "register_module", "remove", "requires_grad_", "reverse"),
        *("setdefault", "sort", "update", "zero_"),
    )
)
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
LEFT_OUT = (ast.Delete, ast.Pass)


class NotANotebook(Exception):
    """The file cannot be read as a notebook; the message says why, and what to do."""


@dataclass
class CellStatement:
    """One top-level statement of a cell.

    Attributes:
        cell, line: Where it stands, both counted from 1.
        binds: Names that it may give a value.
        changes: Names whose object it may change.
        eager: Names that must have a value when it is run.
        lazy: Names that must have a value when a function of it is called.
        defines: Whether it is a function or a class.
        always: Whether it counts even if nothing asks for it.
    """

    cell: int
    line: int
    text: str
    binds: set[str] = field(default_factory=set)
    changes: set[str] = field(default_factory=set)
    eager: set[str] = field(default_factory=set)
    lazy: set[str] = field(default_factory=set)
    defines: bool = False
    always: bool = False


@dataclass
class Extract:
    """A file made from a notebook.

    Attributes:
        source: Its text.
        lines: For each statement, its first line in `source`, its cell, and its line there.
        cells: For each name asked for and found, the cell that it came from, in words.
        defined: All names that the notebook defines as functions or classes.
        left_out: Descriptions of cells that are not valid Python.
    """

    source: str
    lines: list[tuple[int, int, int]]
    cells: dict[str, str]
    defined: list[str]
    left_out: list[str]


def extract_definitions(content: bytes, names: list[str], own: str) -> Extract:
    """Return the definitions of `names` in a notebook, with everything that they need.

    Where a name is not there, the closest one is kept instead, so that the code that looks for it
    can say what was found.

    Args:
        content: The notebook file.
        own: The module that the file stands for; imports of it are left out.

    Raises:
        NotANotebook: If the file cannot be read as a notebook.
    """
    statements: list[CellStatement] = []
    words: dict[int, str] = {}
    left_out: list[str] = []
    size = 0
    for number, count, text in read_code_cells(content):
        size += len(text.encode("utf-8", "replace"))
        if size > MAX_CODE:
            raise NotANotebook(f"it holds more than {MAX_CODE >> 20} MB of code")
        words[number] = f"cell {number}" + (f" (In [{count}])" if count else "")
        try:
            statements += _statements(text, number, own)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
            why = error.msg if isinstance(error, SyntaxError) else str(error)[:MAX_NAME] or type(error).__name__
            defines = ", ".join(name[:MAX_NAME] for name in re.findall(r"^(?:def|class)\s+(\w+)", text, re.MULTILINE)[:5])
            without = f" (it would define {defines})" if defines else ""
            left_out.append(f"{words[number]}{line} is not valid Python ({why}): this cell is skipped{without}")
    found = _Resolver(statements)
    defined = sorted({name[:MAX_NAME] for entry in statements if entry.defines for name in entry.binds})
    wanted = []
    for name in names:
        wanted += [name] if name in found.binders else difflib.get_close_matches(name, defined, n=1)
    parts, lines, at = [HEADER], [], HEADER.count("\n") + 1
    for entry in found.needed(wanted):
        lines.append((at + 1, entry.cell, entry.line))
        parts.append(f"# {words[entry.cell]}\n{entry.text}\n")
        at += parts[-1].count("\n")
    cells = {name: words[statements[found.binders[name][-1]].cell] for name in names if name in found.binders}
    return Extract("".join(parts), lines, cells, defined, left_out)


def hash_dependencies(source: str, names: list[str]) -> dict[str, str]:
    """Return, for each name that a file defines, a hash of its definition and of all definitions that it uses."""
    found = _Resolver(_statements(source, 1, own=""))
    texts = {name: "\n".join(entry.text for entry in found.needed([name])) for name in names if name in found.binders}
    return {name: hashlib.sha256(text.encode()).hexdigest()[:16] for name, text in texts.items()}


class TooSlow(BaseException):
    """The statements outside functions exceeded their time limit."""


def run_extract(source: str, path: str, namespace: dict[str, Any]) -> dict[str, BaseException]:
    """Run an extract statement by statement, as a kernel would; return the reasons why names have no value."""
    lost: dict[str, BaseException] = {}
    flags, left = 0, MAX_SECONDS
    for node in ast.parse(source, path).body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            flags |= sum(getattr(__future__, alias.name).compiler_flag for alias in node.names)
        began = time.process_time()
        try:
            with _at_most(None if isinstance(node, (ast.Import, ast.ImportFrom)) else left):
                exec(compile(ast.Module([node], []), path, "exec", flags, dont_inherit=True), namespace)
        except (Exception, SystemExit, KeyboardInterrupt, TooSlow) as error:
            lost |= dict.fromkeys(_bound_by(node), error)
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            left = max(left - (time.process_time() - began), 0.05)
    return {name: error for name, error in lost.items() if name not in namespace}


@contextlib.contextmanager
def _at_most(seconds: float | None) -> Iterator[None]:
    """Raise TooSlow after so much processor time, where the system has a timer for it."""
    if seconds is None or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TooSlow(f"statements outside functions get {MAX_SECONDS} s together")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds, 0.1)  # again, should the first one be caught
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


# The notebook


def read_code_cells(content: bytes) -> Iterator[tuple[int, int | None, str]]:
    """Yield number, execution count and text of every cell of code; cells are counted from 1, those of text as well.

    Raises:
        NotANotebook: If the file cannot be read as a notebook.
    """
    try:
        # Numbers too long for an int would be refused, and none is of interest.
        notebook = json.loads(content.decode("utf-8-sig"), parse_int=lambda digits: int(digits[:9]))
    except UnicodeDecodeError as error:
        raise NotANotebook(f"it is not UTF-8 text (byte {error.start:,}); is it a complete notebook?") from error
    except RecursionError:
        raise NotANotebook("it is nested too deeply to be a notebook") from None
    except ValueError as error:
        raise NotANotebook(f"it is not valid JSON ({error}); is it complete? Save it again in Jupyter") from error
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if cells is None and isinstance(notebook, dict):  # before format 4
        sheets = notebook.get("worksheets")
        pages = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)] if isinstance(sheets, list) else []
        cells = [cell for page in pages if isinstance(page, list) for cell in page] if pages else None
    if not isinstance(cells, list):
        raise NotANotebook("it is JSON but has no cells; is it a notebook?")
    for number, cell in enumerate(cells, 1):
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            text = cell.get("source", cell.get("input", ""))
            if isinstance(text, list):
                parts = [part for part in text if isinstance(part, str)]
                text = ("" if any(part.endswith("\n") for part in parts) else "\n").join(parts)
            count = cell.get("execution_count")
            if isinstance(text, str):
                yield number, count if type(count) is int else None, text


def _python(text: str, own: str) -> tuple[str, ast.Module]:
    """Return a cell without what only a kernel understands, each such line as `pass`, and its syntax tree."""
    lines = re.split(r"\r\n|\r|\n", text)
    first = next((index for index, line in enumerate(lines) if line.strip()), 0)
    if lines[first].startswith("%%"):
        words = lines[first][2:].split()
        target = re.split(r"[/\\]", words[-1].strip("'\""))[-1] if words else ""
        writes_own = words[:1] in (["file"], ["writefile"]) and target == f"{own}.py"
        if words and words[0] in FOREIGN and not writes_own:
            return "", ast.Module([], [])
        lines[first] = ""
    for _ in range(MAX_MAGICS):
        text = "\n".join(lines)
        try:
            return text, ast.parse(text)
        except SyntaxError as error:
            # A line in a string or an expression may look like a magic; one that Python stumbles over is one.
            at = min((error.lineno or 1) - 1, len(lines) - 1)
            if not MAGIC.match(lines[at]):
                raise
            for magic, meant in MEANT.items():
                if magic.match(lines[at]):
                    lines[at] = magic.sub(meant, lines[at])
                    break
            else:
                lines = _without_magic(lines, at)
    raise ValueError(f"more than {MAX_MAGICS} lines that are not Python")


def _without_magic(lines: list[str], at: int) -> list[str]:
    """Return the lines with the magic that begins in one of them as `pass`, all of it."""
    end = at
    while lines[end].endswith("\\") and end + 1 < len(lines):
        end += 1
    indent = lines[at][: -len(lines[at].lstrip())]
    return [*lines[:at], f"{indent}pass", *[""] * (end - at), *lines[end + 1 :]]


def _statements(text: str, cell: int, own: str) -> list[CellStatement]:
    text, tree = _python(text, own)
    lines = [line.encode() for line in text.split("\n")]
    found = []
    for node in tree.body:
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(entry.lineno for entry in decorators)])
        part = lines[first - 1 : node.end_lineno]
        part[-1] = part[-1][: node.end_col_offset]
        if not decorators:
            part[0] = part[0][node.col_offset :]
        entry = _statement(node, b"\n".join(part).decode(), cell, first, own)
        if entry is not None:
            found.append(entry)
    return found


def _statement(node: ast.stmt, text: str, cell: int, line: int, own: str) -> CellStatement | None:
    """Return what a statement binds, changes and needs; None if nothing can need it."""
    changes = _changes(node)
    if isinstance(node, LEFT_OUT) or (isinstance(node, ast.Expr) and not changes):
        return None
    entry = CellStatement(cell, line, text, changes=changes, defines=isinstance(node, SCOPES))
    if isinstance(node, ast.ImportFrom):
        if (node.module or ".").partition(".")[0] == own:
            return None
        entry.always = node.module == "__future__" or node.names[0].name == "*"
    elif isinstance(node, ast.Import):
        others = [alias for alias in node.names if alias.name.partition(".")[0] != own]
        if not others:
            return None
        if len(others) < len(node.names):
            entry.text = text = ast.unparse(ast.Import(others))
    try:
        table = symtable.symtable(text, "cell", "exec")
    except (SyntaxError, ValueError, RecursionError):
        return None  # as `return` outside a function: no kernel would run it
    for symbol in table.get_symbols():
        if symbol.is_assigned() or symbol.is_imported():
            entry.binds.add(symbol.get_name())
        # `x += 1` reads x as well, of which the symbol table says nothing.
        if symbol.is_referenced() or isinstance(node, ast.AugAssign):
            entry.eager.add(symbol.get_name())
    for child in table.get_children():
        _collect(child, entry, lazy=False)
    return entry


def _collect(table: symtable.SymbolTable, entry: CellStatement, lazy: bool) -> None:
    """Add the global names that a scope uses: those of a function when it is called, those of a class body at once."""
    # Comprehensions are functions to the symbol table; they are called where they stand.
    lazy = lazy or (table.get_type() == "function" and table.get_name() not in ("listcomp", "setcomp", "dictcomp", "genexpr"))
    names = entry.lazy if lazy else entry.eager
    in_class = table.get_type() == "class"
    for symbol in table.get_symbols():
        # `gamma = gamma` in a class reads the global one, and makes its own of it.
        if symbol.is_global() or (in_class and symbol.is_referenced()):
            names.add(symbol.get_name())
    for child in table.get_children():
        _collect(child, entry, lazy)


def _changes(node: ast.stmt) -> set[str]:
    """Return the names whose objects a statement may change: it assigns to a part of them, or calls what is known to."""
    found: set[str] = set()
    for part in _run_at_once(node):
        if isinstance(part, (ast.Attribute, ast.Subscript)) and isinstance(part.ctx, ast.Store):
            found |= _root(part)
        elif isinstance(part, ast.Expr) and isinstance(part.value, ast.Call):
            call, called = part.value, part.value.func
            if isinstance(called, ast.Attribute) and called.attr in CHANGING:
                found |= _root(called)
            in_place = isinstance(called, (ast.Name, ast.Attribute)) and ast.unparse(called).endswith("_")  # nn.init.zeros_
            if call.args and (in_place or (isinstance(called, ast.Name) and called.id == "setattr")):
                found |= _root(call.args[0])
    for decorator in getattr(node, "decorator_list", []):  # one may note down what it is put on
        call = decorator if isinstance(decorator, ast.Call) else ast.Call(decorator, [], [])
        found |= _root(call.func) if isinstance(call.func, ast.Attribute) else set()
        found |= {name for argument in call.args for name in _root(argument)}
    return found


def _run_at_once(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all parts of a statement that are run with it, which those of functions and classes are not."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        yield part
        if not isinstance(part, SCOPES):
            waiting += ast.iter_child_nodes(part)


def _root(part: ast.expr) -> set[str]:
    """Return the name that an expression such as `a.b[c]` begins with."""
    while isinstance(part, (ast.Attribute, ast.Subscript)):
        part = part.value
    return {part.id} if isinstance(part, ast.Name) else set()


def _bound_by(node: ast.stmt) -> set[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
        return {node.name}
    inside = list(ast.walk(node))
    names = {child.id for child in inside if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store)}
    aliases = [alias for child in inside if isinstance(child, (ast.Import, ast.ImportFrom)) for alias in child.names]
    return names | {alias.asname or alias.name.partition(".")[0] for alias in aliases}


class _Resolver:
    """Which statements a name needs, and in which order they must be run.

    Attributes:
        binders: By name, the statements that give it a value, in the notebook's order.
        changers: By name, the statements that change its object, in the notebook's order.
    """

    def __init__(self, statements: list[CellStatement]) -> None:
        self.statements = statements
        self.binders: dict[str, list[int]] = {}
        self.changers: dict[str, list[int]] = {}
        for index, entry in enumerate(statements):
            for name in entry.binds:
                self.binders.setdefault(name, []).append(index)
            for name in entry.changes:
                self.changers.setdefault(name, []).append(index)

    def needed(self, names: list[str]) -> list[CellStatement]:
        """Return what `names` need, themselves included, in an order in which it can be run: the notebook's, where it works."""
        chosen = {index for index, entry in enumerate(self.statements) if entry.always}
        asked, known = [*names, *(name for index in chosen for name in self.statements[index].eager)], set()
        while asked:
            name = asked.pop()
            if name in known:
                continue
            known.add(name)
            for index in (*self.binders.get(name, ()), *self.changers.get(name, ())):
                if index not in chosen:
                    chosen.add(index)
                    asked += self.statements[index].eager | self.statements[index].lazy
        order: dict[int, None] = {}
        try:
            for index in sorted(chosen):
                self._place(index, order, set())
        except RecursionError:
            order = dict.fromkeys(sorted(chosen))
        return [self.statements[index] for index in order]

    def _place(self, index: int, order: dict[int, None], waiting: set[int]) -> None:
        """Put a statement into the order, behind what it needs at once, and what that needs when it is called.

        What has no value before it in the notebook is brought forward: a kernel may have run the cells in another order.
        """
        if index in order or index in waiting:
            return
        waiting.add(index)
        entry = self.statements[index]
        reached = entry.eager if entry.defines else entry.eager | entry.lazy  # a lambda may be called where it stands
        following = sorted(reached)
        while following:
            bound = self.binders.get(following.pop())
            if not bound:
                continue
            if bound[0] not in order and bound[0] not in waiting:
                for source in bound:
                    self._place(source, order, waiting)
            for source in bound:
                more = self.statements[source].lazy - reached
                reached = reached | more
                following += sorted(more)
        order[index] = None
