"""What plays: `EnvRunner` collects trajectories, `BootstrapTruncated` repairs what a time limit cuts. Given; do not change it.

A *trajectory* is a dictionary with one entry per step under each key, T steps long, and one more key, `state`, which is no
series: it says how the trajectory ends. (*Practical RL*, week 9, whose runner works on gym's old
four-tuple.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


class EnvRunner:
    """Plays `nsteps` steps at each `get_next()`, going on where it stopped: an episode may span several trajectories.

    Args:
        env: A gymnasium environment, or a batched one of N environments that begins a new episode
            in the step in which the old one ends (`AutoresetMode.SAME_STEP`).
        policy: `act(observation)` returns a dictionary, of which "actions" is played; all its keys
            are kept.
        nsteps: T, steps of a trajectory (of each environment).
        transforms: Called in this order with the trajectory, which they change in place.
        step_var: Interactions so far, to begin counting from; 0 by default. It counts N for a step
            of N environments.

    Nobody else may step or reset `env`: the runner's last observation would no longer be that of
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
            lists of T entries; `AsArray` makes arrays of them. Entries of a batched environment
            have a first axis of N.
                observations: `observations[t]` is the observation from which the policy chose
                    `actions[t]`.
                resets: `resets[t]` is True where `actions[t]` ended an episode, for whichever
                    reason.
                state: A dictionary.
                    latest_observation: The observation after the last step, which the policy would
                        see next.
                    env_steps: T.
                    final_observations: The last observation of each episode that ended
                        (`observations[t + 1]` is of the next episode already), by step t, or by (t,
                        environment) if there are N.
                    truncated: Which of these ends came from a time limit or the like; the others
                        are ends of the task itself.
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
            # Not +=: a counter that can be changed in place (an array) would change for its owner as well.
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
    """Adds γ·V(final observation) to the reward of a step at which an episode was truncated. Stands between AsArray and GAE.

    Args:
        policy: `act(observation)["values"]` is V.
        gamma: γ.

    A time limit stops the clock, not the world: rewards would have gone on, and V(final
    observation) is the best guess at their sum. GAE only sees `resets` and cuts at each, rightly,
    because the next row belongs to another episode. With the guess in the reward,
    δ_t = r_t + γ V(s_{t+1}) - V(s_t) is what it should be; GAE must not add it a second time.
    HalfCheetah has no other ends than its time limit.

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
            # As the policy is asked in a step: one observation, or a batch of them.
            seen = observation if rewards.ndim == 1 else observation[None]
            rewards[index] += self.gamma * float(np.asarray(self.policy.act(seen)["values"]).reshape(()))
        trajectory["rewards"] = rewards
