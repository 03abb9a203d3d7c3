"""Visible checks of `continuous_ppo`, which students get. Their cases and answers are in solution.json."""

import numpy as np

from grader.judge import points
from grader.judge.views import aligned, gaussian_spread, only, rows_once, shuffled
from views import KEYS, flat_values, log_density_gap, output_of_model, value_targets_of

loss = only("loss")
gradient = only("gradient")
AFTERWARDS = "policy loss and value loss after the update"


# Summaries


@points(1, question="Summaries")
def test_form_of_summaries(student):
    """Returns and moving averages are lists of floats; lengths are a list of integers."""
    student.expect(
        "summaries_three_episodes", only("type of episode_returns", "type of episode_lengths", "type of moving_averages")
    )


@points(1, question="Summaries")
def test_everything_is_passed_on(student):
    """The wrapper behaves exactly like the wrapped environment."""
    student.expect("summaries_pass_on")


@points(1, question="Summaries")
def test_returns_and_lengths(student):
    """When an episode terminates or is truncated, its undiscounted return and its length are appended to the lists."""
    student.expect("summaries_three_episodes", only("episode_returns", "episode_lengths"))
    student.expect("summaries_both_ends_at_once", only("episode_returns", "episode_lengths"))


@points(1, question="Summaries")
def test_broken_off_episode(student):
    """Returns and lengths are right if `reset` interrupts an episode: it leaves no entry and does not affect the next one."""
    student.expect("summaries_one_broken_off", only("episode_returns", "episode_lengths"))


@points(1, question="Summaries")
def test_moving_average(student):
    """The moving average is the mean of the latest `window` returns."""
    student.expect("summaries_three_episodes", only("moving_averages"))


@points(1, question="Summaries")
def test_writer_and_interactions(student):
    """All steps are counted; the writer gets return, length and moving average with the number of steps so far."""
    tags = (f"{tag} and global_step given to the writer" for tag in ("episode_return", "episode_length", "moving_average"))
    student.expect("summaries_one_broken_off", only("interactions", *tags))


# Model


@points(1, question="Model.layers")
def test_form_of_parameters(student):
    """All parameters are float32 and trainable, and a second model starts with different weights."""
    names = (
        "dtypes of the parameters",
        "number of parameters with requires_grad=False",
        "a second Model has different weights",
    )
    student.expect("model_of_half_cheetah", only(*names))


@points(1, question="Model.layers")
def test_two_networks(student):
    """The model has two networks of three layers with 64 hidden units, and one vector for the variance."""
    student.expect(
        "model_of_half_cheetah",
        only("shapes of the weight matrices, each sorted", "sizes of the biases and the variance vector"),
    )


@points(1, question="Model.layers")
def test_first_weights(student):
    """Weight matrices are orthogonal with gain √2; biases and the vector for the variance are zero."""
    first = ("smallest and largest singular value of the weights", "number of vectors that are not zero after __init__")
    first = (*first, "number of pairs of layers with equal initial weights")
    student.expect("model_of_half_cheetah", only(*first), atol=1e-3)


def outputs(student, case, name):
    """Require one output of the model to be right for a case."""
    student.expect(case, output_of_model(name, student.case(case).answer, f"{name}.requires_grad"))


@points(1, question="Model.forward")
def test_form_of_outputs(student):
    """Mean and value are float32 `[B, A]` and `[B, 1]`; for a single observation, they have no axis B."""
    for case in ("forward_batch", "forward_one_observation", "forward_one_row"):
        student.expect(case, only("form of mean", "form of value", "changed by the call"), also=flat_values("form of value"))


@points(1, question="Model.forward")
def test_mean(student):
    """The first output is the mean, from a network with tanh after each hidden layer."""
    outputs(student, "forward_batch", "mean")
    outputs(student, "forward_one_observation", "mean")


@points(1, question="Model.forward")
def test_variance(student):
    """The second output is the variance, the exponential of the learned vector."""
    outputs(student, "forward_batch", "variance")
    outputs(student, "forward_one_observation", "variance")
    outputs(student, "forward_far_variances", "variance")


@points(1, question="Model.forward")
def test_value(student):
    """The third output is the value, from its own network with tanh after each hidden layer."""
    student.expect("forward_batch", only("number of parameters without a gradient"))
    outputs(student, "forward_batch", "value")
    outputs(student, "forward_one_observation", "value")


# Policy


@points(1, question="Policy.training")
def test_form_of_training(student):
    """For a float64 batch of one row, log-probabilities have the shape `[1]`, and values are float32 `[1, 1]`."""
    names = ("form of values", "form of distribution.log_prob(actions)", "changed by the call")
    student.expect("training_one_double_row", only(*names))


@points(1, question="Policy.training")
def test_distribution(student):
    """With training=True, the distribution has the model's mean and variance, and its log_prob is right for each row."""
    names = (
        "distribution is MultivariateNormal or Independent(Normal)",
        "mean of the distribution",
        "variance of the distribution",
    )
    student.expect("training_batch", only(*names, "distribution.log_prob(actions)"))


@points(1, question="Policy.training")
def test_values_and_gradients(student):
    """With training=True, the values are right, and distribution and values pass gradients to all parts of the model."""
    gradients = ("gradient of the parameter mean", "gradient of the parameter log_variance", "gradient of the parameter value")
    student.expect("training_batch", only("values"))

    def view(facts):
        return only()(facts) | {f"{name} exists": isinstance(facts[name], np.ndarray) for name in gradients if name in facts}

    student.expect("training_batch", view)


@points(1, question="Policy.sampling")
def test_form_of_actions(student):
    """Actions, log-probabilities and values are float32 arrays, for a batch, for one row, and for one float64 observation."""
    names = ("form of actions", "form of log_probs", "form of values", "changed by the call")
    names = (*names, "policy.model is the given model")
    student.expect("sampling_batch", only(*names))
    student.expect("sampling_one_observation", only(*names))
    student.expect("sampling_single_row", only(*names))


@points(2, question="Policy.sampling")
def test_log_probabilities(student):
    """The log-probabilities are log π of the returned actions: sums over the dimensions of an action."""
    # Differences of float32 sums of about 10.
    student.expect("sampling_batch", log_density_gap, atol=1e-4)


@points(2, question="Policy.sampling")
def test_samples(student):
    """Actions are sampled from the policy's distribution: each dimension has its own mean and variance."""
    student.expect("sampling_many", gaussian_spread)
    student.expect("sampling_far_from_zero", gaussian_spread)
    student.expect("sampling_batch", only("a second call returns different actions"))


@points(1, question="Policy.sampling")
def test_values_of_a_batch(student):
    """For a batch of observations, act returns the value of each observation."""
    student.expect("sampling_batch", only("values"))


# GAE


advantages = only("advantages")


@points(1, question="GAE")
def test_form_of_advantages(student):
    """Advantages and value targets are arrays with the shapes of rewards and values; nothing else changes."""
    for case in ("gae_several_episodes", "gae_some_environments"):
        student.expect(case, only("form of advantages", "form of value_targets", "changed by the call"))


@points(2, question="GAE")
def test_unfinished_episode(student):
    """Advantages are right in an unfinished episode: δ = -½, 0, 1 and γ = λ = ½ give -0.4375, 0.25, 1."""
    student.expect("gae_by_hand", advantages)
    student.expect("gae_unfinished", advantages)


@points(2, question="GAE")
def test_several_episodes(student):
    """Advantages are right for one episode, for several, and for λ = 0: none uses anything from the next episode."""
    student.expect("gae_one_episode", advantages)
    student.expect("gae_several_episodes", advantages)
    student.expect("gae_no_lambda", advantages)


@points(2, question="GAE")
def test_truncated(student):
    """Advantages are right at truncations, which are ends like any other: the reward already contains the final value."""
    student.expect("gae_truncated", advantages)


@points(2, question="GAE")
def test_environments(student):
    """Advantages are right for N environments (rewards are `[T, N]`), whose episodes end independently."""
    student.expect("gae_some_environments", advantages)


@points(2, question="GAE")
def test_value_targets(student):
    """The value targets are advantages plus values."""
    for case in ("gae_by_hand", "gae_one_episode", "gae_several_episodes"):
        student.expect(case, value_targets_of(student.case(case).answer))


# TrajectorySampler


@points(1, question="TrajectorySampler.shuffle_trajectory")
def test_form_of_shuffled(student):
    """The trajectory keeps its keys, its values are still arrays, and `state` is unchanged."""
    student.expect("shuffling_rows", only("keys of the trajectory", "state is unchanged", "keys whose values are not arrays"))


@points(1, question="TrajectorySampler.shuffle_trajectory")
def test_rows_stay_whole(student):
    """All keys are shuffled in the same order, and each row occurs once."""

    def view(facts):
        return only("every row occurs once")(facts) | aligned(*KEYS)(facts)

    student.expect("shuffling_rows", view)


@points(1, question="TrajectorySampler.shuffle_trajectory")
def test_new_order(student):
    """The order is random and differs from call to call."""
    student.expect("shuffling_rows", only("the order of the rows changes", "a second call makes a different order"))


@points(1, question="TrajectorySampler.get_next")
def test_form_of_minibatches(student):
    """A minibatch is a new dictionary with rows for every key of the trajectory; `state` may be left out."""
    names = (
        "every minibatch is a new dictionary",
        "keys of the first minibatch",
        "state is unchanged",
        "keys whose values are not arrays",
    )

    def view(facts):
        shapes = {"shapes of the rows of the first minibatch": facts["batches"][0]["shapes"]} if "batches" in facts else {}
        return only(*names)(facts) | shapes

    student.expect("minibatches_divide", view)


@points(1, question="TrajectorySampler.get_next")
def test_each_row_once_an_epoch(student):
    """Every epoch uses every row once, in num_minibatches minibatches whose sizes differ by at most one."""

    def view(facts):
        return rows_once([24], epochs=2)(facts) | aligned(*KEYS)(facts)

    student.expect("minibatches_divide", view)
    student.expect("minibatches_of_eleven", rows_once([11], epochs=2, any_order=True))


@points(1, question="TrajectorySampler.get_next")
def test_shuffled_before_every_epoch(student):
    """The rows are shuffled again in every epoch and for every trajectory."""
    student.expect("minibatches_divide", shuffled([24], epochs=2))
    student.expect("minibatches_of_two_trajectories", shuffled([18, 18], epochs=3))


@points(1, question="TrajectorySampler.get_next")
def test_next_trajectory(student):
    """After num_epochs epochs, each with every row once, the next trajectory comes from the runner, and not before."""

    def view(facts):
        names = ("number of calls of runner.get_next", "self.trajectory is a dictionary with flattened rows")
        return only(*names)(facts) | rows_once([18, 18], epochs=3)(facts)

    student.expect("minibatches_of_two_trajectories", view)


@points(1, question="TrajectorySampler.get_next")
def test_transforms(student):
    """Each minibatch goes through all transforms in the given order; the trajectory does not change."""
    student.expect(
        "minibatches_transformed",
        only(
            "rows given to transform 2 (-1: without the changes of transform 1)",
            "the trajectory keeps the changes of a transform",
            "returned advantages are those of the transform",
        ),
    )


@points(1, question="TrajectorySampler.get_next")
def test_environments_are_flattened(student):
    """Five steps of two environments become ten rows, aligned in all keys; every epoch uses each row once."""

    def view(facts):
        shapes = {"shapes of the rows of the first minibatch": facts["batches"][0]["shapes"]}
        return rows_once([10], epochs=2, any_order=True)(facts) | aligned(*KEYS)(facts) | shapes

    student.expect("minibatches_of_two_environments", view)


# PPO

FORM_OF_LOSS = only("form of the loss", "changed by the call")


@points(1, question="PPO.policy_loss")
def test_form_of_policy_loss(student):
    """The loss is a scalar tensor with a gradient, even for one row; the method takes arrays and does not modify them."""
    student.expect("ratios_on_both_sides", FORM_OF_LOSS)
    student.expect("ratio_of_one_row", FORM_OF_LOSS)


@points(1, question="PPO.policy_loss")
def test_ratio_is_one_at_first(student):
    """Before the policy changes (every ratio is 1), the loss is minus the mean advantage."""
    student.expect("ratio_one", loss)


@points(1, question="PPO.policy_loss")
def test_inside_the_range(student):
    """Inside the clip range, the loss is minus the mean of ratio times advantage, even for the most unlikely actions."""
    student.expect("ratios_inside", loss)
    student.expect("unlikely_actions", loss, rtol=1e-3)


@points(2, question="PPO.policy_loss")
def test_clipped_value(student):
    """With ratios inside and outside the clip range, the loss is minus the mean of the smaller products, clipped or not."""
    student.expect("ratios_on_both_sides", loss)


@points(1, question="PPO.policy_loss")
def test_clipped_gradient(student):
    """Rows whose clipped product is smaller add nothing to the gradient; all others add the gradient of ratio · advantage."""
    student.expect("ratios_on_both_sides", gradient)


@points(1, question="PPO.value_loss")
def test_form_of_value_loss(student):
    """The loss is a scalar tensor with a gradient, even for one row; the method takes arrays and does not modify them."""
    student.expect("values_far_from_the_old", FORM_OF_LOSS)
    student.expect("value_of_one_row", FORM_OF_LOSS)


@points(1, question="PPO.value_loss")
def test_value_loss_by_hand(student):
    """For V = 2, 0, 5, 1, V_old = 1, targets 3, 3, 0, 1 and ε = ½, the loss is 9.0625."""
    student.expect("value_by_hand", loss)


@points(1, question="PPO.value_loss")
def test_value_near_the_old(student):
    """Within the clip range, loss and gradient are those of the mean squared error."""
    student.expect("values_near_the_old", only("loss", "gradient"))


@points(2, question="PPO.value_loss")
def test_value_far_from_the_old(student):
    """Outside the clip range, loss and gradient are those of the mean of the larger squared errors, clipped or unclipped."""
    student.expect("values_far_from_the_old", only("loss", "gradient"))


@points(1, question="PPO.step")
def test_form_of_step(student):
    """Every call makes one update, even on a minibatch of one row, and does not modify the minibatch."""
    student.expect("step_of_single_rows", only("calls", "number of optimizer steps", "changed by the calls"))


@points(1, question="PPO.step")
def test_plain_step(student):
    """An update uses only the gradient of its own minibatch's loss, unchanged if the norm is below max_grad_norm."""
    student.expect("step_with_small_gradients")


@points(2, question="PPO.step")
def test_gradient_is_clipped(student):
    """Each update uses the gradient of its own minibatch's loss, with the global norm clipped to max_grad_norm."""
    student.expect("step_with_large_gradients", rtol=1e-3)


# Annealing


@points(1, question="anneal_learning_rate")
def test_form_of_rates(student):
    """Every group gets a plain number as its learning rate, and nothing else in the group changes."""
    names = ("types of learning rates other than int and float", "everything else in param_groups is unchanged")
    student.expect("annealing_to_the_end", only(*names))


@points(1, question="anneal_learning_rate")
def test_straight_line(student):
    """The learning rate of every group falls linearly from `initial` (3e-4 by default) to 0 and stays at 0."""
    rates = only("learning rates, by call and group")
    student.expect("annealing_down", rates, atol=1e-8)
    student.expect("annealing_to_the_end", rates, atol=1e-8)
    student.expect("annealing_past_the_end", rates, atol=1e-8)


# One update


@points(3, question="one_update")
def test_pieces_work_together(student):
    """Policy, runner, GAE, sampler and PPO play 72 steps on PointMass and make one update, without exceptions or NaN."""
    names = ("number of minibatch rows that are in the trajectory", "parameters that are NaN or infinite after the update")
    student.expect("one_update", only(*names))


@points(3, question="one_update")
def test_every_parameter_moves(student):
    """The update changes every parameter of your model, and no parameter changes before the update."""
    student.expect("one_update", only("parameters that change before the update", "parameters that the update does not change"))


@points(2, question="one_update")
def test_policy_loss_falls(student):
    """Before the update, every ratio is 1; after it, the policy loss (with correct advantages) is lower than before."""
    names = ("every ratio is 1 before the update", "the update lowers the policy loss")
    student.expect("one_update", only(*names), also_show=("policy loss and value loss before the update", AFTERWARDS))


@points(2, question="one_update")
def test_value_loss_falls(student):
    """After the update, the value loss on the minibatch (with correct value targets) is lower than before."""
    student.expect(
        "one_update",
        only("the update lowers the value loss"),
        also_show=("policy loss and value loss before the update", AFTERWARDS),
    )


# Learning


LEARNED = -1.5  # the best policy gets -0.44; zero forces get -10, an untrained policy about the same


@points(1, question="learning")
def test_learns_to_stop_in_the_middle(student, kit):
    """After 3000 steps on PointMass, the mean action pushes the point to the middle and keeps it there."""
    returns, seeds = [], student.seeds(2)
    for seed in seeds:
        facts = student.call("learn", seed=seed, interactions=3000)
        student.curve(f"return of an episode, seed {seed}", facts.get("returns"), LEARNED)
        returns.append(kit.call("play", weights=facts["weights"], seed=seed)["mean return"])
        if returns[-1] >= LEARNED:
            return
    tried = " and ".join(map(str, seeds))
    raise AssertionError(f"expected a mean return of {LEARNED} or more, found {returns} (seeds {tried}); zero forces get -10")


# The leaderboard


@points(0, question="trained_policy")
def test_trained_policy(student, kit):
    """Your policy plays ten episodes of HalfCheetah-v5 with its mean action; the score is mean minus standard deviation."""
    facts = kit.call("score", file=student.attachment("policy.safetensors"), seeds=list(range(1, 11)))
    if "missing" in facts:
        student.not_run(f"{facts['missing']} is not installed here")
    assert "refused" not in facts, f"policy.safetensors cannot be used: {facts.get('refused')}"
    returns = np.array(facts["returns"])
    student.leaderboard("HalfCheetah-v5: mean - std", returns.mean() - returns.std())
