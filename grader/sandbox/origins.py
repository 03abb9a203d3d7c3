"""Where the modules of a process were imported from: the server's must be the kit's, the libraries' or the author's."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

SANDBOX = Path(__file__).resolve().parent
KIT = (str(SANDBOX), str(SANDBOX.parent / "__init__.py"))  # what a server needs of the kit


def list_own_places(searched: Sequence[str]) -> list[str]:
    """Return the folders, and single files, that Python, the kit and the libraries are imported from.

    Args:
        searched: `sys.path` as it was when Python started, and wherever libraries are searched since.
    """
    standard = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib")]
    editable: list[str] = []  # packages that an import hook of setuptools leads to, wherever they lie
    for finder in sys.meta_path:
        mapping = getattr(sys.modules.get(getattr(finder, "__module__", "")), "MAPPING", None)
        editable += [str(place) for place in mapping.values()] if isinstance(mapping, dict) else []
    return [*KIT, *standard, *searched, *editable]


def find_stranger(student: str, places: Sequence[str] | None = None) -> str | None:
    """Return the first module that does not belong here, with its file, in words; None if there is none.

    A few milliseconds for the thousands of modules of torch: links are followed only where a path fits nowhere as it is.

    Args:
        student: The folder of submissions.
        places: The folders and files that modules may come from; None for all but that folder.
    """
    own, allowed = _prefixes([student]), _prefixes(places or ())
    for name, module in list(sys.modules.items()):
        for path in _files(module):
            if path.startswith(own):
                return f"{name} ({path}), which is in the folder of submissions"
            if places is not None and not path.startswith(allowed):
                real = os.path.normcase(os.path.realpath(path))
                if real.startswith(own) or not real.startswith(allowed):
                    return f"{name} ({path}), which belongs to neither the grader nor the libraries nor the assignment"
    return None


def _prefixes(places: Sequence[str]) -> tuple[str, ...]:
    """Return these paths as they are and without links, each such that what lies below it begins with it."""
    ways = dict.fromkeys(way for place in places if place for way in (os.path.abspath(place), os.path.realpath(place)))
    return tuple(os.path.normcase(way) if os.path.isfile(way) else os.path.normcase(os.path.join(way, "")) for way in ways)


def _files(module: Any) -> Iterator[str]:
    """Yield where a module was read from; of a package without a file, its folders."""
    known = getattr(module, "__dict__", {})  # not asked for by name: a lazy module would import something
    file = known.get("__file__")
    if isinstance(file, str):
        # Modules that a library makes as it runs, as torch.ops, may name a file that is nowhere.
        if os.path.isabs(file) or getattr(known.get("__spec__"), "has_location", False):
            yield os.path.normcase(os.path.abspath(file))
    elif "__path__" in known and known.get("__spec__") is not None:
        try:
            yield from (os.path.normcase(os.path.join(os.path.abspath(str(folder)), "")) for folder in known["__path__"])
        except (TypeError, KeyError, AttributeError):  # of a namespace whose parent is gone
            return
