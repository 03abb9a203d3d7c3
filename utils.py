"""Environments, networks, a rollout buffer and plots for all assignments. Do not change this file.

Randomness is explicit: each environment has its own generator, and the docstring of a function that
draws random numbers names the generator. matplotlib and tqdm are imported only where they are
needed, because importing them takes as long as many rollouts. (gymnasium takes 0.03 s after torch,
which takes 1.3 s.)

Some assignments use the small interface `EnvInterface` and say so. All others use gymnasium:
`PointMass`, `GridWorldEnv`, `Cue` and `Metronome` are gymnasium environments, each with a vector
environment in NumPy. Importing this module registers them:

    gymnasium.make("PointMass-v0", d=2)                  # "utils:PointMass-v0" imports this module
    gymnasium.make_vec("GridWorld-v0", num_envs=64)      # a GridWorldVector
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CURVE_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#7f7f7f", "#e69f00")  # distinct for color-blind readers, too


class EnvInterface:
    """The interface of the small environments: `reset` starts an episode, `step` takes one action.

    Observations are float32 `[1, obs_dim]`. Each one is a new tensor: you can pass it to a network
    and store it without a copy. Actions are int64 `[1, 1]`, as returned by `distribution_sample`.
    """

    def reset(self, seed: int | None = None) -> Tensor:
        """Return the first observation of a new episode, float32 `[1, obs_dim]`.

        Args:
            seed: Makes this and the following episodes reproducible. Without a seed, the
                environment's own generator continues.
        """
        raise NotImplementedError

    def step(self, action: Tensor | int) -> tuple[Tensor, bool, float]:
        """Return (observation after the action, terminated, reward), unlike gymnasium in this order.

        Args:
            action: int64 `[1, 1]`, or an integer.

        `terminated` is True if this action ended the episode. Here the time limit is part of the
        task, so reaching it counts as terminated. (In most other settings, a time limit is a
        *truncation*.)
        """
        raise NotImplementedError


class GridWorldPointTargetEnv(EnvInterface):
    """A point on a grid that should move to a target; both are random in each episode.

    Args:
        grid_size: Positions lie in `[0, grid_size]` on each axis; start and target are integers
            below `grid_size`.
        episode_length: The number of steps of an episode. Reaching the target does not end the
            episode: the point has to stay there.
        dimensions: 1 for a line (actions: 0 = -1, 1 = stay, 2 = +1), 2 for a plane (0 = stay, 1 =
            +x, 2 = -x, 3 = +y, 4 = -y).
        set_target, set_state: A fixed target or start, as a number, list or array; it is copied.

    Observation: the target, then the state, float32 `[1, 2 * dimensions]`, each mapped from
    `[0, grid_size]` to `[-1, 1]`.

    Reward: minus the distance to the target after the action, divided by `grid_size`.

    (ECE 448 / CS 440, University of Illinois, machine problem 11.)
    """

    def __init__(
        self,
        grid_size: int = 10,
        episode_length: int = 20,
        dimensions: int = 2,
        set_target: float | Sequence[float] | np.ndarray | None = None,
        set_state: float | Sequence[float] | np.ndarray | None = None,
    ) -> None:
        if any(size != int(size) or size < 1 for size in (grid_size, episode_length, dimensions)):
            raise ValueError(
                "grid_size, episode_length and dimensions must be whole numbers from 1 on, "
                f"not {grid_size}, {episode_length} and {dimensions}"
            )
        self.grid_size = grid_size
        self.episode_length = episode_length
        self.dimensions = dimensions
        if dimensions == 1:
            self._moves = [(0, -1), (0, 0), (0, +1)]
        else:
            self._moves = [(0, 0)] + [(axis, sign) for axis in range(dimensions) for sign in (+1, -1)]
        self._fixed_target = self._position("set_target", set_target)
        self._fixed_state = self._position("set_state", set_state)
        self._generator = np.random.default_rng()
        self._begin_episode()

    @property
    def num_actions(self) -> int:
        """The number of actions: 3 on a line, 5 in the plane."""
        return len(self._moves)

    @property
    def state(self) -> np.ndarray:
        """The current position, float64 `[dimensions]` (a copy)."""
        return np.array(self._state, dtype=np.float64)

    @property
    def target(self) -> np.ndarray:
        """The target of this episode, float64 `[dimensions]` (a copy)."""
        return np.array(self._target, dtype=np.float64)

    def reset(self, seed: int | None = None) -> Tensor:
        if seed is not None:
            self._generator = np.random.default_rng(seed)
        self._begin_episode()
        return self._observe()

    def step(self, action: Tensor | int) -> tuple[Tensor, bool, float]:
        axis, move = self._moves[_action_index(action, len(self._moves))]
        # Plain numbers, not arrays: several times faster for one or two coordinates.
        state, size = self._state, self.grid_size
        state[axis] = min(max(state[axis] + move, 0), size)
        self._steps += 1
        if len(state) == 1:
            distance = abs(state[0] - self._target[0])
        else:
            distance = sum((s - t) ** 2 for s, t in zip(state, self._target, strict=True)) ** 0.5
        # np.float64 is a float that also has .item() and .shape.
        return self._observe(), self._steps >= self.episode_length, np.float64(-distance / size)

    def _begin_episode(self) -> None:
        def draw() -> list[float]:
            return self._generator.integers(self.grid_size, size=self.dimensions).tolist()

        self._target = draw() if self._fixed_target is None else list(self._fixed_target)
        self._state = draw() if self._fixed_state is None else list(self._fixed_state)
        self._steps = 0

    def _observe(self) -> Tensor:
        size = self.grid_size
        mapped = [2 * position / size - 1 for position in self._target + self._state]
        return torch.from_numpy(np.array([mapped], dtype=np.float32))  # a third of the time of torch.tensor

    def _position(self, name: str, value: Any) -> list[float] | None:
        if value is None:
            return None
        position = np.array(value, dtype=np.float64).ravel()
        if position.size == 1:
            position = np.repeat(position, self.dimensions)
        if position.size != self.dimensions or not ((position >= 0) & (position <= self.grid_size)).all():
            raise ValueError(f"{name} must hold {self.dimensions} number(s) from 0 to {self.grid_size}, found {value!r}")
        return position.tolist()


class OpenAIGymEnv(EnvInterface):
    """CartPole-v1 behind the same interface, with observations scaled to about `[-1, 1]`.

    Args:
        vis: True opens a window (needs pygame).

    Observation: position / 2.4, velocity / 3, angle / 0.2095, angular velocity / 3, float32
    `[1, 4]`. The episode fails where the scaled position or angle leaves `[-1, 1]`.

    Actions: 0 = push left, 1 = push right.

    Reward: 1 per step. The limit of 500 steps counts as terminated, as in all environments with
    this interface.

    (From gymnasium. Machine problem 11 of ECE 448 / CS 440, University of Illinois, calls it a
    double pendulum; it is a single pole on a cart.)
    """

    num_actions = 2
    _SCALE = np.array([2.4, 3.0, 0.2095, 3.0], dtype=np.float32)

    def __init__(self, vis: bool = False) -> None:
        self.env = gymnasium.make("CartPole-v1", render_mode="human" if vis else None)

    def reset(self, seed: int | None = None) -> Tensor:
        observation, _ = self.env.reset(seed=None if seed is None else int(np.ravel(seed)[0]))
        return self._observe(observation)

    def step(self, action: Tensor | int) -> tuple[Tensor, bool, float]:
        observation, reward, terminated, truncated, _ = self.env.step(_action_index(action, self.num_actions))
        return self._observe(observation), bool(terminated or truncated), np.float64(reward)

    def _observe(self, observation: np.ndarray) -> Tensor:
        return torch.from_numpy(np.asarray(observation, dtype=np.float32)[None] / self._SCALE)


def _action_index(action: Tensor | int, count: int) -> int:
    """Return the action as an integer below `count`; raise ValueError for anything else."""
    index = action.item() if hasattr(action, "item") else action
    if not isinstance(index, (int, float)) or not 0 <= index < count or index != int(index):
        raise ValueError(f"action must be a whole number from 0 to {count - 1}, not {index!r}")
    return int(index)


class PointMass(gymnasium.Env):
    """A point in `d` dimensions that starts at rest and should move to the origin and stay there.

    The axes do not interact.

    Args:
        d: The number of dimensions, at least 1.

    Action: float `[d]`, a in `[-1, 1]`. Values outside are clipped; NaN raises ValueError.
    Step: v <- 0.8 v + 0.1 a, then p <- p + v, clipped to `[-2, 2]`. A wall does not change v.
    Reward: minus the mean over the axes of p² + 0.01 a², with p after the step and a clipped.
    Observation: p, then v, float32 `[2 * d]`, within ±2 and ±0.5 (v stays below 0.1 / (1 - 0.8)).
        The state itself is float64.
    Start: p uniform in `[-1, 1]` on each axis, from the environment's generator `np_random`; v = 0.
    End: step 30 is `truncated` by the environment itself, so it needs no TimeLimit; `terminated` is
        always False.

    The mean return (undiscounted sum of the 30 rewards) over all starts, for every d:

        optimum                    -0.435   (from -1.643, at p = ±1 on every axis, to 0)
        zero actions              -10
        uniformly random actions  -29.3

    For d = 1, the standard deviations of the returns are 0.47, 8.9 and 25.7; in general, they are
    1 / √d of that.
    """

    EPISODE_LENGTH = 30
    _steps: int | None = None

    def __init__(self, d: int = 1) -> None:
        self.d = _size("d", d)
        bounds = np.repeat(np.array([2.0, 0.5], dtype=np.float32), self.d)
        self.observation_space = gymnasium.spaces.Box(-bounds, bounds, dtype=np.float32)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (self.d,), dtype=np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Return (first observation, {}). A seed makes this and later episodes reproducible."""
        super().reset(seed=seed)
        self._position = self.np_random.uniform(-1.0, 1.0, self.d)
        self._velocity = np.zeros(self.d)
        self._steps = 0
        return _observed(self._position, self._velocity), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Return (observation, reward, terminated, truncated, {})."""
        if self._steps is None:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        self._position, self._velocity, reward = _move_points(self._position, self._velocity, action)
        self._steps += 1
        return _observed(self._position, self._velocity), float(reward), False, self._steps >= self.EPISODE_LENGTH, {}


def _move_points(position: np.ndarray, velocity: np.ndarray, action: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return position and velocity `[..., d]` and reward `[...]` after one step of `PointMass`."""
    action = np.asarray(action, dtype=np.float64)
    if action.shape != position.shape:
        raise ValueError(f"actions must have shape {list(position.shape)}, not {list(action.shape)}")
    action = np.minimum(np.maximum(action, -1.0), 1.0)  # for small arrays several times faster than np.clip
    velocity = 0.8 * velocity + 0.1 * action
    position = np.minimum(np.maximum(position + velocity, -2.0), 2.0)
    reward = np.add.reduce(position * position + 0.01 * action * action, axis=-1) / -position.shape[-1]
    if np.isnan(reward).any():
        raise ValueError(f"actions must be numbers, found {action}")
    return position, velocity, reward


def _observed(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return both arrays, joined along the last axis, as a new float32 array."""
    return np.concatenate((first, second), axis=-1, dtype=np.float32, casting="same_kind")


class Probe(gymnasium.Env):
    """A tiny environment with a known answer, to find out which part of an agent is wrong.

    Each episode has a few steps and a random sign, -1 or +1, which the agent observes.

    Args:
        pay: The reward as a function of the sign (float) and the first action (float64 `[n]`). It is
            paid in the last step.
        steps: The number of steps of an episode, at least 1.
        truncates: Whether the episode ends by a time limit (`truncated`; otherwise `terminated`).
            Then the reward is paid in every step, and the observation does not change.
        low, high: The bounds of the action, `[n]` each. Actions are not clipped to them.
        shows_action: Whether the observation contains the first action.

    Action: float `[n]`.
    Observation: the sign and the number of steps so far, float32 `[2]`. With `shows_action` also the
        first component of the first action (0 before it), float32 `[3]`.
    Start: the sign comes from the environment's generator `np_random`.
    """

    def __init__(
        self,
        pay: Callable[[float, np.ndarray], float],
        steps: int = 1,
        truncates: bool = False,
        low: Sequence[float] = (-10.0,),
        high: Sequence[float] = (10.0,),
        shows_action: bool = False,
    ) -> None:
        self.pay, self.steps, self.truncates, self.shows_action = pay, _size("steps", steps), truncates, shows_action
        self.observation_space = gymnasium.spaces.Box(-10.0, 10.0, (3 if shows_action else 2,), np.float32)
        self.action_space = gymnasium.spaces.Box(np.array(low, np.float32), np.array(high, np.float32))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Return (first observation, {}). A seed makes this and later episodes reproducible."""
        super().reset(seed=seed)
        self._sign = float(self.np_random.choice([-1, 1]))
        self._actions: list[np.ndarray] = []
        return self._observe(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Return (observation, reward, terminated, truncated, {})."""
        self._actions.append(np.array(action, dtype=np.float64))
        over = len(self._actions) == self.steps
        reward = float(self.pay(self._sign, self._actions[0])) if over or self.truncates else 0.0
        return self._observe(), reward, over and not self.truncates, over and self.truncates, {}

    def _observe(self) -> np.ndarray:
        seen = [] if self.truncates else self._actions
        shown = [self._sign, len(seen), seen[0][0] if seen else 0.0]
        return np.array(shown if self.shows_action else shown[:2], dtype=np.float32)


class GridWorldEnv(gymnasium.Env):
    """`GridWorldPointTargetEnv` as a gymnasium environment, with the same parameters and rewards.

    These are different:

    Action: an integer below 3 on a line, below 5 in the plane (the moves are the same).
    Observation: the target, then the state, float32 `[2 * dimensions]`, in `[-1, 1]`.
    Start: from the environment's generator `np_random`.
    End: step `episode_length` is `truncated` by the environment itself; `terminated` is always
        False.
    """

    _steps: int | None = None

    def __init__(
        self,
        grid_size: int = 10,
        episode_length: int = 20,
        dimensions: int = 2,
        set_target: float | Sequence[float] | np.ndarray | None = None,
        set_state: float | Sequence[float] | np.ndarray | None = None,
    ) -> None:
        self._world = GridWorldPointTargetEnv(grid_size, episode_length, dimensions, set_target, set_state)
        self.observation_space = gymnasium.spaces.Box(-1.0, 1.0, (2 * dimensions,), dtype=np.float32)
        self.action_space = gymnasium.spaces.Discrete(self._world.num_actions)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Return (first observation, {}). A seed makes this and later episodes reproducible."""
        super().reset(seed=seed)
        self._world._generator = self.np_random
        self._steps = 0
        return self._world.reset()[0].numpy(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Return (observation, reward, terminated, truncated, {})."""
        if self._steps is None:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        observation, at_end, reward = self._world.step(action)
        self._steps += 1
        return observation[0].numpy(), float(reward), False, at_end, {}


class Cue(gymnasium.Env):
    """A memory task: a cue in the first step says which action is right in the last step.

    Args:
        length: The number of steps of an episode, at least 1. From 2 on, the agent needs a memory.

    Observation: (cue, junction, 1), float32 `[3]`. cue: +1 or -1 in the first step, 0 in all others.
        junction: 1 in the last step, 0 in all others. After the last step it is (0, 0, 1).
    Action: 1 is right for the cue +1, 0 for the cue -1.
    Reward: in the last step, +1 for the right action and -1 for the other; in all others, 0.
    Start: both cues are equally likely, from the environment's generator `np_random`.
    End: step `length` is `terminated`; `truncated` is always False.

    The best return is 1. Without memory, the mean return is 0 for every policy, because the last
    observation is the same for both cues.
    """

    _steps: int | None = None

    def __init__(self, length: int = 8) -> None:
        self.length = _size("length", length)
        self.observation_space = gymnasium.spaces.Box(np.array([-1, 0, 0], np.float32), np.array([1, 1, 1], np.float32))
        self.action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Return (first observation, {}). A seed makes this and later episodes reproducible."""
        super().reset(seed=seed)
        self._right = int(self.np_random.integers(2))
        self._steps = 0
        return self._observe(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Return (observation, reward, terminated, truncated, {})."""
        if self._steps is None:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        reward = 1.0 if _action_index(action, 2) == self._right else -1.0
        self._steps += 1
        at_end = self._steps >= self.length
        return self._observe(), reward if at_end else 0.0, at_end, False, {}

    def _observe(self) -> np.ndarray:
        cue = 2 * self._right - 1 if self._steps == 0 else 0
        return np.array([cue, self._steps == self.length - 1, 1], dtype=np.float32)


class Metronome(gymnasium.Env):
    """A counting task: action 1 is right in the fourth step of an episode and wrong in all others.

    The observation does not change, so the agent has to count the steps.

    Observation: always 1, float32 `[1]`.
    Action: 0 waits, 1 beats.
    Reward of step t, counted from 0: +1 for a beat if t = 3, otherwise -0.25; 0 for waiting.
    Start: the number of steps T is uniform from 1 to 8, from the environment's generator `np_random`.
    End: step T is `terminated`; `truncated` is always False.

    The mean return of an episode:

        optimum             0.625    beats only at t = 3, which 5 of 8 episodes reach
        always wait         0        the best policy that does not know t
        random actions     -0.172

    A policy that does not know t beats with the same probability p in every step. An episode has 4.5
    steps on average: 5/8 of a fourth step and 31/8 of other steps. So its mean return is
    p · (5/8 - 0.25 · 31/8) = -0.34 p. A memory that is not reset between episodes soon does not know
    t either, because the ends are not observed. Of all steps, 5/36 are a fourth step; a beat would
    pay off only above 1/5.
    """

    BEAT = 3
    MAX_LENGTH = 8
    _steps: int | None = None

    def __init__(self) -> None:
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (1,), dtype=np.float32)
        self.action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Return (first observation, {}). A seed makes this and later episodes reproducible."""
        super().reset(seed=seed)
        self._length = int(self.np_random.integers(1, self.MAX_LENGTH + 1))
        self._steps = 0
        return np.ones(1, dtype=np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Return (observation, reward, terminated, truncated, {})."""
        if self._steps is None:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        reward = 1.0 if self._steps == self.BEAT else -0.25
        self._steps += 1
        at_end = self._steps >= self._length
        return np.ones(1, dtype=np.float32), reward if _action_index(action, 2) else 0.0, at_end, False, {}


class _Vector(gymnasium.vector.VectorEnv):
    """Vector environments in NumPy. Subclasses define starts, moves, ends and observations.

    Args:
        env: A single environment with the same spaces.
    """

    _steps: Any = None  # since the start of the episodes; None before the first reset

    def __init__(self, num_envs: int, env: gymnasium.Env) -> None:
        self.num_envs = _size("num_envs", num_envs)
        self.single_observation_space, self.single_action_space = env.observation_space, env.action_space
        self.observation_space = gymnasium.vector.utils.batch_space(env.observation_space, self.num_envs)
        self.action_space = gymnasium.vector.utils.batch_space(env.action_space, self.num_envs)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode in every environment; return (observations, empty dictionary).

        Args:
            seed: A seed for the common generator `np_random`, which draws all starts, beginning
                with the first environment.
            options: Unused.

        Raises:
            ValueError: For the option `reset_mask`, which would reset only some environments.
        """
        if options and "reset_mask" in options:
            raise ValueError("all environments are reset together: only all of them can be reset")
        super().reset(seed=seed)
        self._begin()
        return self._observe(), {}

    def _begin(self) -> None:
        """Start an episode in every environment: set `_steps`, draw from `np_random`."""
        raise NotImplementedError

    def _move(self, actions: Any) -> np.ndarray:
        """Take the actions and return the rewards, float64 `[num_envs]`."""
        raise NotImplementedError

    def _observe(self) -> np.ndarray:
        """Return the observations as a new array, float32 `[num_envs, obs_dim]`."""
        raise NotImplementedError


class _VectorOfEqualEpisodes(_Vector):
    """Vector environments whose episodes all have the same length.

    Args:
        episode_length: The number of steps after which the episodes are truncated.
    """

    metadata = {"render_modes": [], "autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP}  # noqa: RUF012, gymnasium's

    def __init__(self, num_envs: int, env: gymnasium.Env, episode_length: int) -> None:
        super().__init__(num_envs, env)
        self._episode_length = episode_length

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Return (observations, rewards, terminations, truncations, info) as new arrays."""
        if self._steps is None:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        rewards = self._move(actions)
        self._steps += 1
        observations, at_end, info = self._observe(), self._steps == self._episode_length, {}
        if at_end:
            last = np.empty(self.num_envs, dtype=object)
            for index, observation in enumerate(observations):
                last[index] = observation
            everywhere = np.ones(self.num_envs, dtype=bool)
            info = {"final_obs": last, "_final_obs": everywhere, "final_info": {}, "_final_info": everywhere.copy()}
            self._begin()
            observations = self._observe()
        return observations, rewards, np.zeros(self.num_envs, dtype=bool), np.full(self.num_envs, at_end), info

    def _begin(self) -> None:
        self._steps = 0
        self._draw()

    def _draw(self) -> None:
        """Draw new starts for all environments from `np_random`, the first environment first."""
        raise NotImplementedError


class _VectorOfOwnEpisodes(_Vector):
    """Vector environments with episodes of different lengths, reset in the next step."""

    metadata = {"render_modes": [], "autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP}  # noqa: RUF012, gymnasium's
    _lengths: Any  # lengths of the episodes: one number, or one per environment

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Return (observations, rewards, terminations, truncations, {}) as new arrays."""
        if self._steps is None:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        begins = self._steps >= self._lengths
        rewards = np.where(begins, 0.0, self._move(actions))
        self._steps = np.where(begins, 0, self._steps + 1)
        self._draw(begins)
        terminations = self._steps >= self._lengths
        return self._observe(), rewards, terminations, np.zeros(self.num_envs, dtype=bool), {}

    def _begin(self) -> None:
        self._steps = np.zeros(self.num_envs, dtype=np.int64)
        self._draw(np.ones(self.num_envs, dtype=bool))

    def _draw(self, begins: np.ndarray) -> None:
        """Draw new starts from `np_random` where `begins` (bool `[num_envs]`), in order."""
        raise NotImplementedError


class PointMassVector(_VectorOfEqualEpisodes):
    """A gymnasium vector environment of `num_envs` `PointMass(d)`, computed together.

    Actions: float `[num_envs, d]`. Observations: float32 `[num_envs, 2 * d]`. Rewards: float64
    `[num_envs]`. Terminations and truncations: bool `[num_envs]`. One generator, `np_random`, draws
    all starts.

    All episodes end in the same step, the 30th. That step already returns the first observations of
    the next episodes. The last observations are in info["final_obs"], an object array of `num_envs`
    float32 `[2 * d]`, with the mask info["_final_obs"], as in SyncVectorEnv with
    AutoresetMode.SAME_STEP. In other steps info is empty.
    """

    action_space: gymnasium.spaces.Box

    def __init__(self, num_envs: int, d: int = 1) -> None:
        super().__init__(num_envs, PointMass(d), PointMass.EPISODE_LENGTH)

    def _draw(self) -> None:
        self._position = self.np_random.uniform(-1.0, 1.0, self.action_space.shape)
        self._velocity = np.zeros(self.action_space.shape)

    def _move(self, actions: Any) -> np.ndarray:
        self._position, self._velocity, rewards = _move_points(self._position, self._velocity, actions)
        return rewards

    def _observe(self) -> np.ndarray:
        return _observed(self._position, self._velocity)


class GridWorldVector(_VectorOfEqualEpisodes):
    """A gymnasium vector environment of `num_envs` `GridWorldEnv`, computed together.

    Actions: integers `[num_envs]`. Observations: float32 `[num_envs, 2 * dimensions]`. Everything else
    is as in `PointMassVector`, including the last step of the episodes. The other parameters are
    those of `GridWorldPointTargetEnv`.
    """

    def __init__(
        self,
        num_envs: int,
        grid_size: int = 10,
        episode_length: int = 20,
        dimensions: int = 2,
        set_target: float | Sequence[float] | np.ndarray | None = None,
        set_state: float | Sequence[float] | np.ndarray | None = None,
    ) -> None:
        env = GridWorldEnv(grid_size, episode_length, dimensions, set_target, set_state)
        super().__init__(num_envs, env, episode_length)
        self._grid_size = grid_size
        self._fixed = (env._world._fixed_target, env._world._fixed_state)
        self._moves = np.zeros((env._world.num_actions, dimensions))
        for index, (axis, sign) in enumerate(env._world._moves):
            self._moves[index, axis] = sign

    def _draw(self) -> None:
        dimensions = self._moves.shape[1]
        shape = (self.num_envs, sum(position is None for position in self._fixed), dimensions)
        drawn = self.np_random.integers(self._grid_size, size=shape).astype(np.float64)
        target, state = self._fixed
        self._target = drawn[:, 0] if target is None else np.tile(target, (self.num_envs, 1))
        self._state = drawn[:, -1] if state is None else np.tile(state, (self.num_envs, 1))

    def _move(self, actions: Any) -> np.ndarray:
        moves = self._moves[_action_indices(actions, self.num_envs, len(self._moves))]
        self._state = np.clip(self._state + moves, 0, self._grid_size)
        return np.sqrt(np.square(self._state - self._target).sum(axis=1)) / -self._grid_size

    def _observe(self) -> np.ndarray:
        size = self._grid_size
        return _observed(2 * self._target / size - 1, 2 * self._state / size - 1)


class CueVector(_VectorOfOwnEpisodes):
    """A gymnasium vector environment of `num_envs` `Cue(length)`, computed together.

    Actions: integers `[num_envs]`. Observations: float32 `[num_envs, 3]`. Rewards: float64
    `[num_envs]`. Terminations and truncations: bool `[num_envs]`. info: always empty. One generator,
    `np_random`, draws all starts.

    When an episode has ended, the next step resets that environment (AutoresetMode.NEXT_STEP, the
    default of SyncVectorEnv): it ignores the action and returns the first observation and the
    reward 0.
    """

    def __init__(self, num_envs: int, length: int = 8) -> None:
        super().__init__(num_envs, Cue(length))
        self._lengths = _size("length", length)
        self._right = np.zeros(self.num_envs, dtype=np.int64)

    def _draw(self, begins: np.ndarray) -> None:
        self._right[begins] = self.np_random.integers(2, size=np.count_nonzero(begins))

    def _move(self, actions: Any) -> np.ndarray:
        right = _action_indices(actions, self.num_envs, 2) == self._right
        return np.where(self._steps == self._lengths - 1, np.where(right, 1.0, -1.0), 0.0)

    def _observe(self) -> np.ndarray:
        cues = np.where(self._steps == 0, 2 * self._right - 1, 0)
        return np.stack((cues, self._steps == self._lengths - 1, np.ones(self.num_envs)), axis=1, dtype=np.float32)


class MetronomeVector(_VectorOfOwnEpisodes):
    """A gymnasium vector environment of `num_envs` `Metronome`, computed together.

    Actions: integers `[num_envs]`. Observations: float32 `[num_envs, 1]`. Everything else is as in
    `CueVector`, including the step after the end of an episode.
    """

    def __init__(self, num_envs: int) -> None:
        super().__init__(num_envs, Metronome())
        self._lengths = np.zeros(self.num_envs, dtype=np.int64)

    def _draw(self, begins: np.ndarray) -> None:
        self._lengths[begins] = self.np_random.integers(1, Metronome.MAX_LENGTH + 1, size=np.count_nonzero(begins))

    def _move(self, actions: Any) -> np.ndarray:
        beats = _action_indices(actions, self.num_envs, 2) == 1
        return np.where(beats, np.where(self._steps == Metronome.BEAT, 1.0, -0.25), 0.0)

    def _observe(self) -> np.ndarray:
        return np.ones((self.num_envs, 1), dtype=np.float32)


def _action_indices(actions: Any, number: int, count: int) -> np.ndarray:
    """Return the actions as `number` integers below `count`; raise ValueError for anything else."""
    actions = np.asarray(actions)
    if actions.shape != (number,) or actions.dtype.kind not in "iu":
        raise ValueError(f"actions must be integers of shape [{number}], found {actions!r}")
    if actions.min() < 0 or actions.max() >= count:
        raise ValueError(f"actions must be whole numbers from 0 to {count - 1}, found {actions}")
    return actions


def _size(name: str, value: int) -> int:
    if value != int(value) or value < 1:
        raise ValueError(f"{name} must be a whole number from 1 on, not {value}")
    return int(value)


for _id, _env, _vector in (
    ("PointMass-v0", PointMass, PointMassVector),
    ("GridWorld-v0", GridWorldEnv, GridWorldVector),
    ("Cue-v0", Cue, CueVector),
    ("Metronome-v0", Metronome, MetronomeVector),
):
    if _id not in gymnasium.registry:  # registered already if this module is reloaded
        gymnasium.register(_id, f"utils:{_env.__name__}", vector_entry_point=f"utils:{_vector.__name__}")


class SimpleReLuNetwork(nn.Module):
    """A multilayer perceptron from float32 `[batch, input_dims]` to `[batch, output_dims]`.

    Args:
        input_dims, output_dims: The sizes of the input and the output.
        out_logsoftmax: Whether to end with LogSoftmax over the last axis, so that the outputs are
            log-probabilities (a policy).
        fixed_init: `[w, b]` sets every weight to w and every bias to b. None: torch's default
            initialization.
        hidden_dims: The widths of the hidden layers. The first width is used twice: `[16]` gives three
            linear layers, in-16, 16-16, 16-out, with a ReLU after all but the last one.

    All layers are in one `nn.Sequential` named `net` (state-dict keys `net.0.weight`, ...).
    """

    def __init__(
        self,
        input_dims: int,
        output_dims: int,
        out_logsoftmax: bool = False,
        fixed_init: Sequence[float] | None = None,
        hidden_dims: Sequence[int] = (16,),
    ) -> None:
        super().__init__()
        if len(hidden_dims) == 0:
            raise ValueError("hidden_dims must have at least one entry, the width of the first layer")
        layers: list[nn.Module] = []
        width = input_dims
        for hidden in (hidden_dims[0], *hidden_dims):
            layers += [nn.Linear(width, hidden), nn.ReLU()]
            width = hidden
        layers.append(nn.Linear(width, output_dims))
        if out_logsoftmax:
            layers.append(nn.LogSoftmax(dim=-1))
        self.net = nn.Sequential(*layers)
        if fixed_init is not None:
            weight, bias = fixed_init
            for name, parameter in self.named_parameters():
                nn.init.constant_(parameter, weight if name.endswith("weight") else bias)

    def forward(self, observation: Tensor) -> Tensor:
        return self.net(observation)


class SmallRecurrentAgent(nn.Module):
    """A small actor-critic with an LSTM cell that learns `Cue` and `Metronome` within seconds.

    Args:
        obs_dim: The number of values in an observation.
        n_actions: The number of actions.
        units: The size of the memory.

    Actor and critic share the LSTM cell. The weights have torch's default initialization, from its
    global generator. The memory is (h, c), each float32 `[batch, units]`.
    """

    def __init__(self, obs_dim: int, n_actions: int, units: int = 32) -> None:
        super().__init__()
        self.rnn = nn.LSTMCell(obs_dim, units)
        self.logits = nn.Linear(units, n_actions)
        self.state_value = nn.Linear(units, 1)

    def forward(self, prev_state: tuple[Tensor, Tensor], obs_t: Tensor) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        """Return (new_state, (logits, state_value)).

        `new_state` is the memory after the observation; logits are float32 `[batch, n_actions]`, values
        float32 `[batch]`.

        Args:
            prev_state: The memory before the observation, a pair.
            obs_t: float32 `[batch, obs_dim]`.
        """
        h, c = self.rnn(obs_t, tuple(prev_state))
        return (h, c), (self.logits(h), self.state_value(h)[:, 0])

    def get_initial_state(self, batch_size: int) -> tuple[Tensor, Tensor]:
        """Return the memory at the start of an episode: zeros."""
        return torch.zeros(batch_size, self.rnn.hidden_size), torch.zeros(batch_size, self.rnn.hidden_size)

    def sample_actions(self, agent_outputs: tuple[Tensor, Tensor]) -> np.ndarray:
        """Return actions drawn from the policy by torch's global generator, int64 `[batch]`.

        Args:
            agent_outputs: (logits, state_value), as returned by `step`.
        """
        return distribution_sample(agent_outputs[0])[0].numpy()

    @torch.no_grad()
    def step(self, prev_state: tuple[Tensor, Tensor], obs_t: Any) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        """Return the same as `forward`, without a gradient.

        Args:
            prev_state: As for `forward`.
            obs_t: An array `[batch, obs_dim]`.
        """
        return self(prev_state, torch.as_tensor(obs_t, dtype=torch.float32))


class PlainAdam(torch.optim.Optimizer):
    """Adam (Kingma and Ba 2015) in a few lines, for the checks.

    The first optimizer of torch.optim needs a second for its imports; this one does not. So it does
    not call `Optimizer.__init__`.

    Args:
        parameters: The parameters, in one group.
        lr, betas, eps: As in `torch.optim.Adam`.
        max_grad_norm: `step` clips the global gradient norm to this value. The `grad` of the
            parameters is not modified.
    """

    def __init__(
        self,
        parameters: list[nn.Parameter],
        lr: float,
        betas=(0.9, 0.999),
        eps: float = 1e-8,
        max_grad_norm: float | None = None,
    ) -> None:
        self.param_groups = [{"params": parameters, "lr": lr}]
        self.max_grad_norm = max_grad_norm
        self.betas, self.eps, self.time = betas, eps, 0
        self.means = [torch.zeros_like(parameter) for parameter in parameters]
        self.squares = [torch.zeros_like(parameter) for parameter in parameters]

    def zero_grad(self, set_to_none: bool = True) -> None:
        for parameter in self.param_groups[0]["params"]:
            parameter.grad = None

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self.time += 1
        moving = [
            (parameter, mean, square)
            for parameter, mean, square in zip(self.param_groups[0]["params"], self.means, self.squares, strict=True)
            if parameter.grad is not None
        ]
        if not moving:
            return loss
        parameters, means, squares = (list(column) for column in zip(*moving, strict=True))
        gradients = [parameter.grad for parameter in parameters]
        if self.max_grad_norm is not None:
            norm = torch.stack(torch._foreach_norm(gradients)).norm()
            gradients = torch._foreach_mul(gradients, (self.max_grad_norm / (norm + 1e-6)).clamp(max=1))
        beta1, beta2 = self.betas
        torch._foreach_lerp_(means, gradients, 1 - beta1)
        torch._foreach_mul_(squares, beta2)
        torch._foreach_addcmul_(squares, gradients, gradients, 1 - beta2)
        scale = torch._foreach_sqrt(torch._foreach_div(squares, 1 - beta2**self.time))
        torch._foreach_add_(scale, self.eps)
        torch._foreach_addcdiv_(parameters, means, scale, -self.param_groups[0]["lr"] / (1 - beta1**self.time))
        return loss


class RolloutBuffer:
    """The steps of several rollouts, one row per step, one episode after another.

    Before `finalize`, the fields are lists; after it, they are tensors with T rows.

    Attributes:
        observations: float32 `[T, obs_dim]`; the observation *before* the action.
        actions: int64 `[T, 1]`.
        old_logits: float32 `[T, num_actions]`; the policy's output for this observation.
        rewards: float32 `[T]`, or int64 `[T]` if only integers were added.
        terminateds: bool `[T]`; True if the action of this row ended its episode. The last episode
            may be unfinished.
        final_size: T (None before `finalize`).
    """

    _FIELDS = ("actions", "old_logits", "observations", "rewards", "terminateds")

    def __init__(self) -> None:
        self.actions: Any = []
        self.old_logits: Any = []
        self.observations: Any = []
        self.rewards: Any = []
        self.terminateds: Any = []
        self.final_size: Any = None

    def add(self, action: Tensor, logits: Tensor, observation: Tensor, terminated: bool, reward: float) -> None:
        """Append one row; tensors have a batch axis of 1. `finalize` removes the gradients."""
        if self.final_size is not None:
            raise RuntimeError("this buffer is finalized: nothing can be added. Make a new RolloutBuffer.")
        self.actions.append(action)
        self.old_logits.append(logits)
        self.observations.append(observation)
        self.rewards.append(reward)
        self.terminateds.append(terminated)

    def finalize(self) -> None:
        """Convert the lists to tensors; call it once, after the last `add`."""
        if self.final_size is not None:
            raise RuntimeError("this buffer is finalized already: call finalize() once, after the last add()")
        if not self.rewards:
            raise RuntimeError("this buffer is empty: add() rows before finalize()")
        self.load({name: getattr(self, name) for name in self._FIELDS})

    def load(self, content: dict[str, Any]) -> None:
        """Replace the content by a dictionary from `dump`; the buffer is then finalized."""
        missing = [name for name in self._FIELDS if name not in content]
        if missing:
            raise ValueError(f"a rollout buffer needs {', '.join(self._FIELDS)}; missing: {', '.join(missing)}")
        rewards = _numbers(content["rewards"])
        fields = {
            "actions": _rows(content["actions"]),
            "old_logits": _rows(content["old_logits"]),
            "observations": _rows(content["observations"]),
            "rewards": rewards.float() if rewards.is_floating_point() else rewards.long(),
            "terminateds": _numbers(content["terminateds"]).bool(),
        }
        sizes = {name: len(rows) for name, rows in fields.items()}
        if len(set(sizes.values())) != 1:
            raise ValueError(f"every field of a rollout buffer needs the same number of rows, found {sizes}")
        for name, rows in fields.items():
            setattr(self, name, rows)
        self.final_size = len(rewards)

    def dump(self) -> dict[str, list]:
        """Return the content as nested lists, ready for JSON; `load` is the inverse."""
        return {
            name: (_numbers if name in ("rewards", "terminateds") else _rows)(getattr(self, name)).tolist()
            for name in self._FIELDS
        }


def _rows(rows: Any) -> Tensor:
    """Return one tensor with a row axis from a tensor, an array, lists, or `[1, ...]` tensors."""
    if isinstance(rows, list) and any(isinstance(row, (Tensor, np.ndarray)) for row in rows):
        return torch.cat([torch.atleast_1d(torch.as_tensor(row)) for row in rows]).detach()
    tensor = torch.as_tensor(rows).detach()
    return tensor.float() if tensor.dtype == torch.float64 else tensor


def _numbers(values: Any) -> Tensor:
    """Return a 1-D tensor from a tensor, an array, or a list of numbers or one-element tensors."""
    if isinstance(values, list):
        values = [value.item() if hasattr(value, "item") else value for value in values]
    return torch.as_tensor(values).detach().reshape(-1)


def distribution_sample(logits: Tensor, seed: np.ndarray | list[int] | None = None) -> Tensor:
    """Sample one action per row from the policy's distribution, int64 `[1, batch]`.

    Args:
        logits: float32 `[batch, num_actions]`; log-probabilities or unnormalized logits.
        seed: An integer array used as a ring: the sample is seeded with `seed[0]`. Then the array is
            rotated by one *in place*, so the next call uses the next entry.

    With a seed, the sample comes from a NumPy generator and is the same on every platform and torch
    version. Without a seed, it comes from torch's global generator.
    """
    logits = logits.detach()
    if logits.ndim != 2 or logits.isnan().any():
        raise ValueError(f"logits must be numbers of shape [batch, num_actions], found {logits}")
    if seed is None:
        # The Gumbel-max trick: a quarter of the time of torch.multinomial for one row.
        return (logits - torch.empty_like(logits).exponential_().log_()).argmax(dim=-1).unsqueeze(0)
    generator = np.random.default_rng(_next_of_ring(seed))
    # Inverse of the cumulative distribution, in float64.
    scores = logits.double().numpy()
    cumulative = np.exp(scores - scores.max(axis=-1, keepdims=True)).cumsum(axis=-1)
    uniform = generator.random((len(scores), 1)) * cumulative[:, -1:]
    actions = (uniform >= cumulative[:, :-1]).sum(axis=-1)
    return torch.from_numpy(actions.astype(np.int64)).unsqueeze(0)


def _next_of_ring(ring: np.ndarray | list[int]) -> int:
    """Return the first entry of the ring, and rotate it by one in place."""
    if not isinstance(ring, (np.ndarray, list)) or len(ring) == 0 or int(ring[0]) != ring[0]:
        raise ValueError(f"seed must be a NumPy array or a list of integers, or None for an unseeded draw, found {ring!r}")
    first = int(ring[0])
    ring[:-1] = ring[1:] if isinstance(ring, list) else ring[1:].copy()
    ring[-1] = first
    return first


def get_success_rate(env: GridWorldPointTargetEnv, buffer: RolloutBuffer) -> float:
    """Return the share of finished episodes whose last stored state is on the target, 0 to 1.

    Args:
        env: The environment that the buffer comes from (for its dimensions).
        buffer: A finalized buffer with at least one finished episode.
    """
    if buffer.final_size is None:
        raise ValueError("this buffer is not finalized: call finalize() first")
    last = buffer.observations[buffer.terminateds]
    if len(last) == 0:
        raise ValueError("no episode in this buffer is finished: collect at least one whole rollout first")
    target, state = last[:, : env.dimensions], last[:, env.dimensions :]
    return float((target - state).abs().amax(dim=1).lt(1e-6).double().mean())


def show_lineworld_rollouts(env: GridWorldPointTargetEnv, buffer: RolloutBuffer) -> float:
    """Plot the distance to the target of every episode; return the success rate.

    Args:
        env: A one-dimensional grid world.
        buffer: A finalized buffer of its rollouts.

    A line that reaches 0 and stays there is a success. The plot is a new matplotlib figure, which is
    shown. For the success rate see `get_success_rate`.
    """
    from matplotlib import pyplot

    if env.dimensions != 1:
        raise ValueError("show_lineworld_rollouts draws one-dimensional worlds; for others use get_success_rate")
    offsets = ((buffer.observations[:, 1] - buffer.observations[:, 0]) * env.grid_size / 2).tolist()
    ends = [index + 1 for index, terminated in enumerate(buffer.terminateds.tolist()) if terminated]
    _, axes = pyplot.subplots()
    for start, end in zip([0, *ends], [*ends, len(offsets)], strict=True):
        if start == end:
            continue
        success = end in ends and abs(offsets[end - 1]) < 1e-5
        axes.plot(range(end - start), offsets[start:end], color="tab:blue" if success else "tab:red", alpha=0.3)
    rate = get_success_rate(env, buffer)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set(xlabel="step", ylabel="state - target", title=f"{rate:.0%} of {len(ends)} episodes end on the target")
    pyplot.show()
    return rate


class ProgressBar:
    """A progress bar for trainings: counts finished episodes and shows their mean return.

    Args:
        rollouts: The expected number of episodes in all watched environments. Further ones are
            counted, too.
        title: The text before the bar.
        window: The number of latest episodes for the mean return.

        with utils.ProgressBar(rollouts=2 * 500, title="vanilla") as bar:
            for seed in range(2):
                env = bar.watch(utils.GridWorldPointTargetEnv(dimensions=1))
                ...  # trains with env, 500 rollouts

    A return is the undiscounted sum of the rewards of an episode. Inside the context, the lines
    "Running rollout ..." of `collect_rollouts` are not printed, because they would overwrite the
    bar. All other output is printed, and exceptions pass through. The bar is drawn on stdout, because
    notebooks show stderr in red. (Needs tqdm.)
    """

    def __init__(self, rollouts: int, title: str = "", window: int = 50) -> None:
        if rollouts < 1 or window < 1:
            raise ValueError(f"rollouts and window must be at least 1, not {rollouts} and {window}")
        self._rollouts, self._title = rollouts, title
        self._latest: deque[float] = deque(maxlen=window)
        self._bar: Any = None

    def watch(self, env: EnvInterface) -> WatchedEnv:
        """Return a wrapper of the environment that counts its episodes; start a new window."""
        self._latest.clear()
        return WatchedEnv(env, self._count)

    def __enter__(self) -> ProgressBar:
        from tqdm import tqdm  # not tqdm.auto, which warns without ipywidgets

        self._stdout = sys.stdout
        self._bar = tqdm(total=self._rollouts, desc=self._title, unit=" rollouts", mininterval=0.25, file=self._stdout)
        sys.stdout = _WithoutProgressLines(self._stdout)
        return self

    def __exit__(self, *exception: object) -> None:
        sys.stdout = self._stdout
        self._bar.close()

    def _count(self, episode_return: float) -> None:
        if self._bar is None:
            raise RuntimeError("this bar is not shown: use it as `with utils.ProgressBar(...) as bar:`")
        self._latest.append(episode_return)
        self._bar.total = max(self._bar.total, self._bar.n + 1)
        self._bar.set_postfix_str(f"mean return {sum(self._latest) / len(self._latest):.2f}", refresh=False)
        self._bar.update()


class WatchedEnv(EnvInterface):
    """A wrapper that records the return of every finished episode.

    Args:
        env: Any environment; its other attributes (`num_actions`, `dimensions`, ...) are available
            through the wrapper.
        on_episode: Called with the return of each finished episode, if not None.

    Attributes:
        returns: The undiscounted returns of the finished episodes so far, in order.
    """

    def __init__(self, env: EnvInterface, on_episode: Any = None) -> None:
        self.env = env
        self.returns: list[float] = []
        self._on_episode = on_episode
        self._sum = 0.0

    def reset(self, seed: int | None = None) -> Tensor:
        self._sum = 0.0
        return self.env.reset(seed)

    def step(self, action: Tensor | int) -> tuple[Tensor, bool, float]:
        observation, terminated, reward = self.env.step(action)
        self._sum += float(reward)
        if terminated:
            self.returns.append(self._sum)
            if self._on_episode is not None:
                self._on_episode(self._sum)
        return observation, terminated, reward

    def __getattr__(self, name: str) -> Any:
        if name == "env":  # not set yet, for example during a copy
            raise AttributeError(name)
        return getattr(self.env, name)


class _WithoutProgressLines:
    """A text stream without the lines "Running rollout ..." of `collect_rollouts`."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        if not text.startswith("\rRunning rollout"):
            self._stream.write(text)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


Rung = tuple[str, str, Callable[[], gymnasium.Env], Mapping[str, float], float]
"""A rung of a ladder of probes: name, what it isolates, the probe, expected values, tolerance."""


def climb(rungs: Sequence[Rung], learn: Callable[[gymnasium.Env, int], Mapping[str, float]], fine: dict[str, bool]) -> None:
    """Train an agent on every rung; print expected and found values.

    Args:
        rungs: The rungs, simplest first.
        learn: A function (environment, seed) that trains an agent and returns its values by name. If
            the first seed misses the tolerance, a second one is tried, because a correct agent can
            fail by chance.
        fine: A dictionary to fill: for each rung's name, whether the values were found. If `learn`
            raises an exception, the rungs before it are printed, and the others are False.
    """
    from tqdm import tqdm

    fine.update((rung[0], False) for rung in rungs)
    rows = [("probe", "what it isolates", "expected", "found", "fine?")]
    try:
        for name, isolates, make, expected, tolerance in tqdm(rungs, desc="probes", unit=" rungs", file=sys.stdout):
            for seed in (0, 1):
                found = learn(make(), seed)
                fine[name] = all(abs(found[key] - value) <= tolerance for key, value in expected.items())
                if fine[name]:
                    break
            texts = [" ".join(f"{key}={numbers[key]:.2f}" for key in expected) for numbers in (expected, found)]
            rows.append((name, isolates, *texts, "yes" if fine[name] else "NO"))
    finally:
        widths = [max(map(len, column)) + 2 for column in zip(*rows, strict=True)]
        print("\n".join("".join(map(str.ljust, row, widths)).rstrip() for row in rows))


def plot_learning_curves(
    curves: Mapping[str, Sequence[Sequence[float]]],
    ylabel: str,
    rollouts_per_value: int = 1,
    points: int = 30,
    axes: Axes | None = None,
    colors: Sequence[str] = CURVE_COLORS,
) -> Axes:
    """Plot the mean over seeds of each setting as a line, and the range of the seeds as a band.

    Args:
        curves: For each setting, by name, one list of values per seed, in the order of training.
        ylabel: The label of the y-axis.
        rollouts_per_value: The number of rollouts between two values; the x-axis counts rollouts.
        points: The maximum number of points; longer curves are averaged over equal parts.
        axes: The axes to draw on; None for a new figure.
        colors: The colors of the settings, in order; they repeat if there are too few.

    Returns:
        The axes. Call `pyplot.show()` yourself.

    Raises:
        ValueError: If the seeds of a setting have different numbers of values, or none.
    """
    from matplotlib import pyplot

    for name, seeds in curves.items():
        lengths = [len(values) for values in seeds]
        if len(set(lengths)) != 1 or lengths[0] == 0:
            raise ValueError(f"{name!r} needs one list per seed, none empty, all of the same length; found lengths {lengths}")
    if axes is None:
        _, axes = pyplot.subplots(figsize=(8, 4), layout="constrained")
    for number, (name, seeds) in enumerate(curves.items()):
        ends = np.linspace(0, len(seeds[0]), min(points, len(seeds[0])) + 1).astype(int)
        means = np.array([np.add.reduceat(np.array(values, dtype=float), ends[:-1]) / np.diff(ends) for values in seeds])
        rollouts = ends[1:] * rollouts_per_value
        color = colors[number % len(colors)]
        axes.fill_between(rollouts, means.min(axis=0), means.max(axis=0), color=color, alpha=0.15, linewidth=0)
        label = f"{name} ({len(seeds)} seed{'s' if len(seeds) > 1 else ''})"
        axes.plot(rollouts, means.mean(axis=0), color=color, linewidth=2, label=label)
    axes.set(xlabel="rollouts", ylabel=ylabel)
    axes.set_xlim(left=0)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return axes


def plot_point_mass_returns(curves: Mapping[str, Sequence[Sequence[float]]], ylabel: str, lowest: float = -120.0) -> Axes:
    """Plot learning curves on `PointMass`; return the axes. Call `pyplot.show()` yourself.

    The y-axis is linear from -1 to 0 and logarithmic below. The dotted line is the best possible
    mean return.

    Args:
        curves: As for `plot_learning_curves`, with one value per episode.
        ylabel: The label of the y-axis.
        lowest: The lower end of the y-axis.
    """
    from matplotlib.ticker import NullLocator

    axes = plot_learning_curves(curves, ylabel)
    axes.set_yscale("symlog", linthresh=1)
    axes.set_yticks([-100, -30, -10, -3, -1, -0.5, 0], labels=["-100", "-30", "-10", "-3", "-1", "-0.5", "0"])
    axes.yaxis.set_minor_locator(NullLocator())
    axes.axhline(-0.435, color="black", linewidth=0.8, linestyle=":")
    axes.set(xlabel="episodes", ylim=(lowest, 0))
    return axes


def tidy(*several: Axes, legend: bool = True) -> None:
    """Remove the upper and right spines, and draw a legend without a frame.

    Args:
        several: The axes.
        legend: Whether to draw a legend if there are labels.
    """
    for axes in several:
        axes.spines[["top", "right"]].set_visible(False)
        if legend and axes.get_legend_handles_labels()[1]:
            axes.legend(frameon=False)
