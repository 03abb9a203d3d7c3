"""results.json: every field as Gradescope specifies it, nothing of hidden checks, and text that stays text."""

from __future__ import annotations

import json
from typing import Any

import pytest

from grader.assignment import Home
from grader.judge.run import grade
from grader.report import gradescope
from grader.report.model import CheckResult, Outcome, Report

NUMBER, TEXT = (int, float), (str,)
FORMATS = {"text", "html", "simple_format", "md", "ansi"}
VISIBILITIES = {"hidden", "after_due_date", "after_published", "visible"}
TOP = {
    "score": NUMBER,
    "execution_time": NUMBER,
    "output": TEXT,
    "output_format": FORMATS,
    "test_output_format": FORMATS,
    "test_name_format": FORMATS,
    "visibility": VISIBILITIES,
    "stdout_visibility": VISIBILITIES,
    "extra_data": (dict,),
    "tests": (list,),
    "leaderboard": (list,),
}
TEST = {
    "score": NUMBER,
    "max_score": NUMBER,
    "status": {"passed", "failed"},
    "name": TEXT,
    "name_format": FORMATS,
    "number": TEXT,
    "output": TEXT,
    "output_format": FORMATS,
    "tags": (list,),
    "visibility": VISIBILITIES,
    "extra_data": (dict,),
}


def fits(fields: dict[str, Any], content: dict[str, Any]) -> None:
    for name, value in content.items():
        assert name in fields, f"{name} is not in the specification"
        allowed = fields[name]
        assert value in allowed if isinstance(allowed, set) else isinstance(value, allowed), (name, value)


def check_contract(content: dict[str, Any]) -> None:
    """Assert the contract's rules: fields, types, values, lengths, and a score on every test or on the whole."""
    fits(TOP, content)
    assert "score" in content or all("score" in test for test in content["tests"])
    for test in content["tests"]:
        fits(TEST, test)
        assert 0 <= test["score"] <= test["max_score"]
        assert (test["status"] == "passed") == (test["score"] == test["max_score"])
        assert all(isinstance(tag, str) for tag in test["tags"])
        assert len(test["output"]) <= 90_000
    assert len(content["output"]) <= 90_000


def test_a_real_report_keeps_the_contract_at_every_moment(home: Home, replaced) -> None:
    """A field of the wrong kind makes Gradescope throw the whole result away, so each state of the file must fit."""
    states: list[str] = []
    report = grade(
        home,
        replaced(get_returns="print('noise')\nreturn None"),
        ("visible", "hidden"),
        select=["get_returns", "get_value_net_loss"],
        changed=lambda report: states.append(gradescope.render(report, home.assignment)),
    )
    scores = []
    for state in states:
        content = json.loads(state)
        check_contract(content)
        scores.append(sum(test["score"] for test in content["tests"]))
    assert scores == sorted(scores)
    assert scores[0] == 0
    assert scores[-1] == report.points == 10


def test_hidden_checks_show_no_inputs_values_or_totals(home: Home, replaced) -> None:
    """What a hidden check looks at must not be read off its output, nor its points off the text on top."""
    report = grade(home, replaced(get_returns="print('noise')\nreturn None"), ("visible", "hidden"), select=["get_returns"])
    content = gradescope.results(report, home.assignment)
    hidden = [test for test in content["tests"] if "hidden" in test["tags"]]
    assert len(hidden) == 5
    for test in hidden:
        assert test["visibility"] == "after_published"
        assert "noise" not in test["output"]
        assert "expected" not in test["output"]
    assert "6 points are decided by 5 hidden checks" in content["output"]
    assert "visible checks: 0/6 points" in content["output"]
    assert "0/12" not in content["output"]


@pytest.mark.parametrize(
    "hostile", ["<script>alert(1)</script>", "![x](http://x)", "\x1b[31m", "a" * 10**6, "\ud800", '"}],"score":100']
)
def test_hostile_text_stays_inert(home: Home, hostile: str) -> None:
    """Whatever a submission prints is text, of bounded length, in valid JSON."""
    report = Report(
        assignment="a",
        title="t",
        suite_version="1",
        suites=("visible",),
        isolation="process",
        isolation_layers=(),
        final=True,
        checks=[
            CheckResult(
                id="visible/x",
                question="get_returns",
                suite="visible",
                title="T",
                max_points=1,
                outcome=Outcome.FAILED,
                message=hostile.encode("utf-8", "backslashreplace").decode(),
                printed=hostile.encode("utf-8", "backslashreplace").decode(),
            )
        ],
    )
    content = json.loads(gradescope.render(report, home.assignment))
    check_contract(content)
    assert content["test_output_format"] == content["output_format"] == content["test_name_format"] == "text"
    assert "score" not in content
    assert content["tests"][0]["score"] == 0
