"""What platforms export: every layout is read, nobody is lost or taken for somebody else, and nothing is run or built."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from datetime import datetime, timezone
from itertools import pairwise
from pathlib import Path

import pytest

from grader.assignment import AssignmentFiles, UsageError
from grader.course import run, worklist
from grader.course.worklist import WorklistEntry
from tests.kit.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]

# What Gradescope writes; names and numbers are invented.
METADATA = """---
submission_101:
  :submitters:
  - :name: Ada Lovelace
    :sid: '0017'
    :email: ada@example.edu
  - :name: "Zo\\xEB Müller"
    :sid: 42
    :email: zoe@example.edu
  :created_at: 2023-09-12 21:54:28.712316000 Z
  :score: !ruby/object:BigDecimal 18:0.7e1
  :status: processed
  :results: !ruby/hash:ActiveSupport::HashWithIndifferentAccess
    tests: []
  :history:
  - :created_at: 2023-09-11 10:00:00.000000000 Z
    :score: 3.0
  - &1
    :created_at: 2023-09-10 09:30:00.5 Z
    :score: 1.0
  - *1
submission_9:
  :submitters:
  - :name: Grace Hopper
    :sid:
    :email: grace@example.edu
  :created_at: 2023-09-12 21:54:28.712316000 +02:00
  :history: []
"""


def names(entries: list[WorklistEntry]) -> list[str]:
    return [entry.id for entry in entries]


def put(folder: Path, *files: str) -> Path:
    for name in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("def total(values):\n    return sum(values)\n", encoding="utf-8")
    return folder


# What platforms export


def test_gradescope_as_it_writes_its_metadata(tmp_path: Path) -> None:
    """Ruby's colons, objects and times; a group; one that the metadata lacks, and one that is an empty folder."""
    put(tmp_path, "submission_101/submitted.py", "submission_9/submitted.py", "submission_77/submitted.py")
    (tmp_path / "submission_100").mkdir()
    (tmp_path / "submission_metadata.yml").write_text(METADATA, encoding="utf-8")
    layout, entries = worklist.read_export(tmp_path)
    assert layout == "gradescope"
    assert names(entries) == ["submission_9", "submission_77", "submission_100", "submission_101"], "9 comes before 77"
    found = {entry.id: entry for entry in entries}
    group = found["submission_101"]
    assert [(one.name, one.sid, one.email) for one in group.students] == [
        ("Ada Lovelace", "0017", "ada@example.edu"),
        ("Zoë Müller", "42", "zoe@example.edu"),
    ]
    assert group.created_at == datetime(2023, 9, 12, 21, 54, 28, 712316, timezone.utc)
    assert len(group.earlier) == 3
    assert group.earlier[-1] == datetime(2023, 9, 11, 10, tzinfo=timezone.utc)
    assert found["submission_9"].created_at == datetime(2023, 9, 12, 19, 54, 28, 712316, timezone.utc)
    assert found["submission_9"].students[0].sid == "", "nothing is not the text None"
    assert found["submission_77"].students == found["submission_100"].students == ()
    assert found["submission_77"].created_at is None


def test_gradescope_without_metadata(tmp_path: Path) -> None:
    """The folders alone are enough."""
    assert names(worklist.read_export(put(tmp_path, "submission_2/a.py", "submission_10/a.py"))[1]) == [
        "submission_2",
        "submission_10",
    ]


@pytest.mark.parametrize(
    "about", ["just text", "[1, 2]", "{':submitters': [nobody, 3], ':created_at': soon, ':history': 7}", "~"]
)
def test_metadata_of_one_that_means_nothing_costs_the_others_nothing(tmp_path: Path, about: str) -> None:
    """An entry of another shape is an entry that nothing is known of."""
    put(tmp_path, "submission_1/a.py", "submission_9/a.py")
    (tmp_path / "submission_metadata.yml").write_text(f"{METADATA}submission_1: {about}\n", encoding="utf-8")
    first, other = worklist.read_export(tmp_path)[1]
    assert (first.students, first.created_at, first.earlier) == ((), None, ())
    assert other.who == "Grace Hopper"


def test_metadata_constructs_nothing(tmp_path: Path) -> None:
    """YAML that names Python objects is refused, not obeyed."""
    put(tmp_path, "submission_1/a.py")
    bait = tmp_path / "bait"
    tag = f"!!python/object/apply:os.mkdir ['{bait}']"
    (tmp_path / "submission_metadata.yml").write_text(f"submission_1:\n  :created_at: {tag}\n", encoding="utf-8")
    with pytest.raises(UsageError, match="cannot be read"):
        worklist.read_export(tmp_path)
    assert not bait.exists()


LEVELS = "abcdefghijklmnopqrstuvwxyz"
ALIASES = "a: &a [lol, lol]\n" + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in pairwise(LEVELS))
MERGES = "a: &a {k: v}\n" + "".join(f"{b}: &{b} {{<<: [{', '.join([f'*{a}'] * 9)}]}}\n" for a, b in pairwise(LEVELS))
BOMBS = {
    "aliases": ALIASES + "submission_1: {':submitters': [{':name': *z, ':email': ada@example.edu}]}\n",
    "keys": ALIASES + "submission_1: {':submitters': [{? *z : 1, ':email': ada@example.edu}]}\n",
    "merges": MERGES,
    "itself": "submission_1: &a {':submitters': [*a], ':history': [*a]}\n",
    "deep": "submission_1: " + "[" * 200_000,
    "deep mappings": "submission_1: " + "{a: " * 200_000,
}


@pytest.mark.parametrize("bomb", sorted(BOMBS))
def test_metadata_that_would_grow_without_end(tmp_path: Path, bomb: str) -> None:
    """A billion laughs, in a name, by merging, or a structure that holds itself: read or refused, in little time and memory."""
    put(tmp_path, "submission_1/a.py")
    (tmp_path / "submission_metadata.yml").write_text(BOMBS[bomb], encoding="utf-8")
    script = (
        "import sys, resource, pathlib\n"
        "from grader.assignment import UsageError\n"
        "from grader.course import worklist\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\n"
        "resource.setrlimit(resource.RLIMIT_CPU, (60, 60))\n"
        "try:\n    print(len(worklist.read_export(pathlib.Path(sys.argv[1]))[1]))\n"
        "except UsageError as error:\n    print('refused')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.stdout in ("1\n", "refused\n"), (done.returncode, done.stderr[-500:])


def test_canvas(tmp_path: Path) -> None:
    """Late ones, versions that Canvas numbers, several files of one student, and names as people have them."""
    files = [
        "doejane_1234_5001_submitted.py",
        "doejane_1234_5002_policy.safetensors",
        "müllerzoë_LATE_77_5003_submitted-2.py",
        "roejohn_9_5004_meine Lösung (final).ipynb",
        "vondutch_9_5010_submitted.py",
        "vondutch_9_5020_submitted-1.py",
    ]
    layout, entries = worklist.read_export(put(tmp_path, *files, ".hidden_1_2_submitted.py"))
    assert layout == "canvas"
    found = {entry.id: entry for entry in entries}
    assert sorted(found) == ["doejane_1234", "müllerzoë_77", "roejohn_9", "vondutch_9"]
    assert found["doejane_1234"].parts == {"submitted.py": files[0], "policy.safetensors": files[1]}
    assert found["doejane_1234"].late is False
    assert found["müllerzoë_77"].late is True
    assert found["müllerzoë_77"].parts == {"submitted.py": files[2]}
    assert found["müllerzoë_77"].students[0].sid == "77"
    assert found["roejohn_9"].path == files[3]
    assert found["vondutch_9"].parts == {"submitted.py": files[5]}, "the newer version counts"


def test_canvas_anonymous(tmp_path: Path) -> None:
    """Where graders must not know names, Canvas writes letters in place of name and number."""
    layout, entries = worklist.read_export(put(tmp_path, "anon_1aB2c_5001_submitted.py", "anon_LATE_zZ9x8_5002_submitted-1.py"))
    assert layout == "canvas"
    assert {entry.id: entry.late for entry in entries} == {"anon_1aB2c": False, "anon_zZ9x8": True}
    assert [list(entry.parts) for entry in entries] == [["submitted.py"]] * 2


def test_folder_of_anything(tmp_path: Path) -> None:
    """Files, notebooks, zips and folders; one stem twice makes two; links are entries, what is hidden or a remark is none."""
    put(tmp_path, "ada.py", "bob.ipynb", "cy/submitted.py", "dee.zip", "ada.ipynb", ".secret.py", "__MACOSX/x.py", "README.md")
    (tmp_path / "eve.py").symlink_to("/etc/passwd")
    layout, entries = worklist.read_export(tmp_path)
    assert layout == "folder"
    assert names(entries) == ["ada.ipynb", "ada.py", "bob", "cy", "dee", "eve"]


def test_two_names_that_become_one_id(tmp_path: Path) -> None:
    """Students whose names differ by signs only are two students, and are the same two in the next run."""
    put(tmp_path, "a b.py", "a_b.py", "a!b.py", "c.py")
    entries = worklist.read_export(tmp_path)[1]
    assert len({entry.id for entry in entries}) == 4
    assert {entry.path for entry in entries} == {"a b.py", "a_b.py", "a!b.py", "c.py"}
    (tmp_path / "c.py").unlink()
    left = {entry.path: entry.id for entry in worklist.read_export(tmp_path)[1]}
    assert left == {entry.path: entry.id for entry in entries if entry.path != "c.py"}


LONG = ["é" * 110, "é" * 110 + "b", "学" * 80 + "1", "学" * 80 + "2"]
ODD = ["hw²", "½", "Mu\u0308ller", "a...", "-rf", "a\nb", "a;b|c", "٣", "\u202eoof", "~", "CON", "a" * 200]


@pytest.mark.parametrize("layout", ["folder", "gradescope"])
def test_ids_are_fit_for_names_of_files(tmp_path: Path, layout: str) -> None:
    """Whatever a student calls a file, its result can be written, and none takes the place of another."""
    export = tmp_path / "export"
    put(export, *(f"{name}.py" if layout == "folder" else f"submission_{name}/a.py" for name in [*LONG, *ODD]))
    entries = worklist.read_export(export, layout)[1]
    ids = names(entries)
    assert len({name.casefold() for name in ids}) == len(LONG + ODD)
    assert names(worklist.read_export(export, layout)[1]) == ids
    for name in ids:
        assert re.fullmatch(r"[\w.@+-]+", name), name
        place = tmp_path / f".{name}.{'0' * 38}.json.abcdefgh"
        place.touch()  # as it is written before it is renamed


def test_name_that_is_no_text(tmp_path: Path) -> None:
    """A zip from another system unpacks to names in another encoding; course.json can be written, and the file is found."""
    put(tmp_path, "ada.py")
    (tmp_path / os.fsdecode(b"M\xfcller.py")).write_text("x = 1\n")
    entries = worklist.read_export(tmp_path)[1]
    kept = [WorklistEntry.model_validate_json(entry.model_dump_json()) for entry in entries]
    assert kept == entries
    assert all((tmp_path / entry.path).is_file() for entry in kept)


def test_name_in_canvas_that_is_no_text(tmp_path: Path) -> None:
    """One student's name must not stop the class."""
    put(tmp_path, "doejane_1_2_submitted.py")
    (tmp_path / os.fsdecode(b"garc\xeda_123_456_submitted.py")).write_text("x = 1\n")
    entries = worklist.read_export(tmp_path)[1]
    assert [WorklistEntry.model_validate_json(entry.model_dump_json()) for entry in entries] == entries
    assert {entry.who for entry in entries} == {"doejane", "garc?a"}


@pytest.mark.parametrize(
    ("files", "unread"),
    [
        (("ada.py", "bob.txt", "dan.rar", "notes/x.py"), ["bob.txt", "dan.rar"]),
        (("ada.py", "bob/submitted.py", "submission_carl/submitted.py"), ["ada.py", "bob"]),
        (("doe_1_2_submitted.py", "doe_1_3_submitted-1.py", "roe_4_5_submitted.py", "weird.py"), ["weird.py"]),
    ],
    ids=["folder", "gradescope", "canvas"],
)
def test_what_is_no_submission_is_named(tmp_path: Path, files: tuple[str, ...], unread: list[str]) -> None:
    """A student whose work is of another kind, or in another place, must not vanish in silence."""
    assert worklist.find_unread_files(tmp_path, *worklist.read_export(put(tmp_path, *files))) == unread


def test_who_stands_in_the_metadata_alone_is_named(tmp_path: Path) -> None:
    """A folder that was lost on the way is a student without a grade."""
    (tmp_path / "submission_metadata.yml").write_text(METADATA, encoding="utf-8")
    assert worklist.find_unread_files(tmp_path, *worklist.read_export(put(tmp_path, "submission_9/a.py"))) == ["submission_101"]


@pytest.mark.parametrize(
    ("written", "sid"),
    [*((text, text) for text in ("00123", "12:34", "12345.0", "0x" + "f" * 6000)), ("", ""), ("~", "")],
    ids=["octal", "base 60", "float", "huge", "empty", "null"],
)
def test_a_number_of_a_student_stays_as_it_is_written(tmp_path: Path, written: str, sid: str) -> None:
    """YAML makes 83 of 00123, by which nobody is found."""
    text = f"submission_1:\n  :submitters:\n  - :name: Yes\n    :sid: {written}\n"
    (put(tmp_path, "submission_1/a.py") / "submission_metadata.yml").write_text(text, encoding="utf-8")
    assert worklist.read_export(tmp_path)[1][0].students[0] == worklist.Person(name="Yes", sid=sid)


@pytest.mark.parametrize("moment", ["0001-01-01 00:00:00 +14:00", "9999-12-31 23:59:59 -12:00"])
def test_a_time_of_no_age_is_none(tmp_path: Path, moment: str) -> None:
    """With the first and the last of all days, no policy could reckon."""
    text = f"submission_1:\n  :created_at: {moment}\n"
    (put(tmp_path, "submission_1/a.py") / "submission_metadata.yml").write_text(text, encoding="utf-8")
    assert worklist.read_export(tmp_path)[1][0].created_at is None


def test_results_are_no_submissions(built_toy: Path, tmp_path: Path) -> None:
    """Neither the folder that a run wrote, nor one within the export, which the next run would read."""
    home, export = AssignmentFiles(built_toy, "toy"), put(tmp_path / "export", "ada.py")
    for inside in (export, export / "out"):
        with pytest.raises(UsageError, match="name a folder outside"):
            run.prepare_job(home, export, inside, ("visible",))
    run.prepare_job(home, export, tmp_path / "out", ("visible",))
    with pytest.raises(UsageError, match="pass the folder with the submissions"):
        run.prepare_job(home, tmp_path / "out", tmp_path / "other", ("visible",))


def test_a_film_beside_the_work_is_left_where_it_is(built_toy: Path, tmp_path: Path) -> None:
    """One student's 5 GB must neither be read nor copied."""
    export = put(tmp_path / "export", "doe_1_2_submitted.py", "roe_3_5_submitted.py")
    with open(export / "doe_1_3_film.mp4", "wb") as film:
        film.truncate(5 << 30)
    job = run.prepare_job(AssignmentFiles(built_toy, "toy"), export, tmp_path / "out", ("visible",))
    with job.handed_in(job.course.entries[0]) as folder:
        assert {path.name: path.stat().st_size > 0 for path in folder.iterdir()} == {"submitted.py": True, "film.mp4": False}


def test_a_link_to_the_folder_of_another_is_refused(built_toy: Path, tmp_path: Path) -> None:
    """Whoever can put a link into an export must not hand in what others have done."""
    export = put(tmp_path / "export", "eve/submitted.py")
    (export / "linked").symlink_to("eve")
    job = run.prepare_job(AssignmentFiles(built_toy, "toy"), export, tmp_path / "out", ("visible",))
    with pytest.raises(UsageError, match="linked: it is a link"), job.handed_in(job.course.entries[1]):
        pass
    assert len(set(job.course.submissions.values())) == 2


def test_a_folder_that_others_can_read_is_told(built_toy: Path, tmp_path: Path) -> None:
    """Made by hand it is as open as the umask has it."""
    export, folder = put(tmp_path / "export", "ada.py", "bob.pdf"), tmp_path / "out"
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    job = run.prepare_job(AssignmentFiles(built_toy, "toy"), export, folder, ("visible",))
    assert list(run.list_remarks(job)) == [
        "not read, because it is not a submission: bob.pdf",
        f"other users of this machine can read {folder}, with grades and hidden checks; run chmod 700 {folder}",
    ]
    folder.chmod(0o700)
    assert len(list(run.list_remarks(job))) == 1
    put(export, "cleo.pdf")
    job = run.prepare_job(AssignmentFiles(built_toy, "toy"), export, folder, ("visible",))
    assert list(run.list_remarks(job)) == ["not read, because these are not submissions: bob.pdf, cleo.pdf"]


def test_export_with_nothing_in_it_is_told(tmp_path: Path) -> None:
    """An empty class is a wrong path, which the message must show."""
    with pytest.raises(UsageError, match="there is no folder"):
        worklist.read_export(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="holds no submission"):
        worklist.read_export(tmp_path)
