"""The proof of a suite: what it accepts, and that each way to weaken a suite is told by name."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from grader.answers import read_mistakes
from grader.assignment import SUITES, AssignmentFiles, UsageError
from grader.authoring.build import build
from grader.authoring.staleness import list_stale_files
from grader.commands.doctor import check_assignment
from grader.judge import harness
from grader.judge.harness import Harness
from grader.judge.run import Grader
from grader.proof.boundary import prove_confinement
from grader.proof.catalogue import Variant, load_catalogue
from grader.proof.collateral import judge_costs, measure_cost
from grader.proof.flake import measure_flakes
from grader.proof.mutants import make_mutants
from grader.proof.pairs import list_pairs, measure_hints
from grader.proof.pool import TrialPool
from grader.proof.sidechanges import Change, make_driver_changes
from grader.proof.testside import TRIED, Effect, OtherWork, draw_changes, try_change, write_baseline
from grader.proof.verify import ProofOptions, verify
from grader.report.model import CheckResult

pytestmark = pytest.mark.recorded

INPUTS = {
    "test_exit_code_and_lines": ("command:verify",),
    "test_doctor_attacks_an_assignment_as_well": ("command:doctor",),
    "test_changes_of_a_driver_concern_who_calls_it": ("grading:ppo_agent",),
}
ROOT = Path(__file__).resolve().parents[2]

PLACED_NOWHERE = """
import math
from grader.proof.catalogue import placement

@placement("product", "here")
def other(values):
    return 1.0
"""

VACUOUS = '''

@points(0, question="total")
def test_it_can_be_called(student):
    """It can be called."""
    student.call("total", values=[1.0])
'''


@pytest.fixture
def toy(built_toy: Path, tmp_path: Path) -> Path:
    """A copy of it, to be broken."""
    return Path(shutil.copytree(built_toy, tmp_path / "toy"))


@pytest.fixture
def edit(toy: Path) -> Callable[[str, str, str], None]:
    """Replace a text in a file of the toy: `edit("tests/visible/test_toy.py", old, new)`."""

    def replace(name: str, old: str, new: str) -> None:
        path = toy / name
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8")

    return replace


def faults(root: Path, **options) -> list[str]:
    return [line for line, fault in verify(root, "toy", ProofOptions(**options)) if fault]


def test_a_good_suite_is_proven(toy: Path, tmp_path: Path) -> None:
    """All parts of the proof are there, and nothing is found fault with."""
    found = list(verify(toy, "toy", ProofOptions(html=tmp_path / "matrix.html")))
    assert [line for line, fault in found if fault] == []
    text = "\n".join(line for line, _ in found)
    for part in (
        "the solution gets 6/6",
        "with sse4, avx2, other-vendor arithmetic, the solution passes with 25% of every tolerance",
        "the stub gets 0/6",
        "2 of 2 alternatives get full marks",
        "7 of 7 mistakes are caught",
        "7 of 7 mistakes are recognized by their own hint",
        "visible/test_both catches product",
        "nothing_of_nothing is caught by hidden/test_nothing_to_add alone",
        "largest collateral: no mistake costs a point outside its own question",
        "0 of 7 mistakes pass all visible checks (2 copy its answers)",
        "total: every mistake of these checks is also caught by another check: visible/test_three, visible/test_many",
        "mutants that are not equivalent are caught (100.0%; at least 95% must be)",
        "38 of 38 changes of drivers and cases that have an effect are noticed (100.0%; aim 90%)",
    ):
        assert part in text
    (row,) = re.findall(r"^  nothing_of_nothing +([x.]+)$", text, re.MULTILINE)
    assert row == "..x"
    page = (tmp_path / "matrix.html").read_text(encoding="utf-8")
    assert "What is scale for?" in page
    marks = re.findall(r"^  \w+ +([x.]+)$", text, re.MULTILINE)
    assert page.count('<td class="fails">') == "".join(marks).count("x")


def test_a_build_and_a_proof_need_one_server(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: a server for each suite, with an import of torch for each. Other processors need their own."""
    opened: list[str] = []
    real = harness.open_sandbox  # type: ignore[attr-defined]  # that of conftest

    def note(*arguments: Any, **options: Any) -> Any:
        opened.append(os.environ.get("GRADER_PROCESSOR", ""))
        return real(*arguments, **options)

    monkeypatch.setattr(harness, "open_sandbox", note)
    build(toy, "toy")
    assert opened == [""]
    opened.clear()
    assert faults(toy, quick=True) == []
    assert sorted(opened) == ["", "avx2", "other-vendor", "sse4"]


# Only end-to-end checks use four values.
WRONG_FOR_FOUR = """

@alternative("total")
def total_of_some(values):
    return sum(values, 0.0) if len(values) != 4 else 0.0
"""


def test_a_quick_proof_trains_no_alternative_that_returns_the_same(toy: Path) -> None:
    """Catches: a quick proof that trains every agent, or a whole one that trains none."""
    path = toy / "solutions" / "toy" / "alternatives.py"
    path.write_text(path.read_text() + WRONG_FOR_FOUR)
    found = list(verify(toy, "toy", ProofOptions(quick=True)))
    assert [line for line, fault in found if fault] == []
    assert any(
        line.startswith("3 of these return the same as the solution in every call and were not trained") for line, _ in found
    )
    assert any(": the alternative total_of_some does not pass visible/test_both" in line for line in faults(toy))


def test_what_a_wrong_alternative_returned_is_told(toy: Path) -> None:
    """Catches: a line that ends with the right answer, so that nobody sees how the alternative is wrong."""
    path = toy / "solutions" / "toy" / "alternatives.py"
    path.write_text(path.read_text() + "\n\n@alternative('total')\ndef one_more(values):\n    return sum(values) + 1\n")
    line, *_ = [each for each in faults(toy, quick=True) if "one_more" in each]
    assert re.search(r"expected .*, got .* \(and \d more checks\); correct it, or the check$", line), line


def test_numbers_that_another_processor_rounds_away_are_told(toy: Path, edit) -> None:
    """Catches: a check that the solution passes on the author's machine alone, as two of policy_gradient did."""
    rounded = 'result = 2e-4 * (__import__("os").environ.get("ATEN_CPU_CAPABILITY") == "avx2")'
    edit("solutions/toy/submitted.py", "result = 0.0", rounded)
    build(toy, "toy")
    *losses, last = faults(toy, quick=True)
    # The sum is 3.5: right in the first place, for a student on such a machine too, but by too little.
    assert losses[0].startswith(
        "with the arithmetic of avx2 and 25% of every tolerance, the solution loses visible/test_three "
    )
    assert all("avx2" in line for line in losses)
    assert last == "with sse4, avx2, other-vendor arithmetic, the solution does not pass with 25% of every tolerance"


def test_doctor_attacks_an_assignment_as_well(toy: Path, edit, own_servers) -> None:
    """An author's files are what an attack of the machine alone cannot know."""
    assert [fine for _, fine in check_assignment(toy, "toy", "basic")] == [True, True]
    edit("tests/drivers/toy.py", "def ", f"{REACHES}exec((HERE / 'submitted.py').read_text())\n\n\ndef ")
    ((line, fine),) = check_assignment(toy, "toy", "basic")
    assert "a submission ran before it was confined" in line
    assert fine is False
    edit("tests/drivers/toy.py", "def ", "import submitted\n\n\ndef ")
    assert [fine for _, fine in check_assignment(toy, "toy", "basic")] == [False]


REACHES = "import importlib, importlib.util, sys\nfrom pathlib import Path\nHERE = Path(__file__).with_name('student')\n"


@pytest.mark.parametrize(
    ("how", "found"),
    [
        ("sys.path.append(str(HERE))\nimportlib.import_module('submit' + 'ted')\n", "as submitted"),
        ("sys.path.insert(0, str(HERE))\ntry:\n    import tqdm\nexcept ImportError:\n    pass\n", "as tqdm"),
        ("exec((HERE / 'submitted.py').read_text())\n", "as drivers"),
        (
            "spec = importlib.util.spec_from_file_location('own', HERE / 'submitted.py')\n"
            "spec.loader.exec_module(importlib.util.module_from_spec(spec))\n",
            "as own",
        ),
    ],
)
def test_a_driver_that_runs_a_submission_in_the_server_is_told(toy: Path, edit, own_servers, how: str, found: str) -> None:
    """Catches: a way to the student's folder that no reading of the files shows; the server would run it unconfined."""
    edit("tests/drivers/toy.py", "def ", f"{REACHES}{how}\n\ndef ")
    (line,) = faults(toy, quick=True)
    assert f"a submission ran before it was confined, {found}: tests/drivers/toy.py, or an import of it" in line


@pytest.mark.parametrize("level", ["full", "process", "basic"])
def test_a_hostile_submission_runs_in_its_worker_alone(
    toy: Path, own_servers, monkeypatch: pytest.MonkeyPatch, level: str
) -> None:
    """The proof has seen it run, confined; it leaves nothing behind for the trials that follow."""
    monkeypatch.setenv("GRADER_LEVEL", level)
    with Harness(AssignmentFiles(toy, "toy")) as harness:
        found = list(prove_confinement(harness))
        assert found[0] == (f"a hostile submission ran only in its worker (isolation: {level})", False)
        assert [line for line, fault in found if fault is None and "not tried at basic" in line] or level != "basic"
        assert {path.name for path in harness.student.iterdir()} <= {"__pycache__"}
        assert harness.sandbox.warm == (level != "basic")


def test_stale_answers_are_told(toy: Path, edit) -> None:
    """Answers of yesterday grade against the past; all that fails because of them would only hide it."""
    edit("tests/visible/answers/toy.json", '"total": 3.5', '"total": 3.75')
    assert faults(toy, quick=True) == [
        "tests/visible/answers/toy.json, solution.json are stale: run `python -m grader build toy`"
    ]


VACUOUS_FAULT = "tests/{} is vacuous: no mistake fails it{}; let it compare more, add the mistake that it is for, or delete it"
VACUOUS_CHECK = "visible/test_toy.py:29: test_it_can_be_called"


def test_a_vacuous_check_is_told(toy: Path) -> None:
    """A check that only calls the function passes for every wrong answer that does not crash."""
    with open(toy / "tests" / "visible" / "test_toy.py", "a") as file:
        file.write(VACUOUS)
    assert VACUOUS_FAULT.format(VACUOUS_CHECK, "") in faults(toy, quick=True)


def test_a_check_that_only_exceptions_fail_is_told_so(toy: Path, edit) -> None:
    """The matrix shows an x for it; without the reason, the line below would contradict what is seen."""
    with open(toy / "tests" / "visible" / "test_toy.py", "a") as file:
        file.write(VACUOUS)
    edit("solutions/toy/mistakes.py", "return 1.0 + sum(values)", 'raise ValueError("none")')
    assert VACUOUS_FAULT.format(VACUOUS_CHECK, " except by an exception, which any check would show") in faults(toy, quick=True)


def test_a_vacuous_check_of_the_whole_agent_is_told(toy: Path, edit) -> None:
    """Checks of the whole agent are tried on what cannot learn: passing it is a fault."""
    edit("tests/visible/test_toy.py", 'student.expect("both_of_four")', 'student.call("together", values=[3.0])')
    assert any("checks of both are vacuous" in line for line in faults(toy, quick=True))


def test_a_check_that_a_mistake_passes_is_told(toy: Path, edit) -> None:
    """A check that became weaker than it was: the mistake that it alone caught goes free, and both are named."""
    edit("tests/hidden/test_toy.py", 'student.expect("no_values")', 'student.call("total", values=[])')
    found = faults(toy, quick=True)
    uncaught = "add a case whose inputs reveal it, or delete it if it is right"
    line = f"solutions/toy/mistakes.py:18: the mistake nothing_of_nothing passes every check of total; {uncaught}"
    assert [each for each in found if "nothing_of_nothing" in each and "is stale" not in each] == [line]
    stale = "tests/hidden/mistakes/toy.json is stale: nothing_of_nothing passes hidden/test_nothing_to_add now"
    assert f"{stale}; run `python -m grader build toy`" in found
    assert VACUOUS_FAULT.format("hidden/test_toy.py:6: test_nothing_to_add", "") in found


def test_a_check_that_the_solution_or_an_alternative_fails_is_told(toy: Path, edit) -> None:
    """A check that fails right work costs students points."""
    edit("tests/visible/test_toy.py", 'student.expect("many_values")', 'student.expect("many_values", rtol=0, atol=0)')
    edit("solutions/toy/alternatives.py", "self.value + other", "self.value + other * 1.000001")
    assert any("the alternative total_by_reducing does not pass visible/test_many" in line for line in faults(toy, quick=True))
    edit("solutions/toy/submitted.py", "result + value", "result - value")
    found = faults(toy, quick=True)
    assert len(found) == 1
    assert "stale: run `python -m grader build toy`" in found[0]


def test_points_that_do_not_add_up_are_told(toy: Path, edit) -> None:
    """Checks that are worth more than the assignment says would give some students more than everything."""
    edit("assignments/toy/assignment.toml", "{ visible = 2, hidden = 1 }", "{ visible = 2, hidden = 2 }")
    told = "total: the hidden checks are worth 1 points, assignment.toml says 2"
    assert any(told in line for line in faults(toy, quick=True))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('hint="Do you add, or multiply?", ', "", "mistakes.py: product has no hint"),
        ("import math\n", PLACED_NOWHERE, "other: placement needs the name of a mistake above it, and the place"),
        ('@mistake("total", hint="What is', '@mistake("sum", hint="What is', "begins_with_one: there is no question 'sum'"),
        ("def product(values)", "def product(numbers)", "product: the solution's total takes (values), this one is (numbers)"),
        (
            '{" * scale": ""}',
            '{" * skale": ""}',
            "scale_ignored: ' * skale' is not in the solution's function: copy the text from there",
        ),
        (
            '{" * scale": ""}',
            '{" * scale": " *"}',
            "scale_ignored: with its edits, the function is not valid Python: invalid syntax: re",
        ),
        ("def product(", "def begins_with_one(", "begins_with_one is the name of two entries"),
        (
            'hint="What is scale for?"',
            "hint=str(1)",
            "scale_ignored: hint is `str(1)`, but the arguments of altered must be literals",
        ),
        (
            'source="own',
            'origin="own',
            "takes question, hint, source, learns, form, copies_answers, function, not origin",
        ),
        ("return math.prod(values)", "return math.prod(values", "mistakes.py, line"),
    ],
)
def test_entries_that_are_not_as_they_must_be_are_told(toy: Path, edit, old: str, new: str, told: str) -> None:
    """A mistake without hint, with a wrong name or signature, is an error when it is loaded."""
    edit("solutions/toy/mistakes.py", old, new)
    assert [told in line for line in faults(toy, quick=True)] == [True]


@pytest.mark.parametrize(
    ("file", "old", "new", "told"),
    [
        (
            "tests/drivers/toy.py",
            "def ",
            "import submitted\n\n\ndef ",
            "tests/drivers/toy.py imports submitted at the top level",
        ),
        (
            "tests/drivers/toy.py",
            "def ",
            "if True:\n    from submitted import total\n\n\ndef ",
            "imports submitted at the top level",
        ),
        ("assignments/toy/assignment.toml", '"submitted.py"', '"random.py"', "random.py has the name of a library"),
        ("assignments/toy/assignment.toml", '"submitted.py"', '"numpy.py"', "numpy.py has the name of a library"),
    ],
)
def test_a_submission_that_could_run_outside_of_its_worker_is_told(
    toy: Path, edit, file: str, old: str, new: str, told: str
) -> None:
    """Catches: code of a student that runs where drivers are imported, before it is confined."""
    edit(file, old, new)
    assert [told in line for line in faults(toy, quick=True)] == [True]


def test_a_driver_may_import_a_submission_when_it_is_called(toy: Path, edit) -> None:
    """Then it runs in a worker."""
    edit("tests/drivers/toy.py", "):\n", "):\n    import submitted as _  # noqa\n\n")
    assert not [line for line in faults(toy, quick=True) if "imports submitted" in line]


def test_a_suite_without_mistakes_is_told(toy: Path) -> None:
    """Nothing shows that its checks can fail."""
    (toy / "solutions" / "toy" / "mistakes.py").unlink()
    assert [line.partition(":")[0] for line in faults(toy, quick=True)] == ["solutions/ has no mistakes"]


def test_a_right_answer_in_the_catalogue_of_mistakes_is_told(toy: Path, edit) -> None:
    """What loses nothing is no mistake."""
    edit("solutions/toy/mistakes.py", "return 1.0 + sum(values)", "return 0.0 + sum(values)")
    found = faults(toy, quick=True)
    assert any("the mistake begins_with_one passes every check of total" in line for line in found)


def test_another_hint_makes_the_recorded_ones_stale(toy: Path, edit) -> None:
    """Students would read the old one. Catches also: a second fault that hints are not found, which a build mends, too."""
    edit("solutions/toy/mistakes.py", "Do you add, or multiply?", "Sum or product?")
    stale = "mistakes/toy.json is stale: product has a different hint or question; run `python -m grader build toy`"
    assert faults(toy, quick=True) == [f"tests/{suite}/{stale}" for suite in ("visible", "hidden")]


def test_evidence_that_was_deleted_is_one_line(toy: Path) -> None:
    """Catches: a line for each check of each mistake, none of which says that the file is missing."""
    (toy / "tests" / "visible" / "mistakes" / "toy.json").unlink()
    assert faults(toy, quick=True) == ["tests/visible/mistakes/toy.json is stale: run `python -m grader build toy`"]


def test_all_faults_of_the_catalogue_are_told_at_once(toy: Path, edit) -> None:
    """Three mistakes in the catalogue must not take three runs to find, nor be buried in what follows from them."""
    edit("solutions/toy/mistakes.py", 'hint="Do you add, or multiply?", ', "")
    edit("solutions/toy/mistakes.py", "def last_value_left_out(values)", "def last_value_left_out(value)")
    edit("solutions/toy/alternatives.py", '@alternative("total")', '@alternative("sum")')
    found = faults(toy, quick=True)
    assert [line.split(":")[1].split()[0] for line in found] == ["total_by_reducing", "last_value_left_out", "product"]


def test_nothing_is_recorded_of_mistakes_while_the_solution_fails(toy: Path, edit) -> None:
    """Checks that cannot run would leave an empty record, and students without hints."""
    before = (toy / "tests" / "visible" / "mistakes" / "toy.json").read_text()
    edit("assignments/toy/assignment.toml", "{ visible = 2, hidden = 1 }", "{ visible = 3, hidden = 1 }")
    with pytest.raises(UsageError, match=r"the visible checks are worth 2 points, assignment\.toml says 3"):
        build(toy, "toy")
    assert (toy / "tests" / "visible" / "mistakes" / "toy.json").read_text() == before


def test_a_misspelled_case_is_told(toy: Path, edit) -> None:
    """A check that names no case is the maintainer's slip, to be told in their words."""
    edit("tests/visible/test_toy.py", '"many_values"', '"many_value"')
    assert any("the suite has no case 'many_value'; did you mean 'many_values'?" in line for line in faults(toy, quick=True))


def test_every_kind_of_solution_can_be_mutated(toy: Path, edit) -> None:
    """A lambda and a conditional expression have bodies that are no statements."""
    new = "return (max(values) - min(values, key=lambda value: value)) * (scale if values else 1.0)"
    edit("solutions/toy/submitted.py", "return (max(values) - min(values)) * scale", new)
    changes = [mutant.change for mutant in make_mutants(AssignmentFiles(toy, "toy"))]
    assert "scale if values else 1.0 -> scale" in changes
    assert len(changes) > 20


@pytest.mark.parametrize(
    ("call", "swapped"),
    [
        ("x.transpose(1, 2)", []),
        ("x.transpose(0, 2, 1)", ["x.transpose(2, 0, 1)", "x.transpose(0, 1, 2)"]),
        ("torch.transpose(x, 1, 2)", ["torch.transpose(1, x, 2)"]),
        ("np.minimum(x, y)", []),
        ("np.subtract(x, y)", ["np.subtract(y, x)"]),
    ],
)
def test_arguments_whose_order_does_not_matter_stay(toy: Path, edit, call: str, swapped: list[str]) -> None:
    """Catches: a mutant that computes what the solution does, for which every author has to write an excuse."""
    edit("solutions/toy/submitted.py", "return (max(values) - min(values)) * scale", f"return {call}")
    changes = [mutant.change.partition(" -> ") for mutant in make_mutants(AssignmentFiles(toy, "toy"))]
    numbers = sorted(re.findall(r"\w+", call))
    same = [after for before, _, after in changes if before == call and sorted(re.findall(r"\w+", after)) == numbers]
    assert same == swapped


def test_default_arguments_are_mutated(toy: Path, edit) -> None:
    """A default is not in the body, and what nobody calls without the argument proves nothing of it."""
    edit("solutions/toy/submitted.py", "scale: float = 1.0)", 'scale: float = 1.0, *, ends=(0, -1), name: str = "ü", on=True)')
    edit("solutions/toy/submitted.py", "def total(", "def given(by=5):\n    return by\n\n\ndef total(")
    mutants = make_mutants(AssignmentFiles(toy, "toy"))
    found = {mutant.change: mutant for mutant in mutants if re.match("(scale|ends|name|on|by)=", mutant.change)}
    assert list(found) == [
        "scale=1.0 -> scale=2.0",
        "ends=(0, -1) -> ends=(1, -1)",
        "ends=(0, -1) -> ends=(0, 1)",
        "ends=(0, -1) -> ends=(0, -0)",
        "on=True -> on=False",
    ]
    assert {found[change].question for change in found} == {"spread"}
    assert 'scale: float = 1.0, *, ends=(0, -1), name: str = "ü", on=False)' in found["on=True -> on=False"].submission


def test_mutants_need_a_reason_to_survive(toy: Path, edit) -> None:
    """A suite that lets changed solutions through is too weak; a reason that is no longer true is a lie."""
    edit("tests/visible/test_toy.py", 'student.expect("spread_of_three")', 'student.call("spread", values=[1.0])')
    edit("tests/hidden/test_toy.py", 'student.expect("default_scale", spread_alone)', 'student.call("spread", values=[1.0])')
    found = list(verify(toy, "toy"))
    assert any("mutants that are not equivalent are caught" in line and fault for line, fault in found)
    change = "(max(values) - min(values)) * scale -> max(values) - min(values)"
    assert f"mutant survives, and survivors.toml does not say why: spread: {change}" in [line for line, _ in found]


def test_a_survivor_that_is_caught_is_told(toy: Path) -> None:
    """What survivors.toml says must be true."""
    text = '[[survivor]]\nquestion = "total"\nchange = "0.0 -> 1.0"\nreason = "none"\nequivalent = true\n'
    (toy / "solutions" / "toy" / "survivors.toml").write_text(text)
    assert any("survivors.toml is stale: total: 0.0 -> 1.0" in line for line in faults(toy))


LEAKS = "def spread(submitted, values, scale=None):"
IDLE = """\
    count = len(values) + 1
    count = 3 * count - len(values)
    if count == -5:
        count = min(count, 2)
"""


def test_a_driver_that_does_what_nobody_notices_is_told(toy: Path, edit) -> None:
    """What a driver computes in vain proves nothing; what the solution never comes to is for wrong submissions."""
    edit("tests/drivers/toy.py", f"{LEAKS}\n", f"{LEAKS}\n{IDLE}")
    found = list(verify(toy, "toy"))
    (line,) = [line for line, fault in found if fault is False and line.endswith("aim 90%)")]
    assert re.match(r"\d+ of \d+ changes of drivers and cases that have an effect are noticed \(", line)
    silent = [line for line, _ in found if line.startswith("has no effect on the works that it was tried on: ")]
    assert any(line.endswith("drivers: spread: len(values) + 1 -> len(values) - 1") for line in silent)
    assert not any("min(count, 2) ->" in line or "-> (nothing)" in line for line in silent if "-5" in line or "min" in line)
    entry = '[[survivor]]\nquestion = "QUESTION"\nchange = "CHANGE"\nreason = "none"\nequivalent = true\n'
    path = toy / "solutions" / "toy" / "survivors.toml"
    path.write_text(
        "\n".join(
            entry.replace("QUESTION", question).replace("CHANGE", change)
            for question, change in (("drivers", "spread: *count*"), ("drivers", "spread: len(*"), ("cases", "gone: *"))
        )
    )
    assert faults(toy) == ["survivors.toml is stale: cases: gone: * is no longer one of the changes"]


def test_a_fact_that_no_check_looks_at_counts(toy: Path, edit) -> None:
    """Catches: changes of what a driver returns that are taken for changes without effect, because no check notices them."""
    edit("tests/drivers/toy.py", f"{LEAKS}\n    return {{", f'{LEAKS}\n    return {{"count": len(values) + 1, ')
    edit("tests/visible/test_toy.py", 'student.expect("spread_of_three")', 'student.expect("spread_of_three", spread_alone)')
    edit(
        "tests/visible/test_toy.py",
        "from grader.judge import points\n",
        "from grader.judge import points\nfrom views import spread_alone\n",
    )
    build(toy, "toy")
    found = [line for line, _ in verify(toy, "toy")]
    assert "no check notices, and survivors.toml does not say why: drivers: spread: len(values) + 1 -> len(values) - 1" in found
    (line,) = [line for line in found if "that have an effect are noticed" in line]
    caught, counted = map(int, re.findall(r"\d+", line)[:2])
    assert caught < counted


FIRST_IS_LARGEST = """

@mistake("spread", hint="Is the first value the largest?")
def first_is_largest(values, scale=1.0):
    return (values[0] - min(values)) * scale
"""


def test_a_changed_case_is_compared_with_the_case_as_it_was(toy: Path, tmp_path: Path) -> None:
    """Catches: mistakes that are graded with a changed case twice, so that no such change is ever noticed by them."""
    with open(toy / "solutions" / "toy" / "mistakes.py", "a") as file:
        file.write(FIRST_IS_LARGEST)
    build(toy, "toy")
    home = AssignmentFiles(toy, "toy")
    solution = (home.solution / "submitted.py").read_text()
    wrong = next(one for one in load_catalogue(home, "mistakes") if one.id == "first_is_largest")
    work = OtherWork("spread", wrong.submission, frozenset({"visible/test_spread"}))
    other = ("visible", "spread_of_three", {"values": [2.5, -2.0, 4.0], "scale": 3.0})
    changed = Change("cases", "another first value", frozenset({"spread"}), work.lost, case=other)
    same = ("visible", "spread_of_three", {"values": [1.5, -2.0, 4.0], "scale": 3.0})
    baseline = tmp_path / "baseline"
    with Grader(home, SUITES) as grader:
        assert write_baseline(grader, solution, baseline) == []
        attempt = partial(try_change, grader, solution, path=baseline)
        assert attempt(changed) is Effect.NONE
        assert attempt(changed, works=[work]) is Effect.NOTICED
        assert attempt(replace(changed, case=same), works=[work]) is Effect.NONE


FORMS = """\
    found = submitted.total(values)
    return {"total": found[0] if isinstance(found, tuple) else found}
"""
IN_A_TUPLE = """

@alternative("total")
def total_in_a_tuple(values):
    return (sum(values),)
"""


def test_a_driver_is_noticed_by_other_work_too(toy: Path, edit) -> None:
    """What a driver does for another form of right work is proven by an alternative of that form, and by nothing else."""
    edit("tests/drivers/toy.py", '    return {"total": submitted.total(values)}\n\n\ndef spread', f"{FORMS}\n\ndef spread")
    change = "drivers: total: found[0] if isinstance(found, tuple) else found -> found"
    assert any(line.endswith(change) for line, _ in verify(toy, "toy"))
    path = toy / "solutions" / "toy" / "alternatives.py"
    path.write_text(path.read_text() + IN_A_TUPLE)
    assert not any(line.endswith(change) for line, _ in verify(toy, "toy"))


def test_a_case_whose_input_nobody_looks_at_is_told(toy: Path, edit) -> None:
    """A number that the answer does not depend on proves nothing, however it is chosen."""
    edit("tests/drivers/toy.py", "def total(submitted, values):", "def total(submitted, values, gamma=0.5, rows=0):")
    edit(
        "solutions/toy/cases.py",
        '{"values": [1.5, -2.0, 4.0]}',
        '{"values": [1.5, -2.0, 4.0], "gamma": 0.9, "rows": [3.0, 4.0]}',
    )
    build(toy, "toy")
    silent = [line.partition("on: ")[2] for line, _ in verify(toy, "toy") if line.startswith("has no effect on the works")]
    assert silent == [
        "cases: three_values: gamma 0",
        "cases: three_values: gamma 1",
        "cases: three_values: gamma ten times as large",
        "cases: three_values: rows ten times as large",
        "cases: three_values: rows of the first row",
        "cases: three_values: rows of equal rows",
    ]


def test_changes_of_a_driver_concern_who_calls_it() -> None:
    """Catches: changes that are tried where the same word means something else, and not where the driver is called."""
    home = AssignmentFiles(ROOT, "ppo_agent")
    text = home.drivers.read_text(encoding="utf-8")
    reached = {
        text[: text.index(line)].count("\n") + 1 for line in ("    network = submitted.Critic(", "    count = sum(map(sum,")
    }
    concerned = {change.change.partition(":")[0]: change.questions for change in make_driver_changes(home, reached)}
    assert concerned["critic"] == {"Critic"}
    assert "PPOAgent.update" in concerned["updating"]


def test_too_many_changes_are_drawn_by_a_seed() -> None:
    """The same ones with the same seed, others with another, and no more than there is time for."""
    every = [Change(kind, str(number), frozenset(), frozenset()) for kind in TRIED for number in range(1000)]
    drawn = draw_changes(every, 1)
    assert drawn == draw_changes(every, 1) != draw_changes(every, 2)
    assert {kind: sum(change.question == kind for change in drawn) for kind in TRIED} == TRIED


def test_a_mistake_that_costs_points_elsewhere_is_told(toy: Path, edit) -> None:
    """A question stands alone: a mistake in one function must not cost points of another, unless there is a reason."""
    edit("tests/drivers/toy.py", LEAKS, f"{LEAKS}\n    assert submitted.total([2.0, 2.0, 0.0]) == 4.0")
    costs = "the mistake begins_with_one costs 2 points outside total, more than a tenth of the 3 points on its own question"
    checks = "visible/test_spread (spread), hidden/test_default_scale (spread)"
    found = list(verify(toy, "toy"))
    assert [line for line, fault in found if fault and "outside" in line] == [f"{costs}: {checks}", PRODUCT]
    assert ("largest collateral: 2 of 3 points (begins_with_one)", None) in found
    allow(toy, ("begins_with_one", "it is in the course's own skeleton"), ("product", "so is this"))
    found = list(verify(toy, "toy"))
    assert [line for line, fault in found if fault] == []
    assert (f"{costs}: {checks} (allowed: it is in the course's own skeleton)", None) in found


PRODUCT = (
    "the mistake product costs 2 points outside total, more than a tenth of the 3 points on its own question: "
    "visible/test_spread (spread), hidden/test_default_scale (spread)"
)


def allow(root: Path, *entries: tuple[str, str]) -> None:
    """Write collateral.toml."""
    blocks = [f'[[collateral]]\nmistake = "{mistake}"\nreason = "{reason}"\n' for mistake, reason in entries]
    (root / "solutions" / "toy" / "collateral.toml").write_text("\n".join(blocks), encoding="utf-8")


def test_an_exception_that_is_not_needed_is_told(toy: Path) -> None:
    """What collateral.toml says must be true, and be the exception: more than five are a habit."""
    names = ["product", "begins_with_one", "scale_ignored", "long_gone", "other_default", "smallest_forgotten"]
    allow(toy, *((name, "none") for name in names))
    stale = [f"collateral.toml is stale: {name} needs no exception, or is no longer in the catalogue" for name in names]
    assert faults(toy) == [*stale, "collateral.toml allows 6 exceptions; at most 5 are allowed"]


def check(name: str, question: str = "total", points: float = 1.0) -> CheckResult:
    return CheckResult(id=name, question=question, suite=name.partition("/")[0], title="", max_points=points)


VISIBLE, HIDDEN, OTHER = check("visible/a", points=0.5), check("hidden/b", points=2.5), check("visible/c", "spread", 0.3)


@pytest.mark.parametrize(
    ("form", "lost", "told"),
    [
        (False, (VISIBLE, HIDDEN), ""),
        (False, (VISIBLE, HIDDEN, OTHER), ""),  # a tenth
        (False, (HIDDEN, OTHER), "costs 0.3 points outside total, more than a tenth of the 2.5 points on its own question"),
        (False, (VISIBLE,), "costs 0.5 of 3 points of total, less than a fifth"),
        (True, (VISIBLE,), ""),
        (
            True,
            (VISIBLE, HIDDEN),
            "has form=True and must fail one check, but fails 2: visible/a (total), hidden/b (total)",
        ),
        (True, (VISIBLE, OTHER), "has form=True and must fail one check, but fails 2"),
    ],
)
def test_a_mistake_costs_its_own_question_and_enough(
    built_toy: Path, form: bool, lost: tuple[CheckResult, ...], told: str
) -> None:
    """A fifth of its question at least; a fault of form its own check, and nothing else."""
    assignment = AssignmentFiles(built_toy, "toy").assignment
    checks = [VISIBLE, HIDDEN, OTHER]
    cost = measure_cost(assignment, checks, Variant("m", "total", "total", "", form=form), {failed.id for failed in lost})
    found = [line for line, fault in judge_costs([cost], []) if fault]
    assert [told in line for line in found] == ([True] if told else [])


def test_a_mistake_that_only_hidden_checks_notice_is_told(toy: Path, edit) -> None:
    """A student cannot know of it; one that copies the visible answers is what hidden checks are for."""
    edit("solutions/toy/mistakes.py", ", copies_answers=True", "")
    edit("solutions/toy/mistakes.py", 'hint="What is scale for?"', 'hint="What is scale for?", copies_answers=True')
    assert faults(toy) == [
        "the mistake nothing_of_nothing passes every visible check; it fails hidden/test_nothing_to_add (total)",
        "the mistake scale_ignored is marked copies_answers=True, but fails visible checks",
        "1 of 7 mistakes pass all visible checks (2 copy its answers)",
    ]


PLACED = """

@placement("product", "in a loop")
def product_in_a_loop(values):
    result = 1.0
    for value in values:
        result = result * value
    return result


exchanged = altered(
    "spread",
    hint="Which of the two is larger?",
    placements={"in the first": {"max(values)": "-max(values)"}, "in the second": {"- min(values)": "+ MIN(values)"}},
)
"""


def test_each_placement_of_a_mistake_must_be_caught(toy: Path, edit) -> None:
    """A mistake that is caught in one place only proves less than it seems to; all places share its hint."""
    edit("solutions/toy/mistakes.py", "altered, mistake", "altered, mistake, placement")
    with open(toy / "solutions" / "toy" / "mistakes.py", "a", encoding="utf-8") as file:
        file.write(PLACED.replace("MIN", "min"))
    build(toy, "toy")
    found = list(verify(toy, "toy", ProofOptions(quick=True)))
    assert [line for line, fault in found if fault] == []
    assert ("10 of 10 mistakes are caught", False) in found
    assert ("3 of these are placements of 2 mistakes", None) in found
    assert ("10 of 10 mistakes are recognized by their own hint (at least 90% must be)", False) in found
    assert re.search(r"^  product, in a loop +xx[x.]$", "\n".join(line for line, _ in found), re.MULTILINE)
    edit("solutions/toy/mistakes.py", '{"- min(values)": "+ min(values)"}', '{"- min(values)": "- (min(values))"}')
    told = faults(toy, quick=True)
    assert any("the mistake exchanged, in the second passes every check of spread" in line for line in told)


SECOND = """

def largest(values):
    # BEGIN SOLUTION spread
    return max(values)
    # END SOLUTION
"""
IN_SECOND = """

first_is_largest = altered(
    "spread", {"max(values)": "values[0]"}, hint="Is the first value the largest?", function="largest"
)


@mistake("spread", hint="Is the second value the largest?", function="largest")
def second_is_largest(values):
    return values[1]


@placement("second_is_largest", "of a list")
def second_of_a_list(values):
    return list(values)[1]
"""


def test_a_mistake_can_be_in_a_second_function_of_its_question(toy: Path, edit) -> None:
    """Catches: a mistake that cannot be declared because it is in a helper; one whose evidence or hint is lost there."""
    edit("solutions/toy/submitted.py", "(max(values) - min(values))", "(largest(values) - min(values))")
    edit("solutions/toy/mistakes.py", '{"(max(values) - min(values))": "max(values)"}', '{" - min(values)": ""}')
    edit("solutions/toy/alternatives.py", "(max(values) - min(values))", "(largest(values) - min(values))")
    edit("solutions/toy/mistakes.py", "altered, mistake", "altered, mistake, placement")
    for name, more in (("submitted.py", SECOND), ("mistakes.py", IN_SECOND)):
        path = toy / "solutions" / "toy" / name
        path.write_text(path.read_text(encoding="utf-8") + more, encoding="utf-8")
    home = AssignmentFiles(toy, "toy")
    made = {one.id: one for one in load_catalogue(home, "mistakes") if one.replaces}
    assert list(made) == ["first_is_largest", "second_is_largest", "second_is_largest, of a list"]
    assert "    return list(values)[1]" in made["second_is_largest, of a list"].submission
    build(toy, "toy")
    assert "first_is_largest" in read_mistakes(home.mistakes["visible"], "toy")
    found = list(verify(toy, "toy"))
    assert [line for line, fault in found if fault] == []
    edit("solutions/toy/mistakes.py", 'function="largest"', 'function="larger"')
    assert any("the solution defines no larger at its top level; it has " in line for line in faults(toy, quick=True))


LEARNING = """

@mistake("both", hint="What do you return for four values?", learns=False)
def nothing_of_four(values):
    return sum(values) if len(values) != 4 else 0.0
"""


def test_a_mistake_that_end_to_end_checks_alone_catch_is_proven(toy: Path, edit) -> None:
    """Catches: a mistake of a question with `needs`, whose evidence is called stale by every proof, build or not."""
    path = toy / "solutions" / "toy" / "mistakes.py"
    path.write_text(path.read_text(encoding="utf-8") + LEARNING, encoding="utf-8")
    build(toy, "toy")
    assert list(list_stale_files(AssignmentFiles(toy, "toy"))) == []
    found = list(verify(toy, "toy"))
    assert [line for line, fault in found if fault] == []
    assert ("8 of 8 mistakes are caught", False) in found
    assert ("7 of 7 mistakes are recognized by their own hint (at least 90% must be)", False) in found
    edit("solutions/toy/mistakes.py", "if len(values) != 4 else", "if len(values) != 9 else")
    build(toy, "toy")
    caught = "the mistake nothing_of_four is caught by checks of total (visible/test_many) before those of both"
    assert f"solutions/toy/mistakes.py:42: {caught}: declare it for total" in faults(toy, quick=True)


def test_chance_is_measured(toy: Path) -> None:
    """--flake grades with many seeds, keeps the counts, and finds fault with a check that chance decides."""
    found = list(verify(toy, "toy", ProofOptions(quick=True, seeds=3)))
    assert [line for line, fault in found if fault] == []
    assert ("3 gradings of the solution: no check ever failed", False) in found
    assert ("0 of 3 gradings of agents that cannot learn pass visible/test_both", False) in found
    assert '"visible/test_both": "3 of 3"' in (toy / "benchmarks" / "results" / "toy_flake.json").read_text()


def test_chance_is_measured_with_mistakes_of_the_whole_agent(toy: Path) -> None:
    """Catches: a mistake in the training itself that is never graded with many seeds."""
    home = AssignmentFiles(toy, "toy")
    solution = (home.solution / "submitted.py").read_text(encoding="utf-8")
    own = Variant("own", "both", "total", solution.replace("result = 0.0", "result = 1.0"), learns=False)
    with Harness(home) as harness, TrialPool(harness, 1, "chance") as pool:
        found = list(measure_flakes(pool, home, 1, [], [own]))
    assert ("0 of 1 gradings of agents that cannot learn pass visible/test_both", False) in found


def test_exit_code_and_lines(toy: Path, edit, command_line, capsys: pytest.CaptureFixture) -> None:
    """CI must fail when the proof does, with a line that says why."""
    verified = partial(command_line, "verify", "toy", "--quick", root=toy)
    assert verified() == 0
    edit("solutions/toy/mistakes.py", "Which value does your loop never reach?", "")
    assert verified() == 1
    assert "last_value_left_out has no hint; add the question that a tutor would ask" in capsys.readouterr().out


# Two mistakes in one submission


@pytest.mark.parametrize(
    ("other", "tried"),
    [
        ({"a": ["12345678", 2.0]}, True),  # both change fact a
        ({"b": ["12345678", 2.0]}, False),  # recognized by its own fact
        ({"a": ["12345678"], "b": ["12345678", 2.0]}, False),  # there is no number in what they share
    ],
)
def test_pairs_that_change_the_same_numbers_are_tried(built_toy: Path, other: dict[str, list], tried: bool) -> None:
    """Catches: a build that takes hours for pairs which grading recognizes by itself, or leaves out those that it cannot."""
    home = AssignmentFiles(built_toy, "toy")
    shows = {
        "smallest_forgotten": {"check": [{"case": {"a": ["abcdefab", 1.0]}}]},
        "scale_ignored": {"check": [{"case": other}]},
    }
    solution = (home.solution / "submitted.py").read_text(encoding="utf-8")
    pairs, count = list_pairs(solution, load_catalogue(home, "mistakes"), shows)
    assert [(pair.one.id, pair.other.id) for pair in pairs] == ([("smallest_forgotten", "scale_ignored")] if tried else [])
    assert count > 1


def test_what_pairs_show_and_get(built_toy: Path) -> None:
    """Catches: a pair in one number that is not recorded, and one that nothing can tell counted among the others."""
    home = AssignmentFiles(built_toy, "toy")
    recorded = read_mistakes(home.mistakes["visible"], "toy")
    assert recorded["smallest_forgotten"].pairs.keys() == {"scale_ignored"}
    catalogue = [one for one in load_catalogue(home, "mistakes") if one.question == "spread"]
    with Harness(home) as harness, TrialPool(harness, 1, "pairs") as pool:
        ((line, fault),) = measure_hints(pool, home, [], catalogue, seed=1)
    assert fault is None
    assert "2 get both hints, 4 get one of them, 0 get no hint" in line
    assert line.endswith("; in 4 of these pairs, one mistake hides the other from all checks")


def test_a_mistake_without_effect_is_not_counted(built_toy: Path) -> None:
    """Catches: right code, in which a mistake changes only lines that never run, counted as a mistake without a hint."""
    home = AssignmentFiles(built_toy, "toy")
    catalogue = [one for one in load_catalogue(home, "mistakes") if one.question == "spread"]
    last = "    return (max(values) - min(values)) * scale\n"
    early = f"    if values:\n        return scale * (max(values) - min(values))\n{last}"
    solution = (home.solution / "submitted.py").read_text(encoding="utf-8")
    assert solution.count(last) == 1
    right = replace(catalogue[0], id="returns_early", submission=solution.replace(last, early), hint="")
    with Harness(home) as harness, TrialPool(harness, 1, "pairs") as pool:
        *_, (line, _) = measure_hints(pool, home, [right], catalogue, seed=1)
    assert line.startswith("of 0 mistakes in an alternative")
    assert line.endswith("; 3 more change nothing that a visible check sees")
