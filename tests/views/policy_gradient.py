"""Views of `policy_gradient`: what its checks compare of the facts that its drivers bring back."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.judge.views import only

loss = only("loss")
gradient = only("gradient of the network", "changed by the call")


def population_std(expected: dict[str, Any]) -> dict[str, Any]:
    """Return the same advantages, standardised by NumPy's definition of the standard deviation instead of torch's."""
    size = len(expected["advantages"])
    return expected | {"advantages": expected["advantages"] * np.sqrt(size / (size - 1))}


def counts(facts: dict[str, Any]) -> dict[str, int]:
    """Return how many minibatches there were, and how many updates and losses came of them."""
    return {
        "minibatches": len(facts["batches"]),
        "updates": len(facts["steps"]),
        "number of actor losses": len(facts["actor losses"]),
    }


def recorded_losses(facts: dict[str, Any]) -> dict[str, Any]:
    """Return how far each list of losses is from what the loss functions returned, one number a minibatch."""
    view = {"returned": facts["returned"]}
    for name, kind in (("actor losses", "batches"), ("critic losses", "critic batches")):
        recorded = [batch["loss"] for batch in facts[kind]]
        view[f"number of {name}"] = len(facts[name])
        if len(recorded) == len(facts[name]):
            view[f"{name} minus losses of their minibatches"] = np.subtract(facts[name], recorded)
    return view
