"""The report as one page for a browser: no script, nothing from elsewhere, readable on a phone, in the dark and on paper."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from grader.report import terminal
from grader.report.model import HIDDEN_CHECKS, Outcome, QuestionResult, Report

if TYPE_CHECKING:
    import jinja2

GAP = 0.5  # between questions in the bar, of 100
LEFT, RIGHT, TOP, BOTTOM = 44, 336, 26, 130  # where the curve lies in a plot of 340 times 150
TICKS = 4
SMOOTHED = 10  # the moving average is over a tenth of a curve


def render(report: Report, account: Sequence[str] = ()) -> str:
    """Return the page of a report.

    It shows all that the report holds; for a student, pass `report.for_student()`.

    Args:
        account: The explanation of a score that is not just the report's points; the last line is
            the score.
    """
    verb, following = terminal.find_next_step(report)
    return _template().render(
        report=report,
        account=account,
        verb=verb,
        following=following,
        reason=terminal.find_common_failure(report),
        done=report.final and all(question.outcome is Outcome.PASSED or question.left_out for question in report.questions),
        failed={question.id: terminal.list_checks_to_explain(report, question) for question in report.questions},
        passed={
            question.id: [check for check in report.checks if (check.question, check.outcome) == (question.id, Outcome.PASSED)]
            for question in report.questions
        },
        unwritten={question.id: task for question, task in terminal.list_unwritten(report)},
        bar=draw_points_bar(report),
        curves=[(check, build_plots(check.curves)) for check in report.checks if check.curves],
    )


@cache
def _template() -> jinja2.Template:
    # They cost a tenth of a second, which only those pay who want a page.
    import jinja2
    import markupsafe

    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    environment.globals |= {
        "HIDDEN_CHECKS": HIDDEN_CHECKS,
        "ONE_REASON": terminal.ONE_REASON,
        "PRINTED_LINES": terminal.PRINTED_LINES,
        "breakable": lambda name: markupsafe.Markup("<wbr>").join(re.split(r"(?<=[_.])", name)),
        "colour": lambda outcome: terminal.STYLES.get(outcome, "red"),
        "keyword": terminal.make_selection_keyword,
        "mark": terminal.choose_outcome_mark,
        "score": terminal.describe_score,
        "standing": terminal.describe_total,
        "worth": terminal.describe_points,
    }
    return environment.from_string(Path(__file__).with_suffix(".html").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class PointsSegment:
    """The part of a question in the bar, which is 100 wide.

    Attributes:
        start: Where it begins.
        earned: How much of its width is earned.
    """

    question: QuestionResult
    start: float
    width: float
    earned: float


def draw_points_bar(report: Report) -> list[PointsSegment]:
    """Return the segments of the bar of points, one for each question, as wide as it is worth."""
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
        ticks: (height, label) of each line across.
        began: The height of the first average.
        first, last: The averages at both ends, as text.
    """

    name: str
    raw: str
    mean: str
    ticks: list[tuple[float, str]]
    began: float
    first: str
    last: str


def build_plots(curves: dict[str, list[float]]) -> list[CurvePlot]:
    """Return what to draw of the curves of one check, finite numbers all, on one scale."""
    everything = [value for values in curves.values() for value in values]
    low, high = min(everything), max(everything)
    least = 1e-6 * max(abs(low), abs(high), 1.0)  # a constant curve has no scale of its own
    if high - low < least:
        low, high = low - least, high + least

    def height(value: float) -> float:
        return round(BOTTOM - (BOTTOM - TOP) * (value - low) / (high - low), 1)

    def path(values: list[float]) -> str:
        step = (RIGHT - LEFT) / max(len(values) - 1, 1)
        points = [f"{LEFT + index * step:.1f} {height(value)}" for index, value in enumerate(values)]
        return "M" + "L".join(points if len(points) > 1 else 2 * points)  # a line to itself is a dot

    ticks = [(height(tick), f"{tick:.7g}") for tick in choose_round_numbers(low, high)]
    drawn = []
    for name, values in curves.items():
        means = smooth_values(values, max(len(values) // SMOOTHED, 1))
        ends = [f"{round(mean, 2) + 0:g}" for mean in (means[0], means[-1])]
        drawn.append(CurvePlot(name, path(values), path(means), ticks, height(means[0]), *ends))
    return drawn


def smooth_values(values: list[float], window: int) -> list[float]:
    """Return the averages of `window` neighbouring values, one for each value.

    At the ends, an average is over as many values as there are.
    """
    before, after = window // 2, window - window // 2
    near = [values[max(index - before, 0) : index + after] for index in range(len(values))]
    return [sum(numbers) / len(numbers) for numbers in near]


def choose_round_numbers(low: float, high: float) -> list[float]:
    """Return a few multiples of 1, 2 or 5 times a power of ten between two numbers of which the first is less."""
    rough = (high - low) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(times * power for times in (1, 2, 5, 10) if times * power >= 0.999 * rough)
    near = 1e-9  # a multiple that rounding puts just outside is one
    return [number * step for number in range(math.ceil(low / step - near), math.floor(high / step + near) + 1)]
