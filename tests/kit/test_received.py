"""A failed check shows the arguments that the function received, as they were when it was called."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

import pytest

from grader.answers import Case
from grader.assignment import AssignmentFiles
from grader.judge.received import ReceivedCall, choose_call, describe_call
from grader.judge.run import Grader, GradingOptions
from grader.report.model import CheckResult, Report
from grader.sandbox.arguments import HOLDS, IS, TIMES, note_arguments

pytestmark = pytest.mark.recorded

SUITES = ("visible", "hidden")


def messages(report: Report, question: str) -> list[str]:
    return [check.message for check in report.checks if check.question == question and check.message]


def test_values_and_not_what_a_case_is_made_of(replaced, graded) -> None:
    """Catches: weights = [1] in place of the observations. Of a network, its type and the case's inputs are shown."""
    report = graded(replaced(get_advantages="return returns - 1"), "get_advantages")
    (first, *others) = messages(report, "get_advantages")
    assert "get_advantages received (case advantages_hand_table):" in first
    assert "\n  value_net = a SimpleReLuNetwork\n  observations = [[0, 5], [1, 5], [2, 5], [3, 5]]\n  returns = [[2]" in first
    assert "\nThe grader prepared this call with:\n  weights =" in first
    assert others
    assert not any(" received " in message for message in others)  # once is enough


def test_arguments_as_they_were(replaced, graded) -> None:
    """Catches: what the function made of its arguments, shown as what it was given."""
    body = "returns.zero_()\nobservations.fill_(7)\nreturn returns"
    first = messages(graded(replaced(get_advantages=body), "get_advantages"), "get_advantages")[0]
    assert "observations = [[0, 5]" in first
    assert "returns = [[2]" in first


def test_parts_of_a_buffer(replaced, graded) -> None:
    """An object that is made of arrays is shown by these."""
    first = messages(graded(replaced(get_returns="return torch.zeros(22, 1)"), "get_returns"), "get_returns")[0]
    assert "\n  rollout_buffer.terminateds = bool[22] False, but True at [10], [21]" in first
    assert "\n  discount_factor = 0.5" in first


def test_nothing_of_hidden_checks(replaced, graded) -> None:
    """Catches: a call more for each failed check, and inputs of hidden checks in the process of the submission once more."""
    report = graded(replaced(get_returns="return torch.zeros(22, 1)"), "get_returns", suites=SUITES)
    hidden = [check for check in report.checks if check.suite == "hidden" and check.message]
    assert hidden
    assert not any(" received " in check.message for check in hidden)


def test_one_call_more_for_a_question_that_fails(home: AssignmentFiles, replaced, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: what is asked for though everything passes, or in a proof, which reads no message."""
    with Grader(home) as grader:
        asked: list[str] = []
        ask = grader.harness.sandbox.explain

        def counted(driver: str, *others: Any) -> Any:
            asked.append(driver)
            return ask(driver, *others)

        monkeypatch.setattr(grader.harness.sandbox, "explain", counted)
        grader.grade(home.solution, GradingOptions(["get_returns"]))
        assert asked == []
        wrong: Path = replaced(get_returns="return torch.zeros(22, 1)")
        grader.grade(wrong, GradingOptions(["get_returns"], explains=False))
        assert asked == []
        grader.grade(wrong, GradingOptions(["get_returns"]))
        assert len(asked) == 1


def test_one_of_several_calls_is_told_as_that(home: AssignmentFiles) -> None:
    """Catches: the arguments of one call, which was right, taken for those of the call that failed."""
    questions = {question.id: question for question in home.assignment.questions}
    case = Case("a_case", "a_driver", "get_returns", {})
    once, often = {"discount_factor": 0.9}, {"discount_factor": 0.9, TIMES: 3}
    told = [
        describe_call(case, questions["get_returns"], choose_call(questions["get_returns"], [("get_returns", given)]))
        for given in (once, often)
    ]
    assert told[0] == ["get_returns received (case a_case):", "  discount_factor = 0.9"]
    assert told[1] == [
        "get_returns was called 3 times (case a_case). The mistake may be in a later call. The first call received:",
        "  discount_factor = 0.9",
    ]
    method = describe_call(case, questions["get_returns"], ReceivedCall("Buffer.store", {"reward": 0.5}, times=3))
    assert method[0] == (
        "Buffer.store was called 3 times (case a_case). The mistake may be in an earlier call. The last call received:"
    )
    update = questions["one_update"]
    assert choose_call(update, [("get_returns", once)]) is None  # nothing says that the fault is there


def test_what_is_kept_of_an_earlier_call(replaced, graded) -> None:
    """Catches: a right formula and a cache with too short a key, whose author looks for the fault in the formula."""
    body = (
        "key = len(rollout_buffer.rewards)\n"
        "if key not in KEPT:\n"
        "    total, KEPT[key] = 0.0, []\n"
        "    for t in reversed(range(len(rollout_buffer.rewards))):\n"
        "        total = 0.0 if rollout_buffer.terminateds[t] else total\n"
        "        total = rollout_buffer.rewards[t].item() + discount_factor * total\n"
        "        KEPT[key].insert(0, [total])\n"
        "return torch.tensor(KEPT[key])"
    )
    told = "which variable keeps a value from another call?"
    report = graded(replaced("KEPT = {}\n", get_returns=body), "get_returns")
    kept = messages(report, "get_returns")
    assert told in kept[0]
    assert " received (case " in kept[0]
    assert not any("Why does" in check.hint for check in report.checks)  # what is wrong with numbers of two calls
    wrong = body.replace("+ discount", "- discount").replace("if key not in KEPT", "if True")
    assert not any(
        told in one for one in messages(graded(replaced("KEPT = {}\n", get_returns=wrong), "get_returns"), "get_returns")
    )


@pytest.mark.parametrize(
    "body",
    [
        "import sys\nsys.setprofile(None)\nreturn torch.zeros(22, 1)",
        "import os, sys\nif sys.getprofile():\n    os._exit(0)\nreturn torch.zeros(22, 1)",
        "import sys, time\nif sys.getprofile():\n    time.sleep(100)\nreturn torch.zeros(22, 1)",
        "rollout_buffer.rewards = Strange()\nreturn torch.zeros(22, 1)",
    ],
)
def test_what_hinders_it_costs_nothing(replaced, graded, body: str) -> None:
    """Catches: a grader error, or another verdict, where the second call goes otherwise than the first one."""
    code = "class Strange:\n    def __getattribute__(self, name):\n        raise SystemExit\n"
    path = replaced(get_returns=body)
    path.write_text(path.read_text(encoding="utf-8") + code, encoding="utf-8")
    report = graded(path, "get_returns")
    assert report.final
    assert report.points == 0


def called(source: str, call: str, tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "submitted.py"
    path.write_text(source)
    names: dict[str, Any] = {}
    exec(compile(source, str(path), "exec"), names)
    with note_arguments(str(path)) as found:
        eval(call, names)
    return found


def test_only_what_comes_from_outside(tmp_path: Path) -> None:
    """Catches: a helper of the submission, shown as the function that was asked for."""
    source = "def helper(x):\n    return x\n\ndef outer(a, *rest, key=1, **more):\n    return [helper(a) for _ in range(3)]\n"
    assert called(source, "outer(1, 2, 3, other=[4])", tmp_path) == {
        "outer": {"a": 1, "rest": [2, 3], "key": 1, "more": {"other": [4]}}
    }


def test_calls_without_output_do_not_count_beside_others(tmp_path: Path) -> None:
    """Catches: the arguments of a call that a driver makes to compare with the one that fails."""
    path, names = tmp_path / "submitted.py", dict[str, Any]()
    exec(compile("def run(n):\n    return n\n", str(path), "exec"), names)
    for silent, counted in (([1, 3], 2), ([1, 2, 3], 3)):
        with note_arguments(str(path)) as found:
            for n in (1, 2, 3):
                with contextlib.redirect_stdout(io.StringIO()) if n in silent else contextlib.nullcontext():
                    names["run"](n)
        assert found == {"run": {"n": counted}}


def test_methods_and_the_last_call(tmp_path: Path) -> None:
    """A method is named with its class, and the call that counts is the last one."""
    source = (
        "class Noise:\n    def __init__(self, size):\n        self.size = size\n    def sample(self, n):\n        return n\n"
    )
    found = called(source, "[noise.sample(n) for noise in [Noise(3)] for n in (1, 2)]", tmp_path)
    assert found == {"Noise.__init__": {"size": 3}, "Noise.sample": {"n": 2, TIMES: 2}}
    assert list(found)[-1] == "Noise.sample"


def test_a_function_and_its_first_call(tmp_path: Path) -> None:
    """Catches: numbers that a driver has changed to see what the result depends on, beside what is expected of the others."""
    source = "def first(x):\n    return x\n\ndef run(x):\n    return x\n"
    found = called(source, "[run(1), first(7), run(2), run(3)]", tmp_path)
    assert found == {"run": {"x": 1, TIMES: 3}, "first": {"x": 7}}
    assert list(found)[-1] == "run"


def test_what_is_no_plain_data_is_named(tmp_path: Path) -> None:
    """Catches: values that cannot cross, for which everything would be lost."""
    source = "class Held:\n    def __init__(self):\n        self.part, self._own = 2.5, 1\n\ndef take(*values):\n    pass\n"
    found = called(source, "take(Held(), 1 << 300, len, 'x' * 999, {1: 2}, None)", tmp_path)
    assert found["take"]["values"] == [
        {IS: "a Held", HOLDS: {"part": 2.5}},
        {IS: "a very large int"},
        {IS: "a builtin_function_or_method"},
        "x" * 200,
        {IS: "a dict with 1 entry"},
        None,
    ]


def test_what_a_driver_passes_is_said_to_be_the_graders(tmp_path: Path) -> None:
    """Catches: `env = a Replay`, for which students search their own file, although the driver made it."""
    source = "class Own:\n    pass\n\ndef take(*values):\n    pass\n"
    theirs = "type('Replay', (), {'__module__': 'drivers'})()"
    function = "[f for f in [lambda: 0] if not setattr(f, '__module__', 'drivers')][0]"
    found = called(source, f"take(Own(), {theirs}, {function})", tmp_path)
    assert [value[IS] for value in found["take"]["values"]] == ["an Own", "the grader's Replay", "a function of the grader"]


def test_names_from_the_submission_are_text(replaced, graded) -> None:
    """Catches: escape sequences in the name of a function, which a submission chooses, in the terminal of whoever reads it."""
    from grader.report import terminal

    path = replaced(get_advantages="return returns - 1")
    renamed = "get_advantages.__code__ = get_advantages.__code__.replace(co_name='\\x1b[31mred')\n"
    path.write_text(path.read_text(encoding="utf-8") + renamed, encoding="utf-8")
    report = graded(path, "get_advantages")
    check: CheckResult = next(check for check in report.checks if check.message)
    assert "red received (case" in check.message
    assert "received" in terminal.render_plain(report.for_student())
    assert "\x1b" not in check.message


def test_arguments_beyond_the_dozen_are_counted(home: AssignmentFiles) -> None:
    """Catches: a list that ends after twelve values as if the function had received no more."""
    (question,) = (one for one in home.assignment.questions if one.id == "get_returns")
    received = choose_call(question, [("get_returns", {"buffer": {str(number): number for number in range(15)}})])
    lines = describe_call(Case("a_case", "a_driver", "get_returns", {"weights": [1]}), question, received)
    assert lines[12:] == [
        "  buffer['11'] = 11",
        "  ... and 3 more arguments",
        "The grader prepared this call with:",
        "  weights = [1]",
    ]
