"""Hidden checks of `ppo_agent`: other data and edge cases. Only a grader has them."""

from grader.judge import points
from grader.judge.views import aligned, gaussian_spread, only, row_gradients, rows_once, shuffled
from views import KEPT, LAYERS, LEARNED, LOG_SIGMA, MEASURED, ROWS, SCATTER, in_calls, mean_losses, other_deviation

# Repair


@points(1, question="GeneralizedAdvantageEstimator.length")
def test_other_lengths(student):
    """There is one advantage per step, for nine steps whose states have several axes and for only two steps."""
    names = ("number of advantages", "growth of each advantage when its reward grows by 1")
    student.expect("nine_steps_with_windows", only(*names))
    student.expect("two_steps", only(*names))


@points(1, question="GeneralizedAdvantageEstimator.bootstrap")
def test_other_last_steps(student):
    """The last advantage is right if the episode goes on, and without `next_state`; truncated steps use their next state."""
    student.expect("goes_on_and_is_told_so", only("advantage of the last step"))
    student.expect("five_arguments_and_an_end", only("advantage of the last step"))
    name = "truncated steps whose advantage depends on the next row"
    student.expect("another_episode_in_the_next_row_with_windows", only(name))
    student.expect("time_is_up", only("all truncated steps use next_state, or none of them does"))


@points(1, question="GeneralizedAdvantageEstimator.ends")
def test_both_kinds_of_ends(student):
    """Advantages are right for terminated and truncated episodes, one after another."""
    student.expect("both_inside", only("advantages up to the last end of an episode"))


@points(1, question="GeneralizedAdvantageEstimator.ends")
def test_only_terminated(student):
    """Advantages are right if only `terminated` is given, with λ = 1 and with γ = λ = 0."""
    student.expect("only_terminated_given", only("advantages up to the last end of an episode"))
    student.expect("neither_counts", only("advantages up to the last end of an episode"))


@points(1, question="GeneralizedAdvantageEstimator.ends")
def test_only_truncated(student):
    """Advantages are right if only `truncated` is given, with γ = 1."""
    student.expect("only_truncated_given", only("advantages up to the last end of an episode"))


@points(1, question="test_advantages")
def test_finds_drafts_that_lose_the_last_error(student):
    """Your test accepts correct estimators; it rejects the draft and other estimators without the last δ."""
    student.expect("drafts_that_lose_the_last_error")


@points(1, question="test_advantages")
def test_finds_wrong_bootstraps(student):
    """Your test accepts correct estimators; it rejects estimators with a wrong value after the last step."""
    student.expect("drafts_that_bootstrap_wrongly")


@points(1, question="test_advantages")
def test_finds_estimators_with_half_of_the_ends(student):
    """Your test accepts correct estimators; it rejects estimators that ignore or confuse ends of episodes."""
    student.expect("drafts_with_half_of_the_ends")


# Derive


@points(1, question="IndependentGaussianProcess.sample")
def test_other_samples_scatter(student):
    """Samples have mean μ and standard deviation σ, independently in each dimension and row."""
    student.expect("samples_of_two_dimensions", only(*SCATTER))
    student.expect("samples_of_two_dimensions", spread, also_show=MEASURED)


def spread(facts):
    """Return how samples scatter, whatever their shape."""
    return {name: value for name, value in gaussian_spread(facts).items() if name != "shape of the actions"}


DENSITY = ("log-density", "gradient for mu", "gradient for log_sigma")


@points(1, question="IndependentGaussianProcess.get_dist")
def test_density_of_other_dimensions(student):
    """The log-density is right for one dimension, and to five digits for 64 dimensions."""
    student.expect("one_dimension", only(*DENSITY))
    student.expect("sixty_four_dimensions", only(*DENSITY), rtol=1e-5, atol=1e-5)


@points(1, question="IndependentGaussianProcess.get_dist")
def test_density_near_and_far(student):
    """Log-density and gradients are right with all actions at the mean (the gradient for μ is 0), and far from it."""
    student.expect("everything_at_the_mean", only(*DENSITY))
    student.expect("far_from_the_mean", only(*DENSITY))


@points(1, question="IndependentGaussianProcess.entropy")
def test_entropy_of_one_dimension(student):
    """The entropy and its gradient for log σ are right for one dimension."""
    student.expect("entropy_of_one_dimension", only("entropy", "gradient for log_sigma"))


@points(1, question="IndependentGaussianProcess.entropy")
def test_entropy_of_many_dimensions(student):
    """The entropy and its gradient for log σ are right for 17 dimensions."""
    student.expect("entropy_of_many_dimensions", only("entropy", "gradient for log_sigma"))


# The networks


@points(1, question="Actor")
def test_actor_with_a_window(student):
    """The layers of the actor are right for states of four observations, which the first layer gets together."""
    student.expect("actor_with_a_window", only(*LAYERS))


@points(1, question="Actor")
def test_log_sigma_of_three_actions(student):
    """The parameter log_sigma has three numbers, initially 0; every row that the actor returns is this parameter."""
    student.expect("actor_with_a_window", only(*LOG_SIGMA))


@points(1, question="Critic")
def test_critic_with_a_window(student):
    """The layers of the critic are right for states of four observations, which the first layer gets together."""
    student.expect("critic_with_a_window", only(*LAYERS))


# States that are windows


@points(2, question="EpisodeMemory.get_recent_state")
def test_window_longer_than_an_episode(student):
    """States are right if the window is longer than an episode, and if it contains a single observation."""
    student.expect("windows_of_one_number", only("window_length", "states of episode 1", "states of episode 2"))
    student.expect(
        "windows_of_four", only("states of episode 1", "states of episode 2", "get_recent_state has no side effects")
    )


@points(1, question="EpisodeMemory.get_recent_state")
def test_window_of_two(student):
    """Windows of two observations are right, even in an episode with a single observation."""
    student.expect("windows_of_two", only("window_length", "states of episode 1", "states of episode 2"))


# The agent

ACTIONS = ("action", "states passed to the actor")


@points(1, question="PPOAgent.forward")
def test_states_of_several_environments(student):
    """Actions and stored data are right for three environments, each with its own state of two observations."""
    student.expect("acts_in_states_of_two_observations", only(*in_calls((*ACTIONS, *KEPT), 3)))


@points(1, question="PPOAgent.forward")
def test_action_that_is_one_number(student):
    """Actions and stored data are right for one action dimension, and for a batch of one environment."""
    names = (*ACTIONS, *KEPT)
    student.expect("acts_by_one_number", only(*in_calls(names, 4), "forward changes the actor", "forward changes the memories"))
    student.expect("acts_in_a_batch_of_one_environment", only(*in_calls(names, 2)))


@points(1, question="PPOAgent.forward")
def test_means_for_several_environments(student):
    """Without exploration, all actions are means, and are stored as they are."""
    student.expect("acts_in_five_environments_without_exploring", only(*in_calls((*ACTIONS, *KEPT), 2)))


@points(1, question="PPOAgent.backward")
def test_both_ends_at_once(student):
    """Memories and finished episodes are right if a step is both terminated and truncated, and in episodes of one step."""
    student.expect("both_ends_at_once", only("steps in each memory, after each call", "finished episodes"))


@points(1, question="PPOAgent.backward")
def test_four_environments(student):
    """`backward` is right for four environments with windows of two observations; the constructor uses its arguments."""
    student.expect("agent_as_it_is_made")
    names = ("steps in each memory, after each call", "each step has its own observation and state", "finished episodes")
    student.expect("four_environments_that_learn", only(*names))


@points(1, question="PPOAgent.backward")
def test_updates_of_four_environments(student):
    """There is an update as soon as there are N episodes or more; N may be 1."""
    names = ("updates", "values returned by backward", "length of `episodes` after each call")
    student.expect("four_environments_that_learn", only(*names))
    student.expect("updates_after_every_episode", only(*names))


@points(1, question="PPOAgent.backward")
def test_two_environments_in_a_test(student):
    """If the agent is not in training, it does not learn, but memories are filled."""
    names = (
        "steps in each memory, after each call",
        "updates",
        "values returned by backward",
        "length of `episodes` after each call",
    )
    student.expect("two_environments_not_in_training", only(*names))


@points(1, question="PPOAgent.finish_episode")
def test_rows_with_windows(student):
    """The rows are right for states with windows, three action dimensions, and an episode of one step."""
    student.expect("truncated_episode_with_windows", only(*ROWS, "the memory and final_state are unchanged"))
    student.expect("episode_of_one_step", only(*ROWS, "the memory and final_state are unchanged"))


@points(1, question="PPOAgent.finish_episode")
def test_advantages_with_windows(student):
    """Advantages are right if the final state of a truncated episode is a window, and for a single step."""
    student.expect("truncated_episode_with_windows", only("advantage"))
    student.expect("episode_of_one_step", only("advantage"))


@points(1, question="PPOAgent.finish_episode")
def test_value_targets_with_windows(student):
    """A value target is the advantage plus the value of the state."""
    for case in ("truncated_episode_with_windows", "episode_of_one_step"):
        student.expect(case, only("value_target minus advantage"))


GRADIENTS = ("gradient for mu", "gradient for log_sigma")


@points(1, question="PPOAgent.policy_loss")
def test_narrow_clip_range(student):
    """Loss and gradients are right for a narrow clip range (0.05)."""
    student.expect("a_narrow_clip_range", only("loss", *GRADIENTS))


@points(1, question="PPOAgent.policy_loss")
def test_everything_at_once(student):
    """Loss and gradients are right with ratios, clipping and entropy together."""
    student.expect("everything_at_once", only("loss", *GRADIENTS, "other parameters have a gradient"))


@points(1, question="PPOAgent.policy_loss")
def test_one_dimension_of_actions(student):
    """Loss and gradients are right for one action dimension."""
    student.expect("one_dimension_of_actions", only("loss", *GRADIENTS))


@points(1, question="PPOAgent.policy_loss")
def test_improbable_actions(student):
    """Loss and gradients are right for actions whose densities underflow to 0."""
    student.expect("improbable_actions_in_a_batch", only("loss", *GRADIENTS), rtol=1e-3, atol=1e-4)  # see the visible one


@points(1, question="PPOAgent.value_loss")
def test_other_value_loss(student):
    """Loss and gradient are right for values far from their targets."""
    names = ("loss", "gradient for the values", "other parameters have a gradient")
    student.expect("more_values_and_targets", only(*names))


@points(1, question="PPOAgent.update")
def test_other_minibatches(student):
    """Every epoch uses each row once, in shuffled minibatches of 35 rows and a last one of three, alike for both losses."""
    student.expect("updates_with_larger_minibatches", rows_once([38, 38], 3, any_order=True))
    student.expect("updates_with_larger_minibatches", shuffled([38, 38], 3))
    student.expect("updates_with_larger_minibatches", aligned("action", "log_prob", "value_target"))
    student.expect("updates_with_larger_minibatches", only("policy_loss and value_loss get the same minibatches"))


@points(1, question="PPOAgent.update")
def test_other_steps_of_the_optimizer(student):
    """Advantages are normalized together; each minibatch makes one step on its losses, and their means are returned."""
    student.expect("updates_with_larger_minibatches", aligned("advantage"), also=other_deviation(38))
    student.expect("equal_advantages_of_an_episode", aligned("advantage"))
    student.expect("updates_with_larger_minibatches", row_gradients)
    student.expect("updates_with_larger_minibatches", mean_losses)


# Learning


@points(1, question="learning")
def test_learns_in_one_environment(student, kit):
    """With one environment, windows of two and two dimensions, your agent learns in 512 steps (at most two seeds)."""
    seeds, returns = student.seeds(2), []
    for seed in seeds:
        facts = student.call("learn", steps=512, seed=seed, num_envs=1, d=2, window_length=2)
        returns.append(kit.call("play", weights=facts["weights"])["mean return"])
        if returns[-1] >= LEARNED:
            return
    tried = " and ".join(map(str, seeds))
    raise AssertionError(f"mean return {returns} (seeds {tried}), expected {LEARNED} or more; zero actions return -1.3")
