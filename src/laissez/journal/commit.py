"""Group commit: one thread stores all waiting entries as one group, then those that arrived
meanwhile.

A lone entry is stored right away. Under load a group grows to the number of entries that arrive
during one commit, which is what makes a durable journal fast. Between two groups the thread may cut
one piece of archived groups off the live file. No entry is reported durable before `append` has
returned.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Self

from laissez.exchange.events import Document
from laissez.journal.errors import JournalFailed
from laissez.journal.format import Entry, Position
from laissez.journal.store import Journal

# bounds the latency of the first entries of a backlog
ENTRIES_PER_GROUP_MAX = 4_096


class CommitQueue:
    """The queue of entries to store. A subclass decides when to store a group. If it sets
    `_asleep`, `put` and `cut` clear that and call `_wake`."""

    def __init__(
        self,
        journal: Journal,
        *,
        on_durable: Callable[[int], None],
        on_failure: Callable[[JournalFailed], None],
    ) -> None:
        self.durable = journal.last  # entries up to here are stored and reported
        self.failed: JournalFailed | None = None
        self._journal = journal
        self._on_durable = on_durable
        self._on_failure = on_failure
        self._last = journal.last
        self.last_at = journal.last_at  # of the last entry queued
        self._waiting: list[tuple[Entry, Sequence[Document]]] = []
        self._cut: Position | None = None  # the end of a cut under way
        self._asleep = True
        self._closing = False

    @property
    def pending(self) -> int:
        """The number of entries that are queued and not yet durable."""
        return self._last - self.durable

    def put(self, entry: Entry, documents: Sequence[Document] = ()) -> int:
        """Queue an entry; returns its sequence number. `on_durable` reports when it is durable."""
        if self.failed:
            raise JournalFailed(str(self.failed)) from self.failed
        if self._closing:
            raise JournalFailed(f"the journal in {self._journal.folder} is being closed")
        if entry.at < self.last_at:
            raise ValueError(
                f"time never falls in a journal: an entry at {entry.at} cannot follow one at"
                f" {self.last_at}"
            )
        self._last += 1
        self.last_at = entry.at
        self._waiting.append((entry, documents))
        if self._asleep:
            self._asleep = False
            self._wake()
        return self._last

    @property
    def cutting(self) -> bool:
        return self._cut is not None

    def cut(self, until: Position) -> None:
        """Cut archived groups up to `until` off the live file, piece by piece between commits.
        `close` does not wait for the cut; the next start resumes it."""
        self._cut = until
        if self._asleep:
            self._asleep = False
            self._wake()

    def close(self) -> None:
        """Store all queued entries, then stop. The journal stays open."""
        raise NotImplementedError

    def _wake(self) -> None:
        raise NotImplementedError

    def _store_group(self) -> None:
        """Store one group of queued entries."""
        # Copying and deleting the slice are atomic, so `put` may append from another thread
        # meanwhile.
        taken = self._waiting[:ENTRIES_PER_GROUP_MAX]
        del self._waiting[: len(taken)]
        documents = [
            (index, document)
            for index, (_, filed) in enumerate(taken)
            if filed
            for document in filed
        ]
        self._journal.append([entry for entry, _ in taken], documents)

    def _cut_piece(self) -> None:
        if self._cut and self._journal.cut(self._cut):
            self._cut = None

    def _report(self) -> None:
        self.durable = self._journal.last
        self._on_durable(self.durable)

    def _fail(self, error: BaseException) -> None:
        """Stop for good after any error, and report it."""
        failure = (
            error
            if isinstance(error, JournalFailed)
            else JournalFailed(
                f"the journal's thread stopped after entry {self.durable}: {error!r}"
            )
        )
        failure.__cause__ = failure.__cause__ or (error if error is not failure else None)
        self.failed = failure
        self._on_failure(failure)


class GroupCommit(CommitQueue):
    """`put` is for ONE thread, and cheap: the thread that stores is only woken if it sleeps.
    `on_durable(seq)` and `on_failure(error)` are called in the storing thread: hand over and
    return."""

    def __init__(
        self,
        journal: Journal,
        *,
        on_durable: Callable[[int], None],
        on_failure: Callable[[JournalFailed], None],
    ) -> None:
        super().__init__(journal, on_durable=on_durable, on_failure=on_failure)
        self._asleep = False
        self._woken = threading.Event()
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._closing = True
        self._woken.set()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _wake(self) -> None:
        self._woken.set()

    def _run(self) -> None:
        try:
            while self._work_waits():
                if self._waiting:
                    self._store_group()
                    self._report()
                self._cut_piece()
        except BaseException as error:
            self._fail(error)

    def _work_waits(self) -> bool:
        """Sleep until there is work. False if the queue is empty and closed."""
        while not self._waiting and not (self._cut and not self._closing):
            if self._closing:
                return False
            self._asleep = True
            # Check again after setting `_asleep`: either `put` sees the flag and wakes this thread,
            # or this thread sees the entry.
            if not self._waiting and not self._cut and not self._closing:
                self._woken.wait()
            self._woken.clear()
            self._asleep = False
        return True
