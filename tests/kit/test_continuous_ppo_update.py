"""One update of a student's own pieces of `continuous_ppo`: whichever breaks is named. Docstrings name the mistakes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.assignment import AssignmentFiles
from grader.judge.run import Grader
from grader.proof.catalogue import load_catalogue
from grader.proof.trials import try_variant

pytestmark = pytest.mark.recorded

INPUTS = ("grading:continuous_ppo", "solutions/continuous_ppo/mistakes.py")

ROOT = Path(__file__).resolve().parents[2]
HOME = AssignmentFiles(ROOT, "continuous_ppo")
SOLUTION = (HOME.solution / "submitted.py").read_text(encoding="utf-8")
MISTAKES = {variant.id: variant.submission for variant in load_catalogue(HOME, "mistakes")}


@pytest.fixture(scope="module")
def grader() -> Iterator[Grader]:
    with Grader(HOME, ("visible",)) as grader:
        yield grader


def lost(grader: Grader, submission: str) -> dict[str, str]:
    """Return the messages of the checks of one update that a submission does not pass, by their names."""
    checks = try_variant(grader, submission, {"one_update"}).report.checks
    assert len(checks) == 4
    return {check.id.rpartition("/")[2]: check.message for check in checks if check.outcome.value != "passed"}


@pytest.mark.parametrize(
    ("mistake", "says"),
    [
        ("one_observation_becomes_a_batch", "in your Model.forward: mean: expected shape [2], got shape [1, 2]"),
        ("variance_of_the_state", "in your Model.forward: variance: expected shape [2], got shape [24, 2]"),
        ("sampling_takes_any_precision", "in your Policy.act(..., training=False): "),
        ("training_needs_a_tensor", "in your Policy.act(..., training=True): "),
        ("training_forgotten", "in your Policy.act(..., training=True): it has no 'distribution'"),
        ("gae_in_lists", "in your GAE: advantages: expected an array of shape [72], got list of 72: float, float"),
        ("gae_without_targets", "in your GAE: it has no 'value_targets'"),
        ("state_shuffled_too", "in your TrajectorySampler.shuffle_trajectory: "),
        ("count_taken_for_size", "in your TrajectorySampler.get_next: its numbers of rows: {'observations': 3"),
        ("policy_needs_tensors", "in your PPO.policy_loss: 'numpy.ndarray' object has no attribute 'detach'"),
    ],
)
def test_piece_is_named(grader: Grader, mistake: str, says: str) -> None:
    """Catches: an exception of the pipeline that leaves a student to guess which of ten pieces it is about."""
    messages = lost(grader, MISTAKES[mistake])
    assert len(messages) == 4
    assert all(says in message for message in messages.values()), messages


@pytest.mark.parametrize(
    ("mistake", "fails"),
    [
        ("step_of_the_policy_loss", {"test_every_parameter_moves", "test_value_loss_falls"}),
        ("training_values_detached", {"test_every_parameter_moves", "test_value_loss_falls"}),
        ("policy_loss_detached", {"test_every_parameter_moves", "test_policy_loss_falls"}),
        ("never_updates", {"test_every_parameter_moves", "test_policy_loss_falls", "test_value_loss_falls"}),
        ("policy_uphill", {"test_policy_loss_falls"}),
        ("gae_negated", {"test_policy_loss_falls", "test_value_loss_falls"}),
        ("log_prob_averaged", {"test_policy_loss_falls"}),
    ],
)
def test_loses_what_it_is_about(grader: Grader, mistake: str, fails: set[str]) -> None:
    """Catches: losses measured by the student's own functions, which fall when these are upside down."""
    assert set(lost(grader, MISTAKES[mistake])) == fails


@pytest.mark.parametrize("seed", range(4))
def test_no_matter_what_chance_decides(grader: Grader, seed: int) -> None:
    """Catches: losses that fall for some weights and some actions only. The solution draws both from other streams here."""
    weights, noise = "layers = [nn.Linear(inputs, 64)", "noise = torch.randn_like(mean)"
    assert SOLUTION.count(weights) == SOLUTION.count(noise) == 1
    other = SOLUTION.replace(weights, f"torch.manual_seed({seed} + 10 * outputs)\n        {weights}")
    drawn = f"torch.from_numpy(np.random.default_rng([{seed}, np.random.randint(2**31)]).normal(size=mean.shape)).float()"
    assert lost(grader, other.replace(noise, f"noise = {drawn}")) == {}
