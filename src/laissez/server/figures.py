"""The market in figures: what all tenants owe, and how much of what there is, is leased."""

from __future__ import annotations

from laissez.market.money import dollars
from laissez.server.accounts import Account
from laissez.server.aside import RESTS, Pieces
from laissez.server.billing import owed_in_all, settle
from laissez.server.budgets import budget_view, ends_at, measure, used_up
from laissez.server.desk import Desk
from laissez.server.metrics import Metrics
from laissez.server.telling import price
from laissez.server.views import reached
from laissez.wire.figures import Budget, Spending
from laissez.wire.times import format_time
from laissez.wire.views import MarketSummary


async def all_owed(desk: Desk, rests: int = RESTS) -> tuple[int, int]:
    """What all tenants owe, exactly, and what they are charged per hour: each of them when it was
    its turn. In a large market that takes a while."""
    owed = rate = 0
    pieces = Pieces(desk.clock, rests)
    async for account in pieces.of(desk.exchange.accounts.values()):
        await settle(desk.exchange, account, pieces)
        more, charged = owed_in_all(desk.exchange, account, desk.end_holds())
        owed += more
        rate += charged
    return owed, rate


async def market_summary(desk: Desk, metrics: Metrics, rests: int = RESTS) -> MarketSummary:
    owed, rate = await all_owed(desk, rests)
    accounts = desk.exchange.accounts.values()
    leaves = len(desk.exchange.market.topology.leaves)
    leased = sum(account.held for account in accounts)
    open_orders = sum(account.open_orders for account in accounts)
    online = leaves - len(metrics.offline)
    return MarketSummary(
        format_time(desk.clock.now()),
        leaves,
        online,
        leased,
        open_orders,
        len(accounts),
        dollars(owed),
        price(rate),
    )


def spending_of(desk: Desk, account: Account) -> Spending:
    now = reached(desk.exchange, desk.end_holds())
    owed, rate = owed_in_all(desk.exchange, account, now)
    return Spending(
        account.name,
        dollars(owed),
        price(rate),
        account.held,
        account.open_orders,
        _budget_of(desk, account, owed, rate, now),
    )


def _budget_of(desk: Desk, account: Account, owed: int, rate: int, now: int) -> Budget | None:
    budget = account.budget
    if budget is None:
        return None
    if budget.action == "":
        spent = owed - int(budget.owed)
        return budget_view(budget, spent, used_up(budget, spent, rate, now), rate)
    market = desk.exchange.market
    return budget_view(
        budget,
        measure(market, account, now).spent,
        ends_at(budget, measure(market, account, market.now)),
        rate,
    )
