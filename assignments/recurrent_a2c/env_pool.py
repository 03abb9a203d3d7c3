"""Several games in parallel, played by one agent with memory. Provided; do not change this file."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv


class EnvPool:
    """Plays B games in parallel and returns rollouts.

    Args:
        agent: Must have `get_initial_state(batch_size)`, `step(prev_state, observations)` and
            `sample_actions(outputs)`.
        make_env: Function that creates one game, or a VectorEnv with next-step autoreset.
        n_parallel_games: B.
        seed: Seed of the games; with None, they are not reproducible.

    Attributes, all for the next tick:
        prev_observations: `[B, ...]`.
        prev_memory_states: tensors `[B, ...]`; the agent's memory. Store it *before* `interact`:
            training on the returned rollout needs it.
        just_ended: bool `[B]`; True if the observation is the last one of a game. The next tick
            then resets the game, whatever the action is.
    """

    def __init__(
        self, agent: Any, make_env: Callable[[], gym.Env] | VectorEnv, n_parallel_games: int = 1, seed: int | None = None
    ) -> None:
        self.agent = agent
        if isinstance(make_env, VectorEnv):
            self.envs: VectorEnv = make_env
        else:
            self.envs = SyncVectorEnv([make_env] * n_parallel_games, copy=False)  # copied once, below
        if self.envs.metadata.get("autoreset_mode") != AutoresetMode.NEXT_STEP:
            raise ValueError("EnvPool needs next-step autoreset: the last observation of a game has a tick of its own")
        self.prev_observations = np.array(self.envs.reset(seed=seed)[0])
        self.prev_memory_states = agent.get_initial_state(self.envs.num_envs)
        self.just_ended = np.zeros(self.envs.num_envs, bool)

    def interact(self, n_steps: int = 100) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return (observations `[B, n_steps, ...]`, actions int64, rewards float32, is_not_done bool, all `[B, n_steps]`).

        Args:
            n_steps: Number of columns: n_steps - 1 ticks, and a last column with the next
                observations, action 0 and reward 0. The next rollout starts with the same
                observations.

        is_not_done is False in the tick *after* a game's last reward. The observation of this tick
        is the final one of the game, its action was not executed, and its reward is 0. The next
        column is the first of a new game, and the agent's memory is reset before it. In the last
        column, is_not_done is False if the observation is the final one of its game.
        """
        history = []
        for _ in range(n_steps - 1):
            is_not_done = ~self.just_ended
            memory, outputs = self.agent.step(self.prev_memory_states, self.prev_observations)
            actions = np.asarray(self.agent.sample_actions(outputs))
            observations, rewards, terminated, truncated, _ = self.envs.step(actions)
            history.append((self.prev_observations, actions, rewards, is_not_done))
            alive = torch.from_numpy(is_not_done)
            fresh = self.agent.get_initial_state(self.envs.num_envs)
            self.prev_memory_states = tuple(
                torch.where(alive.view(-1, *[1] * (m.ndim - 1)), m, new) for m, new in zip(memory, fresh, strict=True)
            )
            self.prev_observations = np.array(observations)  # a copy: some VectorEnvs reuse the array
            self.just_ended = terminated | truncated
        nothing = np.zeros(self.envs.num_envs)
        history.append((self.prev_observations, nothing, nothing, ~self.just_ended))
        observations, actions, rewards, is_not_done = (np.stack(column, axis=1) for column in zip(*history, strict=True))
        return observations, actions.astype(np.int64), rewards.astype(np.float32), is_not_done
