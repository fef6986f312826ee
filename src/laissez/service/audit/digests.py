"""A line for every day that is over and on which anything was done or refused: where the journal and the log of refusals ended that day.

Whoever keeps these lines elsewhere finds out if anything before them is changed later, even by somebody who recomputes all checksums. What a line
says follows from the journal and the log alone, so one that a crash cut short is simply made again.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from pathlib import Path

from laissez.journal import Reader, disk
from laissez.service.audit.files import day_of, days, end_of, last_line, path_of
from laissez.service.audit.lines import Broken, Digest, read, split, written
from laissez.service.looking_back import last_entry

FILE = "digests.jsonl"

log = logging.getLogger("laissez.audit")


class DigestFile:
    def __init__(self, folder: Path, beginning: str) -> None:
        self.folder = folder
        self.path = folder / FILE
        self._beginning = beginning

    def all(self) -> list[Digest]:
        """As they are stored; what they follow from is not checked here."""
        return [read(line, Digest, None) for line in self.stored()]

    def logged(self) -> tuple[int, str, str]:
        """The last line of the log that a digest tells of, its hash, and the day. A damaged one is passed over: it must not keep lines from being
        written."""
        for stored in reversed(self.stored()):
            with suppress(Broken):
                digest = read(stored, Digest, None)
                return digest.refusals, digest.refusals_chain, digest.date
        return 0, self._beginning, ""

    def stored(self) -> list[bytes]:
        """The lines as they are, without one that is still on its way."""
        content = self.path.read_bytes() if self.path.exists() else b""
        *whole, _ = split(content)
        return whole

    def _mend(self) -> None:
        """Cut off what a crash left of the last line: it is made again. If it was something else, it lies beside the file."""
        content = self.path.read_bytes() if self.path.exists() else b""
        whole = self.stored()
        while whole and not _is_whole(whole[-1]):
            whole.pop()
        kept = b"".join(line + b"\n" for line in whole)
        if kept != content:
            aside = self.path.with_name(f"digests.cut-{len(whole) + 1}")
            log.warning("the end of the digests was cut off: it is not what was written", extra={"file": str(self.path), "aside": str(aside)})
            disk.write_whole(aside, content[len(kept) :])
            disk.write_whole(self.path, kept)

    def bring_up(self, reader: Reader, today: str) -> list[Digest]:
        """Add those that are missing, of days before today; says which."""
        self._mend()
        known = self.all()
        latest = known[-1] if known else Digest("", 0, reader.start.hex(), 0, 0, self._beginning, 0, self._beginning)
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
        line = last_line(path_of(self.folder, date))
        n, refusals = (before.refusals, before.refusals_chain) if line is None else (line.n, line.chain)
        digest = Digest(date, seq, chain.hex(), seq - before.seq, n, refusals, n - before.refusals)
        stored, link = written(digest, before.chain)
        disk.make_folder(self.folder)
        disk.append(self.path, stored)
        return Digest(date, seq, chain.hex(), seq - before.seq, n, refusals, n - before.refusals, link)


def _next_day(reader: Reader, latest: Digest, logged: list[str]) -> str | None:
    """The first day after the latest digest on which anything happened."""
    entry = reader.entry(latest.seq + 1)
    found = [date for date in logged if date > latest.date][:1]
    if entry is not None:
        found.append(max(day_of(entry.at), _day_after(latest.date)))
    return min(found, default=None)


def _day_after(date: str) -> str:
    return day_of(end_of(date)) if date else ""


def _is_whole(stored: bytes) -> bool:
    try:
        read(stored, Digest, None)
    except Broken:
        return False
    return True
