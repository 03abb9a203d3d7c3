"""The student zip: complete, graded by its own grade.py, and without anything that is not the student's."""

from __future__ import annotations

import subprocess
import sys
import time
import zipfile
from io import BytesIO
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell
from packaging.requirements import Requirement
from packaging.version import Version

from grader import answers
from grader.assignment import AssignmentFiles, HintVisibility, UsageError
from grader.packing import release as module
from grader.packing.colab import add_first_cell, extract_notebook
from grader.packing.package import collect_server_files
from grader.packing.release import collect_student_files, make_student_zip, release
from grader.platforms.gradescope.package import collect_autograder_files
from tests.kit.patience import PATIENCE
from tests.kit.test_notebook import ThisPython

pytestmark = pytest.mark.recorded

INPUTS = (
    "grading:policy_gradient",
    "grade.py",
    "released:grader",
    "assignments/policy_gradient/notebook.ipynb",
    "utils.py",
    "tests/visible/conftest.py",
)

ROOT = Path(__file__).resolve().parents[2]


def test_zip_is_tried_out_and_has_a_folder(tmp_path: Path) -> None:
    """What is released works where it is unpacked, forked and spawned, in a folder with spaces and an umlaut."""
    began = time.time()
    lines = list(release(ROOT, "policy_gradient", tmp_path))
    assert [line for line in lines if "pytest: 53 tests collected" in line]
    assert [line for line in lines if "the stub gets 0/63" in line and "basic" in line]
    assert [line for line in lines if "the solution gets 63/63" in line and "level basic" not in line]
    with zipfile.ZipFile(tmp_path / "policy_gradient.zip") as archive:
        assert {name.partition("/")[0] for name in archive.namelist()} == {"policy_gradient"}, "nothing falls among other files"
        assert {entry.date_time[:3] for entry in archive.infolist()} <= {time.localtime(began)[:3], time.localtime()[:3]}
        names = {name.partition("/")[2] for name in archive.namelist()}
        assert archive.testzip() is None
    written = {"submitted.py", "notebook.ipynb", "utils.py", "README.md"}
    flat = written | {"grade.py", "solution.json", "requirements.txt", "assignment.toml", "pytest.ini"}
    flat |= {".vscode/settings.json", ".vscode/launch.json"}
    assert flat | {"grader/report/page.html"} <= names
    assert all(name.startswith(("grader/", "tests/drivers/", "tests/views/", "tests/visible/")) for name in names - flat)
    assert list(tmp_path.iterdir()) == [tmp_path / "policy_gradient.zip"]


def test_zip_holds_nothing_of_solutions_or_hidden_checks(home: AssignmentFiles) -> None:
    """A line of the solution or the number of a hidden case would end the course."""
    content = collect_student_files(home)
    everything = "\n".join(value.decode() for value in content.values())
    assert not any(word in name for name in content for word in ("hidden", "authoring", "packing", "proof", "__main__"))
    for line in (ROOT / "tests" / "hidden" / "test_policy_gradient.py").read_text().splitlines():
        if line.startswith("def test_"):
            assert line not in everything
    for case in answers.read_answers(home.answers["hidden"], "policy_gradient").cases:
        assert case not in everything
    stub = home.stub.read_text().splitlines()
    for line in (home.solution / "submitted.py").read_text().splitlines():
        if len(line.strip()) > 25 and line not in stub:
            assert line.strip() not in everything, line


def test_same_content_and_day_make_the_same_bytes(home: AssignmentFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    """A zip that changes without reason cannot be compared with the one handed out."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    first = make_student_zip(home)
    assert first == make_student_zip(home)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1800000000")
    assert first != make_student_zip(home)


def test_one_command_installs_all_of_it(home: AssignmentFiles) -> None:
    """Catches: gigabytes of CUDA, or a second command that keeps them away; a server takes its own index (setup.sh)."""
    lines = collect_student_files(home)["requirements.txt"].decode().splitlines()
    assert lines[0] == "--extra-index-url https://download.pytorch.org/whl/cpu"
    torch = Requirement(next(line for line in lines if line.startswith("torch")))
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = next(line for line in pins if line.startswith("torch==")).removeprefix("torch==")
    assert torch.specifier.contains(f"{pinned}+cpu")
    assert Version(f"{pinned}+cpu") > Version(pinned), "which is why pip prefers it"
    assert not [line for line in collect_server_files(home)["requirements.txt"].decode().splitlines() if line.startswith("-")]


def test_the_notebook_fetches_the_rest_in_colab(home: AssignmentFiles, tmp_path: Path) -> None:
    """Catches: a notebook that stops in its first cell in Colab, a pip that replaces Colab's kernel, saved work overwritten."""
    site, drive = tmp_path / "site", tmp_path / "content"
    for folder in (site, drive):
        folder.mkdir()
    url = (site / "policy_gradient.zip").as_uri()
    data = make_student_zip(home, url)[0]
    (site / "policy_gradient.zip").write_bytes(data)
    extract_notebook(data, drive, "policy_gradient")
    notebook = nbformat.read(drive / "policy_gradient.ipynb", as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    fetching = notebook.cells[0]
    assert max(map(len, fetching.source.splitlines())) <= 100
    assert "ipykernel" not in fetching.source
    assert "torch>=" not in fetching.source, "Colab's own version must do"
    fake = (
        "import subprocess, sys, types; sys.modules['google.colab'] = types.ModuleType('google.colab')\n"
        "real = subprocess.run  # matplotlib calls it, too, where it looks for fonts for the first time\n"
        "subprocess.run = lambda command, **options: print(*command[1:]) if 'pip' in command else real(command, **options)"
    )
    setup = next(cell for cell in notebook.cells if cell.id == "setup")
    kept = (
        "import pathlib, os; here = pathlib.Path('submitted.py'); here.write_text(here.read_text() + '# mine'); os.chdir('..')"
    )
    cells = [new_code_cell(fake), fetching, setup, new_code_cell("%grade get_returns"), new_code_cell(kept), fetching]
    cells = [nbformat.from_dict({**cell, "id": f"cell-{at}"}) for at, cell in enumerate(cells)]
    notebook.cells = [*cells, new_code_cell("print(pathlib.Path('submitted.py').read_text())", id="cell-6")]
    NotebookClient(
        notebook, timeout=PATIENCE, kernel_manager_class=ThisPython, resources={"metadata": {"path": str(drive)}}
    ).execute()
    shown = [str(cell.get("outputs")) for cell in notebook.cells]
    assert "-m pip install -q torch numpy gymnasium" in shown[1]
    assert "get_returns  0/6  not started" in shown[3]
    assert "# mine" in shown[6]


def test_elsewhere_the_first_cell_does_nothing(home: AssignmentFiles, tmp_path: Path) -> None:
    """Catches: a fetched copy inside the folder of a student who opens the notebook in JupyterLab."""
    content = collect_student_files(home)
    notebook = nbformat.reads(add_first_cell(content, home.assignment, "https://x.example/a.zip").decode(), as_version=4)
    subprocess.run([sys.executable, "-c", notebook.cells[0].source], cwd=tmp_path, check=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("url", ["out/policy_gradient.zip", "https://x.example", "https://x.example/a b.zip", 'file:///a".zip'])
def test_an_url_that_cannot_be_fetched_is_refused(home: AssignmentFiles, url: str) -> None:
    """Catches: a released notebook that fails, or is not valid Python, in every student's first cell."""
    with pytest.raises(UsageError, match="expected the address of the zip"):
        make_student_zip(home, url)


def test_readme_is_one_screen(home: AssignmentFiles) -> None:
    """Catches: a text that grows until nobody reads it, or that a terminal breaks."""
    lines = collect_student_files(home)["README.md"].decode().splitlines()
    assert len(lines) <= 50
    assert max(map(len, lines)) <= 110
    assert "(use `num_workers=0` in a DataLoader)" in " ".join(lines)
    first = next(line for line in lines if line.startswith("python"))
    assert first == "python grade.py --check-install", "it needs no package, and prints the commands for this Python"
    assert "`python3`" in " ".join(lines[: lines.index(first)]), "most Macs, Debian and Ubuntu have no `python`"


def test_readme_installs_for_the_python_that_grades(home: AssignmentFiles) -> None:
    """Catches: a bare `pip` or `jupyter`, which may belong to another Python."""
    text = collect_student_files(home)["README.md"].decode()
    assert text.count("pip install") == text.count("python -m pip install") == 2
    assert "python -m notebook" in " ".join(text.split())
    assert "jupyter" not in text


def test_nothing_is_written_when_the_trial_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken zip must not reach students."""
    whole = collect_student_files

    def without_utils(home: AssignmentFiles) -> dict[str, bytes]:
        return {name: text for name, text in whole(home).items() if name != "utils.py"}

    monkeypatch.setattr(module, "collect_student_files", without_utils)
    with pytest.raises(UsageError, match="nothing was written"):
        list(release(ROOT, "policy_gradient", tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_students_get_hints_where_they_are_allowed(home: AssignmentFiles, tmp_path: Path, replaced) -> None:
    """The record of visible mistakes goes along and works in the folder; an instructor can keep it back."""
    with zipfile.ZipFile(BytesIO(make_student_zip(home)[0])) as archive:
        archive.extractall(tmp_path)
    wrong = replaced(get_value_net_loss="return ((value_net(observation) - returns) ** 2).sum()")
    output = tmp_path / "report.html"
    command = [sys.executable, "grade.py", "get_value_net_loss", "--submission", str(wrong), "--html", str(output)]
    done = subprocess.run(command, cwd=tmp_path / "policy_gradient", capture_output=True, text=True, check=True)
    for told in (done.stdout, output.read_text(encoding="utf-8")):
        assert "Ask yourself: Does the formula contain a sum or a mean over the rows?" in told

    silent = AssignmentFiles(home.root, "policy_gradient")
    silent.assignment = home.assignment.model_copy(update={"hints": HintVisibility(visible=False)})
    assert "tests/visible/mistakes/policy_gradient.json" in collect_student_files(home)
    assert "tests/visible/mistakes/policy_gradient.json" not in collect_student_files(silent)
    assert {"tests/visible/mistakes/policy_gradient.json", "tests/hidden/mistakes/policy_gradient.json"} <= set(
        collect_autograder_files(home)
    )
