"""Bills as tables: plain CSV, and the columns of FOCUS, the FinOps Open Cost and Usage
Specification (1.2), for tools that read everybody's bills."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable
from functools import lru_cache
from operator import attrgetter
from typing import TypeAlias

from laissez.market.topology import Topology
from laissez.server.background import Background
from laissez.server.billing import LINES_PER_PIECE, Line, Owed
from laissez.units import CHARGE_PER_MICRO_DOLLAR, dollars, format_time

PROVIDER = "LaissezCloud"
HOUR_US = CHARGE_PER_MICRO_DOLLAR  # a dollar per hour for an hour is a dollar
ZONES = ("zone", "availability_zone", "az")  # what a level may be called
PLAIN = ("tenant", "kind", "id", "scope", "start", "end", "cost")

Row: TypeAlias = tuple[str, ...]


async def plain(owed: Iterable[Owed], pieces: Background) -> bytes:
    def row(one: Owed, line: Line) -> Row:
        return (
            one.tenant,
            line.kind,
            line.id,
            line.scope,
            format_time(line.start),
            format_time(line.end),
            dollars(line.charge),
        )

    return await _table(PLAIN, owed, row, pieces)


async def focus(owed: Iterable[Owed], topology: Topology, pieces: Background) -> bytes:
    @lru_cache(10_000)  # many lines have the same scope
    def place(scope: str) -> _Place:
        return _Place(scope, topology)

    return await _table(
        tuple(FOCUS), owed, lambda one, line: _values(_Charge(one, line, place(line.scope))), pieces
    )


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


class _Place:
    """Where a charge is for."""

    __slots__ = ("name", "region", "scope", "type", "zone")

    def __init__(self, scope: str, topology: Topology) -> None:
        parts = scope.split("/")
        levels = topology.level_names(parts[0]) if parts[0] in topology else ()
        self.scope = scope
        self.type = parts[0]
        self.name = parts[-1]
        self.zone = next(
            (part for part, level in zip(parts, levels, strict=False) if level in ZONES), ""
        )
        self.region = next(
            (part for part, level in zip(parts, levels, strict=False) if level == "region"), ""
        )


class _Charge:
    """A line of a bill in the words of FOCUS: what is the same for all lines belongs to the
    class."""

    __slots__ = (
        "cost",
        "description",
        "end",
        "hours",
        "id",
        "kind",
        "place",
        "since",
        "start",
        "tenant",
        "unit",
        "until",
    )

    empty, tenant_type, currency, category, frequency = "", "Tenant", "USD", "Usage", "Usage-Based"
    pricing, provider, service_category, service_subcategory = (
        "Dynamic",
        PROVIDER,
        "Compute",
        "Other (Compute)",
    )

    def __init__(self, owed: Owed, line: Line, place: _Place) -> None:
        is_sum = line.kind == "carried"  # over many leases
        self.place = place
        self.tenant = owed.tenant
        self.since, self.until = format_time(owed.since), format_time(owed.until)
        self.kind, self.id = line.kind, line.id
        self.start, self.end = format_time(line.start), format_time(line.end)
        self.cost = dollars(line.charge)
        self.hours = "" if is_sum else _hours(line.end - line.start)
        self.unit = "" if is_sum else "Hours"
        self.description = _description(line)


def _hours(us: int) -> str:
    """With six decimals."""
    millionths = us * 1_000_000 // HOUR_US
    return f"{millionths // 1_000_000}.{millionths % 1_000_000:06d}"


def _description(line: Line) -> str:
    if line.kind == "lease":
        return f"Lease {line.id} of {line.scope} at the market's price"
    if line.kind == "fee":
        return f"Fee for withdrawing order {line.id} from {line.scope} too soon"
    return "Charges of earlier periods, carried forward"


FOCUS = {
    "AvailabilityZone": "place.zone",
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
    "RegionId": "place.region",
    "RegionName": "place.region",
    "ResourceId": "place.scope",
    "ResourceName": "place.name",
    "ResourceType": "place.type",
    "ServiceCategory": "service_category",
    "ServiceName": "provider",
    "ServiceSubcategory": "service_subcategory",
    "SkuId": "place.type",
    "SkuPriceId": "empty",
    "x_Id": "id",
    "x_Kind": "kind",
}  # the columns, and what of a charge each of them tells
_values = attrgetter(*FOCUS.values())
