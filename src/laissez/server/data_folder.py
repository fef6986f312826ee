"""Data folders: make a new one, recover the exchange and the event log from one, and rebuild the
exchange as it was after an earlier entry."""

from __future__ import annotations

import gc
from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

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

Indexed: TypeAlias = tuple[Any, ...]  # the time of an entry and what `Codec.indexed` returns


class Replaying:
    """The exchange as the journal knows it: bytes in, bytes out."""

    def __init__(self, exchange: Exchange, indexed: deque[Indexed] | None = None) -> None:
        """`indexed` collects what the indexes need of the entries that are replayed."""
        self.exchange = exchange
        self.codec = Codec(exchange.names)
        self._indexed = indexed

    def apply(self, at: int, packed: bytes) -> tuple[bytes, tuple[Document, ...]]:
        request = self.codec.unpack_request(packed)
        applied = self.exchange.apply(at, request)
        if self._indexed is not None:
            self._indexed.append((at, request.who, request.id, applied.first, applied.tenants))
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
    """A new data folder with an empty market over the topology. How many orders a tenant may have
    open is fixed here, for good."""
    Journal.create(folder, Market(topology, open_orders_max).snapshot()).close()


def open_folder(
    folder: Path, limits: Limits, start_clock: Callable[[int], Clock] = Clock
) -> Opened:
    """Recover everything. Garbage collection is off meanwhile: millions of objects are made, and
    all of them stay."""
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
    # What the event log needs of the entries that are replayed: they need not be read again.
    replayed: deque[Indexed] = deque(
        maxlen=max(limits.history_events_max, limits.history_commands_max)
    )
    recovered = recover(
        journal,
        begin=lambda genesis: Replaying(Exchange.begin(genesis), replayed),
        restore=lambda body: Replaying(_restored(body), replayed),
    )
    exchange = recovered.machine.exchange
    opened = Opened(
        journal,
        exchange,
        start_clock(max(journal.last_at, exchange.market.now)),
        EventLog(
            limits.history_events_max,
            limits.history_commands_max,
            round(limits.history_hours * HOUR_US),
        ),
        recovered.replayed,
        recovered.snapshot_seq,
        recovered.warnings,
    )
    _fill(opened, recovered.machine.codec, replayed)
    return opened


def _fill(opened: Opened, codec: Codec, replayed: deque[Indexed]) -> None:
    """Fill the event log with the entries that were replayed, and before them with those that must
    be read again."""
    event_log = opened.event_log
    replayed_from = opened.journal.last - len(replayed) + 1
    with opened.journal.reader() as reader:
        for group in reader.groups(_first_kept(opened, codec, reader), replayed_from - 1):
            for seq, entry in enumerate(group.entries[: replayed_from - group.first], group.first):
                event_log.add(entry.at, seq, *codec.indexed(entry.request, entry.outcome))
    for seq, (at, *indexed) in enumerate(replayed, replayed_from):
        event_log.add(at, seq, *indexed)
    event_log.forget(opened.clock.now())


def _first_kept(opened: Opened, codec: Codec, reader: Reader) -> int:
    """The first entry that belongs into the event log, by bisection: times and the numbers of
    events never fall."""
    event_log, now = opened.event_log, opened.clock.now()
    base, last = reader.base().seq, opened.journal.last

    def entry(seq: int) -> Entry:
        found = reader.entry(seq)
        assert found is not None
        return found

    def first_event(seq: int) -> int:
        return codec.indexed(entry(seq).request, entry(seq).outcome)[2]

    entries = range(base + 1, last + 1)
    young = bisect_left(entries, now - event_log.age_max_us, key=lambda seq: entry(seq).at)
    oldest_event = opened.exchange.events + 1 - event_log.events_max
    events = bisect_left(entries, oldest_event, key=first_event)
    commands = last - event_log.commands_max - base
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
    """The last entry that is not later than `time`, by bisection: times never fall. Not before the
    oldest entry that the reader has."""
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
