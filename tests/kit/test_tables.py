"""Tables in a report: of two values they show where these differ, whatever a submission returns, and stay small."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.judge.student import Comparison
from grader.judge.tables import MAX_COLUMNS, MAX_PARTS, MAX_POINTS, MAX_ROWS, MAX_TABLES, make_tables
from grader.report.model import CheckResult, ValueTable
from tests.kit.examples import examples

INPUTS = ()


def tables(expected: Any, got: Any, *forms: Any) -> tuple[ValueTable, ...]:
    return make_tables(Comparison((expected, *forms), got, 1e-4, 1e-5, False))


def test_the_rows_that_differ_are_shown() -> None:
    """Rows left out must be those that agree: the one wrong entry of a long column is what the table is for."""
    got = np.arange(500.0)
    got[321] = -1
    (table,) = tables({"values": np.arange(500.0)}, {"values": got})
    assert (table.name, table.kind, table.left_out) == (
        "values",
        "float64 [500]",
        f"{MAX_ROWS} of 500 rows, those that differ most",
    )
    assert "1 of 500 differ; largest difference at [321]" in table.summary
    at = table.rows.index("321")
    assert (table.expected[at], table.got[at], table.differs[at]) == (("321",), ("-1",), (True,))
    assert sum(flag for row in table.differs for flag in row) == 1
    assert [len(curve) for curve in table.curves] == [MAX_POINTS, MAX_POINTS]


def test_a_matrix_has_a_map() -> None:
    """The pattern of what differs, a row, a diagonal, says more than its numbers; NaN is not the largest difference."""
    expected = np.arange(12.0).reshape(3, 4)
    got = expected.copy()
    got[1, 2], got[2, 0] = 7.5, math.nan
    (table,) = tables(expected, got)
    assert table.map == ("0000", "0090", "?000")
    assert table.curves == ()
    assert table.columns[2] == "[:, 2]"


def test_single_values_share_a_table() -> None:
    """Ten tables of one number each would push the rest off the page; what is missing must be there, too."""
    (table,) = tables({"loss": 1.5, "steps": 3, "same": 1}, {"loss": 2.5, "same": 1, "more": 4})
    assert table.rows == ("loss", "steps", "more")
    assert table.got == (("2.5",), ("(nothing)",), ("4",))
    assert table.expected[2] == ("(nothing)",)


def test_the_nearest_right_form_is_compared() -> None:
    """A right order in the other accepted form must not be shown as wrong throughout."""
    (table,) = tables({"first": 1.0, "second": 2.0}, {"first": 2.0, "second": 9.0}, {"first": 2.0, "second": 1.0})
    assert table.rows == ("second",)


def test_what_agrees_has_no_table() -> None:
    """A check that fails for another reason must not point at values that are right."""
    assert tables({"loss": 1.0}, {"loss": 1.0}) == ()


def test_size_is_bounded() -> None:
    """A submission that returns as much as it can must not fill the reports of a class."""
    one = {f"part {number}": np.random.default_rng(number).random((300, 200)) for number in range(20)}
    found = tables(one, {key: value + 1 for key, value in one.items()})
    assert len(found) == MAX_TABLES
    assert all(len(table.rows) == MAX_ROWS and len(table.columns) == MAX_COLUMNS for table in found)
    many = tables({"a": 1}, {str(number): "x" * 1000 for number in range(10 * MAX_PARTS)})
    check = CheckResult(id="a", question="a", suite="visible", title="a", max_points=1, tables=(*found, *many))
    assert len(check.model_dump_json()) < 40_000


values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(1 << 70), 1 << 70),
        st.floats(),
        st.text(max_size=4),
        st.lists(st.floats(width=32), max_size=6).map(np.array),
        st.just(np.zeros((0, 3))),
        st.just(np.array(2.0)),
        st.just(np.array([[True, False]])),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=examples(200), deadline=None)
@given(values, values)
def test_any_two_values(expected: Any, got: Any) -> None:
    """Facts come from the submission's process: none may break the report, or end in one that cannot be read again."""
    check = CheckResult(id="a", question="a", suite="visible", title="a", max_points=1, tables=tables(expected, got))
    assert CheckResult.model_validate_json(check.model_dump_json()) == check


def test_what_cannot_be_compared_has_no_table() -> None:
    """A number that no float holds must cost its table, never the check its outcome."""
    assert tables({"a": 2.0}, {"a": 1 << 5000}) == ()
