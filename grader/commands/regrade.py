"""Rescore a class by policy and adjustments, or rerun corrected checks and, with --apply, make the new outcomes count."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from grader.commands.shared import add_compared, add_workers, count_workers, end_class
from grader.console import GRADED, ClassProgress, add_level, print_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grader.assignment import AssignmentFiles
    from grader.course.regrade import Regrade
    from grader.course.run import RunProgress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder that `course` wrote")
    parser.add_argument("--policy", type=Path, metavar="FILE", help="only recompute the scores by this policy; runs nothing")
    about = "only recompute the scores with these manual points, comments and answers; runs nothing"
    parser.add_argument("--adjustments", type=Path, metavar="FILE", help=about)
    about = "with --policy or --adjustments: only show whose score would change, and why; write nothing"
    parser.add_argument("--preview", action="store_true", help=about)
    add_compared(parser)
    about = "make the new outcomes count; without it, only show whose points would change"
    parser.add_argument("--apply", action="store_true", help=about)
    parser.add_argument(
        "--never-lower", action="store_true", help="with --apply: students who would lose points keep their earlier result"
    )
    about = "with --apply: skip the proof of the corrected suite and allow an unchanged version"
    parser.add_argument("--unproven", action="store_true", help=about)
    parser.add_argument("--undo", action="store_true", help="restore the results that the last --apply replaced; runs nothing")
    add_workers(parser, "submissions graded")
    add_level(parser)


def run(root: Path, options: argparse.Namespace) -> int:
    """Return 0, 2 if an unproven suite would be applied, or 3 if a submission was not graded."""
    from grader.assignment import AssignmentFiles
    from grader.course.earlier import read_compared
    from grader.course.regrade import Regrade, undo
    from grader.course.rescore import preview_rescoring
    from grader.course.results import ResultsFolder
    from grader.course.summary import write_class_results

    files = _list_files(options)
    folder = ResultsFolder(options.folder)
    if options.preview:
        for line in preview_rescoring(folder, options.policy, options.adjustments):
            print_line(line)
        return GRADED
    home = AssignmentFiles(root, folder.course().assignment.name)
    if files or options.undo:
        rules, anew = (options.policy, options.adjustments), bool(options.earlier or options.known)
        compared = read_compared(home, folder, options.earlier, options.known)
        for line in undo(home, folder) if options.undo else write_class_results(home, folder, *rules, anew, compared):
            print_line(line)
        return GRADED
    again = Regrade(home, folder, options.require_level)
    if options.apply and not options.unproven and again.changed:
        _require_proof(again, count_workers(options))
    failed: list[str] = []
    with ClassProgress() as progress:

        def show(standing: RunProgress) -> None:
            failed[:] = standing.failed
            progress.show(standing)

        for line in again.grade(count_workers(options), show):
            print_line(line)
    for line in _apply(again, options) if options.apply else _describe_preview(again):
        print_line(line)
    return end_class(failed)


def _apply(again: Regrade, options: argparse.Namespace) -> Iterator[str]:
    """Make the new outcomes count, and yield what was written; if the grader failed, yield why nothing is.

    Raises:
        UsageError: If something else is against it.
    """
    from grader.assignment import UsageError

    if not (refusals := again.list_refusals()):
        yield from again.apply(options.never_lower)
    elif again.failed:
        yield f"nothing was applied: {'; '.join(refusals)}"
    else:
        raise UsageError(f"nothing was applied: {'; '.join(refusals)}")


def _describe_preview(again: Regrade) -> Iterator[str]:
    """Yield what `--apply` would do and what it would refuse, as far as that is known before the proof."""
    yield "nothing changed yet: scores and pages are as before; add --apply, or --apply --never-lower"
    unsound = [*_explain_version(again), *_list_stale(again.home)] if again.changed else []
    if refusals := [*unsound, *again.list_refusals()]:
        yield f"--apply would refuse this: {'; '.join(refusals)}"
    elif again.changed:
        yield "--apply first proves the suite, and refuses it if that finds a fault"


def _explain_version(again: Regrade) -> list[str]:
    if not again.same_version:
        return []
    return [
        f"{', '.join(again.changed)} changed, but the suite is still {again.home.assignment.version}, so reports of both "
        "versions look alike: raise the version in assignment.toml, or add --unproven"
    ]


def _list_stale(home: AssignmentFiles) -> list[str]:
    """Return which built files are out of date, or why that cannot be found out."""
    from grader.assignment import UsageError
    from grader.authoring.staleness import list_stale_files

    try:
        stale = [f"{file.path.relative_to(home.root).as_posix()} is stale: {file.why}" for file in list_stale_files(home)]
        return [*stale, f"run `build {home.assignment.name}`"] if stale else []
    except UsageError as error:
        return [str(error)]


def _list_files(options: argparse.Namespace) -> list[str]:
    """Return the options that name a file to score or compare by.

    Raises:
        UsageError: If options do not go together.
    """
    from grader.assignment import UsageError

    files = [f"--{name}" for name in ("policy", "adjustments", "earlier", "known") if getattr(options, name)]
    apart = [*files, *(f"--{name}" for name in ("undo", "apply") if getattr(options, name))]
    if len(apart) > max(len(files), 1):
        raise UsageError(f"{' and '.join(apart)} cannot be combined: keep one of them")
    unused = [f"--{name}".replace("_", "-") for name in ("never_lower", "unproven") if getattr(options, name)]
    if unused and not options.apply:
        raise UsageError(f"{' and '.join(unused)} have no effect without --apply: add --apply")
    if options.preview and (options.earlier or options.known or not files):
        raise UsageError(
            "--preview shows the effect of --policy or --adjustments: add one or both, and nothing else. Corrected checks have "
            "a preview already: `regrade` without --apply"
        )
    return files


def _require_proof(again: Regrade, workers: int) -> None:
    """Refuse a suite that is stale, that is not proven, or whose version was not raised.

    Raises:
        UsageError: If one of these is true.
    """
    from grader.assignment import UsageError
    from grader.proof.verify import ProofOptions, verify

    home = again.home
    name, version = home.assignment.name, home.assignment.version
    if same := _explain_version(again):
        raise UsageError(same[0])
    print_line(f"proving {name} {version} first (--unproven skips this)")
    faults = [line for line, fault in verify(home.root, name, ProofOptions(quick=True, workers=workers)) if fault]
    if faults:
        found = "".join(f"\n  {line}" for line in faults)
        raise UsageError(
            f"nothing was run: the corrected suite is not proven; faults found: {len(faults)}{found}\n"
            "Correct the suite, or add --unproven to skip the proof"
        )
