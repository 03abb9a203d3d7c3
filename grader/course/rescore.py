"""Score a class again from its stored results: by another policy, or after results have changed. Nothing is run."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

from pydantic import BaseModel

from grader.assignment import UsageError
from grader.course.extensions import PolicyFiles, read_policy_files
from grader.course.gradebook import GRADEBOOKS, write_gradebooks
from grader.course.results import ResultsFolder
from grader.course.scoring import Score, ScoreStep, find_unscored_students, identify_student, score_class
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
    """

    assignment: str
    policy: str = ""
    extensions: str = ""
    scores: list[Score]

    @property
    def files(self) -> PolicyFiles:
        """Return the texts by which the scores were made."""
        return PolicyFiles(self.policy, self.extensions)


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


def rescore(folder: ResultsFolder, file: Path | None = None, output: Path | None = None) -> list[ScoreChange]:
    """Score the class by a policy, write the scores, and return the students whose score changed.

    This writes scores.json, the gradebooks and policy.toml, an exact copy of the policy, with the
    file of extensions that it names. Replaced scores go to scores-history/. The new scores are
    compared with the stored ones; if there are none yet, with those by the previous policy, or with
    plain points.

    Args:
        file: The policy; None for the policy.toml of the class, if it has one.
        output: A folder to write to; the class's folder then stays unchanged.

    Raises:
        UsageError: If the policy does not fit the class, or a file cannot be read.
    """
    course = folder.course()
    results = folder.of(course)
    own = folder.path / POLICY
    source = file or own
    files = read_policy_files(source) if file or own.is_file() else PolicyFiles()
    policy = files.parse(str(source))
    extensions = policy.late.extensions_file if policy.late else ""
    if extensions in GRADEBOOKS:
        raise UsageError(f"{source}: late.extensions_file: {extensions} is the name of a gradebook; give the file another name")
    old = read_scores(folder)
    new = score_class(course, results, policy)
    try:
        # The scores of the new results by the old policy show whether the policy or the results changed a score.
        applied = old.files if old else read_policy_files(own) if own.is_file() else PolicyFiles()
        between = score_class(course, results, applied.parse(str(folder.path / SCORES)))
    except UsageError:
        between = []  # it names a question or a file that no longer exists, so the causes cannot be distinguished
    changes = _changes(old.scores if old else between, between, new)
    target = output or folder.path
    stored = ScoresFile(assignment=course.assignment.name, policy=files.text, extensions=files.extensions, scores=new)
    whole = stored.model_dump_json(indent=1) + "\n"
    _keep(target, whole)
    write_gradebooks(target, course, new, policy.canvas_column)
    if extensions:
        write_atomically(target / extensions, files.extensions)
    if files.text or (target / POLICY).is_file():
        write_atomically(target / POLICY, files.text)
    # Last, because it contains its policy: if this is interrupted before, the old scores stay with the old policy.
    write_atomically(target / SCORES, whole)
    return changes


def rescore_and_report(folder: ResultsFolder, file: Path | None = None, output: Path | None = None) -> Iterator[str]:
    """Score the class as `rescore` does, and yield the lines to print."""
    changes = rescore(folder, file, output)
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
    policy = new.files.parse(str(target / SCORES))
    if unknown := find_unscored_students(folder.course(), new.scores, policy):
        known = [name for one in new.scores for name in (one.student.email, one.student.sid) if name]
        named = ", ".join(f"{name}{_suggest(name, known)}" for name in unknown)
        yield (
            f"the policy names students without a score: {named}; check the spelling. "
            "The id of a submission is valid only while that submission counts"
        )
    names = [SCORES, *GRADEBOOKS, *([POLICY] if (target / POLICY).is_file() else [])]
    if policy.late and policy.late.extensions_file:
        names.append(policy.late.extensions_file)
    yield f"wrote {', '.join(names)} to {target}"


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


def _suggest(name: str, known: list[str]) -> str:
    """Return a question about the student who may be meant; "" where no name is near."""
    near = difflib.get_close_matches(name, known, 1, 0.8) if "@" in name else []  # numbers of two students are near as well
    return f" (do you mean {near[0]}?)" if near else ""


def _keep(target: Path, whole: str) -> None:
    """Copy scores.json to the history, under the next number, if it is about to change."""
    path, history = target / SCORES, target / HISTORY
    old = path.read_text(encoding="utf-8") if path.is_file() else whole
    kept = sorted(history.glob("scores-*.json"))
    # An earlier run may have been interrupted between this copy and writing the scores.
    if old != whole and not (kept and kept[-1].read_text(encoding="utf-8") == old):
        write_atomically(history / f"scores-{len(kept) + 1:04d}.json", old)


def _changes(before: list[Score], between: list[Score], after: list[Score]) -> list[ScoreChange]:
    old, middle, new = ({identify_student(one.entry, one.student): one for one in part} for part in (before, between, after))
    changes = []
    for key in [*new, *(key for key in old if key not in new)]:
        was, then, now = old.get(key), middle.get(key), new.get(key)
        one = now or was
        assert one is not None  # each key is of one of the two
        points = (was.points if was else None, now.points if now else None)
        if points[0] == points[1] and (was and was.status) == (now and now.status):
            continue
        who = one.student.name or one.student.email or one.student.sid or one.entry
        changes.append(
            ScoreChange(who=who, entry=one.entry, before=points[0], after=points[1], why=tuple(_why(was, then, now)))
        )
    return changes


def _why(was: Score | None, then: Score | None, now: Score | None) -> Iterator[str]:
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
        if then and (then.points, then.status) != (now.points, now.status):
            yield "the policy changed"
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
