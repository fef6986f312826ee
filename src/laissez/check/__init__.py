"""Checks that do not trust what they check: the oracle, random histories, small worlds and invariants for the market; kills for the service.

Here belongs what finds out whether `laissez.market` keeps the rules of `docs/market.md`, and what makes a failure small enough to read. The oracle
is written from that page and shares only the vocabulary with the market: nothing in this package may import the market's workings, except to build
one to be tested. `crashes` kills the real server and compares all that anyone was told with what it kept; `event_audit` works out the bills again,
from events alone. Unit tests of single functions do not belong here.
"""

from laissez.check.compare import Difference, Options, first_difference
from laissez.check.histories import History, Step, draw_history
from laissez.check.invariants import violations
from laissez.check.oracle import Oracle
from laissez.check.shrink import report, shrink
from laissez.check.small_worlds import check_small_worlds
from laissez.check.worlds import World

__all__ = [
    "Difference",
    "History",
    "Options",
    "Oracle",
    "Step",
    "World",
    "check_small_worlds",
    "draw_history",
    "first_difference",
    "report",
    "shrink",
    "violations",
]
