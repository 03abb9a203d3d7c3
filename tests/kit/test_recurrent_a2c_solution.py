"""The reference solution of recurrent_a2c, and the files given with it, against independent computations.

Docstrings name the mistakes. `nn.LSTM` on games that were split at their ends is the oracle of the network, sums over future
rewards that of the losses, and games that are played one by one that of everything that plays.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, SupportsFloat, TypeVar

import gymnasium as gym
import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.distributions import Categorical

from tests.kit.examples import examples
from tests.kit.loading import load, load_given

pytestmark = [pytest.mark.oracle, pytest.mark.recorded]

INPUTS = ("solutions/recurrent_a2c/submitted.py", "assignments/recurrent_a2c/*.py")


CLOSE: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-5}  # float32 against float64
EXACT: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-10}  # float64 in another order

Agent = TypeVar("Agent", bound=nn.Module)


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """The networks are tiny: a second thread would only wait."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def solution() -> ModuleType:
    """The solution, which needs nothing that is given."""
    return load("solutions/recurrent_a2c/submitted.py")


@pytest.fixture(scope="module")
def env_pool() -> ModuleType:
    return load_given("recurrent_a2c", "env_pool").env_pool


@pytest.fixture(scope="module")
def modules() -> SimpleNamespace:
    """What can only be imported where OpenCV is: the modules that know KungFuMaster; the game itself is not needed."""
    pytest.importorskip("cv2")
    return load_given("recurrent_a2c", "atari_util", "trained_agent", "training")


@pytest.fixture(scope="module")
def atari(modules: SimpleNamespace) -> SimpleNamespace:
    """The same, where the game is."""
    pytest.importorskip("ale_py")
    return modules


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Nothing here depends on what ran before, nor on which tests are selected."""
    np.random.seed(7)
    torch.manual_seed(7)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20)


def lively(agent: Agent) -> Agent:
    """Return the agent with larger weights: its policy is far from uniform, its values from 0, and memory matters."""
    with torch.no_grad():
        for name, parameter in agent.named_parameters():
            if parameter.ndim > 1:
                parameter.mul_(8 if name.startswith(("logits", "state_value")) else 2)
    return agent


def gradient_of(parameter: Tensor) -> Tensor:
    """Return the gradient that `backward` has left there."""
    assert parameter.grad is not None
    return parameter.grad


# --- The network and the losses, by other means ---


def games_of(is_not_done: NDArray) -> list[tuple[int, int]]:
    """Return (first column, column behind the last) of each game in a row of the mask; an ended one has its dead tick last."""
    cuts = sorted({0, len(is_not_done), *(np.flatnonzero(np.asarray(is_not_done) == 0) + 1).tolist()})
    return list(itertools.pairwise(cuts))


class Whole:
    """The agent's network for whole games in float64: convolutions of all frames at once, one call of `nn.LSTM` a game."""

    def __init__(self, agent: nn.Module) -> None:
        self.weights = {name: value.detach().double().requires_grad_() for name, value in agent.named_parameters()}
        units, inputs = self.weights["rnn.weight_hh"].shape[1], self.weights["rnn.weight_ih"].shape[1]
        self.lstm = nn.LSTM(inputs, units, batch_first=True).double()

    def features(self, frames: Tensor) -> Tensor:
        """Return what goes into the memory, `[frames, inputs]`."""
        if "conv0.weight" not in self.weights:
            return frames
        for name in ("conv0", "conv1", "conv2"):
            frames = F.conv2d(frames, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"], stride=2).clamp(min=0)
        return (frames.reshape(len(frames), 512) @ self.weights["hid.weight"].T + self.weights["hid.bias"]).clamp(min=0)

    def remember(self, sequence: Tensor, start: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Return (h of each column `[columns, 128]`, the last (h, c)) of one game."""
        weights = {f"{name}_l0": self.weights[f"rnn.{name}"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")}
        output, last = torch.func.functional_call(self.lstm, weights, (sequence, start))
        return output, last

    def heads(self, h: Tensor) -> tuple[Tensor, Tensor]:
        """Return (logits, values)."""
        values = h @ self.weights["state_value.weight"][0] + self.weights["state_value.bias"]
        return h @ self.weights["logits.weight"].T + self.weights["logits.bias"], values

    def read(self, states: NDArray, is_not_done: NDArray, memory: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Return (logits `[B, T, actions]`, values `[B, T]`) of a rollout."""
        frames = torch.as_tensor(states).double()
        features = self.features(frames.flatten(0, 1)).reshape(*frames.shape[:2], -1)
        rows = []
        for game, mask in enumerate(is_not_done):
            start, pieces = tuple(m[game].detach().double()[None] for m in memory), []
            nothing = tuple(torch.zeros_like(m) for m in start)
            for first, behind in games_of(mask):
                pieces.append(self.remember(features[game, first:behind], start)[0])
                start = nothing
            rows.append(torch.cat(pieces))
        return self.heads(torch.stack(rows))


def loss_by_definition(logits: Tensor, values: Tensor, rollout: tuple[NDArray, ...], gamma: float) -> Tensor:
    """Return the loss of a rollout: sums over future rewards, game by game, without a recursion."""
    _, actions, rewards, is_not_done = rollout
    size, columns = actions.shape
    fixed, logprobas = values.tolist(), logits - logits.exp().sum(-1, keepdim=True).log()
    policy, value = torch.zeros(()).double(), torch.zeros(()).double()
    for game in range(size):
        for first, behind in games_of(is_not_done[game]):
            # The column in which nothing is played: the dead tick, or the end of the rollout.
            last = behind - 1
            over = not is_not_done[game, last]
            for t in range(first, last):
                later = sum(gamma ** (k - t) * float(rewards[game, k]) for k in range(t, last))
                later += 0.0 if over else gamma ** (last - t) * fixed[game][last]
                policy = policy + logprobas[game, t, actions[game, t]] * (later - fixed[game][t])
                follows = 0.0 if over and t + 1 == last else fixed[game][t + 1]
                value = value + (float(rewards[game, t]) + gamma * follows - values[game, t]) ** 2
    entropy = -(logprobas.exp() * logprobas).sum() / (size * columns)
    return (value - policy) / (size * (columns - 1)) - 0.01 * entropy


def mask_of(*rows: str) -> NDArray:
    """Return `[B, T]` of bool; "." is an end."""
    return np.array([[letter != "." for letter in row] for row in rows])


def rollout_of(
    is_not_done: NDArray, seed: int, n_actions: int = 14, shape: tuple[int, ...] = (1, 42, 42)
) -> tuple[NDArray, ...]:
    """Return (states, actions, rewards, mask). Where nothing is played, actions and rewards are nonsense."""
    rng = np.random.default_rng(seed)
    states = rng.random((*is_not_done.shape, *shape)).astype(np.float32)
    actions = rng.integers(n_actions, size=is_not_done.shape)
    rewards = rng.normal(size=is_not_done.shape).astype(np.float32)
    rewards[~is_not_done] = 100
    rewards[:, -1] = 1000
    return states, actions, rewards, is_not_done


class Recorder:
    """Stands where the optimizer does: keeps the gradients, and changes nothing."""

    def __init__(self, agent: nn.Module) -> None:
        self.named = dict(agent.named_parameters())
        self.calls: list[str] = []
        self.gradients: dict[str, Tensor] = {}
        for parameter in self.named.values():
            parameter.grad = torch.full_like(parameter, 1e4)  # of an update before

    def zero_grad(self, set_to_none: bool = True) -> None:
        self.calls.append("zero_grad")
        for parameter in self.named.values():
            parameter.grad = None

    def step(self) -> None:
        self.calls.append("step")
        self.gradients = {name: gradient_of(parameter).clone() for name, parameter in self.named.items()}


def update(
    solution: ModuleType, agent: nn.Module, rollout: tuple[NDArray, ...], memory: Any, n_actions: int = 14, **options: float
) -> SimpleNamespace:
    """Train once; return the loss, the gradient of each parameter, and the calls of the optimizer."""
    opt = Recorder(agent)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"agent": agent, "opt": opt, "n_actions": n_actions}.items():
            patch.setattr(solution, name, value)
        loss = solution.train_on_rollout(*rollout, memory, **options)
    return SimpleNamespace(loss=loss, gradients=opt.gradients, calls=opt.calls)


class Small(nn.Module):
    """A network that is all memory, in float64: what is compared is the formula, not its rounding."""

    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.LSTMCell(3, 4)
        self.logits = nn.Linear(4, 5)
        self.state_value = nn.Linear(4, 1)
        self.double()

    def forward(self, memory: Any, observations: Tensor) -> Any:
        h, c = self.rnn(observations.double(), tuple(memory))
        return (h, c), (self.logits(h), self.state_value(h).squeeze(-1))


class InDouble(nn.Module):
    """The student's agent in float64."""

    def __init__(self, agent: nn.Module) -> None:
        super().__init__()
        self.inner = agent.double()

    def forward(self, memory: Any, observations: Tensor) -> Any:
        return self.inner(memory, observations.double())


class Table(nn.Module):
    """An agent whose logits and values are parameters, one for each game and column; its memory is the column."""

    def __init__(self, size: int, columns: int, n_actions: int, dtype: torch.dtype = torch.float64) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.randn(size, columns, n_actions, dtype=dtype))
        self.values = nn.Parameter(torch.randn(size, columns, dtype=dtype))
        self.column = 0

    def forward(self, memory: Any, observations: Tensor) -> Any:
        outputs = self.logits[:, self.column], self.values[:, self.column]
        self.column += 1
        return memory, outputs


MASKS = {
    "no ends": mask_of("-------", "-------", "-------"),
    "one in the middle": mask_of("-------", "---.---", "-------"),
    "two in one row": mask_of("-.--.--", "-------"),
    "in the first column": mask_of(".------", "-------"),
    "in the last column": mask_of("-------", "------."),
    "in the last but one": mask_of("-----.-", "-------"),
    "a game of one action": mask_of("--.-.--", "-------"),
    "at different places": mask_of(".--.---", "-.--.--", "--.---.", "-----.-"),
    "all at once": mask_of("--.--", "--.--"),
    "two columns": mask_of("--", "-.", ".-", ".."),
    "one game": mask_of("-----"),
    "one game that ends": mask_of("--.--"),
    "one game, two columns": mask_of("--"),
}


class TestTraining:
    @pytest.mark.parametrize("name", MASKS)
    def test_agrees_with_split_games(self, solution: ModuleType, name: str) -> None:
        """Catches: a memory that is not reset, or a column early or late, or of all games; a return or value across an end;
        a bootstrap from a dead frame; B × B losses; sums for means; a gradient cut or let through; no zero_grad."""
        mask = MASKS[name]
        agent = lively(solution.SimpleRecurrentAgent((1, 42, 42), 14))
        rollout, memory = rollout_of(mask, seed=3), tuple(torch.randn(2, len(mask), 128))
        whole = Whole(agent)
        found = update(solution, agent, rollout, memory, gamma=0.9)
        loss = loss_by_definition(*whole.read(rollout[0], mask, memory), rollout, 0.9)
        loss.backward()
        np.testing.assert_allclose(found.loss, loss.item(), **CLOSE)
        assert found.gradients.keys() == whole.weights.keys()
        for weight, gradient in found.gradients.items():
            expected = gradient_of(whole.weights[weight])
            np.testing.assert_allclose(gradient.numpy(), expected.numpy(), **CLOSE, err_msg=weight)
            # The tolerance must be far below what is compared; with one column that is played or none, little flows back.
            assert expected.abs().max() > 1e-3 or weight == "rnn.weight_hh"

    @settings(max_examples=examples(40), deadline=None)
    @given(data=st.data(), size=st.integers(1, 4), columns=st.integers(2, 9), gamma=st.floats(0, 1), seed=st.integers(0, 999))
    def test_agrees_with_split_games_wherever_they_end(
        self, solution: ModuleType, data: Any, size: int, columns: int, gamma: float, seed: int
    ) -> None:
        """Catches: what the masks above happen not to have; in float64, so to nine digits."""
        bits = data.draw(st.lists(st.booleans() | st.just(True), min_size=size * columns, max_size=size * columns))
        mask = np.array(bits).reshape(size, columns)
        torch.manual_seed(seed)
        agent = lively(Small())
        rollout, memory = rollout_of(mask, seed, 5, shape=(3,)), tuple(torch.randn(2, size, 4).double())
        whole = Whole(agent)
        found = update(solution, agent, rollout, memory, 5, gamma=gamma)
        loss = loss_by_definition(*whole.read(rollout[0], mask, memory), rollout, gamma)
        loss.backward()
        np.testing.assert_allclose(found.loss, loss.item(), **EXACT)
        for weight, gradient in found.gradients.items():
            expected = whole.weights[weight].grad  # none where no column is played
            np.testing.assert_allclose(gradient.numpy(), 0 if expected is None else expected.numpy(), **EXACT, err_msg=weight)

    def test_nothing_flows_across_an_end(self, solution: ModuleType, rng: np.random.Generator) -> None:
        """Catches: any way from one game into the other, or into another row; here no formula is needed."""
        mask = mask_of("---.---", "-------")
        states, actions, rewards, _ = rollout_of(mask, seed=5)
        agent = lively(solution.SimpleRecurrentAgent((1, 42, 42), 14)).double()
        seen: list[tuple[Tensor, Tensor]] = []

        class Watched(InDouble):
            def forward(self, memory: Any, observations: Tensor) -> Any:
                new, outputs = super().forward(memory, observations)
                seen.append(outputs)
                return new, outputs

        memory = tuple(torch.randn(2, 2, 128).double())
        update(solution, Watched(agent), (states, actions, rewards, mask), memory)
        before = [outputs[0].detach() for outputs in seen]
        seen.clear()
        changed = states.copy()
        changed[0, :4] = rng.random((4, 1, 42, 42))  # the old game
        update(solution, Watched(agent), (changed, actions, rewards, mask), memory)
        same = [[torch.equal(old[row], new[0][row]) for old, new in zip(before, seen, strict=True)] for row in range(2)]
        assert same == [[False] * 4 + [True] * 3, [True] * 7]
        seen.clear()
        update(solution, Watched(agent), (states, actions, rewards, mask), [m + 1 for m in memory])
        same = [[torch.equal(old[row], new[0][row]) for old, new in zip(before, seen, strict=True)] for row in range(2)]
        assert same == [[False] * 4 + [True] * 3, [False] * 7]

    @pytest.mark.parametrize("name", MASKS)
    def test_gradient_of_logits_and_values(self, solution: ModuleType, name: str) -> None:
        """Catches: a part of the loss with another factor or sign, an advantage or target that gets a gradient."""
        mask = MASKS[name]
        size, columns = mask.shape
        n_actions, gamma = 5, 0.8
        table = Table(size, columns, n_actions)
        rollout = rollout_of(mask, seed=8, n_actions=n_actions, shape=(2,))
        found = update(solution, table, rollout, (torch.zeros(size, 3),), n_actions, gamma=gamma)
        _, actions, rewards, _ = rollout
        logits, values = table.logits.detach().numpy(), table.values.detach().numpy()
        p = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
        entropy = -(p * np.log(p)).sum(-1, keepdims=True)
        to_logits = 0.01 / (size * columns) * p * (np.log(p) + entropy)
        to_values = np.zeros((size, columns))
        for game, row in enumerate(mask):
            for first, behind in games_of(row):
                last = behind - 1
                bootstrap = values[game, last] if row[last] else 0.0
                for t in range(first, last):
                    onehot = np.eye(n_actions)[actions[game, t]]
                    steps = np.arange(last - t)
                    g = np.sum(gamma**steps * rewards[game, t:last]) + gamma ** (last - t) * bootstrap
                    to_logits[game, t] -= (g - values[game, t]) * (onehot - p[game, t]) / ((columns - 1) * size)
                    following = bootstrap if t + 1 == last else values[game, t + 1]
                    error = rewards[game, t] + gamma * following - values[game, t]
                    to_values[game, t] -= 2 * error / ((columns - 1) * size)
        np.testing.assert_allclose(found.gradients["logits"], to_logits, rtol=1e-5, atol=1e-8)  # 0.8 in float32 is not 0.8
        np.testing.assert_allclose(found.gradients["values"], to_values, rtol=1e-5, atol=1e-8)

    def test_table_by_hand(self, solution: ModuleType) -> None:
        """Catches: what both other computations might have in common."""
        table = Table(1, 5, 2)
        with torch.no_grad():
            table.logits.zero_()
            table.values.copy_(torch.tensor([[4.0, 8.0, 1000.0, 16.0, 32.0]]))
        rewards = np.array([[1.0, 2.0, 500.0, 3.0, 500.0]])
        rollout = np.zeros((1, 5, 1)), np.array([[0, 1, 1, 1, 0]]), rewards, mask_of("--.--")
        found = update(solution, table, rollout, (torch.zeros(1, 1),), 2, gamma=0.5)
        # G: 1 + 2 / 2 = 2, then 2, it is over; then 3 + 32 / 2 = 19. A: -2, -6, 3. TD errors: 1 + 8 / 2 - 4 = 1, 2 - 8 = -6, 3.
        log2 = np.log(2)
        assert float(found.loss) == pytest.approx((-2 - 6 + 3) * log2 / 4 + (1 + 36 + 9) / 4 - 0.01 * log2)
        assert found.gradients["values"].tolist() == [[-0.5, 3.0, 0.0, -1.5, 0.0]]
        # -A (onehot - p) / L with p = 1/2; at its maximum, the entropy has no gradient.
        gradients = found.gradients["logits"][0].tolist()
        assert gradients == [pytest.approx(row) for row in ([0.25, -0.25], [-0.75, 0.75], [0, 0], [0.375, -0.375], [0, 0])]

    def test_entropy(self, solution: ModuleType) -> None:
        """Catches: a sum for a mean, L columns for T, another logarithm, another sign, dead ticks left out."""
        mask = MASKS["at different places"]
        size, columns = mask.shape
        table = Table(size, columns, 6)
        with torch.no_grad():
            table.values.zero_()
            table.logits.mul_(3)
        rollout = (*rollout_of(mask, seed=1, n_actions=6, shape=(2,))[:2], np.zeros(mask.shape), mask)
        found = update(solution, table, rollout, (torch.zeros(len(mask), 3),), 6)
        # No rewards and no values: nothing else is left of the loss.
        expected = -0.01 * Categorical(logits=table.logits.detach()).entropy().mean().item()
        assert float(found.loss) == pytest.approx(expected, rel=1e-12)
        assert -0.01 * np.log(6) < expected < -0.005

    def test_extreme_logits(self, solution: ModuleType) -> None:
        """Catches: the logarithm of a probability that has become 0."""
        table = Table(2, 4, 3, torch.float32)
        with torch.no_grad():
            table.logits.mul_(500)
        rollout = rollout_of(mask_of("----", "-.--"), seed=1, n_actions=3, shape=(2,))
        found = update(solution, table, rollout, (torch.zeros(2, 3),), 3)
        assert np.isfinite(found.loss)
        assert all(gradient.isfinite().all() for gradient in found.gradients.values())

    def test_default_gamma(self, solution: ModuleType) -> None:
        """Catches: another default."""
        table, rollout = Table(3, 7, 4), rollout_of(MASKS["no ends"], seed=2, n_actions=4, shape=(2,))
        losses = []
        for options in ({}, {"gamma": 0.99}, {"gamma": 0.98}):
            table.column = 0
            losses.append(float(update(solution, table, rollout, (torch.zeros(3, 1),), 4, **options).loss))
        assert losses[0] == losses[1] != losses[2]

    def test_leaves_what_it_is_given(self, solution: ModuleType) -> None:
        """Catches: memory, rewards or mask changed in place; a gradient that goes into the rollout before."""
        mask = MASKS["at different places"]
        agent = lively(solution.SimpleRecurrentAgent((1, 42, 42), 14))
        rollout = tuple(np.ascontiguousarray(array) for array in rollout_of(mask, seed=4))
        leaves = [torch.randn(len(mask), 128, requires_grad=True) for _ in range(2)]
        memory = [leaf * 2 for leaf in leaves]
        for tensor in memory:
            tensor.retain_grad()
        before = [array.copy() for array in rollout], [tensor.detach().clone() for tensor in memory]
        kept = list(memory)
        weights = {name: value.clone() for name, value in agent.state_dict().items()}
        loss = update(solution, agent, rollout, memory).loss
        assert all(new is old for new, old in zip(memory, kept, strict=True))
        for array, copied in zip(rollout, before[0], strict=True):
            assert array.dtype == copied.dtype
            np.testing.assert_array_equal(array, copied)
        for new, old in zip(memory, before[1], strict=True):
            assert torch.equal(new, old)
            assert new.grad is None
        assert all(leaf.grad is None for leaf in leaves)
        assert all(torch.equal(weights[name], value) for name, value in agent.state_dict().items())
        assert isinstance(loss, (np.ndarray, np.generic))
        assert loss.shape == ()
        assert loss.dtype == np.float32

    @pytest.mark.parametrize("kind", ["float mask", "lists", "float64", "small integers"])
    def test_takes_any_arrays(self, solution: ModuleType, kind: str) -> None:
        """Catches: ~ of a mask of numbers, an index that is no int64, a loss of another precision."""
        mask = MASKS["at different places"]
        agent = lively(solution.SimpleRecurrentAgent((1, 42, 42), 14))
        rollout, memory = rollout_of(mask, seed=4), tuple(torch.randn(2, len(mask), 128))
        states, actions, rewards, _ = rollout
        others: dict[str, tuple[Any, ...]] = {
            "float mask": (states, actions, rewards, mask.astype(np.float32)),
            "lists": (list(states), actions.tolist(), rewards.tolist(), mask.tolist()),
            "float64": tuple(array.astype(np.float64) for array in rollout),
            "small integers": (states, actions.astype(np.uint8), rewards, mask.astype(np.uint8)),
        }
        expected, found = update(solution, agent, rollout, memory), update(solution, agent, others[kind], memory)
        assert found.loss == expected.loss
        assert found.loss.dtype == np.float32

    def test_one_update_of_the_optimizer(self, solution: ModuleType) -> None:
        """Catches: no step, two steps, a step before backward, gradients that are added up over updates."""
        agent = lively(solution.SimpleRecurrentAgent((1, 42, 42), 14))
        rollout, memory = rollout_of(mask_of("--.-", "----"), seed=6), tuple(torch.randn(2, 2, 128))
        found = update(solution, agent, rollout, memory)
        assert found.calls == ["zero_grad", "step"]
        before = {name: value.clone() for name, value in agent.state_dict().items()}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(solution, "agent", agent)
            patch.setattr(solution, "opt", torch.optim.SGD(agent.parameters(), lr=1e-3))
            first = solution.train_on_rollout(*rollout, memory)
            for name, value in agent.state_dict().items():
                torch.testing.assert_close(value, before[name] - 1e-3 * found.gradients[name], rtol=1e-6, atol=1e-7)
            second = solution.train_on_rollout(*rollout, memory)
        assert second < first

    def test_its_own_names(self, solution: ModuleType) -> None:
        """Catches: an optimizer of another agent, an agent of another game."""
        assert solution.n_actions == solution.agent.logits.out_features == 14
        (group,) = solution.opt.param_groups
        assert [id(parameter) for parameter in group["params"]] == [id(parameter) for parameter in solution.agent.parameters()]
        assert isinstance(solution.opt, torch.optim.Adam)


class TestNetwork:
    @pytest.mark.parametrize("size", [1, 3])
    def test_forward(self, solution: ModuleType, rng: np.random.Generator, size: int) -> None:
        """Catches: a layer or activation left out, heads on c or on the old h, h and c swapped, values of `[B, 1]`."""
        agent = lively(solution.SimpleRecurrentAgent((1, 42, 42), 9))
        memory = tuple(torch.randn(2, size, 128))
        observations = rng.random((size, 1, 42, 42)).astype(np.float32)
        (h, c), (logits, values) = agent(memory, torch.as_tensor(observations))
        whole = Whole(agent)
        features = whole.features(torch.as_tensor(observations).double())
        for game in range(size):
            start = tuple(m[game : game + 1].double() for m in memory)
            _, (expected_h, expected_c) = whole.remember(features[game : game + 1], start)
            expected_logits, expected_values = whole.heads(expected_h)
            for found, expected in ((h, expected_h), (c, expected_c), (logits, expected_logits), (values, expected_values)):
                np.testing.assert_allclose(found[game].detach().numpy(), expected[0].detach().numpy(), **CLOSE)
        assert h.shape == c.shape == (size, 128)
        assert logits.shape == (size, 9)
        assert values.shape == (size,)
        assert {tensor.dtype for tensor in (h, c, logits, values)} == {torch.float32}

    def test_parameters(self, solution: ModuleType) -> None:
        """Catches: a network that is not that of the seed."""
        agent = solution.SimpleRecurrentAgent((1, 42, 42), n_actions=14, reuse=False)
        shapes = {name: tuple(value.shape) for name, value in agent.state_dict().items() if name.endswith("weight")}
        assert shapes == {
            "conv0.weight": (32, 1, 3, 3), "conv1.weight": (32, 32, 3, 3), "conv2.weight": (32, 32, 3, 3),
            "hid.weight": (128, 512), "logits.weight": (14, 128), "state_value.weight": (1, 128),
        }  # fmt: skip
        assert sum(parameter.numel() for parameter in agent.parameters()) == 218_511
        assert isinstance(agent.rnn, nn.LSTMCell)
        assert isinstance(agent.flatten, solution.Flatten)
        assert solution.SimpleRecurrentAgent((3, 42, 42), 2).conv0.in_channels == 3

    def test_step(self, solution: ModuleType, rng: np.random.Generator) -> None:
        """Catches: a graph that grows as long as a game is, arrays of another type refused, memory changed in place."""
        agent = lively(solution.SimpleRecurrentAgent((1, 42, 42), 14))
        observations = rng.random((3, 1, 42, 42)).astype(np.float32)
        memory = tuple(torch.randn(3, 128, requires_grad=True) for _ in range(2))
        before = [m.detach().clone() for m in memory]
        expected = agent(memory, torch.as_tensor(observations))
        for given_observations in (observations, list(observations), observations.astype(np.float64)):
            found = agent.step(memory, given_observations)
            for new, old in zip(itertools.chain(*found), itertools.chain(*expected), strict=True):
                assert not new.requires_grad
                assert torch.equal(new, old)
        assert all(torch.equal(new, old) for new, old in zip(memory, before, strict=True))
        integers = (observations > 0.5).astype(np.uint8)
        assert torch.equal(agent.step(memory, integers)[1][0], agent.step(memory, integers.astype(np.float32))[1][0])

    def test_initial_state(self, solution: ModuleType) -> None:
        """Catches: memory of a game before; h and c that are one tensor."""
        agent = solution.SimpleRecurrentAgent((1, 42, 42), 14)
        h, c = agent.get_initial_state(3)
        for tensor in (h, c):
            assert tensor.shape == (3, 128)
            assert tensor.dtype == torch.float32
            assert not tensor.any()
        assert h is not c

    def test_sample_actions(self, solution: ModuleType) -> None:
        """Catches: the best action in place of a sample, softmax over the games, samples of the wrong logits."""
        agent = solution.SimpleRecurrentAgent((1, 42, 42), 4)
        logits = torch.tensor([[0.0, 1.0, 2.0, -1.0], [3.0, 0.0, 0.0, 0.0]])
        many = logits.repeat_interleave(20_000, dim=0)
        actions = agent.sample_actions((many, torch.zeros(len(many))))
        assert isinstance(actions, np.ndarray)
        assert actions.dtype == np.int64
        assert actions.shape == (40_000,)
        frequencies = [np.bincount(row, minlength=4) / 20_000 for row in actions.reshape(2, 20_000)]
        # The largest deviation of 8 frequencies is rarely above 3.5 standard deviations, 0.35 % each.
        np.testing.assert_allclose(frequencies, Categorical(logits=logits).probs.numpy(), atol=0.0125)
        torch.manual_seed(3)
        first = agent.sample_actions((many[:50], None))
        torch.manual_seed(3)
        np.testing.assert_array_equal(agent.sample_actions((many[:50], None)), first)

    def test_one_hot(self, solution: ModuleType) -> None:
        """Catches: a column too few, rows in another order, integers where float32 is multiplied."""
        y = torch.tensor([[2, 0], [1, 2]])
        for found, n_dims in ((solution.to_one_hot(y), 3), (solution.to_one_hot(y.float(), 5), 5)):
            assert found.dtype == torch.float32
            np.testing.assert_array_equal(found.numpy(), np.eye(n_dims)[[2, 0, 1, 2]])

    def test_flatten(self, solution: ModuleType) -> None:
        """Catches: games mixed with channels; frames that are not contiguous."""
        x = torch.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
        np.testing.assert_array_equal(solution.Flatten()(x).numpy(), np.arange(120).reshape(2, 60))
        transposed = x.transpose(2, 3)
        np.testing.assert_array_equal(solution.Flatten()(transposed).numpy(), transposed.numpy().reshape(2, 60))


# --- Games at once ---


class Counting(gym.Env):
    """Observes (its number, the game, the tick in it); games are as long as told, and every other one is truncated."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (3,), np.float32)
    action_space = gym.spaces.Discrete(5)

    def __init__(self, number: int, lengths: tuple[int, ...]) -> None:
        self.number, self.lengths = number, lengths
        self.game, self.tick = -1, 0
        self.resets: list[Any] = []
        self.actions: list[tuple[int, int, int]] = []  # (game, tick, action)

    def _look(self) -> NDArray:
        return np.array([self.number, self.game, self.tick], np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[NDArray, dict]:
        self.resets.append(seed)
        self.game, self.tick = self.game + 1, 0
        return self._look(), {}

    def step(self, action: int) -> tuple[NDArray, float, bool, bool, dict]:
        length = self.lengths[self.game % len(self.lengths)]
        assert self.tick < length, "the game is over"
        self.actions.append((self.game, self.tick, int(action)))
        self.tick += 1
        over = self.tick == length
        reward = 100 * self.number + 10 * self.game + self.tick / 4
        return self._look(), reward, over and self.game % 2 == 0, over and self.game % 2 == 1, {}


class Diary:
    """An agent whose memory tells what it has seen since it was new; it does not begin with zeros, nor has it only vectors."""

    def __init__(self) -> None:
        self.steps: list[tuple[tuple[Tensor, ...], NDArray]] = []  # (memory, observations)

    def get_initial_state(self, batch_size: int) -> tuple[Tensor, Tensor]:
        return torch.full((batch_size, 2), 7.0), torch.full((batch_size, 1, 3), -1.0)

    def step(self, memory: tuple[Tensor, Tensor], observations: NDArray) -> tuple:
        ticks, seen = memory
        self.steps.append((tuple(m.clone() for m in memory), np.array(observations)))
        new = ticks + 1, seen / 2 + torch.as_tensor(observations)[:, None]
        return new, (new[0][:, 0] * 3 + torch.as_tensor(observations)[:, 2], None)

    def sample_actions(self, outputs: tuple) -> NDArray:
        return (outputs[0].long() % 5).numpy()


class Noise(gym.Env):
    """Random frames in games of random length, both from the environment's own generator; the reward tells the action."""

    observation_space = gym.spaces.Box(0.0, 1.0, (1, 42, 42), np.float32)
    action_space = gym.spaces.Discrete(14)
    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012

    def __init__(self, chance: float = 0.2, render_mode: str | None = None) -> None:
        self.chance, self.render_mode = chance, render_mode
        self.actions: list[int] = []
        self.closed = False

    def close(self) -> None:
        self.closed = True

    def _look(self) -> NDArray:
        return self.np_random.random((1, 42, 42), dtype=np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[NDArray, dict]:
        super().reset(seed=seed)
        self.over, self.ticks = False, 0
        return self._look(), {}

    def step(self, action: int) -> tuple[NDArray, float, bool, bool, dict]:
        assert not self.over
        assert 0 <= action < 14
        self.actions.append(int(action))
        self.ticks += 1
        terminated, truncated = self.np_random.random(2) < self.chance
        self.over = terminated or truncated
        return self._look(), float(100 * int(action) + self.ticks), bool(terminated), bool(truncated), {}

    def render(self) -> NDArray:
        frame = np.zeros((210, 160, 3), np.uint8)
        frame[: 10 * self.ticks + 5] = (255, 0, 0)
        return frame


class SeedPool:
    """The pool of the course (Practical RL, week 8): a list of single games. In the last column a game may have just ended."""

    def __init__(self, agent: Any, envs: list[gym.Env], seed: int) -> None:
        self.agent, self.envs = agent, envs
        self.prev_observations: Sequence[Any] = [env.reset(seed=seed + number)[0] for number, env in enumerate(envs)]
        self.prev_memory_states = agent.get_initial_state(len(envs))
        self.just_ended = [False] * len(envs)

    def interact(self, n_steps: int) -> list[NDArray]:
        history: list[tuple[Any, ...]] = []
        for _ in range(n_steps - 1):
            memory, outputs = self.agent.step(self.prev_memory_states, np.stack(self.prev_observations))
            actions = self.agent.sample_actions(outputs)
            memory = [m.clone() for m in memory]
            tick: list[tuple[Any, SupportsFloat, bool]] = []
            for i, env in enumerate(self.envs):
                if self.just_ended[i]:
                    observation, _ = env.reset()
                    for m, new in zip(memory, self.agent.get_initial_state(1), strict=True):
                        m[i] = new[0]
                    self.just_ended[i] = False
                    tick.append((observation, 0.0, False))
                else:
                    observation, reward, terminated, truncated, _ = env.step(actions[i])
                    self.just_ended[i] = terminated or truncated
                    tick.append((observation, reward, True))
            observations, rewards, alive = zip(*tick, strict=True)
            history.append((self.prev_observations, actions, rewards, alive))
            self.prev_observations, self.prev_memory_states = observations, memory
        nothing = [0] * len(self.envs)
        history.append((self.prev_observations, nothing, nothing, [not ended for ended in self.just_ended]))
        return [np.stack([np.asarray(entry) for entry in column], axis=1) for column in zip(*history, strict=True)]


def makers(envs: Iterable[gym.Env]) -> Callable[[], gym.Env]:
    """Return a function that makes one of them after the other."""
    waiting = iter(envs)
    return lambda: next(waiting)


def same_rollouts(found: tuple[NDArray, ...], expected: list[NDArray]) -> None:
    for name, one, other in zip(("observations", "actions", "rewards", "is_not_done"), found, expected, strict=True):
        np.testing.assert_array_equal(one, other, err_msg=name)


class TestEnvPool:
    def test_rollout_by_hand(self, env_pool: ModuleType) -> None:
        """Catches: a mask a tick early or late, a final observation that is lost, a truncation overlooked, an action or reward
        in a tick in which nothing is played, a last column that is played."""
        envs = [Counting(0, (3, 1, 20)), Counting(1, (30,)), Counting(2, (4, 20))]
        pool = env_pool.EnvPool(Diary(), makers(envs), 3)
        observations, actions, rewards, is_not_done = pool.interact(5)
        # (game, tick) of each column
        assert observations[0, :, 1:].tolist() == [[0, 0], [0, 1], [0, 2], [0, 3], [1, 0]]
        assert observations[1, :, 1:].tolist() == [[0, 0], [0, 1], [0, 2], [0, 3], [0, 4]]
        assert observations[2, :, 1:].tolist() == [[0, 0], [0, 1], [0, 2], [0, 3], [0, 4]]
        assert rewards.tolist() == [[0.25, 0.5, 0.75, 0, 0], [100.25, 100.5, 100.75, 101, 0], [200.25, 200.5, 200.75, 201, 0]]
        # The third game has ended on the last tick that was played.
        assert is_not_done.tolist() == mask_of("---.-", "-----", "----.").tolist()
        assert pool.just_ended.tolist() == [False, False, True]

        observations, actions, rewards, is_not_done = pool.interact(5)
        assert observations[0, :, 1:].tolist() == [[1, 0], [1, 1], [2, 0], [2, 1], [2, 2]]  # the second game is truncated
        assert observations[2, :, 1:].tolist() == [[0, 4], [1, 0], [1, 1], [1, 2], [1, 3]]
        assert rewards.tolist() == [[10.25, 0, 20.25, 20.5, 0], [101.25, 101.5, 101.75, 102, 0], [0, 210.25, 210.5, 210.75, 0]]
        assert is_not_done.tolist() == mask_of("-.---", "-----", ".----").tolist()
        assert pool.just_ended.tolist() == [False] * 3
        assert not actions[:, -1].any()

    def test_types(self, env_pool: ModuleType) -> None:
        """Catches: float64 rewards, actions that are no index, a mask that `~` does not turn round."""
        pool = env_pool.EnvPool(Diary(), makers([Counting(0, (2,)), Counting(1, (3,))]), 2)
        for columns in (6, 2, 1):
            observations, actions, rewards, is_not_done = pool.interact(columns)
            assert observations.shape == (2, columns, 3)
            assert actions.shape == rewards.shape == is_not_done.shape == (2, columns)
            assert [a.dtype for a in (observations, actions, rewards, is_not_done)] == [np.float32, np.int64, np.float32, bool]

    def test_last_column_comes_again(self, env_pool: ModuleType) -> None:
        """Catches: a tick between rollouts that is lost or played twice, also where a game has just ended or begun."""
        lengths = [(3, 1, 2), (5,), (4, 4)]
        envs = [Counting(number, some) for number, some in enumerate(lengths)]
        pool = env_pool.EnvPool(Diary(), makers(envs), 3)
        rollouts = []
        for _ in range(12):
            first = pool.prev_observations.copy(), ~pool.just_ended
            rollouts.append(pool.interact(4))
            np.testing.assert_array_equal(rollouts[-1][0][:, 0], first[0])
            np.testing.assert_array_equal(rollouts[-1][3][:, 0], first[1])
        for old, new in itertools.pairwise(rollouts):
            np.testing.assert_array_equal(old[0][:, -1], new[0][:, 0])
            np.testing.assert_array_equal(old[3][:, -1], new[3][:, 0])
        # What was executed is what the rows with mask True say, in the same order; ticks without an action are not.
        for number, env in enumerate(envs):
            rows = [(o[number, t], int(a[number, t]), m[number, t]) for o, a, _, m in rollouts for t in range(3)]
            assert [(int(o[1]), int(o[2]), a) for o, a, alive in rows if alive] == env.actions
            assert all(o[2] == env.lengths[int(o[1]) % len(env.lengths)] for o, _, alive in rows if not alive)
        # However it is cut, the same games are played.
        whole = env_pool.EnvPool(Diary(), makers([Counting(number, some) for number, some in enumerate(lengths)]), 3)
        expected = whole.interact(12 * 3 + 1)
        pieces = [np.concatenate([rollout[i][:, :-1] for rollout in rollouts], axis=1) for i in range(4)]
        same_rollouts(tuple(array[:, :-1] for array in expected), pieces)

    def test_memory(self, env_pool: ModuleType) -> None:
        """Catches: memory that is kept after an end, or lost elsewhere, or made of zeros; reset of all games at once."""
        agent = Diary()
        pool = env_pool.EnvPool(agent, makers([Counting(0, (3, 1, 20)), Counting(1, (30,)), Counting(2, (4, 20))]), 3)
        assert all(torch.equal(*pair) for pair in zip(pool.prev_memory_states, agent.get_initial_state(3), strict=True))
        for columns in (5, 4, 5):  # 4 + 3 + 4 ticks
            kept, before = pool.prev_memory_states, len(agent.steps)
            copies = [m.clone() for m in kept]
            pool.interact(columns)
            # That of before is what the first column was played with, and it is still so afterwards.
            for m, copy, first in zip(kept, copies, agent.steps[before][0], strict=True):
                assert torch.equal(m, copy)
                assert torch.equal(m, first)
        found = np.array([[row[0] for row in memory[0].tolist()] for memory, _ in agent.steps]).T - 7
        # How many observations are remembered. The dead tick's own memory is dropped with the game.
        assert found.tolist() == [
            [0, 1, 2, 3, 0, 1, 0, 1, 2, 3, 4],
            [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
            [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 5],
        ]
        for (memory, observations), (following, _) in itertools.pairwise(agent.steps):
            expected = memory[1] / 2 + torch.as_tensor(observations)[:, None]
            fresh = following[0][:, 0] == 7
            assert torch.equal(following[1][~fresh], expected[~fresh])
            assert (following[1][fresh] == -1).all()
        assert [m.shape for m in pool.prev_memory_states] == [(3, 2), (3, 1, 3)]
        assert pool.prev_memory_states[0][:, 0].tolist() == [12, 18, 13]

    def test_ends_behind_a_rollout(self, env_pool: ModuleType) -> None:
        """Catches: memory of a game that ends on the last tick dropped before its dead tick, or kept after it."""
        agent = Diary()
        pool = env_pool.EnvPool(agent, makers([Counting(0, (3, 9))]))
        pool.interact(4)
        assert pool.just_ended.tolist() == [True]
        assert pool.prev_memory_states[0][0].tolist() == [10, 10]
        assert pool.interact(2)[3].tolist() == [[False, True]]
        assert pool.prev_memory_states[0][0].tolist() == [7, 7]

    @pytest.mark.parametrize("columns", [2, 7, 16])
    def test_training_reads_what_was_played(
        self, env_pool: ModuleType, solution: ModuleType, columns: int, rng: np.random.Generator
    ) -> None:
        """Catches: pool and training that reset the memory at different places: the logits of training are then not those
        by which the agent acted."""
        agent = lively(solution.SimpleRecurrentAgent((1, 42, 42), 14))
        played, trained = [], []

        class Player:
            get_initial_state, sample_actions = agent.get_initial_state, agent.sample_actions

            def step(self, memory: Any, observations: NDArray) -> Any:
                new, outputs = agent.step(memory, observations)
                played.append(outputs[0])
                return new, outputs

        class Trainee(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.inner = agent

            def forward(self, memory: Any, observations: Tensor) -> Any:
                new, outputs = self.inner(memory, observations)
                trained.append(outputs[0].detach())
                return new, outputs

        pool = env_pool.EnvPool(Player(), Noise, 4, seed=11)
        trainee, ends = Trainee(), 0
        for _ in range(4):
            memory = pool.prev_memory_states
            played.clear()
            trained.clear()
            rollout = pool.interact(columns)
            update(solution, trainee, rollout, memory)
            assert len(played) == columns - 1 == len(trained) - 1
            torch.testing.assert_close(torch.stack(trained[:-1]), torch.stack(played), rtol=1e-5, atol=1e-6)
            # The last column is the next rollout's first.
            torch.testing.assert_close(trained[-1], agent.step(pool.prev_memory_states, pool.prev_observations)[1][0])
            ends += (~rollout[3]).sum()
        assert ends > 1

    @pytest.mark.parametrize("columns", [2, 5, 20])
    def test_agrees_with_the_pool_of_the_seed(self, env_pool: ModuleType, solution: ModuleType, columns: int) -> None:
        """Catches: anything that differs from games that are played one by one."""
        agent = lively(solution.SimpleRecurrentAgent((1, 42, 42), 14))
        pool, plain = env_pool.EnvPool(agent, Noise, 3, seed=5), SeedPool(agent, [Noise() for _ in range(3)], seed=5)
        for number in range(4):
            torch.manual_seed(number)
            expected = plain.interact(columns)
            torch.manual_seed(number)
            same_rollouts(pool.interact(columns), expected)
            assert pool.just_ended.tolist() == plain.just_ended
            for one, other in zip(pool.prev_memory_states, plain.prev_memory_states, strict=True):
                assert torch.equal(one, other)

    def test_agrees_in_the_game(self, env_pool: ModuleType, solution: ModuleType, atari: SimpleNamespace) -> None:
        """Catches: the same, in KungFuMaster with games of eleven actions."""
        agent = lively(solution.SimpleRecurrentAgent((1, 42, 42), 14))

        def make_env() -> gym.Env:
            return gym.wrappers.TimeLimit(atari.atari_util.make_env(), 11)

        pool, plain = env_pool.EnvPool(agent, make_env, 2, seed=5), SeedPool(agent, [make_env() for _ in range(2)], seed=5)
        torch.manual_seed(1)
        expected = plain.interact(30)
        torch.manual_seed(1)
        found = pool.interact(30)
        same_rollouts(found, expected)
        assert (~found[3]).sum() == 4

    def test_seeds(self, env_pool: ModuleType) -> None:
        """Catches: seeds that do not reach the games, that all games share, or that are set again after an end."""
        envs = [Counting(number, (2,)) for number in range(3)]
        pool = env_pool.EnvPool(Diary(), makers(envs), 3, seed=40)
        assert [env.resets for env in envs] == [[40], [41], [42]]
        pool.interact(6)
        assert [env.resets for env in envs] == [[40, None], [41, None], [42, None]]
        first = [env_pool.EnvPool(Diary(), Noise, 2, seed=seed).prev_observations for seed in (3, 3, 4, None, None)]
        np.testing.assert_array_equal(first[0], first[1])
        np.testing.assert_array_equal(first[0][1], first[2][0])
        assert not np.array_equal(first[0][0], first[0][1])
        assert not np.array_equal(first[3], first[4])

    def test_takes_a_vector_of_games(self, env_pool: ModuleType) -> None:
        """Catches: an environment that is wrapped once more, or a number of games that is not its own."""
        envs = SyncVectorEnv([partial(Counting, number, (3,)) for number in range(4)])
        pool = env_pool.EnvPool(Diary(), envs)
        assert pool.envs is envs
        assert pool.interact(6)[3].tolist() == mask_of(*["---.--"] * 4).tolist()

    def test_keeps_what_the_vector_writes_over(self, env_pool: ModuleType) -> None:
        """Catches: columns that all show the last observation, where a vector of games has one array for all."""
        envs = SyncVectorEnv([partial(Counting, number, (3,)) for number in range(2)], copy=False)
        pool = env_pool.EnvPool(Diary(), envs)
        rollouts = [pool.interact(4), pool.interact(4)]
        assert rollouts[0][0][1, :, 1:].tolist() == [[0, 0], [0, 1], [0, 2], [0, 3]]
        assert rollouts[1][0][1, :, 1:].tolist() == [[0, 3], [1, 0], [1, 1], [1, 2]]

    @pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.DISABLED, None])
    def test_refuses_another_autoreset(self, env_pool: ModuleType, mode: AutoresetMode | None) -> None:
        """Catches: final observations that are never seen, or games that are never reset; a vector that does not say."""
        envs = SyncVectorEnv([lambda: Counting(0, (3,))], autoreset_mode=mode or AutoresetMode.DISABLED)
        if mode is None:
            del envs.metadata["autoreset_mode"]
        with pytest.raises(ValueError, match="next-step autoreset"):
            env_pool.EnvPool(Diary(), envs)

    def test_number_of_games(self, env_pool: ModuleType) -> None:
        """Catches: another default."""
        assert env_pool.EnvPool(Diary(), makers([Counting(0, (3,))])).interact()[0].shape == (1, 100, 3)
        assert env_pool.EnvPool(Diary(), Noise, n_parallel_games=5).prev_observations.shape == (5, 1, 42, 42)


# --- What the agent sees ---


class Screen(gym.Env):
    """Shows the frames that it is given, one after the other, and again."""

    action_space = gym.spaces.Discrete(2)

    def __init__(self, frames: NDArray) -> None:
        self.waiting = itertools.cycle(frames)
        self.observation_space = gym.spaces.Box(0, 255, frames.shape[1:], np.uint8)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[NDArray, dict]:
        return next(self.waiting), {"seed": seed}

    def step(self, action: int) -> tuple[NDArray, float, bool, bool, dict]:
        return next(self.waiting), 1.0, False, False, {}


def covers(pixels: int, cells: int) -> NDArray:
    """Return `[cells, pixels]`: how much of each cell each pixel covers, when cells of one size cover all pixels."""
    size = pixels / cells
    overlap = [[min((i + 1) * size, j + 1) - max(i * size, j) for j in range(pixels)] for i in range(cells)]
    return np.maximum(overlap, 0) / size


def shrunk(frame: NDArray, height: int = 42, width: int = 42) -> NDArray:
    """Return the means of what pixels cover, in [0, 1], `[height, width]` or `[channels, height, width]`."""
    down, across = covers(frame.shape[0], height), covers(frame.shape[1], width)
    return np.einsum("ij,jk...,lk->...il", down, frame.astype(np.float64), across) / 255


def kungfu_crop(frame: NDArray) -> NDArray:
    return frame[60:-30, 15:]


ROUNDED = 0.5001 / 255


class TestPreprocessAtari:
    @pytest.mark.parametrize(("height", "width"), [(42, 42), (30, 40), (60, 145)])
    def test_means(self, modules: SimpleNamespace, rng: np.random.Generator, height: int, width: int) -> None:
        """Catches: height and width swapped, interpolation that samples pixels, a crop left out, [0, 255] or integers."""
        frames = rng.integers(256, size=(3, 210, 160), dtype=np.uint8)
        env = modules.atari_util.PreprocessAtari(Screen(frames), height, width, crop=kungfu_crop, n_frames=1)
        for number in range(5):
            observation = env.step(0)[0] if number else env.reset()[0]
            assert observation.dtype == np.float32
            assert env.observation_space.contains(observation)
            assert observation.shape == env.observation_space.shape == (1, height, width)
            np.testing.assert_allclose(observation[0], shrunk(kungfu_crop(frames[number % 3]), height, width), atol=ROUNDED)

    def test_extremes(self, modules: SimpleNamespace) -> None:
        """Catches: white that is not 1, a space that does not hold what is seen."""
        frames = np.stack([np.zeros((210, 160)), np.full((210, 160), 255)]).astype(np.uint8)
        env = modules.atari_util.PreprocessAtari(Screen(frames), n_frames=1)
        assert not env.reset()[0].any()
        assert (env.step(0)[0] == 1).all()
        space = env.observation_space
        assert (space.low.min(), space.high.max(), space.dtype) == (0, 1, np.float32)

    def test_no_crop(self, modules: SimpleNamespace, rng: np.random.Generator) -> None:
        """Catches: a default that leaves something out."""
        frames = rng.integers(256, size=(1, 100, 90), dtype=np.uint8)
        observation, info = modules.atari_util.PreprocessAtari(Screen(frames), n_frames=1).reset(seed=8)
        np.testing.assert_allclose(observation[0], shrunk(frames[0]), atol=ROUNDED)
        assert info == {"seed": 8}

    def test_gray_of_colors(self, modules: SimpleNamespace, rng: np.random.Generator) -> None:
        """Catches: blue taken for red, the plain mean of the channels."""
        frames = rng.integers(256, size=(2, 210, 160, 3), dtype=np.uint8)
        frames[0] = frames[0] // [1, 8, 8]
        env = modules.atari_util.PreprocessAtari(Screen(frames), crop=kungfu_crop, n_frames=1)
        for number in range(2):
            observation = env.step(0)[0] if number else env.reset()[0]
            gray = kungfu_crop(frames[number]) @ np.array([0.299, 0.587, 0.114])  # ITU-R BT.601
            np.testing.assert_allclose(observation[0], shrunk(gray), atol=2 * ROUNDED)

    def test_colors(self, modules: SimpleNamespace, rng: np.random.Generator) -> None:
        """Catches: channels last, channels in another order, frames stacked where channels belong."""
        frames = rng.integers(256, size=(3, 210, 160, 3), dtype=np.uint8)
        env = modules.atari_util.PreprocessAtari(Screen(frames), 30, 40, color=True, crop=kungfu_crop, n_frames=2)
        env.reset()
        observation = env.step(0)[0]
        assert observation.shape == env.observation_space.shape == (6, 30, 40)
        expected = np.concatenate([shrunk(kungfu_crop(frame), 30, 40) for frame in (frames[1], frames[0])])
        np.testing.assert_allclose(observation, expected, atol=ROUNDED)
        assert env.observation_space.contains(observation)

    @pytest.mark.parametrize("n_frames", [2, 4])
    def test_latest_frame_first(self, modules: SimpleNamespace, rng: np.random.Generator, n_frames: int) -> None:
        """Catches: the oldest first, frames of the game before, a frame lost, an observation that changes afterwards."""
        frames = rng.integers(1, 256, size=(7, 84, 84), dtype=np.uint8)
        env = modules.atari_util.PreprocessAtari(Screen(frames), n_frames=n_frames)
        small = [shrunk(frame) for frame in frames]
        black = [np.zeros((42, 42))] * n_frames
        assert env.observation_space.shape == (n_frames, 42, 42)
        kept, sights = [], []
        for reset_at in (0, 4):
            for number in range(reset_at, 7 if reset_at else 4):
                observation = env.reset()[0] if number == reset_at else env.step(0)[0]
                expected = np.stack([*small[reset_at : number + 1][::-1], *black][:n_frames])
                np.testing.assert_allclose(observation, expected, atol=ROUNDED)
                kept.append(observation)
                sights.append(observation.copy())
        for one, other in zip(kept, sights, strict=True):
            np.testing.assert_array_equal(one, other)

    def test_four_frames_by_default(self, modules: SimpleNamespace, rng: np.random.Generator) -> None:
        """Catches: defaults that are not the seed's."""
        env = modules.atari_util.PreprocessAtari(Screen(rng.integers(256, size=(1, 210, 160, 3), dtype=np.uint8)))
        assert env.reset()[0].shape == (4, 42, 42)

    def test_game(self, atari: SimpleNamespace) -> None:
        """Catches: another game, frame skip, chance that an action is repeated, or set of actions than the seed's."""
        env = atari.atari_util.make_env()
        assert env.spec.id == atari.atari_util.GAME == "ALE/KungFuMaster-v5"
        assert env.action_space.n == 14
        assert env.observation_space.shape == (1, 42, 42)
        emulator = env.unwrapped.ale
        assert emulator.getFloat("repeat_action_probability") == 0.25
        assert env.spec.kwargs["frameskip"] == 4
        assert env.unwrapped.observation_space.shape == (210, 160)  # gray; colors would take longer
        assert env.render_mode is None
        observation, _ = env.reset(seed=1)
        assert env.observation_space.contains(observation)
        frames = emulator.getEpisodeFrameNumber()
        observation = env.step(2)[0]
        assert emulator.getEpisodeFrameNumber() == frames + 4
        assert env.observation_space.contains(observation)
        np.testing.assert_allclose(observation[0], shrunk(kungfu_crop(emulator.getScreenGrayscale())), atol=ROUNDED)
        assert observation.std() > 0.05

    def test_gray_of_the_emulator(self, atari: SimpleNamespace) -> None:
        """Catches: a gray that is not that of the seed, which made it of colors."""
        colors = gym.make(atari.atari_util.GAME, obs_type="rgb")
        by_hand = atari.atari_util.PreprocessAtari(colors, crop=kungfu_crop, n_frames=1)
        env = atari.atari_util.make_env()
        pairs = [(by_hand.reset(seed=4)[0], env.reset(seed=4)[0])]
        for action in np.random.default_rng(1).integers(14, size=100):
            (one, *rest, _), (other, *others, _) = by_hand.step(action), env.step(action)
            assert rest == others
            pairs.append((one, other))
        for one, other in pairs:
            np.testing.assert_allclose(one, other, atol=2.001 / 255)
        assert not np.array_equal(pairs[0][1], pairs[-1][1])

    def test_seeds_of_the_game(self, atari: SimpleNamespace) -> None:
        """Catches: games that a seed does not decide; a render mode that is not passed on, or changes the game."""
        games = []
        for seed, mode in ((3, None), (3, "rgb_array"), (4, None)):
            env = atari.atari_util.make_env(render_mode=mode)
            observations = [env.reset(seed=seed)[0]]
            observations += [env.step(action)[0] for action in np.random.default_rng(2).integers(14, size=110)]
            games.append(np.stack(observations))
            if mode:
                frame = env.render()
                assert frame.shape == (210, 160, 3)
                assert frame.dtype == np.uint8
        np.testing.assert_array_equal(games[0], games[1])
        assert not np.array_equal(games[0], games[2])


# --- Playing, and watching the training ---


class Steady:
    """Plays by its memory: the first action of a game is 1, then 2, and so on; it keeps what it is shown."""

    def __init__(self, n_actions: int = 14) -> None:
        self.n_actions = n_actions
        self.observations: list[NDArray] = []

    def get_initial_state(self, batch_size: int) -> tuple[Tensor, Tensor]:
        return torch.zeros(batch_size, 1), torch.zeros(batch_size, 1)

    def step(self, memory: tuple[Tensor, Tensor], observations: NDArray) -> tuple:
        self.observations.append(np.array(observations))
        new = memory[0] + 1
        return (new, new), (-100.0 * (torch.arange(self.n_actions) - new % self.n_actions).abs(), new[:, 0])

    def sample_actions(self, outputs: tuple) -> NDArray:
        return outputs[0].argmax(dim=-1).numpy()


def noise_score(seed: int, actions: Callable[[int], int], chance: float = 0.2) -> tuple[float, int]:
    """Return (score, length) of one game of noise with `actions(tick)`."""
    env = Noise(chance)
    env.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        _, reward, terminated, truncated, _ = env.step(actions(env.ticks))
        total, over = total + reward, terminated or truncated
    return total, env.ticks


class TestWatching:
    def test_evaluate(self, modules: SimpleNamespace) -> None:
        """Catches: memory that is kept from the game before, or thrown away at each step; a truncation that is no end; an
        observation without its axis of games; a score that leaves out the last reward."""
        agent = Steady(5)
        env = Counting(3, (4, 7, 1))
        scores = modules.training.evaluate(agent, env, n_games=4)
        expected = [sum(300 + 10 * game + (tick + 1) / 4 for tick in range(length)) for game, length in enumerate((4, 7, 1, 4))]
        assert scores == expected
        assert all(type(score) is float for score in scores)
        assert env.resets == [None] * 4
        assert [action for game, _, action in env.actions if game == 1] == [1, 2, 3, 4, 0, 1, 2]
        assert [action for game, _, action in env.actions if game == 3] == [1, 2, 3, 4]
        assert {observation.shape for observation in agent.observations} == {(1, 3)}
        np.testing.assert_array_equal(
            np.concatenate(agent.observations)[:, 2], [0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 0, 0, 1, 2, 3]
        )

    def test_evaluate_with_a_seed(self, modules: SimpleNamespace) -> None:
        """Catches: the same game twenty times, or other games every time."""
        env = Counting(0, (1,))
        assert len(modules.training.evaluate(Steady(5), env, 3, seed=70)) == 3
        assert env.resets == [70, 71, 72]
        assert len(modules.training.evaluate(Steady(5), env)) == 1
        scores = modules.training.evaluate(Steady(), Noise(), 4, seed=7)
        assert scores == [noise_score(seed, lambda tick: (tick + 1) % 14)[0] for seed in range(7, 11)]

    def test_record(self, atari: SimpleNamespace, tmp_path: Path) -> None:
        """Catches: a picture too few, pictures of what the agent sees, a display, another game."""
        from PIL import GifImagePlugin, Image

        path = tmp_path / "game.gif"
        score = atari.training.record(Steady(), path, seed=9, max_steps=100)
        env = atari.atari_util.make_env(render_mode="rgb_array")
        env.reset(seed=9)
        total, frames = 0.0, [env.render()]
        for step in range(100):
            total += env.step((step + 1) % 14)[1]
            frames.append(env.render())
        assert score == total
        with Image.open(path) as film:
            assert isinstance(film, GifImagePlugin.GifImageFile)
            assert film.format == "GIF"
            assert film.size == (160, 210)
            assert film.info["loop"] == 0
            shown, durations = [], []
            for number in range(film.n_frames):
                film.seek(number)
                shown.append(np.asarray(film.convert("RGB")).astype(int))
                durations.append(film.info["duration"])
        # Frames that show the same are one, that lasts as long.
        different = [frames[0], *(new for old, new in itertools.pairwise(frames) if not np.array_equal(old, new))]
        assert len(shown) == len(different) > 15
        lasts = [len(list(same)) for _, same in itertools.groupby(frame.tobytes() for frame in frames)]
        for duration, ticks in zip(durations, lasts, strict=True):
            assert abs(duration - ticks * 4000 / 60) < 10 + ticks / 2  # the file counts hundredths of a second
        for one, other in zip(shown, different, strict=True):
            assert np.abs(one - other).max() <= 8  # a palette of 256 colors

    @pytest.mark.parametrize(("chance", "max_steps"), [(0.1, 500), (0.0, 4)])
    def test_recording_ends(
        self, modules: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, chance: float, max_steps: int
    ) -> None:
        """Catches: a recording that goes on in a game that is over, or longer than was asked for."""
        from PIL import GifImagePlugin, Image

        made: list[Noise] = []

        def make_env(render_mode: str | None = None) -> Noise:
            made.append(Noise(chance, render_mode))
            return made[-1]

        monkeypatch.setattr(modules.training, "make_env", make_env)
        score = modules.training.record(Steady(), tmp_path / "game.gif", seed=13, max_steps=max_steps)
        (env,) = made
        assert env.render_mode == "rgb_array"
        assert env.actions == [number % 14 for number in range(1, env.ticks + 1)]
        assert env.closed
        if chance:
            assert (score, env.ticks) == noise_score(13, lambda tick: (tick + 1) % 14, 0.1)
            assert 2 < env.ticks < 30
        else:
            assert env.ticks == 4
        with Image.open(tmp_path / "game.gif") as film:
            assert isinstance(film, GifImagePlugin.GifImageFile)
            assert film.n_frames == env.ticks + 1

    def test_training_env(self, modules: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
        """Catches: rewards clipped before they are divided, or on one side only."""
        rewards = [0.0, 100.0, 250.0, 700.0, -30.0, -900.0]

        class Rewarding(Noise):
            def step(self, action: int) -> tuple:
                observation, *_ = super().step(action)
                return observation, rewards[action], False, False, {}

        monkeypatch.setattr(modules.training, "make_env", lambda: Rewarding(0.0))
        env = modules.training.training_env()
        env.reset(seed=1)
        assert [env.step(action)[1] for action in range(6)] == pytest.approx([0, 1, 2.5, 5, -0.3, -5])

    def test_entropy(self, modules: SimpleNamespace, env_pool: ModuleType, solution: ModuleType) -> None:
        """Catches: entropy of probabilities taken for logits, a pool that plays on, a look that changes the samples."""
        agent = lively(solution.SimpleRecurrentAgent((1, 42, 42), 14))
        pool = env_pool.EnvPool(agent, Noise, 3, seed=2)
        pool.interact(4)
        before = pool.prev_observations.copy(), [m.clone() for m in pool.prev_memory_states], torch.get_rng_state()
        found = modules.training.entropy(agent, pool)
        logits = agent.step(pool.prev_memory_states, pool.prev_observations)[1][0].double().numpy()
        p = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
        assert type(found) is float
        assert found == pytest.approx(-(p * np.log(p)).sum(-1).mean(), rel=1e-5)
        assert 0.1 < found < 2.6
        np.testing.assert_array_equal(pool.prev_observations, before[0])
        assert all(torch.equal(*pair) for pair in zip(pool.prev_memory_states, before[1], strict=True))
        assert torch.equal(torch.get_rng_state(), before[2])

    @settings(max_examples=examples(60), deadline=None)
    @given(values=st.lists(st.floats(-1e5, 1e5), max_size=40), span=st.integers(1, 30))
    def test_moving_average(self, modules: SimpleNamespace, values: list[float], span: int) -> None:
        """Catches: an average that begins at 0, weights that do not sum to 1, another span: the formula of pandas' `ewm`."""
        found = modules.training.moving_average(values, span)
        assert len(found) == len(values)
        for t in range(len(values)):
            weights = [(1 - 2 / (span + 1)) ** i for i in range(t + 1)]
            expected = sum(w * x for w, x in zip(weights, values[t::-1], strict=True)) / sum(weights)
            assert found[t] == pytest.approx(expected, rel=1e-9, abs=1e-6)

    def test_moving_average_of_three(self, modules: SimpleNamespace) -> None:
        """Catches: another default; `DataFrame({'x': [1, 2, 4]}).x.ewm(span=10).mean()` says so."""
        # Weights 1, 9/11, 81/121.
        expected = [1, (2 * 11 + 9) / 20, (4 * 121 + 2 * 99 + 81) / 301]
        assert modules.training.moving_average([1, 2, 4]) == pytest.approx(expected, rel=1e-12)


class Training:
    """Everything around the training loop: writes down what is done, and says what scores are found."""

    def __init__(
        self, modules: SimpleNamespace, patch: pytest.MonkeyPatch, scores: Sequence[float], tests: list[list[float]]
    ) -> None:
        self.training, self.scores, self.tests = modules.training, iter(scores), iter(tests)
        self.env, self.agent = SimpleNamespace(close=lambda: self.calls.append("close")), object()
        self.calls: list[Any] = []
        self.prev_memory_states = ("memory", 0)
        self.prev_observations = "observations"
        patch.setattr(self.training, "make_env", lambda: self.env)
        patch.setattr(self.training, "evaluate", self.evaluate)
        patch.setattr(self.training, "entropy", self.entropy)
        patch.setattr(self.training, "play_test_games", self.play_test_games)

    def interact(self, n_steps: int) -> tuple:
        self.calls.append(("interact", n_steps))
        number = self.prev_memory_states[1]
        self.prev_memory_states = ("memory", number + 1)
        return tuple((name, number) for name in ("observations", "actions", "rewards", "is_not_done"))

    def train_on_rollout(self, *arguments: Any) -> NDArray:
        names, numbers = zip(*arguments, strict=True)
        assert names == ("observations", "actions", "rewards", "is_not_done", "memory")
        assert len(set(numbers)) == 1, "the memory of another rollout"
        self.calls.append("train")
        return np.array(numbers[0], np.float32)

    def evaluate(self, agent: Any, env: Any, n_games: int = 1, seed: int | None = None) -> list[float]:
        assert (agent, env, n_games) == (self.agent, self.env, 1)
        self.calls.append("evaluate")
        return [next(self.scores)]

    def entropy(self, agent: Any, pool: Any) -> float:
        assert (agent, pool) == (self.agent, self)
        return self.prev_memory_states[1] / 10

    def play_test_games(self, agent: Any) -> list[float]:
        assert agent is self.agent
        self.calls.append("test")
        return next(self.tests)

    def train(self, n_updates: int, **options: Any) -> dict[str, list[float]]:
        return self.training.train(self.train_on_rollout, self.agent, self, n_updates, **options)


class TestTrainingLoop:
    def test_what_is_kept(self, modules: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
        """Catches: memory of after the rollout, an update more or less, losses of all time, lists of different lengths."""
        loop = Training(modules, monkeypatch, [100, 300, 200], [])
        seen = []
        history = loop.train(
            10, n_columns=6, every=3, on_evaluation=lambda so_far: seen.append({k: list(so_far[k]) for k in so_far})
        )
        assert history == {
            "updates": [3, 6, 9], "score": [100, 300, 200], "loss": [1, 4, 7], "entropy": pytest.approx([0.3, 0.6, 0.9]),
            "moving_average": pytest.approx([100, 210, (200 * 121 + 300 * 99 + 100 * 81) / 301], rel=0.01),
        }  # fmt: skip
        assert history["moving_average"] == modules.training.moving_average([100, 300, 200])
        assert seen == [{key: values[:count] for key, values in history.items()} for count in (1, 2, 3)]
        update = [("interact", 6), "train"]
        assert loop.calls == [*([*update * 3, "evaluate"] * 3), *update, "close"]

    def test_defaults(self, modules: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
        """Catches: other defaults, a training too short to be evaluated that fails."""
        loop = Training(modules, monkeypatch, [1, 2], [])
        history = loop.train(250)
        assert history["updates"] == [100, 200]
        assert loop.calls[0] == ("interact", 17)
        loop = Training(modules, monkeypatch, [], [])
        assert loop.train(2) == {name: [] for name in ("updates", "score", "moving_average", "loss", "entropy")}
        assert loop.calls[-1] == "close"

    def test_stops_when_both_reach_the_threshold(self, modules: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
        """Catches: a stop after one lucky game, after a lucky average, by the best of the test games; no stop at exactly the
        threshold; test games that are played for nothing."""
        lucky = [0.0] * 10 + [199_999.0] + [0.0] * 9  # mean 9999.95
        good = [0.0, 20_000.0] * 10
        # Averages: 0, 0, 0, 3.3e3 (one lucky game), 8.3e3, 12.8e3, 10.4e3, 8.5e3, 12e3.
        scores = [0, 0, 0, 11_000, 22_000, 30_000, 0, 0, 30_000, 99_999]
        averages = modules.training.moving_average(scores)
        assert [average >= 10_000 for average in averages] == [False] * 5 + [True] * 2 + [False, True, True]
        loop = Training(modules, monkeypatch, scores, [lucky, lucky, good])
        history = loop.train(100, every=5)
        assert history["updates"] == [5, 10, 15, 20, 25, 30, 35, 40, 45]
        assert history["score"] == scores[:9]
        marks = [call for call in loop.calls if call in ("evaluate", "test", "close")]
        assert marks == [*["evaluate"] * 6, "test", "evaluate", "test", "evaluate", "evaluate", "test", "close"]

    @pytest.mark.parametrize(("score", "stops"), [(10_000, True), (9_999, False)])
    def test_threshold(self, modules: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, score: float, stops: bool) -> None:
        """Catches: > in place of >=, a threshold that is not the text's."""
        assert modules.training.THRESHOLD == 10_000
        assert len(Training(modules, monkeypatch, [score] * 2, [[10_000.0] * 20]).train(2, every=1)["score"]) == 2 - stops
        # The test games decide in the same way.
        tests = [[float(score)] * 20] * 2
        assert len(Training(modules, monkeypatch, [1e5] * 2, tests).train(2, every=1)["score"]) == 2 - stops

    def test_another_threshold(self, modules: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
        """Catches: a threshold of which one half is fixed."""
        loop = Training(modules, monkeypatch, [5, 5, 5], [[4.0], [5.0]])
        assert loop.train(3, every=1, threshold=5)["score"] == [5, 5]

    def test_figure(self, modules: SimpleNamespace) -> None:
        """Catches: curves that are swapped, or that have lost their updates; an empty history that cannot be drawn."""
        import matplotlib as mpl

        mpl.use("agg")
        import matplotlib.pyplot as plt

        history = {
            "updates": [5, 10],
            "score": [1.0, 9.0],
            "moving_average": [1.0, 5.0],
            "loss": [3.0, 3.0],
            "entropy": [2.0, 1.0],
        }
        figure = modules.training.plot_training(history)
        scores, entropies = figure.axes
        assert [list(line.get_ydata()) for line in scores.lines] == [[1, 9], [1, 5], [10_000] * 2]
        assert [list(line.get_ydata()) for line in entropies.lines] == [[2, 1], [0.1] * 2]
        assert all(list(line.get_xdata()) == [5, 10] for line in (*scores.lines[:2], entropies.lines[0]))
        assert entropies.get_ylim()[1] > np.log(14)
        figure.canvas.draw()
        modules.training.plot_training({name: [] for name in history}).canvas.draw()
        plt.close("all")

    def test_learns_a_little(
        self, modules: SimpleNamespace, env_pool: ModuleType, solution: ModuleType, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Catches: parts that do not fit each other; a policy that learns the opposite: action 13 is the best everywhere."""
        agent = solution.SimpleRecurrentAgent((1, 42, 42), 14)
        monkeypatch.setattr(solution, "agent", agent)
        monkeypatch.setattr(solution, "opt", torch.optim.Adam(agent.parameters(), lr=2e-3))
        monkeypatch.setattr(modules.training, "make_env", lambda: Noise(0.1))

        def make_env() -> gym.Env:
            return gym.wrappers.TransformReward(Noise(0.1), lambda reward: (float(reward) // 100 - 6.5) / 6.5)

        pool = env_pool.EnvPool(agent, make_env, 8, seed=1)
        history = modules.training.train(solution.train_on_rollout, agent, pool, 60, 6, every=20)
        assert history["updates"] == [20, 40, 60]
        assert np.isfinite([history[name] for name in history]).all()
        _, actions, _, is_not_done = pool.interact(40)
        assert actions[:, :-1][is_not_done[:, :-1]].mean() > 9  # 6.5 at first


# --- The file that is handed in, and the games by which it is judged ---


def put_in_place_of_the_game(patch: pytest.MonkeyPatch, make_env: Callable[[], gym.Env]) -> None:
    """trained_agent imports the game where it needs it."""
    patch.setitem(sys.modules, "atari_util", SimpleNamespace(make_env=make_env))


def kept_in(made: list[Noise], chance: float) -> Callable[[], Noise]:
    """Return a function that makes such games, and keeps them in the list."""

    def make_env() -> Noise:
        made.append(Noise(chance))
        return made[-1]

    return make_env


def driven(playing: Any, table: NDArray) -> tuple[list[NDArray], list[float]]:
    """Send one row of actions after the other; return (what was seen, the scores)."""
    observations = [next(playing)]
    for actions in table:
        try:
            observations.append(playing.send(actions))
        except StopIteration as over:
            return observations, over.value
    raise AssertionError("it does not end")


class TestTrainedAgent:
    def saved(self, modules: SimpleNamespace, agent: nn.Module, folder: Path) -> bytes:
        modules.trained_agent.save_agent(folder / "agent.safetensors", agent)
        return (folder / "agent.safetensors").read_bytes()

    def test_round_trip(self, modules: SimpleNamespace, solution: ModuleType, tmp_path: Path) -> None:
        """Catches: weights that are left out or rounded, a file that keeps gradients, an agent that plays another way."""
        agent, other = (lively(solution.SimpleRecurrentAgent((1, 42, 42), 14)) for _ in range(2))
        data = self.saved(modules, agent, tmp_path)
        assert len(data) < 218_511 * 4 + 2000
        assert modules.trained_agent.load_agent(data, other) is other
        assert other.state_dict().keys() == agent.state_dict().keys()
        assert all(torch.equal(value, agent.state_dict()[name]) for name, value in other.state_dict().items())
        assert all(parameter.requires_grad for parameter in other.parameters())
        memory, frames = other.get_initial_state(2), np.random.default_rng(1).random((2, 1, 42, 42))
        assert torch.equal(other.step(memory, frames)[1][0], agent.step(memory, frames)[1][0])
        modules.trained_agent.load_agent(bytearray(data), other)

    def test_saves_what_is_not_contiguous_or_not_float32(self, modules: SimpleNamespace, tmp_path: Path) -> None:
        """Catches: a file of float64, which is twice as large, and weights that cannot be saved as they lie in memory."""
        agent = nn.Linear(3, 2).double()
        agent.weight = nn.Parameter(torch.randn(3, 2).double().T)
        loaded = modules.trained_agent.load_agent(self.saved(modules, agent, tmp_path), nn.Linear(3, 2))
        assert loaded.weight.dtype == torch.float32
        torch.testing.assert_close(loaded.weight, agent.weight.float(), rtol=0, atol=0)

    @pytest.mark.parametrize(
        ("change", "says"),
        [
            ({"hid.weight": None}, r"hid\.weight is missing in the file and \[128, 512\] in the agent \(1 of 16 differ"),
            ({"hid.weight": None, "rnn.bias_hh": torch.zeros(3)}, r"hid\.weight is missing in .* \(2 of 16 differ"),
            ({"more.bias": torch.zeros(3)}, r"more\.bias is \[3\] in the file and missing in the agent"),
            ({"conv1.bias": torch.zeros(31)}, r"conv1\.bias is \[31\] in the file and \[32\] in the agent"),
            ({"logits.weight": torch.zeros(128, 14)}, r"logits\.weight is \[128, 14\] in the file and \[14, 128\]"),
            ({"state_value.bias": torch.zeros(())}, r"state_value\.bias is \[\] in the file and \[1\]"),
            ({"rnn.bias_hh": torch.full((512,), torch.nan)}, r"rnn\.bias_hh must be finite"),
            ({"conv0.bias": torch.full((32,), torch.inf)}, r"conv0\.bias must be finite"),
            ({"conv0.bias": torch.cat([torch.zeros(31), torch.tensor([-torch.inf])])}, r"conv0\.bias must be finite"),
            ({"conv0.bias": torch.full((32,), 1e300, dtype=torch.float64)}, r"conv0\.bias must be finite numbers of float32"),
            ({"conv0.bias": torch.zeros(32).to(torch.float8_e4m3fn)}, r"conv0\.bias must be finite numbers of float32"),
            ({"conv0.bias": torch.zeros(32, dtype=torch.complex64)}, r"conv0\.bias must be finite numbers of float32"),
            ({"conv0.bias": torch.zeros(32, dtype=torch.int64)}, r"conv0\.bias must be finite numbers of float32"),
        ],
    )
    def test_refused(self, modules: SimpleNamespace, solution: ModuleType, change: dict[str, Tensor | None], says: str) -> None:
        """Catches: a file that crashes the player, changes the agent in part, or says nothing of what is wrong with it."""
        from safetensors.torch import save

        agent = solution.SimpleRecurrentAgent((1, 42, 42), 14)
        before = {name: value.clone() for name, value in agent.state_dict().items()}
        weights = {name: torch.ones_like(value) for name, value in before.items()} | change
        data = save({name: value for name, value in weights.items() if value is not None})
        with pytest.raises(ValueError, match=says):
            modules.trained_agent.load_agent(data, agent)
        assert all(torch.equal(value, before[name]) for name, value in agent.state_dict().items())

    @pytest.mark.parametrize("data", [b"", b"no such file", b"\xff" * 400, b"\x02" + b"\0" * 7 + b"[]", b"\x80\x04pickle" * 9])
    def test_no_safetensors(self, modules: SimpleNamespace, data: bytes) -> None:
        """Catches: a file of torch.save, which runs code when it is read; an error that names no cause."""
        with pytest.raises(ValueError, match="not a safetensors file"):
            modules.trained_agent.load_agent(data, nn.Linear(2, 2))

    def test_numbers_that_torch_does_not_have(self, modules: SimpleNamespace) -> None:
        """Catches: an error of safetensors' own tables in place of one about the file."""
        entry = '{"dtype": "F4", "shape": [4], "data_offsets": [0, 2]}'
        header = f'{{"weight": {entry}}}'.encode()
        with pytest.raises(ValueError, match="not a safetensors file"):
            modules.trained_agent.load_agent(len(header).to_bytes(8, "little") + header + b"..", nn.Linear(2, 2))

    def test_cut_off(self, modules: SimpleNamespace, tmp_path: Path) -> None:
        """Catches: half a file that is taken for a whole one."""
        data = self.saved(modules, nn.Linear(3, 2), tmp_path)
        with pytest.raises(ValueError, match="not a safetensors file"):
            modules.trained_agent.load_agent(data[:-4], nn.Linear(3, 2))

    def test_games_by_single_games(self, modules: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
        """Catches: rewards of a second game, a last reward left out, a seed for another game, an end that is overlooked."""
        made: list[Noise] = []
        put_in_place_of_the_game(monkeypatch, kept_in(made, 0.1))
        seeds = [1, 2, 3, 3, 900, 18, 11]
        table = np.random.default_rng(2).integers(14, size=(500, len(seeds)))
        playing = modules.trained_agent.games(iter(seeds))
        observations, scores = driven(playing, table)
        expected = [noise_score(seed, column.__getitem__, 0.1) for seed, column in zip(seeds, table.T, strict=True)]
        lengths = [length for _, length in expected]
        assert scores == [score for score, _ in expected]
        assert all(type(score) is float for score in scores)
        assert len(observations) == max(lengths)
        assert len(set(lengths)) > 3
        assert all(env.closed for env in made)
        for i, seed in enumerate(seeds):
            env = Noise()
            frames = [env.reset(seed=seed)[0]]
            frames += [env.step(table[t, i])[0] for t in range(min(3, lengths[i] - 1)) if not env.over]
            for t, frame in enumerate(frames):
                np.testing.assert_array_equal(observations[t][i], frame)

    def test_games_of_kungfu(self, atari: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
        """Catches: the same, in the game itself."""
        put_in_place_of_the_game(monkeypatch, atari.atari_util.make_env)
        seeds = [4, 1]
        table = np.random.default_rng(2).integers(14, size=(2000, 2))
        observations, scores = driven(atari.trained_agent.games(seeds), table)
        assert observations[0].shape == (2, 1, 42, 42)
        expected = []
        for i, seed in enumerate(seeds):
            env = atari.atari_util.make_env()
            env.reset(seed=seed)
            score, ended = 0.0, False
            for action in table[:, i]:
                _, reward, terminated, truncated, _ = env.step(action)
                score += reward
                if ended := terminated or truncated:
                    break
            assert ended
            expected.append(score)
        assert scores == expected
        assert sum(expected) > 0

    @pytest.mark.parametrize(
        "actions",
        [
            [0, 14], [-1, 0], [0.0, 1.0], [0], [0, 1, 2], [[0, 1]], 3, None, [True, False], [np.nan, 1], ["1", "2"], [1, None],
            np.array([1 << 40, 1]), np.array([1 + 0j, 1]),
        ],
    )  # fmt: skip
    def test_actions_that_are_none(self, modules: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, actions: Any) -> None:
        """Catches: an action that the emulator takes for another, or a crash that is nobody's."""
        made: list[Noise] = []
        put_in_place_of_the_game(monkeypatch, kept_in(made, 0.0))
        playing = modules.trained_agent.games([1, 2])
        next(playing)
        with pytest.raises(ValueError, match="actions must be 2 integers from 0 to 13, found"):
            playing.send(actions)
        assert not any(env.actions for env in made)

    @pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8, list])
    def test_actions_that_are(self, modules: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, kind: type) -> None:
        """Catches: actions refused because of how they are written down."""
        put_in_place_of_the_game(monkeypatch, lambda: Noise(0.0))
        playing = modules.trained_agent.games([1, 2])
        next(playing)
        actions: Any = [0, 13] if kind is list else np.array([0, 13], kind)
        assert playing.send(actions).shape == (2, 1, 42, 42)

    def test_player(self, modules: SimpleNamespace) -> None:
        """Catches: memory that is thrown away, the best action in place of a sample, torch's global generator."""
        agent = Steady()
        play = modules.trained_agent.player(agent, 3)
        assert next(play) is None
        state = torch.get_rng_state()
        found = [play.send(np.full((3, 1, 42, 42), number)) for number in range(4)]
        assert [actions.tolist() for actions in found] == [[number] * 3 for number in (1, 2, 3, 4)]
        assert found[0].dtype == np.int64
        assert [observation[0, 0, 0, 0] for observation in agent.observations] == [0, 1, 2, 3]
        assert torch.equal(torch.get_rng_state(), state)

        logits = torch.tensor([0.0, 1.0, 2.0, -1.0])
        flat = SimpleNamespace(
            get_initial_state=lambda size: None, step=lambda memory, seen: (None, (logits.expand(5000, 4), None))
        )
        draws = []
        for seed in (0, 0, 1):
            play = modules.trained_agent.player(flat, 5000, *([seed] if seed else []))
            next(play)
            draws.append([play.send(None) for _ in range(4)])
        np.testing.assert_array_equal(draws[0], draws[1])
        assert not np.array_equal(draws[0], draws[2])
        assert not np.array_equal(draws[0][0], draws[0][1])
        frequencies = np.bincount(np.concatenate(draws[0]), minlength=4) / 20_000
        np.testing.assert_allclose(frequencies, logits.softmax(-1).numpy(), atol=0.0125)

    def test_play_test_games(self, modules: SimpleNamespace, solution: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        """Catches: scores that depend on what was drawn before, seeds that are not those of the test, memory reset or lost."""
        put_in_place_of_the_game(monkeypatch, lambda: Noise(0.1))
        assert tuple(range(20)) == modules.trained_agent.TEST_SEEDS
        scores = modules.trained_agent.play_test_games(Steady())
        assert scores == [noise_score(seed, lambda tick: (tick + 1) % 14, 0.1)[0] for seed in range(20)]
        agent = lively(solution.SimpleRecurrentAgent((1, 42, 42), 14))
        first = modules.trained_agent.play_test_games(agent, iter([3, 8]))
        torch.rand(5)
        assert modules.trained_agent.play_test_games(agent, (3, 8)) == first
        assert len(first) == 2

    def test_plays_as_evaluate_does(
        self, modules: SimpleNamespace, solution: ModuleType, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Catches: a memory or a sample that is another one than in training: one game, the same random numbers."""
        put_in_place_of_the_game(monkeypatch, lambda: Noise(0.03))
        agent = lively(solution.SimpleRecurrentAgent((1, 42, 42), 14))
        for seed in (3, 11):
            torch.manual_seed(0)  # the seed of the player's own generator
            expected = modules.training.evaluate(agent, Noise(0.03), seed=seed)
            assert modules.trained_agent.play_test_games(agent, [seed]) == expected
