"""A tenant's console holds no data of other tenants: not in the page, in memory or on the wire."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest

from console.conftest import Opening
from console.market import Market, Tenant
from console.window import Window, expect, price
from laissez.server.http.operation import Operation
from laissez.server.http.operations import OPERATIONS

pytestmark = [pytest.mark.once, pytest.mark.slow, pytest.mark.xdist_group("browser")]

# Records the text of every response in the page, by address; streams too.
LISTEN = """{
    const heard = (window.heard = []);
    const fetching = window.fetch;
    window.fetch = async (address, ...more) => {
        const response = await fetching(address, ...more);
        const kept = { address: String(address), text: "" };
        heard.push(kept);
        const reader = response.clone().body.pipeThrough(new TextDecoderStream()).getReader();
        const keep = async () => {
            for (let part; !(part = await reader.read()).done; ) kept.text += part.value;
        };
        keep().catch(() => {});
        return response;
    };
}"""
SECRET_PRICES = [f"7.43190{digit}" for digit in range(1, 8)]


def trade_in_secret(market: Market, bob: Tenant) -> None:
    """Make leases, orders, limits, floors and lost leases at prices that occur nowhere else."""
    for number, secret in enumerate(SECRET_PRICES):
        leaf = f"h100/zone-g/rack{1 + number % 2}/gpu{1 + number % 4}"
        bob.order(leaf, secret)
        bob.cancel(bob.order("h100/zone-g/rack1/gpu1", secret, SECRET_PRICES[0]))
        market.set_floor("h100/zone-g/rack2", secret)
    for lease in bob.leases()[:2]:
        market.done("PATCH", f"/v1/leases/{lease['id']}", {"limit": SECRET_PRICES[-1]}, bob.key)
        market.done("DELETE", f"/v1/leases/{lease['id']}", key=bob.key)


def look_around(window: Window, lease: str) -> None:
    for address, heading in (
        ("#/leases", "Leases"),
        ("#/orders", "Orders"),
        ("#/bill", "Bill"),
        (f"#/leases/{lease}", "h100/zone-f/rack1/gpu1"),
        ("#/events", "Events"),
    ):
        window.go(address)
        expect(window.page.get_by_role("heading", level=1)).to_have_text(heading)
        expect(window.state).to_have_text("Live")


def test_tenant_receives_nothing_outside_its_pricing_domain(
    market: Market, open_window: Opening
) -> None:
    ann, bob = market.tenant("ann"), market.tenant("bob")
    ann.order("h100/zone-f/rack1/gpu1", "4.125")
    lease = ann.leases()[0]["id"]
    window = open_window(market)
    window.context.add_init_script(LISTEN)
    window.sign_in(ann.key)
    pages = []
    for _ in range(2):
        trade_in_secret(market, bob)
        look_around(window, lease)
        pages.append(window.page.content())
    market.set_floor("h100/zone-f/rack1/gpu1", "1.625")  # in her own domain
    expect(window.page.get_by_role("list", name="Events, newest first")).to_contain_text(
        "h100/zone-f/rack1/gpu1 won"
    )
    window.go("#/leases")
    expect(window.main).to_contain_text(price("1.625"))

    heard = window.page.evaluate("window.heard.map(({address, text}) => [address, text])")
    told = "".join(text for _, text in heard)
    assert (
        "4.125" in told
        and "1.625" in told
        and "/v1/events" in {urlsplit(address).path for address, _ in heard}
    )
    names = [
        bob.name,
        bob.key_id,
        *SECRET_PRICES,
        *(f"{float(secret):.4f}" for secret in SECRET_PRICES),
    ]
    names += [entry["id"] for entry in (*bob.leases(), *bob.orders())]
    for text in (told, *pages, window.page.content()):
        assert [] == [name for name in names if name in text]
    # the topology is not secret
    places = "".join(text for address, text in heard if urlsplit(address).path != "/v1/topology")
    assert "zone-g" not in places and [] == [page for page in pages if "zone-g" in page]


def test_tenant_console_requests_nothing_of_the_operator(
    market: Market, open_window: Opening
) -> None:
    ann = market.tenant("ann")
    ann.order("h100/zone-f/rack2/gpu1", "4.125")
    window = open_window(market).sign_in(ann.key)
    lease = ann.leases()[0]["id"]
    for address in ("#/orders", "#/bill", f"#/leases/{lease}", "#/events", "#/map", "#/tenants"):
        window.go(address)
        expect(window.page.get_by_role("heading", level=1)).to_have_count(1)
    asked = {(request.method, urlsplit(request.url).path) for request in window.asked}
    used = {
        name
        for method, path in asked
        if path.startswith("/v1/")
        for name in [operation_of(method, path)]
    }
    theirs = {operation.name for operation in OPERATIONS if operation.scopes == ("operate",)}
    assert {"getMe", "listLeases", "getBill", "getEvents"} & used and not used & theirs
    assert [] == [path for _, path in asked if path.startswith("/console/js/operator/")]


def operation_of(method: str, path: str) -> str:
    def fits(operation: Operation) -> bool:
        pattern = re.sub(r"\{[^}]*:path\}", ".+", operation.path)
        return (
            operation.method == method
            and re.fullmatch(re.sub(r"\{[^}]*\}", "[^/]+", pattern), path) is not None
        )

    return next(operation.name for operation in OPERATIONS if fits(operation))
