"""Seeding, plots of a running training, and animations of episodes. Provided; do not change it."""

from __future__ import annotations

import io
import random
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

SHARE = 0.05  # the share of the training time that plotting may take
POINTS = 300  # of a curve; more would not be visible


def seed_everything(seed: int, env: Any = None) -> None:
    """Seed Python, NumPy, torch and the environment.

    This resets the environment with the seed, so the following episodes are reproducible. It does
    not seed a generator from `np.random.default_rng`: pass a seed where you create one.
    """
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    if env is not None:
        env.reset(seed=seed)
        env.action_space.seed(seed)


class LivePlot:
    """Show scores and losses during a training: a picture in a notebook, a line of text elsewhere.

    Call it as often as you like: it draws only while drawing has taken less than 5 % of the time.
    `finish` draws the last call's curves if that one was skipped.
    """

    def __init__(self) -> None:
        self._begin = time.perf_counter()
        self._spent = 0.0
        self._handle: Any = None
        self._skipped: tuple[int, Sequence[float], Sequence[float], Sequence[float]] | None = None

    def __call__(
        self, frame: int, scores: Sequence[float], actor_losses: Sequence[float], critic_losses: Sequence[float]
    ) -> None:
        """Show the scores of all episodes and the losses of all updates after `frame` steps."""
        self._skipped = (frame, scores, actor_losses, critic_losses)
        if self._spent <= SHARE * (time.perf_counter() - self._begin):
            self.finish()

    def finish(self) -> None:
        """Show what the last call was given, unless it is shown already."""
        if self._skipped is None:
            return
        begin = time.perf_counter()
        frame, scores, actor_losses, critic_losses = self._skipped
        self._skipped = None
        latest = f"step {frame}, mean of the last 10 scores {np.mean(scores[-10:]):.1f}" if len(scores) else f"step {frame}"
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
    """Return whether the code runs in the kernel of a notebook."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell is not None and hasattr(shell, "kernel")


def draw_training(title: str, scores: Sequence[float], actor_losses: Sequence[float], critic_losses: Sequence[float]) -> bytes:
    """Return a PNG with curves of the scores and of both losses, thinned if they are long."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 2.6), dpi=72, layout="constrained")
    named = (("score of an episode", scores), ("actor loss", actor_losses), ("critic loss", critic_losses))
    for axes, (name, values) in zip(figure.subplots(1, 3), named, strict=True):
        places, means = thinned(values)
        axes.plot(places, means, lw=1, marker="." if len(places) < 20 else "")  # a single value has no line
        axes.set_title(name, fontsize=10)
        axes.set_xlabel("episode" if values is scores else "update", fontsize=9)
        axes.grid(alpha=0.3)
    figure.suptitle(title, fontsize=10)
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    return picture.getvalue()


def thinned(values: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Split the values into at most 300 equal parts; return (ends, means) of the parts."""
    numbers = np.asarray(values, dtype=np.float64)
    if not len(numbers):
        return numbers, numbers
    ends = np.linspace(0, len(numbers), min(POINTS, len(numbers)) + 1).astype(int)
    return ends[1:], np.add.reduceat(numbers, ends[:-1]) / np.diff(ends)


def animation(frames: Sequence[np.ndarray], fps: int = 30, width: int = 240) -> Any:
    """Return an `IPython.display.Image` with the frames as an animated GIF; `data` holds its bytes.

    Args:
        frames: uint8 `[height, width, 3]` each, as returned by `env.render()`.
        fps: Frames per second.
        width: The width of the animation in pixels.

    Raises:
        ValueError: If there are no frames.
    """
    from IPython.display import Image as Shown
    from PIL import Image

    if not len(frames):
        raise ValueError("there are no frames to show")
    height = round(frames[0].shape[0] * width / frames[0].shape[1])
    pictures = [Image.fromarray(frame).resize((width, height)) for frame in frames]
    # One palette for all frames: separate palettes would flicker and take more time.
    palette = pictures[0].quantize(64)
    few = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    file = io.BytesIO()
    few[0].save(file, format="GIF", save_all=True, append_images=few[1:], duration=round(1000 / fps), loop=0)
    return Shown(data=file.getvalue(), format="gif")
