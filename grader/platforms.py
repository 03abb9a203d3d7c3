"""What runs on PrairieLearn, Autolab and GitHub Classroom: it grades what lies in their places and leaves what they read.

Gradescope's is in command.py. The packages that `grader.publish` makes call these functions.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from grader.console import GRADED, ROOT, ReportWriter, read_memory_limit_mb, write_report


def prairielearn(require_level: str = "basic") -> int:
    """Grade the submission in PrairieLearn's folders.

    results.json exists and is valid from the first moment on. Until the last check is decided,
    results.json says that the attempt cannot be graded, so that no attempt is used up when the
    platform stops the grader.

    Args:
        require_level: The isolation level below which nothing is graded.
    """
    from grader.report import prairielearn as rendering

    root = Path(os.environ.get("GRADE_ROOT", "/grade"))
    output = root / "results" / "results.json"
    write_report(output, rendering.render_refusal("The grader was stopped before it could begin: please submit again."))

    from grader.assignment import SUITES, AssignmentFiles, UsageError
    from grader.judge.run import GradingOptions, grade

    try:
        home = AssignmentFiles(ROOT)
        home.assignment = home.assignment.within(read_memory_limit_mb())
        kept = ReportWriter(output, rendering.render, lambda _: None)
        asked = _asked(root / "data" / "data.json")
        grade(
            home,
            root / "student",
            SUITES,
            GradingOptions(asked, changed=kept),
            require_level=require_level,
        )
        kept.check()
    except UsageError as error:
        write_report(output, rendering.render_refusal(f"Nothing was graded: {error}"))
    return GRADED


def _asked(path: Path) -> list[str]:
    """Return the ids in `questions` of the params in data.json, which a question's server.py may set; none stand for all."""
    try:
        asked = json.loads(path.read_text(encoding="utf-8"))["params"]["questions"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [str(one) for one in asked] if isinstance(asked, list) else []


def autolab(handin: Path, require_level: str = "basic") -> int:
    """Grade the submitted file and print the result once, last.

    It is printed when nothing of a submission runs any more. Autolab believes the last line of
    stdout, so until then nothing can reach it, and nothing comes after. If the grader itself fails,
    it ends without that line: Autolab records no score then.

    Args:
        require_level: The isolation level below which nothing is graded.
    """
    stdout = os.dup(1)  # not inherited by what is started from here on
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)

    from grader.assignment import SUITES, AssignmentFiles, UsageError
    from grader.judge.run import grade
    from grader.report import autolab as rendering

    home = AssignmentFiles(ROOT)
    home.assignment = home.assignment.within(read_memory_limit_mb())
    try:
        text = rendering.render(grade(home, handin, SUITES, require_level=require_level))
    except UsageError as error:
        text = rendering.render_refusal(f"Nothing was graded: {error}", home.assignment)
    os.dup2(nowhere, 2)  # Autolab reads both as one
    with open(stdout, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
    return GRADED


def classroom() -> int:
    """Grade the student's folder with the visible checks and hand the result on as the step's output `result`."""
    from grader.assignment import AssignmentFiles, UsageError
    from grader.judge.run import grade
    from grader.report import classroom as rendering

    home = AssignmentFiles(ROOT)
    try:
        text = rendering.render(grade(home, home.stub))
    except UsageError as error:
        text = rendering.render_refusal(f"Nothing was graded: {error}", home.assignment.total("visible"))
    with open(os.environ["GITHUB_OUTPUT"], "a", encoding="utf-8", newline="\n") as file:
        file.write(f"result={text}")
    return GRADED
