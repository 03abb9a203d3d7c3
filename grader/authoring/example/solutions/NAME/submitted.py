"""TITLE: the file that you submit.

Fill in every place marked YOUR CODE HERE, and run `python grade.py` as often as you like. Keep names, arguments and return
values as they are; you may add helper functions and imports.
"""

import numpy as np


def get_moving_average(values: np.ndarray, keep: float = 0.9) -> np.ndarray:
    """Return the exponential moving average after each value, m_t = keep · m_{t-1} + (1 - keep) · x_t, float64 `[T]`.

    Args:
        values: float64 `[T]`; x_1 to x_T, at least one. Do not modify it.
        keep: The weight of the previous average, from 0 to 1.

    The average starts with the first value, m_1 = x_1. (It smooths a noisy curve of rewards. Adam uses such averages of
    gradients, but starts them at 0.)
    """
    # BEGIN SOLUTION get_moving_average
    averages = np.empty(len(values))
    average = values[0]
    for index, value in enumerate(values):
        average = keep * average + (1 - keep) * value
        averages[index] = average
    return averages
    # END SOLUTION
