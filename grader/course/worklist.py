"""Read the submissions of a class from the export of a platform."""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated, Any

from pydantic import AwareDatetime, BaseModel, BeforeValidator, Field, PlainSerializer, ValidationError

from grader.assignment import UsageError
from grader.submission import NOT_HANDED_IN, NOTEBOOK

METADATA = "submission_metadata.yml"
LAYOUTS = ("gradescope", "canvas", "folder")
HANDED_IN = (".py", NOTEBOOK, ".zip")
# doejane_LATE_1234_567890_submitted-2.py: student, optional LATE, user, submission, file, optional version.
# With anonymous grading, "anon" and five letters or digits replace student and user.
CANVAS = re.compile(
    r"(?P<who>[^_]+)_(?P<late>LATE_)?(?P<user>\d+|(?<=\banon_)\w{5}|(?<=\banon_LATE_)\w{5})_(?P<number>\d+)_(?P<file>.+)"
)
ANONYMOUS, ANONYMOUS_SIZE = "anon", 5
VERSION = re.compile(r"-\d+(?=(\.[A-Za-z0-9]+)*$)")
AGE = range(1970, 3000)
MOST_BYTES = 160  # characters of an id: a file name may have 255, and a result's name adds hashes
MOST_DEPTH = 100  # of metadata
MOST_REPEATED = 1_000_000  # nodes of metadata, counting references

# A file name is bytes. In JSON, bytes that are not text become a zero byte, which no name contains, and two digits.
FileName = Annotated[
    str,
    PlainSerializer(lambda name: re.sub("[\udc80-\udcff]", lambda byte: f"\0{ord(byte[0]) - 0xDC00:02x}", name)),
    BeforeValidator(
        lambda name: (
            re.sub("\0([89a-f][0-9a-f])", lambda byte: chr(0xDC00 + int(byte[1], 16)), name) if isinstance(name, str) else name
        )
    ),
]


class Person(BaseModel):
    """One of the students who made a submission.

    Attributes:
        sid: The student's number on the platform or at the school.
    """

    name: str = ""
    email: str = ""
    sid: str = ""

    @property
    def is_anonymous(self) -> bool:
        """Return whether Canvas' anonymous grading has replaced the name and the number; the code is no id of Canvas."""
        return self.name == ANONYMOUS and len(self.sid) == ANONYMOUS_SIZE


class WorklistEntry(BaseModel):
    """One submission of a class.

    Attributes:
        id: Unique in the class, and valid as a file name.
        path: File or folder, relative to the folder of the export.
        parts: For a platform that puts all files of all students into one folder: the path of each
            file, by the name that the student gave it. `path` is then the first of them.
        created_at: When it was submitted.
        late: Whether the platform says that it was late.
        earlier: When the same students submitted before.
    """

    id: str = Field(pattern=r"^[\w.@+-]+$", max_length=120)
    path: FileName
    parts: dict[FileName, FileName] = {}
    students: tuple[Person, ...] = ()
    created_at: AwareDatetime | None = None
    late: bool | None = None
    earlier: tuple[AwareDatetime, ...] = ()

    @property
    def who(self) -> str:
        """Return the names of the students, or else what identifies them."""
        return ", ".join(student.name or student.email or student.sid for student in self.students) or self.id


def read_export(folder: Path, layout: str | None = None) -> tuple[str, list[WorklistEntry]]:
    """Return the layout of an export and its submissions, in the order of their ids.

    Args:
        layout: "gradescope" (folders submission_*, with submission_metadata.yml if that is there),
            "canvas" (one flat folder of everybody's files) or "folder" (a file, zip or folder for
            each submission); None finds out.

    Raises:
        UsageError: If the folder holds no submission, or its metadata cannot be read.
    """
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}; unpack the export of the platform, and pass the folder")
    if (folder / "course.json").is_file():
        raise UsageError(f"{folder} holds results that `course` wrote; pass the folder with the submissions")
    layout = layout or _layout(folder)
    entries = {"gradescope": _gradescope, "canvas": _canvas, "folder": _folder}[layout](folder)
    if not entries:
        found = ", ".join(sorted(entry.name for entry in folder.iterdir())[:5]) or "nothing"
        raise UsageError(f"{folder} holds no submission (read as {layout}): expected files, zips or folders, found {found}")
    ids = [entry.id for entry in entries]
    if twice := sorted({name for name in ids if ids.count(name) > 1}):
        raise UsageError(f"{folder} holds two submissions with the same name: {', '.join(twice)}")
    return layout, sorted(entries, key=lambda entry: _natural(entry.id))


def find_unread_files(folder: Path, layout: str, entries: Iterable[WorklistEntry]) -> list[str]:
    """Return the names in an export of this layout, or in its metadata, that belong to none of these submissions."""
    read = {METADATA, *(path for entry in entries for path in (entry.path, *entry.parts.values()))}
    announced = _metadata(folder / METADATA) if (folder / METADATA).is_file() else {}
    names = [*(path.name for path in _visible(folder)), *(name for name in announced if name.startswith("submission_"))]
    if layout == "canvas":  # only one of several versions of a file counts, but all are known
        names = [name for name in names if not CANVAS.fullmatch(name)]
    return [_text(name) for name in dict.fromkeys(names) if name not in read]


def _layout(folder: Path) -> str:
    if (folder / METADATA).is_file() or any(path.is_dir() for path in folder.glob("submission_*")):
        return "gradescope"
    files = [path.name for path in _visible(folder) if path.is_file()]
    fitting = sum(bool(CANVAS.fullmatch(name)) for name in files)
    return "canvas" if fitting and fitting >= len(files) / 2 else "folder"


def _gradescope(folder: Path) -> list[WorklistEntry]:
    whole = _metadata(folder / METADATA)
    entries = []
    for path in sorted(folder.glob("submission_*")):
        if path.is_dir():
            about = whole.get(path.name) or _metadata(path / METADATA)
            about = about if isinstance(about, dict) else {}
            entries.append(_from_metadata(path.name, about, folder / METADATA))
    return entries


def _from_metadata(name: str, about: dict[str, Any], source: Path) -> WorklistEntry:
    people = about.get("submitters") or about.get("users") or []
    people = people if isinstance(people, list) else []
    students = tuple(
        Person(**{key: _field(person.get(key)) for key in ("name", "email", "sid")})
        for person in people
        if isinstance(person, dict)
    )
    history = about.get("history")
    earlier = [_moment(one.get("created_at")) for one in history if isinstance(one, dict)] if isinstance(history, list) else []
    try:
        created = _moment(about.get("created_at"))
        before = sorted(moment for moment in earlier if moment is not None and (created is None or moment < created))
        return WorklistEntry(id=_safe(name), path=name, students=students, created_at=created, earlier=tuple(before))
    except ValidationError as error:
        raise UsageError(f"{source}: {name}: {error}") from error


def _field(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _metadata(path: Path) -> dict[str, Any]:
    """Return the content of Gradescope's YAML, its keys without Ruby's colons; empty if there is no such file."""
    if not path.is_file():
        return {}
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # a base class that is chosen at run time
        """Reads YAML from Ruby: its objects become plain data, and numbers become text."""

    def plain(loader: Any, _: str, node: yaml.Node) -> Any:
        if isinstance(node, yaml.MappingNode):
            return loader.construct_mapping(node, deep=True)
        if isinstance(node, yaml.SequenceNode):
            return loader.construct_sequence(node, deep=True)
        return loader.construct_scalar(node)

    Loader.add_multi_constructor("!ruby/", plain)
    for kind in ("int", "float", "bool", "timestamp"):  # 00123 is a student's number, not 83
        Loader.add_constructor(f"tag:yaml.org,2002:{kind}", lambda loader, node: loader.construct_scalar(node))
    try:
        text = path.read_text(encoding="utf-8")
        _require_bounded(yaml.parse(text, Loader))
        content = yaml.load(text, Loader)
    except (OSError, ValueError, yaml.YAMLError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    content = _without_colons(content)
    if not isinstance(content, dict):
        raise UsageError(f"{path}: expected one entry for each submission, found {type(content).__name__}")
    return content


def _require_bounded(events: Iterator[Any]) -> None:
    """Raise ValueError for YAML that nests deeply, or whose references expand without bound."""
    import yaml

    sizes: dict[str | None, int] = {}  # sizes of complete nodes, by anchor
    inside: list[tuple[str | None, int]] = []  # incomplete nodes, with their size so far
    repeated = 0
    for event in events:
        anchor, size = getattr(event, "anchor", None), 0
        if isinstance(event, yaml.CollectionStartEvent):
            inside.append((anchor, 1))
            sizes.pop(anchor, None)
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, size = inside.pop()
        elif isinstance(event, yaml.AliasEvent):
            if anchor not in sizes:
                raise ValueError(f"*{anchor} refers to itself, or to nothing")
            anchor, size = None, sizes[anchor]
            repeated += size
        elif isinstance(event, yaml.ScalarEvent):
            size = 1
        if anchor and size:
            sizes[anchor] = size
        if inside and size:
            inside[-1] = (inside[-1][0], inside[-1][1] + size)
        if len(inside) > MOST_DEPTH or repeated > MOST_REPEATED:
            raise ValueError("it is nested too deeply" if len(inside) > MOST_DEPTH else "its references expand too far")


def _without_colons(data: Any) -> Any:
    if isinstance(data, dict):
        return {str(key).lstrip(":"): _without_colons(value) for key, value in data.items()}
    return [_without_colons(value) for value in data] if isinstance(data, list) else data


def _moment(value: Any) -> datetime | None:
    """Return a time with its zone, by default UTC; None if it is not a valid time of our age."""
    if not isinstance(value, str):
        return None
    text = value.strip().replace(" UTC", "+00:00").replace(" Z", "+00:00")
    text = re.sub(r"\s+([+-]\d{2}):?(\d{2})$", r"\1:\2", text)
    text = re.sub(r"Z$", "+00:00", text)
    text = re.sub(r"\.(\d+)", lambda part: f".{part[1][:6]:0<6}", text)  # the form that Python 3.10 reads
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    # Nothing can be added to the last day of the calendar, nor subtracted from the first.
    return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)) if moment.year in AGE else None


def _canvas(folder: Path) -> list[WorklistEntry]:
    entries: dict[str, WorklistEntry] = {}
    newest: dict[tuple[str, str], int] = {}
    for path in _visible(folder):
        match = CANVAS.fullmatch(path.name)
        if match is None or not path.is_file():
            continue
        # The later of two versions of a file counts: by the number of the submission, then by Canvas' -1, -2.
        own, user = VERSION.sub("", match["file"]), match["user"]
        name = _safe(f"{match['who']}_{user}")
        order = int(match["number"])
        entry = entries.get(name) or WorklistEntry(
            id=name, path=path.name, students=(Person(name=_text(match["who"]), sid=user),), late=False
        )
        parts = dict(entry.parts)
        if order >= newest.get((name, own), -1):
            parts[own], newest[name, own] = path.name, order
        entries[name] = entry.model_copy(update={"parts": parts, "late": entry.late or match["late"] is not None})
    return [entry.model_copy(update={"path": sorted(entry.parts.values())[0]}) for entry in entries.values()]


def _folder(folder: Path) -> list[WorklistEntry]:
    entries = []
    for path in _visible(folder):
        # A link is an entry, too: reading it refuses it, by name.
        if path.is_dir() or path.suffix.lower() in HANDED_IN:
            name = path.name if path.is_dir() else path.stem
            # a.py and a.ipynb are two submissions, unless only one of them exists
            if any(other != path and not other.is_dir() and other.stem == name for other in _visible(folder)):
                name = path.name
            entries.append(WorklistEntry(id=_safe(name), path=path.name, students=(Person(name=_text(name)),)))
    return entries


def _visible(folder: Path) -> Iterator[Path]:
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if not entry.name.startswith(".") and entry.name not in NOT_HANDED_IN:
            yield folder / entry.name


def _text(name: str) -> str:
    """Return a file name as text, with a question mark for each byte that is not text."""
    return name.encode("utf-8", "replace").decode()


def _safe(name: str) -> str:
    """Return a name as an id: only letters, digits and some signs, short enough for a file name.

    A name that had to be changed ends with a hash of the original, so that two names never become the same id.
    """
    name = unicodedata.normalize("NFC", name)
    plain = "".join(one if one in "_.@+-" or unicodedata.category(one)[0] == "L" or one.isdecimal() else "_" for one in name)
    plain = re.sub("__+", "_", plain) if plain != name else plain
    short = plain.lstrip(".-")[:100].encode()[: MOST_BYTES - 9].decode("utf-8", "ignore")
    if short == name:
        return name
    return f"{short}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key that puts submission_9 before submission_10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]
