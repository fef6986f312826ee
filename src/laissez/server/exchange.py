"""The state that is journaled: the market, the tenants' accounts and their keys. Requests in,
outcomes out.

Deterministic: the same requests at the same times give the same outcomes to the byte, so the
journal can be replayed and compared. Nothing here reads a clock, a file or a setting; what a
setting decides is either part of the first state (the topology, how many orders a tenant may have
open) or comes in a request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from laissez.journal import Document
from laissez.market import Market
from laissez.market import commands as to_market
from laissez.market import events as happened
from laissez.market.commands import TIME_MAX_US
from laissez.market.explanations import explain
from laissez.market.reasons import Reason
from laissez.server import budgets, caps, commands, keyring, state
from laissez.server.accounts import Account, KeyRecord, OwnCaps
from laissez.server.acting import Acting
from laissez.server.commands import OPERATOR, Request
from laissez.server.outcomes import Applied, Outcome, Refusal, Told, pack
from laissez.server.statements import statements
from laissez.server.telling import TO_OPERATOR, TO_TENANT
from laissez.server.turned import Turned
from laissez.server.webhooks.registry import Registry
from laissez.wire import events as wire
from laissez.wire.ids import tag_of
from laissez.wire.problems import Code
from laissez.wire.times import format_time

read_request = msgspec.msgpack.Decoder(Request).decode

UNKNOWN = 0  # no order of the market has this number


class Exchange:
    def __init__(self, market: Market) -> None:
        self.market = market
        self.accounts: dict[str, Account] = {}
        self._tags = {tag_of(OPERATOR)}  # of all whose ids begin with one
        self.keys: dict[str, KeyRecord] = {}
        self.webhooks = Registry()
        self.events = 0  # the operator's number of the latest event
        self.closed_before = 0  # until when statements have been made
        self.acting = Acting(self)
        self._rules: dict[type, Callable[[int, Request, Any], Applied]] = {
            commands.PlaceOrder: self._place,
            commands.AmendOrder: self._amend,
            commands.CancelOrder: self._cancel,
            commands.SetLimit: self._set_limit,
            commands.Relinquish: self._relinquish,
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
            to_market.SetFloor: self._ask_market,
            to_market.SetControls: self._ask_market,
            to_market.TakeOffline: self._ask_market,
            to_market.BringOnline: self._ask_market,
            to_market.AdvanceTime: self._ask_market,
            to_market.CloseBooks: self._close_books,
        }

    def apply(self, at: int, request: Request) -> Applied:
        """Carry out one request. A request that is turned away changes nothing, and its outcome
        says why.

        Budgets that are used up by then act first, each at its own time; and holds that are over
        end before caps are looked at.
        """
        acting = self.acting
        account = self.accounts.get(request.who)
        if not acting.watched and (account is None or not account.is_capped):
            return self._carry_out(at, request)
        first = self.events + 1
        told = acting.bring_to(at) if acting.must_act(at) else []
        applied = self._carry_out(at, request)
        outcome = applied.outcome
        acting.note(outcome.told)
        return (
            Applied(Outcome(first, (*told, *outcome.told), outcome.refused), applied.documents)
            if told
            else applied
        )

    def is_due(self, now: int) -> bool:
        """Whether something has happened by now though no command came: a hold ended, or a budget
        was used up."""
        deadline = self.market.next_deadline()
        return (deadline is not None and deadline <= now) or self.acting.is_due(now)

    def _carry_out(self, at: int, request: Request) -> Applied:
        try:
            return self._rules[type(request.command)](at, request, request.command)
        except Turned as turned:
            return self._refused(turned.refusal)

    def replay(self, at: int, packed: bytes) -> tuple[bytes, tuple[Document, ...]]:
        """The same from the journal's bytes."""
        applied = self.apply(at, read_request(packed))
        return pack(applied.outcome), applied.documents

    # -- a tenant's commands, with its own ids for orders and leases

    def _place(self, at: int, request: Request, command: commands.PlaceOrder) -> Applied:
        account = self.accounts[request.who]
        cap = account.caps.open_orders
        if cap is not None and account.open_orders >= cap:
            raise Turned(
                Reason.TOO_MANY_ORDERS,
                f"you have {account.open_orders} open orders and may have {cap}",
            )
        self.acting.check_order(account, command.alternatives, at)
        caps.check_order(self.market, account, command.alternatives, at)
        applied = self._tell(
            self.market.apply(to_market.PlaceOrder(request.who, command.alternatives), at)
        )
        if command.of_session and applied.outcome.refused is None:
            events = [told.event for told in applied.outcome.told]
            filled = {event.order for event in events if type(event) is wire.LeaseStarted}
            for event in events:
                if type(event) is wire.OrderPlaced and event.order not in filled:
                    account.orders[event.order].of_session = True
        return applied

    def _amend(self, at: int, request: Request, command: commands.AmendOrder) -> Applied:
        number = self._order(request, command.order)
        account = self.accounts[request.who]
        self.acting.check_order(account, command.alternatives, at, number)
        caps.check_order(self.market, account, command.alternatives, at, number)
        return self._tell(
            self.market.apply(to_market.AmendOrder(request.who, number, command.alternatives), at),
            command.order,
        )

    def _cancel(self, at: int, request: Request, command: commands.CancelOrder) -> Applied:
        number = self._order(request, command.order)
        applied = self._tell(
            self.market.apply(to_market.CancelOrder(request.who, number), at), command.order
        )
        if applied.outcome.refused is None:
            self.accounts[request.who].forget_order(number)
        return applied

    def _set_limit(self, at: int, request: Request, command: commands.SetLimit) -> Applied:
        number = self._lease(request, command.lease)
        account = self.accounts[request.who]
        self.acting.check_limit(account, number, command.limit)
        caps.check_limit(self.market, account, number, command.limit, at)
        return self._tell(
            self.market.apply(to_market.SetLimit(request.who, number, command.limit), at),
            command.lease,
        )

    def _relinquish(self, at: int, request: Request, command: commands.Relinquish) -> Applied:
        number = self._lease(request, command.lease)
        return self._tell(
            self.market.apply(to_market.Relinquish(request.who, number, command.budget_spent), at),
            command.lease,
        )

    def _order(self, request: Request, name: str) -> int:
        record = self.accounts[request.who].orders.get(name)
        if record is None:
            raise Turned(Reason.NOT_YOUR_ORDER, f"you have no open order {name!r}")
        return record.number

    def _lease(self, request: Request, name: str) -> int:
        record = self.accounts[request.who].live_lease(name)
        if record is None:
            raise Turned(Reason.NOT_YOUR_LEASE, f"you hold no lease {name!r}")
        return record.number

    def _set_budget(self, at: int, request: Request, command: commands.SetBudget) -> Applied:
        """It counts from what is owed at this instant, to which the market is brought first: holds
        that are over end, and that is told.

        One that counts on from the one before may be used up already: then it acts now.
        """
        account = self.accounts[request.who]
        budgets.check_budget(account, command)
        budgets.check_fees(self.market, account, command, at)
        passed = self._tell(self.market.apply(to_market.AdvanceTime(), at)).outcome
        kept = budgets.counts_on(account, command)
        account.budget = budgets.begun(self.market, account, command, at)
        self.acting.watch(account)
        told = [
            self.tell_tenant(
                account,
                wire.BudgetSet(
                    format_time(at), budgets.amount_text(command.amount), command.action, kept
                ),
            )
        ]
        told += self.acting.bring_to(at) if kept and self.acting.must_act(at) else []
        return Applied(Outcome(passed.first, (*passed.told, *told), None))

    def _set_own_caps(self, at: int, request: Request, command: commands.SetOwnCaps) -> Applied:
        account = self.accounts[request.who]
        caps.check_own(command)
        account.own_caps = (
            OwnCaps(command.rate, command.worst_rate)
            if command != commands.SetOwnCaps(None, None)
            else None
        )
        caps.put_in_force(account)
        word = wire.OwnCapsSet(
            format_time(at), caps.cap_text(command.rate), caps.cap_text(command.worst_rate)
        )
        return Applied(Outcome(self.events + 1, (self.tell_tenant(account, word),), None))

    # -- webhooks, a tenant's or the operator's

    def _change_webhook(
        self, at: int, request: Request, command: commands.WebhookCommand
    ) -> Applied:
        account = self.accounts.get(request.who)
        if account is None:
            return self._to_operator(self.webhooks.apply(at, request.who, command, self.events))
        event = self.webhooks.apply(at, account.name, command, account.events)
        account.events += 1
        self.events += 1
        return Applied(Outcome(self.events, (Told(account.name, account.events, event),), None))

    # -- accounts and keys

    def _create_tenant(self, at: int, request: Request, command: commands.CreateTenant) -> Applied:
        keyring.check_new_tenant(self.accounts, self._tags, command)
        account = self.accounts[command.name] = Account(command.name, at, command.caps)
        self._tags.add(account.tag)
        caps.put_in_force(account)
        return self._to_operator(wire.TenantCreated(format_time(at), command.name, command.caps))

    def _set_caps(self, at: int, request: Request, command: commands.SetCaps) -> Applied:
        account = self.accounts.get(command.tenant)
        if account is None:
            raise Turned(Code.NOT_FOUND, f"there is no tenant {command.tenant!r}")
        keyring.check_caps(command.caps)
        account.caps = command.caps
        caps.put_in_force(account)
        return self._to_operator(wire.CapsSet(format_time(at), command.tenant, command.caps))

    def _issue_key(self, at: int, request: Request, command: commands.IssueKey) -> Applied:
        keyring.check_new_key(self.accounts, self.keys, command)
        self.keys[command.key] = KeyRecord(
            command.key, command.holder, command.name, command.scopes, command.digest, at
        )
        return self._to_operator(
            wire.KeyIssued(
                format_time(at), command.key, command.holder, command.name, command.scopes
            )
        )

    def _revoke_key(self, at: int, request: Request, command: commands.RevokeKey) -> Applied:
        record = keyring.key_to_revoke(self.keys, command)
        record.revoked_at = at
        return self._to_operator(wire.KeyRevoked(format_time(at), record.id, record.holder))

    # -- the operator's commands

    def _ask_market(self, at: int, request: Request, command: to_market.OperatorCommand) -> Applied:
        return self._tell(self.market.apply(command, at))

    def _close_books(self, at: int, request: Request, command: to_market.CloseBooks) -> Applied:
        if not self.closed_before <= command.before <= at:
            found = (
                format_time(command.before)
                if 0 <= command.before <= TIME_MAX_US
                else str(command.before)
            )
            raise Turned(
                Reason.BOOKS_CLOSED,
                f"expected a time from {format_time(self.closed_before)} until now, found {found}",
            )
        # holds that are over end first, and that is told
        passed = self._tell(self.market.apply(to_market.AdvanceTime(), at)).outcome
        documents = statements(self.market, self.accounts, self.closed_before, command.before)
        closed = self._tell(self.market.apply(command, at)).outcome
        assert closed.refused is None
        self.closed_before = command.before
        for account in self.accounts.values():
            account.books_closed(command.before)
        return Applied(Outcome(passed.first, passed.told + closed.told, None), documents)

    # -- telling

    def _tell(self, events: list[happened.Event], subject: str = "") -> Applied:
        """Number what happened and put it into words. `subject` is the sender's own id of what the
        command was about."""
        first = self.events + 1
        told: list[Told] = []
        refused: Refusal | None = None
        for event in events:
            kind = type(event)
            tell = TO_TENANT.get(kind)
            if tell is not None:
                account = self.accounts[event.tenant]  # type: ignore[union-attr, index]
                word = tell(account, event)
                account.events += 1
                told.append(Told(account.name, account.events, word))
            elif kind is happened.Refused:
                refused = Refusal(event.reason, _why(event, subject))  # type: ignore[union-attr, arg-type]
            else:
                told.append(Told(None, 0, TO_OPERATOR[kind](event)))
        self.events += len(told)
        return Applied(Outcome(first, tuple(told), refused))

    def tell(self, events: list[happened.Event]) -> tuple[Told, ...]:
        """What cannot be refused."""
        outcome = self._tell(events).outcome
        assert outcome.refused is None, outcome.refused
        return outcome.told

    def tell_tenant(self, account: Account, word: wire.TenantEvent) -> Told:
        account.events += 1
        self.events += 1
        return Told(account.name, account.events, word)

    def _to_operator(self, word: wire.Event) -> Applied:
        self.events += 1
        return Applied(Outcome(self.events, (Told(None, 0, word),), None))

    def _refused(self, refusal: Refusal) -> Applied:
        return Applied(Outcome(self.events + 1, (), refusal))

    # -- the whole of it

    def snapshot(self) -> bytes:
        """The whole state as bytes; equal states give equal bytes."""
        return state.dump(self)

    @staticmethod
    def restore(data: bytes) -> Exchange:
        market, saved = state.load(data)
        exchange = Exchange(market)
        exchange.accounts = saved.accounts
        exchange._tags |= {account.tag for account in saved.accounts.values()}
        exchange.keys = saved.keys
        exchange.webhooks = Registry(saved.webhooks)
        exchange.events = saved.events
        exchange.closed_before = saved.closed_before
        exchange.acting.watch_all()
        return exchange

    @staticmethod
    def begin(genesis: bytes) -> Exchange:
        """The first state of a journal: an empty market."""
        return Exchange(Market.restore(genesis))


def _why(refused: happened.Refused, subject: str) -> str:
    if refused.reason is Reason.NOT_YOUR_ORDER:
        return f"you have no open order {subject!r}"
    if refused.reason is Reason.NOT_YOUR_LEASE:
        return f"you hold no lease {subject!r}"
    return explain(refused)
