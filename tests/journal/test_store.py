"""The journal and its readers without damage, and refusals of invalid use."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from laissez.journal import (
    Document,
    Entry,
    Filed,
    Journal,
    JournalError,
    JournalExists,
    JournalForeign,
    JournalFormat,
    JournalMissing,
    Reader,
    wal,
)
from laissez.journal.backup import backup
from laissez.journal.format import SEQ_MAX
from support.journal_sum import GENESIS, Sum, append, filed, filled, history

pytestmark = pytest.mark.once


def test_a_new_journal_is_empty_and_has_its_genesis(tmp_path: Path) -> None:
    with Journal.create(tmp_path / "a" / "b", b"how it begins") as journal:
        assert (0, 0, b"how it begins") == (journal.last, journal.last_at, journal.genesis)
        with journal.reader() as reader:
            assert [] == list(reader.groups())
            assert (None, None) == (reader.entry(1), reader.chain_at(1))
            assert journal.head == reader.chain_at(0)


def test_only_the_owner_may_read_a_journal(tmp_path: Path) -> None:
    filled(tmp_path / "j")
    with Journal.open(tmp_path / "j") as journal:
        append(journal, Sum(0), [1])
        assert {0o600} == {path.stat().st_mode & 0o777 for path in journal.folder.iterdir()}
        assert {
            "journal.db",
            "journal.db-shm",
            "journal.db-wal",
            "journal.lock",
            "journal.mark",
        } == {path.name for path in journal.folder.iterdir()}
    assert 0o700 == (tmp_path / "j").stat().st_mode & 0o777


def test_appended_entries_are_read_back_by_number_and_in_order(tmp_path: Path) -> None:
    filled(tmp_path, groups=40, size=3)
    with Journal.open(tmp_path) as journal, journal.reader() as reader:
        forwards = list(reader.groups())
        assert 120 == journal.last
        assert list(range(1, 121, 3)) == [group.first for group in forwards]
        assert [entry for group in forwards for entry in group.entries] == [
            reader.entry(seq) for seq in range(1, 121)
        ]
        assert forwards[-1] == reader.last_group()
        assert forwards[3:6] == list(reader.groups(first=11, last=16))
        assert forwards[39:] == list(reader.groups(first=120))
        assert [] == list(reader.groups(first=121))
        assert forwards == list(reader.groups(last=SEQ_MAX + 1))
        assert (journal.last, journal.head, journal.last_at) == reader.tail()
        assert journal.head == reader.chain_at(118)


def test_documents_are_read_back_by_name(tmp_path: Path) -> None:
    with Journal.create(tmp_path, b"") as journal:
        for round_ in range(3):
            entries = [Entry(round_, b"", b""), Entry(round_, b"", b"")]
            journal.append(
                entries,
                [
                    (1, Document("acme", b"%d" % round_)),
                    (0, Document("acme", b"first")),
                    (1, Document("bob", b"b" * 9000)),
                ],
            )
        with journal.reader() as reader:
            assert [
                (1, b"first"),
                (2, b"0"),
                (3, b"first"),
                (4, b"1"),
                (5, b"first"),
                (6, b"2"),
            ] == [(f.seq, f.body) for f in filed(reader, "acme")]
            assert Filed(6, "bob", b"b" * 9000) == reader.document("bob", 6)
            assert [] == filed(reader, "ann")


def test_heads_of_documents_are_read_without_the_rest(tmp_path: Path) -> None:
    with Journal.create(tmp_path, b"") as journal:
        for body in (b"1", b"one", b"b" * 9000):
            journal.append(
                [Entry(0, b"", b"")], [(0, Document("acme", body)), (0, Document("bob", b"bob"))]
            )
        with journal.reader() as reader:
            assert [(1, b"1"), (2, b"one"), (3, b"bbbb")] == reader.document_heads("acme", 4)


def test_a_reader_beside_the_writer_sees_each_group_as_it_is_appended(tmp_path: Path) -> None:
    machine = Sum(0)
    with Journal.create(tmp_path, GENESIS) as journal, Reader.of(tmp_path) as reader:
        for last in (2, 4, 6):
            append(journal, machine, [1, 1])
            assert last == reader.tail().last


def test_an_earlier_time_is_a_bug(tmp_path: Path) -> None:
    with Journal.create(tmp_path, b"") as journal:
        journal.append([Entry(5, b"", b""), Entry(5, b"", b"")])
        for group in ([Entry(4, b"", b"")], [Entry(7, b"", b""), Entry(6, b"", b"")]):
            with pytest.raises(ValueError, match="time never falls"):
                journal.append(group)
        assert 2 == journal.last


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([(1, Document("a", b""))], "an index from 0 to 0"),
        ([(-1, Document("a", b""))], "an index from 0 to 0"),
        ([(0, Document("a", b"1")), (0, Document("a", b"2"))], "the same name"),
    ],
)
def test_a_document_belongs_to_one_entry_under_one_name(
    tmp_path: Path, documents: list[tuple[int, Document]], message: str
) -> None:
    with Journal.create(tmp_path, b"") as journal:
        with pytest.raises(ValueError, match=message):
            journal.append([Entry(0, b"", b"")], documents)
        with pytest.raises(ValueError, match="at least one"):
            journal.append([])
        journal.append([Entry(0, b"", b"")])


def test_a_journal_is_never_created_over_another_or_its_remains(tmp_path: Path) -> None:
    filled(tmp_path / "whole")
    with pytest.raises(JournalExists, match=r"journal\.db exists"):
        Journal.create(tmp_path / "whole", b"")
    for index, name in enumerate(
        ("journal.db-wal", "journal.mark", "snapshots/0000000000000001.snapshot")
    ):
        left = tmp_path / str(index) / name
        left.parent.mkdir(parents=True)
        left.touch()
        with pytest.raises(JournalExists, match=left.name):
            Journal.create(tmp_path / str(index), b"")


def test_an_interrupted_creation_leaves_no_journal_and_can_be_repeated(tmp_path: Path) -> None:
    (tmp_path / "journal.db.new").write_bytes(b"half a")
    with pytest.raises(JournalMissing):
        Journal.open(tmp_path)
    Journal.create(tmp_path, b"").close()
    Journal.open(tmp_path).close()


def test_a_missing_journal_is_reported_and_not_created(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(JournalMissing, match="there is no journal in"):
            Journal.open(folder)
        with pytest.raises(JournalMissing):
            Reader.of(folder)
    assert [] == list(tmp_path.iterdir())


def test_a_foreign_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    path.write_bytes(b"Dear diary, today nothing was journalled. " * 100)
    text = path.read_bytes()
    with pytest.raises(JournalForeign, match="not a journal, or its beginning is damaged"):
        Journal.open(tmp_path)
    assert text == path.read_bytes()
    path.unlink()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE diary(day, text)")
    other.close()
    with pytest.raises(JournalForeign, match="application id"):
        Journal.open(tmp_path)
    for left in (b"", b"S"):  # SQLite treats a single byte as an empty file
        path.write_bytes(left)
        (tmp_path / "journal.db-wal").write_bytes(b"the newest entries")
        with pytest.raises(JournalForeign, match=f"it has {len(left)} bytes"):
            Journal.open(tmp_path)
        assert (tmp_path / "journal.db-wal").exists(), "SQLite deletes the log beside an empty file"


@pytest.mark.parametrize(("found", "age"), [(0, "older"), (2, "newer")])
def test_another_format_is_refused(tmp_path: Path, found: int, age: str) -> None:
    filled(tmp_path)
    database = sqlite3.connect(tmp_path / "journal.db")
    database.execute(f"PRAGMA user_version = {found}")
    database.close()
    with pytest.raises(JournalFormat, match=f"format {found}, {age} than format 1"):
        Journal.open(tmp_path)


def test_an_unwritable_folder_is_a_journal_error(tmp_path: Path) -> None:
    filled(tmp_path)
    (tmp_path / "journal.lock").unlink()
    (tmp_path / "journal.lock").mkdir()
    with pytest.raises(JournalError, match=r"journal\.lock cannot be opened"):
        Journal.open(tmp_path)


def test_a_file_that_cannot_be_opened_is_not_called_damaged(tmp_path: Path) -> None:
    filled(tmp_path)
    for name, message in (
        ("journal.db-wal", "could not be read"),
        ("journal.db-shm", "cannot be opened for writing"),
    ):
        (tmp_path / name).mkdir()
        with (
            pytest.raises(JournalError, match=message) as raised,
            Journal.open(tmp_path) as journal,
        ):
            journal.begin()
        assert JournalError is type(raised.value)
        (tmp_path / name).rmdir()
    Journal.open(tmp_path).close()


def test_a_backup_of_a_journal_in_use_is_complete_and_independent(tmp_path: Path) -> None:
    machine = filled(tmp_path / "j")
    with Journal.open(tmp_path / "j") as journal:
        append(journal, machine, [1, 2, 3])
        assert 63 == backup(tmp_path / "j", tmp_path / "copy")
        with pytest.raises(JournalExists):
            backup(tmp_path / "j", tmp_path / "copy")
    assert {"journal.db"} == {path.name for path in (tmp_path / "copy").iterdir()}
    assert 0o600 == (tmp_path / "copy" / "journal.db").stat().st_mode & 0o777
    assert history(tmp_path / "j") == history(tmp_path / "copy")
    with Journal.open(tmp_path / "copy") as copy:
        append(copy, machine, [4])
        assert 64 == copy.last


def test_a_failed_backup_is_not_reported_as_a_damaged_journal(tmp_path: Path) -> None:
    filled(tmp_path / "j")
    with (
        Reader(tmp_path / "j") as reader,
        pytest.raises(
            JournalError, match=r"could not be copied to /dev/full: database or disk is full"
        ),
    ):
        reader.copy_to(Path("/dev/full"))
    (tmp_path / "in the way").write_text("")
    with pytest.raises(JournalError, match="a backup cannot be made in"):
        backup(tmp_path / "j", tmp_path / "in the way" / "copy")
    with pytest.raises(JournalMissing):
        backup(tmp_path / "nothing", tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_failing_to_turn_the_log_on_is_an_error_unlike_in_sqlite() -> None:
    """Without a log, a file whose first write was interrupted could never be opened by a reader
    again."""
    in_memory = sqlite3.connect(":memory:")
    with pytest.raises(sqlite3.OperationalError, match="the mode is still 'memory'"):
        wal.turn_on(in_memory)
    in_memory.close()


def test_remains_of_an_interrupted_creation_are_not_taken_for_the_new_log(tmp_path: Path) -> None:
    for left in ("", "-journal", "-wal", "-shm"):
        (tmp_path / f"journal.db.new{left}").write_bytes(b"of another time")
    Journal.create(tmp_path, GENESIS).close()
    assert [] == list(tmp_path.glob("journal.db.new*"))
