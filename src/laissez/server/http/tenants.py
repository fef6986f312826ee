"""Tenants and keys, which are the operator's business; and for everybody, who they are."""

from __future__ import annotations

from laissez.exchange.commands import OPERATOR, CreateTenant, IssueKey, RevokeKey, SetCaps
from laissez.server import views
from laissez.server.auth import Principal, new_key
from laissez.server.http.call import Answer, Call, digest_of
from laissez.server.http.paging import Cursor, cursor_of, page
from laissez.wire import events as told
from laissez.wire.decoding import read_caps
from laissez.wire.rendering import caps_text, render
from laissez.wire.requests import Caps
from laissez.wire.views import Key, Me, Tenant


def me(call: Call) -> Answer:
    return Answer(me_of(call, call.principal))


def me_of(call: Call, principal: Principal) -> Me:
    accounts = call.gateway.exchange.accounts
    caps = Caps() if principal.is_operator else caps_text(accounts[principal.holder].caps)
    return Me(principal.holder, principal.key, tuple(sorted(principal.scopes)), caps)


def listed(call: Call) -> Answer:
    """In the order in which they were made."""
    exchange = call.gateway.exchange
    cursor = cursor_of(call, "tenants")
    names = list(exchange.accounts)
    first = (
        0
        if cursor is None
        else names.index(cursor.name) + 1
        if cursor.name in exchange.accounts
        else len(names)
    )
    found = (views.tenant_view(exchange, exchange.accounts[name]) for name in names[first:])
    return Answer(page(call, "tenants", found, lambda tenant: Cursor(tenant.name)))


def create(call: Call) -> Answer:
    applied = call.enter(CreateTenant(call.body.name, read_caps(call.body.caps)))
    event = render(applied.events[-1])
    assert type(event) is told.TenantCreated
    return Answer(Tenant(event.name, event.at, event.caps, 0, 0, 0))


def shown(call: Call) -> Answer:
    return Answer(views.tenant_view(call.gateway.exchange, call.tenant(call.path["name"])))


def set_caps(call: Call) -> Answer:
    call.enter(SetCaps(call.path["name"], read_caps(call.body.caps)))
    return shown(call)


# -- keys


def keys(call: Call) -> Answer:
    """Of a tenant, or the operator's own; revoked ones too, oldest first."""
    holder = _holder(call)
    cursor = cursor_of(call, "keys")
    records = list(views.keys_of(call.gateway.exchange, holder))
    names = [record.id for record in records]
    first = (
        0
        if cursor is None
        else names.index(cursor.name) + 1
        if cursor.name in names
        else len(names)
    )
    return Answer(
        page(
            call,
            "keys",
            (views.key_view(record) for record in records[first:]),
            lambda key: Cursor(key.id),
        )
    )


def issue(call: Call) -> Answer:
    """The secret is in the first answer and nowhere else: sent again, the request is answered
    without it."""
    asked = call.body
    holder = _holder(call)
    made = new_key()
    # What is asked for, without what is drawn: a repeat draws another key, and is still the same
    # request.
    body = digest_of(["issue", holder, asked.scopes, asked.name])
    applied = call.enter(IssueKey(holder, made.id, made.digest, asked.scopes, asked.name), body)
    event = render(applied.events[-1])
    assert type(event) is told.KeyIssued
    secret = None if call.replayed else made.secret
    return Answer(Key(event.key, event.holder, event.name, event.scopes, event.at, None, secret))


def revoke(call: Call) -> Answer:
    id = call.path["id"]
    call.enter(RevokeKey(id))
    return Answer(views.key_view(call.gateway.exchange.keys[id]))


def _holder(call: Call) -> str:
    """The tenant that the path names, or the operator; the operator is no tenant, also not by its
    name."""
    return call.tenant(call.path["name"]).name if "name" in call.path else OPERATOR
