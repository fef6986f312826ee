"""Webhooks in the API: requests, responses and deliveries."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec import Meta

from laissez.wire.events import Numbered

SECRET_PREFIX: Final = "whsec_"  # noqa: S105

EventNumber: TypeAlias = Annotated[int, Meta(ge=0, le=10**18)]


class WebhookBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Send events to `url`: those of `types` (default: all) after event number `after` (default:
    from the webhook's creation on)."""

    url: str
    types: tuple[str, ...] | None = None
    after: EventNumber | None = None


class RedeliverBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Send all events after number `after` again."""

    after: EventNumber


class Webhook(msgspec.Struct, frozen=True):
    """`state` is active or retrying. Every event up to number `delivered` was delivered, was
    filtered out by `types`, or is a dead letter.

    `failures` counts failed attempts since the last success, and `last_error` explains the last
    one. `dead_letters` counts those kept, and `dead_letters_dropped` those that were too many to
    keep. `secret` is shown once, when the webhook is created.
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
    """The new secret, shown only once. The previous secret also signs until `previous_until`."""

    id: str
    secret: str | None
    previous_until: str


class DeadLetter(msgspec.Struct, frozen=True):
    """An undelivered event, given up at `at`. If `told` is `null`, it stands for the events from
    `n` to `last`, which are no longer in the history."""

    n: int
    last: int
    told: Numbered | None
    why: str
    at: str


class Delivery(msgspec.Struct, frozen=True):
    """The body of a request to a webhook. Events come in order. A number that you have seen before
    is the same event again."""

    webhook: str
    events: tuple[Numbered, ...]
