"""Visible checks of `NAME`, which students get. Their cases and answers are in solution.json."""

from grader.judge import points
from grader.judge.views import only

# For authors: `expect` calls the driver of a case, and compares the facts with the stored answer. `only` is a view: it selects
# the facts of this check. Each check tests one idea; its docstring is the line that students read.

averages = only("averages")


@points(1, question="get_moving_average")
def test_by_hand(student):
    """With keep = 0.25, the averages of 4, 0, 8 are 4, 1, 6.25."""
    student.expect("three_values", averages)


# The default tolerances, rtol=1e-4 and atol=1e-5, suit float32. These are float64 sums of twenty terms: correct versions differ
# by less than 1e-14, mistakes by more than 1e-3.
@points(1, question="get_moving_average")
def test_many_values(student):
    """Each average is keep (0.9 by default) times the previous average, plus (1 - keep) times the new value."""
    student.expect("many_values", averages, rtol=1e-9, atol=1e-12)


@points(1, question="get_moving_average")
def test_values_stay(student):
    """The input array is not modified."""
    student.expect("many_values", only("values afterwards"))
