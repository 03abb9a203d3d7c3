"""Candidates for new mistakes: mutants of the solution, and edits by the habits of students; each with a name and a draft hint.

A name says the question and what is changed, so it can be typed: the same solution always gives the same names.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from grader.assignment import AssignmentFiles, UsageError
from grader.proof import cutting
from grader.proof.catalogue import DRAFT
from grader.proof.habits import HINTS, OF_FORM, list_habits
from grader.proof.mutants import list_solution_ranges, make_mutants
from grader.proof.textedits import drop_docstrings
from grader.proof.trials import list_end_to_end_questions

SHORT = 24  # characters of a word in a name
WORDS = {
    ast.Add: "plus",
    ast.Sub: "minus",
    ast.Mult: "times",
    ast.Div: "divided",
    ast.Pow: "power",
    ast.FloorDiv: "whole_division",
}
# By the name of a mutant, what a tutor could ask: the draft of a hint. The first one that fits counts.
MUTANT_HINTS = (
    (r"(sum_for_mean|mean_for_sum)", "Does the formula contain a sum or a mean?"),
    (r"(minus_for_plus|plus_for_minus|negative|without_minus)", "Which sign does this term have in the formula?"),
    (r"without_(detach|no_grad)", "Should a gradient flow through this value?"),
    (r"without_(zero_grad|step)", "What has to happen in every update, and in which order?"),
    (r"without_(axis|dim|keepdims?)", "Which axis is reduced here, and which shape is left?"),
    (r"without_(copy|clone)", "Whose array do you write into?"),
    (r"other_default", "Which default value does this argument have in the stub?"),
    (r".*exchanged", "In which order should these two be?"),
    (r"opposite_condition|or_for_and|and_for_or|without_condition", "When exactly should this condition hold?"),
    (r"(min_for_max|max_for_min|argmin_for_argmax|argmax_for_argmin)", "Do you need the smallest value, or the largest?"),
    (r"other_(argument|operand)", "Which value does this expression need here?"),
    (r"other_number", "Which number does the formula have here?"),
    (r"without_", "Which part of the formula is missing in your line?"),
)
OTHERWISE = "What does this line compute, and what should it compute?"


@dataclass(frozen=True)
class Candidate:
    """A change of the solution that may become a mistake of the catalogue.

    Attributes:
        name: The name of the mistake, if it is accepted.
        change: The changed part, before and after.
        definition: The changed function or class.
        submission: The whole submission with it.
        hint: The draft of its hint.
        habit: Whether students do it; otherwise it is a mutant.
        form: Whether it changes the form of an answer, and perhaps nothing else.
    """

    name: str
    question: str
    function: str
    change: str
    definition: str
    submission: str
    hint: str
    habit: bool = False
    form: bool = False


def make_candidates(home: AssignmentFiles, question: str | None = None) -> list[Candidate]:
    """Return the candidates of all questions about single functions, or of one question; habits come first.

    Raises:
        UsageError: If there is no such question, or it tests several questions together.
    """
    whole = list_end_to_end_questions(home.assignment)
    ids = [one.id for one in home.assignment.questions if one.id not in whole]
    if question is not None and question not in ids:
        raise UsageError(f"there is no question {question!r} about a single function; there are: {', '.join(ids)}")
    if question is not None:  # with the questions that share its function, or the beginning of names, which are numbered
        function = home.assignment.question(question).function
        words = {_shorten(one) for one in ids if home.assignment.question(one).function == function}
        ids = [one for one in ids if _shorten(one) in words]
    found: dict[tuple[str, str], Candidate] = {}
    seen: Counter[str] = Counter()
    for one in [*_list_habits(home, ids), *_list_mutants(home, ids)]:
        key = one.function, _dump(one.definition)
        if key not in found:  # several habits, or a habit and a mutant, may be the same
            seen[one.name] += 1
            found[key] = replace(one, name=f"{one.name}_{seen[one.name]}") if seen[one.name] > 1 else one
    solved = {(name, _dump(find_solution(home, name))) for name in {one.function for one in home.assignment.questions}}
    every = [one for key, one in found.items() if key not in solved]
    if question is None:
        return every
    own = [one for one in every if one.question == question]  # all of the function for a question without marks of its own
    return own or [one for one in every if one.function == function]


def find_solution(home: AssignmentFiles, function: str) -> str:
    """Return the text of the solution's function or class."""
    return cutting.find_definition((home.solution / home.assignment.submission).read_text(encoding="utf-8"), function)


def _dump(definition: str) -> str:
    return ast.dump(drop_docstrings(ast.parse(definition).body[0]))


def _list_habits(home: AssignmentFiles, questions: Sequence[str]) -> Iterator[Candidate]:
    source = (home.solution / home.assignment.submission).read_text(encoding="utf-8")
    tree, uses_torch = ast.parse(source), bool(re.search(r"\btorch\b", source))
    for question, first, last in list_solution_ranges(source, home.assignment):
        function = home.assignment.question(question).function
        node = next((one for one in tree.body if getattr(one, "name", "") == function), None)
        if not isinstance(node, cutting.Definition) or question not in questions:
            continue
        node.decorator_list = []  # they stand above the text that is replaced

        def inside(part: ast.AST, first: int = first, last: int = last) -> bool:
            line, end = getattr(part, "lineno", 0), getattr(part, "end_lineno", 0)
            if isinstance(part, ast.comprehension):
                line, end = part.target.lineno, part.iter.end_lineno or 0
            return first < line and end < last

        text = cutting.find_definition(source, function)
        for edit in list_habits(node, inside, uses_torch):
            try:
                made = ast.unparse(ast.fix_missing_locations(edit.definition)) + "\n"
                compile(made, "<proposed>", "exec")
            except (SyntaxError, ValueError):  # such as a default that is assigned before it is used
                continue
            name = f"{_shorten(question)}_{edit.habit}"
            hint = f"{DRAFT} {HINTS[edit.habit]}"
            form = edit.habit in OF_FORM
            yield Candidate(name, question, function, edit.change, made, source.replace(text, made, 1), hint, True, form)


def _list_mutants(home: AssignmentFiles, questions: Sequence[str]) -> Iterator[Candidate]:
    for mutant in make_mutants(home):
        if mutant.question not in questions:
            continue
        name = name_mutant(mutant.change)
        hint = next((hint for pattern, hint in MUTANT_HINTS if re.match(pattern, name)), OTHERWISE)
        yield Candidate(
            f"{_shorten(mutant.question)}_{name}",
            mutant.question,
            mutant.function,
            mutant.change,
            cutting.find_definition(mutant.submission, mutant.function),
            mutant.submission,
            f"{DRAFT} {hint}",
        )


def _shorten(question: str) -> str:
    """Return the part of a question's id that says most, as a part of a name."""
    return _word(question.rpartition(".")[2]) or "question"


def _word(text: str) -> str:
    return re.sub(r"\W+", "_", text.lower(), flags=re.ASCII).strip("_")[:SHORT].strip("_")


def name_mutant(change: str) -> str:
    """Return a name for the change of a mutant, as `make_mutants` describes it."""
    before, _, after = re.sub(r" \(#\d+\)$", "", change).partition(" -> ")
    if default := re.match(r"(\w+)=", before) if after.startswith(before.partition("=")[0] + "=") else None:
        return f"other_default_of_{_word(default[1])}"
    if after == "(nothing)":
        return "without_block" if before.endswith(":") else f"without_{_word(_first_name(before))}"
    if re.match(r"(with|if|while|for)\b", before):
        return f"without_{_word(_last_name(before))}" if before.startswith("with") else "without_condition"
    try:
        return _name_expressions(ast.parse(before).body[0], ast.parse(after).body[0]) or "changed"
    except (SyntaxError, IndexError):
        return "changed"


def _first_name(text: str) -> str:
    """Return what a statement sets or calls."""
    called = re.match(r"[\w.]*?(\w+)\(", text)
    return called[1] if called else text.partition("=")[0].rstrip(" +-*/").rpartition(".")[2]


def _last_name(text: str) -> str:
    words: list[str] = re.findall(r"\w+", text)
    return words[-1] if words else "block"


def _has_same_parts(before: ast.Call | ast.BinOp, after: ast.AST) -> bool:
    """Return whether an expression has the operands or arguments of another one, in some order."""
    one, other = ([ast.dump(part) for part in ast.iter_child_nodes(node)] for node in (before, after))
    return sorted(one) == sorted(other)


# A table; each row has one or two lines.
def _name_expressions(before: ast.AST, after: ast.AST) -> str:  # noqa: C901
    match before, after:
        case ast.Expr(value=one), ast.Expr(value=other):
            return _name_expressions(one, other)
        case ast.Return(), ast.Return(value=ast.UnaryOp()):
            return "negative"
        case ast.AugAssign(op=one), ast.AugAssign(op=other):
            return f"{WORDS.get(type(other), 'other')}_for_{WORDS.get(type(one), 'other')}"
        case ast.BinOp(left=left, right=right, op=op), _:
            if ast.dump(after) in (ast.dump(left), ast.dump(right)):
                lost = right if ast.dump(after) == ast.dump(left) else left
                return f"without_{_word(ast.unparse(lost))}"
            if isinstance(after, ast.BinOp):
                if type(after.op) is type(op):
                    return "exchanged" if _has_same_parts(before, after) else "other_operand"
                return f"{WORDS.get(type(after.op), 'other')}_for_{WORDS.get(type(op), 'other')}"
        case ast.UnaryOp(op=ast.Not()), _:
            return "opposite_condition"
        case ast.UnaryOp(), _:
            return "without_minus"
        case ast.Compare(), ast.Compare():
            return "opposite_condition"
        case ast.BoolOp(op=ast.And()), _:
            return "or_for_and"
        case ast.BoolOp(), _:
            return "and_for_or"
        case ast.Call(func=one, keywords=keywords), ast.Call(func=other, keywords=fewer):
            if ast.dump(one) != ast.dump(other):
                return f"{_word(_last_name(ast.unparse(other)))}_for_{_word(_last_name(ast.unparse(one)))}"
            left_out = [keyword.arg or "options" for keyword in keywords if keyword.arg not in {each.arg for each in fewer}]
            if left_out:
                return f"without_{_word(left_out[0])}"
            return "arguments_exchanged" if _has_same_parts(before, after) else "other_argument"
        case ast.Call(func=function), _:
            return f"without_{_word(_last_name(ast.unparse(function)))}"
        case ast.Constant(value=bool()), _:
            return "opposite_flag"
        case ast.Constant(), ast.Constant():
            return "other_number"
        case ast.Name(id=name), ast.Name(id=used):
            return f"{_word(used)}_for_{_word(name)}"
        case ast.Subscript(value=value), _ if ast.dump(value) == ast.dump(after):
            return "without_index"
        case ast.Tuple(), ast.Tuple():
            return "exchanged"
        case ast.Dict(), ast.Dict():
            return "without_key"
    return ""
