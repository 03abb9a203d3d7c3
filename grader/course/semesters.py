"""How a class differs from earlier classes by more than chance.

Shares are compared by Fisher's exact test, correlations by Fisher's transformation. Of all comparisons of one table, those are
shown that the procedure of Benjamini and Hochberg ("Controlling the false discovery rate", 1995) accepts at CHANCE: of the
differences shown, about one in twenty is expected to be chance.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from grader.course.numbers import CheckStatistics, ClassStatistics

CHANCE = 0.05
FEWEST = 4  # submissions in which a check was run, to compare a correlation
SURE = 1 - 1e-6  # a correlation of 1 has no transformation
NEAR = 1e-7  # relative: of two probabilities that are equal but for rounding

Moved = Literal["", "up", "down"]


@dataclass(frozen=True)
class Share:
    """A part of the submissions of one class.

    Attributes:
        moved: For an earlier class, whether the share has gone up or down since by more than chance; otherwise "".
    """

    part: int
    whole: int
    moved: Moved = ""


@dataclass(frozen=True)
class Correlation:
    """The discrimination of a check in one class.

    Attributes:
        moved: As in `Share`.
    """

    value: float
    run: int
    moved: Moved = ""


@dataclass(frozen=True)
class ComparedRow:
    """One thing that differs between classes.

    Attributes:
        title: The title of a check or a question, or the name of a mistake.
        suite: Of a check; otherwise "".
        id: Of a check; of a mistake, all ids that it may have.
        note: What a reader must know, such as that the check has changed.
        cells: One for each class, this one first; None where there is nothing to compare.
    """

    title: str
    question: str
    suite: str
    id: str
    note: str
    cells: tuple[Share | Correlation | None, ...]

    @property
    def span(self) -> float:
        """Return the largest difference that counts."""
        own = _value(self.cells[0])
        return max((abs(_value(cell) - own) for cell in self.cells[1:] if cell and cell.moved), default=0.0)


@dataclass(frozen=True)
class SuiteDifference:
    """The checks that differ between this class and an earlier one, by id."""

    label: str
    added: tuple[str, ...]
    changed: tuple[str, ...]
    gone: tuple[str, ...]


@dataclass(frozen=True)
class ClassComparison:
    """A class beside earlier ones.

    Attributes:
        classes: The label and the numbers of each, this one first, without a label.
        shares: Questions and checks that are harder or easier.
        correlations: Checks whose discrimination differs.
        mistakes: Mistakes that appeared, disappeared, or became more or less frequent.
        suites: For each earlier class, the checks that differ.
    """

    classes: tuple[tuple[str, ClassStatistics], ...]
    shares: tuple[ComparedRow, ...]
    correlations: tuple[ComparedRow, ...]
    mistakes: tuple[ComparedRow, ...]
    suites: tuple[SuiteDifference, ...]


def compare_classes(own: ClassStatistics, earlier: Sequence[tuple[str, ClassStatistics]]) -> ClassComparison:
    """Return a class beside earlier ones of the same assignment, whatever the version.

    Args:
        earlier: The label and the numbers of each.
    """
    every = (("", own), *earlier)
    numbers = [one for _, one in every]
    return ClassComparison(
        classes=every,
        shares=_select([*_list_questions(numbers), *_list_checks(numbers, _share_of_check)]),
        correlations=_select(list(_list_checks(numbers, _correlation_of_check))),
        mistakes=_select([*_list_mistakes(numbers), *_list_unnamed(numbers)], _name_change),
        suites=tuple(_compare_suites(label, own, other) for label, other in earlier),
    )


def _compare_suites(label: str, own: ClassStatistics, other: ClassStatistics) -> SuiteDifference:
    now, then = own.checks, other.checks
    return SuiteDifference(
        label=label,
        added=tuple(check for check in now if check not in then),
        changed=tuple(check for check in now if check in then and now[check].digest != then[check].digest),
        gone=tuple(check for check in then if check not in now),
    )


def _list_questions(numbers: Sequence[ClassStatistics]) -> Iterator[ComparedRow]:
    for name, question in numbers[0].questions.items():
        known = [one.questions.get(name) for one in numbers]
        cells = tuple(Share(one.tried - one.full, one.tried) if one and one.tried else None for one in known)
        yield ComparedRow(f"{question.title}: not full marks", name, "", "", "", cells)


def _share_of_check(check: CheckStatistics) -> Share | None:
    return Share(check.failed, check.run) if check.run else None


def _correlation_of_check(check: CheckStatistics) -> Correlation | None:
    enough = check.discrimination is not None and check.run >= FEWEST
    return Correlation(check.discrimination or 0.0, check.run) if enough else None


def _list_checks(
    numbers: Sequence[ClassStatistics], read: Callable[[CheckStatistics], Share | Correlation | None]
) -> Iterator[ComparedRow]:
    for name, check in numbers[0].checks.items():
        known = [one.checks.get(name) for one in numbers]
        note = "the check has changed" if any(one and one.digest != check.digest for one in known) else ""
        cells = tuple(read(one) if one else None for one in known)
        yield ComparedRow(check.title, check.question, check.suite, name, note, cells)


def _list_mistakes(numbers: Sequence[ClassStatistics]) -> Iterator[ComparedRow]:
    """Yield the mistakes of each question; those that cannot be distinguished in one of the classes are one."""
    questions = dict.fromkeys(mistake.question for one in numbers for mistake in one.mistakes)
    for question in questions:
        groups: list[set[str]] = []
        for ids in (set(mistake.ids) for one in numbers for mistake in one.mistakes if mistake.question == question):
            groups = [group for group in groups if not group & ids] + [ids.union(*(group for group in groups if group & ids))]
        for group in groups:
            yield _compare_mistake(numbers, question, group)


def _compare_mistake(numbers: Sequence[ClassStatistics], question: str, group: set[str]) -> ComparedRow:
    cells, notes, often = [], [], Counter[str]()
    for one in numbers:
        own = [mistake for mistake in one.mistakes if mistake.question == question and group & set(mistake.ids)]
        for mistake in own:
            often[mistake.ids[0]] += mistake.count
        count = sum(mistake.count for mistake in own)
        tried = max(one.questions[question].tried, count) if question in one.questions else 0
        # A mistake that nobody had catalogued was made all the same: the numbers say nothing about it.
        known = bool(own) or one.catalogue is None or group <= set(one.catalogue)
        cells.append(Share(count, tried) if tried and known else None)
        if one.catalogue is None and one is not numbers[0] and not own:
            notes.append("the catalogue of that time is not known")
    first = min(group, key=lambda name: (-often[name], name))
    return ComparedRow(first, question, "", ", ".join(sorted(group)), "; ".join(dict.fromkeys(notes)), tuple(cells))


def _list_unnamed(numbers: Sequence[ClassStatistics]) -> Iterator[ComparedRow]:
    for name in numbers[0].questions:
        known = [one.questions.get(name) for one in numbers]
        cells = tuple(Share(one.unnamed, one.tried) if one and one.tried else None for one in known)
        yield ComparedRow("not in the catalogue", name, "", "", "", cells)


def _name_change(row: ComparedRow) -> str:
    """Return what became of a mistake since the first earlier class that differs."""
    own = row.cells[0]
    before = next(cell for cell in row.cells[1:] if cell and cell.moved)
    if before.moved == "up":
        return "grew" if _value(before) else "came"
    return "shrank" if _value(own) else "went"


def _select(rows: Sequence[ComparedRow], name: Callable[[ComparedRow], str] | None = None) -> tuple[ComparedRow, ...]:
    """Return the rows in which an earlier class differs by more than chance, the largest difference first.

    name: Puts what became of a row before its note.
    """
    tests = {
        (index, column): compute_chance(row.cells[0], cell)
        for index, row in enumerate(rows)
        for column, cell in enumerate(row.cells)
        if column and cell and row.cells[0]
    }
    accepted = choose_beyond_chance(tests)
    found = []
    for index, row in enumerate(rows):
        cells = tuple(
            _mark(cell, row.cells[0]) if cell and (index, column) in accepted else cell for column, cell in enumerate(row.cells)
        )
        if any(cell and cell.moved for cell in cells):
            marked = replace(row, cells=cells)
            found.append(replace(marked, note="; ".join(filter(None, (name(marked) if name else "", row.note)))))
    return tuple(sorted(found, key=lambda row: -row.span))


def _mark(cell: Share | Correlation, own: Share | Correlation | None) -> Share | Correlation:
    moved: Moved = "up" if _value(own) > _value(cell) else "down"
    return replace(cell, moved=moved)


def _value(cell: Share | Correlation | None) -> float:
    if isinstance(cell, Share):
        return cell.part / cell.whole
    return cell.value if cell else 0.0


def compute_chance(one: Share | Correlation | None, other: Share | Correlation | None) -> float:
    """Return the probability of a difference at least as unlikely as this one, if nothing had changed."""
    if isinstance(one, Share) and isinstance(other, Share):
        return compute_fisher(one.part, one.whole, other.part, other.whole)
    if isinstance(one, Correlation) and isinstance(other, Correlation):
        first, second = (math.atanh(max(-SURE, min(SURE, cell.value))) for cell in (one, other))
        error = math.sqrt(1 / (one.run - 3) + 1 / (other.run - 3))
        return 2 * (1 - statistics.NormalDist().cdf(abs(first - second) / error))
    return 1.0


def compute_fisher(part: int, whole: int, other_part: int, other_whole: int) -> float:
    """Return the p-value of Fisher's exact test, two-sided: over all tables with the same sums that are at most as likely."""
    both = part + other_part
    least, most = max(0, both - other_whole), min(both, whole)
    logs = [0.0]  # of the probabilities, up to a common factor; each from the one before
    for count in range(least, most):
        ways = (both - count) * (whole - count) / ((count + 1) * (other_whole - both + count + 1))
        logs.append(logs[-1] + math.log(ways))
    highest = max(logs)
    weights = [math.exp(value - highest) for value in logs]
    own = weights[part - least]
    return min(1.0, sum(weight for weight in weights if weight <= own * (1 + NEAR)) / sum(weights))


def choose_beyond_chance(tests: Mapping[tuple[int, int], float]) -> set[tuple[int, int]]:
    """Return the tests that are accepted, by the procedure of Benjamini and Hochberg."""
    ranked = sorted(tests, key=tests.__getitem__)
    last = max((rank for rank, test in enumerate(ranked, 1) if tests[test] <= CHANCE * rank / len(ranked)), default=0)
    return set(ranked[:last])
