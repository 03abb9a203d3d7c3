"""A pytest plugin for `make`: give each process of pytest-xdist whole test files, but one proof at a time.

A free process takes the next file, so that the fixtures of a module are set up once. The five proofs share nothing. As one
file, they would be made one after the other by one process, and take longer than all other tests together.
"""

from __future__ import annotations

import pytest
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

PROOFS = "tests/kit/test_proofs.py"


class FilesAndProofs(LoadFileScheduling):
    """Deals out files, and the tests of PROOFS one by one."""

    def _split_scope(self, nodeid: str) -> str:
        return nodeid if nodeid.startswith(PROOFS) else super()._split_scope(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FilesAndProofs:
    """Return the scheduler; it takes the place of the one that --dist names."""
    return FilesAndProofs(config, log)
