"""The log of refusals and the digests of days: two tables of `beside.db` with chained lines.

A line is a JSON object. Its last member, `chain`, is the SHA-256 of the previous `chain` and the
text of the line before this member, so that sha256sum can recompute it. Lines are appended, and
removed from the front when they are old. A damaged line stays, for `laissez audit verify` to
report.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from laissez.journal import Reader
from laissez.journal.format import connect
from laissez.server.audit.refusals import DAY_US, Line
from laissez.server.beside import FILE, Beside, BesideFailed, reading
from laissez.units import TimeError, format_time, parse_time

# Codes of lines that the log writes about itself.
CUT = "cut"  # the database with the lines before this one was damaged and set aside
LOST = "lost"  # `times` refusals could not be written
REMOVED = "removed"  # old lines were removed; any other missing line was tampered with

MARK = b',"chain":"'
END = b'"}'
HASH_LENGTH = 64

log = logging.getLogger("laissez.audit")


LineNumber = Annotated[int, msgspec.Meta(ge=0, le=2**62)]  # within SQLite's range


class Digest(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The ends of the journal and of the log of refusals on one day (UTC)."""

    date: str
    seq: int  # the last entry of the journal, 0 if there was none
    journal: str  # the chain of the group that holds it
    entries: int  # on that day
    refusals: LineNumber  # the last line of the log
    refusals_chain: str
    lines: LineNumber  # on that day
    chain: str = ""

    @property
    def at_us(self) -> int:
        return end_of_day(self.date)


L = TypeVar("L", Line, Digest)


class Broken(Exception):
    """A line is damaged or does not follow from the one before it."""


def start(identity: bytes) -> str:
    """The chain before the first line. It depends on the journal, so that no log fits another
    journal."""
    return hashlib.sha256(b"laissez audit\n" + identity.hex().encode()).hexdigest()


def encode_line(line: L, before: str) -> tuple[bytes, str]:
    """The line as stored, and its chain."""
    text = msgspec.json.encode(replace(line, chain="")).removesuffix(b"}")
    chain = _link(before, text)
    return b"".join((text, MARK, chain.encode(), END)), chain


def decode_line(stored: bytes | None, kind: type[L]) -> L:
    """Decode a stored line, whose chain is not checked."""
    _, mark, rest = (stored or b"").rpartition(MARK)
    if not mark or len(rest) != HASH_LENGTH + len(END) or not rest.endswith(END):
        raise Broken("it does not end with its chain")
    try:
        line = msgspec.json.decode(stored or b"", type=kind)
        line.at_us  # noqa: B018 (raises TimeError)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Broken(f"it cannot be read: {error}") from None
    except TimeError as error:
        raise Broken(str(error)) from None
    return line


def check_chain(stored: bytes | None, line: Line | Digest, before: str) -> None:
    """Check that a line follows from the one with the chain `before`, unless that is unknown
    (empty)."""
    text, _, _ = (stored or b"").rpartition(MARK)
    if before and _link(before, text) != line.chain:
        raise Broken("its checksum differs: it, or a line before it, is not what was written")


def _link(before: str, text: bytes) -> str:
    return hashlib.sha256(before.encode() + text).hexdigest()


def day_of(us: int) -> str:
    return datetime.fromtimestamp(us // 1_000_000, UTC).date().isoformat()


def end_of_day(date: str) -> int:
    """The first microsecond after the day."""
    return parse_time(f"{date}T00:00:00Z") + DAY_US


def first_kept(now: int, keep_days: int) -> str:
    """The oldest day to keep; all days before it may be removed."""
    return day_of(max(0, now - keep_days * DAY_US))


# -- the tables


def rows(
    connection: sqlite3.Connection, table: str, after: int = 0
) -> Iterator[tuple[int, bytes | None]]:
    """Numbers and stored lines, oldest first."""
    query = f"SELECT n, CAST(line AS BLOB) FROM {table} WHERE n > ? ORDER BY n"  # noqa: S608 (ours)
    return connection.execute(query, (after,))


class End(NamedTuple):
    """The last line: its number, chain and time. Times of lines never fall, even if the wall clock
    is behind after a restart."""

    n: int
    chain: str = ""  # empty: unknown
    at: int = 0


class Found(NamedTuple):
    n: int
    line: Line | None  # None: it cannot be read
    broken: str  # the reason if it is damaged, else empty


def follow(connection: sqlite3.Connection, end: End) -> Iterator[Found]:
    """Every line after `end`, and whether it follows from the one before. A break is reported
    once."""
    for n, stored in rows(connection, "refusals", end.n):
        line, broken = None, ""
        try:
            line = decode_line(stored, Line)
            _check_order(n, line, end)
            check_chain(stored, line, end.chain)
        except Broken as error:
            broken = str(error)
        yield Found(n, line, broken)
        end = End(n, line.chain if line else "", line.at_us if line and not broken else end.at)


def _check_order(n: int, line: Line, end: End) -> None:
    if n > end.n + 1:
        raise Broken(f"lines {end.n + 1} to {n - 1} are missing before it")
    if n != line.n:
        raise Broken(f"line {n} was expected here, {line.n} found")
    if line.at_us < end.at:
        raise Broken("its time lies before that of the line before it")


def end_of_log(connection: sqlite3.Connection, end: End) -> End:
    """The end of the log, found from an earlier `end`. Logs damaged lines on the way."""
    for n, line, broken in follow(connection, end):
        if broken:
            log.error(
                "a line of the log of refusals is not what was written, or lines before it are"
                " gone; `laissez audit verify` tells more",
                extra={"line": n, "reason": broken},
            )
        at = line.at_us if line and not broken else end.at
        end = End(n, line.chain if line else end.chain, at)
    return end


def append(connection: sqlite3.Connection, end: End, lines: Iterable[Line]) -> End:
    """Append lines; returns the new end, valid once the transaction commits."""
    n, chain, at = end
    for line in lines:
        n, at = n + 1, max(at, line.at_us)
        stored, chain = encode_line(replace(line, n=n, at=format_time(at)), chain)
        connection.execute("INSERT INTO refusals VALUES (?, ?)", (n, stored))
    return End(n, chain, at)


def copy(data: Path, target: Path) -> None:
    """Copy the log and the digests into a backup, even while a server writes them, so that digests
    kept elsewhere match the backup. Sign-ins and webhook cursors are not copied. A damaged
    `beside.db` does not fail the backup of the journal."""

    def copy_rows(to: sqlite3.Connection) -> None:
        for table in ("refusals", "digests"):
            add = f"INSERT INTO {table} VALUES (?, ?)"  # noqa: S608 (ours)
            to.executemany(add, rows(source, table))

    with Reader.of(data) as reader:
        identity = reader.identity
    try:
        with (
            reading(data / FILE, identity) as source,
            closing(Beside(target / FILE, identity)) as beside,
        ):
            beside.transact(copy_rows)
        with closing(connect(target / FILE, "rw")) as copied:
            # without a write-ahead log it can be read from read-only media
            copied.execute("PRAGMA journal_mode = DELETE")
    except (BesideFailed, sqlite3.Error) as error:
        log.error("the backup has no log of refusals: %s", error)
