"""Grading a class: every export is read, every submission counts once, whatever ends a run, and only what must is run again."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from grader.assignment import AssignmentFiles, UsageError
from grader.course import run, worklist
from grader.course.results import ResultsFolder, SubmissionResult
from grader.course.worklist import WorklistEntry
from grader.judge.run import Grader
from grader.sandbox.places import make_temporary_folder

INPUTS = (
    "command:course",
    "command:regrade",
    "grader/judge/*.py",
    "grader/sandbox/*.py",
    "tests/kit/toy/solutions/toy/submitted.py",
)

ROOT = Path(__file__).resolve().parents[2]
KIT = "import sys, pathlib, grader.__main__ as kit; sys.exit(kit.main(pathlib.Path(sys.argv.pop(1))))"

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
        "try:\n    print(len(worklist.read_export(pathlib.Path(sys.argv[1]))[1]))\n"
        "except UsageError as error:\n    print('refused')\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=120)
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
        with pytest.raises(UsageError, match="name a folder outside of it"):
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
        "not read, since it is no submission: bob.pdf",
        f"others on this machine may look into {folder}, with grades and hidden checks: chmod 700 {folder}",
    ]
    folder.chmod(0o700)
    assert len(list(run.list_remarks(job))) == 1


def test_export_with_nothing_in_it_is_told(tmp_path: Path) -> None:
    """An empty class is a wrong path, which the message must show."""
    with pytest.raises(UsageError, match="there is no folder"):
        worklist.read_export(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="holds no submission"):
        worklist.read_export(tmp_path)


# Grading them

SOLUTION = (ROOT / "tests/kit/toy/solutions/toy/submitted.py").read_text(encoding="utf-8")
HELPER = """

def longest_rise(values):
    best, length, begin = 0, 0, None
    for index, value in enumerate(values):
        if begin is None or value <= values[index - 1]:
            length, begin = 1, index
        else:
            length += 1
        if length > best and value >= values[begin]:
            best = length
    rest = [value for value in values if value < best]
    while rest and rest[-1] > 3 * len(rest):
        best = max(best - 1, rest.pop() // 2)
    return {"best": best, "rest": sorted(rest)[:5], "begin": begin}
"""
RENAMED = {"values": "numbers", "best": "top", "length": "run", "begin": "start", "index": "i", "value": "n", "rest": "others"}
WRONG = SOLUTION.replace("result = 0.0", "result = 1.0") + HELPER
OTHER = "def total(values):\n    return 1.0 + sum(values)\n\n\n" + SOLUTION[SOLUTION.index("def spread") :]
OTHER += re.sub(r"\w+", lambda word: RENAMED.get(word[0], word[0]), HELPER.replace("longest_rise", "climb"))
SIMPLE = "def total(values):\n    return 7.5\n\n\n" + SOLUTION[SOLUTION.index("def spread") :]
WHO = "import os\nprint('user', os.getuid(), 'at', os.getcwd())\n\n" + SIMPLE
SUBMISSIONS = {
    "right": SOLUTION,
    "wrong": WRONG,
    "other": OTHER,
    "simple": SIMPLE,
    "broken": "def total(:\n",
    **{f"who{number}": f"{WHO}\n# {number}\n" for number in range(4)},
}


def export_to(folder: Path) -> Path:
    """Write a class: one for each of SUBMISSIONS, and three in which there is nothing to grade."""
    folder.mkdir()
    for name, text in SUBMISSIONS.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    (folder / "link.py").symlink_to("/etc/passwd")
    (folder / "none").mkdir()
    (folder / "torn.zip").write_bytes(b"PK\x03\x04torn")
    return folder


BAD = ("link", "none", "torn")


class Class(NamedTuple):
    """root: of a copy of the kit. export: what was handed in. folder: of results."""

    root: Path
    export: Path
    folder: Path
    printed: str = ""

    def start(self, *options: str, script: str = KIT, **environment: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", script, str(self.root), *options]
        pipe = subprocess.PIPE

        def heed_interrupts() -> None:  # they are ignored below `nohup COMMAND &`, and children inherit that
            signal.signal(signal.SIGINT, signal.SIG_DFL)

        return subprocess.Popen(
            command,
            cwd=ROOT,
            env=os.environ | environment,
            stdout=pipe,
            stderr=pipe,
            text=True,
            preexec_fn=heed_interrupts if os.name == "posix" else None,
        )

    def run(self, *options: str, code: int = 0, script: str = KIT, **environment: str) -> str:
        process = self.start(*options, script=script, **environment)
        try:
            output, errors = process.communicate(timeout=90)
        finally:
            process.kill()
        assert process.returncode == code, output + errors
        assert "Traceback" not in errors, errors
        return output + errors

    def course(self, *options: str, code: int = 0, script: str = KIT, **environment: str) -> str:
        return self.run(*self.words(*options), code=code, script=script, **environment)

    def words(self, *options: str) -> list[str]:
        return ["course", "toy", str(self.export), "-o", str(self.folder), "--workers", "2", *options]

    def results(self) -> dict[str, SubmissionResult]:
        folder = ResultsFolder(self.folder)
        return {name: result for name, result in folder.of(folder.course()).items() if result}

    def files(self) -> dict[str, int]:
        return {path.name: path.stat().st_mtime_ns for path in (self.folder / "results").iterdir()}

    def copy(self, where: Path, results: bool = True) -> Class:
        """Return a class of its own, with this one's export, so that its results are known there as well."""
        shutil.copytree(self.root, where / "root")
        if results:
            shutil.copytree(self.folder, where / "out")
        return Class(where / "root", self.export, where / "out")


def outcomes(result: SubmissionResult) -> list[tuple[str, str, float, str, str]]:
    """Return what a result says that does not depend on when and where it came about."""
    checks = result.report.checks
    return [(check.id, check.outcome.value, check.points, check.message, check.signature) for check in checks]


@pytest.fixture(scope="module")
def graded_class(built_toy: Path, tmp_path_factory: pytest.TempPathFactory) -> Class:
    """A class that is graded in one piece by two workers; to be copied, not changed."""
    folder = tmp_path_factory.mktemp("class")
    whole = Class(built_toy, export_to(folder / "export"), folder / "out")
    return whole._replace(printed=whole.course())


def test_everybody_is_graded_or_refused(graded_class: Class) -> None:
    """One that cannot be read counts 0, says why, and costs nobody else anything; nothing of it is left to do."""
    results = graded_class.results()
    assert sorted(results) == sorted([*SUBMISSIONS, *BAD])
    assert {name for name, result in results.items() if result.status == "refused"} == set(BAD)
    assert not any(result.status == "failed" for result in results.values())
    for name, why in (("link", "it is a link"), ("none", "expected submitted.py"), ("torn", "cannot be read as a zip")):
        report = results[name].report
        assert report.final
        assert (report.points, report.max_points) == (0, 6)
        assert all(why in check.message for check in report.checks), name
    assert {name: results[name].report.points for name in ("right", "wrong", "broken")} == {"right": 6, "wrong": 2, "broken": 0}
    assert f"{len(results)} submissions (folder), 0 graded before" in graded_class.printed


def test_same_as_graded_alone(graded_class: Class) -> None:
    """Copies of a warm judge and its server give what `grade` gives, at the same isolation."""
    results = graded_class.results()
    with Grader(AssignmentFiles(graded_class.root, "toy"), ("visible", "hidden")) as grader:
        for name in ("right", "wrong", "broken"):
            alone = grader.grade(graded_class.export / f"{name}.py").model_copy(deep=True)
            together = results[name].report
            for field in ("points", "max_points", "isolation", "isolation_layers", "isolation_open", "remarks", "final"):
                assert getattr(alone, field) == getattr(together, field), field
            assert outcomes(results[name].model_copy(update={"report": alone})) == outcomes(results[name])


def test_same_wrong_output_has_the_same_signature(graded_class: Class) -> None:
    """Two who wrote different code with one result are found together; another result is another one."""

    def signatures(name: str) -> list[str]:
        return [check.signature for check in graded_class.results()[name].report.checks]

    assert signatures("wrong") == signatures("other")
    assert signatures("wrong")[0]
    assert signatures("wrong")[0] != signatures("simple")[0]
    assert not any(signatures("right"))


@pytest.mark.skipif(not sys.platform.startswith("linux") or os.geteuid() != 0, reason="only root can change users")
def test_no_two_calls_share_a_user_or_a_folder(graded_class: Class) -> None:
    """A process that outlived its call, in one worker, could meet a classmate's in another one."""
    printed = [
        check.printed for name in ("who0", "who1", "who2", "who3") for check in graded_class.results()[name].report.checks
    ]
    seen = [found for text in printed for found in re.findall(r"user (\d+) at (\S+)", text)]
    assert len(seen) >= 8
    if any(int(user) for user, _ in seen):
        assert len({user for user, _ in seen}) == len({folder for _, folder in seen})
        users = dict(seen)
        assert all(users[user] == folder for user, folder in seen), "one user, two calls"


def test_summary_of_the_class(graded_class: Class) -> None:
    """All are in the tables and have a page, copies are found, and no page tells a student what is hidden."""
    folder, everybody = graded_class.folder, sorted([*SUBMISSIONS, *BAD])
    for table, rows in (("gradebook.csv", 1), ("gradescope.csv", 1), ("canvas.csv", 2)):
        with open(folder / table, encoding="utf-8", newline="") as file:
            assert len(list(csv.reader(file))) == len(everybody) + rows, table
    pages = {path.stem: path.read_text(encoding="utf-8") for path in (folder / "students").glob("*.html")}
    assert sorted(pages) == everybody
    for name, page in pages.items():
        assert "test_nothing_to_add" not in page, name
        assert "test_default_scale" not in page, name
        assert "no_values" not in page, name
    assert "What is the sum before the first value was added?" in (folder / "class.html").read_text(encoding="utf-8")
    pairs = json.loads((folder / "similarity.json").read_text(encoding="utf-8"))
    assert ("other", "wrong") in {(pair["first"], pair["second"]) for pair in pairs}, "the same helper, with other names"


# Again


def test_rerun_grades_nothing(graded_class: Class, tmp_path: Path) -> None:
    """What is done is not touched; what has changed is graded alone; and one that is gone is in no table."""
    again = graded_class.copy(tmp_path)
    export = shutil.copytree(graded_class.export, tmp_path / "export", symlinks=True)
    again = again._replace(export=export)
    before = again.files()
    assert f"{len(SUBMISSIONS) + 3} graded before" in again.course()
    assert again.files() == before
    (export / "wrong.py").write_text(SOLUTION + "# corrected\n")
    (export / "simple.py").unlink()
    printed = again.course()
    assert f"{len(SUBMISSIONS) + 1} graded before" in printed
    new = again.files().keys() - before.keys()
    assert [name.partition(".")[0] for name in new] == ["wrong"]
    assert before.items() <= again.files().items()
    assert again.results()["wrong"].report.points == 6
    assert "simple" not in (again.folder / "gradebook.csv").read_text()


def test_shards_are_the_whole(graded_class: Class, tmp_path: Path) -> None:
    """Every submission is in exactly one shard, and numbers that mean none are told."""
    part = graded_class.copy(tmp_path, results=False)
    part.course("--shard", "2/2")
    second = part.files()
    assert len(second) == (len(SUBMISSIONS) + 3) // 2
    part.course("--shard", "1/2")
    assert second.items() <= part.files().items(), "nothing twice"
    assert {name: outcomes(one) for name, one in part.results().items()} == {
        name: outcomes(one) for name, one in graded_class.results().items()
    }
    for wrong in ("0/2", "1/0", "\u0661/2x"):
        assert "shard" in part.course(f"--shard={wrong}", code=2), wrong


# Whatever ends a run

HOOK = """
import os, pathlib, signal
from grader.course import run

marks = pathlib.Path(os.environ["MARKS"])


def first(name):
    try:
        (marks / name).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


"""
DIES_AFTER_THREE = """
count = run._Crew._count


def counting(self, entry, final):
    count(self, entry, final)
    if self.standing.done == 3:
        os.kill(os.getpid(), signal.SIGKILL)


run._Crew._count = counting
"""
SLOW_WORKERS = """
import multiprocessing.process, multiprocessing.util, time

main = os.getpid()


def slow(name, function):
    def run(*arguments, **named):
        if os.getpid() != main:
            (marks / f"{name}-{os.getpid()}").touch()
            time.sleep(1.0)
        return function(*arguments, **named)

    return run


multiprocessing.process.BaseProcess._after_fork = staticmethod(slow("starts", multiprocessing.process.BaseProcess._after_fork))
multiprocessing.util._exit_function = slow("ends", multiprocessing.util._exit_function)
"""
WORKERS_FAIL = """
graded = run.GradingJob.grade


def grade(self, grader, entry, before=None, again=frozenset()):
    with open(marks / "begun", "a") as file:
        file.write(f"{entry.id}\\n")
    if entry.id == "wrong" or entry.id == "right" and first("died"):
        os.kill(os.getpid(), signal.SIGKILL)
    if entry.id == "other" and first("hung"):
        os.kill(os.getpid(), signal.SIGSTOP)
    return graded(self, grader, entry, before, again)


run.GradingJob.grade = grade
run.PATIENCE, run.SPARE_SECONDS = 1.0, -230.0  # 10 seconds for each submission
"""


def alive(*marks: Path) -> list[str]:
    """Return the command lines of processes, other than zombies, in which one of these paths stands."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found += [words[:300]] if any(str(mark) in words for mark in marks) else []
    return found


def gone(*marks: Path, seconds: float = 10.0) -> bool:
    """Return whether, within some seconds, no process is left that knows these paths."""
    until = time.monotonic() + seconds
    while alive(*marks) and time.monotonic() < until:
        time.sleep(0.05)
    return not alive(*marks)


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A folder that other users can pass through, for all temporary folders of a run."""
    folder = make_temporary_folder()
    yield folder
    shutil.rmtree(folder)


linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")


@linux
def test_killed_and_resumed(graded_class: Class, tmp_path: Path, temporary: Path) -> None:
    """After SIGKILL no process goes on, every result is whole, the next run does the rest, and totals are those of one run."""
    part = graded_class.copy(tmp_path, results=False)
    process = part.start(*part.words(), script=HOOK + DIES_AFTER_THREE + KIT, MARKS=str(tmp_path), TMPDIR=str(temporary))
    process.communicate(timeout=90)
    assert process.returncode == -signal.SIGKILL
    assert gone(temporary, part.root)
    done = {name: time for name, time in part.files().items() if not name.startswith(".")}
    assert 3 <= len(done) < len(SUBMISSIONS) + 3
    for name in done:
        SubmissionResult.model_validate_json((part.folder / "results" / name).read_bytes())
    assert f"{len(done)} graded before" in part.course()
    assert done.items() <= part.files().items(), "nothing twice"
    assert {name: outcomes(one) for name, one in part.results().items()} == {
        name: outcomes(one) for name, one in graded_class.results().items()
    }
    assert (part.folder / "gradebook.csv").read_bytes() == (graded_class.folder / "gradebook.csv").read_bytes()


@linux
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped(graded_class: Class, tmp_path: Path, temporary: Path, number: int) -> None:
    """Ctrl-C and a scheduler's SIGTERM end with 130, and leave no process and no folder."""
    part = graded_class.copy(tmp_path, results=False)
    process = part.start(*part.words(), TMPDIR=str(temporary))
    until = time.monotonic() + 60
    while not list(part.folder.glob("results/*.json")) and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(number)
    _, errors = process.communicate(timeout=90)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert gone(temporary, part.root)
    assert list(temporary.iterdir()) == []
    assert not list(part.folder.glob("results/.*"))


def marked(folder: Path, pattern: str, seconds: float = 60.0) -> int:
    """Return the process id in the name of the first mark that fits."""
    until = time.monotonic() + seconds
    while not (found := list(folder.glob(pattern))) and time.monotonic() < until:
        time.sleep(0.01)
    return int(found[0].name.partition("-")[2])


@linux
def test_stopped_while_workers_start(graded_class: Class, tmp_path: Path, temporary: Path) -> None:
    """Signals between a worker's fork and its first line, and a second one during cleanup, change nothing of this."""
    part = graded_class.copy(tmp_path, results=False)
    process = part.start(*part.words(), script=HOOK + SLOW_WORKERS + KIT, MARKS=str(tmp_path), TMPDIR=str(temporary))
    worker = marked(tmp_path, "starts-*")
    process.send_signal(signal.SIGTERM)
    os.kill(worker, signal.SIGINT)  # Ctrl-C is for the whole group
    os.kill(worker, signal.SIGTERM)
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=90)
    assert (process.returncode, errors) == (130, "stopped: what was not finished does not count\n")
    assert gone(temporary, part.root)
    assert list(temporary.iterdir()) == []
    assert not list(part.folder.glob("results/*"))


@linux
def test_a_worker_is_stopped_after_its_last_line(graded_class: Class, tmp_path: Path) -> None:
    """What it has graded counts, and multiprocessing prints no traceback while the process ends."""
    part = graded_class.copy(tmp_path, results=False)
    process = part.start(*part.words("--shard", "1/4"), script=HOOK + SLOW_WORKERS + KIT, MARKS=str(tmp_path))
    os.kill(marked(tmp_path, "ends-*"), signal.SIGTERM)
    _, errors = process.communicate(timeout=90)
    assert process.returncode == 0, errors
    assert "Traceback" not in errors
    assert len(part.results()) == 3


@linux
def test_workers_that_die_or_hang(graded_class: Class, tmp_path: Path, temporary: Path) -> None:
    """What a worker was at is tried again, three times at most; all others are graded, each once, and 3 tells of the one."""
    part = graded_class.copy(tmp_path, results=False)
    printed = part.course(code=3, script=HOOK + WORKERS_FAIL + KIT, MARKS=str(tmp_path), TMPDIR=str(temporary))
    assert "the grader failed for wrong" in printed
    results = part.results()
    assert sorted(results) == sorted([*SUBMISSIONS, *BAD])
    assert {name: (one.status, one.attempts) for name, one in results.items() if one.attempts > 1} == {
        "wrong": ("failed", 3),
        "right": ("graded", 2),
        "other": ("graded", 2),
    }
    assert not results["wrong"].report.final
    begun = (tmp_path / "begun").read_text().split()
    assert {name: begun.count(name) for name in results} == {name: one.attempts for name, one in results.items()}
    assert list(temporary.iterdir()) == []
    assert gone(temporary, part.root)
    printed = part.course()  # with nothing in its way, the one is graded
    assert f"{len(results) - 1} graded before" in printed
    assert outcomes(part.results()["wrong"]) == outcomes(graded_class.results()["wrong"])


def test_workers_where_nothing_can_be_forked(graded_class: Class, tmp_path: Path) -> None:
    """At level basic each worker has a process of its own, and comes to the same."""
    part = graded_class.copy(tmp_path, results=False)
    part.course("--shard", "1/4", GRADER_LEVEL="basic")
    whole, basic = graded_class.results(), part.results()
    assert len(basic) == 3
    assert {one.report.isolation for one in basic.values()} == {"basic"}
    for name, one in basic.items():
        compared = [[line[:2] for line in outcomes(result)] for result in (one, whole[name])]
        assert compared[0] == compared[1], name


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="full isolation needs root")
def test_what_others_handed_in_is_out_of_reach(graded_class: Class) -> None:
    """Where a submission could read those of others, the level is lower, and nobody is graded who may not be, nor blamed."""
    place = make_temporary_folder()  # one that other users can pass through
    try:
        part = graded_class.copy(place, results=False)
        shutil.copytree(part.export, place / "export", symlinks=True)
        part = part._replace(export=place / "export")
        for path in (place / "export", *(place / "export").rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() else 0o644)
        said = part.course("--require-level", "full", code=2, GRADER_WITHOUT="landlock")
        assert "full is required" in said
        assert "read hidden files" in said
        assert not part.results()
        assert part.folder.stat().st_mode & 0o077 == 0, "results are for their owner alone"
        part.course("--shard", "1/4", GRADER_WITHOUT="landlock")
        assert {one.report.isolation for one in part.results().values()} == {"process"}
    finally:
        shutil.rmtree(place)


# After a check was corrected


def corrected(root: Path, **bodies: str) -> None:
    """Replace the bodies of visible checks."""
    path = root / "tests/visible/test_toy.py"
    text = path.read_text(encoding="utf-8")
    for name, body in bodies.items():
        text, count = re.subn(rf"(def {name}\(student\):\n    \"\"\".*?\"\"\"\n)    .*\n", rf"\1    {body}\n", text)
        assert count == 1
    path.write_text(text, encoding="utf-8")


def test_only_a_corrected_check_is_run(graded_class: Class, tmp_path: Path) -> None:
    """With what needs it; the others stay to the last byte, and whose points move is told, also after a run that was killed."""
    part = graded_class.copy(tmp_path)
    before = part.results()
    corrected(part.root, test_three="assert True", test_many="assert 1 == 1")
    process = part.start(
        "regrade", str(part.folder), "--workers", "2", script=HOOK + DIES_AFTER_THREE + KIT, MARKS=str(tmp_path)
    )
    process.communicate(timeout=90)
    assert process.returncode == -signal.SIGKILL
    assert sorted(part.results()) == sorted(before), "the class's results are still there"
    printed = part.run("regrade", str(part.folder), "--workers", "2")
    after = part.results()
    assert "corrected: visible/test_many, visible/test_three\n" in printed
    lines = {found[1]: found[0] for found in re.findall(r"^(\S+ \((\S+)\): .* points: .*)$", printed, re.MULTILINE)}
    for name in ("wrong", "other", "simple", "who0"):
        assert f"{name} ({name}): 2 -> 4 points: " in printed
        assert "visible/test_three failed -> passed (+1)" in lines[name]
        assert "visible/test_both not run -> failed (+0)" in lines[name], "what it needs is passed now, so it is run"
        for old, new in zip(before[name].report.checks, after[name].report.checks, strict=True):
            if new.id not in ("visible/test_three", "visible/test_many", "visible/test_both"):
                assert old.model_dump_json() == new.model_dump_json(), "kept, with the seconds that it took then"
    assert "right (right): " not in printed
    assert "broken (broken): " not in printed


def test_comments_new_checks_and_removed_ones(graded_class: Class, tmp_path: Path) -> None:
    """A comment moves nothing; a new check is run for all, alone; one that is removed is in no result and no page."""
    part = graded_class.copy(tmp_path)
    before = part.results()
    checks = part.root / "tests/visible/test_toy.py"
    old = checks.read_text(encoding="utf-8")
    new = 'def test_new(student):\n    """Something new."""\n    student.expect("spread_of_three")\n'
    new = f'\n\n@points(0, question="spread")\n{new}'
    checks.write_text(f"# What a reader should know.\n{old}{new}", encoding="utf-8")
    printed = part.run("regrade", str(part.folder), "--workers", "2")
    assert "corrected: no check; new: visible/test_new\n" in printed
    after = part.results()
    for name, result in after.items():
        kept = [check.model_dump_json() for check in result.report.checks if check.id != "visible/test_new"]
        assert kept == [check.model_dump_json() for check in before[name].report.checks], name
    found = {
        name: [check.outcome.value for check in one.report.checks if check.id == "visible/test_new"]
        for name, one in after.items()
    }
    assert found["right"] == found["wrong"] == ["passed"]
    assert found["broken"] == ["failed"]
    checks.write_text(old + "# nothing but a remark\n", encoding="utf-8")
    printed = part.run("regrade", str(part.folder), "--workers", "2")
    assert "corrected: no check\n" in printed
    assert "0 of 12 scores moved" in printed
    assert {name: outcomes(one) for name, one in part.results().items()} == {
        name: outcomes(one) for name, one in before.items()
    }


def test_a_policy_that_does_not_fit_is_told_first(graded_class: Class, tmp_path: Path) -> None:
    """After hours of grading would be late."""
    new = graded_class.copy(tmp_path, results=False)
    policy = tmp_path / "policy.toml"
    policy.write_text("[weights.questions]\ntotals = 2\n", encoding="utf-8")
    assert "the class has no 'totals'" in new.course("--policy", str(policy), code=2)
    assert not (new.folder / "results").exists()


def test_policy_runs_nothing(graded_class: Class, tmp_path: Path) -> None:
    """Scores are made of what is stored: without the submissions, and where nothing could be run."""
    part = graded_class.copy(tmp_path)
    course = ResultsFolder(part.folder).course()
    ResultsFolder(part.folder).write_course(course.model_copy(update={"export": str(tmp_path / "gone")}))
    shutil.rmtree(part.root / "tests")
    before = part.files()
    policy = tmp_path / "policy.toml"
    policy.write_text("out_of = 100\n", encoding="utf-8")
    printed = part.run("regrade", str(part.folder), "--policy", str(policy), GRADER_LEVEL="none of these")
    assert "right (right): 6 -> " in printed
    assert part.files() == before
