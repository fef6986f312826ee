"""The market: commands in, events out, and read-only questions in between.

`apply` is the only way to change anything. It lets the holds that end on the way end at their own time, asks the guards, and only
then acts; a command that a guard stops changes nothing. The market has no clock: time is what the commands say it is, and it
never runs backwards.
"""

from __future__ import annotations

from heapq import heappop
from typing import Any

from laissez.market import effects, guards, questions, snapshot
from laissez.market.answers import Bill, LeaseView, OrderView, PriceSegment
from laissez.market.clearing import end_holds, floor_of, rate_of
from laissez.market.commands import (
    ORDERS_PER_TENANT_MAX,
    AdvanceTime,
    AmendOrder,
    BringOnline,
    CancelOrder,
    CloseBooks,
    Command,
    PlaceOrder,
    Relinquish,
    SetControls,
    SetFloor,
    SetLimit,
    TakeOffline,
)
from laissez.market.events import Event, Refused
from laissez.market.forest import Forest
from laissez.market.reasons import Reason
from laissez.market.state import State
from laissez.market.topology import Topology


class Market:
    """One exchange for the leaves of one forest."""

    def __init__(self, topology: Topology, orders_per_tenant_max: int = ORDERS_PER_TENANT_MAX) -> None:
        self._state = State(Forest(topology), orders_per_tenant_max)

    # -- change

    def apply(self, command: Command, at: int) -> list[Event]:
        """Carry out one command at time `at` and say everything that happened; a single `Refused` if it may not be."""
        state = self._state
        refused = self._why_not_now(command, at)
        if refused is not None:
            return [refused]
        events: list[Event] = []
        state.events = events
        if state.holds:
            end_holds(state, at)
        state.now = at
        refused = self._carry_out(command)
        if refused is not None:
            events.append(refused)
        state.events = []
        return events

    def _why_not_now(self, command: Command, at: Any) -> Refused | None:
        """Guards that come before time moves."""
        state = self._state
        if type(at) is not int:
            return Refused(state.now, _sender(command), Reason.MALFORMED, "at", None, None)
        if at >= state.now:
            return None
        field = guards.misshapen(command)
        if field:
            return Refused(state.now, _sender(command), Reason.MALFORMED, field, None, None)
        return Refused(state.now, _sender(command), Reason.TIME_BACKWARDS, "at", at, state.now)

    def _carry_out(self, command: Command) -> Refused | None:
        state = self._state
        field = guards.misshapen(command)
        if field:
            return Refused(state.now, _sender(command), Reason.MALFORMED, field, None, None)
        if isinstance(command, AdvanceTime):
            return None
        refused = self._why_not(command)
        if refused is not None:
            return refused
        state.revision += 1
        if isinstance(command, PlaceOrder):
            effects.place(state, command)
        elif isinstance(command, CancelOrder):
            effects.cancel(state, command)
        elif isinstance(command, AmendOrder):
            effects.amend(state, command)
        elif isinstance(command, SetLimit):
            effects.set_limit(state, command)
        elif isinstance(command, Relinquish):
            effects.relinquish(state, command)
        elif isinstance(command, SetFloor):
            effects.set_floor(state, command)
        elif isinstance(command, SetControls):
            effects.set_controls(state, command)
        elif isinstance(command, TakeOffline):
            effects.take_offline(state, command.leaf)
        elif isinstance(command, BringOnline):
            effects.bring_online(state, command.leaf)
        else:
            effects.close_books(state, command)
        return None

    def _why_not(self, command: Command) -> Refused | None:
        state = self._state
        if isinstance(command, (PlaceOrder, CancelOrder, AmendOrder, SetLimit, Relinquish)):
            refused = guards.why_not_tenant(state, command.tenant)
            if refused is not None:
                return refused
        if isinstance(command, PlaceOrder):
            return guards.why_not_place(state, command)
        if isinstance(command, CancelOrder):
            return guards.why_not_order(state, command.tenant, command.order)
        if isinstance(command, AmendOrder):
            return guards.why_not_amend(state, command)
        if isinstance(command, SetLimit):
            return guards.why_not_limit(state, command)
        if isinstance(command, Relinquish):
            return guards.why_not_lease(state, command.tenant, command.leaf)
        if isinstance(command, SetFloor):
            return guards.why_not_floor(state, command)
        if isinstance(command, SetControls):
            return guards.why_not_controls(state, command)
        if isinstance(command, TakeOffline):
            return guards.why_not_switch(state, command.leaf, False)
        if isinstance(command, BringOnline):
            return guards.why_not_switch(state, command.leaf, True)
        assert isinstance(command, CloseBooks)
        return guards.why_not_close(state, command)

    # -- questions

    @property
    def now(self) -> int:
        """The time of the latest command."""
        return self._state.now

    @property
    def topology(self) -> Topology:
        return self._state.forest.topology

    def next_deadline(self) -> int | None:
        """When the next hold ends and the market may move without a command; `None` if nothing is held (M17)."""
        holds = self._state.holds
        while holds and holds[0][2].end >= 0:  # ended early
            heappop(holds)
        return holds[0][0] if holds else None

    def tenants(self) -> tuple[str, ...]:
        """Every tenant that ever placed an order, by first appearance."""
        return tuple(self._state.tenants)

    def owner(self, leaf: str) -> str | None:
        """Who owns a leaf; `None` is the operator (M1)."""
        lease = questions.find_leaf(self._state, leaf).lease
        return None if lease is None else lease.tenant.name

    def is_online(self, leaf: str) -> bool:
        return questions.find_leaf(self._state, leaf).online

    def rate(self, leaf: str) -> int:
        """What presses on a leaf now (M5)."""
        node = questions.find_leaf(self._state, leaf)
        return rate_of(node, None if node.lease is None else node.lease.tenant)

    def floor(self, node: str) -> int:
        """The highest floor on the path of a node (M4)."""
        return floor_of(questions.find_node(self._state, node))

    def quote(self, tenant: str | None, scope: str) -> int | None:
        """What it takes to open a leaf of the scope now, for a tenant or for the operator (`None`); `None` if no price would (M11, M12)."""
        return questions.quote(self._state, tenant, scope)

    def pricing_domain(self, tenant: str) -> tuple[str, ...]:
        return questions.pricing_domain(self._state, tenant)

    def orders(self, tenant: str | None = None) -> tuple[OrderView, ...]:
        """Open orders by id, of one tenant or of all."""
        return questions.orders(self._state, tenant)

    def leases(self, tenant: str | None = None) -> tuple[LeaseView, ...]:
        """Live leases by id, of one tenant or of all."""
        return questions.leases(self._state, tenant)

    def lease(self, leaf: str) -> LeaseView | None:
        """The live lease of a leaf, if it has one."""
        lease = questions.find_leaf(self._state, leaf).lease
        return None if lease is None else questions.lease_view(lease)

    def bill(self, tenant: str, since: int | None = None, until: int | None = None) -> Bill:
        """What a tenant owes for `[since, until)`; by default for everything until now (M14)."""
        return questions.bill(self._state, tenant, since, until)

    def revenue(self) -> int:
        """What all tenants together owe (M14)."""
        return questions.revenue(self._state)

    def price_history(self, lease: int) -> tuple[PriceSegment, ...]:
        """What a lease was charged, piece by piece."""
        return questions.price_history(self._state, lease)

    # -- the whole of it

    def snapshot(self) -> bytes:
        """The whole state as bytes; equal states give equal bytes."""
        return snapshot.dump(self._state)

    def digest(self) -> str:
        """A fingerprint of the whole state, equal for equal states."""
        return snapshot.fingerprint(self._state)

    @staticmethod
    def restore(data: bytes) -> Market:
        """The market whose snapshot this is; it goes on as if it had never stopped."""
        market = Market.__new__(Market)
        market._state = snapshot.load(data)
        return market


def _sender(command: Any) -> str | None:
    name = getattr(command, "tenant", None)
    return name if type(name) is str else None
