"""Pack what leaves the repository: the zip for students, and shared parts of packages for platforms."""
