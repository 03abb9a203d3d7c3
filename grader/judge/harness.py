"""The harness of one assignment: its drivers and support files, a folder for submissions, and the sandbox."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from grader import submission as intake
from grader.assignment import AssignmentFiles, UsageError
from grader.sandbox import open_sandbox
from grader.sandbox.parsing import FileParser
from grader.sandbox.places import make_readable, make_temporary_folder
from grader.sandbox.reply import SandboxFault

if TYPE_CHECKING:
    from grader.sandbox import Sandbox

CACHE = "__pycache__"  # where Python looks for the bytecode of a file beside it
NAMES_TORCH = re.compile(rb"\btorch\b")


class Harness:
    """Runs the calls of one assignment in a sandbox that starts at the first call and is kept for later ones.

    Args:
        home: The assignment's files.
        template: A harness of the same files whose sandbox is warm, and a number; see `ForkedSandbox`.

    Attributes:
        sandbox: Runs drivers with the submission that was placed last.
        parser: Reads zips in workers of this sandbox.
    """

    def __init__(self, home: AssignmentFiles, template: tuple[Harness, int] | None = None) -> None:
        self.home = home
        self._folder: Path = make_temporary_folder(template[0]._folder if template else None)
        try:
            support, self.student = self._folder / "support", self._folder / "student"
            support.mkdir()
            self.student.mkdir()  # a sandbox shows its workers only folders that are there when it starts
            for path in home.support():
                shutil.copyfile(path, support / path.name)
            drivers = shutil.copyfile(home.drivers, self._folder / "drivers.py")
            make_readable(self._folder)
            self.sandbox: Sandbox = open_sandbox(
                drivers,
                [self.student, support],
                home.assignment.limits.memory_mb,
                home.secrets(),
                (template[0].sandbox, template[1]) if template else None,
                torch=uses_torch(home),
            )
            self.parser = FileParser(self.sandbox, self.student)
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise

    def __enter__(self) -> Harness:
        return self

    def __exit__(self, *exception: object) -> None:
        self.sandbox.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def warm_up(self) -> None:
        """Import the drivers and their imports; raise UsageError if that fails, because the author must fix it."""
        try:
            self.sandbox.warm_up()
        except SandboxFault as fault:
            raise UsageError(f"{self.home.drivers.relative_to(self.home.root)} cannot be run: {fault}") from fault

    def place(self, content: bytes, name: str | None = None) -> Path:
        """Write a file where the sandbox can read it, replacing an earlier one, and return its path.

        If the file mentions torch, the sandbox imports torch once for all calls, even if drivers and support files do not.

        Args:
            content: The file's bytes.
            name: Its name; the name of a submission by default.
        """
        if NAMES_TORCH.search(content):
            self.sandbox.use_torch()
        cache = self.student / CACHE  # of an earlier submission, perhaps another student's
        if cache.is_dir() and not cache.is_symlink():
            shutil.rmtree(cache, ignore_errors=True)
        else:
            cache.unlink(missing_ok=True)
        return intake.stage_submission(content, self.student / (name or self.home.assignment.submission))

    def keep_bytecode(self, path: Path, code: Any) -> None:
        """Write the bytecode of a placed file where Python looks for it.

        Args:
            path: The file.
            code: uint8 [size] that `inspect` returned, before anything of the file was run; any other value is ignored.
        """
        folder = path.parent / CACHE
        if isinstance(code, np.ndarray) and code.size and not folder.is_symlink():
            folder.mkdir(exist_ok=True)
            intake.stage_submission(code.tobytes(), folder / f"{path.stem}.{sys.implementation.cache_tag}.pyc")


def uses_torch(home: AssignmentFiles) -> bool:
    """Return whether drivers or support files mention torch, even in a comment; the server then imports it at once."""
    return any(NAMES_TORCH.search(path.read_bytes()) for path in (home.drivers, *home.support()))
