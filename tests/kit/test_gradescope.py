"""results.json: every field as Gradescope specifies it, nothing of hidden checks, and text that stays text."""

from __future__ import annotations

import io
import json
import os
import random
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from grader.assignment import AssignmentFiles
from grader.judge.run import GradingOptions, grade
from grader.packing.release import make_zip
from grader.platforms.gradescope import report as gradescope
from grader.platforms.gradescope.package import SCRIPTS, collect_autograder_files
from grader.report.model import CheckResult, Outcome, Report
from tests.kit.examples import draw_lot, examples
from tests.kit.patience import PATIENCE

INPUTS = ("packed:grader", "utils.py")

RECORDED = pytest.mark.recorded(kernel=True)  # all but the test of moments
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

ENTRY = {"name": TEXT, "value": (*NUMBER, *TEXT), "order": {"asc", "desc"}}


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
        # Without a status, the platform takes full points for one.
        assert test["max_score"] == 0 or (test["status"] == "passed") == (test["score"] == test["max_score"])
        assert all(isinstance(tag, str) for tag in test["tags"])
        assert len(test["output"]) <= 90_000
    for entry in content.get("leaderboard", []):
        fits(ENTRY, entry)
        assert {"name", "value"} <= set(entry)
    assert len(content["output"]) <= 90_000


@RECORDED
def test_a_real_report_keeps_the_contract_at_every_moment(home: AssignmentFiles, replaced) -> None:
    """A field of the wrong kind makes Gradescope throw the whole result away, so each state of the file must fit."""
    states: list[str] = []
    report = grade(
        home,
        replaced(get_returns="print('noise')\nreturn None"),
        ("visible", "hidden"),
        GradingOptions(
            ["get_returns", "get_value_net_loss"],
            changed=lambda report: states.append(gradescope.render(report, home.assignment)),
        ),
    )
    scores = []
    for state in states:
        content = json.loads(state)
        check_contract(content)
        scores.append(sum(test["score"] for test in content["tests"]))
    assert scores == sorted(scores)
    assert scores[0] == 0
    assert scores[-1] == report.points == 9


@RECORDED
def test_hidden_checks_show_no_inputs_values_or_totals(home: AssignmentFiles, replaced) -> None:
    """What a hidden check looks at must not be read off its output, nor its points off the text on top."""
    report = grade(
        home,
        replaced(get_returns="print('noise')\nreturn None"),
        ("visible", "hidden"),
        GradingOptions(["get_returns"]),
    )
    content = gradescope.build_results(report, home.assignment)
    hidden = [test for test in content["tests"] if "hidden" in test["tags"]]
    assert len(hidden) == 4
    for test in hidden:
        assert test["visibility"] == "after_published"
        assert "noise" not in test["output"]
        assert "expected" not in test["output"]
    assert "4 points come from 4 hidden checks" in content["output"]
    assert "visible checks: 0/6 points" in content["output"]
    assert "0/10" not in content["output"]


@RECORDED
@pytest.mark.parametrize(
    "hostile", ["<script>alert(1)</script>", "![x](http://x)", "\x1b[31m", "a" * 10**6, "\ud800", '"}],"score":100']
)
def test_hostile_text_stays_inert(home: AssignmentFiles, hostile: str) -> None:
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


@pytest.fixture
def autograder(home: AssignmentFiles, tmp_path: Path) -> Callable[..., subprocess.Popen]:
    """Lay the zip's content out as the platform does, in a prefix, and start its run_autograder on what is handed in."""
    root = tmp_path / "autograder"
    for name, content in collect_autograder_files(home).items():
        path = root / "source" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (root / "results").mkdir()
    (root / "submission").mkdir()
    # The environment that setup.sh would make: the one that runs these tests.
    environment = {**os.environ, "AUTOGRADER_ROOT": str(root), "GRADER_VENV": sys.prefix}

    def run(**handed_in: str) -> subprocess.Popen:
        for name, text in handed_in.items():
            (root / "submission" / name.replace("__", ".")).write_text(text, encoding="utf-8")
        return subprocess.Popen(["bash", str(root / "source" / "run_autograder")], env=environment, cwd=root)

    return run


def outcome(tmp_path: Path) -> dict[str, Any]:
    content = json.loads((tmp_path / "autograder" / "results" / "results.json").read_text(encoding="utf-8"))
    check_contract(content)
    return content


@RECORDED
def test_zip_holds_what_the_platform_needs_and_no_solution(home: AssignmentFiles) -> None:
    """A flat root with both scripts, executable and with Unix line ends; nothing of solutions."""
    content = collect_autograder_files(home)
    with zipfile.ZipFile(io.BytesIO(make_zip(content, executable=SCRIPTS))) as archive:
        for name in SCRIPTS:
            assert archive.getinfo(name).external_attr >> 16 == 0o755
            assert archive.read(name).startswith(b"#!/usr/bin/env bash\n")
            assert b"\r" not in archive.read(name)
    everything = "\n".join(value.decode() for value in content.values())
    stub = home.stub.read_text()
    for line in (home.solution / "submitted.py").read_text().splitlines():
        if len(line.strip()) > 25 and line not in stub:
            assert line.strip() not in everything, line
    assert not any(name.startswith(("solutions", "grader/authoring", "grader/packing", "grader/proof")) for name in content)


@RECORDED
def test_the_solution_on_the_platform(autograder, home: AssignmentFiles, tmp_path: Path) -> None:
    """The platform's files in, a results.json with all points out."""
    process = autograder(submitted__py=(home.solution / "submitted.py").read_text())
    assert process.wait(120) == 0
    content = outcome(tmp_path)
    assert sum(test["score"] for test in content["tests"]) == 100
    assert "score" not in content


@RECORDED
def test_a_missing_file_is_named(autograder, tmp_path: Path) -> None:
    """Zero points, and what was expected and found; a hostile file name stays text."""
    process = autograder(**{"<b>x": "?"})
    assert process.wait(60) == 0
    content = outcome(tmp_path)
    assert content["score"] == 0
    assert "expected submitted.py" in content["output"]
    assert content["output_format"] == "text"


@pytest.mark.sampled
def test_kill_9_at_any_moment(autograder, home: AssignmentFiles, tmp_path: Path) -> None:
    """The platform's own limit is a kill: whatever is there then is valid and claims nothing that was not earned."""
    source = (
        home.solution / "submitted.py"
    ).read_text() + "\n\ndef get_advantages(*arguments):\n    import time\n    time.sleep(0.2)\n"
    lot = draw_lot()
    chance = random.Random(lot)
    for _ in range(examples(4)):
        process = autograder(submitted__py=source)
        path = tmp_path / "autograder" / "results" / "results.json"
        until = time.monotonic() + PATIENCE
        while not path.exists() and time.monotonic() < until:
            time.sleep(0.005)
        time.sleep(chance.uniform(0, 4))
        process.kill()
        process.wait()
        content = outcome(tmp_path)
        assert content.get("score", 0) == 0, f"GRADER_LOT={lot}"
        for test in content["tests"]:
            assert test["score"] == 0 or "get_advantages:" not in test["name"], f"GRADER_LOT={lot}"
        path.unlink()


@RECORDED
@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('{"id": 5, "created_at": "2026-11-21T02:00:00Z", "users": []}', {"id": "5", "created_at": "2026-11-21T02:00:00Z"}),
        ("[1, 2]", {}),
        ("not json", {}),
        ("null", {}),
        (None, {}),
    ],
)
def test_metadata_is_read_and_not_needed(home: AssignmentFiles, tmp_path: Path, text: str | None, kept: dict[str, str]) -> None:
    """Late policies need the time of a submission; the platform may leave the file out or change it."""
    path = tmp_path / "submission_metadata.json"
    if text is not None:
        path.write_text(text)
    assert gradescope.read_metadata(path) == kept
