"""The diagnosis: a known mistake is named with its hint, and nothing else ever is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader import answers
from grader.answers import UNPREDICTABLE, Mistake, MistakePair
from grader.assignment import AssignmentFiles, HintVisibility
from grader.judge.compare import Tolerance
from grader.judge.diagnosis import choose_hints, diagnose, find_fitting_mistakes
from grader.judge.evidence import Evidence, WrongAnswerEvidence, settle, subsample_arrays
from grader.judge.failure import CheckFailed
from grader.judge.run import Grader
from grader.platforms.gradescope import report as gradescope
from grader.proof.catalogue import load_catalogue
from grader.proof.merging import merge_changes
from grader.report import terminal
from grader.report.model import CheckResult, Outcome, Report
from grader.sandbox.reply import CallExplanation, Isolation, Reply
from tests.kit.examples import examples

pytestmark = pytest.mark.recorded

INPUTS = {
    "test_the_classics_lose_points_and_are_named": ("solutions/policy_gradient/mistakes.py",),
    "test_two_faults_in_a_function_are_both_told": ("solutions/policy_gradient/mistakes.py",),
    "test_two_faults_in_one_number_are_both_told": ("solutions/policy_gradient/mistakes.py",),
    "test_stored_mistakes_hold_no_code_and_nothing_hidden": ("solutions/policy_gradient/mistakes.py",),
}

SUITES = ("visible", "hidden")
NO_RESET = """
returns, future = torch.zeros(rollout_buffer.final_size, 1), 0
for row in range(rollout_buffer.final_size - 1, -1, -1):
    future = rollout_buffer.rewards[row] * 1.0 + discount_factor * future
    returns[row, 0] = future
return returns
"""
NO_RESET_HINT = "Going backwards, what should the running sum be when you enter another episode?"


@pytest.fixture
def no_reset(replaced) -> Path:
    """A submission whose returns run from episode to episode, written otherwise than in the catalogue."""
    return replaced(get_returns=NO_RESET)


# What a student reads


def test_a_known_mistake_is_told_by_its_hint(no_reset: Path, graded) -> None:
    """The hint stands beside the difference; the mistake's id is for statistics, not for the student."""
    report = graded(no_reset, "get_returns", suites=SUITES)
    failed = [check for check in report.checks if check.outcome is Outcome.FAILED]
    assert {(check.hint, check.mistakes) for check in failed} == {(NO_RESET_HINT, ("returns_run_into_the_next_episode",))}
    assert f"Ask yourself: {NO_RESET_HINT}" in terminal.render_plain(report.for_student())
    assert "returns_run_into" not in report.for_student().model_dump_json()


def test_hidden_checks_keep_their_hints_to_themselves(no_reset: Path, graded, home: AssignmentFiles) -> None:
    """A hint on a hidden check tells what it looks for; by default only the instructor reads it."""
    report = graded(no_reset, "get_returns", suites=SUITES)
    hidden = [check for check in report.for_student().checks if check.suite == "hidden"]
    assert {check.hint for check in hidden} == {""}
    results = gradescope.build_results(report, home.assignment)
    assert results["extra_data"]["mistakes"]["hidden/test_unfinished_tail"] == ["returns_run_into_the_next_episode"]
    shown = [test["output"] for test in results["tests"] if "visible" in test["tags"] and test["status"] == "failed"]
    assert shown
    assert all(NO_RESET_HINT in output for output in shown)
    assert not any(NO_RESET_HINT in test["output"] for test in results["tests"] if "hidden" in test["tags"])
    report.hints = HintVisibility(hidden=True)
    assert {check.hint for check in report.for_student().checks if check.suite == "hidden"} == {NO_RESET_HINT}


def test_hints_can_be_switched_off(no_reset: Path, home: AssignmentFiles) -> None:
    """An instructor who wants no hints gets none; the statistics stay."""
    home = AssignmentFiles(home.root, "policy_gradient")
    home.assignment = home.assignment.model_copy(update={"hints": HintVisibility(visible=False)})
    with Grader(home) as grader:
        report = grader.grade(no_reset, {"get_returns"})
    assert NO_RESET_HINT not in terminal.render_plain(report.for_student())
    assert any(check.mistakes for check in report.checks)


def test_a_hint_on_visible_checks_tells_nothing_of_hidden_ones(replaced, graded) -> None:
    """Two mistakes, of which one is only seen by hidden checks: the visible one is told as if it were the only one."""
    both = NO_RESET.replace("return returns", "return returns if rollout_buffer.final_size != 7 else None")
    report = graded(replaced(get_returns=both), "get_returns", suites=SUITES)
    hints = {suite: {check.hint for check in report.checks if check.suite == suite and check.points == 0} for suite in SUITES}
    assert hints["visible"] == {NO_RESET_HINT}
    assert hints["hidden"] <= {"", NO_RESET_HINT}, "of the hidden ones it may explain a part"
    assert not any(check.partial for check in report.checks if check.suite == "visible")


def test_an_unknown_mistake_has_no_hint(replaced, graded) -> None:
    """A wrong hint costs a student an evening; what is measured on the work itself is true of it."""
    body = "return torch.full((rollout_buffer.final_size, 1), 0.123)"
    checks = graded(replaced(get_returns=body), "get_returns", suites=SUITES).checks
    assert {check.mistakes + check.suspects for check in checks} == {()}
    assert [check.hint for check in checks if check.hint] == [
        "Why does nothing change in returns after a small change of rewards?"
    ]


@pytest.mark.parametrize(
    "name",
    [
        "never_steps",
        "steps_uphill",
        "trains_on_a_detached_loss",
        "next_observation_stored",
        "whole_buffer_as_advantages",
        "first_rows_as_advantages",
    ],
)
def test_the_classics_lose_points_and_are_named(home: AssignmentFiles, graders, name: str, tmp_path: Path) -> None:
    """Training that does not train, and data that do not belong together: graders are known to let these pass."""
    (variant,) = [variant for variant in load_catalogue(home, "mistakes") if variant.id == name]
    path = tmp_path / "submitted.py"
    path.write_text(variant.submission, encoding="utf-8")
    report = graders(("visible",)).grade(path, {question.id for question in home.assignment.questions if not question.together})
    lost = [check for check in report.checks if check.question == variant.question and check.outcome is Outcome.FAILED]
    assert lost
    assert variant.hint in {hint for check in lost for hint in check.hint.splitlines()}
    assert {home.assignment.question(check.question).function for check in report.checks if not check.points} == {
        variant.function
    }


# What fits


def seen(**shown: Any) -> dict[str, CheckFailed | None]:
    """Return what was seen of a question: by check, what it showed, or None where it passed."""
    return {
        check: None if value is None else CheckFailed(Outcome.FAILED, "", evidence=Evidence({"got": value}))
        for check, value in shown.items()
    }


def mistake(name: str, **shows: Any) -> Mistake:
    stored = {check: value if value is UNPREDICTABLE else {"got": value} for check, value in shows.items()}
    return Mistake(name, "question", f"hint of {name}", stored)


ONE, OTHER = mistake("one", a=1, b=2), mistake("other", a=1, b=3)


def test_all_failed_checks_must_fit() -> None:
    """One check alone cannot tell two mistakes apart; together they do."""
    assert find_fitting_mistakes([ONE, OTHER], seen(a=1)) == [ONE, OTHER]
    assert find_fitting_mistakes([ONE, OTHER], seen(a=1, b=3)) == [OTHER]
    assert find_fitting_mistakes([ONE, OTHER], seen(a=1, b=4)) == []


def test_what_passes_speaks_against_a_mistake() -> None:
    """A mistake that fails a check cannot be the one of a student who passed it."""
    assert find_fitting_mistakes([ONE, OTHER], seen(a=1, b=None)) == []
    assert find_fitting_mistakes([mistake("only a", a=1)], seen(a=1, b=None)) != []
    assert find_fitting_mistakes([mistake("only a", a=1)], seen(a=1, c=5)) == []


def test_chance_is_no_evidence() -> None:
    """What differs from run to run fits any failure, but accuses nobody by itself."""
    by_chance = mistake("by chance", a=UNPREDICTABLE, b=2)
    assert find_fitting_mistakes([by_chance], seen(a=7)) == []
    assert find_fitting_mistakes([by_chance], seen(a=7, b=2)) == [by_chance]
    assert find_fitting_mistakes([by_chance], seen(a=7, b=3)) == []
    assert find_fitting_mistakes([by_chance, ONE], seen(a=1, b=2)) == [ONE]


def test_hints_of_what_cannot_be_told_apart() -> None:
    """Of two mistakes that fit equally well the wrong one would be a false accusation; of many, the general one comes first."""
    assert choose_hints([ONE]) == ("hint of one",)
    assert choose_hints([ONE, OTHER]) == ("hint of one", "hint of other")
    assert choose_hints([ONE, replace(OTHER, hint=ONE.hint)]) == ("hint of one",)
    assert choose_hints([ONE, OTHER, mistake("third", a=1)]) == ("hint of one",)
    assert find_fitting_mistakes([ONE], {}) == []


def test_two_that_fit_are_called_one_of_two() -> None:
    """Catches: a report that accuses of both."""
    check = CheckResult(id="visible/a", question="q", suite="visible", title="", max_points=1, hint="left?\nright?")
    assert check.advice() == "This looks like one of two known mistakes. Ask yourself:\n- left?\n- right?"
    assert check.model_copy(update={"partial": True}).advice().startswith("This looks like two known mistakes.")


# What explains a part


def named(mistakes: list[Mistake], **shown: Any) -> dict[str, tuple[list[str], bool]]:
    """Return, for each check that looks like something, the names of what it looks like, and whether that is certain."""
    found = diagnose(mistakes, seen(**shown))
    return {check: ([one.id for one in found[check].mistakes], found[check].certain) for check in sorted(found)}


LEFT, RIGHT = mistake("left", a=1, b=2), mistake("right", b=3, c=4)


def test_one_mistake_that_explains_all_is_certain() -> None:
    """Catches: two suspects where one is enough."""
    assert named([LEFT, RIGHT], a=1, b=2, c=None) == {"a": (["left"], True), "b": (["left"], True)}


def test_two_mistakes_explain_what_neither_does_alone() -> None:
    """What both change is a mixture, and looks like both; the hints of both are given in each check."""
    assert named([LEFT, RIGHT], a=1, b=9, c=4) == {
        "a": (["left"], False),
        "b": (["left", "right"], False),
        "c": (["right"], False),
    }
    found = diagnose([LEFT, RIGHT], seen(a=1, b=9, c=4))
    assert found["a"].hints == ("hint of left", "hint of right")
    assert found["c"].hints == ("hint of right", "hint of left")


def test_a_pair_must_account_for_everything() -> None:
    """Catches: an accusation of two where a third check fails that neither touches, or one passes that one of them fails."""
    assert named([LEFT, RIGHT], a=1, b=9, c=4, d=5) == {}
    assert named([LEFT, RIGHT], a=1, b=9, c=None) == {}
    assert named([LEFT, RIGHT], a=7, b=9, c=4) == {}
    assert named([LEFT, RIGHT], a=1, b=2, c=8) == {"a": (["left"], False), "b": (["left"], False)}


def test_a_part_is_named_only_where_nothing_contradicts_it() -> None:
    """Catches: a mistake that is named for one check, and shows something else in another that it alone could have failed."""
    only = mistake("only a", a=1)
    assert named([only], a=1, d=5) == {"a": (["only a"], False)}
    assert named([LEFT], a=1, b=9, d=5) == {}
    assert named([only, LEFT], a=1, b=2, d=5) == {"a": (["left"], False), "b": (["left"], False)}
    assert named([mistake("by chance", a=UNPREDICTABLE)], a=1, d=5) == {}


class NumberEvidence(Evidence):
    """A number that is stored as those of answers are: a hash, and a sum."""

    def record(self) -> Any:
        return [["same", float(self.shown), float(self.shown)]]

    def fits(self, recorded: Any) -> bool:
        return bool(recorded == self.record())


def test_numbers_tell_a_part_even_where_another_fault_comes_in_between() -> None:
    """Catches: no hint for two faults that meet in one check, though another check shows exactly the numbers of one of them."""
    left = Mistake("left", "question", "hint of left", {"a": [["same", 1.0, 1.0]], "b": [["same", 2.0, 2.0]]})
    shown: dict[str, CheckFailed | None] = {
        check: CheckFailed(Outcome.FAILED, "", evidence=NumberEvidence(number)) for check, number in (("a", 1), ("b", 9))
    }
    found = diagnose([left], shown)
    assert {check: [one.id for one in suspicion.mistakes] for check, suspicion in found.items()} == {"a": ["left"]}
    assert not found["a"].certain
    elsewhere = replace(left, shows=left.shows | {"c": [["same", 3.0, 3.0]]})
    third = CheckFailed(Outcome.FAILED, "", evidence=NumberEvidence(8))
    assert diagnose([elsewhere], shown | {"c": third}) == {}  # which shows other numbers more often
    assert diagnose([left], shown | {"b": None}) == {}
    assert diagnose([replace(left, shows=left.shows | {"a": [["same", 1.0]]})], shown) == {}


def test_a_recorded_pair_is_told() -> None:
    """Catches: two mistakes of which neither shows its own number anywhere, because both change it."""
    pair = MistakePair.of(LEFT, RIGHT, {"b": {"got": 7}, "c": None})
    assert pair.shows == {"a": {"got": 1}, "b": {"got": 7}}
    found = diagnose([LEFT, RIGHT], seen(a=1, b=7, c=None), [pair])
    assert {check: suspicion.hints for check, suspicion in found.items()} == dict.fromkeys(
        "ab", ("hint of left", "hint of right")
    )
    assert not found["a"].certain
    assert diagnose([LEFT, RIGHT], seen(a=1, b=9, c=None), [pair]) == {}
    assert diagnose([LEFT, RIGHT], seen(a=3, b=7, c=None), [pair]) == {}


def test_what_both_change_and_nothing_records_may_be_anything() -> None:
    """Catches: a pair that is not recognized, because only its most telling check is stored."""
    left, right = mistake("left", a=1, b=2, c=3), mistake("right", b=3, c=4)
    pair = MistakePair.of(left, right, {"b": {"got": 7}})
    assert pair.shows == {"a": {"got": 1}, "b": {"got": 7}, "c": UNPREDICTABLE}
    assert "c" in diagnose([], seen(a=1, b=7, c=8), [pair])
    assert diagnose([], seen(a=1, b=7, c=None), [pair]) == {}
    assert diagnose([], seen(a=1, b=7), [MistakePair.of(left, right, {})])["a"].hints == ("hint of left", "hint of right")


# Answers that are compared part by part


FACTS: dict[str, Any] = {"loss": np.array([0.5, 1.5]), "seeds": [1, 2], "steps": 3}
FACTS["form"] = {"dtype": "float32", "shape": "[2]"}
SEEDS: dict[str, Any] = {"seeds": [7, 7]}
STEPS: dict[str, Any] = {"steps": 4}
LOSS: dict[str, Any] = {"loss": np.array([2.5, 3.25])}


def saw(case: str = "case", **wrong: Any) -> CheckFailed:
    """Return the failure of a check that saw these wrong facts."""
    evidence = WrongAnswerEvidence(case, FACTS, FACTS | wrong, None, Tolerance(1e-4, 1e-5))
    return CheckFailed(Outcome.FAILED, "", evidence=evidence)


def changes(name: str, case: str = "case", **wrong: Any) -> Mistake:
    return Mistake(name, "question", f"hint of {name}", {"check": saw(case, **wrong).evidence.record()})


def hints_of(mistakes: list[Mistake], **checks: CheckFailed | None) -> dict[str, tuple[str, ...]]:
    return {check: suspicion.hints for check, suspicion in diagnose(mistakes, checks).items()}


def test_two_mistakes_in_one_check() -> None:
    """Catches: silence where one check sees two mistakes, each in facts that the other leaves right."""
    known = [changes("seed", **SEEDS), changes("step", **STEPS), changes("loss", **LOSS)]
    assert hints_of(known, check=saw(**SEEDS, **STEPS)) == {"check": ("hint of seed", "hint of step")}
    assert hints_of(known, check=saw(**LOSS, **STEPS)) == {"check": ("hint of step", "hint of loss")}
    assert hints_of(known, check=saw(**STEPS)) == {"check": ("hint of step",)}


def test_facts_within_facts() -> None:
    """A wrong shape and a wrong dtype are two parts of a form."""
    known = [changes("dtype", form=FACTS["form"] | {"dtype": "int64"}), changes("shape", form=FACTS["form"] | {"shape": "[3]"})]
    assert hints_of(known, check=saw(form={"dtype": "int64", "shape": "[3]"}))["check"] == ("hint of dtype", "hint of shape")


@pytest.mark.parametrize(
    "wrong",
    [
        SEEDS | {"steps": 5},  # one of the two in another way
        SEEDS | STEPS | {"loss": np.array([9.0, 9.0])},  # more is wrong than both explain
        {"seeds": [8, 8]},
        {"loss": np.array([2.5, 3.25]), "steps": 5},
    ],
)
def test_facts_that_no_mistake_explains(wrong: dict[str, Any]) -> None:
    """Catches: an accusation by some facts of an answer, of which True, False and small integers say little."""
    assert hints_of([changes("seed", **SEEDS), changes("step", **STEPS)], check=saw(**wrong)) == {}


def test_a_right_fact_speaks_against_a_mistake() -> None:
    """Catches: a mistake that is named although a fact is right which it makes wrong."""
    both = changes("both", **SEEDS, **STEPS)
    assert hints_of([both], check=saw(**SEEDS, **STEPS)) == {"check": ("hint of both",)}
    assert hints_of([both, changes("loss", **LOSS)], check=saw(**SEEDS, **LOSS)) == {}


def test_facts_of_another_case() -> None:
    """Catches: facts of two cases taken for parts of one answer; a check stops at the first case that is wrong."""
    known = [changes("seed", **SEEDS), changes("step", case="other", **STEPS)]
    assert hints_of(known, check=saw(**SEEDS, **STEPS)) == {}
    assert hints_of(known, check=saw("other", **STEPS)) == {"check": ("hint of step",)}


def test_a_fact_that_chance_decides() -> None:
    """A fact that differs between two runs is left out; the other facts of the same answer are evidence."""
    first, second = saw(**STEPS, loss=np.array([1.0, 7.0])), saw(**STEPS, loss=np.array([7.0, 1.0]))
    by_chance = Mistake("chance", "question", "hint", {"check": settle(first.evidence, second.evidence.record())})
    assert hints_of([by_chance], check=saw(**STEPS, loss=np.array([3.0, 4.0]))) == {"check": ("hint",)}
    assert hints_of([by_chance], check=saw(steps=5, loss=np.array([3.0, 4.0]))) == {}
    assert settle(saw(**LOSS).evidence, saw(loss=np.array([7.0, 1.0])).evidence.record()) == UNPREDICTABLE


def test_a_pair_is_recorded_by_the_fact_that_both_change() -> None:
    """Catches: a record that repeats what its mistakes show alone."""
    one, other = changes("one", **SEEDS, **LOSS), changes("other", **STEPS, loss=np.array([4.0, 8.0]))
    (hashed, *sums) = saw(loss=np.array([5.0, 9.0])).evidence.record()[0]["case"]["loss"]
    pair = MistakePair.of(one, other, {"check": ["loss", hashed, *sums]})
    wrong = {**SEEDS, **STEPS}
    assert "check" in diagnose([one, other], {"check": saw(**wrong, loss=np.array([5.0, 9.0]))}, [pair])
    assert not diagnose([], {"check": saw(**wrong, loss=np.array([5.0, 8.0]))}, [pair])
    assert not diagnose([], {"check": saw(**STEPS, loss=np.array([5.0, 9.0]))}, [pair])


def test_pairs_that_show_the_same_tell_what_they_have_in_common() -> None:
    """Catches: an accusation of a second mistake of which nothing is known but that there is one."""
    third = mistake("third", c=4)
    pairs = [MistakePair((LEFT, other), {"a": {"got": 7}}) for other in (RIGHT, third)]
    assert diagnose([LEFT, RIGHT, third], seen(a=7), pairs)["a"].hints == ("hint of left",)


def test_one_mistake_comes_before_a_pair() -> None:
    """Catches: two accusations where one explains everything."""
    assert diagnose([LEFT], seen(a=1, b=2), [MistakePair((LEFT, RIGHT), LEFT.shows)])["a"].certain


def test_twins_of_a_pair_are_named_together() -> None:
    """Nothing that was seen tells them apart, and they have one hint."""
    twin = replace(mistake("twin", c=4), hint="hint of right")
    found = diagnose([LEFT, mistake("right", c=4), twin], seen(a=1, b=2, c=4))
    assert [one.id for one in found["c"].mistakes] == ["right", "twin"]
    assert found["c"].hints == ("hint of right", "hint of left")


def test_nothing_is_said_of_a_side_with_two_hints() -> None:
    """Catches: the wrong one of two mistakes that show the same, beside the hint of another mistake."""
    found = diagnose([LEFT, mistake("right", c=4), mistake("twin", c=4)], seen(a=1, b=2, c=4))
    assert {check: suspicion.hints for check, suspicion in found.items()} == dict.fromkeys("ab", ("hint of left",))
    check = CheckResult(id="visible/a", question="q", suite="visible", title="", max_points=1, hint="a?\nb?", partial=True)
    assert check.advice() == "This looks like two known mistakes. Ask yourself:\n- a?\n- b?"


def test_a_part_that_two_hints_explain_is_left_alone() -> None:
    """Catches: the more general one of two mistakes, of which the student made neither."""
    assert named([mistake("one", a=1), mistake("other", a=1)], a=1, d=5) == {}


def test_most_of_what_is_wrong_must_be_explained() -> None:
    """Catches: two mistakes that are each recognized by a case without much in it, and show other numbers everywhere else."""
    one, other = mistake("one", a=1, c=2, d=3), mistake("other", b=1, c=4, d=5)
    assert named([one, other], a=1, b=1, c=2, d=9) == {"a": (["one"], False), "b": (["other"], False)} | {
        "c": (["one"], False),
        "d": (["one", "other"], False),
    }
    assert named([one, other], a=1, b=1, c=8, d=9) == {}


def test_two_faults_in_a_function_are_both_told(home: AssignmentFiles, graded, tmp_path: Path) -> None:
    """Catches: two known mistakes made together, of which the student hears nothing; names that a student sees."""
    known = {variant.id: variant for variant in load_catalogue(home, "mistakes")}
    one, other = known["takes_the_likeliest_action"], known["ends_not_stored"]
    path = tmp_path / "submitted.py"
    path.write_text(
        merge_changes((home.solution / "submitted.py").read_text(encoding="utf-8"), one.submission, other.submission)
    )
    report = graded(path, one.question, suites=SUITES)
    failed = [check for check in report.checks if check.outcome is Outcome.FAILED and check.question == one.question]
    told = terminal.render_plain(report.for_student())
    assert {one.id, other.id} <= {name for check in failed for name in check.suspects}
    assert "This looks like two known mistakes. Ask yourself:" in told
    assert f"- {one.hint}" in told
    assert f"- {other.hint}" in told
    assert one.id not in told


@pytest.mark.parametrize(
    "names", [("vanilla_uphill", "vanilla_sum"), ("ppo_own_clip_range", "ppo_sum"), ("ppo_ratio_upside_down", "ppo_sum")]
)
def test_two_faults_in_one_number_are_both_told(home: AssignmentFiles, graded, tmp_path: Path, names: tuple[str, str]) -> None:
    """Catches: a loss with the wrong sign that is a sum as well, of which no check sees one of the two alone."""
    known = {variant.id: variant for variant in load_catalogue(home, "mistakes")}
    one, other = (known[name] for name in names)
    path = tmp_path / "submitted.py"
    path.write_text(
        merge_changes((home.solution / "submitted.py").read_text(encoding="utf-8"), one.submission, other.submission)
    )
    told = terminal.render_plain(graded(path, one.question).for_student())
    assert f"- {one.hint}" in told
    assert f"- {other.hint}" in told


def test_large_arrays_are_thinned_alike() -> None:
    """What is stored of a large array is enough to tell it from another, and from another shape."""
    array = np.arange(1000.0).reshape(10, 100)
    facts = subsample_arrays({"values": array, "few": [np.arange(3)]})
    assert facts["values"]["shape"] == [10, 100]
    assert len(facts["values"]["some"]) == 64
    assert (facts["few"][0] == np.arange(3)).all()
    assert not (subsample_arrays(array + 1)["some"] == subsample_arrays(array)["some"]).any()


# Nobody is accused falsely


class Recorded:
    """A sandbox without any process: answers every call with the solution's answer, changed by `change`."""

    isolation = Isolation("process", ())
    warm = False
    interrupted = threading.Event()

    def __init__(self, home: AssignmentFiles) -> None:
        self.change: Callable[[Any], Any] = lambda facts: facts
        self.cases = [
            case for suite in SUITES for case in answers.read_answers(home.answers[suite], home.assignment.name).cases.values()
        ]

    def start(self) -> None: ...

    def close(self) -> None: ...

    def warm_up(self, wait: bool = True) -> None: ...

    def inspect(self, path: Path, names: Sequence[str] = ()) -> Reply:
        return Reply("ok", details={"fingerprints": {}})

    def load(self, path: Path, seconds: float) -> Reply:
        return Reply("ok")

    def explain(self, *_: Any) -> CallExplanation:
        return CallExplanation([], [])

    def call(self, driver: str, inputs: dict, submission: Path, seconds: float, seed: int) -> Reply:
        (case,) = [
            case for case in self.cases if case.inputs is inputs or (case.driver == driver and same(case.inputs, inputs))
        ]
        return Reply("ok", self.change(case.answer))


def same(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(np.array_equal(one, other))


@pytest.fixture(scope="module")
def recorded(home: AssignmentFiles) -> Iterator[Callable[[Callable[[Any], Any]], Report]]:
    """Grade what a submission would get whose every reply is the solution's, changed by a function."""
    with Grader(home, SUITES) as grader:
        box = Recorded(home)
        grader._sandbox = box  # type: ignore[assignment]
        select = {question.id for question in home.assignment.questions if not question.together}

        def run(change: Callable[[Any], Any]) -> Report:
            box.change = change
            return grader.grade(home.solution, select)

        yield run


def perturbed(facts: Any, rng: np.random.Generator, size: float, share: float) -> Any:
    """Return facts in which a share of all floating-point numbers is changed at random, by about `size` of their scale."""
    if isinstance(facts, np.ndarray) and facts.dtype.kind == "f":
        noise = size * (np.abs(np.asarray(facts)).mean() + 1e-3) * rng.standard_normal(facts.shape)
        return (facts + noise * (rng.random(facts.shape) < share)).astype(facts.dtype)
    if isinstance(facts, float):
        return facts + (size * (abs(facts) + 1e-3) * rng.standard_normal() if rng.random() < share else 0.0)
    if isinstance(facts, dict):
        return {key: perturbed(value, rng, size, share) for key, value in facts.items()}
    if isinstance(facts, (list, tuple)):
        return type(facts)(perturbed(value, rng, size, share) for value in facts)
    return facts


def test_right_answers_are_never_accused(recorded) -> None:
    """The solution's own answers pass everything."""
    report = recorded(lambda facts: facts)
    assert {check.outcome for check in report.checks} == {Outcome.PASSED}
    assert not any(check.hint or check.mistakes for check in report.checks)


@settings(max_examples=examples(30), deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32), size=st.floats(-5, 1), share=st.sampled_from([0.05, 0.3, 1.0]))
def test_random_perturbations_are_never_accused(recorded, seed: int, size: float, share: float) -> None:
    """Answers that are wrong at random, by much or by little, look like no mistake of the catalogue."""
    rng = np.random.default_rng(seed)
    report = recorded(lambda facts: perturbed(facts, rng, 10.0**size, share))
    assert [(check.id, check.mistakes) for check in report.checks if check.mistakes] == []


def test_perturbations_fail_checks_when_they_are_large(recorded) -> None:
    """The property above would be empty if perturbed answers passed."""
    rng = np.random.default_rng(0)
    report = recorded(lambda facts: perturbed(facts, rng, 1.0, 1.0))
    failed = sum(check.outcome is not Outcome.PASSED for check in report.checks)
    assert failed > len(report.checks) / 2


# What is stored


def test_stored_mistakes_hold_no_code_and_nothing_hidden(home: AssignmentFiles) -> None:
    """Students get the visible file: it may hold numbers and hints, not how the mistakes are written."""
    source = (home.solution / "mistakes.py").read_text(encoding="utf-8")
    visible, hidden = (home.mistakes[suite].read_text(encoding="utf-8") for suite in SUITES)
    for line in source.splitlines():
        text = line.strip()
        if len(text) > 25 and "hint=" not in text and "question" not in text and not text.startswith(("@", '"""', '"')):
            assert text not in visible, text
            assert text not in hidden, text
    for case in answers.read_answers(home.answers["hidden"], "policy_gradient").cases:
        assert case not in visible


def test_numbers_that_are_not_finite_are_kept(tmp_path: Path) -> None:
    """A mistake may well show NaN, in arrays and in plain numbers."""
    shows: dict[str, Any] = {
        "a": {"got": {"x": np.array([np.nan, 1.0, -np.inf], np.float32), "y": float("nan"), "z": (1.5, "text")}}
    }
    path = tmp_path / "mistakes.json"
    path.write_text(answers.render_mistakes("toy", {"m": Mistake("m", "q", "h", shows)}))
    (found,) = answers.read_mistakes(path, "toy").values()
    got = found.shows["a"]["got"]
    assert np.array_equal(got["x"], shows["a"]["got"]["x"], equal_nan=True)
    assert np.isnan(got["y"])
    assert got["z"] == (1.5, "text")
    assert answers.read_mistakes(tmp_path / "none.json", "toy") == {}
