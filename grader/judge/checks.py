"""The checks of an assignment as pytest collects them: once, for one submission after another."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest
from _pytest.runner import runtestprotocol

from grader.assignment import AssignmentFiles, UsageError
from grader.report.model import CheckResult

if TYPE_CHECKING:
    from grader.judge.student import RunContext, SubmissionUnderTest

# These pytest plugins cost time and are not needed here.
NOT_NEEDED = (
    *("cacheprovider", "terminal", "unraisableexception", "threadexception", "faulthandler", "logging", "warnings"),
    *("doctest", "junitxml", "pastebin", "setuponly", "setupplan", "stepwise", "recwarn", "unittest", "legacypath"),
    *("debugging", "subtests"),
)


class SuiteError(Exception):
    """The checks contradict assignment.toml."""


class SubmissionJudge(Protocol):
    """The judge of one submission, as checks see it."""

    shared: RunContext

    def caller(self, item: pytest.Function, loaded: bool) -> SubmissionUnderTest:
        """Return the object that a check calls: the submission, or the drivers without one."""

    def ended(self, item: pytest.Item, call: pytest.CallInfo[Any]) -> None:
        """Record how one phase of a check ended."""


class CollectedChecks:
    """The checks of some suites, and the pytest plugin that collects them and provides their fixtures.

    Args:
        home: The assignment's files.
        suites: The names of the suites.
        keyword: An expression as for pytest's -k. Raises UsageError when it is not valid, or selects no check.

    Attributes:
        declared: Each check, with its result as a report shows it before the run; in the order of reports.
        errors: Faults of the suites, for which no submission is responsible.
    """

    _config: pytest.Config
    _judge: SubmissionJudge  # of the submission whose turn it is

    def __init__(self, home: AssignmentFiles, suites: Sequence[str], keyword: str = "") -> None:
        self.assignment = home.assignment
        self.suites = suites
        self.declared: list[tuple[pytest.Function, CheckResult]] = []
        self.errors: list[str] = []
        files = [str(home.checks[suite]) for suite in suites]
        arguments = ["--assert=plain", "--import-mode=importlib"]
        # Nothing is captured: a check prints nothing, and watch mode draws at the same time.
        for plugin in ("capture", *NOT_NEEDED):
            arguments += ["-p", f"no:{plugin}"]
        arguments += ["-c", str(Path(__file__).with_name("checks.ini")), "--rootdir", str(home.root), "--noconftest"]
        arguments += ["-k", keyword] if keyword else []
        try:
            with _only_our_plugins(), importable_views(home.views):
                code = pytest.main([*arguments, *files], plugins=[self])
        except SuiteError as error:
            self.errors.append(str(error))
            return
        if code == pytest.ExitCode.INTERRUPTED:
            raise KeyboardInterrupt
        if code == pytest.ExitCode.USAGE_ERROR and keyword:
            raise UsageError(f"-k {keyword!r} is not a valid expression; use a word, or words joined by and/or/not")
        if code == pytest.ExitCode.NO_TESTS_COLLECTED and keyword and not self.errors:
            raise UsageError(f"no check matches -k {keyword!r}; checks are named after the tests in {files[0]}")
        if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) and not self.errors:
            self.errors.append(f"pytest ended with exit code {code}")
        if not self.errors:
            self._config._do_configure()  # pytest has cleared up what checks may use, as for tmp_path

    def run(self, item: pytest.Function, judge: SubmissionJudge) -> None:
        """Run one check of a submission and report its outcome to the judge."""
        self._judge = judge
        try:
            # Whether another one is run at all is not known yet, so nothing is left set up for it.
            runtestprotocol(item, log=False, nextitem=None)
        finally:  # also after what pytest lets through, as Ctrl-C: nothing of this submission may be met by the next one
            item.session._setupstate.teardown_exact(None)
            item._initrequest()

    # Collection

    def pytest_configure(self, config: pytest.Config) -> None:
        self._config = config
        config.option.tbstyle = "native"  # nobody sees pytest's own account of a failure, which takes long to make
        config.addinivalue_line("markers", "points(number, question): a check of a question, with its points")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Function]) -> None:
        # Functions alone: no plugin is left that finds anything else in a file of Python.
        order = {question.id: index for index, question in enumerate(self.assignment.questions)}
        if any(item.originalname == f"test_{config.option.keyword}" for item in items):
            # A whole name means that check alone, and not also those whose names contain it.
            items[:] = [item for item in items if item.originalname == f"test_{config.option.keyword}"]
        try:
            declared = [(item, self._declare(item, order)) for item in items]
            if not config.option.keyword:
                self._require_totals([result for _, result in declared])
        except SuiteError as error:
            self.errors.append(str(error))
        else:
            self.declared = sorted(declared, key=lambda entry: order[entry[1].question])

    def _declare(self, item: pytest.Function, order: dict[str, int]) -> CheckResult:
        mark = item.get_closest_marker("points")
        suite = item.path.parent.name
        where = f"{suite}/{item.name}"
        if mark is None:
            raise SuiteError(f"{where}: a check needs @points(number, question=...)")
        question = mark.kwargs["question"]
        if question not in order:
            raise SuiteError(f"{where}: there is no question {question!r} in assignment.toml")
        title = (item.function.__doc__ or "").strip().splitlines()
        if not title:
            raise SuiteError(f"{where}: a check needs a docstring, which is the line that students read")
        return CheckResult(id=where, question=question, suite=suite, title=title[0], max_points=mark.args[0])

    def _require_totals(self, results: list[CheckResult]) -> None:
        for question in self.assignment.questions:
            for suite in self.suites:
                checks = [result for result in results if (result.question, result.suite) == (question.id, suite)]
                found, stated = sum(check.max_points for check in checks), getattr(question.points, suite)
                if found != stated:
                    raise SuiteError(
                        f"{question.id}: the {suite} checks are worth {found:g} points, assignment.toml says {stated:g}"
                    )

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.errors.append(str(report.longrepr))

    def pytest_internalerror(self, excrepr: object) -> bool:
        self.errors.append(str(excrepr))
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> bool:
        return True  # a Judge runs them, as often as there are submissions

    # While a check runs

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[Any]) -> Iterator[None]:
        self._judge.shared.patience.end()
        yield
        self._judge.ended(item, call)

    @pytest.fixture
    def student(self, request: pytest.FixtureRequest) -> SubmissionUnderTest:
        """The submission."""
        return self._judge.caller(request.node, loaded=True)

    @pytest.fixture
    def kit(self, request: pytest.FixtureRequest) -> SubmissionUnderTest:
        """The same drivers in a process without student code, for what a student must not be able to fake."""
        return self._judge.caller(request.node, loaded=False)


@contextlib.contextmanager
def importable_views(views: Path) -> Iterator[None]:
    """Let the suites import the assignment's own views, if any, as `views`, separate from those of other assignments.

    Raises:
        SuiteError: If they cannot be imported.
    """
    if not views.is_file():
        yield
        return
    spec = importlib.util.spec_from_file_location("views", views)
    assert spec is not None  # there is a loader for every file that ends in .py
    assert spec.loader is not None
    before, module = sys.modules.get("views"), importlib.util.module_from_spec(spec)
    sys.modules["views"] = module
    try:
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            raise SuiteError(f"tests/views/{views.name} cannot be imported: {type(error).__name__}: {error}") from error
        yield
    finally:
        del sys.modules["views"]
        if before is not None:
            sys.modules["views"] = before


@contextlib.contextmanager
def _only_our_plugins() -> Iterator[None]:
    """Ignore pytest plugins and options from the environment: they cost time and could change which checks run."""
    ours = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "", "PYTEST_PLUGINS": ""}
    before = {name: os.environ.get(name) for name in ours}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
