"""Cases of a first draft, tried: the solution is called with what was drawn, in the sandbox, until a way to draw fits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from grader.answers import CaseRecipe
from grader.assignment import UsageError
from grader.authoring.build import DEFAULT_SEED
from grader.authoring.drawing import list_plans
from grader.authoring.recipes import cook_case, holds_nan, list_unstorable
from grader.authoring.subject import CASES, Subject, find_unknown, render_dict
from grader.judge.compare import difference
from grader.judge.failure import explain_failure
from grader.judge.harness import Harness

SECONDS = 10.0  # of one call; a slower question cannot be graded at every save


def try_subject(harness: Harness, submission: Path, subject: Subject) -> None:
    """Find cases of a question that the solution can answer, and note what it answers; or note why there are none."""
    subject.gap = find_unknown(subject.calls)
    subject.inputs = subject.draw(subject.plan)
    first = ""
    for plan in [] if subject.gap else list_plans(subject.parameters):
        inputs = subject.draw(plan)
        cooked = [_cook(subject, number, each) for number, each in enumerate(inputs)]
        try:
            facts = [_answer(harness, submission, subject, number, each) for number, each in enumerate(cooked)]
        except UsageError as error:
            first = first or str(error)
            if "NameError" in first or subject.slowest > SECONDS:
                break  # which other inputs do not change
            continue
        subject.plan, subject.inputs, subject.cooked, subject.facts = plan, inputs, cooked, facts
        return
    subject.gap = subject.gap or first


def _cook(subject: Subject, number: int, inputs: dict[str, str]) -> dict[str, Any]:
    """Return the inputs of a case, made as `build` makes them from the same texts."""
    scope: dict[str, Any] = {"np": np}
    exec(f"def make(rng):\n    return {render_dict(inputs)}\n", scope)  # texts of Draw: no code of the file is in them
    suite = "hidden" if number == CASES - 1 else "visible"
    make: Callable[[np.random.Generator], dict[str, Any]] = scope["make"]
    recipe = CaseRecipe(subject.case_name(number), f"call_{subject.key}", subject.piece.name, suite, make)
    return cook_case(recipe, DEFAULT_SEED).inputs


def _answer(harness: Harness, submission: Path, subject: Subject, number: int, inputs: dict[str, Any]) -> dict[str, Any]:
    """Return the facts of a case.

    Raises:
        UsageError: If the solution cannot answer it, or answers with something that no check can compare.
    """
    facts = []
    for seed in (0, 1):
        reply = harness.sandbox.call(f"call_{subject.key}", inputs, submission, SECONDS, seed)
        subject.slowest = max(subject.slowest, reply.seconds if reply.status == "ok" else 0.0)
        if reply.status != "ok":
            subject.slowest = 2 * SECONDS if reply.status == "timeout" else subject.slowest
            question = harness.home.assignment.question(subject.piece.name)
            why = str(explain_failure(reply, question, SECONDS, harness.home.assignment.limits.memory_mb, "")).splitlines()
            said = f"{subject.piece.name}({', '.join(subject.inputs[number])})"
            raise UsageError(f"the call {said} fails with inputs that were drawn: {why[0] if why else reply.status}")
        facts.append(reply.facts)
    if holds_nan(facts) or (bad := list_unstorable(facts[0])):
        raise UsageError(f"it returns NaN for inputs that were drawn{f' ({bad[0]})' if bad else ''}")
    if difference(facts[0], facts[1]) is not None:
        raise UsageError("its result is random; pass it a NumPy generator, or the random numbers, as an argument")
    return dict(facts[0])


def list_unchanged(subject: Subject, number: int) -> list[str]:
    """Return the facts about inputs that the solution leaves as they were."""
    facts, cooked = subject.facts[number], subject.cooked[number]
    if "" in subject.calls:
        given = {f"{name} afterwards": value for name, value in cooked.items()}
    else:
        given = {f"{name} afterwards of {call}": value for call, inputs in cooked.items() for name, value in inputs.items()}
    return [key for key, value in given.items() if key in facts and difference(_as_reported(value), facts[key]) is None]


def _as_reported(value: Any) -> Any:
    """Return an input as drivers report it (get_values in observing.py)."""
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        return value
    numbers = np.squeeze(array).astype(np.float64)
    return numbers if numbers.ndim else float(numbers)
