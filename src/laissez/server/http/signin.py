"""Signing in with a key, for browsers: a cookie stands for the key from then on.

A browser sends the cookie with every request to us, also with one that another site's page made it
send. So a change must carry a header that such a page cannot set, and where the browser says which
site asks, it must be ours.
"""

from __future__ import annotations

from laissez.server.auth import Principal, authenticate
from laissez.server.http.call import Answer, Call, unauthenticated
from laissez.server.http.request import bad_request
from laissez.server.http.tenants import me_of
from laissez.server.signins import LASTS_S, SignIns
from laissez.wire.problems import Code, ProblemError
from laissez.wire.views import SignedIn, SignedOut

COOKIE = "laissez_signin"
OURS = (b"same-origin",)
OURS_OR_TYPED = (b"same-origin", b"none")  # none: the address was typed, or is a bookmark


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
    return Answer(me_of(call, principal), headers=(_set_cookie(call.headers, token, LASTS_S),))


def get_signin(call: Call) -> Answer:
    """A page asks this first, so it is no problem if nobody is signed in."""
    principal = signed_in(call.site.signins, call.headers, changes=False)
    return Answer(SignedIn(None if principal is None else me_of(call, principal)))


async def sign_out(call: Call) -> Answer:
    check_ours(call.headers, changes=True)
    token = read_token(call.headers)
    principal = None if token is None else call.site.signins.principal_of(token)
    ended = token is not None and await call.site.signins.end(token)
    if principal is not None:
        call.gateway.refusals.note_done("signOut", principal, call.scope)
    return Answer(SignedOut(ended), headers=(_set_cookie(call.headers, "", 0),))


def signed_in(signins: SignIns, headers: dict[bytes, bytes], changes: bool) -> Principal | None:
    """Who is signed in by the cookie of a request; None without a cookie that counts."""
    token = read_token(headers)
    principal = None if token is None else signins.principal_of(token)
    if principal is not None:
        check_ours(headers, changes)
    return principal


def check_ours(headers: dict[bytes, bytes], changes: bool) -> None:
    if changes and headers.get(b"x-laissez-console") != b"1":
        raise ProblemError(
            Code.FORBIDDEN,
            "expected the header X-Laissez-Console: 1, without which a browser may change nothing"
            " here",
        )
    site = headers.get(b"sec-fetch-site")
    expected = OURS if changes else OURS_OR_TYPED
    if site is not None and site not in expected:
        words = b" or ".join(expected).decode()
        raise ProblemError(
            Code.FORBIDDEN,
            f"Sec-Fetch-Site: expected {words}, found {site[:20].decode('latin-1')!r}: only the"
            " console's own page may ask",
        )


def read_token(headers: dict[bytes, bytes]) -> str | None:
    """The value of our cookie, if there is one; other cookies are passed over."""
    name = _cookie_name(headers).encode()
    pairs = (pair.strip().partition(b"=") for pair in headers.get(b"cookie", b"").split(b";"))
    found = [value for key, _, value in pairs if key == name]
    if len(found) > 1:
        raise bad_request(f"expected the cookie {name.decode()} once, found it more often")
    return found[0].decode("latin-1") if found else None


def _set_cookie(headers: dict[bytes, bytes], token: str, lasts_s: int) -> tuple[bytes, bytes]:
    secure = "; Secure" if _came_encrypted(headers) else ""
    attributes = f"HttpOnly; SameSite=Strict; Path=/; Max-Age={lasts_s}{secure}"
    return b"set-cookie", f"{_cookie_name(headers)}={token}; {attributes}".encode()


def _cookie_name(headers: dict[bytes, bytes]) -> str:
    """Cookies know no ports: two markets on one machine would sign each other out, so the port is
    in the name where the request names one. Over an encrypted connection, the prefix makes browsers
    refuse such a cookie from any other host."""
    _, colon, port = headers.get(b"host", b"").rpartition(b":")
    name = f"{COOKIE}_{port.decode()}" if colon and port.isdigit() else COOKIE
    return f"__Host-{name}" if _came_encrypted(headers) else name


def _came_encrypted(headers: dict[bytes, bytes]) -> bool:
    """As the proxy in front says; the first of several is the one that the browser spoke to."""
    return headers.get(b"x-forwarded-proto", b"").partition(b",")[0].strip().lower() == b"https"
