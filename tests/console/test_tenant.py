"""A tenant's work in the console: orders, limits, relinquished leases, and the bill, exact to a
millionth of a dollar."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest

from console.conftest import Opening
from console.market import Market
from console.window import Window, expect, price

pytestmark = [pytest.mark.once, pytest.mark.slow, pytest.mark.xdist_group("browser")]

# The area below a chart's line as a share of the chart, and the highest tick of its value axis.
DRAWN = """svg => {
    const path = svg.querySelector("path.area").getAttribute("d");
    const points = path.match(/-?[\\d.]+,-?[\\d.]+/g).map((pair) => pair.split(",").map(Number));
    const area = Math.abs(points.reduce((sum, [x, y], i) => {
        const [nextX, nextY] = points[(i + 1) % points.length];
        return sum + (x * nextY - nextX * y) / 2;
    }, 0));
    const grid = [...svg.querySelectorAll("line.grid")];
    const lines = grid.map((line) => Number(line.getAttribute("y1")));
    const [low, high] = [Math.max(...lines), Math.min(...lines)];
    const [left, right] = ["x1", "x2"].map((end) => Number(grid[0].getAttribute(end)));
    const top = [...svg.querySelectorAll("text[text-anchor=end]")].at(-1).textContent;
    return [area / ((right - left) * (low - high)), top];
}"""


def money(text: str) -> Decimal:
    return Decimal(re.sub(r"[^0-9.]", "", text))


def place(window: Window, scope: str, limit: str, bid: str = "") -> None:
    form = window.page.locator("form", has=window.page.get_by_role("button", name="Place order"))
    form.get_by_label("Node", exact=True).fill(scope)
    form.get_by_label("Limit, $/h").fill(limit)
    form.get_by_label("Bid, $/h").fill(bid)
    form.get_by_role("button", name="Place order").click()


def test_order_can_be_placed_amended_and_cancelled(market: Market, open_window: Opening) -> None:
    leaf = "h100/zone-d/rack1/gpu1"
    ann, bob = market.tenant("ann"), market.tenant("bob")
    bob.order(leaf, "8")
    window = open_window(market).sign_in(ann.key).go("#/orders")
    page = window.page
    place(window, leaf, "three")
    expect(page.get_by_role("alert")).to_contain_text("Expected dollars such as 2.75")
    assert [] == ann.orders()
    place(window, leaf, "3", "2")
    row = page.get_by_role("row").filter(has=page.get_by_role("button", name="Amend"))
    for told in (price("2"), price("3")):
        expect(row).to_contain_text(told)
    assert [[{"scope": leaf, "bid": "2", "limit": "3"}]] == [
        order["alternatives"] for order in ann.orders()
    ]

    row.get_by_role("button", name="Amend").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Limit, $/h").fill("4.5")
    dialog.get_by_role("button", name="Amend").click()
    expect(row).to_contain_text(price("4.5"))
    assert ["4.5"] == [order["alternatives"][0]["limit"] for order in ann.orders()]

    row.get_by_role("button", name="Cancel").click()
    dialog.get_by_role("button", name="Cancel the order").click()
    expect(page.locator("main").get_by_text("No open orders.")).to_be_visible()
    assert [] == ann.orders()


def test_limit_is_editable_in_place_and_lease_can_be_relinquished(
    market: Market, open_window: Opening
) -> None:
    leaf = "h100/zone-d/rack2/gpu1"
    ann = market.tenant("ann")
    market.set_floor(leaf, "0.75")
    window = open_window(market).sign_in(ann.key).go("#/orders")
    page = window.page
    place(window, leaf, "3")
    expect(page.locator(".outcomes")).to_contain_text("won")
    page.get_by_role("link", name="Leases", exact=True).click()
    row = page.get_by_role("row").filter(has_text="gpu1")
    row.get_by_role("button", name="Change the limit").click()
    page.get_by_label("dollars per hour, or none").fill("6.5")
    page.keyboard.press("Enter")
    expect(row).to_contain_text(price("6.5"))
    assert ["6.5"] == [lease["limit"] for lease in ann.leases()]

    row.get_by_role("button", name="Relinquish").click()
    page.get_by_role("dialog").get_by_role("button", name="Relinquish").click()
    expect(page.locator("main").get_by_text("You have no leases.")).to_be_visible()
    expect(page.locator("main")).to_contain_text("relinquished")
    assert [] == ann.leases()


def test_bill_equals_the_sum_of_pieces_and_the_area_of_the_chart(
    market: Market, open_window: Opening
) -> None:
    leaf = "h100/zone-e/rack1/gpu1"
    ann = market.tenant("ann")
    market.set_floor(leaf, "3600")
    ann.order(leaf, "9000")
    window = open_window(market).sign_in(ann.key)  # the lease is charged a dollar a second
    market.set_floor(leaf, "7200")
    window.go("#/bill")
    expect(window.main).to_contain_text("Charged over time")
    lease = ann.leases()[0]["id"]
    market.done("DELETE", f"/v1/leases/{lease}", key=ann.key)
    bill = market.done("GET", "/v1/bills", key=ann.key)
    segments = market.done("GET", f"/v1/leases/{lease}/prices", key=ann.key)["segments"]

    window.page.reload()
    expect(window.main).to_contain_text(f"The lines add up to ${bill['lines'][0]['cost']}")
    cost = (
        window.page.get_by_role("group", name="Lines of the bill")
        .get_by_role("row")
        .nth(1)
        .get_by_role("cell")
        .last
    )
    assert Decimal(bill["total"]) == money(cost.text_content() or "")

    window.go(f"#/leases/{lease}")
    expect(window.main).to_contain_text("Total cost")
    pieces = window.page.get_by_role("group", name="Charges, piece by piece").locator("tbody tr")
    expect(pieces).to_have_count(len(segments))
    shown = [
        [money(cell) for cell in row.locator("td").all_text_contents()[3:]] for row in pieces.all()
    ]
    assert [
        [Decimal(segment["rate"]), Decimal(segment["cost"])] for segment in reversed(segments)
    ] == shown
    assert Decimal(bill["total"]) == sum(price for _, price in shown)

    share, top = window.page.locator(".chart svg").first.evaluate(DRAWN)
    hours = Decimal(
        window.page.evaluate(
            "ends => (Date.parse(ends[1]) - Date.parse(ends[0])) / 3600000",
            [segments[0]["start"], segments[-1]["end"]],
        )
    )
    # the tolerance covers rounding to pixels
    assert float(money(top) * hours) * share == pytest.approx(float(bill["total"]), rel=0.01)


def test_oldest_charges_of_a_lease_with_many_prices_are_summed_up(
    market: Market, open_window: Opening
) -> None:
    leaf = "h100/zone-e/rack1/gpu2"
    ann = market.tenant("ann")
    ann.order(leaf, "9000")
    lease = ann.leases()[0]["id"]
    for number in range(2_010):  # one by one: a batch has a single timestamp
        market.done("PUT", f"/v1/floors/{leaf}", {"price": str(3600 + number % 2)})
    window = open_window(market).sign_in(ann.key).go(f"#/leases/{lease}")
    expect(window.main).to_contain_text("summed up: only the cost is known")
    expect(window.main).to_contain_text("of 2,001 pieces")
    market.done("DELETE", f"/v1/leases/{lease}", key=ann.key)
    total = market.done("GET", "/v1/bills", key=ann.key)["total"]
    expect(window.main).to_contain_text(f"${total} in total")


def test_thinned_line_is_finite_and_keeps_its_area(market: Market, open_window: Opening) -> None:
    window = open_window(market).open()
    wrong = window.page.evaluate(
        """async () => {
            const { thinned } = await import("/console/js/tenant/charges.js");
            const area = (line, until) =>
                line.reduce((sum, [at, v], i) => sum + v * ((line[i + 1]?.[0] ?? until) - at), 0);
            const wrong = [];
            for (let span = 1600; span < 4000; span += 7) {
                const at = (i) => 1763424000000 + Math.floor((i * span) / 1501);
                const points = Array.from({ length: 1501 }, (_, i) => [at(i), i % 3]);
                const thin = thinned(points, at(1501));
                const lost = area(thin, at(1501)) - area(points, at(1501));
                if (!thin.flat().every(Number.isFinite) || Math.abs(lost) > 1)
                    wrong.push([span, lost]);
            }
            return wrong;
        }"""
    )
    assert [] == wrong


def test_spent_budget_relinquishes_all_leases_if_chosen(
    market: Market, open_window: Opening
) -> None:
    leaf = "h100/zone-d/rack2/gpu4"
    ann = market.tenant("ann")
    market.set_floor(leaf, "3600")
    ann.order(leaf, "9000")  # a dollar a second
    window = open_window(market).sign_in(ann.key).go("#/leases")
    page = window.page
    page.get_by_role("button", name="Set a budget").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Dollars").fill("5000")
    dialog.get_by_label("Relinquish all leases").check()
    dialog.get_by_role("button", name="Set budget").click()
    expect(window.main).to_contain_text("then all leases are relinquished")
    assert ("5000.000000", "relinquish") == tuple(
        market.done("GET", "/v1/budget", key=ann.key)[name] for name in ("amount", "action")
    )

    first = market.done("GET", "/v1/budget", key=ann.key)
    page.get_by_role("button", name="Change", exact=True).click()
    dialog.get_by_label("Start again from zero").check()
    dialog.get_by_label("Dollars").fill("4000")
    dialog.get_by_role("button", name="Change budget").click()
    expect(dialog).to_have_count(0)
    anew = market.done("GET", "/v1/budget", key=ann.key)
    assert ("4000.000000", True) == (anew["amount"], first["since"] < anew["since"])

    page.get_by_role("button", name="Change", exact=True).click()
    # by default, past spending keeps counting
    expect(dialog.get_by_label("Keep counting")).to_be_checked()
    dialog.get_by_label("Dollars").fill("0.5")
    dialog.get_by_role("button", name="Change budget").click()
    expect(window.main).to_contain_text("all leases were relinquished")
    assert anew["since"] == market.done("GET", "/v1/budget", key=ann.key)["since"]
    expect(window.main.get_by_text("You have no leases.")).to_be_visible()
    assert [] == ann.leases()
    window.go("#/events")
    for told in (
        "50 % of the budget",
        "80 % of the budget",
        "Budget changed to $0.50",
        "The budget of $0.50 is spent: all leases are relinquished",
    ):
        expect(window.main).to_contain_text(told)
