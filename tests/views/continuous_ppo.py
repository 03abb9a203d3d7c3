"""Views of `continuous_ppo`: what its checks compare of the facts that its drivers bring back.

Values and forms are looked at apart: whoever returns the right numbers in a list, or with an axis too many, loses one point.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from grader.judge.views import View, only

KEYS = ("observations", "actions", "rewards", "resets", "log_probs", "values", "value_targets", "advantages")


def output_of_model(name: str, answer: dict[str, Any], *others: str) -> View:
    """Return a view of one output of a model, and of other facts.

    What is right for the layers that the model has is right here: which layers it has is another question.
    """

    def view(facts: dict[str, Any]) -> dict[str, Any]:
        if name in facts and facts.get("for its own layers", {}).get(name) is True:
            facts = facts | {name: answer[name]}
        return only(name, *others)(facts)

    return view


def flat_values(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return what makes, of the expected form of an array with a last axis of one, that without this axis."""
    return lambda expected: expected | {name: re.sub(r"(, )?1\]", "]", expected[name])}


def value_targets_of(answer: dict[str, Any]) -> View:
    """Return a view of the value targets: they are right if they are A + V with the right advantages or with those beside them.

    So wrong advantages cost nothing here.
    """

    def view(facts: dict[str, Any]) -> dict[str, Any]:
        seen = only("value_targets")(facts)
        added, targets = facts.get("advantages"), facts.get("value_targets")
        if isinstance(added, np.ndarray) and isinstance(targets, np.ndarray) and added.size == targets.size:
            values = np.reshape(facts["values"], targets.shape) if facts["values"].size == targets.size else np.nan
            if np.allclose(targets, added.reshape(targets.shape) + values, rtol=1e-4, atol=1e-4):
                seen["value_targets"] = answer["value_targets"]
        return seen

    return view


def log_density_gap(facts: dict[str, Any]) -> dict[str, Any]:
    """Return how far log-probabilities are from those of the actions that came with them, which chance decides."""
    if facts["returned"] != "a dictionary with actions, log_probs and values":
        return {"returned": facts["returned"]}
    actions, mean, variance = facts["actions"], facts["mean"], facts["variance"]
    if np.shape(actions) != mean.shape or np.shape(facts["log_probs"]) != mean.shape[:-1]:
        return {"shape of actions": list(np.shape(actions)), "shape of log_probs": list(np.shape(facts["log_probs"]))}
    squares = (actions - mean) ** 2 / variance + np.log(variance) + np.log(2 * np.pi)
    return {
        "shape of actions": list(actions.shape),
        "shape of log_probs": list(np.shape(facts["log_probs"])),
        "log_probs minus log π(actions)": facts["log_probs"] + squares.sum(axis=-1) / 2,
    }
