"""Hidden checks of `policy_gradient`: the ideas of the visible ones with other numbers. Only a grader has them."""

from grader.judge import points
from grader.judge.views import only
from views import (
    KINDS,
    both_updates,
    collected,
    dealt,
    defaults,
    lists_of_both,
    lists_of_the_policy,
    of_their_rows,
    one_of_each,
    passed_on,
    policy_updates,
    population_std,
    rows_of_epochs,
    what_the_loss_gets,
)

both = only("loss", "gradient of the network")


# get_returns


@points(1, question="get_returns")
def test_unfinished_tail(student):
    """The last of two, and of many, episodes may be unfinished: its returns end with the last row."""
    student.expect("returns_unfinished_tail", only("returns"))
    student.expect("returns_long", only("returns"))


@points(1, question="get_returns")
def test_integer_rewards(student):
    """Returns of integer rewards are not truncated; a buffer of a single step has one return, its reward."""
    student.expect("returns_integer_rewards", only("returns"))
    student.expect("returns_one_step", only("returns"))


@points(1, question="get_returns")
def test_extreme_discounts(student):
    """Discount 1 sums plainly; discount 0 leaves the rewards."""
    student.expect("returns_undiscounted", only("returns"))
    student.expect("returns_no_future", only("returns"))


@points(1, question="get_returns")
def test_default_discount_again(student):
    """Without a discount factor, 0.95 is used, in other episodes as well."""
    student.expect("returns_not_discounted_otherwise", only("returns"))


# get_vanilla_policy_gradient_loss


@points(1, question="get_vanilla_policy_gradient_loss")
def test_vanilla_one_row(student):
    """A batch of a single row works."""
    student.expect("vanilla_one_row", both)


@points(1, question="get_vanilla_policy_gradient_loss")
def test_vanilla_square(student):
    """As many rows as actions: axes must not be mixed up."""
    student.expect("vanilla_square", both)


@points(1, question="get_vanilla_policy_gradient_loss")
def test_vanilla_large(student):
    """Value and gradient on 64 rows of both signs of return."""
    student.expect("vanilla_large_batch", both)


@points(1, question="get_vanilla_policy_gradient_loss")
def test_vanilla_very_unlikely_actions(student):
    """A log-probability may be far below -100."""
    student.expect("vanilla_farther", both)


# collect_rollouts


@points(1, question="collect_rollouts")
def test_later_collection(student):
    """Progress arguments do not change what is collected."""
    student.expect("rollouts_later", only("observations", "old_logits", "rewards", "terminateds"))


@points(1, question="collect_rollouts")
def test_no_step_too_many(student):
    """As many episodes are begun, and as many steps made, as are stored."""
    student.expect("rollouts_longer")


@points(1, question="collect_rollouts")
def test_seed_is_for_sampling_only(student):
    """The seed's ring goes on from step to step and rollout to rollout, and decides nothing but the actions."""
    facts = only("actions", "actions that were played", "seed array afterwards", "reset was called with a seed")
    student.expect("rollouts_later", facts)
    student.expect("rollouts_unseeded")


@points(1, question="collect_rollouts")
def test_final_reward_again(student):
    """The second value is the mean of the last reward of each rollout."""
    student.expect("rollouts_later", only("mean final reward"))


@points(1, question="collect_rollouts")
def test_collects_in_worlds(student):
    """Rollouts of the two-dimensional grid, and of CartPole, whose episodes differ in length."""
    facts = only("observations", "old_logits", "rewards", "terminateds", "actions", "mean final reward")
    student.expect("rollouts_in_the_plane", facts)
    # Twenty steps of float32 physics: rounding may differ in the last digits between platforms.
    student.expect("rollouts_of_cartpole", facts, rtol=1e-3, atol=1e-4)


# get_value_net_loss


@points(1, question="get_value_net_loss")
def test_value_loss_one_row(student):
    """A batch of a single row works."""
    student.expect("value_loss_one_row", both)


@points(1, question="get_value_net_loss")
def test_value_loss_large_value(student):
    """The value on 64 rows."""
    student.expect("value_loss_large_batch", only("loss"))


@points(2, question="get_value_net_loss")
def test_value_loss_large_gradient(student):
    """The gradient on 64 rows."""
    student.expect("value_loss_large_batch", only("gradient of the network"))


# get_advantages


@points(1, question="get_advantages")
def test_constant_advantages(student):
    """Where nothing is better than average, all advantages are 0."""
    student.expect("advantages_constant", only("advantages"))


@points(1, question="get_advantages")
def test_advantages_small_spread(student):
    """Advantages of a thousandth are brought to scale as well; an outlier stays one."""
    # float32 numbers near 1 that differ by a thousandth are known to a ten-thousandth of their difference.
    student.expect("advantages_small_spread", only("advantages"), also=population_std, rtol=1e-3)
    student.expect("advantages_far_outlier", only("advantages"), also=population_std)


@points(2, question="get_advantages")
def test_advantages_large(student):
    """The values on 200 rows."""
    student.expect("advantages_large", only("advantages"), also=population_std)


# train_policy_gradient


@points(1, question="train_policy_gradient.without_critic")
def test_policy_follows_its_loss_again(student):
    """Every minibatch of every collection updates the policy, also of a single row."""
    student.expect("train_with_scheduler", policy_updates)
    student.expect("train_short", policy_updates)


@points(1, question="train_policy_gradient.without_critic")
def test_whole_collections_again(student):
    """Seven rollouts in collections of three are nine, and the policy is trained on their returns."""
    student.expect("train_rounds_up_again", collected)
    student.expect("train_rounds_up_again", what_the_loss_gets("return_or_advantage", KINDS))


@points(1, question="train_policy_gradient.without_critic")
def test_scheduler(student):
    """The lists hold losses, final rewards, and the learning rates of the scheduler."""
    student.expect("train_with_scheduler", lists_of_the_policy)
    student.expect("train_rounds_up_again", lists_of_the_policy)


@points(1, question="train_policy_gradient.without_critic")
def test_arguments_are_passed_on(student):
    """The clip range reaches the loss; environment, policy and rollout_seed reach collect_rollouts."""
    student.expect("train_with_scheduler", passed_on)
    student.expect("train_with_defaults", defaults)


@points(1, question="train_policy_gradient.with_critic")
def test_trains_on_advantages_again(student):
    """With a value network, the policy's loss gets the advantages of all rows of a collection."""
    student.expect("train_critic_weighted_zero", what_the_loss_gets("return_or_advantage", KINDS))
    student.expect("train_critic_weighted_zero", lambda facts: facts["passed on"]["the value network reaches get_advantages"])


@points(1, question="train_policy_gradient.with_critic")
def test_critic_weighted(student):
    """With multiplier 3 the value network gets three times the gradient of its loss; with 0, nothing moves it."""
    student.expect("train_critic_heavy", both_updates(3.0))
    student.expect("train_critic_weighted_zero", both_updates(0.0))


@points(1, question="train_policy_gradient.with_critic")
def test_critic_learns_returns_again(student):
    """The value network's loss gets returns."""
    student.expect("train_critic_heavy", what_the_loss_gets("returns", ("returns", *KINDS), "critic batches"))


@points(1, question="train_policy_gradient.with_critic")
def test_critic_losses_are_kept(student):
    """Both lists hold what the loss functions returned; the value network's also with multiplier 0."""
    student.expect("train_critic_heavy", lists_of_both(3.0))
    student.expect("train_critic_weighted_zero", lists_of_both(0.0))


@points(1, question="train_policy_gradient.minibatches")
def test_rows_of_every_collection(student):
    """Every epoch of every collection uses each of its rows once."""
    student.expect("train_minibatches_divide", rows_of_epochs(6))


@points(1, question="train_policy_gradient.minibatches")
def test_shuffled_anew(student):
    """Minibatches are drawn at random, anew in every epoch and collection."""
    student.expect("train_minibatches_divide", dealt)


@points(1, question="train_policy_gradient.minibatches")
def test_minibatches_of_one(student):
    """Minibatches of a single row keep everything aligned."""
    student.expect("train_minibatches_of_one", of_their_rows)


@points(1, question="train_policy_gradient.minibatches")
def test_one_update_a_minibatch(student):
    """Every minibatch makes one update, and adds one loss to the list."""
    student.expect("train_minibatches_divide", one_of_each)


# get_PPO_policy_gradient_loss


@points(1, question="get_PPO_policy_gradient_loss")
def test_default_clip(student):
    """Without a clip range, 0.2 is used."""
    student.expect("ppo_default_clip", both)


@points(1, question="get_PPO_policy_gradient_loss")
def test_narrow_clip(student):
    """The clip range is the one given."""
    student.expect("ppo_narrow_clip", both)


@points(1, question="get_PPO_policy_gradient_loss")
def test_nothing_left_to_push(student):
    """When every product is clipped, the gradient is 0; a batch of a single row works."""
    student.expect("ppo_all_clipped", both)
    student.expect("ppo_one_row", both)


@points(1, question="get_PPO_policy_gradient_loss")
def test_ppo_very_unlikely_actions(student):
    """Log-probabilities may be far below -100."""
    student.expect("ppo_farther", both)
