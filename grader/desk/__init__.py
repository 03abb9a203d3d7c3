"""The student's desk: grading at every save, and the closer look at what the checks of one question did."""
