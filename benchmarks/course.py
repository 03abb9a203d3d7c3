"""Measure the grading of a class: killed and resumed, what its page finds, what a submission costs beyond its checks, memory.

    python benchmarks/course.py [--part class,found,overhead,memory,peers] [--work DIR] [-o benchmarks/results]

class     grades 300 synthetic submissions (course_class.py) in one piece, and again killed twice, and compares; an hour of CPU
found     looks for what was planted, in the results of the run in one piece
overhead  what a solution costs beyond the checks' own time, one worker
memory    of 1, 2 and 4 workers
peers     gradescope-utils on the visible checks, in turn with ours; needs --peer PYTHON, one that has gradescope-utils, torch
          and pydantic

Writes course.json (the parts that were run; the others stay). Trust CPU seconds and ratios of one run.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import html
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import course_class

from grader.course.insight import analyze_results
from grader.course.results import ResultsFolder, SubmissionResult
from grader.judge import judging
from grader.judge.run import Grader

NAME = "policy_gradient"
PARTS = ("class", "found", "overhead", "memory", "peers", "short")
KINDS = ("main", "judge workers", "template server", "its copies", "calls")
SOLUTION = ROOT / "solutions" / NAME / "submitted.py"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", default=",".join(PARTS[:-2]))
    parser.add_argument("--work", type=Path, help="keep the class and its results here; an earlier one is used again")
    parser.add_argument("--peer", help="a Python that has gradescope-utils")
    parser.add_argument("-o", dest="output", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--grades", type=int, help="only grade the solution so often, as `short` measures")
    options = parser.parse_args()
    if options.grades:
        grades(options.grades)
        return
    work = (options.work or Path(tempfile.mkdtemp(prefix="course-"))).resolve()
    work.mkdir(parents=True, exist_ok=True)
    work.chmod(0o755)  # so that workers of another user reach the folders of the sandbox in it
    (work / "tmp").mkdir(exist_ok=True)
    (work / "tmp").chmod(0o755)
    os.environ["TMPDIR"] = tempfile.tempdir = str(work / "tmp")
    path = options.output / "course.json"
    result = json.loads(path.read_text()) if path.exists() else {}
    result["machine"] = {"python": platform.python_version(), "system": platform.platform(), "cores": os.cpu_count()}
    for part in options.part.split(","):
        run = {
            "class": lambda: graded_class(work),
            "found": lambda: found(work),
            "overhead": overhead,
            "memory": lambda: memory(work),
            "peers": lambda: peers(work, options.peer),
            "short": lambda: short(work, options.peer),
        }[part]
        result[part] = run()
        path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"{part}: {json.dumps(result[part], indent=1, ensure_ascii=False)}", flush=True)
    print(f"wrote {path}")
    if options.work is None:
        shutil.rmtree(work)


# A class, in one piece and killed


def graded_class(work: Path) -> dict[str, Any]:
    """Return how the class was graded in one piece and in three, and what differs between the two."""
    export = work / "class"
    if not export.is_dir():
        course_class.write(course_class.make(), export)
    whole, pieces = work / "A", work / "B"
    for folder in (whole, pieces):
        shutil.rmtree(folder, ignore_errors=True)
    one = watched(course(export, whole))
    print(f"in one piece: {one}", flush=True)
    count = sum(path.is_dir() for path in export.iterdir())
    parts = [watched(course(export, pieces), until) for until in (count // 3, 2 * count // 3)]
    before = {path.name: path.stat().st_mtime_ns for path in (pieces / "results").iterdir()}
    parts.append(watched(course(export, pieces)))
    print(f"killed twice: {parts}", flush=True)
    again = sum((pieces / "results" / name).stat().st_mtime_ns != moment for name, moment in before.items())
    return {
        "submissions": count,
        "planted": json.loads(export.with_suffix(".json").read_text())["counts"],
        "in one piece": one,
        "killed at a third and at two thirds": parts,
        "results graded a second time by the last run": again,
        "compared": compared(whole, pieces),
        "temporary folders in the end": leftovers(),
        "removed by the next run, once they are a week old": swept(work),
    }


def course(export: Path, folder: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "grader", "course", NAME, str(export), "-o", str(folder), *more]


def watched(command: list[str], until: int | None = None) -> dict[str, Any]:
    """Return how a run went. until: so many results, at which its main process is killed."""
    folder = Path(command[command.index("-o") + 1])
    used, began, before = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic(), leftovers()["folders"]
    with open(f"{folder}.log", "a") as log:
        process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, start_new_session=True)
    most = 0
    while process.poll() is None:
        time.sleep(0.2)
        done = sum(1 for _ in (folder / "results").glob("*.json")) if (folder / "results").is_dir() else 0
        most = max(most, done)
        if until is not None and done >= until:
            family = started(process.pid)
            process.kill()
            killed = time.monotonic()
            process.wait()
            while alive := [pid for pid, start in family.items() if started_at(pid) == start]:
                if time.monotonic() > killed + 20:
                    break
                time.sleep(0.02)
            return {
                "results when killed": done,
                "processes then": len(family),
                "alive 20 s later": len(alive),
                "all gone after s": round(time.monotonic() - killed, 2) if not alive else None,
                "temporary folders left": leftovers()["folders"] - before,
                "wall s": round(time.monotonic() - began),
            }
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    return {
        "exit code": process.returncode,
        "wall s": round(time.monotonic() - began),
        "CPU s": round(cpu),
        "temporary folders left": leftovers()["folders"] - before,
    }


def started(pid: int) -> dict[int, str]:
    """Return a process and all below it, each with when it began, by which it is known again."""
    found = {pid: started_at(pid)}
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = task.read_text().split()
        except OSError:
            continue
        for child in children:
            found |= started(int(child))
    return found


def started_at(pid: int) -> str:
    """Return when a process began, or nothing for one that is gone or waits to be reaped."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def leftovers() -> dict[str, int]:
    """Return the temporary folders of graders, and how large they are."""
    folders = list(Path(tempfile.gettempdir()).glob("grader-*"))
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return {"folders": len(folders), "kB": round(sum(path.stat().st_size for path in files) / 1024)}


def swept(work: Path) -> str:
    """Return how many of the folders of killed runs are gone after another run, if they are a week old."""
    old = time.time() - 8 * 86_400
    folders = list(Path(tempfile.gettempdir()).glob("grader-*"))
    for folder in folders:
        os.utime(folder, (old, old))
    few = work / "few"
    few.mkdir(exist_ok=True)
    shutil.copyfile(course_class.HOME.stub, few / "one.py")
    subprocess.run(course(few, work / "few-graded"), cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    shutil.rmtree(few)
    shutil.rmtree(work / "few-graded")
    return f"{sum(not folder.exists() for folder in folders)} of {len(folders)}"


def read(folder: Path) -> dict[str, SubmissionResult]:
    """Return the results of a class; there must be one for each submission, in one file."""
    known = ResultsFolder(folder)
    return {entry: result for entry, result in known.of(known.course()).items() if result is not None}


def compared(whole: Path, pieces: Path) -> dict[str, Any]:
    """Return how two gradings of a class differ, check by check."""
    kinds = json.loads((whole.parent / "class.json").read_text())["kinds"]
    one, other = read(whole), read(pieces)
    differences = []
    for entry in kinds:
        first, second = one[entry], other[entry]
        was = {check.id: check for check in first.report.checks}
        now = {check.id: check for check in second.report.checks}
        differing = {
            f"{was[name].outcome.value} / {now[name].outcome.value}"
            for name in was.keys() | now.keys()
            if was.keys() == now.keys() and (was[name].outcome, was[name].points) != (now[name].outcome, now[name].points)
        }
        scored = (first.report.points, second.report.points)
        if differing or was.keys() != now.keys() or first.status != second.status or scored[0] != scored[1]:
            differences.append(f"{kinds[entry]}: {', '.join(sorted(differing))}; {scored[0]:g} / {scored[1]:g} points")
    messages = sum(
        (a.message, a.mistakes, a.signature) != (b.message, b.mistakes, b.signature)
        for entry in kinds
        for a, b in zip(one[entry].report.checks, other[entry].report.checks, strict=True)
    )
    files = Counter(path.name.partition(".")[0] for path in (pieces / "results").iterdir())
    return {
        "submissions": len(kinds),
        "results": [len(one), len(other)],
        "files of results": [sum(1 for _ in (folder / "results").iterdir()) for folder in (whole, pieces)],
        "submissions with two results": sum(count > 1 for count in files.values()),
        "checks": sum(len(result.report.checks) for result in one.values()),
        "points in all": [round(sum(result.report.points for result in each.values()), 3) for each in (one, other)],
        "submissions that differ in an outcome or points": differences,
        "checks that differ in message, mistakes or signature": messages,
        "statuses": [Counter(result.status for result in each.values()) for each in (one, other)],
        "attempts beyond one": [sum(result.attempts > 1 for result in each.values()) for each in (one, other)],
        "checks retried": [sum(len(result.retried) for result in each.values()) for each in (one, other)],
        "scores are the same": scores(whole) == scores(pieces),
    }


def scores(folder: Path) -> str:
    return (folder / "gradebook.csv").read_text(encoding="utf-8")


# What was planted


def found(work: Path) -> dict[str, Any]:
    """Return which of the planted mistakes and copies the class page reports."""
    planted = json.loads((work / "class.json").read_text())
    folder = ResultsFolder(work / "A")
    known = folder.course()
    seen = analyze_results(known, folder.of(known))
    groups = {(group.question, group.ids): {entry.id for entry in group.submissions} for group in seen.mistakes}
    outcome: dict[str, list[str]] = {"alone": [], "with equals": [], "not": [], "partly": []}
    why, wrong_counts = {}, []
    results = folder.of(known)
    questions = planted["questions"]
    owners = {entry: name for name, entries in planted["mistakes"].items() for entry in entries}
    for name, entries in planted["mistakes"].items():
        question = questions[name]
        fitting = {key: members for key, members in groups.items() if key[0] == question and name in key[1]}
        named = set().union(*fitting.values()) if fitting else set()
        missing = set(entries) - named
        if missing:
            outcome["partly" if len(missing) < len(entries) else "not"].append(name)
            result = results[sorted(missing)[0]]
            assert result is not None
            why[name] = reason(result, question)
        else:
            outcome["alone" if all(len(key[1]) == 1 for key in fitting) else "with equals"].append(name)
            expected = {entry for key in fitting for one in key[1] for entry in planted["mistakes"].get(one, ())}
            for entry in sorted(named - expected):
                wrong_counts.append(f"{name}: {planted['kinds'][entry]} {owners.get(entry, '')}")
            for entry in sorted(expected - named):
                if not any(key[0] == question and set(key[1]) & {owners[entry]} and entry in m for key, m in groups.items()):
                    wrong_counts.append(f"{name}: without {owners[entry]}")
    exact = sum(
        members == {entry for one in key[1] for entry in planted["mistakes"].get(one, ())} for key, members in groups.items()
    )
    direct = sum(any(questions.get(one) == question for one in ids) for question, ids in groups)
    alike = json.loads((work / "A" / "similarity.json").read_text())
    pairs = {(pair["first"], pair["second"]): pair["score"] for pair in alike}
    same = [{entry.id for entry in group.submissions} for group in seen.same]
    copies = {tuple(sorted(pair[:2])): pair[2] for pair in planted["copies"]}
    families = related(planted)
    # Those of the catalogue were all written by the same people, and attacks have texts in common: they are alike.
    own = {entry for entry, kind in planted["kinds"].items() if kind.startswith(("written", "copy"))}
    strangers = [pair for pair in pairs if set(pair) <= own and not any(set(pair) <= family for family in families)]
    reached = {entry for family in families for pair in pairs if set(pair) <= family for entry in pair}
    text = (work / "A" / "class.html").read_text(encoding="utf-8")
    return {
        "mistakes planted": len(planted["mistakes"]),
        "submissions with them": len(owners),
        "recognized by name": len(outcome["alone"]),
        "recognized together with mistakes that show the same": len(outcome["with equals"]),
        "not recognized, and why": why,
        "planted more than once, count on the page": {
            name: [len(entries), sum(len(groups[key]) for key in groups if key[0] == questions[name] and name in key[1])]
            for name, entries in planted["mistakes"].items()
            if len(entries) > 1
        },
        "groups on the page": len(groups),
        "groups that hold exactly the planted submissions": exact,
        "what stands in a group besides": wrong_counts,
        "groups of questions that mistakes of another one fail": len(groups) - direct,
        "solutions, alternatives and stubs in a group": sum(
            planted["kinds"][entry] in ("solution", "alternative", "stub", "notebook")
            for members in groups.values()
            for entry in members
        ),
        "copies planted": len(copies),
        "copies among the pairs": sum(pair in pairs for pair in copies),
        "scores of the copies": {f"{how} {n}": round(pairs.get(pair, 0), 2) for n, (pair, how) in enumerate(copies.items())},
        "pairs": len(pairs),
        "copies in a pair with their original or another copy of it": sum(set(pair) <= reached for pair in copies),
        "pairs of independent work": len(strangers),
        "pairs of the catalogue or attacks, written by one hand": sum(not set(pair) <= own for pair in pairs),
        "identical groups found": [sum(set(group) <= one for one in same) for group in planted["same"]],
        "groups whose hint the page tells": sum(shown(group.hint) in text for group in seen.mistakes),
        "page, kB": round(len(text) / 1024),
    }


def shown(hint: str) -> str:
    """Return how the page begins to tell a hint."""
    return html.escape(hint[:40]).replace("&#x27;", "&#39;").replace("&quot;", "&#34;")


def related(planted: dict) -> list[set[str]]:
    """Return the entries that are of the same source, by pairs of copies and by identity."""
    families: list[set[str]] = []
    for group in [*(set(pair[:2]) for pair in planted["copies"]), *map(set, planted["same"])]:
        touching = [family for family in families if family & group]
        families = [family for family in families if not family & group] + [group.union(*touching)]
    return families


def reason(result: SubmissionResult, question: str) -> str:
    """Return why a mistake was not recognized, by what its question's checks say."""
    checks = [check for check in result.report.checks if check.question == question]
    bad = [check for check in checks if check.outcome.value != "passed"]
    if not bad:
        return "its question lost no point"
    named = sorted({one for check in bad for one in check.mistakes})
    return f"{Counter(check.outcome.value for check in bad)}; named: {', '.join(named) or 'none'}; {bad[0].message[:100]}"


# What it costs


class Timed:
    """A sandbox's `_exchange`, with a note of each: what for, its wall time outside, and within until the reply was there."""

    def __init__(self, grader: Grader) -> None:
        self.calls: list[tuple[str, float, float]] = []
        self.exchange = grader._sandbox._exchange
        grader._sandbox._exchange = self  # type: ignore[method-assign]  # on this object alone

    @contextlib.contextmanager
    def __call__(self, request: dict[str, Any], seconds: float) -> Any:
        began = time.perf_counter()
        with self.exchange(request, seconds) as exchange:
            yield exchange
        self.calls.append((request["do"], time.perf_counter() - began, exchange.seconds))


def overhead(count: int = 20, empty: int = 200) -> dict[str, Any]:
    """Return what one worker needs for the solution beyond its checks: in the judge, and for the calls themselves."""
    rows: list[dict[str, float]] = []
    kinds: Counter[str] = Counter()
    home, suites = course_class.HOME, ("visible", "hidden")
    with Grader(home, suites) as template, contextlib.ExitStack() as stack:
        # A worker is a copy of a judge that has graded nothing, and its server a copy of a warm one; here in one process.
        template.warm_up(wait=True)
        template.grade(template.refused(Path("nothing"), "nothing was submitted"))
        gc.collect()
        gc.freeze()
        grader = stack.enter_context(Grader(home, suites, template=(template, 0)))
        grader.grade(SOLUTION)
        timed = Timed(grader)
        for _ in range(count):
            timed.calls.clear()
            judge, sandbox, began = time.process_time(), grader.cpu_seconds, time.perf_counter()
            report = grader.grade(SOLUTION)
            wall = time.perf_counter() - began
            kinds = Counter(do for do, _, _ in timed.calls)
            rows.append(
                {
                    "wall, ms": wall,
                    "checks' own time, ms": sum(check.seconds for check in report.checks),
                    "beyond the checks, ms": wall - sum(check.seconds for check in report.checks),
                    "within calls, ms": sum(outside for _, outside, _ in timed.calls),
                    "beyond the calls, ms": wall - sum(outside for _, outside, _ in timed.calls),
                    "to start and end the calls' processes, ms": sum(outside - inside for _, outside, inside in timed.calls),
                    "look at and load the submission, ms": sum(
                        outside for do, outside, _ in timed.calls if do not in ("call", "converse")
                    ),
                    "CPU of the judge, ms": time.process_time() - judge,
                    "CPU of the calls, ms": grader.cpu_seconds - sandbox,
                }
            )
        isolation = report.isolation
        # With a clock that only goes while the judge works, what others do on this machine makes no difference.
        clocked: Any = judging  # whose `time` is not for others
        clocked.time = SimpleNamespace(monotonic=time.process_time)
        alone = []
        for _ in range(count):
            judge = time.process_time()
            report = grader.grade(SOLUTION)
            alone.append(time.process_time() - judge - sum(check.seconds for check in report.checks))
        clocked.time = time
    nothing = empty_calls(empty)
    medians = {name: round(1000 * statistics.median(row[name] for row in rows), 1) for name in rows[0]}
    return {
        "about": f"the solution {count} times, one worker, both suites; medians",
        "isolation": isolation,
        "calls": dict(kinds),
        **medians,
        "least beyond the checks, ms": round(1000 * min(row["beyond the checks, ms"] for row in rows), 1),
        "mean beyond the checks, ms": round(1000 * statistics.mean(row["beyond the checks, ms"] for row in rows), 1),
        "CPU of the judge beyond the checks, ms": round(1000 * statistics.median(alone), 1),
        "a call that does nothing": nothing,
        "such calls, as many as the solution needs, ms": round(nothing["wall, ms"] * sum(kinds.values()), 1),
        "goal": "at most 40 ms beyond the checks",
    }


def empty_calls(count: int) -> dict[str, float]:
    """Return the median wall and CPU of a driver that does nothing, at the same isolation."""
    from grader.sandbox.forked import ForkedSandbox
    from grader.sandbox.places import make_readable, make_temporary_folder

    folder = make_temporary_folder()
    (folder / "drivers.py").write_text("def nothing(submitted):\n    return None\n")
    (folder / "submissions").mkdir()
    make_readable(folder)
    with ForkedSandbox(folder / "drivers.py", [folder / "submissions"]) as sandbox:
        sandbox.warm_up()
        times, used, judge = [], sandbox.cpu_seconds, time.process_time()
        for _ in range(count):
            began = time.perf_counter()
            sandbox.call("nothing", {})
            times.append(time.perf_counter() - began)
        used, judge = sandbox.cpu_seconds - used, time.process_time() - judge
    shutil.rmtree(folder)
    return {
        "wall, ms": round(1000 * statistics.median(times), 2),
        "CPU of the call, ms": round(1000 * used / count, 2),
        "CPU of the judge, ms": round(1000 * judge / count, 2),
    }


def solutions(folder: Path, count: int) -> Path:
    """Return an export of so many solutions, each with a line of its own."""
    shutil.rmtree(folder, ignore_errors=True)
    for number in range(count):
        place = folder / f"submission_{number}"
        place.mkdir(parents=True)
        (place / "submitted.py").write_text(f"# {number}\n" + SOLUTION.read_text(encoding="utf-8"), encoding="utf-8")
    return folder


def memory(work: Path) -> dict[str, Any]:
    """Return the memory of the whole tree of processes, each page counted once, with 1, 2 and 4 workers."""
    found: dict[str, Any] = {}
    for workers in (1, 2, 4):
        export = solutions(work / "solutions", 6 * workers)
        process = subprocess.Popen(
            course(export, work / f"memory-{workers}", "--workers", str(workers)), cwd=ROOT, stdout=subprocess.DEVNULL
        )
        samples = []
        while process.poll() is None:
            samples.append(tree(process.pid))
            time.sleep(0.1)
        # While all are at work, which begins and ends with a few samples of something else.
        busy = [sample for sample in samples if sample["judge workers"][0] == workers]
        busy = busy[len(busy) // 4 :]
        found[str(workers)] = {
            "median PSS, MB": round(statistics.median(total(sample) for sample in busy), 1),
            "peak PSS, MB": round(max(total(sample) for sample in busy), 1),
            "of which, median MB": {
                kind: round(statistics.median(sample[kind][1] for sample in busy) / 1024, 1) for kind in busy[0]
            },
            "private, median MB each": {
                kind: round(statistics.median(sample[kind][2] / max(sample[kind][0], 1) for sample in busy) / 1024, 1)
                for kind in busy[0]
            },
        }
        shutil.rmtree(work / f"memory-{workers}")
    shutil.rmtree(work / "solutions")
    for kind in ("median", "peak"):
        one, four = (found[count][f"{kind} PSS, MB"] for count in ("1", "4"))
        found[f"MB for each further worker, {kind}"] = round((four - one) / 3, 1)
    each = found["4"]["private, median MB each"]
    found["private MB of a worker: judge, copy of the server, call"] = round(
        each["judge workers"] + each["its copies"] + each["calls"], 1
    )
    found["goal"] = "at most 25 MB for each further worker"
    return found


def total(sample: dict[str, list[int]]) -> float:
    return sum(pss for _, pss, _ in sample.values()) / 1024


def tree(root: int) -> dict[str, list[int]]:
    """Return [processes, PSS, private kB] of a run by what its processes are."""
    kinds = {name: [0, 0, 0] for name in KINDS}
    for pid, depth, server in below(root):
        kind = KINDS[min(depth, 1)] if not server else KINDS[1 + server]
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
        except OSError:
            continue
        kb = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}
        kinds[kind][0] += 1
        kinds[kind][1] += kb["Pss"]
        kinds[kind][2] += kb["Private_Clean"] + kb["Private_Dirty"]
    return kinds


def below(pid: int, depth: int = 0, server: int = 0) -> list[tuple[int, int, int]]:
    """Return (process, generations from the first, generations from a server or 0) of a process and all below it."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        own = b"server.py" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return []
    server = server + 1 if own else 0
    return [(pid, depth, server), *(one for child in children for one in below(int(child), depth + 1, server))]


def peers(work: Path, python: str | None, count: int = 8, rounds: int = 3) -> dict[str, Any]:
    """Return CPU seconds of a submission: ours, with and without the hidden suite, and gradescope-utils', in turn."""
    if python is None:
        raise SystemExit("pass --peer PYTHON, one that has gradescope-utils")
    export = solutions(work / "solutions", count)
    suite = [python, str(Path(__file__).with_name("course_peer.py"))]
    seen: dict[str, list[float]] = {name: [] for name in ("ours, visible", "ours, both suites", "gradescope-utils, visible")}
    start = {"OMP_NUM_THREADS": "1"}  # more threads only cost: 32 CPU seconds with two, on a busy machine
    for turn in range(rounds):
        ours = {}
        for name, suites in (("ours, visible", "visible"), ("ours, both suites", "visible,hidden")):
            ours[name] = cpu(course(export, work / f"peer-{turn}-{suites}", "--suite", suites, "--workers", "1"))
            seen[name].append(ours[name] / count)
            shutil.rmtree(work / f"peer-{turn}-{suites}")
        for number in range(2):
            path = export / f"submission_{number}" / "submitted.py"
            seen["gradescope-utils, visible"].append(cpu([*suite, str(path), str(work / "peer.json")], start))
            graded = json.loads((work / "peer.json").read_text())
            assert all(test["score"] == test["max_score"] for test in graded["tests"]), graded
    nothing = solutions(work / "nothing", 1)
    (nothing / "submission_0" / "submitted.py").write_text(course_class.similarity_class.STUB, encoding="utf-8")
    fixed = cpu(course(nothing, work / "peer-nothing", "--workers", "1"))
    for name in ("solutions", "nothing", "peer-nothing"):
        shutil.rmtree(work / name)
    medians = {name: round(statistics.median(values), 2) for name, values in seen.items()}
    peer = medians["gradescope-utils, visible"]
    return {
        "about": f"CPU seconds of a submission; ours: a whole command over {count} solutions with one worker, by {count}",
        "medians": medians,
        "of which starting and ending, a command over one stub, by the count": round(fixed / count, 2),
        "gradescope-utils by ours": {
            "visible checks": round(peer / medians["ours, visible"], 2),
            "visible checks, without starting": round(peer / (medians["ours, visible"] - fixed / count), 2),
        },
        "tests in gradescope-utils": len(graded["tests"]),
        "published, on another machine state and suite": {"Otter": 7.3, "nbgrader": 5.5},
    }


def short(work: Path, python: str | None, more: int = 10, rounds: int = 3) -> dict[str, Any]:
    """Return CPU seconds of one more submission with the visible checks but the two that train: ours and gradescope-utils'."""
    if python is None:
        raise SystemExit("pass --peer PYTHON, one that has gradescope-utils")
    suite = [
        python,
        str(Path(__file__).with_name("course_peer.py")),
        str(SOLUTION),
        str(work / "peer.json"),
        "--without-learning",
    ]
    grade = [sys.executable, __file__, "--grades"]
    one, many, peer = [], [], []
    for _ in range(rounds):
        one.append(cpu([*grade, "1"]))
        many.append(cpu([*grade, str(1 + more)]))
        peer.append(cpu(suite, {"OMP_NUM_THREADS": "1"}))
    ours, theirs = (statistics.median(many) - statistics.median(one)) / more, statistics.median(peer)
    return {
        "about": "32 visible checks that train nothing, at full isolation, in a warm worker; a process a submission there",
        "ours": round(ours, 2),
        "gradescope-utils": round(theirs, 2),
        "gradescope-utils by ours": round(theirs / ours, 1),
        "published, another suite, whose tests took 0.7 to 0.95 s of it, by ours": {
            "Otter 7.3": round(7.3 / ours, 1),
            "nbgrader 5.5": round(5.5 / ours, 1),
        },
    }


def grades(count: int) -> None:
    """Grade the solution so often by a worker: a copy of a judge and of a server that are warm."""
    home = course_class.HOME
    asked = {question.id for question in home.assignment.questions if not question.id.startswith("learning")}
    with Grader(home) as template:
        template.warm_up(wait=True)
        template.grade(template.refused(Path("nothing"), "nothing was submitted"))
        with Grader(home, template=(template, 0)) as grader:
            for _ in range(count):
                report = grader.grade(SOLUTION, asked)
    assert report.points == report.max_points > 0


def cpu(command: list[str], more: dict[str, str] | None = None) -> float:
    """Return the CPU seconds of a command and all that it started."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    nowhere, environment = subprocess.DEVNULL, os.environ | (more or {})
    subprocess.run(command, cwd=ROOT, stdout=nowhere, stderr=nowhere, check=True, env=environment)
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    return now.ru_utime + now.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
