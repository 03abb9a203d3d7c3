"""What a submission finds in place of what is not here: gymnasium for gym, the CPU for every accelerator."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import re
import sys
from types import ModuleType
from typing import Any

# A line that names an accelerator and does not ask first whether there is one, outside of comments.
NAMES_ACCELERATOR = re.compile(rb"^(?![^#\n]*is_available)[^#\n]*\b(?:cuda|mps)\b", re.MULTILINE)
ACCELERATOR = re.compile(r"(?:cuda|mps)(?::\d+)?")
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
    """Return whether code uses cuda or mps without asking whether there is one."""
    return NAMES_ACCELERATOR.search(source) is not None


def substitute_cpu(source: bytes) -> None:
    """Let accelerators be absent, and mean the CPU, for a submission with this source, which is about to be loaded.

    Where the source names none, torch is as fast as ever: the substitution looks at the arguments of each of its functions.
    """
    if _entered:  # by an earlier submission, where one process serves several
        _entered.pop().__exit__(None, None, None)
    if not (torch := sys.modules.get("torch")):
        return
    torch.cuda.is_available = torch.backends.mps.is_available = lambda: False
    if names_accelerator(source):
        torch.cuda.synchronize = torch.cuda.set_device = lambda *_, **__: None
        for name in TENSOR_TYPES:
            setattr(torch.cuda, name, getattr(torch, name))
        _entered.append(_make_mode(torch))
        _entered[-1].__enter__()


def _make_mode(torch: Any) -> Any:
    here = torch.device("cpu")

    def place(value: Any) -> Any:
        if isinstance(value, torch.device):
            return here if ACCELERATOR.fullmatch(str(value)) else value
        return here if isinstance(value, str) and ACCELERATOR.fullmatch(value) else value

    class OnCpu(torch.overrides.TorchFunctionMode):  # type: ignore[misc]  # torch is not imported in every server
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if function in (torch.Tensor.cuda, torch.Tensor.pin_memory):
                return args[0]
            return function(*map(place, args), **{name: place(value) for name, value in (kwargs or {}).items()})

    return OnCpu()
