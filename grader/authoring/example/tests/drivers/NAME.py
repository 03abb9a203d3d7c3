"""Drivers of `NAME`: they call your functions on plain data and report plain facts. They judge nothing.

You may read them to see how your functions are called.
"""

# For authors: these run beside the student's code. `submitted` is the student's module, the rest is what a case holds. Return
# arrays, tensors, numbers, strings, lists and dictionaries of these, and everything that could be wrong: also what must not
# change. Nothing here may know an expected value, or solve another question; students read this file.


def averages(submitted, values, **options):
    result = submitted.get_moving_average(values, **options)
    return {"averages": result, "values afterwards": values}
