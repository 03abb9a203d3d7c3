"""Atari games as an agent sees them: small and grey. Given; do not change it."""

from collections import deque
from collections.abc import Callable

import gymnasium as gym
import numpy as np

# KungFuMasterDeterministic-v0 of the course text is gone. This one has its settings: an action lasts four frames, and with a
# probability of a quarter the last one is repeated instead.
GAME = "ALE/KungFuMaster-v5"


class PreprocessAtari(gym.ObservationWrapper):
    """An Atari game whose observations are cropped, shrunk, and scaled to [0, 1].

    Args:
        env: Observations are uint8 `[rows, columns]` or `[rows, columns, 3]`.
        height, width: The size of the agent's observations.
        color: Three channels instead of one.
        crop: Returns the part of a frame that matters.
        n_frames: How many of the latest frames are put together; after a reset the others are
            black.

    Observations are float32 `[channels, height, width]`, the latest frame first. Each pixel is the
    mean of what it covers.
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
        """Return the first observation, and info."""
        self.frames.extend(self.black)
        return super().reset(**kwargs)

    def observation(self, frame: np.ndarray) -> np.ndarray:
        """Return the observation with this frame as its latest."""
        import cv2  # here, as ale_py below, so that everything else works without it

        frame = self.crop(frame)
        if frame.ndim == 3 and not self.color:
            frame = cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY)  # the weights that the emulator itself has for grey
        small = cv2.resize(frame, self.size, interpolation=cv2.INTER_AREA)
        small = np.moveaxis(small, -1, 0) if self.color else small[None]
        self.frames.appendleft(small.astype(np.float32) / np.float32(255))
        return np.concatenate(self.frames) if len(self.frames) > 1 else self.frames[0]


def make_env(render_mode: str | None = None) -> gym.Env:
    """Return one game of KungFuMaster; observations are float32 `[1, 42, 42]`, there are 14 actions.

    Args:
        render_mode: "rgb_array", if `render()` is to return frames, `[210, 160, 3]` (a recording
            needs that).

    Needs ale-py, which brings the game itself. The crop leaves out the scores above, the lives
    below, and the left margin.
    """
    import ale_py

    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)  # no greeting from every game
    gym.register_envs(ale_py)
    env = gym.make(GAME, obs_type="grayscale", render_mode=render_mode, disable_env_checker=True)
    return PreprocessAtari(env, height=42, width=42, crop=lambda frame: frame[60:-30, 15:], color=False, n_frames=1)
