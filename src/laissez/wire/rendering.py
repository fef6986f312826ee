"""Render the exchange's events for the API: numbers become ids, prices and times.

Rendering is a pure function of the event, its number and the viewer. So it can happen at any later
time: when the event is durable, or when a stream resumes a day later.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import lru_cache
from typing import Any

from laissez.exchange import events as exchange
from laissez.exchange.commands import OPERATOR, Action, Caps
from laissez.exchange.events import Applied
from laissez.market import events as market
from laissez.market.commands import Alternative
from laissez.market.commands import Band as MarketBand
from laissez.units import SECOND_US, format_amount, format_price, format_time
from laissez.wire import events as wire
from laissez.wire import requests
from laissez.wire.ids import lease_id, order_id, tag_of, webhook_id

price = lru_cache(1 << 16)(format_price)  # the same few prices come again and again


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


def caps_text(caps: Caps) -> requests.Caps:
    return requests.Caps(
        caps.open_orders,
        caps.commands_per_second,
        caps.commands_burst,
        caps.sessions,
        optional_price(caps.rate),
        optional_price(caps.worst_rate),
    )


def action_text(action: Action) -> str:
    return action.name.lower()


def types_text(types: tuple[int, ...] | None) -> tuple[str, ...] | None:
    return None if types is None else tuple([EVENT_TYPES[code] for code in types])


def _placed(event: market.OrderPlaced) -> wire.Event:
    return wire.OrderPlaced(
        format_time(event.at),
        order_id(tag_of(event.tenant), event.order),
        in_force(event.alternatives),
        event.clipped,
    )


def _amended(event: market.OrderAmended) -> wire.Event:
    return wire.OrderAmended(
        format_time(event.at),
        order_id(tag_of(event.tenant), event.order),
        in_force(event.alternatives),
        event.clipped,
    )


def _cancelled(event: market.OrderCancelled) -> wire.Event:
    return wire.OrderCancelled(format_time(event.at), order_id(tag_of(event.tenant), event.order))


def _started(event: market.LeaseStarted) -> wire.Event:
    tag = tag_of(event.tenant)
    return wire.LeaseStarted(
        format_time(event.at),
        lease_id(tag, event.lease),
        event.leaf,
        order_id(tag, event.order),
        price(event.rate),
        price(event.limit),
        optional_time(event.hold_until),
    )


def _ended(event: market.LeaseEnded) -> wire.Event:
    return wire.LeaseEnded(
        format_time(event.at),
        lease_id(tag_of(event.tenant), event.lease),
        event.leaf,
        event.reason,
        price(event.rate),
        optional_price(event.limit),
    )


def _limit_set(event: market.LimitSet) -> wire.Event:
    return wire.LimitSet(
        format_time(event.at),
        lease_id(tag_of(event.tenant), event.lease),
        event.leaf,
        optional_price(event.limit),
    )


def _fee(event: market.FeeCharged) -> wire.Event:
    return wire.FeeCharged(
        format_time(event.at),
        order_id(tag_of(event.tenant), event.order),
        event.scope,
        price(event.rate),
        format_time(event.until),
    )


def _budget_set(event: exchange.BudgetSet) -> wire.Event:
    if event.amount is None:
        return wire.BudgetSet(format_time(event.at), None)
    return wire.BudgetSet(
        format_time(event.at), format_amount(event.amount), action_text(event.action), event.kept
    )


def _budget_warning(event: exchange.BudgetWarning) -> wire.Event:
    return wire.BudgetWarning(
        format_time(event.at),
        event.percent,
        format_amount(event.spent),
        format_amount(event.amount),
        price(event.rate),
        optional_time(event.ends_at),
    )


def _budget_spent(event: exchange.BudgetSpent) -> wire.Event:
    return wire.BudgetSpent(
        format_time(event.at),
        action_text(event.action),
        format_amount(event.spent),
        format_amount(event.amount),
    )


def _own_caps(event: exchange.OwnCapsSet) -> wire.Event:
    return wire.OwnCapsSet(
        format_time(event.at), optional_price(event.rate), optional_price(event.worst_rate)
    )


def _webhook(event: exchange.WebhookEvent) -> str:
    return webhook_id(tag_of(event.holder), event.webhook)


def _webhook_created(event: exchange.WebhookCreated) -> wire.Event:
    return wire.WebhookCreated(
        format_time(event.at), _webhook(event), event.url, types_text(event.types), event.after
    )


def _controls(event: market.ControlsSet) -> wire.Event:
    return wire.ControlsSet(
        format_time(event.at),
        event.node,
        band(event.rise),
        band(event.fall),
        seconds(event.hold_us),
        seconds(event.flash_us),
    )


_RENDER: dict[type, tuple[type, Callable[[Any], wire.Event]]] = {
    market.OrderPlaced: (wire.OrderPlaced, _placed),
    market.OrderAmended: (wire.OrderAmended, _amended),
    market.OrderCancelled: (wire.OrderCancelled, _cancelled),
    market.LeaseStarted: (wire.LeaseStarted, _started),
    market.LeaseEnded: (wire.LeaseEnded, _ended),
    market.LimitSet: (wire.LimitSet, _limit_set),
    market.FeeCharged: (wire.FeeCharged, _fee),
    exchange.BudgetSet: (wire.BudgetSet, _budget_set),
    exchange.BudgetWarning: (wire.BudgetWarning, _budget_warning),
    exchange.BudgetSpent: (wire.BudgetSpent, _budget_spent),
    exchange.OwnCapsSet: (wire.OwnCapsSet, _own_caps),
    exchange.WebhookCreated: (wire.WebhookCreated, _webhook_created),
    exchange.WebhookDeleted: (
        wire.WebhookDeleted,
        lambda event: wire.WebhookDeleted(format_time(event.at), _webhook(event)),
    ),
    exchange.WebhookSecretRotated: (
        wire.WebhookSecretRotated,
        lambda event: wire.WebhookSecretRotated(format_time(event.at), _webhook(event)),
    ),
    exchange.WebhookRestarted: (
        wire.WebhookRestarted,
        lambda event: wire.WebhookRestarted(format_time(event.at), _webhook(event), event.after),
    ),
    market.FloorSet: (
        wire.FloorSet,
        lambda event: wire.FloorSet(
            format_time(event.at), event.node, price(event.price), event.clipped
        ),
    ),
    market.ControlsSet: (wire.ControlsSet, _controls),
    market.LeafTakenOffline: (
        wire.ResourceOffline,
        lambda event: wire.ResourceOffline(format_time(event.at), event.leaf),
    ),
    market.LeafBroughtOnline: (
        wire.ResourceOnline,
        lambda event: wire.ResourceOnline(format_time(event.at), event.leaf),
    ),
    market.BooksClosed: (
        wire.BooksClosed,
        lambda event: wire.BooksClosed(format_time(event.at), format_time(event.before)),
    ),
    exchange.TenantCreated: (
        wire.TenantCreated,
        lambda event: wire.TenantCreated(format_time(event.at), event.name, caps_text(event.caps)),
    ),
    exchange.CapsSet: (
        wire.CapsSet,
        lambda event: wire.CapsSet(format_time(event.at), event.name, caps_text(event.caps)),
    ),
    exchange.KeyIssued: (
        wire.KeyIssued,
        lambda event: wire.KeyIssued(
            format_time(event.at), event.key, event.holder, event.name, event.scopes
        ),
    ),
    exchange.KeyRevoked: (
        wire.KeyRevoked,
        lambda event: wire.KeyRevoked(format_time(event.at), event.key, event.holder),
    ),
}
EVENT_TYPES: tuple[str, ...] = tuple(
    [str(_RENDER[kind][0].__struct_config__.tag) for kind in exchange.EVENTS]  # type: ignore[attr-defined]
)
EVENT_CODES: dict[str, int] = {name: code for code, name in enumerate(EVENT_TYPES)}


def render(event: exchange.Event) -> wire.Event:
    return _RENDER[type(event)][1](event)


def render_for(applied: Applied, viewers: Container[str]) -> dict[str, list[wire.Numbered]]:
    """The events of an outcome that each viewer may see. Every event is rendered once."""
    seen: dict[str, list[wire.Numbered]] = {}
    for place, event in enumerate(applied.events):
        tenant = applied.tenants[place]
        shown: wire.Event | None = None
        if tenant is not None and tenant in viewers:
            shown = render(event)
            seen.setdefault(tenant, []).append(wire.Numbered(applied.numbers[place], shown))
        if OPERATOR in viewers:
            shown = render(event) if shown is None else shown
            numbered = wire.Numbered(applied.first + place, shown, tenant)
            seen.setdefault(OPERATOR, []).append(numbered)
    return seen


def rendered(applied: Applied, viewer: str) -> tuple[wire.Numbered, ...]:
    """The events of an outcome that a viewer may see."""
    return tuple(render_for(applied, (viewer,)).get(viewer, ()))
