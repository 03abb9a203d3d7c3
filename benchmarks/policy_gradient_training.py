"""Train the reference solution with the settings of ECE 448, machine problem 11; report success rates and cost.

Machine problem 11 prints one success rate for each of four settings, each from one run. Here every setting gets many random
seeds, so that the notebook can say what to expect. Success is that of `utils.get_success_rate` over 100 rollouts after
training.

    python benchmarks/policy_gradient_training.py [--seeds 20] [--workers 1] [--settings NAME ...] [--work DIR]
        [-o benchmarks/results]

writes policy_gradient_training.json and policy_gradient_training.png into the output folder and prints a table. With
--settings, it trains only these, and keeps the other figures that are there. Each training leaves SETTING-SEED.json in the
work folder; what is there is not trained again, so name an empty folder after a change of the solution.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import multiprocessing
import os
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import utils
from benchmarks.trainings import load_solution, machine, save

ROOT = Path(__file__).resolve().parents[1]
ROLLOUTS, ROLLOUTS_PER_COLLECTION, EPOCHS, MINIBATCH = 2000, 4, 8, 64
EPISODE_LENGTH = 20
TEST_ROLLOUTS = 100
GOOD = 0.95  # a seed with at least this success counts as solved
CURVE_POINTS = 50
COST_REPEATS = 3
COST_GOAL = 2.0


@dataclass(frozen=True)
class Setting:
    """One experiment.

    Attributes:
        claim: The success rate that machine problem 11 prints for it; None for what it does not try.
        rollouts_per_collection: How many rollouts are collected before each training.
    """

    name: str
    label: str
    loss: str
    critic: bool
    learning_rate: float
    claim: float | None = None
    rollouts_per_collection: int = ROLLOUTS_PER_COLLECTION
    epochs: int = EPOCHS
    critic_loss_multiplier: float = 0.01


SETTINGS = [
    Setting("vanilla_returns", "vanilla, returns, lr 1e-3", "get_vanilla_policy_gradient_loss", False, 1e-3, 0.51),
    Setting("vanilla_advantages", "vanilla, advantages, lr 1e-3", "get_vanilla_policy_gradient_loss", True, 1e-3, 1.0),
    Setting("vanilla_advantages_fast", "vanilla, advantages, lr 4e-3", "get_vanilla_policy_gradient_loss", True, 4e-3, 0.12),
    Setting("ppo", "PPO, lr 4e-3", "get_PPO_policy_gradient_loss", True, 4e-3, 1.0),
]
PPO = SETTINGS[-1]
# One change each of PPO's settings, for the seeds that end below 95 %.
CHANGES = [
    replace(PPO, name="ppo_eight_rollouts", label="PPO, 8 rollouts at a time", claim=None, rollouts_per_collection=8),
    replace(PPO, name="ppo_four_epochs", label="PPO, 4 epochs", claim=None, epochs=4),
    replace(PPO, name="ppo_critic_loss", label="PPO, critic loss x 10", claim=None, critic_loss_multiplier=0.1),
    replace(PPO, name="ppo_half_rate", label="PPO, lr 2e-3", claim=None, learning_rate=2e-3),
]
ALL = {setting.name: setting for setting in (*SETTINGS, *CHANGES)}


def make_networks() -> tuple[utils.SimpleReLuNetwork, utils.SimpleReLuNetwork]:
    """Return machine problem 11's (actor, critic), freshly initialized from torch's global generator."""
    actor = utils.SimpleReLuNetwork(2, 3, hidden_dims=[16], out_logsoftmax=True)
    critic = utils.SimpleReLuNetwork(2, 1, hidden_dims=[16])
    return actor, critic


def train(solution: Any, setting: Setting, seed: int) -> dict[str, Any]:
    """Return the success after training, the final reward of every collection, and the CPU seconds of training."""
    torch.manual_seed(seed)
    env = utils.GridWorldPointTargetEnv(grid_size=10, dimensions=1, episode_length=EPISODE_LENGTH)
    env.reset(seed=seed)
    actor, critic = make_networks()
    parameters = itertools.chain(actor.parameters(), critic.parameters()) if setting.critic else actor.parameters()
    optimizer = torch.optim.Adam(parameters, lr=setting.learning_rate)
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):  # the solution prints its progress
        begin = time.process_time()
        _, _, final_rewards, _ = solution.train_policy_gradient(
            env=env,
            policy=actor,
            optimizer=optimizer,
            get_policy_gradient_loss=getattr(solution, setting.loss),
            get_returns=solution.get_returns,
            rollouts=ROLLOUTS,
            rollouts_before_training=setting.rollouts_per_collection,
            training_epochs_per_rollout=setting.epochs,
            minibatch_size=MINIBATCH,
            critic_loss_multiplier=setting.critic_loss_multiplier,
            value_net=critic if setting.critic else None,
            get_advantages=solution.get_advantages,
            get_value_net_loss=solution.get_value_net_loss,
        )
        cpu_seconds = time.process_time() - begin
        buffer, _ = solution.collect_rollouts(env, actor, TEST_ROLLOUTS)
    success = round(utils.get_success_rate(env, buffer), 6)  # a float32 mean of 0.95 would count as less than 0.95
    return {"success": success, "final_rewards": final_rewards, "cpu_seconds": cpu_seconds}


def bare_work() -> float:
    """Return the CPU seconds of what no implementation can leave out: the updates and the forward passes of PPO."""
    actor, critic = make_networks()
    optimizer = torch.optim.Adam(itertools.chain(actor.parameters(), critic.parameters()), lr=PPO.learning_rate)
    rows, row = torch.rand(MINIBATCH, 2), torch.rand(1, 2)
    steps_per_collection = ROLLOUTS_PER_COLLECTION * EPISODE_LENGTH
    minibatches = -(-steps_per_collection // MINIBATCH)
    updates = ROLLOUTS // ROLLOUTS_PER_COLLECTION * EPOCHS * minibatches
    begin = time.process_time()
    for _ in range(updates):
        loss = actor(rows).mean() + critic(rows).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        for _ in range(ROLLOUTS * EPISODE_LENGTH):
            actor(row)
    return time.process_time() - begin


def measure_cost() -> dict[str, Any]:
    """Return the CPU seconds of PPO's training and of the bare work, taken in turn, and the median of their ratios."""
    solution = load_solution("policy_gradient")
    optimizer = torch.optim.Adam([torch.nn.Parameter(torch.zeros(1))])  # the first one imports for a second
    optimizer.step()
    training, bare = [], []
    for repeat in tqdm(range(COST_REPEATS), desc="cost of PPO", unit="repeat"):
        training.append(train(solution, PPO, repeat)["cpu_seconds"])
        bare.append(bare_work())
    ratios = [a / b for a, b in zip(training, bare, strict=True)]
    return {
        "goal_at_most": COST_GOAL,
        "median_ratio": rounded(np.median(ratios)),
        "ratios": rounded(ratios),
        "training_cpu_seconds": rounded(training),
        "bare_cpu_seconds": rounded(bare),
    }


def start_worker() -> None:
    torch.set_num_threads(1)


def run_task(task: tuple[Setting, int, Path]) -> tuple[str, int, dict[str, Any]]:
    """Return (name of the setting, seed, what `train` returns), in a worker process; what is in the file is believed."""
    setting, seed, path = task
    if not path.is_file():
        save(train(load_solution("policy_gradient"), setting, seed), path)
    return setting.name, seed, json.loads(path.read_text(encoding="utf-8"))


def train_all(settings: list[Setting], seeds: int, workers: int, work: Path) -> dict[str, list[dict[str, Any]]]:
    """Return what `train` returns, by name of the setting, in the order of the seeds."""
    tasks = [(setting, seed, work / f"{setting.name}-{seed}.json") for setting in settings for seed in range(seeds)]
    runs: dict[str, dict[int, dict[str, Any]]] = {setting.name: {} for setting in settings}
    with multiprocessing.get_context("spawn").Pool(workers, initializer=start_worker) as pool:
        for name, seed, run in tqdm(pool.imap_unordered(run_task, tasks), total=len(tasks), desc="training", unit="run"):
            runs[name][seed] = run
    return {name: [by_seed[seed] for seed in range(seeds)] for name, by_seed in runs.items()}


def summarize(setting: Setting, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return one setting's figures, plain and rounded, ready for JSON."""
    success = [run["success"] for run in runs]
    # Each point of a curve is the mean over as many collections as make CURVE_POINTS points.
    curves = np.array([run["final_rewards"] for run in runs]).reshape(len(runs), CURVE_POINTS, -1).mean(axis=2)
    return {
        "label": setting.label,
        "claim_of_seed_002": setting.claim,
        "success_median": rounded(np.median(success)),
        "success_mean": rounded(np.mean(success)),
        "success_quartiles": rounded(np.quantile(success, [0.25, 0.75])),
        f"seeds_with_success_at_least_{GOOD}": sum(rate >= GOOD for rate in success),
        "seeds": len(success),
        "training_cpu_seconds_median": rounded(np.median([run["cpu_seconds"] for run in runs])),
        "success_by_seed": rounded(success),
        "final_reward": {
            "rollouts": ((np.arange(CURVE_POINTS) + 1) * (ROLLOUTS // CURVE_POINTS)).tolist(),
            "mean": rounded(curves.mean(axis=0)),
            "quantile_10": rounded(np.quantile(curves, 0.1, axis=0)),
            "quantile_90": rounded(np.quantile(curves, 0.9, axis=0)),
        },
    }


def rounded(numbers: Any) -> Any:
    """Return a number or the numbers of an array as plain floats of three decimals."""
    return (np.round(numbers, 3) + 0.0).tolist()  # + 0.0 turns -0.0 into 0.0


def draw(result: dict[str, Any], path: Path) -> None:
    """Save the learning curves of the settings, and under them the success of every seed."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    drawn = (*SETTINGS, CHANGES[0])  # the other changes are in the JSON alone
    summaries = [result["settings"][setting.name] for setting in drawn if setting.name in result["settings"]]
    colors = ["#7f7f7f", "#0072b2", "#d55e00", "#009e73", "#cc79a7"]  # distinct for color-blind readers too
    figure = pyplot.figure(figsize=(13, 6.4), layout="constrained")
    grid = figure.add_gridspec(2, len(summaries), height_ratios=[1, 1.1])

    shared = None
    for column, (summary, color) in enumerate(zip(summaries, colors, strict=False)):
        axes = shared = figure.add_subplot(grid[0, column], sharey=shared)
        curve = summary["final_reward"]
        axes.fill_between(curve["rollouts"], curve["quantile_10"], curve["quantile_90"], color=color, alpha=0.25, lw=0)
        axes.plot(curve["rollouts"], curve["mean"], color=color)
        axes.set_title(summary["label"], fontsize=10, color=color, fontweight="bold")
        axes.set(xlabel="rollouts", xlim=(0, ROLLOUTS), xticks=[0, ROLLOUTS // 2, ROLLOUTS])
        axes.grid(alpha=0.3)
        if column == 0:
            axes.set_ylabel("last reward of a rollout")
        else:
            axes.tick_params(labelleft=False)
    axes.text(0.97, 0.05, "line: mean of seeds\nband: 10 to 90 % of seeds", transform=axes.transAxes, ha="right", fontsize=8)

    axes = figure.add_subplot(grid[1, :])
    for column, (summary, color) in enumerate(zip(summaries, colors, strict=False)):
        success = 100 * np.sort(summary["success_by_seed"])
        # Sorted from left to right, so that equal rates do not hide each other.
        places = column + (np.linspace(-0.32, 0.32, len(success)) if len(success) > 1 else np.zeros(1))
        axes.scatter(places, success, color=color, s=26, zorder=3, label="one seed" if column == 0 else None)
        median, claim = 100 * summary["success_median"], summary["claim_of_seed_002"]
        axes.hlines(median, column - 0.4, column + 0.4, color=color, lw=2, label="median" if column == 0 else "")
        if claim is not None:
            axes.scatter(
                column + 0.43, 100 * claim, marker="<", facecolor="white", edgecolor="black", s=60, zorder=4,
                label="printed in machine problem 11" if column == 0 else None,
            )  # fmt: skip
    good = f"seeds_with_success_at_least_{GOOD}"
    axes.axhline(100 * GOOD, color="black", lw=0.8, ls=":", label=f"{GOOD:.0%}")
    axes.set_xticks(
        range(len(summaries)),
        [f"{summary['label']}\n{summary[good]} of {summary['seeds']} seeds ≥ {GOOD:.0%}" for summary in summaries],
    )
    axes.set(xlim=(-0.5, len(summaries) - 0.5), ylim=(-4, 104), ylabel=f"success, % of {TEST_ROLLOUTS} rollouts")
    axes.grid(axis="y", alpha=0.3)
    axes.legend(loc="lower right", bbox_to_anchor=(1, 0.08), fontsize=8, framealpha=0.9)
    figure.savefig(path, dpi=110)


def print_table(result: dict[str, Any]) -> None:
    print(f"{'setting':30}{'MP 11':>9}{'median':>8}{'mean':>7}{'quartiles':>15}{'>= 95 %':>10}{'CPU s':>8}")
    for summary in result["settings"].values():
        low, high = summary["success_quartiles"]
        solved = f"{summary[f'seeds_with_success_at_least_{GOOD}']}/{summary['seeds']}"
        claim = "" if summary["claim_of_seed_002"] is None else f"{summary['claim_of_seed_002']:.0%}"
        print(
            f"{summary['label']:30}{claim:>9}{summary['success_median']:8.0%}"
            f"{summary['success_mean']:7.0%}{f'{low:.0%} to {high:.0%}':>15}{solved:>10}"
            f"{summary['training_cpu_seconds_median']:8.1f}"
        )
    cost = result["cost_of_ppo"]
    print(f"PPO training / bare updates and forwards: {cost['median_ratio']:.2f} (goal: at most {cost['goal_at_most']})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20, help="random seeds for each setting (default: 20)")
    parser.add_argument("--workers", type=int, default=1, help="processes that train at the same time (default: 1)")
    parser.add_argument("--settings", nargs="+", choices=ALL, help="train only these (default: all), and keep other figures")
    work = Path(tempfile.gettempdir()) / "policy_gradient_runs"
    parser.add_argument("--work", type=Path, default=work, help="folder for the trainings (default: %(default)s)")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "benchmarks" / "results", help="folder for the results")
    arguments = parser.parse_args()
    if arguments.seeds < 1 or arguments.workers < 1:
        parser.error("--seeds and --workers must be at least 1")

    torch.set_num_threads(1)
    for folder in (arguments.output, arguments.work):
        folder.mkdir(parents=True, exist_ok=True)
    path = arguments.output / "policy_gradient_training"
    if arguments.settings and not path.with_suffix(".json").is_file():
        parser.error(f"--settings adds to {path}.json, which is not there; train all settings first")
    kept = json.loads(path.with_suffix(".json").read_text(encoding="utf-8")) if arguments.settings else {}
    # Measured before the workers start: they would disturb it.
    cost = kept["cost_of_ppo"] if arguments.settings else measure_cost()
    chosen = [ALL[name] for name in arguments.settings or ALL]
    runs = train_all(chosen, arguments.seeds, arguments.workers, arguments.work)
    settings = kept.get("settings", {}) | {setting.name: summarize(setting, runs[setting.name]) for setting in chosen}
    result = {
        "about": "success of the solution with the settings of machine problem 11 (1-D grid of 10, 20 steps, 2000 rollouts)",
        "machine": machine(),
        "cost_of_ppo": cost,
        "settings": {name: settings[name] for name in ALL if name in settings},
    }
    save(result, path.with_suffix(".json"))
    draw(result, path.with_suffix(".png"))
    print_table(result)
    print(f"wrote {path}.json and {path}.png")


if __name__ == "__main__":
    main()
