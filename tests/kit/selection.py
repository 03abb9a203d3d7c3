"""A pytest plugin: record what tests pass with; with --changed, run those whose inputs differ.

Passes are recorded here, in pytest's cache. Those of tests that run long, and depend on nothing but
their inputs and the libraries, are also recorded in the repository, by --record: a fresh clone
believes these, but for a sample that it draws once for each state of the record.

The inputs of a test are files of the repository (tests/kit/inputs.py finds them) and the environment.
While a test runs, a guard (tests/kit/watching.py) notes the files that it opens, the modules that it
imports and the programs that it starts, and what these use in turn. The test fails if one of these is
not among its inputs, so that leaving it out later is safe. Of what functions of the kit import, only
that is recorded as its input which it did import: with all else unchanged, it would import the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import tempfile
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import pytest

from tests.kit.inputs import (
    Snapshot,
    Source,
    describe_environment,
    describe_kernel,
    describe_libraries,
    describe_reader,
    find_inputs,
)
from tests.kit.watching import ANY, Guard, Inputs, Used, complete

FOUND = pytest.StashKey[Inputs]()  # all inputs that a test can have
SURE = pytest.StashKey[Inputs]()  # those that it has in any case
USED = pytest.StashKey[Used]()  # what it has used
ENVIRONMENT = "Python, the platform, an installed package or a GRADER_ variable"
UNKNOWN = "no pass is recorded here"
MOST_REASONS = 12
# Keys by test, inputs by key, and at which commit they first passed.
NOTHING: dict[str, dict[str, Any]] = {"passed": {}, "inputs": {}, "commits": {}}
RECORDED = "tests/proof/tests.jsonl"
RECORDED_KEY = 16  # characters
ONE_IN = 50  # of the passes that are recorded in the repository, one in so many is tried all the same, and at least one
PASSES = 6  # of a test that are kept: who takes changes back, or changes branches, comes back to one


class Group(NamedTuple):
    """Tests that are recorded together: those of one file with the same inputs.

    Attributes:
        file: Their file.
        sure: The key of the inputs that they have in any case.
        found: The key of all that they can have.
    """

    file: str
    sure: str
    found: str


class Entry(NamedTuple):
    """What the repository's record says of a group.

    Attributes:
        file: Their file.
        key: Of the inputs that they have and `beyond` leads to.
        passed: How many passed.
        beyond: What functions imported, and which programs were started.
        without: Functions of which a test did not pass: the entry speaks of none of these.
    """

    file: str
    key: str
    passed: int
    beyond: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


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
    if config.getoption("record") and config.getoption("changed"):
        raise pytest.UsageError(f"--record writes {RECORDED} of tests that have run: leave out --changed")
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
        self.snapshot = Snapshot(config.rootpath, **self._load_sources())
        self.loaded = self._list_digests()  # what sources.json describes
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
        self.set_up: dict[tuple[str, str], list[Used]] = defaultdict(list)  # by fixtures of more than one test: place and name
        self.marked: dict[Group, dict[str, tuple[str, list[str]]]] = defaultdict(dict)  # by test: its key, and what is beyond
        self.group_inputs: dict[Group, tuple[Inputs, Inputs]] = {}  # those that are sure, and all
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
        for item in items:
            item.stash[FOUND] = self._find_inputs(item)
            item.stash[SURE] = self._find_inputs(item, late=False)
        self._save_sources()
        if self.config.getoption("changed"):
            self._leave_out_unchanged(items)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: pytest.FixtureRequest) -> Generator[None, object, object]:
        """Note what is used by a fixture of more than one test, for all of these."""
        if request.scope == "function":
            return (yield)
        with self.guard.watch() as used:
            result = yield
        self.set_up[fixturedef.baseid, fixturedef.argname].append(used)
        return result

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
        self.guard.read(used)
        self.guard.read(imported)
        used.add(imported)
        if missing := (used.files | self.guard.find_unwatched(used)) - found.keys():
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
            item.stash[USED] = Used()  # a traceback opens sources
        if call.when == "teardown":
            used = item.stash[USED]
            for (base, name), by_fixture in self.set_up.items():
                if name in item.fixturenames and item.nodeid.startswith(base):
                    for by_one in by_fixture:
                        self.guard.read(by_one)
                        used.add(by_one)
            report.beyond = self.guard.find_beyond(used, item.stash[SURE])
            inputs = complete(self.snapshot, item.stash[SURE], report.beyond, item.stash[FOUND])
            report.key = _make_key(inputs)
            if item.get_closest_marker("recorded"):
                group, group_inputs = self._find_group(item)
                report.group = tuple(group)
                if group not in self.group_inputs:
                    self.group_inputs[group] = report.group_inputs = group_inputs
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
            if hasattr(report, "group_inputs"):
                self.group_inputs[Group(*report.group)] = report.group_inputs
            if hasattr(report, "group"):
                self.marked[Group(*report.group)][report.nodeid] = report.key, report.beyond
            if report.nodeid not in self.not_passed:
                self.passed[report.nodeid] = report.key

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

    def _find_inputs(self, item: pytest.Function, late: bool = True) -> Inputs:
        module = item.path.relative_to(self.config.rootpath).as_posix()
        params = item.callspec.params if hasattr(item, "callspec") else {}
        inputs = find_inputs(self.snapshot, module, item.originalname, params, item.fixturenames, late)
        return {**inputs, ENVIRONMENT: self.environment}

    def _leave_out_unchanged(self, items: list[pytest.Function]) -> None:
        records = _read(self.records, NOTHING)
        proven, recorded = _read_recorded(self.config.rootpath / RECORDED)
        self.choice = Choice(chosen={}, left_out={}, reasons={}, commits={}, recorded=0, drawn=[], proven=proven)
        known = self._find_known(items, recorded)
        drawn = _draw({item.nodeid: _find_setting(item) for item in items if item.nodeid in known}, self.lot)
        kept, left_out = [], []
        for item in items:
            before = [(key, records["inputs"].get(key, {})) for key in records["passed"].get(item.nodeid, [])]
            key = next((key for key, inputs in before if self._has_still(item, inputs)), None)
            if key or item.nodeid in known - drawn:
                left_out.append(item)
                _count(self.choice["left_out"], item)
                if key:
                    commit = records["commits"].get(key, "")
                    self.choice["commits"][commit] = self.choice["commits"].get(commit, 0) + 1
                else:
                    self.choice["recorded"] += 1
                continue
            kept.append(item)
            _count(self.choice["chosen"], item)
            if item.nodeid in drawn:
                self.choice["drawn"].append(item.nodeid)
            for reason in self._find_differences(item, before[-1][1]) if before else [UNKNOWN]:
                _count(self.choice["reasons"].setdefault(reason, {}), item)
        if left_out:
            self.config.hook.pytest_deselected(items=left_out)
            items[:] = kept

    def _find_known(self, items: list[pytest.Function], recorded: list[Entry]) -> set[str]:
        """Return the tests that the repository's record speaks for: all of a group that it counts, or none."""
        groups: dict[Group, list[pytest.Function]] = defaultdict(list)
        inputs: dict[Group, tuple[Inputs, Inputs]] = {}
        for item in items:
            if item.get_closest_marker("recorded"):
                group, inputs[group] = self._find_group(item)
                groups[group].append(item)
        known: set[str] = set()
        for group, members in groups.items():
            for entry in recorded:
                if entry.file == group.file and entry.key == self._make_recorded_key(*inputs[group], entry.beyond):
                    spoken_for = {item.nodeid for item in members if _function(item.nodeid) not in entry.without}
                    known |= spoken_for if len(spoken_for) <= entry.passed else set()
        return known

    def _find_group(self, item: pytest.Function) -> tuple[Group, tuple[Inputs, Inputs]]:
        """Return a test's group, with the inputs that are sure and all that it can have, without what only this machine has.

        Of a test that is marked `recorded(kernel=True)`, the kernel and its rights are inputs too.
        """
        mark = item.get_closest_marker("recorded")
        machine = describe_kernel() if mark is not None and mark.kwargs.get("kernel") else ""
        portable = {ENVIRONMENT: self.libraries + machine}
        sure, found = item.stash[SURE] | portable, item.stash[FOUND] | portable
        return Group(item.nodeid.partition("::")[0], _make_key(sure), _make_key(found)), (sure, found)

    def _make_recorded_key(self, sure: Inputs, found: Inputs, beyond: Iterable[str]) -> str:
        return _make_key(complete(self.snapshot, sure, beyond, found))[:RECORDED_KEY]

    def _has_still(self, item: pytest.Function, before: Inputs) -> bool:
        """Return whether nothing has changed that was an input of a test when it passed, and nothing is one that was not."""
        now = {**self.snapshot.files, ENVIRONMENT: self.environment}
        return item.stash[SURE].items() <= before.items() and all(now.get(path) == digest for path, digest in before.items())

    def _find_differences(self, item: pytest.Function, before: Inputs) -> list[str]:
        now = {**self.snapshot.files, ENVIRONMENT: self.environment}
        return sorted(path for path in before.keys() | item.stash[SURE].keys() if before.get(path) != now.get(path))

    def _store_recorded(self, unchanged: set[str]) -> None:
        """Replace what the repository's record says of the files whose tests ran by what passed now.

        unchanged: the keys of inputs that are still what they were when the session began.
        """
        path = self.config.rootpath / RECORDED
        ran = {group.file for group in self.marked}
        entries = [
            entry
            for entry in _read_recorded(path)[1]
            if entry.file not in ran and (self.config.rootpath / entry.file).is_file()
        ]
        for group, tests in self.marked.items():
            good = {test for test, (key, _) in tests.items() if test in self.passed and key in unchanged}
            without = {_function(test) for test in tests.keys() - good}
            spoken_for = {test for test in good if _function(test) not in without}
            beyond = self._shorten(group, {name for test in spoken_for for name in tests[test][1]})
            key = self._make_recorded_key(*self.group_inputs[group], beyond)
            if spoken_for:
                entries.append(Entry(group.file, key, len(spoken_for), beyond, tuple(sorted(without))))
        lines = [{"proven": _find_commit(self.config.rootpath)}, *map(_list_filled, sorted(entries))]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")

    def _shorten(self, group: Group, beyond: set[str]) -> tuple[str, ...]:
        """Leave out what the rest leads to."""
        if ANY in beyond:
            return (ANY,)
        sure, found = self.group_inputs[group]
        whole = complete(self.snapshot, sure, beyond, found)
        for name in sorted(beyond, key=lambda name: (name.startswith(ANY), name)):
            if complete(self.snapshot, sure, beyond - {name}, found) == whole:
                beyond = beyond - {name}
        return tuple(sorted(beyond))

    def _store_records(self) -> set[str]:
        """Add what passed to the records, except where a file has changed since the session began; return the other keys."""
        now = Snapshot(self.config.rootpath, codes=self.snapshot.codes)
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

    def _load_sources(self) -> dict[str, Any]:
        """Return what earlier sessions found in files, for a snapshot: to parse all of them takes seconds."""
        stored = _read(self.sources, {})
        if stored.get("by") != describe_reader():
            return {}
        return {"sources": {digest: Source(*fields) for digest, fields in stored["sources"].items()}, "codes": stored["codes"]}

    def _save_sources(self) -> None:
        """Store what the files here have in them, where this session has found anything new."""
        if self._list_digests() - self.loaded:
            present = set(self.snapshot.files.values())
            sources, codes = (
                {digest: known[digest] for digest in known.keys() & present}
                for known in (self.snapshot.sources, self.snapshot.codes)
            )
            _write(self.sources, {"by": describe_reader(), "sources": sources, "codes": codes})

    def _list_digests(self) -> set[str]:
        return self.snapshot.sources.keys() | self.snapshot.codes.keys()


def _function(nodeid: str) -> str:
    """Return the name of a test's function with that of its class."""
    return nodeid.partition("::")[2].partition("[")[0]


def _list_filled(entry: Entry) -> list:
    """Return an entry as it stands in the file: without empty fields at its end."""
    fields = list(entry)
    while not fields[-1]:
        del fields[-1]
    return fields


def _read_recorded(path: Path) -> tuple[str, list[Entry]]:
    """Return the commit of the repository's record, and its entries; nothing if it is damaged."""
    try:
        head, *lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        entries = [Entry(file, str(key), int(count), *map(tuple, lists)) for file, key, count, *lists in lines]
        return head["proven"], entries
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return "", []


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


def _find_setting(item: pytest.Function) -> str:
    """Return what a test needs set up that serves its neighbors as well; its own id if there is nothing.

    That is a fixture of its module with a parameter: it does the same work for one of its tests as for all of them.
    """
    fixtures = item._fixtureinfo.name2fixturedefs
    names = [name for name in item.fixturenames if name in fixtures and fixtures[name][-1].scope == "module"]
    given = item.callspec.indices if hasattr(item, "callspec") else {}
    shared = {name: given[name] for name in names if name in given}
    return f"{item.nodeid.partition('::')[0]} {shared}" if shared else item.nodeid


def _draw(settings: Mapping[str, str], lot: int) -> set[str]:
    """Return the tests of one setting in ONE_IN, and of at least one.

    Whether a test is drawn does not depend on the others, which may change.
    """
    numbers = {each: int(hashlib.sha256(f"{lot} {each}".encode()).hexdigest(), 16) for each in settings.values()}
    drawn = {each for each, number in numbers.items() if number % ONE_IN == 0}
    drawn = drawn or {min(numbers, key=numbers.__getitem__, default="")}
    return {test for test, setting in settings.items() if setting in drawn}


def _make_key(inputs: Inputs) -> str:
    return hashlib.sha256(json.dumps(sorted(inputs.items())).encode()).hexdigest()[:32]


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
    yield f"{_number(chosen)} chosen, {here} left out: no file that they read has changed since they passed here."
    if choice["recorded"]:
        yield f"{_number(choice['recorded'])} passed at {choice['proven'] or 'no commit'}, as {RECORDED} says"
    if choice["drawn"]:
        drawn = Counter(nodeid.partition("::")[0].rpartition("/")[2] for nodeid in choice["drawn"])
        shown = choice["drawn"] if verbose else [f"{count} in {file}" for file, count in drawn.most_common()]
        yield f"{_number(len(choice['drawn']))} drawn at random from those that {RECORDED} lists: {', '.join(shown)}"
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
