"""An index over the latest entries of the journal: which of them hold a holder's events, for
streams that resume, and which of them answered an idempotency key.

Only sequence numbers are kept; events and answers are read from the journal on demand. Both parts
are bounded by age and by count over all tenants, and forget the oldest first.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import islice
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
    """A tenant's events are found by its own dense numbers, the operator's by those of all."""

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
        """Drop what is too old or too much. This also happens when nothing is added: otherwise what
        a tenant still finds would reveal whether others did anything."""
        oldest = now - self._age_max_us
        while self._places and (self._count > self._events_max or self._places[0].at < oldest):
            self._forget()

    def add_older(self, at: int, seq: int, first: int, tenants: tuple[str | None, ...]) -> bool:
        """Add an entry before all others, reading the journal backwards; False if it is full."""
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
        """Raise a problem unless all of a holder's events after number `n` are kept."""
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


class IdempotencyKeys:
    """The request made under each client's id, so that a repeat is answered and not carried out
    twice."""

    def __init__(self, ids_max: int, age_max_us: int) -> None:
        self._ids_max = ids_max
        self._age_max_us = age_max_us
        self._by_holder: dict[str, dict[str, int]] = {}
        self._oldest: deque[tuple[int, str, str]] = deque()

    def find(self, holder: str, id: str) -> int | None:
        """The sequence number of the request made under this id."""
        ids = self._by_holder.get(holder)
        return None if ids is None else ids.get(id)

    def add(self, at: int, holder: str, id: str, seq: int) -> None:
        ids = self._by_holder.get(holder)
        if ids is None:
            ids = self._by_holder[holder] = {}
        ids[id] = seq
        self._oldest.append((at, holder, id))
        self.forget(at)

    def forget(self, now: int) -> None:
        """Drop what is too old or too many, also when none is added, as `EventLog.forget` does."""
        while self._oldest and (
            len(self._oldest) > self._ids_max or self._oldest[0][0] < now - self._age_max_us
        ):
            self._forget(*self._oldest.popleft())

    def add_older(self, at: int, holder: str, id: str, seq: int) -> bool:
        """Add one before all others, reading the journal backwards; False if it is full."""
        if len(self._oldest) >= self._ids_max:
            return False
        ids = self._by_holder.setdefault(holder, {})
        # An id that was forgotten and used again stands for the later request.
        if id not in ids:
            ids[id] = seq
            self._oldest.appendleft((at, holder, id))
        return True

    def __len__(self) -> int:
        return len(self._oldest)

    def _forget(self, at: int, holder: str, id: str) -> None:
        ids = self._by_holder[holder]
        del ids[id]
        if not ids:
            del self._by_holder[holder]


def _part(items: Sequence[T], begin: int, most: int | None) -> Iterable[T]:
    """The items from `begin` on, at most `most`. Indexing a few is faster than walking past a
    million."""
    if most is None:
        return islice(items, begin, None)
    return [items[index] for index in range(begin, min(begin + most, len(items)))]
