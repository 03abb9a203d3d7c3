"""Visible checks of `ppo_agent`; their cases and answers are in solution.json, their calls in tests/drivers/ppo_agent.py."""

from grader.judge import points
from grader.judge.compare import difference
from grader.judge.failure import CheckFailed
from grader.judge.views import aligned, gaussian_spread, only, row_gradients, rows_once, shuffled
from views import KEPT, LAYERS, LEARNED, MEASURED, mean_losses, other_deviation

OWN = "your own estimator"
SAYS = (f"what it says of {OWN}",)

# Repair


@points(1, question="GeneralizedAdvantageEstimator.length")
def test_an_advantage_for_each_reward(student):
    """There are as many advantages as rewards, and the last one is the last δ."""
    student.expect("five_arguments", only("shape", "advantages"))


@points(1, question="GeneralizedAdvantageEstimator.length")
def test_all_errors_count(student):
    """Every δ, also the last one, counts for all steps before it, a little less with each step."""
    names = ("shape", "advantages", "they would let a gradient through", "changed by the call")
    student.expect("back_where_it_began", only(*names))


@points(1, question="GeneralizedAdvantageEstimator.bootstrap")
def test_episode_goes_on(student):
    """After the last step comes the state that did come, and its value counts."""
    student.expect("goes_on", only("advantages"))


@points(1, question="GeneralizedAdvantageEstimator.bootstrap")
def test_nothing_else_given(student):
    """Without next states, the rows are one episode that terminated in the last of them."""
    student.expect("nothing_else_given", only("advantages"))


@points(1, question="GeneralizedAdvantageEstimator.ends")
def test_episode_comes_to_an_end(student):
    """After a last step that terminated the episode comes nothing; after an end inside, another episode goes on."""
    student.expect("comes_to_an_end", only("advantages"))
    student.expect("goes_on_after_an_end", only("advantages", "changed by the call"))


@points(1, question="GeneralizedAdvantageEstimator.ends")
def test_terminated_inside(student):
    """Where the world ended, neither a value nor an advantage comes back from the next row."""
    student.expect("terminated_inside", only("advantages up to the last end"))


@points(2, question="GeneralizedAdvantageEstimator.ends")
def test_truncated_inside(student):
    """Where only time was up, the value of the state that followed comes back, and no advantage of another episode."""
    student.expect("truncated_inside", only("advantages up to the last end", "changed by the call"))


@points(1, question="test_advantages")
def test_finds_the_draft(student):
    """Your test passes your estimator, and fails the draft of the stub."""
    tried(student, "the draft")


@points(2, question="test_advantages")
def test_finds_what_is_wrong_at_the_last_step(student):
    """It passes your estimator, and fails it without its last advantage, and with V(s_0) after the last step."""
    names = ("your estimator without its last advantage", "your estimator with V(s_0) after the last step")
    tried(student, *names)


@points(1, question="test_advantages")
def test_finds_missing_ends(student):
    """It passes your estimator, and fails it when it does not see ends inside the rows."""
    tried(student, "your estimator with no end before the last step")


def tried(student, *wrong):
    """Require that the test passes the student's estimator, and fails those; it cannot be tried while that is wrong itself."""
    try:
        student.expect("your_own_estimator", only(OWN, *wrong), also_show=SAYS)
    except CheckFailed as failure:
        if failure.unwritten or is_repaired(student):
            raise
        student.not_run("your test is tried on your own estimator, which must be repaired first")


def is_repaired(student):
    """Return whether the student's estimator is right."""
    for name in ("back_where_it_began", "goes_on", "nothing_else_given", "goes_on_after_an_end", "truncated_inside"):
        case = student.case(name)
        try:
            found = student.call(case.driver, **case.inputs)
        except CheckFailed:
            return False
        if difference(case.answer["advantages"], found.get("advantages"), rtol=1e-4, atol=1e-5):  # as checks compare
            return False
    return True


# Derive


@points(1, question="IndependentGaussianProcess.sample")
def test_samples_scatter(student):
    """Samples are around μ, as far as σ says, in every dimension on its own."""
    student.expect("samples_of_three_dimensions", gaussian_spread, also_show=MEASURED)


@points(1, question="IndependentGaussianProcess.sample")
def test_shapes_of_samples(student):
    """One action for each row, always another, through which no gradient goes."""
    names = (
        "shape of the actions",
        "shape of an action for one row without axis",
        "the next actions are others",
        "rows are independent",
        "they would let a gradient through",
    )
    student.expect("samples_of_three_dimensions", only(*names))


@points(1, question="IndependentGaussianProcess.get_dist")
def test_seeds_example(student):
    """The course text's example: -6.1296 and -4.9586 in the first two rows."""
    student.expect("seeds_example", only("log-density"))


@points(1, question="IndependentGaussianProcess.get_dist")
def test_density(student):
    """One number for each row, [B, 1]: the sum over the dimensions."""
    student.expect("three_dimensions", only("shape", "log-density", "changed by the call"))


@points(1, question="IndependentGaussianProcess.get_dist")
def test_gradients_of_the_density(student):
    """Gradients go to μ and log σ."""
    student.expect("three_dimensions", only("gradient for mu", "gradient for log_sigma"))


@points(1, question="IndependentGaussianProcess.get_dist")
def test_gradients_at_the_mean(student):
    """They are numbers also where an action is the mean."""
    student.expect("at_the_mean", only("log-density", "gradient for mu", "gradient for log_sigma"))


@points(1, question="IndependentGaussianProcess.entropy")
def test_entropy(student):
    """One number for each row, [B, 1]."""
    student.expect("entropy_of_three_dimensions", only("shape", "entropy", "changed by the call"))


@points(1, question="IndependentGaussianProcess.entropy")
def test_gradient_of_the_entropy(student):
    """It grows with every log σ, and does not depend on μ."""
    student.expect("entropy_of_three_dimensions", no_gradient_for_mu)


def no_gradient_for_mu(facts):
    """Return the gradient for log σ; whether μ has none or zeros does not matter."""
    gradient = facts["gradient for mu"]
    return {
        "gradient for log_sigma": facts["gradient for log_sigma"],
        "there is a gradient for mu": not isinstance(gradient, str) and bool(gradient.any()),
    }


# The networks


@points(1, question="Actor")
def test_actor_layers(student):
    """Three hidden layers of 16 units with ReLU between, and nothing after the last layer."""
    student.expect(
        "actor_of_two_actions", only(*LAYERS, "shape of mu", "shapes for one state", "another actor begins with other weights")
    )


@points(1, question="Actor")
def test_log_sigma(student):
    """log_sigma is a parameter, 0 at first, and the same in all rows."""
    names = (
        "shape of log_sigma",
        "log_sigma at first",
        "log_sigma is a parameter of the network",
        "the two share no parameter",
        "shape of the parameter",
        "log_sigma, after the parameter was set",
        "the means have changed by that",
        "gradient for the parameter",
    )
    student.expect("actor_of_two_actions", only(*names))


@points(1, question="Critic")
def test_critic_layers(student):
    """Three hidden layers of 16 units with ReLU between, and one value for each state, [B, 1]."""
    student.expect(
        "critic_of_three_numbers",
        only(
            *LAYERS,
            "shape",
            "shape for one state",
            "it shares parameters with an actor",
            "another critic begins with other weights",
        ),
    )


# States that are windows


@points(1, question="EpisodeMemory.get_recent_state")
def test_newest_observations(student):
    """The latest observations, the newest last; asking for a state changes nothing."""
    student.expect("windows_of_three", latest_of("states of episode 1", 2, "asking adds no observation"))


@points(1, question="EpisodeMemory.get_recent_state")
def test_before_the_first_observation(student):
    """Where there are none yet, there are zeros, at the front."""
    student.expect("windows_of_three", only("states of episode 1", "states of episode 2"))


@points(1, question="EpisodeMemory.get_recent_state")
def test_one_observation(student):
    """With a window of 1, the state is the observation."""
    student.expect("windows_of_one", only("window_length", "states of episode 1", "states of episode 2"))


def latest_of(name, first, *others):
    """Return a view of the states from one step on, and of other facts."""
    return lambda facts: only("returned", *others)(facts) | {f"{name}, from step {first} on": facts[name][first:]}


# The agent


@points(1, question="PPOAgent.forward")
def test_action_for_one_environment(student):
    """An action is an array [n]: a sample of the process, for the state that the observation makes."""
    names = [f"{name} in call {call}" for name in ("returned", "shape of the action", "action") for call in range(3)]
    states = [f"states that the actor was given in call {call}" for call in range(3)]
    student.expect("acts_in_one_environment", only(*names, *states, "the actor has changed", "memories have changed"))


@points(1, question="PPOAgent.forward")
def test_actions_for_several_environments(student):
    """With several environments, there is an action for each, [num_envs, n]."""
    names = [f"{name} in call {call}" for name in ("returned", "shape of the action", "action") for call in range(3)]
    student.expect("acts_in_four_environments", only(*names))


@points(1, question="PPOAgent.forward")
def test_no_exploration_in_a_test(student):
    """When the agent is not in training, the action is the mean."""
    student.expect("acts_without_exploring", only(*(f"action in call {call}" for call in range(3))))


@points(1, question="PPOAgent.forward")
def test_what_is_kept(student):
    """Kept are copies of the observations, the states, the actions and their log-probabilities, without a gradient."""
    for case in ("acts_in_four_environments", "acts_in_a_state_of_three_observations"):
        student.expect(case, only(*(f"{name} in call {call}" for name in KEPT for call in range(3))))


@points(1, question="PPOAgent.backward")
def test_steps_are_kept(student):
    """Each call adds a step to the memory, with its own observation and state, but not the extra call after an end."""
    names = ("steps in each memory, after each call", "each step has its own observation and state")
    student.expect("one_environment", only(*names))


@points(2, question="PPOAgent.backward")
def test_episodes_are_finished(student):
    """In the extra call the whole episode is finished, with the state that was observed last."""
    student.expect("one_environment", only("finished episodes"))


@points(1, question="PPOAgent.backward")
def test_updates(student):
    """After N episodes there is an update with all of them, and what it returns is returned; then they are gone."""
    student.expect("updates_after_two_episodes", only("updates", "returned, by call", "episodes that wait, after each call"))


@points(1, question="PPOAgent.backward")
def test_several_environments(student):
    """Every environment has its own memory and its own ends."""
    names = ("steps in each memory, after each call", "each step has its own observation and state")
    student.expect("three_environments", only(*names, "finished episodes", "updates", "episodes that wait, after each call"))


@points(1, question="PPOAgent.backward")
def test_nothing_learned_in_a_test(student):
    """When the agent is not in training, memories are kept, but nothing waits to be learned, and nothing is."""
    names = ("steps in each memory, after each call", "updates", "returned, by call", "episodes that wait, after each call")
    student.expect("not_in_training", only(*names))


ROWS = [f"{kind}{name}" for name in ("state", "action", "log_prob") for kind in ("shape of ", "")]


@points(1, question="PPOAgent.finish_episode")
def test_rows_of_an_episode(student):
    """States, actions and log-probabilities are those of the steps; all five tensors have a row for each, and no gradient."""
    shapes = ("shape of advantage", "shape of value_target")
    kinds = [f"{name} is" for name in ("state", "action", "log_prob", "advantage", "value_target")]
    names = ("keys", *ROWS, *shapes, *kinds, "with a gradient", "the memory is as it was")
    student.expect("episode_that_terminated", only(*names))


@points(1, question="PPOAgent.finish_episode")
def test_advantages_of_an_episode_that_terminated(student):
    """Nothing follows the last step of an episode that terminated."""
    student.expect("episode_that_terminated", only("advantage"))


@points(1, question="PPOAgent.finish_episode")
def test_advantages_of_an_episode_that_was_truncated(student):
    """When only time was up, the value of the last state follows."""
    student.expect("episode_that_was_truncated", only("advantage"))


@points(1, question="PPOAgent.finish_episode")
def test_value_targets(student):
    """A value target is the advantage plus the critic's value of the state."""
    student.expect("episode_that_terminated", only("value_target minus advantage"))


@points(1, question="PPOAgent.policy_loss")
def test_first_step(student):
    """While the policy is still the one that acted, the loss is minus the mean advantage, a scalar."""
    student.expect("at_the_first_step", only("shape", "loss", "changed by the call", "it makes gradients by itself"))


@points(1, question="PPOAgent.policy_loss")
def test_direction(student):
    """A step against its gradient makes actions with a positive advantage more probable."""
    names = ("gradient for the means", "gradient for the log_sigma", "other parameters have a gradient")
    student.expect("at_the_first_step", only(*names))


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
    """More entropy makes the loss smaller, as much as entropy_coef says."""
    student.expect("with_an_entropy_bonus", only("loss", "gradient for the log_sigma"))


@points(1, question="PPOAgent.value_loss")
def test_value_loss(student):
    """The mean of squared errors, a scalar, whose gradient goes to the critic alone."""
    names = ("shape", "loss", "gradient for the values", "other parameters have a gradient", "changed by the call")
    student.expect("values_and_targets", only(*names))


@points(1, question="PPOAgent.update")
def test_minibatches(student):
    """Every epoch uses each row once, in shuffled minibatches, with what belongs to it, for both losses."""
    student.expect("two_updates", rows_once([16, 16], 4, any_order=True))
    student.expect("two_updates", shuffled([16, 16], 4))
    student.expect("two_updates", aligned("action", "log_prob", "value_target"))
    student.expect("two_updates", only("batches of the value loss are those of the policy loss"))


@points(1, question="PPOAgent.update")
def test_normalised_advantages(student):
    """The advantages are normalised, all together, before anything is learned."""
    student.expect("two_updates", aligned("advantage"), also=other_deviation(16))


@points(1, question="PPOAgent.update")
def test_steps_of_the_optimizer(student):
    """Each minibatch makes one step, by the gradient of its own losses; their means are returned."""
    student.expect("two_updates", row_gradients)
    student.expect("two_updates", mean_losses)
    student.expect("two_updates", only("the learning rate is as it was"))


# Learning


@points(1, question="learning")
def test_learns(student, kit):
    """With what you wrote, eight environments at once, a point learns to go to the middle; another seed is tried if not."""
    seeds, returns = student.seeds(2), []
    for seed in seeds:
        facts = student.call("learn", steps=8_000, seed=seed, num_envs=8)
        student.curve(f"score of an episode, seed {seed}", facts.get("scores"))
        returns.append(kit.call("play", weights=facts["weights"], seed=seed)["mean return"])
        if returns[-1] >= LEARNED:
            return
    tried = " and ".join(map(str, seeds))
    raise AssertionError(f"its mean return is {returns} (seeds {tried}), expected {LEARNED} or more; standing still gives -10")
