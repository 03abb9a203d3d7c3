"""Find the places where the files of an assignment mention a question: as an id, as its function, or in prose.

A name with only one meaning (`get_returns`) is a mention wherever it is a whole word. A word that may mean something else
(`total` is also a variable, a key of facts, and English) is a mention only if it refers to the question: the syntax tree shows
the meaning of names and attributes, and in prose, only words written as code count.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from grader.proof.lines import split_lines

Span = tuple[int, int]

# For each call that takes an id: its keyword, and its position among the arguments.
DECLARES = {"case": 1, "points": 1, "mistake": 0, "alternative": 0, "altered": 0}
IDS = {"id", "needs", "pieces", "question"}  # keys in TOML whose texts are ids of questions
MODULES = {"submitted", "self", "cls"}  # names by which drivers and notebooks reach a student's code
READS = {"getattr", "setattr", "hasattr", "delattr"}
TEXTS = {tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}


@dataclass(frozen=True)
class Naming:
    """The meanings of a name in an assignment.

    Attributes:
        name: The name.
        is_id: Whether it is the id of a question.
        is_function: Whether a question is about a function or class of this name.
        distinct: Whether it has no other meaning in any file.
    """

    name: str
    is_id: bool
    is_function: bool
    distinct: bool

    @property
    def word(self) -> re.Pattern[str]:
        """The name as a whole word."""
        return re.compile(rf"(?<![\w]){re.escape(self.name)}(?!\w)")

    @property
    def id(self) -> re.Pattern[str]:
        """The name in quotes, as an id; for a function, also as the beginning of an id: `Model` in "Model.forward"."""
        return re.compile(rf"""(?<=["']){re.escape(self.name)}(?=["']{self._or_dot})""")

    @property
    def heading(self) -> re.Pattern[str]:
        """The name as an id in a comment: at the start of a solution, or in a heading about the question."""
        name = re.escape(self.name)
        return re.compile(rf"(?:(?<=# BEGIN SOLUTION )|(?<=^# )){name}(?=[ \t\r]*${self._or_dot})", re.MULTILINE)

    @property
    def _or_dot(self) -> str:
        return r"|\." if self.is_function else ""

    @property
    def code(self) -> re.Pattern[str]:
        """The name as prose writes code: in backticks, called, or as an attribute of a submission."""
        name = re.escape(self.name)
        return re.compile(rf"(?<=`){name}(?=[`(.])|(?<=\bsubmitted\.){name}(?!\w)|(?<![\w.]){name}(?=\()")


def means_only_one_thing(name: str, texts: Iterable[str]) -> bool:
    """Return whether a name can be replaced wherever it stands in these Python texts.

    It cannot if it is a plain word, or an attribute or argument of something that none of these texts defines.
    """
    if re.fullmatch(r"[a-z]+", name):
        return False
    trees = [ast.parse(text) for text in texts]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    own = any(isinstance(node, ast.arg) and node.arg == name for node in nodes)
    if not own and any(isinstance(node, ast.keyword) and node.arg == name for node in nodes):
        return False
    return all(_defines_attribute(tree, name) or not _reads_attribute(tree, name) for tree in trees)


def _reads_attribute(tree: ast.Module, name: str) -> bool:
    """Return whether a module reads an attribute with this name from anything except a submission or its own objects."""
    attributes = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == name)
    return any(not isinstance(node.value, ast.Name) or node.value.id not in MODULES for node in attributes)


def _defines_attribute(tree: ast.Module, name: str) -> bool:
    """Return whether a module has a class with a method of this name, or sets an attribute with this name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Store):
            return True
        if isinstance(node, ast.ClassDef) and any(getattr(item, "name", "") == name for item in node.body):
            return True
    return False


def find_in_python(text: str, naming: Naming, holds_function: bool, solution: str = "") -> list[Span]:
    """Return where a Python text mentions the question.

    Args:
        holds_function: Whether the text is the solution, or is spliced into it, so that the bare name is the function.
        solution: The renamed solution, in which the texts that `altered` replaces must occur.

    Raises:
        SyntaxError: If it is not valid Python.
    """
    tree, where = ast.parse(text), _Offsets(text)
    tokens = [token for token in tokenize.generate_tokens(io.StringIO(text, newline="").readline) if token.string]
    exact = {span for node in _list_ids(tree) for span in _matches(naming.id, text, *where.of_node(node))}
    exact |= set(_matches(naming.heading, text))
    if naming.is_function:
        imports = [where.of_node(node) for node in _list_imports(tree, naming.name)]
        code = [where.of_node(node) for node in _list_edits(tree, solution)]
        named = _find_references(tree, where, naming.name, bare=holds_function or bool(imports))
        for token in tokens:
            start, end = where.of_token(token)
            if token.type == tokenize.NAME and token.string == naming.name:
                exact |= {(start, end)} if naming.distinct or start in named or _within(start, imports) else set()
            elif token.type in TEXTS:
                pattern = naming.word if naming.distinct or _within(start, code) else naming.code
                exact |= set(_matches(pattern, text, start, end))
        for node in _list_reads(tree, naming.name):
            exact |= set(_matches(naming.word, text, *where.of_node(node)))
    return sorted(exact)


def find_in_toml(text: str, naming: Naming) -> list[Span]:
    """Return where a TOML text mentions the question: as an id or function, and in its texts."""
    found: set[Span] = set()
    for start, end in _matches(naming.id, text):
        keys = re.findall(r"^[ \t]*(\w+)[ \t]*=", text[:start], re.MULTILINE)
        key = keys[-1] if keys else ""
        if (key == "function" and naming.is_function) or (key in IDS and (naming.is_id or text[end] == ".")):
            found.add((start, end))
    if naming.is_function:
        for line in re.finditer(r"^[ \t]*(task|title|change|reason)[ \t]*=.*$", text, re.MULTILINE):
            pattern = naming.word if naming.distinct or line[1] == "change" else naming.code
            found |= set(_matches(pattern, text, *line.span()))
        for comment in re.finditer(r"#.*$", text, re.MULTILINE):
            found |= set(_matches(naming.code, text, *comment.span()))
    return sorted(found)


def replace_spans(text: str, spans: Iterable[Span], new: str) -> str:
    """Return the text with each of these spans replaced."""
    for start, end in sorted(spans, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _matches(pattern: re.Pattern[str], text: str, start: int = 0, end: int | None = None) -> Iterator[Span]:
    return (found.span() for found in pattern.finditer(text, start, len(text) if end is None else end))


class _Offsets:
    """Converts lines and columns of `ast` and `tokenize` into positions in a text."""

    def __init__(self, text: str) -> None:
        self._lines = split_lines(text, keepends=True) or [""]
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    def of_token(self, token: tokenize.TokenInfo) -> Span:
        return self._starts[token.start[0] - 1] + token.start[1], self._starts[token.end[0] - 1] + token.end[1]

    def of_node(self, node: ast.expr | ast.stmt) -> Span:
        assert node.end_lineno is not None  # as of all that was parsed
        assert node.end_col_offset is not None
        return self._at(node.lineno, node.col_offset), self._at(node.end_lineno, node.end_col_offset)

    def _at(self, line: int, column: int) -> int:
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode())  # ast counts bytes


def _list_ids(tree: ast.Module) -> Iterator[ast.expr]:
    """Yield the call arguments that are ids of questions, or names of functions."""
    for call in _list_calls(tree, set(DECLARES)):
        position = DECLARES[call.func.id] if isinstance(call.func, ast.Name) else 0
        yield from call.args[position : position + 1]
        yield from (keyword.value for keyword in call.keywords if keyword.arg in ("question", "function"))


def _list_edits(tree: ast.Module, solution: str) -> Iterator[ast.expr]:
    """Yield the texts that `altered` replaces, with their replacements, if the renamed solution does not contain the former."""
    for call in _list_calls(tree, {"altered"}):
        for edits in (node for node in ast.walk(call) if isinstance(node, ast.Dict)):
            for old, new in zip(edits.keys, edits.values, strict=True):
                if isinstance(old, ast.Constant) and str(old.value) not in solution:
                    yield from (old, new)


def _list_reads(tree: ast.Module, name: str) -> Iterator[ast.expr]:
    """Yield the texts by which `getattr` and the like reach a name of the submission."""
    for call in _list_calls(tree, READS):
        match call.args:
            case [ast.Name(id="submitted"), ast.Constant(value=value) as found, *_] if value == name:
                yield found


def _list_calls(tree: ast.Module, names: set[str]) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
            yield node


def _list_imports(tree: ast.Module, name: str) -> Iterator[ast.ImportFrom]:
    """Yield the statements that import this name from a submission."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "submitted" and name in {alias.name for alias in node.names}:
            yield node


def _within(place: int, spans: Iterable[Span]) -> bool:
    return any(start <= place < end for start, end in spans)


def _find_references(tree: ast.Module, where: _Offsets, name: str, bare: bool) -> set[int]:
    """Return the positions of references to the function: attributes of a submission and, with `bare`, the global name."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="submitted"), attr=attribute) if attribute == name:
                found.add(where.of_node(node)[1] - len(name))
    if bare:
        found |= set(_global_uses(tree, where, name, shadowed=False))
    return found


def _global_uses(node: ast.AST, where: _Offsets, name: str, shadowed: bool) -> Iterator[int]:
    """Yield the positions where a name is used or defined, and is not a local variable."""
    for child in ast.iter_child_nodes(node):
        hidden = shadowed
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            hidden = shadowed or _binds(child, name)
        if isinstance(child, (ast.FunctionDef, ast.ClassDef)) and child.name == name and isinstance(node, ast.Module):
            yield where.of_node(child)[0] + len("class " if isinstance(child, ast.ClassDef) else "def ")
        if isinstance(child, ast.Name) and child.id == name and not hidden:
            yield where.of_node(child)[0]
        yield from _global_uses(child, where, name, hidden)


def _binds(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, name: str) -> bool:
    """Return whether a function has a parameter or variable of this name."""
    arguments = function.args
    parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    if any(parameter is not None and parameter.arg == name for parameter in parameters):
        return True
    body = function.body if isinstance(function.body, list) else [function.body]
    own = [node for statement in body for node in ast.walk(statement)]
    if any(isinstance(node, ast.Global) and name in node.names for node in own):
        return False
    return any(isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store) for node in own)
