"""Views of `continuous_ppo`: what its checks compare of the facts that its drivers bring back."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.judge.views import View, only

KEYS = ("observations", "actions", "rewards", "resets", "log_probs", "values", "value_targets", "advantages")


def one_variance(facts: dict[str, Any]) -> dict[str, Any]:
    """Return what a Gaussian policy's model returned; whether the variance is repeated for every row does not matter."""
    if facts["returned"] == "three things" and np.ndim(facts["variance"]) == 2:
        rows = np.asarray(facts["variance"])
        if (rows == rows[0]).all():
            facts = facts | {"variance": facts["variance"][0]}
    return only("mean", "variance", "value")(facts)


def without_last_axis(name: str) -> View:
    """Return what makes, of expected facts, those with one number, not a list of one, for each row of this one."""
    return lambda expected: expected | {name: expected[name][..., 0]}


def log_density_gap(facts: dict[str, Any]) -> dict[str, Any]:
    """Return how far log-probabilities are from those of the actions that came with them, which chance decides."""
    if facts["returned"] != "a dictionary with actions, log_probs and values":
        return {"returned": facts["returned"]}
    actions, mean, variance = (np.asarray(facts[name], np.float64) for name in ("actions", "mean", "variance"))
    seen = {"shape of actions": list(np.shape(facts["actions"])), "shape of log_probs": list(np.shape(facts["log_probs"]))}
    if actions.shape != mean.shape or np.shape(facts["log_probs"]) != actions.shape[:-1]:
        return seen
    squares = (actions - mean) ** 2 / variance + np.log(variance) + np.log(2 * np.pi)
    return seen | {"log_probs minus log π(actions)": np.asarray(facts["log_probs"], np.float64) + squares.sum(axis=-1) / 2}
