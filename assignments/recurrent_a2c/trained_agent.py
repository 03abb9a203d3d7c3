"""Save and load a trained agent, and play the test games. Provided; do not change this file."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium.vector import SyncVectorEnv
from torch import nn

TEST_SEEDS = tuple(range(20))  # seeds of the test games; their mean score counts. The leaderboard has time for only five.


def save_agent(path: str | Path, agent: nn.Module) -> None:
    """Write the weights of an agent to a file that you can submit.

    Args:
        path: The grader plays the file "agent.safetensors" next to submitted.py.
        agent: The agent whose weights are written.
    """
    from safetensors.torch import save

    Path(path).write_bytes(save({name: value.detach().float().contiguous() for name, value in agent.state_dict().items()}))


def load_agent(data: bytes, agent: nn.Module) -> nn.Module:
    """Return the agent with the weights from a file that `save_agent` wrote.

    Args:
        data: The content of the file.
        agent: The agent that gets the weights.

    Raises:
        ValueError: If the content is not valid for this agent; the message says why.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        weights = load(bytes(data))
    except (SafetensorError, KeyError) as error:  # KeyError: a type of numbers that torch does not have
        raise ValueError(f"this is not a safetensors file: {error}") from error
    expected = {name: list(value.shape) for name, value in agent.state_dict().items()}
    found = {name: list(value.shape) for name, value in weights.items()}
    if found != expected:
        different = sorted(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))
        raise ValueError(
            f"these are not weights of your SimpleRecurrentAgent: {different[0]} is {found.get(different[0], 'missing')} in "
            f"the file and {expected.get(different[0], 'missing')} in the agent ({len(different)} of {len(expected)} differ)"
        )
    for name, value in weights.items():
        if value.dtype != torch.float32 or not value.isfinite().all():
            raise ValueError(f"{name} must be finite numbers of float32, as save_agent writes them")
    agent.load_state_dict(weights)
    return agent


def games(seeds: Iterable[int] = TEST_SEEDS) -> Generator[np.ndarray, np.ndarray, list[float]]:
    """Play one game per seed, all in parallel: yield observations, receive actions, and return the scores.

    Observations are float32 `[games, 1, 42, 42]`, actions integers `[games]` from 0 to 13. After a
    game has ended, a new game follows, which does not count.

    Raises:
        ValueError: For actions that are not valid.
    """
    from atari_util import make_env  # here, because everything else works without the game

    seeds = [int(seed) for seed in seeds]
    envs = SyncVectorEnv([make_env] * len(seeds))
    observations, _ = envs.reset(seed=list(seeds))
    scores, playing = np.zeros(len(seeds)), np.ones(len(seeds), bool)
    while playing.any():
        actions = np.asarray((yield observations))
        if actions.shape != playing.shape or actions.dtype.kind not in "iu" or not ((actions >= 0) & (actions < 14)).all():
            raise ValueError(f"actions must be {len(seeds)} integers from 0 to 13, found {actions.dtype} {list(actions.shape)}")
        observations, rewards, terminated, truncated, _ = envs.step(actions)
        scores += playing * rewards
        playing &= ~(terminated | truncated)
    envs.close()
    return scores.tolist()


def player(agent: Any, batch_size: int, seed: int = 0) -> Generator[Any, np.ndarray, None]:
    """Play with memory: receive observations and yield actions sampled from the policy (None at first), without end.

    Args:
        agent: Must have `get_initial_state` and `step`.
        batch_size: Number of parallel games.
        seed: Seed for sampling actions.
    """
    generator = torch.Generator().manual_seed(seed)
    memory, actions = agent.get_initial_state(batch_size), None
    while True:
        observations = yield actions
        memory, (logits, _) = agent.step(memory, observations)
        actions = torch.multinomial(logits.softmax(dim=-1), 1, generator=generator)[:, 0].numpy()


def play_test_games(agent: Any, seeds: Iterable[int] = TEST_SEEDS) -> list[float]:
    """Return the score of one game of KungFuMaster per seed, with actions sampled from the agent's policy."""
    seeds = list(seeds)
    play, act = games(seeds), player(agent, len(seeds))
    observations, actions = next(play), next(act)
    while True:
        actions = act.send(observations)
        try:
            observations = play.send(actions)
        except StopIteration as over:
            return over.value
