"""Bills as tables: plain CSV, and the columns of FOCUS, the FinOps Open Cost and Usage
Specification (1.2), for tools that compare providers."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from msgspec.structs import astuple

from laissez.exchange.statements import FEE, LEASE
from laissez.market.topology import Topology
from laissez.server.background import Background
from laissez.server.billing import CARRIED, LINES_PER_PIECE, Line, Owed
from laissez.units import dollars, format_time
from laissez.wire.views import BillLine

ZONES = ("zone", "availability_zone", "az")  # names of the level that is a zone
PLAIN = ("tenant", *BillLine.__struct_fields__)


async def plain(owed: Iterable[Owed], pieces: Background) -> bytes:
    def row(one: Owed, line: Line) -> Iterable[str]:
        return one.tenant, *astuple(one.rendered(line))

    return await _table(PLAIN, owed, row, pieces)


async def focus(owed: Iterable[Owed], topology: Topology, pieces: Background) -> bytes:
    @lru_cache(10_000)  # many lines have the same scope
    def place(scope: str) -> tuple[str, str]:
        return _place(scope, topology)

    def row(one: Owed, line: Line) -> Iterable[str]:
        return _focus_row(one, line, *place(line.scope)).values()

    return await _table(FOCUS, owed, row, pieces)


async def _table(
    header: Sequence[str],
    owed: Iterable[Owed],
    row: Callable[[Owed, Line], Iterable[str]],
    pieces: Background,
) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(header)
    for one in owed:
        async for part in pieces.parts(one.lines, LINES_PER_PIECE):
            writer.writerows([row(one, line) for line in part])
    return text.getvalue().encode()


def _place(scope: str, topology: Topology) -> tuple[str, str]:
    """The zone and the region of a node, where the topology names them."""
    parts = scope.split("/")
    levels = topology.level_names(parts[0]) if parts[0] in topology else ()
    named = list(zip(levels, parts, strict=False))
    zone = next((part for level, part in named if level in ZONES), "")
    return zone, next((part for level, part in named if level == "region"), "")


def _hours(us: int) -> str:
    """Hours with six decimals: the dollars charged at a rate of one dollar per hour."""
    return dollars(us * 1_000_000)


def _focus_row(owed: Owed, line: Line, zone: str, region: str) -> dict[str, str]:
    shown = owed.rendered(line)
    parts = line.scope.split("/")
    is_sum = line.kind == CARRIED  # over many leases
    hours, unit = ("", "") if is_sum else (_hours(line.end - line.start), "Hours")
    return {
        "AvailabilityZone": zone,
        "BilledCost": shown.cost,
        "BillingAccountId": owed.tenant,
        "BillingAccountName": owed.tenant,
        "BillingAccountType": "Tenant",
        "BillingCurrency": "USD",
        "BillingPeriodEnd": format_time(owed.until),
        "BillingPeriodStart": format_time(owed.since),
        "ChargeCategory": "Usage",
        "ChargeClass": "",
        "ChargeDescription": _DESCRIPTIONS[line.kind].format(shown),
        "ChargeFrequency": "Usage-Based",
        "ChargePeriodEnd": shown.end,
        "ChargePeriodStart": shown.start,
        "ConsumedQuantity": hours,
        "ConsumedUnit": unit,
        "ContractedCost": shown.cost,
        "EffectiveCost": shown.cost,
        "InvoiceIssuerName": "LaissezCloud",
        "ListCost": shown.cost,
        "PricingCategory": "Dynamic",
        "PricingCurrency": "USD",
        "PricingQuantity": hours,
        "PricingUnit": unit,
        "ProviderName": "LaissezCloud",
        "PublisherName": "LaissezCloud",
        "RegionId": region,
        "RegionName": region,
        "ResourceId": line.scope,
        "ResourceName": parts[-1],
        "ResourceType": parts[0],
        "ServiceCategory": "Compute",
        "ServiceName": "LaissezCloud",
        "ServiceSubcategory": "Other (Compute)",
        "SkuId": parts[0],
        "SkuPriceId": "",
        "x_Id": shown.id,
        "x_Kind": shown.kind,
    }


_DESCRIPTIONS = {
    LEASE: "Lease {0.id} of {0.scope} at the market's price",
    FEE: "Fee for withdrawing order {0.id} from {0.scope} too soon",
    CARRIED: "Charges of earlier periods, carried forward",
}
FOCUS = tuple(_focus_row(Owed("", 0, 0, [], 0), Line(CARRIED, 0, "", 0, 0, 0), "", ""))
