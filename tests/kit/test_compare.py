"""Comparison: equal where it should be, and the first difference named where not."""

from __future__ import annotations

import numpy as np
import pytest

from grader.judge.compare import difference
from grader.sandbox.wire import TensorArray


def tensor(values, dtype=np.float32) -> TensorArray:
    return np.array(values, dtype=dtype).view(TensorArray)


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        (tensor([1.0, 2.0]), tensor([1.00001, 2.0])),
        (tensor([1.0]), tensor([1.0], np.float64)),
        (np.array([1.0]), tensor([1.0])),
        (1.0, np.float32(1.0)),
        (2, 2.0),
        ({"a": [1, (2, 3)]}, {"a": [1, (2, 3)]}),
        ([1, 2], (1, 2)),
        (None, None),
        (True, True),
    ],
)
def test_equal(expected, got) -> None:
    """A right answer in another precision or container is right."""
    assert difference(expected, got) is None


@pytest.mark.parametrize(
    ("expected", "got", "words"),
    [
        (tensor([1.0, 2.0]), tensor([1.0, 2.1]), "largest difference at [1]: expected 2, got 2.1"),
        (tensor([[1.0]]), tensor([1.0]), "expected shape [1, 1], got shape [1]"),
        (tensor([1.0]), tensor([1], np.int64), "expected dtype float32, got int64"),
        (tensor([True], np.bool_), tensor([1.0]), "expected dtype bool"),
        (tensor([1.0]), np.array([1.0]), "expected a torch.Tensor"),
        (tensor([1.0]), None, "got None"),
        (tensor([1.0]), [1.0], "got a list, [1]"),
        (tensor([1.0, 2.0]), tensor([np.nan, 2.0]), "got nan"),
        (tensor([1.0, 2.0]), tensor([np.inf, 2.0]), "got inf"),
        (tensor(1.0), tensor(2.0), "expected 1"),
        (1.0, "1.0", "expected 1, got '1.0'"),
        (1.0, True, "got True"),
        (True, 1, "got 1"),
        (1.0, float("nan"), "got nan"),
        ([1, 2], [1], "result: expected [1, 2], got [1]"),
        ([*range(40)], [1], "result: expected 40 entries, got 1:\n  expected [0, 1, "),
        ({"a": 1}, {}, "'a' is missing"),
        ({}, {"b": 1}, "'b' is not expected"),
        ({"a": [1, 2]}, {"a": [1, 3]}, "a[1]: expected 2, got 3"),
        ({"b of a": [[1, 2]]}, {"b of a": [[1, 3]]}, "b of a, at [0][1]: expected 2, got 3"),
        (tensor([1.0]), "none: no gradient", "result: expected a torch.Tensor of shape [1], got none: no gradient"),
        ([1.0], "nothing: no call", "result: expected [1], got nothing: no call"),
    ],
)
def test_different(expected, got, words: str) -> None:
    """Each kind of difference is seen and named: shape before dtype before value."""
    found = difference(expected, got)
    assert found is not None
    assert words in found


def test_exact_dtype() -> None:
    """Only a check that asks for it tells float64 from float32."""
    found = difference(tensor([1.0]), tensor([1.0], np.float64), exact_dtype=True)
    assert found is not None
    assert "expected dtype float32, got float64" in found


@pytest.mark.parametrize(
    ("expected", "got", "words"),
    [
        (2, 2.0, "result: expected the int 2, got the float 2.0"),
        (2.0, 2, "result: expected the float 2.0, got the int 2"),
        ({"a": [1, 2]}, {"a": [1, np.float32(2)]}, "a[1]: expected the int 2, got the float 2.0"),
        (1, True, "expected 1, got True"),
        (True, 1, "expected True, got 1"),
        (1.0, True, "expected 1, got True"),
    ],
)
def test_exact_dtype_of_single_numbers(expected, got, words: str) -> None:
    """2.0 is not the integer 2, and True is not 1; without being asked, only the latter."""
    found = difference(expected, got, exact_dtype=True)
    assert found is not None
    assert words in found
    assert (difference(expected, got) is None) == ("the int" in words)


@pytest.mark.parametrize(("expected", "got"), [(2, np.int64(2)), (2.0, np.float32(2)), (np.float64("nan"), float("nan"))])
def test_exact_dtype_asks_for_no_more(expected, got) -> None:
    """A number of NumPy is a number: what crosses from a submission is Python's anyway."""
    assert difference(expected, got, exact_dtype=True, equal_nan=True) is None


def test_broadcasting_is_not_equality() -> None:
    """np.allclose would accept a (T, T) matrix of equal rows for a (T,) vector."""
    assert difference(tensor([1.0, 1.0]), tensor([[1.0, 1.0], [1.0, 1.0]])) is not None
