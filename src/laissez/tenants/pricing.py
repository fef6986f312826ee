"""The price of a node, from the hooks: what it is worth to ask for one (`grow_price`) and to keep
one (`keep_price`), in dollars per hour.

Both start from the money that the node's utility is worth, which is only what lies within the gap:
beyond its objective an application needs nothing. Progress is different, because it can be stored:
what is done today need not be done tomorrow. A node that is there already, and of which any part is
needed, is worth keeping for all that it does; else a job whose only node is faster than it has to
be would stop and start again all the time, and pay a cold start for each. And work beyond what is
required now is worth part of its value: a job takes what nobody needs while it is cheap, and lets
go of it first.

Growing costs a reconfiguration. The new node is of no use before its cold start is over. An
application that restarts stands still meanwhile; it restarts now and does the work since its
checkpoint again, or it waits for the next checkpoint with the new node idle, whichever wastes less.
That waste is paid once and the node pays it back over the time it is kept, so the price of growing
is lower than what the node is worth.

Losing a node costs a reconfiguration too, so the price of keeping is higher. A cold start elsewhere
is paid whenever the node goes, and is spread over the time it is kept. The work since the last
checkpoint is lost only if the node goes now: at the next checkpoint it can go for nothing. Paying
`p` more per hour until then costs `p x until`; losing the work costs `since x value`; so the two
are equal at `p = value x since / until`. The limit therefore climbs as unsaved work grows and its
rescue nears, in steps, and falls to the node's own worth the moment a checkpoint is taken.

The difference between the two is what keeps an application from moving back and forth.
"""

from __future__ import annotations

import math
from typing import Final

from laissez.tenants.hooks import Application, HookError, Leaves
from laissez.tenants.paths import without

# times its worth that a node is kept for, beside it, for the work that is not saved
URGES: Final = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
# A checkpoint is never counted as nearer than this: a limit stands until the next decision, and
# must not cost more than it saves till then.
SOON_S: Final = 60.0
NUMBER: Final = (int, float)
AHEAD: Final = 0.5  # of its value: what progress is worth that is not required yet


class Moment:
    """An application at one instant. What is the same whatever it holds is asked for once, and so
    is each set of nodes that it might hold."""

    __slots__ = (
        "_situations",
        "app",
        "hold_s",
        "is_storable",
        "now",
        "since_s",
        "until_s",
        "urge",
        "value",
    )

    def __init__(self, app: Application, now: int) -> None:
        self.app, self.now, self.is_storable = app, now, app.is_storable
        self.value = _value(app, now)
        self.hold_s = _hold(app, now)
        self.since_s = _duration("since_checkpoint_s", app.since_checkpoint_s(now))
        self.until_s = _until(app, now)
        self.urge = _urge(self.since_s / min(self.until_s, self.hold_s))
        self._situations: dict[Leaves, Situation] = {}

    def holding(self, held: Leaves) -> Situation:
        found = self._situations.get(held)
        if found is None:
            found = self._situations[held] = Situation(self, held)
        return found


class Situation:
    """An application that holds `held` at one instant."""

    __slots__ = ("app", "gap", "held", "moment", "now", "value")

    def __init__(self, moment: Moment, held: Leaves) -> None:
        self.moment, self.held = moment, held
        self.app, self.now, self.value = moment.app, moment.now, moment.value
        self.gap = finite("utility_gap", self.app.utility_gap(held, self.now))

    def grow(self, node: str) -> float:
        """What it is worth per hour to add `node`."""
        beside = self._beside(node)
        worth = self._worth_beside(node, beside)
        if worth <= 0:
            return 0.0
        if self.app.is_redundant(node, beside, self.now):
            return worth
        stake, moment = self._stake(node), self.moment
        redone = min(stake * moment.since_s, worth * moment.until_s)
        wasted = (worth if worth >= stake else stake) * self._cold(node) + redone
        return max(0.0, worth - wasted / moment.hold_s)

    def keep(self, node: str) -> float:
        """What it is worth per hour not to lose `node`, one of those held, now: the retention
        limit."""
        taken = self._marginal(node, self.held)
        worth = self._keep_worth(taken)
        if self.app.is_redundant(node, self.held, self.now):
            return worth
        stake, moment = self._stake(node), self.moment
        # until the checkpoint, all nodes pay for the pressure on one: together they save what is at
        # stake once
        share = stake / len(self.held)
        unsaved = max(self.value * taken, share) * moment.urge
        return worth + unsaved + max(worth, stake) * self._cold(node) / moment.hold_s

    def cost_of_leaving(self, node: str, for_node: str, charged: float) -> float:
        """What it costs, per hour that the new one is kept, to exchange `node`, which is charged
        `charged`, for another."""
        taken, stake, moment = self._marginal(node, self.held), self._stake(node), self.moment
        redone = min(max(self.value * taken, stake) * moment.since_s, charged * moment.until_s)
        return (max(self._keep_worth(taken), stake) * self._cold(for_node) + redone) / moment.hold_s

    def grow_worth(self, node: str) -> float:
        """The money that `node` would add per hour, reconfiguration aside."""
        return self._worth_beside(node, self._beside(node))

    def _worth_beside(self, node: str, beside: Leaves) -> float:
        added, gap = self._marginal(node, beside), self.gap
        after = gap - added
        needed = (gap if gap > 0 else 0.0) - (after if after > 0 else 0.0)
        return self.value * (
            needed + AHEAD * (added - needed) if self.moment.is_storable else needed
        )

    def without(self, node: str) -> Situation:
        """The same, when one `node` is gone."""
        return self.moment.holding(without(self.held, node))

    def _keep_worth(self, taken: float) -> float:
        """The money that is lost per hour without a node that takes so much along, reconfiguration
        aside."""
        if self.moment.is_storable:
            return self.value * (taken if self.gap + taken > 0 else AHEAD * taken)
        return self.value * (max(0.0, self.gap + taken) - max(0.0, self.gap))

    def _stake(self, node: str) -> float:
        """The money per hour that the rest of the application does not earn while `node` comes or
        goes: nothing, unless it restarts."""
        stake = self.app.at_stake(node, self.held, self.now)
        return 0.0 if stake is None or finite("at_stake", stake) <= 0 else self.value * stake

    def _beside(self, node: str) -> Leaves:
        """What is held when one more `node` is asked about. A scope may stand for a node among them
        already: then it is the last of them."""
        return (*self.held, node) if node in self.held else self.held

    def _marginal(self, node: str, held: Leaves) -> float:
        return finite("marginal_utility", self.app.marginal_utility(node, held, self.now), node)

    def _cold(self, node: str) -> float:
        return _duration("cold_start_s", self.app.cold_start_s(node))


def grow_price(app: Application, node: str, held: Leaves, now: int) -> float:
    """What it is worth per hour to add `node` to `held`."""
    return Moment(app, now).holding(held).grow(node)


def keep_price(app: Application, node: str, held: Leaves, now: int) -> float:
    """What it is worth per hour not to lose `node`, one of `held`."""
    return Moment(app, now).holding(held).keep(node)


def move_price(
    app: Application, node: str, held: Leaves, leaving: str, charged: float, now: int
) -> float:
    """The price at which `node` in place of `leaving`, which costs `charged`, is worth just what it
    costs to move."""
    here = Moment(app, now).holding(held)
    return moved(here, here.without(leaving), node, leaving, charged)


def moved(here: Situation, rest: Situation, node: str, leaving: str, charged: float) -> float:
    """The same, given what there is with and without the node that would be left."""
    gained = rest.grow_worth(node) - rest.grow_worth(leaving)
    return charged + gained - here.cost_of_leaving(leaving, node, charged)


def _urge(ratio: float) -> float:
    """How much more is paid for unsaved work, in steps: a limit that crept up with every second
    would have to be set anew every few of them.

    There is a last step: work whose checkpoint is long overdue may never be saved.
    """
    return max((step for step in URGES if step <= ratio), default=0.0)


def finite(hook: str, number: float, node: str | None = None) -> float:
    """`number`, which `hook` gave, about `node` if there is one."""
    if not isinstance(number, NUMBER) or not -math.inf < number < math.inf:
        raise HookError(
            f"expected {hook}{'' if node is None else f' of {node}'} to give a finite number, found"
            f" {number!r}"
        )
    return number


def _value(app: Application, now: int) -> float:
    value = finite("value_per_utility", app.value_per_utility(now))
    if value < 0:
        raise HookError(
            f"expected value_per_utility to give dollars per hour from 0 on, found {value}"
        )
    return value


def _duration(hook: str, seconds: float) -> float:
    if not isinstance(seconds, NUMBER) or not 0 <= seconds < math.inf:
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
