"""Books and rates over HTTP: the bids and asks of a node, and its rate history."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from laissez.server.http import market
from laissez.units import format_time
from laissez.wire.books import NodeBook, RateHistory
from support.service_world import HOUR_US, World, with_service

pytestmark = pytest.mark.once

NOTHING = {"rise": None, "fall": None, "hold_s": None, "flash_s": None}


async def book(world: World, node: str) -> dict[str, Any]:
    answer = await world.ask("operator", "GET", f"/v1/books/{node}")
    assert 200 == answer.status_code, answer.text
    found: dict[str, Any] = answer.json()
    assert answer.content == msgspec.json.encode(msgspec.json.decode(answer.content, type=NodeBook))
    return found


async def busy(world: World) -> None:
    """Bob holds a leaf of west's first rack up to 4.5 and one without a limit; ann waits at west,
    at the root and further down."""
    await world.ask("operator", "PUT", "/v1/floors/h100", {"price": "1.5"})
    await world.ask("operator", "PUT", "/v1/floors/h100/west/rack2", {"price": "3"})
    await world.ask("operator", "PATCH", "/v1/resources/h100/west/rack2/gpu2", {"online": False})
    await world.place("bob", "h100/west/rack1/gpu1", "4.5")
    lease = (await world.place("bob", "h100/west/rack1/gpu2", "2"))["lease"]
    await world.ask("bob", "PATCH", f"/v1/leases/{lease}", {"limit": None})
    for scope, limit, bid in (
        ("h100/west", "1.4", "1.2"),
        ("h100/west", "1.2", "0"),
        ("h100", "1.4", "0"),
        ("h100/west/rack1/gpu1", "2", "2"),
    ):
        await world.place("ann", scope, limit, bid)


def test_a_book_shows_bids_asks_and_totals(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await busy(world)
        found = await book(world, "h100/west")
        figures = (
            "node",
            "level",
            "leaves",
            "online",
            "leased",
            "floor_own",
            "floor_in_force",
            "standing_rate",
            "best_bid",
            "quote",
            "rate_now",
        )
        assert ["h100/west", "zone", 4, 3, 2, None, "1.5", "1.5", "1.2", "3", "3.5"] == [
            found[name] for name in figures
        ]
        assert (2, 1, 1) == (found["orders_here"], found["orders_above"], found["orders_below"])
        assert [
            {"price": "1.4", "orders": 2, "here": 1},
            {"price": "1.2", "orders": 1, "here": 1},
        ] == found["bids"]
        assert [
            {"price": "3", "leaves": 1},
            {"price": "4.5", "leaves": 1},
            {"price": None, "leaves": 2},
        ] == found["asks"]
        assert (0, 0) == (found["bids_more"], found["asks_more"])
        assert "3" == (await book(world, "h100/west/rack2"))["floor_own"]
        assert {
            "node": "a100",
            "level": None,
            "best_bid": None,
            "quote": "0",
            "bids": [],
            "controls": None,
        }.items() <= (await book(world, "a100")).items()

    with_service(tmp_path / "data", story)


def test_a_book_of_very_many_leaves_is_read_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(world: World) -> None:
        await busy(world)
        at_once = await book(world, "h100")
        monkeypatch.setattr(market, "LEAVES_PER_TURN", 3)
        in_parts = await book(world, "h100")
        assert {**at_once, "at": ""} == {**in_parts, "at": ""} and 8 == in_parts["leaves"] == sum(
            ask["leaves"] for ask in in_parts["asks"]
        )

    with_service(tmp_path / "data", story)


def test_prices_beyond_the_first_fifty_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(world: World) -> None:
        await busy(world)
        monkeypatch.setattr(market, "GROUPS_MAX", 1)
        found = await book(world, "h100/west")
        assert ([{"price": "1.4", "orders": 2, "here": 1}], 1) == (
            found["bids"],
            found["bids_more"],
        )
        assert ([{"price": "3", "leaves": 1}, {"price": None, "leaves": 2}], 1) == (
            found["asks"],
            found["asks_more"],
        )

    with_service(tmp_path / "data", story)


def test_a_book_shows_own_and_inherited_controls(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        band = {"fraction": "0.1", "seconds": 60.0}
        await world.ask(
            "operator", "PUT", "/v1/controls/h100", {**NOTHING, "rise": band, "hold_s": 30}
        )
        await world.ask("operator", "PUT", "/v1/controls/h100/west", {**NOTHING, "flash_s": 5})
        west, leaf = await book(world, "h100/west"), await book(world, "h100/west/rack1/gpu1")
        assert {**NOTHING, "node": "h100/west", "flash_s": 5.0} == west["controls"]
        assert {
            "node": "h100/west",
            "rise": band,
            "fall": None,
            "hold_s": 30.0,
            "flash_s": 5.0,
        } == west["controls_in_force"]
        assert (
            leaf["controls"] is None
            and {**west["controls_in_force"], "node": leaf["node"]} == leaf["controls_in_force"]
        )

    with_service(tmp_path / "data", story)


async def rates(world: World, node: str, query: str = "") -> dict[str, Any]:
    answer = await world.ask("operator", "GET", f"/v1/rates/{node}{query}")
    assert 200 == answer.status_code, answer.text
    found: dict[str, Any] = answer.json()
    assert answer.content == msgspec.json.encode(
        msgspec.json.decode(answer.content, type=RateHistory)
    )
    assert (
        found["segments"][-1]["end"] == found["until"]
        and found["segments"][0]["start"] == found["since"]
    )
    assert all(one["end"] == after["start"] for one, after in pairwise(found["segments"]))
    return found


async def floors(world: World, *prices: str, every_us: int = 60_000_000) -> None:
    for price in prices:
        await world.ask("operator", "PUT", "/v1/floors/h100/west", {"price": price})
        world.passing.pass_us(every_us)


def told(found: dict[str, Any]) -> list[str]:
    return [segment["rate"] for segment in found["segments"]]


def test_the_rate_history_of_a_node_reaches_until_now(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await floors(world, "1", "2", "2.5")
        await world.ask("operator", "PUT", "/v1/floors/h100", {"price": "1.5"})
        for node, expected in (
            ("h100/west/rack1", ["0", "1", "2", "2.5"]),
            ("h100", ["0", "1.5"]),
            ("a100", ["0"]),
        ):
            assert expected == told(await rates(world, node))
        second = (await rates(world, "h100/west"))["segments"][2]["start"]
        assert ["2", "2.5"] == told(await rates(world, "h100/west", f"?since={second}"))
        await world.ask("operator", "PUT", "/v1/floors/h100/west", {"price": "9"})
        assert ["0", "1", "2", "2.5", "9"] == told(await rates(world, "h100/west"))

    with_service(tmp_path / "data", story)


def test_rates_begin_an_hour_ago_or_where_the_books_are_closed(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await floors(world, "1", "2", every_us=HOUR_US)
        found = await rates(world, "h100/west")
        assert ["2"] == told(found)
        assert ["0", "1", "2"] == told(
            await rates(world, "h100/west", "?since=1999-01-01T00:00:00Z")
        )
        world.close_books(world.gateway.clock.now() - HOUR_US // 2)
        assert found["since"] < (await rates(world, "h100/west"))["since"]

    with_service(tmp_path / "data", story)


def test_only_the_newest_segments_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(world: World) -> None:
        monkeypatch.setattr(market, "PRICE_PIECES_MAX", 2)
        await floors(world, "1", "2", "3")
        assert ["2", "3"] == told(await rates(world, "h100/west"))

    with_service(tmp_path / "data", story)


def test_an_instant_has_no_rate_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(world: World) -> None:
        now = world.gateway.clock.now()
        monkeypatch.setattr(world.gateway.clock, "now", lambda: now)
        found = (
            await world.ask("operator", "GET", f"/v1/rates/h100?since={format_time(now)}")
        ).json()
        assert {
            "node": "h100",
            "since": format_time(now),
            "until": format_time(now),
            "segments": [],
        } == found

    with_service(tmp_path / "data", story)


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/v1/books/h100/north", 404, "scope_unknown"),
        ("/v1/rates/h100/north", 404, "scope_unknown"),
        ("/v1/books/" + "x" * 3_000, 404, "scope_unknown"),
        ("/v1/books/h100?since=x", 400, "bad_request"),
        ("/v1/rates/h100?since=yesterday", 400, "bad_request"),
        ("/v1/rates/h100?since=1900-01-01T00:00:00Z", 422, "time_out_of_range"),
        ("/v1/rates/h100?since=2200-01-01T00:00:00Z", 422, "period_invalid"),
        ("/v1/levels?under=h100", 400, "bad_request"),
    ],
)
def test_unknown_nodes_and_unreadable_times_are_refused(
    tmp_path: Path, path: str, status: int, code: str
) -> None:
    async def story(world: World) -> None:
        refused = await world.ask("operator", "GET", path)
        assert (status, code) == (refused.status_code, refused.json()["code"]) and len(
            refused.content
        ) < 1_000

    with_service(tmp_path / "data", story)
