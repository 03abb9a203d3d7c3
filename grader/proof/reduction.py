"""Find the smallest change of the solution that fails like a wrong submission: delta debugging, judged by checks.

Workers of a sandbox cut the texts (`cutting.py`), and each text is graded like any submission; this process parses none of
them. A mutant of the solution that fails in the same way is used if it is smaller: if a student has written the function
differently, cutting alone does not find the smallest difference.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from grader.answers import UNPREDICTABLE, Mistake, read_mistakes
from grader.assignment import SUITES, AssignmentFiles, UsageError
from grader.judge.diagnosis import find_fitting_mistakes
from grader.judge.harness import Harness
from grader.judge.run import Grader
from grader.proof import cutting
from grader.proof.catalogue import load_catalogue
from grader.proof.mutants import make_mutants
from grader.proof.pool import TrialPool
from grader.proof.trials import list_unit_questions, try_variant
from grader.report.model import Cause, CheckResult, Outcome, Report
from grader.sandbox import open_sandbox
from grader.sandbox.places import make_readable, make_temporary_folder

SEEDS = (0, 1)
CUTTING_SECONDS = 20.0  # for a step, which takes hundredths of one
MAX_TEXT = 200_000  # characters of a definition
MAX_STEPS = 200
SMALL = 80  # characters of a change
MOST_TRIED = 600  # texts
LEAST_SECONDS, SLOWER = 2.0, 5.0  # of a trial's call, and times the slowest check of the submission


@dataclass(frozen=True)
class Symptoms:
    """How a wrong submission fails the checks of one question.

    Attributes:
        question: The question.
        shows: The evidence of each failed check, in the form of recorded mistakes.
        passes: The checks that passed.
    """

    question: str
    shows: dict[str, Any]
    passes: frozenset[str]

    @property
    def hidden_only(self) -> bool:
        """Whether no visible check fails."""
        return not any(check.startswith("visible/") for check in self.shows)


@dataclass(frozen=True)
class SmallestChange:
    """A change of the solution that shows the symptoms.

    Attributes:
        edits: (old text, new text) of each edit of the solution's definition; empty if the whole definition is better.
        text: The whole definition.
        names: The names that it reads.
        size: Number of characters of the edits, or of the definition.
        first_size: Number of characters of the student's definition.
        tried: How many texts were tried.
        mutant: Whether it is a mutant of the solution, instead of the rest of the student's code.
    """

    edits: list[list[str]]
    text: str
    names: tuple[str, ...]
    size: int
    first_size: int
    tried: int
    mutant: bool = False

    @property
    def small(self) -> bool:
        """Whether it is small enough to end the search."""
        return len(self.edits) == 1 and self.size <= SMALL


@dataclass
class Reducer:
    """Finds the smallest change of an assignment's solution that fails like a submission.

    Args:
        home: The assignment.
        question: The id of the question in which the submission is wrong.
        workers: How many texts are tried at the same time.
        report: Called with a line for each step.
    """

    home: AssignmentFiles
    question: str
    workers: int = 1
    report: Callable[[str], object] = lambda _: None
    _tried: dict[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        asked = next((one for one in self.home.assignment.questions if one.id == self.question), None)
        if asked is None:
            there_are = ", ".join(one.id for one in self.home.assignment.questions)
            raise UsageError(f"there is no question {self.question!r}; there are: {there_are}")
        if self.question not in list_unit_questions(self.home.assignment, asked.function):
            raise UsageError(
                f"{self.question} tests several questions together, so no single function is at fault; name one of "
                f"{', '.join(one.id for one in self.home.assignment.questions if not one.together)}"
            )
        self.function = asked.function
        self.solution = (self.home.solution / self.home.assignment.submission).read_text(encoding="utf-8")
        self.definition = cutting.find_definition(self.solution, self.function)

    def reduce(self, submission: Path) -> tuple[Symptoms, SmallestChange]:
        """Return the symptoms of a submission, and the smallest change with the same symptoms.

        Raises:
            UsageError: If it cannot become a mistake of the catalogue; the message says why.
        """
        with Harness(self.home) as harness, _open_cutter() as cut:
            with Grader(self.home, SUITES, harness=harness) as grader:
                symptoms, source = self._examine(grader, submission)
            with TrialPool(harness, self.workers, "texts") as pool:
                self._require_unknown(pool, symptoms)
                return symptoms, self._cut_down(pool, cut, symptoms, source)

    def shows(self, submission: str, symptoms: Symptoms) -> bool:
        """Return whether a whole submission shows the symptoms, whatever chance decides."""
        with Grader(self.home, SUITES) as grader:
            return all(show_symptoms(grader, submission, symptoms, seed) for seed in SEEDS)

    def _examine(self, grader: Grader, path: Path) -> tuple[Symptoms, str]:
        """Return the symptoms of a submission, and its text."""
        staged = grader.take(path)
        if staged.looked.status != "ok":
            what = "is not valid Python" if staged.looked.status == "syntax" else "cannot be read"
            raise UsageError(f"{path} {what}: {staged.looked.details.get('message', staged.looked.status)}")
        source = staged.path.read_bytes().decode("utf-8")
        report = try_variant(grader, source, {self.question}).report
        self._require_wrong_answer(report)
        first = {check: failure.evidence for check, failure in grader.seen.items() if failure is not None}
        passes = frozenset(grader.seen.keys() - first.keys())
        recorded = [one for one in list_recorded_mistakes(self.home) if one.question == self.question]
        if known := find_fitting_mistakes(recorded, grader.seen):
            names = " or ".join(mistake.id for mistake in known)
            raise UsageError(f"{self.question}: the catalogue already has this mistake: {names}")
        try_variant(grader, source, {self.question}, seed=1)
        second = {check: failure.evidence for check, failure in grader.seen.items() if failure is not None}
        if first.keys() != second.keys():
            other = ", ".join(sorted(first.keys() ^ second.keys()))
            raise UsageError(f"{path}: whether it fails {other} depends on chance, so it cannot be recognized")
        shows = {check: saw.record() for check, saw in first.items()}
        shows = {check: saw if second[check].fits(saw) else UNPREDICTABLE for check, saw in shows.items()}
        if all(saw == UNPREDICTABLE for saw in shows.values()):
            raise UsageError(f"{path}: each failed check sees something different in every run, so it cannot be recognized")
        self._limit_calls(SLOWER * max(check.seconds for check in report.checks))
        return Symptoms(self.question, shows, passes), source

    def _limit_calls(self, seconds: float) -> None:
        """Limit the calls of trials to a little more time than those of the submission: a cut text may run forever."""
        assignment, most = self.home.assignment, max(seconds, LEAST_SECONDS)
        limits = assignment.limits.model_copy(update={"seconds": min(assignment.limits.seconds, most)})
        questions = tuple(
            one.model_copy(update={"seconds": min(one.seconds, most)}) if one.seconds else one for one in assignment.questions
        )
        self.home.assignment = assignment.model_copy(update={"limits": limits, "questions": questions})

    def _require_wrong_answer(self, report: Report) -> None:
        """Raise UsageError unless checks of the question have received a wrong answer."""
        question = self.question
        if report.cause or not report.final:
            raise UsageError(f"{question} could not be graded: {report.explain_stop()}")
        failed = [check for check in report.checks if check.outcome is not Outcome.PASSED]
        if not failed:
            raise UsageError(f"{question}: this submission passes all {len(report.checks)} checks; there is no mistake to add")
        if all(check.unwritten for check in failed):
            raise UsageError(f"{question}: this submission is still the stub here; there is no mistake to add")
        for check in failed:
            if check.outcome is Outcome.NOT_RUN:
                raise UsageError(f"{check.id} was not run ({check.message}), so it is not known what it would see")
            if not gives_wrong_answer(check):
                said = check.message.partition("\n")[0]
                raise UsageError(
                    f"{check.id} ends in: {said} ({check.cause.value}). Only wrong answers are recognized, since messages of "
                    "exceptions and time limits differ with the code"
                )

    def _require_unknown(self, pool: TrialPool, symptoms: Symptoms) -> None:
        """Raise UsageError if a mistake that is declared, but not built yet, shows the same."""
        name = self.home.assignment.name
        built = {mistake.id for mistake in list_recorded_mistakes(self.home)}
        fresh = [one for one in load_catalogue(self.home, "mistakes") if one.question == self.question and one.id not in built]
        tries = [pool.submit(show_symptoms, one.submission, symptoms) for one in fresh]
        for one, same in zip(fresh, tries, strict=True):
            if same.result():
                raise UsageError(f"{self.question}: mistakes.py already has this mistake: {one.id}; run `build {name}`")

    def _cut_down(self, pool: TrialPool, cut: Cutter, symptoms: Symptoms, source: str) -> SmallestChange:
        asked = [one.function for one in self.home.assignment.questions]
        begun = cut("begin", solution=self.solution, source=source, function=self.function, asked=asked)
        if "missing" in begun:
            raise UsageError(f"this submission has no function or class {self.function!r}")
        current = first = _get_text(begun, "text")
        if not self._try(pool, [current], symptoms):
            raise UsageError(
                f"{self.function} alone, put into the solution, does not fail like the submission: the mistake is "
                "elsewhere in the file, or in several places; write the entry by hand"
            )
        for _ in range(MAX_STEPS):
            shown = self._try(pool, _list_texts(cut("list_cuts", solution=self.definition, current=current)), symptoms)
            if shown is None:
                break
            current = shown
        change = min((self._measure(cut, text, len(first)) for text in (current, first)), key=lambda one: one.size)
        self.report(f"reduced a change of {len(first)} characters to one of {change.size}; {len(self._tried)} candidates tried")
        if not change.small:
            grafts = _list_texts(cut("list_grafts", solution=self.definition, current=current))
            if shown := self._try(pool, grafts, symptoms):
                change = min(change, self._measure(cut, shown, len(first)), key=lambda one: one.size)
        if not change.small and (shown := self._try(pool, self._list_mutants(), symptoms)):
            change = min(change, self._measure(cut, shown, len(first), mutant=True), key=lambda one: one.size)
        return change

    def _list_mutants(self) -> list[str]:
        """Return the definition of each mutant of the question's code, or of the whole function if it has no marks."""
        mutants = [one for one in make_mutants(self.home) if one.function == self.function]
        mutants = [one for one in mutants if one.question == self.question] or mutants
        return list(dict.fromkeys(cutting.find_definition(one.submission, self.function) for one in mutants))

    def _measure(self, cut: Cutter, current: str, first_size: int, mutant: bool = False) -> SmallestChange:
        described = cut("describe", solution=self.definition, current=current)
        text, edits = _get_text(described, "text"), described.get("edits", [])
        sound = all(isinstance(edit, list) and len(edit) == 2 and all(map(_is_text, edit)) for edit in edits)
        size = sum(len(part) for edit in edits for part in edit) if sound else 0
        if not 0 < size < len(text):
            edits, size = [], len(text)
        names = tuple(name for name in described.get("names", []) if isinstance(name, str))
        return SmallestChange(edits, text, names, size, first_size, len(self._tried), mutant)

    def _try(self, pool: TrialPool, definitions: Sequence[str], symptoms: Symptoms) -> str | None:
        """Return the first definition that shows the symptoms when it replaces the solution's, or None."""
        fresh = [text for text in definitions if text not in self._tried][: MOST_TRIED - len(self._tried)]
        for start in range(0, len(fresh), self.workers):
            batch = fresh[start : start + self.workers]
            whole = [self.solution.replace(self.definition, text, 1) for text in batch]
            pending = [pool.submit(show_symptoms, submission, symptoms) for submission in whole]
            for text, trial in zip(batch, pending, strict=True):
                self._tried[text] = trial.result()
            if shown := next((text for text in batch if self._tried[text]), None):
                return shown
        return None


def list_recorded_mistakes(home: AssignmentFiles) -> list[Mistake]:
    """Return the recorded mistakes with the evidence of both suites, by the check's name in reports."""
    found: dict[str, Mistake] = {}
    for suite, path in home.mistakes.items():
        for key, one in read_mistakes(path, home.assignment.name).items():
            before = found[key].shows if key in found else {}
            found[key] = replace(one, shows=before | {f"{suite}/{check}": saw for check, saw in one.shows.items()})
    return list(found.values())


def gives_wrong_answer(check: CheckResult) -> bool:
    """Return whether a check failed because of a wrong answer, which can be recognized in other code."""
    return check.outcome is Outcome.FAILED and check.cause in (Cause.WRONG_ANSWER, Cause.UNREADABLE_RESULT)


def show_symptoms(grader: Grader, submission: str, symptoms: Symptoms, seed: int = 0) -> bool:
    """Return whether a submission fails the same checks, and shows the same to each; a function for `TrialPool.submit`."""
    try_variant(grader, submission, {symptoms.question}, seed=seed)
    failed = {check: failure for check, failure in grader.seen.items() if failure is not None}
    if failed.keys() != symptoms.shows.keys() or grader.seen.keys() != failed.keys() | symptoms.passes:
        return False
    return all(saw == UNPREDICTABLE or failed[check].evidence.fits(saw) for check, saw in symptoms.shows.items())


Cutter = Callable[..., dict[str, Any]]
"""Calls a function of `cutting.py` by its name, and returns what it found."""


@contextlib.contextmanager
def _open_cutter() -> Iterator[Cutter]:
    """Yield a function that lets workers of a sandbox cut texts."""
    folder = make_temporary_folder()
    try:
        make_readable(folder)
        drivers = Path(cutting.__file__)
        # No submission is in the first folder, and what the drivers import in the second.
        with contextlib.closing(open_sandbox(drivers, [folder, drivers.parent], torch=False)) as sandbox:

            def cut(driver: str, **texts: Any) -> dict[str, Any]:
                reply = sandbox.call(driver, texts, seconds=CUTTING_SECONDS)
                if reply.status != "ok" or not isinstance(reply.facts, dict):
                    why = reply.details.get("message") or reply.status
                    raise UsageError(f"this submission cannot be reduced: {why}; write the entry by hand")
                return reply.facts

            yield cut
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _list_texts(facts: dict[str, Any]) -> list[str]:
    return [text for text in facts.get("cuts", []) if _is_text(text)]


def _is_text(value: Any) -> bool:
    """Return whether a worker's answer is text that can be written to a file."""
    return isinstance(value, str) and len(value) <= MAX_TEXT and value.encode("utf-8", "replace").decode() == value


def _get_text(facts: dict[str, Any], name: str) -> str:
    text = facts.get(name)
    if not _is_text(text):
        raise UsageError("this submission is too long to be reduced; write the entry by hand")
    return str(text)
