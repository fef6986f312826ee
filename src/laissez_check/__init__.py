"""Checks that do not trust what they check.

For the market: the oracle, random histories, small worlds and invariants, here at the top. They
find out whether `laissez.market` keeps the rules of `docs/market.md`, and make a failure small
enough to read. The oracle is written from that page and shares only the vocabulary with the market:
nothing of it may import the market's workings.

For the service, a folder each: `simulated` worlds on a disk, a network and a clock decided by a
seed; `crashes` of a real server; `damage` to its files; the `wire`; `access`; `bills` worked out
again from the journal. `event_audit` works them out from events alone, `disk` is the one with
faults. Unit tests of single functions do not belong here.
"""

from laissez_check.compare import Difference, Options, first_difference
from laissez_check.histories import History, Step, draw_history
from laissez_check.invariants import violations
from laissez_check.oracle import Oracle
from laissez_check.shrink import report, shrink
from laissez_check.small_worlds import check_small_worlds
from laissez_check.worlds import World

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
