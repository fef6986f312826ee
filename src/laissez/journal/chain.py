"""The hash chain: each group's link is the SHA-256 of the link before it and of everything stored
with the group.

So one link stands for the whole history before it, in this order and no other: an entry changed,
moved, doubled or missing breaks it at the first group concerned. The first link stands for how the
journal began.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from laissez.journal.entries import Filed

__all__ = ["LINK_BYTES", "link", "start"]

LINK_BYTES = 32
MAGIC = b"laissez journal\n"

# hashlib gives up the interpreter lock for pieces of 2,048 bytes and more, and a busy thread may
# then keep it for a whole switch interval (5 ms unless set). Smaller pieces keep the lock: a group
# of 500 entries is hashed in about 0.1 ms.
_PIECE_BYTES = 2047


def start(format_version: int, genesis: bytes, identity: bytes, created: bytes) -> bytes:
    """The link before the first group."""
    parts = [MAGIC, _number(format_version)]
    for part in (genesis, identity, created):
        parts += [_number(len(part)), part]
    return hashlib.sha256(b"".join(parts)).digest()


def link(
    before: bytes, first: int, count: int, packed: bytes, documents: Iterable[Filed] = ()
) -> bytes:
    """The link of a group; its documents in their order, by sequence number and name."""
    state = hashlib.sha256(before + _number(first) + _number(count) + _number(len(packed)))
    view = memoryview(packed)
    for begin in range(0, len(packed), _PIECE_BYTES):
        state.update(view[begin : begin + _PIECE_BYTES])
    for document in documents:
        name = document.name.encode()
        state.update(
            _number(document.seq) + _number(len(name)) + name + _number(len(document.body))
        )
        state.update(document.body)
    return state.digest()


def _number(value: int) -> bytes:
    return value.to_bytes(8, "big")
