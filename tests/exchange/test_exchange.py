"""The exchange: the same requests give the same bytes across any restores; ids, caps and
statements."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from random import Random

import pytest

from laissez.exchange.accounts import Account
from laissez.exchange.commands import (
    OPERATOR,
    SERVICE,
    Caps,
    Command,
    CreateTenant,
    Request,
    SetCaps,
)
from laissez.exchange.events import Applied, tenant_of
from laissez.exchange.exchange import Exchange
from laissez.exchange.statements import Statement, document_name
from laissez.market import Alternative, Market, Topology
from laissez.market import commands as to_market
from laissez.market import events as market_events
from laissez.market.commands import AmendOrder, CancelOrder, PlaceOrder, Relinquish
from laissez.server import billing
from laissez.server.background import Background
from laissez.server.clock import Clock
from laissez.server.data_folder import Replaying
from laissez.server.statements import closed_lines, of_period
from laissez.wire.ids import lease_id, tag_of
from laissez.wire.limits import OPEN_ORDERS_MAX
from laissez.wire.problems import ProblemError
from laissez.wire.rendering import rendered
from laissez.wire.texts import code_of, explain
from support import exchange_histories
from support.exchange_histories import Drawn, draw, requests_of, with_fees
from support.paths import TESTS

HASH_SEEDS = ("0", "1", "4242")
HISTORIES = with_fees(40)
DOLLAR = 1_000_000
HOUR_US = 3_600_000_000
SECOND_US = 1_000_000


class TimedExchange:
    """An exchange at a time that the test moves."""

    def __init__(self, *leaves: str, orders_max: int = OPEN_ORDERS_MAX) -> None:
        self.exchange = Exchange(Market(Topology.of(leaves or ("a/1", "a/2")), orders_max))
        self.at = HOUR_US
        self.statements: dict[str, list[Statement]] = {}
        for tenant in ("ann", "bob"):
            self.say(OPERATOR, CreateTenant(tenant, Caps()))

    def say(self, who: str, command: Command, after_us: int = 1) -> Applied:
        self.at += after_us
        applied = self.exchange.apply(self.at, Request(who, SERVICE, "", b"", command))
        for document in applied.documents:
            self.statements.setdefault(document.name, []).append(Statement.of(document.body))
        return applied

    def place(self, who: str, scope: str, bid: int, limit: int | None = None) -> Applied:
        return self.say(
            who, PlaceOrder(who, (Alternative(scope, bid, bid if limit is None else limit),))
        )

    def placed(self, who: str, scope: str, bid: int, limit: int | None = None) -> int:
        """Place an order; returns its number."""
        assert self.place(who, scope, bid, limit).refusal is None
        return self.exchange.market.counts(who).orders_placed

    def refused(self, applied: Applied) -> str:
        assert applied.refusal is not None
        return code_of(applied.refusal.reason)


# -- the same bytes


def test_outcomes_and_snapshots_do_not_depend_on_the_hash_seed() -> None:
    found = set()
    for hash_seed in HASH_SEEDS:
        environment = {
            **os.environ,
            "PYTHONHASHSEED": hash_seed,
            "PYTHONPATH": str(TESTS),
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
def test_a_restored_exchange_continues_identically(seed: int) -> None:
    drawn = draw(seed)
    rng = Random(seed)
    machine = Replaying.begin(drawn.genesis)
    for step in drawn.steps:
        if rng.random() < 0.2:
            saved = machine.snapshot()
            machine = Replaying.restore(saved)
            assert saved == machine.snapshot()
        assert (step.outcome, step.documents) == machine.apply(step.at, step.request)
    straight = Replaying.begin(drawn.genesis)
    for step in drawn.steps:
        straight.apply(step.at, step.request)
    assert straight.snapshot() == machine.snapshot()


def test_the_histories_reach_every_intended_situation() -> None:
    wanted = (
        "LeaseStarted",
        "LeaseEnded",
        "FeeCharged",
        "ControlsSet",
        "LeafTakenOffline",
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
        for _, _, applied in requests_of(draw(seed)):
            seen.update(type(event).__name__ for event in applied.events)
            refusal = applied.refusal
            seen.update([] if refusal is None else ["refused", code_of(refusal.reason)])
            seen.update(["statement"] * len(applied.documents))
        if all(seen[kind] > 20 for kind in wanted):
            return
    pytest.fail(f"too few of something: {seen}")


@pytest.mark.parametrize("seed", range(12))
def test_numbers_are_dense_for_every_tenant_and_for_the_operator(seed: int) -> None:
    everyone = 0
    own: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for _, _, applied in requests_of(draw(seed)):
        assert everyone + 1 == applied.first
        everyone += len(applied.events)
        for n, event in zip(applied.numbers, applied.events, strict=True):
            tenant = tenant_of(event)
            if tenant is not None:
                own[tenant] += 1
            assert n == (0 if tenant is None else own[tenant])
        for holder in (*own, OPERATOR):
            for one in rendered(applied, holder):
                seen[holder] += 1
                assert seen[holder] == one.n
    assert seen == own + Counter({OPERATOR: everyone})


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
    closed = asyncio.run(closed_lines(statements, since, until, Background(Clock(0))))
    return of_period(exchange, account, closed, since, until, at)


def replayed(drawn: Drawn, *, close: bool) -> tuple[Exchange, dict[str, list[Statement]]]:
    """The exchange after the history, with its statements. Without closing, only time passes."""
    exchange = Exchange.begin(drawn.genesis)
    filed: dict[str, list[Statement]] = {}
    passing = Request(OPERATOR, SERVICE, "", b"", to_market.AdvanceTime())
    for at, request, _ in requests_of(drawn):
        closes = type(request.command) is to_market.CloseBooks
        for document in exchange.apply(at, passing if closes and not close else request).documents:
            filed.setdefault(document.name, []).append(Statement.of(document.body))
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


def test_every_whole_hour_can_be_billed_by_itself_across_any_closings() -> None:
    for seed in range(6):
        rng = Random(seed)
        gateway, open_ = TimedExchange("a/1", "a/2", "a/3"), TimedExchange("a/1", "a/2", "a/3")
        begin = gateway.at
        hour = begin // HOUR_US

        def both(
            who: str,
            command: Command,
            after_us: int,
            pair: tuple[TimedExchange, TimedExchange] = (gateway, open_),
        ) -> None:
            for one in pair:
                one.say(who, command, after_us)

        both(OPERATOR, to_market.SetControls("a", flash_us=2 * HOUR_US, hold_us=HOUR_US // 2), 1)
        for _ in range(60):
            while gateway.exchange.closed_before < (gateway.at // HOUR_US - 1) * HOUR_US:
                hour += 1
                gateway.say(OPERATOR, to_market.CloseBooks(hour * HOUR_US), 0)
            price = rng.randrange(1, 9) * DOLLAR
            who = rng.choice(("ann", "bob"))
            both(
                who,
                PlaceOrder(who, (Alternative("a", price, price + DOLLAR),)),
                rng.randrange(HOUR_US // 3),
            )
            waiting = [order.order for order in gateway.exchange.market.orders(who)]
            if waiting and rng.random() < 0.5:
                both(who, CancelOrder(who, rng.choice(waiting)), 0)
        for tenant in ("ann", "bob"):
            total = 0
            edges = [*range(begin // HOUR_US * HOUR_US, gateway.at, HOUR_US), gateway.at]
            for since, until in pairwise(edges):
                account = gateway.exchange.accounts[tenant]
                part = billed(
                    gateway.exchange,
                    account,
                    gateway.statements.get(document_name(tenant), []),
                    since,
                    until,
                    gateway.at,
                )
                assert open_.exchange.market.bill(tenant, since, until).total == part.total
                total += part.total
            assert gateway.exchange.market.bill(tenant).total == total > 0


def test_simultaneous_fees_are_all_billed() -> None:
    gateway = TimedExchange("a/1")
    gateway.say(OPERATOR, to_market.SetControls("a", flash_us=60 * SECOND_US))
    gateway.place("bob", "a", 1, 100)
    order = gateway.placed("ann", "a", 10)
    gateway.at += 20 * SECOND_US
    # two fees until the bid of 10 can be withdrawn freely, two until that of 8 can
    for bid in (7, 3, 8, 5, 1):
        gateway.say("ann", AmendOrder("ann", order, (Alternative("a", bid, 10),)), 0)
    for after_s in (10, 20, 20, 60):
        gateway.say(
            OPERATOR, to_market.CloseBooks(gateway.at + after_s * SECOND_US), after_s * SECOND_US
        )
        charged = sum(
            int(line.charge)
            for statement in gateway.statements[document_name("ann")]
            for line in statement.lines
        )
        assert gateway.exchange.market.bill("ann").total == charged > 0


def test_a_period_that_cuts_a_closed_line_is_refused() -> None:
    gateway = TimedExchange("a/1")
    gateway.place("ann", "a", 5, 9)
    gateway.place("bob", "a", 4)
    gateway.say(OPERATOR, to_market.CloseBooks(gateway.at + HOUR_US), HOUR_US)
    account = gateway.exchange.accounts["ann"]
    statements = gateway.statements[document_name("ann")]
    with pytest.raises(ProblemError, match="billed as one"):
        billed(gateway.exchange, account, statements, gateway.at - HOUR_US // 2, None, gateway.at)


def test_a_cancelled_order_keeps_its_id_on_bills_while_its_fee_runs() -> None:
    gateway = TimedExchange("a/1")
    gateway.say(OPERATOR, to_market.SetControls("a", flash_us=60 * SECOND_US))
    gateway.place("bob", "a", 1, 100)
    order = gateway.placed("ann", "a", 10)
    cancelled = gateway.say("ann", CancelOrder("ann", order))
    kinds = [market_events.OrderCancelled, market_events.FeeCharged]
    assert [(kind, order) for kind in kinds] == [
        (type(event), event.order)  # type: ignore[union-attr]
        for event in cancelled.events
    ]
    account = gateway.exchange.accounts["ann"]
    assert gateway.exchange.market.order("ann", order) is None
    gateway.say(OPERATOR, to_market.CloseBooks(gateway.at + 30 * SECOND_US), 30 * SECOND_US)
    (line,) = billing.running(gateway.exchange, account, gateway.at).lines
    assert ("fee", order) == (line.kind, line.number)
    restored = Exchange.restore(gateway.exchange.snapshot())
    (line,) = billing.running(restored, restored.accounts["ann"], gateway.at).lines
    assert ("fee", order) == (line.kind, line.number)
    gateway.say(OPERATOR, to_market.CloseBooks(gateway.at + 60 * SECOND_US), 60 * SECOND_US)
    assert not gateway.exchange.market.fees("ann")
    assert [order, order] == [
        line.number
        for statement in gateway.statements[document_name("ann")]
        for line in statement.lines
    ]
    assert "not_your_order" == gateway.refused(gateway.say("ann", CancelOrder("ann", order)))


def test_books_are_not_closed_backwards_or_ahead() -> None:
    gateway = TimedExchange()
    gateway.say(OPERATOR, to_market.CloseBooks(gateway.at - 10))
    for wrong in (gateway.exchange.closed_before - 1, gateway.at + 100, 10**18, -(10**18)):
        assert "books_closed" == gateway.refused(gateway.say(OPERATOR, to_market.CloseBooks(wrong)))
    assert (
        gateway.say(OPERATOR, to_market.CloseBooks(gateway.exchange.closed_before)).refusal is None
    )


def test_memory_is_released_when_the_books_close() -> None:
    gateway = TimedExchange("a/1")
    gateway.say(OPERATOR, to_market.SetControls("a", flash_us=SECOND_US))
    for _ in range(50):
        gateway.place("bob", "a", 1, 9)
        held = gateway.exchange.market.counts("bob").leases_started
        gateway.say("ann", CancelOrder("ann", gateway.placed("ann", "a", 5)))
        gateway.say("bob", Relinquish("bob", held))
    empty = len(TimedExchange("a/1").exchange.snapshot())
    assert len(gateway.exchange.snapshot()) > empty + 2_000
    gateway.say(OPERATOR, to_market.SetControls("a"))
    gateway.say(OPERATOR, to_market.CloseBooks(gateway.at + 2 * SECOND_US), 2 * SECOND_US)
    assert len(gateway.exchange.snapshot()) < empty + 100


# -- ids


def test_order_and_lease_numbers_are_per_tenant_and_reveal_nothing_of_others() -> None:
    gateway = TimedExchange("a/1", "a/2", "a/3")
    ids: dict[str, list[str | None]] = {}
    for who in ("ann", "bob", "ann", "ann"):
        ids[who] = [
            getattr(one.event, "order", None) for one in rendered(gateway.place(who, "a", 1), who)
        ]
    assert [f"ord_{tag_of('ann')}3"] == ids["ann"]
    assert [f"ord_{tag_of('bob')}1"] * 2 == ids["bob"]
    assert [1, 2] == [lease.lease for lease in gateway.exchange.market.leases("ann")]
    assert f"lse_{tag_of('ann')}2" == lease_id(tag_of("ann"), 2)
    assert tag_of("ann") != tag_of("bob") and 8 == len(tag_of("ann"))


def test_another_tenants_number_answers_like_one_that_never_existed() -> None:
    gateway = TimedExchange("a/1")
    gateway.place("ann", "a", 5)
    lease = gateway.exchange.market.counts("ann").leases_started
    order = gateway.placed("ann", "a", 1)
    position = gateway.exchange.events
    for number, command in ((order, CancelOrder), (lease, Relinquish)):
        theirs = gateway.say("bob", command("bob", number)).refusal
        unknown = gateway.say("bob", command("bob", 99)).refusal
        assert theirs is not None and unknown is not None
        assert theirs.reason == unknown.reason
        shown = f"{tag_of('bob')}{number}'", f"{tag_of('bob')}99'"
        assert explain(theirs, "bob").replace(*shown) == explain(unknown, "bob")
    assert position == gateway.exchange.events


def test_a_filled_order_is_known_until_the_books_close_over_its_lease() -> None:
    gateway = TimedExchange("a/1")
    order = gateway.placed("ann", "a", 5)
    lease = gateway.exchange.market.lease_won("ann", order)
    assert lease is not None
    assert "already_filled" == gateway.refused(gateway.say("ann", CancelOrder("ann", order)))
    gateway.say("ann", Relinquish("ann", lease))
    assert "not_your_lease" == gateway.refused(gateway.say("ann", Relinquish("ann", lease)))
    gateway.say(OPERATOR, to_market.CloseBooks(gateway.at + 1))
    assert "not_your_order" == gateway.refused(gateway.say("ann", CancelOrder("ann", order)))


# -- caps


def test_open_orders_per_tenant_are_limited() -> None:
    gateway = TimedExchange("a/1", orders_max=3)
    gateway.place("bob", "a", 5)
    assert [None, None, None] == [gateway.place("ann", "a", 1).refusal for _ in range(3)]
    assert "too_many_orders" == gateway.refused(gateway.place("ann", "a", 1))
    gateway.say("ann", CancelOrder("ann", gateway.exchange.market.orders("ann")[0].order))
    assert gateway.place("ann", "a", 1).refusal is None


def test_a_tenants_cap_on_open_orders_ignores_filled_ones() -> None:
    gateway = TimedExchange("a/1")
    gateway.say(OPERATOR, SetCaps("ann", Caps(open_orders=2)))
    assert gateway.place("ann", "a", 5).refusal is None  # filled
    assert [None, None] == [gateway.place("ann", "a", 1).refusal for _ in range(2)]
    assert "too_many_orders" == gateway.refused(gateway.place("ann", "a", 1))
    assert 2 == gateway.exchange.market.counts("ann").orders_open
    gateway.say(OPERATOR, SetCaps("ann", Caps(open_orders=0)))
    assert "too_many_orders" == gateway.refused(gateway.place("ann", "a", 1))
    assert gateway.place("bob", "a", 1).refusal is None
