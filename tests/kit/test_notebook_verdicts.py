"""What the cells of a notebook say of a work, and what `%grade` below them says: they may not contradict each other."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from grader.answers import read_mistakes
from grader.assignment import AssignmentFiles
from grader.authoring.checks_read import list_checks
from grader.proof.catalogue import Variant, load_catalogue
from tests.kit.examples import draw_lot, examples
from tests.kit.notebook_cells import list_changed
from tests.kit.notebook_said import Claim, read_claims

pytestmark = [pytest.mark.slow(40), pytest.mark.recorded, pytest.mark.sampled]

INPUTS = (
    "assignments/{name}/assignment.toml",
    "assignments/{name}/*.py",
    "assignments/{name}/notebook.ipynb",
    "solutions/{name}/submitted.py",
    "solutions/{name}/alternatives.py",
    "solutions/{name}/mistakes.py",
    "tests/visible/test_{name}.py",
    "tests/visible/mistakes/{name}.json",
    "utils.py",
)

ROOT = Path(__file__).resolve().parents[2]
# Not run: cells that train for seconds, those that show their results, and one that measures time. Such numbers depend on luck
# or on the machine; the text says how far to trust them.
LEFT_OUT = {
    "policy_gradient": (
        *("probes", "experiment", "vanilla-line", "critic-probes", "advantages-line", "fragile", "ppo-probes", "ppo-line"),
        *("compare", "cartpole", "end"),
    ),
    "continuous_ppo": ("probes", "point", "unclipped", "run", "return", "watch", "film", "save", "end"),
    "recurrent_a2c": ("memory", "inside", "train", "look", "test", "film", "end"),
    "ddpg": ("choice", "probes", "point", "pendulum", "curve", "film", "learned", "save", "end"),
    "ppo_agent": ("probes", "point", "sign", "blind", "pendulum", "film", "learned", "end"),
}
each_notebook = pytest.mark.parametrize("name", LEFT_OUT)
BY_CHANCE = {("ddpg", "noise")}  # its numbers are statistics of samples, as the text says
# The text above the cell says what to expect. All must be as it is from this line on; above it, a stub prints its progress.
IN_PROSE = {("policy_gradient", "rollouts"): "position seen"}
# The cell shows something of this question, too, which is graded in a later section.
LATER = {
    ("policy_gradient", "loop"): "train_policy_gradient.minibatches",
    ("recurrent_a2c", "forward"): "playing",  # by `agent.step`
}
SEEN = 0.03  # by so much of its height, a line in a picture must differ for a student to see it
# Alternatives that the grader accepts although the stub asks for something else. Cells hold them to the stub.
BEYOND_THE_STUB = {
    "continuous_ppo": {"model_with_flat_values", "policy_with_flat_values"},
    "ddpg": {
        *("buffer_of_masks", "buffer_of_single_numbers", "AgentOfItsOwnConventions"),  # what rows hold
        *("actor_that_normalizes", "actor_of_four_layers"),  # layers
        *("optimizers_in_a_dictionary", "targets_keep_tau"),  # attributes
        "test_with_break",  # a frame after the last step
    },
    "ppo_agent": {"forward_one_by_one", "forward_with_names", "probability_computed_later"},  # what `recent` holds
    "recurrent_a2c": {"train_on_rollout_of_columns", "last_frame_is_worth_nothing"},
}
SECOND = {"n-step target"}  # labels of lines that show a second answer that is accepted
SEEDS = (0, 0, 1, 2)  # of runs of the solution; the first two without a thorough run
RIGHT, WRONG = 2, 5  # alternatives and mistakes that are drawn


class Answer(NamedTuple):
    """What a cell said, as tests/kit/notebook_cells.py reports it."""

    text: str
    axes: list[dict[str, Any]]
    stopped: str


Answers = dict[str, Answer]


@dataclass(frozen=True)
class Heard:
    """What the cells of a notebook said.

    Attributes:
        solution: Of the solution, once for each seed.
        right: Of alternatives.
        wrong: Of mistakes: only cells that give a verdict.
        lot: The seed that the alternatives and mistakes were drawn with.
    """

    name: str
    solution: list[Answers]
    right: list[tuple[Variant, Answers]]
    wrong: list[tuple[Variant, Answers]]
    lot: int

    def give_verdict(self, cell: str) -> bool:
        """Return whether a cell says what is expected."""
        answer = self.solution[0][cell]
        return (self.name, cell) in IN_PROSE or bool(self.read(cell, answer)) or any(map(shows_expected, answer.axes))

    def read(self, cell: str, answer: Answer) -> list[Claim]:
        """Return the claims of a cell."""
        return read_claims(answer.text, by_chance=(self.name, cell) in BY_CHANCE)

    def shown(self, cell: str, answer: Answer) -> str:
        """Return what a cell of IN_PROSE said, from the line on that counts."""
        return answer.text.rpartition(IN_PROSE[self.name, cell])[2]

    def complaints(self, answers: Answers) -> Iterator[tuple[str, str]]:
        """Yield where cells say that a work is wrong: the cell, and what it says."""
        for cell, answer in answers.items():
            if not cell:  # the work cannot be imported, or a cell does not end
                yield cell, answer.stopped
                continue
            solution = self.solution[0][cell]
            claims = self.read(cell, answer)
            if answer.stopped:
                yield cell, answer.stopped
            elif len(claims) != len(self.read(cell, solution)):
                yield cell, f"says less than of the solution: {answer.text}"
            elif (self.name, cell) in IN_PROSE and self.shown(cell, answer) != self.shown(cell, solution):
                yield cell, answer.text
            elif (self.name, cell) not in BY_CHANCE and differs(answer.axes, solution.axes):
                yield cell, "the drawn line is not on the expected one"
            yield from ((cell, claim.text) for claim in claims if not claim.is_right)


def shows_expected(axes: dict[str, Any]) -> bool:
    """Return whether a picture shows what is expected beside what was found."""
    return any(label.startswith(("expected", "correct")) for label in axes["labels"])


def differs(found: list[dict[str, Any]], solution: list[dict[str, Any]]) -> bool:
    """Return whether pictures that show what is expected look other than the solution's.

    A line may also lie on one of SECOND.
    """
    return any(
        len(one["drawn"]) != len(other["drawn"])
        or not all(
            is_on(line, right) or any(is_on(line, second) for second in list_second(other))
            for line, right in zip(one["drawn"], other["drawn"], strict=True)
        )
        for one, other in zip(found, solution, strict=False)
        if shows_expected(other)
    )


def list_second(axes: dict[str, Any]) -> list[list[float]]:
    return [line for label, line in zip(axes["labels"], axes["drawn"], strict=True) if label in SECOND]


def is_on(line: list[float], expected: list[float]) -> bool:
    height = max(expected) - min(expected) or max(map(abs, expected)) or 1.0
    return len(line) == len(expected) and all(
        abs(one - other) <= SEEN * height for one, other in zip(line, expected, strict=True)
    )


@lru_cache(None)  # the tests of one kind run on all notebooks, then those of the next
def listen(name: str) -> Heard:
    """Run the cells of a notebook on the solution, and on works of the catalogue that are drawn; on all, in a thorough run."""
    home = AssignmentFiles(ROOT, name)
    lot = draw_lot()
    print(f"drawn with GRADER_LOT={lot}")
    catalogues = [load_catalogue(home, kind) for kind in ("alternatives", "mistakes")]
    seeds: tuple[int, ...] = SEEDS
    if examples(1) == 1:
        seeds = SEEDS[:2]
        draw = random.Random(lot).sample
        catalogues = [draw(works, min(number, len(works))) for works, number in zip(catalogues, (RIGHT, WRONG), strict=True)]
    command = [sys.executable, "-m", "tests.kit.notebook_cells", name, *LEFT_OUT[name]]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        entered: dict[str, list[str]] = json.loads(process.stdout.readline())

        def ask(text: str, cells: list[str], seed: int = 0) -> Answers:
            assert process.stdin is not None
            assert process.stdout is not None
            print(json.dumps({"text": text, "cells": cells, "seed": seed}), file=process.stdin, flush=True)
            return {cell: Answer(**answer) for cell, answer in json.loads(process.stdout.readline()).items()}

        solution = (home.solution / home.assignment.submission).read_text(encoding="utf-8")
        using = [cell for cell in entered if entered[cell]]
        heard = Heard(name, [ask(solution, using, seed) for seed in seeds], [], [], lot)
        for works, answers in zip(catalogues, (heard.right, heard.wrong), strict=True):
            for work in works:
                changed = list_changed(solution, work.submission, work.function)
                cells = [cell for cell in using if changed & {*entered[cell]}]
                if answers is heard.wrong:
                    cells = [cell for cell in cells if heard.give_verdict(cell)]
                answers.append((work, ask(work.submission, cells)))
        process.stdin.close()
    assert process.returncode == 0
    return heard


def list_graded(home: AssignmentFiles) -> dict[str, set[str]]:
    """Return, for each code cell, the questions that `%grade` graded by the end of its section, here and in sections above."""
    cells = json.loads(home.notebook.read_text(encoding="utf-8"))["cells"]
    graded: dict[str, set[str]] = {}
    words: set[str] = set()
    waiting: list[str] = []  # cells of this section
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and source.startswith("%grade "):
            words |= {*source.split()[1:]}
            questions = {question.id for question in home.assignment.questions if begins(question.id, words)}
            graded |= {cell: questions | {LATER.get((home.assignment.name, cell), "")} for cell in waiting}
            waiting = []
        elif cell["cell_type"] == "code":
            waiting.append(cell["id"])
    return graded


def begins(question: str, words: set[str]) -> bool:
    return any(question == word or question.startswith(f"{word}.") for word in words)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each work runs in a fork")
@each_notebook
class TestVerdicts:
    def test_cells_accept_the_solution(self, name: str) -> None:
        """Catches: a wrong expectation, one that correct work meets only with luck, and one that this test cannot read."""
        heard = listen(name)
        for answers in heard.solution:
            assert list(heard.complaints(answers)) == []
        for cell, answer in heard.solution[0].items():
            assert heard.read(cell, answer) == heard.read(cell, heard.solution[1][cell]), f"{cell}: two runs differ"
            expected = sum("expected" in line and "fine?" not in line for line in answer.text.splitlines())
            assert len(heard.read(cell, answer)) >= expected, cell

    def test_cells_accept_what_the_grader_accepts(self, name: str) -> None:
        """Catches: a cell that raises for a form that the stub allows, or that calls correct work wrong."""
        heard = listen(name)
        complaints = {work.id: found for work, answers in heard.right if (found := list(heard.complaints(answers)))}
        beyond = BEYOND_THE_STUB.get(name, set()) & {work.id for work, _ in heard.right}
        assert not {work: found for work, found in complaints.items() if work not in beyond}, f"GRADER_LOT={heard.lot}"
        assert beyond <= complaints.keys(), "no cell rejects it any more: leave it out of BEYOND_THE_STUB"

    def test_what_cells_reject_the_grader_rejects_too(self, name: str) -> None:
        """Catches: a cell that calls a work wrong, with no failed check in the verdict of its section, nor in one above it."""
        heard = listen(name)
        home = AssignmentFiles(ROOT, name)
        graded, recorded = list_graded(home), read_mistakes(home.mistakes["visible"], name)
        question_of = {check.name: check.question for check in list_checks(home.checks["visible"])}

        def list_unseen(work: Variant, answers: Answers) -> list[tuple[str, str]]:
            """Return what cells say of it although no visible check of their questions fails."""
            shown = recorded[work.id].shows if work.id in recorded else None  # a question without hints has none
            failed = {work.question} if shown is None else {question_of[check.partition("[")[0]] for check in shown}
            return [(cell, said) for cell, said in heard.complaints(answers) if not graded.get(cell, failed) & failed]

        passed = {work.id: found for work, answers in heard.wrong if (found := list_unseen(work, answers))}
        assert not passed, f"GRADER_LOT={heard.lot}"


class TestClaims:
    """What the reading of a cell's text is worth: each claim is refused if the found value is another."""

    @pytest.mark.parametrize(
        ("right", "wrong"),
        [
            ("loss      found -0.1116, expected -0.1116", ["found 0.1116, expected -0.1116", "found nan, expected -0.1116"]),
            (
                "values  found [5] expected [5];       [-0.02 -0.021]",
                ["values  found [5, 1] expected [5];       [-0.02 -0.021]"],
            ),
            ("each row once: True (expected True)", ["each row once: False (expected True)"]),
            (
                "a [2] expected [2]; b [3] expected [3]",
                ["a [2] expected [2]; b [4] expected [3]", "a [3] expected [2]; b [3] expected [3]"],
            ),
            (
                "found 6 expected 6, with the seeds {None} expected {None}",
                ["found 6 expected 6, with the seeds {1} expected {None}"],
            ),
            (
                "returned [False], stored [0.0], expected [False], [0.0]",
                ["returned [0], stored [0.0], expected [False], [0.0]"],
            ),
            ("changed by found -4.9, expected less than 0", ["changed by found 4.9, expected less than 0"]),
            (
                "found 6 matrices, error 0.00000, expected 6 and 0.00000 to 0.00001",
                ["found 6 matrices, error 0.01, expected 6 and 0.00000 to 0.00001"],
            ),
            ("resets found 6 expected 5 or 6", ["resets found 7 expected 5 or 6"]),
            ("correlation found -0.02, expected 0 ± 0.1", ["correlation found -0.12, expected 0 ± 0.1"]),
            ("difference found 0.00003, expected 0.0000x", ["difference found 0.00013, expected 0.0000x"]),
            ("lr 3 found 2.25e-04, expected 2.25e-04", ["lr 3 found 3.00e-04, expected 2.25e-04"]),
            (
                "deviation 1.01 (expected about 1); otherwise 0.00 (expected 0.00)",
                ["deviation 0.01 (expected about 1); otherwise 0.00 (expected 0.00)"],
            ),
            (
                "variance found [1.0, 1.0, 1.0, 1.0, 1.0, 1.0] expected six times 1.0",
                ["variance found [1.0] expected six times 1.0"],
            ),
            (
                "action found ndarray float32 [2] expected ndarray float32 [2]",
                ["action found ndarray float64 [2] expected ndarray float32 [2]"],
            ),
            (
                "found  [0.0, -1.22] [2]\n expected [0.0, -1.0] (torch's) or [0.0, -1.22] (numpy's), [2]",
                ["found  [0.0, -1.1] [2]\n expected [0.0, -1.0] (torch's) or [0.0, -1.22] (numpy's), [2]"],
            ),
            ("found 1.0 found 2.0\n  expected 1.0 expected 2.0", ["found 1.0 found 2.1\n  expected 1.0 expected 2.0"]),
            (
                "plots (step) [(50, 1)]\n  expected [(50, 1)]",
                ["plots (step) [(50, 2)]\n  expected [(50, 1)]", "plots (step) []\n  expected [(50, 1)]"],
            ),
            (
                "found [1] [-6.1, 4.2]\nexpected [1] [-6.1, 'and your own result']",
                ["found [1] [-6.2, 4.2]\nexpected [1] [-6.1, 'and your own result']"],
            ),
            ("value   the target   4   4   yes", ["value   the target   4   3   NO"]),
            ("yours       passes    ", ["yours       fails  (unexpected)   A_0"]),
            ("64 of 3 rows: ValueError, as expected: too few", ["64 of 3 rows: no ValueError, but one was expected"]),
        ],
    )
    def test_a_wrong_value_is_seen(self, right: str, wrong: list[str]) -> None:
        """Catches: a claim that is read as fulfilled whatever was found."""
        assert read_claims(right)
        assert all(claim.is_right for claim in read_claims(right))
        for text in wrong:
            assert len(read_claims(text)) == len(read_claims(right)), text
            assert not all(claim.is_right for claim in read_claims(text)), text
