"""The message for each kind of damage. `laissez check damage` (test_damage.py) covers damage
anywhere."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from laissez.journal import (
    Diverged,
    Document,
    Entry,
    Journal,
    JournalDamaged,
    JournalForeign,
    Reader,
    recover,
)
from laissez.journal.format import pack, unpack
from support.journal_sum import GENESIS, Sum, begin, filed, filled, history, recovered

pytestmark = pytest.mark.once

GROUPS, SIZE = 30, 4


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "journal"
    filled(folder, GROUPS, SIZE)
    return folder


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    """A copy to damage. It has no mark, unless the test is about the mark: other checks must find
    damage without it."""
    shutil.copytree(whole, tmp_path / "copy")
    (tmp_path / "copy" / "journal.mark").unlink()
    return tmp_path / "copy"


def state(folder: Path) -> tuple[object, ...]:
    """The whole state of a recovered server."""
    with Journal.open(folder) as journal, journal.reader() as reader:
        machine = recovered(journal).machine
        documents = [*filed(reader, "tens"), *filed(reader, "also")]
        groups = [(group.first, group.entries, group.documents) for group in reader.groups()]
        return (
            journal.genesis,
            journal.identity,
            journal.last,
            journal.head,
            journal.last_at,
            machine.total,
            documents,
            groups,
        )


def flip(path: Path, offset: int, mask: int) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ mask]))


def edit(folder: Path, *statements: str) -> None:
    database = sqlite3.connect(folder / "journal.db", isolation_level=None)
    for statement in statements:
        database.execute(statement)
    database.close()


def rewrite(folder: Path, change: Callable[[list[Entry]], None]) -> None:
    """Change the entries of the group at 41."""
    database = sqlite3.connect(folder / "journal.db", isolation_level=None)
    entries = unpack(database.execute("SELECT entries FROM groups WHERE first = 41").fetchone()[0])
    change(entries)
    database.execute("UPDATE groups SET entries = ? WHERE first = 41", (pack(entries),))
    database.close()


COPY = "INSERT INTO groups SELECT {}, count, chain, entries FROM groups WHERE first = {}"


@pytest.mark.parametrize(
    ("statements", "where"),
    [
        pytest.param(
            ["DELETE FROM groups WHERE first = 41"],
            "entries 45 to 48: .* entry 41 was expected next",
            id="a group deleted",
        ),
        pytest.param(
            ["DELETE FROM groups WHERE first = 1"],
            "entries 5 to 8: .* entry 1 was expected next",
            id="the first group deleted",
        ),
        pytest.param(
            ["DELETE FROM groups WHERE first = 117", COPY.format(117, 41)],
            "entries 117 to 120: the checksum",
            id="the last replaced",
        ),
        pytest.param(
            [COPY.format(121, 117)],
            "entries 121 to 124: the checksum differs",
            id="a group doubled at the end",
        ),
        pytest.param(
            [COPY.format(42, 41)],
            "entries 42 to 45: .* entry 45 was expected next",
            id="a group doubled in the middle",
        ),
        pytest.param(
            [COPY.format(0, 41)],
            "entries 5 to 8: the group before ends at entry 3",
            id="a group before the first",
        ),
        pytest.param(
            [
                "UPDATE groups SET first = -1 WHERE first = 41",
                "UPDATE groups SET first = 41 WHERE first = 45",
                "UPDATE groups SET first = 45 WHERE first = -1",
            ],
            "entries 41 to 44: the checksum differs",
            id="two groups exchanged",
        ),
        pytest.param(
            ["UPDATE groups SET count = 3 WHERE first = 41"],
            "entries 41 to 43: the checksum differs",
            id="a count lowered",
        ),
        pytest.param(
            ["UPDATE groups SET count = 'x' WHERE first = 41"],
            "the group at entry 41",
            id="a count that is none",
        ),
        pytest.param(
            ["UPDATE groups SET count = 0 WHERE first = 41"],
            "the group at entry 41",
            id="a count of nothing",
        ),
        pytest.param(
            ["UPDATE groups SET chain = zeroblob(32) WHERE first = 41"],
            "entries 41 to 44: the checksum differs",
            id="a link",
        ),
        pytest.param(
            ["UPDATE documents SET body = 'x' WHERE seq = (SELECT min(seq) FROM documents)"],
            "table documents",
            id="a document's type",
        ),
        pytest.param(
            ["UPDATE documents SET body = x'00' WHERE seq = (SELECT min(seq) FROM documents)"],
            "entries .* the checksum",
            id="a document's body",
        ),
        pytest.param(
            ["DELETE FROM documents WHERE seq = (SELECT max(seq) FROM documents)"],
            "entries .* the checksum differs",
            id="a document deleted",
        ),
        pytest.param(
            ["INSERT INTO documents VALUES ('x', 41, x'00')"],
            "entries 41 to 44: the checksum differs",
            id="a document added",
        ),
        pytest.param(
            ["INSERT INTO documents VALUES ('x', 121, x'00')"],
            "belongs to entry 121, which",
            id="a document of no entry",
        ),
        pytest.param(
            ["UPDATE meta SET value = x'00' WHERE key = 'genesis'"],
            "header of .*checksum differs",
            id="the genesis",
        ),
        pytest.param(
            ["DELETE FROM meta WHERE key = 'identity'"], "header of .*is missing", id="the identity"
        ),
        pytest.param(
            ["DROP INDEX documents_by_seq"], "header of .*the tables are not", id="a missing index"
        ),
        pytest.param(
            ["CREATE TABLE more(x)"], "header of .*the tables are not", id="a table too many"
        ),
    ],
)
def test_an_edited_journal_is_refused_with_the_place(
    copy: Path, statements: list[str], where: str
) -> None:
    edit(copy, *statements)
    with pytest.raises(JournalDamaged, match=where):
        state(copy)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            lambda entries: entries.__setitem__(
                2, Entry(entries[2].at + 1, entries[2].request, entries[2].outcome)
            ),
            id="a time",
        ),
        pytest.param(
            lambda entries: entries.__setitem__(2, Entry(entries[2].at, b"7", entries[2].outcome)),
            id="a request",
        ),
        pytest.param(
            lambda entries: entries.__setitem__(2, Entry(entries[2].at, entries[2].request, b"ok")),
            id="an outcome",
        ),
        pytest.param(lambda entries: entries.reverse(), id="the order"),
        pytest.param(lambda entries: entries.pop(), id="an entry deleted"),
    ],
)
def test_a_changed_entry_is_refused_wherever_it_is_read(
    copy: Path, change: Callable[[list[Entry]], None]
) -> None:
    rewrite(copy, change)
    with pytest.raises(JournalDamaged, match="entries 41 to 44: the checksum differs"):
        state(copy)
    with Reader.of(copy) as reader:
        assert reader.entry(40)
        assert reader.entry(45)
        with pytest.raises(JournalDamaged, match="entries 41 to 44"):
            reader.entry(42)


def test_undecodable_or_inconsistent_entries_are_refused_despite_a_valid_checksum(
    tmp_path: Path,
) -> None:
    with Journal.create(tmp_path, GENESIS) as journal:
        journal.append([Entry(1, b"1", b"")])
        with journal.reader() as reader:
            (group,) = reader.groups()
    for packed, what in (
        (b"\xc1", "cannot be decoded"),
        (pack([]), "should hold 1 entries and holds 0"),
    ):
        damaged = type(group)(group.first, group.count, packed, group.chain)
        with pytest.raises(JournalDamaged, match=what):
            _ = damaged.entries


def test_the_mark_detects_a_missing_end(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path / "copy")
    edit(
        tmp_path / "copy",
        "DELETE FROM groups WHERE first = 117",
        "DELETE FROM documents WHERE seq >= 117",
    )
    with pytest.raises(
        JournalDamaged,
        match=r"entries 117 to 120 .* are missing \(journal\.mark\)\. Was an older copy put back",
    ):
        Journal.open(tmp_path / "copy")
    (tmp_path / "copy" / "journal.mark").unlink()
    assert history(whole)[:-1] == history(tmp_path / "copy"), (
        "as the message says, without the mark one may go on with what is there"
    )


def test_the_mark_detects_another_journal(whole: Path, tmp_path: Path) -> None:
    filled(tmp_path / "other", GROUPS + 1, SIZE)
    shutil.copy(whole / "journal.mark", tmp_path / "other" / "journal.mark")
    with pytest.raises(JournalForeign, match=r"another history than journal\.mark speaks of"):
        Journal.open(tmp_path / "other")


@pytest.mark.parametrize("offset", [0, 10, 63, 64, 100, 127])
def test_a_torn_mark_leaves_the_previous_one(whole: Path, tmp_path: Path, offset: int) -> None:
    shutil.copytree(whole, tmp_path / "copy")
    flip(tmp_path / "copy" / "journal.mark", offset, 0xFF)
    assert GROUPS * SIZE == len([entry for group in history(tmp_path / "copy") for entry in group])


def test_an_unreadable_mark_is_refused(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path / "copy")
    (tmp_path / "copy" / "journal.mark").write_bytes(b"x" * 128)
    with pytest.raises(JournalDamaged, match=r"journal\.mark: the mark cannot be read"):
        Journal.open(tmp_path / "copy")
    (tmp_path / "copy" / "journal.mark").write_bytes(b"")
    Journal.open(tmp_path / "copy").close()


def test_a_machine_that_answers_differently_is_refused_at_the_entry(copy: Path) -> None:
    with Journal.open(copy) as journal:
        with pytest.raises(
            Diverged,
            match=(
                r"entry 1 \(at 1\): the outcome stored is b'1000 at 1', replaying gives b'1001"
                r" at 1'"
            ),
        ) as raised:
            recover(journal, begin=lambda genesis: Sum(int(genesis) + 1), restore=begin)
        assert (1, 1) == (raised.value.seq, raised.value.at)


def test_a_long_outcome_is_shortened_in_the_message(tmp_path: Path) -> None:
    with Journal.create(tmp_path, GENESIS) as journal:
        journal.append([Entry(1, b"1", b"x" * 5000)])
        with pytest.raises(
            Diverged, match=r"x\.*'\.\.\. \(5000 bytes\), replaying gives b'1001 at 1'"
        ) as raised:
            recovered(journal)
    assert len(str(raised.value)) < 500


def test_entries_deleted_under_an_open_journal_are_noticed(copy: Path) -> None:
    with Journal.open(copy) as journal:
        edit(copy, "DELETE FROM groups WHERE first = 117", "DELETE FROM documents WHERE seq >= 117")
        with pytest.raises(
            JournalDamaged, match="entries 117 to 120: they were there when the journal was opened"
        ):
            recovered(journal)


def test_a_document_without_an_entry_is_not_returned(copy: Path) -> None:
    edit(copy, "INSERT INTO documents VALUES ('stray', 999, x'00')")
    with (
        Reader.of(copy) as reader,
        pytest.raises(
            JournalDamaged, match="document 'stray' of entry 999 is not filed with that entry"
        ),
    ):
        filed(reader, "stray")


def test_a_machine_that_files_other_documents_is_refused_at_the_entry(copy: Path) -> None:
    with Reader.of(copy) as reader:
        seq = next(one.seq for one in filed(reader, "tens") if one.seq > 40)

    class Forgets(Sum):
        def apply(self, at: int, request: bytes) -> tuple[bytes, tuple[Document, ...]]:
            outcome, documents = super().apply(at, request)
            return outcome, () if at == seq else documents

    with (
        Journal.open(copy) as journal,
        pytest.raises(
            Diverged,
            match=rf"entry {seq} .* the document 'also' stored is b'', replaying gives b'\(none\)'",
        ),
    ):
        recover(journal, begin=lambda genesis: Forgets(int(genesis)), restore=begin)
