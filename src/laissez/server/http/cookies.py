"""The cookie of a sign-in: how it is called, read and set; and that a request that comes with it
comes from the console's own page.

A browser sends a cookie along whoever made it ask. So a change must carry a header that a page of
another site cannot set without a permission that is never given, and where the browser says which
site asks, it must be ours.
"""

from __future__ import annotations

from laissez.server.auth import Principal
from laissez.server.signins import LASTS_S, SignIns
from laissez.wire.problems import Code, ProblemError

NAME = "laissez_signin"
CONSOLE = b"x-laissez-console"
OURS = (b"same-origin",)
OURS_OR_TYPED = (b"same-origin", b"none")  # none: the address was typed, or is a bookmark


def signed_in(signins: SignIns, headers: dict[bytes, bytes], changes: bool) -> Principal | None:
    """Who is signed in by the cookie of a request; None without one, or with one that is worth
    nothing."""
    token = read_token(headers)
    principal = None if token is None else signins.whose(token)
    if principal is not None:
        check_ours(headers, changes)
    return principal


def check_ours(headers: dict[bytes, bytes], changes: bool) -> None:
    if changes and headers.get(CONSOLE) != b"1":
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
    """The value of our cookie; None if there is none. Cookies of others, and what is no cookie at
    all, are passed over."""
    name = cookie_name(headers).encode()
    pairs = (pair.strip().partition(b"=") for pair in headers.get(b"cookie", b"").split(b";"))
    found = [value for key, _, value in pairs if key == name]
    if len(found) > 1:
        raise ProblemError(
            Code.BAD_REQUEST, f"expected the cookie {name.decode()} once, found it more often"
        )
    return found[0].decode("latin-1") if found else None


def set_cookie(
    headers: dict[bytes, bytes], token: str, lasts_s: int = LASTS_S
) -> tuple[bytes, bytes]:
    secure = "; Secure" if _came_encrypted(headers) else ""
    written = (
        f"{cookie_name(headers)}={token}; HttpOnly; SameSite=Strict; Path=/;"
        f" Max-Age={lasts_s}{secure}"
    )
    return b"set-cookie", written.encode()


def expire_cookie(headers: dict[bytes, bytes]) -> tuple[bytes, bytes]:
    return set_cookie(headers, "", 0)


def cookie_name(headers: dict[bytes, bytes]) -> str:
    """Cookies know no ports: two markets on one machine would sign each other out, so the port is
    in the name where the request names one.

    Where the connection is encrypted, the prefix makes browsers refuse such a cookie from anybody
    but this very host.
    """
    port = (
        headers.get(b"host", b"").rpartition(b":")[2] if b":" in headers.get(b"host", b"") else b""
    )
    named = f"{NAME}_{port.decode()}" if port.isdigit() else NAME
    return f"__Host-{named}" if _came_encrypted(headers) else named


def _came_encrypted(headers: dict[bytes, bytes]) -> bool:
    """As the proxy in front says; the first of several is the one that the browser spoke to."""
    return headers.get(b"x-forwarded-proto", b"").partition(b",")[0].strip().lower() == b"https"
