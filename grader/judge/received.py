"""Show the arguments that a function of the submission received when its check failed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from grader.answers import Case
from grader.assignment import Question
from grader.judge.compare import SHOWN_INPUTS, format_value
from grader.sandbox.arguments import HOLDS, IS, TIMES, shows_last

MOST_LINES, MAX_NAME = 12, 80
MAX_LINE = 600  # characters of what a function received
INPUTS_OF_CASE = "The grader prepared this call with:"


@dataclass(frozen=True)
class OpaqueValue:
    """A value that is described, not shown."""

    text: str

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True)
class ReceivedCall:
    """A call of a function of the submission.

    Attributes:
        function: Its name, as in `GAE.__call__`.
        arguments: The values by name; a field of an object is named like `buffer.rewards`, an entry of a dictionary like
            `trajectory['rewards']`.
        times: How often the function was called; the arguments are those of the last call, or of a function's first.
        left_out: How many arguments are too many to show.
    """

    function: str
    arguments: dict[str, Any]
    times: int = 1
    left_out: int = 0

    @property
    def whole(self) -> bool:
        """Whether the arguments are shown completely: none left out, no opaque value among them, and no `self`."""
        opaque = any(isinstance(value, OpaqueValue) for value in self.arguments.values())
        return not opaque and not self.left_out and "." not in self.function

    def shows(self, name: str) -> bool:
        """Return whether an argument, or a part of one, has this name."""
        return any(name in re.findall(r"\w+", shown) for shown in self.arguments)


def choose_call(question: Question, calls: Sequence[tuple[str, dict[str, Any]]]) -> ReceivedCall | None:
    """Return the call that a question is about: that of its function or method, or else the last one of any.

    Of a question that has a name of its own, such as one about an update of everything, only calls of its function count.

    Args:
        calls: As `Sandbox.explain` returns them.
    """
    of_class = [call for call in calls if call[0].partition(".")[0] == question.function]
    methods = question.id.split(".")[1:]
    own = [call for call in of_class if call[0].rpartition(".")[2] in (question.function, *methods)]
    for group in (own, of_class, calls) if question.id.split(".")[0] == question.function else (own,):
        used = [call for call in group if not call[0].endswith("__init__")] or group
        if used:
            function, arguments = used[-1]
            times = arguments.get(TIMES)
            named = list(_name_values({name: value for name, value in arguments.items() if name != TIMES}))
            shown, left_out = dict(named[:MOST_LINES]), len(named[MOST_LINES:])
            return ReceivedCall(function[:MAX_NAME], shown, times if type(times) is int else 1, left_out)
    return None


def describe_call(case: Case, question: Question, received: ReceivedCall | None) -> list[str]:
    """Return lines that show the arguments of a function, and the inputs of the case if those do not show everything."""
    inputs = [f"  {name} = {format_value(value, SHOWN_INPUTS)}" for name, value in case.inputs.items()]
    if received is None:
        return [f"Input of {question.function} (case {case.name}):", *inputs]
    lines = [f"  {name} = {format_value(value, SHOWN_INPUTS)}"[:MAX_LINE] for name, value in received.arguments.items()]
    if received.left_out:
        lines.append(f"  ... and {received.left_out} more arguments")
    if not lines:
        did = f"was called without arguments (case {case.name})."
    elif received.times > 1:
        often = f"was called {received.times:,} times (case {case.name})."
        one, others = ("last", "an earlier") if shows_last(received.function) else ("first", "a later")
        did = f"{often} The mistake may be in {others} call. The {one} call received:"
    else:
        did = f"received (case {case.name}):"
    rest = [line for name, line in zip(case.inputs, inputs, strict=True) if not received.whole and not received.shows(name)]
    return [f"{received.function} {did}", *lines, *([INPUTS_OF_CASE, *rest] if rest else [])]


def _name_values(arguments: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the arguments by the names that code uses, with containers replaced by their parts."""
    for name, value in arguments.items():
        held = value.get(HOLDS) if isinstance(value, dict) else None
        if isinstance(held, dict) and held:
            yield from ((f"{name}.{part}", _unwrap(inner)) for part, inner in held.items())
        elif isinstance(value, dict) and value and IS not in value:
            yield from ((f"{name}[{part!r:.40}]", _unwrap(inner)) for part, inner in value.items())
        else:
            yield name, _unwrap(value)


def _unwrap(value: Any) -> Any:
    if isinstance(value, dict) and isinstance(value.get(IS), str) and value.keys() <= {IS, HOLDS}:
        return OpaqueValue(value[IS][:200])
    if isinstance(value, list):
        return [_unwrap(item) for item in value]
    return {key: _unwrap(item) for key, item in value.items()} if isinstance(value, dict) else value
