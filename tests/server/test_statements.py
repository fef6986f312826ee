"""Statements in the journal: the ones that a bill of a period needs, and their cost."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from laissez.exchange.commands import OPERATOR, SERVICE
from laissez.exchange.statements import HEAD, Statement, StatementLine
from laissez.journal import JournalDamaged
from laissez.market.commands import PlaceOrder, Relinquish, SetFloor, at_price
from laissez.server.gateway import Gateway
from laissez.server.http.endpoint import Call
from laissez.server.settings import Limits
from laissez.server.statements import FiledStatements
from laissez.units import format_time
from support.service_world import HOUR_US, World, with_service

pytestmark = pytest.mark.once

DOLLAR = 1_000_000
HOURS, PER_HOUR = 8, 30


def test_a_statement_begins_with_its_period_and_the_number_of_its_lines() -> None:
    lines = (StatementLine("lease", 1, "a", 0, 1, str(10**30)),) * 70_000
    statement = Statement(1_800_000_000_000_000, 1_800_000_000_000_001, lines)
    body = statement.document("ann").body
    assert (statement.since, statement.until, len(lines)) == HEAD.unpack(body[: HEAD.size])
    assert statement == Statement.of(body)


def relinquish_latest(gateway: Gateway) -> None:
    latest = gateway.exchange.market.counts("ann").leases_started
    assert gateway.enter("ann", SERVICE, "", Relinquish("ann", latest)).refusal is None


async def work(world: World) -> list[int]:
    """Ann has PER_HOUR leases in each of HOURS hours, and the books close after each hour. Returns
    the start of each hour, and the end of the last."""
    gateway = world.gateway
    world.passing.pass_us(-gateway.clock.now() % HOUR_US)
    gateway.enter(OPERATOR, SERVICE, "", SetFloor("h100", DOLLAR))
    hours = []
    for _ in range(HOURS):
        hours.append(gateway.clock.now() // HOUR_US * HOUR_US)
        for _ in range(PER_HOUR):
            gateway.enter("ann", SERVICE, "", PlaceOrder("ann", (at_price("h100", DOLLAR),)))
            world.passing.pass_us(1_000)
            relinquish_latest(gateway)
        world.passing.pass_us(HOUR_US - gateway.clock.now() % HOUR_US)
        world.close_books(gateway.clock.now() // HOUR_US * HOUR_US)
    await gateway.all_durable()
    return [*hours, hours[-1] + HOUR_US]


def test_only_statements_around_the_period_are_read(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        hours = await work(world)
        filed, rng = FiledStatements(world.gateway), Random(1)
        everything = await filed.read("ann", await filed.touching("ann", None, None))
        assert hours[1:] == [one.until for one in everything]
        for _ in range(50):
            since, until = sorted(rng.choice(hours) + rng.choice((-1, 0, 1)) for _ in range(2))
            found = await filed.read("ann", await filed.touching("ann", since, until))
            needed = [one for one in everything if since < one.until and one.since < until]
            assert needed == [one for one in found if since < one.until and one.since < until]
            assert len(needed) <= len(found) <= len(needed) + 2
            assert all(before.until == after.since for before, after in pairwise(found))

    with_service(tmp_path / "data", story)


def test_a_bill_of_a_period_costs_what_is_read_and_sent(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        hours = await work(world)
        reads = world.gateway.admission.read_limit("ann")
        for since, until, lines, statements in (
            (hours[3], hours[4], PER_HOUR, 3),
            (hours[0], hours[8], 8 * PER_HOUR, 8),
            (hours[8], hours[8], 0, 0),
            (hours[8], None, 0, 0),
        ):
            before = reads.remaining
            query = {"since": format_time(since)} | (
                {} if until is None else {"until": format_time(until)}
            )
            answer = await world.ask("ann", "GET", "/v1/bills", params=query)
            assert lines == len(answer.json()["lines"])
            assert 1 + statements + lines // 100 == before - reads.remaining

    with_service(tmp_path / "data", story, Limits(commands_per_second=1, commands_burst=500))


def test_a_running_bill_costs_one_more_per_hundred_lines_and_may_cause_debt(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        gateway = world.gateway
        gateway.enter(OPERATOR, SERVICE, "", SetFloor("h100", DOLLAR))
        for _ in range(240):
            gateway.enter("ann", SERVICE, "", PlaceOrder("ann", (at_price("h100", DOLLAR),)))
            world.passing.pass_us(1_000)
            relinquish_latest(gateway)
        assert 240 == len((await world.ask("ann", "GET", "/v1/bills")).json()["lines"])
        assert -1 == gateway.admission.read_limit("ann").remaining
        refused = await world.ask("ann", "GET", "/v1/me")
        assert (429, "2") == (refused.status_code, refused.headers["retry-after"])
        world.passing.pass_us(2_000_000)
        assert 200 == (await world.ask("ann", "GET", "/v1/me")).status_code

    with_service(tmp_path / "data", story, Limits(commands_per_second=1, commands_burst=2))


def test_a_caller_in_debt_is_refused_before_more_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(world: World) -> None:
        hours = await work(world)
        paid: list[int] = []
        owe = Call.owe_items

        def pay(call: Call, items: int) -> None:
            if not paid:
                # for another bill, requested meanwhile
                world.gateway.admission.read_limit("ann").owe(3, world.gateway.clock.now())
            paid.append(items)
            owe(call, items)

        async def read(*_: object) -> list[Statement]:
            raise AssertionError("statements are read")

        monkeypatch.setattr(Call, "owe_items", pay)
        monkeypatch.setattr(FiledStatements, "read", read)
        answer = await world.ask("ann", "GET", "/v1/bills", params={"since": format_time(hours[0])})
        assert (429, [HOURS * (PER_HOUR + 100)]) == (answer.status_code, paid)
        assert answer.json()["detail"].endswith(
            "2 at once; your recent requests count as more than that"
        )

    with_service(tmp_path / "data", story, Limits(commands_per_second=1, commands_burst=2))


def test_a_statement_that_contradicts_its_head_is_refused(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await work(world)
        filed = FiledStatements(world.gateway)
        head, *_ = await filed.touching("ann", None, None)
        with pytest.raises(JournalDamaged, match="read twice, it is not the same"):
            await filed.read("ann", [head._replace(until=head.until + 1)])

    with_service(tmp_path / "data", story)
