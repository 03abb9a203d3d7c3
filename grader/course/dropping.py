"""The questions of an assignment that are dropped for a student, as those that count least for the score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction


def choose_dropped(marks: Mapping[str, tuple[Fraction, Fraction]], droppable: Sequence[str], number: int) -> list[str]:
    """Return the questions without which the remaining points are the largest share of the remaining maximum.

    If all questions are worth the same, these are the ones with the fewest points. Otherwise the one with the lowest share
    is not always the best to drop, and dropping it could cost a student who has answered more
    (Kane and Kane, "Dropping Lowest Grades", Mathematics Magazine 79, 2006). Of equal ones, the first are dropped.

    Args:
        marks: Points and maximum (above 0) of each question.
        droppable: The questions to choose from; more than `number`.
    """
    share = Fraction(0)
    while True:  # each round finds a larger share, and there are finitely many (Dinkelbach's method)
        rate = {name: points - share * most for name, (points, most) in marks.items()}
        dropped = sorted(droppable, key=rate.__getitem__)[:number]
        kept = [mark for name, mark in marks.items() if name not in dropped]
        found = sum((points for points, _ in kept), Fraction(0)) / sum((most for _, most in kept), Fraction(0))
        if found <= share:
            return dropped
        share = found
