"""Signing in with a key, for browsers: the answer sets a cookie that stands for the key from then
on."""

from __future__ import annotations

from laissez.server.auth import authenticate
from laissez.server.http.call import Answer, Call, unauthenticated
from laissez.server.http.cookies import (
    check_ours,
    expire_cookie,
    read_token,
    set_cookie,
    signed_in,
)
from laissez.server.http.tenants import me_of
from laissez.wire.views import SignedIn, SignedOut


async def sign_in(call: Call) -> Answer:
    """Always with a new token: one that somebody else may have put into the browser before is worth
    nothing, and one of ours is over."""
    check_ours(call.headers, changes=True)
    before = read_token(call.headers)
    principal = authenticate(call.gateway.exchange.keys, call.body.key.strip())
    if principal is None:
        raise unauthenticated()
    call.admit(principal)
    token = await call.site.signins.begin(principal, before)
    call.gateway.refusals.note_done("signIn", principal, call.scope)
    return Answer(me_of(call, principal), headers=(set_cookie(call.headers, token),))


def shown(call: Call) -> Answer:
    """Nobody is an answer here, not a problem: it is what a page asks first."""
    principal = signed_in(call.site.signins, call.headers, changes=False)
    return Answer(SignedIn(None if principal is None else me_of(call, principal)))


async def sign_out(call: Call) -> Answer:
    check_ours(call.headers, changes=True)
    token = read_token(call.headers)
    principal = None if token is None else call.site.signins.whose(token)
    ended = token is not None and await call.site.signins.end(token)
    if principal is not None:
        call.gateway.refusals.note_done("signOut", principal, call.scope)
    return Answer(SignedOut(ended), headers=(expire_cookie(call.headers),))
