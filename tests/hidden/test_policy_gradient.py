"""Hidden checks of `policy_gradient`: properties, edge cases and gradients. Only a grader has them."""

import numpy as np

from grader.judge import points
from grader.judge.views import aligned, only, row_gradients, rows_once, shuffled
from views import counts, gradient, loss, population_std, recorded_losses

both = only("loss", "gradient of the network")


# get_returns


@points(2, question="get_returns")
def test_unfinished_tail(student):
    """The last episode may be unfinished: its returns end with the last row."""
    student.expect("returns_unfinished_tail", only("returns"))


@points(1, question="get_returns")
def test_one_step(student):
    """A buffer of a single step has one return, its reward."""
    student.expect("returns_one_step", only("returns"))


@points(1, question="get_returns")
def test_integer_rewards(student):
    """Integer rewards have float32 returns, not truncated."""
    student.expect("returns_integer_rewards", only("returns"), exact_dtype=True)


@points(1, question="get_returns")
def test_extreme_discounts(student):
    """Discount 1 sums plainly; discount 0 leaves the rewards."""
    student.expect("returns_undiscounted", only("returns"))
    student.expect("returns_no_future", only("returns"))


@points(1, question="get_returns")
def test_many_episodes(student):
    """Three hundred rows with random ends; the buffer stays as it was, and a second call returns the same."""
    student.expect("returns_long")


# get_vanilla_policy_gradient_loss


@points(1, question="get_vanilla_policy_gradient_loss")
def test_vanilla_one_row(student):
    """A batch of a single row works."""
    student.expect("vanilla_one_row", both)


@points(1, question="get_vanilla_policy_gradient_loss")
def test_vanilla_square(student):
    """As many rows as actions: axes must not be mixed up."""
    student.expect("vanilla_square", both)


@points(2, question="get_vanilla_policy_gradient_loss")
def test_vanilla_large_value(student):
    """The value on 64 rows of both signs of return."""
    student.expect("vanilla_large_batch", loss)


@points(2, question="get_vanilla_policy_gradient_loss")
def test_vanilla_large_gradient(student):
    """The gradient on 64 rows of both signs of return."""
    student.expect("vanilla_large_batch", gradient)


# collect_rollouts


@points(2, question="collect_rollouts")
def test_later_collection(student):
    """Progress arguments do not change what is collected."""
    student.expect("rollouts_later", only("observations", "old_logits", "rewards", "terminateds", "mean final reward"))


@points(1, question="collect_rollouts")
def test_no_step_too_many(student):
    """As many episodes are begun, and as many steps made, as are stored; the policy stays as it was."""
    student.expect("rollouts_later", only("episodes begun", "actions that were played", "actions", "changed by the call"))


@points(1, question="collect_rollouts")
def test_seed_is_for_sampling_only(student):
    """The seed's ring goes on from step to step and rollout to rollout, and is not used to reset the environment."""
    student.expect("rollouts_later", only("seed array afterwards", "reset was called with a seed"))


@points(1, question="collect_rollouts")
def test_without_a_seed(student):
    """Without a seed actions are drawn at random, differently in every rollout."""
    student.expect("rollouts_unseeded")


@points(1, question="collect_rollouts")
def test_collects_in_the_plane(student):
    """Rollouts of the two-dimensional grid."""
    student.expect("rollouts_in_the_plane")


@points(1, question="collect_rollouts")
def test_collects_cartpole(student):
    """Rollouts of CartPole, whose episodes differ in length."""
    # Twenty steps of float32 physics: rounding may differ in the last digits between platforms.
    student.expect("rollouts_of_cartpole", rtol=1e-3, atol=1e-4)


# get_value_net_loss


@points(1, question="get_value_net_loss")
def test_value_loss_one_row(student):
    """A batch of a single row works."""
    student.expect("value_loss_one_row", both)


@points(2, question="get_value_net_loss")
def test_value_loss_large_value(student):
    """The value on 64 rows."""
    student.expect("value_loss_large_batch", loss)


@points(2, question="get_value_net_loss")
def test_value_loss_large_gradient(student):
    """The gradient on 64 rows."""
    student.expect("value_loss_large_batch", gradient)


# get_advantages


@points(1, question="get_advantages")
def test_constant_advantages(student):
    """Where nothing is better than average, all advantages are 0."""
    student.expect("advantages_constant", only("advantages"))


@points(1, question="get_advantages")
def test_advantages_small_spread(student):
    """Advantages of a thousandth are brought to scale as well."""
    # float32 numbers near 1 that differ by a thousandth are known to a ten-thousandth of their difference.
    student.expect("advantages_small_spread", only("advantages"), also=population_std, rtol=1e-3)


@points(2, question="get_advantages")
def test_advantages_large(student):
    """The values on 200 rows."""
    student.expect("advantages_large", only("advantages"), also=population_std)


@points(1, question="get_advantages")
def test_advantages_are_standardised(student):
    """Mean 0 and standard deviation 1, one column, whatever the definition of the deviation."""
    case = student.case("advantages_large")
    found = student.call(case.driver, **case.inputs)["advantages"]
    assert isinstance(found, np.ndarray), "expected a tensor of shape [200, 1]"
    assert found.shape == (200, 1), f"expected shape [200, 1], got {list(found.shape)}"
    # The two definitions of the deviation differ by 0.25 % at 200 rows.
    assert abs(found.mean()) < 1e-4, f"expected mean 0, got {found.mean():.4g}"
    assert abs(found.std() - 1) < 5e-3, f"expected standard deviation 1, got {found.std():.4g}"


# train_policy_gradient


@points(1, question="train_policy_gradient.without_critic")
def test_scheduler(student):
    """The scheduler is stepped, and each step adds its learning rate to the fourth list."""
    case = student.case("train_with_scheduler")
    facts = student.call(case.driver, **case.inputs)
    steps, rates = facts["scheduler steps"], facts.get("learning rates")
    assert steps >= 1, "the scheduler was never stepped"
    assert isinstance(rates, list), f"expected a list of learning rates, got {rates}"
    assert len(rates) == steps, f"expected {steps} learning rates, one for each step of the scheduler, got {rates}"
    # Read after the step or before it: both are kept as one per step.
    after = [0.05 * 0.9**step for step in range(1, steps + 1)]
    before = [0.05 * 0.9**step for step in range(steps)]
    assert np.allclose(rates, after) or np.allclose(rates, before), f"expected {after}, got {rates}"


@points(1, question="train_policy_gradient.without_critic")
def test_arguments_are_passed_on(student):
    """The clip range reaches the loss; environment, policy and rollout_seed reach collect_rollouts."""
    case = student.case("train_with_scheduler")
    facts = student.call(case.driver, **case.inputs)
    clips = sorted({str(batch["ppo_clip"]) for batch in facts["batches"]})
    assert clips == ["0.35"], f"expected ppo_clip = 0.35 in every call of the loss, got {', '.join(clips)}"
    discounts = facts["discount factors given to get_returns"]
    assert discounts in ([], [0.95]), f"expected get_returns to be called with its default discount, got {discounts}"
    assert facts["environment and policy were passed on"], "collect_rollouts was given another environment or policy"
    assert facts["rollout_seed was passed on"], "rollout_seed was not passed to collect_rollouts as its seed"


@points(2, question="train_policy_gradient.without_critic")
def test_policy_follows_its_loss_again(student):
    """Every minibatch of every collection updates the policy once."""
    student.expect("train_with_scheduler", row_gradients)


@points(1, question="train_policy_gradient.without_critic")
def test_shortest_training(student):
    """One rollout of one step, used three times."""
    student.expect("train_short", only("change of the weights", "actor losses", "final rewards"), rtol=1e-3)


@points(2, question="train_policy_gradient.with_critic")
def test_critic_weighted_zero(student):
    """With multiplier 0 the policy is trained, the value network does not move, and its losses are kept all the same."""
    # Changes are at least 0.002, and known to 0.000002: the weights are about 20, in float32.
    some = only("change of the weights", "get_advantages was given the value network")
    student.expect(
        "train_critic_weighted_zero",
        lambda facts: some(facts) | {"number of critic losses": len(facts["critic losses"])},
        atol=1e-5,
        rtol=1e-3,
    )


@points(2, question="train_policy_gradient.with_critic")
def test_critic_weighted_heavily(student):
    """With multiplier 3 the value network's gradient is three times that of its loss, the policy's is unchanged."""
    student.expect("train_critic_heavy", row_gradients)


@points(1, question="train_policy_gradient.with_critic")
def test_one_critic_loss_a_minibatch(student):
    """Both lists of losses have one number a minibatch: what its loss function returned."""
    case = student.case("train_critic_heavy")
    facts = student.call(case.driver, **case.inputs)

    def weighted(expected):
        """The same with critic losses times the multiplier: the text does not say."""
        losses = np.array([batch["loss"] for batch in facts["critic batches"]])
        surplus = (case.inputs["critic_loss_multiplier"] - 1) * losses
        return expected | {"critic losses minus losses of their minibatches": surplus}

    student.require(case, facts, recorded_losses, also=weighted)


@points(1, question="train_policy_gradient.minibatches")
def test_rows_of_every_collection(student):
    """Every epoch of every collection uses each of its rows once."""
    student.expect("train_minibatches_divide", rows_once([24, 24], epochs=4))


@points(1, question="train_policy_gradient.minibatches")
def test_one_update_a_minibatch(student):
    """Every minibatch makes one update, and adds one loss to the list."""
    student.expect("train_minibatches_divide", counts)


@points(2, question="train_policy_gradient.minibatches")
def test_shuffled_anew(student):
    """Minibatches are drawn at random, anew in every epoch and collection."""
    student.expect("train_minibatches_divide", shuffled([24, 24], epochs=4))


@points(1, question="train_policy_gradient.minibatches")
def test_minibatches_of_one(student):
    """Minibatches of a single row keep everything aligned."""
    student.expect("train_minibatches_of_one", aligned("action", "old_logits", "returns", "return_or_advantage"))


# get_PPO_policy_gradient_loss


@points(1, question="get_PPO_policy_gradient_loss")
def test_default_clip(student):
    """Without a clip range, 0.2 is used."""
    student.expect("ppo_default_clip", both)


@points(2, question="get_PPO_policy_gradient_loss")
def test_narrow_clip(student):
    """The clip range is the one given."""
    student.expect("ppo_narrow_clip", both)


@points(1, question="get_PPO_policy_gradient_loss")
def test_ppo_one_row(student):
    """A batch of a single row works."""
    student.expect("ppo_one_row", both)


@points(2, question="get_PPO_policy_gradient_loss")
def test_nothing_left_to_push(student):
    """When every product is clipped, the gradient is 0."""
    student.expect("ppo_all_clipped", both)
