"""The journaled state: the market, the tenants' accounts and their keys.

It is deterministic: the same requests at the same times give the same events. Nothing here reads a
clock, a file or a setting. Settings that matter are part of the first state (such as the topology)
or come in a request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from laissez.exchange import budgets, caps, commands, keys, snapshot
from laissez.exchange.accounts import Account
from laissez.exchange.budget_watch import BudgetWatch
from laissez.exchange.commands import OPERATOR, Request
from laissez.exchange.events import (
    Applied,
    BudgetSet,
    CapsSet,
    Document,
    Event,
    KeyIssued,
    KeyRevoked,
    OwnCapsSet,
    TenantCreated,
    tenant_of,
)
from laissez.exchange.keys import KeyRecord
from laissez.exchange.names import Names, tag_of
from laissez.exchange.refusals import Denial, Refusal, Refused
from laissez.exchange.statements import statements
from laissez.exchange.webhooks import Registry
from laissez.market import Market
from laissez.market import commands as market_commands
from laissez.market import events as market_events
from laissez.market.events import Refused as RefusedByMarket

# Not `()`: mypyc would infer that the attribute stays empty until the end of `apply`.
NO_DOCUMENTS: Final[tuple[Document, ...]] = ()


class Exchange:
    def __init__(self, market: Market) -> None:
        self.market = market
        self.accounts: dict[str, Account] = {}
        self.keys: dict[str, KeyRecord] = {}
        self.names = Names(market.topology.nodes)
        self._tags = {tag_of(OPERATOR)}  # of all holders
        self.webhooks = Registry()
        self.events = 0  # the operator's number of the latest event
        self.closed_before = 0  # the end of the last statements
        self.budget_watch = BudgetWatch(self)
        self._rules: dict[type, Callable[[int, Request, Any], list[Any]]] = {
            market_commands.PlaceOrder: self._place,
            market_commands.AmendOrder: self._amend,
            market_commands.CancelOrder: self._change,
            market_commands.SetLimit: self._set_limit,
            market_commands.Relinquish: self._change,
            commands.SetBudget: self._set_budget,
            commands.SetOwnCaps: self._set_own_caps,
            commands.CreateWebhook: self._change_webhook,
            commands.DeleteWebhook: self._change_webhook,
            commands.RotateWebhookSecret: self._change_webhook,
            commands.RestartWebhook: self._change_webhook,
            commands.CreateTenant: self._create_tenant,
            commands.SetCaps: self._set_caps,
            commands.IssueKey: self._issue_key,
            commands.RevokeKey: self._revoke_key,
            market_commands.SetFloor: self._change,
            market_commands.SetControls: self._change,
            market_commands.TakeOffline: self._change,
            market_commands.BringOnline: self._change,
            market_commands.AdvanceTime: self._change,
            market_commands.CloseBooks: self._close_books,
        }
        self._documents = NO_DOCUMENTS

    def apply(self, at: int, request: Request) -> Applied:
        """Carry out one request. A refused request changes nothing.

        First, budgets that are spent by now act, each at its own time. Holds that are over end
        before caps are checked.
        """
        command = request.command
        watch = self.budget_watch
        account = self.accounts.get(request.who)
        events: list[Any] = []
        is_watching = bool(watch.watched) or (account is not None and account.is_capped)
        if is_watching and watch.must_act(at):
            events = watch.advance_to(at)
        refusal: Refusal | None = None
        self._documents = NO_DOCUMENTS
        try:
            own = self._rules[type(command)](at, request, command)
            # A hold may have ended before the market refused: its events count all the same.
            if own and type(own[-1]) is RefusedByMarket:
                last = own.pop()
                refusal = Refusal(last.reason, last.subject, (last.found, last.bound))
            if is_watching:
                watch.note(own)
            events = events + own if events else own
        except Refused as refused:
            refusal = refused.refusal
        return self._number(events, refusal)

    def _number(self, events: list[Any], refusal: Refusal | None) -> Applied:
        """Number the events in the operator's stream and in their tenants' streams."""
        first = self.events + 1
        tenants: list[str | None] = []
        numbers: list[int] = []
        for event in events:
            tenant: str | None = getattr(event, "tenant", None)
            if tenant is None:
                tenant = tenant_of(event)
            tenants.append(tenant)
            if tenant is None:
                numbers.append(0)
            else:
                account = self.accounts[tenant]
                account.events += 1
                numbers.append(account.events)
        self.events += len(tenants)
        return Applied(
            first, tuple(events), tuple(tenants), tuple(numbers), refusal, self._documents
        )

    def is_due(self, now: int) -> bool:
        """Whether a hold has ended or a budget was spent since the last command."""
        deadline = self.market.next_deadline()
        return (deadline is not None and deadline <= now) or self.budget_watch.is_due(now)

    def latest(self, holder: str) -> int:
        """The number of a holder's latest event."""
        return self.events if holder == OPERATOR else self.accounts[holder].events

    # -- the market

    def change_market(self, command: market_commands.Command, at: int) -> list[Any]:
        """Apply a command that the market cannot refuse."""
        events = self._apply_to_market(command, at)
        assert not events or type(events[-1]) is not RefusedByMarket, events[-1]
        return events

    def _apply_to_market(self, command: market_commands.Command, at: int) -> list[Any]:
        """A refusal, if there is one, is the last event."""
        events = self.market.apply_typed(command, at)
        for event in events:
            update = _UPDATE_ACCOUNT.get(type(event))
            if update is not None:
                update(self.accounts[event.tenant], event)  # type: ignore[union-attr, index]
        return events

    def _change(self, at: int, request: Request, command: market_commands.Command) -> list[Event]:
        return self._apply_to_market(command, at)

    def _place(self, at: int, request: Request, command: market_commands.PlaceOrder) -> list[Event]:
        account = self.accounts[request.who]
        cap = account.caps.open_orders
        if cap is not None:
            is_open = self.market.counts(account.name).orders_open
            if is_open >= cap:
                raise Refused(Denial.OPEN_ORDERS_CAP, "", is_open, cap)
        if account.budget is not None:
            self.budget_watch.check_order(account, command.alternatives, at)
        if account.is_capped:
            caps.check_order(self.market, account, command.alternatives, at)
        events = self._apply_to_market(command, at)
        if request.of_session:
            for event in events:
                if type(event) is market_events.OrderPlaced:
                    order = event.order
                    if self.market.order(account.name, order) is not None:
                        account.session_orders.add(order)
        return events

    def _amend(self, at: int, request: Request, command: market_commands.AmendOrder) -> list[Event]:
        account = self.accounts[request.who]
        is_bounded = account.budget is not None or account.is_capped
        if is_bounded and self.market.order(account.name, command.order) is not None:
            self.budget_watch.check_order(account, command.alternatives, at, command.order)
            caps.check_order(self.market, account, command.alternatives, at, command.order)
        return self._apply_to_market(command, at)

    def _set_limit(
        self, at: int, request: Request, command: market_commands.SetLimit
    ) -> list[Event]:
        account = self.accounts[request.who]
        if account.budget is not None:
            self.budget_watch.check_limit(account, command.lease, command.limit)
        if account.is_capped:
            caps.check_limit(self.market, account, command.lease, command.limit, at)
        return self._apply_to_market(command, at)

    def _close_books(
        self, at: int, request: Request, command: market_commands.CloseBooks
    ) -> list[Event]:
        if not self.closed_before <= command.before <= at:
            raise Refused(Denial.CLOSING_TIME_INVALID, "", command.before, self.closed_before)
        # Holds that are over end first.
        passed = self.change_market(market_commands.AdvanceTime(), at)
        self._documents = statements(self.market, self.accounts, self.closed_before, command.before)
        closed = self.change_market(command, at)
        self.closed_before = command.before
        return [*passed, *closed]

    # -- a tenant's money

    def _set_budget(self, at: int, request: Request, command: commands.SetBudget) -> list[Event]:
        """Advance the market first, so that ended holds count. A budget that keeps counting may be
        spent already, and then acts at once."""
        account = self.accounts[request.who]
        budgets.check_budget(self.market, account, command, at)
        passed = self._apply_to_market(market_commands.AdvanceTime(), at)
        if passed and type(passed[-1]) is RefusedByMarket:
            return passed
        kept = budgets.keeps_counting(account, command)
        account.budget = budgets.budget_after(self.market, account, command, at)
        self.budget_watch.watch(account)
        events: list[Event] = [
            *passed,
            BudgetSet(
                at,
                account.name,
                command.amount,
                None if command.amount is None else command.action,
                kept,
            ),
        ]
        if kept and self.budget_watch.must_act(at):
            events += self.budget_watch.advance_to(at)
        return events

    def _set_own_caps(self, at: int, request: Request, command: commands.SetOwnCaps) -> list[Event]:
        account = self.accounts[request.who]
        caps.check_own(command)
        caps.set_own(account, command)
        return [OwnCapsSet(at, account.name, command.rate, command.worst_rate)]

    # -- webhooks, a tenant's or the operator's

    def _change_webhook(
        self, at: int, request: Request, command: commands.WebhookCommand
    ) -> list[Event]:
        latest = self.latest(request.who)
        return [self.webhooks.apply(at, request.who, command, latest)]

    # -- accounts and keys

    def _create_tenant(
        self, at: int, request: Request, command: commands.CreateTenant
    ) -> list[Event]:
        keys.check_new_tenant(self.accounts, self._tags, command)
        account = Account(command.name, at, command.caps)
        caps.put_in_force(account)
        self.add_account(account)
        return [TenantCreated(at, command.name, command.caps)]

    def add_account(self, account: Account) -> None:
        self.accounts[account.name] = account
        self.names.holders.add(account.name)
        self._tags.add(tag_of(account.name))

    def _set_caps(self, at: int, request: Request, command: commands.SetCaps) -> list[Event]:
        account = self.accounts.get(command.tenant)
        if account is None:
            raise Refused(Denial.TENANT_UNKNOWN, command.tenant)
        caps.check_caps(command.caps)
        account.caps = command.caps
        caps.put_in_force(account)
        return [CapsSet(at, command.tenant, command.caps)]

    def _issue_key(self, at: int, request: Request, command: commands.IssueKey) -> list[Event]:
        keys.check_new_key(self.accounts, self.keys, command)
        self.add_key(
            KeyRecord(command.key, command.holder, command.name, command.scopes, command.digest, at)
        )
        return [KeyIssued(at, command.key, command.holder, command.name, command.scopes)]

    def add_key(self, record: KeyRecord) -> None:
        self.keys[record.id] = record
        self.names.keys.add(record.id)

    def _revoke_key(self, at: int, request: Request, command: commands.RevokeKey) -> list[Event]:
        record = keys.key_to_revoke(self.keys, command)
        record.revoked_at = at
        return [KeyRevoked(at, record.id, record.holder)]

    # -- snapshots

    def snapshot(self) -> bytes:
        """The whole state. Equal states give equal bytes."""
        return snapshot.dump(self)

    @staticmethod
    def restore(data: bytes) -> Exchange:
        return snapshot.load(data, Exchange)

    @staticmethod
    def begin(genesis: bytes) -> Exchange:
        """The first state of a journal: an empty market."""
        return Exchange(Market.restore(genesis))


# -- updates of accounts after the market's events


def _put_order(
    account: Account, event: market_events.OrderPlaced | market_events.OrderAmended
) -> None:
    if account.open_limits is not None:
        account.open_limits.put(event.order, event.alternatives)


def _remove_order(
    account: Account, event: market_events.OrderCancelled | market_events.LeaseStarted
) -> None:
    if account.open_limits is not None:
        account.open_limits.remove(event.order)
    account.session_orders.discard(event.order)


def _add_fee(account: Account, event: market_events.FeeCharged) -> None:
    account.running_fees.add(event.until, event.rate, event.at)


_UPDATE_ACCOUNT: Final[dict[type, Callable[[Account, Any], None]]] = {
    market_events.OrderPlaced: _put_order,
    market_events.OrderAmended: _put_order,
    market_events.OrderCancelled: _remove_order,
    market_events.LeaseStarted: _remove_order,
    market_events.FeeCharged: _add_fee,
}
