"""The notebook: `solutions/NAME/notebook.py`, a script in the percent format, as `assignments/NAME/notebook.ipynb`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from grader.assignment import Question, UsageError

CELL = re.compile(r"^# %%(?P<title>[^\[]*)(?P<markdown>\[markdown\])?\s*$")
MAGIC = re.compile(r"^# (?P<magic>%\w.*)$")  # a magic would not be Python; as a comment, the source is
GRADES = "# %load_ext grader"
LOADING = """\
try:
    %load_ext grader
except ModuleNotFoundError:  # this notebook without the folder `grader` beside it
    %load_ext autoreload
    %autoreload 2

    def _grade(line, cell=None):
        if cell is not None:
            get_ipython().run_cell(cell)
        print(f"not graded: run `python grade.py {line}` in the assignment's folder")

    get_ipython().register_magic_function(_grade, magic_kind="line_cell", magic_name="grade")"""


def make_notebook(source: str, questions: Sequence[Question] = ()) -> str:
    """Return the text of a notebook without outputs, the same for the same source.

    Args:
        source: Cells that begin with `# %%` (code) or `# %% [markdown]` (text, each line after
            `# `). A name after `# %%` becomes the cell's id; a cell without a name is numbered. In
            code, a line `# %magic` becomes the magic. Text before the first cell is for
            maintainers.
        questions: If the source has a line `# %load_ext grader`, a cell that grades them is added below
            the first cell that calls their function, unless a `# %grade` of the source names them.

    Raises:
        UsageError: If the source is not valid; the message names the line.
    """
    import nbformat
    import nbformat.v4

    v4: Any = nbformat.v4  # nbformat annotates none of its functions
    writes: Any = nbformat.writes
    cells, seen = [], set()
    left = _group_questions(source, questions)
    for number, (line, title, markdown, lines) in enumerate(_cells(source), 1):
        key = re.sub(r"[^a-zA-Z0-9-]+", "-", title).strip("-")[:64] or f"cell-{number}"
        if key in seen:
            raise UsageError(f"notebook.py, line {line}: a second cell is named {key!r}")
        seen.add(key)
        if markdown:
            cells.append(v4.new_markdown_cell(_text(lines, line), id=key))
        else:
            text = "\n".join(_shown(entry) for entry in lines).strip("\n")
            cells.append(v4.new_code_cell(text, id=key))
            called = [name for name in left if re.search(rf"\bsubmitted\.{name}\(", text)]
            if names := " ".join(dict.fromkeys(word for name in called for word in left.pop(name))):
                cells.append(v4.new_code_cell(f"%grade {names}", id=f"{key[:58]}-grade"))
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    notebook = v4.new_notebook(cells=cells, metadata=metadata)
    nbformat.validate(notebook)
    return f"{writes(notebook)}\n"


def _group_questions(source: str, questions: Sequence[Question]) -> dict[str, list[str]]:
    """Return the arguments of `%grade` for each function: questions about it alone, or else those that use it.

    Functions that the source grades itself, and questions without points, are left out.
    """
    lines = source.splitlines()
    if GRADES not in lines:
        return {}
    graded = {word.partition(".")[0] for line in lines if line.startswith("# %grade ") for word in line.split()[2:]}
    grouped: dict[str, list[str]] = {}
    for function in dict.fromkeys(question.function for question in questions):
        about = [question for question in questions if question.function == function and question.points.visible > 0]
        alone = [question for question in about if not question.together] or about
        words = list(dict.fromkeys(question.id.partition(".")[0] for question in alone))
        if not graded & {*words}:
            grouped[function] = words
    return grouped


def _cells(source: str) -> Iterator[tuple[int, str, bool, list[str]]]:
    """Yield each cell: the line at which its content begins, its name, whether it is text, and its lines."""
    begun: tuple[int, str, bool, list[str]] | None = None
    for number, line in enumerate(source.splitlines(), 1):
        if head := CELL.match(line):
            if begun is not None:
                yield begun
            begun = number + 1, head["title"].strip(), bool(head["markdown"]), []
        elif begun is not None:
            begun[3].append(line)
    if begun is None:
        raise UsageError("notebook.py has no cell: each begins with a line `# %%`, or `# %% [markdown]`")
    yield begun


def _text(lines: list[str], first: int) -> str:
    text = []
    for number, line in enumerate(lines, first):
        if line and not line.startswith("#"):
            raise UsageError(f"notebook.py, line {number}: in a text cell every line must begin with `# `; found {line!r}")
        text.append(line[2:] if line.startswith("# ") else line[1:])
    return "\n".join(text).strip("\n")


def _shown(line: str) -> str:
    if line == GRADES:
        return LOADING
    magic = MAGIC.match(line)
    return magic["magic"] if magic else line
