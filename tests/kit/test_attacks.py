"""Hostile submissions, graded in every situation that this machine can be put into: what they try must not work.

The attacks are in attacks/, each with what must be seen of it; run.py there looks for damage after each.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.assignment import AssignmentFiles, UsageError
from grader.judge.run import grade
from grader.sandbox.places import find_working_folder
from tests.kit.attacks.catalogue import load
from tests.kit.attacks.situations import ROOT, SITUATIONS, USER
from tests.kit.attacks.table import table

# What is contained, the kernel and the rights decide, beside the inputs; `make verify` runs all of it anyway.
pytestmark = [pytest.mark.attack, pytest.mark.slow(150), pytest.mark.recorded(kernel=True)]

OWN_SERVERS = True
INPUTS = ("tests/kit/attacks/**", "SECURITY.md", "benchmarks/results/isolation.json")

OURS = [situation for situation in SITUATIONS if os.geteuid() == 0 or situation in ("user", "basic")]


@pytest.fixture(scope="module")
def attacked_toy(built_toy: Path) -> Iterator[Path]:
    """The toy, in a folder that every user can read."""
    home = Path(find_working_folder(), f"grader-attacks-{os.getpid()}")
    home.mkdir(mode=0o755)
    home.chmod(0o755)
    try:
        yield Path(shutil.copytree(built_toy, home / "toy"))
    finally:
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="module", params=[*OURS, "everywhere"])
def run(request: pytest.FixtureRequest) -> str:
    """The situation of the attacks; "everywhere" is root's, with the attack in place of every function."""
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def seen(attacked_toy: Path, run: str) -> dict[str, Any]:
    """What was seen of all attacks."""
    work = attacked_toy.with_name(run)
    work.mkdir()
    if run == "user" and os.geteuid() == 0:
        os.chown(work, USER, USER)
    situation = OURS[0] if run == "everywhere" else run
    more = ["--everywhere"] if run == "everywhere" else []
    arguments = ["-m", "tests.kit.attacks.run", str(attacked_toy), str(work), str(work / "seen.json"), *more]
    command = [sys.executable, "-m", "tests.kit.attacks.situations", situation, *arguments]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900)
    assert done.returncode == 0, done.stdout[-3000:]
    found: dict[str, Any] = json.loads((work / "seen.json").read_text())
    return found


def test_there_are_attacks_of_every_kind() -> None:
    """Forty at least, and honest submissions beside them, or containment would be easy."""
    attacks = load()
    assert len({attack.name for attack in attacks}) == len(attacks)
    assert sum(not attack.honest for attack in attacks) >= 40
    assert sum(attack.honest for attack in attacks) >= 8


def test_attacks_are_contained(seen: dict[str, Any]) -> None:
    """Checks of the attacked function fail with the right outcome, the others keep their points, and nothing else happens."""
    isolation, attacks = seen["isolation"], seen["attacks"]
    if isolation["open"]:
        pytest.skip(f"isolation is {isolation['level']} here, a submission could {', '.join(isolation['open'])}")
    faults = {name: found["why"] for name, found in attacks.items() if found["run"] and not found["contained"]}
    assert faults == {}
    assert seen["left at the end"] == []


def test_no_attack_earns_a_point_at_any_level(seen: dict[str, Any]) -> None:
    """Whatever a level cannot prevent: the score is what the honest part of the file earns."""
    for name, found in seen["attacks"].items():
        assert not [why for why in found.get("why", ()) if "the honest part earns" in why], name


def test_levels_are_what_the_situations_allow(seen: dict[str, Any], run: str) -> None:
    """`full` takes a user of its own for each call, and is not claimed without one."""
    isolation = seen["isolation"]
    own = "own user" in isolation["layers"]
    assert isolation["level"] == ("basic" if run == "basic" else "full" if own and not isolation["open"] else "process")
    assert own == (run in ("root", "container", "everywhere") and os.geteuid() == 0)


def test_the_published_table_is_what_was_seen() -> None:
    """SECURITY.md must not claim more than was tried, nor less than there is."""
    kept = json.loads((ROOT / "benchmarks" / "results" / "isolation.json").read_text())["situations"]
    published = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert table(kept) in published, "run python benchmarks/isolation.py --part situations"
    names = {attack.name for attack in load()}
    for situation in SITUATIONS:
        assert set(kept[situation]["attacks"]) == names, "run python benchmarks/isolation.py --part situations"


# Intake: what is handed in is a file of source, whatever else it may look like.


@pytest.fixture
def toy_home(built_toy: Path) -> AssignmentFiles:
    """The built toy."""
    return AssignmentFiles(built_toy, "toy")


@pytest.mark.parametrize("kind", ["a link to a file", "a link to nothing", "a pipe", "a device", "a folder", "a huge file"])
def test_only_regular_files_are_taken(toy_home: AssignmentFiles, tmp_path: Path, kind: str) -> None:
    """A link would hand in a file of the grader's, a pipe would hang it, and a device would never end."""
    path = tmp_path / "submitted.py"
    if kind == "a link to a file":
        path.symlink_to(toy_home.solution / "submitted.py")
    elif kind == "a link to nothing":
        path.symlink_to(tmp_path / "nothing")
    elif kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a device":
        path.symlink_to("/dev/zero")
    elif kind == "a folder":
        path.mkdir()
        (path / "__init__.py").write_text((toy_home.solution / "submitted.py").read_text())
    else:
        path.write_bytes(b"#" * (2 << 20))
    with pytest.raises(UsageError, match=r"submitted\.py"):
        grade(toy_home, tmp_path)


def test_nothing_beside_the_file_is_taken(toy_home: AssignmentFiles, tmp_path: Path) -> None:
    """Modules that stand in for libraries, files that Python or pytest run by themselves, and packages of the same name."""
    loud = "raise SystemExit('it was run')\n"
    for name in (
        "conftest.py",
        "sitecustomize.py",
        "usercustomize.py",
        "numpy.py",
        "torch.py",
        "drivers.py",
        "x.pth",
        "grader.py",
    ):
        (tmp_path / name).write_text(loud)
    (tmp_path / "submitted").mkdir()
    (tmp_path / "submitted" / "__init__.py").write_text(loud)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --collect-only\n")
    (tmp_path / "__pycache__").mkdir()
    shutil.copyfile(toy_home.solution / "submitted.py", tmp_path / "submitted.py")
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        report = grade(toy_home, tmp_path, ("visible", "hidden"))
    finally:
        os.chdir(before)
    assert (report.points, report.final) == (6, True)


@pytest.mark.parametrize(
    ("change", "points"),
    [
        (lambda source: b"\xef\xbb\xbf" + source, 6),
        (lambda source: source.replace(b"\n", b"\r\n"), 6),
        (lambda source: b"# -*- coding: latin-1 -*-\nname = '\xe4'\n" + source, 6),
        (lambda source: source.rstrip(), 6),
        (lambda source: b"\x0c\n" + source, 6),
        (lambda source: source + b"\x00", 0),
        (lambda source: b"# coding: no-such-coding\n" + source, 0),
        (lambda source: b"\xef\xbb\xbf# coding: latin-1\n" + source, 0),
        (lambda source: b"", 0),
        (lambda source: source + b"x = " + b"(" * 10_000 + b"1" + b")" * 10_000, 0),
        (lambda source: source + b"x = " + b"-" * 300_000 + b"1\n", 0),
        (lambda source: source + b"x = " + b"1+" * 100_000 + b"1\n", None),
        (lambda source: source + b"x = '''" + b"a" * 500_000, 0),
        (lambda source: source + b"x = " + b"9" * 100_000, 0),
    ],
    ids=[
        *("bom", "crlf", "latin-1", "no end of line", "form feed", "null byte", "unknown coding"),
        *("bom against coding", "empty", "deep brackets", "deep signs", "long sum", "open string", "long number"),
    ],
)
def test_odd_sources_run_as_in_python_or_fail_clearly(
    toy_home: AssignmentFiles, tmp_path: Path, change, points: float | None
) -> None:
    """What Python would run keeps its points; the rest is a clear failure of the file, and never of the grader."""
    path = tmp_path / "submitted.py"
    path.write_bytes(change((toy_home.solution / "submitted.py").read_bytes()))
    report = grade(toy_home, path, ("visible", "hidden"))
    assert report.final
    assert report.points == points if points is not None else report.points in (0, 6)
    if report.points == 0:
        assert {check.outcome.value for check in report.checks} <= {"failed", "crashed", "memory", "not run"}
        assert all(check.message for check in report.checks)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda source: b"name = '\xff'\n" + source, "not UTF-8 in line 1; save it as UTF-8"),
        (lambda source: source.decode().encode("utf-16"), "is UTF-16; save it as UTF-8"),
        (lambda source: b"PK\x03\x04" + bytes(range(256)) * 10, "not UTF-8 in line 3"),
    ],
    ids=["broken utf-8", "utf-16", "not text"],
)
def test_text_that_could_be_read_in_two_ways_is_refused(toy_home: AssignmentFiles, tmp_path: Path, change, words: str) -> None:
    """Catches: source that similarity and people read otherwise than Python does, and a sentence that no editor can follow."""
    path = tmp_path / "submitted.py"
    path.write_bytes(change((toy_home.solution / "submitted.py").read_bytes()))
    with pytest.raises(UsageError, match=words):
        grade(toy_home, path, ("visible", "hidden"))
