"""What came of a run: one row per tenant, one for the whole, and the course of prices and
leases."""

from __future__ import annotations

from typing import Final

import msgspec

from laissez.sim.clouds.cloud import Lease
from laissez.sim.tenant import STANDING
from laissez.units import CHARGE_PER_MICRO_DOLLAR, HOUR_US, MICRO_PER_DOLLAR

# in which every hour of a tenant is once
ACCOUNTS: Final = ("useful_hours", "reconfiguring_hours", "lost_hours", "surplus_hours")


class TenantResult(msgspec.Struct, frozen=True, kw_only=True):
    """GPU-hours by what they were good for; `retention` is performance over `alone`, what the
    tenant achieves with the cluster to itself."""

    tenant: str
    # `inference`, `training`, `batch`; or `standing`: in the market that the run started from, of
    # no known performance
    kind: str
    start_s: float
    end_s: float  # when it was done, or its time was over
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
        """Whether it is known what it achieved: of those who were there before the run began it is
        not."""
        return self.kind != STANDING

    @property
    def held_hours(self) -> float:
        return self.useful_hours + self.reconfiguring_hours + self.lost_hours + self.surplus_hours


class PricePoint(msgspec.Struct, frozen=True, kw_only=True):
    """Of one type at one instant: what one more GPU would cost, what those leased are charged in
    the mean (dollars per hour), and how many are."""

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
    hours: float  # from the beginning until the last deadline
    demand: float  # what all typically need together, over what there is
    tenants: tuple[TenantResult, ...]
    prices: tuple[PricePoint, ...]
    leases: tuple[Lease, ...]
    requests: int  # asked of the cloud
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
        """The mean over tenants; standing ones have nothing to retain. Of nobody, all was
        retained."""
        retained = [one.retention for one in self.measured]
        return sum(retained) / len(retained) if retained else 1.0

    @property
    def utilisation(self) -> float:
        """The share of all GPU-hours that was leased."""
        return 1 - self.idle_hours / (self.gpus * self.hours)


def dollars(charge: int) -> float:
    """From micro-dollar-microseconds per hour."""
    return charge / CHARGE_PER_MICRO_DOLLAR / MICRO_PER_DOLLAR


def hours(node_us: int) -> float:
    return node_us / HOUR_US
