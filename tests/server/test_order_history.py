"""The history of an order: its events among all others, as far as they are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from laissez.server import admission, order_history
from laissez.server.event_reader import EventReader
from laissez.server.settings import Limits
from support.service_world import Story, World, unknown_order, with_service

pytestmark = pytest.mark.once


async def history(world: World, who: str, order: str, query: str = "") -> list[dict[str, Any]]:
    answer = await world.ask(who, "GET", f"/v1/orders/{order}/history{query}")
    assert 200 == answer.status_code, answer.text
    found: list[dict[str, Any]] = answer.json()["data"]
    return found


def types(events: list[dict[str, Any]]) -> list[str]:
    return [one["event"]["type"] for one in events]


async def amend(world: World, order: str, limit: str) -> None:
    body = {"alternatives": [{"scope": "a100", "limit": limit}]}
    answer = await world.ask("ann", "PUT", f"/v1/orders/{order}", body)
    assert 200 == answer.status_code


def test_a_history_has_every_event_of_its_order_and_no_other(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.place("bob", "a100", "9")
        first = (await world.place("ann", "a100", "1"))["id"]
        await world.place("ann", "h100", "1")
        await amend(world, first, "2")
        assert ["order.placed", "order.amended"] == types(await history(world, "ann", first))
        await world.ask("ann", "DELETE", f"/v1/orders/{first}")
        gone = await history(world, "ann", first)
        assert ["order.placed", "order.amended", "order.cancelled"] == types(gone)
        everything = (await world.ask("ann", "GET", "/v1/events")).json()["data"]
        assert [one for one in everything if one["event"].get("order") == first] == gone

    with_service(tmp_path / "data", story)


def test_a_history_ends_with_the_lease_that_the_order_won(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        won = await world.place("ann", "h100", "1")
        await world.ask("ann", "DELETE", f"/v1/leases/{won['lease']}")
        found = await history(world, "ann", won["id"])
        assert ["order.placed", "lease.started"] == types(found)
        assert won["lease"] == found[-1]["event"]["lease"]

    with_service(tmp_path / "data", story)


def test_a_fee_for_withdrawing_an_order_is_in_its_history(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.place("bob", "a100", "9")
        await world.ask("operator", "PUT", "/v1/controls/a100", {"flash_s": 900})
        order = (await world.place("ann", "a100", "2"))["id"]
        await world.ask("ann", "DELETE", f"/v1/orders/{order}")
        assert ["order.placed", "order.cancelled", "fee.charged"] == types(
            await history(world, "ann", order)
        )

    with_service(tmp_path / "data", story)


def test_the_operator_reads_any_history_with_its_own_numbers_and_the_tenant(
    tmp_path: Path,
) -> None:
    async def story(world: World) -> None:
        await world.place("bob", "a100", "9")
        order = (await world.place("ann", "a100", "1"))["id"]
        everything = (await world.ask("operator", "GET", "/v1/events")).json()["data"]
        assert [
            one
            for one in everything
            if one.get("tenant") == "ann" and one["event"].get("order") == order
        ] == await history(world, "operator", order)

    with_service(tmp_path / "data", story)


@pytest.mark.parametrize("who", ["ann", "bob", "operator"])
def test_the_history_of_an_order_never_placed_is_unknown(tmp_path: Path, who: str) -> None:
    async def story(world: World) -> None:
        await world.place("ann", "h100", "1")
        answer = await world.ask(who, "GET", f"/v1/orders/{unknown_order('ann')}/history")
        assert (404, "not_your_order") == (answer.status_code, answer.json()["code"])
        assert f"there is no order {unknown_order('ann')!r}" == answer.json()["detail"]

    with_service(tmp_path / "data", story)


def test_a_history_has_what_is_kept_and_is_empty_when_nothing_is(tmp_path: Path) -> None:
    """As in a list of all events, older ones are left out. Every order has an event, so an empty
    list is clear, and no client needs to handle a 410."""

    async def story(world: World) -> None:
        await world.place("bob", "a100", "9")
        waits = (await world.place("ann", "a100", "1"))["id"]
        won = (await world.place("ann", "h100", "1"))["id"]
        world.passing.pass_us(3_600_000_000)
        await amend(world, waits, "2")
        assert ["order.amended"] == types(await history(world, "ann", waits))
        for who in ("ann", "operator"):
            assert [] == await history(world, who, won)

    with_service(tmp_path / "data", story, Limits(history_hours=0.5))


@pytest.mark.parametrize("piece", [1, 2, 3, 7])
def test_every_order_is_found_among_many_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    async def story(world: World) -> None:
        await world.place("bob", "a100", "9")
        orders = []
        for _ in range(12):
            won = await world.place("ann", "h100", "1")
            waits = (await world.place("ann", "a100", "1"))["id"]
            for limit in ("2", "3", "4"):
                await world.ask("ann", "PATCH", f"/v1/leases/{won['lease']}", {"limit": limit})
            await amend(world, waits, "2")
            await world.ask("ann", "DELETE", f"/v1/leases/{won['lease']}")
            orders += [won["id"], waits]
        for order in orders[1::4]:
            await world.ask("ann", "DELETE", f"/v1/orders/{order}")
        everything = (await world.ask("ann", "GET", "/v1/events?limit=1000")).json()["data"]
        for order in orders:
            own = [one for one in everything if one["event"].get("order") == order]
            assert own == await history(world, "ann", order)

    monkeypatch.setattr(order_history, "PIECE", piece)
    with_service(tmp_path / "data", story)


def test_a_history_costs_by_the_events_read_not_by_all_that_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    costs: list[int] = []

    def after(others: int) -> Story:
        async def story(world: World) -> None:
            order = (await world.place("ann", "h100", "1"))["id"]
            for _ in range(others):
                await world.place("ann", "a100", "0")
            reads = world.gateway.admission.read_limit("ann")
            before = reads.remaining
            await history(world, "ann", order)
            costs.append(before - reads.remaining)

        return story

    monkeypatch.setattr(admission, "ITEMS_PER_READ", 4)
    monkeypatch.setattr(order_history, "PIECE", 4)
    limits = Limits(commands_per_second=1, commands_burst=500)
    with_service(tmp_path / "few", after(8), limits)
    with_service(tmp_path / "many", after(256), limits)
    assert 1 < costs[0] < costs[1] <= 1 + 8


def test_a_caller_in_debt_is_refused_before_any_event_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(world: World) -> None:
        order = (await world.place("ann", "h100", "1"))["id"]
        world.gateway.admission.read_limit("ann").owe(503, world.gateway.clock.now())
        monkeypatch.setattr(order_history.OrderHistory, "after", None)
        refused = await world.ask("ann", "GET", f"/v1/orders/{order}/history")
        assert (429, "rate_limited") == (refused.status_code, refused.json()["code"])

    with_service(tmp_path / "data", story, Limits(commands_per_second=1, commands_burst=500))


def test_events_forgotten_while_others_are_read_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(world: World) -> None:
        await world.place("bob", "a100", "9")
        order = (await world.place("ann", "a100", "1"))["id"]
        for _ in range(6):
            await world.place("ann", "a100", "0")
        read = EventReader.read

        async def slowly(self: EventReader, *arguments: Any) -> None:
            await read(self, *arguments)
            world.passing.pass_us(3_600_000_000)
            world.gateway.end_holds()

        monkeypatch.setattr(EventReader, "read", slowly)
        monkeypatch.setattr(order_history, "PIECE", 2)
        assert [] == await history(world, "ann", order)

    with_service(tmp_path / "data", story, Limits(history_hours=0.5))
