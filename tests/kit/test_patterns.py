"""What is asked of a failure that no known mistake explains: relations between numbers, and what an answer depends on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from grader.answers import Case
from grader.assignment import AssignmentFiles, Question, QuestionPoints
from grader.authoring.solving import shorten
from grader.judge.compare import Tolerance
from grader.judge.evidence import WrongAnswerEvidence
from grader.judge.failure import CheckFailed
from grader.judge.influence import Influences, explain_influences, list_nudges, list_outputs, measure_influences
from grader.judge.patterns import find_pattern
from grader.judge.relations import BENDING, CUT, LOOSE, STRICT, explain_relation
from grader.judge.run import Grader, GradingOptions
from grader.judge.student import LastCall, RunContext
from grader.judge.wrong_places import explain_marked_rows, explain_position
from grader.report.model import Outcome, Report
from grader.sandbox.reply import Reply

pytestmark = pytest.mark.recorded

INPUTS = {
    "test_a_relation_is_put_into_words": ("grader/judge/relations.py", "grader/judge/influence.py"),
    "test_a_half_says_nothing_of_an_axis_of_two": ("grader/judge/relations.py", "grader/judge/influence.py"),
    "test_loose_relations_come_last": ("grader/judge/relations.py", "grader/judge/influence.py"),
    "test_numbers_without_a_relation_are_left_alone": ("grader/judge/relations.py", "grader/judge/influence.py"),
    "test_rows_that_a_flag_marks": ("grader/judge/wrong_places.py", "grader/judge/relations.py", "grader/judge/influence.py"),
    "test_rows_that_a_sign_marks": ("grader/judge/wrong_places.py", "grader/judge/relations.py", "grader/judge/influence.py"),
    "test_one_number_that_is_wrong": ("grader/judge/wrong_places.py", "grader/judge/relations.py", "grader/judge/influence.py"),
    "test_limits_and_functions_are_named": ("grader/judge/relations.py", "grader/judge/influence.py"),
    "test_functions_of_positive_numbers_are_named": ("grader/judge/relations.py", "grader/judge/influence.py"),
    "test_of_a_sample_only_what_holds_of_all_numbers_is_said": ("grader/judge/relations.py", "grader/judge/influence.py"),
    "test_a_column_that_is_wrong": ("grader/judge/wrong_places.py", "grader/judge/relations.py", "grader/judge/influence.py"),
    "test_a_matrix_that_is_transposed": ("grader/judge/relations.py", "grader/judge/influence.py"),
    "test_what_returns_depend_on": ("grader/judge/influence.py",),
    "test_what_a_loss_depends_on": ("grader/judge/influence.py",),
    "test_a_factor_of_two_readings_has_no_name": ("grader/judge/influence.py",),
    "test_an_input_that_moves_another_number_is_not_left_out": ("grader/judge/influence.py",),
    "test_environments_are_told_from_time": ("grader/judge/influence.py",),
    "test_right_work_in_other_precision_has_no_pattern": ("grader/judge/influence.py",),
    "test_hostile_answers_say_nothing": ("grader/judge/influence.py",),
    "test_a_nudge_moves_one_number_of_a_copy": ("grader/judge/influence.py",),
    "test_what_the_check_did_not_find_wrong_is_not_asked_about": ("grader/judge/patterns.py", "grader/judge/evidence.py"),
    "test_a_factor_of_one_case_is_chance_if_another_has_none": ("grader/judge/patterns.py", "grader/judge/evidence.py"),
    "test_chance_is_asked_about_where_it_matters": ("grader/judge/patterns.py", "grader/judge/evidence.py"),
    "test_what_says_most_is_asked_first": ("grader/judge/patterns.py", "grader/judge/evidence.py"),
    "test_a_form_that_is_accepted_too_is_compared": ("grader/judge/patterns.py", "grader/judge/evidence.py"),
    "test_a_submission_is_asked_about_what_it_does": ("grading:policy_gradient",),
    "test_right_work_and_proofs_are_not_tried_again": ("grading:policy_gradient",),
}
ROOT = Path(__file__).resolve().parents[2]
RIGHT = np.array([1.0, -2.0, 4.0, 0.5, 3.0])
HOW = Tolerance(1e-4, 1e-5)
ALONE = "alone, although it should depend on later rows, too"


def relate(expected: Any, got: Any, *relations: Any) -> str | None:
    """Return the question about two answers, from the first of these relations that holds: by default, of all."""
    ordered = relations or (*STRICT, *CUT, *BENDING, *LOOSE)
    return explain_relation({"x": expected}, {"x": got}, HOW, ordered)


@pytest.mark.parametrize(
    ("got", "said"),
    [
        (-RIGHT, "Why does x have the opposite sign?"),
        (5 * RIGHT, "Why is x 5 times what it should be, everywhere (5, and axis 0 has 5 entries)?"),
        (RIGHT / 5, "Why is x 0.2 times what it should be, everywhere (1/5, and axis 0 has 5 entries)?"),
        (-3 * RIGHT, "Why is x -3 times what it should be, everywhere?"),
        (RIGHT + 2, "Why is x off by the same 2 everywhere?"),
        (RIGHT[::-1], "Why is x in reverse order?"),
        (np.array([-2.0, 4.0, 0.5, 3.0, 0.0]), "Why does x[t] hold what belongs to step t + 1?"),
        (np.array([0.0, 1.0, -2.0, 4.0, 0.5]), "Why does x[t] hold what belongs to step t - 1?"),
    ],
)
def test_a_relation_is_put_into_words(got: np.ndarray, said: str) -> None:
    """A sum in place of a mean, a sign, rows off by one: nobody has to see it by comparing two columns of numbers."""
    assert relate(RIGHT, got, *STRICT) == said


BROAD = np.array([1.2, -2.7, 4.0, 0.4, 3.6, -0.2])


@pytest.mark.parametrize(
    ("got", "said"),
    [
        (np.clip(BROAD, -1, 1), "Why is x never below -1 or above 1?"),
        (np.maximum(BROAD, 0), "Why is x never below 0?"),
        (np.minimum(BROAD, 2.5), "Why is x never above 2.5?"),
        (BROAD.astype(np.float16).astype(float), "Why does x have only half precision?"),
        (np.trunc(BROAD), "Why is x rounded towards 0?"),
        (np.floor(BROAD), "Why is x rounded down?"),
        (np.ceil(BROAD), "Why is x rounded up?"),
        (np.round(BROAD), "Why is x rounded to whole numbers?"),
        (np.abs(BROAD), "Why is x the absolute value of what it should be?"),
        (BROAD**2, "Why is x the square of what it should be?"),
        (1 / BROAD, "Why is x 1 divided by what it should be?"),
        (np.exp(BROAD), "Why is x the exponential of what it should be?"),
        (np.tanh(BROAD), "Why is x tanh of what it should be?"),
    ],
)
def test_limits_and_functions_are_named(got: np.ndarray, said: str) -> None:
    """Rewards that are clipped, a variance for a standard deviation, a ratio for its logarithm, integers for floats."""
    assert relate(BROAD, got, *STRICT) is None
    assert relate(BROAD, got) == said


@pytest.mark.parametrize(
    ("function", "said"),
    [(np.sqrt, "the square root of"), (np.log, "the logarithm of"), (np.log1p, "the logarithm of 1 plus")],
)
def test_functions_of_positive_numbers_are_named(function: Callable[[np.ndarray], np.ndarray], said: str) -> None:
    """A standard deviation for a variance, a log-probability for a probability."""
    right = np.array([0.1, 0.9, 2.5, 7.0])
    assert relate(right, function(right)) == f"Why is x {said} what it should be?"


def test_a_half_says_nothing_of_an_axis_of_two() -> None:
    """Catches: "1/2, and axis 1 has 2 entries" said of half a gradient, which sends a student to look for a mean."""
    pairs = np.array([[1.0, -2.0], [4.0, 0.5], [3.0, 1.5]])
    assert relate(pairs, pairs / 2) == "Why is x 0.5 times what it should be, everywhere?"


@pytest.mark.parametrize(
    ("got", "said"),
    [
        (np.zeros(5), "Why is x 0 everywhere?"),
        (np.full(5, 1.3), "Why is x the same everywhere?"),
        (np.sort(RIGHT), "Why does x have the right numbers in another order?"),
        (0.99 * RIGHT, "Why is x 0.99 times what it should be, everywhere?"),
        (np.float32(0.99) * RIGHT.astype(np.float32), "Why is x 0.99 times what it should be, everywhere?"),
        (-0.4 * RIGHT + 7, "Why is x -0.4 times what it should be, plus 7, everywhere?"),
        (2 * RIGHT - 1.5, "Why is x 2 times what it should be, minus 1.5, everywhere?"),
        ((RIGHT - RIGHT.mean()) / RIGHT.std(), "Why does x have a mean of 0 and a standard deviation of 1?"),
        (RIGHT * [1, -1, 1, 1, -1], "Why does x have the wrong sign in some places?"),
        (1e-8 * np.sin(RIGHT), "Why is x 0 everywhere?"),
    ],
)
def test_loose_relations_come_last(got: np.ndarray, said: str) -> None:
    """What may have many reasons is asked only where nothing better is known."""
    assert relate(RIGHT, got, *STRICT, *CUT, *BENDING) is None
    assert relate(RIGHT, got) == said


@pytest.mark.parametrize(
    "got",
    [RIGHT, RIGHT * (1 + 1e-6), np.sin(7 * RIGHT), np.array([np.nan] * 5), RIGHT[:4], RIGHT[:, None], "text", None, [], 5],
)
def test_numbers_without_a_relation_are_left_alone(got: Any) -> None:
    """A relation that is not there, or between a right answer and itself, sends a student after nothing."""
    assert relate(RIGHT, got) is None
    assert relate(2.0, 3.0) is None  # of one number, any is a multiple


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        ([0.0, 1.0, 0.0, 0.0, 0.0], [0.0] * 5),
        ([1.0, 1.0 + 1e-7, 1.0 - 1e-7, 1.0, 1.0], [0.0, 1.0, 1.0, 1.0, 1.0]),
        ([0.7, 0.7 + 1e-8, 0.7 - 1e-8], [0.2] * 3),
        ([1.0, 1.0, 2.0, 2.0, 3.0], [0.7, 0.7, 1.4, 1.4, 2.1]),
        (RIGHT.tolist(), (1.004 * RIGHT + 2e-3).tolist()),
        ([1.0, 2.0, 3.0, 4.0, 5.0], [2.5, 2.0, 1.5, 1.0, 0.5]),
        ([1.0, 0.5, 0.3, 0.2], [1.0, 0.5, 0.3, 0.3]),
        ([1.0, 2.0, 3.0, -0.5], [1.0, 2.0, 3.0, 0.0]),
        ([-3.0, -2.0, 0.5, 1.0000001], [-1.5, -1.7, 0.5, 1.0]),
        ([0.94, 0.97, 1.0, 1.02, 1.08], [0.97, 0.985, 1.0, 1.01, 1.0394]),
        ([0.01, 0.02, 0.03, 0.08], [0.01, 0.02, 0.03, 0.07984]),
        ([0.1, 0.2, 0.7], [0.0, 0.0, 1.0]),
        (np.linspace(0.9, 1, 256).tolist(), [*np.linspace(0.9, 1, 256)[:-1], 0.0]),
        ([1e6, 1.0, 2.0, 3.0], [1.0, 2.0, 5.0, 3.0]),
        ([1e-9, -3e-9, 2e-9, 5e-9], [0.0] * 4),
        ([1000.0, 0.01, 0.02, 0.03], [-1000.0, 0.01, 0.05, 0.05]),
        ([1000.0, 2000.0, 0.02, 0.03], [2000.0, 4000.0, 0.02, 0.03]),
        ([1000.0, 0.01, 0.02, 0.03], [0.05, 1000.0, 0.05, 0.05]),
        ([0.0, 1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0, 0.0]),
        ([1.2, -2.7, 4.0, 0.4, 3.6], [1.2004, -2.7011, 4.0012, 0.4002, 3.6007]),
        ([1.0, 2.0, 4.0], [1e308, -1e308, 0.0]),
    ],
    ids=[
        "a flag that is missing",
        "rounded ones, the first missing",
        "the right ones are the same, too",
        "a line through three points",
        "rounding",
        "evenly spaced numbers",
        "one number that is the smallest of the others",
        "one number that is not filled in",
        "a limit that rounding seems to pass",
        "nearly a square root",
        "nearly tanh",
        "the largest one",
        "neighbors that are nearly the same",
        "small beside the largest",
        "nothing that the check found wrong",
        "a sign of the largest alone",
        "a factor of the largest alone",
        "the largest at another place",
        "flags",
        "nearly right",
        "beyond what can be squared",
    ],
)
@pytest.mark.filterwarnings("error")
def test_a_pattern_of_the_right_numbers_is_no_fault(expected: list[float], got: list[float]) -> None:
    """Catches: "Why is `done` 0 everywhere?" of a flag that is nearly always 0, or "the same everywhere" of what should be."""
    assert relate(np.array(expected), np.array(got)) is None


FLAGS = np.array([0, 0, 1, 0, 0, 1], bool)
STEPS = np.arange(1.0, 7)


@pytest.mark.parametrize(
    ("wrong", "inputs", "said"),
    [
        (FLAGS, {"terminated": FLAGS}, "wrong exactly where terminated is True"),
        (~FLAGS, {"trajectory": {"resets": FLAGS.astype(np.float32)}}, "right exactly where trajectory['resets'] is 1"),
        (FLAGS, {"masks": (~FLAGS).astype(np.uint8).tolist(), "{x": FLAGS}, "right exactly where masks is 1"),
        (FLAGS, {"{0}": FLAGS}, "wrong exactly where {0} is True"),
        (STEPS == 6, {"terminated": STEPS == 6}, None),
        (STEPS == 3, {"terminated": FLAGS, "text": "text", "uneven": [[1], [1, 2]], "flag": 1, "none": None}, None),
        (STEPS < 9, {"terminated": FLAGS}, None),
        (STEPS > 9, {"terminated": FLAGS}, None),
        (np.outer(STEPS > 0, [False, True, False]), {"all": STEPS > 0, "none": STEPS < 0, "positive": STEPS}, None),
    ],
    ids=[
        "a flag",
        "no flag",
        "a list of integers",
        "an odd name",
        "the last",
        "anywhere",
        "everywhere",
        "nowhere",
        "marks of all rows",
    ],
)
def test_rows_that_a_flag_marks(wrong: np.ndarray, inputs: dict[str, Any], said: str | None) -> None:
    """Catches: two columns of numbers to compare, where the wrong ones are those of the steps that end an episode."""
    right = np.ones(wrong.shape)
    question = f"Why is x {said}?" if said else None
    assert explain_marked_rows({"x": right}, {"x": right + wrong}, HOW, inputs) == question


def test_rows_that_a_sign_marks() -> None:
    """Catches: five signs that agree with five wrong rows by chance."""
    advantages = np.array([-1, 2, 3, -4, 5, 6, -7, 8], np.float32)
    right = np.ones(8)
    said = explain_marked_rows({"x": right}, {"x": right + (advantages < 0)}, HOW, {"advantages": advantages}, signs=True)
    assert said == "Why is x wrong exactly where advantages is negative?"
    few = advantages[:5]
    assert explain_marked_rows({"x": right[:5]}, {"x": right[:5] + (few < 0)}, HOW, {"a": few}, signs=True) is None


@pytest.mark.parametrize(
    ("got", "said"),
    [
        ([2.0, 1, 1, 1, 1], "Why is only the first number of x wrong?"),
        ([1.0, 1, 1, 1, np.nan], "Why is only the last number of x wrong?"),
        ([1.0, 2, 2, 2, 2], "Why is only the first number of x right?"),
        ([1.0, 2, 1, 1, 1], None),
        ([2.0] * 5, None),
        ([1.00001] * 5, None),
        ([1.00001, 1, 1, 1, 1], None),
        ([2.0, 1, 1], None),
    ],
)
def test_one_number_that_is_wrong(got: list[float], said: str | None) -> None:
    """Catches: a number within the tolerance of its check, told as the wrong one."""
    assert explain_position({"x": np.ones(len(got))}, {"x": np.array(got)}, HOW) == said


def test_a_column_that_is_wrong() -> None:
    """Catches: a question about numbers that are only a sample, whose place says nothing."""
    right = np.ones((6, 5))
    wrong = right.copy()
    wrong[:, -1] = 3
    assert explain_position({"handsome": right}, {"handsome": wrong}, HOW) == "Why is only the last column of handsome wrong?"
    for name in ("x for some", "some"):
        assert explain_position({name: right}, {name: wrong}, HOW) is None


def test_of_a_sample_only_what_holds_of_all_numbers_is_said() -> None:
    """Catches: the diagonal of a large matrix, which is a sample of it, taken for the whole."""
    right = RIGHT.repeat(2)[1:]
    for got, said in (
        (0 * right, None),
        (np.roll(right, 1), None),
        (3 * right, "Why is the answer 3 times what it should be, everywhere?"),
    ):
        assert explain_relation({"some": right}, {"some": got}, HOW, (*STRICT, *CUT, *BENDING, *LOOSE)) == said


@pytest.mark.parametrize("size", [3, 2])
def test_a_matrix_that_is_transposed(size: int) -> None:
    """Catches: nothing said of an answer whose numbers are right, and in rows where columns are expected."""
    right = np.arange(3.0 * size).reshape(size, 3)
    assert relate(right, right.T) == "Why is x transposed?"
    assert relate(right, np.ones((3, size))) != "Why is x transposed?"


@pytest.mark.parametrize(
    ("expected", "got", "said"),
    [
        (np.linspace(0.9, 1, 256), np.full(256, 0.95), "Why is x the same everywhere?"),
        (np.linspace(0.9, 1, 256), np.linspace(1, 0.9, 256), "Why is x in reverse order?"),
        (np.eye(4), np.zeros((4, 4)), "Why is x 0 everywhere?"),
    ],
    ids=["near each other", "one after the other", "one of many"],
)
def test_a_pattern_of_smooth_or_sparse_numbers_is_seen(expected: np.ndarray, got: np.ndarray, said: str) -> None:
    """Catches: neighbours that are taken for the same number, and a matrix of zeros taken for a flag."""
    assert relate(expected, got) == said


def discount(rewards: np.ndarray, ends: np.ndarray, gamma: float = 0.9) -> np.ndarray:
    returns, future = np.zeros(len(rewards)), 0.0
    for step in reversed(range(len(rewards))):
        future = float(rewards[step]) + gamma * (0.0 if ends[step] else future)
        returns[step] = future
    return returns


def without_last(rewards: np.ndarray, ends: np.ndarray) -> np.ndarray:
    shorter = rewards.copy()
    shorter[-1] = 0
    return discount(shorter, ends)


def measure(function: Callable[..., Any], inputs: dict[str, Any], nudges: dict[str, int]) -> Influences | None:
    """Return the influences of these inputs on what a function returns."""
    return measure_influences(list_outputs(function(**inputs)), lambda given: function(**given), inputs, nudges)


def ask(
    right: Callable[..., Any], wrong: Callable[..., Any], inputs: dict[str, Any], nudges: dict[str, int], *open_to: str
) -> str | None:
    """Return what is asked of a function, beside the right one; open_to: outputs that may have another form."""
    expected = measure(lambda **given: {"x": right(**given)}, inputs, nudges)
    got = measure(lambda **given: {"x": wrong(**given)}, inputs, nudges)
    assert expected
    return explain_influences(inputs, {"x": right(**inputs)}, nudges, expected, got, open_to) if got else None


REWARDS = np.array([0.5, 1.5, -0.7, 2.0, 0.3, -1.0], np.float32)
ENDS = np.array([False, False, True, False, False, True])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda rewards, ends: discount(rewards, np.zeros(6, bool)), "x[2] depend on rewards[3], though ends[2] is True"),
        (lambda rewards, ends: 0.9 * discount(rewards, ends), "rewards move x 0.9 times as strongly as it should, everywhere"),
        (lambda rewards, ends: -discount(rewards, ends), "x fall where rewards should make it grow, and the other way round"),
        (
            lambda rewards, ends: discount(rewards, ends, 0.81),
            "rewards[t + 1] move x[t] 0.9 times as strongly as it should, everywhere",
        ),
        (lambda rewards, ends: discount(rewards, ends, 0.0), f"x[t] depend on rewards[t] {ALONE}"),
        (lambda rewards, ends: np.cumsum(rewards), "x[t] not depend on rewards[t + 1], although it should"),
        (lambda rewards, ends: np.ones(6), "nothing change in x after a small change of rewards"),
        (lambda rewards, ends: discount(np.roll(rewards, 1), ends), "x[t] not depend on rewards[t + 2], although it should"),
        (without_last, "x[5] not depend on rewards[5], although it should"),
    ],
)
def test_what_returns_depend_on(wrong: Callable[..., Any], said: str) -> None:
    """The first thing that differs is asked about, in the terms of the function: a step too far, an end that does not cut."""
    assert ask(discount, wrong, {"rewards": REWARDS, "ends": ENDS}, {"rewards": 1}) == f"Why does {said}?"


def one_step(rewards: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return the targets of temporal differences, of which whole returns are another form."""
    return rewards + 1.0


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda rewards, ends: 2 * discount(rewards, ends) - 0.5, None),
        (lambda rewards, ends: 0.9 * one_step(rewards, ends), None),
        (without_last, None),
        (
            lambda rewards, ends: np.append(rewards[:5], 0.0) + 1.0,
            "Why does x[5] not depend on rewards[5], although it should?",
        ),
    ],
)
def test_of_a_form_that_is_accepted_too_only_what_is_missing_is_asked(wrong: Callable[..., Any], said: str | None) -> None:
    """Catches: "Why does x[0] depend on rewards[1]?" said of whole returns, which are allowed, with a fault in them."""
    given = {"rewards": REWARDS, "ends": ENDS}, {"rewards": 1}
    assert ask(one_step, wrong, *given, "x") == said


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda w, a: float((w * a).sum()), "a move x 6 times (there are 6 rows) as strongly as it should"),
        (lambda w, a: float(w[0] * a[0]) / 6, "x not depend on a[1], as it does on other rows"),
        (lambda w, a: float((w * a * [1, 1, 0.5, 0.5, 1, 1]).mean()), "a[2] move x 0.5 times as strongly as it should"),
        (lambda w, a: float((w * a * [1, 1, 0.5, 1, 1, 1]).mean()), "a[2] move x 0.5 times as strongly as it should"),
        (lambda w, a: float((w * abs(a)).mean()), "a[2] move x in the wrong direction"),
    ],
)
def test_what_a_loss_depends_on(wrong: Callable[..., Any], said: str) -> None:
    """A sum for a mean, or a row that is left out, without any gradient at hand."""
    right = lambda w, a: float((w * a).mean())  # noqa: E731
    assert ask(right, wrong, {"w": REWARDS, "a": REWARDS.copy()}, {"a": 1}) == f"Why does {said}?"


def test_a_loss_of_the_wrong_rows_does_change() -> None:
    """Catches: "nothing changes in x", said of a loss that uses the other rows."""
    right, wrong = (lambda w, a: float(a[1:3].sum())), (lambda w, a: float(a[0]))
    asked = ask(right, wrong, {"w": REWARDS, "a": REWARDS.copy()}, {"a": 1})
    assert asked == "Why does x not depend on a[1], as it does on other rows?"


def test_a_factor_is_named_by_the_inputs_or_not_at_all() -> None:
    """Catches: "0.45 times as strongly", which tells a student nothing, and no word of what 0.45 is made of."""
    inputs = {"rewards": REWARDS, "gamma": 0.9}
    right = lambda rewards, gamma: rewards.astype(float)  # noqa: E731
    said = ask(right, lambda rewards, gamma: 0.5 * gamma * right(rewards, gamma), inputs, {"rewards": 1})
    assert said == "Why does rewards move x 0.45 times (half of gamma) as strongly as it should?"
    said = ask(right, lambda rewards, gamma: 1.37 * right(rewards, gamma), inputs, {"rewards": 1})
    assert said == "Why does rewards move x 1.37 times as strongly as it should, everywhere?"
    # As with a discount of 0.99 in place of gamma: 1/gamma is 1.11.
    said = ask(right, lambda rewards, gamma: 1.1 * right(rewards, gamma), inputs, {"rewards": 1})
    assert said == "Why does rewards move x 1.1 times as strongly as it should, everywhere?"
    # With two digits, it would look like a discount factor.
    said = ask(right, lambda rewards, gamma: 0.9602 * right(rewards, gamma), inputs, {"rewards": 1})
    assert said == "Why does rewards move x 0.9602 times as strongly as it should, everywhere?"


def test_an_input_that_moves_another_number_is_not_left_out() -> None:
    """Catches: "x does not depend on a[1]" said of targets in another order, where a[1] moves x[1] in place of x[0]."""
    right = lambda a: np.array([a[0] + a[1], a[2] + a[3], a[4] + a[5]])  # noqa: E731
    inputs = {"a": REWARDS.astype(float)}
    assert ask(right, lambda a: np.array([a[0], a[1] + a[2] + a[3], a[4] + a[5]]), inputs, {"a": 1}) is None
    left_out = ask(right, lambda a: np.array([a[0], a[2] + a[3], a[4] + a[5]]), inputs, {"a": 1})
    assert left_out == "Why does x not depend on a[1], as it does on other rows?"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda w, a: float((w**2 * a).mean()), None),  # each factor is made of the numbers of its own row
        (lambda w, a: float((w ** [2, 2, 1, 1, 1, 1] * a * [1, 1, 1.4, 1.41, 1, 1]).mean()), None),  # two agree by chance
        (lambda w, a: float((w * a * [1, 1, 1.04, 1.02, 1, 1]).mean()), None),  # the other rows are wrong, too
        (lambda w, a: float((w[:, None] * a[None]).mean()), "Why does each row of a move x equally?"),
    ],
)
def test_rows_of_their_own_factors(wrong: Callable[..., Any], said: str | None) -> None:
    """Catches: "a[0] less strongly than it should", said of a loss over all pairs of rows."""
    inputs = {"w": np.abs(REWARDS), "a": REWARDS.copy()}
    assert ask(lambda w, a: float((w * a).mean()), wrong, inputs, {"a": 1}) == said


def test_nearly_equal_rows_are_not_called_equal() -> None:
    """Catches: ratios near 1 told as the matrix of all pairs, where the right ones are as near to each other."""
    inputs = {"w": np.array([1.0, 1.02, 0.98, 1.05]), "a": np.array([0.5, -1.0, 2.0, 0.3])}
    right, wrong = (lambda w, a: float((w * a).mean())), (lambda w, a: float(1.3 * (w**0.2 * a).mean()))
    assert "equally" not in str(ask(right, wrong, inputs, {"a": 1}))


def test_a_factor_has_no_name_by_accident() -> None:
    """Catches: 1 - λ⁵ told as half of λ², because one of forty numbers is near it."""
    inputs = {"rewards": REWARDS, "gamma": 0.9}
    right = lambda rewards, gamma: rewards.astype(float)  # noqa: E731
    for factor in (1 - 0.9**5, 0.9 / 2 * 1.007, 0.9**2 / 2):
        said = ask(right, lambda rewards, gamma: factor * right(rewards, gamma), inputs, {"rewards": 1})  # noqa: B023
        assert said == f"Why does rewards move x {factor:.3g} times as strongly as it should, everywhere?"


def test_a_factor_of_two_readings_has_no_name() -> None:
    """Catches: "1/5, and there are 5 rows" said of 1 - γ, which sends a student to look for a mean."""
    inputs = {"rewards": REWARDS[:5], "gamma": 0.8}
    right = lambda rewards, gamma: rewards.astype(float)  # noqa: E731
    said = ask(right, lambda rewards, gamma: (1 - gamma) * right(rewards, gamma), inputs, {"rewards": 1})
    assert said == "Why does rewards move x 0.2 times as strongly as it should?"


def test_a_square_at_its_least_depends_on_its_input() -> None:
    """Catches: a dependence taken for wrong because the solution's is 0 just where a square is at its least."""
    inputs = {"a": np.array([0.0, 10.0, 20.0])}
    assert ask(lambda a: float((a**2).mean()), lambda a: float((a**2).mean() + a[0]), inputs, {"a": 1}) is None


def test_a_weak_influence_is_one() -> None:
    """Catches: "does not depend" of a number that moves the result, but by a thousandth of what it should."""
    said = ask(lambda a: a.sum(), lambda a: a[0] + 1e-3 * a[1], {"a": np.array([1.0, 2.0])}, {"a": 1})
    assert said == "Why does a[1] move x 0.001 times as strongly as it should, unlike other rows?"


def test_what_moves_elsewhere_is_not_called_weak() -> None:
    """Catches: a gradient in another direction told as one that is less strong."""
    inputs, weights = {"a": np.array([1.0])}, np.array([1.0, 0.5])
    assert ask(lambda a: a * weights, lambda a: a * weights[::-1], inputs, {"a": 1}) is None
    assert "0.5 times" in str(ask(lambda a: a * weights, lambda a: a * weights / 2, inputs, {"a": 1}))


@pytest.mark.parametrize(
    ("axis", "said"),
    [
        (0, f"x[t, j] depend on rewards[t, j] {ALONE}"),
        (1, f"x[i, t] depend on rewards[i, t] {ALONE}"),
    ],
)
def test_environments_are_told_from_time(axis: int, said: str) -> None:
    """Which axis is time follows from the solution: some courses put environments first, some put time first."""
    rewards = np.random.default_rng(0).normal(size=(3, 4))
    right = lambda rewards: np.flip(np.flip(rewards, axis).cumsum(axis), axis)  # noqa: E731
    assert ask(right, lambda rewards: rewards, {"rewards": rewards}, {"rewards": 2}) == f"Why does {said}?"


@pytest.mark.parametrize("seed", range(5))
def test_right_work_in_other_precision_has_no_pattern(seed: int) -> None:
    """Rounding must not look like a property of the function."""
    rng = np.random.default_rng(seed)
    inputs: dict[str, Any] = {"rewards": rng.normal(size=9).astype(np.float32), "ends": rng.random(9) < 0.3}

    def single(rewards: np.ndarray, ends: np.ndarray) -> np.ndarray:
        return discount(rewards, ends).astype(np.float32).astype(float)

    assert ask(discount, single, inputs, {"rewards": 1}) is None


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e3])
def test_stored_influences_are_compared_in_full_precision(scale: float) -> None:
    """Catches: squares of influences beyond half precision, in which they are stored: right numbers "move less strongly"."""
    inputs: dict[str, Any] = {"rewards": REWARDS, "ends": ENDS}

    def right(rewards: np.ndarray, ends: np.ndarray) -> np.ndarray:
        return scale * np.outer(discount(rewards, ends), [1.0, 2.0])

    found = measure(lambda **given: {"x": right(**given)}, inputs, {"rewards": 1})
    assert found
    stored = {name: {output: shorten(matrix) for output, matrix in of.items()} for name, of in found.items()}
    assert explain_influences(inputs, {"x": right(**inputs)}, {"rewards": 1}, stored, found) is None


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "x",
        {"x": None},
        {"x": np.array(["a"])},
        {"x": np.full(6, np.nan)},
        {"x": np.full(6, np.inf)},
        {"x": np.zeros((6, 6))},
        {},
    ],
)
def test_hostile_answers_say_nothing(answer: Any) -> None:
    """What a submission returns has any form: the judge must neither fail nor find a pattern in it."""
    inputs: dict[str, Any] = {"rewards": REWARDS, "ends": ENDS}
    nudges = {"rewards": 1}
    expected = measure(lambda **given: {"x": discount(**given)}, inputs, nudges)
    assert expected
    got = measure(lambda **_: answer, inputs, nudges)
    assert not got or explain_influences(inputs, {"x": discount(**inputs)}, nudges, expected, got) is None


def test_a_nudge_moves_one_number_of_a_copy() -> None:
    """A nudge that stays in the inputs would change every call after it."""
    table = np.arange(6.0).reshape(3, 2)
    seen = [(name, row, given["table"] - table) for name, row, _, given in list_nudges({"table": table}, {"table": 1})]
    assert [(name, row) for name, row, _ in seen] == [("table", 0), ("table", 1), ("table", 2)]
    assert all(np.flatnonzero(moved).tolist() == [2 * row] for _, row, moved in seen)
    assert (table == np.arange(6.0).reshape(3, 2)).all()


def test_what_the_check_did_not_find_wrong_is_not_asked_about() -> None:
    """Catches: a question about the targets, which may be in another form in right work, where the advantages are wrong."""

    def answer(rewards: np.ndarray, wrong: Mapping[str, float] = {}) -> dict[str, np.ndarray]:
        right = {"targets": rewards, "advantages": rewards + np.roll(rewards, -1)}
        highest = wrong.get("highest", np.inf)
        return {name: np.minimum(wrong.get(name, 1.0) * values, highest) for name, values in right.items()}

    inputs = {"rewards": REWARDS.astype(float)}
    influences = measure(answer, inputs, {"rewards": 1})
    assert influences
    case = Case("path", "driver", "gae", inputs, answer(inputs["rewards"]), {"rewards": 1}, influences)
    question = Question(id="gae", title="t", function="gae", task="t", points=QuestionPoints(visible=1, hidden=0))

    def find(
        expected: object, got: object, wrong: Mapping[str, float], also: Callable[[Any], Any] | None = None
    ) -> tuple[str, str] | None:
        evidence = WrongAnswerEvidence("path", expected, got, also, Tolerance(1e-5, 1e-5))
        failure = CheckFailed(Outcome.FAILED, "wrong", evidence=evidence)
        shared = SimpleNamespace(
            sandbox=SimpleNamespace(call=lambda driver, given, *rest: Reply("ok", answer(given["rewards"], wrong))),
            clock=SimpleNamespace(limit=lambda question: 1.0),
        )
        tried = LastCall("driver", inputs, 0, case)
        return find_pattern([("test_path", failure, tried)], cast(RunContext, shared), Path("submitted.py"), question)

    def said(*checked: str, **wrong: float) -> str:
        got = answer(inputs["rewards"], wrong)
        found = find({name: case.answer[name] for name in checked}, {name: got[name] for name in checked}, wrong)
        assert found
        return found[1]

    wrong = {"targets": 3.1, "advantages": 1.3}
    assert said("targets", "advantages", **wrong) == "Why is targets 3.1 times what it should be, everywhere?"
    assert said("advantages", **wrong) == "Why is advantages 1.3 times what it should be, everywhere?"
    assert said("targets", "advantages", targets=1.0000001, advantages=1.3) == said("advantages", advantages=1.3)
    assert said("advantages", highest=0.5) == "Why is advantages never above 0.5?"  # not: does it not depend on rewards[4]
    assert find({"changed": []}, {"changed": ["rewards"]}, wrong) is None  # what was changed may have changed the answer

    # The check accepts targets of thrice the size as well: by how much a reward moves them says nothing.
    found = find(case.answer, answer(inputs["rewards"], wrong), wrong, lambda given: given | {"targets": 3 * given["targets"]})
    assert found == ("test_path", "Why does rewards move advantages 1.3 times as strongly as it should, everywhere?")


def test_a_factor_of_one_case_is_chance_if_another_has_none() -> None:
    """Catches: "off by the same -3 everywhere" of a case by hand, whose numbers are few, where another answer has no offset."""
    question = Question(id="q", title="t", function="q", task="t", points=QuestionPoints(visible=1, hidden=0))

    def ask(*answers: tuple[np.ndarray, np.ndarray]) -> str | None:
        failures = []
        for number, (right, got) in enumerate(answers):
            failure = CheckFailed(
                Outcome.FAILED, "wrong", evidence=WrongAnswerEvidence("case", {"x": right}, {"x": got}, None, HOW)
            )
            failures.append((f"test_{number}", failure, None))
        found = find_pattern(failures, cast(RunContext, SimpleNamespace()), None, question)
        return found[1] if found else None

    offset, factor = (RIGHT, RIGHT - 3), (RIGHT, 3.7 * RIGHT)
    assert ask(offset) == "Why is x off by the same -3 everywhere?"
    assert ask(offset, (BROAD, BROAD - 4)) == "Why is x off by the same -3 everywhere?"
    assert ask(factor) == "Why is x 3.7 times what it should be, everywhere?"
    assert ask(offset, (BROAD, BROAD + np.arange(6) ** 3)) is None
    assert ask(factor, (BROAD, BROAD + np.arange(6) ** 3)) is None


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("x", lambda numbers, seed: numbers + seed, "Why does the result differ between calls with equal arguments?"),
        ("x", lambda numbers, seed: np.random.default_rng(seed).permutation(numbers), None),
        ("unseen", lambda numbers, seed: numbers + seed, None),
    ],
)
def test_chance_is_asked_about_where_it_matters(name: str, change: Callable[..., np.ndarray], said: str | None) -> None:
    """Catches: "differs between equal calls" said of rows that may have any order, or of what no check looked at."""
    right = {"x": BROAD, "unseen": BROAD}
    influences = {"rewards": {"x": np.eye(len(BROAD)), "unseen": np.eye(len(BROAD))}}
    case = Case("case", "driver", "q", {"rewards": BROAD}, right, {"rewards": 1}, influences)

    def call(driver: object, inputs: dict[str, np.ndarray], submission: object, seconds: object, seed: int) -> Reply:
        answer = {"x": inputs["rewards"], "unseen": inputs["rewards"]}
        return Reply("ok", answer | {name: change(answer[name], seed)})

    shared = SimpleNamespace(sandbox=SimpleNamespace(call=call), clock=SimpleNamespace(limit=lambda question: 1.0))
    got = {"x": np.array([1.0, 7.0, -3.0, 2.0, 9.0, 4.0])}
    failure = CheckFailed(Outcome.FAILED, "wrong", evidence=WrongAnswerEvidence("case", {"x": BROAD}, got, None, HOW))
    question = Question(id="q", title="t", function="q", task="t", points=QuestionPoints(visible=1, hidden=0))
    tried = LastCall("driver", case.inputs, 0, case)
    found = find_pattern([("test_x", failure, tried)], cast(RunContext, shared), Path("submitted.py"), question)
    assert (found[1] if found else None) == said


@pytest.mark.parametrize(
    ("got", "said"),
    [
        (lambda right, ends: -right, "Why does x have the opposite sign?"),
        (lambda right, ends: np.where(ends, -right, right), "Why is x wrong exactly where ends is True?"),
        (lambda right, ends: np.where(ends, 0, right), "Why is x wrong exactly where ends is True?"),
        (lambda right, ends: np.minimum(right, 0.4), "Why is x never above 0.4?"),
        (lambda right, ends: right * [1, 1, -1, -1, 1, 1], "Why does x have the wrong sign in some places?"),
        (lambda right, ends: np.add(right, [0, 0, 0, 0, 0, 1]), "Why is only the last number of x wrong?"),
        (lambda right, ends: np.add(right, [0, 0, 0, 0, 1, 1]), None),
    ],
)
def test_what_says_most_is_asked_first(got: Callable[..., np.ndarray], said: str | None) -> None:
    """Catches: "the wrong sign in some places" where these places are the ends of episodes."""
    right = REWARDS.astype(float)
    inputs = {"rewards": REWARDS, "ends": ENDS}
    assert ask_about(right, got(right, ENDS), inputs) == said


def test_a_form_that_is_accepted_too_is_compared() -> None:
    """Catches: -1.03 times said of the other standard deviation, where the sign is wrong; numbers that nobody was shown."""
    right = BROAD / BROAD.std(ddof=1)

    def convert(answer: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {"x": answer["x"] * np.sqrt(6 / 5)}

    other = convert({"x": right})["x"]
    said = "Why does x have the opposite sign?"
    assert ask_about(right, -right, {}, convert) == said
    assert ask_about(right, -other, {}, convert) == f"{said} (Compared with the other answer that this check accepts.)"
    assert ask_about(right, 1.3 * other, {}, convert) is None


def ask_about(right: object, got: object, inputs: dict[str, Any], also: Callable[[Any], Any] | None = None) -> str | None:
    """Return what is asked of an answer of which a check sees nothing but x."""
    evidence = WrongAnswerEvidence("case", {"x": right}, {"x": got}, also, HOW)
    failure = CheckFailed(Outcome.FAILED, "wrong", evidence=evidence)
    question = Question(id="q", title="t", function="q", task="t", points=QuestionPoints(visible=1, hidden=0))
    tried = LastCall("driver", inputs, 0, Case("case", "driver", "q", inputs, {"x": right}))
    found = find_pattern([("test_x", failure, tried)], cast(RunContext, SimpleNamespace()), None, question)
    return found[1] if found else None


WORK = '''
import torch

def get_returns(rollout_buffer, discount_factor=0.95):
    """Each return lacks what is more than two steps ahead."""
    rewards, ends = rollout_buffer.rewards.tolist(), rollout_buffer.terminateds.tolist()
    returns = []
    for row in range(len(rewards)):
        value, factor = 0.0, 1.0
        for later in range(row, min(row + 3, len(rewards))):
            value += factor * rewards[later]
            factor *= discount_factor
            if ends[later]:
                break
        returns.append(value)
    return torch.tensor(returns).unsqueeze(1)
'''


@pytest.fixture(scope="module")
def grader() -> Any:
    with Grader(AssignmentFiles(ROOT, "policy_gradient"), ("visible",)) as grader:
        yield grader


def asked(report: Report) -> list[str]:
    return [check.advice() for check in report.checks if check.measured]


def test_a_submission_is_asked_about_what_it_does(grader: Grader, tmp_path: Path) -> None:
    """A mistake that is in no catalogue has a hint all the same, and what it says is true of the code."""
    (tmp_path / "submitted.py").write_text(WORK)
    report = grader.grade(tmp_path, GradingOptions(["get_returns"]))
    question = "Why does returns[t] not depend on rewards[t + 3], although it should?"
    assert asked(report) == [f"No known mistake explains this, but the numbers raise a question. Ask yourself: {question}"]
    assert asked(report.for_student()) == asked(report)


def test_right_work_and_proofs_are_not_tried_again(grader: Grader, tmp_path: Path) -> None:
    """Nudging costs calls, which are only worth it for a failure that somebody reads about."""
    (tmp_path / "submitted.py").write_text(WORK)
    solution = AssignmentFiles(ROOT, "policy_gradient").solution

    def count_calls(path: Path, explains: bool) -> int:
        calls: list[object] = []
        grader.harness.sandbox.observer = lambda request, _seconds, _reply: calls.append(request)
        try:
            grader.grade(path, GradingOptions(["get_returns"], explains=explains))
        finally:
            grader.harness.sandbox.observer = None
        return len(calls)

    assert count_calls(solution, True) == count_calls(solution, False) >= count_calls(tmp_path, False)
    assert count_calls(tmp_path, True) > count_calls(solution, True)
