"""How long a test waits for another process. Nothing is measured by it: a busy machine may be ten times slower."""

PATIENCE = 300.0  # seconds
