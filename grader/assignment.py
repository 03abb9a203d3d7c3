"""An assignment: its questions, points and limits from assignment.toml, and the paths of its files."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SUITES = ("visible", "hidden")
Requirement = Annotated[str, Field(pattern=r"^[A-Za-z0-9][^\r\n]*$")]
PythonFile = Annotated[str, Field(pattern=r"^[A-Za-z_]\w*\.py$", max_length=80)]
Attachment = Annotated[str, Field(pattern=r"^[A-Za-z0-9][\w-]*\.[\w.-]+$", max_length=80)]


class UsageError(Exception):
    """The user asked for something impossible; the message says what was expected, what was found, and what to do."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class QuestionPoints(_Strict):
    visible: float = Field(ge=0)
    hidden: float = Field(ge=0)


class Question(_Strict):
    """One gradable piece of an assignment.

    Attributes:
        id: Its name, the same in the stub, the checks, the notebook and the report.
        function: The function or class of the submission that it is about.
        task: The student's task, in one line.
        needs: Questions whose visible checks must pass before its own are run.
        pieces: Questions whose functions its own checks run together. These checks run as soon as the functions are written,
            right or not, so that a student sees the whole at work and reads which piece breaks it.
        seconds: Time limit of its driver calls (see `grader.sandbox.clock`); None for the assignment's limit.
        hidden_visibility: When Gradescope shows a student the outcome of its hidden checks.
    """

    id: str = Field(pattern=r"^[A-Za-z_][\w.]*$")
    title: str
    function: str
    task: str
    points: QuestionPoints
    needs: tuple[str, ...] = ()
    pieces: tuple[str, ...] = ()
    seconds: float | None = Field(default=None, gt=0)
    hidden_visibility: Literal["hidden", "after_due_date", "after_published", "visible"] = "after_published"

    @property
    def together(self) -> tuple[str, ...]:
        """The questions whose functions it runs together; empty for a question about one function."""
        return (*self.needs, *self.pieces)


class Limits(_Strict):
    """Limits of a driver call, of the whole run, and of an attachment.

    Attributes:
        seconds: Time limit of one driver call. Computing and sleeping count, waiting for a processor does not.
        memory_mb: Memory limit of one driver call, beyond torch's own memory.
        budget: Limit of the whole run, in seconds.
        attachment_mb: Largest size of an attachment.
    """

    seconds: float = Field(default=10.0, gt=0)
    memory_mb: int = Field(default=1024, ge=64)
    budget: float = Field(default=240.0, gt=0)
    attachment_mb: int = Field(default=1, ge=1, le=32)


class HintVisibility(_Strict):
    """Whether students see hints for recognized mistakes, by suite."""

    visible: bool = True
    hidden: bool = False


class Assignment(_Strict):
    """The content of assignment.toml.

    Attributes:
        attachments: Names of files that may be submitted with the code; all are optional.
        requirements: Packages that grading needs in addition to the kit's own, as in requirements.txt.
    """

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    title: str
    version: str
    submission: PythonFile
    support: tuple[PythonFile, ...] = ()
    attachments: tuple[Attachment, ...] = Field(default=(), max_length=8)
    requirements: tuple[Requirement, ...] = ()
    limits: Limits = Limits()
    hints: HintVisibility = HintVisibility()
    questions: tuple[Question, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _consistent(self) -> Assignment:
        ids = [question.id for question in self.questions]
        if twice := {name for name in ids if ids.count(name) > 1}:
            raise ValueError(f"question ids must differ; duplicates: {', '.join(sorted(twice))}")
        for index, question in enumerate(self.questions):
            if late := [need for need in question.together if need not in ids[:index]]:
                raise ValueError(f"{question.id} needs {', '.join(late)}, which must come before it")
        if code := [name for name in self.attachments if name.lower().endswith((".py", ".ipynb", ".zip"))]:
            raise ValueError(f"{', '.join(code)} cannot be an attachment: submissions have this ending")
        return self

    def question(self, name: str) -> Question:
        """Return the question with this id.

        Raises:
            KeyError: If no question has this id.
        """
        return {question.id: question for question in self.questions}[name]

    def within(self, container_mb: int | None) -> Assignment:
        """Return the assignment with a memory limit that leaves room for judge and server in a container of this size."""
        if container_mb is None:
            return self
        # Judge and server take about 300 MB. A call that is refused memory fails alone; one that fills the container ends all.
        memory_mb = min(self.limits.memory_mb, max(container_mb - 384, 64))
        return self.model_copy(update={"limits": self.limits.model_copy(update={"memory_mb": memory_mb})})

    def total(self, suite: str) -> float:
        """Return the points of a suite, "visible" or "hidden"."""
        points: float = sum(getattr(question.points, suite) for question in self.questions)
        return points


OVERVIEW = "solution.json"  # visible cases and answers: of all assignments in the repository, of its own in a student's folder


class AssignmentFiles:
    """The paths of the files of one assignment.

    Args:
        root: The kit's repository, or the flat folder that a student unzips.
        name: The assignment's name; not needed in a student's folder.
        container_mb: The memory of the container around the grader, which also limits a call; None for no limit.
    """

    def __init__(self, root: Path, name: str | None = None, container_mb: int | None = None) -> None:
        self.root = root
        flat = root / "assignment.toml"
        if flat.is_file():
            self.folder = root
        elif name is None:
            raise UsageError(f"which assignment? Name one of: {', '.join(list_assignments(root)) or '(none found)'}")
        else:
            self.folder = root / "assignments" / name
        path = self.folder / "assignment.toml"
        if not path.is_file():
            raise UsageError(
                f"there is no assignment {name!r}; there are: {', '.join(list_assignments(root)) or '(none found)'}"
            )
        self.assignment = load_assignment(path).within(container_mb)
        if name is not None and name != self.assignment.name:
            raise UsageError(f"this folder holds the assignment {self.assignment.name!r}, not {name!r}")
        name = self.assignment.name
        self.stub = self.folder / self.assignment.submission
        self.drivers = root / "tests" / "drivers" / f"{name}.py"
        self.views = root / "tests" / "views" / f"{name}.py"  # if it needs any of its own
        self.solution = root / "solutions" / name
        self.notebook = self.folder / "notebook.ipynb"
        self.mistakes = {suite: root / "tests" / suite / "mistakes" / f"{name}.json" for suite in SUITES}
        self.answers = {suite: root / "tests" / suite / "answers" / f"{name}.json" for suite in SUITES}
        if flat.is_file():
            self.answers["visible"] = root / OVERVIEW
        else:
            self._require_inside([self.stub])
        self.confidential: list[Path] = []  # of a class: the submissions of others, and their results
        self.checks = {suite: root / "tests" / suite / f"test_{name}.py" for suite in SUITES}

    def secrets(self) -> list[Path]:
        """Return the files that a submission must not read, if they exist."""
        hidden = (self.checks["hidden"], self.answers["hidden"], self.mistakes["hidden"], self.solution / "submitted.py")
        return [path for path in (*hidden, *self.confidential) if path.is_file()]

    def support(self) -> list[Path]:
        """Return the files given to students: from the assignment's folder, or else from the root."""
        files = [
            next((path for path in (self.folder / name, self.root / name) if path.is_file()), self.folder / name)
            for name in self.assignment.support
        ]
        if missing := [path for path in files if not path.is_file()]:
            raise UsageError(f"support file not found: {', '.join(map(str, missing))}; unpack the assignment again")
        self._require_inside(files)
        return files

    def _require_inside(self, files: list[Path]) -> None:
        """Raise UsageError if one of these files is a link that leads outside: its target would be given to students."""
        root = Path(os.path.realpath(self.root))  # unlike Path.resolve, it accepts links that lead to themselves
        if outside := [path for path in files if not Path(os.path.realpath(path)).is_relative_to(root)]:
            raise UsageError(f"{outside[0]} is a link that leads outside {self.root}; put the file itself there")


def list_assignments(root: Path) -> list[str]:
    """Return the names of all assignments below `root`."""
    return sorted(path.parent.name for path in (root / "assignments").glob("*/assignment.toml"))


def load_assignment(path: Path) -> Assignment:
    """Return the assignment described by the file.

    Raises:
        UsageError: If the file is not valid; the message names the field at fault.
    """
    try:
        return Assignment.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: not valid TOML: {error}") from error
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
        raise UsageError(f"{path}: {faults}") from error
