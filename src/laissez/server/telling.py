"""From what the market says happened to what a tenant is told: ids become the tenant's own, numbers
become text."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from laissez.market import events as market
from laissez.market.commands import Alternative
from laissez.market.commands import Band as MarketBand
from laissez.market.money import format_price
from laissez.server.accounts import Account
from laissez.wire import events as wire
from laissez.wire.times import SECOND_US, format_time

price = lru_cache(1 << 16)(format_price)  # the same few prices, thousands of times over


def optional_price(micro: int | None) -> str | None:
    return None if micro is None else price(micro)


def optional_time(us: int | None) -> str | None:
    return None if us is None else format_time(us)


def in_force(alternatives: tuple[Alternative, ...]) -> tuple[wire.InForce, ...]:
    return tuple([_in_force(one) for one in alternatives])


def _in_force(one: Alternative) -> wire.InForce:
    limit = price(one.limit)
    return wire.InForce(one.scope, limit if one.bid == one.limit else price(one.bid), limit)


def band(setting: MarketBand | None) -> wire.Band | None:
    return (
        None
        if setting is None
        else wire.Band(format_price(setting.fraction_ppm), setting.interval_us / SECOND_US)
    )


def seconds(us: int | None) -> float | None:
    return None if us is None else us / SECOND_US


def _placed(account: Account, event: market.OrderPlaced) -> wire.Event:
    name = account.order_placed(event.order, event.at)
    account.order_rests(event.order, event.alternatives)
    return wire.OrderPlaced(
        format_time(event.at), name, in_force(event.alternatives), event.clipped
    )


def _amended(account: Account, event: market.OrderAmended) -> wire.Event:
    account.order_rests(event.order, event.alternatives)
    return wire.OrderAmended(
        format_time(event.at),
        account.order_names[event.order],
        in_force(event.alternatives),
        event.clipped,
    )


def _cancelled(account: Account, event: market.OrderCancelled) -> wire.Event:
    return wire.OrderCancelled(format_time(event.at), account.order_cancelled(event.order))


def _started(account: Account, event: market.LeaseStarted) -> wire.Event:
    name = account.lease_started(event.lease, event.leaf, event.order, event.at)
    order = account.order_names[event.order]
    return wire.LeaseStarted(
        format_time(event.at),
        name,
        event.leaf,
        order,
        price(event.rate),
        price(event.limit),
        optional_time(event.hold_until),
    )


def _ended(account: Account, event: market.LeaseEnded) -> wire.Event:
    name = account.lease_ended(event.lease, event.at)
    return wire.LeaseEnded(
        format_time(event.at),
        name,
        event.leaf,
        event.reason,
        price(event.rate),
        optional_price(event.limit),
    )


def _limit_set(account: Account, event: market.LimitSet) -> wire.Event:
    return wire.LimitSet(
        format_time(event.at),
        account.lease_names[event.lease],
        event.leaf,
        optional_price(event.limit),
    )


def _fee(account: Account, event: market.FeeCharged) -> wire.Event:
    order = account.fee_charged(event.order, event.until, event.rate, event.at)
    return wire.FeeCharged(
        format_time(event.at), order, event.scope, price(event.rate), format_time(event.until)
    )


TO_TENANT: dict[type, Callable[[Account, Any], wire.Event]] = {
    market.OrderPlaced: _placed,
    market.OrderAmended: _amended,
    market.OrderCancelled: _cancelled,
    market.LeaseStarted: _started,
    market.LeaseEnded: _ended,
    market.LimitSet: _limit_set,
    market.FeeCharged: _fee,
}


def _controls(event: market.ControlsSet) -> wire.Event:
    return wire.ControlsSet(
        format_time(event.at),
        event.node,
        band(event.rise),
        band(event.fall),
        seconds(event.hold_us),
        seconds(event.flash_us),
    )


TO_OPERATOR: dict[type, Callable[[Any], wire.Event]] = {
    market.FloorSet: lambda event: wire.FloorSet(
        format_time(event.at), event.node, price(event.price), event.clipped
    ),
    market.ControlsSet: _controls,
    market.LeafTakenOffline: lambda event: wire.ResourceOffline(format_time(event.at), event.leaf),
    market.LeafBroughtOnline: lambda event: wire.ResourceOnline(format_time(event.at), event.leaf),
    market.BooksClosed: lambda event: wire.BooksClosed(
        format_time(event.at), format_time(event.before)
    ),
}
