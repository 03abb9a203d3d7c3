"""Prove suites: solution and alternatives get full marks, the stub nothing, mistakes are caught."""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path
from typing import TYPE_CHECKING

from grader.commands.shared import add_workers, count_workers
from grader.console import GRADED, refuse_output

if TYPE_CHECKING:
    from grader.assignment import AssignmentFiles


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="assignments (default: all)")
    about = (
        "skip mutants, changes of drivers and cases, costs and pairs of mistakes, training of alternatives like the solution"
    )
    parser.add_argument("--quick", action="store_true", help=about)
    about = "ignore the records of trials (tests/proof) and rewrite them"
    parser.add_argument("--all", action="store_true", help=about)
    about = "seed that selects the records to recheck (default: different each run)"
    parser.add_argument("--sample", type=int, metavar="SEED", help=about)
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the kill matrix to this file as a page")
    parser.add_argument("--flake", type=int, default=0, metavar="N", help="repeat random checks with N seeds; slow")
    add_workers(parser, "trials run")


def list_unusable(home: AssignmentFiles) -> list[str]:
    """Return a line about the built files without which nothing can be proven, if some are missing or damaged."""
    from grader.authoring.build import list_damaged

    damaged = list_damaged(home)
    bad = [*damaged, *(path for path in home.answers.values() if not path.is_file())]
    if not bad:
        return []
    names = ", ".join(path.relative_to(home.root).as_posix() for path in bad)
    what = "damaged" if damaged == bad else "missing" if not damaged else "missing or damaged"
    return [f"{names}: {what}; run `python -m grader build {home.assignment.name}`"]


def run(root: Path, options: argparse.Namespace) -> int:
    """Return 0, or 1 where something is not proven."""
    from grader.assignment import AssignmentFiles, UsageError, list_assignments
    from grader.authoring.inspection import inspect_assignment
    from grader.proof.standing import LastProof
    from grader.proof.verify import ProofOptions, verify

    code, chosen = GRADED, options.names or list_assignments(root)
    refuse_output(options.html)
    if options.html and len(chosen) > 1:
        raise UsageError(f"--html makes the page of one assignment; name one of: {', '.join(chosen)}")
    if options.all and options.quick:
        raise UsageError("--all records the whole proof of each assignment; leave out --quick")
    for name in chosen:
        faults = []
        asked = ProofOptions(
            quick=options.quick,
            html=options.html,
            seeds=options.flake,
            workers=count_workers(options),
            anew=options.all,
            sample=options.sample,
        )
        slips = [(slip.describe(root), slip.stops or None) for slip in inspect_assignment(root, name, stale=False)]
        stopped = any(stops for _, stops in slips)
        home = None if stopped else AssignmentFiles(root, name)
        note = home and LastProof.begin(home)  # a file that changes during the proof counts as changed after it
        unusable = [] if home is None else list_unusable(home)
        found = [(line, True) for line in unusable] if unusable or stopped else verify(root, name, asked)
        for line, fault in itertools.chain(slips, found):
            print(line if fault is None else f"{'FAULT' if fault else 'ok   '} {name}: {line}", flush=True)
            faults += [line] if fault else []
        if note and home:
            note.write(home, faults, quick=options.quick)
        if faults:
            code = 1
            print("\n".join([f"\n{name}: not proven; faults found: {len(faults)}", *(f"  {line}" for line in faults)]))
        else:
            print(f"\n{name}: proven")
    return code
