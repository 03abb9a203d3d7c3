"""The trusted side: runs the checks, compares, scores. Checks import `points` from here; `student` and `kit` are fixtures."""

from __future__ import annotations

import pytest


def points(number: float, question: str) -> pytest.MarkDecorator:
    """Return the mark that makes a test a check of `question`, worth `number` points."""
    return pytest.mark.points(number, question=question)
