"""The disk that fails on purpose: what it keeps, what it loses, and what the journal makes of
that."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from laissez.journal import Journal, JournalError, JournalFailed, Reader, snapshots, wal
from laissez.journal import store as journal_store
from laissez.journal.disk import fsync, rename, system, write_atomically
from laissez.server.first_start import has_market
from laissez_check.disk.faulty import FaultyDisk
from laissez_check.disk.sqlite_shim import CannotWatch
from laissez_check.patches import replaced
from laissez_check.scratch import scratch
from support.journal_sum import GENESIS, Sum, append, recovered, take_snapshot

pytestmark = pytest.mark.once

SEEDS = range(12)


@contextmanager
def disk_of(root: Path, seed: int = 0) -> Iterator[FaultyDisk]:
    try:
        with FaultyDisk(root, random.Random(seed)) as disk:
            yield disk
    except CannotWatch as error:
        pytest.skip(str(error))


@contextmanager
def fresh_disk(seed: int = 0) -> Iterator[FaultyDisk]:
    with scratch() as root, disk_of(root, seed) as disk:
        yield disk


def test_what_was_synced_survives_and_what_was_not_may_go(tmp_path: Path) -> None:
    found: set[bytes | None] = set()
    for seed in range(40):
        with fresh_disk(seed) as disk:
            path = disk.root / "file"
            write_atomically(path, b"kept")
            disk.crash_at = disk.operations + 4  # the renaming is done, the folder not synced
            with suppress(OSError):
                write_atomically(path, b"newer")
            disk.power_off()
            found.add(path.read_bytes())
    assert {b"kept", b"newer"} == found


def test_a_renaming_without_its_folder_may_be_undone() -> None:
    found: set[tuple[str, ...]] = set()
    for seed in SEEDS:
        with fresh_disk(seed) as disk:
            write_atomically(disk.root / "old", b"x")
            rename(disk.root / "old", disk.root / "new")
            disk.power_off()
            found.add(tuple(path.name for path in disk.root.iterdir()))
    assert {("old",), ("new",)} == found


def test_a_kill_keeps_everything_and_a_later_power_failure_does_not() -> None:
    lost = 0
    for seed in SEEDS:
        with fresh_disk(seed) as disk:
            write_atomically(disk.root / "old", b"x")
            rename(disk.root / "old", disk.root / "new")
            disk.kill()
            assert (disk.root / "new").exists()
            disk.power_off()
            lost += not (disk.root / "new").exists()
    assert lost


def test_an_error_is_given_once_or_for_ever() -> None:
    with fresh_disk() as disk:
        disk.fail_at = 1
        with pytest.raises(OSError, match="on purpose"):
            fsync(disk.root)
        fsync(disk.root)
        disk.fail_at, disk.fail_forever = disk.operations + 1, True
        for _ in range(3):
            with pytest.raises(OSError, match="on purpose"):
                fsync(disk.root)


def test_a_write_that_was_not_synced_for_an_error_is_lost_though_the_next_sync_succeeds() -> None:
    lost = 0
    for seed in SEEDS:
        with fresh_disk(seed) as disk:
            path = disk.root / "file"
            disk.create(path)
            fsync(disk.root)
            disk.fail_at = disk.operations + 2
            with pytest.raises(OSError, match="on purpose"):
                disk.write(path, [b"x"])
            fsync(path)
            assert b"x" == path.read_bytes()
            disk.power_off()
            lost += b"" == path.read_bytes()
    assert 0 < lost < len(SEEDS)


def test_a_full_disk_takes_what_fits_and_room_comes_back() -> None:
    with fresh_disk() as disk:
        disk.room = 10
        with pytest.raises(OSError, match="No space left"):
            write_atomically(disk.root / "file", b"x" * 11)
        assert 0 == disk.room
        disk.remove(disk.root / "file.new")
        write_atomically(disk.root / "file", b"x" * 10)


def test_the_disk_is_the_usual_one_again_afterwards(tmp_path: Path) -> None:
    before = system
    with disk_of(tmp_path / "a") as disk:
        disk.fail_at, disk.fail_forever = 1, True
        write_atomically(tmp_path / "outside", b"x")
    from laissez.journal import disk as module

    assert before is module.system
    Journal.create(tmp_path / "a", GENESIS).close()


# -- the journal on it


def told(journal: Journal, machine: Sum) -> int:
    append(journal, machine, [1])
    return journal.last


def founded(folder: Path) -> Journal:
    """As a server's first start does: again, if it was cut short."""
    return (
        Journal.open(folder)
        if (folder / "journal.db").exists()
        else Journal.create(folder, GENESIS)
    )


@pytest.mark.parametrize("keeps_above", [True, False])
def test_a_founding_cut_short_anywhere_and_repeated_survives_a_power_failure(
    keeps_above: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without asking the disk to keep folders that are there already, one made by a process that
    died is lost with everything in it."""
    if not keeps_above:
        monkeypatch.setattr(journal_store, "sync_parents", lambda folder: None)
    lost = 0
    for at in range(1, 46, 3) if keeps_above else range(1, 6):
        with fresh_disk(at) as disk:
            folder = disk.root / "new" / "data"
            disk.crash_at = at
            with suppress(JournalError):
                founded(folder).close()
            disk.kill()
            journal = founded(folder)
            last = told(journal, recovered(journal).machine)
            disk.power_off()
            journal.close()
            if (folder / "journal.db").exists():
                with Journal.open(folder) as again:
                    assert last <= again.last
            else:
                lost += 1
    assert (lost == 0) is keeps_above


def test_a_founding_that_was_cut_short_looked_at_and_lost_is_repeated() -> None:
    """SQLite makes a log as soon as it looks. Without the journal beside it, that would be taken
    for the rest of one that was lost."""
    for at in range(20, 32):
        for seed in SEEDS:
            with fresh_disk(seed) as disk:
                folder = disk.root / "data"
                disk.fail_at, disk.fail_forever = at, True
                with suppress(JournalError):
                    Journal.create(folder, GENESIS)
                disk.kill()
                disk.fail_at = disk.operations + 1 + seed % 4
                with suppress(JournalError):
                    if has_market(folder):
                        Journal.open(folder)
                disk.fail_at = None
                disk.power_off()
                (
                    Journal.open(folder) if has_market(folder) else Journal.create(folder, GENESIS)
                ).close()


def test_a_torn_mark_is_never_a_reason_to_refuse() -> None:
    for seed in SEEDS:
        with fresh_disk(seed) as disk:
            folder = disk.root / "data"
            journal = Journal.create(folder, GENESIS)
            machine = recovered(journal).machine
            for _ in range(seed % 3):
                told(journal, machine)
            last = journal.last
            for _ in range(2):
                disk.power_off()
                journal.close()
                journal = Journal.open(folder)
                assert last == journal.last
                journal.begin()
            journal.close()


def test_what_a_start_finds_is_durable_before_it_tells() -> None:
    """Whatever became of the last commit: what the next process saw is there after a power failure,
    too."""
    for at in range(1, 5):
        for seed in SEEDS[:6]:
            with fresh_disk(seed) as disk:
                folder = disk.root / "data"
                dead = Journal.create(folder, GENESIS)
                machine = recovered(dead).machine
                told(dead, machine)
                disk.crash_at = disk.operations + at
                with suppress(JournalFailed):
                    told(dead, machine)
                disk.kill()
                dead.close()
                seen = Journal.open(folder)
                recovered(seen)
                disk.power_off()
                seen.close()
                with Journal.open(folder) as journal:
                    assert seen.last == journal.last


def after_a_failed_sync(disk: FaultyDisk) -> Path:
    """Two entries were acknowledged; a third is in memory, and the disk has said that it failed to
    keep it."""
    folder = disk.root / "data"
    with Journal.create(folder, GENESIS) as journal:
        machine = recovered(journal).machine
        for _ in range(2):
            told(journal, machine)
    dead = Journal.open(folder)
    recovered(dead)
    disk.fail_at = disk.operations + 5  # the head of the log, its sync, two writes, and the sync
    with pytest.raises(JournalFailed):
        told(dead, machine)
    disk.kill()
    dead.close()
    disk.fail_at = None
    return folder


@pytest.mark.parametrize("copies", [True, False])
def test_a_start_after_a_failed_sync_may_be_cut_short_anywhere(
    copies: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite moved into the file what only the system's memory had in the log, and the power
    failed: a torn file, and nothing to mend it with."""
    if not copies:
        monkeypatch.setattr(wal, "copy_log", lambda folder: None)
    torn = 0
    for at in range(1, 16):
        for seed in range(12):
            with fresh_disk(seed) as disk:
                folder = after_a_failed_sync(disk)
                disk.crash_at = disk.operations + at
                with ExitStack() as dead:  # closed only after the power has failed
                    with suppress(JournalError):
                        recovered(dead.enter_context(Journal.open(folder)))
                    disk.power_off()
                try:
                    for _ in range(2):
                        with Journal.open(folder) as journal:
                            assert (
                                2 <= journal.last
                                and int(GENESIS) + journal.last == recovered(journal).machine.total
                            )
                        assert not (folder / wal.COPY).exists()
                except JournalError:
                    torn += 1
    assert (torn == 0) is copies


def test_where_there_is_no_room_for_a_copy_of_the_log_the_journal_is_opened_all_the_same() -> None:
    with fresh_disk() as disk:
        folder = after_a_failed_sync(disk)
        disk.room = 1_000
        with Journal.open(folder) as journal:
            recovered(journal)
        assert disk.met["no room"] and not list(folder.glob("*.copy*"))


def test_a_copy_of_the_log_that_is_not_whole_is_not_put_back() -> None:
    with fresh_disk() as disk:
        folder = after_a_failed_sync(disk)
        copy = folder / wal.COPY
        wal.copy_log(folder)
        copy.write_bytes(copy.read_bytes()[:-1])
        with Journal.open(folder) as journal:
            assert 3 == journal.last and int(GENESIS) + 3 == recovered(journal).machine.total
        assert not copy.exists()


def test_a_reader_at_work_goes_on_while_the_journal_is_opened_after_a_failed_sync() -> None:
    with fresh_disk() as disk:
        folder = after_a_failed_sync(disk)
        with Reader.of(folder) as reader:
            groups = reader.groups()
            next(groups)
            with Journal.open(folder) as journal:
                machine = recovered(journal).machine
                for _ in range(20):
                    told(journal, machine)
                assert 23 == reader.tail().last
                assert 2 <= sum(1 for _ in groups)


def test_after_an_error_anywhere_in_a_life_everything_acknowledged_is_there() -> None:
    for at in range(1, 40):
        with fresh_disk(at) as disk:
            folder = disk.root / "data"
            with Journal.create(folder, GENESIS) as journal:
                machine = recovered(journal).machine
                disk.fail_at = disk.operations + at
                last = 0
                with suppress(JournalFailed):
                    for number in range(4):
                        last = told(journal, machine)
                        if number == 2:
                            with suppress(OSError):
                                take_snapshot(journal, last)
                                snapshots.prune(folder)
                disk.fail_at = None
                if journal.last < 4:
                    with pytest.raises(JournalFailed):  # although the disk is well again
                        told(journal, machine)
                disk.power_off()
            with Journal.open(folder) as again:
                assert last <= again.last
                assert int(GENESIS) + again.last == recovered(again).machine.total


def test_a_journal_that_goes_on_after_a_failure_is_noticed() -> None:
    append = Journal.append

    def go_on(self: Journal, *stored: Any) -> None:
        self._failure = None
        append(self, *stored)

    with replaced([(Journal, "append", go_on)]), pytest.raises(pytest.fail.Exception):
        test_after_an_error_anywhere_in_a_life_everything_acknowledged_is_there()


def test_what_a_dead_process_has_open_changes_nothing_when_it_is_closed() -> None:
    with fresh_disk() as disk:
        folder = disk.root / "data"
        dead = Journal.create(folder, GENESIS)
        told(dead, recovered(dead).machine)
        disk.kill()
        before = {path: path.read_bytes() for path in folder.iterdir()}
        dead.close()
        assert before == {path: path.read_bytes() for path in folder.iterdir()}
        assert folder / "journal.db-wal" in before
