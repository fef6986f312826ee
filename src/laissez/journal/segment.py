"""Read one SQLite file of a journal, the live one or an archive. Each group is checked against the
group before it, so that altered data is never returned.

A segment has its own read-only connection and takes no lock. It may be used beside a running
server, by one thread at a time. It reads in small pieces and keeps no transaction open between
them, since an open transaction would keep SQLite from truncating the write-ahead log. So a running
server may cut groups off the live file between two reads. A reader that meets the cut stops there,
as if the segment had always begun at its new base.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from laissez.journal.errors import (
    JournalDamaged,
    JournalError,
    JournalForeign,
    JournalFormat,
    JournalMissing,
    disk_errors_as,
)
from laissez.journal.format import (
    APPLICATION_ID,
    DATABASE,
    FORMAT,
    LINK_BYTES,
    SCHEMA,
    SEQ_MAX,
    Filed,
    Group,
    Position,
    Tail,
    connect,
    group_link,
    start_link,
)

HEADER_BYTES = 100  # of every SQLite file
_GROUPS_PER_READ = 16
_FORWARDS = (
    "SELECT first, count, entries, chain FROM groups WHERE first > ? AND first <= ?"
    " ORDER BY first LIMIT ?"
)
_BACKWARDS = (
    "SELECT first, count, entries, chain FROM groups WHERE first <= ? ORDER BY first DESC LIMIT ?"
)

# Errors of the environment, such as busy, permissions or memory. They say nothing about the data.
_ENVIRONMENT_ERRORS = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_READONLY,
    }
)


class Segment:
    def __init__(self, path: Path) -> None:
        self._path = path
        # the prefix of messages about groups; the live file needs none
        self._name = "" if path.name == DATABASE else f"{path.parent.name}/{path.name}: "
        if not path.is_file():
            raise JournalMissing(
                f"there is no journal in {path.parent}: {path.name} was expected there. Name"
                " another folder, or make a new journal."
            )
        size = path.stat().st_size
        # SQLite would delete the write-ahead log beside an empty file, as one of another database
        if size < HEADER_BYTES:
            raise JournalForeign(
                f"{path} is not a journal: it has {size} bytes. Put back a backup, keeping this"
                " folder."
            )
        with self._errors_named():
            self._connection = connect(path, "ro")
        try:
            self._check_kind()
            self.genesis, self.identity, self.created, self.start = self._header()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._connection.close()

    # Entries

    def base(self) -> Position:
        """Where this file begins. Read each time: a running server moves the base."""
        [(packed,)] = self._query("SELECT (SELECT value FROM meta WHERE key = 'base')")
        return self._base(packed)

    def _base(self, packed: object) -> Position:
        if type(packed) is not bytes or len(packed) != 8 + LINK_BYTES:
            raise self._bad_header("where its entries begin is missing")
        base = Position.unpacked(packed)
        if base.seq > SEQ_MAX or (base.seq == 0 and base.link != self.start):
            raise self._bad_header("where its entries begin is not what was written")
        return base

    def tail(self) -> Tail:
        newest = self.last_group()
        if newest is not None:
            return Tail(newest.last, newest.chain, newest.entries[-1].at)
        base = self.base()
        if base.seq:  # a cut always leaves a group
            raise JournalDamaged(
                str(self._path),
                f"it begins after entry {base.seq} and holds none. Put back a backup.",
            )
        return Tail(0, self.start, 0)

    def chain_at(self, seq: int) -> bytes | None:
        """The link of the group that holds the entry. None if there is no such entry here."""
        base = self.base()
        if seq == base.seq:
            return base.link
        group = self.holding(seq)
        return group.chain if group else None

    def groups(self, first: int, last: int) -> Iterator[Group]:
        """The groups in order, from the one that holds `first` to the one that holds `last`; none
        if `first` is not after the base."""
        newest = self._newest(first, 2)
        before = newest[:1] if newest and newest[0].last < first else newest[1:]
        if before:
            seq, link = before[0].last, before[0].chain
        else:
            seq, link = self.base()
            if seq >= first:
                return
        while seq < last:
            groups = self._read(_FORWARDS, (seq, last, _GROUPS_PER_READ))
            for group in groups:
                if group.first != seq + 1 and self.base().seq > seq:
                    return  # cut off meanwhile
                self._check(group, seq, link)
                yield group
                seq, link = group.last, group.chain
            if len(groups) < _GROUPS_PER_READ:
                return

    def last_group(self, before: int = SEQ_MAX) -> Group | None:
        """The last group that begins before the entry, checked."""
        group, *older = [*self._newest(before - 1, 2), None]
        if group is None:
            return None
        if older[0] is not None:
            self._check(group, older[0].last, older[0].chain)
            return group
        base = self.base()
        if base.seq >= group.first:  # cut off meanwhile
            return None
        self._check(group, *base)
        return group

    def holding(self, seq: int) -> Group | None:
        """The group that holds the entry, checked."""
        group = self.last_group(seq + 1)
        return group if group and group.first <= seq <= group.last else None

    def document_heads(self, name: str, size: int) -> list[tuple[int, bytes]]:
        """As `Reader.document_heads`, for this file."""
        return self._query(
            "SELECT seq, substr(body, 1, ?) FROM documents WHERE name = ? AND seq > ? ORDER BY seq",
            (size, name, self.base().seq),
        )

    # The file

    def check_file(self) -> None:
        """Let SQLite check the structure of the file, including free pages: the next write would
        use them."""
        found = self._query("PRAGMA quick_check(1)")
        if found != [("ok",)]:
            raise JournalDamaged(
                str(self._path),
                f"SQLite finds its structure damaged ({found[0][0]}). Put back a backup, keeping"
                " this file.",
            )
        # one statement, so that no cut happens in between
        [(first, packed)] = self._query(
            "SELECT min(first), (SELECT value FROM meta WHERE key = 'base') FROM groups"
        )
        base = self._base(packed)
        if first is not None and 0 < first <= base.seq:
            raise JournalDamaged(
                str(self._path),
                f"its header says that it begins after entry {base.seq}, and it holds entry"
                f" {first}. Put back a backup.",
            )
        strays = self._query(
            "SELECT name, seq FROM documents WHERE seq < 1 OR seq > coalesce((SELECT first + count"
            " - 1 FROM groups ORDER BY first DESC LIMIT 1), 0) LIMIT 1"
        )
        for name, seq in strays:
            raise JournalDamaged(
                f"table documents of {self._path}",
                f"document {name!r} belongs to entry {seq}, which the journal does not hold",
            )

    def copy_to(self, path: Path) -> None:
        """Copy the file as it is now, with SQLite's backup API. The copy has no write-ahead log, so
        it can be read from read-only media."""
        # SQLite does not say which of the two files failed
        with (
            disk_errors_as(
                f"{self._path} could not be copied to {path}",
                "Is there room, and is the journal sound? Verify it.",
            ),
            closing(sqlite3.connect(path, isolation_level=None)) as target,
        ):
            self._connection.backup(target)
            target.execute("PRAGMA journal_mode = DELETE")

    def _check_kind(self) -> None:
        try:
            [(application,)] = self._query("PRAGMA application_id")
            [(found,)] = self._query("PRAGMA user_version")
        except JournalDamaged as error:
            raise JournalForeign(
                f"{self._path} is not a journal, or its beginning is damaged ({error.__cause__})."
                " Put back a backup."
            ) from error
        if application != APPLICATION_ID:
            raise JournalForeign(
                f"{self._path} is not a journal, or its header is damaged: application id"
                f" {APPLICATION_ID} was expected, {application} found. Name the journal's folder,"
                " or put back a backup."
            )
        if found != FORMAT:
            age = "newer" if found > FORMAT else "older"
            raise JournalFormat(
                f"{self._path} is in format {found}, {age} than format {FORMAT}, which this version"
                " reads. Use the version that wrote it."
            )

    def _header(self) -> tuple[bytes, bytes, bytes, bytes]:
        schema = dict(self._query("SELECT name, sql FROM sqlite_schema"))
        if schema != SCHEMA:
            wrong = sorted(map(str, schema.items() ^ SCHEMA.items()))
            raise self._bad_header(f"the tables are not those of format {FORMAT}: {wrong[0]}")
        meta: Any = dict(self._query("SELECT key, value FROM meta"))
        genesis, identity, created = (meta.get(key) for key in ("genesis", "identity", "created"))
        if not all(type(part) is bytes for part in (genesis, identity, created)):
            raise self._bad_header("genesis, identity or creation time is missing")
        start = start_link(genesis, identity, created)
        if meta.get("start") != start:
            raise self._bad_header(
                "genesis, identity or creation time is not what was written: their checksum differs"
            )
        return genesis, identity, created, start

    def _bad_header(self, what: str) -> JournalDamaged:
        return JournalDamaged(f"header of {self._path}", f"{what}. Put back a backup.")

    # Rows

    def _newest(self, seq: int, count: int) -> list[Group]:
        """The newest groups that begin at the entry or before it, newest first, unchecked."""
        return self._read(_BACKWARDS, (min(seq, SEQ_MAX), count))

    def _read(self, sql: str, values: tuple[int, ...]) -> list[Group]:
        rows = self._query(sql, values)
        if not rows:
            return []
        for row in rows:
            self._check_types(*row)
        filed = self._filed(min(row[0] for row in rows), max(row[0] + row[1] for row in rows))
        return [
            Group(
                first,
                count,
                packed,
                link,
                tuple(d for d in filed if first <= d.seq < first + count),
            )
            for first, count, packed, link in rows
        ]

    def _check_types(self, first: int, count: object, packed: object, link: object) -> None:
        sound = (
            type(count) is int
            and 0 < count <= SEQ_MAX - abs(first)
            and type(packed) is bytes
            and type(link) is bytes
        )
        if not sound:
            raise JournalDamaged(
                f"the group at entry {first} in {self._path}",
                "its row is damaged: a count, entries and a link were expected.",
            )

    def _filed(self, begin: int, end: int) -> list[Filed]:
        rows = self._query(
            "SELECT seq, name, body FROM documents INDEXED BY documents_by_seq WHERE seq >= ? AND"
            " seq < ? ORDER BY seq, name",
            (begin, end),
        )
        for seq, name, body in rows:
            if not (type(seq) is int and type(name) is str and type(body) is bytes):
                raise JournalDamaged(
                    f"table documents of {self._path}",
                    f"a row near entry {begin} is damaged: {name!r}, {seq!r}",
                )
        return [Filed(*row) for row in rows]

    def _check(self, group: Group, last: int, link: bytes) -> None:
        """Check that the group follows the one that ended at `last` with this link."""
        if group.first != last + 1:
            raise JournalDamaged(
                self._name + group.where,
                f"the group before ends at entry {last}, so entry {last + 1} was expected next."
                " Put back a backup.",
            )
        if group.chain != group_link(link, group.first, group.count, group.packed, group.documents):
            raise JournalDamaged(
                self._name + group.where,
                "the checksum differs: an entry, a document or the group's place is not what was"
                " written. Put back a backup.",
            )

    def _query(self, sql: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        with self._errors_named():
            return self._connection.execute(sql, values).fetchall()

    @contextmanager
    def _errors_named(self) -> Iterator[None]:
        try:
            yield
        # SQLite's message may quote damaged text that cannot be decoded
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _ENVIRONMENT_ERRORS:
                raise JournalError(
                    f"{self._path} could not be read: {error}. Its folder must be readable and"
                    " writable."
                ) from error
            raise JournalDamaged(
                str(self._path),
                f"SQLite cannot read it ({error}). Put back a backup, keeping this file.",
            ) from error
