"""Digests: a line for every day that is over and on which anything was done or refused, with the
ends of the journal and of the log of refusals.

Keep these lines elsewhere, and any change to what came before them is found, even if somebody
recomputes all checksums here. A digest follows from the journal and the log alone. One that does
not fit them is never replaced: if they were changed, it is what tells.
"""

from __future__ import annotations

import logging
import sqlite3
from typing import NamedTuple

from msgspec.structs import replace

from laissez.journal import Reader
from laissez.server.audit.log import Broken, Digest, End, day_of, follow, read, rows, written
from laissez.server.audit.refusals import Line
from laissez.server.data_folder import last_entry

log = logging.getLogger("laissez.audit")


class Looked(NamedTuple):
    """A stored digest. It is credible if it follows from the one before it, or if the log ends its
    day with the same line."""

    n: int
    stored: bytes | None
    digest: Digest | None  # None: it cannot be read
    broken: str
    is_credible: bool


def look_at(connection: sqlite3.Connection, beginning: str) -> list[Looked]:
    """Each is compared with the one before it as stored, so a damaged one makes no more than the
    next suspect."""
    found: list[Looked] = []
    before: str | None = beginning
    for n, stored in rows(connection, "digests"):
        digest, broken = None, ""
        try:
            digest = read(stored, Digest, None)
            read(stored, Digest, before)
        except Broken as error:
            broken = str(error)
        follows = not broken and before is not None
        is_credible = digest is not None and (follows or _ends_its_day(connection, digest))
        found.append(Looked(n, stored, digest, broken, is_credible))
        before = digest.chain if digest else None
    return found


def _ends_its_day(connection: sqlite3.Connection, digest: Digest) -> bool:
    """Whether the log has the line that the digest says was the last of that day."""
    last = End(digest.refusals - 1, "", 0)
    for _, line, _ in follow(connection, last):
        return line is not None and (line.n, line.chain, line.at[:10]) == (
            digest.refusals,
            digest.refusals_chain,
            digest.date,
        )
    return False


def credible(connection: sqlite3.Connection, beginning: str) -> list[Digest]:
    return [one.digest for one in look_at(connection, beginning) if one.digest and one.is_credible]


def logged(connection: sqlite3.Connection, beginning: str) -> End:
    """The end of the log that the last credible digest tells of. A damaged digest is passed over:
    it must not keep lines from being written."""
    for digest in credible(connection, beginning)[-1:]:
        return End(digest.refusals, digest.refusals_chain, digest.at_us)
    return End(0, beginning, 0)


def bring_up(
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
        stored, chain = written(unchained, latest.chain)
        connection.execute("INSERT INTO digests VALUES (NULL, ?)", (stored,))
        latest = replace(unchained, chain=chain)
        made.append(latest)
    return made


def _latest(connection: sqlite3.Connection, beginning: str, reader: Reader) -> Digest:
    """The digest that the next one follows. Unreadable ones at the end are made again."""
    found = look_at(connection, beginning)
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
    """Whether the journal ended that day as it says."""
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
