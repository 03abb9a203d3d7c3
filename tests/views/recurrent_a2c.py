"""Views of `recurrent_a2c`: what its checks compare of the facts that its drivers bring back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grader.judge.views import Stored, View, only

POLICY, VALUE, ENTROPY = (
    f"gradient of {name} with respect to the {table}"
    for name, table in (("the policy loss -J", "logits"), ("the value loss", "values"), ("-0.01 * entropy", "logits"))
)

BEFORE = "columns before an end are as in a rollout that ends there"
OTHERS = "an end of one game does not affect other games"
NOT_PLAYED = "a dead tick adds nothing"
AFTER = "the game after an end is trained on as usual"
MEAN = "the mean also counts games in a dead tick"
QUIET = "columns with reward 0 are trained on"
RATIO = "above 0, at most 1"  # less than 1 if the gradient is clipped
PARALLEL = f"{RATIO} (0 if not parallel)"


def other_entropy(inputs: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a view that turns the entropy loss over all columns of a rollout into the one over all but the last.

    Args:
        inputs: logits `[B, T, n_actions]`.
    """
    columns = np.shape(inputs["logits"])[1]

    def also(expected: dict[str, Any]) -> dict[str, Any]:
        gradient = np.asarray(expected[ENTROPY]) * columns / (columns - 1)
        gradient[:, -1] = 0.0
        return expected | {ENTROPY: gradient}

    return also


def weights_of_entropies(inputs: dict[str, Any]) -> View:
    """Return a view of how much the entropy of each tick counts, as a multiple of its share of a mean over games and columns.

    Args:
        inputs: logits `[B, T, n_actions]`, is_not_done `[B, T]`.

    A mean that leaves out the last column has fewer columns. Dead ticks may all add 0.
    """
    logits, played = np.asarray(inputs["logits"], np.float64), np.asarray(inputs["is_not_done"], bool)
    log_p = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    p = np.exp(log_p)
    unit = 0.01 * p * (log_p - (p * log_p).sum(axis=-1, keepdims=True))

    def view(facts: dict[str, Any]) -> dict[str, Any]:
        name = "weight of each tick in the mean entropy, by game"
        if isinstance(facts[ENTROPY], str):
            return {name: facts[ENTROPY]}
        weights = (np.asarray(facts[ENTROPY], np.float64) * unit).sum(axis=-1) / (unit**2).sum(axis=-1)
        nothing = np.abs(weights) * played.size < 1e-3
        counted = np.ones_like(played)
        counted[:, -1] = not nothing[:, -1].all()
        weights *= counted.sum()
        for left_out in (~counted, counted & ~played):
            if nothing[left_out].all():
                weights[left_out] = 1.0
        return {name: weights}

    return view


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
        gradient = np.zeros(values.shape, np.float32)
        gradient[:, :-1] = 2 * errors / errors.size
        return expected | {VALUE: gradient}

    return also


def ends_of(part: str, *what: str) -> View:
    """Return a view of what ends change in policy or value loss; all of it, if `what` is not given."""

    def view(facts: dict[str, Any]) -> dict[str, Any]:
        found = {name: value for name, value in facts.items() if name.startswith(f"{part} loss: ")}
        if what:
            found = {name: value for name, value in found.items() if name.removeprefix(f"{part} loss: ") in what}
        if isinstance(facts, Stored) and not found:
            raise LookupError(f"the stored answer says nothing of {part}; it has {', '.join(map(repr, facts))}")
        return found

    return view


def not_known(expected: dict[str, Any]) -> dict[str, Any]:
    """Return what is as good as the policy gradient where the entropy spoils it, which is another question."""
    return expected | {POLICY: "not known: the entropy is not finite"}


def form_of_a_step(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the form of what a recurrent agent returned for one step; state values may be a column."""
    found = only("result of forward", "dtypes of h, c, logits and state_value")(facts)
    if (name := "shapes of h, c, logits and state_value") in facts:
        *others, values = facts[name]
        found["shapes of h, c and logits"] = others
        found["shape of state_value"] = values[:1] if values[1:] == [1] else values
    return found


def steps_by_their_loss(facts: dict[str, Any]) -> dict[str, Any]:
    """Return how many steps of the optimizer each call made, and whether by its loss's gradient; clipping it is allowed.

    Where no number is returned, which is another check, its gradient is not known.
    """
    view = only("steps of opt, by call")(facts)
    came = facts["opt's gradient over this call's gradient, by call"]
    # Beyond 1 by rounding: in the first; in the second by that of two losses in float32, whose difference is small.
    view["ratio of opt's gradient to this call's gradient, by call"] = [
        PARALLEL if 0 < ratio < 1.001 else ratio for ratio in came
    ]
    slopes = facts["opt's gradient over the loss gradient, by call"]
    of_entropy = facts["the latter without rewards and values, by call"]
    view["ratio of opt's gradient to the loss gradient, by call"] = [
        RATIO if any(isinstance(ratio, str) or 0 < ratio < 1.03 for ratio in ratios) else ratios[0]
        for ratios in zip(slopes, of_entropy, strict=True)
    ]
    return view
