"""The cookie that stands for a key in a browser.

A browser sends the cookie with every request to this server, even with requests forged by pages of
other sites (CSRF). So a change must carry a header that such a page cannot set, and if the browser
names the requesting site, it must be this one.
"""

from __future__ import annotations

from collections.abc import Mapping

from laissez.server.auth import Principal
from laissez.server.http.messages import bad_request
from laissez.server.signins import SignIns
from laissez.wire.problems import Code, ProblemError

COOKIE = "laissez_signin"
OURS = (b"same-origin",)
OURS_OR_TYPED = (b"same-origin", b"none")  # none: a typed address or a bookmark


def signed_in(signins: SignIns, headers: Mapping[bytes, bytes], changes: bool) -> Principal | None:
    """The principal that the request's cookie signs in; None without a valid cookie."""
    token = read_token(headers)
    principal = None if token is None else signins.principal_of(token)
    if principal is not None:
        check_ours(headers, changes)
    return principal


def check_ours(headers: Mapping[bytes, bytes], changes: bool) -> None:
    if changes and headers.get(b"x-laissez-console") != b"1":
        raise ProblemError(
            Code.FORBIDDEN,
            "expected the header X-Laissez-Console: 1, which every change from a browser needs",
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


def read_token(headers: Mapping[bytes, bytes]) -> str | None:
    """The value of our cookie, if there is one; others are ignored."""
    name = _cookie_name(headers).encode()
    pairs = (pair.strip().partition(b"=") for pair in headers.get(b"cookie", b"").split(b";"))
    found = [value for key, _, value in pairs if key == name]
    if len(found) > 1:
        raise bad_request(f"expected the cookie {name.decode()} once, found it more often")
    return found[0].decode("latin-1") if found else None


def set_cookie(headers: Mapping[bytes, bytes], token: str, lasts_s: int) -> str:
    """The `Set-Cookie` header of an answer."""
    secure = "; Secure" if _came_encrypted(headers) else ""
    attributes = f"HttpOnly; SameSite=Strict; Path=/; Max-Age={lasts_s}{secure}"
    return f"set-cookie: {_cookie_name(headers)}={token}; {attributes}\r\n"


def _cookie_name(headers: Mapping[bytes, bytes]) -> str:
    """Browsers ignore ports in cookies, so two markets on one machine would sign each other out. So
    the name contains the request's port, if any. Over TLS, the prefix `__Host-` makes browsers
    refuse such a cookie from any other host."""
    _, colon, port = headers.get(b"host", b"").rpartition(b":")
    name = f"{COOKIE}_{port.decode()}" if colon and port.isdigit() else COOKIE
    return f"__Host-{name}" if _came_encrypted(headers) else name


def _came_encrypted(headers: Mapping[bytes, bytes]) -> bool:
    """Whether the browser's connection was encrypted, according to the proxy. Of several proxies
    the first one spoke to the browser."""
    return headers.get(b"x-forwarded-proto", b"").partition(b",")[0].strip().lower() == b"https"
