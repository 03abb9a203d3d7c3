"""Run the quick proof of one assignment: `python -m tests.kit.prove NAME WORKERS`; exit code 1 if it finds a fault.

It is a command of its own because pytest rewrites assertions in the process that it runs in, also those of checks, whose
messages would be others then. `python -m grader verify` would do as well, but depends on every module of the grader.
"""

from __future__ import annotations

import sys
from pathlib import Path

from grader.proof.verify import ProofOptions, verify


def main() -> int:
    name, workers = sys.argv[1:]
    faults = 0
    for line, fault in verify(Path(__file__).resolve().parents[2], name, ProofOptions(quick=True, workers=int(workers))):
        print(f"FAULT {line}" if fault else line, flush=True)
        faults += bool(fault)
    return min(faults, 1)


if __name__ == "__main__":
    sys.exit(main())
