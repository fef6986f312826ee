"""Webhooks of whoever asks: a tenant's, or the operator's own."""

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
from laissez.server.http.call import Answer, Call, digest_of
from laissez.server.http.paging import Cursor, cursor_of, page
from laissez.server.views import own_number
from laissez.server.webhooks.signing import BOTH_SIGN_US
from laissez.units import format_time, parse_time
from laissez.wire import events as told
from laissez.wire.decoding import read_webhook
from laissez.wire.problems import Code, ProblemError
from laissez.wire.rendering import EVENT_CODES, render, rendered
from laissez.wire.texts import problem_of
from laissez.wire.views import Done
from laissez.wire.webhooks import EVENT_TYPES, Webhook, WebhookSecret


async def create(call: Call) -> Answer:
    """The secret is in the answer, also when it is sent again: it can be made again, and is stored
    nowhere."""
    asked = call.body
    if asked.after is not None:
        check_may_look_back(call.principal, "after")
    body = digest_of(["webhook", asked.url, asked.types, asked.after])
    if call.first_command is None:
        _check_types(asked.types)
        _check_number(call, asked.after)
        call.gateway.admission.admit_question(call.principal, lists=False)
        await call.site.webhooks.check(call.principal.holder, asked.url)
        call.check_in_force()
    call.site.webhooks.load_key()
    types = None if asked.types is None else tuple([EVENT_CODES[one] for one in asked.types])
    event = render(call.enter(CreateWebhook(asked.url, types, asked.after), body).events[-1])
    assert type(event) is told.WebhookCreated
    secret = call.site.webhooks.secret(event.webhook, event.at)
    return Answer(
        Webhook(
            event.webhook,
            event.url,
            event.types,
            event.at,
            "active",
            event.after,
            0,
            None,
            None,
            0,
            0,
            secret,
        )
    )


def listed(call: Call) -> Answer:
    """Oldest first."""
    cursor = cursor_of(call, "webhooks")
    found = (
        record
        for record in call.gateway.exchange.webhooks.of(call.principal.holder)
        if cursor is None or record.number > cursor.number
    )
    return Answer(
        page(
            call,
            "webhooks",
            (call.site.webhooks.view(record) for record in found),
            lambda one: Cursor("", own_number(one.id)),
        )
    )


def shown(call: Call) -> Answer:
    return Answer(call.site.webhooks.view(_record(call)))


def delete(call: Call) -> Answer:
    return Answer(Done(rendered(call.enter(DeleteWebhook(_id(call))), call.principal.holder)))


def rotate(call: Call) -> Answer:
    call.site.webhooks.load_key()
    event = render(call.enter(RotateWebhookSecret(_id(call))).events[-1])
    assert type(event) is told.WebhookSecretRotated
    until = format_time(parse_time(event.at) + BOTH_SIGN_US)
    return Answer(
        WebhookSecret(event.webhook, call.site.webhooks.secret(event.webhook, event.at), until)
    )


def redeliver(call: Call) -> Answer:
    check_may_look_back(call.principal, "after")
    if call.first_command is None:
        _check_number(call, call.body.after)
    return Answer(
        Done(
            rendered(call.enter(RestartWebhook(_id(call), call.body.after)), call.principal.holder)
        )
    )


async def dead_letters(call: Call) -> Answer:
    """All of them are read for any page, so it costs as much as a list of them, whatever the holder
    has otherwise."""
    cursor = cursor_of(call, "dead-letters")
    record = _record(call)
    call.admit_items(call.site.webhooks.view(record).dead_letters)
    found = await call.site.webhooks.letters(record)
    letters = (one for one in found if cursor is None or one.n > cursor.number)
    return Answer(page(call, "dead-letters", letters, lambda one: Cursor("", one.n)))


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
        raise ProblemError(
            Code.BAD_REQUEST, f"types: expected one or more, each once, found {list(types)[:40]}"
        )
    unknown = [one for one in types if one not in EVENT_TYPES]
    if unknown:
        raise ProblemError(
            Code.BAD_REQUEST,
            f"types: expected some of {', '.join(EVENT_TYPES)}, found {unknown[0][:64]!r}",
        )


def _check_number(call: Call, after: int | None) -> None:
    """What is no longer kept cannot be sent."""
    if after is not None:
        holder = call.principal.holder
        call.gateway.event_log.entries_after(holder, after, call.gateway.latest(holder), most=1)
