"""Use large memory pages (Linux): a fork copies one table entry per page, and 512 small pages make a large one.

With torch in it, a process has some 40,000 small pages of its own; forking it, and ending the copy, is half as much work with
large ones. Nothing else depends on it: where the kernel cannot do it, memory stays as it is.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from grader.sandbox import kernel


def find_scattered_pages() -> list[int]:
    """Return the addresses, multiples of LARGE_PAGE, of all whole large pages that this process's own memory has room for."""
    found: list[int] = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, rights, _, _, file = line.split()[:5]
        first, _, end = span.partition("-")
        if rights == "rw-p" and file == "0":
            start = -(-int(first, 16) // kernel.LARGE_PAGE) * kernel.LARGE_PAGE
            found += range(start, int(end, 16) - kernel.LARGE_PAGE + 1, kernel.LARGE_PAGE)
    return found


def merge_pages(address: int) -> None:
    """Make one large page of the small ones from this address on, where the kernel can."""
    with contextlib.suppress(OSError):
        kernel.collapse_pages(address)
