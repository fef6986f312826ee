"""What the service sends in a session. A frame holds one message or a list of them; so may a frame
to the service.

The events that a session's own command caused come inside its reply; all others come as `event`.
Either way each event comes once, in order of `n`.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from laissez.wire.events import Notice, Numbered
from laissez.wire.limits import BATCH_BYTES_MAX, BATCH_COMMANDS_MAX
from laissez.wire.views import Lease, Order, Quote

JSON = "laissez.v1.json"
MSGPACK = "laissez.v1.msgpack"

CLOSE_STOPPING = 1001
CLOSE_BAD_MESSAGE = 4400
CLOSE_UNAUTHENTICATED = 4401
CLOSE_SLOW = 4408
CLOSE_HISTORY_GONE = 4410
CLOSE_TOO_MANY = 4429
CLOSE_FAILED = 4503


class _Sent(
    msgspec.Struct, frozen=True, gc=False, tag_field="type", kw_only=True, omit_defaults=True
):
    id: str = ""


class Welcome(_Sent, frozen=True, tag="welcome"):
    """`n` is the number of the last event before this session's stream; what follows starts at
    `n + 1`. A frame to the service may hold so many messages and bytes: told where it is not as
    many as usual."""

    holder: str
    n: int
    server: str
    heartbeat_s: float
    dead_after_s: float
    frame_messages_max: int = BATCH_COMMANDS_MAX
    frame_bytes_max: int = BATCH_BYTES_MAX


class Reply(_Sent, frozen=True, tag="reply"):
    """The command was carried out, and is durable."""

    events: tuple[Numbered, ...] = ()


class Refused(_Sent, frozen=True, tag="refused"):
    """Nothing was changed; `code` and `status` are those of the REST API."""

    code: str
    detail: str
    status: int
    retry_after: float | None = None


class QuoteReply(_Sent, frozen=True, tag="quote"):
    quote: Quote


class OrdersReply(_Sent, frozen=True, tag="orders"):
    """`n` is the number of the last event that the list reflects."""

    n: int
    orders: tuple[Order, ...]


class LeasesReply(_Sent, frozen=True, tag="leases"):
    n: int
    leases: tuple[Lease, ...]


class EventSent(_Sent, frozen=True, tag="event"):
    told: Numbered


class NoticeSent(_Sent, frozen=True, tag="notice"):
    notice: Notice


class Pong(_Sent, frozen=True, tag="pong"):
    pass


class Heartbeat(_Sent, frozen=True, tag="heartbeat"):
    """Nothing is missing up to event `n`."""

    n: int


class Closing(_Sent, frozen=True, tag="closing"):
    """The server ends the session; connect again and resume after `n`."""

    reason: str
    n: int


Sent: TypeAlias = (
    Welcome
    | Reply
    | Refused
    | QuoteReply
    | OrdersReply
    | LeasesReply
    | EventSent
    | NoticeSent
    | Pong
    | Heartbeat
    | Closing
)
