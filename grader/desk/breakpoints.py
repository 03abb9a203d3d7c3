"""Grade a file with breakpoints as if they were not there: in the sandbox, nobody could type at them."""

from __future__ import annotations

import ast
import contextlib
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from grader.assignment import Assignment

BREAKPOINT = re.compile(rb"\b(?:breakpoint|set_trace)[ \t]*\(")
# After the last line, so that all others keep their numbers.
IGNORING = b"\n\nimport pdb as _pdb, sys as _sys\n_sys.breakpointhook = _pdb.set_trace = lambda *_, **__: None\n"


def has_breakpoints(submission: Path) -> bool:
    """Return whether a file of Python that can be parsed calls breakpoint() or pdb.set_trace()."""
    if submission.suffix != ".py" or not submission.is_file():
        return False
    source = submission.read_bytes()
    with contextlib.suppress(SyntaxError, ValueError):  # such a file is graded as it is
        ast.parse(source)
        return BREAKPOINT.search(source) is not None
    return False


@contextlib.contextmanager
def ignore_breakpoints(submission: Path, assignment: Assignment) -> Iterator[Path]:
    """Yield the file to grade: a copy that ignores breakpoints, with its attachments; the submission, if it has none."""
    if not has_breakpoints(submission):
        yield submission
        return
    with tempfile.TemporaryDirectory(prefix="debug-") as folder:
        copy = Path(folder, submission.name)
        copy.write_bytes(submission.read_bytes() + IGNORING)
        for name in assignment.attachments:
            if (file := submission.with_name(name)).is_file():
                shutil.copyfile(file, copy.with_name(name))
        yield copy
