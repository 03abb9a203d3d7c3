"""Fixtures of the kit's own tests."""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from grader.assignment import AssignmentFiles
from grader.authoring.build import build
from grader.judge import harness
from grader.judge.run import Grader, select_questions
from grader.report.model import Report
from grader.sandbox import open_sandbox
from grader.sandbox.places import make_temporary_folder
from tests.kit.examples import USUAL

if TYPE_CHECKING:
    from grader.sandbox.forked import ForkedSandbox

os.environ.setdefault("OMP_NUM_THREADS", "1")  # tests run side by side: threads of one would wait for those of others

ROOT = Path(__file__).resolve().parents[2]
# A busy machine fails no test, and a failure is printed with the blob by which `@reproduce_failure` replays it elsewhere.
settings.register_profile("kit", max_examples=USUAL, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("thorough", settings.get_profile("kit"), max_examples=10 * USUAL)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "kit"))
collect_ignore = ["toy"]  # an assignment of its own, with checks that need a judge
SOLUTION = ROOT / "solutions" / "policy_gradient" / "submitted.py"
pytest_plugins = ["tests.kit.selection", "tests.kit.warm_servers"]
# Files that tests read by a fixture of this module, beside what its code names (tests/kit/inputs.py says how).
FIXTURE_INPUTS = {
    "home": ("grading:policy_gradient",),
    "replaced": ("solutions/policy_gradient/submitted.py",),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run the tests in a random order, made from this seed")


def pytest_configure(config: pytest.Config) -> None:
    for marker in (
        "slow(seconds): takes about so long; slow tests run first, so that none ends alone",
        "attack: about what hostile or broken submissions can do",
        "sampled: tries some works of a catalogue, drawn at random; with HYPOTHESIS_PROFILE=thorough all of them",
        "oracle: compares a solution, or what is given to students, with an independent computation",
    ):
        config.addinivalue_line("markers", marker)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the slowest tests first, or all in a random order; every process of pytest-xdist comes to the same order."""
    seed = config.getoption("shuffle")
    if seed is not None:
        random.Random(seed).shuffle(items)
    else:
        items.sort(key=_seconds, reverse=True)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Half as many again as there are cores: many tests wait for processes, terminals and time limits."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores * 3 // 2


def _seconds(item: pytest.Item) -> float:
    slow = item.get_closest_marker("slow")
    return slow.args[0] if slow else 0.0


@pytest.fixture
def own_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a single test start its own servers."""
    monkeypatch.setattr(harness, "open_sandbox", open_sandbox)


@pytest.fixture
def command_line(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Run `python -m grader` here and return its exit code: `command_line("verify", "toy", root=toy)`.

    INPUTS of a test that needs this name the command, as in "command:verify".
    """
    import grader.__main__ as kit

    def run(*arguments: str, root: Path = ROOT) -> int:
        for place in (f"commands/{arguments[0]}.py", f"platforms/{arguments[0]}/package.py"):
            with contextlib.suppress(FileNotFoundError):
                (ROOT / "grader" / place).read_bytes()  # the guard of inputs does not see a module that is loaded already
        monkeypatch.setattr(sys, "argv", ["grader", *arguments])
        return kit.main(root)

    return run


@pytest.fixture
def grade_py(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Run `python grade.py` here and return its exit code: `grade_py("--show", "total", root=toy)`."""
    from grader import student

    def run(*arguments: str, root: Path = ROOT) -> int:
        monkeypatch.setattr(student, "ROOT", root)
        return student.main(arguments)

    return run


@pytest.fixture(scope="session")
def home() -> AssignmentFiles:
    """The assignment that the kit's tests use."""
    return AssignmentFiles(ROOT, "policy_gradient")


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
def graders(home: AssignmentFiles) -> Iterator[Callable[[tuple[str, ...]], Grader]]:
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
def graded(home: AssignmentFiles, graders) -> Callable[..., Report]:
    """Grade one question of a submission with its visible checks: `graded(path, "get_returns")`."""

    def run(path: Path, *questions: str, suites: tuple[str, ...] = ("visible",)) -> Report:
        return graders(suites).grade(path, select_questions(home, questions))

    return run


@pytest.fixture(scope="session")
def sandbox() -> Iterator[ForkedSandbox]:
    """A warm sandbox with drivers made for these tests (drivers_for_tests.py); its first folder is for submissions."""
    if sys.platform != "linux":
        pytest.skip("no process can be forked here")
    from grader.sandbox.forked import ForkedSandbox

    folder = make_temporary_folder()
    (folder / "student").mkdir()
    drivers = shutil.copy(Path(__file__).with_name("drivers_for_tests.py"), folder / "drivers.py")
    with ForkedSandbox(Path(drivers), [folder / "student"], memory_mb=512) as box:
        box.warm_up()
        yield box
    shutil.rmtree(folder)
