"""Visible checks of `policy_gradient`, which students get. Their cases and answers are in solution.json."""

from grader.judge import points
from grader.judge.views import only
from views import (
    KINDS,
    both_updates,
    collected,
    dealt,
    defaults,
    form,
    form_of_lists,
    form_of_minibatches,
    gradient,
    lists_of_both,
    lists_of_the_policy,
    loss,
    loss_on_the_rows,
    of_their_rows,
    one_of_each,
    passed_on,
    policy_updates,
    population_std,
    rows_of_epochs,
    what_the_loss_gets,
)

# get_returns


@points(1, question="get_returns")
def test_returns_by_hand(student):
    """Two episodes with rewards 0 to 10 and discount 0.5: the returns begin with 1.9883, 3.9766, 5.9531."""
    student.expect("returns_table", only("returns"))


@points(1, question="get_returns")
def test_several_episodes(student):
    """Returns are right for one or several episodes of any length: no sum runs on into the next episode."""
    student.expect("returns_several_episodes", only("returns"))
    student.expect("returns_one_episode", only("returns"))
    student.expect("returns_of_many_rows", only("returns"))


@points(1, question="get_returns")
def test_tail(student):
    """Returns are right if the last episode is unfinished: its sums stop at the last row."""
    student.expect("returns_tail", only("returns"))
    student.expect("returns_no_end", only("returns"))


@points(1, question="get_returns")
def test_default_discount(student):
    """Without `discount_factor`, the returns are those for 0.95."""
    student.expect("returns_default_discount", only("returns"))


@points(1, question="get_returns")
def test_discounts_of_zero_and_one(student):
    """With discount 0, returns equal the rewards (and none is nan); with discount 1, they are plain sums."""
    student.expect("returns_discount_zero", only("returns"))
    student.expect("returns_discount_one", only("returns"))


@points(1, question="get_returns")
def test_returns_form(student):
    """Returns are a float32 tensor [T, 1], even for integer rewards or a single row; the buffer is not modified."""
    student.expect("returns_table", form, exact_dtype=True)
    student.expect("returns_single_row", form, exact_dtype=True)
    student.expect("returns_several_episodes", form, exact_dtype=True)


# get_vanilla_policy_gradient_loss


@points(1, question="get_vanilla_policy_gradient_loss")
def test_vanilla_by_hand(student):
    """Four rows, two actions and a network whose weights are all 0.5 give the loss 0.3363."""
    student.expect("vanilla_course_example", loss)


@points(1, question="get_vanilla_policy_gradient_loss")
def test_vanilla_value(student):
    """The loss is minus the batch mean of the return times the log-probability of the action taken."""
    student.expect("vanilla_batch", loss)
    student.expect("vanilla_return_of_zero", loss)


@points(2, question="get_vanilla_policy_gradient_loss")
def test_vanilla_gradient(student):
    """With positive returns, the gradient in every layer is that of -mean(log π(a | s) · R)."""
    student.expect("vanilla_positive_returns", gradient)


@points(1, question="get_vanilla_policy_gradient_loss")
def test_vanilla_unlikely_actions(student):
    """If a log-probability is -150 (its probability underflows to 0), loss and gradient are still right."""
    student.expect("vanilla_far", only("loss", "gradient of the network"))


@points(1, question="get_vanilla_policy_gradient_loss")
def test_vanilla_form(student):
    """The loss is a scalar tensor (shape []), even for a batch of one row; the inputs are not modified."""
    student.expect("vanilla_batch", form)
    student.expect("vanilla_single_row", form)


# collect_rollouts


@points(1, question="collect_rollouts")
def test_rows_belong_together(student):
    """A row contains the observation, the policy's logits for it, the reward, and whether the episode terminated."""
    student.expect("rollouts_three_episodes", only("observations", "old_logits", "rewards", "terminateds"))


@points(1, question="collect_rollouts")
def test_actions(student):
    """Each step samples one action with utils.distribution_sample(logits, seed=seed), takes it, and stores it."""
    facts = only("actions", "actions passed to env.step", "seed array after the call", "env.reset is called with a seed")
    student.expect("rollouts_three_episodes", facts)


@points(1, question="collect_rollouts")
def test_whole_episodes(student):
    """Every episode, however long, runs from a reset to its end: a row for each step, and the last marked as terminated."""
    student.expect("rollouts_long")


@points(1, question="collect_rollouts")
def test_final_reward(student):
    """The second return value is the mean of the rollouts' last rewards."""
    student.expect("rollouts_three_episodes", only("mean final reward"))


@points(1, question="collect_rollouts")
def test_rollouts_form(student):
    """The function returns a finalized RolloutBuffer as documented, and a number; it does not change the policy."""
    student.expect("rollouts_three_episodes", form, exact_dtype=True)


# get_value_net_loss


@points(1, question="get_value_net_loss")
def test_value_loss_by_hand(student):
    """Errors of 1, -2, 3, 0 and 2 give a loss of 18 / 5."""
    student.expect("value_loss_hand_table", loss)


@points(1, question="get_value_net_loss")
def test_value_loss_value(student):
    """The loss is the mean squared error between V(s) and the return, over the rows."""
    student.expect("value_loss_batch", loss)
    student.expect("value_loss_large_errors", loss)


@points(2, question="get_value_net_loss")
def test_value_loss_gradient(student):
    """In every layer of the value network, the gradient is that of the mean squared error."""
    student.expect("value_loss_batch", gradient)


@points(1, question="get_value_net_loss")
def test_value_loss_form(student):
    """The loss is a scalar tensor (shape []), even for a batch of one row; the inputs are not modified."""
    student.expect("value_loss_batch", form)
    student.expect("value_loss_single_row", form)


# get_advantages


@points(1, question="get_advantages")
def test_advantages_by_hand(student):
    """If R - V is 1, -1, 3 and -3 (mean 0), the advantages are these numbers divided by their standard deviation."""
    student.expect("advantages_hand_table", only("advantages"), also=population_std)


@points(1, question="get_advantages")
def test_advantages(student):
    """Advantages are R - V(s), minus their mean, divided by their standard deviation."""
    student.expect("advantages_batch", only("advantages"), also=population_std)


@points(1, question="get_advantages")
def test_advantages_of_equals(student):
    """If all R - V are equal, all advantages are 0, not nan."""
    student.expect("advantages_of_equals", only("advantages"))


@points(1, question="get_advantages")
def test_advantages_of_any_scale(student):
    """Advantages are right if R - V varies by only 0.0001, and if one of sixty rows is an outlier (do not clip advantages)."""
    # float32 resolves differences of a ten-thousandth near 1 only to about one part in a thousand.
    student.expect("advantages_nearly_equal", only("advantages"), also=population_std, rtol=1e-3)
    student.expect("advantages_outlier", only("advantages"), also=population_std)


@points(1, question="get_advantages")
def test_advantages_form(student):
    """Advantages are a float32 tensor [T, 1] without a gradient; the inputs are not modified."""
    student.expect("advantages_batch", form, exact_dtype=True)


# train_policy_gradient


@points(2, question="train_policy_gradient.without_critic")
def test_policy_follows_its_loss(student):
    """Every update uses the gradient of the given loss on its minibatch; nothing else changes the policy."""
    student.expect("train_one_batch", policy_updates)
    student.expect("train_rounds_up", policy_updates)


@points(1, question="train_policy_gradient.without_critic")
def test_whole_collections(student):
    """Rollouts are rounded up to whole collections; without a value network, the policy is trained on their returns."""
    student.expect("train_rounds_up", collected)
    student.expect("train_rounds_up", what_the_loss_gets("return_or_advantage", KINDS))
    student.expect("train_without_values", what_the_loss_gets("return_or_advantage", KINDS))


@points(1, question="train_policy_gradient.without_critic")
def test_lists(student):
    """The lists contain the actor losses of all minibatches, the final rewards, and one learning rate per scheduler step."""
    student.expect("train_scheduled", lists_of_the_policy)


@points(1, question="train_policy_gradient.without_critic")
def test_arguments(student):
    """Arguments are passed on unchanged, the scheduler is stepped once per collection, and defaults are those in the stub."""
    student.expect("train_scheduled", passed_on)
    student.expect("train_by_default", defaults)


@points(1, question="train_policy_gradient.without_critic")
def test_lists_form(student):
    """The function returns four lists of plain numbers; a loss tensor would keep its whole graph in memory."""
    student.expect("train_scheduled", form_of_lists("actor losses", "final rewards", "learning rates"))


@points(1, question="train_policy_gradient.with_critic")
def test_trains_on_advantages(student):
    """With a value network, the policy loss gets advantages, computed once for all rows of a collection."""
    student.expect("train_critic_minibatches", what_the_loss_gets("return_or_advantage", KINDS))
    reaches = "get_advantages receives the value network"
    student.expect("train_critic_minibatches", lambda facts: {reaches: facts["passed on"][reaches]})


@points(2, question="train_policy_gradient.with_critic")
def test_both_networks_are_updated(student):
    """Each update trains the policy on the policy's loss, and the value network on critic_loss_multiplier · its loss."""
    student.expect("train_critic_minibatches", both_updates(0.5))
    student.expect("train_critic_by_default", both_updates(0.0))


@points(1, question="train_policy_gradient.with_critic")
def test_critic_learns_returns(student):
    """The loop calls the value loss that it received, with returns, not with rewards or advantages."""
    student.expect("train_critic_minibatches", what_the_loss_gets("returns", ("returns", *KINDS), "critic batches"))
    called = "the loop calls the value network functions passed to it"
    student.expect("train_critic_minibatches", lambda facts: {called: facts["passed on"][called]})


@points(1, question="train_policy_gradient.with_critic")
def test_critic_losses(student):
    """The actor losses and critic losses are the policy loss and the value loss of each minibatch."""
    student.expect("train_critic_one_batch", lists_of_both(0.25))
    student.expect("train_critic_by_default", lists_of_both(0.0))


@points(1, question="train_policy_gradient.with_critic")
def test_critic_losses_form(student):
    """The second list contains plain numbers; without a value network it is empty."""
    student.expect("train_critic_one_batch", form_of_lists("critic losses"))
    student.expect("train_scheduled", lambda facts: {"second list without a value network": facts["critic losses"]})


@points(2, question="train_policy_gradient.minibatches")
def test_each_row_once_an_epoch(student):
    """Every epoch uses every row once, in minibatches of the given size; the last minibatch may be smaller."""
    student.expect("train_minibatches", rows_of_epochs(8))
    student.expect("train_last_minibatch_of_one", rows_of_epochs(4))


@points(1, question="train_policy_gradient.minibatches")
def test_shuffled(student):
    """The rows are shuffled again in every epoch, and for every new collection of rollouts."""
    student.expect("train_minibatches", dealt)


@points(1, question="train_policy_gradient.minibatches")
def test_rows_stay_aligned(student):
    """Everything in a minibatch comes from the same rows, and the old logits are the recorded ones."""
    student.expect("train_minibatches", of_their_rows)


@points(1, question="train_policy_gradient.minibatches")
def test_one_update_for_each(student):
    """For every minibatch, the loop makes one update and appends one loss to the list."""
    student.expect("train_rounds_up", one_of_each)


@points(1, question="train_policy_gradient.minibatches")
def test_minibatches_form(student):
    """The loss functions get tensors of the documented shapes."""
    student.expect("train_minibatches", form_of_minibatches)


# get_PPO_policy_gradient_loss


@points(1, question="get_PPO_policy_gradient_loss")
def test_inside_the_range(student):
    """Before any update (all ratios are 1) and inside the clip range, the loss is minus the mean of ratio · advantage."""
    student.expect("ppo_before_the_first_step", loss)
    student.expect("ppo_inside_the_range", loss)


@points(1, question="get_PPO_policy_gradient_loss")
def test_clipped_value(student):
    """For ε = 0.27 and ε = 10, the loss is minus the mean of the smaller of the two products, clipped and unclipped."""
    student.expect("ppo_both_sides", loss)
    student.expect("ppo_wide_clip", loss)


@points(1, question="get_PPO_policy_gradient_loss")
def test_clipped_gradient(student):
    """Rows whose clipped product is smaller add nothing to the gradient; all others add the gradient of ratio · advantage."""
    student.expect("ppo_both_sides", gradient)
    student.expect("ppo_wide_clip", gradient)


@points(1, question="get_PPO_policy_gradient_loss")
def test_default_range(student):
    """Without `ppo_clip`, the loss is that for a clip range of 0.2."""
    student.expect("ppo_without_a_range", loss)


@points(1, question="get_PPO_policy_gradient_loss")
def test_ppo_unlikely_actions(student):
    """If both log-probabilities are -150 (the quotient of the probabilities is 0 / 0), loss and gradient are still right."""
    student.expect("ppo_far", only("loss", "gradient of the network"))


@points(1, question="get_PPO_policy_gradient_loss")
def test_ppo_form(student):
    """The loss is a scalar tensor (shape []), even for a batch of one row; the inputs are not modified."""
    student.expect("ppo_both_sides", form)
    student.expect("ppo_single_row", form)


# One update: the student's own functions together, with all rows in one minibatch, so that the shuffle
# does not matter. Adam's first step moves each weight by about the learning rate or not at all: the
# policy loss falls by 0.008, the value loss by 0.2.


def updated(student, name):
    """Return both networks' losses before and after the update of a case; see `loss_on_the_rows`."""
    case = student.case(name)
    return loss_on_the_rows(case.answer, student.call(case.driver, **case.inputs))


def require_falls(before, after, what):
    assert after < before, (
        f"on the rows of the solution's rollouts, the loss of the {what} did not fall: {before:.4f} before, {after:.4f} after"
    )


@points(2, question="one_update")
def test_it_runs(student):
    """All your functions work together in one collection and one update, with the vanilla loss and with the PPO loss."""
    for name in ("update_vanilla", "update_ppo"):
        case = student.case(name)
        facts = student.call(case.driver, **case.inputs)
        assert not facts["not finite"], f"after the update, {facts['not finite'][0]} is nan or infinite"


@points(2, question="one_update")
def test_it_moves_both_networks(student):
    """The update changes every parameter of both networks, but only the policy if critic_loss_multiplier is 0."""
    unchanged = only("unchanged parameters of the policy", "unchanged parameters of the value network")
    student.expect("update_vanilla", unchanged)
    student.expect("update_without_critic_loss", unchanged)


@points(2, question="one_update")
def test_it_improves_the_policy(student):
    """After the update, the vanilla loss is lower than before on the rows of the solution's rollouts."""
    require_falls(*updated(student, "update_vanilla")["policy"], "policy")


@points(2, question="one_update")
def test_it_improves_the_policy_with_ppo(student):
    """After three updates with the PPO loss, the good actions of the solution's rollouts are more likely than before."""
    require_falls(*updated(student, "update_ppo")["policy"], "policy")


@points(2, question="one_update")
def test_it_improves_the_value_network(student):
    """After the update, the value loss is lower than before on the rows of the solution's rollouts."""
    require_falls(*updated(student, "update_vanilla")["value network"], "value network")


# Learning. Each grading may try two seeds.

LEARNED = 0.6  # an untrained policy ends on its target in a third of the episodes


def learns(student, kit, **setting):
    """Train with up to two seeds, because one short run of a correct solution can fail; test without student code."""
    rates, seeds = [], student.seeds(2)
    for seed in seeds:
        facts = student.call("learn", seed=seed, **setting)
        weights = facts["weights"]
        student.curve(f"mean final reward, seed {seed}", facts.get("final rewards"))
        rates.append(kit.call("play", weights=weights, seed=seed)["success rate"])
        if rates[-1] >= LEARNED:
            return
    tried = " and ".join(map(str, seeds))
    raise AssertionError(f"expected a success rate of {LEARNED} or more, found {rates} (seeds {tried})")


@points(1, question="learning_vanilla")
def test_learns_with_the_vanilla_loss(student, kit):
    """Within 640 rollouts of three steps on a line of three cells, the policy learns to reach its target."""
    learns(student, kit, loss="get_vanilla_policy_gradient_loss", rollouts=640, epochs=1)


@points(1, question="learning_ppo")
def test_learns_with_ppo(student, kit):
    """Within 320 rollouts of three steps on a line of three cells (four epochs each), the policy learns to reach its target."""
    learns(student, kit, loss="get_PPO_policy_gradient_loss", rollouts=320, epochs=4)
