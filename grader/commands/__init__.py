"""Each command of instructors and authors is a module here: `add_arguments`, and `run`, which returns the exit code."""
