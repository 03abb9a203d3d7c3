from grader.judge import points


@points(1, question="total")
def test_three(student):
    """1.5 - 2 + 4 is 3.5."""
    student.expect("three_values")


@points(1, question="total")
def test_many(student):
    """The sum of nine values."""
    student.expect("many_values")


@points(1, question="spread")
def test_spread(student):
    """From -2 to 4 it is 6, times 3."""
    student.expect("spread_of_three")


@points(1, question="both")
def test_both(student):
    """Both functions at work."""
    student.expect("both_of_four")
