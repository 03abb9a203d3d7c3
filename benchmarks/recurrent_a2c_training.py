"""Train the agent of `recurrent_a2c` on KungFuMaster: the recipe that plays well, and the effect of each part.

    python benchmarks/recurrent_a2c_training.py run RECIPE SEED [SEED ...] [--steps N] [--work DIR]
    python benchmarks/recurrent_a2c_training.py speed [-o benchmarks/results]        # steps per second, in pairs
    python benchmarks/recurrent_a2c_training.py report [--work DIR] [-o benchmarks/results]
    python benchmarks/recurrent_a2c_training.py checkpoint [--work DIR]    # results/recurrent_a2c_agent.safetensors

A recipe is one of RECIPES. A run leaves RECIPE-SEED-STEPS.json and .safetensors in the work folder; existing results are not
rerun. `report` makes recurrent_a2c_training.json and .png of all runs in the work folder.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, SupportsFloat

os.environ.setdefault("OMP_NUM_THREADS", "1")

import ale_py
import cv2
import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import SyncVectorEnv
from torch import nn

ROOT = Path(__file__).resolve().parents[1]
ASSIGNMENT = ROOT / "assignments" / "recurrent_a2c"
sys.path[:0] = [str(ROOT), str(ASSIGNMENT)]

from atari_util import GAME, make_env
from benchmarks.trainings import load_solution
from env_pool import EnvPool
from trained_agent import TEST_SEEDS, load_agent, play_test_games, save_agent

GAMMA = 0.99
TEST_GAMES = len(TEST_SEEDS)
MAIN_STEPS = 1_500_000
CURVE_POINTS = 60


@dataclass(frozen=True)
class Recipe:
    """What is trained, and how.

    label: for the plot. games, ticks: of one rollout. solution: its loss is that of the solution's train_on_rollout; with
    everything from `lambda_` to `clip_norm` unused. lives: the return is cut, too, where a life is lost, not the memory.
    """

    label: str
    games: int = 16
    ticks: int = 16
    learning_rate: float = 6e-4
    anneal: bool = True
    orthogonal: bool = True
    reward_scale: float = 0.01
    reward_clip: float = 5.0
    solution: bool = False
    lambda_: float = 0.95
    normalize: bool = True
    lives: bool = True
    value_coefficient: float = 0.25
    entropy_coefficient: float = 0.01
    clip_norm: float = 0.5


FULL = Recipe("everything")
RECIPES = {
    "full": FULL,
    "raw_rewards": replace(FULL, label="without scaled rewards", reward_scale=1.0, reward_clip=math.inf),
    "few_games": replace(FULL, label="5 games × 9 ticks instead of 16 × 16", games=5, ticks=9),
    "low_rate": replace(FULL, label="learning rate 1e-5, constant", learning_rate=1e-5, anneal=False),
    "not_normalized": replace(FULL, label="without normalized advantages", normalize=False),
    "no_lives": replace(FULL, label="without cuts at lost lives", lives=False),
    "no_gae": replace(FULL, label="without GAE (λ = 1)", lambda_=1.0),
    "default_init": replace(FULL, label="without orthogonal weights", orthogonal=False),
    "solution": replace(FULL, label="the solution's loss with scaled rewards, 16 × 16", solution=True, learning_rate=5e-4),
    "seed": Recipe(
        "the recipe of Practical RL, week 8",
        games=5,
        ticks=9,
        learning_rate=1e-5,
        anneal=False,
        orthogonal=False,
        reward_scale=1.0,
        reward_clip=math.inf,
        solution=True,
    ),
}


class Game(gym.Wrapper):
    """A game whose rewards are scaled and clipped, and whose info says whether a life was lost and how a finished game went."""

    def __init__(self, env: gym.Env, scale: float, clip: float) -> None:
        super().__init__(env)
        self.scale = scale
        self.clip = clip

    def reset(self, **kwargs) -> tuple[np.ndarray, dict]:
        observation, info = self.env.reset(**kwargs)
        self.lives, self.score = info["lives"], 0.0
        return observation, {"life_lost": False, "score": 0.0}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        earned = float(reward)
        self.score += earned
        life_lost, self.lives = info["lives"] < self.lives, info["lives"]
        shaped = min(max(earned * self.scale, -self.clip), self.clip)
        return observation, shaped, terminated, truncated, {"life_lost": life_lost, "score": self.score}


def orthogonal(agent: nn.Module) -> None:
    """Give the agent orthogonal weights with gain √2, 1 in the memory and the critic, 0.01 in the policy; biases zero."""
    for name, parameter in agent.named_parameters():
        if parameter.ndim == 1:
            nn.init.zeros_(parameter)
        else:
            gain = {"rnn": 1.0, "state_value": 1.0, "logits": 0.01}.get(name.split(".")[0], math.sqrt(2))
            nn.init.orthogonal_(parameter, gain)


class Player:
    """Plays rollouts like EnvPool, which it fills with `Game`s, and also says where lives were lost, and finished scores."""

    def __init__(self, agent: nn.Module, recipe: Recipe, seed: int) -> None:
        self.life_lost: list[np.ndarray] = []
        self.scores: list[tuple[int, float]] = []  # (steps so far, score)
        self.steps = 0
        envs = SyncVectorEnv([lambda: Game(make_env(), recipe.reward_scale, recipe.reward_clip)] * recipe.games)
        step = envs.step

        def watched(actions: np.ndarray) -> tuple:
            result = step(actions)
            _, _, terminated, truncated, info = result
            self.steps += len(actions)
            self.life_lost.append(info["life_lost"])
            self.scores += [(self.steps, float(score)) for score in info["score"][terminated | truncated]]
            return result

        envs.step = watched  # type: ignore[method-assign]  # on this object alone
        self.pool = EnvPool(agent, envs, seed=seed)

    def interact(self, ticks: int) -> tuple[np.ndarray, ...]:
        """Return (observations, actions, rewards, is_not_done, whether a life was lost)."""
        self.life_lost = []
        rollout = self.pool.interact(ticks + 1)
        return *rollout, np.stack(self.life_lost, axis=1)


def recipe_loss(agent: nn.Module, memory: Sequence[torch.Tensor], rollout: tuple, recipe: Recipe) -> torch.Tensor:
    """Return the loss of a rollout: policy gradient with normalized GAE, value loss on its targets, entropy."""
    observations, actions, rewards, is_not_done, life_lost = map(torch.as_tensor, rollout)
    played = is_not_done.float()
    logits, estimates = [], []
    for t in range(observations.shape[1]):
        memory, (logits_t, values_t) = agent(memory, observations[:, t])
        memory = [m * played[:, t, None] for m in memory]
        logits.append(logits_t)
        estimates.append(values_t)
    values = torch.stack(estimates, dim=1)
    logprobas = torch.stack(logits, dim=1)[:, :-1].log_softmax(dim=-1)

    fixed = values.detach()
    advantages = torch.zeros_like(rewards[:, :-1])
    advantage = torch.zeros(len(rewards))
    for t in reversed(range(advantages.shape[1])):
        follows = played[:, t + 1] * (1 - life_lost[:, t].float() if recipe.lives else 1)
        delta = rewards[:, t] + GAMMA * follows * fixed[:, t + 1] - fixed[:, t]
        advantages[:, t] = advantage = delta + GAMMA * recipe.lambda_ * follows * advantage
    targets = fixed[:, :-1] + advantages

    mask = played[:, :-1] > 0
    weights = advantages[mask]
    if recipe.normalize:
        weights = (weights - weights.mean()) / (weights.std() + 1e-8)
    chosen = logprobas.gather(-1, actions[:, :-1, None])[..., 0]
    entropy = -(logprobas.exp() * logprobas).sum(dim=-1)[mask].mean()
    value_loss = (targets - values[:, :-1])[mask].square().mean()
    return -(chosen[mask] * weights).mean() + recipe.value_coefficient * value_loss - recipe.entropy_coefficient * entropy


def entropy_of(agent: Any, player: Player) -> float:
    """Return the entropy of the policy in what the games show now, in nats."""
    _, (logits, _) = agent.step(player.pool.prev_memory_states, player.pool.prev_observations)
    return float(torch.distributions.Categorical(logits=logits).entropy().mean())


def train(recipe: Recipe, seed: int, steps: int) -> tuple[nn.Module, dict[str, Any]]:
    """Return (the trained agent, what happened) after so many actions in all games together."""
    torch.manual_seed(seed)
    solution = load_solution("recurrent_a2c")
    agent = solution.agent
    if recipe.orthogonal:
        orthogonal(agent)
    solution.opt = torch.optim.Adam(agent.parameters(), lr=recipe.learning_rate, eps=1e-5, fused=True)
    player = Player(agent, recipe, seed)
    entropies: list[tuple[int, float]] = []
    begin = time.process_time()
    while player.steps < steps:
        if recipe.anneal:
            solution.opt.param_groups[0]["lr"] = recipe.learning_rate * (1 - player.steps / steps)
        memory = player.pool.prev_memory_states
        rollout = player.interact(recipe.ticks)
        if recipe.solution:
            solution.train_on_rollout(*rollout[:4], memory, GAMMA)
        else:
            loss = recipe_loss(agent, memory, rollout, recipe)
            solution.opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), recipe.clip_norm)
            solution.opt.step()
        if len(entropies) < CURVE_POINTS * player.steps / steps:
            entropies.append((player.steps, entropy_of(agent, player)))
    seconds = time.process_time() - begin
    return agent, {"steps": player.steps, "cpu_seconds": seconds, "scores": player.scores, "entropies": entropies}


def run(name: str, seed: int, steps: int, work: Path) -> None:
    """Train and test once; leave the result in the work folder."""
    path = work / f"{name}-{seed}-{steps}.json"
    if path.exists():
        return
    agent, result = train(RECIPES[name], seed, steps)
    result |= {"recipe": name, "seed": seed, "test": play_test_games(agent)}
    save_agent(path.with_suffix(".safetensors"), agent)
    path.write_text(json.dumps(result))
    late = [score for _, score in result["scores"][-50:]]
    print(
        f"{path.stem}: {result['cpu_seconds']:.0f} CPU s, test {statistics.mean(result['test']):.0f}, "
        f"last 50 games in training {statistics.mean(late or [math.nan]):.0f}"
    )


class SeedGame(gym.Wrapper):
    """A game as Practical RL preprocesses it: color frames scaled in float64, shrunk linearly, then the mean of colors."""

    def __init__(self) -> None:
        gym.register_envs(ale_py)
        super().__init__(gym.make(GAME, disable_env_checker=True))

    def reset(self, **kwargs) -> tuple[np.ndarray, dict]:
        frame, info = self.env.reset(**kwargs)
        return self.prepared(frame), info

    def step(self, action: int) -> tuple[np.ndarray, SupportsFloat, bool, bool, dict]:
        frame, reward, terminated, truncated, info = self.env.step(action)
        return self.prepared(frame), reward, terminated, truncated, info

    def prepared(self, frame: np.ndarray) -> np.ndarray:
        small = cv2.resize(frame[60:-30, 15:] / 255, (42, 42))
        return small.mean(axis=-1, keepdims=True).transpose(2, 0, 1).astype(np.float32)


class SeedPool:
    """The pool of Practical RL, week 8: a list of games, one after another; the agent tracks gradients while it plays."""

    def __init__(self, agent: Any, games: int) -> None:
        self.agent = agent
        self.games = [SeedGame() for _ in range(games)]
        self.observations = [game.reset(seed=number)[0] for number, game in enumerate(self.games)]
        self.prev_memory_states = agent.get_initial_state(games)
        self.ended = [False] * games

    def interact(self, columns: int) -> tuple[np.ndarray, ...]:
        log: list[tuple[Any, ...]] = []
        for _ in range(columns - 1):
            observations = torch.tensor(np.asarray(self.observations), dtype=torch.float32)
            (h, c), (logits, _) = self.agent(self.prev_memory_states, observations)
            h, c = h.detach(), c.detach()
            actions = torch.multinomial(nn.functional.softmax(logits.detach(), dim=-1), 1)[:, 0].numpy()
            row = [self.tick(number, action, h, c) for number, action in enumerate(actions)]
            new, rewards, alive = zip(*row, strict=True)
            log.append((self.observations, actions, rewards, alive))
            self.observations, self.prev_memory_states = list(new), (h, c)
        nothing = [0] * len(self.games)
        log.append((self.observations, nothing, nothing, [1] * len(self.games)))
        return tuple(np.array(column).swapaxes(0, 1) for column in zip(*log, strict=True))

    def tick(self, number: int, action: int, h: torch.Tensor, c: torch.Tensor) -> tuple[np.ndarray, float, bool]:
        if self.ended[number]:
            self.ended[number], h[number], c[number] = False, 0.0, 0.0
            return self.games[number].reset()[0], 0.0, False
        observation, reward, terminated, truncated, _ = self.games[number].step(action)
        self.ended[number] = terminated or truncated
        return observation, float(reward), True


def steps_per_second(pool: Any, solution: Any, columns: int, games: int, updates: int) -> float:
    """Return the game steps per CPU second of rollouts and updates by the solution."""
    begin = time.process_time()
    for _ in range(updates):
        memory = list(pool.prev_memory_states)
        solution.train_on_rollout(*pool.interact(columns), memory)
    return updates * games * (columns - 1) / (time.process_time() - begin)


def measure_speed(pairs: int = 7) -> dict[str, Any]:
    """Return steps per CPU second of the given pool and of the course's own, each with its recommended sizes, in pairs.

    Both train the same network with the solution's train_on_rollout: 5 games × 10 columns as in the seed; 16 × 17 here, with
    weights in the order that convolutions on a CPU prefer (channels last).
    """
    rates: dict[str, list[float]] = {"seed": [], "kit": []}
    sides = {}
    for name, games, columns in (("seed", 5, 10), ("kit", 16, 17)):
        solution = load_solution("recurrent_a2c")
        if name == "seed":
            pool = SeedPool(solution.agent, games)
        else:
            solution.agent.to(memory_format=torch.channels_last)
            pool = EnvPool(solution.agent, make_env, games, seed=0)
        sides[name] = (pool, solution, columns, games)
    for number in range(pairs + 1):
        for name, (pool, solution, columns, games) in sides.items():
            rate = steps_per_second(pool, solution, columns, games, updates=1600 // (games * (columns - 1)))
            if number:  # the first is a warm-up
                rates[name].append(round(rate, 1))
    ratios = [kit / seed for kit, seed in zip(rates["kit"], rates["seed"], strict=True)]
    return {
        "steps_per_cpu_second": rates,
        "ratios": [round(ratio, 3) for ratio in ratios],
        "ratio": round(statistics.median(ratios), 3),
    }


def summary(path: Path) -> dict[str, Any]:
    """Return what the report says of one run."""
    result = json.loads(path.read_text())
    edges = [result["steps"] * (part + 1) / CURVE_POINTS for part in range(CURVE_POINTS)]
    curve, begin = [], 0.0
    for edge in edges:
        scores = [score for step, score in result["scores"] if begin < step <= edge]
        begin = edge
        curve.append(round(statistics.mean(scores)) if scores else None)
    return {
        "recipe": result["recipe"],
        "label": RECIPES[result["recipe"]].label,
        "seed": result["seed"],
        "steps": result["steps"],
        "cpu_seconds": round(result["cpu_seconds"]),
        "test_mean": round(statistics.mean(result["test"])),
        "test_std": round(statistics.stdev(result["test"])),
        "test": [round(score) for score in result["test"]],
        "training_scores": curve,
        "entropy": [round(value, 3) for _, value in result["entropies"]],
    }


def report(work: Path, output: Path) -> None:
    """Write the JSON and the plot of all runs in the work folder; what was measured of speed stays."""
    path = output / "recurrent_a2c_training.json"
    before = json.loads(path.read_text()) if path.is_file() else {}
    order = list(RECIPES)
    runs = [summary(found) for found in work.glob("*.json")]
    runs.sort(key=lambda run: (-run["steps"] // 1000, order.index(run["recipe"]), run["seed"]))
    result = {"speed": before.get("speed"), "test_games": TEST_GAMES, "runs": runs}
    path.write_text(json.dumps(result, indent=1) + "\n")
    plot(runs, path.with_suffix(".png"))


def plot(runs: list[dict[str, Any]], path: Path) -> None:
    """Draw the curves of the long runs, and the test scores of the short ones, each of which leaves something out."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    longest = max(run["steps"] for run in runs)
    long = [run for run in runs if run["steps"] > longest / 2]
    short = [run for run in runs if run["steps"] <= longest / 2]
    figure, (curves, bars) = plt.subplots(1, 2, figsize=(12, 4.2), layout="constrained", width_ratios=(1, 1.2))
    for run in long:
        points = [
            (run["steps"] * (i + 1) / CURVE_POINTS / 1e6, y) for i, y in enumerate(run["training_scores"]) if y is not None
        ]
        label = f"seed {run['seed']}: 20 test games {run['test_mean']:,} ± {run['test_std']:,}"
        curves.plot(*zip(*points, strict=True), label=label)
    curves.axhline(10_000, color="gray", linestyle=":")
    curves.set(xlabel="millions of actions in all games", ylabel="score of games in training", title="KungFuMaster, everything")
    curves.legend(loc="lower right")
    short.sort(key=lambda run: run["test_mean"])
    bars.barh(
        [run["label"] for run in short],
        [run["test_mean"] for run in short],
        xerr=[run["test_std"] / TEST_GAMES**0.5 for run in short],
        color=["tab:green" if run["recipe"] == "full" else "tab:blue" for run in short],
    )
    steps = f"{min(run['steps'] for run in short) // 1000 * 1000:,}" if short else ""
    bars.set(xlabel="mean score of 20 test games, and its standard error", title=f"after {steps} actions, one seed each")
    figure.savefig(path, dpi=110)


def checkpoint(work: Path) -> None:
    """Save the best agent of the long runs, in float32 as it was trained."""
    runs = [(json.loads(path.read_text()), path) for path in work.glob(f"full-*-{MAIN_STEPS}.json")]
    if not runs:
        raise SystemExit(f"there is no run of {MAIN_STEPS:,} steps in {work}: run full 0 first")
    result, path = max(runs, key=lambda run: statistics.mean(run[0]["test"]))
    target = ROOT / "benchmarks" / "results" / "recurrent_a2c_agent.safetensors"
    save_agent(target, load_agent(path.with_suffix(".safetensors").read_bytes(), load_solution("recurrent_a2c").agent))
    print(f"{target.relative_to(ROOT)}: seed {result['seed']}, test {statistics.mean(result['test']):.0f}")


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("run")
    command.add_argument("recipe", choices=RECIPES)
    command.add_argument("seeds", type=int, nargs="+")
    command.add_argument("--steps", type=int, default=MAIN_STEPS)
    for name in ("speed", "report", "checkpoint"):
        commands.add_parser(name)
    for name, command in commands.choices.items():
        if name in ("run", "report", "checkpoint"):
            command.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "recurrent_a2c_runs")
        if name in ("speed", "report"):
            command.add_argument("-o", "--output", type=Path, default=ROOT / "benchmarks" / "results")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    if arguments.command == "run":
        arguments.work.mkdir(parents=True, exist_ok=True)
        for seed in arguments.seeds:
            run(arguments.recipe, seed, arguments.steps, arguments.work)
    elif arguments.command == "report":
        report(arguments.work, arguments.output)
    elif arguments.command == "checkpoint":
        checkpoint(arguments.work)
    else:
        path = arguments.output / "recurrent_a2c_training.json"
        result = json.loads(path.read_text()) if path.is_file() else {}
        result["speed"] = measure_speed()
        path.write_text(json.dumps(result, indent=1) + "\n")
        print(result["speed"])


if __name__ == "__main__":
    main()
