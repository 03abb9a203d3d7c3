"""The student zip: a folder that grades itself, tried out before it is written."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from grader import answers
from grader.assignment import OVERVIEW, Assignment, AssignmentFiles, UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

GRADER_PARTS = ("", "judge", "report", "sandbox")  # what a grader consists of that is given away
INSTRUCTORS_ONLY = ("__main__.py", "attempts.py", "doctor.py", "formats.py", "tripwire.py")
OF_PAGES = ("page.html", "page.py", "parts.html", "verdict.html")
SHOWN_TO_STUDENTS = ("__init__.py", "model.py", "terminal.py", "text.py", *OF_PAGES)  # of report; no platform's
STAMP = (2020, 1, 1, 0, 0, 0)  # of what no person unpacks: fixed, so that the same content makes the same zip

README = """# {title}

```
pip install -r requirements.txt
python grade.py
```

(On Linux pip takes PyTorch with CUDA, some gigabytes. `pip install torch==2.13.0 --index-url
https://download.pytorch.org/whl/cpu` before the first command takes the small build, which is all you need.)

Fill in every place marked `YOUR CODE HERE` in {submission}, from top to bottom. Keep this running in a terminal beside it: it
grades every save, what you changed first, and says what to do next.

```
python grade.py --watch
```

More ways to look at your work:

```
python grade.py                         # everything, once
python grade.py QUESTION                # one question, or several ({first})
python grade.py -k WORD                 # checks whose name contains a word
python grade.py --show QUESTION         # what a failing check compares, as tables
python grade.py --debug QUESTION        # step through its case in pdb
python grade.py --html report.html      # also as a page; with --watch, it follows every save
python grade.py --json report.json      # also as a file
python grade.py --submission PATH       # another file, a notebook, a folder or a zip
python grade.py --check-install         # what is missing of requirements.txt
```

{notebook}Each question that has not passed shows its first difference: what was expected, what your function received and
returned, your own lines of a traceback, what your code printed{hints}. *Not started* means that
a function is still as you got it; *not run*, that other questions must pass first.

If the instructions confuse you, look into solution.json: all cases of this folder with their answers. tests/drivers/ shows how
your functions are called, tests/visible/ what is compared. {visible:g} points are graded here, {hidden:g} more after you hand
in. You hand in {submission}, or a notebook that defines the functions, and nothing else{attachments}. Python 3.10 to 3.13.

Your code may not start processes (so num_workers=0), use the network, or touch files outside its working folder. If it meets a
limit, the report says which.
"""


NOTEBOOK = """\
notebook.ipynb explains the method, tries out each function as you write it, and trains. It opens in VS Code; for a browser,
`pip install notebook`, then `jupyter notebook`. After `%load_ext grader`, `%grade QUESTION` grades there: the cells that you
ran, and for the rest the saved file. You may also define the functions in a notebook and hand that in: it is graded by what it
defines.

"""


def release(root: Path, name: str, folder: Path) -> Iterator[str]:
    """Write `folder/NAME.zip`, in which the student's folder is called NAME; yield what was checked and written, line by line.

    Before it is written it is unpacked in a fresh place and graded there by its own grade.py,
    forked and spawned: the stub must get nothing, the solution everything.

    Raises:
        UsageError: If stub or solution gets other points; nothing is written.
    """
    home = AssignmentFiles(root, name)
    data, count = make_student_zip(home)
    yield from _try_out(home, data)
    yield write_zip(folder / f"{name}.zip", data, count)


def make_student_zip(home: AssignmentFiles) -> tuple[bytes, int]:
    """Return the student's folder as a zip, and how many files it holds.

    They lie in a folder of the assignment's name, so that unpacking them puts nothing among other files. Their date is today's,
    or that of SOURCE_DATE_EPOCH.
    """
    content = collect_student_files(home)
    day = time.localtime(int(os.environ.get("SOURCE_DATE_EPOCH") or time.time()))
    named = {f"{home.assignment.name}/{path}": text for path, text in content.items()}
    return make_zip(named, stamp=(*day[:3], 0, 0, 0)), len(content)


def collect_student_files(home: AssignmentFiles) -> dict[str, bytes]:
    """Return the content of the student's folder by name: what grades with visible checks, and what helps them to work."""
    content = collect_grading_files(home)
    content["grade.py"] = (home.root / "grade.py").read_bytes()
    content["README.md"] = _readme(home).encode()
    content["requirements.txt"] = render_requirements(home, desk=True).encode()
    if home.notebook.is_file():
        content["notebook.ipynb"] = home.notebook.read_bytes()
    content |= _collect_grader(home.root, "desk")
    return {key: value.replace(b"\r\n", b"\n") for key, value in sorted(content.items())}


def collect_grading_files(home: AssignmentFiles) -> dict[str, bytes]:
    """Return by name what grades with visible checks. An allow-list: what is not named here cannot leak."""
    assignment, root = home.assignment, home.root
    content = {
        assignment.submission: home.stub.read_bytes(),
        "assignment.toml": (home.folder / "assignment.toml").read_bytes(),
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


def _collect_grader(root: Path, part: str) -> dict[str, bytes]:
    """Return by name the files of a part of the grader that are given away."""
    content = {}
    for path in sorted((root / "grader" / part).glob("*")):
        kept = path.name in SHOWN_TO_STUDENTS if part == "report" else path.name not in INSTRUCTORS_ONLY
        if path.suffix in (".py", ".ini", ".html") and kept:
            content[path.relative_to(root).as_posix()] = path.read_bytes()
    return content


def collect_mistakes_file(home: AssignmentFiles, suite: str) -> dict[str, bytes]:
    """Return the file of what mistakes show to the checks of a suite, by name; nothing when none are recorded."""
    path, name = home.mistakes[suite], home.assignment.name
    if not answers.read_mistakes(path, name):
        return {}
    return {f"tests/{suite}/mistakes/{name}.json": path.read_bytes()}


def render_requirements(home: AssignmentFiles, desk: bool) -> str:
    """Return requirements.txt: what pyproject.toml and the assignment say that grading needs, with `desk` a student's desk."""
    project = tomllib.loads((home.root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    desks = project["optional-dependencies"]["desk"] if desk else []
    return "\n".join([*project["dependencies"], *home.assignment.requirements, *desks]) + "\n"


def make_zip(
    content: dict[str, bytes], executable: Sequence[str] = (), stamp: tuple[int, int, int, int, int, int] = STAMP
) -> bytes:
    """Return a zip with these files, some of them executable, the same bytes for the same content and stamp."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in content.items():
            entry = zipfile.ZipInfo(name, stamp)
            entry.create_system = 3  # Unix, on whatever system it is made: or the modes do not count
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
    return README.format(
        title=assignment.title,
        first=assignment.questions[0].id,
        hints=", and a question to ask yourself where the mistake is a known one" if assignment.hints.visible else "",
        submission=assignment.submission,
        attachments=_but_attachments(assignment),
        notebook=NOTEBOOK if home.notebook.is_file() else "",
        visible=assignment.total("visible"),
        hidden=assignment.total("hidden"),
    )


def _but_attachments(assignment: Assignment) -> str:
    if not assignment.attachments:
        return ""
    most = f"at most {assignment.limits.attachment_mb} MB{' each' if len(assignment.attachments) > 1 else ''}"
    return f" but, if you like,\n{' and '.join(assignment.attachments)} in the same folder ({most})"


def _try_out(home: AssignmentFiles, data: bytes) -> Iterator[str]:
    assignment = home.assignment
    solution = home.solution / assignment.submission
    with tempfile.TemporaryDirectory(prefix="größe mit Leerzeichen ") as temporary:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            archive.extractall(temporary)
        folder = Path(temporary, assignment.name)
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


def _graded(folder: Path, level: str) -> dict[str, Any]:
    """Return the report that the folder's own grade.py makes of the submission in it."""
    output = folder / "report.json"
    done = subprocess.run(
        [sys.executable, "grade.py", "--json", output.name],
        cwd=folder,
        env={**os.environ, "GRADER_LEVEL": level, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise UsageError(f"nothing was written: unpacked elsewhere, grade.py ends with {done.returncode}: {done.stderr}")
    report: dict[str, Any] = json.loads(output.read_text(encoding="utf-8"))
    return report
