"""Read what the cells of a notebook say of a work: claims such as "found 1.5, expected 2.0" or "True (expected True)"."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

NUMBER = r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.])"
WORDS = {"and", "or", "times", "torch", "numpy", "s", "std"}  # of an expectation, that what was found does not repeat
CLOSE = 1e-4  # numbers that differ by less, relatively, are the same to a reader


class Claim(NamedTuple):
    """What a cell says in one place.

    Attributes:
        text: The line, or both lines, for a message.
    """

    text: str
    is_right: bool


@dataclass(frozen=True)
class Value:
    """A value as it is printed."""

    value: Any
    text: str

    @property
    def decimals(self) -> int:
        """The number of digits after the point; of the numbers in a list, the largest."""
        return max((len(digits) for digits in re.findall(r"\.(\d+)", self.text)), default=0)


Check = Callable[[Value], bool]


def read_claims(text: str, by_chance: bool = False) -> list[Claim]:
    """Return what a cell claims, in the order of its lines.

    Args:
        text: What it printed.
        by_chance: Whether its numbers are statistics, which come only close to what is expected.
    """
    claims: list[Claim] = []
    before = ""
    for line in text.splitlines():
        line = line.rpartition("\r")[2]
        if line.lstrip().startswith("expected"):
            claims += _compare_lines(before, line, by_chance)
        elif re.search(r"\bexpected\b(?!.*fine\?$)", line):
            claims += _read_line(line, by_chance)
        elif row := re.search(r"\s(yes|NO)$", line):  # "fine?"
            claims.append(Claim(line, row[1] == "yes"))
        elif re.search(r"\s(passes|fails)\s", line):
            claims.append(Claim(line, "(unexpected)" not in line))
        before = line
    return claims


def _compare_lines(before: str, line: str, by_chance: bool) -> Iterator[Claim]:
    """Yield the claims of a line that says what the line before it should have been."""
    expected = re.split(r"\bexpected\b:?", line)[1:]
    found = re.split(r"\bfound\b", before)
    found = found[1:] if len(expected) > 1 else ["".join(found)]
    found += [""] * (len(expected) - len(found))
    for one, other in zip(found, expected, strict=False):
        yield Claim(f"{before}\n{line}", _fits(one, other, by_chance))


def _read_line(line: str, by_chance: bool) -> Iterator[Claim]:
    """Yield the claims of a line that says both what was found and what was expected."""
    if "was expected" in line:
        yield Claim(line, False)
        return
    if "as expected" in line:
        yield Claim(line, True)
        return
    begin = 0
    places = list(re.finditer(r"\(?\bexpected\b", line))
    for number, place in enumerate(places):
        found = line[begin : place.start()].rpartition("found")[2]
        rest = line[place.end() : places[number + 1].start() if number + 1 < len(places) else len(line)]
        if place[0].startswith("("):
            expected = rest[: _find_end(rest, ")")]
        elif _find_end(rest, ";") < len(rest) or number + 1 == len(places):
            expected = rest[: _find_end(rest, ";")]
        else:  # another claim follows after a comma: as many values are of this one as were found
            values = list(_read_values(rest))
            expected = rest[: values[min(len(list(_read_values(found))), len(values)) - 1][1]] if values else rest
        begin = place.end() + len(expected)
        yield Claim(line, _fits(found, expected, by_chance))


def _find_end(text: str, mark: str) -> int:
    """Return where the mark first stands outside of brackets; the length of the text without it."""
    depth = 0
    for place, letter in enumerate(text):
        if letter == mark and not depth:
            return place
        depth += (letter in "([{") - (letter in ")]}")
    return len(text)


def _fits(found: str, expected: str, by_chance: bool) -> bool:
    """Return whether the last values of one text are those that the other asks for, and its words are there, too."""
    checks, words = _read_expected(expected, by_chance)
    values = [value for value, _ in _read_values(found)][-len(checks) :] if checks else []
    if len(values) != len(checks) or not words <= set(re.findall(r"[a-z]\w*", found)):
        return False
    return all(check(value) for check, value in zip(checks, values, strict=True))


def _read_values(text: str) -> Iterator[tuple[Value, int]]:
    """Yield the Python values in a text, each with the place of its end."""
    place = 0
    while place < len(text):
        if text[place] in "[{(":
            end = place + 1 + _find_end(text[place + 1 :], {"[": "]", "{": "}", "(": ")"}[text[place]]) + 1
            piece = text[place:end]
            try:
                yield Value(ast.literal_eval(re.sub(r"\b(nan|inf)\b", "'\\1'", piece)), piece), end
                place = end
                continue
            except (ValueError, SyntaxError):
                pass
        elif (place == 0 or not re.match(r"[\w.]", text[place - 1])) and (
            word := re.compile(rf"{NUMBER}|nan\b|-?inf\b|True\b|False\b|None\b").match(text, place)
        ):
            yield Value(_evaluate(word[0]), word[0]), word.end()
            place = word.end()
            continue
        place += 1


def _evaluate(text: str) -> Any:
    named = {"True": True, "False": False, "None": None}
    return named[text] if text in named else float(text.replace(",", ""))


def _read_expected(text: str, by_chance: bool) -> tuple[list[Check], set[str]]:
    """Return a check for each value that a text asks for, and its words."""
    checks: list[Check] = []
    words: set[str] = set()
    while text:
        for pattern, make in SPECIAL:
            if match := re.match(pattern, text):
                checks += make(*match.groups())
                break
        else:
            value, end = next(_read_values(text), (None, 0))
            if value is not None and text.startswith(value.text):
                checks.append(_equals(value, by_chance))
                match = re.match(re.escape(text[:end]), text)
                other = re.match(r"\s*(?:\([^)]*\))?\s*or\s+", text[end:])
                if other:  # A or B
                    rest = text[end + other.end() :]
                    second, length = next(_read_values(rest))
                    checks[-1] = _either(checks[-1], _equals(second, by_chance))
                    text = rest[length:]
                    continue
            else:
                match = re.match(r"[a-z]\w*|.", text, re.IGNORECASE | re.DOTALL)
                assert match is not None
                words |= {match[0]} & set(re.findall(r"[a-z]\w*", match[0])) - WORDS
        assert match is not None
        text = text[match.end() :]
    return checks, words


def _either(one: Check, other: Check) -> Check:
    return lambda value: one(value) or other(value)


def _equals(expected: Value, by_chance: bool) -> Check:
    return lambda found: _same(found.value, expected.value, _leeway(expected, by_chance))


def _leeway(expected: Value, by_chance: bool) -> Callable[[float], float]:
    """Return a function: by how much a number may differ from this one."""
    if by_chance:
        floor = {1: 0.1, 2: 0.05, 3: 0.01}.get(expected.decimals, 0.0)
        return lambda number: max(0.2 * abs(number), floor)
    if "e" in expected.text:
        return lambda number: 0.01 * abs(number) + 1e-9
    last = 1.01 * 10.0**-expected.decimals if expected.decimals >= 3 else 0.0  # the last digit may be rounded otherwise
    return lambda number: max(CLOSE * abs(number), 1e-6, last)


def _same(found: Any, expected: Any, leeway: Callable[[float], float]) -> bool:
    if isinstance(expected, str):
        return True  # words in place of a value: "and your own result"
    if isinstance(expected, bool) or expected is None or isinstance(found, (bool, str)):
        return found is expected
    if isinstance(expected, (int, float)):
        return isinstance(found, (int, float)) and abs(found - expected) <= leeway(expected)
    if type(found) is not type(expected) or len(found) != len(expected):
        return False
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(_same(found[key], expected[key], leeway) for key in expected)
    if isinstance(expected, set):
        return bool(found == expected)
    return all(_same(one, other, leeway) for one, other in zip(found, expected, strict=True))


def _number(found: Value) -> float:
    return float(found.value) if isinstance(found.value, (int, float)) else math.nan


def _below(bound: str) -> list[Check]:
    return [lambda found: _number(found) < float(bound)]


def _about(number: str) -> list[Check]:
    return [lambda found: abs(_number(found) - float(number)) <= 0.1 * abs(float(number))]


def _within(low: str, high: str) -> list[Check]:
    return [lambda found: float(low) - 1e-9 <= _number(found) <= float(high) + 1e-9]


def _near(middle: str, leeway: str) -> list[Check]:
    return [lambda found: abs(_number(found) - float(middle)) <= float(leeway) + 1e-9]


def _small(digits: str) -> list[Check]:
    return [lambda found: abs(_number(found)) < 10.0 ** -len(digits)]


def _six_times(number: str) -> list[Check]:
    return [_equals(Value([float(number)] * 6, number), False)]


SPECIAL: tuple[tuple[str, Callable[..., list[Check]]], ...] = (
    (rf"less than ({NUMBER})", _below),
    (rf"about ({NUMBER})", _about),
    (rf"({NUMBER}) to ({NUMBER})", _within),
    (rf"({NUMBER}) ± ({NUMBER})", _near),
    (r"0\.(0+)x", _small),
    (rf"six times ({NUMBER})", _six_times),
)
