"""What each check is there for: solutions/NAME/catches.toml names mistakes, and a proof holds each check to its own.

A check that fails for some mistake need not test what its title says: one named "clipped to 1 by default" is no better than its
neighbors unless it catches a mistake about clipping. The table stands beside the solution, because students read the checks.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from grader.assignment import SUITES, AssignmentFiles, UsageError
from grader.course.handwritten import describe_faults
from grader.report.model import CheckResult

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Finding = tuple[str, bool | None]  # see boundary.py

MOST_SUGGESTED = 2  # mistakes for a check
HEAD = "# What each check is there for: for each check, the mistakes that carry its idea. `verify` holds it to them.\n"


class _Catches(BaseModel):
    """The file: for each suite, the mistakes of each check."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    visible: dict[str, tuple[str, ...]] = {}
    hidden: dict[str, tuple[str, ...]] = {}


@dataclass(frozen=True)
class CheckIdea:
    """The mistakes that a check is there for.

    Attributes:
        check: The check's id in reports, such as "visible/test_by_hand".
        mistakes: Their names. A name means all placements of a mistake; "NAME, PLACE" means one of them.
        line: The line of the file; 0 if it is not found.
    """

    check: str
    mistakes: tuple[str, ...]
    line: int = 0

    def means(self, check: str) -> bool:
        """Return whether it is about this check; all parameters of a check count as the same check."""
        return self.check in (check, check.partition("[")[0])


def get_ideas_path(home: AssignmentFiles) -> Path:
    """Return the path of catches.toml."""
    return home.solution / "catches.toml"


def read_ideas(home: AssignmentFiles) -> list[CheckIdea]:
    """Return the entries of solutions/NAME/catches.toml; none without the file.

    Raises:
        UsageError: If it cannot be read.
    """
    path = get_ideas_path(home)
    if not path.is_file():
        return []
    try:
        text = path.read_text(encoding="utf-8")
        found = _Catches.model_validate(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: {error}") from error
    except ValidationError as error:
        suite, check = [*map(str, error.errors()[0]["loc"]), "", ""][:2]
        line = _find_line(text, suite, check)
        where = f"{path}:{line}" if line else str(path)
        raise UsageError(f"{where}: {describe_faults(_Catches, error.errors())}") from error
    return [
        CheckIdea(f"{suite}/{check}", names, _find_line(text, suite, check))
        for suite in SUITES
        for check, names in getattr(found, suite).items()
    ]


def _find_line(text: str, suite: str, check: str) -> int:
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[\s*(\w+)\s*\]", line):
            table = header[1]
            if table == suite and not check:
                return number
        elif table == suite and re.match(rf"""\s*["']?{re.escape(check)}["']?\s*=""", line):
            return number
    return 0


def find_missed(ideas: Sequence[CheckIdea], caught: Mapping[str, Set[str]]) -> Iterator[str]:
    """Yield a line for each mistake that a check is there for and does not catch.

    Args:
        caught: For each mistake, by id, the checks that catch it.
    """
    for idea in ideas:
        for name in idea.mistakes:
            meant = [one for one in caught if name in (one, one.partition(", ")[0])]
            if not meant:
                yield f"{idea.check} should catch the mistake {name}, which mistakes.py does not declare"
            for one in meant:
                if not any(idea.means(check) for check in caught[one]):
                    yield f"{idea.check} should catch the mistake {one} but does not"


def judge_ideas(ideas: Sequence[CheckIdea], checks: Sequence[CheckResult], caught: Mapping[str, Set[str]]) -> Iterator[Finding]:
    """Yield what a proof says of the ideas of checks; nothing if the assignment declares none.

    Args:
        checks: The checks that are proven by single mistakes: those that do not test several questions together.
        caught: See `find_missed`.
    """
    if not ideas:
        return
    missed = list(find_missed(ideas, caught))
    yield from ((line, True) for line in missed)
    declared = [check.id for check in checks if any(idea.means(check.id) and idea.mistakes for idea in ideas)]
    if not missed:
        yield f"{len(declared)} of {len(checks)} checks catch the mistakes listed for them in catches.toml", False
    for check in (check.id for check in checks if check.id not in declared):
        yield f"{check} has no mistake listed in catches.toml", None
    for line in _find_unspecific(ideas, checks, caught):
        yield line, None


def _find_unspecific(
    ideas: Sequence[CheckIdea], checks: Sequence[CheckResult], caught: Mapping[str, Set[str]]
) -> Iterator[str]:
    """Yield the checks whose mistakes all fail every check of the same question and suite, so that none shows an idea."""
    for check in checks:
        names = {name for idea in ideas if idea.means(check.id) for name in idea.mistakes}
        meant = [one for one in caught if one in names or one.partition(", ")[0] in names]
        beside = {one.id for one in checks if (one.question, one.suite) == (check.question, check.suite)}
        if len(beside) > 1 and meant and all(beside <= caught[one] for one in meant):
            yield f"{check.id} names only mistakes that fail all {len(beside)} {check.suite} checks of {check.question}"


def suggest_ideas(
    ideas: Sequence[CheckIdea], checks: Mapping[str, str], caught: Mapping[str, Set[str]]
) -> dict[str, tuple[str, ...]]:
    """Return, for each check without an entry, the mistakes that say most about it: those that fewest other checks catch.

    An empty entry counts: its author has decided. A check gets no mistake if all that it catches fail every check of the same
    question and suite, too.

    Args:
        checks: The question of each check.
        caught: See `find_missed`.
    """
    found: dict[str, tuple[str, ...]] = {}
    for check, question in checks.items():
        if any(idea.means(check) for idea in ideas):
            continue
        suite = check.partition("/")[0]
        beside = {one for one, of in checks.items() if of == question and one.partition("/")[0] == suite}
        own = [name for name, failed in caught.items() if check in failed and (len(beside) == 1 or not beside <= failed)]
        own.sort(key=lambda name: len(caught[name]))
        found[check] = tuple(name for name in own[:MOST_SUGGESTED] if len(caught[name]) == len(caught[own[0]]))
    return found


def add_idea(text: str, check: str, mistakes: Sequence[str]) -> str:
    """Return the text of a catches.toml with an entry for one more check, below the others of its suite.

    Raises:
        UsageError: If the file would not be valid, or would change elsewhere: it is written in another way than this.
    """
    suite, _, name = check.partition("/")
    made = _insert_entry(text, suite, name, mistakes)
    before = tomllib.loads(text)
    expected = before | {suite: before.get(suite, {}) | {name: [*mistakes]}}
    try:
        added = tomllib.loads(made) == expected and name not in before.get(suite, {})
    except tomllib.TOMLDecodeError:
        added = False
    if not added:
        entry = f"{name} = {json.dumps([*mistakes], ensure_ascii=False)}"
        raise UsageError(
            f"nothing was written: catches.toml cannot take an entry for {check}; write by hand in [{suite}]: {entry}"
        )
    return made


def _insert_entry(text: str, suite: str, name: str, mistakes: Sequence[str]) -> str:
    """Return the text with an entry at the end of the suite's table."""
    entry = f"{json.dumps(name) if '[' in name else name} = {json.dumps([*mistakes], ensure_ascii=False)}"
    lines = (text or HEAD).rstrip("\n").splitlines()
    headers = [index for index, line in enumerate(lines) if line.lstrip().startswith("[")]
    begin = next((index for index in headers if re.match(rf"\s*\[\s*{suite}\s*\]", lines[index])), None)
    if begin is None:
        return "\n".join([*lines, "", f"[{suite}]", entry]) + "\n"
    end = next((index for index in headers if index > begin), len(lines))
    while not lines[end - 1].strip():
        end -= 1
    return "\n".join([*lines[:end], entry, *lines[end:]]) + "\n"
