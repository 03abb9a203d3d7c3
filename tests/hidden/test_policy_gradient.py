"""Hidden checks of `policy_gradient`: the ideas of the visible checks, with other numbers. Only graders have them."""

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
    """Returns are right if the last of one or several episodes is unfinished: its sums stop at the last row."""
    student.expect("returns_unfinished_tail", only("returns"))
    student.expect("returns_long", only("returns"))
    student.expect("returns_without_any_end", only("returns"))


@points(1, question="get_returns")
def test_integer_rewards(student):
    """Returns are right for integer rewards (and not rounded to integers), and for a buffer of one step."""
    student.expect("returns_integer_rewards", only("returns"))
    student.expect("returns_one_step", only("returns"))


@points(1, question="get_returns")
def test_extreme_discounts(student):
    """With discount 1, returns are plain sums; with discount 0, they equal the rewards."""
    student.expect("returns_undiscounted", only("returns"))
    student.expect("returns_no_future", only("returns"))


@points(1, question="get_returns")
def test_default_discount_again(student):
    """Without `discount_factor`, the returns are those for 0.95."""
    student.expect("returns_not_discounted_otherwise", only("returns"))


# get_vanilla_policy_gradient_loss


@points(1, question="get_vanilla_policy_gradient_loss")
def test_vanilla_one_row(student):
    """Loss and gradient are right for a batch of one row."""
    student.expect("vanilla_one_row", both)


@points(1, question="get_vanilla_policy_gradient_loss")
def test_vanilla_square(student):
    """Loss and gradient are right if a batch has as many rows as there are actions."""
    student.expect("vanilla_square", both)


@points(1, question="get_vanilla_policy_gradient_loss")
def test_vanilla_large(student):
    """Loss and gradient are right for 64 rows with positive and negative returns."""
    student.expect("vanilla_large_batch", both)


@points(1, question="get_vanilla_policy_gradient_loss")
def test_vanilla_very_unlikely_actions(student):
    """Loss and gradient are right even if a log-probability is far below -100."""
    student.expect("vanilla_farther", both)


# collect_rollouts


@points(1, question="collect_rollouts")
def test_later_collection(student):
    """In a later collection (with arguments for the progress line), observations, logits, rewards and ends are right."""
    student.expect("rollouts_later", only("observations", "old_logits", "rewards", "terminateds"))


@points(1, question="collect_rollouts")
def test_no_step_too_many(student):
    """After episodes of 1,511 and 3 steps, the numbers of resets, steps, rows and terminated rows are right."""
    student.expect("rollouts_longer")


@points(1, question="collect_rollouts")
def test_seed_is_for_sampling_only(student):
    """Each action is sampled with the next entry of the seed array, and without a seed at random; reset gets no seed."""
    facts = only("actions", "actions passed to env.step", "seed array after the call", "env.reset is called with a seed")
    student.expect("rollouts_later", facts)
    student.expect("rollouts_unseeded")


@points(1, question="collect_rollouts")
def test_final_reward_again(student):
    """The second return value is the mean of the rollouts' last rewards."""
    student.expect("rollouts_later", only("mean final reward"))


@points(1, question="collect_rollouts")
def test_collects_in_worlds(student):
    """Rows and final reward are right in the two-dimensional grid and in CartPole, whose episodes differ in length."""
    facts = only("observations", "old_logits", "rewards", "terminateds", "actions", "mean final reward")
    student.expect("rollouts_in_the_plane", facts)
    # Twenty steps of float32 physics: rounding may differ in the last digits between platforms.
    student.expect("rollouts_of_cartpole", facts, rtol=1e-3, atol=1e-4)


# get_value_net_loss


@points(1, question="get_value_net_loss")
def test_value_loss_one_row(student):
    """Loss and gradient are right for a batch of one row."""
    student.expect("value_loss_one_row", both)


@points(1, question="get_value_net_loss")
def test_value_loss_large_value(student):
    """The loss is right for 64 rows."""
    student.expect("value_loss_large_batch", only("loss"))


@points(2, question="get_value_net_loss")
def test_value_loss_large_gradient(student):
    """The gradient is right for 64 rows."""
    student.expect("value_loss_large_batch", only("gradient of the network"))


# get_advantages


@points(1, question="get_advantages")
def test_constant_advantages(student):
    """If all R - V are equal, all advantages are 0."""
    student.expect("advantages_constant", only("advantages"))


@points(1, question="get_advantages")
def test_advantages_small_spread(student):
    """Advantages are right if R - V varies by only 0.0001, and if there is an outlier (do not clip advantages)."""
    # float32 resolves differences of a ten-thousandth near 1 only to about one part in a thousand.
    student.expect("advantages_small_spread", only("advantages"), also=population_std, rtol=1e-3)
    student.expect("advantages_far_outlier", only("advantages"), also=population_std)


@points(2, question="get_advantages")
def test_advantages_large(student):
    """The advantages are right for 200 rows."""
    student.expect("advantages_large", only("advantages"), also=population_std)


# train_policy_gradient


@points(1, question="train_policy_gradient.without_critic")
def test_policy_follows_its_loss_again(student):
    """Every update uses the gradient of the loss on its minibatch, even of one row; nothing else changes the policy."""
    student.expect("train_with_scheduler", policy_updates)
    student.expect("train_rounds_up_again", policy_updates)
    student.expect("train_short", policy_updates)


@points(1, question="train_policy_gradient.without_critic")
def test_whole_collections_again(student):
    """Seven rollouts in collections of three are rounded up to nine; the policy is trained on their returns."""
    student.expect("train_rounds_up_again", collected)
    student.expect("train_rounds_up_again", what_the_loss_gets("return_or_advantage", KINDS))


@points(1, question="train_policy_gradient.without_critic")
def test_scheduler(student):
    """The lists contain losses, final rewards, and the learning rates of the scheduler."""
    student.expect("train_with_scheduler", lists_of_the_policy)
    student.expect("train_rounds_up_again", lists_of_the_policy)


@points(1, question="train_policy_gradient.without_critic")
def test_arguments_are_passed_on(student):
    """Arguments are passed on unchanged, the scheduler is stepped once per collection, and defaults are those in the stub."""
    student.expect("train_with_scheduler", passed_on)
    student.expect("train_with_defaults", defaults)


@points(1, question="train_policy_gradient.with_critic")
def test_trains_on_advantages_again(student):
    """With a value network, the policy loss gets advantages, computed on all rows of a collection."""
    student.expect("train_critic_weighted_zero", what_the_loss_gets("return_or_advantage", KINDS))
    student.expect("train_critic_heavy", what_the_loss_gets("return_or_advantage", KINDS))
    student.expect("train_critic_weighted_zero", lambda facts: facts["passed on"]["get_advantages receives the value network"])


@points(1, question="train_policy_gradient.with_critic")
def test_critic_weighted(student):
    """With the multipliers 3 and 0, each update uses the gradient of actor loss + critic_loss_multiplier · critic loss."""
    student.expect("train_critic_heavy", both_updates(3.0))
    student.expect("train_critic_weighted_zero", both_updates(0.0))


@points(1, question="train_policy_gradient.with_critic")
def test_critic_learns_returns_again(student):
    """The loop passes returns to the value loss that it received."""
    student.expect("train_critic_heavy", what_the_loss_gets("returns", ("returns", *KINDS), "critic batches"))
    called = "the loop calls the value network functions passed to it"
    student.expect("train_critic_heavy", lambda facts: {called: facts["passed on"][called]})


@points(1, question="train_policy_gradient.with_critic")
def test_critic_losses_are_kept(student):
    """Both lists contain the losses that the loss functions returned, even if critic_loss_multiplier is 0."""
    student.expect("train_critic_heavy", lists_of_both(3.0))
    student.expect("train_critic_weighted_zero", lists_of_both(0.0))


@points(1, question="train_policy_gradient.minibatches")
def test_rows_of_every_collection(student):
    """Every epoch uses each row of its collection once, in minibatches of six rows and of one row."""
    student.expect("train_minibatches_divide", rows_of_epochs(6))
    student.expect("train_minibatches_of_one", rows_of_epochs(1))


@points(1, question="train_policy_gradient.minibatches")
def test_shuffled_anew(student):
    """The rows are shuffled again in every epoch, and for every new collection of rollouts."""
    student.expect("train_minibatches_divide", dealt)


@points(1, question="train_policy_gradient.minibatches")
def test_minibatches_of_one(student):
    """With minibatches of one row, everything comes from the same row, and the old logits are the recorded ones."""
    student.expect("train_minibatches_of_one", of_their_rows)


@points(1, question="train_policy_gradient.minibatches")
def test_one_update_a_minibatch(student):
    """For every minibatch, the loop makes one update and appends one loss to the list."""
    student.expect("train_minibatches_divide", one_of_each)


# get_PPO_policy_gradient_loss


@points(1, question="get_PPO_policy_gradient_loss")
def test_default_clip(student):
    """Without `ppo_clip`, loss and gradient are those for a clip range of 0.2."""
    student.expect("ppo_default_clip", both)


@points(1, question="get_PPO_policy_gradient_loss")
def test_narrow_clip(student):
    """Loss and gradient are right for a narrow clip range (0.05) and for a wide one (8)."""
    student.expect("ppo_narrow_clip", both)
    student.expect("ppo_another_wide_clip", both)


@points(1, question="get_PPO_policy_gradient_loss")
def test_nothing_left_to_push(student):
    """Loss and gradient are right if every row is clipped (the gradient is 0), and for a batch of one row."""
    student.expect("ppo_all_clipped", both)
    student.expect("ppo_one_row", both)


@points(1, question="get_PPO_policy_gradient_loss")
def test_ppo_very_unlikely_actions(student):
    """Loss and gradient are right even if log-probabilities are far below -100."""
    student.expect("ppo_farther", both)
