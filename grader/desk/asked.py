"""Which questions a student means by a word: their ids, or parts of them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from grader.assignment import Assignment, UsageError


def find_questions(assignment: Assignment, words: Iterable[str]) -> list[str]:
    """Return the ids of the questions that the words name, in the order of the words; none for no words.

    A word is an id, or some of the parts between its dots, in any case: of `DDPGAgent.update_model.critic`, these are
    `DDPGAgent`, `update_model` and `DDPGAgent.update_model`, for example. It stands for all questions that have these parts.

    Raises:
        UsageError: If a word names none. It says which one may be meant.
    """
    ids = [question.id for question in assignment.questions]
    found: dict[str, None] = {}
    for word in words:
        named = [word] if word in ids else [one for one in ids if _has_parts(one, word)]
        if not named:
            near = difflib.get_close_matches(word.lower(), {part.lower() for one in ids for part in (one, *one.split("."))}, 1)
            meant = [one for one in ids if near and _has_parts(one, near[0])]
            missing = f"{word} is an option, not a question" if word.startswith("-") else f"there is no question {word!r}"
            instead = f"did you mean {' or '.join(meant)}?" if meant else f"there are: {', '.join(ids)}"
            raise UsageError(f"{missing}; {instead}")
        found |= dict.fromkeys(named)
    return list(found)


def _has_parts(question: str, word: str) -> bool:
    parts, asked = question.lower().split("."), word.lower().split(".")
    return any(parts[begin : begin + len(asked)] == asked for begin in range(len(parts)))
