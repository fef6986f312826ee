"""A tiny machine for the tests of the journal: a running sum that files a document at each multiple
of ten.

Run as a program (`journal_sum.py <folder> [bytes]`) it recovers and then adds ones for ever, prints
each sequence number once it is durable, and takes a snapshot now and then; `bytes` limits the size
of its files, which acts like a full disk.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterable
from pathlib import Path

from laissez.journal import (
    Document,
    Entry,
    Filed,
    GroupCommit,
    Journal,
    JournalFailed,
    Reader,
    Recovered,
    recover,
    snapshots,
)

GENESIS = b"1000"


class Sum:
    def __init__(self, total: int) -> None:
        self.total = total

    def apply(self, at: int, request: bytes) -> tuple[bytes, tuple[Document, ...]]:
        self.total += int(request)
        outcome = b"%d at %d" % (self.total, at)
        return outcome, (
            Document("tens", outcome),
            Document("also", b""),
        ) if self.total % 10 == 0 else ()

    def snapshot(self) -> bytes:
        return str(self.total).encode()

    def enter(self, at: int, number: int) -> tuple[Entry, tuple[Document, ...]]:
        request = str(number).encode()
        outcome, documents = self.apply(at, request)
        return Entry(at, request, outcome), documents


def begin(body: bytes) -> Sum:
    """Make the machine from the genesis or from a snapshot."""
    return Sum(int(body))


def recovered(journal: Journal) -> Recovered[Sum]:
    return recover(journal, begin=begin, restore=begin)


def append(journal: Journal, machine: Sum, numbers: Iterable[int]) -> None:
    """Append one group."""
    made = [
        machine.enter(journal.last_at + 1 + index, number) for index, number in enumerate(numbers)
    ]
    journal.append(
        [entry for entry, _ in made],
        [(index, document) for index, (_, documents) in enumerate(made) for document in documents],
    )


def filled(folder: Path, groups: int = 12, size: int = 5) -> Sum:
    """A journal of `groups` groups, closed."""
    machine = Sum(int(GENESIS))
    with Journal.create(folder, GENESIS) as journal:
        for group in range(groups):
            append(journal, machine, range(group, group + size))
    return machine


def take_snapshot(journal: Journal, seq: int) -> Path:
    """Write a snapshot of the replayed state after entry `seq`."""
    machine = Sum(int(journal.genesis))
    with journal.reader() as reader:
        for group in reader.groups(1, seq):
            for entry in group.entries[: seq - group.first + 1]:
                machine.apply(entry.at, entry.request)
        head = reader.chain_at(seq)
    assert head is not None
    return snapshots.write(journal.folder, seq, head, machine.snapshot())


def history(folder: Path) -> list[tuple[Entry, ...]]:
    with Journal.open(folder) as journal, journal.reader() as reader:
        return [tuple(group.entries) for group in reader.groups()]


def filed(reader: Reader, name: str) -> list[Filed]:
    """All documents of a name."""
    return [reader.document(name, seq) for seq, _ in reader.document_heads(name, 0)]


def _say(text: str) -> None:
    os.write(1, f"{text}\n".encode())


def _add_for_ever(folder: Path) -> None:
    with Journal.open(folder) as journal:
        found = recovered(journal)
        _say(f"recovered {journal.last} {found.machine.total}")
        machine, at = found.machine, journal.last_at
        try:
            with GroupCommit(
                journal,
                on_durable=lambda seq: _say(f"durable {seq}"),
                on_failure=lambda error: _say("failed"),
            ) as commit:
                while True:
                    at += 1
                    # entries put before a failure stay pending for ever
                    if commit.pending < 100 or commit.failed:
                        seq = commit.put(*machine.enter(at, 1))
                        if seq % 50 == 0 and commit.durable > 20:
                            take_snapshot(journal, commit.durable - 10)
                            snapshots.prune(folder)
        except JournalFailed:
            _say("refused")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
    _add_for_ever(Path(sys.argv[1]))
