"""Bugs put into the journal and the files beside it, to see that `laissez check damage` finds
them."""

from __future__ import annotations

import sqlite3
from contextlib import AbstractContextManager

from laissez.journal import Group, reader, recovery, snapshots
from laissez.journal.segment import Segment
from laissez.journal.snapshots import Snapshot, SnapshotFile
from laissez.server import beside
from laissez.server.audit import digests, log, writer
from laissez.server.webhooks import signing
from laissez_check.patches import Patch, bugs_among, replaced


def mark_not_checked() -> list[Patch]:
    return [(reader.Reader, "check_mark", lambda self: 0)]


def chain_not_checked() -> list[Patch]:
    return [(Segment, "_check", lambda self, group, last, link: None)]


def documents_not_compared() -> list[Patch]:
    """Neither with the chain nor with what a replay files."""
    check = Segment._check

    def lenient(self: Segment, group: Group, last: int, link: bytes) -> None:
        if not group.documents:
            check(self, group, last, link)

    return [
        (Segment, "_check", lenient),
        (recovery, "_compare", lambda seq, at, stored, made: None),
    ]


def snapshot_not_checked() -> list[Patch]:
    def trusting(file: SnapshotFile, data: bytes) -> Snapshot:
        rest = data[snapshots._OPENING.size :]
        return Snapshot(file.seq, rest[8:40], rest[40:])

    return [(snapshots, "_decoded", trusting)]


def snapshot_of_any_journal() -> list[Patch]:
    return [(recovery, "_check_origin", lambda name, snapshot, reader: None)]


def seal_not_checked() -> list[Patch]:
    """Cursors, dead letters and the key are believed as they are found."""

    def trusting(identity: bytes, name: str, stored: bytes) -> bytes:
        return bytes(stored[beside.SUM_BYTES :])

    return [(beside, "unseal", trusting), (signing, "unseal", trusting)]


def digest_not_checked() -> list[Patch]:
    """Every digest that can be read is believed."""
    return [(digests, "check_chain", lambda stored, line, before: None)]


def any_line_goes_on() -> list[Patch]:
    """The log of refusals goes on after any last line."""

    def trusting(connection: sqlite3.Connection, end: log.End) -> log.End:
        for n, line, _ in log.follow(connection, end):
            end = log.End(n, line.chain, line.at_us) if line else end
        return end

    return [(writer, "end_of_log", trusting)]


BUGS = bugs_among(globals())


def put_in(bug: str) -> AbstractContextManager[None]:
    """The code with a bug in it, for a while; without one if there is no name."""
    return replaced(BUGS[bug]() if bug else [])
