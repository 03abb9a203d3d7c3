"""Score a class again from its stored results: by other rules, or after results have changed. Nothing is run."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel

from grader.assignment import UsageError
from grader.course import adjustments as by_hand
from grader.course.gradebook import CANVAS_BOOK, GRADEBOOKS, is_without_canvas_id, write_gradebooks
from grader.course.policy import Policy
from grader.course.results import Course, ResultsFolder, list_numbered, name_next
from grader.course.rules import RuleFiles, read_rule_files
from grader.course.scoring import Score, ScoreStep, find_unscored, find_unscored_students, identify_student, score_class
from grader.report.model import write_atomically
from grader.stored import StoredModel, read_stored

SCORES = "scores.json"
POLICY = "policy.toml"
HISTORY = "scores-history"


class ScoresFile(StoredModel):
    """The content of scores.json.

    Attributes:
        policy: The text of the policy file; "" if there is none, so that points stay as they are.
        extensions: The text of the policy's file of extensions; "" if it names none.
        adjustments: The text of adjustments.csv; "" if nothing is changed by hand.
    """

    assignment: str
    policy: str = ""
    extensions: str = ""
    adjustments: str = ""
    scores: list[Score]

    @property
    def rules(self) -> RuleFiles:
        """Return the texts by which the scores were made."""
        return RuleFiles(self.policy, self.extensions, self.adjustments)


class ScoreChange(BaseModel):
    """A student whose score has changed.

    Attributes:
        before, after: Points; None without a score.
        why: The causes, then the removed and the added steps.
    """

    who: str
    entry: str
    before: Decimal | None
    after: Decimal | None
    why: tuple[str, ...]


class Rescoring(NamedTuple):
    """New scores of a class.

    Attributes:
        course: The class.
        scores: The new scores.
        changes: The students whose score differs from the stored one.
        rules: The texts by which the scores are made.
        policy: What the policy among them says.
        is_first: Whether the class had no stored scores yet.
        written: The files that were written.
    """

    course: Course
    scores: list[Score]
    changes: list[ScoreChange]
    rules: RuleFiles
    policy: Policy
    is_first: bool
    written: tuple[str, ...] = ()


def rescore(folder: ResultsFolder, file: Path | None = None, adjustments: Path | None = None) -> Rescoring:
    """Score the class by a policy and adjustments, and write the scores.

    This writes scores.json, the gradebooks, and exact copies of the rules: policy.toml with the table
    of extensions that it names, and adjustments.csv. Replaced scores go to scores-history/.

    Args and Raises: See `compute_scores`.
    """
    found = compute_scores(folder, file, adjustments)
    return found._replace(written=tuple(write_scores(folder.path, found)))


def compute_scores(
    folder: ResultsFolder, file: Path | None = None, adjustments: Path | None = None, course: Course | None = None
) -> Rescoring:
    """Return the scores of the class by a policy and adjustments; write nothing.

    The new scores are compared with the stored ones; if there are none yet, with those by the previous
    rules, or with plain points.

    Args:
        file: The policy; None for the policy.toml of the class, if it has one.
        adjustments: The adjustments; None for the adjustments.csv of the class, if it has one.
        course: The class as it would be; None for the class as it is.

    Raises:
        UsageError: If policy or adjustments do not fit the class, or a file cannot be read.
    """
    course = course or folder.course()
    results = folder.of(course)
    own, own_rows = folder.path / POLICY, folder.path / by_hand.NAME
    source, source_rows = file or own, adjustments or own_rows
    rules = read_rule_files(file or _existing(own), adjustments or _existing(own_rows))
    policy, rows = rules.parse_policy(str(source)), rules.parse_adjustments(str(source_rows))
    by_hand.require_known_questions(course, rows, str(source_rows))
    old = read_scores(folder)
    new = score_class(course, results, policy, rows)
    try:
        # Scores of the new results by the old rules show whether results, policy or adjustments changed a score.
        applied = old.rules if old else read_rule_files(_existing(own), _existing(own_rows))
        if applied == rules:
            between = ruled = new
        else:
            before = applied.parse_adjustments(str(folder.path / SCORES))
            between = score_class(course, results, applied.parse_policy(str(folder.path / SCORES)), before)
            ruled = score_class(course, results, policy, before)
    except UsageError:
        between = ruled = []  # they name a question or a file that no longer exists, so the causes cannot be distinguished
    changes = _changes(old.scores if old else between, between, ruled, new)
    return Rescoring(course, new, changes, rules, policy, old is None)


def write_scores(target: Path, found: Rescoring) -> list[str]:
    """Write scores, gradebooks and rules to the folder of the class, and return the names of these files."""
    rules = found.rules
    whole = ScoresFile(assignment=found.course.assignment.name, scores=found.scores, **rules._asdict())
    text = whole.model_dump_json(indent=1) + "\n"
    _keep(target, text)
    write_gradebooks(target, found.course, found.scores, found.policy.canvas_column)
    extensions = [found.policy.late.extensions_file] if found.policy.late and found.policy.late.extensions_file else []
    for name in extensions:
        write_atomically(target / name, rules.extensions)
    ruled = [(POLICY, rules.policy), (by_hand.NAME, rules.adjustments)]
    for name, content in ruled:
        if content or (target / name).is_file():
            write_atomically(target / name, content)
    # Last, because it contains its rules: if this is interrupted before, the old scores stay with the old rules.
    write_atomically(target / SCORES, text)
    return [SCORES, *GRADEBOOKS, *(name for name, _ in ruled if (target / name).is_file()), *extensions]


def rescore_and_report(folder: ResultsFolder, file: Path | None = None, adjustments: Path | None = None) -> Iterator[str]:
    """Score the class as `rescore` does, and yield the lines to print."""
    found = rescore(folder, file, adjustments)
    yield from describe_rescoring(found)
    yield f"wrote {', '.join(found.written)} to {folder.path}"


def preview_rescoring(folder: ResultsFolder, file: Path | None = None, adjustments: Path | None = None) -> Iterator[str]:
    """Yield what `rescore_and_report` would say of the new scores, and write nothing."""
    yield from describe_rescoring(compute_scores(folder, file, adjustments))
    yield "nothing changed yet: scores and pages are as before; leave out --preview to apply this"


def describe_rescoring(found: Rescoring) -> Iterator[str]:
    """Yield whose scores change and why, how many rise and fall, who has none, and whom the rules misspell."""
    scores, changes = found.scores, found.changes
    for change in changes:
        yield f"{change.who} ({change.entry}): {_points(change.before)} -> {_points(change.after)}"
        yield from (f"    {line}" for line in change.why)
    if found.is_first and not changes:
        yield f"{sum(one.points is not None for one in scores)} of {len(scores)} scores computed"
    else:
        moves = [one.after - one.before for one in changes if one.before is not None and one.after is not None]
        parts = [f"{sum(move > 0 for move in moves)} rise", f"{sum(move < 0 for move in moves)} fall"] if moves else []
        yield f"{len(changes)} of {len(scores)} scores changed" + (f": {', '.join(parts)}" if parts else "")
    for status in ("pending", "not final"):
        if waiting := [one.entry for one in scores if one.status == status]:
            some = ", ".join(waiting[:5]) + (", ..." if len(waiting) > 5 else "")
            yield f"{len(waiting)} without points ({status}): {some}; run `course` again"
    if anonymous := sum(is_without_canvas_id(found.course, one) for one in scores):
        yield (
            f"{CANVAS_BOOK} has no row for {anonymous} student{'s' * (anonymous != 1)}: "
            "the export is anonymous, so it has no Canvas ids; "
            "turn anonymous grading off, export the submissions again, and run `course` on that export"
        )
    rows = found.rules.parse_adjustments()
    yield from _describe_limits(scores, rows)
    known = [name for one in scores for name in (one.student.email, one.student.sid) if name]
    unknown = {
        "the policy": find_unscored_students(found.course, scores, found.policy),
        by_hand.NAME: find_unscored(found.course, scores, (row.student for row in rows)),
    }
    for what, students in unknown.items():
        if students:
            named = ", ".join(f"{name}{_suggest(name, known)}" for name in students)
            yield (
                f"{what} names students without a score: {named}; check the spelling. "
                "The id of a submission is valid only while that submission counts"
            )


def _describe_limits(scores: Sequence[Score], rows: Sequence[by_hand.QuestionAdjustment]) -> Iterator[str]:
    """Yield the rows of adjustments that change points less than they say, and whose."""
    whose: dict[tuple[int, str], list[str]] = {}
    for one in scores:
        for line, limit in one.limits.items():
            whose.setdefault((line, limit), []).append(one.student.name or one.student.email or one.student.sid or one.entry)
    of_line = {row.line: row for row in rows}
    for (line, limit), names in sorted(whose.items()):
        row = of_line[line]
        yield f"{by_hand.NAME}, line {line} ({', '.join(names)}: {row.points} for {row.question}): {limit}"


def read_scores(folder: ResultsFolder) -> ScoresFile | None:
    """Return the scores that were written last; None if there are none yet.

    Raises:
        UsageError: If the file is damaged.
    """
    path = folder.path / SCORES
    try:
        return read_stored(path, ScoresFile)
    except FileNotFoundError:
        return None


def list_older_entries(course: Course, scores: Sequence[Score]) -> set[str]:
    """Return the entries that count for no student, because another one of the same student does."""
    return {entry.id for entry in course.entries} - {score.entry for score in scores}


def _existing(path: Path) -> Path | None:
    return path if path.is_file() else None


def _suggest(name: str, known: list[str]) -> str:
    """Return a question about the student who may be meant; "" where no name is near."""
    if "@" in name:
        near = difflib.get_close_matches(name, known, 1, 0.8)
    else:  # numbers of two students are near as well, but a spreadsheet drops zeros at the beginning
        near = [one for one in known if one.lstrip("0") == name.lstrip("0")]
    return f" (do you mean {near[0]}?)" if near else ""


def _keep(target: Path, whole: str) -> None:
    """Copy scores.json to the history, under the next number, if it is about to change."""
    path, history = target / SCORES, target / HISTORY
    old = path.read_text(encoding="utf-8") if path.is_file() else whole
    kept = list_numbered(history, "scores")
    # An earlier run may have been interrupted between this copy and writing the scores.
    if old != whole and not (kept and kept[-1].read_text(encoding="utf-8") == old):
        write_atomically(name_next(history, "scores"), old)


def _changes(before: list[Score], between: list[Score], ruled: list[Score], after: list[Score]) -> list[ScoreChange]:
    """Return the students whose score changed.

    Args:
        between: Scores of the new results by the old rules.
        ruled: Scores of the new results by the new policy and the old adjustments.
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
            yield f"another submission counts, not {was.entry}"
        elif then and (then.points, then.status) != (was.points, was.status):
            same = (then.status, then.questions, then.outcomes) == (was.status, was.questions, was.outcomes)
            yield "the class changed, not its results" if same else "its results changed"
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
