"""Changes by others appear at once, without a reload: prices, owners, floors."""

from __future__ import annotations

import pytest

from console.conftest import Opening
from console.market import Market
from console.window import expect, price

pytestmark = [pytest.mark.once, pytest.mark.slow, pytest.mark.xdist_group("browser")]


def test_price_and_owner_changes_appear_live(market: Market, open_window: Opening) -> None:
    leaf = "h100/zone-a/rack1/gpu1"
    ann, bob = market.tenant("ann"), market.tenant("bob")
    market.set_floor(leaf, "1.25")
    ann.order(leaf, "5")
    hers = open_window(market).sign_in(ann.key)
    operators = open_window(market).sign_in(market.key).go(f"#/map/{leaf}")
    row = hers.main.get_by_role("row").filter(has_text="gpu1")
    lease = operators.page.locator(
        "aside section", has=operators.page.get_by_role("heading", name="Lease", exact=True)
    )
    expect(row).to_contain_text(price("1.25"))
    expect(lease).to_contain_text(f"Owner{ann.name}Rate$1.25/h")

    bob.order(leaf, "3.5")
    expect(row).to_contain_text(price("3.5"))
    expect(lease).to_contain_text(f"Owner{ann.name}Rate$3.50/h")

    bob.order(leaf, "6")
    ended = hers.main.locator(
        "section", has=hers.page.get_by_role("heading", name="Ended recently")
    )
    expect(ended).to_contain_text("outbid")
    expect(ended).to_contain_text(
        "another bid raised the rate to $6.00/h, above the limit of $5.00/h"
    )
    expect(hers.main).to_contain_text("You have no leases.")
    expect(lease).to_contain_text(f"Owner{bob.name}")
    operators.go("#/events")
    feed = operators.page.get_by_role("list", name="Events, newest first")
    expect(
        feed.get_by_role("listitem").filter(has_text="lease.ended").filter(has_text=ann.name).first
    ).to_contain_text(f"{leaf} ended, outbid")
    expect(
        feed.get_by_role("listitem")
        .filter(has_text="lease.started")
        .filter(has_text=bob.name)
        .first
    ).to_contain_text(f"{leaf} won at")


def test_floor_has_the_effect_that_its_preview_showed(market: Market, open_window: Opening) -> None:
    ann = market.tenant("ann")
    for gpu, limit in ((1, "1"), (2, "2"), (3, "3")):
        ann.order(f"h100/zone-b/rack1/gpu{gpu}", limit)
    window = open_window(market).sign_in(market.key).go("#/map/h100/zone-b")
    page = window.page
    page.get_by_role("button", name="Set floor").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Floor, dollars per hour").fill("2.5")
    expect(dialog).to_contain_text(f"2 of 3 leases would end ({ann.name} 2)")
    assert 3 == len(ann.leases())  # a preview changes nothing
    dialog.get_by_role("button", name="$2.50/h").click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("status").filter(has_text="2 leases ended")).to_be_visible()
    assert [("h100/zone-b/rack1/gpu3", "2.5")] == [
        (lease["leaf"], lease["rate"]) for lease in ann.leases()
    ]
    floor = next(floor for floor in market.listed("/v1/floors") if floor["node"] == "h100/zone-b")
    assert "2.5" == floor["own"]
    expect(page.locator("aside")).to_contain_text("$2.50/h set here")


def test_map_shows_a_new_owner(market: Market, open_window: Opening) -> None:
    window = open_window(market).sign_in(market.key).go("#/map/h100/zone-c")
    window.page.get_by_text("As a table", exact=True).click()
    racks = window.page.get_by_role("group", name="Child nodes")
    row = racks.get_by_role("row").filter(has_text="rack1")
    expect(row.get_by_role("cell").nth(2)).to_have_text("0")
    before = window.page.locator("canvas").screenshot()
    ann = market.tenant("ann")
    for gpu in (1, 2, 3):
        ann.order(f"h100/zone-c/rack1/gpu{gpu}", "4")
    expect(row.get_by_role("cell").nth(2)).to_have_text("3")
    assert before != window.page.locator("canvas").screenshot()
