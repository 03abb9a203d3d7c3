"""The objects that checks use: `student` calls drivers with the submission and compares facts with answers."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np

from grader.answers import Case
from grader.assignment import Question
from grader.judge.budgets import ReadingBudget, ReadingTimeout, ReplyCache, TimeBudget
from grader.judge.compare import Tolerance, difference, drop_large_arrays, format_value, is_number
from grader.judge.evidence import Evidence, WrongAnswerEvidence
from grader.judge.failure import CheckFailed, CheckNotRun, explain_failure
from grader.judge.origin import NotebookOrigin
from grader.judge.received import ReceivedCall, choose_call, describe_call
from grader.judge.views import Stored
from grader.report.model import Cause, LeaderboardEntry, Outcome
from grader.sandbox.reply import CallExplanation, Part, Reply, SandboxFault

if TYPE_CHECKING:
    from grader.sandbox import Sandbox


MAX_CURVES, MAX_POINTS = 8, 500  # of a check, and of a curve
MAX_VALUE = 1e12  # nothing beyond can be drawn, nor is it the result of anything
MAX_ENTRIES = 4  # of a check on the leaderboard
EXPLAINING_SECONDS = 2.0  # of a call that decides nothing
KEEPS = (
    "\nThe check also calls your code with other data. Without those calls, the answer is right: "
    "which variable keeps a value from another call?"
)


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
        said: The failure message, if the check failed at this call.
        received: The arguments of the question's function, where a report shows them.
        right_alone: Whether the answer is right without the calls on other data that the driver makes beforehand.
    """

    driver: str
    inputs: dict[str, Any]
    seed: int
    case: Case | None = None
    compared: Comparison | None = None
    said: str = ""
    received: ReceivedCall | None = None
    right_alone: bool = False


@dataclass(frozen=True)
class LoadedSubmission:
    """The submission that is judged.

    Attributes:
        path: The file that is graded; None for calls without student code.
        origin: Where the lines of a notebook's definitions stand.
        attachments: By name, the content of each file beside it, or why it was refused; None if it is not there.
        unwritten: Functions that are still the stub.
        broken: The failure to load, if any; every check then ends with it.
        refused_calls: System calls that were refused while it was loaded; see `Reply`.
        globals: By function, the names of global variables that it reads instead of something of its own.
    """

    path: Path | None
    origin: NotebookOrigin | None
    attachments: dict[str, bytes | str | None]
    unwritten: Set[str]
    broken: CheckFailed | None
    refused_calls: tuple[str, ...] = ()
    globals: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class RunContext:
    """What all checks of a run share.

    Attributes:
        patience: The limit on reading facts. It starts when a call has returned; the code that runs the check ends it.
        seed: The random seed.
        margin: Multiplies the tolerances of comparisons with stored answers.
        refused_calls: System calls of the submission that were refused because they are not on the list.
        explained: Questions whose arguments were already asked for; once is enough.
    """

    sandbox: Sandbox
    clock: TimeBudget
    patience: ReadingBudget
    seed: int
    margin: float = 1.0
    refused_calls: set[str] = field(default_factory=set)
    explained: set[str] = field(default_factory=set)


class SubmissionUnderTest:
    """The submission, seen from a check.

    Every call runs in its own process and returns plain data; a call that fails also fails the check.

    Args:
        question: The question of the check.
        cases: The cases of its suite, by name.
        replies: The replies to these cases, shared by all checks of a run.
        explains: Whether a failure may show the arguments of the function, which costs a call.

    Attributes:
        facts: The results of the submission's calls so far, and the attached content.
        tried: The last of these calls, and its outcome.
        curves: Numbers that the check keeps for a plot, by name.
        thresholds: What the trained agent must reach, by name of a curve.
        entries: Numbers for the leaderboard.
    """

    def __init__(
        self,
        shared: RunContext,
        submission: LoadedSubmission,
        question: Question,
        cases: dict[str, Case],
        replies: ReplyCache,
        explains: bool = False,
    ) -> None:
        self._shared, self._explains = shared, explains
        self._sandbox, self._clock, self._patience, self._seed = shared.sandbox, shared.clock, shared.patience, shared.seed
        self._refused_calls = shared.refused_calls
        self._submission, self._origin, self._attachments = submission.path, submission.origin, submission.attachments
        self._question = question
        self._cases = cases
        self._replies = replies
        self._printed: list[str] = []
        self.facts: list[Any] = []
        self.curves: dict[str, list[float]] = {}
        self.thresholds: dict[str, float] = {}
        self.entries: list[LeaderboardEntry] = []
        self.tried: LastCall | None = None

    @property
    def printed(self) -> str:
        """The text that the submission has printed in this check so far."""
        return "".join(self._printed)

    def call(self, driver: str, **inputs: Any) -> Any:
        """Return the facts of `driver(submitted, **inputs)`.

        Raises:
            CheckFailed: If the call fails.
        """
        return self._call(driver, inputs)

    def _call(self, driver: str, inputs: dict[str, Any], case: Case | None = None) -> Any:
        self._patience.end()
        self.tried = LastCall(driver, inputs, self._seed, case)
        seconds = self._clock.limit(self._question)
        reply = self._replies.of(case)
        if reply is None:
            reply = self._sandbox.call(driver, inputs, self._submission, seconds, self._seed)
            self._clock.spend(max(reply.spent, reply.seconds))
            self._replies.keep(case, reply)
        return self._facts(reply, seconds)

    def dialogue(self, asks: Part, answers: Part) -> Any:
        """Return the facts of one driver after a dialogue with another.

        The question's `seconds` limit the whole dialogue.

        Args:
            asks: (driver, inputs) for a process without student code. Each value that it yields is
                sent to `answers`.
            answers: (driver, inputs) for the process of the submission. Each value that it yields
                goes back.

        Raises:
            CheckFailed: If the dialogue fails.
        """
        self._patience.end()
        self.tried = None  # nothing that could be tried again in one process
        seconds = self._clock.limit(self._question)
        reply = self._sandbox.dialogue(asks, answers, self._submission, seconds, self._seed)
        self._clock.spend(max(reply.spent, reply.seconds))
        return self._facts(reply, seconds)

    def _facts(self, reply: Reply, seconds: float) -> Any:
        """Return the facts of a reply.

        Raises:
            CheckFailed: If there are none.
        """
        if self._submission is not None:
            # A warning names the file, which lies in a folder of the grader's.
            self._printed.append(reply.output.replace(str(self._submission), self._submission.name))
            self._refused_calls.update(reply.refused_calls)
        if reply.status == "ok":
            if self._submission is not None:
                self.facts.append(reply.facts)
            self._patience.begin()
            return reply.facts
        if reply.status == "timeout":
            self._clock.slow.add(self._question.id)
        raise explain_failure(reply, self._question, seconds, self._clock.limits.memory_mb, self.printed, self._origin)

    def curve(self, name: str, values: Any, threshold: float | None = None) -> None:
        """Keep a list of numbers to plot in the report; other values are ignored, since a plot decides nothing.

        Args:
            threshold: The number that the check requires of the trained agent, if it is measured like these.
        """
        # The values come from the submission's process: a list that is not a curve must not fail a check.
        if type(values) is not list or not all(is_number(value) and abs(value) <= MAX_VALUE for value in values):
            return
        if values and len(self.curves) < MAX_CURVES:
            step = -(-len(values) // MAX_POINTS)
            self.curves[name] = [round(float(value), 6) for value in values[::step]]
            if threshold is not None:
                self.thresholds[name] = threshold

    def leaderboard(self, name: str, value: Any, order: Literal["asc", "desc"] = "desc") -> None:
        """Put a number on the public leaderboard.

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
        """Return the bytes of an attachment for a driver; without the file, the check ends as not run.

        The bytes are untrusted: a driver that parses them must be called by `kit`, so that parsing runs in its own process.
        """
        content = self._attachments[name]
        if content is None:
            self.not_run(f"no {name} was submitted (optional); put it next to your submission")
        if isinstance(content, str):
            self.not_run(content)
        data = np.frombuffer(content, np.uint8)
        self.facts.append(data)
        return data

    def not_run(self, reason: str) -> NoReturn:
        """End the check as not run, for example because a package is missing; it neither passes nor fails."""
        raise CheckNotRun(reason)

    def seeds(self, count: int) -> range:
        """Return seeds for a random experiment: always the same, unless the suite itself is being measured."""
        return range(1 + self._seed * count, 1 + (self._seed + 1) * count)

    def case(self, name: str) -> Case:
        """Return the stored case of this name, with its inputs and the solution's answer.

        Raises:
            LookupError: If there is no such case.
        """
        if name not in self._cases:
            near = difflib.get_close_matches(name, self._cases, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "; run build after adding a case"
            raise LookupError(f"the suite has no case {name!r}{hint}")
        return self._cases[name]

    def expect(self, name: str, view: Callable[[Any], Any] | None = None, **options: Any) -> None:
        """Call the driver of a stored case and require the stored answer; see `require`."""
        case = self.case(name)
        self.require(case, self._call(case.driver, case.inputs, case), view, **options)

    def require(  # noqa: PLR0913 - how checks are written: each option is a keyword of its own
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
            also_show: Names of facts to show in the message, for a view that reduces them to right or wrong.
        """
        rtol, atol = self._shared.margin * rtol, self._shared.margin * atol
        expected = view(Stored(case.answer)) if view else case.answer
        try:
            got = view(facts) if view else facts
        except Exception:
            # The view can read the answer, so these facts have a form that no right submission gives them.
            self.fail(case, f"the result cannot be read: {format_value(facts):.300}", cause=Cause.UNREADABLE_RESULT)
        forms = (expected, also(expected)) if also else (expected,)
        if self.tried:
            self.tried = replace(
                self.tried, case=case, compared=Comparison(forms, drop_large_arrays(got), rtol, atol, exact_dtype)
            )

        def differs(form: Any, found: Any) -> str | None:
            return difference(form, found, rtol, atol, exact_dtype)

        def is_right(other: Any) -> bool:
            try:
                found = view(other) if view else other
                return not all(differs(form, found) for form in forms)
            except ReadingTimeout:
                raise
            except Exception:
                return False

        text = differs(expected, got)
        if text and all(differs(form, got) for form in forms[1:]):
            if _only_lacks_facts(expected, got, differs):
                text = _describe_returned(facts, case.answer, text)
            text += "".join(
                f"\n{line}"
                for name in also_show
                if name in facts
                for line in describe_fact(name, facts[name], case.answer[name])
            )
            evidence = WrongAnswerEvidence(case.name, expected, got, also, Tolerance(rtol, atol, exact_dtype))
            self.fail(case, text, evidence, is_right=is_right)

    def fail(
        self,
        case: Case,
        text: str,
        evidence: Evidence | None = None,
        cause: Cause = Cause.WRONG_ANSWER,
        is_right: Callable[[Any], bool] | None = None,
    ) -> NoReturn:
        """Fail the check with the text and the case's inputs.

        Args:
            evidence, cause: See `CheckFailed`.
            is_right: Whether other facts of the same call would have passed.
        """
        explained = self._explain_call()
        received = choose_call(self._question, explained.arguments)
        right_alone = is_right is not None and any(map(is_right, explained.alone))
        if right_alone:
            text += KEEPS
        if self.tried:
            self.tried = replace(self.tried, case=case, said=text, received=received, right_alone=right_alone)
        evidence = evidence or Evidence({"case": case.name, "said": text})
        called = describe_call(case, self._question, received)
        raise CheckFailed(Outcome.FAILED, "\n".join([text, *called]), self.printed, cause, evidence)

    def _explain_call(self) -> CallExplanation:
        """Return what explains the last call, if the report should: only for the first failure of a question."""
        tried, question = self.tried, self._question
        if not (self._explains and tried and self._submission) or question.id in self._shared.explained:
            return CallExplanation([], [])
        self._shared.explained.add(question.id)
        try:
            seconds = min(self._clock.limit(question), EXPLAINING_SECONDS)
            return self._sandbox.explain(tried.driver, tried.inputs, self._submission, seconds, self._seed)
        except (CheckNotRun, SandboxFault):
            return CallExplanation([], [])


def describe_fact(name: str, value: Any, answer: Any) -> list[str]:
    """Return the lines that show a fact in a message; of a dictionary, only the keys that the answer has too."""
    if isinstance(value, dict) and isinstance(answer, dict):
        return [f"{name}:", *(f"  {key}: {format_value(value[key])}" for key in answer if key in value)]
    return [f"{name}: {format_value(value)}"]


def _only_lacks_facts(expected: Any, got: Any, differs: Callable[[Any, Any], str | None]) -> bool:
    """Return whether an answer has no other fault than that facts are missing."""
    if not isinstance(expected, dict) or not isinstance(got, dict):
        return False
    common = expected.keys() & got.keys()
    return common < expected.keys() and not differs(*({key: one[key] for key in common} for one in (expected, got)))


def _describe_returned(facts: Any, answer: Any, text: str) -> str:
    """Return the text of a difference, or what was returned if a driver could not find everything in it."""
    if not isinstance(facts, dict) or not isinstance(answer, dict) or answer.keys() <= facts.keys():
        return text
    said, expected = facts.get("returned"), answer.get("returned")
    if not isinstance(said, str) or said == expected:
        return text
    if said.startswith("NoneType"):
        return "returned None: is a `return` missing?"
    return f"returned {said}" + (f", expected {expected}" if isinstance(expected, str) else "")
