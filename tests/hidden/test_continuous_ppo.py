"""Hidden checks of `continuous_ppo`: properties, edge cases and gradients. Only graders have them."""

from grader.judge import points
from grader.judge.views import aligned, gaussian_spread, only, rows_once, shuffled
from views import KEYS, log_density_gap, output_of_model, value_targets_of

both = only("loss", "gradient")


# Summaries


@points(1, question="Summaries")
def test_broken_off(student):
    """Returns, lengths and moving averages are right if episodes are interrupted, and with the default window."""
    student.expect("summaries_broken_off", only("episode_returns", "episode_lengths", "moving_averages"))
    student.expect("summaries_default_window", only("moving_averages"))


@points(1, question="Summaries")
def test_writer_and_all_that_passes(student):
    """The wrapper counts all steps, gives the writer the right values with this count, and passes everything on."""
    names = ("observations", "rewards", "terminated", "truncated", "infos")
    passed = (
        "actions passed to the environment",
        "seed and options passed to the environment's reset",
        *(f"returned {name}" for name in names),
    )
    student.expect("summaries_broken_off", only("interactions", *passed))
    tags = ("episode_return", "episode_length", "moving_average")
    student.expect("summaries_written", only(*(f"{tag} and global_step given to the writer" for tag in tags)))


# Model


@points(1, question="Model.layers")
def test_other_sizes(student):
    """Layers and vectors have the sizes that obs_dim and act_dim require."""
    shapes = (
        "shapes of the weight matrices, each sorted",
        "sizes of the biases and the variance vector",
        "number of parameters with requires_grad=False",
    )
    student.expect("model_of_another_size", only(*shapes))


@points(1, question="Model.layers")
def test_other_first_weights(student):
    """Weight matrices are orthogonal, biases and the vector for the variance are zero, and every model is different."""
    first = ("smallest and largest singular value of the weights", "number of vectors that are not zero after __init__")
    others = (
        "a second Model has different weights",
        "number of pairs of layers with equal initial weights",
        "dtypes of the parameters",
    )
    student.expect("model_of_another_size", only(*first, *others), atol=1e-3)


@points(1, question="Model.forward")
def test_large_batch(student):
    """Outputs are right for large observations, a batch of one, and variances far from 1; every parameter gets a gradient."""
    # Thirty-three rows through 64 units, in float32.
    for case in ("forward_large", "forward_single_row"):
        answer = student.case(case).answer
        for name in ("mean", "variance", "value"):
            student.expect(case, output_of_model(name, answer, "number of parameters without a gradient"), atol=1e-4)
    answer = student.case("forward_other_far_variances").answer
    student.expect("forward_other_far_variances", output_of_model("variance", answer))


# Policy

DISTRIBUTION = only("mean of the distribution", "variance of the distribution", "distribution.log_prob(actions)")
GRADIENTS = only("gradient of the parameter mean", "gradient of the parameter log_variance", "gradient of the parameter value")


@points(1, question="Policy.training")
def test_double_precision(student):
    """The distribution is right for float64 observations (as HalfCheetah's are), and for a batch of one row."""
    student.expect("training_double_precision", DISTRIBUTION)
    student.expect("training_one_row", DISTRIBUTION)


@points(1, question="Policy.training")
def test_gradients(student):
    """Values are right, and so are the gradients of distribution and values for all parts of the model."""
    student.expect("training_double_precision", only("values"))
    student.expect("training_double_precision", GRADIENTS)
    student.expect("training_one_row", GRADIENTS)


@points(1, question="Policy.sampling")
def test_log_probabilities_of_a_large_batch(student):
    """Log-probabilities are right for a batch of forty, for a batch of one, and for one observation."""
    student.expect("sampling_double_precision", log_density_gap, atol=1e-4)
    student.expect("sampling_large_batch", log_density_gap, atol=1e-4)
    student.expect("sampling_one_row", log_density_gap, atol=1e-4)


@points(1, question="Policy.sampling")
def test_values_of_a_large_batch(student):
    """Values are right for a batch of forty observations and for a batch of one."""
    student.expect("sampling_large_batch", only("values"))
    student.expect("sampling_one_row", only("values"))


@points(1, question="Policy.sampling")
def test_samples_of_six_dimensions(student):
    """Six dimensions are sampled independently, each with its own mean and variance."""
    student.expect("sampling_many_dimensions", gaussian_spread)


# GAE


advantages = only("advantages")


@points(1, question="GAE")
def test_discounts(student):
    """Advantages are right for default γ and λ, λ = 0 and 1, γ = 0, one step, an end at the last row, and 500 steps."""
    for case in (
        "gae_defaults",
        "gae_of_deltas",
        "gae_of_returns",
        "gae_of_rewards",
        "gae_one_step",
        "gae_ends_last",
        "gae_long",
    ):
        student.expect(case, advantages)


@points(1, question="GAE")
def test_truncated_and_unfinished(student):
    """Advantages are right at truncations, with one environment and with several, and in an unfinished episode."""
    student.expect("gae_truncated_and_unfinished", advantages)
    student.expect("gae_truncated_batch", advantages)


@points(1, question="GAE")
def test_batched(student):
    """Advantages are right for N environments (N may be 1), whose values are [T, N, 1] or [T, N]."""
    of_one = ("gae_batched_one_environment", "gae_batched_flat_values_of_one_environment")
    for case in ("gae_batched", "gae_batched_flat_values", *of_one):
        student.expect(case, advantages)


@points(1, question="GAE")
def test_more_value_targets(student):
    """The value targets are advantages plus values, with one or several environments, and for λ = 0 and 1."""
    for case in ("gae_defaults", "gae_of_deltas", "gae_of_returns", "gae_batched", "gae_batched_flat_values"):
        student.expect(case, value_targets_of(student.case(case).answer))


# TrajectorySampler


@points(1, question="TrajectorySampler.shuffle_trajectory")
def test_many_rows_stay_whole(student):
    """With 150 rows, all keys are shuffled in the same order, and each row occurs once."""

    def view(facts):
        return only("every row occurs once")(facts) | aligned(*KEYS)(facts)

    student.expect("shuffling_many_rows", view)


@points(1, question="TrajectorySampler.shuffle_trajectory")
def test_rows_go_anywhere(student):
    """With 150 rows, the order differs from call to call, and neighboring rows are separated."""

    def view(facts):
        # For a random order, 2 of 149 neighbors stay together, and the correlation has a standard deviation of 0.08.
        far = {
            "neighboring rows are separated": facts["share of neighboring rows that stay neighbors"] < 0.15,
            "new positions are independent of the old ones": abs(facts["correlation of old and new positions"]) < 0.45,
        }
        return only("a second call makes a different order", "state is unchanged", "keys of the trajectory")(facts) | far

    student.expect("shuffling_many_rows", view)


@points(1, question="TrajectorySampler.get_next")
def test_uneven(student):
    """If rows cannot be split evenly, minibatch sizes differ by at most one; every epoch is shuffled, with each row once."""
    student.expect("minibatches_uneven", rows_once([22, 22], epochs=2, any_order=True))
    student.expect("minibatches_uneven", shuffled([22, 22], epochs=2))


@points(1, question="TrajectorySampler.get_next")
def test_batched_rows(student):
    """Seven steps of three environments become 21 rows, aligned in all keys; every epoch uses each row once."""

    def view(facts):
        shapes = {"shapes of the rows of the first minibatch": facts["batches"][0]["shapes"]}
        return rows_once([21], epochs=2, any_order=True)(facts) | aligned(*KEYS)(facts) | shapes

    student.expect("minibatches_batched", view)


@points(1, question="TrajectorySampler.get_next")
def test_one_minibatch(student):
    """With one minibatch per epoch and one epoch per trajectory, rows, transforms and calls of the runner are right."""
    names = ("state is unchanged", "number of calls of runner.get_next", "every minibatch is a new dictionary")
    names = (*names, "returned advantages are those of the transform", "the trajectory keeps the changes of a transform")

    def view(facts):
        return only(*names)(facts) | rows_once([9, 9, 9], epochs=1)(facts)

    student.expect("minibatch_of_everything", view)
    calls = "rows given to transform 2 (-1: without the changes of transform 1)"
    student.expect("minibatches_transformed_again", only(calls, *names[-2:]))


@points(1, question="TrajectorySampler.get_next")
def test_minibatches_of_one_row(student):
    """With as many minibatches as rows, every epoch uses each row once, aligned in all keys."""

    def view(facts):
        return (
            only("number of calls of runner.get_next", "keys of the first minibatch")(facts)
            | rows_once([5, 5], epochs=2)(facts)
            | aligned(*KEYS)(facts)
        )

    student.expect("minibatches_of_one", view)


# PPO


@points(1, question="PPO.policy_loss")
def test_default_range(student):
    """Without `cliprange`, loss and gradient are those for a clip range of 0.2."""
    student.expect("default_range", both)


@points(1, question="PPO.policy_loss")
def test_narrow_range(student):
    """The loss is right with a clip range of 0.05, and for the most unlikely actions."""
    student.expect("narrow_range", both)
    student.expect("other_unlikely_actions", only("loss"), rtol=1e-3)


@points(1, question="PPO.policy_loss")
def test_full_covariance(student):
    """Loss and gradient are right if the distribution is a MultivariateNormal."""
    student.expect("full_covariance", both)


@points(1, question="PPO.policy_loss")
def test_everything_clipped(student):
    """Loss and gradient are right if every row is clipped (the gradient is 0), and for a minibatch of one row."""
    student.expect("everything_clipped", both)
    student.expect("one_row", both)


@points(1, question="PPO.value_loss")
def test_default_value_range(student):
    """Loss and gradient are those for a clip range of 0.2 without `cliprange`, and right for a minibatch of one row."""
    student.expect("values_default_range", both)
    student.expect("values_one_row", both)


@points(2, question="PPO.value_loss")
def test_value_both_ways(student):
    """The loss is right for values that moved toward their target, away from it, and past it."""
    student.expect("values_both_ways", both)


@points(1, question="PPO.step")
def test_default_length(student):
    """Without `max_grad_norm`, gradients with a norm above 0.5 are clipped to it, and others are used as they are."""
    student.expect("step_with_defaults", rtol=1e-3)


@points(1, question="PPO.step")
def test_both_losses_are_minimized(student):
    """Each update uses the gradient of policy loss + value_loss_coef · value loss, with its global norm clipped."""
    student.expect("step_on_the_value_mostly", rtol=1e-3)


# Annealing


@points(1, question="anneal_learning_rate")
def test_every_group(student):
    """In each of three groups, the learning rate is right after every call, whatever it was before."""
    student.expect("annealing_three_groups", only("learning rates, by call and group"), atol=1e-8)
