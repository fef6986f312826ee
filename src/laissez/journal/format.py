"""The format of a journal: entries stored in groups, documents filed with them, and a hash chain.

Entries are opaque. An entry's sequence number is its position, counted from 1, and is not stored.

Each group's link is the SHA-256 of the link before it and of everything stored with the group. So
one link stands for the whole history before it: an entry changed, moved, doubled or missing breaks
the chain at the first group concerned. The first link stands for how the journal began.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Self
from urllib.parse import quote

import msgspec

from laissez.journal.errors import JournalDamaged

DATABASE = "journal.db"
ARCHIVES = "archive"  # the folder of the archives, each named by its first entry
APPLICATION_ID = 0x4C5A4A4C  # "LZJL", in the header of the SQLite file
FORMAT = 1  # `user_version` in the header: raised when the tables below change
MAGIC = b"laissez journal\n"
LINK_BYTES = 32
SEQ_MAX = 2**63 - 1

# One row per group, not per entry: each SQLite step releases the interpreter lock, and a busy event
# loop is slow to give it back. The link comes before the entries, so that SQLite can read it
# without reading them.
SCHEMA = {
    "meta": "CREATE TABLE meta(key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
    "groups": (
        "CREATE TABLE groups(first INTEGER PRIMARY KEY, count INTEGER NOT NULL, chain BLOB NOT"
        " NULL, entries BLOB NOT NULL)"
    ),
    "documents": (
        "CREATE TABLE documents(name TEXT NOT NULL, seq INTEGER NOT NULL, body BLOB NOT NULL,"
        " PRIMARY KEY(name, seq)) WITHOUT ROWID"
    ),
    "documents_by_seq": "CREATE INDEX documents_by_seq ON documents(seq)",
}
INSERT_GROUP = "INSERT INTO groups(first, count, chain, entries) VALUES (?, ?, ?, ?)"
INSERT_DOCUMENT = "INSERT INTO documents(seq, name, body) VALUES (?, ?, ?)"

# hashlib releases the interpreter lock for 2,048 bytes or more, and another thread may then hold it
# for a whole switch interval (5 ms by default). Smaller pieces keep the lock: hashing a group of
# 500 entries takes about 0.1 ms.
_PIECE_BYTES = 2047


class Entry(msgspec.Struct, array_like=True, frozen=True, gc=False):
    at: int  # microseconds; never falls from one entry to the next
    request: bytes
    outcome: bytes


pack = msgspec.msgpack.Encoder().encode
unpack = msgspec.msgpack.Decoder(list[Entry]).decode


class Filed(NamedTuple):
    """A document and the entry it was filed with."""

    seq: int
    name: str
    body: bytes


class Group(msgspec.Struct, frozen=True, dict=True):
    """The entries of one commit, as stored. They are decoded on first use: checking the chain does
    not need them."""

    first: int
    count: int
    packed: bytes
    chain: bytes
    documents: tuple[Filed, ...] = ()  # by seq, then by name

    @property
    def last(self) -> int:
        return self.first + self.count - 1

    @cached_property
    def entries(self) -> list[Entry]:
        try:
            entries = unpack(self.packed)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise JournalDamaged(self.where, f"its entries cannot be decoded ({error})") from error
        if len(entries) != self.count:
            raise JournalDamaged(
                self.where, f"it should hold {self.count} entries and holds {len(entries)}"
            )
        return entries

    @property
    def where(self) -> str:
        return f"entries {self.first} to {self.last}"


class Position(NamedTuple):
    """An entry and the link of the chain there. A file's base is the entry before its first."""

    seq: int
    link: bytes

    def packed(self) -> bytes:
        return _number(self.seq) + self.link

    @classmethod
    def unpacked(cls, packed: bytes) -> Self:
        return cls(int.from_bytes(packed[:8], "big"), packed[8:])


class Tail(NamedTuple):
    """Where the journal ends."""

    last: int
    head: bytes
    last_at: int


def start_link(genesis: bytes, identity: bytes, created: bytes) -> bytes:
    """The link before the first group."""
    parts = [MAGIC, _number(FORMAT)]
    for part in (genesis, identity, created):
        parts += [_number(len(part)), part]
    return hashlib.sha256(b"".join(parts)).digest()


def group_link(
    before: bytes, first: int, count: int, packed: bytes, documents: Iterable[Filed] = ()
) -> bytes:
    """The link of a group. Its documents are sorted by sequence number, then by name."""
    state = hashlib.sha256(before + _number(first) + _number(count) + _number(len(packed)))
    view = memoryview(packed)
    for begin in range(0, len(packed), _PIECE_BYTES):
        state.update(view[begin : begin + _PIECE_BYTES])
    for seq, name, body in documents:
        encoded = name.encode()
        state.update(_number(seq) + _number(len(encoded)) + encoded + _number(len(body)))
        state.update(body)
    return state.digest()


def _number(value: int) -> bytes:
    return value.to_bytes(8, "big")


def archives(folder: Path) -> list[Path]:
    """The archives in a data folder, the oldest first."""
    found = (folder / ARCHIVES).glob("*.journal")
    return sorted((path for path in found if path.stem.isdecimal()), key=lambda p: int(p.stem))


def make_tables(
    connection: sqlite3.Connection, genesis: bytes, identity: bytes, created: bytes, base: Position
) -> None:
    """Lay out a new file, in one transaction."""
    meta = {
        "genesis": genesis,
        "identity": identity,
        "created": created,
        "start": start_link(genesis, identity, created),
        "base": base.packed(),
    }
    for statement in (
        "BEGIN",
        f"PRAGMA application_id = {APPLICATION_ID}",
        f"PRAGMA user_version = {FORMAT}",
        *SCHEMA.values(),
    ):
        connection.execute(statement)
    connection.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
    connection.execute("COMMIT")


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """Connect in mode `ro` or `rw`; neither creates a missing file. Outside BEGIN, each statement
    commits by itself."""
    connection = sqlite3.connect(
        f"file:{quote(str(path.absolute()))}?mode={mode}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
    except BaseException:
        connection.close()
        raise
    return connection
