"""Grading a whole class: who handed in what, one result each, and what can be told of them all. Trusted; no torch."""
