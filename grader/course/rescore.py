"""Scoring a class again, from its stored results: by another policy or other adjustments, or after results have changed.

Nothing is run.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel

from grader.assignment import UsageError
from grader.course import adjustments as by_hand
from grader.course.adjustments import QuestionAdjustment, parse_adjustments, read_adjustments_text
from grader.course.gradebook import write_gradebooks
from grader.course.policy import Policy, parse_policy, read_policy_text
from grader.course.results import ResultsFolder
from grader.course.scoring import Score, ScoreStep, find_unscored, find_unscored_students, identify_student, score_class
from grader.report.model import write_atomically
from grader.stored import StoredModel, read_stored

SCORES = "scores.json"
POLICY = "policy.toml"
HISTORY = "scores-history"


class ScoresFile(StoredModel):
    """The content of scores.json.

    Attributes:
        policy: The text of the file by which they were made; "" for points as they are.
        adjustments: The text of adjustments.csv; "" where nothing was changed by hand.
    """

    assignment: str
    policy: str = ""
    adjustments: str = ""
    scores: list[Score]


class ScoreChange(BaseModel):
    """A student whose score has moved.

    Attributes:
        before, after: Points; None where there are none.
        why: The causes, then the steps that went and came.
    """

    who: str
    entry: str
    before: Decimal | None
    after: Decimal | None
    why: tuple[str, ...]


def rescore(
    folder: ResultsFolder, file: Path | None = None, output: Path | None = None, adjustments: Path | None = None
) -> list[ScoreChange]:
    """Score the class by a policy and adjustments, write the scores, and return whose score moved.

    This writes scores.json, the gradebooks, policy.toml and adjustments.csv. The last two are kept
    byte for byte; scores that are replaced go to scores-history/. The scores are compared with
    those that were stored; where there are none yet, with those by the policy and the adjustments
    applied before, or with points as they are.

    Args:
        file: The policy; None for the policy.toml of the class, if it has one.
        output: A folder to write to instead of the class's, which then stays as it is.
        adjustments: The adjustments; None for the adjustments.csv of the class, if it has one.

    Raises:
        UsageError: If policy or adjustments do not fit the class, or a file cannot be read.
    """
    course = folder.course()
    results = folder.of(course)
    own, rows_of = folder.path / POLICY, folder.path / by_hand.NAME
    applied = _Rules(
        read_policy_text(own) if own.is_file() else "", read_adjustments_text(rows_of) if rows_of.is_file() else ""
    )
    asked = _Rules(
        read_policy_text(file) if file else applied.policy,
        read_adjustments_text(adjustments) if adjustments else applied.adjustments,
    )
    policy, rows = asked.parse(str(file or own), str(adjustments or rows_of))
    by_hand.require_known_questions(course, rows, str(adjustments or rows_of))
    old = read_scores(folder)
    new = score_class(course, results, policy, rows)
    try:
        # Scores of today's results under the old rules show whether policy, adjustments or results moved a score.
        was = (_Rules(old.policy, old.adjustments) if old else applied).parse(str(folder.path / SCORES))
        between = score_class(course, results, *was)
        ruled = score_class(course, results, policy, was[1])
    except UsageError:
        between = ruled = []  # it names a question that is gone, so the causes cannot be distinguished
    changes = _changes(old.scores if old else between, between, ruled, new)
    target = output or folder.path
    stored = ScoresFile(assignment=course.assignment.name, policy=asked.policy, adjustments=asked.adjustments, scores=new)
    whole = stored.model_dump_json(indent=1) + "\n"
    _keep(target, whole)
    write_gradebooks(target, course, new, policy.canvas_column)
    for name, text in ((POLICY, asked.policy), (by_hand.NAME, asked.adjustments)):
        if text or (target / name).is_file():
            write_atomically(target / name, text)
    # Last, since it holds its rules as well: whatever ends this before leaves the old scores, with the old rules.
    write_atomically(target / SCORES, whole)
    return changes


class _Rules(NamedTuple):
    """The texts of the files that scores are made by."""

    policy: str
    adjustments: str

    def parse(self, policy: str, adjustments: str = "") -> tuple[Policy, tuple[QuestionAdjustment, ...]]:
        """Return what the files say; the arguments are their names, for error messages."""
        return parse_policy(self.policy, policy), parse_adjustments(self.adjustments, adjustments or policy)


def rescore_and_report(
    folder: ResultsFolder, file: Path | None = None, output: Path | None = None, adjustments: Path | None = None
) -> Iterator[str]:
    """Score the class as `rescore` does, and yield what to print."""
    changes = rescore(folder, file, output, adjustments)
    target = output or folder.path
    new = ScoresFile.model_validate_json((target / SCORES).read_bytes())
    for change in changes:
        yield f"{change.who} ({change.entry}): {_points(change.before)} -> {_points(change.after)}"
        yield from (f"    {line}" for line in change.why)
    yield f"{len(changes)} of {len(new.scores)} scores changed"
    for status in ("pending", "not final"):
        if waiting := [one.entry for one in new.scores if one.status == status]:
            some = ", ".join(waiting[:5]) + (", ..." if len(waiting) > 5 else "")
            yield f"{len(waiting)} without points ({status}): {some}; run `course` again, then `regrade`"
    course = folder.course()
    policy, rows = _Rules(new.policy, new.adjustments).parse(str(target / SCORES))
    unknown = {
        "the policy": find_unscored_students(course, new.scores, policy),
        by_hand.NAME: find_unscored(course, new.scores, (row.student for row in rows)),
    }
    for what, names in unknown.items():
        if names:
            yield (
                f"{what} names students without a score: {', '.join(names)}; check the spelling. "
                "The id of a submission is valid only until a newer submission counts"
            )
    rules = [name for name in (POLICY, by_hand.NAME) if (target / name).is_file()]
    yield f"wrote {', '.join([SCORES, 'gradebook.csv', 'gradescope.csv', 'canvas.csv', *rules])} to {target}"


def read_scores(folder: ResultsFolder) -> ScoresFile | None:
    """Return the scores that were written last, or None where there are none yet.

    Raises:
        UsageError: If the file is damaged.
    """
    path = folder.path / SCORES
    try:
        return read_stored(path, ScoresFile)
    except FileNotFoundError:
        return None


def _keep(target: Path, whole: str) -> None:
    """Copy scores.json, if it is about to change, to the history, under the next number."""
    path, history = target / SCORES, target / HISTORY
    old = path.read_text(encoding="utf-8") if path.is_file() else whole
    kept = sorted(history.glob("scores-*.json"))
    # One that was ended after this, and before the scores were written, has kept them already.
    if old != whole and not (kept and kept[-1].read_text(encoding="utf-8") == old):
        write_atomically(history / f"scores-{len(kept) + 1:04d}.json", old)


def _changes(before: list[Score], between: list[Score], ruled: list[Score], after: list[Score]) -> list[ScoreChange]:
    """Return whose score moved.

    Args:
        between: Scores of today's results under the old rules.
        ruled: The same under today's policy, with the old adjustments.
    """
    old, middle, late, new = (
        {identify_student(one.entry, one.student): one for one in part} for part in (before, between, ruled, after)
    )
    changes = []
    for key in [*new, *(key for key in old if key not in new)]:
        was, now = old.get(key), new.get(key)
        one = now or was
        assert one is not None  # each key is of one of the two
        points = (was.points if was else None, now.points if now else None)
        if points[0] == points[1] and (was and was.status) == (now and now.status):
            continue
        who = one.student.name or one.student.email or one.student.sid or one.entry
        why = tuple(_why(was, middle.get(key), late.get(key), now))
        changes.append(ScoreChange(who=who, entry=one.entry, before=points[0], after=points[1], why=why))
    return changes


def _why(was: Score | None, then: Score | None, ruled: Score | None, now: Score | None) -> Iterator[str]:
    if was is None:
        yield "new in the class"
    elif now is None:
        yield "no longer in the class"
    else:
        if was.entry != now.entry:
            yield f"a newer submission counts, not {was.entry}"
        elif then and (then.points, then.status) != (was.points, was.status):
            yield "its results changed"
        if then and ruled and (then.points, then.status) != (ruled.points, ruled.status):
            yield "the policy changed"
        if ruled and (ruled.points, ruled.status) != (now.points, now.status):
            yield f"{by_hand.NAME} changed"
        if was.status != now.status:
            yield f"it was {was.status}, and is {now.status}"
    if was and now and was.points is not None and now.points is not None:
        gone, come = _lines(was.steps), _lines(now.steps)
        yield from (f"- {line}" for line in gone if line not in come)
        yield from (f"+ {line}" for line in come if line not in gone)


def _lines(steps: tuple[ScoreStep, ...]) -> list[str]:
    return [f"{step.what} ({step.after - step.before:+f})" for step in steps]


def _points(points: Decimal | None) -> str:
    return "no points" if points is None else f"{points:f}"
