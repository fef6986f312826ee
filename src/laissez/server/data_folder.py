"""Data folders: make a new one, recover the exchange from one, refill the indexes of the last day,
and rebuild the exchange as it was after an earlier entry."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path

import msgspec

from laissez.exchange.codec import Codec
from laissez.exchange.events import Document
from laissez.exchange.exchange import Exchange
from laissez.journal import Journal, JournalForeign, Reader, SnapshotUnusable, recover, snapshots
from laissez.journal.recovery import replay
from laissez.market import Market, SnapshotError, Topology
from laissez.server.clock import Clock
from laissez.server.event_log import EventLog, IdempotencyKeys
from laissez.server.settings import Limits
from laissez.units import HOUR_US


class Replaying:
    """The exchange as the journal knows it: bytes in, bytes out."""

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self.codec = Codec(exchange.names)

    def apply(self, at: int, request: bytes) -> tuple[bytes, tuple[Document, ...]]:
        applied = self.exchange.apply(at, self.codec.unpack_request(request))
        return self.codec.pack_outcome(at, applied), applied.documents

    def snapshot(self) -> bytes:
        return self.exchange.snapshot()

    @staticmethod
    def begin(genesis: bytes) -> Replaying:
        return Replaying(Exchange.begin(genesis))

    @staticmethod
    def restore(body: bytes) -> Replaying:
        try:
            return Replaying(Exchange.restore(body))
        except (msgspec.MsgspecError, SnapshotError) as error:
            raise SnapshotUnusable(
                f"the snapshot does not describe an exchange that this version reads: {error}"
            ) from error


class Opened(msgspec.Struct):
    journal: Journal
    exchange: Exchange
    clock: Clock
    event_log: EventLog
    idempotency_keys: IdempotencyKeys
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
    recovered = recover(journal, begin=Replaying.begin, restore=Replaying.restore)
    exchange, codec = recovered.machine.exchange, recovered.machine.codec
    history_us = round(limits.history_hours * HOUR_US)
    keys_us = round(limits.idempotency_hours * HOUR_US)
    opened = Opened(
        journal,
        exchange,
        start_clock(max(journal.last_at, exchange.market.now)),
        EventLog(limits.history_events_max, history_us),
        IdempotencyKeys(limits.idempotency_keys_max, keys_us),
        recovered.replayed,
        recovered.snapshot_seq,
        recovered.warnings,
    )
    now = opened.clock.now()
    _refill(opened, codec, now - history_us, now - keys_us)
    return opened


def _refill(opened: Opened, codec: Codec, history_from: int, keys_from: int) -> None:
    """Read the journal backwards until neither index takes more or all that is older is too
    old."""
    journal, event_log, keys = opened.journal, opened.event_log, opened.idempotency_keys
    room_for_events = room_for_keys = True
    with journal.reader() as reader:
        for group in reader.groups_backwards(journal.last + 1):
            for seq in range(group.last, group.first - 1, -1):
                entry = group.entries[seq - group.first]
                room_for_events = room_for_events and entry.at >= history_from
                if room_for_events:
                    tenants = codec.tenants_in(entry.outcome)
                    room_for_events = event_log.add_older(entry.at, seq, *tenants)
                room_for_keys = room_for_keys and entry.at >= keys_from
                if room_for_keys:
                    who, id = codec.who_and_id(entry.request)
                    room_for_keys = not id or keys.add_older(entry.at, who, id, seq)
            if not room_for_events and not room_for_keys:
                return


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
