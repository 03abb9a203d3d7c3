"""The author says which mistakes a check is there for, and the proof holds the check to them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.assignment import AssignmentFiles
from grader.authoring.inspection import inspect_assignment
from grader.proof.standing import find_gaps
from grader.proof.verify import ProofOptions, verify

pytestmark = pytest.mark.recorded

INPUTS = {
    "*": ("tests/kit/toy/**",),
    "test_verify_has_a_fault_and_says_no_more_than_that": ("command:verify", "tests/kit/toy/**"),
}
ALL = """
[visible]
test_three = ["last_value_left_out"]
test_many = ["last_value_left_out", "product"]
test_spread = ["smallest_forgotten"]

[hidden]
test_nothing_to_add = ["nothing_of_nothing"]
test_default_scale = ["other_default"]
"""


@pytest.fixture
def toy(built_toy: Path, tmp_path: Path) -> Path:
    """A copy of it, in which checks say what they are there for."""
    root = Path(shutil.copytree(built_toy, tmp_path / "toy"))
    (root / "solutions/toy/catches.toml").write_text(ALL, encoding="utf-8")
    return root


def change(toy: Path, old: str, new: str) -> None:
    path = toy / "solutions/toy/catches.toml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def prove(toy: Path) -> tuple[list[str], list[str]]:
    """Return the faults of a quick proof, and its other lines."""
    found = list(verify(toy, "toy", ProofOptions(quick=True)))
    return [line for line, fault in found if fault], [line for line, fault in found if not fault]


def test_checks_that_catch_their_mistakes_are_proven(toy: Path) -> None:
    faults, lines = prove(toy)
    assert faults == []
    assert "5 of 5 checks catch the mistakes listed for them in catches.toml" in lines
    assert "visible/test_many names only mistakes that fail all 2 visible checks of total" in lines
    assert not [line for line in lines if "names no mistake" in line]  # test_both is about both functions together


def test_a_check_is_held_to_its_mistake(toy: Path) -> None:
    """Catches: a check that looks proven because it fails for other mistakes than those of its own idea."""
    change(toy, 'test_default_scale = ["other_default"]', 'test_default_scale = ["scale_ignored"]')
    faults, lines = prove(toy)
    assert faults == ["hidden/test_default_scale should catch the mistake scale_ignored but does not"]
    assert not [line for line in lines if "checks catch the mistakes" in line]


def test_a_check_without_a_mistake_is_remarked_only_where_others_name_some(toy: Path) -> None:
    change(toy, 'test_default_scale = ["other_default"]', "")
    faults, lines = prove(toy)
    assert faults == []
    assert "hidden/test_default_scale has no mistake listed in catches.toml" in lines
    (toy / "solutions/toy/catches.toml").unlink()
    assert not [line for line in prove(toy)[1] if "there for" in line]


def test_a_mistake_means_each_of_its_places(toy: Path) -> None:
    """Catches: a check that sees a mistake in one place of a function and misses it in another."""
    mistakes = toy / "solutions/toy/mistakes.py"
    placed = '\n\nfrom grader.proof.catalogue import placement\n\n\n@placement("other_default", "as a factor")\n'
    mistakes.write_text(mistakes.read_text() + placed + "def another(values, scale=1.0):\n    return 0.0\n", encoding="utf-8")
    change(toy, 'test_spread = ["smallest_forgotten"]', 'test_spread = ["other_default, as a factor"]')
    assert [fault for fault in prove(toy)[0] if "should catch" in fault] == []
    change(toy, 'test_spread = ["other_default, as a factor"]', 'test_spread = ["other_default"]')
    (fault,) = [fault for fault in prove(toy)[0] if "should catch" in fault]
    assert fault == "visible/test_spread should catch the mistake other_default but does not"


@pytest.mark.parametrize(
    ("old", "new", "slip"),
    [
        ("test_spread", "test_spred", ":5: there is no check visible/test_spred; did you mean 'visible/test_spread'?"),
        ('"product"', '"produkt"', ":4: there is no mistake 'produkt' in mistakes.py; did you mean 'product'?"),
        (
            '"smallest_forgotten"',
            '"product"',
            ":5: product is a mistake of total, so no proof tries it on visible/test_spread (spread)",
        ),
        ("[hidden]", "[hiden]", "there is no key 'hiden' here; did you mean 'hidden'?"),
        ('["nothing_of_nothing"]', '"nothing_of_nothing"', "expected a list, found 'nothing_of_nothing'"),
    ],
    ids=["check", "mistake", "question", "suite", "form"],
)
def test_slips_are_said_in_one_line(toy: Path, old: str, new: str, slip: str) -> None:
    change(toy, old, new)
    (found,) = [one.describe(toy) for one in inspect_assignment(toy, "toy") if one.stops]
    assert found.startswith("solutions/toy/catches.toml")
    assert slip in found
    assert "\n" not in found


def test_verify_has_a_fault_and_says_no_more_than_that(
    toy: Path, command_line: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    """Catches: a proof that counts as done for `release` although a check misses what it is there for."""
    change(toy, 'test_default_scale = ["other_default"]', 'test_default_scale = ["scale_ignored"]')
    assert command_line("verify", "toy", "--quick", "--workers", "1", root=toy) == 1
    fault = "hidden/test_default_scale should catch the mistake scale_ignored but does not"
    assert f"FAULT toy: {fault}" in capsys.readouterr().out
    assert find_gaps(AssignmentFiles(toy, "toy")) == [f"the last `verify` found 1 fault, the first: {fault}"]


def test_records_hold_checks_to_their_mistakes(toy: Path) -> None:
    """Catches: a fresh clone that takes the records for a proof, whatever the checks are there for."""
    home = AssignmentFiles(toy, "toy")
    assert [line for line, fault in verify(toy, "toy", ProofOptions(quick=True, anew=True)) if fault] == []
    assert find_gaps(home) == []
    change(toy, 'test_default_scale = ["other_default"]', 'test_default_scale = ["scale_ignored"]')
    assert find_gaps(home) == ["hidden/test_default_scale should catch the mistake scale_ignored but does not"]
