"""A pytest plugin: record what tests pass with; with --changed, run those whose inputs differ.

Passes are recorded here, in pytest's cache. Those of tests that run long, and depend on nothing but
their inputs and the libraries, are also recorded in the repository, by --record: a fresh clone
believes these, but for a sample that it draws once for each state of the record.

The inputs of a test are files of the repository (tests/kit/inputs.py finds them) and the environment.
While a test runs, a guard notes the files that it opens and the programs that it starts. The test
fails if one of these is not among its inputs, so that leaving it out later is safe.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Generator, Iterator
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any, TypedDict

import pytest

from tests.kit.inputs import (
    Snapshot,
    Source,
    describe_code,
    describe_environment,
    describe_kernel,
    describe_libraries,
    find_inputs,
)

Inputs = dict[str, "str | None"]  # digests by path
FOUND = pytest.StashKey[Inputs]()  # the inputs of a test
USED = pytest.StashKey["set[str]"]()  # the files that it has used
ENVIRONMENT = "Python, the platform, an installed package or a GRADER_ variable"
UNKNOWN = "no pass is recorded here"
MOST_REASONS = 12
# Keys by test, inputs by key, and at which commit they first passed.
NOTHING: dict[str, dict[str, Any]] = {"passed": {}, "inputs": {}, "commits": {}}
RECORDED = "tests/proof/tests.jsonl"
RECORDED_KEY = 16  # characters
ONE_IN = 20  # of the passes that are recorded in the repository, so many are tried all the same, and at least one
PASSES = 3  # of a test that are kept: who takes a change back, or changes branches, comes back to one


class Choice(TypedDict):
    """What --changed chose.

    Numbers of tests by test file, of the chosen ones by reason, and of the others by commit; and of those that the repository's
    record speaks for, how many were left out, the names of those that were drawn, and the commit of the record.
    """

    chosen: dict[str, int]
    left_out: dict[str, int]
    reasons: dict[str, dict[str, int]]
    commits: dict[str, int]
    recorded: int
    drawn: list[str]
    proven: str


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --changed."""
    about = "run only the tests that have not passed here with the inputs they have now"
    parser.addoption("--changed", action="store_true", help=about)
    parser.addoption("--record", action="store_true", help=f"write to {RECORDED} which tests marked `recorded` have passed")


def pytest_configure(config: pytest.Config) -> None:
    """Start to record, unless pytest has no cache to record in."""
    about = "runs long, and depends on nothing but its inputs and the libraries; with kernel=True also on the kernel"
    config.addinivalue_line("markers", f"recorded(kernel=False): {about}")
    if hasattr(config, "cache"):
        config.pluginmanager.register(Selection(config), "selection")


class Selection:
    """The hooks of one session; under pytest-xdist, of the controller or of one worker."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.is_worker = hasattr(config, "workerinput")
        folder = config.cache.mkdir("selection")
        self.records = folder / "passes.json"
        self.sources = folder / "sources.json"
        self.snapshot = Snapshot(config.rootpath)
        self.loaded: set[str] = set()  # digests of the files that sources.json describes
        self.environment = describe_environment()
        self.libraries = describe_libraries()
        self.lot: int = (
            config.workerinput["lot"]
            if hasattr(config, "workerinput")
            else _draw_lot(config.rootpath / RECORDED, folder / "lot.json")
        )
        self.guard = Guard(self.snapshot)
        self.choice: Choice | None = None
        self.carried: set[str] = set()  # keys of inputs that went to the controller with a report
        self.inputs: dict[str, Inputs] = {}  # by key
        self.passed: dict[str, str] = {}  # keys by test
        self.failed: set[str] = set()
        self.not_passed: set[str] = set()  # also skipped ones
        self.to_record: dict[str, str] = {}  # portable keys of the passed tests that are marked
        self.said: list[str] = []  # by tests, with record_property("said", line)

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Note what a test module opens while it is imported."""
        with self.guard.watch() as used:
            report = yield
        collector.stash[USED] = used
        return report

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Function]) -> None:
        """Find the inputs of every test; with --changed, leave out those that passed with the same."""
        self._load_sources()
        for item in items:
            item.stash[FOUND] = self._find_inputs(item)
        self._save_sources()
        if self.config.getoption("changed"):
            self._leave_out_unchanged(items)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Function) -> Generator[None, object, object]:
        """Note what a test opens and starts, and the fixtures that are set up for it."""
        with self.guard.watch() as item.stash[USED]:
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Function) -> Generator[None, object, object]:
        """Fail a test that used files which are not among its inputs."""
        result = yield
        module = item.getparent(pytest.Module)
        assert module is not None
        found, used, imported = item.stash[FOUND], item.stash[USED], module.stash[USED]
        if missing := (used | imported) - found.keys():
            path = item.path.relative_to(self.config.rootpath).as_posix()
            pytest.fail(
                f"{item.name} opens or starts files that are not among its inputs: {', '.join(sorted(missing))}. "
                f"Add them to INPUTS of {path}; tests/kit/inputs.py says how.",
                pytrace=False,
            )
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Function, call: pytest.CallInfo
    ) -> Generator[None, Any, pytest.TestReport]:
        """Attach the key of the test's inputs to its last report, and the inputs themselves once."""
        report = yield
        if not report.passed:
            item.stash[USED].clear()  # a traceback opens sources
        if call.when == "teardown":
            inputs = item.stash[FOUND]
            report.key = _make_key(inputs)
            if item.get_closest_marker("recorded"):
                report.portable_key = self._make_portable_key(item)
            if report.key not in self.carried:
                report.inputs = inputs
                self.carried.add(report.key)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect what passed, with which inputs, and what failed."""
        if self.is_worker:
            return
        if report.when == "call":
            self.said += [str(line) for name, line in report.user_properties if name == "said"]
        if report.failed:
            self.failed.add(report.nodeid)
        if not report.passed or hasattr(report, "wasxfail"):
            self.not_passed.add(report.nodeid)
        if report.when == "teardown":
            if hasattr(report, "inputs"):
                self.inputs[report.key] = report.inputs
            if report.nodeid not in self.not_passed:
                self.passed[report.nodeid] = report.key
                if hasattr(report, "portable_key"):
                    self.to_record[report.nodeid] = report.portable_key

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Let all workers of pytest-xdist draw the same sample."""
        node.workerinput["lot"] = self.lot

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over what a worker of pytest-xdist has chosen; all of them choose the same."""
        self.choice = getattr(node, "workeroutput", {}).get("choice") or self.choice

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Store the records. A session that had nothing to run was successful."""
        if self.is_worker:
            assert hasattr(self.config, "workeroutput")
            self.config.workeroutput["choice"] = self.choice
            return
        unchanged = self._store_records()
        if self.config.getoption("record"):
            self._store_recorded(unchanged)
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self.choice and self.choice["left_out"]:
            session.exitstatus = pytest.ExitCode.OK

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what was left out, why that is safe, why the other tests ran, and what these say."""
        if self.said:
            terminalreporter.section("proofs")
            for line in self.said:
                terminalreporter.line(line)
        if self.choice:
            terminalreporter.section("changed")
            for line in _describe_choice(self.choice, self.config.get_verbosity() > 0):
                terminalreporter.line(line)

    def _find_inputs(self, item: pytest.Function) -> Inputs:
        module = item.path.relative_to(self.config.rootpath).as_posix()
        params = item.callspec.params if hasattr(item, "callspec") else {}
        inputs = find_inputs(self.snapshot, module, item.originalname, params, item.fixturenames)
        return {**inputs, ENVIRONMENT: self.environment}

    def _leave_out_unchanged(self, items: list[pytest.Function]) -> None:
        records = _read(self.records, NOTHING)
        proven, recorded = _read_recorded(self.config.rootpath / RECORDED)
        self.choice = Choice(chosen={}, left_out={}, reasons={}, commits={}, recorded=0, drawn=[], proven=proven)
        places = {
            item.nodeid: _place(item.nodeid, self._make_portable_key(item))
            for item in items
            if item.get_closest_marker("recorded")
        }
        # Of a test with parameters the record says how many passed: all of them, or it speaks for none.
        full = {place for place, count in Counter(places.values()).items() if recorded.get(place) == count}
        known = {nodeid for nodeid, place in places.items() if place in full}
        drawn = _draw(known, self.lot)
        kept, left_out = [], []
        for item in items:
            keys, key = records["passed"].get(item.nodeid, []), _make_key(item.stash[FOUND])
            if key not in keys and item.nodeid in known - drawn:
                left_out.append(item)
                _count(self.choice["left_out"], item)
                self.choice["recorded"] += 1
                continue
            if key in keys:
                left_out.append(item)
                _count(self.choice["left_out"], item)
                commit = records["commits"].get(key, "")
                self.choice["commits"][commit] = self.choice["commits"].get(commit, 0) + 1
                continue
            kept.append(item)
            _count(self.choice["chosen"], item)
            if item.nodeid in drawn:
                self.choice["drawn"].append(item.nodeid)
            before = records["inputs"].get(keys[-1]) if keys else None
            for reason in [UNKNOWN] if before is None else _find_differences(before, item.stash[FOUND]):
                _count(self.choice["reasons"].setdefault(reason, {}), item)
        if left_out:
            self.config.hook.pytest_deselected(items=left_out)
            items[:] = kept

    def _make_portable_key(self, item: pytest.Item) -> str:
        """Return the key of a test's inputs that is the same on every machine of this kind with the same libraries.

        Of a test that is marked `recorded(kernel=True)`, the kernel and its rights are inputs too.
        """
        mark = item.get_closest_marker("recorded")
        machine = describe_kernel() if mark is not None and mark.kwargs.get("kernel") else ""
        inputs: Inputs = item.stash[FOUND]
        return _make_key({**inputs, ENVIRONMENT: self.libraries + machine})[:RECORDED_KEY]

    def _store_recorded(self, unchanged: set[str]) -> None:
        """Replace the repository's record by what passed now, with what it had of tests that did not run.

        unchanged: the keys of inputs that are still what they were when the session began.
        """
        path = self.config.rootpath / RECORDED
        found = Counter(_place(test, key) for test, key in self.to_record.items() if self.passed[test] in unchanged)
        failed = {_function(test) for test in self.failed}
        again = {(file, function) for file, _, function in found}
        kept = {
            place: count
            for place, count in _read_recorded(path)[1].items()
            if (self.config.rootpath / place[0]).is_file() and (place[0], place[2]) not in again
        }
        lines: dict[tuple[str, str], dict[str, int]] = {}
        for (file, key, function), count in sorted({**kept, **found}.items()):
            if (file, function) not in failed:
                lines.setdefault((file, key), {})[function] = count
        entries = [{"proven": _find_commit(self.config.rootpath)}, *([*where, counts] for where, counts in lines.items())]
        path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")

    def _store_records(self) -> set[str]:
        """Add what passed to the records, except where a file has changed since the session began; return the other keys."""
        now = Snapshot(self.config.rootpath)
        inputs = {
            key: digests
            for key, digests in self.inputs.items()
            if all(now.files.get(path) == digest for path, digest in digests.items() if path != ENVIRONMENT)
        }
        records = _read(self.records, NOTHING)
        passed = {test: keys for test, keys in records["passed"].items() if test not in self.failed}
        for test, key in self.passed.items():
            if key in inputs:
                others = [other for other in passed.get(test, []) if other != key]
                passed[test] = [*others[1 - PASSES :], key]
        unchanged = set(inputs)
        kept, commit = {key for keys in passed.values() for key in keys}, _find_commit(self.config.rootpath)
        inputs = {key: digests for key, digests in (records["inputs"] | inputs).items() if key in kept}
        commits = {key: records["commits"].get(key, commit) for key in inputs}
        _write(self.records, {"passed": passed, "inputs": inputs, "commits": commits})
        return unchanged

    def _load_sources(self) -> None:
        """Take over what files named in earlier sessions: to parse all of them takes seconds."""
        stored = _read(self.sources, {})
        if stored.get("by") == self.snapshot.files.get("tests/kit/inputs.py"):
            self.snapshot.sources |= {digest: Source(*fields) for digest, fields in stored["sources"].items()}
        self.loaded = set(self.snapshot.sources)

    def _save_sources(self) -> None:
        sources = self.snapshot.sources
        if sources.keys() - self.loaded:
            present = set(self.snapshot.files.values())
            by = self.snapshot.files.get("tests/kit/inputs.py")
            _write(self.sources, {"by": by, "sources": {digest: sources[digest] for digest in sources.keys() & present}})


class Guard:
    """Notes the files of the repository that this process opens, or starts programs with.

    It does not see what the started programs open, nor what C++ code does.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.root = os.path.realpath(snapshot.root) + os.sep
        self.used: set[str] | None = None
        sys.addaudithook(self._hear)

    @contextlib.contextmanager
    def watch(self) -> Iterator[set[str]]:
        """Give the set to which files are added until the end."""
        before, self.used = self.used, set()
        try:
            yield self.used
        finally:
            self.used = before

    def _hear(self, event: str, details: tuple) -> None:
        used = self.used
        if used is None or event not in ("open", "subprocess.Popen"):
            return
        with contextlib.suppress(OSError, ValueError):  # not a path: no concern of the guard
            if event == "open":
                path, _, flags = details
                if not isinstance(path, int) and not flags & os.O_WRONLY:
                    found = self._locate(path) - used
                    if found and not _is_for_hypothesis():
                        used |= found
            else:
                _, command, folder, _ = details
                used |= self._find_started([command] if isinstance(command, (str, bytes)) else command, folder or "")

    def _locate(self, path: str | bytes | os.PathLike) -> set[str]:
        """Return the file, or the source that a compiled file was made from, if it is in the repository."""
        full = os.path.realpath(os.fsdecode(path))
        if not full.startswith(self.root):
            return set()
        name = full.removeprefix(self.root).replace(os.sep, "/")
        folder, _, compiled = name.rpartition("__pycache__/")
        name = name if compiled == name else f"{folder}{compiled.partition('.')[0]}.py"
        return {name} & self.snapshot.files.keys()

    def _find_started(self, command: list[str | bytes | os.PathLike], folder: str | bytes | os.PathLike) -> set[str]:
        """Return the files among the arguments, the module after `-m`, what code after `-c` names, and the grader's command."""
        found = set()
        for before, word in pairwise(["", *map(os.fsdecode, command)]):
            if before == "-m":
                found |= self.snapshot.find_module(f"{word}.__main__")
            elif before == "-c":
                with contextlib.suppress(SyntaxError):  # not Python's -c
                    found |= self.snapshot.find_named(describe_code(word), "")
            else:
                found |= self._locate(os.path.join(os.fsdecode(folder), word))
                found |= self.snapshot.find_command(word)
        return found


def _is_for_hypothesis() -> bool:
    """Return whether hypothesis reads: it looks for constants in every module that is loaded, to draw them as examples."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith("hypothesis.internal.constants"):
            return True
        frame = frame.f_back
    return False


def _function(nodeid: str) -> tuple[str, str]:
    """Return the file of a test, and the name of its function with that of its class."""
    file, _, name = nodeid.partition("::")
    return file, name.partition("[")[0]


def _place(nodeid: str, key: str) -> tuple[str, str, str]:
    """Return where the repository's record has a test: by its file, its key and its function."""
    file, function = _function(nodeid)
    return file, key, function


def _read_recorded(path: Path) -> tuple[str, dict[tuple[str, str, str], int]]:
    """Return the commit of the repository's record, and by place how many tests passed; nothing if it is damaged."""
    try:
        head, *entries = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        return head["proven"], {(file, key, name): count for file, key, counts in entries for name, count in counts.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return "", {}


def _draw_lot(record: Path, kept: Path) -> int:
    """Return the number that decides which recorded tests run all the same: the kept one, or a new one for a new record.

    A lot that was drawn for each session would try 5 % of the record after every line that changes.
    """
    state = hashlib.sha256(record.read_bytes() if record.is_file() else b"").hexdigest()
    before = _read(kept, {})
    if before.get("record") != state:
        before = {"record": state, "lot": random.randrange(1 << 32)}
        _write(kept, before)
    return int(before["lot"])


def _draw(tests: set[str], lot: int) -> set[str]:
    """Return one test in twenty, and at least one. Whether a test is drawn does not depend on the others, which may change."""
    numbers = {test: int(hashlib.sha256(f"{lot} {test}".encode()).hexdigest(), 16) for test in tests}
    drawn = {test for test, number in numbers.items() if number % ONE_IN == 0}
    return drawn or set(sorted(tests, key=numbers.__getitem__)[:1])


def _make_key(inputs: Inputs) -> str:
    return hashlib.sha256(json.dumps(sorted(inputs.items())).encode()).hexdigest()[:32]


def _find_differences(before: Inputs, after: Inputs) -> list[str]:
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def _find_commit(root: Path) -> str:
    """Return the commit of the files, and whether they differ from it; an empty text without git."""
    command = ["git", "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty= with changes"]
    try:
        return subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def _count(tests: dict[str, int], item: pytest.Function) -> None:
    tests[item.path.name] = tests.get(item.path.name, 0) + 1


def _describe_choice(choice: Choice, verbose: bool) -> Iterator[str]:
    chosen, left_out = (sum(choice[part].values()) for part in ("chosen", "left_out"))
    here = left_out - choice["recorded"]
    yield f"{_number(chosen)} chosen, {here} left out: every file that they read is as it was when they passed here."
    if choice["recorded"]:
        yield f"{_number(choice['recorded'])} passed at {choice['proven'] or 'no commit'}, as {RECORDED} says"
    if choice["drawn"]:
        drawn = Counter(nodeid.partition("::")[0].rpartition("/")[2] for nodeid in choice["drawn"])
        shown = choice["drawn"] if verbose else [f"{count} in {file}" for file, count in drawn.most_common()]
        yield f"{_number(len(choice['drawn']))} drawn by chance from those that {RECORDED} speaks for: {', '.join(shown)}"
    for commit, count in sorted(choice["commits"].items(), key=lambda item: -item[1])[:MOST_REASONS]:
        yield f"{_number(count)} passed at {commit or 'no commit'}"
    if verbose:
        for file, count in sorted(choice["left_out"].items()):
            yield f"{file}: {count} left out"
    reasons = sorted(choice["reasons"].items(), key=lambda reason: -sum(reason[1].values()))
    for reason, files in reasons[:MOST_REASONS]:
        names = sorted(files, key=files.__getitem__, reverse=True)
        more = f" and {len(names) - 4} more" if len(names) > 4 else ""
        yield f"{reason}: {_number(sum(files.values()))} in {', '.join(names[:4])}{more}"
    if len(reasons) > MOST_REASONS:
        yield f"... and {len(reasons) - MOST_REASONS} more changed files"


def _number(count: int) -> str:
    return f"{count} test" if count == 1 else f"{count} tests"


def _read(path: Path, default: dict) -> dict:
    """Return the content of a JSON file, with what the default has and it has not; the default if it is damaged."""
    try:
        return default | json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):
        return default


def _write(path: Path, content: dict) -> None:
    """Replace a JSON file at once, so that an interrupted session leaves the old one."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as file:
        json.dump(content, file)
    os.replace(file.name, path)
