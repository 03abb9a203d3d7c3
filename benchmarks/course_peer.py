# ruff: noqa: PT009 (a suite as courses write it)
"""The visible checks of `policy_gradient` as an ordinary Gradescope autograder: unittest, gradescope-utils, one process.

    python course_peer.py SUBMISSION.py RESULTS.json [--without-learning]

benchmarks/course.py measures this next to the grader. The same drivers run on the same cases, with student
code in this process, and numpy.testing compares all results; the two learning checks train and play likewise.
"""

from __future__ import annotations

import importlib.util
import random
import sys
import unittest
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np
import torch
from gradescope_utils.autograder_utils.decorators import number, weight
from gradescope_utils.autograder_utils.json_test_runner import JSONTestRunner

from grader.answers import read_answers
from grader.assignment import AssignmentFiles

LEARNS = {
    "vanilla": {"loss": "get_vanilla_policy_gradient_loss", "rollouts": 640, "epochs": 1},
    "ppo": {"loss": "get_PPO_policy_gradient_loss", "rollouts": 320, "epochs": 4},
}


def load(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def seeded(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


class TestSubmission(unittest.TestCase):
    """One test for each case, which calls its driver and compares all of its facts."""

    def setUp(self) -> None:
        seeded(0)

    def same(self, got, expected) -> None:
        if isinstance(expected, dict):
            self.assertEqual(got.keys(), expected.keys())
            for key in expected:
                self.same(got[key], expected[key])
        elif isinstance(expected, (list, tuple)):
            self.assertEqual(len(got), len(expected))
            for one, other in zip(got, expected, strict=True):
                self.same(one, other)
        elif isinstance(expected, (np.ndarray, float, int)) and not isinstance(expected, bool):
            got = got.detach().numpy() if isinstance(got, torch.Tensor) else got
            np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)
        else:
            self.assertEqual(got, expected)


def main() -> None:
    drivers = load("drivers", ROOT / "tests" / "drivers" / "policy_gradient.py")
    submitted = load("submitted", Path(sys.argv[1]))
    for index, case in enumerate(
        read_answers(AssignmentFiles(ROOT, "policy_gradient").answers["visible"], "policy_gradient").cases.values()
    ):

        def test(self, case=case) -> None:
            self.same(getattr(drivers, case.driver)(submitted, **case.inputs), case.answer)

        setattr(TestSubmission, f"test_{case.name}", weight(2)(number(str(index))(test)))
    for name, setting in {}.items() if "--without-learning" in sys.argv else LEARNS.items():

        def learns(self, setting=setting) -> None:
            facts = drivers.learn(submitted, **setting, seed=1)
            weights = [np.array(one.detach() if isinstance(one, torch.Tensor) else one) for one in facts["weights"]]
            self.assertGreaterEqual(drivers.play(None, weights=weights, seed=1)["success rate"], 0.6)

        setattr(TestSubmission, f"test_learns_{name}", weight(1)(learns))
    with open(sys.argv[2], "w") as stream:
        suite = unittest.defaultTestLoader.loadTestsFromTestCase(TestSubmission)
        JSONTestRunner(visibility="visible", stream=stream).run(suite)


if __name__ == "__main__":
    main()
