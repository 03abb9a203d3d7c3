"""What tests know of the processes behind a sandbox."""

from __future__ import annotations

import subprocess

from grader.sandbox.forked import ForkedSandbox
from grader.sandbox.reply import SandboxCalls
from grader.sandbox.spawned import SpawnedSandbox


def process_behind(sandbox: SandboxCalls) -> subprocess.Popen[bytes]:
    """Return the server of a sandbox, or its spawned worker; it has to be there."""
    assert isinstance(sandbox, ForkedSandbox | SpawnedSandbox)
    process = sandbox._server if isinstance(sandbox, ForkedSandbox) else sandbox._worker
    assert process is not None
    return process
