"""A line for every day that is over and on which anything was done or refused: where the journal
and the log of refusals ended that day.

Whoever keeps these lines elsewhere finds out if anything before them is changed later, even by
somebody who recomputes all checksums. What a line says follows from the journal and the log alone,
so one that a crash cut short is simply made again.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import NamedTuple

from laissez.journal import Reader, disk
from laissez.server.audit.log import (
    FOLDER,
    Broken,
    Digest,
    day_of,
    days,
    end_of,
    last_line,
    path_of,
    read,
    split,
    written,
)
from laissez.server.data_folder import last_entry
from laissez.units import TimeError

FILE = "digests.jsonl"

log = logging.getLogger("laissez.audit")


class Looked(NamedTuple):
    """A line of the file. It is credible if it follows from the one before it, or if the log says
    the same of its day."""

    digest: Digest | None
    broken: Broken | None
    is_credible: bool


class DigestFile:
    def __init__(self, folder: Path, beginning: str) -> None:
        self.folder = folder
        self.path = folder / FILE
        self._beginning = beginning

    def logged(self) -> tuple[int, str, str]:
        """The last line of the log that a digest tells of, its hash, and the day. A damaged one is
        passed over: it must not keep lines from being written."""
        for one in reversed(self._looked_at()):
            if one.digest is not None and one.is_credible:
                return one.digest.refusals, one.digest.refusals_chain, one.digest.date
        return 0, self._beginning, ""

    def stored(self) -> list[bytes]:
        """The lines as they are, without one that is still on its way."""
        content = self.path.read_bytes() if self.path.exists() else b""
        *whole, _ = split(content)
        return whole

    def _mend(self) -> None:
        """Cut off what a crash left of the last line: it is made again. If it was something else,
        it lies beside the file. What is kept is written anew: a process that was killed, or whose
        disk failed to sync, may have left it in memory only."""
        content = self.path.read_bytes() if self.path.exists() else b""
        whole = self.stored()
        while whole and _told(whole[-1]) is None:
            whole.pop()
        kept = b"".join(line + b"\n" for line in whole)
        if kept != content:
            aside = self.path.with_name(f"digests.cut-{len(whole) + 1}")
            log.warning(
                "the end of the digests was cut off: it is not what was written",
                extra={"file": str(self.path), "aside": str(aside)},
            )
            disk.write_whole(aside, content[len(kept) :])
        if content:
            disk.write_whole(self.path, kept)

    def credible(self) -> list[Digest]:
        return [
            one.digest for one in self._looked_at() if one.digest is not None and one.is_credible
        ]

    def _looked_at(self) -> list[Looked]:
        """Each compared with what the one before it says of itself, so that one that is damaged
        makes no more than its next suspect."""
        found: list[Looked] = []
        chain: str | None = self._beginning
        for number, stored in enumerate(self.stored(), 1):
            digest, broken = _told(stored), None
            try:
                read(stored, Digest, chain)
            except Broken as error:
                broken = Broken(f"{FILE}, line {number}: {error}")
            follows = chain is not None and broken is None
            found.append(
                Looked(
                    digest, broken, follows or (digest is not None and self._ends_its_day(digest))
                )
            )
            chain = None if digest is None else digest.chain
        return found

    def _ends_its_day(self, digest: Digest) -> bool:
        """Whether the log of that day is there and ends as it says."""
        line = last_line(self.folder, digest.date)
        return line is not None and (line.n, line.chain) == (digest.refusals, digest.refusals_chain)

    def _latest(self, reader: Reader) -> Digest:
        """What the next one follows from. Damage is told. One that does not fit the journal or the
        log is not replaced: if it was they that were changed, it is what tells."""
        looked_at = self._looked_at()
        for broken in [one.broken for one in looked_at if one.broken is not None]:
            log.error(
                "a digest is not what was written, or one before it is gone; `laissez audit verify`"
                " tells more",
                extra={"reason": str(broken)},
            )
        if not looked_at:
            return Digest("", 0, reader.start.hex(), 0, 0, self._beginning, 0, self._beginning)
        latest = looked_at[-1].digest
        assert latest is not None  # what cannot be read at the end was cut off
        if not looked_at[-1].is_credible or not _fits(latest, reader):
            raise Broken(
                f"{FILE}, line {len(looked_at)}: the journal or the log of refusals is not what it"
                " says; none is added"
            )
        return latest

    def bring_up(self, reader: Reader, today: str) -> list[Digest]:
        """Add those that are missing, of days before today; says which."""
        self._mend()
        latest = self._latest(reader)
        made: list[Digest] = []
        tail = reader.tail().last
        logged = days(self.folder)
        while (date := _next_day(reader, latest, logged)) is not None and date < today:
            latest = self._made(reader, latest, date, tail)
            made.append(latest)
        return made

    def _made(self, reader: Reader, before: Digest, date: str, tail: int) -> Digest:
        seq = last_entry(reader, end_of(date) - 1, tail)
        chain = reader.chain_at(seq)
        assert chain is not None
        line = last_line(self.folder, date)
        n, refusals = (
            (before.refusals, before.refusals_chain) if line is None else (line.n, line.chain)
        )
        digest = Digest(date, seq, chain.hex(), seq - before.seq, n, refusals, n - before.refusals)
        stored, link = written(digest, before.chain)
        disk.make_folder(self.folder)
        disk.append(self.path, stored)
        return Digest(
            date, seq, chain.hex(), seq - before.seq, n, refusals, n - before.refusals, link
        )


def _next_day(reader: Reader, latest: Digest, logged: list[str]) -> str | None:
    """The first day after the latest digest on which anything happened."""
    entry = reader.entry(latest.seq + 1)
    found = [date for date in logged if date > latest.date][:1]
    if entry is not None:
        found.append(max(day_of(entry.at), _day_after(latest.date)))
    return min(found, default=None)


def _day_after(date: str) -> str:
    return day_of(end_of(date)) if date else ""


def _fits(digest: Digest, reader: Reader) -> bool:
    """Whether the journal ended that day as it says."""
    try:
        last = last_entry(reader, end_of(digest.date) - 1, reader.tail().last)
    except TimeError:
        return False
    chain = reader.chain_at(last)
    return last == digest.seq and chain is not None and chain.hex() == digest.journal


def _told(stored: bytes) -> Digest | None:
    """What a line says, whether or not it is true; None if it says nothing."""
    try:
        return read(stored, Digest, None)
    except Broken:
        return None


def copy(data: Path, target: Path) -> None:
    """Copy the log and the digests into another data folder, also while a server writes them: else
    digests that were kept would fit no backup. The digests first: a server writes what they
    tell of before them, so all of it is in what is copied afterwards."""
    folder = data / FOLDER
    for path in (
        folder / FILE,
        *(path_of(folder, date) for date in days(folder)),
        *folder.glob("*.cut-*"),
    ):
        try:
            content = path.read_bytes()
        # there are no digests yet; or it was removed meanwhile, because it was old
        except FileNotFoundError:
            continue
        disk.make_folder(target / FOLDER)
        # the last line may still be on its way
        whole = content.rfind(b"\n") + 1 if path.suffix == ".jsonl" else len(content)
        disk.write_whole(target / FOLDER / path.name, content[:whole])
