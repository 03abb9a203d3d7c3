"""Hidden checks of `ppo_agent`: other data than the visible ones, and the edges of what the stub describes."""

from grader.judge import points
from grader.judge.views import aligned, gaussian_spread, only, row_gradients, rows_once, shuffled
from views import KEPT, LAYERS, LEARNED, MEASURED, mean_losses, other_deviation

# Repair


@points(1, question="GeneralizedAdvantageEstimator.length")
def test_episode_of_one_step(student):
    """One reward, one advantage."""
    student.expect("one_step", only("shape", "advantages"))


@points(1, question="GeneralizedAdvantageEstimator.length")
def test_states_with_windows(student):
    """States may have more axes."""
    names = ("shape", "advantages", "they would let a gradient through", "changed by the call")
    student.expect("back_where_it_began_with_windows", only(*names))


@points(1, question="GeneralizedAdvantageEstimator.bootstrap")
def test_time_is_up_in_the_last_row(student):
    """Where only time was up, the value of the state that followed counts."""
    student.expect("time_is_up", only("advantages"))


@points(1, question="GeneralizedAdvantageEstimator.bootstrap")
def test_without_next_states(student):
    """Without next states, the rows are one episode that terminated in the last of them."""
    student.expect("five_arguments_and_an_end", only("advantages"))


@points(2, question="GeneralizedAdvantageEstimator.ends")
def test_both_kinds_of_ends(student):
    """Terminated and truncated episodes in one array, one after another."""
    student.expect("both_inside", only("advantages up to the last end"))


@points(1, question="GeneralizedAdvantageEstimator.ends")
def test_only_terminated(student):
    """Only `terminated` is given; λ is 1."""
    student.expect("only_terminated_given", only("advantages up to the last end"))


@points(1, question="GeneralizedAdvantageEstimator.ends")
def test_only_truncated(student):
    """Only `truncated` is given; γ is 1."""
    student.expect("only_truncated_given", only("advantages", "changed by the call"))


@points(1, question="test_advantages")
def test_finds_drafts_that_lose_the_last_error(student):
    """Your test passes right estimators, whatever they return, and fails the draft and those that lose the last δ."""
    student.expect("drafts_like_that_of_the_stub")
    student.expect("drafts_that_lose_the_last_error")


@points(1, question="test_advantages")
def test_finds_wrong_bootstraps(student):
    """It passes right estimators, and fails those that take something else for the value after the last step."""
    student.expect("drafts_that_bootstrap_wrongly")


@points(1, question="test_advantages")
def test_finds_estimators_without_ends(student):
    """It passes right estimators, and fails those that see no ends inside the rows."""
    student.expect("drafts_without_ends")


@points(1, question="test_advantages")
def test_finds_estimators_with_half_of_the_ends(student):
    """It passes right estimators, and fails those that treat one kind of end wrongly, or only half."""
    student.expect("drafts_with_half_of_the_ends")


# Derive


@points(2, question="IndependentGaussianProcess.sample")
def test_other_samples_scatter(student):
    """Samples are around μ, as far as σ says, in every dimension on its own."""
    student.expect("samples_of_two_dimensions", gaussian_spread, also_show=MEASURED)
    student.expect("samples_of_two_dimensions", only("rows are independent"))


@points(1, question="IndependentGaussianProcess.get_dist")
def test_density_of_one_dimension(student):
    """One dimension: the sum over the axis leaves [B, 1]."""
    names = ("shape", "log-density", "gradient for mu", "gradient for log_sigma")
    student.expect("one_dimension", only(*names))


@points(1, question="IndependentGaussianProcess.get_dist")
def test_density_of_many_dimensions(student):
    """64 dimensions, to five digits."""
    names = ("shape", "log-density", "gradient for mu", "gradient for log_sigma")
    student.expect("sixty_four_dimensions", only(*names), rtol=1e-5, atol=1e-5)


@points(1, question="IndependentGaussianProcess.get_dist")
def test_actions_that_are_the_mean(student):
    """All actions are the mean: the density is largest there, and its gradient for μ is 0."""
    student.expect("everything_at_the_mean", only("log-density", "gradient for mu", "gradient for log_sigma"))


@points(1, question="IndependentGaussianProcess.get_dist")
def test_density_far_away(student):
    """Actions far from the mean are improbable, not impossible."""
    student.expect("far_from_the_mean", only("log-density", "gradient for mu", "gradient for log_sigma"))


@points(1, question="IndependentGaussianProcess.entropy")
def test_entropy_of_one_dimension(student):
    """One dimension."""
    student.expect("entropy_of_one_dimension", only("shape", "entropy", "gradient for log_sigma"))


@points(1, question="IndependentGaussianProcess.entropy")
def test_entropy_of_many_dimensions(student):
    """17 dimensions."""
    student.expect("entropy_of_many_dimensions", only("shape", "entropy", "gradient for log_sigma"))


# The networks


@points(1, question="Actor")
def test_actor_with_a_window(student):
    """Four observations go into the first layer together."""
    student.expect("actor_with_a_window", only(*LAYERS, "shape of mu", "shapes for one state", "changed by the call"))


@points(1, question="Actor")
def test_log_sigma_of_three_actions(student):
    """The parameter counts for all rows, and nothing else does."""
    names = (
        "shape of log_sigma",
        "log_sigma at first",
        "log_sigma is a parameter of the network",
        "log_sigma, after the parameter was set",
        "the means have changed by that",
        "gradient for the parameter",
    )
    student.expect("actor_with_a_window", only(*names))


@points(1, question="Critic")
def test_critic_with_a_window(student):
    """Four observations go into the first layer together."""
    student.expect("critic_with_a_window", only(*LAYERS, "shape", "shape for one state", "changed by the call"))


# States that are windows


@points(2, question="EpisodeMemory.get_recent_state")
def test_window_longer_than_an_episode(student):
    """An episode may be over before there are enough observations for a state."""
    student.expect("windows_of_four", only("states of episode 1", "states of episode 2", "asking adds no observation"))


@points(1, question="EpisodeMemory.get_recent_state")
def test_window_of_two(student):
    """Two observations; the first episode has only one."""
    student.expect("windows_of_two", only("window_length", "states of episode 1", "states of episode 2"))


# The agent

ACTIONS = ("returned", "shape of the action", "action", "states that the actor was given")


@points(2, question="PPOAgent.forward")
def test_states_of_several_environments(student):
    """Every environment has its own state of two observations, and its own action."""
    names = [f"{name} in call {call}" for name in (*ACTIONS, *KEPT) for call in range(3)]
    student.expect("acts_in_states_of_two_observations", only(*names))


@points(1, question="PPOAgent.forward")
def test_action_that_is_one_number(student):
    """An action of one number is an array [1]; a batch of one environment has a batch of one action."""
    names = [f"{name} in call {call}" for name in (*ACTIONS, *KEPT) for call in range(4)]
    student.expect("acts_by_one_number", only(*names, "the actor has changed", "memories have changed"))
    names = [f"{name} in call {call}" for name in (*ACTIONS, *KEPT) for call in range(2)]
    student.expect("acts_in_a_batch_of_one_environment", only(*names))


@points(1, question="PPOAgent.forward")
def test_means_for_several_environments(student):
    """Without exploring, all actions are means."""
    names = [f"{name} in call {call}" for name in ACTIONS for call in range(2)]
    student.expect("acts_in_five_environments_without_exploring", only(*names))


@points(1, question="PPOAgent.backward")
def test_both_ends_at_once(student):
    """The world may end when time is up; and an episode may have one step."""
    student.expect("both_ends_at_once", only("steps in each memory, after each call", "finished episodes"))


@points(2, question="PPOAgent.backward")
def test_four_environments(student):
    """Four environments that end at different times, in states of two observations; the agent is made as it was asked for."""
    student.expect("agent_as_it_is_made")
    names = ("steps in each memory, after each call", "each step has its own observation and state", "finished episodes")
    student.expect("four_environments_that_learn", only(*names))


@points(1, question="PPOAgent.backward")
def test_updates_of_four_environments(student):
    """There is an update as soon as there are enough episodes, or more."""
    names = ("updates", "returned, by call", "episodes that wait, after each call")
    student.expect("four_environments_that_learn", only(*names))


@points(1, question="PPOAgent.backward")
def test_updates_after_every_episode(student):
    """N may be 1."""
    names = ("finished episodes", "updates", "returned, by call", "episodes that wait, after each call")
    student.expect("updates_after_every_episode", only(*names))


@points(1, question="PPOAgent.backward")
def test_two_environments_in_a_test(student):
    """When the agent is not in training, nothing is learned, but the memories are kept."""
    names = ("steps in each memory, after each call", "updates", "returned, by call", "episodes that wait, after each call")
    student.expect("two_environments_not_in_training", only(*names))


ROWS = [f"{kind}{name}" for name in ("state", "action", "log_prob", "advantage", "value_target") for kind in ("shape of ", "")]


@points(1, question="PPOAgent.finish_episode")
def test_rows_with_windows(student):
    """States with windows, actions with three numbers."""
    student.expect("truncated_episode_with_windows", only("keys", *ROWS[:6], "with a gradient", "the memory is as it was"))


@points(1, question="PPOAgent.finish_episode")
def test_advantages_with_windows(student):
    """The state in which time was up is a window, too."""
    student.expect("truncated_episode_with_windows", only("shape of advantage", "advantage"))


@points(1, question="PPOAgent.finish_episode")
def test_value_targets_with_windows(student):
    """A value target is the advantage plus the value of the state."""
    student.expect("truncated_episode_with_windows", only("shape of value_target", "value_target minus advantage"))


@points(1, question="PPOAgent.finish_episode")
def test_rows_of_one_step(student):
    """An episode may have one step."""
    student.expect("episode_of_one_step", only(*ROWS))


@points(2, question="PPOAgent.policy_loss")
def test_narrow_clip_range(student):
    """The clip range is as wide as `clip` says."""
    student.expect("a_narrow_clip_range", only("shape", "loss", "gradient for the means", "gradient for the log_sigma"))


@points(2, question="PPOAgent.policy_loss")
def test_everything_at_once(student):
    """Ratios, clipping and entropy together."""
    names = ("loss", "gradient for the means", "gradient for the log_sigma", "other parameters have a gradient")
    student.expect("everything_at_once", only(*names))


@points(1, question="PPOAgent.policy_loss")
def test_one_dimension_of_actions(student):
    """Actions of one number."""
    student.expect("one_dimension_of_actions", only("loss", "gradient for the means", "gradient for the log_sigma"))


@points(1, question="PPOAgent.value_loss")
def test_other_value_loss(student):
    """Values far from their targets."""
    names = ("shape", "loss", "gradient for the values", "other parameters have a gradient")
    student.expect("more_values_and_targets", only(*names))


@points(1, question="PPOAgent.update")
def test_other_minibatches(student):
    """75 rows in minibatches of 70."""
    student.expect("updates_with_larger_minibatches", rows_once([38, 38], 3, any_order=True))
    student.expect("updates_with_larger_minibatches", shuffled([38, 38], 3))
    student.expect("updates_with_larger_minibatches", aligned("action", "log_prob", "value_target"))
    student.expect("updates_with_larger_minibatches", only("batches of the value loss are those of the policy loss"))


@points(1, question="PPOAgent.update")
def test_other_normalised_advantages(student):
    """All episodes of an update are normalised together, and no others."""
    student.expect("updates_with_larger_minibatches", aligned("advantage"), also=other_deviation(38))


@points(1, question="PPOAgent.update")
def test_other_steps_of_the_optimizer(student):
    """Each minibatch makes one step, also in the second update."""
    student.expect("updates_with_larger_minibatches", row_gradients)
    student.expect("updates_with_larger_minibatches", mean_losses)


# Learning


@points(1, question="learning")
def test_learns_in_one_environment(student, kit):
    """One environment at a time, states of two observations, two dimensions."""
    seeds, returns = student.seeds(2), []
    for seed in seeds:
        facts = student.call("learn", steps=8_000, seed=seed, num_envs=1, d=2, window_length=2)
        returns.append(kit.call("play", weights=facts["weights"], seed=seed, d=2, window_length=2)["mean return"])
        if returns[-1] >= LEARNED:
            return
    tried = " and ".join(map(str, seeds))
    raise AssertionError(f"its mean return is {returns} (seeds {tried}), expected {LEARNED} or more; standing still gives -10")
