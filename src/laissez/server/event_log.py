"""Where in the journal the latest events are, for streams that resume: each tenant's by their dense
numbers, and the operator's, which are all.

Only places are kept; the events are read from the journal when somebody asks. Bounded by age and by
count over all tenants; the oldest go first.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import islice, takewhile
from typing import TypeVar

import msgspec

from laissez.exchange.commands import OPERATOR
from laissez.exchange.events import Applied
from laissez.wire.problems import Code, ProblemError

T = TypeVar("T")


class Place(msgspec.Struct, frozen=True, gc=False):
    """An entry of the journal with events: whose they are, in their order."""

    at: int
    seq: int
    first: int  # the operator's number of the first
    tenants: tuple[str | None, ...]


class EventLog:
    def __init__(self, events_max: int, age_max_us: int) -> None:
        self._events_max = events_max
        self._age_max_us = age_max_us
        self._count = 0
        self._places: deque[Place] = deque()
        # for every event of a tenant, the sequence number of its entry
        self._by_tenant: dict[str, deque[int]] = {}

    def add(self, at: int, seq: int, applied: Applied) -> None:
        tenants = applied.tenants
        self._places.append(Place(at, seq, applied.first, tenants))
        self._count += len(tenants)
        for tenant in tenants:
            if tenant is not None:
                kept = self._by_tenant.get(tenant)
                if kept is None:
                    kept = self._by_tenant[tenant] = deque()
                kept.append(seq)
        self.forget(at)

    def forget(self, now: int) -> None:
        """What is too old or too much. Also when nothing is added: else what a tenant still finds
        would tell it whether others did anything."""
        oldest = now - self._age_max_us
        while self._places and (self._count > self._events_max or self._places[0].at < oldest):
            self._forget()

    def add_older(self, at: int, seq: int, first: int, tenants: tuple[str | None, ...]) -> bool:
        """Put an entry before all others, as when the journal is read backwards; False once there
        is no room."""
        if not tenants:
            return True
        if self._count + len(tenants) > self._events_max:
            return False
        self._places.appendleft(Place(at, seq, first, tenants))
        self._count += len(tenants)
        for tenant in tenants:
            if tenant is not None:
                self._by_tenant.setdefault(tenant, deque()).appendleft(seq)
        return True

    def entries_after(self, holder: str, n: int, latest: int, most: int | None = None) -> list[int]:
        """The entries that hold a holder's events after number `n`, or the next `most` of them;
        `latest` is the number of its newest event."""
        self.check_kept(holder, n, latest)
        if holder != OPERATOR:
            kept = self._by_tenant.get(holder, ())
            begin = len(kept) - (latest - n)
            return list(dict.fromkeys(_part(kept, begin, most)))
        begin = bisect_right(
            self._places, n, key=lambda place: place.first + len(place.tenants) - 1
        )
        return [place.seq for place in _part(self._places, begin, most)]

    def check_kept(self, holder: str, n: int, latest: int) -> None:
        """Are all of a holder's events after number `n` still there?"""
        gone_until = self.gone_until(holder, latest)
        if not 0 <= n <= latest:
            raise ProblemError(
                Code.BAD_REQUEST,
                f"expected the number of an event from 0 to {latest}, your latest, found {n}",
            )
        if n < gone_until:
            gone = (
                f"events up to {gone_until} are no longer kept, and those after {n} were asked for:"
                " list what you hold, then follow from now on"
            )
            raise ProblemError(Code.HISTORY_GONE, gone)

    def gone_until(self, holder: str, latest: int) -> int:
        """The number of a holder's last event that is no longer kept; 0 if all are."""
        return latest - (
            self._count if holder == OPERATOR else len(self._by_tenant.get(holder, ()))
        )

    def happened_after(self, holder: str, seq: int) -> int:
        """How many of a holder's events lie in entries after `seq`."""
        if holder != OPERATOR:
            return sum(
                1
                for _ in takewhile(
                    lambda entry: entry > seq, reversed(self._by_tenant.get(holder, ()))
                )
            )
        return sum(
            len(place.tenants)
            for place in takewhile(lambda place: place.seq > seq, reversed(self._places))
        )

    def __len__(self) -> int:
        return self._count

    def _forget(self) -> None:
        place = self._places.popleft()
        self._count -= len(place.tenants)
        for tenant in place.tenants:
            if tenant is not None:
                kept = self._by_tenant[tenant]
                kept.popleft()
                if not kept:
                    del self._by_tenant[tenant]


def _part(items: Sequence[T], begin: int, most: int | None) -> Iterable[T]:
    """From `begin` on. A few of them are looked up: going there step by step would take long where
    a million are kept."""
    if most is None:
        return islice(items, begin, None)
    return [items[index] for index in range(begin, min(begin + most, len(items)))]
