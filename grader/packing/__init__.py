"""What leaves the repository: the zip of students, and what packages for platforms share."""
