"""Records of trials: which changes make one fall, who finds a wrong one, and that nothing else is tried again."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from grader import answers, fingerprints, hashing
from grader.assignment import SUITES, AssignmentFiles, list_assignments
from grader.authoring.build import BuildOptions, build
from grader.authoring.stub import make_stub
from grader.judge.run import Grader
from grader.proof import records
from grader.proof.catalogue import load_catalogue
from grader.proof.records import Record, RecordKeys, Records
from grader.proof.reply_cache import ReplyStore
from grader.proof.trials import Trial, TrialTask, keep_replies, run_task, try_variant
from grader.proof.verify import ProofOptions, verify
from grader.sandbox.definitions import hash_functions
from grader.sandbox.entered import IMPORTED
from grader.sandbox.forked import ForkedSandbox
from grader.sandbox.reply import Reply

pytestmark = pytest.mark.recorded

INPUTS = {
    "*": ("grader/course/policy.py", "grader/judge/**", "grader/sandbox/**"),
    "test_a_question_does_not_depend_on_the_whole_file": ("grading:{name}",),
}

ROOT = Path(__file__).resolve().parents[2]
KIT = Path(hashing.__file__).parent
RECORDS = "tests/proof/toy.jsonl"
TOTAL, SPREAD, BOTH = (frozenset({name}) for name in ("total", "spread", "both"))


@pytest.fixture(scope="module")
def proven_toy(built_toy: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy in a repository of its own, with the records that `verify --all` writes; to be copied, not changed."""
    root = Path(shutil.copytree(built_toy, tmp_path_factory.mktemp("proven") / "toy"))
    add_to_drivers(root, "FACTOR = 2\n", "\n\ndef unused(submitted):\n    return {}\n")
    # No other driver names this one, as `together` names `total`.
    edit(
        root / DRIVERS,
        "def spread(submitted, values, scale=None):",
        "def stretched(submitted, values, scale=None):\n    FACTOR",
    )
    for _ in SUITES:
        edit(root / "solutions/toy/cases.py", '@case("spread"', '@case("stretched"')
    build(root, "toy")
    git(root, "init", "--quiet")
    commit(root, "a toy")
    assert [line for line, fault in verify(root, "toy", ProofOptions(anew=True)) if fault] == []
    *most, last = (root / RECORDS).read_text(encoding="utf-8").splitlines()[1:]
    store(root, most)
    commit(root, "records of it")
    store(root, [*most, last])
    commit(root, "one more, that trains: nothing is new that would be tried")
    return root


@pytest.fixture
def toy(proven_toy: Path, tmp_path: Path) -> Path:
    """A copy of it, to be changed."""
    return Path(shutil.copytree(proven_toy, tmp_path / "toy"))


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Fill with the ids of the trials that run."""
    ran: list[str] = []
    real = records.TrialRunner.start

    def start(self: records.TrialRunner, task: TrialTask) -> None:
        if not self.believes(task):
            ran.append(task.id)
        real(self, task)

    monkeypatch.setattr(records.TrialRunner, "start", start)
    return ran


@pytest.fixture
def kit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the kit that hashes are made of, to be changed; it is not the one that runs."""
    copy = tmp_path / "grader"
    for part in (*hashing.DECIDES, *records.DECIDES, "course/policy.py"):
        for path in sorted((KIT / part).glob("**/*.py")) or [KIT / part]:
            place = copy / path.relative_to(KIT)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)
    monkeypatch.setattr(hashing, "KIT", copy)
    monkeypatch.setattr(hashing, "VIEWS", copy / "judge" / "views.py")
    monkeypatch.setattr(hashing, "FACTS", copy / "sandbox" / "facts.py")
    return copy


def git(root: Path, *arguments: str) -> None:
    author = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org")
    subprocess.run(["git", *author, *arguments], cwd=root, check=True, stdout=subprocess.DEVNULL)


def commit(root: Path, subject: str) -> None:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", subject)


def add_to_drivers(root: Path, before: str, after: str = "") -> None:
    path = root / "tests" / "drivers" / "toy.py"
    path.write_text(before + path.read_text(encoding="utf-8") + after, encoding="utf-8")


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text, old
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


SUBMISSION = """\
import utils

LIMIT = 1


def total(values):
    return helper(values)


def helper(values):
    return LIMIT


def spread(values, scale=1.0):
    return 0.0
"""


def keys(root: Path, submission: str = SUBMISSION) -> dict[str, str]:
    """Return the keys of a trial on each question, and of one on all."""
    home = AssignmentFiles(root, "toy")
    tasks = {"total": TOTAL, "spread": SPREAD, "both": BOTH, "all": TOTAL | SPREAD | BOTH}
    found = RecordKeys(home, {suite: answers.read_mistakes(home.mistakes[suite], "toy") for suite in SUITES})
    return {name: found.of(TrialTask("mistake m", submission, questions)) for name, questions in tasks.items()}


def fallen(root: Path, change: Callable[[], object]) -> set[str]:
    """Return of which trials the keys are others after a change."""
    before = keys(root)
    change()
    after = keys(root)
    return {name for name in before if before[name] != after[name]}


def tried(root: Path, **options) -> tuple[int, int, int, int]:
    """Return how many trials had no record, a later one, a new one, or were drawn by chance; all where no record fits."""
    lines = [line for line, _ in verify(root, "toy", ProofOptions(**options))]
    (found,) = [line for line in lines if line.startswith("tried: ")] or [f"tried: {len(entries(root))}, 0, 0, 0"]
    without, later, new, drawn = map(int, re.findall(r"[:,] (\d+)", found))
    return without, later, new, drawn


def entries(root: Path) -> list[list]:
    return [json.loads(line) for line in (root / RECORDS).read_text(encoding="utf-8").splitlines()[1:]]


def store(root: Path, lines: list[str]) -> None:
    """Write records with the digest that belongs to them."""
    head = re.sub(r'"digest": "\w+"', f'"digest": "{hashing.hash_parts(lines)}"', read_head(root))
    (root / RECORDS).write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")


def read_head(root: Path) -> str:
    return (root / RECORDS).read_text(encoding="utf-8").partition("\n")[0]


def forge(root: Path, trial: str, old: str, new: str) -> None:
    """Change what the record of a trial says, and the digest."""
    lines = (root / RECORDS).read_text(encoding="utf-8").splitlines()[1:]
    (place,) = [number for number, line in enumerate(lines) if line.startswith(f'["{trial}"')]
    assert old in lines[place]
    lines[place] = lines[place].replace(old, new, 1)
    store(root, lines)


def faults(root: Path, **options) -> list[str]:
    return [line for line, fault in verify(root, "toy", ProofOptions(**options)) if fault]


def test_nothing_is_tried_twice_but_a_sample(toy: Path) -> None:
    """Catches: records that are written and not believed, or a proof that believes all of them."""
    count = len(entries(toy))
    assert count > 20
    lines = [line for line, _ in verify(toy, "toy")]
    assert any(
        line.startswith(f"tried: 0 without a record, 0 with a changed one, 0 of 0 with a new one, {-(-count // 20)} ")
        for line in lines
    )
    assert not any(line.startswith("git shows no earlier version") for line in lines)


def test_each_run_draws_another_sample_and_a_seed_repeats_it(
    toy: Path, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches: a sample that is the same every time, so that a wrong record outside of it is never found."""
    monkeypatch.setattr(records, "SHARE", 0.5)

    def draw(seed: int | None) -> tuple[set[str], int]:
        started.clear()
        (seeds,) = [
            found
            for line, _ in verify(toy, "toy", ProofOptions(quick=True, sample=seed))
            if (found := re.findall(r"--sample (\d+)", line))
        ]
        return set(started), int(seeds[0])

    samples = [draw(None) for _ in range(4)]
    assert len({frozenset(sample) for sample, _ in samples}) > 1
    assert draw(samples[0][1]) == samples[0]


def test_solution_stub_and_whole_agent_run_where_all_records_are_believed(
    toy: Path, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches: a proof that believes records alone, and does not notice that the solution fails on this machine."""
    ran: list[tuple[str, set[str] | None]] = []

    def note(grader: Grader, submission: str, select: set[str] | None, **options: Any) -> Trial:
        ran.append((submission, select))
        return try_variant(grader, submission, select, **options)

    monkeypatch.setattr("grader.proof.verify.try_variant", note)
    monkeypatch.setattr(records, "SHARE", 0.0)
    assert faults(toy) == []
    assert started == []
    home = AssignmentFiles(toy, "toy")
    solution = (home.solution / "submitted.py").read_text(encoding="utf-8")
    (hopeless,) = [variant for variant in load_catalogue(home, "mistakes") if not variant.learns]
    assert ran == [(solution, None), (make_stub(solution, home.assignment), None), (hopeless.submission, {"both"})]


def test_new_records_are_tried_unless_they_train(toy: Path, started: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: a forged record among those of the last commit that nobody tries, or a fresh clone that trains every agent."""
    shutil.rmtree(toy / ".git")
    monkeypatch.setattr(records, "SHARE", 0.0)
    monkeypatch.setattr(records, "FRESH", 1000)
    assert tried(toy)[:2] == (0, 0)
    names = {Record.read(json.dumps(entry)).trial for entry in entries(toy)}
    assert names - set(started) == {"training spread_by_sorting", "training total_by_reducing"}


@pytest.mark.parametrize("shallow", [True, False], ids=["shallow clone", "no git"])
def test_a_file_that_cannot_be_compared_is_told(toy: Path, tmp_path: Path, shallow: bool) -> None:
    """Catches: a clone of CI in which nobody notices that records were not compared with what was committed before."""
    if shallow:
        git(tmp_path, "clone", "--quiet", "--depth", "1", toy.as_uri(), "clone")
        toy = tmp_path / "clone"
    else:
        shutil.rmtree(toy / ".git")
    told = "git shows no earlier version of tests/proof/toy.jsonl to compare it with (is this a shallow clone?)"
    found = list(verify(toy, "toy"))
    assert (told, None) in found
    assert any(f", {records.FRESH} of " in line for line, _ in found if line.startswith("tried: "))


def test_records_that_all_were_changed_are_counted(toy: Path) -> None:
    """Catches: a proof that runs every trial, and does not say why."""
    shutil.rmtree(toy / ".git")
    (toy / RECORDS).write_text(
        (toy / RECORDS).read_text(encoding="utf-8").replace('"digest": "', '"digest": "0'), encoding="utf-8"
    )
    assert tried(toy) == (0, len(entries(toy)), 0, 0)


DRIVERS, VIEWS, VISIBLE = "tests/drivers/toy.py", "tests/views/toy.py", "tests/visible/test_toy.py"
TOML = "assignments/toy/assignment.toml"


@pytest.mark.parametrize(
    ("name", "old", "new", "trials"),
    [
        (DRIVERS, "FACTOR = 2", "FACTOR = 3", {"spread"}),
        (DRIVERS, "return {}", "return {1: 1}", set()),
        (VIEWS, 'only("spread")', 'only("spread", "spread")', {"spread"}),
        (VIEWS, "return {}", "return facts", set()),
        (VIEWS, "from grader", "import antigravity\nfrom grader", {"total", "spread", "both"}),
        (VISIBLE, '"three_values"', '"three_values", rtol=1.0', {"total"}),
        (VISIBLE, '"""From -2', '"""From - 2', set()),
        ("tests/hidden/test_toy.py", 'points(1, question="spread")', 'points(2, question="spread")', {"spread"}),
        ("tests/visible/answers/toy.json", '"answer": {"total": 3.5}', '"answer": {"total": 3.6}', {"total"}),
        ("tests/visible/answers/toy.json", '"values": [1.5,-2.0,4.0]}', '"values": [1.5,-2.0,5.0]}', {"total"}),
        ("tests/hidden/answers/toy.json", '"driver": "stretched"', '"driver": "spread"', {"spread"}),
        (TOML, 'needs = ["total", "spread"]', 'needs = ["total"]', {"both"}),
        (TOML, 'title = "Sums and spreads"', 'title = "Sums"', set()),
    ],
)
def test_a_change_makes_the_records_fall_that_it_can_change(toy: Path, name: str, old: str, new: str, trials: set[str]) -> None:
    """Catches: a key without one of the things that decide, or with something that decides nothing."""
    assert fallen(toy, lambda: edit(toy / name, old, new)) == trials | ({"all"} if trials else set())


@pytest.mark.parametrize(
    "before",
    [
        "import json\njson.dumps = None\n",
        "import math\nsetattr(math, 'pi', 3)\n",
        "import os\nos.environ['X'] = '1'\n",
        "import antigravity\n",
        "for _ in range(3):\n    print()\n",
        "class A:\n    import random\n    random.seed(1)\n",
        "from functools import wraps\n@print\ndef f():\n    pass\n",
        "def f(x=print()):\n    pass\n",
        "X = print()\n",
        "import json\njson.x, y = 1, 2\n",
        "import json\ndel json.dumps\n",
        "try:\n    import antigravity\nexcept ImportError:\n    pass\n",
        "if True:\n    def helper():\n        return 1\n",
        "import functools\nfunctools.update_wrapper(print, len)\n",
    ],
)
def test_what_runs_when_drivers_are_imported_decides_about_all(toy: Path, before: str) -> None:
    """Catches: a patch at the top of the drivers, which no check names, and which changes what every call returns."""
    assert fallen(toy, lambda: add_to_drivers(toy, before)) == {"total", "spread", "both", "all"}


@pytest.mark.parametrize(
    ("old", "new", "trials"),
    [
        ("[[questions]]", "[limits]\nmemory_mb = 900\n\n[[questions]]", {"total", "spread", "both"}),
        ("[[questions]]", "[limits]\nbudget = 100.0\n\n[[questions]]", {"total", "spread", "both"}),
        ("[[questions]]", "[limits]\nattachment_mb = 2\n\n[[questions]]", {"total", "spread", "both"}),
        ('needs = ["total", "spread"]', 'needs = ["total", "spread"]\nseconds = 9.0', {"both"}),
    ],
)
def test_each_limit_decides(toy: Path, old: str, new: str, trials: set[str]) -> None:
    """Catches: a record of a call that had more memory, or of a run that had more time."""
    assert fallen(toy, lambda: edit(toy / TOML, old, new)) == {*trials, "all"}


@pytest.mark.parametrize("name", ["GRADER_LEVEL", "GRADER_WITHOUT", "GRADER_PROCESSOR"])
def test_a_sandbox_that_was_asked_for_decides_about_all(toy: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: records for everybody that were made without a layer of the sandbox, or with other arithmetic."""
    assert len(fallen(toy, lambda: monkeypatch.setenv(name, "anything"))) == 4
    monkeypatch.delenv(name)
    assert fallen(toy, lambda: monkeypatch.setenv(name, "")) == set()


def test_records_of_another_processor_are_not_believed(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: a command that is to reproduce a fault of another processor, and takes the records of this one."""
    monkeypatch.setenv("GRADER_PROCESSOR", "sse4")
    assert "no record fits: GRADER_PROCESSOR=sse4 is set" in [line for line, _ in verify(toy, "toy", ProofOptions(quick=True))]


def test_what_a_patch_uses_decides_as_well(toy: Path) -> None:
    """Catches: a key that has the patch, and not the function that it puts in place."""
    add_to_drivers(toy, "def patched():\n    return 1\n\n\nimport json\n\njson.dumps = patched\n")
    change = lambda: edit(toy / "tests/drivers/toy.py", "return 1\n", "return 2\n")  # noqa: E731
    assert fallen(toy, change) == {"total", "spread", "both", "all"}


def test_limits_and_support_files_decide_about_all(toy: Path) -> None:
    """Catches: a record of a call that had more time, or another file beside it."""
    toml = toy / "assignments" / "toy" / "assignment.toml"
    assert len(fallen(toy, lambda: edit(toml, "[[questions]]", "[limits]\nseconds = 2.0\n\n[[questions]]"))) == 4
    (toml.parent / "given.py").write_text("GIVEN = 1\n", encoding="utf-8")
    assert (
        len(
            fallen(
                toy, lambda: edit(toml, 'submission = "submitted.py"', 'submission = "submitted.py"\nsupport = ["given.py"]')
            )
        )
        == 4
    )
    assert len(fallen(toy, lambda: edit(toml.parent / "given.py", "1", "2"))) == 4


def test_comments_of_a_support_file_decide_about_nothing(toy: Path) -> None:
    """Catches: every trial of every assignment tried again for a docstring of utils.py."""
    given = (toy / TOML).with_name("given.py")
    given.write_text('"""Given."""\n\nGIVEN = 1\n', encoding="utf-8")
    edit(toy / TOML, 'submission = "submitted.py"', 'submission = "submitted.py"\nsupport = ["given.py"]')
    assert not fallen(toy, lambda: edit(given, '"""Given."""', '"""To be used."""  # by students'))


def test_the_order_of_definitions_and_patches_decides(toy: Path) -> None:
    """Catches: a name that is bound after a patch instead of before it, with the same statements."""
    kept, patch = "dumps = json.dumps\n", "json.dumps = len\n"
    add_to_drivers(toy, "import json\n" + kept + patch, "\n\ndef other():\n    return dumps\n\n\nother()\n")
    assert len(fallen(toy, lambda: edit(toy / DRIVERS, kept + patch, patch + kept))) == 4


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ('@pytest.fixture(name="net")\ndef _net():\n    return 1\n', "return 1", "return 2"),
        ("@pytest.fixture(autouse=True)\ndef net():\n    return 1\n", "return 1", "return 2"),
        ("def setup_function(function):\n    A = 1\n", "A = 1", "A = 2"),
        ("def pytest_generate_tests(metafunc):\n    A = 1\n", "A = 1", "A = 2"),
        (
            'pytestmark = pytest.mark.usefixtures("net")\n\n\n@pytest.fixture\ndef net():\n    return 1\n',
            "return 1",
            "return 2",
        ),
    ],
)
def test_what_pytest_uses_by_itself_decides(toy: Path, text: str, old: str, new: str) -> None:
    """Catches: a key of a check without the fixture that it never names."""
    checks = toy / VISIBLE
    checks.write_text("import pytest\n" + checks.read_text(encoding="utf-8") + "\n\n" + text, encoding="utf-8")
    assert len(fallen(toy, lambda: edit(checks, old, new))) == 4


@pytest.mark.parametrize(
    "name", ["class TestMore:\n    @points(1, question='total')\n    def test_m(self, student):", "def testmore(student):"]
)
def test_whatever_pytest_collects_is_a_check(toy: Path, name: str) -> None:
    """Catches: a check in a class, or one without an underscore, that no key knows of."""
    checks = toy / VISIBLE
    checks.write_text(checks.read_text(encoding="utf-8") + f"\n\n{name} student.call('total', values=[1])\n", encoding="utf-8")
    assert "total" in fallen(toy, lambda: edit(checks, "values=[1]", "values=[2]"))


def test_a_case_by_a_computed_name_may_be_any(toy: Path) -> None:
    """Catches: a check with one literal case, and a second one that is put together."""
    checks = toy / VISIBLE
    edit(checks, 'student.expect("three_values")', 'student.expect("three_values")\n    student.expect(f"{\'many\'}_values")')
    path, answer = toy / "tests" / "visible" / "answers" / "toy.json", '"answer": {"spread": 18.0}'
    assert fallen(toy, lambda: edit(path, answer, '"answer": {"spread": 18.5}')) == {"total", "spread", "all"}


def test_a_helper_that_a_check_reaches(toy: Path) -> None:
    """Catches: a key that has the text of the check alone."""
    checks = toy / "tests" / "visible" / "test_toy.py"
    edit(checks, 'student.expect("spread_of_three")', "helper(student)")
    checks.write_text(
        checks.read_text(encoding="utf-8")
        + '\n\nTOLERANCE = 0.1\n\n\ndef helper(student):\n    student.expect("spread_of_three", rtol=TOLERANCE)\n',
        encoding="utf-8",
    )
    assert fallen(toy, lambda: edit(checks, "TOLERANCE = 0.1", "TOLERANCE = 0.2")) == {"spread", "all"}


@pytest.mark.parametrize(
    ("imported", "used"),
    [
        ("from grader.judge.views import only", "only"),
        ("from grader.judge.views import only as just", "just"),
        ("from grader.judge import views", "views.only"),
    ],
)
def test_a_view_that_a_check_uses(toy: Path, kit: Path, imported: str, used: str) -> None:
    """Catches: a tolerance in a view that no key knows of, and a view of others that voids every record."""
    checks = toy / "tests" / "visible" / "test_toy.py"
    edit(checks, "from grader.judge import points", f"from grader.judge import points\n{imported}")
    edit(checks, 'student.expect("spread_of_three")', f'student.expect("spread_of_three", view={used}("spread"))')
    views = kit / "judge" / "views.py"
    assert fallen(toy, lambda: edit(views, "def only(", "# The next one is used.\ndef only(")) == set()
    assert fallen(toy, lambda: edit(views, 'in ("returned", *names)', 'in ("returned", "more", *names)')) == {"spread", "all"}


@pytest.mark.parametrize(
    ("imported", "late", "used"),
    [
        ("from grader.sandbox.facts import describe_kind, to_plain", "", "to_plain"),
        ("from grader.sandbox.facts import to_plain as plain", "", "plain"),
        ("from grader.sandbox import facts", "", "facts.to_plain"),
        ("import grader.sandbox.facts", "", "grader.sandbox.facts.to_plain"),
        ("", "from grader.sandbox.facts import to_plain", "to_plain"),
        ("", "from grader.sandbox import facts as shared", "shared.to_plain"),
    ],
)
def test_what_drivers_share(toy: Path, kit: Path, imported: str, late: str, used: str) -> None:
    """Catches: a change of what drivers of several assignments use, of which no key knows, or which voids every record."""
    add_to_drivers(toy, f"{imported}\n")
    edit(toy / DRIVERS, "    FACTOR\n", f"    FACTOR\n    {late}\n")
    edit(toy / DRIVERS, '"spread": submitted.spread(values) if', f'"spread": {used}(submitted.spread(values)) if')
    facts = kit / "sandbox" / "facts.py"
    assert fallen(toy, lambda: edit(facts, "value.detach()", "value.clone()")) == {"spread", "all"}
    assert fallen(toy, lambda: edit(facts, "item in result[:6]", "item in result[:7]")) == set()


@pytest.mark.parametrize("name", ["sandbox/worker.py", "judge/compare.py", "answers.py", "proof/trials.py"])
def test_the_kit_decides_about_all(toy: Path, kit: Path, name: str) -> None:
    """Catches: a judge or a sandbox that was changed, and old verdicts that are believed."""
    assert len(fallen(toy, lambda: (kit / name).write_text("pass\n"))) == 4


def test_a_class_decides_about_no_trial(toy: Path, kit: Path) -> None:
    """Catches: a key that has all of the kit, so that nothing can be changed without a new proof."""
    assert fallen(toy, lambda: (kit / "course" / "policy.py").write_text("pass\n")) == set()


def test_libraries_decide_about_all(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: a record that was made with another torch."""
    change = lambda: monkeypatch.setattr(hashing, "list_libraries", lambda: ["torch 1.0"])  # noqa: E731
    assert len(fallen(toy, change)) == 4
    assert any("torch 1.0" in line for line, _ in verify(toy, "toy") if line.startswith("no record fits"))


@pytest.mark.parametrize(
    ("old", "new", "trials"),
    [
        ("return 0.0", "return 1.0", {"spread", "both"}),
        ("return LIMIT", "return LIMIT + 1", {"total", "both"}),
        ("LIMIT = 1", "LIMIT = 2", {"total", "both"}),
        ("LIMIT = 1", "LIMIT = 1\nprint(LIMIT)", {"total", "spread", "both"}),
        ("import utils", "import utils\nimport torch", {"total", "spread", "both"}),
        ("    return LIMIT\n", "    return LIMIT\n\n\nUNUSED = [1, 2]", set()),
        ("return 0.0", "return 0.0  # of nothing", set()),
        ("return 0.0", "return globals()['hel' + 'per'](values)", {"spread", "both"}),
        ("import utils", "import utils\nUNUSED = 1 / 0", {"total", "spread", "both"}),
        ("scale=1.0", "scale=math.pi", {"total", "spread", "both"}),
        ("import utils", "import utils\nfrom math import pie", {"total", "spread", "both"}),
        ("import utils", "import utils\nfrom math import *", {"total", "spread", "both"}),
        ("import utils", "import utils\n\n\nclass Unused(lsit):\n    pass", {"total", "spread", "both"}),
        ("import utils", "import utils\nmatch 3:\n    case LIMIT:\n        pass", {"total", "spread", "both"}),
    ],
)
def test_a_trial_depends_on_the_code_that_its_checks_reach(toy: Path, old: str, new: str, trials: set[str]) -> None:
    """Catches: one changed line that lets all mistakes be tried again, or one that changes a trial and is not seen."""
    assert SUBMISSION.count(old) == 1
    before, after = keys(toy), keys(toy, SUBMISSION.replace(old, new))
    assert {name for name in before if before[name] != after[name]} == trials | ({"all"} if trials else set())


@pytest.mark.parametrize(
    "looks",
    [
        "getattr(submitted, 'spr' + 'ead')(values)",
        "vars(submitted)",
        "submitted.__dict__['spr' + 'ead'](values)",
        "sys.modules['submit' + 'ted']",
        "eval('submitted.' + 'spread')",
        "operator.attrgetter('spr' + 'ead')(submitted)",
        "importlib.import_module('submit' + 'ted')",
        "getattr(values.student, 'spr' + 'ead')",
    ],
)
def test_a_driver_that_may_use_any_name_depends_on_all(toy: Path, looks: str) -> None:
    """Catches: a trial believed though its driver comes to the changed function by a name that it puts together."""
    edit(toy / DRIVERS, '{"total": submitted.total(values)}', f'{{"total": submitted.total(values), "looks": {looks}}}')
    before, after = keys(toy), keys(toy, SUBMISSION.replace("return 0.0", "return 1.0"))
    assert before["total"] != after["total"]


def test_a_driver_that_asks_for_a_name_depends_on_that_one(toy: Path) -> None:
    """Catches: `getattr(submitted, 'total', None)`, for which each change of a solution lets all trials fall."""
    edit(toy / DRIVERS, '{"total": submitted.total(values)}', '{"total": getattr(submitted, "total", None)(values)}')
    before, after = keys(toy), keys(toy, SUBMISSION.replace("return 0.0", "return 1.0"))
    assert before["total"] == after["total"]


def test_a_docstring_decides_about_no_trial_unless_it_is_read(toy: Path) -> None:
    """Catches: drivers that nobody documents any better since that would cost a proof, and a driver that reads its own text."""
    edit(toy / DRIVERS, "def total(submitted, values):\n", 'def total(submitted, values):\n    """Call it."""\n')
    assert fallen(toy, lambda: edit(toy / DRIVERS, '"""Call it."""', '"""Call it once."""')) == set()
    edit(toy / DRIVERS, '{"total": submitted.total(values)}', '{"total": submitted.total(values), "said": total.__doc__}')
    assert fallen(toy, lambda: edit(toy / DRIVERS, '"""Call it once."""', '"""Call it."""')) == {"total", "all"}


def test_a_docstring_of_the_stub_decides_about_no_trial(toy: Path) -> None:
    """Catches: a better word in a stub, for which every mistake of the assignment is tried again."""
    solution = toy / "solutions" / "toy" / "submitted.py"

    def change() -> None:
        edit(solution, "Return the sum of all values.", "Return the sum of the values.")
        build(toy, "toy", BuildOptions(mistakes=False))

    assert fallen(toy, change) == set()


def test_a_function_that_the_stub_has_decides_about_its_trial(toy: Path) -> None:
    """Catches: the record of a mistake that became the stub, whose checks are "not started" and no longer fail."""
    mistake = SUBMISSION.replace("def total(values):\n    return helper(values)\n", "def total(values):\n    return 0\n")
    assert mistake != SUBMISSION
    before = keys(toy, mistake)
    for path in (toy / "tests").glob("*/answers/toy.json"):
        stub = answers.read_answers(path, "toy").stub["total"]
        edit(path, stub, hash_functions(mistake)["total"])
    after = keys(toy, mistake)
    assert {name for name in before if before[name] != after[name]} == set(before)


@pytest.mark.parametrize(
    "looks",
    [
        "len(inspect.getsource(submitted.total))",
        "submitted.total.__code__.co_firstlineno",
        "dis.Bytecode(submitted.total).dis()",
        "linecache.getline('submitted.py', 1)",
        "torch.jit.script(submitted.total)(values)",
        "torch.compile(submitted.total)(values)",
    ],
)
def test_a_driver_that_reads_the_text_depends_on_comments(toy: Path, looks: str) -> None:
    """Catches: a check for a loop in the source, whose verdict a comment can change."""
    edit(toy / DRIVERS, '{"total": submitted.total(values)}', f'{{"total": {looks}}}')
    assert keys(toy)["total"] != keys(toy, SUBMISSION + "# more\n")["total"]


def test_a_name_that_only_a_support_file_uses_is_reached(toy: Path) -> None:
    """Catches: a driver that hands the submission to a support file."""
    changed = SUBMISSION.replace("return 0.0", "return 1.0")
    edit(toy / TOML, 'submission = "submitted.py"', 'submission = "submitted.py"\nsupport = ["given.py"]')
    for code, falls in (("def run(module): return module.other()", False), ("def run(module): return module.spread()", True)):
        (toy / "given.py").write_text(code)
        assert (keys(toy)["total"] != keys(toy, changed)["total"]) == falls


@pytest.mark.parametrize(
    ("given", "falls"),
    [
        ("class Wrapper:\n    def __getattr__(self, name):\n        return getattr(self.inner, name)\n", False),
        ("import sys\nshell = 'IPython' in sys.modules and sys.modules['IPython']\n", False),
        ("def __getattr__(name):\n    return None\n", True),
        ("import sys\nother = sys.modules['submitted']\n", True),
    ],
    ids=["of objects", "a library", "of the module", "the submission"],
)
def test_a_support_file_that_passes_names_on(toy: Path, given: str, falls: bool) -> None:
    """Catches: an innocent wrapper in a support file, for which a change of one function lets all of them be tried again."""
    changed = SUBMISSION.replace("return 0.0", "return 1.0")
    edit(toy / TOML, 'submission = "submitted.py"', 'submission = "submitted.py"\nsupport = ["given.py"]')
    (toy / "given.py").write_text(given)
    assert (keys(toy)["total"] != keys(toy, changed)["total"]) == falls


def test_a_variable_is_not_what_the_file_has_of_that_name(toy: Path) -> None:
    """Catches: drivers that seem to use one another, because what one computes has the name of the other."""
    other = "\n\ndef many(submitted):\n    return {1: 1}\n"
    add_to_drivers(toy, "", other)
    call = '{"total": submitted.total(values)}'
    for before, after, falls in (
        (call, '{"many": [many for many in [submitted.total(values)]]}', set()),
        ("[many for many in [submitted.total(values)]]", "many(submitted)", {"total", "all"}),
    ):
        edit(toy / DRIVERS, before, after)
        assert fallen(toy, lambda: edit(toy / DRIVERS, "{1: 1}", "{1: 2}")) == falls
        edit(toy / DRIVERS, "{1: 2}", "{1: 1}")


@pytest.mark.parametrize("name", list_assignments(ROOT))
def test_a_question_does_not_depend_on_the_whole_file(name: str) -> None:
    """Catches: one line in a driver or a support file for which no change of a solution leaves any record as it is."""
    checks = fingerprints.list_check_ingredients(AssignmentFiles(ROOT, name), SUITES)
    assert sum(about.reads_all for about in checks.values()) < 0.9 * len(checks)


def test_what_a_single_function_shows_does_not_depend_on_the_whole_agent(toy: Path) -> None:
    """Catches: a check of the whole agent whose change lets all mistakes be tried again, though none of them came to it."""
    edit(toy / VISIBLE, 'student.expect("both_of_four")', 'student.expect("both_of_four", rtol=0.1)')
    without, later, *_ = tried(toy)
    assert 0 < without + later < len(entries(toy)) / 2


def test_a_submissions_getattr_is_reached(toy: Path) -> None:
    """Catches: a function by which a module answers for names that stand nowhere in it, and on which no trial depends."""
    asked = SUBMISSION + "\n\ndef __getattr__(name):\n    return LIMIT\n"
    assert (
        keys(toy, asked)["spread"] != keys(toy, asked.replace("(name):\n    return LIMIT", "(name):\n    return 2"))["spread"]
    )


def test_a_submission_that_looks_for_names_depends_on_all(toy: Path) -> None:
    """Catches: likewise, by the submission."""
    looking = SUBMISSION.replace("return LIMIT", "return globals()['spr' + 'ead'](values)")
    assert keys(toy, looking)["total"] != keys(toy, looking.replace("return 0.0", "return 1.0"))["total"]


def test_a_name_in_the_inputs_of_a_case_is_reached(toy: Path) -> None:
    """Catches: a driver that is told which function to call, and a record that stays when that function changes."""
    changed = SUBMISSION.replace("return 0.0", "return 1.0")
    for function, falls in (("other", False), ("spread", True)):
        for path in toy.glob("tests/*/answers/toy.json"):
            path.write_text(
                re.sub(r'"inputs": \{("function": \["\w+"\], )?', f'"inputs": {{"function": ["{function}"], ', path.read_text())
            )
        assert (keys(toy)["total"] != keys(toy, changed)["total"]) == falls


@pytest.mark.parametrize(
    ("entered", "old", "new", "falls"),
    [
        ({"total"}, "return LIMIT", "return LIMIT + 1", False),
        ({"total"}, "return helper(values)", "return 0", True),
        ({"total", "helper"}, "return LIMIT", "return LIMIT + 1", True),
        ({"total"}, "return LIMIT", "raise NotImplementedError", True),
        ({"total"}, "return LIMIT", "return torch.zeros(1, device='cuda')", True),
        ({"total"}, "def helper(values):", "def helper(values, other=LIMIT):", True),
        ({"total"}, "LIMIT = 1", "LIMIT = 2", True),
        ({"total"}, "    return LIMIT", "    yield LIMIT", True),
        ({"total"}, "import utils", "import utils\nimport inspect\ninspect.getsource", True),
        (set(), "return LIMIT", "return LIMIT + 1", True),
    ],
)
def test_a_body_that_is_never_entered(toy: Path, entered: set[str], old: str, new: str, falls: bool) -> None:
    """Catches: one changed method that lets every trial of its class be tried again, or one that a trial does depend on."""
    home = AssignmentFiles(toy, "toy")
    found = RecordKeys(home, {suite: answers.read_mistakes(home.mistakes[suite], "toy") for suite in SUITES})
    before, after = (TrialTask("mistake m", text, TOTAL, BOTH) for text in (SUBMISSION, SUBMISSION.replace(old, new)))
    record = Record(trial="mistake m", key=found.of(before, frozenset(entered and entered | {IMPORTED})))
    assert found.fits(before, record)
    assert found.fits(after, record) != falls


def test_records_say_which_functions_were_entered(toy: Path) -> None:
    """Catches: trials that are not traced, so that each depends on every function that its checks could reach."""
    found = {name: key for name, key, *_ in entries(toy)}
    assert [name for name in found if name.startswith("m/")]
    assert all("_" in key for name, key in found.items() if name.startswith("m/"))


def test_a_key_that_is_none(toy: Path) -> None:
    """Catches: a traceback in place of the proof, after a merge."""
    text = (toy / RECORDS).read_text(encoding="utf-8")
    (toy / RECORDS).write_text(re.sub(r'_[0-9a-f]+"', '_no"', text, count=1), encoding="utf-8")
    assert faults(toy) == []


def test_a_mistake_that_looks_alike_decides_which_is_recognized(toy: Path) -> None:
    """Catches: a record that says a mistake has its own hint, though a new one is recognized instead."""
    path = toy / "tests" / "hidden" / "mistakes" / "toy.json"
    assert fallen(toy, lambda: edit(path, '"test_default_scale":', '"test_another":')) == {"spread", "all"}


def test_better_words_in_a_hint_need_no_trial(toy: Path) -> None:
    """Catches: a proof again for a word, and a record of one mistake's own hint where two now have the same."""
    evidence = sorted((toy / "tests").glob("*/mistakes/toy.json"))
    hints = [mistake.hint for mistake in load_catalogue(AssignmentFiles(toy, "toy"), "mistakes")]
    one, other = list(dict.fromkeys(hints))[:2]

    def reword(old: str, new: str) -> None:
        for path in (toy / "solutions" / "toy" / "mistakes.py", *evidence):
            path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")

    reword(one, "Which word is better here?")
    assert tried(toy)[0] == 0
    reword("Which word is better here?", other)
    assert tried(toy)[0] > 0


def test_an_edited_mistake_is_tried_alone(toy: Path) -> None:
    """Catches: a proof that tries everything because one text has changed."""
    edit(toy / "solutions" / "toy" / "mistakes.py", "return", "return 0 +")
    assert tried(toy)[0] == 1


@pytest.mark.parametrize("alone", [True, False], ids=["apart", "with another change"])
@pytest.mark.parametrize("forged", ["verdict", "key", "verdict and digest", "key and digest"])
def test_a_forged_record_is_found(toy: Path, alone: bool, forged: str) -> None:
    """Catches: a mistake that no check catches any more, and a record, made by hand, that says it is caught."""
    unnoticed = next(
        variant for variant in load_catalogue(AssignmentFiles(toy, "toy"), "mistakes") if variant.id == "nothing_of_nothing"
    )
    assert unnoticed.question == "total"
    before = read_head(toy)
    if "verdict" in forged:
        forge(toy, "m/nothing_of_nothing", "h/nothing_to_add", "v/three")
    else:
        # The check is weakened, and the old verdict gets the key that belongs to the new check.
        edit(toy / "tests" / "hidden" / "test_toy.py", 'student.expect("no_values")', 'student.call("total", values=[])')
        home = AssignmentFiles(toy, "toy")
        mistakes = {suite: answers.read_mistakes(home.mistakes[suite], "toy") for suite in SUITES}
        entry = {suite: mistakes[suite].get(unnoticed.id) for suite in SUITES}
        about = (unnoticed.id, unnoticed.question, unnoticed.hint)
        task = TrialTask("mistake nothing_of_nothing", unnoticed.submission, TOTAL, BOTH, mistake=about, entries=entry)
        (key,) = [key for name, key, *_ in entries(toy) if name == "m/nothing_of_nothing"]
        forge(toy, "m/nothing_of_nothing", key, RecordKeys(home, mistakes).of(task))
    if "digest" not in forged:
        edit(toy / RECORDS, read_head(toy), before)
    if not alone:
        edit(toy / "solutions" / "toy" / "mistakes.py", "return", "return 0 +")
    commit(toy, "nothing to see")
    wrong = [line for line in faults(toy) if line.startswith("the record of mistake nothing_of_nothing in toy.jsonl is wrong")]
    assert len(wrong) == 1


def test_a_proof_of_all_names_the_record_that_it_replaces(toy: Path) -> None:
    """Catches: a forged record that `verify --all` replaces without a word, so that nobody asks how it came there."""
    right = entries(toy)
    forge(toy, "m/nothing_of_nothing", "h/nothing_to_add", "v/three")
    found = list(verify(toy, "toy", ProofOptions(anew=True)))
    assert [line for line, fault in found if fault] == []
    (named,) = [line for line, _ in found if "toy.jsonl is wrong" in line]
    assert named.startswith("the record of mistake nothing_of_nothing ")
    assert entries(toy) == right
    assert not [line for line, _ in found if line.startswith(("no record fits", "tried: "))]


def test_a_record_that_says_alike_of_something_else_is_told(toy: Path) -> None:
    """Catches: an alternative that no quick proof trains because its record says, wrongly, that it returns the same."""
    forge(toy, "alternative total_by_reducing", ',{"alike":true}', "")
    told = "the record of alternative total_by_reducing in toy.jsonl says that it returns something else; now it does not"
    assert [fault for line, fault in verify(toy, "toy") if line == told] == [None]


def test_the_commit_of_a_proof_says_whether_files_differed(toy: Path) -> None:
    """Catches: a commit in the records at which the suite that was proven is not to be found."""
    found = Records(AssignmentFiles(toy, "toy"))

    def write() -> str:
        found.write(list(found.known.values()))
        proven: str = json.loads(read_head(toy))["proven"]
        return proven

    commit_of_toy = write()
    assert re.fullmatch(r"[0-9a-f]{12}", commit_of_toy)
    store(toy, [])  # the records themselves do not count
    assert write() == commit_of_toy
    add_to_drivers(toy, "# more\n")
    assert write() == f"{commit_of_toy} with changes"


ENDLESS = """

@mistake("total", hint="When does your loop end?")
def endless(values):
    while not values:
        pass
    return 7.0 + sum(values)
"""


def test_a_trial_that_hit_a_time_limit_is_not_recorded(toy: Path) -> None:
    """Catches: a slow moment of one machine that all others believe."""
    edit(toy / TOML, "[[questions]]", "[limits]\nseconds = 1.0\n\n[[questions]]")
    path = toy / "solutions" / "toy" / "mistakes.py"
    path.write_text(path.read_text(encoding="utf-8") + ENDLESS, encoding="utf-8")
    build(toy, "toy")
    found = list(verify(toy, "toy", ProofOptions(anew=True)))
    assert [line for line, fault in found if fault] == []
    assert any(line.endswith("1 hit a time limit") for line, _ in found)
    names = {name for name, *_ in entries(toy)}
    assert "m/endless" not in names
    assert {"m/product", "b/endless"} <= names


def test_after_a_change_of_the_judge_no_call_of_a_trial_is_made_again(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches: replies that nobody keeps or asks for, or that a new hash of the judge voids; and `--all`, which uses some."""
    calls: list[str] = []
    trials: list[bool] = []
    run = ForkedSandbox._run

    def note(self: ForkedSandbox, request: dict[str, Any], seconds: float) -> Reply:
        if trials and request["do"] == "call":
            calls.append(request["driver"])
        return run(self, request, seconds)

    def try_task(*arguments: Any) -> Any:
        trials.append(True)
        try:
            return run_task(*arguments)
        finally:
            trials.pop()

    def count(**options: Any) -> int:
        calls.clear()
        assert faults(toy, quick=True, **options) == []
        return len(calls)

    monkeypatch.setattr("grader.proof.trials.ReplyStore", lambda: ReplyStore(tmp_path / "kept" / "replies.sqlite"))
    monkeypatch.setattr(ForkedSandbox, "_run", note)
    monkeypatch.setattr(records, "run_task", try_task)
    (toy / RECORDS).unlink()
    first = count()
    assert first > 20
    monkeypatch.setattr(records, "hash_kit", lambda *_, **__: "another judge")
    assert count() == 0
    assert count(anew=True) == first


def test_the_test_side_uses_kept_replies_unless_all_is_proven(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: `verify --all` that believes what changed drivers replied before."""
    asked: list[bool] = []

    def note(grader: Grader, finds: bool) -> AbstractContextManager[None]:
        asked.append(finds)
        return keep_replies(grader, finds)

    monkeypatch.setattr("grader.proof.testside.keep_replies", note)
    for anew in (False, True):
        asked.clear()
        assert faults(toy, anew=anew) == []
        assert len(asked) > 10
        assert set(asked) == {not anew}


def lengthen(root: Path) -> None:
    """Write the records as earlier versions of the kit did, with whole ids."""
    _, *lines = (root / RECORDS).read_text(encoding="utf-8").splitlines()
    for prefix, short in records.SHORT.items():
        assert any(f'"{short}' in line for line in lines)
        lines = [line.replace(f'"{short}', f'"{prefix}') for line in lines]
    store(root, lines)


def test_records_with_whole_ids_are_believed(toy: Path) -> None:
    """Catches: everything tried once more because the kit writes records in another form than in the last commits."""
    short = (toy / RECORDS).read_text(encoding="utf-8")
    lengthen(toy)
    commit(toy, "long")
    assert tried(toy)[:2] == (0, 0)
    (toy / RECORDS).write_text(short, encoding="utf-8")
    commit(toy, "short")
    assert tried(toy)[:2] == (0, 0)


def test_a_forged_record_in_the_other_form_is_found(toy: Path) -> None:
    """Catches: a record that contradicts the last commit, and goes unseen because its check is written out."""
    edit(toy / RECORDS, '"h/nothing_to_add"', '"v/three"')
    lengthen(toy)
    commit(toy, "nothing to see")
    assert len([line for line in faults(toy) if "toy.jsonl is wrong" in line]) == 1


@pytest.mark.parametrize(("old", "new"), [('nothing","', 'nothing", "'), ('"m/', '"mistake\\u0020'), ('"m/', '"mistake ')])
def test_a_forged_record_in_another_spelling_is_found(toy: Path, old: str, new: str) -> None:
    """Catches: a record with a new digest that contradicts the last commit, and is not compared with it."""
    forge(toy, "m/nothing_of_nothing", '"h/nothing_to_add"', '"v/three"')
    forge(toy, "m/nothing_of_nothing", old, new)
    assert len([line for line in faults(toy) if "toy.jsonl is wrong" in line]) == 1


def test_without_git_a_forged_file_is_proven_whole(toy: Path) -> None:
    """Catches: a zip of the repository in which nobody can say which records `verify --all` wrote."""
    shutil.rmtree(toy / ".git")
    assert tried(toy)[1] == 0
    (toy / RECORDS).write_text((toy / RECORDS).read_text(encoding="utf-8").replace('"fails"', '"raises"'), encoding="utf-8")
    assert [line for line in faults(toy) if "is wrong" in line]


@pytest.mark.parametrize(
    "content",
    ["", "{}", "no JSON", "\udcff", '{"proven": "x"}\n["a", 1]\n', "HEAD\n[1]\n", "HEAD\n3\n", 'HEAD\n["a","b",{"c":1}]\n'],
)
def test_damaged_records_are_believed_by_nobody(toy: Path, content: str) -> None:
    """Catches: a traceback, or half of a file that is taken for all of it."""
    head = read_head(toy)
    (toy / RECORDS).write_text(content.replace("HEAD", head), encoding="utf-8", errors="surrogateescape")
    assert faults(toy) == []


def test_a_record_that_stands_there_twice_is_tried(toy: Path) -> None:
    """Catches: a traceback after a merge, or the wrong one of the two that is believed."""
    lines = (toy / RECORDS).read_text(encoding="utf-8").splitlines()
    (one,) = [line for line in lines if '"m/nothing_of_nothing"' in line]
    other = one.replace("h/nothing_to_add", "v/three")
    (toy / RECORDS).write_text("\n".join([*lines, other]) + "\n", encoding="utf-8")
    assert len([line for line in faults(toy) if "is wrong" in line]) == 1


def test_a_proof_with_a_fault_records_nothing(toy: Path) -> None:
    """Catches: `verify --all` on a broken suite, which would make its faults the record."""
    before = (toy / RECORDS).read_bytes()
    edit(toy / "tests" / "hidden" / "test_toy.py", 'student.expect("no_values")', 'student.call("total", values=[])')
    assert faults(toy, anew=True)
    assert (toy / RECORDS).read_bytes() == before
