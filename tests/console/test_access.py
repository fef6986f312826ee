"""Accessibility: keyboard, phone, dark theme, screen readers. And safety from hostile names."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.conftest import Opening
from console.market import Market
from console.window import PHONE, Window, expect

pytestmark = [pytest.mark.once, pytest.mark.slow, pytest.mark.xdist_group("browser")]

HOSTILE = '<img src=x onerror="window.harmed=1">'
LEAF = "h100/zone-i/rack1/gpu1"
STEPS_MAX = 60
BARRIERS = (Path(__file__).parent / "barriers.js").read_text()
# The focused element: [name, whether it is visible, named and shows a focus outline].
FOCUSED = """() => {
    const at = document.activeElement;
    if (at === document.body) return null;
    const [box, style] = [at.getBoundingClientRect(), getComputedStyle(at)];
    const ringed = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
    const label = at.getAttribute("aria-label") ?? at.labels?.[0]?.textContent;
    const name = label ?? at.textContent.trim();
    const shown = ringed && box.width > 0 && box.height > 0 && Boolean(name);
    return [`${at.tagName.toLowerCase()} ${name}`, shown];
}"""

# Adds one barrier of each kind.
SPOIL = """() => {
    const add = (tag, attributes, text = "") => {
        const made = Object.assign(document.createElement(tag), { textContent: text });
        for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
        document.querySelector("main").append(made);
        return made;
    };
    add("button", {});
    add("input", { placeholder: "a hint is no name" });
    add("p", { id: "key" });
    add("p", { "aria-describedby": "nothing" });
    add("h4", {}, "Too deep");
    Object.assign(add("p", {}, "Too faint").style, { color: "#ccc", width: "3000px" });
}"""

# Makes markup, a script and a handler from text, and loads an image from another origin.
HARM = """() => {
    const made = (tag, set) => {
        try {
            const one = document.createElement(tag);
            set(one);
            document.body.append(one);
            one.click();
        } catch {}
    };
    made("p", (one) => (one.innerHTML = "<b>harm</b>"));
    made("script", (one) => (one.text = "window.harmed = 1"));
    made("p", (one) => one.setAttribute("onclick", "window.harmed = 1"));
    made("img", (one) => (one.src = "http://127.0.0.1:9/x.png"));
}"""


def addresses(window: Window) -> list[str]:
    """The URLs in the navigation."""
    found: list[str] = (
        window.page.get_by_role("navigation", name="Pages")
        .get_by_role("link")
        .evaluate_all("links => links.map((link) => link.hash)")
    )
    assert len(found) >= 4
    return found


def visit(window: Window, address: str) -> None:
    window.go(address)
    expect(window.page.get_by_role("heading", level=1)).to_have_count(1)
    window.settle()


@pytest.fixture(scope="module")
def people(market: Market) -> dict[str, tuple[str, list[str]]]:
    """A key per role, and URLs of pages that are not in the navigation."""
    ann = market.tenant("ann")
    hostile = market.tenant(HOSTILE)
    ann.order(LEAF, "2")
    hostile.order("h100/zone-i", "1.5")
    lease = ann.leases()[0]["id"]
    return {
        "operator": (market.key, [f"#/map/{LEAF}", "#/map/h100/zone-i", f"#/tenants/{ann.name}"]),
        "tenant": (ann.key, [f"#/leases/{lease}"]),
    }


@pytest.mark.parametrize("role", ["operator", "tenant"])
@pytest.mark.parametrize("kind", ["desktop, light", "phone, dark"])
def test_every_page_is_accessible(
    market: Market,
    open_window: Opening,
    people: dict[str, tuple[str, list[str]]],
    role: str,
    kind: str,
) -> None:
    key, more = people[role]
    window = (
        open_window(market)
        if kind == "desktop, light"
        else open_window(market, size=PHONE, dark=True)
    )
    window.sign_in(key)
    assert "en" == window.page.locator("html").get_attribute("lang")
    found = {}
    for address in [*addresses(window), *more]:
        visit(window, address)
        found[address] = window.page.evaluate(BARRIERS)
    assert {} == {address: barriers for address, barriers in found.items() if barriers}


def test_accessibility_check_finds_planted_barriers(market: Market, open_window: Opening) -> None:
    page = open_window(market).open().page
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
    page.evaluate(SPOIL)
    found = " ".join(page.evaluate(BARRIERS))
    for barrier in (
        "px too wide",
        "no name: <button",
        "no name: <input",
        "the id key is there twice",
        "leads nowhere",
        "level 4 after one of level 1",
        "contrast 1.5",
    ):
        assert barrier in found


def test_sign_in_form_is_accessible(market: Market, open_window: Opening) -> None:
    for more in ({}, {"size": PHONE, "dark": True}):
        window = open_window(market, **more)
        window.open()
        expect(window.page.get_by_role("heading", level=1)).to_have_text("Sign in")
        assert [] == window.page.evaluate(BARRIERS)


def step_to(window: Window, name: str) -> None:
    """Press Tab until an element has the focus. Every focused element on the way must be named and
    visible."""
    seen = []
    for _ in range(STEPS_MAX):
        window.page.keyboard.press("Tab")
        focused = window.page.evaluate(FOCUSED)
        if focused is None:
            continue  # past the end of the page, Tab continues at its beginning
        seen.append(focused[0])
        assert focused[1], f"{focused[0]} has no name or no visible focus"
        if name in focused[0]:
            return
    raise AssertionError(f"{name} cannot be reached: {seen}")


def test_keyboard_suffices_to_sign_in_navigate_and_act(
    market: Market, open_window: Opening
) -> None:
    ann = market.tenant("ann")
    ann.order("h100/zone-j/rack1/gpu1", "2")
    window = open_window(market).open()
    keyboard = window.page.keyboard
    expect(window.page.get_by_label("Your key")).to_be_focused()  # from the start
    keyboard.type(ann.key)
    keyboard.press("Enter")
    expect(window.state).to_have_text("Live")
    step_to(window, "Events")
    keyboard.press("Enter")
    expect(window.page.get_by_role("heading", level=1)).to_have_text("Events")
    step_to(window, "Leases")
    keyboard.press("Enter")
    expect(window.page.get_by_role("row").filter(has_text="gpu1")).to_be_visible()
    step_to(window, "Relinquish: h100/zone-j/rack1/gpu1")
    keyboard.press("Enter")
    dialog = window.page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    assert 1 == len(ann.leases())
    # the focus is back on the button
    assert "Relinquish: h100/zone-j/rack1/gpu1" in window.page.evaluate(FOCUSED)[0]
    keyboard.press("Enter")
    step_to(window, "button Relinquish")
    keyboard.press("Enter")
    expect(window.main.get_by_text("You have no leases.")).to_be_visible()
    assert [] == ann.leases()


def test_hostile_tenant_name_is_shown_as_text(
    market: Market, open_window: Opening, people: dict[str, tuple[str, list[str]]]
) -> None:
    window = open_window(market).sign_in(market.key)
    for address in addresses(window):
        visit(window, address)
    expect(window.main).to_contain_text(HOSTILE)  # on the events page, which comes last
    assert window.page.evaluate(
        "window.harmed === undefined && !document.querySelector('img[src=x]')"
    )


def test_browser_refuses_markup_and_scripts_made_from_text(
    market: Market, open_window: Opening
) -> None:
    window = open_window(market).sign_in(market.tenant("ann").key)
    window.expects(
        "request: csp|policy violated|Trusted ?Type|Content Security"
        " Policy|TrustedHTML|TrustedScript"
    )
    window.page.evaluate(HARM)
    assert window.page.evaluate(
        "window.harmed === undefined && !document.body.textContent.includes('harm')"
    )
    refused = " ".join(window.complaints)
    assert (3, 1) == (
        refused.count("policy violated require-trusted-types-for"),
        refused.count("policy violated img-src"),
    )
