"""Several games at once, played by one agent with memory. Given; do not change it."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv


class EnvPool:
    """Plays B games side by side and returns rollouts of them.

    Args:
        agent: Has `get_initial_state(batch_size)`, `step(prev_state, observations)` and
            `sample_actions(outputs)`.
        make_env: Makes one game; or a VectorEnv, with next-step autoreset, that is used as it is.
        n_parallel_games: B.
        seed: Of the games; None for another one every time.

    Attributes, all of the tick that comes next:
        prev_observations: `[B, ...]`.
        prev_memory_states: tensors `[B, ...]`; the agent's memory. Keep it *before* `interact`, for
            the training on the rollout that `interact` returns.
        just_ended: bool `[B]`; the observation is the last of a game, and the coming tick resets
            it, whatever the action.
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
            n_steps: Columns. They are n_steps - 1 ticks, and in the last column the observations
                that come next, with action 0 and reward 0, which are in the next rollout's first
                column again.

        is_not_done is False in the tick *after* the one with a game's last reward: its observation
        is the final one of that game, its action was not executed, its reward is 0. The next column
        is the first of a new game, and the agent's memory has been reset before it. In the last
        column it is False as well if that observation is the final one of its game.
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
            self.prev_observations = np.array(observations)  # some vectors of games write the next ones into the same array
            self.just_ended = terminated | truncated
        nothing = np.zeros(self.envs.num_envs)
        history.append((self.prev_observations, nothing, nothing, ~self.just_ended))
        observations, actions, rewards, is_not_done = (np.stack(column, axis=1) for column in zip(*history, strict=True))
        return observations, actions.astype(np.int64), rewards.astype(np.float32), is_not_done
