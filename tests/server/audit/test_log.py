"""Each request refused before the journal leaves one line without secrets, and a flood does not
fill the disk."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from laissez.server.audit.log import CUT, LOST, start
from laissez.server.audit.refusals import DAY_US, Line, Refusals
from laissez.server.audit.verify import verify
from laissez.server.audit.view import Filter, Record, records
from laissez.server.audit.writer import AuditWriter
from laissez.server.auth import Principal
from laissez.server.beside import FILE
from laissez.server.clock import Clock
from laissez.server.data_folder import create, open_folder
from laissez.server.lifecycle import Service
from laissez.server.settings import Audit, Data, Limits, Settings
from laissez.wire.problems import Code, ProblemError
from support.audit_world import lines, stored
from support.in_process import InProcess
from support.live_world import Live, eventually, place, with_live
from support.service_world import TOPOLOGY, World, unknown_order, with_service

pytestmark = pytest.mark.once

ORDER = {"alternatives": [{"scope": "h100", "limit": "2"}]}


def writer_of(world: World, settings: Audit = Audit()) -> AuditWriter:  # noqa: B008 (frozen)
    return AuditWriter(world.gateway, world.gateway._journal, world.beside, settings)


def told(line: Line) -> tuple[str, int, str, str]:
    return line.code, line.status, line.operation, line.holder


# -- every kind of refusal


def test_every_refused_request_leaves_one_line_without_its_content(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        ask = world.ask
        revoked = world.new_secret("ann", "read")
        reader = world.new_secret("bob", "read")
        id = (await ask(revoked, "GET", "/v1/me")).json()["key"]
        await ask("operator", "DELETE", f"/v1/keys/{id}")
        await ask(
            "operator",
            "PATCH",
            "/v1/tenants/bob",
            {"caps": {"commands_per_second": 1, "commands_burst": 1}},
        )
        wrong = world.secrets["ann"][:-4] + "aaaa"
        json = {"Content-Type": "application/json"}
        signin = {"X-Laissez-Console": "1"}
        expected: list[tuple[Any, tuple[str, int, str, str]]] = [
            (ask(None, "GET", "/v1/orders"), ("unauthenticated", 401, "listOrders", "")),
            (ask(wrong, "GET", "/v1/orders"), ("unauthenticated", 401, "listOrders", "")),
            (ask(revoked, "GET", "/v1/orders"), ("unauthenticated", 401, "listOrders", "")),
            (
                ask(None, "POST", "/v1/signin", {"key": wrong}, headers=signin),
                ("unauthenticated", 401, "signIn", ""),
            ),
            (ask("ann", "GET", "/v1/tenants"), ("forbidden", 403, "listTenants", "ann")),
            (
                ask("ann", "DELETE", f"/v1/orders/{unknown_order('bob')}"),
                ("not_your_order", 404, "cancelOrder", "ann"),
            ),
            (ask(reader, "POST", "/v1/orders", ORDER), ("forbidden", 403, "placeOrder", "bob")),
            (
                ask("ann", "POST", "/v1/orders", content=b"{", headers=json),
                ("bad_request", 400, "placeOrder", "ann"),
            ),
            (ask("ann", "GET", "/v1/orders?x=1"), ("bad_request", 400, "listOrders", "ann")),
            (ask("ann", "GET", f"/v1/{wrong}"), ("not_found", 404, "other", "")),
            (ask("ann", "PATCH", "/v1/orders"), ("method_not_allowed", 405, "other", "")),
            (ask("ann", "POST", "/"), ("method_not_allowed", 405, "other", "")),
            (
                ask("ann", "GET", "/v1/orders", headers={"Accept": "text/csv"}),
                ("not_acceptable", 406, "listOrders", "ann"),
            ),
            (
                ask("ann", "POST", "/v1/orders", content=b" " * 20_000, headers=json),
                ("body_too_large", 413, "placeOrder", "ann"),
            ),
            (
                ask("ann", "POST", "/v1/orders", content=b"x"),
                ("unsupported_media_type", 415, "placeOrder", "ann"),
            ),
            (
                ask("ann", "POST", "/v1/orders", {"alternatives": []}, key="once"),
                ("idempotency_conflict", 409, "placeOrder", "ann"),
            ),
            (ask("bob", "POST", "/v1/orders", ORDER), ("rate_limited", 429, "placeOrder", "bob")),
        ]
        assert 201 == (await ask("ann", "POST", "/v1/orders", ORDER, key="once")).status_code
        assert 201 == (await ask("bob", "POST", "/v1/orders", ORDER)).status_code
        # refused by the exchange, so in the journal
        assert 404 == (await ask("ann", "DELETE", f"/v1/orders/{unknown_order('ann')}")).status_code
        for request, (_, status, *_) in expected:
            assert status == (await request).status_code
        world.gateway.stopping = True
        await ask("ann", "POST", "/v1/orders", ORDER)
        await writer_of(world).write()
        found = lines(folder)
        assert [*(line for _, line in expected), ("stopping", 503, "placeOrder", "ann")] == [
            told(line) for line in found
        ]
        key = world.secrets["ann"].split("_")[1]
        assert ["", f"key_{key}", id, f"key_{key}"] == [line.claimed for line in found[:4]]
        assert {"once"} == {line.id for line in found if line.id} and {"127.0.0.1"} == {
            line.address for line in found
        }
        written = b"".join(stored(folder, "refusals").values())
        assert not [
            secret
            for secret in (*world.secrets.values(), wrong, revoked, reader)
            if secret.split("_", 2)[2].encode() in written
        ]

    folder = tmp_path / "data"
    with_service(folder, story)
    assert verify(folder).ok


def test_refusals_of_a_session_are_logged_unless_they_are_in_the_journal(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        async with live.connected("lz_0123456789abcdef_no") as peer:
            await peer.say({"type": "hello"})
            await peer.end()
        async with live.peer("ann") as peer:
            await peer.say_raw("{")
            await peer.hear()
            await peer.ask(type="set_floor", id="a", node="h100", price="1")
            await peer.ask(type="cancel_order", id="b", order=unknown_order("ann"))
            await peer.ask(type="cancel_order", id="o", order=unknown_order("bob"))
            assert "reply" == (await peer.ask(**place("c", "h100", "2")))["type"]
            await peer.ask(type="set_floor", id=live.world.secrets["ann"], node="h100", price="1")
        for greeted in (True, False):
            async with live.peer("ann") if greeted else live.connected("ann") as peer:
                # an unknown kind of frame
                peer.socket.transport.write(b"\x83\x80\x00\x00\x00\x00")
                assert 1002 == (await peer.end())[0]
        with pytest.raises(Exception, match="403"):
            async with live.connected("ann", "laissez.v9.json"):
                pass
        await writer_of(live.world).write()
        assert [
            ("unauthenticated", 401, "session.hello", ""),
            ("bad_request", 400, "session", "ann"),
            ("forbidden", 403, "session.set_floor", "ann"),
            ("not_your_order", 404, "session.cancel_order", "ann"),
            ("forbidden", 403, "session.set_floor", "ann"),
            ("bad_request", 400, "session", "ann"),
            ("bad_request", 400, "session", ""),
            ("bad_request", 400, "session.hello", ""),
        ] == [told(line) for line in lines(folder)]
        assert ["key_0123456789abcdef", *[""] * 7] == [line.claimed for line in lines(folder)]
        # no id is a key
        assert ["", "", "a", "o", *[""] * 4] == [line.id for line in lines(folder)]

    folder = tmp_path / "data"
    with_live(folder, tale)


def test_unreadable_commands_of_a_batch_are_logged_once_and_others_are_in_the_journal(
    tmp_path: Path,
) -> None:
    async def story(world: World) -> None:
        good, bad = (
            {"type": "place_order", **ORDER},
            {"type": "place_order", "alternatives": [{"scope": "h100", "limit": "-1"}]},
        )
        for _ in range(2):  # a repeat is not logged again
            answer = await world.ask(
                "ann", "POST", "/v1/batch", {"commands": [good, bad, bad]}, key="all"
            )
            assert [200, 400, 400] == [one["status"] for one in answer.json()["results"]]
        await writer_of(world).write()
        (line,) = lines(folder)
        assert (("bad_request", 400, "sendBatch", "ann"), 2, "all") == (
            told(line),
            line.times,
            line.id,
        )

    folder = tmp_path / "data"
    with_service(folder, story)


def test_sign_ins_and_sign_outs_are_logged_with_the_address_and_are_no_refusals(
    tmp_path: Path,
) -> None:
    async def story(world: World) -> None:
        headers = {"X-Laissez-Console": "1"}
        assert (
            200
            == (
                await world.ask(
                    None, "POST", "/v1/signin", {"key": world.secrets["ann"]}, headers=headers
                )
            ).status_code
        )
        for _ in range(2):  # the second sign-out has no sign-in
            assert (
                200 == (await world.ask(None, "DELETE", "/v1/signin", headers=headers)).status_code
            )
        await writer_of(world).write()
        assert [("done", 200, "signIn", "ann"), ("done", 200, "signOut", "ann")] == [
            told(line) for line in lines(folder)
        ]
        key = f"key_{world.secrets['ann'].split('_')[1]}"
        assert {(key, "127.0.0.1")} == {
            (line.key, line.address) for line in lines(folder)
        } and 0 == world.gateway.refusals.noted
        assert [] == list(records(folder, Filter(refused_only=True)))

    folder = tmp_path / "data"
    with_service(folder, story)


# -- one view


def test_the_view_merges_commands_and_refusals_by_time(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.place("ann", "h100", "2")
        await world.ask("bob", "GET", "/v1/tenants")
        await world.ask("bob", "DELETE", f"/v1/orders/{unknown_order('bob')}", key="k")
        await writer_of(world).write()
        found = list(records(folder, Filter()))
        assert [one.at for one in found] == sorted(one.at for one in found)
        assert [
            ("place_order", "done", "ann"),
            ("listTenants", "forbidden", "bob"),
            ("cancel_order", "not_your_order", "bob"),
        ] == [(one.operation, one.outcome, one.holder) for one in found[-3:]]
        assert ("order.placed", "lease.started") == found[-3].events and "k" == found[-1].id

        def of(wanted: Filter) -> list[Record]:
            return list(records(folder, wanted))

        assert (
            found[-2:]
            == of(Filter(tenant="bob", refused_only=True))
            == of(Filter(key=found[-1].key))
        )
        assert found[-1:] == of(Filter(code="not_your_order"))
        now = world.gateway.clock.now()
        assert [] == of(Filter(since=now)) and found == of(Filter(until=now))
        assert {"create_tenant", "issue_key"} == {
            one.operation for one in of(Filter(tenant="bob")) if one.about == "bob"
        }

    folder = tmp_path / "data"
    with_service(folder, story)


# -- bounds


class StillClock:
    """A clock that stands still until the test moves it."""

    def __init__(self, us: int) -> None:
        self.us = us

    def clock(self) -> Clock:
        return Clock(0, wall=lambda: 0, passed=lambda: self.us * 1_000)


def flooded(refusals: Refusals, count: int, holder: str = "") -> None:
    problem = ProblemError(Code.UNAUTHENTICATED, "no")
    for _ in range(count):
        refusals.note(
            problem, "listOrders", Principal(holder, "", frozenset()), {"client": ("10.0.0.1", 1)}
        )


def test_a_flood_leaves_few_lines_and_a_complete_count() -> None:
    hand = StillClock(10 * DAY_US)
    refusals = Refusals(hand.clock())
    refusals.bounds = Audit(lines_per_second=10, lines_per_day=25)
    for _ in range(5):
        flooded(refusals, 100)
        hand.us += 1_000_000
    assert 25 == len(refusals.take())  # the rest is reported once a minute
    hand.us += 60_000_000
    (rest,) = refusals.take()
    assert ("unauthenticated", 401, 475, "") == (rest.code, rest.status, rest.times, rest.address)
    hand.us += DAY_US
    flooded(refusals, 1)
    assert [1] == [one.times for one in refusals.take()]
    assert 501 == refusals.noted


def test_a_flood_of_many_holders_takes_a_bounded_number_of_lines() -> None:
    refusals = Refusals(StillClock(10 * DAY_US).clock())
    for number in range(1_000):
        flooded(refusals, 2, f"tenant{number}")
    taken = refusals.take(whole=True)
    assert len(taken) <= 301 and 2_000 == sum(one.times for one in taken)
    assert 1 == sum(one.holder == "*" for one in taken)


def test_unwritten_lines_are_bounded_in_memory() -> None:
    hand = StillClock(10 * DAY_US)
    refusals = Refusals(hand.clock())
    refusals.bounds = Audit(lines_per_second=10_000, lines_per_day=10**9)
    for _ in range(3):
        flooded(refusals, 5_000)
        hand.us += 1_000_000
    taken = refusals.take(whole=True)
    assert 10_001 == len(taken) and 15_000 == sum(one.times for one in taken)


# -- the disk


def test_a_failing_disk_stops_no_request_and_lost_lines_are_reported_later(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        keeper = writer_of(world)
        world.beside.transact(lambda c: c.execute("ALTER TABLE refusals RENAME TO hidden"))
        await world.ask(None, "GET", "/v1/orders")
        await keeper.write()
        assert 1 == world.gateway.refusals.lost and world.gateway.failure is None
        world.beside.transact(lambda c: c.execute("ALTER TABLE hidden RENAME TO refusals"))
        await world.ask(None, "GET", "/v1/leases")
        await keeper.write()
        assert [("unauthenticated", 1), (LOST, 1)] == [
            (line.code, line.times) for line in lines(folder)
        ]
        assert 0 == world.gateway.refusals.lost

    folder = tmp_path / "data"
    with_service(folder, story)
    assert verify(folder).ok


def test_a_database_set_aside_is_a_line_and_a_problem(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.ask(None, "GET", "/v1/orders")
        await writer_of(world).write()

    folder, secrets = tmp_path / "data", dict[str, str]()
    with_service(folder, story, secrets=secrets)
    (folder / FILE).write_bytes((folder / FILE).read_bytes()[:-4096])
    with_service(folder, story, secrets=secrets)
    assert [(1, CUT, f"{FILE}.damaged-1"), (2, "unauthenticated", "")] == [
        (line.n, line.code, line.aside) for line in lines(folder)
    ]
    assert [
        f"refusals, line 1: the log before it was damaged, and is set aside as {FILE}.damaged-1"
    ] == verify(folder).problems
    with_service(folder, story, secrets=secrets)  # reported once
    assert [CUT, "unauthenticated", "unauthenticated"] == [line.code for line in lines(folder)]


def test_a_planned_stop_writes_everything(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        world.gateway.refusals.bounds = Audit(lines_per_second=1)
        for _ in range(3):
            await world.ask(None, "GET", "/v1/orders")
        keeper = writer_of(world, Audit(lines_per_second=1))
        keeper.finish()
        assert 3 == sum(line.times for line in lines(folder))

    folder = tmp_path / "data"
    with_service(folder, story)


def test_the_service_writes_the_log_and_completes_it_at_its_end(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    create(folder, TOPOLOGY, 10)

    async def story() -> None:
        service = Service(Settings(data=Data(folder=str(folder))), open_folder(folder, Limits()))
        service.begin()
        try:
            async with httpx.AsyncClient(
                transport=InProcess(service.app), base_url="http://test"
            ) as client:
                assert 401 == (await client.get("/v1/orders")).status_code
                await eventually(lambda: bool(lines(folder)))  # unprompted
                assert 404 == (await client.get("/nothing")).status_code
            await service.say_farewell()
            await service.stop_tasks()
            await service.end()
        finally:
            service.close()

    asyncio.run(story())
    assert ["unauthenticated", "not_found"] == [line.code for line in lines(folder)] and verify(
        folder
    ).ok


def test_the_chain_starts_from_the_identity_of_the_journal() -> None:
    assert start(b"one") != start(b"other")
