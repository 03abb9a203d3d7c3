"""The reference solution of ppo_agent, and the file given with it, against independent computations.

Docstrings name the mistakes. Stable-Baselines3 (https://github.com/DLR-RM/stable-baselines3) is one of the oracles.
"""

from __future__ import annotations

import copy
import inspect
import itertools
import math
import operator
import random
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.distributions import Independent, MultivariateNormal, Normal

from tests.kit.loading import load

pytestmark = [pytest.mark.oracle, pytest.mark.recorded]

INPUTS = ("solutions/ppo_agent/submitted.py", "assignments/ppo_agent/training.py")


# float32 sums of some ten numbers near 1, against float64 or in another order
CLOSE: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-5}
EXACT: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-10}  # float64 against float64
SIGMAS = 5.5  # how far a mean may be off, in standard errors; seeds are fixed, so a right solution passes always or never


@pytest.fixture(scope="module")
def solution() -> ModuleType:
    return load("solutions/ppo_agent/submitted.py")


@pytest.fixture(scope="module")
def training() -> ModuleType:
    return load("assignments/ppo_agent/training.py")


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


def normal(rng: np.random.Generator, *shape: int) -> NDArray:
    return rng.normal(size=shape).astype(np.float32)


# Oracles for advantages, in float64


def sizes(ended: NDArray) -> list[int]:
    """Return the lengths of the episodes, the last of which need not be over."""
    ends = [-1, *np.flatnonzero(ended).tolist()]
    if ends[-1] != len(ended) - 1:
        ends.append(len(ended) - 1)
    return np.diff(ends).tolist()


def errors_of_one_step(value: NDArray, next_value: NDArray, reward: NDArray, gamma: float, terminated: NDArray) -> NDArray:
    return np.array([r - v + (0.0 if over else gamma * n) for v, n, r, over in zip(value, next_value, reward, terminated)])  # noqa: B905


def double_sum(delta: NDArray, ended: NDArray, decay: float) -> NDArray:
    """Return Σ (γλ)^l δ_(t+l), l from 0 to the end of the episode that t is in (Schulman et al. 2016, equation 16)."""
    advantages, begin = [], 0
    for size in sizes(ended):
        for t in range(size):
            advantages.append(sum(decay**k * delta[begin + t + k] for k in range(size - t)))
        begin += size
    return np.array(advantages)


def linear_system(delta: NDArray, ended: NDArray, decay: float) -> NDArray:
    """Return A of (1 - γλD) A = δ, where D takes each step to the one that follows it in its episode."""
    follows = np.eye(len(delta), k=1) * (~ended)[:, None]
    return np.linalg.solve(np.eye(len(delta)) - decay * follows, delta)


class LinearCritic:
    """V(s) = w s + b, which has a gradient. Takes nothing but batches of float32 states of this shape."""

    def __init__(self, rng: np.random.Generator, *shape: int) -> None:
        self.shape = shape
        self.weight = torch.tensor(normal(rng, int(np.prod(shape)), 1), requires_grad=True)
        self.bias = torch.tensor([0.7], requires_grad=True)

    def __call__(self, state: Tensor) -> Tensor:
        assert isinstance(state, Tensor)
        assert state.dtype == torch.float32
        assert state.ndim == len(self.shape) + 1
        assert state.shape[1:] == self.shape
        return state.flatten(1) @ self.weight + self.bias

    def by_hand(self, state: Tensor) -> NDArray:
        weight, bias = self.weight.detach().double().numpy(), self.bias.item()
        return state.double().numpy().reshape(len(state), -1) @ weight[:, 0] + bias


def rows_of(
    rng: np.random.Generator, steps: int, shape: tuple[int, ...], terminates: float, truncates: float, last: str
) -> Any:
    """Return random steps; inside an episode what follows is the next row of states, at an end it is anything.

    last: how the last row ends, by "termination", "truncation", "both" of them or "nothing".
    """
    state, other = torch.tensor(normal(rng, steps, *shape)), torch.tensor(normal(rng, steps, *shape))
    terminated, truncated = rng.random(steps) < terminates, rng.random(steps) < truncates
    terminated[-1], truncated[-1] = last in ("termination", "both"), last in ("truncation", "both")
    next_state = other.clone()
    for t in range(steps - 1):
        if not (terminated[t] or truncated[t]):
            next_state[t] = state[t + 1]
        elif terminated[t]:
            next_state[t] *= 1e4  # whatever is there
    return SimpleNamespace(
        state=state, reward=rng.normal(size=steps), next_state=next_state, terminated=terminated, truncated=truncated
    )  # fmt: skip


LASTS = ("nothing", "termination", "truncation", "both")


class TestGeneralizedAdvantageEstimator:
    SETTINGS = ((0.99, 0.95), (0.9, 0.5), (0.5, 1.0), (0.95, 0.0), (0.0, 0.9), (1.0, 0.9), (1.0, 1.0), (0.0, 0.0))

    def found(self, solution: ModuleType, critic: Any, rows: Any, gamma: float, lamb: float) -> NDArray:
        advantage = solution.GeneralizedAdvantageEstimator(
            critic, rows.state, rows.reward, gamma, lamb, rows.next_state, rows.terminated, rows.truncated
        )
        assert isinstance(advantage, np.ndarray)
        assert np.issubdtype(advantage.dtype, np.floating)
        assert advantage.shape == (len(rows.reward),)
        return advantage

    def delta(self, critic: Any, rows: Any, gamma: float) -> NDArray:
        values = critic.by_hand(rows.state), critic.by_hand(rows.next_state)
        return errors_of_one_step(*values, rows.reward, gamma, rows.terminated)

    @pytest.mark.parametrize(("gamma", "lamb"), SETTINGS)
    @pytest.mark.parametrize("last", LASTS)
    def test_by_definition(self, solution: ModuleType, gamma: float, lamb: float, last: str) -> None:
        """Catches: no cut at an end, a cut of one of two things, a cut a step late, truncation as termination, a lost tail."""
        inside = [(0.0, 0.0), (0.2, 0.0), (0.0, 0.2), (0.15, 0.15), (0.6, 0.6)]
        for steps, (terminates, truncates) in itertools.product((1, 2, 3, 8, 25), inside):
            rng = np.random.default_rng([steps, int(100 * terminates), int(100 * truncates)])
            critic = LinearCritic(rng, 3)
            rows = rows_of(rng, steps, (3,), terminates, truncates, last)
            delta, ended = self.delta(critic, rows, gamma), rows.terminated | rows.truncated
            expected = double_sum(delta, ended, gamma * lamb)
            np.testing.assert_allclose(expected, linear_system(delta, ended, gamma * lamb), **EXACT)
            np.testing.assert_allclose(self.found(solution, critic, rows, gamma, lamb), expected, **CLOSE)

    @pytest.mark.parametrize("shape", [(1,), (2, 3), (3, 2, 2)])
    def test_states_with_more_axes(self, solution: ModuleType, shape: tuple[int, ...]) -> None:
        """Catches: states asked one by one, flattened, or without the axes of their window."""
        for seed, last in enumerate(LASTS):
            rng = np.random.default_rng(seed)
            critic, rows = LinearCritic(rng, *shape), rows_of(rng, 9, shape, 0.2, 0.2, last)
            expected = linear_system(self.delta(critic, rows, 0.8), rows.terminated | rows.truncated, 0.8 * 0.7)
            np.testing.assert_allclose(self.found(solution, critic, rows, 0.8, 0.7), expected, **CLOSE)

    def test_without_next_state(self, solution: ModuleType) -> None:
        """Catches: the first state behind the last one, as in the draft; a last step that is lost; an end of the rest."""
        for seed, (gamma, lamb) in itertools.product(range(4), self.SETTINGS):
            rng = np.random.default_rng(seed)
            steps = (1, 2, 7, 20)[seed]
            critic = LinearCritic(rng, 2, 2)
            rows = rows_of(rng, steps, (2, 2), 0.0, 0.0, "termination")
            expected = linear_system(self.delta(critic, rows, gamma), rows.terminated, gamma * lamb)
            found = solution.GeneralizedAdvantageEstimator(critic, rows.state, rows.reward, gamma, lamb)
            assert found.shape == (steps,)
            np.testing.assert_allclose(found, expected, **CLOSE)

    @pytest.mark.parametrize("given", ["neither", "terminated", "truncated"])
    def test_without_ends(self, solution: ModuleType, given: str) -> None:
        """Catches: an end of the last row that nobody has told of; one kind of end that needs the other."""
        for seed, last in enumerate(LASTS):
            rng = np.random.default_rng(seed)
            chances = {"neither": (0.0, 0.0), "terminated": (0.3, 0.0), "truncated": (0.0, 0.3)}[given]
            last = last if (given, last) in (("terminated", "termination"), ("truncated", "truncation")) else "nothing"
            critic, rows = LinearCritic(rng, 3), rows_of(rng, 11, (3,), *chances, last)
            expected = linear_system(self.delta(critic, rows, 0.9), rows.terminated | rows.truncated, 0.9 * 0.6)
            ends = {} if given == "neither" else {given: getattr(rows, given)}
            found = solution.GeneralizedAdvantageEstimator(
                critic, rows.state, rows.reward, 0.9, 0.6, next_state=rows.next_state, **ends
            )
            np.testing.assert_allclose(found, expected, **CLOSE)

    @pytest.mark.parametrize("seed", range(12))
    def test_agrees_with_stable_baselines(self, solution: ModuleType, seed: int) -> None:
        """Catches: a definition of ours that is not the common one."""
        buffers = pytest.importorskip("stable_baselines3.common.buffers")
        rng = np.random.default_rng(seed)
        steps = int(rng.integers(1, 30))
        gamma, lamb = rng.uniform(0.5, 1, size=2)
        critic = LinearCritic(rng, 3)
        rows = rows_of(rng, steps, (3,), 0.1 * (seed % 3), 0.1 * (seed % 2), LASTS[seed % 4])
        ended, only_time = rows.terminated | rows.truncated, rows.truncated & ~rows.terminated
        next_value = critic.by_hand(rows.next_state)
        reward = rows.reward + gamma * np.where(only_time, next_value, 0.0)  # as OnPolicyAlgorithm.collect_rollouts does
        space = gym.spaces.Box(-np.inf, np.inf, (3,), np.float32)
        theirs = buffers.RolloutBuffer(steps, space, space, "cpu", gae_lambda=lamb, gamma=gamma, n_envs=1)
        for t, value in enumerate(critic.by_hand(rows.state)):
            start = np.array([ended[t - 1] if t else True])
            theirs.add(
                rows.state[t : t + 1].numpy(), np.zeros((1, 3)), reward[t : t + 1], start, torch.tensor([value]), torch.zeros(1)
            )
        theirs.compute_returns_and_advantage(torch.tensor(next_value[-1:]), ended[-1:])
        np.testing.assert_allclose(self.found(solution, critic, rows, gamma, lamb), theirs.advantages[:, 0], **CLOSE)

    def test_lambda_of_one_and_of_zero(self, solution: ModuleType, rng: np.random.Generator) -> None:
        """Catches: λ in the wrong place: λ = 1 gives the discounted return without V(s), λ = 0 the error of one step."""
        from scipy.signal import lfilter

        critic, rows = LinearCritic(rng, 3), rows_of(rng, 30, (3,), 0.2, 0.2, "nothing")
        value, next_value = critic.by_hand(rows.state), critic.by_hand(rows.next_state)
        ended = rows.terminated | rows.truncated
        ends = np.flatnonzero(ended) + 1
        assert len(ends) > 3
        reward = rows.reward.copy()
        for last in [*(ends - 1), 29]:
            reward[last] += 0.0 if rows.terminated[last] else 0.9 * next_value[last]
        pieces = [lfilter([1], [1, -0.9], piece[::-1])[::-1] for piece in np.split(reward, ends)]
        found = self.found(solution, critic, rows, 0.9, 1.0)
        np.testing.assert_allclose(found + value, np.concatenate(pieces), **CLOSE)
        expected = rows.reward + 0.9 * np.where(rows.terminated, 0.0, next_value) - value
        np.testing.assert_allclose(self.found(solution, critic, rows, 0.9, 0.0), expected, **CLOSE)

    def test_table_by_hand(self, solution: ModuleType) -> None:
        """Catches: what all other computations might have in common."""

        def advantage(*ends: Any) -> list[float]:
            state, after = torch.tensor([[4.0], [8.0], [16.0]]), torch.tensor([[8.0], [64.0], [32.0]])
            reward = np.array([1.0, 2.0, 3.0])
            rest = (after, *ends) if ends else ()
            return solution.GeneralizedAdvantageEstimator(lambda s: s, state, reward, 0.5, 0.5, *rest).tolist()

        no, middle, last = np.eye(4, dtype=bool)[[3, 1, 2], :3]
        # δ: 1 + 4 - 4 = 1;  2 - 8 = -6 or 2 + 32 - 8 = 26;  3 + 16 - 16 = 3 or 3 - 16 = -13
        assert advantage(middle, no) == [-0.5, -6, 3]
        assert advantage(no, middle) == [7.5, 26, 3]
        assert advantage(middle, middle) == [-0.5, -6, 3]
        assert advantage(middle | last, no) == [-0.5, -6, -13]
        assert advantage(middle, last) == [-0.5, -6, 3]
        # one episode, where what follows 8 is 16: 2 + 8 - 8 = 2, and 2 - 13/4 = -1.25
        assert advantage() == [1 - 1.25 / 4, -1.25, -13]

    def test_leaves_everything_as_it_was(self, solution: ModuleType, rng: np.random.Generator) -> None:
        """Catches: rewards or ends changed in place; a gradient that is left in the critic."""
        critic, rows = LinearCritic(rng, 3), rows_of(rng, 12, (3,), 0.2, 0.2, "truncation")
        before = copy.deepcopy(rows)
        one, two = (self.found(solution, critic, rows, 0.9, 0.8) for _ in range(2))
        np.testing.assert_array_equal(one, two)
        for name, value in vars(before).items():
            np.testing.assert_array_equal(getattr(rows, name), value)
        assert critic.weight.grad is None
        assert critic.weight.requires_grad

    @pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
    def test_rewards_of_any_kind(self, solution: ModuleType, rng: np.random.Generator, dtype: type) -> None:
        """Catches: advantages that are whole numbers because rewards are."""
        critic, rows = LinearCritic(rng, 3), rows_of(rng, 6, (3,), 0.2, 0.2, "truncation")
        rows.reward = np.round(4 * rows.reward).astype(dtype)
        expected = linear_system(self.delta(critic, rows, 0.9), rows.terminated | rows.truncated, 0.9 * 0.8)
        np.testing.assert_allclose(self.found(solution, critic, rows, 0.9, 0.8), expected, **CLOSE)

    def test_its_own_test_runs_on_it(self, solution: ModuleType) -> None:
        """Catches: another default than one's own estimator, with which `python -m pytest submitted.py` tests nothing."""
        (parameter,) = inspect.signature(solution.test_advantages).parameters.values()
        assert parameter.default is solution.GeneralizedAdvantageEstimator
        assert solution.test_advantages() is None


def estimator_with(*faults: str) -> Callable[..., Any]:
    """Return an estimator of advantages with these faults: straight from the definition, if there are none."""

    def estimator(critic, state, reward, gamma, lamb, next_state=None, terminated=None, truncated=None):
        steps = len(reward)
        value = critic(state).detach().double().numpy()[:, 0]
        terminated = np.zeros(steps, dtype=bool) if terminated is None else terminated.copy()
        truncated = np.zeros(steps, dtype=bool) if truncated is None else truncated.copy()
        if next_state is None:
            next_value = np.append(value[1:], 0.0)
            terminated[-1] = True
            if "rolled without next_state" in faults:
                next_value, terminated[-1] = np.roll(value, -1), False
        else:
            next_value = critic(next_state).detach().double().numpy()[:, 0]
            if "rolled" in faults:
                next_value = np.roll(value, -1)
            if "next row at an end" in faults:
                next_value[:-1] = value[1:]
        if "truncated is terminated" in faults:
            terminated = terminated | truncated
        if "terminated is truncated" in faults:
            terminated, truncated = np.zeros(steps, dtype=bool), terminated | truncated
        if "last is terminated" in faults:
            terminated[-1] = True
        ended = terminated | truncated
        if "truncated cuts nothing" in faults:
            ended = terminated
        if "terminated cuts nothing" in faults:
            ended = truncated
        if "cut late" in faults:
            ended = np.append(False, ended[:-1])
        delta = errors_of_one_step(value, next_value, reward, gamma, terminated)
        decay = gamma * lamb
        for fault, other in (("gamma alone", gamma), ("lambda alone", lamb), ("no decay", 1.0), ("squared", decay**2)):
            decay = other if fault in faults else decay
        if "another lambda for 0" in faults:
            decay = gamma * (lamb or 0.95)
        advantage = linear_system(delta, ended, decay)
        if "last without delta" in faults:
            advantage = linear_system(np.append(delta[:-1], 0.0), ended, decay)
        if "plus value" in faults:
            advantage = advantage + value
        if "backwards" in faults:
            advantage = advantage[::-1].copy()
        if "one too few" in faults:
            advantage = advantage[:-1]
        if "one too many" in faults:
            advantage = np.append(advantage, 0.0)
        if "normalized" in faults:
            advantage = (advantage - advantage.mean()) / advantage.std()
        return advantage

    return estimator


class TestTestAdvantages:
    FAULTS = (
        "rolled", "rolled without next_state", "next row at an end", "truncated is terminated", "terminated is truncated",
        "last is terminated", "truncated cuts nothing", "terminated cuts nothing", "cut late", "gamma alone", "lambda alone",
        "no decay", "squared", "last without delta", "plus value", "backwards", "one too few", "one too many", "normalized",
        "another lambda for 0",
    )  # fmt: skip

    @pytest.mark.parametrize("fault", FAULTS)
    def test_fails_what_is_wrong(self, solution: ModuleType, fault: str) -> None:
        """Catches: a test that lets one of these pass, or fails it by another error than its own."""
        with pytest.raises(AssertionError):
            solution.test_advantages(estimator_with(fault))

    def test_fails_the_draft(self, solution: ModuleType) -> None:
        """Catches: a test that would not have found what it is for."""

        def draft(critic, state, reward, gamma, lamb, next_state=None, terminated=None, truncated=None):
            value = critic(state).detach().flatten().numpy()
            delta = reward + gamma * np.roll(value, -1) - value
            backwards = [0.0]
            for step in range(1, len(reward)):
                backwards.append(delta[len(reward) - 1 - step] + gamma * lamb * backwards[-1])
            return np.array(backwards[:0:-1])

        with pytest.raises(AssertionError):
            solution.test_advantages(draft)

    @pytest.mark.parametrize("kind", ["float64", "float32", "rounded", "list", "tensor", "tensor of double precision"])
    def test_passes_what_is_right(self, solution: ModuleType, kind: str) -> None:
        """Catches: a test of the type, of the precision, or of bits."""

        def estimator(*arguments: Any, **named: Any) -> Any:
            advantage = estimator_with()(*arguments, **named)
            return {
                "float64": advantage, "float32": advantage.astype(np.float32), "list": advantage.tolist(),
                "rounded": (advantage * (1 + 3e-7)).astype(np.float32),
                "tensor": torch.tensor(advantage, dtype=torch.float32), "tensor of double precision": torch.tensor(advantage),
            }[kind]  # fmt: skip

        assert solution.test_advantages(estimator) is None


class TestDensity:
    def drawn(self, rng: np.random.Generator, rows: int, n: int) -> tuple[NDArray, NDArray, NDArray]:
        """Return mu, log_sigma and y in float64: σ from 0.05 to 7, actions some σ around the mean."""
        mu, log_sigma = 2 * rng.normal(size=(rows, n)), rng.uniform(-3, 2, size=(rows, n))
        return mu, log_sigma, mu + np.exp(log_sigma) * rng.normal(size=(rows, n)) * rng.choice([0.1, 1.0, 3.0], size=(rows, 1))

    @pytest.mark.parametrize("n", [1, 2, 3, 6, 17, 64])
    def test_log_density(self, solution: ModuleType, rng: np.random.Generator, n: int) -> None:
        """Catches: σ² or σ for log σ, a forgotten n or 2π, a mean over dimensions, [B] for [B, 1]."""
        from scipy.stats import multivariate_normal

        mu, log_sigma, y = (torch.tensor(x) for x in self.drawn(rng, 40, n))
        found = solution.IndependentGaussianProcess(n).get_dist((mu, log_sigma, y))
        assert found.shape == (40, 1)
        diagonal = torch.diag_embed((2 * log_sigma).exp())
        for theirs in (Independent(Normal(mu, log_sigma.exp()), 1), MultivariateNormal(mu, diagonal)):
            np.testing.assert_allclose(found[:, 0], theirs.log_prob(y), rtol=0, atol=1e-6)
        for row in range(0, 40, 8):
            theirs = multivariate_normal(mu[row].numpy(), diagonal[row].numpy()).logpdf(y[row].numpy())
            np.testing.assert_allclose(found[row, 0], theirs, rtol=0, atol=1e-6)
        brute_force = np.log((-((y - mu) ** 2) / (2 * (2 * log_sigma).exp())).exp().prod(dim=1).numpy())
        brute_force -= np.log(2 * np.pi) * n / 2 + log_sigma.numpy().sum(axis=1)
        fine = np.isfinite(brute_force)
        assert fine.sum() > 10
        np.testing.assert_allclose(found[fine, 0], brute_force[fine], rtol=0, atol=1e-6)

    @pytest.mark.parametrize("n", [1, 2, 3, 6, 17, 64])
    def test_in_single_precision(self, solution: ModuleType, rng: np.random.Generator, n: int) -> None:
        """Catches: digits that are lost on a way round, as by exp(2 log|y - μ|); float64, which makes the loss float64."""
        singles = [torch.tensor(x, dtype=torch.float32) for x in self.drawn(rng, 40, n)]
        process = solution.IndependentGaussianProcess(n)
        mu, log_sigma, y = (x.double() for x in singles)
        theirs = Normal(mu, log_sigma.exp())
        for found, terms in (
            (process.get_dist(tuple(singles)), theirs.log_prob(y)),
            (process.entropy(tuple(singles[:2])), theirs.entropy()),
        ):
            assert found.dtype == torch.float32
            assert found.shape == (40, 1)
            apart = (found[:, 0].double() - terms.sum(dim=1)).abs()
            assert (apart < 1e-6 * (terms.abs().sum(dim=1) + 2 * n)).all()

    @pytest.mark.parametrize(
        ("mu", "sigma", "y", "expected"),
        [((0, 1), (2, 3), (2, -5), -6.1296), ((1, 0), (4, 5), (1, -2.5), -4.9586), ((0,), (1,), (0,), -0.9189)],
    )
    def test_numbers_of_the_seed(self, solution: ModuleType, mu: tuple, sigma: tuple, y: tuple, expected: float) -> None:
        """Catches: what every library might have in common with us."""
        x = tuple(torch.tensor(np.array([values]), dtype=torch.float32) for values in (mu, np.log(sigma), y))
        found = solution.IndependentGaussianProcess(len(mu)).get_dist(x)
        assert found.item() == pytest.approx(expected, abs=6e-5)

    @pytest.mark.parametrize("n", [1, 3, 64])
    def test_gradients(self, solution: ModuleType, rng: np.random.Generator, n: int) -> None:
        """Catches: a value without its gradient, or a gradient to one of the two alone."""
        process = solution.IndependentGaussianProcess(n)
        mu, log_sigma, y = (torch.tensor(x) for x in self.drawn(rng, 7, n))
        mu.requires_grad_(), log_sigma.requires_grad_()
        weights = torch.tensor(rng.normal(size=7))
        ours = torch.autograd.grad((weights * process.get_dist((mu, log_sigma, y))[:, 0]).sum(), (mu, log_sigma))
        theirs = Independent(Normal(mu, log_sigma.exp()), 1)
        for found, expected in zip(
            ours, torch.autograd.grad((weights * theirs.log_prob(y)).sum(), (mu, log_sigma)), strict=True
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
        weighed = weights[:, None].numpy()
        means, scales, actions = (x.detach().numpy() for x in (mu, log_sigma.exp(), y))
        np.testing.assert_allclose(ours[0], weighed * (actions - means) / scales**2, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(ours[1], weighed * ((actions - means) ** 2 / scales**2 - 1), rtol=1e-9, atol=1e-9)
        (slope,) = torch.autograd.grad((weights * process.entropy((mu, log_sigma))[:, 0]).sum(), log_sigma)
        np.testing.assert_allclose(slope, np.broadcast_to(weighed, (7, n)), rtol=1e-9, atol=1e-9)
        if n < 10:
            assert torch.autograd.gradcheck(lambda *x: process.get_dist(x), (mu, log_sigma, y))
            assert torch.autograd.gradcheck(lambda x: process.entropy((mu.detach(), x)), (log_sigma,))

    def test_gradient_at_the_mean(self, solution: ModuleType, rng: np.random.Generator) -> None:
        """Catches: exp(2 log|y - μ|), as in the seed: its gradient is nan where an action is the mean."""
        mu = torch.tensor(normal(rng, 5, 3), requires_grad=True)
        log_sigma = torch.tensor(normal(rng, 5, 3), requires_grad=True)
        log_prob = solution.IndependentGaussianProcess(3).get_dist((mu, log_sigma, mu.detach().clone()))
        np.testing.assert_allclose(
            log_prob.detach()[:, 0], -log_sigma.detach().sum(dim=1) - 1.5 * math.log(2 * math.pi), **CLOSE
        )
        log_prob.sum().backward()
        assert mu.grad is not None
        assert log_sigma.grad is not None
        np.testing.assert_array_equal(mu.grad, np.zeros((5, 3)))
        np.testing.assert_allclose(log_sigma.grad, -np.ones((5, 3)), **CLOSE)

    @pytest.mark.parametrize("n", [1, 2, 6, 64])
    def test_entropy(self, solution: ModuleType, rng: np.random.Generator, n: int) -> None:
        """Catches: the other sign, a constant that is not there n times, a mean over dimensions, σ for log σ."""
        from scipy.stats import multivariate_normal

        mu, log_sigma, _ = (torch.tensor(x) for x in self.drawn(rng, 40, n))
        found = solution.IndependentGaussianProcess(n).entropy((mu, log_sigma))
        assert found.shape == (40, 1)
        diagonal = torch.diag_embed((2 * log_sigma).exp())
        for theirs in (Independent(Normal(mu, log_sigma.exp()), 1), MultivariateNormal(mu, diagonal)):
            np.testing.assert_allclose(found[:, 0], theirs.entropy(), rtol=0, atol=1e-6)
        expected = multivariate_normal(mu[3].numpy(), diagonal[3].numpy()).entropy()
        np.testing.assert_allclose(found[3, 0], expected, rtol=0, atol=1e-6)

    def test_entropy_is_what_samples_say(self, solution: ModuleType, rng: np.random.Generator) -> None:
        """Catches: three methods that are not of one distribution: σ is the variance in one of them."""
        rows, n = 60_000, 3
        process = solution.IndependentGaussianProcess(n, 4)
        mu, log_sigma = (torch.tensor(x[:1], dtype=torch.float32).expand(rows, n) for x in self.drawn(rng, 1, n)[:2])
        surprise = -process.get_dist((mu, log_sigma, process.sample((mu, log_sigma)))).double()
        entropy = process.entropy((mu, log_sigma))[0].item()
        assert abs(surprise.mean().item() - entropy) < SIGMAS * math.sqrt(n / 2 / rows)


class TestSample:
    def test_moments(self, solution: ModuleType) -> None:
        """Catches: the variance for σ, log σ for σ, one draw for all rows or dimensions, a uniform draw."""
        rows, n = 60_000, 4
        mu = torch.tensor([[0.0, -3.0, 1.0, 20.0]]).expand(rows, n)
        log_sigma = torch.tensor([[0.0, -2.0, 1.5, 0.7]]).expand(rows, n)
        samples = solution.IndependentGaussianProcess(n, 3).sample((mu, log_sigma))
        assert samples.shape == (rows, n)
        assert samples.dtype == torch.float32
        noise = ((samples.double() - mu.double()) / log_sigma.double().exp()).numpy()
        for power, moment, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
            apart = (noise**power).mean(axis=0) - moment
            assert np.abs(apart).max() < SIGMAS * math.sqrt(variance / rows), power
        for one, other in itertools.combinations(range(n), 2):
            for power in (1, 2):  # the squares too: as large as each other is a dependence
                found = np.corrcoef(noise[:, one] ** power, noise[:, other] ** power)[0, 1]
                assert abs(found) < SIGMAS / math.sqrt(rows)
        for lag in (1, 2):
            assert np.abs((noise[lag:] * noise[:-lag]).mean(axis=0)).max() < SIGMAS / math.sqrt(rows)
        assert len(np.unique(noise)) > 0.9 * noise.size

    @pytest.mark.parametrize("shape", [(1,), (5,), (1, 1), (1, 5), (7, 1), (7, 3)])
    def test_shapes(self, solution: ModuleType, rng: np.random.Generator, shape: tuple[int, ...]) -> None:
        """Catches: an axis too many or too few; noise for B rows where n numbers are asked for, which makes it [n, n]."""
        mu, log_sigma = torch.tensor(normal(rng, *shape)), torch.tensor(normal(rng, *shape))
        before = mu.clone(), log_sigma.clone()
        sample = solution.IndependentGaussianProcess(shape[-1], 1).sample((mu, log_sigma))
        assert sample.shape == shape
        assert sample.dtype == torch.float32
        assert torch.equal(mu, before[0])
        assert torch.equal(log_sigma, before[1])

    def test_no_gradient(self, solution: ModuleType, rng: np.random.Generator) -> None:
        """Catches: a sample through which the ratio gets a gradient that is not meant."""
        mu, log_sigma = (torch.tensor(normal(rng, 4, 2), requires_grad=True) for _ in range(2))
        assert not solution.IndependentGaussianProcess(2, 1).sample((mu, log_sigma)).requires_grad

    def test_generator(self, solution: ModuleType, rng: np.random.Generator) -> None:
        """Catches: a generator of torch's or NumPy's own, one made anew in each call, a copy of that which is given."""
        x = torch.zeros(6, 2), torch.zeros(6, 2)

        def drawn(process: Any) -> NDArray:
            return np.concatenate([process.sample(x).numpy() for _ in range(3)])

        one = drawn(solution.IndependentGaussianProcess(2, 5))
        np.random.seed(99)
        torch.manual_seed(99)
        np.testing.assert_array_equal(drawn(solution.IndependentGaussianProcess(2, 5)), one)
        np.testing.assert_array_equal(drawn(solution.IndependentGaussianProcess(2, np.random.default_rng(5))), one)
        assert len(np.unique(one)) == one.size
        others = [drawn(solution.IndependentGaussianProcess(2, seed)) for seed in (6, None, None)]
        assert len(np.unique([one, *others])) == 4 * one.size
        shared = np.random.default_rng(5)
        process = solution.IndependentGaussianProcess(2, shared)
        assert process.n == 2
        assert process.rng is shared
        before = shared.bit_generator.state
        process.sample(x)
        assert shared.bit_generator.state != before


# Networks in NumPy


def layers_of(module: nn.Module) -> list[nn.Linear]:
    return [layer for layer in module.modules() if isinstance(layer, nn.Linear)]


def through(module: nn.Module, states: Any) -> NDArray:
    """Return what three layers with ReLU and a linear one make of the states, in float64."""
    x = np.asarray(states, dtype=np.float64).reshape(len(states), -1)
    layers = layers_of(module)
    assert len(layers) == 4
    for number, layer in enumerate(layers):
        x = x @ layer.weight.detach().double().numpy().T + layer.bias.detach().double().numpy()
        x = x if number == 3 else np.where(x > 0, x, 0.0)
    return x


def settle(module: nn.Module, seed: int = 3) -> None:
    """Set all parameters to numbers that torch does not draw: outputs are near 1, and no bias is 0."""
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            scale = 1.2 / math.sqrt(parameter.shape[1]) if parameter.ndim > 1 else 0.3
            parameter.copy_(torch.tensor(scale * rng.normal(size=tuple(parameter.shape))))


class TestNetworks:
    @pytest.mark.parametrize(("obs_dim", "n", "window"), [(1, 1, 1), (3, 1, 1), (4, 2, 3), (17, 6, 2)])
    def test_actor(self, solution: ModuleType, rng: np.random.Generator, obs_dim: int, n: int, window: int) -> None:
        """Catches: a layer too many or too few, other units, tanh, a ReLU of the means, a log σ that the state changes."""
        options = {} if window == 1 else {"window_length": window}
        actor = solution.Actor(obs_dim, n, **options)
        assert isinstance(actor.log_sigma, nn.Parameter)
        assert actor.log_sigma.shape == (n,)
        assert not actor.log_sigma.any()
        weights = 16 * (window * obs_dim + 1) + 2 * 16 * 17 + 17 * n + n
        assert sum(parameter.numel() for parameter in actor.parameters()) == weights
        settle(actor)
        states = normal(rng, 30, window, obs_dim)
        mu, log_sigma = actor(torch.tensor(states))
        assert mu.shape == log_sigma.shape == (30, n)
        assert mu.dtype == log_sigma.dtype == torch.float32
        np.testing.assert_allclose(mu.detach(), through(actor, states), **CLOSE)
        for row in log_sigma:
            assert torch.equal(row, actor.log_sigma)
        (slope,) = torch.autograd.grad(log_sigma.sum(), actor.log_sigma)
        np.testing.assert_array_equal(slope, np.full(n, 30.0))
        assert len(actor(torch.tensor(states[:1]))[0]) == 1
        with torch.no_grad():
            layers_of(actor)[-1].bias.sub_(100.0)
        assert actor(torch.tensor(states))[0].max() < -50

    @pytest.mark.parametrize(("obs_dim", "window"), [(1, 1), (3, 1), (4, 3), (17, 2)])
    def test_critic(self, solution: ModuleType, rng: np.random.Generator, obs_dim: int, window: int) -> None:
        """Catches: [B] for [B, 1], a ReLU of the value, other layers than three."""
        critic = solution.Critic(obs_dim, **({} if window == 1 else {"window_length": window}))
        assert sum(parameter.numel() for parameter in critic.parameters()) == 16 * (window * obs_dim + 1) + 2 * 16 * 17 + 17
        settle(critic)
        states = normal(rng, 30, window, obs_dim)
        value = critic(torch.tensor(states))
        assert value.shape == (30, 1)
        assert value.dtype == torch.float32
        np.testing.assert_allclose(value.detach(), through(critic, states), **CLOSE)
        with torch.no_grad():
            layers_of(critic)[-1].bias.sub_(100.0)
        assert critic(torch.tensor(states)).max() < -50


class TestEpisodeMemory:
    @staticmethod
    def keep(memory: Any, observation: NDArray, reward: float = 0.0, terminated: Any = False, truncated: Any = False) -> None:
        memory.append(observation, torch.zeros(1, 1), torch.zeros(1), torch.zeros(1), reward, terminated, truncated)

    @pytest.mark.parametrize("window", [1, 2, 3, 7])
    @pytest.mark.parametrize("obs_dim", [1, 3])
    def test_windows(self, solution: ModuleType, rng: np.random.Generator, window: int, obs_dim: int) -> None:
        """Catches: the newest first, zeros behind, one observation too many or too few, a slice by -0."""
        memory = solution.EpisodeMemory(window)
        assert memory.window_length == window
        for length in (10, 1, 4, 12):  # episodes
            latest = deque([np.zeros(obs_dim)] * window, maxlen=window)
            seen: list[NDArray] = []
            for _ in range(length):
                observation = normal(rng, obs_dim)
                latest.append(observation)
                for _ in range(2):  # to look is not to remember
                    state = memory.get_recent_state(observation)
                    assert isinstance(state, list)
                    assert len(state) == window
                    assert all(isinstance(one, np.ndarray) and one.dtype == np.float32 for one in state)
                    assert all(one.shape == (obs_dim,) for one in state)
                    np.testing.assert_array_equal(state, np.array(latest))
                    state.append(observation)
                    assert len(memory.observations) == len(seen)
                    assert all(one is other for one, other in zip(memory.observations, seen, strict=True))
                assert memory.states == memory.actions or len(memory.states) == len(seen)
                self.keep(memory, observation)
                seen.append(observation)
            memory.reset()

    def test_append_and_reset(self, solution: ModuleType) -> None:
        """Catches: NumPy's bools and numbers, which are kept as they come; an end that outlasts the episode."""
        memory = solution.EpisodeMemory()
        assert memory.window_length == 1
        step = [np.ones(2, dtype=np.float32), torch.ones(1, 2), torch.ones(3), torch.ones(1)]
        memory.append(*step, np.float32(2.5), np.bool_(False), np.bool_(True))
        kept = [memory.observations, memory.states, memory.actions, memory.log_probs]
        assert all(len(values) == 1 and values[0] is value for values, value in zip(kept, step, strict=True))
        assert memory.rewards == [2.5]
        assert type(memory.rewards[0]) is float
        assert (memory.terminated, memory.truncated) == (False, True)
        assert memory.truncated is True
        memory.reset()
        everything = vars(memory)
        names = ("observations", "states", "actions", "log_probs", "rewards")
        assert everything == {"window_length": 1, "terminated": False, "truncated": False} | {name: [] for name in names}


# The agent


def agent_of(solution: ModuleType, obs_dim: int = 3, n: int = 2, **options: Any) -> Any:
    """Return an agent with weights that torch did not draw, which learns seldom."""
    agent = solution.PPOAgent(obs_dim, n, **({"episodes_per_update": 1000, "seed": 1} | options))
    settle(agent.actor, 3)
    settle(agent.critic, 4)
    return agent


def policy_of(agent: Any, states: Any) -> Independent:
    """Return torch's own distribution over actions, in float64 and without a gradient."""
    mu = torch.tensor(through(agent.actor, states))
    return Independent(Normal(mu, agent.actor.log_sigma.detach().double().exp().expand_as(mu)), 1)


def weights_of(agent: Any) -> list[NDArray]:
    return [parameter.detach().numpy().copy() for network in (agent.actor, agent.critic) for parameter in network.parameters()]


class TestAgentMade:
    def test_attributes(self, solution: ModuleType) -> None:
        """Catches: an option that goes elsewhere; an optimizer of one network; generators that know nothing of the seed."""
        agent = solution.PPOAgent(3, 2, 4, 5, 0.7, 0.6, 8, 9, 10, 0.3, 0.4, 0.02, 11)
        assert (agent.gamma, agent.lamb, agent.episodes_per_update, agent.epochs) == (0.7, 0.6, 8, 9)
        assert (agent.batch_size, agent.clip, agent.entropy_coef) == (10, 0.3, 0.4)
        assert [memory.window_length for memory in agent.memories] == [5] * 4
        assert len({id(memory) for memory in agent.memories}) == 4
        assert agent.training is True
        assert agent.episodes == []
        assert layers_of(agent.actor)[0].in_features == layers_of(agent.critic)[0].in_features == 15
        assert layers_of(agent.actor)[-1].out_features == agent.process.n == 2
        (group,) = agent.optimizer.param_groups
        mine = [*agent.actor.parameters(), *agent.critic.parameters()]
        assert {id(parameter) for parameter in group["params"]} == {id(parameter) for parameter in mine}
        assert len(group["params"]) == len(mine) == 17
        assert isinstance(agent.optimizer, torch.optim.Adam)
        assert (group["lr"], group["betas"], group["eps"], group["weight_decay"]) == (0.02, (0.9, 0.999), 1e-8, 0)
        assert isinstance(agent.rng, np.random.Generator)
        assert agent.process.rng is agent.rng

    def test_defaults(self, solution: ModuleType) -> None:
        """Catches: another default than the one that is written down."""
        agent = solution.PPOAgent(3, 2)
        assert (agent.gamma, agent.lamb, agent.episodes_per_update, agent.epochs) == (0.9, 0.95, 4, 10)
        assert (agent.batch_size, agent.clip, agent.entropy_coef) == (64, 0.2, 0.0)
        assert agent.optimizer.param_groups[0]["lr"] == 1e-3
        assert [memory.window_length for memory in agent.memories] == [1]

    def test_networks_share_nothing(self, solution: ModuleType, rng: np.random.Generator) -> None:
        """Catches: a value loss that moves the policy."""
        agent = agent_of(solution)
        states = torch.tensor(normal(rng, 5, 1, 3))
        agent.critic(states).sum().backward()
        assert all(parameter.grad is None for parameter in agent.actor.parameters())
        assert all(parameter.grad is not None for parameter in agent.critic.parameters())

    def test_process_state_batch(self, solution: ModuleType, rng: np.random.Generator) -> None:
        """Catches: axes in another order; float64."""
        batch = rng.normal(size=(4, 2, 3))
        found = agent_of(solution).process_state_batch([list(state) for state in batch])
        assert found.dtype == torch.float32
        np.testing.assert_array_equal(found, batch.astype(np.float32))

    def test_anneal(self, solution: ModuleType) -> None:
        """Catches: a share of a rate that was annealed already."""
        agent = agent_of(solution, learning_rate=0.02)
        for progress, rate in ((0.25, 0.015), (0.5, 0.01), (0.0, 0.02), (1.0, 0.0)):
            agent.anneal(progress)
            assert [group["lr"] for group in agent.optimizer.param_groups] == [pytest.approx(rate)]


class TestForward:
    @pytest.mark.parametrize(("num_envs", "window", "n"), [(1, 1, 1), (1, 3, 2), (3, 1, 1), (4, 2, 3)])
    @pytest.mark.parametrize("is_training", [True, False])
    def test_what_is_stored(
        self, solution: ModuleType, rng: np.random.Generator, num_envs: int, window: int, n: int, is_training: bool
    ) -> None:
        """Catches: states of another environment, log-probabilities of other actions or of the mean, a [B, 1] that is [B]."""
        agent = agent_of(solution, n=n, num_envs=num_envs, window_length=window)
        agent.training = is_training
        windows = [deque([np.zeros(3)] * window, maxlen=window) for _ in range(num_envs)]
        for number in range(5):
            observation = normal(rng, num_envs, 3)
            for latest, one in zip(windows, observation, strict=True):
                latest.append(one)
            states = np.array(windows)
            action = agent.forward(observation[0] if num_envs == 1 else observation)
            assert type(action) is np.ndarray
            assert action.dtype == np.float32
            assert action.shape == ((n,) if num_envs == 1 else (num_envs, n))
            assert all(len(memory.observations) == number for memory in agent.memories)  # nothing yet
            agent.backward(0.0)
            actions = action.reshape(num_envs, n)
            means = through(agent.actor, states)
            if is_training:
                assert np.abs(actions - means).min() > 1e-4
            else:
                np.testing.assert_allclose(actions, means, **CLOSE)
            log_probs = policy_of(agent, states).log_prob(torch.tensor(actions.astype(np.float64)))
            for index, memory in enumerate(agent.memories):
                assert isinstance(memory.observations[-1], np.ndarray)
                assert memory.observations[-1].dtype == np.float32
                np.testing.assert_array_equal(memory.observations[-1], observation[index])
                kept = memory.states[-1], memory.actions[-1], memory.log_probs[-1]
                assert [tuple(value.shape) for value in kept] == [(window, 3), (n,), (1,)]
                assert all(isinstance(value, Tensor) and value.dtype == torch.float32 for value in kept)
                assert not any(value.requires_grad for value in kept)
                np.testing.assert_array_equal(kept[0], states[index].astype(np.float32))
                np.testing.assert_array_equal(kept[1], actions[index])
                np.testing.assert_allclose(kept[2][0], log_probs[index], **CLOSE)

    def test_distribution_of_actions(self, solution: ModuleType, rng: np.random.Generator) -> None:
        """Catches: noise of another size than the actor's, the same noise everywhere, a clipped sample."""
        agent = agent_of(solution, num_envs=20_000)
        observation = normal(rng, 1, 3)
        actions = agent.forward(np.repeat(observation, 20_000, axis=0)).astype(np.float64)
        policy = policy_of(agent, observation)
        noise = (actions - policy.mean.numpy()) / policy.stddev.numpy()
        assert np.abs(noise.mean(axis=0)).max() < SIGMAS / math.sqrt(20_000)
        assert np.abs((noise**2).mean(axis=0) - 1).max() < SIGMAS * math.sqrt(2 / 20_000)
        assert abs(noise.prod(axis=1).mean()) < SIGMAS / math.sqrt(20_000)
        assert np.abs(noise).max() > 3.5

    def test_sample_is_the_processs(self, solution: ModuleType, rng: np.random.Generator) -> None:
        """Catches: noise that is not drawn by `process`; a log-probability of a second sample."""
        agent = agent_of(solution)
        agent.process.sample = lambda x: x[0] + 2 * x[1].exp()
        observation = normal(rng, 3)
        action = agent.forward(observation)
        agent.backward(0.0)
        policy = policy_of(agent, observation[None])
        np.testing.assert_allclose(action, (policy.mean + 2 * policy.stddev)[0], **CLOSE)
        expected = -0.5 * 2**2 * 2 - agent.actor.log_sigma.sum().item() - math.log(2 * math.pi)
        np.testing.assert_allclose(agent.memories[0].log_probs[0], [expected], **CLOSE)

    def test_one_environment_of_a_vector(self, solution: ModuleType, rng: np.random.Generator) -> None:
        """Catches: the axis of environments lost where there is but one."""
        one, other = agent_of(solution), agent_of(solution)
        observation = normal(rng, 3)
        action = one.forward(observation[None])
        assert action.shape == (1, 2)
        np.testing.assert_array_equal(action[0], other.forward(observation))

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_copies(self, solution: ModuleType, rng: np.random.Generator, dtype: type) -> None:
        """Catches: an observation array that the environment overwrites, before or after `backward`."""
        for num_envs in (1, 2):
            agent = agent_of(solution, num_envs=num_envs, window_length=2)
            shape = (3,) if num_envs == 1 else (2, 3)
            buffer: NDArray = np.zeros(shape, dtype=dtype)
            seen = rng.normal(size=(4, num_envs, 3)).astype(np.float32)
            for observation in seen:
                buffer[...] = observation.reshape(shape)
                agent.forward(buffer)
                buffer[...] = 77.0
                agent.backward(0.0)
                buffer[...] = 78.0
            for index, memory in enumerate(agent.memories):
                np.testing.assert_array_equal(memory.observations, seen[:, index])
                for t, state in enumerate(memory.states):
                    np.testing.assert_array_equal(state[1], seen[t, index])
                    np.testing.assert_array_equal(state[0], seen[t - 1, index] if t else np.zeros(3))

    @pytest.mark.parametrize("num_envs", [1, 2])
    @pytest.mark.parametrize("is_training", [True, False])
    def test_action_may_be_changed(
        self, solution: ModuleType, rng: np.random.Generator, num_envs: int, is_training: bool
    ) -> None:
        """Catches: an action that an environment clips in place, and the agent stores what it did not do."""
        agent = agent_of(solution, num_envs=num_envs)
        agent.training = is_training
        action = agent.forward(normal(rng, num_envs, 3))
        before = action.copy()
        action[...] = 55.0
        agent.backward(0.0)
        np.testing.assert_array_equal([memory.actions[0].numpy() for memory in agent.memories], before)

    def test_reproducible(self, solution: ModuleType, rng: np.random.Generator) -> None:
        """Catches: actions that depend on another generator than the agent's; draws where nothing is explored."""
        observations = normal(rng, 5, 3)
        first = [agent_of(solution, seed=4).forward(observations[0])]
        agent = agent_of(solution, seed=4)
        np.random.seed(1), torch.manual_seed(1)
        first.append(agent.forward(observations[0]))
        np.testing.assert_array_equal(*first)
        assert not np.array_equal(agent_of(solution, seed=5).forward(observations[0]), first[0])
        assert not np.array_equal(agent.forward(observations[0]), first[0])
        agent.training = False
        before = agent.rng.bit_generator.state
        agent.forward(observations[0])
        assert agent.rng.bit_generator.state == before

    def test_a_second_look_changes_nothing(self, solution: ModuleType, rng: np.random.Generator) -> None:
        """Catches: an observation remembered in `forward`, and once more in `backward`."""
        agent = agent_of(solution, window_length=2)
        first, second = normal(rng, 2, 3)
        agent.forward(second)
        agent.forward(first)
        agent.backward(1.0)
        agent.forward(first)
        agent.forward(second)
        agent.backward(2.0)
        np.testing.assert_array_equal(agent.memories[0].observations, [first, second])
        np.testing.assert_array_equal(agent.memories[0].states[1], [first, second])


class Told:
    """What ought to be in the memories, by the docstring of `backward`, in plain lists."""

    def __init__(self, num_envs: int, window: int, obs_dim: int, per_update: int) -> None:
        self.window, self.per_update = window, per_update
        self.nothing = [np.zeros(obs_dim, dtype=np.float32)] * window
        self.steps: list[list[dict[str, Any]]] = [[] for _ in range(num_envs)]  # of the episodes that are being played
        self.episodes: list[dict[str, Any]] = []
        self.updates: list[list[dict[str, Any]]] = []

    def step(self, agent: Any, observations: NDArray, actions: NDArray, rewards: Any, ends: Any, is_training: bool) -> bool:
        """Return whether it is time for an update."""
        for index, steps in enumerate(self.steps):
            state = np.array([*self.nothing, *(step["observation"] for step in steps), observations[index]])[-self.window :]
            if steps and any(steps[-1]["ends"]):
                if is_training:
                    self.episodes.append({"env": index, "steps": steps, "final_state": state})
                self.steps[index] = []
                continue
            action = torch.tensor(actions[index : index + 1]).double()
            steps.append(
                {
                    "observation": observations[index].copy(), "state": state, "action": actions[index].copy(),
                    "log_prob": policy_of(agent, state[None]).log_prob(action).item(),
                    "reward": float(rewards[index]), "ends": (bool(ends[0][index]), bool(ends[1][index])),
                }
            )  # fmt: skip
        if len(self.episodes) < self.per_update:
            return False
        self.updates.append(self.episodes)
        self.episodes = []
        return True


def assert_kept(memory: Any, steps: list[dict[str, Any]]) -> None:
    """Compare a memory of the agent with what ought to be in it."""
    names = {"observations": "observation", "states": "state", "actions": "action", "rewards": "reward"}
    for ours, theirs in names.items():
        kept = getattr(memory, ours)
        assert len(kept) == len(steps)
        for one, step in zip(kept, steps, strict=True):
            np.testing.assert_array_equal(one, step[theirs])
    assert len(memory.log_probs) == len(steps)
    for one, step in zip(memory.log_probs, steps, strict=True):
        np.testing.assert_allclose(one, [step["log_prob"]], **CLOSE)
    assert (memory.terminated, memory.truncated) == (steps[-1]["ends"] if steps else (False, False))


class TestBackward:
    @pytest.mark.parametrize("num_envs", [1, 2, 3, 4])
    @pytest.mark.parametrize("per_update", [1, 2, 5])
    @pytest.mark.parametrize("is_training", [True, False])
    def test_scripts(self, solution: ModuleType, num_envs: int, per_update: int, is_training: bool) -> None:
        """Catches: the extra call as a step, an end of one environment as that of all, updates too early, late or doubled."""
        for seed, (window, chance) in enumerate(((1, 0.2), (2, 0.5), (3, 0.1))):
            rng = np.random.default_rng([seed, num_envs])
            agent = agent_of(solution, num_envs=num_envs, window_length=window, episodes_per_update=per_update, seed=seed)
            agent.training = is_training
            told = Told(num_envs, window, 3, per_update)
            finished: list[dict[str, Any]] = []
            updates: list[list[dict[str, Any]]] = []

            def finish(memory: Any, state: Tensor, agent: Any = agent, finished: list = finished) -> dict[str, Any]:
                (index,) = (i for i, one in enumerate(agent.memories) if one is memory)
                finished.append({"env": index, "memory": copy.deepcopy(memory), "final_state": state.numpy().copy()})
                return finished[-1]

            def update(agent: Any = agent, updates: list = updates) -> dict[str, float]:
                updates.append(list(agent.episodes))
                with torch.no_grad():  # log-probabilities in memories are those of before
                    for parameter in agent.actor.parameters():
                        parameter.mul_(1.02)
                return {"policy_loss": float(len(updates)), "value_loss": 0.5}

            agent.finish_episode, agent.update = finish, update
            for _ in range(40):
                observations, rewards = normal(rng, num_envs, 3), rng.normal(size=num_envs)
                ends = rng.random((2, num_envs)) < chance  # also in extra calls, where nobody asks
                before = copy.deepcopy(agent.actor)
                actions = agent.forward(observations)
                metrics = agent.backward(rewards, ends[0], ends[1])
                due = told.step(SimpleNamespace(actor=before), observations, actions, rewards, ends, is_training)
                assert metrics == ({"policy_loss": float(len(updates)), "value_loss": 0.5} if due else {})
                assert len(updates) == len(told.updates)
                assert len(agent.episodes) == len(told.episodes)
                assert len(agent.memories) == num_envs
                for memory, steps in zip(agent.memories, told.steps, strict=True):
                    assert_kept(memory, steps)
            if not is_training:
                assert finished == updates == told.updates == []
                continue
            expected = [*itertools.chain(*told.updates), *told.episodes]
            assert [one for several in updates for one in several] + agent.episodes == finished
            assert [[one["env"] for one in several] for several in updates] == [
                [one["env"] for one in several] for several in told.updates
            ]
            assert len(expected) > 3
            for one, other in zip(finished, expected, strict=True):
                assert one["env"] == other["env"]
                assert_kept(one["memory"], other["steps"])
                np.testing.assert_array_equal(one["final_state"], other["final_state"])

    @pytest.mark.parametrize("terminated", [False, True])
    @pytest.mark.parametrize("truncated", [False, True])
    def test_one_environment_in_plain_numbers(
        self, solution: ModuleType, rng: np.random.Generator, terminated: bool, truncated: bool
    ) -> None:
        """Catches: terminated and truncated mixed up; an argument that must be an array; an extra call by its arguments."""
        agent = agent_of(solution)
        observations = normal(rng, 4, 3)
        agent.forward(observations[0])
        assert agent.backward(1.5) == {}
        agent.forward(observations[1])
        assert agent.backward(2, terminated, truncated) == {}
        (memory,) = agent.memories
        assert (memory.terminated, memory.truncated) == (terminated, truncated)
        assert memory.rewards == [1.5, 2.0]
        agent.forward(observations[2])
        assert agent.backward(0.0) == {}
        assert len(agent.episodes) == (terminated or truncated)
        assert len(memory.rewards) == (0 if terminated or truncated else 3)
        agent.forward(observations[3])
        agent.backward(0.0, truncated=True)
        assert (memory.terminated, memory.truncated) == (False, True)

    def test_one_bool_for_all(self, solution: ModuleType, rng: np.random.Generator) -> None:
        """Catches: a bool that is that of the first environment alone; a reward that is."""
        agent = agent_of(solution, num_envs=3)
        agent.forward(normal(rng, 3, 3))
        agent.backward(np.array([1.0, 2.0, 3.0]))
        agent.forward(normal(rng, 3, 3))
        agent.backward(np.array([4.0, 5.0, 6.0]), truncated=True)
        assert [memory.rewards for memory in agent.memories] == [[1, 4], [2, 5], [3, 6]]
        assert [(memory.terminated, memory.truncated) for memory in agent.memories] == [(False, True)] * 3
        agent.forward(normal(rng, 3, 3))
        agent.backward(0.0)
        assert len(agent.episodes) == 3
        agent.forward(normal(rng, 3, 3))
        agent.backward(7.0, True)
        assert [memory.rewards for memory in agent.memories] == [[7.0]] * 3
        assert all(memory.terminated and not memory.truncated for memory in agent.memories)

    def test_all_episodes_of_a_call_are_learned_from(self, solution: ModuleType, rng: np.random.Generator) -> None:
        """Catches: an update inside the loop over environments, after which the rest of them is of an old policy."""
        agent = agent_of(solution, num_envs=3, episodes_per_update=2)
        updates = []

        def update() -> dict[str, float]:
            updates.append(len(agent.episodes))
            return {"policy_loss": 1.0, "value_loss": 2.0}

        agent.update = update
        for reward, ends in ((1.0, True), (0.0, False)):
            agent.forward(normal(rng, 3, 3))
            metrics = agent.backward(reward, ends)
        assert updates == [3]
        assert metrics == {"policy_loss": 1.0, "value_loss": 2.0}
        assert agent.episodes == []

    def test_really_learns(self, solution: ModuleType, rng: np.random.Generator) -> None:
        """Catches: parts that do not fit together; learning in a test."""
        for is_training in (True, False):
            agent = agent_of(solution, num_envs=2, episodes_per_update=3, window_length=2, batch_size=4, epochs=2)
            agent.training = is_training
            before, updates = weights_of(agent), 0
            for step in range(1, 30):
                agent.forward(normal(rng, 2, 3))
                metrics = agent.backward(rng.normal(size=2), np.array([step % 4 == 3, False]), np.array([False, step % 5 == 2]))
                updates += bool(metrics)
                assert not metrics or metrics.keys() == {"policy_loss", "value_loss"}
                assert not metrics or all(type(value) is float and math.isfinite(value) for value in metrics.values())
                assert len(agent.episodes) < 3
            after = weights_of(agent)
            assert (updates > 2) == is_training
            changed = [not np.array_equal(one, other) for one, other in zip(before, after, strict=True)]
            assert all(changed) if is_training else not any(changed)


class TestFinishEpisode:
    def memory(self, solution: ModuleType, rng: np.random.Generator, steps: int, last: str, window: int, n: int) -> Any:
        memory = solution.EpisodeMemory(window)
        for t in range(steps):
            over = t == steps - 1
            memory.append(
                normal(rng, 3), *(torch.tensor(normal(rng, *shape)) for shape in ((window, 3), (n,), (1,))),
                rng.normal(), over and last in ("termination", "both"), over and last in ("truncation", "both"),
            )  # fmt: skip
        return memory

    @pytest.mark.parametrize("last", LASTS[1:])
    @pytest.mark.parametrize("steps", [1, 2, 9])
    @pytest.mark.parametrize(("window", "n"), [(1, 1), (3, 2)])
    def test_by_hand(self, solution: ModuleType, rng: np.random.Generator, last: str, steps: int, window: int, n: int) -> None:
        """Catches: the last state not looked at, or looked at after a termination; a target without V(s); γ for λ."""
        agent = agent_of(solution, n=n, window_length=window, gamma=0.85, lamb=0.6)
        memory = self.memory(solution, rng, steps, last, window, n)
        final_state = torch.tensor(normal(rng, window, 3))
        before, final_before = copy.deepcopy(vars(memory)), final_state.clone()
        found = agent.finish_episode(memory, final_state)

        states = np.array([state.numpy() for state in memory.states])
        values = through(agent.critic, states)[:, 0]
        next_values = np.append(values[1:], through(agent.critic, final_state[None].numpy()))
        at_end = np.arange(steps) == steps - 1
        delta = errors_of_one_step(values, next_values, np.array(memory.rewards), 0.85, at_end & (last != "truncation"))
        advantage = double_sum(delta, at_end, 0.85 * 0.6)
        assert found.keys() == {"state", "action", "log_prob", "advantage", "value_target"}
        shapes = {"state": (steps, window, 3), "action": (steps, n), "log_prob": (steps, 1)}
        shapes |= {"advantage": (steps,), "value_target": (steps,)}
        for name, value in found.items():
            assert isinstance(value, Tensor)
            assert value.dtype == torch.float32
            assert tuple(value.shape) == shapes[name]
            assert not value.requires_grad
        np.testing.assert_array_equal(found["state"], states)
        np.testing.assert_array_equal(found["action"], [one.numpy() for one in memory.actions])
        np.testing.assert_array_equal(found["log_prob"], [one.numpy() for one in memory.log_probs])
        np.testing.assert_allclose(found["advantage"], advantage, **CLOSE)
        np.testing.assert_allclose(found["value_target"], advantage + values, **CLOSE)
        assert abs(next_values[-1]) > 0.05
        assert torch.equal(final_state, final_before)
        assert vars(memory).keys() == before.keys()
        for name, value in before.items():
            kept = getattr(memory, name)
            assert len(kept) == len(value) if isinstance(value, list) else kept == value
            if isinstance(value, list):
                assert all(np.array_equal(one, other) for one, other in zip(kept, value, strict=True))

    def test_any_estimator_will_do(self, solution: ModuleType, rng: np.random.Generator, monkeypatch: Any) -> None:
        """Catches: an estimator of its own; float64 where the estimator returns it; ends that are told in every row."""
        asked = []

        def estimator(*arguments: Any, **named: Any) -> NDArray:
            asked.append(inspect.signature(original).bind(*arguments, **named).arguments)
            return np.array([0.25, -1.0, 2.0])

        original = solution.GeneralizedAdvantageEstimator
        monkeypatch.setattr(solution, "GeneralizedAdvantageEstimator", estimator)
        agent = agent_of(solution, gamma=0.8, lamb=0.3)
        memory, final_state = self.memory(solution, rng, 3, "truncation", 1, 2), torch.tensor(normal(rng, 1, 3))
        found = agent.finish_episode(memory, final_state)
        (told,) = asked
        assert told["gamma"] == 0.8
        assert told["lamb"] == 0.3
        np.testing.assert_array_equal(told["reward"], memory.rewards)
        np.testing.assert_array_equal(told["next_state"][-1], final_state)
        np.testing.assert_array_equal(told["truncated"], [False, False, True])
        assert not np.any(told["terminated"])
        assert found["advantage"].dtype == found["value_target"].dtype == torch.float32
        values = through(agent.critic, [state.numpy() for state in memory.states])[:, 0]
        np.testing.assert_allclose(found["value_target"], values + np.array([0.25, -1.0, 2.0]), **CLOSE)


def doubled(agent: Any) -> Any:
    """Let the agent's networks compute in float64, so that nothing but mistakes is left to be seen."""
    agent.actor.double(), agent.critic.double()
    return agent


def batch_of(agent: Any, rng: np.random.Generator, rows: int, window: int = 1, dtype: torch.dtype = torch.float64) -> dict:
    """Return rows with ratios from about 1/2 to 2, by log-probabilities that are off by so much."""
    states = rng.normal(size=(rows, window, 3)).astype(np.float32)
    policy = policy_of(agent, states)
    drawn = policy.mean.numpy() + policy.stddev.numpy() * rng.normal(size=policy.mean.shape)
    action = torch.tensor(drawn.astype(np.float32)).double()
    log_prob = policy.log_prob(action) + torch.tensor(rng.uniform(-0.7, 0.7, size=rows))
    batch = {"state": torch.tensor(states), "action": action, "log_prob": log_prob[:, None]}
    batch["advantage"], batch["value_target"] = (torch.tensor(rng.normal(size=rows)) for _ in range(2))
    return {name: value.to(dtype) for name, value in batch.items()}


class Functional:
    """Networks and losses written out with torch's own functions and distributions, on copies of the agent's parameters."""

    def __init__(self, agent: Any) -> None:
        copied = [[layer.weight.detach().clone(), layer.bias.detach().clone()] for layer in layers_of(agent.actor)]
        self.actor = [value.requires_grad_() for pair in copied for value in pair]
        copied = [[layer.weight.detach().clone(), layer.bias.detach().clone()] for layer in layers_of(agent.critic)]
        self.critic = [value.requires_grad_() for pair in copied for value in pair]
        self.log_sigma = agent.actor.log_sigma.detach().clone().requires_grad_()
        self.clip, self.entropy_coef = agent.clip, agent.entropy_coef

    @property
    def parameters(self) -> list[Tensor]:
        return [*self.actor, self.log_sigma, *self.critic]

    @staticmethod
    def of(agent: Any) -> list[Tensor]:
        """Return the agent's own parameters in the same order."""
        actor, critic = (
            [x for layer in layers_of(one) for x in (layer.weight, layer.bias)] for one in (agent.actor, agent.critic)
        )
        return [*actor, agent.actor.log_sigma, *critic]

    @staticmethod
    def network(weights: list[Tensor], state: Tensor) -> Tensor:
        x = state.reshape(len(state), -1)
        for number in range(4):
            x = nn.functional.linear(x, *weights[2 * number : 2 * number + 2])
            x = x if number == 3 else nn.functional.relu(x)
        return x

    def policy_loss(self, batch: dict[str, Tensor]) -> Tensor:
        policy = Independent(Normal(self.network(self.actor, batch["state"]), self.log_sigma.exp()), 1)
        ratio = (policy.log_prob(batch["action"]) - batch["log_prob"].reshape(-1)).exp()
        good = batch["advantage"] > 0
        bound = 1 + self.clip * (2 * good.to(ratio.dtype) - 1)
        beyond = torch.where(good, ratio > bound, ratio < bound)
        objective = torch.where(beyond, bound, ratio) * batch["advantage"]
        return -objective.mean() - self.entropy_coef * policy.entropy().mean()

    def value_loss(self, batch: dict[str, Tensor]) -> Tensor:
        return nn.functional.mse_loss(self.network(self.critic, batch["state"])[:, 0], batch["value_target"])


class TestLosses:
    @pytest.mark.parametrize(("clip", "entropy_coef"), [(0.2, 0.0), (0.1, 0.3), (0.4, 0.01)])
    @pytest.mark.parametrize(("n", "window"), [(1, 1), (2, 3)])
    def test_values_and_gradients(
        self, solution: ModuleType, rng: np.random.Generator, clip: float, entropy_coef: float, n: int, window: int
    ) -> None:
        """Catches: max for min, the other sign of either part, [B, B], a ratio upside down, a sum, half a square."""
        options: dict[str, Any] = {"clip": clip, "entropy_coef": entropy_coef, "window_length": window, "n": n}
        agent = doubled(agent_of(solution, **options))
        batch = batch_of(agent, rng, 200, window)
        before, by_hand = {name: value.clone() for name, value in batch.items()}, Functional(agent)
        ratio = (policy_of(agent, batch["state"]).log_prob(batch["action"]) - batch["log_prob"][:, 0]).exp().numpy()
        good = batch["advantage"].numpy() > 0
        regions = [ratio > 1 + clip, ratio < 1 - clip, np.abs(ratio - 1) < clip]
        assert all((region & which).sum() > 2 for region in regions for which in (good, ~good))

        loss = agent.policy_loss(batch)
        assert loss.shape == ()
        numbers = batch["advantage"].numpy()
        surrogate = [min(r * a, min(max(r, 1 - clip), 1 + clip) * a) for r, a in zip(ratio, numbers, strict=True)]
        entropy = sum(math.log(math.sqrt(2 * math.pi * math.e) * math.exp(x)) for x in agent.actor.log_sigma.tolist())
        assert loss.item() == pytest.approx(-np.mean(surrogate) - entropy_coef * entropy, abs=1e-6)
        assert loss.item() == pytest.approx(by_hand.policy_loss(batch).item(), abs=1e-10)
        value_loss = agent.value_loss(batch)
        assert value_loss.shape == ()
        expected = np.mean((through(agent.critic, batch["state"])[:, 0] - batch["value_target"].numpy()) ** 2)
        assert value_loss.item() == pytest.approx(expected, abs=1e-10)
        for ours, theirs in ((loss, by_hand.policy_loss(batch)), (value_loss, by_hand.value_loss(batch))):
            found = torch.autograd.grad(ours, Functional.of(agent), allow_unused=True)
            for one, other in zip(found, torch.autograd.grad(theirs, by_hand.parameters, allow_unused=True), strict=True):
                assert (one is None) == (other is None)
                if one is not None:
                    np.testing.assert_allclose(one, other, **EXACT)
        assert all(torch.equal(batch[name], value) for name, value in before.items())
        assert all(parameter.grad is None for parameter in Functional.of(agent))

    def test_gradients_by_finite_differences(self, solution: ModuleType, rng: np.random.Generator) -> None:
        """Catches: a gradient that goes through what it should not, or stops where it should go."""
        agent = doubled(agent_of(solution, entropy_coef=0.1))
        batch = batch_of(agent, rng, 12)
        for loss in (agent.policy_loss, agent.value_loss):
            total = loss(batch)
            slopes = torch.autograd.grad(total, Functional.of(agent), allow_unused=True)
            for parameter, slope in zip(Functional.of(agent), slopes, strict=True):
                flat = parameter.data.view(-1)
                for index in rng.choice(len(flat), size=min(len(flat), 6), replace=False):
                    kept, sides = flat[index].item(), []
                    for side in (1e-6, -1e-6):
                        flat[index] = kept + side
                        sides.append(loss(batch).item())
                    flat[index] = kept
                    expected = 0.0 if slope is None else slope.reshape(-1)[index].item()
                    assert (sides[0] - sides[1]) / 2e-6 == pytest.approx(expected, abs=1e-6)

    @pytest.mark.parametrize(
        ("ratio", "advantage", "objective", "moves"),
        [
            (1.0, 2.0, 2.0, True), (1.0, -2.0, -2.0, True), (1.1, 2.0, 2.2, True), (0.9, -2.0, -1.8, True),
            (1.5, 2.0, 2.4, False), (1.5, -2.0, -3.0, True), (0.5, 2.0, 1.0, True), (0.5, -2.0, -1.6, False),
            (1.5, 0.0, 0.0, False),
        ],
    )  # fmt: skip
    def test_single_rows(
        self, solution: ModuleType, rng: np.random.Generator, ratio: float, advantage: float, objective: float, moves: bool
    ) -> None:
        """Catches: what is clipped on one side only, or where it would be good not to."""
        agent = doubled(agent_of(solution))
        batch = batch_of(agent, rng, 1)
        batch["log_prob"] = policy_of(agent, batch["state"]).log_prob(batch["action"])[:, None] - math.log(ratio)
        batch["advantage"] = torch.tensor([advantage], dtype=torch.float64)
        loss = agent.policy_loss(batch)
        assert loss.item() == pytest.approx(-objective, abs=1e-6)
        (slope,) = torch.autograd.grad(loss, layers_of(agent.actor)[-1].bias)
        assert bool(slope.abs().max() > 1e-3) == moves

    def test_entropy_counts(self, solution: ModuleType, rng: np.random.Generator) -> None:
        """Catches: an entropy that is made small, that is summed over rows, or that is not coefficient times as much."""
        agent = agent_of(solution, n=3, entropy_coef=0.25)
        batch = batch_of(agent, rng, 9, dtype=torch.float32)
        batch["advantage"] *= 0.0
        loss = agent.policy_loss(batch)
        (slope,) = torch.autograd.grad(loss, agent.actor.log_sigma)
        np.testing.assert_allclose(slope, [-0.25] * 3, **CLOSE)
        expected = agent.actor.log_sigma.sum().item() + 1.5 * math.log(2 * math.pi * math.e)
        assert loss.item() == pytest.approx(-0.25 * expected, abs=1e-5)
        assert loss.dtype == agent.value_loss(batch).dtype == torch.float32


class OnlySpaces(gym.Env):
    """Only its spaces are asked for."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (3,), np.float32)
    action_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)

    def reset(self, **options: Any) -> tuple[NDArray, dict]:
        return np.zeros(3, dtype=np.float32), {}


def cut(batch: dict[str, Tensor], *lengths: int) -> list[dict[str, Tensor]]:
    """Return the rows as episodes of these lengths."""
    pieces = {name: value.split(list(lengths)) for name, value in batch.items()}
    return [{name: values[number].clone() for name, values in pieces.items()} for number in range(len(lengths))]


class TestStableBaselines:
    def theirs(self, agent: Any, batch: dict[str, Tensor], epochs: int, batch_size: int) -> Any:
        """Return a PPO with the agent's weights and these rows in its buffer."""
        ppo = pytest.importorskip("stable_baselines3.ppo.ppo")
        logger = pytest.importorskip("stable_baselines3.common.logger")
        rows = len(batch["state"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a last minibatch that is smaller
            model = ppo.PPO(
                "MlpPolicy", OnlySpaces(), learning_rate=agent.learning_rate,
                n_steps=rows, batch_size=batch_size, n_epochs=epochs,
                clip_range=agent.clip, ent_coef=agent.entropy_coef, vf_coef=1.0, max_grad_norm=1e9, device="cpu", seed=0,
                normalize_advantage=False,
                policy_kwargs={
                    "net_arch": {"pi": [16] * 3, "vf": [16] * 3}, "activation_fn": nn.ReLU, "optimizer_kwargs": {"eps": 1e-8},
                },
            )  # fmt: skip
        model.set_logger(logger.Logger(None, []))
        with torch.no_grad():
            for one, other in zip(self.parameters(model), Functional.of(agent), strict=True):
                one.copy_(other)
        buffer = model.rollout_buffer
        for t in range(rows):
            buffer.add(
                batch["state"][t : t + 1, 0].numpy(), batch["action"][t].numpy(), np.zeros(1), np.zeros(1), torch.zeros(1),
                batch["log_prob"][t],
            )  # fmt: skip
        buffer.advantages[:, 0], buffer.returns[:, 0] = batch["advantage"].numpy(), batch["value_target"].numpy()
        return model

    @staticmethod
    def parameters(model: Any) -> list[Tensor]:
        policy = model.policy
        actor = [*layers_of(policy.mlp_extractor.policy_net), policy.action_net]
        critic = [*layers_of(policy.mlp_extractor.value_net), policy.value_net]
        actor, critic = ([x for layer in layers for x in (layer.weight, layer.bias)] for layers in (actor, critic))
        return [*actor, policy.log_std, *critic]

    @pytest.mark.parametrize(("clip", "entropy_coef"), [(0.2, 0.0), (0.1, 0.05)])
    def test_one_step(self, solution: ModuleType, rng: np.random.Generator, clip: float, entropy_coef: float) -> None:
        """Catches: losses of ours that are not the common ones, their gradients, and what a step by them does."""
        agent = agent_of(solution, clip=clip, entropy_coef=entropy_coef, epochs=1, batch_size=100)
        batch = batch_of(agent, rng, 48, dtype=torch.float32)
        batch["advantage"] = 3 + 2 * batch["advantage"]
        # Theirs divides by the root of the sum of squares over n - 1, not n, and would not be equal.
        advantage = (batch["advantage"] - batch["advantage"].mean()) / batch["advantage"].std(correction=0)
        normalized = batch | {"advantage": advantage}
        model = self.theirs(agent, normalized, epochs=1, batch_size=48)
        model.train()

        policy_loss, value_loss = agent.policy_loss(normalized), agent.value_loss(normalized)
        logged = model.logger.name_to_value
        entropy_part = entropy_coef * logged["train/entropy_loss"]
        assert policy_loss.item() == pytest.approx(logged["train/policy_gradient_loss"] + entropy_part, abs=1e-5)
        assert value_loss.item() == pytest.approx(logged["train/value_loss"], abs=1e-5)
        slopes = torch.autograd.grad(policy_loss + value_loss, Functional.of(agent))
        for ours, theirs in zip(slopes, self.parameters(model), strict=True):
            assert theirs.grad is not None
            np.testing.assert_allclose(ours, theirs.grad, rtol=1e-4, atol=1e-6)
        agent.episodes = cut(batch, 20, 28)
        metrics = agent.update()
        assert metrics == pytest.approx({"policy_loss": policy_loss.item(), "value_loss": value_loss.item()}, abs=1e-5)
        for ours, theirs in zip(Functional.of(agent), self.parameters(model), strict=True):
            np.testing.assert_allclose(ours.detach(), theirs.detach(), rtol=0, atol=2e-5)  # steps are of 1e-3

    def test_many_minibatches(self, solution: ModuleType, rng: np.random.Generator) -> None:
        """Catches: a shuffle for all epochs, a last minibatch that is lost, normalization of each minibatch."""
        agent = agent_of(solution, entropy_coef=0.02, epochs=4, batch_size=10)
        batch = batch_of(agent, rng, 48, dtype=torch.float32)
        agent.episodes = cut(batch | {"advantage": 3 + 2 * batch["advantage"]}, 20, 5, 23)
        batch["advantage"] = (batch["advantage"] - batch["advantage"].mean()) / batch["advantage"].std(correction=0)
        model = self.theirs(agent, batch, epochs=4, batch_size=10)
        np.random.seed(5)
        model.train()
        agent.rng = np.random.RandomState(5)  # which permutes as they do
        metrics = agent.update()
        logged = model.logger.name_to_value
        expected = logged["train/policy_gradient_loss"] + 0.02 * logged["train/entropy_loss"]
        assert metrics["policy_loss"] == pytest.approx(expected, abs=1e-4)
        assert metrics["value_loss"] == pytest.approx(logged["train/value_loss"], abs=1e-4)
        for ours, theirs in zip(Functional.of(agent), self.parameters(model), strict=True):
            np.testing.assert_allclose(ours.detach(), theirs.detach(), rtol=0, atol=2e-4)  # 20 steps of 1e-3


class TestUpdate:
    @staticmethod
    def spied(agent: Any) -> SimpleNamespace:
        """Return lists of what happens from now on: batches that losses are asked for, losses, steps of the optimizer."""
        seen = SimpleNamespace(policy=[], value=[], losses=[], steps=[])
        policy_loss, value_loss, step = agent.policy_loss, agent.value_loss, agent.optimizer.step

        def spy(original: Callable, batches: list) -> Callable:
            def loss(batch: dict[str, Tensor]) -> Tensor:
                batches.append({name: value.detach().clone() for name, value in batch.items()})
                value = original(batch)
                seen.losses.append((batches is seen.policy, value.item()))
                return value

            return loss

        def counted(*arguments: Any, **named: Any) -> Any:
            seen.steps.append(len(seen.policy))
            return step(*arguments, **named)

        agent.policy_loss, agent.value_loss = spy(policy_loss, seen.policy), spy(value_loss, seen.value)
        agent.optimizer.step = counted
        return seen

    def test_a_single_row(self, solution: ModuleType, rng: np.random.Generator) -> None:
        """Catches: a standard deviation of one number that is NaN, and with it every weight from now on."""
        agent = agent_of(solution, epochs=2)
        agent.episodes = [batch_of(agent, rng, 1, dtype=torch.float32)]
        assert all(map(np.isfinite, agent.update().values()))
        assert all(torch.isfinite(value).all() for value in (*agent.actor.parameters(), *agent.critic.parameters()))

    @pytest.mark.parametrize(
        ("batch_size", "sizes_of_batches"), [(8, [8, 8, 7]), (23, [23]), (64, [23]), (22, [22, 1]), (1, [1] * 23)]
    )
    def test_rows(self, solution: ModuleType, rng: np.random.Generator, batch_size: int, sizes_of_batches: list[int]) -> None:
        """Catches: rows that are drawn with repeats, lost, or not aligned; an order that is kept; advantages by minibatch."""
        agent = agent_of(solution, epochs=3, batch_size=batch_size, window_length=2)
        batch = batch_of(agent, rng, 23, window=2, dtype=torch.float32)
        batch["advantage"] = 5 + 3 * batch["advantage"]
        agent.episodes = cut(batch, 4, 1, 12, 6)
        episodes = copy.deepcopy(agent.episodes)
        seen = self.spied(agent)
        metrics = agent.update()

        numbers = batch["advantage"].double().numpy()
        normalized = (numbers - numbers.mean()) / np.std(numbers)
        each = len(sizes_of_batches)
        assert [len(one["state"]) for one in seen.policy] == sizes_of_batches * 3
        assert [len(one["state"]) for one in seen.value] == sizes_of_batches * 3
        assert seen.steps == list(range(1, 3 * each + 1))
        identity = {tuple(state): row for row, state in enumerate(batch["state"].reshape(23, -1).tolist())}
        orders: list[list[int]] = []
        for number, (one, other) in enumerate(zip(seen.policy, seen.value, strict=True)):
            assert all(torch.equal(one[name], other[name]) for name in one)
            rows = [identity[tuple(state)] for state in one["state"].reshape(len(one["state"]), -1).tolist()]
            for name in ("action", "log_prob", "value_target"):
                assert torch.equal(one[name], batch[name][rows])
            np.testing.assert_allclose(one["advantage"], normalized[rows], **CLOSE)
            if number % each == 0:
                orders.append([])
            orders[-1] += rows
        assert all(sorted(order) == list(range(23)) for order in orders)
        assert len({tuple(order) for order in [*orders, range(23)]}) == 4
        for name, which in (("policy_loss", True), ("value_loss", False)):
            losses = [value for is_policy, value in seen.losses if is_policy == which]
            assert type(metrics[name]) is float
            assert metrics[name] == pytest.approx(np.mean(losses), abs=1e-6)
        assert metrics.keys() == {"policy_loss", "value_loss"}
        for one, other in zip(agent.episodes, episodes, strict=True):
            assert all(torch.equal(one[name], value) for name, value in other.items())

    def test_order_is_random(self, solution: ModuleType, rng: np.random.Generator) -> None:
        """Catches: a shuffle that is none: every row should be as often in every place, and pairs be broken up."""
        agent = agent_of(solution, epochs=2000, batch_size=6)
        agent.episodes = cut(batch_of(agent, rng, 6, dtype=torch.float32), 2, 4)
        places = {value: row for row, value in enumerate(torch.cat([one["value_target"] for one in agent.episodes]).tolist())}
        drawn = []
        weight = torch.zeros((), requires_grad=True)

        def policy_loss(batch: dict[str, Tensor]) -> Tensor:
            drawn.append([places[x] for x in batch["value_target"].tolist()])
            return 0 * weight

        agent.policy_loss = policy_loss
        agent.value_loss = lambda batch: 0 * weight
        agent.optimizer.step = lambda *a, **k: None
        agent.update()
        orders = np.array(drawn)
        spread = SIGMAS * math.sqrt(1 / 6 * 5 / 6 / 2000)
        for place, row in itertools.product(range(6), range(6)):
            assert abs((orders[:, place] == row).mean() - 1 / 6) < spread
        follows = (np.diff(orders, axis=1) == 1).sum(axis=1).mean()  # 5 pairs, each in order with probability 1/6
        assert abs(follows - 5 / 6) < 0.15

    @pytest.mark.parametrize("entropy_coef", [0.0, 0.05])
    @pytest.mark.parametrize(("epochs", "batch_size"), [(1, 64), (3, 9)])
    def test_several_updates_by_hand(
        self, solution: ModuleType, rng: np.random.Generator, entropy_coef: float, epochs: int, batch_size: int
    ) -> None:
        """Catches: gradients that add up, an optimizer made anew in each update, one network that stands still, an old rate."""
        options: dict[str, Any] = {"entropy_coef": entropy_coef, "epochs": epochs, "batch_size": batch_size}
        agent = doubled(agent_of(solution, learning_rate=5e-3, seed=6, **options))
        by_hand, permutations = Functional(agent), np.random.default_rng(6)
        optimizer = torch.optim.Adam(by_hand.parameters, lr=5e-3)
        for number, lengths in enumerate(((5, 9, 8), (30,), (2, 2, 2, 3))):
            batch = batch_of(agent, rng, sum(lengths))
            batch["advantage"] = (number + 1) * batch["advantage"] - number
            agent.episodes = cut(batch, *lengths)
            agent.anneal(number / 4)
            optimizer.param_groups[0]["lr"] = 5e-3 * (1 - number / 4)
            metrics = agent.update()

            batch["advantage"] = (batch["advantage"] - batch["advantage"].mean()) / batch["advantage"].std(correction=0)
            losses = []
            for _ in range(epochs):
                order = permutations.permutation(sum(lengths))
                for begin in range(0, len(order), batch_size):
                    rows = {name: value[order[begin : begin + batch_size]] for name, value in batch.items()}
                    policy_loss, value_loss = by_hand.policy_loss(rows), by_hand.value_loss(rows)
                    for parameter, slope in zip(
                        by_hand.parameters, torch.autograd.grad(policy_loss + value_loss, by_hand.parameters), strict=True
                    ):
                        parameter.grad = slope
                    optimizer.step()
                    losses.append((policy_loss.item(), value_loss.item()))
            expected = dict(zip(("policy_loss", "value_loss"), np.mean(losses, axis=0), strict=True))
            assert metrics == pytest.approx(expected, abs=1e-6)
            for ours, theirs in zip(Functional.of(agent), by_hand.parameters, strict=True):
                np.testing.assert_allclose(ours.detach(), theirs.detach(), rtol=0, atol=1e-6)

    def test_reproducible(self, solution: ModuleType, rng: np.random.Generator) -> None:
        """Catches: a shuffle by a generator that is not the agent's."""
        found = []
        for seed, other in ((1, 1), (1, 2), (2, 1)):
            agent = agent_of(solution, seed=seed, batch_size=5)
            agent.episodes = cut(batch_of(agent, np.random.default_rng(3), 23, dtype=torch.float32), 10, 13)
            np.random.seed(other), torch.manual_seed(other), random.seed(other)
            agent.update()
            found.append(np.concatenate([weights.ravel() for weights in weights_of(agent)]))
        np.testing.assert_array_equal(found[0], found[1])
        assert not np.array_equal(found[0], found[2])

    def test_equal_advantages(self, solution: ModuleType, rng: np.random.Generator) -> None:
        """Catches: a division by a standard deviation that is 0."""
        agent = agent_of(solution)
        batch = batch_of(agent, rng, 10, dtype=torch.float32)
        batch["advantage"][:] = 2.0
        agent.episodes = cut(batch, 10)
        seen = self.spied(agent)
        assert all(math.isfinite(value) for value in agent.update().values())
        assert all(not one["advantage"].any() for one in seen.policy)
        assert all(np.isfinite(weights).all() for weights in weights_of(agent))


# The loops


class Scripted(gym.Env):
    """Plays episodes of given lengths and ends; observations count, so that no two are equal, and lie in one array.

    ends: for each episode (length, terminated, truncated); the last one is repeated. Observation: [k, offset, k/2], with k the
    number of observations so far. Reward: 1, 2, 4, 8, ... in an episode.
    """

    observation_space = gym.spaces.Box(-np.inf, np.inf, (3,), np.float32)
    action_space = gym.spaces.Box(np.array([-0.5, -0.1], np.float32), np.array([0.5, 0.2], np.float32), (2,), np.float32)

    def __init__(self, *ends: tuple[int, bool, bool], offset: float = 0.0) -> None:
        self.log: list[tuple] = []
        self._ends = itertools.chain(ends, itertools.repeat(ends[-1]))
        self._array, self._offset, self._seen = np.zeros(3, dtype=np.float32), offset, 0

    def _look(self) -> NDArray:
        self._seen += 1
        self._array[:] = self._seen / 10, self._offset, self._seen / 20
        return self._array

    def reset(self, **options: Any) -> tuple[NDArray, dict]:
        self._end, self._time = next(self._ends), 0
        observation = self._look()
        self.log.append(("reset", options.get("seed"), observation.copy()))
        return observation, {}

    def step(self, action: NDArray) -> tuple[NDArray, float, bool, bool, dict]:
        assert self._time < self._end[0], "it is over"
        self._time += 1
        length, terminated, truncated = self._end
        over = self._time == length
        result = self._look(), float(2 ** (self._time - 1)), over and terminated, over and truncated
        self.log.append(("step", np.array(action), result[0].copy(), *result[1:]))
        return *result, {}

    def played(self) -> list[SimpleNamespace]:
        """Return the episodes: observations (one more than steps), actions, rewards, and how they ended."""
        episodes: list[SimpleNamespace] = []
        for kind, *rest in self.log:
            if kind == "reset":
                episodes.append(SimpleNamespace(observations=[rest[1]], actions=[], rewards=[], ends=(False, False)))
            else:
                action, observation, reward, *ends = rest
                episodes[-1].observations.append(observation)
                episodes[-1].actions.append(action)
                episodes[-1].rewards.append(reward)
                episodes[-1].ends = tuple(ends)
        return episodes


ENDS = ((3, True, False), (5, False, True), (1, True, True), (1, False, True), (4, True, False))
SCORES = (7.0, 31.0, 1.0, 1.0, 15.0)


def batched(*envs: gym.Env, mode: Any = AutoresetMode.NEXT_STEP, **options: Any) -> SyncVectorEnv:
    def maker(env: gym.Env) -> Callable[[], gym.Env]:
        return lambda: env

    return SyncVectorEnv([maker(env) for env in envs], autoreset_mode=mode, **options)


class Recorder:
    """Stands where an agent does: notes what it is told, and says at given calls of `backward` that it has learned."""

    def __init__(self, num_envs: int = 1, learns: Callable[[int], bool] = lambda call: False) -> None:
        self.events: list[tuple] = []
        self.rates: list[float] = []
        self.forgotten = [0] * num_envs
        self.memories = [SimpleNamespace(reset=lambda i=i: self._forget(i)) for i in range(num_envs)]
        self._learns, self._calls = learns, 0

    def _forget(self, index: int) -> None:
        self.forgotten[index] += 1

    def forward(self, observation: NDArray) -> NDArray:
        self.events.append(("forward", np.array(observation)))
        return np.full((*np.shape(observation)[:-1], 2), -7.0, dtype=np.float32)

    def backward(self, reward: Any, terminal: Any = False, truncated: Any = False) -> dict[str, float]:
        self.events.append(("backward", np.array(reward), np.array(terminal), np.array(truncated)))
        self._calls += 1
        return {"policy_loss": float(self._calls)} if self._learns(self._calls) else {}

    def anneal(self, progress: float) -> None:
        self.rates.append(progress)


def assert_same_events(found: list[tuple], expected: list[tuple]) -> None:
    assert [event[0] for event in found] == [event[0] for event in expected]
    for one, other in zip(found, expected, strict=True):
        for ours, theirs in zip(one[1:], other[1:], strict=True):
            np.testing.assert_array_equal(ours, theirs)


class TestFit:
    @pytest.mark.parametrize("steps", [1, 2, 3, 4, 8, 9, 10, 11, 14, 30])
    def test_protocol(self, training: ModuleType, steps: int) -> None:
        """Catches: extra calls that are missing, doubled or counted as steps; a new episode that is not begun."""
        env, agent = Scripted(*ENDS), Recorder()
        scores = training.fit(agent, env, steps, seed=9)
        expected: list[tuple] = []
        finished, seen, played = [], 1, 0
        for length, terminated, truncated in [*ENDS, *[ENDS[-1]] * 10]:
            for t in range(1, length + 1):
                if played == steps:
                    break
                played += 1
                expected.append(("forward", np.array([seen / 10, 0, seen / 20], np.float32)))
                seen += 1
                expected.append(("backward", 2.0 ** (t - 1), t == length and terminated, t == length and truncated))
                if t == length:
                    expected.append(("forward", np.array([seen / 10, 0, seen / 20], np.float32)))
                    expected.append(("backward", 0.0, False, False))
                    seen += 1
                    finished.append(2.0**length - 1)
        assert_same_events(agent.events, expected)
        assert scores == finished
        assert agent.forgotten == [1]
        taken = [event for event in env.log if event[0] == "step"]
        assert len(taken) == steps
        assert all(np.array_equal(event[1], np.array([-0.5, -0.1], np.float32)) for event in taken)  # -7 is out of range
        assert [event[1] for event in env.log if event[0] == "reset"] == [9] + [None] * len(finished)

    def test_scores_by_hand(self, training: ModuleType) -> None:
        """Catches: what the other computation has in common; the score of an episode that is not over."""
        assert training.fit(Recorder(), Scripted(*ENDS), 14) == list(SCORES)
        assert training.fit(Recorder(), Scripted(*ENDS), 13) == list(SCORES[:-1])
        assert training.fit(Recorder(), Scripted(*ENDS), 0) == []

    def test_updates(self, training: ModuleType) -> None:
        """Catches: updates of extra calls that nobody hears of; a rate that does not go down to 0."""
        told = []
        agent = Recorder(learns=lambda call: call in (2, 4, 10, 12, 19))
        training.fit(agent, Scripted(*ENDS), 14, on_update=lambda *update: told.append(update))
        # Calls 4, 10, 12, 14 and 19 are the extra ones after steps 3, 8, 9, 10 and 14.
        assert told == [(step, {"policy_loss": call}) for step, call in ((2, 2), (3, 4), (8, 10), (9, 12), (14, 19))]
        assert agent.rates == pytest.approx([2 / 14, 3 / 14, 8 / 14, 9 / 14, 1.0])
        for update in (3, 4):  # of the last step, and of the extra call
            agent = Recorder(learns=partial(operator.eq, update))
            training.fit(agent, Scripted(*ENDS), 3)  # nobody listens
            assert agent.rates == [1.0]

    @pytest.mark.parametrize("window", [1, 3])
    def test_data(self, solution: ModuleType, training: ModuleType, window: int) -> None:
        """Catches: what is learned from is not what was played: observations overwritten, clipped actions, shifted rewards."""
        env, agent = Scripted(*ENDS), agent_of(solution, window_length=window)
        agent.memories[0].append(np.ones(3), torch.ones(window, 3), torch.ones(2), torch.ones(1), 1.0, True, False)
        scores = training.fit(agent, env, 14)
        assert scores == list(SCORES)
        assert len(agent.episodes) == 5
        for found, played in zip(agent.episodes, env.played()[:5], strict=True):
            assert_learned(agent, found, played, window, 0.9, 0.95)
        assert agent.memories[0].rewards == []


def assert_learned(agent: Any, found: dict[str, Tensor], played: Any, window: int, gamma: float, lamb: float) -> None:
    """Compare what is to be learned from with what an environment has noted of one episode."""
    steps = len(played.rewards)
    padded = np.concatenate([np.zeros((window - 1, 3)), played.observations]).astype(np.float32)
    states = np.stack([padded[t : t + window] for t in range(steps + 1)])
    np.testing.assert_array_equal(found["state"], states[:-1])
    space = Scripted.action_space
    np.testing.assert_array_equal(np.clip(found["action"].numpy(), space.low, space.high), played.actions)
    log_prob = policy_of(agent, states[:-1]).log_prob(found["action"].double())
    np.testing.assert_allclose(found["log_prob"][:, 0], log_prob, **CLOSE)
    values = through(agent.critic, states)[:, 0]
    at_end = np.arange(steps) == steps - 1
    delta = errors_of_one_step(values[:-1], values[1:], np.array(played.rewards), gamma, at_end & played.ends[0])
    advantage = double_sum(delta, at_end, gamma * lamb)
    np.testing.assert_allclose(found["advantage"], advantage, **CLOSE)
    np.testing.assert_allclose(found["value_target"], advantage + values[:-1], **CLOSE)


class TestFitVector:
    SCRIPTS = (ENDS, ((2, False, True), (6, True, False)), ((1, True, False), (3, False, True)), ((50, True, False),))

    def expected(self, scripts: tuple, steps: int) -> SimpleNamespace:
        """Return what ought to happen, environment by environment: a step of its own begins every episode but the first."""
        timelines = []
        for ends in scripts:
            timeline, seen = [], 0  # (observation, reward, terminated, truncated, whether it only begins, score)
            for number, (length, terminated, truncated) in enumerate([*ends, *[ends[-1]] * 60]):
                if number:
                    timeline.append((seen, 0.0, False, False, True, None))
                seen += 1
                for t in range(1, length + 1):
                    over = t == length
                    score = 2.0**length - 1 if over else None
                    timeline.append((seen, 2.0 ** (t - 1), over and terminated, over and truncated, False, score))
                    seen += 1
            timelines.append(timeline)
        events: list[tuple] = []
        scores, played, counts = [], 0, []
        for now in zip(*timelines):  # noqa: B905
            if played >= steps:
                break
            observations = [[one[0] / 10, index, one[0] / 20] for index, one in enumerate(now)]
            events.append(("forward", np.array(observations, np.float32)))
            events.append(("backward", *([one[column] for one in now] for column in (1, 2, 3))))
            played += sum(not one[4] for one in now)
            counts.append(played)
            scores += [one[5] for one in now if one[5] is not None]
        return SimpleNamespace(events=events, scores=scores, counts=counts)

    @pytest.mark.parametrize("size", [1, 2, 3, 4])
    @pytest.mark.parametrize("steps", [1, 5, 13, 40])
    @pytest.mark.parametrize("copies", [True, False])
    def test_protocol(self, training: ModuleType, size: int, steps: int, copies: bool) -> None:
        """Catches: beginnings counted as steps, scores of one environment in another's, extra calls for all at once."""
        scripts = self.SCRIPTS[:size]
        envs = [Scripted(*ends, offset=index) for index, ends in enumerate(scripts)]
        told: list[tuple] = []
        agent = Recorder(size, learns=lambda call: call % 3 == 0)
        scores = training.fit_vector(agent, batched(*envs, copy=copies), steps, 5, lambda *update: told.append(update))
        expected = self.expected(scripts, steps)
        assert_same_events(agent.events, expected.events)
        assert scores == expected.scores
        assert all(type(score) is float for score in scores)
        assert agent.forgotten == [1] * size
        updates = [(count, {"policy_loss": call}) for call, count in enumerate(expected.counts, 1) if call % 3 == 0]
        assert told == updates
        assert agent.rates == pytest.approx([min(count / steps, 1.0) for count, _ in updates])
        taken = [event for env in envs for event in env.log if event[0] == "step"]
        assert len(taken) == expected.counts[-1]
        assert steps <= len(taken) < steps + size
        assert all(np.array_equal(event[1], np.array([-0.5, -0.1], np.float32)) for event in taken)
        assert [env.log[0][1] for env in envs] == [5 + index for index in range(size)]

    @pytest.mark.parametrize("window", [1, 2])
    @pytest.mark.parametrize("copies", [True, False])
    def test_data(self, solution: ModuleType, training: ModuleType, window: int, copies: bool) -> None:
        """Catches: episodes of several environments mixed up; the first observation of the next episode as the last one."""
        envs = [Scripted(*ends, offset=index) for index, ends in enumerate(self.SCRIPTS)]
        agent = agent_of(solution, num_envs=4, window_length=window, gamma=0.8, lamb=0.7)
        training.fit_vector(agent, batched(*envs, copy=copies), 70)
        for index, env in enumerate(envs):
            found = [episode for episode in agent.episodes if episode["state"][0, -1, 1] == index]
            over = [episode for episode in env.played() if any(episode.ends)]
            assert len(over) - len(found) in (0, 1)  # the extra call after the last step is none of the loop's
            assert len(over) > 2 or index == 3
            for one, other in zip(found, over, strict=False):
                assert_learned(agent, one, other, window, 0.8, 0.7)

    def test_one_environment_is_one_environment(self, solution: ModuleType, training: ModuleType) -> None:
        """Catches: two loops that teach different things."""
        options = {"episodes_per_update": 2, "epochs": 3, "batch_size": 4, "window_length": 2}
        one, other = agent_of(solution, **options), agent_of(solution, **options)
        told: tuple[list, list] = [], []
        steps = 31  # in the middle of an episode
        scores = training.fit(one, Scripted(*ENDS), steps, 3, lambda *update: told[0].append(update))
        vector = batched(Scripted(*ENDS))
        assert training.fit_vector(other, vector, steps, 3, lambda *update: told[1].append(update)) == scores
        assert len(told[0]) == 4
        assert told[0] == told[1]
        for ours, theirs in zip(weights_of(one), weights_of(other), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6)
        assert one.rng.bit_generator.state == other.rng.bit_generator.state
        np.testing.assert_array_equal(one.memories[0].observations, other.memories[0].observations)
        assert one.optimizer.param_groups[0]["lr"] == other.optimizer.param_groups[0]["lr"] < 1e-3

    @pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.DISABLED, None])
    def test_other_modes(self, training: ModuleType, mode: Any) -> None:
        """Catches: environments whose last observation is the first of the next episode, which no agent would notice."""
        envs = batched(Scripted(*ENDS), mode=mode or AutoresetMode.NEXT_STEP)
        if mode is None:
            envs.metadata = {}
        agent = Recorder()
        with pytest.raises(ValueError, match="NEXT_STEP"):
            training.fit_vector(agent, envs, 10)
        assert agent.events == []

    def test_default_of_gymnasium(self, solution: ModuleType, training: ModuleType) -> None:
        """Catches: a gymnasium whose default is another one, or whose first step after an end is none of its own."""
        envs = gym.make_vec("Pendulum-v1", num_envs=2, vectorization_mode="sync", max_episode_steps=5)
        agent = agent_of(solution, n=1, num_envs=2)
        assert len(training.fit_vector(agent, envs, 35, seed=1)) == 6
        assert [len(episode["state"]) for episode in agent.episodes] == [5] * 6
        envs.close()


class TestPlay:
    @pytest.mark.parametrize("is_training", [True, False])
    def test_leaves_the_agent_as_it_was(
        self, solution: ModuleType, training: ModuleType, rng: np.random.Generator, is_training: bool
    ) -> None:
        """Catches: a test that explores, learns, draws, mixes into episodes that are being played, or leaves a mode behind."""
        agent = agent_of(solution, num_envs=2, window_length=3, episodes_per_update=2)
        for number in range(6):
            agent.forward(normal(rng, 2, 3))
            agent.backward(np.ones(2), np.array([number == 2, False]))
        assert len(agent.episodes) == 1
        assert [len(memory.rewards) for memory in agent.memories] == [2, 6]
        agent.training = is_training
        memories, episodes = list(agent.memories), list(agent.episodes)
        kept, weights, state = copy.deepcopy([vars(one) for one in memories]), weights_of(agent), agent.rng.bit_generator.state
        env = Scripted(*ENDS)
        assert training.play(agent, env, [4, 8, 15, 16, 23]) == list(SCORES)

        assert agent.training is is_training
        assert len(agent.memories) == 2
        assert all(one is other for one, other in zip(agent.memories, memories, strict=True))
        for memory, before in zip(memories, kept, strict=True):
            for name, value in before.items():
                now = getattr(memory, name)
                assert len(now) == len(value) if isinstance(value, list) else now == value
                if isinstance(value, list):
                    assert all(np.array_equal(one, other) for one, other in zip(now, value, strict=True))
        assert len(agent.episodes) == 1
        assert agent.episodes[0] is episodes[0]
        assert all(np.array_equal(one, other) for one, other in zip(weights, weights_of(agent), strict=True))
        assert agent.rng.bit_generator.state == state
        assert [event[1] for event in env.log if event[0] == "reset"] == [4, 8, 15, 16, 23]
        for played in env.played():  # means of windows that begin anew in each episode
            padded = np.concatenate([np.zeros((2, 3)), played.observations]).astype(np.float32)
            states = np.stack([padded[t : t + 3] for t in range(len(played.rewards))])
            means = np.clip(through(agent.actor, states), env.action_space.low, env.action_space.high)
            np.testing.assert_allclose(played.actions, means, **CLOSE)

    def test_no_seeds(self, solution: ModuleType, training: ModuleType) -> None:
        """Catches: an episode that nobody asked for."""
        env = Scripted(*ENDS)
        assert training.play(agent_of(solution), env, []) == []
        assert env.log == []


class TestTrainingTools:
    def test_seed_everything(self, training: ModuleType) -> None:
        """Catches: a generator that is forgotten."""
        found = []
        for seed in (3, 3, 4):
            training.seed_everything(seed)
            found.append((random.random(), np.random.random(), torch.rand(1).item()))
        assert found[0] == found[1]
        assert not set(found[0]) & set(found[2])

    def test_clipped(self, training: ModuleType) -> None:
        """Catches: one bound for all dimensions; an action that is changed in place, or is no longer float32."""
        action = np.array([[-3.0, 0.15], [0.4, 3.0]], np.float32)
        found = training.clipped(action, Scripted.action_space)
        np.testing.assert_array_equal(found, np.array([[-0.5, 0.15], [0.4, 0.2]], np.float32))
        assert found.dtype == np.float32
        assert action[0, 0] == -3.0

    def test_forget(self, solution: ModuleType, training: ModuleType, rng: np.random.Generator) -> None:
        """Catches: episodes that go with what is not over."""
        agent = agent_of(solution, num_envs=2)
        agent.forward(normal(rng, 2, 3))
        agent.backward(1.0)
        agent.episodes = [{"state": torch.zeros(1)}]
        training.forget(agent)
        assert [memory.rewards for memory in agent.memories] == [[], []]
        assert len(agent.episodes) == 1
