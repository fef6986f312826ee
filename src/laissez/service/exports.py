"""Bills as tables: plain CSV, and the columns of FOCUS, the FinOps Open Cost and Usage Specification (1.2), for tools that read everybody's bills."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence

from laissez.market.money import CHARGE_PER_MICRO_DOLLAR, dollars
from laissez.market.topology import Topology
from laissez.service.billing import Line, Owed
from laissez.wire.times import format_time

PROVIDER = "LaissezCloud"
HOUR_US = CHARGE_PER_MICRO_DOLLAR  # a dollar per hour for an hour is a dollar
PLAIN = ("tenant", "kind", "id", "scope", "start", "end", "cost")


def plain(owed: Iterable[Owed]) -> bytes:
    rows = [
        (one.tenant, line.kind, line.id, line.scope, format_time(line.start), format_time(line.end), dollars(line.charge))
        for one in owed
        for line in one.lines
    ]
    return _table(PLAIN, rows)


def focus(owed: Iterable[Owed], topology: Topology) -> bytes:
    rows = [tuple([column(one, line, topology) for column in FOCUS.values()]) for one in owed for line in one.lines]
    return _table(tuple(FOCUS), rows)


def _table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode()


def _cost(owed: Owed, line: Line, topology: Topology) -> str:
    return dollars(line.charge)


def _always(value: str) -> Callable[[Owed, Line, Topology], str]:
    return lambda owed, line, topology: value


def _hours(owed: Owed, line: Line, topology: Topology) -> str:
    """With six decimals; empty for what is a sum over many leases."""
    if line.kind == "carried":
        return ""
    millionths = (line.end - line.start) * 1_000_000 // HOUR_US
    return f"{millionths // 1_000_000}.{millionths % 1_000_000:06d}"


def _unit(owed: Owed, line: Line, topology: Topology) -> str:
    return "" if line.kind == "carried" else "Hours"


def _description(owed: Owed, line: Line, topology: Topology) -> str:
    if line.kind == "lease":
        return f"Lease {line.id} of {line.scope} at the market's price"
    if line.kind == "fee":
        return f"Fee for withdrawing order {line.id} from {line.scope} too soon"
    return "Charges of earlier periods, carried forward"


def _at_level(*names: str) -> Callable[[Owed, Line, Topology], str]:
    """The name of the node at one of these levels above the leaf, if the tree has such a level."""

    def found(owed: Owed, line: Line, topology: Topology) -> str:
        parts = line.scope.split("/")
        levels = topology.level_names(parts[0]) if parts[0] in topology else ()
        return next((part for part, level in zip(parts, levels, strict=False) if level in names), "")

    return found


def _type(owed: Owed, line: Line, topology: Topology) -> str:
    return line.scope.partition("/")[0]


FOCUS: dict[str, Callable[[Owed, Line, Topology], str]] = {
    "AvailabilityZone": _at_level("zone", "availability_zone", "az"),
    "BilledCost": _cost,
    "BillingAccountId": lambda owed, line, topology: owed.tenant,
    "BillingAccountName": lambda owed, line, topology: owed.tenant,
    "BillingAccountType": _always("Tenant"),
    "BillingCurrency": _always("USD"),
    "BillingPeriodEnd": lambda owed, line, topology: format_time(owed.until),
    "BillingPeriodStart": lambda owed, line, topology: format_time(owed.since),
    "ChargeCategory": _always("Usage"),
    "ChargeClass": _always(""),
    "ChargeDescription": _description,
    "ChargeFrequency": _always("Usage-Based"),
    "ChargePeriodEnd": lambda owed, line, topology: format_time(line.end),
    "ChargePeriodStart": lambda owed, line, topology: format_time(line.start),
    "ConsumedQuantity": _hours,
    "ConsumedUnit": _unit,
    "ContractedCost": _cost,
    "EffectiveCost": _cost,
    "InvoiceIssuerName": _always(PROVIDER),
    "ListCost": _cost,
    "PricingCategory": _always("Dynamic"),
    "PricingCurrency": _always("USD"),
    "PricingQuantity": _hours,
    "PricingUnit": _unit,
    "ProviderName": _always(PROVIDER),
    "PublisherName": _always(PROVIDER),
    "RegionId": _at_level("region"),
    "RegionName": _at_level("region"),
    "ResourceId": lambda owed, line, topology: line.scope,
    "ResourceName": lambda owed, line, topology: line.scope.rpartition("/")[2],
    "ResourceType": _type,
    "ServiceCategory": _always("Compute"),
    "ServiceName": _always(PROVIDER),
    "ServiceSubcategory": _always("Other (Compute)"),
    "SkuId": _type,
    "SkuPriceId": _always(""),
    "x_Id": lambda owed, line, topology: line.id,
    "x_Kind": lambda owed, line, topology: line.kind,
}
