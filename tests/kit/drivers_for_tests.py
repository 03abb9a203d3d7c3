"""Drivers for the tests of the sandbox: they return, or do, what students' functions may."""

import numpy as np
import torch


def echo(submitted, value):
    return value


def run(submitted):
    """Return whatever the submission's `function` returns."""
    return submitted.function()


def environment(submitted):
    import os

    return {"variables": sorted(os.environ), "threads": torch.get_num_threads(), "cwd": os.getcwd()}


def draw(submitted):
    return {"torch": torch.rand(3), "numpy": np.random.rand(3)}


def kinds(submitted):
    return {
        "tensor": torch.arange(6.0).reshape(2, 3).T,
        "scalar tensor": torch.tensor(2.5),
        "array": np.array([True, False]),
        "number": np.float32(0.1),
        "infinite": [float("nan"), float("inf"), -float("inf")],
        "tuple": (1, None, "ä"),
        "empty": torch.zeros(0, 3),
        "nan": torch.tensor([float("nan"), 1.0]),
    }
