"""After a crash of the server the console shows the loss, reconnects, and misses no event."""

from __future__ import annotations

import signal

import pytest

from console.conftest import Opening
from console.market import Market
from console.window import Window, expect

pytestmark = [pytest.mark.once, pytest.mark.slow, pytest.mark.xdist_group("browser")]


def numbers(window: Window) -> list[int]:
    """The numbers of the shown events, newest first."""
    return [
        int(text.removeprefix("#").replace(",", ""))
        for text in window.page.locator(".event .n").all_text_contents()
    ]


def test_console_reconnects_after_a_crash_and_misses_no_event(
    market: Market, open_window: Opening
) -> None:
    ann = market.tenant("ann")
    leaf = "h100/zone-h/rack1/gpu1"
    hers = open_window(market).sign_in(ann.key).go("#/events")
    operators = open_window(market).sign_in(market.key).go("#/events")
    ann.order(leaf, "2")
    for window in (hers, operators):
        window.expects(
            r"net::ERR_(CONNECTION_REFUSED|CONNECTION_RESET|INCOMPLETE_CHUNKED_ENCODING|EMPTY_RESPONSE|SOCKET_NOT_CONNECTED)"
        )
        window.expects(r"\b503\b")
        expect(window.page.locator(".event").first).to_contain_text("won")
    with market.away(signal.SIGKILL):
        for window in (hers, operators):
            expect(window.state).to_have_text("Connection lost")
            expect(window.page.get_by_role("alert")).to_contain_text(
                "This page may be out of date. Trying again"
            )
    for price in ("3", "4", "5"):
        market.set_floor(leaf, price)
    for window, key in ((hers, ann.key), (operators, market.key)):
        expect(window.state).to_have_text("Live")
        expect(window.page.get_by_role("alert")).to_have_count(0)
        last = market.newest_event(key)
        expect(window.page.locator(".event .n").first).to_have_text(f"#{last:,}")
        expect(window.main).to_contain_text("none missing")
        shown = numbers(window)
        assert list(range(last, last - len(shown), -1)) == shown and len(shown) > 2
