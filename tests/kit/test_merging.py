"""Two mistakes in one submission: what both change, also in one statement, and nothing if they change the same."""

from __future__ import annotations

import pytest

from grader.proof.merging import MergeConflict, merge_changes

TEXT = '''
def loss(a, b):
    """Docstring."""
    ratio = exp(a - b)
    return -min(ratio, 1).mean()
'''


def changed(**texts: str) -> str:
    found = TEXT
    for old, new in ((SHORT[name], new) for name, new in texts.items()):
        assert old in found
        found = found.replace(old, new)
    return found


SHORT = {
    "sign": "-min",
    "mean": ".mean()",
    "exp": "exp(a - b)",
    "doc": '    """Docstring."""\n',
    "ratio": "ratio = ",
    "returned": "    return",
}


def test_two_edits_of_one_statement() -> None:
    """Catches: a merge of lines, which takes one edit of a line or the other."""
    assert "return min(ratio, 1).sum()" in merge_changes(TEXT, changed(sign="min"), changed(mean=".sum()"))


def test_what_is_put_around_and_what_is_changed_within() -> None:
    """Catches: a conflict over the expression, where one edit only stands around what the other changes."""
    wrapped = changed(exp="(1 / exp(a - b)).detach()")
    assert "ratio = (1 / exp(a + b)).detach()" in merge_changes(TEXT, wrapped, changed(exp="exp(a + b)"))
    assert "ratio = (1 / exp(a + b)).detach()" in merge_changes(TEXT, changed(exp="exp(a + b)"), wrapped)


def test_a_docstring_is_no_change() -> None:
    """A mistake that is written as a function has none, and may be combined with one that is made by an edit."""
    merged = merge_changes(TEXT, changed(doc="", exp="a - b"), changed(mean=".sum()"))
    assert "ratio = a - b" in merged
    assert ".sum()" in merged


def test_statements_that_are_added() -> None:
    """Catches: one of two lines lost, or both in a place where they do something else."""
    merged = merge_changes(TEXT, changed(returned="    a = 1\n    return"), changed(ratio="b = 2\n    ratio = "))
    assert [line.strip() for line in merged.splitlines()[1:]] == [
        "b = 2",
        "ratio = exp(a - b)",
        "a = 1",
        "return -min(ratio, 1).mean()",
    ]


def test_the_same_edit_of_both_is_made_once() -> None:
    """Catches: a conflict over what both agree in."""
    assert merge_changes(TEXT, changed(mean=".sum()"), changed(mean=".sum()", sign="min")).count(".sum()") == 1


@pytest.mark.parametrize(("one", "other"), [({"exp": "a"}, {"exp": "b"}), ({"ratio": ""}, {"exp": "a"})])
def test_two_edits_of_one_expression_cannot_both_be_made(one: dict[str, str], other: dict[str, str]) -> None:
    """Catches: a submission that has one of two mistakes, and is taken for one with both."""
    with pytest.raises(MergeConflict):
        merge_changes(TEXT, changed(**one), changed(**other))
