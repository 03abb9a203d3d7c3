"""The Gradescope autograder zip, tried out with its own setup.sh and run_autograder before it is written."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import zipfile
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from grader.assignment import AssignmentFiles, UsageError
from grader.authoring.stub import make_stub
from grader.packing.package import ENTRY_SCRIPT, SETUP, collect_platform_modules, collect_server_files, convert_to_unix_lines
from grader.packing.release import make_zip, open_for_packing, write_zip
from grader.platforms.entry import STOPPED
from grader.platforms.gradescope.report import render_refusal

SCRIPTS = ("setup.sh", "run_autograder")
REAL = (Path("/autograder"), Path("/opt/rl-grader"))  # where the platform has the zip, and setup.sh its environment

RUN = """\
#!/usr/bin/env bash
# Gradescope runs this once per submission, as root. AUTOGRADER_ROOT is for trying it out elsewhere.
root="${AUTOGRADER_ROOT:-/autograder}"
exec "${GRADER_VENV:-/opt/rl-grader}/bin/python" -s -B "$root/source/autograde.py"
"""


def write_package(root: Path, options: argparse.Namespace) -> Iterator[str]:
    """Write `NAME-gradescope.zip`; yield what was checked and written, line by line.

    Before it is written, the zip is unpacked and its own setup.sh and run_autograder grade six
    submissions: at the platform's real paths in a private mount namespace where that is allowed,
    otherwise in a prefix.

    Args:
        options: name, output (a folder), wheels (a folder of wheels for the platform's Python to put
            into the zip, so that the image is built without a network; then the trial has none
            either, where it can be cut off) and require_level (the isolation level below which it
            grades nothing).

    Raises:
        UsageError: If a submission is not graded as expected; nothing is written.
    """
    home, wheels = open_for_packing(root, options.name, options.draft), options.wheels
    content = collect_autograder_files(home, options.require_level)
    if wheels is not None:
        found = sorted(wheels.glob("*.whl"))
        if not found:
            raise UsageError(
                f"there are no wheels in {wheels}; make some with `pip download -d {wheels} -c constraints.txt torch ...`"
            )
        content |= {f"wheels/{path.name}": path.read_bytes() for path in found}
    data = make_zip(content, executable=SCRIPTS)
    yield from _try_out(home, data, offline=wheels is not None)
    yield write_zip(options.output / f"{options.name}-gradescope.zip", data, len(content))


def collect_autograder_files(home: AssignmentFiles, require_level: str = "basic") -> dict[str, bytes]:
    """Return the files of the zip by name: the student's folder and the hidden checks, but no solution."""
    content = collect_server_files(home) | collect_platform_modules(home, "gradescope")
    return convert_to_unix_lines(
        content
        | {
            "setup.sh": SETUP.encode(),
            "run_autograder": RUN.encode(),
            "autograde.py": ENTRY_SCRIPT.format(
                platform="gradescope",
                variable="AUTOGRADER_ROOT",
                root="/autograder",
                refusal=render_refusal(STOPPED),
                require_level=require_level,
            ).encode(),
        }
    )


def _notebook(source: str) -> str:
    cell: dict[str, Any] = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4})


def make_example_submissions(home: AssignmentFiles) -> dict[str, tuple[dict[str, str], float]]:
    """Return the example submissions for the zip, by name: their files and the expected points."""
    name = home.assignment.submission
    solution = (home.solution / name).read_text(encoding="utf-8")
    total = home.assignment.total("visible") + home.assignment.total("hidden")
    return {
        "the solution": ({name: solution}, total),
        "the solution in a notebook": ({"homework.ipynb": _notebook(solution)}, total),
        "the stub": ({name: make_stub(solution, home.assignment)}, 0.0),
        "a missing file": ({"other.txt": "?"}, 0.0),
        "a crashing file": ({name: "import os\nos._exit(0)\n"}, 0.0),
        "an endless loop": ({name: "while True:\n    pass\n"}, 0.0),
    }


class Trial(NamedTuple):
    """How the zip is tried out.

    Attributes:
        place: Where, in words.
        command: Its command.
        environment: The environment of the command.
        mount_points: The folders that the command makes outside the temporary folder.
    """

    place: str
    command: list[str]
    environment: dict[str, str]
    mount_points: Sequence[Path] = ()


def _try_out(home: AssignmentFiles, data: bytes, offline: bool) -> Iterator[str]:
    # A process that a submission has left may still write there; the result is known by then.
    with tempfile.TemporaryDirectory(prefix="grader-gradescope-", ignore_cleanup_errors=True) as temporary:
        work = Path(temporary)
        with zipfile.ZipFile(BytesIO(data)) as archive:
            archive.extractall(work / "source")
        given = make_example_submissions(home)
        for number, (handed_in, _) in enumerate(given.values()):
            for key, text in handed_in.items():
                path = work / "given" / str(number) / key
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
        trial = _stage(work, len(given), offline)
        try:
            done = subprocess.run(trial.command, env=trial.environment, capture_output=True, text=True)
        finally:
            for path in trial.mount_points:
                with contextlib.suppress(OSError):
                    path.rmdir()
        if done.returncode != 0:
            said = f"{done.stdout[-1000:]}{done.stderr[-3000:]}"
            raise UsageError(f"nothing was written: the try-out {trial.place} failed:\n{said}")
        yield f"setup.sh ran {trial.place}"
        for number, (what, (_, expected)) in enumerate(given.items()):
            content = json.loads((work / "results" / f"{number}.json").read_text(encoding="utf-8"))
            points = content.get("score", sum(test["score"] for test in content.get("tests", [])))
            if points != expected:
                raise UsageError(f"nothing was written: {what} gets {points:g} points, expected {expected:g}")
            yield f"{what} gets {points:g} points, as expected ({content['execution_time']:.1f} s)"


def _stage(work: Path, count: int, offline: bool) -> Trial:
    """Return how to try out the zip in this folder."""
    script = textwrap.dedent("""\
        set -euo pipefail
        work="$1"; root="$2"; count="$3"
        mkdir -p "$root/source" "$root/results" "$work/results"
        cp -r "$work/source/." "$root/source/"
        cp "$root/source/run_autograder" "$root/run_autograder"
        chmod 0755 "$root/source/setup.sh" "$root/run_autograder"
        bash "$root/source/setup.sh"
        for number in $(seq 0 $((count - 1))); do
            rm -rf "$root/submission" "$root/results"
            mkdir "$root/results"
            cp -r "$work/given/$number" "$root/submission"
            (cd "$root" && ./run_autograder)
            cp "$root/results/results.json" "$work/results/$number.json"
        done
    """)
    environment = {**os.environ, "GRADER_PYTHON": os.environ.get("GRADER_PYTHON", sys.executable)}
    if os.name == "posix" and os.geteuid() == 0 and shutil.which("unshare") and not REAL[0].exists():
        mounts = "\n".join(f"mkdir -p {path} && mount -t tmpfs -o mode=0755 tmpfs {path}" for path in REAL)
        namespaces = ["unshare", "--mount", "--propagation", "private", *(["--net"] if offline else [])]
        if subprocess.run([*namespaces, "true"], capture_output=True).returncode == 0:
            inside = [*namespaces, "bash", "-c", f"{mounts}\n{script}", "try-out", str(work), str(REAL[0]), str(count)]
            where = f"at the real paths {REAL[0]} and {REAL[1]}{', without a network' if offline else ''}"
            return Trial(where, inside, environment, [path for path in REAL if not path.exists()])
    prefix = work / "autograder"
    environment |= {"AUTOGRADER_ROOT": str(prefix), "GRADER_VENV": str(work / "venv")}
    return Trial("in a prefix", ["bash", "-c", script, "try-out", str(work), str(prefix), str(count)], environment)
