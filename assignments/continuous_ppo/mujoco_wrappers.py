"""`Normalize`, the wrapper that brings observations and rewards to a size that networks like. Given; do not change it."""

from __future__ import annotations

from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np


class RunningMoments:
    """Mean and variance of everything seen so far, each of float64 `shape`.

    Args:
        shape: The shape of one value.

    The variance is that of the population: dividing by the count, as `np.var` does.

    (Welford 1962: no sum of squares, no cancellation.)
    """

    def __init__(self, shape: tuple[int, ...] = ()) -> None:
        self.count = 0
        self.mean = np.zeros(shape)
        self._squares = np.zeros(shape)  # sum over all values of (value - mean)²

    def update(self, value: np.ndarray | float) -> None:
        """Take one more value into account."""
        self.count += 1
        before = value - self.mean
        self.mean = self.mean + before / self.count
        self._squares = self._squares + before * (value - self.mean)

    @property
    def variance(self) -> np.ndarray:
        """The variance so far; 1 before the first value."""
        return self._squares / self.count if self.count else np.ones_like(self._squares)


class Normalize(gym.Wrapper):
    """Observations with mean 0 and variance 1, and rewards of a size that does not depend on the task.

    Args:
        env: A gymnasium environment with a Box of observations; `Summaries` must be inside, so that
            it sees the raw rewards.
        obs, ret: Whether observations and rewards are normalised.
        clipobs, cliprew: Afterwards, observations and rewards are clipped to ± this.
        gamma: γ of the discounted return.
        epsilon: Added to variances.

    Attributes:
        training: False freezes all statistics, as for an evaluation.
        observation_moments, return_moments: The statistics.

    The observation becomes (o - mean) / std, float32, by the running mean and standard deviation of
    all observations. The reward becomes r / std of the running discounted return G ← γ G + r. Only
    its scale changes. G is reset to 0 with every episode.

    *Practical RL*, week 9, says that the running *mean* is subtracted from rewards as well, and
    that both are divided by the *variance*. Its code does neither, rightly. Subtracting a constant
    from every reward changes what is best where episodes can differ in length: of two robots that
    earn 1 a step, the one that falls early would suddenly be as good as the one that keeps walking.
    And only dividing by the *standard deviation* gives numbers without a unit, of variance 1.
    (gymnasium's NormalizeReward neither clips nor resets G.)
    """

    def __init__(
        self,
        env: gym.Env,
        obs: bool = True,
        ret: bool = True,
        clipobs: float = 10.0,
        cliprew: float = 10.0,
        gamma: float = 0.99,
        epsilon: float = 1e-8,
    ) -> None:
        super().__init__(env)
        self.obs, self.ret = obs, ret
        self.clipobs, self.cliprew = clipobs, cliprew
        self.gamma, self.epsilon = gamma, epsilon
        self.training = True
        shape: Any = env.observation_space.shape
        self.observation_moments = RunningMoments(shape)
        self.return_moments = RunningMoments()
        self._return = 0.0
        if obs:
            self.observation_space = gym.spaces.Box(-clipobs, clipobs, shape, np.float32)

    def reset(self, **options: Any) -> tuple[np.ndarray, dict[str, Any]]:
        self._return = 0.0
        observation, info = self.env.reset(**options)
        return self._normalised(observation), info

    def step(self, action: np.ndarray) -> tuple[np.ndarray, SupportsFloat, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        if self.ret:
            self._return = self.gamma * self._return + float(reward)
            if self.training:
                self.return_moments.update(self._return)
            scaled = float(reward) / float(self.return_moments.variance + self.epsilon) ** 0.5
            reward = min(max(scaled, -self.cliprew), self.cliprew)
        if terminated or truncated:
            self._return = 0.0
        return self._normalised(observation), reward, terminated, truncated, info

    def _normalised(self, observation: np.ndarray) -> np.ndarray:
        if not self.obs:
            return observation
        moments = self.observation_moments
        if self.training:
            moments.update(observation)
        scaled = (observation - moments.mean) / np.sqrt(moments.variance + self.epsilon)
        return np.minimum(np.maximum(scaled, -self.clipobs), self.clipobs).astype(np.float32)
