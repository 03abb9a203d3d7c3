"""The draft of `ppo_agent` that a student repairs, and the test that a student writes. Docstrings name the mistakes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.assignment import SUITES, AssignmentFiles
from grader.authoring.stub import make_stub
from grader.judge.run import Grader
from grader.proof.catalogue import Variant, load_catalogue
from grader.proof.trials import try_variant

pytestmark = pytest.mark.recorded

INPUTS = ("grading:ppo_agent", "solutions/ppo_agent/mistakes.py", "solutions/ppo_agent/alternatives.py")

ROOT = Path(__file__).resolve().parents[2]
HOME = AssignmentFiles(ROOT, "ppo_agent")
SOLUTION = (HOME.solution / "submitted.py").read_text(encoding="utf-8")
STUB = make_stub(SOLUTION, HOME.assignment)
REPAIRS = [f"GeneralizedAdvantageEstimator.{name}" for name in ("length", "bootstrap", "ends")]
FULL = {question.id: question.points.visible + question.points.hidden for question in HOME.assignment.questions}

LOOP = """    backwards = [0.0]
    for step in range(1, len(reward)):
        backwards.append(delta[len(reward) - 1 - step] + gamma * lamb * backwards[-1])
    return np.array(backwards[:0:-1])
"""
WHOLE_LOOP = """    backwards = [0.0]
    for step in range(len(reward)):
        backwards.append(delta[len(reward) - 1 - step] + gamma * lamb * backwards[-1])
    return np.array(backwards[:0:-1])
"""
ROLL = "    following_value = np.roll(value, -1)\n"
BOOTSTRAP = """    following_value = np.append(value[1:], 0.0)
    if next_state is not None:
        following_value = critic(next_state).detach().flatten().numpy()
"""
DELTA = "    delta = reward + gamma * following_value - value\n"
ENDS = """    no = np.zeros(len(reward), bool)
    terminated, truncated = (no if flags is None else np.array(flags) for flags in (terminated, truncated))
    if next_state is not None:
        following_value = critic(next_state).detach().flatten().numpy()
    delta = reward + gamma * following_value * ~terminated - value
"""


@pytest.fixture(scope="module")
def grader() -> Iterator[Grader]:
    with Grader(HOME, SUITES) as grader:
        yield grader


def points(grader: Grader, submission: str, *questions: str) -> dict[str, float]:
    """Return what a submission gets for some questions."""
    report = try_variant(grader, submission, set(questions)).report
    return {question.id: question.points for question in report.questions if question.id in questions}


def repaired(*edits: tuple[str, str]) -> str:
    """Return the stub with some lines of the draft exchanged; it is not the file that was handed out, even without any."""
    text = STUB + "\n"
    for old, new in edits:
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text


def test_the_draft_is_in_the_stub_and_the_solution_is_not() -> None:
    """A stub that does not parse, that keeps the marks, or that gives the repair away."""
    ast.parse(STUB)
    assert "DRAFT" not in STUB
    assert "SOLUTION" not in STUB
    assert LOOP in STUB
    assert ROLL in STUB
    solution = SOLUTION.partition("# BEGIN SOLUTION")[2].partition("# DRAFT")[0].splitlines()[1:]
    for line in filter(None, map(str.strip, solution)):
        assert line not in STUB


def test_the_draft_earns_nothing(grader: Grader) -> None:
    """Points for the file as it was handed out, once something else in it was changed."""
    assert points(grader, repaired(), *REPAIRS) == dict.fromkeys(REPAIRS, 0.0)


def test_each_repair_earns_its_own_points(grader: Grader) -> None:
    """A repair that counts only together with another one; a wrong bootstrap that the dropped error hides."""
    length, bootstrap, ends = REPAIRS
    only_length = points(grader, repaired((LOOP, WHOLE_LOOP)), *REPAIRS)
    assert only_length[length] == FULL[length]
    assert only_length[bootstrap] == only_length[ends] == 0
    only_bootstrap = points(grader, repaired((ROLL, BOOTSTRAP)), *REPAIRS)
    assert only_bootstrap == dict.fromkeys(REPAIRS, 0.0), "hidden by the dropped error, and so worth nothing yet"
    both = points(grader, repaired((LOOP, WHOLE_LOOP), (ROLL, BOOTSTRAP)), *REPAIRS)
    assert (both[length], both[bootstrap]) == (FULL[length], FULL[bootstrap])
    assert both[ends] == 0
    cuts = WHOLE_LOOP.replace("gamma * lamb *", "gamma * lamb * ~(terminated | truncated)[len(reward) - 1 - step] *")
    everything = points(grader, repaired((LOOP, cuts), (ROLL, BOOTSTRAP), (DELTA, ENDS)), *REPAIRS)
    assert everything == {question: FULL[question] for question in REPAIRS}
    dropped = cuts.replace("range(len(reward))", "range(1, len(reward))")
    only_ends = points(grader, repaired((LOOP, dropped), (DELTA, ENDS)), *REPAIRS)
    assert only_ends[length] == only_ends[bootstrap] == 0
    assert only_ends[ends] == FULL[ends] - 1, "all but the end in the last row, whose error is lost"


def students_tests(kind: str) -> list[Variant]:
    return [variant for variant in load_catalogue(HOME, kind) if variant.question == "test_advantages"]


@pytest.mark.parametrize("variant", students_tests("alternatives"), ids=lambda variant: variant.id)
def test_strong_tests_get_everything(grader: Grader, variant: Variant) -> None:
    """A right test that loses points for its form."""
    assert points(grader, variant.submission, "test_advantages")["test_advantages"] == FULL["test_advantages"]


# What finds nothing, or finds fault with what is right, on any of the right estimators or with the student's own one.
NOTHING = {
    "looks_at_nothing",
    "close_or_not",
    "tuple_is_true",
    "returns_what_it_found",
    "swallows_its_own_errors",
    "expects_what_its_own_returns",
    "looks_at_types_only",
    "equal_to_the_last_digit",
    "expects_no_value_when_time_is_up",
}


@pytest.mark.parametrize("variant", students_tests("mistakes"), ids=lambda variant: variant.id)
def test_weak_tests_get_little(grader: Grader, variant: Variant) -> None:
    """A test that would not have found the draft's faults, and gets points all the same."""
    found = points(grader, variant.submission, "test_advantages")["test_advantages"]
    assert found < FULL["test_advantages"]
    if variant.id in NOTHING:
        assert found == 0


def test_every_kind_of_weak_test_is_there() -> None:
    """A name in this file that no longer stands for anything."""
    assert {variant.id for variant in students_tests("mistakes")} >= NOTHING


def test_networks_may_have_any_methods_and_properties(grader: Grader) -> None:
    """Catches: a fake network, mixed with the submission's, whose layers the submission's properties hide."""
    named = "class Named:\n    hidden = out = sizes = asked = property(lambda self: iter(()))\n"
    classes = "".join(f"\n\nclass {name}(Named, {name}):\n    pass\n" for name in ("Actor", "Critic"))
    questions = ("PPOAgent.forward", "PPOAgent.backward", "PPOAgent.update")
    assert points(grader, f"{SOLUTION}\n\n{named}{classes}", *questions) == {name: FULL[name] for name in questions}
