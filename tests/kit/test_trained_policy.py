"""The trained policy that students of continuous_ppo may hand in: saved, refused, played, and on the leaderboard."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.numpy import load, save
from torch import nn

from grader.assignment import AssignmentFiles
from grader.judge.run import GradingOptions, grade
from grader.sandbox.places import make_temporary_folder
from tests.kit import loading

pytestmark = pytest.mark.recorded

INPUTS = ("grading:continuous_ppo",)

ROOT = Path(__file__).resolve().parents[2]
pytest.importorskip("mujoco")


@pytest.fixture(scope="module")
def trained_policy() -> ModuleType:
    return loading.load("assignments/continuous_ppo/trained_policy.py")


class Net(nn.Module):
    """A model as students write it; its value network comes first, so the order of the layers tells nothing."""

    def __init__(self, activation: type[nn.Module] = nn.Tanh, width: int = 64) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.value = nn.Sequential(
            nn.Linear(17, width), activation(), nn.Linear(width, width), activation(), nn.Linear(width, 1)
        )
        self.mean = nn.Sequential(
            nn.Linear(17, width), activation(), nn.Linear(width, width), activation(), nn.Linear(width, 6)
        )
        self.vector = nn.Parameter(torch.zeros(6))

    def forward(self, observations):
        return self.mean(observations), self.vector.exp(), self.value(observations)


@pytest.fixture
def normalize() -> SimpleNamespace:
    """What `save_policy` reads of `Normalize`."""
    moments = SimpleNamespace(mean=np.linspace(-1, 1, 17), variance=np.linspace(0.5, 3, 17))
    return SimpleNamespace(observation_moments=moments, clipobs=10.0)


@pytest.fixture
def content(trained_policy: ModuleType, normalize: SimpleNamespace, tmp_path: Path) -> bytes:
    trained_policy.save_policy(tmp_path / "policy.safetensors", Net(), normalize)
    return (tmp_path / "policy.safetensors").read_bytes()


def test_plays_what_was_trained(trained_policy: ModuleType, normalize: SimpleNamespace, content: bytes) -> None:
    """Catches: layers of the value network, a normalization left out or done twice, a clip forgotten."""
    observation = np.random.default_rng(0).normal(scale=20, size=17)  # some are clipped
    moments = normalize.observation_moments
    scaled = np.clip((observation - moments.mean) / np.sqrt(moments.variance + 1e-8), -10, 10)
    with torch.no_grad():
        mean = Net()(torch.tensor(scaled, dtype=torch.float32))[0].numpy()
    np.testing.assert_allclose(trained_policy.load_policy(content)(observation), mean, atol=1e-5)


def test_other_networks_are_not_saved(trained_policy: ModuleType, normalize: SimpleNamespace, tmp_path: Path) -> None:
    """Catches: a file that plays something else than the model would."""
    with pytest.raises(ValueError, match=r"three nn\.Linear with tanh"):
        trained_policy.save_policy(tmp_path / "p", Net(nn.ReLU), normalize)
    assert not (tmp_path / "p").exists()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"bias1": None}, "expected the arrays"),
        ({"more": np.zeros(3)}, "expected the arrays"),
        ({"weight0": np.full((64, 17), np.nan)}, "weight0 must be finite"),
        ({"weight1": np.ones((64, 64), np.int64)}, "weight1 must be finite floating-point"),
        ({"weight2": np.zeros((6, 63))}, "do not fit together"),
        ({"bias0": np.zeros(())}, "do not fit together"),
        ({"observation_mean": np.zeros((1, 17))}, "do not fit together"),
        ({"observation_variance": np.full(17, -1.0)}, "no variance may be negative"),
        ({"observation_clip": np.zeros(1)}, "one number above 0"),
        ({"observation_clip": np.ones(2)}, "one number above 0"),
    ],
)
def test_refused(trained_policy: ModuleType, content: bytes, change: dict, says: str) -> None:
    """Catches: a file that crashes the player, or says nothing of what is wrong with it."""
    arrays = {name: array for name, array in (load(content) | change).items() if array is not None}
    with pytest.raises(ValueError, match=says):
        trained_policy.load_policy(save(arrays))


def test_is_for_another_robot(trained_policy: ModuleType, content: bytes) -> None:
    with pytest.raises(ValueError, match="this policy others"):
        trained_policy.evaluate(trained_policy.load_policy(content), [1], "Pendulum-v1")


@pytest.fixture
def folder(content: bytes) -> Iterator[Path]:
    """A folder with the solution and a policy."""
    folder = make_temporary_folder()
    shutil.copyfile(ROOT / "solutions/continuous_ppo/submitted.py", folder / "submitted.py")
    (folder / "policy.safetensors").write_bytes(content)
    yield folder
    shutil.rmtree(folder)


def test_is_on_the_leaderboard(trained_policy: ModuleType, folder: Path, content: bytes) -> None:
    """Catches: MuJoCo that cannot work in the sandbox; another score than a student sees in the notebook."""
    report = grade(
        AssignmentFiles(ROOT, "continuous_ppo"),
        folder,
        ("visible",),
        GradingOptions(("trained_policy",)),
    )
    returns = np.array(trained_policy.evaluate(trained_policy.load_policy(content), range(1, 11)))
    (entry,) = report.leaderboard()
    assert (entry.name, entry.order) == ("HalfCheetah-v5: mean - std", "desc")
    assert entry.value == pytest.approx(returns.mean() - returns.std(), abs=0.01)


def test_hostile_file_costs_nothing(folder: Path) -> None:
    """Catches: a broken file that takes points, or is called a fault of the grader."""
    (folder / "policy.safetensors").write_bytes(b"\xff" * 1000)
    report = grade(
        AssignmentFiles(ROOT, "continuous_ppo"),
        folder,
        ("visible",),
        GradingOptions(("trained_policy", "anneal_learning_rate")),
    )
    outcomes = {question.id: question.outcome.value for question in report.questions}
    assert outcomes == {"anneal_learning_rate": "passed", "trained_policy": "failed"}
    assert report.final
    assert report.leaderboard() == []
    assert "this is not a safetensors file" in next(c.message for c in report.checks if c.question == "trained_policy")
