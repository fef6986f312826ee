"""Protection against server-side request forgery: webhooks may connect only to public addresses and
addresses that the operator allows.

URLs are parsed strictly: two parsers must not read one URL in two ways. A host is resolved here and
all its addresses must be allowed. The connection is made to a checked address, since a second
lookup could give another answer. An unknown name and an internal one get the same error, so that
callers cannot probe for internal names.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Iterable
from concurrent.futures import Future
from contextlib import suppress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from threading import Thread
from typing import TypeAlias

import msgspec

from laissez.wire.limits import WEBHOOK_URL_MAX
from laissez.wire.problems import Code, ProblemError

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

# These tables decide which addresses are public, not `ipaddress`, whose answers change between
# patch releases of Python.
#
# Sources: IANA's IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890) and its IPv6 Address
# Space registry, as of November 2026. Anycast addresses of protocols are refused with their block,
# though the registry calls some of them reachable: no webhook can have one.
NOT_PUBLIC: dict[Network, str] = {
    IPv4Network("0.0.0.0/8"): "this network (RFC 791)",
    IPv4Network("10.0.0.0/8"): "private (RFC 1918)",
    IPv4Network("100.64.0.0/10"): "shared by carriers (RFC 6598)",
    IPv4Network("127.0.0.0/8"): "loopback (RFC 1122)",
    IPv4Network("168.63.129.16/32"): "Azure's host of the machine (not in the registry)",
    IPv4Network("169.254.0.0/16"): "link-local, and the metadata service of most clouds (RFC 3927)",
    IPv4Network("172.16.0.0/12"): "private (RFC 1918)",
    IPv4Network("192.0.0.0/24"): "protocol assignments (RFC 6890)",
    IPv4Network("192.0.2.0/24"): "documentation (RFC 5737)",
    IPv4Network("192.88.99.0/24"): "6to4 relays, withdrawn (RFC 7526)",
    IPv4Network("192.168.0.0/16"): "private (RFC 1918)",
    IPv4Network("198.18.0.0/15"): "benchmarking (RFC 2544)",
    IPv4Network("198.51.100.0/24"): "documentation (RFC 5737)",
    IPv4Network("203.0.113.0/24"): "documentation (RFC 5737)",
    IPv4Network("224.0.0.0/4"): "multicast (RFC 5771)",
    IPv4Network("240.0.0.0/4"): "reserved, and broadcast (RFC 1112, RFC 8190)",
    # including Teredo, which leads to IPv4 addresses
    IPv6Network("2001::/23"): "protocol assignments (RFC 2928, RFC 4380)",
    IPv6Network("2001:db8::/32"): "documentation (RFC 3849)",
    IPv6Network("3fff::/20"): "documentation (RFC 9637)",
}
# everything else, such as loopback, private, link-local and multicast, is not public
GLOBAL_UNICAST = IPv6Network("2000::/3")

# IPv6 blocks whose addresses lead to an IPv4 address, and how far to shift to find its 32 bits.
CARRIES_IPV4: dict[IPv6Network, int] = {
    IPv6Network("::ffff:0:0/96"): 0,  # IPv4-mapped (RFC 4291)
    IPv6Network("64:ff9b::/96"): 0,  # NAT64 (RFC 6052)
    IPv6Network("2002::/16"): 80,  # 6to4 (RFC 3056)
}


class NotAllowed(Exception):
    """The host has no address, or one that is not allowed."""

    def __init__(self) -> None:
        super().__init__(
            "expected a host all of whose addresses are public, or allowed by the operator"
        )


def is_public(address: Address) -> bool:
    """Whether the address is public. An address that embeds an IPv4 address is judged by that
    one."""
    for network, shift in CARRIES_IPV4.items():
        if address in network:
            return is_public(IPv4Address(int(address) >> shift & 0xFFFF_FFFF))
    if isinstance(address, IPv6Address) and address not in GLOBAL_UNICAST:
        return False
    return not any(address in network for network in NOT_PUBLIC)


def is_ours(address: Address) -> bool:
    """Whether the address is of this machine, whose services may trust local callers. Sends
    nothing: the kernel chooses the source address on connect."""
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((str(address), 9))
            return ip_address(probe.getsockname()[0]) == address
    except OSError:
        return False  # no route


class Guard:
    """Resolves hosts and checks their addresses. The operator allows the networks in `allowed`,
    even private ones; at most `lookups_max` lookups run at a time."""

    def __init__(self, allowed: Iterable[str] = (), lookups_max: int = 16) -> None:
        self._allowed: tuple[Network, ...] = tuple(ip_network(one) for one in allowed)
        self._slots = asyncio.Semaphore(lookups_max)

    def allows(self, text: str) -> bool:
        """Whether a connection may be made to this address."""
        address = ip_address(text)
        mapped = getattr(address, "ipv4_mapped", None) or address
        if any(address in network or mapped in network for network in self._allowed):
            return True
        return is_public(address) and not is_ours(address)

    async def addresses(self, host: str) -> list[str]:
        """All addresses of the host. Raises `NotAllowed` unless every one is allowed."""
        try:
            addresses = await self.look_up(host)
        except (OSError, UnicodeError):
            raise NotAllowed from None
        if not addresses or not all(self.allows(address) for address in addresses):
            raise NotAllowed
        return addresses

    async def look_up(self, host: str) -> list[str]:
        """Resolve a name in a daemon thread. A name server that does not answer blocks the thread
        for half a minute, and tenants choose the names: the event loop has too few threads for
        that, and would wait for them at exit. An abandoned lookup holds its slot until it ends.

        Raises OSError or UnicodeError if the host has no address."""
        with suppress(socket.gaierror):
            # a numeric address needs no lookup
            return _look_up(host, socket.AI_NUMERICHOST)
        await self._slots.acquire()
        loop = asyncio.get_running_loop()
        found: Future[list[str]] = Future()
        found.set_running_or_notify_cancel()  # so that cancelling does not stop the lookup

        def work() -> None:
            try:
                found.set_result(_look_up(host))
            except Exception as error:
                found.set_exception(error)
            with suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(self._slots.release)

        try:
            Thread(target=work, name="webhook-lookup", daemon=True).start()
        except RuntimeError as error:  # no more threads
            self._slots.release()
            raise OSError(str(error)) from None
        return await asyncio.wrap_future(found)


def _look_up(host: str, flags: int = 0) -> list[str]:
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=flags)
    return list(dict.fromkeys(str(one[4][0]) for one in found))


# -- URLs

PORTS = {"http": 80, "https": 443}
# lower ports belong to system services; only 80 and 443 are allowed
PORT_FREE_MIN = 1024

# Visible ASCII, without '#', without '@' before the path, and without backslashes, which some
# parsers read as slashes.
_URL = re.compile(
    r"(https?)://(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,253})(?::([0-9]{1,5}))?(/[!-~]*|\?[!-~]*)?"
)


class Target(msgspec.Struct, frozen=True):
    """A parsed URL. `host` is the name to resolve and to expect in a certificate; `authority` is
    for the Host header."""

    scheme: str
    host: str
    port: int
    authority: str
    path: str


def read_url(url: str, allow_http: bool) -> Target:
    if not 1 <= len(url) <= WEBHOOK_URL_MAX:
        raise ProblemError(
            Code.BAD_REQUEST, f"url: expected 1 to {WEBHOOK_URL_MAX} characters, found {len(url)}"
        )
    found = _URL.fullmatch(url)
    if found is None or "#" in url or "\\" in url:
        expected = "https://host/path in visible ASCII, without a user, a password or a fragment"
        raise not_allowed(f"url: expected {expected}, found {url[:200]!r}")
    scheme, host, port_text, path = found.groups(default="")
    if scheme == "http" and not allow_http:
        raise not_allowed("url: expected https, found http, which this server does not send to")
    port = int(port_text or PORTS[scheme])
    if port not in PORTS.values() and not PORT_FREE_MIN <= port <= 65_535:
        raise not_allowed(
            f"url: expected port 443, 80 or one from {PORT_FREE_MIN} to 65535, found {port}"
        )
    authority = f"{host}:{port}" if port_text else host
    path = path if path.startswith("/") else f"/{path}"
    return Target(scheme, host.strip("[]"), port, authority, path)


def not_allowed(detail: str) -> ProblemError:
    return ProblemError(Code.URL_NOT_ALLOWED, detail)
