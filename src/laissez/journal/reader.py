"""Reading a journal: the archives, oldest first, then the live file, as one gap-free sequence.

A reader takes no lock and may be used beside a running server, by one thread at a time. The server
may move groups from the live file into an archive between two reads, so the archives are listed
again whenever the live file does not hold an entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self, TypeVar

from laissez.journal import mark
from laissez.journal.errors import JournalDamaged, JournalForeign
from laissez.journal.format import (
    ARCHIVES,
    DATABASE,
    SEQ_MAX,
    Entry,
    Filed,
    Group,
    Position,
    Tail,
    archives,
)
from laissez.journal.segment import Segment

T = TypeVar("T")


class Reader:
    def __init__(self, folder: Path, *, archived: bool = False) -> None:
        """Read the live file, and the archives too if `archived`."""
        self.folder = folder
        self._archived = archived
        self._archives: dict[str, Segment] = {}  # by name; names sort by age
        self._live = Segment(folder / DATABASE)
        self.genesis, self.identity = self._live.genesis, self._live.identity
        self.created, self.start = self._live.created, self._live.start
        try:
            self._list_archives()
        except BaseException:
            self.close()
            raise

    @classmethod
    def of(cls, folder: Path) -> Reader:
        """A reader of the live file and the archives."""
        return cls(folder, archived=True)

    def close(self) -> None:
        for segment in self._segments():
            segment.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Entries

    def base(self) -> Position:
        """Where the oldest file begins."""
        return min(segment.base() for segment in self._segments())

    def tail(self) -> Tail:
        return self._live.tail()

    def last_group(self) -> Group | None:
        return self._live.last_group()

    def entry(self, seq: int) -> Entry | None:
        group = self._find(lambda segment: segment.holding(seq))
        return group.entries[seq - group.first] if group else None

    def chain_at(self, seq: int) -> bytes | None:
        """The link of the group that holds the entry, as stored in a snapshot at `seq`; the start
        link for 0. None if there is no such entry."""
        return self._find(lambda segment: segment.chain_at(seq)) if seq else self.start

    def groups(self, first: int = 1, last: int | None = None) -> Iterator[Group]:
        """The groups in order, from the one that holds `first` to the one that holds `last`."""
        last = SEQ_MAX if last is None else min(last, SEQ_MAX)
        first = max(first, 1)
        before: Group | None = None
        while first <= last:
            segment = self._segment_with(first)
            # Two files may hold the same groups, and must then agree on them.
            if before and segment.chain_at(before.last) not in (None, before.chain):
                raise JournalForeign(
                    f"{self.folder} holds two histories up to entry {before.last}: an archive and"
                    " the file that follows it differ. Put back a complete backup."
                )
            reached = first
            for group in segment.groups(first, last):
                yield group
                before, first = group, group.last + 1
            if first == reached and segment is self._live and segment.base().seq < first:
                return

    def document(self, name: str, seq: int) -> Filed:
        """The document of that name filed with the entry. Its whole group is checked."""
        group = self._find(lambda segment: segment.holding(seq))
        for filed in group.documents if group else ():
            if (filed.seq, filed.name) == (seq, name):
                return filed
        raise JournalDamaged(
            f"table documents of {self.folder / DATABASE}",
            f"document {name!r} of entry {seq} is not filed with that entry",
        )

    def document_heads(self, name: str, size: int) -> list[tuple[int, bytes]]:
        """The entries with a document of that name, oldest first, and the first `size` bytes of
        each document, unchecked."""
        found = dict(self._live.document_heads(name, size))
        self._list_archives()  # after the live file: groups cut off it are here
        for segment in self._archives.values():
            found = dict(segment.document_heads(name, size)) | found
        return sorted(found.items())

    # The files

    def check_file(self) -> None:
        """Let SQLite check the structure of its files."""
        for segment in self._segments():
            segment.check_file()

    def check_mark(self) -> int:
        """Check that the journal holds the marked entry with the same link; returns that entry. The
        mark is read first: a running server writes it after the entries."""
        marked = mark.read(self.folder)
        if marked is None:
            return 0
        last = self.tail().last
        path = self.folder / DATABASE
        advice = (
            "Was an older copy put back, or journal.db-wal lost? Put back a complete backup; to go"
            " on with what is here, remove journal.mark."
        )
        if marked.seq > last:
            raise JournalDamaged(
                f"entries {last + 1} to {marked.seq} of {path}",
                f"they were stored and are missing (journal.mark). {advice}",
            )
        # After a power failure the mark may be older than the base.
        if marked.seq >= self._live.base().seq and self.chain_at(marked.seq) != marked.link:
            raise JournalForeign(
                f"{path} holds another history than journal.mark speaks of, up to entry"
                f" {marked.seq}. {advice}"
            )
        return marked.seq

    def copy_to(self, path: Path) -> None:
        """Copy the live file as it is now."""
        self._live.copy_to(path)

    def _segments(self) -> list[Segment]:
        return [*self._archives.values(), self._live]

    def _list_archives(self) -> None:
        for path in archives(self.folder) if self._archived else ():
            if path.name in self._archives:
                continue
            segment = Segment(path)
            if segment.start != self.start:
                segment.close()
                raise JournalForeign(
                    f"{path} belongs to another journal than the one in {self.folder}. Move it"
                    " away, or put back the journal it belongs to."
                )
            self._archives[path.name] = segment

    def _find(self, ask: Callable[[Segment], T | None]) -> T | None:
        """The answer of the newest segment that has one."""
        found = ask(self._live)
        if found is not None:
            return found
        self._list_archives()
        answers = map(ask, reversed(self._archives.values()))
        return next((answer for answer in answers if answer is not None), None)

    def _segment_with(self, seq: int) -> Segment:
        """The oldest segment that holds the entry, or the live one if the entry does not exist
        yet."""
        if self._live.base().seq < seq and not self._archives:
            return self._live
        self._list_archives()
        for segment in self._archives.values():
            if segment.base().seq < seq <= segment.tail().last:
                return segment
        base = self._live.base()
        if base.seq < seq:
            return self._live
        raise JournalDamaged(
            f"entries {seq} to {base.seq} of {self.folder}",
            f"they were moved out of {DATABASE} and are in no file of the folder {ARCHIVES}. Put"
            " the archive back.",
        )
