"""The student's tools: grade at every save, and look closer at the checks of one question."""
