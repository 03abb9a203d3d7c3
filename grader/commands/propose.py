"""Propose mistakes for an assignment's catalogue, what its checks are there for, and cases. Nothing is accepted by itself."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from grader.commands.shared import add_workers, count_workers, refuse_slips
from grader.console import GRADED

if TYPE_CHECKING:
    from grader.assignment import AssignmentFiles
    from grader.proof.candidates import Candidate
    from grader.proof.listing import Line
    from grader.proof.proposing import Proposal, Proposals, WrongGroup
    from grader.proof.telling_apart import ProposedCase
    from grader.proof.variations import Variation

MOST = 5  # mistakes of a question that are shown


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("name", metavar="NAME", help="the assignment")
    parser.add_argument("--question", metavar="QUESTION", help="propose for this question only, which is faster")
    parser.add_argument("--class", dest="graded", type=Path, metavar="DIR", help="a graded class, as `course -o DIR` wrote it")
    about = f"mistakes of a question to show, the most useful ones first (default: {MOST})"
    parser.add_argument("--most", type=int, default=MOST, metavar="N", help=about)
    about = "write these proposals, by their printed names (default: in a terminal, you are asked for each)"
    parser.add_argument("--accept", metavar="ID[,ID]", help=about)
    add_workers(parser, "changes tried")


def run(root: Path, options: argparse.Namespace) -> int:
    """Return 0 when everything is proposed, or written."""
    from grader.assignment import AssignmentFiles, UsageError

    home = AssignmentFiles(root, options.name)
    if not home.solution.is_dir():
        raise UsageError(f"there is no {home.solution}: mistakes are changes of the solution, which only instructors have")
    if missing := [path for path in home.answers.values() if not path.is_file()]:
        raise UsageError(f"{missing[0].relative_to(root)} is missing; first run `python -m grader build {options.name}`")
    refuse_slips(root, options.name, "proposed")
    session = _Session(home, options)
    try:
        if options.accept is not None:
            session.accept(list(dict.fromkeys(name.strip() for name in options.accept.split(",") if name.strip())))
        else:
            session.propose()
    finally:  # also after Ctrl-C, when some proposals have been accepted
        session.end()
    return GRADED


@dataclass(frozen=True)
class _Entry:
    """A proposal on the screen.

    Attributes:
        head: The heading of its kind.
        lines: What is printed of it.
        accept: Writes it; None if there is nothing to write.
    """

    head: str
    lines: list[Line]
    accept: Callable[[], None] | None


@dataclass
class _Session:
    """One run of the command.

    Attributes:
        written: The files that were changed.
        said: What was written, a line each.
    """

    home: AssignmentFiles
    options: argparse.Namespace
    written: list[Path] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    # To propose

    def propose(self) -> None:
        """Print every proposal; in a terminal, ask for each whether it is accepted."""
        from grader.judge.harness import Harness
        from grader.proof import listing
        from grader.proof.candidates import make_candidates
        from grader.proof.pool import TrialPool
        from grader.proof.proposing import propose
        from grader.proof.telling_apart import find_cases, list_unseparated

        candidates, groups = make_candidates(self.home, self.options.question), self._read_groups()
        workers = count_workers(self.options)
        with Harness(self.home) as harness, TrialPool(harness, workers, self.home.assignment.name) as pool:
            found = propose(pool, self.home, candidates, groups)
            unseparated = list_unseparated(self.home, found.survivors, self.options.question)
            cases, left = find_cases(pool, self.home, unseparated)
        _print(listing.summarize(found))
        asks, head = sys.stdin.isatty() and sys.stdout.isatty(), ""
        for entry in [*self._list_mistakes(found), *self._list_ideas(), *self._list_cases(cases)]:
            _print([*([("", ""), (entry.head, "bold underline")] if entry.head != head else []), *entry.lines])
            head = entry.head
            if asks and entry.accept is not None and not _ask(partial(self._write_together, entry.accept)):
                return
        _print(listing.describe_unseparated(left))

    def _read_groups(self) -> list[WrongGroup]:
        """Return the groups of a graded class that have no name, if they gave wrong answers."""
        if self.options.graded is None:
            return []
        from grader.assignment import UsageError
        from grader.course.results import ResultsFolder
        from grader.course.summary import list_unnamed_groups
        from grader.proof.proposing import WrongGroup

        folder = ResultsFolder(self.options.graded)
        course = folder.course()
        if course.assignment.name != self.home.assignment.name:
            raise UsageError(f"{folder.path} is a class of {course.assignment.name}, not of {self.home.assignment.name}")
        results = folder.of(course)
        found = []
        for group in list_unnamed_groups(folder):
            result = results[group.submissions[0].id]
            shows = {check.id: result.shows[check.id] for check in group.checks if result and check.id in result.shows}
            answered = all(isinstance(saw, list) for saw in shows.values())  # messages of exceptions differ with the code
            if shows and answered and self.options.question in (None, group.question):
                found.append(WrongGroup(group.number, group.question, len(group.submissions), shows, course.suites))
        return found

    def _list_mistakes(self, found: Proposals) -> Iterator[_Entry]:
        from grader.proof import listing
        from grader.proof.proposing import draft_mistake

        most = self.options.most
        for question in dict.fromkeys(one.candidate.question for one in found.found):
            own = [one for one in found.found if one.candidate.question == question]
            more = f": {most} of {len(own)} (--most {len(own)} shows all)" if len(own) > most else ""
            for one in own[:most]:
                lines = listing.describe_mistake(one, draft_mistake(self.home, one))
                yield _Entry(f"Mistakes of {question}{more}", lines, partial(self._write_mistake, one))
        for group in found.groups:
            yield _Entry(f"Groups of {self.options.graded}", listing.describe_group(group), partial(self._write_group, group))

    def _list_ideas(self) -> Iterator[_Entry]:
        from grader.proof.proposing import suggest_missing_ideas

        head = "Mistakes that checks should catch (catches.toml)"
        found = suggest_missing_ideas(self.home, self.options.question)
        for check, names in found.items():
            if names:
                yield _Entry(head, [(f"{check}  {', '.join(names)}", "bold")], partial(self._write_idea, check, names))
        if missing := [check for check, names in found.items() if not names]:
            why = "no mistake shows what these are for: every other check of the question catches the same mistakes, too"
            yield _Entry(head, [(f"  {why}", ""), *((f"    {check}", "") for check in missing)], None)

    def _list_cases(self, cases: Sequence[ProposedCase]) -> Iterator[_Entry]:
        from grader.authoring.newcheck import render_check
        from grader.proof import listing

        for case in cases:
            path = self.home.solution / "cases.py"
            lines = listing.describe_case(case, self._relative(path), render_check(self.home, case.variation))
            yield _Entry("Cases", lines, partial(self._write_case, case.variation))

    def _relative(self, path: Path) -> str:
        return path.relative_to(self.home.root).as_posix()

    # To accept

    def accept(self, names: Sequence[str]) -> None:
        """Write the proposals with these names; nothing if one of them is unknown, is not new, or cannot be written."""
        from grader.assignment import UsageError
        from grader.authoring.entry import require_free_name
        from grader.proof.candidates import make_candidates
        from grader.proof.proposing import suggest_missing_ideas
        from grader.proof.variations import list_variations

        candidates = {one.name: one for one in make_candidates(self.home, self.options.question)}
        ideas = suggest_missing_ideas(self.home, self.options.question)
        groups = {group.id: group for group in self._read_groups()}
        cases = {one.name: one for one in list_variations(self.home)}
        known = {*candidates, *(check for check, mistakes in ideas.items() if mistakes), *groups, *cases}
        if unknown := [name for name in names if name not in known]:
            more = "" if self.options.graded else ", and groups of a class need --class DIR"
            raise UsageError(
                f"nothing was written: there is no proposal {unknown[0]!r}; `propose` without --accept prints the names{more}"
            )
        asked = [cases[name] for name in names if name in cases]
        proposals = self._try([candidates[name] for name in names if name in candidates], list(groups.values()), asked)
        for proposal in proposals:
            require_free_name(self.home, proposal.candidate.name)

        def write() -> None:
            for name in (name for name in names if name in groups):  # first: some turn out to be no small change
                self._write_group(groups[name])
            for proposal in proposals:
                self._write_mistake(proposal)
            for name in (name for name in names if name in ideas):
                self._write_idea(name, ideas[name])
            for case in asked:
                self._write_case(case)

        self._write_together(write)

    def _write_together(self, write: Callable[[], None]) -> None:
        """Write what `write` writes, and say so; if it fails, leave all files as they were."""
        from grader.assignment import UsageError
        from grader.authoring.rename import list_sources, restore_after_failure

        new = [self.home.solution / name for name in ("mistakes.py", "catches.toml")]
        before = len(self.written), len(self.said)
        try:
            with restore_after_failure(dict.fromkeys([*list_sources(self.home), *new])):
                write()
        except BaseException as error:
            del self.written[before[0] :], self.said[before[1] :]
            if isinstance(error, UsageError):
                raise UsageError(f"nothing was written: {str(error).removeprefix('nothing was written: ')}") from error
            raise
        for line in self.said[before[1] :]:
            print(line)

    def _try(self, candidates: Sequence[Candidate], groups: Sequence[WrongGroup], cases: Sequence[Variation]) -> list[Proposal]:
        """Return the proposals of some candidates.

        Raises:
            UsageError: If one of them is not a mistake that the catalogue lacks, or the solution cannot answer a case.
        """
        from grader.assignment import UsageError
        from grader.judge.harness import Harness
        from grader.proof.pool import TrialPool
        from grader.proof.proposing import Proposals, propose
        from grader.proof.telling_apart import list_usable

        if not candidates and not cases:
            return []
        with Harness(self.home) as harness, TrialPool(harness, 1, self.home.assignment.name) as pool:
            usable = {one.name for one in list_usable(pool, self.home, cases)}
            found = propose(pool, self.home, candidates, groups) if candidates else Proposals()
        if unusable := [one.name for one in cases if one.name not in usable]:
            why = "the solution has no answer to it that a check can compare"
            raise UsageError(f"nothing was written: {unusable[0]} is not a proposal: {why}")
        lost = [one.name for one in candidates if one.name not in {proposal.candidate.name for proposal in found.found}]
        if lost:
            why = found.refused.get(lost[0], "")
            raise UsageError(f"nothing was written: {lost[0]} is no longer proposed: {why}")
        return found.found

    def _write_mistake(self, proposal: Proposal) -> None:
        from grader.authoring.entry import make_catalogue, require_free_name
        from grader.proof.proposing import draft_mistake

        mistake = draft_mistake(self.home, proposal)
        require_free_name(self.home, mistake.id)
        _, text, _ = make_catalogue(self.home, mistake)
        self._write({self.home.solution / "mistakes.py": text}, f"{mistake.id}; now rewrite its hint")

    def _write_group(self, group: WrongGroup) -> None:
        """Declare the smallest change of the solution that fails like a group, as `catalogue add` does."""
        from grader.authoring.entry import find_free_name
        from grader.commands import catalogue
        from grader.proof.catalogue import DRAFT

        asked = {"name": self.options.name, "submission": None, "graded": self.options.graded, "question": None}
        asked |= {
            "group": group.number,
            "id": find_free_name(self.home, group.id),
            "hint": f"{DRAFT} What do these students get wrong?",
        }
        asked |= {"source": "student code", "dry_run": False, "workers": self.options.workers}
        catalogue.run(self.home.root, argparse.Namespace(**asked))
        self.written.append(self.home.solution / "mistakes.py")

    def _write_idea(self, check: str, names: Sequence[str]) -> None:
        from grader.proof.ideas import add_idea, get_ideas_path

        path = get_ideas_path(self.home)
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        self._write({path: add_idea(text, check, names)}, check)

    def _write_case(self, variation: Variation) -> None:
        from grader.authoring.newcheck import plan_case

        self._write(plan_case(self.home, variation), f"{variation.name}; now rewrite the title of its check")

    def _write(self, texts: Mapping[Path, str], what: str) -> None:
        from grader.report.model import write_atomically

        for path, text in texts.items():
            write_atomically(path, text)
            self.written.append(path)
        self.said.append(f"wrote {', '.join(map(self._relative, texts))}: {what}")

    def end(self) -> None:
        """Say what to do next, if anything was written."""
        if self.written:
            name = self.home.assignment.name
            print(
                f"\nNext:\n  python -m grader build {name}     # stores what the checks see of it\n"
                f"  python -m grader verify {name}    # proves it; a hint or a title that is still a draft is a FAULT"
            )


def _print(lines: Sequence[Line]) -> None:
    """Print lines, with colors in a terminal."""
    from rich.console import Console
    from rich.text import Text

    from grader.report.layout import make_legible
    from grader.report.screen import COLORS
    from grader.report.text import sanitize

    make_legible(sys.stdout)
    console = Console(file=sys.stdout, highlight=False)
    for text, style in lines:
        console.print(Text(sanitize(text), COLORS.get(style, style)), soft_wrap=True)


def _ask(accept: Callable[[], None]) -> bool:
    """Ask whether a proposal is accepted; return False if no more are wanted."""
    from grader.assignment import UsageError

    while True:
        try:
            answer = input("  [a]ccept, [s]kip, [q]uit? ").strip().lower()[:1]
        except EOFError:
            return False
        if answer == "a":
            try:
                accept()
            except UsageError as error:
                _print([(f"  {error}", "red")])
        if answer in ("a", "s", "q", ""):
            return answer != "q"
