"""Compare the steps per second of the environments with those of gymnasium's CartPole-v1, and batches with SyncVectorEnv.

Random actions, drawn beforehand; resets at the end of an episode are part of the time. The grid world of the assignments
gets its actions as int64 `[1, 1]` tensors, as in training; the others get what they take fastest. A batch is 64 environments,
each of whose steps counts; SyncVectorEnv holds as many bare ones of the same class. All take turns, and the medians of
their speeds are compared, in one run.

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
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import utils

ROOT = Path(__file__).resolve().parents[1]
NUM_ENVS = 64  # in a batch
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


def time_single(env: gymnasium.Env, steps: int) -> float:
    """Return the CPU seconds of that many random steps."""
    space = env.action_space
    if isinstance(space, gymnasium.spaces.Discrete):
        actions = torch.randint(int(space.n), (steps,)).tolist()
    else:
        assert space.shape is not None
        actions = list(np.random.default_rng().uniform(-1, 1, (steps, *space.shape)).astype(space.dtype))
    begin = time.process_time()
    env.reset()
    for action in actions:
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset()
    return time.process_time() - begin


def time_batch(env: gymnasium.vector.VectorEnv, steps: int) -> float:
    """Return the CPU seconds of so many random steps of all environments that they are at least `steps` together."""
    actions = [env.action_space.sample() for _ in range(-(-steps // env.num_envs))]
    begin = time.process_time()
    env.reset()
    for action in actions:
        env.step(action)  # resets by itself
    return (time.process_time() - begin) * steps / (len(actions) * env.num_envs)


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
    single = {
        "point_mass": utils.PointMass,
        "grid_world_env": utils.GridWorldEnv,
        "cue": utils.Cue,
        "metronome": utils.Metronome,
    }
    batch: dict[str, Any] = {
        "point_mass": utils.PointMassVector,
        "grid_world_env": utils.GridWorldVector,
        "cue": utils.CueVector,
        "metronome": utils.MetronomeVector,
    }
    measurements: dict[str, Callable[[int], float]] = {
        "grid_world_1d": partial(time_grid_world, line),
        "grid_world_2d": partial(time_grid_world, plane),
        "cart_pole": partial(time_single, cart_pole),
    }
    for name, make in single.items():
        autoreset = batch[name].metadata["autoreset_mode"]
        together = gymnasium.vector.SyncVectorEnv([make] * NUM_ENVS, autoreset_mode=autoreset)
        measurements |= {
            name: partial(time_single, make()),
            f"{name}_batch": partial(time_batch, batch[name](NUM_ENVS)),
            f"{name}_sync": partial(time_batch, together),
        }
    for measure in measurements.values():
        measure(1000)  # the first steps pay for imports and caches
    speeds: dict[str, list[float]] = {name: [] for name in measurements}
    for _ in tqdm(range(arguments.repeats), unit="repeat"):
        for name, measure in measurements.items():
            speeds[name].append(arguments.steps / measure(arguments.steps))

    medians = {name: float(np.median(values)) for name, values in speeds.items()}
    ratios = {name: round(medians[name] / medians["cart_pole"], 2) for name in ("grid_world_1d", "grid_world_2d", *single)}
    batch_ratios = {name: round(medians[f"{name}_batch"] / medians[f"{name}_sync"], 1) for name in single}
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
        "environments_in_a_batch": NUM_ENVS,
        "batch_ratio_to_sync_vector_env": batch_ratios,
        "goal_1d_at_least": GOAL,
    }
    arguments.output.mkdir(parents=True, exist_ok=True)
    path = arguments.output / "environment_speed.json"
    path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    for name, median in medians.items():
        print(f"{name:21}{median:11,.0f} steps per second")
    for name, ratio in ratios.items():
        print(f"{name} / cart_pole: {ratio:.2f}" + (f" (goal: at least {GOAL})" if name == "grid_world_1d" else ""))
    for name, ratio in batch_ratios.items():
        print(f"{name}, {NUM_ENVS} in a batch / in a SyncVectorEnv: {ratio:.1f}")
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
