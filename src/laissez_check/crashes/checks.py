"""What is looked at after every crash, beside the answers themselves: events, quotes, the state of
every leaf, and all bills.

The auditor follows the operator's events from the first on; whatever else the API says must agree
with it, bills to the millionth of a dollar.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, Protocol

from laissez.exchange.commands import OPERATOR
from laissez_check.bills.amounts import dollars, instant, micro
from laissez_check.crashes.journal import Truth, compare
from laissez_check.crashes.ledger import Json, Ledger, Quoted
from laissez_check.event_audit import Auditor
from laissez_check.finding import Finding
from laissez_check.started_server import LEAVES


class Asking(Protocol):
    """Somebody who can ask the API."""

    async def get(self, path: str, **query: str | int) -> Any: ...

    async def pages(self, path: str, **query: str | int) -> list[Json]: ...


class Inspector:
    def __init__(
        self,
        ledger: Ledger,
        truth: Truth,
        rest: Mapping[str, Asking],
        leaves: Sequence[str] = LEAVES,
        began: Sequence[int] = (0,),
    ) -> None:
        """`began` says for every run of the service how many events there were when it began."""
        self._ledger = ledger
        self._truth = truth
        self._rest = rest
        self._leaves = leaves
        self._began = began
        self._auditor = Auditor(leaves)
        # how far each holder's events were compared
        self.read: dict[str, int] = dict.fromkeys(rest, 0)
        self._unaudited: list[Json] = []
        self.bills = 0
        self.quotes = 0

    async def inspect(self, at_rest: bool = False) -> None:
        """Everything. `at_rest`: nothing is charged any more, so that all sums are exact."""
        bills = {
            holder: await rest.get("/v1/bills")
            for holder, rest in self._rest.items()
            if holder != OPERATOR
        }
        summary = await self._rest[OPERATOR].get("/v1/market")
        resources = await self._rest[OPERATOR].pages("/v1/resources")
        for holder in self._rest:
            await self._read_events(holder)
        self._truth.read_on()
        compare(self._truth, self._ledger)
        self._compare_events()
        self._audit_quotes()
        for tenant, bill in sorted(bills.items(), key=lambda item: str(item[1]["until"])):
            self._audit_bill(tenant, bill)
        at = instant(summary["at"])
        self._audit_revenue(
            summary["revenue"], max(instant(bill["until"]) for bill in bills.values()), at, at_rest
        )
        self._take_until(None)
        if self._truth.entered_at[-1] < at:  # else the lists may be older than the events
            self._audit_state(summary, resources)

    # -- events

    async def _read_events(self, holder: str) -> None:
        for one in await self._rest[holder].pages("/v1/events", after=self.read[holder]):
            self.read[holder] += 1
            if one["n"] != self.read[holder]:
                raise Finding(
                    f"{holder} asked for events and got {one['n']} where {self.read[holder]} is"
                    " next"
                )
            self._ledger.saw(holder, one, "a page of events")
            if holder == OPERATOR:
                self._unaudited.append(one)
        self._ledger.check()

    def _compare_events(self) -> None:
        """That nobody is told less than the journal holds; that it is the same was compared one by
        one."""
        for holder, read in self.read.items():
            stream = self._truth.streams.get(holder, [])
            if any(
                self._ledger.seen[holder].get(n) != one for n, one in enumerate(stream[:read], 1)
            ):
                raise Finding(f"the events of {holder} are not those of the journal")

    # -- the audit

    def _take_until(self, until: int | None) -> None:
        """Give the auditor what happened until then."""
        while self._unaudited and (
            until is None or instant(self._unaudited[0]["event"]["at"]) <= until
        ):
            self._take_next()

    def _take_next(self) -> None:
        self._auditor.take(self._unaudited.pop(0))
        if self._auditor.doubts:
            raise Finding(f"the operator's events contradict themselves: {self._auditor.doubts[0]}")

    def _audit_quotes(self) -> None:
        """A quote reflects what was applied before it and nothing else: had that been lost, the
        journal would now tell another price."""
        when = attrgetter("run", "at")
        for (run, text), at_once in groupby(sorted(self._ledger.quoted, key=when), when):
            all_quoted, at = list(at_once), instant(text)
            while self._entered(run) < at:
                self._take_next()
            found = [self._quotes(quoted, at) for quoted in all_quoted]
            while self._entered(run) == at:  # any of them may have come first
                self._take_next()
                found = [
                    before | self._quotes(quoted, at)
                    for before, quoted in zip(found, all_quoted, strict=True)
                ]
            for quoted, prices in zip(all_quoted, found, strict=True):
                self._compare_quote(quoted, prices)
        self._ledger.quoted.clear()

    def _compare_quote(self, quoted: Quoted, found: set[int | None]) -> None:
        price = None if quoted.price is None else micro(quoted.price)
        if price not in found:
            raise Finding(
                f"{quoted.holder} was quoted {price} for {quoted.scope} at {quoted.at}; the events"
                f" until then make it {found}"
            )
        self.quotes += 1

    def _entered(self, run: int) -> float:
        """When what comes next was applied, for that run: before its time if that was earlier,
        after it if there is nothing more. It counts when the command was applied, which for the end
        of a hold is later than what it tells."""
        if not self._unaudited:
            return math.inf
        n = self._unaudited[0]["n"]
        if n <= self._began[run]:
            return -math.inf
        return (
            math.inf
            if run + 1 < len(self._began) and n > self._began[run + 1]
            else self._truth.entered_at[n - 1]
        )

    def _quotes(self, quoted: Quoted, at: int) -> set[int | None]:
        """A hold that is over may not have been ended yet: it ends with the next command."""
        tenant = None if quoted.holder == OPERATOR else quoted.holder
        return {self._auditor.quote(tenant, quoted.scope, now) for now in (self._auditor.now, at)}

    def _audit_bill(self, tenant: str, bill: Json) -> None:
        until = instant(bill["until"])
        self._take_until(until)
        owed = dollars(self._auditor.owed(tenant, until))
        if bill["total"] != owed:
            raise Finding(
                f"{tenant} is billed {bill['total']} until {bill['until']}; its events make it"
                f" {owed}"
            )
        for line in bill["lines"]:
            charge = (
                self._auditor.owed_for(tenant, line["id"], until)
                if line["kind"] == "lease"
                else None
            )
            if charge is not None and line["cost"] != dollars(charge):
                raise Finding(
                    f"{tenant} is billed {line['cost']} for {line['id']} until {bill['until']}; its"
                    f" events make it {dollars(charge)}"
                )
        self.bills += 1

    def _audit_revenue(self, revenue: str, since: int, until: int, at_rest: bool) -> None:
        """Tenants' bills are made one after the other and charges go on meanwhile: the sum lies
        between that at the last bill and that now."""
        least = self._auditor.owed_by_all(since)
        self._take_until(until)
        most = self._auditor.owed_by_all(until)
        if not micro(dollars(least)) <= micro(revenue) <= micro(dollars(most)):
            raise Finding(
                f"the revenue is {revenue}; the events make it {dollars(least)} to {dollars(most)}"
            )
        if at_rest and least != most:
            raise Finding(
                f"all leaves are offline and {dollars(most - least)} was charged between two"
                " questions"
            )

    def _audit_state(self, summary: Json, resources: list[Json]) -> None:
        auditor = self._auditor
        found = (summary["leaves"], summary["online"], summary["leased"], summary["open_orders"])
        expected = (
            len(self._leaves),
            len(auditor.online),
            len(auditor.leases),
            len(auditor.orders),
        )
        if found != expected:
            raise Finding(
                f"leaves, online, leased and open orders are {found}; the events make them"
                f" {expected}"
            )
        for one in resources:
            difference = auditor.compare(one)
            if difference is not None:
                raise Finding(difference)
