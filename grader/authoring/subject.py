"""A question of a first draft: a function or class of the solution, with what its cases give it and what it answers."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import Any

from grader.authoring.drawing import Draw, Plan, list_plans
from grader.authoring.existing import Piece
from grader.authoring.kinds import Parameter, find_entry, list_parameters, read_kind

CASES = 3  # of a question: two visible ones, then a hidden one


@dataclass
class Subject:
    """A piece of the solution with what its drivers give it.

    Attributes:
        key: Its name in drivers, cases and checks.
        calls: The calls of a case with their parameters: "" for a function; for a class "create", or another name if a method
            has this one, and the methods.
        fakes: The functions of other questions that it uses, in whose place a driver puts fakes.
        plan: How its cases are drawn.
        inputs: For each case, the text of each input.
        cooked: For each case, the inputs themselves.
        facts: For each case, what the driver reports of the solution; none if the author has to fill something in.
        gap: What the author has to fill in, in words; "" if nothing.
        slowest: The longest of its calls, in seconds.
    """

    piece: Piece
    key: str
    calls: dict[str, list[Parameter]]
    fakes: tuple[str, ...]
    plan: Plan
    inputs: list[dict[str, str]] = field(default_factory=list)
    cooked: list[dict[str, Any]] = field(default_factory=list)
    facts: list[dict[str, Any]] = field(default_factory=list)
    gap: str = ""
    slowest: float = 0.0

    @property
    def parameters(self) -> list[Parameter]:
        """The parameters of all calls."""
        return [parameter for parameters in self.calls.values() for parameter in parameters]

    @property
    def task(self) -> str | None:
        """The first sentence of the docstring, as a task; None without a docstring."""
        about = ast.get_docstring(self.piece.node)
        if not about:
            return None
        sentence = re.split(r"(?<=[.:;])\s|\n\n", about.strip())[0]
        line = " ".join(sentence.split()).rstrip(".:;")
        return line[:1].lower() + line[1:]

    @property
    def is_module(self) -> bool:
        """Whether it is a class of torch's modules, whose parameters chance decides about."""
        node = self.piece.node
        return isinstance(node, ast.ClassDef) and any(ast.unparse(base).endswith("Module") for base in node.bases)

    def case_name(self, number: int) -> str:
        """Return the name of a case."""
        return f"{self.key}_{number + 1}"

    def draw(self, plan: Plan) -> list[dict[str, str]]:
        """Return the inputs of all cases as texts."""
        drawn = []
        for number in range(CASES):
            draw = Draw(plan, number, self.parameters)
            by_call = {call: draw.write(parameters) for call, parameters in self.calls.items()}
            joined = {call: render_dict(inputs) for call, inputs in by_call.items()}
            drawn.append(by_call.get("", joined))
        return drawn


def render_dict(inputs: dict[str, str]) -> str:
    """Return the text of a dict with these values, which are texts too."""
    return f"dict({', '.join(f'{name}={value}' for name, value in inputs.items())})"


def find_unknown(calls: dict[str, list[Parameter]]) -> str:
    """Return what nothing says of the parameters that must be given, in words; "" if everything is said."""
    found = [
        f"`{parameter.name}`" + (f" of {call}" if call else "")
        for call, parameters in calls.items()
        for parameter in parameters
        if parameter.kind is None and parameter.default is None
    ]
    return f"nothing says what {', '.join(found)} {'is' if len(found) == 1 else 'are'}" if found else ""


def make_subject(piece: Piece, functions: set[str], torch: bool) -> Subject:
    """Return a question that has not been tried.

    Args:
        functions: The names of all questions that are functions.
        torch: See `list_parameters`.
    """
    if isinstance(piece.node, ast.ClassDef):
        about = ast.get_docstring(piece.node) or ""
        create = "create_object" if any(method.name == "create" for method in piece.methods) else "create"
        calls = {create: _list_fields(piece.node, about, torch)}
        for method in piece.methods:
            calls[method.name] = list_parameters(method, not method.decorator_list, torch, about)
    else:
        calls = {"": list_parameters(piece.node, False, torch)}
    key = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", piece.name).lower()
    plan = list_plans([parameter for parameters in calls.values() for parameter in parameters])[0]
    return Subject(piece, key, calls, tuple(name for name in piece.uses if name in functions), plan)


def _list_fields(node: ast.ClassDef, about: str, torch: bool) -> list[Parameter]:
    """Return the parameters with which an object of a class is made."""
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name == "__init__":
            return list_parameters(part, True, torch, about)
    if not any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list):
        return []
    return [
        Parameter(
            part.target.id,
            read_kind(part.target.id, part.annotation, None, find_entry(about, part.target.id), torch),
            ast.unparse(part.value) if part.value else None,
        )
        for part in node.body
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
    ]
