"""Proximal policy optimization for continuous control: the file that you submit.

Fill in every place marked YOUR CODE HERE. Work from top to bottom, and run `python grade.py` as often
as you like. Keep names, arguments and return values as they are; you may add helper functions and
imports.

Terms: T is the number of steps in a trajectory, B the number of rows in a minibatch, A the number of
action dimensions, N the number of environments in a batched environment. A *trajectory* is a dictionary
of arrays with one row per step, plus the key `state`; runners.py describes its entries.

This assignment follows the course *Practical RL* (YSDA and HSE), week 9: PPO with generalized
advantage estimation on HalfCheetah. The course follows Schulman et al. 2017, "Proximal policy
optimization algorithms", and 2016, "High-dimensional continuous control using generalized
advantage estimation".
"""

import math

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Independent, Normal

from runners import BootstrapTruncated, EnvRunner


class Summaries(gym.Wrapper):
    """A wrapper that behaves exactly like its environment and records the result of each episode.

    Args:
        env: The environment. Wrap `Normalize` around this wrapper, so that this wrapper sees the
            raw rewards.
        writer: None, or a TensorBoard writer: `writer.add_scalar(tag, value, global_step)`.
        window: Number of returns in the moving average.

    Attributes:
        episode_returns: List of floats; the undiscounted sum of rewards of each episode.
        episode_lengths: List of ints; the number of steps of each episode.
        moving_averages: List of floats; after each episode, the mean of the latest `window` returns,
            or of all returns if there are fewer.
        interactions: The number of steps so far, in all episodes together.

    The three lists have one entry for each episode that has ended, terminated or truncated. An
    episode that `reset` interrupts leaves no entry. At the end of an episode, write the tags
    "episode_return", "episode_length" and "moving_average" to the writer, with `interactions` as
    `global_step`.
    """

    def __init__(self, env: gym.Env, writer=None, window: int = 100) -> None:
        super().__init__(env)
        self.writer = writer
        self.window = window
        self.episode_returns: list[float] = []
        self.episode_lengths: list[int] = []
        self.moving_averages: list[float] = []
        self.interactions = 0
        self._return = 0.0
        self._length = 0

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        """Return (observation, reward, terminated, truncated, info), exactly as the environment does."""
        # BEGIN SOLUTION Summaries
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.interactions += 1
        self._return += float(reward)
        self._length += 1
        if terminated or truncated:
            self.episode_returns.append(self._return)
            self.episode_lengths.append(self._length)
            self.moving_averages.append(float(np.mean(self.episode_returns[-self.window :])))
            if self.writer is not None:
                self.writer.add_scalar("episode_return", self._return, self.interactions)
                self.writer.add_scalar("episode_length", self._length, self.interactions)
                self.writer.add_scalar("moving_average", self.moving_averages[-1], self.interactions)
        return observation, reward, terminated, truncated, info
        # END SOLUTION

    def reset(self, **kwargs) -> tuple[np.ndarray, dict]:
        """Return (observation, info), exactly as the environment does.

        Args:
            kwargs: `seed` and `options`; pass them on.
        """
        # BEGIN SOLUTION Summaries
        self._return = 0.0
        self._length = 0
        return self.env.reset(**kwargs)
        # END SOLUTION


class Model(nn.Module):
    """Two networks, one for the policy and one for the value function, and one vector for the variance.

    Args:
        obs_dim: Number of values in an observation.
        act_dim: A.

    Each network is Linear(64), tanh, Linear(64), tanh, Linear. Make all weight matrices orthogonal
    with gain √2 (`nn.init.orthogonal_`), and all biases zero. The policy's covariance is diagonal
    and the same in every state. The logarithm of its diagonal is one learned vector of A numbers,
    zero at first. The exponential of this vector is the *variance*, not the standard deviation.
    """

    def __init__(self, obs_dim: int, act_dim: int) -> None:
        super().__init__()
        # BEGIN SOLUTION Model.layers
        self.policy_net = self._network(obs_dim, act_dim)
        self.value_net = self._network(obs_dim, 1)
        self.log_variance = nn.Parameter(torch.zeros(act_dim))

    @staticmethod
    def _network(inputs: int, outputs: int) -> nn.Sequential:
        layers = [nn.Linear(inputs, 64), nn.Linear(64, 64), nn.Linear(64, outputs)]
        for layer in layers:
            nn.init.orthogonal_(layer.weight, gain=math.sqrt(2))
            nn.init.zeros_(layer.bias)
        return nn.Sequential(layers[0], nn.Tanh(), layers[1], nn.Tanh(), layers[2])
        # END SOLUTION

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return (mean of the policy `[B, A]`, its variance `[A]`, value `[B, 1]`), float32.

        Args:
            observations: float32 `[B, obs_dim]`, or one observation, `[obs_dim]`. For one
                observation, the results have no axis B.

        The variance may also be repeated for each observation, `[B, A]`, and the value may be `[B]`.
        """
        # BEGIN SOLUTION Model.forward
        return self.policy_net(observations), self.log_variance.exp(), self.value_net(observations)
        # END SOLUTION


class Policy:
    """A Gaussian policy that uses a model.

    Args:
        model: Returns (mean, variance, value) for observations, as `Model` does.
    """

    def __init__(self, model: nn.Module) -> None:
        self.model = model

    def act(self, inputs: np.ndarray, training: bool = False) -> dict:
        """Return sampled actions, log-probabilities and values; for training, return the distribution and values.

        Args:
            inputs: One observation `[obs_dim]`, or a batch `[B, obs_dim]`; a floating-point array of
                any precision.
            training: False to act, True to train.

        Returns:
            With training=False: NumPy arrays, without a gradient.
                actions: float32 `[A]` or `[B, A]`; sampled from the policy, not clipped.
                log_probs: float32 `[]` or `[B]`; log π of these actions, one number for the whole
                    action vector.
                values: float32 `[1]` or `[B, 1]`; V.
            With training=True: torch, with a gradient.
                distribution: MultivariateNormal, or Independent(Normal), whose `log_prob(actions)`
                    is `[B]`.
                values: float32 `[B, 1]`.
        """
        if training:
            # BEGIN SOLUTION Policy.training
            mean, variance, values = self.model(torch.as_tensor(inputs, dtype=torch.float32))
            # A diagonal covariance means independent dimensions. Without validation, this takes a third less time.
            distribution = Independent(Normal(mean, variance.sqrt(), validate_args=False), 1, validate_args=False)
            return {"distribution": distribution, "values": values}
            # END SOLUTION
        # BEGIN SOLUTION Policy.sampling
        with torch.inference_mode():
            mean, variance, values = self.model(torch.as_tensor(inputs, dtype=torch.float32))
            # The distribution above would work, too. Written out, this takes half the time, and it runs at every step.
            noise = torch.randn_like(mean)
            actions = mean + variance.sqrt() * noise
            log_probs = -0.5 * (noise**2 + torch.log(2 * math.pi * variance)).sum(-1)
        return {"actions": actions.numpy(), "log_probs": log_probs.numpy(), "values": values.numpy()}
        # END SOLUTION


class AsArray:
    """Converts the lists of a trajectory to arrays, in place."""

    def __call__(self, trajectory: dict) -> None:
        for key, value in trajectory.items():
            if key != "state":
                trajectory[key] = np.asarray(value)


class GAE:
    """Generalized advantage estimation (GAE), a transformation of trajectories.

    Args:
        policy: `act(observation)["values"]` is V.
        gamma: γ.
        lambda_: λ.
    """

    def __init__(self, policy: Policy, gamma: float = 0.99, lambda_: float = 0.95) -> None:
        self.policy = policy
        self.gamma = gamma
        self.lambda_ = lambda_

    def __call__(self, trajectory: dict) -> None:
        """Add `advantages`, shaped like `rewards`, and `value_targets`, shaped like `values`, to the trajectory.

        Args:
            trajectory: Changed in place. You need these entries:
                rewards: float `[T]`, or `[T, N]` from a batched environment.
                resets: bool, shaped like rewards.
                values: `[T, 1]`, or `[T, N, 1]` or `[T, N]`; V of `observations`.
                state["latest_observation"]: `[obs_dim]` or `[N, obs_dim]`; the observation after
                    the last step. `values` does not contain its value: call the policy.

        The advantages are A_t = δ_t + γλ A_{t+1} with δ_t = r_t + γ V(s_{t+1}) - V(s_t). The value
        targets are A_t + V(s_t).

        Where `resets[t]` is True, the next row belongs to another episode, so row t must not use
        it. Your code need not know whether the end was a truncation. If it was,
        `BootstrapTruncated` has already added γ V(s_{t+1}) to r_t; do not add it again.

        (Schulman et al. 2016, eq. 11 to 16. *Practical RL* writes γ^T V(s_T) in the T-step
        advantage; this is a typo for γ^(T-t) V(s_T), because the discount counts from t.)
        """
        # BEGIN SOLUTION GAE
        rewards = trajectory["rewards"]
        values = trajectory["values"].reshape(rewards.shape)
        latest = np.asarray(self.policy.act(trajectory["state"]["latest_observation"])["values"])
        next_values = np.concatenate([values[1:], latest.reshape(1, *rewards.shape[1:])])
        continues = 1.0 - trajectory["resets"]
        deltas = rewards + self.gamma * continues * next_values - values
        advantages = np.empty_like(deltas)
        advantage = 0.0
        for t in reversed(range(len(deltas))):
            advantage = deltas[t] + self.gamma * self.lambda_ * continues[t] * advantage
            advantages[t] = advantage
        trajectory["advantages"] = advantages.astype(np.float32)
        trajectory["value_targets"] = (advantages + values).astype(np.float32).reshape(trajectory["values"].shape)
        # END SOLUTION


class TrajectorySampler:
    """Splits each trajectory of a runner into minibatches, for several epochs.

    Args:
        runner: `get_next()` returns a trajectory of arrays.
        num_epochs: Number of epochs for which each trajectory is used.
        num_minibatches: Number of minibatches into which the rows of an epoch are split.
        transforms: Functions that are called on each minibatch, in this order. They may replace
            entries of the dictionary, but they do not modify its arrays.

    Attributes:
        trajectory: The current trajectory; None at first.
        epoch_count: Number of epochs of this trajectory that are finished.
        minibatch_count: Number of minibatches of this epoch that were returned.
    """

    def __init__(self, runner: EnvRunner, num_epochs: int, num_minibatches: int, transforms=None) -> None:
        self.runner = runner
        self.num_epochs = num_epochs
        self.num_minibatches = num_minibatches
        self.transforms = transforms or []
        self.minibatch_count = 0
        self.epoch_count = 0
        self.trajectory = None

    def shuffle_trajectory(self) -> None:
        """Shuffle the rows of `trajectory`, in the same order for every key; `state` has no rows.

        Call it at the beginning of *every* epoch.
        """
        # BEGIN SOLUTION TrajectorySampler.shuffle_trajectory
        order = np.random.permutation(len(self.trajectory["rewards"]))
        for key, value in self.trajectory.items():
            if key != "state":
                self.trajectory[key] = value[order]
        # END SOLUTION

    def get_next(self) -> dict:
        """Return the next minibatch, after the transforms: a new dictionary with B rows for each key.

        Every epoch uses each row of the trajectory once. It has exactly `num_minibatches`
        minibatches, whose sizes differ by at most one. After `num_epochs` epochs, get the next
        trajectory from the runner. Flatten a trajectory of a batched environment, `[T, N, ...]`, to
        T·N rows first. Pass the transforms a new dictionary, so that they do not change the
        trajectory. A minibatch may contain `state`, or leave it out.
        """
        # BEGIN SOLUTION TrajectorySampler.get_next
        if self.trajectory is None or self.epoch_count == self.num_epochs:
            self.trajectory = self._as_rows(self.runner.get_next())
            self.epoch_count = self.minibatch_count = 0
        if self.minibatch_count == 0:
            self.shuffle_trajectory()
        size = len(self.trajectory["rewards"])
        start = self.minibatch_count * size // self.num_minibatches
        end = (self.minibatch_count + 1) * size // self.num_minibatches
        minibatch = {key: value[start:end] for key, value in self.trajectory.items() if key != "state"}
        self.minibatch_count += 1
        if self.minibatch_count == self.num_minibatches:
            self.minibatch_count = 0
            self.epoch_count += 1
        for transform in self.transforms:
            transform(minibatch)
        return minibatch

    @staticmethod
    def _as_rows(trajectory: dict) -> dict:
        steps_and_envs = trajectory["rewards"].shape
        return {
            key: value if key == "state" else value.reshape(-1, *value.shape[len(steps_and_envs) :])
            for key, value in trajectory.items()
        }
        # END SOLUTION


class NormalizeAdvantages:
    """Replaces the advantages in a minibatch by normalized ones, with mean 0 and variance 1."""

    def __call__(self, trajectory: dict) -> None:
        advantages = trajectory["advantages"]
        trajectory["advantages"] = (advantages - advantages.mean()) / (advantages.std() + 1e-8)


def make_ppo_runner(
    env: gym.Env,
    policy: Policy,
    num_runner_steps: int = 2048,
    gamma: float = 0.99,
    lambda_: float = 0.95,
    num_epochs: int = 10,
    num_minibatches: int = 32,
) -> TrajectorySampler:
    """Return a sampler that plays with `policy`, computes advantages and yields minibatches."""
    runner_transforms = [AsArray(), BootstrapTruncated(policy, gamma), GAE(policy, gamma=gamma, lambda_=lambda_)]
    runner = EnvRunner(env, policy, num_runner_steps, transforms=runner_transforms)
    return TrajectorySampler(runner, num_epochs=num_epochs, num_minibatches=num_minibatches, transforms=[NormalizeAdvantages()])


class PPO:
    """Proximal policy optimization.

    Args:
        policy: Your `Policy`.
        optimizer: Has the parameters of the policy's model.
        cliprange: ε, for ratios and for values.
        value_loss_coef: Weight of the value loss.
        max_grad_norm: The global gradient norm (of all parameters together) is clipped to this
            value.

    There is no entropy bonus: HalfCheetah does not need one.
    """

    def __init__(
        self,
        policy: Policy,
        optimizer: torch.optim.Optimizer,
        cliprange: float = 0.2,
        value_loss_coef: float = 0.25,
        max_grad_norm: float = 0.5,
    ) -> None:
        self.policy = policy
        self.optimizer = optimizer
        self.cliprange = cliprange
        self.value_loss_coef = value_loss_coef
        self.max_grad_norm = max_grad_norm

    def policy_loss(self, trajectory: dict, act: dict) -> Tensor:
        """Return -mean(min(ρA, clip(ρ, 1 - ε, 1 + ε) A)), a scalar with a gradient.

        Args:
            trajectory: A minibatch with these recorded arrays:
                actions: `[B, A]`.
                log_probs: `[B]`.
                advantages: `[B]`.
            act: The current result of `policy.act(..., training=True)`: `distribution`, `values`.

        ρ = π(a|s) / π_old(a|s). The numerator comes from the distribution in `act`, the denominator
        from the recorded log-probability, both for the recorded action. ρ is 1 as long as the
        policy has not changed. (Schulman et al. 2017, eq. 7.)
        """
        # BEGIN SOLUTION PPO.policy_loss
        advantages = torch.as_tensor(trajectory["advantages"])
        log_probs = act["distribution"].log_prob(torch.as_tensor(trajectory["actions"]))
        ratio = torch.exp(log_probs - torch.as_tensor(trajectory["log_probs"]))
        clipped_ratio = ratio.clamp(1 - self.cliprange, 1 + self.cliprange)
        return -torch.min(ratio * advantages, clipped_ratio * advantages).mean()
        # END SOLUTION

    def value_loss(self, trajectory: dict, act: dict) -> Tensor:
        """Return mean(max((V - G)², (V_old + clip(V - V_old, -ε, ε) - G)²)), a scalar with a gradient.

        Args:
            trajectory: A minibatch with these recorded arrays:
                values: `[B, 1]`; V_old.
                value_targets: `[B, 1]`; G.
            act: The current result of `policy.act(..., training=True)`; `values` `[B, 1]` is V.

        The maximum is taken in each row, before the mean. Because the larger error counts, moving a
        value far from V_old is not rewarded.
        """
        # BEGIN SOLUTION PPO.value_loss
        values, targets = act["values"], torch.as_tensor(trajectory["value_targets"])
        old_values = torch.as_tensor(trajectory["values"])
        clipped_values = old_values + (values - old_values).clamp(-self.cliprange, self.cliprange)
        return torch.max((values - targets) ** 2, (clipped_values - targets) ** 2).mean()
        # END SOLUTION

    def loss(self, trajectory: dict) -> Tensor:
        """Return policy loss + value_loss_coef · value loss for a minibatch, a scalar."""
        act = self.policy.act(trajectory["observations"], training=True)
        policy_loss = self.policy_loss(trajectory, act)
        value_loss = self.value_loss(trajectory, act)
        return policy_loss + self.value_loss_coef * value_loss

    def step(self, trajectory: dict) -> None:
        """Take one optimizer step on a minibatch, with the global gradient norm clipped to `max_grad_norm`."""
        # BEGIN SOLUTION PPO.step
        loss = self.loss(trajectory)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.policy.model.parameters(), self.max_grad_norm)
        self.optimizer.step()
        # END SOLUTION


def anneal_learning_rate(
    optimizer: torch.optim.Optimizer, interactions: int, total_interactions: int, initial: float = 3e-4
) -> None:
    """Anneal the learning rate of every parameter group linearly from `initial` to 0.

    Args:
        optimizer: `param_groups` is a list of dictionaries, each with "lr".
        interactions: Number of interactions so far.
        total_interactions: Number of interactions in the whole training run. Once `interactions`
            reaches it, the rate is 0, never negative.
        initial: The rate at the beginning.
    """
    # BEGIN SOLUTION anneal_learning_rate
    remaining = max(1 - interactions / total_interactions, 0.0)
    for group in optimizer.param_groups:
        group["lr"] = initial * remaining
    # END SOLUTION
