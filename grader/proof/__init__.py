"""The proof of a suite: what it is tried with, and what that shows."""
