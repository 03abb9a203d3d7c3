"""Every outcome of a check and of a question, each produced for real by a submission."""

from __future__ import annotations

import ast
import re
import shutil
from pathlib import Path

import pytest

from grader.assignment import AssignmentFiles
from grader.judge.budgets import ReplyCache
from grader.judge.run import Grader, GradingOptions, grade
from grader.report.model import CheckResult, Outcome, QuestionResult, Report
from grader.sandbox.forked import ForkedSandbox
from grader.sandbox.reply import SandboxFault

pytestmark = pytest.mark.recorded

QUESTION = "get_returns"


def outcomes(report: Report) -> set[Outcome]:
    return {check.outcome for check in report.checks}


def forget_times(report: Report) -> None:
    parts: list[Report | QuestionResult | CheckResult] = [report, *report.questions, *report.checks]
    for part in parts:
        part.seconds = 0.0


def message(report: Report) -> str:
    return report.checks[0].message


def test_solution_gets_everything(home: AssignmentFiles) -> None:
    """A check that the solution does not pass would cost every student points."""
    report = grade(home, home.solution, ("visible", "hidden"))
    assert [check.id for check in report.checks if check.outcome is not Outcome.PASSED] == []
    assert (report.points, report.max_points, report.final) == (100, 100, True)


def test_stub_gets_nothing_and_every_question_says_what_to_write(home: AssignmentFiles) -> None:
    """A check that the stub passes would be worth nothing."""
    report = grade(home, home.stub, ("visible", "hidden"))
    assert (report.points, report.max_points, report.final) == (0, 100, True)
    for question in report.questions:
        assert question.outcome is Outcome.NOT_STARTED
        assert question.task


def test_failed_shows_case_expected_and_got(replaced, graded) -> None:
    """A failure that does not show the difference teaches nothing."""
    report = graded(replaced(get_returns="return torch.zeros(rollout_buffer.final_size, 1)"), QUESTION)
    # Their form is right: float32 [T, 1].
    assert [check.id for check in report.checks if check.outcome is not Outcome.FAILED] == ["visible/test_returns_form"]
    for part in ("returns_table", "discount_factor = 0.5", "expected [[1.98828]", "got      [[0]", "at [8, 0]"):
        assert part in message(report)


def test_a_training_at_import_is_told_as_one(replaced, graded) -> None:
    """A file that trains when it is imported runs out of time in every check: nobody finds that in 'a loop that never ends'."""
    path = replaced(get_returns="return torch.zeros(rollout_buffer.final_size, 1)")
    path.write_text(path.read_text() + "\n\nwhile True:\n    pass\n")
    report = graded(path, QUESTION)
    assert outcomes(report) == {Outcome.TIMEOUT}
    for part in ("still being imported", 'if __name__ == "__main__":', "in <module>"):
        assert part in message(report)


def test_options_of_a_script_are_its_own(replaced, graded) -> None:
    """A file may look for options, as many scripts do: it finds none, and not those of the grader's process."""
    path = replaced(get_returns="raise ValueError(f'{vars(OPTIONS)} {sys.argv}')")
    options = "import argparse\nimport sys\n\nPARSER = argparse.ArgumentParser()\n"
    options += "PARSER.add_argument('--seed', default=1)\nOPTIONS = PARSER.parse_args()\n"
    path.write_text(path.read_text() + options)
    assert "{'seed': 1} ['submitted.py']" in message(graded(path, QUESTION))


def test_shape_comes_before_value(replaced, graded) -> None:
    """(T, T) where (T, 1) is meant: the shape must be named, and not one of many numbers."""
    body = "return torch.zeros(rollout_buffer.final_size, rollout_buffer.final_size)"
    assert "expected shape [22, 1], got shape [484, 1]" in message(graded(replaced(get_returns=body), QUESTION))


def test_partial(replaced, graded) -> None:
    """Right on one episode, wrong across several: some checks of the question pass."""
    body = (
        "total, returns = 0.0, []\n"
        "for reward in reversed(rollout_buffer.rewards.tolist()):\n"
        "    total = reward + discount_factor * total\n"
        "    returns.insert(0, [total])\n"
        "return torch.tensor(returns)"
    )
    report = graded(replaced(get_returns=body), QUESTION)
    assert report.questions[0].outcome is Outcome.PARTIAL
    assert 0 < report.points < report.max_points


def test_exception_shows_the_students_lines(replaced, graded) -> None:
    """Without the line, an exception cannot be found."""
    report = graded(replaced(get_returns="x = rollout_buffer.rewards\nreturn x.no_such_thing"), QUESTION)
    assert outcomes(report) == {Outcome.FAILED}
    assert "AttributeError" in message(report)
    assert "return x.no_such_thing" in message(report)
    assert "student.py" not in message(report)


def test_blank_left_in_is_not_started(replaced, graded) -> None:
    """A changed function that still raises the stub's error is as good as untouched."""
    report = graded(replaced(get_returns='x = 1\nraise NotImplementedError("get_returns: write it")'), QUESTION)
    assert report.questions[0].outcome is Outcome.NOT_STARTED


def test_blank_left_below_the_answer_is_told_with_its_line(replaced, graded) -> None:
    """Code was written and the stub's raise stays: "not started" alone would be a riddle."""
    body = 'x = 1\nraise NotImplementedError("get_returns: write it")'
    assert "still raises the stub's NotImplementedError; delete that line" in message(
        graded(replaced(get_returns=body), QUESTION)
    )


def test_own_not_implemented_error_is_a_failure(replaced, graded) -> None:
    """Only the stub's own words mean that nothing was written."""
    report = graded(replaced(get_returns='raise NotImplementedError("episodes of length 1")'), QUESTION)
    assert report.questions[0].outcome is Outcome.FAILED


def test_unreachable_blank_below_the_answer_passes(replaced, graded) -> None:
    """Many write their answer above the stub's raise and leave it there."""
    body = (
        "total, returns = 0.0, []\n"
        "for r, end in reversed(list(zip(rollout_buffer.rewards.tolist(), rollout_buffer.terminateds.tolist()))):\n"
        "    total = r + discount_factor * (0 if end else total)\n"
        "    returns.insert(0, [total])\n"
        "return torch.tensor(returns)\n"
        'raise NotImplementedError("get_returns: write it")'
    )
    assert outcomes(graded(replaced(get_returns=body), QUESTION)) == {Outcome.PASSED}


def test_syntax_error(tmp_path: Path, graded) -> None:
    """A typo fails everything, with its line."""
    from grader.report import terminal

    (tmp_path / "submitted.py").write_text("import torch\n\ndef get_returns(:\n    pass\n")
    report = graded(tmp_path)
    assert outcomes(report) == {Outcome.FAILED}
    assert "not valid Python" in message(report)
    assert terminal.render_plain(report).count("not valid Python") == 1
    assert "line 3" in message(report)


def test_import_error(replaced, graded) -> None:
    """A library that is not there fails everything, with its name."""
    report = graded(replaced(prelude="import no_such_library\n"))
    assert outcomes(report) == {Outcome.FAILED}
    assert "no_such_library" in message(report)


def test_missing_function_names_the_closest(tmp_path: Path, graded) -> None:
    """A renamed function must be named, not told by an AttributeError of the grader's."""
    (tmp_path / "submitted.py").write_text("def get_retuns(rollout_buffer, discount_factor=0.95):\n    return 1\n")
    report = graded(tmp_path, QUESTION)
    assert outcomes(report) == {Outcome.FAILED}
    assert "no 'get_returns'" in message(report)
    assert "'get_retuns'" in message(report)


def test_endless_loop(home: AssignmentFiles, replaced, graded) -> None:
    """An endless loop fails its own question and no other."""
    report = graded(replaced(get_returns="while True: pass"), QUESTION, "get_value_net_loss")
    by_question = {question.id: question.outcome for question in report.questions}
    assert by_question == {QUESTION: Outcome.TIMEOUT, "get_value_net_loss": Outcome.PASSED}
    assert "seconds" in message(report)
    assert "while True: pass" in message(report)


def test_endless_loop_at_import(replaced, graded) -> None:
    """A file that never finishes loading is stopped once, not once a check."""
    report = graded(replaced(prelude="import time\nprint('hello')\ntime.sleep(1000)\n"))
    assert outcomes(report) == {Outcome.TIMEOUT}
    assert "hello" in report.checks[0].printed
    assert report.seconds < 60


@pytest.mark.parametrize(
    ("body", "outcome", "words"),
    [
        ("return torch.zeros(10**10)", Outcome.MEMORY, "out of memory"),
        ("import ctypes\nctypes.string_at(0)", Outcome.CRASHED, "SIGSEGV"),
        ("import os\nos._exit(0)", Outcome.CRASHED, "exit status 0"),
        ("import sys\nsys.exit(0)", Outcome.FAILED, "SystemExit"),
        ("return (i for i in range(3))", Outcome.FAILED, "generator"),
        ("x = []\nx.append(x)\nreturn x", Outcome.FAILED, "list of 1"),
        ("return None", Outcome.FAILED, "got None"),
        ("return torch.full((rollout_buffer.final_size, 1), float('nan'))", Outcome.FAILED, "nan"),
        ("return torch.full((rollout_buffer.final_size, 1), float('inf'))", Outcome.FAILED, "inf"),
        ("return torch.zeros(rollout_buffer.final_size, 1).numpy()", Outcome.FAILED, "expected 'torch.Tensor'"),
        ("return torch.zeros(rollout_buffer.final_size, 1, dtype=torch.int64)", Outcome.FAILED, "expected 'float32'"),
        ("return torch.zeros(10**6, 1)", Outcome.FAILED, "got shape [1000000, 1]"),
    ],
)
def test_strange_ends(replaced, graded, body: str, outcome: Outcome, words: str) -> None:
    """Each strange way to end fails closed, and says what happened."""
    report = graded(replaced(get_returns=body), QUESTION)
    # The form of numbers that are wrong may be right.
    assert {check.outcome for check in report.checks if not check.id.endswith("_form")} == {outcome}
    assert any(words in check.message for check in report.checks)
    assert report.points <= 1
    assert report.final


def test_prints_stand_beside_the_failed_check(replaced, graded) -> None:
    """What the student printed is feedback to them; control characters in it are spelled out."""
    body = "print('my \\x1b[31mnote')\nfor i in range(10**5): print(i)\nreturn None"
    printed = graded(replaced(get_returns=body), QUESTION).checks[0].printed
    assert printed.startswith("my \\x1b[31mnote\n0\n1\n")
    assert printed.endswith("99999\n")
    assert len(printed) < 5000


def test_a_warning_names_the_file_alone(replaced, graded, tmp_path: Path) -> None:
    """Catches: a folder of the grader's in front of the line, which no student can open, and which differs in each report."""
    # The comment makes it a work of its own: a reply from the cache would name the folder of an earlier run.
    body = f"import warnings\nwarnings.warn('look here')\nreturn None  # {tmp_path}"
    printed = graded(replaced(get_returns=body), QUESTION).checks[0].printed
    assert re.match(r"submitted\.py:\d+: UserWarning: look here\n", printed)


def test_not_run_until_what_it_needs_passes(replaced, graded) -> None:
    """A learning check on top of a broken function would only say what is known already."""
    report = graded(replaced(get_returns="return None"), "learning_ppo")
    learning = report.questions[-1]
    assert (learning.id, learning.outcome) == ("learning_ppo", Outcome.NOT_RUN)
    assert "first get_returns must pass" in report.checks[-1].message


def test_pieces_need_only_be_written(built_toy: Path, tmp_path: Path) -> None:
    """What puts pieces together is seen at work with a wrong one too, and not with one that is still the stub's."""
    toy = shutil.copytree(built_toy, tmp_path / "toy")
    settings = toy / "assignments" / "toy" / "assignment.toml"
    settings.write_text(settings.read_text(encoding="utf-8").replace('needs = ["total"', 'pieces = ["total"'), encoding="utf-8")
    home = AssignmentFiles(toy, "toy")
    solution = (home.solution / "submitted.py").read_text(encoding="utf-8")
    stub = home.stub.read_text(encoding="utf-8")
    path = tmp_path / "submitted.py"
    for text, told in (
        (solution + "\n\ndef spread(values):\n    return -1.0\n", "failed"),
        (solution + stub[stub.index("def spread") :], "not run: first spread must be written"),
        (stub, "needs your code"),
    ):
        path.write_text(text, encoding="utf-8")
        check = grade(home, path).checks[-1]
        assert check.question == "both"
        assert told in f"{check.outcome.value}: {check.message}"


def test_budget_ends(home: AssignmentFiles, replaced, tmp_path: Path) -> None:
    """When the time for the whole run is used up, the rest is not run, and says so."""
    limits = home.assignment.limits.model_copy(update={"budget": 2.5, "seconds": 2.0})
    short = AssignmentFiles(home.root, "policy_gradient")
    short.assignment = home.assignment.model_copy(update={"limits": limits})
    report = grade(short, replaced(get_returns="while True: pass"))
    assert {Outcome.TIMEOUT, Outcome.NOT_RUN} <= outcomes(report)
    assert any("used up" in check.message for check in report.checks)
    assert report.final


MANY = "".join(f"def f{number}(): pass\n" for number in range(20_010))


@pytest.mark.parametrize(
    "ending",
    ["", "def f(:\n", "1 / 0\n", "import os\nos._exit(3)\n", "print('x')\nraise SystemExit\n", MANY],
    ids=["whole", "syntax", "import", "exit", "system exit", "many functions"],
)
def test_a_grader_that_is_warm_tells_the_same(home: AssignmentFiles, replaced, ending: str) -> None:
    """Checks are collected once, and a file is looked at and loaded by one process: a class gets what one student gets."""
    path = replaced()
    path.write_text(path.read_text(encoding="utf-8") + ending, encoding="utf-8")
    with Grader(home) as grader:
        grader.warm_up(wait=True)
        one, two = (grader.grade(path, {"get_returns"}) for _ in range(2))
    fresh = grade(home, path, options=GradingOptions(["get_returns"]))
    for report in (one, two, fresh):
        forget_times(report)
    assert one == two == fresh


def test_checks_may_use_what_pytest_offers(built_toy: Path, tmp_path: Path) -> None:
    """Catches: checks that pytest has cleared up after, before they are run or between two submissions."""
    root = Path(shutil.copytree(built_toy, tmp_path / "toy"))
    path = root / "tests" / "visible" / "test_toy.py"
    text = path.read_text(encoding="utf-8")
    assert "def test_three(student)" in text
    path.write_text(text.replace("def test_three(student)", "def test_three(student, tmp_path, monkeypatch, pytestconfig)"))
    home = AssignmentFiles(root, "toy")
    with Grader(home) as grader:
        for _ in range(2):
            assert outcomes(grader.grade(home.solution)) == {Outcome.PASSED}


def test_stopped_in_the_middle_of_a_check(home: AssignmentFiles, replaced, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C was pressed, and the grader goes on with another submission: it meets nothing of the one before."""
    keep = ReplyCache.keep

    def stopped(self, *arguments):
        keep(self, *arguments)
        raise KeyboardInterrupt

    wrong = replaced(get_returns="return rollout_buffer.rewards")
    with Grader(home) as grader:
        with monkeypatch.context() as patch:
            patch.setattr(ReplyCache, "keep", stopped)
            with pytest.raises(KeyboardInterrupt):
                grader.grade(home.solution, {"get_returns"})
        assert outcomes(grader.grade(wrong, {"get_value_net_loss"})) == {Outcome.PASSED}
        assert grader.retried == []
        assert outcomes(grader.grade(wrong, {"get_returns"})) == {Outcome.FAILED}
        assert outcomes(grader.grade(home.solution, {"get_returns"})) == {Outcome.PASSED}


def test_grader_error_is_retried_then_told(home: AssignmentFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of the grader costs the student nothing: retried once, then the report is not final."""
    calls = []

    def broken(self, *arguments, **options):
        calls.append(arguments)
        raise SandboxFault("the server is gone")

    monkeypatch.setattr(ForkedSandbox, "call", broken)
    report = grade(home, home.solution, options=GradingOptions(["get_value_net_loss"]))
    assert outcomes(report) == {Outcome.GRADER_ERROR}
    assert len(calls) == 2 * len(report.checks)
    assert not report.final


def test_killed_server_is_replaced(home: AssignmentFiles, replaced, graded, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing else prevents it, a submission that kills the server fails its own checks, and the report is final."""
    monkeypatch.setenv("GRADER_WITHOUT", "own user,seccomp,landlock")
    monkeypatch.setenv("GRADER_LEVEL", "process")
    body = "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nimport time\ntime.sleep(1)"
    report = graded(replaced(get_returns=body), QUESTION, "get_value_net_loss")
    by_question = {question.id: question.outcome for question in report.questions}
    assert by_question == {QUESTION: Outcome.CRASHED, "get_value_net_loss": Outcome.PASSED}
    assert report.final


def test_a_question_stands_alone(replaced, graded) -> None:
    """A wrong function costs the points of its own question and of no other but those that put all functions to work."""
    wrong = {
        "get_returns": "return None",
        "get_vanilla_policy_gradient_loss": "return None",
        "collect_rollouts": "return None",
        "get_value_net_loss": "return None",
        "get_advantages": "return None",
        "get_PPO_policy_gradient_loss": "return None",
    }
    for name, body in wrong.items():
        report = graded(replaced(**{name: body}), suites=("visible", "hidden"))
        lost = {question.id for question in report.questions if question.outcome is not Outcome.PASSED}
        assert name in lost
        assert all(question == name or question.startswith(("one_update", "learning")) for question in lost), lost


def test_what_is_not_written_costs_nothing_elsewhere(home: AssignmentFiles, tmp_path: Path) -> None:
    """Checks that are not run stand between those that are; pytest must not take one of these for half set up."""
    stub = ast.parse(home.stub.read_text())
    for name in ("train_policy_gradient", "get_returns"):
        (unwritten,) = [node for node in stub.body if getattr(node, "name", "") == name]
        source = (home.solution / "submitted.py").read_text()
        segment = ast.get_source_segment(home.stub.read_text(), unwritten)
        path = tmp_path / "submitted.py"
        path.write_text(f"{source}\n\n{segment}\n")
        report = grade(home, path, ("visible", "hidden"))
        lost = {question.id for question in report.questions if question.outcome is not Outcome.PASSED}
        assert all(question.startswith((name, "one_update", "learning")) for question in lost), lost
        assert {check.outcome for check in report.checks} == {Outcome.PASSED, Outcome.NOT_RUN}


def test_a_bare_blank_of_a_course_text(replaced, graded) -> None:
    """Catches: the stub of a course's own text, which says nothing of what to write, taken for work that fails."""
    report = graded(replaced(get_returns="raise NotImplementedError()"), "get_returns")
    assert all(check.unwritten and "return" in check.message for check in report.checks)
    report = graded(replaced(get_returns="return _later()\n\n\ndef _later():\n    raise NotImplementedError()"), "get_returns")
    assert not any(check.unwritten for check in report.checks)


def test_same_report_every_time(home: AssignmentFiles, graded, monkeypatch: pytest.MonkeyPatch) -> None:
    """Apart from times, a report depends on the submission alone; not on threads of the environment either."""

    def content() -> str:
        report = grade(home, home.solution, ("visible", "hidden"))
        forget_times(report)
        return report.model_dump_json()

    first = content()
    assert content() == first
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    assert content() == first


def test_checks_of_one_case_share_its_call(replaced, graded) -> None:
    """Catches: a call repeated for every check that looks at it; a call shared by different cases."""
    body = "import os\nprint('call', os.urandom(8).hex())\nreturn logits.sum() * 0"
    report = graded(replaced(get_PPO_policy_gradient_loss=body), "get_PPO_policy_gradient_loss")
    printed = {check.id: check.printed for check in report.checks}
    assert all(text.startswith("call ") for text in printed.values())
    of_one_case = [text for name, text in printed.items() if name.endswith(("test_clipped_value", "test_clipped_gradient"))]
    assert len(of_one_case) == 2
    assert len(set(of_one_case)) == 1
    assert len(set(printed.values())) == len(printed) - 2, "the check of form looks at the same case"
