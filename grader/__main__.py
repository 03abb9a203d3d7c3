"""The instructor's command line: `python -m grader COMMAND`. Every command prints what it wrote."""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from grader.console import (
    GRADED,
    GRADER_ERROR,
    ROOT,
    USAGE,
    ClassProgress,
    ProgressLine,
    ReportNotWritten,
    ReportWriter,
    add_level,
    add_output,
    refuse_file,
    refuse_output,
    run_guarded,
)
from grader.formats import ENDINGS
from grader.platforms.registry import PLATFORMS

REFERENCE_FROM = 20  # submissions of a class, for which one more, the reference, costs little

if TYPE_CHECKING:
    from grader.assignment import AssignmentFiles
    from grader.course.run import RunProgress

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def main() -> int:
    """Run one command and return its exit code: 0 done, 1 something is stale or not proven, 2 usage, 3 grader error."""
    parser = argparse.ArgumentParser(prog="python -m grader", description="Build, prove and grade assignments.")
    commands = parser.add_subparsers(dest="command", required=True)

    _add_proving(commands)
    _add_grading(commands)
    _add_authoring(commands)
    _add_packages(commands)
    _add_classes(commands)
    doctor = commands.add_parser("doctor", help="attack the sandbox of this machine, and grade references on it")
    doctor.add_argument("names", nargs="*", metavar="NAME", help="assignments whose reference must get full marks here")
    add_level(doctor)
    doctor.set_defaults(run=_doctor)

    options = parser.parse_args()
    return run_guarded(lambda: options.run(options))


def _add_proving(commands: Commands) -> None:
    """Add `build` and `verify`."""
    build = commands.add_parser("build", help="make stubs and answers from solutions/")
    build.add_argument("names", nargs="*", metavar="NAME", help="assignments (default: all)")
    build.add_argument("--check", action="store_true", help="write nothing; fail when something is stale")
    build.add_argument("--seed", type=int, help="make new hidden cases from this seed")
    _add_workers(build, "mistakes tried")
    build.set_defaults(run=_build)

    verify = commands.add_parser("verify", help="prove the suite: solution and alternatives 100 %%, stub 0 %%, mistakes caught")
    verify.add_argument("names", nargs="*", metavar="NAME", help="assignments (default: all)")
    about = "without mutants, and without training alternatives that return what the solution returns in every call"
    verify.add_argument("--quick", action="store_true", help=about)
    about = "believe no record of a trial (tests/proof), and write them anew"
    verify.add_argument("--all", action="store_true", help=about)
    about = "the seed by which records are drawn that are tried all the same (default: another one at each run)"
    verify.add_argument("--sample", type=int, metavar="SEED", help=about)
    verify.add_argument("--matrix", action="store_true", help="try every mistake on every question")
    verify.add_argument("--html", type=Path, metavar="FILE", help="write the matrix of mistakes and checks as a page")
    verify.add_argument("--flake", type=int, default=0, metavar="N", help="measure with N seeds what chance decides; slow")
    _add_workers(verify, "trials run")
    verify.set_defaults(run=_verify)


def _add_grading(commands: Commands) -> None:
    """Add `grade`."""
    grade = commands.add_parser("grade", help="grade submissions")
    grade.add_argument("name", metavar="NAME", help="the assignment")
    grade.add_argument(
        "paths",
        nargs="+",
        type=Path,
        metavar="PATH",
        help="a submission (file, notebook, zip, folder), or a class's export",
    )
    grade.add_argument("--suite", default="visible,hidden", help="visible, hidden or both (default: visible,hidden)")
    grade.add_argument("--format", default="text", choices=sorted(ENDINGS), help="of what is printed or written")
    about = "of hidden checks show nothing but their points; formats for platforms never show more"
    grade.add_argument("--for-student", action="store_true", help=about)
    grade.add_argument("-o", dest="output", type=Path, metavar="FILE", help="write here; for several paths, a folder")
    add_level(grade)
    _add_sound(grade)
    grade.set_defaults(run=_grade)


def _add_authoring(commands: Commands) -> None:
    """Add `new` and `remove`."""
    new = commands.add_parser("new", help="begin an assignment: a small one that is proven already, to be changed")
    new.add_argument("name", metavar="NAME", help="how files and commands call it: a to z, 0 to 9 and _")
    new.add_argument("--title", help="how students call it (default: the name in words)")
    new.set_defaults(run=_new)

    remove = commands.add_parser("remove", help="delete all files of an assignment, which lie in several folders")
    remove.add_argument("name", metavar="NAME", help="the assignment")
    remove.add_argument("--yes", action="store_true", help="do not ask whether to")
    remove.set_defaults(run=_remove)


def _add_packages(commands: Commands) -> None:
    """Add what packs an assignment: for students, and for each platform."""
    release = commands.add_parser("release", help="make the zip that students get")
    add_output(release, "NAME.zip")
    release.set_defaults(run=_release)

    for name, platform in PLATFORMS.items():
        made = commands.add_parser(name, help=platform.HELP)
        platform.add_arguments(made)
        made.set_defaults(run=_pack, platform=platform)


def _add_classes(commands: Commands) -> None:
    """Add `course` and `regrade`."""
    course = commands.add_parser("course", help="grade a class: resumable, in parallel, on many machines")
    course.add_argument("name", metavar="NAME", help="the assignment")
    course.add_argument(
        "export", type=Path, metavar="EXPORT_DIR", help="what Gradescope or Canvas exported, or a folder of files"
    )
    course.add_argument("-o", dest="output", type=Path, required=True, metavar="DIR", help="write results and pages here")
    course.add_argument("--suite", default="visible,hidden", help="visible, hidden or both (default: visible,hidden)")
    course.add_argument("--layout", choices=("gradescope", "canvas", "folder"), help="of the export (default: found out)")
    course.add_argument("--shard", default="1/1", metavar="I/N", help="only this part of N; all parts share DIR")
    course.add_argument("--scheduler", metavar="ADDRESS", help="grade on the workers of this Dask cluster: see docs/cluster.md")
    course.add_argument("--policy", type=Path, metavar="FILE", help="late days, weights, caps: see docs/policy.md")
    _add_workers(course, "submissions graded")
    add_level(course)
    _add_sound(course)
    course.set_defaults(run=_course)

    regrade = commands.add_parser("regrade", help="score a class anew by a policy, or run what was corrected in the checks")
    regrade.add_argument("folder", type=Path, metavar="DIR", help="what `course` wrote")
    regrade.add_argument("--policy", type=Path, metavar="FILE", help="only score anew, by this policy; nothing is run")
    _add_workers(regrade, "submissions graded")
    add_level(regrade)
    regrade.set_defaults(run=_regrade)


def _add_sound(parser: argparse.ArgumentParser) -> None:
    about = "grade nothing where the reference, which is graded first, does not get full marks"
    parser.add_argument("--require-sound", action="store_true", help=about)


def _add_workers(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("--workers", type=int, metavar="N", help=f"{what} at the same time (default: one a core)")


def _build(options: argparse.Namespace) -> int:
    from grader.assignment import list_assignments
    from grader.publish.build import BuildOptions, build

    stale = []
    for name in options.names or list_assignments(ROOT):
        for path in build(ROOT, name, BuildOptions(options.check, options.seed, workers=_workers(options), report=print)):
            stale.append(path)
            print(f"{'stale' if options.check else 'wrote'} {path.relative_to(ROOT)}")
    if not stale:
        print("everything is up to date")
    elif options.check:
        print("run `python -m grader build` and commit the result", file=sys.stderr)
    return 1 if stale and options.check else 0


def _verify(options: argparse.Namespace) -> int:
    from grader.assignment import UsageError, list_assignments
    from grader.publish.verify import ProofOptions, verify

    code, chosen = GRADED, options.names or list_assignments(ROOT)
    refuse_output(options.html)
    if options.html and len(chosen) > 1:
        raise UsageError(f"--html makes the page of one assignment; name one of: {', '.join(chosen)}")
    if options.all and (options.quick or options.matrix):
        raise UsageError("--all records the whole proof of each assignment; leave out --quick and --matrix")
    for name in chosen:
        faults = []
        asked = ProofOptions(
            quick=options.quick,
            everything=options.matrix,
            html=options.html,
            seeds=options.flake,
            workers=_workers(options),
            anew=options.all,
            sample=options.sample,
        )
        for line, fault in verify(ROOT, name, asked):
            print(line if fault is None else f"{'FAULT' if fault else 'ok   '} {name}: {line}", flush=True)
            faults += [line] if fault else []
        if faults:
            code = 1
            print("\n".join([f"\n{name}: not proven, {len(faults)} found:", *(f"  {line}" for line in faults)]))
        else:
            print(f"\n{name}: proven")
    return code


def _grade(options: argparse.Namespace) -> int:
    from grader import submission
    from grader.assignment import AssignmentFiles, UsageError
    from grader.formats import choose_renderer
    from grader.judge.run import GradingOptions, grade
    from grader.report import shared, terminal
    from grader.report.text import sanitize

    suites = _suites(options.suite)
    home = AssignmentFiles(ROOT, options.name)
    paths = [one for path in options.paths for one in submission.expand_paths(path, home.assignment.submission)]
    several = len(paths) > 1
    if options.require_sound:
        _require_sound(home, options)
    code, refused = GRADED, []
    for path in paths:
        if several:
            print(f"== {sanitize(str(path))}", file=sys.stdout if options.format == "text" else sys.stderr)
        output = options.output
        if output is not None and several:
            output = output / f"{'_'.join(part for part in path.parts if part not in '/..')}.{ENDINGS[options.format]}"
        try:
            submission.read_submission(path, home.assignment.submission)
            refuse_output(output, path)
        except UsageError as error:
            # In a batch, one bad path must not cost the others their grade.
            if not several:
                raise
            print(f"error: {sanitize(str(error))}", file=sys.stderr)
            refused.append(str(path))
            continue
        rendered = choose_renderer(options.format, home.assignment, options.for_student)
        with ProgressLine() as progress:
            kept = ReportWriter(output, rendered, progress.show)
            report = grade(home, path, suites, GradingOptions(changed=kept), require_level=options.require_level)
        try:
            kept.check()
        except ReportNotWritten as error:
            if not several:
                raise
            print(f"error: {sanitize(str(error))}", file=sys.stderr)
            code = GRADER_ERROR
            continue
        if output is not None:
            print(f"wrote {output}: {report.points:g}/{report.max_points:g} points")
        elif options.format == "text":
            terminal.render(shared.fold_hidden_checks(report) if options.for_student else report)
        else:
            print(rendered(report), end="")
        code = code if report.final else GRADER_ERROR
    if refused:
        print(f"graded {len(paths) - len(refused)} of {len(paths)}; not: {', '.join(refused)}")
    return USAGE if refused and code == GRADED else code


def _new(options: argparse.Namespace) -> int:
    from grader.publish.new import new

    for path in new(ROOT, options.name, options.title):
        print(f"wrote {path.relative_to(ROOT)}")
    name = options.name
    print(
        f"\n{name} is complete, with one question. docs/authoring.md says how to go on. Next:\n"
        f"  python -m grader verify {name}    # the proof; it holds now, and should after each of your changes\n"
        f"  python grade.py {name} --submission solutions/{name}    # what a student sees\n"
        f"  python -m grader build {name}     # after a change to solutions/, drivers or checks; then verify again"
    )
    return GRADED


def _remove(options: argparse.Namespace) -> int:
    from grader.assignment import UsageError
    from grader.publish.new import remove

    def agreed(files: list[Path]) -> bool:
        if options.yes:
            return True
        if not sys.stdin.isatty():
            raise UsageError("nothing was deleted: say --yes where nobody can be asked")
        print(*(path.relative_to(ROOT) for path in files), sep="\n")
        try:
            return input(f"Delete these {len(files)} files? [y/N] ").strip().lower() in ("y", "yes")
        except EOFError:
            return False

    deleted = remove(ROOT, options.name, agreed)
    print(f"deleted {len(deleted)} files" if deleted else "nothing was deleted")
    return GRADED


def _release(options: argparse.Namespace) -> int:
    from grader.publish.release import release

    refuse_file(options.output)
    for line in release(ROOT, options.name, options.output):
        print(line, flush=True)
    return GRADED


def _pack(options: argparse.Namespace) -> int:
    refuse_file(options.output)
    for line in options.platform.write_package(ROOT, options):
        print(line, flush=True)
    return GRADED


def _course(options: argparse.Namespace) -> int:
    from grader.assignment import AssignmentFiles, UsageError
    from grader.course import run
    from grader.course.policy import parse_policy, read_policy_text, require_known_names
    from grader.course.results import ResultsFolder
    from grader.course.summary import write_class_results

    home = AssignmentFiles(ROOT, options.name)
    numbers = options.shard.split("/")
    if len(numbers) != 2 or not all(number.isdecimal() for number in numbers):
        raise UsageError(f"--shard {options.shard}: expected two numbers, as in 1/4")
    refuse_file(options.output)
    policy = parse_policy(read_policy_text(options.policy), str(options.policy)) if options.policy else None
    with ClassProgress() as progress:
        job = run.prepare_job(
            home, options.export, options.output, _suites(options.suite), options.layout, options.require_level
        )
        own = run.take_shard(job.course.entries, *map(int, numbers))
        entries = run.list_ungraded_entries(job, own)
        print(f"{len(own)} submissions ({job.course.layout}), {len(own) - len(entries)} graded before", flush=True)
        if options.require_sound or len(entries) >= REFERENCE_FROM:
            _require_sound(home, options)
        for line in run.list_remarks(job):
            print(line, flush=True)
        if policy:
            require_known_names(job.course, {}, policy)
        if options.scheduler:
            from grader.course import cluster

            workers = None if options.workers is None else _workers(options)
            standing = cluster.grade_on_cluster(job, entries, options.scheduler, workers, progress.show)
        else:
            standing = run.grade_entries(job, entries, _workers(options), progress.show)
    for line in write_class_results(home, ResultsFolder(options.output), options.policy):
        print(line, flush=True)
    return _ended(standing.failed, standing.lost)


def _regrade(options: argparse.Namespace) -> int:
    from grader.assignment import AssignmentFiles
    from grader.course.regrade import regrade
    from grader.course.results import ResultsFolder
    from grader.course.summary import write_class_results

    folder = ResultsFolder(options.folder)
    home = AssignmentFiles(ROOT, folder.course().assignment.name)
    if options.policy:
        for line in write_class_results(home, folder, options.policy, anew=False):
            print(line, flush=True)
        return GRADED
    failed: list[str] = []
    with ClassProgress() as progress:

        def show(standing: RunProgress) -> None:
            failed[:] = standing.failed
            progress.show(standing)

        for line in regrade(home, folder, _workers(options), show, options.require_level):
            print(line, flush=True)
    return _ended(failed)


def _workers(options: argparse.Namespace) -> int:
    from grader.assignment import UsageError
    from grader.course.run import count_cores

    workers = count_cores() if options.workers is None else options.workers
    if workers < 1:
        raise UsageError(f"--workers {workers}: expected at least 1")
    return workers


def _suites(text: str) -> tuple[str, ...]:
    from grader.assignment import SUITES, UsageError

    suites = tuple(dict.fromkeys(text.split(",")))
    if unknown := [suite for suite in suites if suite not in SUITES]:
        raise UsageError(f"there is no suite {unknown[0]!r}; there are: {', '.join(SUITES)}")
    return suites


def _ended(failed: list[str], lost: list[str] | None = None) -> int:
    if failed:
        print(f"the grader failed for {', '.join(failed)}: run the same command again", file=sys.stderr)
    if lost:
        print(f"not graded: {', '.join(lost)}: run the same command again", file=sys.stderr)
    return GRADER_ERROR if failed or lost else GRADED


def _require_sound(home: AssignmentFiles, options: argparse.Namespace) -> None:
    """Say that this machine takes points from right work; with --require-sound, raise UsageError."""
    from grader.assignment import UsageError
    from grader.doctor import check_reference

    said, sound = check_reference(home, _suites(options.suite), options.require_level)
    if not sound and options.require_sound:
        raise UsageError(f"nothing was graded: {said}")
    if not sound:
        print(f"Right work loses points on this machine: {said}", flush=True)


def _doctor(options: argparse.Namespace) -> int:
    from grader.assignment import AssignmentFiles
    from grader.doctor import attack_sandbox, check_reference

    held = True
    references = (check_reference(AssignmentFiles(ROOT, name), require_level=options.require_level) for name in options.names)
    for line, fine in itertools.chain(attack_sandbox(options.require_level), references):
        held = held and fine is not False
        print(line if fine is None else f"{'ok   ' if fine else 'FAULT'} {line}", flush=True)
    return GRADED if held else 1


if __name__ == "__main__":
    sys.exit(main())
