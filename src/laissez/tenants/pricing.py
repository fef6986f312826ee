"""The price of a node, from the hooks: what it is worth to ask for one (`grow_price`) and to keep one (`keep_price`), in dollars per hour.

Both start from the money that the node's utility is worth, which is only what lies within the gap: beyond its objective an application needs
nothing. There is one exception. Progress can be stored, and what is done today need not be done tomorrow: a node that is there already, and of
which any part is needed, is worth keeping for all that it does. Else a job whose only node is faster than it has to be would stop and start again
all the time, and pay a cold start for each. It still asks for no more than it needs, so a job with time to spare waits for a good price, and then
stays.

Growing costs a reconfiguration. The new node is of no use before its cold start is over. An application that restarts stands still meanwhile; it
restarts now and does the work since its checkpoint again, or it waits for the next checkpoint with the new node idle, whichever wastes less. That
waste is paid once and the node pays it back over the time it is kept, so the price of growing is lower than what the node is worth.

Losing a node costs a reconfiguration too, so the price of keeping is higher. A cold start elsewhere is paid whenever the node goes, and is spread
over the time it is kept. The work since the last checkpoint is lost only if the node goes now: at the next checkpoint it can go for nothing. Paying
`p` more per hour until then costs `p x until`; losing the work costs `since x value`; so the two are equal at `p = value x since / until`. The
limit therefore climbs as unsaved work grows and its rescue nears, in steps, and falls to the node's own worth the moment a checkpoint is taken.

The difference between the two is what keeps an application from moving back and forth.
"""

from __future__ import annotations

import math
from typing import Final

from laissez.tenants.hooks import Application, HookError, Leaves
from laissez.tenants.paths import without

URGES: Final = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # times its worth that a node is kept for, beside it, for the work that is not saved
# A checkpoint is never counted as nearer than this: a limit stands until the next decision, and must not cost more than it saves till then.
SOON_S: Final = 60.0


def grow_price(app: Application, node: str, held: Leaves, now: int) -> float:
    """What it is worth per hour to add `node` to `held`."""
    worth = grow_worth(app, node, held, now)
    if worth <= 0 or app.is_redundant(node, held, now):
        return max(0.0, worth)
    stake = _stake(app, node, held, now)
    redone = min(stake * _since(app, now), worth * _until(app, now))
    wasted = max(worth, stake) * _cold(app, node) + redone
    return max(0.0, worth - wasted / _hold(app, now))


def keep_price(app: Application, node: str, held: Leaves, now: int) -> float:
    """What it is worth per hour not to lose `node`, one of `held`, now: the retention limit."""
    worth = keep_worth(app, node, held, now)
    if app.is_redundant(node, held, now):
        return worth
    hold = _hold(app, now)
    share = _stake(app, node, held, now) / len(held)  # whoever presses on one usually presses on all: together they pay what is at stake once
    unsaved = max(_value(app, now) * _marginal(app, node, held, now), share)
    return worth + unsaved * _urge(_since(app, now) / min(_until(app, now), hold)) + max(worth, share) * _cold(app, node) / hold


def move_price(app: Application, node: str, held: Leaves, leaving: str, charged: float, now: int) -> float:
    """The price at which `node` in place of `leaving`, which costs `charged`, is worth just what it costs to move."""
    rest = without(held, leaving)
    gained = grow_worth(app, node, rest, now) - grow_worth(app, leaving, rest, now)
    stalled = max(keep_worth(app, leaving, held, now), _stake(app, leaving, held, now))
    unsaved = max(_value(app, now) * _marginal(app, leaving, held, now), _stake(app, leaving, held, now))
    redone = min(unsaved * _since(app, now), charged * _until(app, now))
    return charged + gained - (stalled * _cold(app, node) + redone) / _hold(app, now)


def grow_worth(app: Application, node: str, held: Leaves, now: int) -> float:
    """The money that `node` would add per hour, reconfiguration aside."""
    gap = finite("utility_gap", app.utility_gap(held, now))
    closed = max(0.0, gap) - max(0.0, gap - _marginal(app, node, held, now))
    return _value(app, now) * closed


def keep_worth(app: Application, node: str, held: Leaves, now: int) -> float:
    """The money that is lost per hour without `node`, reconfiguration aside."""
    gap = finite("utility_gap", app.utility_gap(held, now))
    taken = _marginal(app, node, held, now)
    if app.is_storable:
        return _value(app, now) * (taken if gap + taken > 0 else 0.0)
    return _value(app, now) * (max(0.0, gap + taken) - max(0.0, gap))


def _stake(app: Application, node: str, held: Leaves, now: int) -> float:
    """The money per hour that the rest of the application does not earn while `node` comes or goes: nothing, unless it restarts."""
    stake = app.at_stake(node, held, now)
    return 0.0 if stake is None else _value(app, now) * max(0.0, finite("at_stake", stake))


def _urge(ratio: float) -> float:
    """How much more is paid for unsaved work, in steps: a limit that crept up with every second would have to be set anew every few of them.

    There is a last step: work whose checkpoint is long overdue may never be saved.
    """
    return max((step for step in URGES if step <= ratio), default=0.0)


def finite(hook: str, number: float) -> float:
    if not isinstance(number, int | float) or not math.isfinite(number):
        raise HookError(f"expected {hook} to give a finite number, found {number!r}")
    return number


def _marginal(app: Application, node: str, held: Leaves, now: int) -> float:
    return finite(f"marginal_utility of {node}", app.marginal_utility(node, held, now))


def _value(app: Application, now: int) -> float:
    value = finite("value_per_utility", app.value_per_utility(now))
    if value < 0:
        raise HookError(f"expected value_per_utility to give dollars per hour from 0 on, found {value}")
    return value


def _since(app: Application, now: int) -> float:
    return _duration("since_checkpoint_s", app.since_checkpoint_s(now))


def _cold(app: Application, node: str) -> float:
    return _duration("cold_start_s", app.cold_start_s(node))


def _duration(hook: str, seconds: float) -> float:
    if not isinstance(seconds, int | float) or not 0 <= seconds < math.inf:
        raise HookError(f"expected {hook} to give seconds from 0 on, found {seconds!r}")
    return seconds


def _until(app: Application, now: int) -> float:
    """Seconds until the next checkpoint; there may never be one."""
    until = app.until_checkpoint_s(now)
    if not until >= 0:
        raise HookError(f"expected until_checkpoint_s to give seconds from 0 on, found {until}")
    return max(SOON_S, until)


def _hold(app: Application, now: int) -> float:
    hold = app.expected_hold_s(now)
    if not 0 < hold < math.inf:
        raise HookError(f"expected expected_hold_s to give seconds above 0, found {hold}")
    return hold
