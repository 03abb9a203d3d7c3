"""The Gradescope autograder zip, tried out with its own setup.sh and run_autograder before it is written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from grader import answers
from grader.assignment import Home, UsageError
from grader.publish.release import files as student_files
from grader.publish.release import mistakes, pack, requirements, written
from grader.publish.stub import make_stub

STUDENTS_ONLY = ("README.md", "grade.py", "notebook.ipynb", "grader/desk/")
SCRIPTS = ("setup.sh", "run_autograder")

SETUP = """\
#!/usr/bin/env bash
# Gradescope runs this once, as root, when it builds the image. The platform's own python3 is used to make an environment by
# explicit path, and otherwise left alone. Environment variables:
#   GRADER_VENV             where the environment goes (default /opt/rl-grader)
#   GRADER_PYTHON           the interpreter to make it with, 3.10 to 3.13 (default python3)
#   GRADER_TORCH_INDEX_URL  an index with CPU builds of torch; empty for pip's default
#   PIP_INDEX_URL           pip's own variable: a mirror for everything else
# A folder wheels/ in the zip makes the build work without a network.
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
# torch first and in exactly one version: a range would take a build with gigabytes of CUDA.
if ! "${install[@]}" --retries 1 --timeout 20 "${torch[@]}" torch==2.13.0; then
    [ -d "$source_folder/wheels" ] && exit 1
    echo "no torch 2.13.0 from ${torch_index:-the index}: trying pip's default" >&2
    "${install[@]}" torch==2.13.0
fi
"${install[@]}" "${everything[@]}" --constraint "$source_folder/constraints.txt" -r "$source_folder/requirements.txt"
chmod -R u+rwX,go+rX,go-w "$venv"
chmod -R u+rwX,go-rwx "$source_folder"
"""

RUN = """\
#!/usr/bin/env bash
# Gradescope runs this once per submission, as root. AUTOGRADER_ROOT is for trying it out elsewhere.
root="${AUTOGRADER_ROOT:-/autograder}"
exec "${GRADER_VENV:-/opt/rl-grader}/bin/python" -s -B "$root/source/autograde.py"
"""

AUTOGRADE = '''\
"""Grades the submission in Gradescope's folders; see grader/command.py."""

import sys

from grader.command import gradescope, guarded

if __name__ == "__main__":
    sys.exit(guarded(lambda: gradescope("{level}")))
'''


def gradescope(root: Path, name: str, folder: Path, wheels: Path | None = None, level: str = "basic") -> Iterator[str]:
    """Write `folder/NAME-gradescope.zip`; yield what was checked and written, line by line.

    wheels: a folder of wheels for the platform's Python to put into the zip, so that the image is built without a network;
    then the try-out has none either, where it may cut it off. level: the isolation below which it grades nothing.

    Before it is written, the zip is unpacked and its own setup.sh and run_autograder grade six submissions: at the platform's
    real paths in a private mount namespace where that is allowed, otherwise in a prefix. Raises UsageError, and writes nothing,
    when one of them is not graded as it must be.
    """
    home = Home(root, name)
    content = files(home, level)
    if wheels is not None:
        found = sorted(wheels.glob("*.whl"))
        if not found:
            raise UsageError(f"there are no wheels in {wheels}; make some with `pip download -d {wheels} torch==2.13.0 ...`")
        content |= {f"wheels/{path.name}": path.read_bytes() for path in found}
    data = pack(content, executable=SCRIPTS)
    yield from _try_out(home, data, offline=wheels is not None)
    yield written(folder / f"{name}-gradescope.zip", data, len(content))


def files(home: Home, level: str = "basic") -> dict[str, bytes]:
    """Return the content of the zip by name: the student's folder and the hidden checks; no solution."""
    name = home.assignment.name
    content = {key: value for key, value in student_files(home).items() if not key.startswith(STUDENTS_ONLY)}
    content |= {
        "setup.sh": SETUP.encode(),
        "run_autograder": RUN.encode(),
        "autograde.py": AUTOGRADE.format(level=level).encode(),
        "requirements.txt": requirements(home, desk=False).encode(),
        "constraints.txt": (home.root / "constraints.txt").read_bytes(),
        f"tests/hidden/test_{name}.py": home.checks["hidden"].read_bytes(),
        "tests/hidden/solution.json": answers.only(home.answers["hidden"], name).encode(),
        **mistakes(home, "visible"),
        **mistakes(home, "hidden"),
    }
    return {key: value.replace(b"\r\n", b"\n") for key, value in sorted(content.items())}


def _notebook(source: str) -> str:
    cell = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4})


def submissions(home: Home) -> dict[str, tuple[dict[str, str], float]]:
    """Return what the zip is tried out with: by name, the files handed in and the points they must get."""
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


def _try_out(home: Home, data: bytes, offline: bool) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="grader-gradescope-") as temporary:
        work = Path(temporary)
        with zipfile.ZipFile(BytesIO(data)) as archive:
            archive.extractall(work / "source")
        given = submissions(home)
        for number, (handed_in, _) in enumerate(given.values()):
            for key, text in handed_in.items():
                path = work / "given" / str(number) / key
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
        place, command, environment = _stage(work, len(given), offline)
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise UsageError(f"nothing was written: the try-out {place} failed:\n{done.stdout[-1000:]}{done.stderr[-3000:]}")
        yield f"setup.sh ran {place}"
        for number, (what, (_, expected)) in enumerate(given.items()):
            content = json.loads((work / "results" / f"{number}.json").read_text(encoding="utf-8"))
            points = content.get("score", sum(test["score"] for test in content.get("tests", [])))
            if points != expected:
                raise UsageError(f"nothing was written: {what} gets {points:g} points, expected {expected:g}")
            yield f"{what} gets {points:g} points, as it must ({content['execution_time']:.1f} s)"


def _stage(work: Path, count: int, offline: bool) -> tuple[str, list[str], dict[str, str]]:
    """Return where the try-out happens, its command and environment."""
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
    real = Path("/autograder"), Path("/opt/rl-grader")
    if os.name == "posix" and os.geteuid() == 0 and shutil.which("unshare") and not real[0].exists():
        mounts = "\n".join(f"mkdir -p {path} && mount -t tmpfs -o mode=0755 tmpfs {path}" for path in real)
        namespaces = ["unshare", "--mount", "--propagation", "private", *(["--net"] if offline else [])]
        if subprocess.run([*namespaces, "true"], capture_output=True).returncode == 0:
            inside = [*namespaces, "bash", "-c", f"{mounts}\n{script}", "try-out", str(work), str(real[0]), str(count)]
            # The mount points outlast the namespace, as empty folders.
            clear = '"$@"; code=$?; rmdir /autograder /opt/rl-grader 2>/dev/null; exit $code'
            where = f"at the real paths /autograder and /opt/rl-grader{', without a network' if offline else ''}"
            return where, ["bash", "-c", clear, "clear", *inside], environment
    prefix = work / "autograder"
    environment |= {"AUTOGRADER_ROOT": str(prefix), "GRADER_VENV": str(work / "venv")}
    return "in a prefix", ["bash", "-c", script, "try-out", str(work), str(prefix), str(count)], environment
