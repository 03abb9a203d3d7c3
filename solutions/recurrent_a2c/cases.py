"""Cases of `recurrent_a2c`. Each makes the inputs of one driver call; `build` adds what the solution answers.

They are chosen so that the known mistakes do not hide: several games whose values differ and are not near zero (or a column
minus a row looks right), rewards of both signs, more actions than two with a policy that is not uniform, V(s_L) ≠ V(s_(L-1)) ≠
V(s_0); games that end in the middle, in the first and in the last column, with values behind the end that are not zero.
"""

import numpy as np

from grader.answers import case


def nonzero(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Return numbers of both signs, none of them near zero."""
    return (rng.choice([-1.0, 1.0], size=shape) * rng.uniform(0.5, 2.0, size=shape)).astype(np.float32)


def mask(games: int, columns: int, *ends: tuple[int, int]) -> np.ndarray:
    """Return is_not_done, False at these (game, column)."""
    result = np.ones((games, columns), bool)
    for end in ends:
        result[end] = False
    return result


def rollout(rng, games, columns, n_actions=4, ends=()):
    """What a pool returns: no reward where nothing is played, and none in the last column."""
    is_not_done = mask(games, columns, *ends)
    rewards = nonzero(rng, games, columns) * is_not_done
    if ends:
        rewards *= rng.random((games, columns)) < 0.7  # a reward of 0 is none of an end
    rewards[:, -1] = 0
    actions = rng.integers(n_actions, size=(games, columns))
    actions[:, -1] = 0
    return dict(actions=actions, rewards=rewards, is_not_done=is_not_done)


def tables(rng, games, columns, n_actions=4, bootstrap=False):
    """Logits and values; those of the last two columns are 0 unless `bootstrap`, which has checks of its own."""
    values = 3 * nonzero(rng, games, columns)
    if not bootstrap:
        values[:, -2:] = 0
    return dict(logits=nonzero(rng, games, columns, n_actions), values=values)


def both(rng, games, columns, n_actions=4, ends=(), bootstrap=False):
    return tables(rng, games, columns, n_actions, bootstrap) | rollout(rng, games, columns, n_actions, ends)


def far(rng, games, columns, n_actions):
    """Return logits of which some are so far apart that their softmax is 0 in float32, also for actions that were played."""
    inputs = both(rng, games, columns, n_actions)
    inputs["logits"][:, ::2] *= 80
    return {name: inputs[name] for name in ("logits", "values", "actions", "rewards")}


# The network


@case("network", question="forward")
def network_five_games(rng):
    return dict(n_actions=14, batch=5, seed=1)


@case("network", question="forward")
def network_single_game(rng):
    """One game: no axis may be squeezed away."""
    return dict(n_actions=14, batch=1, seed=4)


@case("network", question="forward")
def network_at_the_start(rng):
    """New games: the memory is empty, and that of earlier games must not come back."""
    return dict(n_actions=14, batch=3, seed=5, empty=True)


@case("network", question="forward", hidden=True)
def network_one_game(rng):
    return dict(n_actions=14, batch=1, seed=2)


@case("network", question="forward", hidden=True)
def network_other_actions(rng):
    return dict(n_actions=6, batch=3, seed=3)


# Playing


@case("playing", question="playing")
def playing_three_games(rng):
    return dict(batch=3, seed=6)


@case("playing_a_step", question="playing")
def playing_a_step_in_the_middle(rng):
    return dict(batch=3, seed=6)


# Going through the rollout


@case("going_through", question="train_on_rollout.memory")
def going_without_ends(rng):
    return rollout(rng, 3, 5)


@case("going_through", question="train_on_rollout.memory")
def going_past_an_end(rng):
    """Game 1 ends: column 2 shows its last frame, column 3 the first of a new game."""
    return rollout(rng, 3, 6, ends=[(1, 2)])


@case("going_through", question="train_on_rollout.memory")
def going_alone(rng):
    """One game, which ends."""
    return rollout(rng, 1, 5, ends=[(0, 1)])


@case("going_through", question="train_on_rollout.memory")
def going_past_ends_at_both_sides(rng):
    """One game begins with its last frame, another one shows it in the last column."""
    return rollout(rng, 3, 4, ends=[(0, 0), (2, 3)])


@case("going_through", question="train_on_rollout.memory", hidden=True)
def going_past_many_ends(rng):
    """In the first column, in neighboring games, twice in one game, and in the last column."""
    return rollout(rng, 5, 8, ends=[(0, 0), (1, 3), (2, 3), (3, 1), (3, 5), (4, 7)])


@case("going_through", question="train_on_rollout.memory", hidden=True)
def going_one_tick(rng):
    return rollout(rng, 4, 2)


@case("going_through", question="train_on_rollout.memory", hidden=True)
def going_long(rng):
    return rollout(rng, 2, 25)


@case("going_through", question="train_on_rollout.memory", hidden=True)
def going_one_game(rng):
    return rollout(rng, 1, 6, ends=[(0, 2)])


# The losses


@case("losses", question="train_on_rollout.policy", nudges={"rewards": 2, "values": 2})
def losses_by_hand(rng):
    """Two games that are the same, three ticks, γ = ½: the returns are 3.5, 5 and 2, the advantages 2.5, 3 and 2."""
    return dict(
        logits=np.zeros((2, 4, 2), np.float32),
        values=np.array([[1, 2, 0, 0]] * 2, np.float32),
        actions=np.array([[0, 1, 0, 0]] * 2),
        rewards=np.array([[1, 4, 2, 0]] * 2, np.float32),
        is_not_done=mask(2, 4),
        gamma=0.5,
    )


@case("losses", question="train_on_rollout.policy")
def losses_without_ends(rng):
    return both(rng, 6, 8)


@case("losses", question="train_on_rollout.policy", nudges={"rewards": 2, "values": 2})
def losses_to_be_continued(rng):
    """What comes after the rollout is worth something."""
    return both(rng, 4, 5, bootstrap=True)


@case("losses", question="train_on_rollout.policy")
def losses_with_a_last_reward(rng):
    """A reward and an action in the last column, which nobody has executed; unlike EnvPool, whose are 0."""
    inputs = both(rng, 3, 5, bootstrap=True)
    inputs["actions"][:, -1] = [1, 3, 2]
    inputs["rewards"][:, -1] = nonzero(rng, 3)
    return inputs


@case("losses", question="train_on_rollout.policy")
def losses_of_one_game(rng):
    """One game, one tick."""
    return both(rng, 1, 2, bootstrap=True)


@case("losses", question="train_on_rollout.value", nudges={"rewards": 2, "values": 2})
def losses_without_discount(rng):
    return both(rng, 3, 5) | dict(gamma=1.0)


@case("losses", question="train_on_rollout.value", nudges={"rewards": 2, "values": 2})
def losses_of_the_moment(rng):
    return both(rng, 4, 4) | dict(gamma=0.0)


@case("losses", question="train_on_rollout.value", hidden=True)
def losses_without_future(rng):
    return both(rng, 3, 5) | dict(gamma=0.0)


@case("far_apart", question="train_on_rollout.policy")
def logits_far_apart(rng):
    return far(rng, 4, 5, 4)


@case("far_apart", question="train_on_rollout.policy", hidden=True)
def logits_farther_apart(rng):
    return far(rng, 6, 7, 14)


@case("losses", question="train_on_rollout.policy", hidden=True)
def losses_other_discount(rng):
    return both(rng, 4, 6, n_actions=3) | dict(gamma=0.8)


@case("losses", question="train_on_rollout.policy", hidden=True)
def losses_large(rng):
    return both(rng, 8, 9, n_actions=14)


@case("losses", question="train_on_rollout.policy", hidden=True)
def losses_large_to_be_continued(rng):
    return both(rng, 5, 9, n_actions=5, bootstrap=True) | dict(gamma=0.9)


@case("losses", question="train_on_rollout.policy", hidden=True)
def losses_with_another_last_reward(rng):
    inputs = both(rng, 2, 4, n_actions=3, bootstrap=True)
    inputs["rewards"][:, -1] = nonzero(rng, 2)
    return inputs | dict(gamma=0.8)


@case("losses", question="train_on_rollout.policy", hidden=True)
def losses_one_tick(rng):
    return both(rng, 3, 2, bootstrap=True)


@case("losses", question="train_on_rollout.entropy")
def entropy_with_ends(rng):
    """A mean over all ticks is another one than that over those that are played."""
    return both(rng, 3, 6, ends=[(0, 1), (2, 2), (2, 4)])


@case("losses", question="train_on_rollout.entropy", hidden=True)
def entropy_with_other_ends(rng):
    return both(rng, 2, 5, n_actions=3, ends=[(0, 2), (1, 0), (1, 3)])


@case("ends", question="train_on_rollout.ends")
def losses_past_an_end(rng):
    """Game 1 ends: its last reward is in column 1, column 2 shows its last frame, column 3 the first of a new game."""
    return both(rng, 3, 7, ends=[(1, 2)])


@case("ends", question="train_on_rollout.ends")
def losses_end_at_the_end(rng):
    """Game 0 has ended with the last action of the rollout: the last observation is its last frame."""
    inputs = both(rng, 3, 5, ends=[(0, 4)], bootstrap=True)
    inputs["values"][:, -2] = 0
    return inputs


@case("masks", question="train_on_rollout.ends")
def masks_of_two_kinds(rng):
    """The mask as integers, as the course's own pool had it, and as booleans, as EnvPool has it."""
    return both(rng, 3, 5, ends=[(2, 1)])


@case("ends", question="train_on_rollout.ends", hidden=True)
def losses_past_many_ends(rng):
    inputs = both(rng, 6, 9, n_actions=5, ends=[(0, 0), (1, 3), (2, 3), (3, 1), (3, 5), (5, 6)])
    return inputs | dict(gamma=0.9)


@case("ends", question="train_on_rollout.ends", hidden=True)
def losses_end_in_the_last_columns(rng):
    """Two games have ended with the last action, one of them not for the first time."""
    inputs = both(rng, 4, 7, ends=[(1, 6), (2, 1), (2, 6)], bootstrap=True)
    inputs["values"][:, -2] = 0
    return inputs


@case("ends", question="train_on_rollout.ends", hidden=True)
def losses_all_end_at_once(rng):
    return both(rng, 3, 6, ends=[(0, 2), (1, 2), (2, 2)])


# The update


@case("updates", question="train_on_rollout.step")
def two_updates(rng):
    return both(rng, 3, 4, bootstrap=True)


@case("updates", question="train_on_rollout.step", hidden=True)
def two_updates_with_ends(rng):
    """Small errors, all of them disappointments: the loss is negative."""
    inputs = both(rng, 5, 6, n_actions=3, ends=[(1, 2), (4, 5)], bootstrap=True)
    return inputs | dict(values=inputs["values"] / 100, rewards=-np.abs(inputs["rewards"]) / 5)
