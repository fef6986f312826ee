"""The audit view: journal entries and logged refusals, merged by time."""

from __future__ import annotations

import heapq
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from laissez.exchange.codec import Codec
from laissez.exchange.commands import CreateTenant, IssueKey, SetCaps
from laissez.exchange.events import CODES
from laissez.exchange.names import Names
from laissez.journal import Entry, Reader
from laissez.market import Market
from laissez.server.audit.log import Broken, read, rows
from laissez.server.audit.refusals import DONE, Line
from laissez.server.beside import FILE, reading
from laissez.units import format_time
from laissez.wire.rendering import EVENT_TYPES
from laissez.wire.texts import code_of, command_name

# which field names the tenant
ABOUT: dict[type, str] = {CreateTenant: "name", SetCaps: "tenant", IssueKey: "holder"}


class Acted(msgspec.Struct, frozen=True, omit_defaults=True):
    """One request. Either `entry`, its number in the journal, or `line`, that in the log, is
    set."""

    at: str
    outcome: str  # "done", or the code of the refusal
    operation: str
    holder: str = ""
    key: str = ""
    claimed: str = ""
    address: str = ""
    id: str = ""
    entry: int = 0
    line: int = 0
    status: int = 0
    times: int = 1
    about: str = ""  # the tenant concerned, if not the holder
    events: tuple[str, ...] = ()


class Wanted(msgspec.Struct, frozen=True):
    since: int = 0
    until: int | None = None
    tenant: str | None = None
    key: str | None = None
    code: str | None = None
    refused_only: bool = False

    def has(self, acted: Acted) -> bool:
        if self.refused_only and acted.outcome == DONE:
            return False
        return (
            self.tenant in (None, acted.holder, acted.about or acted.holder)
            and self.key in (None, acted.key, acted.claimed or acted.key)
            and self.code in (None, acted.outcome)
        )


def acted(
    data: Path, wanted: Wanted, on_progress: Callable[[int, int], None] | None = None
) -> Iterator[Acted]:
    """The requests that match, oldest first."""
    with Reader.of(data) as reader, reading(data / FILE, reader.identity) as beside:
        entries = _entries(reader, wanted, on_progress)
        lines = _lines(beside, wanted)
        yield from (
            one for one in heapq.merge(entries, lines, key=lambda one: one.at) if wanted.has(one)
        )


def _entries(
    reader: Reader, wanted: Wanted, on_progress: Callable[[int, int], None] | None
) -> Iterator[Acted]:
    """The matching entries. All earlier entries are read too, since entries refer to names by
    number."""
    codec = Codec(Names(Market.restore(reader.genesis).topology.nodes))
    last = reader.tail().last
    for group in reader.groups(1, last):
        for seq, entry in enumerate(group.entries, group.first):
            if wanted.until is not None and entry.at >= wanted.until:
                return
            codec.learn(entry.request, entry.outcome)
            if entry.at >= wanted.since:
                yield _of_entry(codec, seq, entry)
        if on_progress is not None:
            on_progress(group.last, last)


def _of_entry(codec: Codec, seq: int, entry: Entry) -> Acted:
    request = codec.unpack_request(entry.request)
    applied = codec.unpack_outcome(entry.at, entry.outcome)
    about = ABOUT.get(type(request.command))
    return Acted(
        format_time(entry.at),
        DONE if applied.refusal is None else code_of(applied.refusal),
        command_name(request.command),
        request.who,
        request.key,
        id=request.id.partition("\t")[0],
        entry=seq,
        about="" if about is None else getattr(request.command, about),
        events=tuple(EVENT_TYPES[CODES[type(event)]] for event in applied.events),
    )


def _lines(beside: sqlite3.Connection, wanted: Wanted) -> Iterator[Acted]:
    for _, stored in rows(beside, "refusals"):
        try:
            line = read(stored, Line, None)
        except Broken:
            continue  # `verify` reports it
        if line.at_us >= wanted.since and (wanted.until is None or line.at_us < wanted.until):
            yield _of_line(line)


def _of_line(line: Line) -> Acted:
    return Acted(
        line.at,
        line.code,
        line.operation,
        line.holder,
        line.key,
        line.claimed,
        line.address,
        line.id,
        line=line.n,
        status=line.status,
        times=line.times,
    )
