"""What staff and students see of one submission: its code beside its outcomes, and two submissions side by side."""

from __future__ import annotations

import csv
import html
import json
import re
import time
from collections.abc import Iterable
from datetime import datetime, timezone
from itertools import combinations, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from grader.course import publishing
from grader.course.adjustments import COLUMNS, parse_adjustments, write_row
from grader.course.classpage import ClassFiles
from grader.course.feedback import Account
from grader.course.handed_in import CodeFile, HandedInCode, collect_code
from grader.course.marks import MOST_LINES, find_pointers
from grader.course.results import ResultsFolder
from grader.course.rings import MOST_DRAWN, group_pairs, name_pair
from grader.course.similarity import SimilarPair
from grader.course.worklist import WorklistEntry
from grader.judge.failure import format_trace
from grader.report.model import Outcome
from tests.kit.browser import measure_width, needs_browser
from tests.kit.test_class_page import ASSIGNMENT, Planted, wrong
from tests.kit.test_page import HOSTILE, LEVELS, Parsed

pytestmark = pytest.mark.recorded

CODE = "def first():\n    values = []\n    return values[0]\n\n\ndef second():\n    return 2\n"


def fails_at(*places: tuple[int, str], cell: int = 0, said: str = "IndexError: list index out of range") -> dict[str, Any]:
    """Return a check that failed in these lines, in the words of the judge."""
    frames = [{"line": line, "function": "first", "text": text} | ({"cell": cell} if cell else {}) for line, text in places]
    return wrong(message=f"{said}{format_trace({'frames': frames})}")


def handed_in(text: str = CODE, notebook: bool = False) -> HandedInCode:
    return HandedInCode(files=(CodeFile(name="submitted.py", text=text, notebook=notebook),))


def write(where: Path, made: Planted, code: dict[str, HandedInCode] | None = None, **files: Any) -> dict[str, str]:
    """Write the pages of a class, and return them by their place."""
    texts = {entry.id: handed_in() for entry in made.entries} if code is None else code
    publishing.write_pages(ResultsFolder(where), made.course(), made.results, ClassFiles(code=texts, **files))
    return {str(path.relative_to(where)): path.read_text(encoding="utf-8") for path in where.rglob("*.html")}


def marked(page: str) -> list[str]:
    """Return the ids of the lines that are marked on a page."""
    return [one["id"] for tag, one in Parsed(page).elements if tag == "div" and one.get("class") == "marked"]


def linked(page: str) -> set[str]:
    """Return where the links of a page within itself lead, all of which must be there."""
    told = Parsed(page)
    targets = {target[1:] for target in told.all("href") if target.startswith("#")}
    assert targets <= set(told.all("id"))
    return targets


def test_lines_that_failed_checks_name_are_marked_and_linked(tmp_path: Path) -> None:
    """Catches: a mark in another line, a link to nowhere, a passed check that marks something."""
    made = Planted()
    made.add("mine", a=fails_at((3, "return values[0]")), d=fails_at((7, "return 2")))
    made.add("fine", a=fails_at((3, "return values[0]")) | {"outcome": Outcome.PASSED})
    pages = write(tmp_path, made)
    for part in ("staff", "students"):
        assert marked(pages[f"{part}/mine.html"]) == ["file-1-line-3", "file-1-line-7"]
        assert {"first", "second", "file-1-line-3", "file-1-line-7", "file-1-line-1"} <= linked(pages[f"{part}/mine.html"])
        assert marked(pages[f"{part}/fine.html"]) == []
    assert "See line 3; the function begins in line 1." in re.sub(r"<[^>]+>", "", pages["staff/mine.html"])


def test_students_see_the_same_without_what_is_hidden(tmp_path: Path) -> None:
    """Catches: a line that only a hidden check names, its message, its name, or a form of the staff, on the student's page."""
    made = Planted()
    made.add("mine", who="Ada Lovelace", c=fails_at((3, "return values[0]"), said="SECRET inputs"))
    at = datetime(2026, 3, 1, 22, 59, tzinfo=timezone.utc)
    made.entries = [entry.model_copy(update={"created_at": at}) for entry in made.entries]
    pages = write(tmp_path, made, accounts={"mine": Account(["10 of 10 points"], "Ada Lovelace")})
    staff, student = pages["staff/mine.html"], pages["students/mine.html"]
    for page in (staff, student):
        assert "Ada Lovelace, submitted 2026-03-01 22:59 +0000" in re.sub(r"<[^>]+>", "", page)
        assert "return values[0]" in page
    assert marked(staff) == ["file-1-line-3"]
    assert "SECRET inputs" in staff
    assert marked(student) == []
    for word in ("SECRET", "secret", "adjustments.csv", "../", "staff"):
        assert word not in student, word


def test_lines_of_a_notebook_are_found_by_what_they_say(tmp_path: Path) -> None:
    """Catches: the line of a cell that is taken for a line of the whole notebook."""
    made = Planted()
    made.add("book", a=fails_at((1, "return values[0]"), cell=4), b=fails_at((2, "gone"), cell=5))
    pages = write(tmp_path, made, {"book": handed_in("x = 1\n" + CODE, notebook=True)})
    assert marked(pages["staff/book.html"]) == ["file-1-line-4"]


def test_every_form_of_a_place_is_read(tmp_path: Path) -> None:
    """Catches: a message of the judge whose line is not understood."""
    made = Planted()
    made.add("syntax", all=wrong(message="your file is not valid Python: invalid syntax\n  line 3\n    def total(:"))
    made.add("stub", a=wrong(message="line 281 still raises the stub's NotImplementedError; delete that line"))
    made.add(
        "words",
        a=wrong(message="expected 3, got line 12\nIn that line, `x` is 3"),
        b=wrong(message="x\n  line 99, in f\n    y"),
    )
    found = {name: [(one.line, one.quoted) for one in find_pointers(made.result(name).report)] for name in made.results}
    assert set(found["syntax"]) == {(3, "def total(:")}
    assert found["stub"] == [(281, "")]
    assert found["words"] == [(99, "y")]
    assert marked(write(tmp_path, made)["staff/words.html"]) == [], "there is no line 99"


def test_the_lines_to_copy_can_be_read(tmp_path: Path) -> None:
    """Catches: a line that adjustments.csv does not accept, that is about another question, or that fixes points."""
    made = Planted()
    made.add("mine", a=wrong())
    staff = write(tmp_path, made)["staff/mine.html"]
    lines = [html.unescape(line) for line in re.findall(r"<textarea[^>]*>(.*?)</textarea>", staff, re.DOTALL)]
    told = [dict(zip(COLUMNS, cells, strict=True)) for cells in csv.reader(lines)]
    assert [(row["student"], row["question"], row["points"]) for row in told] == [
        ("mine", "first", "(points)"),
        ("mine", "second", "(points)"),
    ]
    assert [row[name] for row in told for name in COLUMNS[3:]] == [f"({name})" for name in COLUMNS[3:]] * 2
    assert ",".join(COLUMNS) in staff
    assert re.findall(r"<label[^>]*>(.*?)</label>", staff) == ["first, 3/4", "second, 6/6"]
    filled = "".join(f"{line.replace('(comment)', 'better than that')}\n" for line in lines)
    rows = parse_adjustments(",".join(COLUMNS) + "\n" + filled, "adjustments.csv")
    assert [row.points for row in rows] == [None, None], "a comment alone freezes points that a corrected check may raise"


def test_points_of_each_member_of_a_group(tmp_path: Path) -> None:
    """Catches: points that one member was given, shown for all, or added to those of another."""
    made = Planted()
    made.add("mine", who="Ada, Bob", a=wrong(), d=wrong())
    changes = {"mine~1": "ada,first,+0.5,w,,,\nmine,second,=5,w,,,", "mine~2": "bob,first,+1,w,,,\nmine,second,=5,w,,,"}
    accounts = {"mine": Account(["on a separate page for each member of the group"], "Ada, Bob")}
    for (page, text), name in zip(changes.items(), ("Ada", "Bob"), strict=True):
        accounts[page] = Account(["x"], name, parse_adjustments(",".join(COLUMNS) + f"\n{text}\n", "adjustments.csv"))
    pages = write(tmp_path, made, accounts=accounts)
    labels = [re.sub(r"<[^>]+>", "", label) for label in re.findall(r"<label[^>]*>(.*?)</label>", pages["staff/mine.html"])]
    assert labels == ["first, 3.5/4 (Ada), 4/4 (Bob)", "second, 5/6"]
    assert "by hand: 3.5/4<" in pages["students/mine~1.html"]
    assert "by hand: 4/4<" in pages["students/mine~2.html"]


def hostile() -> tuple[Planted, dict[str, HandedInCode], list[SimilarPair]]:
    """Return a class in which code, names and messages try to break out of their pages."""
    made = Planted()
    bad = f"{HOSTILE}</textarea></code>\u202e{'x' * 9_000}"
    for name in ("one", "two", "three"):
        made.add(name, who=bad, a=fails_at((2, HOSTILE), said=HOSTILE), d=wrong(message=HOSTILE))  # the judge has cleaned these
    code = {name: HandedInCode(files=(CodeFile(name=bad, text=f"{bad}\n{bad}\r\x1b[31m\n" * 9),)) for name in made.results}
    return (
        made,
        code,
        [SimilarPair(first, second, 0.7, [((1, 9), (2, 900))]) for first, second in combinations(sorted(code), 2)],
    )


def test_nothing_a_student_writes_is_markup(tmp_path: Path) -> None:
    """Catches: code, a name or a request that runs in a browser, turns the text around it, or loads something."""
    made, code, pairs = hostile()
    text = f"{','.join(COLUMNS)}\n{write_row('one', 'first', '+1', HOSTILE, '</textarea>', HOSTILE)}\n"
    account = Account([HOSTILE], HOSTILE, parse_adjustments(text, "a"))
    for place, page in write(tmp_path, made, code, pairs=pairs, accounts={"one": account}).items():
        told = Parsed(page)
        tags = [tag for tag, _ in told.elements]
        assert not {"script", "img", "link", "iframe", "form", "base", "input", "button"} & set(tags), place
        assert tags.count("style") == 1
        assert not [name for _, one in told.elements for name in one if name in ("src", "style") or name[:2] == "on"], place
        assert not re.search("[\u202a-\u202e\u2066-\u2069\x1b]", page), place
        assert "default-src 'none'; style-src 'unsafe-inline'" in told.all("content"), place
        assert not re.search(r'(href|src)="(https?:|//)', page), place
        assert len(page) < 400_000, place


def test_can_be_read_by_everyone(tmp_path: Path) -> None:
    """Catches: headings out of order, an id that means two things, a picture or a field without a name."""
    made = Planted()
    for name in "wxyz":
        made.add(name, a=fails_at((3, "return values[0]")))
    pairs = [SimilarPair(first, second, 0.9, [((1, 3), (1, 3))]) for first, second in combinations("wxyz", 2)]
    account = Account(["1 of 2 points"], "Ada", parse_adjustments(",".join(COLUMNS) + "\nw,first,+1,c,,r,\n", "a"))
    for place, page in write(tmp_path, made, pairs=pairs, accounts={"w": account}).items():
        told = Parsed(page)
        levels = [LEVELS.index(tag) for tag, _ in told.elements if tag in LEVELS]
        assert levels.count(0) == 1, place
        assert all(after <= before + 1 for before, after in pairwise(levels)), place
        assert len(told.all("id")) == len(set(told.all("id"))), place
        fields = {one["id"] for tag, one in told.elements if tag == "textarea"}
        assert fields == {one["for"] for tag, one in told.elements if tag == "label"}, place
        pictures = [one for tag, one in told.elements if tag == "svg"]
        assert all(one.get("aria-hidden") == "true" or (one["role"] == "img" and one["aria-label"]) for one in pictures), place


# Groups of similar submissions


def pairs_of(*links: str) -> list[SimilarPair]:
    return [SimilarPair(link[0], link[1], 0.9 - index / 50, []) for index, link in enumerate(links)]


@pytest.mark.parametrize(
    ("links", "groups"),
    [
        (("ab", "bc", "cd", "ad"), ["abcd"]),
        (("ab", "cd", "bc"), ["abcd"]),
        (("ab", "ac", "bd"), ["abcd"]),
        (("ab", "cd"), ["ab", "cd"]),
        (("ab", "ac", "ad", "xy"), ["abcd", "xy"]),
        ((), []),
    ],
)
def test_what_hangs_together_is_one_group(links: tuple[str, ...], groups: list[str]) -> None:
    """Catches: a ring of four as several findings, two groups as one, a pair that is lost."""
    found = group_pairs(pairs_of(*links))
    assert ["".join(sorted(group.members)) for group in found] == groups
    assert sum(len(group.pairs) for group in found) == len(links)


def test_a_group_is_drawn_unless_it_is_large() -> None:
    """Catches: a drawing that misses a member or a line, or a blot of a whole class."""
    drawing = group_pairs(pairs_of("ab", "bc", "cd", "ad"))[0].draw()
    assert drawing is not None
    assert (len(set(drawing.dots)), len(drawing.lines)) == (4, 4)
    assert {end for line in drawing.lines for end in line[:2]} == set(drawing.dots)
    chain = [SimilarPair(f"{number:03}", f"{number + 1:03}", 0.5, []) for number in range(MOST_DRAWN)]
    assert group_pairs(chain)[0].draw() is None
    assert group_pairs(chain[:-1])[0].draw() is not None
    assert group_pairs(pairs_of("ab"))[0].draw() is None


def test_similar_texts_stand_side_by_side(tmp_path: Path) -> None:
    """Catches: a passage cut from the wrong lines or the wrong side, a page that nothing links, one that is left behind."""
    made = Planted()
    for name in "abcd":
        made.add(name, who=f"Student {name}")
    code = {name: handed_in("".join(f"{name} line {line}\n" for line in range(1, 9))) for name in "abcd"}
    pairs = [SimilarPair(first, second, 0.9, [((2, 3), (5, 6))]) for first, second in ("ab", "bc", "cd", "ad")]
    pages = write(tmp_path, made, code, pairs=pairs)
    told = Parsed(pages["class.html"])
    places = [target for target in told.all("href") if target.startswith("similar/")]
    assert len(places) == 4
    assert all(place in pages for place in places)
    assert "4 submissions , in 4 similar pairs" in told.text
    page = pages[f"similar/{name_pair(pairs[0])}"]
    excerpt = page[page.index("The same passages") : page.index("All code")]
    assert re.findall(r"<code>(\w line \d)</code>", excerpt) == ["a line 2", "a line 3", "b line 5", "b line 6"]
    assert re.findall(r'class="marked"><i>\d</i><code>(\w line \d)', page) == ["a line 2", "a line 3", "b line 5", "b line 6"]
    assert {f"../staff/{name}.html" for name in "ab"} <= set(Parsed(page).all("href"))
    assert set(write(tmp_path, made, code, pairs=pairs[:1])) == set(pages) - set(places) | {f"similar/{name_pair(pairs[0])}"}


# What was handed in


def test_code_is_kept_when_the_export_is_gone(tmp_path: Path) -> None:
    """Catches: pages that lose the code when a policy is applied after the term, or show an older submission's."""
    export = tmp_path / "export"
    export.mkdir()
    (export / "ada.py").write_bytes(b"one\r\ntwo\n")
    (export / "bob.py").write_text(json.dumps({"cells": [{"cell_type": "code", "source": "three"}]}))
    home: Any = SimpleNamespace(assignment=ASSIGNMENT)
    made = Planted()
    whole = made.course().model_copy(
        update={
            "export": str(export),
            "entries": [WorklistEntry(id=name, path=f"{name}.py") for name in ("ada", "bob", "eve")],
            "submissions": {"ada": "1" * 64, "bob": "2" * 64, "eve": "3" * 64},
        }
    )
    found = collect_code(home, whole, tmp_path / "class")
    assert {name: (code.files[0].name, code.text) for name, code in found.items()} == {
        "ada": ("ada.py", "one\r\ntwo\n"),
        "bob": ("bob.py", "three"),
    }
    for path in export.iterdir():
        path.unlink()
    export.rmdir()
    assert collect_code(home, whole, tmp_path / "class") == found
    newer = whole.model_copy(update={"submissions": whole.submissions | {"ada": "4" * 64}})
    assert collect_code(home, newer, tmp_path / "class").keys() == {"bob"}


def test_a_huge_submission_makes_a_page_all_the_same(tmp_path: Path) -> None:
    """Catches: a file of a megabyte that fills a page, or the memory of whoever opens it."""
    made = Planted()
    made.add("huge")
    began = time.process_time()
    pages = write(tmp_path, made, {"huge": handed_in("x = 1\n" * 200_000)})
    assert time.process_time() - began < 5
    assert f"{200_000 - MOST_LINES:,} more lines are not shown here" in pages["staff/huge.html"]
    assert len(pages["staff/huge.html"]) < 800_000


# In a browser


@needs_browser
@pytest.mark.parametrize("width", [360, 1400])
@pytest.mark.parametrize("part", ["staff", "students", "similar", "class"])
def test_nothing_overflows_sideways(tmp_path: Path, width: int, part: str) -> None:
    """Catches: a long line or name that pushes the page wider than the screen."""
    made, code, pairs = hostile()
    pages: Iterable[tuple[str, str]] = write(tmp_path / "class", made, code, pairs=pairs).items()
    page = next(text for place, text in pages if place.startswith(part))
    assert measure_width(page, width, tmp_path) <= width
