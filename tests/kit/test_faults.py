"""Faults of the grader's own: the report stays valid, no point is invented or lost for good, and the exit code tells."""

from __future__ import annotations

import errno
import json
import os
import signal
import time
from pathlib import Path

import pytest

from grader.assignment import AssignmentFiles, UsageError
from grader.judge.run import Grader, GradingOptions, grade
from grader.report.model import Outcome, Report
from grader.sandbox.forked import ForkedSandbox
from grader.sandbox.places import make_temporary_folder
from grader.sandbox.reply import SandboxFault
from tests.kit.attacks.run import descendants
from tests.kit.attacks.soak import soak

pytestmark = pytest.mark.attack

OWN_SERVERS = True
INPUTS = {
    "*": ("tests/kit/attacks/**", "command:grade"),
    "test_server_killed_before_a_class_begins": ("command:course",),
    "test_doctor_tells_the_level": ("command:doctor",),
    "test_doctor_tells_what_layers_are_for": ("command:doctor",),
}

QUESTIONS = ["get_returns", "get_value_net_loss"]
EARLY = "run code outside the sandbox, before confinement"  # an attack of `doctor`


def disk_full(monkeypatch: pytest.MonkeyPatch, writes: range) -> None:
    """Let these writes of a report fail, counted from 0."""
    count = iter(range(1 << 30))
    real = os.fsync

    def fsync(descriptor: int) -> None:
        if next(count) in writes:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)


def test_disk_full_from_some_moment_on(
    home: AssignmentFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys, command_line
) -> None:
    """The file keeps the last report that could be written, and the exit code says that it is not the last one."""
    path = tmp_path / "report.json"
    disk_full(monkeypatch, range(5, 10**6))
    code = command_line("grade", "policy_gradient", str(home.solution), "--format", "json", "-o", str(path))
    report = Report.model_validate_json(path.read_text())
    assert code == 3
    assert f"{path} cannot be written (No space left on device)" in capsys.readouterr().err
    assert not report.final
    assert report.points == sum(check.points for check in report.checks) < 100
    assert list(tmp_path.iterdir()) == [path]


def test_disk_full_for_a_while(home: AssignmentFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command_line) -> None:
    """A disk that has room again at the end costs nothing."""
    path = tmp_path / "report.json"
    disk_full(monkeypatch, range(3, 20))
    code = command_line("grade", "policy_gradient", str(home.solution), "--format", "json", "-o", str(path))
    assert code == 0
    assert json.loads(path.read_text())["points"] == 100


def test_no_room_to_work_at_all(home: AssignmentFiles, monkeypatch: pytest.MonkeyPatch, capsys, command_line) -> None:
    """Where not even a temporary folder can be made, one line says so, and it is nobody's grade."""

    def refuse(*arguments, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    assert command_line("grade", "policy_gradient", str(home.solution)) == 3
    assert "the grader cannot work here: [Errno 28] No space left on device" in capsys.readouterr().err


def test_server_killed_in_the_middle(home: AssignmentFiles) -> None:
    """Whatever ends the server (an administrator, the kernel for want of memory) costs an honest submission nothing."""
    killed: list[int] = []
    others = descendants()  # of tests before this one

    def changed(report: Report) -> None:
        if sum(check.outcome is Outcome.PASSED for check in report.checks) == 5 and not killed:
            for process in set(descendants()) - set(others):
                if b"server.py" in Path(f"/proc/{process}/cmdline").read_bytes():
                    killed.append(process)
                    os.kill(process, signal.SIGKILL)

    report = grade(home, home.solution, ("visible", "hidden"), GradingOptions(QUESTIONS, changed=changed))
    assert len(killed) == 1
    assert {check.outcome for check in report.checks} == {Outcome.PASSED}
    assert report.final


@pytest.mark.parametrize(("times", "code", "graded"), [(2, 0, 2), (3, 3, 0)])
def test_server_killed_before_a_class_begins(
    built_toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys, command_line, times: int, code: int, graded: int
) -> None:
    """It is started again, and a sentence says so where it is ended each time; a class of 100 must not end in a traceback."""
    export, warm_up = tmp_path / "export", ForkedSandbox.warm_up
    killed: list[int] = []
    export.mkdir()
    for name in ("ann", "bob"):
        (export / f"{name}.py").write_bytes((built_toy / "solutions" / "toy" / "submitted.py").read_bytes())

    def kill_first(self: ForkedSandbox, wait: bool = True) -> None:
        if len(killed) < times and self._server is not None:
            killed.append(self._server.pid)
            os.kill(self._server.pid, signal.SIGKILL)
        warm_up(self, wait)

    monkeypatch.setattr(ForkedSandbox, "warm_up", kill_first)
    assert command_line("course", "toy", str(export), "-o", str(tmp_path / "class"), "--workers", "1", root=built_toy) == code
    assert len(killed) == times
    assert len(list((tmp_path / "class" / "results").glob("*.json"))) == graded
    said = capsys.readouterr().err
    assert ("error: the grader cannot work here: the sandbox server" in said) == (code == 3)


@pytest.mark.parametrize("jump", [1e9, -1e9])
def test_the_clock_jumps(home: AssignmentFiles, monkeypatch: pytest.MonkeyPatch, jump: float) -> None:
    """A clock that is set during the run must not end it, nor let it go on for ever."""
    shift = [0.0]
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + shift[0])

    def changed(report: Report) -> None:
        shift[0] += jump

    report = grade(home, home.solution, ("visible",), GradingOptions(QUESTIONS, changed=changed))
    assert {check.outcome for check in report.checks} == {Outcome.PASSED}
    assert 0 < report.seconds < 60


def test_a_worker_that_cannot_be_confined_is_the_graders_fault(sandbox: ForkedSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Student code never runs in a worker that is not confined, and is not blamed for it."""
    path = sandbox.folders[0] / "submitted.py"
    path.write_text("def function():\n    return 1\n")
    monkeypatch.setattr(sandbox, "memory_mb", "no number")
    with pytest.raises(SandboxFault, match="could not be confined"):
        sandbox.call("run", {}, path)
    monkeypatch.undo()
    assert sandbox.call("run", {}, path).facts == 1


def test_a_layer_lost_during_the_run_is_noticed(sandbox: ForkedSandbox) -> None:
    """A new server with fewer layers than the report names would protect less than it claims."""
    with ForkedSandbox(sandbox.drivers, sandbox.folders) as fresh:
        assert "seccomp" in fresh.isolation.layers
        fresh._without.add("seccomp")
        fresh.restart()
        with pytest.raises(SandboxFault, match="isolation has changed"):
            fresh.warm_up()


def test_nothing_is_graded_below_the_level_required(
    home: AssignmentFiles, monkeypatch: pytest.MonkeyPatch, capsys, command_line
) -> None:
    """A missing layer lowers the level, is named, and stops a run that asked for more."""
    for layer in ("own user", "seccomp", "landlock"):
        monkeypatch.setenv("GRADER_WITHOUT", layer)
        code = command_line("grade", "policy_gradient", str(home.solution), "--require-level", "full")
        told = capsys.readouterr()
        assert (code, told.out) == (2, "")
        assert "isolation is process, full is required" in told.err
        assert f"no {layer} (left out on request" in told.err


def test_without_a_layer_the_report_says_what_is_open(home: AssignmentFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a submission could do is tried out, and told to the instructor."""
    monkeypatch.setenv("GRADER_WITHOUT", "own user,landlock")
    report = grade(home, home.stub, ("visible", "hidden"))
    assert report.isolation == "process"
    assert "read hidden files" in report.isolation_open
    assert "own user" not in report.isolation_layers


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: without users of their own, files cannot be told apart")
def test_what_was_written_elsewhere_is_removed(sandbox: ForkedSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing prevents that a call writes into a public folder, its user's files are gone before the next call."""
    monkeypatch.setenv("GRADER_WITHOUT", "landlock,mount namespace")
    path = sandbox.folders[0] / "submitted.py"
    path.write_text(
        "import os\n\ndef function():\n    os.makedirs('/var/tmp/loot-kept/deep', exist_ok=True)\n"
        "    os.chmod('/var/tmp/loot-kept', 0)\n    return True\n"
    )
    with ForkedSandbox(sandbox.drivers, sandbox.folders) as fresh:
        assert fresh.call("run", {}, path).facts is True
        assert not os.path.lexists("/var/tmp/loot-kept")


def test_a_layer_that_does_not_exist_is_an_error(home: AssignmentFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelled name would leave out nothing, or ask for nothing, silently."""
    for name in ("GRADER_WITHOUT", "GRADER_LEVEL", "GRADER_PROCESSOR"):
        monkeypatch.setenv(name, "secomp")
        with pytest.raises(UsageError, match="'secomp'; there are: "):
            grade(home, home.stub)
        monkeypatch.delenv(name)


def test_doctor_tells_the_level(monkeypatch: pytest.MonkeyPatch, capsys, command_line) -> None:
    """An instructor learns on the spot what holds on this machine; below what they require it is an error."""
    assert command_line("doctor") == 0
    told = capsys.readouterr().out
    assert "FAULT" not in told
    for attack in ("use all memory", "empty a file by its path", EARLY, "reach the submission beside it"):
        assert f"ok    {attack}: contained" in told
    monkeypatch.setenv("GRADER_LEVEL", "basic")
    assert command_line("doctor", "--require-level", "process") == 1
    assert "FAULT isolation: basic, process is required" in capsys.readouterr().out


def test_doctor_tells_what_layers_are_for(monkeypatch: pytest.MonkeyPatch, capsys, command_line) -> None:
    """Catches: an attack that is contained only because it does nothing, and a hole that isolation_open does not name."""
    monkeypatch.setenv("GRADER_WITHOUT", "seccomp,landlock")
    assert command_line("doctor") == 0
    told = capsys.readouterr().out
    for through in (
        "open  read a secret file",
        "open  lock files that others use",
        "open  change how its output is written",
        "open  reach the submission beside it",
    ):
        assert f"{through}" in told
    # Not which file: everybody's locks are on /dev/null, another test's as well, and hide what two workers say by one of them.
    for way in ("/proc", "an abstract socket", "byte locks on /", "flock on /", "shared memory"):
        assert way in told.partition("reach the submission beside it: it got through")[2].partition("\n")[0]
    for could in ("lock files that others use", "share memory with other processes", "let the kernel send signals for it"):
        assert f"open  a submission could {could}" in told
    assert f"ok    {EARLY}: contained" in told
    assert "ok    seek in and truncate files shared with the judge: contained" in told


def test_hostile_calls_leave_nothing_behind(sandbox: ForkedSandbox) -> None:
    """Fifty of the worst calls in a row (a thousand in benchmarks/): no process, file, mount or descriptor is left over."""
    seen = soak(sandbox, sandbox.folders[0], 50)
    assert seen["left behind"] == {}
    assert not seen["server replaced"]
    assert seen["growth of the judge, kB"] < 4096
    assert max(seen["longest call, s"].values()) < 20


def test_hostile_names_of_files_stay_text(home: AssignmentFiles, tmp_path: Path, capsys, command_line) -> None:
    """The name of a file in a submission reaches the terminal in an error message."""
    (tmp_path / "\x1b[2Jsubmited.py").write_text("x = 1\n")
    assert command_line("grade", "policy_gradient", str(tmp_path)) == 2
    told = capsys.readouterr().err
    assert "\x1b" not in told
    assert "\\x1b[2Jsubmited.py" in told


def test_one_grader_for_many_submissions(home: AssignmentFiles, replaced) -> None:
    """After a hostile submission the next one, in the same grader, finds everything as it was."""
    hostile = replaced(get_returns="import os\nwhile True: os.fork()")
    with Grader(home) as grader:
        points = [grader.grade(path, {"get_returns"}).points for path in (home.solution, hostile, home.solution)]
    assert points[0] == points[2] > points[1] == 0


def test_a_copy_of_a_server_is_replaced_like_any_other(home: AssignmentFiles) -> None:
    """Catches: a worker of a class whose every submission fails after one has brought its server down."""
    with Grader(home) as template:
        template.warm_up(wait=True)
        with Grader(home, template=(template, 0)) as copy:
            before = copy.grade(home.solution, {"get_returns"})
            assert isinstance(copy._sandbox, ForkedSandbox)
            os.kill(copy._sandbox._clone, signal.SIGKILL)
            after = copy.grade(home.solution, {"get_returns"})
    assert before.final
    assert after.final
    assert after.points == before.points > 0


def test_two_copies_in_turn(home: AssignmentFiles, replaced) -> None:
    """Catches: copies that share the checks, and with them whose turn it is."""
    wrong, inner = replaced(get_returns="return None"), []
    with Grader(home) as template:
        template.grade(template.refused(Path("nothing"), "nothing was submitted"))
        template.warm_up(wait=True)
        with Grader(home, template=(template, 0)) as one, Grader(home, template=(template, 1)) as other:
            grade_inside = GradingOptions(
                {"get_returns"}, changed=lambda _: inner.append(other.grade(wrong, {"get_returns"}).points)
            )
            outer = one.grade(home.solution, grade_inside)
    assert set(inner) == {0}
    assert {check.outcome for check in outer.checks} == {Outcome.PASSED}


def test_folders_of_runs_that_were_killed_are_removed_in_the_end(
    home: AssignmentFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A judge that is killed cannot clear up; a later one does, and leaves what is younger or somebody else's."""
    monkeypatch.setattr("grader.sandbox.places.find_working_folder", lambda: str(tmp_path))
    for name in ("grader-old", "grader-young", "other-old"):
        (tmp_path / name / "locked").mkdir(parents=True)
        (tmp_path / name / "locked").chmod(0)
    for name in ("grader-old", "other-old"):
        os.utime(tmp_path / name, (0, 0))
    make_temporary_folder().rmdir()
    assert sorted(os.listdir(tmp_path)) == ["grader-young", "other-old"]
