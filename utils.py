"""Environments, networks, rollout buffer and plots, shared by all assignments. Read it as you like; do not change it.

Randomness is never hidden: an environment owns its generator, and a function that draws says from which generator it does.
matplotlib and tqdm are imported only by what needs them, because importing them costs as much as many rollouts. (gymnasium
takes 0.03 s after torch, which takes 1.3 s.)

The assignments that say so use `EnvInterface`, which is small. `PointMass`, `GridWorldEnv`, `Cue` and `Metronome` are
environments of gymnasium, with batches of them in NumPy, for everything else; importing this module registers them:

    gymnasium.make("PointMass-v0", d=2)                  # with "utils:PointMass-v0" it imports this module by itself
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

CURVE_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#7f7f7f", "#e69f00")  # colour-blind readers can tell them apart


class EnvInterface:
    """What every environment here offers: `reset` starts an episode, `step` moves it on by one action.

    Observations are float32 `[1, obs_dim]`, a fresh tensor each time, so they can go straight into a network and be
    kept without a copy. Actions are int64 `[1, 1]`, as `distribution_sample` returns them.
    """

    def reset(self, seed: int | None = None) -> Tensor:
        """Return the first observation of a new episode, float32 `[1, obs_dim]`.

        Args:
            seed: Makes this and the following episodes reproducible; without it the environment's
                own generator goes on.
        """
        raise NotImplementedError

    def step(self, action: Tensor | int) -> tuple[Tensor, bool, float]:
        """Return (observation after the action, terminated, reward of the action). Mind the order.

        Args:
            action: int64 `[1, 1]`, or a plain integer.

        `terminated` is True when this action ended the episode. A time limit counts as an end here,
        on purpose: the task is finite, so nothing comes after it. (In most other settings a time
        limit is a *truncation*.)
        """
        raise NotImplementedError


class GridWorldPointTargetEnv(EnvInterface):
    """A point on a grid that should walk to a target point, both drawn anew in every episode.

    Args:
        grid_size: Positions lie in `[0, grid_size]` on each axis; start and target are whole
            numbers below `grid_size`.
        episode_length: Steps until the episode ends. Reaching the target does not end it: the point
            has to stay there.
        dimensions: 1 for a line (actions: 0 = -1, 1 = stay, 2 = +1), 2 for a plane (0 = stay, 1 =
            +x, 2 = -x, 3 = +y, 4 = -y).
        set_target, set_state: A number, list or array that fixes the target or the start; it is
            copied, never modified.

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
        """Number of actions: 3 on a line, 5 in the plane."""
        return len(self._moves)

    @property
    def state(self) -> np.ndarray:
        """The position now, float64 `[dimensions]` (a copy)."""
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
        # Plain numbers, not arrays: for one or two coordinates they are several times faster.
        state, size = self._state, self.grid_size
        state[axis] = min(max(state[axis] + move, 0), size)
        self._steps += 1
        if len(state) == 1:
            distance = abs(state[0] - self._target[0])
        else:
            distance = sum((s - t) ** 2 for s, t in zip(state, self._target, strict=True)) ** 0.5
        # np.float64 is a float that also has .item(), .shape and the like.
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
    """CartPole-v1 behind the same interface, its observations scaled to about `[-1, 1]`.

    Args:
        vis: True opens a window (needs pygame).

    Observation: position / 2.4, velocity / 3, angle / 0.2095, angular velocity / 3, float32
    `[1, 4]`; the first and third divisors are where the episode fails.

    Actions: 0 = push left, 1 = push right.

    Reward: 1 a step. The limit of 500 steps counts as terminated, as everywhere in this assignment.

    (gymnasium; machine problem 11 of ECE 448 / CS 440, University of Illinois, calls it a double
    pendulum, which it is not.)
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
    """Return the action as a plain integer below `count`; raises ValueError for anything else."""
    index = action.item() if hasattr(action, "item") else action
    if not isinstance(index, (int, float)) or not 0 <= index < count or index != int(index):
        raise ValueError(f"action must be a whole number from 0 to {count - 1}, not {index!r}")
    return int(index)


class PointMass(gymnasium.Env):
    """A point in `d` dimensions, at rest at first, that should get to the origin and stay there. The axes do not interact.

    Args:
        d: Number of dimensions, from 1 on.

    Action: float `[d]`, a in `[-1, 1]`; what lies outside is clipped to that, what is no number is refused (ValueError).
    Step: v <- 0.8 v + 0.1 a, then p <- p + v, clipped to `[-2, 2]`. A wall leaves v as it is.
    Reward: minus the mean over the axes of p² + 0.01 a², with p after the step and a clipped.
    Observation: p, then v, float32 `[2 * d]`, within ±2 and ±0.5 (v stays below 0.1 / (1 - 0.8)). The state itself is float64.
    Start: p uniform in `[-1, 1]` on each axis, from the environment's own generator (`np_random`); v = 0.
    End: `truncated` in step 30, by the environment itself, so no TimeLimit is needed; `terminated` never.

    What an episode returns (the undiscounted sum of its 30 rewards) in the mean over starts, for every d:

        optimum                    -0.435   (from -1.643, at p = ±1 on every axis, to 0)
        zero actions              -10
        uniformly random actions  -29.3

    Single returns scatter around it with a standard deviation of 0.47, 8.9 and 25.7 for d = 1, and 1 / √d of that for others.
    """

    EPISODE_LENGTH = 30
    _steps: int | None = None

    def __init__(self, d: int = 1) -> None:
        self.d = _size("d", d)
        bounds = np.repeat(np.array([2.0, 0.5], dtype=np.float32), self.d)
        self.observation_space = gymnasium.spaces.Box(-bounds, bounds, dtype=np.float32)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (self.d,), dtype=np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Return (first observation, empty dictionary). A seed makes this and the following episodes reproducible."""
        super().reset(seed=seed)
        self._position = self.np_random.uniform(-1.0, 1.0, self.d)
        self._velocity = np.zeros(self.d)
        self._steps = 0
        return _observed(self._position, self._velocity), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Return (observation, reward, terminated, truncated, empty dictionary)."""
        if self._steps is None:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        self._position, self._velocity, reward = _move_points(self._position, self._velocity, action)
        self._steps += 1
        return _observed(self._position, self._velocity), float(reward), False, self._steps >= self.EPISODE_LENGTH, {}


def _move_points(position: np.ndarray, velocity: np.ndarray, action: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (position, velocity, reward) after one step of `PointMass`; `[..., d]` each, the reward `[...]`."""
    action = np.asarray(action, dtype=np.float64)
    if action.shape != position.shape:
        raise ValueError(f"actions must have shape {list(position.shape)}, not {list(action.shape)}")
    action = np.minimum(np.maximum(action, -1.0), 1.0)  # on few numbers, several times faster than np.clip
    velocity = 0.8 * velocity + 0.1 * action
    position = np.minimum(np.maximum(position + velocity, -2.0), 2.0)
    reward = np.add.reduce(position * position + 0.01 * action * action, axis=-1) / -position.shape[-1]
    if np.isnan(reward).any():
        raise ValueError(f"actions must be numbers, found {action}")
    return position, velocity, reward


def _observed(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return both, side by side on the last axis, as a new float32 array."""
    return np.concatenate((first, second), axis=-1, dtype=np.float32, casting="same_kind")


class Probe(gymnasium.Env):
    """Episodes of a few steps that show a sign, -1 or +1, and pay by it. An agent that fails on one has one thing wrong.

    Args:
        pay: The reward, from the sign (float) and the first action (float64 `[n]`). The last step pays it.
        steps: How many steps an episode has, from 1 on.
        truncates: Whether a clock ends the episode (`truncated`; otherwise `terminated`). Then every step pays, and the
            observation does not change.
        low, high: The bounds of the action, `[n]` each. Actions are not clipped to them.
        shows_action: Whether the observation has the first action.

    Action: float `[n]`.
    Observation: the sign and how many steps were taken, float32 `[2]`; with `shows_action` also the first component of the
    first action, 0 before it was taken, float32 `[3]`.
    Start: the sign is drawn from the environment's own generator (`np_random`).
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
        """Return (first observation, empty dictionary). A seed makes this and the following episodes reproducible."""
        super().reset(seed=seed)
        self._sign = float(self.np_random.choice([-1, 1]))
        self._actions: list[np.ndarray] = []
        return self._observe(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Return (observation, reward, terminated, truncated, empty dictionary)."""
        self._actions.append(np.array(action, dtype=np.float64))
        over = len(self._actions) == self.steps
        reward = float(self.pay(self._sign, self._actions[0])) if over or self.truncates else 0.0
        return self._observe(), reward, over and not self.truncates, over and self.truncates, {}

    def _observe(self) -> np.ndarray:
        seen = [] if self.truncates else self._actions
        shown = [self._sign, len(seen), seen[0][0] if seen else 0.0]
        return np.array(shown if self.shows_action else shown[:2], dtype=np.float32)


class GridWorldEnv(gymnasium.Env):
    """`GridWorldPointTargetEnv` as an environment of gymnasium. Parameters, moves and rewards are the same, except that:

    Action: a whole number below 3 on a line, below 5 in the plane.
    Observation: the target, then the state, float32 `[2 * dimensions]`, in `[-1, 1]`.
    Start: drawn from this environment's own generator (`np_random`).
    End: step `episode_length` is `truncated`, by the environment itself; `terminated` never.
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
        """Return (first observation, empty dictionary). A seed makes this and the following episodes reproducible."""
        super().reset(seed=seed)
        self._world._generator = self.np_random
        self._steps = 0
        return self._world.reset()[0].numpy(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Return (observation, reward, terminated, truncated, empty dictionary)."""
        if self._steps is None:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        observation, at_end, reward = self._world.step(action)
        self._steps += 1
        return observation[0].numpy(), float(reward), False, at_end, {}


class Cue(gymnasium.Env):
    """A cue in the first step says which action is right in the last one: to be remembered in between.

    Args:
        length: Steps of an episode, from 1 on; memory is needed from 2 on.

    Observation: (cue, junction, 1), float32 `[3]`. cue: +1 or -1 in the first step, 0 in all others. junction: 1 in the last
        step, 0 in all others. The observation that comes after the last step is (0, 0, 1).
    Action: 1 is right for the cue +1, 0 for the cue -1.
    Reward: in the last step +1 for the right action and -1 for the other one; 0 in all others.
    Start: the cue is drawn, both alike, from the environment's own generator (`np_random`).
    End: step `length` is `terminated`; `truncated` never.

    An episode returns 1 at best. Without memory it is 0 in the mean, whatever the policy: both cues look the same at the end.
    """

    _steps: int | None = None

    def __init__(self, length: int = 8) -> None:
        self.length = _size("length", length)
        self.observation_space = gymnasium.spaces.Box(np.array([-1, 0, 0], np.float32), np.array([1, 1, 1], np.float32))
        self.action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Return (first observation, empty dictionary). A seed makes this and the following episodes reproducible."""
        super().reset(seed=seed)
        self._right = int(self.np_random.integers(2))
        self._steps = 0
        return self._observe(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Return (observation, reward, terminated, truncated, empty dictionary)."""
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
    """Action 1 is right in the fourth step of an episode and wrong in all others: to be counted, for nothing is to be seen.

    Observation: 1, always, float32 `[1]`.
    Action: 0 waits, 1 beats.
    Reward of step t, counted from 0: of a beat +1 if t = 3 and -0.25 otherwise; 0 for waiting.
    Start: T, the number of steps, is drawn from 1 to 8, all alike, from the environment's own generator (`np_random`).
    End: step T is `terminated`; `truncated` never.

    What an episode returns in the mean:

        optimum             0.625    to beat at t = 3 alone, which 5 of 8 episodes reach
        blind               0        to wait: the best that can be done without knowing t
        random actions     -0.172

    Without t, a policy beats with one probability p in every step. An episode has 4.5 steps in the mean, 5/8 of which are the
    fourth one and 31/8 others, so it returns p · (5/8 - 0.25 · 31/8) = -0.34 p. A memory that goes on from one episode to the
    next is as blind before long: ends cannot be seen, and of all steps only 5/36 are the fourth, less than the 1/5 that pays.
    """

    BEAT = 3
    MAX_LENGTH = 8
    _steps: int | None = None

    def __init__(self) -> None:
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (1,), dtype=np.float32)
        self.action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Return (first observation, empty dictionary). A seed makes this and the following episodes reproducible."""
        super().reset(seed=seed)
        self._length = int(self.np_random.integers(1, self.MAX_LENGTH + 1))
        self._steps = 0
        return np.ones(1, dtype=np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Return (observation, reward, terminated, truncated, empty dictionary)."""
        if self._steps is None:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        reward = 1.0 if self._steps == self.BEAT else -0.25
        self._steps += 1
        at_end = self._steps >= self._length
        return np.ones(1, dtype=np.float32), reward if _action_index(action, 2) else 0.0, at_end, False, {}


class _Vector(gymnasium.vector.VectorEnv):
    """Environments in plain NumPy, stepped together. Subclasses say how they begin, move, end and are observed.

    Args:
        env: An environment that is like each of them.
    """

    _steps: Any = None  # since the episodes began; None before the first reset

    def __init__(self, num_envs: int, env: gymnasium.Env) -> None:
        self.num_envs = _size("num_envs", num_envs)
        self.single_observation_space, self.single_action_space = env.observation_space, env.action_space
        self.observation_space = gymnasium.vector.utils.batch_space(env.observation_space, self.num_envs)
        self.action_space = gymnasium.vector.utils.batch_space(env.action_space, self.num_envs)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode in every environment; return (observations, empty dictionary).

        Args:
            seed: Of the one generator (`np_random`) from which all starts are drawn, those of the
                first environment first.
            options: Unused.

        Raises:
            ValueError: For the option `reset_mask`, which would begin some of the episodes.
        """
        if options and "reset_mask" in options:
            raise ValueError("all environments are reset together: only all of them can be reset")
        super().reset(seed=seed)
        self._begin()
        return self._observe(), {}

    def _begin(self) -> None:
        """Begin an episode in every environment: set `_steps` and draw from `np_random`, as they would one by one."""
        raise NotImplementedError

    def _move(self, actions: Any) -> np.ndarray:
        """Carry out the actions and return the rewards, float64 `[num_envs]`. Refuses actions that make no sense."""
        raise NotImplementedError

    def _observe(self) -> np.ndarray:
        """Return the observations as a new array, float32 `[num_envs, obs_dim]`."""
        raise NotImplementedError


class _VectorOfEqualEpisodes(_Vector):
    """Environments that are in the same step, always.

    Args:
        episode_length: After how many steps they are truncated.
    """

    metadata = {"render_modes": [], "autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP}  # noqa: RUF012, gymnasium's

    def __init__(self, num_envs: int, env: gymnasium.Env, episode_length: int) -> None:
        super().__init__(num_envs, env)
        self._episode_length = episode_length

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Return (observations, rewards, terminations, truncations, info), each a new array with one row an environment."""
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
        """Draw new starts for all environments from `np_random`, in the order in which they would draw one by one."""
        raise NotImplementedError


class _VectorOfOwnEpisodes(_Vector):
    """Environments whose episodes end one by one. Each begins again in a step of its own, whose action is not carried out."""

    metadata = {"render_modes": [], "autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP}  # noqa: RUF012, gymnasium's
    _lengths: Any  # of the episodes: a number, or one for each

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Return (observations, rewards, terminations, truncations, empty info), new arrays with one row an environment."""
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
        """Draw new starts from `np_random` where an episode begins, bool `[num_envs]`, the first environment first."""
        raise NotImplementedError


class PointMassVector(_VectorOfEqualEpisodes):
    """`num_envs` environments `PointMass(d)` in one, computed together: a gymnasium.vector.VectorEnv.

    Actions: float `[num_envs, d]`. Observations: float32 `[num_envs, 2 * d]`. Rewards: float64 `[num_envs]`. Terminations and
    truncations: bool `[num_envs]`. One generator (`np_random`) draws all starts.

    All episodes end in the same step, the 30th. That step already returns the first observations of the next episodes; the last
    ones are in info["final_obs"], an object array of `num_envs` float32 `[2 * d]`, with the mask info["_final_obs"], just as
    SyncVectorEnv gives them with AutoresetMode.SAME_STEP. Other steps have an empty info.
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
    """`num_envs` environments `GridWorldEnv` in one, computed together: a gymnasium.vector.VectorEnv.

    Actions: integers `[num_envs]`. Observations: float32 `[num_envs, 2 * dimensions]`. Everything else as in `PointMassVector`,
    also what the last step of the episodes returns; the other parameters are those of `GridWorldPointTargetEnv`.
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
    """`num_envs` environments `Cue(length)` in one, computed together: a gymnasium.vector.VectorEnv.

    Actions: integers `[num_envs]`. Observations: float32 `[num_envs, 3]`. Rewards: float64 `[num_envs]`. Terminations and
    truncations: bool `[num_envs]`. info: always empty. One generator (`np_random`) draws all starts.

    An episode that has ended begins anew in the next step (AutoresetMode.NEXT_STEP, as SyncVectorEnv does it by default): that
    step returns its first observation and the reward 0, whatever the action.
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
    """`num_envs` environments `Metronome` in one, computed together: a gymnasium.vector.VectorEnv.

    Actions: integers `[num_envs]`. Observations: float32 `[num_envs, 1]`. Everything else as in `CueVector`, also what happens
    after the end of an episode.
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
    """Return the actions as an array of `number` integers below `count`; raises ValueError for anything else."""
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
    if _id not in gymnasium.registry:  # it is there already when this module is loaded anew
        gymnasium.register(_id, f"utils:{_env.__name__}", vector_entry_point=f"utils:{_vector.__name__}")


class SimpleReLuNetwork(nn.Module):
    """A multilayer perceptron: float32 `[batch, input_dims]` in, float32 `[batch, output_dims]` out.

    Args:
        hidden_dims: The input layer leads to `hidden_dims[0]`; then every entry, the first one too,
            adds a Linear and a ReLU; the output layer follows. So `[16]` has three linear layers:
            in-16, 16-16, 16-out.
        out_logsoftmax: Ends with LogSoftmax over the last axis, so that the outputs are
            log-probabilities (a policy).
        fixed_init: `[w, b]` fills every weight with w and every bias with b; otherwise torch's own
            initialisation is kept.

    All layers are in one `nn.Sequential` called `net` (state-dict keys `net.0.weight`, ...).
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
    """An actor and a critic that share a memory, an LSTM cell: what can learn `Cue` and `Metronome` within seconds.

    Args:
        obs_dim: Numbers in an observation.
        n_actions: How many actions there are.
        units: Size of the memory.

    Initialised as torch does it, from its global generator. The memory is (h, c), each float32
    `[batch, units]`.
    """

    def __init__(self, obs_dim: int, n_actions: int, units: int = 32) -> None:
        super().__init__()
        self.rnn = nn.LSTMCell(obs_dim, units)
        self.logits = nn.Linear(units, n_actions)
        self.state_value = nn.Linear(units, 1)

    def forward(self, prev_state: tuple[Tensor, Tensor], obs_t: Tensor) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        """Return (new_state, (logits, state_value)): the memory after the observation, float32 `[batch, n_actions]`, `[batch]`.

        Args:
            prev_state: The memory before, a pair.
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
            agent_outputs: (logits, state_value), as `step` returns them.
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
    """Adam (Kingma and Ba 2015) in a few lines, for checks: the first optimizer of torch.optim costs a second of imports.

    Args:
        parameters: Its one group.
        lr, betas, eps: As of `torch.optim.Adam`.
        max_grad_norm: `step` clips the global gradient norm to this value; `grad` of the parameters
            stays as it is.

    It is an Optimizer by name only, because of those imports.
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
        if closure is not None:
            with torch.enable_grad():
                closure()
        self.time += 1
        moving = [
            (parameter, mean, square)
            for parameter, mean, square in zip(self.param_groups[0]["params"], self.means, self.squares, strict=True)
            if parameter.grad is not None
        ]
        if not moving:
            return
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


class RolloutBuffer:
    """What happened in a number of rollouts, one row per step, episodes one after another.

    Fields, T rows in all. Before `finalize` they are lists of what was added; after it they are tensors:
        observations: float32 `[T, obs_dim]`, what the policy saw *before* it chose the action
        actions: int64 `[T, 1]`
        old_logits: float32 `[T, num_actions]`, the policy's outputs at that moment
        rewards: float32 `[T]`, or int64 `[T]` if only integers were added
        terminateds: bool `[T]`, True where the action of that row ended its episode; the last episode may be unfinished
        final_size: T (None before `finalize`)
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
        """Append one row. Tensors carry a batch axis of 1. The tensors of a finalized buffer have no gradient: it is data."""
        if self.final_size is not None:
            raise RuntimeError("this buffer is finalized: nothing can be added. Make a new RolloutBuffer.")
        self.actions.append(action)
        self.old_logits.append(logits)
        self.observations.append(observation)
        self.rewards.append(reward)
        self.terminateds.append(terminated)

    def finalize(self) -> None:
        """Turn the lists into tensors; call it once, after the last `add`. A second call raises RuntimeError."""
        if self.final_size is not None:
            raise RuntimeError("this buffer is finalized already: call finalize() once, after the last add()")
        if not self.rewards:
            raise RuntimeError("this buffer is empty: add() rows before finalize()")
        self.load({name: getattr(self, name) for name in self._FIELDS})

    def load(self, content: dict[str, Any]) -> None:
        """Replace the content by `content`, a dictionary as `dump` returns it, and be finalized."""
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
        """Return the content as plain nested lists, ready for JSON; `load` takes it back."""
        return {
            name: (_numbers if name in ("rewards", "terminateds") else _rows)(getattr(self, name)).tolist()
            for name in self._FIELDS
        }


def _rows(rows: Any) -> Tensor:
    """Return one tensor whose first axis counts rows, from a tensor, an array, nested lists, or `[1, ...]` tensors."""
    if isinstance(rows, list) and any(isinstance(row, (Tensor, np.ndarray)) for row in rows):
        return torch.cat([torch.atleast_1d(torch.as_tensor(row)) for row in rows]).detach()
    tensor = torch.as_tensor(rows).detach()
    return tensor.float() if tensor.dtype == torch.float64 else tensor


def _numbers(values: Any) -> Tensor:
    """Return a 1-D tensor from a tensor, an array, or a list of numbers, each of which may be a one-element tensor."""
    if isinstance(values, list):
        values = [value.item() if hasattr(value, "item") else value for value in values]
    return torch.as_tensor(values).detach().reshape(-1)


def distribution_sample(logits: Tensor, seed: np.ndarray | list[int] | None = None) -> Tensor:
    """Return one action per row, drawn from the policy's distribution, int64 `[1, batch]`.

    Args:
        logits: float32 `[batch, num_actions]`; log-probabilities or unnormalised logits.
        seed: An integer array used as a ring: the draw is seeded with `seed[0]`, then the array is
            rotated by one *in place*, so that the next call uses the next entry.

    A draw with a seed comes from a NumPy generator, hence is the same on every platform and torch
    version. Without a seed, torch's global generator is used.
    """
    logits = logits.detach()
    if logits.ndim != 2 or logits.isnan().any():
        raise ValueError(f"logits must be numbers of shape [batch, num_actions], found {logits}")
    if seed is None:
        # The Gumbel-max trick: a fourth of the time of torch.multinomial for one row.
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
    """Return the share of finished episodes whose last stored observation has the state on the target, from 0 to 1.

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
    """Draw every episode's distance to the target over time, and return the success rate (see `get_success_rate`).

    Args:
        env: A one-dimensional grid world.
        buffer: A finalized buffer of its rollouts.

    Lines that run into the middle and stay there are successes. Draws into a new matplotlib figure
    and shows it.
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
    """A bar that counts finished episodes and shows their mean return; what a training cell of a notebook runs in.

    Args:
        rollouts: How many episodes there will be, over all environments that are watched. More than
            that are counted as well.
        title: The text before the bar.
        window: Over how many of the latest episodes the return is averaged.

        with utils.ProgressBar(rollouts=2 * 500, title="vanilla") as bar:
            for seed in range(2):
                env = bar.watch(utils.GridWorldPointTargetEnv(dimensions=1))
                ...  # trains with env, 500 rollouts

    A return here is the undiscounted sum of an episode's rewards. Inside the context, the lines
    "Running rollout ..." that `collect_rollouts` prints are left out, because two progress displays
    would fight. Everything else that is printed is shown, and exceptions pass through. The bar is
    drawn on stderr. (Needs tqdm.)
    """

    def __init__(self, rollouts: int, title: str = "", window: int = 50) -> None:
        if rollouts < 1 or window < 1:
            raise ValueError(f"rollouts and window must be at least 1, not {rollouts} and {window}")
        self._rollouts, self._title = rollouts, title
        self._latest: deque[float] = deque(maxlen=window)
        self._bar: Any = None

    def watch(self, env: EnvInterface) -> WatchedEnv:
        """Return the environment, watched: each episode that ends in it moves the bar. Watching begins with a new window."""
        self._latest.clear()
        return WatchedEnv(env, self._count)

    def __enter__(self) -> ProgressBar:
        from tqdm import tqdm  # not tqdm.auto: without ipywidgets, it warns

        self._bar = tqdm(total=self._rollouts, desc=self._title, unit=" rollouts", mininterval=0.25)
        self._stdout = sys.stdout
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
    """An environment that behaves like the one it wraps, and keeps the return of every finished episode.

    Args:
        env: Any environment; its other attributes (`num_actions`, `dimensions`, ...) can be read
            here too.
        on_episode: Called with the return of each episode that ends; None for nothing.

    Attributes:
        returns: The undiscounted returns of the finished episodes so far, in their order.
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
        if name == "env":  # not set yet, as while this object is copied
            raise AttributeError(name)
        return getattr(self.env, name)


class _WithoutProgressLines:
    """A text stream that passes on everything but the lines "Running rollout ..." of `collect_rollouts`."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        if not text.startswith("\rRunning rollout"):
            self._stream.write(text)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


Rung = tuple[str, str, Callable[[], gymnasium.Env], Mapping[str, float], float]
"""A rung of a ladder of probes: name, what it isolates, the probe, what a right agent ends with, how far off it may be."""


def climb(rungs: Sequence[Rung], learn: Callable[[gymnasium.Env, int], Mapping[str, float]], fine: dict[str, bool]) -> None:
    """Let an agent learn on every rung, and print what was expected and found.

    Args:
        rungs: From the simplest one on.
        learn: (environment, seed) -> what the agent says after training in it. It gets a second seed where it misses the
            first time: a right agent may have bad luck once.
        fine: Gets for each rung, by its name, whether the agent came to what was expected. Where `learn` raises an exception,
            the rungs before it are printed, and the others are not fine.
    """
    from tqdm import tqdm

    fine.update((rung[0], False) for rung in rungs)
    rows = [("probe", "what it isolates", "expected", "found", "fine?")]
    try:
        for name, isolates, make, expected, tolerance in tqdm(rungs, desc="probes", unit=" rungs"):
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
    colours: Sequence[str] = CURVE_COLOURS,
) -> Axes:
    """Draw the mean over seeds of each setting as a line, and from the lowest to the highest seed as a band.

    Args:
        curves: By name of the setting, one list per seed of values in the order of training.
        ylabel: What the values are.
        rollouts_per_value: How many rollouts lie between two values: the x-axis counts rollouts.
        points: Each curve is averaged down to at most this many points; a short curve keeps all its
            values.
        axes: Where to draw; without it, into a new figure.
        colours: Of the settings, in their order; they repeat if there are not enough.

    Returns:
        The axes; `pyplot.show()` is left to the caller.

    Raises:
        ValueError: If the seeds of one setting do not have equally many values, at least one.
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
        colour = colours[number % len(colours)]
        axes.fill_between(rollouts, means.min(axis=0), means.max(axis=0), color=colour, alpha=0.15, linewidth=0)
        label = f"{name} ({len(seeds)} seed{'s' if len(seeds) > 1 else ''})"
        axes.plot(rollouts, means.mean(axis=0), color=colour, linewidth=2, label=label)
    axes.set(xlabel="rollouts", ylabel=ylabel)
    axes.set_xlim(left=0)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return axes


def plot_point_mass_returns(curves: Mapping[str, Sequence[Sequence[float]]], ylabel: str, lowest: float = -120.0) -> Axes:
    """Draw learning curves on `PointMass`, squeezed: from -1 to 0 linear, below logarithmic. Dotted: the best possible.

    Args:
        curves: See `plot_learning_curves`; a value for each episode.
        ylabel: What the values are.
        lowest: Where the vertical axis begins.

    Returns the axes; `pyplot.show()` is left to the caller.
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
    """Remove the frame's upper and right line, and the legend's frame.

    Args:
        legend: Whether to draw a legend where there are labels.
    """
    for axes in several:
        axes.spines[["top", "right"]].set_visible(False)
        if legend and axes.get_legend_handles_labels()[1]:
            axes.legend(frameon=False)
