"""What a journal holds: entries in one gap-free order, stored in groups, and the documents filed
with them.

The journal does not look inside an entry. `request` is what was asked, `outcome` what came of it,
both as bytes of the caller's own making; an entry's sequence number is its position, counted from
1, and is not stored in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import msgspec

from laissez.exchange.events import Document
from laissez.journal.errors import JournalDamaged

__all__ = ["Document", "Entry", "Filed", "Group", "pack", "unpack"]


class Entry(msgspec.Struct, array_like=True, frozen=True, gc=False):
    at: int  # microseconds; never falls from one entry to the next
    request: bytes
    outcome: bytes


class Filed(msgspec.Struct, frozen=True, gc=False):
    """A document and the entry it was filed with."""

    seq: int
    name: str
    body: bytes


class Group(msgspec.Struct, frozen=True, dict=True):
    """The entries of one commit, as stored. They are decoded when first asked for: checking the
    chain does not need them."""

    first: int
    count: int
    packed: bytes
    chain: bytes
    documents: tuple[Filed, ...] = ()  # by seq, then by name

    @property
    def last(self) -> int:
        return self.first + self.count - 1

    @cached_property
    def entries(self) -> list[Entry]:
        try:
            entries = unpack(self.packed)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise JournalDamaged(self.where, f"its entries cannot be decoded ({error})") from error
        if len(entries) != self.count:
            raise JournalDamaged(
                self.where, f"it should hold {self.count} entries and holds {len(entries)}"
            )
        return entries

    @property
    def where(self) -> str:
        return f"entries {self.first} to {self.last}"


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[Entry])


def pack(entries: Sequence[Entry]) -> bytes:
    return _encoder.encode(entries)


def unpack(packed: bytes) -> list[Entry]:
    return _decoder.decode(packed)
