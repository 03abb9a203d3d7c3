"""Measure random checks: how often correct submissions fail them, and wrong ones pass."""

from __future__ import annotations

import json
import platform
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.assignment import AssignmentFiles
from grader.judge.run import Grader
from grader.proof.catalogue import Variant
from grader.proof.pool import TrialPool
from grader.proof.trials import list_end_to_end_questions, try_variant
from grader.report.model import Outcome, write_atomically

ALLOWED = 1 / 200  # maximum share of the solution's runs that may fail a check


@dataclass(frozen=True)
class SeededTrial:
    """One submission, to be graded with one seed.

    Attributes:
        select: The questions; None for all.
    """

    kind: str
    name: str
    submission: str
    select: frozenset[str] | None
    seed: int


def measure_flakes(
    pool: TrialPool, home: AssignmentFiles, seeds: int, right: Sequence[Variant], wrong: Sequence[Variant]
) -> Iterator[tuple[str, bool]]:
    """Grade with many seeds, store the counts, and yield the findings.

    The counts are stored in benchmarks/results/NAME_flake.json.

    Args:
        seeds: How often the solution is graded. The alternatives share as many gradings, and so do,
            on the end-to-end checks alone, the mistakes that cannot learn.
    """
    tasks = [*_right(home, seeds, right), *_wrong(home, seeds, wrong)]
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    lost: dict[str, Counter[str]] = defaultdict(Counter)
    for task, pending in [(task, pool.submit(_grade, task)) for task in tasks]:
        run, failed = pending.result()
        counts[task.kind].update(run)
        lost[task.kind].update(failed)
    results = {
        kind: {check: f"{lost[kind][check]} of {runs}" for check, runs in sorted(counts[kind].items())} for kind in counts
    }
    path = home.root / "benchmarks" / "results" / f"{home.assignment.name}_flake.json"
    about = {"what": "failures by check", "seeds": seeds, "python": platform.python_version(), "system": platform.system()}
    write_atomically(path, json.dumps(about | results, indent=1) + "\n")
    for kind in ("solution", "alternatives"):
        worst = lost[kind].most_common(1)
        often = f"most often {worst[0][0]}: {worst[0][1]} of {counts[kind][worst[0][0]]}" if worst else "no check ever failed"
        yield f"{seeds} gradings of the {kind}: {often}", bool(worst) and worst[0][1] > ALLOWED * counts[kind][worst[0][0]]
    passes = {check: runs - lost["cannot learn"][check] for check, runs in counts["cannot learn"].items()}
    for check, number in sorted(passes.items()):
        yield f"{number} of {counts['cannot learn'][check]} gradings of agents that cannot learn pass {check}", number > 0
    yield f"wrote {path.relative_to(home.root)}", False


def _right(home: AssignmentFiles, seeds: int, right: Sequence[Variant]) -> Iterator[SeededTrial]:
    solution = (home.solution / home.assignment.submission).read_text(encoding="utf-8")
    for seed in range(seeds):
        yield SeededTrial("solution", "solution", solution, None, seed)
        if right:
            variant = right[seed % len(right)]
            yield SeededTrial("alternatives", variant.id, variant.submission, None, seed)


def _wrong(home: AssignmentFiles, seeds: int, wrong: Sequence[Variant]) -> Iterator[SeededTrial]:
    """Yield, for each end-to-end question, gradings of its own mistakes and of those in what it needs."""
    for question in sorted(list_end_to_end_questions(home.assignment)):
        about = (question, *home.assignment.question(question).together)
        hopeless = [variant for variant in wrong if not variant.learns and variant.question in about]
        for seed in range(seeds if hopeless else 0):
            variant = hopeless[seed % len(hopeless)]
            yield SeededTrial("cannot learn", variant.id, variant.submission, frozenset((question,)), seed)


def _grade(grader: Grader, task: SeededTrial) -> tuple[list[str], list[str]]:
    """Return the checks that were run, and those that failed."""
    trial = try_variant(grader, task.submission, set(task.select) if task.select is not None else None, seed=task.seed)
    run = [check.id for check in trial.report.checks if check.outcome is not Outcome.NOT_RUN]
    return run, [check.id for check in trial.lost()]
