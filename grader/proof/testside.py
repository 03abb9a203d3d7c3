"""Mutate the test side: a small change in a driver or case must change the grade of something.

If a driver could do something else, or a case could have other numbers, without any check noticing, it proves nothing. First
the solution is graded with the change, and should fail. But much of a driver is there for other correct code, and to notice
wrong code, and so are some inputs of cases. So if the solution passes, some alternatives of these questions are graded, too,
and some mistakes that lose a check for which the driver is called: an alternative should pass no longer, or a mistake should
lose other checks, or get another hint, than before. A change with which the calls of all these works return what they returned
before cannot be noticed by any check: it is listed, but does not count.
Changed drivers are sent to the worker with each call, so that no server has to be restarted.
"""

from __future__ import annotations

import contextlib
import pickle
import random
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from grader.answers import DIGITS, hash_content
from grader.assignment import AssignmentFiles
from grader.judge.run import Grader
from grader.proof.catalogue import Variant
from grader.proof.mutants import Survivor, read_survivors
from grader.proof.pool import PendingResult, TrialPool
from grader.proof.sidechanges import (
    LINE,
    Change,
    instrument,
    list_provable_questions,
    make_case_changes,
    make_driver_changes,
)
from grader.proof.trials import hash_call, keep_replies, observe_calls, try_variant
from grader.sandbox.reply import Reply

CAUGHT = 0.9  # of the changes that are tried
TRIED = {"drivers": 80, "cases": 40}  # maximum, so that an assignment takes a minute or two of CPU time
# Works that are graded, one after another until one of them notices, if the solution passes. More mistakes, because each
# notices few changes: in one draw of policy_gradient, 88 % were noticed with 4 of them, and 91 % with 24, in twice the time.
ALTERNATIVES, MISTAKES = 4, 16

Finding = tuple[str, bool | None]  # see boundary.py
Recall = Callable[[dict[str, Any], float], Reply | None]
Grades = set[tuple[str, tuple[str, ...]]]  # of a work: the checks that it loses, with the mistakes that each of them recognizes


class Effect(Enum):
    """The effect of a change on the works that it is tried on."""

    NOTICED = "a work gets another grade or hint"
    UNNOTICED = "calls return something else, and no check notices"
    NONE = "all calls return what they returned before"


@dataclass
class Baseline:
    """The replies to calls of the solution.

    Attributes:
        replies: For each call, its driver and the reply.
        lines: The lines of the drivers that were reached.
    """

    replies: dict[str, tuple[str, Reply]] = field(default_factory=dict)
    lines: set[int] = field(default_factory=set)

    def write(self, path: Path) -> None:
        path.write_bytes(pickle.dumps(self))

    @classmethod
    def read(cls, path: Path) -> Baseline:
        found: Baseline = pickle.loads(path.read_bytes())
        return found


@dataclass(frozen=True)
class OtherWork:
    """An alternative or mistake, whose grade is known.

    Attributes:
        question: Its question.
        lost: The checks that it loses, by id without parameters; none for an alternative.
    """

    question: str
    text: str
    lost: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Graded:
    """What grading a work showed.

    Attributes:
        returned: A hash of what each call returned, in the order of the hashes.
    """

    grades: Grades
    returned: list[str]


_unchanged: WeakKeyDictionary[Grader, dict[OtherWork, Graded]] = WeakKeyDictionary()  # of a process of the pool


def prove_test_side(
    pool: TrialPool,
    home: AssignmentFiles,
    right: Sequence[Variant],
    wrong: Sequence[tuple[Variant, Collection[str]]],
    seed: int,
    finds: bool,
) -> Iterator[Finding]:
    """Yield the changes of drivers and cases that no check notices.

    Args:
        right: The alternatives.
        wrong: The mistakes, each with the ids of the checks that it loses.
        seed: The seed that selects changes if there are too many.
        finds: Whether to use the replies that this machine has kept.
    """
    solution = (home.solution / home.assignment.submission).read_text(encoding="utf-8")
    path = pool.folder / "baseline.pickle"
    lost = pool.submit(write_baseline, solution, path, finds).result()
    if lost is None:
        yield "not tried: changes of drivers and cases, because all calls share one process", None
        return
    if lost:
        yield f"the solution does not pass with instrumented drivers: {'; '.join(lost)}", True
        return
    every = [*make_driver_changes(home, Baseline.read(path).lines), *make_case_changes(home)]
    chosen = draw_changes(every, seed)
    works = [OtherWork(one.question, one.submission) for one in right]
    works += [OtherWork(one.question, one.submission, frozenset(map(_without_parameters, lost))) for one, lost in wrong if lost]
    tried: list[tuple[Change, PendingResult[Effect]]] = [
        (one, pool.submit(try_change, solution, one, path, choose_works(one, works), finds)) for one in chosen
    ]
    effects = [(change, effect.result()) for change, effect in tried]
    if len(chosen) < len(every):
        yield f"tried: {len(chosen)} of {len(every)} changes of drivers and cases (--sample {seed})", None
    yield from judge_changes(every, effects, read_survivors(home))


def judge_changes(
    every: Sequence[Change], effects: Sequence[tuple[Change, Effect]], known: Sequence[Survivor]
) -> Iterator[Finding]:
    """Yield the changes that nothing noticed, and the share of the others.

    Args:
        effects: The changes that were tried.
    """
    uncounted = 0
    for change, effect in effects:
        if effect is Effect.NOTICED:
            continue
        entry = next((entry for entry in known if entry.covers(change.question, change.change)), None)
        uncounted += effect is Effect.NONE or (entry is not None and entry.equivalent)
        why = f" ({entry.reason})" if entry else ", and survivors.toml does not say why"
        said = "has no effect on the works that it was tried on" if effect is Effect.NONE else f"no check notices{why}"
        yield f"{said}: {change.question}: {change.change}", None
    counted = len(effects) - uncounted
    caught = sum(effect is Effect.NOTICED for _, effect in effects)
    share = caught / counted if counted else 1.0
    about = f"({share:.1%}; aim {CAUGHT:.0%})"
    # A low share is not a fault, because much of a driver is there to notice wrong code, which the solution cannot show.
    yield (
        f"{caught} of {counted} changes of drivers and cases that have an effect are noticed {about}",
        None if share < CAUGHT else False,
    )
    for entry in known:
        if entry.question in TRIED and not any(entry.covers(change.question, change.change) for change in every):
            yield f"survivors.toml is stale: {entry.question}: {entry.change} is no longer one of the changes", True


def draw_changes(every: Sequence[Change], seed: int) -> list[Change]:
    """Return some of the changes, in their order: of each kind, at most as many as can be tried."""
    drawn: list[Change] = []
    for kind, most in TRIED.items():
        of_kind = [index for index, change in enumerate(every) if change.question == kind]
        some = sorted(random.Random(seed).sample(of_kind, min(most, len(of_kind))))
        drawn += [every[index] for index in some]
    return drawn


def write_baseline(grader: Grader, solution: str, path: Path, finds: bool = True) -> list[str] | None:
    """Write the replies to calls of the solution, and the lines of drivers that they reach; a task for a pool.

    Return the checks that the solution fails with instrumented drivers; None if drivers cannot be changed for a single call.
    """
    if grader.harness.sandbox.isolation.level == "basic":
        return None
    baseline = Baseline()
    sandbox, questions = grader.harness.sandbox, set(list_provable_questions(grader.home.assignment))

    def note(request: dict[str, Any], reply: Reply) -> None:
        lines = {name for name in reply.entered if name.startswith(LINE)}
        baseline.lines |= {int(name.removeprefix(LINE)) for name in lines}
        baseline.replies[hash_call(request)] = request.get("driver", ""), replace(reply, entered=reply.entered - lines)

    sandbox.traced, sandbox.driver_code = True, instrument(grader.home.drivers.read_text(encoding="utf-8"))
    try:
        with keep_replies(grader, finds), observe_calls(grader, note):
            trial = try_variant(grader, solution, questions)
    finally:
        sandbox.traced, sandbox.driver_code = False, ""
    baseline.write(path)
    return trial.losses()


def choose_works(change: Change, works: Sequence[OtherWork]) -> list[OtherWork]:
    """Return alternatives and mistakes on which to try a change with which the solution passes.

    They depend only on the change, so that the same change is always tried on the same ones.
    """
    right = [work for work in works if not work.lost and work.question in change.questions]
    wrong = [work for work in works if work.lost & change.checks]
    draw = random.Random(change.change)
    return [
        work for found, most in ((right, ALTERNATIVES), (wrong, MISTAKES)) for work in draw.sample(found, min(most, len(found)))
    ]


def try_change(
    grader: Grader, solution: str, change: Change, path: Path, works: Sequence[OtherWork] = (), finds: bool = True
) -> Effect:
    """Return the effect of a change on the solution and on the other works; a task for a pool."""
    baseline, effect = Baseline.read(path), Effect.NONE

    def recall(request: dict[str, Any], _seconds: float) -> Reply | None:
        driver, reply = baseline.replies.get(hash_call(request), ("", None))
        return None if driver in change.drivers else reply

    def recall_all(request: dict[str, Any], _seconds: float) -> Reply | None:
        return baseline.replies.get(hash_call(request), ("", None))[1]

    with keep_replies(grader, finds):
        with _changed(grader, change, recall):
            changed = _grade(grader, solution, change.questions, thorough=False)
        if changed.grades:
            return Effect.NOTICED
        with _changed(grader, None, recall_all):
            before = _grade(grader, solution, change.questions, thorough=False)
        for work in works:
            if changed.returned != before.returned:
                effect = Effect.UNNOTICED
            with _changed(grader, change):
                changed = _grade(grader, work.text, {work.question}, thorough=bool(work.lost))
            before = _grade_unchanged(grader, work)
            if changed.grades != before.grades:
                return Effect.NOTICED
    return effect if changed.returned == before.returned else Effect.UNNOTICED


@contextlib.contextmanager
def _changed(grader: Grader, change: Change | None, recall: Recall | None = None) -> Iterator[None]:
    """Let calls go to the changed driver, or with the changed case; what can be recalled is not called."""
    sandbox = grader.harness.sandbox
    sandbox.driver_code, sandbox.recall = change.driver if change else "", recall
    try:
        with grader.with_case(change.case if change else None):
            yield
    finally:
        sandbox.recall, sandbox.driver_code = None, ""


def _grade_unchanged(grader: Grader, work: OtherWork) -> Graded:
    """Return what grading a work shows without any change; the next change that is tried on it need not grade it again."""
    known = _unchanged.setdefault(grader, {})
    if work not in known:
        known[work] = _grade(grader, work.text, {work.question}, thorough=bool(work.lost))
    return known[work]


def _grade(grader: Grader, text: str, questions: Collection[str], thorough: bool) -> Graded:
    """Return what grading a work shows as the sandbox is now: with a change, or without."""
    returned: list[str] = []

    def note(request: dict[str, Any], reply: Reply) -> None:
        returned.append(hash_content([request.get("driver", ""), reply.status, reply.facts], DIGITS))

    with observe_calls(grader, note):
        lost = try_variant(grader, text, set(questions), thorough=thorough).lost()
    return Graded({(check.id, tuple(check.mistakes)) for check in lost}, sorted(returned))


def _without_parameters(check: str) -> str:
    return check.partition("[")[0]
