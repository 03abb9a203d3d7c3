"""Hidden checks of `ddpg`: other sizes, edge cases and defaults. Only a grader has them."""

from grader.judge import points
from grader.judge.views import only
from views import (
    LAYERS,
    LEARNED,
    PLOTTED,
    ROWS_OF_A_BATCH,
    converted,
    drawn_evenly,
    one_episode,
    ornstein_uhlenbeck,
    soft_update,
    stored,
    taken,
    uniform_actions,
    uniform_last_layer,
)

# The replay buffer


@points(1, question="ReplayBuffer.store")
def test_around_more_than_once(student):
    """Arrays and counters are right in a buffer that is overwritten again and again, and with several action dimensions."""
    student.expect("buffer_goes_around_with_actions", stored)
    student.expect("buffer_of_three_actions", stored)


@points(1, question="ReplayBuffer.store")
def test_one_row(student):
    """Arrays and counters are right in a buffer of a single row."""
    student.expect("buffer_of_one_row", stored)


@points(1, question="ReplayBuffer.sample_batch")
def test_batches_of_two_actions(student):
    """Batches of a full buffer with two action dimensions are right; if too few rows are stored, an error is raised."""

    def view(facts):
        return only(*ROWS_OF_A_BATCH, "a batch has a row twice")(facts) | drawn_evenly(facts)

    student.expect("batches_of_two_actions", view)
    student.expect("batch_of_too_few")


# The noise


@points(1, question="OUNoise")
def test_other_noise(student):
    """With μ = -2, mean, variance, correlation and start are right; with θ = 1, samples are independent."""

    def view(facts):
        beside = only("state after a reset", "state is the latest sample", "two episodes have the same noise")
        return ornstein_uhlenbeck()(facts) | beside(facts)

    student.expect("noise_around_minus_two", view)
    student.expect("noise_without_memory", ornstein_uhlenbeck())


# The networks


@points(1, question="Actor")
def test_other_layers(student):
    """The layers of the actor are right for other sizes of states and actions."""
    student.expect("actor_of_other_weights", only(*LAYERS))


@points(1, question="Actor")
def test_other_weights(student):
    """With init_w = 0.02, only the last layer starts with weights and biases uniform in [-init_w, init_w]."""
    student.expect("actor_of_other_weights", uniform_last_layer)


@points(1, question="Critic")
def test_other_layers_of_critic(student):
    """The layers of the critic are right for other sizes of states and actions, and the action gets a gradient."""
    student.expect("critic_of_other_weights", only(*LAYERS, "the action gets a gradient"))


@points(1, question="Critic")
def test_other_weights_of_critic(student):
    """With init_w = 0.02, only the last layer starts with weights and biases uniform in [-init_w, init_w]."""
    student.expect("critic_of_other_weights", uniform_last_layer)


# The agent: networks, actions, steps


@points(1, question="DDPGAgent.networks")
def test_other_sizes_and_options(student):
    """The agent uses the sizes and options that it is given."""
    names = [f"input and output sizes of {name} and {name}_target" for name in ("actor", "critic")]
    given = (
        "gamma, tau, batch_size, initial_random_steps",
        "θ and σ of the noise",
        "obs_dim, size and batch_size of memory",
        "memory has the act_dim of the environment",
    )
    student.expect("agent_of_four_actions", only(*names, *given))


@points(1, question="DDPGAgent.networks")
def test_targets_and_optimizers(student):
    """Targets start equal to their networks; the optimizers update only actor and critic, each at its own rate."""
    names = [
        name
        for one in ("actor", "critic")
        for name in (
            f"{one}_target is equal to {one}",
            f"{one}_target has its own parameters",
            f"networks that {one}_optimizer updates",
            f"{one}_optimizer updates all parameters of {one}",
            f"learning rate of {one}_optimizer",
        )
    ]
    student.expect("agent_of_four_actions", only(*names), atol=1e-7)


@points(1, question="DDPGAgent.select_action")
def test_boundary(student):
    """Before step `initial_random_steps`, actions are uniform, here in three dimensions; from it on, actor plus noise."""
    student.expect("actions_at_the_boundary", only("actions", "transition is [state, action]"))
    student.expect("last_random_actions", uniform_actions)


@points(1, question="DDPGAgent.select_action")
def test_other_tests(student):
    """In tests before and after training, actions of three dimensions are the actor's, without noise."""
    for case in ("actions_of_a_later_test", "actions_of_an_early_test"):
        student.expect(case, only("actions", "transition is [state, action]"))


@points(1, question="DDPGAgent.step")
def test_many_episodes(student):
    """Results and stored transitions are right if episodes end in both ways at once, in their first step, or not at all."""
    student.expect("steps_of_many_episodes", taken)


@points(1, question="DDPGAgent.step")
def test_another_test(student):
    """In a test, `step` stores nothing and returns the right values, however the episode ends."""
    student.expect("steps_of_another_test", taken)


# The agent: updates


@points(1, question="DDPGAgent.update_model.critic")
def test_only_optimizers_move(student):
    """Only the optimizers and `_target_soft_update` change weights; actor and critic stay trainable."""
    student.expect("only_optimizers_move")


@points(1, question="DDPGAgent.update_model.critic")
def test_actions_of_three_numbers(student):
    """The critic's step is right for three action dimensions, and for a batch of only terminated transitions."""
    student.expect("critic_of_three_actions")
    student.expect("critic_of_ends_alone")


@points(1, question="DDPGAgent.update_model.critic")
def test_default_discount(student):
    """The critic takes the right step without `gamma` (then it is 0.99), and for γ = 0 and γ = 1."""
    for case in ("critic_by_default", "critic_with_gamma_0", "critic_with_gamma_1"):
        student.expect(case)


@points(1, question="DDPGAgent.update_model.critic")
def test_large_errors(student):
    """In three updates with large errors, the critic takes the right steps: its loss squares the errors."""
    student.expect("critic_many_times")


@points(1, question="DDPGAgent.update_model.actor")
def test_actor_of_two_transitions(student):
    """For a batch of two, the actor's loss uses the updated critic, and both losses are returned."""
    names = ("steps of actor_optimizer", "gradient of the actor in step 1", "returned actor losses", "returned critic losses")
    student.expect("actor_of_two_transitions", only(*names))
    student.expect("actor_after_the_critic", only(*names))


@points(1, question="DDPGAgent.update_model.actor")
def test_actor_many_times(student):
    """Three updates of actor and targets are right, and none of them takes a further step of the critic."""
    names = [f"gradient of the actor in step {step}" for step in (1, 2, 3)]
    student.expect(
        "actor_many_times",
        only(
            "steps of actor_optimizer",
            *names,
            "critic_optimizer also steps in the actor's update",
            "steps of actor_optimizer before each target update",
            "only the soft update changes the targets",
        ),
    )


@points(1, question="DDPGAgent._target_soft_update")
def test_targets_follow_twice(student):
    """Two updates of the target networks are right for a different τ."""
    student.expect("targets_follow_twice", soft_update)


@points(1, question="DDPGAgent._target_soft_update")
def test_targets_follow_by_default(student):
    """Without `tau`, the targets move by 0.005 times the distance to their networks."""
    student.expect("targets_follow_by_default", soft_update)


# The agent: training and testing


@points(1, question="DDPGAgent.train")
def test_waits_for_a_batch(student):
    """If the buffer holds a batch only after the random steps, updates begin then; resets, states and plots are right."""
    names = (
        "steps of the environment before each update",
        "steps of the environment before each reset",
        *PLOTTED,
    )
    student.expect("training_that_waits_for_a_batch", only(*names, "states passed to select_action"))


@points(1, question="DDPGAgent.train")
def test_long_training(student):
    """A training run of thirteen episodes and part of another is right, with a plot every 200 steps."""
    names = (
        "steps of the environment before each update",
        *PLOTTED,
        "states passed to select_action",
        "total_step when select_action is called",
        "is_test when select_action is called",
        "steps of the environment before each reset",
        "the noise is reset between two episodes",
        "steps before each reset of the noise within an episode",
        "later resets of the environment get a seed",
    )
    student.expect("training_for_long", only(*names))
    student.expect(
        "training_for_long",
        only("steps of the environment in a second call, train(1)", "total_step in a second call, train(1)"),
    )


@points(1, question="DDPGAgent.test")
def test_an_episode_to_its_end(student):
    """`test` plays one episode as a test, to its end, however long, with a frame before each step, and prints the score."""
    student.expect("test_to_an_end", one_episode)
    student.expect("another_test_longer_than_the_pendulum", one_episode)


# Units of actions


@points(1, question="ActionNormalizer")
def test_beyond_the_range(student):
    """Both methods are right for values outside the range, which they clip."""
    student.expect("units_beyond_the_range", converted)


# Learning


@points(1, question="learning")
def test_learns_in_two_dimensions(student, kit):
    """After 120 steps in two dimensions, the actor pushes a point to the origin; if one seed fails, another is tried."""
    returns, seeds = [], student.seeds(2)
    for seed in seeds:
        facts = student.call("learn", num_frames=120, seed=seed, d=2)
        student.curve(f"return of an episode, seed {seed}", facts.get("returns"), LEARNED)
        returns.append(kit.call("play", weights=facts["weights"])["mean return"])
        if returns[-1] >= LEARNED:
            return
    tried = " and ".join(map(str, seeds))
    raise AssertionError(f"mean return {returns} (seeds {tried}), expected {LEARNED} or more; zero actions return -1.3")
