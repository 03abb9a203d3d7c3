"""The results of a class: one file per submission, in one folder."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, Field

from grader.assignment import Assignment, UsageError
from grader.course.worklist import WorklistEntry
from grader.report.model import Report, write_atomically
from grader.stored import StoredModel, read_stored

SHORT = 12  # characters of a hash in a file name
REPLACED = "replaced"  # the subfolder of the class for each course.json that was replaced because checks had changed
Model = TypeVar("Model", bound=BaseModel)


class ResultFingerprints(BaseModel, frozen=True):
    """Hashes of everything that a result depends on.

    Attributes:
        submission: Hash of the submitted files.
        suite: Hash of the checks, and of everything that they use.
        environment: Hash of the kit, the libraries and the system that ran the checks.
    """

    submission: str
    suite: str
    environment: str

    @property
    def name(self) -> str:
        """Return all three, shortened, for a file name."""
        return "-".join(part[:SHORT] for part in (self.submission, self.suite, self.environment))


class SubmissionResult(StoredModel):
    """The result of grading one submission.

    Attributes:
        status: "graded"; "refused" if nothing could be graded, so that every check fails and its
            message gives the reason; or "failed" if the grader failed, and the next run tries
            again.
        checks: For each check, a hash of everything that decides it, except the submission.
        shows: For each failed check, what it saw (see `behavior.record_behavior`).
        retried: Checks that ran twice because the grader failed the first time.
        taken_over: The number of checks whose outcome is that of an earlier result.
        same_as: The entry with the same files that was graded in place of this one.
        seconds: Wall-clock time of the whole grading.
        cpu_seconds: CPU time of judge and sandbox.
        attempts: How often grading was started; more than once if a worker died.
    """

    entry: str
    key: ResultFingerprints
    status: Literal["graded", "refused", "failed"]
    report: Report
    checks: dict[str, str] = Field(default_factory=dict)
    shows: dict[str, Any] = Field(default_factory=dict)
    retried: tuple[str, ...] = ()
    taken_over: int = 0
    same_as: str = ""
    host: str = ""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    attempts: int = 1


class Course(StoredModel):
    """The description of a folder of results: the assignment, the work list, and the newest hashes.

    Attributes:
        export: The folder that was read.
        unread: Names in that folder, or in its metadata, that are not submissions.
        suite: Hash of the checks of the newest results (see `ResultFingerprints`).
        environment: Hash of the environment of the newest results (see `ResultFingerprints`).
        submissions: The hash of the submitted files of each entry.
        earlier: For resubmissions, the file in results/ of what the same students submitted before.
        kept: For some entries, the file in results/ that counts instead of a newer one, after `regrade --never-lower`.
        outdated: For entries on which `regrade` could not run corrected checks, because the submission has changed or is gone:
            the file in results/ that counts until the next run of `course`.
    """

    assignment: Assignment
    suites: tuple[str, ...]
    export: str
    layout: str
    unread: list[str] = Field(default_factory=list)
    suite: str
    environment: str
    submissions: dict[str, str]
    entries: list[WorklistEntry]
    earlier: dict[str, str] = Field(default_factory=dict)
    kept: dict[str, str] = Field(default_factory=dict)
    outdated: dict[str, str] = Field(default_factory=dict)

    def without(self, entries: Collection[str]) -> Course:
        """Return the class without these entries."""
        return self.model_copy(update={"entries": [entry for entry in self.entries if entry.id not in entries]})


class ResultsFolder:
    """The folder of a class: course.json and results/ENTRY.KEY.json, all written by rename, so never incomplete."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.results = path / "results"

    def write_course(self, course: Course) -> None:
        """Replace course.json."""
        write_atomically(self.path / "course.json", course.model_dump_json(indent=1) + "\n")

    def course(self) -> Course:
        """Return the content of course.json.

        Raises:
            UsageError: If there is no course.json, or it cannot be read.
        """
        path = self.path / "course.json"
        if not path.is_file():
            raise UsageError(f"{self.path} has no course.json; pass the folder that `course ... -o` wrote")
        return read_stored(path, Course)

    def put_aside_course(self, name: str) -> Path:
        """Copy course.json to the folder with this name, next to earlier copies; return the copy."""
        content = (self.path / "course.json").read_text(encoding="utf-8")
        place = name_next(self.path / name, "course")
        place.parent.mkdir(exist_ok=True)
        write_atomically(place, content)
        return place

    def list_put_aside(self, name: str) -> list[Path]:
        """Return the copies of course.json in the folder with this name, the newest last."""
        return list_numbered(self.path / name, "course")

    def place(self, entry: str, key: ResultFingerprints) -> Path:
        """Return the path for the result of this submission."""
        return self.results / f"{entry}.{key.name}.json"

    def write(self, result: SubmissionResult) -> None:
        """Replace the file of a result."""
        write_atomically(self.place(result.entry, result.key), result.model_dump_json() + "\n")

    def read(self, entry: str, key: ResultFingerprints) -> SubmissionResult | None:
        """Return the result of exactly this submission; None if there is none that can be read."""
        return self.read_file(self.place(entry, key).name)

    def read_file(self, name: str) -> SubmissionResult | None:
        """Return the result in this file of results/; None if it cannot be read."""
        try:
            return read_stored(self.results / name, SubmissionResult)
        except (OSError, UsageError):
            return None

    def read_checks(self, course: Course) -> dict[str, str]:
        """Return the digests of the checks that graded the class, by id without parameters; nothing if no result has any."""
        for path in sorted(self.results.glob(f"*-{course.suite[:SHORT]}-*.json")):
            result = self.read_file(path.name)
            if result is not None and result.status != "failed":
                return {check.partition("[")[0]: digest for check, digest in result.checks.items()}
        return {}

    def of(self, course: Course) -> dict[str, SubmissionResult | None]:
        """Return the results of `iterate` by entry. They share equal parts, so none may be changed in place."""
        found: dict[str, SubmissionResult | None] = {}
        pool: dict[Any, Any] = {}
        for entry, result in self.iterate(course):
            _share_equal_parts(result, pool)
            found[entry] = result
        return found

    def iterate(self, course: Course) -> Iterator[tuple[str, SubmissionResult | None]]:
        """Yield each entry with its result, for the submitted files and the course's suite; None if there is no result yet.

        If there is none from the course's own environment, one from another environment (another machine) counts.
        """
        for entry, file in self._list_files(course):
            yield entry, read_stored(self.results / file, SubmissionResult) if file else None

    def list_pending(self, course: Course) -> set[str]:
        """Return the entries that have no result yet; no result is read."""
        return {entry for entry, file in self._list_files(course) if file is None}

    def _list_files(self, course: Course) -> Iterator[tuple[str, str | None]]:
        """Yield each entry with the name of the file in results/ that counts."""
        names = sorted(path.name for path in self.results.glob("*.json")) if self.results.is_dir() else []
        for entry in course.entries:
            key = ResultFingerprints(
                submission=course.submissions[entry.id], suite=course.suite, environment=course.environment
            )
            stem = f"{entry.id}.{key.name}"
            fitting = _starting_with(stem[:-SHORT], names)
            own = f"{stem}.json"
            kept = course.kept.get(entry.id) or course.outdated.get(entry.id)
            chosen = kept if kept in names else own if own in fitting else fitting[0] if fitting else None
            yield entry.id, chosen


def list_numbered(folder: Path, name: str) -> list[Path]:
    """Return the files NAME-NUMBER.json of a folder, in the order of their numbers."""
    found = [path for path in folder.glob(f"{name}-*.json") if path.stem.removeprefix(f"{name}-").isdecimal()]
    return sorted(found, key=_read_number)


def name_next(folder: Path, name: str) -> Path:
    """Return the path of the next file NAME-NUMBER.json of a folder; the numbers of removed files are not used again."""
    numbered = list_numbered(folder, name)
    return folder / f"{name}-{_read_number(numbered[-1]) + 1 if numbered else 1:04}.json"


def _read_number(path: Path) -> int:
    return int(path.stem.rpartition("-")[2])


def _share_equal_parts(part: Any, pool: dict[Any, Any]) -> Any:
    """Return a part of a result, with each text, table cell and number of points that `pool` holds replaced by the one in it.

    A class of 3,000 holds each title, id and right answer 3,000 times, and for each check the names of its fields twice.
    """
    if isinstance(part, BaseModel):
        # The attributes of a plain object are a dict that shares its keys with those of others of its class.
        if type(part) not in pool:
            pool[type(part)] = type("Attributes", (), {})
        attributes = pool[type(part)]()
        for name, value in part.__dict__.items():
            setattr(attributes, name, _share_equal_parts(value, pool))
        object.__setattr__(part, "__dict__", attributes.__dict__)
        names = frozenset(part.model_fields_set)
        object.__setattr__(part, "__pydantic_fields_set__", pool.setdefault(names, set(names)))
    elif isinstance(part, (list, tuple)) and part and isinstance(part[0], BaseModel):
        for one in part:
            _share_equal_parts(one, pool)
    elif type(part) is tuple and part and type(part[0]) in (str, tuple):
        parts = tuple(_share_equal_parts(one, pool) for one in part)
        return pool.setdefault(parts, parts) if all(type(one) is str for one in parts) else parts
    elif type(part) is str or (type(part) is float and part.is_integer() and repr(part) != "-0.0"):
        return pool.setdefault(part, part)  # no word of an enumeration, which equals its text, and not -0.0, which equals 0.0
    elif type(part) is dict and not part:
        return pool.setdefault(dict, part)
    return part


def _starting_with(prefix: str, names: list[str]) -> list[str]:
    """Return the names that start with the prefix, from a sorted list."""
    return list(itertools.takewhile(lambda name: name.startswith(prefix), names[bisect.bisect_left(names, prefix) :]))
