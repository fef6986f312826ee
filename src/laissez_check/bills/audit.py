"""Every invoice worked out a second time, from the journal alone, fast enough for real ones.

It knows the rules M5, M14, M17, M18 and the closing of books from `docs/reference/market.md`,
follows the journal's events, and compares every statement that was filed, line by line, as exact
integers. It shares no code with the service: `tests/check/test_bills.py` sees to it that these
modules import nothing else of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from struct import Struct
from typing import Any

import msgspec

from laissez_check.bills.amounts import decimal, when
from laissez_check.bills.journal import EVENTS, Event, Row
from laissez_check.bills.prices import Fee, Id, Lease, Prices

STATEMENT = "statement/"
HEAD = Struct(">QQI")  # of a statement: its period, and how many lines follow
CLOSED = "books.closed"

# Events without charges. An event that is neither here nor in `Auditor.notes` is reported: a bill
# may depend on it.
WITHOUT_MONEY = {"tenant.created", *(kind for kind, fields in EVENTS if not fields)}
# Kind, the number of the lease or order, scope, start, end.
Line = tuple[str, Id, str, int, int]
Charges = dict[Line, int]


@dataclass(frozen=True)
class Finding:
    """A wrong figure. Charges are exact: millionths of a dollar per hour times microseconds."""

    what: str
    entry: int
    tenant: str = ""
    line: str = ""
    since: str = ""
    until: str = ""
    expected: str = ""
    found: str = ""


@dataclass
class Account:
    """The charges of one tenant; leases and fees as long as the books hold them."""

    n: int = 0  # its latest event
    leases: dict[Id, Lease] = field(default_factory=dict)
    fees: list[Fee] = field(default_factory=list)
    billed_fees: Charges = field(default_factory=dict)
    carried: int = 0

    def fees_until(self, at: int) -> Charges:
        """The charges of fees until then. Fees of the same order, scope and period are one line."""
        return summed(
            ["fee", fee.order, fee.scope, fee.start, fee.until, fee.charge(at)]
            for fee in self.fees
            if fee.start < at
        )

    def close_books(self, before: int) -> None:
        """Carry over all that ended by then as one sum."""
        for lease in list(self.leases.values()):
            if lease.end is not None and lease.end <= before:
                self.carried += lease.charge
                del self.leases[lease.number]
        self.carried += sum(fee.charge(before) for fee in self.fees if fee.until <= before)
        self.fees = [fee for fee in self.fees if fee.until > before]
        billed = self.billed_fees.items()
        self.billed_fees = {line: charge for line, charge in billed if line[4] > before}


class Auditor:
    """Give it every entry in order. `closings` are the times at which the books will be closed."""

    def __init__(self, closings: list[int]) -> None:
        self.prices = Prices()
        self.accounts: dict[str, Account] = {}
        self.findings: list[Finding] = []
        self.events = self.entries = self.statements = self.lines = self.leases_started = 0
        self.closed_before = 0
        self.unknown: dict[str, int] = {}  # kinds of events, and how many of each
        self._closings = closings[::-1]
        # The charges until each of these times of the leases that lasted then.
        self._marks: dict[int, dict[Lease, int]] = {}
        self._orders: dict[tuple[str, int], list[tuple[str, int]]] = {}
        self._leased: dict[str, Lease] = {}  # by leaf
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
        due, self.entries = self.entries + 1, row.seq
        if row.seq != due:
            self._find("entries are not dense", expected=due, found=row.seq)
        if row.first != self.events + 1:
            self._find("events are not dense", expected=self.events + 1, found=row.first)
        self.events = row.first + len(row.events) - 1
        for event in row.events:
            if event.tenant is not None:
                self._number(event.tenant, event.n)
            self._take(event)
        documents = dict(row.documents)
        closed = [event.fields["before"] for event in row.events if event.kind == CLOSED]
        if closed:
            self._close(closed[-1], documents)
        for name in documents:
            self._find("a document of an unknown kind", line=name, found=name)

    def _number(self, tenant: str, n: int) -> None:
        account = self.accounts.setdefault(tenant, Account())
        if n != account.n + 1:
            self._find("a tenant's events are not dense", tenant, expected=account.n + 1, found=n)
        account.n = n

    def _take(self, event: Event) -> None:
        kind, at, tenant = event.kind, event.at, event.tenant or ""
        if kind in WITHOUT_MONEY:
            # Its time does not count, either: the market may be behind, since its holds end with
            # its next command.
            return
        if at < self.prices.now:
            self._find(
                "time runs backwards", tenant, expected=when(self.prices.now), found=when(at)
            )
        self.pass_time(at)
        if kind not in self.notes:
            if kind != CLOSED:
                self.unknown[kind] = self.unknown.get(kind, 0) + 1
            return
        try:
            self.notes[kind](tenant, event.fields)
        except KeyError as error:
            what = "an event contradicts those before it"
            self._find(what, tenant, kind, "something that is there", error)

    def pass_time(self, to: int) -> None:
        while self._closings and self._closings[-1] <= to:
            before = self._closings.pop()
            self.prices.pass_time(before)
            leases = self._leased.values()
            self._marks[before] = {lease: self.prices.settle(lease) for lease in leases}
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
        leaf, number, held_until = event["leaf"], event["lease"], event["hold_until"] or 0
        if leaf in self._leased:
            what = "a lease starts where another lasts"
            self._find(what, tenant, f"lease {number}", found=self._leased[leaf].name)
        self._cancelled(tenant, event)
        lease = Lease(number, tenant, leaf, self.prices.now, event["limit"], held_until)
        self._leased[leaf] = self.accounts[tenant].leases[number] = lease
        self.leases_started += 1
        self.prices.start(lease)
        self._compare_rate("lease.started", tenant, event)

    def _ended(self, tenant: str, event: dict[str, Any]) -> None:
        self._compare_rate("lease.ended", tenant, event)
        lease, number = self._leased[event["leaf"]], event["lease"]
        if (lease.tenant, lease.number) != (tenant, number):
            what, found = "another lease ends than the one that was there", f"lease {number}"
            self._find(what, tenant, found, lease.name, f"{found} of {tenant}")
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
        rate, told = self.prices.rate(event["leaf"], tenant), event["rate"]
        if rate != told:
            line = f"lease {event['lease']}"
            self._find(f"the rate told by {kind}", tenant, line, decimal(rate), decimal(told))

    # -- statements

    def _close(self, before: int, documents: dict[str, bytes]) -> None:
        """Compare the statements, and remove them from the documents."""
        since, self.closed_before = self.closed_before, before
        self.pass_time(before)
        marks = self._marks.get(before, {})
        for tenant, account in self.accounts.items():
            expected = self._newly_charged(account, marks, since, before)
            self._compare(tenant, since, before, expected, documents.pop(STATEMENT + tenant, None))
            account.close_books(before)
        self._marks = {time: mark for time, mark in self._marks.items() if time >= before}

    def _newly_charged(
        self, account: Account, marks: dict[Lease, int], since: int, before: int
    ) -> Charges:
        lines: Charges = {}
        for lease in account.leases.values():
            if lease.start < before:
                charge = marks.get(lease, lease.charge)
                end = before if lease.end is None else min(lease.end, before)
                line = ("lease", lease.number, lease.leaf, max(lease.start, since), end)
                lines[line] = charge - lease.billed
                lease.billed = charge
        for key, charge in account.fees_until(before).items():
            kind, order, scope, start, end = key
            line = (kind, order, scope, max(start, since), min(end, before))
            lines[line] = lines.get(line, 0) + charge - account.billed_fees.get(key, 0)
            account.billed_fees[key] = charge
        return {line: charge for line, charge in lines.items() if charge}

    def _compare(
        self, tenant: str, since: int, before: int, expected: Charges, body: bytes | None
    ) -> None:
        filed: Charges = {}
        if body is not None:
            *told, _ = HEAD.unpack_from(body)
            lines = msgspec.msgpack.decode(body[HEAD.size :])
            self.statements += 1
            self.lines += len(lines)
            filed = summed(lines)
            due, found = (
                f"{when(begin)} until {when(end)}" for begin, end in ((since, before), told)
            )
            if due != found:
                what = "the period of a statement"
                self._find(what, tenant, "", due, found, (since, before))
        for line, right, wrong in differences(expected, filed):
            self._find("a line of a statement", tenant, named(line), right, wrong, line[3:])

    def _find(
        self,
        what: str,
        tenant: str = "",
        line: str = "",
        expected: object = "",
        found: object = "",
        period: tuple[int, ...] = (),
    ) -> None:
        since, until = map(when, period) if period else ("", "")
        finding = Finding(what, self.entries, tenant, line, since, until, str(expected), str(found))
        self.findings.append(finding)


def summed(lines: Iterable[list[Any]]) -> Charges:
    """The charges of equal lines, added up."""
    found: Charges = {}
    for kind, number, scope, start, end, charge in lines:
        line = (kind, number, scope, start, end)
        found[line] = found.get(line, 0) + int(charge)
    return found


def differences(expected: Charges, found: Charges) -> Iterator[tuple[Line, int, int]]:
    """The lines with different charges, and both charges of each."""
    for line in sorted(expected.keys() | found.keys()):
        right, wrong = expected.get(line, 0), found.get(line, 0)
        if right != wrong:
            yield line, right, wrong


def named(line: Line) -> str:
    kind, number, scope, _, _ = line
    return f"{kind} {number} {scope}"
