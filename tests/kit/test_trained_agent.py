"""The trained agent that students of recurrent_a2c may hand in: played in their network, by games out of their reach."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from safetensors.torch import save

from grader.assignment import AssignmentFiles
from grader.judge.run import GradingOptions, grade
from grader.report.model import Report
from grader.sandbox.places import make_temporary_folder
from tests.kit.loading import load

pytestmark = pytest.mark.recorded

INPUTS = ("grading:recurrent_a2c",)

ROOT = Path(__file__).resolve().parents[2]
GAMES = 5
pytest.importorskip("ale_py")


@pytest.fixture(scope="module")
def agent() -> torch.nn.Module:
    """An agent that was not trained: its games are short."""
    torch.manual_seed(5)
    return load("solutions/recurrent_a2c/submitted.py").SimpleRecurrentAgent((1, 42, 42), 14)


@pytest.fixture
def trained_agent(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "assignments/recurrent_a2c"))
    return load("assignments/recurrent_a2c/trained_agent.py")


@pytest.fixture
def folder(trained_agent: ModuleType, agent: torch.nn.Module) -> Iterator[Path]:
    """A folder with the solution and an agent."""
    folder = make_temporary_folder()
    shutil.copyfile(ROOT / "solutions/recurrent_a2c/submitted.py", folder / "submitted.py")
    trained_agent.save_agent(folder / "agent.safetensors", agent)
    yield folder
    shutil.rmtree(folder)


def graded(folder: Path, *questions: str) -> Report:
    return grade(
        AssignmentFiles(ROOT, "recurrent_a2c"),
        folder,
        ("visible",),
        GradingOptions(("trained_agent", *questions)),
    )


def test_is_on_the_leaderboard(trained_agent: ModuleType, folder: Path, agent: torch.nn.Module) -> None:
    """Catches: Atari that cannot work in the sandbox; weights that get lost; another score than at home."""
    (entry,) = graded(folder).leaderboard()
    scores = trained_agent.play_test_games(agent, range(GAMES))
    assert (entry.name, entry.order) == (f"KungFuMaster: mean of {GAMES} games", "desc")
    assert entry.value == pytest.approx(np.mean(scores))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\xff" * 1000, "not a safetensors file"),
        (save({"conv0.weight": torch.zeros(3)}), "not weights of your SimpleRecurrentAgent"),
    ],
)
def test_useless_file_costs_nothing(folder: Path, content: bytes, says: str) -> None:
    """Catches: a broken file that takes points, or is called a fault of the grader."""
    (folder / "agent.safetensors").write_bytes(content)
    report = graded(folder, "train_on_rollout.step")
    outcomes = {question.id: question.outcome.value for question in report.questions}
    assert outcomes == {"train_on_rollout.step": "passed", "trained_agent": "failed"}
    assert report.final
    assert report.leaderboard() == []
    assert says in next(check.message for check in report.checks if check.question == "trained_agent")


def test_cannot_reach_the_games(folder: Path) -> None:
    """Catches: student code that gets to the process with the scores: there, it could choose them."""
    with open(folder / "submitted.py", "a") as file:
        file.write(
            "\nimport trained_agent\n"
            "def forged(seeds):\n    yield __import__('numpy').zeros((5, 1, 42, 42), 'float32')\n    return [1e6] * 5\n"
            "trained_agent.games = forged\n"
        )
    (entry,) = graded(folder).leaderboard()
    assert entry.value < 5_000
