"""The market: commands in, events out, and read-only questions in between.

`apply` is the only way to change anything, with `apply_typed` as its form for commands that a typed
decoder made. It lets the holds that end on the way end at their own
time, asks the guards, and only then acts; a command that a guard stops changes nothing. The market
has no clock: time is what the commands say it is, and it never runs backwards.
"""

from __future__ import annotations

from heapq import heappop
from typing import Any

from laissez.market import depth, questions, snapshot, standing
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
from laissez.market.commands import ORDERS_PER_TENANT_MAX, TIME_MAX_US, Command
from laissez.market.events import Event, Refused
from laissez.market.forest import Forest
from laissez.market.guards import refuse
from laissez.market.reasons import Reason
from laissez.market.rules import RULES
from laissez.market.shapes import is_whole
from laissez.market.state import State, check_orders_max
from laissez.market.topology import Topology


class Market:
    """One exchange for the leaves of one forest.

    Numbers that come from outside are declared as `Any` and looked at: declared as `int`, the
    compiled form would raise on a float, and take a boolean, before they could be refused in our
    own words.
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
        """Carry out one command at time `at`, a whole number of microseconds, and say everything
        that happened.

        If the command may not be carried out, the last event is a `Refused`.
        """
        rule = RULES.get(type(command))
        if rule is None:
            raise TypeError(f"expected a command of the market, found {type(command).__name__}")
        state = self._state
        if not is_whole(at):
            return [refuse(state, _sender(command), Reason.MALFORMED, "at")]
        field = rule[0](command)
        if not field:
            return self.apply_typed(command, at)
        events = _let_pass(state, at) if state.now <= at <= TIME_MAX_US else []
        events.append(refuse(state, _sender(command), Reason.MALFORMED, field))
        return events

    def apply_typed(self, command: Command, at: int) -> list[Event]:
        """The same for a command whose fields are known to have the declared types, as those have
        that a typed decoder made: no type is checked again. Values still are."""
        _, why_not, carry_out = RULES[type(command)]
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
        """When the next hold ends and the market may move without a command; `None` if none ever
        will (M17)."""
        holds = self._state.holds
        while holds and holds[0][2].end >= 0:  # ended early
            heappop(holds)
        return holds[0][0] if holds and holds[0][0] <= TIME_MAX_US else None

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
        """What it takes to open a leaf of the scope now, for a tenant or for the operator (`None`);
        `None` if no price would (M11, M12)."""
        return questions.quote(self._state, tenant, scope)

    def standing_rate(self, node: str) -> int:
        """The highest floor or bid on the path of a node, of anyone."""
        return standing.standing_rate(self._state, node)

    def standing_rates(self, node: str, since: int, segments_max: int) -> tuple[RateSegment, ...]:
        """What the standing rate of a node was, piece by piece, since then or as far back as the
        books and `segments_max` allow."""
        return standing.standing_rates(self._state, node, since, segments_max)

    def book(self, node: str, groups_max: int) -> BookView:
        """What is set at a node and rests on its path, by limit."""
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
        """How many orders and leases a tenant has, and ever had."""
        return questions.counts(self._state, tenant)

    def orders(self, tenant: str | None = None) -> tuple[OrderView, ...]:
        """Open orders: of one tenant by number, of all by time priority (M10)."""
        return questions.orders(self._state, tenant)

    def order(self, tenant: str, order: int) -> OrderView | None:
        """An order of a tenant's, if it is open."""
        return questions.order(self._state, tenant, order)

    def lease_won(self, tenant: str, order: int) -> int | None:
        """The lease that an order of a tenant's won, if it did, as long as the books know it."""
        return questions.lease_won(self._state, tenant, order)

    def leases(self, tenant: str | None = None) -> tuple[LeaseView, ...]:
        """Live leases, of one tenant or of all, by their start."""
        return questions.leases(self._state, tenant)

    def lease(self, tenant: str, lease: int) -> LeaseView | None:
        """A lease of a tenant's, live or ended, as long as the books know it."""
        return questions.lease(self._state, tenant, lease)

    def lease_on(self, leaf: str) -> LeaseView | None:
        """The live lease of a leaf, if it has one."""
        lease = questions.find_leaf(self._state, leaf).lease
        return None if lease is None else questions.lease_view(lease)

    def bill(self, tenant: str, since: Any = None, until: Any = None) -> Bill:
        """What a tenant owes for `[since, until)`; by default for everything until now (M14)."""
        return questions.bill(self._state, tenant, since, until)

    def bill_lines(self, tenant: str) -> int:
        """How many lines a bill can have at most: as many as there are leases and fees on the
        books."""
        return questions.bill_lines(self._state, tenant)

    def charge(self, tenant: str, lease: int) -> int:
        """What a lease was charged until now, in all."""
        return questions.charge(self._state, tenant, lease)

    def settle(self, tenant: str, lease: int) -> None:
        """Work out what a lease was charged until now, so that the next bill need not. No answer is
        another one for it."""
        questions.settle(self._state, tenant, lease)

    def to_settle(self, tenant: str) -> tuple[int, ...]:
        """The leases of a tenant whose charge is to be worked out for its next bill: those that
        last, and those that ended since the last one."""
        return questions.to_settle(self._state, tenant)

    def fees(self, tenant: str) -> tuple[FeeLine, ...]:
        """The flash fees of a tenant that are still on the books, whole (M18)."""
        return questions.fees(self._state, tenant)

    def revenue(self) -> int:
        """What all tenants together owe (M14)."""
        return questions.revenue(self._state)

    def price_history(
        self, tenant: str, lease: int, segments_max: int = UNBOUNDED
    ) -> tuple[PriceSegment, ...]:
        """What a lease was charged, piece by piece: the newest `segments_max` pieces, or fewer if
        many changes did not show, and before them one without a rate if there is more."""
        return questions.price_history(self._state, tenant, lease, segments_max)

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
        state = snapshot.load(data)
        return Market(state.forest.topology, _restored=state)


def _let_pass(state: State, at: int) -> list[Event]:
    """Let time pass until `at`. Returns the events of the command under way: so far, those of the
    holds that ended."""
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
    """Whoever the command names as its tenant; the operator's name nobody."""
    return getattr(command, "tenant", None)
