"""Visible checks of `ppo_agent`; answers: solution.json, calls: tests/drivers/ppo_agent.py."""

from grader.judge import points
from grader.judge.compare import difference
from grader.judge.failure import CheckFailed
from grader.judge.views import aligned, gaussian_spread, only, row_gradients, rows_once, shuffled
from views import KEPT, LAYERS, LEARNED, LOG_SIGMA, MEASURED, ROWS, SCATTER, in_calls, mean_losses, other_deviation

OWN = "verdict on your estimator"
SAYS = ("exception raised by test_advantages on your estimator",)

# Repair


@points(1, question="GeneralizedAdvantageEstimator.length")
def test_an_advantage_for_each_reward(student):
    """There is an advantage for each reward; if a reward grows by 1, so does the advantage of its step."""
    names = ("number of advantages", "growth of each advantage when its reward grows by 1")
    student.expect("six_steps", only(*names))
    student.expect("one_step", only(*names))


@points(1, question="GeneralizedAdvantageEstimator.length")
def test_form_of_advantages(student):
    """Advantages are floats [T] without a gradient; the arguments are not modified."""
    names = ("shape", "advantages are floating-point numbers", "requires_grad of the advantages", "changed by the call")
    for case in ("six_steps", "truncated_inside"):
        student.expect(case, only(*names))


@points(1, question="GeneralizedAdvantageEstimator.bootstrap")
def test_episode_goes_on(student):
    """The last advantage is right if the episode goes on; truncated steps use their own next state, not the next row."""
    student.expect("goes_on", only("advantage of the last step"))
    student.expect("another_episode_in_the_next_row", only("truncated steps whose advantage depends on the next row"))
    student.expect("time_is_up_twice", only("all truncated steps use next_state, or none of them does"))


@points(1, question="GeneralizedAdvantageEstimator.bootstrap")
def test_nothing_else_given(student):
    """Without next states, the last advantage is that of an episode that terminated in the last row."""
    for case in ("nothing_else_given", "one_step_and_nothing_else"):
        student.expect(case, only("advantage of the last step"))


@points(1, question="GeneralizedAdvantageEstimator.ends")
def test_episode_comes_to_an_end(student):
    """Advantages are right if the last step terminated the episode: no value counts after it."""
    student.expect("comes_to_an_end", only("advantages up to the last end of an episode"))


@points(1, question="GeneralizedAdvantageEstimator.ends")
def test_terminated_inside(student):
    """Advantages are right at terminated steps inside the rows (next V and A do not count), also if some are truncated."""
    student.expect("terminated_inside", only("advantages up to the last end of an episode"))
    student.expect("both_ends_at_one_step", only("advantages up to the last end of an episode"))


@points(1, question="GeneralizedAdvantageEstimator.ends")
def test_truncated_inside(student):
    """Advantages are right at truncated steps inside the rows: the next V counts, but the next A does not."""
    student.expect("truncated_inside", only("advantages up to the last end of an episode"))


@points(1, question="GeneralizedAdvantageEstimator.ends")
def test_gamma_and_lambda_of_zero_and_one(student):
    """Advantages are right for γ or λ of 0 or 1, and if only `terminated` or only `truncated` is passed."""
    for case in ("gamma_of_zero", "lambda_of_zero", "gamma_of_one", "lambda_of_one"):
        student.expect(case, only("advantages up to the last end of an episode"))


ESTIMATED = (
    "advantages",
    "truncated steps whose advantage depends on the next row",
    "all truncated steps use next_state, or none of them does",
    "changed by the call",
)
FORMS = (
    "verdict on your estimator, returning a list",
    "verdict on your estimator, returning a tensor",
    "verdict on your estimator, returning float32",
)


@points(1, question="test_advantages")
def test_finds_the_draft(student):
    """Your test accepts your estimator and rejects the draft in the stub."""
    tried(student, "verdict on the draft")


@points(1, question="test_advantages")
def test_passes_every_form(student):
    """Your test rejects the draft; it accepts lists, tensors and float32."""
    tried(student, "verdict on the draft", *FORMS)


@points(1, question="test_advantages")
def test_finds_what_is_wrong_at_the_last_step(student):
    """Your test rejects your estimator if its last advantage is missing, or if it uses V(s_0) at the end."""
    names = (
        "verdict on your estimator without the last advantage",
        "verdict on your estimator with V(s_0) after the last step",
    )
    tried(student, *names)


@points(1, question="test_advantages")
def test_finds_missing_ends(student):
    """Your test rejects your estimator if it ignores ends or treats truncated steps wrongly."""
    names = (
        "verdict on your estimator without ends before the last row",
        "verdict on your estimator if it ignores truncations",
        "verdict on your estimator if truncation means termination",
    )
    tried(student, *names)


def tried(student, *wrong):
    """Require that the test passes the student's correct estimator and fails the wrong ones."""
    try:
        student.expect("your_own_estimator", only(OWN, *wrong), also_show=SAYS)
    except CheckFailed as failure:
        if failure.unwritten or is_repaired(student):
            raise
        student.not_run("your test runs on your own estimator; repair the estimator first")


def is_repaired(student):
    """Return whether the student's estimator is correct in everything the checks above compare."""
    names = ("six_steps", "goes_on", "nothing_else_given", "one_step_and_nothing_else", "comes_to_an_end", "terminated_inside")
    names += ("truncated_inside", "another_episode_in_the_next_row", "time_is_up_twice")
    names += ("gamma_of_zero", "lambda_of_zero", "gamma_of_one", "lambda_of_one")
    for name in names:
        case = student.case(name)
        try:
            found = student.call(case.driver, **case.inputs)
        except CheckFailed:
            return False
        for fact in ESTIMATED:
            if difference(case.answer[fact], found.get(fact), rtol=1e-4, atol=1e-5):  # as checks compare
                return False
    return True


# Derive


@points(1, question="IndependentGaussianProcess.sample")
def test_samples_scatter(student):
    """Samples have mean μ and standard deviation σ, independently in each dimension and row."""
    student.expect("samples_of_three_dimensions", only(*SCATTER))
    student.expect("samples_of_three_dimensions", spread, also_show=MEASURED)


@points(1, question="IndependentGaussianProcess.sample")
def test_form_of_samples(student):
    """Samples are a float32 tensor with the shape of μ, without a gradient, drawn with the given generator."""
    names = (
        "shape of the actions",
        "type of the samples",
        "shape of the samples for B = 1",
        "shape of the sample if mu has the shape [n]",
        "requires_grad of the samples",
        "the argument rng determines the samples",
    )
    student.expect("samples_of_three_dimensions", only(*names))


def spread(facts):
    """Return how samples scatter, whatever their shape."""
    return {name: value for name, value in gaussian_spread(facts).items() if name != "shape of the actions"}


@points(1, question="IndependentGaussianProcess.get_dist")
def test_density(student):
    """The log-density is right for three dimensions, and for the example, whose first rows give -6.1296 and -4.9586."""
    student.expect("seeds_example", only("log-density"))
    student.expect("three_dimensions", only("log-density"))


@points(1, question="IndependentGaussianProcess.get_dist")
def test_form_of_the_density(student):
    """The log-density is float32 [B, 1], one number per row, even for B = 1; the arguments are not modified."""
    for case in ("three_dimensions", "density_of_one_row"):
        student.expect(case, only("shape", "dtype", "changed by the call"))


@points(1, question="IndependentGaussianProcess.get_dist")
def test_gradients_of_the_density(student):
    """The gradients of the log-density with respect to μ and log σ are right."""
    student.expect("three_dimensions", only("gradient for mu", "gradient for log_sigma"))


@points(1, question="IndependentGaussianProcess.get_dist")
def test_near_and_far(student):
    """Log-density and gradients are right and finite at the mean, and where the density underflows to 0."""
    for case in ("at_the_mean", "improbable_actions"):
        student.expect(case, only("log-density", "gradient for mu", "gradient for log_sigma"))


@points(1, question="IndependentGaussianProcess.entropy")
def test_entropy(student):
    """The entropy and its gradient for log σ are right; there is no gradient for μ."""
    student.expect("entropy_of_three_dimensions", only("entropy"))
    student.expect("entropy_of_three_dimensions", no_gradient_for_mu)


@points(1, question="IndependentGaussianProcess.entropy")
def test_form_of_the_entropy(student):
    """The entropy is float32 [B, 1], one number per row, even for B = 1; the arguments are not modified."""
    for case in ("entropy_of_three_dimensions", "entropy_of_one_row"):
        student.expect(case, only("shape", "dtype", "changed by the call"))


def no_gradient_for_mu(facts):
    """Return the gradient for log σ; whether μ has none or zeros does not matter."""
    gradient = facts["gradient for mu"]
    return {
        "gradient for log_sigma": facts["gradient for log_sigma"],
        "the entropy has a gradient for mu": not isinstance(gradient, str) and bool(gradient.any()),
    }


# The networks


@points(1, question="Actor")
def test_actor(student):
    """The actor has three hidden layers of 16 units with ReLU; log_sigma is a parameter, initially 0."""
    student.expect("actor_of_two_actions", only(*LAYERS, "a second actor has different initial weights"))
    student.expect("actor_of_two_actions", only(*LOG_SIGMA))
    student.expect("actor_of_two_observations", only(*LAYERS))


@points(1, question="Actor")
def test_form_of_the_actor(student):
    """The actor returns mu and log_sigma, float32 [B, n], even for B = 1; states are not modified."""
    names = (
        "shape of mu",
        "shape of log_sigma",
        "dtypes of mu and log_sigma",
        "shapes of mu and log_sigma for B = 1",
        "changed by the call",
    )
    student.expect("actor_of_two_actions", only(*names))


@points(1, question="Critic")
def test_critic_layers(student):
    """The critic has three hidden layers of 16 units with ReLU, and shares none of them with an actor or another critic."""
    names = ("the critic shares parameters with an actor", "a second critic has different initial weights")
    student.expect("critic_of_three_numbers", only(*LAYERS, *names, "two critics share no parameter"))
    student.expect("critic_of_two_observations", only(*LAYERS))


@points(1, question="Critic")
def test_form_of_the_critic(student):
    """The critic returns one value per state, float32 [B, 1], even for B = 1; states are not modified."""
    student.expect("critic_of_three_numbers", only("shape", "dtype", "shape for B = 1", "changed by the call"))


# States that are windows


@points(1, question="EpisodeMemory.get_recent_state")
def test_newest_observations(student):
    """A state contains the latest observations, with the newest last; for w = 1, it is the observation alone."""
    student.expect("windows_of_three", latest_of("states of episode 1", 2))
    student.expect("windows_of_one", only("window_length", "states of episode 1", "states of episode 2"))


@points(1, question="EpisodeMemory.get_recent_state")
def test_before_the_first_observation(student):
    """All states of two episodes are right, with zeros at the front for missing observations; the call changes nothing."""
    student.expect(
        "windows_of_three", only("states of episode 1", "states of episode 2", "get_recent_state has no side effects")
    )


@points(1, question="EpisodeMemory.get_recent_state")
def test_form_of_a_state(student):
    """A state is a list of float32 arrays [obs_dim], including the zeros."""
    student.expect("windows_of_three", only("type of the states"))


def latest_of(name, first):
    """Return a view of the states from one step on."""
    return lambda facts: {f"{name}, from step {first} on": facts[name][first:]} if name in facts else facts


# The agent


@points(1, question="PPOAgent.forward")
def test_actions(student):
    """Each environment gets its own action, which the process samples for its own state."""
    for case, count in (
        ("acts_in_one_environment", 3),
        ("acts_in_four_environments", 3),
        ("acts_in_two_environments_with_states_of_two_observations", 2),
    ):
        names = in_calls(("action", "states passed to the actor"), count)
        student.expect(case, only(*names, "forward changes the actor", "forward changes the memories"))


@points(1, question="PPOAgent.forward")
def test_no_exploration_in_a_test(student):
    """The action is the mean if the agent is not in training; if it is, the action is a sample."""
    student.expect("acts_without_exploring", only(*in_calls(("action",), 3)))


@points(1, question="PPOAgent.forward")
def test_what_is_kept(student):
    """`recent` holds copies of the observations, and the states, actions and log-probabilities."""
    for case in ("acts_in_four_environments", "acts_in_a_state_of_three_observations", "acts_without_exploring"):
        student.expect(case, only(*in_calls(KEPT, 3), "a later call changes the stored data"))


@points(1, question="PPOAgent.forward")
def test_form_of_actions(student):
    """An action is float32, [n] or [num_envs, n]; `recent` has one row per environment."""
    names = ("type, dtype and shape of the action", "types of the stored data", "requires_grad of the stored data")
    for case, count in (
        ("acts_in_one_environment", 3),
        ("acts_in_four_environments", 3),
        ("acts_in_a_single_environment_of_a_batch", 2),
        ("acts_without_exploring", 3),
    ):
        student.expect(case, only(*in_calls(names, count)))


@points(1, question="PPOAgent.backward")
def test_steps_are_kept(student):
    """Each call appends a step with its own observation and state; the extra call appends nothing."""
    names = ("steps in each memory, after each call", "each step has its own observation and state")
    student.expect("one_environment", only(*names))


@points(1, question="PPOAgent.backward")
def test_episodes_are_finished(student):
    """The extra call finishes the whole episode, however it ended, with the last observation in the final state."""
    for case in ("one_environment", "terminated_as_time_ran_out"):
        student.expect(case, only("finished episodes"))


@points(1, question="PPOAgent.backward")
def test_updates(student):
    """With N episodes or more, there is one update; its result is returned, and the episodes are discarded."""
    for case in ("updates_after_two_episodes", "two_environments_that_end_at_once"):
        student.expect(case, only("updates", "values returned by backward", "length of `episodes` after each call"))


@points(1, question="PPOAgent.backward")
def test_several_environments(student):
    """Every environment has its own memory of the rewards that backward receives, and its episodes end independently."""
    names = ("steps in each memory, after each call", "each step has its own observation and state")
    student.expect("three_environments", only(*names, "finished episodes"))


@points(1, question="PPOAgent.backward")
def test_nothing_learned_in_a_test(student):
    """If the agent is not in training, memories are filled and reset, but nothing is learned."""
    names = (
        "steps in each memory, after each call",
        "updates",
        "values returned by backward",
        "length of `episodes` after each call",
    )
    student.expect("not_in_training", only(*names))


@points(1, question="PPOAgent.backward")
def test_form_of_steps(student):
    """`backward` accepts NumPy numbers, bools and arrays, and returns a dictionary."""
    for case in ("one_environment_of_numpy", "two_environments_of_arrays"):
        student.expect(case, only("types of the result and of the stored step"))


@points(1, question="PPOAgent.finish_episode")
def test_rows_of_an_episode(student):
    """States, actions and log-probabilities come from the memory; a value target is A + V(s)."""
    for case in ("episode_that_terminated", "single_step_that_was_truncated"):
        student.expect(case, only(*ROWS, "value_target minus advantage", "the memory and final_state are unchanged"))


@points(1, question="PPOAgent.finish_episode")
def test_advantages_of_an_episode_that_terminated(student):
    """If an episode terminated, the advantages are right: no value counts after its last step."""
    student.expect("episode_that_terminated", only("advantage"))


@points(1, question="PPOAgent.finish_episode")
def test_advantages_of_an_episode_that_was_truncated(student):
    """If an episode was truncated, the advantages are right: the value of the final state counts after its last step."""
    for case in ("episode_that_was_truncated", "single_step_that_was_truncated"):
        student.expect(case, only("advantage"))


@points(1, question="PPOAgent.finish_episode")
def test_form_of_an_episode(student):
    """The result has five float32 tensors of the documented shapes, with a row per step and without a gradient."""
    forms = [f"dtype and shape of {name}" for name in (*ROWS, "advantage", "value_target")]
    for case in ("episode_that_terminated", "single_step_that_was_truncated"):
        student.expect(case, only("keys of the result", *forms, "tensors with requires_grad"))


@points(1, question="PPOAgent.policy_loss")
def test_first_step(student):
    """At the first step (all ratios are 1) and where densities are tiny, loss and gradients are right."""
    names = ("loss", "gradient for mu", "gradient for log_sigma", "other parameters have a gradient")
    student.expect("at_the_first_step", only(*names))
    student.expect("actions_far_away", only(*names), rtol=1e-3, atol=1e-4)  # logarithms of -200, in single precision


@points(1, question="PPOAgent.policy_loss")
def test_clipped_objective(student):
    """For any `clip`, the loss is minus the mean of the smaller of ratio · A and clipped ratio · A."""
    for case in ("ratios_on_both_sides", "a_wide_clip_range"):
        student.expect(case, only("loss"))


@points(1, question="PPOAgent.policy_loss")
def test_where_the_gradient_ends(student):
    """The gradients are right: 0 only where the ratio has left the clip range in the direction that A asks for."""
    student.expect("ratios_on_both_sides", only("gradient for mu", "gradient for log_sigma"))


@points(1, question="PPOAgent.policy_loss")
def test_entropy_bonus(student):
    """With an entropy bonus, loss and gradient for log σ are right: minus entropy_coef times the mean entropy is added."""
    for case in ("with_an_entropy_bonus", "a_batch_of_one_row"):
        student.expect(case, only("loss", "gradient for log_sigma"))


@points(1, question="PPOAgent.policy_loss")
def test_form_of_the_policy_loss(student):
    """The loss is a scalar float32 tensor; the method modifies neither the batch nor any `.grad`."""
    for case in ("ratios_on_both_sides", "a_batch_of_one_row"):
        student.expect(case, only("shape", "dtype", "changed by the call", "the method changes `.grad` of a parameter"))


@points(1, question="PPOAgent.value_loss")
def test_value_loss(student):
    """The loss is the mean squared error; its gradient reaches only the critic."""
    for case in ("values_and_targets", "one_value_and_one_target", "values_far_from_their_targets"):
        student.expect(case, only("loss", "gradient for the values", "other parameters have a gradient"))


@points(1, question="PPOAgent.value_loss")
def test_form_of_the_value_loss(student):
    """The loss is a scalar float32 tensor; the method modifies neither the batch nor any `.grad`."""
    for case in ("values_and_targets", "one_value_and_one_target"):
        student.expect(case, only("shape", "dtype", "changed by the call", "the method changes `.grad` of a parameter"))


@points(1, question="PPOAgent.update")
def test_minibatches(student):
    """Every epoch uses each row once, in shuffled minibatches; both losses get the same minibatches."""
    student.expect("two_updates", rows_once([16, 16], 4, any_order=True))
    student.expect("two_updates", shuffled([16, 16], 4))
    student.expect("two_updates", aligned("action", "log_prob", "value_target"))
    student.expect("two_updates", only("policy_loss and value_loss get the same minibatches"))


@points(1, question="PPOAgent.update")
def test_normalized_advantages(student):
    """The advantages of all rows are normalized once, all together, even if they are all equal."""
    student.expect("two_updates", aligned("advantage"), also=other_deviation(16))
    student.expect("equal_advantages", aligned("advantage"))
    student.expect("minibatches_of_one_row", aligned("advantage"), also=other_deviation(5))


@points(1, question="PPOAgent.update")
def test_steps_of_the_optimizer(student):
    """The optimizer takes one step per minibatch, on the losses of this minibatch; the mean losses are returned."""
    student.expect("two_updates", row_gradients)
    student.expect("two_updates", mean_losses)


@points(1, question="PPOAgent.update")
def test_form_of_an_update(student):
    """`update` returns {"policy_loss": ..., "value_loss": ...} as floats and does not change the learning rate."""
    student.expect("two_updates", only("types of the returned losses", "update leaves the learning rate unchanged"))


# End-to-end: one update


@points(3, question="one_update")
def test_one_update(student):
    """Your agent plays six episodes in a tiny environment and learns from all their steps."""
    names = (
        "an update was made",
        "number of rows in the update",
        "the returned losses are finite",
        "all parameters are finite",
    )
    student.expect("one_update_in_one_environment", only("first error", *names, "parameters that change before the update"))


@points(2, question="one_update")
def test_one_update_of_several_environments(student):
    """Your agent plays in three environments at once and learns without an error."""
    names = (
        "an update was made",
        "number of rows in the update",
        "the returned losses are finite",
        "all parameters are finite",
    )
    student.expect(
        "one_update_in_three_environments", only("first error", *names, "parameters that the update does not change")
    )


@points(2, question="one_update")
def test_parameters_move(student):
    """The update changes every parameter of both networks."""
    student.expect(
        "one_update_in_one_environment", only("first error", "an update was made", "parameters that the update does not change")
    )


@points(2, question="one_update")
def test_policy_improves(student):
    """After the update, the clipped objective is larger than before on the same steps."""
    name = "the update increases the clipped objective"
    student.expect("one_update_in_one_environment", only("first error", "an update was made", name))


@points(1, question="one_update")
def test_values_improve(student):
    """After the update, the squared error of the values is smaller than before on the same steps."""
    name = "the update decreases the squared error of the values"
    student.expect("one_update_in_one_environment", only("first error", "an update was made", name))


# Learning


@points(1, question="learning")
def test_learns(student, kit):
    """With eight environments, your agent learns in 400 steps to push a point to the origin; at most two seeds are tried."""
    seeds, returns = student.seeds(2), []
    for seed in seeds:
        facts = student.call("learn", steps=400, seed=seed, num_envs=8)
        student.curve(f"score of an episode, seed {seed}", facts.get("scores"), LEARNED)
        returns.append(kit.call("play", weights=facts["weights"])["mean return"])
        if returns[-1] >= LEARNED:
            return
    tried = " and ".join(map(str, seeds))
    raise AssertionError(f"mean return {returns} (seeds {tried}), expected {LEARNED} or more; zero actions return -1.3")
