"""Signing in and out. The browser never keeps the key."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import httpx
import pytest

from console.conftest import Opening
from console.market import Market
from console.window import Window, expect

pytestmark = [pytest.mark.once, pytest.mark.slow, pytest.mark.xdist_group("browser")]

KEPT = (
    "() => JSON.stringify([document.cookie, Object.entries(localStorage),"
    " Object.entries(sessionStorage), location.href, history.state])"
)


def cookie(window: Window) -> dict[str, object]:
    found = window.context.cookies()
    assert 1 == len(found)
    return dict(found[0])


def signed_in_by(market: Market, token: dict[str, object]) -> bool:
    return (
        200
        == httpx.get(
            f"{market.url}/v1/me", headers={"Cookie": f"{token['name']}={token['value']}"}
        ).status_code
    )


def test_operator_and_tenants_load_only_their_own_pages(
    market: Market, open_window: Opening
) -> None:
    ann = market.tenant("ann")
    for key, holder in ((market.key, "operator"), (ann.key, ann.name)):
        window = open_window(market).sign_in(key)
        expect(window.page.get_by_role("banner")).to_contain_text(holder)
        expect(window.page.get_by_role("heading", level=1)).to_have_count(1)
        modules = {
            "operator" if "/js/operator/" in answer.url else "tenant"
            for answer in window.answers
            if re.search("/js/(operator|tenant)/", answer.url)
        }
        assert {"operator" if holder == "operator" else "tenant"} == modules


def test_wrong_key_is_refused_and_the_right_one_works_afterwards(
    market: Market, open_window: Opening
) -> None:
    window = open_window(market).open()
    window.expects(r"401 POST .*/v1/signin|status of 401 .*/v1/signin")
    window.page.get_by_label("Your key").fill("lz_nobody_has_this_one")
    window.page.keyboard.press("Enter")
    expect(window.page.get_by_role("alert")).to_have_text("This key is unknown or was revoked.")
    window.page.get_by_label("Your key").fill(market.key)
    window.page.keyboard.press("Enter")
    expect(window.state).to_have_text("Live")


def test_neither_browser_nor_log_keeps_the_key(market: Market, open_window: Opening) -> None:
    ann = market.tenant("ann")
    window = open_window(market).sign_in(ann.key)
    own = {key: cookie(window)[key] for key in ("httpOnly", "sameSite", "path", "secure")}
    assert {"httpOnly": True, "sameSite": "Strict", "path": "/", "secure": False} == own
    secrets = [ann.key, ann.key.split("_", 2)[2], str(cookie(window)["value"])]
    seen = [
        window.page.evaluate(KEPT),
        window.page.content(),
        market.log.read_text(),
        *(request.url for request in window.asked),
    ]
    assert [] == [secret for secret in secrets for text in seen if secret in text]
    assert ann.key not in str(cookie(window))


def test_signing_out_invalidates_the_cookie(market: Market, open_window: Opening) -> None:
    window = open_window(market).sign_in(market.tenant("ann").key)
    token = cookie(window)
    assert signed_in_by(market, token)
    window.expects(r"\b401\b")  # a request of the page may be in flight
    window.page.get_by_role("button", name="Sign out").click()
    expect(window.page.get_by_role("heading", level=1)).to_have_text("Sign in")
    assert [] == window.context.cookies() and not signed_in_by(market, token)
    window.page.reload()
    expect(window.page.get_by_role("heading", level=1)).to_have_text("Sign in")


def test_reload_keeps_the_sign_in_and_the_page(market: Market, open_window: Opening) -> None:
    window = open_window(market).sign_in(market.key)
    window.page.get_by_role("link", name="Events", exact=True).click()
    expect(window.page).to_have_title("Events · LaissezCloud")
    window.page.reload()
    expect(window.state).to_have_text("Live")
    expect(window.page).to_have_title("Events · LaissezCloud")
    expect(window.page.get_by_role("heading", level=1)).to_have_text("Events")


def test_revoked_key_signs_out_with_an_explanation(market: Market, open_window: Opening) -> None:
    ann = market.tenant("ann")
    window = open_window(market).sign_in(ann.key)
    window.expects(r"\b401\b")
    market.done("DELETE", f"/v1/keys/{ann.key_id}")
    expect(window.page.get_by_role("heading", level=1)).to_have_text("Sign in")
    expect(window.page.get_by_role("alert")).not_to_be_empty()
    window.page.get_by_label("Your key").fill(ann.key)
    window.page.keyboard.press("Enter")
    expect(window.page.get_by_role("alert")).to_contain_text("revoked")


def test_read_only_operator_key_sees_everything_and_changes_nothing(
    market: Market, open_window: Opening
) -> None:
    reader = market.done("POST", "/v1/keys", {"name": "reader", "scopes": ["read"]})["secret"]
    window = open_window(market).sign_in(reader)
    for link in window.page.get_by_role("navigation", name="Pages").get_by_role("link").all():
        link.click()
        window.settle()
        expect(window.page.get_by_role("heading", level=1)).to_have_count(1)
    window.go("#/map/h100/zone-a").settle()
    expect(window.page.locator("aside")).to_contain_text("Standing rate")
    expect(window.page.get_by_role("button", name="Set floor")).to_have_count(0)
    assert {"GET", "POST /v1/signin"} == {
        "GET" if request.method == "GET" else f"{request.method} {urlsplit(request.url).path}"
        for request in window.asked
    }
