"""Addresses that a webhook may have, read strictly: nothing that two readers could read two
ways."""

from __future__ import annotations

import re

import msgspec

from laissez.wire.limits import WEBHOOK_URL_MAX
from laissez.wire.problems import Code, ProblemError

PORTS = {"http": 80, "https": 443}
# below it speak the system's own services; of those, only the two usual ones of the web
PORT_FREE_MIN = 1024

# Visible ASCII without '#', '@' before the path and backslashes, which some readers take for
# slashes.
_FORM = re.compile(
    r"(https?)://(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,253})(?::([0-9]{1,5}))?(/[!-~]*|\?[!-~]*)?"
)


class Target(msgspec.Struct, frozen=True):
    """`host` is as it is resolved and as a certificate must name it; `authority` is what the Host
    header says."""

    scheme: str
    host: str
    port: int
    authority: str
    path: str

    @property
    def is_encrypted(self) -> bool:
        return self.scheme == "https"


def read_url(url: str, allow_http: bool) -> Target:
    if not 1 <= len(url) <= WEBHOOK_URL_MAX:
        raise ProblemError(
            Code.BAD_REQUEST, f"url: expected 1 to {WEBHOOK_URL_MAX} characters, found {len(url)}"
        )
    found = _FORM.fullmatch(url)
    if found is None or "#" in url or "\\" in url:
        expected = "https://host/path in visible ASCII, without a user, a password or a fragment"
        raise not_allowed(f"url: expected {expected}, found {url[:200]!r}")
    scheme, host, port_text, path = found.groups()
    if scheme == "http" and not allow_http:
        raise not_allowed("url: expected https, found http, which this server does not send to")
    port = int(port_text) if port_text else PORTS[scheme]
    if port not in PORTS.values() and not PORT_FREE_MIN <= port <= 65_535:
        raise not_allowed(
            f"url: expected port 443, 80 or one from {PORT_FREE_MIN} to 65535, found {port}"
        )
    authority = host if port_text is None else f"{host}:{port}"
    return Target(scheme, host.strip("[]"), port, authority, _path(path))


def _path(path: str | None) -> str:
    if path is None:
        return "/"
    return path if path.startswith("/") else f"/{path}"


def not_allowed(detail: str) -> ProblemError:
    return ProblemError(Code.URL_NOT_ALLOWED, detail)
