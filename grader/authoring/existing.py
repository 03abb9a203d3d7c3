"""A solution that exists, as a module or a notebook: parsed here, and marked where students are to write.

Nothing of it runs here: what must run runs in the sandbox.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from grader.assignment import UsageError
from grader.authoring.marks import MARK, Marks
from grader.authoring.needs import (
    changes_setting,
    is_import,
    list_bound,
    list_called_at_once,
    list_changed,
    list_imported,
    list_read,
)
from grader.authoring.notebook_read import read_notebook

PROMPT = re.compile(r'^[ \t]*""" # BEGIN PROMPT.*?"""[ \t]*;?[ \t]*# END PROMPT[ \t]*\n?', re.DOTALL | re.MULTILINE)
SHOWN = 60  # characters of a statement that is named
CALLED = ("__call__", "forward")  # methods without a public name that a question calls


@dataclass(frozen=True)
class Piece:
    """A public function or class of the solution, which becomes a question.

    Attributes:
        place: The file and line where it is defined.
        uses: The other pieces that its code names.
    """

    name: str
    node: ast.FunctionDef | ast.ClassDef
    place: str
    uses: tuple[str, ...]

    @property
    def methods(self) -> list[ast.FunctionDef]:
        """The methods of a class that students write, in their order; none of a function."""
        body = self.node.body if isinstance(self.node, ast.ClassDef) else []
        return [node for node in body if isinstance(node, ast.FunctionDef) and _is_written(node)]


@dataclass(frozen=True)
class ExistingSolution:
    """A solution that has been read.

    Attributes:
        text: The file, with `# BEGIN SOLUTION` and `# END SOLUTION` around all that students write.
        pieces: Its questions, each behind those that it uses, where that is possible.
        notes: What was left out, and what is given to students as it is, a line each.
        modules: The modules that it imports, with the place of each import.
    """

    text: str
    pieces: list[Piece]
    notes: list[str] = field(default_factory=list)
    modules: dict[str, str] = field(default_factory=dict)


def read_solution(path: Path) -> ExistingSolution:
    """Return the solution in a Python file or a notebook.

    Raises:
        UsageError: If it cannot be read, or has no public function or class.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}; --from takes a Python file or a notebook") from error
    if path.suffix == ".ipynb":
        text, enclosed, notes, place = read_notebook(content, path)
    elif path.suffix == ".py":
        try:
            text, enclosed, notes = content.decode("utf-8-sig"), set(), []
        except UnicodeDecodeError as error:
            raise UsageError(f"{path} is not UTF-8 text (byte {error.start:,}); save it as UTF-8") from error

        def place(line: int) -> str:
            return f"{path.name}:{line}"
    else:
        raise UsageError(f"{path} is neither a Python file (.py) nor a notebook (.ipynb)")
    text = PROMPT.sub(lambda found: "\n" * found[0].count("\n"), "\n".join(text.splitlines()) + "\n")
    return _Reader(text, place, notes, enclosed).read()


class _Reader:
    """Reads the text of a solution.

    Args:
        text: Its text.
        place: Names the place of one of its lines.
        notes: What has been noted so far.
        enclosed: The numbers of lines that are marked as a solution by lines which the text lacks.
    """

    def __init__(self, text: str, place: Callable[[int], str], notes: list[str], enclosed: set[int]) -> None:
        self.notes = notes
        try:
            lines, origins = _separate_bodies(text)
            self.tree = ast.parse("\n".join([*lines, ""]))
        except (SyntaxError, ValueError) as error:
            line = error.lineno if isinstance(error, SyntaxError) and error.lineno else 1
            raise UsageError(f"{place(line)}: not valid Python: {getattr(error, 'msg', error)}") from error
        self.marks = Marks(lines, {number for number, origin in enumerate(origins, 1) if origin in enclosed})
        self.lines = self.marks.lines
        self.place: Callable[[int], str] = lambda line: place(origins[line - 1])

    def read(self) -> ExistingSolution:
        kept = self._choose()
        pieces = self._find_pieces(kept)
        self._note_unmarked(kept, pieces)
        shown = self._mark(pieces)
        kept = self._without_idle_imports(kept)
        parts = []
        for node in kept:
            first, last = self._span(node)
            parts.append((node, "\n".join(line for number in range(first, last + 1) for line in shown[number - 1])))
        return ExistingSolution(_join(parts, self.lines), _sort(pieces), self.notes, self._list_modules(kept))

    def _choose(self) -> list[ast.stmt]:
        """Return the statements to keep: imports, definitions, constants, and what definitions need."""
        last = {node.name: node for node in self.tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        kept: set[ast.stmt] = set()
        for index, node in enumerate(self.tree.body):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                if last[node.name] is not node:
                    self.notes.append(f"left out: {self.place(node.lineno)}: {node.name} is defined again below")
                elif node.name == "main":
                    self.notes.append(f"left out: {self.place(node.lineno)}: main is a program, not a question")
                else:
                    kept.add(node)
            elif (index == 0 and _is_text(node)) or _is_plain(node) or changes_setting(node):
                kept.add(node)
        plain = {*kept}
        needed: set[str] = set()
        while needed != (now := {name for node in kept for name in list_read(node)}):
            needed = now
            kept |= {node for node in self.tree.body if (list_bound(node) | list_changed(node)) & needed}
        for node in self.tree.body:
            defined = isinstance(node, (ast.FunctionDef, ast.ClassDef))
            if node not in kept and not defined and not isinstance(node, ast.Pass):
                self.notes.append(f"left out: {self._describe(node)}")
            elif node in kept - plain and not isinstance(node, (ast.Assign, ast.AnnAssign)):
                self.notes.append(f"given to students as it is: {self._describe(node)}")
        return [node for node in self.tree.body if node in kept]

    def _describe(self, node: ast.stmt) -> str:
        """Return the place and the first line of a statement."""
        shown = self.lines[node.lineno - 1].strip()
        return f"{self.place(node.lineno)}: {shown[:SHOWN]}{'...' * (len(shown) > SHOWN)}"

    def _note_unmarked(self, kept: list[ast.stmt], pieces: list[Piece]) -> None:
        """Say which marked statements stay, and which statements call what the stub lacks."""
        names = {piece.name for piece in pieces if isinstance(piece.node, ast.FunctionDef)}
        inside = [part for node in kept if isinstance(node, ast.ClassDef) for part in node.body if not _is_text(part)]
        for node in [*kept, *inside]:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) or is_import(node):
                continue
            if self.marks.cover(node):
                why = "it is marked as a solution, but only code in functions can be cut"
                self.notes.append(f"given to students as it is: {self._describe(node)} ({why})")
            if called := names & list_called_at_once(node):
                why = f"this calls {', '.join(sorted(called))} as the file is imported, which the stub cannot do"
                self.notes.append(f"note: {self._describe(node)} ({why}; move it into a function)")

    def _without_idle_imports(self, kept: list[ast.stmt]) -> list[ast.stmt]:
        spans = [self._span(node) for node in kept if not is_import(node)]
        text = "\n".join(line for first, last in spans for line in self.lines[first - 1 : last])
        found = []
        for node in kept:
            if is_import(node) and not any(re.search(rf"\b{re.escape(name)}\b", text) for name in list_imported(node)):
                self.notes.append(f"left out: {self.place(node.lineno)}: {ast.unparse(node)} (nothing uses it)")
            else:
                found.append(node)
        return found

    def _find_pieces(self, kept: list[ast.stmt]) -> list[Piece]:
        """Return what becomes a question; say what is given to students as it is."""
        definitions = [node for node in kept if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))]
        chosen: list[ast.FunctionDef | ast.ClassDef] = []
        for node in definitions:
            if isinstance(node, ast.ClassDef):
                asked = not node.name.startswith("_") or any(map(self._is_marked, node.body))
                written = [part for part in node.body if asked and (_is_written(part) or self._is_marked(part))]
                given = [part.name for part in node.body if isinstance(part, ast.FunctionDef) and part not in written]
                if written and given:
                    named = ", ".join(f"{node.name}.{name}" for name in given)
                    self.notes.append(f"given to students as it is: {self.place(node.lineno)}: {named}")
            else:
                written = [] if node.name.startswith("_") and not self.marks.cover(node) else [node]
            if written and not isinstance(node, ast.AsyncFunctionDef):
                chosen.append(node)
            else:
                self.notes.append(f"given to students as it is: {self.place(node.lineno)}: {node.name}")
        if not chosen:
            where = self.place(1).partition(":")[0].partition(",")[0]
            raise UsageError(f"{where} has no public function, and no class with public methods: there is nothing to ask for")
        names = [node.name for node in chosen]
        used = {node.name: list_read(node) - {node.name} for node in chosen}
        return [
            Piece(node.name, node, self.place(node.lineno), tuple(name for name in names if name in used[node.name]))
            for node in chosen
        ]

    def _is_marked(self, part: ast.stmt) -> bool:
        """Return whether a part of a class is a function with marked lines."""
        return isinstance(part, ast.FunctionDef) and self.marks.cover(part)

    def _mark(self, pieces: list[Piece]) -> list[list[str]]:
        """Return by line what stands there once the solutions are marked."""
        shown = [[] if MARK.match(line) else [line.rstrip()] for line in self.lines]
        for piece in pieces:
            parts = piece.node.body if isinstance(piece.node, ast.ClassDef) else [piece.node]
            for part in parts:
                whole = part in piece.methods or part is piece.node
                if isinstance(part, ast.FunctionDef) and (whole or self.marks.cover(part)):
                    self.marks.cut(shown, part, piece.name, whole)
        return shown

    def _span(self, node: ast.stmt) -> tuple[int, int]:
        """Return the first and the last line of a statement, with the comments directly above it and a mark below it."""
        first = min([node.lineno, *(part.lineno for part in getattr(node, "decorator_list", []))])
        while first > 1 and self.lines[first - 2].startswith("#") and not self.lines[first - 2].startswith(("# %", "# cell ")):
            first -= 1
        last = node.end_lineno or first
        below = last < len(self.lines) and self.lines[last].startswith(" ") and MARK.match(self.lines[last])
        return first, last + bool(below)

    def _list_modules(self, kept: list[ast.stmt]) -> dict[str, str]:
        """Return the modules that are imported anywhere, with the place of each; relative imports are refused."""
        found: dict[str, str] = {}
        for node in (node for statement in kept for node in ast.walk(statement)):
            if isinstance(node, ast.ImportFrom):
                if node.level:
                    raise UsageError(f"{self.place(node.lineno)}: a relative import; students submit a single file")
                found.setdefault((node.module or "").partition(".")[0], self.place(node.lineno))
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    found.setdefault(alias.name.partition(".")[0], self.place(node.lineno))
        return found


def _separate_bodies(text: str) -> tuple[list[str], list[int]]:
    """Return the lines with every body on lines of its own, and where each was: nothing can be cut out of `def f(): return 1`.

    Raises:
        SyntaxError: If the text is not valid Python.
    """
    lines = text.splitlines()
    origins = list(range(1, len(lines) + 1))
    for node in reversed(ast.parse(text).body):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            functions = [part for part in ast.walk(node) if isinstance(part, ast.FunctionDef)]
            if any(":" in lines[part.body[0].lineno - 1][: part.body[0].col_offset] for part in functions):
                first = min([node.lineno, *(part.lineno for part in node.decorator_list)])
                made = ast.unparse(node).splitlines()
                lines[first - 1 : node.end_lineno] = made
                origins[first - 1 : node.end_lineno] = [node.lineno] * len(made)
    return lines, origins


def _is_written(node: ast.AST) -> bool:
    """Return whether a part of a class is a method that students write."""
    if not isinstance(node, ast.FunctionDef) or (node.name.startswith("_") and node.name not in CALLED):
        return False
    return all(isinstance(part, ast.Name) and part.id == "staticmethod" for part in node.decorator_list)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _is_plain(node: ast.stmt) -> bool:
    """Return whether a statement is an import, a constant that nothing has to be called for, or a block of such imports."""
    if is_import(node) or isinstance(node, ast.AsyncFunctionDef):
        return True
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        return bool(list_bound(node)) and not any(isinstance(part, (ast.Call, ast.Await)) for part in ast.walk(node))
    if isinstance(node, (ast.If, ast.Try)):
        inside = {part for part in ast.walk(node) if isinstance(part, ast.stmt)} - {node}
        imports = set(filter(is_import, inside))
        return bool(imports) and all(isinstance(part, (ast.Pass, ast.Assign)) for part in inside - imports)
    return False


def _join(parts: list[tuple[ast.stmt, str]], lines: list[str]) -> str:
    """Return the statements as a file, with the blank lines that a formatter would leave."""
    text = ""
    for index, (node, part) in enumerate(parts):
        before = parts[index - 1][0] if index else None
        if before is not None:
            wide = any(isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) for each in (before, node))
            alike = type(before) is type(node) or (is_import(before) and is_import(node))
            between = lines[before.end_lineno or 0 : node.lineno - 1]
            near = alike and not part.startswith("#") and all(line.strip() for line in between)
            text += "\n\n\n" if wide else "\n" if near else "\n\n"
        text += part
    return f"{text}\n"


def _sort(pieces: list[Piece]) -> list[Piece]:
    """Return the pieces in the order of the file, but each behind those that it uses; of a circle, in any order."""
    order: dict[str, Piece] = {}
    by_name = {piece.name: piece for piece in pieces}

    def put(piece: Piece, waiting: frozenset[str]) -> None:
        if piece.name not in order and piece.name not in waiting:
            for name in piece.uses:
                put(by_name[name], waiting | {piece.name})
            order[piece.name] = piece

    for piece in pieces:
        put(piece, frozenset())
    return list(order.values())
