"""The zip for students: a folder that grades itself, tested before it is written."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from grader import answers
from grader.assignment import OVERVIEW, Assignment, AssignmentFiles, UsageError
from grader.packing.colab import NOTEBOOK_FILE, add_first_cell, extract_notebook
from grader.packing.requirements import imports_package, needs_torch, render_requirements

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

GRADER_PARTS = ("", "judge", "report", "sandbox")  # parts of the grader that students get
INSTRUCTORS_ONLY = ("__main__.py", "attempts.py", "doctor.py", "formats.py", "tripwire.py")
# Of report: no formats of platforms.
OF_PAGES = ("page.html", "page.py", "parts.html", "verdict.html")
SHOWN_TO_STUDENTS = ("__init__.py", "layout.py", "model.py", "screen.py", "terminal.py", "text.py", *OF_PAGES)
DRAFT = "draft: not proven"  # in the title of what --unproven packs
STAMP = (2020, 1, 1, 0, 0, 0)  # of zips that only programs unpack: fixed, so that the same content makes the same zip


README = """# {title}

You need Python 3.10 to 3.13. On macOS and Linux, use `python3` instead of `python` in the commands below. Run the first
command in this folder: it lists what is missing, and prints the commands that install it. On most computers, one command
is enough, the second one below{torch}.

```
python grade.py --check-install
python -m pip install -r requirements.txt
```

Fill in every place marked `YOUR CODE HERE` in {submission}, from top to bottom. Keep this running in a terminal: it
grades every save, starting with what you changed, and shows what to do next.

```
python grade.py --watch
```

More ways to look at your work:

```
python grade.py                         # everything, once
python grade.py QUESTION                # one question, or several ({first})
python grade.py -k WORD                 # checks whose name matches
python grade.py --show QUESTION         # the values that a failing check compares, as tables
python grade.py --debug QUESTION        # step through its failing cases in pdb
python grade.py --html report.html      # also as a page; with --watch, it follows every save
python grade.py --submission PATH       # another file, a notebook, a folder or a zip
```

`pytest` and the test panels of VS Code and PyCharm show the same checks (open this folder). To debug one, set a breakpoint in
{submission} and choose Debug Test: the grader gives its verdict, then the call runs again where the debugger sees it.

{notebook}A question that has not passed shows its first difference: what was expected, what your function received and
returned, your own lines of a traceback, what your code printed{hints}. All cases with their answers are in solution.json;
tests/drivers/ shows how your functions are called, and tests/visible/ shows what is compared. {visible:g} points are graded
here, {hidden:g} more after you submit.

Submit {submission}, or a notebook that defines the functions{attachments}; no other file is needed. Your code may not start
processes{workers}, use the network, or touch files outside its working folder; if it hits a limit, the report says
which.
"""
README_WIDTH = 100  # of its paragraphs


# Settings for `pytest` and the test panels of VS Code and PyCharm; `grade.py` does not read them.
PYTEST_INI = """\
# For `pytest` and the test panels of editors. Add a folder here to let them find tests of your own.
[pytest]
minversion = 8.0
testpaths = tests/visible
pythonpath = .
addopts = --import-mode=importlib
"""
VSCODE_SETTINGS = """\
{
  "python.testing.pytestEnabled": true,
  "python.testing.unittestEnabled": false
}
"""
VSCODE_LAUNCH = """\
{
  "version": "0.2.0",
  "configurations": [
    {
      "name": "Debug a check: breakpoints in your file",
      "type": "debugpy",
      "request": "launch",
      "program": "${file}",
      "purpose": ["debug-test"],
      "console": "internalConsole",
      "justMyCode": true,
      "subProcess": false,
      "rules": [
        { "path": "**/grader/**", "include": false },
        { "path": "**/tests/**", "include": false }
      ]
    }
  ]
}
"""
CONFTEST = Path(__file__).resolve().parents[2] / "tests" / "visible" / "conftest.py"
FOR_EDITORS = {
    "pytest.ini": PYTEST_INI,
    ".vscode/settings.json": VSCODE_SETTINGS,
    ".vscode/launch.json": VSCODE_LAUNCH,
}

NOTEBOOK = """\
notebook.ipynb explains the method, and tries out each function as you write it. Open it in VS Code, or run
`python -m pip install notebook`, then `python -m notebook`. After `%load_ext grader`, `%grade QUESTION` grades
your latest edit and shows the result below the cell. An edit counts once submitted.py is saved, or once its cell has run.

"""


def open_for_packing(root: Path, name: str, draft: bool) -> AssignmentFiles:
    """Return the files of an assignment; a draft has it in its title and version, which READMEs and reports show."""
    home = AssignmentFiles(root, name)
    if draft:
        marked = {"title": f"{home.assignment.title} ({DRAFT})", "version": f"{home.assignment.version}-draft"}
        home.assignment = home.assignment.model_copy(update=marked)
    return home


def release(root: Path, name: str, folder: Path, draft: bool = False, url: str = "") -> Iterator[str]:
    """Write `folder/NAME.zip`, in which the student's folder is called NAME; yield what was checked and written, line by line.

    Before it is written, it is unpacked in a new folder and graded there by its own grade.py,
    forked and spawned: the stub must get no points, the solution all.

    Args:
        draft: Whether the suite is not proven; the title then says so.
        url: Where students will find the zip. Its notebook then fetches it in Colab, and is also written next to it.

    Raises:
        UsageError: If stub or solution gets other points; nothing is written.
    """
    home = open_for_packing(root, name, draft)
    data, count = make_student_zip(home, url)
    yield from _try_out(home, data)
    yield write_zip(folder / f"{name}.zip", data, count)
    if url:
        yield extract_notebook(data, folder, name)


def make_student_zip(home: AssignmentFiles, url: str = "") -> tuple[bytes, int]:
    """Return the student's folder as a zip, and the number of its files.

    They are in a folder with the assignment's name, so that they are not mixed with other files when unpacked. Their date is
    today's, or that of SOURCE_DATE_EPOCH.
    """
    content = collect_student_files(home)
    if url:
        content[NOTEBOOK_FILE] = add_first_cell(content, home.assignment, url)
    day = time.localtime(int(os.environ.get("SOURCE_DATE_EPOCH") or time.time()))
    named = {f"{home.assignment.name}/{path}": text for path, text in content.items()}
    return make_zip(named, stamp=(*day[:3], 0, 0, 0)), len(content)


def collect_student_files(home: AssignmentFiles) -> dict[str, bytes]:
    """Return the files of the student's folder by name: the grader with visible checks, and files that help them work."""
    content = collect_grading_files(home)
    content["grade.py"] = (home.root / "grade.py").read_bytes()
    content["README.md"] = _readme(home).encode()
    content["requirements.txt"] = render_requirements(home, desk=True).encode()
    if home.notebook.is_file():
        content[NOTEBOOK_FILE] = home.notebook.read_bytes()
    content |= _collect_grader(home.root, "desk")
    content |= {name: text.encode() for name, text in FOR_EDITORS.items()}
    content["tests/visible/conftest.py"] = CONFTEST.read_bytes()
    return {key: value.replace(b"\r\n", b"\n") for key, value in sorted(content.items())}


def collect_grading_files(home: AssignmentFiles) -> dict[str, bytes]:
    """Return the files that grade with visible checks, by name. This is an allow-list: other files cannot leak."""
    assignment, root = home.assignment, home.root
    content = {
        assignment.submission: home.stub.read_bytes(),
        "assignment.toml": _render_assignment(home),
        OVERVIEW: home.answers["visible"].read_bytes(),
        f"tests/drivers/{assignment.name}.py": home.drivers.read_bytes(),
        f"tests/visible/test_{assignment.name}.py": home.checks["visible"].read_bytes(),
    }
    if home.views.is_file():
        content[f"tests/views/{assignment.name}.py"] = home.views.read_bytes()
    content |= {path.name: path.read_bytes() for path in home.support()}
    if assignment.hints.visible:
        content |= collect_mistakes_file(home, "visible")
    for part in GRADER_PARTS:
        content |= _collect_grader(root, part)
    return {key: value.replace(b"\r\n", b"\n") for key, value in sorted(content.items())}


def _render_assignment(home: AssignmentFiles) -> bytes:
    """Return assignment.toml; for a draft, with the title and version of a draft."""
    text = (home.folder / "assignment.toml").read_text(encoding="utf-8")
    for key in ("title", "version"):
        value = getattr(home.assignment, key)
        if tomllib.loads(text)[key] != value:
            line = f"{key} = {json.dumps(value, ensure_ascii=False)}".replace("\\", "\\\\")  # re.sub reads escapes
            text = re.sub(rf"^[ \t]*{key}[ \t]*=.*$", line, text, count=1, flags=re.MULTILINE)
            if tomllib.loads(text)[key] != value:
                raise UsageError(f"nothing was written: for a draft, assignment.toml must have `{key} = ...` on one line")
    return text.encode()


def _collect_grader(root: Path, part: str) -> dict[str, bytes]:
    """Return the files of one part of the grader that students get, by name."""
    content = {}
    for path in sorted((root / "grader" / part).glob("*")):
        kept = path.name in SHOWN_TO_STUDENTS if part == "report" else path.name not in INSTRUCTORS_ONLY
        if path.suffix in (".py", ".ini", ".html") and kept:
            content[path.relative_to(root).as_posix()] = path.read_bytes()
    return content


def collect_mistakes_file(home: AssignmentFiles, suite: str) -> dict[str, bytes]:
    """Return the file with the evidence of mistakes for a suite, by name; empty if none is recorded."""
    path, name = home.mistakes[suite], home.assignment.name
    if not answers.read_mistakes(path, name):
        return {}
    return {f"tests/{suite}/mistakes/{name}.json": path.read_bytes()}


def make_zip(
    content: dict[str, bytes], executable: Sequence[str] = (), stamp: tuple[int, int, int, int, int, int] = STAMP
) -> bytes:
    """Return a zip with these files, some of them executable, the same bytes for the same content and stamp."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in content.items():
            entry = zipfile.ZipInfo(name, stamp)
            entry.create_system = 3  # Unix, whatever the system: otherwise the modes are ignored
            entry.external_attr = (0o755 if name in executable else 0o644) << 16
            entry.compress_type = zipfile.ZIP_STORED if name.endswith(".whl") else zipfile.ZIP_DEFLATED
            archive.writestr(entry, text)
    return data.getvalue()


def write_zip(path: Path, data: bytes, count: int) -> str:
    """Write the zip in one step, and return a line about it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".part")
    temporary.write_bytes(data)
    os.replace(temporary, path)
    return f"wrote {path}: {count} files, {len(data) / 1024:.0f} kB"


def _readme(home: AssignmentFiles) -> str:
    assignment = home.assignment
    text = README.format(
        title=assignment.title,
        first=assignment.questions[0].id,
        hints=", and, for a known mistake, a question to ask yourself" if assignment.hints.visible else "",
        submission=assignment.submission,
        attachments=_but_attachments(assignment),
        torch="; it installs the small build of PyTorch, without CUDA" if needs_torch(home) else "",
        workers=" (use `num_workers=0` in a DataLoader)" if imports_package(home, "torch") else "",
        notebook=NOTEBOOK if home.notebook.is_file() else "",
        visible=assignment.total("visible"),
        hidden=assignment.total("hidden"),
    )
    return "\n\n".join(map(_fill, text.split("\n\n")))


def _fill(part: str) -> str:
    """Return a paragraph, wrapped; headings and code are unchanged."""
    if part.startswith(("#", "```")):
        return part
    filled = textwrap.fill(" ".join(part.split()), README_WIDTH, break_long_words=False, break_on_hyphens=False)
    return filled + "\n" * part.endswith("\n")


def _but_attachments(assignment: Assignment) -> str:
    if not assignment.attachments:
        return ""
    most = f"at most {assignment.limits.attachment_mb} MB{' each' if len(assignment.attachments) > 1 else ''}"
    return f", and, if you like, {' and '.join(assignment.attachments)} in the same folder ({most})"


def _try_out(home: AssignmentFiles, data: bytes) -> Iterator[str]:
    assignment = home.assignment
    solution = home.solution / assignment.submission
    with tempfile.TemporaryDirectory(prefix="größe mit Leerzeichen ") as temporary:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            archive.extractall(temporary)
        folder = Path(temporary, assignment.name)
        yield f"unpacked elsewhere, {_collected(folder)}"
        for level in ("", "basic"):
            for what, expected in (("stub", 0.0), ("solution", assignment.total("visible"))):
                if what == "solution":
                    shutil.copyfile(solution, folder / assignment.submission)
                else:
                    shutil.copyfile(home.stub, folder / assignment.submission)
                report = _graded(folder, level)
                found = f"the {what} gets {report['points']:g}/{report['max_points']:g} at level {report['isolation']}"
                if report["points"] != expected or not report["final"]:
                    raise UsageError(f"nothing was written: unpacked elsewhere, {found}, expected {expected:g}")
                yield f"unpacked elsewhere, {found}"


def _collected(folder: Path) -> str:
    """Return a line with what pytest collects in the folder, as a test panel would ask for it."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTEST_ADDOPTS": "", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    last = done.stdout.strip().rpartition("\n")[2]
    if done.returncode != 0:
        raise UsageError(f"nothing was written: unpacked elsewhere, pytest exits with {done.returncode}: {last} {done.stderr}")
    return f"pytest: {last}"


def _graded(folder: Path, level: str) -> dict[str, Any]:
    """Return the report that the folder's own grade.py writes about the submission in it."""
    output = folder / "report.json"
    done = subprocess.run(
        [sys.executable, "grade.py", "--json", output.name],
        cwd=folder,
        env={**os.environ, "GRADER_LEVEL": level, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise UsageError(f"nothing was written: unpacked elsewhere, grade.py exits with {done.returncode}: {done.stderr}")
    report: dict[str, Any] = json.loads(output.read_text(encoding="utf-8"))
    return report
