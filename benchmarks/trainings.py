"""Helpers shared by the training benchmarks."""

from __future__ import annotations

import importlib.util
import json
import platform
import re
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parents[1]


def load_solution(assignment: str) -> Any:
    """Return the solution of an assignment as a module of its own, in which things may be replaced."""
    path = ROOT / "solutions" / assignment / "submitted.py"
    spec = importlib.util.spec_from_file_location(f"{assignment}_solution", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def machine() -> dict[str, str]:
    """Return what the figures of a run depend on."""
    return {"python": platform.python_version(), "torch": torch.__version__, "system": platform.platform()}


def save(result: dict[str, Any], path: Path) -> None:
    """Write JSON with every list of numbers on one line."""
    text = json.dumps(result, indent=1, ensure_ascii=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = re.sub(r"\[\s+([^][{}]*?)\s+\]", lambda found: f"[{' '.join(found[1].split())}]", text)
    path.write_text(text + "\n", encoding="utf-8")
