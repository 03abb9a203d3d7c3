"""A trained actor as a file: to save it and hand it in, and to play it without the code that made it. Given; do not change it.

The file is a safetensors file with exactly these arrays of floating-point numbers: weight0 `[hidden, obs_dim]`, bias0
`[hidden]`, weight1, bias1, weight2 `[A, hidden]`, bias2 `[A]`.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

ENV = "Pendulum-v1"
TEST_SEEDS = tuple(range(10))  # of the episodes by which you judge an actor. The leaderboard has others.
ARRAYS = ("weight0", "bias0", "weight1", "bias1", "weight2", "bias2")


class TrainedActor:
    """Three layers with ReLU between them and tanh at the end.

    Args:
        arrays: By name, as in the file.

    Raises:
        ValueError: Says what is wrong with the arrays.
    """

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        if set(arrays) != set(ARRAYS):
            raise ValueError(f"expected the arrays {', '.join(ARRAYS)}, found {', '.join(sorted(arrays)) or 'none'}")
        for name, array in arrays.items():
            if array.dtype.kind != "f" or not np.isfinite(array).all():
                found = "NaN or infinity" if array.dtype.kind == "f" else array.dtype
                raise ValueError(f"{name} must be finite floating-point numbers, found {found}")
        layers = [(arrays[f"weight{number}"], arrays[f"bias{number}"]) for number in range(3)]
        inputs = layers[0][0].shape[-1] if layers[0][0].ndim == 2 else 0
        for weight, bias in layers:
            if bias.ndim != 1 or weight.shape != (bias.size, inputs):
                shapes = {name: list(arrays[name].shape) for name in ARRAYS}
                raise ValueError(f"the shapes do not fit together: {shapes}")
            inputs = bias.size
        self.layers = [(weight.astype(np.float64), bias.astype(np.float64)) for weight, bias in layers]

    def __call__(self, state: np.ndarray) -> np.ndarray:
        """Return the action, float64 `[A]` or `[B, A]`, in [-1, 1], for `[obs_dim]` or `[B, obs_dim]`."""
        (weight0, bias0), (weight1, bias1), (weight2, bias2) = self.layers
        hidden = np.maximum(state @ weight0.T + bias0, 0)
        hidden = np.maximum(hidden @ weight1.T + bias1, 0)
        return np.tanh(hidden @ weight2.T + bias2)


def save_actor(path: str | Path, actor: Any) -> None:
    """Write a trained actor to a file that you can submit.

    Args:
        path: "actor.safetensors" beside submitted.py is the file that is graded.
        actor: Your `Actor`.

    Raises:
        ValueError: If the actor's action is not that of three `nn.Linear` with ReLU between them
            and tanh at the
            end: another network can be trained, but not submitted.
    """
    import torch
    from safetensors.numpy import save

    linear = [module for module in actor.modules() if isinstance(module, torch.nn.Linear)]
    for layers in itertools.permutations(linear) if len(linear) == 3 else ():
        fits = all(one.out_features == other.in_features for one, other in itertools.pairwise(layers))
        if not fits or any(layer.bias is None for layer in layers):
            continue
        values = [value.detach().cpu().float().numpy() for layer in layers for value in (layer.weight, layer.bias)]
        arrays = dict(zip(ARRAYS, values, strict=True))
        drawn = np.random.default_rng(0).normal(size=(32, layers[0].in_features))
        expected = TrainedActor(arrays)(drawn)
        try:
            with torch.no_grad():
                actions = np.asarray(actor(torch.as_tensor(drawn).to(layers[0].weight)).cpu())
        except (RuntimeError, TypeError, AttributeError):  # the layers are used in another order, or return no tensor
            continue
        if actions.shape == expected.shape and np.allclose(actions, expected, atol=1e-4):
            Path(path).write_bytes(save(arrays))
            return
    raise ValueError(
        "only an actor of three nn.Linear, with biases, ReLU between them and tanh at the end, can be handed in; "
        f"this one has {len(linear)} of them, or does something else with them"
    )


def load_actor(data: bytes) -> TrainedActor:
    """Return the actor in the content of a file that `save_actor` wrote.

    Raises:
        ValueError: Says what is wrong with the content.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        arrays = load(bytes(data))
    except (SafetensorError, KeyError, TypeError, AttributeError) as error:  # also: a type of numbers that NumPy does not have
        raise ValueError(f"this is not a safetensors file, as save_actor writes it: {error}") from error
    return TrainedActor(arrays)


def evaluate(actor: TrainedActor, seeds: Sequence[int] = TEST_SEEDS, env_id: str = ENV) -> list[float]:
    """Return the return of one episode for each seed, without noise; actions are stretched to the range of the environment.

    Raises:
        ValueError: If the actor is one for other observations or actions than the environment's.
    """
    import gymnasium as gym

    env: Any = gym.make(env_id, disable_env_checker=True)
    observations, actions = env.observation_space.shape, env.action_space
    (first, _), (_, last) = actor.layers[0], actor.layers[-1]
    if first.shape[1:] != observations or last.shape != actions.shape:
        raise ValueError(f"{env_id} has observations {list(observations)} and actions {list(actions.shape)}, this actor others")
    returns = []
    for seed in seeds:
        state, _ = env.reset(seed=int(seed))
        total, over = 0.0, False
        while not over:
            action = actions.low + (actor(state) + 1) * (actions.high - actions.low) / 2
            state, reward, terminated, truncated, _ = env.step(action.astype(np.float32))
            total, over = total + float(reward), terminated or truncated
        returns.append(total)
    env.close()
    return returns
