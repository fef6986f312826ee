"""Group commit: one thread that stores whatever waits, as one group, and goes on at once with what
has come meanwhile.

A lone entry is stored right away; under load the groups grow by themselves to what arrives during
one commit, which is what makes a durable journal fast. A new group begins as soon as the one before
it is durable and something waits. Between two groups the thread may delete one piece of what an
archive holds. Nothing is reported durable before `append` has returned.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Self

from laissez.exchange.events import Document
from laissez.journal.errors import JournalFailed
from laissez.journal.format import Base, Entry
from laissez.journal.store import Journal

__all__ = ["ENTRIES_PER_GROUP_MAX", "GroupCommit", "Storing"]

# a backlog is worked off in pieces, so that the first of them is acknowledged soon
ENTRIES_PER_GROUP_MAX = 4_096


class Storing:
    """What waits to be stored, and how a group of it is. When that is done is for those that are
    made of it: `_wake` is called when something waits and nobody was at work, which is what
    `_asleep` says."""

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
        self.last_at = journal.last_at  # of the last entry that was put
        self._waiting: list[tuple[Entry, Sequence[Document]]] = []
        self._cut: Base | None = None  # up to here groups are to be deleted
        self._asleep = True
        self._closing = False

    @property
    def pending(self) -> int:
        """How many entries were put and are not durable yet."""
        return self._last - self.durable

    def put(self, entry: Entry, documents: Sequence[Document] = ()) -> int:
        """Hand an entry over to be stored; returns its sequence number. It is durable when
        `on_durable` says so, not before."""
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

    def cut(self, until: Base) -> None:
        """Delete the groups up to there, which an archive holds, between one group and the next.
        `close` does not wait for it: the next start goes on."""
        self._cut = until
        if self._asleep:
            self._asleep = False
            self._wake()

    def close(self) -> None:
        """Store what waits, then stop. The journal stays open; it is its opener's to close."""
        raise NotImplementedError

    def _wake(self) -> None:
        raise NotImplementedError

    def _store_group(self) -> None:
        """Store what waits, or the first part of it."""
        # A slice taken, then deleted, each in one step: `put` adds at the end meanwhile and is not
        # disturbed.
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
        """Whatever it was, nothing more is stored, and everybody must know."""
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


class GroupCommit(Storing):
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
        """Sleep until something waits; False if nothing does and nothing will."""
        while not self._waiting and not (self._cut and not self._closing):
            if self._closing:
                return False
            self._asleep = True
            # Looked at again after saying so: either `put` sees this thread asleep, or this thread
            # sees what was put.
            if not self._waiting and not self._cut and not self._closing:
                self._woken.wait()
            self._woken.clear()
            self._asleep = False
        return True
