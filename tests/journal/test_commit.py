"""Group commit: when entries are durable, the order of reports, and failures of the disk."""

from __future__ import annotations

import queue
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from laissez.journal import Document, Entry, GroupCommit, Journal, JournalFailed, Reader
from laissez.journal.commit import ENTRIES_PER_GROUP_MAX
from support.journal_sum import GENESIS, Sum, recovered

pytestmark = pytest.mark.once

LONG = 30.0  # seconds; the longest wait for an expected event


class GatedJournal(Journal):
    """A journal whose appends wait for the test."""

    def gate(self) -> None:
        self.arrived: queue.Queue[int] = queue.Queue()
        self.let_through: queue.Queue[None] = queue.Queue()

    def append(
        self, entries: Sequence[Entry], documents: Sequence[tuple[int, Document]] = ()
    ) -> None:
        self.arrived.put(len(entries))
        self.let_through.get(timeout=LONG)
        super().append(entries, documents)


class FailingConnection:
    """A connection on which a statement fails from its n-th time on."""

    def __init__(
        self, real: sqlite3.Connection, statement: str, times: int, error: BaseException
    ) -> None:
        self._real, self._statement, self._left, self._error = real, statement, times, error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        if sql.startswith(self._statement):
            self._left -= 1
            if self._left < 0:
                raise self._error
        return self._real.execute(sql, *values)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal.create(tmp_path, GENESIS) as journal:
        yield journal


def never(_: object) -> None:
    raise AssertionError("must not be called")


def fail(
    journal: Journal, statement: str, times: int = 0, error: BaseException | None = None
) -> None:
    error = error or sqlite3.OperationalError("disk I/O error")
    journal.begin()
    assert journal._connection is not None
    journal._connection = cast(
        sqlite3.Connection, FailingConnection(journal._connection, statement, times, error)
    )


def test_nothing_is_reported_durable_before_append_has_returned(tmp_path: Path) -> None:
    Journal.create(tmp_path, b"").close()
    said: queue.Queue[int] = queue.Queue()
    with GatedJournal.open(tmp_path) as journal:
        journal.gate()
        commit = GroupCommit(journal, on_durable=said.put, on_failure=never)
        assert 1 == commit.put(Entry(1, b"", b""))
        assert 1 == journal.arrived.get(timeout=LONG)
        assert [2, 3, 4] == [commit.put(Entry(at, b"", b"")) for at in (2, 3, 4)]
        assert (True, 0, 4) == (said.empty(), commit.durable, commit.pending)
        journal.let_through.put(None)
        assert 1 == said.get(timeout=LONG)
        assert 3 == journal.arrived.get(timeout=LONG), "what came meanwhile is the next group"
        assert (True, 1, 3) == (said.empty(), commit.durable, commit.pending)
        journal.let_through.put(None)
        assert 4 == said.get(timeout=LONG)
        commit.close()
        assert 0 == commit.pending


def test_entries_are_stored_when_reported_durable(journal: Journal) -> None:
    found: list[tuple[int, int]] = []

    def look(seq: int) -> None:
        with Reader.of(journal.folder) as reader:
            found.append((seq, reader.tail().last))

    with GroupCommit(journal, on_durable=look, on_failure=never) as commit:
        for at in range(200):
            commit.put(Entry(at, b"", b""))
    assert found
    assert all(seq == stored for seq, stored in found)


def test_closing_stores_queued_entries_in_order_with_their_documents(journal: Journal) -> None:
    machine = Sum(int(GENESIS))
    said: list[int] = []
    with GroupCommit(journal, on_durable=said.append, on_failure=never) as commit:
        for at in range(3000):
            assert at + 1 == commit.put(*machine.enter(at, at))
    assert (3000, 3000, 0) == (journal.last, commit.durable, commit.pending)
    assert sorted(said) == said
    assert 3000 == said[-1]
    assert machine.total == recovered(journal).machine.total


def test_a_sleeping_thread_is_woken_each_time(journal: Journal) -> None:
    said: queue.Queue[int] = queue.Queue()
    with GroupCommit(journal, on_durable=said.put, on_failure=never) as commit:
        for seq in range(1, 200):
            commit.put(Entry(seq, b"", b""))
            assert seq == said.get(timeout=LONG)


def test_a_backlog_is_stored_in_groups_of_bounded_size(tmp_path: Path) -> None:
    Journal.create(tmp_path, b"").close()
    with GatedJournal.open(tmp_path) as journal:
        journal.gate()
        commit = GroupCommit(journal, on_durable=lambda seq: None, on_failure=never)
        commit.put(Entry(0, b"", b""))
        journal.arrived.get(timeout=LONG)
        for _ in range(ENTRIES_PER_GROUP_MAX + 1):
            commit.put(Entry(0, b"", b""))
        for _ in range(3):
            journal.let_through.put(None)
        commit.close()
        assert [ENTRIES_PER_GROUP_MAX, 1] == [journal.arrived.get(timeout=LONG) for _ in range(2)]


def test_an_entry_with_an_earlier_time_is_refused_by_put(journal: Journal) -> None:
    with GroupCommit(journal, on_durable=lambda seq: None, on_failure=never) as commit:
        commit.put(Entry(5, b"", b""))
        with pytest.raises(ValueError, match="time never falls"):
            commit.put(Entry(4, b"", b""))
        assert 2 == commit.put(Entry(5, b"", b""))


def test_nothing_is_accepted_after_closing(journal: Journal) -> None:
    commit = GroupCommit(journal, on_durable=never, on_failure=never)
    commit.close()
    with pytest.raises(JournalFailed, match="being closed"):
        commit.put(Entry(0, b"", b""))
    journal.close()
    with pytest.raises(JournalFailed, match="is closed"):
        journal.append([Entry(0, b"", b"")])


@pytest.mark.parametrize("statement", ["BEGIN", "INSERT", "COMMIT"])
def test_after_a_failed_write_the_journal_accepts_nothing_and_keeps_acknowledged_entries(
    journal: Journal, statement: str
) -> None:
    machine = Sum(int(GENESIS))
    fail(journal, statement, times=2)
    for at in (1, 2):
        entry, _ = machine.enter(at, 10)
        journal.append([entry], [(0, Document("tens", entry.outcome)), (0, Document("also", b""))])
    entry, _ = machine.enter(3, 10)
    with pytest.raises(
        JournalFailed, match="could not be written after entry 2: disk I/O error"
    ) as first:
        journal.append([entry], [(0, Document("tens", entry.outcome)), (0, Document("also", b""))])
    assert isinstance(first.value.__cause__, sqlite3.OperationalError)
    fail(journal, "")
    with pytest.raises(
        JournalFailed, match="could not be written after entry 2: disk I/O error"
    ) as again:
        journal.append([entry])
    assert first.value.__cause__ is again.value.__cause__, "it was not tried again"


def test_an_interrupted_append_counts_as_failed(journal: Journal) -> None:
    fail(journal, "INSERT", error=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        journal.append([Entry(0, b"", b"")])
    with pytest.raises(JournalFailed, match="could not be written after entry 0"):
        journal.append([Entry(0, b"", b"")])


def test_a_failed_journal_is_reopened_with_its_acknowledged_entries(journal: Journal) -> None:
    machine = Sum(int(GENESIS))
    fail(journal, "COMMIT")
    journal.append([machine.enter(1, 1)[0]])
    entry, documents = Sum(machine.total).enter(2, 9)
    with pytest.raises(JournalFailed):
        journal.append([entry], [(0, document) for document in documents])
    journal.close()
    with Journal.open(journal.folder) as again:
        assert (1, machine.total) == (again.last, recovered(again).machine.total)


def test_a_failure_is_reported_once_and_nothing_after_it_is_durable(journal: Journal) -> None:
    said: list[int] = []
    failures: queue.Queue[JournalFailed] = queue.Queue()
    fail(journal, "INSERT", times=1)
    durable = threading.Event()

    def note(seq: int) -> None:
        said.append(seq)
        durable.set()

    commit = GroupCommit(journal, on_durable=note, on_failure=failures.put)
    commit.put(Entry(0, b"", b""))
    assert durable.wait(LONG)
    commit.put(Entry(0, b"", b""))
    failure = failures.get(timeout=LONG)
    assert commit.failed is failure
    with pytest.raises(JournalFailed, match="could not be written after entry 1"):
        commit.put(Entry(0, b"", b""))
    commit.close()
    assert ([1], 1, 1, True) == (said, commit.durable, commit.pending, failures.empty())


def test_a_raising_callback_stops_the_thread_and_is_reported(journal: Journal) -> None:
    failures: queue.Queue[JournalFailed] = queue.Queue()
    commit = GroupCommit(journal, on_durable=never, on_failure=failures.put)
    commit.put(Entry(0, b"", b""))
    assert "must not be called" in str(failures.get(timeout=LONG))
    with pytest.raises(JournalFailed, match="the journal's thread stopped after entry 1"):
        commit.put(Entry(0, b"", b""))
    commit.close()
