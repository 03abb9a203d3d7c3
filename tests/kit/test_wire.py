"""The wire: what is sent is what arrives, and no bytes whatever do harm."""

from __future__ import annotations

import contextlib
import json
import math
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.numpy import save

from grader.sandbox import wire
from tests.kit.examples import examples

pytestmark = pytest.mark.attack

leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(2**200), 2**200)
    | st.floats()
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    | hnp.arrays(
        st.sampled_from([np.float32, np.int64, np.bool_]), hnp.array_shapes(min_dims=0, max_dims=3, max_side=3, min_side=0)
    )
)
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=5).filter(lambda name: not name.startswith("$"))
trees = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4) | st.tuples(inner, inner)
)


def decoded(frame: bytes):
    text, blob = wire.read_lengths(frame[: wire.HEADER.size])
    body = frame[wire.HEADER.size :]
    assert len(body) == text + blob
    return wire.decode(body[:text], body[text:])


def same(one, other) -> bool:
    if isinstance(one, np.ndarray):
        return (
            type(one) is type(other)
            and one.dtype == other.dtype
            and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
        )
    if isinstance(one, (list, tuple)):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    return type(one) is type(other) and (one == other or (isinstance(one, float) and math.isnan(one) and math.isnan(other)))


@settings(max_examples=examples(300), deadline=None)
@given(trees)
def test_round_trip(tree) -> None:
    """A value that changes on the way would be graded wrongly."""
    assert same(tree, decoded(wire.encode(tree)))


@settings(max_examples=examples(500), deadline=None)
@given(st.binary(max_size=300), st.binary(max_size=300))
def test_random_bytes_are_refused(text: bytes, blob: bytes) -> None:
    """Nothing but ProtocolError may come of a student's bytes, or the judge dies of them."""
    with contextlib.suppress(wire.ProtocolError):
        wire.decode(text, blob)


@settings(max_examples=examples(500), deadline=None)
@given(trees, st.data())
def test_mutated_frames_are_refused_or_read(tree, data) -> None:
    """A frame with a few bytes changed is read as something else or refused, never a crash."""
    frame = bytearray(wire.encode(tree))
    for _ in range(data.draw(st.integers(1, 4))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    try:
        text, blob = wire.read_lengths(bytes(frame[: wire.HEADER.size]))
        body = bytes(frame[wire.HEADER.size :])
        wire.decode(body[:text], body[text : text + blob])
    except wire.ProtocolError:
        pass


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 100_000,
        b"[" + b"[]," * 300_000 + b"[]]",
        b"NaN",
        b"9" * 5000,
        b'{"$tensor": "missing"}',
        b'{"$float": "1e5"}',
        b'{"$unknown": 1}',
        b'{"$tuple": 1, "x": 2}',
        b'{"x": 1, "$tuple": []}',
        b'{"$tuple": 5}',
        b"\xff\xfe",
        b"",
    ],
)
def test_hostile_json_is_refused(text: bytes) -> None:
    """Depth, number of parts, constants that are not JSON, references to nothing."""
    with pytest.raises(wire.ProtocolError):
        wire.decode(text, b"")


def test_hostile_lengths_are_refused_before_reading() -> None:
    """A header that announces gigabytes must not make the judge wait for, or allocate, them."""
    for header in (
        struct.pack("<4sII", b"RLG1", 2**31, 0),
        struct.pack("<4sII", b"RLG1", 10, 2**31),
        struct.pack("<4sII", b"PICK", 10, 0),
        struct.pack("<4sII", b"RLG1", 0, 0),
        b"short",
    ):
        with pytest.raises(wire.ProtocolError):
            wire.read_lengths(header)


def test_an_array_is_handed_over_once() -> None:
    """Each reference to it would be a copy: one megabyte, named twenty thousand times, would fill any judge."""
    array = np.zeros(1 << 18, np.float32)
    blob = save({"a0": array})
    text = json.dumps([{"$array": "a0"}] * 100).encode()
    with pytest.raises(wire.ProtocolError):
        wire.decode(text, blob)
    assert len(decoded(wire.encode([array, array]))) == 2


def test_blob_with_a_huge_header_is_refused() -> None:
    """The blob's own header length is checked before it is parsed."""
    text = json.dumps({"$tensor": "a0"}).encode()
    for blob in (struct.pack("<Q", 2**60) + b"{}", struct.pack("<Q", 2) + b"{}", b"abc"):
        with pytest.raises(wire.ProtocolError):
            wire.decode(text, blob)
