"""Views of `recurrent_a2c`: what its checks compare of the facts that its drivers bring back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grader.judge.views import View, only

POLICY, VALUE, ENTROPY = (
    f"gradient of the {name} loss, for the {table}"
    for name, table in (("policy", "logits"), ("value", "values"), ("entropy", "logits"))
)


def other_entropy(inputs: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a view that turns the entropy loss over all columns of a rollout into the one over all but the last.

    Args:
        inputs: logits `[B, T, n_actions]`.
    """
    logits = np.asarray(inputs["logits"], np.float64)
    logits = logits - logits.max(axis=-1, keepdims=True)
    log_probs = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    entropy = -(np.exp(log_probs) * log_probs).sum(axis=-1)
    columns = entropy.shape[1]

    def also(expected: dict[str, Any]) -> dict[str, Any]:
        form = dict(expected)
        if "entropy loss" in form:
            form["entropy loss"] = float(-0.01 * entropy[:, :-1].mean())
        if (name := "gradient of the entropy loss, for the logits") in form:
            gradient = np.asarray(form[name]) * columns / (columns - 1)
            gradient[:, -1] = 0.0
            form[name] = gradient
        return form

    return also


def n_step_value_loss(inputs: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a view that turns the one-step value loss of a rollout into the one with the whole return as its target.

    Args:
        inputs: values, rewards, is_not_done `[B, T]`, and gamma (0.99).

    Where nothing is played, the error counts as 0.
    """
    values, rewards = (np.asarray(inputs[name], np.float64) for name in ("values", "rewards"))
    played, gamma = np.asarray(inputs["is_not_done"], np.float64), inputs.get("gamma", 0.99)
    targets, following = np.zeros_like(values), values[:, -1] * played[:, -1]
    for t in reversed(range(values.shape[1] - 1)):
        targets[:, t] = rewards[:, t] + gamma * following
        following = played[:, t] * targets[:, t]
    errors = ((values - targets) * played)[:, :-1]

    def also(expected: dict[str, Any]) -> dict[str, Any]:
        form = dict(expected)
        if "value loss" in form:
            form["value loss"] = float((errors**2).mean())
        if (name := "gradient of the value loss, for the values") in form:
            gradient = np.zeros(values.shape, np.float32)
            gradient[:, :-1] = 2 * errors / errors.size
            form[name] = gradient
        return form

    return also


def value_gradient(inputs: dict[str, Any]) -> View:
    """Return a view of the gradient of the value loss; where nothing is played, a target of 0 is as good as none.

    Args:
        inputs: values, is_not_done `[B, T]`.

    Facts that are no such gradient stay as they are.
    """
    values = np.asarray(inputs["values"], np.float64)
    harmless = 2 * values / values[:, :-1].size
    dead = ~np.asarray(inputs["is_not_done"], bool)

    def view(facts: dict[str, Any]) -> dict[str, Any]:
        name = "gradient of the value loss, for the values"
        gradient = facts[name]
        if np.shape(gradient) == values.shape:
            ignored = dead & np.isclose(gradient, harmless, rtol=1e-4, atol=1e-6)
            gradient = np.where(ignored, 0.0, gradient).astype(np.float32)
        return {name: gradient}

    return view


def outputs_of_a_step(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the form of what a recurrent agent returned for one step; state values may be a column."""
    found = {"returned": facts["returned"]}
    if (name := "shapes of h, c, logits and state_value") in facts:
        *others, values = facts[name]
        found["shapes of h, c and logits"] = others
        found["shape of state_value"] = values[:1] if values[1:] == [1] else values
    return found


def steps_by_their_loss(facts: dict[str, Any]) -> dict[str, Any]:
    """Return how many steps of the optimizer each call made, and whether by its loss's gradient; clipping it is allowed."""
    view = only("steps of opt, by call")(facts)
    # Beyond 1 by rounding in the first; in the second by that of two losses in float32, whose difference is small.
    for name, most in (("what came to the agent", 1.001), ("the slope of the loss", 1.03)):
        ratios = facts[f"the step's gradient, as a multiple of {name}, by call"]
        view[f"the step's gradient is {name}, by call"] = [
            "yes" if not isinstance(ratio, str) and 0 < ratio < most else ratio for ratio in ratios
        ]
    return view
