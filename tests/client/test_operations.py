"""The requests of the REST API, built without sending them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from laissez.client import (
    AsyncClient,
    BandSetting,
    Client,
    UsageError,
    alternative,
)
from laissez.client.request import Request, next_page, price_text
from laissez.server.http.operations import OPERATIONS
from laissez.wire.inframaps import InfraMapsReport
from laissez.wire.requests import CancelOrder, Caps, SetFloor
from laissez.wire.views import Page
from support.client_methods import Unsent, methods_of_operations

pytestmark = pytest.mark.once

HOOK = "https://hooks.example.com/x"


operations: Any = Unsent()

NOT_FOR_PROGRAMS = {
    "signIn": "for browsers: programs send their key",
    "getSignIn": "for browsers",
    "signOut": "for browsers",
    "getMetrics": "for Prometheus",
    "getOpenApi": "for generators of clients",
    "getDocs": "a page for people",
}


def test_every_operation_has_a_method() -> None:
    assert (
        NOT_FOR_PROGRAMS.keys() == {one.name for one in OPERATIONS} - methods_of_operations().keys()
    )


@pytest.mark.parametrize(
    ("built", "method", "path", "body"),
    [
        (
            operations.place(alternative("h100", "3.50", 2)),
            "POST",
            "/v1/orders",
            {"alternatives": [{"scope": "h100", "limit": "3.50", "bid": "2"}]},
        ),
        (
            operations.amend("ord_a1", alternative("h100", 3)),
            "PUT",
            "/v1/orders/ord_a1",
            {"alternatives": [{"scope": "h100", "limit": "3"}]},
        ),
        (operations.cancel("ord_a1"), "DELETE", "/v1/orders/ord_a1", None),
        (operations.set_limit("lse_a1", None), "PATCH", "/v1/leases/lse_a1", {"limit": None}),
        (
            operations.set_limit("lse_a1", Decimal("1e1")),
            "PATCH",
            "/v1/leases/lse_a1",
            {"limit": "10"},
        ),
        (operations.relinquish("lse_a1"), "DELETE", "/v1/leases/lse_a1", None),
        (operations.stop("ins_a1"), "DELETE", "/v1/instances/ins_a1", None),
        (
            operations.set_online("h100/r1/g 0", False),
            "PATCH",
            "/v1/resources/h100/r1/g%200",
            {"online": False},
        ),
        (operations.set_floor("h100/r1", "0.5"), "PUT", "/v1/floors/h100/r1", {"price": "0.5"}),
        (operations.remove_controls("h100"), "DELETE", "/v1/controls/h100", None),
        (operations.create_tenant("ann"), "POST", "/v1/tenants", {"name": "ann", "caps": {}}),
        (
            operations.set_caps("a/b", Caps(sessions=2)),
            "PATCH",
            "/v1/tenants/a%2Fb",
            {"caps": {"sessions": 2}},
        ),
        (
            operations.issue_key("ann"),
            "POST",
            "/v1/tenants/ann/keys",
            {"scopes": ["read", "trade"], "name": "default"},
        ),
        (
            operations.issue_key(name="ci"),
            "POST",
            "/v1/keys",
            {"scopes": ["read", "operate"], "name": "ci"},
        ),
        (operations.revoke_key("key_1"), "DELETE", "/v1/keys/key_1", None),
        (
            operations.set_budget(250),
            "PUT",
            "/v1/budget",
            {"amount": "250", "action": "warn", "keep": False},
        ),
        (
            operations.set_budget(250, "relinquish", keep=True),
            "PUT",
            "/v1/budget",
            {"amount": "250", "action": "relinquish", "keep": True},
        ),
        (operations.set_own_caps("40"), "PUT", "/v1/caps", {"rate": "40", "worst_rate": None}),
        (operations.remove_budget(), "DELETE", "/v1/budget", None),
        (
            operations.create_webhook(HOOK),
            "POST",
            "/v1/webhooks",
            {"url": HOOK, "types": None, "after": None},
        ),
        (
            operations.create_webhook(HOOK, types=["a"], after=7),
            "POST",
            "/v1/webhooks",
            {"url": HOOK, "types": ["a"], "after": 7},
        ),
        (operations.delete_webhook("whk_a1"), "DELETE", "/v1/webhooks/whk_a1", None),
        (operations.rotate_webhook_secret("whk_a1"), "POST", "/v1/webhooks/whk_a1/secret", None),
        (
            operations.redeliver("whk_a1", 7),
            "POST",
            "/v1/webhooks/whk_a1/redeliver",
            {"after": 7},
        ),
        (
            operations.batch([CancelOrder(order="ord_a1")]),
            "POST",
            "/v1/batch",
            {"commands": [{"type": "cancel_order", "order": "ord_a1"}]},
        ),
    ],
)
def test_a_change_matches_the_api_and_has_an_idempotency_key(
    built: Request[Any], method: str, path: str, body: object
) -> None:
    assert (method, path) == (built.method, built.path)
    assert body == (None if built.body is None else msgspec.json.decode(built.body))
    assert built.idempotency_key is not None
    assert built.headers["Idempotency-Key"] == built.idempotency_key


@pytest.mark.parametrize(
    ("built", "path", "params"),
    [
        (operations.order_history("ord_a1"), "/v1/orders/ord_a1/history", {"limit": "1000"}),
        (operations.quote("h100/r1"), "/v1/prices", {"scope": "h100/r1"}),
        (operations.quotes(), "/v1/prices", {"limit": "1000"}),
        (operations.orders(tenant="ann"), "/v1/orders", {"tenant": "ann", "limit": "1000"}),
        (operations.events(17, 20), "/v1/events", {"after": "17", "limit": "20"}),
        (operations.topology("h100"), "/v1/topology", {"node": "h100", "limit": "1000"}),
        (
            operations.bill(datetime(2026, 11, 1, tzinfo=UTC), tenant="ann"),
            "/v1/bills",
            {"since": "2026-11-01T00:00:00+00:00", "tenant": "ann"},
        ),
        (operations.book("h100/r1"), "/v1/books/h100/r1", {}),
        (
            operations.rates("h100", datetime(2026, 11, 1, tzinfo=UTC)),
            "/v1/rates/h100",
            {"since": "2026-11-01T00:00:00+00:00"},
        ),
        (operations.levels(), "/v1/levels", {}),
        (operations.bill_csv("focus"), "/v1/bills", {"format": "focus"}),
        (operations.keys("ann"), "/v1/tenants/ann/keys", {"limit": "1000"}),
        (operations.inframaps(), "/v1/inframaps", {}),
        (
            operations.inframaps("2026-11-15T08:30:00Z"),
            "/v1/inframaps",
            {"since": "2026-11-15T08:30:00Z"},
        ),
        (operations.budget("ann"), "/v1/budget", {"tenant": "ann"}),
        (operations.own_caps("ann"), "/v1/caps", {"tenant": "ann"}),
        (operations.spending(), "/v1/spending", {"limit": "1000"}),
        (operations.webhooks(), "/v1/webhooks", {"limit": "1000"}),
        (operations.webhook("whk_a1"), "/v1/webhooks/whk_a1", {}),
        (
            operations.dead_letters("whk_a1"),
            "/v1/webhooks/whk_a1/dead-letters",
            {"limit": "1000"},
        ),
        (operations.market_history(), "/v1/market/history", {}),
    ],
)
def test_a_read_matches_the_api_and_has_no_idempotency_key(
    built: Request[Any], path: str, params: dict[str, str]
) -> None:
    assert ("GET", path, params) == (built.method, built.path, built.params)
    assert "Idempotency-Key" not in built.headers


def test_the_cursor_of_a_page_replaces_the_number_to_start_after() -> None:
    page: Page[Any] = Page(("an event",), True, "c1")
    following = next_page(operations.events(17, tenant="ann"), page)
    assert following is not None
    assert {"cursor": "c1", "tenant": "ann", "limit": "1000"} == following.params


def test_a_report_of_maps_has_no_idempotency_key() -> None:
    built = operations.report_inframaps(
        "row 1", InfraMapsReport("2026-11-15T08:30:00Z", 10.0, (), (), ())
    )
    assert ("PUT", "/v1/inframaps/row%201", None) == (
        built.method,
        built.path,
        built.idempotency_key,
    )
    assert {
        "at": "2026-11-15T08:30:00Z",
        "pace_s": 10.0,
        "maps": [],
        "floors": [],
        "alarms": [],
    } == msgspec.json.decode(built.body or b"")


def test_run_sends_all_its_arguments() -> None:
    body = msgspec.json.decode(operations.run("h100", count=3, max_price="2.5").body or b"")
    assert {
        "count": 3,
        "type": "h100",
        "scope": None,
        "near": None,
        "level": None,
        "max_price": "2.5",
    } == body


def test_a_preview_has_no_idempotency_key() -> None:
    built = operations.preview([SetFloor(node="h100", price="2")])
    assert ("POST", "/v1/preview", None) == (built.method, built.path, built.idempotency_key)
    assert {
        "commands": [{"type": "set_floor", "node": "h100", "price": "2"}]
    } == msgspec.json.decode(built.body or b"")


def test_controls_are_sent_with_their_bands() -> None:
    body = msgspec.json.decode(
        operations.set_controls("h100", rise=BandSetting("0.1", 60), hold_s=30).body or b""
    )
    assert {
        "rise": {"fraction": "0.1", "seconds": 60},
        "fall": None,
        "hold_s": 30,
        "flash_s": None,
    } == body


def test_each_change_gets_its_own_key_unless_the_caller_gives_one() -> None:
    assert (
        operations.cancel("ord_a1").idempotency_key != operations.cancel("ord_a1").idempotency_key
    )
    assert "mine" == operations.cancel("ord_a1", idempotency_key="mine").idempotency_key


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: operations.cancel(""),
        lambda: operations.lease(".."),
        lambda: operations.set_floor("h100//r1", 1),
        lambda: operations.set_floor("h100/../r1", 1),
        lambda: operations.cancel("ord_a1", idempotency_key="x" * 65),
        lambda: operations.cancel("ord_a1", idempotency_key="two words"),
        lambda: operations.bill(datetime(2026, 11, 1)),  # noqa: DTZ001  no zone: refused
    ],
)
def test_invalid_arguments_are_refused(wrong: Callable[[], object]) -> None:
    with pytest.raises(UsageError):
        wrong()


@pytest.mark.parametrize(
    ("price", "text"),
    [("2.75", "2.75"), (3, "3"), (Decimal("2.50"), "2.50"), (Decimal("1E-6"), "0.000001")],
)
def test_a_price_becomes_its_decimal_text(price: str | int | Decimal, text: str) -> None:
    assert text == price_text(price)


@pytest.mark.parametrize("price", [2.75, True, Decimal("nan"), None])
def test_a_float_is_refused_as_a_price(price: Any) -> None:
    with pytest.raises(UsageError, match="expected a price as text"):
        price_text(price)


def test_both_clients_have_the_same_methods() -> None:
    public = [
        {name for name in dir(kind) if not name.startswith("_")} for kind in (Client, AsyncClient)
    ]
    assert public[0] == public[1]
    assert {"place", "follow", "revoke_key", "bill_csv"} <= public[0]


def test_a_method_keeps_its_signature_and_docstring() -> None:
    client = Client("http://127.0.0.1:1")
    assert ["alternatives", "idempotency_key"] == list(inspect.signature(client.place).parameters)
    assert "Place an order" in (client.place.__doc__ or "")
    assert client.place is client.place
