"""Packages for PrairieLearn, GitHub Classroom and Autolab: complete, tried out, and without what a student must not have."""

from __future__ import annotations

import argparse
import base64
import errno
import io
import json
import os
import shlex
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from grader.assignment import AssignmentFiles, UsageError, list_assignments
from grader.packing import package
from grader.packing.release import make_zip
from grader.packing.requirements import CPU_INDEX
from grader.platforms.autolab import package as autolab
from grader.platforms.classroom import package as classroom
from grader.platforms.entry import STOPPED
from grader.platforms.gradescope import package as gradescope
from grader.platforms.gradescope.package import collect_autograder_files
from grader.platforms.prairielearn import package as prairielearn
from grader.platforms.registry import PLATFORMS
from tests.kit.patience import PATIENCE

pytestmark = pytest.mark.recorded

INPUTS = {
    "*": (
        "grade.py",
        "released:grader",
        "command:grade",
        "assignments/policy_gradient/notebook.ipynb",
        "tests/visible/conftest.py",
    ),
    "test_another_platform_is_a_folder_and_a_name_in_the_registry": ("grader/**",),
    "test_what_every_job_copies_is_small": ("grading:{name}", "assignments/{name}/notebook.ipynb", "utils.py"),
}

ROOT = Path(__file__).resolve().parents[2]
SLOW = "import time\n\n\ndef total(values):\n    time.sleep(0.3)\n    return sum(values)\n"


@pytest.fixture(scope="module")
def root(built_toy: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy assignment in a repository of its own, with this grader."""
    root = Path(shutil.copytree(built_toy, tmp_path_factory.mktemp("packaging") / "root"))
    for name in ("grader", "grade.py", "pyproject.toml", "constraints.txt"):
        (root / name).symlink_to(ROOT / name)
    alternatives = root / "solutions" / "toy" / "alternatives.py"
    alternatives.write_text(f"import torch\n{alternatives.read_text()}")  # so that packages ask for it
    return root


@pytest.fixture(scope="module")
def toy(root: Path) -> AssignmentFiles:
    return AssignmentFiles(root, "toy")


def make(name: str, root: Path, folder: Path) -> Iterator[str]:
    """Make the toy's package for a platform, as its command does without further options."""
    parser = argparse.ArgumentParser()
    PLATFORMS[name].add_arguments(parser)
    package_of = import_module(f"grader.platforms.{name}.package")
    return package_of.write_package(root, parser.parse_args(["toy", "-o", str(folder)]))


@pytest.mark.parametrize("name", ["prairielearn", "classroom", "autolab"])
def test_each_is_tried_out_before_it_is_written(root: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that fails a solution, or believes a forged result, must not reach a platform; nor may a half-written one."""
    monkeypatch.setenv("MAKELEVEL", "1")  # as in a course's own Makefile
    lines = list(make(name, root, tmp_path / "out"))
    worth = 4 if name == "classroom" else 6
    assert lines[:3] == [
        f"the solution gets {worth} points, as expected",
        "the stub gets 0 points, as expected",
        "a hostile file gets 0 points, as expected",
    ]
    made = {"prairielearn": {"toy", "toy-image"}, "classroom": {"toy-classroom"}, "autolab": {"toy-autolab"}}[name]
    assert {path.name for path in (tmp_path / "out").iterdir()} == made
    assert not list((tmp_path / "out").rglob("*.pyc"))


@pytest.mark.parametrize("name", ["prairielearn", "classroom", "autolab"])
def test_nothing_is_written_when_the_try_out_fails(root: Path, tmp_path: Path, monkeypatch, name: str) -> None:
    """A file that was forgotten in the list is seen by its maker, not by a class."""
    whole = package.collect_platform_modules
    for module in (prairielearn, classroom, autolab):
        monkeypatch.setattr(
            module,
            "collect_platform_modules",
            lambda *which: {key: data for key, data in whole(*which).items() if "shared" not in key},
        )
    with pytest.raises(UsageError, match="nothing was written"):
        list(make(name, root, tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_a_forged_result_is_not_taken_for_one(toy: AssignmentFiles) -> None:
    """The try-out itself must be able to fail: a platform that believed a hostile file would give it points."""
    gained = iter([6.0, 0.0, 1.0])
    with pytest.raises(UsageError, match="a hostile file gets 1 points, expected 0"):
        list(package.try_out_package(toy, ("visible", "hidden"), lambda *_: next(gained)))


BROKEN = "grader/assignment.py"  # as if something that it needs were not installed


def test_a_result_is_there_before_anything_is_imported(toy: AssignmentFiles, tmp_path: Path) -> None:
    """Catches: a platform that finds no result file, because an import has failed, and blames the student."""
    environment = {**os.environ, "AUTOGRADER_ROOT": str(tmp_path), "GRADE_ROOT": str(tmp_path)}
    environment["GITHUB_OUTPUT"] = str(tmp_path / "output")
    packages = [
        ("autograde.py", collect_autograder_files(toy)),
        ("autograde.py", prairielearn.collect_job_files(toy)),
        (classroom.ENTRY, classroom.collect_repository_files(toy)),
    ]
    for entry, content in packages:
        broken = {name: b"import not_installed\n" if name.endswith(BROKEN) else data for name, data in content.items()}
        package.write_files(tmp_path / "package", broken)
        command = [sys.executable, "-s", "-B", str(tmp_path / "package" / entry)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert "not_installed" in done.stderr
        if entry == classroom.ENTRY:
            result = json.loads(base64.b64decode((tmp_path / "output").read_text().partition("=")[2]))
            assert (result["status"], result["max_score"]) == ("error", 4)
        else:
            result = json.loads((tmp_path / "results" / "results.json").read_text(encoding="utf-8"))
            assert result["score"] == 0
            assert STOPPED in json.dumps(result)
            shutil.rmtree(tmp_path / "results")
        shutil.rmtree(tmp_path / "package")


def test_an_assignment_that_cannot_be_read_is_said_in_the_result(toy: AssignmentFiles, tmp_path: Path) -> None:
    """Catches: "submit again" to every student, for a damaged file of the course staff's."""
    environment = {**os.environ, "AUTOGRADER_ROOT": str(tmp_path), "GRADE_ROOT": str(tmp_path)}
    for content in (collect_autograder_files(toy), prairielearn.collect_job_files(toy)):
        broken = {name: b"= 1" if name.endswith("assignment.toml") else data for name, data in content.items()}
        package.write_files(tmp_path / "package", broken)
        subprocess.run([sys.executable, "-s", "-B", tmp_path / "package" / "autograde.py"], env=environment, check=True)
        result = (tmp_path / "results" / "results.json").read_text(encoding="utf-8")
        assert "Nothing was graded" in result
        assert "assignment.toml" in result
        shutil.rmtree(tmp_path / "package")


MADE_UP = """
import json

from grader.console import add_output

ENDING = "json"
HELP = "make a package for a platform that there is not"


def add_arguments(parser):
    add_output(parser, "NAME.made-up")


def render(report, assignment):
    return json.dumps({"made up": report.points, "of": assignment.total("visible")})
"""
PACKAGE_OF_MADE_UP = """
def write_package(root, options):
    (options.output / "package").write_text(options.name)
    yield "wrote a package"
"""


def test_another_platform_is_a_folder_and_a_name_in_the_registry(built_toy: Path, tmp_path: Path) -> None:
    """Catches: a list of platforms that stands somewhere else as well."""
    root = Path(shutil.copytree(built_toy, tmp_path / "root"))
    shutil.copytree(ROOT / "grader", root / "grader", ignore=shutil.ignore_patterns("__pycache__"))
    platforms = root / "grader" / "platforms"
    (platforms / "madeup").mkdir()
    (platforms / "madeup" / "__init__.py").write_text(MADE_UP)
    (platforms / "madeup" / "package.py").write_text(PACKAGE_OF_MADE_UP)
    registry = (platforms / "registry.py").read_text()
    changed = registry.replace("import autolab", "import madeup, autolab").replace("= {", '= {"madeup": madeup, ')
    (platforms / "registry.py").write_text(changed)

    def run(*words: str | Path) -> str:
        command = [sys.executable, "-B", "-m", "grader", *words]
        return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout

    graded = run("grade", "toy", "solutions/toy/submitted.py", "--suite", "visible", "--format", "madeup")
    assert json.loads(graded) == {"made up": 4, "of": 4}
    assert run("madeup", "toy", "-o", tmp_path, "--unproven").endswith("\nwrote a package\n")
    assert (tmp_path / "package").read_text() == "toy"


def test_other_files_in_the_folder_are_kept(tmp_path: Path) -> None:
    """Made again, a package takes its own place; where somebody's work lies, it is not written."""
    folder = tmp_path / "toy"
    for content in ({"a/b": b"1", "c": b"2"}, {"a/b": b"3", "c": b"2"}):
        package.write_folder(folder, content)
        assert {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == {
            name.rpartition("/")[2]: data for name, data in content.items()
        }
    (folder / "mine").touch()
    with pytest.raises(UsageError, match="holds mine"):
        package.write_folder(folder, {"a/b": b"4", "c": b"2"})
    assert (folder / "a" / "b").read_bytes() == b"3"
    assert list(tmp_path.iterdir()) == [folder]


def test_an_earlier_package_survives_an_interruption(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: a folder that is moved away, and removed with the new one that was to take its place."""
    folder, replace = tmp_path / "toy", os.replace
    package.write_folder(folder, {"a": b"1"})

    def stop(source: Path, target: Path) -> None:
        if source.name == "fresh":
            raise KeyboardInterrupt
        replace(source, target)

    monkeypatch.setattr(os, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        package.write_folder(folder, {"a": b"2"})
    assert (folder / "a").read_bytes() == b"1"
    assert list(tmp_path.iterdir()) == [folder]


def in_tar(data: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return {entry.name: read_member(archive, entry) for entry in archive.getmembers()}


def read_member(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(entry)
    assert file is not None, f"{entry.name} is no file"
    return file.read()


def in_zip(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_packages_hold_what_they_need_and_no_solution(home: AssignmentFiles) -> None:
    """An allow-list: no solution anywhere, hidden checks only on servers, no line end that a shell trips over."""
    question = prairielearn.collect_question_files(home, "image")
    autograder = autolab.collect_package_files(home)
    given = {name.partition("/")[2]: data for name, data in in_zip(question["clientFilesQuestion/policy_gradient.zip"]).items()}
    repository = classroom.collect_repository_files(home)
    jobs = {"prairielearn": in_tar(question[prairielearn.PACKED]), "autolab": in_tar(autograder["autograde.tar"])}
    stub = home.stub.read_text()
    secret = [
        line.strip()
        for line in (home.solution / "submitted.py").read_text().splitlines()
        if len(line.strip()) > 25 and line not in stub
    ]
    for content in (question, autograder, *jobs.values(), repository, given):
        everything = "\n".join(data.decode("utf-8", "replace") for data in content.values())
        assert not [line for line in secret if line in everything]
        assert not any(name.startswith(("solutions", "grader/authoring", "grader/packing", "grader/proof")) for name in content)
    for content in jobs.values():
        assert "tests/hidden/test_policy_gradient.py" in content
    for content in (repository, given):
        assert not [name for name in content if "hidden" in name]
    assert {name.partition("/")[0] for name in question} == {"info.json", "question.html", "tests", "clientFilesQuestion"}
    for script in (question["tests/run"], jobs["autolab"]["run"], autograder["autograde-Makefile"]):
        assert b"\r" not in script
    # A student's folder, and a package for one platform, holds no other platform's rendering.
    for content, own in ((given, set()), (repository, {"classroom"}), *((jobs[name], {name}) for name in jobs)):
        assert {name.split("/")[2] for name in content if name.count("/") > 2 and "platforms/" in name} == own
        assert not {"grader/report/junit.py", "grader/report/table.py", "grader/formats.py"} & content.keys()


@pytest.mark.parametrize("name", list_assignments(ROOT))
def test_what_every_job_copies_is_small(name: str) -> None:
    """Catches: megabytes of text that a platform copies for each submission of a class, or that an image holds."""
    home = AssignmentFiles(ROOT, name)
    question = prairielearn.collect_question_files(home, "image")
    sizes = {
        "prairielearn": sum(len(data) for key, data in question.items() if key.startswith("tests/")),
        "autolab": sum(map(len, autolab.collect_package_files(home).values())),
        "gradescope": len(make_zip(collect_autograder_files(home))),
        "classroom": len(make_zip(classroom.collect_repository_files(home))),  # as git sends it, about
    }
    assert {platform: size for platform, size in sizes.items() if size >= 500_000} == {}
    packed = prairielearn.collect_question_files(home, "image")[prairielearn.PACKED]
    assert question[prairielearn.PACKED] == packed, "a package made again differs"


# setup.sh, with an interpreter that installs nothing

INTERPRETER = """\
#!/usr/bin/env bash
# Notes what pip is asked to install, and otherwise runs the Python of these tests.
if [ "$2" = venv ]; then
    mkdir -p "$3/bin" && cp "$0" "$3/bin/python"
elif [ "$2" = pip ]; then
    echo "$@" >> {log}
    previous=
    for word in "$@"; do
        case $previous in -r | --constraint | --find-links) ls "$word" > /dev/null || exit 9 ;; esac
        previous=$word
    done
else
    exec {python} "$@"
fi
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let setup.sh use the interpreter above and return the file in which it notes pip's words."""
    log, interpreter = tmp_path / "pip.log", tmp_path / "interpreter"
    interpreter.write_text(INTERPRETER.format(log=shlex.quote(str(log)), python=shlex.quote(sys.executable)))
    interpreter.chmod(0o755)
    monkeypatch.setenv("GRADER_PYTHON", str(interpreter))
    monkeypatch.delenv("GRADER_TORCH_INDEX_URL", raising=False)
    return log


@pytest.mark.parametrize("wheels", [False, True])
@pytest.mark.parametrize("name", ["prairielearn", "autolab"])
def test_setup_of_an_image(
    toy: AssignmentFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: Path, name: str, wheels: bool
) -> None:
    """Catches: a line of setup.sh that bash cannot read, a file that is not beside it, torch with gigabytes of CUDA."""
    place, venv = tmp_path / "rl setup", tmp_path / "venv"
    if name == "autolab":
        content = in_tar(autolab.collect_package_files(toy)["autograde.tar"])
    else:
        content = prairielearn.collect_image_files(toy, "image")
        copied = content["Dockerfile"].decode().split("COPY ")[1].splitlines()[0].split()[:-1]
        content = {key: content[key] for key in copied}
    package.write_files(place, content | ({"wheels/torch.whl": b""} if wheels else {}))
    monkeypatch.setenv("GRADER_VENV", str(venv))
    done = subprocess.run(["bash", place / "setup.sh"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    torch, rest = installed.read_text().splitlines()
    assert " torch==" in torch
    assert f"--constraint {place}/constraints.txt -r {place}/requirements.txt" in rest
    source = f"--no-index --find-links {place}/wheels" if wheels else f"--index-url {CPU_INDEX}"
    assert source in torch
    assert ("--no-index" in rest) == wheels
    assert stat.S_IMODE(place.stat().st_mode) == 0o700, "it holds hidden checks"


def test_the_zip_of_gradescope_is_tried_out(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: Path
) -> None:
    """Catches: a zip whose scripts do not work, and a try-out that fails in the end, since its folder cannot be removed."""
    remove = os.rmdir

    def refuse(path: Any, **options: Any) -> None:
        if Path(os.fspath(path)).name.startswith("grader-gradescope-"):
            raise OSError(errno.ENOTEMPTY, "a process still writes there")
        remove(path, **options)

    monkeypatch.setattr(gradescope, "REAL", (tmp_path, tmp_path))  # taken, so it runs in a prefix
    whole = gradescope.make_example_submissions
    kept = ("the solution", "the stub", "a missing file")  # the others take most of the time
    monkeypatch.setattr(gradescope, "make_example_submissions", lambda home: {what: whole(home)[what] for what in kept})
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(os, "rmdir", refuse)
    first, *lines, last = make("gradescope", root, tmp_path / "out")
    assert first == "setup.sh ran in a prefix"
    said = [f"{what} gets {points}" for what, points in zip(kept, (6, 0, 0), strict=True)]
    assert [line.partition(" points")[0] for line in lines] == said
    assert last.startswith(f"wrote {tmp_path / 'out' / 'toy-gradescope.zip'}: ")
    assert "torch==" in installed.read_text()


def test_an_interrupted_try_out_leaves_no_mount_points(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: an empty /autograder that lets no later try-out run at the platform's real paths."""
    places = (tmp_path / "autograder", tmp_path / "rl-grader")

    def run(command: Sequence[str], **_: object) -> subprocess.CompletedProcess[str]:
        if command[-1] != "true":
            for place in places:
                place.mkdir()
            raise KeyboardInterrupt
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(gradescope, "REAL", places)
    monkeypatch.setattr(os, "geteuid", lambda: 0, raising=False)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(KeyboardInterrupt):
        list(make("gradescope", root, tmp_path / "out"))
    assert list(tmp_path.iterdir()) == []


# PrairieLearn


def test_info_is_what_prairielearn_asks_for(home: AssignmentFiles) -> None:
    """A question without these fields is not synced; one whose uuid changes loses what students handed in."""
    first, again = (prairielearn.render_info(home.assignment, "image") for _ in range(2))
    assert first == again
    assert first["uuid"] != prairielearn.render_info(home.assignment.model_copy(update={"name": "other"}), "image")["uuid"]
    assert {"uuid", "title", "topic", "type", "gradingMethod", "externalGradingOptions"} == set(first)
    assert (first["type"], first["gradingMethod"]) == ("v3", "External")
    options = first["externalGradingOptions"]
    assert options["enabled"] is True
    assert options["enableNetworking"] is False
    assert home.assignment.limits.budget < options["timeout"] <= 600
    page = prairielearn.collect_question_files(home, "image")["question.html"].decode()
    for element in ("pl-file-upload", "pl-external-grader-results", 'file-names="submitted.py"'):
        assert element in page
    assert options["entrypoint"] == "/grade/tests/run"


@pytest.fixture
def grade_root(toy: AssignmentFiles, tmp_path: Path) -> Callable[..., subprocess.Popen]:
    """Lay the question out as PrairieLearn does, in a prefix, and start its entry script."""

    def start(data: str = "{}", **handed_in: str) -> subprocess.Popen:
        tests = {
            key: value for key, value in prairielearn.collect_question_files(toy, "image").items() if key.startswith("tests/")
        }
        package.write_files(tmp_path, tests, executable=["tests/run"])
        student = {f"student/{key.replace('__', '.')}": text.encode() for key, text in handed_in.items()}
        package.write_files(tmp_path, {"data/data.json": data.encode(), **student})
        (tmp_path / "student").mkdir(exist_ok=True)
        environment = {**os.environ, "GRADE_ROOT": str(tmp_path), "GRADER_VENV": sys.prefix}
        return subprocess.Popen([tmp_path / "tests" / "run"], env=environment)

    return start


def test_results_are_valid_at_every_moment(grade_root, tmp_path: Path) -> None:
    """PrairieLearn stops a grader at its limit: what lies there then must not use up the attempt, and must be JSON."""
    path = tmp_path / "results" / "results.json"
    process = grade_root(submitted__py=SLOW)
    seen = []
    until = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < until:
        if path.exists():
            seen.append(json.loads(path.read_text(encoding="utf-8")))
        time.sleep(0.005)
    assert process.returncode == 0
    last = json.loads(path.read_text(encoding="utf-8"))
    assert len(seen) > 10
    assert "stopped before it could begin" in seen[0]["format_errors"][0]
    assert last["gradable"] is True
    assert last["score"] == pytest.approx(3 / 6)
    for state in seen:
        assert state["gradable"] is False or state == last


def test_a_missing_file_uses_no_attempt_up(grade_root, tmp_path: Path) -> None:
    """A slip in the name of a file is told, and costs nothing."""
    assert grade_root(other__txt="?").wait(60) == 0
    content = json.loads((tmp_path / "results" / "results.json").read_text(encoding="utf-8"))
    assert content["gradable"] is False
    assert "expected submitted.py" in content["format_errors"][0]


def test_one_package_can_serve_a_question_for_each_function(grade_root, tmp_path: Path) -> None:
    """PrairieLearn's questions are small: its params may ask for some of ours."""
    data = json.dumps({"params": {"questions": ["total"]}, "submitted_answers": {}})
    assert grade_root(data, submitted__py=SLOW).wait(60) == 0
    content = json.loads((tmp_path / "results" / "results.json").read_text(encoding="utf-8"))
    assert content["score"] == 1
    assert [test["name"].partition(":")[0] for test in content["tests"]] == ["total", "total", "hidden-checks"]


# GitHub Classroom


def test_the_workflow_hands_its_result_to_the_reporter(toy: AssignmentFiles) -> None:
    """The reporter looks for each runner's result under the runner's name in capitals."""
    text = classroom.collect_repository_files(toy)[classroom.WORKFLOW].decode()
    lines = [line.strip() for line in text.splitlines()]
    assert "runners: grade" in lines
    assert "id: grade" in lines
    assert 'GRADE_RESULTS: "${{steps.grade.outputs.result}}"' in lines
    assert "- uses: actions/checkout@v4" in lines
    assert f"run: {classroom.COMMAND}" in lines
    assert "run: python -m pip install --quiet --constraint .github/constraints.txt -r requirements.txt" in lines
    assert "uses: classroom-resources/autograding-grading-reporter@v1" in lines
    assert "\t" not in text
    assert "visible checks" in lines[0]


def test_the_workflow_installs_the_tested_versions(toy: AssignmentFiles) -> None:
    """Catches: a release of a package that breaks the grader of every student in the middle of the term."""
    content = classroom.collect_repository_files(toy)
    assert content[".github/constraints.txt"] == (ROOT / "constraints.txt").read_bytes()
    cached = content[classroom.WORKFLOW].decode().split("cache-dependency-path: |\n")[1].splitlines()[:2]
    assert [line.strip() for line in cached] == ["requirements.txt", ".github/constraints.txt"]
    assert f"--extra-index-url {CPU_INDEX}" in content["requirements.txt"].decode(), "else it takes gigabytes of CUDA"


def test_a_missing_file_is_a_result_for_the_reporter(toy: AssignmentFiles, tmp_path: Path) -> None:
    """Without a result the reporter fails, and a student reads of a faulty workflow instead of their slip."""
    content = classroom.collect_repository_files(toy)
    del content["submitted.py"]
    package.write_files(tmp_path, content)
    command = [sys.executable, "-s", "-B", classroom.ENTRY]
    environment = {**os.environ, "GITHUB_OUTPUT": str(tmp_path / "output")}
    subprocess.run(command, cwd=tmp_path, env=environment, check=True)
    name, _, encoded = (tmp_path / "output").read_text().splitlines()[-1].partition("=")
    assert name == "result"
    result = json.loads(base64.b64decode(encoded))
    assert (result["status"], result["max_score"]) == ("error", 4)
    assert "submitted.py" in result["tests"][0]["message"]


# Autolab


def made(toy: AssignmentFiles, folder: Path, **handed_in: str) -> subprocess.CompletedProcess[str]:
    """Lay the package out beside what was handed in, and run make as Tango does."""
    package.write_files(folder, autolab.collect_package_files(toy))
    package.write_files(folder, {name.replace("__", "."): text.encode() for name, text in handed_in.items()})
    command = ["make", "-f", "autograde-Makefile"]
    inherited = {name: value for name, value in os.environ.items() if name not in package.MAKE_VARIABLES}
    environment = inherited | {"GRADER_VENV": sys.prefix}
    return subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


FORGER = """
import atexit, os, sys
FORGED = '{"scores": {"total": 100}}'


def shout():
    for descriptor in range(3):
        os.write(descriptor, f"\\n{FORGED}\\n".encode())


def total(values):
    print(FORGED)
    print(FORGED, file=sys.stderr)
    atexit.register(shout)
    shout()
    return sum(values) + 1
"""


def test_autolab_believes_the_grader_alone(toy: AssignmentFiles, tmp_path: Path) -> None:
    """What a submission prints must never be a line of its own, least of all the last one."""
    done = made(toy, tmp_path, submitted__py=FORGER)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert not [line for line in lines if line.startswith('{"scores": {"total": 100}')]
    assert '      | {"scores": {"total": 100}}' in lines  # told, as what it printed
    assert json.loads(lines[-1])["scores"] == {"total": 0, "spread": 0, "both": 0, "hidden-checks": 0}
    assert json.loads(lines[-2])["_presentation"] == "semantic"


def test_autolab_is_told_of_a_missing_file(toy: AssignmentFiles, tmp_path: Path) -> None:
    """Zero points for every problem, and why."""
    done = made(toy, tmp_path, other__txt="?")
    lines = done.stdout.splitlines()
    assert "there is no submitted.py" in lines[0]
    assert set(json.loads(lines[-1])["scores"].values()) == {0}


def test_autolab_tells_the_instructor_every_problem(toy: AssignmentFiles) -> None:
    """Points of a problem that was not made are lost."""
    text = autolab.collect_package_files(toy)["README.md"].decode()
    for line in ("{name: total, max_score: 2,", "{name: hidden-checks, max_score: 2,", "handin_filename: submitted.py"):
        assert line in text
