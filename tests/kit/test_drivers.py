"""The drivers' stand-ins behave like what they replace."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
import torch

import utils

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def drivers() -> ModuleType:
    """The drivers of policy_gradient."""
    spec = importlib.util.spec_from_file_location("drivers", ROOT / "tests" / "drivers" / "policy_gradient.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def steps(make_optimizer) -> list[torch.Tensor]:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    optimizer = make_optimizer(list(net.parameters()))
    for _ in range(20):
        optimizer.zero_grad()
        net(torch.randn(8, 3)).square().mean().backward()
        optimizer.step()
    return [parameter.detach() for parameter in net.parameters()]


def test_plain_adam_is_adam() -> None:
    """A learning check on a wrong optimizer would measure that, not the student's functions."""
    ours = steps(lambda parameters: utils.PlainAdam(parameters, lr=1e-2))
    theirs = steps(lambda parameters: torch.optim.Adam(parameters, lr=1e-2))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


def test_stand_ins_are_optimizers_and_run_closures(drivers: ModuleType) -> None:
    """Students may check the type, or give `step` a closure, as torch allows."""
    weight = torch.nn.Parameter(torch.ones(1))
    optimizer = utils.PlainAdam([weight], lr=0.1)
    assert isinstance(optimizer, torch.optim.Optimizer)
    assert issubclass(drivers.RecordingSGD, torch.optim.Optimizer)
    optimizer.step(lambda: weight.square().sum().backward())
    assert weight.item() == pytest.approx(0.9, abs=1e-3)
