"""What came of a request, in the form that the journal keeps and replays are compared with."""

from __future__ import annotations

import msgspec

from laissez.journal import Document
from laissez.wire import events as wire


class Told(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """One event: whose it is (None: the operator's alone), its number in that tenant's stream, and itself."""

    tenant: str | None
    n: int
    event: msgspec.Raw


class Refusal(msgspec.Struct, array_like=True, frozen=True, gc=False):
    code: str
    detail: str


class Outcome(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`first` is the operator's number of the first event; the others follow."""

    first: int
    told: tuple[Told, ...]
    refused: Refusal | None


class Applied(msgspec.Struct, frozen=True, gc=False):
    """An outcome with its events still in their own form, beside their bytes."""

    outcome: Outcome
    events: tuple[wire.Event, ...]
    documents: tuple[Document, ...] = ()


pack = msgspec.msgpack.Encoder().encode
read_outcome = msgspec.msgpack.Decoder(Outcome).decode
read_event = msgspec.msgpack.Decoder(wire.Event).decode
