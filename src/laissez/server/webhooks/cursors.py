"""The cursors and dead letters of webhooks: two tables of `beside.db`.

Cursors are written after deliveries, at most once a second, so a crash may repeat a delivery but
never skips one. Dead letters are written in the same transaction as the cursor that passes them.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from laissez.server.beside import Beside
from laissez.wire.limits import DEAD_LETTERS_MAX
from laissez.wire.webhooks import DeadLetter

log = logging.getLogger("laissez.webhooks")


class Cursor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The last event delivered to a webhook since its last start. `started_at` detects a webhook of
    another journal with the same id."""

    starts: int
    started_at: int
    delivered: int
    through: int = 0  # the last event of the delivery under way; 0: none
    letters: int = 0  # dead letters stored
    dropped: int = 0  # older ones, deleted


class Cursors:
    def __init__(self, beside: Beside) -> None:
        self._beside = beside

    def load(self, live: Collection[str]) -> dict[str, Cursor]:
        """The cursors of the live webhooks; deletes all others. Blocks."""

        def load(connection: sqlite3.Connection) -> dict[str, Cursor]:
            rows = connection.execute("SELECT webhook, body FROM cursors")
            found = {
                id: cursor
                for id, body in rows
                if (cursor := self._beside.decode(_name(id), body, Cursor))
            }
            counts = "SELECT webhook, count(*) FROM dead_letters GROUP BY webhook"
            letters: dict[str, int] = dict(connection.execute(counts).fetchall())
            _forget(connection, (found.keys() | letters.keys()) - set(live))
            for id, cursor in found.items():
                if cursor.letters > letters.get(id, 0):
                    log.warning("dead letters of a webhook are lost", extra={"webhook": id})
            # letters without a cursor get one of no start, which is never resumed
            return {
                id: replace(found.get(id, Cursor(0, 0, 0)), letters=letters.get(id, 0))
                for id in live
                if id in found or id in letters
            }

        return self._beside.transact(load)

    async def save(self, cursors: Mapping[str, Cursor]) -> None:
        await self._beside.run(lambda connection: self._save(connection, cursors))

    async def letters(self, id: str) -> list[DeadLetter]:
        def read(connection: sqlite3.Connection) -> list[DeadLetter]:
            query = "SELECT n, body FROM dead_letters WHERE webhook = ? ORDER BY n"
            rows = connection.execute(query, (id,))
            read = [self._beside.decode(_name(id, n), body, DeadLetter) for n, body in rows]
            return [letter for letter in read if letter is not None]

        return await self._beside.run(read)

    async def add_letters(self, id: str, cursor: Cursor, letters: Sequence[DeadLetter]) -> Cursor:
        """Store dead letters and the cursor that passes them. A letter replaces an older one of the
        same event. A range of lost events comes alone, and replaces none."""

        def add(connection: sqlite3.Connection) -> Cursor:
            is_range = letters[0].told is None
            new = _beyond(connection, id, letters[0]) if is_range else letters
            rows = [
                (id, one.n, one.last, self._beside.encode(_name(id, one.n), one)) for one in new
            ]
            connection.executemany("INSERT OR REPLACE INTO dead_letters VALUES (?, ?, ?, ?)", rows)
            over = max(0, _count(connection, id) - DEAD_LETTERS_MAX)
            connection.execute(
                "DELETE FROM dead_letters WHERE webhook = ?1 AND n IN"
                " (SELECT n FROM dead_letters WHERE webhook = ?1 ORDER BY n LIMIT ?2)",
                (id, over),
            )
            passed = replace(cursor, dropped=cursor.dropped + over)
            return self._save_counted(connection, id, passed)

        return await self._beside.run(add)

    async def delete_letters(self, id: str, cursor: Cursor, after: int) -> Cursor:
        """Delete the letters of events after `after`, which are sent again."""

        def delete(connection: sqlite3.Connection) -> Cursor:
            connection.execute("DELETE FROM dead_letters WHERE webhook = ? AND n > ?", (id, after))
            return self._save_counted(connection, id, cursor)

        return await self._beside.run(delete)

    async def forget(self, ids: Iterable[str]) -> None:
        await self._beside.run(lambda connection: _forget(connection, ids))

    def _save_counted(self, connection: sqlite3.Connection, id: str, cursor: Cursor) -> Cursor:
        counted = replace(cursor, letters=_count(connection, id))
        self._save(connection, {id: counted})
        return counted

    def _save(self, connection: sqlite3.Connection, cursors: Mapping[str, Cursor]) -> None:
        rows = [(id, self._beside.encode(_name(id), cursor)) for id, cursor in cursors.items()]
        connection.executemany("INSERT OR REPLACE INTO cursors VALUES (?, ?)", rows)


def _name(id: str, n: int | None = None) -> str:
    return f"cursor {id}" if n is None else f"letter {id} {n}"


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
