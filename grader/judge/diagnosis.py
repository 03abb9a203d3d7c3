"""Recognize the mistake in a wrong answer: compare the failures of its checks with those that each known mistake causes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

from grader.answers import Mistake, MistakePair
from grader.judge.evidence import WHOLE, count_sums
from grader.judge.failure import CheckFailed

MOST_SUSPECTS = 40  # that are tried in pairs
MIXED = 1 / 3  # of the wrong parts of answers, at most, may be unexplained because two mistakes make them wrong together
ENOUGH_SUMS = 2  # one may be the same by accident: cases that are made to be read have small numbers

Spot = tuple[str, str]
"""A check, and the name of a wrong part of the answer that it saw."""

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
    wrong = _list_wrong(failed)
    suspects = [suspect for one in mistakes if (suspect := _Suspect.of(one, seen, wrong)) and suspect.explained]
    return _find_pair(suspects[:MOST_SUSPECTS], wrong) or _find_parts(suspects)


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
    wrong = _list_wrong({check: failure for check, failure in seen.items() if failure is not None})
    evidence = [_evidence(one, seen, wrong) for one in known]
    most = max(evidence, default=0)
    return [one for one, found in zip(known, evidence, strict=True) if most and found == most]


def _evidence(known: Mistake | MistakePair, seen: Mapping[str, CheckFailed | None], wrong: frozenset[Spot]) -> int:
    """Return in how many wrong parts a mistake or pair that explains all of them shows the same; 0 for any other."""
    if not all(check in known.shows for check, _ in wrong):
        return 0
    compared = _compare(known, seen)
    if compared is None or compared.keys() != wrong or False in compared.values():
        return 0
    return sum(same is True for same in compared.values())


def _list_wrong(failed: Mapping[str, CheckFailed]) -> frozenset[Spot]:
    """Return the wrong parts of all answers."""
    return frozenset((check, part) for check, failure in failed.items() for part in failure.evidence.wrong_parts)


def _compare(known: Mistake | MistakePair, seen: Mapping[str, CheckFailed | None]) -> dict[Spot, bool | None] | None:
    """Return whether a mistake or pair shows the same in each wrong part that it explains, or None if chance decides.

    Return None instead if a check passed that it fails, or if a part is right that it makes wrong.
    """
    compared: dict[Spot, bool | None] = {}
    for check in known.shows.keys() & seen.keys():
        failure = seen[check]
        if failure is None:
            return None
        parts = failure.evidence.compare(known.shows[check])
        if not parts.keys() <= failure.evidence.wrong_parts:
            return None
        compared |= {(check, part): same for part, same in parts.items()}
    return compared


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
    """A mistake that makes nothing wrong that is right.

    Attributes:
        fails: The wrong parts of answers that it would make wrong.
        explained: Those in which it shows what was seen.
        differs: Those in which it shows something else.
        complete: Whether it leaves nothing to explain in the checks that it fails.
        telling: Whether enough numbers are among what it explains, where it does not explain everything, and it explains as
            many parts as it shows otherwise.
    """

    mistake: Mistake
    fails: frozenset[Spot]
    explained: frozenset[Spot]
    differs: frozenset[Spot]
    complete: bool
    telling: bool

    @classmethod
    def of(cls, mistake: Mistake, seen: Mapping[str, CheckFailed | None], wrong: frozenset[Spot]) -> _Suspect | None:
        """Return the suspect; None if something is right that the mistake would make wrong."""
        compared = _compare(mistake, seen)
        if compared is None:
            return None
        explained = frozenset(spot for spot, same in compared.items() if same)
        differs = frozenset(spot for spot, same in compared.items() if same is False)
        fails = {check for check, _ in compared}
        complete = not differs and all(spot in compared for spot in wrong if spot[0] in fails)
        telling = len(explained) >= len(differs) and _count_sums(mistake, explained) >= ENOUGH_SUMS
        return cls(mistake, frozenset(compared), explained, differs, complete, telling)

    def explains(self, check: str) -> bool:
        """Return whether it explains a part of what the check saw."""
        return any(check == one for one, _ in self.explained)

    def fails_check(self, check: str) -> bool:
        """Return whether it makes a part of what the check saw wrong."""
        return any(check == one for one, _ in self.fails)


def _count_sums(mistake: Mistake, explained: Iterable[Spot]) -> int:
    parts: dict[str, set[str]] = {}
    for check, part in explained:
        parts.setdefault(check, set()).add(part)
    return sum(count_sums(mistake.shows[check], None if WHOLE in names else names) for check, names in parts.items())


def _find_pair(suspects: Sequence[_Suspect], wrong: frozenset[Spot]) -> dict[str, Suspicion]:
    """Return the suspicion that two mistakes together explain the failures, if some pair does; the best one by evidence.

    Together the two make wrong exactly what is wrong. Each explains a part of an answer that the other does not. A part that
    neither explains is made wrong by both, so that its evidence may be a mixture; most parts must be explained. Nothing is said
    of a side on which several mistakes with different hints explain the same.
    """
    best = 0
    pairs: list[tuple[_Suspect, _Suspect]] = []
    for one, other in combinations(suspects, 2):
        alone = (one.explained - other.explained, other.explained - one.explained)
        apart = one.differs <= other.fails and other.differs <= one.fails
        mixed = wrong - one.explained - other.explained
        if one.fails | other.fails != wrong or not all(alone) or not apart or len(mixed) > MIXED * len(wrong):
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
    sides = [side for side in sides if len({suspect.mistake.hint for suspect in side}) == 1]
    sides.sort(key=lambda side: -len(side[0].explained))
    asked = [side[0].mistake.hint for side in sides]
    found = {}
    for check in {check for check, _ in wrong}:
        own = [side[0].explains(check) for side in sides]
        if not any(own):
            own = [side[0].fails_check(check) for side in sides]
        mistakes = tuple(suspect.mistake for side, concerned in zip(sides, own, strict=True) if concerned for suspect in side)
        ordered = sorted(zip(asked, own, strict=True), key=lambda side: not side[1])
        if any(own):
            found[check] = Suspicion(mistakes, tuple(dict.fromkeys(hint for hint, _ in ordered)), certain=False)
    return found


def _find_parts(suspects: Sequence[_Suspect]) -> dict[str, Suspicion]:
    """Return, for each check, the mistake that explains it: the one that explains most of all checks.

    It contradicts no other check. If there is none, a mistake is accepted that explains numbers in some checks and shows
    other numbers in as many other failed checks at most, where a second fault may interfere. Nothing is said where several
    mistakes with different hints explain equally much, because they explain only a part.
    """
    found: dict[str, Suspicion] = {}
    for group in ([one for one in suspects if one.complete], [one for one in suspects if one.telling]):
        for check in sorted({check for suspect in group for check, _ in suspect.explained} - found.keys()):
            fitting = [suspect for suspect in group if suspect.explains(check)]
            most = max(len(suspect.explained) for suspect in fitting)
            mistakes = tuple(suspect.mistake for suspect in fitting if len(suspect.explained) == most)
            if len(hints := {mistake.hint for mistake in mistakes}) == 1:
                found[check] = Suspicion(mistakes, tuple(hints), certain=False)
    return found
