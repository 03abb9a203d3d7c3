"""Drivers of `continuous_ppo`: they call your classes on plain data and report plain facts. They judge nothing.

You may read them to see how your classes are used. Whatever a question needs from other questions is replaced by recorded
data or fakes here, so that a mistake in one method costs no points in another; only `one_update` and `learn` run all of them
together. Inputs are of the types that the stub names, and of no others. Numbers and the form they come in are different facts.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import io
import itertools
import sys
import types
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Independent, MultivariateNormal, Normal

import utils
from grader.sandbox.facts import (
    HIDDEN,
    MAX_CURVE,
    call_beforehand,
    describe_kind,
    largest_correlation,
    loss_of,
    tensor,
    to_plain,
)
from runners import BootstrapTruncated, EnvRunner
from trained_policy import evaluate, load_policy

# MuJoCo imports what opens windows, and that starts a process to see its own version, which nobody may here. Nothing is shown,
# so this stands in for it: for the trained policy, and for files that import MuJoCo or make a HalfCheetah.
sys.modules.setdefault("glfw", types.ModuleType("glfw"))

UNCONNECTED = "none: the result is not connected to this parameter"
MANY_ROWS, MANY_CALLS = 4_000, 2_000  # so that means and variances of samples are known well


def copies(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays again, so that what is done to them can be seen."""
    return {name: np.array(array) for name, array in arrays.items()}


def changed(arrays: dict[str, Any], before: dict[str, np.ndarray]) -> list[str]:
    """Return the names of those arrays that are not as they were."""
    return [
        name
        for name, array in before.items()
        if name not in arrays or not np.array_equal(np.asarray(arrays[name]), array, equal_nan=True)
    ]


def numbers_of(value: Any, shape: tuple[int, ...] | None = None) -> Any:
    """Return the numbers of an array, a tensor, or a list of such, as an array, in whichever of these forms they are.

    In place of something without numbers comes a text that says what it is, as from `describe_kind`.

    Args:
        shape: Taken instead of the value's own, if only axes of length one differ. The form is a matter of its own: `form_of`.
    """
    try:
        array = np.asarray(_plainly(value), np.float64)
    except (TypeError, ValueError, RuntimeError):
        return describe_kind(value)
    same = shape is not None and [n for n in array.shape if n != 1] == [n for n in shape if n != 1]
    return array.reshape(shape) if same and shape is not None else array


def _plainly(value: Any) -> Any:
    return [_plainly(item) for item in value] if isinstance(value, (list, tuple, deque)) else to_plain(value)


def form_of(value: Any, any_precision: bool = False, any_kind: bool = False) -> str:
    """Return in words what kind of thing a value is, its precision and its shape, whatever numbers it holds.

    Args:
        any_precision: Whether to say only "floating-point" of numbers of that kind.
        any_kind: Whether to say of a tensor without a gradient what is said of an array.
    """
    if isinstance(value, float) and not isinstance(value, np.generic):
        value = np.float32(value)  # a trajectory's array can also be made of single numbers
    if not isinstance(value, (Tensor, np.ndarray, np.generic)):
        return describe_kind(value)
    graph = isinstance(value, Tensor) and value.requires_grad
    plain = np.asarray(to_plain(value))
    word = "tensor" if isinstance(value, Tensor) and (graph or not any_kind) else "array"
    floats = any_precision and plain.dtype.kind == "f"
    text = f"{'floating-point' if floats else plain.dtype} {word} of shape {list(plain.shape)}"
    return f"{text}, with a gradient" if graph else text


def precision(*values: Any) -> list[str]:
    """Return which precisions arrays or tensors have."""
    return sorted({str(np.asarray(to_plain(value)).dtype) for value in values})


def same_state(one: Any, other: dict[str, Any]) -> bool:
    """Return whether a trajectory's state is what it was, or a copy of it."""
    return isinstance(one, dict) and set(one) == set(other) and all(np.array_equal(one[key], other[key]) for key in other)


# Summaries


class Recorded(gym.Env):
    """An environment that plays recorded episodes, one after another, and notes what it is given.

    Args:
        observations: `[length + 1, obs_dim]` of each episode.
        rewards: `[length]` of each episode.
        ends: How each ends, "terminated", "truncated", "both", or "" if somebody has to break it
            off.
    """

    def __init__(self, observations: list[np.ndarray], rewards: list[np.ndarray], ends: list[str]) -> None:
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, observations[0].shape[1:], np.float32)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.episodes = list(zip(observations, rewards, ends, strict=True))
        self.episode, self.time = -1, 0
        self.actions: list[float] = []
        self.resets: list[dict] = []

    def reset(self, *, seed=None, options=None) -> tuple[np.ndarray, dict]:
        self.resets.append({"seed": seed, "options": options})
        self.episode, self.time = self.episode + 1, 0
        return self.episodes[self.episode][0][0], {"begins": self.episode}

    def step(self, action) -> tuple[np.ndarray, float, Any, Any, dict]:
        observations, rewards, end = self.episodes[self.episode]
        self.actions.append(float(np.asarray(action).reshape(())))
        self.time += 1
        last = self.time == len(rewards)
        return (
            observations[self.time],
            float(rewards[self.time - 1]),
            np.bool_(last and end in ("terminated", "both")),  # as environments in NumPy say it
            np.bool_(last and end in ("truncated", "both")),
            {"time": self.time},
        )


class Marking(gym.Wrapper):
    """Another wrapper between, which must not be passed by."""

    def reset(self, **options) -> tuple[np.ndarray, dict]:
        observation, info = self.env.reset(**options)
        return observation, info | {"through": "all wrappers"}

    def step(self, action) -> tuple[np.ndarray, float, bool, bool, dict]:
        *four, info = self.env.step(action)
        return (*four, info | {"through": "all wrappers"})


class Writer:
    """A fake `SummaryWriter` of TensorBoard that keeps what it is given."""

    def __init__(self) -> None:
        self.scalars: list[tuple[str, float, int]] = []

    def add_scalar(self, tag, scalar_value, global_step=None, walltime=None, *others, **more) -> None:
        self.scalars.append((str(tag), float(scalar_value), -1 if global_step is None else int(global_step)))

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


def summaries(
    submitted,
    observations: list[np.ndarray],
    rewards: list[np.ndarray],
    ends: list[str],
    window: int | None = None,
    writer: bool = False,
) -> dict:
    """Play recorded episodes through `Summaries`; without a window, and without a writer, leave them out."""
    env, writes = Recorded(observations, rewards, ends), Writer()
    options = ({} if window is None else {"window": window}) | ({"writer": writes} if writer else {})
    # One environment must not know of another.
    other = submitted.Summaries(Recorded(observations[:1], rewards[:1], ["terminated"]))
    other.reset()
    for _ in rewards[0]:
        other.step(np.zeros(1, np.float32))
    wrapped = submitted.Summaries(Marking(env), **options)
    returned: dict[str, list] = {"observations": [], "rewards": [], "terminated": [], "truncated": [], "infos": []}
    for number, episode in enumerate(rewards):
        first = wrapped.reset(seed=7, options={"number": number}) if number == 1 else wrapped.reset()
        if not isinstance(first, (tuple, list)) or len(first) != 2:
            return {"returned": f"reset returned {describe_kind(first)}"}
        returned["observations"].append(first[0])
        returned["infos"].append(first[1])
        for time in range(len(episode)):
            five = wrapped.step(np.array([time / 8 + number], np.float32))
            if not isinstance(five, (tuple, list)) or len(five) != 5:
                return {"returned": f"step returned {describe_kind(five)}"}
            for name, value in zip(("observations", "rewards", "terminated", "truncated", "infos"), five, strict=True):
                returned[name].append(bool(value) if name in ("terminated", "truncated") else value)
    facts: dict[str, Any] = {"returned": "two values by reset, five by step"}
    facts |= {f"returned {name}": value for name, value in returned.items() if name != "infos"}
    facts["returned infos"] = [
        {str(key): value for key, value in info.items() if key in ("begins", "time", "through")} for info in returned["infos"]
    ]
    facts["actions passed to the environment"] = env.actions
    facts["seed and options passed to the environment's reset"] = [
        [reset["seed"], (reset["options"] or {}).get("number")] for reset in env.resets
    ]
    if window is not None or writer:
        kept = {name: getattr(wrapped, name, None) for name in ("episode_returns", "episode_lengths", "moving_averages")}
        facts |= {name: numbers(value) for name, value in kept.items()}
        facts |= {f"type of {name}": entries_of(value) for name, value in kept.items()}
        facts["interactions"] = getattr(wrapped, "interactions", None)
    if writer:
        for tag in ("episode_return", "episode_length", "moving_average"):
            facts[f"{tag} and global_step given to the writer"] = [
                [value, step] for name, value, step in writes.scalars if name == tag
            ]
    return facts


def numbers(values: Any) -> Any:
    """Return a list, deque, array or tensor of numbers as a list of floats."""
    with contextlib.suppress(TypeError, ValueError, RuntimeError):
        return [float(value) for value in values]
    return describe_kind(values)


def entries_of(values: Any) -> str:
    """Return in words what kind of collection this is, and of what."""
    if not isinstance(values, (list, tuple, deque, np.ndarray, Tensor)):
        return describe_kind(values)
    words = {(True, True): "int", (True, False): "int", (False, True): "float"}
    found = {
        words.get((isinstance(value, (int, np.integer)), isinstance(value, (float, np.floating))), type(value).__name__)
        for value in values
    }
    return f"{type(values).__name__} of {' and '.join(sorted(found)) or 'nothing'}"


# Model


def model_class(submitted) -> Any:
    """Return `Model`, or the one network that a file without a `Model` defines: the course's text gives it no name."""
    if not hasattr(submitted, "Model"):
        own = [
            value
            for value in vars(submitted).values()
            if isinstance(value, type) and issubclass(value, nn.Module) and value.__module__ == submitted.__name__
        ]
        if len(own) == 1:
            return own[0]
    return submitted.Model


def is_matrix(parameter: Tensor, act_dim: int) -> bool:
    """Return whether a parameter is the weight of a layer; the variance's vector may also have two axes, one of them 1."""
    return parameter.ndim == 2 and sorted(parameter.shape) != [1, act_dim]


def model_layers(submitted, obs_dim: int, act_dim: int) -> dict:
    """Make a `Model` and report what it consists of."""
    model = model_class(submitted)(obs_dim, act_dim)
    parameters = {name: parameter.detach() for name, parameter in model.named_parameters()}
    matrices = {name: values.double() for name, values in parameters.items() if is_matrix(values, act_dim)}
    vectors = {name: values for name, values in parameters.items() if name not in matrices}
    stretch = [torch.linalg.svdvals(matrix) for matrix in matrices.values()]
    repeated = model_class(submitted)(obs_dim, act_dim)
    drawn_anew = [
        not torch.equal(one, other)
        for one, other in zip(model.parameters(), repeated.parameters(), strict=True)
        if is_matrix(one, act_dim)
    ]
    weights = list(matrices.values())
    twins = sum(one.shape == other.shape and torch.equal(one, other) for one, other in itertools.combinations(weights, 2))
    return {
        "shapes of the weight matrices, each sorted": sorted(sorted(matrix.shape) for matrix in matrices.values()),
        "sizes of the biases and the variance vector": sorted(values.numel() for values in vectors.values()),
        "smallest and largest singular value of the weights": [
            float(min(values.min() for values in stretch)) if stretch else 0.0,
            float(max(values.max() for values in stretch)) if stretch else 0.0,
        ],
        "number of vectors that are not zero after __init__": sum(bool(values.any()) for values in vectors.values()),
        "a second Model has different weights": all(drawn_anew),
        "number of pairs of layers with equal initial weights": twins,
        "dtypes of the parameters": precision(*parameters.values()),
        "number of parameters with requires_grad=False": sum(not parameter.requires_grad for parameter in model.parameters()),
    }


def model_forward(submitted, obs_dim: int, act_dim: int, observations: np.ndarray, spread: float = 1.0) -> dict:
    """Call a `Model` whose parameters have known numbers: all of one shape have the same, so their names do not matter.

    Args:
        spread: By how much the vectors of `act_dim` numbers, of which one gives the variances, are larger than by default.
    """
    model = model_class(submitted)(obs_dim, act_dim).float()
    given = tensor(observations)
    call_beforehand(lambda: model(1 - given))
    with torch.no_grad():
        for parameter in model.parameters():
            # A weight and its transpose get the same, and square ones are symmetric: layers may be written either way.
            drawn = np.random.default_rng([parameter.numel()]).normal(size=sorted(parameter.shape)) / 2
            if is_matrix(parameter, act_dim):
                drawn = 2 * drawn / parameter.numel() ** 0.25
                drawn = (drawn + drawn.T) / 2**0.5 if drawn.shape[0] == drawn.shape[1] else drawn
            elif parameter.numel() == act_dim:
                drawn = spread * drawn
            parameter.copy_(tensor(drawn if drawn.shape == tuple(parameter.shape) else drawn.T))
    with linear_layers() as passed:
        result = model(given)
    if not isinstance(result, (tuple, list)) or len(result) != 3:
        return {"returned": describe_kind(result)}
    outputs = dict(zip(("mean", "variance", "value"), result, strict=True))
    rows = tuple(given.shape[:-1])
    shapes = {"mean": (*rows, act_dim), "variance": (act_dim,), "value": (*rows, 1)}
    facts: dict[str, Any] = {"returned": "mean, variance and value"}
    for name, output in outputs.items():
        facts[name] = numbers_of(_one_of_equal_rows(output, act_dim) if name == "variance" else output, shapes[name])
        facts[f"form of {name}"] = form_of(output)
        facts[f"{name}.requires_grad"] = isinstance(output, Tensor) and output.requires_grad
    if not _is_as_documented(model, obs_dim, act_dim):
        facts["for its own layers"] = _for_its_own_layers(model, given, outputs, passed)
    total = sum(output.sum() for output in result if isinstance(output, Tensor))
    if isinstance(total, Tensor) and total.requires_grad:
        total.backward()
    facts["number of parameters without a gradient"] = sum(parameter.grad is None for parameter in model.parameters())
    facts["changed by the call"] = [] if torch.equal(given, tensor(observations)) else ["observations"]
    return facts


def _one_of_equal_rows(variance: Any, act_dim: int) -> Any:
    """Return one row of a variance that is repeated for every observation; anything else unchanged."""
    if isinstance(variance, Tensor) and variance.ndim == 2 and variance.shape[1] == act_dim and len(variance):
        return variance[0] if bool((variance == variance[0]).all()) else variance
    return variance


@contextlib.contextmanager
def linear_layers() -> Iterator[list[tuple[Tensor, Tensor]]]:
    """Note what goes into each linear layer and what comes out, whichever model it is of, and wherever that keeps it."""
    passed: list[tuple[Tensor, Tensor]] = []
    forward = nn.Linear.forward

    def noting(layer: nn.Linear, *given: Tensor, **named: Tensor) -> Tensor:
        came = (*given, *named.values())[0].detach().clone()
        made = forward(layer, *given, **named)
        passed.append((came, made.detach().clone()))  # a copy: an activation may work in place
        return made

    nn.Linear.forward = noting  # type: ignore[assignment, method-assign]  # put back below
    try:
        yield passed
    finally:
        nn.Linear.forward = forward  # type: ignore[method-assign]


def _is_as_documented(model: nn.Module, obs_dim: int, act_dim: int) -> bool:
    """Return whether a model has the parameters that it should have, which is another question than what it does with them."""
    layers = [(64, inputs) for inputs in (obs_dim, 64)]
    sizes = [n for outputs in (act_dim, 1) for rows, columns in (*layers, (outputs, 64)) for n in (rows * columns, rows)]
    return sorted(parameter.numel() for parameter in model.parameters()) == sorted([*sizes, act_dim])


def _for_its_own_layers(
    model: nn.Module, given: Tensor, outputs: dict[str, Any], passed: list[tuple[Tensor, Tensor]]
) -> dict[str, bool]:
    """Return which outputs are right for the layers that a model has, where these are not those that it should have."""

    def same(one: Any, other: Tensor) -> bool:
        return isinstance(one, Tensor) and one.numel() == other.numel() and torch.allclose(one.reshape(other.shape), other)

    begins = given.reshape(-1, given.shape[-1])
    before: list[Tensor] = [begins]
    chained = bool(passed)
    for came, made in passed:
        chained = chained and any(same(came, known) for known in before)
        before.append(torch.tanh(made))
    vectors = [value.detach() for value in (*model.parameters(), *vars(model).values()) if isinstance(value, Tensor)]
    vectors += [made for _, made in passed]
    right = {name: chained and any(same(outputs[name], made) for _, made in passed) for name in ("mean", "value")}
    return right | {"variance": any(same(outputs["variance"], vector.exp()) for vector in vectors)}


# Policy


class LinearModel(nn.Module):
    """A fake `Model`: mean and value are linear in the observation, the variance is the exponential of a vector."""

    def __init__(self, mean: np.ndarray, log_variance: np.ndarray, value: np.ndarray) -> None:
        super().__init__()
        self.mean = nn.Parameter(tensor(mean))
        self.log_variance = nn.Parameter(tensor(log_variance))
        self.value = nn.Parameter(tensor(value))

    def watched(self, call: Callable[[], Any]) -> tuple[Any, list[str]]:
        """Return what the call returns, after another one while the model had other parameters; and what it did to these."""
        known = [parameter.detach().clone() for parameter in self.parameters()]
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.add_(0.7)
        call_beforehand(call)
        with torch.no_grad():
            for parameter, value in zip(self.parameters(), known, strict=True):
                parameter.copy_(value)
                parameter.requires_grad_(True)
        result = call()
        done = [] if torch.is_grad_enabled() else ["torch.is_grad_enabled(), which is False after the call"]
        torch.set_grad_enabled(True)
        if not all(torch.equal(now, then) and now.requires_grad for now, then in zip(self.parameters(), known, strict=True)):
            done.append("parameters of the model")
        return result, done

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        if observations.dtype != torch.float32:
            raise TypeError(f"the model's weights are float32, its observations are {observations.dtype}")
        return observations @ self.mean, self.log_variance.exp(), observations @ self.value


def in_columns(values: Any, rows: tuple[int, ...], other: Callable[[], Any]) -> Any:
    """Return values `[B]` as `[B, 1]` if the other mode of the policy also has them without the last axis; else unchanged.

    Courses differ there, and nothing breaks as long as both modes agree. Another mode that fails is not written yet.
    """
    if np.shape(to_plain(values)) != rows or not isinstance(values, (Tensor, np.ndarray, np.generic)):
        return values
    with contextlib.suppress(Exception):
        if np.shape(to_plain(other()["values"])) != rows:
            return values
    return values.reshape((*rows, 1))


def policy_training(
    submitted, mean: np.ndarray, log_variance: np.ndarray, value: np.ndarray, observations: np.ndarray, actions: np.ndarray
) -> dict:
    """Call `Policy.act(observations, training=True)` on a linear model, and use what it returns."""
    model = LinearModel(mean, log_variance, value)
    policy, given = submitted.Policy(model), {"observations": np.array(observations)}
    result, done = model.watched(lambda: policy.act(given["observations"], training=True))
    if not isinstance(result, dict) or not {"distribution", "values"} <= set(result):
        return {"returned": sorted(map(str, result)) if isinstance(result, dict) else describe_kind(result)}
    distribution, values, rows = result["distribution"], result["values"], tuple(observations.shape[:-1])
    if not isinstance(distribution, torch.distributions.Distribution):
        return {"returned": f"a dictionary whose distribution is {describe_kind(distribution)}"}
    diagonal = isinstance(distribution, Independent) and isinstance(distribution.base_dist, Normal)
    facts: dict[str, Any] = {
        "returned": "a dictionary with distribution and values",
        "changed by the call": done + changed(given, {"observations": observations}),
        "distribution is MultivariateNormal or Independent(Normal)": diagonal or isinstance(distribution, MultivariateNormal),
        "form of values": form_of(in_columns(values, rows, lambda: policy.act(given["observations"]))),
        "values": numbers_of(values, (*rows, 1)),
    }
    log_prob = distribution.log_prob(tensor(actions))
    facts |= {
        "form of distribution.log_prob(actions)": form_of(log_prob),
        "distribution.log_prob(actions)": numbers_of(log_prob, rows),
    }
    facts |= {
        "mean of the distribution": numbers_of(distribution.mean, (*rows, len(log_variance))),
        "variance of the distribution": numbers_of(
            distribution.variance.expand(distribution.mean.shape), (*rows, len(log_variance))
        ),
    }
    parts = [part.sum() for part in (log_prob, values) if isinstance(part, Tensor) and part.requires_grad]
    if parts:
        torch.stack(parts).sum().backward()
    for name, parameter in model.named_parameters():
        facts[f"gradient of the parameter {name}"] = UNCONNECTED if parameter.grad is None else to_plain(parameter.grad)
    return facts


def policy_sampling(submitted, mean: np.ndarray, log_variance: np.ndarray, value: np.ndarray, observations: np.ndarray) -> dict:
    """Call `Policy.act(observations)` on a linear model, twice, and report what comes back beside the distribution."""
    model = LinearModel(mean, log_variance, value)
    policy = submitted.Policy(model)
    given = np.array(observations)
    result, done = model.watched(lambda: policy.act(given))
    second = policy.act(given)
    call_beforehand(lambda: policy.act(given + 1))  # before the results are read: they must not change with it
    names = ("actions", "log_probs", "values")
    if not isinstance(result, dict) or not set(names) <= set(result):
        return {"returned": sorted(map(str, result)) if isinstance(result, dict) else describe_kind(result)}
    rows = tuple(observations.shape[:-1])
    shapes = {"actions": (*rows, len(log_variance)), "log_probs": rows, "values": (*rows, 1)}
    facts: dict[str, Any] = {"returned": "a dictionary with actions, log_probs and values"}
    facts |= {f"form of {name}": form_of(result[name]) for name in names}
    in_training = functools.partial(policy.act, np.array(observations), training=True)
    facts["form of values"] = form_of(in_columns(result["values"], rows, in_training))
    facts |= {name: numbers_of(result[name], shapes[name]) for name in names}
    with torch.no_grad():
        expected, variance, _ = model(tensor(observations))
    facts |= {"mean": to_plain(expected), "variance": to_plain(variance)}
    again = numbers_of(second["actions"], shapes["actions"])
    facts["a second call returns different actions"] = not np.array_equal(facts["actions"], again)
    facts["policy.model is the given model"] = getattr(policy, "model", None) is model
    facts["changed by the call"] = done + ([] if np.array_equal(given, observations) else ["observations"])
    return facts


def many_samples(
    submitted,
    mean: np.ndarray,
    log_variance: np.ndarray,
    value: np.ndarray,
    observation: np.ndarray,
    one_by_one: bool = False,
) -> dict:
    """Call `Policy.act` on many rows that are all the same observation, or as often on one; report how actions scatter.

    The policy has acted before, when its model had other parameters.
    """
    model = LinearModel(mean, log_variance, value)
    policy = submitted.Policy(model)
    before = np.array(observation) if one_by_one else np.tile(observation, (2, 1))
    call_beforehand(lambda: model.watched(lambda: policy.act(before)))
    if one_by_one:
        drawn = [policy.act(np.array(observation))["actions"] for _ in range(MANY_CALLS)]
    else:
        drawn = policy.act(np.tile(observation, (MANY_ROWS, 1)))["actions"]
    with torch.no_grad():
        expected, variance, _ = model(tensor(observation))
    deviation = variance.sqrt().numpy()
    actions = numbers_of(drawn, (MANY_CALLS if one_by_one else MANY_ROWS, len(deviation)))
    if np.shape(actions) != (MANY_CALLS if one_by_one else MANY_ROWS, len(deviation)):
        return {"shape of the actions": list(np.shape(actions))}
    standard = (actions - expected.numpy()) / deviation
    return {
        "shape of the actions": list(actions.shape),
        # Their standard errors are at most 0.022 for a mean, 0.032 for a variance, 0.022 for a correlation.
        "means, in deviations from those of the policy": standard.mean(axis=0),
        "variances, as multiples of those of the policy": standard.var(axis=0),
        "largest correlation of two dimensions": largest_correlation(actions),
        "largest action, in deviations": float(np.abs(standard).max()),
        "share of the numbers within one deviation": float((np.abs(standard) < 1).mean()),
    }


# GAE


ADDED = "advantages or value_targets in the trajectory"


class LinearValue:
    """A fake `Policy`: the value is linear in the observation; actions are nothing."""

    def __init__(self, weights: np.ndarray, flat: bool = False) -> None:
        self.weights = np.asarray(weights, np.float32)
        self.flat = flat
        self.model = self._answer

    def _answer(self, inputs) -> tuple[Tensor, Tensor, Tensor]:
        values = torch.as_tensor(np.asarray(inputs, np.float32)) @ torch.from_numpy(self.weights)
        return torch.zeros(*values.shape, 2), torch.ones(2), values if self.flat else values.unsqueeze(-1)

    def act(self, inputs, training=False) -> dict[str, Any]:
        mean, variance, values = self._answer(inputs)
        if training:
            return {"distribution": Independent(Normal(mean, variance), 1), "values": values.requires_grad_()}
        return {"actions": mean.numpy(), "log_probs": np.zeros(mean.shape[:-1], np.float32), "values": values.numpy()}


def gae(
    submitted,
    observations: np.ndarray,
    rewards: np.ndarray,
    resets: np.ndarray,
    latest_observation: np.ndarray,
    weights: np.ndarray,
    gamma: float | None = None,
    lambda_: float | None = None,
    truncated: list[Any] | None = None,
    flat_values: bool = False,
) -> dict:
    """Call `GAE` on a trajectory whose values are linear in its observations; without γ and λ, use the defaults.

    Args:
        truncated: At which steps episodes ended by a time limit; their rewards hold the
            bootstrapped value already. For a batched environment, pairs of step and environment.
        flat_values: Whether values are `[T, N]` instead of `[T, N, 1]`, for a batched environment.
    """
    policy = LinearValue(weights, flat_values)
    options = ({} if gamma is None else {"gamma": gamma}) | ({} if lambda_ is None else {"lambda_": lambda_})
    estimator = submitted.GAE(policy, **options)
    call_beforehand(lambda: _with_advantages(estimator, policy, observations, -rewards, resets, 1 - latest_observation, []))
    known, policy.weights = policy.weights, policy.weights + 1  # as before an update of the model
    call_beforehand(lambda: _with_advantages(estimator, policy, observations, -rewards, resets, latest_observation, []))
    policy.weights = known
    first = _with_advantages(estimator, policy, observations, rewards, resets, latest_observation, truncated or [])
    if first["returned"] != ADDED:
        return first
    with contextlib.redirect_stdout(io.StringIO()):
        second = _with_advantages(estimator, policy, observations, rewards, resets, latest_observation, truncated or [])
    same = all(
        isinstance(first[name], str) or np.array_equal(first[name], second[name], equal_nan=True)
        for name in ("advantages", "value_targets")
    )
    first["changed by the call"] += [] if same else ["the result, when the same call is made again"]
    return first


def _with_advantages(estimator, policy, observations, rewards, resets, latest_observation, truncated) -> dict[str, Any]:
    series = {"observations": observations, "rewards": rewards, "resets": resets}
    series |= {name: value for name, value in policy.act(observations).items() if name != "distribution"}
    trajectory: dict[str, Any] = copies(series)
    state: dict[str, Any]
    trajectory["state"] = state = {
        "latest_observation": np.array(latest_observation),
        "env_steps": len(rewards),
        "final_observations": {
            place if resets.ndim > 1 else place[0]: np.array(observations[place])
            for place in np.ndindex(resets.shape)
            if resets[place]
        },
        "truncated": [tuple(place) if isinstance(place, (list, np.ndarray)) else place for place in truncated],
    }
    estimator(trajectory)
    added = {name: trajectory[name] for name in ("advantages", "value_targets") if trajectory.get(name) is not None}
    if not added:
        return {"returned": "neither advantages nor value_targets in the trajectory"}
    facts: dict[str, Any] = {"returned": ADDED}
    for name, like in (("advantages", rewards), ("value_targets", series["values"])):
        facts[name] = numbers_of(added[name], like.shape) if name in added else "not in the trajectory"
        facts[f"form of {name}"] = form_of(added[name], True, True) if name in added else "not in the trajectory"
    facts["values"] = np.asarray(series["values"], np.float64)
    facts["changed by the call"] = changed(trajectory, series)
    facts["changed by the call"] += [
        f"{name} (added to the trajectory, without one row per step)"
        for name, value in trajectory.items()
        if name not in (*series, *added, "state") and np.shape(value)[:1] != (len(rewards),)
    ]
    if trajectory.get("state") is not state or not np.array_equal(state["latest_observation"], latest_observation):
        facts["changed by the call"].append("state")
    return facts


# TrajectorySampler


class RecordedRunner:
    """A fake `EnvRunner` that returns recorded trajectories, one after another. Every number shows its row."""

    def __init__(self, sizes: list[int], num_envs: int = 0) -> None:
        self.sizes, self.num_envs = sizes, num_envs
        self.calls = 0
        self.states: list[dict] = []
        self.step_var = 0

    def get_next(self) -> dict[str, Any]:
        if self.calls == len(self.sizes):
            raise RuntimeError(f"the runner was asked for a trajectory {self.calls + 1} times; {self.calls} are enough here")
        shape = (self.sizes[self.calls], self.num_envs) if self.num_envs else (self.sizes[self.calls],)
        first = sum(self.sizes[: self.calls]) * (self.num_envs or 1)
        rows = first + np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        self.calls += 1
        self.step_var += rows.size
        self.states.append({"latest_observation": np.full(3, -1.0, np.float32), "env_steps": len(rows)})
        return recorded_trajectory(rows, self.states[-1])


def recorded_trajectory(rows: np.ndarray, state: dict) -> dict[str, Any]:
    """Return a trajectory in which every number shows its row."""
    return {
        "observations": np.stack([rows, -rows, rows + 0.5], axis=-1),
        "rewards": rows + 0.25,
        "resets": rows % 3 == 0,
        "actions": np.stack([rows, rows * 2], axis=-1),
        "log_probs": -rows,
        "values": rows[..., None] * 3,
        "state": state,
        "advantages": rows * 5,
        "value_targets": rows[..., None] * 7,
    }


def sampler(
    submitted, sizes: list[int], epochs: int, minibatches: int, calls: int, num_envs: int = 0, transform: bool = False
) -> dict:
    """Call `get_next` of a `TrajectorySampler` so often, on recorded trajectories of these sizes.

    Args:
        transform: Whether to give it two transforms; the first notes the advantages and puts others
            into the minibatch, the second counts.
    """
    runner = RecordedRunner(sizes, num_envs)
    counted: list[int] = []
    seen: list[np.ndarray] = []

    def replaces(minibatch) -> None:
        seen.append(np.array(minibatch["advantages"]))
        minibatch["advantages"] = np.full(len(minibatch["advantages"]), -1.0)

    def counts(minibatch) -> None:
        counted.append(len(minibatch["rewards"]) if (np.asarray(minibatch["advantages"]) == -1.0).all() else -1)

    instance = submitted.TrajectorySampler(runner, epochs, minibatches, [replaces, counts] if transform else None)
    if not keeps_rows_together(submitted):
        instance.shuffle_trajectory = lambda: shuffle(instance.trajectory)
    batches, kept, states, used, lists = [], [], [], [], set()
    for _ in range(calls):
        minibatch = instance.get_next()
        if not isinstance(minibatch, dict):
            return {"returned": describe_kind(minibatch)}
        kept.append(minibatch)
        states.append("state" not in minibatch or any(same_state(minibatch["state"], state) for state in runner.states))
        used.append(
            isinstance(instance.trajectory, dict) and np.ndim(instance.trajectory.get("rewards")) == 1  # type: ignore[arg-type]
        )
        lists |= lists_in(minibatch)
        batches.append(batch_facts(minibatch))
    facts = {
        "returned": "a dictionary",
        "keys whose values are not arrays": sorted(lists),
        "number of calls of runner.get_next": runner.calls,
        "self.trajectory is a dictionary with flattened rows": all(used),
        "batches": batches,
        "keys of the first minibatch": sorted(str(key) for key in kept[0] if key != "state"),
        "state is unchanged": all(states),
        "every minibatch is a new dictionary": len({id(minibatch) for minibatch in kept}) == len(kept),
        "old logits of the moment": False,
    }
    if transform:
        facts["rows given to transform 2 (-1: without the changes of transform 1)"] = counted
        facts["the trajectory keeps the changes of a transform"] = any((values == -1.0).any() for values in seen)
        facts["returned advantages are those of the transform"] = all(
            (np.asarray(minibatch["advantages"]) == -1.0).all() for minibatch in kept
        )
    return facts


def lists_in(trajectory: dict[str, Any]) -> set[str]:
    """Return the keys under which there is neither an array nor a tensor."""
    return {str(name) for name, value in trajectory.items() if name != "state" and not isinstance(value, (np.ndarray, Tensor))}


# The first number of each entry: a multiple of the row, and what is added. Resets show no row.
FIRST_NUMBERS = {
    "observations": (np.nan, 0.0),
    "resets": (np.nan, 0.0),
    "actions": (1.0, 0.0),
    "rewards": (1.0, 0.25),
    "log_probs": (-1.0, 0.0),
    "values": (3.0, 0.0),
    "value_targets": (7.0, 0.0),
    "advantages": (5.0, 0.0),
}


def batch_facts(minibatch: dict[str, Any]) -> dict[str, Any]:
    """Return which rows a minibatch has by its observations, and by every other key which row each entry is of.

    An entry that mixes rows is reported by its first number, unless that is right.
    """
    values = {name: np.asarray(_plainly(value), np.float64) for name, value in minibatch.items() if name != "state"}
    rows = values["observations"][..., 0].ravel()
    size = len(rows)
    recorded = recorded_trajectory(rows, {})
    facts: dict[str, Any] = {"row": [int(row) for row in rows.tolist()]}
    facts["shapes"] = {f"shape of a row of {name}": list(value.shape[1:]) for name, value in sorted(values.items())}
    for name, (scale, shift) in FIRST_NUMBERS.items():
        flat = (
            values[name].reshape(size, -1)
            if name in values and values[name].size and values[name].size % size == 0
            else np.full((size, 1), np.nan)
        )
        whole = np.asarray(recorded[name], np.float64).reshape(size, -1)
        first = (flat[:, 0] - shift) / scale
        first = np.where(first == rows, np.nan, first)
        of = np.where((flat == whole).all(axis=1), rows, first) if flat.shape == whole.shape else np.nan
        facts[name] = [None if np.isnan(row) else row for row in np.broadcast_to(of, size).tolist()]
    return facts


def shuffle(trajectory: dict[str, Any]) -> None:
    """Stand in for `shuffle_trajectory`."""
    order = np.argsort(np.random.random(len(trajectory["rewards"])))
    trajectory.update({name: np.take(value, order, axis=0) for name, value in trajectory.items() if name != "state"})


def keeps_rows_together(submitted) -> bool:
    """Return whether `shuffle_trajectory` can be used where something else is looked at: it is random, and rows stay whole."""
    with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
        instance = submitted.TrajectorySampler(RecordedRunner([12]), 1, 1, None)
        instance.trajectory = RecordedRunner([12]).get_next()
        instance.shuffle_trajectory()
        facts = batch_facts(instance.trajectory)
        shuffled = facts["row"] != list(range(12)) == sorted(facts["row"])
        again = submitted.TrajectorySampler(RecordedRunner([60]), 1, 1, None)
        orders = []
        for _ in range(2):
            again.trajectory = RecordedRunner([60]).get_next()
            again.shuffle_trajectory()
            orders.append(batch_facts(again.trajectory)["row"])
        random = orders[0] != orders[1] and (np.abs(np.diff(orders[0])) == 1).mean() < 0.25
        whole = not lists_in(instance.trajectory) and all(facts[name] == facts["row"] for name in FIRST_NUMBERS)
        return shuffled and random and whole
    return False


def shuffling(submitted, size: int) -> dict:
    """Call `shuffle_trajectory` twice on a sampler that holds a recorded trajectory."""
    instance = submitted.TrajectorySampler(RecordedRunner([size]), 3, 2, None)
    instance.trajectory = RecordedRunner([size]).get_next()
    untouched = copy.deepcopy(instance.trajectory["state"])
    instance.shuffle_trajectory()
    first = batch_facts(instance.trajectory)
    instance.shuffle_trajectory()
    second = batch_facts(instance.trajectory)
    afresh = submitted.TrajectorySampler(RecordedRunner([size]), 3, 2, None)
    afresh.trajectory = RecordedRunner([size]).get_next()
    afresh.shuffle_trajectory()
    third = batch_facts(afresh.trajectory)
    rows = list(range(size))
    return {
        "every row occurs once": sorted(first["row"]) == rows and sorted(second["row"]) == rows,
        "the order of the rows changes": first["row"] != rows,
        "a second call makes a different order": second["row"] not in (rows, first["row"]) and third["row"] != first["row"],
        "batches": [first, second],
        "keys of the trajectory": sorted(str(key) for key in instance.trajectory),
        "state is unchanged": same_state(instance.trajectory.get("state"), untouched),
        "keys whose values are not arrays": sorted(lists_in(instance.trajectory)),
        "share of neighboring rows that stay neighbors": float((np.abs(np.diff(first["row"])) == 1).mean()),
        "correlation of old and new positions": float(np.corrcoef(first["row"], np.arange(len(first["row"])))[0, 1]),
        "old logits of the moment": False,
    }


# PPO


class Still:
    """A fake `Policy` where only losses are looked at: it always answers the same."""

    def __init__(self, act: dict[str, Any], model: nn.Module) -> None:
        self.model = model
        self.answer = act

    def act(self, inputs, training=False) -> dict[str, Any]:
        return self.answer


def policy_loss(
    submitted,
    mean: np.ndarray,
    log_variance: np.ndarray,
    actions: np.ndarray,
    log_probs: np.ndarray,
    advantages: np.ndarray,
    cliprange: float | None = None,
    full_covariance: bool = False,
) -> dict:
    """Call `PPO.policy_loss` with a distribution of this mean and variance; without a clip range, use the default."""
    parameters = nn.ParameterDict({"mean": nn.Parameter(tensor(mean)), "log_variance": nn.Parameter(tensor(log_variance))})
    values = nn.Parameter(torch.linspace(-1, 1, len(mean)).unsqueeze(1))
    variance = parameters["log_variance"].exp()
    distribution = (
        MultivariateNormal(parameters["mean"], torch.diag(variance))
        if full_covariance
        else Independent(Normal(parameters["mean"], variance.sqrt()), 1)
    )
    act = {"distribution": distribution, "values": values}
    rows = np.arange(len(mean), dtype=np.float32)
    # The value loss needs other entries; here they have no meaning.
    minibatch = {"actions": actions, "log_probs": log_probs, "advantages": advantages, "values": 1 - rows[:, None]}
    minibatch |= {"value_targets": rows[:, None], "observations": rows[:, None], "rewards": rows, "resets": rows > 2}
    return loss_facts("policy_loss", submitted, act, minibatch, {**parameters, "values": values}, cliprange, parameters)


def value_loss(
    submitted, values: np.ndarray, old_values: np.ndarray, value_targets: np.ndarray, cliprange: float | None = None
) -> dict:
    """Call `PPO.value_loss`; values are what the network says now. Without a clip range, use the default."""
    parameters = nn.ParameterDict({"V": nn.Parameter(tensor(values))})
    act = {"distribution": Independent(Normal(torch.zeros(len(values), 2), torch.ones(2)), 1), "values": parameters["V"]}
    rows = np.arange(len(values), dtype=np.float32)
    minibatch = {"values": old_values, "value_targets": value_targets, "advantages": 2 - rows, "log_probs": rows}
    minibatch |= {"actions": np.stack([rows, rows], 1), "observations": rows[:, None], "rewards": rows, "resets": rows > 2}
    return loss_facts("value_loss", submitted, act, minibatch, dict(parameters), cliprange, parameters)


def loss_facts(
    name: str,
    submitted,
    act: dict[str, Any],
    minibatch: dict[str, np.ndarray],
    parameters: dict[str, nn.Parameter],
    cliprange: float | None,
    model: nn.Module,
) -> dict[str, Any]:
    """Call a loss of `PPO`; return it, the gradient that it gives to each parameter, and what the call changed."""
    given, options = copies(minibatch), {} if cliprange is None else {"cliprange": cliprange}
    ppo = submitted.PPO(Still(act, model), RecordingSGD(model, 0.1), **options)
    other = {key: array[::-1].copy() for key, array in minibatch.items()}
    call_beforehand(lambda: getattr(ppo, name)(other, act))
    loss = getattr(ppo, name)(given, act)
    with contextlib.redirect_stdout(io.StringIO()):
        second = getattr(ppo, name)(given, act)
    facts: dict[str, Any] = {"loss": numbers_of(loss, ())}
    facts["form of the loss"] = form_of(loss, any_precision=True)
    if type(loss) is Tensor and loss.numel() == 1:
        loss = loss.reshape(())
        facts["form of the loss"] = form_of(loss, any_precision=True)
        if loss.requires_grad:
            loss.backward()
    none = UNCONNECTED if type(loss) is Tensor and loss.numel() == 1 else "none: the loss is not a tensor of one number"
    facts["gradient"] = {
        f"gradient with respect to {key}": none if value.grad is None else to_plain(value.grad)
        for key, value in parameters.items()
    }
    same = type(second) is not Tensor or np.allclose(to_plain(second).reshape(-1), to_plain(loss).reshape(-1), equal_nan=True)
    facts["changed by the call"] = changed(given, minibatch) + (
        [] if same else ["the result, when the same call is made again"]
    )
    return facts


class RecordingSGD(torch.optim.Optimizer):
    """A fake `torch.optim.SGD` that keeps the gradient of every step.

    It is an Optimizer by name only: running `Optimizer.__init__` for the first time costs a second of imports.
    """

    def __init__(self, model: nn.Module, lr: float) -> None:
        self.names = dict(model.named_parameters())
        self.param_groups = [{"params": list(self.names.values()), "lr": lr}]
        self.gradients: list[dict[str, Any]] = []

    def zero_grad(self, set_to_none: bool = True) -> None:
        for parameter in self.names.values():
            parameter.grad = None

    def step(self, closure=None):
        loss = loss_of(closure)
        self.gradients.append(
            {
                f"gradient of the parameter {name}": UNCONNECTED if value.grad is None else to_plain(value.grad)
                for name, value in self.names.items()
            }
        )
        with torch.no_grad():
            for parameter in self.names.values():
                if parameter.grad is not None:
                    parameter -= self.param_groups[0]["lr"] * parameter.grad
        return loss


class Slopes(nn.Module):
    """A model of a few parameters; the losses of `update` are linear in them."""

    def __init__(self, policy: np.ndarray, value: np.ndarray) -> None:
        super().__init__()
        self.policy = nn.Parameter(tensor(policy))
        self.value = nn.Parameter(tensor(value))

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mean = observations @ self.policy
        return mean, torch.ones(mean.shape[-1]), observations @ self.value


class LinearPolicy:
    """A fake `Policy` with a model of `Slopes`."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model

    def act(self, inputs, training=False) -> dict[str, Any]:
        mean, variance, values = self.model(torch.as_tensor(inputs, dtype=torch.float32))
        return {"distribution": Independent(Normal(mean, variance), 1), "values": values}


def update(
    submitted,
    policy: np.ndarray,
    value: np.ndarray,
    observations: list[np.ndarray],
    scales: list[float],
    value_loss_coef: float,
    max_grad_norm: float | None = None,
) -> dict:
    """Call `PPO.step` once for each of several minibatches, with losses that are means of what the model says.

    Args:
        scales: By which the losses of each minibatch are multiplied, hence their gradients.
    """
    model = Slopes(policy, value)
    optimizer = RecordingSGD(model, 0.1)
    options = {} if max_grad_norm is None else {"max_grad_norm": max_grad_norm}
    agent = LinearPolicy(model)
    ppo = submitted.PPO(agent, optimizer, value_loss_coef=value_loss_coef, **options)

    def of_policy(trajectory, act) -> Tensor:
        return float(trajectory["advantages"][0]) * act["distribution"].mean.sum(dim=1).mean()

    def of_value(trajectory, act) -> Tensor:
        return float(trajectory["advantages"][0]) * act["values"].mean()

    def whole(trajectory) -> Tensor:
        act = agent.act(trajectory["observations"], training=True)
        return of_policy(trajectory, act) + value_loss_coef * of_value(trajectory, act)

    ppo.policy_loss, ppo.value_loss = of_policy, of_value
    if not hasattr(ppo, "loss"):
        ppo.loss = whole
    changes, touched = [], set()
    for rows, scale in zip(observations, scales, strict=True):
        before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
        minibatch = {"observations": rows, "advantages": np.full(len(rows), scale, np.float32)}
        given = copies(minibatch)
        ppo.step(given)
        touched |= {*changed(given, minibatch)}
        changes.append(
            {
                f"change of the parameter {name}": to_plain(parameter - before[name])
                for name, parameter in model.named_parameters()
            }
        )
    return {
        "calls": len(observations),
        "changed by the calls": sorted(touched),
        "number of optimizer steps": len(optimizer.gradients),
        "gradients at each optimizer step": optimizer.gradients,
        "global gradient norm at each optimizer step": [
            float(np.sqrt(sum((value**2).sum() for value in found.values() if isinstance(value, np.ndarray))))
            for found in optimizer.gradients
        ],
        "changes of the parameters in each call": changes,
    }


# Annealing


def is_rate(value: Any) -> bool:
    return isinstance(value, (int, float, np.floating)) and not isinstance(value, bool)


class Groups(torch.optim.Optimizer):
    """A fake optimizer, by name: its parameter groups."""

    def __init__(self, rates: list[float]) -> None:
        self.param_groups = [{"params": [rate], "lr": rate, "eps": 1e-5} for rate in rates]


def annealing(
    submitted, rates: list[float], interactions: list[int], total_interactions: int, initial: float | None = None
) -> dict:
    """Call `anneal_learning_rate` for these numbers of interactions, one after another; without `initial`, use the default."""
    optimizer = Groups(rates)
    options = {} if initial is None else {"initial": initial}
    found = []
    for so_far in interactions:
        submitted.anneal_learning_rate(optimizer, so_far, total_interactions, **options)
        found.append([np.nan if isinstance(group["lr"], str) else float(group["lr"]) for group in optimizer.param_groups])
    kinds = {type(group["lr"]).__name__ for group in optimizer.param_groups if not is_rate(group["lr"])}
    return {
        "types of learning rates other than int and float": sorted(kinds),
        "learning rates, by call and group": np.array(found),
        "everything else in param_groups is unchanged": all(
            group["eps"] == 1e-5 and group["params"] == [rate] and set(group) <= {"params", "lr", "eps", "initial_lr"}
            for group, rate in zip(optimizer.param_groups, rates, strict=True)
        ),
    }


# One update


class Piece:
    """Calls a piece of a submission where several work together, and names it in whatever goes wrong inside or comes out.

    Args:
        name: As the student knows it.
        call: What is called.
        looks: Takes what came back, then what was given; returns what is wrong with it, in words.
    """

    def __init__(self, name: str, call: Callable[..., Any], looks: Callable[..., str] | None = None) -> None:
        self.name, self.call, self.looks = name, call, looks

    def __call__(self, *given: Any, **named: Any) -> Any:
        try:
            result = self.call(*given, **named)
            if self.looks and (wrong := self.looks(result, *given)):
                raise ValueError(wrong)
        except Exception as error:
            # The innermost piece is the one to look at.
            if not hasattr(error, "piece"):
                error.piece = self.name  # type: ignore[attr-defined]
                error.args = (f"in your {self.name}: {error}",)
            raise
        return result


def unusable(value: Any, shape: tuple[int, ...], tensors: bool = False, exactly: bool = False) -> str:
    """Return what is wrong with an array, or a tensor, that must hold so many finite numbers; nothing if it will do.

    Args:
        exactly: Whether axes of length one count.
    """
    if not isinstance(value, Tensor if tensors else (Tensor, np.ndarray, np.generic, float)):
        return f"expected {'a tensor' if tensors else 'an array'} of shape {list(shape)}, got {describe_kind(value)}"
    found = numbers_of(value, None if exactly else shape)
    if found.shape != shape:
        return f"expected shape {list(shape)}, got shape {list(np.shape(to_plain(value)))}"
    return "" if np.isfinite(found).all() else "not all of its numbers are finite"


def without(names: tuple[str, ...], found: Any) -> str:
    """Return what is missing in a dictionary; nothing if all is there."""
    if not isinstance(found, dict):
        return f"expected a dictionary with {', '.join(names)}, got {describe_kind(found)}"
    return "".join(f"it has no {name!r}" for name in [name for name in names if name not in found][:1])


def looked_at_outputs(result: Any, observations: Tensor, act_dim: int) -> str:
    if not isinstance(result, (tuple, list)) or len(result) != 3:
        return f"expected mean, variance and value, got {describe_kind(result)}"
    rows = tuple(observations.shape[:-1])
    mean, variance, value = result
    wrong = (unusable(mean, (*rows, act_dim), True, True), unusable(_one_of_equal_rows(variance, act_dim), (act_dim,), True))
    named = dict(zip(("mean", "variance", "value"), (*wrong, unusable(value, (*rows, 1), True)), strict=True))
    return next((f"{name}: {text}" for name, text in named.items() if text), "")


def looked_at_act(result: Any, inputs: Any, act_dim: int, training: bool) -> str:
    rows = tuple(np.shape(inputs)[:-1])
    if wrong := without(("distribution", "values") if training else ("actions", "log_probs", "values"), result):
        return wrong
    shapes = {"values": (*rows, 1)} | ({} if training else {"actions": (*rows, act_dim), "log_probs": rows})
    return next(
        (
            f"{name}: {text}"
            for name, shape in shapes.items()
            if (text := unusable(result[name], shape, training, name == "actions"))
        ),
        "",
    )


def looked_at_loss(result: Any, *given: Any) -> str:
    return unusable(result, (), True)  # without a gradient, it moves no parameters, and the other loss may still move its own


class Watched:
    """A policy of a submission, whose work is looked at; everything else of it is its own."""

    def __init__(self, policy: Any, act_dim: int) -> None:
        self._policy, self._act_dim = policy, act_dim

    def __getattr__(self, name: str) -> Any:
        return getattr(self._policy, name)

    def act(self, inputs: Any, training: bool = False) -> Any:
        name = f"Policy.act(..., training={training})"
        looks = lambda result, given: looked_at_act(result, given, self._act_dim, training)  # noqa: E731
        call = (lambda given: self._policy.act(given, training=True)) if training else self._policy.act
        return Piece(name, call, looks)(inputs)


class InDoublePrecision(gym.Wrapper):
    """Gives float64 observations, as HalfCheetah does."""

    def reset(self, **options) -> tuple[np.ndarray, dict]:
        observation, info = self.env.reset(**options)
        return observation.astype(np.float64), info

    def step(self, action) -> tuple[np.ndarray, float, bool, bool, dict]:
        observation, *others = self.env.step(action)
        return (observation.astype(np.float64), *others)


def one_update(submitted, steps: int, num_minibatches: int, d: int, seed: int, gamma: float, lambda_: float) -> dict:
    """Let your classes do what the course's training does, for one minibatch, on PointMass: play, estimate, deal, update.

    Whether losses are lower afterwards is measured by losses of the kit, of the very rows that the update used.
    """
    torch.manual_seed(seed)
    np.random.seed(seed)
    env = InDoublePrecision(utils.PointMass(d))
    env.reset(seed=seed)
    model = Piece("Model", model_class(submitted))(2 * d, d)
    ask = model.forward
    forward = Piece("Model.forward", ask, lambda result, given: looked_at_outputs(result, given, d))

    def of_float32(observations: Tensor) -> Any:
        if getattr(observations, "dtype", None) != torch.float32:  # which is the business of whoever asks
            kind = getattr(observations, "dtype", type(observations).__name__)
            raise TypeError(f"the model takes float32 tensors, its observations are {kind}")
        return forward(observations)

    model.forward = of_float32
    policy = Watched(Piece("Policy", submitted.Policy)(model), d)
    played: dict[str, Any] = {}

    def as_arrays(trajectory) -> None:
        trajectory.update({name: np.asarray(value) for name, value in trajectory.items() if name != "state"})

    def notes(trajectory) -> None:
        played.update(copies({name: value for name, value in trajectory.items() if name != "state"}))
        played["latest"] = np.array(trajectory["state"]["latest_observation"])

    def looked_at_trajectory(result, trajectory) -> str:
        shapes = {"advantages": (steps,), "value_targets": np.shape(played["values"])}
        wrong = {name: unusable(trajectory[name], shape) for name, shape in shapes.items() if name in trajectory}
        return without(tuple(shapes), trajectory) or next((f"{name}: {text}" for name, text in wrong.items() if text), "")

    def looked_at_minibatch(result, *given) -> str:
        if wrong := without(("observations", "actions", "log_probs", "values", "advantages", "value_targets"), result):
            return wrong
        sizes = {name: len(value) for name, value in result.items() if name != "state"}
        return "" if set(sizes.values()) == {steps // num_minibatches} else f"its numbers of rows: {sizes}"

    def standardized(minibatch) -> None:
        given = minibatch["advantages"]
        minibatch["advantages"] = (given - given.mean()) / (given.std() + 1e-8)

    estimator = Piece("GAE", Piece("GAE", submitted.GAE)(policy, gamma=gamma, lambda_=lambda_), looked_at_trajectory)
    runner = EnvRunner(env, policy, steps, transforms=[as_arrays, BootstrapTruncated(policy, gamma), notes, estimator])
    sampler = submitted.TrajectorySampler(runner, num_epochs=2, num_minibatches=num_minibatches, transforms=[standardized])
    sampler.shuffle_trajectory = Piece("TrajectorySampler.shuffle_trajectory", sampler.shuffle_trajectory)
    ppo = submitted.PPO(policy, utils.PlainAdam(list(model.parameters()), lr=3e-4, eps=1e-5))
    ppo.policy_loss = Piece("PPO.policy_loss", ppo.policy_loss, looked_at_loss)
    ppo.value_loss = Piece("PPO.value_loss", ppo.value_loss, looked_at_loss)

    first = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    minibatch = Piece("TrajectorySampler.get_next", sampler.get_next, looked_at_minibatch)()
    used = rows_of(minibatch["observations"], played["observations"])
    with torch.no_grad():
        moved_early = [name for name, parameter in model.named_parameters() if not torch.equal(parameter, first[name])]
        latest = float(ask(tensor(played["latest"]))[2].reshape(()))
    advantages, targets = advantages_of(played, latest, gamma, lambda_)
    before, ratios = losses_of(ask, played, used, advantages, targets), ratios_of(ask, played, used)
    Piece("PPO.step", ppo.step)(minibatch)
    after = losses_of(ask, played, used, advantages, targets)
    still = [name for name, parameter in model.named_parameters() if torch.equal(parameter, first[name])]
    return {
        "number of minibatch rows that are in the trajectory": len(used),
        "parameters that change before the update": moved_early,
        "parameters that the update does not change": still,
        "parameters that are NaN or infinite after the update": [
            name for name, parameter in model.named_parameters() if not bool(torch.isfinite(parameter).all())
        ],
        "every ratio is 1 before the update": bool(used) and bool(np.abs(ratios - 1).max() < 1e-3),
        "the update lowers the policy loss": bool(after[0] < before[0]),
        "the update lowers the value loss": bool(after[1] < before[1]),
        "policy loss and value loss before the update": list(before),
        "policy loss and value loss after the update": list(after),
    }


def rows_of(some: Any, played: np.ndarray) -> list[int]:
    """Return which of the rows that were played these are; no two of them are the same."""
    found = np.abs(np.asarray(to_plain(some), np.float64)[:, None] - played[None]).max(axis=-1)
    return [int(row) for row, distance in zip(found.argmin(axis=1), found.min(axis=1), strict=True) if distance < 1e-6]


def advantages_of(played: dict[str, Any], latest: float, gamma: float, lambda_: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the right advantages and value targets of what was played."""
    values = np.append(np.asarray(played["values"], np.float64).reshape(-1), latest)
    advantages, later = np.zeros(len(values) - 1), 0.0
    for t in reversed(range(len(advantages))):
        goes_on = 0.0 if played["resets"][t] else 1.0
        delta = played["rewards"][t] + gamma * goes_on * values[t + 1] - values[t]
        advantages[t] = later = delta + gamma * lambda_ * goes_on * later
    return advantages, advantages + values[:-1]


def ratios_of(ask: Callable[[Tensor], Any], played: dict[str, Any], used: list[int]) -> np.ndarray:
    """Return by what the probabilities of these actions have grown since they were played."""
    with torch.no_grad():
        mean, variance, _ = (output.double().numpy() for output in ask(tensor(played["observations"][used])))
    squares = (np.asarray(played["actions"], np.float64)[used] - mean) ** 2 / variance + np.log(2 * np.pi * variance)
    ratios: np.ndarray = np.exp(-0.5 * squares.sum(axis=-1) - played["log_probs"].astype(np.float64).reshape(-1)[used])
    return ratios


def losses_of(
    ask: Callable[[Tensor], Any], played: dict[str, Any], used: list[int], advantages: np.ndarray, targets: np.ndarray
) -> tuple[float, float]:
    """Return the clipped policy loss and the mean squared error of the values, for these of the rows that were played."""
    if not used:
        return 0.0, 0.0
    with torch.no_grad():
        value = ask(tensor(played["observations"][used]))[2].double().numpy()
    ratio = ratios_of(ask, played, used)
    weights = (advantages[used] - advantages[used].mean()) / (advantages[used].std() + 1e-8)
    policy = -np.minimum(ratio * weights, ratio.clip(0.8, 1.2) * weights).mean()
    return float(policy), float(((value.reshape(-1) - targets[used]) ** 2).mean())


# Learning


class SmallModel(nn.Module):
    """The model of the learning check: as yours, with fewer units. Its first six parameters are the policy's."""

    def __init__(self, obs_dim: int, act_dim: int) -> None:
        super().__init__()
        self.policy_net = self._net(obs_dim, act_dim, last=0.1)
        self.value_net = self._net(obs_dim, 1, last=1.0)
        self.log_variance = nn.Parameter(torch.full((act_dim,), -1.0))

    def _net(self, inputs: int, outputs: int, last: float) -> nn.Sequential:
        net: Any = nn.Sequential(
            nn.Linear(inputs, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, outputs)
        )
        nn.init.normal_(net[4].weight, std=last / HIDDEN**0.5)
        return net

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.policy_net(observations), torch.exp(self.log_variance), self.value_net(observations)


def learn(submitted, interactions: int, seed: int, d: int = 1) -> dict:
    """Train a small policy on PointMass with your classes; return its weights, and the returns, which decide nothing."""
    torch.manual_seed(seed)
    np.random.seed(seed)
    env = gym.wrappers.RecordEpisodeStatistics(utils.PointMass(d), buffer_length=10_000)
    env.reset(seed=seed)
    model = SmallModel(2 * d, d)
    policy = submitted.Policy(model)

    def as_arrays(trajectory) -> None:
        trajectory.update({name: np.array(value) for name, value in trajectory.items() if name != "state"})

    def standardized(minibatch) -> None:
        given = minibatch["advantages"]
        minibatch["advantages"] = (given - given.mean()) / (given.std() + 1e-8)

    transforms = [as_arrays, BootstrapTruncated(policy, 0.95), submitted.GAE(policy, gamma=0.95, lambda_=0.9)]
    runner = EnvRunner(env, policy, 300, transforms=transforms)
    epochs, minibatches = 10, 5
    trajectories = submitted.TrajectorySampler(
        runner, num_epochs=epochs, num_minibatches=minibatches, transforms=[standardized]
    )
    ppo = submitted.PPO(policy, utils.PlainAdam(list(model.parameters()), lr=3e-3, eps=1e-5))
    for _ in range(interactions // runner.nsteps * epochs * minibatches):
        ppo.step(trajectories.get_next())
    weights = [to_plain(parameter) for parameter in model.policy_net.parameters()]
    return {"weights": weights, "returns": [float(value) for value in list(env.return_queue)[:MAX_CURVE]]}


def play(submitted, weights: list[np.ndarray], seed: int, episodes: int = 50, d: int = 1) -> dict:
    """Return the mean return of the mean action of a policy with these weights. Run without any submission."""
    total = 0.0
    env = utils.PointMass(d)
    observation, _ = env.reset(seed=seed)
    for _ in range(episodes):
        truncated = False
        while not truncated:
            values = np.asarray(observation, np.float64)
            for number in range(0, 6, 2):
                values = np.asarray(weights[number]) @ values + np.asarray(weights[number + 1])
                values = np.tanh(values) if number < 4 else values
            observation, reward, _, truncated, _ = env.step(values)
            total += float(reward)
        observation, _ = env.reset()
    return {"mean return": total / episodes}


# The trained policy


def score(submitted, file: np.ndarray, seeds: list[int]) -> dict:
    """Return the returns of a submitted trained policy, uint8 `[bytes]`. Run without any submission."""
    try:
        policy = load_policy(file.tobytes())
        return {"returns": evaluate(policy, seeds)}
    except ValueError as error:
        return {"refused": str(error)}
    except (ImportError, gym.error.DependencyNotInstalled) as error:
        return {"missing": getattr(error, "name", None) or str(error)}
