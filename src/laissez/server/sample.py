"""A small market to try things out: H100s and A100s in two zones, an operator's floors, and three
tenants that hold something already.

Three more trade by themselves once somebody runs them (`laissez.live.sample`).
"""

from __future__ import annotations

from pathlib import Path

from laissez.exchange.commands import (
    OPERATOR,
    SERVICE,
    Caps,
    Command,
    CreateTenant,
    SetBudget,
)
from laissez.market import Alternative, Topology
from laissez.market.commands import PlaceOrder, SetFloor
from laissez.server.first_start import issue_first_key
from laissez.server.gateway import Gateway
from laissez.wire.texts import problem_of

LEVELS = ["type", "zone", "rack", "host", "gpu"]
TOPOLOGY = Topology.from_mapping(
    {
        "h100": {
            "levels": LEVELS,
            "tree": {
                "zone-a": {"rack[1-2]": {"host[1-4]": ["gpu[0-7]"]}},
                "zone-b": {"rack1": {"host[1-4]": ["gpu[0-7]"]}},
            },
        },
        "a100": {"levels": LEVELS, "tree": {"zone-a": {"rack[3-4]": {"host[1-4]": ["gpu[0-7]"]}}}},
    }
)
FLOORS = {"h100": 2_000_000, "a100": 1_100_000}  # dollars per hour, in millionths

# tenant: what it asks for at the start, as (how many, scope, bid, limit)
TENANTS: dict[str, tuple[tuple[int, str, int, int], ...]] = {
    "training": (
        (8, "h100/zone-a/rack1/host1", 3_000_000, 4_500_000),
        (2, "h100/zone-a/rack1", 2_400_000, 4_000_000),
    ),
    "inference": (
        (4, "h100/zone-b", 2_600_000, 6_000_000),
        (1, "h100/zone-a/rack1/host1", 3_200_000, 3_900_000),
    ),
    "batch": ((12, "a100", 1_200_000, 1_500_000),),
    "dynamo": (),
    "sailor": (),
    "parabricks": (),
}
# dollars, in millionths: enough for some hours
BUDGETS = {"dynamo": 2_000_000_000, "sailor": 1_500_000_000, "parabricks": 500_000_000}


async def set_up(gateway: Gateway, folder: Path) -> None:
    """Everything that is not there yet; on a second start, nothing."""
    await issue_first_key(gateway, folder, OPERATOR)
    for node, price in FLOORS.items():
        if not gateway.exchange.accounts:
            _enter(gateway, OPERATOR, SetFloor(node, price))
    for tenant, wishes in TENANTS.items():
        if tenant not in gateway.exchange.accounts:
            _enter(gateway, OPERATOR, CreateTenant(tenant, Caps()))
            for count, scope, bid, limit in wishes:
                for _ in range(count):
                    _enter(gateway, tenant, PlaceOrder(tenant, (Alternative(scope, bid, limit),)))
            if tenant in BUDGETS:
                _enter(gateway, tenant, SetBudget(BUDGETS[tenant]))
        await issue_first_key(gateway, folder, tenant)


def _enter(gateway: Gateway, who: str, command: Command) -> None:
    refusal = gateway.enter(who, SERVICE, "", command).applied.refusal
    if refusal is not None:
        raise problem_of(refusal, who)
