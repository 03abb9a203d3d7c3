"""The toy in a kit of its own, with the note of a proof that found nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

from grader.assignment import AssignmentFiles
from grader.proof.standing import LastProof

ROOT = Path(__file__).resolve().parents[2]


def make_proven_toy(built_toy: Path, root: Path, links: tuple[str, ...] = ()) -> Path:
    """Make the kit in the folder `root`, and return it.

    Args:
        built_toy: The kit that is copied.
        links: What is linked in it from this repository.
    """
    shutil.copytree(built_toy, root)
    for name in links:
        (root / name).symlink_to(ROOT / name)
    home = AssignmentFiles(root, "toy")
    LastProof.begin(home).write(home, [])
    return root
