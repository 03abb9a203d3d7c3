"""Views: what a check compares of the facts that a driver brings back, free of order and noise.

Each view is applied to the facts and to the stored answer alike. They know no assignment, only the shapes of facts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

View = Callable[[dict[str, Any]], Any]


class Stored(dict):
    """The facts of a stored answer, to a view; those of a submission may lack what it did not get to."""


def only(*names: str) -> View:
    """Return a view of some of the facts. What kind of thing was `returned`, if that is a fact, is looked at first.

    Raises LookupError when a stored answer has no such fact: a check of it could not fail.
    """

    def view(facts: dict[str, Any]) -> dict[str, Any]:
        if isinstance(facts, Stored) and (missing := [name for name in names if name not in facts]):
            raise LookupError(f"the stored answer has no fact {missing[0]!r}; it has {', '.join(map(repr, facts))}")
        return {name: facts[name] for name in ("returned", *names) if name in facts}

    return view


def row_gradients(facts: dict[str, Any]) -> dict[str, Any]:
    """Return what each row contributed to the gradients, whichever minibatch it was in.

    facts["steps"]: one dict a step, network name -> gradient `[rows, columns]` of a mean over the rows of a minibatch, each
    of which moves only its own row. So gradient times number of rows moved is the same whenever a row is used.
    """
    view: dict[str, Any] = {"updates": len(facts["steps"])}
    for name in facts["steps"][0] if facts["steps"] else ():
        gradients = [np.asarray(step[name], dtype=np.float64) for step in facts["steps"] if step[name] is not None]
        view[f"updates without a gradient for the {name} network"] = len(facts["steps"]) - len(gradients)
        if not gradients:
            view["gradients that were cleared before a step could use them"] = facts["gradients cleared unused"]
            continue
        shares = [gradient * max((gradient != 0).any(axis=1).sum(), 1) for gradient in gradients]
        used = np.array([(share != 0).any(axis=1) for share in shares])[:, :, None]
        smallest = np.where(used, shares, np.inf).min(axis=0)
        largest = np.where(used, shares, -np.inf).max(axis=0)
        # As loose as comparison is by default: multiplying the mean back rounds in float32.
        same = np.isclose(smallest, largest, rtol=1e-4, atol=1e-5) | ~used.any(axis=0)
        view[f"a row has the same gradient for the {name} network in every update"] = bool(same.all())
        view[f"gradient for the {name} network, by row"] = np.where(used.any(axis=0), smallest, 0.0)
    return view


def rows_once(collections: Sequence[int], epochs: int, any_order: bool = False) -> View:
    """Return a view of the sizes of all minibatches in order, and of what is wrong with the rows of any epoch.

    collections: rows of each collection; epochs: how often each is used. any_order: sizes of the minibatches of an epoch are
    compared in any order.
    """
    starts = np.cumsum([0, *collections])
    expected = [set(range(start, end)) for start, end in pairwise(starts.tolist()) for _ in range(epochs)]

    def view(facts: dict[str, Any]) -> dict[str, Any]:
        rows = [row for batch in facts["batches"] for row in batch["row"]]
        sizes = [len(batch["row"]) for batch in facts["batches"]]
        if any_order:
            each = max(len(sizes) // len(expected), 1)
            sizes = [size for first in range(0, len(sizes), each) for size in sorted(sizes[first : first + each])]
        seen: dict[str, Any] = {"rows in each minibatch": sizes}
        if len(rows) != sum(map(len, expected)):
            return seen  # where an epoch begins is anybody's guess
        used, begin = [], 0
        for collection in expected:
            used.append(rows[begin : begin + len(collection)])
            begin += len(collection)
        pairs = list(zip(used, expected, strict=True))
        return seen | {
            "an epoch uses a row more than once": any(len(set(now)) < len(now) for now, _ in pairs),
            "an epoch leaves rows out": any(collection - set(now) for now, collection in pairs),
            "an epoch uses rows of another collection": any(set(now) - collection for now, collection in pairs),
        }

    return view


def aligned(*names: str) -> View:
    """Return a view of what the loss was given for each row, or, where that was not always the same, of what it was instead."""

    def view(facts: dict[str, Any]) -> dict[str, Any]:
        seen: dict[str, Any] = {}
        batches = facts["batches"]
        for name in names:
            found: dict[int, list[Any]] = {}
            for batch in batches:
                for row, value in zip(batch["row"], batch[name], strict=True):
                    values = found.setdefault(row, [])
                    if value not in values:
                        values.append(value)
            same = all(len(values) == 1 for values in found.values())
            seen[f"a row always comes with the same {name}"] = same
            current = name == "old_logits" and facts["old logits of the moment"]
            if name == "old_logits":
                seen["old_logits are the policy's answers of the moment"] = current
            if same:
                seen[f"{name} given to the loss for row"] = [found[row][0] for row in sorted(found)]
                continue
            given = [batch[name] for batch in batches]
            distinct = {str(value) for values in given for value in values}
            seen[f"every minibatch has the same {name}"] = listed = all(values == given[0][: len(values)] for values in given)
            seen[f"{name} comes from other rows"] = others = len(distinct) <= len(found)
            if not (current or listed or others):
                # Facts that are not true are no evidence of anything.
                seen[f"{name} given to the loss for row"] = [found[row] for row in sorted(found)]
        return seen

    return view


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


def shuffled(collections: Sequence[int], epochs: int) -> View:
    """Return a view of whether epochs split the rows in order, or all in the same way.

    The order within a minibatch does not matter: its loss is a mean.
    """

    def view(facts: dict[str, Any]) -> dict[str, bool]:
        batches = [batch["row"] for batch in facts["batches"]]
        splits = []
        for size in (size for size in collections for _ in range(epochs)):
            split, taken = [], 0
            while batches and taken < size:
                split.append(frozenset(batches[0]))
                taken += len(batches.pop(0))
            splits.append(split)
        in_order = [[max(one) < min(other) for one, other in pairwise(split)] for split in splits]
        neighbours = [[max(part) - min(part) < len(part) for part in split] for split in splits]
        first = [splits[index] for index in range(0, len(splits), epochs)]
        # Row numbers go on from collection to collection: from their first row on they can be compared.
        begins = [{frozenset(row - min(map(min, split)) for row in part) for part in split} for split in first if split]
        return {
            "every epoch goes through the rows in order": all(all(ordered) for ordered in in_order),
            "all minibatches of an epoch are runs of neighbouring rows": any(all(runs) for runs in neighbours),
            "two collections have the same minibatches": len(begins) > 1 and begins[0] == begins[1],
            "a later epoch has the same minibatches as an earlier one": any(
                set(splits[index]) in map(set, splits[index - index % epochs : index]) for index in range(len(splits))
            ),
        }

    return view


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


def gaussian_spread(facts: dict[str, Any]) -> dict[str, Any]:
    """Return whether many samples are distributed as they should be: at least four standard errors are allowed."""
    if "means, in deviations from those of the policy" not in facts:
        return facts
    means = np.asarray(facts["means, in deviations from those of the policy"])
    variances = np.asarray(facts["variances, as multiples of those of the policy"])
    return {
        "shape of the actions": facts["shape of the actions"],
        "the actions are around the mean": bool((np.abs(means) < 0.1).all()),
        "the variances are those of the policy": bool((np.abs(variances - 1) < 0.14).all()),
        "the dimensions are independent": facts["largest correlation of two dimensions"] < 0.1,
        "there are actions beyond two and a half deviations": facts["largest action, in deviations"] > 2.5,
        "as many as of a normal distribution are within one": abs(facts["share of the numbers within one deviation"] - 0.683)
        < 0.03,
    }


def other_entropy(inputs: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return what makes, of the entropy loss over all columns of a rollout, the one over all but the last.

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
    """Return what makes, of the one-step value loss of a rollout, the one that has the whole return as its target.

    inputs: values, rewards, is_not_done `[B, T]`, and gamma (0.99). Where nothing is played, the error counts as 0.
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

    inputs: values, is_not_done `[B, T]`. Facts that are no such gradient stay as they are.
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


# What is measured of random numbers may be so many standard errors away from what it should be: once in twenty-five million.
ERRORS = 5.5


def near(found: Any, expected: float, error: float) -> bool:
    """Return whether all measured numbers are within `ERRORS` standard errors of what they should be."""
    return bool((np.abs(np.asarray(found, np.float64) - expected) <= ERRORS * error).all())


def ornstein_uhlenbeck(*names: str) -> View:
    """Return a view of whether a path of noise x ← x + θ(μ - x) + σε has the moments that follow from that.

    With ρ = 1 - θ: mean μ, variance σ²/(1 - ρ²), correlation ρ of successive samples; by their standard errors for a path of
    this length (Bartlett 1946). names: those that are looked at; all without any.
    """

    def view(facts: dict[str, Any]) -> dict[str, Any]:
        if "path" not in facts:
            return only("shape of a sample")(facts)
        given = {"mu": 0.0, "theta": 0.15, "sigma": 0.2} | facts["parameters"]
        mu, rho, sigma = given["mu"], 1 - given["theta"], given["sigma"]
        path, starts = facts["path"], facts["after a reset"]
        n, m = path["samples"], starts["paths"]
        spread = 1 - rho**2
        seen = {
            "the mean is μ": near(path["mean"], mu, sigma / (1 - rho) / n**0.5),
            "the variance is σ²/(θ(2 - θ))": near(
                path["variance"], sigma**2 / spread, sigma**2 / spread * (2 * (1 + rho**2) / spread / n) ** 0.5
            ),
            "successive samples have the correlation 1 - θ": near(
                path["correlation with the sample before"], rho, (spread / n) ** 0.5
            )
            and near(
                path["correlation with the one before that"],
                rho**2,
                (((1 + rho**2) * (1 - rho**4) / spread - 4 * rho**4) / n) ** 0.5,
            ),
            # Of changes, because these hardly depend on those before: at most 1.6 times the squared error of white noise.
            "the dimensions are independent": near(
                path["largest correlation of the changes of two dimensions"], 0.0, (1.6 / n) ** 0.5
            ),
            "after a reset the first sample is around μ": near(starts["mean of the first sample"], mu, sigma / m**0.5),
            "its variance is σ²": near(starts["variance of the first sample"], sigma**2, sigma**2 * (2 / m) ** 0.5),
            "it is distributed normally": near(
                starts["share of the first samples within one deviation"], 0.6827, (0.683 * 0.317 / m) ** 0.5
            ),
            "the next one's variance is σ²(1 + (1 - θ)²)": near(
                starts["variance of the second sample"],
                sigma**2 * (1 + rho**2),
                sigma**2 * (1 + rho**2) * (2 / m) ** 0.5,
            ),
        }
        return only("shape of a sample")(facts) | {name: seen[name] for name in names or seen}

    return view


def uniform_last_layer(facts: dict[str, Any]) -> dict[str, Any]:
    """Return whether weights and biases of the last layers of many networks are uniform in [-init_w, init_w]."""
    if "the last layer" in facts or "weights of the last layer / init_w" not in facts:
        return facts
    seen = {}
    for name in ("weights", "biases"):
        drawn = facts[f"{name} of the last layer / init_w"]
        root = drawn["numbers"] ** 0.5
        seen |= {
            f"{name} of the last layer are within init_w": drawn["largest"] <= 1.0001,
            f"{name} of the last layer are around 0": near(drawn["mean"], 0.0, 0.578 / root),
            f"{name} of the last layer are uniform": near(drawn["mean size"], 0.5, 0.289 / root)
            and near(drawn["mean square"], 1 / 3, 0.299 / root),
            f"{name} of the last layer are drawn anew": facts[f"{name} of the last layer are drawn anew"],
        }
    hidden = facts["mean size of hidden weights, times the root of what comes in"]
    # 0.5 as torch draws them, 1.1 where variances are kept from layer to layer.
    return seen | {"hidden weights are of the usual size": hidden[0] > 0.1 and hidden[1] < 3}


def uniform_actions(facts: dict[str, Any]) -> dict[str, Any]:
    """Return whether many random actions are uniform in [-1, 1]; a little noise may have been added, and clipped."""
    if "mean of each dimension" not in facts:
        return facts
    # Of 2000: standard errors 0.013, 0.007, 0.011 and 0.022; what the noise does is allowed for besides.
    return only("shape of an action", "transition is [state, action]")(facts) | {
        "the mean is 0": near(facts["mean of each dimension"], 0.0, 0.016),
        "all sizes are as frequent": near(facts["variance of each dimension"], 1 / 3, 0.009)
        and near(facts["share within ±½, by dimension"], 0.5, 0.014),
        "none is beyond [-1, 1]": facts["largest size"] <= 1.0001,
        "they reach the ends": facts["largest size"] > 0.99,
        "few are exactly -1 or 1": facts["share at exactly -1 or 1"] < 0.1,
        "the dimensions are independent": near(facts["largest correlation of two dimensions"], 0.0, 0.025),
    }


def drawn_evenly(facts: dict[str, Any]) -> dict[str, Any]:
    """Return whether rows of a buffer are drawn at random: each as often, and not only neighbours together."""
    if "how often each row came" not in facts:
        return facts
    came = np.asarray(facts["how often each row came"], np.float64)
    rows, size = came.size, came.sum() / facts["batches"]
    share = size / rows
    # Of how many rows two batches in a row share: hypergeometric. Of neighbours, drawn at random, there are a few percent.
    spread = (size * share * (1 - share) * (rows - size) / max(rows - 1, 1) / facts["batches"]) ** 0.5
    return {
        "each row comes as often as any other": near(
            came, came.mean(), (facts["batches"] * max(share * (1 - share), 0)) ** 0.5
        ),
        "a batch is more than neighbouring rows": share > 0.999
        or facts["share of the batches that are neighbouring rows"] < 0.3,
        "batches differ": share > 0.999 or not facts["two batches are the same"],
        # Different rows are counted: batches with rows that come twice have fewer of them.
        "a batch does not depend on the one before": facts["a batch has a row twice"]
        or near(facts["rows that were in the batch before as well, on average"], size * share, spread + 1e-9),
    }


def mean_losses(facts: dict[str, Any]) -> dict[str, Any]:
    """Return how far the losses that each update returned are from the means of those that its minibatches had."""
    view: dict[str, Any] = {"updates": len(facts["metrics"])}
    for number, (metrics, means) in enumerate(zip(facts["metrics"], facts["means of the losses"], strict=True), start=1):
        if not isinstance(metrics, dict):
            return view | {"returned": metrics}
        for name, mean in means.items():
            found = metrics[name]
            told = found if isinstance(found, str) else found - mean
            view[f"{name} of update {number}, minus the mean of its minibatches"] = told
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
