"""A question for PrairieLearn with an external grader, tried out with its own entry script before it is written."""

from __future__ import annotations

import argparse
import html
import json
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grader.assignment import Assignment, AssignmentFiles, UsageError
from grader.packing.package import (
    ENTRY_SCRIPT,
    SETUP,
    collect_platform_modules,
    collect_server_files,
    convert_to_unix_lines,
    make_tar,
    run_entry_script,
    try_out_package,
    write_files,
    write_folder,
)
from grader.packing.release import make_student_zip, open_for_packing
from grader.platforms.entry import STOPPED
from grader.platforms.prairielearn.report import render_refusal

FAMILY = uuid.UUID("5b0a6a0e-0d3c-5f5e-9c57-0f8f2f6c7e11")  # the namespace of all questions made here
ENTRY = "tests/run"
PACKED = "tests/rl-grader.tar.gz"  # every job copies the whole folder tests/
LONGEST = 600  # seconds: PrairieLearn's limit for external graders
START = 60  # seconds beyond the checks' budget: for starting, writing, a slow machine

RUN = """\
#!/usr/bin/env bash
# PrairieLearn runs this once per submission, as root. GRADE_ROOT is for trying it out elsewhere.
root="${GRADE_ROOT:-/grade}"
mkdir -p "$root/rl-grader" && tar xzf "$root/tests/rl-grader.tar.gz" -C "$root/rl-grader"
chmod -R go-rwx "$root/tests" "$root/rl-grader"
exec "${GRADER_VENV:-/opt/rl-grader}/bin/python" -s -B "$root/rl-grader/autograde.py"
"""

QUESTION = """\
<pl-question-panel>
  <p>{title}: <pl-file-download file-name="{name}.zip" label="{name}.zip"></pl-file-download> is the assignment. Its README
  explains how to grade your work; submit the file that you wrote.</p>
  <pl-file-upload file-names="{submission}"{optional}></pl-file-upload>
</pl-question-panel>
<pl-submission-panel>
  <pl-external-grader-results></pl-external-grader-results>
  <pl-file-preview></pl-file-preview>
</pl-submission-panel>
"""

DOCKERFILE = """\
# The image that grades {name} on PrairieLearn: `docker build -t {image} .`, then push it to where PrairieLearn finds it.
FROM python:3.12-slim
COPY setup.sh requirements.txt constraints.txt /opt/rl-setup/
RUN bash /opt/rl-setup/setup.sh
"""


def write_package(root: Path, options: argparse.Namespace) -> Iterator[str]:
    """Write a question and the folder for its image; yield what was checked and written.

    The question is the folder NAME; NAME-image is for its image. Before anything is written,
    its own entry script grades the solution, the stub and a hostile file, with the Python that runs
    this.

    Args:
        options: name, output (the folder for both), image (the name that the image will have) and
            require_level (the isolation level below which it grades nothing).

    Raises:
        UsageError: If one of the three does not get the expected points; then nothing is written.
    """
    name, folder = options.name, options.output
    image = options.image or f"rl-grader-{name}"
    home = open_for_packing(root, name, options.draft)
    content = collect_question_files(home, image, options.require_level)
    total = home.assignment.total("visible") + home.assignment.total("hidden")

    def run(place: Path, source: str) -> float:
        graded = _graded(place, content, home.assignment, source)
        if not graded["gradable"]:
            raise UsageError(f"nothing was written: a submission cannot be graded: {graded['format_errors']}")
        share: float = graded["score"]
        return share * total

    yield from try_out_package(home, ("visible", "hidden"), run)
    yield write_folder(folder / name, content, executable=[ENTRY])
    yield write_folder(folder / f"{name}-image", collect_image_files(home, image))


def collect_question_files(home: AssignmentFiles, image: str, require_level: str = "basic") -> dict[str, bytes]:
    """Return the files of the question's folder by name; students can read only clientFilesQuestion/."""
    content = {
        "info.json": (json.dumps(render_info(home.assignment, image), indent=2) + "\n").encode(),
        "question.html": _question(home.assignment).encode(),
        ENTRY: RUN.encode(),
        PACKED: make_tar(collect_job_files(home, require_level), executable=()),
        f"clientFilesQuestion/{home.assignment.name}.zip": make_student_zip(home)[0],
    }
    return dict(sorted(content.items()))


def collect_image_files(home: AssignmentFiles, image: str) -> dict[str, bytes]:
    """Return the files from which the image is built, by name."""
    dockerfile = DOCKERFILE.format(name=home.assignment.name, image=image)
    installed = collect_server_files(home)
    listed = convert_to_unix_lines({key: installed[key] for key in ("requirements.txt", "constraints.txt")})
    return {"Dockerfile": dockerfile.encode(), "setup.sh": SETUP.encode(), **listed}


def collect_job_files(home: AssignmentFiles, require_level: str = "basic") -> dict[str, bytes]:
    """Return the files that a job unpacks, by name, including `autograde.py`, which grades."""
    entry = ENTRY_SCRIPT.format(
        platform="prairielearn",
        variable="GRADE_ROOT",
        root="/grade",
        refusal=render_refusal(STOPPED),
        require_level=require_level,
    )
    grader = collect_server_files(home) | collect_platform_modules(home, "prairielearn")
    return convert_to_unix_lines(grader | {"autograde.py": entry.encode()})


def render_info(assignment: Assignment, image: str) -> dict[str, Any]:
    """Return the content of info.json. The uuid, by which PrairieLearn identifies a question, follows from the name."""
    return {
        "uuid": str(uuid.uuid5(FAMILY, assignment.name)),
        "title": assignment.title,
        "topic": "Reinforcement learning",
        "type": "v3",
        "gradingMethod": "External",
        "externalGradingOptions": {
            "enabled": True,
            "image": image,
            "entrypoint": f"/grade/{ENTRY}",
            "timeout": min(int(assignment.limits.budget) + START, LONGEST),
            "enableNetworking": False,
        },
    }


def _question(assignment: Assignment) -> str:
    extra = ",".join(assignment.attachments)
    return QUESTION.format(
        title=html.escape(assignment.title),
        name=assignment.name,
        submission=html.escape(assignment.submission),
        optional=f' optional-file-names="{html.escape(extra)}"' if extra else "",
    )


def _graded(place: Path, content: dict[str, bytes], assignment: Assignment, source: str) -> dict[str, Any]:
    """Return the results.json that the question's entry script writes for this source, in folders like PrairieLearn's."""
    tests = {name: data for name, data in content.items() if name.startswith("tests/")}
    write_files(place, tests, executable=[ENTRY])
    data = {"data/data.json": b'{"params": {}, "submitted_answers": {}}'}
    write_files(place, {f"student/{assignment.submission}": source.encode(), **data})
    run_entry_script([place / ENTRY], place, GRADE_ROOT=str(place), GRADER_VENV=sys.prefix)
    results: dict[str, Any] = json.loads((place / "results" / "results.json").read_text(encoding="utf-8"))
    return results
