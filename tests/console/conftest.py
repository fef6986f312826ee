"""One browser and a few servers, shared by all console tests. They end with the last of these
tests: Playwright runs an event loop in this thread, so other tests could not start theirs."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from console.market import Market

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from console.window import Window

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# tests share a market, but each has a zone of its own
ZONES = "abcdefghijklmnop"
SMALL = "".join(
    f'[h100.zone-{zone}]\nrack1 = ["gpu[1-4]"]\nrack2 = ["gpu[1-4]"]\n' for zone in ZONES
)


class Opening(Protocol):
    def __call__(self, market: Market, **more: Any) -> Window: ...


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is missing: install the extra `test`"
    )
    found = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if found is None:
        pytest.skip("Chromium is not installed")
    alone = ["--no-sandbox"] if os.geteuid() == 0 else []  # its sandbox does not run as root
    with (
        playwright.sync_playwright() as play,
        contextlib.closing(play.chromium.launch(executable_path=found, args=alone)) as launched,
    ):
        yield launched


@pytest.fixture(scope="package")
def market(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Market]:
    served = Market(tmp_path_factory.mktemp("market"), SMALL)
    yield served
    served.stop()


@pytest.fixture
def open_window(browser: Browser) -> Iterator[Opening]:
    """Open windows. At the end of the test none may have an unexpected complaint."""
    from console.window import Window

    opened: list[Window] = []

    def opening(market: Market, **more: Any) -> Window:
        opened.append(Window(browser, market, **more))
        return opened[-1]

    yield opening
    complaints = [said for window in opened for said in window.unexpected()]
    for window in opened:
        window.context.close()
    assert [] == complaints
