"""The report model and its renderings."""
