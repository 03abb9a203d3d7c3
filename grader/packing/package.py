"""Shared by the packages for platforms: the files that a server needs, a trial, and writing a whole folder."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from grader.assignment import AssignmentFiles, UsageError
from grader.authoring.stub import make_stub
from grader.packing.release import collect_grading_files, collect_mistakes_file
from grader.packing.requirements import render_requirements

# With these, a make inside another make (make test) prints a last line of its own; platforms have no outer make.
MAKE_VARIABLES = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")

SETUP = """\
#!/usr/bin/env bash
# Run once, as root, when the platform's image is built. The image's own python3 is used to make an environment by explicit
# path, and otherwise left alone. Environment variables:
#   GRADER_VENV             where the environment goes (default /opt/rl-grader)
#   GRADER_PYTHON           the interpreter to make it with, 3.10 to 3.13 (default python3)
#   GRADER_TORCH_INDEX_URL  an index with CPU builds of torch; empty for pip's default
#   PIP_INDEX_URL           pip's own variable: a mirror for everything else
# A folder wheels/ beside this file makes the build work without a network.
set -euo pipefail
umask 022
source_folder="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
venv="${GRADER_VENV:-/opt/rl-grader}"
python="${GRADER_PYTHON:-python3}"
torch_index="${GRADER_TORCH_INDEX_URL-https://download.pytorch.org/whl/cpu}"

if ! "$python" -c 'import ensurepip' 2>/dev/null; then
    apt-get update && apt-get install -y --no-install-recommends python3-venv
fi
"$python" -m venv "$venv"
if [ -d "$source_folder/wheels" ]; then
    everything=(--no-index --find-links "$source_folder/wheels")
    torch=("${everything[@]}")
else
    everything=()
    torch=(${torch_index:+--index-url "$torch_index"})
fi
install=("$venv/bin/python" -m pip install --quiet --no-cache-dir --disable-pip-version-check)
# torch, where it is needed, first and in exactly one version: a range would take a build with gigabytes of CUDA.
version="$(grep '^torch==' "$source_folder/constraints.txt" | tr -d '\\r')"
if grep -q "^torch" "$source_folder/requirements.txt" &&
    ! "${install[@]}" --retries 1 --timeout 20 "${torch[@]}" "$version"; then
    [ -d "$source_folder/wheels" ] && exit 1
    echo "no $version from ${torch_index:-the index}: trying pip's default" >&2
    "${install[@]}" "$version"
fi
"${install[@]}" "${everything[@]}" --constraint "$source_folder/constraints.txt" -r "$source_folder/requirements.txt"
chmod -R u+rwX,go+rX,go-w "$venv"
chmod -R u+rwX,go-rwx "$source_folder"
"""

# The program for platforms that read results.json. It writes a valid one before it imports anything that may be missing.
ENTRY_SCRIPT = '''\
"""Grades the submission in the platform's folders; see grader/platforms/{platform}/entry.py."""

import os
import sys

results = os.path.join(os.environ.get("{variable}", "{root}"), "results")
os.makedirs(results, exist_ok=True)
path = os.path.join(results, "results.json")
with open(path + ".new", "w", encoding="utf-8") as file:
    file.write({refusal!r})
os.replace(path + ".new", path)  # the platform may stop this at any moment, and must not find an empty file

from grader.console import run_guarded
from grader.platforms.{platform}.entry import main

if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main("{require_level}")))
'''

# A submission that forges the results of each platform, wherever it can, and exits normally.
HOSTILE = """\
import json, os

forged = {"gradable": True, "score": 1.0, "scores": {"total": 1000.0}, "version": 1, "tests": [{"score": 1000.0}]}
for folder, _, names in os.walk(TRIED_OUT_IN):
    for name in [*names, "results.json"]:
        try:
            with open(os.path.join(folder, name), "w") as file:
                json.dump(forged, file)
        except Exception:
            pass
for descriptor in range(64):
    try:
        os.write(descriptor, ("\\n" + json.dumps(forged) + "\\n").encode())
    except OSError:
        pass
os._exit(0)
"""


def collect_server_files(home: AssignmentFiles) -> dict[str, bytes]:
    """Return the files that grading on a server needs, by name: all checks, but no solution."""
    name = home.assignment.name
    return collect_grading_files(home) | {
        "requirements.txt": render_requirements(home, desk=False).encode(),
        "constraints.txt": (home.root / "constraints.txt").read_bytes(),
        f"tests/hidden/test_{name}.py": home.checks["hidden"].read_bytes(),
        f"tests/hidden/answers/{name}.json": home.answers["hidden"].read_bytes(),
        **collect_mistakes_file(home, "visible"),
        **collect_mistakes_file(home, "hidden"),
    }


def collect_platform_modules(home: AssignmentFiles, platform: str) -> dict[str, bytes]:
    """Return the modules of the grader that a platform needs and students do not get, by name."""
    own = [f"platforms/{platform}/{part}" for part in ("__init__", "entry", "report")]
    names = ["platforms/__init__", "platforms/entry", *own, "report/picture", "report/shared"]
    return {f"grader/{name}.py": (home.root / "grader" / f"{name}.py").read_bytes() for name in names}


def try_out_package(home: AssignmentFiles, suites: Sequence[str], run: Callable[[Path, str], float]) -> Iterator[str]:
    """Let the package grade the solution, the stub and a hostile file; yield the points of each.

    Args:
        home: The assignment.
        suites: The suites that the package grades.
        run: Called as `run(folder, source)`: unpacks the package in the empty folder, runs its own
            entry script on the source, and returns the points that the platform would record.

    Raises:
        UsageError: If the points are not as expected.
    """
    solution = (home.solution / home.assignment.submission).read_text(encoding="utf-8")
    total = sum(home.assignment.total(suite) for suite in suites)
    stub = make_stub(solution, home.assignment)
    given = {"the solution": (solution, total), "the stub": (stub, 0.0), "a hostile file": (HOSTILE, 0.0)}
    for what, (source, expected) in given.items():
        # A process that the hostile file has left may still write there; the points are known by then.
        with tempfile.TemporaryDirectory(prefix="größe mit Leerzeichen ", ignore_cleanup_errors=True) as temporary:
            points = run(Path(temporary), source.replace("TRIED_OUT_IN", repr(temporary)))
        if abs(points - expected) > 1e-6:
            raise UsageError(f"nothing was written: {what} gets {points:g} points, expected {expected:g}")
        yield f"{what} gets {points:g} points, as expected"


def write_files(folder: Path, content: dict[str, bytes], executable: Sequence[str] = ()) -> None:
    """Write these files below the folder, some of them executable."""
    for name, data in content.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(0o755 if name in executable else 0o644)


def run_entry_script(command: Sequence[str | Path], cwd: Path, **environment: str) -> str:
    """Return what the entry script of a package prints to stdout.

    Raises:
        UsageError: If the script fails.
    """
    mine = {name: value for name, value in os.environ.items() if name not in MAKE_VARIABLES}
    done = subprocess.run(command, cwd=cwd, env=mine | environment, capture_output=True, encoding="utf-8")
    if done.returncode != 0:
        raise UsageError(f"nothing was written: {command[-1]} exits with {done.returncode}: {done.stdout}{done.stderr}"[:3000])
    return done.stdout


def write_folder(folder: Path, content: dict[str, bytes], executable: Sequence[str] = ()) -> str:
    """Write a package as a folder, replacing an earlier version of it, and return a line about it.

    Raises:
        UsageError: If the folder contains other files, which may be somebody's work; nothing is
            written.
    """
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    if others := sorted(found - content.keys()):
        raise UsageError(
            f"nothing was written: {folder} holds {others[0]}, which is not part of this package; name another folder"
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as temporary:
        fresh, old = Path(temporary) / "fresh", Path(temporary) / "old"
        write_files(fresh, content, executable)
        try:
            if folder.exists():
                os.replace(folder, old)
            os.replace(fresh, folder)
        except BaseException:
            if old.exists():
                os.replace(old, folder)
            raise
    size = sum(map(len, content.values()))
    return f"wrote {folder}: {len(content)} files, {size / 1024:.0f} kB"


def convert_to_unix_lines(content: dict[str, bytes]) -> dict[str, bytes]:
    """Return these text files with Unix line endings, sorted by name."""
    return {name: data.replace(b"\r\n", b"\n") for name, data in sorted(content.items())}


def make_tar(content: dict[str, bytes], executable: Sequence[str]) -> bytes:
    """Return a compressed tar with these files, a third of their size; the same bytes for the same content."""
    data = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=data, mode="wb", mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, text in content.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(text), 0o755 if name in executable else 0o644
            archive.addfile(entry, io.BytesIO(text))
    return data.getvalue()
