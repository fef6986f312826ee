"""The price of a node, from the hooks: what it is worth to ask for one (`grow_price`) and to keep one (`keep_price`), in dollars per hour.

Both start from the money that the node's utility is worth, which is only what lies within the gap: beyond its objective an application needs
nothing. Progress is different, because it can be stored: what is done today need not be done tomorrow. A node that is there already, and of which any
part is needed, is worth keeping for all that it does; else a job whose only node is faster than it has to be would stop and start again all the time,
and pay a cold start for each. And work beyond what is required now is worth part of its value: a job takes what nobody needs while it is cheap, and
lets go of it first.

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
AHEAD: Final = 0.5  # of its value: what progress is worth that is not required yet


class Situation:
    """An application that holds `held` at one instant. What all its nodes have in common is asked for once."""

    __slots__ = ("app", "gap", "held", "hold_s", "now", "since_s", "until_s", "value")

    def __init__(self, app: Application, held: Leaves, now: int) -> None:
        self.app, self.held, self.now = app, held, now
        self.gap = finite("utility_gap", app.utility_gap(held, now))
        self.value = _value(app, now)
        self.hold_s = _hold(app, now)
        self.since_s = _duration("since_checkpoint_s", app.since_checkpoint_s(now))
        self.until_s = _until(app, now)

    def grow(self, node: str) -> float:
        """What it is worth per hour to add `node`."""
        worth = self.grow_worth(node)
        if worth <= 0 or self.app.is_redundant(node, self._beside(node), self.now):
            return max(0.0, worth)
        stake = self._stake(node)
        redone = min(stake * self.since_s, worth * self.until_s)
        wasted = max(worth, stake) * self._cold(node) + redone
        return max(0.0, worth - wasted / self.hold_s)

    def keep(self, node: str) -> float:
        """What it is worth per hour not to lose `node`, one of those held, now: the retention limit."""
        taken = self._marginal(node, self.held)
        worth = self._keep_worth(taken)
        if self.app.is_redundant(node, self.held, self.now):
            return worth
        stake = self._stake(node)
        share = stake / len(self.held)  # until the checkpoint, all nodes pay for the pressure on one: together they save what is at stake once
        unsaved = max(self.value * taken, share) * _urge(self.since_s / min(self.until_s, self.hold_s))
        return worth + unsaved + max(worth, stake) * self._cold(node) / self.hold_s

    def cost_of_leaving(self, node: str, for_node: str, charged: float) -> float:
        """What it costs, per hour that the new one is kept, to exchange `node`, which is charged `charged`, for another."""
        taken, stake = self._marginal(node, self.held), self._stake(node)
        redone = min(max(self.value * taken, stake) * self.since_s, charged * self.until_s)
        return (max(self._keep_worth(taken), stake) * self._cold(for_node) + redone) / self.hold_s

    def grow_worth(self, node: str) -> float:
        """The money that `node` would add per hour, reconfiguration aside."""
        added = self._marginal(node, self._beside(node))
        needed = max(0.0, self.gap) - max(0.0, self.gap - added)
        return self.value * (needed + AHEAD * (added - needed) if self.app.is_storable else needed)

    def _keep_worth(self, taken: float) -> float:
        """The money that is lost per hour without a node that takes so much along, reconfiguration aside."""
        if self.app.is_storable:
            return self.value * (taken if self.gap + taken > 0 else AHEAD * taken)
        return self.value * (max(0.0, self.gap + taken) - max(0.0, self.gap))

    def _stake(self, node: str) -> float:
        """The money per hour that the rest of the application does not earn while `node` comes or goes: nothing, unless it restarts."""
        stake = self.app.at_stake(node, self.held, self.now)
        return 0.0 if stake is None else self.value * max(0.0, finite("at_stake", stake))

    def _beside(self, node: str) -> Leaves:
        """What is held when one more `node` is asked about. A scope may stand for a node among them already: then it is the last of them."""
        return (*self.held, node) if node in self.held else self.held

    def _marginal(self, node: str, held: Leaves) -> float:
        return finite(f"marginal_utility of {node}", self.app.marginal_utility(node, held, self.now))

    def _cold(self, node: str) -> float:
        return _duration("cold_start_s", self.app.cold_start_s(node))


def grow_price(app: Application, node: str, held: Leaves, now: int) -> float:
    """What it is worth per hour to add `node` to `held`."""
    return Situation(app, held, now).grow(node)


def keep_price(app: Application, node: str, held: Leaves, now: int) -> float:
    """What it is worth per hour not to lose `node`, one of `held`."""
    return Situation(app, held, now).keep(node)


def move_price(app: Application, node: str, held: Leaves, leaving: str, charged: float, now: int) -> float:
    """The price at which `node` in place of `leaving`, which costs `charged`, is worth just what it costs to move."""
    return moved(Situation(app, held, now), Situation(app, without(held, leaving), now), node, leaving, charged)


def moved(here: Situation, rest: Situation, node: str, leaving: str, charged: float) -> float:
    """The same, given what there is with and without the node that would be left."""
    gained = rest.grow_worth(node) - rest.grow_worth(leaving)
    return charged + gained - here.cost_of_leaving(leaving, node, charged)


def _urge(ratio: float) -> float:
    """How much more is paid for unsaved work, in steps: a limit that crept up with every second would have to be set anew every few of them.

    There is a last step: work whose checkpoint is long overdue may never be saved.
    """
    return max((step for step in URGES if step <= ratio), default=0.0)


def finite(hook: str, number: float) -> float:
    if not isinstance(number, int | float) or not math.isfinite(number):
        raise HookError(f"expected {hook} to give a finite number, found {number!r}")
    return number


def _value(app: Application, now: int) -> float:
    value = finite("value_per_utility", app.value_per_utility(now))
    if value < 0:
        raise HookError(f"expected value_per_utility to give dollars per hour from 0 on, found {value}")
    return value


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
