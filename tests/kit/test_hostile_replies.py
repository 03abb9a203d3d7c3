"""Whatever a process of a student's claims, in whatever form: it earns nothing, and is never taken for the grader's fault."""

from __future__ import annotations

import copy
import random
import time
import unicodedata
from collections.abc import Callable
from functools import partialmethod
from typing import Any

import numpy as np
import pytest

from grader.answers import Case
from grader.assignment import SUITES, AssignmentFiles
from grader.judge.budgets import ReadingBudget
from grader.judge.run import Grader
from grader.report.model import Outcome, Report
from grader.sandbox.forked import ForkedSandbox
from grader.sandbox.reply import STATUSES, Reply
from grader.sandbox.wire import TensorArray
from tests.kit.attacks.soak import resident_kb

pytestmark = [pytest.mark.attack, pytest.mark.recorded(kernel=True)]

INPUTS = {"test_a_fault_of_the_judge_ends_no_run": ("command:grade",)}

OWN_SERVERS = True

HOSTILE: tuple[Callable[[], Any], ...] = (
    lambda: None,
    lambda: True,
    lambda: 10**70,
    lambda: float("nan"),
    lambda: float("-inf"),
    lambda: "passed",
    lambda: "\x1b[2J\u202e" * 100,
    list,
    dict,
    tuple,
    lambda: {"$tensor": "a0", "": None},
    lambda: [[[]]] * 500,
    lambda: np.zeros((0, 3), np.float32),
    lambda: np.zeros((1,) * 32, np.float32),
    lambda: np.full((3, 2), np.nan).view(TensorArray),
    lambda: np.full(7, -(2**63), np.int64).view(TensorArray),
    lambda: np.ones((500, 500), bool),
    lambda: np.array(1.0, np.float16).view(TensorArray),
    lambda: np.float64("inf"),
    lambda: np.uint8(3),
    lambda: np.full((2, 2), 1e300),
    lambda: np.zeros((10**9, 0), np.float32).view(TensorArray),
    lambda: np.zeros((2, 10**9, 0, 3)),
    lambda: [np.zeros((10**8, 0))] * 3,
)


def any_facts(chance: random.Random, depth: int = 0) -> Any:
    """Return anything that can cross the wire."""
    kind = chance.random()
    if depth > 3 or kind < 0.6:
        return chance.choice(HOSTILE)()
    parts = [any_facts(chance, depth + 1) for _ in range(chance.randint(0, 4))]
    if kind < 0.75:
        return parts
    names = ("spread", "loss", "returns", "", "policy", "mean", "losses", "a", "gradient", "__class__")
    return tuple(parts) if kind < 0.8 else {chance.choice(names): part for part in parts}


def spoiled(facts: Any, chance: random.Random) -> Any:
    """Return the facts with one part, somewhere in them, replaced by something hostile."""
    if isinstance(facts, dict) and facts and chance.random() < 0.8:
        name = chance.choice(list(facts))
        return facts | {name: spoiled(facts[name], chance)}
    if isinstance(facts, list) and facts and chance.random() < 0.8:
        place = chance.randrange(len(facts))
        return [*facts[:place], spoiled(facts[place], chance), *facts[place + 1 :]]
    if isinstance(facts, np.ndarray) and facts.ndim and chance.random() < 0.5:
        other = np.array(facts, subok=True)
        return chance.choice(
            [other.reshape(-1), other[:0], other[None], other.astype(np.int64), other * np.nan, other.tolist()]
        )
    return any_facts(chance, 2)


def details(chance: random.Random) -> dict[str, Any]:
    """Return an account of a failure as no honest worker gives it."""
    names = ("message", "type", "frames", "name", "closest", "limit", "fingerprints")
    return {name: any_facts(chance, 2) for name in names if chance.random() < 0.7}


@pytest.fixture(scope="module")
def grader_of_all(home: AssignmentFiles):
    """A grader with all checks of policy_gradient."""
    with Grader(home, SUITES) as grader:
        yield grader


def graded(
    grader: Grader, home: AssignmentFiles, monkeypatch: pytest.MonkeyPatch, answer: Callable[[str, Any], Reply]
) -> Report:
    """Return the report when every call is answered by `answer(driver, inputs)`."""
    monkeypatch.setattr(ForkedSandbox, "load", lambda *_, **__: Reply("ok"))
    monkeypatch.setattr(ForkedSandbox, "warm_up", lambda *_, **__: None)
    monkeypatch.setattr(ForkedSandbox, "call", lambda self, driver, inputs, *_, **__: answer(driver, inputs))
    return grader.grade(home.solution)


def no_fault(report: Report, seed: int) -> None:
    faults = [(check.id, check.detail) for check in report.checks if check.outcome is Outcome.GRADER_ERROR]
    assert faults == [], f"seed {seed}"
    assert report.final, f"seed {seed}: {report.explain_stop()}"


@pytest.mark.parametrize("seed", range(12))
def test_random_facts_earn_nothing(grader_of_all, home: AssignmentFiles, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """A check that takes facts apart without looking could pass, or fall over them, which would count as the grader's fault."""
    chance = random.Random(seed)
    report = graded(grader_of_all, home, monkeypatch, lambda *_: Reply("ok", any_facts(chance)))
    no_fault(report, seed)
    assert report.points == 0, f"seed {seed}"


@pytest.mark.parametrize("seed", range(20))
def test_right_facts_with_one_hostile_part(
    grader_of_all, home: AssignmentFiles, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Nearly right facts get further into a check; they must fail there as well, and not fall over."""
    chance = random.Random(seed)
    cases: dict[str, list[Case]] = {}
    graded(grader_of_all, home, monkeypatch, lambda *_: Reply("crashed"))  # so that the cases are read
    for suite in grader_of_all._material.cases.values():
        for case in suite.values():
            cases.setdefault(case.driver, []).append(case)

    def answer(driver: str, inputs: Any) -> Reply:
        known = cases.get(driver)
        facts = copy.deepcopy(chance.choice(known).answer) if known else None
        return Reply("ok", spoiled(facts, chance))

    no_fault(graded(grader_of_all, home, monkeypatch, answer), seed)


@pytest.mark.parametrize("seed", range(12))
def test_strange_accounts_of_failure(grader_of_all, home: AssignmentFiles, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """What a worker says of its own failure comes from a process of the student's: any form, any status."""
    from grader.platforms.gradescope import report as gradescope
    from grader.report import terminal

    chance = random.Random(seed)
    statuses = sorted(STATUSES | {"crashed", "protocol", "disk"} - {"ok"})

    def answer(driver: str, inputs: Any) -> Reply:
        status = chance.choice([status for status in statuses if status != "ok"])
        return Reply(status, None, details(chance), "\x1b[2J\ud800" * chance.randint(0, 3000))

    report = graded(grader_of_all, home, monkeypatch, answer)
    no_fault(report, seed)
    assert report.points == 0, f"seed {seed}"
    assert max(len(check.message) for check in report.checks) < 10_000
    for text in (terminal.render_plain(report), gradescope.render(report, home.assignment)):
        assert not [character for character in text if character not in "\n\t" and unicodedata.category(character)[0] == "C"]
        text.encode()


def hurried(self: ReadingBudget, begin: Callable[[ReadingBudget], None]) -> None:
    self.seconds = 0.5
    begin(self)


def test_facts_that_take_for_ever_to_read(grader_of_all, home: AssignmentFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge's own work on a claim is bounded as well: arrays of millions, where an honest driver sends dozens."""
    monkeypatch.setattr(ReadingBudget, "begin", partialmethod(hurried, ReadingBudget.begin))
    rows = {name: np.arange(4_000_000, dtype=np.int32) for name in ("return_or_advantage", "action", "old_logits", "returns")}
    batch = rows | {"row": np.zeros(4_000_000, np.int8)}
    facts = {"old logits of the moment": False, "batches": [batch], "spread": batch}
    began, memory = time.process_time(), resident_kb()
    report = graded(grader_of_all, home, monkeypatch, lambda *_: Reply("ok", facts))
    assert time.process_time() - began < 120
    assert resident_kb() - memory < 700_000
    no_fault(report, 0)
    assert report.points == 0


def test_a_fault_of_the_judge_ends_no_run(
    home: AssignmentFiles, monkeypatch: pytest.MonkeyPatch, tmp_path, command_line
) -> None:
    """Whatever goes wrong with one submission is told in its report; the next one of the batch is graded."""
    real, calls = ForkedSandbox.load, []

    def load(self, *arguments):
        calls.append(arguments)
        if len(calls) == 1:
            raise ZeroDivisionError("a fault of the grader")
        return real(self, *arguments)

    monkeypatch.setattr(ForkedSandbox, "load", load)
    paths = [str(home.solution), str(home.solution / "submitted.py")]
    assert command_line("grade", "policy_gradient", *paths, "--format", "json", "-o", str(tmp_path)) == 3
    first, second = sorted(
        (Report.model_validate_json(path.read_text()) for path in tmp_path.iterdir()), key=lambda r: r.points
    )
    assert (first.final, first.points, "ZeroDivisionError: a fault of the grader" in first.explain_stop()) == (False, 0, True)
    assert (second.final, second.points) == (True, 100)
