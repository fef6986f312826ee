"""Bills as tables: plain CSV, and the columns of FOCUS, the FinOps Open Cost and Usage
Specification (1.2), for tools that read everybody's bills."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TypeAlias

from msgspec.structs import astuple

from laissez.market.topology import Topology
from laissez.server.background import Background
from laissez.server.billing import LINES_PER_PIECE, Line, Owed
from laissez.units import dollars, format_time

ZONES = ("zone", "availability_zone", "az")  # what a level may be called
PLAIN = ("tenant", "kind", "id", "scope", "start", "end", "cost")
SAME_ON_ALL_LINES = {
    "empty": "",
    "tenant_type": "Tenant",
    "currency": "USD",
    "category": "Usage",
    "frequency": "Usage-Based",
    "pricing": "Dynamic",
    "provider": "LaissezCloud",
    "service_category": "Compute",
    "service_subcategory": "Other (Compute)",
}
# the columns of FOCUS, and the value of a charge (see `_charge`) that each of them tells
FOCUS = {
    "AvailabilityZone": "zone",
    "BilledCost": "cost",
    "BillingAccountId": "tenant",
    "BillingAccountName": "tenant",
    "BillingAccountType": "tenant_type",
    "BillingCurrency": "currency",
    "BillingPeriodEnd": "until",
    "BillingPeriodStart": "since",
    "ChargeCategory": "category",
    "ChargeClass": "empty",
    "ChargeDescription": "description",
    "ChargeFrequency": "frequency",
    "ChargePeriodEnd": "end",
    "ChargePeriodStart": "start",
    "ConsumedQuantity": "hours",
    "ConsumedUnit": "unit",
    "ContractedCost": "cost",
    "EffectiveCost": "cost",
    "InvoiceIssuerName": "provider",
    "ListCost": "cost",
    "PricingCategory": "pricing",
    "PricingCurrency": "currency",
    "PricingQuantity": "hours",
    "PricingUnit": "unit",
    "ProviderName": "provider",
    "PublisherName": "provider",
    "RegionId": "region",
    "RegionName": "region",
    "ResourceId": "scope",
    "ResourceName": "name",
    "ResourceType": "type",
    "ServiceCategory": "service_category",
    "ServiceName": "provider",
    "ServiceSubcategory": "service_subcategory",
    "SkuId": "type",
    "SkuPriceId": "empty",
    "x_Id": "id",
    "x_Kind": "kind",
}

Row: TypeAlias = tuple[str, ...]


async def plain(owed: Iterable[Owed], pieces: Background) -> bytes:
    def row(one: Owed, line: Line) -> Row:
        return one.tenant, *astuple(line.rendered())

    return await _table(PLAIN, owed, row, pieces)


async def focus(owed: Iterable[Owed], topology: Topology, pieces: Background) -> bytes:
    @lru_cache(10_000)  # many lines have the same scope
    def place(scope: str) -> dict[str, str]:
        return _place(scope, topology)

    def row(one: Owed, line: Line) -> Row:
        charge = _charge(one, line, place(line.scope))
        return tuple([charge[value] for value in FOCUS.values()])

    return await _table(tuple(FOCUS), owed, row, pieces)


async def _table(
    header: Row, owed: Iterable[Owed], row: Callable[[Owed, Line], Row], pieces: Background
) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(header)
    for one in owed:
        async for part in pieces.parts(one.lines, LINES_PER_PIECE):
            writer.writerows([row(one, line) for line in part])
    return text.getvalue().encode()


def _place(scope: str, topology: Topology) -> dict[str, str]:
    parts = scope.split("/")
    levels = topology.level_names(parts[0]) if parts[0] in topology else ()
    named = list(zip(levels, parts, strict=False))
    return {
        "scope": scope,
        "type": parts[0],
        "name": parts[-1],
        "zone": next((part for level, part in named if level in ZONES), ""),
        "region": next((part for level, part in named if level == "region"), ""),
    }


def _charge(owed: Owed, line: Line, place: dict[str, str]) -> dict[str, str]:
    is_sum = line.kind == "carried"  # over many leases
    return {
        **SAME_ON_ALL_LINES,
        **place,
        "tenant": owed.tenant,
        "since": format_time(owed.since),
        "until": format_time(owed.until),
        "kind": line.kind,
        "id": line.id,
        "start": format_time(line.start),
        "end": format_time(line.end),
        "cost": dollars(line.charge),
        "hours": "" if is_sum else _hours(line.end - line.start),
        "unit": "" if is_sum else "Hours",
        "description": _description(line),
    }


def _hours(us: int) -> str:
    """With six decimals: as many hours as a rate of a dollar per hour would charge dollars."""
    return dollars(us * 1_000_000)


def _description(line: Line) -> str:
    if line.kind == "lease":
        return f"Lease {line.id} of {line.scope} at the market's price"
    if line.kind == "fee":
        return f"Fee for withdrawing order {line.id} from {line.scope} too soon"
    return "Charges of earlier periods, carried forward"
