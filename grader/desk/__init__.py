"""The student's desk: looking closer at what the visible checks of one question did."""
