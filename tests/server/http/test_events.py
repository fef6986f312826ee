"""Events over HTTP: pages, and streams that resume, are bounded, and end when they must."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from laissez.client.sse import EventStream as ClientStream
from laissez.exchange.commands import OPERATOR, SERVICE, RevokeKey
from laissez.server import admission
from laissez.server.auth import authenticate
from laissez.server.event_reader import EventReader
from laissez.server.http.events import EventStream
from laissez.server.rates import notify_rates
from laissez.server.settings import Limits
from support.service_world import GENEROUS, World, with_page_size, with_service
from support.stream_reader import SOON_S, StreamReader

pytestmark = pytest.mark.once


class Listening(StreamReader):
    """A reader of the stream of events."""

    def __init__(
        self, world: World, who: str, query: str = "", headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(world, who, "/v1/events", query, headers)

    async def until(self, count: int) -> list[dict[str, str]]:
        """The first `count` events."""
        await self.until_true(lambda: len(self.events()) >= count)
        return self.events()

    def events(self) -> list[dict[str, str]]:
        blocks = [block for block in self.text.split("\n\n") if "data: " in block]
        return [dict(line.split(": ", 1) for line in block.split("\n")) for block in blocks]


def test_a_page_of_events_continues_after_the_previous_one(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.place("ann", "h100", "1")
        await world.place("bob", "h100", "1")
        mine = (await world.ask("ann", "GET", "/v1/events")).json()
        assert [(1, "order.placed"), (2, "lease.started")] == [
            (one["n"], one["event"]["type"]) for one in mine["data"]
        ]
        assert [2] == [
            one["n"] for one in (await world.ask("ann", "GET", "/v1/events?after=1")).json()["data"]
        ]
        assert [] == (await world.ask("ann", "GET", "/v1/events?after=2")).json()["data"]
        all_of_them = (await world.ask("operator", "GET", "/v1/events")).json()["data"]
        assert list(range(1, len(all_of_them) + 1)) == [one["n"] for one in all_of_them]
        assert ["ann", "ann", "bob", "bob"] == [
            one["tenant"] for one in all_of_them if "tenant" in one
        ]
        for wrong in ("after=3", "after=-1", "after=x", "after=", "after=1&cursor=x"):
            assert 400 == (await world.ask("ann", "GET", f"/v1/events?{wrong}")).status_code

    with_service(tmp_path / "data", story)


def test_a_key_revoked_while_a_page_is_read_gets_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(world: World) -> None:
        await world.place("ann", "h100", "1")
        secret = world.new_secret("ann", "read")
        principal, read = authenticate(world.gateway.exchange.keys, secret), EventReader.read
        assert principal is not None

        async def revoking(self: EventReader, *arguments: Any) -> None:
            await read(self, *arguments)
            world.gateway.enter(OPERATOR, SERVICE, "", RevokeKey(principal.key))

        monkeypatch.setattr(EventReader, "read", revoking)
        answer = await world.ask(secret, "GET", "/v1/events")
        assert (401, "unauthenticated") == (answer.status_code, answer.json()["code"])

    with_service(tmp_path / "data", story)


@pytest.mark.parametrize("burst", [1, 3, 10])
def test_a_client_that_honours_retry_after_gets_a_page_of_any_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, burst: int
) -> None:
    async def story(world: World) -> None:
        for _ in range(20):
            await world.place("bob", "h100", "1")
            world.passing.pass_us(20_000_000)
        for _ in range(burst):
            assert 200 == (await world.ask("bob", "GET", "/v1/me")).status_code
        refused = await world.ask("bob", "GET", "/v1/events")
        assert 429 == refused.status_code
        world.passing.pass_us(int(refused.headers["retry-after"]) * 1_000_000)
        assert 200 == (await world.ask("bob", "GET", "/v1/events")).status_code

    monkeypatch.setattr(admission, "ITEMS_PER_READ", 4)
    with_service(tmp_path / "data", story, Limits(commands_per_second=1, commands_burst=burst))


def test_a_page_of_many_events_costs_more_than_a_page_of_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(world: World) -> None:
        for _ in range(6):
            await world.place("ann", "h100", "1")
        left = world.gateway.admission.read_limit("ann")

        async def cost(query: str) -> int:
            before = left.remaining
            assert 200 == (await world.ask("ann", "GET", f"/v1/events{query}")).status_code
            return before - left.remaining

        none = await cost("?after=12")
        assert (3, 1) == (await cost("") - none, await cost("?limit=3") - none)

    monkeypatch.setattr(admission, "ITEMS_PER_READ", 4)
    with_service(tmp_path / "data", story, Limits(commands_per_second=1))


def test_events_that_are_no_longer_kept_are_gone(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        for _ in range(5):
            await world.place("ann", "h100", "1")
        gone = await world.ask("ann", "GET", "/v1/events?after=0")
        assert (410, "history_gone") == (gone.status_code, gone.json()["code"])
        kept = (await world.ask("ann", "GET", "/v1/events")).json()["data"]
        assert 10 == kept[-1]["n"] and len(kept) <= 4
        stream = Listening(world, "ann", "after=0")
        await stream.over()
        assert 410 == stream.status
        assert 0 == len(world.quota)

    with_service(tmp_path / "data", story, Limits(history_events_max=4, commands_burst=100))


@pytest.mark.parametrize("page", [1, 500])
def test_a_stream_sends_events_and_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    with_page_size(monkeypatch, page)

    async def story(world: World) -> None:
        await world.place("ann", "h100", "1")
        stream = Listening(world, "ann")
        await asyncio.sleep(0)
        while world.gateway.following() != ["ann"]:
            await asyncio.sleep(0)
        await world.place("bob", "h100", "1")
        await world.place("ann", "h100", "1")
        events = await stream.until(2)
        assert [("3", "order.placed"), ("4", "lease.started")] == [
            (one["id"], one["event"]) for one in events
        ]
        page = (await world.ask("ann", "GET", "/v1/events?after=2")).json()["data"]
        assert page == [json.loads(one["data"]) for one in events]
        await stream.leave()
        await world.place("ann", "h100", "1")
        for query, headers in (
            ("after=2", {}),
            ("", {"last-event-id": "2"}),
            ("after=0", {"last-event-id": "2"}),
        ):
            resumed = Listening(world, "ann", query, headers)
            assert ["3", "4", "5", "6"] == [one["id"] for one in await resumed.until(4)]
            await resumed.leave()
        assert [] == world.gateway.following() and 0 == len(world.quota)

    with_service(tmp_path / "data", story)


@pytest.mark.parametrize("page", [7, 500])
def test_a_stream_misses_and_repeats_nothing_while_it_catches_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    with_page_size(monkeypatch, page)

    async def story(world: World) -> None:
        for _ in range(30):
            await world.place("ann", "h100", "1")
        stream = Listening(world, "operator", "after=0")
        for _ in range(20):
            await world.place("ann", "h100", "1")
        latest = world.gateway.latest("operator")
        events = await stream.until(latest)
        assert list(map(str, range(1, latest + 1))) == [one["id"] for one in events]
        await stream.leave()

    with_service(tmp_path / "data", story)


@pytest.mark.sources
def test_catching_up_waits_for_the_rate_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_page_size(monkeypatch, 100)

    async def story(world: World) -> None:
        waited: list[float] = []

        async def sleep(seconds: float) -> None:
            waited.append(seconds)
            world.passing.pass_us(round(seconds * 1e6) + 1)

        monkeypatch.setattr(admission, "asyncio", SimpleNamespace(sleep=sleep))
        for _ in range(300):
            world.passing.pass_us(1_000_000)
            await world.place("ann", "h100", "0.1")
        latest = world.gateway.latest("ann")
        stream = Listening(world, "ann", "after=0")
        assert latest == len(await stream.until(latest))
        # three pages, at two reads each
        assert 3 == latest // 100 == len(waited) and all(seconds > 0.9 for seconds in waited)
        await stream.leave()

    with_service(tmp_path / "data", story, Limits(commands_per_second=1, commands_burst=2))


@pytest.mark.parametrize("page", [1, 500])
def test_a_stream_ends_if_its_missed_events_leave_the_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    with_page_size(monkeypatch, page)

    async def story(world: World) -> None:
        for _ in range(3):
            await world.place("ann", "h100", "1")
        stream = Listening(world, "ann", "after=0")
        stream.reads.clear()
        while not world.quota.taken:
            await asyncio.sleep(0)
        for _ in range(5):
            await world.place("ann", "h100", "1")
        stream.reads.set()
        assert (
            "closing history_gone" in await stream.over()
            if page == 1
            else 16 == len(await stream.until(16))
        )
        await stream.leave()
        assert not world.quota.taken and not world.gateway.following()

    with_service(
        tmp_path / "data",
        story,
        Limits(history_events_max=12 if page == 1 else 100, commands_burst=100),
    )


def test_notices_have_no_number(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.place("ann", "a100", "5")
        stream = Listening(world, "ann", "after=0")
        await stream.until(2)
        await world.place("bob", "a100", "4.9")
        notify_rates(world.gateway, "ann")
        events = await stream.until(4)
        assert [("rate.changed", False), ("limit.near", False)] == [
            (one["event"], "id" in one) for one in events[2:]
        ]
        assert "4.9" == json.loads(events[3]["data"])["rate"]
        await stream.leave()

    with_service(tmp_path / "data", story)


def test_a_new_stream_first_sends_the_number_to_resume_after(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.place("ann", "h100", "1")
        stream = Listening(world, "ann")
        async with asyncio.timeout(SOON_S):
            while "id: " not in stream.text:
                await asyncio.sleep(0)
        await stream.leave()
        following = ClientStream()
        assert [] == list(following.feed(stream.text.encode()))
        assert 2 == following.last
        await world.place("ann", "h100", "1")  # while no stream is open
        again = Listening(world, "ann", headers={"last-event-id": str(following.last)})
        assert ["3", "4"] == [one["id"] for one in await again.until(2)]
        await again.leave()

    with_service(tmp_path / "data", story)


def test_an_idle_stream_sends_heartbeats(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        stream = Listening(world, "ann")
        async with asyncio.timeout(SOON_S):
            while stream.text.count(": beat") < 3:
                await asyncio.sleep(0.005)
        await stream.leave()

    with_service(tmp_path / "data", story, Limits(heartbeat_s=0.01))


def test_a_stream_ends_with_its_key_with_the_server_and_with_the_journal(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        secret = world.new_secret("ann", "read")
        id = (await world.ask(secret, "GET", "/v1/me")).json()["key"]
        revoked, other = Listening(world, secret, "after=0"), Listening(world, "ann", "after=0")
        while len(world.quota) < 2:
            await asyncio.sleep(0)
        await world.ask("operator", "DELETE", f"/v1/keys/{id}")
        assert (await revoked.over()).endswith(": closing key_revoked\n\n") and revoked.has_ended
        assert not other.has_ended
        world.gateway.end_streams(1001, "stopping")
        assert (await other.over()).endswith(": closing stopping\n\n")
        assert 0 == len(world.quota)
        world.gateway.stopping = True
        refused = Listening(world, "ann")
        await refused.over()
        assert 503 == refused.status

    with_service(tmp_path / "data", story)


def test_a_stream_is_cut_off_if_the_client_does_not_read(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        stream = Listening(world, "ann", "after=0")
        while not world.gateway.following():
            await asyncio.sleep(0)
        stream.reads.clear()
        for _ in range(4):
            await world.place("ann", "h100", "1")
        async with asyncio.timeout(SOON_S):
            while len(world.quota):
                await asyncio.sleep(0.01)
        assert [] == world.gateway.following()
        stream.reads.set()
        await stream.over()

    with_service(tmp_path / "data", story, Limits(outbound_messages_max=3, commands_burst=100))


def test_streams_per_holder_are_limited(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.ask("operator", "PATCH", "/v1/tenants/ann", {"caps": {"sessions": 1}})
        first = Listening(world, "ann", "after=0")
        while not len(world.quota):
            await asyncio.sleep(0)
        refused = await world.ask(
            "ann", "GET", "/v1/events", headers={"Accept": "text/event-stream"}
        )
        assert (429, "too_many_sessions", "1") == (
            refused.status_code,
            refused.json()["code"],
            refused.headers["retry-after"],
        )
        await first.leave()
        second = Listening(world, "ann", "after=0")
        while not len(world.quota):
            await asyncio.sleep(0)
        await second.leave()

    with_service(tmp_path / "data", story, GENEROUS)


def test_a_stream_that_fails_to_open_takes_no_quota(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        principal = authenticate(world.gateway.exchange.keys, world.secrets["ann"])
        assert principal is not None
        with pytest.raises(Exception, match="from 0 to 0"):
            await EventStream(world.app.site, principal, 7).open()
        assert 0 == len(world.quota) and [] == world.gateway.following()
        for query in ("limit=3", "cursor=x", "after=x"):
            assert (
                400
                == (
                    await world.ask(
                        "ann", "GET", f"/v1/events?{query}", headers={"Accept": "text/event-stream"}
                    )
                ).status_code
            )
        assert (
            400
            == (
                await world.ask(
                    "ann",
                    "GET",
                    "/v1/events",
                    headers={"Accept": "text/event-stream", "Last-Event-ID": "x"},
                )
            ).status_code
        )

    with_service(tmp_path / "data", story)


def test_the_operator_reads_a_tenants_events_as_the_tenant_does(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.place("bob", "h100", "1")
        await world.place("ann", "h100", "2")
        own = (await world.ask("ann", "GET", "/v1/events")).content
        assert [{"n", "event"}] * 2 == [one.keys() for one in json.loads(own)["data"]]
        assert own == (await world.ask("operator", "GET", "/v1/events?tenant=ann")).content
        assert 404 == (await world.ask("operator", "GET", "/v1/events?tenant=nobody")).status_code
        assert 403 == (await world.ask("ann", "GET", "/v1/events?tenant=bob")).status_code

    with_service(tmp_path, story)
