"""The environments of gymnasium in utils.py: what their docstrings promise. Docstrings name the mistakes."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from scipy.optimize import lsq_linear

import utils

EVERY = [  # id, class, batch, parameters
    ("PointMass-v0", utils.PointMass, utils.PointMassVector, {}),
    ("PointMass-v0", utils.PointMass, utils.PointMassVector, {"d": 2}),
    ("GridWorld-v0", utils.GridWorldEnv, utils.GridWorldVector, {"dimensions": 1, "grid_size": 7}),
    ("GridWorld-v0", utils.GridWorldEnv, utils.GridWorldVector, {"episode_length": 5}),
    ("GridWorld-v0", utils.GridWorldEnv, utils.GridWorldVector, {"set_target": [3, 4.5]}),
    ("GridWorld-v0", utils.GridWorldEnv, utils.GridWorldVector, {"dimensions": 1, "set_target": 3, "set_state": 8}),
]
every = pytest.mark.parametrize(("name", "single", "batch", "parameters"), EVERY, ids=str)


def length(single: type, parameters: dict) -> int:
    return 30 if single is utils.PointMass else parameters.get("episode_length", 20)


def placed(position: list[float]) -> utils.PointMass:
    """Return a point mass whose episode begins at this position."""
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
        assert (together.num_envs, together.spec.id) == (4, name)
        assert together.reset(seed=1)[0].shape == (4, *env.observation_space.shape)
        assert type(gymnasium.make_vec(name, num_envs=4, vectorization_mode="sync", **parameters)) is SyncVectorEnv

    @every
    def test_truncated_in_the_last_step_only(self, name: str, single: type, batch: type, parameters: dict) -> None:
        """Catches: an end one step early or late, terminated for truncated, a count that reset does not set back."""
        env, expected = single(**parameters), length(single, parameters)
        for steps in (expected, 2, expected):  # the second one is given up
            env.reset()
            ends = [env.step(env.action_space.sample())[2:4] for _ in range(steps)]
            assert ends == [(False, count == expected) for count in range(1, steps + 1)]

    @every
    def test_a_seed_makes_all_that_follows_reproducible(self, name: str, single: type, batch: type, parameters: dict) -> None:
        """Catches: a seed that is ignored or fixes one episode only, a global generator, a generator shared by all."""

        def starts(env: gymnasium.Env | gymnasium.vector.VectorEnv, seed: int | None) -> list:
            state = np.random.get_state()[1].tolist()
            seen = [env.reset(seed=seed)[0].tolist(), *(env.reset()[0].tolist() for _ in range(4))]
            assert np.random.get_state()[1].tolist() == state
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

    @every
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

    @every
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

    @every
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
    def test_sizes_below_one_are_refused(self, number: float) -> None:
        """Catches: a batch of nothing, a mean over no axis."""
        for make in (
            lambda: utils.PointMass(number),
            lambda: utils.PointMassVector(number),
            lambda: utils.GridWorldVector(number),
        ):
            with pytest.raises(ValueError, match="must be a whole number from 1 on"):
                make()


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
            returns = sum(env.step(generator.uniform(-size, size, (5000, d)))[1] for _ in range(30))
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
        env, world = (make(dimensions=dimensions) for make in (utils.GridWorldEnv, utils.GridWorldPointTargetEnv))
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
    done = subprocess.run([sys.executable, "-c", code], check=False, cwd=folder, capture_output=True, text=True, timeout=120)
    names = ["<OrderEnforcing<PassiveEnvChecker<PointMass<PointMass-v0>>>>", "GridWorldVector(GridWorld-v0, num_envs=2)", True]
    assert json.loads(done.stdout or "null") == names, done.stderr
