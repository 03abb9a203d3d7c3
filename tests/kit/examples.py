"""How many examples hypothesis draws for a test of the kit: see the profiles in conftest.py."""

from __future__ import annotations

from hypothesis import settings

USUAL = 100  # examples of a test that names no number, in the profile "kit"


def examples(number: int) -> int:
    """Return the value of `max_examples` for a test that draws `number` in the profile "kit"."""
    profile = settings.default
    assert profile is not None
    return max(number * profile.max_examples // USUAL, 1)
