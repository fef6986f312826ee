"""The journal: every accepted request and its outcome in one gap-free order, durable before it is
acknowledged; snapshots; recovery.

Entries are opaque bytes. The file format, the order of writes, checks and recovery belong here; the
meaning of entries, the network and clocks do not. `docs/reference/journal.md` has the format and
the promises.
"""

from __future__ import annotations

from laissez.exchange.events import Document
from laissez.journal.commit import CommitQueue, GroupCommit
from laissez.journal.errors import (
    Diverged,
    JournalDamaged,
    JournalError,
    JournalExists,
    JournalFailed,
    JournalForeign,
    JournalFormat,
    JournalLocked,
    JournalMissing,
    SnapshotUnusable,
)
from laissez.journal.format import Entry, Filed, Group, Position, Tail
from laissez.journal.reader import Reader
from laissez.journal.recovery import Machine, Recovered, recover
from laissez.journal.store import Journal

__all__ = [
    "CommitQueue",
    "Diverged",
    "Document",
    "Entry",
    "Filed",
    "Group",
    "GroupCommit",
    "Journal",
    "JournalDamaged",
    "JournalError",
    "JournalExists",
    "JournalFailed",
    "JournalForeign",
    "JournalFormat",
    "JournalLocked",
    "JournalMissing",
    "Machine",
    "Position",
    "Reader",
    "Recovered",
    "SnapshotUnusable",
    "Tail",
    "recover",
]
