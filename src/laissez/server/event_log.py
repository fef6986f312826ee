"""An index of the latest entries of the journal: by holder and event number, for streams that
resume, and by idempotency key, for repeated requests.

Only sequence numbers are kept; events and answers are read from the journal on demand. Both parts
are bounded by age and by count over all tenants, and forget the oldest first. The bounds are such
that a start can find the first entry of each part in the journal without reading the others.

The index answers cheaply, without the journal: which entry has an idempotency key, which entries
have a holder's events after a number, and whether these are still kept. It does not know what an
event is about. Any other search is a scan: it reads events from the journal, where each may be in
a group of its own that is read from the disk and unpacked, so a caller pays for every event read.
Within a tenant, numbers of orders and leases rise with event numbers, so bisection finds the first
event of an order or a lease in a few reads (`order_history`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from typing import Any, TypeAlias

from laissez.exchange.commands import OPERATOR
from laissez.wire.problems import Code, ProblemError

# Tuples with undeclared parts: mypyc would unpack and rebuild declared ones at every step.
Entry: TypeAlias = tuple[Any, ...]


class EventLog:
    """Tenants' events are found by their own numbers, the operator's by the numbers of all events.
    Both sequences are dense."""

    def __init__(self, events_max: int, commands_max: int, age_max_us: int) -> None:
        self.events_max = events_max
        self.commands_max = commands_max  # with an idempotency key or without
        self.age_max_us = age_max_us
        self.events = 0  # that are kept
        self._last = 0  # the sequence number of the newest entry
        # of entries with events: time, sequence number, the operator's number of the first event,
        # and the tenant of each event
        self._entries: deque[Entry] = deque()
        # for every event of a tenant, the sequence number of its entry
        self._by_tenant: dict[str, deque[int]] = {}
        # of entries with an idempotency key: time, sequence number, holder and key
        self._keys: deque[Entry] = deque()
        self._by_key: dict[str, dict[str, int]] = {}

    @property
    def keys(self) -> int:
        """The number of idempotency keys kept."""
        return len(self._keys)

    def add(
        self, at: int, seq: int, who: str, id: str, first: int, tenants: tuple[str | None, ...]
    ) -> None:
        """Add an entry: the holder `who` made a request under the idempotency key `id`. `first` is
        the operator's number of the first event."""
        self._last = seq
        if id:
            keys = self._by_key.get(who)
            if keys is None:
                keys = self._by_key[who] = {}
            keys[id] = seq
            self._keys.append((at, seq, who, id))
        if tenants:
            self.events += len(tenants)
            self._entries.append((at, seq, first, tenants))
        for tenant in tenants:
            if tenant is not None:
                kept = self._by_tenant.get(tenant)
                if kept is None:
                    kept = self._by_tenant[tenant] = deque()
                kept.append(seq)
        self.forget(at)

    def forget(self, now: int) -> None:
        """Drop entries beyond the bounds. Call it even if nothing was added: otherwise a tenant
        could tell from its own history whether others were active."""
        oldest, oldest_seq = now - self.age_max_us, self._last - self.commands_max
        entries, keys = self._entries, self._keys
        while entries and (self.events > self.events_max or entries[0][0] < oldest):
            self._forget_events(entries.popleft())
        while keys and (keys[0][1] <= oldest_seq or keys[0][0] < oldest):
            self._forget_key(keys.popleft())

    def _forget_events(self, entry: Entry) -> None:
        tenants = entry[3]
        self.events -= len(tenants)
        for tenant in tenants:
            if tenant is not None:
                kept = self._by_tenant[tenant]
                kept.popleft()
                if not kept:
                    del self._by_tenant[tenant]

    def _forget_key(self, entry: Entry) -> None:
        who, id = entry[2], entry[3]
        keys = self._by_key[who]
        del keys[id]
        if not keys:
            del self._by_key[who]

    # -- idempotency

    def find(self, holder: str, id: str) -> int | None:
        """The sequence number of the request made under this idempotency key."""
        keys = self._by_key.get(holder)
        return None if keys is None else keys.get(id)

    # -- history

    def entries_after(self, holder: str, n: int, latest: int, most: int | None = None) -> list[int]:
        """The entries with a holder's events after number `n`, at most the next `most`; `latest` is
        the number of its newest event."""
        self.check_kept(holder, n, latest)
        wanted = latest - n if most is None else min(most, latest - n)
        if holder != OPERATOR:
            kept = self._by_tenant.get(holder, ())
            begin = len(kept) - (latest - n)
            # Indexing a few is faster than walking past a million.
            return list(dict.fromkeys([kept[begin + place] for place in range(wanted)]))
        entries = self._entries
        begin = bisect_right(entries, n, key=_last_event)
        end = min(begin + wanted, len(entries))
        return [entries[place][1] for place in range(begin, end)]

    def check_kept(self, holder: str, n: int, latest: int) -> None:
        """Raise a problem unless all of a holder's events after number `n` are still kept."""
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
        kept = self.events if holder == OPERATOR else len(self._by_tenant.get(holder, ()))
        return latest - kept


def _last_event(entry: Entry) -> Any:
    return entry[2] + len(entry[3]) - 1
