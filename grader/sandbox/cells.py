"""What a notebook defines, as a Python file: the definitions asked for, and whatever they need. Nothing of it is run.

A kernel remembers what was defined last, whatever failed before or after. So the last definition of a name counts, every
statement stands for itself, and magics, shell lines, output, displays and training are left out unless a definition needs
them. nbformat would refuse notebooks that a kernel has run, so the JSON is read as it is.
"""

from __future__ import annotations
import __future__

import ast
import difflib
import hashlib
import json
import re
import symtable
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

MAX_CODE = 1 << 20  # bytes of all cells together, as for a file
HEADER = "# Made by the grader from the cells of a notebook.\n"
# Magics whose cell is not Python, or is run apart from everything else.
FOREIGN = frozenset(
    (
        *("!", "HTML", "SVG", "R", "bash", "cmd", "cython", "file"),
        *("html", "javascript", "js", "latex", "markdown", "perl", "pypy", "python2"),
        *("ruby", "script", "sh", "svg", "sx", "system", "timeit", "writefile"),
    )
)
MAGIC = re.compile(r"^\s*([!%?]|[\w.]+\?{1,2}\s*$|[\w., ]+=\s*[!%])")
LOOPS = (ast.For, ast.AsyncFor, ast.While)
LEFT_OUT = (ast.Delete, ast.Pass)


class NotANotebook(Exception):
    """The file cannot be read as a notebook; the message says why, and what to do."""


@dataclass
class Statement:
    """One top-level statement of a cell.

    cell, line: where it stands, both counted from 1. binds: names that it gives a value. eager: names that must have one when
    it is run; lazy: when a function of it is called. changes: names whose object it changes. kind: "import", "loop", "change"
    or "definition" (and any other assignment).
    """

    cell: int
    line: int
    text: str
    kind: str
    binds: set[str] = field(default_factory=set)
    eager: set[str] = field(default_factory=set)
    lazy: set[str] = field(default_factory=set)
    changes: str = ""


@dataclass
class Extract:
    """A file made from a notebook.

    source: its text. lines: of each statement its first line in `source`, its cell, its line there. cells: of each name asked
    for and found, the cell that it came from, in words. defined: all names that the notebook defines as functions or classes.
    left_out: what of it is no Python, in words.
    """

    source: str
    lines: list[tuple[int, int, int]]
    cells: dict[str, str]
    defined: list[str]
    left_out: list[str]


def extract(content: bytes, names: list[str], own: str) -> Extract:
    """Return what a notebook defines of `names`, with all that these need.

    content: the notebook file. own: the module that the file stands for; imports of it are left out. Where a name is not there,
    the closest one is kept instead, so that whoever looks for it can say what was found. Raises NotANotebook.
    """
    statements: list[Statement] = []
    words: dict[int, str] = {}
    left_out: list[str] = []
    size = 0
    for number, count, text in _code_cells(content):
        size += len(text.encode("utf-8", "replace"))
        if size > MAX_CODE:
            raise NotANotebook(f"it holds more than {MAX_CODE >> 20} MB of code")
        words[number] = f"cell {number}" + (f" (In [{count}])" if count else "")
        try:
            statements += _statements(text, number, own)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
            why = error.msg if isinstance(error, SyntaxError) else type(error).__name__
            defines = ", ".join(re.findall(r"^(?:def|class)\s+(\w+)", text, re.MULTILINE)[:5])
            without = f" ({defines} would be in it)" if defines else ""
            left_out.append(f"{words[number]}{line} is not valid Python ({why}): nothing of this cell counts{without}")
    found = _Resolver(statements)
    defined = sorted(
        {name for entry in statements if entry.text.startswith(("def", "class", "@", "async")) for name in entry.binds}
    )
    wanted = []
    for name in names:
        wanted += [name] if name in found.binders else difflib.get_close_matches(name, defined, n=1)
    parts, lines, at = [HEADER], [], HEADER.count("\n") + 1
    for entry in found.needed(wanted):
        lines.append((at + 1, entry.cell, entry.line))
        parts.append(f"# {words[entry.cell]}\n{entry.text}\n")
        at += parts[-1].count("\n")
    cells = {name: words[statements[found.last(name)].cell] for name in names if name in found.binders}
    return Extract("".join(parts), lines, cells, defined, left_out)


def reach(source: str, names: list[str]) -> dict[str, str]:
    """Return of each name that a file defines a hash of its definition and of every other one that it uses."""
    found = _Resolver(_statements(source, 1, own=""))
    texts = {name: "\n".join(entry.text for entry in found.needed([name])) for name in names if name in found.binders}
    return {name: hashlib.sha256(text.encode()).hexdigest()[:16] for name, text in texts.items()}


def run(source: str, path: str, namespace: dict[str, Any]) -> dict[str, BaseException]:
    """Run an extract as a kernel would, statement by statement; return why names have no value that should have one."""
    lost: dict[str, BaseException] = {}
    flags = 0
    for node in ast.parse(source, path).body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            for alias in node.names:
                flags |= getattr(__future__, alias.name).compiler_flag
        try:
            exec(compile(ast.Module([node], []), path, "exec", flags, dont_inherit=True), namespace)
        except Exception as error:
            for name in _bound_by(node) - set(namespace):
                lost[name] = error
    return lost


# The notebook


def _code_cells(content: bytes) -> Iterator[tuple[int, int | None, str]]:
    """Yield number, execution count and text of every cell of code; cells are counted from 1, those of text as well."""
    try:
        notebook = json.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise NotANotebook(f"it is not UTF-8 text (byte {error.start:,}); is it a notebook, and complete?") from error
    except RecursionError:
        raise NotANotebook("it is nested too deeply to be a notebook") from None
    except ValueError as error:
        raise NotANotebook(f"it is not valid JSON ({error}); is it complete? Save it again in Jupyter") from error
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if cells is None and isinstance(notebook, dict):  # before format 4
        sheets = notebook.get("worksheets")
        cells = [cell for sheet in sheets for cell in sheet.get("cells", ())] if isinstance(sheets, list) else None
    if not isinstance(cells, list):
        raise NotANotebook("it is JSON, but has no cells; is it a notebook?")
    for number, cell in enumerate(cells, 1):
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            text = cell.get("source", cell.get("input", ""))
            if isinstance(text, list):
                text = "".join(part for part in text if isinstance(part, str))
            count = cell.get("execution_count")
            if isinstance(text, str):
                yield number, count if type(count) is int else None, text


def _python(text: str, own: str) -> tuple[str, ast.Module]:
    """Return a cell without what only a kernel understands, each such line as `pass`, and its syntax tree."""
    lines = re.split(r"\r\n|\r|\n", text)
    first = next((index for index, line in enumerate(lines) if line.strip()), 0)
    if lines[first].startswith("%%"):
        words = lines[first][2:].split()
        writes_own = len(words) > 1 and words[0] in ("file", "writefile") and words[-1].endswith(f"{own}.py")
        if words and words[0] in FOREIGN and not writes_own:
            return "", ast.Module([], [])
        lines[first] = ""
    for _ in range(len(lines) + 1):
        text = "\n".join(lines)
        try:
            return text, ast.parse(text)
        except SyntaxError as error:
            # A line in a string or an expression may look like a magic; one that Python stumbles over is one.
            at = min((error.lineno or 1) - 1, len(lines) - 1)
            if not MAGIC.match(lines[at]):
                raise
            more, indent = lines[at].endswith("\\"), lines[at][: -len(lines[at].lstrip())]
            lines[at] = f"{indent}pass"
            while more and at + 1 < len(lines):
                at += 1
                more, lines[at] = lines[at].endswith("\\"), ""
    raise ValueError("unreachable: every line has been tried")


def _statements(text: str, cell: int, own: str) -> list[Statement]:
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


def _statement(node: ast.stmt, text: str, cell: int, line: int, own: str) -> Statement | None:
    """Return what a statement binds and needs; None if nothing can need it."""
    changes = _changed(node)
    if isinstance(node, LEFT_OUT) or (isinstance(node, ast.Expr) and not changes):
        return None
    kind = "definition"
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        kind = "import"
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or "."]
        if any(module.partition(".")[0] == own for module in modules):
            return None
    elif isinstance(node, LOOPS):
        kind = "loop"
    elif changes:
        kind = "change"
    try:
        table = symtable.symtable(text, "cell", "exec")
    except (SyntaxError, ValueError, RecursionError):
        return None  # as `return` outside a function: no kernel would run it
    entry = Statement(cell, line, text, kind, changes=changes)
    for symbol in table.get_symbols():
        if symbol.is_assigned() or symbol.is_imported():
            entry.binds.add(symbol.get_name())
        # `x += 1` reads x as well, of which the symbol table says nothing.
        if symbol.is_referenced() or isinstance(node, ast.AugAssign):
            entry.eager.add(symbol.get_name())
    for child in table.get_children():
        _collect(child, entry, lazy=False)
    return entry


def _collect(table: symtable.SymbolTable, entry: Statement, lazy: bool) -> None:
    """Add the global names that a scope uses: those of a function when it is called, those of a class body at once."""
    # Comprehensions are functions to the symbol table; they are called where they stand.
    lazy = lazy or (table.get_type() == "function" and table.get_name() not in ("listcomp", "setcomp", "dictcomp", "genexpr"))
    names = entry.lazy if lazy else entry.eager
    names |= {symbol.get_name() for symbol in table.get_symbols() if symbol.is_global()}
    for child in table.get_children():
        _collect(child, entry, lazy)


def _changed(node: ast.stmt) -> str:
    """Return the name whose object a statement changes by assigning to a part of it, or nothing."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        targets = [node.target]
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        call = node.value
        if isinstance(call.func, ast.Name) and call.func.id == "setattr" and call.args:
            targets = [ast.Attribute(call.args[0])]
    for target in targets:
        part = target
        while isinstance(part, (ast.Attribute, ast.Subscript)):
            part = part.value
        if part is not target and isinstance(part, ast.Name):
            return part.id
    return ""


def _bound_by(node: ast.stmt) -> set[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
        return {node.name}
    inside = list(ast.walk(node))
    names = {child.id for child in inside if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store)}
    aliases = [alias for child in inside if isinstance(child, (ast.Import, ast.ImportFrom)) for alias in child.names]
    return names | {alias.asname or alias.name.partition(".")[0] for alias in aliases}


class _Resolver:
    """Which statements a name needs, and in which order they must be run."""

    def __init__(self, statements: list[Statement]) -> None:
        self.statements = statements
        self.binders: dict[str, list[int]] = {}
        self.changers: dict[str, list[int]] = {}
        for index, entry in enumerate(statements):
            for name in entry.binds:
                self.binders.setdefault(name, []).append(index)
            if entry.changes:
                self.changers.setdefault(entry.changes, []).append(index)

    def last(self, name: str, before: int | None = None) -> int:
        """Return the statement that gives a name its value: the last one, or the last before a place, if there is one."""
        bound = self.binders[name]
        bound = [index for index in bound if self.statements[index].kind != "loop"] or bound
        earlier = [index for index in bound if before is not None and index < before]
        return (earlier or bound)[-1]

    def sources(self, name: str, before: int | None = None) -> list[int]:
        """Return the statements that a name needs: besides `last`, every import, which may load another part of a package."""
        bound = self.binders.get(name)
        if not bound:
            return []
        imports = [index for index in bound if self.statements[index].kind == "import"]
        return list(dict.fromkeys([*imports, self.last(name, before)]))

    def needed(self, names: list[str]) -> list[Statement]:
        """Return what `names` need, themselves included, in an order in which it can be run: the notebook's, where it works."""
        stars = [index for index, entry in enumerate(self.statements) if entry.kind == "import" and "*" in entry.text]
        chosen: set[int] = set()
        open_ = [*stars, *(index for name in names for index in self.sources(name))]
        while open_:
            index = open_.pop()
            if index in chosen:
                continue
            chosen.add(index)
            entry = self.statements[index]
            open_ += self._at_once(index)
            open_ += [source for name in entry.lazy for source in self.sources(name)]
            if entry.kind != "import":  # what is imported is shared, and not this file's to change
                open_ += [other for name in entry.binds for other in self.changers.get(name, ()) if other > index]
        order: dict[int, None] = {}
        for index in sorted(chosen):
            self._place(index, order, set())
        return [self.statements[index] for index in order]

    def _at_once(self, index: int) -> list[int]:
        return [source for name in self.statements[index].eager for source in self.sources(name, index) if source != index]

    def _place(self, index: int, order: dict[int, None], waiting: set[int]) -> None:
        """Put a statement into the order, behind what it needs at once, and behind what that needs when it is called."""
        if index in order or index in waiting:
            return
        waiting.add(index)
        for source in sorted(self._at_once(index)):
            self._place(source, order, waiting)
            for name in sorted(self.statements[source].lazy):
                for later in self.sources(name):
                    self._place(later, order, waiting)
        order[index] = None
