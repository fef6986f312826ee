"""Tenants and the operator create, watch and delete webhooks; tenants set caps."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from console.conftest import Opening
from console.market import Market
from console.window import expect

pytestmark = [pytest.mark.once, pytest.mark.slow, pytest.mark.xdist_group("browser")]


@pytest.fixture
def dead_url() -> Iterator[str]:
    """The URL of a port that is bound but does not listen."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/hook"


@pytest.mark.parametrize("who", ["tenant", "operator"])
def test_webhook_can_be_created_rotated_redelivered_and_deleted(
    market: Market, open_window: Opening, dead_url: str, who: str
) -> None:
    key = market.key if who == "operator" else market.tenant("hook").key
    window = open_window(market).sign_in(key).go("#/webhooks")
    page, dialog = window.page, window.page.get_by_role("dialog")
    expect(window.main.get_by_text("No webhooks yet.")).to_be_visible()

    window.expects("422")
    page.get_by_role("button", name="New webhook").click()
    dialog.get_by_label("URL").fill("https://10.0.0.1/hook")
    dialog.get_by_role("button", name="Create").click()
    expect(dialog.get_by_role("alert")).to_contain_text("all of whose addresses are public")
    dialog.get_by_label("URL").fill(dead_url)
    dialog.get_by_label("Types of events").fill("webhook.created, webhook.secret_rotated")
    dialog.get_by_role("button", name="Create").click()
    secret = dialog.locator("output").text_content() or ""
    assert secret.startswith("whsec_")
    dialog.get_by_role("button", name="I have saved it").click()
    expect(page.locator("body")).not_to_contain_text(secret)

    row = page.get_by_role("row").filter(has_text=dead_url)
    expect(row).to_contain_text("only webhook.created, webhook.secret_rotated")
    expect(row).to_contain_text("no connection")
    made = market.listed("/v1/webhooks", key)
    row.get_by_role("button", name="New secret").click()
    dialog.get_by_role("button", name="New secret").click()
    expect(dialog.locator("output")).to_contain_text("whsec_")
    assert secret != dialog.locator("output").text_content()
    dialog.get_by_role("button", name="I have saved it").click()

    row.get_by_role("button", name="Send again").click()
    dialog.get_by_label("After event number").fill("0")
    dialog.get_by_role("button", name="Send again").click()
    expect(page.locator("#toasts")).to_contain_text("All events after 0 are sent again.")
    row.get_by_role("button", name="Delete").click()
    dialog.get_by_role("button", name="Delete").click()
    expect(window.main.get_by_text("No webhooks yet.")).to_be_visible()
    assert (1, []) == (len(made), market.listed("/v1/webhooks", key))


def test_dead_letters_show_event_and_reason(
    market: Market, open_window: Opening, dead_url: str
) -> None:
    ann = market.tenant("ann")
    made = market.done("POST", "/v1/webhooks", {"url": dead_url}, ann.key)
    told = {
        "n": 7,
        "event": {"type": "order.cancelled", "at": "2026-11-16T08:00:00Z", "order": "ord_x1"},
    }
    why = "not delivered in time; at last: no connection"
    letters = [
        {
            "n": 1,
            "last": 6,
            "told": None,
            "why": "they left the history of events",
            "at": "2026-11-17T08:00:00Z",
        },
        {"n": 7, "last": 7, "told": told, "why": why, "at": "2026-11-17T08:00:00Z"},
    ]
    window = open_window(market)
    page = window.page  # real dead letters take a day: the responses are fakes
    shown = [{**made, "secret": None, "delivered": 7, "dead_letters": 2, "dead_letters_dropped": 0}]
    page.route(
        "**/v1/webhooks?*",
        lambda route: route.fulfill(json={"data": shown, "has_more": False, "cursor": None}),
    )
    page.route(
        "**/dead-letters?*",
        lambda route: route.fulfill(json={"data": letters, "has_more": False, "cursor": None}),
    )
    window.sign_in(ann.key).go("#/webhooks")
    page.get_by_role("button", name="Show 2").click()
    rows = page.get_by_role("dialog").locator("tbody tr")
    expect(rows).to_have_count(2)
    for text in ("#7", "Order ord_x1 cancelled", why):
        expect(rows.first).to_contain_text(text)
    for text in ("#1 to #6", "no longer kept", "they left the history"):
        expect(rows.last).to_contain_text(text)


def test_read_only_key_sees_webhooks_and_caps_and_changes_nothing(
    market: Market, open_window: Opening, dead_url: str
) -> None:
    ann = market.tenant("ann")
    market.done("POST", "/v1/webhooks", {"url": dead_url}, ann.key)
    key = market.done("POST", f"/v1/tenants/{ann.name}/keys", {"name": "wall", "scopes": ["read"]})[
        "secret"
    ]
    window = open_window(market).sign_in(key).go("#/webhooks")
    expect(window.main).to_contain_text(dead_url)
    expect(window.main.get_by_role("button")).to_have_count(0)
    window.go("#/leases")
    expect(window.main).to_contain_text("No cap")
    expect(window.page.get_by_role("button", name="Set caps")).to_have_count(0)


def test_tenant_can_set_and_remove_its_own_caps(market: Market, open_window: Opening) -> None:
    ann = market.tenant("ann")
    market.done("PATCH", f"/v1/tenants/{ann.name}", {"caps": {"worst_rate": "40"}})
    ann.order("h100/zone-p/rack1/gpu1", "3")
    window = open_window(market).sign_in(ann.key).go("#/leases")
    tile, dialog = (
        window.page.locator(".tile").filter(has_text="Most per hour"),
        window.page.get_by_role("dialog"),
    )
    expect(tile).to_contain_text("$40.00/h")
    expect(tile).to_contain_text("$3.00/h by your limits")
    tile.get_by_role("button", name="Set caps").click()
    expect(dialog).to_contain_text("The operator allows at most $40.00/h.")
    dialog.get_by_label("Charged now, $/h").fill("12.5")
    dialog.get_by_label("Worst case, $/h").fill("20")
    dialog.get_by_role("button", name="Set caps").click()
    expect(tile).to_contain_text("of $12.50/h by charges and orders")
    assert {"rate": "12.5", "worst_rate": "20"} == market.done("GET", "/v1/caps", key=ann.key)[
        "own"
    ]

    tile.get_by_role("button", name="Set caps").click()
    for label in ("Charged now, $/h", "Worst case, $/h"):
        dialog.get_by_label(label).fill("")
    dialog.get_by_role("button", name="Set caps").click()
    expect(tile).to_contain_text("$40.00/h")
    assert {"rate": None, "worst_rate": None} == market.done("GET", "/v1/caps", key=ann.key)["own"]
