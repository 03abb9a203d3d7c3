"""Fixtures of the kit's own tests."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from grader.assignment import Home
from grader.judge.run import Grader, selected
from grader.publish.build import build
from grader.report.model import Report
from grader.sandbox.forked import ForkedSandbox
from grader.sandbox.places import temporary_folder

ROOT = Path(__file__).resolve().parents[2]
settings.register_profile("kit", suppress_health_check=[HealthCheck.too_slow])  # a busy machine is no fault of a test
settings.load_profile("kit")
collect_ignore = ["toy"]  # an assignment of its own, with checks that need a judge
SOLUTION = ROOT / "solutions" / "policy_gradient" / "submitted.py"


@pytest.fixture(scope="session")
def home() -> Home:
    """The assignment that the kit's tests use."""
    return Home(ROOT, "policy_gradient")


@pytest.fixture(scope="session")
def built_toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy assignment with everything that `build` makes; to be copied, not changed."""
    root = tmp_path_factory.mktemp("toy") / "toy"
    shutil.copytree(Path(__file__).with_name("toy"), root, ignore=shutil.ignore_patterns("__pycache__"))
    build(root, "toy")
    return root


@pytest.fixture
def replaced(tmp_path: Path) -> Callable[..., Path]:
    """Write the solution with the bodies of some functions replaced: `replaced(get_returns="return None")`."""

    def write(prelude: str = "", **bodies: str) -> Path:
        source = SOLUTION.read_text(encoding="utf-8")
        for name, body in bodies.items():
            lines = "\n".join(f"    {line}" for line in body.splitlines())
            # Appended: the last definition of a name wins, and the signature is the solution's own.
            (signature,) = re.findall(rf"^def {name}\(.*?\).*?:\n", source, re.DOTALL | re.MULTILINE)
            source += f"\n\n{signature}{lines}\n"
        path = tmp_path / "submitted.py"
        path.write_text(prelude + source, encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="module")
def graders(home: Home) -> Iterator[Callable[[tuple[str, ...]], Grader]]:
    """Give the grader of some suites at the isolation asked for now; most of what a run takes is to start one."""
    with contextlib.ExitStack() as stack:
        started: dict[tuple, Grader] = {}

        def give(suites: tuple[str, ...]) -> Grader:
            key = suites, *map(os.environ.get, ("GRADER_LEVEL", "GRADER_WITHOUT", "OMP_NUM_THREADS"))
            if key not in started:
                started[key] = stack.enter_context(Grader(home, suites))
            return started[key]

        yield give


@pytest.fixture
def graded(home: Home, graders) -> Callable[..., Report]:
    """Grade one question of a submission with its visible checks: `graded(path, "get_returns")`."""

    def run(path: Path, *questions: str, suites: tuple[str, ...] = ("visible",)) -> Report:
        return graders(suites).grade(path, selected(home, questions))

    return run


@pytest.fixture(scope="session")
def sandbox() -> Iterator[ForkedSandbox]:
    """A warm sandbox with drivers made for these tests (drivers_for_tests.py); its first folder is for submissions."""
    folder = temporary_folder()
    (folder / "student").mkdir()
    drivers = shutil.copy(Path(__file__).with_name("drivers_for_tests.py"), folder / "drivers.py")
    with ForkedSandbox(Path(drivers), [folder / "student"], memory_mb=512) as box:
        box.warm_up()
        yield box
    shutil.rmtree(folder)
