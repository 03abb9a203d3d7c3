"""The stub: the solution's submitted.py with every solution cut out."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from difflib import get_close_matches

from grader.assignment import Assignment, UsageError
from grader.course.handwritten import suggest
from grader.proof.lines import split_lines

BEGIN = re.compile(r"^(?P<indent> *)# BEGIN SOLUTION (?P<question>\S+)$")
END = re.compile(r"^ *# END SOLUTION$")
DRAFT = re.compile(r"^ *# DRAFT$")
# Comments that were meant as one of these marks.
MEANT = re.compile(r"^\s*#\s*(?P<what>begin|end)\W*\s(?P<word>\w+)\b(?P<rest>.*)$", re.IGNORECASE)


class StubError(UsageError):
    """No stub can be made of a solution.

    Attributes:
        faults: What is wrong, for each such line.
    """

    def __init__(self, *faults: str) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


def make_stub(source: str, assignment: Assignment) -> str:
    """Return the stub of a solution.

    The code between `# BEGIN SOLUTION question` and `# END SOLUTION` is replaced by a comment with its number of lines, and a
    NotImplementedError with the question's task. After a line `# DRAFT`, the comments up to the end are a draft that students
    repair: they become code, and there is no error.

    Raises:
        StubError: For marks without their counterparts, unknown questions, or code in a draft.
    """
    lines: list[str] = []
    tasks = {question.id: question.task for question in assignment.questions}
    faults = _read_marks(source, tasks)
    start, name = 0, ""
    hidden: list[str] | None = None
    draft: list[str] | None = None
    for number, line in enumerate(split_lines(source), 1):
        if begin := BEGIN.match(line):
            if hidden is not None:
                raise StubError(
                    *faults, f"line {start}: the solution of {name} has no line # END SOLUTION before line {number}"
                )
            hidden, start, name = [], number, begin["question"]
            opening, indent = f"{begin['question']}: {tasks.get(begin['question'])}", begin["indent"]
        elif END.match(line):
            if hidden is None:
                raise StubError(
                    *faults, f"line {number}: found # END SOLUTION without a line # BEGIN SOLUTION QUESTION above it"
                )
            about = indent + _announce(hidden)
            lines += [about, *_raise(opening, indent)] if draft is None else [f"{about}: repair this draft", *draft]
            hidden = draft = None
        elif hidden is not None and DRAFT.match(line):
            draft = []
        elif draft is not None:
            if not line.startswith(f"{indent}# "):
                faults.append(f"line {number}: expected a comment in the draft")
            draft.append(indent + line.removeprefix(f"{indent}# "))
        elif hidden is not None:
            hidden.append(line)
        else:
            lines.append(line)
    if hidden is not None:
        faults.append(f"line {start}: the solution of {name} has no closing line # END SOLUTION")
    if faults:
        raise StubError(*faults)
    return "\n".join(lines) + "\n"


def _announce(hidden: list[str]) -> str:
    """Return the comment that says how much code is missing."""
    size = sum(bool(text.strip()) and not text.strip().startswith("#") for text in hidden)
    return f"# YOUR CODE HERE (about {size} {'line' if size == 1 else 'lines'})"


def _read_marks(source: str, known: Collection[str]) -> list[str]:
    """Return the faults in single marks; raise StubError if some are misspelled, because then others lack counterparts."""
    unknown, misspelled = list(_list_unknown(source, known)), list(_list_misspelled(source))
    if misspelled:
        raise StubError(*unknown, *misspelled)
    return unknown


def _list_unknown(source: str, known: Collection[str]) -> Iterator[str]:
    """Yield a fault for each solution of an unknown question."""
    for number, line in enumerate(split_lines(source), 1):
        if (begin := BEGIN.match(line)) and begin["question"] not in known:
            yield f"line {number}: there is no question {begin['question']!r}; {suggest(begin['question'], known)}"


def _list_misspelled(source: str) -> Iterator[str]:
    """Yield a fault for each comment that is almost a mark."""
    for number, line in enumerate(split_lines(source), 1):
        meant = MEANT.match(line)
        if (
            meant
            and not BEGIN.match(line)
            and not END.match(line)
            and get_close_matches(meant["word"].upper(), ["SOLUTION"], cutoff=0.8)
        ):
            what = (
                "# END SOLUTION"
                if meant["what"].upper() == "END"
                else f"# BEGIN SOLUTION {meant['rest'].strip() or 'QUESTION'}"
            )
            more = "" if meant["rest"].strip() or what.startswith("# END") else " with the id of its question"
            yield f"line {number}: {line.strip()!r} is not a mark; write {what}{more}"


def _raise(message: str, indent: str, width: int = 128) -> list[str]:
    """Return the raise statement, its message broken into lines that fit."""
    one = f"{indent}raise NotImplementedError({_quoted(message)})"
    if len(one) <= width:
        return [one]
    parts, inner = [""], indent + "    "
    for word in message.split(" "):
        if parts[-1] and len(inner) + len(parts[-1]) + len(word) + 3 > width:
            parts.append("")
        parts[-1] += f"{word} "
    parts[-1] = parts[-1].rstrip()
    return [f"{indent}raise NotImplementedError(", *(f"{inner}{_quoted(part)}" for part in parts), f"{indent})"]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
