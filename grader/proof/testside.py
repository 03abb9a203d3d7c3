"""Mutate the test side: a small change in a driver or case must change the grade of something.

If a driver could do something else, or a case could have other numbers, without any check noticing, it proves nothing. First
the solution is graded with the change, and should fail. But much of a driver is there for other correct code, and to notice
wrong code. So if the solution passes with a changed driver, some alternatives and mistakes of its questions are graded, too: an
alternative should pass no longer, or a mistake should lose other checks, or get another hint, than before.
Only lines of drivers that calls of the solution reach are changed. Changed drivers are sent to the worker with each call, so
that no server has to be restarted.
"""

from __future__ import annotations

import ast
import copy
import pickle
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from grader import fingerprints
from grader.assignment import SUITES, Assignment, AssignmentFiles
from grader.judge.run import Grader
from grader.proof.catalogue import Variant
from grader.proof.mutants import Survivor, change_statement, read_survivors
from grader.proof.pool import PendingResult, TrialPool
from grader.proof.trials import hash_call, keep_replies, observe_calls, try_variant
from grader.sandbox.entered import ENTER
from grader.sandbox.reply import Reply
from grader.sandbox.wire import TensorArray

CAUGHT = 0.9  # of the changes that are tried
TRIED = {"drivers": 80, "cases": 40}  # maximum, so that an assignment takes a minute or two of CPU time
FUTURE = "from __future__ import annotations\n"  # names in annotations need not be there
OTHER_WORKS = 4  # alternatives and mistakes, each, that are graded if the solution passes
LINE = "line "  # of the drivers: what an instrumented one notes

Finding = tuple[str, bool | None]  # see boundary.py


@dataclass(frozen=True)
class Change:
    """A change of a driver or case.

    Attributes:
        question: "drivers" or "cases", as survivors.toml calls them.
        change: A description of the change.
        questions: The questions whose checks may notice.
        driver: The changed statement, for a change of drivers.
        drivers: The drivers that use it.
        case: Suite, name and inputs of a changed case.
    """

    question: str
    change: str
    questions: frozenset[str]
    driver: str = ""
    drivers: frozenset[str] = frozenset()
    case: tuple[str, str, dict[str, Any]] | None = None


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


def list_provable_questions(assignment: Assignment) -> frozenset[str]:
    """Return the questions whose checks are cheap: all except those that train."""
    return frozenset(question.id for question in assignment.questions if not question.needs)


@dataclass(frozen=True)
class OtherWork:
    """An alternative or mistake, whose grade is known.

    Attributes:
        question: Its question.
        right: Whether it passes its checks.
    """

    question: str
    text: str
    right: bool


def prove_test_side(
    pool: TrialPool, home: AssignmentFiles, right: Sequence[Variant], wrong: Sequence[Variant], seed: int
) -> Iterator[Finding]:
    """Yield the changes of drivers and cases that no check notices.

    Args:
        right, wrong: The alternatives and the mistakes.
        seed: The seed that selects changes if there are too many.
    """
    solution = (home.solution / home.assignment.submission).read_text(encoding="utf-8")
    path = pool.folder / "baseline.pickle"
    lost = pool.submit(write_baseline, solution, path).result()
    if lost is None:
        yield "not tried: changes of drivers and cases, because all calls share one process", None
        return
    if lost:
        yield f"the solution does not pass with instrumented drivers: {'; '.join(lost)}", True
        return
    every = [*make_driver_changes(home, Baseline.read(path).lines), *make_case_changes(home)]
    chosen = draw_changes(every, seed)
    works = [OtherWork(one.question, one.submission, of is right) for of in (right, wrong) for one in of]
    tried: list[tuple[Change, PendingResult[bool]]] = [
        (one, pool.submit(try_change, solution, one, path, choose_works(one, works))) for one in chosen
    ]
    survivors = [change for change, survives in tried if survives.result()]
    if len(chosen) < len(every):
        yield f"tried: {len(chosen)} of {len(every)} changes of drivers and cases (--sample {seed})", None
    yield from judge_changes(every, len(chosen), survivors, read_survivors(home))


def judge_changes(
    every: Sequence[Change], tried: int, survivors: Sequence[Change], known: Sequence[Survivor]
) -> Iterator[Finding]:
    """Yield the surviving changes, and their share."""
    equivalent = 0
    for change in survivors:
        entry = next((entry for entry in known if entry.covers(change.question, change.change)), None)
        equivalent += entry is not None and entry.equivalent
        why = f" ({entry.reason})" if entry else ", and survivors.toml does not say why"
        yield f"no check notices{why}: {change.question}: {change.change}", None
    counted = tried - equivalent
    caught = tried - len(survivors)
    share = caught / counted if counted else 1.0
    about = f"({share:.1%}; aim {CAUGHT:.0%})"
    # A low share is not a fault, because much of a driver is there to notice wrong code, which the solution cannot show.
    yield (
        f"{caught} of {counted} changes of drivers and cases that are not equivalent are noticed {about}",
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


def write_baseline(grader: Grader, solution: str, path: Path) -> list[str] | None:
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
        with keep_replies(grader, finds=True), observe_calls(grader, note):
            trial = try_variant(grader, solution, questions)
    finally:
        sandbox.traced, sandbox.driver_code = False, ""
    baseline.write(path)
    return trial.losses()


def choose_works(change: Change, works: Sequence[OtherWork]) -> list[OtherWork]:
    """Return alternatives and mistakes on which to try a change of a driver with which the solution passes.

    They depend only on the change, so that the same change is always tried on the same ones.
    """
    chosen: list[OtherWork] = []
    for right in (True, False) if change.driver else ():
        found = [work for work in works if work.right is right and work.question in change.questions]
        chosen += random.Random(change.change).sample(found, min(OTHER_WORKS, len(found)))
    return chosen


def try_change(grader: Grader, solution: str, change: Change, path: Path, works: Sequence[OtherWork] = ()) -> bool:
    """Return whether the solution and the other code get the same grades and hints with a change; a task for a pool."""
    baseline, sandbox = Baseline.read(path), grader.harness.sandbox

    def recall(request: dict[str, Any], _seconds: float) -> Reply | None:
        driver, reply = baseline.replies.get(hash_call(request), ("", None))
        return None if driver in change.drivers else reply

    sandbox.recall, sandbox.driver_code = recall, change.driver
    try:
        with keep_replies(grader, finds=True), grader.with_case(change.case):
            if try_variant(grader, solution, set(change.questions), thorough=False).lost():
                return False
            sandbox.recall = None
            for work in works:
                sandbox.driver_code = change.driver
                changed = _grade(grader, work)
                sandbox.driver_code = ""
                if changed != (set() if work.right else _grade(grader, work)):
                    return False
            return True
    finally:
        sandbox.recall, sandbox.driver_code = None, ""


def _grade(grader: Grader, work: OtherWork) -> set[tuple[str, tuple[str, ...]]]:
    """Return the checks that a work loses, each with the mistakes that it is told as."""
    lost = try_variant(grader, work.text, {work.question}, thorough=not work.right).lost()
    return {(check.id, tuple(check.mistakes)) for check in lost}


# Drivers


def make_driver_changes(home: AssignmentFiles, lines: set[int]) -> Iterator[Change]:
    """Yield the changes of statements in functions of the drivers that calls of the solution reach."""
    text = home.drivers.read_text(encoding="utf-8")
    provable = list_provable_questions(home.assignment)
    checks = fingerprints.list_check_ingredients(home, SUITES)
    drivers = fingerprints.list_users(home.drivers)
    for node in ast.parse(text).body:
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            continue
        asking = {fingerprints.find_question(home, check) for check, about in checks.items() if node.name in about.names}
        questions = frozenset(asking & provable)
        for change, changed in _changes(node, lines) if questions else ():
            yield Change("drivers", f"{node.name}: {change}", questions, FUTURE + ast.unparse(changed), drivers[node.name])


def _changes(definition: ast.stmt, lines: set[int]) -> Iterator[tuple[str, ast.stmt]]:
    """Yield (description, changed definition) for the statements that are reached."""
    statements = [node for node in ast.walk(definition) if isinstance(node, ast.stmt)]
    for index, statement in enumerate(statements):
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.While, ast.Try)) or statement.lineno not in lines:
            continue  # a changed loop might never end
        if isinstance(statement, ast.AnnAssign) or (
            isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        ):
            continue  # a declaration, or a docstring
        for change, new in change_statement(statement):
            if _skips(statement, new, lines):
                continue  # such a block is for wrong submissions
            copied = copy.deepcopy(definition)
            twin = [node for node in ast.walk(copied) if isinstance(node, ast.stmt)][index]
            yield change, _exchange(copied, twin, new)


def _skips(statement: ast.stmt, new: list[ast.stmt], lines: set[int]) -> bool:
    """Return whether the change only removes a block that the solution does not reach."""
    if not isinstance(statement, ast.If) or statement.body[0].lineno in lines or isinstance(new[0], ast.If):
        return False
    return ast.dump(new[0]) != ast.dump(statement.body[0])


def _exchange(definition: ast.stmt, old: ast.stmt, new: list[ast.stmt]) -> ast.stmt:
    for node in ast.walk(definition):
        for part in ("body", "orelse", "finalbody"):
            statements = getattr(node, part, None)
            if isinstance(statements, list) and any(one is old for one in statements):
                at = next(number for number, one in enumerate(statements) if one is old)
                statements[at : at + 1] = new or [ast.Pass()]
    return ast.fix_missing_locations(definition)


def instrument(text: str) -> str:
    """Return the functions and classes of a file of drivers, instrumented to record the lines that they reach."""
    parts = [FUTURE]
    for definition in ast.parse(text).body:
        if isinstance(definition, (ast.FunctionDef, ast.ClassDef)):
            for node in list(ast.walk(definition)):
                for part in ("body", "orelse", "finalbody"):
                    statements = getattr(node, part, None)
                    if isinstance(statements, list) and statements and not isinstance(node, ast.ClassDef):
                        noted = [(ast.parse(f"{ENTER}({LINE + str(one.lineno)!r})").body[0], one) for one in statements]
                        setattr(node, part, [one for pair in noted for one in pair])
            parts.append(ast.unparse(ast.fix_missing_locations(definition)))
    return "\n\n".join(parts)


# Cases


def make_case_changes(home: AssignmentFiles) -> Iterator[Change]:
    """Yield the changes of the inputs of cases."""
    from grader.answers import read_answers

    provable = list_provable_questions(home.assignment)
    for suite in SUITES:
        for name, case in read_answers(home.answers[suite], home.assignment.name).cases.items():
            for argument, value in case.inputs.items() if case.question in provable else ():
                for what, other in _other_inputs(value):
                    inputs = case.inputs | {argument: other}
                    yield Change("cases", f"{name}: {argument} {what}", frozenset({case.question}), case=(suite, name, inputs))


def _other_inputs(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield (description, changed value) for one input."""
    if isinstance(value, bool):
        yield f"{not value}", not value
    elif isinstance(value, int):
        yield "one more", value + 1
    elif isinstance(value, float):
        yield from ((f"{other:g}", other) for other in (0.0, 1.0) if 0 < value < 1)
        yield "ten times as large", 10 * value
    elif isinstance(value, list) and value and all(isinstance(item, (int, float)) for item in value):
        for what, other in _other_inputs(np.array(value)):
            yield what, other.tolist()
    elif isinstance(value, np.ndarray) and value.size and value.dtype != bool:
        others = {"ten times as large": value * 10}
        if value.ndim and len(value) > 1:
            others |= {
                "of the first row": value[:1],
                "of equal rows": np.repeat(value[:1], len(value), axis=0).view(type(value)),
            }
        for what, other in others.items():
            if other.shape != value.shape or not np.array_equal(other, value):
                yield what, other.astype(value.dtype).view(type(value))
        if isinstance(value, TensorArray):
            yield "of NumPy", value.view(np.ndarray)
