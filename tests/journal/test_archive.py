"""Old groups move into archives: nothing is lost at any step, and a start never needs them."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from laissez.cli.journal import summary
from laissez.journal import (
    Entry,
    GroupCommit,
    Journal,
    JournalDamaged,
    JournalExists,
    JournalForeign,
    Position,
    Reader,
    archive,
    disk,
    snapshots,
)
from laissez.journal import store as journal_store
from laissez.journal.backup import backup
from laissez.journal.format import archives
from laissez.journal.verify import verify
from support.journal_sum import (
    GENESIS,
    Sum,
    append,
    begin,
    filed,
    filled,
    recovered,
    take_snapshot,
)

EVERYTHING = 10**9  # later than every entry of these tests


def entries(folder: Path) -> list[Entry]:
    with Reader.of(folder) as reader:
        return [entry for group in reader.groups() for entry in group.entries]


def with_snapshots(folder: Path, *seqs: int) -> Sum:
    """A journal of 12 groups of 5 entries, with snapshots after these entries."""
    machine = filled(folder)
    with Journal.open(folder) as journal:
        for seq in seqs:
            take_snapshot(journal, seq)
    return machine


def cut(folder: Path, before_us: int = EVERYTHING) -> Position | None:
    with Journal.open(folder) as journal:
        until = archive.make(folder, before_us)
        while until and not journal.cut(until):
            pass
        return until


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_store, "CUT_GROUPS", 1)
    monkeypatch.setattr(journal_store, "CUT_DOCUMENTS", 1)


def test_old_groups_move_and_the_journal_stays_readable(tmp_path: Path) -> None:
    machine = with_snapshots(tmp_path, 38, 50)
    before = entries(tmp_path)
    with Reader.of(tmp_path) as reader:
        tens = filed(reader, "tens")
    until = cut(tmp_path)
    assert until and 35 == until.seq  # the group of entry 38 is needed after that snapshot
    assert [tmp_path / "archive" / "0000000000000001.journal"] == archives(tmp_path)
    assert before == entries(tmp_path)
    with Reader(tmp_path) as live, Reader.of(tmp_path) as reader:
        assert 35 == live.base().seq
        assert tens == filed(reader, "tens") != filed(live, "tens")
        assert before[0] == reader.entry(1) and live.entry(1) is None
        assert [36] == [group.first for group in live.groups(36, 36)]
    report = verify(tmp_path, begin=begin)
    assert report.ok and [38, 50] == report.snapshots and 60 == report.entries
    shutil.rmtree(tmp_path / "archive")
    with Journal.open(tmp_path) as journal:
        found = recovered(journal)
        assert (machine.total, 50) == (found.machine.total, found.snapshot_seq)


def test_archives_follow_each_other(tmp_path: Path) -> None:
    machine = with_snapshots(tmp_path, 20)
    before = entries(tmp_path)
    assert cut(tmp_path, before_us=before[12].at)  # entry 13 is in the third group
    with Journal.open(tmp_path) as journal:
        assert 10 == journal.base.seq
        recovered(journal)
        take_snapshot_of(journal, machine)
        snapshots.prune(tmp_path, 1)
    assert cut(tmp_path)
    assert ["0000000000000001.journal", "0000000000000011.journal"] == [
        path.name for path in archives(tmp_path)
    ]
    assert before == entries(tmp_path)
    assert 55 == summary(tmp_path)["live_after"]
    with Journal.open(tmp_path) as journal:
        again = recovered(journal).machine
        append(journal, again, [7])
    assert verify(tmp_path, begin=begin).ok


def take_snapshot_of(journal: Journal, machine: Sum) -> None:
    snapshots.write(journal.folder, journal.last, journal.head, machine.snapshot())


def test_a_long_history_becomes_several_archives(tmp_path: Path) -> None:
    with_snapshots(tmp_path, 60)
    before = entries(tmp_path)
    with Journal.open(tmp_path) as journal:
        while until := archive.make(tmp_path, EVERYTHING, bytes_max=250):
            while not journal.cut(until):
                pass
    assert len(archives(tmp_path)) > 2
    assert before == entries(tmp_path)


@pytest.mark.parametrize("damage", ["none", "damaged", "of another journal"])
def test_nothing_moves_without_a_usable_snapshot(tmp_path: Path, damage: str) -> None:
    folder, other = tmp_path / "one", tmp_path / "other"
    with_snapshots(folder, *([] if damage == "none" else [40]))
    for file in snapshots.newest_first(folder):
        if damage == "damaged":
            file.path.write_bytes(file.path.read_bytes()[:-1])
        else:
            with_snapshots(other, 40)
            shutil.copy(other / "snapshots" / file.path.name, file.path)
    assert cut(folder) is None
    assert [] == archives(folder) == list(folder.glob("archive/*"))


def test_young_entries_stay(tmp_path: Path) -> None:
    with_snapshots(tmp_path, 60)
    assert cut(tmp_path, before_us=3) is None


class Crash(Exception):
    """The process ends here."""


class Failing(disk.System):
    """Ends the process before its n-th change of a file."""

    def __init__(self, n: int) -> None:
        self.left = n

    def __getattribute__(self, name: str) -> Any:
        if name in ("fsync", "create", "rename", "remove", "make_folder", "write"):
            if self.left == 0:
                raise Crash(name)
            self.left -= 1
        return super().__getattribute__(name)


def test_a_crash_at_each_step_of_making_an_archive_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = with_snapshots(tmp_path / "whole", 40)
    before = entries(tmp_path / "whole")
    for step in range(100):
        folder = tmp_path / str(step)
        shutil.copytree(tmp_path / "whole", folder)
        with monkeypatch.context() as patched:
            patched.setattr(disk, "system", Failing(step))
            try:
                archive.make(folder, EVERYTHING)
                break
            except Crash:
                pass
        assert before == entries(folder)
        with Journal.open(folder) as journal:
            assert machine.total == recovered(journal).machine.total
        assert cut(folder) and before == entries(folder)
        assert verify(folder, begin=begin).ok
    assert step >= 5  # folder, its name, file, contents, name, folder


def test_a_crash_after_each_piece_of_a_cut_loses_nothing(
    tmp_path: Path, small_pieces: None
) -> None:
    machine = with_snapshots(tmp_path / "whole", 58)
    before = entries(tmp_path / "whole")
    with Journal.open(tmp_path / "whole") as journal:
        until = archive.make(journal.folder, EVERYTHING)
        assert until
        for piece in range(100):
            folder = tmp_path / str(piece)
            shutil.copytree(journal.folder, folder)  # with its log, as after a crash
            assert before == entries(folder)
            report = verify(folder, begin=begin)
            assert report.ok and 60 == report.entries
            with Journal.open(folder) as crashed:
                assert machine.total == recovered(crashed).machine.total
                again = archive.make(folder, EVERYTHING)
                assert again == (until if crashed.base != until else None)
            cut(folder)
            assert 1 == len(archives(folder)) and before == entries(folder)
            if journal.cut(until):
                break
    assert piece > 11
    with closing(
        sqlite3.connect(tmp_path / "whole" / "journal.db", isolation_level=None)
    ) as connection:
        assert [] == connection.execute("SELECT * FROM documents WHERE seq <= 55").fetchall()


def test_a_reader_continues_while_groups_are_moved(tmp_path: Path, small_pieces: None) -> None:
    with_snapshots(tmp_path, 60)
    before = entries(tmp_path)
    with Reader.of(tmp_path) as reader, Reader.of(tmp_path) as late:
        reading = reader.groups()
        found = [entry for group in islice(reading, 3) for entry in group.entries]
        assert cut(tmp_path)
        found += [entry for group in reading for entry in group.entries]
        assert before == found
        assert before[0] == late.entry(1)
        assert [entry for group in late.groups(7, 9) for entry in group.entries] == before[5:10]


def test_damage_in_an_archive_is_named(tmp_path: Path) -> None:
    with_snapshots(tmp_path, 60)
    cut(tmp_path)
    (path,) = archives(tmp_path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE groups SET entries = zeroblob(9) WHERE first = 11")
    report = verify(tmp_path, begin=begin)
    (problem,) = report.problems
    assert 10 == report.entries
    assert problem.startswith("archive/0000000000000001.journal: entries 11 to 15: the checksum")
    with Journal.open(tmp_path) as journal:
        recovered(journal)  # needs no archives


def test_a_damaged_archive_stops_the_cut(tmp_path: Path, small_pieces: None) -> None:
    """Groups missing from the archive must stay in the live file."""
    with_snapshots(tmp_path, 60)
    with Journal.open(tmp_path) as journal:
        until = archive.make(tmp_path, EVERYTHING)
        assert until
        journal.cut(until)
        with closing(sqlite3.connect(archives(tmp_path)[0], isolation_level=None)) as connection:
            connection.execute("UPDATE groups SET entries = zeroblob(9) WHERE first = 6")
        with pytest.raises(JournalDamaged, match=r"archive/.*: entries 6 to 10"):
            archive.make(tmp_path, EVERYTHING)


@pytest.mark.parametrize("lost", [0, 1])
def test_a_missing_archive_is_named(tmp_path: Path, lost: int) -> None:
    with_snapshots(tmp_path, 60)
    with Journal.open(tmp_path) as journal:
        for before_us in (12, EVERYTHING):
            until = archive.make(tmp_path, before_us)
            while until and not journal.cut(until):
                pass
    archives(tmp_path)[lost].unlink()
    expected = ("entries 1 to 55", "entries 11 to 55")[lost]
    (problem,) = verify(tmp_path, begin=begin).problems
    assert problem.startswith(expected) and "archive" in problem


def test_an_archive_of_another_journal_is_refused(tmp_path: Path) -> None:
    for name in ("one", "other"):
        with_snapshots(tmp_path / name, 60)
        cut(tmp_path / name)
    shutil.copytree(
        tmp_path / "other" / "archive", tmp_path / "one" / "archive", dirs_exist_ok=True
    )
    with pytest.raises(JournalForeign, match="belongs to another journal"):
        Reader.of(tmp_path / "one")


def test_without_a_snapshot_everything_is_replayed_from_the_archives(tmp_path: Path) -> None:
    machine = with_snapshots(tmp_path, 40)
    cut(tmp_path)
    shutil.rmtree(tmp_path / "snapshots")
    with Journal.open(tmp_path) as journal:
        found = recovered(journal)
        assert (machine.total, 0, 60) == (found.machine.total, found.snapshot_seq, found.replayed)
    shutil.rmtree(tmp_path / "archive")
    with Journal.open(tmp_path) as journal, pytest.raises(JournalDamaged, match="entries 1 to 40"):
        recovered(journal)


def test_a_snapshot_from_before_the_cut_is_skipped(tmp_path: Path) -> None:
    machine = with_snapshots(tmp_path, 10, 60)
    old = tmp_path / "snapshots" / f"{10:016}.snapshot"
    kept = old.read_bytes()
    old.unlink()
    cut(tmp_path)
    shutil.rmtree(tmp_path / "snapshots")
    old.parent.mkdir()
    old.write_bytes(kept)
    with Journal.open(tmp_path) as journal:
        found = recovered(journal)
    assert machine.total == found.machine.total
    assert "older than the entries of the live file" in found.warnings[0]


def test_a_new_journal_is_not_made_beside_archives(tmp_path: Path) -> None:
    with_snapshots(tmp_path / "old", 60)
    cut(tmp_path / "old")
    shutil.copytree(tmp_path / "old" / "archive", tmp_path / "new" / "archive")
    with pytest.raises(JournalExists, match="archive"):
        Journal.create(tmp_path / "new", GENESIS)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (b"", "where its entries begin is missing"),
        (Position(0, bytes(32)).packed(), "is not what was written"),
        (Position(10, bytes(32)).packed(), "begins after entry 10, and it holds entry 1"),
    ],
)
def test_a_damaged_base_is_refused(tmp_path: Path, value: bytes, message: str) -> None:
    filled(tmp_path)
    with closing(sqlite3.connect(tmp_path / "journal.db", isolation_level=None)) as connection:
        connection.execute("UPDATE meta SET value = ? WHERE key = 'base'", (value,))
    with pytest.raises(JournalDamaged, match=message), Journal.open(tmp_path) as journal:
        recovered(journal)


def test_a_base_without_entries_is_refused(tmp_path: Path) -> None:
    Journal.create(tmp_path, GENESIS).close()
    with closing(sqlite3.connect(tmp_path / "journal.db", isolation_level=None)) as connection:
        value = Position(3, bytes(32)).packed()
        connection.execute("UPDATE meta SET value = ? WHERE key = 'base'", (value,))
    with pytest.raises(JournalDamaged, match="begins after entry 3 and holds none"):
        Journal.open(tmp_path)


def test_a_backup_holds_archives_and_starts_from_a_snapshot(tmp_path: Path) -> None:
    machine = with_snapshots(tmp_path / "data", 50)
    cut(tmp_path / "data")
    assert 60 == backup(tmp_path / "data", tmp_path / "copy")
    assert entries(tmp_path / "data") == entries(tmp_path / "copy")
    assert verify(tmp_path / "copy", begin=begin).ok
    with Journal.open(tmp_path / "copy") as journal:
        found = recovered(journal)
        assert (machine.total, 50) == (found.machine.total, found.snapshot_seq)


def test_the_program_prints_how_far_the_live_file_may_be_cut(tmp_path: Path) -> None:
    with_snapshots(tmp_path, 60)
    command = [sys.executable, "-m", "laissez.journal.archive", str(tmp_path), str(EVERYTHING)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    with Reader.of(tmp_path) as reader:
        assert [55, reader.chain_at(55)] == [int(said[0]), bytes.fromhex(said[1])]


def test_entries_are_stored_while_the_live_file_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_store, "CUT_GROUPS", 1)
    machine = with_snapshots(tmp_path, 60)
    with Journal.open(tmp_path) as journal:
        until = archive.make(tmp_path, EVERYTHING)
        assert until
        with GroupCommit(journal, on_durable=lambda s: None, on_failure=lambda e: None) as commit:
            for at in _times(journal.last_at):
                last = commit.put(*machine.enter(at, 1))
                if at == journal.last_at + 5:
                    commit.cut(until)
                if not commit.cutting and last > 200:
                    break
        assert until == journal.base and last == journal.last == commit.durable
    with Journal.open(tmp_path) as journal:
        assert machine.total == recovered(journal).machine.total
    assert verify(tmp_path, begin=begin).ok
    assert last == len(entries(tmp_path))


def _times(at: int) -> Iterator[int]:
    while True:
        at += 1
        yield at
