"""Recognise the mistake in a wrong answer: compare the failures of its checks with those that each known mistake causes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

from grader.answers import UNPREDICTABLE, Mistake, MistakePair
from grader.judge.evidence import count_sums
from grader.judge.failure import CheckFailed

MOST_SUSPECTS = 40  # that are tried in pairs
ENOUGH_SUMS = 2  # one may be the same by accident: cases that are made to be read have small numbers

Known = TypeVar("Known", Mistake, MistakePair)


@dataclass(frozen=True)
class Suspicion:
    """The known mistakes that may explain a failed check.

    Attributes:
        mistakes: The mistakes that fit equally well, in the order of the catalogue.
        hints: Hints for the student, best explanation first; if several are certain, one of them is right.
        certain: Whether the mistakes explain everything seen of the question, not only a part of it.
    """

    mistakes: tuple[Mistake, ...]
    hints: tuple[str, ...]
    certain: bool


def diagnose(
    mistakes: Sequence[Mistake],
    seen: Mapping[str, CheckFailed | None],
    pairs: Sequence[MistakePair] = (),
    question: str | None = None,
) -> dict[str, Suspicion]:
    """Return, for each failed check of a question, the mistakes that may explain it; unexplained checks are left out.

    Explanations are tried in this order: one mistake that explains everything, a recorded pair that does, two mistakes that
    do so together, one mistake that explains a part. Anything else stays unnamed: silence is better than a false accusation.

    Args:
        seen: For each check of the question that ran, its failure, or None if it passed.
        pairs: The recorded evidence of two mistakes in one submission.
        question: The question of these checks. A mistake of another question is only named if numbers or an exception match,
            not just values of True and False.
    """
    if question is not None:
        mistakes = [one for one in mistakes if one.question == question or _tells_more(one, seen)]
    failed = {check: failure for check, failure in seen.items() if failure is not None}
    if whole := find_fitting_mistakes(mistakes, seen):
        return dict.fromkeys(failed, Suspicion(tuple(whole), choose_hints(whole), certain=True))
    if recorded := _find_recorded_pair(pairs, seen):
        return dict.fromkeys(failed, recorded)
    passed = seen.keys() - failed.keys()
    known = [mistake for mistake in mistakes if mistake.shows.keys() & failed.keys() and not mistake.shows.keys() & passed]
    suspects = [suspect for mistake in known if (suspect := _Suspect.of(mistake, failed)).explained]
    return _find_pair(suspects[:MOST_SUSPECTS], failed.keys()) or _find_parts(suspects)


def _tells_more(mistake: Mistake, seen: Mapping[str, object]) -> bool:
    """Return whether these checks see numbers of a mistake, or an exception, and not only a few values of True or False."""
    shows = [mistake.shows[check] for check in mistake.shows.keys() & seen.keys()]
    return any(isinstance(one, dict) for one in shows) or sum(map(count_sums, shows)) >= ENOUGH_SUMS


def find_fitting_mistakes(mistakes: Sequence[Mistake], seen: Mapping[str, CheckFailed | None]) -> list[Mistake]:
    """Return the mistakes that explain everything seen of a question.

    They are in the order of the catalogue. A mistake fits when it fails the same of these checks,
    and in each of them shows the same. Where it shows something else each time, failing is enough,
    but is not evidence: a mistake that fits by more evidence excludes those that fit by less.

    Args:
        seen: See `diagnose`.
    """
    return _find_fitting(mistakes, seen)


def _find_fitting(known: Sequence[Known], seen: Mapping[str, CheckFailed | None]) -> list[Known]:
    failed = {check: failure for check, failure in seen.items() if failure is not None}
    passed = seen.keys() - failed.keys()
    evidence = [
        _evidence(one, failed) if failed.keys() <= one.shows.keys() and not passed & one.shows.keys() else 0 for one in known
    ]
    most = max(evidence, default=0)
    return [one for one, found in zip(known, evidence, strict=True) if most and found == most]


def _evidence(known: Mistake | MistakePair, failed: Mapping[str, CheckFailed]) -> int:
    """Return the number of failed checks in which a mistake or pair shows the same evidence; 0 if any evidence differs."""
    evident = {check: failure for check, failure in failed.items() if known.shows[check] != UNPREDICTABLE}
    return len(evident) if all(failure.evidence.fits(known.shows[check]) for check, failure in evident.items()) else 0


def _find_recorded_pair(pairs: Sequence[MistakePair], seen: Mapping[str, CheckFailed | None]) -> Suspicion | None:
    """Return both mistakes of the only recorded pair that fits, or the mistake that all fitting pairs share."""
    fitting = _find_fitting(pairs, seen)
    if not fitting:
        return None
    common = [one for one in fitting[0].mistakes if all(one in pair.mistakes for pair in fitting)]
    mistakes = tuple(common or fitting[0].mistakes)
    return Suspicion(mistakes, tuple(dict.fromkeys(one.hint for one in mistakes)), certain=False)


def choose_hints(mistakes: Sequence[Mistake]) -> tuple[str, ...]:
    """Return the hints for mistakes that fit equally well: both for two mistakes, only the first (most general) for more.

    The evidence does not say which one it is, and a hint about a mistake that was not made would be a false accusation.
    """
    hints = tuple(dict.fromkeys(mistake.hint for mistake in mistakes))
    return hints if len(hints) == 2 else hints[:1]


@dataclass(frozen=True, eq=False)
class _Suspect:
    """A mistake that fails none of the checks that passed.

    Attributes:
        fails: The failed checks that it would fail.
        explained: Those in which it shows what was seen.
        differs: Those in which it shows something else.
        telling: Whether enough numbers are among what it explains, where it does not explain everything.
    """

    mistake: Mistake
    fails: frozenset[str]
    explained: frozenset[str]
    differs: frozenset[str]
    telling: bool

    @classmethod
    def of(cls, mistake: Mistake, failed: Mapping[str, CheckFailed]) -> _Suspect:
        fails = frozenset(mistake.shows.keys() & failed.keys())
        evident = {check for check in fails if mistake.shows[check] != UNPREDICTABLE}
        explained = frozenset(check for check in evident if failed[check].evidence.fits(mistake.shows[check]))
        telling = sum(count_sums(mistake.shows[check]) for check in explained) >= ENOUGH_SUMS
        return cls(mistake, fails, explained, frozenset(evident) - explained, telling)


def _find_pair(suspects: Sequence[_Suspect], failed: Iterable[str]) -> dict[str, Suspicion]:
    """Return the suspicion that two mistakes together explain the failures, if some pair does; the best one by evidence.

    Together the two fail exactly the checks that failed. Each explains a check that the other does not. A check that neither
    explains is failed by both, so that its evidence may be a mixture.
    """
    every, best = frozenset(failed), 0
    pairs: list[tuple[_Suspect, _Suspect]] = []
    for one, other in combinations(suspects, 2):
        alone = (one.explained - other.explained, other.explained - one.explained)
        apart = one.differs <= other.fails and other.differs <= one.fails
        if one.fails | other.fails != every or not all(alone) or not apart:
            continue
        evidence = len(one.explained | other.explained)
        if evidence > best:
            best, pairs = evidence, []
        if evidence == best:
            pairs.append((one, other))
    if not pairs:
        return {}
    # Twins of the first pair explain the same checks, so nothing seen tells them from it.
    sides = [
        [suspect for suspect in dict.fromkeys(side) if suspect.explained == chosen.explained]
        for side, chosen in zip(zip(*pairs, strict=True), pairs[0], strict=True)
    ]
    sides.sort(key=lambda side: -len(side[0].explained))
    hints = tuple(dict.fromkeys(side[0].mistake.hint for side in sides))
    found = {}
    for check in every:
        own = [side for side in sides if check in side[0].explained] or [side for side in sides if check in side[0].fails]
        mistakes = tuple(suspect.mistake for side in own for suspect in side)
        hint = own[0][0].mistake.hint
        found[check] = Suspicion(mistakes, (hint, *(other for other in hints if other != hint)), certain=False)
    return found


def _find_parts(suspects: Sequence[_Suspect]) -> dict[str, Suspicion]:
    """Return, for each check, the mistakes that explain it, those that explain most of all checks.

    They contradict no other check. If there is none, a mistake is accepted that explains numbers in some checks and shows
    other numbers in other failed checks, where a second fault may interfere.
    """
    found: dict[str, Suspicion] = {}
    for group in ([one for one in suspects if not one.differs], [one for one in suspects if one.telling]):
        for check in sorted({check for suspect in group for check in suspect.explained} - found.keys()):
            fitting = [suspect for suspect in group if check in suspect.explained]
            most = max(len(suspect.explained) for suspect in fitting)
            mistakes = tuple(suspect.mistake for suspect in fitting if len(suspect.explained) == most)
            found[check] = Suspicion(mistakes, choose_hints(mistakes)[:1], certain=False)
    return found
