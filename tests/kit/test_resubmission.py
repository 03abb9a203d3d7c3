"""Who submits again keeps outcomes that the edit cannot have changed, and no others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from grader.course.code_versions import find_unchanged
from grader.course.results import ResultsFolder, SubmissionResult
from tests.kit.toy_class import SOLUTION, Class, outcomes

pytestmark = pytest.mark.recorded

INPUTS = (
    "command:course",
    "command:build",
    "grader/judge/*.py",
    "grader/sandbox/*.py",
    "tests/kit/toy/solutions/toy/submitted.py",
)

SPREAD = "return (max(values) - min(values)) * scale"
OTHER_SPREAD = "return scale * (max(values) - min(values))"
TOTAL = "result = result + value"
HELPER = "\n\ndef add(one, other):\n    return one + other\n"
HELPED = SOLUTION.replace(TOTAL, "result = add(result, value)") + HELPER
# By name: what was submitted first and then, and how many of the six checks keep their outcome.
EDITS: dict[str, tuple[str, str, int]] = {
    "one_function": (SOLUTION, SOLUTION.replace(SPREAD, OTHER_SPREAD), 3),
    "comment": (SOLUTION, SOLUTION.replace(TOTAL, f"{TOTAL}  # so far"), 6),
    "spoiled": (SOLUTION, SOLUTION.replace(SPREAD, "return 0.0"), 3),
    "mended": (SOLUTION.replace(TOTAL, "result = value"), SOLUTION, 2),
    "still_wrong": (SOLUTION.replace(TOTAL, "result = value"), "\n" + SOLUTION.replace(TOTAL, "result = value"), 2),
    "helper": (HELPED, HELPED.replace("one + other", "other + one"), 2),
    "import": (SOLUTION, f"SCALE = 1.0\n{SOLUTION}", 0),
    "computed": (
        SOLUTION + "\n\nNAMES = list(globals())\n",
        SOLUTION.replace(SPREAD, OTHER_SPREAD) + "\n\nNAMES = list(globals())\n",
        0,
    ),
    "compiler": (SOLUTION, SOLUTION.replace(SPREAD, f"nonlocal scale\n    {SPREAD}"), 0),
    "unwritten": (SOLUTION, SOLUTION.replace(SPREAD, "raise NotImplementedError"), 3),
}


def write(export: Path, version: int) -> None:
    export.mkdir(exist_ok=True)
    for name, edit in EDITS.items():
        (export / f"{name}.py").write_text(edit[:2][version], encoding="utf-8")


@pytest.fixture(scope="module")
def submitted_twice(built_toy: Path, tmp_path_factory: pytest.TempPathFactory) -> Class:
    """A class that was graded, has submitted again, and was graded again; to be copied, not changed."""
    folder = tmp_path_factory.mktemp("twice")
    twice = Class(built_toy, folder / "export", folder / "out")
    write(twice.export, 0)
    twice.course()
    write(twice.export, 1)
    return twice._replace(printed=twice.course())


def test_what_an_edit_cannot_have_changed_is_kept(submitted_twice: Class) -> None:
    """Catches: a function that runs again for nothing, a helper or an import that is overlooked, a stale line of a failure."""
    results = submitted_twice.results()
    assert {name: results[name].taken_over for name in EDITS} == {name: edit[2] for name, edit in EDITS.items()}
    assert f"{len(EDITS)} resubmitted: passed checks run again only if" in submitted_twice.printed


def test_results_are_those_of_a_whole_grading(submitted_twice: Class, tmp_path: Path) -> None:
    """Catches: points, hints or messages of the earlier file in the report about the new one."""
    afresh = submitted_twice._replace(folder=tmp_path / "out")
    afresh.course()

    def describe(result: SubmissionResult) -> object:
        checks = [check.model_dump(exclude={"seconds"}) for check in result.report.checks]
        return result.status, result.report.points, checks, result.shows, result.checks

    taken, whole = submitted_twice.results(), afresh.results()
    assert {name: describe(taken[name]) for name in EDITS} == {name: describe(whole[name]) for name in EDITS}
    assert not any(result.taken_over for result in whole.values())


@pytest.mark.parametrize("damage", ["code", "result", "refused"])
def test_nothing_is_taken_from_what_cannot_be_relied_on(submitted_twice: Class, tmp_path: Path, damage: str) -> None:
    """Catches: points for code that the earlier grading never saw, or from a result that did not end well."""
    part = submitted_twice.copy(tmp_path)._replace(export=tmp_path / "export")
    write(part.export, 1)
    text = SOLUTION.replace(TOTAL, "result = 2 * value")
    (part.export / "one_function.py").write_text(text, encoding="utf-8")
    folder = ResultsFolder(part.folder)
    before = part.results()["one_function"]
    if damage == "code":  # as if the file had been replaced while the class was graded
        (code,) = part.folder.glob(f"code/one_function.{before.key.submission[:12]}.json")
        other = code.read_text(encoding="utf-8").replace(TOTAL, "result = 2 * value")
        assert "2 * value" in other
        code.write_text(other, encoding="utf-8")
    elif damage == "result":
        folder.place("one_function", before.key).write_text("{", encoding="utf-8")
    else:
        report = before.report.model_copy(update={"refused_calls": ("ptrace",)})
        folder.write(before.model_copy(update={"report": report}))
    part.course()
    result = part.results()["one_function"]
    assert (result.taken_over, result.report.points) == (0, 3)


def test_an_interrupted_class_remembers_the_earlier_submission(submitted_twice: Class, tmp_path: Path) -> None:
    """Catches: a second start that has forgotten what the first one was about to take over."""
    part = submitted_twice.copy(tmp_path)
    result = part.results()["one_function"]
    (part.folder / "results" / ResultsFolder(part.folder).place("one_function", result.key).name).unlink()
    part.course()
    assert part.results()["one_function"].taken_over == 3
    assert outcomes(part.results()["one_function"]) == outcomes(result)


def test_students_with_the_same_file_are_graded_once(built_toy: Path, tmp_path: Path) -> None:
    """Catches: a class that pays for each copy, and a copy with the other student's name in it."""
    same = Class(built_toy, tmp_path / "export", tmp_path / "out")
    same.export.mkdir()
    for name in ("ann", "bob", "cleo"):
        (same.export / f"{name}.py").write_text(SOLUTION, encoding="utf-8")
    (same.export / "dan.py").write_text(SOLUTION.replace(SPREAD, OTHER_SPREAD), encoding="utf-8")
    same.course()
    results = same.results()
    assert {name: result.report.points for name, result in results.items()} == dict.fromkeys(("ann", "bob", "cleo", "dan"), 6)
    assert sorted(result.same_as for result in results.values()) == ["", "", "ann", "ann"]
    assert [results[name].report.submission for name in ("ann", "bob")] == ["ann.py", "bob.py"]
    assert "ann" not in results["bob"].report.model_dump_json()


AGENT = """
class Agent:
    def __init__(self):
        self.count = 0

    def act(self, state):
        return self.choose(state)

    def choose(self, state):
        return 1

    def learn(self, batch):
        return 2


class Model(nn.Module):
    def forward(self, x):
        return x


def returns(rewards, gamma=0.9):
    return 1


def returns_twice(rewards):
    return returns(returns(rewards))


@register
def noted():
    return 1


def again():
    return 1


def again():
    return 2
"""


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("        return 2", "        return 3", {"learn"}),
        ("        return 1\n", "        return 5\n", {"act", "choose"}),
        ("self.count = 0", "self.count = 1", {"act", "choose", "learn"}),
        ("        return x", "        return 2 * x", {"model"}),
        (
            "def returns(rewards, gamma=0.9):\n    return 1",
            "def returns(rewards, gamma=0.9):\n    return 7",
            {"returns", "twice"},
        ),
        ("gamma=0.9", "gamma=0.8", set("every")),
        ("def noted():\n    return 1", "def noted():\n    return 5", set("every")),
        ("class Agent:", "class Agent(Base):", set("every")),
        ("    return 1\n\n\ndef again():\n    return 2", "    return 2\n\n\ndef again():\n    return 1", {"again"}),
        ("        return 2", "        return getattr(self, 'cou' + 'nt')", set("every")),
        ("        return 2", "        return getattr(self, 'count')", {"learn"}),
        ("        return 2", "        return vars(self)", set("every")),
        ("        return 2", '        """Learn."""\n        return 2  # so far', set()),
        ("        return 2", "        return 2\n    if", set("every")),
    ],
)
def test_only_what_reaches_the_edit_has_changed(old: str, new: str, changed: set[str]) -> None:
    """Catches: a method that another one calls, a class that torch calls, a default, a decorator, a second definition."""
    names = {
        "act": ["Agent", "act"],
        "choose": ["Agent", "choose"],
        "learn": ["Agent", "learn"],
        "model": ["Model"],
        "returns": ["returns"],
        "twice": ["returns_twice"],
        "again": ["again"],
    }
    assert AGENT.count(old) == 1
    earlier, now = (np.frombuffer(text.encode(), np.uint8) for text in (AGENT, AGENT.replace(old, new)))
    unchanged = find_unchanged(None, earlier, now, names)
    assert unchanged == ([] if changed == set("every") else [name for name in names if name not in changed])
