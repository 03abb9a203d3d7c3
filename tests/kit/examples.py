"""How many examples a test of the kit draws, and with which seed: see the profiles in conftest.py."""

from __future__ import annotations

import os
import random

from hypothesis import settings

USUAL = 100  # examples of a test that names no number, in the profile "kit"


def examples(number: int) -> int:
    """Return the value of `max_examples` for a test that draws `number` in the profile "kit"."""
    profile = settings.default
    assert profile is not None
    return max(number * profile.max_examples // USUAL, 1)


def draw_lot() -> int:
    """Return the seed of a draw: GRADER_LOT if it is set, otherwise another one each time. A failure must name it."""
    return int(os.environ.get("GRADER_LOT") or random.SystemRandom().randrange(1 << 32))
