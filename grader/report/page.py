"""The report as one HTML page: self-contained, readable on a phone, in dark mode and on paper.

Only a page that follows watch mode has a script, which reloads it.
"""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from grader.report import terminal
from grader.report.model import HIDDEN_CHECKS, Outcome, QuestionResult, Report, ValueTable

if TYPE_CHECKING:
    import jinja2

GAP = 0.5  # between questions in the bar, of 100
LEFT, RIGHT, TOP, BOTTOM = 44, 336, 26, 130  # where the curve lies in a plot of 340 times 150
TICKS = 4
SMOOTHED = 10  # the moving average is over a tenth of a curve
LEAST_POINTS = 4  # entries of a vector that is drawn: fewer are clear from the table
MAP_SIDE = 14.0  # of a cell of a map, at most
# A page from the disk cannot ask whether it has changed. So it reloads, unless it is hidden or text is selected, and keeps its
# scroll position and the sections that were opened.
RELOAD = """
const all = () => [...document.querySelectorAll("details")];
const named = (one, at, list) => one.firstElementChild.textContent + list.slice(0, at).filter(
  other => other.firstElementChild.textContent === one.firstElementChild.textContent).length;
try {
  const kept = JSON.parse(sessionStorage.getItem(location.pathname));
  if (kept) {
    all().forEach((one, at, list) => { const key = named(one, at, list); if (key in kept.open) one.open = kept.open[key]; });
    scrollTo(0, kept.top);
  }
} catch {}
setInterval(() => {
  if (document.hidden || String(getSelection())) return;
  try {
    const open = Object.fromEntries(all().map((one, at, list) => [named(one, at, list), one.open]));
    sessionStorage.setItem(location.pathname, JSON.stringify({top: scrollY, open}));
  } catch {}
  location.reload();
}, 2000);
"""
RELOAD_HASH = f"sha256-{base64.b64encode(hashlib.sha256(RELOAD.encode()).digest()).decode('ascii')}"


def render(report: Report, account: Sequence[str] = (), live: str = "") -> str:
    """Return the page of a report.

    It shows everything in the report; for a student, pass `report.for_student()`.

    Args:
        account: The explanation of a score that is not just the report's points; the last line is
            the score.
        live: The time of grading, for a page that reloads itself; empty for other pages.
    """
    return open_template("page.html").render(describe_page(report, account, live))


def describe_page(report: Report, account: Sequence[str] = (), live: str = "") -> dict[str, object]:
    """Return what page.html shows, by the name that it has there, for a template that extends it; see `render`."""
    verb, following = terminal.find_next_step(report)
    return _explain(report) | {
        "account": account,
        "live": live,
        "verb": verb,
        "following": following,
        "unfinished": terminal.describe_unfinished(report, terminal.list_unfinished(report)),
        "done": report.final and all(question.outcome is Outcome.PASSED or question.left_out for question in report.questions),
        "bar": draw_points_bar(report),
        "curves": [(check, build_plots(check.curves, check.thresholds)) for check in report.checks if check.curves],
        "any_threshold": any(check.thresholds for check in report.checks),
    }


def render_verdict(report: Report, asked: Collection[str] | None = None, sources: Iterable[str] = ()) -> str:
    """Return an HTML fragment with the results of some questions, for a notebook; its hints are folded.

    It shows everything in the report about them; for a student, pass `report.for_student()`.

    Args:
        asked: The ids of these questions; None for all.
        sources: Lines that say which code was graded.
    """
    questions = [question for question in report.questions if asked is None or question.id in asked]
    begun = [question for question in terminal.list_unfinished(report) if question in questions]
    unfinished = terminal.describe_unfinished(report, begun)
    return open_template("verdict.html").render(**_explain(report), questions=questions, unfinished=unfinished, sources=sources)


def _explain(report: Report) -> dict[str, object]:
    """Return the values about questions that both templates use, by name."""
    return {
        "report": report,
        "reason": terminal.find_common_failure(report),
        "failed": {question.id: terminal.list_checks_to_explain(report, question) for question in report.questions},
        "passed": {
            question.id: [check for check in report.checks if (check.question, check.outcome) == (question.id, Outcome.PASSED)]
            for question in report.questions
        },
        "untouched": {question.id: task for question, task in terminal.list_untouched(report)},
        "state": {question.id: terminal.describe_outcome(report, question) for question in report.questions},
    }


@cache
def open_template(name: str, *folders: Path) -> jinja2.Template:
    """Return a template, which may extend those of this folder.

    Args:
        folders: Where else to look for it.
    """
    # Importing them takes a tenth of a second, so only pages do.
    import jinja2
    import markupsafe

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([Path(__file__).parent, *folders]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.globals |= {
        "HIDDEN_CHECKS": HIDDEN_CHECKS,
        "ONE_REASON": terminal.ONE_REASON,
        "TO_WRITE": terminal.TO_WRITE,
        "PARTS": "parts.html",  # shared by both templates
        "PRINTED_LINES": terminal.PRINTED_LINES,
        "RELOAD": markupsafe.Markup(RELOAD),
        "RELOAD_HASH": RELOAD_HASH,
        "as_code": lambda text: markupsafe.Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(markupsafe.escape(text)))),
        "breakable": lambda name: markupsafe.Markup("<wbr>").join(re.split(r"(?<=[_.])", name)),
        "color": lambda outcome: terminal.STYLES.get(outcome, "red"),
        "draw_curves": lambda check: build_plots(check.curves, check.thresholds),
        "draw_values": draw_values,
        "keyword": terminal.make_selection_keyword,
        "mark": terminal.choose_outcome_mark,
        "score": terminal.describe_score,
        "standing": terminal.describe_total,
        "worth": terminal.describe_points,
    }
    return environment.get_template(name)


@dataclass(frozen=True)
class PointsSegment:
    """The segment of one question in the bar, which is 100 wide.

    Attributes:
        start: Its left end.
        earned: The width of its earned part.
    """

    question: QuestionResult
    start: float
    width: float
    earned: float


def draw_points_bar(report: Report) -> list[PointsSegment]:
    """Return the segments of the bar of points, one per question; the width is its share of the points."""
    worth = [question for question in report.questions if question.max_points > 0]
    total = sum(question.max_points for question in worth)
    room = 100 - GAP * (len(worth) - 1)
    segments, start = [], 0.0
    for question in worth:
        width = room * question.max_points / total
        earned = width * min(max(question.points / question.max_points, 0.0), 1.0)
        segments.append(PointsSegment(question, round(start, 2), round(width, 2), round(earned, 2)))
        start += width + GAP
    return segments


@dataclass(frozen=True)
class CurvePlot:
    """The drawing of one curve.

    Attributes:
        raw, mean: SVG paths of the values and of their moving average.
        ticks: (height, label) of each horizontal line.
        began: The height of the first average.
        first, last: The averages at both ends, as text.
        threshold: The required value, as height and as text.
    """

    name: str
    raw: str
    mean: str
    ticks: list[tuple[float, str]]
    began: float
    first: str
    last: str
    threshold: tuple[float, str] | None = None


class _Scale:
    """Maps numbers to heights in a plot; `ticks` are horizontal lines, as (height, label)."""

    def __init__(self, values: Sequence[float]) -> None:
        low, high = min(values), max(values)
        least = 1e-6 * max(abs(low), abs(high), 1.0)  # a constant curve defines no scale
        if high - low < least:
            low, high = low - least, high + least
        self._low, self._high = low, high
        self.ticks = [(self.height(tick), f"{tick:.7g}") for tick in choose_round_numbers(low, high)]

    def height(self, value: float) -> float:
        return round(BOTTOM - (BOTTOM - TOP) * (value - self._low) / (self._high - self._low), 1)

    def path(self, values: Sequence[float | None]) -> str:
        """Return an SVG path, with a gap for each None."""
        step = (RIGHT - LEFT) / max(len(values) - 1, 1)
        path, drawing = [], False
        for index, value in enumerate(values):
            if value is not None:
                point = f"{LEFT + index * step:.1f} {self.height(value)}"
                # A line to the same point draws a dot, if no other point follows.
                alone = not drawing and (index + 1 == len(values) or values[index + 1] is None)
                path.append(f"M{point}L{point}" if alone else f"{'L' if drawing else 'M'}{point}")
            drawing = value is not None
        return "".join(path)


def build_plots(curves: dict[str, list[float]], thresholds: dict[str, float] | None = None) -> list[CurvePlot]:
    """Return the drawings of the curves of one check, all finite numbers, on one scale.

    Args:
        thresholds: The required value of each curve, by name.
    """
    required = thresholds or {}
    scale = _Scale([value for name, values in curves.items() for value in (*values, required.get(name, values[0]))])
    drawn = []
    for name, values in curves.items():
        means = smooth_values(values, max(len(values) // SMOOTHED, 1))
        ends = (f"{round(means[0], 2) + 0:g}", f"{round(means[-1], 2) + 0:g}")
        threshold = (scale.height(required[name]), f"{required[name]:g}") if name in required else None
        began = scale.height(means[0])
        drawn.append(CurvePlot(name, scale.path(values), scale.path(means), scale.ticks, began, *ends, threshold))
    return drawn


@dataclass(frozen=True)
class ValuesPicture:
    """The drawing of two vectors as curves, or of the difference of two matrices as a map.

    Attributes:
        label: A description for screen readers.
        caption: The line above it.
        ticks: (height, label) of each horizontal line.
        expected, got: SVG paths of the two curves.
        cells: (x, y, shade) of each cell of a map.
        side: The width and height of a cell.
        height: The height of the drawing, which is 340 wide.
    """

    label: str
    caption: str
    ticks: list[tuple[float, str]] = field(default_factory=list)
    expected: str = ""
    got: str = ""
    cells: list[tuple[float, float, str]] = field(default_factory=list)
    side: float = 0.0
    height: float = 150.0


def draw_values(table: ValueTable) -> ValuesPicture | None:
    """Return a picture of a vector or a matrix; None if the table is clear enough, or if it cannot be drawn."""
    if table.map:
        side = round(min((RIGHT - LEFT) / len(table.map[0]), MAP_SIDE), 2)
        cells = [
            (round(LEFT + column * side, 2), round(TOP + row * side, 2), "X" if shade == "?" else shade)
            for row, shades in enumerate(table.map)
            for column, shade in enumerate(shades)
        ]
        caption = "Stronger color: larger difference. Row 0 is at the top."
        label = f"A map of where {table.name or 'the values'} differ: {table.summary}"
        return ValuesPicture(label, caption, cells=cells, side=side, height=round(TOP + len(table.map) * side + 4, 2))
    known = [value for curve in table.curves for value in curve if value is not None]
    if not known or len(table.curves[0]) < LEAST_POINTS:
        return None
    scale = _Scale(known)
    label = f"Two curves of {table.name or 'the values'}, expected and got: {table.summary}"
    caption = "Dashed: expected. Solid: got."
    return ValuesPicture(label, caption, scale.ticks, scale.path(table.curves[0]), scale.path(table.curves[1]))


def smooth_values(values: list[float], window: int) -> list[float]:
    """Return the averages of `window` neighboring values, one for each value.

    At the ends, an average is over fewer values.
    """
    before, after = window // 2, window - window // 2
    near = [values[max(index - before, 0) : index + after] for index in range(len(values))]
    return [sum(numbers) / len(numbers) for numbers in near]


def choose_round_numbers(low: float, high: float) -> list[float]:
    """Return a few multiples of 1, 2 or 5 times a power of ten between two numbers, the smaller one first."""
    rough = (high - low) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(times * power for times in (1, 2, 5, 10) if times * power >= 0.999 * rough)
    near = 1e-9  # keep a multiple that rounding puts just outside
    return [number * step for number in range(math.ceil(low / step - near), math.floor(high / step + near) + 1)]
