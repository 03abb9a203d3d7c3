"""Hashes of what decides about an outcome: the suite, each check in it, the kit and the environment."""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import platform
import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from grader import answers
from grader.answers import Case
from grader.assignment import Home

LIBRARIES = ("torch", "numpy", "gymnasium", "pytest", "safetensors")
KIT = Path(__file__).parent
VIEWS = KIT / "judge" / "views.py"  # counted by the checks that use them
# Of the kit, what can change an outcome.
DECIDES = ("judge", "sandbox", "answers.py", "assignment.py", "submission.py")
# Decorators and calls that only return something.
HARMLESS = re.compile(
    r"(pytest|functools|dataclasses|itertools|math)\.[\w.]+|np\.(array|float32|float64|linspace|arange|zeros|ones|full)"
    r"|contextlib\.contextmanager|torch\.no_grad|dataclass|staticmethod|classmethod|property|TypeVar"
    r"|range|len|min|max|sum|sorted|zip|enumerate|tuple|list|dict|set|frozenset|int|float|str|bool|slice"
)


def digest(parts: Iterable[bytes | str]) -> str:
    """Return a hash of these parts, in their order."""
    whole = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        whole.update(len(data).to_bytes(8, "little"))
        whole.update(data)
    return whole.hexdigest()


def of_suite(home: Home, suites: tuple[str, ...]) -> str:
    """Return the hash of all that an assignment's checks consist of."""
    name = home.assignment.name
    texts: list[bytes | str] = [(home.folder / "assignment.toml").read_bytes(), home.drivers.read_bytes()]
    texts += [path.read_bytes() for path in home.support()]
    for suite in suites:
        texts += [suite, home.checks[suite].read_bytes(), answers.only(home.answers[suite], name)]
        texts.append(answers.only(home.mistakes[suite], name) if home.mistakes[suite].is_file() else "")
    return digest(texts)


def of_kit(*more: str) -> str:
    """Return the hash of the parts of the kit that decide about all checks alike, and of more files of it."""
    files = [file for part in (*DECIDES, *more) for file in (sorted((KIT / part).glob("**/*.py")) or [KIT / part])]
    return digest(part for file in files if file != VIEWS for part in (file.relative_to(KIT).as_posix(), _code_of(file)))


def _code_of(file: Path) -> str:
    """Return what Python makes of a file: its comments, docstrings and layout decide about nothing."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and ast.get_docstring(node):
            del node.body[0]
    return ast.dump(tree)


def of_environment(home: Home) -> str:
    """Return the hash of the libraries, the kind of machine, and the parts of the kit that decide about outcomes."""
    texts = [platform.python_version(), platform.system(), platform.machine(), *of_libraries(), *home.assignment.requirements]
    return digest([*texts, of_kit()])


def of_libraries() -> list[str]:
    """Return the libraries that can change an outcome, with their versions."""
    return [f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES]


def of_checks(home: Home, suites: tuple[str, ...]) -> dict[str, str]:
    """Return of each check, by its id without parameters, the hash of all that decides about it but the submission.

    That is the function with all that it uses of its file, of views and of drivers; what is run when those files are imported;
    the cases that it names, with their answers; support files; and of assignment.toml the limits, and what its question needs
    and is about. A check whose cases cannot be told from its text depends on all cases of the suite.
    """
    drivers, views = _module(home.drivers), _module(VIEWS)
    support = digest(path.read_bytes() for path in home.support())
    found: dict[str, str] = {}
    for suite in suites:
        cases = answers.read(home.answers[suite], home.assignment.name).cases
        prints = {name: _of_case(case) for name, case in cases.items()}
        checks = _module(home.checks[suite])
        for name in checks.statements:
            if name.startswith("test_"):
                own = checks.reach({name})
                words = {word for statement in own for word in statement.words}
                used = sorted({word for word in words if word in cases} or cases)
                called = {cases[case].driver for case in used} | words
                reached = [*own, *views.reach(words), *drivers.reach(called, imports=True)]
                settings = _settings(home, checks, name)
                texts = [*settings, *(statement.text for statement in reached), *(prints[case] for case in used)]
                found[f"{suite}/{name}"] = digest([support, *texts])
    return found


def question_of(home: Home, check: str) -> str:
    """Return the question that a check is about; nothing if its decorators do not say it in so many letters."""
    suite, _, name = check.partition("/")
    asked = re.search(r"^@points\(.*question='([^']*)'", _module(home.checks[suite]).statements[name][-1].text, re.MULTILINE)
    return asked[1] if asked else ""


def _of_case(case: Case) -> str:
    return digest([case.name, case.driver, answers.fingerprint(case.inputs), answers.fingerprint(case.answer)])


def _settings(home: Home, checks: Module, name: str) -> list[str]:
    """Return what assignment.toml says of a check's question, where it can change an outcome; of all that it could be about."""
    words = {word for statement in checks.statements[name] for word in statement.words}
    limits = home.assignment.limits
    settings = [f"{limits.seconds} {limits.memory_mb} {limits.attachment_mb}"]
    for question in home.assignment.questions:
        if question.id in words:
            settings.append(f"{question.id} {question.function} {question.task} {question.needs} {question.seconds}")
    return settings


class Statement(NamedTuple):
    """A statement at the top level of a file.

    Attributes:
        text: Its code, without comments and layout.
        words: The names that it uses, and its texts.
    """

    text: str
    words: frozenset[str]


def _module(path: Path) -> Module:
    return _parsed(path.read_text(encoding="utf-8"))


class Module:
    """A file of Python, read and not run.

    Attributes:
        statements: Those that define a name, by this name.
        effects: Those that do more, when the file is imported, than to define names.
        imports: The modules that it imports.
    """

    def __init__(self, text: str) -> None:
        self.statements: dict[str, list[Statement]] = {}
        self.effects: list[Statement] = []
        self.imports: set[str] = set()
        ours: set[str] = set()  # names that are imported from the kit, which has no effects
        for node in ast.parse(text).body:
            for name, text in _defined(node):
                self.statements.setdefault(name, []).append(_statement(text))
            if isinstance(node, ast.Import):
                self.imports |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                self.imports.add(node.module or "")
                ours |= {alias.asname or alias.name for alias in node.names if (node.module or "").startswith("grader")}
            elif any(_acts(part, ours) for part in _run_at_import(node)):
                self.effects.append(_statement(ast.unparse(node)))

    def reach(self, names: Iterable[str], imports: bool = False) -> list[Statement]:
        """Return the statements that define these names, those with effects, and all that they use, in a fixed order.

        Names that the file does not define are left out. imports: name each imported module as well, since it is run too.
        """
        reached: set[str] = set()
        waiting = set(names).union(*(statement.words for statement in self.effects)) & self.statements.keys()
        while waiting:
            name = waiting.pop()
            reached.add(name)
            used = frozenset().union(*(statement.words for statement in self.statements[name]))
            waiting |= used & self.statements.keys() - reached
        own = [statement for name in sorted(reached) for statement in self.statements[name]]
        modules = [Statement(f"import {name}", frozenset()) for name in sorted(self.imports)] if imports else []
        return [*modules, *self.effects, *own]


_parsed = lru_cache(8)(Module)


def _defined(node: ast.stmt) -> Iterator[tuple[str, str]]:
    """Yield each name that a statement defines, and the code that does it."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
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


@cache
def _statement(text: str) -> Statement:
    nodes = list(ast.walk(ast.parse(text)))
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    arguments = {node.arg for node in nodes if isinstance(node, ast.arg)}  # a fixture is used by its name
    return Statement(text, frozenset(texts | arguments | {node.id for node in nodes if isinstance(node, ast.Name)}))


def _run_at_import(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a statement that are run when its file is imported: not the bodies of functions."""
    yield node
    for field, value in ast.iter_fields(node):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) and field in ("body", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and field != "annotation":
                yield from _run_at_import(child)


def _acts(node: ast.AST, ours: set[str]) -> bool:
    """Return whether running this part may do more than to make a value: a call, or a change of something else."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return not all(_harmless(decorator, ours) for decorator in node.decorator_list)
    if isinstance(node, ast.Call):
        return not _harmless(node, ours)
    changed = isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)) and not isinstance(node, (ast.Name, ast.Tuple))
    return changed or isinstance(node, (ast.Delete, ast.AugAssign, ast.Raise, ast.Assert))


def _harmless(called: ast.expr, ours: set[str]) -> bool:
    """Return whether a call, or a decorator, only returns something."""
    name = ast.unparse(called.func if isinstance(called, ast.Call) else called)
    return (name in ours or HARMLESS.fullmatch(name) is not None) and "autouse" not in ast.unparse(called)
