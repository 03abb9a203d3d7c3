"""How the drivers that `new --from` makes call a function, and what they report: each driver file gets what it needs of this.

Nothing of the kit imports it.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

LARGEST = 1e300  # in place of infinity, which stored answers cannot hold
MAX_CALLS = 20  # of functions with fakes in their place, that are reported


def to_tensors(inputs: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return the inputs with tensors in place of these arrays."""
    return inputs | {name: torch.from_numpy(np.array(inputs[name])) for name in names if name in inputs}


def to_generators(inputs: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return the inputs with NumPy generators in place of these seeds."""
    return inputs | {name: np.random.default_rng(inputs[name]) for name in names if name in inputs}


def observe(call: Callable[..., Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """Return what a call gives: its values, their form, and its inputs afterwards."""
    given = copy.deepcopy(inputs)
    result = call(**given)
    after = {f"{name} afterwards": get_values(value) for name, value in given.items() if can_change(value)}
    return {"values": get_values(result), "form": describe_form(result), **after}


def observe_object(
    make: Callable[..., Any],
    create: dict[str, Any],
    steps: Sequence[tuple[str, dict[str, Any]]],
    prepare: Callable[[Any], object] = id,
    gradients: Callable[..., dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Return what the methods of a new object give, called in this order, and its public attributes in the end.

    Args:
        prepare: Is called with the new object first.
        gradients: `get_gradients`, if inputs of methods have one; it calls each method on a copy of the object.
    """
    thing = make(**copy.deepcopy(create))
    prepare(thing)
    facts: dict[str, Any] = {}
    for method, inputs in steps:
        flows = gradients(partial(call_copy, thing, method), inputs) if gradients else {}
        facts |= {f"{key} of {method}": value for key, value in (observe(getattr(thing, method), inputs) | flows).items()}
    return facts | {f"attribute {key}": get_values(value) for key, value in vars(thing).items() if not key.startswith("_")}


def call_copy(thing: Any, method: str, **inputs: Any) -> Any:
    """Return what a method gives, called on a copy of its object."""
    return getattr(copy.deepcopy(thing), method)(**inputs)


def set_parameters(module: Any) -> None:
    """Give the parameters of a module fixed numbers, so that chance decides nothing."""
    for index, parameter in enumerate(module.parameters()):
        parameter.data = torch.cos(index + torch.arange(parameter.numel())).reshape(parameter.shape)


def get_gradients(call: Callable[..., Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """Return the gradients of a weighted sum of all results, for each tensor among the inputs."""
    given = copy.deepcopy(inputs)
    leaves = {name: value for name, value in given.items() if torch.is_tensor(value) and value.is_floating_point()}
    for leaf in leaves.values():
        leaf.requires_grad_()
    try:
        results = list_tensors(call(**given))
        weighted = [(result * torch.cos(torch.arange(result.numel())).reshape(result.shape)).sum() for result in results]
        if weighted:
            torch.autograd.backward(torch.stack(weighted).sum())
    except Exception as error:
        return {f"gradient for {name}": f"none: {type(error).__name__} where inputs need a gradient" for name in leaves}
    none = "none: the result is not connected to it"
    return {f"gradient for {name}": none if leaf.grad is None else leaf.grad for name, leaf in leaves.items()}


def list_tensors(result: Any) -> list[Any]:
    """Return the tensors in a result that have a gradient."""
    if isinstance(result, (list, tuple)):
        return [tensor for item in result for tensor in list_tensors(item)]
    return [result] if torch.is_tensor(result) and result.requires_grad else []


def alone(submitted: Any, others: dict[str, Any], run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the facts of a run, and those of a second one with fakes in place of other functions of the file.

    Checks take either. So a mistake in one of these functions costs points only there, and nobody has to call them.

    Args:
        others: The dtype of what each of them returns, if it is one array or tensor.
    """
    received: list[Any] = []
    originals = {name: getattr(submitted, name) for name in others}

    def make_fake(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def fake(*args: Any, **options: Any) -> Any:
            given = inspect.signature(original).bind(*args, **options)
            given.apply_defaults()
            received.append([name, get_values(dict(given.arguments))])
            result = original(*map(copy_value, given.args), **{key: copy_value(value) for key, value in given.kwargs.items()})
            return connect(make_fixed(result, len(received), others[name]), given.arguments.values())

        return fake

    try:
        for name, original in originals.items():
            setattr(submitted, name, make_fake(name, original))
        faked = {f"{key} with fakes": value for key, value in run().items()}
    except Exception:
        faked = {}
    finally:
        for name, original in originals.items():
            setattr(submitted, name, original)
    try:
        facts = run()
    except Exception as error:
        if not faked:
            raise
        facts = {"values": f"none: {type(error).__name__}: {error}"}  # which may be due to the others
    return facts | faked | {"calls of fakes": received[:MAX_CALLS]}


def copy_value(value: Any) -> Any:
    """Return a copy of an argument; of a tensor, one that is connected to it."""
    return value.clone() if hasattr(value, "detach") else copy.deepcopy(value)


def connect(result: Any, arguments: Iterable[Any]) -> Any:
    """Return a result to which the tensors among the arguments add a small number each, for their gradients."""
    flows = [argument.tanh().mean() for argument in arguments if hasattr(argument, "tanh")]
    return result + sum(flows) if flows and hasattr(result, "detach") and result.is_floating_point() else result


def make_fixed(result: Any, call: int, dtype: Any) -> Any:
    """Return a value of the same form, with numbers that depend on nothing but which call it is of."""
    if isinstance(result, (list, tuple)):
        return type(result)(make_fixed(item, call, None) for item in result)
    if hasattr(result, "detach"):
        return result.new_tensor(make_pattern(tuple(result.shape), call, dtype or result.dtype), dtype=dtype)
    if isinstance(result, np.ndarray):
        return make_pattern(result.shape, call, dtype or result.dtype).astype(dtype or result.dtype)
    return type(result)(call) if isinstance(result, (bool, int, float, np.generic)) else result


def make_pattern(shape: tuple[int, ...], call: int, dtype: Any) -> Any:
    """Return an array of different numbers, or of zeros and ones where these are indices or truth values."""
    count = call + np.arange(np.prod(shape, dtype=int)).reshape(shape)
    return np.cos(1.7 * count * count) if "float" in str(dtype) else count % 2  # irregular: a sum is no stand-in for a minimum


def can_change(value: Any) -> bool:
    """Return whether a function could change this argument."""
    return isinstance(value, (np.ndarray, list, dict)) or hasattr(value, "detach")


def get_values(result: Any) -> Any:
    """Return the numbers of a result without axes of length one, whatever holds them."""
    if isinstance(result, dict):
        return {str(key): get_values(value) for key, value in result.items()}
    if isinstance(result, (list, tuple)) and not (result and all(map(is_number, result))):
        return [get_values(item) for item in result]
    if hasattr(result, "detach"):
        result = result.detach().numpy()
    if isinstance(result, (list, tuple, np.ndarray)) or is_number(result):
        array = np.asarray(result)
        if array.dtype.kind in "fiub":
            numbers = np.clip(np.squeeze(array).astype(np.float64), -LARGEST, LARGEST)
            return numbers if numbers.ndim else float(numbers)
    return result if result is None or isinstance(result, str) else f"a {type(result).__name__}"


def describe_form(result: Any) -> Any:
    """Return type, shape and dtype of a result in words."""
    if isinstance(result, dict):
        return {str(key): describe_form(value) for key, value in result.items()}
    if isinstance(result, (list, tuple)):
        numbers = bool(result) and all(map(is_number, result))
        return f"a sequence of {len(result)} numbers" if numbers else [describe_form(item) for item in result]
    if isinstance(result, np.ndarray) or hasattr(result, "detach"):
        dtype = str(result.dtype).rpartition(".")[2]
        kind = "tensor" if hasattr(result, "detach") else "array"
        return f"{kind} of shape {list(result.shape)}, {'integers' if 'int' in dtype else dtype}"
    if is_number(result):
        kinds = {"b": "a truth value", "i": "an integer", "u": "an integer"}
        return kinds.get(np.asarray(result).dtype.kind, "a floating-point number")
    return "None" if result is None else f"a {type(result).__name__}"


def is_number(value: Any) -> bool:
    """Return whether a value is a single number."""
    return isinstance(value, (bool, int, float, np.generic))
