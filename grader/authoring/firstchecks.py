"""The first checks of a question, chosen by what the solution answers: values, form, gradients, and arguments that stay."""

from __future__ import annotations

from dataclasses import dataclass

from grader.authoring.subject import CASES, Subject
from grader.authoring.trying import list_unchanged


@dataclass(frozen=True)
class DraftCheck:
    """A first check.

    Attributes:
        idea: What it is about, as the end of its name.
        case: The number of the case that it uses.
        title: The line that a student reads.
    """

    idea: str
    points: int
    case: int
    title: str
    facts: list[str]


def list_checks(subject: Subject, suite: str) -> list[DraftCheck]:
    """Return the first checks of a question in a suite: values, form, gradients, and inputs that must stay as they are.

    No idea is worth less than a fifth of the question, as `verify` requires of what a mistake costs.
    """
    name, hidden = subject.piece.name, CASES - 1
    what = name if "" in subject.calls else f"{name} ({', '.join([*subject.calls][1:])})"
    defaults = "; optional arguments have their defaults" if any(each.default for each in subject.parameters) else ""
    sizes = "other arguments" if defaults else "inputs of other sizes"

    def stay(case: int) -> DraftCheck:
        names = sorted({fact.partition(" afterwards")[0] for fact in _list_facts(subject, case, "stay")})
        title = f"{name} does not change its arguments ({', '.join(names)})."
        return DraftCheck("inputs", 1, case, title, _list_facts(subject, case, "stay"))

    def gradient(case: int) -> DraftCheck:
        facts = _list_facts(subject, case, "gradient")
        names = ", ".join(fact.removeprefix("gradient for ") for fact in facts)
        return DraftCheck("gradient", 1, case, f"The gradient of what {name} returns is right, for {names}.", facts)

    def first(idea: str, points: int, case: int, title: str) -> DraftCheck:
        return DraftCheck(idea, points, case, f"{what}: {title}.", _list_facts(subject, case, idea))

    if suite == "hidden":
        found = [first("values", 2, hidden, "the values for inputs that are not shown"), gradient(hidden), stay(hidden)]
    else:
        found = [
            first("values", 1, 0, f"the right values{defaults}"),
            first("other_values", 1, 1, f"the right values for {sizes}"),
            first("form", 1, 0, "the result has the right type, shape and dtype"),
            gradient(1),
            stay(1),
        ]
    return [check for check in found if check.facts]


def _list_facts(subject: Subject, case: int, idea: str) -> list[str]:
    """Return the facts that a check of an idea is about; of a question that has not been answered, those that any has."""
    if not subject.facts:
        calls = (
            ["values", "form"]
            if "" in subject.calls
            else [f"{each} of {call}" for each in ("values", "form") for call in [*subject.calls][1:]]
        )
        return [fact for fact in calls if fact.startswith(idea.removeprefix("other_"))]
    facts = {key: value for key, value in subject.facts[case].items() if not key.endswith((" with fakes", "calls of fakes"))}
    unchanged = list_unchanged(subject, case)
    if idea == "stay":
        return unchanged
    if idea == "gradient":
        return [
            key
            for key, value in facts.items()
            if key.startswith("gradient for ") and not isinstance(value, str) and value.any()
        ]
    if idea == "form":
        return [key for key in facts if key == "form" or key.startswith("form of ")]
    changed = [key for key in facts if " afterwards" in key and key not in unchanged]
    return [key for key in facts if key == "values" or key.startswith(("values of ", "attribute "))] + changed


def stands_alone(subject: Subject) -> bool:
    """Return whether the solution works with fakes in place of other questions' functions, so that checks can use them."""
    return bool(subject.fakes and subject.facts) and all(
        f"{key} with fakes" in facts
        for facts in subject.facts
        for key in facts
        if not key.endswith((" with fakes", "calls of fakes"))
    )
