"""The requests about webhooks, as values."""

from __future__ import annotations

from collections.abc import Iterable

from laissez.client.call import Call, change, get, get_list, name_part
from laissez.wire import views
from laissez.wire.webhooks import DeadLetter, RedeliverBody, Webhook, WebhookBody, WebhookSecret


def create_webhook(
    url: str,
    *,
    types: Iterable[str] | None = None,
    after: int | None = None,
    idempotency_key: str | None = None,
) -> Call[Webhook]:
    """Have your events, or those of some types, sent to an address, from now on or after event
    number `after`, which takes a key that may read, too. Its `secret` is shown this once."""
    return change(
        "POST",
        "/v1/webhooks",
        Webhook,
        WebhookBody(url, None if types is None else tuple(types), after),
        idempotency_key,
    )


def webhooks() -> Call[views.Page[Webhook]]:
    return get_list("/v1/webhooks", Webhook)


def webhook(id: str) -> Call[Webhook]:
    return get(f"/v1/webhooks/{name_part(id)}", Webhook)


def delete_webhook(id: str, *, idempotency_key: str | None = None) -> Call[views.Done]:
    return change("DELETE", f"/v1/webhooks/{name_part(id)}", views.Done, None, idempotency_key)


def rotate_webhook_secret(id: str, *, idempotency_key: str | None = None) -> Call[WebhookSecret]:
    """A new secret; for a day the one before signs too."""
    return change(
        "POST", f"/v1/webhooks/{name_part(id)}/secret", WebhookSecret, None, idempotency_key
    )


def redeliver(id: str, after: int, *, idempotency_key: str | None = None) -> Call[views.Done]:
    """Have everything after event number `after` sent again. It takes a key that may read, too."""
    return change(
        "POST",
        f"/v1/webhooks/{name_part(id)}/redeliver",
        views.Done,
        RedeliverBody(after),
        idempotency_key,
    )


def dead_letters(id: str) -> Call[views.Page[DeadLetter]]:
    """What could not be delivered to a webhook."""
    return get_list(f"/v1/webhooks/{name_part(id)}/dead-letters", DeadLetter)
