"""Hidden checks of `NAME`: other numbers, and edge cases. Only graders have them."""

from grader.judge import points
from grader.judge.views import only

# For authors: a mistake that fails a hidden check must also fail a visible one; otherwise students cannot find it. Hidden
# checks use other numbers, so that nobody earns their points by returning the visible answers.


@points(2, question="get_moving_average")
def test_other_values(student):
    """The averages of other values."""
    student.expect("other_values", only("averages"), rtol=1e-9, atol=1e-12)
