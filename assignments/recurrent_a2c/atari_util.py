"""Atari games with small gray observations. Provided; do not change this file."""

from collections import deque
from collections.abc import Callable

import gymnasium as gym
import numpy as np

# Practical RL uses KungFuMasterDeterministic-v0, which no longer exists. This game has the same settings:
# an action lasts four frames, and in each frame, with probability 1/4, the previous action continues
# ("sticky actions").
GAME = "ALE/KungFuMaster-v5"


class PreprocessAtari(gym.ObservationWrapper):
    """An Atari game whose observations are cropped, shrunk, and scaled to [0, 1].

    Args:
        env: A game with observations uint8 `[rows, columns]` or `[rows, columns, 3]`.
        height, width: Size of the agent's observations.
        color: True for three channels, False for one.
        crop: Returns the relevant part of a frame.
        n_frames: Number of latest frames in an observation. After a reset, the missing frames are
            black.

    Observations are float32 `[channels, height, width]`, with the latest frame first. Each pixel is
    the mean of the area that it covers.
    """

    def __init__(
        self,
        env: gym.Env,
        height: int = 42,
        width: int = 42,
        color: bool = False,
        crop: Callable[[np.ndarray], np.ndarray] = lambda frame: frame,
        n_frames: int = 4,
    ) -> None:
        super().__init__(env)
        self.size = (width, height)
        self.color = color
        self.crop = crop
        black = np.zeros((3 if color else 1, height, width), np.float32)
        self.black = [black] * n_frames
        self.frames = deque(self.black, maxlen=n_frames)
        self.observation_space = gym.spaces.Box(0.0, 1.0, (len(black) * n_frames, height, width), np.float32)

    def reset(self, **kwargs) -> tuple[np.ndarray, dict]:
        """Return (first observation, info)."""
        self.frames.extend(self.black)
        return super().reset(**kwargs)

    def observation(self, frame: np.ndarray) -> np.ndarray:
        """Return the observation with this frame as the latest."""
        import cv2  # imported here, like ale_py below, so that everything else works without it

        frame = self.crop(frame)
        if frame.ndim == 3 and not self.color:
            frame = cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY)  # the emulator's own weights for gray
        small = cv2.resize(frame, self.size, interpolation=cv2.INTER_AREA)
        small = np.moveaxis(small, -1, 0) if self.color else small[None]
        self.frames.appendleft(small.astype(np.float32) / np.float32(255))
        return np.concatenate(self.frames) if len(self.frames) > 1 else self.frames[0]


def make_env(render_mode: str | None = None) -> gym.Env:
    """Return a game of KungFuMaster with observations float32 `[1, 42, 42]` and 14 actions.

    Args:
        render_mode: Use "rgb_array" if `render()` should return frames, `[210, 160, 3]`, for a
            recording.

    Requires ale-py, which contains the game. The observation leaves out the scores at the top, the
    lives at the bottom, and the left margin.
    """
    import ale_py

    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)  # no greeting from every game
    gym.register_envs(ale_py)
    env = gym.make(GAME, obs_type="grayscale", render_mode=render_mode, disable_env_checker=True)
    return PreprocessAtari(env, height=42, width=42, crop=lambda frame: frame[60:-30, 15:], color=False, n_frames=1)
