"""Webhooks: requests, views and the body of a delivery."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias, get_args

import msgspec
from msgspec import Meta

from laissez.wire.events import Event, Numbered

SECRET_PREFIX: Final = "whsec_"  # noqa: S105
EVENT_TYPES: Final = tuple(sorted(str(kind.__struct_config__.tag) for kind in get_args(Event)))

EventNumber: TypeAlias = Annotated[int, Meta(ge=0, le=10**18)]


class WebhookBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where to send events: those of `types`, if given, after number `after`, else from its
    creation on."""

    url: str
    types: tuple[str, ...] | None = None
    after: EventNumber | None = None


class RedeliverBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Events after number `after` are sent again."""

    after: EventNumber


class Webhook(msgspec.Struct, frozen=True):
    """`state` is active or retrying. Every event up to number `delivered` was delivered, was not
    wanted, or is a dead letter.

    `failures` counts failed attempts since the last success; `last_error` is why. `dead_letters`
    are kept, `dead_letters_dropped` were too many to keep. `secret` is shown only when the webhook
    is created.
    """

    id: str
    url: str
    types: tuple[str, ...] | None
    created_at: str
    state: str
    delivered: int
    failures: int
    last_error: str | None
    next_attempt_at: str | None
    dead_letters: int
    dead_letters_dropped: int
    secret: str | None = None


class WebhookSecret(msgspec.Struct, frozen=True):
    """The new secret, shown only once. The previous one signs too until `previous_until`."""

    id: str
    secret: str | None
    previous_until: str


class DeadLetter(msgspec.Struct, frozen=True):
    """One event that was not delivered or, where `told` is null, those from `n` to `last`, which
    left the history. `at` is when it was given up."""

    n: int
    last: int
    told: Numbered | None
    why: str
    at: str


class Delivery(msgspec.Struct, frozen=True):
    """The body of a request to a webhook. Events come in order; a number that was seen before is
    the same event again."""

    webhook: str
    events: tuple[Numbered, ...]
