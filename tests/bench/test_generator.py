"""The load generator: its messages, its clock, and what it counts."""

from __future__ import annotations

import asyncio
import time
from asyncio import StreamReader, StreamWriter

import msgspec
import pytest

from laissez.wire.requests import AskQuote, PlaceOrder, SessionMessage, SetLimit
from laissez_bench.generator import REST, Load, Phase, Plan, Session
from laissez_bench.mix import Event, Held, Pool, Tenant
from laissez_bench.statistics import Counted, Times

pytestmark = pytest.mark.once

HELD = Held("key", ["lse_1", "lse_2"], ["ord_1", "ord_2", "ord_3"])


POOL = Pool(["h100/zone000"], 1)


def test_every_message_is_one_that_the_api_reads() -> None:
    tenant = Tenant(1, HELD, POOL, 1)
    drawn = [tenant.next() for _ in range(200)]
    frame = msgspec.msgpack.decode(Session.encode(drawn), type=list[SessionMessage])
    assert drawn == frame
    assert set(REST) == {type(message) for message in drawn}


def test_a_tenant_names_only_what_it_has() -> None:
    tenant = Tenant(1, Held("key", ["lse_1"], []), POOL, 1)
    tenant.heard(Event("lease.ended", lease="lse_1"))
    assert {PlaceOrder, AskQuote} == {type(tenant.next()) for _ in range(100)}
    tenant.heard(Event("lease.started", "ord_7", "lse_7"))
    drawn = [tenant.next() for _ in range(100)]
    assert {PlaceOrder, AskQuote, SetLimit} == {type(message) for message in drawn}
    limits = [message for message in drawn if isinstance(message, SetLimit)]
    assert {"lse_7"} == {message.lease for message in limits}
    tenant.refused(limits[0])
    assert {PlaceOrder, AskQuote} == {type(tenant.next()) for _ in range(100)}


def load(kind: str = "session", port: int = 0, connections: int = 1) -> Load:
    return Load(Plan(kind, "127.0.0.1", port, connections, 1, [HELD], ["h100/zone000"]))


def test_latency_counts_from_when_a_request_was_due(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not from when it could be sent: a server that stalls is charged for everybody."""
    now = 100.0
    monkeypatch.setattr(time, "perf_counter", lambda: now)
    under = load()
    under.start, under.stop = 100.0, 110.0
    now = 103.0
    under.asked(100.0, 10)
    under.answered(100.0, 104.0, None, 10)
    assert 4_000 == pytest.approx(under.counted.admitted.quantile_ms(0.99), rel=0.01)
    assert 3_000 == pytest.approx(under.counted.late.quantile_ms(0.99), rel=0.01)


def test_a_pause_is_time_without_answers_while_something_is_in_flight(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr(time, "perf_counter", lambda: now)
    under = load()
    under.start, under.stop = 100.0, 200.0
    under.asked(100.0, 1)
    under.answered(100.0, 101.0, None)
    now = 150.0  # idle until then
    under.asked(150.0, 1)
    under.answered(150.0, 153.0, None)
    assert 3.0 == under.counted.pause_s


def test_phases_are_merged() -> None:
    first, second = (
        Counted(1, 10, problems={"a": 1}, pause_s=0.2),
        Counted(2, 5, problems={"a": 2}, pause_s=0.1),
    )
    second.admitted = Times({3: 1})
    first.merge(second)
    assert Counted(3, 15, admitted=Times({3: 1}), problems={"a": 3}, pause_s=0.2) == first


async def answer_half(reader: StreamReader, writer: StreamWriter) -> None:
    """Answers the first request of a connection, and never another."""
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
    await reader.read()
    writer.close()
    await writer.wait_closed()


async def _counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    monkeypatch.setattr("laissez_bench.generator.DRAIN_S", 0.0)
    server = await asyncio.start_server(answer_half, "127.0.0.1", 0)
    under = load("rest", server.sockets[0].getsockname()[1], connections=2)
    await under.connect()
    counted = await under.run(Phase(0.2, 0, per_second=100))
    under.close()
    server.close()
    answering = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.gather(*answering)  # or their sockets outlast the test
    return counted


def test_every_request_of_an_open_loop_is_accounted_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those that found no idle connection."""
    counted = asyncio.run(_counted(monkeypatch))
    assert counted.offered == counted.admitted.count > counted.unanswered > 0
    assert 2 >= counted.offered - counted.unanswered
