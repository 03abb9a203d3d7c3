"""The names by which checks may use a submission, however the code of a suite puts them together."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from grader.assignment import AssignmentFiles
from grader.fingerprints import CheckIngredients
from grader.reachable_code import ParsedModule, ParsedStatement, list_words, parse_file, parse_statement

# Ways in which a driver can use names that neither its own text nor those of its callers and cases contain: arguments, which
# come from these, do not count.
FINDS_NAMES = re.compile(
    r"\b(dir|globals|locals|getmembers|eval|exec|attrgetter|methodcaller|import_module)\("
    r"|\bvars\((\w+\.)?(submitted|submission|module|student)\)|\b(submitted|submission|module|student)\.__dict__"
    r"|\b(__subclasses__|__init_subclass__|__import__)\b"
)


class UsedNames(NamedTuple):
    """The names of a submission that a check may use.

    Attributes:
        words: All words by which its code, its cases and the support files that it reaches may name them.
        finds_more: Whether that code may use names that neither it nor a case contains.
    """

    words: frozenset[str]
    finds_more: bool


def find_used_names(home: AssignmentFiles, about: CheckIngredients) -> UsedNames:
    """Return the names that a check may use: without views, which do not run in the sandbox."""
    code = _reach_support(_parse_support(home), about.code)
    words = about.words.union(*(_list_used_words(statement.text) for statement in code))
    return UsedNames(words, any(_finds_names(statement.text) for statement in code))


@cache
def _list_used_words(text: str) -> frozenset[str]:
    """Return all words in a statement by which it may use something: names, keywords of calls, and words of texts.

    Of a name that is put together, such as f"{kind}_loss", it is the known part, here "*_loss".
    """
    nodes = list(ast.walk(ast.parse(text)))
    keywords = {node.arg for node in nodes if isinstance(node, ast.keyword) and node.arg}
    parts = {part for name in _list_attribute_names(text) for part in _list_parts(name)}
    statement = parse_statement(0, text)
    return frozenset((*keywords, *parts, *re.findall(r"\w+", " ".join(statement.words | statement.attributes))))


@cache
def _finds_names(text: str) -> bool:
    """Return whether a statement may use names that neither it nor a case contains."""
    computed = (isinstance(name, (ast.Call, ast.BinOp, ast.JoinedStr)) for name in _list_attribute_names(text))
    known = (bool(_list_parts(name)) for name in _list_attribute_names(text))
    unknown = any(one and not other for one, other in zip(computed, known, strict=True))
    return unknown or FINDS_NAMES.search(text) is not None


@cache
def _list_attribute_names(text: str) -> tuple[ast.expr, ...]:
    """Return the names that a statement passes to getattr and the like."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and len(node.args) > 1]
    return tuple(node.args[1] for node in calls if re.fullmatch(r"(\w+\.)?(get|set|has|del)attr", ast.unparse(node.func)))


def _list_parts(name: ast.expr) -> list[str]:
    """Return the beginning and the end of a name in an f-string, as far as they are known: "weight*", "*_loss"."""
    if not isinstance(name, ast.JoinedStr):
        return []
    first, last = (part.value if isinstance(part, ast.Constant) else None for part in (name.values[0], name.values[-1]))
    return [*([f"{first}*"] if isinstance(first, str) else []), *([f"*{last}"] if isinstance(last, str) else [])]


def list_support_words(home: AssignmentFiles) -> dict[str, frozenset[str]]:
    """Return, for each name that a support file defines, all words of the code that it reaches in these files."""
    modules = _parse_support(home)
    found = {}
    for name in {name for module in modules for name in module.statements}:
        code = _reach_support(modules, [statement for module in modules for statement in module.statements.get(name, [])])
        found[name] = frozenset().union(*(_list_used_words(statement.text) for statement in code))
    return found


def _parse_support(home: AssignmentFiles) -> list[ParsedModule]:
    return [parse_file(path) for path in home.support() if path.suffix == ".py"]


def _reach_support(modules: Sequence[ParsedModule], code: Iterable[ParsedStatement]) -> list[ParsedStatement]:
    """Return this code and everything that it reaches in these modules."""
    reached = [*code]
    while more := {statement for module in modules for statement in module.reach(list_words(reached))} - {*reached}:
        reached += more
    return reached
