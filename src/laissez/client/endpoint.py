"""The server's URL and the key for it, from arguments or the environment.

`LAISSEZ_URL`, `LAISSEZ_KEY` and `LAISSEZ_KEY_FILE` replace missing arguments. A key is sent only
over TLS or to this machine, and never appears in a repr or message.
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, urlsplit

import httpx

from laissez.client.errors import UsageError

URL_DEFAULT: Final = "http://127.0.0.1:8340"
_KEY: Final = re.compile(r"[!-~]+")  # what an HTTP header can hold


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server and the key for it. A local server is reached without any proxy that the environment
    names."""

    url: str
    key: str | None = field(repr=False)
    is_local: bool

    @property
    def session_url(self) -> str:
        return "ws" + self.url.removeprefix("http") + "/v1/session"

    @property
    def headers(self) -> dict[str, str]:
        return {} if self.key is None else {"Authorization": f"Bearer {self.key}"}


def find_endpoint(
    url: str | None, key: str | None, insecure: bool, environment: Mapping[str, str] = os.environ
) -> Endpoint:
    """The server and key of the arguments, or else of the environment."""
    given = url or environment.get("LAISSEZ_URL") or URL_DEFAULT
    parts = _parts(given)
    found = _key(key, environment)
    is_local = _is_loopback(parts.hostname or "")
    if found is not None and parts.scheme == "http" and not is_local and not insecure:
        raise UsageError(
            f"a key would be readable by anyone on the way to {given!r}; use https, or"
            " insecure=True (--insecure) on a trusted network"
        )
    return Endpoint(given.rstrip("/"), found, is_local)


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        # evaluated for their checks, so that a bad URL fails here and not on connecting
        _ = parts.port, httpx.URL(url).host, (parts.hostname or "").encode("idna")
    except (ValueError, httpx.InvalidURL) as error:
        raise UsageError(
            f'expected a URL such as "https://market.example", found an invalid one: {error}'
        ) from None
    if parts.username is not None or parts.password is not None:
        raise UsageError("expected a URL without a user name or password; give the key as key=")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise UsageError(f'expected a URL such as "https://market.example", found {url!r}')
    return parts


def _key(key: str | None, environment: Mapping[str, str]) -> str | None:
    if key is None:
        key = environment.get("LAISSEZ_KEY") or _read_key(environment.get("LAISSEZ_KEY_FILE"))
    if key is None:
        return None
    key = key.strip()  # files and shells leave a line end
    if _KEY.fullmatch(key) is None:
        raise UsageError(
            "expected a key of visible ASCII characters, such as lz_..., found other characters or"
            " none (the key is not shown)"
        )
    return key


def _read_key(file: str | None) -> str | None:
    if not file:
        return None
    try:
        return Path(file).expanduser().read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"cannot read the key from LAISSEZ_KEY_FILE={file!r}: {type(error).__name__}; name a"
            " file with the key alone"
        ) from None


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    # whether Python takes ::ffff:127.0.0.1 itself for loopback depends on its version
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback
