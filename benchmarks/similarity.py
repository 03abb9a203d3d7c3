"""Measure similarity detection: its speed, and whether copies rank above independent work, next to two libraries.

    python benchmarks/similarity.py [--libraries PYTHON] [-o benchmarks/results]

PYTHON is the interpreter of another environment with copydetect, compare50 and pydantic; without it, only our tool is measured.
Classes come from similarity_class.py. A tool gets every submission and the stub, in a process of its own on one core, and says
how much alike each pair is. Only ranks are compared, since scores of different tools mean different things.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import similarity_class

from grader.course import similarity

Scores = dict[tuple[str, str], float]
CLASSES = {
    "300 written, seed 1": (300, 1, "written"),
    "300 written, seed 2": (300, 2, "written"),
    "30 written, seed 1": (30, 1, "written"),
    "30 written, seed 2": (30, 2, "written"),
    "300 spliced": (300, 1, "spliced"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--libraries", help="a Python that has copydetect and compare50")
    parser.add_argument("-o", dest="output", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--tool", choices=TOOLS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.tool:
        scores = TOOLS[options.tool](options.folder)
        named = [[first, second, score] for (first, second), score in scores.items() if score > 0]
        (options.folder / "scores.json").write_text(json.dumps(named), encoding="utf-8")
        return
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    pythons = {"own": sys.executable}
    if options.libraries:
        pythons |= {"copydetect": options.libraries, "compare50": options.libraries}
    result: dict[str, Any] = {
        "about": "one core; CPU seconds and memory of a whole process, its start included; ranks of planted copies",
        "machine": {"python": platform.python_version(), "system": platform.platform()},
        "words": {
            "whole": "copies of everything: renamed, reordered, reformatted, padded, all of that, and a ring of a twenty-fifth",
            "one function": "a renamed function of somebody else in one's own work",
            "average precision": "1 if all copies are ranked above all independent pairs",
            "above the first independent pair": "share of the copies",
        },
        "classes": {},
    }
    for name, (size, seed, kind) in CLASSES.items():
        sources, planted = similarity_class.make(size, seed, kind)
        print(f"{name}: {len(planted)} copied pairs of {size * (size - 1) // 2:,}", flush=True)
        result["classes"][name] = {"copied pairs": len(planted), "tools": {}}
        for tool, python in pythons.items():
            scores, cost = measured(tool, python, sources)
            result["classes"][name]["tools"][tool] = cost | quality(scores, planted)
            print(f"  {tool}: {json.dumps(result['classes'][name]['tools'][tool], ensure_ascii=False)}", flush=True)
    result["as it is called"] = {}
    for size in (300, 3000):
        sources, _ = similarity_class.make(size, 1)
        _, result["as it is called"][f"{size} written"] = measured("called", sys.executable, sources)
        print(size, result["as it is called"], flush=True)
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "similarity.json").write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def own(folder: Path) -> Scores:
    """Return the scores of all pairs: far more than it returns as it is called."""
    similarity.LEVEL, similarity.MOST = 0.01, 10**6
    return called(folder)


def called(folder: Path) -> Scores:
    sources = {path.parent.name: path.read_text(encoding="utf-8") for path in folder.glob("*/submitted.py")}
    given = [(folder / "stub.py").read_text(encoding="utf-8")]
    return {(pair.first, pair.second): pair.score for pair in similarity.find_similar_pairs(sources, given)}


def copydetect(folder: Path) -> Scores:
    from copydetect import CopyDetector

    detector = CopyDetector(extensions=["py"], display_t=0.0, silent=True, autoopen=False)
    for path in sorted(folder.glob("*/submitted.py")):
        detector.add_file(str(path))
    detector.add_file(str(folder / "stub.py"), "boilerplate")
    detector.run()
    names = [Path(file).parent.name for file in detector.test_files]
    return {
        (first, second): float(detector.similarity_matrix[row, column].max())
        for row, first in enumerate(names)
        for column, second in enumerate(names)
        if first < second
    }


def compare50(folder: Path) -> Scores:
    from compare50 import _api, _data, passes

    processed = _data.Preprocessor(passes.structure.preprocessors)
    paths = [*sorted(folder.glob("*/submitted.py")), folder / "stub.py"]
    *submissions, stub = [_data.Submission(path.parent, (path.name,), preprocessor=processed) for path in paths]
    ignored = set(stub.files)
    with _api.progress_bar("scoring", disable=True):
        scores = _api.rank(submissions, [], ignored, passes.structure, n=len(submissions) ** 2)
    found = {tuple(sorted((score.sub_a.path.name, score.sub_b.path.name))): score.score for score in scores}
    return {(first, second): score for (first, second), score in found.items() if first != second}


TOOLS: dict[str, Callable[[Path], Scores]] = {"own": own, "called": called, "copydetect": copydetect, "compare50": compare50}


def measured(tool: str, python: str, sources: dict[str, str]) -> tuple[Scores, dict[str, float]]:
    """Return (scores of pairs, what the process took)."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "stub.py").write_text(similarity_class.STUB, encoding="utf-8")
        for student, source in sources.items():
            (folder / student).mkdir()
            (folder / student / "submitted.py").write_text(source, encoding="utf-8")
        command = [python, __file__, "--tool", tool, "--folder", name]
        process = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        assert status == 0, f"{tool} ended with {status}"
        named = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    cost = {"CPU seconds": round(used.ru_utime + used.ru_stime, 2), "MiB": round(used.ru_maxrss / 1024)}
    return {(first, second): score for first, second, score in named}, cost


def quality(scores: Scores, planted: dict[tuple[str, str], str]) -> dict:
    """Return how the planted copies are ranked, whole ones and single functions each among the independent pairs."""
    independent = sorted((score for pair, score in scores.items() if pair not in planted), reverse=True)
    kinds: dict[str, list[float]] = {}
    for pair, how in planted.items():
        kinds.setdefault(how, []).append(scores.get(pair, 0.0))
    whole = [score for how, found in kinds.items() if how not in similarity_class.PARTS for score in found]
    parts = [score for how, found in kinds.items() if how in similarity_class.PARTS for score in found]
    ring = {pair: scores.get(pair, 0.0) for pair, how in planted.items() if how == "ring"}
    members = {member for pair in ring for member in pair}
    reached = {member for pair, score in ring.items() if score > independent[0] for member in pair}
    return {
        "whole": ranks(whole, independent),
        "one function": ranks(parts, independent) if parts else "none planted",
        "members of the ring in a pair above the first independent one": f"{len(reached)} of {len(members)}",
        "independent, the first, the tenth, the hundredth": [round(independent[place], 2) for place in (0, 9, 99)],
        "lowest and median of the copies": {
            how: [round(min(found), 2), round(statistics.median(found), 2)] for how, found in kinds.items()
        },
    }


def ranks(copies: list[float], independent: list[float]) -> dict[str, float]:
    ordered = sorted([(-score, 1) for score in copies] + [(-score, 0) for score in independent])
    precisions, hits = [], 0
    for place, (_, copied) in enumerate(ordered, 1):
        hits += copied
        precisions += [hits / place] * copied
    above = sum(score > independent[0] for score in copies) / len(copies)
    return {"average precision": round(statistics.mean(precisions), 3), "above the first independent pair": round(above, 2)}


if __name__ == "__main__":
    main()
