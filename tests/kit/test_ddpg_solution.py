"""The reference solution of ddpg, and the files given with it, against independent computations.

Docstrings name the mistakes. Stable-Baselines3 (https://github.com/DLR-RM/stable-baselines3) is one of the oracles.
"""

from __future__ import annotations

import copy
import io
import itertools
import math
import random
import sys
from collections import Counter, deque
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from gymnasium.wrappers import RescaleAction, TimeLimit
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray
from PIL import Image
from torch import Tensor, nn

import utils
from tests.kit.examples import examples
from tests.kit.loading import load_with_solution

pytestmark = [pytest.mark.oracle, pytest.mark.recorded]

INPUTS = ("solutions/ddpg/submitted.py", "assignments/ddpg/training.py")

GIVEN = ("training",)

# float32 sums of a hundred numbers near 1, against float64 or in another order
CLOSE: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-5}
UNLIKELY = 1e-4  # a p-value; seeds are fixed, so a right solution passes always or never


@pytest.fixture(scope="module")
def modules() -> SimpleNamespace:
    """The solution, which imports given files by their bare names, and these; neither path nor names are left behind."""
    return load_with_solution("ddpg", *GIVEN)


@pytest.fixture(scope="module")
def solution(modules: SimpleNamespace) -> ModuleType:
    return modules.solution


@pytest.fixture(scope="module")
def training(modules: SimpleNamespace) -> ModuleType:
    return modules.training


@pytest.fixture(autouse=True)
def seeded() -> Iterator[None]:
    """Nothing here depends on what ran before, nor on which tests are selected; one thread is fastest for networks so small."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    random.seed(7)
    np.random.seed(7)
    torch.manual_seed(7)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20)


class Scripted(gym.Env):
    """Plays episodes of given lengths and ends; observations count the steps, so that no two are equal.

    Observation: [k, k/2, 0.1], with k the number of observations seen before. Reward: 1, 2, 4, 8, ... in an episode.
    ends: for each episode (length, terminated, truncated); the last one is repeated.
    """

    observation_space = gym.spaces.Box(-np.inf, np.inf, (3,), np.float32)

    def __init__(self, *ends: tuple[int, bool, bool], actions: int = 2, log: list | None = None) -> None:
        self.action_space = gym.spaces.Box(-2.0, 2.0, (actions,), np.float32)
        self.log: list[Any] = [] if log is None else log
        self._ends = itertools.chain(ends, itertools.repeat(ends[-1]))
        self._seen = 0

    def _look(self) -> NDArray:
        self._seen += 1
        return np.array([self._seen, self._seen / 2, 0.1], dtype=np.float32)

    def reset(self, **options: Any) -> tuple[NDArray, dict]:
        self.log.append(("reset", options))
        self._end, self._time = next(self._ends), 0
        return self._look(), {}

    def step(self, action: NDArray) -> tuple[NDArray, float, bool, bool, dict]:
        self.log.append(("step", np.array(action)))
        self._time += 1
        length, terminated, truncated = self._end
        over = self._time == length
        return self._look(), float(2 ** (self._time - 1)), over and terminated, over and truncated, {}

    def render(self) -> NDArray:
        self.log.append(("render", self._seen))
        return np.full((2, 3, 3), self._seen, dtype=np.uint8)

    def close(self) -> None:
        self.log.append(("close",))  # never: after a training comes a test, and after a test another one


def agent_of(solution: ModuleType, env: gym.Env | None = None, actions: int = 2, **options: Any) -> Any:
    """Return an agent with unequal networks whose values are near 1, which draws nothing."""
    env = Scripted((7, True, False), actions=actions) if env is None else env
    settled = {"memory_size": 100, "batch_size": 8, "ou_noise_theta": 1.0, "ou_noise_sigma": 0.1, "seed": 1} | options
    agent = solution.DDPGAgent(env, **settled)
    generator = torch.Generator().manual_seed(11)
    with torch.no_grad():
        for network in (agent.actor, agent.actor_target, agent.critic, agent.critic_target):
            for parameter in network.out.parameters():
                parameter.copy_(0.3 * torch.randn(parameter.shape, generator=generator))
            for layer in (network.hidden1, network.hidden2):
                layer.weight += 0.03 * torch.randn(layer.weight.shape, generator=generator)
                layer.bias += 0.3 * torch.randn(layer.bias.shape, generator=generator)
    return agent


def remember(agent: Any, rng: np.random.Generator, rows: int = 60) -> None:
    """Fill the memory with random transitions; a third of them are terminal."""
    obs, actions = agent.env.observation_space.shape[0], agent.env.action_space.shape[0]
    for number in range(rows):
        before, after = rng.normal(size=(2, obs))
        agent.memory.store(before, rng.uniform(-1, 1, actions), rng.normal() + 0.5, after, number % 3 == 0)


def spied(agent: Any) -> list[dict[str, NDArray]]:
    """Return the list to which every batch that is drawn from now on will be added."""
    batches, draw = [], agent.memory.sample_batch

    def sample_batch() -> dict[str, NDArray]:
        batches.append(draw())
        return {key: value.copy() for key, value in batches[-1].items()}

    agent.memory.sample_batch = sample_batch
    return batches


LAYERS = ("hidden1", "hidden2", "out")
NETWORKS = ("actor", "critic", "actor_target", "critic_target")


def weights_of(network: nn.Module) -> list[NDArray]:
    """Return copies of W1, b1, W2, b2, W3, b3 as float64."""
    layers = [getattr(network, name) for name in LAYERS]
    return [value.detach().double().numpy().copy() for layer in layers for value in (layer.weight, layer.bias)]


class ByHand:
    """The algorithm in NumPy and float64, with gradients by the chain rule and Adam as in its paper (Kingma & Ba 2015)."""

    RATES = {"actor": 3e-4, "critic": 1e-3}  # noqa: RUF012

    def __init__(self, agent: Any) -> None:
        self.gamma, self.tau = agent.gamma, agent.tau
        self.weights = {name: weights_of(getattr(agent, name)) for name in NETWORKS}
        self.moments = {name: [[np.zeros_like(w), np.zeros_like(w)] for w in self.weights[name]] for name in self.RATES}
        self.updates = 0

    def forward(self, name: str, x: NDArray) -> tuple[NDArray, list[NDArray]]:
        """Return the output of the last linear layer, and the inputs of all three."""
        w1, b1, w2, b2, w3, b3 = self.weights[name]
        first = np.maximum(x @ w1.T + b1, 0)
        second = np.maximum(first @ w2.T + b2, 0)
        return second @ w3.T + b3, [x, first, second]

    def backward(self, name: str, inputs: list[NDArray], slope: NDArray) -> tuple[list[NDArray], NDArray]:
        """Return the gradients of the six weights, and that of the input, for this one of the output."""
        gradients: list[NDArray] = []
        for number in (2, 1, 0):
            gradients = [slope.T @ inputs[number], slope.sum(axis=0), *gradients]
            slope = slope @ self.weights[name][2 * number]
            if number:
                slope = slope * (inputs[number] > 0)
        return gradients, slope

    def adam(self, name: str, gradients: list[NDArray]) -> None:
        for weight, moments, gradient in zip(self.weights[name], self.moments[name], gradients, strict=True):
            moments[0] = 0.9 * moments[0] + 0.1 * gradient
            moments[1] = 0.999 * moments[1] + 0.001 * gradient**2
            mean, square = moments[0] / (1 - 0.9**self.updates), moments[1] / (1 - 0.999**self.updates)
            weight -= self.RATES[name] * mean / (np.sqrt(square) + 1e-8)

    def update(self, batch: dict[str, NDArray]) -> tuple[float, float]:
        """Return (actor loss, critic loss)."""
        obs, acts, rews, next_obs, done = (batch[key].astype(np.float64) for key in ("obs", "acts", "rews", "next_obs", "done"))
        self.updates += 1
        rows = len(obs)
        next_acts = np.tanh(self.forward("actor_target", next_obs)[0])
        next_values = self.forward("critic_target", np.hstack([next_obs, next_acts]))[0][:, 0]
        targets = np.where(done == 1, rews, rews + self.gamma * next_values)
        values, inputs = self.forward("critic", np.hstack([obs, acts]))
        errors = values - targets[:, None]
        self.adam("critic", self.backward("critic", inputs, 2 * errors / rows)[0])

        raw, ways = self.forward("actor", obs)
        values, inputs = self.forward("critic", np.hstack([obs, np.tanh(raw)]))
        _, slope = self.backward("critic", inputs, np.full((rows, 1), -1 / rows))
        self.adam("actor", self.backward("actor", ways, slope[:, obs.shape[1] :] * (1 - np.tanh(raw) ** 2))[0])

        for name in ("actor", "critic"):
            for slow, fast in zip(self.weights[f"{name}_target"], self.weights[name], strict=True):
                slow[...] = self.tau * fast + (1 - self.tau) * slow
        return float(-values.mean()), float((errors**2).mean())


def assert_same_weights(agent: Any, expected: dict[str, list[NDArray]], atol: float = 1e-5) -> None:
    for name in NETWORKS:
        for ours, theirs in zip(weights_of(getattr(agent, name)), expected[name], strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=atol, err_msg=name)


class TestUpdate:
    # Also with γ and τ as they are where nobody says anything.
    SETTINGS: tuple[tuple[dict[str, Any], int], ...] = (
        ({}, 1), ({}, 2), ({"gamma": 0.7, "tau": 0.05}, 1), ({"gamma": 0.9, "tau": 0.3}, 5), ({"gamma": 1.0}, 2),
    )  # fmt: skip

    @pytest.mark.parametrize(("options", "actions"), SETTINGS)
    def test_by_hand(self, solution: ModuleType, rng: np.random.Generator, options: dict[str, Any], actions: int) -> None:
        """Catches: (B,) against (B, 1), no mask or an inverted one, no target networks, the old critic for the actor, rates."""
        agent = agent_of(solution, actions=actions, batch_size=24, **options)
        remember(agent, rng)
        batches, by_hand = spied(agent), ByHand(agent)
        for number in range(1, 8):
            before = copy.deepcopy(by_hand.weights)
            losses = agent.update_model()
            assert len(batches) == number
            assert 0 < batches[-1]["done"].sum() < 24
            expected = by_hand.update(batches[-1])
            assert all(type(loss) is Tensor and loss.shape == () and not loss.requires_grad for loss in losses)
            np.testing.assert_allclose([float(loss) for loss in losses], expected, **CLOSE)
            if number in (1, 7):
                assert_same_weights(agent, by_hand.weights, atol=1e-5)
            # All four have moved by more than what is tolerated.
            for name in NETWORKS:
                assert max(np.abs(a - b).max() for a, b in zip(by_hand.weights[name], before[name], strict=True)) > 5e-5

    @pytest.mark.parametrize("actions", [1, 2, 5])
    def test_gradients_by_torch_func(self, solution: ModuleType, rng: np.random.Generator, actions: int) -> None:
        """Catches: a loss that is wrong by a factor, which Adam would hide; gradients of earlier updates that are added."""
        agent = agent_of(solution, actions=actions, batch_size=16, gamma=0.8, tau=0.1)
        rates = {"actor": 0.05, "critic": 0.02}
        for name, rate in rates.items():
            optimizer = torch.optim.SGD(getattr(agent, name).parameters(), lr=rate)
            setattr(agent, f"{name}_optimizer", optimizer)
        remember(agent, rng)
        batches = spied(agent)
        networks = {name: copy.deepcopy(getattr(agent, name)).double() for name in NETWORKS}
        weights = {name: dict(network.named_parameters()) for name, network in networks.items()}

        def apply(name: str, parameters: dict[str, Tensor], *inputs: Tensor) -> Tensor:
            return torch.func.functional_call(networks[name], parameters, inputs)

        def stepped(name: str, gradients: dict[str, Tensor]) -> dict[str, Tensor]:
            return {key: (value - rates[name] * gradients[key]).detach() for key, value in weights[name].items()}

        for _ in range(4):
            actor_loss, critic_loss = agent.update_model()
            rows = {key: torch.tensor(value, dtype=torch.float64) for key, value in batches[-1].items()}

            def critic_objective(parameters: dict[str, Tensor], rows: dict[str, Tensor] = rows) -> Tensor:
                losses = []
                for obs, act, reward, following, done in zip(
                    *(rows[key] for key in ("obs", "acts", "rews", "next_obs", "done")), strict=True
                ):
                    target = reward
                    if not done:
                        action = apply("actor_target", weights["actor_target"], following)
                        target = reward + 0.8 * apply("critic_target", weights["critic_target"], following, action)[0].detach()
                    losses.append((apply("critic", parameters, obs, act)[0] - target) ** 2)
                return sum(losses) / len(losses)

            def actor_objective(parameters: dict[str, Tensor], rows: dict[str, Tensor] = rows) -> Tensor:
                values = [apply("critic", weights["critic"], obs, apply("actor", parameters, obs)) for obs in rows["obs"]]
                return -torch.cat(values).mean()

            for name, objective, loss in (("critic", critic_objective, critic_loss), ("actor", actor_objective, actor_loss)):
                gradients, value = torch.func.grad_and_value(objective)(weights[name])
                assert float(loss) == pytest.approx(value.item(), rel=1e-5, abs=1e-6)
                weights[name] = stepped(name, gradients)
            for name in ("actor", "critic"):
                slow = weights[f"{name}_target"]
                weights[f"{name}_target"] = {key: 0.9 * slow[key] + 0.1 * weights[name][key] for key in slow}
            for name in NETWORKS:
                for key, parameter in getattr(agent, name).named_parameters():
                    torch.testing.assert_close(parameter.detach().double(), weights[name][key], rtol=0, atol=2e-6)

    @pytest.mark.parametrize("actions", [1, 2, 5])
    def test_as_stable_baselines_does(self, solution: ModuleType, rng: np.random.Generator, actions: int) -> None:
        """Catches: what the other two oracles share with the solution, being of the same mind."""
        sb3 = pytest.importorskip("stable_baselines3")
        from stable_baselines3.common.logger import Logger
        from stable_baselines3.common.type_aliases import ReplayBufferSamples

        agent = agent_of(solution, actions=actions, batch_size=24, gamma=0.93, tau=0.02)
        remember(agent, rng)
        theirs = sb3.DDPG(
            "MlpPolicy", agent.env, gamma=0.93, tau=0.02, buffer_size=10, device="cpu", seed=0,
            policy_kwargs={"net_arch": [128, 128], "activation_fn": nn.ReLU},
        )  # fmt: skip
        theirs.set_logger(Logger(None, []))
        theirs._update_learning_rate = lambda optimizers: None  # it knows one rate only
        sequences = {
            "actor": theirs.actor.mu, "critic": theirs.critic.q_networks[0],
            "actor_target": theirs.actor_target.mu, "critic_target": theirs.critic_target.q_networks[0],
        }  # fmt: skip
        for name, rate in (("actor", 3e-4), ("critic", 1e-3)):
            (group,) = getattr(theirs, name).optimizer.param_groups
            group["lr"] = rate
        for name, sequence in sequences.items():
            for layer, place in zip(LAYERS, (0, 2, 4), strict=True):
                sequence[place].load_state_dict(getattr(getattr(agent, name), layer).state_dict())
        batches = spied(agent)
        for _ in range(5):
            losses = agent.update_model()
            rows = {key: torch.as_tensor(value) for key, value in batches[-1].items()}
            samples = ReplayBufferSamples(
                rows["obs"], rows["acts"], rows["next_obs"], rows["done"][:, None], rows["rews"][:, None]
            )
            theirs.replay_buffer = SimpleNamespace(sample=lambda size, env, samples=samples: samples)
            theirs.train(gradient_steps=1, batch_size=24)
            logged = theirs.logger.name_to_value
            expected = [logged["train/actor_loss"], logged["train/critic_loss"]]
            np.testing.assert_allclose([float(loss) for loss in losses], expected, **CLOSE)
            weights = {
                name: [value.detach().double().numpy() for place in (0, 2, 4) for value in sequence[place].parameters()]
                for name, sequence in sequences.items()
            }
            assert_same_weights(agent, weights)

    def test_only_what_learns_is_touched(self, solution: ModuleType, rng: np.random.Generator) -> None:
        """Catches: a target that learns by itself, a critic that the actor's loss moves, a memory that is written to."""
        agent = agent_of(solution, tau=0.0)
        remember(agent, rng)
        memory = copy.deepcopy(vars(agent.memory))
        targets = {name: weights_of(getattr(agent, name)) for name in ("actor_target", "critic_target")}
        agent.update_model()
        for name, expected in targets.items():
            assert all(map(np.array_equal, weights_of(getattr(agent, name)), expected))
            assert all(parameter.grad is None for parameter in getattr(agent, name).parameters())
        for name in ("obs_buf", "next_obs_buf", "acts_buf", "rews_buf", "done_buf"):
            np.testing.assert_array_equal(getattr(agent.memory, name), memory[name])
        # With a rate of 0 nothing but the actor's loss could move the critic, nor but the critic's the actor.
        for still, moves in (("critic", "actor"), ("actor", "critic")):
            agent = agent_of(solution)
            remember(agent, rng)
            getattr(agent, f"{still}_optimizer").param_groups[0]["lr"] = 0.0
            before = {name: weights_of(getattr(agent, name)) for name in (still, moves)}
            agent.update_model()
            assert all(map(np.array_equal, weights_of(getattr(agent, still)), before[still]))
            assert not any(map(np.array_equal, weights_of(getattr(agent, moves)), before[moves]))

    def test_too_few(self, solution: ModuleType, rng: np.random.Generator) -> None:
        """Catches: an update by rows of zeros."""
        agent = agent_of(solution, batch_size=8)
        remember(agent, rng, rows=7)
        with pytest.raises(ValueError):  # noqa: PT011 (no words are asked for)
            agent.update_model()
        remember(agent, rng, rows=1)
        agent.update_model()

    @pytest.mark.parametrize("tau", [0.0, 5e-3, 0.3, 1.0])
    def test_soft_update(self, solution: ModuleType, tau: float) -> None:
        """Catches: τ upside down, one target left out or mixed up with the other, a weight left out, a new network instead."""
        agent = agent_of(solution, tau=tau)
        before = {name: weights_of(getattr(agent, name)) for name in NETWORKS}
        same = {name: list(getattr(agent, name).parameters()) for name in NETWORKS}
        agent._target_soft_update()
        for name in ("actor", "critic"):
            now, target = weights_of(getattr(agent, name)), weights_of(getattr(agent, f"{name}_target"))
            for new, old, slow, fast in zip(target, now, before[f"{name}_target"], before[name], strict=True):
                np.testing.assert_array_equal(old, fast)
                np.testing.assert_allclose(new, tau * fast + (1 - tau) * slow, rtol=1e-6, atol=1e-7)
        for name, parameters in same.items():
            assert all(a is b for a, b in zip(getattr(agent, name).parameters(), parameters, strict=True))
            assert all(parameter.grad_fn is None for parameter in parameters)


class TestReplayBuffer:
    @given(
        obs_dim=st.integers(1, 3), act_dim=st.integers(1, 4), size=st.integers(1, 9), batch=st.integers(1, 9),
        count=st.integers(0, 25), seed=st.integers(0, 1000),
    )  # fmt: skip
    @settings(max_examples=examples(60), deadline=None)
    def test_as_a_deque(
        self, solution: ModuleType, obs_dim: int, act_dim: int, size: int, batch: int, count: int, seed: int
    ) -> None:
        """Catches: references to reused arrays, a row too early or late, one action only, rows that do not belong together."""
        rng = np.random.default_rng(seed)
        buffer = solution.ReplayBuffer(obs_dim, size, batch, act_dim, seed)
        assert (buffer.max_size, buffer.batch_size, buffer.ptr, buffer.size, len(buffer)) == (size, batch, 0, 0, 0)
        model: deque = deque(maxlen=size)
        obs, act, next_obs = np.zeros(obs_dim), np.zeros(act_dim), np.zeros(obs_dim)  # reused, as an environment may do
        for number in range(count):
            obs[:], act[:], next_obs[:] = rng.normal(size=obs_dim), rng.uniform(-1, 1, act_dim), rng.normal(size=obs_dim)
            done = bool(rng.random() < 0.5)
            buffer.store(obs, act, float(number), next_obs, done)
            model.append((obs.copy(), act.copy(), float(number), next_obs.copy(), float(done)))
            assert len(buffer) == buffer.size == len(model)
            assert buffer.ptr == (number + 1) % size
        names = ("obs_buf", "acts_buf", "rews_buf", "next_obs_buf", "done_buf")
        shapes = ((size, obs_dim), (size, act_dim), (size,), (size, obs_dim), (size,))
        for place, (name, shape) in enumerate(zip(names, shapes, strict=True)):
            expected = np.zeros(shape, dtype=np.float32)
            for row, transition in enumerate(model, start=count - len(model)):
                expected[row % size] = transition[place]
            assert getattr(buffer, name).dtype == np.float32
            np.testing.assert_array_equal(getattr(buffer, name), expected, err_msg=name, strict=True)
        if count < batch or size < batch:
            with pytest.raises(ValueError):  # noqa: PT011 (no words are asked for)
                buffer.sample_batch()
            return
        rows = {transition[2]: transition for transition in model}
        for _ in range(3):
            drawn = buffer.sample_batch()
            assert {key: value.shape for key, value in drawn.items()} == {
                "obs": (batch, obs_dim), "next_obs": (batch, obs_dim), "acts": (batch, act_dim), "rews": (batch,),
                "done": (batch,),
            }  # fmt: skip
            assert all(value.dtype == np.float32 for value in drawn.values())
            assert len(set(drawn["rews"].tolist())) == batch
            for place, key in enumerate(("obs", "acts", "rews", "next_obs", "done")):
                expected = np.array([rows[number][place] for number in drawn["rews"].tolist()], dtype=np.float32)
                np.testing.assert_array_equal(drawn[key], expected, err_msg=key)

    @pytest.mark.parametrize(("stored", "size"), [(7, 12), (19, 7)])
    def test_every_set_is_as_likely(self, solution: ModuleType, stored: int, size: int) -> None:
        """Catches: rows that are drawn twice, never or more often; neighbors that come together; the latest row left out."""
        from scipy.stats import chisquare

        buffer = solution.ReplayBuffer(1, size, 3, rng=4)
        for number in range(stored):
            buffer.store([0.0], [0.0], number, [0.0], False)
        found = Counter(frozenset(buffer.sample_batch()["rews"].tolist()) for _ in range(7000))
        possible = [frozenset(map(float, rows)) for rows in itertools.combinations(range(stored - 7, stored), 3)]
        assert found.keys() <= set(possible)
        assert chisquare([found[rows] for rows in possible]).pvalue > UNLIKELY

    def test_copies(self, solution: ModuleType) -> None:
        """Catches: views, by which a batch changes the memory, or a later transition the batch."""
        buffer = solution.ReplayBuffer(2, 5, 5, 1, rng=0)
        for number in range(5):
            buffer.store([number, 1.0], [0.5], number, [2.0, number], number == 2)
        before = copy.deepcopy(vars(buffer))
        batch = buffer.sample_batch()
        kept = copy.deepcopy(batch)
        for _ in range(3):
            buffer.store([-1.0, -1.0], [-1.0], -1.0, [-1.0, -1.0], False)
        for key, value in kept.items():
            np.testing.assert_array_equal(batch[key], value)
        for name in ("obs_buf", "next_obs_buf", "acts_buf", "rews_buf", "done_buf"):
            setattr(buffer, name, before[name].copy())
        for value in buffer.sample_batch().values():
            value[...] = 99.0
        for name in ("obs_buf", "next_obs_buf", "acts_buf", "rews_buf", "done_buf"):
            np.testing.assert_array_equal(getattr(buffer, name), before[name])

    def test_generator(self, solution: ModuleType) -> None:
        """Catches: NumPy's global generator, a fixed seed where none was given, a generator that is copied."""

        def drawn(rng: Any, times: int = 1) -> list[list[float]]:
            buffer = solution.ReplayBuffer(1, 200, 32, rng=rng)
            for number in range(200):
                buffer.store([0.0], [0.0], number, [0.0], False)
            return [buffer.sample_batch()["rews"].tolist() for _ in range(times)]

        before = np.random.get_state(legacy=False)["state"]["key"].copy()
        assert drawn(3) == drawn(3) == drawn(np.random.default_rng(3))
        assert drawn(3) != drawn(4)
        assert drawn(None) != drawn(None)
        shared = np.random.default_rng(3)
        assert drawn(shared) + drawn(shared) == drawn(3, times=2)
        np.testing.assert_array_equal(np.random.get_state(legacy=False)["state"]["key"], before)
        defaults = solution.ReplayBuffer(3, 10)
        assert (defaults.batch_size, defaults.acts_buf.shape) == (32, (10, 1))


class TestOUNoise:
    PROCESSES = ((0.15, 0.2, 0.0), (1.0, 0.1, 0.0), (0.5, 0.3, -1.5), (1.7, 0.4, 2.0), (0.05, 1.0, 0.3), (0.0, 0.5, 0.1))

    @pytest.mark.parametrize(("theta", "sigma", "mu"), PROCESSES)
    def test_as_a_filter(self, solution: ModuleType, theta: float, sigma: float, mu: float) -> None:
        """Catches: a state that is not kept, θ or σ in the wrong place, √dt, μ forgotten, draws that are not normal."""
        from scipy.signal import lfilter

        noise = solution.OUNoise(3, mu, theta, sigma, rng=5)
        found = np.array([noise.sample() for _ in range(200)])
        shakes = np.random.default_rng(5).standard_normal((200, 3))
        expected = mu + lfilter([sigma], [1.0, theta - 1.0], shakes, axis=0)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)

    @pytest.mark.parametrize(("theta", "sigma", "mu"), PROCESSES[:-1])
    def test_moments(self, solution: ModuleType, theta: float, sigma: float, mu: float) -> None:
        """Catches: uniform noise, one draw for all dimensions, a variance of σ² or σ²/2θ."""
        from scipy.stats import kstest

        size = 4000
        noise = solution.OUNoise(size, mu, theta, sigma, rng=6)
        paths = np.array([noise.sample() for _ in range(310)])
        # While it still remembers the mean, where it began: σ² after the first step.
        for time in (1, 2, 5):
            variance = sigma**2 * (1 - (1 - theta) ** (2 * time)) / (theta * (2 - theta))
            assert paths[time - 1].var() == pytest.approx(variance, rel=5 * math.sqrt(2 / size))
        latest = paths[300:]
        variance = sigma**2 / (theta * (2 - theta))
        for values in latest:
            assert values.mean() == pytest.approx(mu, abs=5 * math.sqrt(variance / size))
            assert values.var() == pytest.approx(variance, rel=5 * math.sqrt(2 / size))
        assert kstest((latest[0] - mu) / math.sqrt(variance), "norm").pvalue > UNLIKELY
        for lag in (1, 2, 3, 5):
            correlation = np.corrcoef(latest[0], latest[lag])[0, 1]
            assert correlation == pytest.approx((1 - theta) ** lag, abs=5 / math.sqrt(size))

    def test_dimensions_are_independent(self, solution: ModuleType) -> None:
        """Catches: one draw, or one state, for all dimensions."""
        noise = solution.OUNoise(4, theta=1.0, sigma=0.3, rng=8)
        correlations = np.corrcoef(np.array([noise.sample() for _ in range(5000)]).T)
        np.testing.assert_allclose(correlations, np.eye(4), atol=5 / math.sqrt(5000))

    def test_reset(self, solution: ModuleType) -> None:
        """Catches: a path that goes on in the next episode; a start at 0; a mean that moves along with the state."""
        noise = solution.OUNoise(2, mu=0.7, theta=0.1, sigma=0.5, rng=9)
        shakes = np.random.default_rng(9).standard_normal((9, 2))
        for episode in range(3):
            np.testing.assert_array_equal(noise.state, [0.7, 0.7])
            first = noise.sample()
            np.testing.assert_allclose(first, 0.7 + 0.5 * shakes[3 * episode], atol=1e-12)
            noise.sample()
            latest = noise.sample()
            np.testing.assert_array_equal(noise.state, latest)
            noise.reset()
        np.testing.assert_array_equal(noise.mu, [0.7, 0.7])

    def test_nothing_is_shared(self, solution: ModuleType) -> None:
        """Catches: a mean that is the state; an earlier sample that changes with the next step or a reset."""
        noise, twin = (solution.OUNoise(2, mu=0.7, theta=0.1, sigma=0.5, rng=9) for _ in range(2))
        noise.state += 5.0
        np.testing.assert_array_equal(noise.mu, [0.7, 0.7])
        noise.reset()
        first = noise.sample()
        kept = first.copy()
        np.testing.assert_array_equal(noise.state, first)
        second = noise.sample()
        np.testing.assert_array_equal(first, kept)
        np.testing.assert_array_equal([kept, second], [twin.sample(), twin.sample()])
        noise.reset()
        np.testing.assert_array_equal(second, twin.state)

    def test_generator(self, solution: ModuleType) -> None:
        """Catches: the global generators of NumPy and Python; other defaults."""
        before, python = np.random.get_state(legacy=False)["state"]["key"].copy(), random.getstate()
        first, second, third, fourth = (solution.OUNoise(3, rng=rng).sample() for rng in (1, 1, None, None))
        np.testing.assert_array_equal(first, second)
        assert not np.array_equal(third, fourth)
        np.testing.assert_array_equal(np.random.get_state(legacy=False)["state"]["key"], before)
        assert random.getstate() == python
        noise = solution.OUNoise(3)
        assert (noise.theta, noise.sigma, noise.mu.tolist()) == (0.15, 0.2, [0.0, 0.0, 0.0])


def uniform(values: Any, bound: float) -> float:
    """Return the p-value of values that are drawn uniformly from [-bound, bound], by Kolmogorov and Smirnov."""
    from scipy.stats import kstest

    return kstest(np.ravel(values), "uniform", args=(-bound, 2 * bound)).pvalue


class TestNetworks:
    @pytest.mark.parametrize("actions", [1, 2, 5])
    def test_forward(self, solution: ModuleType, actions: int) -> None:
        """Catches: another activation, another order of state and action, a hidden layer that is left out or used twice."""
        actor, critic = solution.Actor(3, actions, init_w=0.5), solution.Critic(3 + actions, init_w=0.5)
        state, action = 2 * torch.randn(20, 3), torch.randn(20, actions)
        for network, inputs, given_inputs in (
            (actor, state, (state,)),
            (critic, torch.hstack([state, action]), (state, action)),
        ):
            w1, b1, w2, b2, w3, b3 = (torch.tensor(weight) for weight in weights_of(network))
            assert [list(weight.shape) for weight in (w1, w2)] == [[128, inputs.shape[1]], [128, 128]]
            raw = F.linear(F.linear(F.linear(inputs.double(), w1, b1).clamp(min=0), w2, b2).clamp(min=0), w3, b3)
            expected = (2 / (1 + torch.exp(-2 * raw)) - 1 if network is actor else raw).float()
            found = network(*given_inputs)
            assert found.dtype == torch.float32
            torch.testing.assert_close(found.detach(), expected, **CLOSE)
            one = network(*(values[4] for values in given_inputs))
            torch.testing.assert_close(one.detach(), expected[4], **CLOSE)
            assert found.shape == ((20, actions) if network is actor else (20, 1))
            assert {name for name, _ in network.named_children()} >= set(LAYERS)
            assert len(list(network.parameters())) == 6
        assert actor(1e4 * state).abs().max() == 1

    @pytest.mark.parametrize(("options", "bound"), [({}, 3e-3), ({"init_w": 0.2}, 0.2)])
    def test_last_layer(self, solution: ModuleType, options: dict[str, float], bound: float) -> None:
        """Catches: torch's default, a normal distribution, [0, w], a bias that is 0 or forgotten."""
        actors = [solution.Actor(3, 20, **options) for _ in range(20)]
        critics = [solution.Critic(5, **options) for _ in range(100)]
        for networks in (actors, critics):
            weights = np.stack([network.out.weight.detach().numpy() for network in networks])
            biases = np.stack([network.out.bias.detach().numpy() for network in networks])
            for values in (weights, biases):
                assert np.abs(values).max() <= np.float32(bound)
                assert len(np.unique(values)) > 0.98 * values.size
                assert uniform(values, bound) > UNLIKELY

    def test_hidden_layers(self, solution: ModuleType) -> None:
        """Catches: small weights in all layers: of those nothing is learned; layers that share their weights."""
        for networks, inputs in (
            ([solution.Actor(3, 2) for _ in range(8)], 3),
            ([solution.Critic(7) for _ in range(8)], 7),
        ):
            for name, size in (("hidden1", inputs), ("hidden2", 128)):
                layers = [getattr(network, name) for network in networks]
                for kind in ("weight", "bias"):
                    values = np.stack([getattr(layer, kind).detach().numpy() for layer in layers])
                    assert uniform(values, 1 / math.sqrt(size)) > UNLIKELY, (name, kind)

    def test_gradients(self, solution: ModuleType) -> None:
        """Catches: a part of the way from an output to weights, state or action that is detached."""
        actor, critic = solution.Actor(3, 2, init_w=0.3).double(), solution.Critic(5, init_w=0.3).double()
        state = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
        action = torch.randn(6, 2, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(actor, (state,))
        assert torch.autograd.gradcheck(critic, (state, action))
        critic(state, actor(state)).sum().backward()
        for parameter in itertools.chain(actor.parameters(), critic.parameters()):
            assert parameter.grad.abs().max() > 0


class TestAgent:
    def test_networks(self, solution: ModuleType) -> None:
        """Catches: targets of their own, or that are the networks themselves; an optimizer for both, rates exchanged."""
        agent = solution.DDPGAgent(Scripted((7, True, False)), 50, 16, 0.4, 0.6)
        for name, shapes in (("actor", (3, 2)), ("critic", (5, 1))):
            network, target = getattr(agent, name), getattr(agent, f"{name}_target")
            assert type(network) is type(target) is getattr(solution, name.title())
            assert (network.hidden1.in_features, network.out.out_features) == shapes
            mine, others = list(network.parameters()), list(target.parameters())
            assert all(map(torch.equal, mine, others))
            assert not {value.data_ptr() for value in mine} & {value.data_ptr() for value in others}
            optimizer = getattr(agent, f"{name}_optimizer")
            assert type(optimizer) is torch.optim.Adam
            (group,) = optimizer.param_groups
            assert {id(value) for value in group["params"]} == {id(value) for value in mine}
            assert group["lr"] == {"actor": 3e-4, "critic": 1e-3}[name]
            assert (group["betas"], group["eps"], group["weight_decay"], group["amsgrad"]) == ((0.9, 0.999), 1e-8, 0, False)
            assert all(value.device.type == agent.device.type for value in mine + others)

    def test_attributes(self, solution: ModuleType) -> None:
        """Catches: an argument that does not arrive, or arrives elsewhere; another default."""
        env = Scripted((7, True, False), actions=3)
        agent = solution.DDPGAgent(env, 50, 16, 0.4, 0.6)
        assert (agent.env, agent.batch_size, agent.gamma, agent.tau) == (env, 16, 0.99, 5e-3)
        assert (agent.initial_random_steps, agent.total_step, agent.is_test) == (10_000, 0, False)
        assert (agent.memory.max_size, agent.memory.batch_size, len(agent.memory)) == (50, 16, 0)
        assert (agent.memory.obs_buf.shape, agent.memory.acts_buf.shape) == ((50, 3), (50, 3))
        assert (agent.noise.theta, agent.noise.sigma, agent.noise.mu.tolist()) == (0.4, 0.6, [0.0, 0.0, 0.0])
        agent = solution.DDPGAgent(env, 50, 16, 0.4, 0.6, gamma=0.5, tau=0.1, initial_random_steps=7)
        assert (agent.gamma, agent.tau, agent.initial_random_steps) == (0.5, 0.1, 7)

    @pytest.mark.parametrize("actions", [1, 3])
    def test_random_at_first(self, solution: ModuleType, actions: int) -> None:
        """Catches: the environment's units, of which a clip makes ±1 half of the time; equal dimensions; [0, 1]."""
        agent = agent_of(solution, actions=actions, initial_random_steps=50)
        agent.env.action_space.seed(1)
        state = np.array([0.3, -0.2, 0.1], dtype=np.float32)
        drawn = []
        for number in range(4000):
            agent.total_step = 1 + number % 49
            drawn.append(agent.select_action(state))
            assert drawn[-1].shape == (actions,)
            assert agent.transition[1] is drawn[-1]
        for values in np.transpose(drawn):
            assert np.abs(values).max() < 1
            assert len(np.unique(values)) > 3900
            assert uniform(values, 1.0) > UNLIKELY
            assert abs(np.corrcoef(values[1:], values[:-1])[0, 1]) < 5 / math.sqrt(4000)
        np.testing.assert_allclose(np.corrcoef(np.transpose(drawn)).reshape(actions, -1), np.eye(actions), atol=0.08)

    @pytest.mark.parametrize("steps", [0, 1, 10])
    def test_the_last_random_step(self, solution: ModuleType, steps: int) -> None:
        """Catches: <= for <; noise that goes on while actions are random, or in a test."""
        agent = agent_of(solution, initial_random_steps=steps)
        state = np.array([0.3, -0.2, 0.1])  # float64, as some environments have it
        for step in range(steps + 3):
            agent.total_step = step
            one, two = agent.select_action(state), agent.select_action(state)
            noise = np.zeros(2)
            agent.noise.sample = lambda noise=noise: noise
            mean = agent.select_action(state)
            del agent.noise.sample
            expected = np.tanh(ByHand(agent).forward("actor", state[None])[0][0])
            assert not np.array_equal(one, two)
            assert np.allclose(mean, expected, atol=1e-5) == (step >= steps)

    def test_with_noise(self, solution: ModuleType) -> None:
        """Catches: a clip before the noise is added, or none; the target's action; other noise, or noise afresh each time."""
        from scipy.signal import lfilter

        agent = agent_of(solution, initial_random_steps=10, ou_noise_theta=0.2, ou_noise_sigma=0.4, seed=4)
        agent.total_step = 10
        rng, states = np.random.default_rng(4), np.random.default_rng(5).normal(size=(300, 3)).astype(np.float32)
        noise = lfilter([0.4], [1.0, -0.8], rng.standard_normal((300, 2)), axis=0)
        means = np.tanh(ByHand(agent).forward("actor", states.astype(np.float64))[0])
        found = np.array([agent.select_action(state) for state in states])
        clipped = np.abs(means + noise) > 1
        assert 20 < clipped.sum() < 400
        np.testing.assert_allclose(found, np.where(clipped, np.sign(means + noise), means + noise), **CLOSE)

    @pytest.mark.parametrize("total_step", [0, 3, 100])
    def test_in_a_test(self, solution: ModuleType, total_step: int) -> None:
        """Catches: noise or random actions in a test, also when there was no training; draws that a test takes away."""
        agent = agent_of(solution, initial_random_steps=10)
        agent.is_test, agent.total_step = True, total_step
        agent.noise.sample = None  # not to be called
        before = agent.rng.bit_generator.state
        for state in np.random.default_rng(5).normal(size=(20, 3)):
            action = agent.select_action(state)
            expected = np.tanh(ByHand(agent).forward("actor", state[None])[0][0])
            assert action.shape == (2,)
            np.testing.assert_allclose(action, expected, **CLOSE)
            assert agent.transition[0] is state
            assert agent.transition[1] is action
        assert agent.rng.bit_generator.state == before

    def test_no_graph(self, solution: ModuleType) -> None:
        """Catches: a graph that is built in every step and thrown away; a tensor instead of an array."""
        agent = agent_of(solution, initial_random_steps=10)
        outputs = []
        agent.actor.register_forward_hook(lambda module, inputs, output: outputs.append(output))
        state = np.ones(3, dtype=np.float32)
        for agent.is_test, agent.total_step in itertools.product((False, True), (5, 15)):
            action = agent.select_action(state)
            assert type(action) is np.ndarray
            assert np.issubdtype(action.dtype, np.floating)
            assert np.abs(action).max() <= 1
            assert len(agent.transition) == 2
        assert len(outputs) == 3
        assert not any(output.requires_grad for output in outputs)
        np.testing.assert_array_equal(state, np.ones(3))

    @pytest.mark.parametrize("is_test", [False, True])
    @pytest.mark.parametrize("terminated", [False, True])
    @pytest.mark.parametrize("truncated", [False, True])
    def test_step(self, solution: ModuleType, is_test: bool, terminated: bool, truncated: bool) -> None:
        """Catches: a time limit stored as an end, or an end that is none; a test that is stored; no end at the time limit."""
        env = Scripted((2, terminated, truncated))
        agent = agent_of(solution, env)
        agent.is_test = is_test
        state, _ = env.reset()
        found = []
        for number in (1, 2):
            agent.select_action(state)
            action = np.array([0.1, -0.2 * number])
            agent.transition[1] = action
            following, reward, done = agent.step(action)
            found.append((state, action, reward, following))
            assert env.log[-1][0] == "step"
            np.testing.assert_array_equal(env.log[-1][1], action)
            np.testing.assert_array_equal(following, [number + 1, (number + 1) / 2, np.float32(0.1)])
            assert reward == number
            assert bool(done) is (number == 2 and (terminated or truncated))
            state = following
        assert len(agent.memory) == (0 if is_test else 2)
        assert not agent.memory.obs_buf[len(agent.memory) :].any()
        for row, (before, action, reward, after) in enumerate(found[: len(agent.memory)]):
            np.testing.assert_array_equal(agent.memory.obs_buf[row], before)
            np.testing.assert_array_equal(agent.memory.acts_buf[row], action.astype(np.float32))
            np.testing.assert_array_equal(agent.memory.next_obs_buf[row], after)
            assert agent.memory.rews_buf[row] == reward
            assert agent.memory.done_buf[row] == (row == 1 and terminated)

    def test_step_on_environments_of_gymnasium(self, solution: ModuleType) -> None:
        """Catches: what is told by a wrapper alone: the time limit of Pendulum is not the end of the world."""
        env = solution.ActionNormalizer(gym.make("Pendulum-v1", max_episode_steps=5))
        agent = agent_of(solution, env)
        state, _ = env.reset(seed=1)
        ends = []
        for _ in range(5):
            state, _, done = agent.step(agent.select_action(state))
            ends.append(bool(done))
        assert ends == [False] * 4 + [True]
        assert agent.memory.done_buf.tolist() == [0.0] * 100

        for length, limit, stored in ((3, 3, 1.0), (3, 5, 1.0), (5, 3, 0.0)):  # both ends at once, or one of the two
            env = TimeLimit(Scripted((length, True, False)), limit)
            agent = agent_of(solution, env)
            state, _ = env.reset()
            for number in (1, 2, 3):
                state, _, done = agent.step(agent.select_action(state))
                assert bool(done) is (number == 3)
            assert agent.memory.done_buf[:4].tolist() == [0.0, 0.0, stored, 0.0]


class TestTrain:
    ENDS = ((3, True, False), (5, False, True), (1, True, True), (4, True, False))

    def trained(self, solution: ModuleType, frames: int, interval: int, **options: Any) -> SimpleNamespace:
        """Return what happens: `log` has an entry for each event; `plots` copies of what was plotted."""
        log: list[Any] = []
        env = Scripted(*self.ENDS, log=log)
        agent = agent_of(solution, env, **options)
        agent.is_test = True  # a test went before
        plots: list[tuple] = []
        losses = itertools.count(1)

        def select_action(state: NDArray) -> NDArray:
            assert not agent.is_test
            log.append(("select", int(state[0]), agent.total_step))
            agent.transition = [state, np.zeros(2)]
            return np.array([agent.total_step, 0.5])

        def update_model() -> tuple[Tensor, Tensor]:
            log.append(("update",))
            number = next(losses)
            return torch.tensor(float(number)), torch.tensor(100.0 + number)

        def plot(*values: Any) -> None:
            log.append(("plot",))
            plots.append(copy.deepcopy(values))

        agent.select_action, agent.update_model, agent._plot = select_action, update_model, plot
        agent.noise.reset = lambda: log.append(("calm",))
        agent.noise.sample = None  # nobody else's business
        agent.train(frames, interval)
        return SimpleNamespace(agent=agent, log=log, plots=plots)

    @pytest.mark.parametrize(
        ("frames", "interval", "warmup", "batch", "memory"),
        [
            (80, 10, 0, 1, 100), (40, 7, 12, 4, 100), (40, 9, 4, 12, 100), (40, 9, 4, 12, 11), (39, 13, 20, 5, 5),
            (13, 50, 0, 3, 50),
        ],
    )  # fmt: skip
    def test_order_of_events(
        self, solution: ModuleType, frames: int, interval: int, warmup: int, batch: int, memory: int
    ) -> None:
        """Catches: updates too early, late or seldom; a state of the last episode in the next; noise that is never calmed."""
        found = self.trained(
            solution, frames, interval, initial_random_steps=warmup, batch_size=batch, memory_size=memory
        )  # fmt: skip
        # What ought to happen: lists of names for each step; the observation that is acted upon.
        lengths = itertools.chain((3, 5, 1, 4), itertools.repeat(4))
        scores, score, updates, seen, left = [], 0.0, 0, 1, next(lengths)
        size, expected, plots = left, [], []
        for step in range(1, frames + 1):
            happens: list[str] = [f"select {seen} {step}", f"step {step}.0 0.5"]
            seen += 1
            score, left = score + 2.0 ** (size - left), left - 1
            if left == 0:
                scores.append(score)
                score, seen, size = 0.0, seen + 1, next(lengths)
                left = size
                happens += ["calm", "reset"]
            if min(step, memory) >= batch and step > warmup:
                updates += 1
                happens.append("update")
            if step % interval == 0:
                happens.append("plot")
                losses = [float(number) for number in range(1, updates + 1)]
                plots.append((step, list(scores), losses, [100.0 + loss for loss in losses]))
            expected.append(happens)

        def told(event: tuple) -> str:
            if event[0] == "step":
                return "step " + " ".join(map(str, event[1]))
            return event[0] if event[0] == "reset" else " ".join(map(str, event))

        assert all(event[1] == {} for event in found.log if event[0] == "reset")  # never seeded
        events = [told(event) for event in found.log]
        assert sorted(events[:2]) == ["calm", "reset"]
        begins = [number for number, event in enumerate(events) if event.startswith("select")]
        groups = [events[begin:end] for begin, end in zip(begins, [*begins[1:], None], strict=True)]
        # Whether an update or the next episode comes first makes no difference; all else is in order.
        assert [sorted(group) for group in groups] == [sorted(group) for group in expected]
        for group in groups:
            assert group[0].startswith("select")
            assert group[1].startswith("step")
            assert "plot" not in group or group[-1] == "plot"
        assert found.plots == plots
        assert all(type(value) is float for plot in found.plots for losses in plot[2:] for value in losses)
        assert found.agent.total_step == frames
        assert found.agent.is_test is False
        assert len(found.agent.memory) == min(frames, memory)

    def test_interval(self, solution: ModuleType) -> None:
        """Catches: another default, a plot at the wrong end of an interval, a second training that goes on counting."""
        log: list[int] = []
        agent = agent_of(solution, initial_random_steps=1000)
        agent._plot = lambda step, *rest: log.append(step)
        agent.train(450)
        agent.train(250)
        assert log == [200, 400, 200]

    def test_plot(self, modules: SimpleNamespace) -> None:
        """Catches: values that are shown in another order."""
        agent = agent_of(modules.solution)
        assert type(agent.live_plot) is modules.training.LivePlot
        shown = []
        agent.live_plot = lambda *values: shown.append(values)
        agent._plot(3, [1.0], [2.0], [4.0])
        assert shown == [(3, [1.0], [2.0], [4.0])]

    def test_no_two_episodes_begin_alike(self, modules: SimpleNamespace) -> None:
        """Catches: an environment that is seeded at every reset: the agent learns one episode by heart."""
        firsts = []

        class Watched(gym.Wrapper):
            def reset(self, **options: Any) -> tuple[NDArray, dict]:
                state, info = super().reset(**options)
                firsts.append(tuple(state))
                return state, info

        for _ in range(2):
            env = Watched(modules.solution.ActionNormalizer(gym.make("Pendulum-v1", max_episode_steps=10)))
            modules.training.seed_everything(3, env)
            modules.solution.DDPGAgent(env, 1000, 32, 1.0, 0.1, seed=2).train(200, 1000)
        assert len(firsts) == 44  # seeding is a reset as well
        assert len(set(firsts)) == 22
        assert firsts[:22] == firsts[22:]

    def test_repeatable(self, modules: SimpleNamespace) -> None:
        """Catches: draws from a generator that nobody has seeded; a seed that is used by one part alone."""

        def trained(seed: int, weights: int = 5) -> tuple[list[float], list[float], dict[str, list[NDArray]]]:
            env = modules.solution.ActionNormalizer(gym.make("Pendulum-v1", max_episode_steps=25))
            modules.training.seed_everything(weights, env)
            agent = modules.solution.DDPGAgent(env, 60, 8, 0.3, 0.5, initial_random_steps=30, seed=seed)
            plots: list[tuple] = []
            agent._plot = lambda *values: plots.append(copy.deepcopy(values))
            np.random.seed(None)  # not needed any more
            random.seed(None)
            agent.train(100, 100)
            return plots[0][1], plots[0][3], {name: weights_of(getattr(agent, name)) for name in NETWORKS}

        once, again, other = trained(1), trained(1), trained(2)
        assert len(once[0]) == 4
        assert len(once[1]) == 70
        assert once[:2] == again[:2]
        for name in NETWORKS:
            assert all(map(np.array_equal, once[2][name], again[2][name]))
        assert once[0] != other[0]
        agents = [modules.solution.DDPGAgent(Scripted((7, True, False)), 60, 8, 1.0, 0.1, seed=seed) for seed in (1, 1, 2)]
        for agent in agents:
            remember(agent, np.random.default_rng(0))
        first, second, third = ([agent.memory.sample_batch()["rews"].tolist() for _ in range(3)] for agent in agents)
        assert first == second != third
        # The weights at first are torch's affair.
        env = Scripted((7, True, False))
        for torch_seed, same in ((5, True), (6, False)):
            pair = []
            for seed, number in ((1, 5), (2, torch_seed)):
                torch.manual_seed(number)
                pair.append(weights_of(modules.solution.DDPGAgent(env, 5, 5, 1.0, 0.1, seed=seed).actor))
            assert np.array_equal(pair[0][0], pair[1][0]) is same

    def test_test(self, solution: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
        """Catches: a test that explores, is stored or closes what it plays in; frames too late or too many; a low score."""
        env = Scripted((4, False, True))
        agent = agent_of(solution, env)
        env.reset()  # somebody has looked
        env.log.clear()
        before = weights_of(agent.actor)
        frames = agent.test()
        assert [event[0] for event in env.log] == ["reset", *["render", "step"] * 4]
        assert [int(frame[0, 0, 0]) for frame in frames] == [2, 3, 4, 5]
        for event, seen in zip(env.log[2::2], (2, 3, 4, 5), strict=True):
            state = np.array([seen, seen / 2, np.float32(0.1)])
            expected = np.tanh(ByHand(agent).forward("actor", state[None])[0][0])
            np.testing.assert_allclose(event[1], expected, **CLOSE)
        assert "15" in capsys.readouterr().out
        assert agent.is_test is True
        assert len(agent.memory) == 0
        assert all(map(np.array_equal, weights_of(agent.actor), before))
        assert isinstance(frames, list)
        assert all(type(frame) is np.ndarray for frame in frames)
        agent.train(6)
        assert agent.is_test is False
        assert len(agent.memory) == 6

    def test_test_on_pendulum(self, modules: SimpleNamespace) -> None:
        """Catches: an environment that is closed; frames that `animation` cannot show."""
        env = modules.solution.ActionNormalizer(gym.make("Pendulum-v1", max_episode_steps=3, render_mode="rgb_array"))
        env.reset(seed=2)
        agent = agent_of(modules.solution, env)
        agent.train(4)
        for _ in range(2):
            frames = agent.test()
            assert [frame.shape for frame in frames] == [(500, 500, 3)] * 3
        # The palette of the first frame has the colors of the later ones, the arrow of the torque among them.
        picture = Image.open(io.BytesIO(modules.training.animation(frames, width=500).data))
        for number, frame in enumerate(frames):
            picture.seek(number)
            shown = np.asarray(picture.convert("RGB"), dtype=float)
            assert np.abs(shown - frame).mean() < 4
            assert (np.abs(shown - frame).max(axis=-1) > 50).mean() < 1.5e-3
        env.close()


class TestActionNormalizer:
    BOXES = (
        ([-2.0], [2.0]), ([0.0], [1.0]), ([-1.0, -1.0], [1.0, 1.0]), ([-3.0, 0.5, 10.0], [1.0, 0.75, 400.0]),
        ([-5.0, -0.2], [-4.0, 30.0]),
    )  # fmt: skip

    @staticmethod
    def env_of(low: ArrayLike, high: ArrayLike) -> Scripted:
        env = Scripted((7, True, False))
        env.action_space = gym.spaces.Box(np.array(low, dtype=np.float32), np.array(high, dtype=np.float32), dtype=np.float32)
        return env

    @pytest.mark.parametrize(("low", "high"), BOXES)
    def test_as_rescale_action(
        self, solution: ModuleType, rng: np.random.Generator, low: list[float], high: list[float]
    ) -> None:
        """Catches: one range for all dimensions, a range that must be symmetrical, the way back taken for the way there."""
        env, theirs = self.env_of(low, high), RescaleAction(self.env_of(low, high), np.float64(-1), np.float64(1))
        ours = solution.ActionNormalizer(env)
        span = np.subtract(high, low)
        for action in [*rng.uniform(-1, 1, (30, len(low))), np.ones(len(low)), -np.ones(len(low))]:
            mapped = ours.action(action)
            assert mapped.shape == (len(low),)
            np.testing.assert_allclose(mapped, theirs.action(action), rtol=0, atol=1e-6 * span.max() + 1e-6)
            np.testing.assert_allclose(mapped, low + span * (action + 1) / 2, rtol=1e-5, atol=1e-6 * span.max())
            back = (mapped - low) / span * 2 - 1
            np.testing.assert_allclose(ours.reverse_action(mapped), back, rtol=0, atol=1e-4)
        for sign, end in ((-1, low), (1, high)):
            np.testing.assert_allclose(ours.action(sign * np.ones(len(low))), end, rtol=1e-6)
            np.testing.assert_allclose(ours.action(7.3 * sign * np.ones(len(low))), end, rtol=1e-6)
            np.testing.assert_allclose(ours.reverse_action(np.array(end)), sign * np.ones(len(low)), atol=1e-6)
            np.testing.assert_array_equal(ours.reverse_action(np.array(end) + 3 * sign * span), sign * np.ones(len(low)))
        ours.reset()
        ours.step(np.zeros(len(low)))
        np.testing.assert_allclose(env.log[-1][1], np.add(low, high) / 2, rtol=1e-5, atol=1e-6)  # it is used by `step`
        assert ours.action_space == env.action_space

    @given(data=st.data(), size=st.integers(1, 4))
    @settings(max_examples=examples(80), deadline=None)
    def test_round_trips(self, solution: ModuleType, data: st.DataObject, size: int) -> None:
        """Catches: a way back that is not that of the way there; a caller's array that is changed; actions outside the box."""
        numbers = st.floats(-50, 50, width=32)
        low = np.array(data.draw(st.lists(numbers, min_size=size, max_size=size)), dtype=np.float32)
        span = np.array(data.draw(st.lists(st.floats(0.5, 100, width=32), min_size=size, max_size=size)), dtype=np.float32)
        action = np.array(data.draw(st.lists(st.floats(-1.5, 1.5), min_size=size, max_size=size)))
        if data.draw(st.booleans()):
            action = action.astype(np.float32)
        env = solution.ActionNormalizer(self.env_of(low, low + span))
        low, high = env.action_space.low, env.action_space.high
        kept = action.copy()
        mapped = env.action(action)
        assert (mapped >= low).all()
        assert (mapped <= high).all()
        kept_mapped = mapped.copy()
        back = env.reverse_action(mapped)
        np.testing.assert_array_equal(action, kept)
        np.testing.assert_array_equal(mapped, kept_mapped)
        np.testing.assert_allclose(back, np.clip(action, -1, 1), rtol=0, atol=2e-4)
        np.testing.assert_allclose(env.action(back), mapped, rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(env.action_space.low, low)


class TestLearning:
    @pytest.mark.parametrize(("dimensions", "frames"), [(1, 1300), (2, 2000)])
    def test_stops_in_the_middle(self, modules: SimpleNamespace, dimensions: int, frames: int) -> None:
        """Catches: parts that are right one by one and do not fit each other; an actor that learns the opposite."""
        env = modules.solution.ActionNormalizer(utils.PointMass(dimensions))
        modules.training.seed_everything(1, env)
        agent = modules.solution.DDPGAgent(
            env, 10_000, 32, 1.0, 0.2, gamma=0.9, tau=0.02, initial_random_steps=300, seed=1
        )  # fmt: skip
        agent._plot = lambda *values: None
        agent.train(frames)
        agent.is_test = True
        returns = []
        for _ in range(20):
            state, _ = env.reset()
            score, done = 0.0, False
            while not done:
                state, reward, done = agent.step(agent.select_action(state))
                score += reward
            returns.append(score)
        # The best possible is -0.44, standing still gives -10.
        assert np.mean(returns) > -2


class TestLivePlot:
    @pytest.fixture
    def clock(self, training: ModuleType, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
        """Time that passes only when told to; every picture costs `cost` seconds."""
        clock = SimpleNamespace(now=1000.0, cost=1.0, drawn=0)

        def looks() -> bool:
            clock.now += clock.cost
            clock.drawn += 1
            return False

        monkeypatch.setattr(training, "time", SimpleNamespace(perf_counter=lambda: clock.now))
        monkeypatch.setattr(training, "in_notebook", looks)
        return clock

    @pytest.mark.parametrize(("cost", "pause"), [(1.0, 0.1), (0.3, 5.0), (0.001, 0.1), (20.0, 0.5)])
    def test_share_of_time(self, training: ModuleType, clock: SimpleNamespace, cost: float, pause: float) -> None:
        """Catches: pictures that take longer than the training; a plot that is never drawn again."""
        clock.cost = cost
        show = training.LivePlot()
        for number in range(6000):
            clock.now += pause
            show(number, [1.0, 2.0], [0.1], [0.2])
        share = clock.drawn * cost / (clock.now - 1000)
        most = min(0.05, cost / (cost + pause))  # a picture at every call is all there can be
        assert share <= most + 2 * cost / (clock.now - 1000)
        assert share >= 0.95 * most - 2 * cost / (clock.now - 1000)

    def test_the_last_picture_is_the_last(
        self, training: ModuleType, clock: SimpleNamespace, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Catches: a training whose last picture is the one before; the same picture drawn twice at the end."""
        clock.cost = 100.0
        show = training.LivePlot()
        show(1, [1.0], [], [])
        show(2, [1.0, 3.0], [], [])
        show.finish()
        show.finish()
        assert capsys.readouterr().out.split("\n")[:2] == [
            "\rstep 1, mean of the last 10 scores 1.0",
            "\rstep 2, mean of the last 10 scores 2.0",
        ]
        assert clock.drawn == 2

    def test_line(self, training: ModuleType, clock: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
        """Catches: a mean of no scores; another ten than the latest."""
        clock.cost = 0.0
        show = training.LivePlot()
        show(7, [], [], [])
        show(8, [100.0, *range(10)], [0.1], [0.2])
        assert capsys.readouterr().out.split("\n") == ["\rstep 7", "\rstep 8, mean of the last 10 scores 4.5", ""]

    def test_in_a_notebook(self, training: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        """Catches: a new picture below the last one at every call; a picture that nothing can read."""
        display = pytest.importorskip("IPython.display")
        shown: list[tuple[str, Any]] = []
        handle = SimpleNamespace(update=lambda picture: shown.append(("update", picture)))

        def display_it(picture: Any, display_id: bool) -> Any:
            shown.append(("display", picture))
            return handle

        monkeypatch.setattr(display, "display", display_it)
        monkeypatch.setattr(training, "in_notebook", lambda: True)
        monkeypatch.setattr(training, "SHARE", 1e9)
        show = training.LivePlot()
        show(5, [], [], [])
        show(6, [1.0], list(range(1000)), [])
        show(7, [1.0, 2.0], list(range(1001)), [0.5] * 1001)
        assert [kind for kind, _ in shown] == ["display", "update", "update"]
        for _, picture in shown:
            image = Image.open(io.BytesIO(picture.data))
            assert (image.format, image.size) == ("PNG", (720, 187))
        assert len({picture.data for _, picture in shown}) == 3

    def test_whether_it_is_a_notebook(self, training: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        """Catches: IPython in a terminal taken for a notebook."""
        for shell, expected in ((None, False), (SimpleNamespace(), False), (SimpleNamespace(kernel=1), True)):
            monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda shell=shell: shell))
            assert training.in_notebook() is expected
        monkeypatch.delitem(sys.modules, "IPython")
        assert training.in_notebook() is False

    @given(size=st.integers(0, 2500), seed=st.integers(0, 100))
    @settings(max_examples=examples(60), deadline=None)
    def test_thinned(self, training: ModuleType, size: int, seed: int) -> None:
        """Catches: a part that is left out or counted twice; more points than can be seen; a few values that are smoothed."""
        values = np.random.default_rng(seed).normal(size=size).tolist()
        places, means = training.thinned(values)
        assert len(places) == len(means) == min(size, 300)
        if size <= 300:
            np.testing.assert_array_equal(places, np.arange(1, size + 1))
            np.testing.assert_allclose(means, values)
            return
        begins = [0, *places[:-1].tolist()]
        assert places[-1] == size
        assert {end - begin for begin, end in zip(begins, places, strict=True)} <= {size // 300, size // 300 + 1}
        expected = [sum(values[begin:end]) / (end - begin) for begin, end in zip(begins, places.tolist(), strict=True)]
        np.testing.assert_allclose(means, expected)


class TestAnimation:
    def frames(self, count: int) -> list[NDArray]:
        """Return pictures of a white wall before which a red square moves to the right."""
        frames = []
        for number in range(count):
            frame = np.full((60, 120, 3), 255, dtype=np.uint8)
            frame[20:40, 3 * number : 3 * number + 20] = (200, 30, 30)
            frames.append(frame)
        return frames

    @pytest.mark.parametrize(("count", "options"), [(1, {}), (2, {"fps": 10}), (17, {"width": 60})])
    def test_gif(self, training: ModuleType, count: int, options: dict[str, int]) -> None:
        """Catches: frames that are lost, squeezed, of other colors or shown too fast; an animation that stops."""
        frames = self.frames(count)
        kept = [frame.copy() for frame in frames]
        shown = training.animation(frames, **options)
        assert type(shown).__name__ == "Image"
        image = Image.open(io.BytesIO(shown.data))
        width = options.get("width", 240)
        assert (image.format, image.size, getattr(image, "n_frames", 1)) == ("GIF", (width, width // 2), count)
        for number, frame in enumerate(frames):
            image.seek(number)
            picture = np.asarray(image.convert("RGB"), dtype=float)
            expected = np.asarray(Image.fromarray(frame).resize((width, width // 2)), dtype=float)
            assert np.abs(picture - expected).mean() < 3
            if count > 1:
                assert image.info["duration"] == pytest.approx(1000 / options.get("fps", 30), abs=10)  # GIF counts hundredths
        if count > 1:
            assert image.info["loop"] == 0
        assert all(map(np.array_equal, frames, kept))
        mimetype = "image/gif"
        bundle = shown._repr_mimebundle_()
        assert mimetype in (bundle[0] if isinstance(bundle, tuple) else bundle)

    def test_none(self, training: ModuleType) -> None:
        """Catches: an IndexError from inside, which tells a student nothing."""
        with pytest.raises(ValueError, match="no frames"):
            training.animation([])


class TestSeeds:
    def test_seed_everything(self, training: ModuleType) -> None:
        """Catches: a generator that is forgotten; episodes that all begin as the first one."""

        def drawn(seed: int) -> list[Any]:
            env = gym.make("Pendulum-v1")
            training.seed_everything(seed, env)
            firsts = [tuple(env.reset()[0]) for _ in range(3)]
            assert len(set(firsts)) == 3
            return [random.random(), np.random.rand(), torch.rand(1).item(), firsts, env.action_space.sample().tolist()]

        once, again, other = drawn(3), drawn(3), drawn(4)
        assert once == again
        assert all(a != b for a, b in zip(once, other, strict=True))
        training.seed_everything(3)
        assert [random.random(), np.random.rand(), torch.rand(1).item()] == once[:3]
