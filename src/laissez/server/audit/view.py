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
from laissez.server.audit.log import Broken, decode_line, rows
from laissez.server.audit.refusals import DONE, Line
from laissez.server.beside import FILE, reading
from laissez.units import format_time
from laissez.wire.rendering import EVENT_TYPES
from laissez.wire.texts import code_of, command_name

# the field that names the tenant
ABOUT: dict[type, str] = {CreateTenant: "name", SetCaps: "tenant", IssueKey: "holder"}


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
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


class Filter(msgspec.Struct, frozen=True):
    since: int = 0
    until: int | None = None
    tenant: str | None = None
    key: str | None = None
    code: str | None = None
    refused_only: bool = False

    def matches(self, record: Record) -> bool:
        if self.refused_only and record.outcome == DONE:
            return False
        return (
            self.tenant in (None, record.holder, record.about or record.holder)
            and self.key in (None, record.key, record.claimed or record.key)
            and self.code in (None, record.outcome)
        )


def records(
    data: Path, wanted: Filter, on_progress: Callable[[int, int], None] | None = None
) -> Iterator[Record]:
    """The requests that match, oldest first."""
    with Reader.of(data) as reader, reading(data / FILE, reader.identity) as beside:
        entries = _entries(reader, wanted, on_progress)
        lines = _lines(beside, wanted)
        merged = heapq.merge(entries, lines, key=lambda record: record.at)
        yield from filter(wanted.matches, merged)


def _entries(
    reader: Reader, wanted: Filter, on_progress: Callable[[int, int], None] | None
) -> Iterator[Record]:
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


def _of_entry(codec: Codec, seq: int, entry: Entry) -> Record:
    request = codec.unpack_request(entry.request)
    applied = codec.unpack_outcome(entry.at, request, entry.outcome)
    about = ABOUT.get(type(request.command))
    return Record(
        format_time(entry.at),
        DONE if applied.refusal is None else code_of(applied.refusal.reason),
        command_name(request.command),
        request.who,
        request.key,
        id=request.id.partition("\t")[0],
        entry=seq,
        about="" if about is None else getattr(request.command, about),
        events=tuple(EVENT_TYPES[CODES[type(event)]] for event in applied.events),
    )


def _lines(beside: sqlite3.Connection, wanted: Filter) -> Iterator[Record]:
    for _, stored in rows(beside, "refusals"):
        try:
            line = decode_line(stored, Line)
        except Broken:
            continue  # `verify` reports it
        if line.at_us >= wanted.since and (wanted.until is None or line.at_us < wanted.until):
            yield _of_line(line)


def _of_line(line: Line) -> Record:
    asked = (line.operation, line.holder, line.key, line.claimed, line.address, line.id)
    return Record(line.at, line.code, *asked, line=line.n, status=line.status, times=line.times)
