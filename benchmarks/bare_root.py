"""Install each platform's package in a bare Debian root, without a network, and let it grade the solution and broken files.

    sudo python benchmarks/bare_root.py [--name policy_gradient ...] [--root DIR] [--wheels DIR] [-o benchmarks/results]

The root is what `debootstrap --variant=minbase` makes, with python3, python3-venv and make. Wheels for its Python are
downloaded once; --root and --wheels keep both for the next run. Each package gets a fresh overlay on the root, in namespaces
of its own for mounts, processes and the network: whatever happens in there, also to this script, nothing stays mounted and no
process lives on. What its setup.sh installs (for Classroom, the step "Install" of its workflow) is then used by its own entry
script to grade six submissions. Writes bare_root.json: seconds, and points next to the expected ones. It needs root,
debootstrap and a mirror of Debian, and takes two minutes a package.
"""

from __future__ import annotations

import argparse
import base64
import itertools
import json
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from grader.assignment import AssignmentFiles
from grader.packing.requirements import render_requirements
from grader.platforms.autolab.package import collect_package_files, name_handin
from grader.platforms.classroom.package import COMMAND, collect_repository_files
from grader.platforms.gradescope.package import collect_autograder_files, make_example_submissions
from grader.platforms.prairielearn.package import ENTRY, collect_image_files, collect_question_files

PACKAGES = "python3,python3-venv,make"
WHEELS = "/wheels"  # in the root
ENTER = ("unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "--propagation", "private")
OVERLAY = """\
set -eu
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/root"
mount -t proc proc "$2/root/proc"
mount -t tmpfs tmpfs "$2/root/dev/shm"
mkdir "$2/root/wheels" && mount --bind "$3" "$2/root/wheels"
exec chroot "$2/root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 bash /job/job.sh
"""


class Job(NamedTuple):
    """What one platform does with its package.

    Attributes:
        files: The files that lie in the root, by absolute path.
        install: Shell lines that are run once, as when an image is built.
        grade: Shell lines that are run per submission, with its folder in $given; they write the result to $result.
        points: Reads the points off the text of the result.
        suites: The suites that the package grades.
    """

    files: dict[str, bytes]
    install: str
    grade: str
    points: Callable[[str], float]
    suites: tuple[str, ...] = ("visible", "hidden")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--name", nargs="+", default=["policy_gradient"], help="assignments")
    parser.add_argument("--platform", nargs="+", choices=sorted(JOBS), default=sorted(JOBS))
    parser.add_argument("--root", type=Path, help="a folder for the bare root; made by debootstrap if it does not exist")
    parser.add_argument("--wheels", type=Path, help="a folder for the wheels; filled by pip if it does not exist")
    parser.add_argument("--add", action="store_true", help="add to the bare_root.json that is there")
    parser.add_argument("-o", dest="output", type=Path, default=ROOT / "benchmarks" / "results")
    options = parser.parse_args()
    path = options.output / "bare_root.json"
    result: dict[str, Any] = {
        "about": "packages installed by their own setup in a bare Debian root without a network; points of their entry scripts",
        "machine": {"python": platform.python_version(), "system": platform.platform(), "Debian": read_version(options.root)},
        "packages": json.loads(path.read_text())["packages"] if options.add else {},
    }
    with tempfile.TemporaryDirectory(prefix="grader-bare-", ignore_cleanup_errors=True) as temporary:
        bare = options.root or Path(temporary, "bare")
        wheels = options.wheels or Path(temporary, "wheels")
        make_root(bare)
        homes = [AssignmentFiles(ROOT, name) for name in options.name]
        fetch_wheels(wheels, homes)
        for home, each in itertools.product(homes, options.platform):
            found = result["packages"][f"{home.assignment.name} on {each}"] = try_out(home, each, bare, wheels, Path(temporary))
            wrong = [what for what, seen in found["submissions"].items() if seen["points"] != seen["expected"]]
            if wrong:
                raise SystemExit(f"{home.assignment.name} on {each}: wrong points of {', '.join(wrong)}")
            path.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


def read_version(bare: Path | None) -> str | None:
    path = bare / "etc" / "debian_version" if bare else None
    return path.read_text().strip() if path and path.is_file() else None


def make_root(folder: Path) -> None:
    """Make the bare root, unless it is there."""
    if not (folder / "usr" / "bin" / "python3").exists():
        subprocess.run(["debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", str(folder)], check=True)


def fetch_wheels(folder: Path, homes: Iterable[AssignmentFiles]) -> None:
    """Download what the assignments need, for the Python that runs this, which has to be of the root's minor version."""
    if folder.is_dir() and any(folder.iterdir()):
        return
    folder.mkdir(parents=True, exist_ok=True)
    constraints = ROOT / "constraints.txt"
    torch = next(line for line in constraints.read_text().splitlines() if line.startswith("torch=="))
    lines = {line for home in homes for line in render_requirements(home, desk=True).splitlines()}
    needed = [line for line in lines if not line.startswith("--")]
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "-d", str(folder), "-c", str(constraints)]
    subprocess.run([*pip, torch, *sorted(needed)], check=True)


def plan_gradescope(home: AssignmentFiles) -> Job:
    files = {f"/autograder/source/{name}": data for name, data in collect_autograder_files(home).items()}
    install = "cp /autograder/source/run_autograder /autograder/ && chmod 0755 /autograder/run_autograder\n"
    install += f"ln -s {WHEELS} /autograder/source/wheels && bash /autograder/source/setup.sh"
    grade = (
        "rm -rf /autograder/submission /autograder/results && mkdir /autograder/results\n"
        'cp -r "$given" /autograder/submission && (cd /autograder && ./run_autograder)\n'
        'cp /autograder/results/results.json "$result"'
    )

    def points(text: str) -> float:
        content = json.loads(text)
        return content["score"] if "score" in content else sum(test["score"] for test in content["tests"])

    return Job(files, install, grade, points)


def plan_prairielearn(home: AssignmentFiles) -> Job:
    total = home.assignment.total("visible") + home.assignment.total("hidden")
    files = {f"/question/{name}": data for name, data in collect_question_files(home, "image").items()}
    files |= {f"/opt/rl-setup/{name}": data for name, data in collect_image_files(home, "image").items()}
    install = f"ln -s {WHEELS} /opt/rl-setup/wheels && bash /opt/rl-setup/setup.sh"
    grade = (
        "rm -rf /grade && mkdir -p /grade/data && cp -r /question/tests /grade/tests && chmod 0755 /grade/tests/run\n"
        'printf \'{"params": {}, "submitted_answers": {}}\' > /grade/data/data.json\n'
        f'cp -r "$given" /grade/student && /grade/{ENTRY} && cp /grade/results/results.json "$result"'
    )

    def points(text: str) -> float:
        content = json.loads(text)
        return content["score"] * total if content["gradable"] else 0.0

    return Job(files, install, grade, points)


def plan_autolab(home: AssignmentFiles) -> Job:
    files = {f"/package/{name}": data for name, data in collect_package_files(home).items()}
    install = f"mkdir /setup && tar xf /package/autograde.tar -C /setup && ln -s {WHEELS} /setup/wheels && bash /setup/setup.sh"
    handin, submission = name_handin(home.assignment), home.assignment.submission
    pack = f'python3 -m zipfile -c {handin} "$given"/*' if home.assignment.attachments else f'cp "$given/{submission}" {handin}'
    grade = (
        "rm -rf /job/autograde && mkdir /job/autograde && cd /job/autograde\n"
        f"cp /package/autograde.tar /package/autograde-Makefile . \n{pack} || true\n"
        'make -s -f autograde-Makefile > "$result" || true'
    )

    def points(text: str) -> float:
        scores: dict[str, float] = json.loads(text.splitlines()[-1])["scores"]
        return sum(scores.values())

    return Job(files, install, grade, points)


def plan_classroom(home: AssignmentFiles) -> Job:
    files = {f"/repository/{name}": data for name, data in collect_repository_files(home).items()}
    install = (
        "python3 -m venv /hosted && export PATH=/hosted/bin:$PATH PIP_NO_INDEX=1 PIP_FIND_LINKS=/wheels\n"
        "cd /repository && python -m pip install --quiet -r requirements.txt"
    )
    grade = (
        "rm -rf /checkout && cp -r /repository /checkout && cd /checkout && export PATH=/hosted/bin:$PATH\n"
        f'rm -f {home.assignment.submission}; cp -r "$given"/. . && rm -f "$result" && touch "$result"\n'
        f'GITHUB_OUTPUT="$result" bash -e -c "{COMMAND}"'
    )

    def points(text: str) -> float:
        encoded = text.splitlines()[-1].partition("=")[2]
        return sum(test["score"] for test in json.loads(base64.b64decode(encoded))["tests"])

    return Job(files, install, grade, points, suites=("visible",))


JOBS: dict[str, Callable[[AssignmentFiles], Job]] = {
    "gradescope": plan_gradescope,
    "prairielearn": plan_prairielearn,
    "autolab": plan_autolab,
    "classroom": plan_classroom,
}


def try_out(home: AssignmentFiles, where: str, bare: Path, wheels: Path, temporary: Path) -> dict[str, Any]:
    """Return how one package fared: seconds of its installation, and points and seconds of each submission."""
    job = JOBS[where](home)
    total = sum(home.assignment.total(suite) for suite in job.suites)
    given = {what: files for what, (files, _) in make_example_submissions(home).items()}
    if where != "gradescope":  # the other platforms take the submission's own name only
        del given["the solution in a notebook"]
    layers = Path(tempfile.mkdtemp(prefix=f"{where}-", dir=temporary))
    try:
        for name in ("upper", "work", "root"):
            (layers / name).mkdir()
        write_under(layers / "upper", job.files)
        for number, files in enumerate(given.values()):
            write_under(layers / "upper", {f"/job/given/{number}/{name}": text.encode() for name, text in files.items()})
        write_under(layers / "upper", {"/job/job.sh": render_job(job, len(given)).encode()})
        began = time.perf_counter()
        enter = [*ENTER, "bash", "-c", OVERLAY, "bare", str(bare.resolve()), str(layers), str(wheels.resolve())]
        done = subprocess.run(enter, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{where}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-3000:]}")
        seconds = time.perf_counter() - began
        results = layers / "upper" / "job" / "results"
        submissions = {}
        for number, what in enumerate(given):
            text = (results / f"{number}.txt").read_text(encoding="utf-8")
            expected = total if what.startswith("the solution") else 0.0
            submissions[what] = {"points": round(job.points(text), 6), "expected": expected}
            print(f"{home.assignment.name} on {where}: {what}: {submissions[what]}", file=sys.stderr, flush=True)
        installed = float((results / "installed.txt").read_text())
        return {"seconds of the installation": round(installed), "seconds": round(seconds), "submissions": submissions}
    finally:
        shutil.rmtree(layers, ignore_errors=True)


def render_job(job: Job, count: int) -> str:
    """Return the script that runs in the root."""
    return (
        "set -eu\nmkdir -p /job/results\nSECONDS=0\n"
        f"(\n{job.install}\n) >&2\necho $SECONDS > /job/results/installed.txt\n"
        f"for number in $(seq 0 {count - 1}); do\n"
        "export given=/job/given/$number result=/job/results/$number.txt\n"
        f"(\n{job.grade}\n) >&2\ndone\n"
    )


def write_under(folder: Path, files: dict[str, bytes]) -> None:
    """Write files whose names are absolute paths in the root."""
    for name, data in files.items():
        path = folder / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


if __name__ == "__main__":
    main()
