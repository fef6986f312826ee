"""Statements as they are filed with the journal, for bills of a period.

Each lies among those that all tenants got at the same closing, and is checked together with them,
so it takes long to read: only those that the period touches are read, and one at a time, whoever
asks.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from laissez.exchange.statements import Statement, document_name
from laissez.journal import JournalDamaged, Reader
from laissez.server.gateway import Gateway

HEAD_BYTES = 24  # an array of three begins with two times and the length of the third
ITEMS_PER_STATEMENT = 100  # to read one costs about as much as to tell so many lines
# of longer numbers, and of longer arrays, in MessagePack
_SIZES = {0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xDC: 2, 0xDD: 4}

read_statement = msgspec.msgpack.Decoder(Statement).decode


class Head(NamedTuple):
    """How a statement begins, unchecked."""

    seq: int
    since: int
    until: int
    lines: int


class FiledStatements:
    """Belongs to one event loop."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._turn = asyncio.Lock()

    async def touching(self, tenant: str, since: int | None, until: int | None) -> list[Head]:
        """Those of a tenant that `[since, until)` touches; and one more on either side, which shows
        that there are no others."""
        heads = await asyncio.to_thread(self._heads, tenant)
        first = 0 if since is None else bisect_right(heads, since, key=lambda head: head.until)
        last = (
            len(heads) if until is None else bisect_left(heads, until, key=lambda head: head.since)
        )
        return heads[max(0, first - 1) : last + 1]

    def _heads(self, tenant: str) -> list[Head]:
        with self._gateway.reader() as reader:
            return [
                head_of(seq, begins)
                for seq, begins in reader.document_heads(document_name(tenant), HEAD_BYTES)
            ]

    async def read(self, tenant: str, heads: Sequence[Head]) -> list[Statement]:
        """All of them, checked."""
        if not heads:
            return []
        found: list[Statement] = []
        with await asyncio.to_thread(self._gateway.reader) as reader:
            for head in heads:
                async with self._turn:
                    found.append(await asyncio.to_thread(_read, reader, tenant, head))
        return found


def items(heads: Sequence[Head], since: int | None, until: int | None) -> int:
    """What it costs to read them and to tell what they have of a period."""
    told = [
        head.lines
        for head in heads
        if (since is None or since < head.until) and (until is None or head.since < until)
    ]
    return sum(told) + ITEMS_PER_STATEMENT * len(heads)


def head_of(seq: int, begins: bytes) -> Head:
    since, place = _number(begins, 1)
    until, place = _number(begins, place)
    return Head(seq, since, until, _number(begins, place)[0])


def _number(begins: bytes, place: int) -> tuple[int, int]:
    """A number, or the length of an array, and where it ends."""
    first, begin = begins[place], place + 1
    if first not in _SIZES:
        return first & (0x7F if first < 0x80 else 0x0F), begin
    end = begin + _SIZES[first]
    return int.from_bytes(begins[begin:end], "big"), end


def _read(reader: Reader, tenant: str, head: Head) -> Statement:
    """It must begin as it seemed to: that is how it was chosen."""
    name = document_name(tenant)
    statement = read_statement(reader.document(name, head.seq).body)
    if (statement.since, statement.until) != (head.since, head.until):
        raise JournalDamaged(
            f"document {name!r} of entry {head.seq}", "read twice, it is not the same"
        )
    return statement
