"""Measures `%%grade` in a notebook: from running a cell to its verdict, against a save in watch mode to its verdict.

    python benchmarks/magic.py [--cells 20] [-o benchmarks/results]

Everything runs pinned to one core, in a folder as students have it, on the solution. Cells and saves put a mistake into the
vanilla loss and take it out again, in turn; each waits until the other is done.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path

from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.watch import RIGHT, ROOT, SOLUTION, VERDICTS, WRONG, Desk
from grader.assignment import AssignmentFiles
from grader.packing.release import collect_student_files

FUNCTION = "get_vanilla_policy_gradient_loss"
GOAL = 1.5


class ThisPython(KernelManager):
    """Starts kernels with the Python that runs this, whatever kernel specifications the machine has."""

    @property
    def kernel_spec(self) -> KernelSpec:
        argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=argv, display_name="Python 3", language="python")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=20)
    parser.add_argument("-o", dest="output", type=Path, default=ROOT / "benchmarks" / "results")
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    source = SOLUTION.read_text(encoding="utf-8")
    assert source.count(RIGHT) == 1
    (function,) = [node for node in ast.parse(source).body if getattr(node, "name", "") == FUNCTION]
    text = ast.get_source_segment(source, function)
    assert text is not None
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name, content in collect_student_files(AssignmentFiles(ROOT, "policy_gradient")).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        path = folder / "work" / "submitted.py"
        path.parent.mkdir()
        for one in (path, folder / "submitted.py"):
            one.write_text(source, encoding="utf-8")
        desk = Desk([sys.executable, str(folder / "grade.py"), "--watch", "--submission", str(path)])
        desk.until("waiting for the next save")
        kernel = Kernel(folder)
        kernel.time("%load_ext grader", "")
        first = kernel.time(f"%%grade {FUNCTION}\n{text}", "passed")
        saves, cells = [], []
        for number in range(options.cells):
            line, verdict = (RIGHT, "passed") if number % 2 else (WRONG, "got      -0.336346")
            desk.screen = ""
            began = time.perf_counter()
            path.write_text(source.replace(RIGHT, line), encoding="utf-8")
            desk.until(VERDICTS[line])
            saves.append(time.perf_counter() - began)
            desk.until("waiting for the next save")
            cells.append(kernel.time(f"%%grade {FUNCTION}\n{text.replace(RIGHT, line)}", verdict))
        desk.quit()
        kernel.end()
    ratio = statistics.median(cells) / statistics.median(saves)
    result = {
        "about": "one core; wall seconds; the solution, one function changed by each cell and each save",
        "machine": {"python": platform.python_version(), "system": platform.platform()},
        "cell to verdict": summarize(cells) | {"the first, while the grader starts": round(first, 3)},
        "save to verdict": summarize(saves),
        "times a save": {"ratio": round(ratio, 2), "goal": f"at most {GOAL}"},
    }
    text = json.dumps(result, indent=1, ensure_ascii=False)
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "magic.json").write_text(text + "\n", encoding="utf-8")
    print(text)


def summarize(seconds: list[float]) -> dict[str, object]:
    """Return median and longest, and all of them."""
    every = [round(one, 3) for one in seconds]
    return {"median": round(statistics.median(seconds), 3), "longest": max(every), "all": every}


class Kernel:
    """A kernel in a folder."""

    def __init__(self, folder: Path) -> None:
        self.manager = ThisPython()
        self.manager.start_kernel(cwd=str(folder))
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=120)

    def time(self, code: str, wanted: str) -> float:
        """Return how long it takes from sending a cell to its verdict; fail if that is not the one that is wanted."""
        began = time.perf_counter()
        asked = self.client.execute(code)
        seconds, told = 0.0, ""
        while True:
            message = self.client.get_iopub_msg(timeout=120)
            content = message["content"]
            if message["parent_header"].get("msg_id") != asked:
                continue
            if "text/html" in content.get("data", {}):
                seconds, told = time.perf_counter() - began, content["data"]["text/plain"]
            if content.get("execution_state") == "idle":
                assert wanted in told, told
                return seconds

    def end(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


if __name__ == "__main__":
    main()
