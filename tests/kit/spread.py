"""A pytest plugin for `make`: give each process of pytest-xdist whole test files, but one proof at a time.

A free process takes the next file, so that the fixtures of a module are set up once. The five proofs share nothing: as one
file, one process would make them one after the other, while the others run out of tests.
"""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

PROOFS = "tests/kit/test_proofs.py"


class FilesAndProofs(LoadFileScheduling):
    """Assigns test files to processes, and the tests of PROOFS one by one."""

    def _split_scope(self, nodeid: str) -> str:
        return nodeid if nodeid.startswith(PROOFS) else super()._split_scope(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FilesAndProofs:
    """Return the scheduler; it takes the place of the one that --dist names."""
    return FilesAndProofs(config, log)
