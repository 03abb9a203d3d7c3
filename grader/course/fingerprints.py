"""Hashes of what a result depends on: of the submission, of the suite and of each check in it, of the environment."""

from __future__ import annotations

import ast
import importlib.metadata
import platform
from pathlib import Path

from grader import answers, submission
from grader.answers import Case
from grader.assignment import Home, UsageError
from grader.course.results import digest
from grader.course.worklist import HANDED_IN

LIBRARIES = ("torch", "numpy", "gymnasium", "pytest", "safetensors")
# Of the kit, what can change an outcome.
DECIDES = ("judge", "sandbox", "answers.py", "assignment.py", "submission.py")


def of_submission(place: Path, parts: dict[str, Path], home: Home) -> str:
    """Return the hash of what is graded of a submission, whatever its name and place; of what cannot be read, of the reason.

    parts: see `grader.course.run.Job.handed_in`.
    """
    assignment = home.assignment
    allowed = submission.Allowed(assignment.attachments, assignment.limits.attachment_mb << 20)
    if parts:
        return digest(
            part for name, path in sorted(parts.items()) for part in (name, _content(path) if counts(name, home) else "")
        )
    if place.is_symlink():
        return digest(["link"])
    try:
        handed = submission.read(place, assignment.submission, allowed)
    except UsageError as error:
        return digest(["refused", str(error).replace(str(place), "")])
    texts: list[bytes | str] = []
    for file in handed:
        texts += ["notebook" if file.notebook else "file", file.content]
        texts += [part for name, content in sorted(file.attachments.items()) for part in (name, content)]
    return digest(texts)


def counts(name: str, home: Home) -> bool:
    """Return whether a file of this name, one of several that a student handed in, can be of use."""
    return Path(name).suffix.lower() in HANDED_IN or name in home.assignment.attachments


def _content(path: Path) -> bytes | str:
    try:
        return "link" if path.is_symlink() else path.read_bytes()
    except OSError as error:
        return f"unreadable: {error.strerror}"


def of_suite(home: Home, suites: tuple[str, ...]) -> str:
    """Return the hash of all that an assignment's checks consist of."""
    name = home.assignment.name
    texts: list[bytes | str] = [(home.folder / "assignment.toml").read_bytes(), home.drivers.read_bytes()]
    texts += [path.read_bytes() for path in home.support()]
    for suite in suites:
        texts += [suite, home.checks[suite].read_bytes(), answers.only(home.answers[suite], name)]
        texts.append(answers.only(home.mistakes[suite], name) if home.mistakes[suite].is_file() else "")
    return digest(texts)


def of_environment(home: Home) -> str:
    """Return the hash of the libraries, the kind of machine, and the parts of the kit that decide about outcomes."""
    kit = Path(__file__).resolve().parents[1]
    texts: list[bytes | str] = [platform.python_version(), platform.system(), platform.machine()]
    texts += [f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES]
    texts += home.assignment.requirements
    for part in DECIDES:
        path = kit / part
        texts += [file.read_bytes() for file in (sorted(path.glob("*.py")) if path.is_dir() else [path])]
    return digest(texts)


def of_checks(home: Home, suites: tuple[str, ...]) -> dict[str, str]:
    """Return of each check, by its id without parameters, the hash of all that decides about it but the submission.

    That is the function with all that it uses of its file, of views and of drivers; the cases that it names, with their
    answers; support files; and of assignment.toml the limits, and what its question needs and is about. A check whose cases
    cannot be told from its text depends on all cases of the suite.
    """
    drivers = Module(home.drivers)
    views = Module(Path(answers.__file__).parent / "judge" / "views.py")
    support = digest(path.read_bytes() for path in home.support())
    found: dict[str, str] = {}
    for suite in suites:
        cases = answers.read(home.answers[suite], home.assignment.name).cases
        checks = Module(home.checks[suite])
        for name in checks.statements:
            if name.startswith("test_"):
                depends = _depends(name, checks, views, drivers, cases)
                found[f"{suite}/{name}"] = digest([support, *_settings(home, checks, name), *depends])
    return found


def _settings(home: Home, checks: Module, name: str) -> list[str]:
    """Return what assignment.toml says of a check's question, where it can change an outcome; of all that it could be about."""
    words = {word for text in checks.statements[name] for word in _words(text)}
    limits = home.assignment.limits
    settings = [f"{limits.seconds} {limits.memory_mb} {limits.attachment_mb}"]
    for question in home.assignment.questions:
        if question.id in words:
            settings.append(f"{question.id} {question.function} {question.task} {question.needs} {question.seconds}")
    return settings


def _depends(name: str, checks: Module, views: Module, drivers: Module, cases: dict[str, Case]) -> list[str]:
    own = checks.reach({name})
    words = {word for text in own for word in _words(text)}
    named = {word for word in words if word in cases}
    used = [cases[case] for case in sorted(named or cases)]
    texts = [*own, *views.reach(words & views.statements.keys())]
    for case in used:
        texts += [case.name, case.driver, answers.fingerprint(case.inputs), answers.fingerprint(case.answer)]
    called = {case.driver for case in used} | words
    return texts + drivers.reach(called & drivers.statements.keys())


class Module:
    """A file of Python, read and not run. statements: by the name that it defines, each statement of its top level."""

    def __init__(self, path: Path) -> None:
        self.statements: dict[str, list[str]] = {}
        for statement in ast.parse(path.read_text(encoding="utf-8")).body:
            for name in _defined(statement):
                self.statements.setdefault(name, []).append(ast.unparse(statement))

    def reach(self, names: set[str]) -> list[str]:
        """Return the statements that define these names, and all that those use, in a fixed order."""
        reached: set[str] = set()
        waiting = set(names)
        while waiting:
            name = waiting.pop()
            reached.add(name)
            used = {word for text in self.statements[name] for word in _words(text)}
            waiting |= used & self.statements.keys() - reached
        return [text for name in sorted(reached) for text in self.statements[name]]


def _defined(statement: ast.stmt) -> list[str]:
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return [statement.name]
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return []
    return [node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]


def _words(text: str) -> set[str]:
    """Return the names that a piece of Python uses, and its texts."""
    nodes = list(ast.walk(ast.parse(text)))
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    arguments = {node.arg for node in nodes if isinstance(node, ast.arg)}  # a fixture is used by its name
    return texts | arguments | {node.id for node in nodes if isinstance(node, ast.Name)}
