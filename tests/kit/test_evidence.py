"""What is recorded of a mistake: it is recognized when it comes again, rounded or of another type, and nothing else is."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.answers import UNPREDICTABLE, Mistake, read_mistakes, render_mistakes
from grader.course.behavior import list_forms
from grader.judge.compare import Tolerance
from grader.judge.evidence import Evidence, WrongAnswerEvidence
from grader.sandbox.wire import TensorArray
from tests.kit.examples import examples

RNG = np.random.default_rng(3)
RIGHT: dict[str, Any] = {
    "rows": RNG.normal(size=(6, 4)).astype(np.float32),
    "count": 6,
    "names": ["a", "b"],
    "losses": [0.5, 1.5, 2.5],
}
WRONG = RIGHT | {"rows": RIGHT["rows"] * np.float32(1.1), "count": 7}


def answer(got: Any, expected: Any = RIGHT, also: Callable | None = None, **how: Any) -> WrongAnswerEvidence:
    """Return the evidence of an answer, by default with the tolerances of a check."""
    return WrongAnswerEvidence("case", expected, got, also, Tolerance(**{"rtol": 1e-4, "atol": 1e-5} | how))


def stored(recorded: Any, tmp_path) -> Any:
    """Return what is recorded as it is read again from the file."""
    path = tmp_path / "toy.json"
    path.write_text(render_mistakes("toy", {"one": Mistake("one", "question", "hint", {"check": recorded})}))
    return read_mistakes(path, "toy")["one"].shows["check"]


def test_comes_again(tmp_path) -> None:
    """Catches: what is lost in the file, and a hash of last digits, which differ between processors."""
    recorded = stored(answer(WRONG).record(), tmp_path)
    assert answer(WRONG).fits(recorded)
    rounded = WRONG | {"rows": WRONG["rows"] * (1 + 2e-5 * RNG.uniform(-1, 1, (6, 4))).astype(np.float32)}
    assert answer(rounded).fits(recorded)
    assert answer(WRONG | {"rows": WRONG["rows"].astype(np.float64), "count": 7.0}).fits(recorded)


def test_a_mistake_whose_wrong_parts_chance_decides() -> None:
    """Catches: a grader error for an answer that is wrong in another part than those."""
    recorded = [{"case": {"count": UNPREDICTABLE}}]
    assert answer(RIGHT | {"losses": [9.0, 9.0, 9.0]}).compare(recorded) == {}
    assert not answer(RIGHT | {"losses": [9.0, 9.0, 9.0]}).fits(recorded)


def test_a_form_that_is_made_of_the_inputs_alone(tmp_path) -> None:
    """Catches: a wrong answer taken for a right one, since `also` makes the other right answer whatever it is given."""
    halved = {"rows": RIGHT["rows"] / 2}
    for got in (WRONG, {"rows": WRONG["rows"]}):
        right = {name: RIGHT[name] for name in got}
        wrong = answer(got, right, lambda _, right=right: right | halved)
        recorded = stored(wrong.record(), tmp_path)
        assert wrong.fits(recorded)
        assert not answer(right | {"rows": WRONG["rows"] + 1}, right, lambda _, right=right: right | halved).fits(recorded)


@pytest.mark.parametrize(
    "got",
    [
        WRONG | {"count": 8},
        WRONG | {"count": 6},
        WRONG | {"names": ["a", "c"]},
        WRONG | {"losses": [0.5, 1.5]},
        WRONG | {"losses": [0.5, 1.5, 2.6]},
        WRONG | {"more": 1},
        {name: WRONG[name] for name in ("rows", "count", "names")},
        WRONG | {"rows": RIGHT["rows"]},
        WRONG | {"rows": WRONG["rows"].T},
        WRONG | {"rows": WRONG["rows"].reshape(4, 6)},
        WRONG | {"rows": WRONG["rows"][::-1]},
        WRONG | {"rows": RIGHT["rows"] * np.float32(1.11)},
        WRONG | {"rows": (WRONG["rows"] * 100).astype(int)},
        WRONG | {"rows": np.where(WRONG["rows"] > 1, np.nan, WRONG["rows"])},
        WRONG | {"rows": WRONG["rows"].tolist()},
        WRONG | {"rows": None},
        None,
        [],
    ],
)
def test_anything_else(got: Any) -> None:
    """Catches: another wrong answer taken for the mistake, whose hint would lead the student astray."""
    assert not answer(got).fits(answer(WRONG).record())


@settings(max_examples=examples(100), deadline=None, derandomize=True)
@given(st.integers(0, 23), st.integers(0, 23), st.floats(0.01, 3))
def test_one_number_more(place: int, other: int, size: float) -> None:
    """Catches: sums in which another number, or two exchanged ones, cannot be seen."""
    rows = WRONG["rows"].copy().ravel()
    rows[place] += np.float32(size)
    assert not answer(WRONG | {"rows": rows.reshape(6, 4)}).fits(answer(WRONG).record())
    rows = WRONG["rows"].copy().ravel()
    rows[[place, other]] = rows[[other, place]]
    if abs(rows[place] - rows[other]) > 0.2:
        assert not answer(WRONG | {"rows": rows.reshape(6, 4)}).fits(answer(WRONG).record())


def test_a_tensor_where_the_mistake_has_an_array() -> None:
    """A check takes a tensor for an array, and no array for a tensor; so does the diagnosis."""
    tensor = WRONG | {"rows": WRONG["rows"].view(TensorArray)}
    assert answer(tensor).fits(answer(WRONG).record())
    assert not answer(WRONG).fits(answer(tensor).record())


def test_a_float_where_an_integer_is_asked_for() -> None:
    """A check that asks for exact types recognizes a mistake by the type of a number; others do not see it."""
    floats = WRONG | {"count": 7.0}
    assert answer(floats).fits(answer(WRONG).record())
    assert not answer(floats, exact_dtype=True).fits(answer(WRONG, exact_dtype=True).record())


def test_too_near_to_be_a_mistake() -> None:
    """Catches: rounding by another machine that is called a mistake."""
    near = RIGHT | {"rows": RIGHT["rows"] * np.float32(1.0005)}
    assert answer(near).record() == UNPREDICTABLE
    assert answer(near | {"count": 7}).record() != UNPREDICTABLE


def test_a_number_at_the_edge_of_a_tolerance() -> None:
    """Catches: a mistake that is not recognized where rounding decides whether one of its numbers is wrong."""
    edge = {"x": np.array([1.0, 2.0, 3.0]), "n": 1}
    below, above = ({"x": np.array([1.0 + gap, 2.0, 3.0]), "n": 2} for gap in (1.09e-4, 1.11e-4))
    assert answer(below, edge).fits(answer(above, edge).record())
    assert answer(above, edge).fits(answer(below, edge).record())
    assert not answer({"x": np.array([1.5, 2.0, 3.0]), "n": 3}, edge).fits(answer(below, edge).record())


def test_the_other_form_of_a_mistake() -> None:
    """A check that accepts two forms of an answer recognizes a mistake in either."""
    halved = {"also": lambda facts: facts | {"rows": facts["rows"] / 2}}
    recorded = answer(WRONG, **halved).record()
    assert answer(WRONG | {"rows": WRONG["rows"] / 2}, **halved).fits(recorded)
    assert answer(WRONG, **halved).fits(recorded)
    assert not answer(WRONG | {"rows": WRONG["rows"] / 3}, **halved).fits(recorded)


def test_large_answers_take_little() -> None:
    """Catches: arrays in a file that people should be able to review."""
    large = {"rows": RNG.normal(size=(100, 50)), "losses": RNG.normal(size=1000).tolist()}
    recorded = answer(large, {"rows": np.zeros((100, 50)), "losses": [0.0] * 1000}).record()
    assert len(str(recorded)) < 140


def test_numbers_whose_sum_overflows(tmp_path) -> None:
    """Catches: a warning for each of them, which a suite may turn into an error, and a mistake that does not fit itself."""
    huge = {"rows": np.full(9, -1.7e308)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        recorded = stored(answer(huge, {"rows": np.full(9, 1.7e308)}).record(), tmp_path)
        assert answer(huge, {"rows": np.full(9, 1.7e308)}).fits(recorded)


def test_another_answer_with_the_same_hash() -> None:
    """Catches: a fault of the grader where eight characters of a hash agree by chance."""
    ((hashed, *sums),) = answer(WRONG).record()
    for other in ([hashed], [hashed, *sums, 1.0], [hashed, *(value + 1 for value in sums)]):
        assert not answer(WRONG).fits([other])


def test_each_wrong_fact_is_compared_for_itself(tmp_path) -> None:
    """Catches: two mistakes in different facts of one answer, of which neither can be told."""
    rows = stored(answer(RIGHT | {"rows": WRONG["rows"]}).record(), tmp_path)
    both = answer(WRONG)
    assert both.wrong_parts == {"rows", "count"}
    assert both.compare(rows) == {"rows": True}
    assert answer(WRONG | {"rows": WRONG["rows"] * 2}).compare(rows) == {"rows": False}
    assert answer(RIGHT | {"count": 7}).compare(rows) == {"rows": False}
    assert both.compare(UNPREDICTABLE) == {"rows": None, "count": None}
    assert both.compare({"status": "raised"}) == {"rows": False, "count": False}
    assert not both.fits(rows)


def test_a_missing_and_an_added_fact(tmp_path) -> None:
    """What is missing is wrong as well, and what nobody asked for."""
    missing = answer({name: RIGHT[name] for name in ("rows", "count", "names")} | {"more": 1})
    recorded = stored(missing.record(), tmp_path)
    assert missing.wrong_parts == {"losses", "more"}
    assert missing.compare(recorded) == {"losses": True, "more": True}
    assert answer(RIGHT | {"losses": [0.5], "more": 1}).compare(recorded) == {"losses": False, "more": True}


def test_gradients_are_one_fact() -> None:
    """Catches: records that are as long as a network has layers."""
    weights = {"loss": 1.0, "gradient": {"weight": np.ones((3, 2)), "bias": np.ones(3)}}
    wrong = answer({"loss": 1.0, "gradient": {"weight": np.zeros((3, 2)), "bias": np.zeros(3)}}, weights)
    assert wrong.wrong_parts == {"gradient"}


def test_facts_group_submissions_up_to_rounding() -> None:
    """Catches: a group on the class page for each submission, because the form of evidence is not read."""
    rounded = WRONG | {"rows": WRONG["rows"] * np.float32(1 + 2e-6)}
    seen = [list_forms(answer(got).record()) for got in (WRONG, rounded, WRONG | {"count": 8})]
    assert seen[0][0][0] == seen[1][0][0]
    assert not np.allclose(seen[0][0][1], seen[2][0][1], rtol=1e-4)
    assert np.allclose(seen[0][0][1], seen[1][0][1], rtol=1e-4)
    assert len(seen[0][0][1]) > 1


def test_what_is_no_answer() -> None:
    """What a check says by itself is recognized by its words."""
    raised = {"status": "raised", "type": "IndexError", "message": "list index out of range"}
    assert Evidence(raised).fits(Evidence(dict(raised)).record())
    assert not Evidence(raised | {"type": "KeyError"}).fits(Evidence(raised).record())
    assert not answer(WRONG).fits(raised)
    assert not Evidence(raised).fits(answer(WRONG).record())
