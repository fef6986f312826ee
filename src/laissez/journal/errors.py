"""What can go wrong with a journal. A message says what was expected, what was found, where, and
what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


class JournalError(Exception):
    """The journal cannot do what was asked of it."""


class JournalMissing(JournalError):
    """There is no journal in the folder."""


class JournalExists(JournalError):
    """A journal, or what is left of one, is in the folder where a new one should be made."""


class JournalLocked(JournalError):
    """Another process has the journal open for writing."""


class JournalForeign(JournalError):
    """The file is not a journal of ours, or belongs to another journal than the files beside it."""


class JournalFormat(JournalError):
    """The journal was written in another format than this version reads."""


class JournalDamaged(JournalError):
    """What is stored is not what was written. `where` names the place: a group of entries, a table,
    a file."""

    def __init__(self, where: str, what: str) -> None:
        super().__init__(f"{where}: {what}")
        self.where = where


class Diverged(JournalError):
    """Replaying an entry gave something else than what is stored with it."""

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
    """The journal could not be written, and takes nothing more until it has been opened anew."""


class SnapshotUnusable(JournalError):
    """A snapshot is damaged, or in a format that is no longer read. Raised by `restore` too;
    recovery then goes on without it."""


@contextmanager
def failing_as(problem: str, advice: str) -> Iterator[None]:
    """Turn an error of the disk or of SQLite into a JournalError that says what to do."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise JournalError(f"{problem}: {error}. {advice}") from error


def _shortened(data: bytes, length_max: int = 80) -> str:
    if len(data) <= length_max:
        return repr(data)
    return f"{data[:length_max]!r}... ({len(data)} bytes)"
