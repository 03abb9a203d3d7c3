"""Find all slips of an author at once, by reading the files: only cases.py is run, as in a build."""

from __future__ import annotations

import ast
import codecs
import contextlib
import difflib
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from grader import answers
from grader.answers import Case, CaseRecipe
from grader.assignment import SUITES, AssignmentFiles, UsageError
from grader.authoring.checks_read import ReadCheck, list_checks, list_draft_titles, list_slips, list_uncollected, read_calls
from grader.authoring.facts_read import list_unknown_facts
from grader.authoring.names import list_unknown_names
from grader.authoring.recipes import (
    RecipeError,
    check_size,
    cook_case,
    holds_nan,
    list_unstorable,
    load_recipes,
    same_inputs,
)
from grader.authoring.references import list_bound_names, list_broken_references
from grader.authoring.renamed import find_renamed
from grader.authoring.slips import Slip, find_question_line, list_setting_slips
from grader.authoring.solution_read import list_solution_slips
from grader.authoring.staleness import list_stale_files
from grader.course.handwritten import suggest
from grader.proof.catalogue import PARAMETERS, REWRITE, CatalogueError, Variant, is_draft, load_catalogue
from grader.proof.collateral import find_unknown_exceptions, read_exceptions
from grader.proof.ideas import get_ideas_path, read_ideas
from grader.proof.mutants import read_survivors
from grader.proof.trials import list_unit_questions

TELLING = 10  # characters of a line of code that a hint must not contain; shorter ones may occur in it by chance
LARGE = 2_000_000  # bytes of a file of answers or evidence: every clone and every zip contains it


def inspect_assignment(root: Path, name: str, stale: bool = True) -> list[Slip]:
    """Return all slips in the files of an assignment, sorted by kind; if files cannot be read, only those.

    Args:
        root: The kit's folder.
        name: The assignment.
        stale: Whether to look for built files that are out of date.

    Raises:
        UsageError: If there is no such assignment.
    """
    path = root / "assignments" / name / "assignment.toml"
    if found := list(list_setting_slips(path)) if path.is_file() else []:
        return found
    home = AssignmentFiles(root, name)
    if found := [*_find_missing(home), *_find_syntax_errors(home)]:
        return found
    if renamed := find_renamed(home):
        return [renamed]  # all else that is found, follows from it
    found += [*list_solution_slips(home), *list_unknown_names(home)]
    defined = list_bound_names(home.solution / home.assignment.submission)
    blind = any(question.function not in defined for question in home.assignment.questions)
    recipes, slips = _read_cases(home, unknown=any(slip.path.name == "cases.py" for slip in found))
    found += slips
    checks = {suite: list_checks(home.checks[suite]) for suite in SUITES}
    found += [*_inspect_checks(home, checks, recipes), *list_draft_titles(home)]
    mistakes, slips = _read_catalogue(home, blind)
    found += slips
    found += _inspect_questions(home, checks, mistakes, defined, whole=not slips and not blind)
    found += _inspect_ideas(home, checks, mistakes) if not slips and not blind else []
    found += _inspect_stored(home)
    if stale and not any(slip.stops for slip in found):
        old = [Slip(file.path, 0, f"stale: {file.why}", stops=False) for file in list_stale_files(home)]
        found += old or list_unknown_facts(home, _read_stored(home))
    return found


def _read_stored(home: AssignmentFiles) -> dict[str, Case]:
    """Return the stored cases of both suites."""
    return {
        name: case
        for path in home.answers.values()
        for name, case in answers.read_answers(path, home.assignment.name).cases.items()
    }


def _find_missing(home: AssignmentFiles) -> Iterator[Slip]:
    solution = home.solution / home.assignment.submission
    for path, what in (
        (solution, "it is missing: stub and answers are made from it"),
        (home.solution / "cases.py", "it is missing: it declares the inputs of the calls"),
        (home.drivers, "it is missing: it needs a function for each driver that cases name, which calls the student's code"),
        *((home.checks[suite], f"it is missing: it has the {suite} checks") for suite in SUITES),
    ):
        if not path.is_file():
            yield Slip(path, 0, what)
    try:
        home.support()
    except UsageError as error:
        yield Slip(home.folder / "assignment.toml", 0, f"support names a missing file: {error}")
    if not (home.solution / "mistakes.py").is_file():
        yield Slip(
            home.solution / "mistakes.py", 0, "it is missing: nothing shows that the checks catch any mistake", stops=False
        )


def _find_syntax_errors(home: AssignmentFiles) -> Iterator[Slip]:
    paths = [*sorted(home.solution.glob("*.py")), home.drivers, home.views, *home.checks.values()]
    for path in (path for path in paths if path.is_file()):
        content = path.read_bytes()
        if content.startswith(codecs.BOM_UTF8):
            yield Slip(path, 1, "it begins with a byte order mark (BOM); save it as UTF-8 without one")
            continue
        try:
            ast.parse(content.decode("utf-8"), str(path))
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            yield Slip(path, line, f"it is not UTF-8: found the byte {content[error.start]:#x}; save it as UTF-8")
        except (SyntaxError, ValueError) as error:
            yield Slip(path, getattr(error, "lineno", 0) or 0, f"not valid Python: {getattr(error, 'msg', error)}")


def _read_cases(home: AssignmentFiles, unknown: bool) -> tuple[dict[str, CaseRecipe], list[Slip]]:
    """Return the cases by name, and their slips.

    Args:
        unknown: Whether cases.py uses an unknown name, which has been reported and explains why it cannot be run.
    """
    path, drivers = home.solution / "cases.py", list_bound_names(home.drivers)
    lines = list_bound_names(path)
    slips = [Slip(path, line, f"a second case is called {name}; only the last one counts") for name, line in _doubles(path)]
    try:
        recipes = {recipe.name: recipe for recipe in load_recipes(home)}
    except RecipeError as error:
        for fault in error.faults if not unknown else ():
            named = re.match(r"case (\w+): ", fault)
            slips.append(Slip(path, lines.get(named[1], 0) if named else error.line, fault))
        return {}, slips
    inputs = {}
    for name, recipe in recipes.items():
        line = lines.get(name, 0)
        if recipe.driver not in drivers:
            text = f"case {name} calls the driver {recipe.driver!r}, which {home.drivers.name} in tests/drivers does not define"
            slips.append(Slip(path, line, f"{text}; {suggest(recipe.driver, drivers)}"))
        try:
            case = cook_case(recipe, 1)
            inputs[name] = recipe.driver, case.inputs
            check_size(name, case.inputs)
            if bad := list_unstorable(case.inputs):
                slips.append(Slip(path, line, f"case {name}: {', '.join(bad)} holds NaN or infinity, which cannot be stored"))
            elif not same_inputs(case, cook_case(recipe, 1)):
                slips.append(Slip(path, line, f"case {name} has other inputs each time: draw them from its argument"))
        except UsageError as error:
            slips += [] if unknown else [Slip(path, line, str(error))]
    return recipes, [*slips, *list_broken_references(home, inputs)]


def _inspect_checks(
    home: AssignmentFiles, checks: Mapping[str, list[ReadCheck]], recipes: Mapping[str, CaseRecipe]
) -> Iterator[Slip]:
    ids = [question.id for question in home.assignment.questions]
    for suite in SUITES:
        path, calls = home.checks[suite], read_calls(home.checks[suite])
        yield from (
            Slip(path, line, f"a second check is called {name}; only the last one runs") for name, line in _doubles(path)
        )
        yield from list_slips(path)
        for check in checks[suite]:
            yield from _inspect_check(path, check, ids)
        own = [name for name, recipe in recipes.items() if recipe.suite == suite]
        for name, line in calls.cases if recipes else ():
            if name in recipes and name not in own:
                yield Slip(path, line, f"the case {name!r} is {recipes[name].suite}, and not for {suite} checks")
            elif name not in recipes:
                yield Slip(path, line, f"there is no case {name!r} in cases.py; {suggest(name, own)}")
        lines = list_bound_names(home.solution / "cases.py")
        for name in own if not calls.computed else ():
            if name not in calls.texts:
                yield Slip(
                    home.solution / "cases.py", lines.get(name, 0), f"no {suite} check uses the case {name}", stops=False
                )


def _inspect_check(path: Path, check: ReadCheck, ids: list[str]) -> Iterator[Slip]:
    if check.fault:
        yield Slip(path, check.line, f"{check.name}: {check.fault}")
    elif check.points is None:
        yield Slip(path, check.line, f"{check.name} needs @points(number, question=...)")
    elif check.question and check.question not in ids:
        text = f"{check.name} is about {check.question!r}, which is not a question in assignment.toml"
        yield Slip(path, check.line, f"{text}; {suggest(check.question, ids)}")
    if not check.documented:
        yield Slip(path, check.line, f"{check.name} needs a docstring, the line that a student reads")


def _inspect_questions(
    home: AssignmentFiles,
    checks: Mapping[str, list[ReadCheck]],
    mistakes: list[Variant],
    defined: Collection[str],
    whole: bool,
) -> Iterator[Slip]:
    """Yield questions without checks or points; and without mistakes, if the `whole` catalogue could be read.

    Args:
        defined: The functions of the solution. A question without a function has been reported.
    """
    path, ids = home.folder / "assignment.toml", [question.id for question in home.assignment.questions]
    for question in (each for each in home.assignment.questions if each.function in defined):
        line = find_question_line(path, question.id)
        about = {suite: [check for check in checks[suite] if check.question == question.id] for suite in SUITES}
        unclear = any(check.question not in ids or check.several for suite in SUITES for check in checks[suite])
        unclear = unclear or any(True for suite in SUITES for _ in list_uncollected(home.checks[suite]))
        for suite in SUITES:
            worth, said = sum(check.points or 0 for check in about[suite]), getattr(question.points, suite)
            if not unclear and worth != said:
                text = f"{question.id}: its {suite} checks are worth {worth:g} points, but `points` says {said:g}"
                yield Slip(path, line, f"{text}; change one of them")
        if not unclear and about["hidden"] and not about["visible"]:
            yield Slip(path, line, f"{question.id} has no visible check: a student cannot see whether it is right", stops=False)
        if whole and not question.together and question.function not in {variant.function for variant in mistakes}:
            yield Slip(
                path, line, f"{question.id} has no mistake in mistakes.py: nothing shows what its checks see", stops=False
            )


def _inspect_ideas(home: AssignmentFiles, checks: Mapping[str, list[ReadCheck]], mistakes: list[Variant]) -> Iterator[Slip]:
    """Yield checks and mistakes in catches.toml that do not exist, and mistakes that no proof tries on the check."""
    path, names = get_ideas_path(home), {name: one for one in mistakes for name in (one.id, one.idea)}
    ids = {question.id for question in home.assignment.questions}
    known = {f"{suite}/{check.name}": check for suite in SUITES for check in checks[suite]}
    for idea in read_ideas(home):
        check = known.get(idea.check.partition("[")[0])
        if check is None and any(True for _ in list_uncollected(home.checks[idea.check.partition("/")[0]])):
            continue  # which may be this check, and has been reported
        if check is None:
            yield Slip(path, idea.line, f"there is no check {idea.check}; {suggest(idea.check, known)}")
        for name in idea.mistakes:
            mistake = names.get(name)
            if mistake is None:
                yield Slip(path, idea.line, f"there is no mistake {name!r} in mistakes.py; {suggest(name, names)}")
                continue
            tried = list_unit_questions(home.assignment, mistake.function) | {mistake.question}
            if check and check.question in ids and check.question not in tried:
                text = f"{name} is a mistake of {mistake.question}, so no proof tries it on {idea.check} ({check.question})"
                yield Slip(path, idea.line, text)


def _read_catalogue(home: AssignmentFiles, blind: bool) -> tuple[list[Variant], list[Slip]]:
    """Return the mistakes, and the slips in mistakes and alternatives.

    Args:
        blind: Whether a function that they change is missing, which has been reported.
    """
    slips: list[Slip] = []
    mistakes: list[Variant] = []
    for kind in ("mistakes", "alternatives"):
        path = home.solution / f"{kind}.py"
        if not path.is_file():
            continue
        slips += _find_strange_decorators(path)
        try:
            found = load_catalogue(home, kind)
        except CatalogueError as error:
            faults = [fault.removeprefix(f"{path.name}: ") for fault in error.faults]
            said = [fault for fault in faults if not (blind and ": the solution defines no " in fault)]
            slips += [Slip(path, _line_of_name(path, fault), fault) for fault in said]
            continue
        if kind == "mistakes":
            mistakes = found
    slips += _inspect_hints(home, mistakes)
    if mistakes:
        slips += (Slip(home.solution / "collateral.toml", *found) for found in find_unknown_exceptions(home, mistakes))
    for read in (read_survivors, read_exceptions, read_ideas):
        try:
            read(home)
        except UsageError as error:
            where, _, why = str(error).partition(": ")
            name, _, line = where.rpartition(":") if where.rpartition(":")[2].isdigit() else (where, "", "0")
            slips.append(Slip(Path(name), int(line), " ".join(why.split())))
    return mistakes, slips


def _inspect_hints(home: AssignmentFiles, mistakes: list[Variant]) -> Iterator[Slip]:
    """Yield hints that are no single question, and hints that contain the line that a student should find."""
    path = home.solution / "mistakes.py"
    solution = (home.solution / home.assignment.submission).read_text(encoding="utf-8")
    for variant in {variant.idea: variant for variant in mistakes}.values():
        hint = variant.hint.strip()
        kept = {line.strip() for line in variant.submission.splitlines()}
        lines = (line.strip() for line in solution.splitlines())
        right = [line for line in lines if len(line) >= TELLING and line not in kept and line in " ".join(hint.split())]
        fault = ""
        if is_draft(hint):
            fault = REWRITE
        elif "\n" in hint:
            fault = f"has {len(hint.splitlines())} lines; write one question on one line"
        elif right:
            fault = f"contains the solution's line {right[0]!r}; ask a question that leads to it"
        elif "?" not in hint:
            fault = "is not a question: it has no ?; ask what a good tutor would ask, without the answer"
        if fault:
            line = _line_of_name(path, variant.idea)
            yield Slip(path, line, f"the hint of {variant.idea} {fault}", stops="\n" in hint and not is_draft(hint))


def _find_strange_decorators(path: Path) -> Iterator[Slip]:
    """Yield functions whose decorator only looks like a declaration, so that they would be ignored silently."""
    known = [name for name in PARAMETERS if name != "altered"]
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        for decorator in getattr(node, "decorator_list", []):
            call = decorator.func if isinstance(decorator, ast.Call) else decorator
            if isinstance(call, ast.Name) and (call.id not in known or not isinstance(decorator, ast.Call)):
                close = difflib.get_close_matches(call.id, known, 1)
                if close:
                    yield Slip(path, decorator.lineno, f"@{call.id} declares nothing; write @{close[0]}(...)")


def _inspect_stored(home: AssignmentFiles) -> Iterator[Slip]:
    """Yield answers that contain NaN, and files that are too large."""
    for path in home.answers.values():
        with contextlib.suppress(OSError, KeyError, TypeError, ValueError):  # then it is stale
            for name, case in answers.read_answers(path, home.assignment.name).cases.items():
                if holds_nan(case.answer):
                    yield Slip(path, 0, f"the answer of case {name} holds NaN, which equals no answer", stops=False)
    for path in (*home.answers.values(), *home.mistakes.values()):
        if path.is_file() and (size := path.stat().st_size) > LARGE:
            text = f"{size / 1e6:.1f} MB, which every clone and package holds: report fewer numbers from the drivers"
            yield Slip(path, 0, text, stops=False)


def _doubles(path: Path) -> Iterator[tuple[str, int]]:
    """Yield each function that has the same name as an earlier one, with its line."""
    seen: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            if node.name in seen and not node.name.startswith("_"):
                yield node.name, node.lineno
            seen.add(node.name)


def _line_of_name(path: Path, text: str) -> int:
    """Return the line of the entry whose id the text begins with; 0 if there is none."""
    name = re.match(r"\w+", text)
    line = re.match(r".*, line (\d+):", text)
    return int(line[1]) if line else list_bound_names(path).get(name[0], 0) if name else 0
