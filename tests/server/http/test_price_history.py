"""Price histories of leases over REST: the newest segments, and all earlier ones as one."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from laissez.server import views
from laissez.server.settings import Limits
from support.service_world import World, with_service

pytestmark = pytest.mark.once


async def with_price_changes(world: World, times: int) -> str:
    """A lease of ann's whose price bob lowers and raises in turn, once a second."""
    lease: str = (await world.place("ann", "a100", "9"))["lease"]
    order = (await world.place("bob", "a100", "2"))["id"]
    for time in range(times):
        world.passing.pass_us(1_000_000)
        amended = await world.ask(
            "bob",
            "PUT",
            f"/v1/orders/{order}",
            {"alternatives": [{"scope": "a100", "limit": "12"[time % 2]}]},
        )
        assert 200 == amended.status_code
    return lease


async def segments_of(world: World, lease: str) -> list[dict[str, Any]]:
    answer = await world.ask("ann", "GET", f"/v1/leases/{lease}/prices")
    assert 200 == answer.status_code
    segments: list[dict[str, Any]] = answer.json()["segments"]
    return segments


def total(segments: list[dict[str, Any]]) -> Decimal:
    return sum((Decimal(one["cost"]) for one in segments), Decimal())


def test_an_ended_lease_shows_its_newest_segments_and_the_rest_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(world: World) -> None:
        lease = await with_price_changes(world, 40)
        await world.ask("ann", "DELETE", f"/v1/leases/{lease}")
        whole = await segments_of(world, lease)
        monkeypatch.setattr(views, "PRICE_PIECES_MAX", 10)
        before, *newest = await segments_of(world, lease)
        assert whole[-9:] == newest
        assert (whole[0]["start"], whole[-9]["start"], None) == (
            before["start"],
            before["end"],
            before["rate"],
        )
        # each cost is rounded down to a millionth
        assert total(whole) == pytest.approx(total([before, *newest]), abs=Decimal("0.0001"))

    with_service(tmp_path / "data", story)


def test_the_present_segment_counts_among_the_newest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(world: World) -> None:
        lease = await with_price_changes(world, 40)
        whole = await segments_of(world, lease)
        monkeypatch.setattr(views, "PRICE_PIECES_MAX", 10)
        before, *newest = await segments_of(world, lease)
        assert [one["start"] for one in whole[-10:]] == [one["start"] for one in newest]
        assert before["end"] == newest[0]["start"] and before["rate"] is None

    with_service(tmp_path / "data", story)


def test_a_price_history_costs_one_more_read_per_hundred_segments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(world: World) -> None:
        lease = await with_price_changes(world, 205)
        reads = world.gateway.admission.read_limit("ann")
        for most, cost in ((2_000, 3), (100, 2), (50, 1)):
            monkeypatch.setattr(views, "PRICE_PIECES_MAX", most)
            before = reads.remaining
            await segments_of(world, lease)
            assert cost == before - reads.remaining

    with_service(tmp_path / "data", story, Limits(commands_per_second=1, commands_burst=500))


def test_a_caller_in_debt_is_refused_before_any_price_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(world: World) -> None:
        lease = await with_price_changes(world, 5)
        world.gateway.admission.read_limit("ann").owe(503, world.gateway.clock.now())
        monkeypatch.setattr(views, "price_pieces", None)
        refused = await world.ask("ann", "GET", f"/v1/leases/{lease}/prices")
        assert (429, "4") == (refused.status_code, refused.headers["retry-after"])
        monkeypatch.undo()
        world.passing.pass_us(4_000_000)
        await segments_of(world, lease)

    with_service(tmp_path / "data", story, Limits(commands_per_second=1, commands_burst=500))
