"""The pattern of a failure that no known mistake explains: how its numbers relate to the right ones, what they depend on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from grader.answers import Case
from grader.assignment import Question
from grader.judge.compare import difference
from grader.judge.evidence import Evidence, WrongAnswerEvidence
from grader.judge.failure import CheckFailed, CheckNotRun
from grader.judge.influence import NAMELESS, explain_influences, list_outputs, measure_influences
from grader.judge.relations import BENDING, CUT, LOOSE, STRICT, Relation, explain_relation, list_wrong_outputs
from grader.judge.student import LastCall, RunContext
from grader.judge.wrong_places import explain_marked_rows, explain_position
from grader.report.model import Cause
from grader.sandbox.reply import SandboxFault

COMMON = (" times what it should be, everywhere", " off by the same ")  # in questions about what all numbers have in common
OF_OTHER_FORM = " (Compared with the other answer that this check accepts.)"
MOST_SECONDS = 2.0  # that the calls of a question may be charged for: they decide nothing


def find_pattern(
    failures: Sequence[tuple[str, CheckFailed, LastCall | None]],
    shared: RunContext,
    submission: Path | None,
    question: Question,
) -> tuple[str, str] | None:
    """Return a check and a question about the pattern of its failure, or None if none of these failures has any.

    What is asked is true of the submission, whatever its mistake is. First come relations that say much, which cost no call,
    and limits, because a number that is cut off depends on nothing; then what the answer depends on, the flags at which it is
    wrong, relations that may have many reasons, and its first or last number.

    Args:
        failures: Checks of one question, how they failed, and their last calls.
        submission: Its file.
    """
    if any(tried and tried.right_alone for _, _, tried in failures):
        return None  # its numbers depend on another call, and the message says so
    wrong = [(check, failure.evidence, tried) for check, failure, tried in failures if failure.cause is Cause.WRONG_ANSWER]
    try:
        return _find_pattern(wrong, shared, submission, question)
    except Exception:
        return None  # the facts of a submission may have any form, and nothing depends on a pattern


def _find_pattern(
    wrong: Sequence[tuple[str, Evidence, LastCall | None]], shared: RunContext, submission: Path | None, question: Question
) -> tuple[str, str] | None:
    marked = _find_marked_rows(wrong)
    if related := _find_relation(wrong, STRICT) or (None if marked else _find_relation(wrong, CUT)):
        return related
    nameless = None
    for check, evidence, tried in wrong:
        if submission and tried and tried.case and tried.case.influences:
            if _is_only_about_names(evidence):
                break
            if said := _explain_dependence(tried, evidence, _Probe(shared, submission, question, tried)):
                if not said.endswith(NAMELESS):
                    return check, said
                nameless = check, said
            break
    return marked or _find_relation(wrong, BENDING) or _find_relation(wrong, LOOSE) or nameless or _find_place(wrong)


def _find_relation(
    wrong: Sequence[tuple[str, Evidence, LastCall | None]], relations: tuple[Relation, ...]
) -> tuple[str, str] | None:
    for check, evidence, _ in wrong:
        if not isinstance(evidence, WrongAnswerEvidence):
            continue
        said = [explain_relation(form, evidence.got, evidence.how, relations) for form in _list_right_forms(evidence)]
        # A sign or a count is found only beside the form that the submission chose; other relations are found beside any.
        told = {one for one in said if one}
        if len(told) == 1 and (relations is STRICT or None not in said):
            question = told.pop()
            if _names_common(question) and "(" not in question and _is_denied(evidence, [other for _, other, _ in wrong]):
                continue
            # The message shows the numbers of the first form.
            return check, question + ("" if said[0] else OF_OTHER_FORM)
    return None


def _is_denied(evidence: WrongAnswerEvidence, others: Sequence[Evidence]) -> bool:
    """Return whether another answer of the same name has no common factor or offset, so that those of this one are chance.

    Cases that are made to be read have small numbers, and few.
    """
    wrong = {name for name, _, _ in list_wrong_outputs(evidence.expected, evidence.got, evidence.how)}
    for other in others:
        if isinstance(other, WrongAnswerEvidence) and other is not evidence:
            names = {name for name, _, _ in list_wrong_outputs(other.expected, other.got, other.how)}
            said = explain_relation(other.expected, other.got, other.how, STRICT)
            if wrong & names and not (said and _names_common(said)):
                return True
    return False


def _names_common(said: str) -> bool:
    return any(words in said for words in COMMON)


def _list_right_forms(evidence: WrongAnswerEvidence) -> list[Any]:
    """Return the right answer, and the other form that the check accepts."""
    forms = [evidence.expected]
    if evidence.also:
        with contextlib.suppress(Exception):  # it may be a sample, of which there is no other form
            forms.append(evidence.also(evidence.expected))
    return forms


def _find_marked_rows(wrong: Sequence[tuple[str, Evidence, LastCall | None]]) -> tuple[str, str] | None:
    for check, evidence, tried in _list_with_inputs(wrong):
        if said := explain_marked_rows(evidence.expected, evidence.got, evidence.how, tried.inputs):
            return check, said
    return None


def _find_place(wrong: Sequence[tuple[str, Evidence, LastCall | None]]) -> tuple[str, str] | None:
    for check, evidence, tried in _list_with_inputs(wrong):
        seen = evidence.expected, evidence.got, evidence.how
        if said := explain_position(*seen) or explain_marked_rows(*seen, tried.inputs, signs=True):
            return check, said
    return None


def _list_with_inputs(
    wrong: Sequence[tuple[str, Evidence, LastCall | None]],
) -> Iterator[tuple[str, WrongAnswerEvidence, Case]]:
    """Yield the answers that are compared number by number, with the inputs of their cases."""
    for check, evidence, tried in wrong:
        if isinstance(evidence, WrongAnswerEvidence) and not evidence.also and tried and tried.case:
            yield check, evidence, tried.case


class _Probe:
    """Calls the driver of a case with other inputs, for a limited time."""

    def __init__(self, shared: RunContext, submission: Path, question: Question, tried: LastCall) -> None:
        self._shared, self._submission, self._question, self._tried = shared, submission, question, tried
        self._left = MOST_SECONDS

    def __call__(self, inputs: dict[str, Any], seed: int | None = None) -> Any:
        """Return the facts, or None if there are none, or no time is left."""
        if self._left <= 0:
            return None
        try:
            seconds = min(self._left, self._shared.clock.limit(self._question))
            reply = self._shared.sandbox.call(
                self._tried.driver, inputs, self._submission, seconds, self._tried.seed if seed is None else seed
            )
        except (CheckNotRun, SandboxFault):
            self._left = 0
            return None
        self._left -= max(reply.spent, reply.seconds)
        return reply.facts if reply.status == "ok" else None


def _explain_dependence(tried: LastCall, evidence: Evidence, probe: _Probe) -> str | None:
    case = tried.case
    assert case is not None  # as chosen
    judged = {name: _list_judged(of, evidence) for name, of in case.influences.items()}
    once, again = list_outputs(probe(case.inputs)), list_outputs(probe(case.inputs, tried.seed + 1))
    seen = {name for of in judged.values() for name in of}
    if once and again and any(difference(once.get(name), again.get(name), equal_nan=True) for name in seen):
        # A check may allow any order, in which case no number says what its place depends on.
        drawn = any(difference(_order(once.get(name)), _order(again.get(name)), equal_nan=True) for name in seen)
        return "Why does the result differ between calls with equal arguments?" if drawn else None
    found = measure_influences(once, probe, case.inputs, case.nudges)
    if not found:
        return None
    return explain_influences(case.inputs, case.answer, case.nudges, judged, found, _list_open(evidence))


def _order(numbers: np.ndarray | None) -> np.ndarray | None:
    return None if numbers is None else np.sort(numbers, axis=None)


def _list_open(evidence: Evidence) -> set[str]:
    """Return the outputs of which the check accepts another form as well: a work in that form depends on more, or otherwise."""
    if not isinstance(evidence, WrongAnswerEvidence):
        return set()
    first, *others = ({"result": form} if not isinstance(form, dict) else form for form in _list_right_forms(evidence))
    return {name for form in others for name in first if difference(first[name], form.get(name), equal_nan=True) is not None}


def _list_judged(outputs: dict[str, Any], evidence: Evidence) -> dict[str, Any]:
    """Return the outputs that the check found wrong; all of them if it looked at none as it is.

    The others may differ from the solution's in right work, too.
    """
    parts = evidence.expected if isinstance(evidence, WrongAnswerEvidence) and isinstance(evidence.expected, dict) else {}
    if not outputs.keys() & parts.keys():
        return outputs
    wrong = evidence.wrong_parts if len(parts) > 1 else parts.keys()
    return {name: value for name, value in outputs.items() if name in wrong}


def _is_only_about_names(evidence: Evidence) -> bool:
    """Return whether a check found only lists of names wrong, such as the inputs that a call has changed: no output need be."""
    if not isinstance(evidence, WrongAnswerEvidence):
        return False
    parts: list[Any] = []
    for facts in (evidence.expected, evidence.got):
        named = facts if isinstance(facts, dict) else {"": facts}
        parts += [named[name] for name in evidence.wrong_parts if name in named] or named.values()
    return all(isinstance(part, list) and all(isinstance(item, str) for item in part) for part in parts)
