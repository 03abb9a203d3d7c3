"""Grade a class whose submissions and results lie on a network file system, from several mounts of it at once.

    sudo python benchmarks/shared_folder.py [--size 60] [-o benchmarks/results]

The file system is sshfs, on a server of its own on this machine. Each run has a mount of its own, at the same path in a mount
namespace of its own, as another machine would: nothing is shared but what the file system shares. Two shards grade the toy
assignment at the same time; the first is killed in between and started again; then `course` runs without a shard from a third
mount. Gradebooks, outcomes and the number of results are compared with those of one run on the local disk. Writes
shared_folder.json. It needs root, sshd and sshfs, and takes some minutes.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.cluster import TOY, course, environment, write_class
from grader.authoring.build import build
from grader.course.results import ResultsFolder

GRADEBOOKS = ("gradebook.csv", "gradescope.csv", "canvas.csv")
SSHD = """\
ListenAddress 127.0.0.1:{port}
HostKey {keys}/host
AuthorizedKeysFile {keys}/user.pub
PidFile none
StrictModes no
PermitRootLogin prohibit-password
Subsystem sftp internal-sftp
"""
# As a machine of its own: its mounts and its processes end with it.
ENTER = ("unshare", "--mount", "--pid", "--mount-proc", "--fork", "--kill-child", "--propagation", "private")
MOUNTED = """\
set -eu
sshfs -p "$1" -o "IdentityFile=$2/user,StrictHostKeyChecking=no,UserKnownHostsFile=/dev/null,allow_other" "127.0.0.1:$3" "$4"
shift 4
"$@"
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=60)
    parser.add_argument("-o", dest="output", type=Path, default=ROOT / "benchmarks" / "results")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="shared-", ignore_cleanup_errors=True) as temporary:
        work = Path(temporary)
        work.chmod(0o755)  # so that workers of another user reach the folders of the sandbox in it
        with serve(work) as (port, keys):
            result = measure(work, port, keys, options.size)
    text = json.dumps(result, indent=1)
    print(text)
    (options.output / "shared_folder.json").write_text(text + "\n", encoding="utf-8")


@contextlib.contextmanager
def serve(work: Path) -> Iterator[tuple[int, Path]]:
    """Run an ssh server that only this script has a key for; yield its port and the folder of the keys."""
    keys = work / "keys"
    keys.mkdir(mode=0o700)
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(keys / name)], check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (keys / "config").write_text(SSHD.format(port=port, keys=keys))
    Path("/run/sshd").mkdir(exist_ok=True)
    server = subprocess.Popen([str(shutil.which("sshd")), "-D", "-e", "-f", str(keys / "config")], stderr=subprocess.DEVNULL)
    try:
        yield port, keys
    finally:
        server.terminate()
        server.wait()


def measure(work: Path, port: int, keys: Path, size: int) -> dict[str, Any]:
    """Return what came of the class on the network file system, next to a run on the local disk."""
    root, served, mount, local = (work / name for name in ("kit", "served", "mount", "local"))
    shutil.copytree(TOY, root, ignore=shutil.ignore_patterns("__pycache__"))
    build(root, "toy")
    for folder in (served, mount, local):
        folder.mkdir()
    write_class(served / "class", size)
    write_class(local / "class", size)

    def start(*options: str) -> subprocess.Popen[bytes]:
        command = [*course(root, mount / "class", mount / "results"), *options]
        inside = [*ENTER, "bash", "-c", MOUNTED, "mounted"]
        places = [str(port), str(keys), str(served), str(mount)]
        with (work / "shared.log").open("ab") as log:
            return subprocess.Popen(
                [*inside, *places, *command], cwd=ROOT, stdout=log, stderr=log, env=environment(), start_new_session=True
            )

    began = time.monotonic()
    first, second = start("--shard", "1/2"), start("--shard", "2/2")
    while len(list_results(served)) < size // 4 and first.poll() is None:
        time.sleep(0.2)
    os.killpg(first.pid, signal.SIGKILL)
    when_killed = len(list_results(served))
    again = start("--shard", "1/2")
    codes = [process.wait() for process in (second, again)]
    moments = {path: path.stat().st_mtime_ns for path in list_results(served)}
    last = start()
    codes.append(last.wait())
    seconds = time.monotonic() - began

    began = time.monotonic()
    done = subprocess.run(
        course(root, local / "class", local / "results"), cwd=ROOT, stdout=subprocess.DEVNULL, env=environment()
    )
    there, here = collect_outcomes(served / "results"), collect_outcomes(local / "results")
    return {
        "about": "a class of the toy assignment on sshfs: two shards in two mounts, the first killed in between and started "
        "again; then the whole class from a third mount; compared with one run on the local disk",
        "machine": {"python": platform.python_version(), "system": platform.platform(), "cores": os.cpu_count()},
        "submissions": size,
        "results when the first shard was killed": when_killed,
        "exit codes": codes,
        "exit code on the local disk": done.returncode,
        "wall s, shared and local": [round(seconds), round(time.monotonic() - began)],
        "results": len(there),
        "results graded again by the last run": sum(path.stat().st_mtime_ns != moment for path, moment in moments.items()),
        "differing outcomes": sum(there.get(name) != outcome for name, outcome in here.items()),
        "differing gradebooks": [
            name for name in GRADEBOOKS if read(served / "results" / name) != read(local / "results" / name)
        ],
        "left-over files": [path.name for path in (served / "results").rglob("*") if path.name.endswith((".tmp", ".part"))],
    }


def list_results(folder: Path) -> list[Path]:
    return sorted((folder / "results" / "results").glob("*.json"))


def collect_outcomes(folder: Path) -> dict[str, Any]:
    """Return outcome, points and message of each check, by submission."""
    known = ResultsFolder(folder)
    return {
        name: found and [(check.id, check.outcome, check.points, check.message) for check in found.report.checks]
        for name, found in known.of(known.course()).items()
    }


def read(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


if __name__ == "__main__":
    main()
