"""Measure watch mode: from a save that changes one function to its verdict on the screen, against a fresh `python grade.py`.

    python benchmarks/watch.py [--saves 20] [--fresh 5] [-o benchmarks/results]

Everything runs pinned to one core, in a pseudo-terminal, on the solution. Saves alternately add a mistake to the
vanilla loss and remove it. The time of a save begins before the file is written, and ends when the verdict has been
read from the terminal; gradings in between are waited for. Fresh runs are taken in turn with the saves.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import pty
import re
import select
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOLUTION = ROOT / "solutions" / "policy_gradient" / "submitted.py"
GRADE = [sys.executable, "grade.py", "policy_gradient"]
RIGHT, WRONG = "return -(log_prob * return_or_advantage).mean()", "return (log_prob * return_or_advantage).mean()"
VERDICTS = {RIGHT: "✓ get_vanilla_policy_gradient_loss: passed", WRONG: "got      -0.336346"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--saves", type=int, default=20)
    parser.add_argument("--fresh", type=int, default=5, help="fresh runs of grade.py")
    parser.add_argument("-o", dest="output", type=Path, default=ROOT / "benchmarks" / "results")
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    source = SOLUTION.read_text(encoding="utf-8")
    assert source.count(RIGHT) == 1
    saves, fresh = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "submitted.py")
        path.write_text(source, encoding="utf-8")
        desk = Desk([*GRADE, "--watch", "--submission", str(path)])
        desk.until("waiting for the next save")
        for number in range(options.saves):
            if number % (options.saves // options.fresh) == 0:
                fresh.append(fresh_run(path))
            line = RIGHT if number % 2 else WRONG
            desk.screen = ""
            began = time.perf_counter()
            path.write_text(source.replace(RIGHT, line), encoding="utf-8")
            desk.until(VERDICTS[line])
            saves.append(time.perf_counter() - began)
            desk.until("waiting for the next save")
        desk.quit()
    result = {
        "about": "one core; wall seconds; watch mode on the solution, one function changed by each save",
        "machine": {"python": platform.python_version(), "system": platform.platform()},
        "save to verdict": {
            "median": round(statistics.median(saves), 3),
            "longest": round(max(saves), 3),
            "all": [round(seconds, 3) for seconds in saves],
            "goal": "at most 0.35",
        },
        "fresh grade.py": {"median": round(statistics.median(fresh), 3), "all": [round(seconds, 3) for seconds in fresh]},
        "times faster": {"ratio": round(statistics.median(fresh) / statistics.median(saves), 1), "goal": "at least 8"},
    }
    text = json.dumps(result, indent=1, ensure_ascii=False)
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "watch.json").write_text(text + "\n", encoding="utf-8")
    print(text)


def fresh_run(path: Path) -> float:
    """Return how long a whole `grade.py` takes."""
    began = time.perf_counter()
    subprocess.run([*GRADE, "--submission", str(path)], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


class Desk:
    """A command in a pseudo-terminal. screen: what it has written since that was emptied."""

    def __init__(self, command: list[str]) -> None:
        self.screen = ""
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(ROOT)
            os.environ.update(TERM="xterm", COLUMNS="120", LINES="50")
            os.execv(command[0], command)

    def until(self, words: str, seconds: float = 120.0) -> None:
        """Return as soon as `words` are on the screen."""
        end = time.monotonic() + seconds
        while words not in self.screen:
            if time.monotonic() > end:
                raise TimeoutError(f"{words!r} never came: {self.screen[-1000:]}")
            if select.select([self.terminal], [], [], 0.1)[0]:
                data = os.read(self.terminal, 1 << 16).decode("utf-8", "replace")
                self.screen += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", data)

    def quit(self) -> None:
        os.write(self.terminal, b"q")
        os.waitpid(self.pid, 0)


if __name__ == "__main__":
    main()
