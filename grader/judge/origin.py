"""Map lines of an extract back to the notebook that it was made from."""

from __future__ import annotations

import bisect
from dataclasses import dataclass, replace
from typing import Any

from grader.sandbox.reply import Reply


@dataclass(frozen=True)
class NotebookOrigin:
    """The position of each statement of an extract in its notebook.

    Attributes:
        lines: For each statement, in the file's order: its first line in the file, its cell, and
            its first line in the cell.
    """

    lines: list[tuple[int, int, int]]

    def placed(self, reply: Reply) -> Reply:
        """Return the reply with the lines of its frames mapped to cells."""
        frames = reply.details.get("frames")
        if not isinstance(frames, list):
            return reply
        return replace(reply, details=reply.details | {"frames": [self._frame(frame) for frame in frames]})

    def _frame(self, frame: dict[str, Any]) -> dict[str, Any]:
        index = bisect.bisect_right(self.lines, frame["line"], key=lambda entry: entry[0]) - 1
        if index < 0:
            return frame
        first, cell, line = self.lines[index]
        return frame | {"cell": cell, "line": line + frame["line"] - first}
