"""Hidden checks of `NAME`: edge cases and properties. Only a grader has them."""

from grader.judge import points
from grader.judge.views import only


@points(1, question="get_moving_average")
def test_default_keep(student):
    """Without keep, 0.9 is used."""
    student.expect("default_keep", only("averages"))


@points(1, question="get_moving_average")
def test_values_stay(student):
    """The values are only read."""
    student.expect("default_keep", only("values afterwards"))
