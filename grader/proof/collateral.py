"""Measure the cost of each mistake: enough on its own question, almost nothing on others, and visible to students.

Checks of end-to-end questions do not count, because a mistake in any part must cost points there too.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from grader.assignment import Assignment, AssignmentFiles, UsageError
from grader.course.handwritten import suggest
from grader.proof.catalogue import Variant
from grader.proof.entries import read_entries
from grader.report.model import CheckResult

BESIDE = 1 / 10  # maximum cost on other questions, as a share of the cost on its own question
ITS_OWN = 1 / 5  # minimum cost, as a share of the points of its question
MOST_EXCEPTIONS = 5
ROUNDING = 1e-9  # of sums of points

Finding = tuple[str, bool | None]  # see boundary.py


class CollateralException(BaseModel):
    """A mistake that may cost more on other questions, or less on its own, than others may.

    Attributes:
        mistake: Its name, or the name of one of its placements.
        reason: The reason.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    mistake: str
    reason: str


def read_exceptions(home: AssignmentFiles) -> list[CollateralException]:
    """Return the exceptions in solutions/NAME/collateral.toml."""
    return read_entries(home.solution / "collateral.toml", "collateral", CollateralException)


def find_unknown_exceptions(home: AssignmentFiles, mistakes: Sequence[Variant]) -> Iterator[tuple[int, str]]:
    """Yield the line of each exception for a mistake that the catalogue does not have, and what is wrong."""
    known = {name: one for one in mistakes for name in (one.id, one.idea)}
    with contextlib.suppress(UsageError):  # reported when the file is read
        for entry in read_exceptions(home):
            if entry.mistake not in known:
                text = (home.solution / "collateral.toml").read_text(encoding="utf-8")
                line = text[: max(text.find(entry.mistake), 0)].count("\n") + 1
                yield line, f"there is no mistake {entry.mistake!r} in mistakes.py; {suggest(entry.mistake, known)}"


@dataclass(frozen=True)
class MistakeCost:
    """The cost of one mistake in both suites together.

    Attributes:
        question_points: The points of its question.
        lost: The failed checks of its own question.
        beside: The failed checks of other questions.
    """

    mistake: Variant
    question_points: float
    lost: tuple[CheckResult, ...]
    beside: tuple[CheckResult, ...]

    @property
    def own_points(self) -> float:
        """The points that it costs on its own question."""
        return sum(check.max_points for check in self.lost)

    @property
    def points_beside(self) -> float:
        """The points that it costs on other questions."""
        return sum(check.max_points for check in self.beside)

    @property
    def share(self) -> float:
        """The cost on other questions, as a share of the cost on its own."""
        return self.points_beside / max(self.own_points, ROUNDING) if self.points_beside else 0.0

    @property
    def is_invisible(self) -> bool:
        """Whether only hidden checks catch it."""
        noticed = [*self.lost, *self.beside]
        return bool(noticed) and all(check.suite != "visible" for check in noticed)

    def faults(self) -> Iterator[str]:
        """Yield why it costs too much or too little, if it does."""
        name, question = self.mistake.id, self.mistake.question
        if not self.lost:
            return  # which is a separate fault
        if self.mistake.form:
            failed = [*self.lost, *self.beside]
            if len(failed) > 1:
                yield f"the mistake {name} has form=True and must fail one check, but fails {len(failed)}: {_names(failed)}"
            return
        if self.points_beside > BESIDE * self.own_points + ROUNDING:
            limit = f"more than a tenth of the {self.own_points:g} points on its own question"
            yield f"the mistake {name} costs {self.points_beside:g} points outside {question}, {limit}: {_names(self.beside)}"
        if self.own_points < ITS_OWN * self.question_points - ROUNDING:
            costs = f"{self.own_points:g} of {self.question_points:g} points of {question}"
            yield f"the mistake {name} costs {costs}, less than a fifth"


def measure_cost(assignment: Assignment, checks: Sequence[CheckResult], mistake: Variant, lost: set[str]) -> MistakeCost:
    """Return the cost of a mistake.

    Args:
        checks: The checks that count, as graded on the solution.
        lost: The ids of the checks that the mistake fails.
    """
    failed = [check for check in checks if check.id in lost]
    points = assignment.question(mistake.question).points
    return MistakeCost(
        mistake,
        points.visible + points.hidden,
        tuple(check for check in failed if check.question == mistake.question),
        tuple(check for check in failed if check.question != mistake.question),
    )


def judge_costs(costs: Sequence[MistakeCost], exceptions: Sequence[CollateralException]) -> Iterator[Finding]:
    """Yield the cost of each mistake on other questions, the faults in it, and the largest cost."""
    met: set[CollateralException] = set()
    too_much = False
    excused: dict[str, CollateralException] = {entry.mistake: entry for entry in exceptions}
    for cost in costs:
        faults = list(cost.faults())
        entry = excused.get(cost.mistake.id) or excused.get(cost.mistake.idea)
        if faults and entry is not None:
            met.add(entry)
            yield from ((f"{fault} (allowed: {entry.reason})", None) for fault in faults)
        else:
            too_much |= bool(faults)
            yield from ((fault, True) for fault in faults)
        if cost.points_beside and not faults:
            points = f"{cost.points_beside:g} points on other questions and {cost.own_points:g} on its own"
            yield f"{cost.mistake.id} costs {points}: {_names(cost.beside)}", None
    for entry in exceptions:
        if entry not in met:
            yield f"collateral.toml is stale: {entry.mistake} needs no exception, or is no longer in the catalogue", True
    if len(exceptions) > MOST_EXCEPTIONS:
        yield f"collateral.toml allows {len(exceptions)} exceptions; at most {MOST_EXCEPTIONS} are allowed", True
    yield _largest(costs), None if too_much else False


def judge_visibility(costs: Sequence[MistakeCost]) -> Iterator[Finding]:
    """Yield each mistake that no visible check catches, and their number."""
    copies = [cost for cost in costs if cost.mistake.copies_answers]
    invisible = [cost for cost in costs if cost.is_invisible and cost not in copies]
    for cost in invisible:
        yield f"the mistake {cost.mistake.id} passes every visible check; it fails {_names([*cost.lost, *cost.beside])}", True
    for cost in copies:
        if not cost.is_invisible:
            yield (
                f"the mistake {cost.mistake.id} is marked copies_answers=True, but fails visible checks",
                True,
            )
    aside = f" ({len(copies)} copy its answers)" if copies else ""
    yield f"{len(invisible)} of {len(costs)} mistakes pass all visible checks{aside}", bool(invisible)


def _largest(costs: Sequence[MistakeCost]) -> str:
    worst = max(costs, key=lambda cost: cost.share, default=None)
    if worst is None or not worst.share:
        return "largest collateral: no mistake costs a point outside its own question"
    return f"largest collateral: {worst.points_beside:g} of {worst.own_points:g} points ({worst.mistake.id})"


def _names(checks: Sequence[CheckResult]) -> str:
    return ", ".join(f"{check.id} ({check.question})" for check in checks)
