"""Which submissions of a class resemble each other more than the task explains: a reason to look, never a verdict.

Winnowing (Schleimer, Wilkerson and Aiken, "Winnowing: local algorithms for document fingerprinting", SIGMOD 2003) of tokens.
Sources are only read as text, by one regular expression that takes whatever it is given: nothing is parsed, imported or run.
"""

from __future__ import annotations

import keyword
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import NamedTuple

GRAM = 8  # tokens in a fingerprint
WINDOW = 4  # of that many neighboring ones one is kept, so no shared run of GRAM + WINDOW - 1 tokens is missed
COMMON = 1 / 5  # fingerprints in more than this share of the class, and at least in HANDFUL, are common style
HANDFUL = 5
LEAST = 30  # fingerprints to judge by, about ten lines: whoever has fewer is measured as if there were that many
LEVEL = 0.3  # pairs below are not returned
MOST = 200  # pairs that are returned
EACH = 3  # pairs of every submission come before more of others, where there are too many: a ring must not hide anybody
GAP = 30  # tokens that may lie between two fingerprints of one passage: a statement or two that were put in
MOST_TOKENS = 50_000  # of a submission; real ones have about a thousand

# A text that nobody closes ends with its line, or with the source: whatever the source, the time it takes is linear.
TOKEN = re.compile(
    r"""(?P<skipped>\#.*|\\\n)
    |(?P<text>[rbufRBUF]{0,2}(?:
        \"\"\"(?s:.*?)(?:(?<!\\)(?:\\\\)*\"\"\"|\Z) | '''(?s:.*?)(?:(?<!\\)(?:\\\\)*'''|\Z)
        |".*?(?:(?<!\\)(?:\\\\)*"|$) | '.*?(?:(?<!\\)(?:\\\\)*'|$)))
    |(?P<number>\.?\d[\w.]*(?:(?<=[eE])[+-]\d+)?)
    |(?P<attribute>(?<=\.)[^\W\d]\w*)
    |(?P<name>(?:self\.)?[^\W\d]\w*)
    |(?P<line>\n\s*)
    |(?P<sign>\*\*=?|//=?|<<=?|>>=?|->|:=|[-+*/%@&|^<>=!]=|\S)""",
    re.MULTILINE | re.VERBOSE,
)
STANDS_ALONE = re.compile(r"[ \t]*(?:\#|$)", re.MULTILINE)

Lines = tuple[int, int]
Token = tuple[int, int, int]  # as a number, how many were before it, its line


@dataclass(frozen=True)
class SimilarPair:
    """Two submissions that resemble each other.

    Attributes:
        first, second: Their ids, in order.
        score: The share, from 0 to 1, of the fingerprints of the shorter submission that the other
            one has too. Fingerprints that it shares with given text, or with much of the class, do
            not count.
        passages: The places, as (first line, last line) in the one and in the other.
    """

    first: str
    second: str
    score: float
    passages: list[tuple[Lines, Lines]]


@dataclass(frozen=True)
class OutsideTexts:
    """Texts that are compared with the submissions of a class, but not with each other.

    Attributes:
        texts: By id; no id is that of a submission.
        is_class: Whether they are all submissions of an earlier class, so that much of what many of them share is common style.
            What public solutions share was copied from one to the next.
    """

    texts: Mapping[str, str]
    is_class: bool = False


def find_similar_pairs(
    sources: Mapping[str, str], given: Sequence[str] = (), outside: Sequence[OutsideTexts] = ()
) -> list[SimilarPair]:
    """Return the pairs of submissions that share most of their own text, and such pairs of a submission and an outside text.

    They are at most MOST pairs of each kind, with a score of at least LEVEL. Where there are more,
    a pair is left out first if both submissions are in EACH better pairs already.

    Names of variables, numbers, texts, comments, layout and the order of functions make no
    difference; names after a dot do, because those of libraries cannot be changed. A high score has
    innocent reasons too: a task with one obvious solution, a common tutor or book, work in pairs
    that was allowed. So it is a reason to read both, never a verdict.

    Args:
        sources: By id of a submission, the text that is graded; for a notebook, its code cells
            joined.
        given: Texts that everybody has (the stub, support files). Their content does not count, and
            neither does the text beyond MOST_TOKENS of a submission.
        outside: Texts from elsewhere. In a pair with one of them, `second` is the outside text.
    """
    known = {gram for text in given for piece in _pieces(text) for gram in _grams(piece)}
    names = sorted(sources)
    prints = [_winnowed(sources[name], known) for name in names]
    common = _find_common(prints)
    for group in outside:
        own_prints = [_winnowed(text, known) for _, text in sorted(group.texts.items())]
        common |= _find_common(own_prints) if group.is_class else set()
        names += sorted(group.texts)
        prints += own_prints
    rare = [own.keys() - common for own in prints]
    scored = sorted((-score, first, second) for first, second, score in _scored(rare, len(sources)))
    within = _chosen([pair for pair in scored if pair[2] < len(sources)])
    beyond = _chosen([pair for pair in scored if pair[2] >= len(sources)])
    return [
        SimilarPair(names[first], names[second], -score, _passages(rare[first] & rare[second], prints[first], prints[second]))
        for score, first, second in (*within, *beyond)
    ]


def _find_common(prints: Sequence[Mapping[int, _Place]]) -> set[int]:
    """Return the fingerprints that so much of a class has that they are common style."""
    most = max(HANDFUL, int(len(prints) * COMMON))
    return {gram for gram, count in Counter(gram for own in prints for gram in own).items() if count > most}


def _scored(rare: Sequence[set[int]], own_count: int) -> Iterator[tuple[int, int, float]]:
    """Yield (first, second, score) of all pairs from LEVEL on; only pairs that share something cost time.

    own_count: How many of them, from the first, are submissions; the others are compared with these only.
    """
    owners: dict[int, list[int]] = defaultdict(list)
    for second, own in enumerate(rare):
        shared: Counter[int] = Counter()
        for gram in own:
            if having := owners.get(gram):
                shared.update(having)
            if second < own_count:
                owners[gram].append(second)
        for first, count in shared.items():
            score = count / max(LEAST, min(len(own), len(rare[first])))
            if score >= LEVEL:
                yield first, second, score


class _Place(NamedTuple):
    """The place of a fingerprint.

    Attributes:
        token: The number of its first token.
        line, end: Its first and last line.
    """

    token: int
    line: int
    end: int


def _chosen(ranked: list[tuple[float, int, int]]) -> list[tuple[float, int, int]]:
    """Return MOST of the ranked pairs: first those of which one is not in EACH others yet, then the best of the rest."""
    first, rest, named = [], [], Counter[int]()
    for pair in ranked:
        if min(named[pair[1]], named[pair[2]]) < EACH:
            named.update(pair[1:])
            first.append(pair)
        else:
            rest.append(pair)
    return sorted([*first, *rest][:MOST])


def _winnowed(source: str, known: set[int]) -> dict[int, _Place]:
    """Return the unknown fingerprints of a text, with their first place: the least of every WINDOW neighbors."""
    found: dict[int, _Place] = {}
    for piece in _pieces(source):
        for run in _unknown(piece, known):
            grams = _grams(run)
            for start in range(max(len(grams) - WINDOW + 1, bool(grams))):
                window = grams[start : start + WINDOW]
                least = min(window)
                if least not in found:
                    at = start + window.index(least)
                    found[least] = _Place(run[at][1], run[at][2], run[at + GRAM - 1][2])
    return found


def _unknown(piece: list[Token], known: set[int]) -> Iterator[list[Token]]:
    """Yield the runs of tokens between known grams.

    A student's own word in given text is not evidence.
    """
    covered = {start + more for start, gram in enumerate(_grams(piece)) if gram in known for more in range(GRAM)}
    for is_known, run in groupby(enumerate(piece), lambda entry: entry[0] in covered):
        if not is_known:
            yield [token for _, token in run]


def _grams(piece: list[Token]) -> list[int]:
    """Return the hash of every GRAM tokens in a row."""
    tokens = [token for token, _, _ in piece]
    return list(map(hash, zip(*(tokens[start:] for start in range(GRAM)), strict=False)))


def _pieces(source: str) -> Iterator[list[Token]]:
    """Yield the tokens of every function, each by itself, so that their order does not matter."""
    piece: list[Token] = []
    for number, (token, line) in enumerate(islice(_tokens(source), MOST_TOKENS)):
        if token in ("def", "class"):
            yield piece
            piece = []
        # hash(token) would be another one in every process.
        piece.append((zlib.crc32(token.encode("utf-8", "surrogatepass")), number, line))
    yield piece


def _tokens(source: str) -> Iterator[tuple[str, int]]:
    """Yield (token, line) without comments and docstrings; names of variables, numbers and texts each are one and the same."""
    line, begins = 1, True
    source = source.replace("\r\n", "\n").replace("\r", "\n")
    for found in TOKEN.finditer(source):
        kind, text = found.lastgroup, found[0]
        if kind == "line":
            begins = True
        elif kind != "skipped" and not (kind == "text" and begins and STANDS_ALONE.match(source, found.end())):
            yield text if kind in ("attribute", "sign") or keyword.iskeyword(text) else f"a {kind}", line
            begins = False
        line += text.count("\n")


def _passages(shared: set[int], first: dict[int, _Place], second: dict[int, _Place]) -> list[tuple[Lines, Lines]]:
    """Return the lines in both of what they share, where at least two fingerprints follow each other."""
    passages: list[list[tuple[_Place, _Place]]] = []
    for one, other in sorted((first[gram], second[gram]) for gram in shared):
        last = passages[-1][-1] if passages else None
        if last and one.token - last[0].token <= GAP and 0 < other.token - last[1].token <= GAP:
            passages[-1].append((one, other))
        else:
            passages.append([(one, other)])
    runs = [(run[0], run[-1]) for run in passages if len(run) > 1]
    return [((start[0].line, end[0].end), (start[1].line, end[1].end)) for start, end in runs]
