"""Behavior of utils.py: what its docstrings and the assignments promise. Docstrings name the mistakes."""

from __future__ import annotations

import copy
import json
import math
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import matplotlib
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

import utils
from tests.kit.examples import examples
from tests.kit.patience import PATIENCE

pytestmark = [pytest.mark.oracle, pytest.mark.recorded]

matplotlib.use("Agg")

# Below this probability, frequencies are called wrong. The draws are seeded, so nothing fluctuates.
IMPROBABLE = 1e-6


def action(index: int) -> Tensor:
    return torch.tensor([[index]])


def global_generators() -> tuple:
    """Return the states of Python's, numpy's and torch's global generators, comparable with ==."""
    numpys = np.random.get_state(legacy=False)["state"]
    return random.getstate(), numpys["key"].tolist(), numpys["pos"], torch.get_rng_state().tolist()


def starts(env: utils.EnvInterface, episodes: int, seed: int | None = None) -> list[list[float]]:
    """Return the first observation of that many episodes, as lists."""
    return [env.reset(seed if episode == 0 else None).flatten().tolist() for episode in range(episodes)]


def filled_buffer(rewards: list, ends: list[int], observations: Tensor | None = None) -> utils.RolloutBuffer:
    """Return a buffer, not finalized, with these rewards and with terminated rows at `ends`."""
    if observations is None:
        observations = torch.arange(2.0 * len(rewards)).reshape(-1, 2)
    buffer = utils.RolloutBuffer()
    for row, reward in enumerate(rewards):
        buffer.add(
            action=action(row % 3),
            logits=torch.tensor([[-row, -row - 0.25, -0.5]]),
            observation=observations[row : row + 1],
            terminated=row in ends,
            reward=reward,
        )
    return buffer


class TestGridWorld:
    def test_observation_is_target_then_state_mapped_to_minus_one_to_one(self) -> None:
        """Catches: state before target, a map to [0, 1], a division by grid_size - 1."""
        line = utils.GridWorldPointTargetEnv(grid_size=8, dimensions=1, set_target=2, set_state=7)
        assert line.reset().tolist() == [[-0.5, 0.75]]
        plane = utils.GridWorldPointTargetEnv(grid_size=4, dimensions=2, set_target=[0, 1], set_state=[2, 4])
        assert plane.reset().tolist() == [[-1.0, -0.5, 0.0, 1.0]]

    @pytest.mark.parametrize("dimensions", [1, 2])
    def test_observations_are_float32_rows(self, dimensions: int) -> None:
        """Catches: float64 observations, which no network here takes, and a missing batch axis, after reset or step."""
        env = utils.GridWorldPointTargetEnv(dimensions=dimensions)
        for observation in (env.reset(), env.step(action(0))[0]):
            assert isinstance(observation, Tensor)
            assert observation.dtype == torch.float32
            assert observation.shape == (1, 2 * dimensions)

    def test_every_observation_is_a_fresh_tensor(self) -> None:
        """Catches: one tensor that step overwrites, so that every row of a buffer shows the last state."""
        env = utils.GridWorldPointTargetEnv(dimensions=1, set_target=5, set_state=0)
        seen = [env.reset()] + [env.step(action(2))[0] for _ in range(4)] + [env.reset()]
        assert [observation[0, 1].item() for observation in seen] == pytest.approx([-1, -0.8, -0.6, -0.4, -0.2, -1])
        for observation in seen:
            observation.fill_(99.0)  # what a caller does with an observation must not move the point
        assert env.step(action(1))[0].tolist() == [[0.0, -1.0]]

    @pytest.mark.parametrize(("index", "move"), [(0, -1), (1, 0), (2, +1)])
    def test_actions_on_a_line(self, index: int, move: int) -> None:
        """Catches: 0 as stay, left and right swapped."""
        env = utils.GridWorldPointTargetEnv(dimensions=1, set_target=5, set_state=3)
        env.reset()
        env.step(action(index))
        assert env.state.tolist() == [3 + move]
        assert env.num_actions == 3

    @pytest.mark.parametrize(("index", "move"), [(0, (0, 0)), (1, (1, 0)), (2, (-1, 0)), (3, (0, 1)), (4, (0, -1))])
    def test_actions_in_the_plane(self, index: int, move: tuple[int, int]) -> None:
        """Catches: axes or signs swapped, stay elsewhere than at 0."""
        env = utils.GridWorldPointTargetEnv(dimensions=2, set_target=5, set_state=[3, 6])
        env.reset()
        env.step(action(index))
        assert env.state.tolist() == [3 + move[0], 6 + move[1]]
        assert env.num_actions == 5

    def test_a_plain_integer_is_an_action_too(self) -> None:
        """Catches: a step that needs .item()."""
        env = utils.GridWorldPointTargetEnv(dimensions=1, set_target=5, set_state=3)
        env.reset()
        env.step(2)
        env.step(np.int64(2))  # type: ignore[arg-type]  # an integer, but no int
        assert env.state.tolist() == [5]

    def test_state_is_clipped_to_the_grid(self) -> None:
        """Catches: no clipping, or clipping at grid_size - 1, where only starts and targets end."""
        for start, index, states in [(1, 0, [0, 0, 0]), (3, 2, [4, 4, 4])]:
            line = utils.GridWorldPointTargetEnv(grid_size=4, dimensions=1, set_target=2, set_state=start)
            line.reset()
            assert [(line.step(action(index)), line.state.item())[1] for _ in range(3)] == states
        for index, corner in [(1, [4, 2]), (2, [0, 2]), (3, [2, 4]), (4, [2, 0])]:
            plane = utils.GridWorldPointTargetEnv(grid_size=4, dimensions=2, set_target=2, set_state=2)
            plane.reset()
            for _ in range(4):
                plane.step(action(index))
            assert plane.state.tolist() == corner

    def test_reward_is_minus_the_distance_after_the_action_over_grid_size(self) -> None:
        """Catches: the distance before the action, no division, the distance in mapped units, the sum of both axes."""
        line = utils.GridWorldPointTargetEnv(grid_size=8, dimensions=1, set_target=2, set_state=7)
        line.reset()
        assert [line.step(action(index))[2] for index in (0, 1, 2)] == pytest.approx([-4 / 8, -4 / 8, -5 / 8])
        plane = utils.GridWorldPointTargetEnv(grid_size=10, dimensions=2, set_target=[1, 2], set_state=[4, 5])
        plane.reset()
        reward = plane.step(action(3))[2]
        assert reward == pytest.approx(-5 / 10)  # 3-4-5 triangle
        assert isinstance(reward, float)

    def test_an_episode_ends_after_its_steps_and_only_then(self) -> None:
        """Catches: an end one step early or late, an end on the target, a count that reset does not set back."""
        env = utils.GridWorldPointTargetEnv(dimensions=1, episode_length=4, set_target=3, set_state=3)
        for _ in range(2):
            env.reset()
            assert [env.step(action(1))[1] for _ in range(4)] == [False, False, False, True]
        env.reset()
        env.step(action(1))
        env.reset()  # in the middle of an episode
        assert [env.step(action(1))[1] for _ in range(4)] == [False, False, False, True]

    def test_step_returns_observation_terminated_reward(self) -> None:
        """Catches: gymnasium's order, in which the reward comes second."""
        env = utils.GridWorldPointTargetEnv(dimensions=1, set_target=5, set_state=3)
        env.reset()
        observation, terminated, reward = env.step(action(2))
        assert isinstance(env, utils.EnvInterface)
        assert observation.tolist() == pytest.approx(np.array([[0.0, -0.2]]))
        assert terminated is False
        assert reward == pytest.approx(-0.1)

    @pytest.mark.parametrize("dimensions", [1, 2])
    def test_starts_and_targets_are_whole_numbers_below_grid_size(self, dimensions: int) -> None:
        """Catches: grid_size drawn too, fractions, a start that equals the target, equal coordinates, a fixed one."""
        env = utils.GridWorldPointTargetEnv(grid_size=3, dimensions=dimensions)
        env.reset(seed=0)
        drawn = set()
        for _ in range(2000):
            env.reset()
            drawn.add((*env.target, *env.state))
        assert drawn == set(np.ndindex(*[3] * (2 * dimensions)))

    @pytest.mark.parametrize("make", [float, list, tuple, np.array], ids=["number", "list", "tuple", "array"])
    @pytest.mark.parametrize("name", ["set_target", "set_state"])
    def test_a_fixed_position_stays_and_is_never_modified(self, name: str, make: type) -> None:
        """Catches: an episode that moves the given array, so that the next one starts where the last one ended."""
        dimensions = 1 if make is float else 2
        value: Any = make(3) if make is float else make([3, 6])
        env = utils.GridWorldPointTargetEnv(dimensions=dimensions, **{name: value})
        fixed, free = ("target", "state") if name == "set_target" else ("state", "target")
        expected = [3.0] if make is float else [3.0, 6.0]
        others = set()
        for _ in range(20):
            env.reset()
            assert getattr(env, fixed).tolist() == expected
            others.add(tuple(getattr(env, free)))
            for _ in range(2):
                env.step(action(env.num_actions - 1))
        assert np.ravel(value).tolist() == expected
        assert len(others) > 1  # the other one is still drawn
        if make is np.array:
            value[:] = 0  # a copy is kept: the caller's array is the caller's
            env.reset()
            assert getattr(env, fixed).tolist() == expected

    def test_a_number_fixes_every_coordinate(self) -> None:
        """Catches: a number that sets the first coordinate only."""
        env = utils.GridWorldPointTargetEnv(dimensions=2, set_target=4, set_state=7.0)
        env.reset()
        assert (env.target.tolist(), env.state.tolist()) == ([4, 4], [7, 7])

    def test_state_and_target_are_copies(self) -> None:
        """Catches: views through which a caller moves the point."""
        env = utils.GridWorldPointTargetEnv(dimensions=2, set_target=4, set_state=7)
        env.reset()
        env.state[:] = 0
        env.target[:] = 0
        assert (env.target.tolist(), env.state.tolist()) == ([4, 4], [7, 7])

    def test_reset_with_a_seed_is_reproducible(self) -> None:
        """Catches: a seed that is ignored, that fixes only one episode, or that leaves target or state to chance."""
        make = utils.GridWorldPointTargetEnv
        used = make(grid_size=1000)
        starts(used, 3)  # what was drawn before must not matter
        first = starts(used, 5, seed=7)
        assert first == starts(used, 5, seed=7) == starts(make(grid_size=1000), 5, seed=7)
        assert first != starts(make(grid_size=1000), 5, seed=8)
        assert len({tuple(start) for start in first}) == 5

    def test_episodes_neither_use_nor_change_global_generators(self) -> None:
        """Catches: np.random.randint or torch.randint in reset, and np.random.seed(seed) in it."""
        unseeded = []
        for _ in range(2):
            random.seed(0)
            np.random.seed(0)
            torch.manual_seed(0)
            unseeded.append(starts(utils.GridWorldPointTargetEnv(grid_size=1000), 5))
        assert unseeded[0] != unseeded[1]  # equal with a probability of 1e-60 if drawn from an own generator
        seeded, states = [], []
        for seed in (0, 1):
            random.seed(seed)
            np.random.seed(seed)
            torch.manual_seed(seed)
            states.append(global_generators())
            env = utils.GridWorldPointTargetEnv(grid_size=1000)
            seeded.append(starts(env, 5, seed=3))
            env.step(action(1))
            assert global_generators() == states[-1]
        assert seeded[0] == seeded[1]
        assert states[0] != states[1]  # the comparison above can tell states apart

    @settings(max_examples=examples(60), deadline=None, derandomize=True, database=None)
    @given(data=st.data(), dimensions=st.integers(1, 2), grid_size=st.integers(1, 12))
    def test_walks_agree_with_a_plain_model(self, data: st.DataObject, dimensions: int, grid_size: int) -> None:
        """Catches: any slip in moves, clipping, map or reward that a single chosen step does not show."""
        position = st.lists(st.integers(0, grid_size), min_size=dimensions, max_size=dimensions)
        target, state = np.array(data.draw(position)), np.array(data.draw(position))
        moves = [[-1], [0], [1]] if dimensions == 1 else [[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]]
        walk = data.draw(st.lists(st.integers(0, len(moves) - 1), min_size=1, max_size=30))
        env = utils.GridWorldPointTargetEnv(grid_size, len(walk), dimensions, set_target=target, set_state=state)
        env.reset()
        for count, index in enumerate(walk, start=1):
            observation, terminated, reward = env.step(action(index))
            state = np.clip(state + moves[index], 0, grid_size)
            mapped = np.concatenate([target, state]) / (grid_size / 2) - 1
            np.testing.assert_allclose(observation[0].numpy(), mapped, atol=1e-6)
            assert reward == pytest.approx(-np.linalg.norm(state - target) / grid_size)
            assert terminated == (count == len(walk))

    @pytest.mark.parametrize("index", [-1, 3, 0.5, float("nan")])
    def test_an_unknown_action_is_refused(self, index: float) -> None:
        """Catches: -1 taken as the last action, and an IndexError that does not say what an action is."""
        env = utils.GridWorldPointTargetEnv(dimensions=1, set_state=5)
        env.reset()
        for wrong in (index, torch.tensor([[index]])):
            with pytest.raises(ValueError, match="action must be a whole number from 0 to 2"):
                env.step(wrong)  # type: ignore[arg-type]
        assert env.state.tolist() == [5]

    @pytest.mark.parametrize("name", ["grid_size", "episode_length", "dimensions"])
    def test_sizes_below_one_are_refused(self, name: str) -> None:
        """Catches: a grid without cells and an episode without an end."""
        with pytest.raises(ValueError, match=f"{name}.* must be whole numbers from 1 on"):
            utils.GridWorldPointTargetEnv(**{name: 0})

    @pytest.mark.parametrize("name", ["set_target", "set_state"])
    @pytest.mark.parametrize("value", [-1, 11, [1, 2, 3], [1, 11], [], float("nan")])
    def test_a_position_outside_the_grid_is_refused(self, name: str, value: Any) -> None:
        """Catches: a start or target that no walk can reach, and a wrong number of coordinates."""
        with pytest.raises(ValueError, match=rf"{name} must hold 2 number\(s\) from 0 to 10"):
            utils.GridWorldPointTargetEnv(grid_size=10, dimensions=2, **{name: value})


class TestCartPole:
    def test_is_gymnasiums_cart_pole_with_a_scaled_observation(self) -> None:
        """Catches: a scale that is off, truncated or terminated left out, reward and terminated swapped, float64."""
        env, plain = utils.OpenAIGymEnv(), gymnasium.make("CartPole-v1")
        scale = np.array([2.4, 3.0, 0.2095, 3.0])
        choices = np.random.default_rng(0)
        assert isinstance(env, utils.EnvInterface)
        ends = 0
        observation, (raw, _) = env.reset(seed=5), plain.reset(seed=5)
        for _ in range(200):
            assert observation.dtype == torch.float32
            assert observation.shape == (1, 4)
            np.testing.assert_allclose(observation[0].numpy() * scale, raw, rtol=1e-5)
            index = int(choices.integers(env.num_actions))
            observation, terminated, reward = env.step(action(index))
            raw, expected_reward, fell, _, _ = plain.step(index)
            assert terminated is fell
            assert reward == expected_reward == 1
            assert isinstance(reward, float)
            if terminated:
                ends += 1
                observation, (raw, _) = env.reset(), plain.reset()
        assert ends > 2

    def test_observations_are_about_one_where_an_episode_fails(self) -> None:
        """Catches: raw observations, whose angle is too small for a network to see."""
        env = utils.OpenAIGymEnv()
        env.reset(seed=0)
        seen, terminated = [], False
        while not terminated:  # pushed to one side only, the pole falls after a few steps
            observation, terminated, _ = env.step(action(1))
            seen.append(observation)
        *before, last = torch.cat(seen)[:, 2].abs().tolist()
        assert max(before) < 1 <= last
        assert torch.cat(seen).abs().max() < 1.5

    def test_the_time_limit_counts_as_terminated(self) -> None:
        """Catches: an episode that gymnasium only truncates and that therefore never ends."""
        env = utils.OpenAIGymEnv()
        observation, terminated, steps = env.reset(seed=0), False, 0
        while not terminated and steps < 600:
            lean = observation[0, 2] + observation[0, 3]  # push toward the side to which the pole falls
            observation, terminated, _ = env.step(action(int(lean > 0)))
            steps += 1
        assert steps == 500

    def test_reset_with_a_seed_is_reproducible_and_leaves_global_generators_alone(self) -> None:
        """Catches: a seed that is ignored or handed to a global generator."""
        state = global_generators()
        first = starts(utils.OpenAIGymEnv(), 3, seed=7)
        assert first == starts(utils.OpenAIGymEnv(), 3, seed=7)
        assert first != starts(utils.OpenAIGymEnv(), 3, seed=8)
        assert len({tuple(start) for start in first}) == 3
        assert global_generators() == state

    def test_an_unknown_action_is_refused(self) -> None:
        """Catches: an action 2 that is taken as a push to the left."""
        env = utils.OpenAIGymEnv()
        env.reset(seed=0)
        with pytest.raises(ValueError, match="whole number from 0 to 1"):
            env.step(action(2))


class TestNetwork:
    @pytest.mark.parametrize(
        ("hidden", "shapes"),
        [
            ([16], [(16, 3), (16, 16), (2, 16)]),
            ([7, 5], [(7, 3), (7, 7), (5, 7), (2, 5)]),
        ],
    )
    def test_every_hidden_entry_adds_a_layer(self, hidden: list[int], shapes: list[tuple[int, int]]) -> None:
        """Catches: one layer too few (the first entry counts twice), and parameter names that no stored weights fit."""
        network = utils.SimpleReLuNetwork(3, 2, hidden_dims=hidden)
        expected: dict[str, tuple[int, ...]] = {}
        for layer, shape in enumerate(shapes):
            expected[f"net.{2 * layer}.weight"] = shape
            expected[f"net.{2 * layer}.bias"] = shape[:1]
        assert {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()} == expected
        assert list(network.state_dict()) == list(expected)
        assert isinstance(network.net, nn.Sequential)

    def test_the_default_is_one_entry_of_sixteen(self) -> None:
        """Catches: another default, which would change every experiment of the notebook."""
        default, explicit = utils.SimpleReLuNetwork(3, 2), utils.SimpleReLuNetwork(3, 2, hidden_dims=[16])
        assert str(default) == str(explicit)

    def test_forward_is_relu_between_linear_layers_and_none_at_the_end(self) -> None:
        """Catches: a missing ReLU, a ReLU after the output, another activation."""
        torch.manual_seed(0)
        network = utils.SimpleReLuNetwork(3, 2, hidden_dims=[7, 5])
        rows = torch.randn(20, 3)
        weights = [tensor.numpy() for tensor in network.state_dict().values()]
        expected = rows.numpy()
        for layer in range(4):
            expected = expected @ weights[2 * layer].T + weights[2 * layer + 1]
            if layer < 3:
                expected = np.maximum(expected, 0)
        output = network(rows)
        np.testing.assert_allclose(output.detach().numpy(), expected, atol=1e-5)
        assert output.dtype == torch.float32
        assert (output < 0).any()

    def test_log_softmax_is_over_the_last_axis_and_only_if_asked(self) -> None:
        """Catches: a softmax without log, a softmax over the batch, a softmax for the value network."""
        torch.manual_seed(0)
        with_it = utils.SimpleReLuNetwork(3, 4, out_logsoftmax=True)
        without = utils.SimpleReLuNetwork(3, 4)
        without.load_state_dict(with_it.state_dict())  # LogSoftmax adds no keys
        for shape in [(5, 3), (2, 5, 3)]:
            rows = torch.randn(shape)
            scores = without(rows)
            expected = scores - scores.exp().sum(dim=-1, keepdim=True).log()
            torch.testing.assert_close(with_it(rows), expected)
            assert not torch.allclose(scores, expected)
        assert isinstance(with_it.net[-1], nn.LogSoftmax)
        assert with_it.net[-1].dim == -1

    def test_fixed_init_fills_every_weight_and_every_bias(self) -> None:
        """Catches: weight and bias swapped, a layer left out."""
        network = utils.SimpleReLuNetwork(3, 2, fixed_init=[0.25, -0.5], hidden_dims=[4, 5])
        for name, tensor in network.state_dict().items():
            assert (tensor == (0.25 if name.endswith("weight") else -0.5)).all(), name
        assert all(parameter.requires_grad for parameter in network.parameters())

    def test_without_fixed_init_torchs_own_is_kept(self) -> None:
        """Catches: another initialization, or one that draws in another order."""
        torch.manual_seed(3)
        network = utils.SimpleReLuNetwork(3, 2, hidden_dims=[7, 5])
        torch.manual_seed(3)
        layers = [nn.Linear(3, 7), nn.Linear(7, 7), nn.Linear(7, 5), nn.Linear(5, 2)]
        expected = [parameter for layer in layers for parameter in layer.parameters()]
        for parameter, value in zip(network.parameters(), expected, strict=True):
            assert torch.equal(parameter, value)


class TestSmallRecurrentAgent:
    def test_forward_is_an_lstm_cell_with_two_heads(self) -> None:
        """Catches: heads on the old memory or on c, values `[batch, 1]`, gates in another order than torch's."""
        torch.manual_seed(0)
        agent = utils.SmallRecurrentAgent(3, 4, units=5)
        h, c, observations = torch.randn(2, 5), torch.randn(2, 5), torch.randn(2, 3)
        weights = {name: tensor.numpy() for name, tensor in agent.state_dict().items()}
        gates = (observations.numpy() @ weights["rnn.weight_ih"].T + weights["rnn.bias_ih"]) + (
            h.numpy() @ weights["rnn.weight_hh"].T + weights["rnn.bias_hh"]
        )
        inward, forget, candidate, outward = np.split(gates, 4, axis=1)
        new_c = c.numpy() / (1 + np.exp(-forget)) + np.tanh(candidate) / (1 + np.exp(-inward))
        new_h = np.tanh(new_c) / (1 + np.exp(-outward))
        expected = (
            new_h,
            new_c,
            new_h @ weights["logits.weight"].T + weights["logits.bias"],
            (new_h @ weights["state_value.weight"].T + weights["state_value.bias"])[:, 0],
        )
        memory: Any  # students may make a list of it
        for memory in ((h, c), [h, c]):
            for state, outputs in (agent(memory, observations), agent.step(memory, observations.numpy().astype(np.float64))):
                for ours, wanted in zip((*state, *outputs), expected, strict=True):
                    assert ours.dtype == torch.float32
                    np.testing.assert_allclose(ours.detach().numpy(), wanted, atol=1e-6)
        assert agent((h, c), observations)[1][1].requires_grad
        assert not agent.step((h, c), observations)[1][1].requires_grad

    def test_memory_begins_with_zeros_and_the_caller_seeds(self) -> None:
        """Catches: a memory of another size, weights that no seed or always the same seed decides."""
        agents = []
        for seed in (1, 1, 2):
            torch.manual_seed(seed)
            agents.append(utils.SmallRecurrentAgent(1, 2))
        first, same, other = (agent.rnn.weight_ih for agent in agents)
        assert torch.equal(first, same)
        assert not torch.equal(first, other)
        for tensor in agents[0].get_initial_state(7):
            assert (tensor.shape, tensor.dtype, tensor.abs().sum().item()) == ((7, 32), torch.float32, 0)

    def test_actions_are_drawn_from_the_policy(self) -> None:
        """Catches: the best action every time, one action for all rows, a seed that is ignored."""
        agent = utils.SmallRecurrentAgent(1, 2)
        logits = torch.tensor([[0.0, 1.0]]).log_softmax(1).expand(10_000, 2)
        drawn = []
        for seed in (1, 1, 2):
            torch.manual_seed(seed)
            drawn.append(agent.sample_actions((logits, torch.zeros(10_000))))
        assert (type(drawn[0]), drawn[0].dtype, drawn[0].shape) == (np.ndarray, np.int64, (10_000,))
        assert drawn[0].mean() == pytest.approx(math.e / (1 + math.e), abs=0.025)
        assert (drawn[0] == drawn[1]).all()
        assert (drawn[0] != drawn[2]).any()


class TestRolloutBuffer:
    FIELDS = ("actions", "old_logits", "observations", "rewards", "terminateds")

    def test_fields_are_lists_before_finalize(self) -> None:
        """Catches: tensors that grow with every row, and lists shared by all buffers."""
        buffer = filled_buffer([0.5, -1.0], ends=[1])
        for name in self.FIELDS:
            assert isinstance(getattr(buffer, name), list), name
            assert len(getattr(buffer, name)) == 2
        assert buffer.rewards == [0.5, -1.0]
        assert buffer.terminateds == [False, True]
        assert buffer.final_size is None
        assert utils.RolloutBuffer().rewards == []

    def test_fields_are_aligned_tensors_after_finalize(self) -> None:
        """Catches: rows stacked to [T, 1, n], rewards as [T, 1], a field in another order, a wrong dtype."""
        buffer = filled_buffer([0.5, -1.0, 0.25], ends=[1])
        buffer.finalize()
        expected = {
            "actions": torch.tensor([[0], [1], [2]]),
            "old_logits": torch.tensor([[0, -0.25, -0.5], [-1, -1.25, -0.5], [-2, -2.25, -0.5]]),
            "observations": torch.tensor([[0.0, 1], [2, 3], [4, 5]]),
            "rewards": torch.tensor([0.5, -1.0, 0.25]),
            "terminateds": torch.tensor([False, True, False]),
        }
        for name, rows in expected.items():
            torch.testing.assert_close(getattr(buffer, name), rows, rtol=0, atol=0)  # compares shape and dtype too
        assert buffer.final_size == 3

    @pytest.mark.parametrize(
        ("rewards", "dtype"),
        [
            ([1, 2, 3], torch.int64),
            ([np.int32(1), 2, 3], torch.int64),
            ([1, 2, 3.0], torch.float32),
            ([np.float64(1), np.float64(2), np.float64(3)], torch.float32),
            ([torch.tensor(1.0), torch.tensor([2.0]), 3], torch.float32),
        ],
    )
    def test_rewards_are_integers_only_if_all_are(self, rewards: list, dtype: torch.dtype) -> None:
        """Catches: fractions cut off when the first reward is an integer, float64 rewards, rewards of shape [T, 1]."""
        buffer = filled_buffer(rewards, ends=[])
        buffer.finalize()
        assert buffer.rewards.dtype == dtype
        assert buffer.rewards.tolist() == [1, 2, 3]

    def test_rows_of_seed_002_without_a_batch_axis_are_accepted(self) -> None:
        """Catches: a finalize that fails on the example in the notebook, whose tensors are all `tensor([0])`."""
        dummy = torch.tensor([0])
        buffer = utils.RolloutBuffer()
        for reward in range(3):
            buffer.add(action=dummy, logits=dummy, observation=dummy, terminated=reward == 2, reward=reward)
        buffer.finalize()
        assert buffer.final_size == 3
        assert buffer.observations.shape == (3,)

    def test_the_tensors_carry_no_gradient(self) -> None:
        """Catches: old logits through which PPO's loss would also train the old policy."""
        buffer = utils.RolloutBuffer()
        logits = torch.zeros(1, 3, requires_grad=True)
        buffer.add(action=action(0), logits=logits * 2, observation=torch.zeros(1, 2), terminated=True, reward=0.0)
        buffer.finalize()
        assert not buffer.old_logits.requires_grad

    def test_finalize_works_once(self) -> None:
        """Catches: a second finalize that goes unnoticed, and rows added to a buffer that is closed."""
        buffer = filled_buffer([0.5], ends=[0])
        buffer.finalize()
        with pytest.raises(RuntimeError, match="finalized already"):
            buffer.finalize()
        with pytest.raises(RuntimeError, match="is finalized"):
            buffer.add(action(0), torch.zeros(1, 3), torch.zeros(1, 2), False, 0.0)
        assert buffer.final_size == 1
        loaded = utils.RolloutBuffer()
        loaded.load(buffer.dump())
        with pytest.raises(RuntimeError, match="finalized already"):
            loaded.finalize()

    def test_an_empty_buffer_cannot_be_finalized(self) -> None:
        """Catches: an error deep inside torch.cat."""
        with pytest.raises(RuntimeError, match="empty"):
            utils.RolloutBuffer().finalize()

    @pytest.mark.parametrize("rewards", [[0.5, -1.0, 1 / 3], [1, 2, 3]], ids=["float", "integer"])
    @pytest.mark.parametrize("finalized", [True, False])
    def test_load_takes_back_what_dump_returned_even_through_json(self, rewards: list, finalized: bool) -> None:
        """Catches: tensors in the dump, another dtype or shape after load, digits lost, a batch axis too many."""
        buffer = filled_buffer(rewards, ends=[1])
        if finalized:
            buffer.finalize()
        content = json.loads(json.dumps(buffer.dump()))
        if not finalized:
            buffer.finalize()
        loaded = utils.RolloutBuffer()
        loaded.load(content)
        for name in self.FIELDS:
            torch.testing.assert_close(getattr(loaded, name), getattr(buffer, name), rtol=0, atol=0)
        assert loaded.final_size == 3

    def test_load_needs_every_field_with_the_same_number_of_rows(self) -> None:
        """Catches: half a buffer that fails much later, in a loss."""
        buffer = filled_buffer([0.5, 1.0], ends=[1])
        buffer.finalize()
        content = buffer.dump()
        with pytest.raises(ValueError, match="missing: old_logits"):
            utils.RolloutBuffer().load({name: rows for name, rows in content.items() if name != "old_logits"})
        with pytest.raises(ValueError, match="same number of rows"):
            utils.RolloutBuffer().load(content | {"rewards": [0.5]})


class TestSampling:
    PROBABILITIES = (0.5, 0.3, 0.2)

    def logits(self, rows: int = 1) -> Tensor:
        return torch.tensor([self.PROBABILITIES]).log().repeat(rows, 1)

    def assert_frequencies(self, actions: Tensor, probabilities: tuple[float, ...] = PROBABILITIES) -> None:
        from scipy.stats import chisquare

        counts = torch.bincount(actions.flatten(), minlength=len(probabilities)).numpy()
        assert chisquare(counts, counts.sum() * np.array(probabilities)).pvalue > IMPROBABLE, counts

    @pytest.mark.parametrize("seed", [None, [5, 6]], ids=["unseeded", "seeded"])
    @pytest.mark.parametrize("rows", [1, 5])
    def test_one_action_a_row_int64_one_by_batch(self, rows: int, seed: list[int] | None) -> None:
        """Catches: the shape [batch, 1] or [batch], and int32, which gather refuses."""
        actions = utils.distribution_sample(self.logits(rows), seed=seed)
        assert actions.dtype == torch.int64
        assert actions.shape == (1, rows)

    @pytest.mark.parametrize("make", [list, np.array, lambda ring: np.array(ring, dtype=np.int32)])
    def test_a_draw_rotates_the_ring_by_one_in_place(self, make: type) -> None:
        """Catches: no rotation, the wrong direction, a rotated copy, a view that overwrites itself."""
        ring = make([3, 1, 4, 5])
        for expected in ([1, 4, 5, 3], [4, 5, 3, 1], [5, 3, 1, 4], [3, 1, 4, 5]):
            utils.distribution_sample(self.logits(2), seed=ring)
            assert list(ring) == expected

    def test_a_draw_uses_the_first_entry_only(self) -> None:
        """Catches: a seed made of the whole ring, of its last entry, or of the entry after the rotation."""
        logits = torch.zeros(30, 4)
        alone = utils.distribution_sample(logits, seed=[7])
        assert torch.equal(utils.distribution_sample(logits, seed=[7, 8, 9]), alone)
        assert not torch.equal(utils.distribution_sample(logits, seed=[8, 7, 7]), alone)
        ring = np.array([7, 8, 9])
        draws = [utils.distribution_sample(logits, seed=ring) for _ in range(6)]
        assert all(torch.equal(draws[turn], draws[turn + 3]) for turn in range(3))
        assert not torch.equal(draws[0], draws[1])

    def test_seeded_draws_are_the_same_on_every_platform_and_version(self) -> None:
        """Catches: draws from torch, or any change of the algorithm: stored answers depend on these very numbers."""
        one_row = [utils.distribution_sample(self.logits(), seed=[seed]).item() for seed in range(20)]
        assert one_row == [1, 1, 0, 0, 2, 2, 1, 1, 0, 2, 2, 0, 0, 2, 2, 1, 1, 2, 0, 0]
        rows = torch.tensor([[0.0, 0, 0], [1, 2, 3], [3, 2, 1], [0, 5, 0], [-1, -1, 4]])
        assert utils.distribution_sample(rows, seed=[11]).tolist() == [[0, 2, 0, 1, 2]]
        uniform = utils.distribution_sample(torch.zeros(12, 4), seed=[2024])
        assert uniform.tolist() == [[2, 0, 1, 3, 3, 0, 0, 0, 1, 0, 2, 2]]

    def test_a_seeded_draw_neither_uses_nor_changes_global_generators(self) -> None:
        """Catches: torch.manual_seed(seed[0]) or np.random.seed(seed[0]) before the draw."""
        draws = []
        for seed in (0, 1):
            np.random.seed(seed)
            torch.manual_seed(seed)
            state = global_generators()
            draws.append(utils.distribution_sample(torch.zeros(30, 4), seed=[7]))
            assert global_generators() == state
        assert torch.equal(*draws)

    def test_an_unseeded_draw_uses_torchs_global_generator_alone(self) -> None:
        """Catches: a fresh generator in each call, so that torch.manual_seed does not make a training reproducible."""
        draws = []
        for seed in (0, 0, 1):
            torch.manual_seed(seed)
            before = global_generators()
            draws.append(utils.distribution_sample(torch.zeros(30, 4)))
            after = global_generators()
            assert after[:-1] == before[:-1]
            assert after[-1] != before[-1]
        assert torch.equal(draws[0], draws[1])
        assert not torch.equal(draws[0], draws[2])
        assert not torch.equal(draws[0], utils.distribution_sample(torch.zeros(30, 4)))

    @pytest.mark.parametrize("shift", [0.0, 3.0, -60.0])
    def test_frequencies_of_unseeded_draws(self, shift: float) -> None:
        """Catches: logits taken as probabilities, a softmax forgotten for logits that are not normalized."""
        torch.manual_seed(0)
        self.assert_frequencies(utils.distribution_sample(self.logits(30_000) + shift))
        self.assert_frequencies(torch.cat([utils.distribution_sample(self.logits() + shift) for _ in range(5000)]))

    @pytest.mark.parametrize("shift", [0.0, 3.0, -60.0])
    def test_frequencies_of_seeded_draws(self, shift: float) -> None:
        """Catches: the same, and one uniform number shared by all rows of a batch."""
        self.assert_frequencies(utils.distribution_sample(self.logits(30_000) + shift, seed=[0]))
        ring = np.arange(5000)
        self.assert_frequencies(torch.cat([utils.distribution_sample(self.logits() + shift, seed=ring) for _ in ring]))

    @pytest.mark.parametrize("seed", [None, [5]], ids=["unseeded", "seeded"])
    def test_every_row_has_its_own_distribution(self, seed: list[int] | None) -> None:
        """Catches: the first row's distribution for the whole batch."""
        rows = torch.full((6, 3), -200.0)
        rows[range(6), [2, 0, 1, 1, 0, 2]] = 0.0
        assert utils.distribution_sample(rows, seed=seed).tolist() == [[2, 0, 1, 1, 0, 2]]

    @pytest.mark.parametrize("impossible", [0, 1, 2])
    @pytest.mark.parametrize("seed", [None, [5]], ids=["unseeded", "seeded"])
    def test_an_impossible_action_is_never_drawn(self, impossible: int, seed: list[int] | None) -> None:
        """Catches: a comparison with <= that lets a probability of 0 through, and NaN from -inf."""
        torch.manual_seed(0)
        logits = torch.zeros(20_000, 3)
        logits[:, impossible] = -torch.inf
        actions = utils.distribution_sample(logits, seed=seed)
        assert (actions != impossible).all()
        self.assert_frequencies((actions == (impossible + 1) % 3).long(), (0.5, 0.5))

    @pytest.mark.parametrize("seed", [None, [5]], ids=["unseeded", "seeded"])
    def test_logits_with_a_gradient_are_accepted_and_left_as_they_are(self, seed: list[int] | None) -> None:
        """Catches: numpy() on a tensor that requires grad, and an in-place softmax."""
        logits = self.logits(4).requires_grad_()
        before = logits.detach().clone()
        actions = utils.distribution_sample(logits, seed=seed)
        assert not actions.requires_grad
        assert torch.equal(logits, before)

    def test_an_empty_ring_is_refused(self) -> None:
        """Catches: an IndexError that does not say what was empty."""
        ring: np.ndarray | list[int]
        for ring in ([], np.array([], dtype=int)):
            with pytest.raises(ValueError, match="array or a list of integers"):
                utils.distribution_sample(self.logits(), seed=ring)


class TestSuccessRate:
    def test_counts_the_last_stored_observation_of_finished_episodes(self) -> None:
        """Catches: any visit of the target counted, the unfinished tail counted, the first observation used."""
        line = utils.GridWorldPointTargetEnv(dimensions=1)
        pairs = [(0.2, 0.2), (0.2, 0.4), (0.2, 0.4), (0.2, 0.2), (-1.0, 1.0), (-0.6, -0.6), (0.4, 0.4)]
        buffer = filled_buffer([0.0] * 7, ends=[1, 3, 4, 5], observations=torch.tensor(pairs))
        buffer.finalize()
        rate = utils.get_success_rate(line, buffer)
        assert rate == pytest.approx(2 / 4)
        assert isinstance(rate, float)

    def test_in_the_plane_both_coordinates_must_be_right(self) -> None:
        """Catches: one coordinate compared, columns interleaved, opposite differences that cancel in a sum."""
        plane = utils.GridWorldPointTargetEnv(dimensions=2)
        rows = [
            [0.2, 0.4, 0.2, 0.4],
            [0.2, 0.4, 0.2, 0.6],
            [0.2, 0.4, 0.0, 0.4],
            [0.2, 0.2, 0.4, 0.4],
            [0.2, 0.4, 0.4, 0.2],
        ]
        buffer = filled_buffer([0.0] * 5, ends=[0, 1, 2, 3, 4], observations=torch.tensor(rows))
        buffer.finalize()
        assert utils.get_success_rate(plane, buffer) == pytest.approx(1 / 5)

    def test_agrees_with_played_episodes(self) -> None:
        """Catches: a comparison so strict or so loose that real observations fall on the wrong side."""
        for start, share in [(775, 1.0), (776, 0.0)]:  # two steps to the right; the third is not in the buffer any more
            env = utils.GridWorldPointTargetEnv(1000, 3, 1, set_target=777, set_state=start)
            buffer = utils.RolloutBuffer()
            observation, terminated = env.reset(), False
            while not terminated:
                following, terminated, reward = env.step(action(2))
                buffer.add(action(2), torch.zeros(1, 3), observation, terminated, reward)
                observation = following
            buffer.finalize()
            assert utils.get_success_rate(env, buffer) == share

    def test_a_share_is_exact_enough_to_compare(self) -> None:
        """Catches: a float32 mean, for which 19 of 20 is less than 0.95."""
        observations = torch.zeros(20, 2)
        observations[3, 1] = 1.0
        buffer = filled_buffer([0.0] * 20, ends=list(range(20)), observations=observations)
        buffer.finalize()
        assert utils.get_success_rate(utils.GridWorldPointTargetEnv(dimensions=1), buffer) == 0.95

    def test_needs_a_finished_episode(self) -> None:
        """Catches: NaN, the mean of nothing."""
        buffer = filled_buffer([0.0, 0.0], ends=[])
        buffer.finalize()
        with pytest.raises(ValueError, match="no episode"):
            utils.get_success_rate(utils.GridWorldPointTargetEnv(dimensions=1), buffer)


class TestPlot:
    PAIRS = ((0.2, 0.6), (0.2, 0.4), (0.2, 0.2), (0.0, -1.0), (0.0, -0.8), (0.4, 0.4))

    def show(self, monkeypatch: pytest.MonkeyPatch, env: utils.GridWorldPointTargetEnv) -> tuple:
        """Return (the rate, the drawn axes) for two finished episodes and a tail; the figure must be shown once."""
        from matplotlib import pyplot

        shown = []
        monkeypatch.setattr(pyplot, "show", lambda *_, **__: shown.append(pyplot.gcf()))
        buffer = filled_buffer([0.0] * 6, ends=[2, 4], observations=torch.tensor(self.PAIRS))
        buffer.finalize()
        rate = utils.show_lineworld_rollouts(env, buffer)
        (figure,) = shown
        pyplot.close(figure)
        return rate, figure.axes[0]

    def test_draws_one_line_an_episode_and_returns_the_success_rate(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Catches: one line for all episodes, a wrong scale of the distance, the rate of something else."""
        rate, axes = self.show(monkeypatch, utils.GridWorldPointTargetEnv(grid_size=10, dimensions=1))
        assert rate == pytest.approx(1 / 2)
        assert "50%" in axes.get_title()
        drawn = [np.asarray(line.get_ydata(), dtype=float).round(4).tolist() for line in axes.get_lines()]
        for distances in ([2, 1, 0], [-5, -4], [0]):
            assert distances in drawn
        (success,) = [line for line in axes.get_lines() if len(line.get_ydata()) == 3]
        (failure,) = [line for line in axes.get_lines() if list(line.get_ydata()) == pytest.approx([-5, -4])]
        assert success.get_color() != failure.get_color()

    def test_each_call_draws_into_a_new_figure(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Catches: lines of the last call left in the plot."""
        env = utils.GridWorldPointTargetEnv(dimensions=1)
        first, second = (self.show(monkeypatch, env)[1] for _ in range(2))
        assert first is not second
        assert len(first.get_lines()) == len(second.get_lines())

    def test_refuses_a_plane(self) -> None:
        """Catches: a plot of the target's second coordinate as if it were the state."""
        buffer = filled_buffer([0.0], ends=[0], observations=torch.zeros(1, 4))
        buffer.finalize()
        with pytest.raises(ValueError, match="one-dimensional"):
            utils.show_lineworld_rollouts(utils.GridWorldPointTargetEnv(dimensions=2), buffer)


class CountingEnv(utils.EnvInterface):
    """Episodes of `length` steps; the reward of every step is its number. It remembers the seeds of its resets."""

    num_actions = 2

    def __init__(self, length: int) -> None:
        self.length = length
        self.seeds: list[int | None] = []

    def reset(self, seed: int | None = None) -> Tensor:
        self.seeds.append(seed)
        self.steps = 0
        return torch.zeros(1, 1)

    def step(self, action: Tensor | int) -> tuple[Tensor, bool, float]:
        self.steps += 1
        return torch.full((1, 1), float(self.steps)), self.steps == self.length, float(self.steps)


def play(env: utils.EnvInterface, episodes: int, steps: int) -> None:
    for _ in range(episodes):
        env.reset()
        for _ in range(steps):
            env.step(0)


class TestWatchedEnv:
    def test_passes_everything_through(self) -> None:
        """Catches: a wrapper that swaps what `step` returns, or hides the environment's attributes."""
        inner, plain = (utils.GridWorldPointTargetEnv(dimensions=1, episode_length=3) for _ in range(2))
        watched = utils.WatchedEnv(inner)
        assert isinstance(watched, utils.EnvInterface)
        assert torch.equal(watched.reset(seed=5), plain.reset(seed=5))
        for move in (0, 2, 2):
            (seen, ended, reward), (expected, end, right) = watched.step(action(move)), plain.step(action(move))
            assert torch.equal(seen, expected)
            assert (ended, reward) == (end, right)
        assert (watched.num_actions, watched.dimensions, watched.grid_size) == (3, 1, 10)
        with pytest.raises(AttributeError):
            _ = watched.no_such_thing

    def test_keeps_the_return_of_each_finished_episode(self) -> None:
        """Catches: rewards of an abandoned episode counted in the next one, a last reward instead of the sum."""
        told: list[float] = []
        inner = CountingEnv(3)
        env = utils.WatchedEnv(inner, told.append)
        play(env, episodes=2, steps=3)
        play(env, episodes=1, steps=2)  # abandoned
        play(env, episodes=1, steps=3)
        assert env.returns == told == [6.0, 6.0, 6.0]
        env.reset(seed=7)
        assert inner.seeds == [None] * 4 + [7]

    def test_can_be_copied(self) -> None:
        """Catches: a `__getattr__` that asks itself for ever."""
        env = copy.deepcopy(utils.WatchedEnv(CountingEnv(1)))
        play(env, episodes=1, steps=1)
        assert env.returns == [1.0]


class TestProgressBar:
    def test_shows_how_far_and_the_mean_return(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Catches: steps counted instead of episodes, a mean over all episodes instead of the latest, no title."""
        with utils.ProgressBar(rollouts=5, title="name", window=2) as bar:
            play(bar.watch(CountingEnv(1)), episodes=3, steps=1)
            play(bar.watch(CountingEnv(3)), episodes=2, steps=3)
        last = capsys.readouterr().out.split("\r")[-1]
        assert "name" in last
        assert "5/5" in last
        assert "mean return 6.00" in last

    def test_counts_beyond_the_end(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Catches: 6/4, when the last collection was rounded up."""
        with utils.ProgressBar(rollouts=4) as bar:
            play(bar.watch(CountingEnv(1)), episodes=6, steps=1)
        assert "6/6" in capsys.readouterr().out

    def test_leaves_out_only_progress_lines(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Catches: two progress displays that fight, or a student's own print that is swallowed."""
        with utils.ProgressBar(rollouts=2):
            print("\rRunning rollout 0/2", end="")
            print("mine", end=" ")
            print("Running rollouts is fun")
        print("after")
        shown = capsys.readouterr().out
        assert "mine Running rollouts is fun" in shown
        assert shown.endswith("after\n")
        assert "Running rollout 0/2" not in shown

    def test_exceptions_pass_and_printing_works_afterwards(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Catches: a student's exception that is swallowed, and an output that stays filtered after it."""
        with pytest.raises(NotImplementedError, match="blank"), utils.ProgressBar(rollouts=2):
            raise NotImplementedError("blank")
        print("\rRunning rollout 0/2")
        assert "Running rollout" in capsys.readouterr().out

    def test_refuses_what_makes_no_sense(self) -> None:
        """Catches: a bar that divides by zero later, or is used without being shown."""
        refused: list[dict[str, Any]] = [{"rollouts": 0}, {"rollouts": 3, "window": 0}]
        for numbers in refused:
            with pytest.raises(ValueError, match="at least 1"):
                utils.ProgressBar(**numbers)
        with pytest.raises(RuntimeError, match=r"with utils\.ProgressBar"):
            play(utils.ProgressBar(rollouts=1).watch(CountingEnv(1)), episodes=1, steps=1)


class TestLearningCurves:
    def draw(self, *arguments: Any, **options: Any) -> tuple:
        """Return (per setting the line's label, x and y; per setting the lowest and highest y of the band at each x)."""
        from matplotlib import pyplot

        axes: Any = utils.plot_learning_curves(*arguments, **options)  # by their types, data need not be arrays
        lines = [(line.get_label(), line.get_xdata().tolist(), line.get_ydata().tolist()) for line in axes.get_lines()]
        bands: list[list[tuple[float, float]]] = []
        for band in axes.collections:
            corners = band.get_paths()[0].vertices
            bands.append([(min(ys), max(ys)) for x in lines[len(bands)][1] for ys in [corners[corners[:, 0] == x, 1].tolist()]])
        pyplot.close(axes.figure)
        return lines, bands, axes

    def test_mean_and_range_over_seeds(self) -> None:
        """Catches: a mean over time instead of seeds, a band that is not from the lowest to the highest seed."""
        curves = {"a": [[0, 1, 2], [2, 5, 4], [4, 0, 0]], "b": [[1, 1, 1]]}
        lines, bands, axes = self.draw(curves, "reward", rollouts_per_value=4)
        assert lines == [("a (3 seeds)", [4, 8, 12], [2, 2, 2]), ("b (1 seed)", [4, 8, 12], [1, 1, 1])]
        assert bands[0] == [(0, 4), (0, 5), (0, 4)]
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("rollouts", "reward")

    def test_long_curves_are_averaged(self) -> None:
        """Catches: values thrown away instead of averaged, a last part that is left out, an x-axis that ends early."""
        lines, _, _ = self.draw({"a": [list(range(7))]}, "reward", points=3)
        ((_, rollouts, means),) = lines
        assert rollouts[-1] == 7
        assert np.dot(means, np.diff([0, *rollouts])) == pytest.approx(sum(range(7)))
        assert means == sorted(means)

    def test_draws_where_it_is_told(self) -> None:
        """Catches: a second, empty figure in the notebook; a color that changes from picture to picture."""
        from matplotlib import pyplot

        figure, axes = pyplot.subplots()
        assert utils.plot_learning_curves({"a": [[1.0]]}, "reward", axes=axes, colors=["red"]) is axes
        assert axes.get_lines()[0].get_color() == "red"
        pyplot.close(figure)

    @pytest.mark.parametrize("seeds", [[], [[]], [[1.0], [1.0, 2.0]]])
    def test_refuses_seeds_that_do_not_fit(self, seeds: list) -> None:
        """Catches: a broadcasting error far from its cause."""
        with pytest.raises(ValueError, match="'a' needs one list per seed"):
            utils.plot_learning_curves({"a": seeds}, "reward")


def test_importing_utils_does_not_import_matplotlib() -> None:
    """Catches: an import at the top, which would cost every graded process a second. (gymnasium costs 0.03 s.)"""
    code = """
import sys, utils
env = utils.GridWorldPointTargetEnv()
env.reset()
print(*(name for name in ("torch", "gymnasium", "matplotlib", "scipy") if name in sys.modules))
"""
    command, folder = [sys.executable, "-c", code], Path(utils.__file__).parent
    done = subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout.split() == ["torch", "gymnasium"], done.stderr


def test_the_interface_itself_does_nothing() -> None:
    """Catches: a new environment that forgets a method and goes on silently."""
    with pytest.raises(NotImplementedError):
        utils.EnvInterface().reset()
    with pytest.raises(NotImplementedError):
        utils.EnvInterface().step(action(0))


class TestProbe:
    """Episodes that are understood at a glance, which notebooks let agents learn."""

    @pytest.mark.parametrize(("truncates", "rewards"), [(False, [0.0, 0.0, 7.0]), (True, [7.0, 7.0, 7.0])])
    def test_what_pays_and_how_it_ends(self, truncates: bool, rewards: list[float]) -> None:
        """Catches: a reward by the last action, one that is paid too early, and an end of the wrong kind."""
        env = utils.Probe(lambda sign, action: sign * sign * action[0], 3, truncates)
        env.reset(seed=0)
        steps = [env.step(np.array([value])) for value in (7.0, 8.0, 9.0)]
        assert [reward for _, reward, *_ in steps] == rewards
        assert [ends[:2] for _, _, *ends in steps] == [[False, False]] * 2 + [[not truncates, truncates]]

    def test_what_is_observed(self) -> None:
        """Catches: a clock that can be seen where it must not, and an action that is seen without being asked for."""
        cases: list[tuple[dict[str, Any], list[list[int]]]] = [
            ({}, [[0], [1], [2]]),
            ({"truncates": True}, [[0], [0], [0]]),
            ({"shows_action": True}, [[0, 0], [1, 5], [2, 5]]),
        ]
        for options, rows in cases:
            env = utils.Probe(lambda sign, action: sign, 3, **options)
            first, _ = env.reset(seed=0)
            seen = [first, *(env.step(np.array([value]))[0] for value in (5.0, 6.0))]
            assert [row.tolist() for row in seen] == [[first[0], *row] for row in rows]
            assert env.observation_space.contains(first)
            assert first.dtype == np.float32

    def test_both_signs_come_and_a_seed_repeats_them(self) -> None:
        """Catches: a sign that is always the same, or drawn from a global generator."""
        env = utils.Probe(lambda sign, action: sign)
        signs = [[env.reset(seed=seed if new == 0 else None)[0][0] for new in range(20)] for seed in (3, 3, 4)]
        assert set(signs[0]) == {-1.0, 1.0}
        assert signs[0] == signs[1] != signs[2]


class TestClimb:
    """A ladder of probes."""

    # Any: what should make an environment makes none
    RUNGS: Any = tuple((name, "isolates", lambda: None, {"V": 1.0}, 0.1) for name in ("first", "second", "third"))

    def test_a_rung_is_fine_within_its_tolerance_and_by_the_second_seed(self, capsys: pytest.CaptureFixture) -> None:
        """Catches: a rung that counts by its last key or first seed alone."""
        says = iter([1.05, 1.2, 0.95, 1.2, 0.5])
        asked: list[int] = []
        fine: dict[str, bool] = {}

        def learn(_env: gymnasium.Env, seed: int) -> dict[str, float]:
            asked.append(seed)
            return {"V": next(says), "W": 9.0}

        utils.climb(self.RUNGS, learn, fine)
        assert (asked, fine) == ([0, 0, 1, 0, 1], {"first": True, "second": True, "third": False})
        assert "third   isolates          V=1.00    V=0.50  NO" in capsys.readouterr().out

    def test_an_exception_leaves_what_was_found(self, capsys: pytest.CaptureFixture) -> None:
        """Catches: a student who sees a traceback alone, and a rung that counts as fine since it was not tried."""
        says = iter([{"V": 1.0}])
        fine: dict[str, bool] = {}
        with pytest.raises(StopIteration):
            utils.climb(self.RUNGS, lambda *_: next(says), fine)
        assert fine == {"first": True, "second": False, "third": False}
        assert "yes" in capsys.readouterr().out
