"""Is everything as it was written? The journal's chain, the log of refusals and the digests, each by itself and against each other.

Takes no lock and changes nothing, so it may run beside a server. Digests that somebody kept elsewhere tell more than all checksums here: those can be
recomputed by whoever can write to the folder.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from laissez.journal import JournalError, Reader
from laissez.service.audit.digests import FILE
from laissez.service.audit.files import FOLDER, REMOVED, days, end_of, lines_of, path_of
from laissez.service.audit.lines import Broken, Digest, Refusal, read, split, start
from laissez.service.looking_back import last_entry

UNKNOWN = "?"  # the chain after a line that cannot be read


@dataclass
class Verdict:
    """`problems` is empty if all is well; each names its place."""

    entries: int = 0
    head: str = ""
    refusals: int = 0  # lines that were read
    first_refusal: int = 0
    last_refusal: int = 0
    refusals_chain: str = ""
    digests: int = 0
    compared: int = 0  # digests kept elsewhere
    until: str = ""  # the last day that has a digest
    problems: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.problems


class KeptUnreadable(Exception):
    """The digests that were kept elsewhere are not where they are said to be."""


def verify(data: Path, kept: Path | None = None, on_progress: Callable[[int, int], None] | None = None) -> Verdict:
    """Raises what opening the journal raises, and `KeptUnreadable`."""
    found = None if kept is None else _read_kept(kept)  # before anything that takes long
    with Reader.of(data) as reader:
        return _Check(data / FOLDER, reader).run(found, on_progress)


class _Kept(NamedTuple):
    path: Path
    lines: list[bytes]


def _read_kept(path: Path) -> _Kept:
    try:
        if path.is_file():
            return _Kept(path, path.read_bytes().split(b"\n"))
        why = "none there"
    except OSError as error:
        why = str(error.strerror)
    raise KeptUnreadable(f"{path}: expected a file of digests, found {why}")


class _Check:
    def __init__(self, folder: Path, reader: Reader) -> None:
        self._folder = folder
        self._reader = reader
        self._verdict = Verdict()
        self._beginning = start(reader.identity)
        self._ends: dict[str, tuple[int, str]] = {}  # of each day that has a file: its last line
        self._removed = 0  # until which line the service removed them itself, because they were old
        self._digests: dict[str, Digest] = {}

    def run(self, kept: _Kept | None, on_progress: Callable[[int, int], None] | None) -> Verdict:
        # In this order: a running server writes lines before the digest that tells of them.
        self._read_digests()
        self._check_journal(on_progress)
        self._check_refusals()
        for digest in self._digests.values():
            self._check_digest(digest, f"{FILE}, {digest.date}")
        if kept is not None:
            self._check_kept(kept)
        return self._verdict

    def _tell(self, where: str, what: str) -> None:
        self._verdict.problems.append(f"{where}: {what}")

    # -- the journal

    def _check_journal(self, on_progress: Callable[[int, int], None] | None) -> None:
        verdict, reader = self._verdict, self._reader
        verdict.head = reader.start.hex()
        try:
            reader.check_file()
            last, at = reader.tail().last, 0
            for group in reader.groups(1, last):
                for seq, entry in enumerate(group.entries, group.first):
                    if entry.at < at:
                        self._tell(f"journal, entry {seq}", "its time lies before that of the entry before it")
                    at = entry.at
                verdict.entries, verdict.head = group.last, group.chain.hex()
                if on_progress is not None:
                    on_progress(group.last, last)
            reader.check_mark()
        except JournalError as error:
            self._tell("journal", str(error))

    # -- the log of refusals

    def _check_refusals(self) -> None:
        before: Refusal | None = None
        for date in days(self._folder):
            path = path_of(self._folder, date)
            for number, stored in lines_of(path):
                where = f"{path.name}, line {number}"
                try:
                    before = self._check_line(stored, before, date, where)
                except Broken as broken:
                    self._tell(where, str(broken))
                    before = _as_told(stored, before)
            if before is not None:
                self._ends[date] = before.n, before.chain
        if before is not None:
            self._verdict.last_refusal, self._verdict.refusals_chain = before.n, before.chain

    def _check_line(self, stored: bytes, before: Refusal | None, date: str, where: str) -> Refusal:
        n, chain = self._expected(stored) if before is None else (before.n + 1, before.chain)
        line = read(stored, Refusal, None)
        if line.n > n:
            raise Broken(f"lines {n} to {line.n - 1} are missing before it")
        if line.n < n:
            raise Broken(f"line {n} was expected here, {line.n} found")
        line = read(stored, Refusal, None if chain == UNKNOWN else chain)
        if not line.at.startswith(date):
            raise Broken(f"it is of {line.at[:10]}, and in the file of another day")
        if before is not None and line.at < before.at:
            raise Broken("its time lies before that of the line before it")
        self._verdict.refusals += 1
        if line.code == REMOVED:
            self._removed = max(self._removed, line.until)
        return line

    def _expected(self, stored: bytes) -> tuple[int, str]:
        """What the oldest line that is left must follow: the beginning, or the end of a day whose file was removed after its digest was made."""
        line = read(stored, Refusal, None)
        self._verdict.first_refusal = line.n
        ends = [digest for digest in self._digests.values() if digest.refusals == line.n - 1]
        return (ends[-1].refusals + 1, ends[-1].refusals_chain) if ends else (1, self._beginning)

    # -- digests

    def _read_digests(self) -> None:
        path = self._folder / FILE
        content = path.read_bytes() if path.exists() else b""
        chain = self._beginning
        *whole, _ = split(content)  # the last may be on its way
        for number, stored in enumerate(whole, 1):
            try:
                digest = read(stored, Digest, chain)
            except Broken as broken:
                self._tell(f"{FILE}, line {number}", str(broken))
                return
            self._digests[digest.date], chain = digest, digest.chain
        self._verdict.digests = len(self._digests)
        self._verdict.until = max(self._digests, default="")

    def _check_digest(self, digest: Digest, where: str) -> None:
        if digest.seq > self._verdict.entries:
            self._tell(where, f"the journal had {digest.seq} entries, and {self._verdict.entries} can be read")
            return
        found = self._reader.chain_at(digest.seq)
        if found is None or found.hex() != digest.journal:
            self._tell(where, f"the journal up to entry {digest.seq} is not what it was at the end of that day")
        elif (seq := last_entry(self._reader, end_of(digest.date) - 1, self._verdict.entries)) != digest.seq:
            self._tell(where, f"the last entry of that day was {digest.seq}, and is {seq}")
        told = self._ends.get(digest.date)
        if told is not None and told != (digest.refusals, digest.refusals_chain):
            self._tell(where, f"the log of refusals ended that day with line {digest.refusals}, and ends with another line {told[0]}")
        elif told is None and digest.lines and digest.refusals > self._removed:
            self._tell(where, f"{path_of(self._folder, digest.date).name} had {digest.lines} lines, and is gone, though no line tells of its removal")

    def _check_kept(self, kept: _Kept) -> None:
        for number, stored in enumerate(kept.lines, 1):
            if not stored.strip():
                continue
            where = f"{kept.path}, line {number}"
            try:
                digest = read(stored.strip(), Digest, None)
            except Broken as broken:
                self._tell(where, str(broken))
                continue
            self._verdict.compared += 1
            if self._digests.get(digest.date) != digest:
                self._tell(where, f"{FILE} has {'another' if digest.date in self._digests else 'no'} digest of {digest.date}")
            self._check_digest(digest, where)
        if not self._verdict.compared:
            self._tell(str(kept.path), "there is no digest in it, so nothing was compared")


def _as_told(stored: bytes, before: Refusal | None) -> Refusal | None:
    """A line that is broken, as the one that the next must follow, so that one break is told once."""
    try:
        return read(stored, Refusal, None)
    except Broken:
        return None if before is None else Refusal(before.n + 1, before.at, "", chain=UNKNOWN)
