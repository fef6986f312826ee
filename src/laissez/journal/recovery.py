"""Recovery: rebuild the state machine from the newest usable snapshot and the entries after it.

Nothing on disk changes until every check has passed, so an interrupted recovery can be repeated.
The chain of the live file is checked from its base to its head. Entries after the snapshot are
replayed and must give the stored outcomes and documents. A damaged journal is refused; an unusable
snapshot is skipped with a warning. Without a usable snapshot everything is replayed from the first
entry, for which a journal that was cut needs its archives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from laissez.exchange.events import Document
from laissez.journal import snapshots
from laissez.journal.errors import Diverged, JournalDamaged, JournalForeign, SnapshotUnusable
from laissez.journal.format import SEQ_MAX, Group, Position
from laissez.journal.reader import Reader
from laissez.journal.snapshots import Snapshot
from laissez.journal.store import Journal


class Machine(Protocol):
    """A deterministic state machine, changed only by requests."""

    def apply(self, at: int, request: bytes) -> tuple[bytes, tuple[Document, ...]]: ...


M = TypeVar("M", bound=Machine)
Progress = Callable[[int, int], None]  # entries done, entries in all


@dataclass(frozen=True)
class Recovered(Generic[M]):
    machine: M
    snapshot_seq: int  # 0: from the beginning
    replayed: int
    warnings: list[str]


def recover(
    journal: Journal,
    *,
    begin: Callable[[bytes], M],
    restore: Callable[[bytes], M],
    on_start: Callable[[M, int], None] = lambda machine, seq: None,
    on_progress: Progress | None = None,
) -> Recovered[M]:
    """`begin` makes the machine from the genesis, `restore` from a snapshot's body. `restore`
    raises SnapshotUnusable for a format it does not know. `on_start` gets the machine and the
    entry that it has reached once everything before the first replayed entry is checked."""
    warnings: list[str] = []
    with journal.reader() as live:
        live.check_file()
        found = _from_snapshot(journal, live, restore, warnings)
    machine, seq = found or (begin(journal.genesis), 0)
    with journal.reader(archived=found is None) as reader:
        base = reader.base() if found else Position(0, reader.start)
        is_started = False
        for group in _groups_after(journal, reader, base):
            if group.last > seq:
                if not is_started:
                    on_start(machine, seq)
                    is_started = True
                replay(machine, group, after=seq)
            if on_progress:
                on_progress(group.last, journal.last)
        if not is_started:
            on_start(machine, seq)
    journal.begin()
    return Recovered(machine, seq, journal.last - seq, warnings)


def replay(machine: Machine, group: Group, after: int = 0, until: int = SEQ_MAX) -> None:
    """Apply the group's entries after `after`, up to `until`, and compare the outcomes and
    documents with those stored."""
    documents: dict[int, dict[str, bytes]] = {}
    for filed in group.documents:
        documents.setdefault(filed.seq, {})[filed.name] = filed.body
    for seq, entry in enumerate(group.entries, group.first):
        if not after < seq <= until:
            continue
        outcome, made = machine.apply(entry.at, entry.request)
        if outcome != entry.outcome:
            raise Diverged(seq, entry.at, "outcome", entry.outcome, outcome)
        if made or seq in documents:
            _compare(seq, entry.at, documents.get(seq, {}), made)


def _compare(seq: int, at: int, stored: dict[str, bytes], made: tuple[Document, ...]) -> None:
    replayed = {document.name: document.body for document in made}
    for name in sorted(stored.keys() | replayed.keys()):
        if stored.get(name) != replayed.get(name):
            there, now = stored.get(name, b"(none)"), replayed.get(name, b"(none)")
            raise Diverged(seq, at, f"document {name!r}", there, now)


def _groups_after(journal: Journal, reader: Reader, base: Position) -> Iterator[Group]:
    """All groups after the base. They must end where the journal ended when it was opened."""
    last, head = base
    for group in reader.groups(last + 1, journal.last):
        last, head = group.last, group.chain
        yield group
    if (last, head) != (journal.last, journal.head):
        raise JournalDamaged(
            f"entries {last + 1} to {journal.last}",
            "they were there when the journal was opened and are not found now.",
        )


def _from_snapshot(
    journal: Journal, reader: Reader, restore: Callable[[bytes], M], warnings: list[str]
) -> tuple[M, int] | None:
    for file in snapshots.newest_first(journal.folder):
        if file.seq > journal.last:
            raise JournalDamaged(
                f"entries {journal.last + 1} to {file.seq} of {journal.folder}",
                f"{file.path} was taken after entry {file.seq} and the journal ends at"
                f" {journal.last}: entries are missing. Was an older copy put back? Put back a"
                " complete backup; to go on without those entries, move the snapshot away.",
            )
        try:
            if file.seq < journal.base.seq:
                raise SnapshotUnusable(f"{file.path} is older than the entries of the live file")
            snapshot = file.read()
            _check_origin(file.path.name, snapshot, reader)
            return restore(snapshot.body), snapshot.seq
        except SnapshotUnusable as error:
            warnings.append(f"{error}. Recovery went on without it; move it away.")
    return None


def _check_origin(name: str, snapshot: Snapshot, reader: Reader) -> None:
    if reader.chain_at(snapshot.seq) == snapshot.head:
        return
    raise JournalForeign(
        f"snapshot {name} belongs to another journal than the one in {reader.folder}: their"
        f" checksums at entry {snapshot.seq} differ. Move it away, or put back the journal it"
        " belongs to."
    )
