"""How the SQLite file is laid out, and how it is recognised."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

__all__ = [
    "APPLICATION_ID",
    "ARCHIVES",
    "DATABASE",
    "FORMAT",
    "SCHEMA",
    "archives",
    "connect",
    "make_tables",
]

DATABASE = "journal.db"
ARCHIVES = "archive"  # the folder of the archives, named 0001.journal and so on
APPLICATION_ID = 0x4C5A4A4C  # "LZJL", in the header of the SQLite file
FORMAT = 1  # `user_version` in the header: raised when the layout below changes

# One row per group, not per entry: each SQLite step gives up the interpreter lock, and a busy event
# loop takes a while to hand it back. The link comes before the entries, so that reading it does not
# walk through them.
SCHEMA = {
    "meta": "CREATE TABLE meta(key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
    "groups": (
        "CREATE TABLE groups(first INTEGER PRIMARY KEY, count INTEGER NOT NULL, chain BLOB NOT"
        " NULL, entries BLOB NOT NULL)"
    ),
    "documents": (
        "CREATE TABLE documents(name TEXT NOT NULL, seq INTEGER NOT NULL, body BLOB NOT NULL,"
        " PRIMARY KEY(name, seq)) WITHOUT ROWID"
    ),
    "documents_by_seq": "CREATE INDEX documents_by_seq ON documents(seq)",
}


def archives(folder: Path) -> list[Path]:
    """The archives in a data folder, the oldest first."""
    found = (folder / ARCHIVES).glob("*.journal")
    return sorted((path for path in found if path.stem.isdecimal()), key=lambda p: int(p.stem))


def make_tables(connection: sqlite3.Connection, meta: Mapping[str, bytes]) -> None:
    """Lay out a new file, in one transaction."""
    for statement in (
        "BEGIN",
        f"PRAGMA application_id = {APPLICATION_ID}",
        f"PRAGMA user_version = {FORMAT}",
        *SCHEMA.values(),
    ):
        connection.execute(statement)
    connection.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
    connection.execute("COMMIT")


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """`mode` is `ro` or `rw`, so that a missing file is never made by looking at it. Statements
    commit by themselves unless BEGIN says otherwise."""
    connection = sqlite3.connect(
        f"file:{quote(str(path.absolute()))}?mode={mode}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
    except BaseException:
        connection.close()
        raise
    return connection
