"""Data folders: make a new one, recover the exchange and the event log from one, and rebuild the
exchange as it was after an earlier entry."""

from __future__ import annotations

import gc
from bisect import bisect_left
from collections.abc import Callable
from pathlib import Path

import msgspec

from laissez.exchange.codec import Codec
from laissez.exchange.events import Document
from laissez.exchange.exchange import Exchange
from laissez.journal import (
    Entry,
    Journal,
    JournalForeign,
    Reader,
    SnapshotUnusable,
    recover,
    snapshots,
)
from laissez.journal.recovery import replay
from laissez.market import Market, Topology
from laissez.market.errors import SnapshotError
from laissez.server.clock import Clock
from laissez.server.event_log import EventLog
from laissez.server.settings import Limits
from laissez.units import HOUR_US


class Replaying:
    """The exchange as the journal knows it: bytes in, bytes out."""

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self.codec = Codec(exchange.names)
        self._seq = 0  # the entry that the exchange has reached
        self._event_log: EventLog | None = None

    def log_to(self, event_log: EventLog, seq: int) -> None:
        """Add entries that are replayed after `seq` to the event log."""
        self._seq, self._event_log = seq, event_log

    def apply(self, at: int, packed: bytes) -> tuple[bytes, tuple[Document, ...]]:
        request = self.codec.unpack_request(packed)
        applied = self.exchange.apply(at, request)
        self._seq += 1
        if self._event_log is not None:
            self._event_log.add(
                at, self._seq, request.who, request.id, applied.first, applied.tenants
            )
        return self.codec.pack_outcome(at, request, applied), applied.documents

    def snapshot(self) -> bytes:
        return self.exchange.snapshot()

    @staticmethod
    def begin(genesis: bytes) -> Replaying:
        return Replaying(Exchange.begin(genesis))

    @staticmethod
    def restore(body: bytes) -> Replaying:
        return Replaying(_restored(body))


def _restored(snapshot: bytes) -> Exchange:
    try:
        return Exchange.restore(snapshot)
    except (msgspec.MsgspecError, SnapshotError) as error:
        raise SnapshotUnusable(
            f"the snapshot does not describe an exchange that this version reads: {error}"
        ) from error


class Opened(msgspec.Struct):
    journal: Journal
    exchange: Exchange
    clock: Clock
    event_log: EventLog
    replayed: int
    snapshot_seq: int
    warnings: list[str]


def create(folder: Path, topology: Topology, open_orders_max: int) -> None:
    """A new data folder with an empty market over the topology. The limit on a tenant's open orders
    is fixed here, for good."""
    Journal.create(folder, Market(topology, open_orders_max).snapshot()).close()


def open_folder(
    folder: Path, limits: Limits, start_clock: Callable[[int], Clock] = Clock
) -> Opened:
    """Recover everything. Garbage collection is off meanwhile: it would walk over millions of new
    objects, all of them live."""
    journal = Journal.open(folder)
    collects = gc.isenabled()
    gc.disable()
    try:
        return _recovered(journal, limits, start_clock)
    except BaseException:
        journal.close()
        raise
    finally:
        if collects:
            gc.enable()


def _recovered(journal: Journal, limits: Limits, start_clock: Callable[[int], Clock]) -> Opened:
    event_log = EventLog(
        limits.history_events_max,
        limits.history_commands_max,
        round(limits.history_hours * HOUR_US),
    )

    def start(machine: Replaying, seq: int) -> None:
        _fill(event_log, journal, machine, seq)
        machine.log_to(event_log, seq)

    recovered = recover(journal, begin=Replaying.begin, restore=Replaying.restore, on_start=start)
    exchange = recovered.machine.exchange
    clock = start_clock(max(journal.last_at, exchange.market.now))
    event_log.forget(clock.now())
    return Opened(
        journal,
        exchange,
        clock,
        event_log,
        recovered.replayed,
        recovered.snapshot_seq,
        recovered.warnings,
    )


def _fill(event_log: EventLog, journal: Journal, machine: Replaying, snapshot: int) -> None:
    """Fill the event log with the entries up to the snapshot. Later ones are replayed."""
    codec = machine.codec
    with journal.reader() as reader:
        first = _first_kept(event_log, journal, machine, snapshot, reader)
        for group in reader.groups(first, snapshot):
            for seq, entry in enumerate(group.entries[: snapshot + 1 - group.first], group.first):
                event_log.add(entry.at, seq, *codec.indexed(entry.request, entry.outcome))


def _first_kept(
    event_log: EventLog, journal: Journal, machine: Replaying, snapshot: int, reader: Reader
) -> int:
    """The first entry that belongs into the event log, by bisection: times and the numbers of
    events never fall."""
    base = reader.base().seq

    def entry(seq: int) -> Entry:
        found = reader.entry(seq)
        assert found is not None
        return found

    def first_event(seq: int) -> int:
        return machine.codec.indexed(entry(seq).request, entry(seq).outcome)[2]

    entries = range(base + 1, snapshot + 1)
    oldest = journal.last_at - event_log.age_max_us
    young = bisect_left(entries, oldest, key=lambda seq: entry(seq).at)
    oldest_event = machine.exchange.events + 1 - event_log.events_max
    events = bisect_left(entries, oldest_event, key=first_event)
    commands = journal.last - event_log.commands_max - base
    return base + 1 + max(young, min(events, commands))


# -- the past, read beside a running server or offline


def exchange_after(
    reader: Reader, seq: int, on_progress: Callable[[int, int], None] | None = None
) -> Exchange:
    """The exchange after entry `seq`: from the newest usable snapshot before it, and the entries
    that follow."""
    machine, done = _nearest(reader, seq)
    for group in reader.groups(done + 1, seq):
        replay(machine, group, after=done, until=seq)
        if on_progress is not None:
            on_progress(min(group.last, seq), seq)
    return machine.exchange


def last_entry(reader: Reader, time: int, last: int) -> int:
    """The last entry not later than `time`, by bisection: times never fall. At least the oldest
    entry that the reader has."""
    low, high = reader.base().seq, last
    while low < high:
        middle = (low + high + 1) // 2
        entry = reader.entry(middle)
        assert entry is not None
        low, high = (middle, high) if entry.at <= time else (low, middle - 1)
    return low


def _nearest(reader: Reader, seq: int) -> tuple[Replaying, int]:
    for file in snapshots.newest_first(reader.folder):
        if file.seq > seq:
            continue
        try:
            snapshot = file.read()
            if reader.chain_at(file.seq) != snapshot.head:
                raise JournalForeign(
                    f"{file.path} belongs to another journal than the one in {reader.folder}. Move"
                    " it away."
                )
            return Replaying.restore(snapshot.body), file.seq
        except SnapshotUnusable:
            # a snapshot only saves time; a running server may have deleted it meanwhile
            continue
    return Replaying.begin(reader.genesis), 0
