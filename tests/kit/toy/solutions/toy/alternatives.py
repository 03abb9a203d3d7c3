from dataclasses import dataclass
from functools import reduce

from grader.proof.catalogue import altered, alternative


@dataclass
class Sum:
    value: float = 0.0

    def add(self, other):
        return Sum(self.value + other)


@alternative("total")
def total_by_reducing(values):
    return reduce(Sum.add, values, Sum()).value


spread_by_sorting = altered("spread", {"(max(values) - min(values))": "(sorted(values)[-1] - sorted(values)[0])"})
