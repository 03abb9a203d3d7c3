"""Alternatives of `NAME`: other correct versions; each must get full marks.

They show that the checks do not require one way to write the code.
"""

import numpy as np

from grader.proof.catalogue import alternative


@alternative("get_moving_average")
def without_loop(values, keep=0.9):
    """Rounds differently than the solution: this is why a check has a tolerance."""
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
