"""Compare all answers of the API after a crash: events, quotes, the state of every leaf, and bills.

The auditor follows the operator's events from the first on. Everything else must agree with it,
bills to the millionth of a dollar.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import attrgetter

from laissez.exchange.commands import OPERATOR
from laissez_check.bills.amounts import dollars, instant, micro
from laissez_check.clients.holder import Holder
from laissez_check.clients.journal import Truth, compare
from laissez_check.clients.ledger import Json, Ledger, Quoted
from laissez_check.event_audit import Auditor
from laissez_check.finding import Finding


class Inspector:
    def __init__(
        self,
        ledger: Ledger,
        truth: Truth,
        rest: Mapping[str, Holder],
        leaves: Sequence[str],
        began: Sequence[int],
    ) -> None:
        """`began` has, for each run of the service, the number of events before it."""
        self._ledger = ledger
        self._truth = truth
        self._rest = rest
        self._leaves = leaves
        self._began = began
        self._auditor = Auditor(leaves)
        self.read: Counter[str] = Counter()  # the number of events read, by holder
        self._unaudited: list[Json] = []
        self.bills = 0
        self.quotes = 0

    async def inspect(self) -> None:
        operator = self._rest[OPERATOR]
        tenants = [holder for holder in self._rest if holder != OPERATOR]
        bills = {tenant: await self._rest[tenant].get("/v1/bills") for tenant in tenants}
        summary = await operator.get("/v1/market")
        resources = await operator.pages("/v1/resources")
        for holder in self._rest:
            await self._read_events(holder)
        self._truth.read_on()
        compare(self._truth, self._ledger)
        self._compare_events()
        self._audit_quotes()
        for tenant, bill in sorted(bills.items(), key=lambda item: str(item[1]["until"])):
            self._audit_bill(tenant, bill)
        at = instant(summary["at"])
        last_bill = max(instant(bill["until"]) for bill in bills.values())
        self._audit_revenue(summary["revenue"], last_bill, at)
        self._take_until(math.inf)
        if self._truth.entered_at[-1] < at:  # otherwise the lists may be older than the events
            self._audit_state(summary, resources)

    # -- events

    async def _read_events(self, holder: str) -> None:
        for one in await self._rest[holder].pages("/v1/events", after=self.read[holder]):
            self.read[holder] += 1
            if one["n"] != self.read[holder]:
                due = self.read[holder]
                raise Finding(f"{holder} asked for events and got {one['n']} where {due} is next")
            self._ledger.saw(holder, one, "a page of events")
            if holder == OPERATOR:
                self._unaudited.append(one)
        self._ledger.check()

    def _compare_events(self) -> None:
        """Check that no event of the journal is missing. The events that were told are compared one
        by one elsewhere."""
        for holder, read in self.read.items():
            stored, seen = self._truth.streams.get(holder, [])[:read], self._ledger.seen[holder]
            if any(seen.get(n) != one for n, one in enumerate(stored, 1)):
                raise Finding(f"the events of {holder} are not those of the journal")

    # -- the audit

    def _take_until(self, until: float) -> None:
        """Give the auditor all events until then."""
        while self._unaudited and instant(self._unaudited[0]["event"]["at"]) <= until:
            self._take_next()

    def _take_next(self) -> None:
        self._auditor.take(self._unaudited.pop(0))
        if self._auditor.doubts:
            raise Finding(f"the operator's events contradict themselves: {self._auditor.doubts[0]}")

    def _audit_quotes(self) -> None:
        """A quote reflects exactly the commands before it. If one had been lost, the journal would
        now give another price."""
        when = attrgetter("run", "at")
        for (run, text), at_once in groupby(sorted(self._ledger.quoted, key=when), when):
            at = instant(text)
            while self._entered(run) < at:
                self._take_next()
            found = [(quoted, self._prices(quoted, at)) for quoted in at_once]
            while self._entered(run) == at:  # each may be before or after the quote
                self._take_next()
                for quoted, prices in found:
                    prices.update(self._prices(quoted, at))
            for quoted, prices in found:
                self._compare_quote(quoted, prices)
        self._ledger.quoted.clear()

    def _prices(self, quoted: Quoted, at: int) -> set[int | None]:
        """Both possible prices: a hold that is over ends only with the next command."""
        tenant = None if quoted.holder == OPERATOR else quoted.holder
        return {self._auditor.quote(tenant, quoted.scope, now) for now in (self._auditor.now, at)}

    def _compare_quote(self, quoted: Quoted, found: set[int | None]) -> None:
        price = None if quoted.price is None else micro(quoted.price)
        if price not in found:
            raise Finding(
                f"{quoted.holder} was quoted {price} for {quoted.scope} at {quoted.at}; the events"
                f" until then make it {found}"
            )
        self.quotes += 1

    def _entered(self, run: int) -> float:
        """When the command of the next event was applied, as far as this run is concerned: never
        before it began, and never after it ended. For the end of a hold this is later than the
        event's own time."""
        n = self._unaudited[0]["n"] if self._unaudited else math.inf
        if n <= self._began[run]:
            return -math.inf
        ends = self._began[run + 1] if run + 1 < len(self._began) else math.inf
        return math.inf if n > ends or n == math.inf else self._truth.entered_at[int(n) - 1]

    def _audit_bill(self, tenant: str, bill: Json) -> None:
        until = instant(bill["until"])
        self._take_until(until)
        figures = [(bill["total"], "", self._auditor.owed(tenant, until))]
        for line in bill["lines"]:
            if line["kind"] == "lease":
                charge = self._auditor.owed_for(tenant, line["id"], until)
                figures += [] if charge is None else [(line["cost"], f" for {line['id']}", charge)]
        for billed, subject, charge in figures:
            if billed != dollars(charge):
                raise Finding(
                    f"{tenant} is billed {billed}{subject} until {bill['until']}; its events make"
                    f" it {dollars(charge)}"
                )
        self.bills += 1

    def _audit_revenue(self, revenue: str, since: int, until: int) -> None:
        """Bills of tenants are made one after the other, and charges go on meanwhile. So the
        revenue lies between the sum at the last bill and the sum now."""
        charged = self._auditor.owed_by_all(since)
        self._take_until(until)
        meanwhile = self._auditor.owed_by_all(until) - charged
        least, most = dollars(charged), dollars(charged + meanwhile)
        if not micro(least) <= micro(revenue) <= micro(most):
            raise Finding(f"the revenue is {revenue}; the events make it {least} to {most}")

    def _audit_state(self, summary: Json, resources: list[Json]) -> None:
        auditor = self._auditor
        found = (summary["leaves"], summary["online"], summary["leased"], summary["open_orders"])
        parts = (self._leaves, auditor.online, auditor.leases, auditor.orders)
        expected = tuple(map(len, parts))
        if found != expected:
            raise Finding(
                f"leaves, online, leased and open orders are {found}; the events make them"
                f" {expected}"
            )
        for one in resources:
            difference = auditor.compare(one)
            if difference is not None:
                raise Finding(difference)
