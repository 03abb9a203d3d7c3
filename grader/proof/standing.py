"""Find out whether an assignment is proven, without running anything: for the commands that pack it.

One of two things is enough:

- the note of the last `verify NAME` in this checkout, if it found no fault, and neither the assignment's files nor the kit have
  changed since; faults of a full proof stay in it until another full proof, because `--quick` does not look for all of them
- the records in tests/proof/NAME.jsonl, if each alternative and each mistake has a matching record with the right verdict

A record matches as long as nothing that decides its trial has changed (records.py), except the libraries: students use other
versions, too. Records of mutants are not required: those of mistakes go stale with the same checks, cases, answers and
functions.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from grader.answers import Mistake
from grader.assignment import AssignmentFiles, UsageError
from grader.authoring.checks_read import list_draft_titles
from grader.authoring.staleness import list_stale_files
from grader.hashing import hash_kit, hash_parts
from grader.proof.ideas import find_missed, read_ideas
from grader.proof.records import DECIDES, RecordKeys, Records
from grader.proof.trials import TrialTask
from grader.proof.verify import Proof, ProofOptions
from grader.report.model import write_atomically

NAMED = 3  # files or trials that are named; the rest is counted
SOURCES = ("cases.py", "mistakes.py", "alternatives.py", "survivors.toml", "collateral.toml", "catches.toml")


class LastProof(BaseModel):
    """The note of the last `verify` of an assignment in this checkout.

    Attributes:
        kit: The hash of the kit's code that decides outcomes.
        files: The hash of each file of the proof, by its path in the checkout.
        faults: The faults that it found, one line each.
        full_faults: The faults that the last full proof of the same files and kit found; it may be the same proof.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kit: str
    files: dict[str, str]
    faults: tuple[str, ...] = ()
    full_faults: tuple[str, ...] = ()

    @classmethod
    def read(cls, home: AssignmentFiles) -> LastProof | None:
        """Return the note of the last proof; None if there is none, or if it is damaged."""
        try:
            return cls.model_validate_json(_place(home).read_bytes())
        except (OSError, ValidationError):
            return None

    @classmethod
    def begin(cls, home: AssignmentFiles) -> LastProof:
        """Return a note for a proof of the current files, without findings yet."""
        sources = [home.folder / "assignment.toml", home.drivers, home.views, *home.checks.values(), *home.answers.values()]
        sources += [*home.mistakes.values(), *(home.solution / name for name in (home.assignment.submission, *SOURCES))]
        found = {path for path in (*sources, *home.support()) if path.is_file()}
        texts = {path.relative_to(home.root).as_posix(): path.read_bytes().replace(b"\r\n", b"\n") for path in found}
        return cls(kit=hash_kit(*DECIDES), files={name: hash_parts([text]) for name, text in sorted(texts.items())})

    def write(self, home: AssignmentFiles, faults: Sequence[str], quick: bool = False) -> None:
        """Write the note, unless the checkout cannot be written; a quick proof keeps the faults of a full one."""
        last = LastProof.read(home) if quick else None
        kept = last.full_faults if last and last.is_about_same(self) else ()
        found = {"faults": tuple(faults), "full_faults": kept if quick else tuple(faults)}
        with contextlib.suppress(OSError):
            write_atomically(_place(home), self.model_copy(update=found).model_dump_json(indent=1))

    def is_about_same(self, other: LastProof) -> bool:
        """Return whether both proofs are of the same files, with the same kit."""
        return (self.kit, self.files) == (other.kit, other.files)


def find_gaps(home: AssignmentFiles) -> list[str]:
    """Return the reasons why an assignment is not proven now, one line each; empty if it is proven."""
    try:
        return _list_gaps(home)
    except UsageError as error:  # of a source that cannot be read, of which nothing is proven
        return [str(error)]


def needs_full_proof(home: AssignmentFiles) -> bool:
    """Return whether a full proof of the current files found faults, which a quick one might not look for."""
    last = LastProof.read(home)
    return last is not None and bool(last.full_faults) and last.is_about_same(LastProof.begin(home))


def _list_gaps(home: AssignmentFiles) -> list[str]:
    last, now = LastProof.read(home), LastProof.begin(home)
    same = last is not None and last.is_about_same(now)
    if last and same and (faults := last.faults or last.full_faults):
        which = "`verify`" if last.faults else "`verify` without --quick"
        return [f"the last {which} found {_count(len(faults), 'fault')}, the first: {faults[0]}"]
    if stale := list(list_stale_files(home)):
        return [f"{file.path.relative_to(home.root).as_posix()} is stale: {file.why}" for file in stale]
    if drafts := list(list_draft_titles(home)):
        return [slip.describe(home.root) for slip in drafts]
    if same:
        return []
    proof = _RecordedProof(home, ProofOptions())
    if not proof.records.known or (open_trials := proof.list_unrecorded()):
        return [_describe_gap(proof.records, last, now, open_trials if proof.records.known else [])]
    return proof.list_missed()


def _describe_gap(proven: Records, last: LastProof | None, now: LastProof, trials: list[str]) -> str:
    """Return the reason why neither the note of the last proof nor the records prove an assignment."""
    if last is not None:
        paths = sorted({*last.files, *now.files})
        if changed := [path for path in paths if last.files.get(path) != now.files.get(path)]:
            return f"changed since the last `verify`: {_name_some(changed, 'file')}"
        return "the kit's own code has changed since the last `verify`"
    if trials:
        where = f"tests/proof/{proven.path.name}"
        return f"changed since the proof in {where}, which has no matching record of {_name_some(trials, 'trial')}"
    if proven.path.is_file() and proven.head is None:
        return f"tests/proof/{proven.path.name} cannot be read, and it was never proven in this checkout"
    return "it was never proven in this checkout"


class _RecordedProof(Proof):
    """A proof that is read from records, and not run."""

    @cached_property
    def records(self) -> Records:
        return Records(self.home)

    def list_unrecorded(self) -> list[str]:
        """Return the trials of alternatives and mistakes without a matching, favorable record."""
        for _ in self.read_catalogue():
            pass  # its faults are raised where stale files are looked for
        recorded = self._recorded_mistakes()
        try:
            keys = _RecordedKeys(self.home, recorded, self.records.head.libraries if self.records.head else ())
        except (SyntaxError, OSError) as error:
            raise UsageError(f"the checks or drivers of {self.home.assignment.name} cannot be read: {error}") from error
        right = [self._unit_task(variant) for variant in self.right]
        wrong = [self._mistake_task(variant, recorded) for variant in self.wrong]
        kept = [task for task in right if self._speaks(keys, task) and not self.records.known[task.id].verdict.lost]
        kept += [task for task in wrong if self._speaks(keys, task) and self.records.known[task.id].verdict.failed]
        return [task.id for task in (*right, *wrong) if task not in kept]

    def list_missed(self) -> list[str]:
        """Return where a check does not catch a mistake that it is there for, according to the records."""
        caught = {variant.id: self.records.known[f"mistake {variant.id}"].verdict.failed for variant in self.wrong}
        return list(find_missed(read_ideas(self.home), caught))

    def _speaks(self, keys: RecordKeys, task: TrialTask) -> bool:
        """Return whether `verify --all` wrote a record of the task that still matches."""
        record = self.records.known.get(task.id)
        return record is not None and task.id not in self.records.changed and keys.fits(task, record)


class _RecordedKeys(RecordKeys):
    """The keys of the current trials, computed with the libraries of the records."""

    def __init__(self, home: AssignmentFiles, mistakes: Mapping[str, Mapping[str, Mistake]], libraries: Sequence[str]) -> None:
        super().__init__(home, mistakes)
        self._common = [self._common[0], *libraries, self._common[-1]]


def _place(home: AssignmentFiles) -> Path:
    return home.root / ".cache" / "proofs" / f"{home.assignment.name}.json"


def _name_some(names: Sequence[str], what: str) -> str:
    more = f" and {_count(len(names) - NAMED, f'other {what}')}" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
