"""The results of a run: its tenants, its totals, and the history of prices and leases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from laissez.sim.clouds.cloud import Lease
from laissez.sim.tenant import INCUMBENT, Tenant
from laissez.units import CHARGE_PER_MICRO_DOLLAR, HOUR_US, MICRO_PER_DOLLAR, SECOND_US

# every hour of a tenant is in one of these
ACCOUNTS: Final = ("useful_hours", "reconfiguring_hours", "lost_hours", "surplus_hours")
# a lease given up this soon after another one began counts as moved there
MOVE_US: Final = 120 * SECOND_US


class TenantResult(msgspec.Struct, frozen=True, kw_only=True):
    """`retention` is `performance` over `alone`, the performance with all GPUs. Hours are
    GPU-hours."""

    tenant: str
    kind: str  # `inference`, `training`, `batch`, or `incumbent`, whose performance is unknown
    start_s: float
    end_s: float  # when it was done, or its deadline
    performance: float
    alone: float
    retention: float
    cost: float  # dollars
    performance_per_cost: float | None  # per dollar; None if it cost nothing
    useful_hours: float
    reconfiguring_hours: float
    lost_hours: float
    surplus_hours: float
    gains: int  # leases that began
    moves: int  # leases given up for another one that had begun shortly before
    revocations: int  # leases that were taken away
    decisions: int

    @property
    def is_measured(self) -> bool:
        """Whether its performance is known."""
        return self.kind != INCUMBENT

    @property
    def held_hours(self) -> float:
        return self.useful_hours + self.reconfiguring_hours + self.lost_hours + self.surplus_hours


class PricePoint(msgspec.Struct, frozen=True, kw_only=True):
    """One type at one time: the price of one more GPU, the mean rate of the leased ones (both in
    dollars per hour), and how many are leased."""

    at_s: float
    tree: str
    price: float | None
    charged: float | None
    leased: int


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    scenario: str
    cloud: str
    seed: int
    gpus: int
    hours: float  # from the start until the last deadline
    demand: float  # GPUs that all tenants typically need over GPUs that exist
    tenants: tuple[TenantResult, ...]
    prices: tuple[PricePoint, ...]
    leases: tuple[Lease, ...]
    requests: int  # commands and questions sent to the cloud
    revenue: float  # dollars
    idle_hours: float

    @property
    def measured(self) -> list[TenantResult]:
        return [one for one in self.tenants if one.is_measured]

    def total(self, field: str) -> float:
        """The sum of a field over all tenants."""
        found: float = sum(getattr(one, field) for one in self.tenants)
        return found

    @property
    def retention(self) -> float:
        """The mean over the measured tenants; 1 without any."""
        retained = [one.retention for one in self.measured]
        return sum(retained) / len(retained) if retained else 1.0

    @property
    def utilisation(self) -> float:
        """The share of all GPU-hours that was leased."""
        return 1 - self.idle_hours / (self.gpus * self.hours)


def tenant_result(
    tenant: Tenant, leases: Sequence[Lease], fees: int, achieved_alone: float
) -> TenantResult:
    node_time, performance = tenant.world.node_time, tenant.world.performance()
    cost = dollars(sum(lease.charge for lease in leases) + fees)
    return TenantResult(
        tenant=tenant.name,
        kind=tenant.kind,
        start_s=tenant.world.start / SECOND_US,
        end_s=tenant.ended / SECOND_US,
        performance=performance,
        alone=achieved_alone,
        retention=performance / achieved_alone if achieved_alone else 0.0,
        cost=cost,
        performance_per_cost=performance / cost if cost and tenant.kind != INCUMBENT else None,
        useful_hours=hours(node_time.useful),
        reconfiguring_hours=hours(node_time.reconfiguring),
        lost_hours=hours(node_time.lost),
        surplus_hours=hours(node_time.surplus),
        gains=len(leases),
        moves=_moves(leases, tenant.ended),
        revocations=tenant.revocations,
        decisions=tenant.decisions,
    )


def _moves(leases: Sequence[Lease], ended: int) -> int:
    """Pair each lease that the tenant gave up before it left with a newer one that began shortly
    before and lasted longer. No lease is in two pairs."""
    unpaired = sorted(leases, key=lambda lease: lease.start)
    given_up = [one for one in leases if one.reason == "relinquished" and one.end < ended]
    moves = 0
    for old in sorted(given_up, key=lambda lease: lease.end):
        for new in unpaired:
            began_shortly_before = max(old.start + 1, old.end - MOVE_US) <= new.start < old.end
            if began_shortly_before and new.end > old.end:
                unpaired.remove(new)
                moves += 1
                break
    return moves


def dollars(charge: int) -> float:
    """From micro-dollar-microseconds per hour."""
    return charge / CHARGE_PER_MICRO_DOLLAR / MICRO_PER_DOLLAR


def hours(node_us: int) -> float:
    return node_us / HOUR_US
