"""Looking into a journal: a summary, entries of a range, and the whole as JSON lines. Takes no
lock.

Requests and outcomes are opaque here; `describe` turns an entry into something to show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from laissez.journal import snapshots
from laissez.journal.format import Entry, archives
from laissez.journal.reader import Reader

Describe = Callable[[Entry], object]


class Described(msgspec.Struct, frozen=True):
    seq: int
    at: int
    entry: object
    documents: list[str]


def summary(folder: Path) -> dict[str, Any]:
    with Reader(folder) as reader:
        tail = reader.tail()
        return {
            "folder": str(folder),
            "identity": reader.identity.hex(),
            "created_us": int(reader.created),
            "entries": tail.last,
            "last_at": tail.last_at,
            "head": tail.head.hex(),
            "genesis_bytes": len(reader.genesis),
            "file_bytes": sum(path.stat().st_size for path in folder.glob("journal.db*")),
            "live_after": reader.base().seq,  # entries up to here are in archives
            "archives": [path.name for path in archives(folder)],
            "snapshots": [file.seq for file in snapshots.newest_first(folder)],
        }


def inspect(folder: Path, first: int, last: int | None, describe: Describe) -> Iterator[Described]:
    """The entries from `first` to `last`, both included; None: to the end."""
    with Reader.of(folder) as reader:
        for group in reader.groups(first, last):
            for seq, entry in enumerate(group.entries, group.first):
                if first <= seq and (last is None or seq <= last):
                    documents = [filed.name for filed in group.documents if filed.seq == seq]
                    yield Described(seq, entry.at, describe(entry), documents)


def export(
    folder: Path, stream: BinaryIO, first: int, last: int | None, describe: Describe
) -> None:
    """Write the entries as JSON, one to a line."""
    encoder = msgspec.json.Encoder(enc_hook=str)
    stream.writelines(
        encoder.encode(described) + b"\n" for described in inspect(folder, first, last, describe)
    )
