"""With ten thousand GPUs whose prices move several times a second, the map keeps up and the page
stays smooth."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from console.conftest import Opening
from console.market import Market
from console.window import Window, expect

pytestmark = [pytest.mark.once, pytest.mark.slow, pytest.mark.xdist_group("browser")]

LEAVES = 10_240
LARGE = '[h100]\n"zone-[01-16]" = { "rack[01-10]" = { "host[1-8]" = ["gpu[0-7]"] } }\n'
FRAMES = 12  # between two moves: a fifth of a second at sixty frames a second
TURNS = 6
# The time that a number of frames takes, in milliseconds.
FRAMES_TAKE = """frames => new Promise((done) => {
    const begun = performance.now();
    const frame = () => (frames-- ? requestAnimationFrame(frame) : done(performance.now() - begun));
    frame();
})"""

PAINTED = "least => Number(document.querySelector('canvas')?.dataset.painted) >= least"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Market]:
    served = Market(tmp_path_factory.mktemp("large"), LARGE)
    yield served
    served.stop()


def painted(window: Window) -> int:
    return int(window.page.locator("canvas").get_attribute("data-painted") or "0")


def test_page_stays_smooth_while_ten_thousand_prices_move(
    large: Market, open_window: Opening
) -> None:
    ann = large.tenant("ann")
    for zone in range(1, 9):
        ann.order(f"h100/zone-{zone:02}", "900")
    window = open_window(large).sign_in(large.key)
    window.page.wait_for_function(PAINTED, arg=LEAVES)
    still, moving = [], []
    before = painted(window)
    for turn in range(TURNS):
        still.append(window.page.evaluate(FRAMES_TAKE, FRAMES))
        large.set_floor("h100", str(1 + turn))
        moving.append(window.page.evaluate(FRAMES_TAKE, FRAMES))
    window.page.wait_for_function(PAINTED, arg=before + (TURNS - 1) * LEAVES)
    print(still, moving, painted(window) - before)
    assert sorted(moving)[TURNS // 2] < 2 * sorted(still)[TURNS // 2]
    window.go("#/map/h100/zone-01/rack01/host1/gpu0")
    expect(window.page.locator("aside")).to_contain_text(f"Rate${TURNS}.00/h")
