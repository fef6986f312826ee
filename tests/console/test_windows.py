"""Several windows of one browser, lost answers, and truncated URLs."""

from __future__ import annotations

import pytest

from console.conftest import Opening
from console.market import Market
from console.window import expect

pytestmark = [pytest.mark.once, pytest.mark.slow, pytest.mark.xdist_group("browser")]

WINDOWS = 5  # with two streams each, they exceed the connections of a browser
NOT_SIGNED_IN = r"\b401\b"


def test_truncated_url_shows_the_first_page(market: Market, open_window: Opening) -> None:
    window = open_window(market).sign_in(market.key)
    window.page.goto("about:blank")
    window.page.goto("/#/%E0%A4%A")
    expect(window.page.get_by_role("heading", level=1)).to_have_text("Map")
    expect(window.page.locator("canvas")).to_be_visible()


def test_url_of_an_operator_page_shows_a_tenant_its_first_page(
    market: Market, open_window: Opening
) -> None:
    window = open_window(market).sign_in(market.tenant("tom").key).go("#/map/h100/zone-k")
    expect(window.page.get_by_role("heading", level=1)).to_have_text("Leases")


def test_many_windows_leave_connections_for_requests(market: Market, open_window: Opening) -> None:
    window = open_window(market).sign_in(market.key)
    pages = [window.context.new_page() for _ in range(WINDOWS - 1)]
    for page in pages:
        page.goto("/#/events")
        page.goto("/#/map")
        expect(page.locator("[data-state]").first).to_have_text("Live")
        expect(page.locator(".heat-frame.drawn")).to_be_visible()
    pages[-1].goto("/#/events")
    market.set_floor("h100/zone-k", "0.25")
    last = market.newest_event()
    expect(pages[-1].locator(".event .n").first).to_have_text(f"#{last:,}")
    expect(pages[-1].locator("main")).to_contain_text("none missing")


def test_other_windows_follow_a_new_sign_in(market: Market, open_window: Opening) -> None:
    una, vic = market.tenant("una"), market.tenant("vic")
    window = open_window(market).sign_in(una.key)
    window.expects(NOT_SIGNED_IN)
    other = window.context.new_page()
    other.goto("/")
    other.get_by_role("button", name="Sign out").click()
    other.get_by_label("Your key").fill(vic.key)
    other.get_by_role("button", name="Sign in").click()
    expect(other.locator(".who b")).to_have_text(vic.name)
    expect(window.page.locator(".who b")).to_have_text(vic.name)


def test_revoked_key_closes_open_dialogs(market: Market, open_window: Opening) -> None:
    wil = market.tenant("wil")
    wil.order("h100/zone-l/rack1/gpu1", "2")
    window = open_window(market).sign_in(wil.key)
    window.expects(NOT_SIGNED_IN)
    window.page.get_by_role("button", name="Relinquish").click()
    expect(window.page.locator("dialog")).to_be_visible()
    market.done("DELETE", f"/v1/keys/{wil.key_id}")
    expect(window.page.get_by_label("Your key")).to_be_visible()
    expect(window.page.locator("dialog")).to_have_count(0)


def test_order_with_a_lost_answer_is_placed_once(market: Market, open_window: Opening) -> None:
    xan = market.tenant("xan")
    window = open_window(market).sign_in(xan.key).go("#/orders")
    window.expects(r"net::ERR_FAILED")
    window.page.get_by_label("Node", exact=True).fill("h100/zone-m/rack1")
    window.page.get_by_label("Limit, $/h").fill("2.5")
    window.context.route(
        "**/v1/orders",
        lambda route: (
            (route.fetch(), route.abort()) if route.request.method == "POST" else route.fallback()
        ),
    )
    window.page.get_by_role("button", name="Place order").click()
    expect(window.page.get_by_role("alert")).to_contain_text(
        "the outcome of this request is unknown"
    )
    window.context.unroute("**/v1/orders")
    window.page.get_by_role("button", name="Place order").click()
    expect(window.page.locator(".placed")).to_contain_text("won")
    assert 1 == len(xan.leases()) + len(xan.orders())


def test_secret_lost_with_its_answer_is_explained(market: Market, open_window: Opening) -> None:
    """The dialog once showed an empty secret."""
    zoe = market.tenant("zoe")
    window = open_window(market).sign_in(market.key).go(f"#/tenants/{zoe.name}")
    window.expects(r"net::ERR_FAILED")
    dialog = window.page.get_by_role("dialog")
    window.page.get_by_role("button", name="Issue a key").click()
    window.context.route(
        "**/keys",
        lambda route: (
            (route.fetch(), route.abort()) if route.request.method == "POST" else route.fallback()
        ),
        times=1,
    )
    dialog.get_by_role("button", name="Issue").click()
    expect(dialog).to_contain_text(
        "Only the server's first answer contained the secret, and that answer was lost."
    )
    expect(dialog).to_contain_text("revoke it and issue another.")
    dialog.get_by_role("button", name="Close").click()
    assert 2 == len(market.listed(f"/v1/tenants/{zoe.name}/keys", market.key))


def test_typed_custom_period_survives_updates(market: Market, open_window: Opening) -> None:
    yan = market.tenant("yan")
    window = open_window(market).sign_in(yan.key).go("#/bill/own//")
    typed = window.page.get_by_label("From")
    expect(typed).to_be_visible()
    window.settle()
    typed.fill("2026-01-02T03:04:05")
    with window.page.expect_response("**/v1/bills"):
        yan.order("h100/zone-n/rack1/gpu1", "2")
    window.settle()
    expect(typed).to_have_value("2026-01-02T03:04:05")
