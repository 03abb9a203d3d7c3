"""Train the solution of `ppo_agent` on Pendulum-v1, next to Stable-Baselines3, and with mistakes of the keras-rl drafts.

    python benchmarks/ppo_agent_training.py run SETTING[,SETTING ...] SEED [SEED ...] [--work DIR]   # 100,000 steps for each
    python benchmarks/ppo_agent_training.py speed [-o benchmarks/results]    # CPU seconds for 1,000 steps, in turns
    python benchmarks/ppo_agent_training.py report [--work DIR] [-o benchmarks/results]

A setting is one of SETTINGS; several of them take turns, seed by seed, in the same process, so that their CPU seconds can be
compared. A run takes about half a minute of one core and leaves SETTING-SEED.json in the work folder; what is there is not run
again. `report` makes ppo_agent_training.json and .png of all runs in the work folder.

All settings have four environments, an update after 200 steps of each (which are four episodes), ten epochs in minibatches of
64, γ 0.9, λ 0.95, ε 0.2, no bonus for entropy, separate networks of 3 × 16 ReLU for means and value, σ 1 at first, and Adam
with a rate that goes from 1e-3 down to 0. "sb3_same" has torch's own initial weights, the whole value loss and no limit for
gradients as well, as the solution has; "sb3" has what Stable-Baselines3 has by default: orthogonal weights, half the value
loss, gradients no longer than 0.5. What differs in both: Stable-Baselines3 normalizes the advantages in each minibatch, not in
all rows of an update together; its Adam is not fused, and has ε 1e-5; and it makes one update more, after the last step, at a
rate of nearly 0.

Every 4,000 steps the policy plays 20 episodes with its mean action, the same ones every time; the time for that does not count.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn

ROOT = Path(__file__).resolve().parents[1]
ASSIGNMENT = ROOT / "assignments" / "ppo_agent"
sys.path[:0] = [str(ROOT), str(ASSIGNMENT)]

import training
from benchmarks.trainings import compare_seeds, load_solution, machine, save

ENV = "Pendulum-v1"
EPISODE = 200  # steps; all episodes are cut off there, none terminates
STEPS = 100_000
INTERVAL = 4_000  # steps from one test to the next: 20 episodes
ENVS, ROWS, EPOCHS, BATCH, CLIP, LAMBDA, RATE, HIDDEN = 4, 800, 10, 64, 0.2, 0.95, 1e-3, [16, 16, 16]
TEST_SEEDS = range(10_000, 10_020)
OTHER_SEEDS = range(1_000, 1_100)  # of the episodes in which ddpg_training.py compares agents at the end
THRESHOLD = -250.0
SPEED_STEPS = 8_000
SPEED_GOAL = 0.55
HARDLY = 1.3  # times the score of the solution: what ends no worse is drawn in gray

Policy = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Setting:
    """What is trained. fault: see `make_agent`; envs: 1 for `training.fit`; library: options of Stable-Baselines3's PPO."""

    label: str
    fault: str = ""
    gamma: float = 0.9
    envs: int = ENVS
    library: dict[str, Any] | None = None


SAME = {"vf_coef": 1.0, "max_grad_norm": float("inf"), "ortho_init": False}
SETTINGS = {
    "solution": Setting("solution"),
    "sb3_same": Setting("Stable-Baselines3, same settings", library=SAME),
    "sb3": Setting("Stable-Baselines3, its defaults", library={}),
    "sign": Setting("objective not negated", fault="sign"),
    "sampled": Setting("samples: log σ taken for σ", fault="sampled"),
    "scored": Setting("density: σ taken for log σ", fault="scored"),
    "broadcast": Setting("ratio [B, 1] times advantage [B]", fault="broadcast"),
    "gamma": Setting("γ 0.99", gamma=0.99),
    "constant": Setting("learning rate not annealed", fault="constant"),
    "terminal": Setting("time limit taken for an end", fault="terminal"),
    "draft": Setting("the draft's GAE, last step dropped", fault="draft"),
    "roll": Setting("the draft's GAE, length repaired", fault="roll"),
    "single": Setting("one environment, training.fit", envs=1),
}


def make_env() -> gym.Env:
    """Return one environment."""
    return gym.make(ENV, disable_env_checker=True)


def evaluate(policy: Policy, seeds: Sequence[int]) -> list[float]:
    """Return the score of one episode for each seed, all of them played at once.

    policy: returns the actions `[B, 1]` for observations `[B, 3]`.
    """
    envs = gym.vector.SyncVectorEnv([make_env for _ in seeds])
    observations, _ = envs.reset(seed=list(seeds))
    scores = np.zeros(len(seeds))
    for _ in range(EPISODE):
        actions = training.clipped(policy(observations), envs.single_action_space)
        observations, rewards, _, truncated, _ = envs.step(actions)
        scores += rewards
    if not truncated.all():
        raise RuntimeError(f"an episode of {ENV} is longer than {EPISODE} steps")
    return scores.tolist()


class Tests:
    """The tests of a policy in the course of a training, and the CPU seconds of the training up to each of them."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.curve: list[float] = []
        self.seconds: list[float] = []
        self.begin = time.process_time()

    def __call__(self, step: int) -> None:
        """Test the policy if it is time for it, while the clock stands still."""
        if step == 0 or step % INTERVAL:
            return
        now = time.process_time()
        self.seconds.append(now - self.begin)
        self.curve.append(statistics.mean(evaluate(self.policy, TEST_SEEDS)))
        self.begin += time.process_time() - now


@dataclass
class Trained:
    """What a training leaves. scores: of its own episodes; seconds: of CPU, without tests; sigma: of its policy."""

    policy: Policy
    tests: Tests
    scores: list[float]
    seconds: float
    sigma: float


def make_agent(setting: Setting, seed: int) -> Any:
    """Return the solution's agent with the fault of a setting.

    Of the faults, "sign" returns the policy's loss with the other sign; "sampled" samples as if |log σ| were σ, and
    "scored" takes the density as if σ were log σ: either way the two disagree, as in the keras-rl drafts; "broadcast"
    multiplies ratios `[B, 1]` by advantages `[B]`; "constant" leaves the learning rate as it is; "terminal" estimates
    advantages as if nothing followed a time limit; "draft" does it like the stub's draft, and drops the last step of
    each episode, for which that has no advantage;
    "roll" only takes the first state of an episode for the one after the last.
    """
    solution = load_solution("ppo_agent")
    fault, right = setting.fault, solution.GeneralizedAdvantageEstimator
    process: Any = solution.IndependentGaussianProcess  # bases that are only known as it runs
    plain: Any = solution.PPOAgent

    def estimator(critic: Any, state: Tensor, reward: np.ndarray, gamma: float, lamb: float, *ends: Any) -> np.ndarray:
        next_state, terminated, truncated = ends
        if fault in ("draft", "roll"):
            next_state = state.roll(-1, 0)
        if fault == "draft":  # that has no last error: 0 stands in its place, and in `finish_episode` it is left out
            before = right(critic, state[:-1], reward[:-1], gamma, lamb, next_state[:-1])
            return np.append(before, 0.0)
        return right(
            critic, state, reward, gamma, lamb, next_state, terminated | (truncated & (fault == "terminal")), truncated
        )

    class Process(process):
        def sample(self, x: tuple[Tensor, Tensor]) -> Tensor:
            mu, log_sigma = x
            return super().sample((mu, log_sigma.abs().log()) if fault == "sampled" else x)

        def get_dist(self, x: tuple[Tensor, Tensor, Tensor]) -> Tensor:
            mu, log_sigma, y = x
            return super().get_dist((mu, log_sigma.exp(), y) if fault == "scored" else x)

    class Agent(plain):
        def anneal(self, progress: float) -> None:
            if fault != "constant":
                super().anneal(progress)

        def finish_episode(self, memory: Any, final_state: Tensor) -> dict[str, Tensor]:
            episode = super().finish_episode(memory, final_state)
            return {name: rows[:-1] for name, rows in episode.items()} if fault == "draft" else episode

        def policy_loss(self, batch: dict[str, Tensor]) -> Tensor:
            if fault == "broadcast":
                ratio = torch.exp(self.process.get_dist((*self.actor(batch["state"]), batch["action"])) - batch["log_prob"])
                clipped_ratio = ratio.clamp(1 - self.clip, 1 + self.clip)
                return -torch.min(ratio * batch["advantage"], clipped_ratio * batch["advantage"]).mean()
            return -super().policy_loss(batch) if fault == "sign" else super().policy_loss(batch)

    training.seed_everything(seed)
    agent = (Agent if fault else plain)(
        3, 1, setting.envs, 1, setting.gamma, LAMBDA, ROWS // EPISODE, EPOCHS, BATCH, CLIP, learning_rate=RATE, seed=seed
    )
    if fault:
        solution.GeneralizedAdvantageEstimator = estimator
        agent.process = Process(1, agent.rng)
    return agent


def train_solution(setting: Setting, seed: int, steps: int = STEPS) -> Trained:
    """Train the solution for so many steps."""
    agent = make_agent(setting, seed)

    def policy(observations: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return agent.actor(torch.from_numpy(observations).unsqueeze(1))[0].numpy()

    env = make_env() if setting.envs == 1 else gym.vector.SyncVectorEnv([make_env for _ in range(setting.envs)])
    fit = training.fit if setting.envs == 1 else training.fit_vector
    tests = Tests(policy)
    scores = fit(agent, env, steps, seed, lambda step, _: tests(step))
    seconds = time.process_time() - tests.begin
    if len(tests.curve) < steps // INTERVAL:
        tests(steps)
    return Trained(policy, tests, scores, seconds, agent.actor.log_sigma.detach().exp().item())


def train_library(setting: Setting, seed: int, steps: int = STEPS) -> Trained:
    """Train Stable-Baselines3's PPO with the same networks for so many steps."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.logger import Logger
    from stable_baselines3.common.vec_env import DummyVecEnv

    scores: list[float] = []
    score = np.zeros(setting.envs)

    class Watch(BaseCallback):
        """Tests after updates, and adds up rewards like `training.fit_vector`."""

        def _on_rollout_start(self) -> None:
            tests(self.num_timesteps)

        def _on_step(self) -> bool:
            nonlocal score
            score += self.locals["rewards"]
            over = self.locals["dones"]
            scores.extend(score[over].tolist())
            score[over] = 0.0
            return True

    options = dict(setting.library or {})
    agent = PPO(
        "MlpPolicy",
        DummyVecEnv([make_env for _ in range(setting.envs)]),
        learning_rate=lambda remaining: RATE * remaining,
        n_steps=ROWS // setting.envs,
        batch_size=BATCH,
        n_epochs=EPOCHS,
        gamma=setting.gamma,
        gae_lambda=LAMBDA,
        clip_range=CLIP,
        policy_kwargs={
            "net_arch": {"pi": HIDDEN, "vf": HIDDEN},
            "activation_fn": nn.ReLU,
            "log_std_init": 0.0,
            "ortho_init": options.pop("ortho_init", True),
        },
        seed=seed,
        device="cpu",
        **options,
    )
    agent.set_logger(Logger(None, []))  # otherwise it leaves an empty folder

    def policy(observations: np.ndarray) -> np.ndarray:
        return agent.predict(observations, deterministic=True)[0]

    tests = Tests(policy)
    agent.learn(steps, callback=Watch())
    seconds = time.process_time() - tests.begin
    tests(steps)
    return Trained(policy, tests, scores, seconds, agent.policy.log_std.detach().exp().item())


def train(name: str, seed: int, steps: int = STEPS) -> Trained:
    """Train by the setting of this name."""
    setting = SETTINGS[name]
    return (train_solution if setting.library is None else train_library)(setting, seed, steps)


def run(name: str, seed: int, work: Path) -> None:
    """Train once, and leave the result in the work folder."""
    path = work / f"{name}-{seed}.json"
    if path.is_file():
        return
    trained = train(name, seed)
    tests, per_test = trained.tests, INTERVAL // EPISODE
    passed = next((number for number, mean in enumerate(tests.curve) if mean >= THRESHOLD), None)
    result = {
        "setting": name,
        "seed": seed,
        "curve": tests.curve,
        "scores": [statistics.mean(trained.scores[at : at + per_test]) for at in range(0, STEPS // EPISODE, per_test)],
        "steps_to_threshold": None if passed is None else (passed + 1) * INTERVAL,
        "cpu_seconds": trained.seconds,
        "sigma": trained.sigma,
        "others": statistics.mean(evaluate(trained.policy, OTHER_SEEDS)),
    }
    path.with_suffix(".part").write_text(json.dumps(result))
    os.replace(path.with_suffix(".part"), path)
    print(
        f"{path.stem}: {tests.curve[-1]:.0f} at the end ({result['others']:.0f} in other episodes), {THRESHOLD:.0f} after "
        f"{result['steps_to_threshold']} steps, σ {trained.sigma:.2f}, {trained.seconds:.1f} CPU s",
        flush=True,
    )


def measure_speed(rounds: int = 5) -> dict[str, Any]:
    """Return CPU seconds of 1,000 steps of the solution and of Stable-Baselines3, which take turns in one process."""
    names = ("solution", "sb3_same", "sb3")
    found: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds + 1):
        for name in names:
            seconds = train(name, number, SPEED_STEPS).seconds
            if number:  # the first round is a warm-up
                found[name].append(seconds * 1_000 / SPEED_STEPS)
    ratios = {name: [ours / theirs for ours, theirs in zip(found["solution"], found[name], strict=True)] for name in names[1:]}
    return {
        "cpu_seconds_for_1000_steps": {name: round(statistics.median(values), 3) for name, values in found.items()},
        "ratio_median": {name: round(statistics.median(values), 2) for name, values in ratios.items()},
        "ratios": {name: [round(value, 2) for value in values] for name, values in ratios.items()},
        "goal_at_most": SPEED_GOAL,
        "met": all(statistics.median(values) <= SPEED_GOAL for values in ratios.values()),
        "steps_each": SPEED_STEPS,
    }


def summarize(name: str, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what the runs of one setting came to."""
    ends = [found["curve"][-1] for found in runs]
    return {
        "label": SETTINGS[name].label,
        "seeds": [found["seed"] for found in runs],
        "end_by_seed": [round(value, 1) for value in ends],
        "end_mean": round(statistics.mean(ends), 1),
        "others_by_seed": [round(found["others"], 1) for found in runs],
        "others_mean": round(statistics.mean(found["others"] for found in runs), 1),
        "steps_to_threshold": [found["steps_to_threshold"] for found in runs],
        "cpu_seconds_by_seed": [round(found["cpu_seconds"], 1) for found in runs],
        "sigma_by_seed": [round(found["sigma"], 2) for found in runs],
        "curves": [[round(mean) for mean in found["curve"]] for found in runs],
        "training_scores": [[round(mean) for mean in found["scores"]] for found in runs],
    }


def judge(settings: dict[str, Any], speed: dict[str, Any] | None) -> dict[str, Any]:
    """Return the goals of the assignment, what was found, and whether they are met."""
    ours = settings["solution"]
    seeds, ends = ours["seeds"], ours["end_by_seed"]
    goals = {
        f"{len(TEST_SEEDS)} test episodes after {STEPS} steps, mean of all seeds": {
            "goal": f"at least {THRESHOLD:.0f}, of 5 seeds or more",
            "found": ours["end_mean"],
            "met": ours["end_mean"] >= THRESHOLD and len(seeds) >= 5,
            "seeds": f"{sum(end >= THRESHOLD for end in ends)} of {len(seeds)}",
            f"in_{len(OTHER_SEEDS)}_other_episodes": ours["others_mean"],
        }
    }
    for name in ("sb3_same", "sb3"):
        theirs = settings[name]
        ended = compare_seeds(ends, theirs["end_by_seed"])
        goals[f"the same, interquartile mean over seeds, less that of {theirs['label']}"] = {
            "goal": "an interval of 95 % that does not lie below 0",
            "found": ended["difference"],
            "met": ended["interval_95"][1] >= 0,
            **ended,
            f"in_{len(OTHER_SEEDS)}_other_episodes": compare_seeds(ours["others_by_seed"], theirs["others_by_seed"]),
            "over_all_tests": compare_seeds(*([statistics.mean(curve) for curve in side["curves"]] for side in (ours, theirs))),
        }
        if speed:
            goals[f"CPU seconds of {speed['steps_each']} steps, over those of {theirs['label']}, median"] = {
                "goal": f"at most {SPEED_GOAL}",
                "found": speed["ratio_median"][name],
                "met": speed["ratio_median"][name] <= SPEED_GOAL,
            }
    # Those with the defaults of the library were not trained in turn with ours.
    same = settings["sb3_same"]
    spent = [dict(zip(side["seeds"], side["cpu_seconds_by_seed"], strict=True)) for side in (ours, same)]
    ratios = [spent[0][seed] / spent[1][seed] for seed in seeds if seed in spent[1]]
    goals[f"CPU seconds of a training, over those of {same['label']}, median"] = {
        "goal": f"at most {SPEED_GOAL}",
        "found": round(statistics.median(ratios), 2),
        "met": statistics.median(ratios) <= SPEED_GOAL,
        "by_seed": [round(ratio, 2) for ratio in ratios],
    }
    return goals


def report(work: Path, output: Path) -> None:
    """Write the JSON and the plot of all runs in the work folder, and print a table; what was measured of speed stays."""
    path = output / "ppo_agent_training"
    kept = json.loads(path.with_suffix(".json").read_text()) if path.with_suffix(".json").is_file() else {}
    settings = {}
    for name in SETTINGS:
        runs = [json.loads(found.read_text()) for found in work.glob(f"{name}-*.json")]
        if runs:
            settings[name] = summarize(name, sorted(runs, key=lambda found: found["seed"]))
    if missing := {"solution", "sb3_same", "sb3"} - set(settings):
        raise SystemExit(f"there is no run of {', '.join(sorted(missing))} in {work}")
    result: dict[str, Any] = {
        "about": (
            f"{ENV}, {STEPS} steps; curves: mean score of {len(TEST_SEEDS)} episodes with the mean action, every {INTERVAL} "
            f"steps, the last one is the end; others: of {len(OTHER_SEEDS)} other episodes then; training_scores: of the "
            "episodes played in training, means over as many steps"
        ),
        "machine": machine(),
        "goals": judge(settings, kept.get("speed")),
        "speed": kept.get("speed"),
        "settings": settings,
    }
    save(result, path.with_suffix(".json"))
    draw(settings, path.with_suffix(".png"))
    for name, summary in settings.items():
        ends = f"{summary['end_mean']:7.1f} {summary['end_by_seed']} (others {summary['others_mean']:.1f})"
        print(f"{name:10} {ends} {summary['steps_to_threshold']}")
    for name, goal in result["goals"].items():
        error = f", {goal['interval_95'][0]} to {goal['interval_95'][1]}" if "interval_95" in goal else ""
        print(f"{'met' if goal['met'] else 'MISSED':6} {name}: {goal['found']}{error} (goal: {goal['goal']})")


def draw(settings: dict[str, Any], path: Path) -> None:
    """Draw the learning curves of the solution beside Stable-Baselines3 and with mistakes, and where every seed ended."""
    from matplotlib.figure import Figure
    from PIL import Image

    from utils import CURVE_COLORS

    figure = Figure(figsize=(13.5, 4.6), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=(1, 1, 0.9))
    steps = np.arange(INTERVAL, STEPS + 1, INTERVAL) / 1_000
    compared = ("solution", "sb3_same", "sb3")
    varied = [name for name in settings if name not in compared]
    worst = [name for name in varied if settings[name]["others_mean"] < HARDLY * settings["solution"]["others_mean"]]
    colors = dict(zip(compared, CURVE_COLORS, strict=False))
    colors |= dict(zip(worst, (CURVE_COLORS[3], CURVE_COLORS[5], "black", "#56b4e9", "#8a4b00", "#7b3294"), strict=False))
    gray = CURVE_COLORS[4]

    def line(axes: Any, name: str, width: float) -> None:
        label = f"{settings[name]['label']} ({len(settings[name]['seeds'])})"
        axes.plot(steps, np.mean(settings[name]["curves"], axis=0), color=colors.get(name, gray), lw=width, label=label)

    for name in compared:
        for curve in settings[name]["curves"]:
            left.plot(steps, curve, color=colors[name], lw=0.7, alpha=0.4)
    for name in reversed(compared):
        line(left, name, 2.2)
    for name in sorted([*varied, "solution"], key=lambda name: name in colors):  # those in gray below the others
        line(middle, name, 2.0 if name in colors else 1.0)
    for axes, title in ((left, f"{ENV}: means, and single seeds"), (middle, "one thing changed: means")):
        axes.axhline(THRESHOLD, color="black", lw=0.8, ls=":")
        axes.set(xlabel="thousand steps", ylabel=f"mean score of {len(TEST_SEEDS)} test episodes", title=title)
        axes.set(xlim=(0, STEPS / 1_000), ylim=(-1700, 0))
        axes.grid(alpha=0.3)
    handles, labels = left.get_legend_handles_labels()
    left.legend(handles[::-1], labels[::-1], frameon=False, fontsize=8, handlelength=1.2, loc="lower right")

    order = [*compared, *sorted(varied, key=lambda name: -settings[name]["others_mean"])][::-1]
    for place, name in enumerate(order):
        ends = -np.array(settings[name]["others_by_seed"])
        right.plot(ends, [place] * len(ends), "o", color=colors.get(name, gray), ms=5, alpha=0.55, mew=0)
        right.plot([-settings[name]["others_mean"]], [place], "|", color="black", ms=13)
    right.axvline(-THRESHOLD, color="black", lw=0.8, ls=":")
    right.set_xscale("log")
    right.set_xlim(2_100, 140)
    right.set_xticks([1_600, 800, 400, 200], ["−1600", "−800", "−400", "−200"])
    right.set_xticks([], minor=True)
    labels = [f"{settings[name]['label']} ({len(settings[name]['seeds'])})" for name in order]
    right.set_yticks(range(len(order)), labels, fontsize=8)
    for name, label in zip(order, right.get_yticklabels(), strict=True):
        label.set_color(colors.get(name, "#606060"))
    right.set(xlabel=f"mean score of {len(OTHER_SEEDS)} other episodes", title="at the end, by seed")
    right.grid(alpha=0.3)
    picture = io.BytesIO()
    figure.savefig(picture, dpi=110)
    Image.open(picture).convert("RGB").quantize(128).save(path, optimize=True)  # a third of the size


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("run")
    command.add_argument("settings", help=f"with commas between them, of: {', '.join(SETTINGS)}")
    command.add_argument("seeds", type=int, nargs="+")
    for name in ("speed", "report"):
        commands.add_parser(name)
    for name, command in commands.choices.items():
        if name != "speed":
            command.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "ppo_agent_runs")
        if name != "run":
            command.add_argument("-o", "--output", type=Path, default=ROOT / "benchmarks" / "results")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.command == "run":
        names = arguments.settings.split(",")
        if unknown := [name for name in names if name not in SETTINGS]:
            parser.error(f"no such setting: {', '.join(unknown)}; there are {', '.join(SETTINGS)}")
        arguments.work.mkdir(parents=True, exist_ok=True)
        for seed in arguments.seeds:
            for name in names:
                run(name, seed, arguments.work)
    elif arguments.command == "report":
        report(arguments.work, arguments.output)
    else:
        path = arguments.output / "ppo_agent_training.json"
        kept = json.loads(path.read_text()) if path.is_file() else {}
        found = measure_speed()
        save(kept | {"speed": found}, path)
        print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
