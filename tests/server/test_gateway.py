"""The gateway: nothing leaves before it is durable, nothing leaves after a failure, no request is
carried out twice, and rate limits hold."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import pytest

from laissez.exchange.commands import OPERATOR, SERVICE, Request
from laissez.journal import Document, Entry, Journal
from laissez.market.commands import CancelOrder
from laissez.server.auth import Principal
from laissez.server.clock import Clock
from laissez.server.http.operations import OPERATIONS
from laissez.server.rate_limits import RateLimit
from laissez.server.settings import Limits
from laissez.wire.ids import instance_of_order, lease_id, order_id, tag_of
from laissez.wire.problems import ProblemError
from support.live_world import SOON_S, Live, events_of, eventually, place, settle_loop, with_live
from support.service_world import Replaced, World, unknown_order, with_service

pytestmark = pytest.mark.once

ANN = Principal("ann", "key_x", frozenset({"read", "trade"}))
OPERATING = Principal(OPERATOR, "key_y", frozenset({"operate"}))
ORDER = {"alternatives": [{"scope": "h100", "limit": "1"}]}


class Gate:
    """A journal that stores only while the gate is open, and fails on request."""

    def __init__(self, world: World) -> None:
        journal: Journal = world.gateway._journal
        self._append = journal.append
        self._open = threading.Event()
        self._fails = False
        journal.append = self._store  # type: ignore[method-assign]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.open()

    def open(self) -> None:
        self._open.set()

    def fail(self) -> None:
        self._fails = True
        self._open.set()

    def _store(
        self, entries: Sequence[Entry], documents: Sequence[tuple[int, Document]] = ()
    ) -> None:
        self._open.wait(SOON_S)
        if self._fails:
            raise OSError(28, "No space left on device")
        self._append(entries, documents)


TAG = tag_of("ann")
NAMED = {  # by the names of a path; the order is filled and has won the lease
    "order": order_id(TAG, 1),
    "lease": lease_id(TAG, 1),
    "id": instance_of_order(order_id(TAG, 1)),  # no webhook has this id
    "node": "h100",
    "name": "ann",
}
# every read that needs a key, by a tenant if a tenant may
READS = (
    *[
        ("operator" if one.of_operator else "ann", one.written_path.format(**NAMED))
        for one in OPERATIONS
        if one.method == "GET" and one.scopes is not None
    ],
    ("ann", "/v1/orders/ord_x"),
    ("ann", "/v1/prices?scope=h100"),
    ("operator", "/v1/spending"),
)
UNKNOWN = (
    "refused",
    "ann /v1/budget",
    "ann /v1/orders/ord_x",
    f"ann /v1/orders/{NAMED['order']}",
    f"ann /v1/webhooks/{NAMED['id']}",
    f"ann /v1/webhooks/{NAMED['id']}/dead-letters",
)


def asked(world: World) -> dict[str, asyncio.Task[Any]]:
    """Every kind of read and a command, under way."""
    tasks = {
        f"{who} {path}": asyncio.create_task(world.ask(who, "GET", path)) for who, path in READS
    }
    tasks["place"] = asyncio.create_task(world.ask("ann", "POST", "/v1/orders", ORDER))
    tasks["refused"] = asyncio.create_task(
        world.ask("ann", "DELETE", f"/v1/orders/{unknown_order('ann')}")
    )
    return tasks


# -- nothing leaves before it is durable


def test_no_answer_leaves_before_its_state_is_durable(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        with Gate(world) as gate:
            first = asyncio.create_task(world.ask("ann", "POST", "/v1/orders", ORDER, key="first"))
            await settle_loop()
            tasks = asked(world)
            await settle_loop()
            assert [] == [name for name, task in {"first": first, **tasks}.items() if task.done()]
            assert 200 == (await world.ask(None, "GET", "/healthz")).status_code
            gate.open()
            answers = {name: await task for name, task in tasks.items()}
            assert 201 == (await first).status_code == answers.pop("place").status_code
            assert {404} == {answers.pop(name).status_code for name in UNKNOWN}
            assert [] == [name for name, one in answers.items() if one.status_code != 200]

    with_service(tmp_path / "data", story)


def test_no_session_receives_anything_before_it_is_durable(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        async with (
            live.peer("ann") as ann,
            live.peer("ann") as other,
            live.peer("operator") as operator,
            live.connected("ann") as late,
        ):
            with Gate(live.world) as gate:
                await ann.say(
                    place("1", "a100", "1"),
                    {"type": "quote", "id": "2", "scope": "h100"},
                    {"type": "ping", "id": "3"},
                )
                await eventually(lambda: live.world.gateway.position > live.world.gateway.durable)
                await other.say({"type": "leases", "id": "4"})
                await late.say({"type": "hello"})
                hearing = [
                    asyncio.create_task(peer.hear()) for peer in (ann, other, operator, late)
                ]
                await settle_loop()
                for session in live.sessions._open:
                    session.beat()
                await settle_loop()
                assert not any(task.done() for task in hearing)
                gate.open()
                reply, told, seen, welcome = await asyncio.gather(*hearing)
                assert [(1, "order.placed"), (2, "lease.started")] == events_of(reply)
                assert ("event", 1, "event", "welcome", 2) == (
                    told["type"],
                    told["told"]["n"],
                    seen["type"],
                    welcome["type"],
                    welcome["n"],
                )
                assert (2, 2) == (
                    (await other.until("leases"))["n"],
                    (await other.until("heartbeat"))["n"],
                )
                assert ["quote", "pong", "heartbeat"] == [
                    message["type"] for message in await ann.hear_all(3)
                ]

    with_live(tmp_path / "data", tale)


# -- nothing leaves after a failure


def test_after_a_journal_failure_nothing_waiting_is_sent_and_everything_is_refused(
    tmp_path: Path,
) -> None:
    async def story(world: World) -> None:
        told: list[str] = []
        world.gateway.on_failure = told.append
        with Gate(world) as gate:
            first = asyncio.create_task(world.ask("ann", "POST", "/v1/orders", ORDER, key="first"))
            await settle_loop()
            tasks = {"first": first, **asked(world)}
            await settle_loop()
            gate.fail()
            for name, task in tasks.items():
                answer = await task
                assert (503, "journal_failed") == (answer.status_code, answer.json()["code"]), name
        for who, path in READS:
            assert 503 == (await world.ask(who, "GET", path)).status_code, path
        again = await world.ask("ann", "POST", "/v1/orders", ORDER, key="first")
        assert (503, "journal_failed") == (again.status_code, again.json()["code"])
        ready = await world.ask(None, "GET", "/readyz")
        assert (503, "failed") == (ready.status_code, ready.json()["status"])
        assert 200 == (await world.ask(None, "GET", "/healthz")).status_code
        assert 1 == len(told) and "No space left on device" in told[0]

    with_service(tmp_path / "data", story)


def test_only_the_operator_learns_why_the_journal_failed(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        with Gate(world) as gate:
            gate.fail()
            answers = [
                await world.ask("ann", "POST", "/v1/orders", ORDER),
                await world.ask("ann", "GET", "/v1/orders"),
            ]
        for answer in answers:
            assert "journal_failed" == answer.json()["code"]
            # entry numbers count all tenants' commands
            assert not [word for word in (str(tmp_path), "space", "entry") if word in answer.text]
        assert (
            world.gateway.failure is not None and "No space left on device" in world.gateway.failure
        )

    with_service(tmp_path / "data", story)


def test_after_a_journal_failure_sessions_receive_only_their_closing(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        gateway = live.world.gateway
        gateway.on_failure = lambda reason: gateway.end_streams(4503, "journal_failed")
        await live.world.place("ann", "h100", "1")
        async with live.peer("ann") as ann, live.peer("operator") as operator:
            n = gateway.latest(OPERATOR)
            with Gate(live.world) as gate:
                await ann.say(place("1", "a100", "1"))
                await eventually(lambda: gateway.position > gateway.durable)
                await ann.say({"type": "ping", "id": "2"})
                gate.fail()
                for peer, latest in ((ann, 2), (operator, n)):
                    code, heard = await peer.end()
                    assert (4503, [("closing", "journal_failed", latest)]) == (
                        code,
                        [(one["type"], one["reason"], one["n"]) for one in heard],
                    )
        async with live.connected("ann") as late:
            assert "journal_failed" == (await late.ask(type="hello"))["code"]
            assert (4503, []) == await late.end()

    with_live(tmp_path / "data", tale)


@pytest.mark.sources
def test_a_bug_in_the_exchange_stops_the_service(tmp_path: Path) -> None:
    secrets: dict[str, str] = {}

    async def story(world: World) -> None:
        exchange: Any = world.gateway.exchange

        def broken(at: int, request: Request) -> Any:
            exchange.apply(at, request)
            raise ZeroDivisionError("half done")

        await world.place("ann", "h100", "1")
        world.gateway.exchange = Replaced(exchange, apply=broken)  # type: ignore[assignment]
        answer = await world.ask("ann", "POST", "/v1/orders", ORDER)
        assert (500, "internal") == (
            answer.status_code,
            answer.json()["code"],
        ) and "half done" not in answer.text
        world.gateway.exchange = exchange
        for method, path in (("GET", "/v1/orders"), ("POST", "/v1/orders"), ("GET", "/readyz")):
            assert (
                503
                == (
                    await world.ask("ann", method, path, ORDER if method == "POST" else None)
                ).status_code
            )
        assert (
            world.gateway.failure is not None
            and "ZeroDivisionError" in world.gateway.failure
            and "half done" not in world.gateway.failure
        )

    async def after(world: World) -> None:
        assert [1, 2] == [
            one["n"] for one in (await world.ask("ann", "GET", "/v1/events")).json()["data"]
        ]

    with_service(tmp_path / "data", story, secrets=secrets)
    with_service(tmp_path / "data", after, secrets=secrets)


def test_an_earlier_time_is_a_bug_and_stops_the_service(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.place("ann", "h100", "1")
        world.passing.pass_us(-1_000_000)
        with pytest.raises(ValueError, match="time never falls"):
            world.gateway.enter("ann", SERVICE, "", CancelOrder("ann", 9))
        assert world.gateway.failure is not None

    with_service(tmp_path / "data", story)


# -- nothing is carried out twice


def test_a_request_repeated_while_it_is_pending_is_carried_out_once(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        with Gate(world) as gate:
            asks = [
                asyncio.create_task(world.ask("ann", "POST", "/v1/orders", ORDER, key="one"))
                for _ in range(3)
            ]
            await eventually(lambda: world.gateway.position > world.gateway.durable)
            await settle_loop()
            other = {"alternatives": [{"scope": "h100", "limit": "2"}]}
            conflict = asyncio.create_task(world.ask("ann", "POST", "/v1/orders", other, key="one"))
            await settle_loop()
            assert not any(task.done() for task in (*asks, conflict))
            gate.open()
            answers = [await task for task in asks]
        assert 1 == len({answer.content for answer in answers})
        assert [False, True, True] == [
            "idempotency-replayed" in answer.headers for answer in answers
        ]
        assert "idempotency_conflict" == (await conflict).json()["code"]
        later = await world.ask("ann", "POST", "/v1/orders", ORDER, key="one")
        assert answers[0].content == later.content and 2 == world.gateway.latest("ann")

    with_service(tmp_path / "data", story)


def test_a_repeat_gets_the_first_refusal_even_if_it_would_now_succeed(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.ask("operator", "PATCH", "/v1/tenants/ann", {"caps": {"open_orders": 0}})
        first = await world.ask("ann", "POST", "/v1/orders", ORDER, key="one")
        await world.ask("operator", "PATCH", "/v1/tenants/ann", {"caps": {}})
        again = await world.ask("ann", "POST", "/v1/orders", ORDER, key="one")
        assert (409, first.content) == (
            again.status_code,
            again.content,
        ) and "true" == again.headers["idempotency-replayed"]

    with_service(tmp_path / "data", story)


def test_the_services_own_commands_have_no_idempotency_key(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        for _ in range(2):
            request = Request("ann", SERVICE, "", b"", CancelOrder("ann", 9))
            assert not world.gateway.submit(request)[1]
        assert world.gateway.event_log.find("ann", "") is None

    with_service(tmp_path / "data", story)


# -- rate limits


def test_a_rate_limit_allows_a_burst_and_then_its_rate() -> None:
    second = 1_000_000
    allowance = RateLimit(per_second=10, burst=5)
    allowance.take(5, 0)
    with pytest.raises(ProblemError) as refused:
        allowance.take(1, 0)
    assert ("rate_limited", 429, 0.1) == (
        refused.value.code,
        refused.value.status,
        refused.value.retry_after,
    )
    with pytest.raises(ProblemError) as refused:
        allowance.take(1, second // 10 - 1)
    assert refused.value.retry_after == pytest.approx(1e-6)
    allowance.take(1, second // 10)
    assert 0 == allowance.remaining
    allowance.take(5, 100 * second)  # never more than the burst
    with pytest.raises(ProblemError):
        allowance.take(1, 100 * second)


def test_more_commands_than_the_burst_are_never_admitted_at_once() -> None:
    allowance = RateLimit(per_second=10, burst=5)
    with pytest.raises(ProblemError) as refused:
        allowance.take(6, 0)
    assert refused.value.retry_after is None and 5 == allowance.remaining
    with pytest.raises(ProblemError) as refused:
        RateLimit(per_second=0, burst=0).take(1, 10**9)
    assert refused.value.retry_after is None


def test_a_rate_limited_tenant_gets_retry_after_and_others_are_unaffected(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        for _ in range(3):
            assert (
                404
                == (
                    await world.ask("ann", "DELETE", f"/v1/orders/{unknown_order('ann')}")
                ).status_code
            )
        position = world.gateway.position
        limited = await world.ask("ann", "DELETE", f"/v1/orders/{unknown_order('ann')}")
        assert (429, "rate_limited", "1") == (
            limited.status_code,
            limited.json()["code"],
            limited.headers["retry-after"],
        )
        assert ("3", "0") == (
            limited.headers["ratelimit-limit"],
            limited.headers["ratelimit-remaining"],
        )
        assert position == world.gateway.position
        assert 200 == (await world.ask("ann", "GET", "/v1/orders")).status_code
        assert (
            404
            == (await world.ask("bob", "DELETE", f"/v1/orders/{unknown_order('bob')}")).status_code
        )
        for _ in range(9):
            assert (
                200
                == (
                    await world.ask("operator", "PUT", "/v1/floors/h100", {"price": "1"})
                ).status_code
            )
        world.passing.pass_us(1_000_000)
        assert (
            404
            == (await world.ask("ann", "DELETE", f"/v1/orders/{unknown_order('ann')}")).status_code
        )
        await world.ask("operator", "PATCH", "/v1/tenants/ann", {"caps": {"commands_burst": 10}})
        assert (
            404
            == (await world.ask("ann", "DELETE", f"/v1/orders/{unknown_order('ann')}")).status_code
        )

    with_service(tmp_path / "data", story, Limits(commands_per_second=1, commands_burst=3))


def test_a_session_above_its_rate_limit_is_refused_per_message(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        async with live.peer("ann") as peer:
            await peer.say(
                *[
                    {"type": "cancel_order", "id": str(index), "order": unknown_order("ann")}
                    for index in range(5)
                ]
            )
            codes = [(one["code"], "retry_after" in one) for one in await peer.hear_all(5)]
            assert [("not_your_order", False)] * 3 + [("rate_limited", True)] * 2 == codes
            assert "pong" == (await peer.ask(type="ping", id="p"))["type"]
            live.world.passing.pass_us(1_000_000)
            assert (
                "not_your_order"
                == (await peer.ask(type="cancel_order", id="4", order=unknown_order("ann")))["code"]
            )

    with_live(tmp_path / "data", tale, Limits(commands_per_second=1, commands_burst=3))


def test_pending_commands_are_limited(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        gateway = world.gateway
        with Gate(world) as gate:
            for _ in range(4):
                gateway.admission.admit(ANN)
                gateway.enter("ann", SERVICE, "", CancelOrder("ann", 9))
            gateway.admission.admit(ANN)  # the fifth is admitted
            with pytest.raises(ProblemError, match="nothing was done") as refused:
                gateway.admission.admit(ANN, 2)
            assert ("overloaded", 503) == (refused.value.code, refused.value.status)
            gateway.enter("ann", SERVICE, "", CancelOrder("ann", 9))
            with pytest.raises(ProblemError, match="nothing was done"):
                gateway.admission.admit(OPERATING)
            position = gateway.position
            answer = asyncio.create_task(
                world.ask("bob", "DELETE", f"/v1/orders/{unknown_order('bob')}")
            )
            await settle_loop()
            gate.open()
            assert (503, "overloaded") == (
                (await answer).status_code,
                (await answer).json()["code"],
            )
            assert position == gateway.position
        await gateway.all_durable()
        gateway.admission.admit(ANN)

    with_service(tmp_path / "data", story, Limits(pending_commands_max=5, commands_burst=100))


def test_a_stopping_service_refuses_commands_and_answers_reads(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        world.gateway.stopping = True
        answer = await world.ask("ann", "POST", "/v1/orders", ORDER)
        assert (503, "stopping", "1") == (
            answer.status_code,
            answer.json()["code"],
            answer.headers["retry-after"],
        )
        assert 200 == (await world.ask("ann", "GET", "/v1/orders")).status_code
        assert "stopping" == (await world.ask(None, "GET", "/readyz")).json()["status"]

    with_service(tmp_path / "data", story)


# -- time


def test_the_clock_reads_the_wall_clock_once_and_is_then_monotonic() -> None:
    passed = [7_000]
    clock = Clock(0, wall=lambda: 5_000_000, passed=lambda: passed[0])
    assert (5_000, 0) == (clock.now(), clock.behind_us)
    passed[0] += 3_000
    assert 5_003 == clock.now()


def test_the_clock_continues_from_the_journal_if_the_wall_clock_is_behind() -> None:
    clock = Clock(9_000, wall=lambda: 5_000_000, passed=lambda: 0)
    assert (9_000, 4_000) == (clock.now(), clock.behind_us)
