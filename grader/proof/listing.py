"""Proposals as lines of a screen, each with a style."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from grader.authoring.entry import NewMistake
from grader.proof.proposing import Proposal, Proposals, WrongGroup
from grader.proof.telling_apart import ProposedCase, Unseparated

MOST_LISTED = 10  # changes
MOST_CHARACTERS = 100  # of a change

Line = tuple[str, str]
"""A line, and its style."""


def summarize(found: Proposals) -> list[Line]:
    """Return the numbers of changes that were tried, by what became of them."""
    alike = sum(1 + one.others for one in found.found)
    return [
        (f"{found.tried} changes of the solution tried:", ""),
        (f"  {alike} are mistakes that the catalogue lacks, {len(found.found)} different ones", ""),
        (f"  {found.catalogued} look the same as a mistake of the catalogue", ""),
        (f"  {len(found.survivors)} are noticed by no check", ""),
        (f"  {found.other} only raise exceptions, hit a limit, or differ between runs", ""),
    ]


def describe_mistake(one: Proposal, mistake: NewMistake) -> list[Line]:
    """Return the lines of a proposed mistake.

    Args:
        mistake: Its entry.
    """
    lost, points = one.observation.points
    notes = [f"{group.submissions} submissions of the class do this" for group in one.groups]
    notes += [f"costs {lost:g} of {points:g} points", ", ".join(one.observation.shows)]
    lines = [(f"{mistake.id}  {'; '.join(notes)}", "bold")]
    for old, new in mistake.edits:
        lines += [(f"    - {line}", "red") for line in _dedent(old)]
        lines += [(f"    + {line}", "green") for line in new.splitlines()]
    lines += [] if mistake.edits else [(f"    {line}", "") for line in mistake.text.splitlines()]
    lines.append((f"    {mistake.hint}", "italic"))
    if one.hidden_only:
        lines.append(("    only hidden checks see it, so `verify` will ask for a visible case that shows it", ""))
    if one.is_new:
        lines.append(("    no mistake of the catalogue fails exactly these checks", ""))
    return lines


def _dedent(old: str) -> list[str]:
    """Return the lines of a text that was cut out of a file; the first one begins where it was cut."""
    first, _, rest = old.partition("\n")
    return [first, *textwrap.dedent(rest).splitlines()]


def describe_group(group: WrongGroup) -> list[Line]:
    """Return the lines of a group of a class that no candidate explains."""
    why = "no change that was tried fails in the same way; if you accept the group, the smallest such change is searched for"
    return [
        (f"{group.id}  {group.submissions} submissions, wrong in {group.question}", "bold"),
        (f"    {why}", ""),
    ]


def describe_case(case: ProposedCase, path: str, check: str) -> list[Line]:
    """Return the lines of a proposed case.

    Args:
        path: The path of cases.py.
        check: The check that uses it.
    """
    lines: list[Line] = [(f"{case.variation.name}  shows a difference that no check shows:", "bold")]
    lines += _list_some(case.tells, "    ")
    lines += [(f"  in {path}:", ""), *((f"    {line}", "green") for line in case.variation.code.splitlines())]
    return [*lines, ("  and a check:", ""), *((f"    {line}", "green") for line in check.splitlines())]


def describe_unseparated(left: Sequence[Unseparated]) -> list[Line]:
    """Return the lines about changes and pairs for which no case was found."""
    if not left:
        return []
    why = "they are equal, or no driver reports what differs, or no input that was tried shows it"
    return [("", ""), ("Not distinguished by any case", "bold underline"), (f"  {why}:", ""), *_list_some(left, "  ")]


def _list_some(found: Sequence[Unseparated], margin: str) -> list[Line]:
    lines = [(f"{margin}{_shorten(one.label)}", "") for one in found[:MOST_LISTED]]
    return [*lines, *([(f"{margin}and {len(found) - MOST_LISTED} more", "")] if len(found) > MOST_LISTED else [])]


def _shorten(text: str) -> str:
    """Return a text without its middle, if it is long: a change is often at its end."""
    half = MOST_CHARACTERS // 2
    return text if len(text) <= MOST_CHARACTERS else f"{text[:half]} … {text[-half:]}"
