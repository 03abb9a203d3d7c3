"""The trained actor that students of ddpg may hand in: saved, refused, played, and on the leaderboard."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import safetensors.torch
import torch
from safetensors.numpy import load, save
from torch import nn

from grader.assignment import AssignmentFiles
from grader.judge.run import GradingOptions, grade
from grader.report.model import Report
from grader.sandbox.places import make_temporary_folder
from tests.kit.loading import load_with_solution

pytestmark = pytest.mark.recorded

INPUTS = ("grading:ddpg",)

ROOT = Path(__file__).resolve().parents[2]
GIVEN = ("training", "trained_actor")
LEADERBOARD_SEEDS = range(100, 120)


@pytest.fixture(scope="module")
def modules() -> SimpleNamespace:
    """The solution and the given files; neither path nor names are left behind."""
    return load_with_solution("ddpg", *GIVEN)


@pytest.fixture(scope="module")
def trained_actor(modules: SimpleNamespace) -> ModuleType:
    return modules.trained_actor


@pytest.fixture
def actor(modules: SimpleNamespace) -> nn.Module:
    """An actor of the solution, for Pendulum, whose actions are not all alike."""
    torch.manual_seed(4)
    return modules.solution.Actor(3, 1, init_w=0.4)


@pytest.fixture
def content(trained_actor: ModuleType, actor: nn.Module, tmp_path: Path) -> bytes:
    trained_actor.save_actor(tmp_path / "actor.safetensors", actor)
    return (tmp_path / "actor.safetensors").read_bytes()


class Other(nn.Module):
    """An actor as students might change it. What is given here replaces what the assignment asks for."""

    between: nn.Module  # where `more` has one

    def __init__(self, hidden: Any = torch.relu, last: Any = torch.tanh, more: dict[str, nn.Module] | None = None) -> None:
        super().__init__()
        torch.manual_seed(4)
        self.hidden1, self.hidden2, self.out = nn.Linear(3, 20), nn.Linear(20, 30), nn.Linear(30, 1)
        self.hidden, self.last = hidden, last
        for name, module in (more or {}).items():
            self.add_module(name, module)

    def forward(self, state: torch.Tensor) -> torch.Tensor:
        x = self.hidden(self.hidden1(state))
        if hasattr(self, "between"):
            x = self.between(x)
        return self.last(self.out(self.hidden(self.hidden2(x))))


class Shifted(Other):
    def forward(self, state: torch.Tensor) -> torch.Tensor:
        return super().forward(state / 8)


class Paired(Other):
    def forward(self, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:  # type: ignore[override]  # two for one
        return super().forward(state), state


class InAnotherOrder(Other):
    """Its layers are made from the last to the first."""

    def __init__(self) -> None:
        nn.Module.__init__(self)
        torch.manual_seed(4)
        self.out, self.hidden2, self.hidden1 = nn.Linear(20, 1), nn.Linear(20, 20), nn.Linear(20, 20)
        self.hidden, self.last = torch.relu, torch.tanh


@pytest.mark.parametrize("actions", [1, 2, 5])
def test_plays_what_was_trained(modules: SimpleNamespace, tmp_path: Path, actions: int) -> None:
    """Catches: arrays turned round or mixed up, a batch that is not one, float32 that is lost on the way."""
    torch.manual_seed(actions)
    actor = modules.solution.Actor(4, actions, init_w=0.4)
    modules.trained_actor.save_actor(tmp_path / "a", actor)
    arrays = load((tmp_path / "a").read_bytes())
    assert arrays.keys() == {"weight0", "bias0", "weight1", "bias1", "weight2", "bias2"}
    assert all(array.dtype == np.float32 for array in arrays.values())
    for number, name in enumerate(("hidden1", "hidden2", "out")):
        np.testing.assert_array_equal(arrays[f"weight{number}"], getattr(actor, name).weight.detach())
        np.testing.assert_array_equal(arrays[f"bias{number}"], getattr(actor, name).bias.detach())
    played = modules.trained_actor.load_actor((tmp_path / "a").read_bytes())
    states = np.random.default_rng(0).normal(scale=5, size=(50, 4))
    with torch.no_grad():
        expected = actor(torch.tensor(states, dtype=torch.float32)).numpy()
    assert expected.std(axis=0).min() > 0.1
    for state, action in zip(states, expected, strict=True):
        np.testing.assert_allclose(played(state), action, atol=1e-5)
    np.testing.assert_allclose(played(states), expected, atol=1e-5)
    assert played(states.astype(np.float32)).dtype == np.float64
    assert actor.out.weight.grad is None


def test_a_path_or_its_name(trained_actor: ModuleType, actor: nn.Module, content: bytes, tmp_path: Path) -> None:
    """Catches: a name that is no Path; a file that goes on where an older one was."""
    (tmp_path / "b").write_bytes(b"x" * 500_000)
    trained_actor.save_actor(str(tmp_path / "b"), actor)
    assert (tmp_path / "b").read_bytes() == content


def test_other_widths(trained_actor: ModuleType, tmp_path: Path) -> None:
    """Catches: a size that only the solution has; names of layers that only the solution has."""
    trained_actor.save_actor(tmp_path / "o", Other())
    played = trained_actor.load_actor((tmp_path / "o").read_bytes())
    state = np.array([0.3, -0.2, 4.0])
    with torch.no_grad():
        np.testing.assert_allclose(played(state), Other()(torch.tensor(state, dtype=torch.float32)), atol=1e-6)
    sequence = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 9), nn.ReLU(), nn.Linear(9, 2), nn.Tanh())
    trained_actor.save_actor(tmp_path / "s", sequence)
    assert trained_actor.load_actor((tmp_path / "s").read_bytes())(state).shape == (2,)


def test_layers_in_any_order(trained_actor: ModuleType, tmp_path: Path) -> None:
    """Catches: layers in the order in which they were made; weights of another precision."""
    actor = InAnotherOrder().double()
    trained_actor.save_actor(tmp_path / "o", actor)
    states = np.random.default_rng(1).normal(size=(9, 20))
    with torch.no_grad():
        expected = actor(torch.as_tensor(states)).numpy()
    np.testing.assert_allclose(trained_actor.load_actor((tmp_path / "o").read_bytes())(states), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Other(hidden=torch.tanh), "only an actor of three"),
        (lambda: Other(hidden=nn.functional.elu), "only an actor of three"),
        (lambda: Other(hidden=nn.functional.leaky_relu), "only an actor of three"),
        (lambda: Other(last=lambda raw: 2 * torch.tanh(raw)), "only an actor of three"),
        (lambda: Other(last=lambda raw: raw), "only an actor of three"),
        (lambda: Other(last=lambda raw: raw.clamp(-1, 1)), "only an actor of three"),
        (lambda: Other(more={"between": nn.LayerNorm(20)}), "only an actor of three"),
        (lambda: Other(more={"between": nn.Dropout(0.5)}), "only an actor of three"),
        (lambda: Shifted(), "only an actor of three"),
        (lambda: Other(more={"between": nn.Linear(20, 20)}), "three nn.Linear.* has 4"),
        (lambda: Other(more={"value": nn.Linear(3, 1)}), "three nn.Linear.* has 4"),
        (lambda: nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1), nn.Tanh()), "three nn.Linear.* has 2"),
        (lambda: nn.Sequential(), "three nn.Linear.* has 0"),
        (
            lambda: nn.Sequential(
                nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 8, bias=False), nn.ReLU(), nn.Linear(8, 1), nn.Tanh()
            ),
            "three nn.Linear with biases",
        ),
        (lambda: Paired(), "uses them differently"),
    ],
)
def test_other_networks_are_not_saved(trained_actor: ModuleType, tmp_path: Path, make: Any, says: str) -> None:
    """Catches: a file that plays something else than the actor would; a file that is there nevertheless."""
    with pytest.raises(ValueError, match=says):
        trained_actor.save_actor(tmp_path / "p", make())
    assert not (tmp_path / "p").exists()


def test_diverged_actor_is_not_saved(trained_actor: ModuleType, tmp_path: Path) -> None:
    """Catches: weights that are not numbers; an older file that is lost because of them."""
    actor = Other()
    (tmp_path / "p").write_bytes(b"the one before")
    with torch.no_grad():
        actor.hidden2.bias[3] = float("nan")
    with pytest.raises(ValueError, match="bias1 must be finite"):
        trained_actor.save_actor(tmp_path / "p", actor)
    assert (tmp_path / "p").read_bytes() == b"the one before"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"bias1": None}, "expected the arrays weight0, .* found bias0, bias2"),
        ({"more": np.zeros(3, np.float32)}, "expected the arrays"),
        ({"weight0": None, "hidden1.weight": np.zeros((128, 3), np.float32)}, "expected the arrays"),
        ({"weight0": np.full((128, 3), np.nan, np.float32)}, "weight0 must be finite"),
        ({"bias2": np.array([np.inf], np.float32)}, "bias2 must be finite"),
        ({"weight1": np.ones((128, 128), np.int64)}, "weight1 must be finite floating-point numbers, found int64"),
        ({"weight1": np.ones((128, 128), np.bool_)}, "weight1 must be finite floating-point numbers, found bool"),
        ({"bias0": np.ones(128, np.uint8)}, "bias0 must be finite floating-point numbers, found uint8"),
        ({"weight2": np.zeros((1, 127), np.float32)}, "do not fit together: .*'weight2': \\[1, 127\\]"),
        ({"weight0": np.zeros((3, 128), np.float32)}, "do not fit together"),
        ({"weight0": np.zeros((127, 3), np.float32)}, "do not fit together"),
        ({"weight0": np.zeros(3, np.float32)}, "do not fit together"),
        ({"weight0": np.zeros((), np.float32)}, "do not fit together"),
        ({"weight0": np.zeros((1, 128, 3), np.float32)}, "do not fit together"),
        ({"weight1": np.zeros((64, 128), np.float32)}, "do not fit together"),
        ({"bias0": np.zeros((), np.float32)}, "do not fit together"),
        ({"bias2": np.zeros((1, 1), np.float32)}, "do not fit together"),
        ({"bias2": np.zeros(2, np.float32)}, "do not fit together"),
    ],
)
def test_refused(trained_actor: ModuleType, content: bytes, change: dict, says: str) -> None:
    """Catches: a file that crashes the player, or says nothing of what is wrong with it."""
    arrays = {name: array for name, array in (load(content) | change).items() if array is not None}
    with pytest.raises(ValueError, match=says):
        trained_actor.load_actor(save(arrays))


def with_header(header: bytes, body: bytes = b"") -> bytes:
    return struct.pack("<Q", len(header)) + header + body


@pytest.mark.parametrize(
    "garbage",
    [
        b"",
        b"\xff" * 1000,
        b"PK\x03\x04" + b"\0" * 100,
        struct.pack("<Q", 2**62) + b"{}",
        with_header(b"not json"),
        with_header(b"[]"),
        with_header(b'{"weight0": {"dtype": "F32", "shape": [1000000000000], "data_offsets": [0, 4000000000000]}}'),
        with_header(b'{"weight0": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}', b"\0" * 4),
        with_header(b'{"weight0": {"dtype": "F99", "shape": [1], "data_offsets": [0, 4]}}', b"\0" * 4),
    ],
)
def test_garbage(trained_actor: ModuleType, garbage: bytes) -> None:
    """Catches: an exception that a driver does not know."""
    with pytest.raises(ValueError, match="this is not a safetensors file"):
        trained_actor.load_actor(garbage)


def test_cut_off(trained_actor: ModuleType, content: bytes) -> None:
    """Catches: a file whose end was lost on the way, played as far as it goes; no arrays at all."""
    for size in (4, 8, 100, len(content) // 2, len(content) - 1):
        with pytest.raises(ValueError, match="this is not a safetensors file"):
            trained_actor.load_actor(content[:size])
    with pytest.raises(ValueError, match="found none"):
        trained_actor.load_actor(save({}))


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "complex64", "int8", "bool"])
def test_types_that_numpy_lacks(trained_actor: ModuleType, content: bytes, name: str) -> None:
    """Catches: a type of numbers that NumPy cannot name, or reads as bytes."""
    tensors = {key: torch.tensor(array) for key, array in load(content).items()}
    tensors["weight1"] = tensors["weight1"].to(getattr(torch, name))
    with pytest.raises(ValueError, match=r"safetensors file|must be finite floating-point"):
        trained_actor.load_actor(safetensors.torch.save(tensors))


@pytest.mark.parametrize("env_id", ["MountainCarContinuous-v0", "CartPole-v1"])
def test_is_for_another_task(trained_actor: ModuleType, content: bytes, env_id: str) -> None:
    with pytest.raises(ValueError, match="this actor has others"):
        trained_actor.evaluate(trained_actor.load_actor(content), [1], env_id)


def test_has_too_many_actions(modules: SimpleNamespace, tmp_path: Path) -> None:
    """Catches: an actor that no environment of this name can use, played with what NumPy makes of its actions."""
    modules.trained_actor.save_actor(tmp_path / "a", modules.solution.Actor(3, 2))
    with pytest.raises(ValueError, match=r"observations \[3\] and actions \[1\]; this actor has others"):
        modules.trained_actor.evaluate(modules.trained_actor.load_actor((tmp_path / "a").read_bytes()), [1])


def test_as_the_agent_plays(modules: SimpleNamespace, actor: nn.Module, content: bytes) -> None:
    """Catches: half of the torque, noise, an episode that begins elsewhere or ends early, returns in another order."""
    seeds = [5, 0, 11]
    env = modules.solution.ActionNormalizer(gym.make("Pendulum-v1"))
    agent = modules.solution.DDPGAgent(env, 10, 10, 1.0, 0.1)
    agent.actor.load_state_dict(actor.state_dict())
    agent.is_test = True
    expected = []
    for seed in seeds:
        state, _ = env.reset(seed=seed)
        score, steps, done = 0.0, 0, False
        while not done:
            state, reward, done = agent.step(agent.select_action(state))
            score, steps = score + reward, steps + 1
        assert steps == 200
        expected.append(score)
    found = modules.trained_actor.evaluate(modules.trained_actor.load_actor(content), seeds)
    assert [type(value) for value in found] == [float] * 3
    # The pendulum multiplies the difference between float32 and float64.
    assert found == pytest.approx(expected, rel=1e-3)
    assert len({round(value) for value in found}) == 3


def test_one_episode_per_seed(trained_actor: ModuleType, content: bytes) -> None:
    """Catches: what one episode leaves to the next; seeds that NumPy made; another default."""
    actor = trained_actor.load_actor(content)
    together = trained_actor.evaluate(actor, np.array([3, 4], dtype=np.int64))
    assert together == [trained_actor.evaluate(actor, [seed])[0] for seed in (3, 4)]
    assert trained_actor.evaluate(actor, [4, 3]) == together[::-1]
    by_default = trained_actor.evaluate(actor)
    assert len(by_default) == 10
    assert by_default[3:5] == together


def test_a_good_actor_swings_up(trained_actor: ModuleType) -> None:
    """Catches: torques of the wrong sign: an actor that only brakes must not do better than one that holds it upright."""
    # From rows cos, sin and speed: torque against speed, or with it. With ReLU a number is the difference of two.
    arrays = {
        "weight0": np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]), "bias0": np.zeros(2),
        "weight1": np.eye(2), "bias1": np.zeros(2), "weight2": np.array([[1.0, -1.0]]), "bias2": np.zeros(1),
    }  # fmt: skip
    with_speed = trained_actor.TrainedActor(arrays)
    against = trained_actor.TrainedActor(arrays | {"weight2": -arrays["weight2"]})
    np.testing.assert_allclose(with_speed(np.array([1.0, 0.0, 0.5])), [np.tanh(0.5)])
    np.testing.assert_allclose(against(np.array([1.0, 0.0, -0.5])), [np.tanh(0.5)])
    driven, braked = ([*trained_actor.evaluate(actor, range(4))] for actor in (with_speed, against))
    # By another way, without an environment: the equation of motion, as in gymnasium's documentation.
    for sign, found in ((1, driven), (-1, braked)):
        for seed, value in enumerate(found):
            env = gym.make("Pendulum-v1")
            (cosine, sine, speed), _ = env.reset(seed=seed)
            angle, total = np.arctan2(sine, cosine), 0.0
            for _ in range(200):
                torque = 2 * np.tanh(sign * speed)
                wrapped = (angle + np.pi) % (2 * np.pi) - np.pi
                total -= wrapped**2 + 0.1 * speed**2 + 0.001 * torque**2
                speed = np.clip(speed + (15 * np.sin(angle) + 3 * torque) * 0.05, -8, 8)
                angle += speed * 0.05
            assert value == pytest.approx(total, rel=0.02)


@pytest.fixture
def folder(content: bytes) -> Iterator[Path]:
    """A folder with the solution and an actor."""
    folder = make_temporary_folder()
    shutil.copyfile(ROOT / "solutions/ddpg/submitted.py", folder / "submitted.py")
    (folder / "actor.safetensors").write_bytes(content)
    yield folder
    shutil.rmtree(folder)


def graded(folder: Path, *questions: str) -> Report:
    return grade(
        AssignmentFiles(ROOT, "ddpg"),
        folder,
        ("visible",),
        GradingOptions(("trained_actor", *questions)),
    )


def outcomes(report: Report) -> dict[str, str]:
    return {question.id: question.outcome.value for question in report.questions}


def test_is_on_the_leaderboard(trained_actor: ModuleType, folder: Path, content: bytes) -> None:
    """Catches: an environment that cannot work in the sandbox; another score than a student sees in the notebook."""
    report = graded(folder)
    (entry,) = report.leaderboard()
    assert (entry.name, entry.order) == ("Pendulum-v1: mean - std", "desc")
    returns = np.array(trained_actor.evaluate(trained_actor.load_actor(content), LEADERBOARD_SEEDS))
    assert entry.value == pytest.approx(returns.mean() - returns.std(), abs=0.01)
    assert report.final
    assert not set(LEADERBOARD_SEEDS) & set(trained_actor.TEST_SEEDS)  # by which a student may choose an actor


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (None, "this is not a safetensors file"),
        ({"weight0": np.zeros((128, 2), np.float32)}, "Pendulum-v1 has observations"),
    ],
)
def test_hostile_file_costs_nothing(folder: Path, content: bytes, change: dict | None, says: str) -> None:
    """Catches: a broken file that takes points, or is called a fault of the grader."""
    (folder / "actor.safetensors").write_bytes(b"\xff" * 1000 if change is None else save(load(content) | change))
    report = graded(folder, "ActionNormalizer")
    assert outcomes(report) == {"ActionNormalizer": "passed", "trained_actor": "failed"}
    assert report.final
    assert report.leaderboard() == []
    assert says in next(check.message for check in report.checks if check.question == "trained_actor")


def test_is_optional(folder: Path) -> None:
    """Catches: a check that fails, or takes points, where nothing was handed in."""
    (folder / "actor.safetensors").unlink()
    report = graded(folder, "ActionNormalizer")
    assert outcomes(report)["ActionNormalizer"] == "passed"
    assert report.leaderboard() == []
    (check,) = [check for check in report.checks if check.question == "trained_actor"]
    assert check.outcome.value == "not run"
    assert "no actor.safetensors was submitted" in check.message


def test_student_code_has_no_say(folder: Path) -> None:
    """Catches: student code in the process that measures: there, it could choose its score."""
    honest = graded(folder).leaderboard()[0].value
    with open(folder / "submitted.py", "a") as file:
        file.write(
            "\nimport trained_actor\ntrained_actor.evaluate = lambda *arguments: [0.0] * 10\n"
            "import gymnasium\ngymnasium.make = None\n"
        )
    (entry,) = graded(folder).leaderboard()
    assert entry.value == honest
