"""The journal's entries and documents as plain data, read by SQLite and MessagePack alone, as
`docs/journal.md` says that they are stored.

It reads in small pieces and holds no transaction open between them, so it may run beside a server.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

GROUPS_PER_READ = 64
CLOSING = b"close_books"  # in the request of every entry that closes the books, and in few others

_decode = msgspec.msgpack.decode


class Row(NamedTuple):
    """One entry: its outcome is the number of its first event, the events, and the refusal if there
    is one."""

    seq: int
    at: int
    request: bytes
    outcome: list[Any]
    documents: list[tuple[str, bytes]]


class Rows:
    def __init__(self, folder: Path) -> None:
        path = (folder / "journal.db").absolute()
        self._connection = sqlite3.connect(
            f"file:{quote(str(path))}?mode=ro", uri=True, isolation_level=None
        )

    def close(self) -> None:
        self._connection.close()

    def closings(self, last: int) -> list[int]:
        """Until when the books were to be closed by anybody, in the order of the times: the charges
        of those instants will be asked for."""
        found = set()
        for _, _, request, _ in self._entries(last):
            if CLOSING in request:
                command = _decode(request)[4]
                if command.get("type") == "close_books" and isinstance(command.get("before"), int):
                    found.add(command["before"])
        return sorted(found)

    def rows(self, last: int) -> Iterator[Row]:
        filed = {
            seq
            for (seq,) in self._connection.execute(
                "SELECT DISTINCT seq FROM documents WHERE seq <= ?", (last,)
            )
        }
        for seq, at, request, outcome in self._entries(last):
            yield Row(
                seq, at, request, _decode(outcome), self._documents(seq) if seq in filed else []
            )

    def _documents(self, seq: int) -> list[tuple[str, bytes]]:
        return self._connection.execute(
            "SELECT name, body FROM documents WHERE seq = ? ORDER BY name", (seq,)
        ).fetchall()

    def _entries(self, last: int) -> Iterator[tuple[int, int, bytes, bytes]]:
        following = 1
        question = (
            "SELECT first, entries FROM groups WHERE first >= ? AND first <= ? ORDER BY first"
            f" LIMIT {GROUPS_PER_READ}"
        )
        while groups := self._connection.execute(question, (following, last)).fetchall():
            for first, packed in groups:
                for seq, (at, request, outcome) in enumerate(_decode(packed), first):
                    if seq <= last:
                        yield seq, at, request, outcome
                    following = seq + 1
