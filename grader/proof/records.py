"""Records of earlier trials, trusted while nothing that decides them has changed, so that nothing is proven twice.

The records of an assignment are in tests/proof/NAME.jsonl, one line per trial, written by `verify --all`. The first line has a
digest of the others. Every run tries these records again: those that were changed since, those that contradict an earlier
version of the file with the same key, at most FRESH of those that the version before did not have, and a random sample of the
rest. Earlier versions come from git.

Limits: a forger who also computes the digest and the new key, and hides the record among n that an honest `verify --all` has
just written, is found by each run with a probability of FRESH/n. After one more change of the file, and in trials that train an
agent, only the random sample finds the record. `verify --all` tries everything, and names each record that was wrong.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
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

from grader import answers, fingerprints, hashing
from grader.answers import Mistake
from grader.assignment import SUITES, AssignmentFiles
from grader.hashing import EXPLAINS, hash_kit, hash_parts
from grader.proof.coverage import FunctionNames, leave_out_bodies, read_coverage
from grader.proof.pool import PendingResult, TrialPool
from grader.proof.trials import (
    MARGIN,
    Facts,
    TrialResult,
    TrialTask,
    Verdict,
    facts_agree,
    list_end_to_end_questions,
    run_task,
)
from grader.report.model import write_atomically
from grader.sandbox.substitutes import names_accelerator

# In addition to everything that decides checks: how reports are made, and how a proof reads them.
DECIDES = ("report/model.py", "report/text.py", "proof/trials.py", "proof/coverage.py")
SHARE = 0.05  # share of the trusted records that are tried anyway, different ones at each run
FRESH = 12  # so many of the records that the version before did not have are tried as well
KEY = 8  # characters of a hash: one of four billion, and only that of the same trial is compared
NAME = 46  # characters of a trial's id; longer ones are shortened
# What ids of checks and trials begin with, and what stands for it in the file, which has thousands of them. Both can be read.
SHORT = {"visible/test_": "v/", "hidden/test_": "h/", "mistake ": "m/", "mutant ": "u/", "beside ": "b/"}
LONG = re.compile(rf'(?<!\\)"({"|".join(SHORT)})')  # where a text of JSON begins
PLAIN = re.compile(r'\["[^"\\]*","[0-9a-f_]+"[,\]]')  # how nearly all lines begin, and none in two ways
VERSIONS = 20  # of a file of records, how far back one is compared with those that git has
# If they are set, they decide every trial. `verify` sets the last one itself in trials with the arithmetic of other processors.
VARIABLES = ("GRADER_LEVEL", "GRADER_WITHOUT", "GRADER_PROCESSOR")

# Ways in which a submission may read bodies of functions that it does not enter.
READS_BODIES = re.compile(r"\b(inspect|getsource\w*|__doc__|__file__|__code__|jit|dis|linecache|torch\.compile)\b")

Finding = tuple[str, bool | None]  # see boundary.py


class RecordsHeader(BaseModel):
    """The first line of a file of records.

    Attributes:
        proven: The commit on which `verify --all` ran, with a mark if other files than records differed from it.
        libraries: The libraries; others need other records.
        digest: The digest of all further lines.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    proven: str
    libraries: tuple[str, ...]
    digest: str


class Record(Verdict):
    """The stored result of a trial.

    Attributes:
        trial: The id of its task.
        key: See `RecordKeys.of`; the key of the task `without_whole` if the end-to-end checks were not reached.
    """

    trial: str
    key: str = Field(pattern=r"^[0-9a-f]+(_[0-9a-f]+)?$")

    @property
    def verdict(self) -> Verdict:
        return Verdict(**self.model_dump(exclude={"trial", "key"}))

    def line(self) -> str:
        """Return the line of the file: trial and key, and the verdict unless it is empty."""
        verdict = self.verdict.model_dump(exclude_defaults=True)
        parts = [self.trial, self.key, *([verdict] if verdict else [])]
        return _shorten_ids(json.dumps(parts, ensure_ascii=False, separators=(",", ":")))

    @classmethod
    def read(cls, line: str) -> Record:
        """Return the record in a line.

        Raises:
            ValueError: If the line is not a record.
        """
        try:
            trial, key, *verdict = json.loads(line)
            record = cls(trial=trial, key=key, **dict(*verdict))
        except TypeError as error:
            raise ValueError(f"not a record: {line[:80]}") from error
        lost = {ending: tuple(map(_lengthen, checks)) for ending, checks in record.lost.items()}
        return record.model_copy(update={"trial": _lengthen(record.trial), "lost": lost})


class Records:
    """The records of one assignment.

    Attributes:
        path: Their file.
        head: Its first line; None if there is no such file, or if it is damaged.
        known: Each record, by the id of its task.
        changed: Ids of the records that were changed since `verify --all` wrote them.
        fresh: Ids of the records that the last other version of the file did not have.
        compared: Whether git had such a version; otherwise all records are fresh.
    """

    def __init__(self, home: AssignmentFiles) -> None:
        self.path = home.root / "tests" / "proof" / f"{home.assignment.name}.jsonl"
        self.head: RecordsHeader | None = None
        self.known: dict[str, Record] = {}
        self.changed: set[str] = set()
        self.fresh: set[str] = set()
        self.compared = False
        text = self.path.read_text(encoding="utf-8", errors="replace") if self.path.is_file() else ""
        if not text:
            return
        first, *lines = text.splitlines()
        try:
            records = [Record.read(line) for line in lines]
            self.head = RecordsHeader.model_validate_json(first)
        except ValueError:
            return
        self.known = {record.trial: record for record in records}
        self._compare(lines, [record.trial for record in records], self.head.digest)

    def _compare(self, lines: list[str], trials: list[str], digest: str) -> None:
        """Compare the lines of the file with their digest, and with earlier versions.

        Args:
            trials: The id of the trial in each line.
        """
        versions = [
            (given == hash_parts(older), set(map(_normalize, older)))
            for given, older in [(digest, lines), *_versions(self.path)]
        ]
        proven = next((older for fits, older in versions if fits), set())
        before = next((older for _, older in versions if older and older != versions[0][1]), set())
        said: dict[str, set[str]] = defaultdict(set)
        for line in (line for _, older in versions for line in older):
            said[_trial_and_key(line)].add(line)
        for line, trial in zip(map(_normalize, lines), trials, strict=True):
            if line not in proven or len(said[_trial_and_key(line)]) > 1:
                self.changed.add(trial)
            if line not in before:
                self.fresh.add(trial)
        self.compared = bool(before)

    def write(self, records: Sequence[Record]) -> None:
        """Replace the file by the results of `verify --all`."""
        lines = [record.line() for record in sorted(records, key=lambda record: record.trial)]
        head = RecordsHeader(proven=_find_commit(self.path.parents[2]), libraries=tuple(_libraries()), digest=hash_parts(lines))
        self.path.parent.mkdir(exist_ok=True)
        write_atomically(self.path, "\n".join([json.dumps(head.model_dump()), *lines]) + "\n")


class RecordKeys:
    """Hashes of everything that decides a trial: its text, its checks and everything that they use, the kit and the libraries.

    Titles decide nothing. Of a hint, only the mistakes that share it decide: one is recognized if its hint is given.

    Args:
        home: The assignment.
        mistakes: The evidence of mistakes, by suite and id: recognition depends on all mistakes that fail the same check.
    """

    def __init__(self, home: AssignmentFiles, mistakes: Mapping[str, Mapping[str, Mistake]]) -> None:
        self._solution = (home.solution / home.assignment.submission).read_text(encoding="utf-8")
        self._common = [
            hash_kit(*DECIDES, without=EXPLAINS),
            *_libraries(),
            *_variables(),
            str(home.assignment.hints),
        ]
        self._stub = fingerprints.read_stub(home, SUITES)
        self._first_with: dict[str, str] = {}  # each hint, and the first mistake that has it
        shows: dict[str, list[str]] = defaultdict(list)
        for suite in SUITES:
            for entry in mistakes[suite].values():
                named = self._first_with.setdefault(entry.hint, entry.id)
                seen = hash_parts([entry.id, entry.question, named, answers.hash_content(entry.shows, answers.DIGITS)])
                for check in entry.shows:
                    shows[f"{suite}/{check.partition('[')[0]}"].append(seen)
        self._checks: dict[str, list[str]] = defaultdict(list)
        self._about: dict[str, list[fingerprints.CheckIngredients]] = defaultdict(list)
        for check, about in fingerprints.list_check_ingredients(home, SUITES, titles=False).items():
            question = fingerprints.find_question(home, check)
            self._checks[question] += [check, about.digest, *shows[check]]
            self._about[question].append(about)

    def of(self, task: TrialTask, entered: frozenset[str] = frozenset()) -> str:
        """Return the hash of everything that decides a task, including which functions were entered.

        Args:
            entered: The functions that the trial entered, of the submission and of the solution that it is compared with:
                the bodies of others decide nothing. Empty if that is not known.
        """
        asked = [part for question in sorted(task.questions | task.whole) for part in (question, *self._checks[question])]
        entries = [
            f"{suite} {answers.hash_content([entry.question, self._represent(entry.hint), entry.shows], answers.DIGITS)}"
            for suite, entry in task.entries.items()
            if entry
        ]
        texts = self._texts(task)
        mistake, of_question, hint = task.mistake
        about = [task.id, str(task.thorough), mistake, of_question, self._represent(hint), str(len(task.whole))]
        about += fingerprints.list_unwritten(task.submission, self._stub)
        if task.processor:
            about += [task.processor, str(MARGIN)]
        if any(names_accelerator(text.encode()) for text in texts):  # in any function: it changes the behavior of torch
            about.append("cuda")
        checks = [check for question in ("", *sorted(task.questions | task.whole)) for check in self._about[question]]
        known = bool(entered) and not any(map(READS_BODIES.search, texts))
        shorten = partial(leave_out_bodies, entered=entered) if known else str
        code = [fingerprints.hash_reached_code(text, checks, shorten) for text in texts]
        key = hash_parts([*self._common, *code, *about, *asked, *entries, *self._checks[""]])[:KEY]
        return f"{key}_{FunctionNames.of(texts).encode(entered)}" if known else key

    def fits(self, task: TrialTask, record: Record) -> bool:
        """Return whether a record fits the current task."""
        texts = self._texts(task)
        chosen = record.key.partition("_")[2]
        entered = FunctionNames.of(texts).decode(chosen) if chosen else frozenset()
        return record.key in (self.of(without_whole(task), entered), self.of(task, entered))

    def _represent(self, hint: str) -> str:
        """Return the first mistake in whose evidence the hint is; the hint itself if there is none, as before a new `build`."""
        return self._first_with.get(hint, hint)

    def _texts(self, task: TrialTask) -> list[str]:
        return [task.submission, *([self._solution] if task.observed else [])]


def without_whole(task: TrialTask) -> TrialTask:
    """Return the task without end-to-end checks, which decide nothing if a check of a single function has caught it."""
    return replace(task, whole=frozenset())


class TrialRunner:
    """The trials of a proof: trusts the records, except for some new ones and a random sample, and runs everything else.

    Args:
        pool: Runs the trials.
        home: The assignment.
        tasks: All tasks that the proof may need.
        mistakes: See `RecordKeys`.
        sample: The seed that selects the records to recheck.
        anew: Whether to trust no record; those that fit are still compared with their trials.

    Attributes:
        solution: The facts of the solution's calls, to be set before the result of an alternative is requested.
        coverage: The file for the coverage of the solution (see `write_coverage`); without it, every call is made.
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
        self.coverage = pool.coverage
        self._pool = pool
        self._anew = anew
        self._records = Records(home)
        self._seed = sample
        self._keys: RecordKeys | None = None
        self._fitting: dict[str, Record] = {}
        if anew or self._records.known:
            with contextlib.suppress(SyntaxError):  # in checks; the proof reports it in its own words
                self._keys = keys = RecordKeys(home, mistakes)
                known = self._records.known
                self._fitting = {
                    task.id: known[task.id] for task in tasks if task.id in known and keys.fits(task, known[task.id])
                }
        whole = list_end_to_end_questions(home.assignment)
        training = {task.id for task in tasks if task.questions & whole}
        safe = self._fitting.keys() - self._records.changed if not anew else set()
        self._fresh = sorted((safe & self._records.fresh) - training)
        draw = random.Random(sample)
        self._again = set(draw.sample(self._fresh, min(FRESH, len(self._fresh))))
        rest = sorted(safe - self._again)
        self._drawn = set(draw.sample(rest, math.ceil(SHARE * len(rest))))
        self._believed = set(rest) - self._drawn
        self._running: dict[str, PendingResult[TrialResult]] = {}
        self._done: dict[str, TrialResult] = {}
        self._tasks: dict[str, TrialTask] = {}  # the finished tasks

    def believes(self, task: TrialTask) -> bool:
        """Return whether the record of a task replaces its trial."""
        return task.id in self._believed

    def has_record(self, task: TrialTask) -> bool:
        """Return whether there is a record of the task, trusted or not."""
        return task.id in self._fitting

    def start(self, task: TrialTask) -> None:
        """Submit a task, unless it was submitted before or its record is trusted."""
        if not self.believes(task) and task.id not in self._running:
            anew = self._anew or task.id in self._again | self._drawn | self._records.changed
            self._running[task.id] = self._pool.submit(run_task, task, self.coverage, anew)

    def result(self, task: TrialTask) -> TrialResult:
        """Return the result of a task, from its trial or its record."""
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
        """Return the functions that an alternative or, in the same calls, the solution entered; nothing if unknown."""
        try:
            entered = [read_coverage(self.coverage).entered[call] for call in tried.facts]
        except (FileNotFoundError, KeyError):
            return frozenset()
        return tried.entered.union(*entered) if tried.entered else frozenset()

    def findings(self) -> Iterator[Finding]:
        """Yield how many records were trusted, why others were not, and each record that its own trial contradicts."""
        if recalled := sum(tried.recalled for tried in self._done.values()):
            yield f"{recalled} driver calls were skipped: they enter no function that the variant changes", None
        if self._records.head is None or self._keys is None:
            return
        yield from self._contradictions()
        if not self._anew:
            yield from self._counts(self._records.head)

    def _contradictions(self) -> Iterator[Finding]:
        """Yield each record that its own trial contradicts; it is no fault if it is about to be replaced."""
        where = f"in {self._records.path.name}"
        for name in sorted(self._fitting.keys() & self._done.keys()):
            was, now = self._fitting[name].verdict, self._done[name].verdict
            if not self._done[name].settled:
                yield f"{name} hit a time limit, so its record could not be checked", None
                continue
            # Sums differ in their last digits between processors, and may be within a tolerance on only one of them.
            if was.model_copy(update={"alike": now.alike}) != now:
                shown = f"{_described(was)}; now it shows {_described(now)}"
                yield f"the record of {name} {where} is wrong: it says {shown}", None if self._anew else True
            elif was.alike != now.alike:
                says = "that it returns what the solution returns" if was.alike else "that it returns something else"
                yield f"the record of {name} {where} says {says}; now it does not", None

    def _counts(self, head: RecordsHeader) -> Iterator[Finding]:
        """Yield how many records were trusted, and why others were not."""
        if not self._fitting:
            yield f"no record fits: {_explain_misfit(head)}", None
            return
        records, done = self._records, self._done.keys()
        if not records.compared:
            where = f"tests/proof/{records.path.name}"
            yield f"git shows no earlier version of {where} to compare it with (is this a shallow clone?)", None
        if self._believed:
            yield f"{len(self._believed)} trials are as recorded by `verify --all` at {head.proven or 'no commit'}", None
        changed = len(records.changed & self._fitting.keys() & done)
        new = f"{len(self._again & done)} of {len(self._fresh)} with a new one"
        drawn = f"{len(self._drawn & done)} drawn at random (--sample {self._seed})"
        yield f"tried: {len(done - self._fitting.keys())} without a record, {changed} with a changed one, {new}, {drawn}", None

    def write(self) -> str:
        """Record all trials, and return a line with their number."""
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
    """Return a name for the records: the end of a long one, which is code, is replaced by its hash."""
    return name if len(name) <= NAME else f"{name[: NAME - 8]} #{hash_parts([name])[:6]}"


def _normalize(line: str) -> str:
    """Return a line as the kit writes it now, so that lines that say the same are equal."""
    if PLAIN.match(line):
        return _shorten_ids(line)
    with contextlib.suppress(ValueError):
        return Record.read(line).line()
    return line


def _shorten_ids(line: str) -> str:
    """Return a line of the file with the short forms of ids."""
    return LONG.sub(lambda found: f'"{SHORT[found[1]]}', line)


def _lengthen(name: str) -> str:
    """Return the id of a check or trial from its form in the file."""
    return next((prefix + name.removeprefix(short) for prefix, short in SHORT.items() if name.startswith(short)), name)


def _libraries() -> list[str]:
    """Return Python's minor version and the deciding libraries with their versions."""
    # The part after a plus names a build of the same library, for CPUs or with CUDA.
    libraries = [library.partition("+")[0] for library in hashing.list_libraries()]
    return ["Python " + ".".join(platform.python_version_tuple()[:2]), *libraries]


def _variables() -> list[str]:
    """Return the variables that decide all trials and are set."""
    return [f"{name}={os.environ[name]}" for name in VARIABLES if os.environ.get(name)]


def _explain_misfit(head: RecordsHeader) -> str:
    """Return why no record fits."""
    theirs, ours = set(head.libraries), set(_libraries())
    if theirs != ours:
        return f"they were made with {', '.join(sorted(theirs - ours))}, and this is {', '.join(sorted(ours - theirs))}"
    if variables := _variables():
        return f"{', '.join(variables)} is set"
    return "a dependency of all trials has changed"


def _find_commit(root: Path) -> str:
    """Return the commit of the files, and whether one of them, other than records, differs from it; "" without git."""
    commit = _git(root, "rev-parse", "--short=12", "HEAD").strip()
    differs = commit and _git(root, "status", "--porcelain", "--", ".", ":(exclude)tests/proof")
    return f"{commit} with changes" if differs else commit


def _versions(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the digest and the lines of each version of the file in git, the newest first."""
    name = path.relative_to(path.parents[2]).as_posix()
    for commit in _git(path.parents[2], "log", f"-{VERSIONS}", "--format=%H", "--", name).split():
        first, *lines = _git(path.parents[2], "show", f"{commit}:./{name}").splitlines() or [""]
        found = re.search(r'"digest": "(\w+)"', first)
        yield found[1] if found else "", lines


def _trial_and_key(line: str) -> str:
    """Return the trial and the key of a record."""
    found = re.match(r'\[".*?","\w+"', line)
    return found[0] if found else ""


def _git(root: Path, *arguments: str) -> str:
    """Return the output of git; "" if git is missing, or if the folder is not a repository."""
    try:
        return subprocess.run(
            ["git", *arguments], cwd=root, capture_output=True, encoding="utf-8", errors="replace", check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""
