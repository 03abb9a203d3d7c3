"""Hidden checks of `continuous_ppo`: properties, edge cases and gradients. Only a grader has them."""

from grader.judge import points
from grader.judge.views import aligned, gaussian_spread, only, rows_once, shuffled
from views import KEYS, log_density_gap, one_variance, without_last_axis

both = only("loss", "gradient")


# Summaries


@points(2, question="Summaries")
def test_broken_off(student):
    """An episode that is broken off leaves no entry, and nothing of it in the next one."""
    student.expect("summaries_broken_off", only("episode_returns", "episode_lengths", "moving_averages"))
    student.expect("summaries_default_window", only("moving_averages"))


@points(1, question="Summaries")
def test_interactions(student):
    """Steps are counted over all episodes; everything is passed on."""
    names = ("rewards", "terminated", "truncated")
    student.expect("summaries_broken_off", only("interactions", *(f"{name} that came out" for name in names)))


@points(1, question="Summaries")
def test_writer(student):
    """A writer is given return, length and moving average, with the interactions so far."""
    tags = ("episode_return", "episode_length", "moving_average")
    student.expect("summaries_written", only(*(f"written as {tag}, with the step" for tag in tags)))


# Model


@points(1, question="Model.layers")
def test_other_sizes(student):
    """Sizes are those that the model is given."""
    shapes = ("shapes of the weights", "sizes of all vectors, biases included", "parameters that are not trained")
    student.expect("model_of_another_size", only(*shapes))


@points(2, question="Model.layers")
def test_other_first_weights(student):
    """Orthogonal, zero, and drawn anew for every model."""
    student.expect("model_of_another_size", atol=1e-3)


@points(3, question="Model.forward")
def test_large_batch(student):
    """Large observations, a batch of one, and every parameter gets a gradient."""

    def view(facts):
        return one_variance(facts) | only("parameters without a gradient", "changed by the call", "precision")(facts)

    # Thirty-three rows through 64 units, in float32.
    student.expect("forward_large", view, also=without_last_axis("value"), atol=1e-4)
    student.expect("forward_one_row", one_variance, also=without_last_axis("value"))


# Policy


@points(2, question="Policy.training")
def test_double_precision(student):
    """Observations may be float64, as HalfCheetah's are; the model's weights are float32."""
    student.expect("training_double_precision", also=without_last_axis("values"))


@points(2, question="Policy.training")
def test_one_row(student):
    """A batch of one row keeps its batch axis."""
    student.expect("training_one_row", also=without_last_axis("values"))


@points(1, question="Policy.sampling")
def test_one_double_observation(student):
    """A single float64 observation."""
    student.expect("sampling_double_precision", log_density_gap, atol=1e-4)


@points(2, question="Policy.sampling")
def test_large_batch_of_actions(student):
    """The log-probabilities of forty actions of five dimensions, and their values."""
    student.expect("sampling_large_batch", log_density_gap, atol=1e-4)
    values = only("values", "values are")
    student.expect("sampling_large_batch", values, also=without_last_axis("values"))
    student.expect("sampling_one_row", log_density_gap, atol=1e-4)
    student.expect("sampling_one_row", values, also=without_last_axis("values"))


@points(1, question="Policy.sampling")
def test_samples_of_six_dimensions(student):
    """Six dimensions, each with its own variance, are drawn independently."""
    student.expect("sampling_many_dimensions", gaussian_spread)


# GAE


advantages = only("advantages", "value_targets")


@points(1, question="GAE")
def test_default_discounts(student):
    """Without γ and λ, 0.99 and 0.95 are used."""
    student.expect("gae_defaults", advantages)


@points(1, question="GAE")
def test_lambda_zero(student):
    """With λ = 0 an advantage is δ alone."""
    student.expect("gae_of_deltas", advantages)


@points(1, question="GAE")
def test_lambda_one(student):
    """With λ = 1 an advantage is the return, bootstrapped at an unfinished end, minus the value."""
    student.expect("gae_of_returns", advantages)


@points(1, question="GAE")
def test_one_step(student):
    """A trajectory of a single step."""
    student.expect("gae_one_step", advantages)


@points(1, question="GAE")
def test_end_at_the_last_row(student):
    """Where the last row ends an episode, the latest observation belongs to the next one."""
    student.expect("gae_ends_last", advantages)


@points(2, question="GAE")
def test_batched(student):
    """Several environments at once, each with ends of its own: values are [T, N, 1]."""
    student.expect("gae_batched")
    student.expect("gae_batched_one_environment")


@points(1, question="GAE")
def test_batched_flat_values(student):
    """Several environments at once: values are [T, N]."""
    student.expect("gae_batched_flat_values", advantages)


@points(2, question="GAE")
def test_long(student):
    """Eleven hundred steps with random ends."""
    student.expect("gae_long", advantages)


# TrajectorySampler


@points(2, question="TrajectorySampler.shuffle_trajectory")
def test_many_rows_stay_whole(student):
    """A hundred and fifty rows are shuffled as one."""

    def view(facts):
        # For a random order, 2 of 149 neighbours stay together, and the correlation has a standard deviation of 0.08.
        far = {
            "neighbours are separated": facts["neighbours that are neighbours afterwards"] < 0.15,
            "rows go anywhere": abs(facts["correlation of old and new places"]) < 0.45,
        }
        return only("every row is there once", "keys")(facts) | far | aligned(*KEYS)(facts)

    student.expect("shuffling_many_rows", view)


@points(1, question="TrajectorySampler.shuffle_trajectory")
def test_state_is_left_alone(student):
    """The state is no series: it stays as it is."""
    student.expect("shuffling_many_rows", only("state is left alone"))


@points(2, question="TrajectorySampler.get_next")
def test_uneven(student):
    """Where rows cannot be dealt evenly, minibatches differ by one row at most, and there are as many as asked for."""
    student.expect("minibatches_uneven", rows_once([22], epochs=3, any_order=True))
    student.expect("minibatches_uneven", shuffled([22], epochs=3))


@points(2, question="TrajectorySampler.get_next")
def test_batched_rows(student):
    """Steps of several environments are flattened, every key in the same way."""

    def view(facts):
        shapes = {"shapes of the rows": facts["batches"][0]["shapes"]}
        return rows_once([21], epochs=2, any_order=True)(facts) | aligned(*KEYS)(facts) | shapes

    student.expect("minibatches_batched", view)


@points(1, question="TrajectorySampler.get_next")
def test_one_minibatch(student):
    """One minibatch an epoch and one epoch a trajectory: a transform must not reach the trajectory."""
    names = ("state is left alone", "trajectories asked for", "every minibatch is a dictionary of its own")

    def view(facts):
        return only(*names)(facts) | rows_once([9, 9, 9], epochs=1)(facts)

    student.expect("minibatch_of_everything", view)


@points(1, question="TrajectorySampler.get_next")
def test_minibatches_of_one_row(student):
    """As many minibatches as rows."""

    def view(facts):
        return only("trajectories asked for")(facts) | rows_once([5, 5], epochs=2)(facts) | aligned(*KEYS)(facts)

    student.expect("minibatches_of_one", view)


# PPO


@points(1, question="PPO.policy_loss")
def test_default_range(student):
    """Without a clip range, 0.2 is used."""
    student.expect("default_range", both)


@points(1, question="PPO.policy_loss")
def test_narrow_range(student):
    """A clip range of 0.05."""
    student.expect("narrow_range", both)


@points(1, question="PPO.policy_loss")
def test_full_covariance(student):
    """The distribution may be a MultivariateNormal; what the loss is given stays as it was."""
    student.expect("full_covariance")


@points(1, question="PPO.policy_loss")
def test_everything_clipped(student):
    """When every row is clipped on its good side, nothing pushes the policy."""
    student.expect("everything_clipped", both)


@points(1, question="PPO.policy_loss")
def test_one_row_of_policy_loss(student):
    """A minibatch of a single row."""
    student.expect("one_row", both)


@points(1, question="PPO.value_loss")
def test_default_value_range(student):
    """Without a clip range, 0.2 is used."""
    student.expect("values_default_range", both)


@points(2, question="PPO.value_loss")
def test_value_both_ways(student):
    """Values that moved towards their target, away from it, and beyond it."""
    student.expect("values_both_ways", both)


@points(1, question="PPO.value_loss")
def test_one_row_of_value_loss(student):
    """A minibatch of a single row."""
    student.expect("values_one_row", both)


@points(2, question="PPO.step")
def test_default_length(student):
    """Without max_grad_norm, 0.5 is used; small gradients stay as they are."""
    student.expect("step_with_defaults", rtol=1e-3)


@points(1, question="PPO.step")
def test_both_losses_are_minimised(student):
    """Policy loss and value loss, the second times its coefficient, are minimised together."""
    student.expect("step_on_the_value_mostly", rtol=1e-3)


# Annealing


@points(1, question="anneal_learning_rate")
def test_every_group(student):
    """The rate depends on the interactions alone, not on what it was; every parameter group has it."""
    student.expect("annealing_three_groups", atol=1e-8)
