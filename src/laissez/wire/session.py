"""The service's messages in a session. In both directions a frame holds one message or a list.

Events caused by a session's own command come inside its reply; all others come as `event`. Either
way each event comes once, in order of `n`.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from laissez.wire.events import Notice, Numbered
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
    """The session's events start at number `n + 1`. `frame_messages_max` and `frame_bytes_max`
    limit the frames that you send; they are omitted if they are the usual ones."""

    holder: str
    n: int
    server: str
    heartbeat_s: float
    dead_after_s: float
    frame_messages_max: int | None = None
    frame_bytes_max: int | None = None


class Reply(_Sent, frozen=True, tag="reply"):
    """The command was carried out and is durable."""

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
    """The open orders as of event `n`."""

    n: int
    orders: tuple[Order, ...]


class LeasesReply(_Sent, frozen=True, tag="leases"):
    """The leases as of event `n`."""

    n: int
    leases: tuple[Lease, ...]


class EventSent(_Sent, frozen=True, tag="event"):
    told: Numbered


class NoticeSent(_Sent, frozen=True, tag="notice"):
    notice: Notice


class Pong(_Sent, frozen=True, tag="pong"):
    pass


class Heartbeat(_Sent, frozen=True, tag="heartbeat"):
    """All events up to number `n` have been sent."""

    n: int


class Closing(_Sent, frozen=True, tag="closing"):
    """The server ends the session. Connect again and resume after event `n`."""

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
