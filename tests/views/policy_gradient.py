"""Views of `policy_gradient`: what its checks compare of the facts that its drivers bring back.

Those of a training look at one idea each. What another check pays for (rows drawn twice, an update in the wrong direction) must
not change what they show.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from grader.judge.views import only

loss = only("loss")
gradient = only("gradient of the network")
form = only("form", "changed by the call")
form_of_minibatches = only("forms")  # dtypes and shapes of what the losses are given; B is the number of rows of a minibatch

Facts = dict[str, Any]


def population_std(expected: Facts) -> Facts:
    """Return the same advantages, standardized by NumPy's definition of the standard deviation instead of torch's."""
    size = len(expected["advantages"])
    return expected | {"advantages": expected["advantages"] * np.sqrt(size / (size - 1))}


# Training: updates


def is_right(step: Facts, multiple: float = 1.0) -> bool:
    """Return whether a step found this multiple of the gradient of its minibatch's loss, and nothing else."""
    return abs(step["multiple"] - multiple) < 2e-3 * max(multiple, 1.0) and step["rest"] < 2e-3 * max(multiple, 1.0)


def policy_updates(facts: Facts) -> Facts:
    """Return whether every update used the gradient of the policy's loss of its minibatch, and what it used instead."""
    steps = [step["policy"] for step in facts["steps"]]
    wrong = [step for step in steps if not is_right(step)]
    view: Facts = {
        "the policy loss is called": bool(facts["batches"]),
        "optimizer.step is called": bool(steps),
        "the policy has a gradient at every optimizer step": all(step["arrived"] for step in wrong),
        "every optimizer step uses the gradient of its minibatch": not wrong,
        "only the optimizer changes the policy": not facts["moved by more than the steps"]["policy"],
    }
    if wrong:
        # Numbers, because a mistake is recognized by them: that something is wrong shows nothing of what it is.
        view["factor of the right gradient, per optimizer step"] = [step["multiple"] for step in steps[:8]]
        view["remainder relative to the right gradient, per optimizer step"] = [step["rest"] for step in steps[:8]]
    return view


def together(steps: list[Facts], minibatches: int) -> list[Facts]:
    """Return what the updates for each minibatch did together, where each minibatch has equally many."""
    if not minibatches or len(steps) % minibatches:
        return steps
    count = max(len(steps) // minibatches, 1)
    groups = [steps[first : first + count] for first in range(0, len(steps), count)]
    return [{network: added([step[network] for step in group]) for network in ("policy", "value")} for group in groups]


def added(updates: list[Facts]) -> Facts:
    """Return what several updates of a network did, as one."""
    return {"multiple": sum(update["multiple"] for update in updates), "rest": max(update["rest"] for update in updates)}


def both_updates(multiplier: float) -> Callable[[Facts], Facts]:
    """Return a view of whether the updates of both networks are those of actor loss + multiplier · critic loss.

    Where the policy's updates are wrong without a value network as well, only those of the value
    network are looked at that come with a right one of the policy.
    """

    def view(facts: Facts) -> Facts:
        alone = facts.get("without a value network", {}).get("steps", [])
        paid = not alone or not all(is_right(step["policy"]) for step in alone)
        steps = together(facts["steps"], len(facts["batches"]))
        right = [step for step in steps if is_right(step["policy"])]
        wrong = [step["value"] for step in right if not is_right(step["value"], multiplier)]
        seen: Facts = {
            "the policy is updated by the gradient of its own loss": paid or len(right) == len(steps),
            "value_net is trained on critic_loss_multiplier · critic loss": not wrong,
            "number of updates per minibatch": max(1.0, len(facts["steps"]) / max(len(facts["batches"]), 1)),
            "only the optimizer changes the value network": not facts["moved by more than the steps"]["value"],
        }
        if not paid and len(right) < len(steps):
            seen["factor of the actor loss gradient, per minibatch"] = [step["policy"]["multiple"] for step in steps[:8]]
        if wrong:
            seen["factor of the critic loss gradient, per minibatch"] = [step["multiple"] for step in wrong[:8]]
        return seen

    return view


# Training: what it keeps


def agrees(kept: Any, recorded: list[float]) -> bool:
    """Return whether a list has the recorded numbers in their order, or, if there are fewer of them, some of these."""
    if not isinstance(kept, list):
        return False
    if len(kept) == len(recorded):
        return bool(np.allclose(kept, recorded, rtol=1e-4, atol=1e-5))
    left = iter(recorded)
    return bool(kept) and all(any(np.isclose(value, other, rtol=1e-4, atol=1e-5) for other in left) for value in kept)


def relation(kept: Any, recorded: list[float]) -> bool | str:
    """Return whether a list has the recorded numbers (see `agrees`), or that it has their running sums.

    The losses of a training differ from run to run. So what they have become must be seen here: stored numbers of a mistake
    would be others the next time.
    """
    if isinstance(kept, list) and len(kept) == len(recorded) > 1 and agrees(kept, np.cumsum(recorded).tolist()):
        return "no, it holds their running sums"
    return agrees(kept, recorded)


def lists_of_the_policy(facts: Facts) -> Facts:
    """Return whether the lists of losses, final rewards and learning rates hold what there was to keep."""
    lists = facts["losses of the minibatches"]
    view: Facts = {"returned": facts.get("returned", "four lists")}
    if "actor losses" not in facts:
        return view
    rates, steps = facts["learning rates"], facts["scheduler steps"]
    # Read after the step or before it: both are kept as one number a step.
    kinds = [[0.05 * 0.9**step for step in range(first, steps + first)] for first in (0, 1)]
    view |= {
        "the first list holds the losses of the policy": relation(facts["actor losses"], lists["actor losses"]),
        "the third list holds the final rewards": agrees(facts["final rewards"], facts["final rewards of the collections"]),
        "the fourth list holds one learning rate per scheduler step": isinstance(rates, list)
        and any(len(rates) == steps and np.allclose(rates, kind) for kind in kinds),
    }
    kept = ("actor losses", "final rewards", "learning rates")
    wrong = [name for name, right in zip(kept, list(view.values())[1:], strict=True) if right is not True]
    return view | {f"returned {name}": facts[name] for name in wrong}


def lists_of_both(multiplier: float) -> Callable[[Facts], Facts]:
    """Return a view of whether the first two lists hold the losses of policy and value network.

    The first one is judged only if it is right in a training without a value network.
    """

    def view(facts: Facts) -> Facts:
        alone = facts.get("without a value network", {})
        judged = "actor losses" in alone and agrees(alone["actor losses"], alone["losses of the minibatches"]["actor losses"])
        lists = facts["losses of the minibatches"]
        if "actor losses" not in facts:
            return {"returned": facts["returned"]} if judged else right_lists
        critic = facts["critic losses"]
        # Fewer numbers than minibatches are the business of the first list, unless only the second has fewer.
        fewer = len(facts["actor losses"]) == len(lists["actor losses"]) and len(critic) < len(lists["critic losses"])
        # With or without the multiplier: the text does not say.
        forms = (lists["critic losses"], [multiplier * value for value in lists["critic losses"]])
        seen: Facts = {
            "the first list holds the losses of the policy": not judged or agrees(facts["actor losses"], lists["actor losses"]),
            "the second list holds the losses of the value network": bool(lists["critic losses"])
            and not fewer
            and any(agrees(critic, values) for values in forms),
        }
        wrong = [name for name, right in zip(("actor losses", "critic losses"), list(seen.values()), strict=True) if not right]
        return seen | {f"returned {name}": facts[name] for name in wrong}

    right_lists = dict.fromkeys(
        ("the first list holds the losses of the policy", "the second list holds the losses of the value network"), True
    )
    return view


def form_of_lists(*names: str) -> Callable[[Facts], Facts]:
    """Return a view of the kinds of entries of some of the lists, beside plain numbers."""

    def view(facts: Facts) -> Facts:
        if "form of the lists" not in facts:
            return {"returned": facts["returned"]}
        return {f"entries of {name} that are not plain numbers": facts["form of the lists"][name] for name in names}

    return view


# Training: rows


def owners(facts: Facts, names: tuple[str, ...]) -> dict[float, int]:
    """Return which row each of the known numbers of these kinds belongs to."""
    known = facts["known numbers"]
    return {
        number: row
        for name in names
        if name in known
        for number, row in zip(known[name]["numbers"].tolist(), known[name]["rows"].tolist(), strict=True)
    }


def what_the_loss_gets(argument: str, kinds: tuple[str, ...], batches: str = "batches") -> Callable[[Facts], Facts]:
    """Return a view of what kind of numbers a loss is given, whichever rows they are of.

    Args:
        kinds: Names of known numbers. The first that has them all is reported.
    """

    def view(facts: Facts) -> Facts:
        given = {number for batch in facts[batches] for number in batch["given"][argument]}
        fitting = (kind for kind in kinds if given <= owners(facts, (kind,)).keys())
        return {f"{argument} passed to the loss": next(fitting, "other numbers") if given else "nothing"}

    return view


ADVANTAGES = (
    "advantages",
    "advantages computed on a subset of the rows",
    "advantages computed again after an update of the value network",
    "advantages computed from other numbers than the returns",
)
KINDS = (*ADVANTAGES, "returns", "rewards")


def of_their_rows(facts: Facts) -> Facts:
    """Return, for each argument of the losses, whether it belongs to the same rows as the observation.

    What belongs to no row is another check's matter, but for the old logits and the actions: these
    can only be those of the buffer.
    """
    known = {"old_logits": owners(facts, ("old_logits",))} | {
        name: owners(facts, KINDS) for name in ("return_or_advantage", "returns")
    }
    actions = np.asarray(facts["recorded actions"]).tolist()
    view: dict[str, Any] = {}
    for name in ("action", "old_logits", "returns", "return_or_advantage"):
        as_many, aligned, foreign = True, True, False
        for batch in (*facts["batches"], *(facts["critic batches"] if name == "returns" else ())):
            given, rows = batch["given"][name], batch["row"]
            as_many &= len(given) == len(rows)
            for number, row in zip(given, rows, strict=False):
                owner = row if name == "action" and number == actions[row] else known.get(name, {}).get(number)
                foreign |= owner is None and name != "action"
                aligned &= owner == row or (owner is None and name in ("returns", "return_or_advantage"))
        view[f"{name} and observation have the same number of rows"] = as_many
        view[f"{name} and observation come from the same rows"] = aligned
        if name == "old_logits":
            view["old_logits contain values that are not in the buffer"] = foreign
            view["old_logits are recomputed with the current policy"] = facts["old logits are those of the moment"]
    if facts["critic batches"]:
        view["both losses receive the same minibatches"] = used_rows(facts, "critic batches") == used_rows(facts)
    return view


def used_rows(facts: Facts, batches: str = "batches") -> tuple[Counter[int], Counter[int]]:
    """Return how often the minibatches of a loss have each size, and how often each row is in them, in whichever order."""
    rows = [batch["row"] for batch in facts[batches]]
    return Counter(map(len, rows)), Counter(row for batch in rows for row in batch)


def epochs(facts: Facts) -> list[tuple[int, list[list[int]]]]:
    """Return the number of the collection and the minibatches of each epoch, as places of rows in the collection.

    An epoch is as many rows as its collection has; the last one may be short. Rows of another
    collection are -1.
    """
    found: list[tuple[int, list[list[int]]]] = []
    for number, rows in enumerate(facts["rows of the collections"]):
        place = {row: index for index, row in enumerate(rows)}
        split: list[list[int]] = []
        for batch in (batch["row"] for batch in facts["batches"] if batch["collection"] == number):
            split.append([place.get(row, -1) for row in batch])
            if sum(map(len, split)) >= len(rows):
                found.append((number, split))
                split = []
        found += [(number, split)] if split else []
    return found


def rows_of_epochs(minibatch_size: int) -> Callable[[Facts], Facts]:
    """Return a view of how the rows of all epochs are used, whichever collections they are of."""

    def view(facts: Facts) -> Facts:
        found, unlike = epochs(facts), []
        for number, split in found:
            size = len(facts["rows of the collections"][number])
            sizes = [min(minibatch_size, size - first) for first in range(0, size, minibatch_size)]
            if (seen := [len(batch) for batch in split]) != sizes:
                unlike.append(seen[: len(sizes)])
        used = [[row for batch in split for row in batch] for _, split in found]
        shares = [sum(map(len, split)) / len(facts["rows of the collections"][number]) for number, split in found]
        return {
            "number of times that minibatches go through a collection, by their rows": sum(shares),
            "wrong minibatch sizes in an epoch": unlike[:1],
            "an epoch uses rows of another collection": any(-1 in rows for rows in used),
            "an epoch uses a row more than once, and leaves others out": any(len(set(rows)) < len(rows) for rows in used),
        }

    return view


def dealt(facts: Facts) -> dict[str, bool]:
    """Return whether epochs split the rows in order, or several in the same way; in a minibatch, order does not matter.

    Epochs of one or two minibatches are left out: there are few ways to split their rows.
    """
    splits = [(number, frozenset(map(frozenset, split))) for number, split in epochs(facts) if len(split) > 2]
    firsts = dict(reversed(splits))
    return {
        "all minibatches of an epoch are blocks of consecutive rows": any(
            all(max(part) - min(part) < len(part) for part in split) for _, split in splits
        ),
        "two epochs of a collection have the same minibatches": len(set(splits)) < len(splits),
        "two collections are shuffled in the same way": len(set(firsts.values())) < len(firsts),
    }


def one_of_each(facts: Facts) -> Facts:
    """Return how many updates and kept losses one minibatch has; where there are none at all, another check says so."""
    batches, steps = len(facts["batches"]), len(facts["steps"])
    kept = facts.get("actor losses")
    return {
        "number of updates per minibatch": steps / batches if steps and batches else 1.0,
        "number of actor losses per minibatch": len(kept) / batches if isinstance(kept, list) and batches else 1.0,
    }


# Training: its arguments


def passed_on(facts: Facts) -> Facts:
    """Return what became of the arguments of a training without a value network."""
    view = {name: done for name, done in facts["passed on"].items() if "value network" not in name}
    steps = facts["scheduler steps"] / max(len(facts["rows of the collections"]), 1)
    return view | {"loss argument ppo_clip": facts["clip ranges"], "number of scheduler steps per collection": steps}


def collected(facts: Facts) -> Facts:
    """Return how much was collected."""
    return {"number of collections": len(facts["rows of the collections"]), "number of rollouts": facts["rollouts"]}


def defaults(facts: Facts) -> Facts:
    """Return what a training does with arguments that it is not given, as far as it shows."""
    largest = max((len(batch["row"]) for batch in facts["batches"]), default=0)
    rows = sum(map(len, facts["rows of the collections"]))
    used = sum(len(batch["row"]) for batch in facts["batches"])
    return collected(facts) | {
        "loss argument ppo_clip": facts["clip ranges"],
        "number of rows in the largest minibatch": largest,
        "number of epochs per collection": round(used / max(rows, 1)),
    }


# One update


def loss_on_the_rows(expected: Facts, facts: Facts) -> dict[str, tuple[float, float]]:
    """Return, before and after the update, the loss of policy and value network on the rows of the solution's rollouts.

    The policy's is -mean(log π(a|s) · A), which falls as PPO's does for small steps.
    """
    rows = np.asarray(expected["observations"])
    places = np.abs(np.asarray(expected["observations everywhere"])[None] - rows[:, None]).sum(axis=2).argmin(axis=1)
    actions = np.asarray(expected["actions"]).astype(int).reshape(-1)
    advantages, returns = (np.asarray(expected[name]).reshape(-1) for name in ("advantages", "returns"))

    def policy(when: str) -> float:
        return float(-(np.asarray(facts[f"log-probabilities {when}"], np.float64)[places, actions] * advantages).mean())

    def value(when: str) -> float:
        return float(((np.asarray(facts[f"values {when}"], np.float64)[places, 0] - returns) ** 2).mean())

    return {"policy": (policy("before"), policy("after")), "value network": (value("before"), value("after"))}
