"""Find the files that a test of the kit depends on: by its imports, its fixtures and its INPUTS.

A test module declares the data that it reads in a constant, as glob patterns from the root:

    INPUTS = ("solutions/ddpg/**", "tests/visible/test_{name}.py", "grading:{name}")

`{name}` is replaced by the value of the test's parameter of that name, and by `*` where the test
has none. `grading:NAME` is everything that grading a submission of this assignment reads,
`command:NAME` what `python -m grader NAME` runs, and `packed:grader` what a package takes of the
grader: the command line imports its commands by name, which nothing can follow. INPUTS can also be
a dict from the name of a test function, or from "*" for all of them, to such a tuple. It must be a
literal: it is read, not executed.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import importlib.metadata
import json
import os
import platform
import posixpath
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

NOT_INPUTS = frozenset(
    {
        ".git",
        ".venv",
        ".cache",
        ".pytest_cache",
        ".ruff_cache",
        ".mypy_cache",
        ".hypothesis",
        "__pycache__",
        "MUJOCO_LOG.TXT",
        "report.json",
    }
)
CONFTEST = "tests/kit/conftest.py"
OF_ALL_TESTS = (
    "pyproject.toml",
    "constraints.txt",
    CONFTEST,
    "tests/kit/inputs.py",
    "tests/kit/selection.py",
    "tests/kit/warm_servers.py",
    "grader/proof/reply_cache.py",
)
LIBRARIES = ("torch", "numpy", "gymnasium", "matplotlib", "mujoco", "ale_py", "nbclient", "ipykernel", "safetensors")
GRADING = (
    "assignments/{name}/assignment.toml",
    "assignments/{name}/*.py",
    "solutions/{name}/submitted.py",
    "tests/drivers/{name}.py",
    "tests/views/{name}.py",
    "tests/visible/test_{name}.py",
    "tests/hidden/test_{name}.py",
    "tests/visible/answers/{name}.json",
    "tests/hidden/answers/{name}.json",
    "tests/visible/mistakes/{name}.json",
    "tests/hidden/mistakes/{name}.json",
)


COMMAND = (
    "grader/__main__.py",
    "grader/commands/__init__.py",
    "grader/commands/{name}.py",
    "grader/platforms/{name}/package.py",
)
PACKED = (
    "{name}/*.py",
    "{name}/desk/**",
    "{name}/judge/**",
    "{name}/platforms/**",
    "{name}/report/**",
    "{name}/sandbox/**",
)
KINDS = {"grading": GRADING, "command": COMMAND, "packed": PACKED}


class Source(NamedTuple):
    """What a Python file names.

    Attributes:
        modules: Every module that it imports; relative ones begin with a dot.
        files: Possible names of files beside it: strings like "table.ini", suffixes of its own
            name like ".html", and arguments of with_name().
        declared: Its INPUTS by test function; None if they are neither a literal tuple nor a dict.
    """

    modules: list[str]
    files: list[str]
    declared: dict[str, list[str]] | None


def imports(path: Path) -> set[str]:
    """Return every module that the file imports, anywhere in it; relative ones begin with a dot."""
    return _find_imports(ast.parse(path.read_text(encoding="utf-8")))


def describe_code(code: str) -> Source:
    """Return what Python code names; raises SyntaxError."""
    return _describe(ast.parse(code))


def describe_environment() -> str:
    """Return a digest of what a test depends on beside the files of the repository."""
    packages = sorted(f"{found.name}=={found.version}" for found in importlib.metadata.distributions())
    variables = sorted(item for item in os.environ.items() if item[0].startswith("GRADER_"))
    return _digest(json.dumps([sys.version_info[:2], platform.platform(), packages, variables]).encode())


def describe_libraries() -> str:
    """Return a digest of what the outcome of a computation depends on beside the files of the repository."""
    libraries = [f"{name} {importlib.metadata.version(name).partition('+')[0]}" for name in LIBRARIES]
    variables = sorted(item for item in os.environ.items() if item[0].startswith("GRADER_"))
    return _digest(json.dumps([sys.version_info[:2], platform.system(), platform.machine(), libraries, variables]).encode())


def describe_kernel() -> str:
    """Return what decides about isolation: the kernel, and whether this is root."""
    return f"{platform.system()} {platform.release()} {platform.version()} root {hasattr(os, 'geteuid') and os.geteuid() == 0}"


class Snapshot:
    """The files of a repository at one moment.

    Args:
        root: The folder of the repository.
        edits: Contents by path that replace those on the disk.
        sources: What files name, by digest; it is completed, and can serve the next snapshot.

    Attributes:
        files: Digests by path; paths begin at the root and have slashes.
    """

    def __init__(self, root: Path, edits: Mapping[str, bytes] | None = None, sources: dict[str, Source] | None = None) -> None:
        self.root = root
        self.edits = edits or {}
        self.sources = {} if sources is None else sources
        self.files = {path: _digest(self.read(path)) for path in sorted({*_list_files(root), *self.edits})}
        self._named: dict[str, set[str]] = {}
        self._conftest = ast.parse(self.read(CONFTEST) if CONFTEST in self.files else b"")
        self._fixtures = frozenset(name for statement in self._conftest.body for name in _defined_names(statement))
        self._fixture_inputs: dict[frozenset[str], tuple[frozenset[str], list[str]]] = {}
        self._inputs: dict[tuple[str, frozenset[str], frozenset[str]], dict[str, str | None]] = {}

    def read(self, path: str) -> bytes:
        """Return the content of a file."""
        return self.edits[path] if path in self.edits else (self.root / path).read_bytes()

    def match(self, pattern: str) -> set[str]:
        """Return the files that match a pattern."""
        matches = _compile(pattern).fullmatch
        return {path for path in self.files if matches(path)}

    def source(self, path: str) -> Source:
        """Return what a Python file names; nothing where it is not valid Python."""
        digest = self.files[path]
        if digest not in self.sources:
            try:
                self.sources[digest] = describe_code(self.read(path).decode())
            except (SyntaxError, UnicodeDecodeError):
                self.sources[digest] = Source([], [], {})
        return self.sources[digest]

    def follow(self, paths: Iterable[str]) -> set[str]:
        """Return these files and all that their Python files import or name, directly or not."""
        reached: set[str] = set()
        waiting = list(paths)
        while waiting:
            path = waiting.pop()
            if path in reached:
                continue
            reached.add(path)
            if path.endswith(".py"):
                if path not in self._named:
                    self._named[path] = self.find_named(self.source(path), path)
                waiting += self._named[path]
        return reached

    def collect(self, module: str, files: frozenset[str], patterns: frozenset[str]) -> dict[str, str | None]:
        """Return the digests of a module and these files, with all that they lead to."""
        recipe = module, files, patterns
        if recipe not in self._inputs:
            matched = {path for pattern in patterns for path in self.match(pattern)}
            reached = self.follow({module, *files, *matched})
            self._inputs[recipe] = {path: self.files.get(path) for path in sorted({*OF_ALL_TESTS, *reached})}
        return self._inputs[recipe]

    def find_named(self, source: Source, path: str) -> set[str]:
        """Return the files of the repository that the file at `path` names."""
        folder = path.rpartition("/")[0]
        prefix = f"{folder}/" if folder else ""
        stem = path.removesuffix(".py")
        places = tuple(stem + name if name.startswith(".") else prefix + name for name in source.files)
        folders = tuple(f"{place}/" for place in places)
        found = {file for file in self.files if file in places or file.startswith(folders)}
        found.discard(CONFTEST)  # an input of all tests; where it leads depends on their fixtures
        for module in source.modules:
            if module.startswith("."):
                absolute = module.lstrip(".")
                base = posixpath.normpath(prefix + "../" * (len(module) - len(absolute) - 1))
                found |= self.find_module(absolute, "" if base == "." else f"{base}/")
            else:
                found |= self.find_module(module) or self.find_module(module, prefix)
        return found

    def find_module(self, module: str, prefix: str = "") -> set[str]:
        """Return the files that importing a module executes; `a.b.c` may be the name c in a.b."""
        parts = module.split(".")
        places = (prefix + "/".join(parts[:count]) for count in range(1, len(parts) + 1))
        return {path for place in places for path in (f"{place}.py", f"{place}/__init__.py") if path in self.files}

    def find_command(self, name: str) -> set[str]:
        """Return the files that `python -m grader NAME` imports by name."""
        own = [path for path in COMMAND if "{name}" in path]
        return {path.replace("{name}", name) for path in own} & self.files.keys()

    def find_fixture_inputs(self, fixtures: Iterable[str]) -> tuple[frozenset[str], list[str]]:
        """Return the files that the fixtures of conftest.py name, and the patterns they declare.

        Importing conftest.py imports what all fixtures use, but only those that a test uses can
        change its result: a broken import ends the session before any test is chosen.
        """
        known = self._fixtures & frozenset(fixtures)
        if known not in self._fixture_inputs:
            part, names = _select_definitions(self._conftest, known)
            table = _find_constant(self._conftest, "FIXTURE_INPUTS")
            patterns = [pattern for name in sorted(names & table.keys()) for pattern in table[name]]
            self._fixture_inputs[known] = frozenset(self.find_named(_describe(part), CONFTEST)), patterns
        return self._fixture_inputs[known]


def find_inputs(
    snapshot: Snapshot,
    module: str,
    test: str = "",
    params: Mapping[str, object] | None = None,
    fixtures: Iterable[str] = (),
) -> dict[str, str | None]:
    """Return the digests of a test's inputs by path.

    Args:
        module: Path of the test module from the root.
        test: Name of the test function.
        params: Values of its parameters by name.
        fixtures: Names of its fixtures.
    """
    declared = snapshot.source(module).declared
    if declared is None:
        raise ValueError(f"{module}: INPUTS must be a literal tuple or dict")
    files, patterns = snapshot.find_fixture_inputs(fixtures)
    patterns = [*patterns, *declared.get("*", ()), *declared.get(test, ())]
    return snapshot.collect(module, files, frozenset(form for pattern in patterns for form in _expand(pattern, params or {})))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def _list_files(root: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in NOT_INPUTS]
        for name in files:
            if name not in NOT_INPUTS and (path := Path(folder, name)).is_file():
                yield path.relative_to(root).as_posix()


def _describe(tree: ast.Module) -> Source:
    modules, files = _find_imports(tree), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"[\w-]*\.\w+", node.value):
            files.add(node.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            constants = (argument.value for argument in node.args if isinstance(argument, ast.Constant))
            words = {value for value in constants if isinstance(value, str)}
            modules |= words if node.func.attr == "import_module" else set()
            files |= words if node.func.attr == "with_name" else set()
    declared = _find_constant(tree, "INPUTS")
    if not isinstance(declared, dict):
        declared = {"*": declared} if isinstance(declared, tuple) else None
    return Source(sorted(modules), sorted(files), declared)


def _find_imports(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            found |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return found


def _find_constant(tree: ast.Module, name: str) -> Any:
    """Return the value of a constant; an empty dict without one, None if it is not a literal."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and _defined_names(node) == {name}:
            with contextlib.suppress(ValueError):  # no literal
                return ast.literal_eval(node.value)
            return None
    return {}


def _select_definitions(tree: ast.Module, names: Iterable[str]) -> tuple[ast.Module, set[str]]:
    """Return the statements that define these names and all that they need, and what they name.

    Hooks and statements that define no name take part in every test.
    """
    needed, before = set(names), None
    body: list[ast.stmt] = []
    while needed != before:
        before = set(needed)
        body = [
            statement
            for statement in tree.body
            if not (defined := _defined_names(statement))
            or defined & needed
            or any(name.startswith("pytest_") for name in defined)
        ]
        for node in ast.walk(ast.Module(body, [])):
            if isinstance(node, ast.Name):
                needed.add(node.id)
            elif isinstance(node, ast.arg):
                needed.add(node.arg)
    return ast.Module(body, []), needed


def _defined_names(statement: ast.stmt) -> set[str]:
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return {statement.name}
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {alias.asname or alias.name.partition(".")[0] for alias in statement.names}
    if isinstance(statement, (ast.Assign, ast.AnnAssign)):
        return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return set()


def _expand(pattern: str, params: Mapping[str, object]) -> list[str]:
    kind, _, name = pattern.partition(":")
    patterns = [form.replace("{name}", name) for form in KINDS[kind]] if kind in KINDS else [pattern]
    return [re.sub(r"\{(\w+)\}", lambda found: str(params.get(found[1], "*")), form) for form in patterns]


@functools.cache
def _compile(pattern: str) -> re.Pattern[str]:
    forms = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(forms.get(part) or re.escape(part) for part in re.split(r"(\*\*/|\*\*|\*|\?)", pattern)))
