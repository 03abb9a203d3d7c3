"""All formats of a report: `grade --format` offers exactly the formats listed here."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from grader.platforms.registry import PLATFORMS

if TYPE_CHECKING:
    from grader.assignment import Assignment
    from grader.report.model import Report

# The file ending of each format. The first four show the whole report, unless they are for a student. Formats for platforms
# always show only what a student may see.
ENDINGS = {"text": "txt", "html": "html", "json": "json", "csv": "csv", "junit": "xml"}
ENDINGS |= {name: platform.ENDING for name, platform in PLATFORMS.items()}
# The module in `report` and the function that make each format. They are imported by name, so that a change in one format
# reruns no test of another.
RENDERERS = {
    "text": ("terminal", "render_plain"),
    "html": ("page", "render"),
    "csv": ("table", "render"),
    "junit": ("junit", "render"),
}


def choose_renderer(name: str, assignment: Assignment, for_student: bool = False) -> Callable[[Report], str]:
    """Return the function that makes the text of a report in this format.

    Args:
        name: The name of the format.
        assignment: The assignment that the reports are about.
        for_student: Whether to fold hidden checks into one; formats for platforms ignore it.
    """
    if name in PLATFORMS:
        return partial(PLATFORMS[name].render, assignment=assignment)
    render: Callable[[Report], str]
    if name == "json":
        render = _render_json
    else:
        module, function = RENDERERS[name]
        render = getattr(import_module(f"grader.report.{module}"), function)
    if name == "junit" or not for_student:
        return render
    from grader.report import shared

    return lambda report: render(shared.fold_hidden_checks(report))


def _render_json(report: Report) -> str:
    return report.model_dump_json(indent=1) + "\n"
