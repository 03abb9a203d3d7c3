"""Two similar submissions, side by side on one page for staff."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from grader.course.handed_in import HandedInCode
from grader.course.marks import clean_lines
from grader.course.similarity import Lines, SimilarPair
from grader.course.worklist import WorklistEntry

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


def render(
    pair: SimilarPair,
    sides: Sequence[WorklistEntry],
    codes: Sequence[HandedInCode],
    helpers: dict[str, Callable[..., object]],
) -> str:
    """Return the page of a pair.

    Args:
        sides: Both submissions, in the order of the pair.
        codes: The submitted code of both.
        helpers: Functions of the class page that show a line, a share and the place of a page.
    """
    texts = [_mark(code.text, [passage[side] for passage in pair.passages]) for side, code in enumerate(codes)]
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
