"""What failed checks saw of a submission, and whether two submissions behave the same, whatever their code looks like.

For each failed check, a result stores the same evidence as the catalogue stores of a mistake (`judge.evidence`): a hash of the
form of the answer and of which numbers are wrong, and sums of these numbers. Two answers are compared with a tolerance, because
different code for the same computation rounds differently. Of an exception, the type counts, and the message without names that
the student chose.
"""

from __future__ import annotations

import builtins
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from grader.report.model import CheckResult, Outcome

if TYPE_CHECKING:
    from grader.judge.failure import CheckFailed

RTOL, ATOL = 1e-4, 1e-5  # the same as in checks, and in `build` for the records of a mistake
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
QUOTED = re.compile(r"'([^'\n]*)'|\"([^\"\n]*)\"|`([^`\n]*)`")
CALLED = re.compile(r"[\w.<>]+\(\)")  # total() takes 2 positional arguments
ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
TYPES = {name for name, value in vars(builtins).items() if isinstance(value, type)} | {"NoneType", "Tensor", "ndarray"}
# "was tried with" stands in results of earlier checkouts.
INPUTS_FOLLOW = re.compile(
    r"^Input of .*:$| (?:was tried with|received|was called without arguments)(?: \(case [^\n]*\))?[.:]$"
)
COMPARED = re.compile(r"\bexpected\b.*\bgot\b", re.DOTALL)
MAX_SUMMARY = 160  # characters

Form = tuple[str, tuple[float, ...]]
"""One way in which an answer may be read: what must be equal, and the numbers that must be close."""


def record_behavior(seen: Mapping[str, CheckFailed | None]) -> dict[str, Any]:
    """Return what each failed check saw, in the form that results store; a check of the stub saw nothing.

    Args:
        seen: For each check, how it failed; None if it passed (`Grader.seen`).
    """
    return {check: failure.evidence.record() for check, failure in seen.items() if failure and not failure.unwritten}


def list_failed_checks(checks: Iterable[CheckResult]) -> tuple[CheckResult, ...]:
    """Return the checks that a submission failed because of its behavior."""
    undecided = (Outcome.NOT_RUN, Outcome.GRADER_ERROR, Outcome.PASSED)
    return tuple(check for check in checks if check.outcome not in undecided and not check.unwritten)


class Behavior:
    """What the failed checks of one question saw of one submission.

    Args:
        failed: The failed checks.
        shows: What each check saw. For older results, which lack it, the signature is used.

    Attributes:
        outline: The failed checks, and how each ended. Submissions with different outlines behave differently.
    """

    def __init__(self, failed: Sequence[CheckResult], shows: Mapping[str, Any]) -> None:
        self.outline = frozenset((check.id, check.outcome.value) for check in failed)
        self._forms = {
            check.id: list_forms(shows[check.id]) if check.id in shows else [(check.signature, ())]
            for check in failed
            if check.outcome is Outcome.FAILED
        }

    def agrees(self, other: Behavior) -> bool:
        """Return whether both fail the same checks, and these saw the same, except for rounding."""
        return self.outline == other.outline and all(
            any(_close(one, another) for one in forms for another in other._forms[check])
            for check, forms in self._forms.items()
        )


def list_forms(recorded: Any) -> list[Form]:
    """Return the forms that recorded evidence can have: of an answer, an exception, or a sentence of a check."""
    if isinstance(recorded, list):
        return [_read_form(form) for form in recorded]
    if isinstance(recorded, dict) and "status" in recorded:
        return [(f"{recorded['status']} {recorded.get('type', '')} {leave_out_names(str(recorded.get('message', '')))}", ())]
    if isinstance(recorded, dict) and "said" in recorded:
        said = str(recorded["said"])
        return [(f"{recorded.get('case', '')} {NUMBER.sub('#', said)}", tuple(map(float, NUMBER.findall(said))))]
    return [(repr(recorded), ())]


def _read_form(form: Any) -> Form:
    if isinstance(form, dict):  # stored by part
        return _join_parts(form)
    if not isinstance(form, list):
        return repr(form), ()
    sums = tuple(part for part in form if isinstance(part, float))
    return repr([part for part in form if not isinstance(part, float)]), sums


def _join_parts(form: dict[str, Any]) -> Form:
    stored = [(case, name, part) for case, parts in form.items() if isinstance(parts, dict) for name, part in parts.items()]
    read = [(case, name, _read_form(part)) for case, name, part in sorted(stored, key=lambda found: found[:2])]
    return repr([(case, name, text) for case, name, (text, _) in read]), tuple(
        number for *_, (_, sums) in read for number in sums
    )


def _close(one: Form, other: Form) -> bool:
    return one[0] == other[0] and len(one[1]) == len(other[1]) and all(map(_near, one[1], other[1]))


def _near(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=RTOL, abs_tol=ATOL)


def leave_out_names(message: str) -> str:
    """Return the message of an exception without names that the student chose; names of types stay."""

    def keep_type(quoted: re.Match[str]) -> str:
        name = next(part for part in quoted.groups() if part is not None)
        return quoted[0] if name.rpartition(".")[2] in TYPES else "'…'"

    return ADDRESS.sub("0x…", CALLED.sub("…()", QUOTED.sub(keep_type, message)))


def choose_telling_check(failed: Sequence[CheckResult]) -> CheckResult:
    """Return the failed check with the most informative message (expected and found numbers or shapes), or else the first.

    Args:
        failed: At least one check that ended as failed.
    """
    wrong = [check for check in failed if check.outcome is Outcome.FAILED]
    return next((check for check in wrong if _compares(summarize_message(check.message))), wrong[0])


def _compares(summary: str) -> bool:
    return bool(COMPARED.search(summary) and NUMBER.search(summary))


def summarize_message(message: str) -> str:
    """Return the message of a failed check on one line, without the inputs of the case.

    A first line that only announces the next lines is joined with them: "returns:" becomes "returns: expected 1.5, got 2".
    """
    lines: list[str] = []
    for line in message.strip().splitlines():
        if INPUTS_FOLLOW.search(line):
            break
        lines.append(line)
    first = " ".join(lines[0].split()) if lines else ""
    if not first.endswith(":"):
        return first
    below = [" ".join(line.split()) for line in lines[1:] if line.startswith("  ")]
    whole = ", ".join(below)
    if len(first) + len(whole) < MAX_SUMMARY:
        return f"{first} {whole}".strip()
    furthest = [line for line in below if "largest difference" in line]
    return f"{first} {', '.join(furthest or below)}"
