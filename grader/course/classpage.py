"""A class as one page for a browser, for its instructors."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import tzinfo
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from grader.course.behavior import summarize_message
from grader.course.earlier import OutsideText, is_own_work
from grader.course.feedback import Account
from grader.course.handed_in import HandedInCode
from grader.course.insight import STATES, ClassHeatmap, ClassInsight, HistogramBin, QuestionInsight
from grader.course.results import Course
from grader.course.rings import group_pairs, name_pair
from grader.course.semesters import ClassComparison
from grader.course.similarity import SimilarPair
from grader.course.worklist import WorklistEntry
from grader.report.page import choose_round_numbers
from grader.report.text import sanitize

if TYPE_CHECKING:
    import jinja2

STUDENTS = "students"  # the folder of their pages, beside that of the class
STAFF = "staff"  # the folder of the same pages with everything
SIMILAR = "similar"  # the folder of pages with two submissions
SHOWN = 5  # examples of submissions
LISTED = 200  # of what is folded: lists of runs, of wrong answers
RANKED = 12  # before the others are folded
MAX_LINE, MAX_TEXT = 80, 1_500
LEFT, TOP, BOTTOM = 5.0, 34, 186  # of the histogram: percent of its width, and pixels
LABELS = 5
LABELED = 13  # percent of a bar that has room for its share


@dataclass(frozen=True)
class ClassFiles:
    """What the pages of a class show beside its results.

    Attributes:
        pairs: Similar submissions, by their entries, the most alike first.
        accounts: What pages of students say of scores, by page. The name of a page is an entry, or begins with one and ~.
        older: Entries that count for nobody; class.html leaves them out.
        scored: Whether there is a policy, or an adjustment, so that points of checks are not scores.
        code: The submitted code by entry, if known.
        outside: Texts from elsewhere that are in pairs, by id.
        comparison: The class beside earlier ones.
        zone: The time zone of the policy, for the times on pages of submissions; None for that of the export.
    """

    pairs: Sequence[SimilarPair] = ()
    accounts: Mapping[str, Account] = field(default_factory=dict)
    older: Set[str] = frozenset()
    scored: bool = False
    code: Mapping[str, HandedInCode] = field(default_factory=dict)
    outside: Mapping[str, OutsideText] = field(default_factory=dict)
    comparison: ClassComparison | None = None
    zone: tzinfo | None = None


def list_shown_pairs(course: Course, pairs: Iterable[SimilarPair]) -> list[SimilarPair]:
    """Return the pairs of which both belong to this class and differ. Identical submissions have their own section."""
    entries, content = {entry.id for entry in course.entries}, course.submissions
    return [
        pair for pair in pairs if {pair.first, pair.second} <= entries and content.get(pair.first) != content.get(pair.second)
    ][:LISTED]


def list_outside_pairs(course: Course, files: ClassFiles) -> list[SimilarPair]:
    """Return the pairs of a submission of this class and a text from elsewhere."""
    entries = {entry.id for entry in course.entries}
    return [pair for pair in files.pairs if pair.first in entries and pair.second in files.outside][:LISTED]


@dataclass(frozen=True)
class OutsideGroup:
    """A text from elsewhere that submissions resemble.

    Attributes:
        pairs: The most alike first, each with whether a student of the submission wrote the text.
    """

    text: OutsideText
    pairs: Sequence[tuple[SimilarPair, bool]]

    @property
    def score(self) -> float:
        """Return the highest score of a pair of different people; 0 if there is none."""
        return max((pair.score for pair, own in self.pairs if not own), default=0.0)


def group_outside_pairs(course: Course, files: ClassFiles) -> list[OutsideGroup]:
    """Return the pairs with texts from elsewhere, by text, that with the most similar work of another person first."""
    entries = {entry.id: entry for entry in course.entries}
    groups: dict[str, list[tuple[SimilarPair, bool]]] = {}
    for pair in list_outside_pairs(course, files):
        own = is_own_work(entries[pair.first], files.outside[pair.second])
        groups.setdefault(pair.second, []).append((pair, own))
    found = [OutsideGroup(files.outside[name], pairs) for name, pairs in groups.items()]
    return sorted(found, key=lambda group: -group.score)


def render(shown: ClassInsight, files: ClassFiles = ClassFiles()) -> str:
    """Return the page of a class, with content that is hidden from students."""
    entries = {entry.id: entry for entry in shown.course.entries}
    pairs = list_shown_pairs(shown.course, files.pairs)
    waiting = {
        one.line: (entry, one)
        for name, account in files.accounts.items()
        if (entry := entries.get(name.partition("~")[0]))
        for one in account.adjustments
        if one.is_open
    }
    return _template().render(
        shown=shown,
        course=shown.course,
        older=len(files.older),
        scored=files.scored,
        waiting=list(waiting.values()),
        entries=entries,
        groups=group_pairs(pairs),
        elsewhere=group_outside_pairs(shown.course, files),
        comparison=files.comparison,
        compared={name_pair(pair) for pair in pairs if files.code.keys() >= {pair.first, pair.second}}
        | {name_pair(pair) for pair in list_outside_pairs(shown.course, files) if pair.first in files.code},
        common=[wrong for wrong in shown.unknown if len(wrong.submissions) > 1],
        single=[wrong for wrong in shown.unknown if len(wrong.submissions) == 1],
        copies=[group for group in shown.same if not group.blank],
        missing={entry.id for entry in shown.to_come},
        histogram=draw_histogram(shown.bins, shown.median, shown.max_points),
        bars={one.question.id: draw_question_bar(one) for one in shown.questions},
        heatmap=draw_heatmap(shown.heatmap, shown.max_points),
        ranking=sorted(
            ((entries[name], points) for name, points in shown.points.items()), key=lambda one: (-one[1], one[0].who.casefold())
        ),
    )


@cache
def _template() -> jinja2.Template:
    # They cost a tenth of a second, which only those pay who want a page.
    import jinja2
    import markupsafe

    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    environment.globals |= HELPERS | {
        "BOTTOM": BOTTOM,
        "LEFT": LEFT,
        "LISTED": LISTED,
        "RANKED": RANKED,
        "SHOWN": SHOWN,
        "SIMILAR": SIMILAR,
        "STATES": STATES,
        "breakable": lambda name: markupsafe.Markup("<wbr>").join(re.split(r"(?<=[_.])", name)),
        "name_pair": name_pair,
        "number": format_points,
        "seconds": lambda value: f"{value:,.{2 if value < 1 else 1 if value < 100 else 0}f} s",
        "summary": summarize_message,
        "text": lambda value: sanitize(value, MAX_TEXT),
        "times": lambda count, word: f"{count:,} {word}" if count == 1 else f"{count:,} {word}s",
    }
    return environment.from_string(Path(__file__).with_suffix(".html").read_text(encoding="utf-8"))


def sanitize_line(value: str, limit: int = MAX_LINE) -> str:
    """Return untrusted text, sanitized, on one line of limited length."""
    short = " ".join(sanitize(value[: 4 * limit]).split())
    return short if len(short) <= limit else f"{short[: limit - 1]}…"


def format_points(value: float) -> str:
    """Return a number of points with one digit after the point where it is not whole."""
    return f"{round(value, 1) + 0:g}"


def format_percent(part: float, whole: float) -> str:
    """Return a share as whole percent. Non-zero shares never round to 0 %, nor partial ones to 100 %."""
    share = 100 * part / whole if whole else 0.0
    return "<1 %" if 0 < share < 1 else ">99 %" if 99 < share < 100 else f"{share:.0f} %"


def link_page(folder: str, entry: WorklistEntry) -> str:
    """Return the path of a page of a submission, from the folder of the class, as a link names it."""
    return f"{folder}/{quote(entry.id)}.html"


HELPERS: dict[str, Callable[..., object]] = {
    "line": sanitize_line,
    "percent": format_percent,
    "place": partial(link_page, STAFF),
}
"""What templates of pages for staff share."""


@dataclass(frozen=True)
class HistogramBar:
    """The drawing of a bin.

    Attributes:
        x, width: In percent of the width of the histogram.
        y, height: In pixels; `y` counts from above.
    """

    bin: HistogramBin
    x: float
    width: float
    y: float
    height: float
    label: str


@dataclass(frozen=True)
class Histogram:
    """A drawn histogram.

    Attributes:
        ticks: (height, label) of each line across.
        labels: (x, text) of each label below.
        median: The place of the median.
    """

    bars: list[HistogramBar]
    ticks: list[tuple[float, str]]
    labels: list[tuple[float, str]]
    median: float


def draw_histogram(bins: Sequence[HistogramBin], median: float, most: float) -> Histogram | None:
    """Return what to draw of the bins, or None when nothing is graded."""
    highest = max((one.count for one in bins), default=0)
    if not highest:
        return None
    slot = (100 - LEFT) / len(bins)
    single = bins[0].high == 1 and all(one.low == int(one.low) for one in bins)  # a bin for each number of points

    def height(count: float) -> float:
        return round(BOTTOM - (BOTTOM - TOP) * count / highest, 1)

    bars, labels = [], []
    every = math.ceil((len(bins) - 1) / LABELS)
    for index, one in enumerate(bins):
        last = index == len(bins) - 1
        label = f"{one.low:g}" if last or single else f"{one.low:g} to less than {one.high:g}"
        left, top = LEFT + index * slot, height(one.count)
        bars.append(HistogramBar(one, round(left + 0.08 * slot, 2), round(0.84 * slot, 2), top, round(BOTTOM - top, 1), label))
        # The label of full marks needs room of its own.
        if last or (index % every == 0 and len(bins) - 1 - index > every / 2):
            labels.append((round(left + slot / 2 if last or single else left, 2), f"{one.low:g}"))
    ticks = [(height(tick), f"{tick:g}") for tick in choose_round_numbers(0, highest) if tick and tick == int(tick)]
    full = median >= most - 1e-9
    # Numbers of points stand in the middle of their bins, or where a range of them begins.
    along = len(bins) - 0.5 if full else median / (bins[0].high or 1) + 0.5 * single
    return Histogram(bars, ticks, labels, round(LEFT + along * slot, 2))


@dataclass(frozen=True)
class StateSegment:
    """The part of a bar that has one state.

    Attributes:
        start, width: In percent of the length of the bar.
        label: Its share, where there is room for it.
    """

    state: str
    count: int
    start: float
    width: float
    label: str


def draw_question_bar(of: QuestionInsight) -> list[StateSegment]:
    """Return the parts of a question's bar, in the order of STATES."""
    whole, start, parts = sum(of.counts.values()), 0.0, []
    for state in STATES:
        if count := of.counts.get(state, 0):
            width = 100 * count / whole
            label = format_percent(count, whole) if width >= LABELED else ""
            parts.append(StateSegment(state, count, round(start, 2), round(width, 2), label))
            start += width
    return parts


@dataclass(frozen=True)
class DrawnHeatmap:
    """A drawn heatmap.

    Attributes:
        width: In columns.
        points: The outline of the points (height 100).
        rows: By question, a path for each state.
    """

    width: int
    points: str
    rows: list[list[tuple[str, str]]]
    each: int


def draw_heatmap(of: ClassHeatmap, most: float) -> DrawnHeatmap | None:
    """Return what to draw of the heatmap, or None where there are no columns that could be compared."""
    columns = of.columns
    if len(columns) < 2 or most <= 0:
        return None
    outline, rows = "M0 100", []
    for share, run in groupby(range(len(columns)), key=lambda index: round(100 - 100 * columns[index].points / most, 1)):
        *_, end = run
        outline += f"V{share:g}H{end + 1}"
    for row in zip(*(column.states for column in columns), strict=True):
        paths: dict[str, str] = {}
        for state, run in groupby(range(len(row)), key=row.__getitem__):
            indices = list(run)
            paths[state] = paths.get(state, "") + f"M{indices[0]} 0h{len(indices)}v1h-{len(indices)}z"
        rows.append(sorted(paths.items(), key=lambda item: STATES.index(item[0])))
    return DrawnHeatmap(len(columns), f"{outline}V100z", rows, of.each)
