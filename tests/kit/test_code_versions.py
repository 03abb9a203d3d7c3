"""Which checks an edit of a submission can affect: as many as need be, for every kind of edit."""

from __future__ import annotations

import functools
import random
from pathlib import Path

import numpy as np
import pytest

from grader import answers
from grader.assignment import AssignmentFiles, list_assignments
from grader.course import code_versions, resubmission
from grader.course.results import Course
from grader.proof.catalogue import load_catalogue
from tests.kit.examples import draw_lot, examples

pytestmark = pytest.mark.recorded

INPUTS = {
    "test_no_check_that_a_mistake_fails_counts_as_unchanged": (
        "grading:{name}",
        "solutions/{name}/*.py",
        "utils.py",
        "assignments/*/assignment.toml",
    ),
}
ROOT = Path(__file__).resolve().parents[2]

AGENT = """
import functools

REGISTERED = {}


def register(what):
    REGISTERED["x"] = what
    return what


class Agent:
    def __init__(self):
        self.count = 0

    def act(self, state):
        return self.choose(state)

    def choose(self, state):
        return 1

    def learn(self, batch):
        return 2

    def __hide(self):
        return 3


class Model(nn.Module):
    def forward(self, x):
        return x


class Scaled:
    def scale(self, x):
        return 0 * x


class Mixed(Scaled, nn.Module):
    pass


class Record:
    def keys(self):
        return ["x"]


@register
class Noted:
    def note(self):
        return 4


def returns(rewards, gamma=0.9):
    return 5


def returns_twice(rewards):
    return returns(returns(rewards))


@register
def noted():
    return 6


def step_one(r):
    return 7


@functools.lru_cache(None)
def cached(rewards, step=step_one):
    return step(rewards)


def l·x(r):
    return 8


def compute_lossｅs(r):
    return l·x(r) + 9


def again():
    return 10


def again():
    return 11
"""
NAMES = {
    "act": "Agent act",
    "learn": "Agent learn",
    "hidden": "Agent _Agent__hide",
    "model": "Model",
    "scaled": "Mixed",
    "record": "Record",
    "noted": "act",
    "returns": "returns",
    "twice": "returns_twice",
    "cached": "cached",
    "losses": "compute_losses",
    "again": "again",
}
EVERY = frozenset(NAMES)


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("        return 2", "        return 12", {"learn"}),
        ("        return 1\n", "        return 12\n", {"act"}),
        ("        return 3\n", "        return 12\n", {"act", "learn", "hidden"}),
        ("self.count = 0", "self.count = 1", {"act", "learn", "hidden"}),
        ("        return x", "        return 2 * x", {"model"}),
        ("return 0 * x", "return 1 * x", EVERY),
        ('return ["x"]', 'return ["y"]', {"record"}),
        ("return 4", "return 12", EVERY),
        ("return 5", "return 12", {"returns", "twice"}),
        ("gamma=0.9", "gamma=0.8", EVERY),
        ("return 6", "return 12", EVERY),
        ("return 7", "return 12", EVERY),
        ("return 8", "return 12", {"losses"}),
        ("+ 9", "+ 12", {"losses"}),
        ("class Agent:", "class Agent(Base):", EVERY),
        ("    return 10\n\n\ndef again():\n    return 11", "    return 11\n\n\ndef again():\n    return 10", {"again"}),
        ("        return 2", "        return getattr(self, 'count')", {"learn"}),
        ("        return 2", "        return getattr(self, 'cou' + 'nt')", EVERY),
        ("        return 2", "        return functools.reduce(getattr, 'a.b'.split('.'), self)", EVERY),
        ("        return 2", "        return '{0.act}'.format(self), batch.format(self)", EVERY),
        ("        return 2", "        return vars(self)", EVERY),
        ("        return 2", "        return self.act.__globals__['hel' + 'per']", EVERY),
        ("import functools", "from inspect import currentframe", EVERY),
        ("        return 2", '        """Learn."""\n        return 2  # so far', set()),
        ("        return 2", "        return torch.device('cuda')", EVERY),
        ("        return 2", "        return 2\n    if", EVERY),
    ],
)
def test_only_what_reaches_the_edit_has_changed(old: str, new: str, changed: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: a method that another one calls, a class that torch calls, a default, a decorator, a second definition."""
    monkeypatch.setattr(code_versions, "CHECKS", NAMES)
    assert AGENT.count(old) == 1
    earlier, now = (np.frombuffer(text.encode(), np.uint8) for text in (AGENT, AGENT.replace(old, new)))
    assert code_versions.find_unchanged(None, earlier, now) == [name for name in NAMES if name not in changed]


def test_what_a_support_file_calls_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: a method that only a function of the course names, which the student calls."""
    text = "class Agent:\n    def anneal(self):\n        return 1\n\n\ndef learn(env):\n    training.fit(Agent())\n"
    monkeypatch.setattr(code_versions, "CHECKS", {"learn": "learn"})
    monkeypatch.setattr(code_versions, "SUPPORT", {"fit": "agent anneal"})
    earlier, now = (np.frombuffer(part.encode(), np.uint8) for part in (text, text.replace("return 1", "return 2")))
    assert code_versions.find_unchanged(None, earlier, now) == []
    monkeypatch.setattr(code_versions, "SUPPORT", {})
    assert code_versions.find_unchanged(None, earlier, now) == ["learn"]


@pytest.mark.sampled
@pytest.mark.parametrize("name", list_assignments(ROOT))
def test_no_check_that_a_mistake_fails_counts_as_unchanged(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: a driver that reaches code of the submission by a name which its text does not contain."""
    home = AssignmentFiles(ROOT, name)
    plan = resubmission.ResubmissionPlan(home, Course.model_construct(suites=("visible", "hidden")), ROOT, "basic")
    tables: dict[str, dict[str, str]] = {}
    exec(plan._write_tables(), tables)
    monkeypatch.setattr(code_versions, "CHECKS", tables["CHECKS"])
    monkeypatch.setattr(code_versions, "SUPPORT", tables["SUPPORT"])
    monkeypatch.setattr(code_versions, "CodeVersion", functools.lru_cache(4)(code_versions.CodeVersion))
    solution = np.frombuffer((home.solution / "submitted.py").read_bytes(), np.uint8)
    fails = {
        mistake: {f"{suite}/{check.partition('[')[0]}" for check in stored.shows}
        for suite in ("visible", "hidden")
        for mistake, stored in answers.read_mistakes(home.mistakes[suite], name).items()
    }
    assert code_versions.find_unchanged(None, solution, solution) == [*tables["CHECKS"]]
    mistakes, lot = load_catalogue(home, "mistakes"), draw_lot()
    for mistake in random.Random(lot).sample(mistakes, min(examples(50), len(mistakes))):
        failing = {check: tables["CHECKS"][check] for check in fails.get(mistake.id, set()) & tables["CHECKS"].keys()}
        monkeypatch.setattr(code_versions, "CHECKS", failing)
        text = np.frombuffer(mistake.submission.encode(), np.uint8)
        assert code_versions.find_unchanged(None, solution, text) == [], f"{mistake.id}, GRADER_LOT={lot}"
