"""What happened lately, for streams that resume: each tenant's events by their dense numbers, and the operator's, which are all of them.

Bounded by age and by count over all tenants; the oldest go first. An event is kept as the bytes that the journal holds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import msgspec

from laissez.service.commands import OPERATOR
from laissez.service.outcomes import Outcome
from laissez.wire.problems import Code, ProblemError


class Kept(msgspec.Struct, frozen=True, gc=False):
    at: int
    tenant: str | None
    event: bytes


class History:
    def __init__(self, events: int, events_max: int, age_max_us: int) -> None:
        """`events` is the operator's number of the latest event so far."""
        self._events_max = events_max
        self._age_max_us = age_max_us
        self._all: deque[Kept] = deque()
        self._next = events + 1  # the operator's number of the next event
        self._by_tenant: dict[str, deque[Kept]] = {}

    def add(self, at: int, outcome: Outcome) -> None:
        for told in outcome.told:
            kept = Kept(at, told.tenant, bytes(told.event))
            self._all.append(kept)
            if told.tenant is not None:
                self._of(told.tenant).append(kept)
        self._next = outcome.first + len(outcome.told)
        self._forget(at)

    def add_older(self, at: int, outcome: Outcome) -> bool:
        """Put an outcome before all others, as when the journal is read backwards; False once nothing older would be kept."""
        for told in reversed(outcome.told):
            if len(self._all) >= self._events_max:
                return False
            kept = Kept(at, told.tenant, bytes(told.event))
            self._all.appendleft(kept)
            if told.tenant is not None:
                self._of(told.tenant).appendleft(kept)
        return True

    def after(self, holder: str, n: int, latest: int) -> Iterator[tuple[int, Kept]]:
        """The events of a holder after number `n` up to `latest`, its newest, with their numbers."""
        kept = self._all if holder == OPERATOR else self._by_tenant.get(holder, deque())
        oldest = latest - len(kept) + 1
        if n > latest:
            raise ProblemError(Code.BAD_REQUEST, f"after: expected at most {latest}, the number of your latest event, found {n}")
        if n + 1 < oldest:
            raise ProblemError(
                Code.HISTORY_GONE,
                f"events up to {oldest - 1} are no longer kept; you asked for those after {n}: list what you hold and go on from {latest}",
            )
        # A copy: the history goes on while the reader reads.
        wanted = list(kept) if n + 1 == oldest else [kept[index] for index in range(n + 1 - oldest, len(kept))]
        return iter([(n + 1 + index, one) for index, one in enumerate(wanted)])

    def __len__(self) -> int:
        return len(self._all)

    def _of(self, tenant: str) -> deque[Kept]:
        kept = self._by_tenant.get(tenant)
        if kept is None:
            kept = self._by_tenant[tenant] = deque()
        return kept

    def _forget(self, now: int) -> None:
        while self._all and (len(self._all) > self._events_max or self._all[0].at < now - self._age_max_us):
            oldest = self._all.popleft()
            if oldest.tenant is not None:
                of_tenant = self._by_tenant[oldest.tenant]
                of_tenant.popleft()
                if not of_tenant:
                    del self._by_tenant[oldest.tenant]
