"""The environments of gymnasium in utils.py: what their docstrings promise. Docstrings name the mistakes."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import Autoreset
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import utils
from tests.kit.patience import PATIENCE

pytestmark = [pytest.mark.oracle, pytest.mark.recorded]

EQUAL: list[tuple[str, type, type, dict[str, Any]]] = [  # id, class, batch, parameters; all episodes are equally long
    ("PointMass-v0", utils.PointMass, utils.PointMassVector, {}),
    ("PointMass-v0", utils.PointMass, utils.PointMassVector, {"d": 2}),
    ("GridWorld-v0", utils.GridWorldEnv, utils.GridWorldVector, {"dimensions": 1, "grid_size": 7}),
    ("GridWorld-v0", utils.GridWorldEnv, utils.GridWorldVector, {"episode_length": 5}),
    ("GridWorld-v0", utils.GridWorldEnv, utils.GridWorldVector, {"set_target": [3, 4.5]}),
    ("GridWorld-v0", utils.GridWorldEnv, utils.GridWorldVector, {"dimensions": 1, "set_target": 3, "set_state": 8}),
]
OWN: list[tuple[str, type, type, dict[str, Any]]] = [  # those whose episodes end one by one
    ("Cue-v0", utils.Cue, utils.CueVector, {}),
    ("Cue-v0", utils.Cue, utils.CueVector, {"length": 2}),
    ("Cue-v0", utils.Cue, utils.CueVector, {"length": 1}),
    ("Metronome-v0", utils.Metronome, utils.MetronomeVector, {}),
]
NAMES = ("name", "single", "batch", "parameters")
every = pytest.mark.parametrize(NAMES, EQUAL + OWN, ids=str)
equal = pytest.mark.parametrize(NAMES, EQUAL, ids=str)
own = pytest.mark.parametrize(NAMES, OWN, ids=str)


def length(single: type, parameters: dict) -> int:
    return 30 if single is utils.PointMass else parameters.get("episode_length", 20)


def placed(position: list[float]) -> Any:
    """Return a point mass whose episode begins at this position. Any: a list is an action too, and the spaces are boxes."""
    env = utils.PointMass(len(position))
    env.reset(seed=0)
    env._position = np.array(position)
    return env


class TestEvery:
    @every
    def test_the_checker_finds_nothing(self, name: str, single: type, batch: type, parameters: dict) -> None:
        """Catches: float64 observations, numpy booleans, starts outside the box, one array for all observations."""
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check_env(gymnasium.make(name, **parameters).unwrapped)

    @every
    def test_stable_baselines_checker_finds_nothing(self, name: str, single: type, batch: type, parameters: dict) -> None:
        """Catches: what another library asks for beyond gymnasium's own checker."""
        checker = pytest.importorskip("stable_baselines3.common.env_checker")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            checker.check_env(gymnasium.make(name, **parameters))

    @every
    def test_registered_ids_make_the_classes(self, name: str, single: type, batch: type, parameters: dict) -> None:
        """Catches: a TimeLimit around an environment that truncates itself, parameters that do not arrive."""
        env = gymnasium.make(name, **parameters)
        assert type(env.unwrapped) is single
        assert env.observation_space == single(**parameters).observation_space
        assert "TimeLimit" not in str(env)
        together = gymnasium.make_vec(name, num_envs=4, vectorization_mode="vector_entry_point", **parameters)
        assert type(together) is batch
        assert together.spec is not None
        assert (together.num_envs, together.spec.id) == (4, name)
        assert env.observation_space.shape is not None
        assert together.reset(seed=1)[0].shape == (4, *env.observation_space.shape)
        assert type(gymnasium.make_vec(name, num_envs=4, vectorization_mode="sync", **parameters)) is SyncVectorEnv

    @equal
    def test_truncated_in_the_last_step_only(self, name: str, single: type, batch: type, parameters: dict) -> None:
        """Catches: an end one step early or late, terminated for truncated, a count that reset does not set back."""
        env, expected = single(**parameters), length(single, parameters)
        for steps in (expected, 2, expected):  # the second one is given up
            env.reset()
            ends = [env.step(env.action_space.sample())[2:4] for _ in range(steps)]
            assert ends == [(False, count == expected) for count in range(1, steps + 1)]

    @equal
    def test_a_seed_makes_all_that_follows_reproducible(self, name: str, single: type, batch: type, parameters: dict) -> None:
        """Catches: a seed that is ignored or fixes one episode only, a global generator, a generator shared by all."""

        def starts(env: gymnasium.Env | gymnasium.vector.VectorEnv, seed: int | None) -> list:
            state = np.random.get_state(legacy=False)["state"]["key"].tolist()
            seen = [env.reset(seed=seed)[0].tolist(), *(env.reset()[0].tolist() for _ in range(4))]
            assert np.random.get_state(legacy=False)["state"]["key"].tolist() == state
            return seen

        for make in (lambda: single(**parameters), lambda: batch(3, **parameters)):
            env = make()
            starts(env, None)  # what was drawn before must not matter
            first = starts(env, 7)
            other = make()
            starts(other, 8)
            assert first == starts(env, 7) == starts(make(), 7)
            if "set_state" not in parameters:
                assert first != starts(make(), 8)
                assert len({str(start) for start in first}) == 5

    @every
    def test_step_needs_a_reset(self, name: str, single: type, batch: type, parameters: dict) -> None:
        """Catches: an AttributeError that does not say what to do."""
        for env in (single(**parameters), batch(3, **parameters)):
            with pytest.raises(gymnasium.error.ResetNeeded, match="reset"):
                env.step(env.action_space.sample())

    @equal
    def test_the_batch_is_many_single_environments(self, name: str, single: type, batch: type, parameters: dict) -> None:
        """Catches: mixed rows, starts or ends that differ from gymnasium's own batch, a last observation that is lost.

        SyncVectorEnv's environments draw from one generator here, as those of the batch do: so all starts are the same.
        """
        number, seed = 5, 3
        together = batch(number, **parameters)
        plain = SyncVectorEnv([lambda: single(**parameters)] * number, autoreset_mode=AutoresetMode.SAME_STEP)
        assert together.metadata["autoreset_mode"] == plain.metadata["autoreset_mode"]
        for space in ("observation_space", "action_space", "single_observation_space", "single_action_space"):
            assert getattr(together, space) == getattr(plain, space)
        shared, _ = gymnasium.utils.seeding.np_random(seed)
        for env in plain.envs:
            env.np_random = shared
        together.action_space.seed(seed)
        observations, info = together.reset(seed=seed)
        np.testing.assert_array_equal(observations, plain.reset()[0])
        assert info == {}
        ends = 0
        for _ in range(2 * length(single, parameters) + 3):
            actions = together.action_space.sample()
            got, wanted = together.step(actions), plain.step(actions)
            assert [(array.dtype, array.shape) for array in got[:4]] == [(array.dtype, array.shape) for array in wanted[:4]]
            for ours, theirs in zip(got[:4], wanted[:4], strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-7)
            assert got[4].keys() == wanted[4].keys()
            if got[3].any():
                ends += 1
                assert got[4]["final_obs"].dtype == wanted[4]["final_obs"].dtype == object
                assert got[4]["final_info"] == wanted[4]["final_info"] == {}
                for mask in ("_final_obs", "_final_info"):
                    assert got[4][mask].tolist() == wanted[4][mask].tolist() == [True] * number
                for ours, theirs in zip(got[4]["final_obs"], wanted[4]["final_obs"], strict=True):
                    assert ours.dtype == np.float32
                    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-7)
        assert ends == 2

    @equal
    def test_the_batch_returns_new_arrays(self, name: str, single: type, batch: type, parameters: dict) -> None:
        """Catches: arrays that the next step overwrites, so that every row of a buffer shows the last step."""
        env = batch(3, **parameters)
        seen = [env.reset(seed=0)[0]]
        for _ in range(length(single, parameters)):
            observations, rewards, terminations, truncations, info = env.step(env.action_space.sample())
            seen += [observations, rewards, terminations, truncations]
        seen += [info["final_obs"][0], info["final_obs"][1], info["_final_obs"], info["_final_info"]]
        assert not any(np.shares_memory(one, other) for one, other in itertools.combinations(seen, 2))
        kept = [array.copy() for array in seen]
        for array in seen:
            array[...] = 0
        env.step(env.action_space.sample())
        assert not any(array.any() for array in seen)
        np.testing.assert_array_equal(kept[0], batch(3, **parameters).reset(seed=0)[0])

    @equal
    def test_gymnasiums_wrappers_take_the_batch(self, name: str, single: type, batch: type, parameters: dict) -> None:
        """Catches: an autoreset that the statistics of returns and lengths do not see."""
        env = RecordEpisodeStatistics(batch(3, **parameters))
        env.reset(seed=0)
        rewards = np.zeros(3)
        for _ in range(length(single, parameters)):
            _, reward, _, _, info = env.step(env.action_space.sample())
            rewards += reward
        np.testing.assert_allclose(info["episode"]["r"], rewards, rtol=1e-5)
        assert info["episode"]["l"].tolist() == [length(single, parameters)] * 3

    @every
    def test_a_partial_reset_of_the_batch_is_refused(self, name: str, single: type, batch: type, parameters: dict) -> None:
        """Catches: a reset of all environments where only some were meant."""
        env = batch(2, **parameters)
        env.reset(seed=0, options={})
        with pytest.raises(ValueError, match="only all of them"):
            env.reset(options={"reset_mask": np.array([True, False])})

    @pytest.mark.parametrize("number", [0, -1, 1.5])
    def test_sizes_below_one_are_refused(self, number: Any) -> None:
        """Catches: a batch of nothing, a mean over no axis."""
        for make in (
            lambda: utils.PointMass(number),
            lambda: utils.PointMassVector(number),
            lambda: utils.GridWorldVector(number),
            lambda: utils.Cue(number),
            lambda: utils.CueVector(2, number),
            lambda: utils.MetronomeVector(number),
        ):
            with pytest.raises(ValueError, match="must be a whole number from 1 on"):
                make()


class TestOwnEpisodes:
    @own
    def test_a_seed_makes_all_that_follows_reproducible(self, name: str, single: type, batch: type, parameters: dict) -> None:
        """Catches: a seed that is ignored or fixes one episode only, a global generator, an end that a reset forgets."""

        def play(env: gymnasium.Env | gymnasium.vector.VectorEnv, seed: int | None) -> list:
            state = np.random.get_state(legacy=False)["state"]["key"].tolist()
            seen = [str(env.reset(seed=seed))]
            seen += [str(env.step(np.ones(env.action_space.shape, dtype=int))) for _ in range(40)]
            assert np.random.get_state(legacy=False)["state"]["key"].tolist() == state
            return seen

        for make in (lambda: Autoreset(single(**parameters)), lambda: batch(3, **parameters)):
            env = make()
            play(env, None)  # what was drawn before must not matter
            first = play(env, 7)
            other = make()
            play(other, 8)
            assert first == play(env, 7) == play(make(), 7)
            assert first != play(make(), 8)

    @own
    def test_the_batch_is_many_single_environments(self, name: str, single: type, batch: type, parameters: dict) -> None:
        """Catches: mixed rows, draws in another order, an episode that begins a step too early or late, an action of a step
        in which nothing is played that earns something.

        SyncVectorEnv's environments draw from one generator here, as those of the batch do: so all starts are the same.
        """
        number, seed = 7, 3
        together = batch(number, **parameters)
        plain = SyncVectorEnv([lambda: single(**parameters)] * number)
        assert together.metadata["autoreset_mode"] == plain.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
        for space in ("observation_space", "action_space", "single_observation_space", "single_action_space"):
            assert getattr(together, space) == getattr(plain, space)
        together.action_space.seed(seed)
        ends = 0
        for start in range(2):  # the second time, episodes are given up
            shared, _ = gymnasium.utils.seeding.np_random(seed + start)
            for env in plain.envs:
                env.np_random = shared
            observations, info = together.reset(seed=seed + start)
            np.testing.assert_array_equal(observations, plain.reset()[0])
            assert observations.dtype == np.float32
            assert info == {}
            for _ in range(60):
                actions = together.action_space.sample()
                got, wanted = together.step(actions), plain.step(actions)
                for ours, theirs in zip(got[:4], wanted[:4], strict=True):
                    assert ours.dtype == theirs.dtype
                    np.testing.assert_array_equal(ours, theirs)
                assert got[4] == wanted[4] == {}
                ends += got[2].sum()
        assert ends > 50

    @own
    def test_an_end_has_a_step_of_its_own(self, name: str, single: type, batch: type, parameters: dict) -> None:
        """Catches: an autoreset in the step of the end, which `EnvPool` of recurrent_a2c could not take."""
        env = batch(50, **parameters)
        env.reset(seed=1)
        ended = np.zeros(50, dtype=bool)
        for _ in range(30):
            observations, rewards, terminations, truncations, _ = env.step(np.ones(50, dtype=int))
            assert (rewards[ended] == 0).all()
            assert not terminations[ended].any()
            assert not truncations.any()
            if name == "Cue-v0":
                assert (observations[ended, 0] != 0).all()
                assert terminations.all() or not terminations.any()
                assert (observations[terminations] == [0, 0, 1]).all()
            ended = terminations

    @own
    def test_the_batch_returns_new_arrays(self, name: str, single: type, batch: type, parameters: dict) -> None:
        """Catches: arrays that the next step overwrites, an end that is forgotten when the caller changes what it got."""
        env, same = (batch(3, **parameters) for _ in range(2))
        seen = [env.reset(seed=0)[0]]
        same.reset(seed=0)
        for _ in range(20):
            seen += env.step(np.ones(3, dtype=int))[:4]
            kept = [array.copy() for array in seen[-4:]]
            for array in seen:
                array[...] = 0
            for ours, theirs in zip(kept, same.step(np.ones(3, dtype=int))[:4], strict=True):
                np.testing.assert_array_equal(ours, theirs)
        assert not any(array.any() for array in seen)
        assert not any(np.shares_memory(one, other) for one, other in itertools.combinations(seen, 2))

    @own
    def test_gymnasiums_wrappers_take_the_batch(self, name: str, single: type, batch: type, parameters: dict) -> None:
        """Catches: an autoreset that the statistics of returns and lengths do not see."""
        env = RecordEpisodeStatistics(batch(3, **parameters))
        env.reset(seed=0)
        sums, steps = np.zeros(3), np.zeros(3, dtype=int)
        seen, begins = 0, np.ones(3, dtype=bool)
        for _ in range(40):
            _, rewards, ends, _, info = env.step(np.ones(3, dtype=int))
            sums, steps = sums + rewards, steps + 1
            if ends.any():
                np.testing.assert_allclose(info["episode"]["r"][ends], sums[ends], rtol=1e-5)
                lengths = steps - ~begins  # the step in which an episode begins is none of it, but for the first one
                assert info["episode"]["l"][ends].tolist() == lengths[ends].tolist()
                seen += ends.sum()
                sums[ends], steps[ends], begins[ends] = 0, 0, False
        assert seen >= 10

    @own
    @pytest.mark.parametrize("wrong", [[0, 2], [-1, 0], [0.5, 1], [0], [[0, 1]]])
    def test_unknown_actions_are_refused(self, name: str, single: type, batch: type, parameters: dict, wrong: list) -> None:
        """Catches: 2 taken as a beat, one action spread over all."""
        env = batch(2, **parameters)
        env.reset(seed=0)
        with pytest.raises(ValueError, match="actions must be"):
            env.step(np.array(wrong))
        env = single(**parameters)
        env.reset(seed=0)
        for action in (2, -1, 0.5):
            with pytest.raises(ValueError, match="action must be"):
                env.step(action)


class TestCue:
    @pytest.mark.parametrize("length", [1, 2, 8])
    def test_every_way_to_play_it(self, length: int) -> None:
        """Catches: an end one step early or late, a reward elsewhere, signs that are mixed up, a cue that stays visible.

        Only the last action counts, so the values follow exactly: 1 for the action of the cue, 0 in the mean without it.
        """
        returns = {}
        for right, last in itertools.product((0, 1), repeat=2):
            env = utils.Cue(length)
            env.reset(seed=0)
            env._right = right
            seen = [env._observe().tolist()]
            rewards = []
            for step in range(length):
                action = last if step == length - 1 else 1 - last
                observation, reward, terminated, truncated, info = env.step(action)
                assert (terminated, truncated, info) == (step == length - 1, False, {})
                assert type(reward) is float
                assert env.observation_space.contains(observation)
                seen.append(observation.tolist())
                rewards.append(reward)
            cue = 2 * right - 1
            assert seen == [[cue * (step == 0), float(step == length - 1), 1] for step in range(length + 1)]
            assert rewards[:-1] == [0] * (length - 1)
            returns[right, last] = sum(rewards)
        assert returns == {(0, 0): 1, (0, 1): -1, (1, 0): -1, (1, 1): 1}
        for probability in (0, 0.3, 1):  # of action 1, the same for both cues
            assert sum((1 - probability) * returns[cue, 0] + probability * returns[cue, 1] for cue in (0, 1)) == 0

    def test_both_cues_are_as_likely(self) -> None:
        """Catches: one cue in every episode, a batch whose rows or episodes go together."""
        env = utils.CueVector(1000, length=2)
        cues = [env.reset(seed=0)[0][:, 0]]
        for _ in range(10):
            for _ in range(3):
                observations, *_ = env.step(np.zeros(1000, dtype=int))
            cues.append(observations[:, 0])
        together = np.stack(cues)
        assert set(together.flat) == {-1, 1}
        assert abs(together.mean()) < 5 / 11_000**0.5
        assert abs(np.corrcoef(together) - np.eye(11)).max() < 5 / 1000**0.5


class TestMetronome:
    def played(self, length: int, actions: Sequence[int]) -> float:
        """Return the return of an episode of this length."""
        env = utils.Metronome()
        env.reset(seed=0)
        env._length = length
        total = 0.0
        for step, action in enumerate(actions[:length]):
            observation, reward, terminated, truncated, info = env.step(action)
            assert (observation.tolist(), terminated, truncated, info) == ([1], step == length - 1, False, {})
            assert observation.dtype == np.float32
            assert type(reward) is float
            total += reward
        return total

    def test_rewards_by_hand(self) -> None:
        """Catches: a beat counted from 1, a reward for waiting, a length that is one off."""
        assert [self.played(length, [0, 0, 0, 1, 0, 0, 0, 0]) for length in range(1, 9)] == [0, 0, 0, 1, 1, 1, 1, 1]
        assert [self.played(length, [1] * 8) for length in (1, 3, 4, 8)] == [-0.25, -0.75, 0.25, -0.75]
        assert self.played(8, [0] * 8) == 0

    def test_the_optimum_and_the_blind(self) -> None:
        """Catches: figures in the docstring that no policy reaches, or that one exceeds.

        Nothing is observed, so all that can be done in an episode is one of 256 rows of actions. The reward of a step does not
        depend on the actions before: a policy that beats with one probability p in every step gets p times what the eight rows
        with a single beat get together, which is less than nothing.
        """
        values = {
            row: sum(self.played(length, row) for length in range(1, 9)) / 8 for row in itertools.product((0, 1), repeat=8)
        }
        best, second = sorted(values.values())[:-3:-1]
        assert values[0, 0, 0, 1, 0, 0, 0, 0] == best == 0.625 > second
        always = sum(value for row, value in values.items() if sum(row) == 1)
        assert always == values[(1,) * 8] == 5 / 8 - 0.25 * 31 / 8
        assert np.mean(list(values.values())) == always / 2 == pytest.approx(-0.172, abs=5e-4)

    def test_lengths_are_uniform(self) -> None:
        """Catches: lengths from 0 to 7 or up to 9, one length in every episode or for all rows."""
        env = utils.MetronomeVector(8000)
        env.reset(seed=0)
        steps = np.zeros(8000, dtype=int)
        lengths: list[list[int]] = [[] for _ in range(8000)]
        for _ in range(18):  # two episodes, and the step in which the second one begins
            ends = env.step(np.zeros(8000, dtype=int))[2]
            steps += 1
            for row in np.flatnonzero(ends):
                lengths[row].append(steps[row])
            steps[ends] = -1
        both = np.array([row[:2] for row in lengths])
        for column in both.T:
            assert abs(np.bincount(column, minlength=9) - 1000)[1:].max() < 5 * 1000**0.5
            assert (column.min(), column.max()) == (1, 8)
        assert abs(np.corrcoef(both.T)[0, 1]) < 5 / 8000**0.5


class TestPointMass:
    def test_three_steps_by_hand(self) -> None:
        """Catches: v after p, a reward of the old p or the unclipped a, a sum over the axes, a velocity that starts anew."""
        env = placed([0.5, -1.0])
        expected = [  # action; p, v and reward after it
            ([1.0, -3.0], [0.6, -1.1], [0.1, -0.1], -(0.36 + 0.01 + 1.21 + 0.01) / 2),
            ([0.5, 0.0], [0.73, -1.18], [0.13, -0.08], -(0.5329 + 0.0025 + 1.3924) / 2),
            ([-1.0, 1.0], [0.734, -1.144], [0.004, 0.036], -(0.538756 + 0.01 + 1.308736 + 0.01) / 2),
        ]
        for action, position, velocity, reward in expected:
            observation, got, *_ = env.step(np.array(action, dtype=np.float32))
            assert observation.tolist() == pytest.approx(position + velocity, abs=1e-6)
            assert got == pytest.approx(reward, rel=1e-7)
            assert type(got) is float

    def test_walls_and_the_bounds_of_the_observation(self) -> None:
        """Catches: a wall that is elsewhere or stops v, a box that the point can leave or never fills."""
        env = placed([1.0, -1.0])
        for _ in range(29):
            observation, *_ = env.step([1.0, -1.0])
            assert env.observation_space.contains(observation)
        assert observation.tolist() == pytest.approx([2.0, -2.0, 0.5, -0.5], abs=1e-3)
        observation, reward, *_ = env.step([-1.0, 1.0])
        assert observation.tolist() == pytest.approx([2.0, -2.0, 0.3, -0.3], abs=1e-3)  # still on its way out
        assert reward == pytest.approx(-4.01)
        assert env.observation_space.high.tolist() == [2.0, 2.0, 0.5, 0.5]
        assert (env.observation_space.low == -env.observation_space.high).all()

    def test_starts_are_uniform_and_at_rest(self) -> None:
        """Catches: normal starts, starts in [0, 1], one number for all axes, a first velocity."""
        starts, _ = utils.PointMassVector(20_000, d=2).reset(seed=0)
        assert (starts[:, 2:] == 0).all()
        for axis in (starts[:, 0], starts[:, 1]):
            counts, _ = np.histogram(axis, bins=10, range=(-1, 1))
            assert counts.sum() == 20_000
            assert abs(counts - 2000).max() < 5 * 2000**0.5
        assert abs(np.corrcoef(starts[:, :2].T)[0, 1]) < 0.03

    @pytest.mark.parametrize("make", [utils.PointMass, lambda d: utils.PointMassVector(3, d)], ids=["single", "batch"])
    def test_actions_that_make_no_sense_are_refused(self, make: Callable) -> None:
        """Catches: one number spread over all axes, a state that is NaN for good."""
        env = make(2)
        shape = env.action_space.shape
        env.reset(seed=0)
        before = env.step(np.zeros(shape))[0]
        for wrong in (np.zeros(1), np.float32(0.5), np.zeros((*shape, 1)), np.zeros(7)):
            with pytest.raises(ValueError, match="actions must have shape"):
                env.step(wrong)
        with pytest.raises(ValueError, match="actions must be numbers"):
            env.step(np.full(shape, np.nan))
        np.testing.assert_array_equal(env.step(np.zeros(shape))[0], before)  # at rest: nothing has moved

    def test_actions_outside_the_box_are_clipped(self) -> None:
        """Catches: a stronger push by a policy without bounds."""
        for outside, edge in ((5.0, 1.0), (-np.inf, -1.0)):
            far, near = placed([0.25]).step([outside]), placed([0.25]).step([edge])
            assert far[0].tolist() == near[0].tolist()
            assert far[1] == near[1]

    @pytest.mark.parametrize("d", [1, 2])
    def test_returns_without_and_with_random_actions(self, d: int) -> None:
        """Catches: figures in the docstring that are not those of the environment.

        Zero actions: 30 times -E[p²] = -30 / 3. Random ones were measured on a million episodes: -29.30 ± 0.03.
        """
        env, generator = utils.PointMassVector(5000, d), np.random.default_rng(1)
        figures = {}
        for name, size in (("zero", 0.0), ("random", 1.0)):
            env.reset(seed=2)
            returns = np.asarray(sum(env.step(generator.uniform(-size, size, (5000, d)))[1] for _ in range(30)))
            figures[name] = (returns.mean(), returns.std() * d**0.5)
        assert figures["zero"][0] == pytest.approx(-10, abs=5 * 8.9 / 5000**0.5)
        assert figures["random"][0] == pytest.approx(-29.3, abs=5 * 25.7 / 5000**0.5)
        assert [figures["zero"][1], figures["random"][1]] == pytest.approx([8.9, 25.7], rel=0.1)

    def test_the_optimum(self) -> None:
        """Catches: a figure in the docstring that no policy reaches, or that one exceeds.

        The axes do not interact, so one axis has the mean of all. Between the walls p is linear in the 30 actions, so the
        return is minus a square of a linear function of them, and its maximum over the box is a bounded least-squares problem:
        convex, solved exactly by BVLS. The walls cannot help, as they are further out than any start. The optimum as a
        function of the start is integrated over [0, 1] (it is even) by Gauss-Legendre with 20 nodes; 200 nodes give the same
        to 1e-5. The actions found are played in the environment, whose sum of rewards must be the computed one.
        """
        from scipy.optimize import lsq_linear

        pushes = np.array([[np.sum(0.1 * 0.8 ** np.arange(t - k + 1)) if k <= t else 0 for k in range(30)] for t in range(30)])
        system = np.vstack([pushes, 0.1 * np.eye(30)])

        def best(start: float) -> float:
            wanted = np.concatenate([np.full(30, -start), np.zeros(30)])
            found = lsq_linear(system, wanted, bounds=(-1, 1), method="bvls")
            env = placed([start])
            played = sum(env.step([action])[1] for action in found.x)
            assert played == pytest.approx(-2 * found.cost)
            return played

        nodes, weights = np.polynomial.legendre.leggauss(20)
        returns = np.array([best((node + 1) / 2) for node in nodes])
        mean = weights @ returns / 2
        assert mean == pytest.approx(-0.4354, abs=1e-4)
        assert (weights @ returns**2 / 2 - mean**2) ** 0.5 == pytest.approx(0.471, abs=1e-3)
        assert best(1.0) == pytest.approx(-1.6434, abs=1e-4)


class TestGridWorldEnv:
    @pytest.mark.parametrize("dimensions", [1, 2])
    def test_is_the_grid_world_of_the_assignments(self, dimensions: int) -> None:
        """Catches: other moves, rewards or observations than `GridWorldPointTargetEnv`, with the same draws."""
        env, world = utils.GridWorldEnv(dimensions=dimensions), utils.GridWorldPointTargetEnv(dimensions=dimensions)
        assert env.action_space == gymnasium.spaces.Discrete(world.num_actions)
        first, _ = env.reset(seed=5)
        assert first.tolist() == world.reset(seed=5).flatten().tolist()  # both take a seed as NumPy's default generator does
        for action in np.random.default_rng(0).integers(world.num_actions, size=20):
            observation, reward, _, truncated, _ = env.step(action)
            expected, ended, right = world.step(action)
            assert observation.tolist() == expected.flatten().tolist()
            assert (reward, truncated) == (right, ended)
            assert type(reward) is float
        assert truncated

    @pytest.mark.parametrize("wrong", [[0, 3], [-1, 0], [0.5, 1], [0], [[0, 1]]])
    def test_unknown_actions_of_the_batch_are_refused(self, wrong: list) -> None:
        """Catches: -1 taken as the last action, one action spread over all."""
        env = utils.GridWorldVector(2, dimensions=1)
        env.reset(seed=0)
        with pytest.raises(ValueError, match="actions must be"):
            env.step(np.array(wrong))

    def test_parameters_are_checked(self) -> None:
        """Catches: a batch that takes what the environment refuses."""
        for make in (utils.GridWorldEnv, lambda **parameters: utils.GridWorldVector(2, **parameters)):
            with pytest.raises(ValueError, match="set_state must hold"):
                make(set_state=11)


def test_the_module_registers_by_name_and_can_be_loaded_anew() -> None:
    """Catches: ids that only exist after an import by hand, a warning in a notebook that reloads utils."""
    code = """
import gymnasium, importlib, json, sys, warnings
warnings.simplefilter("error")
env = gymnasium.make("utils:PointMass-v0", d=3)
vector = gymnasium.make_vec("utils:GridWorld-v0", num_envs=2)
importlib.reload(sys.modules["utils"])
print(json.dumps([str(env), str(vector), type(gymnasium.make("PointMass-v0").unwrapped) is sys.modules["utils"].PointMass]))
"""
    folder = Path(utils.__file__).parent
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, cwd=folder, capture_output=True, text=True, timeout=PATIENCE
    )
    names = ["<OrderEnforcing<PassiveEnvChecker<PointMass<PointMass-v0>>>>", "GridWorldVector(GridWorld-v0, num_envs=2)", True]
    assert json.loads(done.stdout or "null") == names, done.stderr
