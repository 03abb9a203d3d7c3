"""Record the evidence of two catalogued mistakes together, if neither shows it alone.

If two mistakes change different parts of what checks see, grading combines their evidence by itself (`judge.diagnosis`). Pairs
are tried here if both mistakes change the same numbers. Only visible checks are used, because only they give hints to students.

Some pairs of a question are left out, because they cannot occur together or show nothing new: two placements of one mistake,
two edits of the same expression, mistakes with the same evidence as an earlier one, mistakes without numbers as evidence
(exceptions, chance), and pairs that change no number in common. Of the others, MOST_PAIRS are tried, equally many per question.
Pairs of general mistakes come first, because catalogues begin with these.

Only the most telling numbers of a pair are stored, until there are ENOUGH_SUMS of them: a catalogue has hundreds of
pairs, and people read its files.
"""

from __future__ import annotations

import contextlib
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, zip_longest
from operator import itemgetter
from pathlib import Path
from typing import Any

from grader.answers import Mistake, combine_shows, read_mistakes
from grader.assignment import AssignmentFiles
from grader.judge.diagnosis import ENOUGH_SUMS, find_fitting_mistakes
from grader.judge.evidence import WHOLE, Evidence, count_sums, list_parts
from grader.judge.run import Grader
from grader.proof.boundary import Finding
from grader.proof.catalogue import Variant
from grader.proof.merging import MergeConflict, merge_changes
from grader.proof.pool import TrialPool
from grader.proof.trials import list_unit_questions, recall_calls, replies_to_variant, try_variant

MOST_PAIRS = 900  # pairs of an assignment, so that a build takes minutes, not hours
DRAWN = 40  # submissions whose hints a proof examines
SUITE = "visible"

Shows = dict[str, Any]  # evidence of mistakes, by check


@dataclass(frozen=True)
class PairedMistakes:
    """Two mistakes in one submission.

    Attributes:
        one, other: The mistakes, in the order of the catalogue.
        submission: The whole submission with both.
    """

    one: Variant
    other: Variant
    submission: str


@dataclass(frozen=True)
class PairCounts:
    """The numbers of pairs of an assignment.

    Attributes:
        total: All pairs of two mistakes of one question.
        tried: Pairs that can occur together, and may show something new.
        kept: Pairs that did.
    """

    total: int
    tried: int
    kept: int

    def describe(self) -> str:
        """Return the counts as one line."""
        counts = f"{self.tried} could give a wrong answer that neither mistake gives alone, and {self.kept} do"
        return f"of {self.total} pairs of mistakes of one question, {counts}"


def list_pairs(solution: str, mistakes: Sequence[Variant], shows: Mapping[str, Shows]) -> tuple[list[PairedMistakes], int]:
    """Return the pairs that are worth a trial, and the number of all pairs.

    Args:
        shows: The evidence of each mistake.
    """
    count, known = 0, {name: _list_numbers(shown) for name, shown in shows.items()}
    first = {_outline(shown): name for name, shown in reversed(list(shows.items()))}
    promising: dict[str, list[tuple[int, Variant, Variant]]] = defaultdict(list)
    for (place, one), (other_place, other) in combinations(enumerate(mistakes), 2):
        if one.question != other.question or one.idea == other.idea:
            continue
        count += 1
        twins = any(first.get(_outline(shows.get(variant.id, {}))) != variant.id for variant in (one, other))
        if not twins and known.get(one.id, set()) & known.get(other.id, set()):
            promising[one.question].append((place + other_place, one, other))
    turns = zip_longest(*(sorted(pairs, key=itemgetter(0)) for pairs in promising.values()))
    found: list[PairedMistakes] = []
    for pair in filter(None, chain.from_iterable(turns)):
        if len(found) == MOST_PAIRS:
            break
        _, one, other = pair
        with contextlib.suppress(MergeConflict):
            found.append(PairedMistakes(one, other, merge_changes(solution, one.submission, other.submission)))
    return found, count


def record_pairs(
    pool: TrialPool, solution: str, mistakes: Sequence[Variant], recorded: Mapping[str, Mistake]
) -> tuple[dict[str, Mistake], PairCounts]:
    """Return the recorded mistakes with the new evidence of their pairs, and the numbers of pairs.

    Args:
        recorded: The evidence of each single mistake in visible checks, by id.
    """
    alone = {name: entry.shows for name, entry in recorded.items()}
    pairs, count = list_pairs(solution, mistakes, alone)
    pending = [
        pool.submit(_try_pair, pair.one.function, pair.submission, [alone[pair.one.id], alone[pair.other.id]], pool.coverage)
        for pair in pairs
    ]
    found, kept = dict(recorded), 0
    for pair, tried in zip(pairs, pending, strict=True):
        if (shown := tried.result()) is not None:
            entry, kept = found[pair.one.id], kept + 1
            found[pair.one.id] = replace(entry, pairs=entry.pairs | {pair.other.id: shown})
    return found, PairCounts(count, len(pairs), kept)


def _try_pair(grader: Grader, function: str, submission: str, alone: Sequence[Shows], coverage: Path) -> Shows | None:
    """Return the evidence of the pair that its mistakes do not show separately; None if there is none."""
    with recall_calls(grader, replies_to_variant(coverage, submission)):
        try_variant(grader, submission, list_unit_questions(grader.home.assignment, function), suites=(SUITE,))
    return _select_evidence(
        {check.removeprefix(f"{SUITE}/"): failure.evidence for check, failure in grader.seen.items() if failure is not None},
        alone,
    )


def _select_evidence(fails: Mapping[str, Evidence], alone: Sequence[Shows]) -> Shows | None:
    """Return what to store of a pair; None if its mistakes show everything separately.

    Args:
        fails: What each failed check saw of the pair.
        alone: The evidence of each of its mistakes.
    """
    expected = combine_shows(*alone)
    shown: Shows = dict.fromkeys(expected.keys() - fails.keys())
    mixed: list[tuple[int, str, Any]] = []
    for check, evidence in sorted(fails.items()):
        compared = evidence.compare(expected[check]) if check in expected else {}
        if compared.keys() != evidence.wrong_parts or False in compared.values():
            shown[check] = evidence.record()
            continue
        records = {name: record for (_, name), record in reversed(list_parts(evidence.record()))}
        new = [part for part, same in compared.items() if same is None and _is_new(evidence, part, check, alone)]
        if (new and isinstance(expected[check], list)) or WHOLE in new:
            part = max(new, key=lambda name: count_sums([records.get(name)]))
            mixed.append((count_sums([records.get(part)]), check, [part, *records.get(part, [])]))
    stored = sum(map(count_sums, shown.values()))
    for sums, check, record in sorted(mixed, key=lambda one: -one[0]):
        if sums and stored < ENOUGH_SUMS:
            shown[check], stored = record, stored + sums
    explained = [
        any(count_sums(saw) and check in fails and fails[check].fits(saw) for check, saw in side.items()) for side in alone
    ]
    passes = None in shown.values() and all(explained)  # a check in which one mistake cancels the other
    return dict(sorted(shown.items())) if passes or stored else None


def _is_new(evidence: Evidence, part: str, check: str, alone: Sequence[Shows]) -> bool:
    """Return whether a part that both mistakes change shows what neither shows alone, and no chance is in it."""
    compared = [evidence.compare(shows.get(check)).get(part) for shows in alone]
    return compared == [False, False]


def _list_numbers(shows: Shows) -> set[tuple[str, ...]]:
    """Return the parts of what checks see in which a mistake shows numbers."""
    return {(check, *place) for check, saw in shows.items() for place, record in list_parts(saw) if count_sums([record])}


def _outline(shows: Shows) -> str:
    return repr(sorted(shows.items()))


# What students would read


def measure_hints(
    pool: TrialPool, home: AssignmentFiles, right: Sequence[Variant], wrong: Sequence[Variant], seed: int
) -> Iterator[Finding]:
    """Yield how many of some pairs of mistakes, and of some mistakes in other right code, visible checks give the hints of.

    The pairs that get fewer than both hints include those that look exactly like one of their mistakes, because it hides the
    other one. Their number is given in addition. A mistake without effect in an alternative, which does not use the code that
    it changes, is not counted.

    Args:
        right, wrong: The alternatives and mistakes of the catalogue.
        seed: The seed by which they are drawn.
    """
    solution = (home.solution / home.assignment.submission).read_text(encoding="utf-8")
    chance, recorded = random.Random(seed), read_mistakes(home.mistakes[SUITE], home.assignment.name)
    for what, firsts in (("pairs of mistakes", wrong), ("mistakes in an alternative", right)):
        drawn = list(_draw_works(solution, firsts, wrong, chance))
        pending = [
            pool.submit(
                _list_hints,
                mistakes[0].function,
                submission,
                [recorded[one.id] for one in mistakes if one.id in recorded] if len(mistakes) > 1 else [],
                pool.coverage,
            )
            for mistakes, submission in drawn
        ]
        told: Counter[str] = Counter()
        for (mistakes, _), tried in zip(drawn, pending, strict=True):
            hints, hidden, seen = tried.result()
            if not seen:
                told["unseen"] += 1
                continue
            known, found = {mistake.hint for mistake in mistakes}, set(hints)
            told["all" if known <= found else "one" if known & found else "false" if found else "none"] += 1
            told["hidden"] += hidden and not known <= found
        if drawn:
            parts = [f"{told[how]} {words}" for how, words in TOLD.items() if told[how] or how in ("all", "none")]
            apart = (
                f"; in {told['hidden']} of these pairs, one mistake hides the other from all checks" if told["hidden"] else ""
            )
            without = f"; {told['unseen']} more change nothing that a visible check sees" if told["unseen"] else ""
            count = len(drawn) - told["unseen"]
            yield f"of {count} {what} (drawn by {seed}), {', '.join(parts)}{apart}{without}", None


TOLD = {"all": "get both hints", "one": "get one of them", "none": "get no hint", "false": "get only a wrong hint"}


def _draw_works(
    solution: str, firsts: Sequence[Variant], wrong: Sequence[Variant], chance: random.Random
) -> Iterator[tuple[list[Variant], str]]:
    """Yield DRAWN submissions of two variants that can be combined, and the mistakes in them."""
    pairs = [(one, other) for one in firsts for other in wrong if one.question == other.question and one.idea != other.idea]
    count = 0
    for one, other in chance.sample(pairs, len(pairs)):
        if count == DRAWN:
            break
        with contextlib.suppress(MergeConflict):
            submission = merge_changes(solution, one.submission, other.submission)
            yield [variant for variant in (one, other) if variant.hint], submission
            count += 1


def _list_hints(
    grader: Grader, function: str, submission: str, alone: Sequence[Mistake], coverage: Path
) -> tuple[list[str], bool, bool]:
    """Return the hints of visible checks, whether they see exactly one of some mistakes, and whether any of them fails."""
    with recall_calls(grader, replies_to_variant(coverage, submission)):
        report = try_variant(grader, submission, list_unit_questions(grader.home.assignment, function), suites=(SUITE,)).report
    seen = {check.removeprefix(f"{SUITE}/"): failure for check, failure in grader.seen.items()}
    hints = [hint for check in report.checks for hint in check.hint.splitlines()]
    return hints, bool(find_fitting_mistakes(alone, seen)), any(failure is not None for failure in seen.values())
