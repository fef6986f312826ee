"""Every invoice worked out a second time, from the journal alone, fast enough for real ones.

It knows the rules M5, M14, M17, M18 and what closing the books means from `docs/market.md`, reads
what the journal's events tell, and compares every statement that was filed, line by line, as exact
integers. It shares no code with what it checks: `tests/check/test_bills.py` sees to it that these
modules import nothing else of ours. `event_audit` does the same in the most literal way, for short
histories.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from struct import Struct
from typing import Any

import msgspec

from laissez_check.bills.journal import Event, Row
from laissez_check.bills.prices import Lease, Prices

MICRO = 1_000_000
HOUR_US = 3_600 * MICRO
STATEMENT = "statement/"
HEAD = Struct(">QQI")  # of a statement: its period, and how many lines follow
CLOSED = "books.closed"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)

# Events that charge nobody. One that is neither here nor understood below is told of: a bill may
# depend on it.
WITHOUT_MONEY = frozenset(
    {
        "budget.set",
        "budget.spent",
        "budget.warning",
        "caps.set",
        "controls.set",
        "key.issued",
        "key.revoked",
        "resource.offline",
        "resource.online",
        "tenant.caps_set",
        "tenant.created",
        "webhook.created",
        "webhook.deleted",
        "webhook.restarted",
        "webhook.secret_rotated",
    }
)
Line = tuple[str, int, str, int, int]  # kind, the number of the lease or order, scope, start, end


@dataclass(frozen=True)
class Finding:
    """Something that is not as it must be. Charges are exact: millionths of a dollar per hour times
    microseconds."""

    what: str
    entry: int
    tenant: str = ""
    line: str = ""
    since: str = ""
    until: str = ""
    expected: str = ""
    found: str = ""


@dataclass
class Fee:
    order: int
    scope: str
    rate: int
    start: int
    until: int

    def charge(self, at: int) -> int:
        return self.rate * max(0, min(self.until, at) - self.start)


@dataclass
class Account:
    """What one tenant is charged; leases and fees as long as the books hold them."""

    n: int = 0  # its latest event
    leases: dict[int, Lease] = field(default_factory=dict)
    fees: list[Fee] = field(default_factory=list)
    billed_fees: dict[Line, int] = field(default_factory=dict)
    carried: int = 0


class Auditor:
    """Give it every entry in order; `closings` are the times for which charges will be asked after
    they are over."""

    def __init__(self, closings: list[int]) -> None:
        self.prices = Prices()
        self.accounts: dict[str, Account] = {}
        self.findings: list[Finding] = []
        self.events = self.entries = self.statements = self.lines = self.leases_started = 0
        self.closed_before = 0
        self.unknown: dict[str, int] = {}  # kinds of events that nothing is known of, and how many
        self._closings = list(reversed(closings))
        # what the leases of that time had been charged by then
        self._marks: dict[int, dict[Lease, int]] = {}
        self._orders: dict[tuple[str, int], list[tuple[str, int]]] = {}
        self._leased: dict[str, Lease] = {}  # by leaf
        self._entry = 0
        self.notes: dict[str, Callable[[str, dict[str, Any]], None]] = {
            "order.placed": self._placed,
            "order.amended": self._amended,
            "order.cancelled": self._cancelled,
            "lease.started": self._started,
            "lease.ended": self._ended,
            "lease.limit_set": self._limit_set,
            "fee.charged": self._fee,
            "floor.set": self._floor,
        }

    # -- entries

    def take(self, row: Row) -> None:
        self._entry = row.seq
        if row.seq != self.entries + 1:
            self._find("entries are not dense", expected=str(self.entries + 1), found=str(row.seq))
        self.entries = row.seq
        if row.first != self.events + 1:
            self._find("events are not dense", expected=str(self.events + 1), found=str(row.first))
        self.events = row.first + len(row.events) - 1
        before: int | None = None
        for event in row.events:
            self._number(event.tenant, event.n)
            self._take(event)
            if event.kind == CLOSED:
                before = event.fields["before"]
        documents = dict(row.documents)
        if before is not None:
            self._close(before, documents)
        for name in documents:
            self._find("a document that nothing is known of", line=name, found=name)

    def _number(self, tenant: str | None, n: int) -> None:
        if tenant is None:
            return
        account = self.accounts.setdefault(tenant, Account())
        if n != account.n + 1:
            self._find(
                "a tenant's events are not dense", tenant, expected=str(account.n + 1), found=str(n)
            )
        account.n = n

    def _take(self, event: Event) -> None:
        kind, at, tenant = event.kind, event.at, event.tenant or ""
        if kind in WITHOUT_MONEY:
            # also not for its time: the market's may be behind that of accounts and keys, by holds
            # that end with its next command
            return
        if at < self.prices.now:
            self._find(
                "time runs backwards", tenant, expected=when(self.prices.now), found=when(at)
            )
        self.pass_time(at)
        note = self.notes.get(kind)
        if note is None:
            if kind != CLOSED:
                self.unknown[kind] = self.unknown.get(kind, 0) + 1
            return
        try:
            note(tenant, event.fields)
        except KeyError as error:
            self._find(
                "an event contradicts those before it",
                tenant,
                kind,
                expected="something that is there",
                found=str(error),
            )

    def pass_time(self, to: int) -> None:
        while self._closings and self._closings[-1] <= to:
            before = self._closings.pop()
            self.prices.pass_time(before)
            self._marks[before] = {
                lease: self.prices.settle(lease) for lease in self._leased.values()
            }
        self.prices.pass_time(to)

    # -- events

    def _placed(self, tenant: str, event: dict[str, Any]) -> None:
        wanted = self._orders[tenant, event["order"]] = event["alternatives"]
        for scope, bid in wanted:
            self.prices.add(scope, tenant, bid)

    def _amended(self, tenant: str, event: dict[str, Any]) -> None:
        self._cancelled(tenant, event)
        self._placed(tenant, event)

    def _cancelled(self, tenant: str, event: dict[str, Any]) -> None:
        for scope, bid in self._orders.pop((tenant, event["order"])):
            self.prices.remove(scope, tenant, bid)

    def _started(self, tenant: str, event: dict[str, Any]) -> None:
        leaf = event["leaf"]
        if leaf in self._leased:
            self._find(
                "a lease starts where another lasts",
                tenant,
                f"lease {event['lease']}",
                expected="",
                found=self._leased[leaf].name,
            )
        self._cancelled(tenant, event)
        held_until = event["hold_until"] or 0
        lease = Lease(event["lease"], tenant, leaf, self.prices.now, event["limit"], held_until)
        self._leased[leaf] = self.accounts[tenant].leases[lease.number] = lease
        self.leases_started += 1
        self.prices.start(lease)
        self._compare_rate("lease.started", tenant, event)

    def _ended(self, tenant: str, event: dict[str, Any]) -> None:
        self._compare_rate("lease.ended", tenant, event)
        lease = self._leased[event["leaf"]]
        if (lease.tenant, lease.number) != (tenant, event["lease"]):
            self._find(
                "another lease ends than the one that was there",
                tenant,
                f"lease {event['lease']}",
                expected=lease.name,
                found=f"lease {event['lease']} of {tenant}",
            )
        del self._leased[event["leaf"]]
        self.prices.end(lease)

    def _limit_set(self, tenant: str, event: dict[str, Any]) -> None:
        self.prices.set_limit(self._leased[event["leaf"]], event["limit"])

    def _fee(self, tenant: str, event: dict[str, Any]) -> None:
        fee = Fee(event["order"], event["scope"], event["rate"], self.prices.now, event["until"])
        self.accounts[tenant].fees.append(fee)

    def _floor(self, tenant: str, event: dict[str, Any]) -> None:
        self.prices.set_floor(event["node"], event["price"])

    def _compare_rate(self, kind: str, tenant: str, event: dict[str, Any]) -> None:
        rate = self.prices.rate(event["leaf"], tenant)
        if rate != event["rate"]:
            self._find(
                f"the rate told by {kind}",
                tenant,
                f"lease {event['lease']}",
                expected=decimal(rate),
                found=decimal(event["rate"]),
            )

    # -- statements

    def _close(self, before: int, documents: dict[str, bytes]) -> None:
        """Takes the statements from the documents; what is left is none."""
        since, self.closed_before = self.closed_before, before
        self.pass_time(before)
        marks = self._marks.get(before, {})
        for tenant, account in self.accounts.items():
            expected = self._newly_charged(account, marks, since, before)
            self._compare(tenant, since, before, expected, documents.pop(STATEMENT + tenant, None))
            _forget(account, before)
        self._marks = {time: mark for time, mark in self._marks.items() if time >= before}

    def _newly_charged(
        self, account: Account, marks: dict[Lease, int], since: int, before: int
    ) -> dict[Line, int]:
        lines: dict[Line, int] = {}
        for lease in account.leases.values():
            if lease.start < before:
                charge = marks.get(lease, lease.charge)
                end = before if lease.end is None else min(lease.end, before)
                lines["lease", lease.number, lease.leaf, max(lease.start, since), end] = (
                    charge - lease.billed
                )
                lease.billed = charge
        for key, charge in fees_until(account, before).items():
            kind, order, scope, start, end = key
            newly = charge - account.billed_fees.get(key, 0)
            line = (kind, order, scope, max(start, since), min(end, before))
            lines[line] = lines.get(line, 0) + newly
            account.billed_fees[key] = charge
        return {line: charge for line, charge in lines.items() if charge}

    def _compare(
        self, tenant: str, since: int, before: int, expected: dict[Line, int], body: bytes | None
    ) -> None:
        if body is None:
            found: dict[Line, int] = {}
        else:
            self.statements += 1
            told_since, told_until, _ = HEAD.unpack_from(body)
            lines = msgspec.msgpack.decode(body[HEAD.size :])
            self.lines += len(lines)
            found = summed(lines)
            if (told_since, told_until) != (since, before):
                period = f"{when(told_since)} until {when(told_until)}"
                self._find(
                    "the period of a statement",
                    tenant,
                    "",
                    since,
                    before,
                    f"{when(since)} until {when(before)}",
                    period,
                )
        for line in sorted(expected.keys() | found.keys()):
            if expected.get(line, 0) != found.get(line, 0):
                self._find(
                    "a line of a statement",
                    tenant,
                    named(line),
                    line[3],
                    line[4],
                    str(expected.get(line, 0)),
                    str(found.get(line, 0)),
                )

    # -- telling

    def _find(
        self,
        what: str,
        tenant: str | None = "",
        line: str = "",
        since: int | None = None,
        until: int | None = None,
        expected: str = "",
        found: str = "",
    ) -> None:
        begin, end = ("" if time is None else when(time) for time in (since, until))
        self.findings.append(
            Finding(what, self._entry, tenant or "", line, begin, end, expected, found)
        )


def fees_until(account: Account, at: int) -> dict[Line, int]:
    """What fees charge until then; those of one order and scope, from one instant until one
    instant, are one line."""
    found: dict[Line, int] = {}
    for fee in account.fees:
        if fee.start < at:
            key = ("fee", fee.order, fee.scope, fee.start, fee.until)
            found[key] = found.get(key, 0) + fee.charge(at)
    return found


def summed(lines: list[list[Any]]) -> dict[Line, int]:
    found: dict[Line, int] = {}
    for kind, number, scope, start, end, charge in lines:
        line = (kind, number, scope, start, end)
        found[line] = found.get(line, 0) + int(charge)
    return found


def named(line: Line) -> str:
    kind, number, scope, _, _ = line
    return f"{kind} {number} {scope}"


def _forget(account: Account, before: int) -> None:
    """What ended by then is carried as one sum."""
    over = [
        lease for lease in account.leases.values() if lease.end is not None and lease.end <= before
    ]
    account.carried += sum(lease.charge for lease in over) + sum(
        fee.charge(before) for fee in account.fees if fee.until <= before
    )
    for lease in over:
        del account.leases[lease.number]
    account.fees = [fee for fee in account.fees if fee.until > before]
    account.billed_fees = {
        key: charge for key, charge in account.billed_fees.items() if key[4] > before
    }


def decimal(millionths: int) -> str:
    return f"{millionths // MICRO}.{millionths % MICRO:06d}"


def printed(charge: int) -> str:
    """An exact charge in dollars, rounded down to a millionth."""
    return decimal(charge // HOUR_US)


def when(us: int) -> str:
    return (
        (EPOCH + timedelta(microseconds=us))
        .isoformat(timespec="microseconds")
        .replace("+00:00", "Z")
    )
