"""The student's desk: grading at every save."""
