"""Webhooks connect only to public addresses, or to those that the operator allows: checked in the
URL, in the resolved addresses, and at each delivery."""

from __future__ import annotations

import asyncio
import shutil
import socket
import ssl
import subprocess
import threading
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Any

import msgspec
import pytest

from laissez.exchange.commands import SERVICE, CreateWebhook
from laissez.server.settings import SettingsError, Webhooks, read_settings
from laissez.server.webhooks.addresses import (
    CARRIES_IPV4,
    NOT_PUBLIC,
    Guard,
    Network,
    is_public,
    read_url,
)
from laissez.wire.ids import webhook_name
from laissez.wire.limits import WEBHOOK_URL_MAX
from laissez.wire.problems import ProblemError
from support.webhook_world import OPEN, PATIENCE_S, Hooks, receiving, with_hooks

pytestmark = pytest.mark.once

PUBLIC = ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"]

INSIDE = [
    "127.0.0.1", "127.8.8.8", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255",
    "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "100.100.100.200", "192.0.0.192", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1",
    "192.88.99.1", "224.0.0.1", "240.0.0.1",
    "255.255.255.255", "168.63.129.16",
    "::", "::1", "::127.0.0.1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1",
    "ff02::1", "2001:db8::1", "3fff::1", "100::1",
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808",
    "2002:7f00:1::", "2002:a9fe:a9fe::1", "2002:a00:1::1", "2001:0:7f00:1::",
    "2001:0:4136:e378:8000:63bf:f5ff:fffe",
]  # fmt: skip


@pytest.mark.parametrize("address", INSIDE)
def test_an_internal_address_in_any_form_is_refused(address: str) -> None:
    assert not Guard().allows(address)


@pytest.mark.parametrize(
    "address", [*PUBLIC, "8.8.8.8", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"]
)
def test_a_public_address_is_allowed(address: str) -> None:
    assert is_public(ip_address(address))


# Every block of IANA's special-purpose registries that is not globally reachable, and all other
# addresses outside global unicast.
REGISTRY = [
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
    "192.0.0.0/24", "192.0.0.0/29", "192.0.0.170/31",
    "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24",
    "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
    "::/128", "::1/128", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23", "2001::/32",
    "2001:2::/48", "2001:10::/28", "2001:db8::/32",
    "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
]  # fmt: skip


@pytest.mark.parametrize("network", [*NOT_PUBLIC, *map(ip_network, REGISTRY)], ids=str)
def test_a_special_range_is_not_public_from_first_to_last_address(network: Network) -> None:
    assert not is_public(network[0])
    assert not is_public(network[-1])


@pytest.mark.parametrize("network", NOT_PUBLIC, ids=str)
def test_neighbours_of_special_ranges_are_public_unless_special(network: Network) -> None:
    for neighbour in (int(network[0]) - 1, int(network[-1]) + 1):
        if 0 <= neighbour < 2**network.max_prefixlen:
            address = type(network[0])(neighbour)
            assert is_public(address) == (
                not any(
                    address in other for other in NOT_PUBLIC if other.version == network.version
                )
            )


@pytest.mark.parametrize("network", CARRIES_IPV4, ids=str)
@pytest.mark.parametrize("inner", ["8.8.8.8", "10.0.0.1", "169.254.169.254", "127.0.0.1"])
def test_an_embedded_address_decides(network: IPv6Network, inner: str) -> None:
    outer = IPv6Address(int(network[0]) | int(IPv4Address(inner)) << CARRIES_IPV4[network])
    assert is_public(outer) == is_public(ip_address(inner))


@pytest.mark.parametrize(
    "address", ["10.1.0.0", "10.1.255.255", "::ffff:10.1.2.3", "127.0.0.1", "fd00::1"]
)
def test_only_networks_opened_by_the_operator_are_allowed_in_addition(address: str) -> None:
    guard = Guard(["10.1.0.0/16", "127.0.0.1/32", "fd00::/64"])
    assert guard.allows(address)
    assert not any(
        guard.allows(other)
        for other in ("10.2.0.0", "127.0.0.2", "fd00:0:0:1::1", "64:ff9b::a01:1")
    )


URLS = [
    "http://hooks.example.com/",  # not encrypted
    "ftp://hooks.example.com/",
    "file:///etc/passwd",
    "gopher://hooks.example.com/",
    "//hooks.example.com/",
    "hooks.example.com",
    "https://",
    "https:///path",
    "https://user@hooks.example.com/",
    "https://user:secret@hooks.example.com/",
    "https://hooks.example.com@inside.example/",
    "https://hooks.example.com/#fragment",
    "https://hooks.example.com\\@inside.example/",
    "https://hooks.example.com/a b",
    "https://hooks.example.com/\r\nHost: inside",
    "https://hooks.example.com/\u00e9",
    "https://h\u00f6oks.example.com/",
    "https://hooks.example.com\u3002inside/",
    "https://hooks.example.com:22/",
    "https://hooks.example.com:25/",
    "https://hooks.example.com:0/",
    "https://hooks.example.com:65536/",
    "https://hooks.example.com:99999/",
    "https://hooks.example.com:-1/",
    "https://hooks.example.com:/",
    "https://[fe80::1%25eth0]/",
    "https://[::1",
    "https://%31%32%37.0.0.1/",
    " https://hooks.example.com/",
    "https://hooks.example.com/ ",
    # internal addresses in any form that the machine's resolver accepts
    "https://127.0.0.1/",
    "https://127.1/",
    "https://2130706433/",
    "https://0x7f000001/",
    "https://0177.0.0.1/",
    "https://0/",
    "https://localhost/",
    "https://localhost./",
    "https://169.254.169.254/latest/meta-data/",
    "https://[::1]/",
    "https://[::]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[64:ff9b::7f00:1]/",
]


def test_a_forbidden_url_is_refused_and_not_stored(tmp_path: Path) -> None:
    async def tale(hooks: Hooks) -> None:
        position = hooks.world.gateway.position
        for url in URLS:
            refused = await hooks.world.ask("ann", "POST", "/v1/webhooks", {"url": url})
            assert (422, "url_not_allowed") == (refused.status_code, refused.json()["code"]), url
            assert refused.json()["detail"].startswith("url: expected "), url
        assert position == hooks.world.gateway.position
        assert not (tmp_path / "data" / "keys" / "webhooks.key").exists()  # not needed

    with_hooks(tmp_path / "data", tale, Webhooks())


@pytest.mark.parametrize(("url", "authority", "path"), [
    ("https://hooks.example.com", "hooks.example.com", "/"),
    ("https://hooks.example.com?a=1", "hooks.example.com", "/?a=1"),
    ("https://hooks.example.com:8443/a/b?c=@d", "hooks.example.com:8443", "/a/b?c=@d"),
    ("https://[2606:4700::1111]:443/x", "[2606:4700::1111]:443", "/x"),
])  # fmt: skip
def test_a_url_is_kept_as_written(url: str, authority: str, path: str) -> None:
    target = read_url(url, allow_http=False)
    assert (authority, path) == (target.authority, target.path) and "[" not in target.host


def test_the_length_of_a_url_is_limited() -> None:
    url = "https://hooks.example.com/"
    assert read_url(url + "x" * (WEBHOOK_URL_MAX - len(url)), allow_http=False)
    with pytest.raises(
        ProblemError,
        match=f"expected 1 to {WEBHOOK_URL_MAX} characters, found {WEBHOOK_URL_MAX + 1}",
    ):
        read_url(url + "x" * (WEBHOOK_URL_MAX + 1 - len(url)), allow_http=False)


def test_every_address_of_a_name_must_be_allowed_and_unknown_names_look_the_same(
    tmp_path: Path,
) -> None:
    async def tale(hooks: Hooks) -> None:
        hooks.resolve_to(
            public_example=PUBLIC, mixed_example=[*PUBLIC, "10.0.0.7"], inside_example=["10.0.0.7"]
        )
        answers = {}
        for name in ("public", "mixed", "inside", "unknown"):
            answers[name] = await hooks.world.ask(
                "ann", "POST", "/v1/webhooks", {"url": f"https://{name}.example/"}
            )
        assert [201, 422, 422, 422] == [answer.status_code for answer in answers.values()]
        assert 1 == len({answers[name].content for name in ("mixed", "inside", "unknown")})
        assert "10.0.0.7" not in answers["inside"].text

    with_hooks(tmp_path / "data", tale, Webhooks(), runs=False)


@pytest.mark.parametrize("later", ["127.0.0.1", "::ffff:127.0.0.1", "93.184.215.14 127.0.0.1"])
def test_a_name_that_later_resolves_to_an_internal_address_is_refused(
    tmp_path: Path, later: str
) -> None:
    async def tale(hooks: Hooks) -> None:
        asked = hooks.resolve_to(hooks_example=[*PUBLIC, "/", later])
        made = await hooks.create(url=f"http://hooks.example:{hooks.receiver.port}/")
        shown = await hooks.until(made["id"], failures=1)
        assert "the host has no address, or one that is not allowed" == shown["last_error"]
        assert (
            ["hooks.example"] * 2 == asked
            and [] == hooks.receiver.got
            and 0 == hooks.receiver.closed
        )

    with_hooks(tmp_path / "data", tale, Webhooks(allow_http=True))


def test_the_connection_goes_to_the_checked_address_after_one_lookup(tmp_path: Path) -> None:
    async def tale(hooks: Hooks) -> None:
        asked = hooks.resolve_to(hooks_example=["127.0.0.1"])
        made = await hooks.create(url=f"http://hooks.example:{hooks.receiver.port}/")
        await hooks.until(made["id"], delivered=1)
        assert ["hooks.example"] * 2 == asked  # on creation, and for the delivery
        assert f"hooks.example:{hooks.receiver.port}" == hooks.receiver.got[0].headers["Host"]

    with_hooks(tmp_path / "data", tale)


def test_the_next_address_is_tried_if_the_first_does_not_answer(tmp_path: Path) -> None:
    async def tale(hooks: Hooks) -> None:
        # the first address refuses connections
        hooks.resolve_to(hooks_example=["127.0.0.2", "127.0.0.1"])
        made = await hooks.create(url=f"http://hooks.example:{hooks.receiver.port}/")
        await hooks.until(made["id"], delivered=1, failures=0)

    with_hooks(
        tmp_path / "data", tale, msgspec.structs.replace(OPEN, allow_addresses=("127.0.0.0/8",))
    )


def test_every_address_of_this_machine_is_internal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def tale(hooks: Hooks) -> None:
        # pretend that our addresses are public
        monkeypatch.setattr("laissez.server.webhooks.addresses.is_public", lambda address: True)
        assert not any(
            Guard().allows(address) for address in ("127.0.0.1", "::1", "::ffff:127.0.0.1")
        )
        assert all(Guard().allows(address) for address in PUBLIC)
        assert (
            422
            == (
                await hooks.world.ask("ann", "POST", "/v1/webhooks", {"url": hooks.receiver.url})
            ).status_code
        )
        hooks.world.gateway.enter("ann", SERVICE, "", CreateWebhook(hooks.receiver.url, None, None))
        (record,) = hooks.world.gateway.exchange.webhooks.of("ann")
        shown = await hooks.until(webhook_name(record), failures=1)
        assert (
            "the host has no address, or one that is not allowed" == shown["last_error"]
            and 0 == hooks.receiver.closed
        )

    with_hooks(tmp_path / "data", tale, Webhooks(allow_http=True))


def test_a_silent_name_server_delays_only_its_own_names(monkeypatch: pytest.MonkeyPatch) -> None:
    real, says, asked = socket.getaddrinfo, threading.Event(), threading.Semaphore(0)

    def getaddrinfo(host: str, *more: Any, **others: Any) -> Any:
        if host == "silent.example" and not others["flags"] & socket.AI_NUMERICHOST:
            asked.release()
            says.wait(PATIENCE_S)
            raise socket.gaierror("no such host")
        return real(host, *more, **others)

    async def story() -> None:
        guard = Guard(lookups_max=40)
        waiting = [asyncio.create_task(guard.look_up("silent.example")) for _ in range(41)]
        for _ in range(40):
            # the loop's own threads, at most 32, are still free
            await asyncio.to_thread(asked.acquire)
        assert ["127.0.0.1"] == await guard.look_up("0x7f000001")
        for one in waiting[:40]:
            one.cancel()
        await asyncio.sleep(0)
        # each lookup keeps its slot, although its caller is gone
        assert not asked.acquire(blocking=False)
        says.set()
        with pytest.raises(socket.gaierror):
            await waiting[40]
        assert ["127.0.0.1"] == await guard.look_up("localhost")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    asyncio.run(story())


def test_http_is_not_sent_once_it_is_forbidden(tmp_path: Path) -> None:
    secrets: dict[str, str] = {}
    ids: list[str] = []

    async def before(hooks: Hooks) -> None:
        hooks.receiver.answers = [500] * 9
        ids.append((await hooks.create())["id"])

    async def after(hooks: Hooks) -> None:
        assert "the url is not allowed" == (await hooks.until(ids[0], failures=1))["last_error"]

    with_hooks(tmp_path / "data", before, secrets=secrets)
    with_hooks(
        tmp_path / "data", after, msgspec.structs.replace(OPEN, allow_http=False), secrets=secrets
    )


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl here")
def test_a_certificate_must_match_the_host_of_the_url(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    make = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj"
        " /CN=x -addext subjectAltName=DNS:hooks.example"
    )
    subprocess.run(
        [*make.split(), "-keyout", key, "-out", certificate], check=True, capture_output=True
    )
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate, key)

    async def tale(hooks: Hooks) -> None:
        hooks.resolve_to(hooks_example=["127.0.0.1"], other_example=["127.0.0.1"])
        async with receiving(tls) as receiver:
            stranger = await hooks.create(url=f"https://hooks.example:{receiver.port}/")
            shown = await hooks.until(stranger["id"], failures=1)  # its issuer is unknown
            assert "the certificate is not valid for this host" == shown["last_error"]
            hooks.running.sender.tls = ssl.create_default_context(cafile=str(certificate))
            other = await hooks.create(url=f"https://other.example:{receiver.port}/")
            assert (
                "the certificate is not valid for this host"
                == (await hooks.until(other["id"], failures=1))["last_error"]
            )
            hooks.pass_s(1)
            await hooks.until(stranger["id"], delivered=2)
            assert {stranger["id"]} == {
                msgspec.json.decode(one.body)["webhook"] for one in receiver.got
            }

    with_hooks(tmp_path / "data", tale)


def test_a_mistake_in_an_allowed_network_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "laissez.toml"
    file.write_text('[webhooks]\nallow_addresses = ["10.1.0.0/16", "fd00::/8"]\n')
    assert ("10.1.0.0/16", "fd00::/8") == read_settings(file, {}).webhooks.allow_addresses
    by_variable = {"LAISSEZ_WEBHOOKS__ALLOW_ADDRESSES": "10.1.0.0/16, 127.0.0.1/32"}
    assert ("10.1.0.0/16", "127.0.0.1/32") == read_settings(
        None, by_variable
    ).webhooks.allow_addresses
    file.write_text('[webhooks]\nallow_addresses = ["10.1.0.1/16"]\n')
    with pytest.raises(
        SettingsError,
        match=(
            r"laissez\.toml: webhooks\.allow_addresses: expected networks such as .*, found"
            r" '10\.1\.0\.1/16'"
        ),
    ):
        read_settings(file, {})
