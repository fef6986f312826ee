"""The journal's entries and documents as plain data, read by SQLite and MessagePack alone. The
format is that of `docs/reference/journal.md` and the tables below.

It reads in small pieces and holds no transaction open between them, so it may run beside a server.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

# Some of the groups of a file, and the documents of some entries.
GROUPS = """SELECT first, entries, count FROM groups WHERE first >= ? AND first <= ?
    ORDER BY first LIMIT 64"""
DOCUMENTS = """SELECT seq, name, body FROM documents WHERE seq >= ? AND seq < ?
    ORDER BY seq, name"""
# The beginning of a request that closes the books: an array of seven, and the number of the
# command.
CLOSING = bytes((0x97, 20))
BEFORE = 6  # its place in that array
GENESIS_HEADER = 8 + 2 + 32  # what stands before the market's first state

# The events by their numbers, and the fields after the holder of those that bills depend on.
EVENTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("order.placed", ("order", "alternatives")),
    ("order.amended", ("order", "alternatives")),
    ("order.cancelled", ("order",)),
    ("lease.started", ("lease", "leaf", "order", "rate", "limit", "hold_until")),
    ("lease.ended", ("lease", "leaf", "reason", "rate")),
    ("lease.limit_set", ("lease", "leaf", "limit")),
    ("fee.charged", ("order", "scope", "rate", "until")),
    ("budget.set", ()),
    ("budget.warning", ()),
    ("budget.spent", ()),
    ("caps.set", ()),
    ("webhook.created", ()),
    ("webhook.deleted", ()),
    ("webhook.secret_rotated", ()),
    ("webhook.restarted", ()),
    ("floor.set", ("node", "price")),
    ("controls.set", ()),
    ("resource.offline", ()),
    ("resource.online", ()),
    ("books.closed", ("before",)),
    ("tenant.created", ("name",)),
    ("tenant.caps_set", ()),
    ("key.issued", ()),
    ("key.revoked", ()),
)
PLACES = frozenset(("leaf", "node", "scope"))

_decode = msgspec.msgpack.decode


class Event(NamedTuple):
    """An event. If only the operator gets it, `tenant` is None and `n` is 0."""

    kind: str
    tenant: str | None
    n: int
    at: int
    fields: dict[str, Any]


class Stored(NamedTuple):
    """One entry."""

    seq: int
    at: int
    request: bytes
    outcome: bytes
    documents: list[tuple[str, bytes]]


class Row(NamedTuple):
    """One entry, read; `first` is the operator's number of its first event."""

    seq: int
    at: int
    first: int
    events: list[Event]
    documents: list[tuple[str, bytes]]


class Outcomes:
    """A reader of outcomes. It needs all from the first on: tenants are numbered as they are
    created."""

    def __init__(self, genesis: bytes) -> None:
        self._nodes = nodes_of(genesis)
        self._holders = ["operator"]

    def read(self, at: int, request: bytes, outcome: bytes) -> tuple[int, list[Event]]:
        """The operator's number of the first event, and the events."""
        first, rows, *_ = _decode(outcome)
        return first, [self._event(at, request, row) for row in rows]

    def _event(self, at: int, request: bytes, row: list[Any]) -> Event:
        code, n, before, *values = row
        kind, names = EVENTS[code] if code < len(EVENTS) else (f"event {code}", ())
        tenant = None
        if n:
            holder = values.pop(0)
            tenant = holder if isinstance(holder, str) else self._holders[holder]
        stored = zip(names, values, strict=False)
        fields = {name: self._value(name, value, request) for name, value in stored}
        if kind == "tenant.created":
            self._holders.append(fields["name"])
        return Event(kind, tenant, n, at - before, fields)

    def _value(self, name: str, value: Any, request: bytes) -> Any:
        if name in PLACES:
            return self._node(value)
        if name == "alternatives":
            # Nil stands for those of the request, which are its last field.
            return self._bids(_decode(request)[-1] if value is None else value)
        return value

    def _node(self, written: int | str) -> str:
        return written if isinstance(written, str) else self._nodes[written]

    def _bids(self, flat: list[Any]) -> list[tuple[str, int]]:
        """Scope, bid and limit follow each other; no bid means that it is the limit."""
        return [
            (self._node(scope), limit if bid is None else bid)
            for scope, bid, limit in zip(flat[::3], flat[1::3], flat[2::3], strict=True)
        ]


def nodes_of(genesis: bytes) -> list[str]:
    """All nodes by their numbers: in the order of their names, each before those below it."""
    leaves: list[str] = _decode(genesis[GENESIS_HEADER:])[0]
    nodes = {
        tuple(names[:depth])
        for names in (leaf.split("/") for leaf in leaves)
        for depth in range(1, len(names) + 1)
    }
    return ["/".join(node) for node in sorted(nodes)]


def closing(request: bytes) -> int | None:
    """The time until which a request closes the books, or None."""
    if not request.startswith(CLOSING):
        return None
    before: int = _decode(request)[BEFORE]
    return before


class Rows:
    """The entries of the archives and the live file. A server may move groups between them
    meanwhile, so archives are listed again after each file, and no entry is left out."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()
        self._files: dict[Path, sqlite3.Connection] = {}

    def close(self) -> None:
        for connection in self._files.values():
            connection.close()

    def closings(self, last: int) -> list[int]:
        """The times at which the books were to be closed, in order."""
        found = {closing(entry.request) for entry in self._entries(last)}
        return sorted(before for before in found if before is not None)

    def rows(self, last: int) -> Iterator[Row]:
        query = "SELECT value FROM meta WHERE key = 'genesis'"
        (genesis,) = self._opened()[-1].execute(query).fetchone()
        outcomes = Outcomes(bytes(genesis))
        for entry in self._entries(last):
            first, events = outcomes.read(entry.at, entry.request, entry.outcome)
            yield Row(entry.seq, entry.at, first, events, entry.documents)

    def _entries(self, last: int) -> Iterator[Stored]:
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
                uri = f"file:{quote(str(path))}?mode=ro"
                self._files[path] = sqlite3.connect(uri, uri=True, isolation_level=None)
        return [self._files[path] for path in paths]


def _rows(connection: sqlite3.Connection, following: int, last: int) -> Iterator[Stored]:
    """The entries of one file without a gap from `following` on."""
    while following <= last:
        groups, documents = _piece(connection, following, last)
        for first, packed in groups:
            if first != following:
                return
            for seq, (at, request, outcome) in enumerate(_decode(packed), first):
                if seq <= last:
                    yield Stored(seq, at, request, outcome, documents.get(seq, []))
                following = seq + 1
        if not groups:
            return


def _piece(
    connection: sqlite3.Connection, following: int, last: int
) -> tuple[list[tuple[int, bytes]], dict[int, list[tuple[str, bytes]]]]:
    """Some groups and all of their documents, as of one instant."""
    connection.execute("BEGIN")
    try:
        groups = connection.execute(GROUPS, (following, last)).fetchall()
        end = groups[-1][0] + groups[-1][2] if groups else following
        documents: dict[int, list[tuple[str, bytes]]] = {}
        for seq, name, body in connection.execute(DOCUMENTS, (following, end)):
            documents.setdefault(seq, []).append((name, body))
    finally:
        connection.execute("ROLLBACK")
    return [(first, packed) for first, packed, _ in groups], documents
