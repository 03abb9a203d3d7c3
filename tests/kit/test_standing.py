"""A suite counts as proven by the last proof in the checkout or by records, until it changes."""

from __future__ import annotations

import json
import shutil
from argparse import Namespace
from pathlib import Path

import pytest

from grader.assignment import AssignmentFiles, UsageError, list_assignments
from grader.authoring.build import build
from grader.authoring.new import remove
from grader.commands.shared import require_proven
from grader.proof.standing import LastProof, find_gaps, needs_full_proof
from grader.proof.verify import ProofOptions, verify
from tests.kit.proven_toy import make_proven_toy

pytestmark = pytest.mark.recorded

ROOT = Path(__file__).resolve().parents[2]
INPUTS = {
    "*": ("tests/kit/toy/**",),
    "test_assignments_of_the_repository_count_as_proven": (
        "grading:{name}",
        "tests/proof/{name}.jsonl",
        "solutions/{name}/**",
        "assignments/{name}/**",
    ),
}
SOURCES = {
    "assignments/toy/assignment.toml": ("[[questions]]", "# a remark\n[[questions]]"),
    "solutions/toy/submitted.py": ("    return result", "    return +result"),
    "solutions/toy/cases.py": ("rng.normal(size=9)", "rng.normal(size=8)"),
    "solutions/toy/mistakes.py": ("What is scale for?", "What does scale do?"),
    "tests/drivers/toy.py": ('"total": submitted', '"total": 1 * submitted'),
    "tests/hidden/test_toy.py": ("@points(1", "@points(1.0"),
}


@pytest.fixture(scope="module")
def proven(built_toy: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """To be copied, not changed."""
    return make_proven_toy(built_toy, tmp_path_factory.mktemp("standing") / "kit")


@pytest.fixture
def kit(proven: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(proven, tmp_path / "kit"))


def gaps(root: Path) -> list[str]:
    return find_gaps(AssignmentFiles(root, "toy"))


def test_the_note_of_a_proof_that_found_nothing_is_enough(kit: Path) -> None:
    """Catches: an author who has just proven an assignment, and cannot hand it out without recording every mutant."""
    assert gaps(kit) == []


@pytest.mark.parametrize("file", SOURCES)
def test_any_change_after_the_proof_is_named(kit: Path, file: str) -> None:
    """Catches: a suite that is handed out with checks, cases or a solution that no proof has seen."""
    old, new = SOURCES[file]
    text = (kit / file).read_text(encoding="utf-8")
    assert old in text
    (kit / file).write_text(text.replace(old, new), encoding="utf-8")
    (gap, *_) = gaps(kit)
    expected = {
        "cases": "tests/visible/answers/toy.json is stale: cases.py makes different inputs for many_values",
        "mistakes": "tests/visible/mistakes/toy.json is stale: "
        "mistakes.py has a different question or hint for scale_ignored, or none",
    }
    assert gap == expected.get(Path(file).stem, f"changed since the last `verify`: {file}")


def test_a_quick_proof_keeps_the_faults_of_a_full_one(kit: Path) -> None:
    """Catches: a release after `verify --quick`, although the whole proof of these files has a fault."""
    home = AssignmentFiles(kit, "toy")
    LastProof.begin(home).write(home, ["40 of 53 mutants are caught"])
    LastProof.begin(home).write(home, [], quick=True)
    LastProof.begin(home).write(home, [], quick=True)
    assert gaps(kit) == ["the last `verify` without --quick found 1 fault, the first: 40 of 53 mutants are caught"]
    with pytest.raises(UsageError, match="Next: `python -m grader verify toy`, which"):
        require_proven(kit, Namespace(name="toy", unproven=False))
    LastProof.begin(home).write(home, ["the stub gets 1/5"], quick=True)
    assert gaps(kit) == ["the last `verify` found 1 fault, the first: the stub gets 1/5"]
    assert needs_full_proof(home)
    LastProof.begin(home).write(home, [])
    assert gaps(kit) == []
    LastProof.begin(home).write(home, ["40 of 53 mutants are caught"])
    mistakes = kit / "solutions" / "toy" / "mistakes.py"
    mistakes.write_text(f"# Corrected.\n{mistakes.read_text(encoding='utf-8')}", encoding="utf-8")
    assert not needs_full_proof(home)
    LastProof.begin(home).write(home, [], quick=True)
    assert gaps(kit) == []


def test_a_stub_behind_its_solution_is_stale(kit: Path) -> None:
    """Catches: students who get the stub of last week."""
    stub = kit / "assignments" / "toy" / "submitted.py"
    stub.write_text(stub.read_text(encoding="utf-8").replace("YOUR CODE", "OUR CODE"), encoding="utf-8")
    assert gaps(kit) == ["assignments/toy/submitted.py is stale: solutions/toy/submitted.py makes a different stub"]


def test_a_draft_title_is_not_proven(kit: Path) -> None:
    """Catches: a check of `propose` whose title no author has written, released by records or by an earlier proof."""
    checks = kit / "tests" / "hidden" / "test_toy.py"
    checks.write_text(checks.read_text(encoding="utf-8").replace('"""Without', '"""DRAFT: Without'), encoding="utf-8")
    home = AssignmentFiles(kit, "toy")
    LastProof.begin(home).write(home, [])
    why = "the title of test_default_scale is a draft: write the line that a student reads, and remove DRAFT"
    assert gaps(kit) == [f"tests/hidden/test_toy.py:12: {why}"]
    checks.write_text("def test_broken(:\n", encoding="utf-8")
    assert gaps(kit) == ["changed since the last `verify`: tests/hidden/test_toy.py"]


def test_a_change_taken_back_is_none(kit: Path) -> None:
    """Catches: a proof asked for again because a file has another date, or the line ends of another system."""
    for path in kit.glob("solutions/toy/*.py"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert gaps(kit) == []


def test_another_kit_is_another_proof(kit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: a suite that counts as proven by a judge that compared otherwise."""
    monkeypatch.setattr("grader.proof.standing.hash_kit", lambda *_: "another")
    assert gaps(kit) == ["the kit's own code has changed since the last `verify`"]


@pytest.mark.parametrize("damage", ["", "{", '{"kit": 1}', "[]", '{"kit": "", "files": {}, "faults": [], "more": 1}'])
def test_a_damaged_note_says_nothing(kit: Path, damage: str) -> None:
    """Catches: a traceback, or a proof, out of a file that a full disk has cut off."""
    (kit / ".cache" / "proofs" / "toy.json").write_text(damage)
    assert gaps(kit) == ["it was never proven in this checkout"]


def test_records_speak_for_a_suite_until_it_changes(kit: Path) -> None:
    """Catches: records that nobody asks, that outlive the suite they are about, or that libraries of the machine make stale."""
    shutil.rmtree(kit / ".cache")
    assert not [line for line, fault in verify(kit, "toy", ProofOptions(anew=True)) if fault]
    assert gaps(kit) == []
    records = kit / "tests" / "proof" / "toy.jsonl"
    first, *lines = records.read_text(encoding="utf-8").splitlines()
    catalogue = kit / "solutions" / "toy" / "alternatives.py"
    text = catalogue.read_text(encoding="utf-8")
    catalogue.write_text(f'{text}\n\n@alternative("total")\ndef one_more(values):\n    return sum(list(values))\n')
    assert gaps(kit) == [
        "changed since the proof in tests/proof/toy.jsonl, which has no matching record of alternative one_more"
    ]
    catalogue.write_text(text)
    kept = [line for line in lines if "product" not in line]
    records.write_text("\n".join([first, *kept]))
    assert "no matching record of" in gaps(kit)[0]
    records.write_text("\n".join([first, *lines]) + "\n")
    checks = kit / "tests" / "visible" / "test_toy.py"
    checks.write_text(checks.read_text(encoding="utf-8").replace('expect("three_values")', 'expect("three_values", rtol=0.1)'))
    assert "alternative" in gaps(kit)[0]
    assert "mistake" in gaps(kit)[0]


def test_records_of_other_libraries_fit(kit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: an instructor with another Python, who would have to prove for an hour what the repository has proven."""
    shutil.rmtree(kit / ".cache")
    with monkeypatch.context() as patch:
        patch.setattr("grader.proof.records._libraries", lambda: ["Python 3.99", "torch 9.0"])
        assert not [line for line, fault in verify(kit, "toy", ProofOptions(anew=True)) if fault]
    assert json.loads((kit / "tests" / "proof" / "toy.jsonl").read_text().splitlines()[0])["libraries"][0] == "Python 3.99"
    assert gaps(kit) == []


def test_a_mistake_without_a_record_in_the_answers_is_stale(kit: Path) -> None:
    """Catches: a mistake added after the last build, whose hint no student would read."""
    catalogue = kit / "solutions" / "toy" / "mistakes.py"
    more = '\n\n@mistake("total", hint="Is it the mean?")\ndef mean(values):\n    return sum(values) / len(values)\n'
    catalogue.write_text(catalogue.read_text(encoding="utf-8") + more)
    assert gaps(kit) == [
        "tests/visible/mistakes/toy.json is stale: it lacks mean of mistakes.py (`verify` reports mistakes that no check sees)"
    ]
    build(kit, "toy")
    assert "changed since the last `verify`" in gaps(kit)[0]


def test_the_note_goes_with_the_assignment(kit: Path) -> None:
    """Catches: a proof of an assignment that is gone, found by the next one of its name."""
    remove(kit, "toy", lambda _: True)
    assert not list((kit / ".cache" / "proofs").iterdir())


@pytest.mark.parametrize("name", list_assignments(ROOT))
def test_assignments_of_the_repository_count_as_proven(name: str) -> None:
    """Catches: a rule by which only mutants, or this machine, prove an assignment whose records are in the repository."""
    home = AssignmentFiles(ROOT, name)
    found = find_gaps(home)
    if any("since the last `verify`" in gap or ("has no matching record" in gap and "other trials" in gap) for gap in found):
        pytest.skip(f"the kit or the suite has changed since the records were made: {found[0]}")
    assert found == []
