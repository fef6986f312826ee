"""Looking into a journal: a summary, entries of a range, and the whole as JSON lines. Takes no
lock.

Requests and outcomes are opaque here. `describe` turns an entry into something to show; by default
they are shown as the MessagePack values they hold, or as hexadecimal digits if they hold none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from laissez.journal import snapshots
from laissez.journal.entries import Entry
from laissez.journal.reader import Reader
from laissez.journal.schema import archives

__all__ = ["Described", "Summary", "export", "inspect", "plain", "summary"]

Describe = Callable[[Entry], object]


class Summary(msgspec.Struct, frozen=True):
    folder: str
    identity: str
    created_us: int
    entries: int
    last_at: int
    head: str
    genesis_bytes: int
    file_bytes: int
    live_after: int  # entries up to here are in archives
    archives: list[str]
    snapshots: list[int]


class Described(msgspec.Struct, frozen=True):
    seq: int
    at: int
    entry: object
    documents: list[str]


def plain(entry: Entry) -> object:
    return {"request": _value(entry.request), "outcome": _value(entry.outcome)}


def summary(folder: Path) -> Summary:
    with Reader(folder) as reader:
        tail = reader.tail()
        return Summary(
            folder=str(folder),
            identity=reader.identity.hex(),
            created_us=int(reader.created),
            entries=tail.last,
            last_at=tail.last_at,
            head=tail.head.hex(),
            genesis_bytes=len(reader.genesis),
            file_bytes=sum(path.stat().st_size for path in folder.glob("journal.db*")),
            live_after=reader.base().seq,
            archives=[path.name for path in archives(folder)],
            snapshots=[file.seq for file in snapshots.newest_first(folder)],
        )


def inspect(
    folder: Path, first: int = 1, last: int | None = None, describe: Describe = plain
) -> Iterator[Described]:
    """The entries from `first` to `last`, both included."""
    with Reader.of(folder) as reader:
        for group in reader.groups(first, last):
            for seq, entry in enumerate(group.entries, group.first):
                if first <= seq and (last is None or seq <= last):
                    yield Described(
                        seq,
                        entry.at,
                        describe(entry),
                        [filed.name for filed in group.documents if filed.seq == seq],
                    )


def export(
    folder: Path,
    stream: BinaryIO,
    first: int = 1,
    last: int | None = None,
    describe: Describe = plain,
) -> int:
    """Write the entries as JSON, one to a line; returns how many."""
    encoder = msgspec.json.Encoder(enc_hook=str)
    count = 0
    for described in inspect(folder, first, last, describe):
        stream.write(encoder.encode(described) + b"\n")
        count += 1
    return count


def _value(data: bytes) -> object:
    try:
        return msgspec.msgpack.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return data.hex()
