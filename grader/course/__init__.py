"""Grade a whole class: list the submissions, grade each one, and report on all of them. Trusted; no torch."""
