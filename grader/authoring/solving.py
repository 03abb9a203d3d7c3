"""Answer the cases with the solution, in the sandbox; say in one line, with its place, why a case has no usable answer."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from grader import answers
from grader.answers import Case, SuiteAnswers
from grader.assignment import AssignmentFiles, UsageError
from grader.authoring.recipes import MAX_CASE, MAX_NUMBERS, count_numbers, holds_nan, list_unstorable
from grader.authoring.references import list_bound_names, list_parameters
from grader.course.handwritten import suggest
from grader.judge.compare import difference
from grader.judge.failure import explain_failure
from grader.judge.harness import Harness
from grader.judge.influence import MAX_NUDGES, MAX_OUTPUT, Influences, list_nudges, list_outputs, measure_influences
from grader.proof.loss import begin_text
from grader.sandbox.reply import Reply
from grader.sandbox.wire import ValueRefused

SECONDS = 60  # seconds (wall clock) for one case on the solution
QUICK = 2.0  # seconds: a case that takes longer is not answered twice
RELATIVE, ABSOLUTE = 1e-7, 1e-8  # by how much two answers of one case may differ: threads may add float32 in another order
UNKNOWN_ARGUMENT = re.compile(r"(\w+)\(\) got an unexpected keyword argument '(\w+)'")


def solve_cases(
    harness: Harness, cases: dict[str, Case], report: Callable[[str], object] = lambda _: None, twice: bool = True
) -> dict[str, Case]:
    """Return the cases with the answers of the solution, computed in the sandbox.

    Args:
        report: Called with a line for each answer that is stored but can never be right.
        twice: Whether to call each driver again, to see whether its answer is the same. An answer that is only compared with
            the stored one needs no second call.

    Raises:
        UsageError: If a case has no usable answer; the message begins with the file and the line to correct.
    """
    solved, places = {}, _Places(harness.home)
    harness.warm_up()
    submission = harness.place((harness.home.solution / harness.home.assignment.submission).read_bytes())
    for key, case in cases.items():
        reply = _call(harness, submission, case, places, twice)
        influences = _measure(harness, submission, case, places.of_case(key))
        solved[key] = replace(case, answer=reply.facts, influences=influences)
        _require_storable(solved[key], places)
        if holds_nan(reply.facts):
            what = "the solution answers with NaN, with which no answer agrees; choose other inputs"
            report(f"{places.of_case(key)}: case {key}: {what}")
    return solved


class _Places:
    """Where the cases, the drivers and the solution of an assignment are defined, as file and line."""

    def __init__(self, home: AssignmentFiles) -> None:
        self.home = home
        self.cases, self.drivers = home.solution / "cases.py", home.drivers
        self.solution = home.solution / home.assignment.submission
        self._lines: dict[Path, dict[str, int]] = {self.cases: {}, self.drivers: {}}
        for path, lines in self._lines.items():
            with contextlib.suppress(SyntaxError):  # which is reported where the file is run
                lines.update(list_bound_names(path))

    def of_case(self, name: str) -> str:
        return self.at(self.cases, self._lines[self.cases].get(name, 0))

    def of_driver(self, name: str) -> str:
        return self.at(self.drivers, self._lines[self.drivers].get(name, 0))

    def at(self, path: Path, line: int) -> str:
        where = path.relative_to(self.home.root).as_posix()
        return f"{where}:{line}" if line else where


def _call(harness: Harness, submission: Path, case: Case, places: _Places, twice: bool) -> Reply:
    """Return the reply of the solution to a case, if its facts can be stored."""
    try:
        reply = harness.sandbox.call(case.driver, case.inputs, submission, SECONDS)
    except ValueRefused as refused:
        what = f"case {case.name} cannot be passed to its driver: {refused}"
        raise UsageError(f"{places.of_case(case.name)}: {what}") from refused
    if reply.status != "ok":
        raise UsageError(_explain(harness.home, case, reply, places))
    if not isinstance(reply.facts, dict):
        kind = "None" if reply.facts is None else f"a value of type {type(reply.facts).__name__}"
        what = f"the driver {case.driver!r} returns {kind} in case {case.name}; let it return its facts, in a dict by name"
        raise UsageError(f"{places.of_driver(case.driver)}: {what}")
    if twice and reply.seconds < QUICK:
        again = harness.sandbox.call(case.driver, case.inputs, submission, SECONDS).facts
        if (apart := difference(again, reply.facts, RELATIVE, ABSOLUTE, exact_dtype=True, equal_nan=True)) is not None:
            what = f"called twice for case {case.name}, the driver {case.driver!r} returns two answers"
            why = "remove what differs between calls, such as the clock or a random generator without a seed"
            raise UsageError(f"{places.of_driver(case.driver)}: {what}, which differ in {apart.partition(':')[0]}; {why}")
    return reply


def _explain(home: AssignmentFiles, case: Case, reply: Reply, places: _Places) -> str:
    """Return why the solution cannot answer a case, for its author: where to look, and what happened there."""
    said = str(reply.details.get("message", ""))
    if (unknown := UNKNOWN_ARGUMENT.search(said)) and unknown[2] in case.inputs:
        function, name = unknown.groups()
        what = f"case {case.name} gives {name!r}, which {function} of the solution does not take"
        return f"{places.of_case(case.name)}: {what}; {suggest(name, list_parameters(places.solution, function))}"
    if reply.status == "syntax":
        line = reply.details.get("line")
        where = places.at(places.solution, line if isinstance(line, int) else 0)
        return f"{where}: the solution is not valid Python: {said or 'correct it'}"
    question = home.assignment.question(case.question)
    why = begin_text(str(explain_failure(reply, question, SECONDS, home.assignment.limits.memory_mb, reply.output)))
    frames = reply.details.get("frames")
    if isinstance(frames, list) and frames and isinstance(frames[-1], dict) and reply.status in ("raised", "import"):
        line = frames[-1].get("line")
        where = places.at(places.solution, line if isinstance(line, int) else 0)
        return f"{where}: the solution fails in case {case.name}, which its driver {case.driver!r} calls: {why}"
    what = f"the driver {case.driver!r} fails on the solution in case {case.name}: {why}"
    return f"{places.of_driver(case.driver)}: {what.rstrip('.')}; correct the driver, or the inputs of the case"


def _require_storable(case: Case, places: _Places) -> None:
    """Raise UsageError if an answer holds too many numbers, or numbers that JSON cannot hold."""
    where, key = places.of_case(case.name), case.name
    less = f"use smaller inputs, or let the driver {case.driver!r} return less"
    if (count := count_numbers(case.answer)) > MAX_NUMBERS:
        raise UsageError(f"{where}: the answer of case {key} holds {count:,} numbers, at most {MAX_NUMBERS:,}: {less}")
    try:
        size = len(answers.render_answers("", SuiteAnswers(0, {key: case}, {})))
    except ValueError as error:  # names of facts with NaN or infinity, which JSON cannot hold and no answer can equal
        bad = ", ".join(map(str, list_unstorable(case.answer))) or "its inputs"
        raise UsageError(
            f"{where}: case {key}: the solution answers with NaN or infinity in {bad}, which cannot be stored; "
            "correct the solution, choose other inputs, or let the driver report whether the number is finite"
        ) from error
    if size > MAX_CASE:
        raise UsageError(f"{where}: case {key} takes {size / 1e3:.0f} kB of text, at most {MAX_CASE / 1e3:.0f}: {less}")


def _measure(harness: Harness, submission: Path, case: Case, where: str) -> Influences:
    """Return how the solution's answer depends on the inputs that the case nudges."""
    if not case.nudges:
        return {}
    if unknown := case.nudges.keys() - case.inputs.keys():
        raise UsageError(f"{where}: case {case.name}: nudges names {min(unknown)!r}, which is not one of its inputs")
    if (count := sum(1 for _ in list_nudges(case.inputs, case.nudges))) > MAX_NUDGES:
        raise UsageError(f"{where}: case {case.name}: nudges {count} rows, at most {MAX_NUDGES}; use a smaller case")

    def call(inputs: dict[str, Any], seed: int = 0) -> Any:
        return harness.sandbox.call(case.driver, inputs, submission, SECONDS, seed).facts

    facts = call(case.inputs)
    if difference(facts, call(case.inputs, seed=1), equal_nan=True) is not None:
        raise UsageError(f"{where}: case {case.name}: its answer depends on chance, so nudges would show nothing")
    found = measure_influences(list_outputs(facts), call, case.inputs, case.nudges)
    if not found:
        raise UsageError(
            f"{where}: case {case.name}: nudges change no number of its answer (in arrays of at most {MAX_OUTPUT} numbers)"
        )
    return {name: {output: shorten(matrix) for output, matrix in of.items()} for name, of in found.items()}


def shorten(matrix: np.ndarray) -> np.ndarray:
    """Return influences in half precision, if it holds them: they are compared within a few percent; else in float32."""
    with np.errstate(over="ignore"):
        short = matrix.astype(np.float16)
    size = float(np.abs(matrix).max(initial=0.0))
    return short if np.allclose(short, matrix, rtol=1e-3, atol=1e-4 * size) else matrix.astype(np.float32)
