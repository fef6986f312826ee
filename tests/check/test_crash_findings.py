"""Bugs that crash tests have found, each as its smallest story."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from laissez.server import first_start
from laissez.server.auth import Principal
from laissez.server.settings import Data, Settings
from laissez.wire.requests import Hello
from support.service_world import World, Written, session_on, with_service

pytestmark = pytest.mark.once


def test_instances_near_a_lease_that_the_books_have_forgotten_are_answered_as_the_first_time(
    tmp_path: Path,
) -> None:
    async def story(world: World) -> None:
        lease = (await world.place("ann", "a100", "5"))["lease"]
        body = {"near": lease, "level": 1, "max_price": "0.5", "count": 2}
        first = await world.ask("ann", "POST", "/v1/instances", body, key="near")
        assert 201 == first.status_code
        await world.ask("ann", "DELETE", f"/v1/leases/{lease}")
        world.close_books()
        again = await world.ask("ann", "POST", "/v1/instances", body, key="near")
        assert (201, first.content) == (again.status_code, again.content)
        other = await world.ask(
            "ann", "POST", "/v1/instances", {**body, "max_price": "0.6"}, key="near"
        )
        assert "idempotency_conflict" == other.json()["code"]

    with_service(tmp_path / "data", story)


def test_whoever_is_refused_is_told_first_what_the_passing_of_time_did(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.ask("operator", "PUT", "/v1/controls/a100", {"hold_s": 60})
        await world.place("ann", "a100", "5")
        order = (await world.place("bob", "a100", "9"))["id"]
        wire = Written()
        bob = Principal("bob", "", frozenset({"read", "trade"}))
        session = session_on(wire, world.gateway, bob)
        await session.greet(Hello())
        world.passing.pass_us(61_000_000)
        # The hold is over before the second command: the order is filled first, and so it cannot be
        # cancelled.
        frame = [{"type": "ping", "id": "1"}, {"type": "cancel_order", "id": "2", "order": order}]
        session.receive(msgspec.json.encode(frame))
        await world.gateway.all_durable()
        session.flush()
        assert [("welcome", None), ("pong", "1"), ("event", None), ("refused", "2")] == [
            (one["type"], one.get("id")) for one in wire.said
        ]
        assert (2, "lease.started") == (
            wire.said[2]["told"]["n"],
            wire.said[2]["told"]["event"]["type"],
        )
        session.lost()

    with_service(tmp_path / "data", story)


def test_closing_the_books_tells_of_the_holds_that_end_with_it(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.ask("operator", "PUT", "/v1/controls/a100", {"hold_s": 60})
        await world.place("ann", "a100", "5")
        await world.place("bob", "a100", "9")
        world.passing.pass_us(61_000_000)
        world.close_books()
        told = [
            one["event"]["type"]
            for one in (await world.ask("bob", "GET", "/v1/events")).json()["data"]
        ]
        assert ["order.placed", "lease.started"] == told
        assert ["a100/east/rack1/gpu1"] == [
            one["leaf"] for one in (await world.ask("bob", "GET", "/v1/leases")).json()["data"]
        ]

    with_service(tmp_path / "data", story)


def test_a_first_start_that_was_cut_short_is_begun_anew(tmp_path: Path) -> None:
    topology = tmp_path / "cluster.toml"
    topology.write_text('gpu = ["g[0-1]"]')
    data = tmp_path / "data"
    data.mkdir()
    for left in ("journal.lock", "journal.db.new"):
        (data / left).write_bytes(b"")
    settings = Settings(data=Data(folder=str(data), topology=str(topology)))
    first_start.create_if_new(settings)
    made = (data / "journal.db").read_bytes()
    first_start.create_if_new(settings)
    assert made == (data / "journal.db").read_bytes()


@pytest.mark.parametrize("left", ["journal.db-wal", "journal.mark", "snapshots"])
def test_what_a_lost_journal_left_behind_is_no_place_for_a_new_one(
    tmp_path: Path, left: str
) -> None:
    (tmp_path / left).mkdir() if left == "snapshots" else (tmp_path / left).write_bytes(b"")
    assert first_start.has_market(tmp_path)
