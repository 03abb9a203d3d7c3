"""The rules of the house: who may import what, and what the judge never loads."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit.inputs import imports

INPUTS = {
    "test_parts_know_only_what_they_may": ("grader/{part}/**",),
    "test_fingerprints_stand_below_all_that_use_them": (
        "grader/fingerprints.py",
        "grader/hashing.py",
        "grader/reachable_code.py",
    ),
    "test_imports_are_absolute": ("grader/**",),
    "test_nothing_imports_what_authors_need_but_the_command_line": ("grader/**",),
    "test_nothing_imports_the_desk_but_the_command_line": ("grader/**",),
    "test_the_magic_knows_nothing_of_the_judge": ("grader/desk/magic.py",),
    "test_no_modules_import_each_other": ("grader/**",),
    "test_long_modules_have_a_reason": ("grader/**", "text:grader/**", "docs/architecture.md"),
    "test_checks_import_nothing_of_the_students": ("tests/visible/*.py", "tests/hidden/*.py", "tests/views/*.py"),
    "test_judge_process_never_loads_torch_or_student_code": ("grader/judge/run.py", "grading:policy_gradient"),
    "test_no_absolute_paths_are_tracked": ("**",),
    "test_records_are_small": ("tests/proof/*.jsonl",),
    "test_ci_runs_make_test": (".ci/run",),
    "test_make_verify_runs_every_proof_that_contributing_lists": ("Makefile", "CONTRIBUTING.md"),
}
ROOT = Path(__file__).resolve().parents[2]
LONG = 350  # lines
OF_AUTHORS = ("grader.authoring", "grader.packing", "grader.proof")
STUDENT_SIDE = ("utils", "submitted", "drivers", "solutions", "tests.drivers", "views")
FORBIDDEN = {
    "judge": ("torch", *OF_AUTHORS, *STUDENT_SIDE),
    "report": ("torch", *OF_AUTHORS, "grader.judge", *STUDENT_SIDE),
    "desk": ("torch", *OF_AUTHORS, *STUDENT_SIDE),
    "course": ("torch", *OF_AUTHORS, *STUDENT_SIDE),
    "platforms": ("torch", "grader.course", "grader.desk", *STUDENT_SIDE),
    "sandbox": ("grader.judge", "grader.answers", "grader.report", *OF_AUTHORS, *STUDENT_SIDE),
}


@pytest.mark.parametrize("part", sorted(FORBIDDEN))
def test_parts_know_only_what_they_may(part: str) -> None:
    """A judge that imports torch or student code, or a sandbox that can reach answers, breaks the one idea."""
    for path in (ROOT / "grader" / part).glob("**/*.py"):
        for name in imports(path):
            for forbidden in FORBIDDEN[part]:
                assert name != forbidden, f"{path.name} imports {name}"
                assert not name.startswith(f"{forbidden}."), f"{path.name} imports {name}"


def test_fingerprints_stand_below_all_that_use_them() -> None:
    """A class and a proof hash the same things; if either were needed for it, the other would depend on it."""
    modules = ("fingerprints", "hashing", "reachable_code")
    found = {name for module in modules for name in imports(ROOT / "grader" / f"{module}.py") if name.startswith("grader.")}
    assert {name.split(".")[1] for name in found} <= {"answers", "assignment", "sandbox", *modules}
    assert all(name.startswith("grader.sandbox.definitions") for name in found if name.startswith("grader.sandbox"))


def test_imports_are_absolute() -> None:
    """A relative import would be overlooked by the rules."""
    for path in (ROOT / "grader").glob("**/*.py"):
        assert not any(name.startswith(".") for name in imports(path)), path


def test_nothing_imports_what_authors_need_but_the_command_line() -> None:
    """What is only needed to make an assignment must not be needed to grade one."""
    for path in (ROOT / "grader").glob("**/*.py"):
        is_package = path.parents[1] == ROOT / "grader" / "platforms" and path.name == "package.py"
        is_command = path.parent.name == "commands"
        is_theirs = f"grader.{path.relative_to(ROOT / 'grader').parts[0]}" in OF_AUTHORS
        if not (is_theirs or is_command or is_package):
            assert not any(name.startswith(OF_AUTHORS) for name in imports(path)), path


def test_nothing_imports_the_desk_but_the_command_line() -> None:
    """Code that runs a submission in its own process must be out of reach of whatever gives points."""
    for path in (ROOT / "grader").glob("**/*.py"):
        desks = {name for name in imports(path) if name.startswith("grader.desk")}
        if path == ROOT / "grader" / "__init__.py":  # `%load_ext grader` asks the package for its magics, and nothing else does
            assert {name.split(".")[2] for name in desks} == {"magic"}
        elif path.parent.name != "desk" and path != ROOT / "grader" / "student.py":
            assert not desks, path


def test_the_magic_knows_nothing_of_the_judge() -> None:
    """A kernel runs the student's code in its own process: of a grader it may hold a pipe and what comes out of it."""
    in_kernel = ("magic", "reloading", "latest_edits")
    for module in in_kernel:
        names = {name for name in imports(ROOT / "grader" / "desk" / f"{module}.py") if name.startswith("grader")}
        assert {".".join(name.split(".")[:3]) for name in names} <= {
            "grader.desk",
            "grader.sandbox.definitions",  # which definitions a source has: it reads text
            *(f"grader.desk.{one}" for one in in_kernel),
        }


def test_no_modules_import_each_other() -> None:
    """Two modules that need each other, be it for types, can be understood, moved and tested only together."""
    paths = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path
        for path in (ROOT / "grader").glob("**/*.py")
        if path.name != "__init__.py" and "example" not in path.parts
    }
    left = {name: imports(path) & (paths.keys() - {name}) for name, path in paths.items()}
    while done := {name for name, needed in left.items() if not needed & left.keys()}:
        left = {name: needed for name, needed in left.items() if name not in done}
    assert not left, f"some of these import each other: {', '.join(sorted(left))}"


def test_checks_import_nothing_of_the_students() -> None:
    """A check runs in the judge: it imports the judge, its assignment's views, NumPy and the standard library."""
    tests = ROOT / "tests"
    allowed = {"grader", "numpy", "views", *sys.stdlib_module_names}
    for path in (*tests.glob("visible/*.py"), *tests.glob("hidden/*.py"), *tests.glob("views/*.py")):
        assert {name.partition(".")[0] for name in imports(path)} <= allowed, path


def test_long_modules_have_a_reason() -> None:
    """A module that has grown beyond a few screens, without anybody saying why it is one, holds two ideas by now."""
    reasons = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").partition("## Modules above")[2]
    for path in sorted((ROOT / "grader").glob("**/*.py")):
        if len(path.read_text(encoding="utf-8").splitlines()) > LONG:
            names = path.relative_to(ROOT / "grader").as_posix(), path.name
            assert any(f"`{name}`" in reasons for name in names), f"{names[0]}: docs/architecture.md gives no reason"


def test_judge_process_never_loads_torch_or_student_code(tmp_path: Path) -> None:
    """What the import rules say must be true of a whole run as well."""
    script = (
        "import sys, json; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\n"
        "from grader.assignment import AssignmentFiles\n"
        "from grader.judge.run import GradingOptions, grade\n"
        "home = AssignmentFiles(Path(sys.argv[1]), 'policy_gradient')\n"
        "asked = GradingOptions(['get_returns', 'collect_rollouts'])\n"
        "report = grade(home, home.solution, ('visible', 'hidden'), asked)\n"
        "print(json.dumps([report.points, sorted(sys.modules)]))\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(ROOT)], cwd=tmp_path, capture_output=True, text=True, check=True)
    points, modules = json.loads(done.stdout)
    assert points == 20
    for name in ("torch", "gymnasium", "utils", "submitted", "drivers", "matplotlib"):
        assert name not in modules


def test_records_are_small() -> None:
    """Every commit of records adds as much to each clone again."""
    assert sum(path.stat().st_size for path in (ROOT / "tests" / "proof").glob("*.jsonl")) <= 500_000


def test_ci_runs_make_test() -> None:
    """What CI runs must be what everybody runs before a push."""
    assert (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()[-1] == "exec make test"


def test_make_verify_runs_every_proof_that_contributing_lists() -> None:
    """A proof that nothing runs stays green for ever."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.partition("| what is tested | command |\n")[2].partition("\n\n")[0]
    listed = set(re.findall(r"pytest -m (\w+)|python -m (grader) verify NAME|make (\w+)", table))
    recipes = dict(re.findall(r"^(\w+):.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert "$(RUN) -m grader verify\n" in recipes["verify"]
    for marker, _, target in listed:
        assert not marker or re.search(rf"-m .*\b{marker}\b", recipes["verify"]), f"make verify does not run pytest -m {marker}"
        assert not target or target in recipes, f"there is no make {target}"
    assert {marker for marker, _, _ in listed} >= {"attack", "oracle", "hypothesis", "sampled"}


def test_no_absolute_paths_are_tracked() -> None:
    """A path of one machine works on no other."""
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert tracked
    for name in tracked:
        if name.endswith((".py", ".toml", ".json", ".md", "Makefile")) and Path(ROOT / name).is_file():
            text = (ROOT / name).read_text(encoding="utf-8")
            assert "/home/" + "user" not in text, name
            assert str(ROOT) + "/" not in text, name
