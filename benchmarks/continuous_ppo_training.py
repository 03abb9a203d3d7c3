"""Train the solution of `continuous_ppo` on HalfCheetah-v5 as in Practical RL, week 9, next to Stable-Baselines3.

    python benchmarks/continuous_ppo_training.py run SETTING SEED [SEED ...] [--work DIR]   # one million interactions for each
    python benchmarks/continuous_ppo_training.py speed [-o benchmarks/results]              # interactions per second, in pairs
    python benchmarks/continuous_ppo_training.py report [--work DIR] [-o benchmarks/results]

A setting is one of SETTINGS. A run takes five to fifteen minutes of one core and leaves SETTING-SEED.json in the work folder;
what is there is not run again. `report` adds the runs in the work folder to continuous_ppo_training.json, and draws the .png.

All settings have the seed's networks (2 × 64 tanh), γ 0.99, λ 0.95, 2048 steps, 10 epochs of 32 minibatches, clip ranges of
0.2 for ratio and value, value coefficient 0.25, gradient norm 0.5, Adam with ε 1e-5, its learning rate from 3e-4 down to 0.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import gymnasium as gym
import numpy as np
import torch
from gymnasium.wrappers import ClipAction
from scipy import stats
from torch import nn

ROOT = Path(__file__).resolve().parents[1]
ASSIGNMENT = ROOT / "assignments" / "continuous_ppo"
sys.path[:0] = [str(ROOT), str(ASSIGNMENT)]

from benchmarks.trainings import compare_seeds, load_solution, machine, save
from mujoco_wrappers import Normalize
from training import make_optimizer, train

ENV = "HalfCheetah-v5"
INTERACTIONS = 1_000_000
LAST = 100  # episodes whose mean counts
CURVE_POINTS = 50
WALKS = 5  # episodes that show how a trained policy moves
STEPS, MINIBATCHES, EPOCHS = 2048, 32, 10
WATCHED = (
    "explained_variance", "entropy", "policy_loss", "value_loss", "gradient_norm", "value_mean", "value_target_mean",
    "advantage_mean", "advantage_std", "kl", "ratio_max", "clipped",
)  # fmt: skip


@dataclass(frozen=True)
class Setting:
    """What is trained.

    Attributes:
        head: The gain of the policy's last layer.
        library: Whether Stable-Baselines3 is trained instead of the solution.
        upright: Whether lying on the back costs a reward of 1 a step in training; the raw return does not count it.
    """

    name: str
    label: str
    head: float
    library: bool = False
    upright: bool = False


SETTINGS = {
    setting.name: setting
    for setting in (
        Setting("seed", "solution, gain √2 everywhere (Practical RL)", math.sqrt(2)),
        Setting("small_head", "solution, policy head with gain 0.01", 0.01),
        Setting("upright", "solution, gain √2, lying on the back costs 1 a step", math.sqrt(2), upright=True),
        Setting("sb3", "Stable-Baselines3, gain √2 everywhere", math.sqrt(2), library=True),
        Setting("sb3_small_head", "Stable-Baselines3, policy head with gain 0.01", 0.01, library=True),
    )
}

# What the solution is held against, and what the small head is worth in both.
COMPARED = (
    *(("seed", "sb3"), ("small_head", "sb3_small_head"), ("small_head", "seed"), ("sb3_small_head", "sb3")),
    ("upright", "seed"),
)


class Upright(gym.Wrapper):
    """Takes 1 from the reward of each step that ends with the robot on its back."""

    def step(self, action: np.ndarray) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, float(reward) - is_on_its_back(self), terminated, truncated, info


def is_on_its_back(env: gym.Env) -> bool:
    """Return whether the torso has turned over; its pitch counts full turns as well."""
    robot: Any = env.unwrapped
    return math.cos(robot.data.qpos[2]) < 0


def train_solution(setting: Setting, seed: int, interactions: int, total: int) -> dict[str, Any]:
    """Train the solution for so many of `total` interactions; return what happened."""
    solution = load_solution("continuous_ppo")
    torch.manual_seed(seed)
    np.random.seed(seed)
    summaries = solution.Summaries(ClipAction(gym.make(ENV, disable_env_checker=True)))
    env = Normalize(Upright(summaries) if setting.upright else summaries)
    env.reset(seed=seed)
    model = solution.Model(env.observation_space.shape[0], env.action_space.shape[0])
    if setting.head != math.sqrt(2):
        head = [layer for layer in model.policy_net if isinstance(layer, nn.Linear)][-1]
        nn.init.orthogonal_(head.weight, gain=setting.head)
    policy = solution.Policy(model)
    sampler = solution.make_ppo_runner(env, policy, STEPS, num_epochs=EPOCHS, num_minibatches=MINIBATCHES)
    ppo = solution.PPO(policy, make_optimizer(model))

    def anneal(optimizer: Any, so_far: int, _: int) -> None:
        solution.anneal_learning_rate(optimizer, so_far, total)

    begin = time.process_time()
    history = train(sampler, ppo, anneal, interactions)
    cpu_seconds = time.process_time() - begin
    return {
        "cpu_seconds": cpu_seconds,
        "interactions": int(sampler.runner.step_var),
        "returns": summaries.episode_returns,
        "history": history,
        "model": model,
        "env": env,
    }


def train_library(setting: Setting, seed: int, interactions: int, total: int) -> dict[str, Any]:
    """Train Stable-Baselines3's PPO with the same networks and settings; return what happened."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

    monitor = Monitor(gym.make(ENV, disable_env_checker=True))
    env = VecNormalize(DummyVecEnv([lambda: monitor]), clip_obs=10.0, clip_reward=10.0, gamma=0.99)
    agent = PPO(
        "MlpPolicy",
        env,
        learning_rate=lambda remaining: 3e-4 * max(1 - (1 - remaining) * interactions / total, 0.0),
        n_steps=STEPS,
        batch_size=STEPS // MINIBATCHES,
        n_epochs=EPOCHS,
        gamma=0.99,
        gae_lambda=0.95,
        clip_range=0.2,
        clip_range_vf=0.2,
        ent_coef=0.0,
        vf_coef=0.25,
        max_grad_norm=0.5,
        policy_kwargs={
            "net_arch": {"pi": [64, 64], "vf": [64, 64]},
            "activation_fn": nn.Tanh,
            "optimizer_kwargs": {"eps": 1e-5},
        },
        seed=seed,
        device="cpu",
    )
    for head, gain in ((agent.policy.action_net, setting.head), (agent.policy.value_net, math.sqrt(2))):
        assert isinstance(head, nn.Linear)
        nn.init.orthogonal_(head.weight, gain=gain)
    begin = time.process_time()
    agent.learn(interactions)
    cpu_seconds = time.process_time() - begin
    return {"cpu_seconds": cpu_seconds, "interactions": agent.num_timesteps, "returns": monitor.get_episode_rewards()}


def run(setting: Setting, seed: int, work: Path) -> None:
    """Train for all interactions and leave the result in the work folder, and of the solution the trained policy as well."""
    path = work / f"{setting.name}-{seed}.json"
    if path.is_file():
        return
    found = (train_library if setting.library else train_solution)(setting, seed, INTERACTIONS, INTERACTIONS)
    model, env = found.pop("model", None), found.pop("env", None)
    if model is not None:
        moments = env.observation_moments
        normalization = {"mean": moments.mean, "variance": moments.variance, "clip": env.clipobs}
        torch.save({"model": model.state_dict(), "normalization": normalization}, work / f"{setting.name}-{seed}.pt")
    path.with_suffix(".part").write_text(json.dumps(found))
    os.replace(path.with_suffix(".part"), path)
    last = statistics.mean(found["returns"][-LAST:])
    print(f"{setting.name} {seed}: {last:.0f} ({found['cpu_seconds']:.0f} CPU s)", flush=True)


def speed(rounds: int = 5, interactions: int = 5 * STEPS) -> dict[str, Any]:
    """Return interactions per CPU second of the solution and of Stable-Baselines3, one after the other in one process."""
    seconds: dict[str, list[float]] = {"solution": [], "sb3": []}
    train_solution(SETTINGS["seed"], 0, STEPS, INTERACTIONS)  # the first optimizer of a process costs a second
    train_library(SETTINGS["sb3"], 0, STEPS, INTERACTIONS)
    for seed in range(rounds):
        for name, trainer, setting in (
            ("solution", train_solution, SETTINGS["seed"]),
            ("sb3", train_library, SETTINGS["sb3"]),
        ):
            found = trainer(setting, seed, interactions, INTERACTIONS)
            seconds[name].append(found["cpu_seconds"] / found["interactions"])
            print(f"{name}: {1 / seconds[name][-1]:.0f} interactions per CPU second", flush=True)
    ratios = [sb3 / ours for ours, sb3 in zip(seconds["solution"], seconds["sb3"], strict=True)]
    return {
        "solution_per_cpu_second": round(1 / statistics.median(seconds["solution"])),
        "sb3_per_cpu_second": round(1 / statistics.median(seconds["sb3"])),
        "ratio_median": round(statistics.median(ratios), 2),
        "ratios": [round(ratio, 2) for ratio in ratios],
        "goal_at_least": 1.8,
        "interactions_each": interactions,
    }


def measure(found: dict[str, Any]) -> dict[str, Any]:
    """Return what a run came to, and its learning curve."""
    # All episodes of HalfCheetah have 1000 steps.
    points = np.linspace(0, INTERACTIONS // 1000, CURVE_POINTS + 1).astype(int)
    return {
        "final": round(statistics.mean(found["returns"][-LAST:])),
        "cpu_seconds": round(found["cpu_seconds"]),
        "curve": [round(float(np.mean(found["returns"][a:b]))) for a, b in itertools.pairwise(points)],
    }


def summarize(setting: Setting, seeds: dict[str, Any]) -> dict[str, Any]:
    """Return what the runs of one setting came to.

    seeds: By seed, what `measure` returns, and for a policy that was saved, what `walk` returns.
    """
    finals = [found["final"] for found in seeds.values()]
    times = [found["cpu_seconds"] for found in seeds.values() if "cpu_seconds" in found]
    return {
        "label": setting.label,
        "final_median": round(statistics.median(finals)),
        "final_mean": round(statistics.mean(finals)),
        "final_interquartile_mean": round(float(stats.trim_mean(finals, 0.25))),
        "cpu_seconds_median": round(statistics.median(times)) if times else None,
        "seeds": seeds,
    }


def average_histories(histories: list[list[dict[str, Any]]]) -> dict[str, Any]:
    """Return the quantities to watch, as means over runs, at CURVE_POINTS updates."""
    rows = np.linspace(0, len(histories[0]) - 1, CURVE_POINTS).astype(int)
    return {"interactions": [histories[0][row]["interactions"] for row in rows]} | {
        name: [float(f"{np.mean([history[row][name] for history in histories]):.4g}") for row in rows] for name in WATCHED
    }


def compare(settings: dict[str, Any]) -> dict[str, Any]:
    """Return, for pairs of settings, the difference of interquartile means over seeds with its interval."""
    finals = {name: [found["final"] for found in summary["seeds"].values()] for name, summary in settings.items()}
    return {
        f"{one} less {other}": compare_seeds(finals[one], finals[other])
        for one, other in COMPARED
        if all(len(finals.get(name, [])) > 1 for name in (one, other))
    }


def walk(path: Path) -> dict[str, Any]:
    """Return how a trained policy moves, without its noise: return, share of steps on the back, distance a second."""
    saved = torch.load(path, weights_only=False)  # what `run` has saved
    solution = load_solution("continuous_ppo")
    env = gym.make(ENV, disable_env_checker=True)
    shapes: Any = env.observation_space.shape, env.action_space.shape
    model = solution.Model(shapes[0][0], shapes[1][0])
    model.load_state_dict(saved["model"])
    mean, variance, clip = (saved["normalization"][name] for name in ("mean", "variance", "clip"))
    returns, turned, speeds = [], [], []
    for seed in range(WALKS):
        observation, _ = env.reset(seed=seed)
        over, rewards = False, []
        while not over:
            scaled = np.clip((observation - mean) / np.sqrt(variance + 1e-8), -clip, clip)
            with torch.inference_mode():
                action = model(torch.as_tensor(scaled, dtype=torch.float32))[0].numpy()
            observation, reward, terminated, truncated, info = env.step(np.clip(action, -1, 1))
            over = terminated or truncated
            rewards.append(float(reward))
            turned.append(float(is_on_its_back(env)))
            speeds.append(float(info["x_velocity"]))
        returns.append(sum(rewards))
    return {
        "return": round(statistics.mean(returns)),
        "on_the_back": round(statistics.mean(turned), 2),
        "speed": round(statistics.mean(speeds), 2),
    }


def draw(result: dict[str, Any], path: Path) -> None:
    """Draw the learning curves of all settings, and below them the quantities that Practical RL recommends to watch."""
    from matplotlib.figure import Figure

    from utils import CURVE_COLORS

    figure = Figure(figsize=(12, 13), layout="constrained")
    grid = figure.add_gridspec(4, 4, height_ratios=(1.6, 1, 1, 1))
    axes = figure.add_subplot(grid[0, :])
    interactions = np.linspace(0, INTERACTIONS, CURVE_POINTS + 1)[1:]
    for summary, color in zip(result["settings"].values(), CURVE_COLORS, strict=False):
        curves = np.array([found["curve"] for found in summary["seeds"].values()])
        axes.plot(interactions, curves.T, color=color, lw=0.7, alpha=0.45)
        axes.plot(interactions, curves.mean(0), color=color, lw=2.5, label=f"{summary['label']}: {standing(summary)}")
    axes.axhline(1500, color="black", lw=0.8, ls=":", label="expected by Practical RL, week 9")
    axes.set(
        xlabel="interactions",
        ylabel="raw return of an episode",
        title=f"{ENV}: thin lines are single seeds",
        xlim=(0, INTERACTIONS),
    )
    axes.legend(frameon=False)
    axes.grid(alpha=0.3)
    for number, name in enumerate(WATCHED):
        axes = figure.add_subplot(grid[1 + number // 4, number % 4])
        for summary, color in zip(result["settings"].values(), CURVE_COLORS, strict=False):
            if "watched" in summary:
                axes.plot(summary["watched"]["interactions"], summary["watched"][name], color=color)
        axes.set_title(name.replace("_", " "), fontsize=10)
        axes.grid(alpha=0.3)
        axes.ticklabel_format(axis="x", style="sci", scilimits=(0, 0))
    figure.savefig(path, dpi=100)


def report(work: Path, output: Path) -> None:
    """Add the runs in the work folder to the JSON, draw the plot, and print a table; other seeds stay as they are."""
    path = output / "continuous_ppo_training"
    kept = json.loads(path.with_suffix(".json").read_text()) if path.with_suffix(".json").is_file() else {}
    settings = {}
    for setting in SETTINGS.values():
        before = kept.get("settings", {}).get(setting.name, {})
        seeds, histories = before.get("seeds", {}), []
        for file in work.glob(f"{setting.name}-*.json"):
            found = json.loads(file.read_text())
            came = seeds[file.stem.rpartition("-")[2]] = measure(found)
            if "history" in found:
                histories.append(found["history"])
                came["walk"] = walk(file.with_suffix(".pt"))
        if seeds:
            settings[setting.name] = summarize(setting, dict(sorted(seeds.items(), key=lambda item: int(item[0]))))
            if watched := average_histories(histories) if histories else before.get("watched"):
                settings[setting.name]["watched"] = watched
    result = {
        "about": f"raw return on {ENV} of the last {LAST} episodes of {INTERACTIONS} interactions, by random seed; "
        "`machine` is that of the last runs",
        "machine": machine(),
        "speed": kept.get("speed"),
        "compared": compare(settings),
        "settings": settings,
    }
    save(result, path.with_suffix(".json"))
    draw(result, path.with_suffix(".png"))
    for summary in settings.values():
        print(f"{summary['label']:55} {standing(summary)} {[found['final'] for found in summary['seeds'].values()]}")
    print(json.dumps(result["compared"], indent=1))


def standing(summary: dict[str, Any]) -> str:
    """Return the result of a setting in words."""
    return (
        f"mean {summary['final_mean']}, interquartile mean {summary['final_interquartile_mean']}, "
        f"median {summary['final_median']} ({len(summary['seeds'])} seeds)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("do", choices=["run", "speed", "report"])
    parser.add_argument("setting", nargs="?", choices=list(SETTINGS))
    parser.add_argument("seeds", nargs="*", type=int)
    parser.add_argument("--work", type=Path, default=Path("continuous_ppo_runs"), help="folder of the runs")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "benchmarks" / "results", help="folder for the results")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.do == "speed":
        path = arguments.output / "continuous_ppo_training.json"
        kept = json.loads(path.read_text()) if path.is_file() else {}
        save(kept | {"speed": speed()}, path)
        return
    arguments.work.mkdir(parents=True, exist_ok=True)
    if arguments.do == "run":
        for seed in arguments.seeds:
            run(SETTINGS[arguments.setting], seed, arguments.work)
    else:
        report(arguments.work, arguments.output)


if __name__ == "__main__":
    main()
