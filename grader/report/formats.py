"""All formats of a report in one place: `grade --format` offers what stands here, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.assignment import Assignment
    from grader.report.model import Report

# By format, how a file of it is called. Of these the first four show what the report holds, unless they are for a student; what
# is made for a platform shows what a student may see, always.
ENDINGS = {
    "text": "txt",
    "html": "html",
    "json": "json",
    "csv": "csv",
    "gradescope": "json",
    "prairielearn": "json",
    "classroom": "txt",
    "autolab": "txt",
    "junit": "xml",
}


def choose_renderer(name: str, assignment: Assignment, for_student: bool = False) -> Callable[[Report], str]:
    """Return the function that makes the text of a report in this format.

    Args:
        name: The name of the format.
        assignment: The assignment that the reports are about.
        for_student: Whether to fold hidden checks into one; formats for platforms ignore it.
    """
    from grader.report import autolab, classroom, gradescope, junit, page, prairielearn, shared, table, terminal

    whole: dict[str, Callable[[Report], str]] = {
        "text": terminal.render_plain,
        "html": page.render,
        "json": lambda report: report.model_dump_json(indent=1) + "\n",
        "csv": table.render,
    }
    for_platforms: dict[str, Callable[[Report], str]] = {
        "gradescope": lambda report: gradescope.render(report, assignment),
        "prairielearn": prairielearn.render,
        "classroom": classroom.render,
        "autolab": autolab.render,
        "junit": junit.render,
    }
    if name in for_platforms:
        return for_platforms[name]
    render = whole[name]
    return (lambda report: render(shared.fold_hidden_checks(report))) if for_student else render
