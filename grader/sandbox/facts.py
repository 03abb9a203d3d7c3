"""Helpers for drivers: return facts as plain data, and replace parts of a submission by fakes.

Of the kit, only this file imports torch when it is imported itself; drivers without torch have no use for it.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

MAX_CURVE = 500  # numbers of a learning curve that are kept
HIDDEN = 32  # units of the small networks of a learning check

# Arrays, tensors, numbers


def tensor(array: Any) -> Tensor:
    """Return a tensor with the numbers of an array, floating-point ones as float32."""
    values = torch.from_numpy(np.array(array))
    return values.float() if values.is_floating_point() else values


def float32(array: Any) -> Tensor:
    """Return a float32 tensor with the numbers of an array."""
    return torch.from_numpy(np.array(array, np.float32))


def to_plain(value: Any) -> Any:
    """Return a tensor or array as an array that nothing can change any more; other things unchanged."""
    if isinstance(value, Tensor):
        return value.detach().numpy().copy()
    return np.array(value) if isinstance(value, (np.ndarray, np.generic)) else value


def describe_kind(result: Any) -> str:
    """Return what a result is, for results of the wrong kind."""
    if isinstance(result, (tuple, list)):
        if not result:
            return f"{type(result).__name__} without items"
        return f"{type(result).__name__} of {len(result)}: {', '.join(type(item).__name__ for item in result[:6])}"
    return type(result).__name__


def to_number(value: Any) -> Any:
    """Return a number of any kind as a float, or a text if it is not a number."""
    with contextlib.suppress(Exception):
        return float(value.detach() if isinstance(value, Tensor) else np.asarray(value).reshape(()))
    return f"{describe_kind(value)}, not a number"


def largest_correlation(columns: np.ndarray) -> float:
    """Return the largest correlation of two columns; 0 where there is only one, NaN if one is constant."""
    if columns.shape[1] == 1:
        return 0.0
    with np.errstate(all="ignore"):
        return float(np.abs(np.corrcoef(columns.T) - np.eye(columns.shape[1])).max())


# Calls


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Suppress output and exceptions in this block."""
    with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
        yield


class Beforehand:
    """Calls on other data, before the one that counts.

    Attributes:
        left_out: How many were not made; None where they are made.
    """

    left_out: int | None = None


def call_beforehand(call: Callable[[], Any]) -> None:
    """Make a call on other data, before the one that counts: nothing of it may be kept.

    It is left out in a debugger, where somebody wants to stop in the call that counts and to see what is printed, and where
    the worker explains a failure (`worker._explain`).
    """
    if Beforehand.left_out is not None:
        Beforehand.left_out += 1
    elif sys.gettrace() is None:
        with quietly():
            call()


_default_rng = np.random.default_rng


def loss_of(closure: Callable[[], Any] | None) -> Any:
    """Return what a closure returns, called with gradients as `torch.optim` does before a step; None without one."""
    if closure is None:
        return None
    with torch.enable_grad():
        return closure()


def seeded_rng(seed: Any = None) -> np.random.Generator:
    """Return NumPy's generator; without a seed, one seeded by the global generator, which has a known state in each call."""
    return _default_rng(np.random.randint(2**31) if seed is None else seed)


# Networks


class LinearLayers:
    """Notes what goes into each linear layer of a network and what comes out, in the order in which they are used."""

    def __init__(self, network: nn.Module) -> None:
        self.passed: list[tuple[nn.Linear, Tensor, Tensor]] = []
        self.layers = [layer for layer in network.modules() if isinstance(layer, nn.Linear)]
        for layer in self.layers:
            # Not a hook: that misses layer.forward(...).
            layer.forward = self.noting(layer, layer.forward)  # type: ignore[method-assign]  # on this object alone

    def noting(self, layer: nn.Linear, forward: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def noted(*given: Any, **named: Any) -> Tensor:
            came = (given[0] if given else named["input"]).detach().clone()
            made = forward(*given, **named)
            self.passed.append((layer, came, made.detach().clone()))  # a copy: an activation may work in place
            return made

        return noted

    def add_uncalled(self, result: Any) -> None:
        """Add the layers of which only the weights were used, such as `state @ layer.weight.T + layer.bias`.

        If there are such layers, all are then in the order in which the network declares them.

        Args:
            result: What the network returned, `[B, ...]`, with its graph.
        """
        called = {id(layer) for layer, _, _ in self.passed}
        uncalled = [layer for layer in self.layers if id(layer) not in called and layer.bias is not None]
        if not isinstance(result, Tensor) or not result.ndim:
            return
        added = [(layer, came) for layer in uncalled if (came := find_input(layer.weight, layer.bias, result)) is not None]
        self.passed += [(layer, came, nn.functional.linear(came, layer.weight, layer.bias).detach()) for layer, came in added]
        if added:
            places = {id(layer): place for place, layer in enumerate(self.layers)}
            self.passed.sort(key=lambda entry: places[id(entry[0])])


def find_input(weight: Tensor, bias: Tensor, result: Tensor) -> Tensor | None:
    """Return what went into a linear function of which only the parameters are known, `[B, in]`; None if it was not used.

    For one row, the gradient of the weights is the outer product of the gradient of the bias and the input. So the input
    follows from both.

    Args:
        weight, bias: `[out, in]` and `[out]`, used once for each row.
        result: What was made of it, `[B, ...]`, with its graph.
    """
    if not result.requires_grad:
        return None
    rows = []
    for row in result.reshape(len(result), -1):
        output = (row * torch.arange(1.0, row.numel() + 1)).sum()
        by_weight, by_bias = torch.autograd.grad(output, [weight, bias], retain_graph=True, allow_unused=True)
        if by_weight is None or by_bias is None or not by_bias.any():
            return None
        rows.append(by_bias @ by_weight / (by_bias @ by_bias))
    return torch.stack(rows)


def with_numbers(network: nn.Module, number_of: int) -> nn.Module:
    """Give the parameters of a network known numbers, others for every `number_of`, all between -0.9 and 0.9."""
    with torch.no_grad():
        for place, value in enumerate(network.parameters()):
            wave = np.sin(1.7 * np.arange(value.numel()) + 2.3 * place + 3.1 * number_of + 0.4)
            value.copy_(float32(0.9 * wave.reshape(value.shape)))
    return network


def share_parameters(network: nn.Module, other: nn.Module) -> bool:
    """Return whether two networks have a parameter in common."""
    return bool({value.data_ptr() for value in network.parameters()} & {value.data_ptr() for value in other.parameters()})


# Classes of a submission


def with_own_methods(submitted: ModuleType, name: str, fake: type) -> type:
    """Return the fake of a class of the submission, with the methods that only the submission's class has."""
    own = getattr(submitted, name, None)
    with contextlib.suppress(TypeError):
        # In the place of the submission's class, so that pickle finds it there.
        place = {"__module__": getattr(own, "__module__", __name__)}
        return type(name, (fake, own), place) if isinstance(own, type) and own is not fake else fake
    return fake


@contextlib.contextmanager
def fake_names(submitted: ModuleType, names: dict[str, Any]) -> Iterator[None]:
    """Replace names of the submission within this block."""
    before = {name: getattr(submitted, name) for name in names if hasattr(submitted, name)}
    try:
        for name, value in names.items():
            setattr(submitted, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(submitted, name, value)
