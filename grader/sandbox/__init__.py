"""Run untrusted code: `Sandbox.call` runs a public driver with student code and returns plain data."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from grader.sandbox.reply import LAYERS, LEVELS, PROCESSORS

if TYPE_CHECKING:
    from grader.sandbox.forked import ForkedSandbox
    from grader.sandbox.spawned import SpawnedSandbox

    Sandbox = ForkedSandbox | SpawnedSandbox


def open_sandbox(
    drivers: Path,
    folders: Sequence[Path],
    memory_mb: int = 1024,
    secrets: Sequence[Path] = (),
    template: tuple[Sandbox, int] | None = None,
    torch: bool = True,
) -> Sandbox:
    """Return the best sandbox that this system allows.

    GRADER_LEVEL=basic requests the one that every system allows, GRADER_LEVEL=process the one that an
    ordinary user gets. GRADER_WITHOUT=landlock,seccomp leaves out layers. GRADER_PROCESSOR=avx2
    lets libraries round as on another processor (see `reply.PROCESSORS`).

    Args:
        drivers: The file of public drivers.
        folders: Where student code and drivers find support files such as utils.py.
        memory_mb: The memory that a call may map beyond the memory that torch has mapped already,
            where that can be limited.
        secrets: Files that student code must not read, where that can be prevented.
        template: See `ForkedSandbox`.
        torch: Whether to import it before the first call, for all of them.

    Raises:
        ModuleNotFoundError: If torch is to be imported, and is not installed; this is easier to report here than
            from a child process.
    """
    if torch and importlib.util.find_spec("torch") is None:
        raise ModuleNotFoundError("No module named 'torch'", name="torch")
    from grader.assignment import UsageError  # not needed in the server, which imports this package as well

    level, without = os.environ.get("GRADER_LEVEL") or "full", os.environ.get("GRADER_WITHOUT", "")
    processor = os.environ.get("GRADER_PROCESSOR", "")
    for name, value, known in (
        ("GRADER_LEVEL", [level], LEVELS),
        ("GRADER_WITHOUT", without.split(","), LAYERS),
        ("GRADER_PROCESSOR", [processor], PROCESSORS),
    ):
        if unknown := [word for word in value if word and word not in known]:
            raise UsageError(f"{name} names {unknown[0]!r}; there are: {', '.join(known)}")
    if sys.platform == "linux" and level != "basic":
        from grader.sandbox.forked import ForkedSandbox

        forked = cast("tuple[ForkedSandbox, int] | None", template)  # all sandboxes of one process are of one kind
        return ForkedSandbox(drivers, folders, memory_mb, secrets, template=forked, torch=torch)
    from grader.sandbox.spawned import SpawnedSandbox

    return SpawnedSandbox(drivers, folders, memory_mb, secrets, torch)
