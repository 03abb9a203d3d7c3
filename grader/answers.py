"""Cases, their answers, and the evidence of mistakes, stored as readable JSON.

A case is the plain inputs of one driver call, made from a seed; its answer is what the driver returns on the solution.
Inputs are stored with the answers, so the seed is not needed to read them. A mistake is stored without code: only as the
evidence that its failed checks saw.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from grader.sandbox.wire import TensorArray


@dataclass(frozen=True)
class Case:
    """One call of a driver.

    Attributes:
        inputs: The driver's keyword arguments.
        answer: The value that the solution's driver returned; None before `build`.
        nudges: For some inputs, by name, how many leading axes count its rows. Each row is nudged to measure how the answer
            depends on it. If empty, nothing is measured.
        influences: How the solution's answer depends on these rows (see `judge.influence`).
    """

    name: str
    driver: str
    question: str
    inputs: dict[str, Any]
    answer: Any = None
    nudges: Mapping[str, int] = field(default_factory=dict)
    influences: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)


@dataclass(frozen=True)
class CaseRecipe:
    """A recipe for a case, declared with `@case`.

    Attributes:
        make: Returns the inputs of the case, given a generator.
        nudges: See `Case`.
    """

    name: str
    driver: str
    question: str
    suite: str
    make: Callable[[np.random.Generator], dict[str, Any]]
    nudges: Mapping[str, int] = field(default_factory=dict)

    def cook(self, seed: int) -> Case:
        """Return the case; its generator depends only on the seed and the case's name, not on the order of cases."""
        generator = np.random.default_rng([seed, zlib.crc32(self.name.encode())])
        return Case(self.name, self.driver, self.question, self.make(generator), nudges=self.nudges)


def case(
    driver: str, question: str, hidden: bool = False, nudges: Mapping[str, int] | None = None
) -> Callable[[Callable[[np.random.Generator], dict[str, Any]]], CaseRecipe]:
    """Return a decorator that declares a case, named after its function, which makes the inputs from a generator.

    Args:
        nudges: See `Case`; only for visible cases, because students read about the result.
    """

    def declare(make: Callable[[np.random.Generator], dict[str, Any]]) -> CaseRecipe:
        return CaseRecipe(make.__name__, driver, question, "hidden" if hidden else "visible", make, nudges or {})

    return declare


@dataclass(frozen=True)
class SuiteAnswers:
    """All cases of one suite of one assignment.

    Attributes:
        seed: The seed of the cases.
        cases: The cases by name.
        stub: Fingerprints of the stub's functions (see `sandbox.definitions`).
        released: Their fingerprints in earlier stubs, which students may still have.
    """

    seed: int
    cases: dict[str, Case]
    stub: dict[str, str]
    released: dict[str, list[str]] = field(default_factory=dict)

    def unwritten(self) -> dict[str, frozenset[str]]:
        """Return, for each of the stub's functions, the fingerprints that mean it is still unwritten."""
        return {name: frozenset([now, *self.released.get(name, ())]) for name, now in self.stub.items()}

    def replaced_by(self, stub: dict[str, str]) -> dict[str, list[str]]:
        """Return the new `released` when the stub gets these fingerprints."""
        every = {name: [*self.released.get(name, ()), now] for name, now in self.stub.items()}
        before = {
            name: [was for was in dict.fromkeys(found) if was != stub[name]] for name, found in every.items() if name in stub
        }
        return {name: found for name, found in before.items() if found}


def read_answers(path: Path, name: str) -> SuiteAnswers:
    """Return the cases and answers of assignment `name` from the file."""
    entry = json.loads(path.read_text(encoding="utf-8"))[name]
    cases = {
        key: Case(
            key,
            value["driver"],
            value["question"],
            _revive(value["inputs"]),
            _revive(value["answer"]),
            value.get("nudges", {}),
            _revive(value.get("influences", {})),
        )
        for key, value in entry["cases"].items()
    }
    return SuiteAnswers(entry["seed"], cases, entry["stub"], entry.get("released", {}))


def render_answers(name: str, answers: SuiteAnswers, packed: bool = False) -> str:
    """Return the text of the file with the cases of assignment `name`.

    Args:
        name: The assignment.
        answers: Its cases and answers.
        packed: Whether to write many numbers in base64, which is exact and takes half the space.
    """
    plain = _packed if packed else _plain
    content = {
        "seed": answers.seed,
        "stub": answers.stub,
        **({"released": answers.released} if answers.released else {}),
        "cases": {
            key: {
                "question": value.question,
                "driver": value.driver,
                "inputs": plain(value.inputs),
                "answer": plain(value.answer),
                **({"nudges": dict(value.nudges), "influences": _packed(value.influences)} if value.nudges else {}),
            }
            for key, value in answers.cases.items()
        },
    }
    return _file(name, content, FACTS if packed else 99)


def render_overview(paths: Iterable[Path]) -> str:
    """Return the text of one file with the content of these files, one per assignment, as `render_answers` made them."""
    entries = []
    for path in sorted(paths):
        text = path.read_text(encoding="utf-8")
        if not (text.startswith("{\n") and text.endswith("\n}\n")):  # edited by hand
            ((name, content),) = json.loads(text).items()
            text = _file(name, content)
        entries.append(text.removeprefix("{\n").removesuffix("\n}\n"))
    return "{\n" + ",\n".join(entries) + "\n}\n"


# Stored instead of evidence if chance decides: runs differ, so nothing can be recognized.
UNPREDICTABLE = "something else each time"


@dataclass(frozen=True)
class Mistake:
    """A catalogued mistake, as stored for the judge.

    Attributes:
        question: The id of the question that it is about.
        shows: For each check of one suite that it fails, the evidence that the check saw (see
            `judge.student.CheckFailed`), or UNPREDICTABLE.
        pairs: By the id of another mistake, the evidence of both together, by check: the most telling part that both change,
            with its name; where the two show anything else than `combine_shows` says, all evidence, or None if the check
            passes.
    """

    id: str
    question: str
    hint: str
    shows: dict[str, Any]
    pairs: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class MistakePair:
    """Two mistakes in one submission.

    Attributes:
        mistakes: In the order of the catalogue.
        shows: As for a single mistake.
    """

    mistakes: tuple[Mistake, Mistake]
    shows: dict[str, Any]

    @classmethod
    def of(cls, one: Mistake, other: Mistake, differs: dict[str, Any]) -> MistakePair:
        """Return a pair with the evidence of its mistakes, except for what is recorded of the pair (see `Mistake.pairs`)."""
        shows = combine_shows(one.shows, other.shows)
        for check, saw in differs.items():
            shows[check] = _overlay(shows.get(check), saw)
        return cls((one, other), {check: saw for check, saw in shows.items() if saw is not None})


def combine_shows(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return the evidence that two mistakes show together if neither hides the other.

    In a check that both fail, they show the wrong parts of both, if both are stored by part (see `judge.evidence`) and fail
    in the same case. What both change may be anything: it is UNPREDICTABLE.
    """
    return {**other, **one} | {check: _combine(one[check], other[check]) for check in one.keys() & other.keys()}


def _combine(one: Any, other: Any) -> Any:
    if one == other:
        return one
    if not (isinstance(one, list) and isinstance(other, list) and len(one) == len(other)):
        return UNPREDICTABLE
    forms = []
    for form, other_form in zip(one, other, strict=True):
        if not (isinstance(form, dict) and isinstance(other_form, dict) and form.keys() == other_form.keys()):
            return UNPREDICTABLE
        forms.append({case: _combine_parts(parts, other_form[case]) for case, parts in form.items()})
    return forms


def _combine_parts(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    both = one.keys() & other.keys()
    return {**other, **one} | {part: one[part] if one[part] == other[part] else UNPREDICTABLE for part in both}


def _overlay(combined: Any, saw: Any) -> Any:
    """Return what a check sees of a pair: what is expected of both together, with what is recorded of the pair.

    Args:
        saw: The whole evidence; or the name of a part and its evidence, as one list.
    """
    if not (isinstance(saw, list) and saw and isinstance(saw[0], str)):
        return saw
    part, *record = saw
    if not (part and isinstance(combined, list)):
        return [record]
    return [{case: parts | {part: record} for case, parts in form.items()} for form in combined if isinstance(form, dict)]


def list_recorded_pairs(mistakes: Mapping[str, Mistake]) -> list[MistakePair]:
    """Return the recorded pairs of these mistakes."""
    found = ((one, mistakes.get(name), differs) for one in mistakes.values() for name, differs in one.pairs.items())
    return [MistakePair.of(one, other, differs) for one, other, differs in found if other is not None]


def read_mistakes(path: Path, name: str) -> dict[str, Mistake]:
    """Return the mistakes of assignment `name` by id, in the order of the catalogue; none when there is no such file."""
    if not path.is_file():
        return {}
    entry = json.loads(path.read_text(encoding="utf-8"))[name]
    return {
        key: Mistake(
            key,
            value["question"],
            value["hint"],
            {check: _revive(saw) for check, saw in value["shows"].items()},
            {other: {check: _revive(saw) for check, saw in shown.items()} for other, shown in value.get("pairs", {}).items()},
        )
        for key, value in entry.items()
    }


def render_mistakes(name: str, mistakes: dict[str, Mistake]) -> str:
    """Return the text of the file with the evidence of the mistakes of assignment `name`."""
    content = {
        key: {
            "question": value.question,
            "hint": value.hint,
            "shows": {check: _plain(saw, DIGITS) for check, saw in value.shows.items()},
            **({"pairs": _plain(value.pairs, DIGITS)} if value.pairs else {}),
        }
        for key, value in mistakes.items()
    }
    return _file(name, content)


def _file(name: str, content: dict[str, Any], levels: int = 99) -> str:
    return f'{{\n "{name}": {_readable(content, " ", levels)}\n}}\n'


DIGITS = 6  # significant digits of the sums that identify mistakes: ten times finer than the default tolerance of checks


def _plain(value: Any, digits: int | None = None) -> Any:
    """Return the JSON form of a value.

    Arrays become {"array": "float64[3, 1]", "values": [...]}, tensors likewise; everything else is
    unchanged.

    Args:
        digits: Number of significant digits of floating-point numbers, which then may be infinite or
            NaN; None keeps them exact.
    """
    if isinstance(value, np.ndarray):
        return _layout(value) | {"values": _numbers(np.asarray(value), digits)}
    if isinstance(value, np.generic):
        return {"scalar": str(value.dtype), "values": _numbers(np.asarray(value), digits)}
    if isinstance(value, dict):
        return {key: _plain(item, digits) for key, item in value.items()}
    if isinstance(value, tuple):
        return {"tuple": [_plain(item, digits) for item in value]}
    if isinstance(value, list):
        return [_plain(item, digits) for item in value]
    if isinstance(value, float) and digits is not None:
        return float(f"{value:.{digits}g}") if math.isfinite(value) else {"float": str(value)}
    return value


PACKED = 6  # numbers from which an array is packed
FACTS = 5  # the nesting level of a driver's facts in a file of answers


def _packed(value: Any) -> Any:
    """Return the JSON form, like `_plain`, but with many numbers as base64 bytes, compressed if that helps."""
    if isinstance(value, np.ndarray) and value.size >= PACKED:
        return _layout(value) | _compressed(value)
    if isinstance(value, dict):
        return {key: _packed(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return {"tuple": [_packed(item) for item in value]}
    if isinstance(value, list):
        if len(value) >= PACKED and all(type(item) is float for item in value):
            exact, short = np.array(value), np.array(value, np.float32)
            array = short if (short == exact).all() else exact
            return {"list": f"{array.dtype}[{len(value)}]"} | _compressed(array)
        return [_packed(item) for item in value]
    return _plain(value)


def _layout(array: np.ndarray) -> dict[str, str]:
    kind = "tensor" if isinstance(array, TensorArray) else "array"
    return {kind: f"{array.dtype}[{', '.join(map(str, array.shape))}]"}


def _compressed(array: np.ndarray) -> dict[str, str]:
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError("an answer of the solution contains NaN or infinity")
    data = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
    smaller = zlib.compress(data, 9)
    kind, data = ("zlib", smaller) if len(smaller) < len(data) else ("base64", data)
    return {kind: base64.b64encode(data).decode()}


def hash_content(data: Any, digits: int | None = None) -> str:
    """Return a hash of plain data.

    Args:
        digits: See `_plain`; None for answers.

    Raises:
        ValueError: For NaN and infinity, if `digits` is None.
    """
    return hashlib.sha256(json.dumps(_plain(data, digits), sort_keys=True).encode()).hexdigest()


def _numbers(array: np.ndarray, digits: int | None) -> Any:
    """Return nested lists of the shortest numbers that read back to the same value at the array's own precision."""
    if array.dtype.kind != "f":
        return array.tolist()
    if array.ndim:
        return [_numbers(item, digits) for item in array]
    if digits is not None:
        return float(f"{array[()]:.{digits}g}") if np.isfinite(array) else str(array[()])
    if not np.isfinite(array):
        raise ValueError("an answer of the solution contains NaN or infinity")
    return float(str(array[()]))


def _revive(value: Any) -> Any:
    if isinstance(value, list):
        return [_revive(item) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"tuple"}:
        return tuple(_revive(value["tuple"]))
    if set(value) == {"float"}:
        return float(value["float"])
    kind, text = next(iter(value.items()), ("", None))
    stored = (value.keys() - {kind}) or {""}
    if (
        kind not in ("tensor", "array", "scalar", "list")
        or not isinstance(text, str)
        or len(stored) != 1
        or not stored <= {"values", "base64", "zlib"}
    ):
        return {key: _revive(item) for key, item in value.items()}
    dtype, _, shape = text.partition("[")
    sizes = [int(size) for size in shape.rstrip("]").split(",") if size.strip()]
    if "values" in value:
        array = np.array(value["values"], dtype=dtype).reshape(sizes)
    else:
        data = base64.b64decode(value["base64"]) if "base64" in value else zlib.decompress(base64.b64decode(value["zlib"]))
        array = np.frombuffer(data, np.dtype(dtype).newbyteorder("<")).astype(dtype).reshape(sizes)
    match kind:
        case "tensor":
            return array.view(TensorArray)
        case "scalar":
            return array[()]
        case "list":
            return array.tolist()
    return array


WIDTH = 120


def _flat(value: Any) -> str:
    """Return JSON on one line, without spaces between numbers."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key, ensure_ascii=False)}: {_flat(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_flat, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _readable(value: Any, indent: str, levels: int) -> str:
    """Return JSON with every row of numbers on one line.

    Short rows share a line, up to a readable width.

    Args:
        levels: From this level on, everything is on one line, however long.
    """
    flat = _flat(value)
    fits = len(flat) + len(indent) <= WIDTH or len(indent) >= levels
    if not isinstance(value, (list, dict)) or not value or (fits and "inputs" not in value):
        return flat
    inner = indent + " "
    if isinstance(value, dict):
        items = [f"{json.dumps(key, ensure_ascii=False)}: {_readable(item, inner, levels)}" for key, item in value.items()]
        return f"{{\n{inner}" + f",\n{inner}".join(items) + f"\n{indent}}}"
    lines: list[str] = []
    for item in value:
        text = _readable(item, inner, levels)
        if lines and "\n" not in lines[-1] + text and len(inner) + len(lines[-1]) + len(text) + 2 <= WIDTH:
            lines[-1] += f",{text}"
        else:
            lines.append(text)
    return f"[\n{inner}" + f",\n{inner}".join(lines) + f"\n{indent}]"
