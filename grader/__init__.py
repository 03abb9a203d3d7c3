"""The grader: a trusted judge and an untrusted sandbox. CONTRIBUTING.md lists the modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Add `%grade` to a notebook, as `%load_ext grader` asks for."""
    from grader.desk.magic import register

    register(shell)


def unload_ipython_extension(_shell: InteractiveShell) -> None:
    """End the process that graded for `%grade`."""
    from grader.desk.magic import unregister

    unregister()
