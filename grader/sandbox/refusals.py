"""Listen for a worker's system calls that are neither allowed nor a named danger. Linux on x86_64; trusted.

The kernel asks here about each such call, and the worker's thread waits for the answer, which is always that there is no such
call. Nothing of the worker is read but the number. After a few answers the ear is closed, and the kernel gives the same answer
by itself; so it does when the judge dies. See seccomp_unotify(2).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import selectors
import struct

MAX_ASKED = 16  # per call, so that no submission keeps the judge busy
# <linux/seccomp.h>
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_NOTIFICATION = struct.Struct("=QIIi")  # the beginning of struct seccomp_notif: id, process, flags, number
_ANSWER = struct.Struct("=QqiI")  # struct seccomp_notif_resp: id, value, error, flags
_ROOM = 1024  # for a notification; a later kernel may write more than the 80 bytes of today


class Refusals:
    """The unlisted calls that one worker was refused; inactive until `listen`.

    Attributes:
        numbers: The numbers of the refused calls, in the order in which they were made.
    """

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self._descriptor: int | None = None

    def listen(self, descriptor: int) -> None:
        """Hear of refused calls at a descriptor, which comes from the filter of a worker."""
        self.close()
        self._descriptor = descriptor

    def watch(self, selector: selectors.BaseSelector) -> None:
        """Let the selector tell when a call is to be answered."""
        if self._descriptor is not None:
            selector.register(self._descriptor, selectors.EVENT_READ, self)

    def answer(self, selector: selectors.BaseSelector) -> None:
        """Answer a call that waits, and take note of its number."""
        if self._descriptor is None:
            return
        notification = bytearray(_ROOM)
        try:
            if not _is_asked(self._descriptor):  # no process is left that could ask
                raise EOFError
            fcntl.ioctl(self._descriptor, _RECEIVE, notification)
            asked, _, _, number = _NOTIFICATION.unpack_from(notification)
            self.numbers.append(number)
            fcntl.ioctl(self._descriptor, _SEND, _ANSWER.pack(asked, 0, -errno.ENOSYS, 0))
        except (FileNotFoundError, InterruptedError):  # a signal has ended the call, or this one
            pass
        except (OSError, EOFError):
            self.close(selector)
        if len(self.numbers) >= MAX_ASKED:
            self.close(selector)

    def close(self, selector: selectors.BaseSelector | None = None) -> None:
        """Stop listening."""
        if self._descriptor is not None:
            if selector is not None:
                selector.unregister(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None

    def names(self) -> tuple[str, ...]:
        """Return the names of the refused calls, each once; a number where the name is not known."""
        return tuple(dict.fromkeys(map(_name, self.numbers)))


def _is_asked(descriptor: int) -> bool:
    """Return whether a call waits here; to receive where none does would block."""
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    return any(events & select.POLLIN for _, events in waiting.poll(0))


def _name(number: int) -> str:
    with contextlib.suppress(ImportError, OSError, RuntimeError, ValueError):
        import pyseccomp

        name: bytes = pyseccomp.resolve_syscall(pyseccomp.Arch.X86_64, number)
        return name.decode()
    return f"call {number}"
