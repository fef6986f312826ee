"""The client of the service: REST calls that block (`Client`) or await (`AsyncClient`), and
sessions that pipeline (`AsyncSession`, `Session`).

Here belongs what a program needs to speak to a server from outside: sending, waiting, trying again,
and errors that say what to do. It knows the words of the API (`laissez.wire`) and nothing of how
they are carried out.

    with Client(key=key) as client:
        done = client.place(alternative("h100", "3.50"), alternative("a100", "1.20"))
        for lease in client.leases():
            print(lease.leaf, lease.rate)
"""

from laissez.client.blocking import Session
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
from laissez.client.prices import Price, alternative
from laissez.client.rest import AsyncClient, Client
from laissez.client.session import AsyncSession
from laissez.client.webhooks import WebhookNotGenuine
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
    "WebhookNotGenuine",
    "alternative",
]
