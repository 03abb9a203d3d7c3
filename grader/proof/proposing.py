"""Propose mistakes: try candidates, and group those that show the same to every check, as a tutor would who reads a class.

Nothing here is written. A candidate is proposed if a check sees a wrong answer of it that no mistake of the catalogue shows.
Candidates that no check catches are kept, too: telling_apart.py looks for a case that shows them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

from grader.answers import UNPREDICTABLE, Mistake
from grader.assignment import SUITES, AssignmentFiles, UsageError
from grader.authoring.checks_read import list_checks
from grader.authoring.entry import NewMistake
from grader.judge.compare import difference
from grader.judge.run import Grader
from grader.proof import cutting
from grader.proof.candidates import Candidate, find_solution
from grader.proof.catalogue import Variant, load_catalogue
from grader.proof.ideas import read_ideas, suggest_ideas
from grader.proof.mutants import read_survivors
from grader.proof.pool import TrialPool
from grader.proof.reduction import gives_wrong_answer, list_recorded_mistakes
from grader.proof.trials import keep_replies, list_end_to_end_questions, list_unit_questions, try_variant

RTOL, ATOL = 1e-4, 1e-5  # between the evidence of two candidates, as between stored evidence and a submission
MAX_SOURCE = 40  # characters of a change in the listing


@dataclass(frozen=True)
class Observation:
    """What the checks of a function see of a candidate.

    Attributes:
        shows: The evidence of each failed check, in the form of recorded mistakes.
        points: The points that it costs, and the points of all these checks.
        wrong: Whether a check received a wrong answer, which can be recognized in other code.
        settled: Whether neither a time limit nor a fault of the grader had a part in it.
        like: The known mistakes that show the same, and the groups of a class.
        stopped: Why the grader could not finish; "" if it did.
    """

    shows: dict[str, Any]
    points: tuple[float, float]
    wrong: bool
    settled: bool
    like: frozenset[str] = frozenset()
    stopped: str = ""

    def agrees(self, other: Observation) -> bool:
        """Return whether the same checks saw the same, except for rounding."""
        return self.shows.keys() == other.shows.keys() and all(
            agree(saw, other.shows[check]) for check, saw in self.shows.items()
        )


def agree(one: Any, other: Any) -> bool:
    """Return whether two pieces of recorded evidence are the same, except for rounding."""
    return difference(one, other, RTOL, ATOL, equal_nan=True) is None


@dataclass(frozen=True)
class WrongGroup:
    """A group of a graded class without a name.

    Attributes:
        number: Its number on the class page.
        submissions: How many submissions are in it.
        shows: The evidence of each failed check of its question.
        suites: The suites with which the class was graded.
    """

    number: int
    question: str
    submissions: int
    shows: dict[str, Any]
    suites: tuple[str, ...] = SUITES

    @property
    def id(self) -> str:
        return f"group_{self.number}"


@dataclass(frozen=True)
class Proposal:
    """Candidates that show the same.

    Attributes:
        candidate: The simplest of them.
        observation: What they show.
        others: How many others there are.
        groups: The groups of the class that show the same.
        is_new: Whether there are known mistakes, and none fails exactly these checks.
    """

    candidate: Candidate
    observation: Observation
    others: int = 0
    groups: tuple[WrongGroup, ...] = ()
    is_new: bool = False

    @property
    def hidden_only(self) -> bool:
        """Whether no visible check sees it."""
        return not any(check.startswith("visible/") for check in self.observation.shows)

    @property
    def form(self) -> bool:
        """Whether it is a mistake of form: nothing but the form of an answer fails, in one check."""
        return self.candidate.form and len(self.observation.shows) == 1


@dataclass
class Proposals:
    """The result of trying all candidates.

    Attributes:
        found: The proposals, the most useful ones of a question first.
        survivors: Candidates that no check catches.
        groups: Groups of the class that no candidate explains.
        tried: The number of candidates.
        catalogued: How many of them a known mistake explains.
        refused: For each candidate that is not proposed, the reason.
        other: How many of them only raise exceptions, meet a time limit, or show something else at every run.
    """

    found: list[Proposal] = field(default_factory=list)
    survivors: list[Candidate] = field(default_factory=list)
    groups: list[WrongGroup] = field(default_factory=list)
    tried: int = 0
    catalogued: int = 0
    other: int = 0
    refused: dict[str, str] = field(default_factory=dict)


def observe(
    grader: Grader, candidate: Candidate, known: Sequence[Mistake], groups: Sequence[WrongGroup], seed: int = 0
) -> Observation:
    """Return what the checks see of a candidate; a function for `TrialPool.submit`.

    Args:
        known: The recorded mistakes of the same function.
        groups: The groups of a class.
    """
    asked = list_unit_questions(grader.home.assignment, candidate.function)
    with keep_replies(grader, finds=True):
        trial = try_variant(grader, candidate.submission, asked, seed=seed)
    failed = {check: failure.evidence for check, failure in grader.seen.items() if failure is not None}
    lost = trial.lost()
    question_of = {check.id: check.question for check in trial.report.checks}

    def shows(recorded: Mapping[str, Any], checks: Set[str]) -> bool:
        about = failed.keys() & checks
        return (
            bool(recorded)
            and about == recorded.keys()
            and all(saw == UNPREDICTABLE or failed[check].fits(saw) for check, saw in recorded.items())
        )

    def does_it(group: WrongGroup) -> bool:
        own = {check for check, of in question_of.items() if of == group.question and check.partition("/")[0] in group.suites}
        return shows(group.shows, own)

    return Observation(
        {check: evidence.record() for check, evidence in failed.items()},
        (sum(check.max_points for check in lost), sum(check.max_points for check in trial.report.checks)),
        any(map(gives_wrong_answer, lost)),
        trial.settled() and {check.id for check in lost} == failed.keys(),
        frozenset(
            [one.id for one in known if shows(one.shows, failed.keys())] + [group.id for group in groups if does_it(group)]
        ),
        trial.report.explain_stop(),
    )


def propose(
    pool: TrialPool, home: AssignmentFiles, candidates: Sequence[Candidate], groups: Sequence[WrongGroup] = ()
) -> Proposals:
    """Return what the candidates are good for."""
    _require_passes(pool, home, {one.function for one in candidates})
    recorded = list_recorded_mistakes(home)
    names = {mistake.id for mistake in recorded}
    fresh = [as_candidate(one) for one in load_catalogue(home, "mistakes") if one.id not in names]  # since the last build
    function_of = {question.id: question.function for question in home.assignment.questions}
    known = {
        function: [one for one in recorded if function_of.get(one.question) == function] for function in function_of.values()
    }
    pending = [pool.submit(observe, one, known[one.function], groups) for one in [*fresh, *candidates]]
    observed = [each.result() for each in pending]
    catalogued, result = observed[: len(fresh)], Proposals(tried=len(candidates))
    grouped: list[Proposal] = []
    for candidate, seen in zip(candidates, observed[len(fresh) :], strict=True):
        named = seen.like - {group.id for group in groups}
        twin = next((index for index, one in enumerate(grouped) if _is_like(one, candidate, seen)), None)
        result.refused[candidate.name] = _explain(seen, named, grouped[twin] if twin is not None else None)
        if seen.settled and not seen.shows:
            result.survivors += [candidate] if not _is_accepted(home, candidate) else []
        elif not seen.settled or not seen.wrong:
            result.other += 1
        elif named or any(seen.agrees(one) for one in catalogued):
            result.catalogued += 1
        elif twin is None:
            grouped.append(Proposal(candidate, seen))
        else:
            grouped[twin] = replace(grouped[twin], others=grouped[twin].others + 1)
    result.found = _choose(pool, home, grouped, [*(one.shows for one in recorded), *(one.shows for one in catalogued)], groups)
    result.other += sum(1 + one.others for one in grouped) - sum(1 + one.others for one in result.found)
    explained = {group.id for seen in observed for group in groups if group.id in seen.like}
    result.groups = [group for group in groups if group.id not in explained]
    return result


def _explain(seen: Observation, named: Set[str], twin: Proposal | None) -> str:
    """Return why a candidate is not proposed, if it is not."""
    if not seen.settled or not (seen.shows or named):
        return "a call runs into a limit" if not seen.settled else "no check catches it"
    if named:
        return f"it shows the same as {', '.join(sorted(named))}"
    if not seen.wrong:
        return "it only raises exceptions, whose messages differ with the code"
    return f"it shows the same as {twin.candidate.name}" if twin else "it shows something else at every run"


def _require_passes(pool: TrialPool, home: AssignmentFiles, functions: Set[str]) -> None:
    """Raise UsageError unless the solution passes the checks of these functions; nothing could be concluded then."""
    text = (home.solution / home.assignment.submission).read_text(encoding="utf-8")
    for function in sorted(functions):
        solution = Candidate("the solution", "", function, "", "", text, "")
        seen = pool.submit(observe, solution, (), ()).result()
        if seen.stopped:
            raise UsageError(seen.stopped)
        if seen.shows or not seen.settled:
            where = f" {', '.join(seen.shows)}" if seen.shows else ": a call runs into a limit"
            raise UsageError(f"the solution does not pass{where}; run `python -m grader build {home.assignment.name}`")


def as_candidate(variant: Variant) -> Candidate:
    """Return a mistake of the catalogue as if it were a candidate."""
    definition = cutting.find_definition(variant.submission, variant.function)
    return Candidate(
        variant.id, variant.question, variant.function, variant.id, definition, variant.submission, variant.hint, habit=True
    )


def _is_like(proposal: Proposal, candidate: Candidate, seen: Observation) -> bool:
    return proposal.candidate.function == candidate.function and proposal.observation.agrees(seen)


def _is_accepted(home: AssignmentFiles, candidate: Candidate) -> bool:
    """Return whether survivors.toml already says that nothing catches this mutant, and why."""
    return any(entry.covers(candidate.question, candidate.change) for entry in read_survivors(home))


def _choose(
    pool: TrialPool,
    home: AssignmentFiles,
    grouped: Iterable[Proposal],
    shown: Sequence[Mapping[str, Any]],
    groups: Sequence[WrongGroup],
) -> list[Proposal]:
    """Return the proposals that a second seed confirms, in the order of questions, the most useful ones of each first."""
    patterns = {frozenset(shows) for shows in shown}
    order = {question.id: index for index, question in enumerate(home.assignment.questions)}
    again = [(one, pool.submit(observe, one.candidate, (), (), 1)) for one in grouped]
    found = []
    for one, other in again:
        second = other.result().shows
        if any(check in second and agree(saw, second[check]) for check, saw in one.observation.shows.items()):
            own = tuple(group for group in groups if group.id in one.observation.like)
            is_new = bool(patterns) and frozenset(one.observation.shows) not in patterns
            found.append(replace(one, groups=own, is_new=is_new))

    return _sort(found, order, patterns)


def _sort(found: Sequence[Proposal], order: Mapping[str, int], patterns: Set[frozenset[str]]) -> list[Proposal]:
    """Return the proposals in the order of questions; of each, what a class does first.

    Then come habits, and what fails a set of checks that nothing before it fails; each kind once before any comes twice.

    Args:
        order: The place of each question.
        patterns: The sets of checks that known mistakes fail.
    """

    def rank(one: Proposal) -> tuple[object, ...]:
        students = sum(group.submissions for group in one.groups)
        return order[one.candidate.question], -students, not one.candidate.habit, len(one.candidate.change)

    times: Counter[object] = Counter(patterns)
    ranked: list[tuple[int, bool, int, int, int]] = []
    for one in sorted(found, key=rank):
        pattern, kind = frozenset(one.observation.shows), re.sub(r"_\d+$", "", one.candidate.name)
        seen = times[pattern] + (not one.candidate.habit)
        ranked.append((order[one.candidate.question], not one.groups, seen, times[kind], len(ranked)))
        times.update([pattern, kind])
    by_place = dict(zip(ranked, sorted(found, key=rank), strict=True))
    return [by_place[place] for place in sorted(ranked)]


def suggest_missing_ideas(home: AssignmentFiles, question: str | None = None) -> dict[str, tuple[str, ...]]:
    """Return mistakes for the checks without an entry in catches.toml; none for a check whose idea no mistake carries.

    Args:
        question: The question of the checks; None for all.
    """
    whole = list_end_to_end_questions(home.assignment)
    checks = {
        f"{suite}/{check.name}": check.question
        for suite in SUITES
        for check in list_checks(home.checks[suite])
        if check.question and check.question not in whole
    }
    recorded = [one for one in list_recorded_mistakes(home) if ", " not in one.id]
    caught = {one.id: {check.partition("[")[0] for check in one.shows} for one in recorded}
    found = suggest_ideas(read_ideas(home), checks, caught)
    return {check: names for check, names in found.items() if caught and question in (None, checks[check])}


def draft_mistake(home: AssignmentFiles, proposal: Proposal) -> NewMistake:
    """Return the entry of mistakes.py for a proposal, with a draft of its hint."""
    candidate = proposal.candidate
    described = cutting.describe(None, find_solution(home, candidate.function), candidate.definition)
    source = "student code" if proposal.groups else ""
    return NewMistake(
        candidate.name,
        candidate.question,
        candidate.function,
        candidate.hint,
        source,
        described["edits"],
        described["text"],
        tuple(described["names"]),
        form=proposal.form,
    )
