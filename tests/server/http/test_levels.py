"""Levels over HTTP: every leaf at a glance, and a stream of changes that always leads to the
present state."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from laissez.exchange.commands import OPERATOR, SERVICE, RevokeKey
from laissez.market.commands import CancelOrder
from laissez.server import background, levels
from laissez.server.http import events
from laissez.server.settings import Limits
from laissez.wire.books import Levels
from laissez.wire.problems import Code, ProblemError
from support.service_world import (
    GENEROUS,
    LEAVES,
    TOPOLOGY,
    Replaced,
    World,
    journal_held,
    with_service,
)
from support.stream_reader import SOON_S, StreamReader

pytestmark = pytest.mark.once

QUICK_S = 0.005  # between two polls, instead of a fifth of a second
A100 = "a100/east/rack1/gpu1"


class Watching(StreamReader):
    """A reader of the stream that tracks the state, as a console does."""

    def __init__(self, world: World, who: str = "operator") -> None:
        world.app.site.levels.every_s = QUICK_S
        self.messages: list[tuple[str, dict[str, Any]]] = []
        self.state: dict[str, Any] = {}
        super().__init__(world, who, "/v1/levels")

    def hear(self, piece: str) -> None:
        if piece.startswith("event: "):
            event, data = piece.removeprefix("event: ").rstrip("\n").split("\ndata: ")
            assert data.encode() == msgspec.json.encode(msgspec.json.decode(data, type=Levels))
            self._take(event, json.loads(data))

    def _take(self, event: str, told: dict[str, Any]) -> None:
        self.messages.append((event, told))
        if event == "levels":
            self.state = told
            return
        changed = {row[0]: row for row in told["rows"]}
        rows = [changed.get(row[0], row) for row in self.state["rows"]]
        self.state = told | {"rows": rows}

    async def until(self, count: int) -> dict[str, Any]:
        """The last of the first `count` messages."""
        await self.until_true(lambda: len(self.messages) >= count)
        return self.messages[count - 1][1]

    async def until_like(self, whole: dict[str, Any]) -> None:
        await self.until_true(lambda: bool(self.state) and shape(self.state) == shape(whole))


def shape(whole: dict[str, Any]) -> dict[str, Any]:
    """Everything except the time."""
    return {name: value for name, value in whole.items() if name not in ("at", "n")}


async def asked(world: World) -> dict[str, Any]:
    answer = await world.ask("operator", "GET", "/v1/levels")
    assert 200 == answer.status_code
    found: dict[str, Any] = answer.json()
    assert answer.content == msgspec.json.encode(msgspec.json.decode(answer.content, type=Levels))
    return found


def test_levels_show_the_owner_and_rate_of_each_leaf(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.ask("operator", "PUT", "/v1/floors/h100/west", {"price": "1.5"})
        await world.ask(
            "operator", "PATCH", "/v1/resources/h100/west/rack2/gpu2", {"online": False}
        )
        lease = (await world.place("bob", "a100", "4.5"))["lease"]
        await world.place("ann", "a100", "2.75", "2.25")
        found = await asked(world)
        assert {"h100": ["type", "zone", "rack", "gpu"], "a100": None} == found["levels"]
        assert list(TOPOLOGY.leaves) == [row[0] for row in found["rows"]]
        assert [A100, True, "bob", "2.25", "4.5", "0"] == found["rows"][0]
        assert [[True, None, "0", None, "0"]] * 4 == [row[1:] for row in found["rows"][1:5]]
        assert [[True, None, "1.5", None, "1.5"]] * 3 == [row[1:] for row in found["rows"][5:8]]
        assert ["h100/west/rack2/gpu2", False, None, "1.5", None, "1.5"] == found["rows"][8]
        assert world.gateway.latest(OPERATOR) == found["n"]
        await world.ask("bob", "PATCH", f"/v1/leases/{lease}", {"limit": None})
        assert [A100, True, "bob", "2.25", None, "0"] == (await asked(world))["rows"][0]

    with_service(tmp_path / "data", story)


def test_levels_are_current_even_without_commands(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        before = await asked(world)
        world.passing.pass_us(60_000_000)
        after = await asked(world)
        assert shape(before) == shape(after) and before["at"][:17] < after["at"][:17]

    with_service(tmp_path / "data", story)


def test_only_the_operator_sees_levels(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        for path in ("/v1/levels", "/v1/books/h100", "/v1/rates/h100"):
            refused = await world.ask("ann", "GET", path)
            assert (403, "forbidden") == (refused.status_code, refused.json()["code"])
        stream = Watching(world, "ann")
        await stream.over()
        assert 403 == stream.status and 0 == len(world.quota)

    with_service(tmp_path / "data", story)


def test_a_stream_sends_all_rows_then_only_changed_ones(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        stream = Watching(world)
        first = await stream.until(1)
        assert "levels" == stream.messages[0][0] and shape(await asked(world)) == shape(first)
        await world.place("bob", "a100", "4.5")
        told = await stream.until(2)
        assert "changed" == stream.messages[1][0]
        assert [[A100, True, "bob", "0", "4.5", "0"]] == told["rows"]
        await world.place("ann", "a100", "2")
        assert [[A100, True, "bob", "2", "4.5", "0"]] == (await stream.until(3))["rows"]
        await world.place("ann", "a100", "6")
        told = await stream.until(4)
        # ann's own bid does not raise her price
        assert [[A100, True, "ann", "0", "6", "0"]] == told["rows"]
        assert world.gateway.latest(OPERATOR) == told["n"]
        await stream.leave()
        assert 0 == len(world.quota)

    with_service(tmp_path / "data", story)


def test_the_end_of_a_hold_is_shown(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.ask(
            "operator",
            "PUT",
            "/v1/controls/a100",
            {"rise": None, "fall": None, "hold_s": 60, "flash_s": None},
        )
        await world.place("bob", "a100", "2")
        await world.place("ann", "a100", "5")
        stream = Watching(world)
        assert [A100, True, "bob", "5", "2", "0"] == (await stream.until(1))["rows"][0]
        world.passing.pass_us(61_000_000)
        assert [[A100, True, "ann", "0", "5", "0"]] == (await stream.until(2))["rows"]
        await stream.leave()

    with_service(tmp_path / "data", story)


@pytest.mark.parametrize("seed", range(3))
def test_changes_lead_from_the_first_state_to_the_present_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    # so that a reading takes several pieces, with commands in between
    monkeypatch.setattr(levels, "LEAVES_PER_PIECE", 2)
    monkeypatch.setattr(background, "WORK_US", 0)

    async def story(world: World) -> None:
        draw = Random(seed)
        early, slow = Watching(world), Watching(world)
        await early.until(1)
        await slow.until(1)
        slow.reads.clear()
        for turn in range(60):
            await one_command(world, draw)
            if turn % 20 == 0:
                await early.until_like(await asked(world))
        whole = await asked(world)
        slow.reads.set()
        for stream in (early, slow):
            await stream.until_like(whole)
            await stream.leave()
        assert len(slow.messages) <= 4 < len(early.messages)

    with_service(tmp_path / "data", story)


async def one_command(world: World, draw: Random) -> None:
    what, leaf = (
        draw.choice(("place", "place", "place", "floor", "relinquish", "online")),
        draw.choice(LEAVES),
    )
    tenant, price = draw.choice(("ann", "bob")), str(draw.randint(0, 5))
    node = "/".join(leaf.split("/")[: draw.randint(1, 4)])
    if what == "place":
        await world.place(tenant, node, price)
    elif what == "floor":
        await world.ask("operator", "PUT", f"/v1/floors/{node}", {"price": price})
    elif what == "online":
        await world.ask(
            "operator", "PATCH", f"/v1/resources/{leaf}", {"online": draw.random() < 0.7}
        )
    else:
        for lease in (await world.ask(tenant, "GET", "/v1/leases?limit=1")).json()["data"]:
            await world.ask(tenant, "DELETE", f"/v1/leases/{lease['id']}")


@pytest.mark.sources
def test_streams_share_one_reading_and_do_not_read_without_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(world: World) -> None:
        looks = 0
        market = world.gateway.exchange.market

        def levels(*asked: Any, **more: Any) -> Any:
            nonlocal looks
            looks += 1
            return market.levels(*asked, **more)

        counting = Replaced(market, levels=levels)
        monkeypatch.setattr(
            world.gateway, "exchange", Replaced(world.gateway.exchange, market=counting)
        )
        streams = [Watching(world), Watching(world), Watching(world)]
        for stream in streams:
            await stream.until(1)
        assert 1 == looks
        await asyncio.sleep(4 * QUICK_S)
        assert 1 == looks
        await world.place("bob", "a100", "4.5")
        for stream in streams:
            await stream.until(2)
        assert (
            2 == looks
            and streams[0].messages[1] == streams[1].messages[1] == streams[2].messages[1]
        )
        for stream in streams:
            await stream.leave()
        await world.place("bob", "h100", "4.5")
        await asyncio.sleep(4 * QUICK_S)
        assert 2 == looks

    with_service(tmp_path / "data", story)


def test_nothing_is_shown_before_it_is_durable(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        stream = Watching(world)
        await stream.until(1)
        before = world.gateway.position
        with journal_held(world.gateway):
            placing = asyncio.create_task(world.place("bob", "a100", "4.5"))
            async with asyncio.timeout(SOON_S):
                while world.gateway._commit.durable == before:
                    await asyncio.sleep(QUICK_S)
            await asyncio.sleep(4 * QUICK_S)
            assert 1 == len(stream.messages)
        await placing
        assert [[A100, True, "bob", "0", "4.5", "0"]] == (await stream.until(2))["rows"]
        await stream.leave()

    with_service(tmp_path / "data", story)


def test_a_stream_of_levels_ends_with_its_key_and_with_the_server(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        secret = world.new_secret("operator", "operate")
        id = (await world.ask(secret, "GET", "/v1/me")).json()["key"]
        revoked, other = Watching(world, secret), Watching(world)
        await revoked.until(1)
        await other.until(1)
        await world.ask("operator", "DELETE", f"/v1/keys/{id}")
        assert (await revoked.over()).endswith(": closing key_revoked\n\n")
        assert 1 == len(world.quota)
        world.gateway.end_streams(1001, "stopping")
        assert (await other.over()).endswith(": closing stopping\n\n")
        assert 0 == len(world.quota)
        world.gateway.stopping = True
        refused = Watching(world)
        await refused.over()
        assert 503 == refused.status

    with_service(tmp_path / "data", story)


def test_a_key_revoked_while_a_stream_opens_gets_nothing(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        secret = world.new_secret("operator", "read")
        key = (await world.ask(secret, "GET", "/v1/me")).json()["key"]
        with journal_held(world.gateway):
            world.gateway.enter("ann", SERVICE, "", CancelOrder("ann", 9))  # must be stored first
            stream = Watching(world, secret)
            async with asyncio.timeout(SOON_S):
                while not len(world.quota):
                    await asyncio.sleep(0)
            world.gateway.enter(OPERATOR, SERVICE, "", RevokeKey(key))
            # Both become durable at once: until then the key is in force.
            async with asyncio.timeout(SOON_S):
                while world.gateway._commit.durable < world.gateway.position:
                    await asyncio.sleep(QUICK_S)
        assert ": closing key_revoked\n\n" == await stream.over()

    with_service(tmp_path / "data", story)


def test_a_stream_of_levels_ends_when_the_journal_fails(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        stream = Watching(world)
        await stream.until(1)
        world.gateway.fail("a test")
        assert (await stream.over()).endswith(": closing journal_failed\n\n")
        with pytest.raises(ProblemError) as refused:
            await world.app.site.levels.look_now()
        assert Code.JOURNAL_FAILED == refused.value.code

    with_service(tmp_path / "data", story)


def test_a_stream_of_levels_sends_heartbeats_and_counts_against_the_quota(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        stream = Watching(world)
        async with asyncio.timeout(SOON_S):
            while stream.text.count(": beat") < 2:
                await asyncio.sleep(QUICK_S)
        refused = await world.ask(
            "operator", "GET", "/v1/levels", headers={"Accept": "text/event-stream"}
        )
        assert (429, "too_many_sessions") == (refused.status_code, refused.json()["code"])
        await stream.leave()
        again = Watching(world)
        await again.until(1)
        await again.leave()

    with_service(tmp_path / "data", story, Limits(heartbeat_s=0.01, operator_sessions_max=1))


def test_a_client_that_stops_reading_is_cut_off_when_its_stream_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "LAST_WORD_WITHIN_S", 0.05)

    async def story(world: World) -> None:
        stream = Watching(world)
        await stream.until(1)
        stream.reads.clear()
        await world.place("bob", "a100", "4.5")
        await asyncio.sleep(4 * QUICK_S)
        world.gateway.end_streams(1001, "stopping")
        async with asyncio.timeout(SOON_S):
            while len(world.quota):
                await asyncio.sleep(QUICK_S)
        await stream.over()

    with_service(tmp_path / "data", story, GENEROUS)
