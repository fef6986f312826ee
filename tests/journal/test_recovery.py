"""Recovery and snapshots that are lost, damaged, too new or foreign, and interrupted recovery."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import pytest

from laissez.journal import (
    Journal,
    JournalDamaged,
    JournalForeign,
    SnapshotUnusable,
    recover,
    snapshots,
)
from support.journal_sum import GENESIS, Sum, append, begin, filled, recovered, take_snapshot

pytestmark = pytest.mark.once


def with_snapshots(folder: Path, *seqs: int) -> Sum:
    machine = filled(folder)
    with Journal.open(folder) as journal:
        for seq in seqs:
            take_snapshot(journal, seq)
    return machine


def fingerprints(folder: Path) -> dict[str, str]:
    """Fingerprints of all files that recovery could harm, so without the shared memory of SQLite's
    readers."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".db-shm"]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_recovery_from_the_beginning_and_from_any_snapshot_gives_the_same_state(
    tmp_path: Path,
) -> None:
    machine = filled(tmp_path)
    with Journal.open(tmp_path) as journal:
        found = recovered(journal)
        assert (machine.total, 0, 60, []) == (
            found.machine.total,
            found.snapshot_seq,
            found.replayed,
            found.warnings,
        )
        for seq in (0, 1, 4, 5, 6, 37, 59, 60):
            path = take_snapshot(journal, seq)
            found = recovered(journal)
            assert (machine.total, seq, 60 - seq, []) == (
                found.machine.total,
                found.snapshot_seq,
                found.replayed,
                found.warnings,
            )
            path.unlink()


def test_an_empty_journal_recovers_to_its_initial_state(tmp_path: Path) -> None:
    with Journal.create(tmp_path, GENESIS) as journal:
        found = recovered(journal)
    assert (int(GENESIS), 0, 0) == (found.machine.total, found.snapshot_seq, found.replayed)


def test_the_newest_snapshot_is_used_and_old_ones_are_pruned(tmp_path: Path) -> None:
    with_snapshots(tmp_path, 10, 20, 30, 40)
    assert [40, 30, 20, 10] == [file.seq for file in snapshots.newest_first(tmp_path)]
    assert ["0000000000000020.snapshot", "0000000000000010.snapshot"] == [
        path.name for path in snapshots.prune(tmp_path)
    ]
    (tmp_path / "snapshots" / "0000000000000050.snapshot.new").write_bytes(b"half a")
    assert ["0000000000000050.snapshot.new"] == [path.name for path in snapshots.prune(tmp_path)]
    assert [] == snapshots.prune(tmp_path)
    with pytest.raises(ValueError, match="at least one"):
        snapshots.prune(tmp_path, keep=0)
    with Journal.open(tmp_path) as journal:
        assert 40 == recovered(journal).snapshot_seq


def test_snapshots_are_readable_by_their_owner_only_and_unfinished_ones_are_ignored(
    tmp_path: Path,
) -> None:
    with_snapshots(tmp_path, 10)
    folder = tmp_path / "snapshots"
    (folder / "0000000000000020.snapshot.new").write_bytes(b"half a")
    (folder / "notes.snapshot").write_bytes(b"not ours")
    assert [10] == [file.seq for file in snapshots.newest_first(tmp_path)]
    assert (0o700, 0o600) == (
        folder.stat().st_mode & 0o777,
        (folder / "0000000000000010.snapshot").stat().st_mode & 0o777,
    )


def test_a_snapshot_damaged_in_any_byte_is_skipped_with_a_warning(tmp_path: Path) -> None:
    machine = with_snapshots(tmp_path, 20, 40)
    path = tmp_path / "snapshots" / "0000000000000040.snapshot"
    good = path.read_bytes()
    with Journal.open(tmp_path) as journal:
        for offset in range(len(good)):
            path.write_bytes(good[:offset] + bytes([good[offset] ^ 0x10]) + good[offset + 1 :])
            found = recovered(journal)
            assert (machine.total, 20, 1) == (
                found.machine.total,
                found.snapshot_seq,
                len(found.warnings),
            ), f"byte {offset}"
            assert str(path) in found.warnings[0]
        for length in (0, 10, 60, len(good) - 1):
            path.write_bytes(good[:length])
            assert (20, 1) == (recovered(journal).snapshot_seq, len(recovered(journal).warnings))
    assert path.exists(), "nothing is deleted"


def test_without_an_intact_snapshot_recovery_starts_at_the_beginning(tmp_path: Path) -> None:
    machine = with_snapshots(tmp_path, 20, 40)
    for file in snapshots.newest_first(tmp_path):
        file.path.write_bytes(b"gone")
    with Journal.open(tmp_path) as journal:
        found = recovered(journal)
    assert (machine.total, 0, 60, 2) == (
        found.machine.total,
        found.snapshot_seq,
        found.replayed,
        len(found.warnings),
    )


def test_a_misnamed_or_unreadable_snapshot_is_skipped(tmp_path: Path) -> None:
    with_snapshots(tmp_path, 20)
    folder = tmp_path / "snapshots"
    (folder / "0000000000000020.snapshot").rename(folder / "0000000000000030.snapshot")
    (folder / "0000000000000050.snapshot").mkdir()
    with Journal.open(tmp_path) as journal:
        found = recovered(journal)
    assert 0 == found.snapshot_seq
    assert "cannot be read" in found.warnings[0]
    assert "misnamed: it was taken after entry 20" in found.warnings[1]


def test_a_snapshot_in_an_unknown_format_is_skipped(tmp_path: Path) -> None:
    machine = with_snapshots(tmp_path, 20)

    def restore(body: bytes) -> Sum:
        raise SnapshotUnusable("written by an older market")

    with Journal.open(tmp_path) as journal:
        found = recover(journal, begin=begin, restore=restore)
    assert (machine.total, 0) == (found.machine.total, found.snapshot_seq)
    assert "written by an older market" in found.warnings[0]


def test_a_snapshot_newer_than_the_journal_means_that_entries_are_missing(tmp_path: Path) -> None:
    with_snapshots(tmp_path / "a", 60)
    filled(tmp_path / "b", groups=11)
    shutil.copytree(tmp_path / "a" / "snapshots", tmp_path / "b" / "snapshots")
    with (
        Journal.open(tmp_path / "b") as journal,
        pytest.raises(JournalDamaged, match=r"entries 56 to 60 .* Was an older copy put back\?"),
    ):
        recovered(journal)


def test_a_snapshot_of_another_journal_is_refused(tmp_path: Path) -> None:
    with_snapshots(tmp_path / "a", 40)
    filled(tmp_path / "b")
    shutil.copytree(tmp_path / "a" / "snapshots", tmp_path / "b" / "snapshots")
    with (
        Journal.open(tmp_path / "b") as journal,
        pytest.raises(JournalForeign, match="belongs to another journal"),
    ):
        recovered(journal)


def test_an_interrupted_recovery_can_be_repeated(tmp_path: Path) -> None:
    machine = with_snapshots(tmp_path, 20)

    class CutShort(Exception):
        pass

    with Journal.open(tmp_path) as journal:
        before = fingerprints(tmp_path)
        for stop in range(5, 61, 5):

            def cut(done: int, in_all: int, stop: int = stop) -> None:
                assert in_all == 60
                if done >= stop:
                    raise CutShort

            with pytest.raises(CutShort):
                recover(journal, begin=begin, restore=begin, on_progress=cut)
            assert before == fingerprints(tmp_path), "recovery changes nothing until all is well"
        assert machine.total == recovered(journal).machine.total == recovered(journal).machine.total


def test_a_crash_while_writing_a_snapshot_leaves_the_previous_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = with_snapshots(tmp_path, 20)

    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    with Journal.open(tmp_path) as journal:
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(OSError, match="No space"):
                take_snapshot(journal, 40)
        assert (machine.total, 20) == (
            recovered(journal).machine.total,
            recovered(journal).snapshot_seq,
        )
        append(journal, machine, [1])
        take_snapshot(journal, 61)
        assert (machine.total, 61) == (
            recovered(journal).machine.total,
            recovered(journal).snapshot_seq,
        )
