"""Hidden checks of `NAME`: other numbers, and edge cases. Only a grader has them."""

from grader.judge import points
from grader.judge.views import only

# For authors: what a mistake fails here, it must fail in a visible check too, or a student has no way to know of it. The points
# of hidden checks are for other numbers: nobody earns them by returning the visible answers.


@points(2, question="get_moving_average")
def test_other_values(student):
    """The averages of other values."""
    student.expect("other_values", only("averages"), rtol=1e-9, atol=1e-12)
