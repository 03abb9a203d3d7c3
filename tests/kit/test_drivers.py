"""The drivers' fakes behave like what they replace."""

from __future__ import annotations

from types import ModuleType

import pytest
import torch

import utils
from tests.kit.loading import load

INPUTS = ("tests/drivers/policy_gradient.py",)


@pytest.fixture(scope="module")
def drivers() -> ModuleType:
    """The drivers of policy_gradient."""
    return load("tests/drivers/policy_gradient.py")


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


def test_plain_adam_clips_as_torch_does() -> None:
    """One norm over all parameters, whose `grad` is not touched; a short gradient stays as it is."""
    parameters = [torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(3)), torch.nn.Parameter(torch.ones(1))]
    for scale, factor in ((1.0, 0.1), (0.02, 1.0)):
        optimizer = utils.PlainAdam(parameters, lr=0.1, max_grad_norm=0.5)
        before = [torch.tensor(gradient) * scale for gradient in ([3.0, 0.0], [0.0, 0.0, -4.0])]
        for parameter, gradient in zip(parameters, (*before, None), strict=True):
            parameter.grad = gradient
        copies = [gradient.clone() for gradient in before]
        optimizer.step()
        assert torch.nn.utils.get_total_norm(copies).item() == pytest.approx(5 * scale)
        for parameter, kept, copy, mean in zip(parameters, before, copies, optimizer.means, strict=False):
            assert parameter.grad is kept
            torch.testing.assert_close(kept, copy, rtol=0, atol=0)
            torch.testing.assert_close(mean, 0.1 * factor * copy)  # 1 - beta1
    assert parameters[2].tolist() == [1]


def test_stand_ins_are_optimizers_and_run_closures(drivers: ModuleType) -> None:
    """Students may check the type, or give `step` a closure, as torch allows."""
    weight = torch.nn.Parameter(torch.ones(1))
    optimizer = utils.PlainAdam([weight], lr=0.1)
    assert isinstance(optimizer, torch.optim.Optimizer)
    assert issubclass(drivers.RecordingSGD, torch.optim.Optimizer)
    optimizer.step(lambda: weight.square().sum().backward())
    assert weight.item() == pytest.approx(0.9, abs=1e-3)
