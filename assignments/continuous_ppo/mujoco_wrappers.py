"""`Normalize`, a wrapper that normalizes observations and rewards. Provided; do not change this file."""

from __future__ import annotations

from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np


class RunningMoments:
    """Running mean and variance of all values so far, each float64 of the given shape.

    Args:
        shape: The shape of one value.

    The variance is the population variance: it divides by the count, as `np.var` does.

    (Welford 1962; his algorithm avoids the cancellation of large sums of squares.)
    """

    def __init__(self, shape: tuple[int, ...] = ()) -> None:
        self.count = 0
        self.mean = np.zeros(shape)
        self._squares = np.zeros(shape)  # sum over all values of (value - mean)²

    def update(self, value: np.ndarray | float) -> None:
        """Add one value to the statistics."""
        self.count += 1
        before = value - self.mean
        self.mean = self.mean + before / self.count
        self._squares = self._squares + before * (value - self.mean)

    @property
    def variance(self) -> np.ndarray:
        """The variance of the values so far; 1 before the first value."""
        return self._squares / self.count if self.count else np.ones_like(self._squares)


class Normalize(gym.Wrapper):
    """Normalizes observations by their mean and standard deviation, and rewards by the scale of the return.

    Args:
        env: A gymnasium environment whose observation space is a Box. Put `Summaries` inside this
            wrapper, so that `Summaries` sees the raw rewards.
        obs, ret: Whether to normalize observations and rewards.
        clipobs, cliprew: Normalized observations and rewards are clipped to ± this.
        gamma: γ of the discounted return.
        epsilon: Added to variances.

    Attributes:
        training: Set it to False to freeze all statistics, for an evaluation.
        observation_moments, return_moments: The statistics.

    The observation becomes (o - mean) / std, float32, with the running mean and standard deviation
    of all observations. The reward becomes r / std(G), where G ← γ G + r is the running discounted
    return. G is reset to 0 at the end of every episode.

    *Practical RL*, week 9, says that the running *mean* is also subtracted from rewards, and that
    both are divided by the *variance*. Its code does neither, for good reasons. If episodes can
    differ in length, subtracting a constant from every reward can change which policy is best: if a
    robot gets reward 1 per step and 1 is subtracted, falling early becomes as good as walking on.
    And only the *standard deviation* has the unit of the reward, so only r / std(G) does not depend
    on the unit. (gymnasium's NormalizeReward does not clip, and does not reset G at truncations.)
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
        return self._normalized(observation), info

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
        return self._normalized(observation), reward, terminated, truncated, info

    def _normalized(self, observation: np.ndarray) -> np.ndarray:
        if not self.obs:
            return observation
        moments = self.observation_moments
        if self.training:
            moments.update(observation)
        scaled = (observation - moments.mean) / np.sqrt(moments.variance + self.epsilon)
        return np.minimum(np.maximum(scaled, -self.clipobs), self.clipobs).astype(np.float32)
