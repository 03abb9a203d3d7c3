"""The solution of an assignment that is just large enough to try out how suites are proven."""


def total(values: list[float]) -> float:
    """Return the sum of all values."""
    # BEGIN SOLUTION total
    result = 0.0
    for value in values:
        result = result + value
    return result
    # END SOLUTION


def spread(values: list[float], scale: float = 1.0) -> float:
    """Return the largest value minus the smallest, times `scale`."""
    # BEGIN SOLUTION spread
    return (max(values) - min(values)) * scale
    # END SOLUTION
