"""Verify the journal, its snapshots, the log of refusals and the digests, each by itself and
against the others.

A start trusts a snapshot, so each one is compared with a replay of the journal, which takes most of
the time. Nothing is locked or changed, so verification may run beside a server.

An attacker who can write to the folder can recompute all checksums; digests kept elsewhere reveal
that. The attacker can also forge a line about removed lines. Such a line is accepted only for days
that were old enough, both by its own time and by the verifier's clock, since the line may be dated
in the future.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from laissez.exchange.exchange import Exchange
from laissez.journal import Document, JournalError, Reader
from laissez.journal import verify as journal
from laissez.journal.recovery import Progress
from laissez.server.audit.digests import read_digests
from laissez.server.audit.log import (
    CUT,
    REMOVED,
    Broken,
    Digest,
    End,
    decode_line,
    first_kept,
    follow,
    rows,
    start,
)
from laissez.server.audit.refusals import Line
from laissez.server.beside import FILE, BesideFailed, reading
from laissez.server.data_folder import Replaying, last_entry
from laissez.server.settings import Audit
from laissez.units import HOUR_US
from laissez.wire.ids import KEY

# tolerance between the server's and the verifier's clocks; days are removed right after midnight
CLOCKS_DIFFER_US = HOUR_US
KEEP_DAYS_MIN = 1  # no setting is less


class KeptUnreadable(Exception):
    """The file of digests kept elsewhere cannot be read."""


@dataclass
class Verdict:
    """The result. `problems` is empty if everything is intact; each names its place."""

    entries: int = 0
    head: str = ""
    replayed: int = 0  # entries replayed with the same outcome
    # the sequence numbers of correct snapshots
    snapshots: list[int] = field(default_factory=list)
    refusals: int = 0  # intact lines
    first_refusal: int = 0
    last_refusal: int = 0
    refusals_chain: str = ""
    removed_lines: int = 0  # lines of old days, removed by the server
    removed_from: str = ""  # the first of those days
    removed_until: str = ""  # the last
    removed_after_days: int = 0  # the least age of a removed day
    digests: int = 0
    compared: int = 0  # digests kept elsewhere
    until: str = ""  # the last day that has a digest
    problems: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.problems

    def report(self, where: str, what: str) -> None:
        self.problems.append(f"{where}: {what}")


def verify(
    data: Path,
    kept: Path | None = None,
    keep_days: int | None = None,
    now: int | None = None,
    on_progress: Progress | None = None,
) -> Verdict:
    """`kept` is a file of digests kept elsewhere. `keep_days` is the retention of refusals and
    overrides that in the lines. `now` is a trusted time; without it the times of lines are trusted.

    Raises the errors of opening a journal, and `KeptUnreadable`."""
    found = None if kept is None else _read_kept(kept)  # fail early
    with Reader.of(data) as reader:
        check = _Check(reader, keep_days, now)
        # In this order: a running server writes entries before the digest that covers them.
        check.read_record()
        check.replay_journal(on_progress)
        check.compare_digests()
        if kept is not None and found is not None:
            check.compare_kept(kept, found)
    return check.verdict


def _read_kept(path: Path) -> list[bytes]:
    try:
        if path.is_file():
            return path.read_bytes().split(b"\n")
        why = "none there"
    except OSError as error:
        why = str(error.strerror)
    raise KeptUnreadable(f"{path}: expected a file of digests, found {why}")


class Removal(NamedTuple):
    """A line about days removed by age."""

    line: int
    until: int  # the last line removed
    keep_days: int
    first_kept: str  # the oldest day that was not due

    def was_due(self, day: Digest) -> bool:
        return day.date < self.first_kept


class _Check:
    def __init__(self, reader: Reader, keep_days: int | None, now: int | None) -> None:
        self.verdict = Verdict()
        self._reader = reader
        self._keep_days = keep_days
        self._now = now
        self._removals: list[Removal] = []
        self._ends: dict[str, Line] = {}  # the last line of each day
        self._digests: dict[str, Digest] = {}

    # -- the log of refusals and the digests, each by itself

    def read_record(self) -> None:
        try:
            with reading(self._reader.folder / FILE, self._reader.identity) as connection:
                self._read_digests(connection)
                self._read_lines(connection)
        except BesideFailed as error:
            self.verdict.problems.append(str(error))

    def _read_digests(self, connection: sqlite3.Connection) -> None:
        for one in read_digests(connection, start(self._reader.identity)):
            if one.broken:
                self.verdict.report(f"digests, line {one.n}", one.broken)
            elif one.digest is not None:
                self._digests[one.digest.date] = one.digest
        self.verdict.digests = len(self._digests)
        self.verdict.until = max(self._digests, default="")

    def _read_lines(self, connection: sqlite3.Connection) -> None:
        verdict = self.verdict
        for n, line, broken in follow(connection, self._end_before_first(connection)):
            if broken:
                verdict.report(f"refusals, line {n}", broken)
            if line is not None and not broken:
                self._note(line)
            if line is not None:
                self._ends[line.at[:10]] = line
                verdict.first_refusal = verdict.first_refusal or line.n
                verdict.last_refusal, verdict.refusals_chain = line.n, line.chain

    def _end_before_first(self, connection: sqlite3.Connection) -> End:
        """The end that the oldest stored line must follow: the beginning, or the last line of a
        removed day."""
        first = next(rows(connection, "refusals"), (1, None))[0]
        for digest in self._digests.values():
            if digest.refusals == first - 1:
                return End(digest.refusals, digest.refusals_chain)
        return End(0, start(self._reader.identity))

    def _note(self, line: Line) -> None:
        self.verdict.refusals += 1
        if line.code == REMOVED:
            at = line.at_us if self._now is None else min(line.at_us, self._now + CLOCKS_DIFFER_US)
            keep_days = max(KEEP_DAYS_MIN, self._keep_days or line.keep_days or Audit().keep_days)
            removal = Removal(line.n, line.until, keep_days, first_kept(at, keep_days))
            self._removals.append(removal)
        if line.code == CUT:
            self.verdict.report(
                f"refusals, line {line.n}",
                f"the log before it was damaged, and is set aside as {line.aside}",
            )

    # -- the journal by itself

    def replay_journal(self, on_progress: Progress | None) -> None:
        verdict = self.verdict
        strangers: dict[tuple[str, str], int] = {}
        report = journal.verify(
            self._reader.folder,
            begin=lambda genesis: _KeyCheck(Exchange.begin(genesis), strangers),
            on_progress=on_progress,
        )
        verdict.replayed, verdict.snapshots = report.entries, report.snapshots
        verdict.entries, verdict.head = report.entries, report.head.hex()
        problems = report.problems
        try:
            # Entries after one that replays otherwise are still compared with digests.
            for group in self._reader.groups(report.entries + 1):
                verdict.entries, verdict.head = group.last, group.chain.hex()
        except JournalError as error:
            problems = [*problems, str(error)]
        for problem in dict.fromkeys(problems):
            verdict.report("journal", problem)
        for (who, key), seq in strangers.items():
            verdict.report(
                f"journal, entry {seq}", f"it was asked for with {key}, which {who} was never given"
            )

    # -- digests against the journal and the log

    def compare_digests(self) -> None:
        for digest in self._digests.values():
            self._compare(digest, f"digests, {digest.date}")
            self._count_removed(digest)

    def _compare(self, digest: Digest, where: str) -> None:
        for problem in (self._against_journal(digest), self._against_log(digest)):
            if problem:
                self.verdict.report(where, problem)

    def _against_journal(self, digest: Digest) -> str | None:
        entries = self.verdict.entries
        if not 0 <= digest.seq <= entries:
            return f"the journal had {digest.seq} entries, and {entries} can be read"
        found = self._reader.chain_at(digest.seq)
        if found is None or found.hex() != digest.journal:
            return f"the journal up to entry {digest.seq} is not what it was at the end of that day"
        seq = last_entry(self._reader, digest.at_us - 1, entries)
        if seq != digest.seq:
            return f"the last entry of that day was {digest.seq}, and is {seq}"
        return None

    def _against_log(self, digest: Digest) -> str | None:
        end = self._ends.get(digest.date)
        if end is not None:
            if (end.n, end.chain) == (digest.refusals, digest.refusals_chain):
                return None
            return (
                f"the log of refusals ended that day with line {digest.refusals}, and ends with"
                f" another line {end.n}"
            )
        removal = self._removal_of(digest)
        if digest.lines == 0 or (removal is not None and removal.was_due(digest)):
            return None
        gone = f"the log of refusals had {digest.lines} lines of that day, and they are gone,"
        if removal is None:
            return f"{gone} though no line tells of their removal"
        return (
            f"{gone} though line {removal.line}, which tells of their removal, was written before"
            f" they were {removal.keep_days} days old"
        )

    def _removal_of(self, day: Digest) -> Removal | None:
        """The latest line about the day's removal, accepted or not."""
        told = [one for one in self._removals if day.refusals <= one.until]
        return max(told, key=lambda one: one.first_kept, default=None)

    def _count_removed(self, day: Digest) -> None:
        removal = self._removal_of(day)
        is_gone = day.lines > 0 and day.date not in self._ends
        if removal is None or not is_gone or not removal.was_due(day):
            return
        verdict, keep_days = self.verdict, removal.keep_days
        verdict.removed_lines += day.lines
        verdict.removed_from = verdict.removed_from or day.date
        verdict.removed_until = day.date
        verdict.removed_after_days = min(verdict.removed_after_days or keep_days, keep_days)

    def compare_kept(self, path: Path, lines: list[bytes]) -> None:
        for number, stored in enumerate(map(bytes.strip, lines), 1):
            if stored:
                self._compare_kept(stored, f"{path}, line {number}")
        if not self.verdict.compared:
            self.verdict.report(str(path), "there is no digest in it, so nothing was compared")

    def _compare_kept(self, stored: bytes, where: str) -> None:
        try:
            digest = decode_line(stored, Digest)
        except Broken as broken:
            self.verdict.report(where, str(broken))
            return
        self.verdict.compared += 1
        mine = self._digests.get(digest.date)
        if mine != digest:
            which = "no" if mine is None else "another"
            self.verdict.report(where, f"{FILE} has {which} digest of {digest.date}")
        self._compare(digest, where)


class _KeyCheck(Replaying):
    """Notes the first entry of each key that was never issued, such as one from a forged snapshot
    that was deleted since."""

    def __init__(self, exchange: Exchange, strangers: dict[tuple[str, str], int]) -> None:
        super().__init__(exchange)
        self._strangers = strangers

    def apply(self, at: int, request: bytes) -> tuple[bytes, tuple[Document, ...]]:
        asked = self.codec.unpack_request(request)
        if asked.key.startswith(KEY):
            known = self.exchange.keys.get(asked.key)
            if known is None or known.holder != asked.who:
                self._strangers.setdefault((asked.who, asked.key), self._seq + 1)
        return super().apply(at, request)
