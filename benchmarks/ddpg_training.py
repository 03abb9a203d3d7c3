"""Train the solution of `ddpg` on Pendulum-v1, next to Stable-Baselines3, and with the mistakes of PG is All You Need.

    python benchmarks/ddpg_training.py run SETTING SEED [SEED ...] [--work DIR]   # 20,000 frames for each
    python benchmarks/ddpg_training.py speed [-o benchmarks/results]              # updates per second, in pairs; live plots
    python benchmarks/ddpg_training.py remedies [-o benchmarks/results]           # what could make the solution faster
    python benchmarks/ddpg_training.py report [--work DIR] [-o benchmarks/results]
    python benchmarks/ddpg_training.py checkpoint [--work DIR]                    # results/ddpg_actor.safetensors

A setting is one of SETTINGS. A run takes about a minute of one core and leaves SETTING-SEED.json and .safetensors in the work
folder; existing results are not rerun. `report` makes ddpg_training.json and .png of all runs in the work folder.

All settings have the course text's networks (2 × 128 ReLU), batches of 128, a memory of 100,000, γ 0.99, τ 5e-3, Adam
with 3e-4 for the actor and 1e-3 for the critic, 1,000 random frames and one update in every frame thereafter. Every
1,000 frames the actor plays 10 episodes without noise, the same ones every time; the time for that does not count.
"""

from __future__ import annotations

import argparse
import base64
import io
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import gymnasium as gym
import numpy as np
import torch
from torch import nn, optim

ROOT = Path(__file__).resolve().parents[1]
ASSIGNMENT = ROOT / "assignments" / "ddpg"
sys.path[:0] = [str(ROOT), str(ASSIGNMENT)]

import training
from benchmarks.trainings import load_solution, machine, save
from trained_actor import ARRAYS, ENV, TEST_SEEDS, TrainedActor, evaluate, load_actor, save_actor

FRAMES = 20_000
INTERVAL = 1_000  # frames from one test to the next
MEMORY, BATCH, RANDOM_FRAMES = 100_000, 128, 1_000
GAMMA, TAU, ACTOR_RATE, CRITIC_RATE = 0.99, 5e-3, 3e-4, 1e-3
FINAL_SEEDS = range(1_000, 1_100)  # of the episodes at the end, none of which is among TEST_SEEDS
THRESHOLD = -200.0
FINAL_GOAL = -180.0
STORED = 50_000  # transitions in memory while the speed of updates is measured


@dataclass(frozen=True)
class Setting:
    """What is trained. theta, sigma: of the noise; faults: see `make_agent`; library: Stable-Baselines3, not the solution."""

    label: str
    theta: float = 1.0
    sigma: float = 0.1
    faults: tuple[str, ...] = ()
    library: bool = False


SEED_FAULTS = ("uniform_noise", "noise_never_reset", "time_limit_is_terminal", "environment_warm_up")
SETTINGS = {
    "solution": Setting("solution"),
    "sb3": Setting("Stable-Baselines3", library=True),
    "uniform_noise": Setting("noise is uniform in [0, 1)", faults=("uniform_noise",)),
    "time_limit_is_terminal": Setting("time limit stored as terminal", faults=("time_limit_is_terminal",)),
    "environment_warm_up": Setting("warm-up in the environment's units", faults=("environment_warm_up",)),
    "same_start": Setting("every episode from the same start", faults=("same_start",)),
    "seed": Setting("all mistakes of PG is All You Need", faults=SEED_FAULTS),
    "seed_same_start": Setting("these, and always the same start", faults=(*SEED_FAULTS, "same_start")),
    "ou": Setting("noise with θ = 0.15, σ = 0.2", theta=0.15, sigma=0.2),
}


class Tests:
    """The tests of an actor in the course of a training, and the CPU seconds of the training up to each of them."""

    def __init__(self) -> None:
        self.curve: list[float] = []
        self.seconds: list[float] = []
        self.begin = time.process_time()

    def __call__(self, actor: nn.Module) -> None:
        """Test the actor now, while the clock stands still."""
        now = time.process_time()
        self.seconds.append(now - self.begin)
        self.curve.append(statistics.mean(evaluate(in_numpy(actor), TEST_SEEDS)))
        self.begin += time.process_time() - now


def in_numpy(actor: nn.Module) -> TrainedActor:
    """Return an actor of three layers, of the solution or of Stable-Baselines3, in NumPy."""
    layers = [module for module in actor.modules() if isinstance(module, nn.Linear)]
    values = [value.detach().numpy() for layer in layers for value in (layer.weight, layer.bias)]
    return TrainedActor(dict(zip(ARRAYS, values, strict=True)))


class SameStart(gym.Wrapper):
    """An environment whose episodes all begin in the same state."""

    def __init__(self, env: gym.Env, seed: int) -> None:
        super().__init__(env)
        self.start = seed

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        return self.env.reset(**kwargs | {"seed": self.start})


def make_agent(setting: Setting, seed: int, hook: Callable[..., None] | None = None) -> Any:
    """Return the solution's agent with the faults of a setting.

    hook: is called in place of `_plot`.

    Of the faults, "uniform_noise" draws the ε of the noise from [0, 1); "noise_never_reset" goes on with it in the next
    episode; "time_limit_is_terminal" stores `terminated or truncated`; "environment_warm_up" takes the first actions from the
    environment's action space, adds noise, and clips to [-1, 1]; "same_start" resets with the same seed every time.
    """
    solution = load_solution("ddpg")
    faults = setting.faults
    noise: Any = solution.OUNoise  # bases that are only known as it runs
    plain: Any = solution.DDPGAgent

    class Noise(noise):
        state: np.ndarray

        def reset(self) -> None:
            if not ("noise_never_reset" in faults and hasattr(self, "state")):
                super().reset()

        def sample(self) -> np.ndarray:
            if "uniform_noise" not in faults:
                return super().sample()
            self.state = self.state + self.theta * (self.mu - self.state) + self.sigma * self.rng.random(len(self.mu))
            return self.state.copy()

    class Agent(plain):
        def select_action(self, state: np.ndarray) -> np.ndarray:
            if "environment_warm_up" not in faults or self.total_step >= self.initial_random_steps:
                return super().select_action(state)
            action = np.clip(self.env.action_space.sample() + self.noise.sample(), -1.0, 1.0)
            self.transition = [state, action]
            return action

        def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool]:
            next_state, reward, over = super().step(action)
            if "time_limit_is_terminal" in faults:
                self.memory.done_buf[self.memory.ptr - 1] = over
            return next_state, reward, over

    env = gym.make(ENV, disable_env_checker=True)
    env = solution.ActionNormalizer(SameStart(env, seed) if "same_start" in faults else env)
    training.seed_everything(seed, env)
    agent = (Agent if faults else plain)(env, MEMORY, BATCH, setting.theta, setting.sigma, GAMMA, TAU, RANDOM_FRAMES, seed)
    if faults:
        agent.noise = Noise(len(agent.noise.mu), theta=setting.theta, sigma=setting.sigma, rng=agent.rng)
    if hook is not None:
        agent._plot = hook
    return agent


def train_solution(setting: Setting, seed: int) -> tuple[nn.Module, Tests, float]:
    """Train the solution; return (its actor, the tests, CPU seconds)."""
    agent = make_agent(setting, seed, lambda *_: tests(agent.actor))
    tests = Tests()
    agent.train(FRAMES, plotting_interval=INTERVAL)
    return agent.actor, tests, time.process_time() - tests.begin


def make_library(setting: Setting, seed: int) -> Any:
    """Return Stable-Baselines3's DDPG with the same networks and settings."""
    from stable_baselines3 import DDPG
    from stable_baselines3.common.noise import NormalActionNoise

    class TwoRates(DDPG):
        """DDPG knows one learning rate and gives it to both optimizers before every update; here each keeps its own."""

        def _update_learning_rate(self, optimizers: Any) -> None:
            pass

    agent = TwoRates(
        "MlpPolicy",
        gym.make(ENV, disable_env_checker=True),
        buffer_size=MEMORY,
        learning_starts=RANDOM_FRAMES,
        batch_size=BATCH,
        tau=TAU,
        gamma=GAMMA,
        train_freq=1,
        gradient_steps=1,
        action_noise=NormalActionNoise(np.zeros(1), np.full(1, setting.sigma)),
        policy_kwargs={"net_arch": {"pi": [128, 128], "qf": [128, 128]}},
        seed=seed,
        device="cpu",
    )
    agent.actor.optimizer.param_groups[0]["lr"] = ACTOR_RATE
    agent.critic.optimizer.param_groups[0]["lr"] = CRITIC_RATE
    return agent


def train_library(setting: Setting, seed: int) -> tuple[nn.Module, Tests, float]:
    """Train Stable-Baselines3's DDPG; return (its actor, the tests, CPU seconds)."""
    from stable_baselines3 import DDPG
    from stable_baselines3.common.callbacks import BaseCallback

    class Watch(BaseCallback):
        model: DDPG

        def _on_step(self) -> bool:
            if self.num_timesteps % INTERVAL == 0:
                tests(self.model.actor)
            return True

    agent = make_library(setting, seed)
    tests = Tests()
    agent.learn(FRAMES, callback=Watch())
    return agent.actor, tests, time.process_time() - tests.begin


def run(name: str, seed: int, work: Path) -> None:
    """Train once, test at the end, and leave result and actor in the work folder."""
    path = work / f"{name}-{seed}.json"
    if path.is_file():
        return
    setting = SETTINGS[name]
    actor, tests, seconds = (train_library if setting.library else train_solution)(setting, seed)
    passed = next((number for number, mean in enumerate(tests.curve) if mean >= THRESHOLD), None)
    result = {
        "setting": name,
        "seed": seed,
        "curve": tests.curve,
        "frames_to_threshold": None if passed is None else (passed + 1) * INTERVAL,
        "cpu_seconds_to_threshold": None if passed is None else tests.seconds[passed],
        "cpu_seconds": seconds,
        "final": evaluate(in_numpy(actor), FINAL_SEEDS),
    }
    save_actor(path.with_suffix(".safetensors"), actor)
    path.with_suffix(".part").write_text(json.dumps(result))
    os.replace(path.with_suffix(".part"), path)
    print(
        f"{path.stem}: {statistics.mean(result['final']):.0f} at the end, {THRESHOLD:.0f} after "
        f"{result['frames_to_threshold']} frames, {result['cpu_seconds_to_threshold'] or 0:.1f} of {seconds:.1f} CPU s",
        flush=True,
    )


class NotebookUpdate:
    """Run the update of the notebook in PG is All You Need, rewritten: the same computation in the same way."""

    def __init__(self, agent: Any) -> None:
        self.memory = agent.memory
        self.nets = {name: getattr(agent, name) for name in ("actor", "actor_target", "critic", "critic_target")}
        self.actor_adam = optim.Adam(agent.actor.parameters(), lr=ACTOR_RATE)
        self.critic_adam = optim.Adam(agent.critic.parameters(), lr=CRITIC_RATE)

    def __call__(self) -> None:
        actor, critic = self.nets["actor"], self.nets["critic"]
        memory = self.memory
        rows = np.random.choice(memory.size, memory.batch_size, replace=False)
        state, after = torch.FloatTensor(memory.obs_buf[rows]), torch.FloatTensor(memory.next_obs_buf[rows])
        action = torch.FloatTensor(memory.acts_buf[rows].reshape(-1, 1))
        reward, done = (torch.FloatTensor(buffer[rows].reshape(-1, 1)) for buffer in (memory.rews_buf, memory.done_buf))

        # Autograd follows both target networks and computes gradients of their weights, which nobody uses.
        expected = reward + GAMMA * self.nets["critic_target"](after, self.nets["actor_target"](after)) * (1 - done)
        loss = nn.functional.mse_loss(critic(state, action), expected)
        self.critic_adam.zero_grad()
        loss.backward()
        self.critic_adam.step()

        loss = -critic(state, actor(state)).mean()
        self.actor_adam.zero_grad()
        loss.backward()
        self.actor_adam.step()

        for name in ("actor", "critic"):
            for slow, fast in zip(self.nets[f"{name}_target"].parameters(), self.nets[name].parameters(), strict=True):
                slow.data.copy_(TAU * fast.data + (1.0 - TAU) * slow.data)


def filled_agent(seed: int) -> Any:
    """Return an agent that has `STORED` transitions of random actions in memory."""
    agent = make_agent(SETTINGS["solution"], seed)
    state, _ = agent.env.reset()
    for _ in range(STORED):
        state, _, over = agent.step(agent.select_action(state))
        if over:
            state, _ = agent.env.reset()
    return agent


def measure_updates(pairs: int = 9, updates: int = 300) -> dict[str, Any]:
    """Return updates per CPU second of the seed's notebook and of the solution, one after the other in one process."""
    agent = filled_agent(0)
    sides: dict[str, Callable[[], Any]] = {"notebook": NotebookUpdate(filled_agent(0)), "solution": agent.update_model}
    rates: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(pairs + 1):
        for name, update in sides.items():
            begin = time.process_time()
            for _ in range(updates):
                update()
            if number:  # the first pair is a warm-up
                rates[name].append(updates / (time.process_time() - begin))
    ratios = [ours / theirs for ours, theirs in zip(rates["solution"], rates["notebook"], strict=True)]
    return {
        "updates_per_cpu_second": {name: round(statistics.median(found)) for name, found in rates.items()},
        "ratio_median": round(statistics.median(ratios), 2),
        "ratios": [round(ratio, 2) for ratio in ratios],
        "goal_at_least": 1.8,
        "met": statistics.median(ratios) >= 1.8,
        "stored": STORED,
        "updates_each": updates,
    }


# What could make the solution faster: tried here, so that the solution stays easy to read


def in_one_call(agent: Any) -> None:
    """Update all parameters of both targets in one call each."""
    pairs = [
        (list(target.parameters()), list(network.parameters()))
        for target, network in ((agent.actor_target, agent.actor), (agent.critic_target, agent.critic))
    ]

    def update() -> None:
        with torch.no_grad():
            for slow, fast in pairs:
                torch._foreach_lerp_(slow, fast, agent.tau)

    agent._target_soft_update = update


def acting_in_numpy(agent: Any) -> None:
    """Compute single actions in NumPy, on the memory of the actor's parameters."""
    linear = [module for module in agent.actor.modules() if isinstance(module, nn.Linear)]
    *hidden, last = [(layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in linear]
    choose = agent.select_action

    def select_action(state: np.ndarray) -> np.ndarray:
        if agent.total_step < agent.initial_random_steps or agent.is_test:
            chosen: np.ndarray = choose(state)
            return chosen
        x = state
        for weight, bias in hidden:
            x = np.maximum(weight @ x + bias, 0)
        action = np.clip(np.tanh(last[0] @ x + last[1]) + agent.noise.sample(), -1.0, 1.0)
        agent.transition = [state, action]
        return action

    agent.select_action = select_action


def in_one_array(agent: Any) -> None:
    """Keep transitions in one array, so that a batch is one selection of rows."""
    memory = agent.memory
    obs_dim, act_dim = memory.obs_buf.shape[1], memory.acts_buf.shape[1]
    ends = np.cumsum([obs_dim, obs_dim, act_dim, 1, 1])  # the columns where each array ends
    everything = np.zeros((memory.max_size, ends[-1]), np.float32)
    memory.obs_buf, memory.next_obs_buf, memory.acts_buf, rewards, done = np.split(everything, ends[:-1], axis=1)
    memory.rews_buf, memory.done_buf = rewards[:, 0], done[:, 0]

    def sample_batch() -> dict[str, np.ndarray]:
        rows = everything[memory.rng.choice(memory.size, memory.batch_size, replace=False, shuffle=False)]
        obs, next_obs, acts, rews, over = np.split(rows, ends[:-1], axis=1)
        return {"obs": obs, "next_obs": next_obs, "acts": acts, "rews": rews[:, 0], "done": over[:, 0]}

    memory.sample_batch = sample_batch


REMEDIES: dict[str, tuple[str, tuple[Callable[[Any], None], ...]]] = {
    "solution": ("solution", ()),
    "in_one_call": ("targets: all parameters of a network in one call", (in_one_call,)),
    "acting_in_numpy": ("single actions in NumPy", (acting_in_numpy,)),
    "in_one_array": ("all transitions in one array", (in_one_array,)),
    "all": ("these three together", (in_one_call, acting_in_numpy, in_one_array)),
}


def measure_remedies(rounds: int = 7, frames: int = 3 * RANDOM_FRAMES) -> dict[str, Any]:
    """Return CPU seconds of short trainings over those of Stable-Baselines3, of the solution and of its variants, in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in ("sb3", *REMEDIES)}
    for number in range(rounds + 1):
        for name, found in seconds.items():
            if name == "sb3":
                agent = make_library(SETTINGS["sb3"], number)
                train = agent.learn
            else:
                agent = make_agent(SETTINGS["solution"], number, lambda *_: None)
                for remedy in REMEDIES[name][1]:
                    remedy(agent)
                train = agent.train
            begin = time.process_time()
            train(frames)
            if number:  # the first round is a warm-up
                found.append(time.process_time() - begin)
    return {
        name: {
            "label": label,
            "over_sb3_median": round(statistics.median(np.divide(seconds[name], seconds["sb3"])), 2),
            "over_sb3": np.divide(seconds[name], seconds["sb3"]).round(2).tolist(),
        }
        for name, (label, _) in REMEDIES.items()
    }


def notebook_plot(frame: int, scores: list[float], actor_losses: list[Any], critic_losses: list[Any]) -> None:
    """Draw like the notebook of PG is All You Need: three curves with all points, 30 × 5 inches, to a PNG as in Jupyter."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    plt.figure(figsize=(30, 5), dpi=72)
    titles = (f"frame {frame}. score: {np.mean(scores[-10:])}", "actor_loss", "critic_loss")
    for place, title, values in zip((131, 132, 133), titles, (scores, actor_losses, critic_losses), strict=True):
        plt.subplot(place)
        plt.title(title)
        plt.plot(values)
    picture = io.BytesIO()
    plt.savefig(picture, format="png", bbox_inches="tight")
    base64.b64encode(picture.getvalue())
    plt.close()


class NotebookDisplay:
    """Stands in for `IPython.display.display` in a kernel: prepares a picture to be sent, as often as asked."""

    def __init__(self) -> None:
        self.pictures = 0

    def __call__(self, picture: Any, **_: Any) -> NotebookDisplay:
        self.update(picture)
        return self

    def update(self, picture: Any) -> None:
        base64.b64encode(picture.data)
        self.pictures += 1


class TimedPlot:
    """Calls `plot` in the course of a training, and knows what it took.

    tensors: it is given losses as tensors, which the notebook of PG is All You Need keeps; creating them is not timed.
    """

    def __init__(self, plot: Callable[..., None], tensors: bool) -> None:
        self.plot = plot
        self.tensors: tuple[list[Any], list[Any]] | None = ([], []) if tensors else None
        self.calls = 0
        self.seconds = 0.0
        self.preparation = 0.0

    def __call__(self, frame: int, scores: list[float], *losses: list[float]) -> None:
        begin = time.process_time()
        for kept, given in zip(self.tensors or (), losses, strict=False):
            kept += [torch.tensor(value) for value in given[len(kept) :]]
        ready = time.process_time()
        self.plot(frame, scores, *(self.tensors or losses))
        self.calls += 1
        self.seconds += time.process_time() - ready
        self.preparation += ready - begin


def measure_plots(frames: int = FRAMES, interval: int = 200) -> dict[str, Any]:
    """Return what pictures add to the CPU seconds of a training: the given LivePlot in a notebook, and the seed's figures."""
    import IPython.display

    shown = NotebookDisplay()
    notebook: Any = IPython.display
    notebook.display, training.in_notebook = shown, lambda: True
    training.draw_training("", [0.0], [0.0], [0.0])  # the first picture of a process imports matplotlib
    result: dict[str, Any] = {"frames": frames, "interval": interval}
    for name in ("live_plot", "notebook"):
        plot = TimedPlot(training.LivePlot() if name == "live_plot" else notebook_plot, tensors=name == "notebook")
        agent = make_agent(SETTINGS["solution"], 0, plot)
        begin = time.process_time()
        agent.train(frames, plotting_interval=interval)
        total = time.process_time() - begin - plot.preparation
        result[name] = {
            "pictures": shown.pictures if name == "live_plot" else plot.calls,
            "cpu_seconds": round(plot.seconds, 2),
            "training_without": round(total - plot.seconds, 2),
            "share_of_all": round(plot.seconds / total, 3),
        }
    return result


def summarize(name: str, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what the runs of one setting came to."""
    finals = [statistics.mean(found["final"]) for found in runs]
    frames = [found["frames_to_threshold"] for found in runs]
    seconds = [found["cpu_seconds_to_threshold"] for found in runs]
    return {
        "label": SETTINGS[name].label,
        "seeds": [found["seed"] for found in runs],
        "final_by_seed": [round(value, 1) for value in finals],
        "final_mean": round(statistics.mean(finals), 1),
        "best_test_by_seed": [round(max(found["curve"]), 1) for found in runs],
        "frames_to_threshold": frames,
        "cpu_seconds_to_threshold": [value and round(value, 2) for value in seconds],
        "cpu_seconds_median": round(statistics.median(found["cpu_seconds"] for found in runs), 1),
        "curves": [[round(mean) for mean in found["curve"]] for found in runs],
    }


def judge(settings: dict[str, Any], speed: dict[str, Any] | None) -> dict[str, Any]:
    """Return the goals of the assignment, what was found, and whether they are met."""
    ours, theirs = settings["solution"], settings["sb3"]
    count = len(ours["seeds"])
    passed = sum(frames is not None for frames in ours["frames_to_threshold"])
    good = sum(value >= FINAL_GOAL for value in ours["final_by_seed"])
    seconds = {
        name: dict(zip(settings[name]["seeds"], settings[name]["cpu_seconds_to_threshold"], strict=True))
        for name in ("solution", "sb3")
    }
    both = [seed for seed in ours["seeds"] if seconds["solution"].get(seed) and seconds["sb3"].get(seed)]
    ratio = statistics.median(seconds["solution"][s] for s in both) / statistics.median(seconds["sb3"][s] for s in both)
    goals = {
        f"{len(TEST_SEEDS)} test episodes reach {THRESHOLD:.0f} within {FRAMES} frames": {
            "goal": "10 of 10 seeds",
            "found": f"{passed} of {count}",
            "met": passed == count >= 10,
        },
        f"{len(FINAL_SEEDS)} other episodes at the end reach {FINAL_GOAL:.0f}": {
            "goal": "9 of 10 seeds",
            "found": f"{good} of {count}",
            "met": count >= 10 and good >= 0.9 * count,
        },
        "CPU seconds to the threshold, against Stable-Baselines3, ratio of medians": {
            "goal": "at most 0.6",
            "found": round(ratio, 2),
            "met": ratio <= 0.6,
            "by_seed": [round(seconds["solution"][seed] / seconds["sb3"][seed], 2) for seed in both],
            "whole_training": round(ours["cpu_seconds_median"] / theirs["cpu_seconds_median"], 2),
        },
    }
    if speed:
        updates = speed["updates"]
        goals["updates per CPU second, against PG is All You Need"] = {
            "goal": f"at least {updates['goal_at_least']}",
            "found": updates["ratio_median"],
            "met": updates["met"],
        }
    return goals


def report(work: Path, output: Path) -> None:
    """Write the JSON and the plot of all runs in the work folder, and print a table; what was measured of speed stays."""
    path = output / "ddpg_training"
    kept = json.loads(path.with_suffix(".json").read_text()) if path.with_suffix(".json").is_file() else {}
    settings = {}
    for name in SETTINGS:
        runs = [json.loads(found.read_text()) for found in work.glob(f"{name}-*.json")]
        if runs:
            settings[name] = summarize(name, sorted(runs, key=lambda found: found["seed"]))
    result: dict[str, Any] = {
        "about": (
            f"mean return on {ENV} of {len(TEST_SEEDS)} episodes without noise, every {INTERVAL} frames; "
            f"at the end, of {len(FINAL_SEEDS)} other episodes"
        ),
        "machine": machine(),
        "goals": judge(settings, kept.get("speed")),
        "speed": kept.get("speed"),
        "remedies": kept.get("remedies"),
        "settings": settings,
    }
    save(result, path.with_suffix(".json"))
    draw(settings, path.with_suffix(".png"))
    for name, summary in settings.items():
        print(f"{name:24} {summary['final_mean']:7.1f} {summary['final_by_seed']} {summary['frames_to_threshold']}")
    for name, goal in result["goals"].items():
        print(f"{'met' if goal['met'] else 'MISSED':6} {name}: {goal['found']} (goal: {goal['goal']})")


def draw(settings: dict[str, Any], path: Path) -> None:
    """Draw the learning curves of the solution beside Stable-Baselines3 and with mistakes, and where every seed ended."""
    from matplotlib.figure import Figure

    from utils import CURVE_COLORS

    figure = Figure(figsize=(13.5, 4.6), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=(1, 1, 0.9))
    frames = np.arange(INTERVAL, FRAMES + 1, INTERVAL)
    others = [name for name in settings if SETTINGS[name].faults]
    groups = ((left, "means and single seeds", ["solution", "sb3"]), (middle, "with mistakes", ["solution", *others]))
    for axes, title, names in groups:
        for name, color in zip(names, (*CURVE_COLORS, "black"), strict=False):
            summary = settings[name]
            curves = np.array(summary["curves"])
            for curve in curves if axes is left else ():
                axes.plot(frames, curve, color=color, lw=0.7, alpha=0.45)
            label = f"{summary['label']} ({len(curves)})"
            axes.plot(frames, curves.mean(axis=0), color=color, lw=2.2, label=label)
        axes.axhline(THRESHOLD, color="black", lw=0.8, ls=":")
        axes.set(xlabel="frames", ylabel=f"mean return of {len(TEST_SEEDS)} test episodes", title=f"{ENV}: {title}")
        axes.set(xlim=(0, FRAMES), ylim=(-1700, 0))
        axes.legend(frameon=False, fontsize=7.5, handlelength=1.2, loc="lower right")
        axes.grid(alpha=0.3)
    labels = [settings[name]["label"] for name in reversed(settings)]
    for place, name in enumerate(reversed(settings)):
        finals = settings[name]["final_by_seed"]
        right.plot(finals, [place] * len(finals), "o", color=CURVE_COLORS[0], ms=5, alpha=0.5)
        right.plot([settings[name]["final_mean"]], [place], "|", color="black", ms=16)
    right.axvline(FINAL_GOAL, color="black", lw=0.8, ls=":")
    right.set_yticks(range(len(labels)), labels, fontsize=8)
    right.set(xlabel=f"mean return of {len(FINAL_SEEDS)} other episodes", title="at the end, by seed")
    right.grid(alpha=0.3)
    figure.savefig(path, dpi=90)


def checkpoint(work: Path) -> None:
    """Save the solution's actor that plays the episodes at the end best."""
    runs = [(json.loads(path.read_text()), path) for path in work.glob("solution-*.json")]
    if not runs:
        raise SystemExit(f"there is no run of the solution in {work}: run solution 0 first")
    result, path = max(runs, key=lambda found: statistics.mean(found[0]["final"]))
    data = path.with_suffix(".safetensors").read_bytes()  # as save_actor wrote it
    target = ROOT / "benchmarks" / "results" / "ddpg_actor.safetensors"
    target.write_bytes(data)
    tested = statistics.mean(evaluate(load_actor(data), FINAL_SEEDS))
    print(f"{target.relative_to(ROOT)}: seed {result['seed']}, mean of {len(FINAL_SEEDS)} episodes {tested:.1f}")


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("run")
    command.add_argument("setting", choices=SETTINGS)
    command.add_argument("seeds", type=int, nargs="+")
    for name in ("speed", "remedies", "report", "checkpoint"):
        commands.add_parser(name)
    for name, command in commands.choices.items():
        if name not in ("speed", "remedies"):
            command.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "ddpg_runs")
        if name in ("speed", "remedies", "report"):
            command.add_argument("-o", "--output", type=Path, default=ROOT / "benchmarks" / "results")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.command == "run":
        arguments.work.mkdir(parents=True, exist_ok=True)
        for seed in arguments.seeds:
            run(arguments.setting, seed, arguments.work)
    elif arguments.command == "report":
        report(arguments.work, arguments.output)
    elif arguments.command == "checkpoint":
        checkpoint(arguments.work)
    else:
        path = arguments.output / "ddpg_training.json"
        kept = json.loads(path.read_text()) if path.is_file() else {}
        if arguments.command == "remedies":
            found = measure_remedies()
        else:
            found = {"updates": measure_updates(), "plots": measure_plots()}
        save(kept | {arguments.command: found}, path)
        print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
