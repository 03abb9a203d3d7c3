"""What a submission finds in place of what is not here: gymnasium for gym, the CPU for cuda and mps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from grader.judge.run import grade
from grader.sandbox.forked import ForkedSandbox
from grader.sandbox.spawned import SpawnedSandbox
from grader.sandbox.substitutes import names_accelerator

pytestmark = pytest.mark.recorded

OWN_SERVERS = True
ON_CPU = "Graded on the CPU: cuda and mps mean the CPU here."


@pytest.fixture(scope="module", params=["forked", "spawned"])
def box(request: pytest.FixtureRequest, sandbox: ForkedSandbox):
    """A sandbox of each kind."""
    if request.param == "forked":
        yield sandbox
        return
    with SpawnedSandbox(sandbox.drivers, sandbox.folders) as spawned:
        yield spawned


def run(box: ForkedSandbox | SpawnedSandbox, code: str) -> Any:
    """Return what `function` of a submission with this code returns."""
    path = box.folders[0] / "submitted.py"
    path.write_text(code)
    found = box.call("run", {}, path)
    assert found.status == "ok", found.details
    return found.facts


@pytest.mark.parametrize(
    "code",
    [
        "torch.ones(2, device='cuda')",
        "torch.ones(2, device=torch.device('cuda:0'))",
        "torch.ones(2, device=torch.device('cuda', 0))",
        "torch.ones(2, device=torch.device(type='cuda', index=1))",
        "[torch.device('cpu'), torch.ones(2, device=torch.device(0)).to(0)]['cuda' and 1]",
        "torch.zeros(2, device=0).cuda() + torch.nn.Linear(1, 2).to(0, torch.float32)(torch.ones(1)).detach() * 0 + 1",
        "[torch.mps.empty_cache(), torch.mps.synchronize(), torch.ones(2, device='mps')][2]",
        "torch.ones(2).cuda()",
        "torch.ones(2).to('cuda')",
        "torch.ones(2).to(torch.device('mps'), torch.float32)",
        "torch.ones(2).pin_memory().to('cuda', non_blocking=True)",
        "torch.tensor([1.0, 1.0], device='cuda', requires_grad=True).detach()",
        "torch.from_numpy(np.ones(2)).float().cuda()",
        "torch.nn.Linear(1, 2, device='cuda').cuda()(torch.ones(1).cuda()).detach() * 0 + 1",
        "torch.nn.Linear(1, 2).to('mps')(torch.ones(1).to('mps')).detach() * 0 + 1",
        "torch.cuda.FloatTensor([1, 1])",
        "torch.ones(2).type('torch.cuda.FloatTensor')",
        "torch.rand(2, generator=torch.Generator(device='cuda').manual_seed(3)) * 0 + 1",
        "torch.rand(2, generator=torch.Generator(0).manual_seed(3)) * 0 + torch.ones(2, pin_memory=True).cuda()",
        "torch.ones(isinstance(torch.default_generator, torch.Generator) + 1, device='cuda')",
        "[torch.save(torch.ones(2), 'x.pt'), torch.load('x.pt', map_location='cuda')][1]",
        "[torch.save(torch.ones(2), 'x.pt'), torch.load(f='x.pt', map_location=0)]['cuda' and 1]",
        "[torch.save(torch.ones(2), 'x.pt'), torch.load('x.pt', map_location=torch.device('cuda:0'), weights_only=True)][1]",
        "[torch.cuda.set_device(torch.cuda.current_device()), torch.cuda.get_device_name(0), torch.ones(2).cuda()][2]",
        "[torch.cuda.synchronize(), torch.cuda.manual_seed_all(3), torch.ones(2, device='cuda:1')][-1]",
    ],
)
def test_accelerators_mean_the_cpu(box: ForkedSandbox | SpawnedSandbox, code: str) -> None:
    """Catches: no points for work that was written for a GPU, and is right."""
    body = f"    value = {code}\n    return [value.cpu(), str(value.device)]\n"
    facts = run(box, f"import numpy as np\nimport torch\n\ndef function():\n{body}")
    assert facts[0].tolist() == [1.0, 1.0]
    assert facts[1] == "cpu"


@pytest.mark.parametrize(
    "use",
    [
        "torch.optim.Adam([torch.ones(1, requires_grad=True)])",
        "torch.use_deterministic_algorithms(True)",
        "import torch._dynamo",
    ],
)
def test_torch_can_be_used_as_ever(sandbox: ForkedSandbox, use: str) -> None:
    """Catches: replaced functions that torch's compiler, which the first optimizer imports, refuses as duplicates."""
    with ForkedSandbox(sandbox.drivers, sandbox.folders) as fresh:
        code = f"import torch\nDEVICE = 'cuda'\n\ndef function():\n    {use}\n    return torch.ones(1, device=DEVICE)\n"
        assert run(fresh, code).tolist() == [1.0]


def test_a_later_submission_is_as_it_is(box: ForkedSandbox | SpawnedSandbox) -> None:
    """Catches: a substitution that stays on in a process that serves several submissions, and makes each function slower."""
    overridden = "import torch\n\ndef function():\n    return torch._C._len_torch_function_stack()\n"
    assert run(box, overridden + "DEVICE = 'cuda'\n") == 1
    assert run(box, overridden) == 0


def test_gym_is_gymnasium(box: ForkedSandbox | SpawnedSandbox) -> None:
    """Catches: an import error, in some assignments, for work that was written when gymnasium was still gym."""
    imports = "import gym\nimport gym.wrappers\nimport gymnasium\nfrom gym.spaces import Box\n"
    same = "[gym is gymnasium, Box is gymnasium.spaces.Box, gymnasium.__spec__.name, gym.wrappers.__name__]"
    code = f"{imports}\ndef function():\n    return {same}\n"
    assert run(box, code) == [True, True, "gymnasium", "gymnasium.wrappers"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("device = 'cuda'", True),
        ("model.cuda()", True),
        ("    x = x.to('mps')  # fast", True),
        ("device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')", False),
        ("device = 'cuda:0' if torch.cuda.is_available() else 'cpu'", False),
        ("device = 'mps' if torch.backends.mps.is_available() else 'cuda'", True),
        ("device = 'cuda' if use_gpu else 'cpu'", True),
        ("if torch.cuda.is_available():", False),
        ("# device = 'cuda'", True),  # as in a text; then the CPU stands in for nothing
        ("# device = cuda", False),
        ("Net(color='#fff').cuda()", True),
        ("x = 1  # not on cuda", False),
        ("barracuda = 1", False),
    ],
)
def test_only_what_asks_for_no_permission_is_substituted(line: str, expected: bool) -> None:
    """Catches: every file that asks whether there is a GPU made slower."""
    assert names_accelerator(f"import torch\n{line}\n".encode()) is expected


def test_the_report_says_so(home, replaced, tmp_path: Path) -> None:
    """Catches: a student who does not learn that nothing ran on the GPU."""
    report = grade(home, replaced("device = 'cuda'\n"))
    assert report.remarks == (ON_CPU,)
    assert report.points == report.max_points
    assert grade(home, replaced()).remarks == ()
