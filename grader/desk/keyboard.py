"""The keyboard of watch mode: each key at once, without Enter."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any


class Keyboard:
    """Reads keys as they are pressed, without Enter; the terminal is always restored at the end."""

    def __enter__(self) -> Keyboard:
        self._before: list[Any] = []
        self.take()
        return self

    def __exit__(self, *exception: object) -> None:
        self._give_back()

    def pressed(self) -> str:
        """Return a key that was pressed, or nothing."""
        if sys.platform == "win32":
            import msvcrt

            return msvcrt.getwch() if msvcrt.kbhit() else ""
        import os
        import select

        ready, _, _ = select.select([sys.stdin], [], [], 0)
        return os.read(sys.stdin.fileno(), 1).decode("latin-1") or "\x04" if ready else ""

    @contextlib.contextmanager
    def released(self) -> Iterator[None]:
        """Restore the terminal for a while."""
        self._give_back()
        try:
            yield
        finally:
            self.take()

    def take(self) -> None:
        """Receive each key at once, even if another program changed the terminal in between."""
        if sys.platform != "win32":
            import termios
            import tty

            self._before = self._before or termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin)

    def _give_back(self) -> None:
        if sys.platform != "win32":
            import termios

            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._before)
