"""A class of the toy assignment, as the tests of `course` and `regrade` grade it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from grader.course.results import ResultsFolder, SubmissionResult
from tests.kit.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
KIT = "import sys, pathlib, grader.__main__ as kit; sys.exit(kit.main(pathlib.Path(sys.argv.pop(1))))"

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
            output, errors = process.communicate(timeout=PATIENCE)
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


def grade_class(root: Path, folder: Path) -> Class:
    """Return a class that is graded in one piece by two workers; to be copied, not changed."""
    whole = Class(root, export_to(folder / "export"), folder / "out")
    return whole._replace(printed=whole.course())


# What a run begins with to be disturbed

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
