"""Record which system calls workers make, and compares them with the list of those that they may make.

    python benchmarks/record_calls.py -m grader grade ddpg solutions/ddpg
    python benchmarks/record_calls.py -m pytest -q tests/kit/test_allowed_calls.py

Runs Python with these arguments below strace, and prints the calls that workers made after their filter was loaded, with their
number; then those that are not listed, and the listed ones that were not made. A program without workers is recorded whole.
Needs strace, which apt-get has.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from grader.sandbox.allowed_calls import ALLOWED
from grader.sandbox.syscall_filter import REFUSED

CALL = re.compile(r"(\w+)\(")
LOADS = ("SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, {len", "PR_SET_SECCOMP, SECCOMP_MODE_FILTER")
THREAD = re.compile(r"clone3?\(.*CLONE_THREAD.* = (?:(\d+)|.*=> \{parent_tid=\[(\d+)\])")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = ["strace", "-ff", "-qq", "-s", "8", "-o", f"{folder}/trace", sys.executable, *sys.argv[1:]]
        subprocess.run(command, cwd=ROOT, check=False)
        traces = {path.suffix[1:]: path.read_text(errors="replace").splitlines() for path in Path(folder).iterdir()}
    made = count_calls(traces)
    print(" ".join(f"{name}:{count}" for name, count in made.most_common()))
    print("named dangers:", " ".join(sorted(set(made) & set(REFUSED))))
    print("not listed:", " ".join(sorted(set(made) - set(ALLOWED) - set(REFUSED))))
    print("listed, and not made:", " ".join(name for name in ALLOWED if name not in made))


def count_calls(traces: dict[str, list[str]]) -> Counter[str]:
    """Return how often each call was made, by workers and their threads.

    Without a worker, all processes count.
    """
    workers = {}
    for process, lines in traces.items():
        loaded = next((place for place, line in enumerate(lines) if any(words in line for words in LOADS)), None)
        if loaded is not None:
            workers[process] = lines[loaded + 1 :]
    for lines in list(workers.values()):
        for line in lines:
            if (found := THREAD.match(line)) and (thread := found[1] or found[2]) in traces:
                workers[thread] = traces[thread]
    return Counter(found[1] for lines in (workers or traces).values() for line in lines if (found := CALL.match(line)))


if __name__ == "__main__":
    main()
