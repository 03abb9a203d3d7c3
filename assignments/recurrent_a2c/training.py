"""The training loop, evaluation games, recordings, and plots. Provided; do not change this file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch

from atari_util import make_env
from trained_agent import play_test_games

THRESHOLD = 10_000  # target for the mean score of the test games


def training_env() -> gym.Env:
    """Return a game with scaled rewards: divided by 100, then clipped to [-5, 5]."""
    return gym.wrappers.TransformReward(make_env(), lambda reward: min(max(float(reward) / 100, -5.0), 5.0))


def evaluate(agent: Any, env: gym.Env, n_games: int = 1, seed: int | None = None) -> list[float]:
    """Return the scores (sums of rewards) of complete games, with actions sampled by the agent.

    Args:
        seed: Seed of the first game; the next game has seed + 1. With None, games are not
            reproducible.
    """
    scores = []
    for game in range(n_games):
        observation, _ = env.reset(seed=None if seed is None else seed + game)
        memory, score, ended = agent.get_initial_state(1), 0.0, False
        while not ended:
            memory, outputs = agent.step(memory, observation[None, ...])
            action = agent.sample_actions(outputs)
            observation, reward, terminated, truncated, _ = env.step(action[0])
            score, ended = score + float(reward), bool(terminated or truncated)
        scores.append(score)
    return scores


def record(agent: Any, path: str | Path, seed: int = 0, max_steps: int = 500) -> float:
    """Play a game and write it to a GIF file; return the score so far. It needs no display.

    Args:
        max_steps: Maximum number of actions.

    An action lasts 4 of the game's 60 frames per second, so the GIF plays in about real time. Equal
    pictures in a row are one frame of the file.
    """
    from PIL import Image

    env = make_env(render_mode="rgb_array")
    observation, _ = env.reset(seed=seed)
    memory, score, frames = agent.get_initial_state(1), 0.0, [Image.fromarray(env.render())]
    for _ in range(max_steps):
        memory, outputs = agent.step(memory, observation[None, ...])
        observation, reward, terminated, truncated, _ = env.step(agent.sample_actions(outputs)[0])
        score += float(reward)
        frames.append(Image.fromarray(env.render()))
        if terminated or truncated:
            break
    env.close()
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=round(4000 / 60), loop=0)
    return score


def entropy(agent: Any, pool: Any) -> float:
    """Return the mean entropy of the policy, in nats, for the pool's current observations; the maximum is log 14 = 2.64."""
    _, (logits, _) = agent.step(pool.prev_memory_states, pool.prev_observations)
    return float(torch.distributions.Categorical(logits=logits).entropy().mean())


def train(
    train_on_rollout: Callable[..., Any],
    agent: Any,
    pool: Any,
    n_updates: int,
    n_columns: int = 17,
    every: int = 100,
    threshold: float = THRESHOLD,
    on_evaluation: Callable[[dict[str, list[float]]], None] | None = None,
) -> dict[str, list[float]]:
    """Train on rollouts of the pool; return the lists below, with one entry per `every` updates.

    Args:
        train_on_rollout: Your function. It trains `agent`, which plays in `pool`.
        n_columns: T, the number of columns in a rollout; it has n_columns - 1 actions.
        on_evaluation: Called with all lists so far, to plot them.

    Returns:
        updates: Number of updates so far.
        score: Score of one game, with raw rewards.
        moving_average: Moving average of the scores.
        loss: Mean loss since the last entry.
        entropy: Entropy of the policy. It should not stay below 0.1 before the agent plays well.

    Training stops early when both the moving average and the mean of the 20 test games have reached
    the threshold: one lucky game is not enough.
    """
    env = make_env()
    history: dict[str, list[float]] = {name: [] for name in ("updates", "score", "moving_average", "loss", "entropy")}
    losses: list[float] = []
    for update in range(1, n_updates + 1):
        memory = pool.prev_memory_states
        losses.append(float(train_on_rollout(*pool.interact(n_columns), memory)))
        if update % every == 0:
            history["updates"].append(update)
            history["score"] += evaluate(agent, env, seed=update)
            history["moving_average"] = moving_average(history["score"])
            history["loss"].append(float(np.mean(losses)))
            history["entropy"].append(entropy(agent, pool))
            losses.clear()
            if on_evaluation is not None:
                on_evaluation(history)
            if history["moving_average"][-1] >= threshold and np.mean(play_test_games(agent)) >= threshold:
                break
    env.close()
    return history


def moving_average(values: Sequence[float], span: int = 10) -> list[float]:
    """Return the exponential moving averages; each step back multiplies the weight by 1 - 2 / (span + 1)."""
    keep, total, weight, means = 1 - 2 / (span + 1), 0.0, 0.0, []
    for value in values:
        total, weight = keep * total + value, keep * weight + 1
        means.append(total / weight)
    return means


def plot_training(history: dict[str, list[float]]) -> Any:
    """Return a figure with the scores, their moving average, and the entropy."""
    import matplotlib.pyplot as plt

    figure, (scores, entropies) = plt.subplots(1, 2, figsize=(11, 3.5), layout="constrained")
    scores.plot(history["updates"], history["score"], ".", color="tab:gray", label="one game")
    scores.plot(history["updates"], history["moving_average"], label="moving average, span 10")
    scores.axhline(THRESHOLD, color="tab:green", linestyle=":", label="to be reached")
    scores.set(xlabel="updates", ylabel="score")
    scores.legend()
    entropies.plot(history["updates"], history["entropy"], color="tab:purple", label="entropy")
    entropies.axhline(0.1, color="tab:red", linestyle=":", label="too low")
    entropies.set(xlabel="updates", ylabel="entropy of the policy, nats", ylim=(0, 2.8))
    entropies.legend()
    return figure
