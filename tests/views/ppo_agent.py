"""Views of `ppo_agent`: what its checks compare of the facts that its drivers bring back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

MEASURED = ("means, in deviations from those of the policy", "variances, as multiples of those of the policy")
LAYERS = (
    "number of linear layers",
    "each linear layer is used once",
    "layers without a bias",
    "input of the first layer",
    "units of the hidden layers",
    "activations between the layers",
    "activation after the last layer",
    "weights and biases without a gradient",
    "hidden layers with repeated initial weights",
)
KEPT = ("stored observations", "stored states", "stored actions", "stored log-probabilities")
SCATTER = ("number of sampled values", "a second call returns new samples", "rows are independent")
LOG_SIGMA = (
    "initial log_sigma",
    "log_sigma is an nn.Parameter of the actor",
    "two actors share no parameter",
    "shape of the parameter log_sigma",
    "returned log_sigma after the parameter was changed",
    "mu changes with the parameter log_sigma",
    "gradient for the parameter log_sigma",
)
ROWS = ("state", "action", "log_prob")
# The best possible is 0; standing still gives -1.3, and the actor begins at -7.8.
LEARNED = -0.4


def mean_losses(facts: dict[str, Any]) -> dict[str, Any]:
    """Return how far the losses that each update returned are from the means of those that its minibatches had."""
    view: dict[str, Any] = {"updates": len(facts["metrics"])}
    for number, (metrics, means) in enumerate(zip(facts["metrics"], facts["means of the losses"], strict=True), start=1):
        if not isinstance(metrics, dict):
            return view | {"returned": metrics}
        for name, mean in means.items():
            found = metrics.get(name)
            gap = found - mean if isinstance(found, float) else found
            view[f"{name} of update {number}, minus the mean of its minibatches"] = gap
    return view


def other_deviation(count: int) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return what makes, of `count` numbers divided by their standard deviation, those divided by the one with count - 1."""
    factor = ((count - 1) / count) ** 0.5

    def also(expected: dict[str, Any]) -> dict[str, Any]:
        return {
            name: (np.asarray(value) * factor).tolist() if isinstance(value, list) else value
            for name, value in expected.items()
        }

    return also


def in_calls(names: tuple[str, ...], count: int) -> list[str]:
    """Return the names of facts about each of so many calls of `forward`."""
    return [f"{name} in call {call}" for name in names for call in range(count)]
