"""Two similar submissions, or a submission and a text from elsewhere, side by side on one page for staff."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from grader.course.handed_in import HandedInCode
from grader.course.marks import clean_lines
from grader.course.similarity import Lines, SimilarPair

if TYPE_CHECKING:
    import jinja2

MOST_PASSAGES = 40
MOST_OF_PASSAGE = 200  # lines


@dataclass(frozen=True)
class SideLine:
    """A line of one of the two.

    Attributes:
        passage: Whether the other one has it too.
    """

    number: int
    text: str
    passage: bool


@dataclass(frozen=True)
class Side:
    """One of the two.

    Attributes:
        who: The students, or the file of a public solution.
        id: Of the submission, or of the text from elsewhere.
        page: The staff page of a submission, from the folder of the class.
        created_at: When it was submitted, if known.
    """

    who: str
    id: str
    code: HandedInCode
    page: str = ""
    created_at: datetime | None = None


def render(pair: SimilarPair, sides: Sequence[Side], helpers: dict[str, Callable[..., object]]) -> str:
    """Return the page of a pair.

    Args:
        sides: Both, in the order of the pair.
        helpers: Functions of the class page that show a line and a share.
    """
    texts = [_mark(side.code.text, [passage[at] for passage in pair.passages]) for at, side in enumerate(sides)]
    excerpts = [tuple(_cut(texts[side], passage[side]) for side in range(2)) for passage in pair.passages]
    return _template().render(
        pair=pair,
        sides=sides,
        texts=texts,
        passages=excerpts[:MOST_PASSAGES],
        left_out=max(len(excerpts) - MOST_PASSAGES, 0),
        **helpers,
    )


def _mark(text: str, passages: Sequence[Lines]) -> list[SideLine]:
    shared = {line for first, last in passages for line in range(first, last + 1)}
    return [SideLine(number, line, number in shared) for number, line in enumerate(clean_lines(text), 1)]


def _cut(lines: Sequence[SideLine], passage: Lines) -> Sequence[SideLine]:
    first, last = passage
    return lines[first - 1 : min(last, first - 1 + MOST_OF_PASSAGE)]


@cache
def _template() -> jinja2.Template:
    import jinja2  # costs a tenth of a second, which only those pay who want a page

    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(Path(__file__).with_suffix(".html").read_text(encoding="utf-8"))
