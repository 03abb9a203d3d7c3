"""Write the first draft of an assignment from an existing solution; the author completes the rest."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path

from grader.assignment import AssignmentFiles, UsageError
from grader.authoring.drawing import has_unknown_shape
from grader.authoring.existing import ExistingSolution, read_solution
from grader.authoring.firstchecks import stands_alone
from grader.authoring.firstfiles import (
    FILL_IN,
    render_alternatives,
    render_cases,
    render_checks,
    render_drivers,
    render_mistakes,
    render_settings,
    render_submitted,
    render_views,
)
from grader.authoring.subject import Subject, make_subject
from grader.authoring.trying import try_subject
from grader.judge.harness import Harness
from grader.report.model import write_atomically

KIT = ("torch", "numpy", "gymnasium", "matplotlib")  # what grading has in any case


def write_draft(root: Path, name: str, title: str, source: Path, report: Callable[[str], object]) -> None:
    """Write the first draft of an assignment, everything but what `build` makes.

    Args:
        root: An empty folder.
        source: The solution.
        report: Is passed what was left out, guessed, or is left to the author, a line each.

    Raises:
        UsageError: If the solution cannot be read or imported.
    """
    solution = read_solution(source)
    support, requirements = _find_imported(solution, source)
    functions = {piece.name for piece in solution.pieces if isinstance(piece.node, ast.FunctionDef)}
    subjects = [make_subject(piece, functions, "torch" in solution.modules) for piece in solution.pieces]
    keys = [subject.key for subject in subjects]
    if twice := [subject.piece for subject in subjects if keys.count(subject.key) > 1]:
        raise UsageError(f"{twice[0].place}: {twice[0].name} and {twice[1].name} differ only in letter case; rename one")

    def write(place: str, text: str) -> None:
        write_atomically(root / place.replace("NAME", name), text)

    write("solutions/NAME/submitted.py", render_submitted(solution.text, title))
    write("tests/drivers/NAME.py", render_drivers(name, subjects))
    write("assignments/NAME/assignment.toml", render_settings(name, title, subjects, [*support], requirements))
    for file, content in support.items():
        write(f"assignments/NAME/{file}", content)
    home = AssignmentFiles(root, name)
    with Harness(home) as harness:
        harness.warm_up()
        submission = harness.place((home.solution / home.assignment.submission).read_bytes())
        loaded = harness.sandbox.load(submission)
        if loaded.status != "ok":
            why = loaded.details.get("message") or loaded.output.strip() or loaded.status
            calls = [note.removeprefix("note: ") for note in solution.notes if note.startswith("note: ")][:1]
            raise UsageError("; ".join([f"{source} cannot be imported in the sandbox: {str(why).splitlines()[0]}", *calls]))
        for subject in subjects:
            try_subject(harness, submission, subject)
    cases = render_cases(name, subjects)
    write("tests/drivers/NAME.py", render_drivers(name, subjects))  # again, with what is known by now
    write("assignments/NAME/assignment.toml", render_settings(name, title, subjects, [*support], requirements))
    write("solutions/NAME/cases.py", cases)
    for suite in ("visible", "hidden"):
        write(f"tests/{suite}/test_NAME.py", render_checks(suite, name, subjects))
    if any(map(stands_alone, subjects)):
        write("tests/views/NAME.py", render_views(name))
    write("solutions/NAME/mistakes.py", render_mistakes(name))
    write("solutions/NAME/alternatives.py", render_alternatives(name))
    lines = cases.splitlines()
    for line in [*solution.notes, *_list_guesses(subjects), *_list_gaps(subjects, lines, f"solutions/{name}/cases.py")]:
        report(line)


def _find_imported(solution: ExistingSolution, source: Path) -> tuple[dict[str, str], list[str]]:
    """Return the files beside the solution that it imports, by name, and the packages that grading needs for it.

    Raises:
        UsageError: For a module that is not installed, unless it is imported in a `try`.
    """
    support: dict[str, str] = {}
    requirements: list[str] = []
    optional = _list_tried(solution.text)
    for module, place in solution.modules.items():
        beside = source.with_name(f"{module}.py")
        if module in sys.stdlib_module_names or module in KIT:
            continue
        if beside.is_file():
            support[beside.name] = beside.read_text(encoding="utf-8")
        elif importlib.util.find_spec(module) is None:
            if module in optional:
                continue
            raise UsageError(f"{place}: {module!r} is neither installed nor a file beside {source.name}; install it first")
        else:
            requirements += metadata.packages_distributions().get(module, [module])[:1]
    return support, requirements


def _list_tried(text: str) -> set[str]:
    """Return the modules that are imported in a `try`, so that a solution may work without them."""
    tried = [statement for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Try) for statement in node.body]
    imports = [node for statement in tried for node in ast.walk(statement)]
    names = [alias.name for node in imports if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in imports if isinstance(node, ast.ImportFrom)]
    return {name.partition(".")[0] for name in names}


def _list_guesses(subjects: list[Subject]) -> Iterator[str]:
    """Yield what was guessed, and what an author should know of questions that need nothing else."""
    for subject in subjects:
        where = f"{subject.piece.place}: {subject.piece.name}"
        unknown = [each.name for each in subject.parameters if each.kind and has_unknown_shape(each.kind)]
        if unknown and not subject.gap:
            yield f"guessed: {where}: nothing says the shape of {', '.join(unknown)}; the cases use {subject.plan.rank} axes"
        if subject.task is None:
            yield f"guessed: {where} has no docstring: say in it, and as `task` in assignment.toml, what to return"
        if subject.fakes and not subject.gap and not stands_alone(subject):
            beside = f"a mistake in {', '.join(subject.fakes)} also costs points of this question"
            yield f"note: {where} does not work with fakes, so {beside}"


def _list_gaps(subjects: list[Subject], lines: list[str], path: str) -> Iterator[str]:
    """Yield what the author has to fill in, and where."""
    for subject in (subject for subject in subjects if subject.gap):
        at = next(number for number, line in enumerate(lines, 1) if line.startswith(f"# {FILL_IN}: {subject.piece.name}:"))
        yield f"fill in: {path}:{at}: {subject.piece.name} ({subject.piece.place}): {subject.gap}"
