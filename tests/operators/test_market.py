"""Maps on a real market: a row that runs out of power gets dear, and who does not want it at that
price is gone from it, by price alone."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from laissez.market import (
    Event,
    LeaseEnded,
    LeaseStarted,
    Market,
    PlaceOrder,
    Refused,
    Topology,
    at_market,
)
from laissez.market.reasons import EndReason
from laissez.operators import (
    Base,
    Composition,
    Controls,
    Decision,
    Instant,
    LeafIndex,
    Maintenance,
    Memory,
    Move,
    OperatorView,
    Power,
    Price,
    Reading,
    SlewLimits,
    Utilisation,
)

pytestmark = pytest.mark.once

SECOND = 1_000_000
MINUTE = 60 * SECOND
DOLLAR = 1_000_000
LEAVES = ("h100/row1/a", "h100/row1/b", "h100/row2/a", "h100/row2/b")
BASE = Base(node="h100", price=Price.of("2"), floor_max=Price.of("20"))


class Site:
    """A market and its operator: what a caller does with a decision."""

    def __init__(self, composition: Composition) -> None:
        self.composition = composition
        self.market = Market(Topology.of(LEAVES))
        self.leaves = LeafIndex(self.market.topology.leaves)
        self.memory = Memory()
        self.events: list[Event] = []

    def view(self, now: int, **used: float) -> OperatorView:
        market = self.market
        return OperatorView(
            now=now,
            leaves=self.leaves,
            floors={floor.node: floor.own for floor in market.floors()},
            controls={controls.node: controls for controls in market.controls()},
            leased=frozenset(lease.leaf for lease in market.leases()),
            offline=frozenset(leaf for leaf in self.leaves.paths if not market.is_online(leaf)),
            readings={name: Reading(value, now) for name, value in used.items()},
            memory=self.memory,
        )

    def tick(self, now: int, **used: float) -> Decision:
        decision = self.composition.decide(self.view(now, **used))
        self.memory = decision.memory
        self.events = [
            event for command in decision.commands for event in self.market.apply(command, now)
        ]
        assert not [event for event in self.events if isinstance(event, Refused)]
        return decision

    def place(self, tenant: str, scope: str, at: int, limit: float) -> None:
        self.market.apply(PlaceOrder(tenant, (at_market(scope, round(limit * DOLLAR)),)), at)

    def owners(self) -> list[str]:
        return [self.market.owner(leaf) or "-" for leaf in LEAVES]

    def floor(self, node: str) -> float:
        return self.market.floor(node) / DOLLAR


def powered(
    rows: Sequence[str] = ("row1", "row2"),
    limits: SlewLimits | None = None,
    controls: Sequence[Controls] = (),
) -> Site:
    maps = [Power(name=row, nodes=(f"h100/{row}",), signal=row, weight=2.0) for row in rows]
    return Site(
        Composition(bases=[BASE], maps=maps, controls=controls, limits=limits or SlewLimits())
    )


def test_a_jump_of_power_raises_the_floor_of_its_row_and_evicts_low_limits() -> None:
    site = powered()
    site.tick(0, row1=0.68, row2=0.68)
    site.place("urgent", "h100/row1", at=0, limit=9.0)
    site.place("patient", "h100/row1", at=0, limit=3.0)
    site.place("other", "h100/row2", at=0, limit=3.0)
    assert ["urgent", "patient", "other", "-"] == site.owners()

    site.tick(5 * MINUTE, row1=0.77, row2=0.68)
    assert (4.5, 2.0) == (site.floor("h100/row1"), site.floor("h100/row2"))
    assert ["urgent", "-", "other", "-"] == site.owners()
    (ended,) = [event for event in site.events if isinstance(event, LeaseEnded)]
    assert ("patient", EndReason.FLOOR_RAISED, 4_500_000) == (
        ended.tenant,
        ended.reason,
        ended.rate,
    )


def test_a_tenant_evicted_from_one_row_moves_to_the_other() -> None:
    site = powered()
    site.tick(0, row1=0.68, row2=0.68)
    site.place("ann", "h100/row1", at=0, limit=3.0)
    site.tick(MINUTE, row1=0.80, row2=0.68)
    assert ["-", "-", "-", "-"] == site.owners()
    # anywhere below h100: only row2 is left at that price
    site.place("ann", "h100", at=MINUTE, limit=3.0)
    assert ["-", "-", "ann", "-"] == site.owners()


def test_floors_fall_first_so_that_evicted_tenants_find_the_other_row_open() -> None:
    site = powered(limits=SlewLimits(fall_per_minute=1.0))
    site.tick(0, row1=0.68, row2=0.80)
    site.place("ann", "h100/row1", at=0, limit=3.0)
    site.place("ann", "h100/row2", at=0, limit=3.0)
    assert ["ann", "-", "-", "-"] == site.owners()
    site.tick(MINUTE, row1=0.80, row2=0.68)
    assert ["-", "-", "ann", "-"] == site.owners()
    kinds = [type(event) for event in site.events if isinstance(event, LeaseStarted | LeaseEnded)]
    assert [LeaseStarted, LeaseEnded] == kinds


def test_an_owner_with_a_high_limit_stays_and_pays() -> None:
    site = powered()
    site.tick(0, row1=0.5, row2=0.5)
    site.place("urgent", "h100/row1", at=0, limit=100.0)
    site.tick(MINUTE, row1=0.88, row2=0.5)
    lease = site.market.lease_on("h100/row1/a")
    assert lease is not None and (10 * DOLLAR, "urgent") == (lease.rate, lease.tenant)


def test_a_fall_band_of_the_market_is_followed_one_step_per_interval() -> None:
    band = Controls(node="h100", fall=Move(fraction=0.25, every_s=300))
    site = powered(limits=SlewLimits(fall_per_minute=1.0), controls=[band])
    site.tick(0, row1=0.80, row2=0.5)
    sent, floors = [], []
    # in the first interval the anchor is the floor before any was set
    for second in range(310, 1900, 10):
        sent += [second for _ in site.tick(second * SECOND, row1=0.5, row2=0.5).commands]
        floors.append(site.floor("h100/row1"))
    assert [310, 610, 910, 1210] == sent
    assert [4.5, 3.375, 2.53125, 2.0] == sorted(set(floors), reverse=True)


def test_maintenance_raises_prices_takes_leaves_and_returns_them() -> None:
    window = Maintenance(
        name="w",
        nodes=("h100/row1",),
        start=Instant(60 * MINUTE),
        end=Instant(120 * MINUTE),
        lead_s=3600.0,
    )
    site = Site(Composition(bases=[BASE], maintenance=[window]))
    site.tick(0)
    site.place("patient", "h100", at=0, limit=3.0)
    site.place("stubborn", "h100/row1", at=0, limit=99.0)
    assert ["patient", "stubborn", "-", "-"] == site.owners()
    site.tick(30 * MINUTE)
    assert ["-", "stubborn", "-", "-"] == site.owners()
    site.tick(60 * MINUTE)
    (ended,) = [event for event in site.events if isinstance(event, LeaseEnded)]
    assert ("stubborn", EndReason.TAKEN_OFFLINE) == (ended.tenant, ended.reason)
    site.place("next", "h100/row1", at=61 * MINUTE, limit=2.0)
    for minute in range(61, 121):
        site.tick(minute * MINUTE)
    # offline leaves cannot be won; now they can, at the base price
    assert ["next", "-", "-", "-"] == site.owners()
    assert 2.0 == site.floor("h100/row1")


def test_congestion_makes_a_full_row_dearer_and_does_not_swing() -> None:
    site = Site(
        Composition(
            bases=[BASE],
            maps=[Utilisation(name="full", nodes=("h100/row1", "h100/row2"), target=0.5)],
        )
    )
    site.tick(0)
    for limit in (2.5, 9.0):
        site.place("ann", "h100/row1", at=0, limit=limit)
    story = []
    for minute in range(1, 20):
        site.tick(minute * MINUTE)
        story.append(site.owners())
    assert ["-", "ann", "-", "-"] == story[0]
    assert all(story[0] == owners for owners in story)
    assert 2.0 == site.floor("h100/row1")
