"""A class that an earlier kit has graded: scores made anew are the same, and the checks of today can grade it again.

graded_class.zip holds what six students handed in for policy_gradient (the solution, another right form, three mistakes and the
stub), and the results and scores that `course` wrote of it at commit b2fa9ff.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.recorded

INPUTS = ("tests/kit/graded_class.zip", "grading:policy_gradient", "command:regrade")
POINTS = {"ada": "100", "bob": "88", "eve": "83", "kim": "100", "lee": "88", "stub": "0"}
# By the checks of today, version 1.2: one update is worth ten points, and each mistake costs its own question.
TODAY = {"ada": "100", "bob": "85", "eve": "85", "kim": "100", "lee": "88", "stub": "0"}
LOST = {
    "bob": {"get_returns": "1", "one_update": "6", "learning_vanilla": "0", "learning_ppo": "0"},
    "eve": {
        "train_policy_gradient.without_critic": "7",
        "train_policy_gradient.minibatches": "8",
        "one_update": "2",
        "learning_vanilla": "0",
        "learning_ppo": "0",
    },
    "lee": {"get_PPO_policy_gradient_loss": "1", "one_update": "8", "learning_ppo": "0"},
}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """The folder that `course` wrote."""
    with zipfile.ZipFile(Path(__file__).with_name("graded_class.zip")) as archive:
        archive.extractall(tmp_path)
    course = tmp_path / "results" / "course.json"
    course.write_text(course.read_text().replace('"export": "export"', f'"export": "{tmp_path / "export"}"'))
    return tmp_path / "results"


def points(results: Path) -> dict[str, str]:
    """Return the points of each student."""
    return {score["entry"]: score["points"] for score in json.loads((results / "scores.json").read_text())["scores"]}


def questions(results: Path) -> dict[str, dict[str, str]]:
    """Return the points of each student, by question."""
    return {score["entry"]: score["questions"] for score in json.loads((results / "scores.json").read_text())["scores"]}


def test_scored_anew(results: Path, tmp_path: Path, command_line: Callable[..., int]) -> None:
    """Catches: files of an earlier release that are not understood, or scores that another release counts otherwise."""
    before = points(results), questions(results)
    policy = tmp_path / "policy.toml"
    policy.write_text("")
    assert command_line("regrade", str(results), "--policy", str(policy)) == 0
    assert (points(results), questions(results)) == before
    assert before[0] == POINTS


@pytest.mark.slow(40)
def test_graded_anew(results: Path, tmp_path: Path, command_line: Callable[..., int]) -> None:
    """Catches: a check that was only to be moved or stored otherwise, and gives other points now."""
    assert command_line("regrade", str(results), "--workers", "1", "--apply", "--unproven") == 0
    assert points(results) == TODAY
    whole = questions(results)["ada"]
    for student, own in questions(results).items():
        if student != "stub":
            assert {name: earned for name, earned in own.items() if earned != whole[name]} == LOST.get(student, {})
