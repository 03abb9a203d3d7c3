"""Views, as far as the proofs of the assignments do not show them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from grader.judge.views import Stored, aligned, only, rows_once, within_errors
from tests.kit.loading import load

INPUTS = ("tests/views/ddpg.py", "tests/views/policy_gradient.py")


def test_fact_that_no_answer_has() -> None:
    """Catches: a check of a fact that its driver no longer tells, which nothing could fail."""
    with pytest.raises(LookupError, match="no fact 'losses'; it has 'returned', 'loss'"):
        only("losses")(Stored({"returned": "a number", "loss": 1.0}))


def test_fact_that_a_submission_lacks() -> None:
    """Catches: a submission that returns something else, of which nothing more can be told, and is not told so."""
    assert only("loss")({"returned": "a list of 3"}) == {"returned": "a list of 3"}


def test_rows_that_no_answer_has() -> None:
    """Catches: a case whose size was changed, and a check of it that looks at no row any more."""
    facts = {"batches": [{"row": [0, 1]}, {"row": [2, 3]}]}
    assert rows_once([4], 1)(Stored(facts))["an epoch leaves rows out"] is False
    with pytest.raises(LookupError, match="has 4 rows in all epochs, the check says 5"):
        rows_once([5], 1)(Stored(facts))
    assert rows_once([5], 1)(facts) == {"rows in each minibatch": [2, 2]}


def test_numbers_that_chance_has_put_together() -> None:
    """Catches: advantages normalized in each minibatch, known only to whoever shuffles as the solution does."""
    told = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        batches = []
        for rows in np.split(np.concatenate([rng.permutation(8) for _ in range(3)]), 6):
            values = rows**2 + 1.0
            batches.append({"row": rows.tolist(), "advantage": ((values - values.mean()) / (values.std() + 1e-8)).tolist()})
        told.append(aligned("advantage")({"batches": batches}))
    assert told[0] == told[1]
    assert told[0]["advantage is standardized within each minibatch"]


def test_not_a_number_is_itself() -> None:
    """Catches: a hint that depends on whether all NaN of an answer are one object, as a decoder may leave them."""
    apart = [{"row": [row], "advantage": [float("nan")]} for row in (0, 1, 0, 1)]
    together = [{"row": batch["row"], "advantage": [math.nan]} for batch in apart]
    told, expected = (aligned("advantage")({"batches": batches}) for batches in (apart, together))
    assert told["a row always comes with the same advantage"]
    assert str(told) == str(expected)


def test_a_training_that_never_calls_its_losses() -> None:
    """Catches: a view that divides by the minibatches of such a training, so that the check says nothing of what is wrong."""
    view = load("tests/views/policy_gradient.py").both_updates(0.5)
    update = {"multiple": 1.0, "rest": 0.0}
    steps = [{"policy": update, "value": {"multiple": 0.5, "rest": 0.0}}]
    facts = {"steps": steps, "batches": [], "moved by more than the steps": {"value": 0.0}}
    assert view(facts)["number of updates per minibatch"] == 1.0
    assert view({**facts, "batches": [{}], "steps": steps * 3})["number of updates per minibatch"] == 3.0


def path_of_noise(rng: np.random.Generator, theta: float, sigma: float, samples: int) -> dict:
    """Return the facts of a right path, as the driver of `ddpg` tells them; by cumulative sums, not step by step."""
    decay = (1 - theta) ** np.arange(samples)
    x = np.array([np.convolve(sigma * rng.normal(size=samples), decay[:200])[:samples] for _ in range(2)]).T
    starts = sigma * rng.normal(size=(samples // 8, 2, 2))
    starts[:, 1] += (1 - theta) * starts[:, 0]
    around = x - x.mean(axis=0)
    variance = around.var(axis=0)
    first = starts[:, 0]
    return {
        "parameters": {"theta": theta, "sigma": sigma},
        "statistics of many successive samples": {
            "number of samples": samples,
            "mean": x.mean(axis=0),
            "variance": variance,
            "correlation with the previous sample": (around[1:] * around[:-1]).mean(axis=0) / variance,
            "correlation with the sample two steps earlier": (around[2:] * around[:-2]).mean(axis=0) / variance,
            "largest correlation between the changes in two dimensions": abs(np.corrcoef(np.diff(x, axis=0).T)[0, 1]),
        },
        "statistics after a reset": {
            "number of resets": len(starts),
            "mean of the first sample": first.mean(axis=0),
            "variance of the first sample": first.var(axis=0),
            "share of first samples within one standard deviation": (
                np.abs(first - first.mean(axis=0)) < first.std(axis=0)
            ).mean(axis=0),
            "variance of the second sample": starts[:, 1].var(axis=0),
        },
    }


@pytest.mark.parametrize(("theta", "sigma"), [(0.15, 0.2), (0.4, 0.3), (1.0, 0.1), (0.7, 1.5)])
def test_standard_errors_of_noise(theta: float, sigma: float) -> None:
    """Catches: bounds that right noise misses too often, or that are far wider than they say."""
    ornstein_uhlenbeck = load("tests/views/ddpg.py").ornstein_uhlenbeck
    rng = np.random.default_rng(5)
    runs = [path_of_noise(rng, theta, sigma, 8000) for _ in range(60)]
    assert all(all(value for value in ornstein_uhlenbeck()(facts).values()) for facts in runs)
    # As multiples of the standard error that the view takes: their spread over the runs must be about 1.
    spread = 1 - (1 - theta) ** 2
    errors = {
        "mean": (0.0, sigma / theta / 8000**0.5),
        "variance": (sigma**2 / spread, sigma**2 / spread * (2 * (2 - spread) / spread / 8000) ** 0.5),
        "correlation with the previous sample": (1 - theta, (spread / 8000) ** 0.5),
    }
    for name, (expected, error) in errors.items():
        found = np.array([facts["statistics of many successive samples"][name] for facts in runs]) - expected
        assert 0.75 < found.std() / error < 1.3, name
        assert within_errors(found + expected, expected, error)
