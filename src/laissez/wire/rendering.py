"""Render the exchange's events for the API: numbers become ids, prices and times.

Rendering is a pure function of the event, its number and the viewer. So it can happen at any later
time: when the event is durable, or when a stream resumes a day later.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any, Final

from msgspec.structs import astuple

from laissez.exchange import events as exchange
from laissez.exchange.commands import OPERATOR, Action, Caps
from laissez.exchange.events import Applied
from laissez.market import events as market
from laissez.market.commands import Alternative
from laissez.market.commands import Band as MarketBand
from laissez.units import SECOND_US, format_amount, format_price, format_time
from laissez.wire import events as wire
from laissez.wire import requests
from laissez.wire.events import Event, Numbered
from laissez.wire.ids import lease_id, order_id, tag_of, webhook_id

# The same few prices come again and again.
_prices: Final[dict[int, str]] = {}
PRICES_MAX: Final = 1 << 16


def price(micro: int) -> str:
    text = _prices.get(micro)
    if text is None:
        if len(_prices) >= PRICES_MAX:
            _prices.clear()
        text = _prices[micro] = format_price(micro)
    return text


def optional_price(micro: int | None) -> str | None:
    return None if micro is None else price(micro)


def optional_time(us: int | None) -> str | None:
    return None if us is None else format_time(us)


def alternatives_text(alternatives: tuple[Alternative, ...]) -> tuple[requests.Alternative, ...]:
    return tuple([_alternative(one) for one in alternatives])


def _alternative(one: Alternative) -> requests.Alternative:
    limit = price(one.limit)
    return requests.Alternative(one.scope, limit, limit if one.bid == one.limit else price(one.bid))


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


# How fields of events are rendered, by name: functions of the value and the tag of the tenant or
# holder. All other fields are shown as they are.
_RENDER_FIELD: dict[str, Callable[[Any, str], object]] = {
    "at": lambda us, _: format_time(us),
    "until": lambda us, _: format_time(us),
    "before": lambda us, _: format_time(us),
    "ends_at": lambda us, _: optional_time(us),
    "hold_until": lambda us, _: optional_time(us),
    "hold_us": lambda us, _: seconds(us),
    "flash_us": lambda us, _: seconds(us),
    "order": lambda number, tag: order_id(tag, number),
    "lease": lambda number, tag: lease_id(tag, number),
    "webhook": lambda number, tag: webhook_id(tag, number),
    "rate": lambda micro, _: optional_price(micro),
    "worst_rate": lambda micro, _: optional_price(micro),
    "limit": lambda micro, _: optional_price(micro),
    "price": lambda micro, _: price(micro),
    "spent": lambda micro, _: format_amount(micro),
    "amount": lambda micro, _: None if micro is None else format_amount(micro),
    "alternatives": lambda alternatives, _: alternatives_text(alternatives),
    "rise": lambda setting, _: band(setting),
    "fall": lambda setting, _: band(setting),
    "caps": lambda caps, _: caps_text(caps),
    "action": lambda action, _: "" if action is None else action_text(action),
    "types": lambda types, _: types_text(types),
}
# The tenant of an event, and the holder of a webhook, are not shown: they are whose event it is.
_OWNER: Final = 1  # the place of the field after `at`
_SHOWN: tuple[tuple[type, type], ...] = (
    (market.OrderPlaced, wire.OrderPlaced),
    (market.OrderAmended, wire.OrderAmended),
    (market.OrderCancelled, wire.OrderCancelled),
    (market.LeaseStarted, wire.LeaseStarted),
    (market.LeaseEnded, wire.LeaseEnded),
    (market.LimitSet, wire.LimitSet),
    (market.FeeCharged, wire.FeeCharged),
    (exchange.BudgetSet, wire.BudgetSet),
    (exchange.BudgetWarning, wire.BudgetWarning),
    (exchange.BudgetSpent, wire.BudgetSpent),
    (exchange.OwnCapsSet, wire.OwnCapsSet),
    (exchange.WebhookCreated, wire.WebhookCreated),
    (exchange.WebhookDeleted, wire.WebhookDeleted),
    (exchange.WebhookSecretRotated, wire.WebhookSecretRotated),
    (exchange.WebhookRestarted, wire.WebhookRestarted),
    (market.FloorSet, wire.FloorSet),
    (market.ControlsSet, wire.ControlsSet),
    (market.LeafTakenOffline, wire.ResourceOffline),
    (market.LeafBroughtOnline, wire.ResourceOnline),
    (market.BooksClosed, wire.BooksClosed),
    (exchange.TenantCreated, wire.TenantCreated),
    (exchange.CapsSet, wire.CapsSet),
    (exchange.KeyIssued, wire.KeyIssued),
    (exchange.KeyRevoked, wire.KeyRevoked),
)


class _Rendering:
    """How one kind of event is rendered."""

    def __init__(self, event: Any, shown: Any) -> None:
        self.shown: Callable[..., Event] = shown
        fields: tuple[str, ...] = event.__struct_fields__
        self.has_owner = len(fields) > len(shown.__struct_fields__)
        assert not self.has_owner or fields[_OWNER] in ("tenant", "holder")
        self.convert = [
            (place, _RENDER_FIELD[name])
            for place, name in enumerate(fields)
            if name in _RENDER_FIELD
        ]


_RENDERINGS: Final = {event: _Rendering(event, shown) for event, shown in _SHOWN}
EVENT_TYPES: Final[tuple[str, ...]] = tuple(
    [str(shown.__struct_config__.tag) for _, shown in _SHOWN]  # type: ignore[attr-defined]
)
EVENT_CODES: dict[str, int] = {name: code for code, name in enumerate(EVENT_TYPES)}


def render(event: exchange.Event) -> Event:
    rendering = _RENDERINGS[type(event)]
    values: list[Any] = [*astuple(event)]
    tag = tag_of(values[_OWNER]) if rendering.has_owner else ""
    for place, convert in rendering.convert:
        values[place] = convert(values[place], tag)
    if rendering.has_owner:
        del values[_OWNER]
    return rendering.shown(*values)


def render_for(applied: Applied, viewers: Container[str]) -> list[tuple[str, Numbered]]:
    """The events of an outcome for those of the viewers who may see them, in their order. Every
    event is rendered once."""
    seen: list[tuple[str, Numbered]] = []
    is_operator_there = OPERATOR in viewers
    tenants, numbers, first = applied.tenants, applied.numbers, applied.first
    for place, event in enumerate(applied.events):
        tenant = tenants[place]
        is_tenant_there = tenant is not None and tenant in viewers
        if not is_tenant_there and not is_operator_there:
            continue
        shown = render(event)
        if is_tenant_there:
            assert tenant is not None
            seen.append((tenant, Numbered(numbers[place], shown)))
        if is_operator_there:
            seen.append((OPERATOR, Numbered(first + place, shown, tenant)))
    return seen


def rendered(applied: Applied, viewer: str) -> tuple[Numbered, ...]:
    """The events of an outcome that a viewer may see."""
    return tuple([numbered for _, numbered in render_for(applied, (viewer,))])
