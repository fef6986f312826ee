"""The cost of late requests: service credits to the service's own customers, as a share of revenue.

A tenth is paid back if more than one request in a thousand is late, a quarter if more than one in a
hundred is (Microsoft's online-services SLA as the LaissezCloud paper states it). Beyond that, late
requests earn nothing. Between those points the share rises evenly, so that every engine on the way
to an objective is worth something.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Final, TypeAlias

Credits: TypeAlias = Callable[[float], float]  # share of requests late: share of revenue lost

# share of requests late, share of revenue lost
LADDER: Final = ((0.0, 0.0), (0.001, 0.10), (0.01, 0.25), (1.0, 1.0))
LATE_MIN: Final = 1e-9  # less is an error of rounding


def service_credits(late: float) -> float:
    """The share of revenue lost with the share `late` of the requests late: 0 to 1, concave."""
    if late <= LATE_MIN:
        return 0.0
    for (low, lost), (high, lost_then) in pairwise(LADDER):
        if late <= high:
            return lost_then - (lost_then - lost) * (high - late) / (high - low)
    return 1.0


def in_proportion(late: float) -> float:
    """The loss of a service that is paid by the request: late requests earn nothing."""
    return late if late > LATE_MIN else 0.0
