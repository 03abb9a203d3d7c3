"""The frames that cross between judge and sandbox: a JSON tree plus one safetensors blob, never pickle.

A frame is `RLG1`, the length of the JSON (u32), the length of the blob (u32), the JSON, the blob. Both lengths are
checked against the caps before anything else is read. Arrays stand in the tree as references into the blob.

Only exact types cross; everything else is refused by name, so that no object of a student's ever acts in the judge.
"""

from __future__ import annotations

import json
import math
import struct
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from safetensors.numpy import load as load_blob
from safetensors.numpy import save as save_blob

MAGIC = b"RLG1"
HEADER = struct.Struct("<4sII")
READY = b"R"  # what a forked worker sends before it reads its request: from now on it is confined
MAX_JSON = 1 << 20
MAX_BLOB = 64 << 20
MAX_BLOB_HEADER = 1 << 20
MAX_DEPTH = 32
MAX_NODES = 20_000
MAX_STRING = 1 << 16
MAX_INTEGER = 1 << 255
DTYPES = frozenset(
    ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")
)
NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


class ValueRefused(Exception):
    """A value that may not cross; the message names it and says what to return instead."""


class ProtocolError(Exception):
    """Bytes that are not a frame as described above."""


class TensorArray(np.ndarray):
    """The numbers of a `torch.Tensor` in the judge, which has no torch. The type distinguishes them from a NumPy array."""


def encode(tree: Any) -> bytes:
    """Return `tree` as one frame.

    Raises:
        ValueRefused: For a value of another type or beyond a cap.
    """
    blob: dict[str, np.ndarray] = {}
    text = json.dumps(_Encoder(blob).node(tree, "the answer", 0), allow_nan=False).encode()
    data = save_blob(blob) if blob else b""
    if len(text) > MAX_JSON:
        raise ValueRefused(f"the answer is too large: {len(text):,} bytes of text, at most {MAX_JSON:,} are allowed")
    if len(data) > MAX_BLOB:
        raise ValueRefused(f"the answer is too large: {len(data):,} bytes of numbers, at most {MAX_BLOB:,} are allowed")
    return HEADER.pack(MAGIC, len(text), len(data)) + text + data


class _Encoder:
    def __init__(self, blob: dict[str, np.ndarray]) -> None:
        self.blob = blob
        self.size = 0
        self.nodes = 0
        self.torch: Any = sys.modules.get("torch")

    # In one function, as each value of an answer goes through it.
    def node(self, value: Any, path: str, depth: int) -> Any:  # noqa: C901
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise ValueRefused(f"the answer has more than {MAX_NODES:,} parts; return tensors instead of long lists")
        if depth > MAX_DEPTH:
            raise ValueRefused(f"{path:.60} is nested more than {MAX_DEPTH} deep, or contains itself")
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is int:
            if abs(value) >= MAX_INTEGER:
                raise ValueRefused(f"{path} is an integer of more than 255 bits")
            return value
        if kind is float:
            return value if math.isfinite(value) else {"$float": str(value)}
        if kind is str:
            if len(value) > MAX_STRING:
                raise ValueRefused(f"{path} is a string of {len(value):,} characters, at most {MAX_STRING:,} are allowed")
            return value.encode("utf-8", "backslashreplace").decode()
        if kind is list:
            return [self.node(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(value)]
        if kind is tuple:
            return {"$tuple": self.node(list(value), path, depth)}
        if kind is dict:
            for key in value:
                if type(key) is not str or key.startswith("$"):
                    raise ValueRefused(f"{path} has the key {key!r:.80}; keys must be plain strings")
            return {key: self.node(item, f"{path}[{key!r}]", depth + 1) for key, item in value.items()}
        if kind is np.ndarray or kind is TensorArray:
            self.weigh(value.nbytes, path)
            return {"$tensor" if kind is TensorArray else "$array": self.array(value, path)}
        if isinstance(value, np.generic) and kind.__module__ == "numpy":
            return {"$scalar": self.array(np.asarray(value), path)}
        if self.torch is not None and kind is self.torch.Tensor:
            return {"$tensor": self.array(self.tensor(value, path), path)}
        raise ValueRefused(
            f"{path} is a {_name(kind)}, which cannot be transferred; return a torch.Tensor, a NumPy array, a number, "
            "a string, or a list, tuple or dict of these"
        )

    def tensor(self, value: Any, path: str) -> np.ndarray:
        name = str(value.dtype).removeprefix("torch.")
        if value.layout is not self.torch.strided or value.device.type == "meta" or name not in DTYPES:
            raise ValueRefused(f"{path} is a {value.layout} {name} tensor on {value.device}; return an ordinary float32 one")
        self.weigh(value.numel() * value.element_size(), path)
        numbers: np.ndarray = value.detach().cpu().resolve_neg().contiguous().numpy()
        return numbers

    def array(self, value: np.ndarray, path: str) -> str:
        if value.dtype.name not in DTYPES:
            raise ValueRefused(f"{path} is an array of dtype {value.dtype}; return ordinary numbers")
        name = f"a{len(self.blob)}"
        self.blob[name] = np.array(value, order="C", dtype=value.dtype.newbyteorder("="), copy=True, subok=False)
        return name

    def weigh(self, size: int, path: str) -> None:
        self.size += size
        if self.size > MAX_BLOB:
            raise ValueRefused(f"{path} is too large: at most {MAX_BLOB >> 20} MB of numbers may be returned")


def _name(kind: type) -> str:
    module = getattr(kind, "__module__", "")
    return kind.__qualname__ if module in ("builtins", "__main__", "submitted") else f"{module}.{kind.__qualname__}"


def read_lengths(header: bytes) -> tuple[int, int]:
    """Return (JSON length, blob length) of a frame from its first bytes.

    Raises:
        ProtocolError: If a length is beyond a cap.
    """
    try:
        magic, text, blob = HEADER.unpack(header)
    except struct.error as error:
        raise ProtocolError("incomplete header") from error
    if magic != MAGIC or not 0 < text <= MAX_JSON or blob > MAX_BLOB:
        raise ProtocolError("not a frame")
    return text, blob


def decode(text: bytes, blob: bytes, tensor: Callable[[np.ndarray], Any] | None = None) -> Any:
    """Return the tree of a frame. Arrays are writable copies.

    Args:
        tensor: Makes a tensor of an array; by default a `TensorArray`.

    Raises:
        ProtocolError: For anything that `encode` would not have written.
    """
    try:
        arrays = _read_blob(blob)
        tree = json.loads(text.decode(), parse_constant=_refuse_constant, parse_int=_bounded_integer)
        return _Decoder(arrays, tensor or (lambda array: array.view(TensorArray))).node(tree, 0)
    except ProtocolError:
        raise
    except Exception as error:  # whatever a decoder trips over, the frame is at fault
        raise ProtocolError(f"malformed frame ({type(error).__name__})") from error


def _read_blob(blob: bytes) -> dict[str, np.ndarray]:
    if not blob:
        return {}
    if len(blob) < 8 or int.from_bytes(blob[:8], "little") > MAX_BLOB_HEADER:
        raise ProtocolError("malformed blob")
    return load_blob(blob)


def _refuse_constant(name: str) -> float:
    raise ProtocolError(f"{name} is not JSON")


def _bounded_integer(digits: str) -> int:
    if len(digits) > 80:
        raise ProtocolError("integer too long")
    return int(digits)


class _Decoder:
    def __init__(self, arrays: dict[str, np.ndarray], tensor: Callable[[np.ndarray], Any]) -> None:
        self.arrays = arrays
        self.tensor = tensor
        self.nodes = 0

    def node(self, value: Any, depth: int) -> Any:
        self.nodes += 1
        if self.nodes > MAX_NODES or depth > 2 * MAX_DEPTH:
            raise ProtocolError("too many parts")
        if isinstance(value, list):
            return [self.node(item, depth + 1) for item in value]
        if not isinstance(value, dict):
            return value
        tag = next(iter(value), "")
        if not tag.startswith("$"):
            if any(key.startswith("$") for key in value):
                raise ProtocolError("mixed keys")
            return {key: self.node(item, depth + 1) for key, item in value.items()}
        (content,) = value.values()
        if tag == "$float":
            return NOT_FINITE[content]
        if tag == "$tuple":
            return tuple(self.node(list(content), depth + 1))
        # Taken out: a second reference to it would be a second copy, and twenty thousand of them more memory than there is.
        array = np.array(self.arrays.pop(content))
        if array.dtype.name not in DTYPES:
            raise ProtocolError("dtype")
        if tag == "$tensor":
            return self.tensor(array)
        if tag == "$array":
            return array
        if tag == "$scalar" and array.ndim == 0:
            return array[()]
        raise ProtocolError("unknown tag")
