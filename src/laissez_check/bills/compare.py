"""Compare the service's bills with those of `audit`: every statement, every running bill, and their
sum."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from laissez.exchange.exchange import Exchange
from laissez.journal import Diverged, JournalDamaged, Reader
from laissez.server import billing
from laissez.server.billing import Owed
from laissez.server.data_folder import exchange_after
from laissez_check.bills.amounts import dollars, when
from laissez_check.bills.audit import Account, Auditor, Charges, Finding, differences, named, summed
from laissez_check.bills.journal import Rows

STEP = 1_000  # entries between two signs of progress
NOTHING_WORKED_OUT = "the journal is damaged, so no bill was worked out"
NOT_COMPARED = "the journal cannot be replayed, so running bills were not compared"


@dataclass(frozen=True)
class Sum:
    """The debt of a tenant at the end of the journal."""

    tenant: str
    charge: int
    dollars: str


@dataclass(frozen=True)
class BillReport:
    entries: int
    events: int
    until: str
    tenants: int
    leases: int
    statements: int
    lines: int  # of statements
    running_lines: int
    revenue: str
    unknown: dict[str, int]  # kinds of events that were not taken into account
    sums: list[Sum]
    findings: list[Finding]

    @property
    def ok(self) -> bool:
        return not self.findings and not self.unknown


def audit_bills(
    folder: Path, on_progress: Callable[[int, int], None] = lambda done, of: None
) -> BillReport:
    """Audit the journal as it is now, beside a running server or offline."""
    with Reader.of(folder) as reader:
        auditor, exchange, last, at = Auditor([]), None, 0, 0
        try:
            last = reader.tail().last
            auditor, at = _worked_out(folder, last, on_progress)
            exchange = exchange_after(reader, last, lambda done, of: on_progress(of + done, of * 2))
        except (Diverged, JournalDamaged) as error:
            what = NOT_COMPARED if auditor.entries else NOTHING_WORKED_OUT
            auditor.findings.append(Finding(what, last, found=str(error)))
        except Exception:
            # The auditor's own reader does not check for damage, and fails on it.
            if (damage := _damage(reader, last)) is None:
                raise
            auditor.findings.append(Finding(NOTHING_WORKED_OUT, last, found=damage))
    return Comparison(auditor, exchange, at).report()


def _worked_out(
    folder: Path, last: int, on_progress: Callable[[int, int], None]
) -> tuple[Auditor, int]:
    """The auditor after every entry, and the time of the last one."""
    rows, at = Rows(folder), 0
    try:
        auditor = Auditor(rows.closings(last))
        for row in rows.rows(last):
            auditor.take(row)
            at = row.at
            if row.seq % STEP == 0:
                on_progress(row.seq, last * 2)
        return auditor, at
    finally:
        rows.close()


def _damage(reader: Reader, last: int) -> str | None:
    """The place where the journal is damaged."""
    try:
        deque(reader.groups(1, last), maxlen=0)
    except JournalDamaged as error:
        return str(error)
    return None


class Comparison:
    """The comparison of running bills, at the time of the last entry."""

    def __init__(self, auditor: Auditor, exchange: Exchange | None, at: int) -> None:
        self._auditor = auditor
        self._exchange = exchange
        self._at = at
        self._running_lines = 0
        self._findings = list(auditor.findings)

    def report(self) -> BillReport:
        auditor, exchange = self._auditor, self._exchange
        owed: dict[str, Owed] = {}
        if exchange is not None:
            for name, billed in exchange.accounts.items():
                owed[name] = billing.running(exchange, billed, self._at)
        until = max((one.until for one in owed.values()), default=auditor.prices.now)
        auditor.pass_time(until)
        accounts = sorted(auditor.accounts.items())
        sums = {name: self._total(account, until) for name, account in accounts}
        for name, one in owed.items():
            self._compare(name, one, auditor.accounts.get(name, Account()), sums.get(name, 0))
        if exchange is not None:
            self._compare_revenue(exchange)
        return BillReport(
            auditor.entries,
            auditor.events,
            when(until),
            len(sums),
            auditor.leases_started,
            auditor.statements,
            auditor.lines,
            self._running_lines,
            dollars(sum(sums.values())),
            auditor.unknown,
            [Sum(name, charge, dollars(charge)) for name, charge in sums.items()],
            self._findings,
        )

    def _lines(self, account: Account, until: int) -> Charges:
        lines: Charges = {}
        for lease in account.leases.values():
            end = until if lease.end is None else lease.end
            line = ("lease", lease.number, lease.leaf, lease.start, end)
            lines[line] = self._auditor.prices.settle(lease)
        for (kind, order, scope, start, end), charge in account.fees_until(until).items():
            line = (kind, order, scope, start, min(end, until))
            lines[line] = lines.get(line, 0) + charge
        return lines

    def _total(self, account: Account, until: int) -> int:
        return account.carried + sum(self._lines(account, until).values())

    def _compare(self, tenant: str, owed: Owed, account: Account, total: int) -> None:
        def find(what: str, line: str, expected: object, found: object) -> None:
            if expected != found:
                since, until = when(owed.since), when(owed.until)
                details = (tenant, line, since, until, str(expected), str(found))
                self._findings.append(Finding(what, self._auditor.entries, *details))

        self._running_lines += len(owed.lines)
        bill = owed.bill([owed.rendered(line) for line in owed.lines])
        for line, shown in zip(owed.lines, bill.lines, strict=True):
            name = f"{line.kind} {line.number}"
            find("a line of a running bill, as printed", name, dollars(line.charge), shown.cost)
        carried = sum(line.charge for line in owed.lines if line.kind == billing.CARRIED)
        find("what a running bill carries over", "carried", account.carried, carried)
        found = summed(
            [line.kind, line.number, line.scope, line.start, line.end, line.charge]
            for line in owed.lines
            if line.kind != billing.CARRIED
        )
        for key, right, wrong in differences(self._lines(account, owed.until), found):
            find("a line of a running bill", named(key), right, wrong)
        find("the total of a running bill, as printed", "", dollars(total), bill.total)

    def _compare_revenue(self, exchange: Exchange) -> None:
        """Only at the market's own time is its revenue known; charges go on after it."""
        market = exchange.market
        owed, revenue = sum(market.bill(name).total for name in exchange.accounts), market.revenue()
        if owed != revenue:
            what, last = "charges do not sum to the revenue", self._auditor.entries
            self._findings.append(Finding(what, last, expected=str(owed), found=str(revenue)))
