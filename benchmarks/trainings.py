"""Helpers shared by the training benchmarks."""

from __future__ import annotations

import importlib.util
import json
import platform
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy import stats

ROOT = Path(__file__).resolve().parents[1]
RESAMPLES = 20_000


def load_solution(assignment: str) -> Any:
    """Return the solution of an assignment as a module of its own, in which things may be replaced."""
    path = ROOT / "solutions" / assignment / "submitted.py"
    spec = importlib.util.spec_from_file_location(f"{assignment}_solution", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compare_seeds(ours: Sequence[float], theirs: Sequence[float]) -> dict[str, Any]:
    """Return the interquartile means of two settings over their seeds, and the interval of 95 % of their difference.

    The interval is the percentile bootstrap over seeds, each side drawn by itself: seeds of two libraries have nothing in
    common. (Agarwal et al. 2021, "Deep Reinforcement Learning at the Edge of the Statistical Precipice", whose `rliable` draws
    in the same way.)
    """

    def difference(one: np.ndarray, other: np.ndarray, axis: int = -1) -> np.ndarray:
        trimmed: np.ndarray = stats.trim_mean(one, 0.25, axis=axis) - stats.trim_mean(other, 0.25, axis=axis)
        return trimmed

    both = np.asarray(ours), np.asarray(theirs)
    drawn = stats.bootstrap(both, difference, n_resamples=RESAMPLES, method="percentile", rng=np.random.default_rng(0))
    return {
        "seeds": [len(side) for side in both],
        "interquartile_means": [round(float(stats.trim_mean(side, 0.25)), 1) for side in both],
        "difference": round(float(difference(*both)), 1),
        "interval_95": [round(float(end), 1) for end in drawn.confidence_interval],
    }


def machine() -> dict[str, str]:
    """Return what the figures of a run depend on."""
    return {"python": platform.python_version(), "torch": torch.__version__, "system": platform.platform()}


def save(result: dict[str, Any], path: Path) -> None:
    """Write JSON with every list of numbers on one line."""
    text = json.dumps(result, indent=1, ensure_ascii=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = re.sub(r"\[\s+([^][{}]*?)\s+\]", lambda found: f"[{' '.join(found[1].split())}]", text)
    path.write_text(text + "\n", encoding="utf-8")
