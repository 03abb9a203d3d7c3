"""One submission in, one report out."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from grader import answers
from grader.assignment import Home, UsageError
from grader.report.model import Outcome, Report
from grader.sandbox import open_sandbox
from grader.sandbox.reply import SandboxFault
from grader.submission import stage

if TYPE_CHECKING:
    from grader.sandbox import Sandbox


def grade(
    home: Home,
    submission: Path,
    suites: Sequence[str] = ("visible",),
    select: Sequence[str] = (),
    keyword: str = "",
    changed: Callable[[Report], None] = lambda _: None,
) -> Report:
    """Return the report of one submission.

    submission: the file or its folder. suites: "visible", "hidden" or both. select: question ids, or the part before a dot;
    what they need is run as well. keyword: as pytest's -k. changed: called with the report before the first check and after
    each one. Raises UsageError when there is nothing to grade; a fault of the grader is told by a report that is not final.
    """
    assignment = home.assignment
    chosen = selected(home, select)
    for suite in suites:
        if not home.checks[suite].is_file() or not home.answers[suite].is_file():
            raise UsageError(f"the {suite} checks of {assignment.name} are not here ({home.checks[suite]})")
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="grader-"))
    report = Report(
        assignment=assignment.name,
        title=assignment.title,
        suite_version=assignment.version,
        suites=tuple(suites),
        isolation="none",
        isolation_layers=(),
    )
    try:
        staged = stage(submission, assignment.submission, folder / "student")
        support = folder / "support"
        support.mkdir()
        for path in home.support():
            shutil.copyfile(path, support / path.name)
        shutil.copyfile(home.drivers, folder / "drivers.py")
        with open_sandbox(folder / "drivers.py", [staged.parent, support], assignment.limits.memory_mb) as sandbox:
            sandbox.start()
            report.isolation, report.isolation_layers = sandbox.level, sandbox.layers
            _judge(home, report, sandbox, staged, suites, chosen, keyword, changed)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    report.seconds = round(time.monotonic() - began, 3)
    report.final = all(check.outcome is not Outcome.GRADER_ERROR for check in report.checks) and not report.note
    changed(report)
    return report


def selected(home: Home, select: Sequence[str]) -> set[str] | None:
    """Return the ids of the questions asked for and of those they need; None for all."""
    if not select:
        return None
    questions = home.assignment.questions
    chosen: set[str] = set()
    for name in select:
        found = [question for question in questions if name in (question.id, question.id.partition(".")[0])]
        if not found:
            raise UsageError(f"there is no question {name!r}; there are: {', '.join(entry.id for entry in questions)}")
        for question in found:
            chosen |= {question.id, *question.needs}
    return chosen


def _judge(
    home: Home,
    report: Report,
    sandbox: Sandbox,
    staged: Path,
    suites: Sequence[str],
    chosen: set[str] | None,
    keyword: str,
    changed: Callable[[Report], None],
) -> None:
    """Look at the submission, then run pytest over the checks. A fault of the grader ends in the report's note."""
    try:
        # The server reads the file before it imports torch: an untouched stub and a syntax error need no torch at all.
        looked = sandbox.inspect(staged)
        cases = {suite: answers.read(home.answers[suite], report.assignment) for suite in suites}
        stub = next(iter(cases.values())).stub
        now = looked.details.get("fingerprints") or {}
        unwritten = {name for name, fingerprint in stub.items() if now.get(name) == fingerprint}
        needed = {question.function for question in home.assignment.questions} - unwritten
        if needed and looked.status != "syntax":
            sandbox.warm_up(wait=False)

        # Imported here, while the server imports torch.
        import pytest

        from grader.judge.plugin import Judge
        from grader.judge.student import failure

        broken = None
        if needed:
            reply = looked if looked.status == "syntax" else sandbox.load(staged, home.assignment.limits.seconds)
            if reply.status != "ok":
                first, allowed = home.assignment.questions[0], home.assignment.limits
                broken = failure(reply, first, allowed.seconds, allowed.memory_mb, reply.output)
        judge = Judge(
            home.assignment,
            report,
            sandbox,
            staged,
            {suite: content.cases for suite, content in cases.items()},
            unwritten,
            broken,
            chosen,
            changed,
        )
    except SandboxFault as error:
        report.note = f"The grader failed, not the submission: {error}"
        return
    files = [str(home.checks[suite]) for suite in suites]
    arguments = ["-p", "no:cacheprovider", "-p", "no:terminal", "--assert=plain", "--import-mode=importlib"]
    arguments += ["-c", str(Path(__file__).with_name("checks.ini")), "--rootdir", str(home.root), "--noconftest"]
    arguments += ["-k", keyword] if keyword else []
    with _only_our_plugins():
        code = pytest.main([*arguments, *files], plugins=[judge])
    if code == pytest.ExitCode.INTERRUPTED and not judge.errors:
        raise KeyboardInterrupt
    if code == pytest.ExitCode.USAGE_ERROR and keyword:
        raise UsageError(f"-k {keyword!r} is no pattern; use one word, or several with `and`, `or`, `not` between them")
    if code == pytest.ExitCode.NO_TESTS_COLLECTED and keyword and not judge.errors:
        raise UsageError(f"no check fits -k {keyword!r}; names of checks are those of the tests in {home.checks[suites[0]]}")
    if judge.errors or code not in (0, 1, 5):
        reason = "; ".join(judge.errors) or f"pytest ended with exit code {code}"
        report.note = f"The checks themselves must be corrected: {reason}"


@contextlib.contextmanager
def _only_our_plugins() -> Iterator[None]:
    """Keep plugins and options of the environment out of the judge: they cost time and could change what is run."""
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
