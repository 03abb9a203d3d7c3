"""What a run is given: the data that checks need, and how a submission is graded."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Set
from dataclasses import dataclass, field

from grader.answers import Case, Mistake, MistakePair
from grader.report.model import CheckResult, Report


@dataclass(frozen=True)
class SuiteData:
    """The data that the checks of one assignment need.

    Attributes:
        cases: By suite and name.
        stub: The fingerprints of its functions.
        mistakes: Catalogued mistakes, with their evidence by check id as in reports.
        pairs: What two of them show together, where that was recorded.
    """

    cases: dict[str, dict[str, Case]]
    stub: dict[str, frozenset[str]]
    mistakes: list[Mistake]
    pairs: list[MistakePair]


@dataclass(frozen=True)
class GradingOptions:
    """How a submission is graded.

    Attributes:
        select: Ids of the questions to run, whether or not those they need are among them; None for all.
        keyword: An expression as for pytest's -k.
        changed: Called with the report before the first check and after each one.
        seed: The seed of all that chance decides.
        thorough: Whether to go on after a check that was lost.
        explains: Whether failures of visible checks say what the function received, which costs a call for each question.
        before: By id, earlier results of checks. Such a check is run again only if `again` names it, or if a question that its
            own needs was passed and is not now, or the other way round.
        again: See `before`.
        suites: Those of the grader's suites to run; None for all.
    """

    select: Collection[str] | None = None
    keyword: str = ""
    changed: Callable[[Report], None] | None = None
    seed: int = 0
    thorough: bool = True
    explains: bool = True
    before: Mapping[str, CheckResult] = field(default_factory=dict)
    again: Set[str] = frozenset()
    suites: Collection[str] | None = None
