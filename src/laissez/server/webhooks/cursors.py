"""The cursors and dead letters of webhooks: two tables of `beside.db`.

Cursors are written after deliveries, at most once a second, so a crash may repeat a delivery but
never skips one. Dead letters are written in the same transaction as the cursor that passes them.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

import msgspec
from msgspec.structs import replace

from laissez.server.beside import Beside, Damaged
from laissez.wire.limits import DEAD_LETTERS_MAX
from laissez.wire.webhooks import DeadLetter

log = logging.getLogger("laissez.webhooks")


class Cursor(msgspec.Struct, forbid_unknown_fields=True):
    """The last event delivered to a webhook since its last start. `started_at` detects a webhook of
    another journal with the same id."""

    starts: int
    started_at: int
    delivered: int
    through: int = 0  # the last event of the delivery under way; 0: none
    letters: int = 0  # dead letters stored
    dropped: int = 0  # older ones, deleted


_decode_cursor = msgspec.json.Decoder(Cursor).decode
_decode_letter = msgspec.json.Decoder(DeadLetter).decode
_encode = msgspec.json.Encoder().encode


class Cursors:
    def __init__(self, beside: Beside) -> None:
        self._beside = beside

    def load(self, live: Collection[str]) -> dict[str, Cursor]:
        """The cursors of the live webhooks; deletes all others. Blocks."""
        return self._beside.transact(partial(self._load, live))

    async def save(self, cursors: Mapping[str, Cursor]) -> None:
        rows = [self._row(id, cursor) for id, cursor in cursors.items()]
        await self._beside.run(lambda connection: _save(connection, rows))

    async def letters(self, id: str) -> list[DeadLetter]:
        return await self._beside.run(lambda connection: list(self._letters(connection, id)))

    async def add_letters(self, id: str, cursor: Cursor, letters: Sequence[DeadLetter]) -> Cursor:
        """Store dead letters and the cursor that passes them. A letter replaces an older one of the
        same event; a range of lost events does not."""
        return await self._beside.run(lambda c: self._add_letters(c, id, cursor, letters))

    async def delete_letters(self, id: str, cursor: Cursor, after: int) -> Cursor:
        """Delete the letters of events after `after`, which are sent again."""
        return await self._beside.run(lambda c: self._delete_letters(c, id, cursor, after))

    async def forget(self, ids: Iterable[str]) -> None:
        await self._beside.run(lambda connection: _forget(connection, ids))

    # -- in the thread of the database

    def _load(self, live: Collection[str], connection: sqlite3.Connection) -> dict[str, Cursor]:
        found = dict(self._readable(connection))
        counts = "SELECT webhook, count(*) FROM dead_letters GROUP BY webhook"
        letters: dict[str, int] = dict(connection.execute(counts).fetchall())
        _forget(connection, (found.keys() | letters.keys()) - set(live))
        for id, cursor in found.items():
            if cursor.letters > letters.get(id, 0):
                log.warning("dead letters of a webhook are lost", extra={"webhook": id})
            cursor.letters = letters.get(id, 0)
        for id in letters.keys() - found.keys():
            found[id] = Cursor(0, 0, 0, letters=letters[id])  # of no start, so never resumed
        return {id: cursor for id, cursor in found.items() if id in live}

    def _readable(self, connection: sqlite3.Connection) -> Iterator[tuple[str, Cursor]]:
        for id, body in connection.execute("SELECT webhook, body FROM cursors"):
            try:
                yield id, _decode_cursor(self._beside.unseal(f"cursor {id}", body))
            except (Damaged, msgspec.MsgspecError, TypeError) as error:
                log.warning(
                    "the cursor of a webhook could not be read",
                    extra={"webhook": id, "reason": str(error)},
                )

    def _letters(self, connection: sqlite3.Connection, id: str) -> Iterator[DeadLetter]:
        rows = "SELECT n, body FROM dead_letters WHERE webhook = ? ORDER BY n"
        for n, body in connection.execute(rows, (id,)):
            try:
                yield _decode_letter(self._beside.unseal(f"letter {id} {n}", body))
            except (Damaged, msgspec.MsgspecError, TypeError) as error:
                log.warning(
                    "a dead letter could not be read, and is lost",
                    extra={"webhook": id, "event": n, "reason": str(error)},
                )

    def _add_letters(
        self, connection: sqlite3.Connection, id: str, cursor: Cursor, letters: Sequence[DeadLetter]
    ) -> Cursor:
        rows = [
            (id, one.n, one.last, self._beside.seal(f"letter {id} {one.n}", _encode(one)))
            for letter in letters
            for one in ([letter] if letter.told is not None else _beyond(connection, id, letter))
        ]
        connection.executemany("INSERT OR REPLACE INTO dead_letters VALUES (?, ?, ?, ?)", rows)
        over = max(0, _count(connection, id) - DEAD_LETTERS_MAX)
        connection.execute(
            "DELETE FROM dead_letters WHERE webhook = ?1 AND n IN"
            " (SELECT n FROM dead_letters WHERE webhook = ?1 ORDER BY n LIMIT ?2)",
            (id, over),
        )
        return self._counted(connection, id, replace(cursor, dropped=cursor.dropped + over))

    def _delete_letters(
        self, connection: sqlite3.Connection, id: str, cursor: Cursor, after: int
    ) -> Cursor:
        connection.execute("DELETE FROM dead_letters WHERE webhook = ? AND n > ?", (id, after))
        return self._counted(connection, id, cursor)

    def _counted(self, connection: sqlite3.Connection, id: str, cursor: Cursor) -> Cursor:
        counted = replace(cursor, letters=_count(connection, id))
        _save(connection, [self._row(id, counted)])
        return counted

    def _row(self, id: str, cursor: Cursor) -> tuple[str, bytes]:
        return id, self._beside.seal(f"cursor {id}", _encode(cursor))


def _save(connection: sqlite3.Connection, rows: Iterable[tuple[str, bytes]]) -> None:
    connection.executemany("INSERT OR REPLACE INTO cursors VALUES (?, ?)", rows)


def _forget(connection: sqlite3.Connection, ids: Iterable[str]) -> None:
    for id in ids:
        connection.execute("DELETE FROM cursors WHERE webhook = ?", (id,))
        connection.execute("DELETE FROM dead_letters WHERE webhook = ?", (id,))


def _count(connection: sqlite3.Connection, id: str) -> int:
    rows = connection.execute("SELECT count(*) FROM dead_letters WHERE webhook = ?", (id,))
    return int(rows.fetchone()[0])


def _beyond(connection: sqlite3.Connection, id: str, gone: DeadLetter) -> list[DeadLetter]:
    """The part of a range that has no letters yet."""
    (known,) = connection.execute(
        "SELECT coalesce(max(last), 0) FROM dead_letters WHERE webhook = ? AND n <= ?",
        (id, gone.last),
    ).fetchone()
    return [replace(gone, n=max(gone.n, known + 1))] if known < gone.last else []
