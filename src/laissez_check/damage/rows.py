"""Damage by a database tool: rows of a journal deleted, doubled, exchanged or changed. The mark and
the chain must reveal it."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

Statements = list[str]

COPY = (
    "INSERT OR REPLACE INTO groups SELECT {to}, count, chain, entries FROM groups"
    " WHERE first = {first}"
)
MOVE = "UPDATE groups SET first = {to} WHERE first = {first}"
CHANGES = (
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
ONE = "(name, seq) = (SELECT name, seq FROM documents ORDER BY seq LIMIT 1)"
DOCUMENTS = (
    f"DELETE FROM documents WHERE {ONE}",
    f"UPDATE documents SET body = x'00' WHERE {ONE}",
    f"UPDATE OR REPLACE documents SET seq = seq + 1 WHERE {ONE}",
    f"UPDATE OR REPLACE documents SET name = 'x' WHERE {ONE}",
    *(
        f"INSERT INTO documents VALUES ('x', {seq}, x'00')"
        for seq in ("0", "1", "(SELECT max(first) FROM groups)", "1000000")
    ),
)
HEADER = (
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
LAST = "SELECT first + count - 1 FROM groups ORDER BY first DESC LIMIT 1"


def edit(draw: random.Random, folder: Path) -> str:
    """Make one edit. Returns its statements."""
    database = sqlite3.connect(folder / "journal.db", isolation_level=None)
    try:
        firsts = [first for (first,) in database.execute("SELECT first FROM groups ORDER BY first")]
        statements = draw.choice(EDITS)(draw, firsts)
        for statement in statements:
            database.execute(statement)
        (last,) = database.execute(LAST).fetchone() or (0,)
    finally:
        database.close()
    newest = max(int(path.stem) for path in (folder / "snapshots").glob("*.snapshot"))
    if last < newest and draw.random() < 0.5:
        (folder / "journal.mark").unlink()  # a later snapshot reveals the loss, too
        statements.append("and journal.mark is lost")
    return f"rows: {'; '.join(statements)}"


def _delete(draw: random.Random, firsts: list[int]) -> Statements:
    return [f"DELETE FROM groups WHERE first = {draw.choice(firsts)}"]


def _cut_end(draw: random.Random, firsts: list[int]) -> Statements:
    """A shorter history is a valid chain: only the mark and the snapshots reveal the loss."""
    first = draw.choice(firsts)
    return [
        f"DELETE FROM groups WHERE first >= {first}",
        f"DELETE FROM documents WHERE seq >= {first}",
    ]


def _double(draw: random.Random, firsts: list[int]) -> Statements:
    to = draw.choice((*firsts, 0, 10**6, firsts[-1] + 1))
    return [COPY.format(to=to, first=draw.choice(firsts))]


def _exchange(draw: random.Random, firsts: list[int]) -> Statements:
    first, second = draw.sample(firsts, 2)
    moves = ((first, -1), (second, first), (-1, second))
    return [MOVE.format(first=old, to=new) for old, new in moves]


def _change(draw: random.Random, firsts: list[int]) -> Statements:
    change, first = draw.choice(CHANGES), draw.choice(firsts)
    return [f"UPDATE OR REPLACE groups SET {change} WHERE first = {first}"]


def _one_of(statements: Sequence[str]) -> Callable[[random.Random, list[int]], Statements]:
    return lambda draw, firsts: [draw.choice(statements)]


EDITS = (
    _delete,
    _cut_end,
    _cut_end,
    _double,
    _exchange,
    _change,
    _one_of(DOCUMENTS),
    _one_of(DOCUMENTS),
    _one_of(HEADER),
)
