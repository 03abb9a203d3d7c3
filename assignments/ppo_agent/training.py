"""Two training loops for an agent with `forward` and `backward`, and a test loop.

Provided; do not change it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import torch


def seed_everything(seed: int) -> None:
    """Seed Python, NumPy and torch. Environments and agents take their own seeds."""
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def fit(agent: Any, env: gym.Env, steps: int, seed: int | None = None, on_update: Callable | None = None) -> list[float]:
    """Train in one environment; return the scores (sums of rewards) of all finished episodes.

    Args:
        agent: A `PPOAgent` with `num_envs` 1. Its learning rate decreases to 0.
        env: An environment with actions `[n]`; actions outside its range are clipped.
        steps: The number of steps.
        seed: A seed for the environment.
        on_update: Called with (step, metrics) after each update.
    """
    forget(agent)
    scores: list[float] = []
    score = 0.0
    observation, _ = env.reset(seed=seed)
    for step in range(1, steps + 1):
        action = agent.forward(observation)
        observation, reward, terminated, truncated, _ = env.step(clipped(action, env.action_space))
        metrics = agent.backward(reward, terminated, truncated)
        score += float(reward)
        if terminated or truncated:
            agent.forward(observation)  # the last observation; its action is not taken
            metrics = agent.backward(0.0) or metrics
            scores.append(score)
            score = 0.0
            observation, _ = env.reset()
        if metrics:
            agent.anneal(step / steps)
            if on_update:
                on_update(step, metrics)
    return scores


def fit_vector(
    agent: Any, envs: gym.vector.VectorEnv, steps: int, seed: int | None = None, on_update: Callable | None = None
) -> list[float]:
    """Train in several environments at once; return the scores as `fit` does.

    Args:
        agent: A `PPOAgent` with the same `num_envs`.
        envs: Vector environments that reset in the step after the end of an episode, which is
            gymnasium's default (`AutoresetMode.NEXT_STEP`).
        steps: The number of steps of all environments together.
        seed, on_update: As for `fit`.

    The agent does not learn from episodes that end in the very last step, because no step follows.

    Raises:
        ValueError: If `envs` has another autoreset mode.
    """
    mode = envs.metadata.get("autoreset_mode")
    if mode != gym.vector.AutoresetMode.NEXT_STEP:
        raise ValueError(f"expected vector environments with AutoresetMode.NEXT_STEP, found {mode}")
    forget(agent)
    scores, score, played = [], np.zeros(envs.num_envs), 0
    begins = np.zeros(envs.num_envs, dtype=bool)  # where this step is a reset
    observations, _ = envs.reset(seed=seed)
    while played < steps:
        actions = agent.forward(observations)
        observations, rewards, terminated, truncated, _ = envs.step(clipped(actions, envs.single_action_space))
        metrics = agent.backward(rewards, terminated, truncated)
        played += int((~begins).sum())
        score += rewards
        begins = terminated | truncated
        scores += score[begins].tolist()
        score[begins] = 0.0
        if metrics:
            agent.anneal(min(played / steps, 1.0))
            if on_update:
                on_update(played, metrics)
    return scores


def play(agent: Any, env: gym.Env, seeds: list[int]) -> list[float]:
    """Return the scores of one episode per seed, without exploration and without learning."""
    training, memories = agent.training, agent.memories
    agent.training, agent.memories = False, [type(memories[0])(memories[0].window_length)]
    scores = []
    try:
        for seed in seeds:
            observation, _ = env.reset(seed=seed)
            score, over = 0.0, False
            while not over:
                action = agent.forward(observation)
                observation, reward, terminated, truncated, _ = env.step(clipped(action, env.action_space))
                agent.backward(reward, terminated, truncated)
                score, over = score + float(reward), terminated or truncated
            agent.forward(observation)
            agent.backward(0.0)
            scores.append(score)
    finally:
        agent.training, agent.memories = training, memories
    return scores


def clipped(action: np.ndarray, space: Any) -> np.ndarray:
    """Return the action, clipped to the range of a Box space."""
    return np.clip(action, space.low, space.high)


def forget(agent: Any) -> None:
    """Discard unfinished episodes, because all environments are reset."""
    for memory in agent.memories:
        memory.reset()
