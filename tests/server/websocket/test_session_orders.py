"""Session orders: cancelled when the session ends or the server restarts; leases stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from laissez.server.maintenance import cancel_orphans, last_done
from laissez.wire.ids import lease_id, order_id, tag_of
from support.live_world import Live, place, with_live

pytestmark = pytest.mark.once


def test_open_orders_end_with_their_session_and_leases_stay(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        market = live.world.gateway.exchange.market
        kept = await live.world.place("ann", "a100", "5")
        async with live.peer("ann") as other:
            async with live.peer("ann", cancel_on_disconnect=True) as peer:
                leased = (await peer.ask(**place("1", "h100", "5")))["events"][1]["event"]["lease"]
                waits = [
                    (await peer.ask(**place(f"w{index}", "a100", "1")))["events"][0]["event"][
                        "order"
                    ]
                    for index in range(3)
                ]
                await peer.ask(type="cancel_order", id="c", order=waits[0])
                await other.say(place("o", "a100", "1"))
                outlives = (await other.until("reply"))["events"][0]["event"]["order"]
                assert outlives == (await peer.until("event"))["told"]["event"]["order"]
            told = [(await other.until("event"))["told"]["event"] for _ in waits[1:]]
            assert ["order.cancelled"] * 2 == [one["type"] for one in told]
            assert sorted(waits[1:]) == sorted(one["order"] for one in told)
            assert {kept["lease"], leased} == {
                lease_id(tag_of("ann"), lease.lease) for lease in market.leases("ann")
            }
            assert [outlives] == [
                order_id(tag_of("ann"), order.order) for order in market.orders("ann")
            ]

    with_live(tmp_path / "data", tale)


def test_a_filled_order_is_not_cancelled_with_its_session(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        held = await live.world.place("bob", "a100", "5")
        async with live.peer("ann", cancel_on_disconnect=True) as peer:
            await peer.ask(**place("1", "a100", "1"))
            await live.world.ask("bob", "DELETE", f"/v1/leases/{held['lease']}")
            assert "lease.started" == (await peer.hear())["told"]["event"]["type"]
            position = live.world.gateway.position
        await live.until_open()
        assert position == live.world.gateway.position

    with_live(tmp_path / "data", tale)


def test_session_orders_are_cancelled_at_the_start_after_a_crash(tmp_path: Path) -> None:
    secrets: dict[str, str] = {}
    orders: list[str] = []

    async def before(live: Live) -> None:
        await live.world.place("ann", "a100", "5")
        async with live.peer("ann", cancel_on_disconnect=True) as peer:
            await peer.ask(**place("leased", "h100", "5"))
            orders.append(
                (await peer.ask(**place("waits", "a100", "1")))["events"][0]["event"]["order"]
            )
            # as in a killed server: no more commands are entered
            live.world.gateway.stopping = True
        await live.until_open()

    async def after(live: Live) -> None:
        gateway = live.world.gateway
        assert orders == [
            order_id(tag_of("ann"), order.order) for order in gateway.exchange.market.orders("ann")
        ]
        async with live.peer("ann") as peer:
            assert 1 == cancel_orphans(gateway, last_done(gateway))
            cancelled = (await peer.hear())["told"]["event"]
            assert ("order.cancelled", orders[0]) == (cancelled["type"], cancelled["order"])
        assert 0 == cancel_orphans(gateway, last_done(gateway))
        counts = gateway.exchange.market.counts("ann")
        assert (0, 2) == (counts.orders_open, counts.leases_live)

    with_live(tmp_path / "data", before, secrets=secrets)
    with_live(tmp_path / "data", after, secrets=secrets)
