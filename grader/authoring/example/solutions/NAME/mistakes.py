"""Mistakes of `NAME`: what students really get wrong.

Each has a hint, the question that a good tutor would ask. Each must lose points; `verify` reports those that do not. Read your
students' work, and add the mistakes that you find.
"""

import numpy as np

from grader.proof.catalogue import altered, mistake


# A whole function with the solution's parameters; its name is the mistake's id.
@mistake("get_moving_average", hint="What is the average after the first value, when there is none before it?")
def begins_with_zero(values, keep=0.9):
    averages, average = np.empty(len(values)), 0.0
    for index, value in enumerate(values):
        average = keep * average + (1 - keep) * value
        averages[index] = average
    return averages


# If only one line differs: the solution with some text replaced.
weights_exchanged = altered(
    "get_moving_average",
    {"keep * average + (1 - keep) * value": "(1 - keep) * average + keep * value"},
    hint="With keep near 1, does the average follow each new value, or hardly move?",
)

other_default = altered(
    "get_moving_average",
    {"keep: float = 0.9": "keep: float = 0.99"},
    hint="Which default value does keep have in the stub?",
)

overwrites_values = altered(
    "get_moving_average",
    {"averages = np.empty(len(values))": "averages = values"},
    hint="Which array do you write the averages into?",
)
