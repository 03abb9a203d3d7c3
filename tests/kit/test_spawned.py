"""Level `basic`, what Windows and macOS have: one spawned worker. Forced here on Linux; the scores must be the same."""

from __future__ import annotations

import os

import pytest

from grader.assignment import AssignmentFiles
from grader.judge.run import GradingOptions, grade
from grader.report.model import Outcome

pytestmark = [pytest.mark.attack, pytest.mark.recorded(kernel=True)]

OWN_SERVERS = True

QUESTION = "get_returns"


@pytest.fixture(autouse=True)
def basic(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask for the level without forking."""
    monkeypatch.setenv("GRADER_LEVEL", "basic")


def test_solution_gets_everything_and_the_report_says_the_level(home: AssignmentFiles) -> None:
    """Scores are the same at every level; what is guaranteed differs and must be told."""
    report = grade(home, home.solution, ("visible", "hidden"))
    assert [check.id for check in report.checks if check.outcome is not Outcome.PASSED] == []
    assert (report.points, report.isolation) == (100, "basic")


def test_stub_gets_nothing(home: AssignmentFiles) -> None:
    """The stub is the stub at every level."""
    report = grade(home, home.stub)
    assert {question.outcome for question in report.questions} == {Outcome.NOT_STARTED}


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        ("while True: pass", Outcome.TIMEOUT),
        ("import os\nos._exit(0)", Outcome.CRASHED),
        ("import ctypes\nctypes.string_at(0)", Outcome.CRASHED),
        ("import sys\nsys.exit(0)", Outcome.FAILED),
        ("return torch.zeros(10**13)", Outcome.MEMORY),
        ("return lambda: 1", Outcome.FAILED),
        ("for i in range(10**5): print(i)\nreturn None", Outcome.FAILED),
        ("return input()", Outcome.FAILED),
    ],
)
def test_a_bad_call_fails_alone(replaced, graded, body: str, outcome: Outcome) -> None:
    """The worker is replaced when it must be, and the next question is graded as ever."""
    report = graded(replaced(get_returns=body), QUESTION, "get_value_net_loss")
    by_question = {question.id: question.outcome for question in report.questions}
    assert by_question == {QUESTION: outcome, "get_value_net_loss": Outcome.PASSED}
    assert report.final


def test_what_a_call_leaves_behind_is_cleared_up(replaced, graded) -> None:
    """One process for all calls: a switch left off, or a given function replaced, must not decide a later check."""
    body = (
        "import os, builtins\n"
        "torch.set_grad_enabled(False)\ntorch.set_default_dtype(torch.float64)\n"
        "utils.SimpleReLuNetwork.forward = None\nutils.RolloutBuffer.add = None\n"
        "os.environ['HOME'] = 'x'\nos.chdir('/')\n"
        "return None"
    )
    report = graded(replaced(get_returns=body), QUESTION, "get_value_net_loss", "get_advantages")
    by_question = {question.id: question.outcome for question in report.questions}
    assert by_question["get_value_net_loss"] == by_question["get_advantages"] == Outcome.PASSED


def test_printed_text_belongs_to_its_call(replaced, graded) -> None:
    """What one call printed must not stand beside the check of another."""
    report = graded(replaced(get_returns="print('one', flush=False)\nreturn None"), QUESTION)
    assert {check.printed for check in report.checks} == {"one\n"}


def test_nothing_is_left_in_the_temporary_folder(home: AssignmentFiles, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A student grades a hundred times a day."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    grade(home, home.solution, options=GradingOptions([QUESTION]))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("list(torch.utils.data.DataLoader([1, 2], num_workers=2))", "may not start processes"),
        ("import subprocess, sys\nsubprocess.run([sys.executable, '-c', ''])", "may not start processes"),
        ("import os\nos.fork()", "may not start processes"),
        ("open('/tmp/loot-debug.txt', 'w').write('x')", "may write only to its working folder"),
        ("import socket\nsocket.create_connection(('10.0.0.1', 80), timeout=1)", "may not use the network"),
    ],
)
def test_what_is_refused_after_handing_in_is_refused_at_home(replaced, graded, body: str, words: str, monkeypatch) -> None:
    """Six of six on one's own machine, and nothing after it was handed in: the worst surprise there is."""
    path = replaced(get_returns=body + "\nreturn None")
    for level in ("basic", "full"):
        monkeypatch.setenv("GRADER_LEVEL", level)
        report = graded(path, QUESTION, "get_value_net_loss")
        by_question = {question.id: question.outcome for question in report.questions}
        assert by_question == {QUESTION: Outcome.FAILED, "get_value_net_loss": Outcome.PASSED}, level
        assert words in report.checks[0].message, level


def test_calls_beforehand_are_made_after_a_failure_was_explained(replaced, graded) -> None:
    """Catches: a cache that passes every check after the first failure, because the worker still leaves those calls out."""
    keeps = "return KEPT.setdefault(len(rollout_buffer.rewards), torch.zeros(len(rollout_buffer.rewards), 1))"
    cached = "if returns.shape not in KEPT:\n    KEPT[returns.shape] = (returns - value_net(observations)).detach()\n"
    cached += "found = KEPT[returns.shape]\nreturn (found - found.mean()) / (found.std() + 1e-10)"
    report = graded(replaced("KEPT = {}\n", get_returns=keeps, get_advantages=cached), QUESTION, "get_advantages")
    messages = {check.question: check.message for check in reversed(report.checks) if check.outcome is Outcome.FAILED}
    assert set(messages) == {QUESTION, "get_advantages"}
    assert "keeps a value from another call" in messages["get_advantages"]
    assert "keeps a value from another call" not in messages[QUESTION]
