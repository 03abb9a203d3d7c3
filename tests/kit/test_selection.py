"""Which inputs a test has, which tests --changed leaves out, and what the guard refuses."""

from __future__ import annotations

import ast
import functools
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kit.inputs import CODE, CONFTEST, OF_ALL_TESTS, Snapshot, find_inputs
from tests.kit.patience import PATIENCE

pytestmark = pytest.mark.recorded

INPUTS = {
    "test_a_change_chooses_the_tests_that_it_can_affect": ("**",),
    "test_a_change_in_an_assignment_chooses_its_proof_alone": ("**",),
    "test_a_comment_of_an_assignment_can_change_a_result": ("**",),
    "test_a_comment_of_the_kit_changes_no_result": ("**",),
    "test_answers_belong_to_their_assignment": ("**",),
    "test_every_pattern_matches_a_file": ("**",),
    "test_fixtures_of_all_modules_are_asked_for_and_declared": ("**",),
}
ROOT = Path(__file__).resolve().parents[2]


# Inputs of a made-up repository


def list_inputs(root: Path, files: dict[str, str], test: str = "", fixtures: tuple[str, ...] = (), **params: str) -> set[str]:
    """Return the inputs of tests/kit/test_it.py in a repository of these files, without those of all tests."""
    snapshot = Snapshot(root, {path: content.encode() for path, content in files.items()})
    return find_inputs(snapshot, "tests/kit/test_it.py", test, params, fixtures).keys() - {
        *OF_ALL_TESTS,
        "tests/kit/test_it.py",
    }


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import grader.a", {"grader/__init__.py", "grader/a.py"}),
        ("from grader.a import thing", {"grader/__init__.py", "grader/a.py"}),
        ("from grader import a", {"grader/__init__.py", "grader/a.py"}),
        ("def test():\n    import grader.a", {"grader/__init__.py", "grader/a.py"}),
        ("import importlib\nimportlib.import_module('grader.a')", {"grader/__init__.py", "grader/a.py"}),
        ("import beside", {"tests/kit/beside.py"}),
        ("from .beside import thing", {"tests/kit/beside.py"}),
        ("from ...grader import a", {"grader/__init__.py", "grader/a.py"}),
        ("import grader.b", {"grader/__init__.py", "grader/b.py", "grader/b.html", "grader/table.ini", "utils.py"}),
        ("FOLDER = Path(__file__).with_name('data')", {"tests/kit/data/deep/one.txt"}),
        ("import json, numpy", set()),
    ],
)
def test_what_code_names_is_an_input(tmp_path: Path, code: str, expected: set[str]) -> None:
    """Imports are followed, wherever they stand; so are files beside a module that it names."""
    files = {
        "grader/__init__.py": "",
        "grader/a.py": "",
        "grader/b.py": "import utils\nSUFFIX = '.html'\nread('table.ini')",
        "grader/b.html": "",
        "grader/table.ini": "",
        "tests/kit/beside.py": "",
        "tests/kit/data/deep/one.txt": "",
        "tests/kit/test_it.py": code,
        "utils.py": "",
    }
    assert list_inputs(tmp_path, files) == expected


def test_declared_patterns_are_inputs(tmp_path: Path) -> None:
    """A parameter narrows a pattern; without it, the pattern means all. Python files are followed."""
    files = {
        "solutions/one/submitted.py": "import utils",
        "solutions/two/deep/data.txt": "",
        "tests/kit/test_it.py": "INPUTS = ('solutions/{name}/**',)",
        "utils.py": "",
    }
    assert list_inputs(tmp_path, files, name="one") == {"solutions/one/submitted.py", "utils.py"}
    assert list_inputs(tmp_path, files, name="two") == {"solutions/two/deep/data.txt"}
    assert list_inputs(tmp_path, files) == files.keys() - {"tests/kit/test_it.py"}


def test_functions_can_declare_their_own_inputs(tmp_path: Path) -> None:
    """What one test reads is no input of its neighbors."""
    files = {"a": "", "b": "", "tests/kit/test_it.py": "INPUTS = {'*': ('a',), 'test_b': ('b',)}"}
    assert list_inputs(tmp_path, files, "test_a") == {"a"}
    assert list_inputs(tmp_path, files, "test_b") == {"a", "b"}


def test_only_fixtures_in_use_bring_their_inputs(tmp_path: Path) -> None:
    """A unit test must not depend on all that conftest.py can set up."""
    conftest = (
        "import first\nimport second\nimport third\n"
        "FIXTURE_INPUTS = {'one': ('data/one.txt',)}\n"
        "configure(third)\n"
        "def help(): return first\n"
        "def one(): return help()\n"
        "def both(one): return second\n"
    )
    names = ("first.py", "second.py", "third.py", "data/one.txt")
    files = {CONFTEST: conftest, "tests/kit/test_it.py": "", **dict.fromkeys(names, "")}
    assert list_inputs(tmp_path, files) == {"third.py"}
    assert list_inputs(tmp_path, files, fixtures=("one",)) == {"third.py", "first.py", "data/one.txt"}
    assert list_inputs(tmp_path, files, fixtures=("both", "tmp_path")) == set(names)


def test_broken_python_is_an_input_that_leads_nowhere(tmp_path: Path) -> None:
    """A file that is being edited must not stop the tests of other files."""
    files = {"broken.py": "def", "tests/kit/test_it.py": "import broken"}
    assert list_inputs(tmp_path, files) == {"broken.py"}


@pytest.mark.parametrize("value", ["tuple(NAMES)", "('data.txt')"])
def test_inputs_must_be_a_literal(tmp_path: Path, value: str) -> None:
    """Catches: a value that only an import would tell, and a tuple without its comma."""
    with pytest.raises(ValueError, match=r"tests/kit/test_it\.py: INPUTS must be a literal"):
        list_inputs(tmp_path, {"tests/kit/test_it.py": f"INPUTS = {value}"})


# Sessions in a made-up repository


class Project:
    """A repository with this plugin."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("tests/kit/conftest.py", "pytest_plugins = ['tests.kit.selection']")
        for name in ("inputs.py", "noting.py", "selection.py", "watching.py"):
            shutil.copy(Path(__file__).with_name(name), root / "tests/kit")
        self.write("pyproject.toml", "[tool.pytest.ini_options]\npythonpath = ['.']\naddopts = '--import-mode=importlib'")

    def write(self, path: str, content: str) -> None:
        """Write a file of it."""
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(content, encoding="utf-8")

    def run(self, *options: str) -> tuple[int, dict[str, str], str]:
        """Run its tests; return the exit code, the outcome of each test that ran, and all output."""
        command = [sys.executable, "-m", "pytest", "-rA", "tests/kit", *options]
        environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        done = subprocess.run(command, cwd=self.root, env=environment, capture_output=True, text=True, timeout=PATIENCE)
        outcomes = re.findall(r"^(PASSED|FAILED|ERROR|XFAIL) tests/kit/\w+\.py::(\S+)", done.stdout, re.MULTILINE)
        return done.returncode, {test: outcome for outcome, test in outcomes}, done.stdout + done.stderr


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Two test files: one imports grader.total, one is parametrized over files of data."""
    project = Project(tmp_path)
    project.write("grader/total.py", "def total(values):\n    return sum(values)")
    project.write("tests/kit/test_sum.py", "from grader.total import total\ndef test_sum():\n    assert total([1, 2]) == 3")
    project.write("answers/one.json", "1")
    project.write("answers/two.json", "2")
    project.write(
        "tests/kit/test_data.py",
        "import json, pytest\n"
        "INPUTS = ('answers/{name}.json',)\n"
        "@pytest.mark.parametrize('name', ['one', 'two'])\n"
        "def test_data(name):\n"
        "    assert json.load(open(f'answers/{name}.json'))\n",
    )
    return project


def test_unchanged_tests_are_left_out(project: Project) -> None:
    """A test runs again only for a reason, and the summary names the reason."""
    code, outcomes, output = project.run()
    assert (code, set(outcomes)) == (0, {"test_sum", "test_data[one]", "test_data[two]"}), output

    code, outcomes, output = project.run("--changed", "-v")
    assert (code, outcomes) == (0, {}), output
    assert "0 tests chosen, 3 left out: no file that they read has changed since they passed here." in output
    assert "test_data.py: 2 left out" in output

    project.write("answers/two.json", "22")
    project.write("tests/kit/test_new.py", "def test_new(): pass")
    _, outcomes, output = project.run("--changed")
    assert set(outcomes) == {"test_data[two]", "test_new"}
    assert "answers/two.json: 1 test in test_data.py" in output
    assert "no pass is recorded here: 1 test in test_new.py" in output


def test_the_commit_at_which_tests_passed_is_named(project: Project) -> None:
    """Whoever changes nothing must read what the verdict stands on."""

    def git(*arguments: str) -> str:
        author = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.org"]
        command = ["git", *author, *arguments]
        return subprocess.run(command, cwd=project.root, capture_output=True, text=True, check=True).stdout.strip()

    project.write(".gitignore", "__pycache__/\n.pytest_cache/\n")
    git("init")
    git("add", "--all")
    git("commit", "--message", "a project")
    commit = git("rev-parse", "--short=12", "HEAD")
    project.run()
    assert f"3 tests passed at {commit}\n" in project.run("--changed")[2]
    project.write("grader/total.py", "def total(values):\n    return sum(values) + 0")
    project.run("--changed")
    output = project.run("--changed")[2]
    assert f"2 tests passed at {commit}\n" in output
    assert f"1 test passed at {commit} with changes\n" in output


SLOW = """\
import pytest
from grader.total import total

@pytest.mark.recorded
@pytest.mark.parametrize("number", range(30))
def test_slow(number):
    assert total([number, 1]) > 0

def test_quick():
    assert total([]) == 0
"""


def forget(project: Project) -> None:
    """Make it the fresh clone that it was before any session."""
    shutil.rmtree(project.root / ".pytest_cache")


@pytest.mark.parametrize("workers", [(), ("-p", "xdist", "-n", "2")], ids=["alone", "xdist"])
def test_a_fresh_clone_believes_what_is_recorded_but_for_a_sample(project: Project, workers: tuple[str, ...]) -> None:
    """Catches: a record that nobody reads, one that speaks for tests without the mark, a sample that is always the same."""
    (project.root / "tests/proof").mkdir()
    project.write("tests/kit/test_slow.py", SLOW)
    assert len(project.run(*workers, "--record")[1]) == 34
    forget(project)

    drawn = set()
    for _ in range(3):
        _, outcomes, output = project.run(*workers, "--changed")
        slow = {test for test in outcomes if test.startswith("test_slow")}
        assert 0 < len(slow) < 12
        assert outcomes.keys() - slow == {"test_sum", "test_quick", "test_data[one]", "test_data[two]"}
        assert f"{30 - len(slow)} tests passed at no commit, as tests/proof/tests.jsonl says" in output
        assert f"drawn at random from those that tests/proof/tests.jsonl lists: {len(slow)} in test_slow.py" in output
        drawn |= slow
        forget(project)
    assert len(drawn) > 1


def test_a_checkout_draws_once_for_each_record(project: Project) -> None:
    """Catches: a new sample after each change, so that every session runs 5 % of the record; one that is never drawn anew."""
    (project.root / "tests/proof").mkdir()
    project.write("tests/kit/test_slow.py", SLOW)
    project.run("--record")
    forget(project)
    assert len(project.run("--changed")[1]) > 4
    project.write("grader/other.py", "")
    assert len(project.run("--changed")[1]) == 0
    lots = set()
    for line in ("", "[]", "[]\n[]"):
        (project.root / "tests/proof/tests.jsonl").write_text(line)
        project.run("--changed")
        lots.add((project.root / ".pytest_cache/d/selection/lot.json").read_text())
    assert len(lots) == 3


TOGETHER = """\
import pytest

pytestmark = pytest.mark.recorded

@pytest.fixture(scope="module", params=range(300))
def slow_setting(request):
    return request.param

def test_first(slow_setting):
    assert slow_setting < 300

def test_second(slow_setting):
    assert slow_setting < 300
"""


@pytest.mark.parametrize(("settings", "most"), [(300, 100), (2, 2)])
def test_tests_that_share_a_slow_fixture_are_drawn_together(project: Project, settings: int, most: int) -> None:
    """Catches: a sample of few tests that sets up nearly all that is slow; of few settings, half of one."""
    (project.root / "tests/proof").mkdir()
    project.write("tests/kit/test_slow.py", TOGETHER.replace("300", str(settings)))
    project.run("--record", "tests/kit/test_slow.py")
    forget(project)
    ran = project.run("--changed", "tests/kit/test_slow.py")[1]
    drawn = {test for test in ran if "[" in test and test.startswith(("test_first", "test_second"))}
    first = {test.partition("[")[2] for test in drawn if test.startswith("test_first")}
    assert first == {test.partition("[")[2] for test in drawn if test.startswith("test_second")}
    assert 0 < len(first) <= most


def test_a_change_that_a_recorded_test_reads_runs_it(project: Project) -> None:
    """Catches: a record that speaks for other inputs."""
    (project.root / "tests/proof").mkdir()
    project.write("tests/kit/test_slow.py", SLOW)
    project.run("--record")
    forget(project)
    project.write("grader/total.py", "def total(values):\n    return sum(values) + (1 in values[1:])")
    assert len(project.run("--changed")[1]) == 34


VERSION = ".".join(platform.release().split(".")[:2])


@pytest.mark.parametrize(
    ("mark", "release", "all_run"),
    [
        ("recorded(kernel=True)", "1.0", True),
        ("recorded(kernel=True)", f"{VERSION}.987-of-another-cloud", False),
        ("recorded", "1.0", False),
    ],
)
def test_what_depends_on_the_kernel_is_run_with_another_one(project: Project, mark: str, release: str, all_run: bool) -> None:
    """Catches: a test of the isolation that is believed on a machine whose kernel isolates less, or runs for each build."""
    (project.root / "tests/proof").mkdir()
    project.write("tests/kit/test_slow.py", SLOW.replace("recorded", mark))
    project.write("other_kernel.py", f"import platform\nplatform.release = lambda: {release!r}")
    project.run("--record")
    forget(project)
    outcomes = project.run("--changed", "-p", "other_kernel")[1]
    assert (sum(test.startswith("test_slow") for test in outcomes) == 30) == all_run


def test_what_changes_during_a_session_is_not_recorded(project: Project) -> None:
    """Catches: a pass under the key of files that were not there when the test ran."""
    (project.root / "tests/proof").mkdir()
    edit = "open('grader/total.py', 'a').write('later = 1')\n"
    project.write("tests/kit/test_slow.py", SLOW.replace("    assert total([])", f"    {edit}    assert total([])"))
    project.run("--record")
    assert recorded(project) == {}


TWO = (
    SLOW
    + """
@pytest.mark.recorded
def test_alone():
    assert total([1, 1]) > 0
"""
)


def recorded(project: Project) -> dict[str, tuple[int, set[str]]]:
    """Return by file how many passed tests are recorded, and what the record does not speak of."""
    _, *lines = (project.root / "tests/proof/tests.jsonl").read_text().splitlines()
    found: dict[str, tuple[int, set[str]]] = {}
    for file, _, passed, *lists in map(json.loads, lines):
        found[file] = passed + found.get(file, (0,))[0], set(lists[1]) if len(lists) > 1 else set()
    return found


def test_a_failure_is_recorded_no_longer(project: Project) -> None:
    """Catches: a test that failed where it was recorded, and is left out elsewhere; a record of a file that is gone."""
    (project.root / "tests/proof").mkdir()
    project.write("tests/kit/test_slow.py", TWO)
    project.write("tests/kit/test_gone.py", SLOW)
    project.run("--record")
    assert recorded(project) == {"tests/kit/test_slow.py": (31, set()), "tests/kit/test_gone.py": (30, set())}
    (project.root / "tests/kit/test_gone.py").unlink()
    project.write("grader/total.py", "def total(values):\n    assert 7 not in values\n    return sum(values)")
    project.run("--record")
    assert recorded(project) == {"tests/kit/test_slow.py": (1, {"test_slow"})}


def test_what_is_left_out_is_not_recorded_anew(project: Project) -> None:
    """Catches: a record that loses whatever did not have to run."""
    code, _, output = project.run("--record", "--changed")
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "leave out --changed" in output


@pytest.mark.parametrize("content", ["", "{}", "[]", "no JSON", '{"proven": ""}\n[1]\n', '{"proven": ""}\n["a", "b", 3, 4]\n'])
def test_a_damaged_record_is_believed_by_nobody(project: Project, content: str) -> None:
    """Catches: a traceback in place of the tests, after a merge."""
    (project.root / "tests/proof").mkdir()
    project.write("tests/proof/tests.jsonl", content)
    assert len(project.run("--changed")[1]) == 3


def test_a_record_of_some_tests_speaks_for_none(project: Project) -> None:
    """Catches: a parameter that was added, or not run, and is left out because others have passed."""
    (project.root / "tests/proof").mkdir()
    project.write("tests/kit/test_slow.py", TWO)
    project.run("--record", "-k", "test_alone or test_slow and 1")
    assert recorded(project)["tests/kit/test_slow.py"] == (13, set())
    forget(project)
    outcomes = project.run("--changed")[1]
    assert len([test for test in outcomes if test.startswith("test_slow")]) == 30


def test_a_change_that_is_taken_back_runs_nothing(project: Project) -> None:
    """Whoever changes branches and comes back must not wait for the same verdict again."""
    right = (project.root / "grader/total.py").read_text(encoding="utf-8")
    project.run()
    project.write("grader/total.py", "def total(values):\n    return sum(values) + 0")
    assert project.run("--changed")[1] == {"test_sum": "PASSED"}
    project.write("grader/total.py", right)
    code, outcomes, output = project.run("--changed")
    assert (code, outcomes) == (0, {}), output


def test_what_a_test_says_is_in_the_summary(project: Project) -> None:
    """A proof that was spared must be told apart from one that was made."""
    project.write("tests/kit/test_says.py", "def test_says(record_property): record_property('said', 'as recorded: 12')")
    assert "\nas recorded: 12\n" in project.run("-p", "xdist", "-n", "2")[2]


def test_a_failure_is_chosen_until_it_passes(project: Project) -> None:
    """To break something and to mend it again must not count as unchanged in between."""
    right = (project.root / "grader/total.py").read_text(encoding="utf-8")
    project.run()
    project.write("grader/total.py", "def total(values):\n    return 0")
    code, outcomes, output = project.run("--changed")
    assert (code, outcomes) == (1, {"test_sum": "FAILED"})
    assert "grader/total.py: 1 test in test_sum.py" in output
    project.write("grader/total.py", right)
    assert project.run("--changed")[1] == {"test_sum": "PASSED"}
    assert project.run("--changed")[1] == {}


def test_workers_of_xdist_choose_the_same(project: Project) -> None:
    """Records come from the workers, the summary from the controller."""
    pytest.importorskip("xdist")
    assert len(project.run("-p", "xdist", "-n", "2")[1]) == 3
    project.write("grader/total.py", "def total(values):\n    return sum(list(values))")
    _, outcomes, output = project.run("-p", "xdist", "-n", "2", "--changed")
    assert set(outcomes) == {"test_sum"}
    assert "1 test chosen, 2 left out" in output
    code, outcomes, output = project.run("-p", "xdist", "-n", "2", "--changed")
    assert (code, outcomes) == (0, {}), output
    assert "0 tests chosen, 3 left out" in output


def test_only_a_pass_with_the_present_files_is_recorded(project: Project) -> None:
    """Catches: a record of a test that was skipped, or that ran before a file was saved once more."""
    project.write(
        "tests/kit/test_states.py",
        "import pytest\n"
        "def test_skipped(): pytest.skip()\n"
        "@pytest.mark.xfail\n"
        "def test_xfailed(): assert False\n"
        "@pytest.mark.xfail\n"
        "def test_xpassed(): pass\n"
        "def test_edits(): open('grader/total.py', 'a').write('\\nsaved = 1')\n",
    )
    project.run()
    _, _, output = project.run("--changed")
    assert "4 tests chosen, 3 left out" in output  # chosen: three states, and test_sum, which imports grader.total


def test_damaged_records_choose_everything(project: Project) -> None:
    """A half-written file must not stop the tests."""
    project.run()
    (records,) = project.root.glob(".pytest_cache/**/passes.json")
    records.write_text('{"passed": ', encoding="utf-8")
    assert len(project.run("--changed")[1]) == 3


UNDECLARED = {  # by the name of the test: its module, and the file that it does not declare
    "test_opens": ("def test_opens(): open('data.txt').read()", "data.txt"),
    "test_module": ("CONTENT = open('data.txt').read()\ndef test_module(): pass", "data.txt"),
    "test_fixture": (
        "import pytest\n@pytest.fixture(scope='session')\ndef content(): return open('data.txt').read()\n"
        "def test_fixture(content): pass",
        "data.txt",
    ),
    "test_imports": (
        "import importlib\ndef test_imports(): importlib.import_module('.'.join(['grader', 'lazy']))",
        "grader/lazy.py",
    ),
    "test_code": (
        "import subprocess, sys\ndef test_code(): subprocess.run([sys.executable, '-c', 'import grader.total'])",
        "grader/total.py",
    ),
    "test_starts": (
        "import subprocess, sys\ndef test_starts(): subprocess.run([sys.executable, '-m', 'grader'])",
        "grader/__main__.py",
    ),
    "test_argument": (
        "import subprocess, sys\ndef test_argument(): subprocess.run([sys.executable, '-c', '0', 'data.txt'])",
        "data.txt",
    ),
    "test_script": (
        "import subprocess, sys\ndef test_script(): subprocess.run([sys.executable, 'grader/total.py'])",
        "grader/total.py",
    ),
}


def test_the_guard_names_a_file_that_is_not_declared(tmp_path: Path) -> None:
    """A test that reads more than its inputs would be left out wrongly some day."""
    project = Project(tmp_path)
    for path in ("data.txt", "grader/lazy.py", "grader/total.py", "grader/__main__.py"):
        project.write(path, "")
    for name, (code, _) in UNDECLARED.items():
        project.write(f"tests/kit/{name}.py", code)
    _, outcomes, output = project.run()
    assert outcomes == dict.fromkeys(UNDECLARED, "ERROR")
    for name, (code, file) in UNDECLARED.items():
        assert (
            f"{name} opens or starts files that are not among its inputs: {file}. Add them to INPUTS of tests/kit/{name}.py"
        ) in output
        project.write(f"tests/kit/{name}.py", f"INPUTS = ('{file}',)\n{code}")
    assert project.run()[1] == dict.fromkeys(UNDECLARED, "PASSED")


LATE = {
    "grader/__init__.py": "",
    "grader/table.py": "def render(): return 'a table'",
    "grader/page.py": "import grader.colors\ndef render(): return 'a page'",
    "grader/colors.py": "",
    "grader/formats.py": (
        "import importlib\n"
        "def render(name):\n"
        "    if name == 'page':\n"
        "        from grader import page\n"
        "        return page.render()\n"
        "    return importlib.import_module('grader.table').render()\n"
    ),
    "tests/kit/test_late.py": (
        "import os, pytest\n"
        "from grader.formats import render\n"
        "@pytest.fixture(scope='session')\n"
        "def page(): return render('page')\n"
        "@pytest.mark.parametrize('name', ['page', 'table'])\n"
        "def test_render(name): assert name in render(name)\n"
        "def test_page_again(): assert render('page')\n"
        "def test_first(page): assert page\n"
        "def test_second(page): assert page\n"
        "def test_fork():\n"
        "    if os.fork() == 0: os._exit(0 if render('table') else 1)\n"
        "    assert os.wait()[1] == 0\n"
        "def test_none(): assert callable(render)\n"
    ),
}
PAGES = {"test_render[page]", "test_page_again", "test_first", "test_second"}


@pytest.mark.parametrize(
    ("path", "chosen"),
    [
        ("grader/table.py", {"test_render[table]", "test_fork"}),
        ("grader/page.py", PAGES),
        ("grader/colors.py", PAGES),
        ("grader/formats.py", PAGES | {"test_render[table]", "test_fork", "test_none"}),
    ],
)
def test_an_import_in_a_function_counts_for_those_that_execute_it(tmp_path: Path, path: str, chosen: set[str]) -> None:
    """Catches: a second import that nobody sees, one in a fixture of several tests, one in a fork; all formats run for one."""
    project = Project(tmp_path)
    for name, code in LATE.items():
        project.write(name, code)
    project.run()
    assert project.run("--changed")[1] == {}
    project.write(path, LATE[path] + "\nCHANGED = 1\n")
    assert project.run("--changed")[1].keys() == chosen


STARTED = LATE | {
    "grader/__main__.py": "import sys\nfrom grader.formats import render\nrender(sys.argv[1])\n",
    "fork.py": "import os\nif os.fork():\n    os.wait()\nelse:\n    import grader.formats\n    grader.formats.render('page')\n",
    "exec.py": "import os, sys\nos.execve(sys.executable, [sys.executable, '-m', 'grader', 'page'], {})\n",
    "tests/kit/test_late.py": """
import os, signal, subprocess, sys, pytest

INPUTS = ("grader/__main__.py", "fork.py", "exec.py")
RENDER = [sys.executable, "-m", "grader"]
SERVE = "import sys; sys.path.append('.')\\nfor line in sys.stdin: print(__import__(line.strip()), flush=True)"

def start(*words, **how):
    subprocess.run([sys.executable, *words], check=True, **how)

def in_fork(function):
    if os.fork() == 0:
        function()
        os._exit(0)
    assert os.wait()[1] == 0

def ask(process, name):
    print(name, file=process.stdin, flush=True)
    assert process.stdout.readline()

def serve():
    with subprocess.Popen([sys.executable, "-c", SERVE], stdin=-1, stdout=-1, text=True) as process:
        ask(process, "json")
        yield process

server = pytest.fixture(scope="module")(serve)
own_server = pytest.fixture(serve)

def test_page(): start("-m", "grader", "page")
def test_table(): start("-m", "grader", "table")
def test_isolated(): start("-I", "-c", "import sys; sys.path.append('.'); import grader.page")
def test_emptied(): start("-m", "grader", "table", env={})
def test_emptied_after_a_shell():
    subprocess.run(["sh", "-c", f"{sys.executable} -m grader table"], check=True)
    start("-m", "grader", "table", env={})
def test_bytecode_elsewhere(tmp_path):
    start("-m", "grader", "table", env=os.environ | {"PYTHONPYCACHEPREFIX": str(tmp_path)})
def test_shell(): subprocess.run(["sh", "-c", f"{sys.executable} -m grader page"], check=True)
def test_program_forks(): start("fork.py")
def test_program_becomes_another(): start("exec.py")
def test_fork_starts(): in_fork(lambda: start("-m", "grader", "page"))
def test_fork_that_cannot_write():
    import resource
    most = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, most[1]))
    in_fork(lambda: None)
    resource.setrlimit(resource.RLIMIT_FSIZE, most)
def test_fork_becomes_a_program(): in_fork(lambda: os.execve(sys.executable, [*RENDER, "page"], {}))
def test_prepares_a_program(): start("-m", "grader", "page", preexec_fn=lambda: None)
def test_spawns():
    os.waitpid(os.posix_spawn(sys.executable, [*RENDER, "page"], {}), 0)
def test_asks_running(server): ask(server, "grader.table")
def test_asks_its_own(own_server): ask(own_server, "grader.table")
""",
}
# Programs of which nothing is known count with all that they might import.
UNSEEN = {
    "test_emptied",
    "test_emptied_after_a_shell",
    "test_bytecode_elsewhere",
    "test_program_becomes_another",
    "test_fork_becomes_a_program",
    "test_fork_that_cannot_write",
    "test_spawns",
}
WITH_PAGE = {"test_page", "test_isolated", "test_shell", "test_program_forks", "test_fork_starts", "test_prepares_a_program"}
WITH_TABLE = {"test_table", "test_asks_running", "test_asks_its_own"}


@pytest.mark.parametrize(
    ("path", "chosen"),
    [
        ("grader/page.py", UNSEEN | WITH_PAGE),
        ("grader/table.py", UNSEEN | WITH_TABLE),
    ],
)
def test_an_import_in_a_program_counts_for_the_test_that_starts_it(tmp_path: Path, path: str, chosen: set[str]) -> None:
    """Catches: a fork or program whose imports nobody sees; all that a program may import, for those that start it."""
    project = Project(tmp_path)
    for name, code in STARTED.items():
        project.write(name, code)
    exit_code, _, output = project.run()
    assert exit_code == 0, output
    assert project.run("--changed")[1] == {}
    project.write(path, STARTED[path] + "\nCHANGED = 1\n")
    assert project.run("--changed")[1].keys() == chosen


@pytest.mark.parametrize(
    ("path", "all_run"), [("grader/table.py", False), ("grader/page.py", True), ("grader/formats.py", True)]
)
def test_the_record_of_a_file_has_what_its_tests_imported(tmp_path: Path, path: str, all_run: bool) -> None:
    """Catches: a fresh clone that runs, after a change, all that might have imported the file, or that leaves out what did."""
    project = Project(tmp_path)
    (tmp_path / "tests/proof").mkdir()
    for name, code in LATE.items():
        project.write(name, code)
    project.write(
        "tests/kit/test_late.py",
        "import pytest\nfrom grader.formats import render\npytestmark = pytest.mark.recorded\n"
        "@pytest.mark.parametrize('number', range(9))\ndef test_render(number): assert render('page')\n",
    )
    project.run("--record")
    forget(project)
    project.write(path, LATE[path] + "\nCHANGED = 1\n")
    assert (len(project.run("--changed")[1]) == 9) == all_run


def test_what_only_types_need_is_no_input(tmp_path: Path) -> None:
    """Such an import is never executed; one in the other branch is."""
    code = "if TYPE_CHECKING:\n    from grader import a\nelse:\n    from grader import b"
    files = {"grader/a.py": "", "grader/b.py": "", "tests/kit/test_it.py": code}
    assert list_inputs(tmp_path, files) == {"grader/b.py"}


def test_what_only_a_kernel_calls_is_no_input(tmp_path: Path) -> None:
    """Catches: an edit of the magics that makes all tests stale whose programs import the package."""
    code = "def load_ipython_extension(shell):\n    from grader import a\ndef other():\n    from grader import b"
    files = {"grader/a.py": "", "grader/b.py": "", "tests/kit/test_it.py": code}
    assert list_inputs(tmp_path, files) == {"grader/b.py"}


# This repository


@pytest.fixture(scope="module")
def repository(pytestconfig: pytest.Config) -> Snapshot:
    """The files as they are; the plugin knows already what they name."""
    selection = pytestconfig.pluginmanager.get_plugin("selection")
    assert selection is not None
    return Snapshot(ROOT, sources=selection.snapshot.sources, codes=selection.snapshot.codes)


def list_modules(snapshot: Snapshot) -> list[str]:
    """Return the paths of all test modules of the kit."""
    return [path for path in snapshot.files if re.fullmatch(r"tests/kit/test_\w+\.py", path)]


@functools.cache
def list_arguments(code: bytes) -> set[str]:
    """Return the names of all arguments: of these are the fixtures that a module uses."""
    return {node.arg for node in ast.walk(ast.parse(code)) if isinstance(node, ast.arg)}


def read_declared(snapshot: Snapshot, module: str) -> dict[str, list[str]]:
    """Return INPUTS of a module by test."""
    declared = snapshot.source(module).declared
    assert declared is not None, module
    return declared


def find_module_inputs(snapshot: Snapshot, module: str, **params: str) -> dict[str, str | None]:
    """Return the inputs of all tests of a module together."""
    names = list_arguments(snapshot.read(module))
    tests = read_declared(snapshot, module)
    return {
        path: digest for test in ["", *tests] for path, digest in find_inputs(snapshot, module, test, params, names).items()
    }


def choose_modules(snapshot: Snapshot, path: str, change: Callable[[bytes], bytes], **params: str) -> set[str]:
    """Return the names of the test files that a change of one file affects."""
    changed = Snapshot(ROOT, {path: change(snapshot.read(path))}, snapshot.sources, snapshot.codes)
    modules = list_modules(snapshot)
    return {
        module.rpartition("/")[2].removesuffix(".py")
        for module in modules
        if find_module_inputs(snapshot, module, **params) != find_module_inputs(changed, module, **params)
    }


SOLUTIONS = {f"test_{name}_solution" for name in ("continuous_ppo", "ddpg", "policy_gradient", "ppo_agent", "recurrent_a2c")}
PURE = {"test_wire", "test_views", "test_similarity", "test_utils", *SOLUTIONS}


@pytest.mark.parametrize(
    ("path", "affected", "unaffected"),
    [
        (
            "solutions/ddpg/submitted.py",
            {"test_ddpg_solution", "test_ddpg_blame", "test_trained_actor", "test_notebook"},
            {"test_ppo_agent_solution", "test_wire", "test_outcomes", "test_course", "test_page"},
        ),
        (
            "solutions/ppo_agent/mistakes.py",
            {"test_ppo_agent_repair"},
            PURE | {"test_ddpg_blame", "test_notebook", "test_outcomes", "test_report"},
        ),
        ("tests/drivers/policy_gradient.py", {"test_drivers", "test_outcomes", "test_command"}, PURE | {"test_ddpg_blame"}),
        ("assignments/ddpg/training.py", {"test_ddpg_solution"}, {"test_recurrent_a2c_solution", "test_outcomes"}),
        (
            "utils.py",
            {"test_utils", "test_environments", "test_ddpg_solution", "test_outcomes"},
            {"test_wire", "test_course_policy"},
        ),
        ("grader/course/gradebook.py", {"test_course_policy", "test_course", "test_class_page"}, PURE | {"test_sandbox"}),
        ("grader/course/classpage.html", {"test_class_page", "test_course"}, PURE | {"test_sandbox"}),
        (
            "grader/platforms/gradescope/report.py",
            {"test_gradescope", "test_formats", "test_command"},
            PURE | {"test_course_policy"},
        ),
        ("grader/report/table.py", {"test_formats"}, PURE | {"test_course", "test_outcomes", "test_report"}),
        ("grader/desk/debug.py", {"test_desk_debug"}, PURE | {"test_course_policy", "test_sandbox", "test_proofs"}),
        ("grader/proof/mutants.py", {"test_verify", "test_new", "test_proofs"}, PURE | {"test_course_policy", "test_sandbox"}),
        ("grader/authoring/example/solutions/NAME/cases.py", {"test_new"}, PURE | {"test_sandbox"}),
        (
            "grader/judge/student.py",
            {"test_outcomes", "test_course", "test_verify", "test_command", "test_proofs"},
            PURE | {"test_sandbox"},
        ),
        ("grader/judge/checks.ini", {"test_outcomes", "test_course"}, PURE | {"test_sandbox"}),
        (
            "grader/sandbox/server.py",
            {"test_sandbox", "test_faults", "test_outcomes", "test_attacks", "test_course", "test_desk_show", "test_verify"},
            SOLUTIONS | {"test_utils"},
        ),
        ("docs/policy.md", {"test_course_policy"}, PURE | {"test_course"}),
        ("README.md", {"test_house", "test_selection"}, PURE | {"test_outcomes"}),
        ("tests/kit/test_page.py", {"test_page", "test_class_page"}, PURE | {"test_outcomes"}),
        *((path, PURE | {"test_sandbox", "test_course_policy"}, set()) for path in OF_ALL_TESTS),
    ],
)
def test_a_change_chooses_the_tests_that_it_can_affect(
    repository: Snapshot, path: str, affected: set[str], unaffected: set[str]
) -> None:
    """Nothing that can fail is left out, and what has nothing to do with a change is."""
    found = choose_modules(repository, path, lambda content: content + (b"\nCHANGED = 1\n" if CODE.fullmatch(path) else b"\n"))
    assert affected <= found
    assert unaffected & found == set()


ALL_FILES = {"test_house", "test_other_systems", "test_selection"}  # read every file of the repository


@pytest.mark.parametrize("path", ["grader/judge/student.py", "tests/kit/test_page.py", "tests/kit/inputs.py"])
def test_a_comment_of_the_kit_changes_no_result(repository: Snapshot, path: str) -> None:
    """Catches: all tests run for a comment in a module that all of them import."""
    assert choose_modules(repository, path, lambda content: b"# changed\n\n" + content) == ALL_FILES


@pytest.mark.parametrize(
    ("path", "reader"),
    [
        ("solutions/ddpg/submitted.py", "test_ddpg_solution"),
        ("tests/visible/test_ddpg.py", "test_proofs"),
        ("grader/authoring/example/solutions/NAME/cases.py", "test_new"),
    ],
)
def test_a_comment_of_an_assignment_can_change_a_result(repository: Snapshot, path: str, reader: str) -> None:
    """Catches: comments that count for nothing, though stubs and new assignments keep them."""
    assert reader in choose_modules(repository, path, lambda content: b"# changed\n\n" + content, name="ddpg")


@pytest.mark.parametrize(
    "path",
    [
        "assignments/ddpg/assignment.toml",
        "assignments/ddpg/notebook.ipynb",
        "assignments/ddpg/training.py",
        "solutions/ddpg/alternatives.py",
        "solutions/ddpg/cases.py",
        "solutions/ddpg/mistakes.py",
        "solutions/ddpg/submitted.py",
        "solutions/ddpg/survivors.toml",
        "tests/drivers/ddpg.py",
        "tests/hidden/answers/ddpg.json",
        "tests/hidden/mistakes/ddpg.json",
        "tests/hidden/test_ddpg.py",
        "tests/proof/ddpg.jsonl",
        "tests/views/ddpg.py",
        "tests/visible/test_ddpg.py",
    ],
)
def test_a_change_in_an_assignment_chooses_its_proof_alone(repository: Snapshot, path: str) -> None:
    """Catches: a file that decides a proof and is none of its inputs, or one that lets all five run again."""
    assert "test_proofs" in choose_modules(repository, path, lambda content: content + b"\n", name="ddpg")
    assert "test_proofs" not in choose_modules(repository, path, lambda content: content + b"\n", name="ppo_agent")


def test_answers_belong_to_their_assignment(repository: Snapshot) -> None:
    """To rebuild one assignment must not run the tests of another."""
    found = choose_modules(repository, "tests/visible/answers/ddpg.json", lambda content: content + b" ")
    assert {"test_ddpg_blame", "test_trained_actor"} <= found
    assert not {"test_outcomes", "test_trained_policy", "test_ppo_agent_repair"} & found


def test_every_pattern_matches_a_file(repository: Snapshot) -> None:
    """A pattern that matches nothing is a slip, or left over from a file that is gone."""
    for module in list_modules(repository):
        for patterns in read_declared(repository, module).values():
            for pattern in patterns:
                kind, _, name = pattern.partition(":")
                if kind == "command":
                    assert name == "{command}" or repository.find_command(name), f"{module}: {pattern}"
                elif not name:
                    assert repository.match(re.sub(r"\{\w+\}", "*", pattern)), f"{module}: {pattern}"


def test_fixtures_of_all_modules_are_asked_for_and_declared(repository: Snapshot) -> None:
    """An entry of a fixture that was renamed declares nothing; what one for all modules uses is an input of every test."""
    tree = ast.parse(repository.read(CONFTEST))
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    (table,) = [
        node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "FIXTURE_INPUTS"
    ]
    assert ast.literal_eval(table).keys() <= defined
    assert "autouse" not in {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword)}
