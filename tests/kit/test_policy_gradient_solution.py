"""The reference solution of policy_gradient against independent computations. Docstrings name the mistakes."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

import utils
from tests.kit.loading import load

pytestmark = [pytest.mark.oracle, pytest.mark.recorded]

INPUTS = ("solutions/policy_gradient/submitted.py",)

# float32 sums of some ten numbers near 1, against float64
CLOSE: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-6}


@pytest.fixture(scope="module")
def solution() -> ModuleType:
    """The reference solution, loaded from its file: its folder is no package."""
    return load("solutions/policy_gradient/submitted.py")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20)


def reward_buffer(rewards: list, ends: list[int]) -> utils.RolloutBuffer:
    """Return a finalized buffer with these rewards and with terminated rows at `ends`, made as the course does."""
    dummy = torch.tensor([0])
    buffer = utils.RolloutBuffer()
    for row, reward in enumerate(rewards):
        buffer.add(action=dummy, logits=dummy, observation=dummy, terminated=row in ends, reward=reward)
    buffer.finalize()
    return buffer


class LinearPolicy(nn.Module):
    """log-softmax(W s): simple enough for a gradient by hand."""

    def __init__(self, weight: NDArray) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(weight, dtype=torch.float32))

    def forward(self, observation: Tensor) -> Tensor:
        return torch.log_softmax(observation @ self.weight.T, dim=-1)


class LinearValue(nn.Module):
    """w s + b, as `[batch, 1]`."""

    def __init__(self, weight: NDArray, bias: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(weight, dtype=torch.float32))
        self.bias = nn.Parameter(torch.tensor(bias, dtype=torch.float32))

    def forward(self, observation: Tensor) -> Tensor:
        return (observation @ self.weight + self.bias).unsqueeze(1)


def tensor(array: NDArray) -> Tensor:
    """Return integers as int64 and other numbers as float32."""
    return torch.tensor(array, dtype=torch.int64 if array.dtype.kind == "i" else torch.float32)


def gradient_of(parameter: Tensor) -> Tensor:
    """Return the gradient that `backward` has left there."""
    assert parameter.grad is not None
    return parameter.grad


def log_probabilities(weight: NDArray, observation: NDArray) -> NDArray:
    """Return what LinearPolicy does, in float64."""
    scores = observation @ weight.T
    return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))


def gradient_of_scores(weight: NDArray, observation: NDArray, action: NDArray, factors: NDArray) -> NDArray:
    """Return the gradient, with respect to W, of the mean over rows of factor * log π(a | s): softmax's, by hand."""
    probabilities = np.exp(log_probabilities(weight, observation))
    chosen = np.eye(len(weight))[action[:, 0]]
    return (factors * (chosen - probabilities)).T @ observation / len(observation)


class TestReturns:
    def test_table_of_seed_002(self, solution: ModuleType) -> None:
        """Catches: sums that run on into the next episode, and integer rewards that make integer returns."""
        episode = [1.9883, 3.9766, 5.9531, 7.9062, 9.8125, 11.6250, 13.2500, 14.5000, 15.0000, 14.0000, 10.0000]
        returns = solution.get_returns(reward_buffer([*range(11), *range(11)], ends=[10, 21]), discount_factor=0.5)
        assert returns.dtype == torch.float32
        assert returns.shape == (22, 1)
        assert returns.flatten().tolist() == pytest.approx(episode * 2, abs=5.1e-5)  # four decimals are printed

    @pytest.mark.parametrize("discount_factor", [0.0, 0.5, 0.95, 1.0])
    def test_agree_with_a_recursive_filter(
        self, solution: ModuleType, rng: np.random.Generator, discount_factor: float
    ) -> None:
        """Catches: an end that belongs to the wrong row, a lost tail, episodes of one step, γ off by a step."""
        from scipy.signal import lfilter

        for trial in range(30):
            size = int(rng.integers(1, 40))
            rewards = rng.normal(size=size) * 10
            ends = np.flatnonzero(rng.random(size) < rng.choice([0.0, 0.2, 0.6, 1.0]))
            # np.split after each end; with no tail the last piece is empty.
            episodes = [piece for piece in np.split(rewards, ends + 1) if len(piece)]
            expected = [lfilter([1], [1, -discount_factor], piece[::-1])[::-1] for piece in episodes]
            returns = solution.get_returns(reward_buffer(rewards.tolist(), ends.tolist()), discount_factor)
            assert returns.dtype == torch.float32
            assert returns.shape == (size, 1)
            np.testing.assert_allclose(returns[:, 0], np.concatenate(expected), rtol=1e-5, atol=1e-4, err_msg=str(trial))

    def test_default_discount_and_unfinished_tail(self, solution: ModuleType) -> None:
        """Catches: another default, and a tail that counts as nothing because it is unfinished."""
        returns = solution.get_returns(reward_buffer([1.0, 2.0, 4.0, 8.0], ends=[1]))
        assert returns.flatten().tolist() == pytest.approx([1 + 0.95 * 2, 2, 4 + 0.95 * 8, 8])

    def test_leave_the_buffer_as_it_is(self, solution: ModuleType) -> None:
        """Catches: returns summed up in place, in the rewards."""
        buffer = reward_buffer([1.0, 2.0, 4.0], ends=[1])
        solution.get_returns(buffer)
        assert buffer.rewards.tolist() == [1, 2, 4]
        assert buffer.terminateds.tolist() == [False, True, False]


class TestAdvantages:
    def test_are_returns_minus_values_standardized(self, solution: ModuleType, rng: np.random.Generator) -> None:
        """Catches: the sign, (T, 1) - (T,) broadcast to (T, T), no division or no mean, a gradient that is kept."""
        weight, bias = rng.normal(size=3), 0.7
        observations, returns = rng.normal(size=(11, 3)), 5 + 3 * rng.normal(size=(11, 1))
        advantages = solution.get_advantages(LinearValue(weight, bias), tensor(observations), tensor(returns))
        raw = returns[:, 0] - (observations @ weight + bias)
        either = [(raw - raw.mean()) / (raw.std(ddof=ddof) + 1e-10) for ddof in (0, 1)]  # both conventions are right
        assert advantages.shape == (11, 1)
        assert advantages.dtype == torch.float32
        assert not advantages.requires_grad
        assert any(np.allclose(advantages[:, 0], expected, **CLOSE) for expected in either)
        assert not np.allclose(*either, **CLOSE)  # the tolerance would notice a wrong scale of 5 %

    def test_of_a_constant_are_zero(self, solution: ModuleType) -> None:
        """Catches: a division by a standard deviation of 0, which makes every weight NaN."""
        value_net = LinearValue(np.array([0.0, 0.0]), 0.5)
        advantages = solution.get_advantages(value_net, torch.randn(6, 2), torch.full((6, 1), 2.0))
        assert advantages.tolist() == [[0.0]] * 6


class TestValueLoss:
    def test_value_and_gradient(self, solution: ModuleType, rng: np.random.Generator) -> None:
        """Catches: a sum or half of it, (B, 1) against (B,), a detached value, rewards in place of returns."""
        weight, bias = rng.normal(size=3), 0.7
        observation, returns = rng.normal(size=(7, 3)), rng.normal(size=(7, 1))
        network = LinearValue(weight, bias)
        loss = solution.get_value_net_loss(
            value_net=network, observation=tensor(observation), returns=tensor(returns),
            policy=None, old_logits=None, action=None, return_or_advantage=torch.full((7, 1), 9.0), ppo_clip=0.2,
        )  # fmt: skip
        error = observation @ weight + bias - returns[:, 0]
        assert loss.shape == ()
        assert loss.item() == pytest.approx((error**2).mean(), rel=1e-5)
        loss.backward()
        np.testing.assert_allclose(gradient_of(network.weight), 2 * error @ observation / 7, **CLOSE)
        np.testing.assert_allclose(gradient_of(network.bias), 2 * error.mean(), **CLOSE)


class TestVanillaLoss:
    def test_number_of_seed_002(self, solution: ModuleType) -> None:
        """Catches: the sum of the formula in place of the mean. The inputs come from torch's own stream."""
        policy = utils.SimpleReLuNetwork(3, 2, out_logsoftmax=True, fixed_init=[0.5, 0.5])
        torch.manual_seed(0)
        loss = solution.get_vanilla_policy_gradient_loss(
            policy=policy,
            observation=torch.rand((4, 3)),
            action=torch.randint(low=0, high=2, size=(4, 1)),
            return_or_advantage=torch.rand((4, 1)),
        )
        assert loss.shape == ()
        assert loss.item() == pytest.approx(0.3363, abs=5.1e-5)

    def test_value_and_gradient_by_hand(self, solution: ModuleType, rng: np.random.Generator) -> None:
        """Catches: the sign, the probability in place of its logarithm, (B, 1) times (B,), a detached policy."""
        weight, observation = rng.normal(size=(4, 3)), rng.normal(size=(9, 3))
        action, weights_of_rows = rng.integers(4, size=(9, 1)), rng.normal(size=(9, 1))
        policy = LinearPolicy(weight)
        loss = solution.get_vanilla_policy_gradient_loss(
            policy=policy, observation=tensor(observation), action=tensor(action),
            return_or_advantage=tensor(weights_of_rows), value_net=None, old_logits=None, returns=None, ppo_clip=0.2,
        )  # fmt: skip
        chosen = np.take_along_axis(log_probabilities(weight, observation), action, axis=1)
        assert loss.shape == ()
        assert loss.item() == pytest.approx(-(chosen * weights_of_rows).mean(), rel=1e-5)
        loss.backward()
        expected = -gradient_of_scores(weight, observation, action, weights_of_rows)
        np.testing.assert_allclose(gradient_of(policy.weight), expected, **CLOSE)

    def test_agrees_with_torch_distributions(self, solution: ModuleType) -> None:
        """Catches: the same on the real network, every parameter of it."""
        torch.manual_seed(1)
        policy = utils.SimpleReLuNetwork(4, 5, out_logsoftmax=True)
        observation, action, advantage = torch.randn(12, 4), torch.randint(5, (12, 1)), torch.randn(12, 1)
        log_probability = torch.distributions.Categorical(logits=policy(observation)).log_prob(action[:, 0])
        expected = -(log_probability * advantage[:, 0]).mean()
        loss = solution.get_vanilla_policy_gradient_loss(policy, observation, action, advantage)
        torch.testing.assert_close(loss, expected)
        parameters = list(policy.parameters())
        gradients = torch.autograd.grad(loss, parameters)
        torch.testing.assert_close(gradients, torch.autograd.grad(expected, parameters))
        assert all(gradient.abs().max() > 1e-4 for gradient in gradients)


class TestPPOLoss:
    # Far below, below, at, above and far above the clip range of 0.2, each with both signs of advantage.
    RATIOS = np.repeat([0.4, 0.75, 0.85, 1.0, 1.15, 1.25, 2.5], 2)[:, None]
    ADVANTAGES = np.array([1.5, -0.7, 0.9, -1.1, 0.4, -2.0, 1.2, -0.6, 0.8, -1.3, 2.0, -0.5, 0.3, -1.7])[:, None]

    def inputs(self, rng: np.random.Generator) -> dict[str, NDArray]:
        """Return inputs of the loss whose ratios are RATIOS, by old log-probabilities that are off by as much."""
        size = len(self.RATIOS)
        weight, observation = rng.normal(size=(4, 3)), rng.normal(size=(size, 3))
        action = rng.integers(4, size=(size, 1))
        # The entries of the other actions are noise: only the ratio of the action taken counts.
        old_logits = log_probabilities(weight, observation) + rng.normal(size=(size, 4))
        chosen = np.take_along_axis(log_probabilities(weight, observation), action, axis=1)
        np.put_along_axis(old_logits, action, chosen - np.log(self.RATIOS), axis=1)
        return {"weight": weight, "observation": observation, "action": action, "old_logits": old_logits}

    def loss(
        self, solution: ModuleType, policy: nn.Module, inputs: dict[str, NDArray], advantages: NDArray, **options: float
    ) -> Tensor:
        return solution.get_PPO_policy_gradient_loss(
            policy=policy, observation=tensor(inputs["observation"]), old_logits=tensor(inputs["old_logits"]),
            action=tensor(inputs["action"]), return_or_advantage=tensor(advantages), value_net=None, returns=None,
            **options,
        )  # fmt: skip

    @pytest.mark.parametrize("options", [{}, {"ppo_clip": 0.2}, {"ppo_clip": 0.3}, {"ppo_clip": 0.05}])
    def test_value_and_gradient_by_hand(
        self, solution: ModuleType, rng: np.random.Generator, options: dict[str, float]
    ) -> None:
        """Catches: max for min, a clip on one side or for one sign only, a fixed clip, a ratio upside down."""
        clip = options.get("ppo_clip", 0.2)
        inputs = self.inputs(rng)
        policy = LinearPolicy(inputs["weight"])
        loss = self.loss(solution, policy, inputs, self.ADVANTAGES, **options)
        # The two cases of the text: a positive advantage limits the ratio above, a negative one below.
        limited = np.where(self.ADVANTAGES > 0, np.minimum(self.RATIOS, 1 + clip), np.maximum(self.RATIOS, 1 - clip))
        assert loss.shape == ()
        assert loss.item() == pytest.approx(-(limited * self.ADVANTAGES).mean(), rel=1e-5)
        loss.backward()
        # A limited row has no gradient; another one has ρ A ∇ log π.
        factors = np.where(limited == self.RATIOS, self.RATIOS * self.ADVANTAGES, 0)
        assert 0 < (factors == 0).sum() < len(factors)
        expected = -gradient_of_scores(inputs["weight"], inputs["observation"], inputs["action"], factors)
        np.testing.assert_allclose(gradient_of(policy.weight), expected, **CLOSE)

    @pytest.mark.parametrize("row", range(14))
    def test_each_row_alone(self, solution: ModuleType, rng: np.random.Generator, row: int) -> None:
        """Catches: errors of two rows that cancel in a mean."""
        inputs = self.inputs(rng)
        alone = {name: array if name == "weight" else array[row : row + 1] for name, array in inputs.items()}
        ratio, advantage = self.RATIOS[row, 0], self.ADVANTAGES[row, 0]
        loss = self.loss(solution, LinearPolicy(inputs["weight"]), alone, self.ADVANTAGES[row : row + 1])
        expected = -min(ratio * advantage, float(np.clip(ratio, 0.8, 1.2)) * advantage)
        assert loss.item() == pytest.approx(expected, rel=1e-5)

    def test_gradient_is_the_vanilla_one_while_the_policy_has_not_moved(self, solution: ModuleType) -> None:
        """Catches: a gradient lost or doubled where both sides of the minimum are equal; a loss other than -mean(A)."""
        torch.manual_seed(1)
        policy = utils.SimpleReLuNetwork(4, 5, out_logsoftmax=True)
        observation, action, advantage = torch.randn(12, 4), torch.randint(5, (12, 1)), torch.randn(12, 1)
        batch = {"observation": observation, "action": action, "return_or_advantage": advantage}
        loss = solution.get_PPO_policy_gradient_loss(policy, old_logits=policy(observation).detach(), **batch)
        torch.testing.assert_close(loss, -advantage.mean())
        vanilla = solution.get_vanilla_policy_gradient_loss(policy, **batch)
        parameters = list(policy.parameters())
        torch.testing.assert_close(torch.autograd.grad(loss, parameters), torch.autograd.grad(vanilla, parameters))

    def test_agrees_with_torch_distributions(self, solution: ModuleType) -> None:
        """Catches: the same on the real network, against the log-probabilities of torch's own distributions."""
        torch.manual_seed(2)
        policy = utils.SimpleReLuNetwork(4, 5, out_logsoftmax=True)
        observation, action, advantage = torch.randn(200, 4), torch.randint(5, (200, 1)), torch.randn(200, 1)
        old_logits = torch.log_softmax(policy(observation).detach() + 0.5 * torch.randn(200, 5), dim=-1)
        new, old = (torch.distributions.Categorical(logits=logits) for logits in (policy(observation), old_logits))
        ratio = (new.log_prob(action[:, 0]) - old.log_prob(action[:, 0])).exp()
        clipped = torch.where(ratio > 1.2, 1.2, torch.where(ratio < 0.8, 0.8, ratio))
        expected = -torch.minimum(ratio * advantage[:, 0], clipped * advantage[:, 0]).mean()
        loss = solution.get_PPO_policy_gradient_loss(policy, observation, old_logits, action, advantage)
        torch.testing.assert_close(loss, expected)
        parameters = list(policy.parameters())
        torch.testing.assert_close(torch.autograd.grad(loss, parameters), torch.autograd.grad(expected, parameters))
        assert ratio.min() < 0.8
        assert ratio.max() > 1.2


class CountingEnv(utils.EnvInterface):
    """Every step has its own number, which the observation shows: so a row tells where it belongs.

    Episode e is e % 3 + 3 steps long. A step's reward is its number; the observation is (number, the last action + 1).
    """

    def __init__(self) -> None:
        self.number = self.episodes = 0

    def reset(self, seed: int | None = None) -> Tensor:
        self.left = self.episodes % 3 + 3
        self.episodes += 1
        return self.observe(0)

    def step(self, action: Tensor | int) -> tuple[Tensor, bool, float]:
        reward = float(self.number)
        self.number += 1
        self.left -= 1
        return self.observe(int(action) + 1), self.left == 0, reward

    def observe(self, last: int) -> Tensor:
        return torch.tensor([[float(self.number), float(last)]])


def numbered_policy(observation: Tensor) -> Tensor:
    """Return log-probabilities that differ from row to row, and that favor no action much."""
    scores = torch.sin(observation[:, :1] * torch.tensor([1.0, 2.0, 3.0]))
    return torch.log_softmax(scores, dim=-1)


class TestCollectRollouts:
    @pytest.mark.parametrize("dimensions", [1, 2])
    def test_rows_hold_what_belongs_together(self, solution: ModuleType, dimensions: int) -> None:
        """Catches: the observation after the action stored, logits, reward or flag of another step."""
        torch.manual_seed(0)
        size, length, rollouts = 6, 7, 5
        moves = np.array([[-1], [0], [1]] if dimensions == 1 else [[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]])
        env = utils.GridWorldPointTargetEnv(size, length, dimensions)
        env.reset(seed=0)
        policy = utils.SimpleReLuNetwork(2 * dimensions, len(moves), out_logsoftmax=True)
        buffer, mean_final_reward = solution.collect_rollouts(env, policy, rollouts)

        assert buffer.final_size == rollouts * length
        assert buffer.terminateds.tolist() == ([False] * (length - 1) + [True]) * rollouts
        torch.testing.assert_close(buffer.old_logits, policy(buffer.observations).detach())
        assert not buffer.old_logits.requires_grad
        positions = ((buffer.observations.numpy() + 1) * size / 2).round(4)
        target, state = positions[:, :dimensions], positions[:, dimensions:]
        after = np.clip(state + moves[buffer.actions[:, 0].numpy()], 0, size)
        distances = np.linalg.norm(after - target, axis=1)
        np.testing.assert_allclose(buffer.rewards, -distances / size, **CLOSE)
        inside = ~buffer.terminateds.numpy()[:-1]
        np.testing.assert_allclose(state[1:][inside], after[:-1][inside])
        np.testing.assert_allclose(target[1:][inside], target[:-1][inside])
        assert mean_final_reward == pytest.approx(buffer.rewards[buffer.terminateds].mean().item())
        assert len(set(buffer.actions[:, 0].tolist())) == len(moves)
        assert len(np.unique(positions[::length], axis=0)) > 1  # the episodes start anew

    def test_whole_episodes_of_different_lengths(self, solution: ModuleType) -> None:
        """Catches: a fixed number of steps, a reset too many, the mean reward in place of the mean last reward."""
        env = CountingEnv()
        buffer, mean_final_reward = solution.collect_rollouts(env, numbered_policy, 4)
        assert env.episodes == 4
        assert torch.nonzero(buffer.terminateds).flatten().tolist() == [2, 6, 11, 14]  # lengths 3, 4, 5, 3
        assert buffer.observations[:, 0].tolist() == buffer.rewards.tolist() == list(range(15))
        last_actions = torch.where(buffer.terminateds, -1, buffer.actions[:, 0])[:-1] + 1  # 0 after a reset
        assert buffer.observations[:, 1].tolist() == [0, *last_actions.tolist()]
        assert mean_final_reward == pytest.approx((2 + 6 + 11 + 14) / 4)

    def test_the_ring_of_seeds_decides_the_actions(self, solution: ModuleType) -> None:
        """Catches: a seed that is not passed on, a draw for nothing, greedy actions."""
        ring = np.array([3, 1, 4, 1, 5, 9, 2])
        buffer, _ = solution.collect_rollouts(CountingEnv(), numbered_policy, 4, seed=ring)
        again = np.array([3, 1, 4, 1, 5, 9, 2])
        expected = [utils.distribution_sample(logits[None], seed=again).item() for logits in buffer.old_logits]
        assert buffer.actions[:, 0].tolist() == expected
        assert ring.tolist() == again.tolist() == [1, 4, 1, 5, 9, 2, 3]  # 15 steps are twice around and one
        assert expected != buffer.old_logits.argmax(dim=1).tolist()


def record_batches(batches: list[dict[str, Any]], loss: Callable[..., Tensor], zero: bool = False) -> Callable[..., Tensor]:
    """Return a loss function that keeps the keywords of every call; with `zero` it is 0, so that nothing moves."""

    def recording(**batch: Any) -> Tensor:
        batches.append(batch)
        return loss(**batch) * (0.0 if zero else 1.0)

    return recording


class TestTraining:
    """CountingEnv's first four episodes have 15 rows, the next 16, the last 17: last minibatches of 7, 8 and 1 of 8."""

    SIZES = (15, 16, 17)

    def networks(self) -> tuple[utils.SimpleReLuNetwork, utils.SimpleReLuNetwork]:
        torch.manual_seed(3)
        return utils.SimpleReLuNetwork(2, 3, out_logsoftmax=True), utils.SimpleReLuNetwork(2, 1)

    def train(self, solution: ModuleType, **options: Any) -> dict[str, Any]:
        """Return what the training returned, the batches it used and its networks, after 3 collections."""
        batches: list[dict[str, Any]] = []
        actor, critic = self.networks()
        env = options.pop("env", None) or CountingEnv()
        use_critic, zero = options.pop("critic"), options.pop("zero", False)
        loss = record_batches(batches, options.pop("loss", solution.get_vanilla_policy_gradient_loss), zero)
        parameters = [*actor.parameters(), *(critic.parameters() if use_critic else [])]
        optimizer = torch.optim.SGD(parameters, lr=1e-3)
        if "scheduler" in options:
            options["lr_sched"] = options.pop("scheduler")(optimizer)
        if use_critic:
            options |= {"value_net": critic, "get_advantages": options.get("get_advantages", solution.get_advantages)}
        outputs = solution.train_policy_gradient(
            env=env, policy=actor, optimizer=optimizer, get_policy_gradient_loss=loss,
            get_returns=options.pop("get_returns", solution.get_returns), rollouts=10, rollouts_before_training=4,
            training_epochs_per_rollout=2, minibatch_size=8, **options,
        )  # fmt: skip
        names = ("actor_losses", "critic_losses", "final_rewards", "learning_rates")
        return dict(zip(names, outputs, strict=True)) | {
            "batches": batches, "actor": actor, "critic": critic, "env": env, "optimizer": optimizer,
        }  # fmt: skip

    def epochs(self, batches: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
        """Return the batches of each epoch: two epochs for each collection of SIZES rows."""
        counts = [math.ceil(size / 8) for size in self.SIZES for _ in range(2)]
        assert len(batches) == sum(counts)
        ends = np.cumsum(counts)
        return [batches[end - count : end] for end, count in zip(ends, counts, strict=True)]

    @pytest.mark.parametrize("critic", [False, True])
    def test_rollouts_are_rounded_up_to_whole_collections(
        self, solution: ModuleType, critic: bool, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Catches: 10 rollouts played as 8 or 10 with 4 a collection; too few or too many losses; no progress line."""
        done = self.train(solution, critic=critic)
        assert done["env"].episodes == 12
        assert done["env"].number == sum(self.SIZES)
        minibatches = 2 * (2 + 2 + 3)
        assert len(done["actor_losses"]) == len(done["batches"]) == minibatches
        assert len(done["critic_losses"]) == (minibatches if critic else 0)
        assert done["learning_rates"] == []
        # The last rewards are the numbers of the rows at which the episodes end.
        ends = np.cumsum([episode % 3 + 3 for episode in range(12)]) - 1
        assert done["final_rewards"] == pytest.approx(ends.reshape(3, 4).mean(axis=1))
        for values in (done["actor_losses"], done["critic_losses"], done["final_rewards"]):
            assert all(isinstance(value, float) for value in values)
        assert "\rRunning rollout 11/10" in capsys.readouterr().out

    def test_every_row_is_used_once_an_epoch_in_a_new_order(self, solution: ModuleType) -> None:
        """Catches: the short last minibatch dropped, rows drawn with replacement, one order for all epochs."""
        batches = self.train(solution, critic=False)["batches"]
        orders = []
        first = np.repeat(np.cumsum([0, *self.SIZES[:-1]]), 2)
        for epoch, size, begin in zip(self.epochs(batches), np.repeat(self.SIZES, 2), first, strict=True):
            numbers = [batch["observation"][:, 0].tolist() for batch in epoch]
            assert [len(rows) for rows in numbers] == [len(rows) for rows in torch.arange(size).split(8)]
            order = list(itertools.chain(*numbers))
            assert sorted(order) == list(range(begin, begin + size))
            assert order != sorted(order)
            orders.append([number - begin for number in order])
        assert orders[0] != orders[1]

    @pytest.mark.parametrize("critic", [False, True])
    def test_rows_of_a_minibatch_are_aligned(self, solution: ModuleType, critic: bool) -> None:
        """Catches: a permutation for each tensor, returns of the whole collection, advantages without a critic."""
        from scipy.signal import lfilter

        states = []

        def get_advantages(value_net: nn.Module, observations: Tensor, returns: Tensor) -> Tensor:
            states.append((value_net, observations.clone(), returns.clone()))
            return returns * 2 + 1

        options = {"get_advantages": get_advantages} if critic else {}
        done = self.train(solution, critic=critic, zero=True, ppo_clip=0.37, **options)
        taken: dict[int, tuple[int, float]] = {}  # action and return of each row
        for batch in done["batches"]:
            rows = len(batch["observation"])
            assert set(batch) == {
                "policy", "value_net", "observation", "old_logits",
                "action", "return_or_advantage", "returns", "ppo_clip",
            }  # fmt: skip
            assert batch["policy"] is done["actor"]
            assert batch["value_net"] is (done["critic"] if critic else None)
            assert batch["ppo_clip"] == 0.37
            shapes = {name: tuple(batch[name].shape) for name in ("old_logits", "action", "returns", "return_or_advantage")}
            assert shapes == {
                "old_logits": (rows, 3), "action": (rows, 1), "returns": (rows, 1), "return_or_advantage": (rows, 1),
            }  # fmt: skip
            # The loss is 0, so the policy is still the one that played: its outputs tell the row of old_logits.
            torch.testing.assert_close(batch["old_logits"], done["actor"](batch["observation"]).detach())
            weights = batch["returns"] * 2 + 1 if critic else batch["returns"]
            torch.testing.assert_close(batch["return_or_advantage"], weights)
            for number, action, value in zip(
                batch["observation"][:, 0].int().tolist(), batch["action"], batch["returns"], strict=True
            ):
                assert taken.setdefault(number, (action.item(), value.item())) == (action.item(), value.item())
        # The reward of a row is its number: so its returns follow from the lengths of the episodes alone.
        rewards, ends = np.arange(48.0), np.cumsum([episode % 3 + 3 for episode in range(12)])
        episodes = np.split(rewards, ends[:-1])
        expected = np.concatenate([lfilter([1], [1, -0.95], episode[::-1])[::-1] for episode in episodes])
        np.testing.assert_allclose([taken[number][1] for number in range(48)], expected, rtol=1e-5)
        # And its action is in the next observation of the same episode, which is a row of some batch as well.
        shown = {row[0]: row[1] for batch in done["batches"] for row in batch["observation"].tolist()}
        for number in range(47):
            assert shown[number + 1] == (0 if number + 1 in ends else taken[number][0] + 1)
        assert [len(observations) for _, observations, _ in states] == (list(self.SIZES) if critic else [])
        assert all(value_net is done["critic"] for value_net, _, _ in states)

    @pytest.mark.parametrize("loss", ["get_vanilla_policy_gradient_loss", "get_PPO_policy_gradient_loss"])
    @pytest.mark.parametrize("multiplier", [None, 0.5])
    def test_weights_and_losses_follow_from_the_batches(
        self, solution: ModuleType, loss: str, multiplier: float | None
    ) -> None:
        """Catches: no zero_grad, no step, a critic loss that is left out, detached or counted in full; wrong losses."""
        critic = multiplier is not None
        get_loss = getattr(solution, loss)
        options = {"critic_loss_multiplier": multiplier} if critic else {}
        done = self.train(solution, critic=critic, loss=get_loss, **options)
        # Plain gradient descent over the same batches, on networks that start the same.
        actor, value_net = self.networks()
        before = [parameter.detach().clone() for parameter in (*actor.parameters(), *value_net.parameters())]
        actor_losses, critic_losses = [], []
        for batch in done["batches"]:
            actor_loss = get_loss(**batch | {"policy": actor})
            actor_losses.append(actor_loss.item())
            updates = list(zip(actor.parameters(), torch.autograd.grad(actor_loss, list(actor.parameters())), strict=True))
            if critic:
                critic_loss = ((value_net(batch["observation"]) - batch["returns"]) ** 2).mean()
                critic_losses.append(critic_loss.item())
                gradients = torch.autograd.grad(multiplier * critic_loss, list(value_net.parameters()))
                updates += zip(value_net.parameters(), gradients, strict=True)
            with torch.no_grad():
                for parameter, gradient in updates:
                    parameter.sub_(1e-3 * gradient)
        np.testing.assert_allclose(done["actor_losses"], actor_losses, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(done["critic_losses"], critic_losses, rtol=1e-4, atol=1e-5)
        trained = [*done["actor"].parameters(), *done["critic"].parameters()]
        replayed = [*actor.parameters(), *value_net.parameters()]
        for parameter, expected, start in zip(trained, replayed, before, strict=True):
            torch.testing.assert_close(parameter - start, expected - start, rtol=1e-3, atol=1e-6)
        moved = [not torch.equal(parameter, start) for parameter, start in zip(trained, before, strict=True)]
        actor_size = len(list(actor.parameters()))
        assert all(moved[:actor_size])
        assert all(moved[actor_size:]) if critic else not any(moved[actor_size:])

    def test_advantages_are_recomputed_once_a_collection(self, solution: ModuleType) -> None:
        """Catches: advantages of each minibatch (standardized over 8 rows), and those of the first collection kept."""
        done = self.train(solution, critic=True, zero=True, critic_loss_multiplier=0.0)
        # Nothing moves (both losses are multiplied by 0), so the advantages follow from the untouched critic.
        for epoch in self.epochs(done["batches"]):
            rows = torch.cat([batch["observation"] for batch in epoch])
            returns = torch.cat([batch["returns"] for batch in epoch])
            raw = (returns - done["critic"](rows)).detach().numpy()[:, 0]
            advantages = torch.cat([batch["return_or_advantage"] for batch in epoch]).numpy()[:, 0]
            standardized = [(raw - raw.mean()) / raw.std(ddof=ddof) for ddof in (0, 1)]
            assert any(np.allclose(advantages, expected, rtol=1e-4, atol=1e-5) for expected in standardized)

    def test_scheduler_steps_once_a_collection(self, solution: ModuleType) -> None:
        """Catches: a step for each epoch or minibatch, the rate before the step returned, no step at all."""
        done = self.train(
            solution, critic=False, scheduler=lambda optimizer: torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
        )
        assert done["learning_rates"] == pytest.approx([5e-4, 2.5e-4, 1.25e-4])
        assert done["optimizer"].param_groups[0]["lr"] == pytest.approx(1.25e-4)

    def test_given_functions_are_used(self, solution: ModuleType) -> None:
        """Catches: the module's own get_returns or value loss called in place of the one handed over."""
        calls = []

        def get_returns(buffer: utils.RolloutBuffer) -> Tensor:
            assert buffer.final_size is not None
            return torch.full((buffer.final_size, 1), 7.0)

        def get_value_net_loss(**batch: Any) -> Tensor:
            calls.append(batch)
            return batch["value_net"](batch["observation"]).sum() * 0 + 5

        done = self.train(solution, critic=True, get_returns=get_returns, get_value_net_loss=get_value_net_loss)
        assert done["critic_losses"] == [5.0] * 14
        assert all((batch["returns"] == 7).all() for batch in done["batches"])
        assert [set(call) for call in calls] == [set(batch) for batch in done["batches"]]

    def test_rollout_seed_is_the_ring_of_the_rollouts(self, solution: ModuleType) -> None:
        """Catches: a seed that is lost on the way to distribution_sample, or used for the minibatches as well."""
        ring = np.arange(100)
        self.train(solution, critic=False, rollout_seed=ring)
        assert ring[0] == sum(self.SIZES)  # one turn for each step

    def test_signature_is_the_one_that_the_assignment_states(self, solution: ModuleType) -> None:
        """Catches: a renamed argument or another default: notebook and drivers call with these keywords."""
        parameters = inspect.signature(solution.train_policy_gradient).parameters
        required = ["env", "policy", "optimizer", "get_policy_gradient_loss", "get_returns"]
        assert list(parameters)[:5] == required
        defaults = {name: parameter.default for name, parameter in parameters.items() if name not in required}
        assert defaults == {
            "lr_sched": None, "rollouts": 1, "rollouts_before_training": 1, "training_epochs_per_rollout": 1,
            "minibatch_size": 64, "ppo_clip": 0.2, "critic_loss_multiplier": 0.0, "value_net": None,
            "get_advantages": None, "get_value_net_loss": solution.get_value_net_loss, "rollout_seed": None,
        }  # fmt: skip
