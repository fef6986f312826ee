"""The market: commands in, events out, and read-only questions.

`apply` is the only way to change anything; `apply_typed` is the same for commands from a typed
decoder. Time passes first: holds that end before the command end at the time at which they are due.
Then the guards decide, and only then does the command take effect, so a refused command changes
nothing. The market has no clock: commands carry the time, which never runs backwards.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop
from typing import Any, Final

from laissez.market import closing, depth, effects, guards, questions, snapshot
from laissez.market.answers import (
    AsksView,
    Bill,
    BookView,
    ControlsView,
    FeeLine,
    FloorView,
    LeaseView,
    LevelsView,
    OrderView,
    PriceSegment,
    RateSegment,
    TenantCounts,
)
from laissez.market.backwards import UNBOUNDED
from laissez.market.clearing import end_holds
from laissez.market.commands import (
    ORDERS_PER_TENANT_MAX,
    TIME_MAX_US,
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
from laissez.market.field_types import is_whole, wrong_field
from laissez.market.forest import Forest
from laissez.market.guards import refuse
from laissez.market.reasons import Reason
from laissez.market.state import State, check_orders_max
from laissez.market.topology import Topology

# Each command's guard and effect. There is no effect where the passing of time is all.
_RULES: Final[
    dict[type, tuple[Callable[[State, Any], Refused | None], Callable[[State, Any], None] | None]]
] = {
    PlaceOrder: (guards.why_not_place, effects.place),
    AmendOrder: (guards.why_not_amend, effects.amend),
    CancelOrder: (guards.why_not_cancel, effects.cancel),
    SetLimit: (guards.why_not_limit, effects.set_limit),
    Relinquish: (guards.why_not_relinquish, effects.relinquish),
    SetFloor: (guards.why_not_floor, effects.set_floor),
    SetControls: (guards.why_not_controls, effects.set_controls),
    TakeOffline: (guards.why_not_offline, effects.take_offline),
    BringOnline: (guards.why_not_online, effects.bring_online),
    AdvanceTime: (guards.never_refused, None),
    CloseBooks: (guards.why_not_close, closing.close_books),
}


class Market:
    """One exchange for the leaves of one forest.

    Numbers from callers are declared as `Any` and checked: declared as `int`, the compiled form
    would raise on a float, and accept a boolean, before they could be refused properly.
    """

    def __init__(
        self,
        topology: Topology,
        orders_per_tenant_max: Any = ORDERS_PER_TENANT_MAX,
        *,
        _restored: State | None = None,
    ) -> None:
        if _restored is None:
            check_orders_max(orders_per_tenant_max)
        self._state = (
            State(Forest(topology), orders_per_tenant_max) if _restored is None else _restored
        )

    # -- change

    def apply(self, command: Command, at: Any) -> list[Event]:
        """Carry out one command at time `at`, in whole microseconds. Returns everything that
        happened; if the command is refused, the last event is a `Refused`."""
        if type(command) not in _RULES:
            raise TypeError(f"expected a command of the market, found {type(command).__name__}")
        state = self._state
        if not is_whole(at):
            return [refuse(state, _sender(command), Reason.MALFORMED, "at")]
        field = wrong_field(command)
        if not field:
            return self.apply_typed(command, at)
        events = _let_pass(state, at) if state.now <= at <= TIME_MAX_US else []
        events.append(refuse(state, _sender(command), Reason.MALFORMED, field))
        return events

    def apply_typed(self, command: Command, at: int) -> list[Event]:
        """The same for a command from a typed decoder: the values of its fields are checked, their
        types are not."""
        why_not, carry_out = _RULES[type(command)]
        state = self._state
        if at < state.now or at > TIME_MAX_US:
            return [_wrong_time(state, command, at)]
        events = _let_pass(state, at)
        refused = why_not(state, command)
        if refused is not None:
            events.append(refused)
        elif carry_out is not None:
            state.revision += 1
            carry_out(state, command)
        return events

    # -- questions

    @property
    def now(self) -> int:
        """The time of the latest command."""
        return self._state.now

    @property
    def topology(self) -> Topology:
        return self._state.forest.topology

    def next_deadline(self) -> int | None:
        """The end of the next hold, which may move the market without a command (M17); `None` if
        nothing is held."""
        holds = self._state.holds
        while holds and holds[0][2].end >= 0:  # ended early
            heappop(holds)
        return holds[0][0] if holds and holds[0][0] <= TIME_MAX_US else None

    def tenants(self) -> tuple[str, ...]:
        """Every tenant that ever placed an order, by first appearance."""
        return tuple(self._state.tenants)

    def owner(self, leaf: str) -> str | None:
        """The owner of a leaf; `None` is the operator (M1)."""
        lease = questions.find_leaf(self._state, leaf).lease
        return None if lease is None else lease.tenant.name

    def is_online(self, leaf: str) -> bool:
        return questions.find_leaf(self._state, leaf).online

    def rate(self, leaf: str) -> int:
        """The rate of a leaf now (M5)."""
        node = questions.find_leaf(self._state, leaf)
        return node.rate(None if node.lease is None else node.lease.tenant)

    def floor(self, node: str) -> int:
        """The highest floor on the path of a node (M4)."""
        return questions.find_node(self._state, node).highest_floor()

    def floors(self) -> tuple[FloorView, ...]:
        """Every node with a floor of its own, in path order."""
        return questions.floors(self._state)

    def controls(self) -> tuple[ControlsView, ...]:
        """Every node with controls of its own, in path order."""
        return questions.controls(self._state)

    def quote(self, tenant: str | None, scope: str) -> int | None:
        """The lowest price that would win a leaf of the scope now, for a tenant or for the operator
        (`None`); `None` if no price would (M11, M12)."""
        return questions.quote(self._state, tenant, scope)

    def standing_rate(self, node: str) -> int:
        """The highest floor or bid on the path of a node."""
        return questions.find_node(self._state, node).rate(None)

    def standing_rates(self, node: str, since: int, segments_max: int) -> tuple[RateSegment, ...]:
        """The history of a node's standing rate since `since`, or as far back as the books and
        `segments_max` allow."""
        return questions.standing_rates(self._state, node, since, segments_max)

    def book(self, node: str, groups_max: int) -> BookView:
        """The settings of a node and the orders on its path, grouped by limit."""
        return depth.book(self._state, node, groups_max)

    def asks(self, first: int, last: int) -> AsksView:
        """The asks of the leaves at these positions of `topology.leaves`, the last not included."""
        return depth.asks(self._state, first, last)

    def levels(self, first: int, last: int) -> LevelsView:
        """Owner, rate, limit and floor of the leaves at these positions of `topology.leaves`, the
        last not included."""
        return depth.levels(self._state, first, last)

    def pricing_domain(self, tenant: str) -> tuple[str, ...]:
        return questions.pricing_domain(self._state, tenant)

    def counts(self, tenant: str) -> TenantCounts:
        """The numbers of orders and leases that a tenant has now, and of all it ever had."""
        return questions.counts(self._state, tenant)

    def orders(self, tenant: str | None = None) -> tuple[OrderView, ...]:
        """Open orders: of one tenant by number, of all by time priority (M10)."""
        return questions.orders(self._state, tenant)

    def order(self, tenant: str, order: int) -> OrderView | None:
        """A tenant's order, if it is open."""
        return questions.order(self._state, tenant, order)

    def lease_won(self, tenant: str, order: int) -> int | None:
        """The lease that a tenant's order won, as long as the books hold it."""
        return questions.lease_won(self._state, tenant, order)

    def leases(self, tenant: str | None = None) -> tuple[LeaseView, ...]:
        """Live leases, of one tenant or of all, by their start."""
        return questions.leases(self._state, tenant)

    def lease(self, tenant: str, lease: int) -> LeaseView | None:
        """A tenant's lease, live or ended, as long as the books hold it."""
        return questions.lease(self._state, tenant, lease)

    def lease_on(self, leaf: str) -> LeaseView | None:
        """The live lease of a leaf, if it has one."""
        lease = questions.find_leaf(self._state, leaf).lease
        return None if lease is None else questions.lease_view(lease)

    def bill(self, tenant: str, since: Any = None, until: Any = None) -> Bill:
        """A tenant's charges for `[since, until)`; by default everything until now (M14)."""
        return questions.bill(self._state, tenant, since, until)

    def bill_lines(self, tenant: str) -> int:
        """The most lines that a bill can have: one per lease and fee on the books."""
        return questions.bill_lines(self._state, tenant)

    def charge(self, tenant: str, lease: int) -> int:
        """The whole charge of a lease until now."""
        return questions.charge(self._state, tenant, lease)

    def settle(self, tenant: str, lease: int) -> None:
        """Compute the charge of a lease until now, so that the next bill need not. This changes no
        answer."""
        questions.settle(self._state, tenant, lease)

    def to_settle(self, tenant: str) -> tuple[int, ...]:
        """The leases whose charge the tenant's next bill must compute: live ones, and those that
        ended since the last bill."""
        return questions.to_settle(self._state, tenant)

    def fees(self, tenant: str) -> tuple[FeeLine, ...]:
        """A tenant's flash fees on the books, each in full (M18)."""
        return questions.fees(self._state, tenant)

    def revenue(self) -> int:
        """The charges of all tenants together (M14)."""
        return questions.revenue(self._state)

    def price_history(
        self, tenant: str, lease: int, segments_max: int = UNBOUNDED
    ) -> tuple[PriceSegment, ...]:
        """The rates that a lease was charged: the newest `segments_max` pieces, or fewer if many
        changes did not show. One piece without a rate stands for all that came before."""
        return questions.price_history(self._state, tenant, lease, segments_max)

    # -- snapshots

    def snapshot(self) -> bytes:
        """The whole state as bytes; equal states give equal bytes."""
        return snapshot.dump(self._state)

    def digest(self) -> str:
        """A fingerprint of the whole state, equal for equal states."""
        return snapshot.fingerprint(self._state)

    @staticmethod
    def restore(data: bytes) -> Market:
        """The market of a snapshot; it continues as if it had never stopped."""
        state = snapshot.load(data)
        return Market(state.forest.topology, _restored=state)


def _let_pass(state: State, at: int) -> list[Event]:
    """Advance time to `at` and end the holds on the way. Returns the list that collects the events
    of the present command."""
    events: list[Event] = []
    state.events = events
    if state.holds:
        end_holds(state, at)
    state.now = at
    return events


def _wrong_time(state: State, command: Command, at: int) -> Refused:
    if at < state.now:
        return refuse(state, _sender(command), Reason.TIME_BACKWARDS, "at", at, state.now)
    return refuse(state, _sender(command), Reason.TIME_OUT_OF_RANGE, "at", at, TIME_MAX_US)


def _sender(command: Any) -> Any:
    """The tenant of a command; commands of the operator have none."""
    return getattr(command, "tenant", None)
