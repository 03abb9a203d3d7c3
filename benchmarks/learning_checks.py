"""Measures how often the learning checks would fail the solution, and pass a policy that has learnt nothing.

    python benchmarks/learning_checks.py [--seeds 200] [-o benchmarks/results]

The checks train with seed 1 and, if that fails, with seed 2; here every seed is tried alone, so the chance that a right
submission with its own random stream fails is about the square of the share of failures.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import json
import sys
import time
from pathlib import Path
from types import ModuleType

import numpy as np
import torch
from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import utils  # noqa: E402

THRESHOLD = 0.5  # LEARNED in tests/visible/test_policy_gradient.py
SETTINGS = {
    "learning_vanilla": {"loss": "get_vanilla_policy_gradient_loss", "rollouts": 800, "epochs": 1},
    "learning_ppo": {"loss": "get_PPO_policy_gradient_loss", "rollouts": 400, "epochs": 4},
}


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("-o", dest="output", type=Path, default=ROOT / "benchmarks" / "results")
    options = parser.parse_args()
    torch.set_num_threads(1)
    solution = load(ROOT / "solutions" / "policy_gradient" / "submitted.py")
    drivers = load(ROOT / "tests" / "drivers" / "policy_gradient.py")

    results = {}
    for question, setting in SETTINGS.items():
        rates, seconds = [], []
        for seed in tqdm(range(options.seeds), desc=question):
            began = time.process_time()
            with contextlib.redirect_stdout(io.StringIO()):
                weights = drivers.learn(solution, seed=seed, **setting)["weights"]
            seconds.append(time.process_time() - began)
            rates.append(drivers.play(None, weights, seed)["success rate"])
        results[question] = summary(rates) | {"cpu seconds of training, median": round(float(np.median(seconds)), 2)}
    rates = []
    for seed in tqdm(range(options.seeds), desc="untrained"):
        torch.manual_seed(seed)
        policy = utils.SimpleReLuNetwork(2, 3, out_logsoftmax=True)
        rates.append(drivers.play(None, [p.detach().numpy() for p in policy.parameters()], seed)["success rate"])
    results["untrained policy"] = summary(rates)

    text = json.dumps({"seeds": options.seeds, "threshold": THRESHOLD, **results}, indent=2)
    print(text)
    path = options.output / "learning_checks.json"
    path.write_text(text + "\n")
    print(f"wrote {path}")


def summary(rates: list[float]) -> dict[str, float | list[float]]:
    """Return the share of seeds at or above the threshold, and the spread of success rates."""
    ordered = sorted(rates)
    return {
        "share at or above the threshold": round(sum(rate >= THRESHOLD for rate in rates) / len(rates), 4),
        "lowest": ordered[:3],
        "median": ordered[len(ordered) // 2],
        "highest": ordered[-3:],
    }


if __name__ == "__main__":
    main()
