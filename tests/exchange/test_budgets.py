"""Budgets and spending: exact amounts, the effects of settings, and privacy."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from laissez.exchange.budgets import AMOUNT_MAX, BudgetRecord, Meter, ends_at
from laissez.exchange.commands import (
    OPERATOR,
    SERVICE,
    Action,
    Caps,
    CreateTenant,
    Request,
    SetBudget,
)
from laissez.exchange.exchange import Exchange
from laissez.journal.verify import verify
from laissez.market.commands import AdvanceTime, CloseBooks
from laissez.server import billing
from laissez.server.data_folder import Replaying, open_folder
from laissez.server.retention import Snapshotter
from laissez.server.settings import Journal as JournalSettings
from laissez.server.settings import Limits
from laissez.units import CHARGE_PER_MICRO_DOLLAR, dollars, format_time, parse_time
from laissez.wire.rendering import action_text
from support.exchange_histories import draw, requests_of, with_fees
from support.service_world import HOUR_US, World, with_service

DOLLAR = 1_000_000
SECOND_US = 1_000_000


async def budget(world: World, who: str = "ann", **query: str) -> dict[str, Any]:
    answer = await world.ask(who, "GET", "/v1/budget", params=query)
    assert 200 == answer.status_code, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def set_budget(world: World, amount: str, who: str = "ann") -> dict[str, Any]:
    answer = await world.ask(who, "PUT", "/v1/budget", {"amount": amount})
    assert 200 == answer.status_code, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def charged_an_hour(world: World) -> None:
    """Ann leases the A100 at the 3.60 $/h that Bob bids for it, and an hour passes."""
    await world.place("ann", "a100", "9")
    await world.place("bob", "a100", "3.6")
    world.passing.pass_us(HOUR_US)


def about(expected: str, found: str) -> bool:
    """Within a hundredth of a cent: the clock moves a little with every request."""
    return abs(Decimal(expected) - Decimal(found)) < Decimal("0.0001")


def test_a_budget_counts_from_its_setting_and_predicts_its_end(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await charged_an_hour(world)
        fresh = await set_budget(world, "36")
        assert (
            ("36.000000", "3.6") == (fresh["amount"], fresh["rate_now"])
            and about("0", fresh["spent"])
            and about("36", fresh["left"])
        )
        assert fresh["since"] <= format_time(world.gateway.clock.now())
        assert (
            abs(parse_time(fresh["ends_at"]) - parse_time(fresh["since"]) - 10 * HOUR_US)
            < 1_000_000
        )
        world.passing.pass_us(2 * HOUR_US)
        later = await budget(world)
        assert about("7.2", later["spent"]) and about("28.8", later["left"])
        assert fresh["ends_at"] == later["ends_at"]  # at a constant rate
        assert about("10.8", (await world.ask("ann", "GET", "/v1/bills")).json()["total"])

    with_service(tmp_path / "data", story)


def test_a_budget_is_spent_at_the_predicted_microsecond(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await charged_an_hour(world)
        ends = parse_time((await set_budget(world, "0.001"))["ends_at"])
        account, exchange = world.gateway.exchange.accounts["ann"], world.gateway.exchange
        assert account.budget is not None
        amount = DOLLAR // 1_000 * CHARGE_PER_MICRO_DOLLAR
        spent = [
            billing.owed_in_all(exchange, account, at)[0] - int(account.budget.owed)
            for at in (ends - 1, ends)
        ]
        assert spent[0] < amount <= spent[1]

    with_service(tmp_path / "data", story)


def test_an_overspent_budget_has_nothing_left_and_warn_ends_nothing(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await charged_an_hour(world)
        ends = (await set_budget(world, "1"))["ends_at"]
        world.passing.pass_us(HOUR_US)
        found = await budget(world)
        assert about("3.6", found["spent"]) and ("0.000000", "3.6", ends) == (
            found["left"],
            found["rate_now"],
            found["ends_at"],
        )
        assert 1 == len((await world.ask("ann", "GET", "/v1/leases")).json()["data"])

    with_service(tmp_path / "data", story)


@pytest.mark.parametrize("action", [action_text(action) for action in Action])
def test_a_spent_budget_shows_when_however_late_the_query_and_after_a_restart(
    tmp_path: Path, action: str
) -> None:
    secrets: dict[str, str] = {}
    ends: list[str] = []

    async def before(world: World) -> None:
        await charged_an_hour(world)
        ends.append(
            (
                await world.ask("ann", "PUT", "/v1/budget", {"amount": "3.6", "action": action})
            ).json()["ends_at"]
        )
        for _ in range(3):
            world.passing.pass_us(HOUR_US)
            world.gateway.end_holds()
            assert ends[0] == (await budget(world))["ends_at"]
        events = [
            one["event"] for one in (await world.ask("ann", "GET", "/v1/events")).json()["data"]
        ]
        assert ends == [one["at"] for one in events if one["type"] == "budget.spent"]

    async def after(world: World) -> None:
        assert (ends[0], "spent") == ((found := await budget(world))["ends_at"], found["state"])
        kept = (await world.ask("ann", "PUT", "/v1/budget", {"amount": "99", "keep": True})).json()
        assert "open" == kept["state"] and kept["ends_at"] != ends[0]

    with_service(tmp_path / "data", before, secrets=secrets)
    with_service(tmp_path / "data", after, secrets=secrets)


@pytest.mark.parametrize(
    ("left", "rate", "ends"),
    [
        (0, 0, 1_000),
        (0, 5, 1_000),
        (1, 0, None),
        (10, 3, 1_004),
        (9, 3, 1_003),
        (CHARGE_PER_MICRO_DOLLAR * DOLLAR**2, 1, None),
    ],
)
def test_the_predicted_end_of_a_budget(left: int, rate: int, ends: int | None) -> None:
    """Never without a rate or beyond the latest time. A spent budget shows when it was spent."""
    amount = -(-left // CHARGE_PER_MICRO_DOLLAR) + 1
    meter = Meter(1_000, amount * CHARGE_PER_MICRO_DOLLAR - left, rate, rate, list)
    assert ends == ends_at(BudgetRecord(amount, 5, "7", Action.WARN), meter)
    assert 9 == ends_at(BudgetRecord(amount, 5, "7", Action.WARN, 3, spent_at=9), meter)


def test_closing_the_books_does_not_change_a_budget(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await charged_an_hour(world)
        await set_budget(world, "36")
        lease = (await world.ask("ann", "GET", "/v1/leases")).json()["data"][0]["id"]
        world.passing.pass_us(HOUR_US)
        await world.ask("ann", "DELETE", f"/v1/leases/{lease}")
        before = await budget(world)
        world.passing.pass_us(HOUR_US)
        world.close_books()
        assert before == await budget(world) and about("3.6", before["spent"])

    with_service(tmp_path / "data", story)


def test_a_new_budget_counts_from_zero_and_a_removed_one_is_gone(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        assert 404 == (await world.ask("ann", "GET", "/v1/budget")).status_code
        assert 404 == (await world.ask("ann", "DELETE", "/v1/budget")).status_code
        await charged_an_hour(world)
        await set_budget(world, "36")
        world.passing.pass_us(HOUR_US)
        assert about("0", (await set_budget(world, "5.5"))["spent"])
        gone = await world.ask("ann", "DELETE", "/v1/budget")
        assert [("budget.set", None)] == [
            (one["event"]["type"], one["event"]["amount"]) for one in gone.json()["events"]
        ]
        assert "action" not in gone.json()["events"][0]["event"]
        assert (404, "no budget is set") == (
            (found := await world.ask("ann", "GET", "/v1/budget")).status_code,
            found.json()["detail"],
        )

    with_service(tmp_path / "data", story)


def test_a_kept_budget_keeps_counting_and_acts_at_once_if_already_spent(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await charged_an_hour(world)
        fresh = await set_budget(world, "36")
        world.passing.pass_us(HOUR_US)
        kept = (
            await world.ask(
                "ann",
                "PUT",
                "/v1/budget",
                {"amount": "18", "action": "relinquish", "keep": True},
                key="k-1",
            )
        ).json()
        assert ("18.000000", fresh["since"]) == (kept["amount"], kept["since"]) and about(
            "3.6", kept["spent"]
        )
        assert (
            abs(parse_time(kept["ends_at"]) - parse_time(fresh["since"]) - 5 * HOUR_US) < SECOND_US
        )
        again = await world.ask(
            "ann", "PUT", "/v1/budget", {"amount": "18", "action": "relinquish"}, key="k-1"
        )
        assert (409, "idempotency_conflict") == (again.status_code, again.json()["code"])
        spent = (
            await world.ask(
                "ann", "PUT", "/v1/budget", {"amount": "3", "action": "relinquish", "keep": True}
            )
        ).json()
        assert ("spent", "0.000000", "0") == (
            spent["state"],
            spent["left"],
            spent["rate_now"],
        ) and about("3.6", spent["spent"])
        assert [] == (await world.ask("ann", "GET", "/v1/leases")).json()["data"]
        told = [
            one["event"]
            for one in (await world.ask("ann", "GET", "/v1/events")).json()["data"]
            if one["event"]["type"] == "budget.set"
        ]
        assert [None, True, True] == [one.get("kept") for one in told]
        assert (
            400
            == (
                await world.ask("ann", "PUT", "/v1/budget", {"amount": "3", "keep": "yes"})
            ).status_code
        )

    with_service(tmp_path / "data", story)


def test_an_invalid_amount_is_refused(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        for amount in (
            "0",
            "0.0000001",
            "-1",
            "1e3",
            "",
            "1,5",
            "\u0661",
            "9" * 13,
            "1000000000.000001",
            5,
            None,
        ):
            answer = await world.ask("ann", "PUT", "/v1/budget", {"amount": amount})
            assert (400, "bad_request") == (answer.status_code, answer.json()["code"]), answer.text
            assert (
                "expected" in answer.json()["detail"].lower()
                and world.gateway.exchange.accounts["ann"].budget is None
            )

    with_service(tmp_path / "data", story)


def test_the_largest_and_the_smallest_amount_are_accepted(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        assert (
            "1000000000.000000"
            == (await set_budget(world, "1000000000"))["amount"]
            == dollars(AMOUNT_MAX * CHARGE_PER_MICRO_DOLLAR)
        )
        assert "0.000001" == (await set_budget(world, "0.000001"))["left"]

    with_service(tmp_path / "data", story)


def test_a_budget_query_costs_as_much_as_a_list_of_its_leases(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        for _ in range(100):
            await world.place("ann", "h100", "0")
        for method, left in (("PUT", 198), ("GET", 196), ("DELETE", 196)):
            answer = await world.ask(
                "ann", method, "/v1/budget", {"amount": "5"} if method == "PUT" else None
            )
            assert (200, left) == (
                answer.status_code,
                world.gateway.admission.read_limit("ann").remaining,
            )

    with_service(tmp_path, story, Limits(commands_per_second=1, commands_burst=200))


def test_a_repeated_request_does_not_set_a_budget_again(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        first = await world.ask("ann", "PUT", "/v1/budget", {"amount": "5"}, key="b-1")
        await charged_an_hour(world)
        again = await world.ask("ann", "PUT", "/v1/budget", {"amount": "5"}, key="b-1")
        assert ("true", first.json()["since"]) == (
            again.headers["idempotency-replayed"],
            again.json()["since"],
        )
        assert about("3.6", again.json()["spent"])
        other = await world.ask("ann", "PUT", "/v1/budget", {"amount": "6"}, key="b-1")
        assert (409, "idempotency_conflict") == (other.status_code, other.json()["code"])
        await world.ask("ann", "DELETE", "/v1/budget")
        gone = await world.ask("ann", "PUT", "/v1/budget", {"amount": "5"}, key="b-1")
        assert (404, "true") == (gone.status_code, gone.headers["idempotency-replayed"])

    with_service(tmp_path / "data", story)


# -- actions


def test_over_http_a_spent_budget_acts_by_itself_and_blocks_orders(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await charged_an_hour(world)
        asked = await world.ask(
            "ann", "PUT", "/v1/budget", {"amount": "3.6", "action": "relinquish"}, key="b-1"
        )
        assert ("relinquish", "open") == (
            asked.json()["action"],
            asked.json()["state"],
        ) and asked.json()["spent_percent"] < 0.01
        ends = asked.json()["ends_at"]
        world.passing.pass_us(HOUR_US // 2 + SECOND_US)
        half = await budget(world)
        assert (
            50 < half["spent_percent"] < 50.1
            and "open" == half["state"]
            and ends == half["ends_at"]
        )
        world.passing.pass_us(HOUR_US)
        world.gateway.end_holds()  # as the server does at intervals
        events = [
            one["event"] for one in (await world.ask("ann", "GET", "/v1/events")).json()["data"]
        ]
        told = [
            (one["type"], one.get("percent"), one["at"])
            for one in events
            if one["type"] in ("budget.warning", "budget.spent", "lease.ended")
        ]
        assert [
            ("budget.warning", 50),
            ("budget.warning", 80),
            ("budget.spent", None),
            ("lease.ended", None),
        ] == [one[:2] for one in told]
        assert ends == told[2][2] == told[3][2]
        spent = await budget(world)
        assert ["3.600000", "0.000000", "spent", "0", 100] == [
            spent[name] for name in ("spent", "left", "state", "rate_now", "spent_percent")
        ]
        for method, path, body in (
            ("POST", "/v1/orders", {"alternatives": [{"scope": "a100", "limit": "5"}]}),
            ("POST", "/v1/instances", {"type": "h100", "max_price": "5"}),
        ):
            answer = await world.ask("ann", method, path, body, key="o-" + path)
            assert (402, "budget_spent") == (answer.status_code, answer.json()["code"])
            assert "set a new one or remove it" in answer.json()["detail"]
        await world.ask("ann", "DELETE", "/v1/budget")
        again = await world.ask(
            "ann",
            "POST",
            "/v1/orders",
            {"alternatives": [{"scope": "a100", "limit": "5"}]},
            key="o-/v1/orders",
        )
        assert (402, "true") == (again.status_code, again.headers["idempotency-replayed"])
        assert "open" == (await world.place("ann", "a100", "0.5"))["state"]
        assert (
            "laissez_budgets_spent_total 1.0"
            in (await world.ask("operator", "GET", "/metrics")).text
        )
        everything = (await world.ask("operator", "GET", "/v1/events")).json()["data"]
        seen = [
            (one["tenant"], one["event"]["type"])
            for one in everything
            if one["event"]["type"].startswith("budget.")
        ]
        assert [
            ("ann", f"budget.{kind}") for kind in ("set", "warning", "warning", "spent", "set")
        ] == seen

    with_service(tmp_path / "data", story)


def test_a_budget_is_spent_at_its_instant_even_while_the_server_is_stopped(tmp_path: Path) -> None:
    secrets: dict[str, str] = {}
    ends: list[str] = []

    async def before(world: World) -> None:
        await charged_an_hour(world)
        asked = await world.ask(
            "ann", "PUT", "/v1/budget", {"amount": "36", "action": "relinquish"}
        )
        ends.append(asked.json()["ends_at"])

    async def after(world: World) -> None:
        world.passing.pass_us(100 * HOUR_US)
        assert [] == (await world.ask("ann", "GET", "/v1/leases")).json()["data"]
        assert "36.000000" == (await budget(world))["spent"]
        told = (await world.ask("ann", "GET", "/v1/events")).json()["data"][-1]["event"]
        assert ("lease.ended", "budget_spent", ends[0]) == (
            told["type"],
            told["reason"],
            told["at"],
        )

    with_service(tmp_path / "data", before, secrets=secrets)
    with_service(tmp_path / "data", after, secrets=secrets)


def test_an_unknown_action_is_refused(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        answer = await world.ask("ann", "PUT", "/v1/budget", {"amount": "5", "action": "explode"})
        assert 400 == answer.status_code
        assert (
            "action: expected one of warn, no_new_orders, limits_to_floor, relinquish, found"
            " 'explode'" == answer.json()["detail"]
        )

    with_service(tmp_path / "data", story)


# -- privacy


def test_only_the_tenant_and_the_operator_see_a_budget(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await set_budget(world, "77.25")
        for path in ("/v1/events", "/v1/budget"):
            assert "77.25" in (await world.ask("ann", "GET", path)).text
            assert "77.25" not in (await world.ask("bob", "GET", path)).text
        assert 403 == (await world.ask("bob", "GET", "/v1/budget?tenant=ann")).status_code
        assert "77.250000" == (await budget(world, "operator", tenant="ann"))["amount"]
        told = [
            one
            for one in (await world.ask("operator", "GET", "/v1/events")).json()["data"]
            if one["event"]["type"] == "budget.set"
        ]
        assert [("ann", "77.250000")] == [(one["tenant"], one["event"]["amount"]) for one in told]
        assert 404 == (await world.ask("operator", "GET", "/v1/budget?tenant=bob")).status_code
        assert 404 == (await world.ask("operator", "GET", "/v1/budget?tenant=eve")).status_code
        assert 400 == (await world.ask("operator", "GET", "/v1/budget")).status_code
        assert (
            403 == (await world.ask("operator", "PUT", "/v1/budget", {"amount": "1"})).status_code
        )

    with_service(tmp_path / "data", story)


def test_the_operator_lists_every_tenants_spending(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await charged_an_hour(world)
        await set_budget(world, "36")
        page = (await world.ask("operator", "GET", "/v1/spending")).json()
        ann, bob = page["data"]
        assert ("ann", "3.6", 1, 0, "36.000000") == (
            ann["tenant"],
            ann["rate_now"],
            ann["leases"],
            ann["open_orders"],
            ann["budget"]["amount"],
        )
        assert about("3.6", ann["total"]) and not page["has_more"]
        assert {
            "tenant": "bob",
            "total": "0.000000",
            "rate_now": "0",
            "leases": 0,
            "open_orders": 1,
            "budget": None,
        } == bob
        first = (await world.ask("operator", "GET", "/v1/spending?limit=1")).json()
        second = (
            await world.ask(
                "operator", "GET", "/v1/spending", params={"limit": "1", "cursor": first["cursor"]}
            )
        ).json()
        assert [(["ann"], True), (["bob"], False)] == [
            ([one["tenant"] for one in part["data"]], part["has_more"]) for part in (first, second)
        ]
        for who, query in (("ann", {}), ("operator", {"tenant": "ann"})):
            assert ["ann"] == [
                one["tenant"]
                for one in (await world.ask(who, "GET", "/v1/spending", params=query)).json()[
                    "data"
                ]
            ]
        assert (
            403
            == (await world.ask("ann", "GET", "/v1/spending", params={"tenant": "bob"})).status_code
        )

    with_service(tmp_path / "data", story)


@pytest.mark.parametrize("seed", with_fees(6))
def test_the_total_owed_is_the_total_of_the_bill_even_between_commands(seed: int) -> None:
    drawn = draw(seed)
    machine = Replaying.begin(drawn.genesis)
    exchange = machine.exchange
    for index, step in enumerate(drawn.steps):
        machine.apply(step.at, step.request)
        check_what_is_owed(exchange, exchange.market.now)
        if index % 10 == 0:  # time never falls, so a copy answers for later times
            copy = Exchange.restore(exchange.snapshot())
            for later in (0, 7, HOUR_US):
                check_what_is_owed(copy, exchange.market.now + later)


def check_what_is_owed(exchange: Exchange, at: int) -> None:
    for account in exchange.accounts.values():
        bill = billing.running(exchange, account, at)
        assert (bill.total, bill.rate_now) == billing.owed_in_all(exchange, account, at)


# -- how it is kept


def test_the_start_of_a_budget_does_not_depend_on_closed_books() -> None:
    """The exact charge is the same in histories with and without closings."""
    compared = 0
    for seed in range(8):
        drawn = draw(seed)
        closed, open_ = Exchange.begin(drawn.genesis), Exchange.begin(drawn.genesis)
        passing = Request(OPERATOR, SERVICE, "", b"", AdvanceTime())
        for at, request, _ in requests_of(drawn):
            closed.apply(at, request)
            open_.apply(at, passing if isinstance(request.command, CloseBooks) else request)
        budgets = [account.budget for account in closed.accounts.values()]
        assert budgets == [account.budget for account in open_.accounts.values()]
        compared += closed.closed_before > 0 and any(
            budget is not None and budget.owed != "0" for budget in budgets
        )
    assert compared > 2


def with_tenant() -> Exchange:
    exchange = Exchange.begin(draw(0).genesis)
    exchange.apply(1, Request(OPERATOR, SERVICE, "", b"", CreateTenant("ann", Caps())))
    return exchange


def test_a_state_with_a_budget_is_restored_and_a_later_version_is_refused() -> None:
    exchange = with_tenant()
    exchange.apply(5, Request("ann", SERVICE, "", b"", SetBudget(DOLLAR, Action.RELINQUISH)))
    saved = exchange.snapshot()
    budget = BudgetRecord(DOLLAR, 5, "0", Action.RELINQUISH, due=5)
    assert budget == Exchange.restore(saved).accounts["ann"].budget
    assert saved == Exchange.restore(saved).snapshot()
    later = msgspec.msgpack.decode(saved)
    later[3][0].append("more")
    with pytest.raises(msgspec.ValidationError):
        Exchange.restore(msgspec.msgpack.encode(later))


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_budget_survives_a_restart_from_a_snapshot_and_from_the_journal_alone(
    tmp_path: Path,
) -> None:
    found: list[BudgetRecord | None] = []

    async def story(world: World) -> None:
        await charged_an_hour(world)
        await set_budget(world, "36")
        await Snapshotter(world.gateway, world.gateway._journal, JournalSettings()).take()
        found.append(world.gateway.exchange.accounts["ann"].budget)

    with_service(tmp_path, story)
    assert found[0] is not None and verify(tmp_path, begin=Replaying.begin).ok
    for _ in range(2):
        opened = open_folder(tmp_path, Limits())
        opened.journal.close()
        assert found[0] == opened.exchange.accounts["ann"].budget
        for snapshot in (tmp_path / "snapshots").iterdir():
            snapshot.unlink()
    assert 0 == opened.snapshot_seq
