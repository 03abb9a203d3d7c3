"""A class beside earlier ones: what differs is shown, chance is not, and work from elsewhere is found, for staff alone."""

from __future__ import annotations

import json
import random
import re
import shutil
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from grader.course import classpage
from grader.course.classpage import ClassFiles
from grader.course.earlier import OUTSIDE, STATISTICS
from grader.course.handed_in import FOLDER, CodeFile, HandedInCode
from grader.course.insight import CheckInsight
from grader.course.numbers import ClassStatistics, describe_class
from grader.course.results import SHORT, ResultsFolder
from grader.course.semesters import ClassComparison, ComparedRow, choose_beyond_chance, compare_classes, compute_fisher
from grader.course.similarity import OutsideTexts, find_similar_pairs
from grader.course.worklist import Person
from grader.report.model import Outcome, ValueTable
from tests.kit.browser import measure_width, needs_browser
from tests.kit.test_class_page import UNWRITTEN, Planted, mistaken, wrong
from tests.kit.test_page import HOSTILE, Parsed
from tests.kit.test_similarity import CLASS, GIVEN, everything, renamed

pytestmark = pytest.mark.recorded

INPUTS = (
    "assignments/policy_gradient/submitted.py",
    "command:regrade",
    "grader/course/*.html",
    "grader/report/*.html",
    "tests/kit/toy/assignments/toy/*",
)
CATALOGUE = ("half", "minus_one", "minus_two")


def planted(*parts: tuple[int, dict[str, Any]]) -> Planted:
    """Return a class of which so many submissions fail in each of these ways."""
    made = Planted()
    for number, fields in parts:
        for _ in range(number):
            made.add(f"s{len(made.entries)}", **fields)
    return made


def count(made: Planted, catalogue: Sequence[str] | None = CATALOGUE, **digests: str) -> ClassStatistics:
    """Return a class in numbers; digests are given by the last letter of a check."""
    for name, result in made.results.items():
        if result:
            checks = {check.id: digests.get(check.id[-1], "same") for check in result.report.checks}
            made.results[name] = result.model_copy(update={"checks": checks})
    return describe_class(made.shown(), made.results, catalogue)


def compare(now: ClassStatistics, *earlier: ClassStatistics) -> ClassComparison:
    return compare_classes(now, [(f"class {number}", one) for number, one in enumerate(earlier, 1)])


def notes(rows: Sequence[ComparedRow]) -> dict[str, str]:
    """Return what became of each mistake."""
    return {row.title: row.note for row in rows}


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ((3, 4, 1, 4), 34 / 70),  # the lady tasting tea
        ((1, 10, 11, 14), 0.002759456185220083),
        ((0, 20, 0, 30), 1.0),
        ((20, 20, 30, 30), 1.0),
        ((0, 3000, 3000, 3000), 0.0),
        ((0, 5, 5, 5), 2 / 252),
    ],
)
def test_the_exact_test_is_exact(table: tuple[int, int, int, int], expected: float) -> None:
    """Values from textbooks, and by hand; both orders and both ends give the same."""
    part, whole, other, other_whole = table
    assert compute_fisher(*table) == pytest.approx(expected, abs=1e-12)
    assert compute_fisher(other, other_whole, part, whole) == pytest.approx(expected, abs=1e-12)
    assert compute_fisher(whole - part, whole, other_whole - other, other_whole) == pytest.approx(expected, abs=1e-12)


def test_many_comparisons_need_more_than_one() -> None:
    """Catches: 5 % taken for each of many checks, so that one in twenty always seems to move."""
    tests = {(number, 1): 0.04 for number in range(2)} | {(number, 1): 0.9 for number in range(2, 20)}
    assert choose_beyond_chance(tests) == set()
    assert choose_beyond_chance({(0, 1): 0.001, (1, 1): 0.024, (2, 1): 0.038, (3, 1): 0.9}) == {(0, 1), (1, 1)}
    assert len(choose_beyond_chance({(0, 1): 0.03, (1, 1): 0.035, (2, 1): 0.037})) == 3
    assert choose_beyond_chance({}) == set()


def test_what_has_moved_is_shown() -> None:
    """Catches: a direction the wrong way round, a check that is left out, or one that has not moved."""
    then = planted((36, {}), (4, {"d": wrong()}), (5, {"a": wrong()}))
    now = planted((20, {}), (20, {"d": wrong()}), (5, {"a": wrong()}))
    found = compare(count(now), count(then))
    assert {row.id or row.question: row.cells[1].moved for row in found.shares if row.cells[1]} == {
        "visible/test_d": "up",
        "second": "up",
    }
    row = next(row for row in found.shares if row.id)
    assert [(cell.part, cell.whole) for cell in row.cells if cell and not hasattr(cell, "value")] == [(20, 45), (4, 45)]
    back = compare(count(then), count(now))
    assert {cell.moved for row in back.shares for cell in row.cells[1:] if cell} == {"down"}


def test_chance_is_not_shown() -> None:
    """Of ten classes drawn from the same students, hardly any shows a difference."""
    chance = random.Random(3)

    def draw() -> ClassStatistics:
        made = Planted()
        for number in range(60):
            failed: dict[str, Any] = {letter: wrong() for letter in "abcde" if chance.random() < 0.3}
            made.add(f"s{number}", **failed)
        return count(made)

    first = draw()
    rows = [compare(draw(), first) for _ in range(10)]
    assert sum(len(one.shares) + len(one.correlations) + len(one.mistakes) for one in rows) <= 1


def test_mistakes_come_go_grow_and_shrink() -> None:
    """Catches: a word for the wrong direction; a mistake in the list that is as frequent as before."""
    one, two, half = (mistaken(name) for name in ("minus_one", "minus_two", "half"))
    then = planted((60, {}), (15, {"a": one}), (2, {"a": two}), (20, {"d": half}))
    now = planted((60, {}), (15, {"a": two}), (20, {"d": half}))
    assert notes(compare(count(now), count(then)).mistakes) == {"minus_one": "went", "minus_two": "grew"}
    assert notes(compare(count(then), count(now)).mistakes) == {"minus_one": "came", "minus_two": "shrank"}


def test_a_mistake_that_was_not_in_the_catalogue_has_not_come() -> None:
    """Catches: last term's uncatalogued answer, which got a name since, taken for a mistake that nobody made then."""
    then = planted((40, {}), (15, {"a": wrong(message="got 1")}))
    now = planted((40, {}), (15, {"a": mistaken("minus_one")}))
    known = compare(count(now), count(then, catalogue=("half",)))
    assert notes(known.mistakes) == {"not in the catalogue": "went"}
    unknown = compare(count(now), count(then, catalogue=None))
    assert notes(unknown.mistakes)["minus_one"] == "came; the catalogue of that time is not known"


def test_mistakes_that_look_alike_in_one_class_are_one() -> None:
    """Catches: a mistake that "went" because today's checks cannot distinguish it from another one."""
    then = planted((40, {}), (30, {"a": mistaken("minus_one")}), (30, {"a": mistaken("minus_two")}))
    now = planted((40, {}), (60, {"a": mistaken("minus_one", "minus_two")}))
    assert compare(count(now), count(then)).mistakes == ()


def test_checks_that_are_new_changed_or_gone() -> None:
    """Catches: a comparison of a check with another one, or a changed check without a word about it."""
    then, now = planted((38, {}), (2, {"d": wrong()})), planted((20, {}), (20, {"d": wrong()}))
    for made, left_out in ((then, "e"), (now, "b")):
        for result in filter(None, made.results.values()):
            result.report.checks[:] = [check for check in result.report.checks if check.id[-1] != left_out]
    found = compare(count(now, d="new digest"), count(then))
    (suite,) = found.suites
    assert (suite.added, suite.changed, suite.gone) == (
        ("hidden/test_secret_e",),
        ("visible/test_d",),
        ("visible/test_b",),
    )
    assert {row.id: row.note for row in found.shares if row.id} == {"visible/test_d": "the check has changed"}


def test_several_earlier_classes_stand_side_by_side() -> None:
    """Catches: a mark at the class that does not differ."""
    low, high = planted((38, {}), (2, {"d": wrong()})), planted((20, {}), (20, {"d": wrong()}))
    found = compare(count(high), count(low), count(high))
    row = next(row for row in found.shares if row.id)
    assert [cell.moved for cell in row.cells if cell] == ["", "up", ""]


def discriminating(sense: int) -> Planted:
    """Return a class in which those who fail the others' checks pass (1) or fail (-1) check a, or neither (0)."""
    made = Planted()
    for number in range(60):
        weak = number % 2 == 0
        fails = {1: weak, -1: not weak, 0: number % 4 < 2}[sense]
        said: dict[str, Any] = {letter: wrong() for letter in ("de" if weak else "") + ("a" if fails else "")}
        made.add(f"s{number}", **said)
    return made


def test_discrimination_of_checks() -> None:
    """Catches: a check's own points in the rest, so that every check discriminates; a sign the wrong way round."""
    values = [
        next(one for one in discriminating(sense).shown().checks if one.check.id == "visible/test_a") for sense in (1, 0, -1)
    ]
    assert [one.discrimination for one in values] == [pytest.approx(1), pytest.approx(0), pytest.approx(-1)]
    assert [one.is_odd for one in values] == [False, False, True]
    page = Parsed(discriminating(-1).page()).text
    assert "a sign of a faulty check: It does a. visible/test_ a (-1.00)" in page
    assert "a sign of a faulty check: It" not in Parsed(discriminating(0).page()).text
    found = compare(count(discriminating(-1)), count(discriminating(1)))
    assert {row.id: row.cells[1].moved for row in found.correlations if row.cells[1]}["visible/test_a"] == "down"
    assert not any(row.id == "visible/test_a" for row in found.shares), "as many fail it as before"


def test_too_few_to_correlate() -> None:
    """A check that all pass, and a class of a few, say nothing."""
    shown = planted((5, {}), (4, {"a": wrong()})).shown()
    assert {one.discrimination for one in shown.checks} == {None}
    assert [one.check.id for one in shown.failing] == ["visible/test_a"]
    assert not CheckInsight(shown.checks[0].check, 4, 9).is_odd


def test_the_page_shows_the_comparison() -> None:
    """Catches: a table without one of the classes, hidden words on no page, a label that is markup."""
    then, now = planted((38, {}), (2, {"e": wrong()})), planted((20, {}), (20, {"e": wrong(message="x")}))
    comparison = compare_classes(count(now), [(HOSTILE, count(then))])
    page = classpage.render(now.shown(), ClassFiles(comparison=comparison))
    told = Parsed(page)
    assert not {"script", "img"} & {tag for tag, _ in told.elements}
    assert "Compared with earlier classes" in told.text
    assert re.search(r"It does e\. hidden second .*?50 % 20 of 40 5 % 2 of 40", told.text)
    same = classpage.render(now.shown(), ClassFiles(comparison=compare_classes(count(now), [("rl-2025", count(now))])))
    assert "No check, question or mistake differs by more than chance." in Parsed(same).text
    assert "Compared with" not in now.page()


# Similar work from elsewhere


def test_copies_from_elsewhere_are_found() -> None:
    """Catches: a disguised copy of earlier work that is overlooked, and pairs among earlier work alone."""
    earlier = OutsideTexts({"old/1": CLASS["eve"], "old/2": renamed(CLASS["eve"])}, is_class=True)
    known = OutsideTexts({"public/a.py": CLASS["ann"]})
    own = {name: CLASS[name] for name in ("bob", "cho")} | {"zoe": everything(CLASS["eve"]), "yan": renamed(CLASS["ann"])}
    pairs = find_similar_pairs(own, GIVEN, [earlier, known])
    assert {(pair.first, pair.second) for pair in pairs} == {("zoe", "old/1"), ("zoe", "old/2"), ("yan", "public/a.py")}
    assert {pair.score for pair in pairs if pair.first == "yan"} == {1.0}
    (copied,) = (pair for pair in pairs if pair.first == "yan")
    first, second = own["yan"].splitlines(), CLASS["ann"].splitlines()
    assert copied.passages
    for (start, _), (other, _) in copied.passages:
        assert bool(first[start - 1]) == bool(second[other - 1])


def test_style_of_an_earlier_class_is_no_copy() -> None:
    """What a fifth of an earlier class writes is style; what many public solutions share is copied from each other."""
    many = {f"old/{number:02}": CLASS["eve"] for number in range(10)} | {f"old/x{number}": "" for number in range(10)}
    own = {"ann": CLASS["ann"], "zoe": renamed(CLASS["eve"])}
    assert find_similar_pairs(own, GIVEN, [OutsideTexts(many, is_class=True)]) == []
    assert len(find_similar_pairs(own, GIVEN, [OutsideTexts(many)])) == 10


def test_pairs_of_a_class_stay_when_others_are_added() -> None:
    """Catches: earlier work that crowds out the pairs within the class, or changes their scores."""
    ring = {f"s{number:02}": CLASS["ann"] for number in range(8)} | {f"t{number:02}": "" for number in range(60)}
    many = OutsideTexts({f"old/{number:03}": CLASS["ann"] for number in range(300)})
    alone = find_similar_pairs(ring)
    both = find_similar_pairs(ring, (), [many])
    assert alone
    assert [pair for pair in both if "/" not in pair.second] == alone
    assert len(both) == len(alone) + 200


# Folders of classes


def test_results_that_share_texts_are_as_they_were(tmp_path: Path) -> None:
    """Catches: a text taken for the outcome of the same name, or True for 1, where equal parts of results are kept once."""
    made = Planted()
    table = ValueTable(rows=("a",), expected=(("1",),), got=(("2",),), differs=((True,),), curves=((1.0, None), (0.0, 1.0)))
    for name in ("s0", "s1"):
        made.add(name, a=wrong(message="failed", tables=(table,), title="failed"), d=wrong("timeout", "failed"))
    folder = write_class(tmp_path / "class", made, {})
    read = {name: result for name, result in folder.of(folder.course()).items() if result}
    assert read == made.results
    for name in read:
        result = made.result(name)
        assert read[name].model_dump_json() == result.model_dump_json()
        assert {type(check.outcome) for check in read[name].report.checks} == {Outcome}
    first, second = (read[name].report.checks[0] for name in ("s0", "s1"))
    assert first.title is second.title
    assert (type(first.title), type(first.tables[0].differs[0][0]), type(first.tables[0].curves[0][0])) == (str, bool, float)


def write_class(folder: Path, made: Planted, code: dict[str, str], students: dict[str, Person] | None = None) -> ResultsFolder:
    """Write a graded class with its code into a folder, as the assignment `toy`."""
    made.entries = [
        entry.model_copy(update={"students": (students[entry.id],)}) if students and entry.id in students else entry
        for entry in made.entries
    ]
    course = made.course()
    whole = course.model_copy(update={"assignment": course.assignment.model_copy(update={"name": "toy"})})
    results = ResultsFolder(folder)
    results.results.mkdir(parents=True)
    (folder / FOLDER).mkdir()
    count(made)
    for entry in made.entries:
        results.write(made.result(entry.id))
        if entry.id in code:
            handed = HandedInCode(files=(CodeFile(name="submitted.py", text=code[entry.id]),))
            name = f"{entry.id}.{course.submissions[entry.id][:SHORT]}.json"
            (folder / FOLDER / name).write_text(handed.model_dump_json(), encoding="utf-8")
    results.write_course(whole)
    return results


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with the stub of the toy, and no code."""
    place = tmp_path / "root" / "assignments" / "toy"
    shutil.copytree(Path(__file__).with_name("toy") / "assignments" / "toy", place)
    (place / "submitted.py").write_text("", encoding="utf-8")
    return tmp_path / "root"


@pytest.fixture
def classes(tmp_path: Path) -> tuple[ResultsFolder, ResultsFolder]:
    """The class of today, in which one copies from last year, one from the web, and one repeats; and that of last year."""
    then = planted((38, {}), (2, {"d": wrong()}))
    then.entries[0] = then.entries[0].model_copy(update={"id": "s0"})
    old = {"s0": f"# A note of Olga's.\n{CLASS['eve']}", "s1": CLASS["bob"], "s2": CLASS["cho"]}
    names = {"s0": Person(name="Olga Old", sid="1"), "s1": Person(name="Rita Repeats", email="R@x.edu")}
    earlier = write_class(tmp_path / "rl-2025", then, old, names)
    now = planted((20, {}), (20, {"d": wrong()}))
    new = {"s5": renamed(CLASS["eve"]), "s6": CLASS["bob"], "s7": renamed(CLASS["ann"])}
    ours = write_class(tmp_path / "rl-2026", now, new, {"s6": Person(name="Rita Repeats", email="r@x.edu", sid="77")})
    return ours, earlier


def read_pages(folder: Path, pattern: str) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob(pattern)))


def test_a_class_is_compared_and_remembers_it(
    classes: tuple[ResultsFolder, ResultsFolder], root: Path, tmp_path: Path, command_line: Callable[..., int]
) -> None:
    """Catches: work of an earlier class on a page for students; a comparison that a policy or a deleted folder loses."""
    ours, earlier = classes
    public = tmp_path / "public"
    (public / "ppo").mkdir(parents=True)
    (public / "ppo" / "agent.py").write_text(CLASS["ann"], encoding="utf-8")
    options = ("--earlier", str(earlier.path), "--known", str(public))
    assert command_line("regrade", str(ours.path), *options, root=root) == 0
    page = Parsed(read_pages(ours.path, "class.html")).text
    for said in ("Compared with earlier classes", "rl-2025", "50 % 20 of 40", "5 % 2 of 40", "Like earlier work", "agent.py"):
        assert said in page, said
    assert "3 texts" not in page
    assert "2 texts from earlier classes or public solutions" in page
    assert "Rita Repeats (own earlier work)" in page
    pairs = {(one["first"], one["second"]) for one in json.loads((ours.path / "similarity.json").read_text())}
    assert pairs == {("s5", "rl-2025/s0"), ("s6", "rl-2025/s1"), ("s7", "public/ppo/agent.py")}
    beside = read_pages(ours.path, "similar/*.html")
    assert "Olga Old" in beside
    assert "A note of Olga" in beside
    students = read_pages(ours.path, "students/*.html")
    assert "Student s5" in students
    for word in ("Olga", "rl-2025", "agent.py", "earlier"):
        assert word not in students, word

    shutil.rmtree(earlier.path)
    shutil.rmtree(public)
    policy = tmp_path / "policy.toml"
    policy.write_text("out_of = 100\n")
    assert command_line("regrade", str(ours.path), "--policy", str(policy), root=root) == 0
    after = Parsed(read_pages(ours.path, "class.html")).text
    assert "Compared with earlier classes" in after
    assert read_pages(ours.path, "similar/*.html") == beside
    assert command_line("regrade", str(ours.path), "--known", __file__, root=root) == 0
    pairs = {(one["first"], one["second"]) for one in json.loads((ours.path / "similarity.json").read_text())}
    assert pairs == {("s5", "rl-2025/s0"), ("s6", "rl-2025/s1")}, "what is kept of a folder that is gone"


def test_the_numbers_of_a_class_are_enough(
    classes: tuple[ResultsFolder, ResultsFolder],
    root: Path,
    tmp_path: Path,
    command_line: Callable[..., int],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Catches: numbers that name a student; a class that can be compared only while its students' data are kept."""
    ours, earlier = classes
    assert command_line("regrade", str(earlier.path), "--known", str(Path(__file__)), root=root) == 0
    text = (earlier.path / STATISTICS).read_text(encoding="utf-8")
    for word in ("Olga", "Student", "s0", "r@x.edu", "R@x.edu"):
        assert word not in text, word
    file = tmp_path / "rl-2025.json"
    file.write_text(text, encoding="utf-8")
    assert command_line("regrade", str(ours.path), "--earlier", str(file), root=root) == 0
    assert "only numbers are compared" in capsys.readouterr().out
    assert "50 % 20 of 40" in Parsed(read_pages(ours.path, "class.html")).text


def damage_course(folder: Path) -> None:
    (folder / "course.json").write_text("{", encoding="utf-8")


def damage_result(folder: Path) -> None:
    next((folder / "results").glob("*.json")).write_bytes(b"\0")


def damage_numbers(folder: Path) -> None:
    (folder / STATISTICS).write_text('{"assignment": "toy"}', encoding="utf-8")


def rename_assignment(folder: Path) -> None:
    path = folder / "course.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"name": "toy"', '"name": "ddpg"'), encoding="utf-8")


def remove_results(folder: Path) -> None:
    shutil.rmtree(folder / "results")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (damage_course, "course.json is damaged"),
        (damage_result, ".json is damaged"),
        (damage_numbers, f"{STATISTICS} is damaged"),
        (rename_assignment, "is a class of ddpg: pass a class of the same assignment, toy"),
        (remove_results, "has no graded submission"),
        (shutil.rmtree, "there is no such file or folder"),
    ],
)
def test_a_spoiled_folder_gets_one_sentence(
    spoil: Callable[[Path], None],
    said: str,
    classes: tuple[ResultsFolder, ResultsFolder],
    root: Path,
    command_line: Callable[..., int],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Catches: a traceback, or a class that is half compared; nothing is written."""
    ours, earlier = classes
    before = sorted(ours.path.rglob("*"))
    spoil(earlier.path)
    assert command_line("regrade", str(ours.path), "--earlier", str(earlier.path), root=root) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert sorted(ours.path.rglob("*")) == before


def test_a_class_is_not_compared_with_itself_or_with_other_checks(
    classes: tuple[ResultsFolder, ResultsFolder],
    root: Path,
    command_line: Callable[..., int],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Catches: a page that says nothing has changed, because it looks at the same results or at no common check."""
    ours, earlier = classes
    assert command_line("regrade", str(ours.path), "--earlier", str(ours.path), root=root) == 2
    assert "is the class itself" in capsys.readouterr().err
    for path in earlier.results.glob("*.json"):
        path.write_text(path.read_text(encoding="utf-8").replace("/test_", "/test_of_another_course_"), encoding="utf-8")
    assert command_line("regrade", str(ours.path), "--earlier", str(earlier.path), root=root) == 0
    assert "rl-2025 has no check in common with this class" in capsys.readouterr().out
    assert "Compared with earlier classes" not in read_pages(ours.path, "class.html")


def test_public_solutions_in_every_form(
    classes: tuple[ResultsFolder, ResultsFolder],
    root: Path,
    tmp_path: Path,
    command_line: Callable[..., int],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Catches: a notebook or a zip that is overlooked, a file that stops the others, what lies in .git or behind a link."""
    ours, _ = classes
    public = tmp_path / "public"
    (public / ".git").mkdir(parents=True)
    source = CLASS["ann"]
    (public / "nb.ipynb").write_text(json.dumps({"cells": [{"cell_type": "code", "source": source}]}), encoding="utf-8")
    with zipfile.ZipFile(public / "repo.zip", "w") as packed:
        packed.writestr("main/agent.py", source)
        packed.writestr("main/read.me", source)
    (public / "torn.zip").write_bytes(b"PK\x03\x04torn")
    (public / ".git" / "copy.py").write_text(source, encoding="utf-8")
    (public / "link.py").symlink_to("/etc/passwd")
    (public / "latin.py").write_bytes(b"# \xe4\xf6\xfc\n")
    assert command_line("regrade", str(ours.path), "--known", str(public), root=root) == 0
    printed = capsys.readouterr().out
    assert "public is not compared with latin.py" in printed
    assert "torn.zip" in printed
    found = {one["second"] for one in json.loads((ours.path / "similarity.json").read_text())}
    assert found == {"public/nb.ipynb", "public/repo.zip/main/agent.py"}
    assert command_line("regrade", str(ours.path), "--known", str(tmp_path / "none"), root=root) == 2
    assert "there is no such file or folder" in capsys.readouterr().err


def test_two_shards_may_end_together(
    classes: tuple[ResultsFolder, ResultsFolder],
    root: Path,
    tmp_path: Path,
    command_line: Callable[..., int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Catches: pages that are not written, because another shard has just removed a text that was listed."""
    ours, _ = classes
    public = tmp_path / "agent.py"
    public.write_text(CLASS["ann"], encoding="utf-8")
    find = Path.glob

    def list_with_removed(folder: Path, pattern: str) -> list[Path]:
        return [*find(folder, pattern), *([folder / "removed.json"] if folder.name == OUTSIDE else [])]

    monkeypatch.setattr(Path, "glob", list_with_removed)
    assert command_line("regrade", str(ours.path), "--known", str(public), root=root) == 0
    assert [path.name for path in (ours.path / "similar").iterdir()]


def test_nobody_who_wrote_nothing_is_counted() -> None:
    """Catches: the stub counted as a failed check."""
    numbers = count(planted((10, {}), (10, {"all": UNWRITTEN})))
    assert {check.run for check in numbers.checks.values()} == {10}
    assert {check.failed for check in numbers.checks.values()} == {0}


# In a browser


@needs_browser
@pytest.mark.parametrize("width", [360, 1200])
def test_nothing_overflows_sideways(tmp_path: Path, width: int) -> None:
    """Catches: three classes with long names beside each other that push the page wider than the screen."""
    one, label = mistaken("a_mistake_with_quite_a_long_name_indeed"), f"{HOSTILE}{'x' * 300}"
    low = planted((900, {}), (90, {"e": wrong(title="y" * 300)}), (9, {"a": one}))
    high = planted((500, {}), (490, {"e": wrong(title="y" * 300)}), (150, {"a": one}), (90, {"d": wrong()}))
    found = compare_classes(count(high), [(label, count(low)), ("rl-2024/autumn", count(low)), ("rl-2023", count(high))])
    assert found.shares
    assert found.mistakes
    page = classpage.render(high.shown(), ClassFiles(comparison=found))
    assert measure_width(page, width, tmp_path) <= width
