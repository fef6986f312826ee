"""Verify a whole journal: the chain, the order, the times and the mark. Every outcome is replayed
from the first entry, and every snapshot is compared with the replayed state.

Verification takes no lock and changes nothing, so it may run beside a server. Problems are
reported, not raised. Entries after a damaged one are not checked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from laissez.journal import snapshots
from laissez.journal.errors import Diverged, JournalDamaged, JournalForeign, SnapshotUnusable
from laissez.journal.format import Group
from laissez.journal.reader import Reader
from laissez.journal.recovery import Machine, Progress, replay


class SnapshotMachine(Machine, Protocol):
    def snapshot(self) -> bytes: ...


@dataclass
class Report:
    """The result of a verification. `problems` is empty if the journal is intact."""

    folder: Path
    identity: bytes
    entries: int = 0
    groups: int = 0
    documents: int = 0
    first_at: int | None = None
    last_at: int | None = None
    head: bytes = b""
    # the sequence numbers of the correct ones
    snapshots: list[int] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.problems


def verify(
    folder: Path, *, begin: Callable[[bytes], SnapshotMachine], on_progress: Progress | None = None
) -> Report:
    """Raises the errors of opening a journal (missing, foreign, another format, damaged header).
    Anything later is a problem in the report."""
    # List the snapshots before reading the end of the journal: a snapshot is written after its
    # entry is durable, so none may be newer than that end.
    files = {file.seq: file for file in snapshots.newest_first(folder)}
    with Reader.of(folder) as reader:
        report = Report(folder, reader.identity, head=reader.start)
        try:
            reader.check_file()
            _Replay(report, begin(reader.genesis), files).run(reader, on_progress)
            reader.check_mark()
        except (JournalDamaged, JournalForeign, Diverged) as error:
            report.problems.append(str(error))
    return report


class _Replay:
    def __init__(
        self,
        report: Report,
        machine: SnapshotMachine,
        files: dict[int, snapshots.SnapshotFile],
    ) -> None:
        self._report = report
        self._machine = machine
        self._files = files

    def run(self, reader: Reader, on_progress: Progress | None) -> None:
        last = reader.tail().last
        if 0 in self._files:
            self._compare(0, reader.start)
        for group in reader.groups(1, last):
            self._check_times(group)
            self._replay(group)
            self._count(group)
            if on_progress:
                on_progress(group.last, last)
        self._report.problems += [
            f"{self._files[seq].path} was taken after entry {seq}, and the journal ends at {last}:"
            " entries are missing"
            for seq in sorted(self._files)
            if seq > last
        ]

    def _replay(self, group: Group) -> None:
        """Replay up to each snapshot and compare it, then to the end of the group."""
        after = group.first - 1
        taken = {seq for seq in self._files if group.first <= seq <= group.last}
        for until in sorted({*taken, group.last}):
            self._replay_piece(group, after, until)
            if until in taken:
                self._compare(until, group.chain)
            after = until

    def _replay_piece(self, group: Group, after: int, until: int) -> None:
        try:
            replay(self._machine, group, after=after, until=until)
        except Diverged:
            raise
        # a forged entry with valid checksums may hold a request that the machine cannot apply
        except Exception as error:
            raise JournalDamaged(
                f"entries {after + 1} to {until}",
                f"they cannot be carried out: {type(error).__name__}: {error}",
            ) from error

    def _compare(self, seq: int, link: bytes) -> None:
        path, problems = self._files[seq].path, self._report.problems
        try:
            snapshot = self._files[seq].read()
        except SnapshotUnusable as error:
            if path.exists():  # a running server may have pruned it meanwhile
                problems.append(str(error))
            return
        if snapshot.head != link:
            problems.append(
                f"{path} belongs to another journal: the checksums at entry {seq} differ"
            )
        elif snapshot.body != self._machine.snapshot():
            problems.append(f"{path} is not the state after entry {seq} that replaying gives")
        else:
            self._report.snapshots.append(seq)

    def _check_times(self, group: Group) -> None:
        at = self._report.last_at
        for seq, entry in enumerate(group.entries, group.first):
            if at is not None and entry.at < at:
                raise JournalDamaged(
                    f"entry {seq}",
                    f"its time {entry.at} lies before that of the entry before it, {at}",
                )
            at = entry.at

    def _count(self, group: Group) -> None:
        report = self._report
        report.groups += 1
        report.entries = group.last
        report.documents += len(group.documents)
        report.first_at = group.entries[0].at if report.first_at is None else report.first_at
        report.last_at = group.entries[-1].at
        report.head = group.chain
