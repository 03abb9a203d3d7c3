"""Hidden checks of `ddpg`: other sizes, edge cases and defaults. Only a grader has them."""

from grader.judge import points
from grader.judge.views import only
from views import LAYERS, LEARNED, drawn_evenly, ornstein_uhlenbeck, uniform_actions, uniform_last_layer, without_column

# The replay buffer


@points(1, question="ReplayBuffer.store")
def test_three_actions(student):
    """An action may be of several numbers."""
    student.expect("buffer_of_three_actions")


@points(2, question="ReplayBuffer.store")
def test_around_more_than_once(student):
    """A full buffer is written again and again, in all its arrays."""
    student.expect("buffer_goes_around_with_actions")


@points(1, question="ReplayBuffer.store")
def test_one_row(student):
    """A buffer of a single row."""
    student.expect("buffer_of_one_row")


@points(2, question="ReplayBuffer.sample_batch")
def test_batches_of_two_actions(student):
    """Batches of a full buffer with actions of two numbers."""
    names = ("keys", "shapes", "numbers of an action", "what does not belong to the obs beside it", "a batch has a row twice")
    names += ("update_model is made for such a batch",)

    def view(facts):
        return only(*names)(facts) | drawn_evenly(facts)

    student.expect("batches_of_two_actions", view)


@points(1, question="ReplayBuffer.sample_batch")
def test_too_few(student):
    """Where fewer are stored than a batch has, it raises an error, and makes no smaller batch."""
    student.expect("batch_of_too_few")


# The noise


@points(2, question="OUNoise")
def test_white_noise(student):
    """With θ = 1 samples are independent."""
    student.expect("noise_without_memory", ornstein_uhlenbeck())


@points(2, question="OUNoise")
def test_noise_around_another_mean(student):
    """Mean, variance, correlation and beginning around μ = -2."""

    def view(facts):
        return ornstein_uhlenbeck()(facts) | only("state after reset", "state is the latest sample")(facts)

    student.expect("noise_around_minus_two", view)


# The networks


@points(1, question="Actor")
def test_other_layers(student):
    """Other sizes of states and actions."""
    student.expect("actor_of_other_weights", only(*LAYERS, "shape", "shape for a single state"))


@points(2, question="Actor")
def test_other_weights(student):
    """init_w says how small the last layer begins."""
    student.expect("actor_of_other_weights", uniform_last_layer)


@points(1, question="Critic")
def test_other_layers_of_critic(student):
    """Other sizes of states and actions."""
    names = ("shape", "into the first layer goes", "the action gets a gradient")
    student.expect("critic_of_other_weights", only(*LAYERS, *names), also=without_column)


@points(2, question="Critic")
def test_other_weights_of_critic(student):
    """init_w says how small the last layer begins."""
    student.expect("critic_of_other_weights", uniform_last_layer)


# The agent: networks, actions, steps


@points(1, question="DDPGAgent.networks")
def test_other_sizes_and_options(student):
    """Sizes and options are those that the agent is given."""
    names = [f"{name} and {name}_target are made for sizes" for name in ("actor", "critic")]
    given = (
        "gamma, tau, batch_size, initial_random_steps",
        "noise is made with θ and σ",
        "memory is made with",
        "memory is made for such actions",
    )
    student.expect("agent_of_four_actions", only(*names, *given))


@points(2, question="DDPGAgent.networks")
def test_targets_and_optimizers(student):
    """Targets begin as equal; optimizers move what learns, and nothing else."""
    names = [
        name
        for one in ("actor", "critic")
        for name in (
            f"{one}_target is equal to {one}",
            f"{one}_target has parameters of its own",
            f"{one}_optimizer moves",
            f"{one}_optimizer moves all of it",
        )
    ]
    student.expect("agent_of_four_actions", only(*names))


@points(2, question="DDPGAgent.select_action")
def test_boundary(student):
    """When `total_step` is `initial_random_steps`, actions are no longer random."""
    student.expect("actions_at_the_boundary", only("actions", "transition is [state, action]"))


@points(2, question="DDPGAgent.select_action")
def test_last_random_actions(student):
    """Just before, they still are: uniform in [-1, 1] in each of three dimensions."""
    student.expect("last_random_actions", uniform_actions)


@points(1, question="DDPGAgent.select_action")
def test_later_tests(student):
    """A test after the training: three dimensions, no noise."""
    student.expect("actions_of_a_later_test")


@points(3, question="DDPGAgent.step")
def test_many_episodes(student):
    """Episodes that end in both ways at once, in their first step, or not at all."""
    student.expect("steps_of_many_episodes")


# The agent: updates


@points(1, question="DDPGAgent.update_model.critic")
def test_only_optimizers_move(student):
    """Networks are changed by their optimizers alone, and targets not by gradients."""
    student.expect("only_optimizers_move")


@points(2, question="DDPGAgent.update_model.critic")
def test_actions_of_three_numbers(student):
    """Actions of three numbers."""
    student.expect("critic_of_three_actions")


@points(1, question="DDPGAgent.update_model.critic")
def test_default_discount(student):
    """Without γ, 0.99 is used."""
    student.expect("critic_by_default")


@points(1, question="DDPGAgent.update_model.critic")
def test_ends_alone(student):
    """A batch in which every transition is an end."""
    student.expect("critic_of_ends_alone")


@points(2, question="DDPGAgent.update_model.critic")
def test_large_errors(student):
    """Three updates with large errors, which count with their squares."""
    student.expect("critic_many_times")


@points(2, question="DDPGAgent.update_model.actor")
def test_actor_of_three_actions(student):
    """Actions of three numbers; the loss."""
    names = ("steps of actor_optimizer", "gradient of the actor in step 1", "actor losses returned")
    student.expect("actor_of_three_actions", only(*names))


@points(2, question="DDPGAgent.update_model.actor")
def test_actor_many_times(student):
    """Three updates."""
    names = [f"gradient of the actor in step {step}" for step in (1, 2, 3)]
    student.expect(
        "actor_many_times", only("steps of actor_optimizer", *names, "steps of the actor before each update of the targets")
    )


@points(1, question="DDPGAgent.update_model.actor")
def test_critic_first(student):
    """The actor climbs the critic that has just been updated."""
    student.expect("actor_after_the_critic", only("gradient of the actor in step 1", "actor losses returned"))


@points(1, question="DDPGAgent._target_soft_update")
def test_targets_follow_twice(student):
    """Two updates of the targets, with another τ."""
    student.expect("targets_follow_twice")


@points(1, question="DDPGAgent._target_soft_update")
def test_targets_follow_by_default(student):
    """Without τ, 0.005 is used."""
    student.expect("targets_follow_by_default")


# The agent: training and testing


@points(2, question="DDPGAgent.train")
def test_waits_for_a_batch(student):
    """Updates begin when the buffer holds a batch."""
    names = ("updates, by the steps before", "steps of the environment before each reset", "plots")
    student.expect("training_that_waits_for_a_batch", only(*names, "states in which actions are selected"))


@points(1, question="DDPGAgent.train")
def test_long_training(student):
    """Thirteen episodes and a part of one, with a plot every two hundred steps."""
    names = (
        "updates, by the steps before",
        "plots",
        "states in which actions are selected",
        "total_step when an action is selected",
    )
    student.expect("training_for_long", only(*names))


@points(1, question="DDPGAgent.train")
def test_all_episodes_begin_anew(student):
    """After each of thirteen episodes environment and noise are reset, without a seed that makes them all alike."""
    names = (
        "steps of the environment before each reset",
        "the noise is reset between two episodes",
        "the noise is reset within an episode",
        "resets between episodes are given a seed",
    )
    student.expect("training_for_long", only(*names))


@points(1, question="DDPGAgent.test")
def test_an_episode_to_its_end(student):
    """One episode is played as a test, to its end."""
    student.expect("test_to_an_end")


# Units of actions


@points(2, question="ActionNormalizer")
def test_beyond_the_range(student):
    """What lies outside is clipped, in both directions."""
    student.expect("units_beyond_the_range")


# Learning


@points(1, question="learning")
def test_learns_in_two_dimensions(student, kit):
    """After 1800 steps on PointMass(2), an actor of 32 units pushes the point to the middle and keeps it there."""
    returns, seeds = [], student.seeds(2)
    for seed in seeds:
        facts = student.call("learn", num_frames=1800, seed=seed, d=2)
        student.curve(f"return of an episode, seed {seed}", facts.get("returns"))
        returns.append(kit.call("play", weights=facts["weights"], seed=seed, d=2)["mean return"])
        if returns[-1] >= LEARNED:
            return
    tried = " and ".join(map(str, seeds))
    raise AssertionError(f"its mean return is {returns} (seeds {tried}), expected {LEARNED} or more; standing still gives -10")
