"""Fingerprints of a suite, of each of its checks and of the code that a check reaches: what decides an outcome."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from grader import answers, hashing
from grader.answers import Case
from grader.assignment import AssignmentFiles
from grader.hashing import hash_kit, hash_parts, list_libraries, read_code
from grader.reachable_code import (
    READS_ALL,
    ParsedModule,
    ParsedStatement,
    is_check,
    list_words,
    parse_code,
    parse_file,
)

# Ways in which a driver can read the text of a submission, or the bodies of functions that it does not call.
READS_TEXT = re.compile(
    r"\b(getsource|getsourcelines|getcomments|getdoc|__doc__|__file__|__code__|jit|dis|linecache|torch\.compile)\b"
)


def hash_suite(home: AssignmentFiles, suites: tuple[str, ...]) -> str:
    """Return the hash of everything that an assignment's checks consist of."""
    texts: list[bytes | str] = [(home.folder / "assignment.toml").read_bytes(), home.drivers.read_bytes()]
    texts += [path.read_bytes() for path in (home.views, *home.support()) if path.is_file()]
    for suite in suites:
        texts += [suite, home.checks[suite].read_bytes(), home.answers[suite].read_text(encoding="utf-8")]
        texts.append(home.mistakes[suite].read_text(encoding="utf-8") if home.mistakes[suite].is_file() else "")
    return hash_parts(texts)


def _run_of(file: Path) -> bytes | str:
    """Return the part of a support file that decides outcomes: the code of a Python file, the whole of any other."""
    return read_code(file) if file.suffix == ".py" else file.read_bytes().replace(b"\r\n", b"\n")


def hash_environment(home: AssignmentFiles) -> str:
    """Return the hash of the libraries, the kind of machine, and the parts of the kit that decide outcomes."""
    texts = [platform.python_version(), platform.system(), platform.machine(), *list_libraries(), *home.assignment.requirements]
    return hash_parts([*texts, hash_kit()])


class CheckIngredients(NamedTuple):
    """Everything that decides the outcome of a check, except the submission.

    Attributes:
        digest: The hash of all of it.
        names: All names and texts in it. They include every name of a submission that the check uses, unless `reads_all`.
        reads_all: Whether it may use any name of a submission.
        reads_text: Whether it may read the submission's text.
        cases: The names of the cases that it uses; all cases if its text does not name them.
        drivers: The names of the drivers that it calls; those of all these cases if it names none.
        words: The words of the inputs of these cases.
        code: The code that it runs: its own, and that of the drivers.
    """

    digest: str
    names: frozenset[str]
    reads_all: bool
    reads_text: bool
    cases: frozenset[str]
    drivers: frozenset[str]
    words: frozenset[str]
    code: tuple[ParsedStatement, ...]


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
    return sorted(name for name, own in parse_code(text).fingerprints.items() if own in stub.get(name, ()))


def list_check_ingredients(home: AssignmentFiles, suites: tuple[str, ...], titles: bool = True) -> dict[str, CheckIngredients]:
    """Return everything that decides a check except the submission and the stub, by check id without parameters.

    - the function, and everything that it uses from its file, views, drivers and the code that
      these share
    - the code that is run when those files are imported
    - the cases that it names, with their answers; all cases of the suite if its text does not name
      them
    - support files: of Python, only the code
    - the limits in assignment.toml, and the needs and the function of its question

    Args:
        titles: Whether the titles of checks, which stand in reports and decide no points, are part of a digest.
    """
    drivers, shared = parse_file(home.drivers), parse_file(hashing.VIEWS)
    mentioned = hashing.FACTS.stem in home.drivers.read_text(encoding="utf-8")  # drivers can import it in many ways
    facts = parse_file(hashing.FACTS) if mentioned else parse_code("")
    views = parse_file(home.views) if home.views.is_file() else parse_code("")
    support = [part for path in home.support() for part in (path.name, _run_of(path))]
    modules = [parse_file(path) for path in home.support() if path.suffix == ".py"]
    helpers = [statement for module in modules for statement in module.all_statements()]
    found: dict[str, CheckIngredients] = {}
    for suite in suites:
        stored = answers.read_answers(home.answers[suite], home.assignment.name)
        cases, given = stored.cases, hash_parts(support)
        prints = {name: _of_case(case) for name, case in cases.items()}
        checks = parse_file(home.checks[suite])
        for name in checks.statements:
            if is_check(name):
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
                code = [statement.text if titles else statement.untitled for statement in reached]
                given_words = {
                    word for case in used for text in _texts_in(cases[case].inputs) for word in re.findall(r"\w+", text)
                }
                beside = [statement.text for statement in (*run, *helpers)]
                any_name, whole_text = (any(map(pattern.search, beside)) for pattern in (READS_ALL, READS_TEXT))
                read = [path.read_bytes() for path in (home.drivers, *home.support())] if whole_text else []
                hashed = hash_parts([given, *settings, *code, *(prints[case] for case in used), *read])
                found[f"{suite}/{name}"] = CheckIngredients(
                    digest=hashed,
                    names=frozenset(given_words | list_words((*reached, *helpers))),
                    reads_all=any_name,
                    reads_text=whole_text,
                    cases=frozenset(used),
                    drivers=frozenset(asked),
                    words=frozenset(given_words),
                    code=(*own, *run),
                )
    return found


def reads_text(drivers: Path, name: str) -> bool:
    """Return whether a driver, or code that it uses from its module, may read the text of a submission."""
    return any(READS_TEXT.search(statement.text) for statement in parse_file(drivers).reach({name}))


def hash_reached_code(text: str, about: Sequence[CheckIngredients], shorten: Callable[[str], str] = str) -> str:
    """Return the hash of all code in a submission that these checks can reach, and of the code that runs when it is imported.

    Args:
        shorten: Removes parts of a statement that are known not to matter.
    """
    if any(check.reads_text for check in about):
        return hash_parts([text])
    module = parse_code(text)
    # A module's __getattr__ answers for names that the module does not contain.
    names = frozenset({"__getattr__"}).union(*(check.names for check in about))
    reached = [statement.text for statement in module.reach(names, imports=True)]
    if any(check.reads_all for check in about) or any(map(READS_ALL.search, reached)):
        reached = [statement.text for statement in module.reach(module.statements, imports=True)]
    return hash_parts([*map(shorten, reached), *module.at_import])


def find_question(home: AssignmentFiles, check: str) -> str:
    """Return the question of a check; nothing if its decorators do not name it as a literal."""
    suite, _, name = check.partition("/")
    asked = re.search(r"^@points\(.*question='([^']*)'", parse_file(home.checks[suite]).statements[name][-1].text, re.MULTILINE)
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


def _texts_in(value: object) -> Iterator[str]:
    """Yield all texts in plain data."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value.keys()
        yield from (text for item in value.values() for text in _texts_in(item))
    elif isinstance(value, (list, tuple)):
        yield from (text for item in value for text in _texts_in(item))
