"""Numbers with their spread: medians of steps and the interval that holds them."""

import math
import statistics
from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    """A value and the interval it may lie in; the interval is the value where it has no spread."""

    value: float
    low: float
    high: float

    def __sub__(self, other):
        return Measured(self.value - other.value, self.low - other.high, self.high - other.low)

    def scaled(self, factor):
        return Measured(self.value * factor, self.low * factor, self.high * factor)

    def below(self, other):
        """Whether it is smaller by more than the spread of both."""
        return self.high < other.low


def exact(value):
    return Measured(value, value, value)


def median(values):
    """The median with its 95 % interval, between two of the sorted values (binomial, so that no
    distribution is assumed). Of fewer than six values the interval is all of them."""
    ordered = sorted(values)
    count = len(ordered)
    if count == 0:
        raise ValueError("no values to take a median of")
    reach = 0.98 * math.sqrt(count)
    low = max(0, math.floor((count - 1) / 2 - reach))
    return Measured(statistics.median(ordered), ordered[low], ordered[count - 1 - low])


def share_saved(slow, fast):
    """What `fast` takes off `slow`, as a part of it."""
    return Measured(1 - fast.value / slow.value, 1 - fast.high / slow.low, 1 - fast.low / slow.high)


def ratio(over, under):
    return Measured(over.value / under.value, over.low / under.high, over.high / under.low)


def in_cycles(values, length):
    """Means of `length` successive values each; a part of a cycle at the end is left out."""
    return [statistics.fmean(values[at:at + length])
            for at in range(0, len(values) - length + 1, length)]
