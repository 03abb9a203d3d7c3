from grader.judge import points
from views import spread_alone


@points(1, question="total")
def test_nothing_to_add(student):
    """The sum of nothing is 0."""
    student.expect("no_values")


@points(1, question="spread")
def test_default_scale(student):
    """Without a scale, it is 1."""
    student.expect("default_scale", spread_alone)
