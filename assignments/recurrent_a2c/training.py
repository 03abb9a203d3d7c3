"""The training loop, games played for a look at the agent, and what to watch. Given; do not change it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch

from atari_util import make_env
from trained_agent import play_test_games

THRESHOLD = 10_000  # mean score of the test games at which the task is done


def training_env() -> gym.Env:
    """Return a game whose rewards are of a size to learn from: divided by 100, then clipped to [-5, 5]."""
    return gym.wrappers.TransformReward(make_env(), lambda reward: min(max(float(reward) / 100, -5.0), 5.0))


def evaluate(agent: Any, env: gym.Env, n_games: int = 1, seed: int | None = None) -> list[float]:
    """Return the scores (sums of rewards) of whole games, with actions sampled by the agent.

    Args:
        seed: Of the first game; the next one has seed + 1. None: another game every time.
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
    """Play a game and write it to a GIF file as a film; return its score so far. It needs no display.

    Args:
        max_steps: Actions after which it ends.

    An action takes 4 of the game's 60 frames a second: the GIF plays in about real time. Pictures
    that do not change are one frame of the file.
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
    """Return the mean entropy of the policy, in nats, in what the pool's games show now; log 14 = 2.64 is the most."""
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
    """Train on rollouts of the pool; return the lists below, with one entry after every `every` updates.

    Args:
        train_on_rollout: Yours; it trains `agent`, which plays in `pool`.
        n_columns: Columns of a rollout; one less is played.
        on_evaluation: Called with all lists so far, to draw them.

    Returns:
        updates: How many there had been.
        score: Of one game, with raw rewards.
        moving_average: Of the scores.
        loss: Mean since the entry before.
        entropy: Of the policy; it should not stay below 0.1 before the agent plays well.

    Stops early when the moving average has reached the threshold and the mean of the 20 test games
    has, too: one lucky game is none of the agent's merit.
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
    """Return the exponentially weighted mean of all values up to each; each counts 1 - 2 / (span + 1) of the next one."""
    keep, total, weight, means = 1 - 2 / (span + 1), 0.0, 0.0, []
    for value in values:
        total, weight = keep * total + value, keep * weight + 1
        means.append(total / weight)
    return means


def plot_training(history: dict[str, list[float]]) -> Any:
    """Return a figure of scores with their moving average, and of the entropy."""
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
