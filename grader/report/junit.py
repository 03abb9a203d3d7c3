"""The report as JUnit XML, which CodeGrade, Artemis and most CI systems read: a suite for each question.

JUnit has no points. They are written as properties of each check and of each question.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from xml.etree.ElementTree import Element, SubElement

from grader.report.model import CheckResult, Outcome, Report
from grader.report.shared import describe_check, explain_not_final, fold_hidden_checks
from grader.report.text import LENGTHS, sanitize

# All other outcomes (timeout, memory, crashed, grader error) are errors.
ELEMENTS = {Outcome.FAILED: "failure", Outcome.PARTIAL: "failure", Outcome.NOT_RUN: "skipped"}


def render(report: Report) -> str:
    """Return the XML, with forbidden characters spelled out; a report that is not final has an extra suite with an error."""
    shown = fold_hidden_checks(report)
    root = Element("testsuites", name=sanitize(f"{shown.title} ({shown.assignment} {shown.suite_version})"))
    if problem := explain_not_final(shown):
        suite = SubElement(root, "testsuite", name="the grader")
        fault = CheckResult(id="", question="the grader", suite="", title="The grader finished.", max_points=0, message=problem)
        fault.outcome = Outcome.GRADER_ERROR
        _testcase(suite, fault)
    for question in shown.questions:
        suite = SubElement(root, "testsuite", name=question.id)
        _properties(suite, question.points, question.max_points)
        for check in (check for check in shown.checks if check.question == question.id):
            _testcase(suite, check)
    for suite in root:
        _count(suite, suite)
    _count(root, root)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _testcase(suite: Element, check: CheckResult) -> None:
    name, seconds = sanitize(check.title, LENGTHS[0]), f"{check.seconds:.3f}"
    case = SubElement(suite, "testcase", classname=check.question, name=name, time=seconds)
    _properties(case, check.points, check.max_points)
    text = sanitize(describe_check(check), LENGTHS[0])
    if check.outcome is Outcome.PASSED:
        if text:
            SubElement(case, "system-out").text = text
        return
    kind = ELEMENTS.get(check.outcome, "error")
    first = text.partition("\n")[0]
    SubElement(case, kind, message=first).text = text
    if kind != "skipped":
        case[-1].set("type", check.outcome.value)


def _properties(element: Element, points: float, worth: float) -> None:
    properties = SubElement(element, "properties")
    for name, value in (("points", points), ("max_points", worth)):
        SubElement(properties, "property", name=name, value=repr(float(value)))


def _count(element: Element, within: Element) -> None:
    cases = list(within.iter("testcase"))
    element.set("tests", str(len(cases)))
    for name, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(name, str(sum(case.find(kind) is not None for case in cases)))
    element.set("time", f"{sum(float(case.get('time', '0')) for case in cases):.3f}")
