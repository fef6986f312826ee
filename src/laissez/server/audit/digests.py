"""Digests: one line for every past day with any activity, with the ends of the journal and of the
log of refusals.

A copy of these lines elsewhere reveals any later change to the history, even one that recomputes
all checksums. A digest depends only on the journal and the log. A digest that does not match them
is never replaced: it is evidence of a change.
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
    check_chain,
    day_of,
    decode_line,
    encode_line,
    end_of_day,
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
    broken: str  # the reason if it is damaged, else empty
    is_credible: bool


def read_digests(connection: sqlite3.Connection, beginning: str) -> list[StoredDigest]:
    """Check each digest against the one stored before it, so that a damaged one affects only the
    next."""
    found: list[StoredDigest] = []
    before = beginning
    for n, stored in rows(connection, "digests"):
        digest, broken = None, ""
        try:
            digest = decode_line(stored, Digest)
            check_chain(stored, digest, before)
        except Broken as error:
            broken = str(error)
        follows = not broken and before != ""
        is_credible = digest is not None and (follows or _ends_its_day(connection, digest))
        found.append(StoredDigest(n, stored, digest, broken, is_credible))
        before = digest.chain if digest else ""
    return found


def _ends_its_day(connection: sqlite3.Connection, digest: Digest) -> bool:
    """Whether the log holds the line that the digest names as the last of its day."""
    found = next(follow(connection, End(digest.refusals - 1)), None)
    if found is None or found.line is None:
        return False
    named = (digest.refusals, digest.refusals_chain, digest.date)
    return (found.line.n, found.line.chain, found.line.at[:10]) == named


def credible(connection: sqlite3.Connection, beginning: str) -> list[Digest]:
    return [
        one.digest for one in read_digests(connection, beginning) if one.digest and one.is_credible
    ]


def logged(connection: sqlite3.Connection, beginning: str) -> End:
    """The end of the log according to the last credible digest. A damaged digest is skipped: it
    must not block the log."""
    for digest in credible(connection, beginning)[-1:]:
        return End(digest.refusals, digest.refusals_chain, digest.at_us)
    return End(0, beginning)


def add_missing(
    connection: sqlite3.Connection, beginning: str, reader: Reader, today: str
) -> list[Digest]:
    """Add the missing digests of days before today, and return them."""
    latest = _latest(connection, beginning, reader)
    new_lines = follow(connection, End(latest.refusals))
    # the last line of each day
    ends = {line.at[:10]: line for _, line, _ in new_lines if line is not None}
    tail = reader.tail().last
    made: list[Digest] = []
    while (date := _next_day(reader, latest, ends)) is not None and date < today:
        digest = _digest(reader, latest, date, ends.get(date), tail)
        stored, chain = encode_line(digest, latest.chain)
        connection.execute("INSERT INTO digests VALUES (NULL, ?)", (stored,))
        latest = replace(digest, chain=chain)
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
    in_journal = _end_of_journal(reader, latest.date, reader.tail().last)
    if not is_credible or in_journal != (latest.seq, latest.journal):
        raise Broken(
            f"digests, line {n}: the journal or the log of refusals is not what it says; none is"
            " added"
        )
    return latest


def _next_day(reader: Reader, latest: Digest, ends: dict[str, Line]) -> str | None:
    """The first day after the latest digest on which anything happened."""
    found = [date for date in ends if date > latest.date]
    entry = reader.entry(latest.seq + 1)
    if entry is not None:
        day_after = day_of(latest.at_us) if latest.date else ""
        found.append(max(day_of(entry.at), day_after))
    return min(found, default=None)


def _digest(reader: Reader, before: Digest, date: str, end: Line | None, tail: int) -> Digest:
    seq, journal = _end_of_journal(reader, date, tail)
    n, chain = (end.n, end.chain) if end else (before.refusals, before.refusals_chain)
    return Digest(date, seq, journal, seq - before.seq, n, chain, n - before.refusals)


def _end_of_journal(reader: Reader, date: str, tail: int) -> tuple[int, str]:
    """The last entry by the end of the day, and the chain of the group that holds it."""
    seq = last_entry(reader, end_of_day(date) - 1, tail)
    chain = reader.chain_at(seq)
    assert chain is not None
    return seq, chain.hex()
