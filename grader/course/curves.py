"""Curves: the points of a student's work, raised by a rule that is the same for the whole class.

A curve depends only on the points of the work in the class, with what staff change by hand in single questions, but before
attempts, lateness and the policy's adjustments, so that nobody's extension moves the score of somebody else.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from grader.assignment import UsageError
from grader.course.policy import PLACES, Curve


def find_mean(works: Iterable[Fraction]) -> Fraction:
    """Return the mean of the points of those who have points; 0 if nobody has."""
    counted = [points for points in works if points > 0]
    return sum(counted, Fraction(0)) / max(len(counted), 1)


def curve_points(points: Fraction, maximum: Fraction, rule: Curve, mean: Fraction) -> Fraction:
    """Return the points after the curve: no fewer, and no more than the maximum unless there were more before.

    Work without points stays without, so that a curve pays nobody for submitting the stub. With more points before the
    curve there are never fewer after it.

    Args:
        mean: Of the class, from `find_mean`.

    Raises:
        UsageError: If the policy asks for a mean above the maximum.
    """
    if rule.mean is not None and rule.mean > maximum:
        raise UsageError(f"curve.mean: {rule.mean:f} is above the maximum of {float(maximum):g} points; expected less")
    if not 0 < points < maximum:
        return points
    if rule.mean is None:
        return max(points, _square_root(points / maximum) * maximum)
    return min(points + max(Fraction(rule.mean) - mean, Fraction(0)), maximum)


def _square_root(share: Fraction) -> Fraction:
    """Return the root rounded to twice as many places as a score shows: no float, so every machine gets the same."""
    scale = 10 ** (2 * PLACES)
    return Fraction(math.isqrt(math.floor(share * scale**2)), scale)
