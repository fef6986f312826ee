"""Digests: one line for every past day with any activity, with the ends of the journal and of the
log of refusals.

A copy of these lines elsewhere reveals any later change to the history, even one that recomputes
all checksums. A digest depends only on the journal and the log. One that does not match them is
never replaced, since it is the evidence of a change.
"""

from __future__ import annotations

import logging
import sqlite3
from typing import NamedTuple

from msgspec.structs import replace

from laissez.journal import Reader
from laissez.server.audit.log import (
    Broken,
    Digest,
    End,
    day_of,
    decode_line,
    encode_line,
    follow,
    rows,
)
from laissez.server.audit.refusals import Line
from laissez.server.data_folder import last_entry

log = logging.getLogger("laissez.audit")


class StoredDigest(NamedTuple):
    """A stored digest. It is credible if it follows from the one before it, or if it names the line
    that ends its day in the log."""

    n: int
    stored: bytes | None
    digest: Digest | None  # None: unreadable
    broken: str
    is_credible: bool


def read_digests(connection: sqlite3.Connection, beginning: str) -> list[StoredDigest]:
    """Check each digest against the one stored before it, so that a damaged one affects only the
    next."""
    found: list[StoredDigest] = []
    before: str | None = beginning
    for n, stored in rows(connection, "digests"):
        digest, broken = None, ""
        try:
            digest = decode_line(stored, Digest, None)
            decode_line(stored, Digest, before)
        except Broken as error:
            broken = str(error)
        follows = not broken and before is not None
        is_credible = digest is not None and (follows or _ends_its_day(connection, digest))
        found.append(StoredDigest(n, stored, digest, broken, is_credible))
        before = digest.chain if digest else None
    return found


def _ends_its_day(connection: sqlite3.Connection, digest: Digest) -> bool:
    """Whether the log holds the line that the digest names as the last of its day."""
    last = End(digest.refusals - 1, "", 0)
    for _, line, _ in follow(connection, last):
        return line is not None and (line.n, line.chain, line.at[:10]) == (
            digest.refusals,
            digest.refusals_chain,
            digest.date,
        )
    return False


def credible(connection: sqlite3.Connection, beginning: str) -> list[Digest]:
    return [
        one.digest for one in read_digests(connection, beginning) if one.digest and one.is_credible
    ]


def logged(connection: sqlite3.Connection, beginning: str) -> End:
    """The end of the log according to the last credible digest. A damaged digest is skipped: it
    must not block the log."""
    for digest in credible(connection, beginning)[-1:]:
        return End(digest.refusals, digest.refusals_chain, digest.at_us)
    return End(0, beginning, 0)


def add_missing(
    connection: sqlite3.Connection, beginning: str, reader: Reader, today: str
) -> list[Digest]:
    """Add the missing digests of days before today, and return them."""
    latest = _latest(connection, beginning, reader)
    made: list[Digest] = []
    tail = reader.tail().last
    # the last line of each day
    ends = {
        line.at[:10]: line
        for _, line, _ in follow(connection, End(latest.refusals, "", 0))
        if line is not None
    }
    while (date := _next_day(reader, latest, sorted(ends))) is not None and date < today:
        unchained = _digest(reader, latest, date, ends.get(date), tail)
        stored, chain = encode_line(unchained, latest.chain)
        connection.execute("INSERT INTO digests VALUES (NULL, ?)", (stored,))
        latest = replace(unchained, chain=chain)
        made.append(latest)
    return made


def _latest(connection: sqlite3.Connection, beginning: str, reader: Reader) -> Digest:
    """The digest that the next one follows. Unreadable ones at the end are deleted, to be made
    again."""
    found = read_digests(connection, beginning)
    for one in found:
        if one.broken:
            log.error(
                "a digest is not what was written, or one before it is gone; `laissez audit verify`"
                " tells more",
                extra={"line": one.n, "reason": one.broken, "found": repr(one.stored)},
            )
    while found and found[-1].digest is None:
        connection.execute("DELETE FROM digests WHERE n = ?", (found.pop().n,))
    if not found:
        return Digest("", 0, reader.start.hex(), 0, 0, beginning, 0, beginning)
    n, _, latest, _, is_credible = found[-1]
    assert latest is not None
    if not is_credible or not _fits(latest, reader):
        raise Broken(
            f"digests, line {n}: the journal or the log of refusals is not what it says; none is"
            " added"
        )
    return latest


def _fits(digest: Digest, reader: Reader) -> bool:
    """Whether the journal matches the digest."""
    last = last_entry(reader, digest.at_us - 1, reader.tail().last)
    chain = reader.chain_at(last)
    return last == digest.seq and chain is not None and chain.hex() == digest.journal


def _next_day(reader: Reader, latest: Digest, logged: list[str]) -> str | None:
    """The first day after the latest digest on which anything happened."""
    entry = reader.entry(latest.seq + 1)
    found = [date for date in logged if date > latest.date][:1]
    if entry is not None:
        day_after = day_of(latest.at_us) if latest.date else ""
        found.append(max(day_of(entry.at), day_after))
    return min(found, default=None)


def _digest(reader: Reader, before: Digest, date: str, line: Line | None, tail: int) -> Digest:
    n, refusals_chain = (
        (before.refusals, before.refusals_chain) if line is None else (line.n, line.chain)
    )
    ended = Digest(date, 0, "", 0, n, refusals_chain, n - before.refusals)
    seq = last_entry(reader, ended.at_us - 1, tail)
    chain = reader.chain_at(seq)
    assert chain is not None
    return replace(ended, seq=seq, journal=chain.hex(), entries=seq - before.seq)
