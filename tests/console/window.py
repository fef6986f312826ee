"""A page of the console in a real browser, which records every error.

    window = open_window(market)
    window.sign_in(key)

A window fails its test for any unexpected complaint: the fixture checks at the end.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from console.market import Market

pytest.importorskip("playwright.sync_api", reason="playwright is missing: install the extra `test`")

from playwright.sync_api import Browser, ConsoleMessage, Locator, Request, Response
from playwright.sync_api import expect as expect  # noqa: PLC0414  for tests to import

if TYPE_CHECKING:
    from playwright.sync_api import ViewportSize

DESK: ViewportSize = {"width": 1440, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
WITHIN_MS = 15_000
STREAM_CLOSED = "net::ERR_ABORTED"  # leaving a page closes its streams
TELL_VIOLATIONS = """addEventListener("securitypolicyviolation", (violation) => {
    const { violatedDirective, blockedURI, sample } = violation;
    console.error("policy violated", violatedDirective, blockedURI, sample);
})"""

FRAME = "() => new Promise((done) => requestAnimationFrame(() => done()))"
expect.set_options(timeout=WITHIN_MS)  # on a busy machine


def price(amount: str) -> re.Pattern[str]:
    """A price per hour in any format of the pages: with two decimals or more."""
    whole, _, fraction = amount.partition(".")
    return re.compile(rf"\${whole}\.{fraction.ljust(2, '0')}0*/h")


class Window:
    """A browser context with cookies and storage of its own."""

    def __init__(
        self, browser: Browser, market: Market, size: ViewportSize = DESK, dark: bool = False
    ) -> None:
        self.market = market
        self.complaints: list[str] = []
        self.answers: list[Response] = []
        self.asked: list[Request] = []
        self._unanswered: set[Request] = set()
        self._expected: list[re.Pattern[str]] = []
        self.context = browser.new_context(
            viewport=size,
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
            base_url=market.url,
        )
        self.context.set_default_timeout(WITHIN_MS)
        self.context.add_init_script(TELL_VIOLATIONS)
        self.page = self.context.new_page()
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("request", self._ask)
        self.page.on("response", self._take)
        self.page.on("requestfinished", self._unanswered_no_more)
        self.page.on("requestfailed", self._fail)

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"console: {message.text} {message.location.get('url', '')}")

    def _ask(self, request: Request) -> None:
        self.asked.append(request)
        if request.headers.get("accept") != "text/event-stream":
            self._unanswered.add(request)

    def _unanswered_no_more(self, request: Request) -> None:
        self._unanswered.discard(request)

    def _take(self, response: Response) -> None:
        self.answers.append(response)
        if response.status >= 400:
            self.complaints.append(
                f"answer: {response.status} {response.request.method} {response.url}"
            )

    def _fail(self, request: Request) -> None:
        self._unanswered.discard(request)
        if request.failure != STREAM_CLOSED:
            self.complaints.append(f"request: {request.failure} {request.method} {request.url}")

    def expects(self, pattern: str) -> None:
        """Expect complaints that match a pattern."""
        self._expected.append(re.compile(pattern))

    def unexpected(self) -> list[str]:
        return [
            said
            for said in self.complaints
            if not any(pattern.search(said) for pattern in self._expected)
        ]

    def open(self) -> Window:
        self.page.goto("/")
        return self

    def sign_in(self, key: str) -> Window:
        self.open()
        self.page.get_by_label("Your key").fill(key)
        self.page.get_by_role("button", name="Sign in").click()
        expect(self.state).to_have_text("Live")
        return self

    def go(self, address: str) -> Window:
        self.page.evaluate("where => { location.hash = where; }", address)
        return self

    def settle(self) -> None:
        """Wait until all requests are answered and drawn."""
        quiet = 0
        while quiet < 3:
            self.page.evaluate(FRAME)
            quiet = 0 if self._unanswered else quiet + 1

    @property
    def state(self) -> Locator:
        return self.page.locator("[data-state]").first

    @property
    def main(self) -> Locator:
        return self.page.locator("main")
