"""Records of earlier trials, trusted while nothing that decides them has changed, so that nothing is proven twice.

The records of an assignment lie in tests/proof/NAME.jsonl, a line for each trial. `verify --all` writes them. The first line
has a digest of the others: a record that `verify --all` has not written so is tried again at every run, and so is one that says
something else than an earlier version of the file with the same key. A forger who also makes the digest, and a key that was not
there before, is found by the sample alone, and by the next `verify --all`.
"""

from __future__ import annotations

import contextlib
import json
import math
import platform
import random
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from grader import answers, fingerprints
from grader.answers import Mistake
from grader.assignment import SUITES, AssignmentFiles
from grader.fingerprints import hash_parts
from grader.proof.coverage import FunctionNames, leave_out_bodies, read_coverage
from grader.proof.pool import PendingResult, TrialPool
from grader.proof.trials import Facts, TrialResult, TrialTask, Verdict, facts_agree, run_task
from grader.report.model import write_atomically
from grader.sandbox.substitutes import names_accelerator

# Beside what decides about checks: how reports are made, and what a proof reads in them.
DECIDES = ("report/model.py", "report/text.py", "proof/trials.py", "proof/coverage.py")
SHARE = 0.05  # of the records that are believed, so many are tried all the same, others at each run
KEY = 8  # characters of a hash: one of four billion, and only that of the same trial is compared
NAME = 46  # characters of a trial's id, or it is shortened
VERSIONS = 20  # of a file of records, how far back one is compared with those that git has

# By which a submission may come to know bodies of functions that it does not enter.
READS_BODIES = re.compile(r"\b(inspect|getsource\w*|__doc__|__file__|__code__|jit|dis|linecache|torch\.compile)\b")

Finding = tuple[str, bool | None]  # see boundary.py


class RecordsHeader(BaseModel):
    """The first line of a file of records.

    Attributes:
        proven: The commit on which `verify --all` ran, with what was changed since.
        libraries: Which they were; other ones make other records.
        digest: Of all further lines.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    proven: str
    libraries: tuple[str, ...]
    digest: str


class Record(Verdict):
    """The stored result of a trial.

    Attributes:
        trial: The id of its task.
        key: See `RecordKeys.of`; that of a task `without_whole` if it did not come to the checks of the whole agent.
    """

    trial: str
    key: str = Field(pattern=r"^[0-9a-f]+(_[0-9a-f]+)?$")

    @property
    def verdict(self) -> Verdict:
        return Verdict(**self.model_dump(exclude={"trial", "key"}))

    def line(self) -> str:
        """Return it as it stands in the file: trial and key, and the verdict unless it is empty."""
        verdict = self.verdict.model_dump(exclude_defaults=True)
        return json.dumps([self.trial, self.key, *([verdict] if verdict else [])], ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def read(cls, line: str) -> Record:
        """Return the record in a line.

        Raises:
            ValueError: If the line does not hold a record.
        """
        try:
            trial, key, *verdict = json.loads(line)
            return cls(trial=trial, key=key, **dict(*verdict))
        except TypeError as error:
            raise ValueError(f"not a record: {line[:80]}") from error


class Records:
    """The records of one assignment.

    Attributes:
        path: Their file.
        head: Its first line; None where there is no such file, or it is damaged.
        known: Each record, by the id of its task.
        changed: Ids of the records that `verify --all` did not write as they are.
    """

    def __init__(self, home: AssignmentFiles) -> None:
        self.path = home.root / "tests" / "proof" / f"{home.assignment.name}.jsonl"
        self.head: RecordsHeader | None = None
        self.known: dict[str, Record] = {}
        self.changed: set[str] = set()
        text = self.path.read_text(encoding="utf-8", errors="replace") if self.path.is_file() else ""
        if not text:
            return
        first, *lines = text.splitlines()
        try:
            self.known = {record.trial: record for record in map(Record.read, lines)}
            self.head = RecordsHeader.model_validate_json(first)
        except ValueError:
            self.known = {}
            return
        versions = list(_versions(self.path))
        proven = next(
            (set(older) for found, older in [(self.head.digest, lines), *versions] if found == hash_parts(older)), set()
        )
        said: dict[str, set[str]] = defaultdict(set)
        for older in (lines, *(older for _, older in versions)):
            for line in older:
                said[_trial_and_key(line)].add(line)
        wrong = {line for line in lines if line not in proven or len(said[_trial_and_key(line)]) > 1}
        self.changed = {Record.read(line).trial for line in wrong}

    def write(self, records: Sequence[Record]) -> None:
        """Replace the file by what `verify --all` has just shown."""
        lines = [record.line() for record in sorted(records, key=lambda record: record.trial)]
        commit = _git(self.path.parents[2], "rev-parse", "--short=12", "HEAD").strip()
        head = RecordsHeader(proven=commit, libraries=tuple(_libraries()), digest=hash_parts(lines))
        self.path.parent.mkdir(exist_ok=True)
        write_atomically(self.path, "\n".join([json.dumps(head.model_dump()), *lines]) + "\n")


class RecordKeys:
    """Hashes of all that decides about a trial: its text, its checks and all that these use, the kit and the libraries.

    Args:
        home: The assignment.
        mistakes: By suite and id, what each shows: which one a failure looks like depends on all that fail the check.
    """

    def __init__(self, home: AssignmentFiles, mistakes: Mapping[str, Mapping[str, Mistake]]) -> None:
        self._solution = (home.solution / home.assignment.submission).read_text(encoding="utf-8")
        self._common = [
            fingerprints.hash_kit(*DECIDES, without=fingerprints.EXPLAINS),
            *_libraries(),
            str(home.assignment.hints),
        ]
        shows: dict[str, list[str]] = defaultdict(list)
        for suite in SUITES:
            for entry in mistakes[suite].values():
                seen = hash_parts([entry.id, entry.question, entry.hint, answers.hash_content(entry.shows, answers.DIGITS)])
                for check in entry.shows:
                    shows[f"{suite}/{check.partition('[')[0]}"].append(seen)
        self._checks: dict[str, list[str]] = defaultdict(list)
        self._about: dict[str, list[fingerprints.CheckIngredients]] = defaultdict(list)
        for check, about in fingerprints.list_check_ingredients(home, SUITES).items():
            question = fingerprints.find_question(home, check)
            self._checks[question] += [check, about.digest, *shows[check]]
            self._about[question].append(about)

    def of(self, task: TrialTask, entered: frozenset[str] = frozenset()) -> str:
        """Return the hash of all that decides about a task, and which functions were entered.

        Args:
            entered: The functions that the trial entered, of the submission and of the solution that it is compared with:
                the bodies of others decide nothing. Empty if that is not known.
        """
        asked = [part for question in sorted(task.questions | task.whole) for part in (question, *self._checks[question])]
        entries = [
            f"{suite} {answers.hash_content([entry.question, entry.hint, entry.shows], answers.DIGITS)}"
            for suite, entry in task.entries.items()
            if entry
        ]
        texts = self._texts(task)
        about = [task.id, str(task.thorough), *task.mistake, str(len(task.whole))]
        if any(names_accelerator(text.encode()) for text in texts):  # in whatever function, torch is another one then
            about.append("cuda")
        checks = [check for question in ("", *sorted(task.questions | task.whole)) for check in self._about[question]]
        known = bool(entered) and not any(map(READS_BODIES.search, texts))
        shorten = partial(leave_out_bodies, entered=entered) if known else str
        code = [fingerprints.hash_reached_code(text, checks, shorten) for text in texts]
        key = hash_parts([*self._common, *code, *about, *asked, *entries, *self._checks[""]])[:KEY]
        return f"{key}_{FunctionNames.of(texts).encode(entered)}" if known else key

    def fits(self, task: TrialTask, record: Record) -> bool:
        """Return whether a record is about this task as it is now."""
        texts = self._texts(task)
        chosen = record.key.partition("_")[2]
        entered = FunctionNames.of(texts).decode(chosen) if chosen else frozenset()
        return record.key in (self.of(without_whole(task), entered), self.of(task, entered))

    def _texts(self, task: TrialTask) -> list[str]:
        return [task.submission, *([self._solution] if task.observed else [])]


def without_whole(task: TrialTask) -> TrialTask:
    """Return the part of a task that decides what it shows if a check of a single function has caught it."""
    return replace(task, whole=frozenset())


class TrialRunner:
    """The trials of a proof: what is recorded is believed, but for a sample; all else is tried.

    Args:
        pool: Where trials run.
        home: The assignment.
        tasks: All that the proof may ask for.
        mistakes: See `RecordKeys`.
        sample: The seed by which records are drawn that are tried all the same.
        anew: Whether to believe none.

    Attributes:
        solution: What the calls of the solution returned, to be set before the result of an alternative is asked for.
        coverage: Where the coverage of the solution belongs (see `write_coverage`); without it every call is made.
    """

    def __init__(
        self,
        pool: TrialPool,
        home: AssignmentFiles,
        tasks: Sequence[TrialTask],
        mistakes: Mapping[str, Mapping[str, Mistake]],
        sample: int,
        anew: bool,
    ) -> None:
        self.solution: Facts = {}
        self.coverage = pool.folder / "coverage.pickle"
        self._pool = pool
        self._anew = anew
        self._records = Records(home)
        self._seed = sample
        self._keys: RecordKeys | None = None
        self._fitting: dict[str, Record] = {}
        if anew or self._records.known:
            with contextlib.suppress(SyntaxError):  # of checks that cannot be run, which the proof says in its own words
                self._keys = keys = RecordKeys(home, mistakes)
                known = {} if anew else self._records.known
                self._fitting = {
                    task.id: known[task.id] for task in tasks if task.id in known and keys.fits(task, known[task.id])
                }
        safe = sorted(self._fitting.keys() - self._records.changed)
        self._drawn = set(random.Random(sample).sample(safe, math.ceil(SHARE * len(safe))))
        self._believed = set(safe) - self._drawn
        self._running: dict[str, PendingResult[TrialResult]] = {}
        self._done: dict[str, TrialResult] = {}
        self._tasks: dict[str, TrialTask] = {}  # of what is done

    def believes(self, task: TrialTask) -> bool:
        """Return whether the record of a task stands for its trial."""
        return task.id in self._believed

    def has_record(self, task: TrialTask) -> bool:
        """Return whether there is a record of the task, believed or not."""
        return task.id in self._fitting

    def start(self, task: TrialTask) -> None:
        """Submit a task, unless it was, or its record is believed."""
        if not self.believes(task) and task.id not in self._running:
            anew = self._anew or task.id in self._drawn | self._records.changed
            self._running[task.id] = self._pool.submit(run_task, task, self.coverage, anew)

    def result(self, task: TrialTask) -> TrialResult:
        """Return what becomes of a task, or became of it before."""
        if self.believes(task):
            return TrialResult(self._fitting[task.id].verdict)
        self.start(task)
        if task.id not in self._done:
            tried = self._running[task.id].result()
            if task.observed and task.questions:
                alike = facts_agree(self.solution, tried.facts)
                verdict = tried.verdict.model_copy(update={"alike": alike})
                tried = replace(tried, verdict=verdict, entered=self._with_solution(tried), facts={})
            self._done[task.id], self._tasks[task.id] = tried, task
        return self._done[task.id]

    def _with_solution(self, tried: TrialResult) -> frozenset[str]:
        """Return what an alternative entered, and what the solution did in the same calls; nothing if either is not known."""
        try:
            entered = [read_coverage(self.coverage).entered[call] for call in tried.facts]
        except (FileNotFoundError, KeyError):
            return frozenset()
        return tried.entered.union(*entered) if tried.entered else frozenset()

    def findings(self) -> Iterator[Finding]:
        """Yield how many trials were believed, why others were not, and each record that its own trial contradicts."""
        if recalled := sum(tried.recalled for tried in self._done.values()):
            yield f"{recalled} driver calls were skipped: they enter no function that the variant changes", None
        records = self._records
        if records.head is None or self._keys is None:
            return
        for name in sorted(self._fitting.keys() & self._done.keys()):
            was, now = self._fitting[name].verdict, self._done[name].verdict
            if not self._done[name].settled:
                yield f"{name} hit a time limit, so its record could not be checked", None
                continue
            # Sums differ in their last digits between processors, and may be within a tolerance on one of them alone.
            if was.model_copy(update={"alike": now.alike}) != now:
                shown = f"{_described(was)}; now it shows {_described(now)}"
                yield f"the record of {name} in {records.path.name} is wrong: it says {shown}", True
        if self._believed:
            drawn = len(self._drawn & self._done.keys())
            again = len(self._records.changed & self._fitting.keys() & self._done.keys())
            new = len(self._done.keys() - self._fitting.keys())
            yield (
                f"{len(self._believed)} trials are as recorded by `verify --all` at {records.head.proven or 'no commit'}",
                None,
            )
            yield (
                f"tried: {new} without a record, {again} with a changed one, {drawn} drawn at random (--sample {self._seed})",
                None,
            )
        elif not self._fitting:
            theirs, ours = set(records.head.libraries), set(_libraries())
            said = f"they were made with {', '.join(sorted(theirs - ours))}, and this is {', '.join(sorted(ours - theirs))}"
            yield f"no record fits: {said if theirs != ours else 'a dependency of all trials has changed'}", None

    def write(self) -> str:
        """Record all that was tried, and return how much that is."""
        assert self._keys is not None  # the proof has come to its end
        records = []
        for name, tried in self._done.items():
            if tried.settled:
                task = self._tasks[name] if tried.met_whole else without_whole(self._tasks[name])
                records.append(Record(trial=name, key=self._keys.of(task, tried.entered), **tried.verdict.model_dump()))
        self._records.write(records)
        left = len(self._done) - len(records)
        path = self._records.path
        return f"wrote {len(records)} records to tests/proof/{path.name}" + (f"; {left} hit a time limit" if left else "")


def _described(verdict: Verdict) -> str:
    return json.dumps(verdict.model_dump(exclude_defaults=True), ensure_ascii=False)


def shorten_name(name: str) -> str:
    """Return a name as it stands in records: the end of a long one, which is code, makes room for its hash."""
    return name if len(name) <= NAME else f"{name[: NAME - 8]} #{hash_parts([name])[:6]}"


def _libraries() -> list[str]:
    """Return Python's minor version and the libraries that decide, with theirs."""
    # What follows a plus names a build, for CPUs or with CUDA, of the same library.
    libraries = [library.partition("+")[0] for library in fingerprints.list_libraries()]
    return ["Python " + ".".join(platform.python_version_tuple()[:2]), *libraries]


def _versions(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the digest and the lines of each version of the file that git has, the newest first."""
    name = path.relative_to(path.parents[2]).as_posix()
    for commit in _git(path.parents[2], "log", f"-{VERSIONS}", "--format=%H", "--", name).split():
        first, *lines = _git(path.parents[2], "show", f"{commit}:./{name}").splitlines() or [""]
        found = re.search(r'"digest": "(\w+)"', first)
        yield found[1] if found else "", lines


def _trial_and_key(line: str) -> str:
    """Return the part of a record that says what it is about."""
    found = re.match(r'\[".*?","\w+"', line)
    return found[0] if found else ""


def _git(root: Path, *arguments: str) -> str:
    """Return what git says; nothing where there is none, or the folder is not a repository."""
    try:
        return subprocess.run(
            ["git", *arguments], cwd=root, capture_output=True, encoding="utf-8", errors="replace", check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""
