"""The folder of pages that can be mailed, or uploaded to a platform."""

from __future__ import annotations

import csv
import stat
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from grader import __main__ as kit
from grader.assignment import UsageError
from grader.course.adjustments import COLUMNS
from grader.course.classpage import ClassFiles
from grader.course.mailing import write_mailing
from grader.course.publishing import write_pages
from grader.course.rescore import read_scores, rescore
from grader.course.results import Course, ResultsFolder
from grader.course.summary import explain_scores
from grader.course.worklist import Person
from tests.kit.test_course_policy import ADA, BOB, DUE, WORK, course, entry, graded, result

pytestmark = pytest.mark.recorded

INPUTS = ("command:feedback", "grader/course/*.html", "grader/report/*.html")


def publish(folder: ResultsFolder, whole: Course, policy: str = "", by_hand: str = "") -> None:
    """Write scores and pages of a class in which all but the last submission are graded."""
    folder.write_course(whole)
    for one in whole.entries[:-1]:
        folder.write(result(one.id, graded(WORK)))
    file = folder.path.with_name("policy.toml")
    file.write_text(policy, encoding="utf-8")
    adjustments = folder.path.with_name("adjustments.csv")
    adjustments.write_text(",".join(COLUMNS) + f"\n{by_hand}", encoding="utf-8")
    rescore(folder, file, adjustments=adjustments)
    stored = read_scores(folder)
    assert stored is not None
    accounts = explain_scores(whole, stored.scores, stored.rules.parse_adjustments())
    write_pages(folder, whole, folder.of(whole), ClassFiles(accounts=accounts))


def read_mail(output: Path) -> list[dict[str, str]]:
    """Return the rows of the mail merge."""
    with (output / "mail.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_pages_for_mail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Each row names the page of its own student; members of a group do not get each other's; who has none gets no file."""
    folder, output = ResultsFolder(tmp_path / "class"), tmp_path / "out"
    whole = course(
        entry("submission_1", DUE, ADA, BOB), entry("submission_2", DUE, Person(name="Cy", email="cy@x.edu", sid="9"))
    )
    publish(folder, whole, '[[adjustments]]\nstudent = "bob@x.edu"\npoints = -4\nreason = "a hearing"\n')
    monkeypatch.setattr(sys, "argv", ["grader", "feedback", str(folder.path), "-o", str(output)])
    assert kit.main() == 0
    assert capsys.readouterr().out.splitlines() == [
        f"wrote 2 pages, and mail.csv, to {output}",
        "1 without a page, because they are not graded yet: Cy",
    ]
    ada, bob, cy = read_mail(output)
    assert list(ada.values()) == ["ada@x.edu", "Ada Lovelace", "007", "19", "25", "final", "pages/submission_1~1.html"]
    assert (bob["Points"], bob["File"]) == ("15", "pages/submission_1~2.html")
    assert (cy["Points"], cy["Status"], cy["File"]) == ("", "pending", "")
    pages = {one["Email"]: (output / one["File"]).read_text(encoding="utf-8") for one in (ada, bob)}
    assert ["a hearing" in pages[one] for one in ("ada@x.edu", "bob@x.edu")] == [False, True]
    assert stat.S_IMODE(output.stat().st_mode) == 0o700
    assert not (output / "upload.zip").exists()


def test_a_private_comment_reaches_its_student_only(tmp_path: Path) -> None:
    """Catches: one page for a group whose points are the same, but of whom one has a comment."""
    folder, output = ResultsFolder(tmp_path / "class"), tmp_path / "out"
    whole = course(entry("submission_1", DUE, ADA, BOB), entry("submission_2", DUE, Person(sid="9")))
    publish(folder, whole, by_hand="bob@x.edu,a,,see me,,,\n")
    list(write_mailing(folder, output))
    pages = [(output / one["File"]).read_text(encoding="utf-8") for one in read_mail(output)[:2]]
    assert ["see me" in page for page in pages] == [False, True]


def test_pages_for_canvas(tmp_path: Path) -> None:
    """Canvas finds the student by the first two numbers of a file's name."""
    folder = ResultsFolder(tmp_path / "class")
    names = ("doejane_77_5001_submitted-1.py", "roe_LATE_78_5002_my_work.ipynb", "late_79_5003_submitted.py")
    entries = [entry(name[:7], None, Person(sid=name[-20:])).model_copy(update={"path": name}) for name in names]
    publish(folder, course(*entries, layout="canvas"))
    assert (
        next(write_mailing(folder, tmp_path / "out"))
        == f"wrote 2 pages and upload.zip for Canvas, and mail.csv, to {tmp_path / 'out'}"
    )
    expected = ["doejane_77_5001_feedback.html", "roe_LATE_78_5002_feedback.html"]
    assert sorted(path.name for path in (tmp_path / "out" / "pages").iterdir()) == expected
    with zipfile.ZipFile(tmp_path / "out" / "upload.zip") as archive:
        assert sorted(archive.namelist()) == expected
        assert archive.read(expected[0]) == (tmp_path / "out" / "pages" / expected[0]).read_bytes()


def test_an_interruption_leaves_no_part_of_a_zip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: a zip with the pages of half of the class, which the platform accepts."""
    folder = ResultsFolder(tmp_path / "class")
    names = ("doejane_77_5001_submitted.py", "roe_78_5002_submitted.py", "late_79_5003_submitted.py")
    entries = [entry(name[:7], None, Person(sid=name[-20:])).model_copy(update={"path": name}) for name in names]
    publish(folder, course(*entries, layout="canvas"))
    written: list[object] = []
    write = zipfile.ZipFile.writestr

    def stop(archive: zipfile.ZipFile, *content: Any) -> None:
        if written:
            raise KeyboardInterrupt
        written.append(content)
        write(archive, *content)

    monkeypatch.setattr(zipfile.ZipFile, "writestr", stop)
    with pytest.raises(KeyboardInterrupt):
        list(write_mailing(folder, tmp_path / "out"))
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["mail.csv", "pages"]


@pytest.mark.parametrize("ending", ["", "_", "_submitted.py"])
def test_pages_for_moodle(tmp_path: Path, ending: str) -> None:
    """Moodle finds the student by the number before assignsubmission, whether its zip has folders or not."""
    folder = ResultsFolder(tmp_path / "class")
    people = ("Zoë Doe_1001_assignsubmission_file", "O'Neil, J._1002_assignsubmission_file")
    entries = [
        entry(f"p{number}", None, Person(name=name)).model_copy(update={"path": name + ending})
        for number, name in enumerate(people)
    ]
    publish(folder, course(*entries, layout="folder"))
    list(write_mailing(folder, tmp_path / "out"))
    assert [path.name for path in (tmp_path / "out" / "pages").iterdir()] == [
        "Zoë Doe_1001_assignsubmission_file_feedback.html"
    ]
    with zipfile.ZipFile(tmp_path / "out" / "upload.zip") as archive:
        assert archive.namelist() == ["Zoë Doe_1001_assignsubmission_file_feedback.html"]


def test_an_odd_space_in_a_name_is_the_same_in_the_table(tmp_path: Path) -> None:
    """Catches: a mail without its page, because mail.csv has plain spaces where the file's name has others."""
    folder = ResultsFolder(tmp_path / "class")
    path = "Zoë\u00a0van\u200bDoe_1001_assignsubmission_file"
    one = entry("p0", None, Person(name="Zoë")).model_copy(update={"path": path})
    publish(folder, course(one, entry("p1", None, Person(name="Bo")), layout="folder"))
    list(write_mailing(folder, tmp_path / "out"))
    assert (tmp_path / "out" / read_mail(tmp_path / "out")[0]["File"]).is_file()


@pytest.mark.parametrize("now", [("submission_1",), ("submission_1", "submission_2", "submission_3")])
def test_scores_of_other_submissions_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], now: tuple[str, ...]
) -> None:
    """Catches: a student left out of the mail in silence, or a traceback, after a run of `course` that was interrupted."""
    folder, output = ResultsFolder(tmp_path / "class"), tmp_path / "out"
    publish(folder, course(entry("submission_1", DUE, ADA), entry("submission_2", DUE, BOB)))
    folder.write_course(course(*(entry(name, DUE, Person(sid=name)) for name in now)))
    monkeypatch.setattr(sys, "argv", ["grader", "feedback", str(folder.path), "-o", str(output)])
    assert kit.main() == 2
    assert "scores.json does not match the submissions in course.json; run `course` again" in capsys.readouterr().err
    assert not output.exists()


def test_a_pending_student_gets_no_page(tmp_path: Path) -> None:
    """Catches: the page of an earlier grading in the mail, after `regrade --undo` or a new submission."""
    folder, output = ResultsFolder(tmp_path / "class"), tmp_path / "out"
    whole = course(entry("submission_1", DUE, ADA), entry("submission_2", DUE, BOB))
    publish(folder, whole)
    folder.write_course(whole.model_copy(update={"suite": "u" * 64}))  # of which nobody has a result
    with pytest.raises(UsageError, match=r"does not match the submissions in course\.json; run `course` again"):
        list(write_mailing(folder, output))
    rescore(folder)
    assert (folder.path / "students" / "submission_1.html").is_file()
    assert list(write_mailing(folder, output)) == [
        f"wrote 0 pages, and mail.csv, to {output}",
        "2 without a page, because they are not graded yet: Ada Lovelace, Bob",
    ]
    assert [(one["Status"], one["Points"], one["File"]) for one in read_mail(output)] == [("pending", "", "")] * 2
    assert not (output / "pages").exists()


def test_a_page_that_is_missing_is_no_pending_grade(tmp_path: Path) -> None:
    """Catches: "not graded yet" of a student who has a score, whose page an interrupted run has not written."""
    folder = ResultsFolder(tmp_path / "class")
    publish(folder, course(entry("submission_1", DUE, ADA), entry("submission_2", DUE, BOB)))
    (folder.path / "students" / "submission_1.html").unlink()
    assert list(write_mailing(folder, tmp_path / "out"))[1:] == [
        "1 without a page, because they are not graded yet: Bob",
        "1 graded, but without a page: Ada Lovelace; run `course` again, which writes the pages",
    ]


def test_no_old_page_is_sent(tmp_path: Path) -> None:
    """A page of an earlier grading in the folder would be uploaded with the others."""
    folder, output = ResultsFolder(tmp_path / "class"), tmp_path / "out"
    folder.write_course(course(entry()))
    with pytest.raises(UsageError, match=r"has no scores\.json; run `course` again"):
        list(write_mailing(folder, output))
    publish(folder, course(entry(), entry("submission_2", DUE, BOB)))
    output.mkdir()
    (output / "old.html").touch()
    with pytest.raises(UsageError, match="exists and is not an empty folder; name a new folder"):
        list(write_mailing(folder, output))
    assert [path.name for path in output.iterdir()] == ["old.html"]
