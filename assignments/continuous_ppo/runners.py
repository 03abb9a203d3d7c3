"""`EnvRunner` collects trajectories, `BootstrapTruncated` bootstraps at time limits. Provided; do not change this file.

A *trajectory* is a dictionary. Each key has one entry per step, T in all, except the key `state`, which
describes the end of the trajectory. (The design follows *Practical RL*, week 9, whose runner uses gym's
old interface, where `step` returns four values.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


class EnvRunner:
    """Plays `nsteps` steps per `get_next()` and continues where it stopped: an episode may span several trajectories.

    Args:
        env: A gymnasium environment, or a batch of N environments that starts a new episode in the
            step in which the old one ends (`AutoresetMode.SAME_STEP`).
        policy: `act(observation)` returns a dictionary. The runner plays its "actions" and records
            all its keys.
        nsteps: T, the number of steps in a trajectory (for each environment).
        transforms: Called in this order with the trajectory, which they change in place.
        step_var: Number of interactions at the start; 0 by default. A step of N environments counts
            as N.

    Only the runner may step or reset `env`. Otherwise, its latest observation would not be that of
    the environment.
    """

    def __init__(
        self,
        env: Any,
        policy: Any,
        nsteps: int,
        transforms: Sequence[Callable[[dict], None]] | None = None,
        step_var: Any = None,
    ) -> None:
        if nsteps < 1:
            raise ValueError(f"nsteps must be at least 1, found {nsteps}")
        self.env = env
        self.policy = policy
        self.nsteps = nsteps
        self.transforms = transforms or []
        self.step_var = 0 if step_var is None else step_var
        self.num_envs: int | None = getattr(env, "num_envs", None)
        mode = (getattr(env, "metadata", None) or {}).get("autoreset_mode")
        if self.num_envs is not None and mode is not None and "same" not in str(getattr(mode, "value", mode)).lower():
            raise ValueError(f"a batched environment must reset in the same step (AutoresetMode.SAME_STEP), not {mode}")
        self._latest_observation = env.reset()[0]

    def get_next(self) -> dict[str, Any]:
        """Return the next trajectory.

        Returns:
            A dictionary. `observations`, `rewards`, `resets`, and every key of `policy.act` are
            lists of T entries; `AsArray` converts them to arrays. With a batched environment, each
            entry has a first axis N.
                observations: `observations[t]` is the observation from which the policy chose
                    `actions[t]`.
                resets: `resets[t]` is True where `actions[t]` ended an episode, for any reason.
                state: A dictionary.
                    latest_observation: The observation after the last step, which the policy would
                        see next.
                    env_steps: T.
                    final_observations: The last observation of each episode that ended
                        (`observations[t + 1]` already belongs to the next episode). The key is the
                        step t, or (t, environment) with a batched environment.
                    truncated: The keys of the episodes that were truncated, by a time limit for
                        example. The other episodes were terminated.
        """
        trajectory: dict[str, Any] = {"observations": [], "rewards": [], "resets": []}
        final_observations: dict[Any, np.ndarray] = {}
        truncations: list[Any] = []
        observation = self._latest_observation
        for time in range(self.nsteps):
            act = self.policy.act(observation)
            if "actions" not in act:
                raise ValueError(f"policy.act must return a dictionary with the key 'actions', found {sorted(act)}")
            for key, value in act.items():
                trajectory.setdefault(key, []).append(value)
            trajectory["observations"].append(observation)
            observation, reward, terminated, truncated, info = self.env.step(act["actions"])
            trajectory["rewards"].append(reward)
            if self.num_envs is None:
                ended = bool(terminated or truncated)
                trajectory["resets"].append(ended)
                if ended:
                    final_observations[time] = observation
                    if not terminated:
                        truncations.append(time)
                    observation = self.env.reset()[0]
            else:
                ended = np.logical_or(terminated, truncated)
                trajectory["resets"].append(ended)
                for index in np.flatnonzero(ended).tolist():
                    final_observations[time, index] = info["final_obs"][index]
                    if not terminated[index]:
                        truncations.append((time, index))
            # Not +=: it would change a mutable counter (an array) for its owner, too.
            self.step_var = self.step_var + (self.num_envs or 1)
        self._latest_observation = observation
        trajectory["state"] = {
            "latest_observation": observation,
            "env_steps": self.nsteps,
            "final_observations": final_observations,
            "truncated": truncations,
        }
        for transform in self.transforms:
            transform(trajectory)
        return trajectory


class BootstrapTruncated:
    """Adds γ·V(final observation) to the reward of every step that was truncated. Call it after AsArray and before GAE.

    Args:
        policy: `act(observation)["values"]` is V.
        gamma: γ.

    Without the time limit, more rewards would follow. V(final observation) estimates their
    discounted sum. GAE sees only `resets`, and cuts at every end, because the next row belongs to
    another episode. With γ·V(final observation) in the reward, δ_t = r_t + γ V(s_{t+1}) - V(s_t) is
    correct; GAE must not add it again. HalfCheetah episodes end only at the time limit.

    (Pardo et al. 2018, "Time limits in reinforcement learning".)
    """

    def __init__(self, policy: Any, gamma: float = 0.99) -> None:
        self.policy = policy
        self.gamma = gamma

    def __call__(self, trajectory: dict[str, Any]) -> None:
        state = trajectory["state"]
        if not state["truncated"]:
            return
        rewards = np.array(trajectory["rewards"], dtype=np.float64)
        for index in state["truncated"]:
            observation = state["final_observations"][index]
            # The same form as in a step: one observation, or a batch of observations.
            seen = observation if rewards.ndim == 1 else observation[None]
            rewards[index] += self.gamma * float(np.asarray(self.policy.act(seen)["values"]).reshape(()))
        trajectory["rewards"] = rewards
