"""Lines that are chained: JSON, one object to a line, each with the SHA-256 of the chain before it
and of its own text.

The hash is the last member, and is taken of the text before it, so that it can be recomputed with a
shell and sha256sum.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TypeVar

import msgspec

MARK = b',"chain":"'
END = b'"}'
HASH_LENGTH = 64


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
