"""Rendering of every event of the exchange: ids, prices and times instead of numbers, and nothing
about other tenants."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest

from laissez.exchange import events
from laissez.exchange.commands import OPERATOR, Action, Caps
from laissez.exchange.events import EVENTS, Applied, Event
from laissez.market import events as market
from laissez.market.commands import Alternative, Band, at_price
from laissez.market.reasons import EndReason
from laissez.wire import events as wire
from laissez.wire import requests
from laissez.wire.ids import tag_of
from laissez.wire.rendering import EVENT_CODES, EVENT_TYPES, render, rendered

AT, TIME = 3_600_000_000, "1970-01-01T01:00:00.000000Z"
LATER, LATER_TIME = 7_200_000_000, "1970-01-01T02:00:00.000000Z"
DOLLAR = 1_000_000
ANN, OPS = tag_of("ann"), tag_of(OPERATOR)
ALTERNATIVES = (Alternative("h100", DOLLAR // 2, 2 * DOLLAR), at_price("a100", DOLLAR))
IN_FORCE = [
    {"scope": "h100", "bid": "0.5", "limit": "2"},
    {"scope": "a100", "bid": "1", "limit": "1"},
]
BAND = Band(250_000, 60_000_000)
NO_CAPS: dict[str, Any] = msgspec.to_builtins(requests.Caps())
CAPS = Caps(open_orders=3, rate=2_500_000)

# the event, and its rendering without the time
RENDERED: tuple[tuple[Event, dict[str, Any]], ...] = (
    (
        market.OrderPlaced(AT, "ann", 1, ALTERNATIVES, False),
        {
            "type": "order.placed",
            "order": f"ord_{ANN}1",
            "alternatives": IN_FORCE,
            "clipped": False,
        },
    ),
    (
        market.OrderAmended(AT, "ann", 2, ALTERNATIVES, True),
        {
            "type": "order.amended",
            "order": f"ord_{ANN}2",
            "alternatives": IN_FORCE,
            "clipped": True,
        },
    ),
    (
        market.OrderCancelled(AT, "ann", 3),
        {"type": "order.cancelled", "order": f"ord_{ANN}3"},
    ),
    (
        market.LeaseStarted(AT, "ann", 4, "h100/1", 5, DOLLAR, 2 * DOLLAR, LATER),
        {
            "type": "lease.started",
            "lease": f"lse_{ANN}4",
            "leaf": "h100/1",
            "order": f"ord_{ANN}5",
            "rate": "1",
            "limit": "2",
            "hold_until": LATER_TIME,
        },
    ),
    (
        market.LeaseEnded(AT, "ann", 4, "h100/1", EndReason.OUTBID, 3 * DOLLAR, None),
        {
            "type": "lease.ended",
            "lease": f"lse_{ANN}4",
            "leaf": "h100/1",
            "reason": "outbid",
            "rate": "3",
            "limit": None,
        },
    ),
    (
        market.LimitSet(AT, "ann", 4, "h100/1", 1),
        {
            "type": "lease.limit_set",
            "lease": f"lse_{ANN}4",
            "leaf": "h100/1",
            "limit": "0.000001",
        },
    ),
    (
        market.FeeCharged(AT, "ann", 3, "h100", DOLLAR, LATER),
        {
            "type": "fee.charged",
            "order": f"ord_{ANN}3",
            "scope": "h100",
            "rate": "1",
            "until": LATER_TIME,
        },
    ),
    (
        events.BudgetSet(AT, "ann", 36 * DOLLAR, Action.LIMITS_TO_FLOOR, True),
        {
            "type": "budget.set",
            "amount": "36.000000",
            "action": "limits_to_floor",
            "kept": True,
        },
    ),
    (
        events.BudgetWarning(AT, "ann", 80, 28_800_001, 36 * DOLLAR, DOLLAR, None),
        {
            "type": "budget.warning",
            "percent": 80,
            "spent": "28.800001",
            "amount": "36.000000",
            "rate": "1",
            "ends_at": None,
        },
    ),
    (
        events.BudgetSpent(AT, "ann", Action.RELINQUISH, DOLLAR, DOLLAR),
        {
            "type": "budget.spent",
            "action": "relinquish",
            "spent": "1.000000",
            "amount": "1.000000",
        },
    ),
    (
        events.OwnCapsSet(AT, "ann", 2_500_000, None),
        {"type": "caps.set", "rate": "2.5", "worst_rate": None},
    ),
    (
        events.WebhookCreated(AT, "ann", 6, "https://ann.example/hook", (0, 3), 17),
        {
            "type": "webhook.created",
            "webhook": f"whk_{ANN}6",
            "url": "https://ann.example/hook",
            "types": ["order.placed", "lease.started"],
            "after": 17,
        },
    ),
    (
        events.WebhookDeleted(AT, "ann", 6),
        {"type": "webhook.deleted", "webhook": f"whk_{ANN}6"},
    ),
    (
        events.WebhookSecretRotated(AT, OPERATOR, 7),
        {"type": "webhook.secret_rotated", "webhook": f"whk_{OPS}7"},
    ),
    (
        events.WebhookRestarted(AT, "ann", 6, 9),
        {"type": "webhook.restarted", "webhook": f"whk_{ANN}6", "after": 9},
    ),
    (
        market.FloorSet(AT, "h100", DOLLAR, True),
        {"type": "floor.set", "node": "h100", "price": "1", "clipped": True},
    ),
    (
        market.ControlsSet(AT, "h100", BAND, None, 1_500_000, None),
        {
            "type": "controls.set",
            "node": "h100",
            "rise": {"fraction": "0.25", "seconds": 60.0},
            "fall": None,
            "hold_s": 1.5,
            "flash_s": None,
        },
    ),
    (market.LeafTakenOffline(AT, "h100/1"), {"type": "resource.offline", "leaf": "h100/1"}),
    (market.LeafBroughtOnline(AT, "h100/1"), {"type": "resource.online", "leaf": "h100/1"}),
    (market.BooksClosed(AT, LATER), {"type": "books.closed", "before": LATER_TIME}),
    (
        events.TenantCreated(AT, "ann", CAPS),
        {
            "type": "tenant.created",
            "name": "ann",
            "caps": {**NO_CAPS, "open_orders": 3, "rate": "2.5"},
        },
    ),
    (
        events.CapsSet(AT, "ann", Caps()),
        {"type": "tenant.caps_set", "name": "ann", "caps": NO_CAPS},
    ),
    (
        events.KeyIssued(AT, "key_1", "ann", "laptop", ("read",)),
        {
            "type": "key.issued",
            "key": "key_1",
            "holder": "ann",
            "name": "laptop",
            "scopes": ["read"],
        },
    ),
    (
        events.KeyRevoked(AT, "key_1", "ann"),
        {"type": "key.revoked", "key": "key_1", "holder": "ann"},
    ),
)


@pytest.mark.parametrize(("event", "sent"), RENDERED, ids=[one["type"] for _, one in RENDERED])
def test_an_event_is_rendered_with_ids_prices_and_times(event: Event, sent: dict[str, Any]) -> None:
    found = render(event)
    assert {"at": TIME, **sent} == msgspec.json.decode(msgspec.json.encode(found))
    assert found == msgspec.json.decode(msgspec.json.encode(found), type=wire.Event)


def test_every_kind_of_event_is_rendered_and_has_a_type_of_its_own() -> None:
    assert set(EVENTS) == {type(event) for event, _ in RENDERED}
    assert [sent["type"] for _, sent in RENDERED] == list(EVENT_TYPES)
    assert len(EVENT_TYPES) == len(set(EVENT_TYPES)) == len(EVENT_CODES)
    assert all(code == EVENT_CODES[name] for code, name in enumerate(EVENT_TYPES))
    assert set(EVENT_TYPES) == {kind.__struct_config__.tag for kind in get_args(wire.Event)}


@pytest.mark.parametrize(
    ("event", "field"),
    [
        (market.LeaseStarted(AT, "ann", 1, "h100/1", 1, 0, 0, None), "hold_until"),
        (market.LimitSet(AT, "ann", 1, "h100/1", None), "limit"),
        (events.BudgetSet(AT, "ann", None, Action.WARN, False), "amount"),
        (events.WebhookCreated(AT, "ann", 1, "https://ann.example", None, 0), "types"),
    ],
)
def test_absent_values_are_null(event: Event, field: str) -> None:
    assert getattr(render(event), field) is None


def test_a_tenant_gets_its_own_events_and_the_operator_all_with_tenants() -> None:
    happened: tuple[Event, ...] = (
        market.OrderPlaced(AT, "ann", 1, ALTERNATIVES, False),
        market.FloorSet(AT, "h100", DOLLAR, False),
        market.OrderPlaced(AT, "bob", 1, ALTERNATIVES, False),
        events.WebhookDeleted(AT, OPERATOR, 1),
    )
    applied = Applied(40, happened, ("ann", None, "bob", None), (5, 0, 9, 0), None)
    assert (wire.Numbered(5, render(happened[0])),) == rendered(applied, "ann")
    assert (wire.Numbered(9, render(happened[2])),) == rendered(applied, "bob")
    assert () == rendered(applied, "eve")
    assert [(40, "ann"), (41, None), (42, "bob"), (43, None)] == [
        (one.n, one.tenant) for one in rendered(applied, OPERATOR)
    ]
