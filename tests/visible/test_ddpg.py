"""Visible checks of `ddpg`; cases and answers: solution.json, calls: tests/drivers/ddpg.py."""

import numpy as np

from grader.judge import points
from grader.judge.views import only
from views import (
    FORM_OF_A_BATCH,
    LAYERS,
    LEARNED,
    PLOTTED,
    ROWS_OF_A_BATCH,
    arrays_after,
    drawn_evenly,
    one_episode,
    ornstein_uhlenbeck,
    soft_update,
    uniform_actions,
    uniform_last_layer,
    without_column,
)

# Statistics of random numbers that a failed check also shows.
MEASURED = ("statistics of many successive samples",)
AFTER_A_RESET = ("statistics after a reset",)
DRAWN = ("weights of the last layer / init_w", "biases of the last layer / init_w")
NETWORKS = ("actor", "critic")
RANDOM = ("mean of each dimension", "variance of each dimension", "share of values that are exactly -1 or 1")

# The replay buffer


@points(1, question="ReplayBuffer.store")
def test_rows_are_filled(student):
    """Each transition is copied to the next row of all arrays; the other rows are zero."""
    student.expect("buffer_of_two_actions", arrays_after(0, 3))


@points(1, question="ReplayBuffer.store")
def test_counts(student):
    """`len` and `size` count the filled rows, and `ptr` is the row to be written next, even in a full buffer."""
    student.expect(
        "buffer_half_full", only("max_size and batch_size", *(f"len, size and ptr after {n} transitions" for n in (0, 3)))
    )
    student.expect("buffer_goes_around", only(*(f"len, size and ptr after {n} transitions" for n in (4, 5, 9))))


@points(1, question="ReplayBuffer.store")
def test_goes_around(student):
    """After 4, 5 and 9 transitions, a buffer of four rows holds the latest four: each new one replaces the oldest."""
    student.expect("buffer_goes_around", arrays_after(4, 5, 9))


@points(1, question="ReplayBuffer.store")
def test_form_of_the_arrays(student):
    """The arrays are float32 with a row per transition; `rews_buf` and `done_buf` are `[size]`."""
    student.expect("buffer_of_two_actions", only("dtypes and shapes of the arrays"))
    student.expect("buffer_half_full", only("dtypes and shapes of the arrays"))


@points(1, question="ReplayBuffer.sample_batch")
def test_whole_transitions(student):
    """A batch holds the same rows of all arrays, as they were stored."""
    student.expect("batches_of_a_half_full_buffer", only(*ROWS_OF_A_BATCH))


@points(1, question="ReplayBuffer.sample_batch")
def test_every_row_may_come(student):
    """All stored rows are sampled with equal probability, unfilled rows are never sampled, and a batch is a copy."""

    names = ("a batch has unfilled or modified rows", "a later sample_batch modifies a batch")
    student.expect("batches_of_a_half_full_buffer", only(*names))
    student.expect("batches_of_a_half_full_buffer", drawn_evenly, also_show=("how often each row is sampled",))
    student.expect("batch_of_everything", only(*names))


@points(1, question="ReplayBuffer.sample_batch")
def test_no_row_twice(student):
    """All rows of a batch are different."""
    student.expect("batches_of_a_half_full_buffer", only("a batch has a row twice"))
    student.expect("batch_of_everything", only("a batch has a row twice"))


@points(1, question="ReplayBuffer.sample_batch")
def test_no_smaller_batch(student):
    """If fewer than `batch_size` transitions are stored, `sample_batch` raises an error."""
    student.expect("batch_of_two_too_few")


@points(1, question="ReplayBuffer.sample_batch")
def test_form_of_a_batch(student):
    """A batch is a dictionary of five float32 arrays; `rews` and `done` are `[B]`."""
    for case in ("batches_of_a_half_full_buffer", "batch_of_everything", "batches_of_one"):
        student.expect(case, only(*FORM_OF_A_BATCH))


# The noise


@points(1, question="OUNoise")
def test_noise_around_its_mean(student):
    """In the long run, the mean of the noise is μ."""
    student.expect("noise_by_default", ornstein_uhlenbeck("the long-run mean is μ"), also_show=MEASURED)
    student.expect("noise_around_one_half", ornstein_uhlenbeck("the long-run mean is μ"), also_show=MEASURED)


@points(1, question="OUNoise")
def test_noise_has_its_size(student):
    """In the long run, the variance of the noise is σ²/(θ(2 - θ))."""
    student.expect("noise_by_default", ornstein_uhlenbeck("the long-run variance is σ²/(θ(2 - θ))"), also_show=MEASURED)
    student.expect("noise_around_one_half", ornstein_uhlenbeck("the long-run variance is σ²/(θ(2 - θ))"), also_show=MEASURED)


@points(1, question="OUNoise")
def test_noise_remembers(student):
    """Successive samples have the correlation 1 - θ."""
    student.expect("noise_by_default", ornstein_uhlenbeck("successive samples have correlation 1 - θ"), also_show=MEASURED)
    student.expect("noise_around_one_half", ornstein_uhlenbeck("successive samples have correlation 1 - θ"), also_show=MEASURED)


@points(1, question="OUNoise")
def test_noise_of_each_dimension(student):
    """The noise in each dimension is independent of the other dimensions."""
    student.expect("noise_by_default", ornstein_uhlenbeck("the dimensions are independent"), also_show=MEASURED)


@points(1, question="OUNoise")
def test_noise_begins_anew(student):
    """A reset sets the state to μ; a new first sample follows, normal with mean μ and variance σ²."""
    names = (
        "the first sample after a reset has mean μ",
        "the first sample after a reset has variance σ²",
        "the first sample after a reset is normally distributed",
        "the second sample's variance is σ²(1 + (1 - θ)²)",
    )
    student.expect("noise_around_one_half", ornstein_uhlenbeck(*names), also_show=AFTER_A_RESET)
    student.expect("noise_around_one_half", only("state after a reset", "two episodes have the same noise"))


@points(1, question="OUNoise")
def test_form_of_noise(student):
    """A sample is a float array `[A]`, even with one dimension, and it is the new `state`."""
    for case in ("noise_around_one_half", "noise_of_one_dimension"):
        student.expect(case, only("form of a sample", "shape of the state", "state is the latest sample"))


# The networks


@points(1, question="Actor")
def test_actor_layers(student):
    """The actor has two hidden layers of 128 units with ReLU, and tanh at the end; every parameter gets a gradient."""
    student.expect("actor_of_two_actions", only(*LAYERS))


@points(1, question="Actor")
def test_shape_of_actions(student):
    """Actions are float32 `[B, A]`, or `[A]` for a single state; the state is not modified."""
    names = (
        "output shape for a batch",
        "output shape for a single state",
        "output shape for a batch of one",
        "dtype of the output",
        "arguments that forward modifies",
    )
    for case in ("actor_of_two_actions", "actor_of_one_action"):
        student.expect(case, only(*names))


@points(1, question="Actor")
def test_small_first_actions(student):
    """Only the last layer starts with weights and biases uniform in [-init_w, init_w]."""
    for case in ("actor_of_two_actions", "actor_of_larger_first_actions"):
        student.expect(case, uniform_last_layer, also_show=DRAWN)


@points(1, question="Critic")
def test_critic_layers(student):
    """The critic has two hidden layers of 128 units with ReLU, and a linear output; every parameter gets a gradient."""
    student.expect("critic_of_two_actions", only(*LAYERS))


@points(1, question="Critic")
def test_state_and_action(student):
    """The first layer gets state and action side by side, and the action gets a gradient."""
    student.expect("critic_of_two_actions", only("input of the first layer", "the action gets a gradient"))


@points(1, question="Critic")
def test_shape_of_values(student):
    """Values are float32 `[B, 1]`, even for a batch of one; state and action are not modified."""
    names = (
        "output shape for a batch",
        "output shape for a batch of one",
        "dtype of the output",
        "forward leaves state and action unchanged",
    )
    student.expect("critic_of_two_actions", only(*names), also=without_column)


@points(1, question="Critic")
def test_small_first_values(student):
    """Only the last layer starts with weights and biases uniform in [-init_w, init_w]."""
    for case in ("critic_of_two_actions", "critic_of_larger_first_values"):
        student.expect(case, uniform_last_layer, also_show=DRAWN)


# The agent: networks, actions, steps


@points(1, question="DDPGAgent.networks")
def test_sizes(student):
    """All networks fit the environment; options, noise and memory get the given arguments or the documented defaults."""
    names = [f"input and output sizes of {name} and {name}_target" for name in ("actor", "critic")]
    given = ("gamma, tau, batch_size, initial_random_steps", "initial total_step and is_test", "θ and σ of the noise")
    student.expect("agent_by_default", only(*names, *given, "obs_dim, size and batch_size of memory"))


@points(1, question="DDPGAgent.networks")
def test_targets_are_equal_at_first(student):
    """Target networks start as copies of their networks, with separate parameters."""
    names = [
        name
        for one in ("actor", "critic")
        for name in (f"{one}_target is equal to {one}", f"{one}_target has its own parameters")
    ]
    student.expect("agent_by_default", only(*names))


@points(1, question="DDPGAgent.networks")
def test_optimizers(student):
    """One Adam updates the actor with rate 3e-4, another Adam updates the critic with 1e-3; neither updates a target."""
    names = [
        name
        for one in ("actor", "critic")
        for name in (
            f"networks that {one}_optimizer updates",
            f"{one}_optimizer updates all parameters of {one}",
            f"class of {one}_optimizer",
            f"learning rate of {one}_optimizer",
            f"options of {one}_optimizer that differ from the defaults",
        )
    ]
    student.expect("agent_by_default", only(*names), atol=1e-7)


@points(1, question="DDPGAgent.networks")
def test_form_of_networks(student):
    """All four networks are float32, and all parameters of actor and critic require a gradient."""
    names = [f"dtypes of {one} and {one}_target" for one in ("actor", "critic")]
    student.expect(
        "agent_by_default", only(*names, *(f"all parameters of {one} have requires_grad=True" for one in ("actor", "critic")))
    )


@points(2, question="DDPGAgent.select_action")
def test_action_and_noise(student):
    """After the random steps, the agent adds noise to the actor's action and clips the sum to [-1, 1]."""
    student.expect(
        "actions_with_noise",
        only("actions", "select_action resets the noise", "select_action overwrites the state of the noise"),
    )
    student.expect("first_actions_with_noise", only("actions"))


@points(1, question="DDPGAgent.select_action")
def test_random_at_first(student):
    """In the first steps, actions are uniform in [-1, 1], whatever the range of the environment."""
    student.expect("first_actions", uniform_actions, also_show=RANDOM)


@points(1, question="DDPGAgent.select_action")
def test_no_noise_in_a_test(student):
    """In a test, the agent returns the actor's action without noise, before and after training."""
    student.expect("actions_of_a_test", only("actions"))
    student.expect("actions_of_a_test_after_training", only("actions"))


@points(1, question="DDPGAgent.select_action")
def test_transition_begins(student):
    """`transition` is [state, returned action]."""
    student.expect("actions_with_noise", only("transition is [state, action]"))


@points(1, question="DDPGAgent.select_action")
def test_form_of_an_action(student):
    """An action is a float array `[A]`, in training and in a test, even with one dimension."""
    for case in ("actions_with_noise", "actions_of_a_test", "first_actions_with_noise", "first_actions"):
        student.expect(case, only("form of an action"))


@points(1, question="DDPGAgent.step")
def test_step_returns(student):
    """`step` takes the action unchanged and returns next state, reward, and whether the episode terminated or was truncated."""
    names = [f"returned {name}" for name in ("next states", "rewards", "episode-over flags")]
    for case in ("steps_in_training", "steps_to_both_ends_at_once"):
        student.expect(case, only(*names, "actions that the environment receives"))


@points(1, question="DDPGAgent.step")
def test_step_stores(student):
    """In training, `step` stores each transition once, with `done` = terminated, and leaves `total_step` as it is."""
    names = [f"stored {name}" for name in ("obs", "next_obs", "acts", "rews", "done")]
    for case in ("steps_in_training", "steps_to_both_ends_at_once"):
        student.expect(case, only("number of stored transitions", *names, "increase of total_step in step"))


@points(1, question="DDPGAgent.step")
def test_step_of_a_test(student):
    """In a test, `step` stores nothing, but it still returns next state, reward, and whether the episode is over."""
    names = [f"returned {name}" for name in ("next states", "rewards", "episode-over flags")]
    student.expect("steps_in_a_test", only("number of stored transitions", *names))


@points(1, question="DDPGAgent.step")
def test_form_of_a_step(student):
    """The next state is the environment's array, the reward is one number, and the third value is True or False."""
    for case in ("steps_in_training", "steps_in_a_test"):
        student.expect(case, only("form of the next states", "form of the rewards", "form of the episode-over flags"))


# The agent: updates


@points(2, question="DDPGAgent.update_model.critic")
def test_critic_gradient(student):
    """If no episode terminated, the critic takes one step on mean((Q(s, a) - r - γ Q'(s', μ'(s')))²), for any γ in [0, 1]."""
    for case in ("critic_without_ends", "critic_without_discount", "critic_of_the_moment"):
        student.expect(case)


@points(2, question="DDPGAgent.update_model.critic")
def test_critic_at_ends(student):
    """With terminated transitions (target: the reward), the critic takes the right step, even for two action dimensions."""
    student.expect("critic_with_ends")
    student.expect("critic_of_two_actions_with_ends")


@points(2, question="DDPGAgent.update_model.critic")
def test_critic_twice(student):
    """In two updates, the critic takes two right steps, the second one without leftovers of the first."""
    student.expect("critic_twice")


@points(1, question="DDPGAgent.update_model.critic")
def test_critic_of_small_batches(student):
    """The critic takes the right step on a single transition, terminated or not, and on copies of one transition."""
    for case in ("critic_of_one_transition", "critic_of_one_end", "critic_of_equal_rows"):
        student.expect(case)


@points(1, question="DDPGAgent.update_model.actor")
def test_actor_gradient(student):
    """The actor takes one step on the loss -mean(Q(s, μ(s)))."""
    student.expect("actor_once", only("steps of actor_optimizer", "gradient of the actor in step 1"))


@points(1, question="DDPGAgent.update_model.actor")
def test_losses(student):
    """`update_model` returns actor loss and critic loss, in this order, as they were minimized."""
    student.expect("actor_once", only("returned actor losses", "returned critic losses"))


@points(1, question="DDPGAgent.update_model.actor")
def test_actor_twice(student):
    """In two updates, the actor takes two steps, the second with only its own gradient; the critic takes none for it."""
    names = (
        "steps of actor_optimizer",
        "gradient of the actor in step 2",
        "critic_optimizer also steps in the actor's update",
        "number of sampled batches",
    )
    student.expect("actor_twice", only(*names))


@points(1, question="DDPGAgent.update_model.actor")
def test_actor_climbs_the_new_critic(student):
    """Loss and gradient of the actor are those for the critic that has just been updated."""
    student.expect("actor_after_its_critic", only("gradient of the actor in step 1", "returned actor losses"))


@points(1, question="DDPGAgent.update_model.actor")
def test_targets_are_updated(student):
    """Each update ends with an update of the target networks, after the actor's step."""
    student.expect(
        "actor_twice", only("steps of actor_optimizer before each target update", "only the soft update changes the targets")
    )


@points(1, question="DDPGAgent.update_model.actor")
def test_form_of_the_losses(student):
    """Both losses are scalars: tensors without an axis, or numbers."""
    student.expect("actor_twice", only("form of the losses"))


@points(1, question="DDPGAgent._target_soft_update")
def test_targets_follow(student):
    """Each update moves a target's parameters by τ times the distance to its network; the network does not change."""
    student.expect("targets_follow", soft_update)
    student.expect("targets_follow_again", soft_update)


@points(1, question="DDPGAgent._target_soft_update")
def test_targets_in_place(student):
    """Target networks are updated in place: they and their parameters stay the same objects."""
    student.expect("targets_follow", only(*(f"{name}_target and its parameters stay the same objects" for name in NETWORKS)))


# The agent: training and testing


@points(1, question="DDPGAgent.train")
def test_states_in_order(student):
    """Each training numbers its steps from 1; each action is selected in the state that the last step or reset returned."""
    names = (
        "total_step when select_action is called",
        "is_test when select_action is called",
        "states passed to select_action",
        "actions that the environment receives",
    )
    student.expect("training_of_four_episodes", only(*names))
    student.expect(
        "training_of_four_episodes",
        only("steps of the environment in a second call, train(1)", "total_step in a second call, train(1)"),
    )


@points(1, question="DDPGAgent.train")
def test_episodes_begin_anew(student):
    """After the first reset, environment and noise are reset exactly when an episode is over, however it ended."""
    names = (
        "steps of the environment before each reset",
        "the noise is reset between two episodes",
        "steps before each reset of the noise within an episode",
        "later resets of the environment get a seed",
    )
    student.expect("training_of_four_episodes", only(*names))


@points(1, question="DDPGAgent.train")
def test_one_update_a_step(student):
    """When the random steps are over and the buffer holds a batch, one update follows each step."""
    student.expect("training_of_four_episodes", only("steps of the environment before each update"))
    student.expect("training_until_there_is_a_batch", only("steps of the environment before each update"))


@points(1, question="DDPGAgent.train")
def test_plots(student):
    """Every `plotting_interval` steps, `_plot` gets the step, all scores and the losses so far."""
    student.expect("training_of_four_episodes", only(*PLOTTED))


@points(1, question="DDPGAgent.train")
def test_form_of_what_is_plotted(student):
    """Each score and loss is a number or a tensor without an axis; `total_step` is a number."""
    student.expect("training_of_four_episodes", only("forms of the plotted values", "form of total_step"))


@points(1, question="DDPGAgent.test")
def test_an_episode_is_shown(student):
    """`test` plays one episode as a test, however long, renders a frame before each step, and prints the score."""
    student.expect("test_to_a_time_limit", one_episode)
    student.expect("test_longer_than_the_pendulum", one_episode)


@points(1, question="DDPGAgent.test")
def test_form_of_the_frames(student):
    """The list contains one picture `[height, width, 3]` for each frame, as `render` returned it."""
    student.expect("test_to_a_time_limit", only("shapes of the frames"))


# Units of actions


@points(1, question="ActionNormalizer")
def test_units_of_a_pendulum(student):
    """`action` maps [-1, 1] to [-2, 2], and `reverse_action` maps [-2, 2] back to [-1, 1]."""
    student.expect("units_of_a_pendulum", only("results of action", "results of reverse_action"))


@points(1, question="ActionNormalizer")
def test_units_of_each_dimension(student):
    """`action` is right if dimensions have different ranges, not centered at 0, and `step` uses its result."""
    student.expect("units_of_each_dimension", only("results of action", "actions that step passes to the environment"))


@points(1, question="ActionNormalizer")
def test_units_and_back(student):
    """`reverse_action` is right if dimensions have different ranges: it is the inverse of `action`."""
    student.expect("units_and_back", only("results of reverse_action"))


@points(1, question="ActionNormalizer")
def test_form_of_units(student):
    """Both methods return a float array `[A]` and do not modify their argument."""
    names = ("form of the result of action", "form of the result of reverse_action", "methods that modify their argument")
    for case in ("units_of_a_pendulum", "units_both_ways", "units_in_double_precision"):
        student.expect(case, only(*names))


# End-to-end: one update


@points(3, question="one_update")
def test_one_update_runs(student):
    """Your agent takes 32 steps in a tiny environment, stores them, and makes one update."""
    names = ("error", "number of stored transitions", "updates", "both losses are finite numbers")
    student.expect("one_update_of_everything", only(*names))


@points(4, question="one_update")
def test_one_update_moves(student):
    """Only the update changes weights: it changes all weights of actor and critic, and moves the targets by τ."""
    names = ("error", "networks that change before the first update", "changes of the networks", "moves of the target networks")
    student.expect("one_update_of_everything", only(*names))


@points(3, question="one_update")
def test_one_update_improves(student):
    """The update lowers the critic's loss and raises the value that the critic gives the actor's actions."""
    names = (
        "error",
        "critic loss on the same batch after the update",
        "critic's value of the actor's actions after the update",
    )
    student.expect("one_update_of_everything", only(*names))


# Learning


@points(1, question="learning")
def test_learns_to_stop_in_the_middle(student, kit):
    """After 120 steps in a tiny environment, the actor pushes a point to the origin; if one seed fails, another is tried."""
    returns, seeds = [], student.seeds(2)
    for seed in seeds:
        facts = student.call("learn", num_frames=120, seed=seed)
        student.curve(f"return of an episode, seed {seed}", facts.get("returns"), LEARNED)
        returns.append(kit.call("play", weights=facts["weights"])["mean return"])
        if returns[-1] >= LEARNED:
            return
    tried = " and ".join(map(str, seeds))
    raise AssertionError(f"mean return {returns} (seeds {tried}), expected {LEARNED} or more; zero actions return -1.3")


# The leaderboard


@points(0, question="trained_actor")
def test_trained_actor(student, kit):
    """Your submitted actor plays twenty episodes; the score is the mean minus the standard deviation."""
    facts = kit.call("score", file=student.attachment("actor.safetensors"), seeds=list(range(100, 120)))
    assert "refused" not in facts, f"actor.safetensors cannot be used: {facts.get('refused')}"
    returns = np.array(facts["returns"])
    student.leaderboard("Pendulum-v1: mean - std", returns.mean() - returns.std())
