"""Write a new entry into mistakes.py as an author would: the text is changed in one place, and the rest stays as it is."""

from __future__ import annotations

import ast
import copy
import importlib.util
import itertools
import keyword
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.assignment import AssignmentFiles, UsageError
from grader.proof.catalogue import Variant, load_catalogue
from grader.proof.lines import split_lines

CATALOGUE = "grader.proof.catalogue"
MAX_LITERAL = 96  # characters of a line of a text
NAME = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class NewMistake:
    """A mistake to be declared.

    Attributes:
        id: Its name.
        function: The name of the definition that it changes.
        hint: The question that a tutor would ask.
        source: The origin of the mistake.
        edits: (old text, new text) of each edit of the solution's definition; empty if `text` is declared instead.
        text: The whole definition.
        names: The names that the definition reads.
        hidden_only: Whether only hidden checks catch it.
        form: Whether only the form of its answers is wrong.
    """

    id: str
    question: str
    function: str
    hint: str
    source: str
    edits: list[list[str]]
    text: str
    names: tuple[str, ...] = ()
    hidden_only: bool = False
    form: bool = False

    def render(self) -> str:
        """Return the declaration."""
        options = [f"hint={_quote(self.hint)}"]
        options += [f"source={_quote(self.source)}"] if self.source else []
        options += ["form=True"] if self.form else []
        options += ["copies_answers=True"] if self.hidden_only else []
        question = _quote(self.question)
        if not self.edits:
            text = re.sub(rf"\b(def|class)\s+{re.escape(self.function)}\b", rf"\1 {self.id}", self.text, count=1)
            return f"@mistake({', '.join([question, *options])})\n{text}"
        edits = [f"{_render_text(old)}: {_render_text(new)}" for old, new in self.edits]
        if len(edits) == 1 and len(edits[0]) < MAX_LITERAL:
            made = f"{{{edits[0]}}}"
        else:
            made = "".join(["{\n", *(f"        {edit},\n" for edit in edits), "    }"])
        lines = [question, made, *options]
        short = f"{self.id} = altered({', '.join(lines)})\n"
        if len(short) < MAX_LITERAL:
            return short
        return f"{self.id} = altered(\n" + "".join(f"    {line},\n" for line in lines) + ")\n"


def _render_text(text: str) -> str:
    """Return Python source for a text: one string per line, several for a long line."""
    pieces = [piece for line in text.splitlines(keepends=True) or [""] for piece in _split(line)]
    return "\n        ".join(map(_quote, pieces))


def _quote(text: str) -> str:
    """Return a text as a Python string, in double quotes if that is shorter, with unprintable characters escaped."""
    made = repr(text)
    return f'"{made[1:-1]}"' if made[0] == "'" and '"' not in text else made


def _split(line: str) -> Iterator[str]:
    while len(line) > MAX_LITERAL:
        space = line.rfind(" ", 1, MAX_LITERAL) + 1 or MAX_LITERAL
        yield line[:space]
        line = line[space:]
    yield line


def require_free_name(home: AssignmentFiles, name: str) -> None:
    """Raise UsageError unless this is a valid and free name for a mistake."""
    if not NAME.fullmatch(name) or keyword.iskeyword(name):
        raise UsageError(f"a mistake cannot be called {name!r}; use a to z, 0 to 9 and _, as in last_row_left_out")
    path = home.solution / "mistakes.py"
    if path.is_file() and name in _list_names(_parse(path)):
        raise UsageError(f"{path.relative_to(home.root)} has something called {name} already; choose another name")


def find_free_name(home: AssignmentFiles, name: str) -> str:
    """Return this name for a mistake, with a number behind it if something is called so already."""
    path = home.solution / "mistakes.py"
    taken = _list_names(_parse(path)) if path.is_file() else set()
    numbered = (f"{name}_{number}" for number in itertools.count(2))
    return next(each for each in itertools.chain([name], numbered) if each not in taken)


def _parse(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    except SyntaxError as error:
        raise UsageError(f"{path.name}, line {error.lineno}: not valid Python: {error.msg}") from error


def _list_names(tree: ast.Module) -> set[str]:
    """Return the names at the top level of a file."""
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    names |= {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))}
    return names | set(_list_imports(tree))


def _list_imports(tree: ast.Module) -> dict[str, ast.stmt]:
    """Return the imports at the top level, by name."""
    imports = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    return {(alias.asname or alias.name).partition(".")[0]: node for node in imports for alias in node.names}


def make_catalogue(home: AssignmentFiles, mistake: NewMistake) -> tuple[str, str, Variant]:
    """Return the declaration, the new text of mistakes.py, and the variant of the solution that the declaration makes.

    The declaration is added after the last one of its question, or at the end.

    Raises:
        UsageError: If the new file would not be a valid catalogue.
    """
    path = home.solution / "mistakes.py"
    text = path.read_text(encoding="utf-8") if path.is_file() else f'"""Mistakes of `{home.assignment.name}`."""\n'
    entry = format_as_ruff(mistake.render(), path)
    made = _insert(text, mistake.question, entry)
    needed = ["altered" if mistake.edits else "mistake"]
    made = _import_from_catalogue(made, needed[0])
    if not mistake.edits:
        made = _import_what_is_read(made, home, mistake.names)
    return entry, made, _require_sound(home, path, made, mistake)


def format_as_ruff(text: str, path: Path) -> str:
    """Return code as `ruff format` would format it in this file; unchanged if ruff is not installed."""
    if importlib.util.find_spec("ruff") is None:
        return text
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(path), "-"]
    done = subprocess.run(command, input=text, capture_output=True, encoding="utf-8", check=False)
    return done.stdout if done.returncode == 0 and done.stdout else text


def _insert(text: str, question: str, entry: str) -> str:
    """Return the file with a declaration after the last one of the question, or at the end."""
    lines = split_lines(text, keepends=True)
    last = max((node.end_lineno or 0 for node in ast.parse(text).body if _is_about(node, question)), default=len(lines))
    before, after = "".join(lines[:last]).rstrip("\n"), "".join(lines[last:]).lstrip("\n")
    space = "\n\n\n" if entry.startswith("@") or not _ends_in_edits(before) else "\n\n"
    behind = "\n\n" if entry.startswith("@") or after.startswith(("@", "def ", "class ")) else "\n"
    return f"{before}{space}{entry}" + (f"{behind}{after}" if after else "")


def _is_about(node: ast.stmt, question: str) -> bool:
    """Return whether a statement declares a mistake of the question."""
    calls = [node.value] if isinstance(node, ast.Assign) else getattr(node, "decorator_list", [])
    return any(
        isinstance(call, ast.Call)
        and any(
            isinstance(part, ast.Constant) and part.value == question
            for part in (*call.args, *(k.value for k in call.keywords))
        )
        for call in calls
    )


def _ends_in_edits(text: str) -> bool:
    body = ast.parse(text).body
    return not body or not isinstance(body[-1], (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))


def _import_from_catalogue(text: str, name: str) -> str:
    """Return the file, changed to import a name from the module of catalogues."""
    tree = ast.parse(text)
    found = next((node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == CATALOGUE), None)
    if found is None:
        return add_import(text, f"from {CATALOGUE} import {name}")
    names = {alias.name for alias in found.names}
    if name in names:
        return text
    lines = split_lines(text, keepends=True)
    lines[found.lineno - 1 : found.end_lineno] = [f"from {CATALOGUE} import {', '.join(sorted(names | {name}))}\n"]
    return "".join(lines)


def add_import(text: str, line: str) -> str:
    """Return the file with one more import, after its imports or its docstring."""
    tree = ast.parse(text)
    imports = [node.end_lineno or 0 for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    docstring = [tree.body[0].end_lineno or 0] if ast.get_docstring(tree) is not None else []
    place = max(imports, default=docstring[0] if docstring else 0)
    lines = split_lines(text, keepends=True)
    lines[place:place] = [f"{line}\n"] if imports else [*(["\n"] if docstring else []), f"{line}\n"]
    return "".join(lines)


def _import_what_is_read(text: str, home: AssignmentFiles, names: Iterable[str]) -> str:
    """Return the file with the imports of the solution that a definition needs and the file lacks."""
    solution = ast.parse((home.solution / home.assignment.submission).read_text(encoding="utf-8"))
    known, own = _list_imports(solution), _list_names(ast.parse(text))
    for line in dict.fromkeys(ast.unparse(known[name]) for name in names if name in known and name not in own):
        tree = ast.parse(text)
        first = next((node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))), None)
        assert first is not None  # that of `mistake`
        lines = split_lines(text, keepends=True)
        lines.insert(first.lineno - 1, f"{line}\n")
        text = "".join(lines)
    return text


def _require_sound(home: AssignmentFiles, path: Path, text: str, mistake: NewMistake) -> Variant:
    """Return the variant that the new declaration makes; raise UsageError if anything else in the catalogue changed."""
    before = {variant.id for variant in load_catalogue(home, "mistakes")}
    with tempfile.TemporaryDirectory(prefix="grader-") as folder:
        tried = copy.copy(home)
        tried.solution = Path(folder)
        submission = home.assignment.submission
        (tried.solution / submission).write_bytes((home.solution / submission).read_bytes())
        (tried.solution / path.name).write_text(text, encoding="utf-8")
        after = {variant.id: variant for variant in load_catalogue(tried, "mistakes")}
    if after.keys() != before | {mistake.id}:
        raise UsageError(f"{mistake.id} cannot be declared in {path.name}; write the entry by hand:\n{mistake.render()}")
    return after[mistake.id]
