"""The learning curves of a check: in words, and as a picture for platforms that show pictures."""

# Some functions of matplotlib have no types.
# mypy: allow-untyped-calls

from __future__ import annotations

import base64
import math
import os
from functools import lru_cache
from io import BytesIO

from grader.report.page import SMOOTHED, build_plots, smooth_values

Curves = dict[str, list[float]]


def describe_curves(curves: Curves) -> list[str]:
    """Return a line for each curve: its first and its last average."""
    drawn = build_plots(known) if (known := _finite(curves)) else []
    return [f"{plot.name}: about {plot.first} at the start, {plot.last} at the end" for plot in drawn]


def make_data_uri(curves: Curves) -> str:
    """Return the curves as a PNG in a data URI; nothing without curves, with GRADER_IMAGES=0, or when drawing fails."""
    known = _finite(curves)
    if not known or os.environ.get("GRADER_IMAGES") == "0":
        return ""
    try:
        return _data_uri(tuple((name, tuple(values)) for name, values in known.items()))
    except Exception:  # a picture is optional: whatever fails in matplotlib, the text is there
        return ""


@lru_cache(maxsize=32)  # a report is written after each check, and a picture takes a fifth of a second
def _data_uri(curves: tuple[tuple[str, tuple[float, ...]], ...]) -> str:
    # These imports take most of a second, so only reports with curves pay for them. No pyplot: it would look for a screen.
    import numpy as np
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from PIL import Image  # matplotlib needs it, too

    figure = Figure(figsize=(5.6, 2.6), dpi=80, layout="constrained")
    axes = figure.add_subplot()
    for name, values in curves:
        (line,) = axes.plot(values, linewidth=0.7, alpha=0.35)
        means = smooth_values(list(values), max(len(values) // SMOOTHED, 1))
        marker = "o" if len(means) == 1 else ""
        axes.plot(means, linewidth=1.8, color=line.get_color(), marker=marker, label=name.replace("$", r"\$"))
    axes.tick_params(labelsize=8)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7, frameon=False)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    data = BytesIO()
    # With 128 colors it is a third as large, and fits into a platform's limits.
    Image.fromarray(np.asarray(canvas.buffer_rgba())[:, :, :3]).quantize(128).save(data, format="png", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(data.getvalue()).decode('ascii')}"


def _finite(curves: Curves) -> Curves:
    """Return the curves without NaN and infinity, which neither JSON nor a picture can show."""
    known = {name: [value for value in values if math.isfinite(value)] for name, values in curves.items()}
    return {name: values for name, values in known.items() if values}
