"""Look for cases that tell apart what no check does: a surviving change and the solution, or two mistakes that look alike.

The inputs of existing cases are varied: their sizes and their values. A variation is a proposal if the solution can answer it
and the two answer differently. Facts in which they differ with the inputs that there are do not count, because no check minds
these. Few inputs are rounded, and stand in cases.py as literals; many are written as changes of the existing case.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grader.answers import Case, Mistake, read_answers
from grader.assignment import SUITES, AssignmentFiles
from grader.authoring.entry import add_import, format_as_ruff
from grader.authoring.recipes import holds_nan, list_unstorable
from grader.judge.compare import difference
from grader.judge.run import Grader
from grader.proof.candidates import Candidate
from grader.proof.pool import TrialPool
from grader.proof.proposing import agree
from grader.proof.trials import keep_replies, list_unit_questions

MOST_OF_A_CASE = 40  # variations
MOST_CHARACTERS = 200  # of the literals of a case
DIGITS = 2  # of the numbers of an array
SECONDS = 2.0  # of one call; a correct one takes hundredths
RAISED = "raised"

Inputs = dict[str, Any]


@dataclass(frozen=True)
class Variation:
    """An existing case with other inputs.

    Attributes:
        name: Its name as a case, which says how it was made.
        code: Its declaration in cases.py.
    """

    name: str
    driver: str
    question: str
    inputs: Inputs
    code: str

    @property
    def check(self) -> str:
        """A check that uses it, for the author to complete."""
        return (
            f'@points(1, question="{self.question}")\ndef test_{self.name}(student):\n'
            f'    """What a student reads: the idea of this case."""\n    student.expect("{self.name}")\n'
        )


@dataclass(frozen=True)
class Unseparated:
    """Two submissions between which no check tells.

    Attributes:
        label: What they are, in words.
        one, other: Their texts.
    """

    label: str
    function: str
    one: str
    other: str


@dataclass(frozen=True)
class ProposedCase:
    """A variation, and what it tells apart."""

    variation: Variation
    tells: tuple[Unseparated, ...]


def list_survivors(home: AssignmentFiles, survivors: Iterable[Candidate]) -> list[Unseparated]:
    """Return candidates that no check catches, each beside the solution."""
    solution = (home.solution / home.assignment.submission).read_text(encoding="utf-8")
    return [Unseparated(f"{one.question}: {one.change}", one.function, solution, one.submission) for one in survivors]


def list_lookalikes(
    home: AssignmentFiles, recorded: Sequence[Mistake], texts: Mapping[str, str], question: str | None = None
) -> list[Unseparated]:
    """Return the pairs of recorded mistakes that show the same to every check.

    Args:
        texts: The submission of each mistake of the catalogue.
        question: The question of the mistakes; None for all.
    """
    found = []
    for one, other in itertools.combinations([each for each in recorded if each.id in texts and each.shows], 2):
        function = home.assignment.question(one.question).function
        same = one.shows.keys() == other.shows.keys() and one.id.partition(",")[0] != other.id.partition(",")[0]
        if (
            same
            and question in (None, one.question)
            and all(agree(saw, other.shows[check]) for check, saw in one.shows.items())
        ):
            found.append(Unseparated(f"{one.id} and {other.id}", function, texts[one.id], texts[other.id]))
    return found


def find_cases(
    pool: TrialPool, home: AssignmentFiles, unseparated: Sequence[Unseparated]
) -> tuple[list[ProposedCase], list[Unseparated]]:
    """Return few cases that tell as many of these apart as possible, and those that no variation tells apart."""
    proposed: list[ProposedCase] = []
    left: list[Unseparated] = []
    solution = (home.solution / home.assignment.submission).read_text(encoding="utf-8")
    for function in dict.fromkeys(one.function for one in unseparated):
        own = [one for one in unseparated if one.function == function]
        tried = list(list_variations(home, function))
        before = [(case.driver, case.inputs) for case, _ in _list_cases(home, function)]
        calls = [*before, *((one.driver, one.inputs) for one in tried)]
        right = [pool.submit(answer_calls, solution, calls, seed) for seed in (0, 1)]
        texts = dict.fromkeys(text for one in own for text in (one.one, one.other) if text != solution)
        pending = {text: pool.submit(answer_calls, text, calls, 0) for text in texts}
        answers = {text: each.result() for text, each in pending.items()}
        first, second = (each.result() for each in right)
        answers[solution] = first
        telling: dict[int, list[Unseparated]] = {}
        for one in own:
            overlooked = {
                (driver, fact)
                for index, (driver, _) in enumerate(before)
                for fact in _list_differences(answers[one.one][index], answers[one.other][index])
            }
            for index, variation in enumerate(tried):
                place = index + len(before)
                seen = _list_differences(answers[one.one][place], answers[one.other][place])
                if _is_usable(first[place], second[place]) and any((variation.driver, fact) not in overlooked for fact in seen):
                    telling.setdefault(index, []).append(one)
        chosen = list(_choose(tried, telling))
        proposed += [replace(case, variation=_format(home, case.variation)) for case in chosen]
        told = [one for case in chosen for one in case.tells]
        left += [replace(one, label=f"{one.label} ({len(tried)} inputs tried)") for one in own if one not in told]
    return proposed, left


def _choose(tried: Sequence[Variation], telling: Mapping[int, list[Unseparated]]) -> Iterator[ProposedCase]:
    """Yield the variation that tells most apart, then the one that tells most of the rest, and so on; short ones first."""
    told: list[Unseparated] = []
    while True:
        fresh = {index: [one for one in found if one not in told] for index, found in telling.items()}
        best = max(fresh, key=lambda index: (len(fresh[index]), -len(tried[index].code)), default=None)
        if best is None or not fresh[best]:
            return
        yield ProposedCase(tried[best], tuple(fresh[best]))
        told += fresh[best]


def answer_calls(grader: Grader, submission: str, calls: Sequence[tuple[str, Inputs]], seed: int) -> list[Any]:
    """Return the facts of each call, or why there are none; a function for `TrialPool.submit`."""
    path = grader.harness.place(submission.encode())
    seconds = min(SECONDS, grader.home.assignment.limits.seconds)
    found: list[Any] = []
    with keep_replies(grader, finds=True):
        for driver, inputs in calls:
            reply = grader.harness.sandbox.call(driver, inputs, path, seconds, seed)
            found.append(reply.facts if reply.status == "ok" else [RAISED, reply.status, str(reply.details.get("type", ""))])
    return found


def _is_usable(answer: Any, again: Any) -> bool:
    """Return whether the solution has an answer that a check can compare, and that chance does not decide."""
    return (
        isinstance(answer, dict) and not list_unstorable(answer) and not holds_nan(answer) and difference(answer, again) is None
    )


def _list_differences(one: Any, other: Any) -> list[str]:
    """Return the facts in which two answers differ; "" for an answer without facts."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return [] if one == other else [""]
    return [fact for fact in one if difference(one[fact], other.get(fact), equal_nan=True) is not None]


# Variations


def list_variations(home: AssignmentFiles, function: str | None = None) -> Iterator[Variation]:
    """Yield the variations of all cases, or of the cases about one function; none has the name of a case that there is."""
    taken = {case.name for case, _ in _list_cases(home)}
    for case, seed in _list_cases(home, function):
        for kind, changes in itertools.islice(_vary(case.inputs), MOST_OF_A_CASE):
            name = f"{kind}_of_{case.name}"
            inputs = {key: _change(value, changes.get(key, OLD)) for key, value in case.inputs.items()}
            inputs = {key: value for key, value in inputs.items() if changes.get(key, OLD)}
            if name not in taken:
                yield _write_variation(case, name, inputs, _render_changes(case, changes, seed))


def _list_cases(home: AssignmentFiles, function: str | None = None) -> list[tuple[Case, int]]:
    """Return all cases, or those about one function, each with the seed from which it was made."""
    stored = [read_answers(home.answers[suite], home.assignment.name) for suite in SUITES]
    asked = list_unit_questions(home.assignment, function) if function else {one.id for one in home.assignment.questions}
    return [(case, each.seed) for each in stored for case in each.cases.values() if case.question in asked]


def _vary(inputs: Inputs) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield (description, changes) for each variation, sizes first.

    A change is the expression of an input's new value; "" drops the input.
    """
    rows = [len(value) for value in inputs.values() if _has_rows(value)]
    if rows:
        size = max(rows, key=rows.count)
        for what, (of_list, of_array) in CUTS.items():
            cut = {key: value for key, value in inputs.items() if _has_rows(value) and len(value) == size}
            yield what, {key: of_list if isinstance(value, list) else of_array for key, value in cut.items()}
    for key, value in inputs.items():
        for what, other in [*_list_other_values(value), ("no", "")]:
            kind = f"{key}_{what}" if other else f"no_{key}"
            yield re.sub(r"\W", "_", kind.lower()), {key: other}


def _has_rows(value: Any) -> bool:
    return isinstance(value, list) or (isinstance(value, np.ndarray) and value.ndim > 0)


OLD = "{0}"  # in an expression: the old value
CUTS = {  # of a list, and of an array
    "one_row": ("{0}[:1]", "{0}[:1]"),
    "two_rows": ("{0}[:2]", "{0}[:2]"),
    "three_rows": ("{0}[:3]", "{0}[:3]"),
    "no_rows": ("{0}[:0]", "{0}[:0]"),
    "reversed_rows": ("{0}[::-1]", "{0}[::-1]"),
    "equal_rows": ("{0}[:1] * 3", "np.repeat({0}[:1], 3, axis=0)"),
    "repeated_rows": ("{0}[:3] * 2", "np.concatenate([{0}[:3], {0}[:3]])"),
}
OF_NUMBERS = {"zero": "0", "one": "1", "two": "2", "negative": "-{0}"}
OF_FLOATS = {"zero": "0.0", "one": "1.0", "two": "2.0", "negative": "-{0}", "small": "0.1", "large": "10 * abs({0})"}
OF_TEXTS = {"empty": '""', "short": "{0}[:1]", "repeated": "{0}[:1] * 3", "upper": "{0}.upper()"}
OF_ARRAYS = {
    "negative": "-{0}",
    "zero": "{0} * 0",
    "positive": "np.abs({0})",
    "sorted": "np.sort({0}, axis=0)",
    "large": "{0} * 10",
    "equal": "np.full_like({0}, {0}.flat[0])",
}


def _list_other_values(value: Any) -> list[tuple[str, str]]:
    """Return (description, expression) for each other value of an input."""
    if isinstance(value, bool):
        return [("flipped", "not {0}")]
    if isinstance(value, (int, float)):
        return [*(OF_NUMBERS if isinstance(value, int) else OF_FLOATS).items()]
    if isinstance(value, str):
        return [*OF_TEXTS.items()]
    if isinstance(value, list) and value and all(type(item) in (int, float) for item in value):
        return [(what, f"({other.format('np.array({0})')}).tolist()") for what, other in OF_ARRAYS.items()]
    if isinstance(value, np.ndarray) and value.size and value.dtype.kind in "fi":
        return [*OF_ARRAYS.items()]
    return []


def _change(value: Any, expression: str) -> Any:
    """Return the new value of an input."""
    return eval(expression.format("old") or "None", {"np": np, "old": value})  # an expression of the tables above


def _write_variation(case: Case, name: str, inputs: Inputs, changes: str) -> Variation:
    """Return a variation with its inputs as literals of few digits if these are short, or else as changes of the case."""
    head = f'@case("{case.driver}", question="{case.question}")\ndef {name}(rng):\n'
    rounded = _round(inputs)
    with contextlib.suppress(ValueError):
        given = ", ".join(f"{key}={_render(value)}" for key, value in rounded.items() if key.isidentifier())
        if len(given) <= MOST_CHARACTERS and all(map(str.isidentifier, rounded)):
            return Variation(name, case.driver, case.question, rounded, f"{head}    return dict({given})\n")
    return Variation(name, case.driver, case.question, inputs, f"{head}{changes}")


def _render_changes(case: Case, changes: dict[str, str], seed: int) -> str:
    """Return the body of a case that changes the inputs of another one."""
    old = {key: f"inputs[{json.dumps(key)}]" for key in changes}
    lines = [f"inputs = {case.name}.cook({seed}).inputs"]
    lines += [f"{old[key]} = {new.format(old[key])}" if new else f"del {old[key]}" for key, new in changes.items()]
    return "".join(f"    {line}\n" for line in [*lines, "return inputs"])


def _round(value: Any) -> Any:
    """Return inputs with numbers of few digits."""
    if isinstance(value, dict):
        return {key: _round(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_round(each) for each in value)
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return np.round(value, DIGITS) + 0.0  # no -0.0
    return round(value, DIGITS + 2) + 0.0 if isinstance(value, float) else value


def _render(value: Any) -> str:
    """Return a value as Python.

    Raises:
        ValueError: If that is not possible.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_render, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(_render, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_render(key)}: {_render(each)}" for key, each in value.items()) + "}"
    if type(value) is np.ndarray and value.dtype.kind in "fiub":
        usual = value.dtype in (np.float64, np.int64, np.bool_)
        dtype = "" if usual and value.size else f", dtype=np.{value.dtype.name.replace('bool', 'bool_')}"
        if not value.size:
            return f"np.zeros({value.shape}{dtype})"
        numbers = [float(f"{number:.6g}") for number in value.ravel().tolist()] if value.dtype.kind == "f" else value
        made = np.array(numbers, dtype=float if value.dtype.kind == "f" else value.dtype).reshape(value.shape)
        return f"np.array({made.tolist()!r}{dtype})"
    raise ValueError(f"{type(value).__name__} cannot be written as a literal")


def _format(home: AssignmentFiles, variation: Variation) -> Variation:
    return replace(variation, code=format_as_ruff(variation.code, home.solution / "cases.py"))


def add_case(home: AssignmentFiles, variation: Variation) -> str:
    """Return the text of cases.py with one more case at the end."""
    text = (home.solution / "cases.py").read_text(encoding="utf-8").rstrip("\n") + "\n"
    if "np." in variation.code and "import numpy as np" not in text:
        text = add_import(text, "import numpy as np")
    return f"{text}\n\n{_format(home, variation).code}"
