"""What can be asked in a session, built once for both kinds of session, and the two encodings of
its frames.

`id` is a message's name and its idempotency key: left out, the session makes one up. Give your own
to repeat a command after a restart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar

import msgspec

from laissez.client.asking import Asked, Method
from laissez.client.prices import Price, price_or_none
from laissez.wire.requests import (
    Alternative,
    AmendOrder,
    AskLeases,
    AskOrders,
    AskQuote,
    CancelOrder,
    OperatorCommand,
    PlaceOrder,
    Question,
    Relinquish,
    SessionMessage,
    SetLimit,
    TenantCommand,
)
from laissez.wire.session import JSON, MSGPACK, LeasesReply, OrdersReply, Reply, Sent
from laissez.wire.views import Quote

T = TypeVar("T")

Encoding: TypeAlias = Literal["msgpack", "json"]
Command: TypeAlias = TenantCommand | OperatorCommand
Sendable: TypeAlias = Command | Question


class Message(Asked[T]):
    """A message that is answered with a `T`."""

    __slots__ = ("content",)

    def __init__(self, content: Sendable) -> None:
        self.content = content


def place(*alternatives: Alternative, id: str = "") -> Message[Reply]:
    """Place an order for one leaf that fits any of the alternatives."""
    return Message(PlaceOrder(id=id, alternatives=alternatives))


def amend(order: str, *alternatives: Alternative, id: str = "") -> Message[Reply]:
    """Replace the alternatives of an open order."""
    return Message(AmendOrder(id=id, order=order, alternatives=alternatives))


def cancel(order: str, *, id: str = "") -> Message[Reply]:
    return Message(CancelOrder(id=id, order=order))


def set_limit(lease: str, limit: Price | None, *, id: str = "") -> Message[Reply]:
    """The most a lease may cost per hour before it is given up; `None` keeps it whatever the
    price."""
    return Message(SetLimit(id=id, lease=lease, limit=price_or_none(limit)))


def relinquish(lease: str, *, id: str = "") -> Message[Reply]:
    """Give a lease back."""
    return Message(Relinquish(id=id, lease=lease))


def send(command: Command) -> Message[Reply]:
    """Any command, the operator's included."""
    return Message(command)


def quote(scope: str) -> Message[Quote]:
    """The least price that wins a leaf of the scope now."""
    return Message(AskQuote(scope=scope))


def orders() -> Message[OrdersReply]:
    """The open orders, and the number of the last event that they reflect."""
    return Message(AskOrders())


def leases() -> Message[LeasesReply]:
    """The leases, and the number of the last event that they reflect."""
    return Message(AskLeases())


class Messages:
    """Everything a session can be asked. Commands are answered with the events they caused, or
    refused with an `ApiError`."""

    place = Method(place)
    amend = Method(amend)
    cancel = Method(cancel)
    set_limit = Method(set_limit)
    relinquish = Method(relinquish)
    send = Method(send)
    quote = Method(quote)
    orders = Method(orders)
    leases = Method(leases)


class Codec(NamedTuple):
    """How frames are written and read. Both ways a frame is one message or an array of them."""

    subprotocol: str
    is_text: bool
    encode: Callable[[SessionMessage | Sequence[msgspec.Raw]], bytes]
    decode: Callable[[bytes], Sent | list[Sent]]
    check: Callable[[bytes], SessionMessage]


_FRAME: Any = Sent | list[Sent]
_ASKED: Any = SessionMessage

CODECS: Final[dict[str, Codec]] = {
    "msgpack": Codec(
        MSGPACK,
        False,
        msgspec.msgpack.Encoder().encode,
        msgspec.msgpack.Decoder(_FRAME).decode,
        msgspec.msgpack.Decoder(_ASKED).decode,
    ),
    "json": Codec(
        JSON,
        True,
        msgspec.json.Encoder().encode,
        msgspec.json.Decoder(_FRAME).decode,
        msgspec.json.Decoder(_ASKED).decode,
    ),
}
