"""A tenant's turn against a real server: what it sees, what it sends, and that it goes on after
either side was away."""

from __future__ import annotations

from pathlib import Path

import pytest

from laissez.client import AsyncSession
from laissez.live.trader import Trader
from laissez.tenants import AdapterSettings, EconAdapter
from support.live_world import Live, with_live
from support.tenant_world import Plain

pytestmark = pytest.mark.once


def session(live: Live, who: str) -> AsyncSession:
    return AsyncSession(f"http://127.0.0.1:{live.port}", live.world.secrets[who])


def trader(
    live: Live, opened: AsyncSession, app: Plain, settings: AdapterSettings | None = None
) -> Trader:
    return Trader(opened, EconAdapter("ann", app, settings), clock=live.world.gateway.clock.now)


def test_a_trader_gets_its_nodes_sets_limits_and_comes_to_rest(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        async with session(live, "ann") as opened:
            trading = trader(
                live, opened, Plain(want=2, value=3.0, scopes=("h100/east",), cold_s=360.0)
            )
            _, placed = await trading.turn()
            assert ["PlaceOrder", "PlaceOrder"] == [type(command).__name__ for command, _ in placed]
            view, limited = await trading.turn()
            assert [2_700_000, 2_700_000] == [lease.limit for lease in view.leases]
            assert [3_300_000, 3_300_000] == [command.limit for command, _ in limited]  # type: ignore[union-attr]
            assert [] == (await trading.turn())[1]

    with_live(tmp_path, tale)


def test_resting_orders_are_amended_and_cancelled_by_id(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        await live.world.ask("operator", "PUT", "/v1/floors/a100", {"price": "9"})
        app = Plain(want=2, value=3.0, scopes=("a100",))
        async with session(live, "ann") as opened:
            trading = trader(live, opened, app)
            await trading.turn()
            app.value = 4.0
            app.want = 1
            _, sent = await trading.turn()
            assert ["CancelOrder", "AmendOrder"] == [type(command).__name__ for command, _ in sent]
            (order,) = (await trading.look()).orders
            assert 4_000_000 == order.alternatives[0].limit
            assert order.order == sent[1][0].order  # type: ignore[union-attr]

    with_live(tmp_path, tale)


def test_only_visible_prices_are_quoted_and_a_cheaper_place_is_taken(
    tmp_path: Path,
) -> None:
    async def tale(live: Live) -> None:
        app = Plain(want=1, value=5.0, scopes=("h100", "a100"))
        async with session(live, "ann") as opened:
            trading = trader(live, opened, app)
            await trading.turn()
            (held,) = (await trading.look()).leases
            await live.world.ask(
                "operator", "PUT", f"/v1/floors/{held.leaf.partition('/')[0]}", {"price": "4"}
            )
            view, _ = await trading.turn()
            assert {"a100", "h100"} == set(view.quotes)
            for _ in range(3):
                await trading.turn()
            (moved,) = (await trading.look()).leases
            assert moved.leaf.partition("/")[0] != held.leaf.partition("/")[0]

    with_live(tmp_path, tale)


def test_a_new_trader_takes_over_leases_and_orders(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        app = Plain(want=2, value=3.0, scopes=("h100/east",))
        async with session(live, "ann") as first:
            await trader(live, first, app).turn()
        async with session(live, "ann") as second:
            again = trader(live, second, app)
            assert 2 == len((await again.look()).leases)
            assert [] == (await again.turn())[1]

    with_live(tmp_path, tale)


def test_a_trader_continues_after_a_restart_of_the_server(tmp_path: Path) -> None:
    secrets: dict[str, str] = {}
    app = Plain(want=2, value=3.0, scopes=("h100/east",))

    async def before(live: Live) -> None:
        async with session(live, "ann") as opened:
            await trader(live, opened, app).turn()

    async def after(live: Live) -> None:
        async with session(live, "ann") as opened:
            assert [] == (await trader(live, opened, app).turn())[1]

    with_live(tmp_path, before, secrets=secrets)
    with_live(tmp_path, after, secrets=secrets)
