"""What a check holds in its hands: `student` calls drivers beside the submission and compares facts with answers."""

from __future__ import annotations

import contextlib
import copy
import difflib
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np

from grader.answers import Case
from grader.assignment import Assignment, Question
from grader.judge.compare import SHOWN_INPUTS, difference, drop_large_arrays, format_value, is_number
from grader.judge.evidence import Evidence, WrongAnswer
from grader.judge.origin import NotebookOrigin
from grader.judge.views import Stored
from grader.report.model import LeaderboardEntry, Outcome
from grader.sandbox.limits import MAX_FILE_BYTES, MAX_OPEN_FILES, MAX_SCRATCH_BYTES, MAX_SCRATCH_FILES, MAX_THREADS
from grader.sandbox.reply import LEFT_OUT, Part, Reply

if TYPE_CHECKING:
    from grader.sandbox import Sandbox

LEAST_SECONDS = 1.0
MAX_CURVES, MAX_POINTS = 8, 500  # of a check, and of a curve
MAX_VALUE = 1e12  # nothing beyond can be drawn, nor is it the result of anything
MAX_ENTRIES = 4  # of a check on the leaderboard
MAX_KEPT, MAX_KEPT_BYTES = 200, 1 << 18  # replies of a run, and of facts in one
NO_KEYBOARD = {
    "BdbQuit": "there is no keyboard here; remove breakpoint() and pdb",
    "EOFError": "there is no keyboard here; remove input()",
    "SystemExit": "your code ended the program, with exit() or the like",
}

LIMITS = {
    "processes": "A submission may not start processes: use num_workers=0, no subprocess, multiprocessing or torch.compile.",
    "network": "A submission may not use the network.",
    "files": "A submission may write only into the folder in which it runs (a plain name like log.txt, or tempfile), and read "
    "only what it was given.",
    "forbidden": "A submission may not start processes, use the network, or touch files outside the folder in which it runs.",
    "disk": f"A submission may keep {MAX_SCRATCH_BYTES >> 20} MB in {MAX_SCRATCH_FILES:,} files; is it saving at every step?",
    "file size": f"A file, and all that is printed, may have {MAX_FILE_BYTES >> 20} MB; is it writing at every step?",
    "open files": f"A submission may have {MAX_OPEN_FILES} files open; are they closed after use?",
    "threads": f"A submission may run {MAX_THREADS} threads; is it starting one at every step?",
}


class CheckFailed(AssertionError):
    """A check that did not pass, with the outcome and the message for the student.

    Checks may also simply `assert`.

    Attributes:
        evidence: The facts that the check saw in the submission; by default, its message.
    """

    def __init__(
        self,
        outcome: Outcome,
        message: str,
        printed: str = "",
        unwritten: bool = False,
        evidence: Evidence | None = None,
    ) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.message = message
        self.printed = printed
        self.unwritten = unwritten
        self.evidence = evidence or Evidence({"said": message})


@dataclass(frozen=True)
class Comparison:
    """The two sides of a comparison, after the check's view, and its tolerances.

    Attributes:
        forms: The right value, in each form that is accepted.
        got: The submission's value, without its large arrays (see `compare.drop_large_arrays`).
    """

    forms: tuple[Any, ...]
    got: Any
    rtol: float
    atol: float
    exact_dtype: bool


@dataclass(frozen=True)
class LastCall:
    """The last call that a check made of the submission, for a closer look by the student (`grader.desk`); not in any report.

    Attributes:
        driver: The name of the driver.
        inputs: Its arguments.
        seed: The seed of the call.
        case: The stored case with these inputs, if there is one.
        compared: The two sides of the comparison with the stored answer, if they were compared.
        said: The message of the failure, if the check has failed at this call.
    """

    driver: str
    inputs: dict[str, Any]
    seed: int
    case: Case | None = None
    compared: Comparison | None = None
    said: str = ""


class ReadingTimeout(Exception):
    """The judge has looked at what a call returned for too long."""


class ReadingBudget:
    """Limits the time and memory with which the judge reads the results of calls.

    These may be made to keep the judge busy. The limit requires SIGALRM (not on Windows) and the
    main thread.

    Attributes:
        code: The code of the check that reads; nothing is raised while it is not running.
    """

    def __init__(self, seconds: float = 10.0, memory_mb: int = 512) -> None:
        self.seconds = seconds
        self.memory_mb = memory_mb
        self.code: CodeType | None = None
        self.before: tuple[int, int] | None = None  # the limits of memory that `end` brings back
        self.works = sys.platform == "linux" and threading.current_thread() is threading.main_thread()

    def begin(self) -> None:
        """From now on, the check gets Unreadable when its time is over, and MemoryError when it uses too much."""
        if self.works and self.before is None:
            import resource

            with open("/proc/self/statm") as statm:
                mapped = int(statm.read().split()[0]) * resource.getpagesize()
            soft, hard = self.before = resource.getrlimit(resource.RLIMIT_AS)
            most = mapped + (self.memory_mb << 20)
            resource.setrlimit(resource.RLIMIT_AS, (most if soft == resource.RLIM_INFINITY else min(most, soft), hard))
            signal.signal(signal.SIGALRM, self._over)
            signal.setitimer(signal.ITIMER_REAL, self.seconds)

    def end(self) -> None:
        """Let nothing be raised any more."""
        if self.before is not None:
            import resource

            signal.setitimer(signal.ITIMER_REAL, 0)
            resource.setrlimit(resource.RLIMIT_AS, self.before)
            self.before = None

    def _over(self, _: int, frame: FrameType | None) -> None:
        while frame is not None:
            if frame.f_code is self.code:
                raise ReadingTimeout("it takes too long to read")
            frame = frame.f_back


class CheckNotRun(Exception):
    """What the check needs is not there, for which the message gives the reason; nobody is to blame."""


class TimeBudget:
    """The budget of a run, and the limit of each call; a question that ran out of time once gets less the next time."""

    def __init__(self, assignment: Assignment) -> None:
        self.limits = assignment.limits
        self.end = time.monotonic() + assignment.limits.budget
        self.slow: set[str] = set()

    def limit(self, question: Question) -> float:
        """Return the seconds that the next call may take.

        Raises:
            CheckNotRun: If none are left.
        """
        left = self.end - time.monotonic()
        if left < LEAST_SECONDS:
            raise CheckNotRun(f"the time for the whole run ({self.limits.budget:.0f} s) was used up")
        seconds = question.seconds or self.limits.seconds
        if question.id in self.slow:
            seconds = max(seconds / 4, LEAST_SECONDS)
        return min(seconds, left)


class ReplyCache:
    """What the submission has replied to stored cases in this run: checks that look at the same case share one call.

    Each call would begin in the same state, with the same seed. Large facts are not kept, nor what depends on the time it took.
    """

    def __init__(self) -> None:
        self._kept: dict[str, Reply] = {}

    def of(self, case: Case | None) -> Reply | None:
        """Return the reply to a case as it came, or None."""
        return copy.deepcopy(self._kept.get(case.name)) if case else None

    def keep(self, case: Case | None, reply: Reply) -> None:
        """Keep a reply for the checks to come."""
        if case and reply.status in ("ok", "raised", "import", "missing") and len(self._kept) < MAX_KEPT:
            with contextlib.suppress(Exception):  # of a form that cannot be copied or is too large to be worth it
                if estimate_size(reply.facts) <= MAX_KEPT_BYTES:
                    self._kept[case.name] = copy.deepcopy(reply)


def estimate_size(facts: Any) -> int:
    """Return about how many bytes plain data takes."""
    if isinstance(facts, (dict, list, tuple)):
        return 64 + sum(map(estimate_size, facts.values() if isinstance(facts, dict) else facts))
    return facts.nbytes if isinstance(facts, np.ndarray) else sys.getsizeof(facts)


class SubmissionUnderTest:
    """The submission, seen from a check.

    Every call runs in a process of its own and returns plain data; a call that does not end well
    fails the check.

    Args:
        patience: The judge's patience with the facts. It begins when a call has returned, and the
            code that runs the check ends it.
        origin: Where the lines of a notebook's definitions stand.
        attachments: By name, the content of each file beside the submission, or why it was refused;
            None if it is not there.
        replies: To the cases of its suite, shared by all checks of a run.

    Attributes:
        facts: The results of the submission's calls so far, and the attached content.
        tried: The last of these calls, and its outcome.
        curves: By name, the numbers that the check keeps for a picture.
        entries: The numbers that it puts on the leaderboard.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        submission: Path | None,
        question: Question,
        cases: dict[str, Case],
        clock: TimeBudget,
        seed: int,
        patience: ReadingBudget,
        origin: NotebookOrigin | None,
        attachments: Mapping[str, bytes | str | None],
        replies: ReplyCache | None = None,
    ) -> None:
        self._sandbox = sandbox
        self._submission = submission
        self._origin = origin
        self._question = question
        self._cases = cases
        self._clock = clock
        self._seed = seed
        self._printed: list[str] = []
        self.facts: list[Any] = []
        self.curves: dict[str, list[float]] = {}
        self.entries: list[LeaderboardEntry] = []
        self._attachments = attachments
        self._replies = ReplyCache() if replies is None else replies
        self.tried: LastCall | None = None
        self._patience = patience

    @property
    def printed(self) -> str:
        """What the submission printed in this check, so far."""
        return "".join(self._printed)

    def call(self, driver: str, **inputs: Any) -> Any:
        """Return the facts that `driver(submitted, **inputs)` found.

        Raises:
            CheckFailed: If the call does not end well.
        """
        return self._call(driver, inputs)

    def _call(self, driver: str, inputs: dict[str, Any], case: Case | None = None) -> Any:
        self._patience.end()
        self.tried = LastCall(driver, inputs, self._seed, case)
        seconds = self._clock.limit(self._question)
        reply = self._replies.of(case)
        if reply is None:
            reply = self._sandbox.call(driver, inputs, self._submission, seconds, self._seed)
            self._replies.keep(case, reply)
        return self._facts(reply, seconds)

    def dialogue(self, asks: Part, answers: Part) -> Any:
        """Return the facts that one driver has found by talking with another.

        The question's `seconds` are for all of it.

        Args:
            asks: (driver, inputs) for a process without student code. Each value that it yields is
                sent to `answers`.
            answers: (driver, inputs) for the process of the submission. Each value that it yields
                goes back.

        Raises:
            CheckFailed: If the dialogue does not end well.
        """
        self._patience.end()
        self.tried = None  # nothing that could be tried again in one process
        seconds = self._clock.limit(self._question)
        return self._facts(self._sandbox.dialogue(asks, answers, self._submission, seconds, self._seed), seconds)

    def _facts(self, reply: Reply, seconds: float) -> Any:
        """Return the facts of a reply.

        Raises:
            CheckFailed: If there are none.
        """
        if self._submission is not None:
            self._printed.append(reply.output)
        if reply.status == "ok":
            if self._submission is not None:
                self.facts.append(reply.facts)
            self._patience.begin()
            return reply.facts
        if reply.status == "timeout":
            self._clock.slow.add(self._question.id)
        raise explain_failure(reply, self._question, seconds, self._clock.limits.memory_mb, self.printed, self._origin)

    def curve(self, name: str, values: Any) -> None:
        """Keep a list of numbers to be drawn in the report. What is something else is left out: a picture decides nothing."""
        # The values come from the submission's process: of a list that is no curve, not even the length is worth a failure.
        if type(values) is not list or not all(is_number(value) and abs(value) <= MAX_VALUE for value in values):
            return
        if values and len(self.curves) < MAX_CURVES:
            step = -(-len(values) // MAX_POINTS)
            self.curves[name] = [round(float(value), 6) for value in values[::step]]

    def leaderboard(self, name: str, value: Any, order: Literal["asc", "desc"] = "desc") -> None:
        """Put a number on the leaderboard, for all to see.

        The number must have been measured with `kit`, because the submission chooses the results of
        its own calls.

        Args:
            order: "desc" where more is better.

        Raises:
            CheckFailed: If the value is not a valid number.
        """
        if not is_number(value) or not abs(value) <= MAX_VALUE:
            raise CheckFailed(Outcome.FAILED, f"{name} is {format_value(value)}, not a valid score", self.printed)
        if len(self.entries) == MAX_ENTRIES:
            raise ValueError(f"a check has at most {MAX_ENTRIES} entries on the leaderboard")
        self.entries.append(LeaderboardEntry(name=name, value=round(float(value), 4), order=order))

    def attachment(self, name: str) -> np.ndarray:
        """Return the bytes of a file that was handed in beside the submission, for a driver; without it, the check is not run.

        Nothing is known of them: whoever parses them must be called by `kit`, so that it happens in a process of its own.
        """
        content = self._attachments[name]
        if content is None:
            self.not_run(f"no {name} was handed in; it is optional, and belongs into the folder of your submission")
        if isinstance(content, str):
            self.not_run(content)
        self.facts.append(np.frombuffer(content, np.uint8))
        return self.facts[-1]

    def not_run(self, reason: str) -> NoReturn:
        """End the check as not run, as when a package is not installed that it needs: it is neither passed nor failed."""
        raise CheckNotRun(reason)

    def seeds(self, count: int) -> range:
        """Return seeds for something that chance decides: always the same, unless the suite itself is being measured."""
        return range(1 + self._seed * count, 1 + (self._seed + 1) * count)

    def case(self, name: str) -> Case:
        """Return the stored case of this name, with its inputs and the solution's answer.

        Raises:
            LookupError: If there is no such case.
        """
        if name not in self._cases:
            near = difflib.get_close_matches(name, self._cases, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "; after adding a case, run build"
            raise LookupError(f"the suite has no case {name!r}{hint}")
        return self._cases[name]

    def expect(self, name: str, view: Callable[[Any], Any] | None = None, **options: Any) -> None:
        """Call the driver of a stored case and require the stored answer; see `require`."""
        case = self.case(name)
        self.require(case, self._call(case.driver, case.inputs, case), view, **options)

    def require(
        self,
        case: Case,
        facts: Any,
        view: Callable[[Any], Any] | None = None,
        also: Callable[[Any], Any] | None = None,
        rtol: float = 1e-4,
        atol: float = 1e-5,
        exact_dtype: bool = False,
        also_show: tuple[str, ...] = (),
    ) -> None:
        """Require that the facts of a call agree with the stored answer of its case.

        The default tolerances are those of float32 sums over a few hundred numbers in another order.

        Args:
            case: The stored case.
            facts: The facts that the call returned.
            view: Reduces the facts of both sides to the part that is compared, without order and noise.
            also: Makes another correct form from the expected one.
            rtol: Relative tolerance.
            atol: Absolute tolerance.
            exact_dtype: See `compare.difference`.
            also_show: Names of facts that the message also shows, for a view that keeps only whether they are right.
        """
        expected = view(Stored(case.answer)) if view else case.answer
        try:
            got = view(facts) if view else facts
        except Exception:
            # The view can read the answer, so these facts have a form that no right submission gives them.
            self.fail(case, f"the result cannot be read: {format_value(facts):.300}")
        forms = (expected, also(expected)) if also else (expected,)
        if self.tried:
            self.tried = replace(
                self.tried, case=case, compared=Comparison(forms, drop_large_arrays(got), rtol, atol, exact_dtype)
            )
        text = difference(expected, got, rtol, atol, exact_dtype)
        if text and all(difference(form, got, rtol, atol, exact_dtype) for form in forms[1:]):
            text += "".join(
                f"\n{line}"
                for name in also_show
                if name in facts
                for line in describe_fact(name, facts[name], case.answer[name])
            )
            self.fail(case, text, WrongAnswer(case.name, expected, got, also, rtol, atol, exact_dtype))

    def fail(self, case: Case, text: str, evidence: Evidence | None = None) -> None:
        """Fail the check with the text and the case's inputs.

        Args:
            evidence: See `CheckFailed`.
        """
        if self.tried:
            self.tried = replace(self.tried, case=case, said=text)
        inputs = "\n".join(f"  {name} = {format_value(value, SHOWN_INPUTS)}" for name, value in case.inputs.items())
        called = f"{self._question.function} was tried with (case {case.name}):"
        evidence = evidence or Evidence({"case": case.name, "said": text})
        raise CheckFailed(Outcome.FAILED, f"{text}\n{called}\n{inputs}", self.printed, evidence=evidence)


def describe_fact(name: str, value: Any, answer: Any) -> list[str]:
    """Return the lines by which a message shows a fact: of a dictionary, what the answer has as well, which is not too much."""
    if isinstance(value, dict) and isinstance(answer, dict):
        return [f"{name}:", *(f"  {key}: {format_value(value[key])}" for key in answer if key in value)]
    return [f"{name}: {format_value(value)}"]


def explain_failure(
    reply: Reply, question: Question, seconds: float, memory_mb: int, printed: str, origin: NotebookOrigin | None = None
) -> CheckFailed:
    """Return the exception for a call that did not end well, in words that say what to do.

    Args:
        origin: Where a notebook's lines stand.
    """
    try:
        reply = origin.placed(reply) if origin else reply
        return _failure(reply, question, seconds, memory_mb, printed)
    except Exception:
        # The worker's own account comes from a process that runs student code: it may have any form, with any consequence.
        return CheckFailed(Outcome.CRASHED, "the process did not keep to the protocol", printed)


def _failure(reply: Reply, question: Question, seconds: float, memory_mb: int, printed: str) -> CheckFailed:
    details = reply.details
    unwritten = False
    outcome = Outcome.FAILED
    match reply.status:
        case "timeout":
            outcome = Outcome.TIMEOUT
            allowed = "1 second" if seconds < 1.5 else f"{seconds:.0f} seconds"
            floods = " It also printed a great deal, which takes time." if LEFT_OUT in reply.output else ""
            ask = "is there a loop that never ends?"
            if any(isinstance(frame, dict) and frame.get("function") == "<module>" for frame in details.get("frames") or []):
                ask += (
                    " Your file was still being imported: what stands outside of functions and classes runs each time that "
                    'something is graded. A training belongs below `if __name__ == "__main__":`.'
                )
            if "turns" in details:
                ask = f"it was still going on, after {details['turns']:,} turns. Is the machine busy, or your code slow?"
            text = f"stopped after {allowed}: {ask}{floods}{format_trace(details)}"
        case "disk":
            text = f"stopped: it filled its working folder. {LIMITS['disk']}"
        case "memory":
            outcome = Outcome.MEMORY
            text = f"ran out of memory (limit {memory_mb} MB): is something growing without end, or a shape far too large?"
            text += format_trace(details)
        case "crashed":
            outcome = Outcome.CRASHED
            text = f"{details.get('message', 'the process ended')}. "
            text += "Does the code call os._exit?" if "exit status" in text else "Is a library given what it cannot take?"
        case "protocol":
            outcome = Outcome.CRASHED
            text = f"the process did not keep to the protocol: {details.get('message', '')}"
        case "unreadable":
            text = str(details.get("message", ""))
        case "syntax":
            text = f"your file is not valid Python: {details.get('message', '')}{format_trace(details)}"
        case "import":
            text = f"your file cannot be imported: {format_error(details)}{format_trace(details)}{describe_limit(details)}"
            if "get_ipython" in str(details.get("message")):
                text += "\nThis file was exported from a notebook: hand in the notebook itself, or leave such lines out."
            if details.get("type") == "ModuleNotFoundError":
                text += "\nThere are only the packages of requirements.txt and this file: helpers belong into it."
        case "missing":
            text = f"your file has no {details.get('name')!r}; the name must stay as it is in the stub"
            if details.get("closest"):
                text += f". Did you mean to rename {details['closest']!r}?"
        case "refused":
            text = str(details.get("message", ""))
        case _:
            unwritten = _is_blank(details, question)
            text = format_error(details) + format_trace(details) + describe_limit(details)
            if unwritten:
                where = describe_place(details["frames"][-1]) if details.get("frames") else "your code"
                text = f"{where} still raises the stub's NotImplementedError; delete it when your code is there"
                text += f" ({details['message'] or question.task})"
    shown = {"status": reply.status} | {key: str(details[key]) for key in ("type", "message", "name") if key in details}
    return CheckFailed(outcome, text, printed, unwritten, Evidence(shown))


def _is_blank(details: dict[str, Any], question: Question) -> bool:
    """Return whether this is the NotImplementedError of a blank of the stub in the question's own function."""
    said = str(details.get("message", ""))
    own = said.partition(":")[0].partition(".")[0] if said else details.get("owner")  # stubs of course texts say nothing
    return details.get("type") == "NotImplementedError" and own == question.function


def format_error(details: dict[str, Any]) -> str:
    """Return an exception as Python prints it."""
    message = NO_KEYBOARD.get(details.get("type"), str(details.get("message", "")))
    return f"{details.get('type', 'Exception')}: {message}" if message else str(details.get("type", "Exception"))


def describe_limit(details: dict[str, Any]) -> str:
    """Return a line on the limit that an exception looks like, or nothing."""
    note = LIMITS.get(str(details.get("limit")), "")
    return f"\n{note}" if note else ""


def describe_place(frame: dict[str, Any]) -> str:
    """Return where a frame is, in words."""
    line = f"line {frame.get('line')}"
    return f"cell {frame['cell']}, {line}" if "cell" in frame else line


def format_trace(details: dict[str, Any]) -> str:
    """Return the student's own frames, outermost first, or nothing."""
    lines = []
    for frame in details.get("frames") or []:
        inside = f", in {frame['function']}" if frame.get("function") else ""
        lines.append(f"\n  {describe_place(frame)}{inside}\n    {frame.get('text', '')}")
    # Recursion would repeat the same frame many times.
    return "".join(line for line, before in zip(lines, ["", *lines], strict=False) if line != before)
