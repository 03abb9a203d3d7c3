"""Load files that belong to no package as modules that no other test finds."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[2]


def load(path: str | Path, name: str = "loaded") -> ModuleType:
    """Return a file as a module. path: from the repository's root."""
    spec = importlib.util.spec_from_file_location(name, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, name, module)  # where dataclasses look
        spec.loader.exec_module(module)
    return module


def load_given(assignment: str, *names: str) -> SimpleNamespace:
    """Return files that students of an assignment are given."""
    with _importable(assignment):
        return SimpleNamespace(**{name: importlib.import_module(name) for name in names})


def load_with_solution(assignment: str, *names: str) -> SimpleNamespace:
    """Return the solution of an assignment as `solution`, and the very files that it imports, if they are among these."""
    with _importable(assignment):
        solution = load(f"solutions/{assignment}/submitted.py", f"{assignment}_solution")
        return SimpleNamespace(solution=solution, **{name: importlib.import_module(name) for name in names})


@contextlib.contextmanager
def _importable(assignment: str) -> Iterator[None]:
    """Let given files be imported by their bare names, as they import each other; neither path nor names are left behind."""
    folder = ROOT / "assignments" / assignment
    given = [path.stem for path in folder.glob("*.py")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(folder), *sys.path])
        for name in given:
            patch.delitem(sys.modules, name, raising=False)
        yield
        for name in given:
            sys.modules.pop(name, None)
