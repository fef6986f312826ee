"""The prices of a node from the hooks, in dollars per hour: to get one (`grow_price`) and to keep
one (`keep_price`).

Both start from the money that the node's utility is worth. Only utility within the gap counts:
beyond its objective an application needs nothing. Progress is different, because it can be stored:
what is done today need not be done tomorrow. So a node that is already held, and of which any part
is needed, is worth keeping for all that it does; otherwise a job whose only node is faster than
necessary would stop and start all the time, and pay a cold start for each. Work beyond what is
required now is worth part of its value: a job takes idle nodes while they are cheap, and gives them
up first.

Growing costs a reconfiguration. The new node is of no use before its cold start is over. An
application that restarts stands still meanwhile. It restarts now and repeats the work since its
checkpoint, or it waits for the next checkpoint with the new node idle, whichever wastes less. That
waste is paid once and spread over the time the node is kept, so the price of growing is lower than
the worth of the node.

Losing a node costs a reconfiguration too, so the price of keeping is higher. A cold start elsewhere
is paid whenever the node goes, and is spread over the time it is kept. The work since the last
checkpoint is lost only if the node goes now: at the next checkpoint it can go for nothing. Paying
`p` more per hour until then costs `p x until`; losing the work costs `since x value`; so the two
are equal at `p = value x since / until`. The limit therefore climbs in steps as unsaved work grows
and its checkpoint nears, and falls to the node's own worth once a checkpoint is taken.

The price of keeping is never below the price of growing. That difference keeps an application from
moving back and forth.
"""

from __future__ import annotations

import math
from typing import Final

from laissez.tenants.hooks import Application, HookError, Leaves
from laissez.tenants.paths import without

# Unsaved work raises a limit by these multiples of the work's value. A limit that crept up with
# every second would be set anew every few of them; and there is a last step, because work whose
# checkpoint is long overdue may never be saved.
UNSAVED_STEPS: Final = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
# A checkpoint never counts as nearer than this: a limit stands until the next decision, and must
# not cost more than it saves by then.
CHECKPOINT_S_MIN: Final = 60.0
AHEAD: Final = 0.5  # the share of its value that progress is worth before it is required
NUMBER: Final = (int, float)


class Moment:
    """An application at one instant. Asks each hook that does not depend on the nodes once, and
    values each set of nodes once."""

    __slots__ = (
        "_valuations",
        "app",
        "hold_s",
        "is_storable",
        "now",
        "since_s",
        "unsaved_factor",
        "until_s",
        "value",
    )

    def __init__(self, app: Application, now: int) -> None:
        self.app, self.now, self.is_storable = app, now, app.is_storable
        self.value = _not_negative("value_per_utility", app.value_per_utility(now))
        self.hold_s = _not_negative("expected_hold_s", app.expected_hold_s(now))
        if not self.hold_s:
            raise HookError("expected expected_hold_s to give more than 0 seconds, found 0")
        self.since_s = _not_negative("since_checkpoint_s", app.since_checkpoint_s(now))
        until_s = app.until_checkpoint_s(now)
        if until_s != math.inf:  # there may never be a checkpoint
            _not_negative("until_checkpoint_s", until_s)
        self.until_s = max(CHECKPOINT_S_MIN, until_s)
        ratio = self.since_s / min(self.until_s, self.hold_s)
        self.unsaved_factor = max((step for step in UNSAVED_STEPS if step <= ratio), default=0.0)
        self._valuations: dict[Leaves, Valuation] = {}

    def holding(self, held: Leaves) -> Valuation:
        found = self._valuations.get(held)
        if found is None:
            found = self._valuations[held] = Valuation(self, held)
        return found


class Valuation:
    """The worth of nodes to an application that holds `held`, in dollars per hour."""

    __slots__ = ("app", "gap", "held", "moment", "now", "value")

    def __init__(self, moment: Moment, held: Leaves) -> None:
        self.moment, self.held = moment, held
        self.app, self.now, self.value = moment.app, moment.now, moment.value
        self.gap = finite("utility_gap", self.app.utility_gap(held, self.now))

    def without(self, node: str) -> Valuation:
        """The same application without one `node`."""
        return self.moment.holding(without(self.held, node))

    def grow(self, node: str) -> float:
        """The price of adding `node`."""
        beside = self._beside(node)
        worth = self._added_worth(node, beside)
        if worth <= 0:
            return 0.0
        if self.app.is_redundant(node, beside, self.now):
            return worth
        stake, moment = self._stake(node), self.moment
        redone = min(stake * moment.since_s, worth * moment.until_s)
        wasted = (worth if worth >= stake else stake) * self._cold_s(node) + redone
        return max(0.0, worth - wasted / moment.hold_s)

    def keep(self, node: str) -> float:
        """The retention limit of `node`, one of those held."""
        taken = self._marginal(node, self.held)
        worth = self._kept_worth(taken)
        if self.app.is_redundant(node, self.held, self.now):
            return worth
        stake, moment = self._stake(node), self.moment
        # Pressure before a checkpoint usually falls on all nodes at once, so each pays its share:
        # together they save the stake once.
        share = stake / len(self.held)
        unsaved = max(self.value * taken, share) * moment.unsaved_factor
        return worth + unsaved + max(worth, stake) * self._cold_s(node) / moment.hold_s

    def move(self, node: str, leaving: str, charged: float) -> float:
        """The price at which exchanging `leaving`, which is charged `charged`, for `node` gains
        exactly what the move costs."""
        rest = self.without(leaving)
        gained = rest.grow_worth(node) - rest.grow_worth(leaving)
        return charged + gained - self._moving_cost(leaving, node, charged)

    def grow_worth(self, node: str) -> float:
        """The worth of adding `node`, before the costs of a reconfiguration."""
        return self._added_worth(node, self._beside(node))

    def _moving_cost(self, leaving: str, node: str, charged: float) -> float:
        """The cost of a move, spread over the time that the new node is kept."""
        taken, stake, moment = self._marginal(leaving, self.held), self._stake(leaving), self.moment
        redone = min(max(self.value * taken, stake) * moment.since_s, charged * moment.until_s)
        standing_still = max(self._kept_worth(taken), stake) * self._cold_s(node)
        return (standing_still + redone) / moment.hold_s

    def _added_worth(self, node: str, beside: Leaves) -> float:
        added, gap = self._marginal(node, beside), self.gap
        after = gap - added
        needed = (gap if gap > 0 else 0.0) - (after if after > 0 else 0.0)
        return self.value * (
            needed + AHEAD * (added - needed) if self.moment.is_storable else needed
        )

    def _kept_worth(self, taken: float) -> float:
        """The worth of a node whose loss takes `taken` utility, before any cost of a change."""
        if self.moment.is_storable:
            return self.value * (taken if self.gap + taken > 0 else AHEAD * taken)
        return self.value * (max(0.0, self.gap + taken) - max(0.0, self.gap))

    def _stake(self, node: str) -> float:
        """The hourly loss of the other nodes while `node` comes or goes: 0 without a restart."""
        stake = self.app.at_stake(node, self.held, self.now)
        return 0.0 if stake is None or finite("at_stake", stake) <= 0 else self.value * stake

    def _beside(self, node: str) -> Leaves:
        """The nodes held when one more `node` is valued. A scope may stand for one of them already;
        then the new node is the last of them."""
        return (*self.held, node) if node in self.held else self.held

    def _marginal(self, node: str, held: Leaves) -> float:
        return finite("marginal_utility", self.app.marginal_utility(node, held, self.now), node)

    def _cold_s(self, node: str) -> float:
        return _not_negative("cold_start_s", self.app.cold_start_s(node))


def grow_price(app: Application, node: str, held: Leaves, now: int) -> float:
    """Dollars per hour that adding `node` to `held` is worth."""
    return Moment(app, now).holding(held).grow(node)


def keep_price(app: Application, node: str, held: Leaves, now: int) -> float:
    """Dollars per hour that keeping `node`, one of `held`, is worth."""
    return Moment(app, now).holding(held).keep(node)


def move_price(
    app: Application, node: str, held: Leaves, leaving: str, charged: float, now: int
) -> float:
    """The price per hour at which exchanging `leaving`, which is charged `charged`, for `node`
    gains exactly what the move costs."""
    return Moment(app, now).holding(held).move(node, leaving, charged)


def finite(hook: str, number: float, node: str | None = None) -> float:
    if not isinstance(number, NUMBER) or not -math.inf < number < math.inf:
        about = "" if node is None else f" of {node}"
        raise HookError(f"expected {hook}{about} to give a finite number, found {number!r}")
    return number


def _not_negative(hook: str, number: float) -> float:
    if not isinstance(number, NUMBER) or not 0 <= number < math.inf:
        raise HookError(f"expected {hook} to give a number from 0 on, found {number!r}")
    return number
