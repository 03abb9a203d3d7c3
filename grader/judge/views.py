"""Views: reduce the facts of a driver to the part that a check compares, without order and noise.

Each view is applied to the facts and to the stored answer alike. These serve several assignments; the views of one lie in
tests/views/NAME.py, which its suites import as `views`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

View = Callable[[dict[str, Any]], Any]


class Stored(dict[str, Any]):
    """The facts of a stored answer, as a view sees them; those of a submission may be incomplete."""


def only(*names: str) -> View:
    """Return a view of some of the facts.

    A fact `returned`, the kind of the returned value, is compared first if there is one.

    Raises:
        LookupError: From the view, if a stored answer has no such fact, because a check of it could
            not fail.
    """

    def view(facts: dict[str, Any]) -> dict[str, Any]:
        if isinstance(facts, Stored) and (missing := [name for name in names if name not in facts]):
            raise LookupError(f"the stored answer has no fact {missing[0]!r}; it has {', '.join(map(repr, facts))}")
        return {name: facts[name] for name in ("returned", *names) if name in facts}

    return view


def row_gradients(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the contribution of each row to the gradients, independent of its minibatch.

    Args:
        facts: facts["steps"] holds one dict a step, network name -> gradient `[rows, columns]` of a
            mean over the rows of a minibatch, each of which moves only its own row. So gradient
            times number of rows moved is the same whenever a row is used.
    """
    view: dict[str, Any] = {"number of optimizer steps": len(facts["steps"])}
    for name in facts["steps"][0] if facts["steps"] else ():
        gradients = [np.asarray(step[name], dtype=np.float64) for step in facts["steps"] if step[name] is not None]
        view[f"steps without a gradient for the {name} network"] = len(facts["steps"]) - len(gradients)
        if not gradients:
            view["gradients cleared before optimizer.step() used them"] = facts["gradients cleared unused"]
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
    """Return a view of the sizes of all minibatches in order, and of mistakes in any epoch's rows.

    Args:
        collections: The number of rows of each collection.
        epochs: How often each collection is used.
        any_order: Whether sizes of the minibatches of an epoch are compared in any order.
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
            if isinstance(facts, Stored):
                count = sum(map(len, expected))
                raise LookupError(f"the stored answer has {len(rows)} rows in all epochs, the check says {count}")
            return seen  # where an epoch begins is anybody's guess
        used, begin = [], 0
        for collection in expected:
            used.append(rows[begin : begin + len(collection)])
            begin += len(collection)
        pairs = list(zip(used, expected, strict=True))
        return seen | {
            "an epoch uses a row more than once": any(len(set(now)) < len(now) for now, _ in pairs),
            "an epoch leaves rows out": any(set(now) < collection for now, collection in pairs),
            "an epoch uses rows from another collection": any(set(now) - collection for now, collection in pairs),
        }

    return view


def aligned(*names: str) -> View:
    """Return a view of the values that the loss received for each row, or of the pattern of wrong ones if they vary."""

    def view(facts: dict[str, Any]) -> dict[str, Any]:
        seen: dict[str, Any] = {}
        batches = facts["batches"]
        for name in names:
            found: dict[int, list[Any]] = {}
            for batch in batches:
                for row, value in zip(batch["row"], batch[name], strict=True):
                    values = found.setdefault(row, [])
                    if not any(_equal(value, other) for other in values):
                        values.append(value)
            same = all(len(values) == 1 for values in found.values())
            seen[f"a row always comes with the same {name}"] = same
            current = name == "old_logits" and facts["old logits of the moment"]
            if name == "old_logits":
                seen["old_logits are the logits of the current policy"] = current
            if same:
                seen[f"{name} that the loss receives, by row"] = [found[row][0] for row in sorted(found)]
                continue
            given = [batch[name] for batch in batches]
            distinct = {str(value) for values in given for value in values}
            listed = all(_equal(values, given[0][: len(values)]) for values in given)
            seen[f"every minibatch has the same {name}"] = listed
            seen[f"{name} comes from other rows"] = others = len(distinct) <= len(found)
            if _are_standardized(given):  # by whatever rows chance has put together
                seen[f"{name} is standardized within each minibatch"] = True
            elif not (current or listed or others):
                # Facts that are not true are not evidence of anything.
                seen[f"{name} that the loss receives, by row"] = [found[row] for row in sorted(found)]
        return seen

    return view


def _equal(one: Any, other: Any) -> bool:
    """Return whether these are equal, where NaN equals NaN. Python's own answer depends on whether both are one object."""
    return bool(one == other) or str(one) == str(other)


def _are_standardized(batches: Sequence[Any]) -> bool:
    """Return whether the numbers of each batch have mean 0 and standard deviation 1; those of one number are ignored."""
    with contextlib.suppress(TypeError, ValueError):
        several = [np.asarray(values, np.float64) for values in batches if np.size(values) > 1]
        # By either definition. Float32 and a constant beside the deviation leave it within 1e-3 of 1.
        deviations = [(values.std(), values.std(ddof=1)) for values in several]
        near_one = (any(abs(deviation - 1) < 1e-3 for deviation in both) for both in deviations)
        return bool(several) and all(abs(values.mean()) < 1e-3 for values in several) and all(near_one)
    return False


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
        neighbors = [[max(part) - min(part) < len(part) for part in split] for split in splits]
        first = [splits[index] for index in range(0, len(splits), epochs)]
        # Row numbers go on from collection to collection: from their first row on they can be compared.
        begins = [{frozenset(row - min(map(min, split)) for row in part) for part in split} for split in first if split]
        return {
            "every epoch goes through the rows in order": all(all(ordered) for ordered in in_order),
            "all minibatches of an epoch are blocks of consecutive rows": any(all(runs) for runs in neighbors),
            "two collections have the same minibatches": len(begins) > 1 and begins[0] == begins[1],
            "a later epoch has the same minibatches as an earlier one": any(
                set(splits[index]) in map(set, splits[index - index % epochs : index]) for index in range(len(splits))
            ),
        }

    return view


VARIANCES_VARY = 0.14  # of thousands of samples: at least four standard errors
NO_VARIANCE = 1e-6


def gaussian_spread(facts: dict[str, Any]) -> dict[str, Any]:
    """Return whether many samples have the expected distribution, within at least four standard errors."""
    if "means, in deviations from those of the policy" not in facts:
        return facts
    means = np.asarray(facts["means, in deviations from those of the policy"])
    variances = np.asarray(facts["variances, as multiples of those of the policy"])
    return {
        "shape of the actions": facts["shape of the actions"],
        "the actions are around the mean": bool((np.abs(means) < 0.1).all()),
        "the variances are those of the policy": _describe_variances(variances),
        "the dimensions are independent": facts["largest correlation of two dimensions"] < 0.1,
        "some actions are beyond 2.5 standard deviations": facts["largest action, in deviations"] > 2.5,
        "about 68% of the numbers are within one deviation": abs(facts["share of the numbers within one deviation"] - 0.683)
        < 0.03,
    }


def _describe_variances(multiples: np.ndarray) -> bool | str:
    """Return whether variances are those of the policy, as far as samples tell, or what they have in common."""
    if (np.abs(multiples - 1) < VARIANCES_VARY).all():
        return True
    if (multiples < NO_VARIANCE).all():
        return "no, all rows have the same noise"
    middle = float(np.median(multiples))
    return "no, all are wrong by the same factor" if (np.abs(multiples - middle) < VARIANCES_VARY * middle).all() else False


# What is measured of random numbers may be so many standard errors away from what it should be: once in twenty-five million.
ERRORS = 5.5


def within_errors(found: Any, expected: float, error: float) -> bool:
    """Return whether all measured numbers are within `ERRORS` standard errors of the expected value."""
    return bool((np.abs(np.asarray(found, np.float64) - expected) <= ERRORS * error).all())
