"""Grade your work: `python grade.py` in a released folder, `python grade.py NAME` in the kit's repository."""

import sys

from grader.command import student

if __name__ == "__main__":
    sys.exit(student())
