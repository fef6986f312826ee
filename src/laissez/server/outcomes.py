"""What came of a request, in the form that the journal keeps and replays are compared with."""

from __future__ import annotations

import msgspec

from laissez.journal import Document
from laissez.server.commands import OPERATOR
from laissez.wire.events import Event, Numbered


class Told(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """One event: whose it is (None: the operator's alone), its number in that tenant's stream, and
    itself."""

    tenant: str | None
    n: int
    event: Event


class Refusal(msgspec.Struct, array_like=True, frozen=True, gc=False):
    code: str
    detail: str


class Outcome(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`first` is the operator's number of the first event; the others follow."""

    first: int
    told: tuple[Told, ...]
    refused: Refusal | None


class Applied(msgspec.Struct, frozen=True, gc=False):
    """An outcome, and the documents that are filed with it."""

    outcome: Outcome
    documents: tuple[Document, ...] = ()


class _Addressed(msgspec.Struct, array_like=True, frozen=True, gc=False):
    tenant: str | None


class Addressees(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """An outcome of which only matters how many events it has and whose they are: the rest of its
    bytes is skipped, not read."""

    first: int
    told: tuple[_Addressed, ...]


pack = msgspec.msgpack.Encoder().encode
read_outcome = msgspec.msgpack.Decoder(Outcome).decode
read_addressees = msgspec.msgpack.Decoder(Addressees).decode


def numbered(outcome: Outcome, holder: str) -> tuple[Numbered, ...]:
    """The events of an outcome as a holder sees them: a tenant its own by its own numbers, the
    operator all of them."""
    if holder == OPERATOR:
        return tuple(
            [
                Numbered(outcome.first + index, told.event, told.tenant)
                for index, told in enumerate(outcome.told)
            ]
        )
    return tuple([Numbered(told.n, told.event) for told in outcome.told if told.tenant == holder])


def numbered_one(outcome: Outcome, index: int, holder: str) -> Numbered:
    """One of them, which must be the holder's to see."""
    told = outcome.told[index]
    if holder == OPERATOR:
        return Numbered(outcome.first + index, told.event, told.tenant)
    return Numbered(told.n, told.event)
