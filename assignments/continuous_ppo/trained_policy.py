"""Save a trained policy to a file that you can submit, and play it without your code. Provided; do not change this file.

The file is a safetensors file with exactly these arrays:
    weight0 `[hidden, obs_dim]`, bias0 `[hidden]`, weight1, bias1, weight2 `[A, hidden]`, bias2 `[A]`:
        The policy's network.
    observation_mean, observation_variance `[obs_dim]`, observation_clip `[1]`:
        The normalization of the observations.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ENV = "HalfCheetah-v5"
EPSILON = 1e-8  # as in Normalize
LAYERS = tuple(f"{kind}{number}" for number in range(3) for kind in ("weight", "bias"))
NORMALIZATION = ("observation_mean", "observation_variance", "observation_clip")


@dataclass(frozen=True)
class TrainedPolicy:
    """A policy that plays the mean of its distribution.

    Attributes:
        layers: Weight and bias of each of the three layers, with tanh between the layers.
        mean, variance: Statistics that normalize the observations.
        clip: Normalized observations are clipped to ± this.
    """

    layers: tuple[np.ndarray, ...]
    mean: np.ndarray
    variance: np.ndarray
    clip: float

    def __call__(self, observation: np.ndarray) -> np.ndarray:
        """Return the mean action, float64 `[A]`, for a raw observation of the environment, `[obs_dim]`."""
        scaled = (observation - self.mean) / np.sqrt(self.variance + EPSILON)
        return network(self.layers, np.clip(scaled, -self.clip, self.clip))


def network(layers: Sequence[np.ndarray], inputs: np.ndarray) -> np.ndarray:
    """Return the output of three layers with tanh between them for inputs `[obs_dim]` or `[B, obs_dim]`."""
    weight0, bias0, weight1, bias1, weight2, bias2 = layers
    hidden = np.tanh(np.tanh(inputs @ weight0.T + bias0) @ weight1.T + bias1)
    return hidden @ weight2.T + bias2


def save_policy(path: str | Path, model: Any, normalize: Any) -> None:
    """Write the policy of a trained model, with its observation statistics, to a file that you can submit.

    Args:
        path: The grader plays the file "policy.safetensors" next to submitted.py.
        model: Your `Model`; its policy must have three `nn.Linear` layers with tanh between them.
        normalize: The `Normalize` wrapper that the model was trained with.

    Raises:
        ValueError: If no three layers of the model compute its mean.
    """
    import torch
    from safetensors.numpy import save_file

    moments = normalize.observation_moments
    drawn = np.random.default_rng(0).normal(size=(32, len(moments.mean)))
    with torch.no_grad():
        mean = model(torch.as_tensor(drawn, dtype=torch.float32))[0].numpy()
    linear = [module for module in model.modules() if isinstance(module, torch.nn.Linear)]
    for three in itertools.permutations(linear, 3):
        fits = all(one.out_features == other.in_features for one, other in itertools.pairwise(three))
        if not fits or three[0].in_features != drawn.shape[1] or any(layer.bias is None for layer in three):
            continue
        layers = [value.detach().double().numpy() for layer in three for value in (layer.weight, layer.bias)]
        found = network(layers, drawn)
        if found.shape == mean.shape and np.allclose(found, mean, atol=1e-3):
            arrays = dict(zip(LAYERS, (layer.astype(np.float32) for layer in layers), strict=True))
            described = (moments.mean, moments.variance, np.array([normalize.clipobs]))
            save_file(arrays | dict(zip(NORMALIZATION, described, strict=True)), str(path))
            return
    raise ValueError(
        "the model's mean must come from three nn.Linear with tanh between them, as the assignment asks; no three do"
    )


def load_policy(data: bytes) -> TrainedPolicy:
    """Return the policy from the content of a file that `save_policy` wrote.

    Raises:
        ValueError: If the content is not valid; the message says why.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        arrays = load(data)
    except SafetensorError as error:
        raise ValueError(f"this is not a safetensors file: {error}") from error
    if set(arrays) != {*LAYERS, *NORMALIZATION}:
        raise ValueError(f"expected the arrays {', '.join((*LAYERS, *NORMALIZATION))}, found {', '.join(sorted(arrays))}")
    for name, array in arrays.items():
        if array.dtype.kind != "f" or not np.isfinite(array).all():
            found = "NaN or infinity" if array.dtype.kind == "f" else array.dtype
            raise ValueError(f"{name} must be finite floating-point numbers, found {found}")
    arrays = {name: array.astype(np.float64) for name, array in arrays.items()}
    layers = [arrays[name] for name in LAYERS]
    sizes = [arrays["observation_mean"].size, *(bias.size for bias in layers[1::2])]
    shapes = [shape for before, after in itertools.pairwise(sizes) for shape in ((after, before), (after,))]
    if [layer.shape for layer in layers] != shapes or any(arrays[name].shape != (sizes[0],) for name in NORMALIZATION[:2]):
        raise ValueError(f"the shapes do not fit together: { ({name: list(array.shape) for name, array in arrays.items()}) }")
    variance, clip = arrays["observation_variance"], arrays["observation_clip"]
    if clip.size != 1 or not clip.item() > 0 or (variance < 0).any():
        raise ValueError("observation_clip must be one number above 0, and no variance may be negative")
    return TrainedPolicy(tuple(layers), arrays["observation_mean"], variance, clip.item())


def evaluate(policy: TrainedPolicy, seeds: Sequence[int], env_id: str = ENV) -> list[float]:
    """Return the raw return of one episode per seed, played with the mean action, clipped to the action space.

    Raises:
        ValueError: If the policy's observations or actions have other shapes than the environment's.
    """
    import gymnasium as gym

    env: Any = gym.make(env_id, disable_env_checker=True)
    space, actions = env.observation_space.shape, env.action_space
    if policy.mean.shape != space or policy.layers[-1].shape != actions.shape:
        raise ValueError(f"{env_id} has observations {list(space)} and actions {list(actions.shape)}, this policy others")
    returns = []
    for seed in seeds:
        observation, _ = env.reset(seed=int(seed))
        total, ended = 0.0, False
        while not ended:
            action = np.clip(policy(observation), actions.low, actions.high)
            observation, reward, terminated, truncated, _ = env.step(action)
            total, ended = total + float(reward), terminated or truncated
        returns.append(total)
    env.close()
    return returns
