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
    """One entry: its outcome, once decoded, is the number of its first event, the events, and the
    refusal if there is one."""

    seq: int
    at: int
    request: bytes
    outcome: Any
    documents: list[tuple[str, bytes]]


class Rows:
    """Archives first, then the live file. A server may move groups from the one to the other
    meanwhile: archives are listed anew after each file, and no entry is left out."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()
        self._files: dict[Path, sqlite3.Connection] = {}

    def close(self) -> None:
        for connection in self._files.values():
            connection.close()

    def closings(self, last: int) -> list[int]:
        """Until when the books were to be closed by anybody, in the order of the times: the charges
        of those instants will be asked for."""
        found = set()
        for row in self._entries(last):
            if CLOSING in row.request:
                command = _decode(row.request)[4]
                if command.get("type") == "close_books" and isinstance(command.get("before"), int):
                    found.add(command["before"])
        return sorted(found)

    def rows(self, last: int) -> Iterator[Row]:
        for row in self._entries(last):
            yield row._replace(outcome=_decode(row.outcome))

    def _entries(self, last: int) -> Iterator[Row]:
        following = 1
        while following <= last:
            began = following
            for connection in self._opened():
                for row in _rows(connection, following, last):
                    yield row
                    following = row.seq + 1
            if following == began:
                raise ValueError(f"entry {following} is in no file of the journal")

    def _opened(self) -> list[sqlite3.Connection]:
        paths = [*sorted(self._folder.glob("archive/*.journal")), self._folder / "journal.db"]
        for path in paths:
            if path not in self._files:
                self._files[path] = sqlite3.connect(
                    f"file:{quote(str(path))}?mode=ro", uri=True, isolation_level=None
                )
        return [self._files[path] for path in paths]


def _rows(connection: sqlite3.Connection, following: int, last: int) -> Iterator[Row]:
    """The entries of one file without a gap from `following` on; their outcomes are packed."""
    while following <= last:
        groups, documents = _piece(connection, following, last)
        for first, packed in groups:
            if first != following:
                return
            for seq, (at, request, outcome) in enumerate(_decode(packed), first):
                if seq <= last:
                    yield Row(seq, at, request, outcome, documents.get(seq, []))
                following = seq + 1
        if not groups:
            return


def _piece(
    connection: sqlite3.Connection, following: int, last: int
) -> tuple[list[tuple[int, bytes]], dict[int, list[tuple[str, bytes]]]]:
    """Some groups and all of their documents, as of one instant."""
    connection.execute("BEGIN")
    try:
        groups = connection.execute(
            "SELECT first, entries, count FROM groups WHERE first >= ? AND first <= ? ORDER BY"
            f" first LIMIT {GROUPS_PER_READ}",
            (following, last),
        ).fetchall()
        end = groups[-1][0] + groups[-1][2] if groups else following
        documents: dict[int, list[tuple[str, bytes]]] = {}
        for seq, name, body in connection.execute(
            "SELECT seq, name, body FROM documents WHERE seq >= ? AND seq < ? ORDER BY seq, name",
            (following, end),
        ):
            documents.setdefault(seq, []).append((name, body))
    finally:
        connection.execute("ROLLBACK")
    return [(first, packed) for first, packed, _ in groups], documents
