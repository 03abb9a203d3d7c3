"""Cases of `NAME`. Each makes the inputs of one driver call; `build` adds the solution's answer.

Choose inputs that expose mistakes: different numbers of both signs, no 0 or 1 where it would hide a
factor, different sizes.
"""

import numpy as np

from grader.answers import case


@case("averages", question="get_moving_average")
def three_values(rng):
    """Small enough to compute by hand: 4, then 0.25 · 4 + 0.75 · 0 = 1, then 0.25 · 1 + 0.75 · 8 = 6.25."""
    return dict(values=np.array([4.0, 0.0, 8.0]), keep=0.25)


# The generator depends only on the seed and the case's name, so every build makes the same numbers.
@case("averages", question="get_moving_average")
def many_values(rng):
    return dict(values=3 + rng.normal(size=20))


# hidden=True: for tests/hidden; stored in a separate file, and changed by `build --seed N`.
@case("averages", question="get_moving_average", hidden=True)
def other_values(rng):
    return dict(values=rng.normal(size=7), keep=0.6)
