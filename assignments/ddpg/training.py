"""Seeding, and what to watch while an agent trains and plays. Given; do not change it."""

from __future__ import annotations

import io
import random
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

SHARE = 0.05  # of the time of a training that may go into pictures of it
POINTS = 300  # of a curve: more cannot be seen


def seed_everything(seed: int, env: Any = None) -> None:
    """Seed the generators of Python, NumPy and torch, and the first episode of an environment and all that follow from it.

    A generator of its own (`np.random.default_rng`) is not among them: give it a seed where it is made.
    """
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    if env is not None:
        env.reset(seed=seed)
        env.action_space.seed(seed)


class LivePlot:
    """Shows scores and losses while an agent trains: as a picture in a notebook, as a line of text elsewhere.

    It may be called as often as you like: it draws only when all drawing so far took less than 5 % of the time.
    """

    def __init__(self) -> None:
        self._begin = time.perf_counter()
        self._spent = 0.0
        self._handle: Any = None

    def __call__(
        self, frame: int, scores: Sequence[float], actor_losses: Sequence[float], critic_losses: Sequence[float]
    ) -> None:
        """Show how the training stands after `frame` steps: a score for each episode so far, losses for each update."""
        begin = time.perf_counter()
        if self._spent > SHARE * (begin - self._begin):
            return
        latest = f"step {frame}, mean of the latest scores {np.mean(scores[-10:]):.1f}" if len(scores) else f"step {frame}"
        if in_notebook():
            from IPython.display import Image, display

            picture = Image(draw_training(latest, scores, actor_losses, critic_losses))
            if self._handle is None:
                self._handle = display(picture, display_id=True)
            else:
                self._handle.update(picture)
        else:
            print(f"\r{latest}", end="" if sys.stdout.isatty() else "\n", flush=True)
        self._spent += time.perf_counter() - begin


def in_notebook() -> bool:
    """Return whether this runs in a notebook's kernel."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell is not None and hasattr(shell, "kernel")


def draw_training(title: str, scores: Sequence[float], actor_losses: Sequence[float], critic_losses: Sequence[float]) -> bytes:
    """Return a PNG with a curve of the scores and of both losses; long ones as means of equal parts."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 2.6), dpi=72, layout="constrained")
    named = (("score of an episode", scores), ("actor loss", actor_losses), ("critic loss", critic_losses))
    for axes, (name, values) in zip(figure.subplots(1, 3), named, strict=True):
        places, means = thinned(values)
        axes.plot(places, means, lw=1, marker="." if len(places) < 20 else "")  # of one value there is no line
        axes.set_title(name, fontsize=10)
        axes.set_xlabel("episode" if values is scores else "update", fontsize=9)
        axes.grid(alpha=0.3)
    figure.suptitle(title, fontsize=10)
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    return picture.getvalue()


def thinned(values: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Return (places, means) of at most 300 equal parts of the values."""
    numbers = np.asarray(values, dtype=np.float64)
    if not len(numbers):
        return numbers, numbers
    ends = np.linspace(0, len(numbers), min(POINTS, len(numbers)) + 1).astype(int)
    return ends[1:], np.add.reduceat(numbers, ends[:-1]) / np.diff(ends)


def animation(frames: Sequence[np.ndarray], fps: int = 30, width: int = 240) -> Any:
    """Return frames as an animated GIF that a notebook shows: an `IPython.display.Image`, whose `data` are the file's bytes.

    Args:
        frames: uint8 `[height, width, 3]` each, as `env.render()` returns them.

    Raises:
        ValueError: When there are no frames.
    """
    from IPython.display import Image as Shown
    from PIL import Image

    if not len(frames):
        raise ValueError("there are no frames to show")
    height = round(frames[0].shape[0] * width / frames[0].shape[1])
    pictures = [Image.fromarray(frame).resize((width, height)) for frame in frames]
    # One palette for all: other colours in every frame would flicker, and take more time.
    palette = pictures[0].quantize(64)
    few = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    file = io.BytesIO()
    few[0].save(file, format="GIF", save_all=True, append_images=few[1:], duration=round(1000 / fps), loop=0)
    return Shown(data=file.getvalue(), format="gif")
