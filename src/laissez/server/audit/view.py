"""One view of all that was done and refused, in the order of time: the journal's entries and the
log of refusals together."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from laissez.journal import Reader
from laissez.server.audit.collecting import DONE
from laissez.server.audit.log import FOLDER, Broken, Refusal, day_of, days, lines_of, path_of, read
from laissez.server.looking_back import last_entry
from laissez.wire.times import format_time, parse_time

# which field names the tenant
ABOUT = {"create_tenant": "name", "set_caps": "tenant", "issue_key": "holder"}

_request = msgspec.msgpack.Decoder(tuple[str, str, str, bytes, dict[str, object]])
_outcome = msgspec.msgpack.Decoder(
    tuple[int, list[tuple[str | None, int, dict[str, object]]], tuple[str, str] | None]
)


class Acted(msgspec.Struct, frozen=True, omit_defaults=True):
    """`entry` is the journal's number, `line` that of the log of refusals; one of them is there."""

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
    about: str = ""  # the tenant that it is about, where that is not the holder
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
    """What is wanted, the oldest first."""
    with Reader.of(data) as reader:
        entries = _entries(reader, wanted, on_progress)
        lines = _lines(data / FOLDER, wanted)
        yield from (
            one for one in heapq.merge(entries, lines, key=lambda one: one.at) if wanted.has(one)
        )


def _entries(
    reader: Reader, wanted: Wanted, on_progress: Callable[[int, int], None] | None
) -> Iterator[Acted]:
    last = reader.tail().last
    first = last_entry(reader, wanted.since - 1, last) + 1 if wanted.since else 1
    for group in reader.groups(first, last):
        for seq, entry in enumerate(group.entries, group.first):
            if wanted.until is not None and entry.at >= wanted.until:
                return
            if seq >= first:
                yield _of_entry(seq, entry.at, entry.request, entry.outcome)
        if on_progress is not None:
            on_progress(group.last, last)


def _of_entry(seq: int, at: int, request: bytes, outcome: bytes) -> Acted:
    who, by, id, _, command = _request.decode(request)
    _, told, refused = _outcome.decode(outcome)
    about = str(command.get(ABOUT.get(str(command["type"]), ""), ""))
    events = tuple(str(event["type"]) for _, _, event in told)
    return Acted(
        format_time(at),
        DONE if refused is None else refused[0],
        str(command["type"]),
        who,
        by,
        id=id.partition("\t")[0],
        entry=seq,
        about=about,
        events=events,
    )


def _lines(folder: Path, wanted: Wanted) -> Iterator[Acted]:
    for date in days(folder):
        if date < day_of(wanted.since):
            continue
        for _, stored in lines_of(path_of(folder, date)):
            try:
                line = read(stored, Refusal, None)
            except Broken:
                continue  # that it is, `verify` tells
            at = parse_time(line.at)
            if at >= wanted.since and (wanted.until is None or at < wanted.until):
                yield _of_line(line)


def _of_line(line: Refusal) -> Acted:
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
