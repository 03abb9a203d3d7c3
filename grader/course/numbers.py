"""How a class did, in numbers without names: a later class is compared with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pydantic import BaseModel, model_validator

from grader.course.insight import ClassInsight
from grader.course.results import SubmissionResult
from grader.stored import StoredModel

if TYPE_CHECKING:
    from typing_extensions import Self


class CheckStatistics(BaseModel, frozen=True):
    """The results of a class in one check; see `insight.CheckInsight`.

    Attributes:
        digest: The hash of everything that decides it, except the submission.
    """

    question: str
    suite: str
    title: str
    digest: str
    failed: int
    run: int
    discrimination: float | None


class QuestionStatistics(BaseModel, frozen=True):
    """The results of a class in one question.

    Attributes:
        tried: How many submissions hold work on it that was graded.
        full: How many of them have full marks.
        unnamed: How many give a wrong answer that no mistake of the catalogue explains.
    """

    title: str
    tried: int
    full: int
    unnamed: int


class MistakeStatistics(BaseModel, frozen=True):
    """How often a mistake was recognized.

    Attributes:
        ids: More than one where several mistakes explain the submissions equally well.
    """

    question: str
    ids: tuple[str, ...]
    count: int


class ClassStatistics(StoredModel):
    """A class in numbers: nothing in it belongs to one student.

    Attributes:
        version: Of the suite.
        suite: Hash of the checks.
        graded: How many submissions were graded.
        median, mean, full: The median and the mean of their points, and how many have full marks.
        catalogue: The ids of the mistakes that could be recognized; None if that is not known.
    """

    assignment: str
    version: str
    suite: str
    graded: int
    median: float
    mean: float
    max_points: float
    full: int
    questions: dict[str, QuestionStatistics]
    checks: dict[str, CheckStatistics]
    mistakes: list[MistakeStatistics]
    catalogue: list[str] | None

    @model_validator(mode="after")
    def _require_parts(self) -> Self:
        parts = [(check.failed, check.run) for check in self.checks.values()]
        parts += [(number, one.tried) for one in self.questions.values() for number in (one.full, one.unnamed)]
        if not all(0 <= part <= whole for part, whole in (*parts, (self.full, self.graded))):
            raise ValueError("a part is larger than its whole")
        return self


def describe_class(
    shown: ClassInsight, results: Mapping[str, SubmissionResult | None], catalogue: Iterable[str] | None
) -> ClassStatistics:
    """Return a class in numbers.

    Args:
        shown: The findings about it.
        results: The results by entry.
        catalogue: As in `ClassStatistics`.
    """
    digests: dict[str, str] = {}
    for result in results.values():
        for check, digest in result.checks.items() if result else ():
            digests.setdefault(check, digest)
    unnamed = Counter[str]()
    for wrong in shown.unknown:
        unnamed[wrong.question] += len(wrong.submissions)
    course = shown.course
    return ClassStatistics(
        assignment=course.assignment.name,
        version=course.assignment.version,
        suite=course.suite,
        graded=len(shown.points),
        median=shown.median,
        mean=shown.mean,
        max_points=shown.max_points,
        full=shown.full,
        questions={
            one.question.id: QuestionStatistics(
                title=one.question.title, tried=one.tried, full=one.counts.get("full", 0), unnamed=unnamed[one.question.id]
            )
            for one in shown.questions
        },
        checks={
            one.check.id: CheckStatistics(
                question=one.check.question,
                suite=one.check.suite,
                title=one.check.title,
                digest=digests.get(one.check.id, ""),
                failed=one.failed,
                run=one.run,
                discrimination=one.discrimination,
            )
            for one in shown.checks
        },
        mistakes=[MistakeStatistics(question=one.question, ids=one.ids, count=len(one.submissions)) for one in shown.mistakes],
        catalogue=None if catalogue is None else sorted(catalogue),
    )
