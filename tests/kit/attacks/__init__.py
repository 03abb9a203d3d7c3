"""Hostile submissions: what each tries, and what must be seen of it. `run.py` grades them and looks for damage."""
