"""The log of refusals on the disk: a file a day, appended to, of lines that are chained.

A line is a JSON object with the SHA-256 of the chain before it and of its own text. The hash is the
last member, and is taken of the text before it, so that it can be recomputed with a shell and
sha256sum. What a crash left of lines is cut off, and that is a line too.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from laissez.journal import disk
from laissez.server.audit.refusals import Noted
from laissez.units import HOUR_US, format_time, parse_time

FOLDER = "audit"  # in the data folder
CUT = "cut"  # the code of a line that tells what was cut off before it
LOST = "lost"  # and of one that tells how many could not be written
# and of one that tells which were removed because they were old: whatever else is missing, somebody
# took away
REMOVED = "removed"
DAY_US = 24 * HOUR_US

UNKNOWN = -1  # the number of a line that nobody knows
MARK = b',"chain":"'
END = b'"}'
HASH_LENGTH = 64

log = logging.getLogger("laissez.audit")


class Refusal(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """`holder` and `key` are proven; `claimed` is the id in a key that was not good. It stands for
    `times` alike, the last of them at `at`."""

    n: int
    at: str
    code: str
    status: int = 0
    operation: str = ""
    holder: str = ""
    key: str = ""
    claimed: str = ""
    address: str = ""
    id: str = ""
    times: int = 1
    cut: str = ""  # the SHA-256 of what was cut off before this line
    until: int = 0  # the last line that was removed because it was old
    keep_days: int = 0  # and how old a day had to be for that
    chain: str = ""


class Digest(msgspec.Struct, frozen=True, gc=False):
    """One day (UTC) that is over: the journal and the log of refusals as they were at its end."""

    date: str
    seq: int  # the last entry of the journal, 0 if there was none
    journal: str  # the chain of the group that holds it
    entries: int  # on that day
    refusals: int  # the last line of the log
    refusals_chain: str
    lines: int  # on that day
    chain: str = ""


L = TypeVar("L", Refusal, Digest)


class Broken(Exception):
    """A line is not what was written; the message says why."""


def start(identity: bytes) -> str:
    """What the first line follows: no log can be passed off as that of another journal."""
    return hashlib.sha256(b"laissez audit\n" + identity.hex().encode()).hexdigest()


def link(before: str, text: bytes) -> str:
    return hashlib.sha256(before.encode() + text).hexdigest()


def written(line: L, before: str) -> tuple[bytes, str]:
    """The line as it is stored, and its hash."""
    text = (
        msgspec.json.encode(msgspec.structs.replace(line, chain=""))
        .removesuffix(b',"chain":""}')
        .removesuffix(b"}")
    )
    chain = link(before, text)
    return b"".join((text, MARK, chain.encode(), END, b"\n")), chain


def read(stored: bytes, kind: type[L], before: str | None) -> L:
    """A stored line without its end, checked against the hash before it unless that is not
    known."""
    text, mark, rest = stored.rpartition(MARK)
    if not mark or len(rest) != HASH_LENGTH + len(END) or not rest.endswith(END):
        raise Broken("it does not end with its chain")
    try:
        line = msgspec.json.decode(stored, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Broken(f"it cannot be read: {error}") from None
    if before is not None and link(before, text) != line.chain:
        raise Broken("its checksum differs: it, or a line before it, is not what was written")
    return line


def split(content: bytes) -> Iterator[bytes]:
    """Lines without their ends; the last one may be cut short, and is empty if it is not."""
    return iter(content.split(b"\n"))


# -- files


def day_of(us: int) -> str:
    return datetime.fromtimestamp(us // 1_000_000, UTC).date().isoformat()


def start_of(date: str) -> int:
    return parse_time(f"{date}T00:00:00Z")


def end_of(date: str) -> int:
    """The first microsecond after a day."""
    return start_of(date) + DAY_US


def first_kept(now: int, keep_days: int) -> str:
    """The oldest day that is not old yet: all before it may be removed."""
    return day_of(max(0, now - keep_days * DAY_US))


def path_of(folder: Path, date: str) -> Path:
    return folder / f"refusals-{date}.jsonl"


def days(folder: Path) -> list[str]:
    """The days that have a file, the oldest first."""
    return sorted(path.stem.removeprefix("refusals-") for path in folder.glob("refusals-*.jsonl"))


def put_aside(folder: Path, date: str) -> list[Path]:
    """What was cut off the file of a day."""
    return sorted(folder.glob(f"refusals-{date}.cut-*"))


def lines_of(path: Path) -> Iterator[tuple[int, bytes]]:
    """The whole lines of a file with their numbers. Beside a running server the last one may still
    be on its way."""
    try:
        *whole, _ = split(path.read_bytes())
    except FileNotFoundError:  # removed meanwhile
        return iter(())
    return enumerate(whole, 1)


def last_line(folder: Path, date: str) -> Refusal | None:
    path = path_of(folder, date)
    return _readable(path.read_bytes(), date)[1] if path.exists() else None


class RefusalFiles:
    """The end of the log. One at a time; any thread."""

    def __init__(self, folder: Path, chain: str, now: int, n: int = 0, over: str = "") -> None:
        """It goes on after what is there; if nothing is there since the day `over`, after the line
        `n` that ended it, whose hash is `chain`. What is wrong with that day, or one before it, is
        no crash's doing, and left for whoever verifies."""
        self.folder = folder
        self.n = n
        self.chain = chain
        # Of the last line. A start may find the wall clock behind it: time goes on from the
        # journal's end, and that may be earlier.
        self._at = end_of(over) if over else 0
        torn: list[tuple[str, bytes, int]] = []
        newest_first = [
            date
            for date in reversed(days(folder))
            if date > over and path_of(folder, date).stat().st_size
        ]
        for date, before in zip_longest(newest_first, newest_first[1:]):
            content = path_of(folder, date).read_bytes()
            end, last = _readable(content, date, self._must_follow(content, before))
            if end < len(content):
                torn.append((date, content, end))
            # a process that was killed, or whose disk failed to sync, may have left it in memory
            # only
            else:
                disk.write_whole(path_of(folder, date), content)
            if last is not None:
                self.n, self.chain, self._at = last.n, last.chain, parse_time(last.at)
                break
        if torn:
            self._at = max(self._at, now, start_of(torn[0][0]))
            # All of them first: the line that tells of the one may go into the file of another.
            told = [self._cut(*one) for one in reversed(torn)]
            self._write(day_of(self._at), told)

    def _must_follow(self, content: bytes, before: str | None) -> str | None:
        """The hash that the first line of a file must follow: of the last in the file before it, of
        that day, or of where it all goes on. None if nobody can know: lines in between are gone, or
        damaged."""
        n, chain = self.n, self.chain
        if before is not None:
            others = path_of(self.folder, before).read_bytes()
            end, last = _readable(others, before)
            n, chain = (
                (last.n, last.chain) if last is not None and end == len(others) else (UNKNOWN, "")
            )
        first = next(split(content))
        try:
            found = read(first, Refusal, None).n
        except Broken:
            return chain
        if found - 1 <= n:
            return chain
        log.warning(
            "lines of the log of refusals before this one are gone, or damaged",
            extra={"file": str(self.folder), "line": found},
        )
        return None

    def append(self, noted: Sequence[Noted]) -> None:
        """Kept when this returns. Lines of several days go into their files."""
        by_day: dict[str, list[Noted]] = {}
        for one in noted:
            self._at = max(self._at, one.at)
            by_day.setdefault(day_of(self._at), []).append(replace(one, at=self._at))
        if by_day:
            disk.make_folder(self.folder)
        for date, some in by_day.items():
            self._write(date, [_line(one) for one in some])

    def _write(self, date: str, lines: list[Refusal]) -> None:
        n, chain = self.n, self.chain
        parts = []
        for line in lines:
            n += 1
            part, chain = written(replace(line, n=n), chain)
            parts.append(part)
        disk.append(path_of(self.folder, date), b"".join(parts))
        self.n, self.chain = n, chain

    def _cut(self, date: str, content: bytes, end: int) -> Refusal:
        """Cut off what a crash left of the lines that were being written; the line that tells of
        it. If it was something else, it lies beside the file."""
        path = path_of(self.folder, date)
        aside = self.folder / f"refusals-{date}.cut-{self.n + 1}"
        log.warning(
            "the end of the log of refusals was cut off: it is not what was written",
            extra={"file": str(path), "aside": str(aside)},
        )
        disk.write_whole(aside, content[end:])
        disk.write_whole(path, content[:end])
        return Refusal(0, format_time(self._at), CUT, cut=hashlib.sha256(content[end:]).hexdigest())


def _readable(content: bytes, date: str, follows: str | None = None) -> tuple[int, Refusal | None]:
    """Where the last line ends up to which each is of that day and follows from the one before it,
    and what it says; the first follows this hash, if it is given. Many lines are written at once,
    so a crash may leave nonsense, or nothing, in the middle of them."""
    end, last = 0, None
    *whole, _ = split(content)
    for stored in whole:
        try:
            line = read(stored, Refusal, follows)
        except Broken:
            break
        if not line.at.startswith(date):
            break
        end, last, follows = end + len(stored) + 1, line, line.chain
    return end, last


def _line(one: Noted) -> Refusal:
    at, who = format_time(one.at), (one.holder, one.key, one.claimed, one.address)
    return Refusal(
        0,
        at,
        one.code,
        one.status,
        one.operation,
        *who,
        one.id,
        one.times,
        until=one.until,
        keep_days=one.keep_days,
    )
