"""Visible checks of `ppo_agent`; their cases and answers are in solution.json, their calls in tests/drivers/ppo_agent.py."""

from grader.judge import points
from grader.judge.compare import difference
from grader.judge.failure import CheckFailed
from grader.judge.views import aligned, gaussian_spread, only, row_gradients, rows_once, shuffled
from views import KEPT, LAYERS, LEARNED, LOG_SIGMA, MEASURED, ROWS, SCATTER, in_calls, mean_losses, other_deviation

OWN = "your own estimator"
SAYS = (f"what it says of {OWN}",)

# Repair


@points(1, question="GeneralizedAdvantageEstimator.length")
def test_an_advantage_for_each_reward(student):
    """There is an advantage for each reward: it grows by 1 when its reward does, also in the last step."""
    names = ("number of advantages", "growth of the advantage of each step, when the reward of the step grows by 1")
    student.expect("six_steps", only(*names))
    student.expect("one_step", only(*names))


@points(1, question="GeneralizedAdvantageEstimator.length")
def test_form_of_advantages(student):
    """Advantages are floating-point numbers [T] without a gradient; the arguments stay as they are."""
    names = ("shape", "they are floating-point numbers", "they would let a gradient through", "changed by the call")
    for case in ("six_steps", "truncated_inside"):
        student.expect(case, only(*names))


@points(1, question="GeneralizedAdvantageEstimator.bootstrap")
def test_episode_goes_on(student):
    """After a step comes the state that did come, and its value counts, not that of another episode in the next row."""
    student.expect("goes_on", only("advantage of the last step"))
    student.expect("another_episode_in_the_next_row", only("advantages of truncated steps that depend on the next row"))
    student.expect("time_is_up_twice", only("all truncated steps are alike, also in the last row"))


@points(1, question="GeneralizedAdvantageEstimator.bootstrap")
def test_nothing_else_given(student):
    """Without next states, the rows are one episode that terminated in the last of them."""
    for case in ("nothing_else_given", "one_step_and_nothing_else"):
        student.expect(case, only("advantage of the last step"))


@points(1, question="GeneralizedAdvantageEstimator.ends")
def test_episode_comes_to_an_end(student):
    """After a last step that terminated the episode comes nothing."""
    student.expect("comes_to_an_end", only("advantages up to the last end"))


@points(1, question="GeneralizedAdvantageEstimator.ends")
def test_terminated_inside(student):
    """Where the world ended, neither a value nor an advantage comes back from the next row."""
    student.expect("terminated_inside", only("advantages up to the last end"))


@points(1, question="GeneralizedAdvantageEstimator.ends")
def test_truncated_inside(student):
    """Where only time was up, the value of the state that followed comes back, and no advantage of another episode."""
    student.expect("truncated_inside", only("advantages up to the last end"))


@points(1, question="GeneralizedAdvantageEstimator.ends")
def test_gamma_and_lambda_of_zero_and_one(student):
    """With γ = 0 no later reward counts, with λ = 0 no later δ; both may be 1; only one kind of end may be given."""
    for case in ("gamma_of_zero", "lambda_of_zero", "gamma_of_one", "lambda_of_one"):
        student.expect(case, only("advantages up to the last end"))


ESTIMATED = (
    "advantages",
    "advantages of truncated steps that depend on the next row",
    "all truncated steps are alike, also in the last row",
    "changed by the call",
)
FORMS = ("your estimator, returning a list", "your estimator, returning a tensor", "your estimator, in single precision")


@points(1, question="test_advantages")
def test_finds_the_draft(student):
    """Your test passes your estimator, and fails the draft of the stub."""
    tried(student, "the draft")


@points(1, question="test_advantages")
def test_passes_every_form(student):
    """It passes your estimator when it returns a list, a tensor or single precision, and fails the draft."""
    tried(student, "the draft", *FORMS)


@points(1, question="test_advantages")
def test_finds_what_is_wrong_at_the_last_step(student):
    """It passes your estimator, and fails it without its last advantage, and with V(s_0) after the last step."""
    names = ("your estimator without its last advantage", "your estimator with V(s_0) after the last step")
    tried(student, *names)


@points(1, question="test_advantages")
def test_finds_missing_ends(student):
    """It passes your estimator, and fails it when it sees no ends inside the rows, or not what a truncated step is."""
    names = (
        "your estimator with no end before the last step",
        "your estimator with truncated steps that are not the end of anything",
        "your estimator with truncated steps taken for terminated ones",
    )
    tried(student, *names)


def tried(student, *wrong):
    """Require that the test passes the student's estimator, and fails those; it cannot be tried while that is wrong itself."""
    try:
        student.expect("your_own_estimator", only(OWN, *wrong), also_show=SAYS)
    except CheckFailed as failure:
        if failure.unwritten or is_repaired(student):
            raise
        student.not_run("your test is tried on your own estimator, which must be repaired first")


def is_repaired(student):
    """Return whether the student's estimator is right, in all that the checks above look at."""
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
    """Samples are around μ, as far as σ says, in every dimension and row on its own, and always others."""
    student.expect("samples_of_three_dimensions", only(*SCATTER))
    student.expect("samples_of_three_dimensions", spread, also_show=MEASURED)


@points(1, question="IndependentGaussianProcess.sample")
def test_form_of_samples(student):
    """A float32 tensor like μ, [B, n] or [n], without a gradient, drawn from the generator that the process was given."""
    names = (
        "shape of the actions",
        "the samples are",
        "shape of an action for a batch of one row",
        "shape of an action for one row without axis",
        "they would let a gradient through",
        "the generator that was given decides the samples",
    )
    student.expect("samples_of_three_dimensions", only(*names))


def spread(facts):
    """Return how samples scatter, whatever their shape."""
    return {name: value for name, value in gaussian_spread(facts).items() if name != "shape of the actions"}


@points(1, question="IndependentGaussianProcess.get_dist")
def test_density(student):
    """The sum over the dimensions; the first two rows of the course text's example are -6.1296 and -4.9586."""
    student.expect("seeds_example", only("log-density"))
    student.expect("three_dimensions", only("log-density"))


@points(1, question="IndependentGaussianProcess.get_dist")
def test_form_of_the_density(student):
    """One number for each row, a float32 tensor [B, 1], also for a batch of one; the arguments stay as they are."""
    for case in ("three_dimensions", "density_of_one_row"):
        student.expect(case, only("shape", "precision", "changed by the call"))


@points(1, question="IndependentGaussianProcess.get_dist")
def test_gradients_of_the_density(student):
    """Gradients go to μ and log σ."""
    student.expect("three_dimensions", only("gradient for mu", "gradient for log_sigma"))


@points(1, question="IndependentGaussianProcess.get_dist")
def test_near_and_far(student):
    """They are numbers also where an action is the mean, and where it is so far away that its density is 0 in floats."""
    for case in ("at_the_mean", "improbable_actions"):
        student.expect(case, only("log-density", "gradient for mu", "gradient for log_sigma"))


@points(1, question="IndependentGaussianProcess.entropy")
def test_entropy(student):
    """It grows with every log σ, and does not depend on μ."""
    student.expect("entropy_of_three_dimensions", only("entropy"))
    student.expect("entropy_of_three_dimensions", no_gradient_for_mu)


@points(1, question="IndependentGaussianProcess.entropy")
def test_form_of_the_entropy(student):
    """One number for each row, a float32 tensor [B, 1], also for a batch of one; the arguments stay as they are."""
    for case in ("entropy_of_three_dimensions", "entropy_of_one_row"):
        student.expect(case, only("shape", "precision", "changed by the call"))


def no_gradient_for_mu(facts):
    """Return the gradient for log σ; whether μ has none or zeros does not matter."""
    gradient = facts["gradient for mu"]
    return {
        "gradient for log_sigma": facts["gradient for log_sigma"],
        "there is a gradient for mu": not isinstance(gradient, str) and bool(gradient.any()),
    }


# The networks


@points(1, question="Actor")
def test_actor(student):
    """Three hidden layers of 16 units with ReLU between; log_sigma is a parameter, 0 at first, the same in all rows."""
    student.expect("actor_of_two_actions", only(*LAYERS, "another actor begins with other weights"))
    student.expect("actor_of_two_actions", only(*LOG_SIGMA))


@points(1, question="Actor")
def test_form_of_the_actor(student):
    """It returns mu and log_sigma, float32 tensors [B, n], also for a batch of one; the states stay as they are."""
    names = ("shape of mu", "shape of log_sigma", "precision of both", "shapes for one state", "changed by the call")
    student.expect("actor_of_two_actions", only(*names))


@points(1, question="Critic")
def test_critic_layers(student):
    """Three hidden layers of 16 units with ReLU between, none of them shared with the actor."""
    names = ("it shares parameters with an actor", "another critic begins with other weights")
    student.expect("critic_of_three_numbers", only(*LAYERS, *names))


@points(1, question="Critic")
def test_form_of_the_critic(student):
    """One value for each state, a float32 tensor [B, 1], also for a batch of one; the states stay as they are."""
    student.expect("critic_of_three_numbers", only("shape", "precision", "shape for one state", "changed by the call"))


# States that are windows


@points(1, question="EpisodeMemory.get_recent_state")
def test_newest_observations(student):
    """The latest observations, the newest last; with a window of 1, the observation alone."""
    student.expect("windows_of_three", latest_of("states of episode 1", 2))
    student.expect("windows_of_one", only("window_length", "states of episode 1", "states of episode 2"))


@points(1, question="EpisodeMemory.get_recent_state")
def test_before_the_first_observation(student):
    """Where there are none yet, there are zeros, at the front; asking for a state adds no observation."""
    student.expect("windows_of_three", only("states of episode 1", "states of episode 2", "asking adds no observation"))


@points(1, question="EpisodeMemory.get_recent_state")
def test_form_of_a_state(student):
    """A state is a list of arrays, float32 [obs_dim] each, also where they are zeros."""
    student.expect("windows_of_three", only("a state is"))


def latest_of(name, first):
    """Return a view of the states from one step on."""
    return lambda facts: {f"{name}, from step {first} on": facts[name][first:]} if name in facts else facts


# The agent


@points(1, question="PPOAgent.forward")
def test_actions(student):
    """An action is a sample of the process, for the state of its own environment; one for each environment."""
    for case, count in (
        ("acts_in_one_environment", 3),
        ("acts_in_four_environments", 3),
        ("acts_in_two_environments_with_states_of_two_observations", 2),
    ):
        names = in_calls(("action", "states that the actor was given"), count)
        student.expect(case, only(*names, "the actor has changed", "memories have changed"))


@points(1, question="PPOAgent.forward")
def test_no_exploration_in_a_test(student):
    """When the agent is not in training, the action is the mean."""
    student.expect("acts_without_exploring", only(*in_calls(("action",), 3)))


@points(1, question="PPOAgent.forward")
def test_what_is_kept(student):
    """Kept are copies of the observations, the states, the actions as they are, and the log-probabilities of just these."""
    for case in ("acts_in_four_environments", "acts_in_a_state_of_three_observations", "acts_without_exploring"):
        student.expect(case, only(*in_calls(KEPT, 3)))


@points(1, question="PPOAgent.forward")
def test_form_of_actions(student):
    """An action is a float32 array, [n] or [num_envs, n]; what is kept has a row for each environment, and no gradient."""
    names = ("form of the action", "form of what is kept", "what is kept would let a gradient through")
    for case, count in (
        ("acts_in_one_environment", 3),
        ("acts_in_four_environments", 3),
        ("acts_in_a_single_environment_of_a_batch", 2),
        ("acts_without_exploring", 3),
    ):
        student.expect(case, only(*in_calls(names, count)))


@points(1, question="PPOAgent.backward")
def test_steps_are_kept(student):
    """Each call adds a step to the memory, with its own observation and state, but not the extra call after an end."""
    names = ("steps in each memory, after each call", "each step has its own observation and state")
    student.expect("one_environment", only(*names))


@points(1, question="PPOAgent.backward")
def test_episodes_are_finished(student):
    """In the extra call the whole episode is finished, with the state that was observed last."""
    student.expect("one_environment", only("finished episodes"))


@points(1, question="PPOAgent.backward")
def test_updates(student):
    """After N episodes or more there is an update with all of them, and what it returns is returned; then they are gone."""
    for case in ("updates_after_two_episodes", "two_environments_that_end_at_once"):
        student.expect(case, only("updates", "returned, by call", "episodes that wait, after each call"))


@points(1, question="PPOAgent.backward")
def test_several_environments(student):
    """Every environment has its own memory and its own ends."""
    names = ("steps in each memory, after each call", "each step has its own observation and state")
    student.expect("three_environments", only(*names, "finished episodes"))


@points(1, question="PPOAgent.backward")
def test_nothing_learned_in_a_test(student):
    """When the agent is not in training, memories are kept, but nothing waits to be learned, and nothing is."""
    names = ("steps in each memory, after each call", "updates", "returned, by call", "episodes that wait, after each call")
    student.expect("not_in_training", only(*names))


@points(1, question="PPOAgent.backward")
def test_form_of_steps(student):
    """It takes NumPy's numbers, bools and arrays; it returns a dictionary; a step is kept as the memory's docstring says."""
    for case in ("one_environment_of_numpy", "two_environments_of_arrays"):
        student.expect(case, only("returned, and kept of a step"))


@points(1, question="PPOAgent.finish_episode")
def test_rows_of_an_episode(student):
    """States, actions and log-probabilities are those of the steps; a value target is the advantage plus V(s)."""
    for case in ("episode_that_terminated", "single_step_that_was_truncated"):
        student.expect(case, only(*ROWS, "value_target minus advantage", "the memory is as it was"))


@points(1, question="PPOAgent.finish_episode")
def test_advantages_of_an_episode_that_terminated(student):
    """Nothing follows the last step of an episode that terminated."""
    student.expect("episode_that_terminated", only("advantage"))


@points(1, question="PPOAgent.finish_episode")
def test_advantages_of_an_episode_that_was_truncated(student):
    """When only time was up, the value of the last state follows."""
    for case in ("episode_that_was_truncated", "single_step_that_was_truncated"):
        student.expect(case, only("advantage"))


@points(1, question="PPOAgent.finish_episode")
def test_form_of_an_episode(student):
    """A dictionary of five float32 tensors with a row for each step, of the shapes in the docstring, without a gradient."""
    forms = [f"form of {name}" for name in (*ROWS, "advantage", "value_target")]
    for case in ("episode_that_terminated", "single_step_that_was_truncated"):
        student.expect(case, only("keys", *forms, "with a gradient"))


@points(1, question="PPOAgent.policy_loss")
def test_first_step(student):
    """The first step makes actions with a positive advantage more probable, also where their density is 0 in floats."""
    names = ("loss", "gradient for the means", "gradient for the log_sigma", "other parameters have a gradient")
    student.expect("at_the_first_step", only(*names))
    student.expect("actions_far_away", only(*names), rtol=1e-3, atol=1e-4)  # logarithms of -200, in single precision


@points(1, question="PPOAgent.policy_loss")
def test_clipped_objective(student):
    """For each row the smaller one of ratio and clipped ratio times advantage counts."""
    student.expect("ratios_on_both_sides", only("loss"))


@points(1, question="PPOAgent.policy_loss")
def test_where_the_gradient_ends(student):
    """Beyond the clip range there is no gradient where the advantage wants the ratio to go further, but there is one back."""
    student.expect("ratios_on_both_sides", only("gradient for the means", "gradient for the log_sigma"))


@points(1, question="PPOAgent.policy_loss")
def test_entropy_bonus(student):
    """More entropy makes the loss smaller, as much as entropy_coef says, for one row as for many."""
    for case in ("with_an_entropy_bonus", "a_batch_of_one_row"):
        student.expect(case, only("loss", "gradient for the log_sigma"))


@points(1, question="PPOAgent.policy_loss")
def test_form_of_the_policy_loss(student):
    """The loss is a scalar float32 tensor, also for a batch of one; the batch stays as it is, and nothing moves yet."""
    for case in ("ratios_on_both_sides", "a_batch_of_one_row"):
        student.expect(case, only("shape", "precision", "changed by the call", "it makes gradients by itself"))


@points(1, question="PPOAgent.value_loss")
def test_value_loss(student):
    """The mean of squared errors, whose gradient goes to the critic alone."""
    for case in ("values_and_targets", "one_value_and_one_target"):
        student.expect(case, only("loss", "gradient for the values", "other parameters have a gradient"))


@points(1, question="PPOAgent.value_loss")
def test_form_of_the_value_loss(student):
    """The loss is a scalar float32 tensor, also for a batch of one; the batch stays as it is, and nothing moves yet."""
    for case in ("values_and_targets", "one_value_and_one_target"):
        student.expect(case, only("shape", "precision", "changed by the call", "it makes gradients by itself"))


@points(1, question="PPOAgent.update")
def test_minibatches(student):
    """Every epoch uses each row once, in shuffled minibatches, with what belongs to it, for both losses."""
    student.expect("two_updates", rows_once([16, 16], 4, any_order=True))
    student.expect("two_updates", shuffled([16, 16], 4))
    student.expect("two_updates", aligned("action", "log_prob", "value_target"))
    student.expect("two_updates", only("batches of the value loss are those of the policy loss"))


@points(1, question="PPOAgent.update")
def test_normalised_advantages(student):
    """The advantages are normalised, all together, before anything is learned; they may all be the same."""
    student.expect("two_updates", aligned("advantage"), also=other_deviation(16))
    student.expect("equal_advantages", aligned("advantage"))
    student.expect("minibatches_of_one_row", aligned("advantage"), also=other_deviation(5))


@points(1, question="PPOAgent.update")
def test_steps_of_the_optimizer(student):
    """Each minibatch makes one step, by the gradient of its own losses; their means are returned."""
    student.expect("two_updates", row_gradients)
    student.expect("two_updates", mean_losses)


@points(1, question="PPOAgent.update")
def test_form_of_an_update(student):
    """It returns {"policy_loss": ..., "value_loss": ...}, floats, and leaves the learning rate as it is."""
    student.expect("two_updates", only("returned are", "the learning rate is as it was"))


# All together


@points(3, question="one_update")
def test_one_update(student):
    """Your own functions play six episodes in a tiny environment and learn from all of their steps, without an exception."""
    names = ("an update was made", "rows that are learned from", "its losses are finite", "all numbers are finite")
    student.expect("one_update_in_one_environment", only("it breaks", *names, "parameters that move before the update"))


@points(2, question="one_update")
def test_one_update_of_several_environments(student):
    """They do so in three environments at once."""
    names = ("an update was made", "rows that are learned from", "its losses are finite", "all numbers are finite")
    student.expect("one_update_in_three_environments", only("it breaks", *names, "parameters that do not move"))


@points(2, question="one_update")
def test_parameters_move(student):
    """The update moves every parameter of both networks."""
    student.expect("one_update_in_one_environment", only("it breaks", "an update was made", "parameters that do not move"))


@points(2, question="one_update")
def test_policy_improves(student):
    """After the update, the clipped objective is larger on the steps that it has learned from."""
    name = "the objective of the same rows is larger afterwards"
    student.expect("one_update_in_one_environment", only("it breaks", "an update was made", name))


@points(1, question="one_update")
def test_values_improve(student):
    """After the update, the squared error of the values is smaller on the steps that it has learned from."""
    name = "the squared error of the values of the same rows is smaller afterwards"
    student.expect("one_update_in_one_environment", only("it breaks", "an update was made", name))


# Learning


@points(1, question="learning")
def test_learns(student, kit):
    """With what you wrote, eight environments at once, a point learns to go to the middle; another seed is tried if not."""
    seeds, returns = student.seeds(2), []
    for seed in seeds:
        facts = student.call("learn", steps=8_000, seed=seed, num_envs=8)
        student.curve(f"score of an episode, seed {seed}", facts.get("scores"), LEARNED)
        returns.append(kit.call("play", weights=facts["weights"], seed=seed)["mean return"])
        if returns[-1] >= LEARNED:
            return
    tried = " and ".join(map(str, seeds))
    raise AssertionError(f"its mean return is {returns} (seeds {tried}), expected {LEARNED} or more; standing still gives -10")
