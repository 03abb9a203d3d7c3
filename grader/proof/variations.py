"""Variations of cases: the inputs of an existing case with other sizes or values, and the code that declares them.

Few inputs are rounded, and stand in cases.py as literals; many are written as changes of the existing case.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grader.answers import Case, read_answers
from grader.assignment import SUITES, AssignmentFiles
from grader.authoring.entry import add_import, format_as_ruff
from grader.proof.trials import list_unit_questions

MOST_OF_A_CASE = 40  # variations
MOST_CHARACTERS = 200  # of the literals of a case
DIGITS = 2  # of the numbers of an array

Inputs = dict[str, Any]


@dataclass(frozen=True)
class Variation:
    """An existing case with other inputs.

    Attributes:
        name: Its name as a case, which says how it was made.
        base: The name of the existing case.
        code: Its declaration in cases.py.
        facts: The facts that it is there for: its check must compare one of them.
    """

    name: str
    base: str
    driver: str
    question: str
    inputs: Inputs
    code: str
    facts: tuple[str, ...] = ()


def list_variations(home: AssignmentFiles, function: str | None = None, most: int = MOST_OF_A_CASE) -> Iterator[Variation]:
    """Yield the variations of visible cases; none has the name of a case that there is.

    Those of hidden cases would show students hidden inputs.

    Args:
        function: The function that the cases are about; all cases without one.
        most: How many variations a case has.
    """
    taken = {case.name for case, _ in list_cases(home)}
    for case, seed in list_cases(home, function, suites=("visible",)):
        for kind, changes in itertools.islice(_vary(case.inputs), min(most, MOST_OF_A_CASE)):
            name = f"{kind}_of_{case.name}"
            inputs = {key: _change(value, changes.get(key, OLD)) for key, value in case.inputs.items()}
            inputs = {key: value for key, value in inputs.items() if changes.get(key, OLD)}
            if name not in taken:
                yield _write_variation(case, name, inputs, _render_changes(case, changes, seed))


def list_cases(home: AssignmentFiles, function: str | None = None, suites: Sequence[str] = SUITES) -> list[tuple[Case, int]]:
    """Return the cases of these suites, or those about one function, each with the seed from which it was made."""
    stored = [read_answers(home.answers[suite], home.assignment.name) for suite in suites]
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
    if _has_rows(value) and value.size and value.dtype.kind in "fi":
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
            return Variation(name, case.name, case.driver, case.question, rounded, f"{head}    return dict({given})\n")
    return Variation(name, case.name, case.driver, case.question, inputs, f"{head}{changes}")


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


def format_code(home: AssignmentFiles, variation: Variation) -> Variation:
    """Return a variation whose code is formatted as the author's."""
    return replace(variation, code=format_as_ruff(variation.code, home.solution / "cases.py"))


def add_case(home: AssignmentFiles, variation: Variation) -> str:
    """Return the text of cases.py with one more case at the end."""
    text = (home.solution / "cases.py").read_text(encoding="utf-8").rstrip("\n") + "\n"
    if "np." in variation.code and "import numpy as np" not in text:
        text = add_import(text, "import numpy as np")
    return f"{text}\n\n{format_code(home, variation).code}"
