"""What somebody with a database tool can do to a journal: rows deleted, doubled, exchanged,
changed. The mark and the chain must tell."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

Edit = Callable[[random.Random, list[int]], list[str]]

_AGAIN = (
    "INSERT OR REPLACE INTO groups SELECT {to}, count, chain, entries FROM groups WHERE first ="
    " {first}"
)
_MOVE = "UPDATE groups SET first = {to} WHERE first = {first}"


def edit(draw: random.Random, folder: Path) -> str:
    """Do one of them; says which."""
    database = sqlite3.connect(folder / "journal.db", isolation_level=None)
    try:
        firsts = [first for (first,) in database.execute("SELECT first FROM groups ORDER BY first")]
        statements = draw.choice(EDITS)(draw, firsts)
        for statement in statements:
            database.execute(statement)
        (last,) = database.execute(
            "SELECT first + count - 1 FROM groups ORDER BY first DESC LIMIT 1"
        ).fetchone() or (0,)
    finally:
        database.close()
    if draw.random() < 0.5 and last < max(
        int(path.stem) for path in (folder / "snapshots").glob("*.snapshot")
    ):
        (folder / "journal.mark").unlink()  # a snapshot that was taken later tells of it, too
        statements = [*statements, "and journal.mark is lost"]
    return f"rows: {'; '.join(statements)}"


def _delete(draw: random.Random, firsts: list[int]) -> list[str]:
    return [f"DELETE FROM groups WHERE first = {draw.choice(firsts)}"]


def _end_missing(draw: random.Random, firsts: list[int]) -> list[str]:
    """A shorter history is a valid chain; only the mark and the snapshots know better."""
    first = draw.choice(firsts)
    return [
        f"DELETE FROM groups WHERE first >= {first}",
        f"DELETE FROM documents WHERE seq >= {first}",
    ]


def _double(draw: random.Random, firsts: list[int]) -> list[str]:
    return [
        _AGAIN.format(
            to=draw.choice((*firsts, 0, 10**6, firsts[-1] + 1)), first=draw.choice(firsts)
        )
    ]


def _exchange(draw: random.Random, firsts: list[int]) -> list[str]:
    first, second = draw.sample(firsts, 2)
    return [
        _MOVE.format(to=-1, first=first),
        _MOVE.format(to=first, first=second),
        _MOVE.format(to=second, first=-1),
    ]


def _change(draw: random.Random, firsts: list[int]) -> list[str]:
    changes = (
        "count = count + 1",
        "count = count - 1",
        "count = 'x'",
        "chain = zeroblob(32)",
        "chain = substr(chain, 2)",
        "entries = substr(entries, 1, length(entries) - 1)",
        "entries = zeroblob(length(entries))",
        "entries = CAST(entries AS TEXT)",
        "first = first + 1",
    )
    return [
        f"UPDATE OR REPLACE groups SET {draw.choice(changes)} WHERE first = {draw.choice(firsts)}"
    ]


def _documents(draw: random.Random, firsts: list[int]) -> list[str]:
    one = "(name, seq) = (SELECT name, seq FROM documents ORDER BY seq LIMIT 1)"
    statements = (
        f"DELETE FROM documents WHERE {one}",
        f"UPDATE documents SET body = x'00' WHERE {one}",
        f"UPDATE OR REPLACE documents SET seq = seq + 1 WHERE {one}",
        f"UPDATE OR REPLACE documents SET name = 'x' WHERE {one}",
        (
            f"INSERT INTO documents VALUES ('x', {draw.choice((0, firsts[0], firsts[-1], 10**6))},"
            " x'00')"
        ),
    )
    return [draw.choice(statements)]


def _header(draw: random.Random, firsts: list[int]) -> list[str]:
    statements = (
        "UPDATE meta SET value = x'00' WHERE key = 'genesis'",
        "UPDATE meta SET value = x'00' WHERE key = 'identity'",
        "UPDATE meta SET value = x'00' WHERE key = 'start'",
        "DELETE FROM meta WHERE key = 'created'",
        "PRAGMA user_version = 2",
        "PRAGMA application_id = 1",
        "DROP INDEX documents_by_seq",
        "CREATE TABLE more(x)",
        "PRAGMA journal_mode = DELETE",
        "VACUUM",
    )
    return [draw.choice(statements)]


EDITS: tuple[Edit, ...] = (
    _delete,
    _end_missing,
    _end_missing,
    _double,
    _exchange,
    _change,
    _documents,
    _documents,
    _header,
)
