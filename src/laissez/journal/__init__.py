"""The journal: every accepted request and its outcome, in one gap-free order, durable before anyone
hears of it; snapshots; recovery.

It stores opaque bytes and knows nothing of the market's commands. What belongs here: the file and
its format, the order of writing, checking, recovery. What does not: what an entry means, the
network, clocks. `docs/journal.md` has the format and the promises.
"""

from __future__ import annotations

from laissez.exchange.events import Document
from laissez.journal.commit import GroupCommit, Storing
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
from laissez.journal.format import Base, Entry, Filed, Group, Tail
from laissez.journal.reader import Reader
from laissez.journal.recovery import Machine, Recovered, recover
from laissez.journal.store import Journal

__all__ = [
    "Base",
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
    "Reader",
    "Recovered",
    "SnapshotUnusable",
    "Storing",
    "Tail",
    "recover",
]
