"""The texts of a first draft's files, as an author would write them."""

from __future__ import annotations

import ast
import json
import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from grader.authoring.firstchecks import DraftCheck, list_checks, stands_alone
from grader.authoring.subject import CASES, Subject, render_dict

OBSERVING = Path(__file__).with_name("observing.py")
FILL_IN = "FILL IN"
WIDTH = 128
SECONDS, SLACK = 5.0, 100  # the limit of a call, and how much slower than here a machine may be
RUN = """\
def run() -> dict[str, Any]:
    return {}
"""
HOW_TO = """\
# Fill in every place marked YOUR CODE HERE and run `python grade.py` as often as you like. Names, arguments and return values
# must stay as they are; helper functions and further imports are welcome.
"""


def render_submitted(text: str, title: str) -> str:
    """Return the solution with a docstring and what a student has to know on top."""
    first = ast.parse(text).body[0]
    has_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    lines = text.splitlines(keepends=True)
    at = (first.end_lineno or 1) if has_docstring else 0
    head = "".join(lines[:at]) if has_docstring else f'"""{title}: the file that you submit."""\n'
    rest = "".join(lines[at:]).lstrip()
    return f"{head}\n{HOW_TO}\n{'' if rest.startswith(('import', 'from')) else chr(10)}{rest}"


def render_settings(name: str, title: str, subjects: Sequence[Subject], support: list[str], requirements: list[str]) -> str:
    """Return assignment.toml."""
    slowest = max((subject.slowest for subject in subjects), default=0.0)
    seconds = max(SECONDS, float(math.ceil(slowest * SLACK)))
    head = f'''\
name = "{name}"
title = {_quote(title)}
version = "0.1"               # raise it when a check changes; CHANGELOG.md says what changed for whom
submission = "submitted.py"   # the file that students submit
support = {json.dumps(support)}                  # files that students get with it, from this folder or the root
{f"requirements = {json.dumps(requirements)}  # packages that it imports" + chr(10) if requirements else ""}
[limits]                      # of one driver call, except budget
seconds = {seconds}                 # of computing or sleeping; an honest call takes a few hundredths
memory_mb = 1024              # beyond what torch itself has mapped
budget = {max(120.0, 24 * seconds)}                # of all calls of a run together

[hints]                       # for a mistake that is recognized: may students read them?
visible = true
hidden = false

# One block per question. `task` is the text of its blank in the stub and its line in a report that says "not started";
# `points` are the sums over the @points of its checks, visible and hidden.
'''
    blocks = []
    for subject in subjects:
        visible, hidden = (sum(check.points for check in list_checks(subject, suite)) for suite in ("visible", "hidden"))
        points = f"{{ visible = {visible}, hidden = {hidden} }}"
        if subject.gap:  # a build requires that checks are worth what is said
            points = f"{{ visible = 0, hidden = 0 }}  # {FILL_IN}: {points}, as soon as its checks are there"
        words = subject.key.replace("_", " ").strip() if "" in subject.calls else subject.piece.name
        blocks.append(f'''
[[questions]]
id = "{subject.piece.name}"
title = "{words[:1].upper()}{words[1:]}"
function = "{subject.piece.name}"
task = {_quote(subject.task or f"write {subject.piece.name}")}
points = {points}
''')
    return head + "".join(blocks)


def render_drivers(name: str, subjects: Sequence[Subject]) -> str:
    """Return the drivers, with the helpers that they need (observing.py)."""
    dtypes = {subject.piece.name: _name_dtype(subject) for subject in subjects}
    drivers = "\n\n\n".join(_render_driver(subject, dtypes) for subject in subjects)
    imports, helpers = _select_helpers(drivers)
    return f'''\
"""Drivers of `{name}`: they call your functions on plain data and report plain facts. They judge nothing.

You may read them to see how your functions are called.
"""

{imports}

{helpers}


{drivers}
'''


def _name_dtype(subject: Subject) -> str:
    """Return the dtype of what a function returns, as it is written; "None" as long as the solution has not been tried."""
    form = subject.facts[0].get("form") if subject.facts else None
    found = re.fullmatch(r"(array|tensor) of shape .*, (\w+)", form) if isinstance(form, str) else None
    dtype = {"integers": "int64", "bool": "bool_"}.get(found[2], found[2]) if found else ""
    return f"{'np' if found[1] == 'array' else 'torch'}.{dtype}".replace("torch.bool_", "torch.bool") if found else "None"


def _render_driver(subject: Subject, dtypes: Mapping[str, str]) -> str:
    """Return the function that calls the question's function, or the methods of its class, with the inputs of a case."""
    name = f"submitted.{subject.piece.name}"
    gradients = any(each.kind and each.kind.has_gradient for each in subject.parameters)
    if "" in subject.calls:
        given = _render_conversion(subject, "")
        run = f"observe({name}, {{}})" + (f" | get_gradients({name}, {{}})" if gradients else "")
        lines = [f"inputs = {given}"] if given != "inputs" else []
        run = run.replace("{}", "inputs")
        head = "submitted: Any, **inputs: Any"
    else:
        create, *methods = subject.calls
        steps = ", ".join(f'("{method}", {_render_conversion(subject, method)})' for method in methods)
        more = ", set_parameters" if subject.is_module else ""
        more += ", gradients=get_gradients" if gradients else ""
        lines = [f"steps = [{steps}]"]
        run = f"observe_object({name}, {_render_conversion(subject, create)}, steps{more})"
        head = "submitted: Any, " + ", ".join(f"{call}: Any" for call in subject.calls)
    if subject.fakes:
        others = ", ".join(f'"{name}": {dtypes[name]}' for name in subject.fakes)
        short = f"alone(submitted, {{{others}}}, lambda: {run})"
        if len(short) > WIDTH - len("    return "):
            lines += ["", *RUN.format(run).splitlines(), ""] if lines else [*RUN.format(run).splitlines(), ""]
            short = f"alone(submitted, {{{others}}}, run)"
        run = short
    lines.append(f"return {run}")
    return f"def call_{subject.key}({head}) -> dict[str, Any]:\n" + textwrap.indent("\n".join(lines), "    ")


def _render_conversion(subject: Subject, call: str) -> str:
    """Return the text of a call's inputs as the function takes them: some arrays as tensors, some seeds as generators."""
    text = call or "inputs"
    for kind, convert in (("tensor", "to_tensors"), ("generator", "to_generators")):
        if names := [f'"{each.name}"' for each in subject.calls[call] if each.kind and each.kind.type == kind]:
            text = f"{convert}({text}, {', '.join(names)})"
    return text


def _select_helpers(drivers: str) -> tuple[str, str]:
    """Return the imports and the definitions of observing.py that these drivers need."""
    text = OBSERVING.read_text(encoding="utf-8")
    body = ast.parse(text).body
    defined = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
    constants = {
        node.targets[0].id: node for node in body if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    needed, waiting = {"annotations"}, re.findall(r"\w+", drivers)
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            node = defined.get(name) or constants.get(name)
            waiting += [part.id for part in ast.walk(node) if isinstance(part, ast.Name)] if node else []
    imports: list[str] = []
    for statement in body:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            names = [alias for alias in statement.names if (alias.asname or alias.name) in needed]
            statement.names = names
            imports += [ast.unparse(statement)] if names else []
    groups = [
        [line for line in imports if "__future__" in line],
        [],
        [line for line in imports if re.search("numpy|torch", line)],
    ]
    groups[1] = [line for line in imports if line not in groups[0] + groups[2]]
    lines = text.splitlines()
    kept = "\n".join(lines[node.lineno - 1] for name, node in constants.items() if name in needed)
    functions = [ast.get_source_segment(text, node) or "" for name, node in defined.items() if name in needed]
    return "\n\n".join("\n".join(group) for group in groups if group), "\n\n\n".join([kept, *functions] if kept else functions)


def render_cases(name: str, subjects: Sequence[Subject]) -> str:
    """Return cases.py; what the author has to fill in stands there as comments."""
    parts = []
    for subject in subjects:
        for number in range(CASES):
            hidden = ", hidden=True" if number == CASES - 1 else ""
            inputs = subject.inputs[number]
            body = f"    return {render_dict(inputs)}"
            if len(body) > WIDTH:
                body = "\n".join(["    return dict(", *(f"        {key}={value}," for key, value in inputs.items()), "    )"])
            text = f'@case("call_{subject.key}", question="{subject.piece.name}"{hidden})\n'
            text += f"def {subject.case_name(number)}(rng):\n{body}"
            parts.append(_as_comment(subject, text, first=number == 0) if subject.gap else text)
    text = _join(parts)
    numpy = "import numpy as np\n\n" if re.search(r"^[^#\n]*\bnp\.", text, re.MULTILINE) else ""
    return f'''\
"""Cases of `{name}`. Each makes the inputs of one driver call; `build` adds what the solution answers.

They were drawn from the types, shapes and defaults of the solution. Choose inputs that distinguish mistakes: unequal numbers
of both signs, sizes that differ, ends and edges.
"""

{numpy}{_import("from grader.answers import case", subjects)}{text}'''


def _join(parts: list[str]) -> str:
    """Return what stands below the imports; above a comment, a formatter leaves one blank line."""
    return ("\n\n" if parts[0].startswith("#") else "\n\n\n") + "\n\n\n".join(parts) + "\n"


def _as_comment(subject: Subject, text: str, first: bool) -> str:
    """Return a part of a file as comments, for the author to complete; the first one says what is missing."""
    unknown = [each.name for each in subject.parameters if each.kind is None and each.default is None]
    if "" in subject.calls and unknown:
        text = text.replace("return dict(", f"return dict({', '.join(f'{name}=...' for name in unknown)}, ").replace(", )", ")")
    about = f"{FILL_IN}: {subject.piece.name}: {subject.gap}. "
    about += "Complete its cases, uncomment them and its checks, and correct its points."
    lines = [*(textwrap.wrap(about, WIDTH - 2) if first else []), *text.splitlines()]
    return "\n".join(f"# {line}".rstrip() for line in lines)


def _import(line: str, subjects: Sequence[Subject]) -> str:
    return line if any(not subject.gap for subject in subjects) else "\n".join(f"# {each}" for each in line.splitlines())


def render_checks(suite: str, name: str, subjects: Sequence[Subject]) -> str:
    """Return the checks of a suite; those of a question that the author has to complete as comments."""
    parts = []
    for subject in subjects:
        for index, check in enumerate(list_checks(subject, suite)):
            call = _render_call(subject, check)
            text = f'@points({check.points}, question="{subject.piece.name}")\ndef test_{subject.key}_{check.idea}(student):\n'
            text += f'    """{check.title}"""\n    {call}'
            parts.append(_as_comment(subject, text, first=index == 0) if subject.gap else text)
    imports = ["from grader.judge import points"]
    active = [subject for subject in subjects if not subject.gap]
    if any(not stands_alone(subject) for subject in active):
        imports.append("from grader.judge.views import only")
    if any(map(stands_alone, active)):
        imports.append("from views import expect_alone")
    about = {
        "visible": "what a student gets. Their cases and answers are in solution.json.",
        "hidden": "other numbers. Only a grader has them.",
    }
    head = f'"""{suite.capitalize()} checks of `{name}`: {about[suite]}"""'
    return f"{head}\n\n{_import(chr(10).join(imports), subjects)}{_join(parts)}"


def _render_call(subject: Subject, check: DraftCheck) -> str:
    """Return the statement that makes a check, broken where it is too long."""
    case, facts = f'"{subject.case_name(check.case)}"', [f'"{fact}"' for fact in check.facts]
    if stands_alone(subject):
        short = f"expect_alone(student, {case}, {', '.join(facts)})"
        long = ["expect_alone(", "    student,", f"    {case},", *(f"    {fact}," for fact in facts), ")"]
    else:
        short = f"student.expect({case}, only({', '.join(facts)}))"
        long = ["student.expect(", f"    {case},", "    only(", *(f"        {fact}," for fact in facts), "    ),", ")"]
    return short if len(short) <= WIDTH - 4 else "\n    ".join(long)


def render_views(name: str) -> str:
    """Return the views, for questions that use the functions of others."""
    return f'''\
"""What the checks of `{name}` share."""

from grader.judge.failure import CheckFailed
from grader.judge.views import only


def expect_alone(student, case, *facts):
    """Require these facts of a case, with fakes in place of other questions' functions or with the student's own.

    With fakes, a mistake in another function costs nothing here; with their own, students need not call it.
    """
    try:
        student.expect(case, only(*(f"{{fact}} with fakes" for fact in facts), "calls of fakes"))
    except CheckFailed:
        student.expect(case, only(*facts))
'''


def render_mistakes(name: str) -> str:
    """Return mistakes.py, still without any."""
    return f'''\
"""Mistakes of `{name}`: what students really get wrong. Without any, nothing shows that the checks catch anything.

Each needs a hint (the question that a good tutor would ask) and must lose points. docs/authoring.md shows how they are written:

    from grader.proof.catalogue import altered, mistake

    wrong_sign = altered("QUESTION", {{"a - b": "b - a"}}, hint="Which value is subtracted from which?")
"""
'''


def render_alternatives(name: str) -> str:
    """Return alternatives.py, still without any."""
    return f'''\
"""Alternatives of `{name}`: different, but right; each must get full marks. None is declared yet.

They keep checks from asking for one way to write it: `from grader.proof.catalogue import alternative`, then a function
with the decorator `@alternative("QUESTION")`.
"""
'''


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
