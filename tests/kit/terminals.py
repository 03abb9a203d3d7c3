"""Run a program in a terminal of a given width, for tests."""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path

from tests.kit.patience import PATIENCE


def run_in_terminal(command: list[str], width: int, cwd: Path, keys: str = "", **environment: str) -> list[str]:
    """Return the lines that a program prints in a terminal of this many columns, without colors.

    It must end by itself. Its keys come from a pipe. The system must have pseudo-terminals.
    """
    import fcntl
    import pty
    import struct
    import termios

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_", "CI", "COLUMNS"))}
    kept |= {"TERM": "xterm", "NO_COLOR": "1", **environment}
    with subprocess.Popen(command, cwd=cwd, env=kept, stdin=subprocess.PIPE, stdout=slave, stderr=slave) as process:
        os.close(slave)
        assert process.stdin is not None
        process.stdin.write(keys.encode())
        process.stdin.close()
        said = b""
        with contextlib.suppress(OSError):  # Linux raises it when the program has ended
            while data := os.read(master, 1 << 16):
                said += data
        process.wait(PATIENCE)
    os.close(master)
    return said.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
