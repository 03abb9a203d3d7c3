"""Drivers of test_dialogue.py: games and their players, and what may go wrong between them."""

import os
import time

import numpy as np
from safetensors.numpy import load


def play(submitted, turns, size=8):
    """Ask for twenty actions at a time; one is right where it is what the observation is full of."""
    assert submitted is None
    score = 0
    for turn in range(turns):
        actions = yield np.full((20, size), turn % 7, np.uint8)
        if type(actions) is not np.ndarray or actions.dtype != np.int64 or actions.shape != (20,):
            found = f"{actions.dtype} {list(actions.shape)}" if isinstance(actions, np.ndarray) else type(actions).__name__
            raise ValueError(f"actions must be int64 [20], found {found}")
        score += int((actions == turn % 7).sum())
    return {"score": score, "process": os.getpid(), "user": os.getuid(), "folder": os.getcwd()}


def act(submitted, parameters=None):
    """Answer with what the student's own function makes of the observations."""
    weights = None if parameters is None else load(parameters.tobytes())["weights"]
    observations = yield
    while True:
        observations = yield submitted.act(weights, observations)


def tell(submitted, **values):
    """Say where this process is, and return what is said to that."""
    return {"heard": (yield {"process": os.getpid(), "user": os.getuid(), "folder": os.getcwd(), **values})}


def reach(submitted):
    """Answer with what the student's own function makes of a place."""
    where = yield
    yield submitted.reach(where)


def dawdle(submitted, wait):
    """Let the other side wait."""
    yield 0
    time.sleep(wait)
    return {"waited": wait}


def once(submitted):
    """Fall silent too early, which is a fault of this driver."""
    yield


def strange(submitted):
    """Say what cannot cross."""
    yield lambda: 1
