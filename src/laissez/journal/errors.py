"""The errors of a journal. Each message names the expected and the found value, the place, and the
remedy."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


class JournalError(Exception):
    """Base class of the errors of this package."""


class JournalMissing(JournalError):
    """There is no journal in the folder."""


class JournalExists(JournalError):
    """The folder for a new journal already holds one, or the remains of one."""


class JournalLocked(JournalError):
    """Another process has the journal open for writing."""


class JournalForeign(JournalError):
    """The file is not a journal, or belongs to another journal than the files beside it."""


class JournalFormat(JournalError):
    """The journal was written in another format than this version reads."""


class JournalDamaged(JournalError):
    """The stored data differs from the data written. `where` names a group of entries, a table or a
    file."""

    def __init__(self, where: str, what: str) -> None:
        super().__init__(f"{where}: {what}")
        self.where = where


class Diverged(JournalError):
    """Replaying an entry did not give the stored outcome or documents."""

    def __init__(self, seq: int, at: int, what: str, stored: bytes, replayed: bytes) -> None:
        super().__init__(
            f"entry {seq} (at {at}): the {what} stored is {_shortened(stored)}, replaying gives"
            f" {_shortened(replayed)}. The journal is intact; the program that replays it is not"
            " the one that wrote it, or it is not deterministic. Start the version that wrote the"
            " journal."
        )
        self.seq = seq
        self.at = at


class JournalFailed(JournalError):
    """A write failed. The journal accepts no more entries until it is opened again."""


class SnapshotUnusable(JournalError):
    """A snapshot is damaged or in an unknown format. `restore` may raise this too; recovery then
    tries the next older snapshot."""


@contextmanager
def disk_errors_as(problem: str, advice: str) -> Iterator[None]:
    """Turn an error of the disk or of SQLite into a JournalError that names the remedy."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise JournalError(f"{problem}: {error}. {advice}") from error


def _shortened(data: bytes) -> str:
    return repr(data) if len(data) <= 80 else f"{data[:80]!r}... ({len(data)} bytes)"
