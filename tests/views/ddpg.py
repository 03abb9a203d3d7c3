"""Views of `ddpg`: what its checks compare of the facts that its drivers bring back."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.judge.views import ERRORS, View, only, within_errors

LAYERS = (
    "there are at least three linear layers",
    "each linear layer is used once",
    "hidden layers without a bias",
    "input of the first layer",
    "units of the hidden layers",
    "activation between the layers",
    "activation after the last layer",
    "parameters without a gradient",
)
LEARNED = -0.4  # the best possible is about -0.01; standing still gives -1.3, and the actor begins at -7.5


# Of a batch: what it is, and what is in it.
FORM_OF_A_BATCH = (
    "types of the values of a batch",
    "shapes of the arrays of a batch",
    "dtypes of the arrays of a batch",
    "values per row of acts",
    "update_model works with batches of this form",
)
ROWS_OF_A_BATCH = ("arrays whose rows do not match those of obs", "update_model works with this meaning of done")
# What `_plot` received, for each of its parameters.
PLOTTED = tuple(f"{name} in each call of _plot" for name in ("frame_idx", "scores", "actor_losses", "critic_losses"))


def arrays_after(*counts: int) -> View:
    """Return a view of all arrays of a buffer after so many transitions."""
    return only(
        *(f"{name}_buf after {count} transitions" for name in ("obs", "next_obs", "acts", "rews", "done") for count in counts)
    )


def stored(facts: dict[str, Any]) -> dict[str, Any]:
    """Return what a buffer holds, whatever the form of its arrays."""
    return {name: value for name, value in facts.items() if name != "dtypes and shapes of the arrays"}


def taken(facts: dict[str, Any]) -> dict[str, Any]:
    """Return what steps returned and stored, whatever its form."""
    return {name: value for name, value in facts.items() if not name.startswith("form of")}


def soft_update(facts: dict[str, Any]) -> dict[str, Any]:
    """Return how far each target went, and what else moved; not whether it is still the same object."""
    return {name: value for name, value in facts.items() if "same objects" not in name}


def one_episode(facts: dict[str, Any]) -> dict[str, Any]:
    """Return what happened in a test, and which frames were kept; not their form."""
    return {name: value for name, value in facts.items() if name != "shapes of the frames"}


def converted(facts: dict[str, Any]) -> dict[str, Any]:
    """Return actions in other units, whatever their form."""
    return {name: value for name, value in facts.items() if "form" not in name and "modify" not in name}


def without_column(expected: dict[str, Any]) -> dict[str, Any]:
    """Return the form of a critic whose values are `[B]`: an agent that knows can use it as well."""
    return expected | {name: expected[name][:1] for name in ("output shape for a batch", "output shape for a batch of one")}


def ornstein_uhlenbeck(*names: str) -> View:
    """Return a view of whether a path of noise x ← x + θ(μ - x) + σε has the moments that follow from that.

    Args:
        names: The moments that are looked at; all without any.

    With ρ = 1 - θ: mean μ, variance σ²/(1 - ρ²), correlation ρ of successive samples; by their
    standard errors for a path of this length (Bartlett 1946).
    """

    def view(facts: dict[str, Any]) -> dict[str, Any]:
        if "statistics of many successive samples" not in facts:
            return only("returned")(facts)
        given = {"mu": 0.0, "theta": 0.15, "sigma": 0.2} | facts["parameters"]
        mu, rho, sigma = given["mu"], 1 - given["theta"], given["sigma"]
        path, starts = facts["statistics of many successive samples"], facts["statistics after a reset"]
        n, m = path["number of samples"], starts["number of resets"]
        spread = 1 - rho**2
        # The mean of noise that changes slower than it should varies more: another check is about that.
        measured = float(np.nan_to_num(np.max(path["correlation with the previous sample"])))
        slowness = 1 - min(max(rho, measured), 0.999)
        seen = {
            "the long-run mean is μ": within_errors(path["mean"], mu, sigma / slowness / n**0.5),
            "the long-run variance is σ²/(θ(2 - θ))": within_errors(
                path["variance"], sigma**2 / spread, sigma**2 / spread * (2 * (1 + rho**2) / spread / n) ** 0.5
            ),
            "successive samples have correlation 1 - θ": within_errors(
                path["correlation with the previous sample"], rho, (spread / n) ** 0.5
            )
            and within_errors(
                path["correlation with the sample two steps earlier"],
                rho**2,
                (((1 + rho**2) * (1 - rho**4) / spread - 4 * rho**4) / n) ** 0.5,
            ),
            # Of changes, because these hardly depend on those before: at most 1.6 times the squared error of white noise.
            "the dimensions are independent": within_errors(
                path["largest correlation between the changes in two dimensions"], 0.0, (1.6 / n) ** 0.5
            ),
            "the first sample after a reset has mean μ": within_errors(starts["mean of the first sample"], mu, sigma / m**0.5),
            "the first sample after a reset has variance σ²": within_errors(
                starts["variance of the first sample"], sigma**2, sigma**2 * (2 / m) ** 0.5
            ),
            "the first sample after a reset is normally distributed": within_errors(
                starts["share of first samples within one standard deviation"], 0.6827, (0.683 * 0.317 / m) ** 0.5
            ),
            "the second sample's variance is σ²(1 + (1 - θ)²)": within_errors(
                starts["variance of the second sample"],
                sigma**2 * (1 + rho**2),
                sigma**2 * (1 + rho**2) * (2 / m) ** 0.5,
            ),
        }
        return {name: seen[name] for name in names or seen}

    return view


def uniform_last_layer(facts: dict[str, Any]) -> dict[str, Any]:
    """Return whether weights and biases of the last layers of many networks are uniform in [-init_w, init_w]."""
    if "the last layer" in facts or "weights of the last layer / init_w" not in facts:
        return facts
    seen: dict[str, Any] = {}
    for name in ("weights", "biases"):
        drawn = facts[f"{name} of the last layer / init_w"]
        root = drawn["count"] ** 0.5
        largest = drawn["largest absolute value"]
        scale = max(largest, 1e-9)  # that of the range is looked at first, and apart
        seen |= {
            # The largest of n is less than 1 - 12/n once in 160,000 times.
            f"the largest of the {name} of the last layer is init_w": 1 - 12 / drawn["count"] < largest <= 1.0001,
            f"{name} of the last layer have mean 0": within_errors(drawn["mean"], 0.0, 0.578 * scale / root),
            f"{name} of the last layer are uniformly distributed": within_errors(
                drawn["mean absolute value"] / scale, 0.5, 0.289 / root
            )
            and within_errors(drawn["mean square"] / scale**2, 1 / 3, 0.299 / root),
            f"{name} of the last layer differ between networks": facts[f"{name} of the last layer differ between networks"],
        }
    hidden = facts["mean absolute hidden weight, times √(number of inputs)"]
    # 0.5 as torch draws them, 1.1 where variances are kept from layer to layer.
    return seen | {"hidden weights have a usual scale": hidden[0] > 0.1 and hidden[1] < 3}


def uniform_actions(facts: dict[str, Any]) -> dict[str, Any]:
    """Return whether many random actions are uniform in [-1, 1]; a little noise may have been added, and clipped."""
    if "mean of each dimension" not in facts:
        return facts
    # Of 2000: standard errors 0.013, 0.007, 0.011 and 0.022; what the noise does is allowed for besides.
    return only("transition is [state, action]")(facts) | {
        "the mean of random actions is 0": within_errors(facts["mean of each dimension"], 0.0, 0.016),
        "all values in [-1, 1] are equally frequent": within_errors(facts["variance of each dimension"], 1 / 3, 0.009)
        and within_errors(facts["share within ±½ in each dimension"], 0.5, 0.014),
        "all actions are in [-1, 1]": facts["largest absolute value"] <= 1.0001,
        "random actions come close to -1 or 1": facts["largest absolute value"] > 0.99,
        "few actions are exactly -1 or 1": facts["share of values that are exactly -1 or 1"] < 0.1,
        "the dimensions are independent": within_errors(facts["largest correlation between two dimensions"], 0.0, 0.025),
    }


def varies_as_chance(counts: np.ndarray, variance: float) -> bool:
    """Return whether counts of equally likely rows differ no more than by chance, all of them taken together.

    A group of rows may be drawn too rarely although none of them is alone beyond its limit. Their sum of squares is that of
    Pearson's χ² test, with a limit of `ERRORS` standard errors (Wilson and Hilferty 1931).
    """
    if not variance:
        return True
    freedom = len(counts) - 1
    squares = float(np.square(counts - counts.mean()).sum()) / variance * freedom / len(counts)
    return bool(squares <= freedom * (1 - 2 / (9 * freedom) + ERRORS * (2 / (9 * freedom)) ** 0.5) ** 3)


def drawn_evenly(facts: dict[str, Any]) -> dict[str, Any]:
    """Return whether rows of a buffer are drawn at random: each as often, and not only neighbors together."""
    if "how often each row is sampled" not in facts:
        return facts
    came = np.asarray(facts["how often each row is sampled"], np.float64)
    rows, size = came.size, came.sum() / facts["batches"]
    share = size / rows
    variance = facts["batches"] * max(share * (1 - share), 0)  # of how often a row is drawn
    # Of how many rows two batches in a row share: hypergeometric. Of neighbors, drawn at random, there are a few percent.
    spread = (size * share * (1 - share) * (rows - size) / max(rows - 1, 1) / facts["batches"]) ** 0.5
    return {
        "all rows are sampled equally often": within_errors(came, came.mean(), variance**0.5)
        and varies_as_chance(came, variance),
        "a batch contains rows that are not neighbors": share > 0.999
        or facts["share of batches that are neighboring rows"] < 0.3,
        "two batches have different rows": share > 0.999 or not facts["two batches are the same"],
        # Different rows are counted: batches with rows that come twice have fewer of them.
        "a batch does not depend on the previous batch": facts["a batch has a row twice"]
        or within_errors(facts["mean number of rows shared with the previous batch"], size * share, spread + 1e-9),
    }
