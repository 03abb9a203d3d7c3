"""Cases of `ddpg`. Each makes the inputs of one driver call; `build` adds what the solution answers.

They are chosen so that the known mistakes do not hide: buffers that are filled more than twice, and not to the end; more than
one action dimension; batches of five and more with rewards and values that are not constant, ends inside the batch with values
that are not zero after them; discounts and τ that are no default; noise that takes actions beyond both ends of the range;
episodes that end in either way, or not at all; ranges of actions that are not symmetrical and differ by dimension.
"""

import numpy as np

from grader.answers import case


def normal(rng: np.random.Generator, *shape: int, scale: float = 1.0) -> np.ndarray:
    return (scale * rng.normal(size=shape)).astype(np.float32)


def transitions(rng: np.random.Generator, count: int, obs_dim: int, act_dim: int, ends: list[int]) -> dict:
    return dict(
        obs=normal(rng, count, obs_dim),
        acts=rng.uniform(-1, 1, size=(count, act_dim)).astype(np.float32),
        rews=normal(rng, count, scale=20.0),
        next_obs=normal(rng, count, obs_dim),
        done=np.isin(np.arange(count), ends),
    )


# The replay buffer


def to_be_stored(rng: np.random.Generator, count: int, obs_dim: int, act_dim: int, ends: list[int]) -> dict:
    """Return transitions, some with actions outside [-1, 1]: a buffer keeps what it is given."""
    rows = transitions(rng, count, obs_dim, act_dim, ends)
    return rows | dict(acts=1.5 * rows["acts"])


def with_zeros(rows: dict, at: int) -> dict:
    """Return the rows with observation and reward 0 in one of them: it is stored like the others."""
    for name in ("obs", "rews"):
        rows[name][at] = 0
    return rows


@case("storing", question="ReplayBuffer.store")
def buffer_of_two_actions(rng):
    """Each action has two numbers. Rows that were not written are zero."""
    return to_be_stored(rng, 3, 3, 2, [1]) | dict(size=5, batch_size=2, look_after=[0, 3])


@case("storing", question="ReplayBuffer.store")
def buffer_half_full(rng):
    """Rows that were not written are zero."""
    return to_be_stored(rng, 3, 3, 1, [1]) | dict(size=5, batch_size=2, look_after=[0, 3])


@case("storing", question="ReplayBuffer.store")
def buffer_goes_around(rng):
    return with_zeros(to_be_stored(rng, 9, 2, 1, [0, 4, 7]), 2) | dict(size=4, batch_size=3, look_after=[4, 5, 9])


@case("storing", question="ReplayBuffer.store", hidden=True)
def buffer_of_three_actions(rng):
    return to_be_stored(rng, 5, 4, 3, [1, 3]) | dict(size=7, batch_size=2, look_after=[5])


@case("storing", question="ReplayBuffer.store", hidden=True)
def buffer_goes_around_with_actions(rng):
    return with_zeros(to_be_stored(rng, 13, 3, 2, [2, 5, 11]), 3) | dict(size=5, batch_size=4, look_after=[5, 6, 12, 13])


@case("storing", question="ReplayBuffer.store", hidden=True)
def buffer_of_one_row(rng):
    return to_be_stored(rng, 3, 2, 1, [1]) | dict(size=1, batch_size=1, look_after=[1, 2, 3])


@case("sampling", question="ReplayBuffer.sample_batch")
def batches_of_a_half_full_buffer(rng):
    return dict(count=13, size=20, batch_size=4, obs_dim=3, act_dim=1, draws=1200)


@case("sampling", question="ReplayBuffer.sample_batch")
def batch_of_everything(rng):
    """As many as there are: each once."""
    return dict(count=6, size=6, batch_size=6, obs_dim=2, act_dim=1, draws=40)


@case("sampling", question="ReplayBuffer.sample_batch", hidden=True)
def batches_of_two_actions(rng):
    return dict(count=17, size=17, batch_size=5, obs_dim=4, act_dim=2, draws=1200)


@case("sampling", question="ReplayBuffer.sample_batch")
def batches_of_one(rng):
    return dict(count=5, size=9, batch_size=1, obs_dim=3, act_dim=2, draws=20)


@case("too_few", question="ReplayBuffer.sample_batch")
def batch_of_two_too_few(rng):
    return dict(count=4, batch_size=6)


@case("too_few", question="ReplayBuffer.sample_batch", hidden=True)
def batch_of_too_few(rng):
    return dict(count=3, batch_size=5)


# The noise


@case("noise", question="OUNoise")
def noise_by_default(rng):
    return dict(size=3, samples=16_000)


@case("noise", question="OUNoise")
def noise_around_one_half(rng):
    return dict(size=2, samples=16_000, mu=0.5, theta=0.4, sigma=0.3)


@case("noise", question="OUNoise")
def noise_of_one_dimension(rng):
    return dict(size=1, samples=800, mu=1.5, sigma=0.1)


@case("noise", question="OUNoise", hidden=True)
def noise_without_memory(rng):
    """PG is All You Need's θ = 1: white noise."""
    return dict(size=1, samples=6_000, theta=1.0, sigma=0.1)


@case("noise", question="OUNoise", hidden=True)
def noise_around_minus_two(rng):
    return dict(size=4, samples=16_000, mu=-2.0, theta=0.7, sigma=1.5)


# The networks


def with_a_large_row(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """Return states of which the last one is far from the others."""
    states = normal(rng, rows, columns)
    states[-1] *= 25
    return states


@case("actor", question="Actor")
def actor_of_two_actions(rng):
    return dict(in_dim=4, out_dim=2, states=with_a_large_row(rng, 7, 4))


@case("actor", question="Actor")
def actor_of_one_action(rng):
    """As of a pendulum."""
    return dict(in_dim=3, out_dim=1, states=with_a_large_row(rng, 5, 3))


@case("actor", question="Actor")
def actor_of_larger_first_actions(rng):
    return dict(in_dim=2, out_dim=3, states=with_a_large_row(rng, 4, 2), init_w=0.01)


@case("actor", question="Actor", hidden=True)
def actor_of_other_weights(rng):
    return dict(in_dim=3, out_dim=6, states=with_a_large_row(rng, 5, 3), init_w=0.02)


@case("critic", question="Critic")
def critic_of_two_actions(rng):
    return dict(states=with_a_large_row(rng, 7, 4), actions=normal(rng, 7, 2))


@case("critic", question="Critic")
def critic_of_larger_first_values(rng):
    return dict(states=with_a_large_row(rng, 4, 2), actions=normal(rng, 4, 1), init_w=0.01)


@case("critic", question="Critic", hidden=True)
def critic_of_other_weights(rng):
    return dict(states=with_a_large_row(rng, 5, 3), actions=normal(rng, 5, 1), init_w=0.02)


# The agent: networks, actions, steps


@case("parts", question="DDPGAgent.networks")
def agent_by_default(rng):
    return dict(obs_dim=3, act_dim=1, options={})


@case("parts", question="DDPGAgent.networks", hidden=True)
def agent_of_four_actions(rng):
    return dict(obs_dim=5, act_dim=4, options=dict(gamma=0.9, tau=0.1, initial_random_steps=40))


@case("actions", question="DDPGAgent.select_action")
def actions_with_noise(rng):
    """After the random steps: samples take some actions beyond both ends."""
    samples = np.array([[0.1, -0.2], [2.5, 0.3], [-0.4, -2.5], [-2.5, 2.5], [0.0, 0.25], [0.3, -0.1]], np.float32)
    return dict(states=normal(rng, 6, 3), samples=samples, total_step=100_003, initial_random_steps=10)


@case("actions", question="DDPGAgent.select_action")
def actions_of_a_test(rng):
    """In a test there is neither noise nor chance, also at the very beginning."""
    return dict(states=normal(rng, 5, 3), samples=normal(rng, 5, 2), total_step=0, initial_random_steps=10, is_test=True)


@case("actions", question="DDPGAgent.select_action")
def first_actions_with_noise(rng):
    """total_step is initial_random_steps: the first action that is not random."""
    samples = np.array([[0.3], [-2.0], [0.1], [2.0], [-0.2]], np.float32)
    return dict(states=normal(rng, 5, 3), samples=samples, total_step=6, initial_random_steps=6)


@case("actions", question="DDPGAgent.select_action")
def actions_of_a_test_after_training(rng):
    return dict(states=normal(rng, 4, 3), samples=normal(rng, 4, 1), total_step=900, initial_random_steps=10, is_test=True)


@case("actions", question="DDPGAgent.select_action", hidden=True)
def actions_of_an_early_test(rng):
    return dict(states=normal(rng, 5, 4), samples=normal(rng, 5, 3), total_step=2, initial_random_steps=30, is_test=True)


@case("actions", question="DDPGAgent.select_action", hidden=True)
def actions_at_the_boundary(rng):
    """total_step is initial_random_steps: no more random actions, not even now and then."""
    return dict(states=normal(rng, 60, 4), samples=normal(rng, 60, 1, scale=0.3), total_step=10, initial_random_steps=10)


@case("actions", question="DDPGAgent.select_action", hidden=True)
def actions_of_a_later_test(rng):
    """Some environments observe in double precision."""
    return dict(
        states=normal(rng, 5, 2),
        samples=normal(rng, 5, 3),
        total_step=500,
        initial_random_steps=10,
        is_test=True,
        double=True,
    )


@case("random_actions", question="DDPGAgent.select_action")
def first_actions(rng):
    """The environment takes other actions than the agent gives."""
    return dict(low=[-2.0, 0.0], high=[2.0, 0.5], total_step=3, initial_random_steps=10, count=2000)


@case("random_actions", question="DDPGAgent.select_action", hidden=True)
def last_random_actions(rng):
    return dict(low=[-0.5, -3.0, 1.0], high=[0.5, 3.0, 4.0], total_step=9, initial_random_steps=10, count=2000)


def episodes(rng, lengths, ends, obs_dim=2):
    return dict(
        observations=[normal(rng, length + 1, obs_dim) for length in lengths],
        rewards=[normal(rng, length, scale=20.0) for length in lengths],
        ends=list(ends),
    )


def actions_for(rng, lengths, act_dim):
    """Return actions for episodes of these lengths; the first one is 1, the last one -1."""
    drawn = [rng.uniform(-1, 1, size=(length, act_dim)).astype(np.float32) for length in lengths]
    drawn[0][0], drawn[-1][-1] = 1.0, -1.0
    return drawn


@case("steps", question="DDPGAgent.step")
def steps_in_training(rng):
    lengths = [3, 2, 2]
    return episodes(rng, lengths, ["terminated", "truncated", ""]) | dict(actions=actions_for(rng, lengths, 1))


@case("steps", question="DDPGAgent.step")
def steps_to_both_ends_at_once(rng):
    """The time limit is reached in the step that terminates the episode."""
    lengths = [2, 1]
    return episodes(rng, lengths, ["both", "truncated"]) | dict(actions=actions_for(rng, lengths, 2))


@case("steps", question="DDPGAgent.step")
def steps_in_a_test(rng):
    lengths = [2, 3]
    return episodes(rng, lengths, ["truncated", "terminated"]) | dict(actions=actions_for(rng, lengths, 1), is_test=True)


@case("steps", question="DDPGAgent.step", hidden=True)
def steps_of_many_episodes(rng):
    """Also an episode that ends in both ways at once, and ones of a single step."""
    lengths = [1, 3, 1, 2, 2]
    ends = ["truncated", "both", "terminated", "", "truncated"]
    return episodes(rng, lengths, ends, obs_dim=3) | dict(actions=actions_for(rng, lengths, 2))


@case("steps", question="DDPGAgent.step", hidden=True)
def steps_of_another_test(rng):
    lengths = [3, 1, 2]
    made = episodes(rng, lengths, ["both", "terminated", "truncated"], obs_dim=3)
    return made | dict(actions=actions_for(rng, lengths, 2), is_test=True)


# The agent: updates


@case("updates", question="DDPGAgent.update_model.critic", nudges={"rews": 1, "next_obs": 1})
def critic_without_ends(rng):
    return transitions(rng, 6, 3, 1, []) | dict(gamma=0.9)


@case("updates", question="DDPGAgent.update_model.critic", nudges={"rews": 1, "next_obs": 1})
def critic_without_discount(rng):
    return transitions(rng, 5, 3, 1, []) | dict(gamma=1.0)


@case("updates", question="DDPGAgent.update_model.critic", nudges={"rews": 1, "next_obs": 1})
def critic_of_the_moment(rng):
    """γ = 0: only the reward counts."""
    return transitions(rng, 5, 3, 1, []) | dict(gamma=0.0)


@case("updates", question="DDPGAgent.update_model.critic", nudges={"rews": 1, "next_obs": 1})
def critic_of_two_actions_with_ends(rng):
    return transitions(rng, 6, 3, 2, [0, 3]) | dict(gamma=0.8)


@case("updates", question="DDPGAgent.update_model.critic")
def critic_of_one_transition(rng):
    return transitions(rng, 1, 3, 1, []) | dict(gamma=0.9)


@case("updates", question="DDPGAgent.update_model.critic")
def critic_of_one_end(rng):
    return transitions(rng, 1, 3, 2, [0]) | dict(gamma=0.9)


@case("updates", question="DDPGAgent.update_model.critic")
def critic_of_equal_rows(rng):
    """All rewards are equal, too: their standard deviation is 0."""
    one = transitions(rng, 1, 3, 1, [])
    return {name: np.repeat(value, 4, axis=0) for name, value in one.items()} | dict(gamma=0.9)


@case("updates", question="DDPGAgent.update_model.critic", hidden=True)
def critic_with_gamma_0(rng):
    return transitions(rng, 6, 2, 1, [2]) | dict(gamma=0.0)


@case("updates", question="DDPGAgent.update_model.critic", hidden=True)
def critic_with_gamma_1(rng):
    return transitions(rng, 6, 2, 1, [4]) | dict(gamma=1.0)


@case("updates", question="DDPGAgent.update_model.critic", nudges={"rews": 1, "next_obs": 1})
def critic_with_ends(rng):
    return transitions(rng, 7, 3, 1, [1, 4, 5]) | dict(gamma=0.9)


@case("updates", question="DDPGAgent.update_model.critic")
def critic_twice(rng):
    """The second step begins with a new gradient, in which nothing is left of the first one or of the actor's."""
    return transitions(rng, 6, 3, 1, [2]) | dict(gamma=0.8, count=2, critic_lr=0.01)


@case("untouched", question="DDPGAgent.update_model.critic", hidden=True)
def only_optimizers_move(rng):
    return transitions(rng, 5, 3, 1, [2])


@case("updates", question="DDPGAgent.update_model.critic", hidden=True)
def critic_of_three_actions(rng):
    return transitions(rng, 9, 4, 3, [0, 3, 8]) | dict(gamma=0.7)


@case("updates", question="DDPGAgent.update_model.critic", hidden=True)
def critic_by_default(rng):
    """γ = 0.99."""
    return transitions(rng, 8, 2, 1, [3])


@case("updates", question="DDPGAgent.update_model.critic", hidden=True)
def critic_of_ends_alone(rng):
    return transitions(rng, 5, 3, 1, [0, 1, 2, 3, 4]) | dict(gamma=0.9)


@case("updates", question="DDPGAgent.update_model.critic", hidden=True)
def critic_many_times(rng):
    """Large errors: they are neither cut nor counted less."""
    large = transitions(rng, 6, 2, 1, [1])
    return large | dict(rews=10 * large["rews"], gamma=0.95, count=3, critic_lr=1e-3, actor_lr=0.1)


@case("updates", question="DDPGAgent.update_model.actor", nudges={"obs": 1, "rews": 1})
def actor_once(rng):
    return transitions(rng, 7, 3, 1, [2, 5]) | dict(gamma=0.9, of_the_actor=True)


@case("updates", question="DDPGAgent.update_model.actor")
def actor_twice(rng):
    return transitions(rng, 6, 3, 1, [1]) | dict(gamma=0.9, count=2, actor_lr=0.2, of_the_actor=True)


@case("updates", question="DDPGAgent.update_model.actor")
def actor_after_its_critic(rng):
    """The critic makes a long step, which is the same whatever its loss is, so that the order of the two can be seen."""
    return transitions(rng, 6, 3, 1, [2]) | dict(gamma=0.9, critic_moves=0.3, of_the_actor=True)


@case("updates", question="DDPGAgent.update_model.actor", hidden=True)
def actor_of_two_transitions(rng):
    return transitions(rng, 2, 4, 1, []) | dict(gamma=0.8, of_the_actor=True)


@case("updates", question="DDPGAgent.update_model.actor", hidden=True)
def actor_many_times(rng):
    return transitions(rng, 6, 2, 1, [3]) | dict(gamma=0.9, count=3, actor_lr=3e-4, steep=60.0, of_the_actor=True)


@case("updates", question="DDPGAgent.update_model.actor", hidden=True)
def actor_after_the_critic(rng):
    """As above."""
    return transitions(rng, 7, 3, 1, [1, 4]) | dict(gamma=0.9, critic_moves=0.2, of_the_actor=True)


@case("following", question="DDPGAgent._target_soft_update")
def targets_follow(rng):
    return dict(obs_dim=3, act_dim=2, tau=0.2, count=1)


@case("following", question="DDPGAgent._target_soft_update")
def targets_follow_again(rng):
    return dict(obs_dim=2, act_dim=2, tau=0.3, count=2)


@case("following", question="DDPGAgent._target_soft_update", hidden=True)
def targets_follow_twice(rng):
    return dict(obs_dim=2, act_dim=1, tau=0.6, count=2)


@case("following", question="DDPGAgent._target_soft_update", hidden=True)
def targets_follow_by_default(rng):
    return dict(obs_dim=2, act_dim=3, tau=None, count=1)


# The agent: training and testing


@case("training", question="DDPGAgent.train")
def training_of_four_episodes(rng):
    lengths = [4, 3, 5, 9]
    made = episodes(rng, lengths, ["terminated", "truncated", "terminated", "truncated"])
    return made | dict(num_frames=17, batch_size=3, initial_random_steps=6, plotting_interval=5)


@case("training", question="DDPGAgent.train")
def training_until_there_is_a_batch(rng):
    """The buffer holds a batch some time after the random steps."""
    made = episodes(rng, [5, 4, 9], ["truncated", "terminated", "truncated"])
    return made | dict(num_frames=12, batch_size=7, initial_random_steps=2, plotting_interval=50)


@case("training", question="DDPGAgent.train", hidden=True)
def training_that_waits_for_a_batch(rng):
    """The buffer holds a batch long after the random steps."""
    lengths = [2, 6, 1, 4, 8]
    made = episodes(rng, lengths, ["truncated", "terminated", "truncated", "both", "terminated"], obs_dim=3)
    return made | dict(num_frames=19, batch_size=11, initial_random_steps=2, plotting_interval=4)


@case("training", question="DDPGAgent.train", hidden=True)
def training_for_long(rng):
    """Two hundred steps are the default interval of plots."""
    lengths = [31] * 14
    made = episodes(rng, lengths, ["truncated"] * 14, obs_dim=1)
    return made | dict(num_frames=420, batch_size=8, initial_random_steps=100)


@case("testing", question="DDPGAgent.test")
def test_to_a_time_limit(rng):
    return episodes(rng, [4, 3], ["truncated", "terminated"])


@case("testing", question="DDPGAgent.test", hidden=True)
def test_to_an_end(rng):
    return episodes(rng, [7, 2], ["terminated", "truncated"], obs_dim=3)


@case("testing", question="DDPGAgent.test")
def test_longer_than_the_pendulum(rng):
    """An episode of the pendulum has 200 steps."""
    return episodes(rng, [215, 2], ["terminated", "truncated"], obs_dim=1)


@case("testing", question="DDPGAgent.test", hidden=True)
def another_test_longer_than_the_pendulum(rng):
    return episodes(rng, [240, 2], ["truncated", "terminated"], obs_dim=1)


# Units of actions


@case("units", question="ActionNormalizer")
def units_of_a_pendulum(rng):
    inside = np.array([[-1.0], [-0.25], [0.0], [0.5], [1.0]], np.float32)
    return dict(low=[-2.0], high=[2.0], actions=inside, own=2 * inside)


@case("units", question="ActionNormalizer")
def units_of_each_dimension(rng):
    actions = np.array([[-1.0, 1.0, 0.0], [0.5, -0.5, -1.0], [0.25, 0.0, 1.0], [1.5, -2.0, 0.5]], np.float32)
    return dict(low=[1.0, -4.0, 0.0], high=[3.0, 0.0, 1.0], actions=actions)


@case("units", question="ActionNormalizer")
def units_and_back(rng):
    own = np.array([[1.0, -4.0, 0.5], [3.0, 0.0, 0.25], [1.5, -1.0, 0.75], [2.0, 1.0, -0.5]], np.float32)
    return dict(low=[1.0, -4.0, 0.0], high=[3.0, 0.0, 1.0], own=own)


@case("units", question="ActionNormalizer")
def units_both_ways(rng):
    inside = np.array([[-1.0, 0.5, 0.0], [0.25, -0.75, 1.0]], np.float32)
    own = np.array([[1.5, -3.0, 0.25], [2.75, -1.0, 1.0]], np.float32)
    return dict(low=[1.0, -4.0, 0.0], high=[3.0, 0.0, 1.0], actions=inside, own=own)


@case("units", question="ActionNormalizer")
def units_in_double_precision(rng):
    """Actions beyond the range, of the precision in which NumPy calculates: an array that is not copied is changed."""
    return dict(low=[-2.0], high=[6.0], actions=np.array([[-1.5], [0.25], [1.75]]), own=np.array([[-3.0], [0.5], [8.0]]))


@case("units", question="ActionNormalizer", hidden=True)
def units_beyond_the_range(rng):
    actions = rng.uniform(-3, 3, size=(6, 2)).astype(np.float32)
    own = rng.uniform(-9, 9, size=(6, 2)).astype(np.float32)
    return dict(low=[-5.0, 2.0], high=[-1.0, 2.5], actions=actions, own=own)


# One update with everything


@case("one_update", question="one_update")
def one_update_of_everything(rng):
    return dict(frames=32)
