"""How an attack is written down, and how a submission is made of it."""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MODULES = ("steal", "forge", "outlive", "starve", "escape", "inject")

SUBMISSION = """\
KNOWN = {known}


{attack}

{at_import}
def total(values):
    {total}


def spread(values, scale=1.0):
    {spread}
"""
HONEST = {"total": "return float(sum(values))", "spread": "return float((max(values) - min(values)) * scale)"}


@dataclass(frozen=True)
class Attack:
    """One hostile submission for the toy assignment.

    group: what it is about. tries: in one line. source: a function `attack(values, scale, known)`, in place of a student's.
    sees: the outcomes that its checks may have. says: words that the student must read. seconds: it is over by then.
    at_import: it acts when the file is loaded, so that nothing of it can pass. safe: it cannot hurt a machine that has no
    layer at all, so that it is tried at level `basic` as well. honest: an odd but right submission, which keeps its points.
    """

    name: str
    group: str
    tries: str
    source: str
    sees: tuple[str, ...] = ("failed",)
    says: str = ""
    seconds: float = 60.0  # it ends, on a machine that is busy with other things as well; how fast is for benchmarks
    at_import: bool = False
    safe: bool = False
    honest: bool = False

    def submission(self, known: dict[str, Any], everywhere: bool = False) -> str:
        """Return the file to grade. known: what the attacker has found out. everywhere: in place of every function."""
        call = "return attack(values, {}, KNOWN)"
        bodies = {
            "total": call.format("1.0") if everywhere and not self.at_import else HONEST["total"],
            "spread": HONEST["spread"] if self.at_import else call.format("scale"),
        }
        return SUBMISSION.format(
            known=json.dumps(known),
            attack=self.source,
            at_import="attack([1.0], 1.0, KNOWN)\n\n" if self.at_import else "",
            **bodies,
        )


def attack(tries: str, **expected: Any) -> Callable[[Callable[..., Any]], Attack]:
    """Turn a function into an Attack; its source is what matters, and it is never called here."""

    def made(function: Callable[..., Any]) -> Attack:
        lines = inspect.getsource(function).splitlines()
        start = next(index for index, line in enumerate(lines) if line.startswith("def "))
        body = "\n".join(lines[start:]).replace(f"def {function.__name__}(", "def attack(", 1)
        group = function.__module__.rpartition(".")[2]
        return Attack(function.__name__, group, tries, body, **expected)

    return made


def honest(tries: str, **expected: Any) -> Callable[[Callable[..., Any]], Attack]:
    """Like `attack`, for a submission that does something unusual and is right."""
    return attack(tries, sees=("passed",), honest=True, **expected)


def load() -> list[Attack]:
    """Return all attacks, in the order of their files."""
    modules = [importlib.import_module(f"{__package__}.{name}") for name in (*MODULES, "harmless")]
    return [value for module in modules for value in vars(module).values() if isinstance(value, Attack)]
