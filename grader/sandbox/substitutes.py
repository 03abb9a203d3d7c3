"""Substitute what is missing: gymnasium for gym, the CPU for every accelerator."""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import re
import sys
from types import ModuleType
from typing import Any

# Also comments, where no quote follows that would make the sign a part of a text.
ASKED_FIRST = re.compile(rb"""(?:["'](?:cuda|mps)(?::\d+)?["']\s+if\s+)?[\w.]*\.is_available\(\)|#[^"'\n]*$""")
NAMES_ACCELERATOR = re.compile(rb"\b(?:cuda|mps)\b")
ACCELERATOR = re.compile(r"(?:cuda|mps)(?::\d+)?")
TYPE = re.compile(r"torch\.cuda\.(\w+Tensor)")
TENSOR_TYPES = tuple(f"{kind}Tensor" for kind in ("Float", "Double", "Half", "Long", "Int", "Short", "Byte", "Bool"))

_entered: list[Any] = []  # the mode in which accelerators mean the CPU, while it is on


class _GymFinder(importlib.abc.MetaPathFinder):
    """Finds gymnasium, and its parts, by the name of gym, which it has replaced."""

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] != "gym":
            return None
        try:
            module = importlib.import_module(name.replace("gym", "gymnasium", 1))
        except ImportError:
            return None
        return importlib.machinery.ModuleSpec(name, _Loaded(module))


class _Loaded(importlib.abc.Loader):
    """Gives a module that is loaded already."""

    def __init__(self, module: ModuleType) -> None:
        self.module, self.spec = module, module.__spec__

    def create_module(self, _spec: object) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec  # the import system has set that of gym


def substitute_gym() -> None:
    """Let `import gym` import gymnasium, in all that follows in this process."""
    if not any(isinstance(finder, _GymFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _GymFinder())


def names_accelerator(source: bytes) -> bool:
    """Return whether code names cuda or mps outside of comments, and not only to use it if there is one."""
    lines = [line for line in source.splitlines() if b"cuda" in line or b"mps" in line]
    return any(NAMES_ACCELERATOR.search(ASKED_FIRST.sub(b"", line)) for line in lines)


def substitute_cpu(source: bytes) -> None:
    """Let accelerators be absent, and mean the CPU, for a submission with this source, which is about to be loaded.

    Where the source names none, torch is as fast as ever: the substitution looks at the arguments of each of its functions.
    """
    if _entered:  # by an earlier submission, where one process serves several
        _entered.pop().__exit__(None, None, None)
    if not (torch := sys.modules.get("torch")):
        return
    # Each is a function of its own: torch._dynamo refuses one that stands in two places.
    torch.cuda.is_available = lambda: False
    torch.backends.mps.is_available = lambda: False
    if names_accelerator(source):
        _replace_functions(torch)
        _entered.append(_make_mode(torch))
        _entered[-1].__enter__()


def _replace_functions(torch: Any) -> None:
    """Give functions that ask an accelerator something an answer for the CPU."""
    torch.cuda.current_device = lambda: 0
    torch.cuda.get_device_name = lambda *_, **__: "CPU"
    torch.cuda.set_device = lambda *_, **__: None
    torch.cuda.synchronize = lambda *_, **__: None
    torch.cuda.reset_peak_memory_stats = lambda *_, **__: None
    torch.mps.synchronize = lambda: None
    torch.mps.empty_cache = lambda: None
    torch.cuda.device = lambda *_, **__: contextlib.nullcontext()
    for name in TENSOR_TYPES:
        setattr(torch.cuda, name, getattr(torch, name))
    torch.Generator = _make_generator(getattr(torch.Generator, "original", torch.Generator))
    load = getattr(torch.load, "original", torch.load)

    def load_here(f: Any, map_location: Any = "cpu", *more: Any, **options: Any) -> Any:
        elsewhere = type(map_location) is int or ACCELERATOR.match(str(map_location))
        with torch._C.DisableTorchFunction():  # it looks at devices itself
            return load(f, "cpu" if elsewhere else map_location, *more, **options)

    load_here.original = load  # type: ignore[attr-defined]  # for the next submission in this process
    torch.load = load_here
    move = getattr(torch.nn.Module.to, "original", torch.nn.Module.to)

    def move_here(module: Any, *where: Any, **options: Any) -> Any:
        if where and type(where[0]) is int:  # the number of an accelerator
            where = ("cpu", *where[1:])
        return move(module, *where, **options)

    move_here.original = move  # type: ignore[attr-defined]
    torch.nn.Module.to = move_here


def _make_generator(original: Any) -> Any:
    class OfAnyKind(type(original)):  # type: ignore[misc]  # as for the mode below
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, original)

    class Generator(original, metaclass=OfAnyKind):  # type: ignore[misc]
        def __new__(cls, device: Any = "cpu") -> Any:
            return original("cpu" if type(device) is int or ACCELERATOR.match(str(device)) else device)

    Generator.original = original
    return Generator


def _make_mode(torch: Any) -> Any:
    here = torch.device("cpu")

    def names_one(value: Any) -> bool:
        return isinstance(value, str | torch.device) and ACCELERATOR.fullmatch(str(value)) is not None

    def place(value: Any) -> Any:
        if names_one(value):
            return here
        return TYPE.sub(r"torch.\1", value) if isinstance(value, str) else value

    class OnCpu(torch.overrides.TorchFunctionMode):  # type: ignore[misc]  # torch is not imported in every server
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            if function in (torch.Tensor.cuda, torch.Tensor.pin_memory):
                return args[0]
            if function is torch.device:
                first = next(iter((*args, *kwargs.values())))
                return here if type(first) is int or names_one(first) else function(*args, **kwargs)
            if function is torch.Tensor.to and len(args) > 1 and type(args[1]) is int:
                args = args[0], here, *args[2:]
            if type(kwargs.get("device")) is int:
                kwargs = kwargs | {"device": here}
            if kwargs.get("pin_memory"):
                kwargs = kwargs | {"pin_memory": False}
            return function(*map(place, args), **{name: place(value) for name, value in kwargs.items()})

    return OnCpu()
