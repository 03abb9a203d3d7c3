"""All formats of a report in one place: `grade --format` offers what stands here, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from grader.platforms.registry import PLATFORMS

if TYPE_CHECKING:
    from grader.assignment import Assignment
    from grader.report.model import Report

# By format, how a file of it is called. Of these the first four show what the report holds, unless they are for a student; what
# is made for a platform shows what a student may see, always.
ENDINGS = {"text": "txt", "html": "html", "json": "json", "csv": "csv", "junit": "xml"}
ENDINGS |= {name: platform.ENDING for name, platform in PLATFORMS.items()}
# By format, the module in `report` that makes it, and the function: found by name, so that a change of one concerns no other.
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
