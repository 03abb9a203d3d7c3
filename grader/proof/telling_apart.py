"""Look for cases that separate what no check separates: a surviving change from the solution, or two mistakes that look alike.

The inputs of existing cases are varied (variations.py). A variation is a proposal if the solution can answer it, and the two
answer differently. Facts in which they differ with the inputs that there are do not count, because no check minds these.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from grader.answers import Mistake
from grader.assignment import AssignmentFiles
from grader.authoring.recipes import holds_nan, list_unstorable
from grader.judge.compare import difference
from grader.judge.run import Grader
from grader.proof.candidates import Candidate
from grader.proof.catalogue import load_catalogue
from grader.proof.pool import TrialPool
from grader.proof.proposing import agree
from grader.proof.reduction import list_recorded_mistakes
from grader.proof.trials import keep_replies
from grader.proof.variations import Inputs, Variation, format_code, list_cases, list_variations

LEAST_OF_A_CASE, MOST_OF_A_FUNCTION = 8, 150  # variations that are tried
SECONDS = 2.0  # of one call; a correct one takes hundredths
BUDGET = 20.0  # seconds for all calls of one submission; then the rest is not tried
RAISED = "raised"


@dataclass(frozen=True)
class Unseparated:
    """Two submissions between which no check tells.

    Attributes:
        label: What they are, in words.
        one, other: Their texts.
    """

    label: str
    function: str
    one: str
    other: str


@dataclass(frozen=True)
class ProposedCase:
    """A variation, and what it separates."""

    variation: Variation
    tells: tuple[Unseparated, ...]


def list_survivors(home: AssignmentFiles, survivors: Iterable[Candidate]) -> list[Unseparated]:
    """Return candidates that no check catches, each beside the solution."""
    solution = (home.solution / home.assignment.submission).read_text(encoding="utf-8")
    return [Unseparated(f"{one.question}: {one.change}", one.function, solution, one.submission) for one in survivors]


def list_unseparated(home: AssignmentFiles, survivors: Iterable[Candidate], question: str | None) -> list[Unseparated]:
    """Return what no check separates: candidates that none catches, and recorded mistakes that look alike.

    Args:
        question: The question of the mistakes; None for all.
    """
    texts = {one.id: one.submission for one in load_catalogue(home, "mistakes")}
    return [*list_survivors(home, survivors), *list_lookalikes(home, list_recorded_mistakes(home), texts, question)]


def list_lookalikes(
    home: AssignmentFiles, recorded: Sequence[Mistake], texts: Mapping[str, str], question: str | None = None
) -> list[Unseparated]:
    """Return the pairs of recorded mistakes that show the same to every check.

    Args:
        texts: The submission of each mistake of the catalogue.
        question: The question of the mistakes; None for all.
    """
    found = []
    for one, other in itertools.combinations([each for each in recorded if each.id in texts and each.shows], 2):
        function = home.assignment.question(one.question).function
        same = one.shows.keys() == other.shows.keys() and one.id.partition(",")[0] != other.id.partition(",")[0]
        if (
            same
            and question in (None, one.question)
            and all(agree(saw, other.shows[check]) for check, saw in one.shows.items())
        ):
            found.append(Unseparated(f"{one.id} and {other.id}", function, texts[one.id], texts[other.id]))
    return found


def find_cases(
    pool: TrialPool, home: AssignmentFiles, unseparated: Sequence[Unseparated]
) -> tuple[list[ProposedCase], list[Unseparated]]:
    """Return few cases that separate as many of these as possible, and those that no variation separates."""
    proposed: list[ProposedCase] = []
    left: list[Unseparated] = []
    for function in dict.fromkeys(one.function for one in unseparated):
        own = [one for one in unseparated if one.function == function]
        before = [(case.driver, case.inputs) for case, _ in list_cases(home, function)]
        tried = list(list_variations(home, function, max(LEAST_OF_A_CASE, MOST_OF_A_FUNCTION // max(len(before), 1))))
        tried = list_usable(pool, home, tried)
        calls = [*before, *((one.driver, one.inputs) for one in tried)]
        texts = dict.fromkeys(text for one in own for text in (one.one, one.other))
        pending = {text: pool.submit(answer_calls, text, calls, 0) for text in texts}
        answers = {text: each.result() for text, each in pending.items()}
        telling: dict[int, list[Unseparated]] = {}
        facts: dict[int, set[str]] = {}
        for one in own:
            overlooked = {
                (driver, fact)
                for index, (driver, _) in enumerate(before)
                for fact in _list_differences(answers[one.one][index], answers[one.other][index])
            }
            for index, variation in enumerate(tried):
                place = index + len(before)
                seen = _list_differences(answers[one.one][place], answers[one.other][place])
                if new := {fact for fact in seen if (variation.driver, fact) not in overlooked}:
                    telling.setdefault(index, []).append(one)
                    facts[index] = facts.get(index, set()) | new
        tried = [replace(one, facts=tuple(sorted(facts.get(index, ())))) for index, one in enumerate(tried)]
        chosen = list(_choose(tried, telling))
        proposed += [replace(case, variation=format_code(home, case.variation)) for case in chosen]
        told = [one for case in chosen for one in case.tells]
        left += [replace(one, label=f"{one.label} ({len(tried)} inputs tried)") for one in own if one not in told]
    return proposed, left


def list_usable(pool: TrialPool, home: AssignmentFiles, tried: Sequence[Variation]) -> list[Variation]:
    """Return the variations that the solution can answer, so that a check can compare the answer."""
    solution = (home.solution / home.assignment.submission).read_text(encoding="utf-8")
    right = [pool.submit(answer_calls, solution, [(one.driver, one.inputs) for one in tried], seed) for seed in (0, 1)]
    return [one for one, *answers in zip(tried, *(each.result() for each in right), strict=True) if _is_usable(*answers)]


def _choose(tried: Sequence[Variation], telling: Mapping[int, list[Unseparated]]) -> Iterator[ProposedCase]:
    """Yield the variation that tells most apart, then the one that tells most of the rest, and so on; short ones first."""
    told: list[Unseparated] = []
    while True:
        fresh = {index: [one for one in found if one not in told] for index, found in telling.items()}
        best = max(fresh, key=lambda index: (len(fresh[index]), -len(tried[index].code)), default=None)
        if best is None or not fresh[best]:
            return
        yield ProposedCase(tried[best], tuple(fresh[best]))
        told += fresh[best]


def answer_calls(grader: Grader, submission: str, calls: Sequence[tuple[str, Inputs]], seed: int) -> list[Any]:
    """Return the facts of each call, or why there are none; None if it was not tried; a function for `TrialPool.submit`."""
    path = grader.harness.place(submission.encode())
    seconds = min(SECONDS, grader.home.assignment.limits.seconds)
    found: list[Any] = []
    began = time.monotonic()
    with keep_replies(grader, finds=True):
        for driver, inputs in calls:
            if time.monotonic() - began > BUDGET:
                found.append(None)
                continue
            reply = grader.harness.sandbox.call(driver, inputs, path, seconds, seed)
            found.append(reply.facts if reply.status == "ok" else [RAISED, reply.status, str(reply.details.get("type", ""))])
    return found


def _is_usable(answer: Any, again: Any) -> bool:
    """Return whether the solution has an answer that a check can compare, and that chance does not decide."""
    return (
        isinstance(answer, dict) and not list_unstorable(answer) and not holds_nan(answer) and difference(answer, again) is None
    )


def _list_differences(one: Any, other: Any) -> list[str]:
    """Return the facts in which two answers differ; "" for an answer without facts."""
    if one is None or other is None:
        return []
    if not isinstance(one, dict) or not isinstance(other, dict):
        return [] if one == other else [""]
    return [fact for fact in one if difference(one[fact], other.get(fact), equal_nan=True) is not None]
