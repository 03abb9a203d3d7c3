"""Drivers of `NAME`: they call your functions on plain data and return plain facts, without judging them.

You may read them to see how your functions are called.
"""

# For authors: drivers run in the same process as the student's code. `submitted` is the student's module; the other parameters
# are the inputs of a case. Return arrays, tensors, numbers, strings, and lists and dictionaries of these. Return everything
# that could be wrong, including inputs that must not change. A driver must not contain an expected value, or solve another
# question: students read this file.


def averages(submitted, values, **options):
    result = submitted.get_moving_average(values, **options)
    return {"averages": result, "values afterwards": values}
