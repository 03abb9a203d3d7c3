"""Groups of submissions that similar pairs connect: a ring of four is one group to look at, not six pairs."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from grader.course.similarity import SimilarPair
from grader.hashing import hash_parts

RADIUS = 42.0  # of the circle on which members lie; the drawing is 100 wide and high
MOST_DRAWN = 16  # members; with more of them, a drawing is a blot


@dataclass(frozen=True)
class SimilarGroup:
    """Submissions that similar pairs connect, directly or through others.

    Attributes:
        members: Their ids; those in more pairs come first.
        pairs: The pairs, the most alike first.
    """

    members: Sequence[str]
    pairs: Sequence[SimilarPair]

    def draw(self) -> RingDrawing | None:
        """Return the drawing of the group, or None for a single pair and for too many members."""
        if not 2 < len(self.members) <= MOST_DRAWN:
            return None
        angles = [2 * math.pi * index / len(self.members) - math.pi / 2 for index in range(len(self.members))]
        dots = [(round(50 + RADIUS * math.cos(angle), 2), round(50 + RADIUS * math.sin(angle), 2)) for angle in angles]
        at = dict(zip(self.members, dots, strict=True))
        return RingDrawing(dots, [(at[pair.first], at[pair.second], pair) for pair in self.pairs])


@dataclass(frozen=True)
class RingDrawing:
    """A group as a circle.

    Attributes:
        dots: The place of each member.
        lines: Both ends of each pair, and the pair.
    """

    dots: Sequence[tuple[float, float]]
    lines: Sequence[tuple[tuple[float, float], tuple[float, float], SimilarPair]]


def group_pairs(pairs: Sequence[SimilarPair]) -> list[SimilarGroup]:
    """Return the groups that the pairs form, the one with the most similar pair first."""
    above: dict[str, str] = {}

    def find_first(name: str) -> str:
        while above.setdefault(name, name) != name:
            name = above[name]
        return name

    for pair in pairs:
        above[find_first(pair.first)] = find_first(pair.second)
    together: dict[str, list[SimilarPair]] = defaultdict(list)
    for pair in pairs:
        together[find_first(pair.first)].append(pair)
    groups = [_make_group(group) for group in together.values()]
    return sorted(groups, key=lambda group: (-group.pairs[0].score, group.members))


def _make_group(pairs: Sequence[SimilarPair]) -> SimilarGroup:
    count = Counter(name for pair in pairs for name in (pair.first, pair.second))
    ranked = sorted(pairs, key=lambda pair: (-pair.score, pair.first, pair.second))
    return SimilarGroup(sorted(count, key=lambda name: (-count[name], name)), ranked)


def name_pair(pair: SimilarPair) -> str:
    """Return the name of a pair's page: short, whatever the names of its submissions."""
    return f"{hash_parts([pair.first, pair.second])[:16]}.html"
