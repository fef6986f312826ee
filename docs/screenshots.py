"""Take the pictures of the console that the documentation shows: starts the sample market, looks at
it, and stops it again.

    .venv/bin/python docs/screenshots.py             docs/images/console-*.png
    .venv/bin/python docs/screenshots.py --all DIR   every page, in two sizes and both themes

Needs Chromium and the extra `test` (Playwright).
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
from playwright.sync_api import Browser, Page, sync_playwright

IMAGES = Path(__file__).parent / "images"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SIZES = {"desk": (1440, 900), "phone": (390, 844)}
TENANT = "sailor"
# of the market's history, one every ten seconds: a chart wants to have something to show
SAMPLES = 6
DRAWN_MS = 2500


@contextlib.contextmanager
def sample_market(folder: Path) -> Iterator[str]:
    """The address of a sample market that has lived for a minute."""
    command = [sys.executable, "-m", "laissez.cli", "up", "--data", str(folder), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = next(
                found[0]
                for line in process.stdout
                if (found := re.search(r"http://[\d.]+:\d+", line))
            )
            live_on(address, (folder / "keys" / "operator.key").read_text().strip())
            yield address
        finally:
            process.terminate()


def live_on(address: str, key: str) -> None:
    print(f"the sample market lives at {address}; pictures follow in a minute")
    while (
        len(
            httpx.get(
                f"{address}/v1/market/history", headers={"Authorization": f"Bearer {key}"}
            ).json()["samples"]
        )
        < SAMPLES
    ):
        time.sleep(1)


def signed_in(
    browser: Browser, address: str, folder: Path, holder: str, size: str, theme: str
) -> Page:
    width, height = SIZES[size]
    page = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if theme == "dark" else "light",
    ).new_page()
    page.goto(address)
    page.get_by_label("Your key").fill((folder / "keys" / f"{holder}.key").read_text().strip())
    page.keyboard.press("Enter")
    page.get_by_text("Live", exact=True).wait_for()
    return page


def take(page: Page, address: str, path: Path) -> None:
    page.evaluate("where => { location.hash = where; }", address)
    page.wait_for_timeout(DRAWN_MS)
    page.screenshot(path=path)
    print(f"{path}: {path.stat().st_size // 1024} KB")


def take_all(browser: Browser, url: str, folder: Path, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for holder in ("operator", TENANT):
        for size in SIZES:
            for theme in ("light", "dark"):
                page = signed_in(browser, url, folder, holder, size, theme)
                links = (
                    page.get_by_role("navigation", name="Pages")
                    .get_by_role("link")
                    .evaluate_all("links => links.map((link) => link.hash)")
                )
                for link in [*links, *about_one(page, holder)]:
                    name = re.sub(r"[^a-z0-9]+", "-", link.split("/", 1)[1])
                    take(page, link, out / f"{holder}-{name}-{size}-{theme}.png")
                page.context.close()


def about_one(page: Page, holder: str) -> list[str]:
    """Pages about one thing, which no navigation leads to."""
    if holder == "operator":
        return ["#/map/h100/zone-a", "#/map/h100/zone-a/rack1/host1/gpu0", f"#/tenants/{TENANT}"]
    lease = page.locator("a.path").first.get_attribute("href")
    return [lease] if lease else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument(
        "--all",
        type=Path,
        metavar="DIR",
        help="every page, at two sizes and in both themes, into this folder",
    )
    asked = parser.parse_args()
    found = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if found is None:
        sys.exit(
            "no browser: expected one of "
            + ", ".join(BROWSERS)
            + " on PATH (apt-get install chromium)"
        )
    alone = ["--no-sandbox"] if os.geteuid() == 0 else []  # its sandbox does not run as root
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as play:
        folder = Path(temporary) / "sample"
        with (
            sample_market(folder) as url,
            contextlib.closing(play.chromium.launch(executable_path=found, args=alone)) as browser,
        ):
            if asked.all:
                take_all(browser, url, folder, asked.all)
            else:
                take(
                    signed_in(browser, url, folder, "operator", "desk", "light"),
                    "#/map/h100",
                    IMAGES / "console-operator.png",
                )
                take(
                    signed_in(browser, url, folder, TENANT, "desk", "light"),
                    "#/bill",
                    IMAGES / "console-tenant.png",
                )


if __name__ == "__main__":
    main()
