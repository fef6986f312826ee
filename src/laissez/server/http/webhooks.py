"""The caller's webhooks: a tenant's, or the operator's own."""

from __future__ import annotations

from laissez.exchange.commands import (
    CreateWebhook,
    DeleteWebhook,
    RestartWebhook,
    RotateWebhookSecret,
)
from laissez.exchange.refusals import Refused
from laissez.exchange.webhooks import WebhookRecord
from laissez.server.auth import check_may_look_back
from laissez.server.http.endpoint import Call, digest_of
from laissez.server.http.messages import bad_request
from laissez.server.http.paging import Cursor, cursor_of, page
from laissez.server.webhooks.signing import BOTH_SIGN_US
from laissez.units import format_time, parse_time
from laissez.wire import events as told
from laissez.wire.decoding import read_webhook
from laissez.wire.rendering import EVENT_CODES, render
from laissez.wire.texts import problem_of
from laissez.wire.views import Done, Page
from laissez.wire.webhooks import DeadLetter, Webhook, WebhookSecret


async def create(call: Call) -> Webhook:
    """A repeat has the secret too: it is derived again, never stored."""
    asked, webhooks = call.body, call.site.webhooks
    if asked.after is not None:
        check_may_look_back(call.principal, "after")
    body = digest_of(["webhook", asked.url, asked.types, asked.after])
    if call.first_command is None:
        _check_types(asked.types)
        _check_kept(call, asked.after)
        call.gateway.admission.admit_read(call.principal, lists=False)
        await webhooks.check(call.principal.holder, asked.url)
        call.check_in_force()
    webhooks.key.load()
    types = None if asked.types is None else tuple([EVENT_CODES[one] for one in asked.types])
    event = render(call.enter(CreateWebhook(asked.url, types, asked.after), body).events[-1])
    assert type(event) is told.WebhookCreated
    id, at, secret = event.webhook, event.at, webhooks.key.secret(event.webhook, event.at)
    return Webhook(
        id, event.url, event.types, at, "active", event.after, 0, None, None, 0, 0, secret
    )


def list_webhooks(call: Call) -> Page[Webhook]:
    """Oldest first."""
    cursor = cursor_of(call) or Cursor()
    records = call.gateway.exchange.webhooks.of(call.principal.holder)
    view = call.site.webhooks.view
    return page(
        call,
        ((Cursor("", one.number), view(one)) for one in records if one.number > cursor.number),
    )


def get_webhook(call: Call) -> Webhook:
    return call.site.webhooks.view(_record(call))


def delete(call: Call) -> Done:
    call.enter(DeleteWebhook(_id(call)))
    return Done(call.events)


def rotate_secret(call: Call) -> WebhookSecret:
    call.site.webhooks.key.load()
    event = render(call.enter(RotateWebhookSecret(_id(call))).events[-1])
    assert type(event) is told.WebhookSecretRotated
    secret = call.site.webhooks.key.secret(event.webhook, event.at)
    until = format_time(parse_time(event.at) + BOTH_SIGN_US)
    return WebhookSecret(event.webhook, secret, until)


def redeliver(call: Call) -> Done:
    check_may_look_back(call.principal, "after")
    if call.first_command is None:
        _check_kept(call, call.body.after)
    call.enter(RestartWebhook(_id(call), call.body.after))
    return Done(call.events)


async def list_dead_letters(call: Call) -> Page[DeadLetter]:
    """Any page costs as much as the whole list, because the whole list is read."""
    cursor = cursor_of(call) or Cursor()
    record = _record(call)
    call.admit_items(call.site.webhooks.view(record).dead_letters)
    found = await call.site.webhooks.letters(record)
    return page(call, [(Cursor("", one.n), one) for one in found if one.n > cursor.number])


def _id(call: Call) -> int:
    return read_webhook(call.principal.holder, call.path["id"])


def _record(call: Call) -> WebhookRecord:
    try:
        return call.gateway.exchange.webhooks.find(call.principal.holder, _id(call))
    except Refused as refused:
        raise problem_of(refused.refusal, call.principal.holder) from None


def _check_types(types: tuple[str, ...] | None) -> None:
    if types is None:
        return
    if not types or len(set(types)) < len(types):
        raise bad_request(f"types: expected one or more, each once, found {list(types)[:40]}")
    unknown = [one for one in types if one not in EVENT_CODES]
    if unknown:
        raise bad_request(
            f"types: expected some of {', '.join(sorted(EVENT_CODES))}, found {unknown[0][:64]!r}"
        )


def _check_kept(call: Call, after: int | None) -> None:
    """Events that are no longer kept cannot be sent."""
    if after is not None:
        holder = call.principal.holder
        call.gateway.event_log.entries_after(holder, after, call.gateway.latest(holder), most=1)
