"""Alternatives of `NAME`: different, but right; each must get full marks.

They keep checks from asking for one way to write it.
"""

import numpy as np

from grader.proof.catalogue import alternative


@alternative("get_moving_average")
def without_loop(values, keep=0.9):
    """Rounds otherwise than the solution does: that is what a check's tolerance is for."""
    age = np.arange(len(values))[:, None] - np.arange(len(values))
    weights = np.where(age >= 0, (1 - keep) * keep ** np.abs(age), 0.0)
    weights[:, 0] = keep ** np.arange(len(values))
    return weights @ values


@alternative("get_moving_average")
def by_steps(values, keep=0.9):
    averages = [values[0]]
    for value in values[1:]:
        averages.append(averages[-1] + (1 - keep) * (value - averages[-1]))
    return np.array(averages)
