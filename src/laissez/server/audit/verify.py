"""Is everything as it was written? The journal's chain, the snapshots, the log of refusals and the
digests, each by itself and against each other.

A start believes a snapshot, so each is compared with what carrying everything out again gives; that
takes most of the time. Nothing is locked and nothing changed, so it may run beside a server.
Digests that somebody kept elsewhere tell more than all checksums here: those can be recomputed by
whoever can write to the folder.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

from laissez.exchange.exchange import Exchange
from laissez.journal import Document, JournalError, Reader
from laissez.journal import verify as replay
from laissez.server.audit.digests import FILE
from laissez.server.audit.log import FOLDER, Broken, Digest, end_of, path_of, read, start
from laissez.server.audit.verify_log import Following, Removal, Removals, Verdict, was_old
from laissez.server.data_folder import Replaying, last_entry
from laissez.units import TimeError
from laissez.wire.ids import KEY

Progress: TypeAlias = Callable[[str, int, int], None]  # with what, how many, of how many


class KeptUnreadable(Exception):
    """They are not where they are said to be."""


class Kept(NamedTuple):
    path: Path
    lines: list[bytes]


def read_kept(path: Path) -> Kept:
    try:
        if path.is_file():
            return Kept(path, path.read_bytes().split(b"\n"))
        why = "none there"
    except OSError as error:
        why = str(error.strerror)
    raise KeptUnreadable(f"{path}: expected a file of digests, found {why}")


def verify(
    data: Path,
    kept: Path | None = None,
    keep_days: int | None = None,
    now: int | None = None,
    on_progress: Progress = lambda what, done, of: None,
) -> Verdict:
    """`keep_days` is how long refusals are kept, where that is known, and `now` the time by a clock
    that is trusted.

    Raises what opening the journal raises, and `KeptUnreadable`."""
    found = None if kept is None else read_kept(kept)  # before anything that takes long
    with Reader.of(data) as reader:
        return _Check(data, reader, Removals(keep_days, now), on_progress).run(found)


class _Check:
    def __init__(
        self, data: Path, reader: Reader, removals: Removals, on_progress: Progress
    ) -> None:
        self._data = data
        self._folder = data / FOLDER
        self._reader = reader
        self._removals = removals
        self._on_progress = on_progress
        self._verdict = Verdict()
        self._beginning = start(reader.identity)
        self._ends: dict[str, tuple[int, str]] = {}  # of each day that has a file: its last line
        self._digests: dict[str, Digest] = {}

    def run(self, kept: Kept | None) -> Verdict:
        # In this order: a running server writes lines before the digest that tells of them.
        self._read_digests()
        if is_chained(self._reader, self._verdict, self._on_progress):
            carry_out_again(self._data, self._verdict, self._on_progress)
        following = Following(
            self._folder, self._beginning, self._digests.values(), self._removals, self._verdict
        )
        following.check()
        self._ends = following.ends
        for digest in self._digests.values():
            self._check_digest(digest, f"{FILE}, {digest.date}")
            self._count_removed(digest)
        if kept is not None:
            self._check_kept(kept)
        return self._verdict

    def _read_digests(self) -> None:
        chain = self._beginning
        for number, stored in self._verdict.read(self._folder / FILE):  # the last may be on its way
            try:
                digest = read(stored, Digest, chain)
            except Broken as broken:
                self._verdict.tell(f"{FILE}, line {number}", str(broken))
                return
            self._digests[digest.date], chain = digest, digest.chain
        self._verdict.digests = len(self._digests)
        self._verdict.until = max(self._digests, default="")

    def _check_digest(self, digest: Digest, where: str) -> None:
        verdict = self._verdict
        if not 0 <= digest.seq <= verdict.entries:
            verdict.tell(
                where, f"the journal had {digest.seq} entries, and {verdict.entries} can be read"
            )
            return
        try:
            over = end_of(digest.date)
        except TimeError as error:
            verdict.tell(where, str(error))
            return
        found = self._reader.chain_at(digest.seq)
        if found is None or found.hex() != digest.journal:
            verdict.tell(
                where,
                f"the journal up to entry {digest.seq} is not what it was at the end of that day",
            )
        elif (seq := last_entry(self._reader, over - 1, verdict.entries)) != digest.seq:
            verdict.tell(where, f"the last entry of that day was {digest.seq}, and is {seq}")
        told = self._ends.get(digest.date)
        if told is not None and told != (digest.refusals, digest.refusals_chain):
            verdict.tell(
                where,
                f"the log of refusals ended that day with line {digest.refusals}, and ends with"
                f" another line {told[0]}",
            )
        elif self._is_gone(digest) and (why := _not_by_age(digest, self._removals.of(digest))):
            verdict.tell(
                where,
                f"{path_of(self._folder, digest.date).name} had {digest.lines} lines, and is gone,"
                f" {why}",
            )

    def _is_gone(self, digest: Digest) -> bool:
        return digest.lines > 0 and digest.date not in self._ends

    def _count_removed(self, digest: Digest) -> None:
        removal = self._removals.of(digest)
        if removal is None or not self._is_gone(digest) or not was_old(digest, removal):
            return
        verdict = self._verdict
        verdict.removed_lines += digest.lines
        verdict.removed_from = verdict.removed_from or digest.date
        verdict.removed_until = digest.date
        verdict.removed_after_days = min(
            verdict.removed_after_days or removal.keep_days, removal.keep_days
        )

    def _check_kept(self, kept: Kept) -> None:
        for number, stored in enumerate(kept.lines, 1):
            if not stored.strip():
                continue
            where = f"{kept.path}, line {number}"
            try:
                digest = read(stored.strip(), Digest, None)
            except Broken as broken:
                self._verdict.tell(where, str(broken))
                continue
            self._verdict.compared += 1
            if self._digests.get(digest.date) != digest:
                self._verdict.tell(
                    where,
                    f"{FILE} has {'another' if digest.date in self._digests else 'no'} digest of"
                    f" {digest.date}",
                )
            self._check_digest(digest, where)
        if not self._verdict.compared:
            self._verdict.tell(str(kept.path), "there is no digest in it, so nothing was compared")


def _not_by_age(digest: Digest, removal: Removal | None) -> str | None:
    """Why the service itself cannot have removed a day that is gone; None if it can."""
    if removal is None:
        return "though no line tells of its removal"
    if not was_old(digest, removal):
        return (
            f"though line {removal.line}, which tells of its removal, was written before it was"
            f" {removal.keep_days} days old"
        )
    return None


# -- the journal


def is_chained(reader: Reader, verdict: Verdict, on_progress: Progress) -> bool:
    """Each entry follows the one before it, and the last is there. All are looked at, so that
    digests can be compared with what there is."""
    told_before = len(verdict.problems)
    verdict.head = reader.start.hex()
    try:
        reader.check_file()
        last, at = reader.tail().last, 0
        for group in reader.groups(1, last):
            for seq, entry in enumerate(group.entries, group.first):
                if entry.at < at:
                    verdict.tell(
                        f"journal, entry {seq}", "its time lies before that of the entry before it"
                    )
                at = entry.at
            verdict.entries, verdict.head = group.last, group.chain.hex()
            on_progress("entries", group.last, last)
        reader.check_mark()
    except JournalError as error:
        verdict.tell("journal", str(error))
    return len(verdict.problems) == told_before


def carry_out_again(data: Path, verdict: Verdict, on_progress: Progress) -> None:
    strange: dict[tuple[str, str], int] = {}
    report = replay.verify(
        data,
        begin=lambda genesis: _Asked(Exchange.begin(genesis), strange),
        on_progress=partial(on_progress, "carried out again"),
    )
    verdict.replayed, verdict.snapshots = report.entries, report.snapshots
    for problem in report.problems:
        verdict.tell("journal", problem)
    for (who, key), seq in strange.items():
        verdict.tell(
            f"journal, entry {seq}", f"it was asked for with {key}, which {who} was never given"
        )


class _Asked(Replaying):
    """Notes who asked, and first at which entry, with a key that the journal knows nothing of: it
    was in a snapshot, say, that is gone by now."""

    def __init__(self, exchange: Exchange, strange: dict[tuple[str, str], int]) -> None:
        super().__init__(exchange)
        self._strange = strange
        self._seq = 0

    def apply(self, at: int, request: bytes) -> tuple[bytes, tuple[Document, ...]]:
        self._seq += 1
        asked = self.codec.unpack_request(request)
        if asked.key.startswith(KEY):
            known = self.exchange.keys.get(asked.key)
            if known is None or known.holder != asked.who:
                self._strange.setdefault((asked.who, asked.key), self._seq)
        return super().apply(at, request)
