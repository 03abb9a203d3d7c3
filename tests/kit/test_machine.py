"""What the grader reads of a machine's memory, and what it makes of it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from grader import machine
from grader.assignment import AssignmentFiles, list_assignments
from tests.kit.patience import PATIENCE

INPUTS = {
    "test_a_class_has_as_many_workers_as_there_is_memory_for": ("command:course", "tests/kit/toy/**"),
    "test_a_container_lowers_the_memory_of_a_call": ("docs/platforms.md", "grading:{name}"),
}
ROOT = Path(__file__).resolve().parents[2]
GROUPS = Path("/sys/fs/cgroup/memory")  # where the first version of cgroups has them
READ = "import json\nfrom grader import machine as m\nprint(json.dumps([m.read_memory_limit_mb(), m.read_free_memory_mb()]))"
HOLD = "held = bytearray(100 << 20)\n"


def test_a_container_is_read() -> None:
    """Catches: the memory of the whole machine taken for that of a container, or a container's cache for memory in use."""
    group = GROUPS / f"grader-test-{os.getpid()}"
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(400 << 20))
    except OSError:
        pytest.skip("no memory cgroup can be made here")
    try:
        enter = f"open({str(group / 'cgroup.procs')!r}, 'w').write('0')\n"
        command = [sys.executable, "-c", enter + HOLD + READ]
        found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=PATIENCE)
    finally:
        group.rmdir()
    limit, free = json.loads(found.stdout)
    assert limit == 400
    assert 200 < free < 300


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"memory.max": "max\n", "memory.current": "5", "memory.stat": "inactive_file 0\n"}, []),
        (
            {
                "memory.max": f"{600 << 20}\n",
                "memory.current": str(500 << 20),
                "memory.stat": f"anon 1\ninactive_file {100 << 20}\n",
            },
            [(600, 400)],
        ),
        (
            {
                "memory.limit_in_bytes": "9223372036854771712",
                "memory.usage_in_bytes": "5",
                "memory.stat": "total_inactive_file 0\n",
            },
            [],
        ),
        (
            {
                "memory.limit_in_bytes": str(600 << 20),
                "memory.usage_in_bytes": str(50 << 20),
                "memory.stat": "total_inactive_file 0\n",
            },
            [(600, 50)],
        ),
        ({"memory.max": "many", "memory.current": "5", "memory.stat": ""}, []),
        ({"memory.max": f"{600 << 20}"}, []),
    ],
)
def test_both_versions_of_cgroups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], expected: list[tuple[int, int]]
) -> None:
    """Catches: the "no limit" of one version read as a number, a cache that counts as used, damaged files."""
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    monkeypatch.setattr(machine, "_list_cgroups", lambda _: iter([tmp_path]))
    assert [(limit >> 20, used >> 20) for limit, used in machine._find_limits()] == expected


def test_workers_fit_into_what_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: no worker at all, or as many as there are cores, where there is memory for one."""
    for free, expected in (
        (None, None),
        (0, 1),
        (1200, 1),
        (2 * (1024 + machine.JUDGE_MB), 2),
        (1 << 20, (1 << 20) // (1024 + machine.JUDGE_MB)),
    ):
        monkeypatch.setattr(machine, "read_free_memory_mb", lambda free=free: free)
        assert machine.count_fitting_workers(1024) == expected
    assert not machine.describe_lack(1024)
    monkeypatch.setattr(machine, "read_free_memory_mb", lambda: 450)
    assert machine.describe_lack(1024).startswith("Only 450 MB of memory are free here, but a call may use 1024 MB")


@pytest.mark.parametrize("name", list_assignments(ROOT))
def test_a_container_lowers_the_memory_of_a_call(name: str) -> None:
    """Catches: a call that fills the container, or a table in docs/platforms.md with another memory than a call gets."""
    table = (ROOT / "docs" / "platforms.md").read_text(encoding="utf-8").partition("| platform | container to choose |")[2]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.partition("\n\n")[0].splitlines()[2:]]
    assert [row[0] for row in rows] == ["Gradescope", "PrairieLearn", "GitHub Classroom", "Autolab"]
    for platform, container, memory, *_ in rows:
        size = re.search(r"(\d+) MB", container)
        home = AssignmentFiles(ROOT, name, container_mb=int(size[1]) if size else None)
        assert home.assignment.limits.memory_mb == int(memory), platform
    assert AssignmentFiles(ROOT, name, container_mb=400).assignment.limits.memory_mb == 64


def test_a_class_has_as_many_workers_as_there_is_memory_for(
    built_toy: Path,
    tmp_path: Path,
    command_line: Callable[..., int],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Catches: workers that take memory from each other until the kernel ends one, whose student loses the points."""
    monkeypatch.setattr(machine, "read_free_memory_mb", lambda: 2000)
    export = tmp_path / "export"
    export.mkdir()
    solution = (built_toy / "solutions/toy/submitted.py").read_text(encoding="utf-8")
    for name in "abc":  # files that are the same are graded once
        (export / f"{name}.py").write_text(f"# {name}\n{solution}", encoding="utf-8")
    assert command_line("course", "toy", str(export), "-o", str(tmp_path / "class"), "--workers", "3", root=built_toy) == 0
    limit = json.loads((tmp_path / "class/course.json").read_text())["assignment"]["limits"]["memory_mb"]
    expected = f"grading {2000 // (limit + machine.JUDGE_MB)} submissions at a time instead of 3: 2000 MB are free"
    assert expected in capfd.readouterr().out


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({"cpu.max": "max 100000\n"}, 8),
        ({"cpu.max": "50000 100000\n"}, 1),
        ({"cpu.max": "250000 100000\n"}, 3),
        ({"cpu.cfs_quota_us": "-1\n", "cpu.cfs_period_us": "100000\n"}, 8),
        ({"cpu.cfs_quota_us": "200000\n", "cpu.cfs_period_us": "100000\n"}, 2),
        ({"cpu.max": "fast"}, 8),
        ({}, 8),
    ],
)
def test_cores_of_a_container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], cores: int) -> None:
    """Catches: four calls side by side in a container that pays for half a core."""
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    monkeypatch.setattr(machine, "_list_cgroups", lambda _: iter([tmp_path]))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert machine.count_cores() == cores
