"""Earlier classes and public solutions that a class is compared with; the class remembers them in earlier.json."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path, PurePosixPath

from pydantic import Field

from grader import answers, submission
from grader.assignment import SUITES, AssignmentFiles, UsageError
from grader.course import rescore
from grader.course.handed_in import CodeFile, HandedInCode, decode_file, read_kept_code
from grader.course.insight import ClassInsight, analyze_results
from grader.course.numbers import ClassStatistics, describe_class
from grader.course.results import ResultsFolder, SubmissionResult
from grader.course.similarity import SimilarPair
from grader.course.worklist import Person, WorklistEntry
from grader.hashing import hash_parts
from grader.report.model import write_atomically
from grader.report.text import sanitize
from grader.sandbox.parsing import FileParser, OwnParser, Unreadable
from grader.sandbox.zips import FILE
from grader.stored import StoredModel, read_stored

STATISTICS = "statistics.json"  # of a class, in its folder
REMEMBERED = "earlier.json"
OUTSIDE = "outside"  # the folder of the texts from elsewhere that submissions resemble
MOST_FILES = 2_000  # of a folder of public solutions
CODE = (".py", submission.NOTEBOOK)


class EarlierClass(StoredModel):
    """An earlier class of the same assignment.

    Attributes:
        label: What pages call it.
        path: Its folder, or its file of statistics.
        statistics: How it did.
    """

    label: str
    path: str
    statistics: ClassStatistics


class ComparedWith(StoredModel):
    """What a class is compared with.

    Attributes:
        known: By label, folders or files of public solutions.
    """

    classes: tuple[EarlierClass, ...] = ()
    known: dict[str, str] = Field(default_factory=dict)


class OutsideText(StoredModel):
    """A text from elsewhere that a submission resembles, kept so that pages need no other folder.

    Attributes:
        id: The label of the class or folder, a slash, and the submission or file.
        label: The label of the class or folder.
        who: The students, or the file.
        students: Of an earlier class.
    """

    id: str
    label: str
    who: str
    students: tuple[Person, ...] = ()
    code: HandedInCode


def read_compared(
    home: AssignmentFiles, folder: ResultsFolder, earlier: Sequence[Path] | None = None, known: Sequence[Path] | None = None
) -> ComparedWith:
    """Return what a class is compared with.

    Args:
        earlier: Folders of earlier classes, or their files of statistics; None for those that were given last.
        known: Folders or files of public solutions; None for those that were given last.

    Raises:
        UsageError: If one of them cannot be read, or is of another assignment.
    """
    path = folder.path / REMEMBERED
    before = read_stored(path, ComparedWith) if path.is_file() else ComparedWith()
    classes, files = before.classes, before.known
    if earlier is not None:
        places = list(dict.fromkeys(place.resolve() for place in earlier))
        if folder.path.resolve() in places:
            raise UsageError(f"--earlier {folder.path} is the class itself; pass the folder of an earlier one")
        classes = tuple(
            EarlierClass(label=label, path=str(place), statistics=_read_statistics(home, place))
            for place, label in zip(places, _label(places), strict=True)
        )
    if known is not None:
        places = list(dict.fromkeys(place.resolve() for place in known))
        if missing := [place for place in places if not place.exists()]:
            raise UsageError(f"--known {missing[0]}: there is no such file or folder")
        files = {label: str(place) for place, label in zip(places, _label(places), strict=True)}
    return ComparedWith(classes=classes, known=files)


def remember_compared(folder: ResultsFolder, compared: ComparedWith) -> None:
    """Write what a class is compared with to its folder."""
    write_atomically(folder.path / REMEMBERED, compared.model_dump_json(indent=1) + "\n")


def _label(places: Sequence[Path]) -> list[str]:
    """Return the ends of the paths that are long enough to differ."""
    for parts in count(1):
        labels = ["/".join(place.parts[-parts:]) for place in places]
        if len(set(labels)) == len(places) or parts > max(len(place.parts) for place in places):
            return labels
    raise AssertionError("paths that differ have ends that differ")


def _read_statistics(home: AssignmentFiles, place: Path) -> ClassStatistics:
    """Return the numbers of an earlier class.

    Raises:
        UsageError: If they cannot be read, or are of another assignment.
    """
    what = f"--earlier {place}"
    try:
        found = _load_statistics(place)
    except (OSError, UsageError) as error:
        raise UsageError(f"{what} cannot be used for a comparison: {error}") from error
    if found.assignment != home.assignment.name:
        raise UsageError(
            f"{what} is a class of {found.assignment}: pass a class of the same assignment, {home.assignment.name}"
        )
    if not found.graded:
        raise UsageError(f"{what} has no graded submission, so there is nothing to compare with")
    return found


def _load_statistics(place: Path) -> ClassStatistics:
    """Return the numbers of a class from its file, or else from its results."""
    file = place / STATISTICS if place.is_dir() else place
    if place.is_file() or file.is_file():
        return read_stored(file, ClassStatistics)
    if not place.is_dir():
        raise UsageError("there is no such file or folder")
    folder = ResultsFolder(place)
    course, scores = folder.course(), rescore.read_scores(folder)
    results = folder.of(course)
    counting = course.without(rescore.list_older_entries(course, scores.scores) if scores else ())
    return describe_class(analyze_results(counting, results), results, None)


def write_statistics(
    home: AssignmentFiles, folder: ResultsFolder, shown: ClassInsight, results: Mapping[str, SubmissionResult | None]
) -> ClassStatistics:
    """Write the numbers of a class to its folder, and return them."""
    path = folder.path / STATISTICS
    try:
        before = read_stored(path, ClassStatistics) if path.is_file() else None
    except UsageError:
        before = None  # it is replaced
    # A later catalogue knows mistakes that could not be recognized when the class was graded.
    if before and before.suite == shown.course.suite and before.catalogue is not None:
        catalogue = before.catalogue
    else:
        files = [home.mistakes[suite] for suite in SUITES if home.mistakes[suite].is_file()]
        catalogue = sorted({name for file in files for name in answers.read_mistakes(file, home.assignment.name)})
    found = describe_class(shown, results, catalogue)
    write_atomically(path, found.model_dump_json(indent=1) + "\n")
    return found


def read_outside_texts(
    compared: ComparedWith, kept: Mapping[str, OutsideText]
) -> Iterator[tuple[list[OutsideText], bool, str]]:
    """Yield the texts of each class and each folder, whether it is a class, and a remark if something is missing.

    Args:
        kept: Texts that the class holds already; they stand for those of a class or folder that is gone.
    """
    for one in compared.classes:
        try:
            texts, remark = _read_class(one)
        except (OSError, UsageError) as error:
            texts, remark = _list_kept(one.label, kept), f"{one.label}: its code cannot be used for a comparison: {error}"
        yield texts, True, remark
    with OwnParser() as parser:
        for label, path in compared.known.items():
            refused: list[str] = []
            try:
                texts = list(_read_known(label, Path(path), parser, refused))
            except (OSError, UsageError) as error:
                texts, refused = _list_kept(label, kept), [str(error)]
            if not texts and not refused:
                refused = [f"{path}: it holds no Python file, notebook or zip"]
            yield texts, False, f"{label} is not compared with {'; '.join(refused[:3])}" if refused else ""


def _list_kept(label: str, kept: Mapping[str, OutsideText]) -> list[OutsideText]:
    return [text for text in kept.values() if text.label == label]


def _read_class(one: EarlierClass) -> tuple[list[OutsideText], str]:
    """Return the code of an earlier class, and a remark if there is none."""
    path = Path(one.path)
    if path.is_file():
        return [], f"{one.label}: only numbers are compared; for similar code, pass the folder of that class"
    course = ResultsFolder(path).course()
    code = read_kept_code(course, path)
    texts = [
        OutsideText(id=f"{one.label}/{entry.id}", label=one.label, who=entry.who, students=entry.students, code=code[entry.id])
        for entry in course.entries
        if entry.id in code
    ]
    return texts, "" if texts else f"{one.label} keeps no code to compare with"


def _read_known(label: str, place: Path, parser: FileParser, refused: list[str]) -> Iterator[OutsideText]:
    """Yield the files of public solutions; names of files that cannot be read go to `refused`, with the reason."""
    if not place.exists():
        raise UsageError(f"{place}: there is no such file or folder")
    files = sorted(_list_files(place)) if place.is_dir() else [place]
    if len(files) > MOST_FILES:
        raise UsageError(f"{place} holds more than {MOST_FILES:,} files with code; pass a folder of solutions alone")
    for file in files:
        name = file.relative_to(place).as_posix() if place.is_dir() else file.name
        try:
            for code in _read_file(file, name, parser):
                yield OutsideText(
                    id=f"{label}/{code.name}", label=label, who=sanitize(code.name), code=HandedInCode(files=(code,))
                )
        except (OSError, UsageError, Unreadable) as error:
            refused.append(f"{name} ({error})")


def _list_files(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder that may hold code, without links and what tools leave."""
    for inside, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in submission.NOT_HANDED_IN and not name.startswith(".")]
        for name in files:
            path = Path(inside, name)
            if path.suffix.lower() in (*CODE, ".zip") and not name.startswith(".") and not path.is_symlink():
                yield path


def _read_file(file: Path, name: str, parser: FileParser) -> Iterator[CodeFile]:
    """Yield the code in a file; of a zip, each file in it."""
    if file.suffix.lower() != ".zip":
        for handed in submission.read_submission(file, file.name, parser=parser):
            yield decode_file(name, handed.content, handed.notebook, parser)
        return
    with file.open("rb") as packed, parser.open_zip(packed, submission.MAX_FILES) as archive:
        for entry in archive.entries:
            suffix = PurePosixPath(entry.name).suffix.lower()
            if entry.kind == FILE and suffix in CODE:
                content = archive.read(entry, submission.MAX_BYTES[suffix])
                yield decode_file(f"{name}/{entry.name}", content, suffix == submission.NOTEBOOK, parser)


def keep_outside_texts(folder: ResultsFolder, texts: Mapping[str, OutsideText], pairs: Sequence[SimilarPair]) -> None:
    """Write the texts that submissions resemble to the folder of the class, and remove others."""
    place = folder.path / OUTSIDE
    wanted = {place / f"{hash_parts([pair.second])[:16]}.json": pair.second for pair in pairs if pair.second in texts}
    for path, name in wanted.items():
        write_atomically(path, texts[name].model_dump_json() + "\n")
    for path in place.glob("*.json"):
        if path not in wanted:
            path.unlink(missing_ok=True)  # another shard may end at the same time


def read_kept_texts(folder: ResultsFolder) -> dict[str, OutsideText]:
    """Return the texts from elsewhere that the class holds, by id."""
    found = {}
    for path in sorted((folder.path / OUTSIDE).glob("*.json")):
        with contextlib.suppress(FileNotFoundError):  # another shard has just removed it
            text = read_stored(path, OutsideText)
            found[text.id] = text
    return found


def is_own_work(entry: WorklistEntry, text: OutsideText) -> bool:
    """Return whether a student of the submission wrote the text in an earlier class."""

    def identify(students: Sequence[Person]) -> set[str]:
        return {one.email.casefold() for one in students if one.email} | {one.sid for one in students if one.sid}

    return bool(identify(entry.students) & identify(text.students))
