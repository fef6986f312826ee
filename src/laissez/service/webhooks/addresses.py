"""Where a webhook may lead: to public addresses, and to those that the operator allows. Nobody may have the service knock at doors inside.

A host is resolved here, every address of it must be allowed, and the connection is made to an address that was checked: no second look at the
name, which could give another answer. A name that leads nowhere and one that leads inside are told alike, so that nobody can ask which names there
are inside.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias

from laissez.service.webhooks.lookups import Lookups

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

NAT64 = IPv6Network("64:ff9b::/96")  # an IPv4 address in its last 32 bits (RFC 6052)
INSIDE: tuple[Network, ...] = (
    IPv4Network("168.63.129.16/32"),  # a public address by the registry, and on some clouds the machine that manages ours
    IPv4Network("192.0.0.0/24"),  # of protocols, not of hosts; older Pythons think otherwise
    IPv4Network("192.88.99.0/24"),  # relays of 6to4, withdrawn (RFC 7526)
    IPv6Network("fec0::/10"),  # site-local, withdrawn (RFC 3879)
    IPv6Network("2001::/32"),  # Teredo: packets go to IPv4 addresses in it (RFC 4380)
    IPv6Network("64:ff9b:1::/48"),  # translates to addresses of the local network (RFC 8215)
    IPv6Network("3fff::/20"),  # of documentation (RFC 9637)
    IPv6Network("::/96"),  # IPv4-compatible, withdrawn (RFC 4291)
)


class NotAllowed(Exception):
    """The host has no address, or one that is not allowed."""

    def __init__(self) -> None:
        super().__init__("expected a host all of whose addresses are public, or allowed by the operator")


def is_public(address: Address) -> bool:
    """Whether it is one of the internet, and so is every address that it stands for."""
    inner = _plain(address)
    if inner is not None:
        return is_public(inner)
    if not address.is_global or address.is_multicast or address.is_reserved or any(_is_in(address, network) for network in INSIDE):
        return False
    return not isinstance(address, IPv6Address) or address.sixtofour is None or is_public(address.sixtofour)


def _plain(address: Address) -> IPv4Address | None:
    """The IPv4 address that an IPv6 address is another way to write."""
    if not isinstance(address, IPv6Address):
        return None
    return IPv4Address(int(address) & 0xFFFF_FFFF) if address in NAT64 else address.ipv4_mapped


def _is_in(address: Address, network: Network) -> bool:
    return address.version == network.version and address in network


class Guard:
    """`allowed` are networks that the operator opens, whatever they are; so many names are looked up at a time as there are `places`."""

    def __init__(self, allowed: Iterable[str] = (), places: int = 16) -> None:
        self._allowed: tuple[Network, ...] = tuple(ip_network(one) for one in allowed)
        self.look_up = Lookups(places).addresses

    def allows(self, text: str) -> bool:
        """Whether a connection may be made to this address."""
        address = ip_address(text)
        return self._is_opened(address) or (is_public(address) and not is_ours(address))

    async def addresses(self, host: str) -> list[str]:
        """Every address of the host; none is returned unless all may be."""
        try:
            addresses = await self.look_up(host)
        except (OSError, UnicodeError):
            raise NotAllowed from None
        if not addresses or not all(self.allows(address) for address in addresses):
            raise NotAllowed
        return addresses

    def _is_opened(self, address: Address) -> bool:
        mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
        return any(_is_in(each, network) for each in (address, mapped) if each is not None for network in self._allowed)


def is_ours(address: Address) -> bool:
    """Whether it is this very machine, whose doors stand open to itself. Nothing is sent: the system says from where it would be."""
    try:
        with socket.socket(socket.AF_INET6 if address.version == 6 else socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((str(address), 9))
            return ip_address(probe.getsockname()[0]) == address
    except OSError:
        return False  # there is no way to it
