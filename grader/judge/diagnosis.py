"""Recognise the mistake in a wrong answer: compare the failures of its checks with those that each known mistake causes."""

from __future__ import annotations

from collections.abc import Sequence

from grader.answers import UNPREDICTABLE, Mistake
from grader.judge.failure import CheckFailed


def find_fitting_mistakes(mistakes: Sequence[Mistake], seen: dict[str, CheckFailed | None]) -> list[Mistake]:
    """Return the mistakes that explain everything that was seen of a question.

    They are in the order of the catalogue. A mistake fits when it fails the same of these checks,
    and in each of them shows the same. Where it shows something else each time, failing is enough,
    but is not evidence: a mistake that fits by more evidence excludes those that fit by less.

    Args:
        seen: For each of the question's checks that was run, how it failed, or None if it passed.
    """
    failed = {check: failure for check, failure in seen.items() if failure is not None}
    passed = seen.keys() - failed.keys()
    evidence = {
        mistake.id: _evidence(mistake, failed)
        for mistake in mistakes
        if failed.keys() <= mistake.shows.keys() and not passed & mistake.shows.keys()
    }
    most = max(evidence.values(), default=0)
    return [mistake for mistake in mistakes if most and evidence.get(mistake.id) == most]


def _evidence(mistake: Mistake, failed: dict[str, CheckFailed]) -> int:
    """Return in how many of the failed checks the mistake shows the same; 0 if it shows something else in any."""
    evident = {check: failure for check, failure in failed.items() if mistake.shows[check] != UNPREDICTABLE}
    return len(evident) if all(failure.evidence.fits(mistake.shows[check]) for check, failure in evident.items()) else 0


def find_hint(mistakes: list[Mistake]) -> str:
    """Return the hint for mistakes that fit equally well: that of the first, since catalogues begin with the general ones."""
    return mistakes[0].hint if mistakes else ""
