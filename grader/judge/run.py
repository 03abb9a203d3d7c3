"""Grade one submission and return its report."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from grader import answers
from grader import submission as intake
from grader.answers import Mistake
from grader.assignment import AssignmentFiles, UsageError
from grader.judge.harness import Harness
from grader.judge.options import GradingOptions as GradingOptions  # whoever calls `grade` gives some
from grader.judge.options import SuiteData
from grader.judge.origin import NotebookOrigin
from grader.machine import describe_lack
from grader.report.model import Cause, Outcome, Report
from grader.report.text import sanitize
from grader.sandbox.reply import LEVELS, MachineFault, Reply, SandboxFault

if TYPE_CHECKING:
    from grader.judge.checks import CollectedChecks
    from grader.judge.failure import CheckFailed
    from grader.judge.judging import CheckRunner
    from grader.judge.student import LastCall
    from grader.submission import SubmittedFile


def grade(
    home: AssignmentFiles,
    submission: Path,
    suites: Sequence[str] = ("visible",),
    options: GradingOptions | None = None,
    require_level: str = "basic",
) -> Report:
    """Return the report of one submission.

    Grader faults are reported as a non-final report.

    Args:
        home: The assignment's files.
        submission: See `grader.submission.read_submission`.
        suites: "visible", "hidden" or both.
        options: Grading options. Here a question can also be selected by the part of its id before a dot, and the questions
            that it needs run too.
        require_level: The lowest isolation level at which to grade.

    Raises:
        UsageError: If there is nothing to grade, or it may not be graded.
    """
    options = options or GradingOptions()
    chosen = select_questions(home, options.select)
    with Grader(home, suites, require_level) as grader:
        return grader.grade(submission, replace(options, select=chosen))


Read = TypeVar("Read")


@dataclass(frozen=True)
class PreparedSubmission:
    """A submission as the sandbox sees it.

    Attributes:
        handed: The submitted file.
        path: The file that is graded.
        looked: The inspection of the file, or the reason why it cannot be graded.
        loaded: The reply to loading it, if that was tried.
        origin: For a notebook, maps lines of the extract to cells.
        cells: For a notebook, the cell of each function, in words.
        remarks: Notes on how it was read.
    """

    handed: SubmittedFile
    path: Path
    looked: Reply
    loaded: Reply | None = None
    origin: NotebookOrigin | None = None
    cells: dict[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the submission for messages."""
        return sanitize(self.handed.name)

    @property
    def refused(self) -> tuple[str, ...]:
        """The parts of the submission that were left out, with reasons."""
        return tuple(f"Left out: {sanitize(why)}" for why in self.handed.attachments.values() if isinstance(why, str))

    @property
    def substituted(self) -> tuple[str, ...]:
        """The names that were substituted during grading, such as cuda."""
        return ("Graded on the CPU: cuda and mps mean the CPU here.",) if self.looked.details.get("accelerator") else ()

    @property
    def fingerprints(self) -> dict[str, str]:
        """A hash of the text of each function and class."""
        return self.looked.details.get("fingerprints") or {}

    @property
    def reach(self) -> dict[str, str]:
        """A hash of each requested function together with all code in the file that it uses."""
        return self.looked.details.get("reach") or {}


class Grader:
    """The checks of one assignment and one warm sandbox, for one submission after another.

    Args:
        require_level: The isolation below which nothing is graded.
        template: A warm Grader of the same checks, and a number; see `ForkedSandbox`.
        harness: A harness that is open already, and stays open; by default, the Grader has its own.

    Attributes:
        seen: The failure of each check of the last submission, or None if it passed, by the check's
            id in the report.
        tried: Likewise, the check's last call of the submission.
        retried: Ids of checks that ran twice because the grader failed the first time.
    """

    def __init__(
        self,
        home: AssignmentFiles,
        suites: Sequence[str] = ("visible",),
        require_level: str = "basic",
        template: tuple[Grader, int] | None = None,
        harness: Harness | None = None,
    ) -> None:
        for suite in suites:
            if not home.checks[suite].is_file() or not home.answers[suite].is_file():
                raise UsageError(f"the {suite} checks of {home.assignment.name} were not found ({home.checks[suite]})")
        # Of an assignment elsewhere, or of these checks before they were edited, pytest would take the modules as they are.
        modules = tuple(f"{suite}.test_{home.assignment.name}" for suite in suites)
        for key in [key for key in sys.modules if key.endswith(modules)]:
            del sys.modules[key]
        self.home = home
        self.suites = tuple(suites)
        self.require_level = require_level
        self.seen: dict[str, CheckFailed | None] = {}
        self.tried: dict[str, LastCall] = {}
        self.retried: list[str] = []
        self._material: SuiteData | None = template[0]._material if template else None
        self._checks: dict[str, CollectedChecks] = dict(template[0]._checks) if template else {}  # by the keyword
        self._lent = harness is not None
        self.harness: Harness = harness or Harness(home, (template[0].harness, template[1]) if template else None)
        self._sandbox = self.harness.sandbox

    def __enter__(self) -> Grader:
        return self

    def __exit__(self, *exception: object) -> None:
        if not self._lent:
            self.harness.__exit__(*exception)

    def start(self) -> None:
        """Start the process of the sandbox, unless it runs, and return at once."""
        self._sandbox.start()

    def warm_up(self, wait: bool = False) -> None:
        """Start importing the libraries that calls need and return at once; an untouched stub never needs them."""
        self._sandbox.warm_up(wait=wait)

    def take(self, submission: Path, load: bool = False) -> PreparedSubmission:
        """Return a submission, copied to where the sandbox can read it.

        It is inspected before any of its code runs.

        Args:
            submission: See `submission.read_submission`.
            load: Whether to also try to load it, if that saves time.

        Raises:
            UsageError: If there is nothing to grade, or it may not be graded.
            SandboxFault: If the sandbox itself fails.
        """
        assignment = self.home.assignment
        allowed = intake.AttachmentRules(assignment.attachments, assignment.limits.attachment_mb << 20)
        handed = intake.read_submission(submission, assignment.submission, allowed, self.harness.parser)
        self._sandbox.start()
        self._material = self._material or self._read()
        self.require_isolation()
        first, beside = handed[0], handed[1:]
        staged = self._notebook(first, load) if first.notebook else self._file(first, load)
        if beside and staged.looked.status == "ok" and self._unwritten(staged.looked) == set(self._material.stub):
            instead = self._notebook(beside[0], load)
            if instead.cells:
                remark = f"Graded: {instead.name}; {staged.name} is still the stub."
                return replace(instead, remarks=(remark, *instead.remarks))
            staged = self._file(first, load)
        return staged

    def require_isolation(self) -> None:
        """Raise UsageError where a submission is isolated less than required."""
        isolation = self._sandbox.isolation
        if LEVELS.index(isolation.level) < LEVELS.index(self.require_level):
            raise UsageError(f"isolation is {isolation.level}, {self.require_level} is required: {isolation.lacks()}")

    @property
    def cpu_seconds(self) -> float:
        """CPU seconds of the sandbox's calls so far; 0 where the sandbox cannot measure them."""
        return self._sandbox.cpu_seconds

    def refused(self, path: Path, why: str) -> PreparedSubmission:
        """Return a placeholder for an unreadable submission: every check of it fails for this reason."""
        self._sandbox.start()
        self._material = self._material or self._read()
        empty = self.harness.place(b"")
        return PreparedSubmission(
            intake.SubmittedFile(str(path), b"", False, None), empty, Reply("unreadable", details={"message": why})
        )

    def _file(self, handed: SubmittedFile, load: bool) -> PreparedSubmission:
        path = self.harness.place(handed.content)
        return PreparedSubmission(handed, path, *self._look(path, load))

    def _look(self, path: Path, load: bool) -> tuple[Reply, Reply | None]:
        """Return the inspection of a file and, if requested and faster, the reply to loading it."""
        looked, loaded = self._inspect(path, load)
        self.harness.keep_bytecode(path, looked.details.get("bytecode"))
        return looked, loaded

    def _inspect(self, path: Path, load: bool) -> tuple[Reply, Reply | None]:
        if not (load and self._sandbox.warm):
            # The server reads the file before it imports torch: an untouched stub and a syntax error need no torch at all.
            return self._sandbox.inspect(path, self._functions()), None
        seconds = self.home.assignment.limits.seconds
        return self._sandbox.open(path, self._functions(), lambda looked: bool(self._written(looked)), seconds)

    def _notebook(self, handed: SubmittedFile, load: bool) -> PreparedSubmission:
        """Return the submission made from a notebook's definitions; on failure its `looked` gives the reason."""
        names = self._functions()
        notebook = self.harness.place(handed.content, "notebook")
        reply = self._sandbox.extract(notebook, names, Path(self.home.assignment.submission).stem)
        notebook.unlink()
        staged = PreparedSubmission(handed, self.harness.place(b""), reply)
        if reply.status != "ok":
            return staged
        facts = reply.facts
        remarks = tuple(map(sanitize, facts["left out"]))
        if not facts["cells"]:
            defined = ", ".join(facts["defined"]) or "no function"
            text = f"your notebook defines none of {', '.join(names)}; it defines {defined}"
            return replace(staged, looked=Reply("unreadable", details={"message": "\n".join([text, *remarks])}))
        self.harness.place(facts["source"].tobytes())
        looked, loaded = self._look(staged.path, load)
        return replace(
            staged,
            looked=looked,
            loaded=loaded,
            origin=NotebookOrigin([tuple(entry) for entry in facts["lines"].tolist()]),
            cells={key: sanitize(words) for key, words in facts["cells"].items()},
            remarks=remarks,
        )

    def _functions(self) -> list[str]:
        """Return the names that a submission must define."""
        asked = [question.function for question in self.home.assignment.questions]
        return list(dict.fromkeys([*asked, *self._known.stub]))

    @property
    def interrupted(self) -> threading.Event:
        """While this event is set, calls stop and no check starts; a report made then is invalid."""
        return self._sandbox.interrupted

    def grade(self, submission: Path | PreparedSubmission, options: GradingOptions | Collection[str] | None = None) -> Report:
        """Return the report of one submission; see the function `grade`.

        Args:
            options: How it is graded; of a set, what to select.
        """
        options = options if isinstance(options, GradingOptions) else GradingOptions(options)
        assignment = self.home.assignment
        began = time.monotonic()
        report = Report(
            assignment=assignment.name,
            title=assignment.title,
            suite_version=assignment.version,
            suites=self.suites,
            hints=assignment.hints,
            isolation="none",
            isolation_layers=(),
        )
        self.seen, self.tried, self.retried = {}, {}, []
        try:
            staged = submission if isinstance(submission, PreparedSubmission) else self.take(submission, load=True)
            report.submission, report.cells = staged.name, staged.cells
            report.remarks = (*staged.remarks, *staged.substituted, *staged.refused)
            if lack := describe_lack(assignment.limits.memory_mb):
                report.remarks += (lack,)
            isolation = self._sandbox.isolation
            report.isolation, report.isolation_layers = isolation.level, isolation.layers
            report.isolation_open = isolation.open
            judge = self._judge(report, staged, options)
        except UsageError:
            raise
        except SandboxFault as error:
            report.stop(Cause.MACHINE if isinstance(error, MachineFault) else Cause.GRADER, str(error))
        except Exception as error:
            report.stop(Cause.GRADER, f"{type(error).__name__}: {error}")
        else:
            judge.run()
            report.summarize(assignment)
            self.seen = {check: failure for seen in judge.seen.values() for check, failure in seen.items()}
            self.tried, self.retried = judge.tried, judge.retried
        report.seconds = round(time.monotonic() - began, 3)
        report.final = all(check.outcome is not Outcome.GRADER_ERROR for check in report.checks) and not report.cause
        if options.changed is not None:
            options.changed(report)
        return report

    def _read(self) -> SuiteData:
        """Return cases, answers and mistakes, read while the server inspects the submission."""
        name = self.home.assignment.name
        mistakes: dict[str, Mistake] = {}
        found = {suite: _whole(answers.read_answers, self.home.answers[suite], name) for suite in self.suites}
        for suite in self.suites:
            for key, mistake in _whole(answers.read_mistakes, self.home.mistakes[suite], name).items():
                known = mistakes.get(key, replace(mistake, shows={}, pairs={}))
                mistakes[key] = replace(known, shows=known.shows | _name_checks(suite, mistake.shows), pairs=dict(known.pairs))
                for other, differs in mistake.pairs.items():
                    mistakes[key].pairs[other] = known.pairs.get(other, {}) | _name_checks(suite, differs)
        stub = next(iter(found.values())).unwritten()
        cases = {suite: content.cases for suite, content in found.items()}
        return SuiteData(cases, stub, list(mistakes.values()), answers.list_recorded_pairs(mistakes))

    @property
    def _known(self) -> SuiteData:
        """Cases, answers and mistakes, read before the submission is inspected."""
        assert self._material is not None
        return self._material

    def read_suites(self) -> None:
        """Read checks, cases, answers and mistakes now, so that copies of this process share them."""
        self._material = self._material or self._read()
        self._collected("")

    @contextlib.contextmanager
    def with_case(self, changed: tuple[str, str, dict[str, Any]] | None) -> Iterator[None]:
        """Give a case other inputs but the same stored answer, so that a proof can ask whether its checks notice.

        Args:
            changed: The suite, the case's name, and the inputs; None changes nothing.
        """
        self._material = self._material or self._read()
        if changed is None:
            yield
            return
        suite, name, inputs = changed
        cases = self._material.cases[suite]
        before = cases[name]
        cases[name] = replace(before, inputs=inputs)
        try:
            yield
        finally:
            cases[name] = before

    def _collected(self, keyword: str) -> CollectedChecks:
        from grader.judge.checks import CollectedChecks

        if keyword not in self._checks:
            self._checks[keyword] = CollectedChecks(self.home, self.suites, keyword)
        return self._checks[keyword]

    def _judge(self, report: Report, staged: PreparedSubmission, options: GradingOptions) -> CheckRunner:
        """Return the judge of this submission.

        Raises:
            SandboxFault: If the sandbox itself fails.
            UsageError: If the keyword is not valid.
        """
        assignment, looked = self.home.assignment, staged.looked
        unwritten = self._unwritten(looked)
        needed = self._written(looked)
        if needed and looked.status == "ok":
            self._sandbox.warm_up(wait=False)

        # Imported and collected here, while the server imports torch.
        from grader.judge.failure import explain_failure
        from grader.judge.judging import CheckRunner, Setting, select_checks
        from grader.judge.student import LoadedSubmission
        from grader.judge.variables import select_globals

        checks = self._collected(options.keyword)

        if needed and options.changed is not None:
            # Before anything of the submission runs: whatever that does to this process, there is a report.
            report.checks = [result for _, result in select_checks(checks, options)]
            report.summarize(assignment)
            options.changed(report)
        broken = None
        refused: tuple[str, ...] = ()
        if needed:
            readable = looked.status not in ("syntax", "unreadable")
            reply = (staged.loaded or self._sandbox.load(staged.path, assignment.limits.seconds)) if readable else looked
            refused = reply.refused_calls
            if reply.status != "ok":
                first, allowed = assignment.questions[0], assignment.limits
                broken = explain_failure(reply, first, allowed.seconds, allowed.memory_mb, reply.output, staged.origin)
        attachments = {name: staged.handed.attachments.get(name) for name in assignment.attachments}
        read = select_globals(looked.details.get("globals"), self.home.drivers)
        submission = LoadedSubmission(staged.path, staged.origin, attachments, unwritten, broken, refused, read)
        return CheckRunner(Setting(assignment, checks, self._sandbox, self._known), submission, report, options)

    def _written(self, looked: Reply) -> set[str]:
        """Return the functions of questions that differ from the stub."""
        return {question.function for question in self.home.assignment.questions} - self._unwritten(looked)

    def _unwritten(self, looked: Reply) -> set[str]:
        """Return the functions that still equal the stub."""
        now = looked.details.get("fingerprints") or {}
        return {name for name, unwritten in self._known.stub.items() if now.get(name) in unwritten}


def select_questions(home: AssignmentFiles, select: Collection[str] | None) -> set[str] | None:
    """Return the ids of the selected questions and of those that they need; None for all."""
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


def _whole(read: Callable[[Path, str], Read], path: Path, name: str) -> Read:
    """Return the result of `read(path, name)`.

    Raises:
        UsageError: If the file is damaged.
    """
    try:
        return read(path, name)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{path} is damaged ({type(error).__name__}: {error}); unpack the assignment again") from error


def _name_checks(suite: str, shows: dict[str, Any]) -> dict[str, Any]:
    """Return the evidence of a suite's checks, by the check ids of reports."""
    return {f"{suite}/{check}": saw for check, saw in shows.items()}
