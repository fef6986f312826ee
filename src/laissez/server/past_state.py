"""The exchange as it was after some entry, without opening the journal for writing: beside a
running server, or offline."""

from __future__ import annotations

from collections.abc import Callable

from laissez.exchange.exchange import Exchange
from laissez.journal import JournalForeign, Reader, SnapshotUnusable, snapshots
from laissez.journal.recovery import replay
from laissez.server.data_folder import Replaying


def exchange_after(
    reader: Reader, seq: int, on_progress: Callable[[int, int], None] | None = None
) -> Exchange:
    """From the newest snapshot before it that can be used, and the entries that follow."""
    machine, done = _nearest(reader, seq)
    for group in reader.groups(done + 1, seq):
        replay(machine, group, after=done, until=seq)
        if on_progress is not None:
            on_progress(min(group.last, seq), seq)
    return machine.exchange


def last_entry(reader: Reader, time: int, last: int) -> int:
    """The last entry that is not later than `time`; times never fall, so it is found by halving.
    Not before the oldest entry that the reader has."""
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
            # it saves time and is never needed; a running server may have deleted it meanwhile
            continue
    return Replaying.begin(reader.genesis), 0
