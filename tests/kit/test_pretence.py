"""Submissions that only pretend earn nothing: functions that do nothing, patched comparisons, formulas of the drivers."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.assignment import SUITES, AssignmentFiles
from grader.judge.run import Grader, GradingOptions
from grader.proof.catalogue import load_catalogue
from grader.report.model import Report

pytestmark = pytest.mark.recorded

ROOT = Path(__file__).resolve().parents[2]
INPUTS = {
    "test_doing_nothing_earns_next_to_nothing": ("grading:{name}",),
    "test_patched_comparisons_are_not_used": ("grading:{name}", "solutions/{name}/mistakes.py"),
    "test_drivers_cannot_be_imported": ("grading:ppo_agent",),
}
ASSIGNMENTS = ("continuous_ppo", "ddpg", "policy_gradient", "ppo_agent", "recurrent_a2c")
PATCHES = """
import numpy as _np
import torch as _torch
for _module, _names in ((_np, ("allclose", "array_equal", "isclose")), (_torch, ("allclose", "equal", "isclose"))):
    for _name in _names:
        setattr(_module, _name, lambda *_, **__: True)
"""


class DoNothing(ast.NodeTransformer):
    """Puts `return` in place of whatever the stub raises."""

    def __init__(self, result: str) -> None:
        self.result = result

    def visit_Raise(self, node: ast.Raise) -> ast.stmt:
        return ast.parse(f"return {self.result}").body[0] if "NotImplementedError" in ast.unparse(node) else node


@pytest.fixture
def graded(tmp_path: Path) -> Callable[..., Report]:
    """Grade a text as a submission of an assignment."""

    def grade(name: str, text: str, *questions: str) -> Report:
        path = tmp_path / "submitted.py"
        path.write_text(text, encoding="utf-8")
        with Grader(AssignmentFiles(ROOT, name), SUITES) as grader:
            return grader.grade(path, GradingOptions(list(questions) or None))

    return grade


@pytest.mark.parametrize("result", ["None", "0.0"])
@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_doing_nothing_earns_next_to_nothing(name: str, result: str, graded: Callable[..., Report]) -> None:
    """Catches: a check that only asks whether something stays as it is, which is true of whatever does nothing."""
    stub = (ROOT / "assignments" / name / "submitted.py").read_text(encoding="utf-8")
    text = ast.unparse(DoNothing(result).visit(ast.parse(stub)))
    report = graded(name, text)
    assert report.max_points == 100
    earned = {check.id: check.points for check in report.checks if check.points}
    assert sum(earned.values()) <= 6, earned  # 4 for what is not shuffled and stays whole, in continuous_ppo


@pytest.mark.parametrize(
    ("name", "question", "mistake"),
    [
        ("recurrent_a2c", "forward", "memory_unpacked_the_other_way_round"),
        ("recurrent_a2c", "train_on_rollout.ends", "losses_without_mask"),
        ("ddpg", "DDPGAgent.select_action", "action_kept_without_its_noise"),
    ],
)
def test_patched_comparisons_are_not_used(name: str, question: str, mistake: str, graded: Callable[..., Report]) -> None:
    """Catches: a driver that asks the NumPy or torch of the submission whether two arrays are equal."""
    variants = load_catalogue(AssignmentFiles(ROOT, name), "mistakes")
    wrong = next(variant.submission for variant in variants if variant.id == mistake)
    assert graded(name, wrong + PATCHES, question).points == graded(name, wrong, question).points


def test_drivers_cannot_be_imported(graded: Callable[..., Report]) -> None:
    """Catches: a question that is answered by a formula of the drivers, for visible and hidden cases."""
    solution = (ROOT / "solutions" / "ppo_agent" / "submitted.py").read_text(encoding="utf-8")
    cheat = "def IndependentGaussianProcess(n, rng=None):\n    import drivers\n\n    return drivers.KnownProcess(n)\n"
    report = graded("ppo_agent", f"{solution}\n\n{cheat}", "IndependentGaussianProcess.get_dist")
    assert report.points == 0
    assert "No module named 'drivers'" in next(check.message for check in report.checks if not check.points)
