"""The Python client: REST calls that block (`Client`) or await (`AsyncClient`), and pipelined
sessions over a WebSocket (`AsyncSession`, `Session`).

This package sends, waits and retries, and raises errors that imply the next step. It knows the
types of the API (`laissez.wire`) and nothing of the server.

    with Client(key=key) as client:
        done = client.place(alternative("h100", "3.50"), alternative("a100", "1.20"))
        for lease in client.leases():
            print(lease.leaf, lease.rate)
"""

from laissez.client.errors import (
    ApiError,
    Conflict,
    ConnectionFailed,
    EventsMissed,
    Forbidden,
    HistoryGone,
    LaissezError,
    NotFound,
    OutcomeUnknown,
    RateLimited,
    Refused,
    SessionClosed,
    SessionFull,
    Unauthenticated,
    Unavailable,
    UnexpectedAnswer,
    UsageError,
)
from laissez.client.http import AsyncClient, Client
from laissez.client.request import Price, alternative
from laissez.client.session import AsyncSession
from laissez.client.sync_session import Session
from laissez.client.webhooks import WebhookVerificationError
from laissez.wire.requests import Alternative, BandSetting, Caps

__all__ = [
    "Alternative",
    "ApiError",
    "AsyncClient",
    "AsyncSession",
    "BandSetting",
    "Caps",
    "Client",
    "Conflict",
    "ConnectionFailed",
    "EventsMissed",
    "Forbidden",
    "HistoryGone",
    "LaissezError",
    "NotFound",
    "OutcomeUnknown",
    "Price",
    "RateLimited",
    "Refused",
    "Session",
    "SessionClosed",
    "SessionFull",
    "Unauthenticated",
    "Unavailable",
    "UnexpectedAnswer",
    "UsageError",
    "WebhookVerificationError",
    "alternative",
]
