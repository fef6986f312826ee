"""What the client would send and how it reads answers, without sending anything; and where a key
may go."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from laissez.client import (
    AsyncClient,
    AsyncSession,
    BandSetting,
    Client,
    Session,
    UsageError,
    alternative,
    calls,
    webhook_calls,
)
from laissez.client.access import find_access
from laissez.client.call import Call
from laissez.client.prices import price_text
from laissez.wire.inframaps import InfraMapsReport
from laissez.wire.requests import CancelOrder, Caps, SetFloor

pytestmark = pytest.mark.once

KEY = "lz_4f2a_" + "S" * 43
HOOK = "https://hooks.example.com/x"


@pytest.mark.parametrize(
    ("call", "method", "path", "body"),
    [
        (
            calls.place(alternative("h100", "3.50", 2)),
            "POST",
            "/v1/orders",
            {"alternatives": [{"scope": "h100", "limit": "3.50", "bid": "2"}]},
        ),
        (
            calls.amend("ord_a1", alternative("h100", 3)),
            "PUT",
            "/v1/orders/ord_a1",
            {"alternatives": [{"scope": "h100", "limit": "3"}]},
        ),
        (calls.cancel("ord_a1"), "DELETE", "/v1/orders/ord_a1", None),
        (calls.set_limit("lse_a1", None), "PATCH", "/v1/leases/lse_a1", {"limit": None}),
        (calls.set_limit("lse_a1", Decimal("1e1")), "PATCH", "/v1/leases/lse_a1", {"limit": "10"}),
        (calls.relinquish("lse_a1"), "DELETE", "/v1/leases/lse_a1", None),
        (calls.stop("ins_a1"), "DELETE", "/v1/instances/ins_a1", None),
        (
            calls.set_online("h100/r1/g 0", False),
            "PATCH",
            "/v1/resources/h100/r1/g%200",
            {"online": False},
        ),
        (calls.set_floor("h100/r1", "0.5"), "PUT", "/v1/floors/h100/r1", {"price": "0.5"}),
        (calls.remove_controls("h100"), "DELETE", "/v1/controls/h100", None),
        (calls.create_tenant("ann"), "POST", "/v1/tenants", {"name": "ann", "caps": {}}),
        (
            calls.set_caps("a/b", Caps(sessions=2)),
            "PATCH",
            "/v1/tenants/a%2Fb",
            {"caps": {"sessions": 2}},
        ),
        (
            calls.issue_key("ann"),
            "POST",
            "/v1/tenants/ann/keys",
            {"scopes": ["read", "trade"], "name": "default"},
        ),
        (
            calls.issue_key(name="ci"),
            "POST",
            "/v1/keys",
            {"scopes": ["read", "operate"], "name": "ci"},
        ),
        (calls.revoke_key("key_1"), "DELETE", "/v1/keys/key_1", None),
        (
            calls.set_budget(250),
            "PUT",
            "/v1/budget",
            {"amount": "250", "action": "warn", "keep": False},
        ),
        (
            calls.set_budget(250, "relinquish", keep=True),
            "PUT",
            "/v1/budget",
            {"amount": "250", "action": "relinquish", "keep": True},
        ),
        (calls.set_own_caps("40"), "PUT", "/v1/caps", {"rate": "40", "worst_rate": None}),
        (calls.remove_budget(), "DELETE", "/v1/budget", None),
        (
            webhook_calls.create_webhook(HOOK),
            "POST",
            "/v1/webhooks",
            {"url": HOOK, "types": None, "after": None},
        ),
        (
            webhook_calls.create_webhook(HOOK, types=["a"], after=7),
            "POST",
            "/v1/webhooks",
            {"url": HOOK, "types": ["a"], "after": 7},
        ),
        (webhook_calls.delete_webhook("whk_a1"), "DELETE", "/v1/webhooks/whk_a1", None),
        (webhook_calls.rotate_webhook_secret("whk_a1"), "POST", "/v1/webhooks/whk_a1/secret", None),
        (
            webhook_calls.redeliver("whk_a1", 7),
            "POST",
            "/v1/webhooks/whk_a1/redeliver",
            {"after": 7},
        ),
        (
            calls.batch([CancelOrder(order="ord_a1")]),
            "POST",
            "/v1/batch",
            {"commands": [{"type": "cancel_order", "order": "ord_a1"}]},
        ),
    ],
)
def test_a_change_is_sent_as_the_api_asks_and_has_a_key(
    call: Call[Any], method: str, path: str, body: object
) -> None:
    assert (method, path) == (call.method, call.path)
    assert body == (None if call.body is None else msgspec.json.decode(call.body))
    assert call.idempotency_key is not None
    assert call.headers["Idempotency-Key"] == call.idempotency_key


@pytest.mark.parametrize(
    ("call", "path", "params"),
    [
        (calls.quote("h100/r1"), "/v1/prices", {"scope": "h100/r1"}),
        (calls.quotes(), "/v1/prices", {"limit": "1000"}),
        (calls.orders(tenant="ann"), "/v1/orders", {"tenant": "ann", "limit": "1000"}),
        (calls.events(17, 20), "/v1/events", {"after": "17", "limit": "20"}),
        (calls.topology("h100"), "/v1/topology", {"node": "h100", "limit": "1000"}),
        (
            calls.bill(datetime(2026, 11, 1, tzinfo=UTC), tenant="ann"),
            "/v1/bills",
            {"since": "2026-11-01T00:00:00+00:00", "tenant": "ann"},
        ),
        (calls.book("h100/r1"), "/v1/books/h100/r1", {}),
        (
            calls.rates("h100", datetime(2026, 11, 1, tzinfo=UTC)),
            "/v1/rates/h100",
            {"since": "2026-11-01T00:00:00+00:00"},
        ),
        (calls.levels(), "/v1/levels", {}),
        (calls.bill_csv("focus"), "/v1/bills", {"format": "focus"}),
        (calls.keys("ann"), "/v1/tenants/ann/keys", {"limit": "1000"}),
        (calls.inframaps(), "/v1/inframaps", {}),
        (
            calls.inframaps("2026-11-15T08:30:00Z"),
            "/v1/inframaps",
            {"since": "2026-11-15T08:30:00Z"},
        ),
        (calls.budget("ann"), "/v1/budget", {"tenant": "ann"}),
        (calls.own_caps("ann"), "/v1/caps", {"tenant": "ann"}),
        (calls.spending(), "/v1/spending", {"limit": "1000"}),
        (webhook_calls.webhooks(), "/v1/webhooks", {"limit": "1000"}),
        (webhook_calls.webhook("whk_a1"), "/v1/webhooks/whk_a1", {}),
        (
            webhook_calls.dead_letters("whk_a1"),
            "/v1/webhooks/whk_a1/dead-letters",
            {"limit": "1000"},
        ),
        (calls.market_history(), "/v1/market/history", {}),
    ],
)
def test_a_question_has_no_key_and_names_what_it_asks(
    call: Call[Any], path: str, params: dict[str, str]
) -> None:
    assert ("GET", path, params) == (call.method, call.path, call.params)
    assert "Idempotency-Key" not in call.headers


def test_a_report_of_maps_has_no_key_because_only_the_last_one_counts() -> None:
    call = calls.report_inframaps(
        "row 1", InfraMapsReport("2026-11-15T08:30:00Z", 10.0, (), (), ())
    )
    assert ("PUT", "/v1/inframaps/row%201", None) == (call.method, call.path, call.idempotency_key)
    assert {
        "at": "2026-11-15T08:30:00Z",
        "pace_s": 10.0,
        "maps": [],
        "floors": [],
        "alarms": [],
    } == msgspec.json.decode(call.body or b"")


def test_all_of_a_request_for_instances_is_sent() -> None:
    body = msgspec.json.decode(calls.run("h100", count=3, max_price="2.5").body or b"")
    assert {
        "count": 3,
        "type": "h100",
        "scope": None,
        "near": None,
        "level": None,
        "max_price": "2.5",
    } == body


def test_a_preview_is_sent_without_a_key_because_it_changes_nothing() -> None:
    call = calls.preview([SetFloor(node="h100", price="2")])
    assert ("POST", "/v1/preview", None) == (call.method, call.path, call.idempotency_key)
    assert {
        "commands": [{"type": "set_floor", "node": "h100", "price": "2"}]
    } == msgspec.json.decode(call.body or b"")


def test_controls_are_sent_with_their_bands() -> None:
    body = msgspec.json.decode(
        calls.set_controls("h100", rise=BandSetting("0.1", 60), hold_s=30).body or b""
    )
    assert {
        "rise": {"fraction": "0.1", "seconds": 60},
        "fall": None,
        "hold_s": 30,
        "flash_s": None,
    } == body


def test_each_change_has_its_own_key_unless_the_caller_names_one() -> None:
    assert calls.cancel("ord_a1").idempotency_key != calls.cancel("ord_a1").idempotency_key
    assert "mine" == calls.cancel("ord_a1", idempotency_key="mine").idempotency_key


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: calls.cancel(""),
        lambda: calls.lease(".."),
        lambda: calls.set_floor("h100//r1", 1),
        lambda: calls.set_floor("h100/../r1", 1),
        lambda: calls.cancel("ord_a1", idempotency_key="x" * 65),
        lambda: calls.cancel("ord_a1", idempotency_key="two words"),
        lambda: calls.bill(datetime(2026, 11, 1)),  # noqa: DTZ001  no zone: refused
    ],
)
def test_what_would_ask_for_something_else_is_refused(wrong: Callable[[], object]) -> None:
    with pytest.raises(UsageError):
        wrong()


@pytest.mark.parametrize(
    ("price", "text"),
    [("2.75", "2.75"), (3, "3"), (Decimal("2.50"), "2.50"), (Decimal("1E-6"), "0.000001")],
)
def test_a_price_becomes_its_decimal_text(price: str | int | Decimal, text: str) -> None:
    assert text == price_text(price)


@pytest.mark.parametrize("price", [2.75, True, Decimal("nan"), None])
def test_a_float_is_no_price(price: Any) -> None:
    with pytest.raises(UsageError, match="expected a price as text"):
        price_text(price)


def test_arguments_come_before_the_environment(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("lz_of_the_file\n")
    environment = {
        "LAISSEZ_URL": "https://market.example/",
        "LAISSEZ_KEY_FILE": str(tmp_path / "key"),
    }
    found = find_access(None, None, False, environment)
    assert ("https://market.example", "lz_of_the_file") == (found.url, found.key)
    assert "lz_env" == find_access(None, None, False, {**environment, "LAISSEZ_KEY": "lz_env"}).key
    assert "lz_arg" == find_access(None, "lz_arg", False, environment).key
    assert ("http://127.0.0.1:8340", None) == (
        find_access(None, None, False, {}).url,
        find_access(None, None, False, {}).key,
    )


def test_a_session_is_at_the_same_place() -> None:
    assert (
        "wss://market.example/v1/session"
        == find_access("https://market.example/", None, False, {}).session_url
    )


@pytest.mark.parametrize(
    "host", ["127.0.0.1:80", "localhost", "[::1]:8340", "127.8.9.1", "[::ffff:127.0.0.1]"]
)
def test_a_key_may_travel_in_the_clear_on_this_machine(host: str) -> None:
    assert find_access(f"http://{host}", KEY, False, {}).is_local


@pytest.mark.parametrize(
    "host",
    [
        "market.example",
        "10.0.0.1",
        "localhost.example",
        "127.0.0.1.example",
        "[::ffff:10.0.0.1]",
        "[::]",
    ],
)
def test_a_key_does_not_leave_this_machine_in_the_clear(host: str) -> None:
    with pytest.raises(UsageError, match="use https") as refused:
        find_access(f"http://{host}", KEY, False, {})
    assert KEY not in str(refused.value)
    assert KEY == find_access(f"http://{host}", KEY, True, {}).key
    assert KEY == find_access(f"https://{host}", KEY, False, {}).key
    assert None is find_access(f"http://{host}", None, False, {}).key


NO_HOSTS = [
    "http://a..b",
    f"http://{'a' * 300}",
    "http://xn--a",
    "http://a\u200db",
    "http://\udcff",
    f"http://x/{'a' * 70_000}",
]


@pytest.mark.parametrize(
    "url",
    [
        "market.example",
        "ftp://market.example",
        "http://",
        "http://x:port",
        "https://x/?a=1",
        f"https://ann:{KEY}@x",
        *NO_HOSTS,
    ],
)
def test_a_url_that_is_none_is_refused_without_showing_secrets(url: str) -> None:
    with pytest.raises(UsageError) as refused:
        find_access(url, None, False, {})
    assert KEY not in str(refused.value)


@pytest.mark.parametrize("key", ["", " ", f"{KEY}\r\nX: y", "schlüssel"])
def test_a_key_that_no_header_can_hold_is_refused_unseen(key: str) -> None:
    with pytest.raises(UsageError, match="the key is not shown") as refused:
        find_access(None, key, False, {})
    assert not key.strip() or key not in str(refused.value)


@pytest.mark.parametrize("make", [Client, AsyncClient, AsyncSession, Session])
def test_no_repr_holds_the_key(make: Callable[[str, str], object]) -> None:
    made = make("http://127.0.0.1:1", KEY)
    shown = repr(made) + repr(vars(made)) + repr(find_access(None, KEY, False, {}))
    assert "127.0.0.1" in shown
    assert KEY not in shown


def test_both_clients_know_the_same_methods() -> None:
    public = [
        {name for name in dir(kind) if not name.startswith("_")} for kind in (Client, AsyncClient)
    ]
    assert public[0] == public[1]
    assert {"place", "follow", "revoke_key", "bill_csv"} <= public[0]


def test_a_method_shows_its_parameters_and_its_text() -> None:
    client = Client("http://127.0.0.1:1")
    assert ["alternatives", "idempotency_key"] == list(inspect.signature(client.place).parameters)
    assert "Place an order" in (client.place.__doc__ or "")
    assert client.place is client.place
