"""Mistakes and alternatives: declared in solutions/NAME/, each spliced into the solution to make a whole submission.

Their files are parsed here, never run. Their code runs in the sandbox, like any submission.
"""

from __future__ import annotations

import ast
import builtins
import copy
import difflib
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, TypeVar

from grader.assignment import Assignment, AssignmentFiles, UsageError
from grader.proof.lines import split_lines

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

Declared = TypeVar("Declared", bound=Callable[..., Any])


def mistake(  # noqa: PLR0913 - as of `altered`
    question: str,  # noqa: ARG001
    hint: str,  # noqa: ARG001
    source: str = "",  # noqa: ARG001
    learns: bool = True,  # noqa: ARG001
    form: bool = False,  # noqa: ARG001
    copies_answers: bool = False,  # noqa: ARG001
    function: str = "",  # noqa: ARG001
) -> Callable[[Declared], Declared]:
    """Return a decorator that declares a wrong version of the function of a question.

    The function's own name is the mistake's id. Its parameters must be those of the solution. The
    imports and helpers of its file are included.

    Args:
        question: The id of the question that must lose points.
        hint: The question that a good tutor would ask.
        source: The origin of the idea, if known.
        learns: False if no policy can learn with it; then the end-to-end checks must fail, too.
        form: Whether all numbers are right, and only their type, shape, dtype or container is wrong.
            Then exactly one check must fail.
        copies_answers: Whether it knows the answers of the visible cases, so that only hidden
            checks can catch it.
        function: The function or class of the solution that it replaces, if a question has code in
            several; by default, that of the question.
    """
    return lambda function: function


def placement(mistake: str, place: str) -> Callable[[Declared], Declared]:  # noqa: ARG001
    """Return a decorator that declares the same mistake at another place of the function, where it must also be caught.

    The name of the function does not matter.

    Args:
        mistake: The id of the mistake, whose question and hint it shares.
        place: The place, such as "in evaluation".
    """
    return lambda function: function


def alternative(question: str, function: str = "") -> Callable[[Declared], Declared]:  # noqa: ARG001
    """Return a decorator that declares another correct version of the function of a question; see `mistake`."""
    return lambda function: function


def altered(  # noqa: PLR0913 - how mistakes are written: each option is a keyword of its own
    question: str,
    edits: dict[str, str] | None = None,
    hint: str = "",
    source: str = "",
    learns: bool = True,
    form: bool = False,
    copies_answers: bool = False,
    placements: dict[str, dict[str, str]] | None = None,
    function: str = "",
) -> None:
    """Declare, by `name = altered(...)`, the solution's function with some texts replaced.

    For everything else, see `mistake`.

    Args:
        edits: The texts to replace, with their replacements. Each text must occur in the function
            exactly once. Further lines of a replacement are indented like the line in which it
            begins.
        placements: Edits that make the same mistake at other places of the function, by the name of
            the place, such as "in evaluation". Each must be caught. Then `edits` is optional.
    """


@dataclass(frozen=True)
class Variant:
    """One declared mistake or alternative.

    Attributes:
        id: Its name, followed by a comma and `place` if it has one.
        function: The function of its question.
        submission: The whole submission with it.
        place: The place of a mistake in the function, if it has several placements.
        replaces: The function that it replaces, if it names another.
    """

    id: str
    question: str
    function: str
    submission: str
    hint: str = ""
    source: str = ""
    learns: bool = True
    form: bool = False
    copies_answers: bool = False
    place: str = ""
    replaces: str = ""

    @property
    def idea(self) -> str:
        """The mistake's name, which all of its placements share."""
        return self.id.removesuffix(f", {self.place}") if self.place else self.id


class CatalogueError(UsageError):
    """Entries of mistakes.py or alternatives.py are not valid.

    Attributes:
        faults: For each such entry, its name and the reason.
    """

    def __init__(self, *faults: str) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


DRAFT = "DRAFT:"  # what the hint of a proposed mistake begins with, until its author has rewritten it
REWRITE = "is a draft: ask what a good tutor would ask, and remove DRAFT"


def is_draft(hint: str) -> bool:
    """Return whether a hint is still the draft of `propose`, which no student may read."""
    return hint.lstrip().startswith(DRAFT)


def load_catalogue(home: AssignmentFiles, kind: str) -> list[Variant]:
    """Return the entries of mistakes.py or alternatives.py in their order; none without the file.

    Args:
        kind: "mistakes" or "alternatives".

    Raises:
        CatalogueError: For invalid Python, an unknown question, parameters that differ from the
            solution's, a missing hint, a text to replace that does not occur exactly once, edits that
            leave no valid Python, or two entries with the same name.
    """
    path = home.solution / f"{kind}.py"
    if not path.is_file():
        return []
    solution = (home.solution / home.assignment.submission).read_text(encoding="utf-8")
    text = path.read_text(encoding="utf-8")
    variants: dict[str, Variant] = {}
    try:
        tree = ast.parse(text, str(path))
    except SyntaxError as error:
        raise CatalogueError(f"{path.name}, line {error.lineno}: not valid Python: {error.msg}") from error
    faults, carried = [], _Carried(text, tree)
    for declare in _declarations(tree):
        try:
            for entry in declare(variants):
                variant = entry.variant(home.assignment, solution, carried)
                if entry.id in variants:
                    raise CatalogueError(f"{entry.id} is the name of two entries; rename one")
                if kind == "mistakes" and not variant.hint.strip():
                    raise CatalogueError(f"{entry.id} has no hint; add the question that a tutor would ask")
                if variant.submission == solution:
                    raise CatalogueError(
                        f"{entry.id} is the solution itself: its edits change nothing; let them change a line, or delete it"
                    )
                variants[entry.id] = variant
        except CatalogueError as error:
            faults.append(f"{path.name}: {error}")
    if faults:
        raise CatalogueError(*faults)
    return list(variants.values())


@dataclass(frozen=True)
class _Entry:
    """A declaration in the file.

    Attributes:
        definition: The replacement, or None if the solution's function is edited.
    """

    id: str
    options: dict[str, Any]
    definition: Definition | None

    def variant(self, assignment: Assignment, solution: str, carried: _Carried) -> Variant:
        options = dict(self.options)
        edits, replaces = options.pop("edits", None), options.pop("function", "")
        try:
            function = assignment.question(options["question"]).function
        except KeyError:
            there_are = ", ".join(question.id for question in assignment.questions)
            raise CatalogueError(
                f"{self.id}: there is no question {options.get('question')!r}; there are: {there_are}"
            ) from None
        replaced = replaces or function
        original = _find_definition(self.id, solution, replaced)
        if self.definition is None:
            new = _edited(_text(solution, original), edits, self.id, solution)
        else:
            _require_same_parameters(self.id, self.definition, original)
            text = carried.text_of(self.definition)
            new = re.sub(rf"\b(def|class)\s+{self.definition.name}\b", rf"\1 {replaced}", text, count=1)
            new = carried.with_needed(self.definition, new)
        submission = _replaced(solution, original, new)
        return Variant(self.id, function=function, replaces=replaces, submission=submission, **options)


def _declarations(tree: ast.Module) -> Iterator[Callable[[dict[str, Variant]], list[_Entry]]]:
    """Yield, for every declaration, a function that reads it, given the variants before it.

    Raises:
        CatalogueError: From such a function when it is called.
    """
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            for decorator in node.decorator_list:
                if found := _declares(decorator, ("mistake", "alternative")):
                    yield partial(_written, node, *found)
                elif found := _declares(decorator, ("placement",)):
                    yield partial(_placed, node, *found)
        elif isinstance(node, ast.Assign) and (found := _declares(node.value, ("altered",))):
            yield partial(_edits, ast.unparse(node.targets[0]), *found)


def _written(definition: Definition, call: ast.Call, kind: str, _before: dict[str, Variant]) -> list[_Entry]:
    return [_Entry(definition.name, _options(call, kind, definition.name), definition)]


def _placed(definition: Definition, call: ast.Call, kind: str, before: dict[str, Variant]) -> list[_Entry]:
    """Return the entry of a function that is another placement of a mistake."""
    options = _options(call, kind, definition.name)
    name, place = options.get("mistake"), options.get("place")
    known = [variant for variant in before.values() if variant.idea == name]
    if not known or not place:
        raise CatalogueError(f"{definition.name}: placement needs the name of a mistake above it, and the place")
    shared = {option: getattr(known[0], option) for option in PARAMETERS["mistake"]}
    return [_Entry(f"{name}, {place}", shared | {"function": known[0].replaces, "place": place}, definition)]


def _edits(name: str, call: ast.Call, kind: str, _before: dict[str, Variant]) -> list[_Entry]:
    """Return the entries of a call of `altered`: one, or one for each placement."""
    options = _options(call, kind, name)
    placements = options.pop("placements", None) or {}
    entries = [_Entry(name, options, None)] if "edits" in options or not placements else []
    return entries + [
        _Entry(f"{name}, {place}", options | {"edits": edits, "place": place}, None) for place, edits in placements.items()
    ]


def _declares(node: ast.expr, names: tuple[str, ...]) -> tuple[ast.Call, str] | None:
    """Return the call of one of these names, and the name; None for anything else."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
        return node, node.func.id
    return None


PARAMETERS = {
    "mistake": ("question", "hint", "source", "learns", "form", "copies_answers", "function"),
    "placement": ("mistake", "place"),
    "alternative": ("question", "function"),
    "altered": ("question", "edits", "hint", "source", "learns", "form", "copies_answers", "placements", "function"),
}


def _options(call: ast.Call, name: str, identifier: str) -> dict[str, Any]:
    """Return the arguments of a declaration by name."""
    given = dict(zip(PARAMETERS[name], call.args, strict=False)) | {str(each.arg): each.value for each in call.keywords}
    options: dict[str, Any] = {}
    for option, value in given.items():
        try:
            options[option] = ast.literal_eval(value)
        except ValueError as error:
            kind = "an f-string" if isinstance(value, ast.JoinedStr) else f"`{ast.unparse(value):.60}`"
            what = f"{option} is {kind}, but the arguments of {name} must be literals"
            raise CatalogueError(f"{identifier}: {what}: this file is read, not run; write the value out") from error
    for option in ("question", "hint", "source", "function", "mistake", "place"):
        if not isinstance(options.get(option, ""), str):
            kind = type(options[option]).__name__
            raise CatalogueError(f"{identifier}: {option} is a {kind}, expected one text in quotes")
    if unknown := [option for option in options if option not in PARAMETERS[name]]:
        raise CatalogueError(f"{identifier}: {name} takes {', '.join(PARAMETERS[name])}, not {unknown[0]}")
    return options


def _definition(text: str, name: str) -> Definition:
    """Return the definition of a function or class at the top level of a file."""
    found = [node for node in _parsed(text).body if isinstance(node, Definition) and node.name == name]
    if not found:
        names = ", ".join(node.name for node in _parsed(text).body if isinstance(node, Definition))
        raise CatalogueError(f"the solution defines no {name} at its top level; it has {names}")
    if len(found) > 1:
        lines = " and ".join(str(node.lineno) for node in found)
        raise CatalogueError(f"the solution defines {name} {len(found)} times, in lines {lines}; delete all but one")
    return found[0]


def _find_definition(identifier: str, solution: str, name: str) -> Definition:
    """Return the function or class that an entry replaces; explain if it is a method, which stands inside a class."""
    owners = [
        node.name
        for node in _parsed(solution).body
        if isinstance(node, ast.ClassDef)
        and any(isinstance(part, ast.FunctionDef) and part.name == name.rpartition(".")[2] for part in node.body)
    ]
    try:
        return _definition(solution, name)
    except CatalogueError as error:
        if not owners:
            raise CatalogueError(f"{identifier}: {error}") from None
        wanted = (
            f"write the whole class in place of the method: `class {identifier}` with function={owners[0]!r}, or use altered"
        )
        raise CatalogueError(f"{identifier}: {name} is a method of {owners[0]}; {wanted}") from None


_parsed = lru_cache(1)(ast.parse)  # the solution, for one entry after another


def _text(text: str, node: ast.stmt) -> str:
    lines = split_lines(text, keepends=True)
    return "".join(lines[node.lineno - 1 : node.end_lineno])


def _replaced(text: str, node: ast.stmt, new: str) -> str:
    lines = split_lines(text, keepends=True)
    lines[node.lineno - 1 : node.end_lineno] = [new if new.endswith("\n") else f"{new}\n"]
    return "".join(lines)


def _require_same_parameters(identifier: str, definition: Definition, original: Definition) -> None:
    """Raise CatalogueError unless the function, or all public methods of a class, have the parameters of the original."""
    expected, found = _parameters(original), _parameters(definition)
    for name, parameters in expected.items():
        if found.get(name) != parameters:
            theirs, what = found.get(name, "missing"), f"{original.name}{name and '.'}{name}"
            raise CatalogueError(f"{identifier}: the solution's {what} takes {parameters}, this one is {theirs}")


def _parameters(node: Definition) -> dict[str, str]:
    """Return parameters as text (names, kinds, and which can be left out): of a function as "", of a class by method."""
    if isinstance(node, ast.ClassDef):
        methods = [item for item in node.body if isinstance(item, ast.FunctionDef)]
        return {method.name: _parameters(method)[""] for method in methods if not _is_private(method.name)}
    arguments = copy.deepcopy(node.args)
    for group in (arguments.posonlyargs, arguments.args, arguments.kwonlyargs, [arguments.vararg], [arguments.kwarg]):
        for argument in group:
            if argument is not None:
                argument.annotation = None
    arguments.defaults = [ast.Constant(...) for _ in arguments.defaults]
    arguments.kw_defaults = [default and ast.Constant(...) for default in arguments.kw_defaults]
    return {"": f"({ast.unparse(arguments)})"}


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _edited(text: str, edits: dict[str, str] | None, identifier: str, solution: str) -> str:
    """Return the text of a function of the solution with these edits."""
    if not edits:
        raise CatalogueError(f"{identifier}: altered needs edits: a dictionary from old to new text")
    unchanged = text
    if all(old in _read_docstring(text) for old in edits):
        raise CatalogueError(f"{identifier}: its edits change only the docstring; let them change a line of code")
    for old, new in edits.items():
        if text.count(old) != 1:
            if unchanged.count(old) == 1:
                raise CatalogueError(f"{identifier}: another edit has already changed {old!r}; make one edit of both")
            raise CatalogueError(f"{identifier}: {_explain_count(text, old)}")
        line = text[: text.index(old)].rpartition("\n")[2]
        indent = " " * (len(line) - len(line.lstrip()))
        text = text.replace(old, re.sub(r"\n(?=.)", f"\n{indent}", new))
    try:
        tree = ast.parse(text)
    except SyntaxError as error:  # every check would fail, whatever it is for
        line = (error.text or "").strip()
        raise CatalogueError(f"{identifier}: with its edits, the function is not valid Python: {error.msg}: {line}") from error
    # Most edits have no word that the solution has not; a name that is defined nowhere would fail every check, too.
    new_words = set(re.findall(r"\w+", text)) - _list_words(solution)
    if new_words and (unknown := _find_unknown_name(tree, new_words)):
        close = difflib.get_close_matches(unknown, _list_words(solution), 1, cutoff=0.75)
        advice = f"did you mean {close[0]!r}?" if close else "use names of the solution"
        raise CatalogueError(f"{identifier}: its edits use the name {unknown!r}, which is not defined; {advice}")
    return text


@lru_cache(maxsize=64)
def _read_docstring(function: str) -> str:
    """Return the docstring of the function in a text, as it is written there."""
    node = ast.parse(function).body[0]
    return ast.get_docstring(node, clean=False) or "" if isinstance(node, Definition) else ""


@lru_cache(maxsize=4)
def _list_words(solution: str) -> frozenset[str]:
    """Return all words of a solution and the names that Python defines."""
    return frozenset((*vars(builtins), *re.findall(r"\w+", solution)))


def _find_unknown_name(function: ast.Module, new_words: set[str]) -> str:
    """Return one of these words that an edited function reads as a name and does not set; "" if there is none."""
    nodes = list(ast.walk(function))
    known: set[str] = set()
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                known.add(name)
            case ast.alias(name=name, asname=other):
                known.add(other or name.partition(".")[0])
            case _ if isinstance(own := getattr(node, "name", None), str):  # of a function, class, exception or pattern
                known.add(own)
    return next((node.id for node in nodes if isinstance(node, ast.Name) and node.id in new_words - known), "")


def _explain_count(text: str, old: str) -> str:
    """Return why an edit of a text that is not there, or not only once, cannot be made."""
    if count := text.count(old):
        return f"{old!r} occurs {count} times in the solution's function; add what stands before or after the one that you mean"
    lines = [line.strip() for line in text.splitlines()]
    near = difflib.get_close_matches(old.strip().partition("\n")[0], lines, n=1, cutoff=0.5)
    like = f"; the line most like it is {near[0]!r}" if near else ""
    return f"{old!r} is not in the solution's function: copy the text from there{like}"


class _Carried:
    """The rest of the file of an entry: imports, constants and helpers. Each entry includes those that it uses."""

    def __init__(self, text: str, tree: ast.Module) -> None:
        self.text = text
        self.definitions: dict[str, ast.stmt] = {}
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in ("grader", "__future__"):
                continue
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                for alias in node.names:
                    self.definitions[(alias.asname or alias.name).partition(".")[0]] = node
            elif isinstance(node, Definition):
                self.definitions[node.name] = node
            elif isinstance(node, ast.Assign):
                self.definitions |= {target.id: node for target in node.targets if isinstance(target, ast.Name)}

    def text_of(self, node: ast.stmt) -> str:
        """Return the text of a definition, without its declaring decorator."""
        first = node.lineno
        helper_decorators = [item for item in getattr(node, "decorator_list", []) if not _declares(item, tuple(PARAMETERS))]
        if helper_decorators:
            first = min(item.lineno for item in helper_decorators)
        return "\n".join(split_lines(self.text)[first - 1 : node.end_lineno]) + "\n"

    def with_needed(self, function: Definition, text: str) -> str:
        """Return the text of a definition, after everything from its file that it uses, directly or not."""
        needed: dict[int, ast.stmt] = {}
        open_ends: list[ast.stmt] = [function]
        while open_ends:
            for name in {node.id for node in ast.walk(open_ends.pop()) if isinstance(node, ast.Name)}:
                definition = self.definitions.get(name)
                if definition is not None and definition.lineno not in needed and definition.lineno != function.lineno:
                    needed[definition.lineno] = definition
                    open_ends.append(definition)
        before = [textwrap.dedent(self.text_of(needed[line])) for line in sorted(needed)]
        return "\n\n".join([*before, text]) if before else text
