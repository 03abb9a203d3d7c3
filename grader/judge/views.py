"""Views: what a check compares of the facts that a driver brings back, free of order and noise.

Each view is applied to the facts and to the stored answer alike. They know no assignment, only the shapes of facts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

View = Callable[[dict[str, Any]], Any]


def only(*names: str) -> View:
    """Return a view of some of the facts. What kind of thing was `returned`, if that is a fact, is looked at first."""

    def view(facts: dict[str, Any]) -> dict[str, Any]:
        return {name: facts[name] for name in ("returned", *names) if name in facts}

    return view


def row_gradients(facts: dict[str, Any]) -> dict[str, Any]:
    """Return what each row contributed to the gradients, whichever minibatch it was in.

    facts["steps"]: one dict a step, network name -> gradient `[rows, columns]` of a mean over the rows of a minibatch, each
    of which moves only its own row. So gradient times number of rows moved is the same whenever a row is used: the smallest
    and the largest of it are both returned, and how many steps had no gradient at all.
    """
    view: dict[str, Any] = {"updates": len(facts["steps"])}
    for name in facts["steps"][0] if facts["steps"] else ():
        gradients = [np.asarray(step[name], dtype=np.float64) for step in facts["steps"] if step[name] is not None]
        view[f"updates without a gradient for the {name} network"] = len(facts["steps"]) - len(gradients)
        if not gradients:
            continue
        shares = [gradient * max((gradient != 0).any(axis=1).sum(), 1) for gradient in gradients]
        used = np.array([(share != 0).any(axis=1) for share in shares])[:, :, None]
        smallest = np.where(used, shares, np.inf).min(axis=0)
        largest = np.where(used, shares, -np.inf).max(axis=0)
        seen = used.any(axis=0)
        view[f"gradient for the {name} network, by row (smallest over all updates)"] = np.where(seen, smallest, 0.0)
        view[f"gradient for the {name} network, by row (largest over all updates)"] = np.where(seen, largest, 0.0)
    return view


def rows_once(collections: Sequence[int], epochs: int) -> View:
    """Return a view of which rows every epoch used, sorted, and of the sizes of all minibatches in order.

    collections: rows of each collection; epochs: how often each is used.
    """
    ends = np.cumsum([size for size in collections for _ in range(epochs)])

    def view(facts: dict[str, Any]) -> dict[str, Any]:
        rows = [row for batch in facts["batches"] for row in batch["row"]]
        return {
            "rows in each minibatch": [len(batch["row"]) for batch in facts["batches"]],
            "rows used in each epoch": [sorted(rows[start:end]) for start, end in zip([0, *ends[:-1]], ends, strict=True)],
        }

    return view


def aligned(*names: str) -> View:
    """Return a view of what the losses were given for each row, without order: for every row all that it ever came with."""

    def view(facts: dict[str, Any]) -> dict[str, Any]:
        found = {
            entry for batch in facts["batches"] for entry in zip(batch["row"], *(batch[name] for name in names), strict=True)
        }
        return {f"(row, {', '.join(names)}) given to the loss": sorted(found)}

    return view


def shuffled(collections: Sequence[int], epochs: int) -> View:
    """Return a view of whether epochs go through the rows in order, and whether all split them in the same way.

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
        first = [splits[index] for index in range(0, len(splits), epochs)]
        return {
            "an epoch goes through the rows in order": any(all(ordered) for ordered in in_order),
            "a later epoch has the same minibatches as the first": any(
                set(splits[index]) == set(first[index // epochs]) for index in range(len(splits)) if index % epochs
            ),
        }

    return view
