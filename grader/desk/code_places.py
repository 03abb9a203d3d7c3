"""Where in a file the code begins that a question is about."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from grader.assignment import Question

BLANK = "YOUR CODE HERE"  # marks each place that a student fills in; most students leave it there

Function = ast.FunctionDef | ast.AsyncFunctionDef
Place = tuple[str, int]  # name and first line, as a code object has them


def find_code_places(source: bytes, question: Question, others: Iterable[Question] = ()) -> set[Place]:
    """Return the code at which the student's part of a question can start; nothing if its name is not a function or class.

    For a function, that is the function itself. For a class, it is the methods that the question's id names. If it names none,
    it is the marked ones (places to fill in) of those that no other question's id names. If none of these is marked, it is all
    of these; without `__init__`, which is often given, if no mark is left in the class.

    Args:
        others: The other questions of the assignment.
    """
    methods = find_methods(source, question.function)
    words = question.id.split(".")
    named = {place for place in methods if place[0] in words}
    taken = {word for other in others if other.function == question.function for word in other.id.split(".")[1:]}
    free = {place: text for place, text in methods.items() if place[0] not in taken} if len(words) > 1 else methods
    marked = {place for place, text in methods.items() if BLANK in text}
    left = {place for place in free if marked or place[0] != "__init__"}
    return named or (marked & free.keys()) or left or set(methods)


def find_methods(source: bytes, function: str) -> dict[Place, str]:
    """Return the source of each code object of a name: a function, or the methods of a class and of its bases in the file."""
    lines = source.decode("utf-8", "replace").split("\n")
    top = list(_defined(ast.parse(source)))
    found: dict[Place, str] = {}
    names = [function]
    for name in names:  # bases are added during the loop
        for node in top:
            if node.name != name:
                continue
            methods = [node]
            if isinstance(node, ast.ClassDef):
                methods = [child for child in _defined(node) if not isinstance(child, ast.ClassDef)]
                names += [base.id for base in node.bases if isinstance(base, ast.Name) and base.id not in names]
            for each in methods:
                # The first line of a code object is the line of its first decorator.
                first = min(line.lineno for line in [each, *each.decorator_list])
                found[each.name, first] = "\n".join(lines[first - 1 : each.end_lineno])
    return found


@dataclass(frozen=True)
class FunctionBody:
    """A function of a module, or a method of one of its classes.

    Attributes:
        name: Its name, as in `GAE.__call__`.
        first: Its first line, that of its first decorator.
        line: The line of its first statement after the docstring.
    """

    name: str
    first: int
    line: int


def find_bodies(source: bytes) -> list[FunctionBody]:
    """Return the functions of a file, and the methods of its classes."""
    found = []
    for each, owner in _list_functions(source):
        body = each.body[1:] if ast.get_docstring(each) is not None and len(each.body) > 1 else each.body
        first = min(line.lineno for line in [each, *each.decorator_list])
        found.append(FunctionBody(f"{owner}{each.name}", first, body[0].lineno))
    return found


def list_methods(source: bytes) -> list[Function]:
    """Return the nodes of the methods of a file's classes."""
    return [function for function, owner in _list_functions(source) if owner]


def _list_functions(source: bytes) -> Iterator[tuple[Function, str]]:
    """Yield each function, and what stands before its name: its class and a dot, or nothing."""
    for node in _defined(ast.parse(source)):
        if not isinstance(node, ast.ClassDef):
            yield node, ""
            continue
        for each in _defined(node):
            if not isinstance(each, ast.ClassDef):
                yield each, f"{node.name}."


def _defined(body: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Yield the functions and classes that a module or class defines, also in branches, but not nested ones."""
    for child in ast.iter_child_nodes(body):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield child
        else:
            yield from _defined(child)
