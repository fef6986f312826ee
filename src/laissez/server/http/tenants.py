"""Tenants and their keys, for the operator; and for everybody, whose key they have."""

from __future__ import annotations

from laissez.exchange.commands import OPERATOR, CreateTenant, IssueKey, RevokeKey, SetCaps
from laissez.server import views
from laissez.server.auth import Principal, new_key
from laissez.server.http.call import Answer, Call, digest_of
from laissez.server.http.paging import Cursor, names_after, page
from laissez.wire import events as told
from laissez.wire.decoding import read_caps
from laissez.wire.rendering import caps_text, render
from laissez.wire.requests import Caps
from laissez.wire.views import Key, Me, Tenant


def get_me(call: Call) -> Answer:
    return Answer(me_of(call, call.principal))


def me_of(call: Call, principal: Principal) -> Me:
    accounts = call.gateway.exchange.accounts
    caps = Caps() if principal.is_operator else caps_text(accounts[principal.holder].caps)
    return Me(principal.holder, principal.key, tuple(sorted(principal.scopes)), caps)


def list_tenants(call: Call) -> Answer:
    """In the order in which they were created."""
    exchange = call.gateway.exchange
    names = names_after(call, "tenants", list(exchange.accounts))
    found = (views.tenant_view(exchange, exchange.accounts[name]) for name in names)
    return Answer(page(call, "tenants", found, lambda tenant: Cursor(tenant.name)))


def create_tenant(call: Call) -> Answer:
    applied = call.enter(CreateTenant(call.body.name, read_caps(call.body.caps)))
    event = render(applied.events[-1])
    assert type(event) is told.TenantCreated
    return Answer(Tenant(event.name, event.at, event.caps, 0, 0, 0))


def get_tenant(call: Call) -> Answer:
    return Answer(views.tenant_view(call.gateway.exchange, call.tenant(call.path["name"])))


def set_caps(call: Call) -> Answer:
    call.enter(SetCaps(call.path["name"], read_caps(call.body.caps)))
    return get_tenant(call)


# -- keys


def list_keys(call: Call) -> Answer:
    """Of a tenant, or the operator's own; revoked ones too, oldest first."""
    keys = {key.id: key for key in views.keys_of(call.gateway.exchange, _holder(call))}
    found = (views.key_view(keys[id]) for id in names_after(call, "keys", list(keys)))
    return Answer(page(call, "keys", found, lambda key: Cursor(key.id)))


def issue_key(call: Call) -> Answer:
    """The secret is in the first answer and nowhere else: a repeat is answered without it."""
    asked = call.body
    holder = _holder(call)
    made = new_key()
    # Without the secret: a repeat draws another one, and is still the same request.
    body = digest_of(["issue", holder, asked.scopes, asked.name])
    applied = call.enter(IssueKey(holder, made.id, made.digest, asked.scopes, asked.name), body)
    event = render(applied.events[-1])
    assert type(event) is told.KeyIssued
    secret = None if call.replayed else made.secret
    return Answer(Key(event.key, event.holder, event.name, event.scopes, event.at, None, secret))


def revoke_key(call: Call) -> Answer:
    id = call.path["id"]
    call.enter(RevokeKey(id))
    return Answer(views.key_view(call.gateway.exchange.keys[id]))


def _holder(call: Call) -> str:
    """The tenant that the path names, or the operator, who is no tenant of any name."""
    return call.tenant(call.path["name"]).name if "name" in call.path else OPERATOR
