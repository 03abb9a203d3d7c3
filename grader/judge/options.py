"""The inputs of a run: the data that checks need, and options of grading."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Set
from dataclasses import dataclass, field

from grader.answers import Case, Mistake, MistakePair
from grader.report.model import CheckResult, Report


@dataclass(frozen=True)
class SuiteData:
    """The data that the checks of one assignment need.

    Attributes:
        cases: The stored cases, by suite and name.
        stub: The fingerprints of the functions of the stub.
        mistakes: Catalogued mistakes, with their evidence by check id as in reports.
        pairs: The recorded evidence of two mistakes together.
    """

    cases: dict[str, dict[str, Case]]
    stub: dict[str, frozenset[str]]
    mistakes: list[Mistake]
    pairs: list[MistakePair]


@dataclass(frozen=True)
class GradingOptions:
    """Options for grading a submission.

    Attributes:
        select: Ids of the questions to run, whether or not those they need are among them; None for all.
        keyword: An expression as for pytest's -k.
        changed: Called with the report before the first check and after each one.
        seed: The random seed.
        thorough: Whether to continue after a failed check.
        explains: Whether failures of visible checks say what the function received, which costs a call for each question.
        before: Earlier results of checks, by id. Such a check runs again only if `again` names it, or if a question that its
            own question needs passed before and fails now, or the reverse.
        again: See `before`.
        suites: The grader's suites to run; None for all.
        jobs: How many calls of the submission to make side by side, where the sandbox can.
        margin: Multiplies all tolerances. A proof asks whether the solution would pass with smaller ones.
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
    jobs: int = 1
    margin: float = 1.0
