"""Bills over HTTP: exact, until now and by period, across closed books, as JSON, CSV and FOCUS."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from laissez.exchange.accounts import Account
from laissez.exchange.commands import OPERATOR, SERVICE
from laissez.exchange.exchange import Exchange
from laissez.exchange.statements import Statement
from laissez.market.commands import AdvanceTime, Alternative, PlaceOrder, Relinquish
from laissez.server.background import Background
from laissez.server.exports import FOCUS
from laissez.server.http import bills as http_bills
from laissez.server.statements import FiledStatements, Head
from laissez.units import format_time
from support.service_world import HOUR_US, World, with_service

pytestmark = pytest.mark.once

MINUTE_US = HOUR_US // 60


async def bill(world: World, who: str = "ann", **query: str) -> dict[str, Any]:
    answer = await world.ask(who, "GET", "/v1/bills", params=query)
    assert 200 == answer.status_code, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def start(world: World) -> str:
    """Ann leases the A100, for which Bob bids 3.60 $/h, a tenth of a cent per second."""
    lease: str = (await world.place("ann", "a100", "9"))["lease"]
    await world.place("bob", "a100", "3.6")
    return lease


def about(cents: str, found: str) -> bool:
    """Within a hundredth of a cent: the clock moves a little with every request."""
    return abs(Decimal(cents) - Decimal(found)) < Decimal("0.0001")


def test_a_running_bill_grows_between_commands(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        lease = await start(world)
        world.passing.pass_us(30 * MINUTE_US)
        owed = await bill(world)
        assert about("1.8", owed["total"]) and "3.6" == owed["rate_now"]
        assert [("lease", lease, "a100/east/rack1/gpu1")] == [
            (line["kind"], line["id"], line["scope"]) for line in owed["lines"]
        ]
        assert "0.000000" == (await bill(world, "bob"))["total"]

    with_service(tmp_path / "data", story)


def test_a_period_after_the_last_command_is_billed_from_its_own_beginning(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await start(world)
        began = world.gateway.clock.now()
        world.passing.pass_us(30 * MINUTE_US)
        since, until = format_time(began + 10 * MINUTE_US), format_time(began + 20 * MINUTE_US)
        (line,) = (await bill(world, since=since, until=until))["lines"]
        assert (since, until, "0.600000") == (line["start"], line["end"], line["cost"])
        table = await world.ask(
            "ann", "GET", "/v1/bills", params={"since": since, "until": until, "format": "focus"}
        )
        (row,) = csv.DictReader(io.StringIO(table.text))
        assert "0.166666" == row["ConsumedQuantity"]

    with_service(tmp_path / "data", story)


def test_a_bill_carries_forward_charges_of_closed_books(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        first = await start(world)
        world.passing.pass_us(10 * MINUTE_US)
        await world.ask("ann", "DELETE", f"/v1/leases/{first}")
        before = (await bill(world))["total"]
        world.close_books()
        owed = await bill(world)
        assert (before, ["carried"]) == (owed["total"], [line["kind"] for line in owed["lines"]])
        whole = await bill(world, since="1970-01-01T00:00:00Z")
        assert (before, [("lease", first)]) == (
            whole["total"],
            [(line["kind"], line["id"]) for line in whole["lines"]],
        )

    with_service(tmp_path / "data", story)


def test_periods_add_up_to_the_whole_across_closed_books(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        lease = await start(world)
        cuts = [world.gateway.clock.now()]
        for _ in range(3):
            world.passing.pass_us(10 * MINUTE_US)
            cuts.append(world.close_books())
        world.passing.pass_us(10 * MINUTE_US)
        inside = world.gateway.clock.now()
        world.passing.pass_us(10 * MINUTE_US)
        end = world.gateway.clock.now()
        assert about("3", (await bill(world, until=format_time(end)))["total"])
        edges = [*cuts[1:], inside, end]
        parts = [
            await bill(world, since=format_time(a), until=format_time(b))
            for a, b in pairwise(edges)
        ]
        assert all(about("0.6", part["total"]) for part in parts)
        assert [[lease]] * 4 == [[line["id"] for line in part["lines"]] for part in parts]
        both = await bill(world, since=format_time(cuts[1]), until=format_time(inside))
        assert about("1.8", both["total"]) and 1 == len(both["lines"])
        assert (format_time(cuts[1]), format_time(inside)) == (
            both["lines"][0]["start"],
            both["lines"][0]["end"],
        )

    with_service(tmp_path / "data", story)


def test_a_period_that_cuts_a_statement_is_refused_with_valid_times(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await start(world)
        began = world.gateway.clock.now()
        world.passing.pass_us(20 * MINUTE_US)
        closed = world.close_books()
        cut = format_time(began + 10 * MINUTE_US)
        for query in ({"since": cut}, {"since": "1970-01-01T00:00:00Z", "until": cut}):
            answer = await world.ask("ann", "GET", "/v1/bills", params=query)
            assert (422, "period_invalid") == (answer.status_code, answer.json()["code"])
            assert format_time(closed) in answer.json()["detail"]
        assert (
            200
            == (
                await world.ask("ann", "GET", "/v1/bills", params={"since": format_time(closed)})
            ).status_code
        )
        nobodys = await bill(world, "bob", since=cut)
        assert [] == nobodys["lines"]

    with_service(tmp_path / "data", story)


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"since": "yesterday"}, 400),
        ({"since": "2026-11-15"}, 400),
        ({"until": "2999-01-01T00:00:00Z"}, 422),
        ({"until": "9999-12-31T23:59:59-23:59"}, 422),
        ({"since": "0001-01-01T00:00:00Z"}, 422),
        ({"since": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z"}, 422),
        ({"format": "pdf"}, 400),
        ({"limit": "3"}, 400),
        ({"tenant": "bob"}, 403),
    ],
)
def test_an_ambiguous_request_for_a_bill_is_refused(
    tmp_path: Path, query: dict[str, str], status: int
) -> None:
    async def story(world: World) -> None:
        assert status == (await world.ask("ann", "GET", "/v1/bills", params=query)).status_code

    with_service(tmp_path / "data", story)


def test_a_fee_is_billed_until_it_ends(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.ask("operator", "PUT", "/v1/controls/a100", {"flash_s": 600})
        await world.place("bob", "a100", "9")
        order = (await world.place("ann", "a100", "3.6"))["id"]
        await world.ask("ann", "DELETE", f"/v1/orders/{order}")
        world.passing.pass_us(5 * MINUTE_US)
        assert about("0.3", (await bill(world))["total"])
        middle = world.close_books()
        world.passing.pass_us(30 * MINUTE_US)
        owed = await bill(world)
        assert about("0.6", owed["total"]) and [("fee", order)] == [
            (line["kind"], line["id"]) for line in owed["lines"]
        ]
        assert about("0.3", (await bill(world, since=format_time(middle)))["total"])
        one = await bill(world, since="1970-01-01T00:00:00Z")
        assert about("0.6", one["total"]) and 1 == len(one["lines"])

    with_service(tmp_path / "data", story)


def test_the_operator_gets_all_tenants_bills(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await start(world)
        world.passing.pass_us(60 * MINUTE_US)
        page = await bill(world, "operator")
        assert ["ann", "bob"] == [one["tenant"] for one in page["data"]]
        assert about("3.6", (await bill(world, "operator", tenant="ann"))["total"])
        assert about("3.6", (await world.ask("operator", "GET", "/v1/market")).json()["revenue"])
        answer = await world.ask("operator", "GET", "/v1/bills", params={"format": "csv"})
        assert ["ann"] == [row["tenant"] for row in csv.DictReader(io.StringIO(answer.text))]

    with_service(tmp_path / "data", story)


def test_a_bill_can_be_exported_as_a_table(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        lease = await start(world)
        await world.place("ann", "h100/west", "1")
        world.passing.pass_us(60 * MINUTE_US)
        plain = await world.ask(
            "ann", "GET", "/v1/bills", params={"format": "csv"}, headers={"Accept": "text/csv"}
        )
        assert "text/csv; charset=utf-8" == plain.headers["content-type"]
        rows = list(csv.DictReader(io.StringIO(plain.text)))
        assert [lease] == [row["id"] for row in rows if Decimal(row["cost"])]
        focus = await world.ask("ann", "GET", "/v1/bills", params={"format": "focus"})
        rows = list(csv.DictReader(io.StringIO(focus.text)))
        assert list(FOCUS) == list(rows[0])
        charged = rows[0]
        assert about("3.6", charged["BilledCost"]) and about("1", charged["ConsumedQuantity"])
        assert (
            charged["BilledCost"]
            == charged["EffectiveCost"]
            == charged["ListCost"]
            == charged["ContractedCost"]
        )
        expected = {
            "BillingAccountId": "ann",
            "BillingCurrency": "USD",
            "ChargeCategory": "Usage",
            "PricingCategory": "Dynamic",
            "SkuId": "a100",
        }
        assert expected.items() <= charged.items()
        assert [""] == [row["AvailabilityZone"] for row in rows]
        await world.ask("operator", "PUT", "/v1/floors/h100", {"price": "0.5"})
        world.passing.pass_us(60 * MINUTE_US)
        focus = await world.ask("ann", "GET", "/v1/bills", params={"format": "focus"})
        rows = list(csv.DictReader(io.StringIO(focus.text)))
        assert ["", "west"] == [row["AvailabilityZone"] for row in rows]

    with_service(tmp_path / "data", story)


def test_a_free_lease_is_on_no_bill_whatever_others_did_since(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        at = world.gateway.clock.now()
        for scope in ("h100/east", "h100/west"):
            placed = PlaceOrder("ann", (Alternative(scope, 1, 1),))
            world.gateway.enter("ann", SERVICE, "", placed, at=at)
        world.gateway.enter("ann", SERVICE, "", Relinquish("ann", 1, False), at=at)
        for _ in range(2):
            assert [] == (await bill(world))["lines"]
            assert [] == (await bill(world, since=format_time(at - 1)))["lines"]
            world.gateway.enter(OPERATOR, SERVICE, "", AdvanceTime())

    with_service(tmp_path, story)


@pytest.mark.parametrize("path", ["/v1/bills", "/v1/spending"])
def test_a_budget_spent_while_a_bill_is_computed_has_acted_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    async def story(world: World) -> None:
        await start(world)
        budget = await world.ask(
            "ann", "PUT", "/v1/budget", {"amount": "0.010000", "action": "relinquish"}
        )
        assert 200 == budget.status_code
        world.passing.pass_us(9_000_000)

        async def settle(exchange: Exchange, account: Account, pieces: Background) -> None:
            world.passing.pass_us(5_000_000)

        monkeypatch.setattr(http_bills, "settle", settle)
        first = (await world.ask("ann", "GET", path)).json()
        second = (await world.ask("ann", "GET", path)).json()
        told = [found if path == "/v1/bills" else found["data"][0] for found in (first, second)]
        assert told[0]["rate_now"] == told[1]["rate_now"] == "0"
        assert told[0]["total"] == told[1]["total"]

    with_service(tmp_path / "data", story)


def test_a_bill_starts_over_if_the_books_close_while_it_reads_statements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(world: World) -> None:
        await start(world)
        begin = world.gateway.clock.now()
        world.passing.pass_us(10_000_000)
        end = world.gateway.clock.now()
        reads = 0

        async def read(
            filed: FiledStatements, tenant: str, heads: Sequence[Head]
        ) -> list[Statement]:
            nonlocal reads
            reads += 1
            if reads == 1:
                world.close_books(end)
                await world.gateway.all_durable()
            return await as_it_is(filed, tenant, heads)

        as_it_is = FiledStatements.read
        monkeypatch.setattr(FiledStatements, "read", read)
        whole = await bill(world, until=format_time(end))
        assert 2 == reads
        assert (
            whole == await bill(world, until=format_time(end))
            and about("0.01", whole["total"])
            and begin < world.gateway.exchange.closed_before
        )

    with_service(tmp_path / "data", story)
