"""Compares the steps per second of the grid world with those of gymnasium's CartPole-v1, from one run.

Random actions, drawn beforehand; resets at the end of an episode are part of the time. The grid world gets its actions
as int64 `[1, 1]` tensors, as in training; CartPole gets plain integers, the fastest that it takes. The environments
take turns, and the medians of their speeds are compared.

    python benchmarks/environment_speed.py [--steps 20000] [--repeats 9] [-o benchmarks/results]

prints the ratios and writes environment_speed.json into the output folder.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path

import gymnasium
import numpy as np
import torch
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import utils

ROOT = Path(__file__).resolve().parents[1]
GOAL = 1.5  # steps per second of the one-dimensional grid world over those of CartPole


def time_grid_world(env: utils.GridWorldPointTargetEnv, steps: int) -> float:
    """Return the CPU seconds of that many random steps."""
    actions = list(torch.randint(env.num_actions, (steps, 1, 1)))
    begin = time.process_time()
    env.reset()
    for action in actions:
        _, terminated, _ = env.step(action)
        if terminated:
            env.reset()
    return time.process_time() - begin


def time_cart_pole(env: gymnasium.Env, steps: int) -> float:
    """Return the CPU seconds of that many random steps."""
    actions = torch.randint(2, (steps,)).tolist()
    begin = time.process_time()
    env.reset()
    for action in actions:
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset()
    return time.process_time() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=20_000, help="steps in one measurement (default: 20000)")
    parser.add_argument("--repeats", type=int, default=9, help="measurements of each environment (default: 9)")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "benchmarks" / "results", help="folder for the result")
    arguments = parser.parse_args()
    if arguments.steps < 1 or arguments.repeats < 1:
        parser.error("--steps and --repeats must be at least 1")

    torch.set_num_threads(1)
    line, plane = (utils.GridWorldPointTargetEnv(dimensions=dimensions) for dimensions in (1, 2))
    cart_pole = gymnasium.make("CartPole-v1")
    measurements: dict[str, Callable[[int], float]] = {
        "grid_world_1d": lambda steps: time_grid_world(line, steps),
        "grid_world_2d": lambda steps: time_grid_world(plane, steps),
        "cart_pole": lambda steps: time_cart_pole(cart_pole, steps),
    }
    for measure in measurements.values():
        measure(1000)  # the first steps pay for imports and caches
    speeds: dict[str, list[float]] = {name: [] for name in measurements}
    for _ in tqdm(range(arguments.repeats), unit="repeat"):
        for name, measure in measurements.items():
            speeds[name].append(arguments.steps / measure(arguments.steps))

    medians = {name: float(np.median(values)) for name, values in speeds.items()}
    ratios = {name: round(medians[name] / medians["cart_pole"], 2) for name in ("grid_world_1d", "grid_world_2d")}
    result = {
        "about": "steps per second of CPU time, resets included: medians of measurements taken in turn",
        "machine": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "gymnasium": gymnasium.__version__,
            "system": platform.platform(),
        },
        "steps": arguments.steps,
        "repeats": arguments.repeats,
        "steps_per_second": {name: round(median) for name, median in medians.items()},
        "ratio_to_cart_pole": ratios,
        "goal_1d_at_least": GOAL,
    }
    arguments.output.mkdir(parents=True, exist_ok=True)
    path = arguments.output / "environment_speed.json"
    path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    for name, median in medians.items():
        print(f"{name:15}{median:10,.0f} steps per second")
    print(f"1-D grid world / CartPole: {ratios['grid_world_1d']:.2f} (goal: at least {GOAL})")
    print(f"2-D grid world / CartPole: {ratios['grid_world_2d']:.2f}")
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
