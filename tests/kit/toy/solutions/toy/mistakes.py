import math

from grader.proof.catalogue import altered, mistake


@mistake("total", hint="What is the sum before the first value was added?")
def begins_with_one(values):
    return 1.0 + sum(values)


@mistake("total", hint="Which value does your loop never reach?")
def last_value_left_out(values):
    return sum(values[:-1])


# Only hidden cases have no values, so that the toy has a mistake that a hidden check alone catches.
@mistake("total", hint="What should come back when there is nothing to add?", copies_answers=True)
def nothing_of_nothing(values):
    return sum(values) if values else None


@mistake("total", hint="Do you add, or multiply?", source="own experience", learns=False)
def product(values):
    return math.prod(values)


smallest_forgotten = altered(
    "spread",
    {"(max(values) - min(values))": "max(values)"},
    hint="How far is it from the smallest value to the largest?",
)

scale_ignored = altered("spread", {" * scale": ""}, hint="What is scale for?")


@mistake("spread", hint="What is scale when nobody says?", copies_answers=True)
def other_default(values, scale=2.0):
    return (max(values) - min(values)) * scale
