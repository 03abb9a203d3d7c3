"""Visible checks of `continuous_ppo`: what a student gets. Their cases and answers are in solution.json."""

import numpy as np

from grader.judge import points
from grader.judge.views import aligned, gaussian_spread, only, rows_once, shuffled
from views import KEYS, log_density_gap, one_variance, without_last_axis

loss = only("loss")
gradient = only("gradient", "changed by the call")


# Summaries


@points(1, question="Summaries")
def test_everything_is_passed_on(student):
    """The wrapped environment behaves exactly like the one inside."""
    student.expect("summaries_pass_on")


@points(2, question="Summaries")
def test_returns_and_lengths(student):
    """At the end of an episode, its return and its length are kept."""
    student.expect("summaries_three_episodes", only("episode_returns", "episode_lengths"))


@points(1, question="Summaries")
def test_moving_average(student):
    """The moving average is over the latest episodes, as many as the window says."""
    student.expect("summaries_three_episodes", only("moving_averages"))


# Model


@points(1, question="Model.layers")
def test_two_networks(student):
    """Two networks of three layers with 64 hidden units, and one vector for the variance."""
    shapes = ("shapes of the weights", "sizes of all vectors, biases included", "parameters that are not trained")
    student.expect("model_of_half_cheetah", only(*shapes))


@points(2, question="Model.layers")
def test_first_weights(student):
    """Weights are orthogonal with gain √2, biases and the variance's vector zero."""
    first = ("smallest and largest factor by which a weight stretches", "vectors that are not zero at first")
    first = (*first, "layers that begin with the same weights")
    student.expect("model_of_half_cheetah", only(*first), atol=1e-3)


@points(2, question="Model.forward")
def test_three_outputs(student):
    """The model returns mean, variance and value, and its hidden layers are followed by tanh."""
    student.expect("forward_batch", one_variance, also=without_last_axis("value"))


@points(1, question="Model.forward")
def test_one_observation(student):
    """A single observation has no batch axis, and neither has what is returned."""
    student.expect("forward_one_observation", one_variance, also=without_last_axis("value"))


# Policy


@points(2, question="Policy.training")
def test_distribution(student):
    """To train, the policy returns its distribution: one log-probability for a whole action vector."""
    names = ("a MultivariateNormal, or Independent(Normal)", "mean of the distribution", "variance of the distribution")
    student.expect("training_batch", only(*names, "log_prob of some actions"))


@points(1, question="Policy.training")
def test_values_and_gradients(student):
    """Distribution and values pass gradients to all of the model."""
    names = ("values are", "values", "gradient of mean", "gradient of log_variance", "gradient of value")
    student.expect("training_batch", only(*names), also=without_last_axis("values"))


@points(1, question="Policy.sampling")
def test_one_action(student):
    """To play, one observation gives one action vector, one log-probability, and its value, as NumPy arrays."""
    kinds = ("actions are", "log_probs are", "values are", "values", "policy has the model as an attribute")

    def view(facts):
        shapes = {f"shape of {name}": list(np.shape(facts[name])) for name in ("actions", "log_probs") if name in facts}
        return only(*kinds)(facts) | shapes

    student.expect("sampling_one_observation", view, also=without_last_axis("values"))


@points(2, question="Policy.sampling")
def test_log_probabilities(student):
    """The log-probabilities are those of the actions that come with them."""
    # Differences of float32 sums of about 10.
    student.expect("sampling_batch", log_density_gap, atol=1e-4)


@points(1, question="Policy.sampling")
def test_samples(student):
    """Actions are drawn from the policy's distribution, every dimension with its own variance."""
    student.expect("sampling_many", gaussian_spread)


@points(1, question="Policy.sampling")
def test_values_of_a_batch(student):
    """A batch of observations has a batch of values; every call samples anew and changes nothing."""
    names = ("values", "values have the same shape when training", "a second call samples anew", "changed by the call")
    student.expect("sampling_batch", only(*names), also=without_last_axis("values"))


# GAE


@points(2, question="GAE")
def test_gae_by_hand(student):
    """Three steps with γ = λ = ½ have δ = -½, 0, 1: the advantages are -0.4375, 0.25, 1."""
    student.expect("gae_by_hand", only("advantages", "value_targets"))


@points(1, question="GAE")
def test_one_finished_episode(student):
    """A single episode that ends with the last step."""
    student.expect("gae_one_episode", only("advantages", "value_targets"))


@points(2, question="GAE")
def test_unfinished_episode(student):
    """An episode that goes on after the last step is worth the value of the latest observation."""
    student.expect("gae_unfinished", only("advantages", "value_targets"))


@points(2, question="GAE")
def test_several_episodes(student):
    """Nothing of the next episode comes into an advantage; nothing but advantages and value_targets changes."""
    student.expect("gae_several_episodes")


@points(1, question="GAE")
def test_truncated(student):
    """An end by a time limit is an end like any other: its value is in the reward already."""
    student.expect("gae_truncated")


# TrajectorySampler


@points(2, question="TrajectorySampler.shuffle_trajectory")
def test_rows_stay_whole(student):
    """All keys are shuffled in the same way, and each row is there once."""

    def view(facts):
        return only("every row is there once", "keys", "lists instead of arrays")(facts) | aligned(*KEYS)(facts)

    student.expect("shuffling_rows", view)


@points(1, question="TrajectorySampler.shuffle_trajectory")
def test_new_order(student):
    """The order is a random one, another at every call."""
    student.expect("shuffling_rows", only("the order is another one", "a second call makes another order"))


@points(2, question="TrajectorySampler.get_next")
def test_each_row_once_an_epoch(student):
    """Every epoch deals every row once, into num_minibatches minibatches of the same size."""
    student.expect("minibatches_divide", rows_once([24], epochs=2))


@points(1, question="TrajectorySampler.get_next")
def test_shuffled_before_every_epoch(student):
    """Minibatches are random, and others in the next epoch."""
    student.expect("minibatches_divide", shuffled([24], epochs=2))


@points(1, question="TrajectorySampler.get_next")
def test_minibatches_are_whole(student):
    """A minibatch has every key of the trajectory, each with the same rows, and is a dictionary of its own."""

    def view(facts):
        return only("keys", "every minibatch is a dictionary of its own")(facts) | aligned(*KEYS)(facts)

    student.expect("minibatches_divide", view)


@points(1, question="TrajectorySampler.get_next")
def test_next_trajectory(student):
    """After num_epochs epochs the runner is asked for the next trajectory, and not before."""

    def view(facts):
        names = ("trajectories asked for", "the trajectory in use is an attribute, in rows")
        return only(*names)(facts) | rows_once([18, 18], epochs=3)(facts)

    student.expect("minibatches_of_two_trajectories", view)
    student.expect("minibatches_of_two_trajectories", shuffled([18, 18], epochs=3))


@points(1, question="TrajectorySampler.get_next")
def test_transforms(student):
    """Each minibatch goes through all transforms, in their order; the trajectory stays as it is."""
    student.expect(
        "minibatches_transformed",
        only(
            "rows given to the second transform, -1 where the first one's work was lost",
            "what the first transform replaced came back later",
            "advantages that came out are those of the transform",
        ),
    )


# PPO


@points(1, question="PPO.policy_loss")
def test_ratio_is_one_at_first(student):
    """While the policy has not moved every ratio is 1, and the loss is minus the mean advantage."""
    student.expect("ratio_one", loss)


@points(1, question="PPO.policy_loss")
def test_inside_the_range(student):
    """Inside the clip range the loss is minus the mean of ratio times advantage."""
    student.expect("ratios_inside", loss)


@points(2, question="PPO.policy_loss")
def test_clipped_value(student):
    """Outside the range, the smaller of the clipped and the unclipped product counts."""
    student.expect("ratios_on_both_sides", loss)


@points(1, question="PPO.policy_loss")
def test_clipped_gradient(student):
    """Rows whose product is clipped push the policy no further; the others do."""
    student.expect("ratios_on_both_sides", gradient)


@points(1, question="PPO.value_loss")
def test_value_loss_by_hand(student):
    """Values 2, 0, 5, 1 from old values 1, for targets 3, 3, 0, 1, with ε = ½: 9.0625."""
    student.expect("value_by_hand", loss)


@points(1, question="PPO.value_loss")
def test_value_near_the_old(student):
    """Within the clip range the loss is the mean squared error."""
    student.expect("values_near_the_old", only("loss", "gradient"))


@points(2, question="PPO.value_loss")
def test_value_far_from_the_old(student):
    """Beyond it, the larger of the clipped and the unclipped error counts, row by row."""
    student.expect("values_far_from_the_old")


@points(1, question="PPO.step")
def test_plain_step(student):
    """Every call updates the model once, by the gradient of the loss of its minibatch alone."""
    student.expect("step_with_small_gradients")


@points(2, question="PPO.step")
def test_gradient_is_clipped(student):
    """A gradient longer than max_grad_norm is cut to that length before the update, all parameters together."""
    student.expect("step_with_large_gradients", rtol=1e-3)


# Annealing


@points(1, question="anneal_learning_rate")
def test_straight_line(student):
    """The learning rate falls on a straight line from 3e-4."""
    student.expect("annealing_down", atol=1e-8)


@points(1, question="anneal_learning_rate")
def test_down_to_zero(student):
    """It ends at 0, and stays there; every parameter group has it."""
    student.expect("annealing_to_the_end", atol=1e-8)


# Learning


LEARNED = -1.5  # the best possible is -0.44; standing still gives -10, an untrained policy about as much


@points(1, question="learning")
def test_learns_to_stop_in_the_middle(student, kit):
    """After 3000 steps on PointMass, the mean action pushes the point to the middle and keeps it there."""
    returns, seeds = [], student.seeds(2)
    for seed in seeds:
        facts = student.call("learn", seed=seed, interactions=3000)
        student.curve(f"return of an episode, seed {seed}", facts.get("returns"))
        returns.append(kit.call("play", weights=facts["weights"], seed=seed)["mean return"])
        if returns[-1] >= LEARNED:
            return
    tried = " and ".join(map(str, seeds))
    raise AssertionError(f"its mean return is {returns} (seeds {tried}), expected {LEARNED} or more; standing still gives -10")


# The leaderboard


@points(0, question="trained_policy")
def test_trained_policy(student, kit):
    """A policy that is handed in plays ten episodes of HalfCheetah-v5 with its mean action: mean minus deviation counts."""
    facts = kit.call("score", file=student.attachment("policy.safetensors"), seeds=list(range(1, 11)))
    if "missing" in facts:
        student.not_run(f"{facts['missing']} is not installed here")
    assert "refused" not in facts, f"policy.safetensors cannot be used: {facts.get('refused')}"
    returns = np.array(facts["returns"])
    student.leaderboard("HalfCheetah-v5: mean - std", returns.mean() - returns.std())
