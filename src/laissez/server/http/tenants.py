"""The caller, sign-ins from browsers, and the operator's tenants and keys."""

from __future__ import annotations

from laissez.exchange.commands import OPERATOR, IssueKey, RevokeKey
from laissez.server import views
from laissez.server.auth import Principal, authenticate, new_key, unauthenticated
from laissez.server.http.cookies import check_ours, read_token, set_cookie, signed_in
from laissez.server.http.endpoint import Answer, Call, digest_of
from laissez.server.http.paging import page_of_names
from laissez.server.signins import LASTS_S
from laissez.wire import events as told
from laissez.wire.rendering import caps_text, render
from laissez.wire.requests import Caps
from laissez.wire.views import Key, Me, Page, SignedIn, SignedOut, Tenant


def get_me(call: Call) -> Me:
    return me_of(call, call.principal)


def me_of(call: Call, principal: Principal) -> Me:
    accounts = call.gateway.exchange.accounts
    caps = Caps() if principal.is_operator else caps_text(accounts[principal.holder].caps)
    return Me(principal.holder, principal.key, tuple(sorted(principal.scopes)), caps)


# -- signing in


async def sign_in(call: Call) -> Answer[Me]:
    """Always issue a new token and end the previous one: a token planted in the browser must never
    become valid (session fixation)."""
    headers = call.request.headers
    check_ours(headers, changes=True)
    before = read_token(headers)
    principal = authenticate(call.gateway.exchange.keys, call.body.key.strip())
    if principal is None:
        raise unauthenticated()
    call.admit(principal)
    token = await call.site.signins.begin(principal, before)
    call.gateway.refusals.note_done("signIn", principal, call.request.scope)
    return Answer(me_of(call, principal), headers=set_cookie(call.request.headers, token, LASTS_S))


def get_signin(call: Call) -> SignedIn:
    """A page asks this first, so a missing sign-in is not an error."""
    principal = signed_in(call.site.signins, call.request.headers, changes=False)
    return SignedIn(None if principal is None else me_of(call, principal))


async def sign_out(call: Call) -> Answer[SignedOut]:
    check_ours(call.request.headers, changes=True)
    token = read_token(call.request.headers)
    principal = None if token is None else call.site.signins.principal_of(token)
    ended = token is not None and await call.site.signins.end(token)
    if principal is not None:
        call.gateway.refusals.note_done("signOut", principal, call.request.scope)
    return Answer(SignedOut(ended), headers=set_cookie(call.request.headers, "", 0))


# -- tenants


def list_tenants(call: Call) -> Page[Tenant]:
    """In the order in which they were created."""
    exchange, accounts = call.gateway.exchange, call.gateway.exchange.accounts
    return page_of_names(
        call, list(accounts), lambda name: views.tenant_view(exchange, accounts[name])
    )


def tenant_created(call: Call) -> Tenant:
    event = call.events[-1].event
    assert type(event) is told.TenantCreated
    return Tenant(event.name, event.at, event.caps, 0, 0, 0)


def get_tenant(call: Call) -> Tenant:
    return views.tenant_view(call.gateway.exchange, call.tenant(call.path["name"]))


# -- keys


def list_keys(call: Call) -> Page[Key]:
    """The keys of a tenant or of the operator, oldest first, with revoked ones."""
    keys = {key.id: key for key in views.keys_of(call.gateway.exchange, _holder(call))}
    return page_of_names(call, list(keys), lambda id: views.key_view(keys[id]))


def issue_key(call: Call) -> Key:
    """Only the first answer has the secret; a repeat is answered without it."""
    asked = call.body
    holder = _holder(call)
    made = new_key()
    # Without the secret: a repeat draws another one but is the same request.
    body = digest_of(["issue", holder, asked.scopes, asked.name])
    applied = call.enter(IssueKey(holder, made.id, made.digest, asked.scopes, asked.name), body)
    event = render(applied.events[-1])
    assert type(event) is told.KeyIssued
    secret = None if call.replayed else made.secret
    return Key(event.key, event.holder, event.name, event.scopes, event.at, None, secret)


def revoke_key(call: Call) -> Key:
    id = call.path["id"]
    call.enter(RevokeKey(id))
    return views.key_view(call.gateway.exchange.keys[id])


def _holder(call: Call) -> str:
    """The tenant named by the path, or the operator without one."""
    return call.tenant(call.path["name"]).name if "name" in call.path else OPERATOR
