"""The visible checks in plain pytest, and in the test panels of VS Code and PyCharm. Their points do not count.

pytest collects the checks like other tests: names, `-k`, `-x`, `--lf`, `-n` and parameters work as usual. But it does not run
the collected functions. The judge grades the submission in its sandbox, as `grade.py` does, and each function reports the
result of its check. `tests/visible/conftest.py` loads this plugin; the judge collects the same files without conftest.py.
"""

from __future__ import annotations

import bdb
import contextlib
import shutil
import sys
import textwrap
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from grader.console import explain_missing_module
from grader.report import layout

if TYPE_CHECKING:
    from grader.desk.visible import VisibleChecks
    from grader.report.model import CheckResult

NAME = "grader-visible-checks"
MOST_CHARACTERS = 200  # of a failure in the short summary
RESULT = pytest.StashKey["CheckResult"]()
Status = tuple[str, str, "str | tuple[str, dict[str, bool]]"]


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin, only once, even if several conftest.py ask for it."""
    if not config.pluginmanager.has_plugin(NAME):
        layout.make_legible(sys.__stdout__)  # pytest writes a line that cp1252 lacks a mark of as one long escape
        config.addinivalue_line("markers", "points(number, question): a check of a question, worth so many points")
        config.pluginmanager.register(VisiblePlugin(config), NAME)


@pytest.fixture
def student() -> None:
    """A placeholder: the judge has the submission, and runs the check."""


@pytest.fixture
def kit() -> None:
    """A placeholder, like `student`."""


def is_debugger_attached() -> bool:
    """Return whether a debugger such as VS Code's or PyCharm's watches this process. Coverage tools do not count."""
    pydevd = sys.modules.get("pydevd")
    if pydevd is not None and pydevd.GetGlobalDebugger() is not None:
        return True
    monitoring = getattr(sys, "monitoring", None)  # since Python 3.12
    if monitoring is not None and monitoring.get_tool(monitoring.DEBUGGER_ID):
        return True
    trace = sys.gettrace()
    return trace is not None and "coverage" not in type(getattr(trace, "__self__", trace)).__module__


class VisiblePlugin:
    """Reports the judge's result for each visible check that pytest has collected.

    Attributes:
        suites: The visible checks of each assignment, by their file; None for a file without checks.
        results: The results of all checks so far, by file and id; with pytest-xdist, also those of other processes.
        told: For each message, the first check that failed with it.
        width: The number of columns of the terminal; None if this is not a terminal.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.suites: dict[Path, VisibleChecks | None] = {}
        self.results: dict[Path, dict[str, CheckResult]] = {}
        self.told: dict[str, str] = {}
        self.width: int | None = None

    def find_suite(self, path: Path) -> VisibleChecks | None:
        """Return the visible checks in this file, or None if it has none."""
        if path.parent.name != "visible":
            return None
        if path not in self.suites:
            try:
                from grader.assignment import UsageError
                from grader.desk.visible import VisibleChecks, find_assignment
            except ModuleNotFoundError as error:
                raise pytest.UsageError(explain_missing_module(error)) from error
            try:
                home = find_assignment(path)
            except UsageError as error:
                raise pytest.UsageError(str(error)) from error
            self.suites[path] = VisibleChecks(home, self._wants_debugger()) if home else None
        return self.suites[path]

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        suite = self.find_suite(collector.path) if isinstance(collector, (pytest.Module, pytest.Class)) else None
        if suite is None:
            return (yield)
        from grader.judge.checks import SuiteError, importable_views

        try:
            with importable_views(suite.home.views):
                report = yield
        except SuiteError as error:
            raise pytest.UsageError(str(error)) from error
        for node in report.result or []:
            mark = node.get_closest_marker("points")
            if isinstance(node, pytest.Function) and mark is not None:
                suite.known[node.name] = mark.kwargs["question"]
                node.extra_keyword_matches.add(mark.kwargs["question"])  # for -k ReplayBuffer.store
        return report

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        reporter = self.config.pluginmanager.getplugin("terminalreporter")
        if reporter is not None and reporter.isatty:  # asked now: while a test runs, pytest captures its output
            self.width = self.config.get_terminal_writer().fullwidth
        for item in session.items:
            if suite := self.find_suite(item.path):
                suite.asked.add(item.name)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        suite = self.find_suite(pyfuncitem.path)
        if suite is None or pyfuncitem.name not in suite.known:
            return None
        from grader.desk.visible import NotGraded
        from grader.report.model import Outcome

        for other in self.suites.values():
            if other is not None and other is not suite:
                other.close()  # a warm server takes much memory, so only one exists at a time
        try:
            result = pyfuncitem.stash[RESULT] = suite.result(pyfuncitem.name)
            self._debug(suite, pyfuncitem, result)
        except NotGraded as error:
            pytest.fail(str(error), pytrace=False)
        if result.unwritten:
            pytest.skip(f"{result.question} is not started: {result.message.removeprefix('not written yet: ')}")
        if result.outcome is Outcome.NOT_RUN:
            pytest.skip(result.message)
        if result.outcome is not Outcome.PASSED:
            self._fail(suite, result)
        return True

    def _fail(self, suite: VisibleChecks, result: CheckResult) -> None:
        """Raise an exception with the report's text on this check; a short one, if an earlier check had the same text."""
        text = suite.explain(result)
        first = self.told.setdefault(result.message, result.id)
        if first != result.id:
            text = f"{text.partition(chr(10))[0]}\n    as {first.rpartition('/')[2]}: {result.message.partition(chr(10))[0]}"
        text = text if self.width is None else layout.wrap_lines(text, self.width)
        # VS Code recognizes a failure by this name; pytest's own --pdb would show nothing useful, and ignores BdbQuit.
        raise (bdb.BdbQuit if self._wants_debugger() else AssertionError)(text)

    def _wants_debugger(self) -> bool:
        """Return whether pytest was started with --pdb or --trace."""
        option = self.config.option
        return bool(getattr(option, "usepdb", False) or getattr(option, "trace", False))

    def _debug(self, suite: VisibleChecks, item: pytest.Function, result: CheckResult) -> None:
        """Run the last call of a check in this process, if a debugger is wanted or attached."""
        from grader.desk.look import NothingToInspect
        from grader.report.model import Outcome

        wanted = self._wants_debugger() and (result.outcome is not Outcome.PASSED or self.config.option.trace)
        seen = suite.look(item.name) if wanted or is_debugger_attached() else None
        if seen is None:
            return
        if self.config.getoption("maxfail") != 1 or result.outcome is Outcome.PASSED:
            suite.grade_all()  # first: after this, nothing depends on this process any more
        from grader.desk.debug import debug, run_here

        try:
            if not wanted:
                run_here(suite.home, seen)
                return
            with self._terminal_for_debugger():
                left = debug(suite.home, [seen])
        except NothingToInspect as nothing:
            print(nothing)
        else:
            if left:
                self.results.setdefault(item.path, {})[result.id] = result  # of a test that is not reported any more
                pytest.exit("left the debugger")

    @contextlib.contextmanager
    def _terminal_for_debugger(self) -> Iterator[None]:
        """Release keyboard and screen, which pytest captures, for a while."""
        capture = self.config.pluginmanager.getplugin("capturemanager")
        if capture is None:
            yield
            return
        capture.suspend(in_=True)
        try:
            print()
            yield
        finally:
            capture.resume()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        result = item.stash.get(RESULT, None)
        if result is None or call.when != "call":
            return report
        report.duration = result.seconds  # not the time of the whole question
        report.grader_result = str(item.path), result.model_dump_json()  # type: ignore[attr-defined]  # xdist passes it on
        suite = self.find_suite(item.path)
        if report.failed and call.excinfo is not None and suite is not None:
            shown = report.longrepr = call.excinfo.getrepr(style="value")
            if shown.reprcrash is not None:
                shown.reprcrash.path, shown.reprcrash.lineno = str(item.path), (item.location[1] or 0) + 1
                shown.reprcrash.message = textwrap.shorten(suite.said(result), MOST_CHARACTERS, placeholder=" ...")
        elif report.skipped and isinstance(report.longrepr, tuple):
            # Without a line number, -rs shows the same reason only once.
            report.longrepr = (str(item.path), None, report.longrepr[2].removeprefix("Skipped: "))  # type: ignore[assignment]
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if (known := _read_result(report)) is not None:
            path, result = known
            self.results.setdefault(path, {})[result.id] = result

    @pytest.hookimpl(wrapper=True)  # other plugins, such as VS Code's, wait for this hook, and the first result ends it
    def pytest_report_teststatus(self, report: pytest.TestReport) -> Generator[None, Status | None, Status | None]:
        status = yield
        known = _read_result(report)
        if status is None or known is None or status[2] != "PASSED":  # what was lost needs its line for the reason
            return status
        from grader.report.terminal import describe_points

        return status[0], status[1], f"PASSED ({describe_points(known[1])})"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for path, results in self.results.items():
            suite = self.find_suite(path)
            if suite is None:
                continue
            from grader.report import terminal

            report = suite.make_report(results.values())
            width = max(len(question.id) for question in report.questions)
            lines = []
            for question in report.questions:
                mark, word = terminal.describe_outcome(report, question)
                lines.append(f"{mark} {question.id:<{width}} {terminal.describe_score(question):>7}  {word}")
            if unfinished := terminal.describe_unfinished(report, terminal.list_unfinished(report)):
                lines += ["", terminal.TO_WRITE, *unfinished]
            if untouched := terminal.describe_untouched(report):
                lines += ["", terminal.NOT_STARTED, *untouched]
            lines += ["", *terminal.make_closing_lines(report)]
            if suite.ignores_breakpoints:
                lines.append(
                    "breakpoint() and pdb stop only in checks that fail; to stop in others as well: pytest --trace -k NAME"
                )
            terminalreporter.section(report.title)
            terminalreporter.line(layout.wrap_lines("\n".join(lines), shutil.get_terminal_size().columns))

    def pytest_sessionfinish(self) -> None:
        for suite in self.suites.values():
            if suite is not None:
                suite.close()


def _read_result(report: pytest.TestReport) -> tuple[Path, CheckResult] | None:
    """Return the file and the result of the check that this is the report of, if it is one of a check."""
    kept = getattr(report, "grader_result", None)
    if kept is None:
        return None
    from grader.report.model import CheckResult

    return Path(kept[0]), CheckResult.model_validate_json(kept[1])
