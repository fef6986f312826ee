"""The files beside the journal, written by the real code while a sample's market works: the log of
refusals with its digests, cursors and dead letters of webhooks, and the key that signs."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from pathlib import Path

import msgspec
from msgspec.structs import replace

from laissez.server.audit import digests, log
from laissez.server.audit.refusals import Line
from laissez.server.beside import FILE, reading
from laissez.server.beside import Beside as Database
from laissez.server.signins import SignIn
from laissez.server.webhooks import signing
from laissez.server.webhooks.cursors import Cursor, Cursors
from laissez.units import format_time
from laissez.wire.ids import webhook_name
from laissez.wire.webhooks import DeadLetter
from laissez_check.damage.market import AtWork

CODES = ("forbidden", "unauthenticated", "rate_limited", "bad_request")


class Kept(msgspec.Struct):
    """Everything as it was last written."""

    lines: list[bytes] = []  # of the log of refusals
    digests: list[bytes] = []
    cursors: dict[str, Cursor] = {}
    letters: dict[str, list[DeadLetter]] = {}
    key: bytes = b""


class Beside:
    def __init__(self, folder: Path, identity: bytes, draw: random.Random) -> None:
        self._folder = folder
        self._identity = identity
        self._draw = draw
        self._database: Database | None = None
        self.kept = Kept(key=draw.randbytes(signing.KEY_BYTES))
        signing.write(folder / signing.FILE, self.kept.key, identity)

    def go_on(self, market: AtWork) -> None:
        """After a group of commands."""
        if self._database is None:
            self._database = Database(self._folder / FILE, self._identity)
            self._sign_in(self._database, market.journal.last_at)
        self._refuse(self._database, market)
        asyncio.run(self._deliver(Cursors(self._database), market))

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def _refuse(self, database: Database, market: AtWork) -> None:
        at, beginning = market.journal.last_at, log.start(self._identity)
        lines = [
            Line(0, format_time(at + n), code, 403, "listTenants", "ann", "key_1")
            for n, code in enumerate(self._draw.choices(CODES, k=self._draw.randrange(1, 4)))
        ]
        database.transact(
            lambda c: log.append(c, log.end_of_log(c, digests.logged(c, beginning)), lines)
        )
        with market.journal.reader() as reader:
            database.transact(lambda c: digests.add_missing(c, beginning, reader, log.day_of(at)))
        self.kept.lines = database.transact(lambda c: stored(c, "refusals"))
        self.kept.digests = database.transact(lambda c: stored(c, "digests"))

    async def _deliver(self, cursors: Cursors, market: AtWork) -> None:
        for record in market.exchange.webhooks.live.values():
            id = webhook_name(record)
            before = self.kept.cursors.get(
                id, Cursor(record.starts, record.started_at, record.after)
            )
            latest = market.exchange.accounts[record.holder].events
            delivered = self._draw.randint(before.delivered, latest)
            cursor = replace(before, delivered=delivered)
            if delivered > before.delivered and self._draw.random() < 0.5:
                at = format_time(market.journal.last_at)
                letter = DeadLetter(delivered, delivered, None, "not delivered in time", at)
                cursor = await cursors.add_letters(id, cursor, [letter])
                self.kept.letters[id] = await cursors.letters(id)
            self.kept.cursors[id] = cursor
        await cursors.save(self.kept.cursors)

    def _sign_in(self, database: Database, until: int) -> None:
        signin = SignIn(bytes(32), "key_1", until)
        body = database.encode(f"signin {signin.digest.hex()}", signin)
        row = (signin.digest, body)
        insert = "INSERT OR REPLACE INTO signins VALUES (?, ?)"
        database.transact(lambda connection: connection.execute(insert, row))


def stored(connection: sqlite3.Connection, table: str) -> list[bytes]:
    return [line or b"" for _, line in log.rows(connection, table)]


def record_in(folder: Path, identity: bytes) -> tuple[list[bytes], list[bytes]]:
    """The lines of the log of refusals, and the digests."""
    with reading(folder / FILE, identity) as connection:
        return stored(connection, "refusals"), stored(connection, "digests")
