"""The exchange: the same requests give the same bytes, whenever it was saved and restored; ids,
caps and statements."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

import exchange_histories
from exchange_histories import Drawn, draw, with_fees
from laissez.market import Alternative, Market, Topology
from laissez.market import commands as to_market
from laissez.server import billing
from laissez.server.accounts import Account
from laissez.server.aside import Pieces
from laissez.server.clock import Clock
from laissez.server.commands import (
    OPERATOR,
    AmendOrder,
    CancelOrder,
    Command,
    CreateTenant,
    PlaceOrder,
    Relinquish,
    Request,
    SetCaps,
)
from laissez.server.exchange import Exchange, read_request
from laissez.server.filed import read_statement
from laissez.server.outcomes import Outcome, read_outcome
from laissez.server.periods import closed_lines, of_period
from laissez.server.statements import Statement, document_name
from laissez.wire import events as wire
from laissez.wire.ids import tag_of
from laissez.wire.limits import OPEN_ORDERS_MAX
from laissez.wire.problems import ProblemError
from laissez.wire.requests import Caps

HASH_SEEDS = ("0", "1", "4242")
HISTORIES = with_fees(40)
DOLLAR = 1_000_000
HOUR_US = 3_600_000_000
SECOND_US = 1_000_000


class Desk:
    """An exchange at a time that the test moves."""

    def __init__(
        self,
        *leaves: str,
        tenants: tuple[str, ...] = ("ann", "bob"),
        orders_max: int = OPEN_ORDERS_MAX,
    ) -> None:
        self.exchange = Exchange(Market(Topology.of(leaves or ("a/1", "a/2")), orders_max))
        self.at = HOUR_US
        self.statements: dict[str, list[Statement]] = {}
        for tenant in tenants:
            self.say(OPERATOR, CreateTenant(tenant, Caps()))

    def say(self, who: str, command: Command, after_us: int = 1) -> Outcome:
        self.at += after_us
        applied = self.exchange.apply(self.at, Request(who, "", "", b"", command))
        for document in applied.documents:
            self.statements.setdefault(document.name, []).append(read_statement(document.body))
        return applied.outcome

    def place(self, who: str, scope: str, bid: int, limit: int | None = None) -> Outcome:
        return self.say(
            who, PlaceOrder((Alternative(scope, bid, bid if limit is None else limit),))
        )

    def refused(self, outcome: Outcome) -> str:
        assert outcome.refused is not None
        return outcome.refused.code


# -- the same bytes


def test_outcomes_and_snapshots_do_not_depend_on_the_hash_seed() -> None:
    found = set()
    for hash_seed in HASH_SEEDS:
        environment = {
            **os.environ,
            "PYTHONHASHSEED": hash_seed,
            "PYTHONPATH": str(Path(__file__).parent),
        }
        ran = subprocess.run(
            [sys.executable, exchange_histories.__file__, "0", "6"],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        found.add(ran.stdout)
    assert 1 == len(found)


@pytest.mark.once  # the market's own snapshots are compared in both forms elsewhere
@pytest.mark.parametrize("seed", HISTORIES)
def test_a_restored_exchange_goes_on_as_if_nothing_had_been(seed: int) -> None:
    drawn = draw(seed)
    rng = Random(seed)
    exchange = Exchange.begin(drawn.genesis)
    for step in drawn.steps:
        if rng.random() < 0.2:
            saved = exchange.snapshot()
            exchange = Exchange.restore(saved)
            assert saved == exchange.snapshot()
        assert (step.outcome, step.documents) == exchange.replay(step.at, step.request)
    straight = Exchange.begin(drawn.genesis)
    for step in drawn.steps:
        straight.replay(step.at, step.request)
    assert straight.snapshot() == exchange.snapshot()


def test_the_histories_reach_what_they_are_meant_to_reach() -> None:
    wanted = (
        "LeaseStarted",
        "LeaseEnded",
        "FeeCharged",
        "ControlsSet",
        "ResourceOffline",
        "BooksClosed",
        "KeyRevoked",
        "CapsSet",
        "BudgetSet",
        "BudgetWarning",
        "BudgetSpent",
        "budget_spent",
        "cap_exceeded",
        "refused",
        "statement",
    )
    seen: Counter[str] = Counter()
    for seed in HISTORIES:
        for step in draw(seed).steps:
            outcome = read_outcome(step.outcome)
            seen.update(type(told.event).__name__ for told in outcome.told)
            seen.update([] if outcome.refused is None else ["refused", outcome.refused.code])
            seen.update(["statement"] * len(step.documents))
        if all(seen[kind] > 20 for kind in wanted):
            return
    pytest.fail(f"too few of something: {seen}")


@pytest.mark.parametrize("seed", range(12))
def test_numbers_are_dense_for_every_tenant_and_for_the_operator(seed: int) -> None:
    everyone = 0
    own: Counter[str] = Counter()
    for step in draw(seed).steps:
        outcome = read_outcome(step.outcome)
        assert everyone + 1 == outcome.first
        everyone += len(outcome.told)
        for told in outcome.told:
            if told.tenant is not None:
                own[told.tenant] += 1
            assert own[told.tenant] == told.n if told.tenant is not None else 0 == told.n


# -- bills


def owed_by_all(exchange: Exchange) -> dict[str, int]:
    return {tenant: exchange.market.bill(tenant).total for tenant in exchange.accounts}


def billed(
    exchange: Exchange,
    account: Account,
    statements: list[Statement],
    since: int | None,
    until: int | None,
    at: int,
) -> billing.Owed:
    closed = asyncio.run(closed_lines(statements, since, until, Pieces(Clock(0))))
    return of_period(exchange, account, closed, since, until, at)


def replayed(drawn: Drawn, *, close: bool) -> tuple[Exchange, dict[str, list[Statement]]]:
    """The exchange after the history, with the statements made on the way; without closing, time
    only passes instead."""
    exchange = Exchange.begin(drawn.genesis)
    filed: dict[str, list[Statement]] = {}
    for step in drawn.steps:
        request = read_request(step.request)
        if type(request.command) is to_market.CloseBooks and not close:
            request = Request(OPERATOR, "", "", b"", to_market.AdvanceTime())
        for document in exchange.apply(step.at, request).documents:
            filed.setdefault(document.name, []).append(read_statement(document.body))
    return exchange, filed


@pytest.mark.parametrize("seed", HISTORIES)
def test_statements_and_the_running_bill_add_up_to_what_the_market_charges(seed: int) -> None:
    drawn = draw(seed)
    closed, filed = replayed(drawn, close=True)
    open_, _ = replayed(drawn, close=False)
    assert owed_by_all(open_) == owed_by_all(closed)
    for name, account in closed.accounts.items():
        owed = closed.market.bill(name).total
        at = closed.market.now
        statements = filed.get(document_name(name), [])
        assert owed == billing.running(closed, account, at).total
        assert owed == billed(closed, account, statements, None, None, at).total
        assert all(int(line.charge) > 0 for statement in statements for line in statement.lines)


def test_every_whole_hour_can_be_billed_by_itself_over_any_closings() -> None:
    for seed in range(6):
        rng = Random(seed)
        desk, open_ = Desk("a/1", "a/2", "a/3"), Desk("a/1", "a/2", "a/3")
        begin = desk.at
        hour = begin // HOUR_US

        def both(
            who: str, command: Command, after_us: int, pair: tuple[Desk, Desk] = (desk, open_)
        ) -> None:
            for one in pair:
                one.say(who, command, after_us)

        both(OPERATOR, to_market.SetControls("a", flash_us=2 * HOUR_US, hold_us=HOUR_US // 2), 1)
        for _ in range(60):
            while desk.exchange.closed_before < (desk.at // HOUR_US - 1) * HOUR_US:
                hour += 1
                desk.say(OPERATOR, to_market.CloseBooks(hour * HOUR_US), 0)
            price = rng.randrange(1, 9) * DOLLAR
            who = rng.choice(("ann", "bob"))
            both(
                who,
                PlaceOrder((Alternative("a", price, price + DOLLAR),)),
                rng.randrange(HOUR_US // 3),
            )
            waiting = [name for name, _ in desk.exchange.accounts[who].orders.items()]
            if waiting and rng.random() < 0.5:
                both(who, CancelOrder(rng.choice(waiting)), 0)
        for tenant in ("ann", "bob"):
            total = 0
            edges = [*range(begin // HOUR_US * HOUR_US, desk.at, HOUR_US), desk.at]
            for since, until in pairwise(edges):
                account = desk.exchange.accounts[tenant]
                part = billed(
                    desk.exchange,
                    account,
                    desk.statements.get(document_name(tenant), []),
                    since,
                    until,
                    desk.at,
                )
                assert open_.exchange.market.bill(tenant, since, until).total == part.total
                total += part.total
            assert desk.exchange.market.bill(tenant).total == total > 0


def test_fees_of_one_instant_are_all_billed() -> None:
    desk = Desk("a/1")
    desk.say(OPERATOR, to_market.SetControls("a", flash_us=60 * SECOND_US))
    desk.place("bob", "a", 1, 100)
    order = desk.place("ann", "a", 10).told[0].event.order  # type: ignore[union-attr]
    desk.at += 20 * SECOND_US
    # two fees until the bid of 10 is free to go, two until that of 8 is
    for bid in (7, 3, 8, 5, 1):
        desk.say("ann", AmendOrder(order, (Alternative("a", bid, 10),)), 0)
    for after_s in (10, 20, 20, 60):
        desk.say(OPERATOR, to_market.CloseBooks(desk.at + after_s * SECOND_US), after_s * SECOND_US)
        charged = sum(
            int(line.charge)
            for statement in desk.statements[document_name("ann")]
            for line in statement.lines
        )
        assert desk.exchange.market.bill("ann").total == charged > 0
    assert not desk.exchange.accounts["ann"].billed and not desk.exchange.accounts["ann"].fees


def test_a_period_that_cuts_a_closed_line_is_refused() -> None:
    desk = Desk("a/1")
    desk.place("ann", "a", 5, 9)
    desk.place("bob", "a", 4)
    desk.say(OPERATOR, to_market.CloseBooks(desk.at + HOUR_US), HOUR_US)
    account = desk.exchange.accounts["ann"]
    statements = desk.statements[document_name("ann")]
    with pytest.raises(ProblemError, match="billed as one"):
        billed(desk.exchange, account, statements, desk.at - HOUR_US // 2, None, desk.at)


def test_a_cancelled_order_keeps_its_name_on_bills_as_long_as_its_fee_is_there() -> None:
    desk = Desk("a/1")
    desk.say(OPERATOR, to_market.SetControls("a", flash_us=60 * SECOND_US))
    desk.place("bob", "a", 1, 100)
    order = desk.place("ann", "a", 10).told[0].event.order  # type: ignore[union-attr]
    cancelled = desk.say("ann", CancelOrder(order))
    assert [wire.OrderCancelled, wire.FeeCharged] == [type(told.event) for told in cancelled.told]
    account = desk.exchange.accounts["ann"]
    assert order == cancelled.told[1].event.order and order not in account.orders  # type: ignore[union-attr]
    desk.say(OPERATOR, to_market.CloseBooks(desk.at + 30 * SECOND_US), 30 * SECOND_US)
    (line,) = billing.running(desk.exchange, account, desk.at).lines
    assert ("fee", order) == (line.kind, line.id)
    restored = Exchange.restore(desk.exchange.snapshot())
    assert order == billing.running(restored, restored.accounts["ann"], desk.at).lines[0].id
    desk.say(OPERATOR, to_market.CloseBooks(desk.at + 60 * SECOND_US), 60 * SECOND_US)
    assert not account.order_names and not account.fees
    assert [order, order] == [
        line.id for statement in desk.statements[document_name("ann")] for line in statement.lines
    ]
    assert "not_your_order" == desk.refused(desk.say("ann", CancelOrder(order)))


def test_books_are_closed_only_forwards_and_not_ahead() -> None:
    desk = Desk()
    desk.say(OPERATOR, to_market.CloseBooks(desk.at - 10))
    for wrong in (desk.exchange.closed_before - 1, desk.at + 100, 10**18, -(10**18)):
        assert "books_closed" == desk.refused(desk.say(OPERATOR, to_market.CloseBooks(wrong)))
    assert desk.say(OPERATOR, to_market.CloseBooks(desk.exchange.closed_before)).refused is None


def test_memory_is_given_back_when_the_books_are_closed() -> None:
    desk = Desk("a/1")
    desk.say(OPERATOR, to_market.SetControls("a", flash_us=SECOND_US))
    for _ in range(50):
        held = desk.place("bob", "a", 1, 9).told[1].event.lease  # type: ignore[union-attr]
        desk.say("ann", CancelOrder(desk.place("ann", "a", 5).told[0].event.order))  # type: ignore[union-attr]
        desk.say("bob", Relinquish(held))
    empty = len(Desk("a/1").exchange.snapshot())
    assert len(desk.exchange.snapshot()) > empty + 2_000
    desk.say(OPERATOR, to_market.SetControls("a"))
    desk.say(OPERATOR, to_market.CloseBooks(desk.at + 2 * SECOND_US), 2 * SECOND_US)
    assert len(desk.exchange.snapshot()) < empty + 100


class Walked(dict[str, int]):
    """Counts how often it is gone through."""

    times = 0

    def __iter__(self) -> Iterator[str]:
        self.times += 1
        return super().__iter__()


def test_closing_the_books_goes_through_what_is_billed_once_however_many_fees_are_over() -> None:
    desk = Desk("a/1")
    desk.say(OPERATOR, to_market.SetControls("a", flash_us=SECOND_US))
    desk.place("bob", "a", 1, 100)
    for _ in range(20):
        desk.say("ann", CancelOrder(desk.place("ann", "a", 10).told[0].event.order))  # type: ignore[union-attr]
    account = desk.exchange.accounts["ann"]
    account.billed = walked = Walked(account.billed)
    desk.say(OPERATOR, to_market.CloseBooks(desk.at + 2 * SECOND_US), 2 * SECOND_US)
    assert (0, 0, 0) == (len(account.fees), len(account.order_names), len(walked))
    assert 1 == walked.times


# -- ids


def test_ids_are_counted_for_each_tenant_and_tell_nothing_of_others() -> None:
    desk = Desk("a/1", "a/2", "a/3")
    names = {}
    for who in ("ann", "bob", "ann", "ann"):
        placed = desk.place(who, "a", 1)
        names[who] = [
            getattr(told.event, "order", None) for told in placed.told if told.tenant == who
        ]
    assert [f"ord_{tag_of('ann')}3"] == names["ann"] and [f"ord_{tag_of('bob')}1"] * 2 == names[
        "bob"
    ]
    assert {f"lse_{tag_of('ann')}1", f"lse_{tag_of('ann')}2"} == set(
        desk.exchange.accounts["ann"].leases
    )
    assert tag_of("ann") != tag_of("bob") and 8 == len(tag_of("ann"))


def test_an_id_of_somebody_else_answers_like_one_that_never_existed() -> None:
    desk = Desk("a/1")
    lease = desk.place("ann", "a", 5).told[1].event.lease  # type: ignore[union-attr]
    order = desk.place("ann", "a", 1).told[0].event.order  # type: ignore[union-attr]
    position = desk.exchange.events
    for name, command in ((order, CancelOrder), (lease, Relinquish)):
        theirs = desk.say("bob", command(name)).refused
        unknown = desk.say("bob", command("x" + name[1:])).refused
        assert theirs is not None and unknown is not None
        assert (theirs.code, theirs.detail.replace(name, "x" + name[1:])) == (
            unknown.code,
            unknown.detail,
        )
    assert position == desk.exchange.events


def test_an_order_that_was_filled_says_so_until_the_books_are_closed_over_its_lease() -> None:
    desk = Desk("a/1")
    won = desk.place("ann", "a", 5)
    order, lease = won.told[0].event.order, won.told[1].event.lease  # type: ignore[union-attr]
    assert "already_filled" == desk.refused(desk.say("ann", CancelOrder(order)))
    desk.say("ann", Relinquish(lease))
    assert "not_your_lease" == desk.refused(desk.say("ann", Relinquish(lease)))
    desk.say(OPERATOR, to_market.CloseBooks(desk.at + 1))
    assert "not_your_order" == desk.refused(desk.say("ann", CancelOrder(order)))


# -- caps


def test_a_tenant_may_have_as_many_open_orders_as_the_market_allows_and_not_one_more() -> None:
    desk = Desk("a/1", orders_max=3)
    desk.place("bob", "a", 5)
    assert [None, None, None] == [desk.place("ann", "a", 1).refused for _ in range(3)]
    assert "too_many_orders" == desk.refused(desk.place("ann", "a", 1))
    desk.say("ann", CancelOrder(next(iter(desk.exchange.accounts["ann"].orders))))
    assert desk.place("ann", "a", 1).refused is None


def test_a_tenants_own_cap_of_open_orders_counts_and_filled_ones_do_not() -> None:
    desk = Desk("a/1")
    desk.say(OPERATOR, SetCaps("ann", Caps(open_orders=2)))
    assert desk.place("ann", "a", 5).refused is None  # filled
    assert [None, None] == [desk.place("ann", "a", 1).refused for _ in range(2)]
    assert "too_many_orders" == desk.refused(desk.place("ann", "a", 1))
    assert 2 == desk.exchange.accounts["ann"].open_orders
    desk.say(OPERATOR, SetCaps("ann", Caps(open_orders=0)))
    assert "too_many_orders" == desk.refused(desk.place("ann", "a", 1))
    assert desk.place("bob", "a", 1).refused is None
