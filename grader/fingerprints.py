"""Hashes of everything that decides an outcome: the suite, each of its checks, the kit and the environment."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib.metadata
import platform
import re
import symtable
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple, TypeVar

from grader import answers
from grader.answers import Case
from grader.assignment import AssignmentFiles
from grader.sandbox.definitions import DEFINITIONS, hash_definition

LIBRARIES = ("torch", "numpy", "gymnasium", "pytest", "safetensors")
KIT = Path(__file__).parent
VIEWS, FACTS = KIT / "judge" / "views.py", KIT / "sandbox" / "facts.py"  # hashed with the checks that use them
# These only explain an outcome to students. A trial of a proof runs only one of their functions, whose message is stored in no
# record (received.describe_call).
EXPLAINS = (
    KIT / "sandbox" / "arguments.py",
    *(KIT / "judge" / f"{name}.py" for name in ("influence", "patterns", "received", "relations", "tables")),
)
# Parts of the kit that can change an outcome.
DECIDES = ("judge", "sandbox", "answers.py", "assignment.py", "submission.py")
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
# Likewise, for a driver that gets some names as arguments: its callers and the cases contain these.
FINDS_NAMES = re.compile(
    r"\b(dir|globals|locals|getmembers|eval|exec|attrgetter|methodcaller|import_module)\("
    r"|\bvars\((\w+\.)?(submitted|submission|module|student)\)|\b(submitted|submission|module|student)\.__dict__"
    r"|\b(__subclasses__|__init_subclass__|__import__)\b"
)
READS_TEXT = re.compile(r"\b(getsource|getsourcelines|getcomments|getdoc|__doc__|__file__)\b")
# Names that pytest uses by itself.
PYTEST_USES = re.compile(r"pytest_\w+|pytestmark|(setup|teardown)_?\w*")

Tree = TypeVar("Tree", bound=ast.AST)


def hash_parts(parts: Iterable[bytes | str]) -> str:
    """Return a hash of these parts, in their order."""
    whole = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        whole.update(len(data).to_bytes(8, "little"))
        whole.update(data)
    return whole.hexdigest()


def hash_suite(home: AssignmentFiles, suites: tuple[str, ...]) -> str:
    """Return the hash of everything that an assignment's checks consist of."""
    texts: list[bytes | str] = [(home.folder / "assignment.toml").read_bytes(), home.drivers.read_bytes()]
    texts += [path.read_bytes() for path in (home.views, *home.support()) if path.is_file()]
    for suite in suites:
        texts += [suite, home.checks[suite].read_bytes(), home.answers[suite].read_text(encoding="utf-8")]
        texts.append(home.mistakes[suite].read_text(encoding="utf-8") if home.mistakes[suite].is_file() else "")
    return hash_parts(texts)


def hash_kit(*more: str, without: Sequence[Path] = ()) -> str:
    """Return the hash of the parts of the kit that decide the outcomes of all checks, and of `more` files.

    Args:
        without: Files that decide nothing here, such as `EXPLAINS`.
    """
    return hash_parts(_code_in((*DECIDES, *more), without=(VIEWS, FACTS, *without)))


@cache
def hash_sandbox() -> str:
    """Return the hash of the part of the kit that decides the result of a call."""
    return hash_parts(_code_in(("sandbox",)))


def _code_in(parts: Iterable[str], without: Sequence[Path] = ()) -> Iterator[str]:
    """Yield the path and the code of each file in these parts of the kit."""
    for part in (KIT / part for part in parts):
        for file in sorted(part.glob("**/*")) if part.is_dir() else [part]:
            if file.suffix in (".py", ".ini") and file not in without:
                yield from (file.relative_to(KIT).as_posix(), _code_of(file))


def _code_of(file: Path) -> str:
    """Return a file as Python understands it.

    Its comments, docstrings and layout decide nothing.
    """
    text = file.read_text(encoding="utf-8")
    return _dump_code(text) if file.suffix == ".py" else text


@cache  # a proof hashes the sandbox three times: for replies, records and what `release` requires
def _dump_code(text: str) -> str:
    return ast.dump(drop_docstrings(ast.parse(text)))


def _run_of(file: Path) -> bytes | str:
    """Return the part of a support file that decides outcomes: the code of a Python file, the whole of any other."""
    return _code_of(file) if file.suffix == ".py" else file.read_bytes().replace(b"\r\n", b"\n")


def drop_docstrings(tree: Tree) -> Tree:
    """Remove the docstrings from a tree, and return it."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and ast.get_docstring(node):
            node.body[:1] = [] if len(node.body) > 1 else [ast.Pass()]
    return tree


def hash_environment(home: AssignmentFiles) -> str:
    """Return the hash of the libraries, the kind of machine, and the parts of the kit that decide outcomes."""
    texts = [platform.python_version(), platform.system(), platform.machine(), *list_libraries(), *home.assignment.requirements]
    return hash_parts([*texts, hash_kit()])


def list_libraries() -> list[str]:
    """Return the libraries that can change an outcome, with their versions."""
    return [f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES]


class CheckIngredients(NamedTuple):
    """Everything that decides the outcome of a check, except the submission.

    Attributes:
        digest: The hash of all of it.
        names: All names and texts in it. They include every name of a submission that the check uses, unless `reads_all`.
        uses: The words in those of them by which code in the sandbox may use a submission: without views, and without parts
            of support files that its drivers do not reach.
        finds_names: Whether that code may use names that neither it nor a case contains.
        reads_all: Whether it may use any name of a submission.
        reads_text: Whether it may read the submission's text.
        cases: The names of the cases that it uses; all cases if its text does not name them.
        drivers: The names of the drivers that it calls; those of all these cases if it names none.
    """

    digest: str
    names: frozenset[str]
    uses: frozenset[str]
    finds_names: bool
    reads_all: bool
    reads_text: bool
    cases: frozenset[str]
    drivers: frozenset[str]


def hash_checks(home: AssignmentFiles, suites: tuple[str, ...]) -> dict[str, str]:
    """Return a hash of each check together with the stub, by the check's id without parameters."""
    stub = str(sorted((name, sorted(every)) for name, every in read_stub(home, suites).items()))
    return {check: hash_parts([about.digest, stub]) for check, about in list_check_ingredients(home, suites).items()}


def read_stub(home: AssignmentFiles, suites: tuple[str, ...]) -> dict[str, frozenset[str]]:
    """Return, for each of the stub's functions, the fingerprints that mean that it is unwritten."""
    stored = [answers.read_answers(home.answers[suite], home.assignment.name).unwritten() for suite in suites]
    names = {name for unwritten in stored for name in unwritten}
    return {name: frozenset().union(*(unwritten.get(name, ()) for unwritten in stored)) for name in names}


def list_unwritten(text: str, stub: Mapping[str, frozenset[str]]) -> list[str]:
    """Return the functions and classes of a submission that are still those of the stub (see `read_stub`)."""
    return sorted(name for name, own in _parsed(text).fingerprints.items() if own in stub.get(name, ()))


def list_check_ingredients(home: AssignmentFiles, suites: tuple[str, ...]) -> dict[str, CheckIngredients]:
    """Return everything that decides a check except the submission and the stub, by check id without parameters.

    - the function, and everything that it uses from its file, views, drivers and the code that
      these share
    - the code that is run when those files are imported
    - the cases that it names, with their answers; all cases of the suite if its text does not name
      them
    - support files: of Python, only the code
    - the limits in assignment.toml, and the needs and the function of its question
    """
    drivers, shared = _module(home.drivers), _module(VIEWS)
    facts = _module(FACTS) if "grader.sandbox.facts" in drivers.imports else _parsed("")
    views = _module(home.views) if home.views.is_file() else _parsed("")
    support = [part for path in home.support() for part in (path.name, _run_of(path))]
    modules = [_module(path) for path in home.support() if path.suffix == ".py"]
    helpers = [statement for module in modules for statement in module.all_statements()]
    found: dict[str, CheckIngredients] = {}
    for suite in suites:
        stored = answers.read_answers(home.answers[suite], home.assignment.name)
        cases, given = stored.cases, hash_parts(support)
        prints = {name: _of_case(case) for name, case in cases.items()}
        checks = _module(home.checks[suite])
        for name in checks.statements:
            if _is_check(name):
                own = checks.reach({name}, fixtures=True)
                words = {word for statement in own for word in statement.words}
                named = {word for word in words if word in cases}
                used = sorted(cases if not named or any(statement.computes_case for statement in own) else named)
                called = {cases[case].driver for case in used} | words
                asked = (words & drivers.statements.keys()) or {cases[case].driver for case in used}
                asked |= {cases[case].driver for case in named}
                seen = words.union(*(statement.attributes for statement in own), ["Stored"])
                run = drivers.reach(called, imports=True)
                run += facts.reach(word for statement in run for word in statement.words | statement.attributes)
                own_views = views.reach(seen, imports=True)
                seen |= {word for statement in own_views for word in statement.words | statement.attributes}
                reached = [*own, *own_views, *shared.reach(seen), *run]
                settings = _settings(home, checks, name)
                code = [statement.text for statement in reached]
                given_words = {
                    word for case in used for text in _texts_in(cases[case].inputs) for word in re.findall(r"\w+", text)
                }
                names = given_words | _list_words((*reached, *helpers))
                used_code = [*own, *run]
                while more := set(_reach_all(modules, used_code)) - {*used_code}:
                    used_code += more
                uses = given_words.union(*(_list_used_words(statement.text) for statement in used_code))
                finds_names = any(_finds_names(statement.text) for statement in used_code)
                beside = [statement.text for statement in (*run, *helpers)]
                any_name, whole_text = (any(map(pattern.search, beside)) for pattern in (READS_ALL, READS_TEXT))
                read = [path.read_bytes() for path in (home.drivers, *home.support())] if whole_text else []
                hashed = hash_parts([given, *settings, *code, *(prints[case] for case in used), *read])
                found[f"{suite}/{name}"] = CheckIngredients(
                    digest=hashed,
                    names=frozenset(names),
                    uses=frozenset(uses),
                    finds_names=finds_names,
                    reads_all=any_name,
                    reads_text=whole_text,
                    cases=frozenset(used),
                    drivers=frozenset(asked),
                )
    return found


def _list_words(statements: Iterable[ParsedStatement]) -> set[str]:
    return {word for statement in statements for word in statement.words | statement.attributes}


@cache
def _list_used_words(text: str) -> frozenset[str]:
    """Return all words in a statement by which it may use something: names, keywords of calls, and words of texts.

    Of a name that is put together, such as f"{kind}_loss", it is the known part, here "*_loss".
    """
    nodes = list(ast.walk(ast.parse(text)))
    keywords = {node.arg for node in nodes if isinstance(node, ast.keyword) and node.arg}
    parts = {part for name in _list_attribute_names(text) for part in _list_parts(name)}
    statement = _statement(0, text)
    return frozenset((*keywords, *parts, *re.findall(r"\w+", " ".join(statement.words | statement.attributes))))


@cache
def _finds_names(text: str) -> bool:
    """Return whether a statement may use names that neither it nor a case contains."""
    computed = (isinstance(name, (ast.Call, ast.BinOp, ast.JoinedStr)) for name in _list_attribute_names(text))
    known = (bool(_list_parts(name)) for name in _list_attribute_names(text))
    unknown = any(one and not other for one, other in zip(computed, known, strict=True))
    return unknown or FINDS_NAMES.search(text) is not None


@cache
def _list_attribute_names(text: str) -> tuple[ast.expr, ...]:
    """Return the names that a statement passes to getattr and the like."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and len(node.args) > 1]
    return tuple(node.args[1] for node in calls if re.fullmatch(r"(\w+\.)?(get|set|has|del)attr", ast.unparse(node.func)))


def _list_parts(name: ast.expr) -> list[str]:
    """Return the beginning and the end of a name in an f-string, as far as they are known: "weight*", "*_loss"."""
    if not isinstance(name, ast.JoinedStr):
        return []
    first, last = (part.value if isinstance(part, ast.Constant) else None for part in (name.values[0], name.values[-1]))
    return [*([f"{first}*"] if isinstance(first, str) else []), *([f"*{last}"] if isinstance(last, str) else [])]


def list_support_words(home: AssignmentFiles) -> dict[str, frozenset[str]]:
    """Return, for each name that a support file defines, all words of the code that it reaches in these files."""
    modules = [_module(path) for path in home.support() if path.suffix == ".py"]
    found = {}
    for name in {name for module in modules for name in module.statements}:
        code = list(_reach_all(modules, [statement for module in modules for statement in module.statements.get(name, [])]))
        while more := set(_reach_all(modules, code)) - {*code}:
            code += more
        found[name] = frozenset().union(*(_list_used_words(statement.text) for statement in code))
    return found


def _reach_all(modules: Sequence[ParsedModule], code: Iterable[ParsedStatement]) -> Iterator[ParsedStatement]:
    """Yield the statements of these modules that this code names."""
    names = _list_words(code)
    return (statement for module in modules for statement in module.reach(names))


def reads_text(drivers: Path, name: str) -> bool:
    """Return whether a driver, or code that it uses from its module, may read the text of a submission."""
    return any(READS_TEXT.search(statement.text) for statement in _module(drivers).reach({name}))


def list_users(path: Path) -> dict[str, frozenset[str]]:
    """Return, for each name that a file defines, all names in the file whose code uses it."""
    module = _module(path)
    reached = {name: {statement.text for statement in module.reach({name})} for name in module.statements}
    return {
        name: frozenset(user for user, code in reached.items() if any(one.text in code for one in own))
        for name, own in module.statements.items()
    }


def hash_reached_code(text: str, about: Sequence[CheckIngredients], shorten: Callable[[str], str] = str) -> str:
    """Return the hash of all code in a submission that these checks can reach, and of the code that runs when it is imported.

    Args:
        shorten: Removes parts of a statement that are known not to matter.
    """
    if any(check.reads_text for check in about):
        return hash_parts([text])
    module = _parsed(text)
    # A module's __getattr__ answers for names that the module does not contain.
    names = frozenset({"__getattr__"}).union(*(check.names for check in about))
    reached = [statement.text for statement in module.reach(names, imports=True)]
    if any(check.reads_all for check in about) or any(map(READS_ALL.search, reached)):
        reached = [statement.text for statement in module.reach(module.statements, imports=True)]
    return hash_parts([*map(shorten, reached), *module.at_import])


def _texts_in(value: object) -> Iterator[str]:
    """Yield all texts in plain data."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value.keys()
        yield from (text for item in value.values() for text in _texts_in(item))
    elif isinstance(value, (list, tuple)):
        yield from (text for item in value for text in _texts_in(item))


def _is_check(name: str) -> bool:
    """Return whether pytest collects a function or class of this name."""
    return name.startswith(("test", "Test"))


def find_question(home: AssignmentFiles, check: str) -> str:
    """Return the question of a check; nothing if its decorators do not name it as a literal."""
    suite, _, name = check.partition("/")
    asked = re.search(r"^@points\(.*question='([^']*)'", _module(home.checks[suite]).statements[name][-1].text, re.MULTILINE)
    return asked[1] if asked else ""


def _of_case(case: Case) -> str:
    return hash_parts([case.name, case.driver, answers.hash_content(case.inputs), answers.hash_content(case.answer)])


def _settings(home: AssignmentFiles, checks: ParsedModule, name: str) -> list[str]:
    """Return the settings of a check's question that can change an outcome; of all questions, if it is unknown."""
    words = {word for statement in checks.statements[name] for word in statement.words}
    limits = home.assignment.limits
    settings = [f"{limits.seconds} {limits.memory_mb} {limits.attachment_mb} {limits.budget}"]
    named = [question for question in home.assignment.questions if question.id in words]
    for question in named or home.assignment.questions:
        settings.append(
            f"{question.id} {question.function} {question.task} {question.needs} {question.pieces} {question.seconds}"
        )
    return settings


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


def _module(path: Path) -> ParsedModule:
    return _parsed(path.read_text(encoding="utf-8"))


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
                self.statements.setdefault(name, []).append(_statement(node.lineno, code))
            if part.has_effect:
                self.effects.append(_statement(node.lineno, part.code))
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
        modules = [_statement(0, f"import {name or 'itself'}") for name in self.imports] if imports else []
        return [*modules, *sorted({*self.effects, *own}, key=lambda statement: (statement.line, statement.text))]


_parsed = lru_cache(16)(ParsedModule)


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
    if not _is_check(getattr(node, "name", "")):  # the docstring of a check is its title
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
def _statement(line: int, text: str) -> ParsedStatement:
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
