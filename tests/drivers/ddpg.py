"""Drivers of `ddpg`: they call your classes on plain data and report plain facts. They judge nothing.

You may read them to see how your classes are used. Whatever a question needs from other questions is replaced by fakes
here, so that a mistake in one method costs no points in another: an agent has networks of a few units, a noise and an
environment that are known in advance. Your own replay buffer is used in updates, and your own ActionNormalizer around an
environment, if they work: what they do may be agreed with your agent. `one_update` and `learn` put together all that you wrote.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import io
import itertools
import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn

import utils
from grader.sandbox.facts import (
    LinearLayers,
    call_beforehand,
    describe_kind,
    fake_names,
    float32,
    largest_correlation,
    loss_of,
    quietly,
    seeded_rng,
    share_parameters,
    to_number,
    to_plain,
    with_numbers,
    with_own_methods,
)
from trained_actor import evaluate, load_actor

UNCONNECTED = "none: some parameters have no gradient"
CLEARED = "none: zero_grad cleared it before the step"
ELSEWHERE = "not in the direction of the network"
TAU = 0.25  # of agents whose updates are looked at
# For gradients, about 1, that are computed in another order in single precision.
CLOSE: dict[str, Any] = {"rtol": 1e-3, "atol": 1e-6}
NETWORKS = 40  # made to see how their weights are drawn
AWAY = 0.5  # the initial weights of a learning check: they push the point away from the origin
STARTS = (np.arange(9) - 4) / 4.5  # the positions on each axis from which a trained actor plays
NAMES = ("obs", "next_obs", "acts", "rews", "done")
ARRAY_OF = {"obs": "obs_buf", "next_obs": "next_obs_buf", "acts": "acts_buf", "rews": "rews_buf", "done": "done_buf"}


class _Plain(utils.PlainAdam):
    """What files make for an optimizer; it is an Adam, whatever its name. The first real one costs a second of imports."""

    decay = 0.0

    def __init__(self, params: Iterable, lr: float = 1e-3, *others: Any, **named: Any) -> None:
        given_groups: list[dict[str, Any]] = [group if isinstance(group, dict) else {"params": [group]} for group in params]
        # A parameter may come with its name.
        parameters = [value[1] if isinstance(value, tuple) else value for group in given_groups for value in group["params"]]
        rates = sorted({float(group.get("lr", lr)) for group in given_groups})
        super().__init__(parameters, lr=rates[0])
        self.given_rates = rates
        usual = {"betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0, "amsgrad": False, "maximize": False}
        given = {"weight_decay": self.decay} | dict(zip(usual, others, strict=False)) | named
        given = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
        self.unusual = sorted(name for name, value in given.items() if name in usual and value != usual[name])

    @property
    def rates(self) -> list[float]:
        """The learning rates: as given, unless another one was set afterwards."""
        now = float(self.param_groups[0]["lr"])
        return self.given_rates if now == self.given_rates[0] else [now]


for _name, _decay in {"Adam": 0.0, "AdamW": 0.01, "RMSprop": 0.0, "SGD": 0.0}.items():
    setattr(torch.optim, _name, type(_name, (_Plain,), {"decay": _decay}))

if "IPython" not in sys.modules:  # with which work for the course's old notebook shows its pictures

    def _show_nothing(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *things, **options: None

    _shown: Any = types.ModuleType("IPython.display")
    _shown.__getattr__ = _show_nothing
    _notebook: Any = types.ModuleType("IPython")
    _notebook.display, _notebook.get_ipython = _shown, lambda: None
    sys.modules |= {"IPython": _notebook, "IPython.display": _shown}

# What a submission makes of chance is the same in each call with the same seed.
np.random.default_rng = seeded_rng


def yes_or_no(value: Any) -> Any:
    """Return a truth, whatever kind it is of, as a bool; a text if it is none."""
    found = to_number(value)
    return bool(found) if found in (0.0, 1.0) else f"{found if isinstance(found, str) else value}, neither True nor False"


def one_number(value: Any) -> str:
    """Return whether a value is a single number or bool; if not, describe it."""
    alone = isinstance(value, (bool, int, float, np.generic)) or (isinstance(value, np.ndarray) and value.ndim == 0)
    return "one value" if alone else form_of(value)


def form_of(value: Any) -> str:
    """Return what a value of numbers is: an array of which kind and shape, or something else."""
    if isinstance(value, (np.ndarray, np.generic)):
        kind = "floating-point" if np.issubdtype(value.dtype, np.floating) else str(value.dtype)
        return f"array of {kind} numbers of shape {list(np.shape(value))}"
    return describe_kind(value)


def numbers(values: Any) -> Any:
    """Return a list, array or tensor of numbers as a list of floats."""
    with contextlib.suppress(TypeError):
        return [to_number(value) for value in values]
    return describe_kind(values)


# The replay buffer


def new_buffer(submitted, obs_dim: int, size: int, batch_size: int, act_dim: int) -> Any:
    """Return an empty buffer; the dimension of actions is given only where it is not 1."""
    return submitted.ReplayBuffer(obs_dim, size, batch_size, *([act_dim] if act_dim > 1 else []))


def store_all(buffer: Any, rows: dict[str, np.ndarray]) -> None:
    """Store transitions from arrays that are used again for the next one, as environments may."""
    obs, act, next_obs = (np.zeros(rows[name].shape[1:], np.float32) for name in ("obs", "acts", "next_obs"))
    for number_of in range(len(rows["rews"])):
        obs[:], act[:], next_obs[:] = (rows[name][number_of] for name in ("obs", "acts", "next_obs"))
        buffer.store(obs, act, float(rows["rews"][number_of]), next_obs, bool(rows["done"][number_of]))


def storing(
    submitted,
    size: int,
    batch_size: int,
    obs: np.ndarray,
    acts: np.ndarray,
    rews: np.ndarray,
    next_obs: np.ndarray,
    done: np.ndarray,
    look_after: list[int],
) -> dict:
    """Store transitions one after another; report what the buffer holds after some of them."""
    rows = dict(zip(NAMES, (obs, next_obs, acts, rews, done), strict=True))
    other = new_buffer(submitted, obs.shape[1], size, batch_size, acts.shape[1])
    buffer = new_buffer(submitted, obs.shape[1], size, batch_size, acts.shape[1])
    with quietly():  # one buffer must not know of another
        store_all(other, {name: values[::-1] for name, values in rows.items()})
    facts: dict[str, Any] = {
        "max_size and batch_size": [getattr(buffer, "max_size", None), getattr(buffer, "batch_size", None)]
    }
    facts["dtypes and shapes of the arrays"] = forms(buffer, acts.shape[1])
    seen, opposite = 0, keeps_the_opposite(submitted)
    for count in look_after:
        store_all(buffer, {name: values[seen:count] for name, values in rows.items()})
        seen = count
        facts |= contents(buffer, count, opposite)
    return facts


def contents(buffer: Any, count: int, opposite: bool) -> dict[str, Any]:
    """Return what a buffer holds after so many transitions.

    Args:
        opposite: Whether the buffer keeps 1 - done.
    """
    when = f"after {count} transitions"
    facts: dict[str, Any] = {
        f"len, size and ptr {when}": [len(buffer), getattr(buffer, "size", None), getattr(buffer, "ptr", None)]
    }
    for name, attribute in ARRAY_OF.items():
        # Row by row, whatever the form: `forms` reports that.
        found = np.array(to_plain(getattr(buffer, attribute)), np.float32)
        found = found.reshape(len(found), -1)
        if name == "done" and opposite:
            found[:count] = 1 - found[:count]
        facts[f"{attribute} {when}"] = found
    return facts


def forms(buffer: Any, act_dim: int) -> dict[str, list]:
    """Return precision and shape of each array of a buffer.

    Ends may be kept in any precision, and an action of one number without an axis.
    """
    found: dict[str, list] = {}
    for name, attribute in ARRAY_OF.items():
        array = np.asarray(to_plain(getattr(buffer, attribute)))
        shape = list(array.shape)
        if name == "acts" and act_dim == 1 and len(shape) == 1:
            shape.append(1)
        found[f"dtype and shape of {attribute}"] = ["any" if name == "done" else str(array.dtype), shape]
    return found


def keeps_the_opposite(submitted) -> bool:
    """Return whether the submission's buffer keeps 1 - done, as it may if its agent knows."""
    with quietly():
        buffer = new_buffer(submitted, 1, 3, 1, 1)
        store_all(buffer, {name: values[1:] for name, values in numbered(3, 1, 1).items()})
        return np.asarray(to_plain(buffer.done_buf)).ravel()[:2].tolist() == [1.0, 0.0]
    return False


def filled_buffer(submitted, rows: dict[str, np.ndarray], size: int, batch_size: int) -> Any:
    """Return a buffer with these transitions; where storing is wrong, or of another form, they are put into its arrays."""
    count, act_dim = rows["acts"].shape
    buffer = object.__new__(submitted.ReplayBuffer)
    with contextlib.suppress(NotImplementedError):
        arguments = (rows["obs"].shape[1], size, batch_size, *([act_dim] if act_dim > 1 else []))
        buffer.__init__(*arguments)
    with quietly():
        store_all(buffer, rows)
    good = False
    with quietly():
        held = {name: np.asarray(to_plain(getattr(buffer, attribute)))[:count] for name, attribute in ARRAY_OF.items()}
        done = np.asarray(rows["done"], np.float64)
        ends_too = any(np.array_equal(held["done"], ends) for ends in (done, 1 - done))
        good = (
            ends_too
            and len(buffer) == count
            and all(
                held[name].dtype == np.float32 and np.array_equal(held[name], rows[name]) for name in NAMES if name != "done"
            )
        )
    if not good:
        for name, attribute in ARRAY_OF.items():
            array = np.zeros((size, *rows[name].shape[1:]), np.float32)
            array[:count] = rows[name]
            setattr(buffer, attribute, array)
        buffer.max_size, buffer.batch_size, buffer.ptr, buffer.size = size, batch_size, count % size, count
    return buffer


def numbered(count: int, obs_dim: int, act_dim: int) -> dict[str, np.ndarray]:
    """Return transitions in which every number shows which transition it belongs to."""
    place = np.arange(1.0, count + 1)
    return {
        "obs": (place[:, None] + np.arange(obs_dim) / 8).astype(np.float32),
        "next_obs": (-place[:, None] - np.arange(obs_dim) / 8).astype(np.float32),
        "acts": (place[:, None] / 64 - np.arange(act_dim) / 8).astype(np.float32),
        "rews": (100 * place).astype(np.float32),
        "done": place % 3 == 0,
    }


def sampling(submitted, count: int, size: int, batch_size: int, obs_dim: int, act_dim: int, draws: int) -> dict:
    """Sample from a buffer that holds `count` transitions, many times; report which rows came, and whether they are whole."""
    rows = numbered(count, obs_dim, act_dim)
    buffer = filled_buffer(submitted, rows, size, batch_size)
    first = buffer.sample_batch()
    if not isinstance(first, dict):
        return {"returned": describe_kind(first)}
    if missing := [name for name in NAMES if name not in first]:  # there may be others
        return {"returned": f"a dictionary without {', '.join(missing)}"}
    facts: dict[str, Any] = {}
    arrays = {name: np.asarray(to_plain(first[name])) for name in NAMES}
    facts["types of the values of a batch"] = sorted(
        {"array" if isinstance(first[name], np.ndarray) else describe_kind(first[name]) for name in NAMES}
    )
    facts["shapes of the arrays of a batch"] = {
        f"shape of {name}": list(array.shape) for name, array in arrays.items() if name != "acts"
    }
    facts["values per row of acts"] = arrays["acts"].size / max(len(arrays["acts"]), 1)
    facts["dtypes of the arrays of a batch"] = sorted({str(array.dtype) for name, array in arrays.items() if name != "done"})
    for name in NAMES:  # what is done to a batch must not come into the buffer
        with quietly():
            first[name][...] = 0
    batches, broken = [], set()
    drawn = buffer.sample_batch()
    known = {name: to_plain(drawn[name]) for name in NAMES}
    buffer.sample_batch()
    facts["a later sample_batch modifies a batch"] = any(
        not np.array_equal(to_plain(drawn[name]), known[name]) for name in NAMES
    )
    for _ in range(draws):
        batch = buffer.sample_batch()
        batch = {name: np.asarray(to_plain(batch[name]), np.float64) for name in NAMES}
        picked = np.round(batch["obs"].reshape(len(batch["obs"]), -1)[:, 0]).astype(int) - 1
        batches.append(picked)
        if ((picked < 0) | (picked >= count)).any():
            continue
        for name in NAMES[1:]:
            expected = rows[name][picked].astype(np.float64)
            if batch[name].size != expected.size or not np.allclose(batch[name].reshape(expected.shape), expected):
                broken.add(name)
            if name == "done" and not np.array_equal(batch[name].ravel(), 1 - expected):
                broken.add("1 - done")
    # A buffer may keep 1 - done, if its agent knows.
    torn = broken - {"1 - done"} - ({"done"} if "1 - done" not in broken else set())
    facts["arrays whose rows do not match those of obs"] = sorted(torn)
    facts["update_model works with batches of this form"] = facts["update_model works with this meaning of done"] = True
    usual = not torn and "done" not in broken and arrays["done"].dtype.kind == "f"
    usual = usual and all(array.shape == (batch_size, *rows[name].shape[1:]) for name, array in arrays.items())
    # What comes out of a buffer that works is not used in updates if they fit the usual batches, and not these.
    if not usual and buffer_works(submitted, obs_dim, act_dim) and not agreement(submitted, obs_dim, act_dim)[0]:
        if broken == {"done"}:
            facts["update_model works with this meaning of done"] = "no, done is 0 for terminated transitions"
        else:
            truths = ", done is a bool array" if arrays["done"].dtype == bool else ""
            facts["update_model works with batches of this form"] = f"no{truths}"
    filled = [batch[(batch >= 0) & (batch < count)] for batch in batches]
    facts["a batch has unfilled or modified rows"] = sum(map(len, filled)) < sum(map(len, batches))
    facts["a batch has a row twice"] = any(len(np.unique(rows)) < len(rows) for rows in filled)  # unfilled ones look alike
    facts["how often each row is sampled"] = np.bincount(np.concatenate(filled), minlength=count)
    facts["batches"] = len(batches)
    facts["share of batches that are neighboring rows"] = float(np.mean([np.ptp(batch) == len(batch) - 1 for batch in batches]))
    overlaps = [len(set(one.tolist()) & set(other.tolist())) for one, other in itertools.pairwise(batches)]
    facts["mean number of rows shared with the previous batch"] = float(np.mean(overlaps))
    facts["two batches are the same"] = bool(np.array_equal(np.sort(batches[0]), np.sort(batches[1])))
    return facts


def too_few(submitted, count: int, batch_size: int) -> dict:
    """Sample more transitions than are stored; report what came: an error, of whichever kind, or something else."""
    buffer = filled_buffer(submitted, numbered(count, 2, 1), 3 * batch_size, batch_size)
    try:
        batch = buffer.sample_batch()
    except NotImplementedError:
        raise
    except Exception:
        return {"result of sample_batch": "an error"}
    if not (isinstance(batch, dict) and "obs" in batch):
        return {"result of sample_batch": describe_kind(batch)}
    picked = np.round(np.asarray(to_plain(batch["obs"]), np.float64).reshape(-1, 2)[:, 0]).astype(int)
    if (picked < 1).any() or len(set(picked.tolist())) < len(picked):
        return {"result of sample_batch": "a batch with unfilled or repeated rows"}
    return {"result of sample_batch": f"a batch of {len(picked)} transitions"}


# The noise


def noise(
    submitted, size: int, samples: int, mu: float | None = None, theta: float | None = None, sigma: float | None = None
) -> dict:
    """Sample a long path of noise, and many short ones from its beginning; parameters that are None are left out."""
    given = {name: value for name, value in (("mu", mu), ("theta", theta), ("sigma", sigma)) if value is not None}
    process = submitted.OUNoise(size, **given)
    first = process.sample()
    if first is None or np.size(first) != size:
        return {"returned": f"{describe_kind(first)}, of shape {list(np.shape(first))}"}
    facts: dict[str, Any] = {"form of a sample": form_of(first), "parameters": dict(given)}

    def sample() -> np.ndarray:
        return np.array(to_plain(process.sample()), np.float64).reshape(size)

    process.reset()
    path = np.array([sample() for _ in range(samples)])
    starts = []
    for _ in range(samples // 8):
        process.reset()
        starts.append([sample() for _ in range(2)])
    process.reset()
    state = np.array(to_plain(getattr(process, "state", np.nan)), np.float64)
    facts["shape of the state"] = list(state.shape)
    facts["state after a reset"] = state.reshape(size) if state.size == size else state
    latest = sample()
    state = np.asarray(to_plain(getattr(process, "state", np.nan)), np.float64).ravel()
    facts["state is the latest sample"] = state.shape == latest.shape and bool(np.allclose(state, latest, rtol=1e-5))
    facts["two episodes have the same noise"] = repeats_itself(submitted, size, given)
    return facts | {
        "statistics of many successive samples": moments(path),
        "statistics after a reset": starting(np.array(starts)),
    }


def repeats_itself(submitted, size: int, given: dict[str, float]) -> bool:
    """Return whether noise that is made with a seed begins again with the same samples after a reset."""
    if "rng" not in inspect.signature(submitted.OUNoise).parameters:
        return False
    process, episodes = submitted.OUNoise(size, **given, rng=np.random.randint(2**31)), []
    for _ in range(2):
        process.reset()
        episodes.append(np.array([to_plain(process.sample()) for _ in range(3)], np.float64))
    return bool(np.array_equal(*episodes))  # type: ignore[arg-type]  # there are two


def hands_out_its_state(submitted) -> bool:
    """Return whether writing into a sample of the submission's noise changes the next sample; it may be a copy."""
    with quietly():
        process = submitted.OUNoise(2, mu=0.0, theta=0.15, sigma=0.0)
        sample = process.sample()
        sample += 8.0
        return bool(np.abs(np.asarray(to_plain(process.sample()), np.float64)).max() > 1.0)
    return False


def moments(path: np.ndarray) -> dict[str, Any]:
    """Return what describes a path `[time, dimension]`: mean, variance and correlations."""
    around = path - path.mean(axis=0)
    with np.errstate(all="ignore"):
        variance = (around**2).mean(axis=0)
        return {
            "number of samples": len(path),
            "mean": path.mean(axis=0),
            "variance": variance,
            "correlation with the previous sample": (around[1:] * around[:-1]).mean(axis=0) / variance,
            "correlation with the sample two steps earlier": (around[2:] * around[:-2]).mean(axis=0) / variance,
            "largest correlation between the changes in two dimensions": largest_correlation(np.diff(path, axis=0)),
        }


def starting(starts: np.ndarray) -> dict[str, Any]:
    """Return what describes the first two samples after a reset, `[path, 2, dimension]`."""
    return {
        "number of resets": len(starts),
        "mean of the first sample": starts[:, 0].mean(axis=0),
        "variance of the first sample": starts[:, 0].var(axis=0),
        "share of first samples within one standard deviation": [
            float(value) for value in (np.abs(starts[:, 0] - starts[:, 0].mean(axis=0)) < starts[:, 0].std(axis=0)).mean(axis=0)
        ],
        "variance of the second sample": starts[:, 1].var(axis=0),
    }


# The networks


def between(out: Tensor, into: Tensor) -> str:
    """Return what happens between two layers."""
    if out.shape != into.shape:
        return f"output of shape {list(out.shape)}, next input of shape {list(into.shape)}"
    for name, function in (("ReLU", torch.relu), ("none", lambda x: x), ("tanh", torch.tanh), ("sigmoid", torch.sigmoid)):
        if torch.allclose(function(out), into, atol=1e-5):
            return name
    kept = into != 0
    if not kept.any():
        return "all zeros"
    scale = (into[kept] / out[kept]).median()
    if torch.allclose(scale * out.relu()[kept], into[kept], atol=1e-5):
        return "ReLU with some outputs set to 0 or rescaled"
    return "something else"


def is_close(one: Tensor, other: Tensor) -> bool:
    """Return whether two tensors have the same shape, and the same numbers but for rounding."""
    return one.shape == other.shape and torch.allclose(one, other, atol=1e-5)


def without_norms(network: nn.Module) -> nn.Module:
    """Return the network without its normalization layers, so that the other layers can be recognized."""
    if not any("Norm" in type(layer).__name__ for layer in network.modules()):
        return network
    plainer = copy.deepcopy(network)
    for parent in list(plainer.modules()):
        for name, layer in list(parent.named_children()):
            if "Norm" in type(layer).__name__:
                setattr(parent, name, nn.Identity())
    return plainer


ENDS = {
    "none": lambda x: x,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "ReLU": torch.relu,
    "clipping to [-1, 1]": lambda x: x.clamp(-1.0, 1.0),
    "softsign": lambda x: x / (1.0 + x.abs()),
}


def shown_layers(watch: LinearLayers, result: Tensor) -> dict[str, Any]:
    """Return what the layers of a network are, and what is between them."""
    watch.add_uncalled(result)
    layers = [layer for layer, _, _ in watch.passed]
    happens = [between(one[2], other[1]) for one, other in itertools.pairwise(watch.passed)]
    last = watch.passed[-1][2] if watch.passed else torch.zeros(0)
    flat = result.detach().reshape(last.shape) if result.numel() == last.numel() else torch.full_like(last, torch.nan)
    ends = [name for name, function in ENDS.items() if torch.allclose(function(last), flat, atol=1e-5)]
    return {
        "there are at least three linear layers": len(layers) >= 3,
        "each linear layer is used once": len({id(layer) for layer in layers}) == len(layers),
        "hidden layers without a bias": sum(layer.bias is None for layer in layers[:-1]),
        "units of the hidden layers": sorted({layer.out_features for layer in layers[:-1]}),
        "activation between the layers": sorted(set(happens)),
        "activation after the last layer": ends[0] if ends else "something else",
    }


def last_layer(network: nn.Module, call: Callable[[], Any]) -> nn.Linear | None:
    """Return the linear layer that is used last."""
    watch = LinearLayers(network)
    watch.add_uncalled(call())
    return watch.passed[-1][0] if watch.passed else None


def drawn_weights(make: Callable[[], nn.Module], call: Callable[[nn.Module], Any], init_w: float) -> dict[str, Any]:
    """Make many networks; return how weights and biases of their last layers are drawn, as multiples of init_w."""
    weights, biases, before = [], [], []
    for _ in range(NETWORKS):
        network = make()
        last = last_layer(network, lambda network=network: call(network))  # type: ignore[misc]
        if last is None:
            return {"the last layer": "there is no linear layer"}
        weights.append(to_plain(last.weight).ravel())
        biases.append(to_plain(last.bias).ravel() if last.bias is not None else np.zeros(1))
        others = [layer for layer in network.modules() if isinstance(layer, nn.Linear) and layer is not last]
        before.append([float(layer.weight.detach().abs().mean() * layer.in_features**0.5) for layer in others])
    facts: dict[str, Any] = {}
    for name, drawn in (("weights", weights), ("biases", biases)):
        values = np.concatenate(drawn).astype(np.float64) / init_w
        facts |= {
            f"{name} of the last layer / init_w": {
                "count": values.size,
                "largest absolute value": float(np.abs(values).max()),
                "mean": float(values.mean()),
                "mean absolute value": float(np.abs(values).mean()),
                "mean square": float((values**2).mean()),
            },
            f"{name} of the last layer differ between networks": not np.array_equal(drawn[0], drawn[1]),
        }
    # For each hidden layer: inputs of the order of 1 give outputs of the order of 1.
    sizes = np.mean(before, axis=0) if before and before[0] else np.zeros(1)
    facts["mean absolute hidden weight, times √(number of inputs)"] = [float(sizes.min()), float(sizes.max())]
    return facts


def unused_parameters(network: nn.Module) -> int:
    """Return how many parameters have no gradient."""
    return sum(value.grad is None or not value.grad.any() for value in network.parameters())


def actor(submitted, in_dim: int, out_dim: int, states: np.ndarray, init_w: float | None = None) -> dict:
    """Make actors and call one; without init_w, its default."""
    options = {} if init_w is None else {"init_w": init_w}
    network = submitted.Actor(in_dim, out_dim, **options)
    given = float32(states)
    with torch.no_grad():  # so that tanh bends
        for value in network.parameters():
            if 0 < value.abs().max() < 0.06:
                value.mul_(0.3 / value.abs().max())
    action = network(given)
    if not isinstance(action, Tensor):
        return {"returned": describe_kind(action)}
    facts: dict[str, Any] = {
        "output shape for a batch": list(action.shape),
        "dtype of the output": str(action.dtype).removeprefix("torch."),
    }
    plainer = without_norms(network)
    watch = LinearLayers(plainer)
    facts |= shown_layers(watch, plainer(given))
    came = watch.passed[0][1] if watch.passed else torch.zeros(0)
    facts["input of the first layer"] = "the state" if is_close(came.flatten(), given.flatten()) else "another tensor"
    facts["output shape for a single state"] = list(network(given[0]).shape)
    facts["output shape for a batch of one"] = list(network(given[:1]).shape)
    if action.requires_grad:
        (action * torch.arange(1.0, action.numel() + 1).reshape(action.shape)).sum().backward()
    facts["parameters without a gradient"] = unused_parameters(network)
    facts["arguments that forward modifies"] = [] if torch.equal(given, float32(states)) else ["state"]
    made = drawn_weights(lambda: submitted.Actor(in_dim, out_dim, **options), lambda one: one(given), init_w or 3e-3)
    return facts | made


def critic(submitted, states: np.ndarray, actions: np.ndarray, init_w: float | None = None) -> dict:
    """Make critics and call one; without init_w, its default."""
    options = {} if init_w is None else {"init_w": init_w}
    in_dim = states.shape[1] + actions.shape[1]
    network = submitted.Critic(in_dim, **options)
    given, chosen = float32(states), float32(actions).requires_grad_()
    with torch.no_grad():  # so that values are not all about 0
        for value in network.parameters():
            if 0 < value.abs().max() < 0.06:
                value.mul_(0.3 / value.abs().max())
    result = network(given, chosen)
    if not isinstance(result, Tensor):
        return {"returned": describe_kind(result)}
    facts: dict[str, Any] = {
        "output shape for a batch": list(result.shape),
        "output shape for a batch of one": list(network(given[:1], chosen[:1]).shape),
        "dtype of the output": str(result.dtype).removeprefix("torch."),
    }
    if result.ndim == 1 and not any(
        fits(submitted, states.shape[1], actions.shape[1], own, flat=True) for own in (True, False)
    ):
        facts["output shape for a batch"] = f"[{len(result)}], and update_model does not work with that shape"
    plainer = without_norms(network)
    watch = LinearLayers(plainer)
    facts |= shown_layers(watch, plainer(given, chosen.detach()))
    came = watch.passed[0][1] if watch.passed else torch.zeros(0)
    orders = (torch.cat(pair, dim=1) for pair in ((given, chosen.detach()), (chosen.detach(), given)))
    facts["input of the first layer"] = (
        "state and action, concatenated"
        if any(is_close(came, order) for order in orders)
        else f"another tensor, of shape {list(came.shape)}"
    )
    if result.requires_grad:
        (result.flatten() * torch.arange(1.0, result.numel() + 1)).sum().backward()
    facts["parameters without a gradient"] = unused_parameters(network)
    facts["the action gets a gradient"] = chosen.grad is not None and bool(chosen.grad.any())
    unchanged = torch.equal(given, float32(states)) and torch.equal(chosen.detach(), float32(actions))
    facts["forward leaves state and action unchanged"] = unchanged
    made = drawn_weights(lambda: submitted.Critic(in_dim, **options), lambda one: one(given, chosen.detach()), init_w or 3e-3)
    return facts | made


# Fakes for what an agent is made of


class SmallActor(nn.Module):
    """A fake `Actor`, with a few units."""

    def __init__(self, in_dim: int, out_dim: int, *others: Any, **named: Any) -> None:
        nn.Module.__init__(self)
        self.sizes = [in_dim, out_dim]
        self.hidden1, self.hidden2, self.out = nn.Linear(in_dim, 4), nn.Linear(4, 4), nn.Linear(4, out_dim)

    def forward(self, state: Tensor) -> Tensor:
        return torch.tanh(self.out(torch.tanh(self.hidden2(torch.tanh(self.hidden1(state))))))


class SmallCritic(nn.Module):
    """A fake `Critic`, which returns values as yours does: `[B, 1]`, or `[B]`."""

    column = True

    def __init__(self, in_dim: int, *others: Any, **named: Any) -> None:
        nn.Module.__init__(self)
        self.sizes = [in_dim]
        self.hidden1, self.hidden2, self.out = nn.Linear(in_dim, 5), nn.Linear(5, 4), nn.Linear(4, 1)

    def forward(self, state: Tensor, action: Tensor) -> Tensor:
        value = self.hidden1(torch.cat((state, action), dim=-1))
        value = self.out(torch.tanh(self.hidden2(torch.tanh(value))))
        return value if self.column else value.squeeze(-1)


class FlatCritic(SmallCritic):
    """The same for files whose critic returns values without an axis of 1."""

    column = False


class KnownNoise:
    """A fake `OUNoise` that gives known samples, and counts."""

    # Attributes of the class, so that a property of the submission's own class does not hide them.
    mu = theta = sigma = state = None

    def __init__(self, size: int, *others: Any, **named: Any) -> None:
        self.given = {"size": size, **dict(zip(("mu", "theta", "sigma"), others, strict=False)), **named}
        # Never zero: who adds noise where none belongs must not get what is right.
        self.samples = np.resize([0.7, -0.4, 1.3, -0.9, 0.5], (5, size))
        self.mu, self.state = np.zeros(size), self.samples[0].copy()
        self.theta, self.sigma = named.get("theta", 0.15), named.get("sigma", 0.2)
        self.drawn = 0
        self.handed_out: list[tuple[np.ndarray, np.ndarray]] = []  # each sample, and what it was
        self.resets: list[int] = []
        self.now: Callable[[], int] = lambda: 0

    def reset(self) -> None:
        self.resets.append(self.now())

    def sample(self) -> np.ndarray:
        self.state = np.array(self.samples[self.drawn % len(self.samples)])
        self.drawn += 1
        self.handed_out.append((self.state.copy(), self.state.copy()))
        return self.handed_out[-1][0]


class KnownMemory:
    """A fake `ReplayBuffer`: it keeps everything, and a batch is all there is. Its arrays show the rows so far."""

    # As in KnownNoise.
    max_size: Any = None
    batch_size: Any = None
    rows: Any = None
    given: Any = None
    given_besides: Any = None
    widths: Any = None

    def __init__(self, obs_dim: int, size: int, batch_size: int = 32, *others: Any, **named: Any) -> None:
        self.given = [obs_dim, size, batch_size]
        self.given_besides = [value for value in (*others, *named.values()) if isinstance(value, (int, np.integer))]
        width = named.get("act_dim", self.given_besides[0] if self.given_besides else 1)
        self.widths = {"obs": [obs_dim], "next_obs": [obs_dim], "acts": [width]}
        self.rows = {name: [] for name in NAMES}
        self.max_size, self.batch_size = size, batch_size

    def store(self, obs, act, rew, next_obs, done) -> None:
        row = {"obs": obs, "next_obs": next_obs, "acts": act, "rews": rew, "done": done}
        for name, value in row.items():
            self.rows[name].append(np.array(to_plain(value), np.float32))

    def sample_batch(self) -> dict[str, np.ndarray]:
        return {name: np.array(values, np.float32) for name, values in self.rows.items()}

    def __getattr__(self, name: str) -> np.ndarray:
        """Return an array of a `ReplayBuffer`, with the rows so far; not called where the agent has set one."""
        for kind, array in ARRAY_OF.items():
            if name == array:
                filled = np.zeros((self.max_size, *self.widths.get(kind, [])), np.float32)
                for row, value in enumerate(self.rows[kind]):
                    filled[row % self.max_size] = value
                return filled
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def __len__(self) -> int:
        return len(self.rows["rews"])

    @property
    def size(self) -> int:
        return len(self)

    @property
    def ptr(self) -> int:
        return len(self) % self.max_size


class RecordingSGD(torch.optim.Optimizer):
    """A fake optimizer that keeps the gradient of every step. It is an Optimizer by name only."""

    def __init__(self, network: nn.Module, lr: float) -> None:
        self.parameters = list(network.parameters())
        self.param_groups = [{"params": self.parameters, "lr": lr}]
        self.gradients: list[Any] = []
        self.cleared = False

    def zero_grad(self, set_to_none: bool = True) -> None:
        self.cleared = any(value.grad is not None for value in self.parameters)
        for value in self.parameters:
            value.grad = None

    @torch.no_grad()
    def step(self, closure=None):
        loss = loss_of(closure)
        found = [value.grad for value in self.parameters]
        missing = any(gradient is None for gradient in found)
        nothing = CLEARED if self.cleared else UNCONNECTED
        self.gradients.append(nothing if missing else np.concatenate([to_plain(gradient).ravel() for gradient in found]))
        for value, gradient in zip(self.parameters, found, strict=True):
            if gradient is not None:
                value -= self.param_groups[0]["lr"] * gradient
        return loss


class FakeEnvironment(gym.Env):
    """An environment of which only the spaces matter."""

    observation_space: gym.spaces.Box

    def __init__(self, obs_dim: int, low: Any, high: Any) -> None:
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (obs_dim,), np.float32)
        self.action_space = gym.spaces.Box(np.array(low, np.float32), np.array(high, np.float32), dtype=np.float32)

    def reset(self, *, seed=None, options=None) -> tuple[np.ndarray, dict]:
        return np.zeros(self.observation_space.shape, np.float32), {}

    def step(self, action) -> tuple[np.ndarray, float, bool, bool, dict]:
        return np.zeros(self.observation_space.shape, np.float32), 0.0, False, False, {}


def flat_values(submitted) -> bool:
    """Return whether the submission's own critic returns values without an axis of 1."""
    with quietly(), torch.no_grad():
        return submitted.Critic(3)(torch.zeros(4, 2), torch.zeros(4, 1)).ndim == 1
    return False


def follows_the_other_way(submitted) -> bool:
    """Return whether the submission's τ is the share of a target that stays; its default value shows this."""
    with quietly():
        return inspect.signature(submitted.DDPGAgent.__init__).parameters["tau"].default > 0.5
    return False


def stand_ins(submitted, flat: bool | None = None) -> dict[str, type]:
    """Return the fakes for the classes that an agent is made of, by name.

    Args:
        flat: Whether the critic's values are `[B]`, not `[B, 1]`; those of the submission's own if
            None.
    """
    classes = {
        "Actor": SmallActor,
        "Critic": FlatCritic if (flat_values(submitted) if flat is None else flat) else SmallCritic,
        "OUNoise": KnownNoise,
        "ReplayBuffer": KnownMemory,
    }
    return {name: with_own_methods(submitted, name, stand_in) for name, stand_in in classes.items()}


def new_agent(submitted, env: Any, flat: bool | None = None, **options: Any) -> Any:
    """Return an agent that is all fakes, whether or not its own `__init__` comes to an end.

    Args:
        flat: See `stand_ins`.
        options: gamma, batch_size and initial_random_steps, instead of their defaults; tau: how far
            targets go.
    """
    given = {"memory_size": 50, "batch_size": 4, "ou_noise_theta": 0.15, "ou_noise_sigma": 0.2}
    given |= {name: value for name, value in options.items() if value is not None}
    if "tau" in given and follows_the_other_way(submitted):
        given["tau"] = 1.0 - given["tau"]
    agent = object.__new__(submitted.DDPGAgent)
    obs_dim, act_dim = env.observation_space.shape[0], env.action_space.shape[0]
    classes: dict[str, Any] = stand_ins(submitted, flat)
    with fake_names(submitted, classes), quietly():
        agent.__init__(env, **given)
    for name, value in (given | {"env": env, "device": torch.device("cpu")}).items():
        put(agent, name, value)
    made: list[nn.Module] = []
    for number_of, name in enumerate(("actor", "actor_target", "critic", "critic_target"), start=1):
        kind, sizes = (classes["Actor"], [obs_dim, act_dim]) if "actor" in name else (classes["Critic"], [obs_dim + act_dim])
        network: Any = getattr(agent, name, None)
        # Keep the agent's own network if it is usable: the agent may have stored its parameters.
        if (
            type(network) is not kind
            or network.sizes != sizes
            or any(share_parameters(network, other) for other in made)
            or any(value.dtype != torch.float32 for value in network.parameters())
        ):
            network = kind(*sizes)
        if name in ("actor", "critic"):
            network.requires_grad_(True)
        made.append(with_numbers(network, number_of))
        if getattr(agent, name, None) is not network:
            put(agent, name, network)
    record_steps(agent)
    put(agent, "memory", classes["ReplayBuffer"](obs_dim, 50, given["batch_size"], act_dim))
    put(agent, "noise", classes["OUNoise"](act_dim))
    for name, value in {"transition": [], "total_step": 0, "is_test": False}.items():
        put(agent, name, value)
    agent._plot = lambda *told, **named: None
    return agent


def put(agent: Any, name: str, value: Any) -> None:
    """Set an attribute of an agent, also where its class has a property of that name."""
    try:
        setattr(agent, name, value)
    except AttributeError:
        agent.__class__ = type(type(agent).__name__, (type(agent),), {name: value})


def record_steps(agent: Any, actor_lr: float = 0.0, critic_lr: float = 0.0) -> None:
    """Let both optimizers of an agent record their steps. They stay the objects that they are: it may have noted them."""
    for name, lr in (("actor", actor_lr), ("critic", critic_lr)):
        recording = RecordingSGD(getattr(agent, name), lr)
        own = getattr(agent, f"{name}_optimizer", None)
        other = getattr(agent, "actor_optimizer", None) if name == "critic" else None
        if isinstance(own, (_Plain, RecordingSGD)) and own is not other:
            own.__class__, own.__dict__ = RecordingSGD, recording.__dict__
        else:
            put(agent, f"{name}_optimizer", recording)


# The agent: networks, actions, steps


def parts(submitted, obs_dim: int, act_dim: int, options: dict) -> dict:
    """Make an agent of fakes; report what they are made with, and what its optimizers move."""
    given = {"memory_size": 77, "batch_size": 5, "ou_noise_theta": 0.4, "ou_noise_sigma": 0.3} | options
    if "tau" in given and follows_the_other_way(submitted):
        given["tau"] = 1.0 - given["tau"]
    with fake_names(submitted, stand_ins(submitted)):
        agent = submitted.DDPGAgent(FakeEnvironment(obs_dim, [-2.0] * act_dim, [2.0] * act_dim), **given)
    facts: dict[str, Any] = {}
    networks = {name: getattr(agent, name) for name in ("actor", "actor_target", "critic", "critic_target")}
    values = {name: list(network.parameters()) for name, network in networks.items()}
    for name in ("actor", "critic"):
        target = f"{name}_target"
        facts[f"input and output sizes of {name} and {target}"] = [sizes_of(networks[which], name) for which in (name, target)]
        facts[f"{target} is equal to {name}"] = all(map(torch.equal, values[name], values[target]))
        shared = {value.data_ptr() for value in values[name]} & {value.data_ptr() for value in values[target]}
        facts[f"{target} has its own parameters"] = not shared
        optimizer = getattr(agent, f"{name}_optimizer")
        moved = {id(value) for group in optimizer.param_groups for value in group["params"]}
        facts[f"networks that {name}_optimizer updates"] = [
            of for of, parameters in values.items() if moved & {id(value) for value in parameters}
        ]
        facts[f"{name}_optimizer updates all parameters of {name}"] = {id(value) for value in values[name]} <= moved
        kind, unusual = type(optimizer).__name__, list(getattr(optimizer, "unusual", []))
        facts[f"class of {name}_optimizer"] = "Adam" if kind == "AdamW" and "weight_decay" not in unusual else kind
        rates = getattr(optimizer, "rates", [float(group["lr"]) for group in optimizer.param_groups])
        facts[f"learning rate of {name}_optimizer"] = rates[0] if len(set(rates)) == 1 else rates
        facts[f"options of {name}_optimizer that differ from the defaults"] = unusual
        facts[f"dtypes of {name} and {target}"] = sorted({str(value.dtype) for value in (*values[name], *values[target])})
        facts[f"all parameters of {name} have requires_grad=True"] = all(value.requires_grad for value in values[name])
    tau = agent.tau if not follows_the_other_way(submitted) else 1.0 - agent.tau
    facts["gamma, tau, batch_size, initial_random_steps"] = [
        float(agent.gamma), float(tau), int(agent.batch_size), float(agent.initial_random_steps)
    ]  # fmt: skip
    facts["initial total_step and is_test"] = [int(agent.total_step), bool(agent.is_test)]
    facts["obs_dim, size and batch_size of memory"] = list(agent.memory.given)
    facts["memory has the act_dim of the environment"] = act_dim == 1 or act_dim in agent.memory.given_besides
    facts["θ and σ of the noise"] = [float(agent.noise.theta), float(agent.noise.sigma)]
    return facts


def sizes_of(network: Any, name: str) -> list[int]:
    """Return the numbers that go into a network and, of an actor, that come out; it may be the submission's own after all."""
    if hasattr(network, "sizes"):
        return network.sizes
    linear = [layer for layer in network.modules() if isinstance(layer, nn.Linear)]
    return [linear[0].in_features, linear[-1].out_features] if name == "actor" else [linear[0].in_features]


def normalized(submitted, env: Any) -> gym.Env:
    """Return the environment in the submission's `ActionNormalizer` if that works; otherwise as it is."""
    low, high = env.action_space.low, env.action_space.high
    with quietly():
        wrapped = submitted.ActionNormalizer(env)
        made = [np.asarray(to_plain(wrapped.action(np.full_like(low, value)))) for value in (-1.0, 0.0, 1.0)]
        if np.allclose(made, [low, (low + high) / 2, high], atol=1e-4):
            return wrapped
    return env


def actions(
    submitted,
    states: np.ndarray,
    samples: np.ndarray,
    total_step: int,
    initial_random_steps: int,
    is_test: bool = False,
    double: bool = False,
) -> dict:
    """Ask an agent with a known actor and known noise for an action in each state, in single or double precision."""
    env = FakeEnvironment(states.shape[1], [-2.0] * samples.shape[1], [2.0] * samples.shape[1])
    agent = new_agent(submitted, normalized(submitted, env), initial_random_steps=initial_random_steps)
    agent.noise.samples, agent.total_step, agent.is_test = samples, total_step, is_test
    resets = len(agent.noise.resets)
    chosen, kinds, kept = [], set(), []
    for state in states:
        given = np.array(state, np.float64 if double else np.float32)
        action = agent.select_action(given)
        if action is None or np.size(to_plain(action)) != samples.shape[1]:
            return {"returned": f"{describe_kind(action)}, of shape {list(np.shape(to_plain(action)))}"}
        kinds.add(form_of(action))
        chosen.append(np.asarray(to_plain(action), np.float64).ravel())
        pair = agent.transition if isinstance(agent.transition, (list, tuple)) else []
        with quietly():
            same = np.array_equal(np.asarray(to_plain(pair[1]), np.float64).ravel(), chosen[-1])
            kept.append(np.array_equal(to_plain(pair[0]), state) and same)
    overwritten = any(not np.array_equal(sample, as_drawn) for sample, as_drawn in agent.noise.handed_out)
    return {
        "form of an action": sorted(kinds),
        "actions": np.array(chosen),
        "select_action resets the noise": len(agent.noise.resets) > resets,
        "select_action overwrites the state of the noise": overwritten and hands_out_its_state(submitted),
        "transition is [state, action]": kept == [True] * len(states),
    }


def random_actions(
    submitted, low: list[float], high: list[float], total_step: int, initial_random_steps: int, count: int
) -> dict:
    """Ask an agent for many actions of its first, random steps; report how they are distributed."""
    env = FakeEnvironment(3, low, high)
    env.action_space.seed(np.random.randint(2**31))
    agent = new_agent(submitted, normalized(submitted, env), initial_random_steps=initial_random_steps)
    # Noise may be added to random actions as well; it is small.
    agent.noise.samples = np.array([[0.02], [-0.02]]) * np.ones(len(low))
    agent.total_step = total_step
    with quietly():
        agent.env.action_space.seed(np.random.randint(2**31))
    state = np.array([0.5, -1.0, 2.0], np.float32)
    first = to_plain(agent.select_action(np.array(state)))
    if first is None or np.size(first) != len(low):
        return {"returned": f"{describe_kind(first)}, of shape {list(np.shape(first))}"}
    drawn = np.array([np.asarray(to_plain(agent.select_action(np.array(state))), np.float64).ravel() for _ in range(count)])
    return {
        "form of an action": form_of(first),
        "mean of each dimension": drawn.mean(axis=0),
        "variance of each dimension": drawn.var(axis=0),
        "largest absolute value": float(np.abs(drawn).max()),
        "share within ±½ in each dimension": (np.abs(drawn) < 0.5).mean(axis=0),
        "share of values that are exactly -1 or 1": float((np.abs(drawn) == 1.0).mean()),
        "largest correlation between two dimensions": largest_correlation(drawn),
        "transition is [state, action]": bool(
            len(agent.transition) >= 2 and np.array_equal(np.ravel(to_plain(agent.transition[1])), drawn[-1])
        ),
    }


class RecordedEnvironment(gym.Env):
    """An environment that plays recorded episodes, one after another, and notes what happens to it.

    Args:
        observations: `[length + 1, obs_dim]` of each episode.
        rewards: `[length]` of each episode.
        ends: How each ends, "terminated", "truncated", "both", or "" if the recording just stops
            there.
        bound: Of the action space. Behind `ActionNormalizer`, which leaves that space as it is, it
            says nothing about the actions that the environment takes.
    """

    def __init__(
        self,
        observations: list[np.ndarray],
        rewards: list[np.ndarray],
        ends: list[str],
        act_dim: int = 1,
        bound: float = 1.0,
    ) -> None:
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, observations[0].shape[1:], np.float32)
        self.action_space = gym.spaces.Box(-bound, bound, (act_dim,), np.float32)
        self.episodes = list(zip(observations, rewards, ends, strict=True))
        self.episode, self.time, self.over = 0, 0, False
        self.actions: list[np.ndarray] = []
        self.resets: list[list] = []
        self.rendered: list[int] = []

    def reset(self, *, seed=None, options=None) -> tuple[np.ndarray, dict]:
        self.episode, self.time, self.over = len(self.resets) % len(self.episodes), 0, False
        self.resets.append([len(self.actions), seed])
        return np.array(self.episodes[self.episode][0][0]), {}

    def step(self, action) -> tuple[np.ndarray, float, Any, Any, dict]:
        if self.over:
            raise RuntimeError("the environment was stepped after the end of an episode; the agent's own is self.env")
        observations, rewards, end = self.episodes[self.episode]
        self.actions.append(np.array(to_plain(action), np.float64))
        self.time += 1
        last = self.time == len(rewards)
        terminated, truncated = last and end in ("terminated", "both"), last and end in ("truncated", "both")
        self.over = last
        # As environments in NumPy say it.
        return np.array(observations[self.time]), float(rewards[self.time - 1]), np.bool_(terminated), np.bool_(truncated), {}

    def render(self) -> np.ndarray:
        self.rendered.append(len(self.actions))
        return np.full((2, 2, 3), len(self.actions), np.uint8)


def steps(
    submitted,
    observations: list[np.ndarray],
    rewards: list[np.ndarray],
    ends: list[str],
    actions: list[np.ndarray],
    is_test: bool = False,
) -> dict:
    """Do recorded actions by `step`; report what it returned and what was stored."""
    env = RecordedEnvironment(observations, rewards, ends, actions[0].shape[1], bound=2.0)
    agent = new_agent(submitted, env)
    agent.is_test, agent.total_step = is_test, 7
    counted = 0  # which is for train to do
    returned: dict[str, list] = {"next states": [], "rewards": [], "episode-over flags": []}
    kinds: dict[str, set[str]] = {name: set() for name in returned}
    for number_of, episode in enumerate(actions):
        state, _ = env.reset()
        for action in episode:
            with quietly():
                agent.select_action(np.array(state))
            agent.transition = [np.array(state), np.array(action)]
            before = agent.total_step
            three = agent.step(np.array(action))
            counted += agent.total_step - before
            if not isinstance(three, (tuple, list)) or len(three) != 3:
                return {"returned": describe_kind(three)}
            for name, value in zip(returned, three, strict=True):
                plain = to_plain(value)
                kinds[name].add(form_of(value) if name == "next states" else one_number(value))
                returned[name].append(
                    yes_or_no(value) if "over" in name else to_number(value) if name == "rewards" else np.ravel(plain)
                )
            state = observations[number_of][env.time]
    facts: dict[str, Any] = {f"returned {name}": values for name, values in returned.items()}
    facts |= {f"form of the {name}": sorted(found) for name, found in kinds.items()}
    facts["actions that the environment receives"] = env.actions
    facts["number of stored transitions"] = len(agent.memory)
    facts["increase of total_step in step"] = int(counted)
    facts |= {f"stored {name}": values for name, values in agent.memory.rows.items() if values}
    return facts


# The agent: updates


def buffer_works(submitted, obs_dim: int, act_dim: int) -> bool:
    """Return whether what goes into the submission's own buffer comes out of it, ends as they are or the other way round."""
    with quietly():
        probe = numbered(6, obs_dim, act_dim)
        own = new_buffer(submitted, obs_dim, 6, 6, act_dim)
        store_all(own, probe)
        drawn = own.sample_batch()
        batch = {name: np.asarray(to_plain(drawn[name]), np.float64) for name in NAMES}
        order = np.argsort(batch["obs"][:, 0])
        ordered = {name: batch[name][order].reshape(probe[name].shape) for name in NAMES}
        done = np.asarray(probe["done"], np.float64)
        good = all(np.allclose(ordered[name], probe[name]) for name in NAMES if name != "done")
        # Of another precision it would be the memory's mistake, not the update's.
        good = good and all(str(np.asarray(to_plain(drawn[name])).dtype) == "float32" for name in NAMES if name != "done")
        return good and (np.array_equal(ordered["done"], done) or np.array_equal(ordered["done"], 1 - done))
    return False


def memory_with(submitted, rows: dict[str, np.ndarray], own: bool) -> Any:
    """Return a memory that holds a batch: the submission's own buffer, or a fake."""
    count, obs_dim, act_dim = len(rows["rews"]), rows["obs"].shape[1], rows["acts"].shape[1]
    own = own and not (count == 1 and loses_axes(submitted, obs_dim, act_dim))
    memory = new_buffer(submitted, obs_dim, count, count, act_dim) if own else KnownMemory(obs_dim, count, count, act_dim)
    store_all(memory, rows)
    return memory


def loses_axes(submitted, obs_dim: int, act_dim: int) -> bool:
    """Return whether a batch of one from the submission's own buffer has fewer axes than one of two: the buffer is to blame."""
    axes = []
    for count in (1, 2):
        buffer = new_buffer(submitted, obs_dim, count, count, act_dim)
        store_all(buffer, numbered(count, obs_dim, act_dim))
        axes.append([np.ndim(to_plain(value)) for _, value in sorted(buffer.sample_batch().items())])
    return axes[0] != axes[1]


def fits(submitted, obs_dim: int, act_dim: int, own: bool, flat: bool) -> bool:
    """Return whether `update_model` takes the rows of a batch one by one, and looks beyond those that are no ends.

    Args:
        own: Whether to use the submission's own buffer, not a fake.
        flat: Whether the critic returns `[B]`, not `[B, 1]`.

    Where it does not, either it is wrong, or its batches or values are of a form that it does not
    expect.
    """
    rows = {name: values[[0, 1, 0, 1]] for name, values in numbered(2, obs_dim, act_dim).items()}
    rows = {name: np.array(values) if name == "done" else values / np.abs(values).max() for name, values in rows.items()}
    rows["done"][:], rows["next_obs"][2:] = [False, True, False, True], 0.5  # the last two differ in what comes after them
    with quietly():
        agent = new_agent(submitted, FakeEnvironment(obs_dim, [-1.0] * act_dim, [1.0] * act_dim), flat, gamma=0.9)
        agent._target_soft_update = lambda *told, **named: None

        def gradient(*which: int) -> np.ndarray:
            agent.memory = memory_with(submitted, {name: values[list(which)] for name, values in rows.items()}, own)
            agent.batch_size = len(which)
            agent.actor_optimizer.zero_grad()
            agent.critic_optimizer.zero_grad()
            agent.critic_optimizer.gradients.clear()
            with quietly():  # what is behind the critic's step does not matter here
                agent.update_model()
            return agent.critic_optimizer.gradients[0]

        first, end, other, other_end = (gradient(row, row) for row in range(4))
        one_by_one = np.allclose(gradient(0, 1), (first + end) / 2, **CLOSE)
        return one_by_one and np.allclose(end, other_end, **CLOSE) and not np.allclose(first, other, **CLOSE)
    return False


def agreement(submitted, obs_dim: int, act_dim: int) -> tuple[bool, bool]:
    """Return with what `update_model` is graded: (its own buffer, not a fake; a critic of values `[B]`, not `[B, 1]`).

    The submission's own, if it agrees with them: its parts may do otherwise than was asked for, all in the same way. If it
    agrees with the usual ones alone, the mistake is not the update's.
    """
    works, flat = buffer_works(submitted, obs_dim, act_dim), flat_values(submitted)
    memories, values = ([True, False] if works else [False]), ([True, False] if flat else [False])
    for form in values:
        for own in memories:
            if fits(submitted, obs_dim, act_dim, own, form):
                return own, form
    return works, flat


@contextlib.contextmanager
def noting_losses(losses: list[float]) -> Iterator[None]:
    """Note the number of each loss that is differentiated, whatever of torch does that; NaN for numbers with given weights."""
    backward, grad = torch.autograd.backward, torch.autograd.grad

    def noted(tensors: Any) -> None:
        one = tensors if isinstance(tensors, Tensor) else tensors[0] if isinstance(tensors, (list, tuple)) else None
        if isinstance(one, Tensor):
            losses.append(float(one.detach()) if one.numel() == 1 else float("nan"))

    def noting_backward(tensors: Any, *others: Any, **named: Any) -> None:
        noted(tensors)
        backward(tensors, *others, **named)

    def noting_grad(outputs: Any, *others: Any, **named: Any) -> Any:
        noted(outputs)
        return grad(outputs, *others, **named)

    torch.autograd.backward, torch.autograd.grad = noting_backward, noting_grad
    try:
        yield
    finally:
        torch.autograd.backward, torch.autograd.grad = backward, grad


class StepOrder:
    """Notes the steps of both optimizers of an agent, update by update, and which losses were differentiated before them.

    A further step of the critic, once the actor's loss has been differentiated or the actor has
    made its step, is no part of the critic's update: it is noted, and moves nothing.

    Args:
        critic_moves: By how much the critic's own step moves its parameters, in known directions;
            0: by its gradient and its learning rate.
        at_critics_step: Is called before that step.

    Attributes:
        losses: Of the current update, those that have been differentiated so far; NaN for one that is known by its gradient.
        critic_losses: Of each update, the one that the critic's step belongs to; None without any.
        critic_steps_again: Whether the critic made such a further step.
    """

    def __init__(self, agent: Any, critic_moves: float, at_critics_step: Callable[[], None]) -> None:
        self.critic, self.critic_moves, self.at_critics_step = agent.critic, critic_moves, at_critics_step
        self.losses: list[float] = []
        self.critic_losses: list[float | None] = []
        self.critic_steps_again = False
        for name in ("actor", "critic"):
            optimizer = getattr(agent, f"{name}_optimizer")
            optimizer.step = self.noting(name, optimizer.step)

    def begin(self) -> None:
        """Begin the next update."""
        self.losses.clear()
        self.steps: list[str] = []
        self.known = 0  # losses at the critic's step
        self.critic_losses.append(None)

    def end(self) -> None:
        """End an update: without any step of the critic, its loss was the first one."""
        if "critic" not in self.steps and self.losses:
            self.critic_losses[-1] = self.losses[0]

    def noting(self, name: str, step: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*given: Any, **named: Any) -> Any:
            again = "critic" in self.steps and (len(self.losses) > self.known or "actor" in self.steps)
            self.steps.append(name)
            if name == "critic" and again:
                self.critic_steps_again = True
                return None
            before = [value.detach().clone() for value in self.critic.parameters()]
            if name == "critic":
                self.at_critics_step()
            loss = step(*given, **named)
            if name == "critic":
                self.critic_losses[-1] = self.losses[-1] if self.losses else None
                self.known = len(self.losses)
                if self.critic_moves:
                    move(self.critic, before, self.critic_moves)
            return loss

        return noted


def move(network: nn.Module, before: list[Tensor], size: float) -> None:
    """Move the parameters of a network away from where they were before, in known directions."""
    with torch.no_grad():
        for place, (value, old) in enumerate(zip(network.parameters(), before, strict=True)):
            wave = np.cos(2.1 * np.arange(value.numel()) + 1.3 * place + 0.2)
            value.copy_(old + float32(size * wave.reshape(value.shape)))


class Targets:
    """The targets of an agent, which are put back after each update, as if they had not followed.

    Attributes:
        followed: Whether each went the share TAU of the way to its network, in every update.
        stayed: Whether they were where they had been, after every update.
    """

    def __init__(self, agent: Any) -> None:
        self.pairs = [(getattr(agent, f"{name}_target"), getattr(agent, name)) for name in ("actor", "critic")]
        self.first = [[to_plain(value) for value in target.parameters()] for target, _ in self.pairs]
        self.at_step = self.first
        self.followed = self.stayed = True

    def look(self) -> None:
        """Note where they are at the critic's step: what has moved them by then is the critic's part."""
        self.at_step = [[to_plain(value) for value in target.parameters()] for target, _ in self.pairs]

    def put_back(self) -> None:
        for (target, network), first, start in zip(self.pairs, self.first, self.at_step, strict=True):
            now, toward = ([to_plain(value) for value in one.parameters()] for one in (target, network))
            stayed = all(map(np.array_equal, start, now))
            self.stayed = self.stayed and stayed
            self.followed = (
                self.followed
                and not stayed
                and all(way != ELSEWHERE and abs(way - TAU) < 1e-5 for way in ways(start, now, toward))
            )
            with torch.no_grad():
                for value, at_first in zip(target.parameters(), first, strict=True):
                    value.copy_(float32(at_first))


def updates(
    submitted,
    obs: np.ndarray,
    acts: np.ndarray,
    rews: np.ndarray,
    next_obs: np.ndarray,
    done: np.ndarray,
    count: int = 1,
    of_the_actor: bool = False,
    critic_moves: float = 0.0,
    **options: float,
) -> dict:
    """Call `update_model` on a batch, `count` times; report the gradient of each optimizer step, and what it returned.

    Args:
        of_the_actor: Whether to report what the second part does; otherwise it need not be there.
        critic_moves: See `StepOrder`: whatever the critic's gradient is, the actor's part is not to
            blame for it.
        options: gamma, instead of its default. critic_lr and actor_lr: 0 unless given, so that one
            network's update cannot be seen in the other's. steep: by what the critic's values are
            multiplied.
    """
    rows = dict(zip(NAMES, (obs, next_obs, acts, rews, done), strict=True))
    facts, steps_made = updated(submitted, rows, count, of_the_actor, critic_moves, False, options)
    if critic_moves and not steps_made:
        # Its own update makes no step: then it moves before.
        facts, _ = updated(submitted, rows, count, of_the_actor, critic_moves, True, options)
    return facts


def updated(
    submitted,
    rows: dict[str, np.ndarray],
    count: int,
    of_the_actor: bool,
    critic_moves: float,
    moved: bool,
    options: dict[str, float],
) -> tuple[dict, int]:
    """Return the facts of `updates`, and how many steps the critic has made.

    Args:
        moved: Whether the critic makes its known move before the update.
    """
    size, act_dim = len(rows["rews"]), rows["acts"].shape[1]
    own, flat = agreement(submitted, rows["obs"].shape[1], act_dim)
    env = FakeEnvironment(rows["obs"].shape[1], [-1.0] * act_dim, [1.0] * act_dim)
    agent = new_agent(submitted, env, flat, gamma=options.get("gamma"), tau=TAU)
    agent.memory, agent.batch_size = memory_with(submitted, rows, own), size
    record_steps(agent, options.get("actor_lr", 0.0), options.get("critic_lr", 0.0))
    with torch.no_grad():
        agent.critic.out.weight *= options.get("steep", 1.0)
    if moved:
        move(agent.critic, [value.detach().clone() for value in agent.critic.parameters()], critic_moves)
    targets = Targets(agent)
    order = StepOrder(agent, critic_moves, targets.look)
    called: list[int] = []
    agent._target_soft_update = lambda *told, **named: called.append(len(agent.actor_optimizer.gradients))
    draws: list[int] = []
    draw = agent.memory.sample_batch
    agent.memory.sample_batch = lambda *told, **named: (draws.append(1), draw(*told, **named))[1]  # type: ignore[func-returns-value]
    returned: list[Any] = []
    steps_of_critic = agent.critic_optimizer.gradients
    for number_of in range(count):
        agent.total_step = 1009 + 4 * number_of  # no round numbers: every update counts
        order.begin()
        if of_the_actor:  # who froze it and forgot to thaw it loses points on the critic's part
            agent.critic.requires_grad_(True)
        try:
            with noting_losses(order.losses):
                returned.append(agent.update_model())
        except Exception:  # in the second part it is that part's mistake, or the stub's blank
            if of_the_actor or len(steps_of_critic) <= number_of:
                raise
        finally:
            order.end()
            targets.put_back()
    if not of_the_actor:
        return gradients("critic", agent, count), len(steps_of_critic)
    if wrong := [pair for pair in returned if not isinstance(pair, (tuple, list)) or len(pair) != 2]:
        return {"returned": describe_kind(wrong[0])}, len(steps_of_critic)
    facts = gradients("actor", agent, count)
    facts["critic_optimizer also steps in the actor's update"] = order.critic_steps_again
    facts["number of sampled batches"] = len(draws)
    facts["returned actor losses"] = [to_number(pair[0]) for pair in returned]
    # Whatever they are: the numbers are the critic's part.
    facts["returned critic losses"] = [
        same_loss(pair[1], loss) for pair, loss in zip(returned, order.critic_losses, strict=True)
    ]
    facts["form of the losses"] = [[scalar_form(loss) for loss in pair] for pair in returned]
    inside = list(range(1, count + 1)) if targets.followed else []
    facts["steps of actor_optimizer before each target update"] = called or inside
    facts["only the soft update changes the targets"] = targets.stayed or (targets.followed and not called)
    return facts, len(steps_of_critic)


def gradients(name: str, agent: Any, count: int) -> dict[str, Any]:
    """Return how many steps an optimizer has made, and the gradients of the first ones."""
    found = getattr(agent, f"{name}_optimizer").gradients
    facts: dict[str, Any] = {f"steps of {name}_optimizer": len(found)}
    return facts | {
        f"gradient of the {name} in step {place}": gradient for place, gradient in enumerate(found[:count], start=1)
    }


def same_loss(found: Any, loss: float | None) -> str:
    """Return whether a number is the loss that the critic's step belongs to; where that is not known, which one it is not.

    A step may follow from the gradient of a loss that was never computed as one number; then any number may be that loss.
    """
    number = to_number(found)
    # A mistake is recognized by this text: the last digits, which the processor decides, must not be in it.
    said = f"{number:.3g}" if isinstance(number, float) else str(number)
    if loss is None:
        return f"{said}, with no backward pass before the critic's step"
    if (
        isinstance(number, float)
        and np.isfinite(number)
        and np.isclose(loss, [number, np.nan], 1e-3, 1e-5, equal_nan=True).any()
    ):
        return "the loss of the critic's step"
    return f"{said}, but the loss of the critic's step was {loss:.3g}"


def scalar_form(value: Any) -> str:
    """Return "a scalar" for a number, or a tensor or array without an axis; for anything else, what it is."""
    if isinstance(value, (Tensor, np.ndarray)) and value.ndim:
        return f"{type(value).__name__} of shape {list(value.shape)}"
    return "a scalar" if isinstance(value, (int, float, np.generic, np.ndarray, Tensor)) else describe_kind(value)


def untouched(submitted, obs: np.ndarray, acts: np.ndarray, rews: np.ndarray, next_obs: np.ndarray, done: np.ndarray) -> dict:
    """Call `update_model` with optimizers that move nothing, and targets that do not follow; report what has changed anyway."""
    rows = dict(zip(NAMES, (obs, next_obs, acts, rews, done), strict=True))
    own, flat = agreement(submitted, obs.shape[1], acts.shape[1])
    agent = new_agent(submitted, FakeEnvironment(obs.shape[1], [-1.0] * acts.shape[1], [1.0] * acts.shape[1]), flat, tau=0.0)
    agent.memory, agent.batch_size = memory_with(submitted, rows, own), len(obs)
    agent._target_soft_update = lambda *told, **named: None
    names = ("actor", "critic", "actor_target", "critic_target")
    before = {name: [to_plain(value) for value in getattr(agent, name).parameters()] for name in names}
    # What happens to the targets behind the critic's step is the second part's.
    seen: dict[str, list[np.ndarray]] = {}
    step = agent.critic_optimizer.step

    def looking_step(*given: Any, **named: Any) -> Any:
        loss = step(*given, **named)
        seen.update({name: [to_plain(value) for value in getattr(agent, name).parameters()] for name in names[2:]})
        if not all(np.array_equal(*pair) for name in names[2:] for pair in zip(before[name], seen[name], strict=True)):
            agent.critic_optimizer.step = step  # seen once is enough
        return loss

    agent.critic_optimizer.step = looking_step
    for number_of in range(2):
        try:
            agent.update_model()
        except Exception:
            if len(agent.critic_optimizer.gradients) <= number_of:
                raise
        with torch.no_grad():
            for name in names[2:]:
                for value, first in zip(getattr(agent, name).parameters(), before[name], strict=True):
                    value.copy_(float32(first))
    now = {name: seen.get(name) or [to_plain(value) for value in getattr(agent, name).parameters()] for name in names}
    return {
        "networks that change without optimizer or soft update": [
            name for name in names if not all(map(np.array_equal, before[name], now[name]))
        ],
        "networks left with requires_grad=False": [
            name for name in ("actor", "critic") if not all(value.requires_grad for value in getattr(agent, name).parameters())
        ],
    }


def went(first: np.ndarray, now: np.ndarray, toward: np.ndarray) -> Any:
    """Return how far an array went toward another one, as a share of the way; a text if it went elsewhere."""
    way, walked = (toward - first).astype(np.float64).ravel(), (now - first).astype(np.float64).ravel()
    share = float(way @ walked / (way @ way))
    return share if np.allclose(walked, share * way, atol=1e-5) else ELSEWHERE


def ways(first: list[np.ndarray], now: list[np.ndarray], toward: list[np.ndarray]) -> list[Any]:
    """Return of each parameter of a target how far it went; see `went`."""
    return [went(*three) for three in zip(first, now, toward, strict=True)]


def following(submitted, obs_dim: int, act_dim: int, tau: float | None, count: int) -> dict:
    """Call `_target_soft_update`; report how far each parameter of a target went toward its network."""
    agent = new_agent(submitted, FakeEnvironment(obs_dim, [-1.0] * act_dim, [1.0] * act_dim), tau=tau)
    if tau is None:
        agent.tau = inspect.signature(submitted.DDPGAgent.__init__).parameters["tau"].default
    agent.total_step = 1009
    facts: dict[str, Any] = {}
    pairs = (("actor", "actor_target"), ("critic", "critic_target"))
    same = {target: getattr(agent, target) for _, target in pairs}
    parts = {target: [id(value) for value in network.parameters()] for target, network in same.items()}
    before = {name: [to_plain(value) for value in getattr(agent, name).parameters()] for pair in pairs for name in pair}
    for _ in range(count):
        agent._target_soft_update()
    for name, target in pairs:
        now = [to_plain(value) for value in getattr(agent, target).parameters()]
        facts[f"move of {target} relative to its distance to {name}"] = ways(before[target], now, before[name])
        network = getattr(agent, target)
        facts[f"{target} and its parameters stay the same objects"] = (
            network is same[target] and [id(value) for value in network.parameters()] == parts[target]
        )
        facts[f"_target_soft_update changes {name}"] = not all(
            map(np.array_equal, before[name], [to_plain(value) for value in getattr(agent, name).parameters()])
        )
        with torch.no_grad():
            for value in getattr(agent, name).parameters():
                value.add_(1.0)
        later = [to_plain(value) for value in getattr(agent, target).parameters()]
        facts[f"a later change of {name} also changes {target}"] = not all(map(np.array_equal, now, later))
    return facts


# The agent: training and testing


def seen_state(state: Any) -> np.ndarray:
    """Return a state that an action is selected in; raises TypeError for what `reset` returns as a whole."""
    if isinstance(state, tuple):
        raise TypeError("an action is selected in a tuple: reset() returns (observation, info), and a state is an observation")
    return np.array(to_plain(state), np.float64)


def training(
    submitted,
    observations: list[np.ndarray],
    rewards: list[np.ndarray],
    ends: list[str],
    num_frames: int,
    batch_size: int,
    initial_random_steps: int,
    plotting_interval: int | None = None,
) -> dict:
    """Call `train` on an agent whose other methods only note that they were called, and when; another has trained before."""
    others = RecordedEnvironment([1 - array for array in observations], [array - 1 for array in rewards], ends)
    call_beforehand(lambda: own_noise_resets(submitted, others, batch_size, initial_random_steps, num_frames))
    env = RecordedEnvironment(observations, rewards, ends)
    agent = new_agent(submitted, env, batch_size=batch_size, initial_random_steps=initial_random_steps)
    agent.is_test = True  # an episode was played as a test before
    asked: list[list] = []
    updated: list[int] = []
    plots: dict[str, list] = {name: [] for name in ("frame_idx", "scores", "actor_losses", "critic_losses")}
    given_forms: set[str] = set()
    agent.noise.now = lambda: len(env.actions)

    def select_action(state) -> np.ndarray:
        asked.append([int(agent.total_step), bool(agent.is_test), seen_state(state)])
        agent.transition = [state, np.array([len(asked) / 100])]
        return np.array([len(asked) / 100])

    def step(action) -> tuple[np.ndarray, float, bool]:
        next_state, reward, terminated, truncated, _ = env.step(action)
        agent.memory.store(agent.transition[0], action, reward, next_state, terminated)
        return next_state, reward, bool(terminated or truncated)

    def update_model() -> tuple[Tensor, Tensor]:
        updated.append(len(env.actions))
        return torch.tensor(-float(len(updated))), torch.tensor(len(updated) + 0.5)

    def plot(frame_idx, scores, actor_losses, critic_losses, *others) -> None:
        given = (int(frame_idx), numbers(scores), numbers(actor_losses), numbers(critic_losses))
        for name, value in zip(plots, given, strict=True):
            plots[name].append(value)
        given_forms.update(
            f"{kind}: {what}"
            for kind, values in (("scores", scores), ("actor_losses", actor_losses), ("critic_losses", critic_losses))
            for what in {scalar_form(value) for value in values}
        )

    agent.select_action, agent.step, agent.update_model, agent._plot = select_action, step, update_model, plot
    agent.train(num_frames, *([] if plotting_interval is None else [plotting_interval]))
    ended = [place for place, _ in env.resets[1:]]
    resets = set(agent.noise.resets)
    if not set(ended) <= resets:  # then it may happen in the agent's own methods
        resets |= own_noise_resets(submitted, env, batch_size, initial_random_steps, num_frames)
    facts = {
        "total_step when select_action is called": [one[0] for one in asked],
        "is_test when select_action is called": sorted({one[1] for one in asked}),
        "states passed to select_action": [one[2] for one in asked],
        "actions that the environment receives": [float(np.ravel(action)[0]) for action in env.actions],
        "steps of the environment before each reset": [place for place, _ in env.resets],
        "steps of the environment before each update": list(updated),
        **{f"{name} in each call of _plot": list(values) for name, values in plots.items()},
        "forms of the plotted values": sorted(given_forms),
        "form of total_step": scalar_form(agent.total_step),
        "the noise is reset between two episodes": all(place in resets for place in ended),
        "steps before each reset of the noise within an episode": sorted(resets - {0, num_frames} - set(ended)),
        "later resets of the environment get a seed": any(seed is not None for _, seed in env.resets[1:]),
    }
    before, chosen = len(env.actions), len(asked)
    try:
        with quietly():
            agent.train(1)
        facts["steps of the environment in a second call, train(1)"] = len(env.actions) - before
        facts["total_step in a second call, train(1)"] = [one[0] for one in asked[chosen:]]
    except Exception as error:  # what the first training did is judged all the same
        facts["steps of the environment in a second call, train(1)"] = type(error).__name__
        facts["total_step in a second call, train(1)"] = "not known"
    return facts


def own_noise_resets(
    submitted, recorded: RecordedEnvironment, batch_size: int, initial_random_steps: int, num_frames: int
) -> set[int]:
    """Return before which steps the noise is reset when the agent's own methods are used: it may happen there."""
    observations, rewards, ends = (list(column) for column in zip(*recorded.episodes, strict=True))
    env = RecordedEnvironment(observations, rewards, ends)
    agent = new_agent(submitted, env, batch_size=batch_size, initial_random_steps=initial_random_steps)
    agent.noise.now = lambda: len(env.actions)
    agent.update_model = lambda: (torch.tensor(0.0), torch.tensor(0.0))
    with quietly():
        agent.train(num_frames)
    return set(agent.noise.resets)


def testing(submitted, observations: list[np.ndarray], rewards: list[np.ndarray], ends: list[str]) -> dict:
    """Call `test` on an agent whose other methods only note that they were called."""
    env = RecordedEnvironment(observations, rewards, ends)
    agent = new_agent(submitted, env)
    asked: list[list] = []

    def select_action(state) -> np.ndarray:
        asked.append([bool(agent.is_test), seen_state(state)])
        return np.array([len(asked) / 100])

    def step(action) -> tuple[np.ndarray, float, bool]:
        next_state, reward, terminated, truncated, _ = env.step(action)
        return next_state, reward, bool(terminated or truncated)

    agent.select_action, agent.step = select_action, step
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        frames = agent.test()
    print(said.getvalue(), end="")
    score = float(sum(rewards[0]))
    told = [float(found) for found in re.findall(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?", said.getvalue())]
    numbers_told = {
        "the score": score,
        "the last reward": rewards[0][-1],
        "the mean of the rewards": np.mean(rewards[0]),
        "the score without the last reward": score - rewards[0][-1],
        "the score without the first reward": score - rewards[0][0],
    }
    known = [name for name, number in numbers_told.items() if any(abs(found - number) < 0.6 for found in told)]
    printed = known[0] if known else "another number" if told else "no number"
    if not isinstance(frames, (list, tuple, np.ndarray)):
        return {"returned": describe_kind(frames)}
    shown = [to_number(np.asarray(frame).ravel()[0]) for frame in frames]
    length = len(env.actions)
    return {
        "shapes of the frames": sorted({str(list(np.shape(frame))) for frame in frames}),
        # A picture of the end may follow.
        "steps of the environment before each frame": shown[:length] if shown[length:] == [float(length)] else shown,
        "is_test when select_action is called": sorted({one[0] for one in asked}),
        "states passed to select_action": [one[1] for one in asked],
        "actions that the environment receives": [float(np.ravel(action)[0]) for action in env.actions],
        "number of resets of the environment": len(env.resets),
        "printed number": printed,
    }


# Units of actions


class Heard(FakeEnvironment):
    """An environment that records the actions it receives."""

    def step(self, action) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.heard = np.array(to_plain(action), np.float64).ravel()
        return super().step(action)


def converted(convert: Callable[[np.ndarray], Any], actions: np.ndarray) -> tuple[list, list[str]]:
    """Return actions in other units, in the shape in which they were given, and the forms in which they came."""
    results = [convert(action) for action in actions]
    values = [np.array(to_plain(result), np.float64) for result in results]
    values = [value.reshape(actions[0].shape) if value.size == actions[0].size else value for value in values]
    return values, sorted({form_of(result) for result in results})


def use_normalizer(submitted, low: list[float], high: list[float]) -> None:
    """Use every method of an `ActionNormalizer` once."""
    wrapped = submitted.ActionNormalizer(Heard(2, low, high))
    for method in (wrapped.action, wrapped.reverse_action, wrapped.step):
        with quietly():
            method(np.zeros(len(low)))


def units(
    submitted, low: list[float], high: list[float], actions: np.ndarray | None = None, own: np.ndarray | None = None
) -> dict:
    """Map actions there, or back, or both; report the results, and the action that `step` passes to the environment."""
    call_beforehand(lambda: use_normalizer(submitted, [one - 1.5 for one in low], [2 * one + 0.5 for one in high]))
    env = Heard(2, low, high)
    wrapped = submitted.ActionNormalizer(env)
    facts: dict[str, Any] = {}
    changed = []
    if actions is not None:
        given = np.array(actions)
        facts["results of action"], facts["form of the result of action"] = converted(wrapped.action, given)
        if not np.array_equal(given, actions):
            changed.append("action")
        facts["actions that step passes to the environment"] = []
        for action in np.array(actions):
            wrapped.step(action)
            facts["actions that step passes to the environment"].append(env.heard)
    if own is not None:
        back = np.array(own)
        facts["results of reverse_action"], facts["form of the result of reverse_action"] = converted(
            wrapped.reverse_action, back
        )
        if not np.array_equal(back, own):
            changed.append("reverse_action")
    return facts | {"methods that modify their argument": changed}


# One update with everything


class BrokenPieceError(Exception):
    """A piece of the submission raised an exception, or returned something that nobody can use."""


class Meadow(gym.Env):
    """A tiny environment: observations of three numbers, actions of two in units of their own, rewards around 5.

    Its episodes have four steps, and end in either way, one after the other.
    """

    OBS, ACT = 3, 2

    def __init__(self) -> None:
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (self.OBS,), np.float32)
        self.action_space = gym.spaces.Box(np.array([-2.0, 0.0], np.float32), np.array([2.0, 4.0], np.float32))
        self.episode = self.time = 0
        self.seen: list[np.ndarray] = []

    def reset(self, *, seed=None, options=None) -> tuple[np.ndarray, dict]:
        self.episode, self.time = self.episode + 1, 0
        self.state = np.sin(np.arange(self.OBS) + 1.7 * self.episode).astype(np.float32)
        return self.state.copy(), {}

    def step(self, action) -> tuple[np.ndarray, float, Any, Any, dict]:
        if np.shape(to_plain(action)) != (self.ACT,):
            raise ValueError(
                f"the environment was given an action of shape {list(np.shape(to_plain(action)))}, not [{self.ACT}]"
            )
        self.seen.append(self.state)
        self.time += 1
        push = np.asarray(to_plain(action), np.float32) @ np.array([[0.3, -0.1, 0.2], [0.1, 0.2, -0.2]], np.float32)
        self.state = (0.6 * self.state + push).astype(np.float32)
        last, odd = self.time == 4, self.episode % 2 == 1
        reward = 5.0 + float(np.tanh(self.state[0]))
        return self.state.copy(), reward, np.bool_(last and odd), np.bool_(last and not odd), {}


def unusable(name: str, result: Any, given: tuple, batch_size: int) -> str | None:
    """Return why nobody can use what a piece returned, and what was expected; None if one can."""
    if name in ("OUNoise.sample", "DDPGAgent.select_action", "ActionNormalizer.action"):
        if result is None or np.size(to_plain(result)) != Meadow.ACT:
            return f"returned {describe_kind(result)} of shape {list(np.shape(to_plain(result)))}, expected [{Meadow.ACT}]"
        if not np.isfinite(np.asarray(to_plain(result), np.float64)).all():
            return "returned NaN or infinity"
    if name == "ReplayBuffer.sample_batch":
        if not isinstance(result, dict) or not set(result) >= set(NAMES):
            return f"returned {describe_kind(result)}, expected a dictionary with {', '.join(NAMES)}"
        if wrong := [key for key in NAMES if len(result[key]) != batch_size]:
            return f"returned {len(result[wrong[0]])} rows of {wrong[0]}, expected {batch_size}"
    if name in ("Actor.forward", "Critic.forward"):
        rows = given[0].numel() // Meadow.OBS
        many = rows * (Meadow.ACT if name == "Actor.forward" else 1)
        if not isinstance(result, Tensor) or result.numel() != many:
            shape = f" of shape {list(result.shape)}" if isinstance(result, Tensor) else ""
            return f"returned {describe_kind(result)}{shape} for {rows} rows, expected a tensor of {many} numbers"
    many = {"DDPGAgent.step": 3, "DDPGAgent.update_model": 2}.get(name, 0)
    if many and not (isinstance(result, (tuple, list)) and len(result) == many):
        return f"returned {describe_kind(result)}, expected {many} values"
    return None


def odd(name: str, result: Any, given: tuple, batch_size: int) -> str | None:
    """Return why what breaks later may be because of what this piece returned; None if it is of the usual form."""
    if name in ("OUNoise.sample", "DDPGAgent.select_action", "ActionNormalizer.action"):
        shapes = [list(np.shape(to_plain(result))), [Meadow.ACT]]
    elif name in ("Actor.forward", "Critic.forward"):
        shapes = [list(result.shape), [*given[0].shape[:-1], Meadow.ACT if name == "Actor.forward" else 1]]
    elif name == "ReplayBuffer.sample_batch":
        arrays = {key: np.asarray(to_plain(result[key])) for key in NAMES}
        wrong = {key: str(array.dtype) for key, array in arrays.items() if str(array.dtype) != "float32" and key != "done"}
        if wrong:
            return f"returned {', '.join(f'{key} in {kind}' for key, kind in wrong.items())}, expected float32"
        shapes = [list(arrays["rews"].shape), [batch_size]]
    else:
        return None
    found, expected = shapes
    return None if found == expected else f"returned the shape {found}, expected {expected}"


PIECES = {
    "ActionNormalizer": ("action",),
    "ReplayBuffer": ("__init__", "store", "sample_batch", "__len__"),
    "OUNoise": ("__init__", "reset", "sample"),
    "Actor": ("__init__", "forward"),
    "Critic": ("__init__", "forward"),
    "DDPGAgent": ("__init__", "select_action", "step", "update_model", "_target_soft_update", "train"),
}


@contextlib.contextmanager
def named_pieces(submitted, batch_size: int) -> Iterator[None]:
    """Let each method of the submission's classes say that it was it that broke, by a BrokenPieceError."""

    def naming(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def named(own: Any, *given: Any, **options: Any) -> Any:
            # A caller inside of the submission may have passed what the method cannot take.
            caller = f", called by {running[-1]}" if running else ""
            running.append(name)
            try:
                result = method(own, *given, **options)
            except (BrokenPieceError, NotImplementedError):
                raise
            except Exception as error:
                broke = f"in your {name}{caller}: {type(error).__name__}: {error}"
                # What came in another form before is a better guess at the reason.
                raise BrokenPieceError(" Then, ".join([*strange[:1], broke])[:500]) from error
            finally:
                running.pop()
            every = (*given, *options.values())
            if why := unusable(name, result, every, batch_size):
                raise BrokenPieceError(f"your {name} {why}")
            if why := odd(name, result, every, batch_size):
                strange.append(f"your {name} {why}.")
            return result

        return named

    strange: list[str] = []
    running: list[str] = []
    before: list[tuple[type, str, Any]] = []
    try:
        for kind, methods in PIECES.items():
            owner = getattr(submitted, kind)
            for method in methods:
                if (own := getattr(owner, method, None)) is not None:
                    before.append((owner, method, vars(owner).get(method)))
                    setattr(owner, method, naming(f"{kind}.{method}", own))
        yield
    finally:
        for owner, method, own in before:
            if own is None:
                delattr(owner, method)
            else:
                setattr(owner, method, own)


def one_update(submitted, frames: int) -> dict:
    """Train your agent with all that you wrote for so many steps, so that there is one update; report what it moved, and how.

    The batch is all transitions, so that the same one can be looked at again afterwards.
    """
    torch.manual_seed(7)
    np.random.seed(7)
    try:
        with named_pieces(submitted, frames):
            return {"error": "none"} | whole_update(submitted, frames)
    except BrokenPieceError as error:
        return {"error": str(error)}


def whole_update(submitted, frames: int) -> dict:
    """Return what one update changes; see `one_update`."""
    env = Meadow()
    tau = 1 - TAU if follows_the_other_way(submitted) else TAU
    agent = submitted.DDPGAgent(
        submitted.ActionNormalizer(env), frames, frames, 0.15, 0.2, gamma=0.9, tau=tau, initial_random_steps=frames - 1, seed=3
    )
    agent._plot = lambda *told, **named: None
    names = ("actor", "critic", "actor_target", "critic_target")

    def weights() -> dict[str, list[np.ndarray]]:
        return {name: [to_plain(value) for value in getattr(agent, name).parameters()] for name in names}

    def changed(first: np.ndarray, now: np.ndarray) -> bool:
        return not np.array_equal(first, now)

    update, losses, first = agent.update_model, [], weights()
    old_actor = copy.deepcopy(agent.actor)
    between: list[list[str]] = []

    def noting_update(*given: Any, **named: Any) -> Any:
        between.append([name for name, values in weights().items() if any(map(changed, first[name], values))])
        pair = update(*given, **named)
        losses.append([to_number(loss) for loss in pair])
        return pair

    agent.update_model = noting_update
    with contextlib.redirect_stdout(io.StringIO()):
        agent.train(frames, plotting_interval=1000)
    now = weights()
    facts: dict[str, Any] = {
        "number of stored transitions": len(agent.memory),
        "updates": len(between),
        "networks that change before the first update": between[0] if between else [],
        "changes of the networks": {
            f"changed parameters of {name}": how_many([*map(changed, first[name], now[name])]) for name in names[:2]
        },
        "moves of the target networks": {
            f"move of {name}_target": followed_by(first[f"{name}_target"], now[f"{name}_target"], now[name])
            for name in names[:2]
        },
    }
    with torch.no_grad():
        states = float32(np.array(env.seen))
        values = [float(agent.critic(states, actor(states)).mean()) for actor in (old_actor, agent.actor)]
    facts["critic's value of the actor's actions after the update"] = "higher" if values[1] > values[0] else "not higher"
    agent.update_model()
    facts["both losses are finite numbers"] = all(
        isinstance(loss, float) and np.isfinite(loss) for pair in losses for loss in pair
    )
    facts["critic loss on the same batch after the update"] = "not lower"
    if facts["both losses are finite numbers"] and len(losses) > 1 and losses[-1][1] < losses[0][1]:
        facts["critic loss on the same batch after the update"] = "lower"
    return facts


def how_many(truths: list[bool]) -> str:
    """Return how many are true, in words where it is all or none."""
    return "all" if all(truths) else "none" if not any(truths) else f"{sum(truths)} of {len(truths)}"


def followed_by(first: list[np.ndarray], now: list[np.ndarray], toward: list[np.ndarray]) -> str:
    """Return whether all parameters of a target went the share TAU of the way to their network."""
    walked, way = (np.concatenate([(to - at).ravel() for to, at in zip(one, first, strict=True)]) for one in (now, toward))
    if not walked.any():
        return "none"
    if np.allclose(walked, way, rtol=0.02, atol=1e-6):
        return "the whole distance: it equals its network"
    return (
        "τ times the distance to its network"
        if np.allclose(walked, TAU * way, rtol=0.02, atol=1e-6)
        else "another distance or direction"
    )


# Learning


class Push(gym.Env):
    """A tiny environment: a point in `d` dimensions that should move to the origin and stay there.

    A step adds the action to the position and clips it to [-2, 2]. The reward is minus the mean over the axes of the squared
    position. An episode starts uniformly in [-1, 1], has LENGTH steps, and is truncated. Zero actions return -1.3 on average.
    """

    LENGTH = 4

    def __init__(self, d: int) -> None:
        self.observation_space = gym.spaces.Box(-2.0, 2.0, (d,), np.float32)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (d,), np.float32)
        self.place, self.steps = np.zeros(d), 0
        self.returns: list[float] = []

    def reset(self, *, seed=None, options=None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.place, self.steps = self.np_random.uniform(-1.0, 1.0, self.place.shape), 0
        return self.place.astype(np.float32), {}

    def step(self, action) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.place = moved(self.place, np.asarray(to_plain(action), np.float64))
        reward = -float((self.place**2).mean())
        if self.steps == 0:
            self.returns.append(0.0)
        self.returns[-1] += reward
        self.steps += 1
        return self.place.astype(np.float32), reward, False, self.steps >= self.LENGTH, {}


def moved(place: np.ndarray, action: np.ndarray) -> np.ndarray:
    """Return the positions `[..., d]` of points after their actions `[..., d]`."""
    if action.shape != place.shape:
        raise ValueError(f"the environment was given an action of shape {list(action.shape)}, not {list(place.shape)}")
    return np.clip(place + np.clip(action, -1.0, 1.0), -2.0, 2.0)


class LearningActor(nn.Module):
    """A fake `Actor` of one layer, which learns in a few updates. At first, it pushes the point away from the origin."""

    def __init__(self, in_dim: int, out_dim: int, *others: Any, **named: Any) -> None:
        nn.Module.__init__(self)
        self.out = nn.Linear(in_dim, out_dim)
        with torch.no_grad():
            self.out.weight.copy_(AWAY * torch.eye(out_dim, in_dim))
            self.out.bias.zero_()

    def forward(self, state: Tensor) -> Tensor:
        return torch.tanh(self.out(state))


class LearningCritic(nn.Module):
    """A fake `Critic`: a linear function of the products of any two inputs, which learns in a few updates.

    At first, it prefers actions that push the point away, so an actor that follows an untrained critic gets worse.
    """

    def __init__(self, in_dim: int, *others: Any, **named: Any) -> None:
        nn.Module.__init__(self)
        self.out = nn.Linear(in_dim * in_dim, 1)
        d = in_dim // 2
        with torch.no_grad():
            self.out.weight.copy_(AWAY * torch.eye(in_dim).roll(d, 1).triu().reshape(1, -1))
            self.out.bias.zero_()

    def forward(self, state: Tensor, action: Tensor) -> Tensor:
        both = torch.cat((state, action), dim=-1)
        return self.out((both.unsqueeze(-1) * both.unsqueeze(-2)).flatten(-2))


class LearningCriticOfOneAxis(LearningCritic):
    """The same for files whose critic returns values without an axis of 1."""

    def forward(self, state: Tensor, action: Tensor) -> Tensor:
        return super().forward(state, action).squeeze(-1)


def learn(submitted, num_frames: int, seed: int, d: int = 1) -> dict:
    """Train your agent with tiny networks on `Push`; return the actor's weights, and returns, which decide nothing."""
    torch.manual_seed(seed)
    np.random.seed(seed)
    world = Push(d)
    world.reset(seed=seed)
    env = normalized(submitted, world)
    critic_class = LearningCriticOfOneAxis if flat_values(submitted) else LearningCritic
    tiny = {"Actor": LearningActor, "Critic": critic_class}
    with fake_names(submitted, {name: with_own_methods(submitted, name, stand_in) for name, stand_in in tiny.items()}):
        tau = 1 - 0.1 if follows_the_other_way(submitted) else 0.1
        agent = submitted.DDPGAgent(env, 1000, 32, 0.15, 0.2, gamma=0.5, tau=tau, initial_random_steps=40)
        for optimizer in (agent.actor_optimizer, agent.critic_optimizer):
            for group in optimizer.param_groups:
                group["lr"] *= 150
        agent._plot = lambda *told, **named: None
        with contextlib.redirect_stdout(io.StringIO()):
            agent.train(num_frames, plotting_interval=num_frames + 1)
    weights = {"weight": to_plain(agent.actor.out.weight), "bias": to_plain(agent.actor.out.bias)}
    return {"weights": weights, "returns": world.returns}


def play(submitted, weights: dict[str, np.ndarray]) -> dict:
    """Return the mean return on `Push` of an actor with these weights, without noise. Run without any submission."""
    weight, bias = (np.asarray(weights[name], np.float64) for name in ("weight", "bias"))
    place = np.stack(np.meshgrid(*[STARTS] * len(bias)), axis=-1).reshape(-1, len(bias))
    total = np.zeros(len(place))
    for _ in range(Push.LENGTH):
        place = moved(place, np.tanh(place @ weight.T + bias))
        total -= (place**2).mean(axis=1)
    return {"mean return": float(total.mean())}


# The trained actor


def score(submitted, file: np.ndarray, seeds: list[int]) -> dict:
    """Return the returns of a submitted trained actor, uint8 `[bytes]`. Run without any submission."""
    try:
        return {"returns": evaluate(load_actor(file.tobytes()), seeds)}
    except ValueError as error:
        return {"refused": str(error)}
