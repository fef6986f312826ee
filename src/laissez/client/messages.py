"""The messages of a session, and the two encodings of its frames.

The `id` of a message is its idempotency key. The session makes one by default; give your own to
repeat a command after a restart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar

import msgspec

from laissez.client.methods import Answerable, Method
from laissez.client.request import Price, price_or_none
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


class Message(Answerable[T]):
    """A message that the server answers with a `T`."""

    __slots__ = ("content",)

    def __init__(self, content: Sendable) -> None:
        self.content = content


class SessionApi:
    """Every operation of a session. A command is answered with the events it caused, or refused
    with an `ApiError`."""

    @Method
    def place(self, *alternatives: Alternative, id: str = "") -> Message[Reply]:
        """Place an order for one GPU that fits any of the alternatives."""
        return Message(PlaceOrder(id=id, alternatives=alternatives))

    @Method
    def amend(self, order: str, *alternatives: Alternative, id: str = "") -> Message[Reply]:
        """Replace the alternatives of an open order."""
        return Message(AmendOrder(id=id, order=order, alternatives=alternatives))

    @Method
    def cancel(self, order: str, *, id: str = "") -> Message[Reply]:
        """Cancel an open order."""
        return Message(CancelOrder(id=id, order=order))

    @Method
    def set_limit(self, lease: str, limit: Price | None, *, id: str = "") -> Message[Reply]:
        """Set the most that a lease may cost per hour; above it the lease ends. `None` keeps the
        lease at any price."""
        return Message(SetLimit(id=id, lease=lease, limit=price_or_none(limit)))

    @Method
    def relinquish(self, lease: str, *, id: str = "") -> Message[Reply]:
        """Give a lease back."""
        return Message(Relinquish(id=id, lease=lease))

    @Method
    def send(self, command: Command) -> Message[Reply]:
        """Send any command of a tenant or the operator."""
        return Message(command)

    @Method
    def quote(self, scope: str) -> Message[Quote]:
        """The lowest price that wins a GPU of the scope now."""
        return Message(AskQuote(scope=scope))

    @Method
    def orders(self) -> Message[OrdersReply]:
        """The open orders, and the number of the last event that they reflect."""
        return Message(AskOrders())

    @Method
    def leases(self) -> Message[LeasesReply]:
        """The leases, and the number of the last event that they reflect."""
        return Message(AskLeases())


class Codec(NamedTuple):
    """Encodes and decodes frames. A frame is one message or an array of them."""

    subprotocol: str
    is_text: bool
    encode: Callable[[SessionMessage | Sequence[msgspec.Raw]], bytes]
    decode: Callable[[bytes], Sent | list[Sent]]
    check: Callable[[bytes], SessionMessage]


_FRAME: Any = Sent | list[Sent]
_MESSAGE: Any = SessionMessage

CODECS: Final[dict[str, Codec]] = {
    name: Codec(
        subprotocol,
        is_text,
        format.Encoder().encode,
        format.Decoder(_FRAME).decode,
        format.Decoder(_MESSAGE).decode,
    )
    for name, subprotocol, is_text, format in (
        ("msgpack", MSGPACK, False, msgspec.msgpack),
        ("json", JSON, True, msgspec.json),
    )
}
