"""Find the files that a test of the kit depends on: by its imports, its fixtures and its INPUTS.

A test module declares the data that it reads in a constant, as glob patterns from the root:

    INPUTS = ("solutions/ddpg/**", "tests/visible/test_{name}.py", "grading:{name}")

`{name}` is replaced by the value of the test's parameter of that name, and by `*` where the test
has none. `grading:NAME` is everything that grading a submission of this assignment reads,
`command:NAME` what `python -m grader NAME` runs, `packed:grader` what a package for servers takes
of the grader, and `released:grader` what students get of it: the command line imports its commands
by name, and `grader/formats.py` what makes a report, which nothing can follow. Comments and layout
of the kit's own modules change no result, and do not count; a test that reads them says so with
`text:grader/**`. INPUTS can also be a dict from the name of a test function, or from "*" for all of
them, to such a tuple. It must be a literal: it is read, not executed.

An import inside a function counts for the tests that execute it: tests/kit/watching.py watches
which do. Where it cannot watch, as in the sandbox, all imports count. Imports for types alone never
count, nor those of functions that only a notebook's kernel calls: a test that starts a kernel names
the module of the magics.
"""

from __future__ import annotations

import ast
import contextlib
import ctypes
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
    "tests/kit/noting.py",
    "tests/kit/selection.py",
    "tests/kit/warm_servers.py",
    "tests/kit/watching.py",
    "grader/proof/reply_cache.py",
)
LIBRARIES = (
    "torch",
    "numpy",
    "scipy",
    "gymnasium",
    "matplotlib",
    "mujoco",
    "ale_py",
    "nbclient",
    "nbformat",
    "ipykernel",
    "safetensors",
    "stable_baselines3",
    "jinja2",
    "pydantic",
    "pytest",
    "rich",
)
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
    "{name}/judge/**",
    "{name}/platforms/**",
    "{name}/report/**",
    "{name}/sandbox/**",
)
FORMATS = {"csv": "grader/report/table.py", "html": "grader/report/page.py", "junit": "grader/report/junit.py"}
KINDS = {"grading": GRADING, "command": COMMAND, "packed": PACKED, "released": (*PACKED, "{name}/desk/**")}
# Of these files it is seen which tests execute the imports in their functions. What runs in the sandbox is not seen, and what
# the judge imports late a warm server may have imported for an earlier test.
WATCHED = re.compile(r"grader/(?!sandbox/|judge/|authoring/example/).*|tests/kit/\w+\.py")

# Of these modules only the code counts. Others are read as texts: stubs, for example, keep the comments of a solution.
CODE = re.compile(r"(grader/(?!authoring/example/)|tests/kit/|benchmarks/).*\.py")
TEXT = "text:"  # before a path: the whole file, where only the code of its path counts

OF_KERNELS = ("load_ipython_extension", "unload_ipython_extension")  # `%load_ext` calls them by name, and nothing else does


class Source(NamedTuple):
    """What a Python file names.

    Attributes:
        modules: Every module that is imported with it; relative ones begin with a dot.
        late: Those that its functions import.
        files: Possible names of files beside it: strings like "table.ini", suffixes of its own
            name like ".html", and arguments of with_name().
        declared: Its INPUTS by test function; None if they are neither a literal tuple nor a dict.
    """

    modules: list[str]
    late: list[str]
    files: list[str]
    declared: dict[str, list[str]] | None


def imports(path: Path) -> set[str]:
    """Return every module that the file imports, anywhere in it; relative ones begin with a dot."""
    return {module for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) for module in _list_imported(node)}


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


def describe_reader() -> str:
    """Return a digest of this module: what it finds in files, another one may find differently."""
    return _digest(Path(__file__).read_bytes())


@functools.cache
def describe_kernel() -> str:
    """Return what decides about isolation: the kernel's version, what it offers, and the rights of this process.

    Builds of one version isolate alike, so that the rest of its name does not count.
    """
    version = ".".join(platform.release().split(".")[:2])
    landlock = ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), ctypes.c_uint(1)) if sys.platform == "linux" else 0
    namespaces = Path("/proc/sys/user/max_user_namespaces")
    status = Path("/proc/self/status")
    rights = re.findall(r"^(?:Cap|NoNewPrivs|Seccomp:).*$", status.read_text() if status.is_file() else "", re.MULTILINE)
    offers = [f"landlock {landlock}", f"namespaces {namespaces.is_file() and namespaces.read_text().strip() != '0'}"]
    rights.append(f"root {hasattr(os, 'geteuid') and os.geteuid() == 0}")
    return _digest(json.dumps([platform.system(), version, *offers, *rights]).encode())


class Snapshot:
    """The files of a repository at one moment.

    Args:
        root: The folder of the repository.
        edits: Contents by path that replace those on the disk.
        sources: What files name, by digest; it is completed, and can serve the next snapshot.
        codes: Digests of code by digests of its whole file; likewise.

    Attributes:
        files: Digests by path; paths begin at the root and have slashes. Those of CODE are there twice, also behind TEXT.
    """

    def __init__(
        self,
        root: Path,
        edits: Mapping[str, bytes] | None = None,
        sources: dict[str, Source] | None = None,
        codes: dict[str, str] | None = None,
    ) -> None:
        self.root = root
        self.edits = edits or {}
        self.sources = {} if sources is None else sources
        self.codes = {} if codes is None else codes
        self.files: dict[str, str] = {}
        for path in sorted({*_list_files(root), *self.edits}):
            content = self.read(path)
            self.files[path] = digest = _digest(content)
            if CODE.fullmatch(path):
                self.files[TEXT + path] = digest
                if digest not in self.codes:
                    self.codes[digest] = _digest_code(content)
                self.files[path] = self.codes[digest]
        self._named: dict[tuple[str, bool], dict[str, bool]] = {}
        self._conftest = ast.parse(self.read(CONFTEST) if CONFTEST in self.files else b"")
        self._fixtures = frozenset(name for statement in self._conftest.body for name in _defined_names(statement))
        self._fixture_inputs: dict[tuple[frozenset[str], bool], tuple[frozenset[str], list[str]]] = {}
        self._inputs: dict[tuple[str, frozenset[str], frozenset[str], bool], dict[str, str | None]] = {}

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
                self.sources[digest] = Source([], [], [], {})
        return self.sources[digest]

    def follow(self, paths: Iterable[str], late: bool = True) -> set[str]:
        """Return these files and all that their Python files import or name, directly or not.

        late: Whether imports count that stand in functions of WATCHED files.
        """
        reached: dict[str, bool] = {}  # whether late imports count
        waiting = [(path, late) for path in paths]
        while waiting:
            path, all_count = waiting.pop()
            if path in reached and reached[path] >= all_count:
                continue
            reached[path] = all_count
            if path.endswith(".py") and not path.startswith(TEXT):
                waiting += self._list_named(path, all_count).items()
        return set(reached)

    def collect(self, module: str, files: frozenset[str], patterns: frozenset[str], late: bool = True) -> dict[str, str | None]:
        """Return the digests of a module and these files, with all that they lead to."""
        recipe = module, files, patterns, late
        if recipe not in self._inputs:
            matched = {path for pattern in patterns for path in self.match(pattern)}
            self._inputs[recipe] = self.describe({*OF_ALL_TESTS, *self.follow({module, *files, *matched}, late)})
        return self._inputs[recipe]

    def describe(self, paths: Iterable[str]) -> dict[str, str | None]:
        """Return the digests of these files by path; None of one that is not there."""
        return {path: self.files.get(path) for path in sorted(paths)}

    def _list_named(self, path: str, late: bool) -> dict[str, bool]:
        """Return the files that a Python file names, and whether late imports of these count: of programs they always do."""
        if (path, late) not in self._named:
            source = self.source(path)
            modules = self._find_modules(source.modules + (source.late if late or not WATCHED.fullmatch(path) else []), path)
            self._named[path, late] = dict.fromkeys(modules, late) | dict.fromkeys(self._find_beside(source.files, path), True)
        return self._named[path, late]

    def find_named(self, source: Source, path: str) -> set[str]:
        """Return the files of the repository that the file at `path` names."""
        return self._find_modules(source.modules + source.late, path) | self._find_beside(source.files, path)

    def _find_beside(self, names: Iterable[str], path: str) -> set[str]:
        prefix = _folder(path)
        stem = path.removesuffix(".py")
        places = tuple(stem + name if name.startswith(".") else prefix + name for name in names)
        folders = tuple(f"{place}/" for place in places)
        return {file for file in self.files if file in places or file.startswith(folders)} - {CONFTEST}

    def _find_modules(self, modules: Iterable[str], path: str) -> set[str]:
        found: set[str] = set()
        prefix = _folder(path)
        for module in modules:
            if module.startswith("."):
                absolute = module.lstrip(".")
                base = posixpath.normpath(prefix + "../" * (len(module) - len(absolute) - 1))
                found |= self.find_module(absolute, "" if base == "." else f"{base}/")
            else:
                found |= self.find_module(module) or self.find_module(module, prefix)
        return found - {CONFTEST}  # an input of all tests; where it leads depends on their fixtures

    def find_module(self, module: str, prefix: str = "") -> set[str]:
        """Return the files that importing a module executes; `a.b.c` may be the name c in a.b."""
        parts = module.split(".")
        places = (prefix + "/".join(parts[:count]) for count in range(1, len(parts) + 1))
        return {path for place in places for path in (f"{place}.py", f"{place}/__init__.py") if path in self.files}

    def find_command(self, name: str) -> set[str]:
        """Return the files that `python -m grader NAME` imports by name, or `--format NAME`."""
        own = [*(path for path in COMMAND if "{name}" in path), FORMATS.get(name, "")]
        return {path.replace("{name}", name) for path in own} & self.files.keys()

    def find_fixture_inputs(self, fixtures: Iterable[str], late: bool = True) -> tuple[frozenset[str], list[str]]:
        """Return the files that the fixtures of conftest.py name, and the patterns they declare.

        Importing conftest.py imports what all fixtures use, but only those that a test uses can
        change its result: a broken import ends the session before any test is chosen.
        """
        known = self._fixtures & frozenset(fixtures)
        if (known, late) not in self._fixture_inputs:
            part, names = _select_definitions(self._conftest, known)
            table = _find_constant(self._conftest, "FIXTURE_INPUTS")
            patterns = [pattern for name in sorted(names & table.keys()) for pattern in table[name]]
            source = _describe(part)
            named = self.find_named(source if late else source._replace(late=[]), CONFTEST)
            self._fixture_inputs[known, late] = frozenset(named), patterns
        return self._fixture_inputs[known, late]


def find_inputs(
    snapshot: Snapshot,
    module: str,
    test: str = "",
    params: Mapping[str, object] | None = None,
    fixtures: Iterable[str] = (),
    late: bool = True,
) -> dict[str, str | None]:
    """Return the digests of a test's inputs by path.

    Args:
        module: Path of the test module from the root.
        test: Name of the test function.
        params: Values of its parameters by name.
        fixtures: Names of its fixtures.
        late: Whether imports count that stand in functions of WATCHED files.
    """
    declared = snapshot.source(module).declared
    if declared is None:
        raise ValueError(f"{module}: INPUTS must be a literal tuple or dict")
    files, patterns = snapshot.find_fixture_inputs(fixtures, late)
    patterns = [*patterns, *declared.get("*", ()), *declared.get(test, ())]
    forms = frozenset(form for pattern in patterns for form in _expand(pattern, params or {}))
    return snapshot.collect(module, files, forms, late)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def _digest_code(content: bytes) -> str:
    """Return a digest of what Python reads: without comments and layout; of the whole content where that is no Python."""
    try:
        return _digest(ast.dump(ast.parse(content)).encode())
    except (SyntaxError, ValueError):
        return _digest(content)


def _list_files(root: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in NOT_INPUTS]
        for name in files:
            if name not in NOT_INPUTS and (path := Path(folder, name)).is_file():
                yield path.relative_to(root).as_posix()


def _folder(path: str) -> str:
    folder = path.rpartition("/")[0]
    return f"{folder}/" if folder else ""


def _describe(tree: ast.Module) -> Source:
    modules: set[str] = set()
    late: set[str] = set()
    files: set[str] = set()
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, is_late = waiting.pop()
        (late if is_late else modules).update(_list_imported(node))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"[\w-]*\.\w+", node.value):
            files.add(node.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            constants = (argument.value for argument in node.args if isinstance(argument, ast.Constant))
            words = {value for value in constants if isinstance(value, str)}
            if node.func.attr == "import_module":
                (late if is_late else modules).update(words)
            files |= words if node.func.attr == "with_name" else set()
        inside = is_late or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        waiting += [(child, inside) for child in ast.iter_child_nodes(node) if not _is_for_others(node, child)]
    declared = _find_constant(tree, "INPUTS")
    if not isinstance(declared, dict):
        declared = {"*": declared} if isinstance(declared, tuple) else None
    return Source(sorted(modules), sorted(late - modules), sorted(files), declared)


def _is_for_others(node: ast.AST, child: ast.AST) -> bool:
    """Return whether the child is in a body that only type checkers read, or is a function that only a kernel calls."""
    return (isinstance(child, ast.FunctionDef) and child.name in OF_KERNELS) or (
        isinstance(node, ast.If)
        and isinstance(node.test, (ast.Name, ast.Attribute))
        and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
        and child in node.body
    )


def _list_imported(node: ast.AST) -> list[str]:
    """Return the modules that a statement imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        module = "." * node.level + (node.module or "")
        prefix = module if module.endswith(".") else f"{module}."
        return [module, *(prefix + alias.name for alias in node.names)]
    return []


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
