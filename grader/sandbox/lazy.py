"""Modules that take long to import, and that most submissions need only by name: imported when something of them is used."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


class LazyModule(ModuleType):
    """A module that is imported when something of it is used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__path__":
            raise AttributeError(name)
        module = self.load()
        if hasattr(module, "__path__") and not hasattr(module, name):
            with contextlib.suppress(ModuleNotFoundError):
                return importlib.import_module(f"{self.__name__}.{name}")
        return getattr(module, name)

    def load(self) -> ModuleType:
        """Return the module itself; from now on, its name means that one."""
        for held in [held for held, module in sys.modules.items() if type(module) is LazyModule]:
            del sys.modules[held]
        return importlib.import_module(self.__name__)


class LazyDynamo(LazyModule):
    """torch._dynamo, of which an optimizer asks two things that mean nothing outside of torch.compile.

    Importing it takes about as long as importing torch. What torch asks is answered as if nothing were being compiled; for
    everything else, torch._dynamo is imported.
    """

    def __init__(self) -> None:
        super().__init__("torch._dynamo")
        vars(self)["passed_on"] = []  # functions that torch will not ask about again

    def graph_break(self, msg: str = "") -> None:
        """Do nothing, as torch does where nothing is being compiled."""

    def disable(self, fn: Callable[..., Any] | None = None, recursive: bool = True, **options: Any) -> Any:
        """Return a function of torch's own, which is not being compiled, as it is."""
        if fn is None or options != {"wrapping": False}:
            return self.load().disable(fn, recursive, **options)
        self.passed_on.append(fn)
        return fn

    def load(self) -> ModuleType:
        """Return torch._dynamo itself, which torch asks from now on."""
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
            vars(sys.modules["torch"]).pop("_dynamo", None)
        while self.passed_on:
            vars(self.passed_on.pop()).pop("__dynamo_disable", None)
        return importlib.import_module(self.__name__)


def import_matplotlib_lazily() -> None:
    """Let `import matplotlib.pyplot`, with which most files begin, cost half a second only when something is drawn."""
    if "matplotlib" not in sys.modules:
        whole, part = LazyModule("matplotlib"), LazyModule("matplotlib.pyplot")
        vars(whole)["pyplot"] = part
        sys.modules |= {"matplotlib": whole, "matplotlib.pyplot": part}


def import_dynamo_lazily() -> None:
    """Let the first optimizer cost a second only where something is compiled; does nothing where torch is not imported."""
    torch = sys.modules.get("torch")
    if torch is not None and "torch._dynamo" not in sys.modules:
        sys.modules["torch._dynamo"] = vars(torch)["_dynamo"] = LazyDynamo()


def is_imported(name: str) -> bool:
    """Return whether a module has been imported, and not only its name."""
    return name in sys.modules and not isinstance(sys.modules[name], LazyModule)


def import_now(name: str) -> None:
    """Import a module, also where its name stands for it so far."""
    module = importlib.import_module(name)
    if isinstance(module, LazyModule):
        module.load()
